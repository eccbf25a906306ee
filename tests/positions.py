"""Lines, UTF-16 positions and text edits for the test instruments (LSP 3.17, "Text Documents").

Nothing here is shared with the product: the instruments judge it, so they bring their own arithmetic. Only ``re``
is imported, since the scripted server must start fast.
"""

from __future__ import annotations

import re
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# The three line ends of the protocol. ``str.splitlines`` knows more of them (form feed, U+2028 …) and is wrong here.
_END_OF_LINE = re.compile(r"\r\n|\n|\r")


def utf16_length(text: str) -> int:
    """How many UTF-16 code units ``text`` takes; a lone surrogate counts as the one unit it is."""
    if text.isascii():
        return len(text)
    return len(text) + sum(1 for character in text if character > "\uffff")


def index_in_line(line: str, character: int) -> int:
    """The string index of UTF-16 offset ``character``: clamped to the line, never inside a pair."""
    if line.isascii():
        return max(0, min(character, len(line)))
    units = 0
    for index, symbol in enumerate(line):
        width = 2 if symbol > "\uffff" else 1
        if units + width > character:
            return index
        units += width
    return len(line)


class Lines:
    """The lines of one text, without their line ends."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0]
        self._ends: list[int] = []
        for match in _END_OF_LINE.finditer(text):
            self._ends.append(match.start())
            self._starts.append(match.end())
        self._ends.append(len(text))

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, line: int) -> str:
        if not 0 <= line < len(self._starts):
            raise IndexError(f"line {line} of a text with {len(self._starts)} lines")
        return self.text[self._starts[line] : self._ends[line]]

    def offset(self, position: dict[str, int]) -> int:
        """The string index of an LSP ``{line, character}``; past the end of a line or text means that end."""
        line = position["line"]
        if line >= len(self._starts):
            return len(self.text)
        return self._starts[line] + index_in_line(self[line], position["character"])

    def position(self, offset: int) -> dict[str, int]:
        """The LSP ``{line, character}`` of a string index; inside a line end it is the end of the line."""
        line = bisect_right(self._starts, offset) - 1
        return {
            "line": line,
            "character": utf16_length(self.text[self._starts[line] : min(offset, self._ends[line])]),
        }

    def range(self, start: int, end: int) -> dict[str, dict[str, int]]:
        """The LSP range between two string indices."""
        return {"start": self.position(start), "end": self.position(end)}


def apply_changes(text: str, changes: Sequence[dict[str, Any]]) -> str:
    """``contentChanges`` of a ``didChange``: each refers to the text that the one before it left."""
    for change in changes:
        span = change.get("range")
        if span is None:
            text = change["text"]
            continue
        lines = Lines(text)
        start, end = lines.offset(span["start"]), lines.offset(span["end"])
        text = text[:start] + change["text"] + text[end:]
    return text


def apply_edits(text: str, edits: Sequence[dict[str, Any]]) -> str:
    """``TextEdit[]``: all refer to the original text, insertions at one place keep their order.

    Raises ``ValueError`` when two edits overlap, which the specification forbids.
    """
    lines = Lines(text)
    spans = [
        (lines.offset(edit["range"]["start"]), lines.offset(edit["range"]["end"]), index, edit["newText"])
        for index, edit in enumerate(edits)
    ]
    spans.sort(key=lambda span: span[:3])
    pieces: list[str] = []
    last = 0
    for start, end, _, new_text in spans:
        if start < last or end < start:
            raise ValueError(f"overlapping or inverted edits at {lines.position(start)}")
        pieces += (text[last:start], new_text)
        last = end
    return "".join(pieces) + text[last:]
