"""The latest diagnostics of every (server, document), push and pull kept apart and joined for the reader.

Both channels are merged per server: rust-analyzer pushes cargo's errors beside its pull answers (decision 8).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

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


class Store:
    """All tracks, by document key. ``on_change(key)`` is called when what a reader would see has changed."""

    def __init__(self, on_change: Callable[[str], None]) -> None:
        self._rooms: dict[str, _Room] = {}
        self._on_change = on_change

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
        return [raw for _, track in tracks for raw in track.joined()]

    def sent(self, server: Server, key: str, version: int) -> None:
        """A version of the document has left for the server."""
        track = self.track(server, key)
        track.sent_version, track.sent_time = version, time.monotonic()
        track.pushes_before_sent = track.push_count
        self._wake(key)

    def saved(self, server: Server, key: str) -> None:
        """The file on disk is a new one, and the server is about to be told so."""
        self.track(server, key).saved_time = time.monotonic()

    def push(self, server: Server, key: str, version: int | None, items: tuple[Raw, ...]) -> None:
        """``textDocument/publishDiagnostics``."""
        track = self.track(server, key)
        changed = _bytes(track.pushed) != _bytes(items)
        track.pushed, track.push_version = items, version
        track.versioned = track.versioned or version is not None
        track.push_count += 1
        track.push_time = time.monotonic()
        self._wake(key)
        if changed or track.push_count == 1:
            self._on_change(key)

    def pull(
        self,
        server: Server,
        key: str,
        version: int,
        items: tuple[Raw, ...] | None,
        result_id: str | None,
        related: tuple[str, ...] = (),
    ) -> None:
        """The answer to ``textDocument/diagnostic`` for ``version``; ``items=None`` for an unchanged report.

        ``version`` 0: it is what the server said last, and no evidence for any text.
        """
        track = self.track(server, key)
        if version and version < (track.pull_version or 0):
            # Overtaken by the answer for a later text.
            return
        first = track.pull_version is None
        track.pull_version, track.result_id = version or None, result_id
        track.related = related
        changed = items is not None and _bytes(track.pulled) != _bytes(items)
        if items is not None:
            track.pulled = items
        self._wake(key)
        if changed or first:
            self._on_change(key)

    def related(self, server: Server, key: str, items: tuple[Raw, ...], result_id: str | None) -> None:
        """What a pull of another document says of this one (``relatedDocuments``); no evidence for its text."""
        track = self.track(server, key)
        changed = _bytes(track.pulled) != _bytes(items)
        track.pulled, track.result_id = items, result_id
        if changed:
            self._on_change(key)

    def refreshed(self, server: Server, key: str) -> None:
        """The server says that what was pulled from it counts no more (``workspace/diagnostic/refresh``)."""
        track = self.track(server, key)
        track.refreshes += 1
        track.pull_version = None
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
            self._on_change(key)

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
