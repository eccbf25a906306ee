"""Facts of C#: what is told of small texts."""

from __future__ import annotations

import pytest

from tests.unit.graph.told import Case, Told

CASES = [
    Case(
        "types, members and what they say of themselves",
        "symbols",
        """\
namespace N.M;
public partial class A<T>(int seed) : Base<T>(seed), IA where T : D {
  const int Max = 1; private readonly int[] xs, ys; public event Action Done;
  public string Prop { get; set; } = "x"; public int Len => 1; public D this[int i] => null;
  public A() : this(1) {} ~A() {} public static A<T> operator +(A<T> l, A<T> r) => l;
  protected async Task<D> Load() { int Local(int z) => z; return null; }
  void IA.Hidden() {} internal void Seen() {}
  public enum Color { Red = 1, Blue } public delegate int Handler(D d);
}
interface IA { void Hidden(); int P { get; } }
struct S { public int X; }
public record P(int X, D Y);
""",
        [
            "class A exported",
            "constant A.Max static private : int",
            "field A.xs private : []<int>",
            "field A.ys private : []<int>",
            "field A.Done exported : Action",
            "property A.Prop exported : string",
            "property A.Len exported : int",
            "property A.this[] exported : D",
            "constructor A.A exported",
            "method A.~A private",
            "method A.operator + exported static : A<T>",
            "method A.Load exported async : Task<D>",
            "function A.Load.Local private : int",
            "method A.Hidden private",
            "method A.Seen",
            "enum A.Color exported",
            "enumMember A.Color.Red exported static : class",
            "enumMember A.Color.Blue exported static : class",
            "type A.Handler exported : int",
            "interface IA",
            "method IA.Hidden abstract",
            "property IA.P : int",
            "struct S",
            "field S.X : int",
            "class P exported",
            "property P.X exported : int",
            "property P.Y exported : D",
        ],
    ),
    Case(
        "several namespaces are symbols, a single one is the package",
        "symbols",
        """\
namespace One { class A { } namespace Inner { class B { } } } namespace Two { class A { } }
""",
        [
            "namespace One exported",
            "class One.A",
            "namespace One.Inner exported",
            "class One.Inner.B",
            "namespace Two exported",
            "class Two.A",
        ],
    ),
    Case(
        "tests",
        "symbols",
        """\
class ATest {
  [Fact] public void Works() {}
  [Xunit.Theory, InlineData(1)] public void Each(int n) {}
  [TestMethodAttribute] void Third() {}
  void Helper() {}
}
""",
        [
            "class ATest test",
            "method ATest.Works test",
            "method ATest.Each test",
            "method ATest.Third test private",
            "method ATest.Helper private",
        ],
    ),
    Case(
        "parameters, locals, loops, patterns, catches, usings",
        "bindings",
        """\
class A { void Go<U>(U u, List<D> ds, int k = 1, params string[] more) where U : D {
  D one = null; var two = Make(); foreach (D d in ds) {} foreach (var (i, v) in ds) {} for (int i = 0;;) {}
  if (u is D d2 && u is P { X: 1 } p) {} switch (u) { case D d3: break; }
  var (a, b) = Pair(); Get(out var got, out D more2);
  try {} catch (X e) {} using var s = Open(); using (var t = Open()) {}
  var q = from c in ds let n = c.Name select n;
} }
""",
        [
            "A.Go <U> parameter = D",
            "A.Go u parameter = a U",
            "A.Go ds parameter = a List<D>",
            "A.Go k parameter = a int",
            "A.Go more parameter = a []<string>",
            "A.Go one declared = a D",
            "A.Go two value = Make(0)",
            "A.Go d declared = a D",
            "A.Go i value = elem(elem(ds), 1)",
            "A.Go v value = elem(elem(ds), 2)",
            "A.Go i declared = a int",
            "A.Go d2 declared = a D",
            "A.Go p declared = a P",
            "A.Go d3 declared = a D",
            "A.Go a value = elem(Pair(0), 1)",
            "A.Go b value = elem(Pair(0), 2)",
            "A.Go got declared = ?",
            "A.Go more2 declared = a D",
            "A.Go e declared = a X",
            "A.Go s value = Open(0)",
            "A.Go t value = Open(0)",
            "A.Go q value = ?",
            "A.Go c value = elem(ds)",
            "A.Go n value = c.Name",
        ],
    ),
    Case(
        "closures",
        "bindings",
        """\
class A { void Go() {
  Func<D, E> f = d => d.Next(); xs.Select(x => { return x.Id; }).Each((a, b) => a); Run(() => Go());
} }
""",
        [
            "λ d parameter = passed(a Func<D, E>, 0.0)",
            "λ <return> value = d.Next(0)",
            "λ x parameter = passed(xs.Select(λ), 0.0)",
            "λ a parameter = passed(xs.Select(λ).Each(λ), 0.0)",
            "λ b parameter = passed(xs.Select(λ).Each(λ), 0.1)",
            "λ <return> value = a",
            "λ <return> value = Go(0)",
            "A.Go f declared = a Func<D, E>",
            "λ <return> value = x.Id",
        ],
    ),
    Case(
        "calls",
        "sites",
        """\
class A : B { void Go() {
  Run(); this.Run(1); base.Run(); a.B().C("x"); N.D.Make(); new D(1, "s") { Name = 1 };
  D n = new(2); Load<D>(null);
  a?.B?.C().E(); a!.B(); ((D) x).Cast(); (x as D).As(); arr[0].Item(); await Go(k: 1); nameof(Go); local();
  void Inner() {} Action local = Inner; local();
} A() : this(1) { } A(int n) : base(n) { } }
""",
        [
            "inherit B = a B",
            "call Run = Run(0)",
            "call Run = self.Run('int)",
            "call Run = super.Run(0)",
            "reference a = a",
            "call B = a.B(0)",
            "call C = a.B(0).C('string)",
            "reference N = N",
            "reference D = N.D",
            "call Make = N.D.Make(0)",
            "call D = a D('int, 'string)",
            "reference Name = a D.Name",
            "reference D = a D",
            "call new = a D('int)",
            "call Load = Load<D>('null)",
            "reference D = a D",
            "reference a = a",
            "reference B = a.B",
            "call C = a.B.C(0)",
            "call E = a.B.C(0).E(0)",
            "reference a = a",
            "call B = a.B(0)",
            "reference D = a D",
            "reference x = x",
            "call Cast = a D.Cast(0)",
            "reference x = x",
            "reference D = a D",
            "call As = a D.As(0)",
            "reference arr = arr",
            "call Item = arr[].Item(0)",
            "call Go = Go('int)",
            "reference Go = Go",
            "call local = local(0)",
            "reference Action = a Action",
            "reference Inner = Inner",
            "call this = class('int)",
            "call base = type super(n)",
        ],
    ),
    Case(
        "names of types, members and constants are references, locals are not",
        "sites",
        """\
[Mark(Key = Max)] class A<T> : Base<D>, N.IB where T : D { D field = Other; D? maybe; (D, E) pair;
  N.C<E[]> deep; static D Prop => Other;
  void Go(D par) { int local = par; local = field; field = this.field;
    var t = typeof(D); var x = y is P { X: 1 }; var z = w with { X = 2 }; } }
""",
        [
            "reference Mark = a Mark",
            "reference Max = Max",
            "inherit Base = a Base",
            "reference D = a D",
            "reference N = N",
            "inherit IB = a N.IB",
            "reference D = a D",
            "reference D = a D",
            "reference Other = Other",
            "reference D = a D",
            "reference D = a D",
            "reference E = a E",
            "reference N = N",
            "reference C = a N.C<[]<E>>",
            "reference E = a E",
            "reference D = a D",
            "reference Other = Other",
            "reference D = a D",
            "reference field = field",
            "reference field = field",
            "reference field = self.field",
            "reference D = a D",
            "reference y = y",
            "reference P = a P",
            "reference X = a P.X",
            "reference w = w",
            "reference X = w.X",
        ],
    ),
    Case(
        "usings",
        "imports",
        """\
global using System; using static A.B.C; using Al = A.B<int>; using N.M;
""",
        [
            "System:* as  32",
            "A.B.C:* as  8",
            "A.B: as Al 0",
            "N.M:* as  0",
        ],
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_text_says(case: Case) -> None:
    case.check("csharp")


def test_where_a_definition_begins_and_what_is_said_of_it() -> None:
    source = """\
namespace N.M {
  /// <summary>Makes <c>things</c>, see <see cref="B"/>.</summary>
  [Serializable]
  public sealed class A {
    /// Goes.
    [Obsolete] public void Go<T>(int n, int k = 1) where T : B => Run();
  }
}
"""
    told = Told("csharp", source)
    assert told.facts.package == "N.M"
    made, go = told.facts.symbols[1:]
    assert (made.range, made.at) == ((3, 2, 6, 3), (3, 22, 1))
    assert (made.signature, made.doc) == ("public sealed class A", "Makes things, see B.")
    assert (go.range, go.at) == ((5, 15, 5, 72), (5, 27, 2))
    assert (go.doc, go.params, go.arity, go.generics) == ("Goes.", ["n", "k"], (1, 2), ["T"])
