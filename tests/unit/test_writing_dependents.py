"""What of a change counts, which symbols it touches, and who imports a file: by text alone, without a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ombud.downstream.catalogue import load_catalogue
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.operations.writing.importers import importers, imports
from ombud.operations.writing.lexis import Hunk, Page, declared, hunks, telling
from ombud.operations.writing.symbols import Reading, Symbol, outline
from ombud.text.diff import line_map
from ombud.text.ranges import Position

from tests.conftest import Workspace


def told(old: str, new: str, language: str | None) -> bool:
    return bool(telling(Page(old, language), Page(new, language), line_map(old, new)))


@pytest.mark.parametrize(
    ("language", "old", "new", "counts"),
    [
        ("python", "a = 1\n", "a = 1  \n", False),
        ("python", "a = f(b,c)\n", "a = f(b, c)\n", False),
        ("python", "a = 1\n", "\n\na = 1\n", False),
        ("python", "a = 1\n", "# Why.\na = 1\n", False),
        ("python", "# One.\na = 1\n", "a = 1\n", False),
        ("python", "a = 'b c'\n", "a = 'bc'\n", True),
        ("python", "a = 1\n", "a = 2\n", True),
        ("python", "if a:\n    b()\nc()\n", "if a:\n    b()\n    c()\n", True),
        ("python", "__all__ = ['a', 'b']\n", "__all__ = ['a']\n", True),
        ("python", "a = []\n", "# type: ignore\na = []\n", True),
        ("python", "a = '''\nb\n'''\n", "a = '''\nc\n'''\n", True),
        ("typescript", "f(a, b);\n", "f(\n  a,\n  b\n);\n", False),
        ("typescript", "// One.\nf();\n", "// Two.\nf();\n", False),
        ("typescript", "/**\n * One.\n */\nf();\n", "/**\n * Two.\n * Three.\n */\nf();\n", False),
        ("javascript", "/** @type {number} */\nlet a;\n", "/** @type {string} */\nlet a;\n", True),
        ("typescript", "return a;\n", "return\n a;\n", True),
        ("typescript", 'const a = "//b";\n', 'const a = "//c";\n', True),
        ("typescript", "a(); /* b */ c();\n", "a(); /* b */ d();\n", True),
        ("typescript", "/* b */ c();\n", "/* b */ d();\n", True),
        ("go", "// A.\nfunc a() {}\n", "// B.\nfunc a() {}\n", False),
        ("go", "//go:build linux\npackage a\n", "//go:build darwin\npackage a\n", True),
        ("cpp", "#define A 1\nint b;\n", "#define A 1 int b;\n", True),
        ("cpp", "*p = 1;\n", "*q = 1;\n", True),
        ("rust", "fn a(x: &'a str) {}\n", "fn a( x: &'a str ) {}\n", False),
        ("yaml", "a: 1\n", "a: 1 \n", False),
        ("yaml", "a:\n  b: 1\n", "a:\nb: 1\n", True),
        (None, "# a\n", "# b\n", True),
        ("python", "", "a = 1\n", True),
        ("python", "a = 1\r\n", "a = 1\n", False),
    ],
)
def test_comments_and_white_space_count_for_nothing(language: str | None, old: str, new: str, counts: bool) -> None:
    assert told(old, new, language) is counts


def test_hunks_are_the_lines_between_what_stayed() -> None:
    assert hunks(line_map("a\nb\nc\nd\n", "a\nx\nc\nd\ne\n")) == [Hunk(1, 2, 1, 2), Hunk(4, 4, 4, 5)]
    assert hunks(line_map("a\n", "a\n")) == []


def test_names_are_counted_in_utf16_units() -> None:
    first, quoted, last = Page("\U0001f6a2 = ship('sail', x_1)", "python").names(0)
    assert (first.text, first.character, first.quoted) == ("ship", 5, False)
    assert (quoted.text, quoted.character, quoted.quoted) == ("sail", 11, True)
    assert (last.text, last.character) == ("x_1", 18)


def test_what_lines_declare() -> None:
    page = Page("def sail(): ...\nMAST: int = 1\nx == y\nfrom a import b as keel\n", "python")
    assert {"sail", "MAST", "keel"} <= declared(page, range(4))
    assert "x" not in declared(page, range(4))


# -- symbols


def symbol(name: str, kind: int, start: int, end: int, *children: Any, at: int = 0) -> dict[str, Any]:
    name_ends = {"line": start, "character": at + len(name)}
    return {
        "name": name,
        "kind": kind,
        "range": {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 80}},
        "selectionRange": {"start": {"line": start, "character": at}, "end": name_ends},
        "children": list(children),
    }


OLD = """\
from .hull import Keel, Mast
CONFIG = {
    "a": 1,
}


