"""A language server as the one that is asked who uses what, past its queue (`ombud.operations.writing.dependents`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ombud.diagnostics.pull import RETRIES, RETRY_SECONDS
from ombud.errors import CONTENT_MODIFIED, SERVER_CANCELLED, PeerError
from ombud.wire.values import load_any, null

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.session import Session

AT_ONCE = 2
"""Requests at a time: what is on its way when the time is over is work that the server does before it goes on."""
READY_SHARE = 0.5
"""The part of the time that may go by until the server has read the project."""
LONG = 120.0
"""Seconds after which a server that has not answered is taken for wedged: a search through a project may take long,
and it is given up by whoever waits, not by ending the server."""


class Served:
    """See the module. ``note`` is told why something may have been missed; no question is begun after ``last_start``,
    in monotonic seconds, and ``late`` is called instead."""

    def __init__(self, session: Session, server: Server, note: Callable[[str], None], late: Callable[[], None]) -> None:
        self._session = session
        self._server = server
        self._note = note
        self._late = late
        self._room = asyncio.Semaphore(AT_ONCE)
        self.last_start = float("inf")

    def offers(self, method: str) -> bool:
        return self._server.offers(method)

    async def ready(self, key: str, seconds: float) -> None:
        """Wait until the server has read the project, for a part of the time (D10). ``key``: a document it has."""
        with self._server.waiting():
            try:
                async with asyncio.timeout(seconds * READY_SHARE):
                    if self._server.entry.indexed_log:
                        await self._server.indexed.wait()
                    await self._rested(key)
            except TimeoutError:
                self.note_busy()

    async def _rested(self, key: str) -> None:
        with self._session.hub.store.watch(key) as event:
            self._session.hub.store.track(self._server, key)
            while self.busy():
                event.clear()
                await event.wait()

    def busy(self) -> list[str]:
        """What it is working on; its checker does not keep it from answering."""
        checker = self._server.entry.diagnostics.check_progress or "\0"
        running = [(token, one) for token, one in self._server.progress.items() if one.ended is None]
        return [one.title for token, one in running if not str(token).startswith(checker)]

    def note_busy(self) -> None:
        """Note what it is working on, if it is."""
        name = self._server.name
        busy = self.busy()
        if busy:
            self._note(f"{name} was still busy ({busy[0]}) and may not know every use yet.")
        elif self._server.entry.indexed_log and not self._server.indexed.is_set():
            self._note(f"{name} was still looking for the project's files and may not know every use yet.")

    async def ask(self, method: str, params: Any, *, sure: bool = False) -> Any:
        """The decoded answer. None for a server's own error, which says that there is nothing at that place, or where
        something is for ``sure``, that it has failed.

        A request is never cancelled, its answer is dropped: of one that is cancelled before its turn basedpyright is
        left unable to look for references ever again.
        """
        if not self._server.offers(method):
            return None
        async with self._room:
            if time.monotonic() > self.last_start:
                self._late()
                return None
            try:
                raw = await self._answer(method, params)
            except PeerError as error:
                if "serverCode" not in error.data:
                    raise
                if sure:
                    self._note(error.message)
                return None
        return None if null(raw) else load_any(raw)

    async def _answer(self, method: str, params: Any) -> Any:
        """As `Server.ask`; one that is still taking in what it was sent is asked again a few times (LSP 3.17)."""
        for attempt in range(RETRIES):
            asked = self._session.hub.spawn(self._server.ask(method, params, timeout=LONG, ordered=False))
            asked.add_done_callback(overheard)
            try:
                return await asyncio.shield(asked)
            except PeerError as error:
                again = error.data.get("serverCode") in (SERVER_CANCELLED, CONTENT_MODIFIED)
                if not again or attempt == RETRIES - 1:
                    raise
                await asyncio.sleep(RETRY_SECONDS * (attempt + 1))
        raise AssertionError("the last attempt returns or raises")


def overheard(asked: asyncio.Future[Any]) -> None:
    """Nobody may be waiting any more, which is no fault to log."""
    if not asked.cancelled():
        asked.exception()
