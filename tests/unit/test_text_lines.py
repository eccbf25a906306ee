"""Lines, positions and offsets, against a slow reading of the specification."""

from __future__ import annotations

import time

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.text.lines import LineIndex, locate
from ombud.text.ranges import Position, Range, index_of_unit, utf16_length

# What real files and hostile ones are made of: all line ends, wide characters, half pairs, separators that are none.
ALPHABET = st.sampled_from(
    ["a", "b", " ", "\n", "\r", "\r\n", "é", "漢", "😀", "\ud83d", "\ude00", "\u2028", "\f", "\ufeff"]
)
TEXTS = st.lists(ALPHABET, max_size=30).map("".join)


def slow_lines(text: str) -> list[tuple[int, int, int]]:
    """``(start, end of content, end)`` of every line, one character at a time."""
    lines = []
    start = at = 0
    while at < len(text):
        size = 2 if text[at : at + 2] == "\r\n" else 1 if text[at] in "\r\n" else 0
        if size:
            lines.append((start, at, at + size))
            start = at + size
        at += size or 1
    return [*lines, (start, len(text), len(text))]


def units(character: str) -> int:
    return 2 if ord(character) > 0xFFFF else 1


def slow_offset(text: str, line: int, character: int) -> int:
    lines = slow_lines(text)
    if line >= len(lines):
        return len(text)
    at, end, _ = lines[line]
    left = character
    while at < end and left >= units(text[at]):
        left -= units(text[at])
        at += 1
    return at


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a\n", ["a", ""]),
        ("a\r\nb\rc\nd", ["a", "b", "c", "d"]),
        ("\r\r\n\n", ["", "", "", ""]),
        ("a\u2028b\x0cc\x85d", ["a\u2028b\x0cc\x85d"]),
    ],
)
def test_lines_end_as_the_specification_says(text: str, lines: list[str]) -> None:
    index = LineIndex(text)
    assert [index.line(number) for number in range(index.count)] == lines


def test_a_line_that_is_not_there_is_an_error() -> None:
    with pytest.raises(IndexError, match="no line 2"):
        LineIndex("a\nb").line(2)
    with pytest.raises(IndexError):
        LineIndex("a").line(-1)


@pytest.mark.parametrize(
    ("position", "offset"),
    [
        ((0, 0), 0),
        ((0, 1), 1),
        ((0, 2), 1),  # inside the pair of 😀: its start
        ((0, 3), 2),
        ((0, 4), 3),
        ((0, 99), 3),  # past the end of the line: its end, before the line end
        ((1, 0), 5),
        ((1, 1), 6),
        ((2, 0), 6),  # past the last line: the end of the text
        ((99, 7), 6),
        ((-1, 5), 0),
        ((0, -3), 0),
    ],
)
def test_positions_are_clamped(position: tuple[int, int], offset: int) -> None:
    text = "a😀b\r\né"
    assert LineIndex(text).offset(*position) == offset
    assert locate(text, *position) == offset


@given(TEXTS)
def test_the_lines_are_those_of_a_slow_reading(text: str) -> None:
    index = LineIndex(text)
    assert [index.span(number) for number in range(index.count)] == [line[:2] for line in slow_lines(text)]


@given(TEXTS, st.integers(0, 12), st.integers(0, 12))
def test_offsets_are_those_of_a_slow_reading(text: str, line: int, character: int) -> None:
    expected = slow_offset(text, line, character)
    assert LineIndex(text).offset(line, character) == expected
    assert locate(text, line, character) == expected


@given(TEXTS)
def test_every_offset_has_a_position_that_leads_back(text: str) -> None:
    index = LineIndex(text)
    for offset in range(len(text) + 1):
        line, character = index.position(offset)
        between = text[offset - 1 : offset + 1] == "\r\n" and offset > 0
        assert index.offset(line, character) == (offset - 1 if between else offset)
    assert index.position(-1) == (0, 0)
    assert index.position(len(text) + 5) == index.position(len(text))


@given(TEXTS, st.integers(0, 12), st.integers(0, 12))
def test_byte_offsets_count_utf8(text: str, line: int, character: int) -> None:
    index = LineIndex(text)
    before = text[: slow_offset(text, line, character)]
    assert index.byte_offset(line, character) == sum(len(c.encode("utf-8", "surrogatepass")) for c in before)


@given(TEXTS)
def test_lengths_in_units_add_up_even_for_half_pairs(text: str) -> None:
    assert utf16_length(text) == sum(map(units, text))


def test_two_half_pairs_that_meet_stay_two_characters() -> None:
    line = "\ud83d\ude00x"
    assert [index_of_unit(line, character) for character in range(5)] == [0, 1, 2, 3, 3]


def test_a_position_of_the_wire_is_never_negative() -> None:
    assert msgspec.json.decode(b'{"line":1,"character":2}', type=Position) == Position(1, 2)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"line":-1,"character":2}', type=Position)
    assert Range(Position(1, 2), Position(1, 3)) < Range(Position(2, 0), Position(2, 0))


def test_one_position_in_a_large_text_costs_no_index() -> None:
    text = "some line of code = 1  # é\r\n" * 40_000
    started = time.process_time()
    for _ in range(5):
        assert locate(text, 39_999, 26) == len(text) - 2
    assert time.process_time() - started < 2.0


def test_a_long_line_of_wide_characters_is_no_trap() -> None:
    text = "😀" * 200_000
    started = time.process_time()
    assert LineIndex(text).offset(0, 400_000 - 1) == 200_000 - 1
    assert LineIndex(text).position(200_000) == (0, 400_000)
    assert time.process_time() - started < 2.0


@pytest.mark.parametrize("text", ["", "a", "a\n", "a\r\nb", "a\rb\r"])
def test_a_place_beyond_all_numbers_is_the_end_of_the_text(text: str) -> None:
    for line in (2**31, 2**63, 2**64):
        assert locate(text, line, 2**64) == LineIndex(text).offset(line, 2**64) == len(text)
    assert locate(text, 0, 2**64) == LineIndex(text).offset(0, 2**64)
