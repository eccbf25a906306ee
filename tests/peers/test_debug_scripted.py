"""The debugger and adapters that do what real ones were seen to do, and what none should."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from ombud.debug import connection, link, session

from tests.children import lives
from tests.conftest import Workspace
from tests.debugging import Debugger, debugger
from tests.peers.adapter import ORDERS
from tests.waiting import wait_until

ADAPTER = Path(__file__).with_name("adapter.py")
FILES = {"app.x": "one\ntwo\n\nfour\n", "x.toml": ""}


def scripted(script: Mapping[str, Any], **debug: Any) -> dict[str, Any]:
    """Options of a client whose adapter ``scripted`` does as the script says."""
    row = {"command": [sys.executable, str(ADAPTER), json.dumps(script)], "languages": ["x"], "attach": ["pid", "port"]}
    return {"debug": {"adapters": {"scripted": row}, **debug}}


async def launch(on: Debugger, **params: Any) -> dict[str, Any]:
    return await on("launch", program="app.x", adapter="scripted", **params)


def children() -> list[psutil.Process]:
    return [one for one in psutil.Process().children(recursive=True) if str(ADAPTER) in one.cmdline()]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("eager", [False, True], ids=["", "stops before the answers"])
async def test_every_order_of_initialized_and_the_answers(
    workspace: Workspace, environment: dict[str, str], order: str, eager: bool
) -> None:
    async with debugger(workspace(FILES), environment, scripted({"order": order, "eager": eager, "code": 3})) as on:
        await on("breakpoints", path="app.x", breakpoints=[{"line": 1}])
        stop = await launch(on)
        assert (stop["state"], stop["reason"], stop["threadId"], stop["path"]) == ("stopped", "breakpoint", 7, "app.x")
        assert stop["breakpoints"]["bound"] == 1
        assert len(stop["frames"]) == 3
        step = await on("step_over")
        assert (step["state"], step["reason"]) == ("stopped", "step")
        done = await on("continue")
        assert (done["state"], done["exitCode"]) == ("exited", 3)
    assert not children()


@pytest.mark.parametrize(
    ("script", "state"),
    [
        ({"leave": "eof"}, ("exited", None)),
        ({"leave": "terminated"}, ("exited", None)),
        ({"leave": "late", "code": 4}, ("exited", 4)),
        ({"leave": "run"}, ("running", None)),
    ],
    ids=["B5 end of file", "no exit code", "the code comes last", "it never stops"],
)
async def test_ways_to_end(
    workspace: Workspace, environment: dict[str, str], script: dict[str, Any], state: tuple[str, int | None]
) -> None:
    async with debugger(workspace(FILES), environment, scripted(script)) as on:
        await launch(on)
        done = await on("continue", waitMs=60_000 if state[0] == "exited" else 200)
        assert (done["state"], done.get("exitCode")) == state
        ended = await on("terminate")
        assert ended["state"] == "exited"
        assert (await on("status"))["state"] == "none"
    assert not children()


async def test_B4_a_failed_launch_is_told_in_the_adapters_words(
    workspace: Workspace, environment: dict[str, str]
) -> None:
    script = {"fail": "the program has no debug symbols", "words": "adapter: cannot read app.x\n"}
    async with debugger(workspace(FILES), environment, scripted(script)) as on:
        error = await on.refused("launch", program="app.x", adapter="scripted")
        assert error.kind == "server_failed"
        assert "the program has no debug symbols" in error.message
        assert "cannot read app.x" in error.message
        # Nothing is left in the way of the next.
        assert (await on("status"))["state"] == "none"
        again = await on.refused("launch", program="app.x", adapter="scripted")
        assert again.kind == "server_failed"
    assert not children()


async def test_an_adapter_that_is_no_adapter(workspace: Workspace, environment: dict[str, str]) -> None:
    row = {"command": [sys.executable, "-c", "import sys; sys.stderr.write('no such option'); sys.exit(5)"]}
    options = {"debug": {"adapters": {"scripted": {**row, "languages": ["x"]}}}}
    async with debugger(workspace(FILES), environment, options) as on:
        error = await on.refused("launch", program="app.x", adapter="scripted")
        assert error.kind == "server_failed"
        assert "no such option" in error.message


@pytest.mark.parametrize("command", ["initialize", "launch", "configurationDone", "setBreakpoints"])
async def test_a_request_that_is_never_answered_has_a_deadline(
    workspace: Workspace, environment: dict[str, str], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "START_SECONDS", 1.0)
    monkeypatch.setattr(connection, "INITIALIZE_SECONDS", 1.0)
    monkeypatch.setattr(link.Link.ask, "__kwdefaults__", {"seconds": 1.0})
    async with debugger(workspace(FILES), environment, scripted({"hang": [command]})) as on:
        await on("breakpoints", path="app.x", breakpoints=[{"line": 1}])
        error = await on.refused("launch", program="app.x", adapter="scripted")
        assert error.kind == "timeout"
        assert "scripted" in error.message
    assert not children()


async def test_an_adapter_that_ignores_disconnect_is_ended(
    workspace: Workspace, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "GOODBYE_SECONDS", 0.3)
    async with debugger(workspace(FILES), environment, scripted({"ignore": ["disconnect"]})) as on:
        await launch(on)
        (adapter,) = children()
        ended = await on("terminate")
        assert ended["state"] == "exited"
        assert not lives(adapter.pid)


async def test_a_program_that_ignores_SIGTERM_ends_too(workspace: Workspace, environment: dict[str, str]) -> None:
    code = "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint(1)\nwhile True: time.sleep(1)"
    script = {"child": [sys.executable, "-c", code, "stubborn"], "ignore": ["disconnect"]}
    async with debugger(workspace(FILES), environment, scripted(script)) as on:
        await launch(on)
        stubborn = [one for one in psutil.Process().children(recursive=True) if "stubborn" in one.cmdline()]
        assert stubborn
        await on("terminate")
        assert not any(lives(one.pid) for one in stubborn)


async def test_a_flood_of_output_is_bounded(workspace: Workspace, environment: dict[str, str]) -> None:
    async with debugger(workspace(FILES), environment, scripted({"flood": 40_000})) as on:
        stop = await launch(on)
        assert stop["state"] == "stopped"
        assert len(stop["output"]) < 5_000
        assert "line 39999" in stop["output"]
        printed = await on("output")
        assert printed["dropped"] > 0
        assert printed["next"] == 40_000
        assert sum(len(one["text"]) for one in printed["entries"]) <= 300_000
        later = await on("output", since=printed["next"])
        assert later["entries"] == []


async def test_reverse_requests_are_each_answered(workspace: Workspace, environment: dict[str, str]) -> None:
    names = ["makeCoffee", "runInTerminal", "startDebugging"]
    async with debugger(workspace(FILES), environment, scripted({"reverse": names})) as on:
        await launch(on)

        async def answered() -> bool:
            printed = "".join(one["text"] for one in (await on("output"))["entries"])
            return all(f"{name}: False" in printed for name in names)

        await wait_until(answered, 30, "all were answered")


async def test_what_is_no_message_is_left_out(workspace: Workspace, environment: dict[str, str]) -> None:
    garbage = ["", "[]", "null", '{"seq": 1}', '{"type": 1}', "[" * 5000, "\\ud800", '{"type":"event","event":5}']
    script = {"junk": "a banner\n", "garbage": garbage}
    async with debugger(workspace(FILES), environment, scripted(script)) as on:
        stop = await launch(on)
        assert stop["state"] == "stopped"


async def test_values_and_variables_are_bounded(workspace: Workspace, environment: dict[str, str]) -> None:
    async with debugger(workspace(FILES), environment, scripted({"variables": 3000, "value": 20_000})) as on:
        await launch(on)
        (scope,) = (await on("scopes"))["scopes"]
        rows = await on("variables", variablesReference=scope["variablesReference"])
        assert (len(rows["variables"]), rows["total"]) == (50, 3000)
        assert all(len(one["value"]) <= 401 for one in rows["variables"])
        more = await on("variables", variablesReference=scope["variablesReference"], start=2990, limit=100)
        assert [one["name"] for one in more["variables"]] == [f"v{n}" for n in range(2990, 3000)]
        stack = await on("stack")
        assert (len(stack["frames"]), stack["total"]) == (30, 40)
        rest = await on("stack", start=30)
        assert [one["name"] for one in rest["frames"]] == [f"f{n}" for n in range(30, 40)]
        moment = await on("snapshot", tokens=500)
        assert moment["truncated"]
        assert len(json.dumps(moment)) < 8_000


async def test_numbers_of_a_stop_mean_nothing_at_the_next(workspace: Workspace, environment: dict[str, str]) -> None:
    async with debugger(workspace(FILES), environment, scripted({})) as on:
        await launch(on)
        (scope,) = (await on("scopes"))["scopes"]
        frame = (await on("stack"))["frames"][0]["id"]
        await on("step_over")
        assert (await on.refused("variables", variablesReference=scope["variablesReference"])).kind == "not_found"
        assert (await on.refused("scopes", frameId=frame)).kind == "not_found"
        error = await on.refused("evaluate", expression="wrong")
        assert error.message == "scripted refused evaluate: NameError: wrong"


async def test_a_breakpoint_that_is_not_bound_is_named_with_the_nearest_line(
    workspace: Workspace, environment: dict[str, str]
) -> None:
    async with debugger(workspace(FILES), environment, scripted({"unbound": [3]})) as on:
        await on("breakpoints", path="app.x", breakpoints=[{"line": 1}, {"line": 3}])
        stop = await launch(on)
        assert stop["breakpoints"]["bound"] == 1
        (one,) = stop["breakpoints"]["unbound"]
        assert (one["path"], one["line"], one["message"]) == ("app.x", 3, "no code")
        assert one["nearestLine"] in (2, 4)
        error = await on.refused("run_to", path="app.x", line=3)
        assert "no code" in error.message


async def test_kinds_of_breakpoints_that_an_adapter_does_not_know(
    workspace: Workspace, environment: dict[str, str]
) -> None:
    async with debugger(workspace(FILES), environment, scripted({})) as on:
        await launch(on)
        assert (
            "conditions"
            in (await on.refused("breakpoints", path="app.x", breakpoints=[{"line": 1, "condition": "x"}])).message
        )
        assert "function" in (await on.refused("function_breakpoints", names=["f"])).message
        assert "data" in (await on.refused("data_breakpoints", data=[{"name": "x"}])).message
        strange = await on.refused("exception_breakpoints", filters=["nope"])
        assert "uncaught" in strange.message


# -- the fence ---------------------------------------------------------------------------------------------------------


async def test_B1_the_idle_limit_and_the_time_to_live_end_it(workspace: Workspace, environment: dict[str, str]) -> None:
    for limits, why in (({"idleMinutes": 0.02}, "idle"), ({"idleMinutes": 10, "ttlMinutes": 0.03}, "time to live")):
        async with debugger(workspace(FILES), environment, scripted({}, **limits)) as on:
            await launch(on)
            said = await on("status")
            assert 0 < said["expiresInSeconds"] <= 2
            await wait_until(lambda: not children(), 60, "it has ended by itself")

            async def gone(on: Debugger = on) -> bool:
                return (await on("status"))["state"] == "none"

            await wait_until(gone, 30, "the session is over")
            last = (await on("status"))["last"]
            assert why in last["reason"]
            assert why in (await on.refused("continue")).message
            assert (await on("output"))["entries"] == []


async def test_one_session_a_connection(workspace: Workspace, environment: dict[str, str]) -> None:
    async with debugger(workspace(FILES), environment, scripted({})) as on:
        first = await launch(on)
        error = await on.refused("launch", program="app.x", adapter="scripted")
        assert (error.kind, error.data["sessionId"]) == ("session_active", first["sessionId"])
        assert "terminate" in error.message
        await on("terminate")
        second = await launch(on)
        assert second["sessionId"] != first["sessionId"]


async def test_B6_what_the_program_is_made_to_run_is_written_down(
    workspace: Workspace, environment: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "ombud.audit")
    async with debugger(
        workspace(FILES), environment, scripted({"can": {"supportsConditionalBreakpoints": True}})
    ) as on:
        await on("breakpoints", path="app.x", breakpoints=[{"line": 1, "condition": "x > 1"}])
        await launch(on)
        await on("evaluate", expression="token = 'ghp_0123456789abcdefghijklmnopqrstuvwxyzAB'")
    said = "\n".join(record.getMessage() for record in caplog.records if record.name == "ombud.audit")
    assert "x > 1" in said
    assert "evaluate" in said
    assert "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB" not in said


@pytest.mark.parametrize("options", [{"trusted": False}, {"tiers": ["read", "write"]}], ids=["not trusted", "no tier"])
async def test_it_needs_trust_and_the_tier(
    workspace: Workspace, environment: dict[str, str], options: dict[str, Any]
) -> None:
    async with debugger(workspace(FILES), environment, {**scripted({}), **options}) as on:
        error = await on.refused("launch", program="app.x", adapter="scripted")
        assert error.kind in ("not_trusted", "permission_denied")


@pytest.mark.parametrize(
    ("params", "kind"),
    [
        ({}, "invalid_params"),
        ({"program": "app.x", "module": "m"}, "invalid_params"),
        ({"program": "nowhere.x"}, "not_found"),
        ({"program": "../../etc/passwd"}, "outside_workspace"),
        ({"program": "app.x", "adapter": "nobody"}, "not_found"),
        ({"program": "app.x"}, "unknown_language"),
        ({"program": "app.x", "cwd": "/"}, "outside_workspace"),
        ({"program": "app.x", "adapter": "scripted", "cwd": "app.x"}, "not_found"),
        ({"test": "no such test"}, "not_found"),
        ({"pid": 5}, "invalid_params"),
        ({"program": "app.x", "waitMs": -1}, "invalid_params"),
        ({"program": "app.x\0"}, None),
    ],
)
async def test_bad_launches_start_nothing(
    workspace: Workspace, environment: dict[str, str], params: dict[str, Any], kind: str | None
) -> None:
    async with debugger(workspace(FILES), environment, scripted({})) as on:
        error = await on.refused("launch", **params)
        assert kind is None or error.kind == kind, error.message
        assert not children()
        assert (await on("status"))["state"] == "none"


@pytest.mark.parametrize(
    "op", ["continue", "step_over", "stack", "threads", "snapshot", "evaluate", "output", "terminate"]
)
async def test_ops_without_a_session(workspace: Workspace, environment: dict[str, str], op: str) -> None:
    async with debugger(workspace(FILES), environment, scripted({})) as on:
        assert (await on.refused(op, **({"expression": "1"} if op == "evaluate" else {}))).kind == "no_session"
