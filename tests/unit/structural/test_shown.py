"""Matches as answers show them: lines and UTF-16 columns under every line end, and bounded texts."""

from __future__ import annotations

import pytest
from ombud.structural.match import Capture, Match
from ombud.structural.messages import MOST_TEXT, Hit, Place
from ombud.structural.shown import Pages
from ombud.text.lines import LineIndex

TEXTS = {
    "plain": "one\ntwo(x)\nthree\n",
    "CRLF": "one\r\ntwo(x)\r\nthree\r\n",
    "CR": "one\rtwo(x)\rthree",
    "mixed": "a\r\nb\rc\n\n\r\rtwo(x)\r\n",
    "other separators": "a\x0b\x0c\u2028\u0085two(x)\n\x1ctwo",
    "astral": "# 😀é\n'😀' + two(x) + 'é'\n",
    "empty": "",
}


def hit(source: bytes, start: int, end: int, context: int = 0, **captures: Capture) -> Hit:
    return Pages(source).hit(0, "a.py", "python", Match(start, end, "call", captures), context)


@pytest.mark.parametrize("name", TEXTS)
def test_every_place_is_that_of_the_text(name: str) -> None:
    text = TEXTS[name]
    source, lines = text.encode(), LineIndex(text)
    for start in range(len(text) + 1):
        for end in (start, min(start + 3, len(text)), len(text)):
            place = Pages(source).place(len(text[:start].encode()), len(text[:end].encode()))
            assert (place.line, place.column) == lines.position(start)
            assert (place.end_line, place.end_column) == lines.position(end)
            assert place.text == text[start:end]


def test_captures_are_places_and_lists_of_places() -> None:
    found = hit(b"f(a, bc)", 0, 8, X=Capture(0, 1), ARGS=Capture(2, 7, ((2, 3), (5, 7))), NONE=Capture(7, 7, ()))
    assert found.captures == {
        "X": Place(0, 0, 0, 1, "f"),
        "ARGS": [Place(0, 2, 0, 3, "a"), Place(0, 5, 0, 7, "bc")],
        "NONE": [],
    }


def test_long_texts_are_cut_at_a_character() -> None:
    source = ("é😀" * 5000).encode()
    text = hit(source, 0, len(source)).place.text
    assert text == ("é😀" * 5000)[:MOST_TEXT]
    assert len(text) == MOST_TEXT


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_around_stop_at_the_ends_of_the_file(end: str) -> None:
    source = end.join(["a", "b", "c", "d", ""]).encode()
    at = source.index(b"c")
    around = [(one.before, one.after) for one in (hit(source, at, at + 1, n) for n in (0, 1, 9))]
    assert around == [([], []), (["b"], ["d"]), (["a", "b"], ["d"])]
