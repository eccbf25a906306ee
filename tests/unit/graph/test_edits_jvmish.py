"""Random edits of Java, C# and Kotlin, seeded: what is kept up to date must equal what is made anew.

"What goes wrong in others": incremental must equal a rebuild, also after lines shift.
"""

from __future__ import annotations

import random

import pytest

from tests.unit.graph.test_resolve_go import follow

Pool = dict[str, tuple[list[str], list[str], str]]
"""Path → heads to choose from, pieces of the body, what ends it."""

JAVA: Pool = {
    "a/A.java": (
        [
            "package a; import b.*; class A extends B<C> {",
            "package a; import b.B; class A extends B<A> {",
            "package b; class A {",
        ],
        [
            "void f() { get().go(); up(); g(1); own(); }",
            "void g(int n) { it.go(); C.st(); help(); }",
            'void g(String s) { g("x"); g(s.length()); }',
            "C it;",
            "void h(I i) { each(x -> x.go()); i.dflt(); }",
            "class C { void go() {} static void st() {} }",
        ],
        "}",
    ),
    "b/B.java": (
        [
            "package b; public class B<T> implements I {",
            "package b; public abstract class B<T> {",
            "package c; public class B<T> {",
        ],
        [
            "public T get() { return null; }",
            "protected T it;",
            "public void up() { dflt(); }",
            "private void own() {}",
            "public void each(F<T> f) {}",
            "public void each(Runnable r) {}",
        ],
        "}",
    ),
    "b/I.java": (["package b; public interface I {"], ["default void dflt() {}", "void open();", "int help = 1;"], "}"),
    "b/F.java": (
        ["package b; public interface F<T> {"],
        ["void take(T t);", "void other();", "default void no() {}"],
        "}",
    ),
    "a/C.java": (["package a; class C {", "package b; public class C {"], ["void go() {}", "static void st() {}"], "}"),
}
CSHARP: Pool = {
    "A.cs": (
        ["using M; namespace N; partial class A : B<C> {", "namespace M.N; partial class A {"],
        [
            "void F() { Get().Go(); Up(); G(1); this.Extra(); Shared(); }",
            "void G(int n) { It.Go(); Other(); Each(x => x.Go()); }",
            'void G(string s) { G("x"); G(s.Length); var c = new C(); c.More().Go(); }',
            "C It { get; set; }",
            "class C { public void Go() {} }",
        ],
        "}",
    ),
    "A2.cs": (
        ["namespace N { partial class A {", "namespace M { partial class A {"],
        ["void Other() { F(); }", "C It;"],
        "} }",
    ),
    "B.cs": (
        ["namespace M; public class B<T> {", "namespace N; public class B<T> : D {"],
        ["public T Get() => default;", "protected void Up() {}", "public void Each(Action<T> a) {}", "public T It;"],
        "}",
    ),
    "C.cs": (
        ["namespace N; public class C {", "namespace M; public class C {"],
        ["public void Go() {}", "public C More() => this;", "public C() {}", "public C(int n) {}"],
        "}",
    ),
    "E.cs": (
        ["namespace M; static class E {", "namespace Q; static class E {"],
        [
            "public static void Extra(this N.A a) {}",
            "public static C More(this C c) => c;",
            "public static void Shared() {}",
        ],
        "}",
    ),
    "GlobalUsings.cs": (["global using static M.E;", "global using Q;", "global using N;"], [], ""),
}
KOTLIN: Pool = {
    "A.kt": (
        [
            "package a\nimport b.*\nclass A : B<C>(1) {",
            "package a\nimport b.B\nimport b.top\nclass A(val c: C) : B<A>(1) {",
            "package b\nclass A {",
        ],
        [
            "fun f() { get().go(); up(); top(this).go(); make() }",
            "val it = get()",
            "fun g() = it.next()",
            "fun h() { g().go(); it.extra(); each { x -> x.go() }; with(it) { go() } }",
            "companion object {\n fun make() = A()\n}",
            "fun extra() {}",
        ],
        "}",
    ),
    "B.kt": (
        ["package b\nopen class B<T>(n: Int) {", "package a\nopen class B<T>(n: Int) {"],
        [
            "fun get(): T = TODO()",
            "fun up() = get()",
            "fun each(f: (T) -> Unit) {}",
            "companion object {\n fun make() = 1\n}",
        ],
        "}",
    ),
    "C.kt": (
        ["package a\nclass C {", "package b\nclass C {"],
        ["fun go() {}", "fun next() = this", "fun next() = Other()"],
        "}",
    ),
    "ext.kt": (
        ["package b", "package a"],
        [
            "fun C.extra() = go()",
            "fun <T> top(t: T): T = t",
            "class Other { fun go() {} }",
            "fun a.C.next() = Other()",
            "val it = C()",
        ],
        "",
    ),
}


def _text(heads: list[str], pieces: list[str], end: str, rng: random.Random) -> str:
    kept = [piece for piece in pieces if rng.random() < 0.7]
    if rng.random() < 0.3:
        rng.shuffle(kept)
    head = heads[0] if rng.random() < 0.7 else rng.choice(heads)
    return "\n" * rng.randrange(3) + "\n".join((head, *kept, end)) + "\n"


@pytest.mark.parametrize("pool", [JAVA, CSHARP, KOTLIN], ids=["java", "csharp", "kotlin"])
def test_two_hundred_edits(pool: Pool) -> None:
    rng = random.Random(7)
    present = dict.fromkeys(pool)
    files = {path: _text(*parts, rng) for path, parts in pool.items()}
    steps: list[dict[str, str | None]] = []
    for _ in range(200):
        path = rng.choice(list(pool))
        if path in present and rng.random() < 0.15:
            del present[path]
            steps.append({path: None})
            continue
        present[path] = None
        steps.append({path: _text(*pool[path], rng)})
    follow(files, steps)
