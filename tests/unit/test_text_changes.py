"""Content changes of clients and text edits of servers."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.errors import PeerError
from ombud.text.changes import ContentChange, TextEdit, apply_changes, apply_text_edits
from ombud.text.lines import LineIndex
from ombud.text.ranges import Position, Range

TEXTS = st.lists(st.sampled_from(["a", "b", "\n", "\r", "\r\n", "é", "😀", "\ud800"]), max_size=25).map("".join)


def span(a: int, b: int, c: int, d: int) -> Range:
    return Range(Position(a, b), Position(c, d))


def change(text: str, *where: int) -> ContentChange:
    return ContentChange(text, span(*where) if where else None)


def edit(new_text: str, *where: int) -> TextEdit:
    return TextEdit(span(*where), new_text)


def test_changes_decode_from_the_wire_with_their_deprecated_length() -> None:
    wire = b"""[{"text": "x", "rangeLength": 1, "range":
        {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}}, {"text": "whole"}]"""
    assert msgspec.json.decode(wire, type=list[ContentChange]) == [change("x", 0, 0, 0, 1), change("whole")]


def test_edits_decode_from_the_wire_also_annotated_ones() -> None:
    wire = b"""{"newText": "x", "annotationId": "1", "range":
        {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}}"""
    assert msgspec.json.decode(wire, type=TextEdit) == edit("x", 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("text", "changes", "expected"),
    [
        ("abc", [change("X", 0, 1, 0, 2)], "aXc"),
        ("a\r\nb", [change("", 0, 1, 1, 0)], "ab"),
        ("a😀b", [change("x", 0, 3, 0, 3)], "a😀xb"),
        ("a😀b", [change("x", 0, 1, 0, 3)], "axb"),
        ("a😀b", [change("x", 0, 2, 0, 2)], "ax😀b"),
        ("a\rb", [change("x", 1, 0, 1, 1)], "a\rx"),
        ("a", [change("\nb", 7, 0, 9, 0)], "a\nb"),
        ("abc", [change("X", 0, 2, 0, 1)], "aXc"),
        ("old", [change("new\n"), change("er", 0, 3, 0, 3)], "newer\n"),
        ("ab", [change("1", 0, 0, 0, 0), change("2", 0, 1, 0, 1)], "12ab"),
        ("\ud83d", [change("x", 0, 0, 0, 0)], "x\ud83d"),
        ("", [], ""),
    ],
)
def test_changes_apply_one_after_the_other(text: str, changes: list[ContentChange], expected: str) -> None:
    assert apply_changes(text, changes) == expected


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        ("abc", [edit("Z", 0, 2, 0, 3), edit("X", 0, 0, 0, 1)], "XbZ"),
        ("ab", [edit("1", 0, 1, 0, 1), edit("2", 0, 1, 0, 1)], "a12b"),
        ("abc", [edit("", 0, 1, 0, 2), edit("1", 0, 1, 0, 1)], "a1c"),
        ("abc", [edit("", 0, 0, 0, 1), edit("1", 0, 1, 0, 1)], "1bc"),
        ("a\nb\n", [edit("c\n", 2, 0, 2, 0), edit("z", 1, 0, 1, 1)], "a\nz\nc\n"),
        (
            "a\nb\nc",
            [edit(c, line, 0, line, 1) for line, c in enumerate("xyz")] + [edit("!", 2, 1, 2, 1)] * 3,
            "x\ny\nz!!!",
        ),
        ("a", [], "a"),
    ],
)
def test_edits_all_refer_to_the_original(text: str, edits: list[TextEdit], expected: str) -> None:
    assert apply_text_edits(text, edits) == expected


@pytest.mark.parametrize(
    "edits",
    [
        [edit("x", 0, 0, 0, 2), edit("y", 0, 1, 0, 3)],
        [edit("x", 0, 0, 0, 2), edit("x", 0, 0, 0, 2)],
        [edit("x", 0, 0, 0, 3), edit("y", 0, 1, 0, 1)],
        [edit("x", 0, 3, 0, 0), edit("y", 0, 1, 0, 1)],
    ],
)
def test_C4_edits_that_overlap_are_refused_whole(edits: list[TextEdit]) -> None:
    with pytest.raises(PeerError, match="overlap at line 1") as caught:
        apply_text_edits("abc", edits)
    assert caught.value.kind == "server_failed"


def test_C6_edits_of_servers_take_the_line_end_of_the_file() -> None:
    edits = [edit("x\ny\r\nz\r", 0, 0, 0, 1)]
    assert apply_text_edits("a\r\n", edits, eol="\r\n") == "x\r\ny\r\nz\r\n\r\n"
    assert apply_text_edits("a\r\n", edits) == "x\ny\r\nz\r\r\n"


def slow_apply(text: str, changes: list[ContentChange]) -> str:
    for one in changes:
        if one.range is None:
            text = one.text
            continue
        index = LineIndex(text)
        ends = [index.offset(where.line, where.character) for where in (one.range.start, one.range.end)]
        text = text[: min(ends)] + one.text + text[max(ends) :]
    return text


NUMBERS = st.integers(0, 8)
CHANGES = st.lists(
    st.builds(change, TEXTS, NUMBERS, NUMBERS, NUMBERS, NUMBERS) | st.builds(change, TEXTS),
    max_size=5,
)


@given(TEXTS, CHANGES)
def test_changes_are_those_of_a_slow_reading(text: str, changes: list[ContentChange]) -> None:
    assert apply_changes(text, changes) == slow_apply(text, changes)


@given(st.data())
def test_edits_in_any_order_give_the_same_text(data: Any) -> None:
    text = data.draw(TEXTS)
    index = LineIndex(text)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=12)))
    edits, expected, done = [], "", 0
    for start, end in zip(cuts[::2], cuts[1::2], strict=False):
        new = data.draw(st.sampled_from(["", "N", "\n"]))
        (a, b), (c, d) = index.position(start), index.position(end)
        first, last = index.offset(a, b), index.offset(c, d)
        if first < done or first == last:
            continue
        edits.append(edit(new, a, b, c, d))
        expected += text[done:first] + new
        done = last
    shuffled = data.draw(st.permutations(edits))
    assert apply_text_edits(text, shuffled) == expected + text[done:]


def test_a_keystroke_in_a_large_document_is_quick() -> None:
    text = "    value = compute(value)\n" * 40_000
    started = time.process_time()
    for column in range(20):
        text = apply_changes(text, [change("x", 39_990, column, 39_990, column)])
    assert time.process_time() - started < 2.0
    assert text.count("x" * 20) == 1
