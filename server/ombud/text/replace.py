"""Replace exact text in a file, as an agent asks for it, and show the nearest candidates where it cannot be done."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ombud.errors import Refused, UserError
from ombud.text.buffer import dominant_eol
from ombud.text.lines import LineIndex
from ombud.text.nearest import cut, nearest
from ombud.text.ranges import LINE_END

SHOWN = 10
"""How many places an ambiguous text names."""

# One line end of any kind, never a half of ``\r\n``.
_ANY_END = r"(?:\r\n|\r(?!\n)|(?<!\r)\n)"

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Replacement:
    """One exact text and what stands in its place. ``\\n`` (and ``\\r\\n``) is a line end of the file's own kind."""

    old_text: str
    new_text: str
    replace_all: bool = False


@dataclass(frozen=True, slots=True)
class Replaced:
    """``text`` after all edits; ``spans`` are the written regions in it, ascending and apart, as string indices;
    ``count`` is how many places were replaced."""

    text: str
    spans: tuple[Span, ...]
    count: int


@dataclass(frozen=True, slots=True)
class _Splice:
    start: int
    end: int
    new: str


def replace(text: str, eol: str, edits: Sequence[Replacement], name: str = "the file") -> Replaced:
    """``text`` after ``edits``, each applied to what the one before it left; ``name`` is for messages.

    ``eol`` is the file's dominant line end. A file with one kind of line end is matched with that kind; one with
    several is matched with any, and a new line end then takes the kind of the region it replaces, or ``eol``. Only
    the matched regions are spliced. An empty old text fills an empty file and nothing else.

    Raises `UserError` for an edit that makes no sense, and `Refused` (``conflict``, with ``edit`` counted from 1,
    ``occurrences`` and ``candidates: [{line, endLine, text, similarity?}]``, lines one-based) where the old text is
    absent, or occurs more than once without ``replace_all``.
    """
    if not edits:
        raise UserError(f"There is no edit for {name}: give at least one oldText with its newText.")
    original = text
    spans: list[Span] = []
    count = 0
    for number, edit in enumerate(edits, 1):
        which = f"edit {number} of {len(edits)}" if len(edits) > 1 else "the edit"
        splices = _splices(text, eol, edit, _Where(number, which, name, original))
        spans = _carry(spans, splices)
        text = _apply(text, splices)
        count += len(splices)
    return Replaced(text, tuple(spans), count)


@dataclass(frozen=True, slots=True)
class _Where:
    """What a refusal says about the edit it refuses."""

    number: int
    which: str
    name: str
    original: str


def _splices(text: str, eol: str, edit: Replacement, where: _Where) -> list[_Splice]:
    old, new = _unified(edit.old_text), _unified(edit.new_text)
    if old == new:
        raise UserError(f"oldText and newText of {where.which} are the same: there is nothing to change.")
    ends = _kinds(text)
    if not old:
        if text:
            raise UserError(
                f"oldText of {where.which} is empty but {where.name} is not: "
                "give the exact text to replace, or write the whole file."
            )
        return [_Splice(0, 0, new.replace("\n", eol))]
    if len(ends) <= 1:
        kind = next(iter(ends), eol)
        replacement = new.replace("\n", kind)
        found = _choose(_Literal(text, old, kind), edit.replace_all, where)
        return [_Splice(start, end, replacement) for start, end in found]
    found = _choose(_Mixed(text, old), edit.replace_all, where)
    return [_mixed_splice(text, start, end, new, eol) for start, end in found]


class _Literal:
    """Occurrences of a text in a file with one kind of line end."""

    def __init__(self, text: str, old: str, eol: str) -> None:
        self.text = text
        self.wanted = old
        self._needle = old.replace("\n", eol)

    def count(self) -> int:
        return self.text.count(self._needle)

    def found_in(self, text: str) -> bool:
        return self._needle in text

    def first(self, limit: int) -> list[Span]:
        """The first places, overlapping ones too: ``aa`` stands twice in ``aaa``."""
        found: list[Span] = []
        start = self.text.find(self._needle)
        while start >= 0 and len(found) < limit:
            found.append((start, start + len(self._needle)))
            start = self.text.find(self._needle, start + 1)
        return found

    def apart(self) -> Iterator[Span]:
        start = self.text.find(self._needle)
        while start >= 0:
            yield start, start + len(self._needle)
            start = self.text.find(self._needle, start + len(self._needle))


class _Mixed:
    """Occurrences of a text in a file with several kinds of line end, any of which stands for ``\\n``."""

    def __init__(self, text: str, old: str) -> None:
        self.text = text
        self.wanted = old
        self._pattern = re.compile(_ANY_END.join(re.escape(piece) for piece in old.split("\n")))

    def count(self) -> int:
        return sum(1 for _ in self.apart())

    def found_in(self, text: str) -> bool:
        return self._pattern.search(text) is not None

    def first(self, limit: int) -> list[Span]:
        found: list[Span] = []
        match = self._pattern.search(self.text)
        while match is not None and len(found) < limit:
            found.append(match.span())
            match = self._pattern.search(self.text, match.start() + 1)
        return found

    def apart(self) -> Iterator[Span]:
        return (match.span() for match in self._pattern.finditer(self.text))


