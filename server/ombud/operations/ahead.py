"""The code graph built ahead of its first question, so that the first write and the first search find it ready.

Nothing is begun at ``initialize``, nor for a command of the command line, which asks for itself. A session that stays
and has opened or written a file that the graph reads gets its index once it has left everybody alone for a moment, at
low priority: whatever the client asks for next goes first.
"""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ombud.downstream.states import State
from ombud.errors import OmbudError
from ombud.syntax.languages import canonical

if TYPE_CHECKING:
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.ahead")
REST_SECONDS = 5.0
"""How long nobody may have said anything. A user who opens a file reads it, and servers start meanwhile."""
PATIENCE_SECONDS = 60.0
"""How long everybody else is given way to: some clients never rest, and some servers never say that they have done."""


class _Used(NamedTuple):
    """A file that a session has opened or written; ``language`` is the client's word for it."""

    session: Session
    path: Path
    language: str | None


class Ahead:
    """See the module. One for the hub; `close` ends its timer."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._used: list[_Used] = []
        """Files by which an index may be wanted, one for each session, folder and name's ending."""
        self._met: set[tuple[int, Path, str]] = set()
        self._begun: dict[Path, asyncio.Task[None]] = {}
        """Folders whose index was begun. One that fails is tried again when somebody asks, or once all have left it."""
        self._heard = self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def heard(self) -> None:
        """A client has said something."""
        self._heard = time.monotonic()

    def used(self, session: Session, path: Path, language: str | None = None) -> None:
        """A session has opened or written the file at ``path`` (real); cheap, for nothing is looked at yet."""
        mark = session.number, path.parent, path.suffix
        if not session.client.stays or mark in self._met:
            return
        self._met.add(mark)
        self.heard()
        if not self._used:
            self._since = self._heard
        self._used.append(_Used(session, path, language))
        self._look_in(REST_SECONDS)

    def drop(self, session: Session) -> None:
        """A session is gone: nothing is made ahead for it, and nothing of it is kept."""
        self._used = [one for one in self._used if one.session is not session]
        self._met = {one for one in self._met if one[0] != session.number}

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look_in(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        """Begin, unless somebody is at work."""
        self._timer = None
        now = time.monotonic()
        rest = self._heard + REST_SECONDS - now
        if (rest > 0 or self._is_busy()) and now - self._since < PATIENCE_SECONDS:
            self._look_in(rest if rest > 0 else REST_SECONDS)
            return
        used, self._used = self._used, []
        for one in used:
            self._begin(one)

    def _is_busy(self) -> bool:
        """Whether a server starts, or says that it is working: it needs the processors more."""
        return any(one.state is State.STARTING or one.working_on for one in self._hub.supervisor.all())

    def _begin(self, used: _Used) -> None:
        from ombud.graph.extract import LANGUAGES

        session = used.session
        if session not in self._hub.sessions or session.said_no or not session.configuration.index.enabled:
            # T1: who says no has no process at all. A folder that is trusted later is met by the first question.
            return
        folders = [one for one in session.fence.folders if used.path.is_relative_to(one)]
        language = canonical(used.language) if used.language else session.detector.language(used.path)
        if not folders or language not in LANGUAGES:
            return
        folder = max(folders, key=lambda one: len(one.parts))
        begun = self._begun.get(folder)
        if begun is None or (begun.done() and self._hub.graphs.known(folder) is None):
            self._begun[folder] = self._hub.spawn(self._build(session, folder))

    async def _build(self, session: Session, folder: Path) -> None:
        # Loading what reads the store takes a moment, which is nobody's to wait for.
        await asyncio.to_thread(_load)
        try:
            await self._hub.graphs.of(session, folder)[0].build()
        except OmbudError as error:
            # Whoever asks hears of it.
            LOG.info("the code graph of %s was not built ahead: %s", folder, error)


def _load() -> None:
    import ombud.graph.client
    import ombud.graph.store  # noqa: F401
