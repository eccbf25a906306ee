"""Ways through the graph: who calls, what depends, and what is only guessed."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from ombud.graph.facts import AMBIGUOUS, CALL_SITE, CONFIRMED, EXACT, IMPORT_SITE, INFERRED, REFERENCE_SITE, SITE_KINDS
from ombud.graph.store import Reader
from ombud.graph.store.walks import edges_into, site

from tests.graphstore import Source, Sources, keys, stored, the

CHAIN: Sources = {
    "core.py": Source(
        ["class Engine", "method Engine.__init__", "method Engine.run", "def helper", "class Turbo", "def deep"],
        [
            *(("call", "Engine.run", "core.py#helper", 25), ("call", "helper", "core.py#deep", 31)),
            *(("inherit", "Turbo", "core.py#Engine", 41), ("call", "Engine.__init__", "core.py#deep", 12)),
        ],
    ),
    "app.py": Source(
        ["def main", "def start"],
        [
            *(("import", "", "core.py#Engine", 0), ("call", "main", "core.py#Engine", 2)),
            *(("call", "main", "core.py#Engine.run", 3), ("call", "start", "app.py#main", 12)),
            *(("call", "", "app.py#start", 30), ("reference", "start", "core.py#Turbo", 13)),
        ],
    ),
    "tests/test_app.py": Source(
        ["def test_main"], [("import", "", "app.py#", 0), ("call", "test_main", "app.py#main", 2)]
    ),
    "tool.py": Source([], [("import", "", "tests/test_app.py#", 0), ("import", "", "app.py#start", 1)]),
}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    with closing(stored(tmp_path_factory.mktemp("store"), CHAIN)) as made:
        yield made


def reached(reader: Reader, *names: str, depth: int = 9, cap: int = 1000) -> dict[str | None, int]:
    found = reader.impact([the(reader, name).id for name in names], depth, cap)
    assert not found.truncated
    return dict(zip(keys(reader, [one.id for one in found.reached]), [one.depth for one in found.reached], strict=True))


def test_impact_goes_backwards_only(reader: Reader) -> None:
    """code-review-graph#291: impact follows reverse edges only."""
    assert reached(reader, "app.py#main") == {"app.py#start": 1, "tests/test_app.py#test_main": 1, "app.py#": 2}
    assert reached(reader, "tests/test_app.py#test_main") == {}
    assert reached(reader, "core.py#Engine.run") == {
        **{"app.py#main": 1, "app.py#start": 2, "tests/test_app.py#test_main": 2, "app.py#": 3},
    }


def test_impact_says_how_and_how_far(reader: Reader) -> None:
    found = reader.impact([the(reader, "helper").id], 2).reached
    assert [(reader.key(one.id), one.depth, reader.key(one.to)) for one in found] == [
        ("core.py#Engine.run", 1, "core.py#helper"),
        ("app.py#main", 2, "core.py#Engine.run"),
    ]
    edge = site(reader, found[1].id, found[1].to, found[1].kind)
    assert edge is not None
    assert (edge.path, edge.line, edge.kind_name, edge.confidence_name) == ("app.py", 3, "call", "exact")
    tests = reader.impact([the(reader, "app.py#main").id], 1).reached
    assert [(one.path, one.test) for one in tests] == [("app.py", False), ("tests/test_app.py", True)]


def test_impact_of_a_class_and_of_its_constructor(reader: Reader) -> None:
    """Calls of a class run its constructor; what is inherited and referred to depends as well."""
    assert reached(reader, "Engine.__init__", depth=1) == {"app.py#main": 1}
    assert reached(reader, "core.py#Engine", depth=2) == {
        **{"app.py#main": 1, "core.py#Turbo": 1, "app.py#start": 2, "tests/test_app.py#test_main": 2},
    }
    assert reached(reader, "deep", depth=2) == {
        **{"core.py#helper": 1, "core.py#Engine.__init__": 1, "core.py#Engine.run": 2, "app.py#main": 2},
    }


def test_imports_count_for_modules(reader: Reader) -> None:
    assert reached(reader, "app.py") == {"tests/test_app.py#": 1, "tool.py#": 2}
    assert reached(reader, "start") == {"app.py#": 1}


def test_a_bound_is_said_and_the_nearest_come_first(reader: Reader) -> None:
    whole = reader.impact([the(reader, "helper").id], 9)
    for cap in range(len(whole.reached)):
        some = reader.impact([the(reader, "helper").id], 9, cap)
        assert some.truncated
        assert len(some.reached) == cap
        assert [one.depth for one in some.reached] == [one.depth for one in whole.reached[:cap]]
    assert not reader.impact([the(reader, "helper").id], 9, len(whole.reached)).truncated


def test_callers_are_named(reader: Reader) -> None:
    """grafel#2644: callers are named functions; the module stands for what is outside of all of them."""
    edges = reader.callers([the(reader, "app.py#main").id]).edges
    assert [(reader.key(edge.src), edge.path, edge.line) for edge in edges] == [
        ("app.py#start", "app.py", 12),
        ("tests/test_app.py#test_main", "tests/test_app.py", 2),
    ]
    assert keys(reader, [edge.src for edge in reader.callers([the(reader, "start").id]).edges]) == ["app.py#"]


