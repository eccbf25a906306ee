"""Which files asked for a key: sorted 64-bit numbers ``key << 32 | file``, a tenth of the size of sets.

Of a key 24 bits are kept. Two that are alike in them lead to a file too many once in a while, whose answer stays.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping

KEY_BYTES = 3
_PARTS = 16
_SHIFT = 8 * KEY_BYTES - 4
"""Of the part that a key belongs to."""
_KEY = (1 << 8 * KEY_BYTES) - 1
_FILE = 0xFFFFFFFF


def shortened(keys: Iterable[int]) -> set[int]:
    """What is kept of keys."""
    return {key & _KEY for key in keys}


def pack_keys(keys: Iterable[int]) -> bytes:
    """Three bytes for each of some shortened keys."""
    data = array("I", sorted(keys)).tobytes()
    return b"".join([data[byte::4] for byte in range(KEY_BYTES)])


def keys_of(data: bytes) -> array[int]:
    keys = array("I")
    size = len(data) // KEY_BYTES
    whole = bytearray(4 * size)
    for byte in range(KEY_BYTES):
        whole[byte::4] = data[byte * size : (byte + 1) * size]
    keys.frombytes(whole)
    return keys


class Asked:
    """What the answers of all files depend on. Files that change later are kept beside the sorted numbers."""

    def __init__(self, rows: Iterable[tuple[int, Collection[int]]]) -> None:
        """``rows``: a file and its shortened keys each."""
        parts = [array("Q") for _ in range(_PARTS)]
        for file, keys in rows:
            for key in keys:
                parts[key >> _SHIFT].append(key << 32 | file)
        # One part after the other, so that only a sixteenth of the numbers are Python objects at a time.
        for at, part in enumerate(parts):
            parts[at] = array("Q", sorted(part))
        self._parts = parts
        self._changed: dict[int, frozenset[int]] = {}

    def change(self, file: int, keys: Collection[int]) -> None:
        """``file`` depends on ``keys`` now, and on nothing else."""
        self._changed[file] = frozenset(keys)

    @property
    def changed(self) -> Mapping[int, frozenset[int]]:
        return self._changed

    def by(self, keys: Collection[int]) -> set[int]:
        """The files that asked for one of some shortened ``keys``."""
        found = {file for file, theirs in self._changed.items() if not theirs.isdisjoint(keys)}
        for key in keys:
            part = self._parts[key >> _SHIFT]
            low, high = key << 32, (key + 1) << 32
            at = bisect_left(part, low)
            while at < len(part) and part[at] < high:
                file = part[at] & _FILE
                if file not in self._changed:
                    found.add(file)
                at += 1
        return found
