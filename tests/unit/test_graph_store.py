"""The store's writer and what readers see of it: stable ids, one state at a time, equal to a rebuild."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from ombud.graph.facts import CALL_SITE
from ombud.graph.packed import encode, joined, parts
from ombud.graph.store import Reader, open_reader
from ombud.graph.store.held import weight
from ombud.graph.store.schema import CONFIGURATION, INDEXED, SKIPPED

from tests.graphstore import Source, Sources, export, keys, opened, put, resolved, stored, the, write

TWO: Sources = {
    "a.py": Source(
        ["class Shop", "method Shop.sell", "def price"],
        [("call", "Shop.sell", "b.py#tax", 12), ("call", "Shop.sell", "a.py#price", 13), ("import", "", "b.py#tax", 0)],
        [("Shop.sell", "unknown", 14)],
        {"Shop": "Where things are sold."},
    ),
    "b.py": Source(["def tax", "-def _rate"], [("call", "tax", "b.py#_rate", 2)]),
}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    with closing(stored(tmp_path, TWO)) as reader:
        sell = the(reader, "a.py#Shop.sell")
        assert (sell.key, sell.name, sell.kind_name, sell.exported) == ("a.py#Shop.sell", "sell", "method", True)
        assert (sell.range, sell.at, sell.signature) == ((11, 0, 19, 4), (11, 4, 4), "method sell()")
        assert keys(reader, [sell.container or 0]) == ["a.py#Shop"]
        assert not the(reader, "_rate").exported
        assert reader.doc(the(reader, "Shop").id) == "Where things are sold."
        assert [node.definition.name for node in reader.outline("a.py")] == ["Shop", "price"]
        assert [node.definition.name for node in reader.outline("a.py")[0].children] == ["sell"]
        edges, around = reader.at("a.py", 12, 9)
        assert keys(reader, [edge.dst for edge in edges]) == ["b.py#tax"]
        assert around is not None
        assert around.key == "a.py#Shop.sell"
        assert keys(reader, [edge.dst for edge in reader.imports_of("a.py")]) == ["b.py#tax"]
        assert [edge.path for edge in reader.importers_of("b.py")] == ["a.py"]
        assert [(site.path, site.line) for site in reader.loose("unknown")] == [("a.py", 14)]
        stats = reader.stats()
        assert (stats.files, stats.symbols, stats.edges, stats.unresolved) == (2, 7, 4, 1)
        assert (stats.languages, stats.complete, stats.pending) == ({"python": 2}, True, 0)


def test_ids_stay_when_lines_shift(tmp_path: Path) -> None:
    """ops-codegraph-tool#1752: incremental equals a rebuild, also after lines have shifted."""
    with closing(stored(tmp_path / "one", TWO)) as reader, closing(opened(tmp_path / "one")) as writer:
        before = the(reader, "tax")
        assert len(reader.callers([before.id]).edges) == 1
        moved = {**TWO, "b.py": Source(["def first", "def tax"], first=40)}
        write(writer, moved, ["b.py"])
        after = the(reader, "tax")
        assert after.id == before.id
        assert (after.range[0], after.fan) == (50, 2)
        # a.py was not touched, and its edge is at the function that has moved.
        assert keys(reader, [edge.src for edge in reader.callers([after.id]).edges]) == ["a.py#Shop.sell"]
        with closing(stored(tmp_path / "two", moved)) as rebuilt:
            assert export(reader) == export(rebuilt)


def test_edges_to_what_is_gone_are_seen_by_nobody(tmp_path: Path) -> None:
    with closing(stored(tmp_path, TWO)) as reader, closing(opened(tmp_path)) as writer:
        tax, sell = the(reader, "tax").id, the(reader, "Shop.sell").id
        # Whoever calls it is not resolved again, which an indexer would do.
        write(writer, {**TWO, "b.py": Source(["def other", "-def _rate"])}, ["b.py"])
        assert reader.symbol(tax) is None
        assert reader.callers([tax]).edges == []
        assert keys(reader, [edge.dst for edge in reader.callees([sell]).edges]) == ["a.py#price"]
        assert {end for _, _, end in reader.all_edges()} == {"a.py#price"}
        assert reader.imports_of("a.py") == []
        # It comes back as another symbol: what was left over does not mean that one.
        write(writer, TWO, ["b.py"])
        assert the(reader, "tax").id != tax
        assert reader.callers([the(reader, "tax").id]).edges == []
        write(writer, TWO, [], again=["a.py"])
        assert len(reader.callers([the(reader, "tax").id]).edges) == 1


