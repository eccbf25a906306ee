"""The code graph built ahead of its first question: for whom, when, and at what priority."""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from msgspec import Raw
from ombud.downstream.states import State
from ombud.faces.cli.progress import Progress
from ombud.faces.cli.session import open_session
from ombud.operations import ahead, registry
from ombud.operations.hub import Hub
from ombud.operations.session import Client, Session

from tests.client import Client as Editor
from tests.conftest import OmbudFactory, Workspace
from tests.hosted import Front
from tests.peers.road import edit, serving
from tests.profiles import AGENT, VSCODE
from tests.waiting import wait_until

FILES = {"shop.py": "def add():\n    return 1\n", "app.py": "from shop import add\n\nadd()\n", "a.x": "first\n"}
SECONDS = 60.0
OFF = Raw(b'{"value": "off"}')


@pytest.fixture
def _home(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


@asynccontextmanager
async def hosted(root: Path, options: Mapping[str, Any] | None = None, **client: Any) -> AsyncIterator[Session]:
    hub = Hub()
    made = Session(hub, Client(folders=(root,), options=dict(options or {}), **client), Front())
    try:
        yield made
    finally:
        made.close()
        await hub.close()


def indexers(client: Editor) -> list[psutil.Process]:
    return [one for one in client.child_processes() if "ombud.graph.indexer" in one.cmdline()]


def rested(made: Session) -> None:
    """As if the time without a word were over."""
    made.hub.ahead._heard = 0.0
    made.hub.ahead._look()


# -- as clients meet it


@pytest.mark.parametrize("way", ["open", "write"])
async def test_the_index_is_there_before_anybody_asks(ombud: OmbudFactory, workspace: Workspace, way: str) -> None:
    """Its processes stay behind those that somebody waits for."""
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=VSCODE if way == "open" else AGENT, trusted=None) as client:
        assert client.child_processes() == [], "initialize starts nothing"
        if way == "open":
            client.open("app.py")
        else:
            assert (await edit(client, "shop.py", "return 1", "return 2"))["applied"] is True
        (indexer,) = await wait_until(lambda: indexers(client), SECONDS, "an index is begun")
        assert await wait_until(lambda: indexer.nice() == psutil.Process().nice() + 10, SECONDS, "it gives way")

        async def is_ready() -> bool:
            return bool((await client.request("ombud/status", {}))["index"]["state"] == "ready")

        await wait_until(is_ready, SECONDS, "it is built")
        assert [one.method for one in client.notifications if one.method == "$/progress"] == [], "nobody is bothered"
        callers = await client.request("ombud/graphCallers", {"symbol": "add"})
        assert [one["src"] for one in callers["edges"]] == ["app.py#"]
        assert [one.pid for one in indexers(client)] == [indexer.pid]


