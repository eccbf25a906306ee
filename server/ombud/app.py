"""The composition root: builds the hub and hands it to a face."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from ombud.errors import Refused, UserError
from ombud.faces.lsp.connection import Connection, Initialize, folders_of, options_of

if TYPE_CHECKING:
    from ombud.faces.lsp.address import Tcp, Unix
    from ombud.faces.lsp.peer import Peer
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session
    from ombud.process.parent import ParentWatch

LOG = logging.getLogger("ombud")
HANDSHAKE_SECONDS = 30.0
"""How long a client of a hub that listens may take to be admitted."""
MOST_CLIENTS = 128
"""How many clients a hub that listens takes at once; the next one is told so."""
MOST_WAITING = 32
"""How many more may be connected and not yet introduced, before they are closed without a word."""
FAREWELL_SECONDS = 20.0
"""How long the servers may take to end before the process leaves anyway; the guardian ends what is left."""


class Application:
    """One process: a hub, made when the first client introduces itself, and its connections."""

    def __init__(self) -> None:
        self.introduced = False
        """Whether any client has been answered ``initialize``."""
        self._hub: Hub | None = None
        self._watches: dict[Connection, ParentWatch] = {}

    def hub(self) -> Hub:
        """The hub of the process, made at the first need."""
        if self._hub is None:
            from ombud.operations.hub import Hub

            self._hub = Hub()
        return self._hub

    def welcome(self, connection: Connection, params: Initialize) -> Session:
        """The session of a client that has just been answered ``initialize``."""
        from ombud.operations.session import Client, Session

        self.introduced = True
        client = Client(
            folders=folders_of(params),
            capabilities=params.capabilities or {},
            options=options_of(params),
            name=params.clientInfo.name if params.clientInfo else "a client",
            locale=params.locale or "en",
            trace=params.trace or "off",
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
        """End what runs, within `FAREWELL_SECONDS`."""
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
    await transport.open(connection)
    code = await over
    if not application.introduced:
        LOG.error("Standard input ended before any client had introduced itself. An editor or an agent starts this.")
    await application.close()
    await transport.drained()
    return code


class Gathering:
    """The connections of a hub that listens. `over` is set when it has to end: by a signal, or left alone for long.

    ``linger``: the seconds that it stays without any client; None is for ever.
    """

    def __init__(self, application: Application, token: str, linger: float | None) -> None:
        self.over = asyncio.Event()
        self._application = application
        self._token = token
        self._linger = linger
        self._connections: set[Connection] = set()
        self._alone: asyncio.TimerHandle | None = None
        self._wait_alone()

    def begin(self, peer: Peer) -> Connection:
        """A socket was accepted."""

        def ended(_code: int) -> None:
            # Its time to introduce itself would hold on to the whole session until it is over.
            expiry.cancel()
            self._connections.discard(connection)
            self._application.left(connection)
            self._wait_alone()

        full = len(self._connections) >= MOST_CLIENTS
        connection = Connection(
            peer, self._application.welcome, ended, lambda params: self._refusal(peer, params, full=full)
        )
        self._connections.add(connection)
        if self._alone is not None:
            self._alone.cancel()
            self._alone = None
        loop = asyncio.get_running_loop()
        expiry = loop.call_later(HANDSHAKE_SECONDS, connection.expire)
        if len(self._connections) > MOST_CLIENTS + MOST_WAITING:
            # Not even a refusal is owed to so many at once.
            loop.call_soon(connection.end, 1)
        return connection

    def _refusal(self, peer: Peer, params: Initialize, *, full: bool) -> Refused | None:
        from ombud.faces.lsp.peer import admitted

        if not admitted(peer, options_of(params), self._token):
            text = "This hub belongs to another user; pass its token as initializationOptions.ombud.token."
            return Refused(text, kind="permission_denied")
        if full:
            text = f"This hub has {MOST_CLIENTS} clients and takes no more; end one of them, or start another hub."
            return Refused(text, kind="overloaded")
        return None

    def _wait_alone(self) -> None:
        if self._linger is not None and not self._connections and not self.over.is_set():
            self._alone = asyncio.get_running_loop().call_later(self._linger, self.over.set)

    def end(self) -> None:
        """Close every connection."""
        if self._alone is not None:
            self._alone.cancel()
        for connection in list(self._connections):
            connection.end(0)


async def serve_listening(address: str, linger: float | None = None) -> int:
    """Serve any number of clients on a TCP address or a Unix socket until a signal, or having no client, ends it.

    Raises `UserError` for an address that is none or cannot be had, `Refused` where a hub lives there already.
    """
    from ombud.faces.lsp.address import Unix, parse

    place = parse(address)
    application = Application()
    token = os.environ.get("OMBUD_TOKEN") or secrets.token_urlsafe(32)
    gathering = Gathering(application, token, linger)
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        with suppress(AttributeError, NotImplementedError):
            loop.add_signal_handler(getattr(signal, name), gathering.over.set)
    opened = _listening_unix(place, gathering) if isinstance(place, Unix) else _listening_tcp(place, gathering, token)
    async with opened:
        await gathering.over.wait()
    gathering.end()
    await application.close()
    return 0


@asynccontextmanager
async def _listening_tcp(place: Tcp, gathering: Gathering, token: str) -> AsyncIterator[None]:
    from ombud.faces.lsp import tcp
    from ombud.faces.lsp.address import Tcp
    from ombud.faces.lsp.peer import Peer

    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(lambda: Peer(gathering.begin, tcp.prepare), place.host, place.port)
    except OSError as error:
        raise UserError(f"Ombud cannot listen on {place}: {error.strerror or error}.") from None
    _say(f"ombud listens on {Tcp(place.host, server.sockets[0].getsockname()[1])}")
    _say(f"Whoever is not you needs initializationOptions.ombud.token = {token}")
    try:
        yield
    finally:
        server.close()


@asynccontextmanager
async def _listening_unix(place: Unix, gathering: Gathering) -> AsyncIterator[None]:
    from ombud.faces.lsp import unix
    from ombud.faces.lsp.peer import Peer

    door = unix.Door(place.path)
    try:
        server = await asyncio.get_running_loop().create_unix_server(
            lambda: Peer(gathering.begin, unix.prepare), sock=door.socket, backlog=unix.BACKLOG
        )
        _say(f"ombud listens on {place}")
        try:
            yield
        finally:
            # The file goes first, so that nobody finds a door behind which nobody is.
            door.close()
            server.close()
    finally:
        door.close()


def _say(text: str) -> None:
    """To the person who started it, on standard error."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201  (the user's answer)


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
