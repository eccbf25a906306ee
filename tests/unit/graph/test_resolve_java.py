"""Java: which definition a name means, over several files."""

from __future__ import annotations

import pytest

from tests.unit.graph.edges import edges, loose

D = """package c;
public class D {
  public static final int MAX = 1;
  public D next;
  public D(int n) {}
  public D(String s) { this(1); }
  public void run() {}
  public boolean ok() { return true; }
  public D next() { return this; }
  public static D make() { return new D(""); }
  public void over(int n) {}
  public void over(String s) {}
  public void over(D d) {}
  private void hidden() {}
  public static class In { public void deep() {} }
}
"""


def told(
    body: str, imports: str = "import c.D; import java.util.*; import java.util.function.*;", **more: str
) -> list[str]:
    """The calls of a class ``A`` in package ``a``, as targets without their file."""
    files = {"a/A.java": f"package a; {imports} class A {{ {body} }}", "c/D.java": D}
    files.update({f"{name.replace('_', '/')}.java": text for name, text in more.items()})
    return [line.split(" -> ")[1].removesuffix(" call") for line in edges(files) if line.startswith("a/A.java")]


RUN = "c/D.java#D.run"
OWN = "a/A.java#A."


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param("D d; void f() { d.run(); this.d.run(); }", [RUN, RUN], id="fields by their type"),
        pytest.param("void f(D d) { d.run(); D e = d; e.run(); var g = d; g.run(); }", [RUN] * 3, id="locals"),
        pytest.param("void f() { g(); this.g(); } void g() {}", [f"{OWN}g"] * 2, id="implicit this"),
        pytest.param(
            "void f(D d) { d.next().next().run(); d.next.run(); }", ["c/D.java#D.next~2"] * 2 + [RUN] * 2, id="chains"
        ),
        pytest.param(
            'void f() { new D(1); new D("s"); D.make(); }',
            ["c/D.java#D.D", "c/D.java#D.D~2", "c/D.java#D.make"],
            id="new",
        ),
        pytest.param(
            'void f(D d) { d.over(1); d.over("s"); d.over(d); }',
            [f"c/D.java#D.over{n}" for n in ("", "~2", "~3")],
            id="overloads by type",
        ),
        pytest.param("void f(D d) { d.over(lib.unknown()); }", [], id="an overload that is not known is not guessed"),
        pytest.param(
            'void g(String s, Exception e) {} void g(String s, Object... all) {} void f() { g("x", lib.unknown()); }',
            [],
            id="what is not known of an argument may decide",
        ),
        pytest.param(
            "void g(int a) {} void g(int a, int b) {} void g(int... all) {} void f() { g(1); g(1, 2); g(1, 2, 3); }",
            [f"{OWN}g", f"{OWN}g~2", f"{OWN}g~3"],
            id="overloads by arity",
        ),
        pytest.param(
            "void f(List<D> ds) { for (D d : ds) d.run(); for (var d : ds) d.run(); ds.get(0).run(); }",
            [RUN] * 3,
            id="elements",
        ),
        pytest.param("void f(D[] ds) { ds[0].run(); for (var d : ds) d.run(); }", [RUN] * 2, id="arrays"),
        pytest.param(
            (
                "void f(Map<String, D> m) { m.get(1).run(); for (var e : m.entrySet()) e.getValue().run(); "
                "m.values().forEach(d -> d.run()); }"
            ),
            [RUN] * 3,
            id="maps",
        ),
        pytest.param(
            (
                "void f(List<D> ds) { ds.forEach(d -> d.run()); ds.stream().filter(d -> d.ok()).map(d -> "
                "d.next()).forEach(d -> d.run()); }"
            ),
            [RUN, "c/D.java#D.ok", "c/D.java#D.next~2", RUN],
            id="closures given to the library",
        ),
        pytest.param(
            "<T> void each(T t, Consumer<T> c) {} void f(D d) { each(d, e -> e.run()); }",
            [f"{OWN}each", RUN],
            id="closures given to us",
        ),
        pytest.param(
            "Function<D, D> g = d -> d.next(); Supplier<D> s; void f() { s.get().run(); }",
            ["c/D.java#D.next~2", RUN],
            id="functional types",
        ),
        pytest.param(
            "<T> T id(T t) { return t; } void f(D d) { id(d).run(); }",
            [f"{OWN}id", RUN],
            id="type parameters of a method",
        ),
        pytest.param("<T extends D> void f(T t) { t.run(); }", [RUN], id="the bound of a type parameter"),
        pytest.param(
            "void f(Object o) { if (o instanceof D d && d.ok()) d.run(); switch (o) { case D e -> e.run(); } }",
            ["c/D.java#D.ok", RUN, RUN],
            id="patterns",
        ),
        pytest.param(
            "void f() { { D x = null; x.run(); } { A x = null; x.run(); } } void run() {}",
            [RUN, f"{OWN}run"],
            id="blocks end a local's life",
        ),
        pytest.param(
            "D run; void run() {} void f() { run(); run.run(); }",
            [f"{OWN}run~2", RUN],
            id="a field and a method of one name",
        ),
        pytest.param(
            "record P(int x, D y) {} void f() { new P(1, null).y().run(); }",
            [f"{OWN}P", f"{OWN}P.y", RUN],
            id="records",
        ),
        pytest.param(
            (
                "enum C { RED { void paint() {} }; void paint() {} } void f() { C.RED.paint(); for (C c : "
                "C.values()) c.paint(); }"
            ),
            [f"{OWN}C.paint"] * 2,
            id="enums",
        ),
        pytest.param(
            "void f() { new Runnable() { public void run() { f(); g(); } void g() {} }; } void g() {}",
            [f"{OWN}f", f"{OWN}f.<Runnable>.g"],
            id="classes without a name",
        ),
        pytest.param(
            "class In { void f() { g(); A.this.g(); } void h() {} } void g() {} void h() {}",
            [f"{OWN}g"] * 2,
            id="members of the class around",
        ),
        pytest.param(
            "void f() { D.In i = new D.In(); i.deep(); c.D.make(); }",
            ["c/D.java#D.In", "c/D.java#D.In.deep", "c/D.java#D.make"],
            id="nested and full names",
        ),
        pytest.param(
            'void f(D d) { d.hidden2(); d.toString(); Objects.hash(1); "s".trim(); }', [], id="what is not ours"
        ),
        pytest.param(
            "void f(D D) { D.run(); } static class D { void run() {} }",
            [f"{OWN}D.run"],
            id="a member class shadows an import",
        ),
    ],
)
def test_calls(body: str, expected: list[str]) -> None:
    assert told(body) == expected


