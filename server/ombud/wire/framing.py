"""Content-Length framing (LSP 3.17, "Base Protocol"; DAP uses the same), without I/O.

`Framer.feed` takes whatever chunk arrived and returns the bodies that are now whole. How the stream was cut into
chunks never changes what comes out. The cost is linear in the bytes fed.
"""

from __future__ import annotations

from enum import Enum

from ombud.wire.limits import DEFAULT, Limits


class FramingError(Exception):
    """The stream cannot be followed any further: a malformed, oversized or contradictory header.

    ``message`` is a sentence for the peer's error reply. The framer that raised it accepts no more bytes.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class Junk(Enum):
    """What to do with bytes before a header: a client that sends some is refused, a server's banner is skipped (W5)."""

    REFUSE = "refuse"
    SKIP = "skip"


def frame(body: bytes) -> bytes:
    """One message ready for the wire."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


_TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_NAME = b"content-length"


class Framer:
    """A stream of bytes in, whole bodies out.

    Header names in any case, with or without a space after the colon, and bare LF line ends are accepted (W2). Two
    Content-Length lines are refused, also when they agree (W4). With `Junk.SKIP`, lines that are no header are
    skipped, up to ``limits.junk_bytes`` between two frames, and kept in `junk` for the status report (W5).
    """

    def __init__(self, limits: Limits = DEFAULT, junk: Junk = Junk.REFUSE) -> None:
        self._limits = limits
        self._policy = junk
        self._header = bytearray()
        self._scanned = 0
        self._need: int | None = None
        self._chunks: list[bytes] = []
        self._have = 0
        self._failed: FramingError | None = None
        self._skipped = 0
        self.junk = bytearray()
        """The first skipped bytes, at most 4 KiB."""

    @property
    def at_boundary(self) -> bool:
        """Whether the stream could end here without cutting a message."""
        return self._need is None and not self._header

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies completed by ``data``, in order.

        Raises `FramingError`; bodies that were whole before the bad header are on its ``bodies`` attribute, so that
        what was sent rightly is still answered.
        """
        if self._failed is not None:
            raise self._failed
        out: list[bytes] = []
        view = data
        try:
            while view:
                view = self._body(view, out) if self._need is not None else self._head(view, out)
        except FramingError as error:
            self._failed = error
            error.bodies = out  # type: ignore[attr-defined]
            raise
        return out

    def _body(self, data: bytes, out: list[bytes]) -> bytes:
        assert self._need is not None
        missing = self._need - self._have
        piece = data[:missing] if len(data) > missing else data
        self._chunks.append(piece)
        self._have += len(piece)
        if self._have == self._need:
            out.append(self._chunks[0] if len(self._chunks) == 1 else b"".join(self._chunks))
            self._chunks, self._have, self._need = [], 0, None
        return data[missing:]

    def _head(self, data: bytes, out: list[bytes]) -> bytes:
        """Take bytes up to the end of a header block; what is behind it is returned for the body."""
        budget = self._limits.header_bytes + 4 - len(self._header)
        piece, rest = data[:budget], data[budget:]
        self._header += piece
        end = self._find_end()
        if end is None:
            if len(self._header) > self._limits.header_bytes:
                raise FramingError(
                    f"The header block is longer than {self._limits.header_bytes} bytes; the connection is closed."
                )
            return rest
        block = bytes(self._header[:end])
        rest = bytes(self._header[end:]) + rest
        self._header.clear()
        self._scanned = 0
        self._begin(block, out)
        return rest

    def _find_end(self) -> int | None:
        """The offset behind the blank line that ends the block, reading each line once."""
        header = self._header
        while True:
            stop = header.find(b"\n", self._scanned)
            if stop < 0:
                self._check_partial_line()
                return None
            line = bytes(header[self._scanned : stop]).rstrip(b"\r")
            if line:
                if self._policy is Junk.SKIP and self._is_junk(line):
                    self._skip(self._scanned, stop + 1)
                    continue
                self._check_line(line)
                self._scanned = stop + 1
            elif self._scanned:
                return stop + 1
            elif self._policy is Junk.SKIP:
                self._skip(0, stop + 1)
            else:
                raise FramingError(
                    "A message must begin with a Content-Length header, not with a blank line; "
                    "the connection is closed."
                )

    def _check_partial_line(self) -> None:
        """Refuse what can no longer become a header, so that a peer without line ends is told at once, not never."""
        start = self._header[self._scanned : self._scanned + 256]
        if self._policy is Junk.SKIP:
            if len(self._header) - self._scanned > self._limits.header_bytes:
                self._skip(self._scanned, len(self._header))
            return
        colon = start.find(b":")
        name = start[:colon] if colon >= 0 else start
        if any(byte not in _TOKEN for byte in name.rstrip(b"\r \t")) or (colon < 0 and len(start) == 256):
            raise FramingError(_malformed(bytes(start)))
        if colon >= 0 and bytes(name).strip().lower() == _NAME:
            self._digits(bytes(start[colon + 1 :]).strip(), partial=True)

    def _is_junk(self, line: bytes) -> bool:
        """Whether a server's line before a frame is chatter; inside a block only a real header name counts."""
        name = line.partition(b":")[0].strip().lower()
        return b":" not in line or not name.startswith(b"content-")

    def _skip(self, start: int, stop: int) -> None:
        self._skipped += stop - start
        room = 4096 - len(self.junk)
        if room > 0:
            self.junk += self._header[start:stop][:room]
        del self._header[start:stop]
        if self._skipped > self._limits.junk_bytes:
            raise FramingError(
                f"More than {self._limits.junk_bytes} bytes on standard output are no language-server messages."
            )

    def _check_line(self, line: bytes) -> None:
        name, colon, _ = line.partition(b":")
        name = name.rstrip(b" \t")
        if not colon or not name or any(byte not in _TOKEN for byte in name):
            raise FramingError(_malformed(line))

    def _begin(self, block: bytes, out: list[bytes]) -> None:
        length: int | None = None
        for raw in block.split(b"\n"):
            name, _, value = raw.strip().partition(b":")
            if name.strip().lower() == _NAME:
                if length is not None:
                    raise FramingError("A header block has two Content-Length lines; the connection is closed.")
                length = self._digits(value.strip(), partial=False)
        if length is None:
            raise FramingError("A header block has no Content-Length; the connection is closed.")
        if length > self._limits.body_bytes:
            raise FramingError(
                f"A message of {length} bytes is larger than the {self._limits.body_bytes} bytes allowed; "
                "the connection is closed."
            )
        self._skipped = 0
        if length == 0:
            out.append(b"")
        else:
            self._need = length

    def _digits(self, value: bytes, *, partial: bool) -> int:
        if len(value) > self._limits.length_digits:
            raise FramingError(
                f"A Content-Length has more than {self._limits.length_digits} digits; the connection is closed."
            )
        if not value.isdigit() and not (partial and not value):
            raise FramingError(_malformed(b"Content-Length: " + value))
        return int(value or b"0")


def _malformed(line: bytes) -> str:
    shown = line[:40].decode("ascii", "backslashreplace")
    return f"Expected a header such as 'Content-Length: 42' but received {shown!r}; the connection is closed."
