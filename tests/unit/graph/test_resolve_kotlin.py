"""Kotlin: which definition a name means, over several files."""

from __future__ import annotations

import pytest

from tests.unit.graph.edges import edges, loose

DEP = """package x.y
open class Dep(val n: Int) {
  var link: Dep = this
  constructor(s: String) : this(1)
  fun run() {}
  fun ok() = true
  fun next(): Dep = this
  infix fun near(o: Dep) {}
  fun over(n: Int) {}
  fun over(s: String) {}
  fun over(d: Dep, k: Int = 1) {}
  companion object {
    const val MAX = 1
    fun make() = Dep(2)
  }
}
data class P(val x: Int, val y: Dep)
object Util { fun help() {} }
enum class Color { RED, BLUE; fun paint() {} }
fun Dep.extra(n: Int) {}
fun <T> T.same(): T = this
val Dep.prop: Dep get() = this
fun top(d: Dep) = d
"""


def told(body: str, head: str = "import x.y.*", **more: str) -> list[str]:
    """The calls of a file in package ``a``, as targets; those in Dep.kt by their bare names."""
    files = {"A.kt": f"package a\n{head}\n{body}\n", "Dep.kt": DEP}
    files.update({f"{name}.kt": text for name, text in more.items()})
    found = [line.split(" -> ")[1].removesuffix(" call") for line in edges(files) if line.startswith("A.kt")]
    return [target.removeprefix("Dep.kt#") for target in found]


RUN, NEXT = "Dep.run", "Dep.next"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            (
                "class A(val d: Dep, q: Dep) {\n"
                " val e = d\n init { q.run() }\n fun f() { d.run(); this.e.run(); d.link.run() }\n}"
            ),
            [RUN] * 4,
            id="properties and parameters of the class",
        ),
        pytest.param(
            "fun f(d: Dep) { d.run(); val e = d; e.run(); val g: Dep? = null; g?.run(); g!!.run(); (g ?: d).run() }",
            [RUN] * 5,
            id="locals and what may be null",
        ),
        pytest.param(
            "class A {\n fun f() { g(); this.g(); fun l() { g() }; l() }\n fun g() {}\n}",
            ["A.kt#A.g"] * 3 + ["A.kt#A.f.l"],
            id="implicit this and local functions",
        ),
        pytest.param(
            'fun f(d: Dep) { Dep(1); Dep("s"); d.over(1); d.over("s"); d.over(d); d.over(d, 2) }',
            ["Dep", "Dep.Dep", "Dep.over", "Dep.over~2", "Dep.over~3", "Dep.over~3"],
            id="constructors and overloads",
        ),
        pytest.param(
            "fun f(d: Dep) { Dep.make().run(); Util.help(); Color.RED.paint(); d near d }",
            ["Dep.Companion.make", RUN, "Util.help", "Color.paint", "Dep.near"],
            id="companions, objects, enums, infix",
        ),
        pytest.param(
            "fun f(d: Dep) { d.extra(1); d.same().run(); d.prop.run(); d.link.extra(2) }",
            ["extra", "same", RUN, RUN, "extra"],
            id="extensions",
        ),
        pytest.param(
            "fun Dep.mine() { run(); this.next(); also { it.run() } }", [RUN, NEXT, RUN], id="this of an extension"
        ),
        pytest.param(
            (
                "fun f(ds: List<Dep>, m: Map<String, Dep>) {\n"
                ' for (d in ds) d.run()\n ds[0].run()\n for ((k, v) in m) v.run()\n m["a"]?.run()\n}'
            ),
            [RUN] * 4,
            id="elements",
        ),
        pytest.param(
            "fun f(ds: List<Dep>) { ds.map { it.next() }.filter { d -> d.ok() }.first().run(); ds.forEach(Dep::run) }",
            [NEXT, "Dep.ok", RUN],
            id="closures given to the library",
        ),
        pytest.param(
            (
                "fun f(d: Dep) {\n"
                " d.apply { run() }.run()\n"
                " d.let { it.next() }.run()\n with(d) { run() }\n d.run { next() }.run()\n}"
            ),
            [RUN, RUN, NEXT, RUN, RUN, NEXT, RUN],
            id="scope functions",
        ),
        pytest.param(
            (
                "fun <T> each(t: T, f: (T) -> Unit) {}\n"
                "fun build(f: Dep.() -> Unit) {}\nfun f(d: Dep) { each(d) { it.run() }; build { run() } }"
            ),
            ["A.kt#each", RUN, "A.kt#build", RUN],
            id="closures given to us",
        ),
        pytest.param(
            (
                "fun f(o: Any) {\n"
                " if (o is Dep && o.ok()) o.run()\n"
                " when (o) { is Dep -> o.run() }\n val d = o as? Dep ?: return\n d.run()\n}"
            ),
            ["Dep.ok", RUN, RUN, RUN],
            id="tests of types",
        ),
        pytest.param("fun f(o: Any) {\n if (o !is Dep) return\n o.run()\n}", [RUN], id="what a test that leaves says"),
        pytest.param(
            "fun f() { val (n, d) = P(1, Dep(1)); d.run(); P(1, d).copy(x = 2).y.run() }",
            ["P", "Dep", RUN, "P", RUN],
            id="data classes",
        ),
        pytest.param(
            (
                "class A {\n"
                " val z by lazy { Dep(1) }\n"
                " val g get() = z.next()\n"
                " fun f() { z.run(); g.run() }\n fun h() = g\n fun i() { h().run() }\n}"
            ),
            ["Dep", NEXT, RUN, RUN, "A.kt#A.h", RUN],
            id="what is inferred",
        ),
        pytest.param(
            (
                "fun <T : Dep> f(t: T) { t.run() }\n"
                "fun <T> id(t: T): T = t\n"
                "fun g(d: Dep) { id(d).run(); val e = id<Dep>(null).next(); e.run() }"
            ),
            [RUN, "A.kt#id", RUN, "A.kt#id", NEXT, RUN],
            id="type parameters",
        ),
        pytest.param(
            (
                "interface I { fun go() {} }\n"
                "fun f() {\n val o = object : I { override fun go() { h() }\n fun h() {} }\n o.go()\n}"
            ),
            ["A.kt#f.<I>.h", "A.kt#f.<I>.go"],
            id="objects without a name",
        ),
        pytest.param(
            'class A(val f: (Dep) -> Unit) { fun g(d: Dep) { f(d); "s".trim(); println(d) } }',
            [],
            id="functions in properties, and what is not ours",
        ),
        pytest.param("fun f() { x.y.top(x.y.Dep(1)) }", ["top", "Dep"], id="full names"),
    ],
)
def test_calls(body: str, expected: list[str]) -> None:
    assert told(body) == expected


