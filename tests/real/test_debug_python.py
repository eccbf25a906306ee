"""Real sessions with debugpy: programs, modules, tests, attaching, threads, child processes."""

from __future__ import annotations

import asyncio
import socket
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import Workspace
from tests.debugging import Debugger, debugger, line_of
from tests.waiting import wait_until

PROGRAM = """\
import sys


def area(width, height):
    result = width * height  # area
    return result


def main():
    total = 0
    sides = [1, 2, 3, 4]
    for side in sides:
        total += area(side, side)  # loop
    print("total", total)  # print
    print("oops", file=sys.stderr)
    if "fail" in sys.argv:
        raise ValueError(f"{total} is too much")  # raise
    return total % 7


sys.exit(main())
"""
LOOP, AREA, RAISE, PRINT = (line_of(PROGRAM, f"# {word}") for word in ("loop", "area", "raise", "print"))


async def test_the_whole_sequence(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace({"app.py": PROGRAM, "pyproject.toml": ""})
    async with debugger(root, environment) as on:
        staged = await on("breakpoints", path="app.py", breakpoints=[{"line": LOOP, "condition": "side == 3"}])
        assert staged["breakpoints"][0]["verified"] is False
        stop = await on("launch", program="app.py")
        assert (stop["state"], stop["reason"], stop["path"], stop["line"]) == ("stopped", "breakpoint", "app.py", LOOP)
        assert stop["breakpoints"]["bound"] == 1
        assert stop["breakpoints"]["unbound"] == []
        assert stop["frames"][0]["text"] == "total += area(side, side)  # loop"
        assert (await on.values())["total"] == "5"
        assert (await on("evaluate", expression="total + side"))["value"] == "8"
        assert [one["name"] for one in (await on("threads"))["threads"]] == ["MainThread"]
        stepped = await on("step_in")
        assert (stepped["reason"], stepped["line"]) == ("step", AREA)
        stack = await on("stack")
        assert [one["name"] for one in stack["frames"]] == ["area", "main", "<module>"]
        assert stack["total"] == 3
        await on("step_over")
        assert (await on.values())["result"] == "9"
        await _changed(on)
        out = await on("step_out")
        assert out["line"] == LOOP
        there = await on("run_to", path="app.py", line=PRINT)
        assert (there["line"], await _value(on, "total")) == (PRINT, "121")
        done = await on("continue")
        assert (done["state"], done["exitCode"]) == ("exited", 121 % 7)
        assert sorted(done["output"].splitlines()) == ["oops", "total 121"]
        printed = await on("output", category="stderr")
        assert "oops" in "".join(one["text"] for one in printed["entries"])
        assert (await on.refused("stack")).kind == "no_session"


async def _changed(on: Debugger) -> None:
    """A variable set, and an evaluation with an effect."""
    scope = (await on("scopes"))["scopes"][0]
    done = await on("set_variable", variablesReference=scope["variablesReference"], name="result", value="99")
    assert done["value"] == "99"
    await on("evaluate", expression="result = result + 1")
    assert await _value(on, "result") == "100"


async def _value(on: Debugger, name: str) -> str:
    return (await on.values())[name]


async def test_what_nobody_catches_stops_the_program(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace({"app.py": PROGRAM})
    async with debugger(root, environment) as on:
        stop = await on("launch", program="app.py", args=["fail"])
        assert (stop["reason"], stop["line"]) == ("exception", RAISE)
        assert sorted(stop["output"].splitlines()) == ["oops", "total 30"]
        moment = await on("snapshot")
        assert moment["exception"]["type"] == "ValueError"
        assert moment["exception"]["message"] == "30 is too much"
        frame = moment["frames"][0]
        assert {one["name"]: one["value"] for one in frame["locals"]}["total"] == "30"
        assert f"→ {RAISE}" in frame["source"]
        done = await on("continue")
        assert (done["state"], done["exitCode"]) == ("exited", 1)


async def test_arguments_apart_from_locals_within_a_budget(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace({"app.py": "def f(first, second):\n    third = 'x' * 9000\n    return third\n\n\nf(1, 2)\n"})
    async with debugger(root, environment) as on:
        await on("breakpoints", path="app.py", breakpoints=[{"line": 3}])
        await on("launch", program="app.py")
        moment = await on("snapshot")
        frame = moment["frames"][0]
        assert [(one["name"], one["value"]) for one in frame["arguments"]] == [("first", "1"), ("second", "2")]
        assert [one["name"] for one in frame["locals"]] == ["third"]
        small = await on("snapshot", tokens=1)
        assert small["truncated"]
        assert small["frames"]
        assert len(str(small)) < len(str(moment))


async def test_a_module_with_its_arguments_and_environment(workspace: Workspace, environment: dict[str, str]) -> None:
    text = "import os, sys\nseen = sys.argv[1:], os.environ.get('ASKED'), os.environ.get('MY_TOKEN')\nprint(*seen)\n"
    root = workspace({"shop/__init__.py": "", "shop/cli.py": text})
    async with debugger(root, {**environment, "MY_TOKEN": "secret"}) as on:
        await on("breakpoints", path="shop/cli.py", breakpoints=[{"line": 3}])
        stop = await on("launch", module="shop.cli", args=["a b", "c"], env={"ASKED": "yes"})
        assert (stop["path"], stop["line"]) == ("shop/cli.py", 3)
        done = await on("continue")
        assert done["output"] == "['a b', 'c'] yes None\n"


@pytest.mark.parametrize(
    ("test", "text", "line"),
    [
        ("tests/test_x.py::test_y", "def test_y():\n    got = 1\n    assert got == 2\n\n\ndef test_z(): assert 0\n", 3),
        (
            "tests/test_x.py::TestY::test_y",
            "class TestY:\n    def test_y(self):\n        raise KeyError(1)\n",
            3,
        ),
        (
            "tests.test_x.Y.test_y",
            "import unittest\n\n\nclass Y(unittest.TestCase):\n    def test_y(self):\n        self.assertEqual(1, 2)\n",
            6,
        ),
    ],
    ids=["pytest", "pytest of a class", "unittest"],
)
async def test_a_test_stops_where_it_fails(
    workspace: Workspace, environment: dict[str, str], test: str, text: str, line: int
) -> None:
    root = workspace({"tests/__init__.py": "", "tests/test_x.py": text, "pyproject.toml": ""})
    # The project's interpreter is the one that has pytest.
    path = f"{Path(sys.executable).parent}:{environment['PATH']}"
    async with debugger(root, {**environment, "PATH": path}) as on:
        stop = await on("launch", test=test)
        assert (stop["state"], stop["reason"], stop["path"], stop["line"]) == (
            "stopped",
            "exception",
            "tests/test_x.py",
            line,
        ), stop
        done = await on("continue")
        while done["state"] == "stopped":
            done = await on("continue")
        assert done["exitCode"] == 1


async def test_a_test_that_passes_ends(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace({"test_x.py": "def test_y():\n    try:\n        [][1]\n    except IndexError:\n        pass\n"})
    path = f"{Path(sys.executable).parent}:{environment['PATH']}"
    async with debugger(root, {**environment, "PATH": path}) as on:
        done = await on("launch", test="test_x.py::test_y")
        assert (done["state"], done["exitCode"]) == ("exited", 0), done


async def test_attaching_by_port_leaves_the_program_running(workspace: Workspace, environment: dict[str, str]) -> None:
    text = "import time\n\nn = 0\nwhile True:\n    n += 1\n    time.sleep(0.01)\n"
    root = workspace({"app.py": text})
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    program = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "--wait-for-client", "app.py"),
        cwd=root,
        env=environment,
    )
    try:
        await wait_until(lambda: _listens(port), 30, "the program listens")
        async with debugger(root, environment) as on:
            await on("breakpoints", path="app.py", breakpoints=[{"line": 5}])
            stop = await on("attach", port=port)
            assert (stop["state"], stop["line"]) == ("stopped", 5)
            assert await _value(on, "n") == "0"
            await on("breakpoints", path="app.py", breakpoints=[])
            running = await on("continue", waitMs=50)
            assert running["state"] == "running"
            ended = await on("terminate")
            assert ended["state"] == "exited"
            assert program.returncode is None
            assert psutil.Process(program.pid).is_running()
    finally:
        program.kill()
        await program.wait()


def _listens(port: int) -> bool:
    return any(one.laddr.port == port for one in psutil.net_connections("tcp") if one.status == psutil.CONN_LISTEN)


async def test_nothing_listens_where_it_is_to_attach(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace({"app.py": ""})
    async with debugger(root, environment) as on:
        error = await on.refused("attach", port=1)
        assert error.kind in ("server_failed", "timeout")
        assert (await on("status"))["state"] == "none"


async def test_threads_stop_together(workspace: Workspace, environment: dict[str, str]) -> None:
    text = (
        "import threading\n\ngate = threading.Event()\n\n\ndef work(name):\n    gate.wait()\n    print(name)\n\n\n"
        "some = [threading.Thread(target=work, args=(f'w{n}',), name=f'w{n}') for n in range(3)]\n"
        "[one.start() for one in some]\nready = True\ngate.set()\n[one.join() for one in some]\n"
    )
    root = workspace({"app.py": text})
    async with debugger(root, environment) as on:
        await on("breakpoints", path="app.py", breakpoints=[{"line": 13}])
        stop = await on("launch", program="app.py")
        rows = {one["name"]: one["id"] for one in (await on("threads"))["threads"]}
        assert {"MainThread", "w0", "w1", "w2"} <= set(rows)
        other = await on("stack", threadId=rows["w1"])
        assert any(one["name"] == "work" for one in other["frames"])
        assert rows["MainThread"] == stop["threadId"]
        assert (await on.refused("stack", threadId=987654)).kind == "not_found"
        done = await on("continue")
        assert (done["state"], done["exitCode"]) == ("exited", 0)


async def test_a_child_process_is_debugged_too(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace(
        {
            "app.py": "import subprocess, sys\nsubprocess.run([sys.executable, 'child.py'])\nprint('parent')\n",
            "child.py": "value = 42\nprint('child', value)\n",
        }
    )
    async with debugger(root, environment) as on:
        await on("breakpoints", path="child.py", breakpoints=[{"line": 2}])
        stop = await on("launch", program="app.py")
        assert (stop["state"], stop["path"], stop["line"]) == ("stopped", "child.py", 2), stop
        assert (await on("evaluate", expression="value"))["value"] == "42"
        done = await on("continue")
        assert (done["state"], done["exitCode"]) == ("exited", 0)
        printed = "".join(one["text"] for one in (await on("output"))["entries"])
        assert "child 42" in printed
        assert "parent" in printed


async def _printed(on: Debugger, word: str) -> bool:
    return word in "".join(one["text"] for one in (await on("output"))["entries"])


async def test_a_running_program_can_be_paused_and_ended(workspace: Workspace, environment: dict[str, str]) -> None:
    text = "import time\n\nn = 0\nprint('ready', flush=True)\nwhile True:\n    n += 1\n    time.sleep(0.001)\n"
    root = workspace({"app.py": text})
    async with debugger(root, environment) as on:
        launched = await on("launch", program="app.py", waitMs=0)
        assert launched["state"] == "running"
        assert (await on.refused("stack")).kind == "conflict"
        await wait_until(lambda: _printed(on, "ready"), 60, "the program runs")
        stop = await on("pause")
        assert stop["state"] == "stopped"
        assert int(await _value(on, "n")) >= 0
        error = await on.refused("launch", program="app.py")
        assert (error.kind, error.data["sessionId"]) == ("session_active", launched["sessionId"])
        again = await on("restart", waitMs=0)
        assert again["state"] == "running"
        assert again["sessionId"] != launched["sessionId"]
        ended = await on("terminate")
        assert ended["state"] == "exited"


async def test_a_program_that_cannot_be_parsed_says_why(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace({"app.py": "def f(:\n"})
    async with debugger(root, environment) as on:
        answer = await on("launch", program="app.py")
        seen = answer["output"] + str(answer)
        assert "SyntaxError" in seen or "invalid syntax" in seen


async def test_log_messages_and_hit_counts(workspace: Workspace, environment: dict[str, str]) -> None:
    root = workspace({"app.py": "for n in range(6):\n    m = n * 2\n    last = m\n"})
    async with debugger(root, environment) as on:
        rows = [{"line": 2, "logMessage": "n is {n}"}, {"line": 3, "hitCondition": "4"}]
        await on("breakpoints", path="app.py", breakpoints=rows)
        await on("launch", program="app.py")
        assert await _value(on, "n") == "3"
        printed = "".join(one["text"] for one in (await on("output"))["entries"])
        assert "n is 2" in printed
        assert (await on("continue"))["state"] == "exited"


async def test_a_breakpoint_on_no_code_says_where_it_could_be(
    workspace: Workspace, environment: dict[str, str]
) -> None:
    root = workspace({"app.py": "x = 1\n\n\n# nothing\n\ny = 2\n"})
    async with debugger(root, environment) as on:
        await on("breakpoints", path="app.py", breakpoints=[{"line": 4}])
        stop = await on("launch", program="app.py", stopOnEntry=True)
        told = stop["breakpoints"]
        places = [one["nearestLine"] for one in told["unbound"]] + [one["boundLine"] for one in told["moved"]]
        assert places, told
        assert places[0] in (1, 6)
