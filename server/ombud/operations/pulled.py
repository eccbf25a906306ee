"""The documents that one client pulls (``textDocument/diagnostic``), and what is therefore not pushed to it.

A document with one server that can pull is a matter between the two: the answer goes back as it came. For any other
the servers' pulls and pushes for the present text are awaited and joined, and the result id is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw, UnsetType

from ombud.diagnostics.report import DOCUMENT, NOTHING, WORKSPACE, digest
from ombud.downstream.link import Outcome, Settle
from ombud.downstream.server import Server
from ombud.errors import UserError
from ombud.guard.uris import same_uri_key
from ombud.operations.asking import Asking
from ombud.operations.polled import Polled
from ombud.operations.pulling import Pulling
from ombud.operations.refresh import Refresh
from ombud.wire.values import load

if TYPE_CHECKING:
    from ombud.operations.session import Session

PULLS = frozenset({DOCUMENT, WORKSPACE})
REFRESH_DELAY = 0.02
"""Seconds in which several reasons become one refresh; less than `pull.PULL_DELAY`, so that the client pulls first."""


class _Named(msgspec.Struct):
    uri: str


class _Asked(msgspec.Struct):
    textDocument: _Named  # noqa: N815  (the protocol's name)
    previousResultId: str | None = None  # noqa: N815


@dataclass(slots=True)
class _Known:
    """What the client has been answered for a document. ``lone`` is the server whose answer went to it as it came."""

    version: int
    items: Sequence[Raw]
    digest: int
    lone: Server | None = None
    mute: set[Server] = field(default_factory=set)
    """Servers that were waited for in vain and have never said anything of the document."""


class Pulled:
    """See the module. One for each session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known: dict[str, _Known] = {}
        self._waits: dict[str, int] = {}
        self._dirty: set[str] = set()
        self._forced = False
        self._refresh = Refresh(session, "workspace/diagnostic/refresh", self._due, REFRESH_DELAY)
        self._polled = Polled(session)

    # -- what the push channel asks ---------------------------------------------------------------------------

    def awaits(self, key: str) -> bool:
        """Whether a pull of the client's is under way, which will ask the document's servers."""
        return bool(self._waits.get(key))

    def rest(self, key: str, items: Sequence[Raw]) -> Sequence[Raw] | None:
        """What of a document's joined ``items`` must reach the client as a push, since its pulls do not bring it.

        All for a document that it does not pull; None while nothing is to be published.
        """
        if self.awaits(key):
            return None
        known = self._known.get(key)
        if known is None:
            return [] if self._mains(key) else items
        document = self._session.hub.documents.at(key)
        current = document is not None and document.version == known.version
        if known.lone is None and (self._refresh.possible or not current):
            return [] if self._refresh.possible else None
        has = {bytes(raw) for raw in known.items}
        if known.lone is not None and (self._refresh.possible or not current):
            # It pulls these by itself.
            has.update(bytes(raw) for raw in self._pulled_from(known.lone, key))
        return [raw for raw in items if bytes(raw) not in has]

    @property
    def takes_related(self) -> bool:
        """Whether the client reads in an answer what it says of other documents."""
        return self._session.can("textDocument.diagnostic.relatedDocumentSupport")

    def _mains(self, key: str) -> list[str]:
        """The documents whose pulls tell the client of this one, too."""
        if not self.takes_related:
            return []
        tracks = self._session.hub.store.tracks
        return [
            main
            for main in {*self._known, *self._waits}
            if any(key == same_uri_key(uri) for track in tracks(main).values() for uri in track.related)
        ]

    def pulls(self, key: str) -> bool:
        """Whether the client has been answered a pull of the document."""
        return key in self._known

    # -- what may have to be pulled again ---------------------------------------------------------------------

    def changed(self, key: str) -> None:
        """What is known of a document has changed."""
        self._dirty.update(main for main in (key, *self._mains(key)) if main in self._known)
        if self._dirty:
            self._refresh.want()

    def server_refreshes(self, server: Server) -> None:
        """``workspace/diagnostic/refresh`` of a server: the clients that pull from it are told the same."""
        attached = self._session.hub.attached
        if self._polled.asks(server) or any(server in attached.get(key, ()) for key in self._known):
            self._forced = True
            self._refresh.want()

    def _due(self) -> bool:
        dirty, self._dirty = self._dirty, set()
        forced, self._forced = self._forced, False
        return forced or any(self._stale(key) for key in dirty)

    def _stale(self, key: str) -> bool:
        """Whether another pull would be answered with something else. One that is under way will be."""
        known, hub = self._known.get(key), self._session.hub
        if known is None or self.awaits(key):
            return False
        if known.lone is None:
            return digest(self._all(key)) != known.digest
        if digest(self._pulled_from(known.lone, key)) != known.digest:
            return True
        others = [server for server in hub.attached.get(key, ()) if server is not known.lone]
        return any(hub.store.track(server, key).joined() for server in others)

    def _pulled_from(self, server: Server, key: str) -> tuple[Raw, ...]:
        track = self._session.hub.store.tracks(key).get(server)
        return () if track is None else track.pulled

    def _all(self, key: str) -> list[Raw]:
        """A document's joined diagnostics, and those of the documents that its pull also speaks of."""
        related = self.related(key)
        return [*self._session.hub.store.joined(key), *(raw for uri in related for raw in related[uri])]

    def related(self, key: str) -> dict[str, list[Raw]]:
        """What the servers' pulls of a document say of others, for a client that takes it and does not pull those."""
        if not self.takes_related:
            return {}
        store = self._session.hub.store
        uris = {uri for track in store.tracks(key).values() for uri in track.related}
        return {uri: store.joined(other) for uri in sorted(uris) if (other := same_uri_key(uri)) not in self._known}

    # -- the end of things ------------------------------------------------------------------------------------

    def closed(self, key: str) -> bool:
        """The client closes a document, and drops what it pulled of it; whether it had pulled it at all."""
        return self._known.pop(key, None) is not None

    def close(self) -> None:
        self._refresh.close()
        self._polled.close()

    # -- answering --------------------------------------------------------------------------------------------

    def request(self, method: str, params: Raw | UnsetType, settle: Settle) -> Asking:
        """A client's pull. ``settle`` is called exactly once, possibly before this returns."""
        if method == WORKSPACE:
            return self._polled.request(params, settle)
        try:
            asked = load(params if isinstance(params, Raw) else b"{}", _Asked)
        except (msgspec.ValidationError, ValueError) as error:
            asking = Asking(settle, lambda _: None)
            asking.finish(UserError(f"The params of {DOCUMENT} have another shape: {error}."))
            return asking
        assert isinstance(params, Raw)
        uri = asked.textDocument.uri
        key = same_uri_key(uri)
        if self._session.hub.notebooks.has(self._session, uri):
            # What is known of a notebook's cells is pushed.
            asking = Asking(settle, lambda _: None)
            asking.finish(NOTHING)
            return asking
        servers = [one for one in self._session.claim(uri) if one.entry.serves("diagnostics")]
        self._waits[key] = self._waits.get(key, 0) + 1
        asking = Asking(settle, partial(self._over, key))
        question = Raw(bytes(params))
        Pulling(self._session, asking, key, uri, question, asked.previousResultId).begin(servers)
        return asking

    def _over(self, key: str, _outcome: Outcome) -> None:
        """A pull was answered: what was held back for it goes its way."""
        self._waits[key] -= 1
        if not self._waits[key]:
            del self._waits[key]
        hub = self._session.hub
        # Nobody else has asked the servers meanwhile: what this pull has left open is asked for now, and told then.
        hub.pull_soon(key)
        if hub.documents.at(key) is not None:
            self._session.showing.changed(key)

    def answered(self, key: str, items: Sequence[Raw], lone: Server | None = None) -> None:
        """The client is about to be answered for a document that it has open."""
        document = self._session.hub.documents.at(key)
        if document is None or self._session not in document.owners:
            return
        former = self._known.get(key)
        known = _Known(document.version, items, 0, lone, former.mute if former is not None else set())
        self._known[key] = known
        known.digest = digest(items) if lone is not None else digest(self._all(key))

    def items(self, key: str) -> Sequence[Raw] | None:
        known = self._known.get(key)
        return None if known is None else known.items

    def mute(self, key: str) -> set[Server]:
        known = self._known.get(key)
        return set() if known is None else known.mute
