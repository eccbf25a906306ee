"""C#: which definition a name means, over several files."""

from __future__ import annotations

import pytest

from tests.unit.graph.edges import edges, loose

DEP = """namespace X.Y {
  public class Dep {
    public string Name; public Dep Link { get; set; }
    public Dep(int n) {} public Dep(string s) : this(1) {}
    public void Run() {} public bool Ok() => true; public Dep Next() => this; public static Dep Make() => new Dep("");
    public void Over(int n) {} public void Over(string s) {} public void Over(Dep d, int k = 1) {}
  }
  public static class Ext { public static void Extra(this Dep d, int n) {} public static T Same<T>(this T t) => t; }
  public static class Util { public static void Help() {} public const int Max = 1; }
  public class Gen<T> { public T Get() => default; } public class Gen { public void Plain() {} }
}
"""
USINGS = "using System.Collections.Generic; using X.Y; "


def told(body: str, usings: str = USINGS, **more: str) -> list[str]:
    """The calls of a class ``A`` in namespace ``N``, as targets; those in Dep.cs by their bare names."""
    files = {"A.cs": f"{usings} namespace N; partial class A {{ {body} }}", "Dep.cs": DEP}
    files.update({f"{name}.cs": text for name, text in more.items()})
    found = [line.split(" -> ")[1].removesuffix(" call") for line in edges(files) if line.startswith("A.cs")]
    return [target.removeprefix("Dep.cs#") for target in found]


RUN = "Dep.Run"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "Dep d; Dep P { get; } void F() { d.Run(); this.P.Run(); d.Link.Run(); }",
            [RUN] * 3,
            id="fields and properties",
        ),
        pytest.param(
            "void F(Dep d) { d.Run(); var e = d; e.Run(); Dep g = new(1); g.Run(); }",
            [RUN, RUN, "Dep.Dep", RUN],
            id="locals",
        ),
        pytest.param(
            "void F() { G(); this.G(); void Local() { G(); } Local(); } void G() {}",
            ["A.cs#A.G"] * 3 + ["A.cs#A.F.Local"],
            id="implicit this and local functions",
        ),
        pytest.param(
            'void F(Dep d) { d.Over(1); d.Over("s"); d.Over(d); d.Over(d, 2); }',
            ["Dep.Over", "Dep.Over~2", "Dep.Over~3", "Dep.Over~3"],
            id="overloads",
        ),
        pytest.param(
            "void F(Dep d) { d?.Next()?.Run(); d!.Run(); (d ?? Dep.Make()).Run(); }",
            ["Dep.Next", RUN, RUN, "Dep.Make", RUN],
            id="what may be null",
        ),
        pytest.param("void F(List<Dep> ds) { foreach (var d in ds) d.Run(); ds[0].Run(); }", [RUN, RUN], id="elements"),
        pytest.param(
            'void F(Dictionary<string, Dep> m) { m["a"].Run(); foreach (var (k, v) in m) v.Run(); }',
            [RUN, RUN],
            id="dictionaries",
        ),
        pytest.param(
            (
                "void F(List<Dep> ds) { ds.Where(d => d.Ok()).Select(d => d.Next()).First().Run(); "
                "ds.ForEach(d => d.Run()); }"
            ),
            ["Dep.Ok", "Dep.Next", RUN, RUN],
            id="closures given to the library",
        ),
        pytest.param(
            (
                "void Each<T>(T t, Action<T> a) {} void F(Dep d) { Each(d, e => e.Run()); Func<Dep, Dep> f "
                "= x => x.Next(); }"
            ),
            ["A.cs#A.Each", RUN, "Dep.Next"],
            id="closures given to us",
        ),
        pytest.param(
            (
                "async Task<Dep> Load() { return null; } async Task F() { var d = await Load(); d.Run(); "
                "(await Load()).Run(); }"
            ),
            ["A.cs#A.Load", RUN, "A.cs#A.Load", RUN],
            id="tasks",
        ),
        pytest.param(
            (
                "void F(object o) { if (o is Dep d && d.Ok()) d.Run(); switch (o) { case Dep e: e.Run(); "
                "break; } (o as Dep).Run(); var x = o switch { Dep g => g.Next(), _ => null }; }"
            ),
            ["Dep.Ok", RUN, RUN, RUN, "Dep.Next"],
            id="patterns",
        ),
        pytest.param(
            "void F(Dep d) { d.Extra(1); d.Same().Run(); Ext.Extra(d, 1); }",
            ["Ext.Extra", "Ext.Same", RUN, "Ext.Extra"],
            id="extension methods",
        ),
        pytest.param(
            "void F() { new Gen<Dep>().Get().Run(); new Gen().Plain(); }",
            ["Gen", "Gen.Get", RUN, "Gen~2", "Gen~2.Plain"],
            id="types that differ in their parameters only",
        ),
        pytest.param("void F((int, Dep) t) { var (n, d) = t; d.Run(); t.Item2.Run(); }", [RUN, RUN], id="tuples"),
        pytest.param(
            (
                "T Id<T>(T t) => t; void F(Dep d) { Id(d).Run(); Id<Dep>(null).Run(); } void G<T>(T t) "
                "where T : Dep { t.Run(); }"
            ),
            ["A.cs#A.Id", RUN, "A.cs#A.Id", RUN, RUN],
            id="type parameters",
        ),
        pytest.param("record P(int X, Dep Y); void F() { new P(1, null).Y.Run(); }", ["A.cs#A.P", RUN], id="records"),
        pytest.param(
            'void F() { X.Y.Dep.Make(); global::X.Y.Dep.Make(); System.Console.WriteLine(1); "s".Trim(); }',
            ["Dep.Make"] * 2,
            id="full names, and what is not ours",
        ),
        pytest.param(
            "Dep Dep { get; set; } void F() { Dep.Run(); Dep.Make(); }",
            [RUN, "Dep.Make"],
            id="a property with the name of its type",
        ),
        pytest.param(
            "void F(Action run) { run(); Ev(); } event Action Ev; void G(dynamic d) { d.Run(); }",
            [],
            id="delegates in variables",
        ),
        pytest.param(
            "class In { void F() { G(); } } static void G() {}", ["A.cs#A.G"], id="members of the class around"
        ),
    ],
)
def test_calls(body: str, expected: list[str]) -> None:
    assert told(body) == expected


