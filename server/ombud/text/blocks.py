"""What two sequences of lines have in common, in the time that an editor has: exact where small, bounded where large.

Equal starts and ends are cut off first. Between them, lines that occur once on both sides are the anchors of what
moved nowhere (as in Bram Cohen's patience diff); only what lies between two anchors is compared by `difflib`, and
where even that is too much work it counts as replaced. The answer is always a true common subsequence; only its
length may suffer.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

Block = tuple[int, int, int]
"""``(i, j, n)``: the ``n`` lines from ``i`` of the old side are those from ``j`` of the new side."""

_WORK = 400_000  # comparisons of equal lines that difflib may have to make in one call of `blocks`

_Part = tuple[int, int, int, int]


def blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """The common blocks of ``old`` and ``new``, ascending on both sides, never touching on both, none of them empty."""
    found: list[Block] = []
    left = _WORK
    todo: list[_Part] = [(0, len(old), 0, len(new))]
    while todo:
        part = _trimmed(old, new, todo.pop(), found)
        if part is None:
            continue
        anchors = _anchors(old, new, part)
        if anchors:
            todo += _between(part, anchors)
            found += [(i, j, 1) for i, j in anchors]
            continue
        cost = _cost(old, new, part)
        if cost <= left:
            left -= cost
            found += _compared(old, new, part)
    return _joined(found)


def _trimmed(old: Sequence[str], new: Sequence[str], part: _Part, found: list[Block]) -> _Part | None:
    """``part`` without its equal start and end, which go to ``found``; None where one side has nothing left."""
    a, b, c, d = part
    head = 0
    limit = min(b - a, d - c)
    while head < limit and old[a + head] == new[c + head]:
        head += 1
    tail = 0
    while tail < limit - head and old[b - 1 - tail] == new[d - 1 - tail]:
        tail += 1
    if head:
        found.append((a, c, head))
    if tail:
        found.append((b - tail, d - tail, tail))
    a, b, c, d = a + head, b - tail, c + head, d - tail
    return (a, b, c, d) if a < b and c < d else None


def _anchors(old: Sequence[str], new: Sequence[str], part: _Part) -> list[tuple[int, int]]:
    """The longest ascending series of lines that occur exactly once on each side of ``part``."""
    a, b, c, d = part
    once_old, once_new = Counter(old[a:b]), Counter(new[c:d])
    where = {new[j]: j for j in range(c, d) if once_new[new[j]] == 1}
    pairs = [(i, where[old[i]]) for i in range(a, b) if once_old[old[i]] == 1 and old[i] in where]
    # Longest increasing subsequence by patience sorting: tops[k] ends the series of length k + 1.
    tops: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, (_, j) in enumerate(pairs):
        k = bisect_left(tops, j)
        before.append(at[k - 1] if k else -1)
        if k == len(tops):
            tops.append(j)
            at.append(index)
        else:
            tops[k], at[k] = j, index
    series: list[tuple[int, int]] = []
    index = at[-1] if at else -1
    while index >= 0:
        series.append(pairs[index])
        index = before[index]
    series.reverse()
    return series


def _between(part: _Part, anchors: Sequence[tuple[int, int]]) -> list[_Part]:
    a, b, c, d = part
    parts: list[_Part] = []
    for i, j in [*anchors, (b, d)]:
        if a < i and c < j:
            parts.append((a, i, c, j))
        a, c = i + 1, j + 1
    return parts


def _cost(old: Sequence[str], new: Sequence[str], part: _Part) -> int:
    a, b, c, d = part
    times = Counter(new[c:d])
    return (b - a) + (d - c) + sum(times[line] for line in old[a:b])


def _compared(old: Sequence[str], new: Sequence[str], part: _Part) -> list[Block]:
    a, b, c, d = part
    matcher = SequenceMatcher(None, old[a:b], new[c:d], autojunk=False)
    return [(a + i, c + j, n) for i, j, n in matcher.get_matching_blocks() if n]


def _joined(found: list[Block]) -> list[Block]:
    """Ascending, with blocks that touch on both sides made one."""
    joined: list[Block] = []
    for i, j, n in sorted(found):
        if joined and joined[-1][0] + joined[-1][2] == i and joined[-1][1] + joined[-1][2] == j:
            joined[-1] = (joined[-1][0], joined[-1][1], joined[-1][2] + n)
        else:
            joined.append((i, j, n))
    return joined