BASE = (
    "package a\nopen class Base<T>(n: Int) {\n fun up() {}\n fun get(): T = TODO()\n private fun "
    "own() {}\n}\nclass B { fun hi() {} }"
)
B = "class B { fun go() {} }\nfun free() {}\nfun B.more() {}\n"


@pytest.mark.parametrize(
    ("head", "body", "more", "expected"),
    [
        pytest.param(
            "",
            "fun f() { B().go(); free() }",
            {"B": f"package a\n{B}"},
            ["B.kt#B", "B.kt#B.go", "B.kt#free"],
            id="the same package",
        ),
        pytest.param(
            "", "fun f() { B().go(); free() }", {"B": f"package b\n{B}"}, [], id="another package is not seen"
        ),
        pytest.param(
            "import b.B\nimport b.free as other",
            "fun f() { B().go(); other(); free() }",
            {"B": f"package b\n{B}"},
            ["B.kt#B", "B.kt#B.go", "B.kt#free"],
            id="imports with another name",
        ),
        pytest.param(
            "import b.*",
            "fun f() { B().more() }",
            {"B": f"package b\n{B}"},
            ["B.kt#B", "B.kt#more"],
            id="import of all",
        ),
        pytest.param(
            "import b.B",
            "fun f() { B().more() }",
            {"B": f"package b\n{B}"},
            ["B.kt#B"],
            id="an extension that is not imported",
        ),
        pytest.param(
            "import b.B",
            "fun f() { B().go() }",
            {"B": f"package b\n{B}", "C": f"package a\n{B}"},
            ["B.kt#B", "B.kt#B.go"],
            id="an import before the package",
        ),
        pytest.param(
            "import b.O.go\nimport b.C.Companion.make",
            "fun f() { go(); make() }",
            {"B": "package b\nobject O { fun go() {} }\nclass C {\n companion object { fun make() {} }\n}"},
            ["B.kt#O.go", "B.kt#C.Companion.make"],
            id="members of objects",
        ),
        pytest.param(
            "",
            "class S : Base<B>(1) {\n fun f() { up(); super.up(); get().hi(); own() }\n}",
            {"B": BASE},
            ["B.kt#Base", "B.kt#Base.up", "B.kt#Base.up", "B.kt#Base.get", "B.kt#B.hi"],
            id="what is inherited",
        ),
    ],
)
def test_calls_over_files(head: str, body: str, more: dict[str, str], expected: list[str]) -> None:
    assert told(body, head, **more) == expected


def test_references() -> None:
    files = {
        "A.kt": "package a\nimport x.y.Dep\nimport x.y.top\n@Mark class A : Dep(1) {\n  val d: Dep? = null\n"
        "  val n = Dep.MAX\n"
        "  val f = ::top\n  val g = Dep::run\n  fun h(a: A) { a.n }\n}\nannotation class Mark\n",
        "Dep.kt": DEP,
    }
    found = [line for line in edges(files, ("reference", "inherit", "import")) if line.startswith("A.kt")]
    assert [line.split(" -> ")[1].replace("Dep.kt#", "") for line in found] == [
        "Dep import",
        "top import",
        "A.kt#Mark reference",
        "Dep inherit",
        "Dep reference",
        "Dep reference",
        "Dep.Companion.MAX reference",
        "top reference",
        "Dep reference",
        "Dep.run reference",
        "A.kt#A reference",
        "A.kt#A.n reference",
    ]


def test_calls_into_libraries_stay_external_and_bare_names_are_no_ground() -> None:
    files = {
        "A.kt": 'package a\nfun f(u: Unknown) { "s".trim(); u.go(); helper() }\n',
        "B.kt": "package b\nclass B { fun trim() {}\n fun go() {}\n fun helper() {} }\n",
        "h.py": "def helper(): pass\n",
        "J.java": "package a; class J { static void helper() {} }",
    }
    assert edges(files) == []
    assert loose(files) == ["helper"]


def test_a_local_function_is_there_from_its_declaration_on() -> None:
    local = "fun top(n: Int): Int = if (n > 0) top(n - 1) else 0"
    text = f"fun top() = 2\nfun main() {{\n  top()\n  {local}\n  run {{ top(1) }}\n}}\n"
    assert edges({"m.kt": text}) == [
        "m.kt#main -> m.kt#top call",
        "m.kt#main.top -> m.kt#main.top call",
        "m.kt#main -> m.kt#main.top call",
    ]
