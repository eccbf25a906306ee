"""Facts of Rust: a table of texts and what is read from them."""

from __future__ import annotations

import pytest
from ombud.graph.extract import extract
from ombud.graph.facts import DECLARES, REEXPORT

from tests.unit.graph.cases import cases
from tests.unit.graph.reading import read

CASES = cases("rust/extract.txt")


@pytest.mark.parametrize("name", CASES)
def test_extraction(name: str) -> None:
    case = CASES[name]
    what = name.partition(":")[0]
    assert getattr(read("rust", case["source"]), what) == case[what].splitlines()


def test_what_a_symbol_says() -> None:
    facts = extract(
        "rust",
        b"//! About the crate.\n\n/// Does.\n/// Much.\n#[inline]\npub fn f<T>(a: T, b: u8) -> R {\n}\n\n"
        b"/** A kind. */\nenum E {\n"
        b"    /// One.\n    A,\n}\n",
    )
    module, function, kind, variant = facts.symbols
    assert module.doc == "About the crate."
    assert (function.doc, function.signature) == ("Does.\nMuch.", "pub fn f<T>(a: T, b: u8) -> R")
    assert (function.range, function.at) == ((5, 0, 6, 1), (5, 7, 1))
    assert (function.params, function.arity, function.generics) == (["a", "b"], (2, 2), ["T"])
    assert (kind.doc, variant.doc) == ("A kind.", "One.")


def test_what_an_import_says() -> None:
    facts = extract("rust", b'pub use a::b as c;\nmod m;\n#[path = "x/y.rs"]\npub mod n;\n')
    listed = [(one.module, one.name, one.alias, one.flags) for one in facts.imports]
    assert sorted(listed) == [
        ("a", "b", "c", REEXPORT),
        ("m", "", "m", DECLARES),
        ("n", "x/y.rs", "n", DECLARES | REEXPORT),
    ]


def test_places_are_in_utf16_units() -> None:
    assert read("rust", 'fn f() { g("é😀", h()) }').places == [(0, 9, 1), (0, 18, 1)]


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xef\xbb\xbffn f() { g() }",
        b"fn f( { if let x = ; match {",
        b"fn \xff\xfe() { \xff() }",
        b"fn f() { " + b"a." * 10_000 + b"b() }",
        b"fn f() { " + b"f(" * 3_000 + b")" * 3_000 + b" }",
        b"fn f() { " + b"1+" * 10_000 + b"1 }",
        b"fn f() { m!" + b"(" * 3_000 + b")" * 3_000 + b" }",
        b"use " + b"a::{" * 3_000 + b"b" + b"}" * 3_000 + b";",
        b"fn f() { let " + b"(" * 3_000 + b"a" + b",)" * 3_000 + b" = x; }",
    ],
    ids=[
        "empty",
        "bom",
        "errors",
        "invalid UTF-8",
        "long chain",
        "nested calls",
        "left-deep",
        "tokens",
        "use",
        "pattern",
    ],
)
def test_odd_texts(source: bytes) -> None:
    facts = extract("rust", source)
    assert facts.symbols[0].qualified == ""
