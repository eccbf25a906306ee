"""The matcher: spans, captures, variadics, sequences and what does not count, each by what it finds in a text."""

from __future__ import annotations

import pytest
from ombud.structural.compiled import compile_query
from ombud.structural.query import Query

from tests.unit.structural.searching import search, texts

FINDS = [
    ("ast-grep#714 the last argument alone", "f($$$A, z, $$$B)", "f(z)\nf(a, b, z)\nf(a)\n", ["f(z)", "f(a, b, z)"]),
    ("ast-grep#1365 two variadics around one", "f($$$, $X, $$$)", "f()\nf(a)\nf(a, b)\n", ["f(a)", "f(a, b)"]),
    ("a variadic takes nothing", "f($X, $$$A)", "f(a)\nf(a, b)\nf()\n", ["f(a)", "f(a, b)"]),
    ("a trailing comma in the source", "f($X)", "f(a,)\n", ["f(a,)"]),
    ("a trailing comma in the pattern", "f($X,)", "f(a)\n", ["f(a)"]),
    ("a tuple of one is no parenthesis", "($X,)", "x = (a)\ny = (a,)\n", ["(a,)"]),
    ("a comment between arguments", "f($X, $Y)", "f(a,  # one\n  b)\n", ["f(a,  # one\n  b)"]),
    ("wrapping and white space", "f($X, b)", "f(\n  a,\n  b\n)\n", ["f(\n  a,\n  b\n)"]),
    ("never in strings or comments", "f($X)", "'f(a)'\n# f(b)\n", []),
    ("a repeated name compares leaves", "$X == $X", "a . b == a.b\na == b\n", ["a . b == a.b"]),
    ("a repeated name and a trailing comma", "$X == $X", "f(1,) == f( 1 )\n", ["f(1,) == f( 1 )"]),
    ("an underscore is never compared", "$_ == $_", "a == b\n", ["a == b"]),
    ("nested matches are all found", "f($X)", "f(f(1))\n", ["f(f(1))", "f(1)"]),
    ("a longer name is another", "f($X)", "ff(1)\nf_(1)\n", []),
    ("one variable is one statement", "if $C: $B", "if a:\n  b\n  c\nif d: e\n", ["if d: e"]),
    ("a skipped modifier", "def $F($$$): $$$", "async def f(): pass\n", ["async def f(): pass"]),
    ("a string's content", '"$X"', 'a = "b c"\n', ['"b c"']),
    ("part of a string is text", '"cost $USD"', 'a = "cost $USD"\nb = "cost 5"\n', ['"cost $USD"']),
    ("non-ASCII before the match", "f($X)", "x = 'äöü€😀'; f(ä)\n", ["f(ä)"]),
    (
        "a sequence",
        "$A = open($B)\n$A.close()",
        "f = open(x)\nf.close()\ng = open(y)\nf.close()\n",
        ["f = open(x)\nf.close()"],
    ),
    ("a sequence with a gap", "$A = 1\n$$$\ng($A)", "a = 1\nb()\nc()\ng(a)\n", ["a = 1\nb()\nc()\ng(a)"]),
    ("a sequence does not overlap itself", "f()\nf()", "f()\nf()\nf()\n", ["f()\nf()"]),
    ("an argument is no assignment", "$A = $B", "x = 1\nf(y=2)\n", ["x = 1"]),
    ("an error beside a match", "f($X)", "x = = 1\nf(1)\n", ["f(1)"]),
    ("an error inside is no argument", "f($X)", "f(1 2)\nf(3)\n", ["f(3)"]),
]


@pytest.mark.parametrize(("pattern", "source", "found"), [row[1:] for row in FINDS], ids=[row[0] for row in FINDS])
def test_finds(pattern: str, source: str, found: list[str]) -> None:
    assert texts("python", source, Query(pattern=pattern)) == found


def test_captures_have_places_in_bytes_and_items() -> None:
    source = "x = 'ä'; f(a, b,  # why\n c, z)\n"
    (match,), more, name = search("python", source, Query(pattern="f($$$A, $Z)"))
    data = source.encode()
    assert (more, name, match.kind) == (False, "statement", "call")
    listed, last = match.captures["A"], match.captures["Z"]
    assert data[listed.start : listed.end].decode() == "a, b,  # why\n c"
    assert listed.items is not None
    assert [data[start:end].decode() for start, end in listed.items] == ["a", "b", "c"]
    assert (data[last.start : last.end], last.items) == (b"z", None)


def test_fixed_are_the_leaves_of_the_pattern_alone() -> None:
    source = "async def f(a):  # why\n    pass\n"
    (match,), _, _ = search("python", source, Query(pattern="def $F($$$A): pass"))
    assert [source[start:end] for start, end in match.fixed] == ["def", "(", ")", ":", "pass"]


def test_an_empty_list_is_an_empty_place_where_it_would_stand() -> None:
    (match,), _, _ = search("python", "f(z)\n", Query(pattern="f($$$A, z, $$$B)"))
    assert {name: (c.start, c.end, c.items) for name, c in match.captures.items()} == {"A": (2, 2, ()), "B": (3, 3, ())}


def test_no_more_than_asked_for_and_it_is_said() -> None:
    matches, more, _ = search("python", "f(1)\nf(2)\nf(3)\n", Query(pattern="f($X)"), most=2)
    assert ([m.start for m in matches], more) == ([0, 5], True)
    matches, more, _ = search("python", "f(1)\nf(2)\n", Query(pattern="f($X)"), most=2)
    assert (len(matches), more) == (2, False)


def test_a_file_without_a_literal_is_told_by_its_bytes() -> None:
    (rung, *_) = compile_query(Query(pattern="isinstance($X, str)"), "python").rungs
    assert rung.may_match(b"if isinstance(x, str): pass")
    assert not rung.may_match(b"if isinstance(x, int): pass")


@pytest.mark.parametrize(
    ("language", "pattern", "source", "found"),
    [
        ("javascript", "yield $X", "function* f() { yield a; yield* b; }", ["yield a"]),
        ("javascript", "f($X);", "f(1)\ny = f(2);\nf(3);", ["f(1)", "f(3);"]),
        ("javascript", "$(this).$M()", "$(this).hide(); $(that).hide()", ["$(this).hide()"]),
        ("typescript", "$X?.$Y", "a?.b; a.b", ["a?.b"]),
        ("php", "f($x, $X)", "<?php f($x, 1); f($y, 2);", ["f($x, 1)"]),
        ("php", "$_GET[$X]", "<?php $_GET['a']; $b['a'];", ["$_GET['a']"]),
        ("dart", "$X.foo()", "void f() { a.b.foo(); foo(); }", ["a.b.foo()"]),
        ("rust", "println!($F, $X)", 'fn f() { println!("{}", a + 1); }', ['println!("{}", a + 1)']),
        ("csharp", "$X.Foo()", "class A { void M() { this.Foo(); a.Foo(); } }", ["this.Foo()", "a.Foo()"]),
        (
            "go",
            "func $F($$$) { $$$ }",
            "package a\nfunc f() {}\nfunc g(a int) { h() }\n",
            ["func f() {}", "func g(a int) { h() }"],
        ),
        ("lua", "$X = $Y", "local a = 1\nb = 2\n", ["b = 2"]),
    ],
)
def test_other_languages(language: str, pattern: str, source: str, found: list[str]) -> None:
    assert texts(language, source, Query(pattern=pattern)) == found
