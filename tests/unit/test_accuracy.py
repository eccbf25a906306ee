"""The accuracy harness itself (bench/accuracy): it must be able to tell a right edge from a wrong one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench.accuracy import pycg, scip, source
from bench.accuracy.export import Edge, ExportFailed, call_edges
from bench.accuracy.scip import Document, Occurrence
from bench.accuracy.score import Score, score
from bench.accuracy.truth import Truth, join

OWN = "scip-python python berth "
LIBRARY = "scip-python python harbour "


# -- the index's wire format -----------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def held(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def index(packed: bool) -> bytes:
    spot = [700, 4, 9]
    place = held(1, b"".join(map(varint, spot))) if packed else b"".join(number(1, value) for value in spot)
    occurrence = place + held(2, "local ü".encode()) + number(3, 9) + held(99, b"later") + varint(98 << 3 | 5) + b"1234"
    use = held(1, varint(1) + varint(2) + varint(3)) + held(2, b"local 1")
    return held(1, b"metadata") + held(2, held(1, b"a/b.py") + held(2, occurrence) + held(2, use)) + number(77, 1)


@pytest.mark.parametrize("packed", [True, False])
def test_an_index_is_read(tmp_path: Path, packed: bool) -> None:
    (tmp_path / "index.scip").write_bytes(index(packed))
    expected = (Occurrence(700, 4, "local ü", True), Occurrence(1, 2, "local 1", False))
    assert scip.read_index(tmp_path / "index.scip") == [Document("a/b.py", expected)]


@pytest.mark.parametrize("data", [index(True)[:-3] + b"\x92", index(True)[:40], b"\x07", b"\xff"])
def test_a_broken_index_is_an_error(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "index.scip").write_bytes(data)
    with pytest.raises(ValueError, match="index"):
        scip.read_index(tmp_path / "index.scip")


# -- our own reading of sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "line", "callees"),
    [
        ("a.py", "f(g(1), x.y.h())", {"f": "name()", "g": "name()", "h": "a.b.name()"}),
        ("a.py", "self.a.b(); super().c(); d().e(); '🚢'.join(k())", None),
        ("a.py", "(yield_)(1); f()()", {"yield_": "name()", "f": "name()"}),
        ("a.ts", "a?.b!.c(new d.E<string>()); f<T>(1); (g as any)(2)", None),
        ("a.tsx", "this.#p(); super.q(); `${r()}`; tag`x`", None),
    ],
)
def test_the_names_of_calls_are_found(path: str, line: str, callees: dict[str, str] | None) -> None:
    read = source.read(path, line.encode())
    found = {read.word(spot): call.shape for spot, call in read.calls.items()}
    expected = (
        callees
        or {
            "self.a.b(); super().c(); d().e(); '🚢'.join(k())": {
                **{"b": "self.attribute.name()", "super": "name()", "c": "super().name()", "d": "name()"},
                **{"e": "call().name()", "join": "(string).name()", "k": "name()"},
            },
            "a?.b!.c(new d.E<string>()); f<T>(1); (g as any)(2)": {
                **{"c": "a.b.name()", "E": "new name()", "f": "name()", "g": "name()"}
            },
            "this.#p(); super.q(); `${r()}`; tag`x`": {
                **{"#p": "this.name()", "q": "super.name()", "r": "name()", "tag": "name()"}
            },
        }[line]
    )
    assert found == expected


def test_characters_are_utf16_units() -> None:
    assert source.read("a.py", "'🚢'; dock()\n".encode()).calls == {(0, 6): source.Call("name()")}


@pytest.mark.parametrize(
    ("path", "text", "paths"),
    [
        (
            "a.py",
            "@d\ndef f():\n    class C:\n        async def m(self): ...\n",
            {("f", 0): "f", ("f", 1): "f", ("C", 2): "f.C", ("m", 3): "f.C.m"},
        ),
        (
            "a.ts",
            "export class C {\n  m() {}\n  p = () => 1;\n}\nexport const f = function () {};\ninterface I { n() }\n",
            {("C", 0): "C", ("m", 1): "C.m", ("p", 2): "C.p", ("f", 4): "f", ("I", 5): "I", ("n", 5): "I.n"},
        ),
    ],
)
def test_definitions_have_lexical_paths(path: str, text: str, paths: dict[tuple[str, int], str]) -> None:
    assert source.read(path, text.encode()).starts == paths


# -- scoring ---------------------------------------------------------------------------------------------------------

BERTH = """\
from typing import overload
import harbour

