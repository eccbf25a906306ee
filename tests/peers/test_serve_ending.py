"""How Ombud ends, and that nothing outlives it: signals, a dead client, a broken pipe, ``kill -9`` (P1, P6 to P8)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.framing import Frames, frame
from tests.peers.road import ask_hover, hover, options, serving, status, wait_state
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

FILES = {"x.toml": "", "a.x": "first\n"}
STUBBORN = {"ignoreShutdown": True, "ignoreExit": True, "ignoreEof": True, "ignoreSigterm": True}
FAMILY = [{"ignoreSigterm": True}, {"ignoreSigterm": True, "setsid": True}, {"holdPipes": True}]


async def all_gone(log: PeerLog, timeout: float = 15) -> None:
    """Every server that ever started, and everything that it has started, is gone."""
    pids = [*log.starts(), *log.spawned()]
    assert pids
    await wait_until(lambda: not any(psutil.pid_exists(pid) for pid in pids), timeout, f"{pids} are gone")


async def sleeper() -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec("sleep", "600")


# -- the client's process


async def test_P8_ombud_ends_when_its_client_dies_though_somebody_holds_the_pipe(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    editor = await sleeper()
    try:
        async with ombud(cwd=root, strict=False) as client:
            given = options({"one": Script("one", spawn=True, log=peer_log)})
            await client.initialize(root, given, process_id=editor.pid)
            client.open("a.x")
            await hover(client, "a.x")
            assert client.connected
            editor.kill()
            await editor.wait()
            assert await client.wait_exit(20) == 1
        assert client.violations == ["the connection ended before the client said goodbye"]
        await all_gone(peer_log)
        assert peer_log.methods()[-2:] == ["shutdown", "exit"]
    finally:
        if editor.returncode is None:
            editor.kill()
            await editor.wait()


@pytest.mark.parametrize("pid", ["dead", None, 0, -5, 1, 2**40])
async def test_P8_a_process_id_that_means_nothing_here_is_no_sign_of_an_end(
    ombud: OmbudFactory, workspace: Workspace, pid: Any
) -> None:
    """In a container the client's number names nobody, or somebody else."""
    root = workspace(FILES)
    if pid == "dead":
        former = await asyncio.create_subprocess_exec("true")
        await former.wait()
        pid = former.pid
    async with ombud(cwd=root) as client:
        await client.initialize(root, options({"one": Script("one")}), process_id=pid)
        assert await hover(client, "a.x") == "one: line 0: first"


# -- nothing is left behind


@pytest.mark.parametrize("moment", ["ready", "starting"])
async def test_P1_kill_9_leaves_no_server_and_no_child_of_one(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, moment: str
) -> None:
    root = workspace(FILES)
    delay = 60_000 if moment == "starting" else 0
    one = Script("one", spawn=FAMILY, startDelayMs=delay, log=peer_log, **STUBBORN)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        pending = ask_hover(client, "a.x")
        await peer_log.wait(lambda log: len(log.spawned()) == len(FAMILY))
        if moment == "ready":
            await client.answer(pending)
        assert len(client.child_processes()) >= 3
        client._ended_by_us = True
        os.kill(client.pid, signal.SIGKILL)
        assert await client.wait_exit() == -signal.SIGKILL
        await all_gone(peer_log)


async def test_P6_nothing_is_left_of_servers_that_ignore_every_wish_to_end(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", spawn=FAMILY, log=peer_log, **STUBBORN)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        await client.shutdown()
        client.exit()
        assert await client.wait_exit(20) == 0
        await all_gone(peer_log, 5)
    assert [one["name"] for one in peer_log.entries("signal")] == ["SIGTERM"]


@pytest.mark.parametrize(
    ("keys", "signals"),
    [
        ({"ignoreExit": True}, []),
        ({"ignoreExit": True, "ignoreEof": True}, ["SIGTERM"]),
        ({"exitCode": 7}, []),
        ({"errorsOn": {"shutdown": {"code": -32603, "message": "no"}}}, []),
        ({"crashOn": [{"method": "shutdown"}]}, []),
    ],
    ids=["ignores exit", "ignores exit and the end", "a code of its own", "refuses shutdown", "dies of shutdown"],
)
async def test_P6_the_goodbye_is_followed_rung_by_rung(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, keys: dict[str, Any], signals: list[str]
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log, **keys)}) as client:
        client.open("a.x")
        await hover(client, "a.x")
    assert client.returncode == 0
    await all_gone(peer_log, 1)
    assert [one["name"] for one in peer_log.entries("signal")] == signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_ombud_and_its_servers_politely(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, number: signal.Signals
) -> None:
    root = workspace(FILES)
    one = Script("one", hangOn=["textDocument/definition"], spawn=True, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        client._ended_by_us = True
        os.kill(client.pid, number)
        assert await client.wait_exit(20) == 1
    assert peer_log.methods()[-2:] == ["shutdown", "exit"]
    await all_gone(peer_log)


async def test_an_exit_while_a_server_starts_leaves_nothing(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", startDelayMs=60_000, spawn=True, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        pending = ask_hover(client, "a.x")
        client.abandon(pending)
        await peer_log.wait(lambda log: len(log.spawned()) == 2)
        await client.shutdown()
        client.exit()
        assert await client.wait_exit(20) == 0
        await all_gone(peer_log, 5)


# -- the streams


def pipe(client: Client, descriptor: int) -> Any:
    return cast("Any", client.link)._transport.get_pipe_transport(descriptor)


async def test_P7_a_client_that_reads_no_more_ends_ombud_and_its_servers(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, strict=False) as client:
        client.open("a.x")
        await hover(client, "a.x")
        pipe(client, 1).close()
        ask_hover(client, "a.x")
        ask_hover(client, "a.x")
        assert await client.wait_exit(20) == 1
    await all_gone(peer_log)


async def test_a_client_that_reads_slowly_gets_everything_in_the_end(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", bigAnswer=1_000_000)}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        pipe(client, 1).pause_reading()
        pending = [ask_hover(client, "a.x") for _ in range(20)]
        await client.drain()
        assert not any(one.done() for one in pending)
        pipe(client, 1).resume_reading()
        for one in pending:
            assert len((await client.answer(one))["contents"]) > 1_000_000


def test_a_whole_conversation_may_come_from_a_file_and_go_to_one(
    environment: dict[str, str], ombud_command: Callable[..., list[str]], tmp_path: Path
) -> None:
    said = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"jsonrpc": "2.0", "method": "initialized", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": {"textDocument": {"uri": "file:///x"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "shutdown"},
        {"jsonrpc": "2.0", "method": "exit"},
    ]
    (tmp_path / "in").write_bytes(b"".join(map(frame, said)))
    with (tmp_path / "in").open("rb") as source, (tmp_path / "out").open("wb") as sink:
        done = subprocess.run(
            ombud_command("serve"), stdin=source, stdout=sink, env=environment, timeout=30, check=True
        )
    assert done.returncode == 0
    frames = Frames()
    bodies = list(frames.feed((tmp_path / "out").read_bytes()))
    assert frames.faults == []
    assert len(bodies) == 3
    assert b'"id":2,"result":null' in bodies[1]


async def test_what_servers_and_handlers_print_never_reaches_the_clients_stream(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    one = Script("one", stderr="to standard error\n", stderrFlood=300_000, banner="to standard output\n")
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        await wait_state(client, "one", "ready")
        assert (await status(client))["one"]["banner"] == "to standard output\n"
        assert "to standard error" not in client.stderr
