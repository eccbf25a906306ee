"""Python's edges: small projects, and what each of their calls means."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tests.unit.graph.edges import edges, loose

LIBRARY = {"pkg/__init__.py": "", "pkg/lib.py": "def make(): ...\nclass Thing:\n    def run(self): ...\n"}

CALLS: dict[str, tuple[dict[str, str], list[str]]] = {
    "a function of the file": ({"a.py": "def f(): ...\nf()\n"}, ["a.py# -> a.py#f"]),
    "a nested function": (
        {"a.py": "def f():\n    def g(): ...\n    g()\ndef g(): ...\n"},
        ["a.py#f -> a.py#f.g"],
    ),
    "an imported function": (
        LIBRARY | {"main.py": "from pkg.lib import make as m\nm()\n"},
        ["main.py# -> pkg/lib.py#make"],
    ),
    "an imported module": (
        LIBRARY | {"main.py": "import pkg.lib\nimport pkg.lib as l\npkg.lib.make()\nl.make()\n"},
        ["main.py# -> pkg/lib.py#make", "main.py# -> pkg/lib.py#make"],
    ),
    "a relative import": (
        LIBRARY
        | {
            "pkg/sub/__init__.py": "",
            "pkg/sub/x.py": "from ..lib import make\nfrom .. import lib\nmake()\nlib.make()\n",
        },
        ["pkg/sub/x.py# -> pkg/lib.py#make", "pkg/sub/x.py# -> pkg/lib.py#make"],
    ),
    "a re-export of a package": (
        LIBRARY | {"pkg/__init__.py": "from .lib import make\n", "main.py": "import pkg\npkg.make()\n"},
        ["main.py# -> pkg/lib.py#make"],
    ),
    "a star import heeds __all__": (
        {
            "lib.py": "__all__ = ['shown']\ndef shown(): ...\ndef hidden(): ...\n",
            "main.py": "from lib import *\nshown()\nhidden()\n",
        },
        ["main.py# -> lib.py#shown"],
    ),
    "a star import without __all__ leaves out the underlined": (
        {"lib.py": "def shown(): ...\ndef _own(): ...\n", "main.py": "from lib import *\nshown()\n_own()\n"},
        ["main.py# -> lib.py#shown"],
    ),
    "the src layout": (
        {"src/app/__init__.py": "", "src/app/x.py": "def f(): ...\n", "tests/test_x.py": "from app.x import f\nf()\n"},
        ["tests/test_x.py# -> src/app/x.py#f"],
    ),
    "a namespace package": (
        {"space/x.py": "def f(): ...\n", "main.py": "from space import x\nx.f()\n"},
        ["main.py# -> space/x.py#f"],
    ),
    "no module by its last name alone (flask.json is not json)": (
        {"flask/__init__.py": "", "flask/json.py": "def dumps(): ...\n", "main.py": "import json\njson.dumps({})\n"},
        [],
    ),
    "self and a method of a class above": (
        {
            "a.py": "class B:\n    def m(self): ...\nclass A(B):\n    def n(self):\n"
            "        self.m()\n        super().m()\n"
        },
        ["a.py#A.n -> a.py#B.m", "a.py#A.n -> a.py#B.m"],
    ),
    "the order of classes above is C3's": (
        {
            "a.py": """
            class O:
                def m(self): ...
            class X(O): ...
            class Y(O):
                def m(self): ...
            class Z(X, Y): ...
            Z().m()
            """
        },
        ["a.py# -> a.py#Z", "a.py# -> a.py#Y.m"],
    ),
    "a class is called": (
        LIBRARY | {"main.py": "from pkg.lib import Thing\nThing().run()\n"},
        ["main.py# -> pkg/lib.py#Thing", "main.py# -> pkg/lib.py#Thing.run"],
    ),
    "an annotated parameter": (
        LIBRARY
        | {
            "main.py": "from pkg.lib import Thing\ndef f(t: Thing, u: 'Thing | None', v: list[Thing]):\n    t.run()\n"
            "    u.run()\n    v[0].run()\n    for w in v:\n        w.run()\n"
        },
        ["main.py#f -> pkg/lib.py#Thing.run"] * 4,
    ),
    "what a variable was given last": (
        {
            "a.py": """
            class A:
                def m(self): ...
            class B:
                def m(self): ...
            def f():
                x = A()
                x.m()
                x = B()
                x.m()
            """
        },
        ["a.py#f -> a.py#A", "a.py#f -> a.py#A.m", "a.py#f -> a.py#B", "a.py#f -> a.py#B.m"],
    ),
    "both of what may have run": (
        {
            "a.py": """
            class A:
                def m(self): ...
            class B:
                def m(self): ...
            def f(y):
                x = A()
                if y:
                    x = B()
                x.m()
            """
        },
        ["a.py#f -> a.py#A", "a.py#f -> a.py#B", "a.py#f -> a.py#B.m", "a.py#f -> a.py#A.m"],
    ),
    "a field, by what __init__ gives it": (
        LIBRARY
        | {
            "main.py": "from pkg.lib import Thing\nclass C:\n    def __init__(self, t: Thing):\n"
            "        self.t = t\n        self.u = Thing()\n"
            "    def m(self):\n        self.t.run()\n        self.u.run()\n"
        },
        [
            "main.py#C.__init__ -> pkg/lib.py#Thing",
            "main.py#C.m -> pkg/lib.py#Thing.run",
            "main.py#C.m -> pkg/lib.py#Thing.run",
        ],
    ),
    "a property gives what it returns": (
        LIBRARY
        | {
            "main.py": "from pkg.lib import Thing\nclass C:\n    @property\n"
            "    def t(self) -> Thing: ...\ndef f(c: C):\n    c.t.run()\n"
        },
        ["main.py#f -> pkg/lib.py#Thing.run"],
    ),
    "what a function returns": (
        {
            "a.py": "class A:\n    def m(self): return self\n    def n(self): ...\n"
            "def make(): return A()\nmake().m().n()\n"
        },
        ["a.py#make -> a.py#A", "a.py# -> a.py#make", "a.py# -> a.py#A.m", "a.py# -> a.py#A.n"],
    ),
    "a builder of a derived class gives the derived class": (
        {"a.py": "class A:\n    def m(self): return self\nclass B(A):\n    def n(self): ...\nB().m().n()\n"},
        ["a.py# -> a.py#B", "a.py# -> a.py#A.m", "a.py# -> a.py#B.n"],
    ),
    "a class method makes what it is called on": (
        {
            "a.py": "class A:\n    @classmethod\n    def new(cls): return cls()\n"
            "class B(A):\n    def n(self): ...\nB.new().n()\n"
        },
        ["a.py#A.new -> a.py#A", "a.py# -> a.py#A.new", "a.py# -> a.py#B.n"],
    ),
    "with and a context manager": (
        {
            "a.py": """
            from contextlib import contextmanager
            class A:
                def __enter__(self): return self
                def m(self): ...
            @contextmanager
            def held():
                yield A()
            def f():
                with A() as a:
                    a.m()
                with held() as b:
                    b.m()
            """
        },
        ["a.py#held -> a.py#A", "a.py#f -> a.py#A", "a.py#f -> a.py#A.m", "a.py#f -> a.py#held", "a.py#f -> a.py#A.m"],
    ),
    "await": (
        {
            "a.py": "class A:\n    def m(self): ...\nasync def make() -> A: ...\n"
            "async def f():\n    (await make()).m()\n"
        },
        ["a.py#f -> a.py#make", "a.py#f -> a.py#A.m"],
    ),
    "isinstance": (
        {"a.py": "class A:\n    def m(self): ...\ndef f(x):\n    if isinstance(x, A):\n        x.m()\n    x.m()\n"},
        ["a.py#f -> a.py#A.m"],
    ),
    "a dictionary's values": (
        {
            "a.py": "class A:\n    def m(self): ...\ndef f(d: dict[str, A]):\n    for k, v in d.items():\n"
            "        v.m()\n    d['x'].m()\n    d.get('y').m()\n"
        },
        ["a.py#f -> a.py#A.m"] * 3,
    ),
    "a generic class": (
        {
            "a.py": """
            from typing import Generic, TypeVar
            T = TypeVar("T")
            class Box(Generic[T]):
                def get(self) -> T: ...
            class A:
                def m(self): ...
            def f(b: Box[A]):
                b.get().m()
            """
        },
        ["a.py#f -> a.py#Box.get", "a.py#f -> a.py#A.m"],
    ),
    "a decorator keeps what it decorates": (
        {"a.py": "def deco(f): return f\n@deco\ndef g(): ...\ng()\n"},
        ["a.py# -> a.py#deco", "a.py# -> a.py#g"],
    ),
    "overloads are one": (
        {
            "a.py": """
            from typing import overload
            @overload
            def f(x: int) -> int: ...
            @overload
            def f(x: str) -> str: ...
            def f(x): ...
            f(1)
            """
        },
        ["a.py# -> a.py#f"],
    ),
    "a name for a function calls the function": (
        {"a.py": "def f(): ...\ng = f\ng()\n"},
        ["a.py# -> a.py#f"],
    ),
    "a local name for a function": ({"a.py": "def f(): ...\ndef h():\n    g = f\n    g()\n"}, ["a.py#h -> a.py#f"]),
    "an instance that can be called": (
        {"a.py": "class A:\n    def __call__(self): ...\na = A()\na()\n"},
        ["a.py# -> a.py#A", "a.py# -> a.py#A.__call__"],
    ),
    "a parameter hides a function": ({"a.py": "def f(): ...\ndef g(f):\n    f()\n"}, []),
    "a class's names are not seen in its methods": (
        {"a.py": "class A:\n    def m(self): ...\n    def n(self):\n        m()\n"},
        [],
    ),
    "global": ({"a.py": "def f(): ...\ndef g():\n    global f\n    f()\n"}, ["a.py#g -> a.py#f"]),
    "the version of today": (
        {
            "a.py": """
            import sys
            if sys.version_info >= (3, 12):
                from typing import override
            else:
                def override(f): return f
            @override
            def f(): ...
            """
        },
        [],
    ),
    "no edge by a bare name": ({"a.py": "class A:\n    def run(self): ...\n", "b.py": "def f(x):\n    x.run()\n"}, []),
    "circles end": (
        {"a.py": "from b import g\ndef f(): return g()\nf().m()\n", "b.py": "from a import f\ndef g(): return f()\n"},
        ["a.py#f -> b.py#g", "a.py# -> a.py#f", "b.py#g -> a.py#f"],
    ),
    "a loop that feeds itself": (
        {
            "a.py": "class A:\n    def next(self) -> 'A': ...\ndef f(a: A):\n    while a:\n"
            "        a = a.next()\n    a.next()\n"
        },
        ["a.py#f -> a.py#A.next", "a.py#f -> a.py#A.next"],
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_calls(case: str) -> None:
    files, expected = CALLS[case]
    found = edges({path: dedent(text) for path, text in files.items()})
    assert [line.removesuffix(" call") for line in found] == expected


OTHERS: dict[str, tuple[dict[str, str], str, list[str]]] = {
    "inheritance is the class's": (
        LIBRARY | {"main.py": "from pkg.lib import Thing\nclass C(Thing): ...\n"},
        "inherit",
        ["main.py#C -> pkg/lib.py#Thing"],
    ),
    "imports": (
        LIBRARY | {"main.py": "import pkg.lib\nfrom pkg import lib\nfrom pkg.lib import Thing\n"},
        "import",
        ["main.py# -> pkg/lib.py#", "main.py# -> pkg/lib.py#", "main.py# -> pkg/lib.py#Thing"],
    ),
    "a function as a value, a constant, a field, a quoted annotation": (
        {"a.py": "LIMIT = 3\ndef f(): ...\nclass A:\n    x = 1\ndef g(a: 'A'):\n    return [f, LIMIT, a.x]\n"},
        "reference",
        ["a.py#g -> a.py#A", "a.py#g -> a.py#f", "a.py#g -> a.py#LIMIT", "a.py#g -> a.py#A.x"],
    ),
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_edges(case: str) -> None:
    files, kind, expected = OTHERS[case]
    found = [line.removesuffix(f" {kind}") for line in edges(files, (kind,))]
    assert sorted(found) == sorted(expected)


def test_what_is_called_of_an_unknown_receiver_is_loose_and_what_of_a_library_is_not() -> None:
    files = {
        "a.py": "import os\ndef f(x):\n    x.run()\n    os.getcwd()\n    len(x)\n    [].append(1)\n    unknown()\n"
    }
    assert sorted(loose(files)) == ["run", "unknown"]


def test_708_never_across_languages() -> None:
    """code-review-graph#708."""
    files = {"a.py": "from b import helper\nhelper()\n", "b.js": "export function helper() {}\n", "b.go": "package b\n"}
    assert edges(files) == []


def test_2121_calls_into_libraries_stay_external() -> None:
    """codebase-memory-mcp#2121."""
    files = {"a.py": "from requests import get\nget('x')\n", "b.py": "def get(url): ...\n"}
    assert edges(files) == []


def test_2644_callers_are_named_functions() -> None:
    """grafel#2644."""
    files = {
        "a.py": "def f(): ...\nclass C:\n    def m(self):\n        return [f() for _ in range(3)] + [(lambda: f())()]\n"
    }
    assert edges(files) == ["a.py#C.m -> a.py#f call", "a.py#C.m -> a.py#f call"]
