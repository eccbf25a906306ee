"""The small edits that lead from one text to another, for whoever has the text open and a cursor in it."""

from __future__ import annotations

from itertools import accumulate

from ombud.text.blocks import blocks
from ombud.text.changes import TextEdit
from ombud.text.lines import LineIndex
from ombud.text.ranges import LINE_END, Position, Range


def edits_between(old: str, new: str) -> list[TextEdit]:
    """``TextEdit[]`` against ``old`` that make it ``new``: one for each run of changed lines, cut to what differs.

    They are in order, never overlap, and none begins or ends between the two characters of a ``\\r\\n``, where LSP has
    no position. Empty where nothing differs.
    """
    if old == new:
        return []
    before, after = _lines(old), _lines(new)
    old_starts = [0, *accumulate(map(len, before))]
    new_starts = [0, *accumulate(map(len, after))]
    index = LineIndex(old)
    edits = []
    i = j = 0
    for a, b, size in [*blocks(before, after), (len(before), len(after), 0)]:
        if i < a or j < b:
            start, end = old_starts[i], old_starts[a]
            text = new[new_starts[j] : new_starts[b]]
            lead, trail = _common(old[start:end], text)
            where = Range(_position(index, start + lead), _position(index, end - trail))
            edits.append(TextEdit(where, text[lead : len(text) - trail]))
        i, j = a + size, b + size
    return edits


def _lines(text: str) -> list[str]:
    """The lines with their line ends; the last one may be empty, so that texts are never without lines."""
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]


def _common(old: str, new: str) -> tuple[int, int]:
    """How many characters are the same at the start and, of the rest, at the end."""
    most = min(len(old), len(new))
    lead = 0
    while lead < most and old[lead] == new[lead]:
        lead += 1
    if _splits(old, lead) or _splits(new, lead):
        lead -= 1
    trail = 0
    while trail < most - lead and old[-1 - trail] == new[-1 - trail]:
        trail += 1
    if trail and (_splits(old, len(old) - trail) or _splits(new, len(new) - trail)):
        trail -= 1
    return lead, trail


def _splits(text: str, at: int) -> bool:
    return 0 < at < len(text) and text[at - 1] == "\r" and text[at] == "\n"


def _position(index: LineIndex, offset: int) -> Position:
    return Position(*index.position(offset))
