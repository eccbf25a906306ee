"""Random edits of TypeScript and Python, seeded: what is kept up to date must equal what is made anew.

"What goes wrong in others": incremental must equal a rebuild, also after lines shift.
"""

from __future__ import annotations

import random

import pytest

from tests.unit.graph.test_resolve_go import follow

ECMA = {
    "tsconfig.json": [
        '{"compilerOptions": {"baseUrl": "src", "paths": {"@/*": ["lib/*"]}}}',
        '{"compilerOptions": {"paths": {"@/*": ["./src/lib/*"]}}}',
        "{}",
    ],
    "package.json": [
        '{"name": "m", "exports": {".": "./src/index.ts", "./x": "./src/lib/x.ts"}}',
        '{"name": "n", "main": "src/index.ts"}',
    ],
    "src/index.ts": [
        'export * from "./lib";',
        'export { A as B, make } from "./lib/a";',
        'export { default } from "./main";',
        'export * as names from "./lib/x";',
        "export function own() { return 1 }",
    ],
    "src/main.ts": [
        'import { A, make, B } from ".";',
        'import d, { x } from "@/x";',
        'import * as lib from "./lib";',
        'import { own } from "m";',
        "export default function run() { make().go().stop(); own(); d(); x(); lib.helper(); }",
        "class C extends A { m() { this.go(); super.go(); new B().go(); } }",
        "function local(a: A, cs: C[]) { a.go(); cs.map(c => c.m()); for (const c of cs) c.go(); }",
        "const held = make(); held.go();",
    ],
    "src/lib/index.ts": [
        'export * from "./a";',
        'export * from "./x";',
        "export function helper() { again() }",
        "function again() {}",
    ],
    "src/lib/a.ts": [
        'import { Base } from "./base";',
        "export class A extends Base { go() { return this } field = helper(); }",
        "export class A { go(): Base { return new Base() } }",
        "export function make(): A { return new A() }",
        "export const make = () => new A();",
        'import helper from "./x";',
    ],
    "src/lib/base.ts": [
        "export class Base { stop() {} go() { return this } }",
        "export interface Base { stop(): void }",
        "export type Base = string;",
    ],
    "src/lib/x.ts": [
        "export default function d() { x() }",
        "export function x() {}",
        "export const x = () => d();",
        'export * from "./base";',
    ],
    "src/lib/a/index.ts": ["export class A { go() {} }", "export function make() { return new A() }"],
    "old/c.js": [
        'const { make } = require("../src/lib/a");',
        "module.exports = { f() { make(); g() } };",
        "function g() {}",
        "exports.h = g;",
    ],
    "old/d.js": ['const c = require("./c");', "c.f(); c.h();"],
}
PYTHON = {
    "p/__init__.py": [
        "from .a import *",
        "from .b import f as g, A",
        "__all__ = ['g']",
        "def own(): pass",
        "from . import c",
    ],
    "p/a.py": [
        "from .b import A, f",
        "from p.c import *",
        "class B(A):\n    def m(self): self.n(); super().m(); self.x.n()",
        "def make(): return B()",
        "def h(b: 'B', a: A = None): b.m(); a.n(); make().m()",
        "x = make()",
        "_hidden = 1",
    ],
    "p/b.py": [
        "class A:\n    def __init__(self): self.x = A()\n    def n(self): return self\n    def m(self): f()",
        "class A:\n    x: 'A'\n    def n(self) -> 'D': ...",
        "def f(): return A()",
        "from .c import D",
        "f = 3",
        "import p.a",
    ],
    "p/c.py": [
        "class D:\n    def m(self): pass\n    def n(self): pass",
        "from .b import A as D",
        "__all__ = ['D']",
        "def f(): pass",
    ],
    "p/a/__init__.py": ["def make(): pass", "class B:\n    def m(self): pass"],
    "p/q/__init__.py": ["from ..a import make", "def deep(): make()"],
    "main.py": [
        "import p",
        "import p.a as pa, p.b",
        "from p import g, own, A",
        "from p.q import deep",
        "def run(): g(); own(); deep(); p.a.make().m(); pa.h(1); p.b.f().n()",
        "for one in [A(), A()]: one.n()",
        "A().n().m()",
    ],
    "src/s/__init__.py": ["from p import g", "def s(): g()"],
    "tests/test_x.py": ["from s import s", "from helper import aid", "s(); aid()"],
    "tests/helper.py": ["def aid(): pass"],
}


def _text(path: str, lines: list[str], choice: random.Random) -> str:
    if path.endswith(".json"):
        return choice.choice(lines)
    kept = [line for line in lines if choice.random() < 0.7]
    if choice.random() < 0.3:
        choice.shuffle(kept)
    return "\n" * choice.randrange(3) + "\n".join(kept) + "\n"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("pool", [ECMA, PYTHON], ids=["ecma", "python"])
def test_two_hundred_edits(pool: dict[str, list[str]], seed: int) -> None:
    choice = random.Random(seed)
    present = dict.fromkeys(pool)
    files = {path: _text(path, lines, choice) for path, lines in pool.items()}
    steps: list[dict[str, str | None]] = []
    for _ in range(200):
        path = choice.choice(list(pool))
        if path in present and choice.random() < 0.15:
            del present[path]
            steps.append({path: None})
        else:
            present[path] = None
            steps.append({path: _text(path, pool[path], choice)})
    follow(files, steps)
