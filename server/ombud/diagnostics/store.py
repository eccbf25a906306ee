"""The latest diagnostics of every (server, document), push and pull kept apart and joined for the reader.

Both channels are merged per server: rust-analyzer pushes cargo's errors beside its pull answers (decision 8).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from msgspec import Raw

from ombud.downstream.server import Server


@dataclass(slots=True)
class Track:
    """What one server said of one document, and when. Versions are the hub's; times are monotonic seconds."""

    pushed: tuple[Raw, ...] = ()
    push_version: int | None = None
    push_count: int = 0
    push_time: float = 0.0
    pulled: tuple[Raw, ...] = ()
    pull_version: int | None = None
    result_id: str | None = None
    refreshes: int = 0
    """How often the server has said that what was pulled is out of date."""
    related: tuple[str, ...] = ()
    """The URIs of the other documents that the last pull's answer also spoke of."""
    sent_version: int = 0
    pushes_before_sent: int = 0
    sent_time: float = 0.0
    saved_time: float = 0.0
    """When the file was last saved under the server's eyes; 0 for never since its process started."""
    check_asked_time: float = 0.0
    """When the server's checker was last asked for."""
    versioned: bool = False
    """Whether this process has ever published a version for this document."""
    busy_time: float = 0.0
    """When the server last said that it works on the file, and 0 where it says nothing of the kind."""
    idle_time: float = 0.0
    """When it last said that it has done with it."""
    told_version: int = 0
    """The version that the last pull was an answer for, whatever refresh was asked for since."""
    asked_version: int = 0
    """The version that a pull is under way for, 0 for none."""
    pull_world: int = 0
    """The server's `Store.world` when what was pulled was asked for."""

    def joined(self) -> list[Raw]:
        """Both channels, without what stands in both."""
        if not self.pulled:
            return list(self.pushed)
        seen = {bytes(raw) for raw in self.pulled}
        return [*self.pulled, *(raw for raw in self.pushed if bytes(raw) not in seen)]


@dataclass(slots=True)
class _Room:
    tracks: dict[Server, Track] = field(default_factory=dict)
    waiters: set[asyncio.Event] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class World:
    """How often what a server looks at has changed, and when it last did (monotonic seconds)."""

    count: int = 0
    time: float = 0.0


@dataclass(slots=True)
class Words:
    """How often a server has published or asked for a refresh, and when last; ``event`` is set each time."""

    count: int = 0
    time: float = 0.0
    event: asyncio.Event = field(default_factory=asyncio.Event)

    def more(self) -> None:
        self.count, self.time = self.count + 1, time.monotonic()
        self.event.set()


@dataclass(slots=True)
class _Veil:
    """What clients go on seeing of a server, by document key; `depth` counts who needs that."""

    before: dict[str, list[Raw]]
    depth: int = 0
    lifted: asyncio.Event = field(default_factory=asyncio.Event)


_UNTOUCHED = World()