BASE = (
    "namespace N { class Base<T> { protected Base(int n) {} public T Get() => default; "
    "protected void Up() {} private void Own() {} } class B { public void Hi() {} } }"
)
EXTENDED = "namespace N { class Q {} } namespace M { static class E { public static void Extra(this N.Q q) {} } }"
B = "{ public class B { public static void Go() {} } }"


@pytest.mark.parametrize(
    ("usings", "body", "more", "expected"),
    [
        pytest.param("", "void F() { B.Go(); }", {"B": f"namespace N {B}"}, ["B.cs#B.Go"], id="the same namespace"),
        pytest.param("", "void F() { B.Go(); }", {"B": f"namespace M {B}"}, [], id="another namespace is not seen"),
        pytest.param("using M;", "void F() { B.Go(); }", {"B": f"namespace M {B}"}, ["B.cs#B.Go"], id="using"),
        pytest.param(
            "using M;",
            "void F() { B.Go(); }",
            {"B": f"namespace M {B}", "C": f"namespace N {B}"},
            ["C.cs#B.Go"],
            id="the own namespace before a using",
        ),
        pytest.param(
            "using Al = M.B;", "void F() { Al.Go(); }", {"B": f"namespace M {B}"}, ["B.cs#B.Go"], id="an alias"
        ),
        pytest.param(
            "using static M.B;", "void F() { Go(); }", {"B": f"namespace M {B}"}, ["B.cs#B.Go"], id="using static"
        ),
        pytest.param(
            "",
            "void F() { B.Go(); }",
            {"B": f"namespace M {B}", "GlobalUsings": "global using M;"},
            ["B.cs#B.Go"],
            id="a using for all files",
        ),
        pytest.param(
            "",
            "void F() { Go(); } ",
            {"A2": "namespace N { partial class A { static void Go() {} } }"},
            ["A2.cs#A.Go"],
            id="partial classes",
        ),
        pytest.param(
            "",
            "void F() { Go(); } ",
            {"A2": "namespace M { partial class A { static void Go() {} } }"},
            [],
            id="a partial class of another namespace",
        ),
        pytest.param(
            "",
            "class S : Base<B> { public S() : base(1) { Up(); base.Up(); Get().Hi(); Own(); } }",
            {"Base": BASE},
            ["Base.cs#Base.Base", "Base.cs#Base.Up", "Base.cs#Base.Up", "Base.cs#Base.Get", "Base.cs#B.Hi"],
            id="what is inherited",
        ),
        pytest.param(
            "",
            "class S : IB { void IB.Hid() {} void F(IB b) { b.Hid(); } }",
            {"B": "namespace N { interface IB { void Hid(); } }"},
            ["B.cs#IB.Hid"],
            id="interfaces",
        ),
        pytest.param(
            "",
            "void F(Q q) { q.Extra(); }",
            {"Q": EXTENDED},
            [],
            id="an extension of a namespace that is not used",
        ),
    ],
)
def test_calls_over_files(usings: str, body: str, more: dict[str, str], expected: list[str]) -> None:
    assert told(body, usings, **more) == expected


