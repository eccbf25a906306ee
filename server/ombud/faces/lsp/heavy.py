"""The large requests of one client that are open, by their bytes: they are kept until they are answered."""

from __future__ import annotations

from ombud.wire.envelope import Id

LIGHT = 4096
"""Bytes up to which a request is not counted here: of those the number alone is bounded."""
MOST_BYTES = 256 * 1024 * 1024
"""How many bytes of one client's requests may be open at once."""


class Heavy:
    """``add`` and ``drop`` may be called for the same request in either order, and more than once."""

    def __init__(self) -> None:
        self._sizes: dict[Id, int] = {}
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._sizes)

    @property
    def full(self) -> bool:
        return self._bytes >= MOST_BYTES

    def add(self, identity: Id, size: int) -> None:
        self.drop(identity)
        self._sizes[identity] = size
        self._bytes += size

    def drop(self, identity: Id) -> None:
        self._bytes -= self._sizes.pop(identity, 0)
