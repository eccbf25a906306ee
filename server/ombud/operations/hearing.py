"""Hearing one server out after files were saved or changed: about those files, then about all others it speaks of.

Waits end on evidence as everywhere (`ombud.diagnostics.fresh`): a server that pulls is asked again about each document
that another one may have broken; one that pushes must have been quiet for the time that its catalogue row names.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec import Raw

from ombud.diagnostics.fresh import FIRST_SETTLE_MS, Verdict, settle
from ombud.diagnostics.report import DOCUMENT
from ombud.operations.known import Difference, Known, Ledger, Sight, differences, read

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.session import Session
    from ombud.workspace.documents import Document

LATE_SECONDS = 120.0
"""How long a server is listened to for one change."""
UNSAVED = "It has unsaved changes; what is new in it is told when it is saved."


@dataclass(slots=True)
class Found:
    """What one server has to say. ``superseded``: the texts were changed before it had spoken of any of them."""

    server: Server
    verdict: Verdict
    differences: list[Difference] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    superseded: bool = False

    @property
    def news(self) -> bool:
        """Whether there is anything to tell."""
        return any(one.told for one in self.differences)


def sighted(session: Session, document: Document) -> bool:
    """Whether an open document is a file of the session's workspace."""
    return document.uri.startswith("file:") and session.fence.contains(document.path)


def pushes(server: Server) -> bool:
    """Whether a server speaks of files unasked."""
    return not server.offers(DOCUMENT) or server.entry.diagnostics.channel == "both"


def reaches(server: Server) -> bool:
    """Whether what it says of a file can depend on others: a linter looks at each file for itself."""
    return server.entry.role == "types"


