"""The code graph as the one that is asked who uses what, in a server's shapes (`ombud.operations.writing.dependents`).

Only an index that is ready is asked: a write never has one built for the first time, and waits for one that has to be
brought up to date no longer than it was given. The graph says what it has found of the languages whose imports it
follows, and nothing of the others.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.guard.uris import path_to_uri, same_uri_key, uri_to_path
from ombud.operations.writing.importers import FAR, INCLUDING
from ombud.operations.writing.served import overheard
from ombud.text.ranges import Position, index_of_unit

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Definition
    from ombud.guard.fence import Inside
    from ombud.operations.graph.ground import Root
    from ombud.operations.session import Session

SYMBOLS, REFERENCES = "textDocument/documentSymbol", "textDocument/references"
IMPLEMENTATION = "textDocument/implementation"
_METHOD = "method"


class Graphed:
    """See the module. ``roots`` are the graphs of workspace folders, ``uris`` how documents of theirs are spelled.

    ``elsewhere`` is told of files that use what was asked about and are another server's, with the reason.
    """

    def __init__(
        self,
        session: Session,
        server: Server,
        roots: Sequence[Root],
        uris: Mapping[Path, str],
        elsewhere: Callable[[str, str], None],
    ) -> None:
        self._session = session
        self._server = server
        self._roots = roots
        self._uris = {path_to_uri(path): uri for path, uri in uris.items()}
        self._paths = {same_uri_key(uri): path for path, uri in uris.items()}
        self._elsewhere = elsewhere

    def offers(self, method: str) -> bool:
        return method in (SYMBOLS, REFERENCES, IMPLEMENTATION)

    async def ask(self, method: str, params: Any, *, sure: bool = False) -> Any:  # noqa: ARG002  (as servers are asked)
        """As `Served.ask`. Raises `OmbudError` where the store cannot be read."""
        from ombud.operations.graph import standard

        place = self._place(self._path(params["textDocument"]["uri"]))
        if place is None:
            return None
        root, path = place
        if method == SYMBOLS:
            return await root.ask(lambda reader: standard.document(root, reader, path, nested=True))
        at = Position(params["position"]["line"], params["position"]["character"])
        if method == REFERENCES:
            found = await root.ask(lambda reader: standard.references(root, reader, path, at, declared=False))
        else:
            found = await root.ask(lambda reader: _derived(root, reader, path, at))
        return self._own(found)

    def _path(self, uri: str) -> Path:
        return self._paths.get(same_uri_key(uri)) or uri_to_path(uri)

    def _place(self, path: Path) -> tuple[Root, str] | None:
        """The innermost graph that a file is in, and its path there."""
        around = [root for root in self._roots if path.is_relative_to(root.folder)]
        if not around:
            return None
        root = max(around, key=lambda one: len(one.folder.parts))
        return root, root.relative(path)

    def _own(self, places: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The places in files that this server looks at, spelled as the session spells them."""
        known: dict[str, bool] = {}
        found = []
        for place in places:
            uri = place["uri"]
            if uri not in known:
                known[uri] = self._is_own(uri_to_path(uri))
            if known[uri]:
                found.append({**place, "uri": self._uris.get(uri, uri)})
        return found

    def _is_own(self, path: Path) -> bool:
        """Whether no server of the same kind, but of another root, is the one to ask."""
        entry = self._server.entry
        roots = [one.root for one in self._session.detector.for_path(path) if one.entry.name == entry.name]
        if not roots or self._server.root in roots:
            return True
        with suppress(OmbudError):
            name = self._session.fence.resolve(str(path), intent="read").relative
            self._elsewhere(name, f"It belongs to another root, {roots[0].name}, whose {entry.name} was not asked.")
        return False

    async def knows(self, path: Path, lines: Sequence[str]) -> bool:
        """Whether the graph follows a file's imports, and has it with these lines."""
        place = self._place(path)
        if place is None:
            return False
        root, relative = place
        return await root.ask(lambda reader: _is_of(reader, relative, lines))

    async def importers(self, path: Path, reach: int) -> dict[str, int]:
        """The files that import a file, by URI, with the distance, at most ``reach``: who includes a header has what
        that includes; of other languages only those are told that import it themselves, or something of it."""
        place = self._place(path)
        if place is None:
            return {}
        root, relative = place
        found = await root.ask(lambda reader: _importers(reader, relative, reach))
        own = self._own({"uri": path_to_uri(root.folder / one), "distance": far} for one, far in found.items())
        return {one["uri"]: one["distance"] for one in own}


