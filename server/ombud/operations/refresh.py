"""Telling one client that it should ask again (``workspace/…/refresh``, LSP 3.17)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import UNSET, Raw

from ombud.operations.asks import REFRESHES

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Refresh:
    """One request of ``method`` at a time. What comes up while it is open follows when it has been answered.

    ``due()`` is asked at the last moment: the client may have asked again meanwhile. ``delay`` are the seconds in which
    several reasons become one request.
    """

    def __init__(
        self, session: Session, method: str, due: Callable[[], bool] = lambda: True, delay: float = 0.0
    ) -> None:
        self._session = session
        self._method = method
        self._due = due
        self._delay = delay
        self._timer: asyncio.TimerHandle | None = None
        self._open = False
        self._wanted = False
        self._closed = False

    @property
    def possible(self) -> bool:
        """Whether the client can be told at all."""
        return self._session.can(REFRESHES[self._method])

    def want(self) -> None:
        """There is a reason."""
        self._wanted = True
        if self._timer is not None or self._open or self._closed or not self.possible:
            return
        if self._delay:
            self._timer = asyncio.get_running_loop().call_later(self._delay, self._send)
        else:
            self._send()

    def _send(self) -> None:
        self._timer, self._wanted = None, False
        if self._due():
            self._open = True
            self._session.ask_client(self._method, UNSET, self._answered)

    def _answered(self, _result: Raw | None, _error: Raw | None) -> None:
        self._open = False
        if self._wanted:
            self.want()

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
