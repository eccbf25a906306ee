"""Search code by its shape: a pattern in the language itself, with $X for any node and $$$X for any number of them.

Matches never come from comments or from within strings, and white space, wrapping and trailing commas do not matter.
Open buffers are searched as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.operations.structural.ground import ground, match, query, said, without_types
from ombud.operations.structural.shapes import Asking, MatchShape, Searched, Strictness

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Params(Asking, frozen=True):
    pattern: (
        Annotated[
            str,
            msgspec.Meta(
                description="Code with metavariables: $X is one node, $_ any one, $$$ any number, $$$ARGS the same "
                "by name. The same name twice must be the same code.",
                extra_json_schema={"x-bare": True},
            ),
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
    strictness: Annotated[
        Strictness,
        msgspec.Meta(
            description="relaxed lets a pattern without return type, modifiers or type parameters match what has them."
        ),
    ] = "exact"
    context: Annotated[int, msgspec.Meta(ge=0, le=20, description="Lines to show before and after each match.")] = 0


class Result(Searched, kw_only=True):
    matches: list[MatchShape]


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` (``unparseable_pattern``, ``unknown_language``, a wrong query), `Refused` as the fence."""
    wanted, types = without_types(query(params, params.pattern, params.any, params.strictness))
    found = ground(session, params.language, params.path)
    if types:
        from ombud.operations.structural.oftype import search

        outcome, notes = await search(found, wanted, params, types, params.context)
    else:
        outcome = await session.hub.searches.searcher.find(found.job(wanted, params, params.context))
        notes = []
    matches = [match(found, hit, around=params.context > 0) for hit in outcome.hits]
    return Result(matches=matches, **said(found, outcome, *notes))
