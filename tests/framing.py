"""Content-Length framing for the test client, stricter than the specification where a server should be.

Not the product's framer: an oracle brings its own. What does not belong into the stream is skipped and noted, so that
a test sees the frames after it as well as the fault.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d+)", re.IGNORECASE)
_HEADER = re.compile(rb"(?:[A-Za-z-]+[ \t]*:[^\r\n]*\r?\n)+\r?\n")
_CANONICAL = re.compile(rb"Content-Length: \d+\r\n(?:Content-Type: [^\r\n]+\r\n)?\r\n")


class Frames:
    """Bytes in, bodies out; ``faults`` collects what was wrong with the stream, in sentences."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self.faults: list[str] = []

    def feed(self, data: bytes) -> list[bytes]:
        self._buffer += data
        bodies: list[bytes] = []
        while (body := self._next()) is not None:
            bodies.append(body)
        return bodies

    def end(self) -> None:
        """The stream is over: what is left of it is a fault."""
        if self._buffer:
            self.faults.append(
                f"the stream ended inside a frame, {len(self._buffer)} bytes left: {_excerpt(self._buffer)}"
            )
            self._buffer.clear()

    def _next(self) -> bytes | None:
        header = _HEADER.search(self._buffer)
        while header is not None and not _LENGTH.search(header.group()):
            header = _HEADER.search(self._buffer, header.end())
        if header is None:
            return None
        length = _LENGTH.search(header.group())
        assert length is not None  # the loop above went on until there was one
        end = header.end() + int(length.group(1))
        if len(self._buffer) < end:
            return None
        if header.start():
            junk = self._buffer[: header.start()]
            self.faults.append(f"{len(junk)} bytes that belong to no frame: {_excerpt(junk)}")
        if not _CANONICAL.fullmatch(header.group()):
            self.faults.append(f"an unusual header: {_excerpt(header.group())}")
        body = bytes(self._buffer[header.end() : end])
        del self._buffer[:end]
        return body


def frame(message: Any) -> bytes:
    """Header and body of a message, in UTF-8 as editors write it; a lone surrogate stays the escape it must be."""
    text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
    try:
        body = text.encode()
    except UnicodeEncodeError:
        body = json.dumps(message, separators=(",", ":")).encode()
    return frame_body(body)


def frame_body(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def _excerpt(data: bytes | bytearray) -> str:
    return repr(bytes(data[:120]))
