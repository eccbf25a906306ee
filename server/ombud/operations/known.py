"""What one session has heard of each file from each server, so that nothing is told it twice.

The ledger holds what servers said of a text when the session last heard of it: when the document was opened, and with
each report since. What servers publish while somebody types changes nothing here; a save is compared with the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary, WeakSet

from msgspec import Raw

from ombud.diagnostics.items import Item, decode
from ombud.diagnostics.ledger import Delta, compare
from ombud.downstream.server import Server
from ombud.text.diff import line_map


@dataclass(frozen=True, slots=True)
class Known:
    """What a server said of a file. ``text`` is what it spoke about, None for a file that nobody had open.

    ``partial``: the text was changed when the server had only begun to speak of it, so that there may have been more.
    """

    items: tuple[Item, ...]
    text: str | None = None
    partial: bool = False


NOTHING = Known(())


@dataclass(frozen=True, slots=True)
class Sight:
    """What a server says of the file ``key`` at one moment; ``path`` is how the session names it."""

    key: str
    path: str
    raws: tuple[Raw, ...]
    text: str | None


@dataclass(frozen=True, slots=True)
class Difference:
    """Between ``before`` and ``now``; ``before`` is None where nothing was known, and then there is no ``delta``."""

    sight: Sight
    before: Known | None
    now: Known
    delta: Delta | None

    @property
    def told(self) -> bool:
        """Whether there is anything to tell."""
        return self.delta is not None and bool(self.delta.introduced or self.delta.resolved)


def uri_of(key: str) -> str:
    """A URI of the file whose document key that is; keys have no percent-encoding any more."""
    return key.replace("%", "%25")


def read(server: Server, raws: Iterable[Raw]) -> tuple[Item, ...]:
    """A server's diagnostics as they count here: hints are no news."""
    return tuple(item for item in decode(server.name, raws) if item.severity != "hint")


def differences(server: Server, sights: Iterable[tuple[Sight, Known | None]]) -> list[Difference]:
    """Each sight against what was known. Seconds of work for large texts: to be called in a thread."""
    return [_difference(server, sight, before) for sight, before in sights]


def _difference(server: Server, sight: Sight, before: Known | None) -> Difference:
    now = Known(read(server, sight.raws), sight.text)
    if before is None:
        return Difference(sight, None, now, None)
    if before.text is None or sight.text is None:
        # Nobody knows the other text; where the lines are the same ones, this is right, else the count decides.
        return Difference(sight, before, now, compare(before.items, now.items, lambda line: line, lambda _line: False))
    lines = line_map(before.text, sight.text)
    delta = compare(before.items, now.items, lines.to_new, lines.touched.__contains__)
    if before.partial:
        # Only what stands on a line that was written is sure to be no old mistake that was never told.
        new = [item for item in delta.introduced if item.range.start.line in lines.touched]
        delta = Delta(new, delta.resolved, len(now.items) - len(new))
    return Difference(sight, before, now, delta)


@dataclass(slots=True)
class _Entry:
    """One file. ``about`` is the text that was last opened, saved or found on disk; what differs from it is typed."""

    about: str | None = None
    said: WeakKeyDictionary[Server, Known | None] = field(default_factory=WeakKeyDictionary)


class Ledger:
    """See the module. Keys are those of documents (`ombud.guard.uris.same_uri_key`)."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._surveyed: WeakSet[Server] = WeakSet()

    def about(self, key: str) -> str | None:
        """The text of a file that the session was last told of, or told us of."""
        entry = self._entries.get(key)
        return entry.about if entry is not None else None

    def take_up(self, key: str, text: str) -> None:
        """``text`` is what the file holds for this session from now on."""
        self._entries.setdefault(key, _Entry()).about = text

    def known(self, server: Server, key: str, *, opened: bool) -> Known | None:
        """What the session has heard; None where that is not known.

        A server that was heard out says nothing of a file that nobody has ``opened`` because there is nothing to say.
        """
        entry = self._entries.get(key)
        if entry is not None and server in entry.said:
            return entry.said[server]
        return NOTHING if not opened and server in self._surveyed else None

    def has_baseline(self, server: Server, key: str) -> bool:
        """Whether it is known, in full, what a server said of a file's text."""
        entry = self._entries.get(key)
        known = entry.said.get(server) if entry is not None else None
        return known is not None and known.text is not None and not known.partial

    def knows(self, server: Server) -> bool:
        """Whether the session has heard anything from the server at all."""
        return server in self._surveyed

    def holds(self, key: str) -> bool:
        """Whether the session has heard of anything that is wrong with a file."""
        entry = self._entries.get(key)
        return entry is not None and any(known is not None and known.items for known in entry.said.values())

    def learn(self, server: Server, key: str, known: Known) -> None:
        """The session has heard that."""
        entry = self._entries.setdefault(key, _Entry())
        entry.said[server] = known

    def surveyed(self, server: Server, closed: Iterable[tuple[str, Known]]) -> None:
        """What a server says of ``closed`` files is no news, as far as nothing was known of them."""
        for key, known in closed:
            entry = self._entries.get(key)
            if (entry is None or entry.said.get(server) is None) and (
                server not in self._surveyed or (entry is not None and server in entry.said)
            ):
                self.learn(server, key, known)
        self._surveyed.add(server)

    def of(self, server: Server) -> list[str]:
        """The files of which something was heard from a server."""
        return [key for key, entry in self._entries.items() if server in entry.said]

    def closed(self, key: str) -> None:
        """The document was closed, so a server may say something else of the file, or nothing more.

        What it says next is what is known, also of servers that go on about closed files.
        """
        entry = self._entries.get(key)
        if entry is not None:
            entry.about = None
            for server in list(entry.said):
                entry.said[server] = None

    def forget(self, key: str, server: Server | None = None) -> None:
        """Keep nothing of a file, or only of one server's word on it."""
        entry = self._entries.get(key)
        if entry is not None and server is not None:
            entry.said.pop(server, None)
        if entry is not None and (server is None or not entry.said):
            del self._entries[key]