def _is_of(reader: Reader, path: str, lines: Sequence[str]) -> bool:
    from ombud.graph.extract import FULL

    with reader.reading():
        file = reader.file_at(path)
        if file is None or file.state_name != "indexed" or file.language not in FULL:
            return False
        return all(_stands(one, lines) for one in reader.symbols_in(file.id) if one.name.isidentifier())


def _stands(one: Definition, lines: Sequence[str]) -> bool:
    """Whether a definition's name is where the graph has it; some have no place of their own."""
    line, character, length = one.at
    if length != len(one.name):
        return True
    if line >= len(lines):
        return False
    start = index_of_unit(lines[line], character)
    return lines[line][start : start + length] == one.name


def _derived(root: Root, reader: Reader, path: str, position: Position) -> list[dict[str, Any]]:
    """The classes that are derived from the one at a place, or what overrides the method there."""
    from ombud.graph.facts import INHERIT_SITE
    from ombud.operations.graph.named import at
    from ombud.operations.graph.standard import LIMIT, location

    with reader.reading():
        meant = at(reader, path, position)
        names = {one.name for one in meant if one.kind_name == _METHOD}
        classes = {one.container if one.kind_name == _METHOD else one.id for one in meant} - {None}
        edges = reader.callers([one for one in classes if one], depth=FAR, limit=LIMIT, kinds=(INHERIT_SITE,)).edges
        derived = reader.symbols(edge.src for edge in edges)
        if names:
            files = {one.file for one in derived.values()}
            members = [one for file in files for one in reader.symbols_in(file)]
            return [location(root, one) for one in members if one.container in derived and one.name in names]
        return [location(root, one) for one in derived.values() if one.container is not None]


def _importers(reader: Reader, path: str, reach: int) -> dict[str, int]:
    with reader.reading():
        file = reader.file_at(path)
        including = file is not None and file.language in INCLUDING
        found: dict[str, int] = {}
        goals = [path]
        for step in range(1, (reach if including else min(reach, 1)) + 1):
            edges = [edge for goal in goals for edge in reader.importers_of(goal)]
            goals = list(dict.fromkeys(one.path for one in edges if one.path not in found and one.path != path))
            found.update(dict.fromkeys(goals, step))
    return found


# -- whether it is ready ----------------------------------------------------------------------------------------------


async def ready(session: Session, folders: Iterable[Path], seconds: float) -> list[Root]:
    """The graphs of those folders (real) that are complete and up to date within ``seconds``, or less.

    None is built for the first time. An indexer that has dozed off, or of a session of yesterday, is started again.
    """
    if session.said_no or not session.configuration.index.enabled:
        return []
    roots = await asyncio.gather(*(_ready(session, folder, seconds) for folder in dict.fromkeys(folders)))
    return [root for root in roots if root is not None]


async def _ready(session: Session, folder: Path, seconds: float) -> Root | None:
    from ombud.operations.graph.ground import opened

    graph = session.hub.graphs.known(folder)
    try:
        async with asyncio.timeout(seconds):
            if graph is None or not graph.running:
                # Loading what reads the store takes a moment, too.
                if not await asyncio.to_thread(_is_kept, session, folder):
                    return None
                if not await opened(session, folder).ask(lambda reader: reader.complete):
                    return None
            elif not graph.state.complete:
                return None
            root = opened(session, folder)
            asked = session.hub.spawn(root.graph.current())
            asked.add_done_callback(overheard)
            root.state = await asyncio.shield(asked)
    except (TimeoutError, OmbudError):
        return None
    return root if root.state.complete else None


def _is_kept(session: Session, folder: Path) -> bool:
    """Whether there is a store that this process may go on with: where another one has it, ours would be a new one."""
    from ombud.graph.store.place import FILE, seize

    store = session.hub.graphs.place(session, folder)
    if not (store / FILE).is_file():
        return False
    try:
        os.close(seize(store))
    except OmbudError:
        return False
    return True


def folders_of(files: Iterable[Inside]) -> list[Path]:
    """The workspace folders of files, each once."""
    return list(dict.fromkeys(one.folder for one in files))
