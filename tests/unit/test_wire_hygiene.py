"""Row W8: depth, digits and encoding are judged before anything is parsed, exactly and in linear time."""

from __future__ import annotations

import json
import re
import time
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ombud.wire.hygiene import not_utf8, problem
from ombud.wire.limits import DEFAULT, Limits

from tests.jsontext import PIECES, texts

MIB = 1 << 20
TIGHT = Limits(nesting=3, number_digits=5)
DEEP = "The message is nested deeper than 256 levels."
LONG = "A number in the message has 400 digits or more."


def measures(body: bytes) -> tuple[int, int]:
    """The depth and the most digits in a row outside of strings, read byte by byte."""
    depth = deepest = digits = most = 0
    inside = escaped = False
    for char in body.decode():
        if inside:
            inside, escaped = escaped or char != '"', char == "\\" and not escaped
            continue
        inside = char == '"'
        digits = digits + 1 if char in "0123456789" else 0
        depth += (char in "[{") - (char in "]}")
        deepest, most = max(deepest, depth), max(most, digits)
    return deepest, most


def expected(body: bytes, limits: Limits) -> str | None:
    depth, digits = measures(body)
    if digits >= limits.number_digits:
        return f"A number in the message has {limits.number_digits} digits or more."
    return f"The message is nested deeper than {limits.nesting} levels." if depth > limits.nesting else None


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
@pytest.mark.parametrize(("depth", "refused"), [(255, False), (256, False), (257, True), (100_000, True)])
def test_W8_nesting_of_256_passes_and_257_does_not(opening: bytes, depth: int, refused: bool) -> None:
    closing = b"]" if opening == b"[" else b"}"
    body = opening * depth + b"1" + closing * depth
    assert problem(body, DEFAULT) == (DEEP if refused else None)
    # Wide as well as deep: the innermost place is neither at the start nor at the end.
    wide = b"[" + b"[1,[2]]," * 1000 + opening * (depth - 1) + b"1" + closing * (depth - 1) + b",[[]]" * 1000 + b"]"
    assert problem(wide, DEFAULT) == (DEEP if refused else None)
    # Unclosed: a bomb needs no end.
    assert problem(opening * depth, DEFAULT) == (DEEP if refused else None)


@pytest.mark.parametrize(
    "text",
    [
        rb'"[[[[["',
        rb'"\"[[[["',
        rb'"\\\"[[[["',
        rb'"[[","[[","[["',
        rb'"[","","]","[[[["',
        rb'{"[[[[":"{{{{"}',
        rb'["\\","[[[[","\\"]',
        rb'"\\\\","[[[[["',
    ],
)
def test_W8_brackets_in_strings_are_no_depth(text: bytes) -> None:
    assert problem(b"[" + text + b"]", TIGHT) is None
    assert problem(b"[[" + text + b",[[1]]]]", TIGHT) is not None


@pytest.mark.parametrize("text", [rb'"\\",[[[[', rb'"\"",[[[[', rb'"","\\\\\\",[[[['])
def test_W8_brackets_behind_strings_are_depth(text: bytes) -> None:
    assert problem(b"[" + text, TIGHT) is not None


def test_W8_brackets_are_told_apart_in_a_body_of_any_size() -> None:
    """So many strings with brackets in them that they are taken in pieces, cut within a string and behind one."""
    for shift in range(3):
        body = b"[" * (1 + shift) + b'1,"[",2,"]]"' + b',[],"["' * 100_000 + b"]" * (1 + shift)
        assert problem(body, TIGHT) == (None if shift < 2 else "The message is nested deeper than 3 levels.")


@pytest.mark.parametrize("number", [b"%b", b"-%b", b"0.%b", b"1e%b", b"1.5E-%b", b'[[],{"a":%b}]'])
def test_W8_a_number_of_400_digits_is_refused(number: bytes) -> None:
    assert problem(number % (b"7" * 399), DEFAULT) is None
    assert problem(number % (b"7" * 400), DEFAULT) == LONG
    assert problem(number % (b"7" * 1_000_000), DEFAULT) == LONG


@pytest.mark.parametrize("shift", range(0, 60, 7))
def test_W8_a_long_number_is_found_wherever_it_begins(shift: int) -> None:
    body = b"[" + b" " * shift + b"1" * 400 + b"," + b"2" * 50 + b"]"
    assert problem(body, DEFAULT) == LONG
    assert problem(body.replace(b"1" * 400, b"1" * 399), DEFAULT) is None