def test_a_file_that_goes_takes_everything_along(tmp_path: Path) -> None:
    left = {"b.py": TWO["b.py"]}
    with closing(stored(tmp_path / "one", TWO)) as reader, closing(opened(tmp_path / "one")) as writer:
        write(writer, left, ["a.py"])
        with closing(stored(tmp_path / "two", left)) as rebuilt:
            assert export(reader) == export(rebuilt)
        assert reader.search("sold").symbols == []
        assert reader.loose("unknown") == []
        assert reader.find("Shop") == []
        assert reader.file("a.py") is None


def edit(sources: Sources, random: random.Random) -> set[str]:
    """Change one file of ``sources`` in some way; the paths that an indexer would resolve again."""
    path = f"{random.choice('abcdef')}.py"
    names = random.sample(["one", "two", "three", "Four", "five"], random.randint(0, 4))
    if path in sources and random.random() < 0.2:
        del sources[path]
    else:
        symbols = [f"class {name}" if name == "Four" else f"def {name}" for name in names]
        symbols += ["method Four.go"] if "Four" in names else []
        ends = [f"{other}.py#{name}" for other in "abcdef" for name in ("one", "two", "Four", "Four.go", "")]
        starts = ["", *names]
        edges = [
            (random.choice(["call", "import", "inherit"]), random.choice(starts), random.choice(ends), line)
            for line in range(random.randint(0, 6))
        ]
        loose = [(random.choice(starts), random.choice(["go", "lost"]), line) for line in range(random.randint(0, 3))]
        docs = {name: random.choice(["apples", "pears and apples", ""]) for name in names}
        sources[path] = Source(symbols, [*edges], loose, docs, first=random.randint(1, 50), keys={random.randint(0, 9)})
    return {path, *sources}


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_history_of_edits_equals_a_rebuild(tmp_path: Path, seed: int) -> None:
    chance, sources = random.Random(seed), {}
    with closing(opened(tmp_path / "long")) as writer, closing(open_reader(tmp_path / "long")) as reader:
        for step in range(60):
            write(writer, sources, sorted(edit(sources, chance)))
            if step % 20 == 19:
                with closing(stored(tmp_path / f"new{step}", sources)) as rebuilt:
                    assert export(reader) == export(rebuilt)
                    assert reader.stats().edges == rebuilt.stats().edges
                    for word in ("apples", "pears", "one", "Four.go"):
                        assert [one.key for one in reader.search(word).symbols] == [
                            one.key for one in rebuilt.search(word).symbols
                        ]
                    assert reader.loose("go") != [] or rebuilt.loose("go") == []
                    assert [(site.path, site.line) for site in reader.loose("go")] == [
                        (site.path, site.line) for site in rebuilt.loose("go")
                    ]
                with closing(sqlite3.connect(tmp_path / "long" / "graph.db")) as raw:
                    uneven = "SELECT count(*) FROM symbols s WHERE fan != (SELECT count(*) FROM edges WHERE dst = s.id)"
                    assert raw.execute(uneven).fetchone() == (0,)
                    lost = "SELECT count(*) FROM edges WHERE src NOT IN (SELECT id FROM symbols)"
                    assert raw.execute(lost).fetchone() == (0,)


def test_readers_see_what_is_committed_and_wait_for_nobody(tmp_path: Path) -> None:
    with closing(stored(tmp_path, TWO)) as reader, closing(opened(tmp_path)) as writer:
        before = export(reader)
        writer.begin()
        put(writer, "c.py", Source(["def late"]))
        writer.remove("a.py")
        assert export(reader) == before
        writer.rollback()
        assert export(reader) == before
        assert sorted(writer.paths()) == ["a.py", "b.py"]
        assert writer.facts(writer.paths()["a.py"]).symbols[1].name == "Shop"
        with reader.reading():
            assert reader.find("late") == []
            write(writer, {**TWO, "c.py": Source(["def late"])}, ["c.py"])
            assert reader.find("late") == []
        assert len(reader.find("late")) == 1


