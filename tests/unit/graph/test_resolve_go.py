"""Edges of Go: small projects, and what each call, reference and import means."""

from __future__ import annotations

import pytest
from ombud.graph.resolve import Resolver

from tests.unit.graph.cases import cases
from tests.unit.graph.edges import Memory, edges, loose

MOD = "module example.com/m\n"

CASES = cases("go/resolve.txt")


@pytest.mark.parametrize("name", CASES)
def test_calls(name: str) -> None:
    *files, (_, expected) = CASES[name].items()
    assert edges(dict(files)) == [f"{line} call" for line in expected.splitlines()]


def test_references_and_inheritance() -> None:
    files = {
        "go.mod": MOD,
        "a.go": 'package p\nimport "example.com/m/q"\ntype S struct { q.B; f int }\n'
        "var _ I = S{f: q.K}\ntype I interface{}\n"
        "func g(s S) { _ = s.f; _ = T(nil); h(g2) }\ntype T []S\nfunc g2() {}\nfunc h(f func()) {}",
        "q/q.go": "package q\ntype B struct{}\nconst K = 1",
        "q/r.go": "package q",
        "q/q_test.go": "package q",
    }
    assert edges(files, ("reference", "inherit", "import")) == [
        "a.go# -> q/q.go# import",
        "a.go# -> q/r.go# import",
        "a.go#S -> q/q.go#B inherit",
        "a.go# -> a.go#I reference",
        "a.go# -> a.go#S reference",
        "a.go# -> a.go#S.f reference",
        "a.go# -> q/q.go#K reference",
        "a.go#g -> a.go#S reference",
        "a.go#g -> a.go#S.f reference",
        "a.go#g -> a.go#T reference",
        "a.go#g -> a.go#g2 reference",
        "a.go#T -> a.go#S reference",
    ]


def test_what_is_not_found_may_be_ours() -> None:
    assert loose({"a.go": "package p\nfunc f(x unknown) { x.M(); gone() }"}) == ["M", "gone"]


def test_a_conversion_is_no_call() -> None:
    files = {"a.go": "package p\ntype T int\nfunc f() { T(1) }"}
    assert edges(files, ("call", "reference")) == ["a.go#f -> a.go#T reference"]


EDITS = [
    {"b.go": "package p\nfunc g() {}"},
    {"c.go": "package p\ntype T struct{ U }\ntype U struct{}"},
    {"d.go": "package p\nfunc (U) M() {}"},
    {"a.go": 'package p\nimport "example.com/m/q"\nfunc f(t T) { g(); t.M(); q.F() }'},
    {"q/q.go": "package q\nfunc F() {}"},
    {"q/p.go": "package q\nfunc F2() {}"},
    {"go.mod": "module example.com/n\n"},
    {"go.mod": MOD},
    {"d.go": "\n\npackage p\nfunc (T) M() {}"},
    {"b.go": "package other\nfunc g() {}"},
    {"b.go": "package p\nfunc g() {}"},
    {"c.go": None},
    {"q/q.go": None},
    {"q/q.go": "package r\nfunc F() {}", "q/p.go": None},
    {"q/q.go": "package r\nfunc F() {}\nfunc q() {}"},
]


def test_incremental_equals_rebuild() -> None:
    """A row of "What goes wrong in others": incremental must equal a rebuild, also after lines shift."""
    follow({"go.mod": MOD, "a.go": "package p\nfunc f(t T) { g(); t.M() }"}, EDITS)


def follow(files: dict[str, str], steps: list[dict[str, str | None]]) -> None:
    """Edit a project step by step, resolving again only what the keys say; it must stay equal to one made anew.

    Edges are kept by qualified names, as a store keeps them: the numbers of symbols change with their file.
    """
    memory = Memory(files)
    resolver = Resolver(memory)
    kept: dict[int, tuple[list[str], list[str], set[int]]] = {}

    def resolve(file: int, by: Resolver) -> tuple[list[str], list[str], set[int]]:
        done = by.resolve(file)
        return memory.told(file, done), [name for _, name, *_ in done.loose], done.asked

    for file in memory.files():
        kept[file] = resolve(file, resolver)
    provided = {file: resolver.provided(file) for file in memory.paths().values()}
    for step in steps:
        changed = memory.edit(step)
        resolver.forget(changed)
        present = set(memory.paths().values())
        keys: set[int] = set()
        for file in changed:
            before = provided.pop(file, {})
            if file in present:
                provided[file] = resolver.provided(file)
            keys |= {key for key, _ in before.items() ^ provided.get(file, {}).items()}
        for file in {file for file, (_, _, asked) in kept.items() if asked & keys} | set(changed):
            kept.pop(file, None)
            if file in memory.files():
                kept[file] = resolve(file, resolver)
        anew = Resolver(memory)
        for file in memory.files():
            assert kept[file][:2] == resolve(file, anew)[:2], (memory.path(file), step)
