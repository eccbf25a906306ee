"""Which files asked for a key: sorted 64-bit numbers ``key << 32 | file``, a tenth of the size of sets."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping

_PARTS = 16
_KEY = 0xFFFFFFFF


class Asked:
    """What the answers of all files depend on. Files that change later are kept beside the sorted numbers."""

    def __init__(self, rows: Iterable[tuple[int, Collection[int]]]) -> None:
        """``rows``: a file and its keys each."""
        parts = [array("Q") for _ in range(_PARTS)]
        for file, keys in rows:
            for key in keys:
                parts[key >> 28].append(key << 32 | file)
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
        """The files that asked for one of ``keys``."""
        found = {file for file, theirs in self._changed.items() if not theirs.isdisjoint(keys)}
        for key in keys:
            part = self._parts[(key & _KEY) >> 28]
            low, high = (key & _KEY) << 32, ((key & _KEY) + 1) << 32
            at = bisect_left(part, low)
            while at < len(part) and part[at] < high:
                file = part[at] & _KEY
                if file not in self._changed:
                    found.add(file)
                at += 1
        return found
