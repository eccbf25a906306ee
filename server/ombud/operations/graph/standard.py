"""What the graph answers in the place of a language server: symbols, definitions, references, calls and folding ranges.

The shapes are those of LSP 3.17. Items that have room for it say that they are the graph's: ``data`` holds it, and a
detail or a container's name ends in `SAID`. Only what is bound by scope or import is listed, no guesses by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, UnsetType

from ombud.graph.facts import CALL_SITE, CONFIRMED, IMPORT_SITE, INHERIT_SITE, REFERENCE_SITE
from ombud.guard.redact import clean, redact
from ombud.guard.uris import path_to_uri
from ombud.operations.graph import dress
from ombud.operations.graph.ground import Root, check, opened
from ombud.operations.graph.named import at
from ombud.operations.navigating import MARK, SYMBOLS
from ombud.text.ranges import Position, Range
from ombud.wire.values import load

if TYPE_CHECKING:
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Definition, Edge, Node
    from ombud.operations.session import Session

SAID = "Ombud's graph"
FIRST_SECONDS = 5.0
"""How long an editor's question waits for the first index of a folder; then it is answered with what there is."""
LIMIT = 2000
SYMBOL_LIMIT = 200
EVERY_KIND = (CALL_SITE, REFERENCE_SITE, INHERIT_SITE, IMPORT_SITE)

SYMBOL_KINDS = {
    "module": 2,
    "namespace": 3,
    "class": 5,
    "method": 6,
    "property": 7,
    "field": 8,
    "constructor": 9,
    "enum": 10,
    "interface": 11,
    "trait": 11,
    "function": 12,
    "macro": 12,
    "variable": 13,
    "constant": 14,
    "enumMember": 22,
    "struct": 23,
    "type": 26,
}
"""``SymbolKind`` of each kind of the graph's."""


class _Document(msgspec.Struct):
    uri: str


class _Context(msgspec.Struct):
    includeDeclaration: bool = False  # noqa: N815  (the protocol's name)


class _Data(msgspec.Struct):
    id: int = 0
    folder: str = ""


class _Item(msgspec.Struct):
    data: _Data


class _Asked(msgspec.Struct):
    textDocument: _Document | None = None  # noqa: N815
    position: Position | None = None
    context: _Context | None = None
    query: str = ""
    item: _Item | None = None


Items = list[dict[str, Any]]
Handler = Callable[["Session", Root, "_Asked", str], Any]


async def answer(session: Session, method: str, params: Raw | UnsetType) -> Items | None:
    """The result of a request; None where the graph knows nothing of it.

    Raises `msgspec.ValidationError` for params of another shape, `OmbudError` where there is no indexer.
    """
    asked = load(params, _Asked) if isinstance(params, Raw) else _Asked()
    if method == SYMBOLS:
        return await symbols(session, asked.query)
    if asked.item is not None:
        folder = next((one for one in session.fence.folders if str(one) == asked.item.data.folder), None)
        if folder is None:
            return None
        root = await current(session, opened(session, folder))
        listed = calls if method.endswith("incomingCalls") else called
        number = asked.item.data.id
        return await root.ask(lambda reader: listed(root, reader, number))
    if asked.textDocument is None:
        return None
    inside = session.fence.resolve(asked.textDocument.uri, intent="read")
    root = await current(session, opened(session, inside.folder))
    path, position = root.relative(inside.path), asked.position or Position(0, 0)
    if method == "textDocument/documentSymbol":
        nested = session.can("textDocument.documentSymbol.hierarchicalDocumentSymbolSupport")
        return await root.ask(lambda reader: document(root, reader, path, nested=nested))
    if method == "textDocument/foldingRange":
        return await root.ask(lambda reader: _folding(reader, path))
    if method == "textDocument/definition":
        return await root.ask(lambda reader: [location(root, one) for one in at(reader, path, position)])
    if method == "textDocument/references":
        declared = asked.context is not None and asked.context.includeDeclaration
        return await root.ask(lambda reader: references(root, reader, path, position, declared=declared))
    return await root.ask(lambda reader: [_item(root, one) for one in at(reader, path, position) if _calls_able(one)])


async def current(session: Session, root: Root) -> Root:
    """``root``, brought up to date; while it is built for the first time, after a while as far as it is.

    Raises `Refused` where the session has none. Follow-ups come here without having been looked at before: what they
    are about, the client says.
    """
    check(session)
    state = await root.graph.current()
    if not state.complete:
        building = session.hub.spawn(root.graph.index())
        building.add_done_callback(_heard)
        await asyncio.wait([building], timeout=FIRST_SECONDS)
    return root


def _heard(building: asyncio.Task[Any]) -> None:
    if not building.cancelled():
        building.exception()


# -- symbols ----------------------------------------------------------------------------------------------------------


async def symbols(session: Session, query: str) -> Items | None:
    """Symbols of the languages that no running server of the client lists, of all folders."""
    languages = await unserved(session) if query.strip() else []
    if not languages:
        return None
    found: Items = []
    for folder in session.fence.folders:
        root = await current(session, opened(session, folder))
        listed = await root.ask(lambda reader: reader.search(query, languages=languages, limit=SYMBOL_LIMIT))
        found += [_information(root, one) for one in listed.symbols]
    return list({(one["name"], str(one["location"])): one for one in found}.values())