def test_W8_digits_in_strings_are_no_number() -> None:
    long = b"1" * 5000
    assert problem(b'["' + long + b'","a\\"' + long + b'","\\\\"]', DEFAULT) is None
    assert problem(b'["' + long + b'",' + long + b"]", DEFAULT) == LONG
    assert problem(b'["\\\\",' + long + b',"' + long + b'"]', DEFAULT) == LONG


@settings(max_examples=300)
@given(texts())
def test_W8_the_judgement_is_that_of_a_reader_of_every_byte(text: str) -> None:
    body = text.encode()
    for limits in (TIGHT, Limits(nesting=1, number_digits=21), DEFAULT):
        assert problem(body, limits) == expected(body, limits)


@settings(max_examples=300)
@given(st.lists(st.one_of(PIECES, st.sampled_from(list('[]{}",:1\\'))), max_size=60).map("".join))
def test_W8_broken_json_is_never_judged_milder_than_a_reader_would_before_the_fault(text: str) -> None:
    body = text.encode()
    depth, digits = measures(_readable(body))
    found = problem(body, TIGHT)
    if digits >= TIGHT.number_digits or depth > TIGHT.nesting:
        assert found is not None


def _readable(body: bytes) -> bytes:
    """The longest beginning in which no backslash stands outside of a string: no parser reads beyond that."""
    outside = re.match(rb'(?:[^"\\]|"(?:[^"\\]|\\.)*+")*', body, re.DOTALL)
    assert outside is not None
    return outside[0]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b'"\xff"', 1),
        (b'"\xc3("', 1),
        (b'"\xed\xa0\x80"', 1),
        (b'"\xf5\x80\x80\x80"', 1),
        (b'"\xc0\x80"', 1),
        (b'"\xe2\x82', 1),
        ("€".encode() * 350_000 + b"\xff", 1_050_000),
        (b"a" + "€".encode() * 350_000 + b"\xe2\x82", 1_050_001),
    ],
)
def test_W8_what_is_not_utf8_is_named_by_its_place(body: bytes, place: int) -> None:
    assert not_utf8(body) == place
    assert problem(body, DEFAULT) == f"The message is not UTF-8 (byte {place})."


@pytest.mark.parametrize("unit", ["a", "ü", "€", "\U0001f600"])
def test_a_character_may_lie_across_any_place(unit: str) -> None:
    for shift in range(5):
        assert not_utf8(b"x" * shift + unit.encode() * (MIB // 2)) is None


# -- cost

# Each is bad in its own way for a scanner: much backtracking, many strings, many runs, depth all the way.
HOSTILE = {
    "open brackets": b"[",
    "at the limit": b"[" * 256 + b"]" * 256,
    "flat": b"[],",
    "strings": b'"["',
    "strings between": b'["[",',
    "quotes": b'"',
    "escaped quotes": rb"\"",
    "backslashes": b"\\",
    "unclosed": b'"\\"' + b"x" * 100,
    "almost long": b"1" * 399 + b",",
    "long in strings": b'"' + b"1" * 400 + b'",',
    "digits": b"1",
    "astral": "\U0001f600".encode(),
    "bad bytes": b"\xe2\x82",
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_W8_eight_megabytes_of_anything_are_judged_in_time(unit: bytes) -> None:
    body = b'{"id":1,"params":[' + unit * (8 * MIB // len(unit))
    start = time.process_time()
    problem(body, DEFAULT)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_W8_judging_needs_little_more_memory_than_the_body(unit: bytes) -> None:
    body = b'{"id":1,"params":[' + unit * (4 * MIB // len(unit))
    tracemalloc.start()
    try:
        problem(body, DEFAULT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * len(body) + 8 * MIB


def test_a_large_answer_is_judged_in_a_fraction_of_its_parsing() -> None:
    body = json.dumps({"id": 1, "result": [_completion(number) for number in range(5000)]}).encode()
    assert problem(body, DEFAULT) is None
    start = time.process_time()
    for _ in range(5):
        problem(body, DEFAULT)
    judged = time.process_time() - start
    start = time.process_time()
    for _ in range(5):
        json.loads(body)
    assert judged < time.process_time() - start


def _completion(number: int) -> dict[str, Any]:
    place = {"start": {"line": number, "character": 0}, "end": {"line": number, "character": 4}}
    text = f'```python\n(function) def f_{number}(a: dict[str, list[int]]) -> "x"\n```'
    return {
        "label": f"f_{number}",
        "documentation": {"value": text},
        "textEdit": {"range": place},
        "data": [number, [1]],
    }
