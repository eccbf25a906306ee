"""The lines of one text, and the way between LSP positions, string indices and UTF-8 byte offsets."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, islice

from ombud.text.ranges import LINE_END, index_of_unit, utf16_length


class LineIndex:
    """The lines of ``text`` by the line ends of LSP: ``\\n``, ``\\r\\n`` and ``\\r``.

    A text that ends with a line end has an empty last line, so there is always at least one. Built once for many
    questions; for one or two positions in a large text `locate` is cheaper.
    """

    __slots__ = ("_bytes", "_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = _starts(text)
        self._bytes: list[int] | None = None

    @property
    def count(self) -> int:
        """How many lines there are, at least 1."""
        return len(self._starts)

    def line(self, index: int) -> str:
        """The line ``index`` (zero-based) without its line end. Raises `IndexError` where there is no such line."""
        start, end = self.span(index)
        return self.text[start:end]

    def span(self, index: int) -> tuple[int, int]:
        """Where line ``index`` starts and ends in the text, without its line end. Raises `IndexError`."""
        if not 0 <= index < len(self._starts):
            raise IndexError(f"There is no line {index} in a text of {len(self._starts)} lines.")
        start = self._starts[index]
        if index + 1 == len(self._starts):
            return start, len(self.text)
        end = self._starts[index + 1] - 1
        if end > start and self.text[end] == "\n" and self.text[end - 1] == "\r":
            end -= 1
        return start, end

    def offset(self, line: int, character: int) -> int:
        """The string index of a position; clamped as LSP says: to the end of the line, to the end of the text."""
        if line < 0:
            return 0
        if line >= len(self._starts):
            return len(self.text)
        start, end = self.span(line)
        if self.text.isascii():
            return min(start + max(character, 0), end)
        return start + index_of_unit(self.text[start:end], character)

    def position(self, offset: int) -> tuple[int, int]:
        """``(line, character)`` of a string index, in UTF-16 units.

        An index outside the text is clamped to it. Between the two characters of a ``\\r\\n`` there is no position
        of LSP: it is the end of the line.
        """
        offset = min(max(offset, 0), len(self.text))
        line = bisect_right(self._starts, offset) - 1
        start, end = self.span(line)
        return line, utf16_length(self.text[start : min(offset, end)])

    def byte_offset(self, line: int, character: int) -> int:
        """The offset of a position in the text's UTF-8 bytes, as tree-sitter counts.

        A lone surrogate counts the three bytes that ``surrogatepass`` writes for it.
        """
        offset = self.offset(line, character)
        if self.text.isascii():
            return offset
        if self._bytes is None:
            ends = [*islice(self._starts, 1, None), len(self.text)]
            pieces = (self.text[a:b] for a, b in zip(self._starts, ends, strict=True))
            self._bytes = [0, *accumulate(map(_utf8_length, pieces))]
        row = bisect_right(self._starts, offset) - 1
        return self._bytes[row] + _utf8_length(self.text[self._starts[row] : offset])


def locate(text: str, line: int, character: int) -> int:
    """What ``LineIndex(text).offset(line, character)`` answers, looking no further than that line."""
    if line < 0:
        return 0
    start = _start_of(text, line)
    if start is None:
        return len(text)
    if character <= 0:
        return start
    # A position is rarely far from its line's start: only the piece that can hold it is looked at.
    piece = text[start : start + character]
    end = LINE_END.search(piece)
    return start + index_of_unit(piece if end is None else piece[: end.start()], character)


def _start_of(text: str, line: int) -> int | None:
    """Where line ``line`` starts, None where there are not so many lines."""
    if line == 0:
        return 0
    if line > len(text):
        # More line ends than characters there cannot be; nor do numbers beyond 64 bits count anything below.
        return None
    if _only_newlines(text):
        pieces = text.split("\n", line)
        return len(text) - len(pieces[line]) if len(pieces) > line else None
    match = next(islice(LINE_END.finditer(text), line - 1, None), None)
    return None if match is None else match.end()


def _starts(text: str) -> list[int]:
    if _only_newlines(text):
        starts = [0, *accumulate(len(piece) + 1 for piece in text.split("\n"))]
        starts.pop()
        return starts
    return [0, *(match.end() for match in LINE_END.finditer(text))]


def _only_newlines(text: str) -> bool:
    """Whether every line end closes with ``\\n``, as it is in nearly every file."""
    return "\r" not in text or text.count("\r") == text.count("\r\n")


def _utf8_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
