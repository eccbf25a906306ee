"""Comments that silence rules, and places within and around one another."""

from __future__ import annotations

import random
from itertools import product

import pytest
from ombud.structural.spans import Place, Places
from ombud.structural.suppressed import Silence

MARKS = ("ombud-ignore",)


@pytest.mark.parametrize(
    ("text", "silent"),
    [
        # the same line, in many languages
        ("a()  # ombud-ignore\nb()", {0}),
        ("a(); // ombud-ignore: r\nb();", {0}),
        ("a(); /* ombud-ignore: r */ b();\nc", {0}),
        ("a() -- ombud-ignore: r\nb", {0}),
        ("<p> <!-- ombud-ignore: r -->\nb", {0}),
        ("a()  # ombud-ignore: other, r\n", {0}),
        ("a()  # ombud-ignore: other,r , third\n", {0}),
        # a line of its own counts for the next that has anything on it
        ("x\n# ombud-ignore\na()\nb()", {2}),
        ("x\n    // ombud-ignore: r\n\n    a()\nb()", {3}),
        ("x\n# ombud-ignore: other\n# ombud-ignore: r\na()\n", {3}),
        ("x\r\n# ombud-ignore: r\r\na()\r\nb()", {2}),
        # the whole file
        ("# ombud-ignore: r\n\na()\nb()", {0, 1, 2, 3}),
        ("// ombud-ignore\n\na()", {0, 1, 2}),
        # not the whole file: the next line has something on it
        ("# ombud-ignore: r\na()\nb()", {1}),
        # nobody, or somebody else
        ("a()  # ombud-ignore: other\nb()", set()),
        ("a()  # ombud-ignored\nb()", set()),
        ("a()  # ombud-ignore-next\nb()", set()),
        ("a() ombud-ignore: r\nb()", set()),
        ("ombud-ignore\na()", set()),
        ("a()  # ombud-ignore: r2\n", set()),
        ("", set()),
    ],
)
def test_comments_silence(text: str, silent: set[int]) -> None:
    silence = Silence(text, MARKS)
    assert {line for line in range(text.count("\n") + 1) if silence.holds(line, "r")} == silent


def test_a_second_comment_adds_to_the_first() -> None:
    silence = Silence("x\n# ombud-ignore: a\n# ombud-ignore: b\nc()  # ombud-ignore: d\n", MARKS)
    assert [silence.holds(3, one) for one in "abcd"] == [True, True, False, True]
    assert Silence("x\n# ombud-ignore\nc()  # ombud-ignore: d\n", MARKS).holds(2, "anything")


def test_marks_are_those_of_the_rule() -> None:
    text = "a()  # ast-grep-ignore: r\n"
    assert not Silence(text, MARKS).holds(0, "r")
    assert Silence(text, (*MARKS, "ast-grep-ignore")).holds(0, "r")


def test_a_hostile_line_takes_no_time() -> None:
    """A pattern that backtracks would never come to an end here."""
    for line in ("/" * 200_000 + "!", "# " * 100_000, "#" + " " * 200_000, "# ombud-ignore:" + " a," * 50_000 + " :"):
        assert not Silence(f"x ombud-ignore\n{line} ombud-ignor\n{line} ombud-ignore-\n", MARKS).holds(1, "r")
    assert Silence("x\n" + "# ombud-ignore: a\n" * 100_000 + "y", MARKS).holds(100_001, "a")


def _around(one: Place, other: Place) -> bool:
    """The rule, written down as plainly as can be."""
    contains = one[0] <= other[0] and other[1] <= one[1]
    return contains and (one[:2] != other[:2] or one[2] != other[2])


def test_places_say_what_a_comparison_of_all_says() -> None:
    random.seed(7)
    every = [(start, end, kind) for start, end, kind in product(range(6), range(1, 8), "ab") if start < end]
    for _ in range(300):
        some = random.sample(every, random.randrange(6))
        places = Places(some)
        for place in random.sample(every, 12):
            assert places.has_around(place) == any(_around(one, place) for one in some), (some, place)
            assert places.has_within(place) == any(_around(place, one) for one in some), (some, place)
            assert places.has_same(place) == any(one[:2] == place[:2] for one in some)
