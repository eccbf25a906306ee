"""Standard input and output as a connection's transport.

Pipes and sockets are driven by the event loop. A terminal or a regular file is read and written by threads, since
making those non-blocking would change them for every other process that shares them.
"""

from __future__ import annotations

import asyncio
import os
import stat
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any


class _Reader(asyncio.Protocol):
    def __init__(self, feed: Callable[[bytes], None], eof: Callable[[], None]) -> None:
        self._feed, self._eof = feed, eof

    def data_received(self, data: bytes) -> None:
        self._feed(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._eof()


class _Writer(asyncio.BaseProtocol):
    def __init__(self, lost: Callable[[], None]) -> None:
        self._lost = lost

    def connection_lost(self, _exc: Exception | None) -> None:
        self._lost()

    def pause_writing(self) -> None:
        """The client reads slowly; the transport keeps what it has not taken."""

    def resume_writing(self) -> None:
        """The client has caught up."""


class StdioTransport:
    """``write`` and ``close`` for a connection; `open` starts the reading. A client that is gone ends it (P7)."""

    def __init__(self) -> None:
        self._pipe: asyncio.WriteTransport | None = None
        self._output = -1
        self._closed = False

    async def open(self, feed: Callable[[bytes], None], eof: Callable[[], None]) -> None:
        """Take over the process's standard streams. What anything prints from now on goes to standard error."""
        loop = asyncio.get_running_loop()
        source = os.dup(0)
        self._output = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        if _evented(self._output):
            sink = os.fdopen(self._output, "wb", buffering=0)
            transport, _ = await loop.connect_write_pipe(lambda: _Writer(eof), sink)
            self._pipe = transport
        if _evented(source):
            await loop.connect_read_pipe(lambda: _Reader(feed, eof), os.fdopen(source, "rb", buffering=0))
        else:
            threading.Thread(target=_read, args=(source, loop, feed, eof), daemon=True, name="stdin").start()

    def write(self, data: bytes) -> None:
        if self._closed:
            return
        if self._pipe is not None:
            self._pipe.write(data)
            return
        view = memoryview(data)
        with suppress(OSError):
            while view:
                view = view[os.write(self._output, view) :]

    def close(self) -> None:
        self._closed = True
        if self._pipe is not None:
            self._pipe.close()

    async def drained(self) -> None:
        """Wait, for a bounded time, until the client has taken what was written."""
        for _ in range(200):
            if self._pipe is None or not self._pipe.get_write_buffer_size():
                return
            await asyncio.sleep(0.01)


def _evented(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _read(source: int, loop: Any, feed: Callable[[bytes], None], eof: Callable[[], None]) -> None:
    with suppress(RuntimeError, OSError):
        while data := os.read(source, 65536):
            loop.call_soon_threadsafe(feed, data)
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(eof)
