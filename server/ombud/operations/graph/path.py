"""The shortest way of calls and imports that leads from one symbol to another, edge by edge, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.operations.graph import dress
from ombud.operations.graph.budget import Budget
from ombud.operations.graph.ground import consult
from ombud.operations.graph.named import Meant, by_name
from ombud.operations.graph.shapes import EdgeShape, Listed, Listing
from ombud.operations.graph.texts import first_lines
from ombud.operations.graph.traced import keyed

if TYPE_CHECKING:
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Edge
    from ombud.operations.session import Session

PAIRS = 9
"""Pairs of ends that are tried where a name has several definitions in its file."""


class Params(Listing, frozen=True, kw_only=True):
    from_: Annotated[
        str, msgspec.Meta(description="Where it begins: a symbol by id, qualified or bare name, or a file.")
    ] = msgspec.field(name="from")
    to: Annotated[str, msgspec.Meta(description="Where it ends: a symbol by id, qualified or bare name, or a file.")]


class Result(Listed, kw_only=True):
    path: list[EdgeShape] | None
    """The edges in order, none of them where both ends are one; null where no way leads there."""
    found: bool


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for a name that several symbols have, with ``candidates``; `Refused` (``not_found``, with the
    nearest names)."""
    ground = await consult(session, params)
    start = await by_name(session, ground, params.from_)
    end = await by_name(session, ground, params.to)
    edges, cut = None, False
    if start.root is end.root:
        edges, cut = await start.root.ask(lambda reader: _shortest(reader, start, end))
    budget = Budget(params.tokens)
    shapes: list[EdgeShape] | None = None
    if edges is not None:
        keys = await start.root.ask(lambda reader: keyed(start, reader, edges))
        texts = await first_lines(session, [(start.root.shown(one.path), one.line) for one in edges])
        shapes = [dress.edge(start.root, one, keys, text) for one, text in zip(edges, texts, strict=True)]
        shapes = budget.fit(shapes, params.limit, name="edges")
    more = "The search was given up before everything had been looked at." if cut else None
    apart = "They are in different workspace folders, whose graphs are apart." if start.root is not end.root else None
    return Result(
        path=shapes,
        found=shapes is not None,
        truncated=cut or bool(budget.cut),
        note=ground.note(
            budget.sentence("raise limit or tokens"), more, apart, ground.about(start.main.language, end.main.language)
        ),
        **ground.said(),
    )


def _shortest(reader: Reader, start: Meant, end: Meant) -> tuple[list[Edge] | None, bool]:
    pairs = [(one, other) for one in start.ids for other in end.ids][:PAIRS]
    with reader.reading():
        answers = [reader.path(one, other) for one, other in pairs]
    ways = [way for way, _ in answers if way is not None]
    return min(ways, key=len, default=None), not ways and any(cut for _, cut in answers)
