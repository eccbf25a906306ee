"""Telling one client that it should pull its diagnostics again (``workspace/diagnostic/refresh``, LSP 3.17)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import UNSET, Raw

if TYPE_CHECKING:
    from ombud.operations.session import Session

DELAY = 0.02
"""Seconds in which several reasons become one request; less than `pull.PULL_DELAY`, so that the client pulls first."""


class Refresh:
    """One request at a time. What comes up while it is open follows when it has been answered.

    ``due()`` is asked at the last moment: the client may have pulled meanwhile.
    """

    def __init__(self, session: Session, due: Callable[[], bool]) -> None:
        self._session = session
        self._due = due
        self._timer: asyncio.TimerHandle | None = None
        self._open = False
        self._wanted = False
        self._closed = False

    @property
    def possible(self) -> bool:
        """Whether the client can be told at all."""
        return self._session.can("workspace.diagnostics.refreshSupport")

    def want(self) -> None:
        """There is a reason."""
        self._wanted = True
        if self._timer is None and not self._open and not self._closed and self.possible:
            self._timer = asyncio.get_running_loop().call_later(DELAY, self._send)

    def _send(self) -> None:
        self._timer, self._wanted = None, False
        if self._due():
            self._open = True
            self._session.ask_client("workspace/diagnostic/refresh", UNSET, self._answered)

    def _answered(self, _result: Raw | None, _error: Raw | None) -> None:
        self._open = False
        if self._wanted:
            self.want()

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
