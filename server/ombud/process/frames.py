"""Messages between processes of our own: four bytes of length, then msgpack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import msgspec

_HEAD = 4
LARGEST = 1 << 30
"""Bytes of a message; a larger length is no message of ours."""
_ENCODER = msgspec.msgpack.Encoder()


def pack(message: Any) -> bytes:
    data = _ENCODER.encode(message)
    return len(data).to_bytes(_HEAD, "big") + data


class Frames:
    """Takes bytes as they come and gives the msgpack of messages."""

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The messages that are complete now. Raises ValueError for what is no message."""
        self._data += data
        while len(self._data) >= _HEAD:
            size = _size(self._data[:_HEAD])
            if len(self._data) < _HEAD + size:
                return
            message = bytes(memoryview(self._data)[_HEAD : _HEAD + size])
            del self._data[: _HEAD + size]
            yield message


def messages(stream: IO[bytes]) -> Iterator[bytes]:
    """The messages of a stream up to its end. Blocks; raises ValueError for what is no message."""
    while len(head := stream.read(_HEAD)) == _HEAD:
        data = stream.read(_size(head))
        if len(data) < _size(head):
            return
        yield data


def _size(head: bytes | bytearray) -> int:
    size = int.from_bytes(head, "big")
    if size > LARGEST:
        raise ValueError("This is no message of ours.")
    return size
