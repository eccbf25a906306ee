"""What a stream can show: its width, colours, and text laid out for it in lines and tables."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

NARROWEST = 40
WIDEST = 120
"""Columns of text: narrower terminals wrap by themselves, in wider ones long lines are hard to read."""
FILE_WIDTH = 100
"""Columns where there is no terminal to measure."""
_STYLES: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_GAP = "  "
_LEAST = 4


@dataclass(frozen=True, slots=True)
class Screen:
    """``width`` in columns. ``colour``: whether escapes for colours may be written."""

    width: int = 80
    colour: bool = False

    def paint(self, text: str, *styles: str) -> str:
        """``text`` in the given styles, or as it is where there are no colours."""
        if not self.colour or not styles or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def wrap(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Lines of at most ``width`` columns; every line of ``text`` begins a new one, and long words are kept."""
        out: list[str] = []
        for line in text.splitlines() or [""]:
            out += textwrap.wrap(
                line,
                self.width,
                initial_indent=indent,
                subsequent_indent=indent if hanging is None else hanging,
                break_long_words=False,
                break_on_hyphens=False,
            ) or [""]
        return out


def screen(stream: TextIO, environment: Mapping[str, str] | None = None) -> Screen:
    """The screen behind ``stream``. ``COLUMNS`` sets the width; ``NO_COLOR`` and ``TERM=dumb`` take the colours."""
    environment = os.environ if environment is None else environment
    live = is_terminal(stream)
    columns = environment.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and int(columns) > 0:
        width = int(columns)
    elif live:
        width = _columns(stream)
    else:
        width = FILE_WIDTH
    colour = live and not environment.get("NO_COLOR") and environment.get("TERM", "") != "dumb"
    return Screen(min(max(width, NARROWEST), WIDEST), colour)


def is_terminal(stream: TextIO) -> bool:
    """Whether a person looks at the stream; a closed one has nobody."""
    try:
        return stream.isatty()
    except ValueError:
        return False


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return shutil.get_terminal_size((80, 24)).columns


def prepare_streams() -> None:
    """Let every text through: what the stream's encoding lacks is written as an escape and never raises."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # The caller closed it (``>&-``): whatever is said goes nowhere.
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - open to the end
        reconfigure = getattr(getattr(sys, name), "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def columns_of(text: str) -> int:
    """How many columns a text without escapes takes: wide East Asian characters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )


def cut(text: str, width: int) -> str:
    """The beginning of a line that fits into ``width`` columns, ended by ``…`` where something is missing."""
    if columns_of(text) <= width:
        return text
    out = ""
    for char in text:
        if columns_of(out + char) > width - 1:
            break
        out += char
    return out + "…"


@dataclass(frozen=True, slots=True)
class Row:
    """A table's row. ``styles`` go with the cells; ``below`` are sentences that take the whole width beneath."""

    cells: Sequence[str]
    styles: Sequence[str] = ()
    below: Sequence[str] = ()


def table(screen: Screen, headings: Sequence[str], rows: Sequence[Row]) -> Iterator[str]:
    """The lines of a table that is never wider than the screen: cells are wrapped, nothing is left out."""
    widths = _widths(screen.width, headings, rows)
    yield from _row_lines(screen, widths, Row(headings, ["dim"] * len(headings)))
    for row in rows:
        yield from _row_lines(screen, widths, row)
        for sentence in row.below:
            yield from screen.wrap(sentence, indent=_GAP * 2)


def _widths(width: int, headings: Sequence[str], rows: Sequence[Row]) -> list[int]:
    """Natural widths, the widest narrowed one column at a time until they fit; no column below four."""
    every = [headings, *(row.cells for row in rows)]
    widths = [max(columns_of(cells[at]) for cells in every) for at in range(len(headings))]
    least = [min(width, _LEAST) for width in widths]
    room = width - len(_GAP) * (len(headings) - 1)
    while sum(widths) > room:
        slack = [have - need for have, need in zip(widths, least, strict=True)]
        widest = max(range(len(widths)), key=lambda at: (slack[at] > 0, widths[at]))
        if slack[widest] <= 0:
            break
        widths[widest] -= 1
    return widths


def _row_lines(screen: Screen, widths: Sequence[int], row: Row) -> Iterator[str]:
    wrapped = [list(_cell(cell, width)) for cell, width in zip(row.cells, widths, strict=True)]
    styles = [*row.styles, *[""] * (len(widths) - len(row.styles))]
    for at in range(max(map(len, wrapped))):
        line = ""
        for number, parts in enumerate(wrapped):
            part = parts[at] if at < len(parts) else ""
            last = number == len(wrapped) - 1
            padding = "" if last else " " * (widths[number] - columns_of(part)) + _GAP
            line += (screen.paint(part, styles[number]) if styles[number] else part) + padding
        yield line.rstrip()


def _cell(text: str, width: int) -> Iterator[str]:
    """A cell's lines. A word that is too long is broken, behind a slash or hyphen where there is one."""
    line = ""
    for word in text.split(" "):
        candidate = f"{line} {word}" if line else word
        if columns_of(candidate) <= width:
            line = candidate
            continue
        if line:
            yield line
        while columns_of(word) > width:
            at = _break(word, width)
            yield word[:at]
            word = word[at:]  # noqa: PLW2901 - the rest of the word is broken on
        line = word
    yield line


def _break(word: str, width: int) -> int:
    """Where to break a word: at most ``width`` columns, at least one character, best behind a separator."""
    most = len(word)
    while most > 1 and columns_of(word[:most]) > width:
        most -= 1
    after = max(word.rfind(mark, 0, most) for mark in "/\\-_.") + 1
    return after if after > most // 3 else most
