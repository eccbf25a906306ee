"""One accepted socket, of either family, as a connection's transport."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ombud.faces.lsp import outbox

if TYPE_CHECKING:
    from ombud.faces.lsp.connection import Connection

FLUSH_SECONDS = 10.0
"""How long a client may take to read its last bytes after the connection was closed."""


class Peer(asyncio.Protocol):
    """``begin(peer)`` gives the connection that is fed its bytes; ``prepare(transport)`` says whether it is this user.

    ``prepare`` also sets what its family of sockets needs.
    """

    def __init__(self, begin: Callable[[Peer], Connection], prepare: Callable[[asyncio.Transport], bool]) -> None:
        self._begin = begin
        self._prepare = prepare
        self._transport: asyncio.Transport | None = None
        self._connection: Connection | None = None
        self.trusted_user = False
        """Whether the system says that the peer is this very user."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=outbox.HIGH_WATER, low=outbox.LOW_WATER)
        self.trusted_user = self._prepare(transport)
        self._connection = self._begin(self)

    def data_received(self, data: bytes) -> None:
        if self._connection is not None:
            self._connection.feed(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        if self._connection is not None:
            self._connection.eof()

    def pause_writing(self) -> None:
        if self._connection is not None:
            self._connection.pressed(True)

    def resume_writing(self) -> None:
        if self._connection is not None:
            self._connection.pressed(False)

    @property
    def waiting(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is None:
            return
        self._transport.close()
        if self.waiting:
            asyncio.get_running_loop().call_later(FLUSH_SECONDS, self._transport.abort)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def admitted(peer: Peer, options: Any, token: str) -> bool:
    """Whether a client may use this hub: the same user, or one that knows the token."""
    if peer.trusted_user:
        return True
    given = options.get("token") if isinstance(options, dict) else None
    return isinstance(given, str) and hmac.compare_digest(given.encode(), token.encode())
