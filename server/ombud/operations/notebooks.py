"""Open notebooks: the servers that take them are kept in step, and the cells' documents are known by their URIs.

A notebook is kept as its cells and their texts, so that a server which starts later, or again, is opened the present
state, and one that asked for the cells of some languages sees those alone. A client's own change goes on as it came to
every server that knows what it refers to. Where two clients have the same notebook open, servers see the one that was
touched last, as with documents.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Raw

from ombud.diagnostics.pull import PULL_DELAY, pull
from ombud.downstream.notebooks import view, wants, wants_saves
from ombud.downstream.states import State
from ombud.errors import OmbudError
from ombud.guard.uris import path_or_none, same_uri_key
from ombud.wire.values import dump, load
from ombud.workspace import notebook as states
from ombud.workspace.notebook import Notebook

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.notebooks")
PUBLISH = "textDocument/publishDiagnostics"
CODE = 2
"""The ``kind`` of a cell with code."""


class _Named(msgspec.Struct):
    uri: str


class _Target(msgspec.Struct):
    notebookDocument: _Named  # noqa: N815  (the protocol's name)


@dataclass(frozen=True, slots=True)
class _Step:
    """A client's change as it came: what it made of what."""

    before: Notebook
    params: Raw
    edits: Mapping[str, Raw]


@dataclass(frozen=True, slots=True)
class _Sent:
    """What one process of a server was told last: the whole state, and the part of it that the server wanted."""

    process: object
    whole: Notebook
    part: Notebook


@dataclass(slots=True, eq=False)
class _Open:
    """A notebook that is open at somebody's; ``shown`` is the owner whose state servers see."""

    key: str
    path: Path | None
    owners: dict[Session, Notebook] = field(default_factory=dict)
    shown: Session | None = None
    servers: list[Server] = field(default_factory=list)
    sent: WeakKeyDictionary[Server, _Sent] = field(default_factory=WeakKeyDictionary)
    pulling: asyncio.TimerHandle | None = None
    shown_cells: dict[tuple[Session, str], dict[str, Any]] = field(default_factory=dict)
    """What was last published of each cell to each client."""

    @property
    def state(self) -> Notebook:
        assert self.shown is not None
        return self.owners[self.shown]

    def languages(self) -> list[str]:
        """Of the cells with code; no server is started for the prose between them."""
        cells = [cell for state in self.owners.values() for cell in state.cells]
        return list(dict.fromkeys(cell.language for cell in cells if cell.entry.get("kind", CODE) == CODE))


