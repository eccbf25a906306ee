"""Work of our own that a client shows: ``$/progress`` under its token, or under one that it agreed to (LSP 3.17)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ombud.operations.tokens import CARRIED, Token

if TYPE_CHECKING:
    from ombud.operations.session import Session

EVERY = 0.1
"""Seconds between two reports."""


class Work:
    """``begin``, ``report`` and ``end`` for a client that wants to see them; nothing at all for one that does not.

    ``stop`` is called when the client cancels the work.
    """

    def __init__(self, session: Session, title: str, stop: Callable[[], object]) -> None:
        self._session = session
        self._title = title
        self._stop = stop
        self._token: Token | None = CARRIED.get()
        self._carried = self._token is not None
        self._asked = self._shown = self._ended = False
        self._last: dict[str, Any] = {}
        self._at = 0.0
        self._disown: Callable[[], None] = lambda: None

    def begin(self) -> None:
        """Show it. A client without a token is asked for a place first, if it has any."""
        if self._asked or self._ended:
            return
        self._asked = True
        tokens = self._session.hub.asks.tokens
        if self._carried:
            self._show()
        elif self._session.can("window.workDoneProgress"):
            self._token = tokens.name()
            self._session.ask_client("window/workDoneProgress/create", {"token": self._token}, self._answered)

    def _answered(self, _result: Any, error: Any) -> None:
        if error is None and not self._ended:
            self._show()

    def _show(self) -> None:
        assert self._token is not None
        self._shown = True
        self._disown = self._session.hub.asks.tokens.own(self._session, self._token, self._stop)
        self._tell({"kind": "begin", "title": self._title, "cancellable": True, **self._last})

    def report(self, done: int, total: int, phase: str = "") -> None:
        """``done`` of ``total`` files; begins what has not begun."""
        self._last = {"message": _message(done, total, phase)}
        if total > 0:
            self._last["percentage"] = min(100, done * 100 // total)
        self.begin()
        now = time.monotonic()
        if self._shown and (now - self._at >= EVERY or done >= total):
            self._at = now
            self._tell({"kind": "report", **self._last})

    def end(self, message: str = "") -> None:
        """Idempotent."""
        if self._shown and not self._ended:
            self._tell({"kind": "end", **({"message": message} if message else {})})
        self._ended = True
        self._disown()

    def _tell(self, value: dict[str, Any]) -> None:
        self._session.tell("$/progress", {"token": self._token, "value": value})


def _message(done: int, total: int, phase: str) -> str:
    counted = f"{done:,} of {total:,} files" if total else ""
    return ", ".join(part for part in (counted, phase) if part) or "looking for files"
