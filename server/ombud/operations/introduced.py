"""Telling a client what a save, or a change on the disk, introduced (``ombud/introducedDiagnostics``).

For every session whose client knows Ombud, which it shows by options of its own; a plain editor gets nothing that LSP
does not know. What is told is the difference to what the session has heard before (`ombud.operations.known`), over all
files that the servers speak of. Several saves at once, or a checkout, become one report; a server that is later than
``diagnostics.waitMs`` is listed as such, and what it finds follows. Ordinary publishes are not touched by any of this.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ombud.diagnostics.fresh import settle
from ombud.diagnostics.items import Item
from ombud.diagnostics.report import DOCUMENT
from ombud.errors import OmbudError
from ombud.guard.uris import same_uri_key
from ombud.operations.hearing import LATE_SECONDS, Found, Hearing, closed_now, pushes, sighted
from ombud.operations.known import Known, Ledger, read, uri_of
from ombud.operations.leaving import below

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.session import Session
    from ombud.operations.watch import Seen
    from ombud.workspace.documents import Document

LOG = logging.getLogger("ombud.introduced")
Cause = Literal["save", "watch"]
MOST_FILES = 1000
"""Changed files that one report names."""


@dataclass(slots=True)
class Burst:
    """What was saved or changed together: document ``keys``, and the ``servers`` that are to be heard about it.

    ``files`` are names for the reader. ``certain``: it is told also where nothing is new. ``wide``: files changed that
    no server has open, which may be settings.
    """

    cause: Cause = "watch"
    keys: set[str] = field(default_factory=set)
    files: dict[str, None] = field(default_factory=dict)
    servers: set[Server] = field(default_factory=set)
    certain: bool = False
    wide: bool = False

    def merge(self, other: Burst) -> None:
        self.cause = "save" if "save" in (self.cause, other.cause) else "watch"
        self.keys |= other.keys
        self.files |= other.files
        self.servers |= other.servers
        self.certain = self.certain or other.certain
        self.wide = self.wide or other.wide


@dataclass(slots=True)
class First:
    """A text as it was opened, and the hub's number of it."""

    text: str
    version: int


