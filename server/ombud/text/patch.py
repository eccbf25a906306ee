"""Patches as agents and git write them: unified diffs over several files, read into what is to be done to each.

Understood are plain unified diffs (``---`` / ``+++``) and git's extended headers for created, deleted, renamed and
copied files and for modes (git-diff(1), "Generating patch text with -p"), with prose and fences around them. What a
patch cannot say exactly is refused, with the line of the patch. `ombud.text.hunks` applies the hunks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, NoReturn

from ombud.errors import UserError
from ombud.text.names import both, plain_names, unquoted

Kind = Literal["create", "modify", "delete", "rename", "copy"]

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))?(?: ?@@|\s*$)")
_MODE = re.compile(r"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})\s*")
_MOVED = re.compile(r"(rename|copy) (from|to) (.+)")
_INDEX = re.compile(r"(?:index |similarity index |dissimilarity index )(?:.*? ([0-7]{6})$)?")
_BINARY = re.compile(r"GIT binary patch|Binary files .* differ")
_STAMP = re.compile(r"\t.*| +\d{4}-\d\d-\d\d[ T]\d\d:\d\d.*| +$")
_FENCE = re.compile(r"`{3}|~{3}")
# What stands between two files, or behind the last one.
_BETWEEN = re.compile(
    r"Index: |={3}|`{3}|~{3}|</|\*\*\* End|Only in |Binary files |From [0-9a-f]{7}|commit [0-9a-f]{7}"
)
_SIGNATURE = re.compile(r"-- ?\r?")
_VERSION = re.compile(r"\d+\.\d")
_FOREIGN = re.compile(r"\*\*\* (?:Begin Patch|Update File:|Add File:|Delete File:)")
_TELLING = frozenset("@dBG*`~")  # how lines begin that prose is looked at for
NOTHING = "/dev/null"


class Line(NamedTuple):
    """One line of a hunk: its ``sign`` (space, ``-`` or ``+``), its text, and its line end as the patch has it.

    ``end`` is ``\\n``, ``\\r\\n``, or empty for a last line without one.
    """

    sign: str
    text: str
    end: str = "\n"


@dataclass(frozen=True, slots=True)
class Hunk:
    """``start`` is the one-based old line that the header names, None where it names none.

    ``counted``: the header's counts are those of the body. ``at`` is the patch's own line, for messages.
    """

    start: int | None
    lines: tuple[Line, ...]
    at: int
    counted: bool = True

    @property
    def old(self) -> list[Line]:
        return [line for line in self.lines if line.sign != "+"]

    @property
    def new(self) -> list[Line]:
        return [line for line in self.lines if line.sign != "-"]


@dataclass(slots=True)
class FilePatch:
    """What a patch does to one file. ``old`` and ``new`` are paths without ``a/`` and ``b/``, empty for none.

    ``others`` are further readings of the two paths, for where the first names no file: a folder may really be called
    ``a``. ``mode`` are the permission bits to set (0o755, 0o644), None where the patch says nothing of them. ``at`` is
    the patch's line where the file begins; ``git`` says that it begins with a ``diff --git`` line.
    """

    kind: Kind = "modify"
    old: str = ""
    new: str = ""
    others: tuple[tuple[str, str], ...] = ()
    mode: int | None = None
    hunks: list[Hunk] = field(default_factory=list)
    at: int = 1
    git: bool = False

    @property
    def name(self) -> str:
        """The path for messages."""
        return self.new or self.old


def parse(text: str) -> list[FilePatch]:
    """The files of a patch, in its order.

    A hunk whose header miscounts is read by its body where that can mean one thing only. Raises `UserError` (with
    ``line`` of the patch) for what is no patch, for binary parts, links and submodules, and for headers or hunks that
    contradict themselves.
    """
    return _Reader(text).files()


def _wrong(at: int, what: str) -> NoReturn:
    raise UserError(f"The patch cannot be read at its line {at}: {what}", line=at)


class _Reader:
    def __init__(self, text: str) -> None:
        # Only \n ends a line of a patch; a carriage return before it may belong to the line that is patched.
        self._lines = text.split("\n")
        if self._lines[-1] == "":
            self._lines.pop()
        self._at = 0
        self._git = text.startswith("diff --git ") or "\ndiff --git " in text
        self._fenced = False

    def files(self) -> list[FilePatch]:
        out: list[FilePatch] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git "):
                out.append(self._git_file())
            elif self._header(self._at):
                out.append(self._plain_file())
            else:
                # Prose before, between and after the files, as mails and commit messages have it.
                if line[:1] in _TELLING:
                    self._check_prose(line)
                self._at += 1
        if not out:
            _wrong(1, "it holds no file. Write a unified diff: --- and +++ lines, then @@ -line,count +line,count @@.")
        return out

    def _check_prose(self, line: str) -> None:
        """What looks like a part of a patch is not passed over in silence."""
        at = self._at + 1
        if _FENCE.match(line):
            self._fenced = not self._fenced
        if line.startswith("@@"):
            _wrong(at, "a hunk without the --- and +++ lines of its file before it.")
        if line.startswith(("diff --cc ", "diff --combined ")):
            _wrong(at, "it is the combined diff of a merge. Make one against a single parent.")
        if _BINARY.match(line):
            _wrong(at, "it changes a binary file. Only text can be patched here.")
        if _FOREIGN.match(line):
            _wrong(at, "this is no unified diff. Name each file by --- and +++ lines, each hunk by @@ -1,3 +1,4 @@.")

    def _header(self, at: int) -> bool:
        lines = self._lines
        return at + 1 < len(lines) and lines[at].startswith("--- ") and lines[at + 1].startswith("+++ ")

    # -- files

    def _git_file(self) -> FilePatch:
        file = FilePatch(at=self._at + 1, git=True)
        head = self._lines[self._at].rstrip("\r").removeprefix("diff --git ")
        self._at += 1
        moved = self._extended(file)
        if self._at < len(self._lines) and self._header(self._at) and self._belongs(head, moved):
            self._sides(file, head)
        else:
            if not moved:
                name = both(head)
                if name is None:
                    _wrong(file.at, "it is not clear which file is meant.")
                file.old = file.new = name
            file.hunks = self._hunks()
        if moved:
            if set(moved) != {"from", "to"}:
                _wrong(file.at, f"a {file.kind} needs both its “from” and its “to” line.")
            file.old, file.new, file.others = moved["from"], moved["to"], ()
        return self._finished(file)

    def _belongs(self, head: str, moved: dict[str, str]) -> bool:
        """Whether the ``---`` and ``+++`` lines here are of the same file as the ``diff --git`` line before them."""
        old, new = (_side(line) for line in self._lines[self._at : self._at + 2])
        if moved:
            sides = ((unquoted(old), moved.get("from", "")), (unquoted(new), moved.get("to", "")))
            return all(side == name or side.endswith("/" + name) for side, name in sides)
        return (old == NOTHING or head.startswith(f"{old} ") or f"/{old} " in head) and (
            new == NOTHING or head.endswith((f" {new}", f"/{new}"))
        )

    def _extended(self, file: FilePatch) -> dict[str, str]:
        """Git's lines between ``diff --git`` and ``---``; answers where a file moves ``from`` and ``to``."""
        moved: dict[str, str] = {}
        while self._at < len(self._lines):
            line = self._lines[self._at].rstrip("\r")
            if found := _MODE.fullmatch(line):
                self._mode(file, found[1], found[2])
            elif found := _MOVED.fullmatch(line):
                kind: Kind = "rename" if found[1] == "rename" else "copy"
                if file.kind not in ("modify", kind):
                    _wrong(self._at + 1, f"the file is a {file.kind} and a {kind} at once.")
                file.kind = kind
                moved[found[2]] = unquoted(found[3])
            elif _BINARY.match(line):
                _wrong(self._at + 1, "it changes a binary file. Only text can be patched here.")
            elif found := _INDEX.match(line):
                self._ordinary(found[1])
            else:
                break
            self._at += 1
        return moved

    def _mode(self, file: FilePatch, what: str, digits: str) -> None:
        self._ordinary(digits)
        kind: Kind | None = {"new file mode": "create", "deleted file mode": "delete"}.get(what)  # type: ignore[assignment]
        if kind is not None:
            if file.kind not in ("modify", kind):
                _wrong(self._at + 1, f"the file is a {file.kind} and a {kind} at once.")
            file.kind = kind
        if what.startswith("new"):
            # Git knows of two kinds of ordinary files only.
            file.mode = 0o755 if int(digits, 8) & 0o100 else 0o644

    def _ordinary(self, digits: str | None) -> None:
        """Modes are those of ordinary files (protocol.md, "Writing")."""
        if digits is None or digits.startswith("100"):
            return
        what = {"120": "a symbolic link", "160": "a submodule"}.get(digits[:3], "no ordinary file")
        _wrong(self._at + 1, f"mode {digits} is {what}. Only ordinary files can be patched here.")

    def _plain_file(self) -> FilePatch:
        file = FilePatch(at=self._at + 1)
        self._sides(file, None)
        return self._finished(file)

    def _sides(self, file: FilePatch, head: str | None) -> None:
        """The ``---`` and ``+++`` lines and the hunks behind them; ``head`` are the paths of ``diff --git``."""
        old, new = (unquoted(_side(line)) for line in self._lines[self._at : self._at + 2])
        at = self._at + 1
        self._at += 2
        if old == NOTHING and new == NOTHING:
            _wrong(at, "both sides are /dev/null.")
        kind: Kind = "create" if old == NOTHING else "delete" if new == NOTHING else "modify"
        if kind != "modify" and file.kind not in ("modify", kind):
            _wrong(at, f"the file is a {file.kind} and a {kind} at once.")
        file.old, file.new, file.others = plain_names(
            "" if old == NOTHING else old, "" if new == NOTHING else new, head
        )
        if file.kind == "modify":
            file.kind = kind if file.old == file.new or kind != "modify" else "rename"
        elif file.kind == "create":
            file.old = ""
        elif file.kind == "delete":
            file.new = ""
        file.hunks = self._hunks()

    @staticmethod
    def _finished(file: FilePatch) -> FilePatch:
        if not file.name:
            _wrong(file.at, "it names no file.")
        if file.kind == "create":
            file.old = ""
        elif file.kind == "delete":
            file.new = ""
        if not file.hunks and (file.kind == "modify" and file.mode is None):
            _wrong(file.at, f"it holds no change of {file.name}. A hunk begins with @@ -line,count +line,count @@.")
        sign = {"create": "+", "delete": "-"}.get(file.kind)
        for hunk in file.hunks if sign else ():
            if any(line.sign != sign for line in hunk.lines) or (sign == "+" and hunk is not file.hunks[0]):
                what = "is created, so it is one hunk of + lines" if sign == "+" else "is deleted, so all lines are -"
                _wrong(hunk.at, f"{file.name} {what}.")
        return file

    # -- hunks

    def _hunks(self) -> list[Hunk]:
        hunks: list[Hunk] = []
        while True:
            at = self._past_empty(self._at)
            if at >= len(self._lines) or not self._lines[at].startswith("@@"):
                return hunks
            self._at = at
            hunks.append(self._hunk())

    def _hunk(self) -> Hunk:
        at = self._at + 1
        line = self._lines[self._at]
        if line.startswith("@@@"):
            _wrong(at, "it is the combined diff of a merge. Make one against a single parent.")
        head = _HUNK.match(line)
        first = self._at + 1
        end = None if head is None else self._counted(first, _count(head[2]), _count(head[4]))
        counted = end is not None
        if end is None:
            end = self._recounted(first, at)
        self._at = end
        start = None if head is None else int(head[1])
        lines = self._body(first, end)
        if not any(one.sign != " " for one in lines):
            _wrong(at, "the hunk changes nothing: no line of it begins with + or -.")
        _check_unended(lines, at)
        return Hunk(start, lines, at, counted)

    def _counted(self, first: int, old: int, new: int) -> int | None:
        """Where the body ends by the header's counts; None where they are not those of the body."""
        at = first
        while old or new:
            line = self._lines[at] if at < len(self._lines) else "."
            sign = _sign(line)
            old -= sign in (" ", "-")
            new -= sign in (" ", "+")
            if sign not in (" ", "-", "+", "\\") or old < 0 or new < 0:
                return None
            at += 1
        while at < len(self._lines) and self._lines[at].startswith("\\"):
            at += 1
        self._check_apart(at)
        # Lines that follow and read like more of the body say that the counts are too small.
        if at < len(self._lines) and self._goes_on(at):
            return None
        return at

    def _check_apart(self, end: int) -> None:
        """A hunk may remove ``-- a/x`` and add ``++ b/x``; before a further hunk that is most likely another file."""
        if (
            not self._git
            and end < len(self._lines)
            and self._lines[end].startswith("@@")
            and self._header(end - 2)
            and self._lines[end - 2].startswith("--- a/")
            and self._lines[end - 1].startswith("+++ b/")
        ):
            _wrong(end - 1, "it may be a part of the hunk or the next file. Begin each file with a “diff --git” line.")

    def _goes_on(self, at: int) -> bool:
        """Whether what follows a hunk by its counts reads like more of it."""
        if self._begins(at):
            return False
        if self._lines[at].startswith(("+", "-", " ")):
            return True
        at = self._past_empty(at)
        return at < len(self._lines) and not self._begins(at) and self._lines[at].startswith(("+", "-"))

    def _begins(self, at: int) -> bool:
        """Whether another part of the patch, or the signature of a mail, begins at this line."""
        line = self._lines[at]
        if line.startswith(("@@", "diff ")) or self._header(at):
            return True
        after = self._lines[at + 1] if at + 1 < len(self._lines) else ""
        return _SIGNATURE.fullmatch(line) is not None and _VERSION.match(after) is not None

    def _recounted(self, first: int, head: int) -> int:
        """Where the body ends by what its lines look like."""
        at = first
        while at < len(self._lines) and not self._begins(at) and _sign(self._lines[at]) is not None:
            at += 1
        end = at
        while end > first and self._lines[end - 1] in ("", "\r"):
            end -= 1
        if end == first:
            _wrong(head, "the hunk is empty: its lines begin with a space, + or -.")
        if at == len(self._lines):
            return end
        line = self._lines[at]
        if self._header(at):
            if at + 2 >= len(self._lines) or not self._lines[at + 2].startswith("@@"):
                _wrong(at + 1, f"it may be a part of the hunk or a file. Mend the counts of the hunk at line {head}.")
        elif not self._sure_end(at) and (self._changes_follow(at + 1) or not (end < at or _BETWEEN.match(line))):
            # Text that follows is prose, unless it is a line of the hunk that lost its first character.
            _wrong(at + 1, "it begins with none of space, + and -, and the hunk's header counts other lines.")
        return end

    def _sure_end(self, at: int) -> bool:
        return self._begins(at) or (self._fenced and _FENCE.match(self._lines[at]) is not None)

    def _changes_follow(self, at: int) -> bool:
        """Whether lines that read like changes stand before the next part of the patch."""
        while at < len(self._lines) and not self._begins(at):
            if self._lines[at].startswith(("+", "-")):
                return True
            at += 1
        return False

    def _past_empty(self, at: int) -> int:
        while at < len(self._lines) and self._lines[at] in ("", "\r"):
            at += 1
        return at

    def _body(self, first: int, end: int) -> tuple[Line, ...]:
        lines: list[Line] = []
        for at in range(first, end):
            line = self._lines[at]
            if line.startswith("\\"):
                if not lines:
                    _wrong(at + 1, "“No newline” stands before any line.")
                last = lines[-1]
                # Where the marker itself has no carriage return, the one before belongs to the line.
                text = last.text + ("\r" if last.end == "\r\n" and not line.endswith("\r") else "")
                lines[-1] = Line(last.sign, text, "")
                continue
            # Editors strip the space of an empty context line.
            sign, text = (line[0], line[1:]) if line not in ("", "\r") else (" ", line)
            if text.endswith("\r"):
                lines.append(Line(sign, text[:-1], "\r\n"))
            else:
                lines.append(Line(sign, text))
        return tuple(lines)


def _side(line: str) -> str:
    """The path of a ``---`` or ``+++`` line as it is written."""
    return _STAMP.sub("", line[4:].rstrip("\r"), count=1)


def _count(digits: str | None) -> int:
    return 1 if digits is None else int(digits)


def _sign(line: str) -> str | None:
    """How a line of a hunk begins; None for one that is none."""
    if line in ("", "\r"):
        return " "
    return line[0] if line[0] in " +-\\" else None


def _check_unended(lines: tuple[Line, ...], at: int) -> None:
    """Only the last line of a side can be without a line end."""
    for side in ("+", "-"):
        ends = [line.end for line in lines if line.sign != side]
        if "" in ends[:-1]:
            _wrong(at, "“No newline at end of file” stands before the last line of the hunk.")
