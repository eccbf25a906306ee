"""Facts of Kotlin: what is told of small texts."""

from __future__ import annotations

import pytest

from tests.unit.graph.told import Case, Told

CASES = [
    Case(
        "classes, members and what they say of themselves",
        "symbols",
        """\
package a.b
open class A<T : D>(val d: D, q: Int = 1) : Base<T>(d), I {
  private val xs: List<T> = listOf()
  var w: Int = 1
    private set
  constructor(n: Int) : this(D(n))
  companion object { const val K = 1; fun make() = A(1) }
  internal fun seen() {}
  abstract fun open(): String
}
interface I { fun go() }
fun interface F {
  fun call()
}
fun D.ext(): D = this
val D.prop: Int get() = 1
val top = 1
typealias H = (D) -> Unit
""",
        [
            "class A exported",
            "property A.d exported : D",
            "property A.xs private : List<T>",
            "property A.w exported : Int",
            "constructor A.A exported",
            "class A.Companion exported static",
            "constant A.Companion.K exported = 'Int",
            "method A.Companion.make exported",
            "method A.seen",
            "method A.open exported abstract : String",
            "interface I exported",
            "method I.go exported abstract",
            "interface F exported",
            "method F.call exported abstract",
            "function ext exported : D",
            "property prop exported : Int",
            "property top exported = 'Int",
            "type H exported = -><?, Unit, D>",
        ],
    ),
    Case(
        "enums, data classes, objects",
        "symbols",
        """\
enum class Color(val n: Int) { RED(1) { fun f() {} }, BLUE; fun g() {} }
data class P(val x: Int, var y: D)
object O : I
sealed class S { class X : S() }
class C { companion object Named }
""",
        [
            "enum Color exported",
            "property Color.n exported : Int",
            "enumMember Color.RED exported static : class",
            "method Color.RED.f exported",
            "enumMember Color.BLUE exported static : class",
            "method Color.g exported",
            "class P exported",
            "property P.x exported : Int",
            "property P.y exported : D",
            "class O exported static",
            "class S exported",
            "class S.X exported",
            "class C exported",
            "class C.Named exported static",
        ],
    ),
    Case(
        "objects without a name and local functions",
        "symbols",
        """\
fun go() {
  object : I { override fun run() {} }
  fun local(n: Int): D = D(n)
}
""",
        [
            "function go exported",
            "class go.<I>",
            "method go.<I>.run",
            "function go.local : D",
        ],
    ),
    Case(
        "tests",
        "symbols",
        """\
class ATest {
  @Test fun works() {}
  @Test
  fun `says why`() {}
  fun helper() {}
}
""",
        [
            "class ATest exported test",
            "method ATest.works exported test",
            "method ATest.says why exported test",
            "method ATest.helper exported",
        ],
    ),
    Case(
        "parameters, locals, loops, tests, catches",
        "bindings",
        """\
fun <U : D> go(u: U, xs: List<D>, k: Int = 1, vararg more: String) {
  val one: D = D(1)
  val two = make()
  val (a, b) = pair()
  for (d in xs) {}
  for ((i, v) in xs) {}
  if (u is D && u.ok()) { u.run() }
  if (u !is E) return
  when (u) { is D -> u.run() }
  when (val s = make()) { else -> s }
  u as D
  try {} catch (e: X) {}
}
""",
        [
            "go <U> parameter = D",
            "go u parameter = a U",
            "go xs parameter = a List<D>",
            "go k parameter = a Int",
            "go more parameter = a []<String>",
            "go one declared = a D",
            "go two value = make(0)",
            "go a value = elem(pair(0), 1)",
            "go b value = elem(pair(0), 2)",
            "go d declared = elem(xs)",
            "go i value = elem(elem(xs), 1)",
            "go v value = elem(elem(xs), 2)",
            "go s value = make(0)",
            "go e declared = a X",
            "go u narrowed = a D",
            "go u narrowed = a E",
            "go u narrowed = a D",
            "go u narrowed = a D",
        ],
    ),
    Case(
        "closures and their receivers",
        "bindings",
        """\
fun go(d: D) {
  xs.map { it.next() }.each { a, b -> a.run(b) }
  d.apply { run() }
  d.let { it.run() }
  with(d) { run() }
  val f: (D) -> E = { it.id() }
}
""",
        [
            "go d parameter = a D",
            "λ this parameter = passed(xs.map(λ), 0.15)",
            "λ it parameter = passed(xs.map(λ), 0.0)",
            "λ <return> value = it.next(0)",
            "λ this parameter = passed(xs.map(λ).each(λ), 0.15)",
            "λ a parameter = passed(xs.map(λ).each(λ), 0.0)",
            "λ b parameter = passed(xs.map(λ).each(λ), 0.1)",
            "λ <return> value = a.run(b)",
            "λ this parameter = d",
            "λ it parameter = ?",
            "λ <return> value = run(0)",
            "λ it parameter = d",
            "λ <return> value = it.run(0)",
            "λ this parameter = d",
            "λ it parameter = ?",
            "λ <return> value = run(0)",
            "go f declared = a -><?, E, D>",
            "λ this parameter = passed(a -><?, E, D>, 0.15)",
            "λ it parameter = passed(a -><?, E, D>, 0.0)",
            "λ <return> value = it.id(0)",
        ],
    ),
    Case(
        "extensions and delegates",
        "bindings",
        """\
fun D.ext() { run() }
class A {
  val z by lazy { D(1) }
  val g get() = make()
}
""",
        [
            "ext this parameter = a D",
            "λ this parameter = passed(lazy(λ), 0.15)",
            "λ it parameter = passed(lazy(λ), 0.0)",
            "λ <return> value = D('Int)",
        ],
    ),
    Case(
        "calls",
        "sites",
        """\
class A : B {
  constructor(n: Int) : super(n)
  fun go() {
    run(); this.run(1); super.run(); super<I>.run(); a.b().c("x"); N.D.make(); D(1, "s"); load<D>(null)
    a?.b?.c()!!.e(); (x as D).cast(); arr[0].item(); a infx b; block { run() }; "${s.trim()}"
    val f = { 1 }
    f()
  }
}
class C : D(1), E
""",
        [
            "inherit B = a B",
            "reference Int = a Int",
            "call super = type super(n)",
            "call run = run(0)",
            "call run = self.run('Int)",
            "call run = super.run(0)",
            "reference I = a I",
            "call run = a I.run(0)",
            "reference a = a",
            "call b = a.b(0)",
            "call c = a.b(0).c('String)",
            "reference N = N",
            "reference D = N.D",
            "call make = N.D.make(0)",
            "call D = D('Int, 'String)",
            "call load = load<D>('null)",
            "reference D = a D",
            "reference a = a",
            "reference b = a.b",
            "call c = a.b.c(0)",
            "call e = a.b.c(0).e(0)",
            "reference x = x",
            "reference D = a D",
            "call cast = a D.cast(0)",
            "reference arr = arr",
            "call item = arr[].item(0)",
            "reference a = a",
            "call infx = a.infx(b)",
            "reference b = b",
            "call block = block(λ)",
            "call run = run(0)",
            "reference s = s",
            "call trim = s.trim(0)",
            "call f = f.invoke(0)",
            "inherit D = a D",
            "call ( = a D('Int)",
            "inherit E = a E",
        ],
    ),
    Case(
        "names of types, members and constants are references, locals are not",
        "sites",
        """\
@Mark(key = MAX) class A<T : D> : Base<E>, n.IB {
  val field: D? = OTHER
  val deep: n.C<E> = field
  fun go(par: D): T { var local = par; local = field; this.field; return field }
}
""",
        [
            "reference Mark = a Mark",
            "reference MAX = MAX",
            "reference D = a D",
            "inherit Base = a Base",
            "reference E = a E",
            "reference n = a n",
            "inherit IB = a n.IB",
            "reference D = a D",
            "reference OTHER = OTHER",
            "reference n = a n",
            "reference C = a n.C",
            "reference E = a E",
            "reference field = field",
            "reference D = a D",
            "reference field = field",
            "reference field = self.field",
            "reference field = field",
        ],
    ),
    Case(
        "references to functions",
        "sites",
        """\
fun go() {
  use(::one, A::two, this::three)
  A::class
}
""",
        [
            "call use = use(one(*), A.two(*), self.three(*))",
            "reference one = one(*)",
            "reference A = A",
            "reference two = A.two(*)",
            "reference three = self.three(*)",
            "reference A = A",
        ],
    ),
    Case(
        "imports",
        "imports",
        """\
import b.C
import b.d.*
import b.e as f
""",
        [
            "b:C as C 0",
            "b.d:* as  0",
            "b:e as f 0",
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_text_says(case: Case) -> None:
    case.check("kotlin")


def test_where_a_definition_begins_and_what_is_said_of_it() -> None:
    source = """\
package a.b

/** Makes things. */
@Mark
open class A {
  // Goes.
  @JvmStatic inline fun <T> go(n: Int, k: Int = 1, block: () -> T): T {
    return block()
  }
}
"""
    told = Told("kotlin", source)
    assert told.facts.package == "a.b"
    made, go = told.facts.symbols[1:]
    assert (made.range, made.at) == ((4, 0, 9, 1), (4, 11, 1))
    assert (made.signature, made.doc) == ("open class A", "Makes things.")
    assert (go.range, go.at) == ((6, 13, 8, 3), (6, 28, 2))
    assert go.signature == "inline fun <T> go(n: Int, k: Int = 1, block: () -> T): T"
    assert (go.doc, go.params, go.arity, go.generics) == ("Goes.", ["n", "k", "block"], (2, 3), ["T"])
