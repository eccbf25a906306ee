"""The code graphs of the workspace folders, one each: who has one, and who tells it what has changed.

A graph's indexer is started by the first question to it, and told of what changes from then on; until then nothing
here costs more than a look-up. Every session that has the folder shares it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ombud.graph.client import Graph, Options
    from ombud.graph.store import Reader
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session
    from ombud.workspace.documents import Document


class Graphs:
    """See the module. One for the hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._graphs: dict[Path, tuple[Graph, Reader]] = {}

    def of(self, session: Session, folder: Path) -> tuple[Graph, Reader]:
        """The graph of a real folder of the session's, and who reads its store. Nothing is started by that."""
        found = self._graphs.get(folder)
        if found is None:
            found = self._graphs[folder] = self._made(session, folder)
        return found

    def known(self, folder: Path) -> Graph | None:
        """The graph of a folder, if anybody has asked for it yet."""
        found = self._graphs.get(folder)
        return found[0] if found is not None else None

    def place(self, session: Session, folder: Path) -> Path:
        """The folder of its store, or where that would be. Blocks."""
        known = self.known(folder)
        return known.folder if known is not None and known.folder else self._options(session, folder).store

    def _made(self, session: Session, folder: Path) -> tuple[Graph, Reader]:
        from ombud.graph.client import Graph
        from ombud.graph.store import open_reader
        from ombud.graph.store.place import FILE

        reader = open_reader(self._options(session, folder).store)

        def heard() -> None:
            if graph.folder is not None:
                # Where another process has the store that was wanted, this one has another.
                reader.store = graph.folder / FILE

        graph = Graph(
            folder,
            self._hub.supervisor.guardian(),
            lambda: self._options(session, folder),
            lambda path: self._text(folder / path),
            heard,
        )
        for document in self._hub.documents.all():
            if document.owners and _is_file(document):
                graph.typed(str(document.path))
        return graph, reader

    def _options(self, session: Session, folder: Path) -> Options:
        """As a session that has the folder has them now; as the first one had them, where it is the last."""
        from ombud.graph.client import Options
        from ombud.graph.store.place import place

        here = [one for one in self._hub.sessions if folder in one.real_folders]
        configuration = (here[0] if here else session).configuration
        return Options(
            place(folder, configuration.index.store),
            configuration.sensitive_add,
            configuration.sensitive_allow,
            configuration.idle_minutes,
        )

    def _text(self, path: Path) -> str | None:
        """What servers are shown of a file that a client has open."""
        documents = [one for one in self._hub.documents.of_path(path) if one.owners and _is_file(one)]
        return documents[0].shown if documents else None

    # -- what has changed -----------------------------------------------------------------------------------------

    def typed(self, document: Document) -> None:
        """A client opened, changed or closed a document."""
        if self._graphs and _is_file(document):
            for graph, _ in self._graphs.values():
                graph.typed(str(document.path))

    def told(self, paths: Iterable[Path]) -> None:
        """Files have changed on the disk: a client, a watcher or we ourselves say so."""
        if self._graphs:
            named = [str(path) for path in paths]
            for graph, _ in self._graphs.values():
                graph.told(named)

    def leave(self) -> None:
        """Folders that no session has any more need no indexer, nor do those whose clients say no to all processes."""
        if not self._graphs:
            return
        willing = [session for session in self._hub.sessions if not session.said_no]
        folders = [folder for session in willing for folder in session.real_folders]
        for folder in [one for one in self._graphs if one not in folders]:
            graph, reader = self._graphs.pop(folder)
            self._hub.spawn(_end(graph, reader))

    async def close(self) -> None:
        """End every indexer."""
        graphs, self._graphs = self._graphs, {}
        await asyncio.gather(*(_end(*one) for one in graphs.values()))


async def _end(graph: Graph, reader: Reader) -> None:
    try:
        await graph.close()
    finally:
        reader.close()


def _is_file(document: Document) -> bool:
    """Cells of a notebook and texts without a name have no file of theirs."""
    return document.uri.startswith("file:")