@sails
class Ship:
    length: int

    def __init__(self, x):
        self.x = x

    def sail(self, to):
        local = to
        return local


def fits(ship):
    return ship
"""
ANSWER = [
    symbol("CONFIG", 13, 1, 1),
    symbol(
        "Ship",
        5,
        7,
        15,
        symbol("length", 13, 8, 8, at=4),
        symbol("__init__", 6, 10, 11, at=8),
        symbol("sail", 6, 13, 15, symbol("to", 13, 13, 13, at=19), symbol("local", 13, 14, 14, at=8), at=8),
        at=6,
    ),
    symbol("fits", 12, 18, 19, at=4),
]


def touched(old: str, new: str, answer: Any = ANSWER) -> dict[str, int]:
    """Name → tier of what would be asked about."""
    before, after = Page(old, "python"), Page(new, "python")
    reading = Reading(before, after, outline(answer, before.lines))
    return {one.name: one.tier for one in reading.wanted(telling(before, after, line_map(old, new)))}


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("local = to", "local = 1", {"sail": 0}),
        ("def sail(self, to)", "def sail(self)", {"sail": 0, "Ship": 2}),
        ("        self.x = x", "        self.x = 2", {"__init__": 0, "Ship": 1}),
        ("    length: int", "    length: str", {"length": 0, "Ship": 1}),
        ("class Ship:", "class Ship(Boat):", {"Ship": 0}),
        ("@sails", "@sails(1)", {"Ship": 0, "sails": 0}),
        ("@sails\n", "", {"Ship": 0, "sails": 0}),
        ("@sails\n", "@sails\n@rows\n", {"Ship": 0}),
        ('    "a": 1,', '    "b": 1,', {"CONFIG": 0}),
        ("}\n", "    2: 3,\n}\n", {"CONFIG": 0}),
        ("Keel, Mast", "Mast", {"Keel": 0}),
        ("from .hull import Keel, Mast", "from .deck import Keel, Mast", {"Keel": 0, "Mast": 0}),
        ("        return local\n", "        return local\n\n    def moor(self): ...\n", {"Ship": 0}),
        ("        return local\n", "        return local\n        pass\n", {"sail": 0}),
        ("    def sail", "    def moor(self): ...\n\n    def sail", {"Ship": 0}),
        ("def fits(ship):", "def other(): ...\n\n\ndef fits(ship):", {}),
        ("    return ship\n", "    return ship\n\n\ndef CONFIG(): ...\n", {"CONFIG": 0}),
        ("def fits(ship):\n    return ship\n", "", {"fits": 0}),
    ],
)
def test_what_a_change_touches(before: str, after: str, wanted: dict[str, int]) -> None:
    assert OLD.count(before) == 1
    assert touched(OLD, OLD.replace(before, after)) == wanted


@pytest.mark.parametrize(
    ("language", "header", "before", "after", "wanted"),
    [
        ("python", "def sail(to: str) -> int:", "    return 1", "    return 2", False),
        ("python", "def sail(to: str) -> int:", "    return 1", "    x = 1\n    return x", False),
        ("python", "def sail(to: str):", "    return 1", "    return 'a'", True),
        ("python", "def sail(self, to: str) -> None:", "    pass", "    self.to = to", True),
        ("python", "def sail(self, to: str) -> None:", "    self.to: str", "    pass", True),
        ("python", "def sail(self, to: str) -> None:", "    pass", "    print(self.to == to)", False),
        ("python", "def sail() -> None:", "    pass", "    global WIND", True),
        ("typescript", "export function sail(to: string): number {", "  return 1", "  return 2", False),
        ("typescript", "export function sail(to: string) {", "  return 1", "  return 2", True),
        ("javascript", "export function sail(to) {", "  return 1", "  return 2", True),
        ("go", "func Sail(to string) int {", "\treturn 1", "\treturn 2", False),
        ("rust", "pub fn sail(to: &str) -> i32 {", "    1", "    2", False),
        ("cpp", "inline int sail(int to) {", "  return 1;", "  return 2;", True),
        ("kotlin", "fun sail(to: String) {", "  f()", "  g()", True),
        # New lines in a header of several lines are no body.
        ("python", "def sail(", "    to,\n) -> int:\n    pass", "    to,\n    by,\n) -> int:\n    pass", True),
        ("python", "def sail(", "    to,\n) -> int:\n    pass", "    by,\n    to,\n) -> int:\n    pass", True),
        ("go", "func Sail(", "\tto string,\n) int {\n\treturn 1", "\tto string,\n\tby int,\n) int {\n\treturn 1", True),
        ("rust", "pub fn sail(", "    to: u8,\n) -> u8 {\n    1", "    to: u8,\n    by: u8,\n) -> u8 {\n    1", True),
        ("python", "def sail(", "    to,\n) -> int:\n    pass", "    to,\n) -> int:\n    pass\n    f()", False),
        # A comment says nothing of what is returned.
        ("python", "def sail(to):  # noqa", "    return 1", "    return 'a'", True),
        ("python", "def sail(to):  # to (a) -> b", "    return 1", "    return 'a'", True),
        ("python", "def sail(to) -> int:  # noqa", "    return 1", "    return 2", False),
        # What an instance has may follow from any line of the method.
        ("python", "def sail(self) -> None:", "    x = 1\n    self.x = x", "    x = 'a'\n    self.x = x", True),
        ("python", "def sail(self) -> None:", "    self.x = [\n    1,\n    ]", "    self.x = [\n    'a',\n    ]", True),
        # What no longer ends in the function, or is no function.
        ("go", "func Sail(to string) int {", "\treturn 1", "\treturn 1 /*", True),
        ("python", "def sail() -> int:", "    return 1", '    """\n    return 1', True),
        ("typescript", "export function sail(to: string): number {", "  return 1", "  if (to) {\n  return 1", True),
        ("rust", "macro_rules! sail {", "    () => { 1 }", "    () => { 'a' }", True),
        ("rust", "pub const fn sail() -> usize {", "    1", "    2", True),
        ("rust", "pub fn sail() -> impl Sails {", "    1", "    2", True),
    ],
)
def test_a_body_that_nobody_else_sees_is_not_asked_about(
    language: str, header: str, before: str, after: str, wanted: bool
) -> None:
    old, new = (Page(f"{header}\n{body}\n", language) for body in (before, after))
    end = len(old.lines) - 2
    answer = [symbol("sail", 12, 0, end, at=header.index("sail") if "sail" in header else header.index("Sail"))]
    reading = Reading(old, new, outline(answer, old.lines))
    found = reading.wanted(telling(old, new, line_map(f"{header}\n{before}\n", f"{header}\n{after}\n")))
    assert bool(found) is wanted


