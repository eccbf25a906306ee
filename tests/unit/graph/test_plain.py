"""Languages without rules of their own: what a file defines, and the calls of it within the file."""

from __future__ import annotations

import pytest
from ombud.graph.extract import FULL, PLAIN, extract
from ombud.graph.facts import KINDS

from tests.unit.graph.edges import Memory, edges

CASES: dict[str, tuple[str, str, list[str], list[str]]] = {
    "lua": (
        "a.lua",
        (
            "-- Doc.\n"
            "local M = {}\n"
            "function M.f(a, b) return g(a) end\n"
            "function M:m(x) self:n() M.f(1) end\n"
            "local function g(x) print(x) end\n"
            "M.h = function(y) g(y) end\n"
            "local k = function() end\n"
            "function top() g() end\n"
        ),
        ["namespace M", "function M.f", "method M.m", "function g", "function M.h", "function k", "function top"],
        ["M.f -> g call", "M.m -> M.f call", "M.h -> g call", "top -> g call"],
    ),
    "bash": (
        "a.sh",
        (
            "# Doc\n"
            "greet() {\n"
            "  echo hi\n"
            '  other "$1"\n'
            "}\n"
            "function other { local x=$(greet a); greet | other; }\n"
            "greet x\n"
        ),
        ["function greet", "function other"],
        ["greet -> other call", "other -> greet call", "other -> greet call", "other -> other call", " -> greet call"],
    ),
    "swift": (
        "a.swift",
        (
            "/// Doc.\n"
            "class A: B { var x = 1\n"
            " init(a: Int) { self.m() }\n"
            " func m(_ y: Int) -> Int { return g(y) }\n"
            " static func s() {} }\n"
            "struct P { func q() { A.s(); A(a: 1).m(2) } }\n"
            "protocol Pr { func z() }\n"
            "enum E { case one, two }\n"
            "extension A { func ext() { m(1) } }\n"
            "func g(_ i: Int) -> Int { return i }\n"
            "let top = 3\n"
            "typealias T = Int\n"
        ),
        [
            "class A",
            "field A.x",
            "constructor A.init",
            "method A.m",
            "method A.s",
            "struct P",
            "method P.q",
            "interface Pr",
            "method Pr.z",
            "enum E",
            "enumMember E.one",
            "enumMember E.two",
            "method A.ext",
            "function g",
            "variable top",
            "type T",
        ],
        ["A.init -> A.m call", "A.m -> g call", "P.q -> A.s call", "P.q -> A.init call", "A.ext -> A.m call"],
    ),
    "scala": (
        "a.scala",
        (
            "package a.b\n"
            "/** Doc. */\n"
            "class A(x: Int) extends B with C { def m(y: Int): Int = g(y)\n"
            " val v = 1 \n"
            " this.m(2) }\n"
            "object O { def f() = new A(1).m(2) }\n"
            "trait T { def z(): Unit }\n"
            "case class CC(a: Int)\n"
            "enum Color { case Red, Green }\n"
            "def top() = O.f()\n"
            "type X = Int\n"
        ),
        [
            "class A",
            "method A.m",
            "field A.v",
            "namespace O",
            "method O.f",
            "trait T",
            "method T.z",
            "class CC",
            "field CC.a",
            "enum Color",
            "enumMember Color.Red",
            "enumMember Color.Green",
            "function top",
            "type X",
        ],
        ["A -> A.m call", "O.f -> A call", "top -> O.f call"],
    ),
    "dart": (
        "a.dart",
        (
            "import 'x.dart';\n"
            "/// Doc.\n"
            "class A extends B { int x = 1; A(this.x); "
            "A.named(); void m(int y) { g(y); this.n(); } static void s() {} int get p => 1; }\n"
            "mixin M {} \n"
            "enum E { one, two }\n"
            "extension X on A { void ext() {} }\n"
            "int g(int i) => i;\n"
            "void main() { g(1); A.s(); A(1).m(2); }\n"
            "typedef F = int Function();\n"
        ),
        [
            "class A",
            "field A.x",
            "constructor A.A",
            "constructor A.named",
            "method A.m",
            "method A.s",
            "property A.p",
            "trait M",
            "enum E",
            "enumMember E.one",
            "enumMember E.two",
            "class X",
            "method X.ext",
            "function g",
            "function main",
            "type F",
        ],
        ["A.m -> g call", "main -> g call", "main -> A.s call", "main -> A.A call"],
    ),
    "elixir": (
        "a.ex",
        (
            "defmodule A.B do\n"
            '  @doc "x"\n'
            "  def f(a, b) do\n"
            "    g(a)\n"
            "    A.B.f(1, 2)\n"
            "  end\n"
            "  defp g(x), do: x\n"
            "  defmacro m(x) do x end\n"
            "end\n"
        ),
        ["namespace A.B", "function A.B.f", "function A.B.g", "macro A.B.m"],
        ["A.B.f -> A.B.g call", "A.B.f -> A.B.f call"],
    ),
    "zig": (
        "a.zig",
        (
            'const std = @import("std");\n'
            "/// Doc.\n"
            "pub fn f(a: i32) i32 { return g(a); }\n"
            "fn g(x: i32) i32 { return x; }\n"
            "const S = struct { x: i32, pub fn m(self: S) void { self.n(); f(1); } fn n(self: S) void {} };\n"
            "const E = enum { a, b };\n"
            'test "x" { _ = f(1); }\n'
        ),
        [
            *("function f", "function g", "struct S", "field S.x", "method S.m", "method S.n"),
            *("enum E", "enumMember E.a", "enumMember E.b"),
        ],
        ["f -> g call", "S.m -> S.n call", "S.m -> f call", " -> f call"],
    ),
    "haskell": (
        "a.hs",
        (
            "module A where\n"
            "import Data.List\n"
            "-- | Doc.\n"
            "f :: Int -> Int\n"
            "f x = g x + h (g 1)\n"
            "g y = y\n"
            "data T = A Int | B { field :: Int }\n"
            "class C a where\n"
            "  m :: a -> Int\n"
            "instance C T where\n"
            "  m t = f 1\n"
            "type X = Int\n"
            "newtype N = N Int\n"
        ),
        [
            "function f",
            "function g",
            "type T",
            "constructor T.A",
            "constructor T.B",
            "field T.B.field",
            "interface C",
            "method C.m",
            "method T.m",
            "type X",
            "type N",
            "constructor N.N",
        ],
        ["f -> g call", "f -> g call", "T.m -> f call"],
    ),
    "sql": (
        "a.sql",
        (
            "-- Doc\n"
            "CREATE TABLE users (id INT PRIMARY KEY, name TEXT);\n"
            "CREATE VIEW v AS SELECT * FROM users;\n"
            "CREATE FUNCTION add(a INT, b INT) RETURNS INT AS $$ SELECT a + b $$ LANGUAGE sql;\n"
            "SELECT add(1, 2) FROM users;\n"
            "CREATE INDEX idx ON users (name);\n"
            "CREATE PROCEDURE p() LANGUAGE sql AS $$ SELECT 1 $$;\n"
        ),
        ["class users", "field users.id", "field users.name", "class v", "function add"],
        ["v -> users reference", " -> add call", " -> users reference", " -> users reference"],
    ),
}


