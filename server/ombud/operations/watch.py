"""Files that change on disk (D7): who sees it, and who is told.

A change is seen by a client that can watch, by our own watcher for folders that no client watches, or made by
ourselves. Each server is told what it has registered for (`ombud.downstream.watched`). Documents that no client holds
back are shown anew, and what Ombud itself has read (markers of roots, its settings) is read again.

Our own watcher runs while a server is ready in a folder that nobody else watches; an idle Ombud watches nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Raw

from ombud.downstream import sync
from ombud.downstream.project import interpreters
from ombud.downstream.states import State
from ombud.downstream.watched import BITS, Interest
from ombud.errors import OmbudError
from ombud.guard.uris import path_or_none, path_to_uri
from ombud.operations import watching
from ombud.operations.leaving import below
from ombud.operations.watching import METHOD, Asked
from ombud.syntax.languages import language_of
from ombud.workspace.sources import WORKSPACE_FILE, user_file

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session
    from ombud.workspace.documents import Document
    from ombud.workspace.tree import Event
    from ombud.workspace.watcher import Watcher

LOG = logging.getLogger("ombud.watch")
MOST_EVENTS = 1000
"""Events of one notification, and of one turn of the event loop."""
SOON = 0.1
"""Seconds in which servers that start and register together are taken together."""
MOST_WRITES = 256
"""Writes of ours that are remembered, so that a watcher's word on them is not told twice."""
MOST_EXTRA = 16
"""Folders in ignored ones that are watched because a server has named them."""


class FileEvent(msgspec.Struct):
    """A ``FileEvent`` of LSP."""

    uri: str
    type: int


