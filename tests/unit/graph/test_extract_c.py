"""What is read in C and C++."""

from __future__ import annotations

import pytest
from ombud.graph import facts as f
from ombud.graph.extract import extract
from ombud.graph.packed import encode

from tests.unit.graph.told import Case, Told

C = [
    Case(
        "structures, unions, enums, typedefs and macros",
        "symbols",
        "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n#define LIMIT 3\ntypedef struct node { struct node *next; "
        "int (*cb)(int); } node_t, *pnode;\n"
        "typedef struct { int x; } point;\nunion u { int a; };\nenum color { RED, GREEN = LIMIT };\ntypedef "
        "int (*handler)(int);\n",
        [
            "macro MAX exported",
            "macro LIMIT exported",
            "type node_t exported = #node",
            "type pnode exported = #node",
            "struct node exported",
            "field node.next exported : node",
            "field node.cb exported : function",
            "struct point exported",
            "field point.x exported : int",
            "struct u exported",
            "field u.a exported : int",
            "enum color exported",
            "enumMember color.RED exported",
            "enumMember color.GREEN exported",
            "type handler exported = function",
        ],
    ),
    Case(
        "functions and variables: static ones are not exported, a declaration before its definition is the same symbol",
        "symbols",
        "static int help(int n);\nint run(void);\nextern int count;\nint count = 1;\nstatic const int table[] = {1};\n"
        "static int help(int n) { return n; }\nchar *name(const char *s, ...) { return 0; }\nvoid (*pick(int "
        "n))(int) { return 0; }\n",
        [
            "function help : int",
            "function run exported : int",
            "variable count exported : int",
            "variable table : int",
            "function name exported : char*",
            "function pick exported",
        ],
    ),
    Case(
        "what locals and parameters are",
        "bindings",
        "int run(struct node *n, int (*f)(int), int old[]) {\n  struct node here = {.next = n}, *p = &here;\n"
        "  for (int i = 0; i < 3; i++) { unsigned long k = i; }\n  return 0;\n}\nint old(a, b) int a; char "
        "*b; { return a; }\n",
        [
            "run n parameter = a node",
            "run f parameter = a function",
            "run old parameter = a int",
            "run here declared = a node",
            "run p declared = a node",
            "run i declared = a int",
            "run k declared = a int",
            "old a declared = a int",
            "old b declared = a char*",
        ],
    ),
    Case(
        "calls, fields, initializers; locals are no references",
        "sites",
        '#include "x.h"\nint f(struct ops *o) { o->open(1); (*o->close)(2); table[0](3); MAX(f, 4); struct '
        "ops k = {.open = mine}; "
        "return sizeof(struct ops) + LIMIT; }\n",
        [
            "import x.h = import 0",
            "reference ops = a ops",
            "call open = unwrap o.open('int)",
            "call close = unwrap o.close('int)",
            "call table = table[]('int)",
            "call MAX = MAX(f, 'int)",
            "reference f = f",
            "reference ops = a ops",
            "reference open = a ops.open",
            "reference mine = mine",
            "reference ops = a ops",
            "reference LIMIT = LIMIT",
        ],
    ),
    Case(
        "macros where no name can stand, and branches that open one brace twice",
        "symbols",
        "API int CALL deflate(int level);\nZEXTERN const char * ZEXPORT version(void);\nint attr(void) "
        "__attribute__((noinline));\n"
        "#ifdef FAST\nint cond(int a) {\n#else\nint cond(int a, int b) {\n#endif\n  return 1;\n}\nint "
        "after(void) { return 2; }\n",
        [
            "function deflate exported : int",
            "function version exported : char*",
            "function attr exported : int",
            "function cond exported : int",
            "function after exported : int",
        ],
    ),
]
CPP = [
    Case(
        "classes with all that can be in them",
        "symbols",
        "namespace a::b {\nclass V : public B {\npublic:\n  explicit V(int a, int b = 2) : B(a) {}\n  ~V();\n "
        " operator bool() const;\n"
        "  int operator()(int) const { return 1; }\n  virtual void f() = 0;\n  static int count;\n  static "
        "constexpr int K = 3;\n"
        "  enum class E { A };\n  using I = int;\nprivate:\n  B *next, *last;\n  union { int x; float y; };\n"
        "};\n}\nnamespace { int hidden; }\n",
        [
            "namespace a exported",
            "namespace a.b exported",
            "class a.b.V exported",
            "constructor a.b.V.V exported",
            "method a.b.V.~V exported",
            "method a.b.V.operator bool exported : bool",
            "method a.b.V.operator() exported : int",
            "method a.b.V.f exported abstract",
            "field a.b.V.count exported static : int",
            "constant a.b.V.K exported static : int",
            "enum a.b.V.E exported",
            "enumMember a.b.V.E.A exported",
            "type a.b.V.I exported = int",
            "field a.b.V.next : B",
            "field a.b.V.last : B",
            "field a.b.V.x : int",
            "field a.b.V.y : float",
            "variable hidden : int",
        ],
    ),
    Case(
        "members defined outside of their class, templates, a class behind a macro",
        "symbols",
        "class EXPORT A final : public X { void f(); template <class T> T g(T t); };\nvoid A::f() {}\n"
        "template <class T> T A::g(T t) { return t; }\nint Other::h() { return 1; }\nauto made() -> A { "
        "return A(); }\n",
        [
            "class A exported",
            "method A.f",
            "method A.g : T",
            "method Other.h exported : int",
            "function made exported : A",
        ],
    ),
    Case(
        "what variables are",
        "bindings",
        "void f(const A &a, std::vector<std::unique_ptr<B>> many) {\n  auto b = A(1); auto *c = new "
        "ns::A<int>(); A d{1}; A e(a);\n"
        "  for (auto &[k, v] : many) {}\n  for (const B &one : many) {}\n  if (auto q = g(); q) {}\n"
        "  auto l = [x = b](int n) { return n; };\n  try {} catch (const E &error) {}\n  auto [m, n] = "
        "pair();\n  auto t = static_cast<B *>(c);\n}\n",
        [
            "f a parameter = a A",
            "f many parameter = a std.vector<std.unique_ptr<B>>",
            "f b value = A('int)",
            "f c value = a ns.A<int>",
            "f d declared = a A",
            "f e declared = a A",
            "f q value = g(0)",
            "f l value = λ",
            "λ n parameter = a int",
            "f m value = elem(pair(0), 1)",
            "f n value = elem(pair(0), 2)",
            "f t value = a B",
            "f k value = elem(elem(many), 1)",
            "f v value = elem(elem(many), 2)",
            "f one declared = a B",
            "f error declared = a E",
            "λ x value = b",
            "λ <return> value = n",
        ],
    ),
    Case(
        "calls, constructions and what is named in scopes",
        "sites",
        "struct D : ns::B { D() : ns::B(1), k(2) {} int k; };\nvoid f() { ns::g<int>(1); D d(1); D *e = new "
        "D; e->k = ns::Color::RED; ns::T{2}; "
        "h(&D::run); }\n",
        [
            "reference ns = ns",
            "inherit B = a ns.B",
            "reference ns = ns",
            "call B = ns.B('int)",
            "call k = k('int)",
            "reference ns = ns",
            "call g = ns.g<int>('int)",
            "reference D = a D",
            "call d = type a D('int)",
            "reference D = a D",
            "call D = a D(0)",
            "reference k = unwrap e.k",
            "reference ns = ns",
            "reference Color = ns.Color",
            "reference RED = ns.Color.RED",
            "reference ns = ns",
            "call T = a ns.T('int)",
            "call h = h(D.run)",
            "reference D = D",
            "reference run = D.run",
        ],
    ),
    Case(
        "using, aliases of namespaces, classes that are declared only",
        "imports",
        '#include <vector>\n#include "a/b.h"\nusing namespace x::y;\nusing x::z;\nnamespace q = x::y;\nclass '
        "Later;\nvoid f(struct Tag *t);\n",
        [
            "vector: as  16",
            "a/b.h: as  0",
            "x::y:* as  0",
            "x:z as z 0",
            "x::y: as q 0",
            ":Later as Later 2",
            ":Tag as Tag 2",
        ],
    ),
    Case(
        "tests that a macro makes",
        "symbols",
        "TEST(Suite, Works) { run(); }\nTEST_F(Fixture, Too) { run(); }\n",
        ["function TEST(Suite, Works) exported test", "function TEST_F(Fixture, Too) exported test"],
    ),
]