def test_callers_of_a_constructor_are_those_of_its_class(reader: Reader) -> None:
    engine, made = the(reader, "core.py#Engine").id, the(reader, "Engine.__init__").id
    for symbol in (engine, made):
        edges = reader.callers([symbol]).edges
        assert [(reader.key(edge.src), edge.dst) for edge in edges] == [("app.py#main", engine)]
    every = reader.callers([engine], kinds=range(len(SITE_KINDS))).edges
    assert [edge.kind_name for edge in every] == ["import", "call", "inherit"]


def test_steps_are_counted(reader: Reader) -> None:
    back = reader.callers([the(reader, "helper").id], depth=3).edges
    assert [(reader.key(edge.src), edge.depth) for edge in back] == [
        *(("core.py#Engine.run", 1), ("app.py#main", 2), ("app.py#start", 3), ("tests/test_app.py#test_main", 3)),
    ]
    ahead = reader.callees([the(reader, "app.py#main").id], depth=2).edges
    assert [(reader.key(edge.dst), edge.depth) for edge in ahead] == [
        *(("core.py#Engine", 1), ("core.py#Engine.run", 1), ("core.py#deep", 2), ("core.py#helper", 2)),
    ]
    some = reader.callees([the(reader, "app.py#main").id], depth=2, limit=2)
    assert (len(some.edges), some.truncated) == (2, True)


PATHS = [
    ("start", "app.py#main", ["app.py#main"]),
    ("start", "helper", ["app.py#main", "core.py#Engine.run", "core.py#helper"]),
    ("tests/test_app.py#test_main", "deep", ["app.py#main", "core.py#Engine.run", "core.py#helper", "core.py#deep"]),
    ("tool.py", "app.py", ["tests/test_app.py#", "app.py#"]),
    ("start", "start", []),
    ("deep", "start", None),
    ("app.py#main", "Turbo", None),
]


@pytest.mark.parametrize(("start", "end", "expected"), PATHS)
def test_the_shortest_way(reader: Reader, start: str, end: str, expected: list[str] | None) -> None:
    first, last = the(reader, start).id, the(reader, end).id
    edges, truncated = reader.path(first, last)
    assert not truncated
    assert (None if edges is None else keys(reader, [edge.dst for edge in edges])) == expected
    for one, other in zip(edges or (), (edges or ())[1:], strict=False):
        assert one.dst == other.src


def test_a_way_goes_on_in_a_constructor_or_a_module(tmp_path: Path) -> None:
    sources: Sources = {
        "a.py": Source(["def go"], [("call", "go", "b.py#Box", 2)]),
        "b.py": Source(
            ["class Box", "method Box.__init__"],
            [("call", "Box.__init__", "c.py#end", 12), ("import", "", "c.py#end", 0)],
        ),
        "c.py": Source(["def end"], [("import", "", "d.py#far", 0)]),
        "d.py": Source(["def far"]),
    }
    with closing(stored(tmp_path, sources)) as reader:
        for start, end, expected in (
            ("go", "end", ["b.py#Box", "c.py#end"]),
            ("b.py", "far", ["c.py#end", "d.py#far"]),
            ("b.py", "d.py", ["c.py#end", "d.py#far"]),
        ):
            edges, _ = reader.path(the(reader, start).id, the(reader, end).id)
            assert edges is not None
            assert keys(reader, [edge.dst for edge in edges]) == expected
        assert reader.path(the(reader, "go").id, the(reader, "far").id, cap=1) == (None, True)


def test_what_a_file_depends_on(reader: Reader) -> None:
    links = reader.dependencies("app.py")
    assert (links.imports, links.uses, links.imported_by) == (
        ["core.py"],
        ["core.py"],
        ["tests/test_app.py", "tool.py"],
    )
    assert [(one.path, one.depth, one.test) for one in links.direct] == [
        ("tests/test_app.py", 1, True),
        ("tool.py", 1, False),
    ]
    far = reader.dependencies("core.py")
    assert [one.path for one in far.direct] == ["app.py"]
    assert [(one.path, one.depth) for one in far.indirect] == [("tests/test_app.py", 2), ("tool.py", 2)]
    assert reader.dependencies("core.py", cap=1).truncated
    assert reader.dependencies("nothing.py").direct == []
    assert [edge.path for edge in edges_into(reader, "app.py", [IMPORT_SITE])] == ["tests/test_app.py", "tool.py"]


GUESSES: Sources = {
    "a.py": Source(
        ["class Shop", "method Shop.sell", "method Shop.close", "-var total"],
        [("call", "", "a.py#Shop.close", 90)],
    ),
    "b.py": Source(
        ["def buy", "method close"],
        [("call", "buy", "a.py#Shop.sell", 5, INFERRED), ("call", "buy", "b.py#close", 6, EXACT)],
        [("buy", "sell", 2), ("buy", "close", 3), ("buy", "total", 4), ("buy", "Shop", 7)],
    ),
    "c.go": Source(["def close", "def run"], [], [("run", "sell", 1), ("run", "close", 2)], language="go"),
    "d.ts": Source(["def sell"], language="typescript"),
    "e.js": Source(["def run"], [], [("run", "sell", 1)], language="javascript"),
}