def test_a_file_put_twice_in_one_go_is_there_once(tmp_path: Path) -> None:
    with closing(opened(tmp_path / "one")) as writer, closing(open_reader(tmp_path / "one")) as reader:
        writer.begin()
        put(writer, "a.py", Source(["def early"], docs={"early": "apples"}))
        put(writer, "a.py", Source(["def early", "def late"], docs={"early": "pears"}))
        writer.resolved(writer.paths()["a.py"], resolved(writer, {"a.py": Source(["def early", "def late"])}, "a.py"))
        writer.commit()
        assert [one.name for one in reader.search("pears").symbols] == ["early"]
        assert reader.search("apples").symbols == []
        assert [node.definition.name for node in reader.outline("a.py")] == ["early", "late"]


def test_what_was_read_but_not_resolved_waits_for_the_next_start(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as writer:
        writer.begin()
        first, second = put(writer, "a.py", TWO["a.py"]), put(writer, "b.py", TWO["b.py"])
        writer.resolved(second, resolved(writer, TWO, "b.py"))
        writer.commit()
    with closing(opened(tmp_path)) as writer, closing(open_reader(tmp_path)) as reader:
        assert writer.said == ""
        assert writer.waiting() == [first]
        assert (reader.complete, reader.pending(), writer.is_complete()) == (False, 1, False)
        writer.begin()
        writer.resolved(first, resolved(writer, TWO, "a.py"))
        writer.complete(True)
        writer.commit()
        assert (reader.complete, reader.pending(), writer.is_complete()) == (True, 0, True)
        writer.begin()
        writer.doubt()
        writer.commit()
        assert writer.waiting() == [first, second]


def test_the_writer_knows_every_file(tmp_path: Path) -> None:
    with closing(opened(tmp_path)) as writer, closing(open_reader(tmp_path)) as reader:
        writer.begin()
        file = put(writer, "z.py", TWO["b.py"])
        writer.skip("big.bin", (3, 4), "binary")
        kept = writer.configure("go.mod", (5, 6), b"x", "module m\n")
        writer.touch("z.py", (7, 8))
        writer.commit()
        known = writer.known()
        assert known["z.py"][:4] == (file, 7, 8, b"z.py")
        assert [known[path].state for path in ("z.py", "big.bin", "go.mod")] == [INDEXED, SKIPPED, CONFIGURATION]
        assert list(writer.paths()) == ["go.mod", "z.py"]
        assert (writer.language(file), writer.language(kept), writer.path(kept)) == ("python", "", "go.mod")
        assert (writer.config("go.mod"), writer.config("z.py"), writer.config("no.mod")) == ("module m\n", None, None)
        assert reader.stats().skipped == {"binary": 1}
        skipped = reader.file("big.bin")
        assert skipped is not None
        assert (skipped.reason, skipped.state_name) == ("binary", "skipped")
        with pytest.raises(KeyError):
            writer.facts(kept)
        writer.begin()
        writer.skip("z.py", (9, 9), "minified")
        assert writer.configure("go.mod", (5, 7), b"y", "module n\n") == kept
        put(writer, "big.bin", TWO["b.py"])
        writer.commit()
        assert list(writer.paths()) == ["big.bin", "go.mod"]
        assert writer.config("go.mod") == "module n\n"
        assert [one.path for one in reader.find("tax")] == ["big.bin"]


def test_symbols_are_found_by_their_bare_names(tmp_path: Path) -> None:
    sources = {"b.py": TWO["b.py"], "a.py": Source(["def x", "def tax"]), "c.go": Source(["def tax"], language="go")}
    with closing(opened(tmp_path)) as writer:
        write(writer, sources)
        write(writer, {"a.py": Source(["def tax", "def x"])}, ["a.py"])
        files = writer.paths()
        assert list(writer.named("tax", ["python"])) == [(files["a.py"], 1), (files["b.py"], 1)]
        assert list(writer.named("tax", ["go", "rust"])) == [(files["c.go"], 1)]
        assert list(writer.named("TAX", ["python"])) == []
        assert list(writer.named("", [])) == []


KEYS = (0, 1, 0x000FFFFF, 0x00100000, 0x7F7FFFFF, 0x80800000, 0xFFFFFFFF)
"""No two alike in what is kept of a key."""


def test_dependents_are_found_by_key(tmp_path: Path) -> None:
    sources = {f"{key}.py": Source(keys={key, 77}) for key in KEYS}
    with closing(opened(tmp_path)) as writer:
        write(writer, sources)
        files = writer.paths()
        assert writer.asking([]) == set()
        assert writer.asking([78]) == set()
        assert writer.asking([77]) == set(files.values())
        for key in KEYS:
            assert writer.asking([key, 78]) == {files[f"{key}.py"]}
        gone = files["0.py"]
        write(writer, {"1.py": Source(keys={5})}, ["1.py", "0.py"])
        assert writer.asking([1, 5]) == {writer.paths()["1.py"]}
        assert gone not in writer.asking([77])
        writer.begin()
        writer.resolved(writer.paths()["1.py"], resolved(writer, {"1.py": Source(keys={6})}, "1.py"))
        assert writer.asking([6]) == {writer.paths()["1.py"]}
        writer.rollback()
        assert writer.asking([6]) == set()
        assert writer.asking([5]) == {writer.paths()["1.py"]}


def test_decoded_facts_are_bounded(tmp_path: Path) -> None:
    """gitnexus#1741: out of memory at 14 k files."""
    one = Source([f"def f{number}" for number in range(50)])
    limit = 4 * weight(one.facts())
    with closing(opened(tmp_path, facts_bytes=limit)) as writer:
        write(writer, {f"{number}.py": one for number in range(40)})
        for file in writer.paths().values():
            assert writer.facts(file) == joined(*parts(encode(one.facts())))
        assert writer._weight <= limit
        assert len(writer._facts) <= 4


def test_a_small_graph_is_a_small_file(tmp_path: Path) -> None:
    """codegraphcontext#1168: gigabytes for hundreds of edges."""
    names = [f"def f{number}" for number in range(100)]
    calls = [("call", f"f{number}", f"a.py#f{number + 1}", 10 * number) for number in range(99)]
    with closing(stored(tmp_path, {"a.py": Source(names, [*calls])})) as reader:
        assert reader.stats().edges == 99
        assert reader.stats().store_bytes < 300_000
        for _ in range(30):
            with closing(opened(tmp_path)) as writer:
                write(writer, {"a.py": Source(names, [*calls], first=_)})
        assert reader.stats().store_bytes < 1_000_000


def test_many_edges_to_one_symbol_take_their_turn(tmp_path: Path) -> None:
    calls = [("call", "", "b.py#tax", line) for line in range(500)]
    sources = {"b.py": TWO["b.py"], **{f"c{number}.py": Source([], [*calls]) for number in range(4)}}
    with closing(stored(tmp_path, sources)) as reader:
        tax = the(reader, "tax")
        assert tax.fan == 4
        some = reader.callers([tax.id], limit=600)
        assert (len(some.edges), some.truncated) == (600, True)
        assert [edge.path for edge in some.edges[499:501]] == ["c0.py", "c1.py"]
        every = reader.callers([tax.id], limit=5000)
        assert (len(every.edges), every.truncated, {edge.kind for edge in every.edges}) == (2000, False, {CALL_SITE})


def test_an_export_is_in_one_order(tmp_path: Path) -> None:
    """Two edges at one place, to files that came in either order, among symbols that moved."""
    both = [("call", "go", "b.py#one", 3), ("call", "go", "c.py#two", 3), ("reference", "go", "a.py#go", 3)]
    sources = {"a.py": Source(["def go"], [*both]), "b.py": Source(["def one"]), "c.py": Source(["def two"])}
    exports = []
    for number, order in enumerate((["a.py", "b.py", "c.py"], ["c.py", "b.py", "a.py"], ["b.py", "c.py", "a.py"])):
        folder = tmp_path / str(number)
        with closing(opened(folder)) as writer, closing(open_reader(folder)) as reader:
            for path in order:
                write(writer, {path: Source(["def other"])})
            write(writer, sources, order)
            write(writer, sources, [], again=["a.py"])
            exports.append(export(reader))
            assert len(export(reader, "b.py")) == 2
    assert exports[0] == exports[1] == exports[2]
    assert len(exports[0]) == 9


def test_more_names_than_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ombud.graph.store.names.REMEMBERED", 5)
    many = {f"{file}.py": Source([f"def name{number}" for number in range(8)]) for file in "abc"}
    with closing(stored(tmp_path, many)) as reader, closing(sqlite3.connect(tmp_path / "graph.db")) as raw:
        assert len(reader.search("name").symbols) == 24
        assert raw.execute("SELECT count(*), count(DISTINCT name) FROM names").fetchone() == (9, 9)


def test_several_threads_share_a_reader(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with closing(stored(tmp_path, TWO)) as reader, ThreadPoolExecutor(4) as pool:
        wanted = export_of(reader)
        assert all(one == wanted for one in pool.map(lambda _: export_of(reader), range(40)))


def export_of(reader: Reader) -> list[str]:
    return [one.key for one in reader.search("s").symbols + reader.find("price")]