class Notebooks:
    """See the module. One for the hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._open: dict[str, _Open] = {}
        self._cells: dict[str, _Open] = {}
        """Key of a cell's document → the notebook that has it, or had it."""

    # -- what a client tells ----------------------------------------------------------------------------------

    def opened(self, session: Session, params: Raw) -> None:
        """``notebookDocument/didOpen``. A second open of the same one replaces its state."""
        state = states.opened(params)
        key = same_uri_key(state.uri)
        one = self._open.setdefault(key, _Open(key, _path(session, state.uri)))
        self._show(one, session, state)
        self._attach(one)
        self._tell(one)

    def changed(self, session: Session, params: Raw) -> None:
        one = self._of(session, params)
        if one is None:
            return
        before = one.owners[session]
        after, edits = states.changed(before, params)
        step = _Step(before, Raw(bytes(params)), edits) if one.shown is session else None
        former = one.languages()
        self._show(one, session, after)
        if one.languages() != former:
            self._attach(one)
        self._tell(one, step)

    def saved(self, session: Session, params: Raw) -> None:
        one = self._of(session, params)
        kept = Raw(bytes(params))
        for server in one.servers if one is not None else ():
            assert one is not None
            server.enqueue(partial(self._save, server, one, kept))

    def closed(self, session: Session, params: Raw) -> None:
        one = self._of(session, params)
        if one is not None:
            self._close(one, session)

    def drop(self, session: Session) -> None:
        """The client is gone."""
        for one in list(self._open.values()):
            if session in one.owners:
                self._close(one, session)

    def _of(self, session: Session, params: Raw) -> _Open | None:
        one = self._open.get(same_uri_key(load(params, _Target).notebookDocument.uri))
        return one if one is not None and session in one.owners else None

    def _show(self, one: _Open, session: Session, state: Notebook) -> None:
        one.owners.pop(session, None)
        one.owners[session] = state
        one.shown = session
        keys = {same_uri_key(cell.uri) for cell in state.cells}
        self._cells |= dict.fromkeys(keys, one)
        self._withdraw(one, session, keys)

    def _withdraw(self, one: _Open, session: Session, kept: Set[str] = frozenset()) -> None:
        """Take back what a client shows of cells that it does not have any more."""
        for (whose, key), shown in list(one.shown_cells.items()):
            if whose is session and key not in kept:
                del one.shown_cells[whose, key]
                if shown["diagnostics"]:
                    session.tell(PUBLISH, {"uri": shown["uri"], "diagnostics": []})

    def _close(self, one: _Open, session: Session) -> None:
        del one.owners[session]
        self._withdraw(one, session)
        if one.owners:
            one.shown = next(reversed(one.owners))
            self._attach(one)
            self._tell(one)
            return
        for server in one.servers:
            server.enqueue(partial(self._end, server, one))
        if one.pulling is not None:
            one.pulling.cancel()
        del self._open[one.key]
        for key in [key for key, notebook in self._cells.items() if notebook is one]:
            del self._cells[key]

    # -- its servers ------------------------------------------------------------------------------------------

    def _attach(self, one: _Open) -> None:
        """Find the servers for the notebook anew; those that are not for it any more are closed it."""
        found: dict[Server, None] = {}
        for session in one.owners:
            for language in one.languages():
                found |= dict.fromkeys(_servers(session, one.path, language))
        for server in one.servers:
            if server not in found:
                server.enqueue(partial(self._end, server, one))
        one.servers = sorted(found, key=lambda server: server.entry.priority)

    def redetect(self, session: Session) -> None:
        """Other servers may be there, or other ones allowed."""
        for one in self._open.values():
            if session in one.owners:
                former = list(one.servers)
                self._attach(one)
                self._tell(one, among=[server for server in one.servers if server not in former])

    def server_starts(self, server: Server) -> None:
        """A new process will come: its notebooks stand in the queue with the other documents."""
        for one in self._open.values():
            if server in one.servers:
                self._enqueue(server, one, None)

    def registered(self, server: Server) -> None:
        """What a running server can do has changed by a registration of its own."""
        self.server_starts(server)

    def servers_of(self, session: Session, uri: str) -> list[Server] | None:
        """The servers for a cell that the session has open; None where the URI is none of a known cell."""
        one = self._cells.get(same_uri_key(uri))
        if one is None:
            return None
        if session not in one.owners:
            return []
        ready = State.READY
        found = [server for server in one.servers if server.state is not ready or wants(server.capabilities)]
        for server in found:
            self._hub.asks.used_by(server, session)
        return found

    # -- telling servers --------------------------------------------------------------------------------------

    def _tell(self, one: _Open, step: _Step | None = None, among: list[Server] | None = None) -> None:
        for server in one.servers if among is None else among:
            if server.accepting:
                server.touch()
                self._enqueue(server, one, step)
            else:
                try:
                    server.need()
                except OmbudError as error:
                    LOG.debug("%s", error)

    def _enqueue(self, server: Server, one: _Open, step: _Step | None) -> None:
        server.enqueue(partial(self._deliver, server, one, one.state, step))

    def _deliver(self, server: Server, one: _Open, state: Notebook, step: _Step | None) -> None:
        """At the server's turn: open the notebook, change what it knows, or close what it does not want any more."""
        part = view(state, server.capabilities)
        former = self._known(server, one)
        if part is None:
            self._end(server, one)
            return
        if former is None:
            self._say(server, "didOpen", part.opening())
        elif step is not None and former.whole is step.before and former.part is step.before and part is state:
            server.notify_now("notebookDocument/didChange", step.params)
        elif part.uri != former.part.uri:
            # Another client spells it in another way: it is the same file, and another document.
            self._end(server, one)
            self._say(server, "didOpen", part.opening())
        else:
            in_step = step is not None and former.whole is step.before
            edits = step.edits if step is not None and in_step else {}
            change = states.difference(former.part, part, step.before if step is not None else None, edits)
            if not change and former.part.version == part.version:
                return
            named = {"uri": part.uri, "version": part.version}
            self._say(server, "didChange", {"notebookDocument": named, "change": change})
        one.sent[server] = _Sent(server.child, state, part)
        self._cells_sent(server, one, former, part)

    def _known(self, server: Server, one: _Open) -> _Sent | None:
        """What the running process was told, if anything."""
        sent = one.sent.get(server)
        return sent if sent is not None and sent.process is server.child else None

    def _say(self, server: Server, what: str, params: dict[str, Any]) -> None:
        server.notify_now(f"notebookDocument/{what}", Raw(dump(params)))

    def _save(self, server: Server, one: _Open, params: Raw) -> None:
        if self._known(server, one) is not None and wants_saves(server.capabilities):
            server.notify_now("notebookDocument/didSave", params)

    def _end(self, server: Server, one: _Open) -> None:
        """Close the notebook in a server, and forget what that said of its cells."""
        sent = one.sent.pop(server, None)
        if sent is None:
            return
        if sent.process is server.child:
            self._say(server, "didClose", sent.part.closing())
        for cell in sent.part.cells:
            self._forget(server, cell.uri)

    def _forget(self, server: Server, uri: str) -> None:
        self._hub.store.push(server, same_uri_key(uri), None, ())
        self._hub.store.closed(server, same_uri_key(uri))

    # -- the cells' diagnostics -------------------------------------------------------------------------------

    def _cells_sent(self, server: Server, one: _Open, former: _Sent | None, part: Notebook) -> None:
        """Note which texts the server has now; cells that are gone have nothing to say any more."""
        before = {cell.uri: cell.version for cell in (former.part.cells if former is not None else ())}
        for cell in part.cells:
            if before.pop(cell.uri, None) != cell.version:
                self._hub.store.sent(server, same_uri_key(cell.uri), cell.version)
        for uri in before:
            self._forget(server, uri)
        self._pull_soon(one)

    def repull(self, server: Server) -> None:
        """``workspace/diagnostic/refresh`` of a server."""
        for one in self._open.values():
            if server in one.servers:
                self._pull_soon(one)

    def _pull_soon(self, one: _Open) -> None:
        """A change of one cell is a change for those behind it, so all are pulled."""
        if one.pulling is not None:
            one.pulling.cancel()
        one.pulling = asyncio.get_running_loop().call_later(PULL_DELAY, self._pull_now, one)

    def _pull_now(self, one: _Open) -> None:
        one.pulling = None
        for server in one.servers:
            sent = self._known(server, one)
            if sent is not None and server.state is State.READY and server.offers("textDocument/diagnostic"):
                for cell in sent.part.cells:
                    self._hub.spawn(self._pull(server, cell.uri))

    async def _pull(self, server: Server, uri: str) -> None:
        try:
            await pull(self._hub.store, server, same_uri_key(uri), uri)
        except OmbudError as error:
            LOG.debug("pulling a cell: %s", error)

    def show(self, session: Session, key: str) -> bool:
        """Publish a cell's diagnostics to a client that has it open; whether the key is a cell's at all."""
        one = self._cells.get(key)
        if one is None:
            return False
        state = one.owners.get(session)
        cell = next((cell for cell in (state.cells if state else ()) if same_uri_key(cell.uri) == key), None)
        if cell is not None:
            params: dict[str, Any] = {"uri": cell.uri, "diagnostics": self._hub.store.joined(key)}
            said = {track.pull_version or track.push_version for track in self._hub.store.tracks(key).values()}
            if said == {cell.version}:
                params["version"] = cell.version
            # A server that pushes and is pulled says everything twice.
            if dump(params) != dump(one.shown_cells.get((session, key))):
                one.shown_cells[session, key] = params
                session.tell(PUBLISH, params)
        return True

    def has(self, session: Session, uri: str) -> bool:
        """Whether the URI is that of a cell which the session has open."""
        one = self._cells.get(same_uri_key(uri))
        return one is not None and session in one.owners

    def close(self) -> None:
        for one in self._open.values():
            if one.pulling is not None:
                one.pulling.cancel()


def _path(session: Session, uri: str) -> Path | None:
    """Where the notebook is; a new one that is in no file yet is taken for one in the first folder."""
    if uri.startswith("untitled:"):
        return session.root / "untitled.ipynb" if session.root is not None else None
    path = path_or_none(uri)
    return None if path is None else session.path_of(uri) or path


def _servers(session: Session, path: Path | None, language: str) -> list[Server]:
    """The servers that claim a notebook for the cells of one language."""
    if path is None:
        return []
    if session.fence.contains(path):
        return session.servers(path, language)
    return [server for server in session.running() if server.entry.claims(language, path.name)]