def test_references() -> None:
    files = {
        "A.cs": "using X.Y; using static X.Y.Util; [Mark] class A : Dep { Dep d; int n = Max; void F(A x) { n = x.n;"
        " new Dep(1) { Name = null }; var t = typeof(Gen<Dep>); c = C.Red; Action a = x.Run; } C c; enum C { Red } }",
        "Mark.cs": "class MarkAttribute { } class Mark { }",
        "Dep.cs": DEP,
    }
    found = [line for line in edges(files, ("reference", "inherit")) if line.startswith("A.cs")]
    assert [line.split(" -> ")[1].replace("Dep.cs#", "") for line in found] == [
        "Mark.cs#Mark reference",
        "Dep inherit",
        "Dep reference",
        "Util.Max reference",
        "A.cs#A reference",
        "A.cs#A.n reference",
        "A.cs#A.n reference",
        "Dep.Name reference",
        "Gen reference",
        "Dep reference",
        "A.cs#A.c reference",
        "A.cs#A.C reference",
        "A.cs#A.C.Red reference",
        "Dep.Run reference",
        "A.cs#A.C reference",
    ]


def test_calls_into_libraries_stay_external_and_bare_names_are_no_ground() -> None:
    files = {
        "A.cs": 'class A { void F(Unknown u) { "s".Trim(); u.Go(); Helper(); } }',
        "B.cs": "class B { void Trim() {} void Go() {} void Helper() {} }",
        "h.py": "def Helper(): pass\n",
    }
    assert edges(files) == []
    assert loose(files) == ["Helper"]


def test_parts_of_a_type_are_one_type() -> None:
    files = {
        "A.cs": "namespace N { public class B { public void Run() {} } "
        "public partial class Kid : B { public void H() {} } }",
        "B.cs": "namespace N { public partial class Kid { public void Part() { Run(); } } }",
        "C.cs": "namespace N { class U { void F(Kid k) { k.Run(); new Kid().Part(); var m = new Kid(); m.H(); } } }",
    }
    assert edges(files) == [
        "B.cs#Kid.Part -> A.cs#B.Run call",
        "C.cs#U.F -> A.cs#B.Run call",
        "C.cs#U.F -> A.cs#Kid call",
        "C.cs#U.F -> B.cs#Kid.Part call",
        "C.cs#U.F -> A.cs#Kid call",
        "C.cs#U.F -> A.cs#Kid.H call",
    ]
