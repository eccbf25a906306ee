"""Edges of Rust: small projects, and what each call, reference and import means."""

from __future__ import annotations

import pytest

from tests.unit.graph.cases import cases
from tests.unit.graph.edges import edges, loose
from tests.unit.graph.test_resolve_go import follow

CARGO = '[package]\nname = "my-crate"\nedition = "2021"\n'

CASES = cases("rust/resolve.txt")


@pytest.mark.parametrize("name", CASES)
def test_calls(name: str) -> None:
    *files, (_, expected) = CASES[name].items()
    assert edges(dict(files)) == [f"{line} call" for line in expected.splitlines()]


def test_references_inheritance_and_imports() -> None:
    files = {
        "src/lib.rs": "mod m;\nuse m::{K, Tr};\nstruct S { x: m::T }\nimpl Tr for S {}\ntrait Sub: Tr {}\n"
        "fn f(s: S) { s.x; let _ = S { x: K }; g(h) }\nfn h() {}\nfn g(f: fn()) {}",
        "src/m.rs": "pub struct T;\npub const K: T = T;\npub trait Tr {}",
    }
    assert edges(files, ("reference", "inherit", "import")) == [
        "src/lib.rs# -> src/m.rs# import",
        "src/lib.rs# -> src/m.rs#K import",
        "src/lib.rs# -> src/m.rs#Tr import",
        "src/lib.rs#S -> src/m.rs#T reference",
        "src/lib.rs#S -> src/m.rs#Tr inherit",
        "src/lib.rs# -> src/lib.rs#S reference",
        "src/lib.rs#Sub -> src/m.rs#Tr inherit",
        "src/lib.rs#f -> src/lib.rs#S reference",
        "src/lib.rs#f -> src/lib.rs#S.x reference",
        "src/lib.rs#f -> src/lib.rs#S reference",
        "src/lib.rs#f -> src/lib.rs#S.x reference",
        "src/lib.rs#f -> src/m.rs#K reference",
        "src/lib.rs#f -> src/lib.rs#h reference",
        "src/m.rs# -> src/m.rs#T reference",
        "src/m.rs# -> src/m.rs#T reference",
    ]


def test_what_is_not_found_may_be_ours() -> None:
    assert loose({"src/lib.rs": "fn f(x: Unknown) { x.m(); gone() }"}) == ["m", "gone"]


EDITS: list[dict[str, str | None]] = [
    {"src/m.rs": "pub struct S;\nimpl S { pub fn a(&self) {} }"},
    {"src/n.rs": "use crate::m::S;\nimpl S { pub fn b(&self) -> S { S } }"},
    {"src/lib.rs": "mod m;\nmod n;\nuse m::*;\nfn f(s: S) { s.a(); s.b().a(); s.c(); g!(); }"},
    {
        "src/n.rs": "use crate::m::S;\ntype A = S;\nimpl A { pub fn b(&self) -> A { S } }\n"
        "#[macro_export]\nmacro_rules! g { () => {} }"
    },
    {"src/t.rs": "pub trait Tr { fn r(&self); fn c(&self) {} }"},
    {"src/n.rs": "use crate::m::S;\nimpl super::t::Tr for S { fn r(&self) {} }\nimpl S { pub fn b(&self) -> S { S } }"},
    {"src/lib.rs": "mod m;\nmod n;\nmod t;\nuse m::*;\nfn f(s: S) { s.a(); s.b().a(); s.c(); g!(); }"},
    {"src/m.rs": "\n\npub struct S;\npub struct T;\nimpl T { pub fn a(&self) {} }"},
    {"src/m.rs": None, "src/m/mod.rs": "pub struct S;\nimpl S { pub fn a(&self) {} }"},
    {"Cargo.toml": '[package]\nname = "x"\n[lib]\npath = "src/n.rs"\n'},
    {"src/n.rs": "pub fn f() { x::f() }"},
    {"src/n.rs": None},
]


def test_incremental_equals_rebuild() -> None:
    """A row of "What goes wrong in others": incremental must equal a rebuild, also after lines shift."""
    follow({"Cargo.toml": CARGO, "src/lib.rs": "mod m;\nuse m::S;\nfn f(s: S) { s.a(); s.b(); }"}, EDITS)
