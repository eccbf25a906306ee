"""Files read for work: their bytes, their text and the metadata that a later commit compares with."""

from __future__ import annotations

from dataclasses import dataclass

from ombud.guard.fence import Fence, FileBytes, Inside
from ombud.text.buffer import Buffer, decode


@dataclass(frozen=True, slots=True)
class Captured:
    """One file at one moment. ``stat`` is what `ombud.workspace.commit.Change` takes as ``before``."""

    inside: Inside
    stat: FileBytes
    buffer: Buffer

    @property
    def bytes(self) -> bytes:
        return self.stat.data

    @property
    def text(self) -> str:
        return self.buffer.text


def read(fence: Fence, inside: Inside, limit: int) -> Captured:
    """The file at ``inside``, of at most ``limit`` bytes.

    Raises `Refused` as `Fence.read` does, and ``not_text`` for binary data (see `ombud.text.buffer.decode`).
    """
    stat = fence.read(inside, limit)
    return Captured(inside, stat, decode(stat.data, inside.relative))
