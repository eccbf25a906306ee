"""Facts of JavaScript and TypeScript: a table of texts and what is read from them."""

from __future__ import annotations

import pytest
from ombud.graph.extract import extract
from ombud.graph.facts import EXPORTED
from ombud.graph.packed import encode

from tests.unit.graph.cases import cases
from tests.unit.graph.reading import read

CASES = cases("ecma/extract.txt")
LANGUAGES = ("javascript", "javascriptreact", "typescript", "typescriptreact")


@pytest.mark.parametrize("name", CASES)
def test_extraction(name: str) -> None:
    (language, source), (what, expected) = CASES[name].items()
    assert what == name.partition(":")[0]
    assert getattr(read(language, source), what) == expected.splitlines()


def test_what_a_symbol_says() -> None:
    facts = extract(
        "typescript",
        b"/** About f. */\n@skip\nexport async function f<T>(a: A, b?: B, ...c: C[]): Promise<T> {\n}\n"
        b"class K {\n  /** About m.\n   * Much. */\n  @dec()\n  static m(x = 1): void {}\n}\n"
        b"// About g.\nexport const g = (x: A): B => x;\n",
    )
    f, k, m, g = (next(one for one in facts.symbols if one.name == name) for name in ("f", "K", "m", "g"))
    assert f.signature == "export async function f<T>(a: A, b?: B, ...c: C[]): Promise<T>"
    assert (f.params, f.arity, f.generics) == (["a", "b", "c"], (1, -1), ["T"])
    assert (m.doc, m.signature, m.range[0], m.at[0]) == ("About m.\nMuch.", "static m(x = 1): void", 8, 8)
    assert (m.arity, k.flags & EXPORTED) == ((0, 1), 0)
    assert (g.doc, g.signature, g.range[:2], g.at) == (
        "About g.",
        "export const g = (x: A): B",
        (11, 0),
        (11, 13, 1),
    )


def test_places_are_in_utf16_units() -> None:
    assert read("typescript", 'function f() { g("é😀", h()) }').places == [(0, 15, 1), (0, 24, 1)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_equal_texts_have_equal_facts(language: str) -> None:
    """A query's captures come in another order each time."""
    source = b"".join(
        b"export const f%d = (x) => a.b(x).c(f%d(), new D%d());\n// %d\n" % (n, n, n, n) for n in range(80)
    )
    assert len({encode(extract(language, source)) for _ in range(6)}) == 1


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xef\xbb\xbfexport function f() { g() }",
        b"class { foo( { if x } } => export import {",
        b"function \xff\xfe() { \xff() } class A { \xfe = \xff.x() }",
        b"x = " + b"a." * 10_000 + b"b()",
        b"x" + b".f()" * 3_000,
        b"x = " + b"f(" * 2_000 + b")" * 2_000,
        b"x = " + b"1+" * 10_000 + b"1",
        b"x = " + b"()=>" * 1_000 + b"1",
        b"const " + b"{a:" * 2_000 + b"b" + b"}" * 2_000 + b"=x",
        b"function f(" + b"[" * 2_000 + b"a" + b"]" * 2_000 + b") {}",
        b"if(" + b"x instanceof A && " * 300 + b"1){}",
        b"type T=" + b"A<" * 1_000 + b"B" + b">" * 1_000,
        b"(" * 2_000 + b"[a] = b",
    ],
    ids=[
        *("empty", "bom", "errors", "invalid UTF-8", "long chain", "chain of calls", "nested calls", "left-deep"),
        *("nested closures", "nested pattern", "nested parameter", "long condition", "nested types", "open brackets"),
    ],
)
def test_odd_texts(language: str, source: bytes) -> None:
    facts = extract(language, source)
    assert facts.symbols[0].qualified == ""


def test_names_of_one_file_are_unique() -> None:
    facts = extract(
        "javascript", b"function f() {} { function f() {} } const o = { f() {}, f() {} }; var f; class f {}"
    )
    names = [one.qualified for one in facts.symbols]
    assert len(names) == len(set(names))
