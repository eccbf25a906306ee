"""Languages without rules of their own: what a file defines, and the calls of it within the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from ombud.graph.extract import FULL, PLAIN, _extraction, extract
from ombud.graph.facts import EXPORTED, KINDS, TEST
from ombud.graph.worker import SKIPPED, Job, Worker, _allow

from tests.unit.graph.edges import Memory, edges, loose

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


SCOPES = [
    # Lua
    ("a.lua", "local function g() end\nlocal function f(g) g() end\n", []),
    ("a.lua", "local function g() end\ndo local g = 1; g() end\ng()", [" -> g call"]),
    ("a.lua", "local function g() end\nfor _, g in p() do g() end (function(g) g() end)()", []),
    ("a.lua", "local f\nf = function() f() end\nfunction h() f() end", ["f -> f call", "h -> f call"]),
    ("a.lua", "local M = {}\nfunction M.b() end\nfunction M:a() self:b() b() x:b() end", ["M.a -> M.b call"]),
    ("a.lua", "local T = { p = function() T.q() q() end, q = function() end }", ["T.p -> T.q call"]),
    ("a.lua", "return { p = function() end, q = function() p() end }", []),
    ("a.lua", 'function string.trim(s) end\nstring.trim("")\ntrim("")', [" -> string.trim call"]),
    ("a.lua", "function a.b.c() a.b.c() a.c() c() end", ["a.b.c -> a.b.c call"]),
    ("a.lua", "if x then function d() end else function d() end end\nd()", []),
    (
        "a.lua",
        "local function out() local function inner() end\nreturn inner() end\ninner()",
        ["out -> out.inner call"],
    ),
    ("a.lua", "local t = require 't'\nt.f()\nfunction f() end", []),
    # Swift
    ("a.swift", "func g() {}\nfunc f(g: () -> Int) { g() }\n", []),
    ("a.swift", "func g() {}\nfunc f() { let g = 1; g() }", []),
    (
        "a.swift",
        "func g() {}\nfunc f() { if let g = x { g() } else { } }\nfunc h() { m { g in g() } ; g() }",
        ["h -> g call"],
    ),
    ("a.swift", "class A { func m() { x.k(); self.k(); self?.k(); Self.s() }\nfunc k() {}\nstatic func s() {} }", 3),
    ("a.swift", "class B { func i() {} }\nclass A: B { func m() { super.i(); i(); self.i() } }", 3),
    ("a.swift", "func o(_ a: Int) {}\nfunc o(_ a: String) {}\nfunc f() { o(1) }", []),
    (
        "a.swift",
        'extension String { func a() { b() }\nfunc b() {} }\nfunc f() { String(1); "x".a() }',
        ["String.a -> String.b call"],
    ),
    ("a.swift", "class A { func m() {}\nclass In { func q() {} } }\nfunc f() { A.In().q(); m() }", ["f -> A.In call"]),
    # Scala
    (
        "a.scala",
        "class A(x: Int)\nobject A { def f() = new A(1) }\ndef t() = A.f()",
        ["A~2.f -> A call", "t -> A~2.f call"],
    ),
    (
        "a.scala",
        "class A(x: Int)\nobject A { def apply(x: Int) = new A(x) }\ndef t() = A(1)",
        ["A~2.apply -> A call", "t -> A~2.apply call"],
    ),
    ("a.scala", "def g() = 1\ndef f(g: Int => Int) = g(1)\ndef h() = { val g = x; g(); xs.map { g => g() } }", []),
    ("a.scala", "def o(a: Int) = 1\ndef o(a: String) = 1\ndef t() = o(1)", []),
    ("a.scala", "class A { def k() = 1; def m() = { y.k(); this.k(); k(); k[Int]() } }", 3),
    # Dart
    ("a.dart", "void g() {}\nvoid f(g) { g(); }\nvoid h() { var g = 1; g(); xs.map((g) => g()); }", []),
    (
        "a.dart",
        "class A { A(); A.n(); static A make() => A.n(); A k() => A(); }\nf() { A()..k(); foo.A.make(); }",
        ["A.make -> A.n call", "A.k -> A.A call", "f -> A.A call"],
    ),
    ("a.dart", "class B { void i() {} }\nclass A extends B { void m() { super.i(); i(); this.i(); x.i(); } }", 3),
    # Elixir: a function is its name and the number of its arguments.
    ("a.ex", "defmodule A do\ndef f(a), do: f(a, 1)\ndef f(a, b), do: g(a)\nend", ["A.f -> A.f~2 call"]),
    (
        "a.ex",
        "defmodule A do\ndef f(a, b \\\\ 1), do: a\ndef h(x) do\nf(x)\nf(x, 2)\nf(x, 2, 3)\nx |> f()\nx |> f\nend\nend",
        4,
    ),
    (
        "a.ex",
        "defmodule A do\ndef f(x), do: x\ndefmodule In do\ndef z(x) do\nf(x)\nA.f(x)\nend\nend\nend",
        ["A.In.z -> A.f call"],
    ),
    ("a.ex", "defmodule A do\ndef f(x), do: B.f(x)\ndef g(x), do: __MODULE__.f(x)\nend", ["A.g -> A.f call"]),
    # Zig
    ("a.zig", "const S = @This();\nfn a(self: *S) void { self.b(); x.b(); }\nfn b(self: *S) void {}", ["a -> b call"]),
    (
        "a.zig",
        (
            "fn L(comptime T: type) type { return struct { fn a(self: *T) void { self.b(); }"
            " fn b(self: *T) void {} }; }\nfn c() void { b(); }"
        ),
        ["L.a -> L.b call"],
    ),
    ("a.zig", "const P = struct { fn f() void {} };\nfn g() void { P.f(); x.P.f(); x.f(); f(); }", ["g -> P.f call"]),
    # Haskell
    (
        "a.hs",
        "f g = g 1\ng x = x\nh x = let g = x in g 1\nk = \\g -> g 1\nl q = case q of { Just g -> g 1; _ -> g 2 }",
        ["l -> g call"],
    ),
    ("a.hs", "run = 1\nf x = x\nmain = do\n  run\n  f <- run\n  f 1\n", ["main -> run call", "main -> run call"]),
    ("a.hs", "f x = h x\n  where h y = g y\ng x = x\nh x = x", ["f -> f.h call", "f.h -> g call"]),
    (
        "a.hs",
        "class S a where\n  s :: a -> Int\nu t = s t\ninstance S Int where\n  s x = u x\n",
        ["u -> S.s call", "Int.s -> u call"],
    ),
    # Shell
    ("a.sh", "a() { b() { :; }; }\nb\ncommand a\ntrap a EXIT\n", [" -> a.b call", " -> a reference"]),
    ("a.sh", "if x; then c() { :; }; else c() { :; }; fi\nc\n", []),
    # SQL: names are the same in capitals.
    (
        "a.sql",
        "create table Roles (id int);\nwith roles as (select 1) select * from roles;\nselect * from ROLES;",
        [" -> Roles reference"],
    ),
    ("a.sql", 'create table "U" (id int);\nselect * from u;\nselect * from "U";', [" -> U reference"]),
    (
        "a.sql",
        "create table r (id int);\ncreate table s (r int references r(id));\ninsert into r (id) values (1);",
        ["s -> r reference", " -> r reference"],
    ),
]


@pytest.mark.parametrize(
    ("path", "text", "expected"), SCOPES, ids=[f"{path}-{number}" for number, (path, *_) in enumerate(SCOPES)]
)
def test_a_call_leads_where_its_scope_says(path: str, text: str, expected: list[str] | int) -> None:
    found = [line.replace(f"{path}#", "") for line in edges({path: text}, ("call", "reference"))]
    assert (len(found) if isinstance(expected, int) else found) == expected


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("a.lua", "local function g() end\nlocal function f(g) g() x.y() z() end", ["y", "z"]),
        ("a.ex", "defmodule A do\nimport B\ndef f(x), do: h(x, 1)\nend", ["h"]),
        ("a.swift", "func o(_ a: Int) {}\nfunc o(_ a: String) {}\nfunc f(p: P) { o(1); p.q() }", ["o", "q"]),
    ],
)
def test_calls_that_lead_nowhere_stay_loose_by_their_bare_name(path: str, text: str, expected: list[str]) -> None:
    assert loose({path: text}) == expected


@pytest.mark.parametrize(
    ("path", "text", "name", "signature", "doc", "flags", "lines"),
    [
        ("a.lua", "-- Says.\nlocal function f(a,\n  b)\nend\n", "f", "local function f(a, b)", "Says.", 0, (1, 3)),
        (
            "a.swift",
            "/// Says.\n@objc\npublic func f(a: Int) -> Int {\n}\n",
            "f",
            "public func f(a: Int) -> Int",
            "Says.",
            EXPORTED,
            (2, 3),
        ),
        (
            "a.swift",
            "class T: XCTestCase {\n func testA() {}\n}\n",
            "testA",
            "func testA()",
            "",
            EXPORTED | TEST,
            (1, 1),
        ),
        (
            "a.scala",
            "/** Says. */\nprivate def f(a: Int): Int = {\n 1\n}\n",
            "f",
            "private def f(a: Int): Int",
            "Says.",
            0,
            (1, 3),
        ),
        (
            "a.dart",
            "/// Says.\n@deprecated\nint f(int a) {\n  return a;\n}\n",
            "f",
            "int f(int a)",
            "Says.",
            EXPORTED,
            (2, 4),
        ),
        (
            "a.ex",
            'defmodule A do\n  @doc "Says."\n  @spec f(a) :: a\n  def f(a) do\n  a\n  end\nend\n',
            "f",
            "def f(a)",
            "Says.",
            EXPORTED,
            (3, 5),
        ),
        ("a.ex", "defmodule A do\n  defp f(a), do: a\nend\n", "f", "defp f(a), do: a", "", 0, (1, 1)),
        (
            "a.zig",
            "/// Says.\npub fn f(a: u8) u8 {\n  return a;\n}\n",
            "f",
            "fn f(a: u8) u8",
            "Says.",
            EXPORTED,
            (1, 3),
        ),
        ("a.hs", "-- | Says.\nf :: Int -> Int\nf 0 = 1\nf x = x\n", "f", "f :: Int -> Int", "Says.", EXPORTED, (2, 3)),
        ("a.sh", "# Says.\nf() {\n  :\n}\n", "f", "f()", "Says.", EXPORTED, (1, 3)),
        ("a.sql", "-- Says.\nCREATE TABLE t (\n  id INT\n);\n", "t", "CREATE TABLE t", "Says.", EXPORTED, (1, 3)),
    ],
)
def test_what_is_said_of_a_definition(
    path: str, text: str, name: str, signature: str, doc: str, flags: int, lines: tuple[int, int]
) -> None:
    symbol = next(one for one in extract(Memory.language_of(path), text.encode()).symbols if one.name == name)
    assert (symbol.signature, symbol.doc, symbol.flags) == (signature, doc, flags)
    assert (symbol.range[0], symbol.range[2]) == lines


def test_a_language_without_rules_is_no_failure_of_its_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.lua").write_text("f()\n")
    monkeypatch.setitem(FULL, "lua", "nowhere")
    _extraction.cache_clear()
    try:
        with (tmp_path / "marker").open("w+b") as marker:
            (done,) = Worker(tmp_path, marker.fileno(), extract).batch([Job(1, "a.lua", "lua")])
    finally:
        _allow(0)
        _extraction.cache_clear()
    assert (done.kind, done.reason) == (SKIPPED, "the graph does not read lua")


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
        b"x = a" + b".b" * 10_000 + b"()\n",
    ],
    ids=["empty", "mark", "invalid", "open", "braces", "calls", "lines", "nul", "chain"],
)
def test_nothing_makes_an_extraction_fail(language: str, text: bytes) -> None:
    assert extract(language, text).language == language
