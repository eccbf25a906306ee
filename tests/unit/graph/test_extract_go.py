"""Facts of Go: a table of texts and what is read from them."""

from __future__ import annotations

import pytest
from ombud.graph.extract import extract
from ombud.graph.facts import NARROWED, each

from tests.unit.graph.cases import cases
from tests.unit.graph.reading import read

PACKAGE = "package p\n"
CASES = cases("go/extract.txt")


@pytest.mark.parametrize("name", CASES)
def test_extraction(name: str) -> None:
    case = CASES[name]
    what = name.partition(":")[0]
    assert getattr(read("go", PACKAGE + case["source"]), what) == case[what].splitlines()


def test_what_a_symbol_says() -> None:
    facts = extract(
        "go",
        b"// About p.\npackage p\n\n// F does.\n// Much.\nfunc F(a int) (T, error) {\n}\n\n"
        b"const (\n\t// About A.\n\tA K = iota\n\tB\n)\n",
    )
    module, function, a, b = facts.symbols
    assert facts.package == "p"
    assert (module.doc, module.signature) == ("About p.", "package p")
    assert (function.doc, function.signature) == ("F does.\nMuch.", "func F(a int) (T, error)")
    assert (function.range, function.at) == ((5, 0, 6, 1), (5, 5, 1))
    assert (function.params, function.arity) == (["a"], (1, 1))
    assert (a.doc, b.type) == ("About A.", a.type)
    assert a.type


def test_build_constraints_stand_in_the_signature() -> None:
    facts = extract("go", b"// Copyright\n\n//go:build linux && !cgo\n\npackage p\n")
    assert facts.symbols[0].signature == "package p //go:build linux && !cgo"


def test_places_are_in_utf16_units() -> None:
    assert read("go", 'package p\nfunc f() { g("é😀", h()) }').places == [(1, 11, 1), (1, 20, 1)]


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xef\xbb\xbfpackage p\nfunc f() { g() }",
        b"package p\nfunc f( { if x := ; for {",
        b"package p\nfunc \xff\xfe() { \xff() }",
        b"package p\nvar x = " + b"a." * 10_000 + b"b()",
        b"package p\nvar x = " + b"f(" * 3_000 + b")" * 3_000,
        b"package p\nvar x = " + b"1+" * 10_000 + b"1",
        b"package p\nvar x = []T" + b"{" * 3_000,
    ],
    ids=["empty", "bom", "errors", "invalid UTF-8", "long chain", "nested calls", "left-deep", "nested literals"],
)
def test_odd_texts(source: bytes) -> None:
    facts = extract("go", source)
    assert facts.symbols[0].qualified == ""


def test_a_narrowing_ends_with_its_case() -> None:
    facts = extract(
        "go", b"package p\nfunc f(x any) {\n\tswitch y := x.(type) {\n\tcase T:\n\t\ty.M()\n\tcase nil:\n\t}\n}\n"
    )
    lines = [(start >> 12, end >> 12) for _, _, what, _, start, end in each(facts.bindings, 6) if what == NARROWED]
    assert lines[0] == (3, 5)
