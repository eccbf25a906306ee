"""Cursors and expectations written into the source text of a fixture.

``<|>`` marks a place and is taken out of the text. A comment line made of carets speaks about the nearest source
line above it, in the columns in which both stand in the fixture, and is taken out as well::

    total: int = "a"<|>
    #            ^^^ error reportAssignmentType

``# <- words`` points at the column in which its comment begins, since no caret can stand there. Several groups of
carets may share a line. A line counts as an expectation only behind a comment sign (``#``, ``//``, ``--``, ``;``,
``%``, ``/*``), so that a line of code which begins with an exclusive-or is left alone; ``bare=True`` also takes lines
of carets without one, for formats that have no comments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tests.positions import utf16_length

CURSOR = "<|>"
_SIGN = r"(?P<sign>\#|//|--|;|%|/\*)"
_BARE = re.compile(r"^[ \t]*(?P<carets>\^.*)$")
_CARETS = re.compile(rf"^[ \t]*{_SIGN}[ \t]*(?P<carets>\^.*)$")
_ARROW = re.compile(rf"^[ \t]*{_SIGN}[ \t]*<-(?P<words>.*)$")
_GROUP = re.compile(r"(?P<carets>\^+)(?P<words>[^^]*)")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|$)")


@dataclass(frozen=True)
class Position:
    """A zero-based LSP position; ``character`` counts UTF-16 code units."""

    line: int
    character: int

    def lsp(self) -> dict[str, int]:
        return {"line": self.line, "character": self.character}


@dataclass(frozen=True)
class Expectation:
    """What a line of carets says about ``text``, the characters of the source line above it."""

    start: Position
    end: Position
    text: str
    words: str

    @property
    def line(self) -> int:
        return self.start.line

    @property
    def range(self) -> dict[str, dict[str, int]]:
        return {"start": self.start.lsp(), "end": self.end.lsp()}


@dataclass(frozen=True)
class Marked:
    """A fixture without its markers: the text as a server must see it, and what was marked in it."""

    text: str
    cursors: tuple[Position, ...]
    expectations: tuple[Expectation, ...]

    @property
    def cursor(self) -> Position:
        """The only cursor. Raises ``ValueError`` when there are none or several."""
        if len(self.cursors) != 1:
            raise ValueError(f"this fixture has {len(self.cursors)} cursors, not one")
        return self.cursors[0]


def parse(source: str, *, bare: bool = False) -> Marked:
    """Takes the markers out of ``source``. Raises ``ValueError`` for carets that point at nothing."""
    kept: list[str] = []
    cursors: list[Position] = []
    expectations: list[Expectation] = []
    above: str | None = None
    for match in _LINE.finditer(source):
        whole = match.group()
        line = whole.rstrip("\r\n")
        groups = _groups(line, bare)
        if groups is not None:
            if above is None:
                raise ValueError(f"an expectation with no source line above it: {line!r}")
            expectations += [_expectation(above, len(kept) - 1, start, end, words) for start, end, words in groups]
            continue
        if not whole and match.start() == len(source):
            break
        above = line
        cursors += [Position(len(kept), utf16_length(before)) for before in _before_cursors(line)]
        kept.append(whole.replace(CURSOR, ""))
    return Marked("".join(kept), tuple(cursors), tuple(expectations))


def _groups(line: str, bare: bool) -> list[tuple[int, int, str]] | None:
    """``(start column, end column, words)`` of each group of carets, or None for a line of source."""
    arrow = _ARROW.match(line)
    if arrow:
        column = arrow.start("sign")
        return [(column, column + 1, _words(arrow.group("words")))]
    carets = _CARETS.match(line) or (_BARE.match(line) if bare else None)
    if not carets:
        return None
    return [
        (group.start("carets"), group.end("carets"), _words(group.group("words")))
        for group in _GROUP.finditer(line, carets.start("carets"))
    ]


def _words(text: str) -> str:
    return text.strip().removesuffix("*/").rstrip()


def _before_cursors(line: str) -> list[str]:
    """The marker-free text before each cursor of a line."""
    pieces = line.split(CURSOR)
    return ["".join(pieces[: index + 1]) for index in range(len(pieces) - 1)]


def _expectation(above: str, line: int, start: int, end: int, words: str) -> Expectation:
    if end > len(above):
        raise ValueError(f"carets beyond the end of the line above them: {above!r}, columns {start} to {end}")
    source = above.replace(CURSOR, "")
    first, last = _column(above, start), _column(above, end)
    return Expectation(
        Position(line, utf16_length(source[:first])),
        Position(line, utf16_length(source[:last])),
        source[first:last],
        words,
    )


def _column(above: str, column: int) -> int:
    """Where a column of the fixture's line lies once its cursors are gone."""
    hidden = sum(max(0, min(column, cursor.end()) - cursor.start()) for cursor in re.finditer(re.escape(CURSOR), above))
    return column - hidden
