"""Conditions: on what is captured, on what is around and inside of a match, on its kind, and the relaxed strictness."""

from __future__ import annotations

import pytest
from ombud.errors import UserError
from ombud.structural.compiled import compile_query
from ombud.structural.query import Condition, Query

from tests.unit.structural.searching import search, texts

CALLS = 'p(a)\np("b")\np(f( 1 ))\np(c.d)\n'


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        (Condition(regex="^[ab]$"), ["p(a)"]),
        (Condition(equals="f(1)"), ["p(f( 1 ))"]),
        (Condition(in_=["a", "c . d"]), ["p(a)", "p(c.d)"]),
        (Condition(kind="string"), ['p("b")']),
        (Condition(kind=["identifier", "attribute"]), ["p(a)", "p(c.d)"]),
        (Condition(pattern="f($Y)"), ["p(f( 1 ))"]),
        (Condition(not_="f($Y)"), ["p(a)", 'p("b")', "p(c.d)"]),
        (Condition(not_=Condition(kind="string")), ["p(a)", "p(f( 1 ))", "p(c.d)"]),
        (Condition(regex="a|b", not_=Condition(kind="string")), ["p(a)"]),
    ],
)
def test_where(condition: Condition, found: list[str]) -> None:
    assert texts("python", CALLS, Query(pattern="p($X)", where={"X": condition})) == found


def test_a_condition_is_asked_while_the_matcher_still_has_a_choice() -> None:
    query = Query(pattern="f($$$, $X, $$$)", where={"X": Condition(regex="^y$")})
    (match,), _, _ = search("python", "f(x, y, z)\nf(x)\n", query)
    assert (match.start, match.captures["X"].start) == (0, 5)


def test_where_on_a_list() -> None:
    source = "f(a, b)\nf(1)\nf()\n"
    assert texts("python", source, Query(pattern="f($$$A)", where={"A": Condition(equals="a,b")})) == ["f(a, b)"]
    assert texts("python", source, Query(pattern="f($$$A)", where={"A": Condition(kind="identifier")})) == ["f(a, b)"]


FUNCTIONS = "def f(x):\n  g(x)\ndef h(y):\n  g(x)\ng(z)\n"


@pytest.mark.parametrize(
    ("query", "starts"),
    [
        (Query(pattern="g($X)", inside="def $F($$$): $$$"), [12, 29]),
        (Query(pattern="g($X)", inside="def $F($X): $$$"), [12]),
        (Query(pattern="g($X)", not_inside="def $F($$$): $$$"), [34]),
        (Query(pattern="g($X)", inside=["def $F($$$): $$$"], not_inside="def f($$$): $$$"), [29]),
        (Query(pattern="def $F($$$): $$$", has="g(x)"), [0, 17]),
        (Query(pattern="def $F($Y): $$$", has="g($Y)"), [0]),
        (Query(pattern="def $F($$$): $$$", not_has="g(y)"), [0, 17]),
        (Query(kind="call"), [12, 29, 34]),
        (Query(pattern="$X", kind="call"), [12, 29, 34]),
        (Query(any=["g(z)", "def f($$$): $$$"]), [0, 34]),
    ],
)
def test_what_is_around_and_inside(query: Query, starts: list[int]) -> None:
    assert [m.start for m in search("python", FUNCTIONS, query)[0]] == starts


RELAXED = [
    ("python", "def $F($$$): $$$", "def f() -> int: pass\n"),
    ("typescript", "function $F($$$) { $$$ }", "async function f<T>(a: T): void { }"),
    ("typescript", "let $X = $Y", "let a: number = 1"),
    ("java", "class $C { $$$ }", "@A public class B<T> extends D { }"),
    ("rust", "fn $F($$$) { $$$ }", "pub fn f<T>(a: T) -> u8 where T: X { 1 }"),
    ("go", "func $F($$$) { $$$ }", "package a\nfunc f[T any](a T) error { return nil }"),
    ("kotlin", "fun $F($$$) { $$$ }", "private fun <T> f(a: T): Int { }"),
    ("javascript", 'f("$X")', "f('a')"),
]


@pytest.mark.parametrize(("language", "pattern", "source"), RELAXED)
def test_relaxed_finds_what_exact_does_not(language: str, pattern: str, source: str) -> None:
    assert len(texts(language, source, Query(pattern=pattern, strictness="relaxed"))) == 1
    exact = texts(language, source, Query(pattern=pattern))
    assert exact == []


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"Y": Condition(regex="a")}, "binds $X"),
        ({"X": Condition(regex="(a")}, "regex of $X"),
        ({"X": Condition(kind="cal")}, "Near it: call"),
        ({"X": Condition(pattern="((")}, "not python"),
    ],
)
def test_a_condition_that_cannot_be_asked(where: dict[str, Condition], said: str) -> None:
    with pytest.raises(UserError) as caught:
        compile_query(Query(pattern="f($X)", where=where), "python")
    assert said in caught.value.message