def _choose(finder: _Literal | _Mixed, replace_all: bool, where: _Where) -> list[Span]:
    """The places to splice. Raises the refusals of `replace`."""
    if replace_all:
        found = list(finder.apart())
        if not found:
            raise _absent(finder, where)
        return found
    first = finder.first(SHOWN)
    if not first:
        raise _absent(finder, where)
    if len(first) > 1:
        raise _ambiguous(finder, first, where)
    return first


def _ambiguous(finder: _Literal | _Mixed, first: list[Span], where: _Where) -> Refused:
    index = LineIndex(finder.text)
    candidates: list[dict[str, Any]] = []
    for start, end in first:
        line, end_line = index.position(start)[0], index.position(max(start, end - 1))[0]
        candidates.append({"line": line + 1, "endLine": end_line + 1, "text": cut(index, line, end_line)})
    total = max(len(first), finder.count())
    lines = ", ".join(str(candidate["line"]) for candidate in candidates)
    more = ", …" if total > len(candidates) else ""
    return Refused(
        f"oldText of {where.which} occurs {total} times in {where.name} (lines {lines}{more}), so nothing was "
        "changed. Add neighbouring lines to oldText until it is unique, or set replaceAll to change every occurrence.",
        kind="conflict",
        edit=where.number,
        occurrences=total,
        candidates=candidates,
    )


def _absent(finder: _Literal | _Mixed, where: _Where) -> Refused:
    index = LineIndex(finder.text)
    close, spaced = nearest(index, finder.wanted)
    if finder.text is not where.original and finder.found_in(where.original):
        advice = "An earlier edit of this call changed it: write oldText as it is after that edit."
    elif not close:
        advice = "Nothing in it is similar: read the file again before editing it."
    else:
        best = close[0]
        lines = f"line {best['line']}" if best["line"] == best["endLine"] else f"lines {best['line']}–{best['endLine']}"
        differs = "differs only in white space" if spaced else "is the nearest text"
        advice = f"{lines[0].upper()}{lines[1:]} {differs}: copy oldText exactly from the candidates."
    return Refused(
        f"oldText of {where.which} is not in {where.name}, so nothing was changed. {advice}",
        kind="conflict",
        edit=where.number,
        occurrences=0,
        candidates=close,
    )


def _mixed_splice(text: str, start: int, end: int, new: str, eol: str) -> _Splice:
    """The splice of one region in a file with several kinds of line end.

    Lines that old and new text share at their start and end keep their bytes, so that context given to make the old
    text unique is not rewritten; the lines between take the region's own kind of line end.
    """
    region = text[start:end]
    kinds = _kinds(region)
    if len(kinds) <= 1:
        return _Splice(start, end, new.replace("\n", next(iter(kinds), eol)))
    old_lines, new_lines = _pieces(region), _pieces(new)
    head = 0
    while head < min(len(old_lines), len(new_lines)) and _same(old_lines[head], new_lines[head]):
        head += 1
    tail = 0
    while tail < min(len(old_lines), len(new_lines)) - head and _same(old_lines[-1 - tail], new_lines[-1 - tail]):
        tail += 1
    middle = "".join(new_lines[head : len(new_lines) - tail]).replace("\n", dominant_eol(region))
    before = sum(map(len, old_lines[:head]))
    after = sum(map(len, old_lines[len(old_lines) - tail :]))
    return _Splice(start + before, end - after, middle)


def _same(old: str, new: str) -> bool:
    return _unified(old, every=True) == new


def _pieces(text: str) -> list[str]:
    """The lines of ``text`` with their line ends."""
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _unified(text: str, *, every: bool = False) -> str:
    """``text`` with ``\\r\\n`` (with ``every``: and ``\\r``) written as ``\\n``."""
    return LINE_END.sub("\n", text) if every else text.replace("\r\n", "\n")


def _kinds(text: str) -> set[str]:
    """Which line ends occur in ``text``."""
    if "\r" not in text:
        return {"\n"} if "\n" in text else set()
    both = text.count("\r\n")
    counts = {"\r\n": both, "\n": text.count("\n") - both, "\r": text.count("\r") - both}
    return {eol for eol, count in counts.items() if count}


def _apply(text: str, splices: Sequence[_Splice]) -> str:
    pieces: list[str] = []
    done = 0
    for splice in splices:
        pieces += (text[done : splice.start], splice.new)
        done = splice.end
    return "".join(pieces) + text[done:]


def _carry(spans: Sequence[Span], splices: Sequence[_Splice]) -> list[Span]:
    """Where the regions written so far, and those of ``splices``, lie once the splices are made.

    A splice inside or across an earlier region becomes one region with it. Linear in both, since a ``replace_all``
    may come after another one of thousands of places.
    """
    parts = [(start, end, 0) for start, end in spans]
    parts += [(s.start, s.end, len(s.new) - (s.end - s.start)) for s in splices]
    parts.sort()
    carried: list[Span] = []
    shift = 0
    for start, end, grown in _merged(parts):
        carried.append((start + shift, end + shift + grown))
        shift += grown
    return carried


def _merged(parts: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Overlapping ``(start, end, growth)`` joined into one; those that only touch stay apart."""
    current: tuple[int, int, int] | None = None
    for start, end, grown in parts:
        if current is not None and (start < current[1] or (start, end) == current[:2]):
            current = (current[0], max(end, current[1]), current[2] + grown)
            continue
        if current is not None:
            yield current
        current = (start, end, grown)
    if current is not None:
        yield current