@pytest.mark.parametrize("language", CASES)
def test_definitions(language: str) -> None:
    path, text, symbols, _ = CASES[language]
    facts = Memory({path: text}).facts(1)
    assert [f"{KINDS[one.kind]} {one.qualified}" for one in facts.symbols[1:]] == symbols


@pytest.mark.parametrize("language", CASES)
def test_calls_within_the_file(language: str) -> None:
    path, text, _, expected = CASES[language]
    assert [line.replace(f"{path}#", "") for line in edges({path: text}, ("call", "reference"))] == expected


@pytest.mark.parametrize("language", CASES)
def test_no_call_leads_to_another_file(language: str) -> None:
    path, text, _, expected = CASES[language]
    found = edges({path: text, f"other/{path}": text}, ("call", "reference"))
    assert len(found) == 2 * len(expected)
    assert all(line.split("#")[0] == line.split(" -> ")[1].split("#")[0] for line in found)


def test_a_parameter_hides_a_function() -> None:
    assert edges({"a.lua": "local function g() end\nlocal function f(g) g() end\n"}) == []
    assert edges({"a.swift": "func g() {}\nfunc f(g: () -> Int) { g() }\n"}) == []


@pytest.mark.parametrize("language", (*FULL, *PLAIN))
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xef\xbb\xbf",
        b"\xff\xfe\x00",
        b"(" * 3000,
        b"{\n" * 2000,
        b"f(\n" * 2000 + b")\n" * 2000,
        b"a.b\n" * 3000,
        b"\0",
    ],
    ids=["empty", "mark", "invalid", "open", "braces", "calls", "lines", "nul"],
)
def test_nothing_makes_an_extraction_fail(language: str, text: bytes) -> None:
    assert extract(language, text).language == language
