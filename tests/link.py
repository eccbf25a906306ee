"""The bytes' way between the test client and a server: a child process's pipes or a socket.

Both call ``on_data`` in the call that received the bytes and ``on_end`` once, when nothing more can come.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

_STDERR_KEPT = 65_536
# Grandchildren may hold the pipe of a server that has died: then no end of file ever comes.
_AFTER_DEATH_SECONDS = 1.0


class PipeLink(asyncio.SubprocessProtocol):
    """A server as a child in its own session, so that all of its group can be ended."""

    def __init__(self, argv: Sequence[str | os.PathLike[str]], cwd: Path | None, env: Mapping[str, str] | None) -> None:
        self.argv = [os.fspath(word) for word in argv]
        self.stderr = bytearray()
        self.pid = 0
        self._cwd = cwd
        self._env = None if env is None else dict(env)
        self._ended = False
        self._exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None
        self._on_data: Callable[[bytes], None] = _nobody_listens
        self._on_end: Callable[[], None] = _nobody_cares

    def __str__(self) -> str:
        return f"{self.argv} in {self._cwd or 'the current folder'}"

    async def open(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """Starts the server. Raises ``OSError`` when that is impossible."""
        self._on_data, self._on_end = on_data, on_end
        await asyncio.get_running_loop().subprocess_exec(
            lambda: self,
            *self.argv,
            cwd=self._cwd,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=sys.platform != "win32",
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        assert isinstance(data, bytes)
        if fd == 1:
            self._on_data(data)
        else:
            self.stderr += data
            del self.stderr[:-_STDERR_KEPT]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._end()

    def process_exited(self) -> None:
        self._exited.set()
        asyncio.get_running_loop().call_later(_AFTER_DEATH_SECONDS, self._end)

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._on_end()

    @property
    def returncode(self) -> int | None:
        return self._transport.get_returncode() if self._transport else None

    def write(self, data: bytes) -> None:
        """Bytes for a server that is gone are dropped: its end is told by ``on_end`` alone."""
        stdin = self._stdin()
        if stdin is not None and not stdin.is_closing():
            stdin.write(data)

    def pending_bytes(self) -> int:
        stdin = self._stdin()
        return 0 if stdin is None or stdin.is_closing() else stdin.get_write_buffer_size()

    def close_input(self) -> None:
        stdin = self._stdin()
        if stdin is not None:
            stdin.close()

    def _stdin(self) -> asyncio.WriteTransport | None:
        if self._transport is None:
            return None
        return cast("asyncio.WriteTransport | None", self._transport.get_pipe_transport(0))

    async def exited(self, timeout: float) -> bool:
        return self._transport is None or await _happens(self._exited, timeout)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """Signals the whole group while its leader lives, so that its number is surely still its own."""
        if self._transport is None or self.returncode is not None:
            return
        try:
            if sys.platform == "win32":
                os.kill(self.pid, number)
            else:
                os.killpg(self.pid, number)
        except ProcessLookupError:
            return

    async def close(self) -> None:
        self.kill()
        await self.exited(10)
        if self._transport is not None:
            self._transport.close()
            # The pipes' descriptors are closed in callbacks of the loop, which may be closed next.
            await asyncio.sleep(0)
        self._end()


class SocketLink(asyncio.Protocol):
    """A server that listens."""

    def __init__(self, host: str, port: int) -> None:
        self.stderr = bytearray()
        self.pid = 0
        self.returncode: int | None = None
        self._address = (host, port)
        self._ended = asyncio.Event()
        self._transport: asyncio.Transport | None = None
        self._on_data: Callable[[bytes], None] = _nobody_listens
        self._on_end: Callable[[], None] = _nobody_cares

    def __str__(self) -> str:
        return "{}:{}".format(*self._address)

    async def open(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        """Connects. Raises ``OSError`` when nobody listens there."""
        self._on_data, self._on_end = on_data, on_end
        await asyncio.get_running_loop().create_connection(lambda: self, *self._address)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._on_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended.set()
        self._on_end()

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def pending_bytes(self) -> int:
        closed = self._transport is None or self._transport.is_closing()
        return 0 if closed or self._transport is None else self._transport.get_write_buffer_size()

    def close_input(self) -> None:
        """Half-closes: the server reads the end of its input and can still answer."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    async def exited(self, timeout: float) -> bool:
        """The nearest thing to an exit that a socket shows: the server has closed it."""
        return self._transport is None or await _happens(self._ended, timeout)

    def kill(self, number: int = signal.SIGKILL) -> None:
        """The client vanishes: the connection is reset."""
        if self._transport is not None:
            self._transport.abort()

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
        await self.exited(5)


async def _happens(event: asyncio.Event, timeout: float) -> bool:
    try:
        await asyncio.wait_for(event.wait(), timeout)
    except TimeoutError:
        return False
    return True


def _nobody_listens(data: bytes) -> None:
    """Before ``open`` there is nobody to hear of data."""


def _nobody_cares() -> None:
    """Before ``open`` there is nobody to hear of the end."""