@dataclass(frozen=True, slots=True)
class Seen:
    """One change. ``path`` is absolute and real but for its last component; ``uris`` are its spellings."""

    path: str
    kind: int
    uris: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class Watch:
    """See the module. One for the hub; everything but the watcher's thread runs on the event loop."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._asked: dict[Session, Asked] = {}
        self._interests: WeakKeyDictionary[Server, Interest] = WeakKeyDictionary()
        self._watcher: Watcher | None = None
        self._former: list[Watcher] = []
        """Those whose place another one takes as soon as it is at work, so that nothing is missed in between."""
        self._watched: tuple[tuple[Path, ...], tuple[Path, ...], tuple[Path, ...]] = ((), (), ())
        self._trouble: str | None = None
        self._wrote: OrderedDict[str, tuple[int, ...] | None] = OrderedDict()
        self._soon: asyncio.TimerHandle | None = None
        self._closed = False

    # -- who is there -----------------------------------------------------------------------------------------

    def came(self, session: Session) -> None:
        """The client said ``initialized``: from now on it may be asked to watch."""
        if watching.can(session):
            self._asked.setdefault(session, Asked())
            self.update_soon()

    def went(self, session: Session) -> None:
        self._asked.pop(session, None)
        self.update_soon()

    def server_changed(self, server: Server) -> None:
        """Its state or its registrations changed."""
        if server.state is not State.CRASHED:
            # One that crashed registers the same again in a moment; until then its clients go on watching.
            self._interests.pop(server, None)
        self.update_soon()

    def problems(self, session: Session) -> tuple[str, ...]:
        """What is wrong with the watching of this session's folders, a sentence each."""
        mine = any(below(folder, self._watched[0]) for folder in session.real_folders)
        return (self._trouble,) if self._trouble is not None and mine else ()

    def update_soon(self) -> None:
        if self._soon is None and not self._closed:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._update)

    def close(self) -> None:
        self._closed = True
        if self._soon is not None:
            self._soon.cancel()
        self._end_watchers()

    def _update(self) -> None:
        self._soon = None
        for document in self._hub.documents.all():
            # A document that is only kept warm goes with the last of its servers: nobody would keep it true.
            if not document.owners and not document.pins and not self._is_served(document):
                self._hub.documents.removed(document)
        for session, asked in list(self._asked.items()):
            try:
                self._ask(session, asked)
            except OmbudError as error:
                LOG.debug("%s was not asked to watch: %s", session.client.name, error)
        self._watch_ourselves()

    def _is_served(self, document: Document) -> bool:
        return any(server.accepting or server.running for server in self._hub.servers_of(document.uri))

    def _ask(self, session: Session, asked: Asked) -> None:
        folders = session.real_folders
        servers = [one for one in self._hub.supervisor.all() if below(one.root, folders)]
        watchers = []
        if servers:
            files = [*(folder / WORKSPACE_FILE for folder in folders), *self._settings_outside()]
            files += self._environments(folders)
            watchers = watching.wanted(session, [self._interest(one) for one in servers], files)
        watching.ask(session, asked, watchers, self.update_soon)

    def _interest(self, server: Server) -> Interest:
        interest = self._interests.get(server)
        if interest is None:
            options = server.capabilities.registrations(METHOD)
            interest = self._interests[server] = Interest(server.entry, server.root, options or None)
        return interest

    # -- our own watcher --------------------------------------------------------------------------------------

    def _watch_ourselves(self) -> None:
        folders = self._unwatched()
        wanted = (folders, self._extra(folders), self._environments(folders))
        if wanted == self._watched:
            return
        if not folders or self._closed:
            self._end_watchers()
            return
        if self._watcher is not None:
            self._former.append(self._watcher)
        self._watched, self._trouble = wanted, None
        from ombud.workspace.watcher import Watcher

        loop = asyncio.get_running_loop()
        watcher = Watcher(
            folders,
            lambda events: _call(loop, self._saw, watcher, events),
            lambda sentence: _call(loop, self._tell_trouble, watcher, sentence),
            extra=wanted[1],
            files=[*self._settings_outside(), *wanted[2]],
            ready=lambda: _call(loop, self._took_over, watcher),
        )
        self._watcher = watcher
        watcher.start()

    def _unwatched(self) -> tuple[Path, ...]:
        """The folders with a ready server that no client watches, outermost ones only. One that is watched stays so
        while a server of it starts again."""
        covered = [one for session, asked in self._asked.items() if not asked.refused for one in session.real_folders]
        live = (State.READY, State.STARTING, State.CRASHED, State.STOPPING)
        found = set()
        for folder in {one for session in self._hub.sessions for one in session.real_folders}:
            if below(folder, covered):
                continue
            states = live if folder in self._watched[0] else (State.READY,)
            if any(one.state in states and below(one.root, [folder]) for one in self._hub.supervisor.all()):
                found.add(folder)
        return tuple(sorted(one for one in found if not below(one.parent, found)))

    def _extra(self, folders: Sequence[Path]) -> tuple[Path, ...]:
        """Folders that servers name in their registrations, in case they lie in ignored ones."""
        roots = {server.root for server in self._hub.supervisor.all()}
        named = {
            watcher.base
            for server in self._hub.supervisor.all()
            if server.state is State.READY
            for watcher in self._interest(server).watchers or ()
            if watcher.anchored and watcher.base not in roots
        }
        return tuple(sorted(one for one in named if one not in folders and below(one, folders))[:MOST_EXTRA])

    def _environments(self, folders: Sequence[Path]) -> tuple[Path, ...]:
        """The interpreters of environments that are there or may be made; what else is in them is left out."""
        servers = [one for one in self._hub.supervisor.all() if "python" in one.entry.languages]
        roots = sorted({one.root for one in servers if below(one.root, folders)})
        return tuple(path for root in roots for path in interpreters(root))

    def _took_over(self, watcher: Watcher) -> None:
        if watcher is self._watcher:
            for former in self._former:
                former.stop()
            self._former.clear()

    def _end_watchers(self) -> None:
        for watcher in (*self._former, self._watcher):
            if watcher is not None:
                watcher.stop()
        self._former.clear()
        self._watcher, self._watched, self._trouble = None, ((), (), ()), None

    def _tell_trouble(self, watcher: Watcher, sentence: str) -> None:
        if watcher is self._watcher:
            LOG.warning("%s", sentence)
            self._trouble = sentence

    def _saw(self, watcher: Watcher, events: list[Event]) -> None:
        """Events of our own watcher; what is more than one notification's worth waits for the next turn."""
        if watcher is not self._watcher and watcher not in self._former:
            return
        spellings = self._respellings()
        self.tell([Seen(one.path, one.kind, _uris(one.path, spellings)) for one in events[:MOST_EVENTS]])
        if len(events) > MOST_EVENTS:
            asyncio.get_running_loop().call_soon(self._saw, watcher, events[MOST_EVENTS:])

    def _respellings(self) -> list[tuple[str, str]]:
        """Real folders that a client spells otherwise, and how."""
        pairs = {(str(folder.resolve()), str(folder)) for one in self._hub.sessions for folder in one.folders}
        return [(real, spelled) for real, spelled in sorted(pairs) if real != spelled]

    # -- what was seen ----------------------------------------------------------------------------------------

    def told(self, changes: Sequence[FileEvent], params: Raw) -> None:
        """``workspace/didChangeWatchedFiles`` of a client. Events whose URI is no file's are nobody's business."""
        parents: dict[Path, str] = {}
        seen = []
        for change in changes:
            path = path_or_none(change.uri)
            if path is None or change.type not in BITS:
                continue
            parent = parents.get(path.parent)
            if parent is None:
                parent = parents[path.parent] = os.path.realpath(path.parent)
            real = f"{parent.rstrip('/')}/{path.name}"
            uris = (change.uri,) if real == str(path) else (change.uri, path_to_uri(real))
            seen.append(Seen(real, change.type, uris))
        self.tell(seen, params if len(seen) == len(changes) else None)

    def wrote(self, path: Path, uri: str, kind: int, by: Session | None = None) -> None:
        """We changed a file ourselves. What a watcher says of it later is known already.

        ``by`` is the session that asked for it, and is told in its own way what that introduced.
        """
        seen = Seen(str(path), kind, tuple(dict.fromkeys((uri, path_to_uri(path)))))
        self._wrote[seen.path] = _stamp(seen.path)
        self._wrote.move_to_end(seen.path)
        while len(self._wrote) > MOST_WRITES:
            self._wrote.popitem(last=False)
        self._hub.disk_changed([seen], self._tell_servers([seen], None), by)
        self._read_again([seen])

    def tell(self, seen: Sequence[Seen], params: Raw | None = None) -> None:
        """Tell everybody. ``params`` are a notification's that says just this, to be sent on as it is."""
        news = [one for one in seen if one.path not in self._wrote or not self._is_ours(one)]
        if not news:
            return
        self._show(news)
        whole = params if len(news) == len(seen) and all(len(one.uris) == 1 for one in news) else None
        self._hub.disk_changed(news, self._tell_servers(news, whole), None)
        self._read_again(news)

    def _is_ours(self, one: Seen) -> bool:
        """Whether a file is as we left it."""
        if self._wrote[one.path] == _stamp(one.path):
            return True
        del self._wrote[one.path]
        return False

    def _tell_servers(self, seen: Sequence[Seen], params: Raw | None) -> set[Server]:
        """Tell each server what it wants to know; returns those that were told anything."""
        told = set()
        languages = {name: language_of(PurePath(name)) for name in {one.name for one in seen}}
        for server in self._hub.supervisor.all():
            if server.state not in (State.STARTING, State.READY):
                continue
            interest = self._interest(server)
            mine = [one for one in seen if interest.wants(one.path, one.kind, languages[one.name])]
            if mine:
                told.add(server)
                self._hub.store.stir(server)
            if params is not None and len(mine) == len(seen):
                server.notify(METHOD, Raw(bytes(params)))
            else:
                for start in range(0, len(mine), MOST_EVENTS):
                    part = mine[start : start + MOST_EVENTS]
                    events = [{"uri": uri, "type": one.kind} for one in part for uri in one.uris]
                    server.notify(METHOD, {"changes": events})
            if mine and server.entry.rechecks_on_save:
                self._recheck(server)
        return told

    def _recheck(self, server: Server) -> None:
        """A server that goes by saves alone looks at all of its documents again when one of them is saved."""
        documents = self._hub.documents.all()
        if (document := next((one for one in documents if one.uri in server.documents), None)) is not None:
            sync.save_document(server, document, self._hub.server_saved)

    def _show(self, seen: Sequence[Seen]) -> None:
        """Servers see the new text of what is open."""
        paths = {one.path for one in seen}
        for document in self._hub.documents.all():
            if str(document.path) in paths:
                self.look_at(document)

    def look_at(self, document: Document) -> None:
        """Show a document's servers what is on disk now, unless somebody has changes of his own or is writing it."""
        if self._hub.is_written(document.path):
            return
        if os.path.lexists(document.path):
            self._hub.documents.follow_disk(document)
        elif not document.pins:
            self._hub.documents.removed(document)

    def _read_again(self, seen: Sequence[Seen]) -> None:
        """What Ombud itself has read of these files is read again: markers of roots, its own settings."""
        self._hub.files_changed([Path(one.path) for one in seen])

    def _settings_outside(self) -> list[Path]:
        return [user_file(())[0]]


def _uris(path: str, spellings: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    found = [path_to_uri(path)]
    found += [path_to_uri(spelled + path[len(real) :]) for real, spelled in spellings if path.startswith(real + "/")]
    return tuple(found)


def _stamp(path: str) -> tuple[int, ...] | None:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: Any) -> None:
    """From the watcher's thread. A loop that is closed has nobody who could be told."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        LOG.debug("the event loop is closed")
