"""The code graph, killed in the middle: its store opens, the work goes on where it was, and nobody is left."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest
from ombud.graph.messages import INDEX

from tests.children import lives
from tests.client import Disconnected
from tests.conftest import OmbudFactory, Workspace
from tests.peers.indexing import Indexer, indexed, indexer, symbols, until
from tests.profiles import AGENT
from tests.waiting import wait_until

FILES = {f"p/m{number:03}.py": f"def f{number}(): return {number}\n" for number in range(700)}


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def all_gone(pids: list[int]) -> None:
    until(lambda: not any(lives(pid) for pid in pids))


def family(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def reached(running: Indexer, phase: str, done: int) -> None:
    """The build has come so far."""
    running.ask(INDEX)
    running.wait(lambda say: say.phase == phase and say.done >= done)


@pytest.mark.parametrize(("phase", "done"), [("reading", 1), ("reading", 300), ("resolving", 0)])
def test_an_indexer_that_was_killed_goes_on_where_it_was(tmp_path: Path, phase: str, done: int) -> None:
    root, store = lay(tmp_path / "project", FILES), tmp_path / "store"
    with indexer(root, store) as running:
        reached(running, phase, done)
        workers = running.workers()
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(30)
        all_gone(workers)
    with indexer(root, store) as running:
        assert not running.ready.state.complete
        said = running.index()
        assert said.state.complete
        assert said.changed <= len(FILES) - done, "what was committed is not read again"
        assert indexed(running) == set(FILES)
        assert {f"p/m{number:03}.py#f{number}" for number in range(700)} <= symbols(running)


def test_an_indexer_killed_over_an_edit_has_all_of_it_or_nothing(tmp_path: Path) -> None:
    root, store = lay(tmp_path / "project", dict(list(FILES.items())[:50])), tmp_path / "store"
    with indexer(root, store) as running:
        running.index()
        lay(root, {"p/m000.py": "def other(): pass\n"})
        running.ask("current")
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(30)
    with indexer(root, store) as running:
        assert running.current().state.complete
        assert "p/m000.py#other" in symbols(running)
        assert "p/m000.py#f0" not in symbols(running)


async def test_nobody_is_left_of_a_hub_that_was_killed(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with ombud(cwd=root, strict=False) as client:
        await client.initialize(root, {}, AGENT)
        pid = client.pid
        pending = client.start_request("ombud/graphIndex", {})
        await wait_until(lambda: len(family(pid)) >= 3, 30, "guardian, indexer and a worker run")
        left = family(pid)
        os.kill(pid, signal.SIGKILL)
        await wait_until(lambda: not any(lives(one) for one in left), 30, "everybody is gone")
        with pytest.raises(Disconnected):
            await pending
