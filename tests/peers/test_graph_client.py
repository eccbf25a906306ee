"""The hub's handle of an indexer: started when needed, told what changes, started again when it dies, ended."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from ombud.errors import Cancelled, PeerError
from ombud.graph import client
from ombud.graph.client import Graph, Options
from ombud.graph.store import open_reader
from ombud.process.guardian import Guardian

from tests.children import lives
from tests.waiting import wait_until

FILES = {"a.py": "def a(): pass\n", "x/b.py": "def b(): pass\n"}
Made = Callable[..., Graph]


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root.resolve()


@asynccontextmanager
async def graphing(tmp_path: Path, *argv: str, **open_texts: str) -> AsyncIterator[Graph]:
    """A graph of a small project; ``open_texts`` are what clients have open, by names without ``.py``."""
    root = lay(tmp_path / "project", FILES)
    guardian = Guardian()
    options = Options(tmp_path / "store")
    if argv:
        options = Options(tmp_path / "store", argv=argv)
    graph = Graph(root, guardian, lambda: options, lambda path: open_texts.get(path.removesuffix(".py")), lambda: None)
    try:
        yield graph
    finally:
        await graph.close()
        await guardian.close()


def keys(graph: Graph) -> set[str]:
    assert graph.folder is not None
    reader = open_reader(graph.folder)
    try:
        return {symbol.key for symbol in reader.all_symbols()}
    finally:
        reader.close()


def pid_of(graph: Graph) -> int:
    assert graph._child is not None
    return graph._child.pid


async def test_it_is_started_by_the_first_question(tmp_path: Path) -> None:
    async with graphing(tmp_path) as graph:
        graph.told([str(graph.root / "a.py")])
        graph.typed(str(graph.root / "a.py"))
        assert not graph.running
        seen: list[str] = []
        state = await graph.index(progress=lambda _done, _total, phase: seen.append(phase))
        assert state.complete
        assert state.files == 2
        assert set(seen) == {"reading", "resolving"}
        assert keys(graph) >= {"a.py#a", "x/b.py#b"}


async def test_what_was_told_is_taken_in_without_a_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "SOON", 0.01)
    async with graphing(tmp_path) as graph:
        await graph.index()
        lay(graph.root, {"a.py": "def told(): pass\n"})
        graph.told([str(graph.root / "a.py"), "/elsewhere/z.py"])
        await wait_until(lambda: "a.py#told" in keys(graph), 30, "the change is taken in")


async def test_what_clients_have_open_is_told_again_after_a_restart(tmp_path: Path) -> None:
    texts = {"a": "def typed(): pass\n"}
    async with graphing(tmp_path, **texts) as graph:
        graph.typed(str(graph.root / "a.py"))
        await graph.index()
        assert "a.py#typed" in keys(graph)
        os.kill(pid_of(graph), signal.SIGKILL)
        await wait_until(lambda: not graph.running, 30, "its end is noticed")
        await graph.index()
        assert "a.py#typed" in keys(graph)


async def test_a_question_that_it_dies_over_fails_with_the_reason(tmp_path: Path) -> None:
    async with graphing(tmp_path, sys.executable, "-c", "import sys; sys.exit('no such luck')") as graph:
        with pytest.raises(PeerError, match="no such luck"):
            await graph.current()
        assert "no such luck" in graph.problem


async def test_one_that_dies_again_and_again_is_not_started_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "PAUSE", 0.001)
    starts = tmp_path / "starts"
    code = f"open({str(starts)!r}, 'a').write('x')"
    async with graphing(tmp_path, sys.executable, "-c", code) as graph:
        for _ in range(client.DEATHS + 2):
            with pytest.raises(PeerError):
                await graph.current()
        assert starts.read_text() == "x" * client.DEATHS
        with pytest.raises(PeerError, match="again in a few minutes"):
            await graph.current()


async def test_a_cancelled_index_stops_and_the_next_one_completes(tmp_path: Path) -> None:
    async with graphing(tmp_path) as graph:
        await graph.current()
        work = asyncio.ensure_future(graph.index(force=True))
        await asyncio.sleep(0)
        work.cancel()
        with pytest.raises((asyncio.CancelledError, Cancelled)):
            await work
        state = await graph.index()
        assert state.complete
        assert state.pending == 0


async def test_nothing_is_left_when_it_is_closed(tmp_path: Path) -> None:
    async with graphing(tmp_path) as graph:
        await graph.index()
        pid = pid_of(graph)
        await graph.close()
        assert not lives(pid)
        with pytest.raises(PeerError, match="shutting down"):
            await graph.current()


async def test_an_idle_one_ends_and_comes_back(tmp_path: Path) -> None:
    async with graphing(tmp_path) as graph:
        await graph.index()
        pid = pid_of(graph)
        graph._doze()
        await wait_until(lambda: not lives(pid), 30, "it ends")
        assert graph.problem == ""
        assert (await graph.current()).complete


async def test_questions_at_once_are_all_answered(tmp_path: Path) -> None:
    async with graphing(tmp_path) as graph:
        states = await asyncio.gather(graph.index(), graph.current(), graph.index(force=True), graph.current())
        assert states[0].complete
        assert states[2].complete