class Hearing:
    """See the module. ``keys`` are the files that were saved or changed; ``wide``: others were, such as settings.

    ``place`` names a document or file for the session; None for one that is not to be spoken of.
    """

    def __init__(
        self,
        session: Session,
        ledger: Ledger,
        server: Server,
        keys: Iterable[str],
        *,
        wide: bool,
        place: Callable[[str], str | None],
    ) -> None:
        self._session = session
        self._hub = session.hub
        self._ledger = ledger
        self._server = server
        self._keys = frozenset(keys)
        self._wide = wide
        self._place = place
        self._start = time.monotonic()
        self._sights: dict[str, Sight] = {}
        self._found = Found(server, Verdict(server.name, "fresh", 0))
        self._worst: Verdict | None = None

    async def run(self) -> Found:
        """Wait for what the server says, and compare it with what is known. Nothing is learnt by that."""
        await self._members()
        if not self._found.superseded:
            await self._others()
            await self._compare()
        verdict = self._worst or self._found.verdict
        self._found.verdict = Verdict(verdict.server, verdict.freshness, self._elapsed, verdict.reason)
        return self._found

    @property
    def _elapsed(self) -> int:
        return round((time.monotonic() - self._start) * 1000)

    # -- the files that were changed --------------------------------------------------------------------------

    async def _members(self) -> None:
        members = [document for document in self._open() if document.key in self._keys]
        verdicts = await asyncio.gather(*(self._member(document) for document in members))
        for verdict in verdicts:
            if verdict is not None:
                self._note(verdict)
        self._found.superseded = bool(members) and all(verdict is None for verdict in verdicts)
        if not self._found.superseded and None in verdicts:
            reason = f"A text was changed again before {self._server.name} had reported on it."
            self._note(Verdict(self._server.name, "timed_out", self._elapsed, reason))

    async def _member(self, document: Document) -> Verdict | None:
        """Wait for the server's word on what is shown now; None where somebody types on before it has come."""
        text, world = document.shown, self._world()
        if self._typed(document):
            return None
        if self._server.entry.diagnostics.on_save and not self._server.entry.diagnostics.check_progress:
            await self._spoken_since_save(document)
        verdict = await self._settled(document, world)
        while verdict.freshness != "fresh" and (document.shown != text or self._is_veiled()):
            if not self._is_veiled():
                return None
            # A preview shows something else for a moment.
            await self._unveiled()
            if document.shown != text:
                return None
            verdict = await self._settled(document, world)
        if verdict.freshness == "fresh":
            await self._look(document, text)
        return verdict

    async def _settled(self, document: Document, world: int) -> Verdict:
        """As `settle`, for the text and not for its number: the same one may be shown under a new number."""
        text = document.shown
        while True:
            version = document.version
            verdict = await settle(
                self._hub.store,
                self._server,
                document.key,
                document.uri,
                version,
                LATE_SECONDS,
                exact=True,
                world=world,
                needed=False,
            )
            if verdict.freshness == "fresh" or document.version == version or document.shown != text:
                return verdict

    async def _spoken_since_save(self, document: Document) -> None:
        """Until a server that looks at saved files has published since the file was saved."""
        store, server = self._hub.store, self._server
        end = time.monotonic() + LATE_SECONDS
        with store.watch(document.key) as event:
            while server.accepting:
                track = store.track(server, document.key)
                if track.push_count and track.push_time >= track.saved_time:
                    return
                event.clear()
                try:
                    async with asyncio.timeout(end - time.monotonic()):
                        await event.wait()
                except TimeoutError:
                    return

    # -- all others -------------------------------------------------------------------------------------------

    async def _others(self) -> None:
        """What the server says of files that were not touched: another one's change may have broken them."""
        if reaches(self._server) or self._wide:
            others = self._untouched()
            if pushes(self._server):
                await self._quiet()
            world = self._world()
            await asyncio.gather(*(self._other(document, world) for document in others))
        await self._unveiled()
        self._look_at_closed()

    def _untouched(self) -> list[Document]:
        """The other open documents, without those that somebody types in; not too many where each must be asked for."""
        others = []
        for document in self._open():
            if document.key in self._keys:
                continue
            if self._typed(document):
                self._leave_out(document, UNSAVED)
            else:
                others.append(document)
        limit = self._session.configuration.diagnostics.dependents
        if self._server.offers(DOCUMENT):
            for document in others[limit:]:
                self._leave_out(document, f"Over the limit of {limit} files (diagnostics.dependents).")
            others = others[:limit]
        return others

    async def _other(self, document: Document, world: int) -> None:
        text = document.shown
        if self._server.offers(DOCUMENT):
            verdict = await self._settled(document, world)
            if document.shown != text:
                self._leave_out(document, UNSAVED)
                return
            if verdict.freshness != "fresh":
                reason = verdict.reason or f"{self._server.name} has not reported on it."
                self._leave_out(document, reason)
                self._note(Verdict(verdict.server, verdict.freshness, self._elapsed, reason))
                return
        await self._look(document, text)
        if document.key in self._sights:
            self._found.checked.append(self._sights[document.key].path)

    async def _quiet(self) -> None:
        """Until a server that pushes has had its time to speak of other files, and says nothing more."""
        quiet = max(self._server.entry.diagnostics.settle_ms, FIRST_SETTLE_MS) / 1000
        words = self._hub.store.words(self._server)
        while (left := max(words.time, self._start) + quiet - time.monotonic()) > 0:
            words.event.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await words.event.wait()

    def _look_at_closed(self) -> None:
        """What it says by itself of files that nobody has open, and no more of those of which it did."""
        tracks = self._hub.store.tracks_of(self._server)
        for key in {*tracks, *self._ledger.of(self._server)}:
            if self._hub.documents.at(key) is None:
                track = tracks.get(key)
                self._see(key, track.joined() if track is not None else (), None)

    # -- looking ----------------------------------------------------------------------------------------------

    def _open(self) -> list[Document]:
        hub = self._hub
        opened = [one for one in hub.documents.all() if self._server in hub.servers_of(one.uri)]
        return [document for document in opened if sighted(self._session, document)]

    def _typed(self, document: Document) -> bool:
        """Whether what is shown was neither opened so, nor saved, nor found on disk."""
        about = self._ledger.about(document.key)
        return about is not None and about != document.shown

    def _world(self) -> int:
        return self._hub.store.world(self._server).count if reaches(self._server) or self._wide else 0

    async def _look(self, document: Document, text: str) -> None:
        if self._is_veiled():
            await self._unveiled()
            await self._settled(document, 0)
        if document.shown == text:
            self._see(document.key, self._hub.store.track(self._server, document.key).joined(), text)

    def _see(self, key: str, raws: Iterable[Raw], text: str | None) -> None:
        path = self._place(key)
        if path is not None:
            self._sights[key] = Sight(key, path, tuple(raws), text)

    def _is_veiled(self) -> bool:
        return self._hub.store.is_veiled(self._server)

    async def _unveiled(self) -> None:
        await self._hub.store.unveiled(self._server)

    def _leave_out(self, document: Document, reason: str) -> None:
        path = self._place(document.key)
        if path is not None:
            self._found.left_out.append((path, reason))

    def _note(self, verdict: Verdict) -> None:
        if verdict.freshness != "fresh" and self._worst is None:
            self._worst = verdict

    async def _compare(self) -> None:
        pairs = [
            (sight, self._ledger.known(self._server, key, opened=sight.text is not None))
            for key, sight in self._sights.items()
        ]
        self._found.differences = await asyncio.to_thread(differences, self._server, pairs)
        for one in self._found.differences:
            if one.sight.key in self._keys and one.sight.text is not None:
                self._judge(one.sight, one.before)

    def _judge(self, sight: Sight, before: Known | None) -> None:
        """Where it is not known what was wrong before, nothing is called new, and nothing is called clean."""
        name = self._server.name
        if before is None:
            what = f"{name} had not reported on {sight.path} before it was changed"
            reason = f"{what}, so what is new is not known; what it says now counts as known from here on."
        elif before.partial:
            what = f"{name} had only begun to report on {sight.path} when it was changed"
            reason = f"{what}, so only what stands on the changed lines is told."
        else:
            return
        self._note(Verdict(name, "unavailable", self._elapsed, reason))


def closed_now(session: Session, server: Server) -> list[tuple[str, Known]]:
    """What a server says of files that nobody has open."""
    tracks = session.hub.store.tracks_of(server)
    closed = {key: track for key, track in tracks.items() if session.hub.documents.at(key) is None}
    return [(key, Known(read(server, track.joined()))) for key, track in closed.items()]