BASE = (
    "package a; class Base<T> { T it; T get() { return it; } void up() {} static void st() {} private void own() {} }"
)


@pytest.mark.parametrize(
    ("imports", "body", "more", "expected"),
    [
        pytest.param(
            "",
            "void f() { B.go(); }",
            {"a_B": "package a; class B { static void go() {} }"},
            ["a/B.java#B.go"],
            id="the same package",
        ),
        pytest.param(
            "",
            "void f() { B.go(); }",
            {"b_B": "package b; public class B { public static void go() {} }"},
            [],
            id="another package is not seen",
        ),
        pytest.param(
            "import b.*;",
            "void f() { B.go(); }",
            {"b_B": "package b; public class B { public static void go() {} }"},
            ["b/B.java#B.go"],
            id="import of all",
        ),
        pytest.param(
            "import b.*;",
            "void f() { B.go(); }",
            {
                "b_B": "package b; public class B { public static void go() {} }",
                "a_B": "package a; class B { static void go() {} }",
            },
            ["a/B.java#B.go"],
            id="the package before imports of all",
        ),
        pytest.param(
            "import b.B;",
            "void f() { B.go(); }",
            {
                "b_B": "package b; public class B { public static void go() {} }",
                "a_B": "package a; class B { static void go() {} }",
            },
            ["b/B.java#B.go"],
            id="an import before the package",
        ),
        pytest.param(
            "import java.util.List;",
            "void f() { List.go(); }",
            {"a_List": "package a; class List { static void go() {} }"},
            [],
            id="an import from a library before the package",
        ),
        pytest.param(
            "import static b.B.go; import static b.B.*;",
            "void f() { go(); stop(); }",
            {"b_B": "package b; public class B { public static void go() {} public static void stop() {} }"},
            ["b/B.java#B.go", "b/B.java#B.stop"],
            id="static imports",
        ),
        pytest.param(
            "import b.B.In;",
            "void f() { new In().go(); }",
            {"b_B": "package b; public class B { public static class In { public void go() {} } }"},
            ["b/B.java#B.In", "b/B.java#B.In.go"],
            id="import of a nested class",
        ),
        pytest.param(
            "",
            "class S extends Base<B> { void f() { up(); super.up(); get().go(); it.go(); st(); Base.st(); own(); } }",
            {"a_Base": BASE, "a_B": "package a; class B { void go() {} }"},
            [
                "a/Base.java#Base.up",
                "a/Base.java#Base.up",
                "a/Base.java#Base.get",
                "a/B.java#B.go",
                "a/B.java#B.go",
                "a/Base.java#Base.st",
                "a/Base.java#Base.st",
            ],
            id="what is inherited, with its type arguments; not what is private",
        ),
        pytest.param(
            "",
            "class S implements I { void f() { dflt(); } } void g(I i) { i.open(); i.dflt(); }",
            {"a_I": "package a; interface I { void open(); default void dflt() {} }"},
            ["a/I.java#I.dflt", "a/I.java#I.open", "a/I.java#I.dflt"],
            id="interfaces and their default methods",
        ),
        pytest.param(
            "",
            "class S extends Base<B> { S() { super(1); } S(int n) { this(); } } ",
            {"a_Base": "package a; class Base<T> { Base(int n) {} }"},
            ["a/Base.java#Base.Base", "a/A.java#A.S.S"],
            id="this and super as constructors",
        ),
    ],
)
def test_calls_over_files(imports: str, body: str, more: dict[str, str], expected: list[str]) -> None:
    assert told(body, imports, **more) == expected


