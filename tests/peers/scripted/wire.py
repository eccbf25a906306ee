"""Frames in and out of the scripted server, with what the script spoils on their way out."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LONE_SURROGATE = "\ud83d"


class Gone(Exception):
    """Nobody reads our output any more."""


class Wire:
    """Reads what it is fed; writes to a descriptor, blocking, as simple servers do."""

    def __init__(self, script: dict[str, Any], descriptor: int = 1) -> None:
        self._script = script
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._frames_written = 0

    def feed(self, data: bytes) -> Iterator[Any]:
        """The decoded bodies that are complete now. Raises ``ValueError`` for a stream that is none of ours."""
        self._buffer += data
        while True:
            end = self._buffer.find(b"\r\n\r\n")
            if end < 0:
                return
            length = None
            for line in self._buffer[:end].split(b"\r\n"):
                name, _, value = line.partition(b":")
                if name.strip().lower() == b"content-length":
                    length = int(value)
            if length is None:
                raise ValueError(f"a header without Content-Length: {bytes(self._buffer[:end])!r}")
            start = end + 4
            if len(self._buffer) < start + length:
                return
            body = bytes(self._buffer[start : start + length])
            del self._buffer[: start + length]
            yield json.loads(body)

    def frame(self, message: dict[str, Any]) -> bytes:
        """Header and body; a lone surrogate is written as the escape that JSON allows."""
        text = json.dumps(message, separators=(",", ":"), ensure_ascii=False)
        try:
            body = text.encode()
        except UnicodeEncodeError:
            body = json.dumps(message, separators=(",", ":")).encode()
        header: str = self._script["headerFormat"].format(length=len(body))
        return header.encode() + body

    def send(self, message: dict[str, Any]) -> None:
        self.write_raw(self.frame(message))

    def write_raw(self, data: bytes) -> None:
        """One frame, with the junk that belongs before it. Raises ``Gone``."""
        junk = self._script["junkBetween"] if self._frames_written else self._script["banner"]
        self._frames_written += 1
        self.write_bytes(_text(junk) + data)

    def write_bytes(self, data: bytes) -> None:
        """All of ``data``, in writes of ``chunk`` bytes. Raises ``Gone``."""
        step = self._script["chunk"] or max(1, len(data))
        try:
            for start in range(0, len(data), step):
                piece = memoryview(data)[start : start + step]
                while piece:
                    piece = piece[os.write(self._descriptor, piece) :]
        except OSError as problem:
            raise Gone(str(problem)) from problem


def _text(junk: Any) -> bytes:
    if junk is None:
        return b""
    if isinstance(junk, dict):
        return str(junk["text"]).encode() * int(junk.get("repeat", 1))
    return str(junk).encode()
