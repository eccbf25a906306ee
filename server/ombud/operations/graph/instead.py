"""The operation `lsp` without a server: what the graph can say in its place, in the same shapes and marked as such."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.operations import answers
from ombud.operations.graph import standard
from ombud.operations.graph.ground import opened
from ombud.operations.graph.named import at, text_of
from ombud.operations.lsp import Asking, Params, Result
from ombud.operations.navigating import SYMBOLS, is_navigable
from ombud.operations.shapes import Sources
from ombud.operations.targets import spot

if TYPE_CHECKING:
    from ombud.operations.session import Session

NAME = "ombud graph"
NOTE = (
    "No language server can answer here; this is from Ombud's own code graph, which knows what is bound by scope and "
    "import."
)
PLACED = {
    "definition": "textDocument/definition",
    "references": "textDocument/references",
    "incoming_calls": "callHierarchy/incomingCalls",
    "outgoing_calls": "callHierarchy/outgoingCalls",
}


async def answer(session: Session, params: Params) -> Result | None:
    """None for what the graph cannot say: another action, a language it does not read, a place that is nothing to it.

    Raises `UserError` and `Refused` for a place that is not there, as `lsp` does.
    """
    if params.action != "symbols" and params.action not in PLACED:
        return None
    try:
        items = await _items(session, params)
    except OmbudError as error:
        if error.kind in ("server_failed", "permission_denied", "cancelled"):
            # Nobody has asked for the graph: why there was no server says more.
            return None
        raise
    if items is None:
        return None
    asking = Asking(session)
    asking.answered.append(NAME)
    result = asking.result(items, params.limit)
    result.note = f"{NOTE} {result.note or ''}".strip()
    return result


async def _items(session: Session, params: Params) -> list[dict[str, Any]] | None:
    sources = Sources(session)
    if params.path is None:
        if not is_navigable(session, SYMBOLS, None):
            return None
        found = await standard.symbols(session, params.query or "")
        return answers.symbols(found, "", sources) if found else None
    inside = session.fence.resolve(params.path, intent="read")
    if not is_navigable(session, "textDocument/documentSymbol", inside.spelled_uri):
        return None
    root = await standard.current(session, opened(session, inside.folder))
    path = root.relative(inside.path)
    if params.action == "symbols":
        nested = await root.ask(lambda reader: standard.document(root, reader, path, nested=True))
        items = answers.symbols(nested, inside.spelled_uri, sources)
        return [one for one in items if (params.query or "").lower() in one["name"].lower()]
    position = params.position or spot(text_of(session, inside), inside.relative, params.line, params.symbol)
    if params.action == "definition":
        found = await root.ask(lambda reader: [standard.location(root, one) for one in at(reader, path, position)])
        return answers.locations([found], sources)
    if params.action == "references":
        found = await root.ask(lambda reader: standard.references(root, reader, path, position, declared=True))
        return answers.locations([found], sources)
    listed, end = (standard.calls, "from") if params.action == "incoming_calls" else (standard.called, "to")
    meant = await root.ask(lambda reader: at(reader, path, position))
    out: list[dict[str, Any]] = []
    for one in meant:
        number = one.id
        out += answers.calls(await root.ask(lambda reader: listed(root, reader, number)), end, sources)  # noqa: B023
    return out