@pytest.mark.parametrize("case", C, ids=lambda case: case.name)
def test_c(case: Case) -> None:
    case.check("c")


@pytest.mark.parametrize("case", CPP, ids=lambda case: case.name)
def test_cpp(case: Case) -> None:
    case.check("cpp")


def test_texts() -> None:
    source = (
        "/** Does it.\n * Well. */\ntemplate <class T>\nint run(T t,\n        int n = 2)\n{ return n; }\n\n// "
        "The most.\n#define MOST(x) \\\n  (x)\n"
        "/// A box.\nclass Box {\n  int k; // behind\n  /* Before. */ void m();\n};\n"
    )
    symbols = {symbol.name: symbol for symbol in Told("cpp", source).facts.symbols}
    run = symbols["run"]
    assert (run.signature, run.doc, run.params, run.arity) == (
        "int run(T t, int n = 2)",
        "Does it.\nWell.",
        ["t", "n"],
        (1, 2),
    )
    assert (run.range, run.at, run.generics) == ((3, 0, 5, 13), (3, 4, 3), ["T"])
    assert (symbols["MOST"].signature, symbols["MOST"].doc, symbols["MOST"].arity) == (
        "#define MOST(x)",
        "The most.",
        (1, 1),
    )
    assert (symbols["Box"].signature, symbols["Box"].doc, symbols["m"].doc) == ("class Box", "A box.", "Before.")


HOSTILE = {
    "empty": b"",
    "a mark of order": b"\xef\xbb\xbfint f(void) { return g(); }",
    "no UTF-8": b'int f(void) { return g("\xff\xfe"); } // \xc3',
    "ten thousand operands": b"int f(void) { return " + b"+".join([b"g()"] * 10_000) + b"; }",
    "ten thousand members": b"int f(void) { return a" + b".b" * 10_000 + b"(); }",
    "ten thousand calls": b"int f(void) { return a" + b".b()" * 3_000 + b"; }",
    "ten thousand scopes": b"int x = a" + b"::b" * 10_000 + b";",
    "ten thousand pointers": b"int " + b"*" * 10_000 + b"p;",
    "ten thousand brackets": b"int x = " + b"(" * 10_000 + b"1" + b")" * 10_000 + b";",
    "ten thousand conditions": b"#if A\n" * 10_000 + b"int x\n" + b"#endif\n" * 10_000,
    "words that look like macros": b"int f() " + b"AAAAAAAAAAAAAAAA " * 2_000 + b"(",
    "a word without end": b"class " + b"A" * 50_000 + b" x(" + b"(" * 50,
    "half a class": b"class A : public { virtual void f( = 0; int } ; template < struct",
    "only operators": b"operator operator::~<>[]{}()",
}


@pytest.mark.parametrize("language", ["c", "cpp"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_read_as_far_as_they_can_be(name: str, language: str) -> None:
    facts = extract(language, HOSTILE[name])
    assert facts.symbols[0].kind == f.MODULE
    assert encode(facts) == encode(extract(language, HOSTILE[name]))
