"""Content-Length framing (LSP 3.17, "Base Protocol"; DAP uses the same), without I/O.

`Framer.feed` takes whatever chunk arrived and returns the bodies that are now whole. How the stream was cut into
chunks never changes what comes out, errors included. The cost is linear in the bytes fed, and what is kept between
two calls is bounded by the limits, never by what a header promises.
"""

from __future__ import annotations

from enum import Enum

from ombud.wire.header import CONTENT_LENGTH, JUNK_KEPT, FramingError, Lenient, Strict
from ombud.wire.limits import DEFAULT, Limits

__all__ = ["Framer", "FramingError", "Junk", "frame"]


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
        self._header = Strict(limits) if junk is Junk.REFUSE else Lenient(limits)
        self._line = bytearray()
        self._need: int | None = None
        self._body = bytearray()
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
                at = self._take_line(data, at, out) if self._need is None else self._take_body(data, at, out)
        except FramingError as error:
            self._failed = error.message
            self._line.clear()
            error.bodies = out
            raise
        return out

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
        end = at + self._need - len(self._body)
        if not self._body and end <= len(data):
            out.append(data[at:end])
        else:
            self._body += data[at:end]
            if len(self._body) < self._need:
                return len(data)
            out.append(bytes(self._body))
            self._body = bytearray()
        self._need = None
        return end