async def test_an_index_that_somebody_asks_for_does_not_give_way(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        await client.request("ombud/graphStats", {})
        assert [one.nice() for one in indexers(client)] == [psutil.Process().nice()]


# -- for whom


@dataclass(frozen=True)
class Case:
    """What a session uses, and whether an index is built for it."""

    what: str
    built: bool
    path: str = "app.py"
    language: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    stays: bool = True


CASES = [
    Case("a file that the graph reads", True),
    Case("by the client's word for its language", True, "a.x", "python"),
    Case("by another spelling of it", True, "a.x", "Python"),
    Case("a file that it does not read", False, "a.x"),
    Case("switched off", False, options={"index": {"enabled": False}}),
    Case("T1: not trusted by the client's word", False, options={"trusted": False}),
    Case("trusted", True, options={"trusted": True}),
    Case("a file outside the workspace", False, "../outside/app.py"),
    Case("a command of the command line", False, stays=False),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
async def test_only_who_may_use_it_has_it_built(workspace: Workspace, _home: None, case: Case) -> None:
    workspace({"app.py": ""}, name="outside")
    root = workspace(FILES).resolve()
    async with hosted(root, case.options, stays=case.stays) as made:
        made.hub.ahead.used(made, (root / case.path).resolve(), case.language)
        rested(made)
        assert (root in made.hub.ahead._begun) is case.built
        if case.built:
            await wait_until(lambda: _is_complete(made, root), SECONDS, "it is built")
        else:
            assert made.hub._tasks == set()
            assert made.hub.graphs.known(root) is None


def _is_complete(made: Session, root: Path) -> bool:
    graph = made.hub.graphs.known(root)
    return graph is not None and graph.state.complete


async def test_a_session_that_has_left_wants_nothing(workspace: Workspace, _home: None) -> None:
    root = workspace(FILES).resolve()
    async with hosted(root) as made:
        made.hub.ahead.used(made, root / "app.py")
        made.close()
        rested(made)
        assert made.hub.ahead._begun == {}


# -- when


async def test_it_waits_until_nobody_says_anything(workspace: Workspace, _home: None) -> None:
    """But not for ever."""
    root = workspace(FILES).resolve()
    async with hosted(root) as made:
        early = made.hub.ahead
        early.used(made, root / "app.py")
        for speak in (
            lambda: made.heard("$/setTrace", OFF),
            lambda: made.request("textDocument/hover", OFF, lambda _outcome: None),
        ):
            early._heard = 0.0
            speak()
            early._look()
            assert early._begun == {}
            assert early._timer is not None
        early._heard = 0.0
        await registry.call(made, "status", {})
        early._look()
        assert early._begun == {}
        early._since = time.monotonic() - ahead.PATIENCE_SECONDS
        early._look()
        assert set(early._begun) == {root}


@pytest.mark.parametrize(
    "server",
    [SimpleNamespace(state=State.STARTING, working_on=[]), SimpleNamespace(state=State.READY, working_on=["x"])],
)
async def test_servers_that_are_at_work_go_first(
    workspace: Workspace, _home: None, monkeypatch: pytest.MonkeyPatch, server: Any
) -> None:
    root = workspace(FILES).resolve()
    async with hosted(root) as made:
        made.hub.ahead.used(made, root / "app.py")
        with monkeypatch.context() as patched:
            patched.setattr(made.hub.supervisor, "all", lambda: [server])
            rested(made)
            assert made.hub.ahead._begun == {}
        rested(made)
        assert set(made.hub.ahead._begun) == {root}


async def test_one_index_for_a_folder_whoever_uses_it(workspace: Workspace, _home: None) -> None:
    root = workspace(FILES).resolve()
    async with hosted(root) as made:
        for name in ("app.py", "shop.py", "x/new.py"):
            made.hub.ahead.used(made, root / name)
            rested(made)
            assert len(made.hub._tasks) == 1
        await wait_until(lambda: _is_complete(made, root), SECONDS, "it is built")
        async with asyncio.timeout(SECONDS):
            await made.hub.ahead._begun[root]
        first = made.hub.graphs.known(root)
        made.hub.ahead.used(made, root / "y/new.py")
        rested(made)
        assert made.hub.ahead._begun[root].done()
        assert made.hub.graphs.known(root) is first


async def test_a_folder_that_was_left_by_all_is_built_again_for_who_comes_back(
    workspace: Workspace, _home: None
) -> None:
    root = workspace(FILES).resolve()
    async with hosted(root) as made:
        for name in ("app.py", "x/new.py"):
            made.hub.ahead.used(made, root / name)
            rested(made)
            await wait_until(lambda: _is_complete(made, root), SECONDS, "it is built")
            await made.hub.ahead._begun[root]
            made.hub.sessions.remove(made)
            made.hub.graphs.leave()
            assert made.hub.graphs.known(root) is None
            made.hub.sessions.append(made)


async def test_one_that_cannot_be_built_is_nobodys_trouble(
    workspace: Workspace, _home: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = workspace(FILES).resolve()
    barred = tmp_path / "barred"
    barred.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(barred))
    async with hosted(root) as made:
        made.hub.ahead.used(made, root / "app.py")
        rested(made)
        (building,) = made.hub._tasks
        async with asyncio.timeout(SECONDS):
            await building


async def test_the_command_line_does_not_stay(workspace: Workspace, _home: None) -> None:
    root = workspace(FILES).resolve()
    async with open_session(root, Progress(io.StringIO(), {}, quiet=True, verbose=False)) as (made, _):
        made.hub.ahead.used(made, root / "app.py")
        rested(made)
        assert made.hub.ahead._begun == {}
