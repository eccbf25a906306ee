"""The indexer as a process: hostile files, changes of every kind, and what it says while it works."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from ombud.graph import sources
from ombud.graph.messages import CURRENT, INDEX

from tests.peers.indexing import Failed, indexed, indexer, reader, skipped, symbols, until

GOOD = {f"m{number}.py": f"def f{number}(): return {number}\n" for number in range(60)}


def lay(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return lay(tmp_path / "project", {"a.py": "def a(): return b()\ndef b(): pass\n", "x/c.py": "import a\na.a()\n"})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "store"


# -- hostile files ----------------------------------------------------------------------------------------------

HOSTILE: list[tuple[str, str | bytes, str]] = [
    ("crash", "CRASH", sources.FAILED),
    ("hang", "HANG", sources.SLOW),
    ("raises", "RAISE", sources.FAILED),
    ("one long line", "[" * 100_000 + "]" * 100_000, sources.MINIFIED),
    ("binary", b"\0\1\2" * 9000, sources.BINARY),
    ("huge", b"x = 1\n" * 9_000_000, sources.HUGE),
]


@pytest.mark.parametrize(("content", "reason"), [row[1:] for row in HOSTILE], ids=[row[0] for row in HOSTILE])
def test_a_hostile_file_costs_no_other(tmp_path: Path, store: Path, content: str | bytes, reason: str) -> None:
    root = lay(tmp_path / "project", {**GOOD, "m30x.py": content, "m31x.py": content})
    with indexer(root, store, hostile=True) as running:
        said = running.index()
        assert said.state.complete
        assert skipped(running) == {"m30x.py": reason, "m31x.py": reason}
        assert indexed(running) == set(GOOD)
        assert {f"m{number}.py#f{number}" for number in range(60)} <= symbols(running)
        # It is left at that until it changes.
        assert running.index().changed == 0
        lay(root, {"m30x.py": "def mended(): pass\n"})
        assert running.current().changed == 1
        assert "m30x.py#mended" in symbols(running)


def test_nested_brackets(tmp_path: Path, store: Path) -> None:
    """100,000 of them, a line each, by the real parser: the file is read or left out, and nothing else is lost."""
    deep = "x = " + "[\n" * 100_000 + "]\n" * 100_000
    with indexer(lay(tmp_path / "project", {**GOOD, "deep.py": deep}), store) as running:
        running.index()
        assert indexed(running) - {"deep.py"} == set(GOOD)
        assert skipped(running).keys() | indexed(running) == {*GOOD, "deep.py"}


def test_texts_that_are_not_utf8(tmp_path: Path, store: Path) -> None:
    files: dict[str, str | bytes] = {"a.py": b"def f(): return '\xff'\n", "b.py": "def g(): pass\n".encode("utf-16")}
    with indexer(lay(tmp_path / "project", files), store) as running:
        running.index()
        assert {"a.py#f", "b.py#g"} <= symbols(running)
        assert reader(running).stats().notes == {sources.INVALID_UTF8: 1, sources.UTF16: 1}


def test_a_loop_of_links(root: Path, store: Path) -> None:
    (root / "x" / "loop").symlink_to(root)
    with indexer(root, store) as running:
        running.index()
        assert indexed(running) == {"a.py", "x/c.py"}


def test_a_worker_that_is_killed_has_no_guilty_file(tmp_path: Path, store: Path) -> None:
    mark = tmp_path / "mark"
    root = lay(tmp_path / "project", {**GOOD, "slow.py": f"WAIT {mark}"})
    with indexer(root, store, hostile=True) as running:
        number = running.ask(INDEX)
        until(mark.exists)
        mark.with_name("mark.go").touch()
        for pid in running.workers():
            os.kill(pid, signal.SIGKILL)
        running.answer(number)
        assert indexed(running) == {*GOOD, "slow.py"}


# -- changes ----------------------------------------------------------------------------------------------------


def written(root: Path, name: str, text: str) -> None:
    (root / name).write_text(text)


STEPS: list[tuple[str, Callable[[Path], object], set[str], set[str]]] = [
    ("edited", lambda root: written(root, "a.py", "def a(): pass\ndef z(): pass\n"), {"a.py#z"}, {"a.py#b"}),
    ("new", lambda root: written(root, "x/n.py", "def n(): pass\n"), {"x/n.py#n"}, set()),
    ("gone", lambda root: (root / "a.py").unlink(), set(), {"a.py#a", "a.py#b", "a.py#"}),
    ("moved", lambda root: (root / "a.py").rename(root / "x" / "m.py"), {"x/m.py#a"}, {"a.py#a", "a.py#b", "a.py#"}),
    ("ignored", lambda root: written(root, ".gitignore", "x/\n"), set(), {"x/c.py#"}),
    (
        "made again",
        lambda root: (
            shutil.rmtree(root),
            (root / "x").mkdir(parents=True),
            written(root, "x/n.py", "def n(): pass\n"),
        ),
        {"x/n.py#n"},
        {"a.py#a", "a.py#b", "a.py#", "x/c.py#"},
    ),
    ("emptied", lambda root: written(root, "a.py", ""), set(), {"a.py#a", "a.py#b"}),
    ("binary now", lambda root: (root / "a.py").write_bytes(b"\0"), set(), {"a.py#a", "a.py#b", "a.py#"}),
]


@pytest.mark.parametrize(("change", "come", "gone"), [row[1:] for row in STEPS], ids=[row[0] for row in STEPS])
def test_what_nobody_announced(
    root: Path, store: Path, change: Callable[[Path], object], come: set[str], gone: set[str]
) -> None:
    with indexer(root, store) as running:
        running.index()
        before = symbols(running)
        change(root)
        said = running.current()
        assert said.changed > 0
        assert said.state.complete
        assert symbols(running) - before >= come
        assert before - symbols(running) == gone
        assert running.current().changed == 0


def test_the_same_content_is_only_touched(root: Path, store: Path) -> None:
    with indexer(root, store) as running:
        running.index()
        text = (root / "a.py").read_text()
        (root / "a.py").write_text(text)
        os.utime(root / "a.py", (1, 1))
        assert running.current().changed == 0


def test_without_a_sweep_only_what_was_told_is_looked_at(root: Path, store: Path) -> None:
    with indexer(root, store) as running:
        running.index()
        lay(root, {"a.py": "def untold(): pass\n", "x/n.py": "def told(): pass\n"})
        assert running.current("x/n.py", sweep=False).changed == 1
        assert "x/n.py#told" in symbols(running)
        assert "a.py#untold" not in symbols(running)
        assert running.current().changed == 1
        assert "a.py#untold" in symbols(running)


def test_open_buffers_win_over_the_disk(root: Path, store: Path) -> None:
    with indexer(root, store) as running:
        running.index()
        assert running.current(a="def typed(): pass\n").changed == 1
        assert "a.py#typed" in symbols(running)
        lay(root, {"a.py": "def saved_by_somebody(): pass\n"})
        assert running.current().changed == 0
        assert "a.py#typed" in symbols(running)
        assert running.current(a=None).changed == 1
        assert {"a.py#saved_by_somebody"} <= symbols(running)
        assert "a.py#typed" not in symbols(running)


def test_a_buffer_without_a_file(root: Path, store: Path) -> None:
    with indexer(root, store) as running:
        running.index()
        assert running.current(fresh="def fresh(): pass\n").changed == 1
        assert "fresh.py#fresh" in symbols(running)
        assert running.current(fresh=None).changed == 1
        assert "fresh.py#fresh" not in symbols(running)


def test_a_buffer_is_forgotten_with_its_process(root: Path, store: Path) -> None:
    with indexer(root, store) as running:
        running.index()
        running.current(a="def typed(): pass\n")
        assert running.end() == 0
    with indexer(root, store) as running:
        running.current()
        assert "a.py#typed" not in symbols(running)
        assert "a.py#a" in symbols(running)


# -- building ---------------------------------------------------------------------------------------------------


def test_nothing_is_read_twice(root: Path, store: Path) -> None:
    with indexer(root, store) as running:
        assert running.index().changed == 2
        assert running.progress
    with indexer(root, store) as running:
        assert running.ready.state.complete
        assert running.current().changed == 0
        assert running.index(force=True).changed == 2


def blocked(tmp_path: Path, store: Path) -> tuple[Path, Path]:
    """A root whose index does not come to its end before a file is there."""
    mark = tmp_path / "mark"
    return lay(tmp_path / "project", {**GOOD, "slow.py": f"WAIT {mark}"}), mark


def test_whoever_asks_what_is_current_does_not_wait_for_a_build(tmp_path: Path, store: Path) -> None:
    root, mark = blocked(tmp_path, store)
    with indexer(root, store, hostile=True) as running:
        building = running.ask(INDEX)
        until(mark.exists)
        said = running.answer(running.ask(CURRENT, told=["late.py"], buffers={"m1.py": b"def typed(): pass\n"}))
        assert not said.state.complete
        assert said.state.pending > 0
        lay(root, {"late.py": "def late(): pass\n"})
        mark.with_name("mark.go").touch()
        assert running.answer(building).state.complete
        assert {"late.py#late", "m1.py#typed"} <= symbols(running), "what was told meanwhile is taken in with it"


def test_a_build_is_cancelled_and_goes_on_where_it_was(tmp_path: Path, store: Path) -> None:
    root, mark = blocked(tmp_path, store)
    with indexer(root, store, hostile=True) as running:
        building = running.ask(INDEX)
        until(mark.exists)
        running.cancel(building)
        mark.with_name("mark.go").touch()
        with pytest.raises(Failed, match="cancelled"):
            running.answer(building)
        said = running.index()
        assert said.state.complete
        assert said.changed < len(GOOD), "what was committed is not read again"
        assert indexed(running) == {*GOOD, "slow.py"}


def test_a_cancel_of_another_question_is_nothing_to_this_one(tmp_path: Path, store: Path) -> None:
    root, mark = blocked(tmp_path, store)
    with indexer(root, store, hostile=True) as running:
        building, other = running.ask(INDEX), running.ask(INDEX)
        until(mark.exists)
        running.cancel(other)
        with pytest.raises(Failed, match="cancelled"):
            running.answer(other)
        mark.with_name("mark.go").touch()
        assert running.answer(building).state.complete


# -- stores -----------------------------------------------------------------------------------------------------


def test_a_second_process_has_a_store_of_its_own(root: Path, store: Path) -> None:
    with indexer(root, store) as one, indexer(root, store) as two:
        assert one.ready.folder != two.ready.folder
        one.index()
        two.index()
        one.current(a="def only_here(): pass\n")
        two.current()
        assert "a.py#only_here" in symbols(one)
        assert "a.py#only_here" not in symbols(two)


@pytest.mark.parametrize("junk", [b"", b"junk" * 5000], ids=["empty", "junk"])
def test_a_damaged_store_is_built_anew(root: Path, store: Path, junk: bytes) -> None:
    with indexer(root, store) as running:
        running.index()
        assert running.end() == 0
    (store / "graph.db").write_bytes(junk)
    with indexer(root, store) as running:
        assert running.index().state.complete
        assert indexed(running) == {"a.py", "x/c.py"}


def test_it_ends_with_its_input(root: Path, store: Path) -> None:
    with indexer(root, store) as running:
        running.index()
        workers = running.workers()
        assert running.end() == 0
        for pid in workers:
            until(lambda pid=pid: not Path(f"/proc/{pid}").exists())  # type: ignore[misc]


def test_a_root_without_files(tmp_path: Path, store: Path) -> None:
    with indexer(lay(tmp_path / "project", {"r.md": ""}), store) as running:
        said = running.index()
        assert said.state.complete
        assert said.state.files == 0