def test_guesses_are_a_tier_of_their_own(tmp_path: Path) -> None:
    """codegraphcontext#1090: guesses are labelled, and never among what is known."""
    with closing(stored(tmp_path, GUESSES)) as reader:
        sell = the(reader, "a.py#Shop.sell").id
        sure = reader.callers([sell])
        assert (sure.edges, sure.inferred, sure.ambiguous, sure.total) == ([], 2, 0, 0)
        likely = reader.callers([sell], confidence=INFERRED)
        assert [(edge.path, edge.line, edge.confidence) for edge in likely.edges] == [
            *(("b.py", 5, INFERRED), ("b.py", 2, INFERRED)),
        ]
        close = the(reader, "a.py#Shop.close").id
        assert [edge.confidence for edge in reader.callers([close]).edges] == [EXACT]
        assert (reader.callers([close]).inferred, reader.callers([close]).ambiguous) == (0, 1)
        assert reader.callers([close], confidence=INFERRED).ambiguous == 1
        every = reader.callers([close], confidence=AMBIGUOUS)
        assert [(edge.path, edge.confidence) for edge in every.edges] == [("a.py", EXACT), ("b.py", AMBIGUOUS)]
        # A variable is nothing that a call means by its name alone; a class is.
        assert reader.callers([the(reader, "total").id]).inferred == 0
        assert reader.callers([the(reader, "a.py#Shop").id]).inferred == 1
        assert reader.impact([sell]).reached == []
        assert reader.path(the(reader, "buy").id, sell) == (None, False)
        assert reader.dependencies("a.py").direct == []

        buy = the(reader, "buy").id
        ahead = reader.callees([buy])
        assert (len(ahead.edges), ahead.inferred, ahead.ambiguous) == (1, 3, 1)
        guessed = reader.callees([buy], confidence=AMBIGUOUS).edges
        assert {(edge.line, reader.key(edge.dst), edge.confidence) for edge in guessed} == {
            *((6, "b.py#close", EXACT), (5, "a.py#Shop.sell", INFERRED), (2, "a.py#Shop.sell", INFERRED)),
            *((3, "a.py#Shop.close", AMBIGUOUS), (3, "b.py#close", AMBIGUOUS), (7, "a.py#Shop", INFERRED)),
        }


def test_no_guess_leaves_its_languages(tmp_path: Path) -> None:
    """code-review-graph#708: never across languages; JavaScript and TypeScript are one family."""
    with closing(stored(tmp_path, GUESSES)) as reader:
        files = {edge.path for edge in reader.callers([the(reader, "a.py#Shop.sell").id], confidence=AMBIGUOUS).edges}
        assert files == {"b.py"}
        script = reader.callers([the(reader, "d.ts#sell").id], confidence=INFERRED).edges
        assert [(edge.path, edge.confidence) for edge in script] == [("e.js", INFERRED)]
        go = reader.callees([the(reader, "c.go#run").id], confidence=AMBIGUOUS).edges
        assert keys(reader, [edge.dst for edge in go]) == ["c.go#close"]


@pytest.mark.parametrize("seed", range(3))
def test_walks_agree_with_a_plain_search(tmp_path: Path, seed: int) -> None:
    """Against the obvious way to do it, over the export, on graphs of chance."""
    chance = random.Random(seed)
    names = [f"f{number}" for number in range(12)]
    ends = [f"{file}.py#{name}" for file in "abcd" for name in names]
    sources: Sources = {}
    for file in "abcd":
        edges = [
            (chance.choice(["call", "reference", "import"]), chance.choice(names), chance.choice(ends), line)
            for line in range(14)
        ]
        sources[f"{file}.py"] = Source([f"def {name}" for name in names], [*edges])
    with closing(stored(tmp_path, sources)) as reader:
        rows = [(start, end, edge.kind) for edge, start, end in reader.all_edges()]
        for key in chance.sample(ends, 10):
            back = plain(key, [(end, start) for start, end, kind in rows if kind in (CALL_SITE, REFERENCE_SITE)])
            for depth in (1, 3, 50):
                found = reader.impact([the(reader, key).id], depth)
                assert {reader.key(one.id): one.depth for one in found.reached} == {
                    one: steps for one, steps in back.items() if 0 < steps <= depth
                }
            ahead = plain(key, [(start, end) for start, end, kind in rows if kind in (CALL_SITE, IMPORT_SITE)])
            for other in chance.sample(ends, 10):
                edges, _ = reader.path(the(reader, key).id, the(reader, other).id)
                assert (None if edges is None else len(edges)) == ahead.get(other)
                assert all(edge.confidence <= CONFIRMED for edge in edges or ())


def plain(start: str, edges: list[tuple[str, str]]) -> dict[str, int]:
    found, waiting = {start: 0}, deque([start])
    while waiting:
        node = waiting.popleft()
        for one, other in edges:
            if one == node and other not in found:
                found[other] = found[node] + 1
                waiting.append(other)
    return found
