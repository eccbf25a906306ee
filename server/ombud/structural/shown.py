"""Matches as answers show them: lines and UTF-16 columns, and texts of a bounded length."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from ombud.structural.messages import MOST_TEXT, Hit, Place
from ombud.text.ranges import utf16_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ombud.structural.match import Match

MOST_LINE = 400
"""Characters of a line around a match."""
MOST_ITEMS = 200
"""Elements of one ``$$$X`` that are told."""
_ENCODED = "utf-8"


class Pages:
    """Shows matches in one source (UTF-8). Lines end as in LSP: ``\\n``, ``\\r\\n`` and ``\\r``."""

    def __init__(self, source: bytes) -> None:
        self._source = source
        self._ascii = source.isascii()
        self._simple = self._ascii and b"\r" not in source
        """Whether columns are bytes, and lines end at `\\n` alone."""
        self._known: Sequence[int] | None = None
        self._at = (0, 0, 0)
        """A place that was asked for, its line, and where that starts: the next one is mostly not far behind it."""

    @property
    def _starts(self) -> Sequence[int]:
        if self._known is None:
            self._known = _starts(self._source)
        return self._known

    def hit(self, root: int, path: str, language: str, match: Match, context: int) -> Hit:
        places: dict[str, Place] = {}
        lists: dict[str, list[Place]] = {}
        for name, capture in match.captures.items():
            if capture.items is None:
                places[name] = self.place(capture.start, capture.end)
            else:
                lists[name] = [self.place(*item) for item in capture.items[:MOST_ITEMS]]
        place = self.place(match.start, match.end)
        before, after = self._around(place.line, place.end_line, context) if context else ([], [])
        return Hit(root, path, language, match.start, match.end, match.kind, place, places, lists, before, after)

    def place(self, start: int, end: int) -> Place:
        if self._simple and end - start <= MOST_TEXT:
            source = self._source
            line, at = self._line_of(start)
            more = source.count(b"\n", start, end)
            end_at = source.rfind(b"\n", start, end) + 1 if more else at
            return Place(line, start - at, line + more, end - end_at, source[start:end].decode(_ENCODED))
        line, column = self._position(start)
        end_line, end_column = self._position(end)
        # A character takes four bytes at the most.
        text = self._source[start : min(end, start + 4 * MOST_TEXT)].decode(_ENCODED, "ignore")
        return Place(line, column, end_line, end_column, text[:MOST_TEXT])

    def _line_of(self, offset: int) -> tuple[int, int]:
        """The line of a place in a simple source, and where that starts. No table of lines for a few places."""
        before, line, at = self._at
        if offset < before:
            before, line, at = 0, 0, 0
        more = self._source.count(b"\n", before, offset)
        if more:
            line, at = line + more, self._source.rfind(b"\n", before, offset) + 1
        self._at = offset, line, at
        return line, at

    def _position(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self._starts, offset) - 1
        start = self._starts[line]
        # Behind the first half of a `\r\n` there is no position: it is the end of the line.
        if offset > start and self._source[offset - 1 : offset + 1] == b"\r\n":
            offset -= 1
        if self._ascii:
            return line, offset - start
        return line, utf16_length(self._source[start:offset].decode(_ENCODED, "replace"))

    def _around(self, first: int, last: int, context: int) -> tuple[list[str], list[str]]:
        before = [self._line(line) for line in range(max(0, first - context), first)]
        after = [self._line(line) for line in range(last + 1, min(len(self._starts), last + 1 + context))]
        if after and last + len(after) == len(self._starts) - 1 and self._starts[-1] == len(self._source):
            # What a text ends with is no line that anybody sees.
            after.pop()
        return before, after

    def _line(self, line: int) -> str:
        start = self._starts[line]
        end = self._starts[line + 1] if line + 1 < len(self._starts) else len(self._source)
        text = self._source[start : min(end, start + 4 * MOST_LINE)].decode(_ENCODED, "ignore")
        return text.rstrip("\r\n")[:MOST_LINE]


def _starts(source: bytes) -> Sequence[int]:
    # Bytes end lines at `\n`, `\r\n` and `\r` alone.
    starts = list(accumulate(map(len, source.splitlines(keepends=True)), initial=0))
    if len(starts) > 1 and not source.endswith((b"\n", b"\r")):
        starts.pop()
    return starts
