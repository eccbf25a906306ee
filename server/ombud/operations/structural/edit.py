"""Rewrite code by its shape, in all files at once: what a pattern matches becomes what the rewrite says.

Nothing is written: the result is staged under an editId, shown as diffs, and on request checked by language servers;
resolve then writes exactly these bytes, all or none. $X and $$$X stand in the rewrite for what they captured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import UNSET, UnsetType

from ombud.operations.shapes import Arguments, DiagnosticShape, Hints, Shape, Wait
from ombud.operations.structural.shapes import Asking, MatchShape, Patterns, Searched, Strictness
from ombud.operations.writing.result import DiagnosticsShape
from ombud.structural.query import Condition

if TYPE_CHECKING:
    from ombud.operations.session import Session

MOST_OPS = 100

Rewrite = Annotated[
    str,
    msgspec.Meta(
        description="What stands there instead; $X and $$$X are what they captured. Empty deletes, the line or the "
        "comma of it included."
    ),
]
Imports = Annotated[
    list[str],
    msgspec.Meta(max_length=50, description="Import lines that a changed file gets, where it has them not yet."),
]


class Op(Arguments, frozen=True):
    """One rewriting. Conditions that it has not are those of the whole call."""

    rewrite: Rewrite
    pattern: Annotated[str, msgspec.Meta(description="Code with metavariables, as in ast_grep.")] | None = None
    any: Annotated[list[str], msgspec.Meta(min_length=1, max_length=50, description="Several patterns.")] | None = None
    where: dict[str, Condition] | None = None
    inside: Patterns | None = None
    not_inside: Patterns | None = None
    has: Patterns | None = None
    not_has: Patterns | None = None
    kind: str | None = None
    add_imports: Imports | None = None


class Params(Asking, frozen=True, kw_only=True):
    pattern: (
        Annotated[
            str,
            msgspec.Meta(description="Code with metavariables, as in ast_grep.", extra_json_schema={"x-bare": True}),
        ]
        | None
    ) = None
    any: (
        Annotated[
            list[str],
            msgspec.Meta(min_length=1, max_length=50, description="Several patterns in place of one; any may match."),
        ]
        | None
    ) = None
    rewrite: Rewrite | None = None
    ops: (
        Annotated[
            list[Op],
            msgspec.Meta(
                min_length=1,
                max_length=MOST_OPS,
                description="Several rewritings in place of pattern and rewrite. All read the original text; where two "
                "overlap the first counts.",
            ),
        ]
        | None
    ) = None
    add_imports: Imports | None = None
    strictness: Annotated[Strictness, msgspec.Meta(description="exact; relaxed is for searching only.")] = "exact"
    check: Annotated[
        bool, msgspec.Meta(description="Ask the language servers what the staged result would introduce.")
    ] = False
    format: Annotated[
        bool, msgspec.Meta(description="Have the changed lines formatted by the formatter of their language.")
    ] = False
    wait_ms: Wait | None = None
    severity: Hints | None = None


class LostShape(Shape):
    """A place that was left alone, since a comment or another text that the pattern does not name would have gone."""

    path: str
    line: int
    text: str


class FileShape(Shape, omit_defaults=True):
    """One file. ``truncated``: the diff was cut at a line; what is staged is whole."""

    path: str
    replacements: int
    added: int
    removed: int
    diff: str
    truncated: bool = False


class RefusedShape(Shape):
    """A file that something matched in and that stays as it is."""

    path: str
    reason: str


class Result(Searched, kw_only=True):
    """``edit_id`` is null where nothing was staged; the message says why."""

    edit_id: str | None
    message: str
    files: list[FileShape]
    matches: list[MatchShape]
    replacements: int
    overlapping: int
    """Matches that were left out since they overlap another."""
    refused: list[RefusedShape]
    lost: list[LostShape]
    conflicts_with: list[str]
    """Other staged edits with one of the files: after a commit of one, the others must be staged anew."""
    expires: str | None
    """Until when it is kept, ISO 8601, UTC."""
    introduced: list[DiagnosticShape] | UnsetType | None = UNSET
    """With ``check``: what would be wrong with it; null where it could not be checked."""
    diagnostics: DiagnosticsShape | UnsetType | None = UNSET
    """With ``check``: the whole report, with who has answered."""


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError`: ``unparseable_pattern``, ``unknown_language``, a wrong query, a metavariable in the rewrite
    that the pattern does not bind. Raises `Refused` as the fence, ``too_large``, and ``write_failed`` where nothing can
    be staged.
    """
    from ombud.operations.structural.stage import stage

    return await stage(session, params)
