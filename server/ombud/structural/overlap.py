"""Which matches are rewritten: what is inside another's capture goes with it, the rest must not overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ombud.structural.match import Capture, Match


@dataclass(slots=True, eq=False)
class Chosen:
    """A match that is rewritten. ``op`` is the number of its op, ``inner`` are the chosen matches in its captures."""

    op: int
    match: Match
    inner: list[Chosen] = field(default_factory=list)

    @property
    def order(self) -> tuple[int, int, bool, int]:
        """Earlier places before later ones, outer matches before inner ones."""
        match = self.match
        whole = any((one.start, one.end) == (match.start, match.end) for one in match.captures.values())
        return match.start, -match.end, not whole, self.op


def choose(found: Sequence[Iterable[Match]]) -> tuple[list[Chosen], int]:
    """The matches to rewrite, in order, and how many are left out because they overlap one of them.

    ``found`` has the matches of each op. The first op wins, then the earlier place, then the longer match.
    """
    chosen: list[Chosen] = []
    left = 0
    for op, matches in enumerate(found):
        news = sorted((Chosen(op, match) for match in matches), key=lambda one: one.order)
        kept = _apart(_agreeing(news, chosen))
        left += len(news) - len(kept)
        chosen = sorted([*chosen, *kept], key=lambda one: one.order)
    return chosen, left


def nest(chosen: Iterable[Chosen]) -> list[Chosen]:
    """The outermost ones; every other one is put into the `Chosen.inner` of the one around it. In order, both."""
    outermost: list[Chosen] = []
    around: list[Chosen] = []
    for one in chosen:
        one.inner.clear()
        while around and around[-1].match.end <= one.match.start:
            around.pop()
        (around[-1].inner if around else outermost).append(one)
        around.append(one)
    return outermost


def capture_around(outer: Match, inner: Match) -> Capture | None:
    """The capture of ``outer`` that holds all of ``inner``."""
    for one in outer.captures.values():
        # What a condition bound around the match is no part of it.
        if outer.start <= one.start <= inner.start and inner.end <= one.end <= outer.end:
            return one
    return None


def _apart(news: list[Chosen]) -> list[Chosen]:
    """Those of one op that do not overlap an earlier one outside its captures."""
    kept: list[Chosen] = []
    around: list[Chosen] = []
    for new in news:
        while around and around[-1].match.end <= new.match.start:
            around.pop()
        if around:
            match = around[-1].match
            same = (match.start, match.end) == (new.match.start, new.match.end)
            if same or capture_around(match, new.match) is None:
                continue
        kept.append(new)
        around.append(new)
    return kept


def _agreeing(news: list[Chosen], chosen: list[Chosen]) -> list[Chosen]:
    """Those that overlap none of the earlier ops' matches but inside a capture. Both lists are in order."""
    kept: list[Chosen] = []
    around: list[Match] = []
    at = 0
    for new in news:
        match = new.match
        place = (match.start, -match.end)
        while at < len(chosen) and (chosen[at].match.start, -chosen[at].match.end) < place:
            other = chosen[at].match
            while around and around[-1].end <= other.start:
                around.pop()
            around.append(other)
            at += 1
        while around and around[-1].end <= match.start:
            around.pop()
        # Chosen ones are nested or apart: the innermost that the match begins in decides.
        if (not around or capture_around(around[-1], match)) and not _clashes(match, chosen, at):
            kept.append(new)
    return kept


def _clashes(match: Match, chosen: list[Chosen], at: int) -> bool:
    """Whether one that begins inside the match, from ``at`` on, is in no capture of it, nor it in one of that one."""
    while at < len(chosen) and (other := chosen[at].match).start < match.end:
        if capture_around(match, other) is None and capture_around(other, match) is None:
            return True
        at += 1
    return False
