"""Positions and ranges of LSP (3.17, "Text Documents"): zero-based lines, UTF-16 code units within a line."""

from __future__ import annotations

import re
from typing import Annotated

import msgspec

LINE_END = re.compile(r"\r\n|\n|\r")
"""The three line ends of LSP. ``str.splitlines`` knows more of them (form feed, U+2028, …) and is wrong here."""

_ASTRAL = re.compile("[\U00010000-\U0010ffff]")

Unsigned = Annotated[int, msgspec.Meta(ge=0)]


class Position(msgspec.Struct, frozen=True, order=True, gc=False):
    """``line`` is zero-based, ``character`` counts UTF-16 code units. Neither is negative on the wire."""

    line: Unsigned
    character: Unsigned


class Range(msgspec.Struct, frozen=True, order=True, gc=False):
    """From ``start`` up to, not including, ``end``."""

    start: Position
    end: Position


def utf16_length(text: str) -> int:
    """How many UTF-16 code units ``text`` takes. A lone surrogate is the one unit that it is."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def index_of_unit(line: str, character: int) -> int:
    """The string index of UTF-16 offset ``character`` in ``line``, a text without a line end.

    Past the end is the end (LSP: "it defaults back to the line length"), less than nothing is the start, and the
    middle of a surrogate pair is the start of its character, so that no edit ever splits one.
    """
    if character <= 0:
        return 0
    if line.isascii():
        return min(character, len(line))
    wider = 0  # how many characters before the one looked at take two units
    for match in _ASTRAL.finditer(line, 0, character):
        if match.start() + wider >= character:
            break
        wider += 1
    # Where the last of them holds the middle of its pair, this is its own index.
    return min(character - wider, len(line))
