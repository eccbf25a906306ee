"""The small edits between two texts: applied they give the new one, and they touch nothing that stays."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.text.changes import apply_text_edits
from ombud.text.lines import LineIndex
from ombud.text.minimal import edits_between

PIECES = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r", "😀", "é", " ", "\ud83d"]), max_size=12).map("".join)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS, TEXTS)
def test_applied_they_give_the_new_text(old: str, new: str) -> None:
    edits = edits_between(old, new)
    assert apply_text_edits(old, edits) == new
    assert bool(edits) == (old != new)
    spans = [(edit.range.start, edit.range.end) for edit in edits]
    assert all(start <= end for start, end in spans)
    assert all(one[1] < two[0] for one, two in pairwise(spans))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("one\ntwo\n", "one\ntwo\n", []),
        ("one\ntwo\nthree\n", "one\n2\nthree\n", [((1, 0), (1, 3), "2")]),
        ("one\ntwo\n", "one\ntwo\nthree\n", [((2, 0), (2, 0), "three\n")]),
        ("one\ntwo\n", "two\n", [((0, 0), (1, 0), "")]),
        ("x = 😀 + old\n", "x = 😀 + new\n", [((0, 9), (0, 12), "new")]),
        ("a\r\nb\r\n", "a\r\nc\r\n", [((1, 0), (1, 1), "c")]),
        ("first\nb\nc\nd\nlast\n", "First\nb\nc\nd\nLast\n", [((0, 0), (0, 1), "F"), ((4, 0), (4, 1), "L")]),
        ("", "new", [((0, 0), (0, 0), "new")]),
    ],
)
def test_they_touch_only_what_differs(old: str, new: str, expected: list[object]) -> None:
    found = [
        (
            (edit.range.start.line, edit.range.start.character),
            (edit.range.end.line, edit.range.end.character),
            edit.new_text,
        )
        for edit in edits_between(old, new)
    ]
    assert found == expected


def test_none_of_them_stands_between_the_characters_of_a_line_end() -> None:
    for old, new in (("a\r\n", "a\n"), ("a\r", "a\r\n"), ("a\n", "a\r\n"), ("a\r\nb", "a\rb")):
        edits = edits_between(old, new)
        index = LineIndex(old)
        for edit in edits:
            for place in (edit.range.start, edit.range.end):
                assert index.position(index.offset(place.line, place.character)) == (place.line, place.character)
        assert apply_text_edits(old, edits) == new