def test_a_file_that_goes_is_asked_about_from_the_outside_in() -> None:
    before, after = Page(OLD, "python"), Page("", "python")
    reading = Reading(before, after, outline(ANSWER, before.lines))
    names = [one.name for one in reading.wanted([Hunk(0, len(before.lines), 0, 0)])]
    assert not {"local", "to"} & set(names), "what is local has no users elsewhere"
    assert max(map(names.index, ("CONFIG", "Ship", "fits"))) < min(map(names.index, ("length", "sail", "__init__")))


def test_names_of_all_are_asked_about_where_they_come_from() -> None:
    before = Page('from .a import b as c\n__all__ = ["c", "d", "nowhere"]\n', "python")
    after = Page('from .a import b as c\n__all__ = ["d"]\n', "python")
    reading = Reading(before, after, outline([symbol("__all__", 13, 1, 1)], before.lines))
    wanted = reading.wanted([Hunk(1, 2, 1, 2)])
    assert [(one.name, one.at) for one in wanted] == [("c", Position(0, 20))]


def flat(*answer: dict[str, Any]) -> list[dict[str, Any]]:
    """As a server answers a client that knows no hierarchy: ``SymbolInformation[]``."""
    out = []
    for one in answer:
        where = {"uri": "file:///a.py", "range": one["range"]}
        out += [{"name": one["name"], "kind": one["kind"], "location": where}, *flat(*one["children"])]
    return out


def test_a_flat_answer_is_read_as_a_nested_one() -> None:
    found = {one.name: one for one in outline(flat(*ANSWER), Page(OLD, "python").lines)}
    assert found["sail"].parent is found["Ship"]
    assert found["local"].parent is found["sail"]
    assert found["sail"].at == Position(13, 8)
    assert touched(OLD, OLD.replace("local = to", "local = 1"), flat(*ANSWER)) == {"sail": 0}


