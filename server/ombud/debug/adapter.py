"""A running adapter: its process, and the connections to it.

Standard streams first. An adapter that can only be spoken to through a socket dials back to us where it is able to, so
that nothing of it listens; else it listens on a socket file that only this user can reach, and on a port of the
loopback where it knows nothing better (B2).
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ombud.debug.link import Link
from ombud.errors import OmbudError, PeerError
from ombud.guard.redact import clean, redact
from ombud.process.child import Child
from ombud.process.exit import Exit
from ombud.process.guardian import Guardian
from ombud.process.ladder import Grace
from ombud.process.ladder import end as end_child
from ombud.wire.dap import Message

Transport = Literal["stdio", "port", "dial", "socket"]
CONNECT_SECONDS = 20.0
"""How long an adapter may take until it listens, or dials."""
RETRY_SECONDS = 0.05
HOST = "127.0.0.1"
ENDING = Grace(goodbye=0.5, stdin=0.5, term=1.0, kill=5.0)
LATEST_LINES = 12
_QUEUE = 64 * 1024


@dataclass(frozen=True, slots=True)
class Ready:
    """How an adapter is started.

    ``argv`` begins with an absolute path; ``${port}``, ``${host}`` and ``${socket}`` in it are filled in. ``connect``
    is the address of one that runs already; then ``argv`` is empty.
    """

    name: str
    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(repr=False)
    transport: Transport = "stdio"
    connect: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Hearing:
    """What is done with what a connection brings. See `Link`."""

    on_event: Callable[[Link, str, dict[str, Any]], None]
    on_request: Callable[[Link, Message], None]
    on_over: Callable[[Link, OmbudError], None]


class Adapter:
    """``on_words(text)`` gets what the process prints beside the protocol."""

    def __init__(self, ready: Ready, guardian: Guardian, on_words: Callable[[str], None]) -> None:
        self.ready = ready
        self._guardian = guardian
        self._on_words = on_words
        self.child: Child | None = None
        self.links: list[Link] = []
        self._stdio: Link | None = None
        self._early = bytearray()
        self._address: tuple[str, int] | str | None = ready.connect
        self._folder: str | None = None
        self._dialled: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]] | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []
        self.ended: Exit | None = None

    # -- start ----------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the process. Raises `PeerError` (``server_failed``)."""
        if not self.ready.argv:
            return
        values = await self._place()
        argv = [_filled(part, values) for part in self.ready.argv]
        self.child = await Child.start(
            argv,
            cwd=self.ready.cwd,
            env=self.ready.env,
            on_stdout=self._heard,
            on_exit=self._exited,
            guardian=self._guardian,
            linger=None if self.ready.transport != "stdio" else 2.0,
        )

    async def _place(self) -> Mapping[str, str]:
        """What stands for the placeholders: where the adapter is to listen, or to dial."""
        transport = self.ready.transport
        if transport == "socket":
            # mkdtemp makes it for this user alone.
            self._folder = tempfile.mkdtemp(prefix="ombud-debug-")
            self._address = str(Path(self._folder, "s"))
            return {"socket": self._address}
        if transport == "port":
            self._address = (HOST, _free_port())
            return {"host": HOST, "port": str(self._address[1])}
        if transport == "dial":
            self._dialled = asyncio.get_running_loop().create_future()
            self._server = await asyncio.start_server(self._accept, HOST, 0)
            return {"host": HOST, "port": str(self._server.sockets[0].getsockname()[1])}
        return {}

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """The first that dials is the adapter; nobody else is let in."""
        if self._dialled is None or self._dialled.done():
            writer.close()
            return
        self._dialled.set_result((reader, writer))
        if self._server is not None:
            self._server.close()

    def _heard(self, data: bytes) -> None:
        if self.ready.transport != "stdio":
            self._on_words(data.decode("utf-8", "replace"))
        elif self._stdio is not None:
            self._stdio.feed(data)
        else:
            self._early += data

    def _exited(self, end: Exit) -> None:
        self.ended = end
        for link in list(self.links):
            link.end(self.failure(f"{self.ready.name} {end.words}."))
        if self._dialled is not None and not self._dialled.done():
            self._dialled.set_exception(self.failure(f"{self.ready.name} {end.words} before it connected."))

    def failure(self, words: str) -> PeerError:
        """An error with the adapter's last words (B4)."""
        tail = self.child.stderr_tail(LATEST_LINES) if self.child is not None else ""
        said = clean(redact(tail), 800).strip()
        whole = words.strip().rstrip(".") + "."
        if said and said not in whole:
            whole += f" It said: {said.rstrip('.')}."
        return PeerError(whole, kind="server_failed", adapter=self.ready.name)

    # -- connections ----------------------------------------------------------------------------------------------

    async def link(self, hearing: Hearing, address: tuple[str, int] | None = None) -> Link:
        """A connection: the first one, or a further one to an adapter that takes several; to ``address``, if given.

        Raises `PeerError` (``server_failed``, ``timeout``).
        """
        if self.ready.transport == "stdio" and address is None and self.ready.connect is None:
            return self._over_stdio(hearing)
        reader, writer = await self._connected(address)
        self._writers.append(writer)
        link = _made(self.ready.name, writer.write, hearing)
        self.links.append(link)
        task = asyncio.get_running_loop().create_task(self._read(link, reader))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return link

    def _over_stdio(self, hearing: Hearing) -> Link:
        child = self.child
        if self._stdio is not None or child is None:
            raise PeerError(f"{self.ready.name} takes one connection only.", kind="server_failed")
        link = self._stdio = _made(self.ready.name, child.write, hearing)
        self.links.append(link)
        if self.ended is not None:
            link.end(self.failure(f"{self.ready.name} {self.ended.words}."))
        link.feed(bytes(self._early))
        self._early.clear()
        return link

    async def _connected(self, address: tuple[str, int] | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._dialled is not None and address is None:
                    return await self._dialled
                return await self._reach(address or self._address)
        except TimeoutError:
            raise self.failure(f"{self.ready.name} could not be reached within {CONNECT_SECONDS:g} seconds.") from None

    async def _reach(self, address: tuple[str, int] | str | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect, again and again while the process gets ready; one that runs already is tried once."""
        while True:
            if self.ended is not None:
                raise self.failure(f"{self.ready.name} {self.ended.words} before it could be reached.")
            try:
                if isinstance(address, str):
                    return await asyncio.open_unix_connection(address, limit=_QUEUE)
                assert address is not None
                return await asyncio.open_connection(*address, limit=_QUEUE)
            except OSError as error:
                if self.child is None:
                    where = address if isinstance(address, str) else ":".join(map(str, address or ()))
                    raise PeerError(
                        f"Nothing listens on {where}: {error.strerror or error}. Start the program with its debugger "
                        "listening there, then attach.",
                        kind="server_failed",
                    ) from None
                await asyncio.sleep(RETRY_SECONDS)

    async def _read(self, link: Link, reader: asyncio.StreamReader) -> None:
        with suppress(OSError):
            while data := await reader.read(_QUEUE):
                link.feed(data)
        link.end(PeerError(f"{self.ready.name} closed the connection.", kind="server_failed"))

    # -- end ------------------------------------------------------------------------------------------------------

    async def end(self) -> None:
        """Close the connections and end the process with all that it started. Nothing is left of it."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.close()
        if self.child is not None:
            await end_child(self.child, grace=ENDING)
        for link in list(self.links):
            link.end(PeerError(f"{self.ready.name} has been ended.", kind="server_failed"))
        for task in list(self._tasks):
            task.cancel()
        if self._folder is not None:
            await asyncio.to_thread(shutil.rmtree, self._folder, True)


def _made(name: str, write: Callable[[bytes], None], hearing: Hearing) -> Link:
    link: Link
    link = Link(
        name,
        write,
        lambda event, body: hearing.on_event(link, event, body),
        lambda message: hearing.on_request(link, message),
        lambda error: hearing.on_over(link, error),
    )
    return link


def _filled(part: str, values: Mapping[str, str]) -> str:
    for name, value in values.items():
        part = part.replace("${" + name + "}", value)
    return part


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port
