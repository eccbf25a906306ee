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
from typing import Protocol

from ombud.faces.lsp import outbox
from ombud.process.pipes import widen


class Heard(Protocol):
    """Who is told what happens to the streams: a connection."""

    def feed(self, data: bytes) -> None: ...
    def eof(self) -> None: ...
    def pressed(self, slow: bool) -> None: ...


class _Reader(asyncio.Protocol):
    def __init__(self, feed: Callable[[bytes], None], eof: Callable[[], None]) -> None:
        self._feed, self._eof = feed, eof

    def data_received(self, data: bytes) -> None:
        self._feed(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        self._eof()


class _Writer(asyncio.BaseProtocol):
    def __init__(self, heard: Heard) -> None:
        self._heard = heard

    def connection_lost(self, _exc: Exception | None) -> None:
        self._heard.eof()

    def pause_writing(self) -> None:
        self._heard.pressed(True)

    def resume_writing(self) -> None:
        self._heard.pressed(False)


class StdioTransport:
    """A connection's transport (`outbox.Transport`); `open` starts the reading. A client that is gone ends it (P7)."""

    def __init__(self) -> None:
        self._pipe: asyncio.WriteTransport | None = None
        self._input: asyncio.ReadTransport | None = None
        self._may_read = threading.Event()
        """Looked at by the thread that reads what the event loop cannot."""
        self._may_read.set()
        self._output = -1
        self._closed = False

    async def open(self, heard: Heard) -> None:
        """Take over the process's standard streams. What anything prints from now on goes to standard error."""
        loop = asyncio.get_running_loop()
        source = os.dup(0)
        self._output = os.dup(1)
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        widen(source)
        widen(self._output)
        if _evented(self._output):
            sink = os.fdopen(self._output, "wb", buffering=0)
            self._pipe, _ = await loop.connect_write_pipe(lambda: _Writer(heard), sink)
            self._pipe.set_write_buffer_limits(high=outbox.HIGH_WATER, low=outbox.LOW_WATER)
        if _evented(source):
            stream = os.fdopen(source, "rb", buffering=0)
            self._input, _ = await loop.connect_read_pipe(lambda: _Reader(heard.feed, heard.eof), stream)
        else:
            arguments = (source, loop, heard, self._may_read)
            threading.Thread(target=_read, args=arguments, daemon=True, name="stdin").start()

    @property
    def waiting(self) -> int:
        return self._pipe.get_write_buffer_size() if self._pipe is not None else 0

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

    def pause(self) -> None:
        self._may_read.clear()
        if self._input is not None:
            self._input.pause_reading()

    def resume(self) -> None:
        self._may_read.set()
        if self._input is not None and not self._input.is_closing():
            self._input.resume_reading()

    def close(self) -> None:
        self._closed = True
        self._may_read.set()
        if self._pipe is not None:
            self._pipe.close()

    def abort(self) -> None:
        self._closed = True
        if self._pipe is not None:
            self._pipe.abort()

    async def drained(self) -> None:
        """Wait, for a bounded time, until the client has taken what was written."""
        for _ in range(200):
            if self._pipe is None or not self._pipe.get_write_buffer_size():
                return
            await asyncio.sleep(0.01)


def _evented(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def _read(source: int, loop: asyncio.AbstractEventLoop, heard: Heard, may_read: threading.Event) -> None:
    with suppress(RuntimeError, OSError):
        while data := os.read(source, 65536):
            loop.call_soon_threadsafe(heard.feed, data)
            may_read.wait()
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(heard.eof)