async def unserved(session: Session) -> list[str]:
    """The languages of the session's files that the graph reads and no running server lists symbols of."""
    from ombud.graph.extract import LANGUAGES

    served = {language for server in session.running() if server.offers(SYMBOLS) for language in server.entry.languages}
    if "*" in served:
        return []
    # Where there is no such file, no indexer is started to find that out.
    survey = await asyncio.to_thread(session.detector.survey)
    return [one for one in LANGUAGES if one in survey.languages and one not in served]


def document(root: Root, reader: Reader, path: str, *, nested: bool) -> Items:
    with reader.reading():
        if not nested:
            return [_information(root, one) for one in _flat(reader.outline(path))]
        return [_symbol(node) for node in reader.outline(path)]


def _flat(nodes: Sequence[Node]) -> Iterable[Definition]:
    for node in nodes:
        yield node.definition
        yield from _flat(node.children)


def _symbol(node: Node) -> dict[str, Any]:
    """``DocumentSymbol``."""
    one = node.definition
    return {
        "name": clean(dress.name(one), 300),
        "detail": _detail(one),
        "kind": SYMBOL_KINDS[one.kind_name],
        "range": _around(one),
        "selectionRange": dress.name_of(one),
        "children": [_symbol(child) for child in node.children],
    }


def _around(one: Definition) -> Range:
    """Its whole range, which must hold its name."""
    range_, name = dress.whole(one), dress.name_of(one)
    return Range(min(range_.start, name.start), max(range_.end, name.end))


def _detail(one: Definition) -> str:
    signature = clean(redact(one.signature), 200)
    return f"{signature} ({SAID})" if signature else SAID


def _information(root: Root, one: Definition) -> dict[str, Any]:
    """``SymbolInformation``, which is a ``WorkspaceSymbol`` as well."""
    container = dress.container(one)
    return {
        "name": clean(dress.name(one), 300),
        "kind": SYMBOL_KINDS[one.kind_name],
        "containerName": f"{clean(container, 300)} ({SAID})" if container else SAID,
        "location": location(root, one),
        "data": {"ombud": MARK},
    }


def location(root: Root, one: Definition) -> dict[str, Any]:
    """``Location`` of a name; a file's module is its beginning."""
    return {"uri": path_to_uri(root.folder / one.path), "range": dress.name_of(one)}


def _site(root: Root, edge: Edge) -> dict[str, Any]:
    return {"uri": path_to_uri(root.folder / edge.path), "range": dress.site(edge.line, edge.character, edge.length)}


def _folding(reader: Reader, path: str) -> Items:
    """``FoldingRange`` of whatever has more than a line."""
    with reader.reading():
        spans = {(one.range[0], one.range[2]) for one in _flat(reader.outline(path)) if one.range[2] > one.range[0]}
    return [{"startLine": first, "endLine": last} for first, last in sorted(spans)]


# -- references and calls ---------------------------------------------------------------------------------------------


def references(root: Root, reader: Reader, path: str, position: Position, *, declared: bool) -> Items:
    with reader.reading():
        meant = at(reader, path, position)
        found = [location(root, one) for one in meant] if declared else []
        sites = reader.callers([one.id for one in meant], limit=LIMIT, kinds=EVERY_KIND, confidence=CONFIRMED).edges
    places = {str(one): one for one in [*found, *(_site(root, edge) for edge in sites)]}
    return list(places.values())


def _calls_able(one: Definition) -> bool:
    return one.kind_name in ("function", "method", "constructor", "class", "struct", "macro", "module")


def _item(root: Root, one: Definition) -> dict[str, Any]:
    """``CallHierarchyItem``."""
    return {
        "name": clean(dress.name(one), 300),
        "kind": SYMBOL_KINDS[one.kind_name],
        "detail": _detail(one),
        "uri": path_to_uri(root.folder / one.path),
        "range": _around(one),
        "selectionRange": dress.name_of(one),
        "data": {"ombud": MARK, "id": one.id, "folder": str(root.folder)},
    }


def calls(root: Root, reader: Reader, number: int) -> Items:
    """``CallHierarchyIncomingCall``: who calls it, and where."""
    with reader.reading():
        edges = reader.callers([number], limit=LIMIT).edges
        return _by_end(root, reader, edges, "from", lambda edge: edge.src)


def called(root: Root, reader: Reader, number: int) -> Items:
    """``CallHierarchyOutgoingCall``: what it calls, and where."""
    with reader.reading():
        edges = reader.callees([number], limit=LIMIT).edges
        return _by_end(root, reader, edges, "to", lambda edge: edge.dst)


def _by_end(root: Root, reader: Reader, edges: Sequence[Edge], key: str, end: Callable[[Edge], int]) -> Items:
    sites: dict[int, list[Range]] = {}
    for edge in edges:
        sites.setdefault(end(edge), []).append(dress.site(edge.line, edge.character, edge.length))
    found = reader.symbols(sites)
    return [{key: _item(root, one), "fromRanges": sites[number]} for number, one in found.items()]
