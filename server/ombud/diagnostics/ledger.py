"""What a change introduced and what it resolved: a counted comparison that also names the place (D1, D2).

Diagnostics are compared by server, severity, code and message, and *counted*: one that only moved is not new, a second
identical one is. Which of several identical ones is the new one is answered by following each old one through the
edit to the line where it must stand now; what no old one maps to is new.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ombud.diagnostics.items import Item

LineMap = Callable[[int], int | None]
"""Old zero-based line → new one, None where the edit replaced it."""


@dataclass(frozen=True, slots=True)
class Delta:
    """The difference between two states of a file. ``still_present`` counts the ones that are in both."""

    introduced: list[Item] = field(default_factory=list)
    resolved: list[Item] = field(default_factory=list)
    still_present: int = 0


def compare(before: Iterable[Item], after: Iterable[Item], line_map: LineMap, touched: Callable[[int], bool]) -> Delta:
    """The `Delta` from ``before`` to ``after``. ``touched`` tells whether the edit wrote a given new line."""
    olds: dict[tuple[object, ...], list[Item]] = defaultdict(list)
    news: dict[tuple[object, ...], list[Item]] = defaultdict(list)
    for item in before:
        olds[item.key].append(item)
    for item in after:
        news[item.key].append(item)
    introduced: list[Item] = []
    resolved: list[Item] = []
    still = 0
    for key in olds.keys() | news.keys():
        lost, new = _match(olds.get(key, []), news.get(key, []), line_map, touched)
        resolved += lost
        introduced += new
        still += len(news.get(key, [])) - len(new)
    return Delta(sorted(introduced, key=_place), sorted(resolved, key=_place), still)


def _match(
    olds: Sequence[Item], news: Sequence[Item], line_map: LineMap, touched: Callable[[int], bool]
) -> tuple[list[Item], list[Item]]:
    """Pair the instances of one key; returns the old and the new ones left over. One of the two lists is empty."""
    left_new = list(news)
    left_old = []
    for old in sorted(olds, key=_place):
        line = line_map(old.range.start.line)
        same = [new for new in left_new if new.range.start.line == line]
        if line is None or not same:
            left_old.append(old)
            continue
        best = min(same, key=lambda new: abs(new.range.start.character - old.range.start.character))
        left_new.remove(best)
    # Moved otherwise (a server reports the same mistake elsewhere now): the count decides, and the ones that stand
    # on lines the edit wrote are the last to be taken for old ones.
    pairs = min(len(left_old), len(left_new))
    if pairs:
        left_new.sort(key=lambda new: (touched(new.range.start.line), _place(new)))
        left_new = left_new[pairs:]
        left_old = left_old[pairs:]
    return left_old, left_new


def _place(item: Item) -> tuple[int, int, str, str]:
    return (item.range.start.line, item.range.start.character, item.server, item.message)