def test_references() -> None:
    files = {
        "a/A.java": "package a; import c.D; @Mark class A extends D { D d; int n = D.MAX; Object o = (Runnable) d::run;"
        " void f(A x) { D.In i; n = x.n; switch (c) { case RED: } } C c; enum C { RED } }",
        "a/Mark.java": "package a; @interface Mark {}",
        "c/D.java": D,
    }
    found = [line for line in edges(files, ("reference", "inherit", "import")) if line.startswith("a/A.java")]
    assert found == [
        "a/A.java# -> c/D.java#D import",
        "a/A.java# -> a/Mark.java#Mark reference",
        "a/A.java#A -> c/D.java#D inherit",
        *["a/A.java#A -> c/D.java#D reference"] * 2,
        "a/A.java#A -> c/D.java#D.MAX reference",
        "a/A.java#A -> a/A.java#A.d reference",
        "a/A.java#A -> c/D.java#D.run reference",
        "a/A.java#A.f -> a/A.java#A reference",
        "a/A.java#A.f -> c/D.java#D reference",
        "a/A.java#A.f -> c/D.java#D.In reference",
        *["a/A.java#A.f -> a/A.java#A.n reference"] * 2,
        "a/A.java#A.f -> a/A.java#A.c reference",
        "a/A.java#A.f -> a/A.java#A.C.RED reference",
        "a/A.java#A -> a/A.java#A.C reference",
    ]


def test_calls_into_libraries_stay_external_and_bare_names_are_no_ground() -> None:
    # codebase-memory-mcp#2121, code-review-graph#708: neither by name alone, nor into another language.
    files = {
        "a/A.java": "package a; class A { void f(String s, Unknown u) { s.trim(); u.go(); helper(); } }",
        "b/B.java": "package b; class B { void trim() {} void go() {} void helper() {} }",
        "a/h.py": "def helper(): pass\n",
    }
    assert edges(files) == []
    assert loose(files) == ["helper"]
