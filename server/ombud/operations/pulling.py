"""One pull of a client's for one document: whom it is about, what is waited for, and what is answered."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from ombud.diagnostics.fresh import FIRST_SETTLE_MS, Verdict, settle
from ombud.diagnostics.pull import glance, identifier_of, note
from ombud.diagnostics.report import DOCUMENT, NOTHING, UNCHANGED, digest, full, read, unchanged
from ombud.diagnostics.store import Track
from ombud.downstream.forward import PASS, Call, Forward
from ombud.downstream.link import Outcome
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import Cancelled, OmbudError, PeerError
from ombud.operations.asking import Asking
from ombud.wire.values import dump, load, null

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.workspace.documents import Document

LOG = logging.getLogger("ombud.pulling")
_OURS = "ombud/"
"""How the result ids begin that are no server's own."""


class Pulling:
    """See the module. ``uri`` is the client's own spelling, ``question`` its params."""

    def __init__(
        self, session: Session, asking: Asking, key: str, uri: str, question: Raw, previous: str | None
    ) -> None:
        self._session = session
        self._hub = session.hub
        self._asking = asking
        self._key = key
        self._uri = session.spelling(uri)
        self._question = question
        self._previous = previous
        self._joining = False
        self._before: tuple[Track, int, int] | None = None
        """The lone server's track, its version and its refreshes when the question left."""

    def begin(self, servers: Sequence[Server]) -> None:
        """Alone: whatever the server answers, once it is known whether it can be asked at all. Else: joined."""
        if not servers:
            self._asking.finish(NOTHING)
            return
        if len(servers) > 1:
            self._join(servers)
            return
        server = servers[0]
        try:
            server.need()
        except PeerError:
            self._join(servers)
            return
        if server.state is State.READY:
            self._alone(server)
            return
        server.enqueue(lambda: self._alone(server), lambda _: self._join(servers))

    # -- one server that can pull -----------------------------------------------------------------------------

    def _alone(self, server: Server) -> None:
        if self._asking.done:
            return
        if not server.offers(DOCUMENT):
            # It pushes, or has yet to register that it can be asked.
            self._join([server])
            return
        call = Call(DOCUMENT, self._worded(server), lambda one: one.offers(DOCUMENT), chosen=self._chosen)
        if b'Token"' in bytes(self._question):
            call.lend = self._session.lend
        forward = Forward([server], call, partial(self._heard, server), nobody=PASS)
        if not self._joining:
            self._asking.until(forward.cancel)

    def _worded(self, server: Server) -> Raw:
        """The client's params with the document as servers spell it and the server's own identifier and result id."""
        fields = load(self._question, dict[str, Raw])
        fields["textDocument"] = Raw(dump({"uri": self._uri}))
        fields.pop("identifier", None)
        identifier = identifier_of(server)
        if identifier is not None:
            fields["identifier"] = Raw(dump(identifier))
        if self._previous is not None and self._previous.startswith(_OURS):
            del fields["previousResultId"]
        return Raw(dump(fields))

    def _chosen(self, server: Server) -> None:
        """Its turn has come: what it is asked now is about the text that it has now."""
        self._session.chosen(server)
        if self._hub.documents.at(self._key) is not None:
            track = self._hub.store.track(server, self._key)
            self._before = (track, track.sent_version, track.refreshes)

    def _heard(self, server: Server, outcome: Outcome) -> None:
        if self._asking.done:
            return
        if outcome is PASS or (isinstance(outcome, PeerError) and outcome.kind != "timeout"):
            # It cannot be asked after all, or has crashed and comes back: whatever becomes known in time.
            self._join([server])
        elif isinstance(outcome, Raw) and not null(outcome):
            self._asking.finish(self._kept(server, outcome))
        else:
            self._asking.finish(outcome)

    def _kept(self, server: Server, raw: Raw) -> Raw:
        """The answer as it came, once what it says is known here too: for other clients, and for what changes later."""
        pulled, store = self._session.pulled, self._hub.store
        try:
            report = read(raw)
        except (msgspec.ValidationError, ValueError):
            # The client will say what it thinks of it.
            return raw
        if self._before is None:
            return raw
        track, version, refreshes = self._before
        alive = store.tracks(self._key).get(server) is track
        if alive and (report.kind != UNCHANGED or report.resultId == track.result_id):
            note(store, server, self._key, version, refreshes, report)
        items = report.diagnostics
        if items is None:
            items = tuple(pulled.items(self._key) or track.pulled)
        pulled.answered(self._key, items, server)
        if report.relatedDocuments and not pulled.takes_related:
            # They reach this client as pushes.
            fields = load(raw, dict[str, Raw])
            del fields["relatedDocuments"]
            return Raw(dump(fields))
        return raw

    # -- several, or one that pushes --------------------------------------------------------------------------

    def _join(self, servers: Sequence[Server]) -> None:
        if self._asking.done:
            return
        self._joining = True
        task = self._hub.spawn(self._work(servers))
        self._asking.until(task.cancel)

    async def _work(self, servers: Sequence[Server]) -> None:
        """The joined answer, or why there is none: this is a request's boundary."""
        try:
            document = self._hub.documents.at(self._key)
            if document is None:
                self._asking.finish(await self._glanced(servers))
            else:
                await self._settled(document, servers)
        except asyncio.CancelledError:
            self._asking.finish(Cancelled())
            raise
        except OmbudError as error:
            self._asking.finish(error)
        except Exception:
            LOG.exception("a pull of %s could not be answered", self._uri)
            text = "Ombud could not join the diagnostics of this document; its log says why."
            self._asking.finish(OmbudError(text, kind="internal"))

    async def _settled(self, document: Document, servers: Sequence[Server]) -> None:
        store, version = self._hub.store, document.version
        for server in servers:
            self._session.chosen(server)
        waits = [settle(store, server, self._key, document.uri, version, self._patience(server)) for server in servers]
        verdicts = await asyncio.gather(*waits)
        pulled = self._session.pulled
        items, related = store.joined(self._key), pulled.related(self._key)
        result = f"{_OURS}{document.version}/{digest([*items, *(raw for uri in related for raw in related[uri])]):x}"
        pulled.answered(self._key, items)
        self._note_mute(servers, verdicts)
        self._asking.finish(unchanged(result) if self._previous == result else full(result, items, related))

    def _patience(self, server: Server) -> float:
        """Seconds that an answer may wait for a server: what its profile says of its silence, or the configured time.

        What it says later is not lost: the client is told to pull again.
        """
        longest = self._session.configuration.diagnostics.wait_ms / 1000
        if server.state is not State.READY or server.offers("textDocument/diagnostic"):
            return longest
        profile, track = server.entry.diagnostics, self._hub.store.track(server, self._key)
        if profile.on_save and track.push_count and track.sent_time > track.saved_time:
            # It will not look at this text before it is saved.
            return 0.0
        silent = profile.silent_when_clean and not profile.confirm
        if silent or (track.push_count == 0 and server in self._session.pulled.mute(self._key)):
            return min(longest, max(profile.settle_ms, FIRST_SETTLE_MS) / 1000)
        return longest

    def _note_mute(self, servers: Sequence[Server], verdicts: Sequence[Verdict]) -> None:
        """A server that lets a whole wait pass without a word keeps no later pull of the document waiting so long."""
        mute = self._session.pulled.mute(self._key)
        for server, verdict in zip(servers, verdicts, strict=True):
            track = self._hub.store.track(server, self._key)
            if verdict.freshness == "timed_out" and server.state is State.READY and track.push_count == 0:
                mute.add(server)

    async def _glanced(self, servers: Sequence[Server]) -> Raw:
        """A file that nobody has open: what the servers that can pull say of it. What others push, they push."""
        longest = self._session.configuration.diagnostics.wait_ms / 1000
        parts = await asyncio.gather(*(self._glance(server, longest) for server in servers))
        return Raw(dump({"kind": "full", "items": [raw for part in parts for raw in part]}))

    async def _glance(self, server: Server, seconds: float) -> list[Raw]:
        try:
            async with asyncio.timeout(seconds):
                server.need()
                await server.turn()
                return await glance(server, self._uri) if server.offers(DOCUMENT) else []
        except (OmbudError, TimeoutError) as error:
            LOG.debug("%s on %s: %s", server.name, self._uri, error)
            return []
