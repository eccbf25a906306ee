"""Hunks of a patch applied to a text: anywhere in it if need be, but only onto the very lines that they name.

Lines are matched without their line ends, since ``\\n`` in a patch stands for the file's own. What is found at the
stated place is taken; else it must be found once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ombud.errors import Refused, UserError
from ombud.text.buffer import dominant_eol
from ombud.text.lines import LineIndex
from ombud.text.nearest import cut, nearest
from ombud.text.patch import Hunk, Line

SHOWN = 10
"""How many places of an ambiguous hunk are named."""

_CODES = 0x10FFFF
_FEW = 256  # so many places of one line are looked at one by one


def apply(text: str, hunks: Sequence[Hunk], name: str = "the file") -> str:
    """``text`` after ``hunks``, which follow each other in it and never overlap; ``name`` is for messages.

    A hunk belongs at the line its header names, or as far from it as the hunk before was; where its lines stand at
    neither, they must stand in the rest of the text exactly once. Context keeps its bytes. New lines end as the lines
    that they replace; only a hunk that itself has both kinds of line end is taken at its word, where the text has
    both, too, or where the hunk changes the one into the other.

    Raises `Refused` (``conflict``, with ``path``, ``hunk`` from 1, ``patchLine``, ``occurrences`` and ``candidates:
    [{line, endLine, text, similarity?}]``, lines one-based) for a hunk that does not stand there, or could stand at
    several places. Raises `UserError` for one that no line and no number tells where it belongs.
    """
    file = _File(text, hunks)
    pieces: list[str] = []
    floor = shift = 0
    for number, hunk in enumerate(hunks, 1):
        where = _Where(file, hunk, number, len(hunks), name, floor, shift)
        at = where.place()
        if hunk.start is not None and hunk.counted and where.wanted:
            shift = at - max(hunk.start - 1, 0)
        pieces += file.lines[floor:at]
        pieces += file.written(hunk, at)
        floor = at + len(where.wanted)
    pieces += file.lines[floor:]
    return "".join(pieces)


class _File:
    """A text as lines with their ends, and as a string with one character for each line.

    Looking for lines is then looking for a string, which the interpreter does in linear time. Only lines that some
    hunk asks for have characters of their own.
    """

    def __init__(self, text: str, hunks: Sequence[Hunk]) -> None:
        self.text = text
        # A text with carriage returns alone has them for line ends; elsewhere one is a character like any other.
        self._separator = separator = "\r" if "\r" in text and "\n" not in text else "\n"
        split = text.split(separator)
        last = split.pop()
        self.lines = [line + separator for line in split] + ([last] if last else [])
        self._codes: dict[tuple[str, bool], str] = {}
        for hunk in hunks:
            for line in hunk.old:
                self._code(line)
        codes = {content: code for (content, ended), code in self._codes.items() if ended}
        found = [codes.get(self.content(line), "\0") for line in self.lines[: len(split)]]
        if last:
            found.append(self._codes.get((last, False), "\0"))
        self.key = "".join(found)
        self.kinds = {self.end(line) for line in self.lines} - {""}
        self._places: dict[str, list[int]] | None = None

    def _code(self, line: Line) -> str:
        known = self._codes.get((line.text, bool(line.end)))
        if known is None:
            if len(self._codes) >= _CODES:
                raise UserError("The patch names more than a million different lines of one file. Split it.")
            known = self._codes[line.text, bool(line.end)] = chr(len(self._codes) + 1)
        return known

    def end(self, line: str) -> str:
        """The line end of a line of this file; empty for a last one without."""
        if not line.endswith(self._separator):
            return ""
        return "\r\n" if line.endswith("\r\n") else self._separator

    def content(self, line: str) -> str:
        return line.removesuffix(self.end(line))

    def wanted(self, lines: Sequence[Line]) -> str:
        return "".join(map(self._code, lines))

    def stands(self, wanted: str, at: int) -> bool:
        return self.key.startswith(wanted, at)

    def places(self, wanted: str, floor: int = 0) -> list[int]:
        """The first places of some lines (`SHOWN` of them and one more), overlapping ones too."""
        if self._places is None:
            self._places = {}
            for at, code in enumerate(self.key):
                if code != "\0":
                    self._places.setdefault(code, []).append(at)
        known = self._places
        rarest = min(set(wanted), key=lambda code: (len(known.get(code, ())), code))
        starts = known.get(rarest, [])
        found: list[int] = []
        if len(starts) <= _FEW:
            ahead = wanted.index(rarest)
            found = [at - ahead for at in starts if at - ahead >= floor and self.stands(wanted, at - ahead)]
            return found[: SHOWN + 1]
        at = self.key.find(wanted, floor)
        while at >= 0 and len(found) <= SHOWN:
            found.append(at)
            at = self.key.find(wanted, at + 1)
        return found

    def written(self, hunk: Hunk, at: int) -> list[str]:
        """What stands at ``at`` after the hunk: its context as it was, its new lines with the right ends."""
        eol = self._eol(hunk, at)
        out: list[str] = []
        for line in hunk.lines:
            if line.sign == "+":
                out.append(line.text + (line.end if eol is None or not line.end else eol))
                continue
            if line.sign == " ":
                out.append(self.lines[at])
            at += 1
        return out

    @cached_property
    def _usual(self) -> str:
        return dominant_eol(self.text)

    def _eol(self, hunk: Hunk, at: int) -> str | None:
        """How new lines end; None: as the patch says."""
        old = hunk.old
        region = self.lines[at : at + len(old)]
        if not self.kinds:
            return None
        ends = {line.end for line in hunk.lines if line.end}
        exact = all(self.end(there) == line.end for there, line in zip(region, old, strict=True))
        if len(ends) > 1 and exact and (len(self.kinds) > 1 or _converts(hunk)):
            return None
        return dominant_eol("".join(region)) if any(map(self.end, region)) else self._usual


def _converts(hunk: Hunk) -> bool:
    """Whether the hunk takes a line away to put the same one there with another end."""
    gone = {line.text: line.end for line in hunk.lines if line.sign == "-" and line.end}
    return any(line.sign == "+" and line.end and gone.get(line.text, line.end) != line.end for line in hunk.lines)


@dataclass(slots=True)
class _Where:
    """The search for one hunk's place. ``floor`` is the first line that no former hunk has taken."""

    file: _File
    hunk: Hunk
    number: int
    total: int
    name: str
    floor: int
    shift: int
    wanted: str = ""

    def __post_init__(self) -> None:
        self.wanted = self.file.wanted(self.hunk.old)

    @property
    def which(self) -> str:
        one = f"Hunk {self.number} of {self.name}" if self.total > 1 else f"The hunk of {self.name}"
        return f"{one} (line {self.hunk.at} of the patch)"

    def place(self) -> int:
        """The zero-based line where the hunk belongs. Raises the refusals of `apply`."""
        if not self.wanted:
            return self._insertion()
        start = self.hunk.start
        if start is None:
            return self._nameless()
        stated = {at for at in (start - 1, start - 1 + self.shift) if self._fits(at)}
        if len(stated) == 1:
            return stated.pop()
        found = sorted(stated) or [at for at in self.file.places(self.wanted, self.floor) if self._fits(at)]
        if not found:
            raise self._absent()
        if len(found) > 1:
            raise self._ambiguous(found)
        return found[0]

    def _fits(self, at: int) -> bool:
        if at < self.floor or not self.file.stands(self.wanted, at):
            return False
        # A last line without a line end has nothing behind it.
        return not self._to_the_end or at + len(self.wanted) == len(self.file.lines)

    @property
    def _to_the_end(self) -> bool:
        new = self.hunk.new
        return bool(new) and not new[-1].end

    def _insertion(self) -> int:
        """Lines that are put between two others have no place but the stated one."""
        count, start = len(self.file.lines), self.hunk.start
        if not count and not self.floor and not start:
            return 0
        if start is None or not self.hunk.counted:
            raise UserError(
                f"{self.which} names no line of the file to go by. Give some unchanged lines around the change, and "
                "a header @@ -line,count +line,count @@.",
                line=self.hunk.at,
            )
        unended = count > 0 and start == count and not self.file.end(self.file.lines[-1])
        behind = self.number > 1 and start == self.floor == count  # what the former hunk left may have no line end
        if start == 0 or start > count or start < self.floor or self.shift or unended or behind:
            why = (
                f"is for an empty file, and {self.name} is not empty"
                if start == 0
                else f"adds lines after line {start} and names no line around them, which cannot be right here"
            )
            raise self._refused(f"{why}. Give some unchanged lines around the change.", 0, [])
        if self._to_the_end and start != count:
            raise self._refused("ends the file in its middle. Read the file again.", 0, [])
        return start

    def _nameless(self) -> int:
        found = [at for at in self.file.places(self.wanted) if self._fits(at) or at < self.floor]
        if len(found) > 1:
            lines = ", ".join(str(at + 1) for at in found[:SHOWN])
            raise UserError(
                f"{self.which} has no line numbers and its lines stand in the file more than once (lines {lines}), so "
                "nothing was changed. Write @@ -line,count +line,count @@, or add lines around the change.",
                line=self.hunk.at,
                candidates=self._candidates(found),
            )
        if not found or found[0] < self.floor:
            raise self._absent()
        return found[0]

    # -- refusals

    def _refused(self, what: str, occurrences: int, candidates: list[dict[str, Any]]) -> Refused:
        return Refused(
            f"{self.which} {what} Nothing was changed.",
            kind="conflict",
            path=self.name,
            hunk=self.number,
            patchLine=self.hunk.at,
            occurrences=occurrences,
            candidates=candidates,
        )

    def _candidates(self, found: Sequence[int]) -> list[dict[str, Any]]:
        index = LineIndex(self.file.text)
        height = len(self.wanted)
        return [
            {"line": at + 1, "endLine": at + height, "text": cut(index, at, at + height - 1)} for at in found[:SHOWN]
        ]

    def _ambiguous(self, found: list[int]) -> Refused:
        lines = ", ".join(str(at + 1) for at in found[:SHOWN]) + (", …" if len(found) > SHOWN else "")
        return self._refused(
            f"fits at several places (lines {lines}) and not surely at the one it names. Mend its line numbers or add "
            "lines around the change.",
            len(found),
            self._candidates(found),
        )

    def _absent(self) -> Refused:
        close, advice = self._nearest()
        return self._refused(
            f"does not fit: its unchanged and removed lines are not in the file so. {advice}", 0, close
        )

    def _nearest(self) -> tuple[list[dict[str, Any]], str]:
        if advice := self._about_last_line():
            return [], advice
        before = [at for at in self.file.places(self.wanted) if at < self.floor]
        if before and not self._to_the_end:
            return self._candidates(before), (
                f"They stand at line {before[0] + 1}, before the end of the former hunk: order the hunks as the file "
                "is, and join those that overlap."
            )
        wanted = "\n".join(line.text for line in self.hunk.old)
        close, spaced = nearest(LineIndex(self.file.text), wanted)
        if not close:
            return [], "Nothing in it is similar: read the file again."
        best = close[0]
        lines = f"Line {best['line']}" if best["line"] == best["endLine"] else f"Lines {best['line']}–{best['endLine']}"
        differs = "differs only in white space" if spaced else "is the nearest text"
        if best["line"] != best["endLine"]:
            differs = differs.replace("differs", "differ").replace("is the", "are the")
        return close, f"{lines} {differs}: copy the lines exactly from the candidates."

    def _about_last_line(self) -> str:
        """Whether all that is wrong is what the patch says of the end of the file."""
        old = self.hunk.old
        there = self.file.lines[-len(old) :]
        if self._to_the_end and old[-1].end:
            return ""
        if [line.text for line in old] != [self.file.content(line) for line in there]:
            return ""
        if old[-1].end and not self.file.end(there[-1]):
            return "The file's last line has no line end: write “\\ No newline at end of file” below that line."
        if not old[-1].end and self.file.end(there[-1]):
            return "The file's last line has a line end: leave “\\ No newline at end of file” out."
        return ""
