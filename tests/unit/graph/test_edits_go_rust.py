"""Random edits of Go and Rust, seeded: what is kept up to date must equal what is made anew.

"What goes wrong in others": incremental must equal a rebuild, also after lines shift.
"""

from __future__ import annotations

import random

import pytest

from tests.unit.graph.test_resolve_go import follow

GO = {
    "go.mod": ["module example.com/m", "module example.com/n", "replace example.com/r => ./r"],
    "a.go": [
        'import "example.com/m/q"',
        'import z "example.com/r"',
        "func f(t T) { g(); t.M(); t.N(); t.x.M(); q.F(); z.F() }",
        "func h(i I) { i.M(); g(); v.M(); for _, e := range vs { e.M() } }",
        "type T struct { U; x W }",
        "func sys() {}",
    ],
    "b.go": [
        "func g() T { return T{} }",
        "func (T) M() {}",
        "type U struct{ V }",
        "var v = g()",
        "func (t T) N() U {}",
    ],
    "c_windows.go": ["func g() {}", "func sys() {}", "type W struct{}", "func (U) M() {}", "type I interface { M() }"],
    "d.go": ["func (W) M() { sys() }", "type W = U", "func (V) N() {}", "type V struct{}", "var vs []W", "type I = U"],
    "q/q.go": ["func F() {}", "func G() {}", 'import "example.com/m"', "func H() { m.Sys() }"],
    "r/go.mod": ["module example.com/r"],
    "r/r.go": ["func F() {}", "func (T) M() {}", "type T struct{}"],
}
RUST = {
    "Cargo.toml": ['[package]\nname = "x"', 'edition = "2021"', '[lib]\npath = "src/m.rs"'],
    "src/lib.rs": [
        "mod m;",
        "mod n;",
        "use m::*;",
        "use n::{self, T as S, g};",
        "fn f(s: S, t: &dyn Tr) { s.a(); s.b().a(); s.c(); t.c(); g(); mac!(n::g()); S::new().a(); s.d.a(); }",
        "struct S { d: D }",
        "macro_rules! mac { () => {} }",
    ],
    "src/m.rs": [
        "pub struct S { pub d: D }",
        "use super::n::*;",
        "impl S { pub fn a(&self) {} }",
        "impl D { pub fn a(&self) {} }",
        "pub type A = S;",
        "#[macro_export]\nmacro_rules! mac { () => {} }",
        "impl Tr for S { fn r(&self) {} }",
    ],
    "src/n.rs": [
        "use crate::m::{S, A};",
        "pub struct T; pub struct D;",
        "impl A { pub fn b(&self) -> A { S } }",
        "impl S { pub fn new() -> Self { S } fn r(&self) {} }",
        "pub trait Tr { fn r(&self); fn c(&self) {} }",
        "pub fn g() { super::f(); x::g(); }",
        "type A = T;",
        '#[path = "odd.rs"]\nmod odd;',
        "impl Tr for A { fn r(&self) {} }",
    ],
    "src/m/mod.rs": ["pub struct S;", "impl S { pub fn a(&self) {} }"],
    "src/odd.rs": ["fn o() { super::g(); crate::m::S::new(); }"],
    "src/main.rs": ["use x::*;", "mod n;", "fn main() { g(); x::m::g(); n::g(); }", "fn g() {}"],
}


def _text(lines: list[str], head: str, random_: random.Random) -> str:
    kept = [line for line in lines if random_.random() < 0.7]
    random_.shuffle(kept) if random_.random() < 0.3 else None
    return head + "\n" * random_.randrange(3) + "\n".join(kept) + "\n"


@pytest.mark.parametrize(("pool", "head"), [(GO, "package m\n"), (RUST, "")], ids=["go", "rust"])
def test_two_hundred_edits(pool: dict[str, list[str]], head: str) -> None:
    random_ = random.Random(5)
    present = dict.fromkeys(pool)
    files = {path: _text(lines, head if path.endswith(".go") else "", random_) for path, lines in pool.items()}
    steps: list[dict[str, str | None]] = []
    for _ in range(200):
        path = random_.choice(list(pool))
        if path in present and random_.random() < 0.15:
            del present[path]
            steps.append({path: None})
            continue
        present[path] = None
        first = head if path.endswith(".go") and random_.random() < 0.95 else "package other\n" if head else ""
        lines = pool[path]
        if path.endswith(("mod", "toml")):
            first = lines[0] + "\n"
            lines = lines[1:]
        steps.append({path: _text(lines, first, random_)})
    follow(files, steps)
