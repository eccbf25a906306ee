"""Debug sessions in a row, and killed in the middle: no process, port or file is left (B1)."""

from __future__ import annotations

import random
import signal
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.children import lives
from tests.conftest import OmbudFactory, Workspace
from tests.debugging import Debugger, debugger
from tests.peers.road import serving
from tests.peers.test_debug_scripted import FILES, scripted
from tests.profiles import AGENT
from tests.waiting import wait_until

TEXT = "import time\n\nn = 0\nprint('ready', flush=True)\nwhile True:\n    n += 1\n    time.sleep(0.001)\n"
SHORT = "total = 0\nfor n in range(3):\n    total += n\n"


def ours() -> list[psutil.Process]:
    """What was started below this test and has to do with debugging."""
    found = []
    for one in psutil.Process().children(recursive=True):
        try:
            if any("debugpy" in word or word.endswith(("app.py", "adapter.py")) for word in one.cmdline()):
                found.append(one)
        except psutil.Error:
            continue
    return found


def listening() -> set[int]:
    here = {psutil.Process().pid, *(one.pid for one in psutil.Process().children(recursive=True))}
    return {one.laddr.port for one in psutil.net_connections("tcp") if one.status == "LISTEN" and one.pid in here}


def files() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("ombud-debug-*"))


WAYS = {
    "debugpy": (8, {"program": "app.py"}),
    "a scripted adapter": (50, {"program": "app.x", "adapter": "scripted"}),
}
"""How many sessions, and what is launched: debugpy takes a second or more for each."""


@pytest.mark.parametrize("way", WAYS)
async def test_sessions_in_a_row(workspace: Workspace, environment: dict[str, str], way: str) -> None:
    count, launch = WAYS[way]
    root = workspace({"app.py": SHORT, **FILES})
    before, ports, handles = files(), listening(), 0
    async with debugger(root, environment, scripted({})) as on:
        await on("breakpoints", path="app.py", breakpoints=[{"line": 3, "condition": "n == 1"}])
        if way != "debugpy":
            await on("breakpoints", path="app.py", breakpoints=[])
        for number in range(count):
            stop = await on("launch", **launch)
            assert stop["state"] == "stopped", (number, stop)
            if number % 2:
                assert (await on("continue"))["exitCode"] == 0
            await on("terminate")
            assert not ours(), number
            if number == 1:
                handles = psutil.Process().num_fds()
        assert psutil.Process().num_fds() <= handles + 4
        assert (files(), listening()) == (before, ports)


@pytest.mark.parametrize("way", WAYS)
async def test_sessions_killed_in_the_middle(workspace: Workspace, environment: dict[str, str], way: str) -> None:
    count, launch = WAYS[way]
    root = workspace({"app.py": TEXT, **FILES})
    chance = random.Random(7)
    before, ports = files(), listening()
    async with debugger(root, environment, scripted({"stop": False})) as on:
        for number in range(count):
            await on("launch", **launch, waitMs=chance.choice([0, 0, 100]))
            some = ours()
            assert some, number
            chance.choice(some).kill()
            await _over(on)
            await on("terminate")
            assert not ours(), number
        assert (files(), listening()) == (before, ports)


async def _over(on: Debugger) -> None:
    """Wait a moment for the end to be noticed; the program may live on where only its launcher was killed."""
    if (await on("status"))["state"] == "running":
        await on("continue", waitMs=500)


async def test_nothing_outlives_a_hub_that_is_killed(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"app.py": TEXT})
    for _ in range(2):
        async with serving(ombud, root, {}, capabilities=AGENT, strict=False) as client:
            launched = await client.request("ombud/debug", {"op": "launch", "program": "app.py", "waitMs": 0})
            assert launched["state"] == "running"
            some = [one.pid for one in client.child_processes() if "debugpy" in " ".join(one.cmdline())]
            assert len(some) > 1
            client.kill(signal.SIGKILL)
            await wait_until(lambda some=some: not any(lives(pid) for pid in some), 60, "all are gone")


async def test_nothing_outlives_a_connection_that_is_closed(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"app.py": TEXT})
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        await client.request("ombud/debug", {"op": "launch", "program": "app.py", "waitMs": 0})
        some = [one.pid for one in client.child_processes() if "debugpy" in " ".join(one.cmdline())]
        assert some
    assert not any(lives(pid) for pid in some)