class Introduced:
    """One session's ledger, and the reports to its client. Everything is called on the event loop."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._hub = session.hub
        self._ledger = Ledger()
        self._next: Burst | None = None
        """What has come up and is in no report yet."""
        self._news = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._baselines: dict[tuple[Server, str], asyncio.Task[None]] = {}
        self._firsts: dict[tuple[Server, str], First] = {}
        self._settling = False
        self._last = Burst()
        self._until = 0.0
        """Until when what a server says by itself still belongs to the last report, in monotonic seconds."""
        self._moved: set[str] = set()
        self._closed = False

    @property
    def wanted(self) -> bool:
        """Whether the client is told at all: it has said something to Ombud, and not that it wants none of this."""
        session = self._session
        if self._closed or session.known_configuration is None or session.said_no:
            return False
        asked = session.client.options is not None or bool(session.configured.said)
        return asked and session.configuration.diagnostics.notify

    # -- what is known before -----------------------------------------------------------------------------------

    def adopt(self) -> None:
        """The session begins to look: what is open for others by now is known to it from here on."""
        if self.wanted:
            for document in self._hub.documents.all():
                for server in self._hub.servers_of(document.uri):
                    self.opened(server, document)

    def opened(self, server: Server, document: Document) -> None:
        """A server gets a document opened, for whomever: what it says first is what was wrong before."""
        key = document.key
        if not self.wanted or not sighted(self._session, document):
            return
        if self._ledger.about(key) is None:
            self._ledger.take_up(key, document.shown)
        done = self._ledger.has_baseline(server, key) or (server, key) in self._baselines
        if not done and server.entry.serves("diagnostics"):
            first = First(document.shown, document.version)
            self._firsts[server, key] = first
            self._baselines[server, key] = self._hub.spawn(self._baseline(server, document, first))

    async def _baseline(self, server: Server, document: Document, first: First) -> None:
        try:
            known = await self._first_word(server, document, first)
        finally:
            self._firsts.pop((server, document.key), None)
            self._baselines.pop((server, document.key), None)
        if self._hub.documents.at(document.key) is not document or self._closed:
            return
        if known is not None and not self._ledger.has_baseline(server, document.key):
            self._ledger.learn(server, document.key, known)
            if not known.partial:
                self._survey(server)

    async def _first_word(self, server: Server, document: Document, first: First) -> Known | None:
        """What a server says of the text that was opened; None where it is changed before that is known."""
        store = self._hub.store
        await self._asked(server, document, first)
        while document.shown == first.text:
            before = store.track(server, document.key).pushes_before_sent
            verdict = await settle(
                store, server, document.key, document.uri, first.version, LATE_SECONDS, exact=True, needed=False
            )
            track = store.track(server, document.key)
            if verdict.freshness == "fresh" and not store.is_veiled(server):
                return Known(read(server, track.joined()), first.text)
            if not track.versioned and track.sent_version > first.version and track.pushes_before_sent > before:
                # It had spoken, but not been quiet for long enough: the client has been shown that much.
                return Known(read(server, track.joined()), first.text, partial=track.push_count <= 1)
            if document.version == first.version:
                return None
            if document.shown == first.text:
                first.version = document.version
        # It may still speak of the opened text: both texts can be on their way to it.
        await settle(store, server, document.key, document.uri, document.version, LATE_SECONDS, needed=False)
        return None

    async def _asked(self, server: Server, document: Document, first: First) -> None:
        """Until the hub, or the client, has pulled the document: it is no reason to pull it once more."""
        store = self._hub.store

        def waiting() -> bool:
            track = store.track(server, document.key)
            pulls = server.offers(DOCUMENT) and track.sent_version == first.version
            return document.shown == first.text and (
                server.documents.get(document.uri, 0) < first.version
                or (pulls and (track.pull_version or 0) < first.version)
            )

        with suppress(TimeoutError), store.watch(document.key) as event:
            async with asyncio.timeout(LATE_SECONDS):
                while waiting():
                    event.clear()
                    await event.wait()

    def _overhear(self, key: str) -> None:
        """A server speaks of a text whose first word is waited for: the next one may follow before anybody looks."""
        for server, track in self._hub.store.tracks(key).items():
            first = self._firsts.get((server, key))
            if first is None:
                continue
            pulls = server.offers(DOCUMENT)
            if (track.pull_version if pulls else track.push_version) == first.version:
                sure = not pushes(server) if pulls else not server.entry.diagnostics.settle_ms
                self._ledger.learn(server, key, Known(read(server, track.joined()), first.text, partial=not sure))

    def _survey(self, server: Server) -> None:
        """What a server has said of closed files by now is no news."""
        self._ledger.surveyed(server, closed_now(self._session, server))
        tracks = self._hub.store.tracks_of(server)
        for key in self._ledger.of(server):
            closed = self._hub.documents.at(key) is None
            if closed and key not in tracks and self._ledger.known(server, key, opened=True) is None:
                self._ledger.forget(key, server)

    def closed(self, document: Document) -> None:
        """A document is open for nobody any more. One whose file is gone is kept until that is told."""
        for server, key in list(self._baselines):
            if key == document.key:
                self._baselines[server, key].cancel()
        if os.path.lexists(document.path):
            self._ledger.closed(document.key)

    def wrote(self, key: str, server: Server, items: Iterable[Item], text: str | None) -> None:
        """The session has been told of a write of its own that ``server`` says this of the file now.

        ``text`` is the file's new text, None where it is gone.
        """
        if self.wanted:
            opened = self._hub.documents.at(key) is not None
            if opened and text is not None:
                self._ledger.take_up(key, text)
            items = tuple(item for item in items if item.severity != "hint")
            self._ledger.learn(server, key, Known(items, text if opened else None))

    # -- what happens -------------------------------------------------------------------------------------------

    def saved(self, document: Document, by: Session) -> None:
        """``textDocument/didSave`` of a document that a session has open; for all others the file has changed."""
        if not self.wanted or not sighted(self._session, document):
            return
        servers = self._reporting(self._hub.servers_of(document.uri))
        if by is not self._session and self._ledger.about(document.key) == document.shown:
            return
        self._ledger.take_up(document.key, document.shown)
        name = self._place(document.key)
        if servers and name is not None:
            cause: Cause = "save" if by is self._session else "watch"
            self._join(Burst(cause, {document.key}, {name: None}, servers, certain=True))

    def changed(self, seen: Collection[Seen], told: Collection[Server], by: Session | None = None) -> None:
        """Files have changed on the disk and servers were ``told``; ``by`` is who wrote them, where that is known."""
        if not self.wanted:
            return
        running, folders = self._reporting(self._session.running()), self._session.real_folders
        burst = Burst()
        for one in seen:
            documents = self._hub.documents.of_path(Path(one.path))
            if by is self._session:
                for document in documents:
                    self._ledger.take_up(document.key, document.shown)
            elif below(Path(one.path), folders):
                burst.merge(self._change(one, documents, running.intersection(told), ours=by is not None))
                if len(burst.files) < MOST_FILES and (name := self._place(same_uri_key(one.uris[0]))) is not None:
                    burst.files[name] = None
        burst.servers &= running
        if burst.servers:
            self._join(burst)

    def _change(self, one: Seen, documents: Collection[Document], told: set[Server], *, ours: bool) -> Burst:
        """One changed file. A document that is as it was for the session is what it has saved itself.

        ``ours``: a session has written it. Then the disk need not be read, for thousands of files maybe, to know that
        a document without owners shows what is there.
        """
        burst = Burst()
        attached = {server for document in documents for server in self._hub.servers_of(document.uri)}
        for document in documents:
            known = ours and not document.owners
            if self._ledger.about(document.key) == document.shown:
                continue
            if not known and not self._hub.documents.agrees(document):
                continue
            self._ledger.take_up(document.key, document.shown)
            burst.keys.add(document.key)
            burst.servers |= self._reporting(self._hub.servers_of(document.uri))
            burst.certain = True
        key = same_uri_key(one.uris[0])
        if not documents and self._ledger.holds(key):
            burst.keys.add(key)
            burst.certain = True
            burst.servers |= {server for server in self._session.running() if key in self._ledger.of(server)}
        if told - attached:
            burst.servers |= told - attached
            burst.wide = True
        return burst

    def moved(self, key: str) -> None:
        """A server says something else of a file than before. After a report that may be what belongs to it (D9)."""
        if self._firsts:
            self._overhear(key)
        if time.monotonic() > self._until or not self.wanted:
            return
        self._moved.add(key)
        if not self._settling and self._next is None:
            self._follow()

    def _follow(self) -> None:
        """Have what has moved since the last report looked at, unless somebody is typing."""
        moved, self._moved = self._moved, set()
        servers = {server for key in moved for server in self._drifted(key)}
        if servers:
            self._join(Burst(self._last.cause, set(), dict(self._last.files), servers, wide=True))

    def _drifted(self, key: str) -> list[Server]:
        opened = self._hub.documents.at(key) is not None
        found = []
        for server, track in self._hub.store.tracks(key).items():
            known = self._ledger.known(server, key, opened=opened)
            mine = server in self._last.servers and known is not None
            if mine and known is not None and read(server, track.joined()) != known.items and not self._typing(server):
                found.append(server)
        return found

    def _typing(self, server: Server) -> bool:
        """Whether a server looks at anything that is not saved: what it says then belongs to no report."""
        documents = [one for one in self._hub.documents.all() if server in self._hub.servers_of(one.uri)]
        return any(self._ledger.about(one.key) not in (None, one.shown) for one in documents)

    def _reporting(self, servers: Iterable[Server]) -> set[Server]:
        return {server for server in servers if server.entry.serves("diagnostics")}

    # -- the reports --------------------------------------------------------------------------------------------

    def _join(self, burst: Burst) -> None:
        for server in burst.servers:
            if not self._ledger.knows(server):
                self._survey(server)
        if self._next is None:
            self._next = burst
        else:
            self._next.merge(burst)
        self._news.set()
        if self._task is None:
            self._task = self._hub.spawn(self._work())

    async def _work(self) -> None:
        """One report after the other, as long as something comes up."""
        tasks: dict[asyncio.Task[Found], Server] = {}
        try:
            while self._next is not None and not self._closed:
                burst, self._next = self._next, None
                await self._burst(burst, tasks)
        finally:
            self._task, self._settling = None, False
            for task in tasks:
                task.cancel()

    async def _burst(self, burst: Burst, tasks: dict[asyncio.Task[Found], Server]) -> None:
        """Hear all servers out and tell; then those that are late, until something new comes up."""
        wait = self._session.configuration.diagnostics.wait_ms / 1000
        end = time.monotonic() + wait
        self._settling = True
        while True:
            self._begin(burst, tasks)
            await self._until_news(tasks, max(0.0, end - time.monotonic()), asyncio.ALL_COMPLETED)
            if self._next is None or time.monotonic() >= end:
                break
            burst.merge(self._next)
            self._next = None
        self._settling = False
        self._last, self._until = burst, time.monotonic() + LATE_SECONDS
        self._tell(burst, self._take_done(tasks), list(tasks.values()), round(wait * 1000))
        self._follow()
        last = time.monotonic() + LATE_SECONDS
        while tasks and self._next is None and time.monotonic() < last:
            await self._until_news(tasks, last - time.monotonic(), asyncio.FIRST_COMPLETED)
            done = self._take_done(tasks)
            if any(one.verdict.freshness == "fresh" or one.news for one in done):
                self._tell(burst, done, [], 0)
        if tasks and self._next is not None:
            # They are heard out with what has come up since.
            self._next.merge(Burst(burst.cause, set(burst.keys), {}, set(tasks.values()), wide=burst.wide))

    def _begin(self, burst: Burst, tasks: dict[asyncio.Task[Found], Server]) -> None:
        for task in tasks:
            task.cancel()
        tasks.clear()
        self._news.clear()
        for server in burst.servers:
            hearing = Hearing(self._session, self._ledger, server, burst.keys, wide=burst.wide, place=self._place)
            tasks[self._hub.spawn(hearing.run())] = server

    async def _until_news(self, tasks: Iterable[asyncio.Task[Found]], seconds: float, when: str) -> None:
        """Until the tasks have ended as ``when`` says, something has come up, or the time is over."""
        self._news.clear()
        if self._next is not None:
            return
        news = asyncio.ensure_future(self._news.wait())
        ends = asyncio.ensure_future(asyncio.wait(set(tasks), return_when=when))
        try:
            await asyncio.wait({news, ends}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            news.cancel()
            ends.cancel()

    @staticmethod
    def _take_done(tasks: dict[asyncio.Task[Found], Server]) -> list[Found]:
        done = [task for task in tasks if task.done()]
        for task in done:
            del tasks[task]
        return [task.result() for task in done if not task.cancelled() and not _failed(task)]

    def _tell(self, burst: Burst, found: list[Found], late: list[Server], waited: int) -> None:
        """Note what is told now as heard, and send it; nothing for texts that were changed before anybody spoke."""
        from ombud.operations.telling import message

        heard = [one for one in found if not one.superseded]
        for one in heard:
            for difference in one.differences:
                self._learn(one.server, difference.sight.key, difference.now, gone=not difference.sight.raws)
        news = any(one.news for one in heard)
        if not self.wanted or not (heard or late) or not (burst.certain or news):
            return
        if not heard and all(self._overtaken(key) for key in burst.keys):
            return
        files = list(burst.files)[:MOST_FILES]
        self._session.tell(
            "ombud/introducedDiagnostics", message(self._session, burst.cause, files, heard, late, waited)
        )

    def _overtaken(self, key: str) -> bool:
        document = self._hub.documents.at(key)
        return document is not None and self._ledger.about(key) not in (None, document.shown)

    def _learn(self, server: Server, key: str, now: Known, *, gone: bool) -> None:
        if gone and now.text is None and self._hub.documents.at(key) is None:
            # Of a file that nobody has open and nothing is said of, nothing needs to be kept.
            self._ledger.forget(key, server)
        else:
            self._ledger.learn(server, key, now)

    def _place(self, key: str) -> str | None:
        """How the session names a document or file; None for what it may not see."""
        document = self._hub.documents.at(key)
        uri = document.uri if document is not None else uri_of(key)
        try:
            return self._session.fence.resolve(uri, intent="write").relative
        except OmbudError:
            return None

    def close(self) -> None:
        """The client is gone."""
        self._closed = True
        for task in [*self._baselines.values(), *([self._task] if self._task is not None else [])]:
            task.cancel()


def _failed(task: asyncio.Task[Found]) -> bool:
    """Whether a server could not be heard out for a reason of ours; the others' words are not lost by that."""
    error = task.exception()
    if error is not None:
        LOG.error("what a change introduced could not be found out", exc_info=error)
    return error is not None
