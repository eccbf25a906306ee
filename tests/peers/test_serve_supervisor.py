"""Servers over time: the idle sweep, the caps, the end of restarts, reload (incidents P2, P3, P4, P6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import (
    ask_hover,
    edit,
    entry,
    failure,
    freshness,
    hover,
    hurried,
    introduced,
    peer_texts,
    rows,
    serving,
    states,
    status,
    user_file,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

FILES = {"x.toml": "", "a.x": "first\n", "b.y": "second\n", "c.z": "third\n"}
SOON = 0.02
"""Minutes: what is idle for 1.2 seconds is swept."""


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid)


def three(tmp_path: Path, **keys: Any) -> tuple[dict[str, dict[str, Any]], dict[str, PeerLog]]:
    """Servers for ``.x``, ``.y`` and ``.z`` files, and their logs."""
    logs = {name: PeerLog(tmp_path / f"{name}.jsonl") for name in ("one", "two", "three")}
    extensions = {"one": ".x", "two": ".y", "three": ".z"}
    scripts = {name: Script(name, log=log, **keys.get(name, {})) for name, log in logs.items()}
    return {name: entry(script, extensions=[extensions[name]]) for name, script in scripts.items()}, logs


# -- the idle sweep


async def test_P2_an_idle_server_is_swept_politely_and_starts_again_at_the_next_need(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, idleMinutes=SOON) as client:
        client.open("a.x")
        client.change("a.x", "changed\n")
        assert await hover(client, "a.x") == "one: line 0: changed"
        row = await wait_state(client, "one", "swept")
        assert "idle for 0.02 minutes" in row["reason"]
        assert row["pid"] is None
        (first,) = peer_log.starts()
        assert gone(first)
        assert peer_log.methods()[-2:] == ["shutdown", "exit"]
        assert (await status(client))["one"]["state"] == "swept"
        assert await hover(client, "a.x") == "one: line 0: changed"
        await wait_state(client, "one", "swept")
        # A change is a need as well.
        client.change("a.x", "changed again\n")
        await wait_state(client, "one", "ready")
        assert await peer_texts(client, "one") == {"a.x": "changed again\n"}
        assert states(client, "one")[:6] == ["starting", "ready", "stopping", "swept", "starting", "ready"]
    well_behaved(peer_log)


async def test_P2_never_while_a_request_is_open(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    one = Script("one", slow={"textDocument/definition": 2_000})
    async with serving(ombud, root, {"one": one}, idleMinutes=SOON) as client:
        client.open("a.x")
        assert await client.request("textDocument/definition", client.at("a.x", 0, 0))
        assert states(client, "one") == ["starting", "ready"]
        await wait_state(client, "one", "swept")


async def test_P2_never_while_a_write_waits_for_its_diagnostics(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    one = Script("one", delayMs=2_000)
    async with serving(ombud, root, {"one": one}, idleMinutes=SOON) as client:
        result = await edit(client, "a.x", "first", "ERROR(e1): bad", waitMs=10_000)
        assert (introduced(result), freshness(result)) == (["e1"], {"one": "fresh"})
        assert states(client, "one") == ["starting", "ready"]


async def test_P6_a_need_while_it_is_being_stopped_is_met_by_the_next_process(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", exitDelayMs=700, log=peer_log)
    async with serving(ombud, root, {"one": one}, idleMinutes=SOON) as client:
        client.open("a.x")
        await hover(client, "a.x")
        await wait_state(client, "one", "stopping")
        early = ask_hover(client, "a.x")
        client.change("a.x", "changed\n")
        late = ask_hover(client, "a.x")
        assert (await client.answer(early))["contents"] == "one: line 0: first"
        assert (await client.answer(late))["contents"] == "one: line 0: changed"
        assert len(peer_log.starts()) == 2
        assert gone(peer_log.starts()[0])
    well_behaved(peer_log)


async def test_P6_one_that_ignores_every_wish_to_end_is_swept_all_the_same(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    deaf = {"ignoreShutdown": True, "ignoreExit": True, "ignoreEof": True, "ignoreSigterm": True}
    one = Script("one", log=peer_log, spawn=True, **deaf)
    async with serving(ombud, root, {"one": one}, idleMinutes=SOON) as client:
        await hover(client, "a.x")
        await wait_state(client, "one", "swept", 20)
        pids = (*peer_log.starts(), *peer_log.spawned())
        await wait_until(lambda: all(map(gone, pids)), 5, f"{pids} are gone")
        assert [one["name"] for one in peer_log.entries("signal")] == ["SIGTERM"]
        assert peer_log.methods()[-2:] == ["shutdown", "exit"]


# -- caps


async def test_P3_the_least_recently_used_one_makes_room_and_says_why(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    servers, logs = three(tmp_path)
    async with serving(ombud, root, servers, maxServers=2) as client:
        for where in ("a.x", "b.y", "a.x", "c.z"):
            await hover(client, where)
        row = await wait_state(client, "two", "swept")
        assert row["reason"] == "It was the least recently used one when more than maxServers = 2 were needed."
        found = await status(client)
        assert {name: found[name]["state"] for name in servers} == {"one": "ready", "two": "swept", "three": "ready"}
        assert found["two"]["reason"] == row["reason"]
        assert await hover(client, "b.y") == "two: line 0: second"
        await wait_state(client, "one", "swept")
        assert len(client.child_processes()) <= 3  # two servers and the guardian
    well_behaved(*logs.values())


async def test_P3_one_that_works_is_not_stopped_but_waited_for(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    servers, logs = three(tmp_path, one={"slow": {"textDocument/definition": 1_000}})
    async with serving(ombud, root, servers, maxServers=1) as client:
        client.open("a.x")
        await hover(client, "a.x")
        slow = client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        other = ask_hover(client, "b.y")
        await wait_state(client, "two", "starting")
        assert await client.answer(slow)
        assert (await client.answer(other))["contents"] == "two: line 0: second"
        assert not other.seconds < slow.seconds
    well_behaved(logs["one"], logs["two"])


async def test_P3_fewer_places_than_servers_of_one_file_is_slow_but_never_stuck(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    logs = [PeerLog(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    servers = {
        "one": entry(Script("one", features=["hover"], log=logs[0]), priority=1),
        "two": entry(Script("two", features=["definition"], log=logs[1]), priority=2),
    }
    async with serving(ombud, root, servers, maxServers=1) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        assert await client.request("textDocument/definition", client.at("a.x", 0, 0))
        assert await hover(client, "a.x") == "one: line 0: first"
    well_behaved(*logs)


async def test_P1_a_server_that_takes_too_much_memory_is_ended_and_says_why(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """Its descendants count as well. The next need starts it again."""
    root = workspace(FILES)
    one = Script("one", log=peer_log, perStart=[{"rssMb": 120}, {}])
    ombud = hurried(client_factory, downstream__supervisor__MEASURE_SECONDS=0.2)
    async with serving(ombud, root, {"one": one}, maxServerRssMb=100, idleMinutes=0.05) as client:
        await hover(client, "a.x")
        row = await wait_state(client, "one", "swept")
        assert "MB, more than maxServerRssMb = 100" in row["reason"]
        assert int(row["reason"].split()[2]) >= 120
        assert await hover(client, "a.x") == "one: line 0: first"
        found = (await status(client))["one"]
        assert found["state"] == "ready"
        assert 0 < found["rssBytes"] < 100 * 1024 * 1024
    well_behaved(peer_log)


# -- failing again and again


async def test_P4_five_crashes_within_minutes_end_the_restarts_with_the_reason(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", crashOn=[{"method": "textDocument/hover", "stderr": "not again\n"}], log=peer_log)
    ombud = hurried(client_factory, downstream__server__BACKOFF=[0.05, 0.1, 0.15, 0.2, 0.25])
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        for number in range(5):
            error = await failure(ask_hover(client, "a.x"), client)
            assert "not again" in error.message
            row = await wait_state(client, "one", "crashed" if number < 4 else "failed")
        assert "It failed 5 times within three minutes" in row["reason"]
        assert "not again" in row["reason"]
        delays = [one["reason"].split()[-2] for one in rows(client, "one") if one["state"] == "crashed"]
        assert delays == ["0.05", "0.1", "0.15", "0.2"]
        error = await failure(ask_hover(client, "a.x"), client)
        assert error.kind == "server_failed"
        assert "reload" in error.message
        client.change("a.x", "changed\n")
        assert (await status(client))["one"]["state"] == "failed"
        assert len(peer_log.starts()) == 5
        assert (await status(client))["one"]["restarts"] == 4
        # A person who has mended it says so.
        assert await client.request("ombud/reload", {"server": "one"}) == {"restarted": []}
        assert await client.request("textDocument/definition", client.at("a.x", 0, 0))
        assert len(peer_log.starts()) == 6
    well_behaved(peer_log)


async def test_P4_a_start_that_failed_is_tried_again_at_a_later_need(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", log=peer_log, perStart=[{"dieBeforeInitialize": {"stderr": "not yet\n", "code": 1}}, {}])
    ombud = hurried(client_factory, downstream__server__BACKOFF=[0.3])
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        error = await failure(ask_hover(client, "a.x"), client)
        assert "not yet" in error.message

        async def answered() -> bool:
            pending = ask_hover(client, "a.x")
            await wait_until(pending.done, 10)
            return pending.exception() is None

        assert await wait_until(answered, 10, "it is tried again", 0.1)
        assert len(peer_log.starts()) == 2
        assert await peer_texts(client, "one") == {"a.x": "first\n"}
    well_behaved(peer_log)


# -- reload, disabled, notifications


async def test_reload_restarts_what_runs_with_its_documents(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    servers, logs = three(tmp_path)
    async with serving(ombud, root, servers) as client:
        for where in ("a.x", "b.y"):
            client.open(where)
            client.change(where, "changed\n")
            await hover(client, where)
        assert await client.request("ombud/reload", {"server": "two"}) == {"restarted": ["two"]}
        assert await hover(client, "b.y") == "two: line 0: changed"
        assert [len(log.starts()) for log in logs.values()] == [1, 2, 0]
        assert await client.request("ombud/reload", {}) == {"restarted": ["one", "two"]}
        for where, said in (("a.x", "one: line 0: changed"), ("b.y", "two: line 0: changed")):
            assert await hover(client, where) == said
        assert [len(log.starts()) for log in logs.values()] == [2, 3, 0]
        client.change("a.x", "changed again\n")
        assert await hover(client, "a.x") == "one: line 0: changed again"
    well_behaved(*logs.values())


async def test_reload_finds_what_was_installed_meanwhile_and_reads_the_configuration_again(
    ombud: OmbudFactory, workspace: Workspace, bin_folder: Path, home: Path
) -> None:
    root = workspace(FILES)
    servers = {"mine": {"command": ["my-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        assert await client.request("textDocument/hover", client.at("a.x", 0, 0)) is None
        row = (await status(client))["mine"]
        assert row["state"] == "missing_binary"
        assert "my-server" in row["reason"]
        Script("mine").executable(bin_folder / "my-server")
        assert await client.request("ombud/reload") == {"restarted": []}
        assert await hover(client, "a.x") == "mine: line 0: first"
        configuration = user_file(home)
        configuration.write_text("[servers.mine]\ndisabled = true\n")
        assert await client.request("ombud/reload") == {"restarted": ["mine"]}
        assert await client.request("textDocument/hover", client.at("a.x", 0, 0)) is None
        assert (await status(client))["mine"]["state"] == "disabled"
        assert [one for one in client.child_processes() if "server.py" in " ".join(one.cmdline())] == []


async def test_reload_of_a_name_that_nobody_has_is_an_error(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"mine": Script("mine")}) as client:
        error = await failure(client.start_request("ombud/reload", {"server": "mime"}), client)
        assert (error.code, error.kind) == (-32602, "not_found")
        assert "Did you mean 'mine'?" in error.message


async def test_a_disabled_server_never_starts(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    root = workspace(FILES)
    off = Script("off", log=peer_log).entry(disabled=True)
    async with serving(ombud, root, {"off": off, "on": entry(Script("on"))}) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "on: line 0: first"
        row = (await status(client))["off"]
        assert row["state"] == "disabled"
        assert "servers.off.disabled" in row["reason"]
        assert peer_log.starts() == []


@pytest.mark.parametrize("asked", [True, False])
async def test_states_are_told_to_those_who_asked(ombud: OmbudFactory, workspace: Workspace, asked: bool) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}, statusNotifications=asked) as client:
        await hover(client, "a.x")
        await client.request("ombud/reload")
        await hover(client, "a.x")
        assert states(client, "one") == (
            ["starting", "ready", "stopping", "available", "starting", "ready"] if asked else []
        )
        if asked:
            assert {one["root"] for one in rows(client, "one")} == {str(root)}
            assert all(one["reason"].endswith(".") for one in rows(client, "one"))


async def test_status_tells_everything_the_contract_promises(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**FILES, "sub/x.toml": "", "sub/s.x": ""})
    servers = {"one": Script("one", hangOn=["textDocument/definition"], version="9.8").entry(languages=["ex"])}
    async with serving(ombud, root, servers) as client:
        client.open("a.x", language="ex")
        await hover(client, "a.x")
        pending = client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        found = await client.request("ombud/status", {})
        assert (found["staged"], found["debug"]) == ([], None)
        adapters = {row["name"]: row for row in found["adapters"]}
        assert all(set(row) == {"name", "languages", "available", "reason"} for row in adapters.values())
        assert {"debugpy", "js-debug", "dlv", "lldb-dap"} <= set(adapters)
        # Nothing here is for any of them.
        assert not any(row["available"] for row in adapters.values())
        assert all(row["reason"] for row in adapters.values())
        assert set(found["index"]) == {"state", "files", "symbols", "pending"}
        assert found["trust"] == {"root": str(root), "state": "trusted"}
        assert found["problems"] == []
        running, waiting = (row for row in found["servers"] if row["name"] == "one")
        assert (running["root"], running["state"]) == (str(root), "ready")
        assert (waiting["root"], waiting["state"], waiting["pid"]) == (str(root / "sub"), "available", None)
        assert running["languages"] == ["ex"]
        assert running["command"][0] == servers["one"]["command"][0]
        assert psutil.pid_exists(running["pid"])
        assert running["rssBytes"] > 1_000_000
        assert running["uptimeSeconds"] >= running["idleSeconds"] >= 0
        assert (running["restarts"], running["pendingRequests"], running["version"]) == (0, 1, "9.8")
        client.cancel(pending)
