"""Where in a file a text that is not there was probably meant: first white space aside, then by likeness.

The work is bounded: one pass over the file, then a close look at a few windows of it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches
from heapq import nsmallest
from itertools import accumulate
from typing import Any

from ombud.text.lines import LineIndex

WANTED = 3
"""How many candidates are shown."""

TEXT_LIMIT = 2_000
"""How many characters of a candidate are shown."""

_LOOKED_AT = 12  # windows that are compared closely
_UNITS = 400  # the most characters, words or lines of a window that are compared: the comparison is quadratic
_PAIRS = 20_000  # the most pairs of equal units of two texts that are compared closely
_VOTES = 200_000  # the most votes of words for windows
_LIKE = 0.5  # two lines of unrelated code easily reach 0.4
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def nearest(index: LineIndex, wanted: str) -> tuple[list[dict[str, Any]], bool]:
    """The likeliest places for ``wanted``, best first, and whether they differ from it in white space only.

    Each is ``{line, endLine, text, similarity}``: one-based lines, whole lines as text (cut at `TEXT_LIMIT`),
    likeness from `_LIKE` to 1 with white space left out.
    """
    lines = [index.line(number) for number in range(index.count)]
    squeezed = ["".join(line.split()) for line in lines]
    sought = "".join(wanted.split())
    if not sought:
        return [], False
    same = _spaced_otherwise(squeezed, sought)
    if same:
        return [_candidate(index, first, last, 1.0) for first, last in same], True
    height = min(wanted.strip("\r\n").count("\n") + 1, index.count)
    scored: list[tuple[float, int]] = []
    for start in _windows(lines, wanted, height):
        likeness = _similarity(wanted, lines[start : start + height])
        if likeness >= _LIKE:
            scored.append((min(round(likeness, 2), 0.99), start))
    scored.sort(key=lambda item: (-item[0], item[1]))
    shown: list[tuple[float, int]] = []
    for score, start in scored:
        if len(shown) < WANTED and all(abs(start - other) >= height for _, other in shown):
            shown.append((score, start))
    return [_candidate(index, start, start + height - 1, score) for score, start in shown], False


def cut(index: LineIndex, first: int, last: int) -> str:
    """The lines ``first`` to ``last`` (zero-based, inclusive) joined by ``\\n``, at most `TEXT_LIMIT` characters."""
    pieces: list[str] = []
    room = TEXT_LIMIT
    for number in range(first, last + 1):
        start, end = index.span(number)
        pieces.append(index.text[start : min(end, start + room + 1)])
        room -= len(pieces[-1]) + 1
        if room < 0:
            break
    text = "\n".join(pieces)
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1] + "…"


def _candidate(index: LineIndex, first: int, last: int, similarity: float) -> dict[str, Any]:
    return {
        "line": first + 1,
        "endLine": last + 1,
        "text": cut(index, first, last),
        "similarity": similarity,
    }


def _spaced_otherwise(squeezed: list[str], sought: str) -> list[tuple[int, int]]:
    """First and last line of the places where the text stands with other white space, also broken otherwise."""
    whole = "".join(squeezed)
    starts = [0, *accumulate(map(len, squeezed))]
    found: list[tuple[int, int]] = []
    at = whole.find(sought)
    while at >= 0 and len(found) < WANTED:
        # Empty lines start where the next one does: the rightmost start is the line that holds the character.
        first = bisect_right(starts, at) - 1
        last = bisect_right(starts, at + len(sought) - 1) - 1
        found.append((first, last))
        at = whole.find(sought, at + 1)
    return found


def _windows(lines: list[str], wanted: str, height: int) -> list[int]:
    """The starts of the few windows of ``height`` lines that share the most, and the rarest, words with ``wanted``.

    Each word that stands in line k of the wanted text and in line i of the file speaks for the window at i - k, the
    rarer the louder, so that windows are lined up with the text. Rare words speak first, until the work is too much.
    """
    pattern = _WORD if _WORD.search(wanted) else _TOKEN
    asked = [set(pattern.findall(line)) for line in wanted.strip("\r\n").split("\n")[:_UNITS]]
    there = [set(pattern.findall(line)) for line in lines]
    sought = set[str]().union(*asked)
    meant = _misspelt(sought, set[str]().union(*there))
    places: dict[str, list[int]] = {meant.get(word, word): [] for word in sought}
    for number, line in enumerate(there):
        for word in line & places.keys():
            places[word].append(number)
    pairs = sorted(
        (len(places[meant.get(word, word)]), row, meant.get(word, word))
        for row, line in enumerate(asked)
        for word in line
    )
    votes: defaultdict[int, float] = defaultdict(float)
    work = 0
    for times, row, word in pairs:
        work += times
        if work > _VOTES and votes:
            break
        for number in places[word]:
            votes[min(max(number - row, 0), len(lines) - height)] += 1 / times
    # Equal votes go to the window nearer to the start, so that the answer is always the same one.
    return [start for start, _ in nsmallest(_LOOKED_AT, votes.items(), key=lambda item: (-item[1], item[0]))]


def _misspelt(sought: set[str], vocabulary: set[str]) -> dict[str, str]:
    """For words that the file does not have, the one of its words that each was probably meant to be."""
    meant: dict[str, str] = {}
    for word in sorted(sought - vocabulary, key=lambda word: (-len(word), word))[:8]:
        alike = [
            other
            for other in vocabulary
            if abs(len(other) - len(word)) <= 2 and (other[:2] == word[:2] or other[-2:] == word[-2:])
        ]
        close = get_close_matches(word, sorted(alike)[:_UNITS], n=1, cutoff=0.75)
        if close:
            meant[word] = close[0]
    return meant


def _similarity(wanted: str, window: list[str]) -> float:
    """The likeness of two texts without white space, 0 to 1, in the finest unit that the bound allows."""
    text = "\n".join(window)
    if len(text) + len(wanted) <= 2 * _UNITS:
        return _ratio("".join(wanted.split()), "".join(text.split()))
    ours, theirs = _TOKEN.findall(wanted), _TOKEN.findall(text)
    if len(ours) + len(theirs) > 2 * _UNITS:
        ours = ["".join(line.split()) for line in wanted.split("\n")][:_UNITS]
        theirs = ["".join(line.split()) for line in window][:_UNITS]
    return _ratio(ours, theirs)


def _ratio(ours: Sequence[str], theirs: Sequence[str]) -> float:
    """The likeness of two sequences; of very repetitive ones, for which that is cubic, its upper bound."""
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    there = Counter(theirs)
    pairs = sum(times * there[unit] for unit, times in Counter(ours).items())
    return matcher.ratio() if pairs <= _PAIRS else matcher.quick_ratio()
