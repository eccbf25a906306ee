"""The hub: what lives as long as the process and is shared by its sessions.

It owns the servers, the open documents and the diagnostics, and carries what one of them says to the others.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

from msgspec import Raw

from ombud.diagnostics.pull import PULL_DELAY, pull
from ombud.diagnostics.store import Store
from ombud.downstream import sync
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.downstream.supervisor import Supervisor
from ombud.errors import OmbudError, Refused
from ombud.guard import handles
from ombud.guard.uris import same_uri_key
from ombud.operations.ahead import Ahead
from ombud.operations.asks import Asks
from ombud.operations.graphs import Graphs
from ombud.operations.notebooks import Notebooks
from ombud.operations.registrations import Notes
from ombud.operations.searches import Searches
from ombud.operations.settling import Settling
from ombud.operations.typed import Typed
from ombud.operations.watch import Watch
from ombud.wire.envelope import Message
from ombud.workspace.documents import ClientText, Document, Documents

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.watch import Seen
    from ombud.workspace.recover import Recovered

LOG = logging.getLogger("ombud.hub")
LEAVING_SECONDS = 10.0
"""How long the end waits for transactions that are taken back."""
T = TypeVar("T")


class Hub:
    """See the module. Created once by the composition root; `close` ends everything it started."""

    def __init__(self, *, idle_minutes: float = 10, max_servers: int = 8, max_rss_mb: int = 4096) -> None:
        self.supervisor = Supervisor(self, idle_minutes=idle_minutes, max_servers=max_servers, max_rss_mb=max_rss_mb)
        self.documents = Documents(self, same_uri_key, _read_text)
        self.store = Store(self._diagnostics_changed)
        self.asks = Asks(self)
        self.settling = Settling(self)
        self.notebooks = Notebooks(self)
        self.watch = Watch(self)
        self.graphs = Graphs(self)
        self.searches = Searches(self)
        self.ahead = Ahead(self)
        self.typed = Typed()
        self.sessions: list[Session] = []
        self.notes = Notes(self)
        self.attached: dict[str, list[Server]] = {}
        """Document key → the servers that have or should have it open, by priority."""
        self._writing: WeakValueDictionary[Path, asyncio.Lock] = WeakValueDictionary()
        self._courses: WeakKeyDictionary[Server, asyncio.Lock] = WeakKeyDictionary()
        self._turns: WeakKeyDictionary[Server, asyncio.Lock] = WeakKeyDictionary()
        self._recovery: asyncio.Task[Any] | None = None
        self._pulls: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._leaving: set[asyncio.Task[Any]] = set()

    # -- documents and their servers --------------------------------------------------------------------------

    def attach(self, uri: str, servers: list[Server]) -> None:
        """Tell which servers claim a document, before or after it is open; those that are new to it get it opened."""
        key = same_uri_key(uri)
        known = self.attached.setdefault(key, [])
        fresh = [server for server in servers if server not in known]
        known += fresh
        known.sort(key=lambda server: server.entry.priority)
        document = self.documents.get(uri)
        if document is not None:
            for server in fresh:
                self._open_in(server, document)

    def owners(self, document: Document) -> Mapping[Session, ClientText]:
        """The sessions that have a document open; documents themselves know only that owners can be told apart."""
        return cast("Mapping[Session, ClientText]", document.owners)

    def servers_of(self, uri: str) -> list[Server]:
        """The servers that have or should have a document open, by priority; the list itself, not a copy."""
        return self.attached.get(same_uri_key(uri), [])

    def detach(self, document: Document, server: Server) -> None:
        """A server has nothing to do with an open document any more."""
        self.servers_of(document.uri).remove(server)
        if server.accepting:
            sync.close_document(server, document)
        self.store.closed(server, document.key)

    def document_opened(self, document: Document) -> None:
        self.graphs.typed(document)
        for server in self.attached.get(document.key, []):
            self._open_in(server, document)

    def _open_in(self, server: Server, document: Document) -> None:
        for session in list(self.sessions):
            with _apart(session):
                session.introduced.opened(server, document)
        if server.accepting:
            sync.open_document(server, document, self.server_opened)
        else:
            self._need(server)

    def _need(self, server: Server) -> None:
        """Start a server for its documents. That it cannot start now is in its state already."""
        try:
            server.need()
        except OmbudError as error:
            LOG.debug("%s", error)

    def document_changed(self, document: Document, changes: Raw | None, *, anew: bool = False) -> None:
        self.graphs.typed(document)
        for server in self.attached.get(document.key, []):
            if server.accepting:
                server.touch()
                sync.change_document(server, document, changes, self.server_sent, anew=anew)
            else:
                self._need(server)

    def speak_anew(self, document: Document) -> None:
        """Have servers speak of a document that has not changed, since something else has.

        The same text under a new version does it for most. clangd may take that for what it is busy with and then says
        nothing of the version: it has the document closed and opened.
        """
        self.documents.renumber(document)
        for server in self.attached.get(document.key, []):
            if server.accepting:
                if server.entry.diagnostics.reopened:
                    sync.close_document(server, document)
                    sync.open_document(server, document, self.server_sent)
                else:
                    sync.change_document(server, document, None, self.server_sent)

    def document_saved(self, document: Document) -> None:
        self.graphs.told([document.path])
        for server in self.attached.get(document.key, []):
            if server.accepting:
                sync.save_document(server, document, self.server_saved)

    def document_closed(self, document: Document) -> None:
        self.graphs.typed(document)
        for session in list(self.sessions):
            with _apart(session):
                session.introduced.closed(document)
        for server in self.attached.pop(document.key, []):
            if server.accepting:
                sync.close_document(server, document)
            self.store.closed(server, document.key)

    # -- what servers say -------------------------------------------------------------------------------------

    def server_starts(self, server: Server) -> None:
        for document in self.documents.all():
            if server in self.attached.get(document.key, []):
                # Nobody may have watched while nothing ran.
                self.watch.look_at(document)
            if server in self.attached.get(document.key, []):
                sync.open_document(server, document, self.server_opened)
        self.notebooks.server_starts(server)

    def server_sent(self, server: Server, uri: str, version: int) -> None:
        key = same_uri_key(uri)
        self.store.sent(server, key, version)
        self.pull_soon(key)

    def server_opened(self, server: Server, uri: str, version: int) -> None:
        """As `server_sent`, for a text that is the disk's: what the server says of other files stays as true."""
        key = same_uri_key(uri)
        document = self.documents.at(key)
        self.store.sent(server, key, version, stirs=document is None or bool(document.owners))
        self.pull_soon(key)

    def server_saved(self, server: Server, uri: str) -> None:
        self.store.saved(server, same_uri_key(uri))

    def server_changed(self, server: Server) -> None:
        if server.state in (State.CRASHED, State.FAILED, State.SWEPT, State.AVAILABLE):
            self.store.forget_process(server)
            self.asks.forget(server)
        self.store.wake_server(server)
        self.watch.server_changed(server)
        LOG.info("%s (%s): %s. %s", server.name, server.root.name, server.state, server.reason)
        if server.state is State.READY:
            self.notes.take(server)
        for session in list(self.sessions):
            with _apart(session):
                session.server_changed(server)

    def server_registered(self, server: Server) -> None:
        """What a running server can do has changed by a registration of its own."""
        self.notebooks.registered(server)
        self.notes.take(server)
        for session in list(self.sessions):
            with _apart(session):
                session.registrations.changed(server)

    def server_said(self, server: Server, message: Message) -> None:
        self.asks.take(server, message)

    # -- diagnostics ------------------------------------------------------------------------------------------

    def pull_soon(self, key: str) -> None:
        """Pull a document for its readers once it has been left alone for a moment."""
        handle = self._pulls.pop(key, None)
        if handle is not None:
            handle.cancel()
        self._pulls[key] = asyncio.get_running_loop().call_later(PULL_DELAY, self._pull_now, key)

    def _pull_now(self, key: str) -> None:
        self._pulls.pop(key, None)
        if any(session.pulled.awaits(key) for session in self.sessions):
            # A client's own pull asks the servers, and comes here again if that leaves anything open.
            return
        for server, track in self.store.tracks(key).items():
            document = self.documents.at(key)
            if document is None or server.state is not State.READY or not server.offers("textDocument/diagnostic"):
                continue
            if track.asked_version and track.asked_version == track.sent_version:
                # Somebody has asked for just this; if that leaves anything open, it is seen the next time.
                self.pull_soon(key)
            elif (track.pull_version or 0) < track.sent_version:
                self.spawn(self._pull(server, document))

    async def _pull(self, server: Server, document: Document) -> None:
        try:
            await pull(self.store, server, document.key, document.uri)
        except OmbudError as error:
            LOG.debug("pulling %s: %s", document.path.name, error)

    def repull(self, server: Server) -> None:
        """The server asked for a refresh (``workspace/diagnostic/refresh``): what was pulled counts no more."""
        for document in self.documents.all():
            if server in self.attached.get(document.key, []):
                self.store.refreshed(server, document.key)
                if document.owners or document.pins:
                    # What is only kept warm is asked about when somebody wants to know.
                    self.pull_soon(document.key)
        self.notebooks.repull(server)
        for session in list(self.sessions):
            with _apart(session):
                session.pulled.server_refreshes(server)

    def _diagnostics_changed(self, key: str) -> None:
        for session in list(self.sessions):
            with _apart(session):
                session.showing.changed(key)
                session.introduced.moved(key)

    def writing(self, path: Path) -> asyncio.Lock:
        """The lock under which a file is written, so that two writes of one file follow each other."""
        return self._writing.setdefault(path, asyncio.Lock())

    def is_written(self, path: Path) -> bool:
        """Whether somebody is writing a file right now."""
        lock = self._writing.get(path)
        return lock is not None and lock.locked()

    def course(self, server: Server) -> asyncio.Lock:
        """The lock under which one write at a time changes what a server sees: only so can their effects be told
        apart."""
        return self._courses.setdefault(server, asyncio.Lock())

    def turn(self, server: Server) -> asyncio.Lock:
        """The lock under which a server is asked about one document at a time."""
        return self._turns.setdefault(server, asyncio.Lock())

    async def recovered(self) -> None:
        """Before the first write: whatever a crash has left half done is finished or taken back (decision 12)."""
        recovery = self.recover()
        try:
            await asyncio.shield(recovery)
        except OSError as error:
            # The next write tries again: somebody may have mended the folder.
            self._recovery = None
            raise Refused(
                f"What a crash may have left half done cannot be looked at: {error}. Nothing was changed; make that "
                "folder accessible and try again.",
                kind="permission_denied",
            ) from error

    def recover(self) -> asyncio.Task[Any]:
        """Begin with that, once for the process: at the first client's ``initialized``."""
        if self._recovery is None:
            self._recovery = self.spawn(asyncio.to_thread(_recover))
            self._recovery.add_done_callback(_tell_recovered)
        return self._recovery

    async def reload(self, name: str | None) -> list[Server]:
        """Stop the servers (of ``name``, or all), forget them, detect anew, and start again those that ran."""
        chosen = [server for server in self.supervisor.all() if name is None or server.name == name]
        ran = [server for server in chosen if server.running]
        await self.supervisor.remove(chosen)
        for server in chosen:
            self.store.forget_server(server)
        for servers in self.attached.values():
            servers[:] = [server for server in servers if server not in chosen]
        for session in self.sessions:
            session.forget_configuration()
            session.redetect()
        return ran

    # -- sessions ---------------------------------------------------------------------------------------------

    def document_taken(self, document: Document, by: Session) -> None:
        """A client has saved a document: it and all others learn what that introduced."""
        for session in list(self.sessions):
            with _apart(session):
                session.introduced.saved(document, by)

    def disk_changed(self, seen: Sequence[Seen], told: Collection[Server], by: Session | None) -> None:
        """Files have changed on the disk and servers were ``told``; ``by`` is the session that wrote them."""
        for session in list(self.sessions):
            with _apart(session):
                session.introduced.changed(seen, told, by)

    def drop(self, session: Session) -> None:
        """A connection is gone: its documents are closed, its asks answered; servers stay for the others."""
        if session in self.sessions:
            self.sessions.remove(session)
        if session.known_debugging is not None:
            # A hub that closes waits for it: nothing of a debugged program is left behind.
            self.leave(session.known_debugging.close())
        self.ahead.drop(session)
        self.documents.drop(session)
        self.notebooks.drop(session)
        self.asks.drop(session)
        self.settling.drop(session)
        self.watch.went(session)
        self.limit()

    def files_changed(self, paths: Sequence[Path]) -> None:
        """Files that somebody changed: a session that has read one of them for itself reads it again."""
        self.graphs.told(paths)
        for session in list(self.sessions):
            with _apart(session):
                session.files_changed(paths)

    def limit(self) -> None:
        """The limits of the servers: the widest that any session has, so that none narrows another's (P1, P2)."""
        known = [found for session in self.sessions if (found := session.known_configuration) is not None]
        if known:
            self.supervisor.idle_minutes = max(one.idle_minutes for one in known)
            self.supervisor.max_servers = max(one.max_servers for one in known)
            self.supervisor.max_rss_mb = max(one.max_server_rss_mb for one in known)

    def spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """A task that the hub keeps alive and ends when it closes."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def leave(self, work: Coroutine[Any, Any, None]) -> None:
        """What a session that is over still has to do; the hub does not close before."""
        task = self.spawn(work)
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """End every timer and task, then the servers."""
        if self._leaving:
            # What is not done by then the next start does: it finds the transaction's owner gone.
            await asyncio.wait(self._leaving, timeout=LEAVING_SECONDS)
        self.notebooks.close()
        for handle in self._pulls.values():
            handle.cancel()
        self.watch.close()
        self.ahead.close()
        for task in list(self._tasks):
            task.cancel()
        desks = [one.known_debugging for one in self.sessions if one.known_debugging is not None]
        await asyncio.gather(*(desk.close() for desk in desks), return_exceptions=True)
        await self.searches.close()
        await self.graphs.close()
        await self.supervisor.close()


def _recover() -> list[Recovered]:
    from ombud.workspace.state import checkpoint_folder, journal_folder

    if not journal_folder().exists() and not checkpoint_folder().exists():
        return []
    from ombud.workspace.abandoned import recover_all

    return recover_all(checkpoint_folder(), journal_folder())


def _tell_recovered(recovery: asyncio.Task[Any]) -> None:
    if not recovery.cancelled() and recovery.exception() is None:
        for one in recovery.result():
            LOG.warning("%s", one.message)


@contextmanager
def _apart(session: Session) -> Iterator[None]:
    """What is wrong with one session is nothing to the others, nor to the server whose message is being read."""
    try:
        yield
    except Exception:
        LOG.exception("session %d could not be told", session.number)


def _read_text(path: Path) -> str | None:
    """A file's text for servers; None when it is gone, no text, or no longer what was opened.

    ``path`` was real when the document was opened: a link that stands in it now was put there since (F4), and a pipe
    or a device would be waited for (P5).
    """
    from ombud.operations.shapes import FILE_LIMIT
    from ombud.text.buffer import decode

    try:
        fd, status = handles.open_file(None, str(path), path.name)
        try:
            if (handles.opened_path(fd) or Path(os.path.realpath(path))) != path:
                return None
            return decode(handles.read_all(fd, FILE_LIMIT, path.name, status.st_size)).text
        finally:
            os.close(fd)
    except (OSError, OmbudError):
        return None
