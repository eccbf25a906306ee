"""Hostile patterns and sources: every one ends, with an answer or a clear word, however deep, wide or ambiguous."""

from __future__ import annotations

import pytest
from ombud.errors import UserError
from ombud.structural.compiled import Exhausted, compile_query
from ombud.structural.query import Query

from tests.unit.structural.searching import search

DEEP = 100_000
WIDE = "f(" + "a, " * 20_000 + "b)\nz = 1\n"


@pytest.mark.parametrize(
    ("pattern", "count"), [("g($X)", 1), ("[$X]", DEEP), ("$X = $Y", 1), ("[$$$, [$$$], $$$]", DEEP - 1)]
)
def test_a_source_nested_deeper_than_any_stack(pattern: str, count: int) -> None:
    source = "x = " + "[" * DEEP + "g(1)" + "]" * DEEP + "\n"
    assert len(search("python", source, Query(pattern=pattern))[0]) == count


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        ("f($$$A, b, $$$B)", 1),
        ("f($$$A, $X, $$$B, $X, $$$C)", 1),
        ("f($$$A, a, $$$B, a, $$$C, a, $$$D, a, $$$E, z)", 0),
        ("f($$$A, $$$B, $$$C, $$$D, $$$E, z)", 0),
        ("f(" + ", ".join(f"$$$A{n}, a" for n in range(8)) + ", z)", 0),
    ],
)
def test_variadics_over_a_wide_list(pattern: str, count: int) -> None:
    assert len(search("python", WIDE, Query(pattern=pattern))[0]) == count


def test_too_many_possibilities_are_given_up_with_a_word() -> None:
    with pytest.raises(Exhausted):
        search("python", WIDE, Query(pattern="f($$$A, $X, $$$B, $Y, $$$C, $X, $$$D, $Y, $$$E, z)"))


@pytest.mark.parametrize("pattern", ["(" * 500 + "a" + ")" * 500, "f(" + "a, " * 5_000 + "b)"])
def test_a_pattern_too_deep_or_too_large_is_refused(pattern: str) -> None:
    with pytest.raises(UserError):
        compile_query(Query(pattern=pattern), "python")


def test_a_pattern_of_many_metavariables_is_compiled_and_matched() -> None:
    names = ", ".join(f"$A{n}" for n in range(60))
    source = "f(" + ", ".join(f"x{n}" for n in range(60)) + ")\n"
    (match,), _, _ = search("python", source, Query(pattern=f"f({names})"))
    assert len(match.captures) == 60


def test_identifiers_like_our_own_are_left_alone() -> None:
    """The pattern holds the very words that would stand for its metavariables."""
    source = "q0vz0q(q1vz0q, a)\n"
    (match,), _, _ = search("python", source, Query(pattern="q0vz0q(q1vz0q, $X)"))
    assert match.captures["X"].start == 15
