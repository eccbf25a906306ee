"""What waits to be sent to a client that reads slowly, and what is left unsaid meanwhile.

A transport takes everything that is written and keeps what its client has not read. Above `HIGH_WATER` the client is
slow: its own input is left unread, so that it cannot ask for more, log messages and progress reports are dropped, and
of each document's diagnostics only the newest are kept. Below `LOW_WATER` all goes on. Above `MOST_BYTES` the
connection is ended: nobody else's memory pays for a client that never reads.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Raw

from ombud.wire import envelope
from ombud.wire.framing import frame
from ombud.wire.values import load

LOG = logging.getLogger("ombud.lsp")

HIGH_WATER = 8 * 1024 * 1024
LOW_WATER = 1024 * 1024
MOST_BYTES = 256 * 1024 * 1024
DROPPED = frozenset({"window/logMessage", "telemetry/event", "$/logTrace"})
"""Notifications that a slow client does without."""


class Transport(Protocol):
    """Where a connection's bytes go. ``write`` never blocks; who reads is paused by ``pause`` and ``resume``."""

    @property
    def waiting(self) -> int:
        """Bytes that were written and not yet taken by the client."""
        ...

    def write(self, data: bytes) -> None: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def close(self) -> None: ...
    def abort(self) -> None:
        """Close at once; what waits is thrown away."""


class _Kind(msgspec.Struct):
    kind: str = ""


class _Progress(msgspec.Struct):
    value: _Kind


class Outbox:
    """The rules above for one client. ``slow`` is looked at before it is asked for anything, so fast clients pay none.

    `pressed` is told by the transport that its buffer has passed one of the two marks.
    """

    def __init__(self, transport: Transport) -> None:
        self.slow = False
        self._transport = transport
        self._held: dict[Hashable, bytes] = {}
        self._held_bytes = 0

    @property
    def waiting(self) -> int:
        """Bytes that the client has not taken, those that are held back included."""
        return self._transport.waiting + self._held_bytes

    @property
    def full(self) -> bool:
        """Whether the client has to be given up."""
        return self.waiting > MOST_BYTES

    def pressed(self, slow: bool) -> None:
        """The transport's buffer has passed its high mark (True) or its low one (False)."""
        if slow == self.slow:
            return
        self.slow = slow
        if slow:
            self._transport.pause()
            return
        held, self._held, self._held_bytes = self._held, {}, 0
        for key, body in held.items():
            if self.slow:
                # What was held back has filled the buffer again: the rest waits for the next time.
                self._hold(key, body)
            else:
                self._transport.write(frame(body))
        if not self.slow:
            self._transport.resume()

    def give_up(self) -> None:
        """Throw away what waits and close."""
        self.slow = False
        self._held.clear()
        self._held_bytes = 0
        self._transport.abort()

    def keeps(self, method: str, params: Any) -> bool:
        """Whether a notification to a slow client is dropped or held back, and so must not be sent now."""
        if method in DROPPED:
            return True
        if method == "$/progress":
            return _is_report(params)
        key = _coalesced(method, params)
        if key is None:
            return False
        self._hold(key, envelope.notification(method, params))
        return True

    def _hold(self, key: Hashable, body: bytes) -> None:
        former = self._held.pop(key, b"")
        self._held[key] = body
        self._held_bytes += len(body) - len(former)


def _coalesced(method: str, params: Any) -> Hashable | None:
    """What a newer notification of the same kind replaces: the same document's diagnostics, the same server's state."""
    if not isinstance(params, Mapping):
        return None
    if method == "textDocument/publishDiagnostics":
        return method, params["uri"]
    if method == "ombud/statusChanged":
        return method, tuple((row["name"], row["root"]) for row in params["servers"])
    return None


def _is_report(params: Any) -> bool:
    """Whether a ``$/progress`` is a report between begin and end; a partial result is none."""
    try:
        found = load(params, _Progress) if isinstance(params, Raw) else msgspec.convert(params, _Progress)
    except (msgspec.ValidationError, ValueError):
        return False
    return found.value.kind == "report"
