"""Content-Length framing (LSP 3.17, "Base Protocol"; DAP uses the same), without I/O.

`Framer.feed` takes whatever chunk arrived and returns the bodies that are now whole. How the stream was cut into
chunks never changes what comes out, errors included. The cost is linear in the bytes fed, and what is kept between
two calls is bounded by the limits, never by what a header promises.
"""

from __future__ import annotations

import re
from enum import Enum

from ombud.wire.header import CONTENT_LENGTH, JUNK_KEPT, FramingError, Lenient, Strict
from ombud.wire.limits import DEFAULT, Limits

__all__ = ["Framer", "FramingError", "Junk", "frame"]


CRUMB = 4096
"""Bytes of a piece from which on it is kept without being copied."""
CRUMBS = 65_536
"""Bytes of smaller pieces that are kept as one."""

_USUAL = re.compile(rb"Content-Length: ([0-9]{1,10})\r\n\r\n")


class Junk(Enum):
    """What to do with bytes before a header: a client that sends some is refused, a server's banner is skipped (W5)."""

    REFUSE = "refuse"
    SKIP = "skip"


def frame(body: bytes) -> bytes:
    """One message ready for the wire."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class Framer:
    """A stream of bytes in, whole bodies out.

    Header names in any case, with or without a space after the colon, and bare LF line ends are accepted (W2). Two
    Content-Length lines are refused, also when they agree (W4). With `Junk.SKIP`, lines that are no header are
    skipped, up to ``limits.junk_bytes`` between two frames, and kept in `junk` for the status report (W5).
    """

    def __init__(self, limits: Limits = DEFAULT, junk: Junk = Junk.REFUSE) -> None:
        self._limits = limits
        self._header = Strict(limits) if junk is Junk.REFUSE else Lenient(limits)
        self._line = bytearray()
        self._need: int | None = None
        self._parts: list[bytes | memoryview] = []
        self._crumbs = bytearray()
        self._have = 0
        self._failed: str | None = None

    @property
    def junk(self) -> bytes:
        """The first skipped bytes, at most 4 KiB. A line without an end is among them unless it may become a header."""
        line = self._line[: JUNK_KEPT - len(self._header.junk)] if self._header.skips else b""
        return bytes(self._header.junk) + (b"" if CONTENT_LENGTH.startswith(line[:14].lower()) else line)

    @property
    def at_boundary(self) -> bool:
        """Whether the stream could end here without cutting a message."""
        return self._need is None and not self._line and not self._header.begun

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies completed by ``data``, in order.

        Raises `FramingError`, with the bodies that were whole before the bad header, and again, without them, each
        time it is called after that.
        """
        if self._failed is not None:
            raise FramingError(self._failed)
        out: list[bytes] = []
        at = 0
        try:
            while at < len(data):
                if self._need is not None:
                    at = self._take_body(data, at, out)
                elif not self._line and self._header.fresh and (usual := _USUAL.match(data, at)) is not None:
                    at = self._take_usual(usual, data, at, out)
                else:
                    at = self._take_line(data, at, out)
        except FramingError as error:
            self._failed = error.message
            self._line.clear()
            error.bodies = out
            raise
        return out

    def _take_usual(self, usual: re.Match[bytes], data: bytes, at: int, out: list[bytes]) -> int:
        """Take a header block as nearly all peers write it, in one step; any other goes the long way."""
        length = int(usual[1])
        limits = self._limits
        if usual.end() - at > limits.header_bytes or len(usual[1]) > limits.length_digits or length > limits.body_bytes:
            return self._take_line(data, at, out)
        if length == 0:
            out.append(b"")
        else:
            self._need = length
        return usual.end()

    def _take_line(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Take bytes of a header block up to the end of a line; returns where the next byte is."""
        known = len(self._line)
        room = self._header.room - known
        stop = data.find(b"\n", at, at + room)
        # A byte more than there is room for shows that the line is too long; what follows it is never copied.
        end = stop + 1 if stop >= 0 else min(len(data), at + room + 1)
        self._line += data[at:end]
        if stop < 0:
            self._header.growing(self._line, known)
            return end
        line = bytes(self._line)
        self._line.clear()
        length = self._header.ended(line)
        if length == 0:
            out.append(b"")
        else:
            self._need = length
        return end

    def _take_body(self, data: bytes, at: int, out: list[bytes]) -> int:
        """Take bytes of a body up to its end; returns where the next byte is."""
        assert self._need is not None
        end = at + self._need - self._have
        if end > len(data):
            self._keep(memoryview(data)[at:])
            return len(data)
        if not self._have:
            out.append(data[at:end])
        else:
            out.append(b"".join((*self._parts, self._crumbs, memoryview(data)[at:end])))
            self._parts.clear()
            self._crumbs = bytearray()
            self._have = 0
        self._need = None
        return end

    def _keep(self, piece: memoryview) -> None:
        """Keep a part of a body as it came, and small ones together, since each would weigh more than its bytes."""
        self._have += len(piece)
        if len(piece) < CRUMB:
            self._crumbs += piece
            if len(self._crumbs) < CRUMBS:
                return
            piece = memoryview(b"")
        if self._crumbs:
            self._parts.append(bytes(self._crumbs))
            self._crumbs = bytearray()
        if piece:
            self._parts.append(piece)
