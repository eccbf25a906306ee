"""A file's symbols as a tree: what it defines, nested as it is written, each with its signature and range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from ombud.operations.graph import dress
from ombud.operations.graph.budget import Budget
from ombud.operations.graph.ground import Root, consult
from ombud.operations.graph.named import module_of
from ombud.operations.graph.shapes import Listed, Listing, SymbolShape

if TYPE_CHECKING:
    from ombud.graph.store.rows import Node
    from ombud.operations.session import Session


class Params(Listing, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="The file.")]
    limit: Annotated[int, msgspec.Meta(ge=1, le=100_000, description="How many symbols at the most, in all.")] = 2000


class Item(SymbolShape, kw_only=True):
    """A symbol with what is defined in it."""

    children: list[Item]


class Result(Listed, kw_only=True):
    path: str
    language: str
    symbols: list[Item]


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused`: ``not_found`` for a file that is not in the graph, with the reason; the fence's kinds."""
    ground = await consult(session, params)
    root, inside = ground.place(session, params.path)
    module = await module_of(root, inside)
    nodes, unresolved = await root.ask(
        lambda reader: (reader.outline(module.path), _unresolved(reader.file_at(module.path)))
    )
    flat = list(_flat(root, nodes, None))
    budget = Budget(params.tokens)
    kept = budget.fit([item for item, _ in flat], params.limit, name="symbols")
    symbols: list[Item] = []
    for item, above in flat[: len(kept)]:
        (above.children if above is not None else symbols).append(item)
    return Result(
        path=inside.relative,
        language=module.language,
        symbols=symbols,
        truncated=bool(budget.cut),
        note=ground.note(ground.about(module.language), budget.sentence("raise limit or tokens")),
        **ground.said(unresolved),
    )


def _unresolved(file: Any) -> int:
    return int(file.unresolved) if file is not None else 0


def _flat(root: Root, nodes: Sequence[Node], above: Item | None) -> list[tuple[Item, Item | None]]:
    """Every symbol in the order of the text, without its children, and what it stands in."""
    out: list[tuple[Item, Item | None]] = []
    waiting = [(node, above) for node in reversed(nodes)]
    while waiting:
        node, above = waiting.pop()
        values: dict[str, Any] = dress.fields(root, node.definition)
        item = Item(**values, children=[])
        out.append((item, above))
        waiting += [(child, item) for child in reversed(node.children)]
    return out
