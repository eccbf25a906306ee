"""Which matches stand within others, or have others within them: by their places, since nodes nest or are apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from itertools import accumulate

Place = tuple[int, int, str]
"""Start, end and node kind. Of two nodes in one place with one kind none is around the other."""


class Places:
    """The places of one file, asked many times."""

    def __init__(self, places: Iterable[Place]) -> None:
        self._sorted = sorted(set(places))
        self._starts = [start for start, _, _ in self._sorted]
        ends = [end for _, end, _ in self._sorted]
        self._farthest = list(accumulate(ends, max))
        self._nearest = list(accumulate(reversed(ends), min))[::-1]
        self._kinds: dict[tuple[int, int], set[str]] = {}
        for start, end, kind in self._sorted:
            self._kinds.setdefault((start, end), set()).add(kind)

    def has_same(self, place: Place) -> bool:
        """Whether one of them is in the very same place."""
        return place[:2] in self._kinds

    def has_around(self, place: Place) -> bool:
        """Whether one of them is around ``place``."""
        start, end, _ = place
        before, upto = bisect_left(self._starts, start), bisect_right(self._starts, start)
        return (
            (before > 0 and self._farthest[before - 1] >= end)
            or (upto > 0 and self._farthest[upto - 1] > end)
            or self._other_kind(place)
        )

    def has_within(self, place: Place) -> bool:
        """Whether one of them is within ``place``."""
        start, end, _ = place
        at, behind = bisect_left(self._starts, start), bisect_right(self._starts, start)
        return (
            (behind < len(self._nearest) and self._nearest[behind] <= end)
            or (at < len(self._nearest) and self._nearest[at] < end)
            or self._other_kind(place)
        )

    def _other_kind(self, place: Place) -> bool:
        return bool(self._kinds.get(place[:2], set()) - {place[2]})
