"""Differences between two texts: counted, mapped line by line, and as a unified diff."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from ombud.text.blocks import Block, blocks
from ombud.text.ranges import LINE_END

_PLAIN_PATH = re.compile(r"[^\x00-\x1f\x7f\"\\]*")
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\v": "\\v", "\f": "\\f", "\r": "\\r"}


def stat(old: str, new: str) -> tuple[int, int]:
    """``(added, removed)`` lines. A line whose line end changed is one of each; an empty text has no lines."""
    if old == new:
        return 0, 0
    before, after = _lines(old), _lines(new)
    kept = sum(size for _, _, size in blocks(before, after))
    return len(after) - kept, len(before) - kept


@dataclass(frozen=True)
class LineMap:
    """Where the lines of an old text are in a new one; lines are those of LSP, zero-based, without their line ends."""

    parts: tuple[Block, ...]
    old_count: int
    new_count: int

    def to_new(self, line: int) -> int | None:
        """The new line of an old one; None where it was deleted or changed, or never was."""
        index = bisect_right(self.parts, line, key=lambda part: part[0]) - 1
        if index < 0:
            return None
        start, target, size = self.parts[index]
        return target + line - start if line < start + size else None

    def to_old(self, line: int) -> int | None:
        """The old line of a new one; None where it was added or changed, or is not there."""
        index = bisect_right(self.parts, line, key=lambda part: part[1]) - 1
        if index < 0:
            return None
        target, start, size = self.parts[index]
        return target + line - start if line < start + size else None

    @cached_property
    def touched(self) -> frozenset[int]:
        """The new lines that are no old ones. A pure deletion touches none."""
        touched = set(range(self.new_count))
        for _, start, size in self.parts:
            touched.difference_update(range(start, start + size))
        return frozenset(touched)


def line_map(old: str, new: str) -> LineMap:
    """The map from the lines of ``old`` to those of ``new``. A change of line ends alone changes no line."""
    before = LINE_END.split(old)
    if old == new:
        return LineMap(((0, 0, len(before)),), len(before), len(before))
    after = LINE_END.split(new)
    return LineMap(tuple(blocks(before, after)), len(before), len(after))


def unified(old: str | None, new: str | None, path: str, *, context: int = 3) -> str:
    """A unified diff as ``git diff`` prints it and ``git apply`` takes it; empty where nothing differs.

    ``path`` is the POSIX path below the root. None for ``old`` is a file that is created, for ``new`` one that is
    deleted. Lines end at ``\\n`` only, as in git, so that a carriage return is part of its line.
    """
    if old == new:
        return ""
    before, after = (_git_lines(text or "") for text in (old, new))
    head = [
        f"--- {'/dev/null' if old is None else _quoted('a/' + path)}\n",
        f"+++ {'/dev/null' if new is None else _quoted('b/' + path)}\n",
    ]
    changes = _changes(blocks(before, after), len(before), len(after))
    body = [line for hunk in _hunks(changes, context) for line in _hunk(before, after, hunk, context)]
    return "".join(head + body)


_Change = tuple[int, int, int, int]
"""Lines ``[a, b)`` of the old text became lines ``[c, d)`` of the new one."""


def _changes(parts: Sequence[Block], old_count: int, new_count: int) -> Iterator[_Change]:
    a = c = 0
    for i, j, size in [*parts, (old_count, new_count, 0)]:
        if a < i or c < j:
            yield a, i, c, j
        a, c = i + size, j + size


def _hunks(changes: Iterable[_Change], context: int) -> list[list[_Change]]:
    """The changes, those together whose contexts would meet."""
    hunks: list[list[_Change]] = []
    for change in changes:
        if hunks and change[0] - hunks[-1][-1][1] <= 2 * context:
            hunks[-1].append(change)
        else:
            hunks.append([change])
    return hunks


def _hunk(before: Sequence[str], after: Sequence[str], changes: Sequence[_Change], context: int) -> list[str]:
    first, last = changes[0], changes[-1]
    lead = min(context, first[0])
    trail = min(context, len(before) - last[1])
    a, b = first[0] - lead, last[1] + trail
    c, d = first[2] - lead, last[3] + trail
    lines = [f"@@ -{_span(a, b)} +{_span(c, d)} @@\n"]
    at = a
    for old_from, old_to, new_from, new_to in changes:
        lines += [_marked(" ", line) for line in before[at:old_from]]
        lines += [_marked("-", line) for line in before[old_from:old_to]]
        lines += [_marked("+", line) for line in after[new_from:new_to]]
        at = old_to
    return lines + [_marked(" ", line) for line in before[at:b]]


def _span(start: int, end: int) -> str:
    """A hunk's range: one-based, and for no lines at all the line before it."""
    size = end - start
    if size == 1:
        return str(start + 1)
    return f"{start + 1 if size else start},{size}"


def _marked(sign: str, line: str) -> str:
    return f"{sign}{line}" if line.endswith("\n") else f"{sign}{line}\n\\ No newline at end of file\n"


def _quoted(path: str) -> str:
    """A path as git writes it: in quotes, with escapes, where it holds control characters, quotes or backslashes."""
    if _PLAIN_PATH.fullmatch(path):
        return path
    shown = "".join(_escaped(character) for character in path)
    return f'"{shown}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character < " " or character == "\x7f":
        return _ESCAPES.get(character) or f"\\{ord(character):03o}"
    return character


def _lines(text: str) -> list[str]:
    """The lines with their line ends; a line end at the end of the text starts no further line."""
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    lines = [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    if not lines[-1]:
        lines.pop()
    return lines


def _git_lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    return [line + "\n" for line in lines] + ([last] if last else [])
