"""The composition root: builds the hub and hands it to a face."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ombud.errors import UserError
from ombud.faces.lsp.connection import Connection, folders_of, options_of

if TYPE_CHECKING:
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud")
HANDSHAKE_SECONDS = 30.0
"""How long a TCP client may take to be admitted."""
FAREWELL_SECONDS = 20.0
"""How long the servers may take to end before the process leaves anyway; the guardian ends what is left."""


class Application:
    """One process: a hub, made when the first client introduces itself, and its connections."""

    def __init__(self) -> None:
        self.introduced = False
        """Whether any client has been answered ``initialize``."""
        self._hub: Hub | None = None
        self._watches: dict[Connection, Any] = {}

    def hub(self) -> Hub:
        if self._hub is None:
            from ombud.operations.hub import Hub

            self._hub = Hub()
        return self._hub

    def welcome(self, connection: Connection, params: Any) -> Session:
        """The session of a client that has just been answered ``initialize``."""
        from ombud.operations.session import Client, Session

        self.introduced = True
        client = Client(
            folders=folders_of(params),
            capabilities=params.capabilities or {},
            options=options_of(params),
            name=params.clientInfo.name if params.clientInfo else "a client",
        )
        self._watch_parent(connection, params.processId)
        return Session(self.hub(), client, connection)

    def _watch_parent(self, connection: Connection, pid: int | None) -> None:
        """The client's pid is the second sign that it is gone; end of its stream is the first (P8)."""
        if pid is None:
            return
        from ombud.process.parent import ParentWatch

        watch = ParentWatch(pid, lambda: connection.end(1))
        watch.start()
        self._watches[connection] = watch

    def left(self, connection: Connection) -> None:
        """A connection is over: its client is watched no more."""
        watch = self._watches.pop(connection, None)
        if watch is not None:
            watch.close()

    async def close(self) -> None:
        for connection in list(self._watches):
            self.left(connection)
        if self._hub is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(FAREWELL_SECONDS):
                    await self._hub.close()


async def serve_stdio() -> int:
    """Serve one client on standard input and output until it leaves; the exit code of the LSP specification."""
    from ombud.faces.lsp.stdio import StdioTransport

    application = Application()
    loop = asyncio.get_running_loop()
    over: asyncio.Future[int] = loop.create_future()

    def ended(code: int) -> None:
        if not over.done():
            over.set_result(code)

    transport = StdioTransport()
    connection = Connection(transport, application.welcome, ended)
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        with suppress(AttributeError, NotImplementedError):
            loop.add_signal_handler(getattr(signal, name), connection.end, 1)
    await transport.open(connection.feed, connection.eof)
    code = await over
    if not application.introduced:
        LOG.error("Standard input ended before any client had introduced itself. An editor or an agent starts this.")
    await application.close()
    await transport.drained()
    return code


async def serve_tcp(address: str) -> int:
    """Serve any number of clients on a TCP address until a signal ends it. Raises `UserError` for a bad address."""
    from ombud.faces.lsp import tcp

    host, port = tcp.parse_address(address)
    application = Application()
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    token = os.environ.get("OMBUD_TOKEN") or secrets.token_urlsafe(32)
    connections: set[Connection] = set()

    def begin(peer: tcp.Peer) -> Connection:
        def admit(params: Any) -> str | None:
            if tcp.admitted(peer, options_of(params), token):
                return None
            return "This hub belongs to another user; pass its token as initializationOptions.ombud.token."

        def ended(_code: int) -> None:
            connections.discard(connection)
            application.left(connection)

        connection = Connection(peer, application.welcome, ended, admit)
        connections.add(connection)
        loop.call_later(HANDSHAKE_SECONDS, connection.expire)
        return connection

    try:
        server = await loop.create_server(lambda: tcp.Peer(begin), host, port)
    except OSError as error:
        raise UserError(f"Ombud cannot listen on {address}: {error.strerror or error}.") from None
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        with suppress(AttributeError, NotImplementedError):
            loop.add_signal_handler(getattr(signal, name), over.set)
    tcp.announce(host, server.sockets[0].getsockname()[1], token)
    await over.wait()
    server.close()
    for connection in list(connections):
        connection.end(0)
    await application.close()
    return 0


def configure_logging(level: str | None) -> None:
    """Log to standard error, secrets redacted (C9). The level is ``OMBUD_LOG``'s, or warnings only."""
    from ombud.guard.redact import RedactingFilter

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RedactingFilter())
    logger = logging.getLogger("ombud")
    logger.addHandler(handler)
    wanted = (level or os.environ.get("OMBUD_LOG") or "WARNING").upper()
    logger.setLevel(wanted if wanted in logging.getLevelNamesMapping() else "WARNING")
    logger.propagate = False
