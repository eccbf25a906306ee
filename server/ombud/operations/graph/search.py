"""Find symbols by name: exact, by the beginning, by humps (``gUBN``), by a part; and by words of their docstrings.

The best come first: by how the name matches, then exported ones and those that much leads to. ``Class.method`` is
understood. No language server is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from ombud.errors import UserError
from ombud.graph.facts import KINDS
from ombud.operations.graph import dress
from ombud.operations.graph.budget import Budget
from ombud.operations.graph.ground import consult
from ombud.operations.graph.shapes import Listed, Listing, SymbolShape

if TYPE_CHECKING:
    from ombud.operations.session import Session

Kind = Literal[
    "module",
    "namespace",
    "class",
    "interface",
    "enum",
    "struct",
    "trait",
    "type",
    "function",
    "method",
    "constructor",
    "property",
    "field",
    "enumMember",
    "constant",
    "variable",
    "macro",
]


class Params(Listing, frozen=True, kw_only=True):
    query: Annotated[str, msgspec.Meta(description="A name or a part of one, or words of a docstring.")]
    kind: Annotated[Kind, msgspec.Meta(description="Only symbols of this kind.")] | None = None
    language: Annotated[str, msgspec.Meta(description="Only symbols of this language (an LSP language id).")] | None = (
        None
    )
    path: Annotated[str, msgspec.Meta(description="Only in this file or folder, or in files of this glob.")] | None = (
        None
    )


class Result(Listed, kw_only=True):
    symbols: list[SymbolShape]


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for an empty query, `Refused` for a path outside of the workspace."""
    if not params.query.strip():
        raise UserError("The query is empty; pass a name or a part of one.")
    kinds = [KINDS.index(params.kind)] if params.kind is not None else []
    languages = _languages(params.language)
    ground = await consult(session, params)
    lists: list[list[SymbolShape]] = []
    more = False
    for root, path in ground.scoped(session, params.path):
        query, limit = params.query, params.limit
        one = await root.ask(lambda reader: reader.search(query, kinds, languages, path, limit))  # noqa: B023
        lists.append([dress.symbol(root, symbol) for symbol in one.symbols])
        more |= one.truncated
    found = merged(lists)
    budget = Budget(params.tokens)
    kept = budget.fit(found, params.limit, name="symbols")
    advice = "narrow the query, or filter by kind or path"
    cut = budget.sentence(advice) or (f"Shown the best {len(kept)}; {advice} for others." if more else None)
    return Result(symbols=kept, truncated=more or bool(budget.cut), note=ground.note(cut), **ground.said())


def merged(lists: list[list[SymbolShape]]) -> list[SymbolShape]:
    """Several folders' lists, best first each, as one: their first ones, then their second ones. No symbol twice."""
    longest = max(map(len, lists), default=0)
    ranked = [one[rank] for rank in range(longest) for one in lists if rank < len(one)]
    return list({symbol.id: symbol for symbol in ranked}.values())


def _languages(language: str | None) -> list[str]:
    if language is None:
        return []
    from ombud.syntax.languages import canonical

    return [canonical(language)]
