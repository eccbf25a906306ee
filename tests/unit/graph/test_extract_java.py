"""Facts of Java: what is told of small texts."""

from __future__ import annotations

import pytest

from tests.unit.graph.told import Case, Told

CASES = [
    Case(
        "classes, members and what they say of themselves",
        "symbols",
        """\
package a.b;
public class A<T> extends Base<T> implements I {
  private final int[] xs, ys[];
  protected static final int MAX = 1;
  A(int n) {}
  public abstract String name();
  private void hidden() {}
  class Inner { public void deep() {} }
}
interface I { int K = 1; void open(); default void shut() {} private void inner() {} }
@interface Mark { int value() default 1; }
""",
        [
            "class A exported",
            "field A.xs private : []<int>",
            "field A.ys private : []<[]<int>>",
            "constant A.MAX exported static : int",
            "constructor A.A",
            "method A.name exported abstract : String",
            "method A.hidden private",
            "class A.Inner",
            "method A.Inner.deep",
            "interface I",
            "constant I.K static : int",
            "method I.open abstract",
            "method I.shut",
            "method I.inner private",
            "interface Mark",
            "method Mark.value abstract : int",
        ],
    ),
    Case(
        "enums with bodies and records",
        "symbols",
        """\
public enum Color { RED(1) { void paint() {} }, BLUE; Color(int n) {} }
record P(int x, String y) { P { } static P of() { return null; } }
""",
        [
            "enum Color exported",
            "enumMember Color.RED exported static : class",
            "method Color.RED.paint",
            "enumMember Color.BLUE exported static : class",
            "constructor Color.Color",
            "class P",
            "field P.x : int",
            "field P.y : String",
            "constructor P.P",
            "method P.of static : P",
        ],
    ),
    Case(
        "anonymous, local and nested classes",
        "symbols",
        """\
class A { void go() { new Runnable() { public void run() {} }; class Local { void in() {} } } }
""",
        [
            "class A",
            "method A.go",
            "class A.go.<Runnable>",
            "method A.go.<Runnable>.run",
            "class A.go.Local",
            "method A.go.Local.in",
        ],
    ),
    Case(
        "tests",
        "symbols",
        """\
class ATest { @Test void works() {}
  @org.junit.jupiter.api.ParameterizedTest void each(int n) {} void helper() {} }
class Old extends TestCase { public void testIt() {} public void other() {} }
""",
        [
            "class ATest test",
            "method ATest.works test",
            "method ATest.each test",
            "method ATest.helper",
            "class Old test",
            "method Old.testIt test",
            "method Old.other",
        ],
    ),
    Case(
        "parameters, locals, loops, patterns, catches, resources",
        "bindings",
        """\
class A { <U extends D> void go(U u, List<D> ds, int... more) {
  D one = null; var two = make(); for (D d : ds) {} for (var e : ds) {} for (int i = 0;;) {}
  if (u instanceof D d2) {} if (u instanceof P(int x, var y)) {} switch (u) { case D d3 -> {} }
  try (var in = open()) {} catch (X | Y e) {}
} }
""",
        [
            "A.go <U> parameter = D",
            "A.go u parameter = a U",
            "A.go ds parameter = a List<D>",
            "A.go more parameter = a []<int>",
            "A.go one declared = a D",
            "A.go two value = make(0)",
            "A.go d declared = a D",
            "A.go e declared = elem(ds)",
            "A.go i declared = a int",
            "A.go d2 declared = a D",
            "A.go x declared = a int",
            "A.go y declared = ?",
            "A.go d3 declared = a D",
            "A.go in declared = open(0)",
            "A.go e declared = a X or Y",
        ],
    ),
    Case(
        "closures",
        "bindings",
        """\
class A { void go() {
  Function<D, E> f = d -> d.next(); xs.map(x -> { return x.id(); }).each((a, b) -> {}); run(() -> go());
} }
""",
        [
            "λ d parameter = passed(a Function<D, E>, 0.0)",
            "λ <return> value = d.next(0)",
            "λ x parameter = passed(xs.map(λ), 0.0)",
            "λ a parameter = passed(xs.map(λ).each(λ), 0.0)",
            "λ b parameter = passed(xs.map(λ).each(λ), 0.1)",
            "λ <return> value = go(0)",
            "A.go f declared = a Function<D, E>",
            "λ <return> value = x.id(0)",
        ],
    ),
    Case(
        "calls",
        "sites",
        """\
class A { void go() {
  run(); this.run(1); super.run(); a.b().c("x"); A.B.make(); new D(1, "s"); outer.new In(); new a.b.D<>();
  xs.<D>of(null); ((D) x).cast(); (b ? c : d).either(); arr[0].item(); "s".text(); unknown(1)[0].more();
} A() { this(1); } A(int n) { super(n); } }
""",
        [
            "call run = run(0)",
            "call run = self.run('int)",
            "call run = super.run(0)",
            "reference a = a",
            "call b = a.b(0)",
            "call c = a.b(0).c('String)",
            "reference A = A",
            "reference B = A.B",
            "call make = A.B.make(0)",
            "call D = a D('int, 'String)",
            "reference outer = outer",
            "call In = a type outer.In(0)",
            "reference a = a a",
            "reference b = a a.b",
            "call D = a a.b.D(0)",
            "reference xs = xs",
            "reference D = a D",
            "call of = xs.of('null)",
            "reference D = a D",
            "reference x = x",
            "call cast = a D.cast(0)",
            "reference b = b",
            "reference c = c",
            "reference d = d",
            "call either = c or d.either(0)",
            "reference arr = arr",
            "call item = elem(arr).item(0)",
            "call text = 'String.text(0)",
            "call unknown = unknown('int)",
            "call more = elem(unknown('int)).more(0)",
            "call this = class('int)",
            "call super = type super(n)",
        ],
    ),
    Case(
        "names of types, fields and constants are references, locals are not",
        "sites",
        """\
@Mark(key = MAX) class A<T extends D> { D field = OTHER; T own; a.b.C<E[]> deep;
  void go(D par) throws X { int local = par; local = field; field = this.field;
    label: while (true) break label; Object o = D.class; } }
""",
        [
            "reference Mark = a Mark",
            "reference MAX = MAX",
            "reference D = a D",
            "reference D = a D",
            "reference OTHER = OTHER",
            "reference a = a a",
            "reference b = a a.b",
            "reference C = a a.b.C",
            "reference E = a E",
            "reference D = a D",
            "reference X = a X",
            "reference field = field",
            "reference field = field",
            "reference field = self.field",
            "reference Object = a Object",
            "reference D = a D",
        ],
    ),
    Case(
        "method references",
        "sites",
        """\
class A { void go() { use(A::one, this::two, D::new, int[]::clone, a.b.C::three); } }
""",
        [
            "call use = use(A.one(*), self.two(*), a D(*), []<int>.clone(*), a.b.C.three(*))",
            "reference A = A",
            "reference one = A.one(*)",
            "reference two = self.two(*)",
            "reference D = D",
            "reference new = a D(*)",
            "reference clone = []<int>.clone(*)",
            "reference a = a",
            "reference b = a.b",
            "reference C = a.b.C",
            "reference three = a.b.C.three(*)",
        ],
    ),
    Case(
        "constants of a switch and of an enum",
        "sites",
        """\
class A { void go(Color c) { switch (c) { case RED: break; case BLUE: break; } } enum Color { RED(1), BLUE } }
""",
        [
            "reference Color = a Color",
            "reference RED = type c.RED or RED",
            "reference BLUE = type c.BLUE or BLUE",
            "call RED = class('int)",
        ],
    ),
    Case(
        "imports",
        "imports",
        """\
package a; import b.C; import b.d.*; import static b.E.f; import static b.G.*; import b.Out.In;
""",
        [
            "b:C as C 0",
            "b.d:* as  0",
            "b.E:f as f 8",
            "b.G:* as  8",
            "b.Out:In as In 0",
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_text_says(case: Case) -> None:
    case.check("java")


def test_where_a_definition_begins_and_what_is_said_of_it() -> None:
    source = """\
package a;

/**
 * Makes things.
 * Twice.
 */
@Mark(1)
@Other
public final class A {
  /** Goes. */
  @Override public <T> void go(int n,
      String... more) throws X {
  }
}
"""
    told = Told("java", source)
    assert told.facts.package == "a"
    made, go = told.facts.symbols[1:]
    assert (made.range, made.at) == ((8, 0, 13, 1), (8, 19, 1))
    assert (made.signature, made.doc) == ("public final class A", "Makes things.\nTwice.")
    assert (go.range, go.at) == ((10, 12, 12, 3), (10, 28, 2))
    assert go.signature == "public <T> void go(int n, String... more) throws X"
    assert (go.doc, go.params, go.arity, go.generics) == ("Goes.", ["n", "more"], (1, -1), ["T"])
