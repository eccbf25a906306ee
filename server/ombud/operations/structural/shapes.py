"""What the structural operations take and answer: queries, matches, and what every search says of itself."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from ombud.operations.shapes import Arguments, Shape
from ombud.structural.query import Condition
from ombud.text.ranges import Range

MOST_RESULTS = 10_000
Patterns = str | list[str]


class Asking(Arguments, frozen=True):
    """What every structural question takes."""

    language: (
        Annotated[
            str,
            msgspec.Meta(
                description="The language (an LSP language id, or an alias of it); without it every language of the "
                "workspace in which the pattern parses is searched."
            ),
        ]
        | None
    ) = None
    path: Annotated[str, msgspec.Meta(description="A file or folder; everything by default.")] | None = None
    globs: (
        Annotated[
            list[str],
            msgspec.Meta(max_length=100, description="Only files of these globs; those after ! are left out."),
        ]
        | None
    ) = None
    where: (
        Annotated[
            dict[str, Condition],
            msgspec.Meta(
                description="By name of a metavariable (without $): what its capture must be: regex, equals, not, "
                "kind, pattern, in, type. type is asked of the language server, last, and costs time."
            ),
        ]
        | None
    ) = None
    inside: Annotated[Patterns, msgspec.Meta(description="Patterns that must match around it.")] | None = None
    not_inside: Annotated[Patterns, msgspec.Meta(description="Patterns that must not match around it.")] | None = None
    has: Annotated[Patterns, msgspec.Meta(description="Patterns that must match within it.")] | None = None
    not_has: Annotated[Patterns, msgspec.Meta(description="Patterns that must not match within it.")] | None = None
    kind: Annotated[str, msgspec.Meta(description="The grammar's kind of the matched node.")] | None = None
    max_results: Annotated[
        int, msgspec.Meta(ge=1, le=MOST_RESULTS, description="How many matches are told at the most.")
    ] = 50


class PlaceShape(Shape):
    text: str
    range: Range


class MatchShape(Shape, kw_only=True, omit_defaults=True):
    """``line`` and ``end_line`` are one-based; ``before`` and ``after`` are the lines around it, where asked for."""

    path: str
    line: int
    end_line: int
    range: Range
    text: str
    captures: dict[str, PlaceShape | list[PlaceShape]]
    kind: str
    before: list[str] | None = None
    after: list[str] | None = None


class SkippedShape(Shape):
    path: str
    reason: str


class LanguageShape(Shape):
    """How a pattern was read in one language. ``parsed_as`` is null where it cannot be read in it."""

    language: str
    parsed_as: str | None
    files: int
    matches: int


class Searched(Shape, kw_only=True):
    """What a search says of itself."""

    files_searched: int
    files_skipped: list[SkippedShape]
    """Files and folders that were left out, with the reason; the first of many, which the note tells."""
    truncated: bool
    """Whether there are more matches than are told, or not everything was looked at; the note says which."""
    parsed_as: str | None
    """The context in which the pattern was read: ``statement``, ``expression``, ``member``, ``top_level``, …"""
    also_parses_as: list[str]
    parse_errors: list[str]
    """Searched files that hold something which their grammar cannot read; the rest of them was searched as well."""
    languages: list[LanguageShape]
    total: int | None = None
    """How many matches there are in all, where that is known."""
    note: str | None = None


Strictness = Literal["exact", "relaxed"]