@pytest.mark.parametrize("answer", [None, {}, "x", [1, None, {}, {"name": "a"}, {"name": "a", "range": 5}]])
def test_what_is_no_symbol_is_left_out(answer: Any) -> None:
    assert outline(answer, ["a"]) == []


def test_what_is_declared_in_a_function_that_is_a_value_is_local() -> None:
    value = Symbol("outer", 14, 0, 2, Position(0, 0))
    assert Symbol("inner", 14, 1, 1, Position(1, 0), value).local
    assert not Symbol("member", 7, 1, 1, Position(1, 0), value).local


# -- importers

ROOT = Path("/ws")


@pytest.mark.parametrize(
    ("language", "path", "text", "target", "expected"),
    [
        ("python", "b.py", "from h.a import x\n", "h/a.py", False),
        ("python", "b.py", "from h import a\n", "h/a.py", False),
        ("python", "b.py", "import h.a as z\n", "h/a.py", False),
        ("python", "b.py", "import h.a\n", "h/__init__.py", False),
        ("python", "h/b.py", "from .a import (\n    x,\n)\n", "h/a.py", False),
        ("python", "h/b.py", "from . import c, a\n", "h/a.py", False),
        ("python", "h/d/b.py", "from ..a import *\n", "h/a.py", True),
        ("python", "h/d/b.py", "from .a import x\n", "h/a.py", None),
        ("python", "b.py", "import ab\n", "h/a.py", None),
        ("python", "b.py", "from h import c\n", "h/__init__.py", False),
        ("python", "b.py", "a = 1  # import h.b\n", "h/a.py", None),
        ("typescript", "src/b.ts", 'import { x } from "./a";\n', "src/a.ts", False),
        ("typescript", "src/b.ts", 'import { x } from "./a.js";\n', "src/a.ts", False),
        ("typescript", "src/b.ts", 'export * from "./a";\n', "src/a.ts", True),
        ("typescript", "src/d/b.ts", 'export type * from "..";\n', "src/index.ts", True),
        ("typescript", "src/b.ts", 'import x from ".";\n', "src/index.ts", False),
        ("typescript", "src/b.ts", 'const x = require("./a");\n', "src/a.ts", False),
        ("typescript", "src/b.ts", 'await import("./a");\n', "src/a.ts", False),
        ("typescript", "src/b.ts", 'import x from "@/lib/a";\n', "lib/a.ts", False),
        ("typescript", "src/b.ts", 'import x from "./d/a";\n', "src/a.ts", None),
        ("typescript", "src/b.ts", 'import x from "react";\n', "src/index.ts", None),
        ("typescript", "app/b.ts", 'import x from "@org/src";\n', "src/index.ts", False),
        ("cpp", "b.cpp", '#include "h/a.h"\n', "inc/h/a.h", False),
        ("cpp", "b.h", "#include <a.h>\n", "inc/a.h", True),
        ("cpp", "b.cpp", '#include "xa.h"\n', "inc/a.h", None),
        ("rust", "b.rs", "use crate::a::x;\n", "src/a.rs", False),
        ("rust", "b.rs", "let a = 1;\n", "src/a.rs", None),
        ("ruby", "b.rb", "require_relative 'a'\n", "a.rb", False),
    ],
)
def test_who_imports_a_file(language: str, path: str, text: str, target: str, expected: bool | None) -> None:
    assert imports(ROOT / path, text, language, [ROOT / target]) is expected


def test_importers_are_followed_through_those_that_hand_on_everything(workspace: Workspace) -> None:
    root = workspace(
        {
            "h/a.py": "A = 1\n",
            "h/__init__.py": "from .a import *\n",
            "top.py": "from h import *\n",
            "use.py": "from top import A\n",
            "named.py": "from h import A\n",
            "behind.py": "from named import A\n",
            "aside.py": "import os\n",
            "a.txt": "import h.a\n",
            ".gitignore": "made.py\n",
            "made.py": "import h.a\n",
        }
    )
    (root / "linked.py").symlink_to(root / "named.py")
    fence = Fence([root], SensitivePaths())
    entry = load_catalogue().entries["basedpyright"]
    found = importers(fence, entry, root, [root / "h/a.py"], lambda: False)
    assert {path.relative_to(root).as_posix(): step for path, step in found.files.items()} == {
        "h/__init__.py": 1,
        "top.py": 2,
        "named.py": 2,
        "use.py": 3,
    }
    assert found.complete
    stopped = importers(fence, entry, root, [root / "h/a.py"], lambda: True)
    assert not stopped.files
    assert not stopped.complete