class Store:
    """All tracks, by document key. ``on_change(key)`` is called when what a reader would see has changed."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._rooms: dict[str, _Room] = {}
        self._on_change = on_change
        self._words: WeakKeyDictionary[Server, Words] = WeakKeyDictionary()
        self._worlds: WeakKeyDictionary[Server, World] = WeakKeyDictionary()
        self._veils: WeakKeyDictionary[Server, _Veil] = WeakKeyDictionary()

    def track(self, server: Server, key: str) -> Track:
        """What is known of one server and one document; made if there is nothing yet."""
        room = self._rooms.setdefault(key, _Room())
        return room.tracks.setdefault(server, Track())

    def tracks(self, key: str) -> dict[Server, Track]:
        """Every server's track of a document."""
        room = self._rooms.get(key)
        return dict(room.tracks) if room is not None else {}

    def known(self) -> list[str]:
        """The documents of which anything is known."""
        return list(self._rooms)

    def joined(self, key: str) -> list[Raw]:
        """Every server's diagnostics of a document, in the servers' order of priority."""
        tracks = sorted(self.tracks(key).items(), key=lambda pair: pair[0].entry.priority)
        return [raw for server, track in tracks for raw in self._seen(server, key, track)]

    def _seen(self, server: Server, key: str, track: Track) -> list[Raw]:
        veil = self._veils.get(server)
        return track.joined() if veil is None else veil.before.get(key, [])

    # -- what a server was told ---------------------------------------------------------------------------------

    def world(self, server: Server) -> World:
        """How often, and when last, something that its answers depend on was changed under the server's eyes.

        What it said of *any* document before is no evidence for one after: another file may have broken it.
        """
        return self._worlds.get(server, _UNTOUCHED)

    def stir(self, server: Server) -> None:
        """A text or a file that the server may look at has changed."""
        self._worlds[server] = World(self.world(server).count + 1, time.monotonic())

    def words(self, server: Server) -> Words:
        """What the server has said unasked so far, of whatever document."""
        return self._words.setdefault(server, Words())

    def tracks_of(self, server: Server) -> dict[str, Track]:
        """Every document of which the server has said anything."""
        return {key: room.tracks[server] for key, room in self._rooms.items() if server in room.tracks}

    def sent(self, server: Server, key: str, version: int, *, stirs: bool = True) -> None:
        """A version of the document has left for the server; ``stirs`` unless it is the disk's text just opened."""
        track = self.track(server, key)
        track.sent_version, track.sent_time = version, time.monotonic()
        track.pushes_before_sent = track.push_count
        if stirs:
            self.stir(server)
        self._wake(key)

    def saved(self, server: Server, key: str) -> None:
        """The file on disk is a new one, and the server is about to be told so."""
        self.track(server, key).saved_time = time.monotonic()

    # -- what it shows for a moment only ------------------------------------------------------------------------

    @contextmanager
    def veiled(self, server: Server) -> Iterator[None]:
        """While a server is shown what nobody has written, clients go on seeing what it said before.

        Its tracks go on, for whoever wants to know what it says now.
        """
        veil = self._veils.get(server)
        if veil is None:
            known = {key: track.joined() for key, track in self.tracks_of(server).items()}
            veil = self._veils[server] = _Veil(known)
        veil.depth += 1
        try:
            yield
        finally:
            veil.depth -= 1
            if not veil.depth and self._veils.get(server) is veil:
                del self._veils[server]
                veil.lifted.set()
                self._unveil(server, veil)

    def is_veiled(self, server: Server) -> bool:
        """Whether the server looks at something that nobody has written right now."""
        return server in self._veils

    async def unveiled(self, server: Server) -> None:
        """Until it looks at what is really there."""
        while (veil := self._veils.get(server)) is not None:
            await veil.lifted.wait()

    def _unveil(self, server: Server, veil: _Veil) -> None:
        now = {key: track.joined() for key, track in self.tracks_of(server).items()}
        for key in veil.before.keys() | now.keys():
            if _bytes(tuple(veil.before.get(key, ()))) != _bytes(tuple(now.get(key, ()))):
                self._on_change(key)

    def _changed(self, server: Server, key: str) -> None:
        if server not in self._veils:
            self._on_change(key)

    # -- what it said -------------------------------------------------------------------------------------------

    def push(self, server: Server, key: str, version: int | None, items: tuple[Raw, ...]) -> None:
        """``textDocument/publishDiagnostics``."""
        track = self.track(server, key)
        changed = _bytes(track.pushed) != _bytes(items)
        track.pushed, track.push_version = items, version
        track.versioned = track.versioned or version is not None
        track.push_count += 1
        track.push_time = time.monotonic()
        self.words(server).more()
        self._wake(key)
        if changed or track.push_count == 1:
            self._changed(server, key)

    def status(self, server: Server, key: str, *, idle: bool) -> None:
        """The server says that it works on the document, or has done."""
        track = self.track(server, key)
        if idle:
            track.idle_time = time.monotonic()
        else:
            track.busy_time = time.monotonic()
        self._wake(key)

    def pull(
        self,
        server: Server,
        key: str,
        version: int,
        items: tuple[Raw, ...] | None,
        result_id: str | None,
        related: tuple[str, ...] = (),
        world: int = 0,
    ) -> None:
        """The answer to ``textDocument/diagnostic`` for ``version``; ``items=None`` for an unchanged report.

        ``version`` 0: it is what the server said last, and no evidence for any text. ``world`` is what the server's
        was when it was asked.
        """
        track = self.track(server, key)
        if version and version < (track.pull_version or 0):
            # Overtaken by the answer for a later text.
            return
        first = track.pull_version is None
        track.pull_version, track.result_id = version or None, result_id
        track.related, track.pull_world, track.told_version = related, world, version
        changed = items is not None and _bytes(track.pulled) != _bytes(items)
        if items is not None:
            track.pulled = items
        self._wake(key)
        if changed or first:
            self._changed(server, key)

    def related(self, server: Server, key: str, items: tuple[Raw, ...], result_id: str | None) -> None:
        """What a pull of another document says of this one (``relatedDocuments``); no evidence for its text."""
        track = self.track(server, key)
        changed = _bytes(track.pulled) != _bytes(items)
        track.pulled, track.result_id = items, result_id
        if changed:
            self._changed(server, key)

    def refreshed(self, server: Server, key: str) -> None:
        """The server says that what was pulled from it counts no more (``workspace/diagnostic/refresh``)."""
        track = self.track(server, key)
        track.refreshes += 1
        track.pull_version = None
        self.words(server).more()
        self._wake(key)

    def forget_server(self, server: Server) -> None:
        """The server itself is gone for good (``reload``), and what it said with it."""
        for key, room in list(self._rooms.items()):
            track = room.tracks.pop(server, None)
            if track is not None:
                self._wake(key)
                self._tidy(key)
                if track.joined():
                    self._on_change(key)

    def silence(self, server: Server) -> None:
        """Nobody wants to hear the server any more: what it said is gone, what it was sent is still known."""
        for key, room in list(self._rooms.items()):
            track = room.tracks.get(server)
            if track is not None:
                room.tracks[server] = Track(sent_version=track.sent_version, sent_time=track.sent_time)
                self._wake(key)
                if track.joined():
                    self._on_change(key)

    def forget_process(self, server: Server) -> None:
        """The server's process ended. What it said stays shown until its successor speaks, but is evidence no more."""
        for key, room in self._rooms.items():
            track = room.tracks.get(server)
            if track is not None:
                room.tracks[server] = Track(pushed=track.pushed, pulled=track.pulled)
                self._wake(key)

    def closed(self, server: Server, key: str) -> None:
        """The document was closed in the server: nobody asks about it any more, so what was pulled is gone.

        What the server pushed stays until it says otherwise, as those do that speak of whole projects, but it is no
        evidence for a text that is opened later (D3).
        """
        room = self._rooms.get(key)
        track = room.tracks.pop(server, None) if room is not None else None
        if room is None or track is None:
            return
        if track.pushed:
            room.tracks[server] = Track(pushed=track.pushed)
        self._wake(key)
        self._tidy(key)
        if track.pulled:
            self._changed(server, key)

    def never(self, server: Server, key: str) -> None:
        """The server was shown a file that there is not: nothing that it said of it counts."""
        room = self._rooms.get(key)
        if room is not None and room.tracks.pop(server, None) is not None:
            self._wake(key)
            self._tidy(key)

    def wake_server(self, server: Server) -> None:
        """The server's state changed: whoever waits for it looks again."""
        for room in self._rooms.values():
            if server in room.tracks:
                for event in room.waiters:
                    event.set()

    @contextmanager
    def watch(self, key: str) -> Iterator[asyncio.Event]:
        """An event that is set at each change of the document's tracks; the watcher clears it."""
        event = asyncio.Event()
        waiters = self._rooms.setdefault(key, _Room()).waiters
        waiters.add(event)
        try:
            yield event
        finally:
            waiters.discard(event)
            self._tidy(key)

    def _tidy(self, key: str) -> None:
        """Keep nothing of a document about which nobody has said or asks anything."""
        room = self._rooms.get(key)
        if room is not None and not room.tracks and not room.waiters:
            del self._rooms[key]

    def _wake(self, key: str) -> None:
        room = self._rooms.get(key)
        for event in room.waiters if room is not None else ():
            event.set()


def _bytes(items: tuple[Raw, ...]) -> list[bytes]:
    return [bytes(item) for item in items]