class Berth:
    def __init__(self): self.moor()
    @overload
    def moor(self, a: int): ...
    @overload
    def moor(self, a: str): ...
    def moor(self, a=0): len(a)

tie = Berth
def cast(line):
    harbour.open()
    line()
    Berth()
    tie()
"""


def occurrences(text: str, told: Sequence[tuple[str, str, str, bool]]) -> list[Occurrence]:
    """(text of the line, name in it, symbol, defines) -> occurrences, in the first line that has that text."""
    lines = text.split("\n")
    found = []
    for within, name, symbol, defines in told:
        row = next(number for number, line in enumerate(lines) if within in line)
        found.append(Occurrence(row, lines[row].index(within) + within.index(name), symbol, defines))
    return found


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    (tmp_path / "berth.py").write_text(BERTH)
    told = [
        ("class Berth", "Berth", f"{OWN}berth/Berth#", True),
        ("def __init__", "__init__", f"{OWN}berth/Berth#__init__().", True),
        ("def moor(self, a: int)", "moor", f"{OWN}berth/Berth#moor().", True),
        ("self.moor()", "moor", f"{OWN}berth/Berth#moor().", False),
        ("tie = Berth", "tie", f"{OWN}berth/tie.", True),
        ("= Berth", "Berth", f"{OWN}berth/Berth#", False),
        ("def cast", "cast", f"{OWN}berth/cast().", True),
        ("cast(line)", "line", f"{OWN}berth/cast().(line)", True),
        ("harbour.open()", "open", f"{LIBRARY}harbour/open().", False),
        ("    line()", "line", f"{OWN}berth/cast().(line)", False),
        ("    Berth()", "Berth", f"{OWN}berth/Berth#", False),
        ("    tie()", "tie", f"{OWN}berth/tie.", False),
        ("len(a)", "len", "local 3", False),
    ]
    return join(tmp_path, [Document("berth.py", tuple(occurrences(BERTH, told)))], OWN)


def edge(within: str, name: str, to: str, line: int) -> Edge:
    """An edge from where `name` stands to the definition `to` that starts in this one-based line."""
    [spot] = occurrences(BERTH, [(within, name, "", False)])
    return Edge(("berth.py", spot.line, spot.character), "berth.py", line - 1, to)


RIGHT = [edge("self.moor()", "moor", "moor", 10), edge("    Berth()", "Berth", "Berth", 4)]


def counts(result: Score) -> tuple[int, int, int, list[str], list[str]]:
    patterns = [sorted(failure.pattern for failure in failures) for failures in (result.wrong, result.missed)]
    return result.sites, result.found, result.right, patterns[0], patterns[1]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        (RIGHT, (2, 2, 2, [], [])),
        ([], (2, 0, 0, [], ["missed name()", "missed self.name()"])),
        # Any declaration of an overloaded method, a decorator's line included, is that method.
        ([edge("self.moor()", "moor", "moor", 6), RIGHT[1]], (2, 2, 2, [], [])),
        # To call a class is to call its constructor.
        ([RIGHT[0], edge("    Berth()", "Berth", "__init__", 5)], (2, 2, 2, [], [])),
        (
            [RIGHT[0], edge("    Berth()", "Berth", "cast", 13)],
            (2, 1, 1, ["wrong name(), another definition"], ["missed name(), other edge there"]),
        ),
        # The right name at a line where no such definition starts.
        ([RIGHT[0], edge("    Berth()", "Berth", "Berth", 5)], (2, 1, 1, ["wrong name(), another definition"], None)),
        (
            [*RIGHT, edge("harbour.open()", "open", "cast", 13)],
            (2, 2, 2, ["wrong variable.name(), a library's callee"], []),
        ),
        ([*RIGHT, edge("len(a)", "len", "cast", 13)], (2, 2, 2, ["wrong name(), a library's callee"], [])),
        # What a parameter holds is not known; what `tie = Berth` holds is.
        ([*RIGHT, edge("    line()", "line", "cast", 13)], (2, 2, 2, [], [])),
        ([*RIGHT, edge("    tie()", "tie", "Berth", 4)], (2, 2, 3, [], [])),
        ([*RIGHT, edge("    tie()", "tie", "tie", 12)], (2, 2, 2, [], [])),
        ([*RIGHT, edge("    tie()", "tie", "cast", 13)], (2, 2, 2, ["wrong name(), another definition"], [])),
        # A name that is not called: an edge there can be wrong, but earns nothing.
        ([*RIGHT, edge("= Berth", "Berth", "cast", 13)], (2, 2, 2, ["wrong elsewhere"], [])),
        ([*RIGHT, edge("= Berth", "Berth", "Berth", 4)], (2, 2, 2, [], [])),
    ],
)
def test_edges_are_judged(
    truth: Truth, edges: list[Edge], expected: tuple[int, int, int, list[str], list[str] | None]
) -> None:
    found = counts(score(truth, edges))
    assert found[:4] == expected[:4]
    assert expected[4] is None or found[4] == expected[4]


# -- our export ------------------------------------------------------------------------------------------------------


def record(type_: str, **fields: object) -> str:
    return json.dumps({"type": type_, **fields})


def span(row: int) -> dict[str, object]:
    return {"start": {"line": row, "character": 4}, "end": {"line": row, "character": 8}}


SYMBOLS = [
    record("symbol", id="a.py#", kind="module", name="a", qualifiedName="a", path="a.py", range=span(0)),
    record("symbol", id="a.py#f", kind="function", name="f", qualifiedName="f", path="a.py", range=span(7)),
]


def call(confidence: str = "exact", kind: str = "call", dst: str = "a.py#f") -> str:
    return record("edge", kind=kind, src="a.py#", dst=dst, path="a.py", range=span(3), confidence=confidence)


def test_only_edges_that_are_sure_are_counted() -> None:
    told = [call("exact"), call("confirmed"), call("inferred"), call("ambiguous"), call(kind="reference")]
    edges = call_edges([*told, *SYMBOLS, ""])
    assert edges == [Edge(("a.py", 3, 4), "a.py", 7, "f", "function", "f", "a", "a.py", "module")] * 2


def test_an_edge_without_its_symbol_is_an_error() -> None:
    with pytest.raises(ExportFailed, match="not in the export"):
        call_edges([*SYMBOLS, call(dst="a.py#g")])


# -- PyCG's names ----------------------------------------------------------------------------------------------------


def test_expected_graphs_are_read_in_our_terms() -> None:
    graph = {
        "main": ["main.f", "lib.open", "<builtin>.print", "main.<lambda1>"],
        "main.f.<lambda1>": ["nested.mod.g"],
        "nested.mod": [],
    }
    wanted = {("main", "main.f"), ("main", "main.<lambda1>"), ("main.f", "nested.mod.g")}
    assert pycg.wanted(graph, {"main", "nested", "nested.mod"}) == wanted
    assert pycg.module("nested/__init__.py") == "nested"
    assert pycg.module("__init__.py") == "__init__"


def test_our_edges_are_spelled_in_its_names() -> None:
    place = ("main.py", 0, 0)
    to_function = Edge(place, "nested/mod.py", 0, "g", "function", "A.g", "f", "main.py", "function")
    to_class = Edge(place, "main.py", 0, "A", "class", "A", "main", "main.py", "module")
    made = {("main", "main.A.__init__")}
    assert pycg.spelled(to_function, set()) == ("main.f", "nested.mod.A.g")
    assert pycg.spelled(to_class, made) == ("main", "main.A.__init__")
    assert pycg.spelled(to_class, set()) is None
