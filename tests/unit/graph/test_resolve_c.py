"""Edges of C and C++: small projects, and what each call, reference and include means."""

from __future__ import annotations

import random

import pytest
from ombud.graph.resolve import Resolver

from tests.unit.graph.edges import Memory, edges, loose

CALLS = {
    "a declaration leads to the definition, through what is included": (
        {
            "a.c": '#include "api.h"\nint main(void) { return run(1); }',
            "api.h": '#include "inner.h"\n',
            "inner.h": "int run(int n);\n",
            "run.c": '#include "api.h"\nint run(int n) { return n; }',
        },
        ["a.c#main -> run.c#run"],
    ),
    "what is not included is not seen": (
        {"a.c": "int main(void) { return run(1); }", "run.c": "int run(int n) { return n; }"},
        [],
    ),
    "static functions are their file's own": (
        {
            "a.c": "static int help(void) { return 1; }\nint a(void) { return help(); }",
            "b.c": "static int help(void) { return 2; }\nint b(void) { return help(); }",
            "c.c": "int help(void);\nint c(void) { return help(); }",
        },
        ["a.c#a -> a.c#help", "b.c#b -> b.c#help", "c.c#c -> c.c#help"],
    ),
    "of several definitions none is certain: the declaration is meant": (
        {
            "api.h": "int run(void);",
            "x.c": '#include "api.h"\nint run(void) { return 1; }',
            "y.c": '#include "api.h"\nint run(void) { return 2; }',
            "a.c": '#include "api.h"\nint main(void) { return run(); }',
        },
        ["a.c#main -> api.h#run"],
    ),
    "declared and defined in one file it is one symbol": (
        {"a.c": "static int late(int);\nint main(void) { return late(1); }\nstatic int late(int n) { return n; }"},
        ["a.c#main -> a.c#late"],
    ),
    "library calls stay external; never by bare name": (
        {
            "a.c": '#include <stdio.h>\nint main(void) { printf("x"); return 0; }',
            "b.c": "int printf(const char *f, ...) { return 0; }",
        },
        [],
    ),
    "a system header is no file of the project that is called so": (
        {
            "string.h": "int strlen(const char *s);",
            "lib/string.h": "int mine(void);",
            "a.c": "#include <string.h>\nint f(void) { return mine(); }",
        },
        [],
    ),
    "an include by a path's end, the nearest of several": (
        {
            "x/inc/t.h": "static int t(void) { return 1; }",
            "y/inc/t.h": "static int t(void) { return 2; }",
            "x/src/a.c": '#include "inc/t.h"\nint a(void) { return t(); }',
            "z/b.c": '#include "inc/t.h"\nint b(void) { return t(); }',
        },
        ["x/src/a.c#a -> x/inc/t.h#t"],
    ),
    "folders of compile_flags.txt": (
        {
            "compile_flags.txt": "-I\none\n",
            "one/t.h": "static int t(void) { return 1; }",
            "two/t.h": "static int t(void) { return 2; }",
            "a.c": '#include "t.h"\nint a(void) { return t(); }',
        },
        ["a.c#a -> one/t.h#t"],
    ),
    "folders of compile_commands.json": (
        {
            "compile_commands.json": '[{"directory": "/w/p/build", "file": "../a.c", "command": "cc -I../two '
            '-c ../a.c"}]',
            "one/t.h": "static int t(void) { return 1; }",
            "two/t.h": "static int t(void) { return 2; }",
            "a.c": '#include "t.h"\nint a(void) { return t(); }',
        },
        ["a.c#a -> two/t.h#t"],
    ),
    "macros that take arguments": (
        {"m.h": "#define TWICE(x) ((x) + (x))\n", "a.c": '#include "m.h"\nint a(void) { return TWICE(2); }'},
        ["a.c#a -> m.h#TWICE"],
    ),
    "a pointer to a function in a structure is no function": (
        {
            "a.c": "struct ops { int (*open)(int); };\nint open(int n) { return n; }\nint f(struct ops *o) { "
            "return o->open(1); }"
        },
        [],
    ),
    "a local variable hides a function": (
        {
            "a.c": "int f(void) { return 1; }\nint g(int (*f)(void)) { return f(); }\nint h(void) { { int "
            "(*f)(void) = 0; f(); } return f(); }"
        },
        ["a.c#h -> a.c#f"],
    ),
    "branches for other systems give way": (
        {
            "a.c": "#ifdef _WIN32\nint now(void) { return 1; }\n#else\nint now(void) { return 2; }\n#endif\n",
            "a.h": "int now(void);",
            "b.c": '#include "a.h"\nint b(void) { return now(); }',
        },
        ["b.c#b -> a.c#now~2"],
    ),
    "macros in declarations": (
        {
            "a.h": '#ifdef __cplusplus\nextern "C" {\n#endif\nAPI int CALL run(int n);\n#ifdef __cplusplus\n'
            "}\n#endif\n",
            "run.c": '#include "a.h"\nAPI int CALL run(int n) { return n; }',
            "a.c": '#include "a.h"\nint a(void) { return run(1); }',
        },
        ["a.c#a -> run.c#run"],
    ),
    "namespaces: nested, reopened, an alias, using": (
        {
            "n.h": "namespace a { void f(); namespace b { void g(); } }\nnamespace a::b { void h(); }",
            "n.cpp": '#include "n.h"\nnamespace a { void f() { b::g(); }\nnamespace b { void g() { f(); h(); '
            "} } }\nvoid a::b::h() { g(); }",
            "m.cpp": '#include "n.h"\nnamespace z = a::b;\nusing a::f;\nvoid x() { z::g(); f(); }\n'
            "void y() { using namespace a::b; h(); }\nvoid w() { g(); }",
        },
        [
            "m.cpp#x -> n.cpp#a.b.g",
            "m.cpp#x -> n.cpp#a.f",
            "m.cpp#y -> n.cpp#b.h",
            "n.cpp#a.f -> n.cpp#a.b.g",
            "n.cpp#a.b.g -> n.cpp#a.f",
            "n.cpp#a.b.g -> n.cpp#b.h",
            "n.cpp#b.h -> n.cpp#a.b.g",
        ],
    ),
    "a namespace without a name, and the same name in another": (
        {
            "a.cpp": "namespace { int f() { return 1; } }\nnamespace other { int f() { return 2; } }\nint g() "
            "{ return f(); }",
            "b.cpp": "namespace other { int f(); int g() { return f(); } }\nint h() { return f(); }",
        },
        ["a.cpp#g -> a.cpp#f", "b.cpp#other.g -> a.cpp#other.f"],
    ),
    "members: this, implicit, inherited, virtual, static": (
        {
            "s.h": "struct Base { virtual void on() = 0; void base(); static int count(); };\n"
            "struct Side { void side() {} };\nclass Sub : public Base, Side { public: void on() override; "
            "void run(); };",
            "s.cpp": '#include "s.h"\nvoid Base::base() { on(); }\nint Base::count() { return 1; }\n'
            "void Sub::on() { Base::base(); }\nvoid Sub::run() { this->on(); base(); side(); count(); Sub::count(); }",
        },
        [
            "s.cpp#Base.base -> s.h#Base.on",
            "s.cpp#Sub.on -> s.cpp#Base.base",
            "s.cpp#Sub.run -> s.cpp#Sub.on",
            "s.cpp#Sub.run -> s.cpp#Base.base",
            "s.cpp#Sub.run -> s.h#Side.side",
            "s.cpp#Sub.run -> s.cpp#Base.count",
            "s.cpp#Sub.run -> s.cpp#Base.count",
        ],
    ),
    "constructors, by number and type, of bases, of variables, with new": (
        {
            "a.cpp": "struct A { A(); A(int); A(const char *); void m() {} };\nA::A() {}\nA::A(int) {}\n"
            "A::A(const char *) {}\n"
            "struct B : A { B() : A(1) {} };\nstruct P { int x; };\n"
            'void f() { A a; A b(1); A c{"x"}; new B(); auto d = A("y"); d.m(); P p; P q{1}; }',
        },
        [
            "a.cpp#B.B -> a.cpp#A.A~2",
            "a.cpp#f -> a.cpp#A.A",
            "a.cpp#f -> a.cpp#A.A~2",
            "a.cpp#f -> a.cpp#A.A~3",
            "a.cpp#f -> a.cpp#B.B",
            "a.cpp#f -> a.cpp#A.A~3",
            "a.cpp#f -> a.cpp#A.m",
        ],
    ),
    "smart pointers, containers, range-for, structured bindings": (
        {
            "a.cpp": "#include <vector>\nstruct A { void m(); int n(); };\nvoid A::m() {}\nint A::n() { return 1; }\n"
            "using Many = std::vector<std::unique_ptr<A>>;\n"
            "void f(const Many &many, std::map<int, A> &named, std::shared_ptr<A> p, A *raw, A &ref) {\n"
            "for (const auto &one : many) one->m();\nfor (auto &[key, value] : named) value.n();\n"
            "p->m(); raw->m(); ref.m(); (*p).n(); many[0]->n(); many.front()->m(); p.get()->m(); "
            "named.find(1)->second.m();\n"
            "auto q = std::make_unique<A>(); q->m(); p.reset(); static_cast<A *>(raw)->n(); }",
        },
        [
            *("a.cpp#f -> a.cpp#A.m", "a.cpp#f -> a.cpp#A.n"),
            *("a.cpp#f -> a.cpp#A.m",) * 3,
            *("a.cpp#f -> a.cpp#A.n",) * 2,
            *("a.cpp#f -> a.cpp#A.m",) * 4,
            "a.cpp#f -> a.cpp#A.n",
        ],
    ),
    "templates: of classes and functions": (
        {
            "t.h": "template <typename T> class Box { public: T &get() { return item; } void put(T one) { "
            "check(one); }\n"
            "private: void check(T one) {} T item; };\n"
            "template <class T> T *make() { return new T(); }\ntemplate <class T> T same(T t) { return t; }",
            "a.cpp": '#include "t.h"\nstruct A { void m() {} };\n'
            "void f() { Box<A> box; box.get().m(); make<A>()->m(); same(A()).m(); }",
        },
        [
            "a.cpp#f -> t.h#Box.get",
            "a.cpp#f -> a.cpp#A.m",
            "a.cpp#f -> t.h#make",
            "a.cpp#f -> a.cpp#A.m",
            "a.cpp#f -> t.h#same",
            "a.cpp#f -> a.cpp#A",
            "a.cpp#f -> a.cpp#A.m",
            "t.h#Box.put -> t.h#Box.check",
        ],
    ),
    "overloads by number and by type; where that cannot be told, none": (
        {
            "a.cpp": "struct A {}; struct B {};\nvoid f(int) {}\nvoid f(int, int) {}\nvoid f(const A &) {}\n"
            "void f(const B &) {}\n"
            "void g(A a, B &b) { f(1); f(1, 2); f(a); f(b); f(unknown()); }",
        },
        ["a.cpp#g -> a.cpp#f", "a.cpp#g -> a.cpp#f~2", "a.cpp#g -> a.cpp#f~3", "a.cpp#g -> a.cpp#f~4"],
    ),
    "operator() and lambdas": (
        {
            "a.cpp": "struct Less { bool operator()(int a, int b) const { return a < b; } };\nint deep() { "
            "return 1; }\n"
            "bool f() { Less less; auto run = [](int n) { return deep(); }; run(1); return less(1, 2); }",
        },
        ["a.cpp#f -> a.cpp#deep", "a.cpp#f -> a.cpp#Less.operator()"],
    ),
    "a class that is only declared": (
        {
            "a.h": "class Inner;\nstruct A { Inner *inner; };",
            "inner.h": "class Inner { public: void m(); };",
            "inner.cpp": '#include "inner.h"\nvoid Inner::m() {}',
            "a.cpp": '#include "a.h"\n#include "inner.h"\nvoid f(A &a) { a.inner->m(); }',
            "other.h": "namespace x { class Inner { public: void m(); }; }",
        },
        ["a.cpp#f -> inner.cpp#Inner.m"],
    ),
    "C files and C++ files bind to one another": (
        {
            "a.h": "int run(int n);",
            "a.c": '#include "a.h"\nint run(int n) { return n; }',
            "b.cc": 'extern "C" {\n#include "a.h"\n}\nint b() { return run(1); }',
        },
        ["b.cc#b -> a.c#run"],
    ),
    "a test's body is one of the fixture's class": (
        {"t.cc": "struct Fix { void help() {} };\nTEST_F(Fix, Works) { help(); }"},
        ["t.cc#TEST_F(Fix, Works) -> t.cc#Fix.help"],
    ),
    "a member, not a function of its name": (
        {
            "a.cpp": "void run() {}\nstruct A { void run() {} void go() { run(); ::run(); } };\nvoid "
            "f(Unknown u) { u.run(); }"
        },
        ["a.cpp#A.go -> a.cpp#A.run", "a.cpp#A.go -> a.cpp#run"],
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    files, expected = CALLS[name]
    assert edges(files) == [f"{line} call" for line in expected]


def test_declarations_types_and_bases() -> None:
    files = {
        "a.h": "typedef struct node { struct node *next; } node_t;\nint run(node_t *n);\nextern int count;\n"
        "enum color { RED };\n#define LIMIT 3",
        "a.c": '#include "a.h"\nint count = 1;\nint run(node_t *n) { node_t m = {.next = n}; return n->next '
        "== 0 ? RED : LIMIT + count; }",
        "b.cpp": '#include "a.h"\nnamespace s { struct Base {}; }\nstruct Sub : virtual s::Base {};\n',
    }
    assert edges(files, ("reference", "inherit", "import")) == [
        "a.c# -> a.h# import",
        "a.c#run -> a.h#node_t reference",
        "a.c#run -> a.h#node_t reference",
        "a.c#run -> a.h#node.next reference",
        "a.c#run -> a.h#node.next reference",
        "a.c#run -> a.h#color.RED reference",
        "a.c#run -> a.h#LIMIT reference",
        "a.c#run -> a.c#count reference",
        "a.h#node -> a.h#node reference",
        "a.h#run -> a.c#run reference",
        "a.h#run -> a.h#node_t reference",
        "a.h# -> a.c#count reference",
        "b.cpp# -> a.h# import",
        "b.cpp#Sub -> b.cpp#s.Base inherit",
    ]


def test_what_cannot_be_found_is_loose_only_where_it_may_be_ours() -> None:
    files = {
        "a.cpp": "void f(Unknown &u) { u.member(); u.nothing(); printf(1); elsewhere(); }",
        "b.cpp": "struct B { void member() {} };\nvoid elsewhere() {}",
    }
    assert loose(files) == ["elsewhere"]


TEXTS = {
    "a.h": (
        "struct A { int m(int n); int k; };\nint run(int n);\n",
        "struct A { int m(int n); int m(int n, int o); A(int); };\n",
    ),
    "b.h": (
        '#include "a.h"\nnamespace n { int g(A a); }\n',
        '#include "a.h"\nnamespace n { class C; int g(A a, C *c); }\nusing n::g;\n',
    ),
    "a.cpp": (
        '#include "a.h"\nint A::m(int n) { return run(n); }\n',
        '#include "b.h"\nint A::m(int n, int o) { return n::g(A(1)); }\n',
    ),
    "run.c": (
        '#include "a.h"\nint run(int n) { return n; }\n',
        '#include "b.h"\nstatic int run(int n) { return run(n); }\n',
    ),
    "g.cpp": (
        '#include "b.h"\nint n::g(A a) { return a.m(1) + run(1); }\n',
        '#include "b.h"\nnamespace n { class C { public: int z() { return 1; } };\nint g(A a, C *c) { return '
        "c->z() + a.m(1, 2); } }\n",
    ),
    "c.cpp": (
        '#include "c/b.h"\nint c() { A a; return g(a) + n::g(a) + run(2); }\n',
        "using namespace n;\nint c() { return g(1); }\n",
    ),
    "c/b.h": ("int g(int n);\nint run(int n);\n", '#include "../b.h"\nusing namespace n;\n'),
    "compile_flags.txt": ("-Ic\n", "-I.\n"),
}


@pytest.mark.parametrize("seed", range(6))
def test_incremental_equals_rebuild(seed: int) -> None:
    """ops-codegraph-tool#1752: after each edit, only files whose questions have other answers are resolved again."""
    rnd = random.Random(seed)
    now: dict[str, str] = {path: texts[0] for path, texts in TEXTS.items()}
    memory = Memory(now)
    resolver = Resolver(memory)
    done = {file: resolver.resolve(file) for file in memory.files()}
    for _ in range(25):
        path = rnd.choice(sorted(TEXTS))
        text = rnd.choice([None, *TEXTS[path], "\n" + TEXTS[path][0]])
        if text == now.get(path) or (text is None and path not in now):
            continue
        known = memory.paths().get(path)
        before = resolver.provided(known) if known is not None else {}
        changed = memory.edit({path: text})
        resolver.forget(changed)
        if text is None:
            now.pop(path)
        else:
            now[path] = text
        after = resolver.provided(changed[0]) if text is not None else {}
        keys = {key for key, _ in before.items() ^ after.items()}
        for file in memory.files():
            if file in changed or file not in done or done[file].asked & keys:
                done[file] = resolver.resolve(file)
        fresh = Resolver(memory)
        for file in memory.files():
            assert memory.told(file, done[file]) == memory.told(file, fresh.resolve(file)), (path, text)
