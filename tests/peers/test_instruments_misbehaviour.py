"""Every misdeed of the scripted server, seen directly: each must happen, or the tests built on it prove nothing."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

import psutil
import pytest

from tests.client import Client, Disconnected, LspError, ProtocolViolation
from tests.conftest import Workspace
from tests.framing import frame
from tests.peers.conftest import PeerFactory
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

HOVER = "textDocument/hover"


def hover_params(client: Client, line: int = 0) -> dict[str, Any]:
    return client.at("a.x", line, 0)


async def opened(client: Client, workspace: Workspace, text: str = "zero\none\ntwo\n") -> None:
    await client.initialize(workspace())
    client.open("a.x", text)


# -- the wire


async def test_a_banner_before_the_first_frame(peer: PeerFactory, workspace: Workspace) -> None:
    banner = {"text": "Welcome! v1\n", "repeat": 300}
    async with peer(banner=banner, strict=False) as client:
        await opened(client, workspace)
        await client.request(HOVER, hover_params(client))
    assert client.violations == ["3600 bytes that belong to no frame: " + repr((b"Welcome! v1\n" * 10)[:120])]


async def test_junk_between_frames(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(junkBetween="log: x\n\n", diagnostics="none", strict=False) as client:
        await opened(client, workspace)
        for _ in range(3):
            await client.request(HOVER, hover_params(client))
    junk = [violation for violation in client.violations if "belong to no frame" in violation]
    assert len(junk) == 4, "three answers and the one to shutdown"


@pytest.mark.parametrize(
    "header",
    ["content-length:{length}\r\n\r\n", "Content-Length: {length}\n\n", "X-A: b\r\nContent-Length: {length}\r\n\r\n"],
)
async def test_unusual_headers(peer: PeerFactory, workspace: Workspace, header: str) -> None:
    async with peer(headerFormat=header, strict=False) as client:
        await opened(client, workspace)
    assert client.violations
    assert all("an unusual header" in violation for violation in client.violations)


async def test_writes_in_single_bytes(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(chunk=1) as client:
        await opened(client, workspace, "ä😀")
        assert (await client.request(HOVER, hover_params(client)))["contents"].endswith("ä😀")


async def test_lone_surrogates_in_answers(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(surrogates=True) as client:
        await opened(client, workspace, "ERROR(e): text")
        pending = client.start_request(HOVER, hover_params(client))
        assert (await pending)["contents"].endswith("text\ud83d")
        assert b"text\\ud83d" in pending.raw, "written as the escape, for it has no UTF-8"
        assert (await client.wait_diagnostics("a.x"))[0]["message"] == "text\ud83d"
        assert (await client.request("textDocument/definition", hover_params(client)))[0]["lone"] == "\ud83d"
        assert (await client.request("textDocument/completion", hover_params(client)))["lone"] == "\ud83d"
        assert "lone" not in await client.request("test/state")


async def test_raw_bytes_in_place_of_an_answer(peer: PeerFactory, workspace: Workspace) -> None:
    raw = "Content-Length: 9\r\n\r\n{not json"
    async with peer(rawOn={HOVER: raw}, strict=False) as client:
        await opened(client, workspace)
        pending = client.start_request(HOVER, hover_params(client))
        await client.request("test/state")
        assert not pending.done()
        client.abandon(pending)
    assert len(client.violations) == 1
    assert "not JSON" in client.violations[0]


@pytest.mark.parametrize(
    ("big", "method"), [(3_000_000, HOVER), ({"textDocument/definition": 70_000}, "textDocument/definition")]
)
async def test_big_answers(peer: PeerFactory, workspace: Workspace, big: Any, method: str) -> None:
    async with peer(bigAnswer=big) as client:
        await opened(client, workspace)
        pending = client.start_request(method, hover_params(client))
        await client.answer(pending)
        wanted = big if isinstance(big, int) else big[method]
        assert wanted <= len(pending.raw) <= wanted + 600


async def test_a_flood_of_notifications_before_the_answer(peer: PeerFactory, workspace: Workspace) -> None:
    flood = {"method": HOVER, "count": 10_000, "notification": {"method": "$/x", "params": {"p": 1}}}
    async with peer(floodOn=flood) as client:
        await opened(client, workspace)
        assert (await client.request(HOVER, hover_params(client)))["version"] == 1
        numbers = [int(one.params["message"]) for one in client.notifications if one.method == "$/x"]
        assert numbers == list(range(10_000))
    async with peer(floodOn=[{"method": "initialized", "count": 3}]) as client:
        await opened(client, workspace)
        assert await client.wait_notification("window/logMessage", lambda one: one["message"] == "2")


# -- answers


async def test_unknown_methods_from_the_server(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(unknownMethods=True) as client:
        await opened(client, workspace)
        assert await client.wait_notification("scripted/unknownNotification") == {"by": "scripted"}
        await client.wait_notification("$/unknownNotification")
        await client.wait_request("scripted/unknownRequest")
        (answer,) = (await client.request("test/state"))["answers"]
        assert answer["error"]["code"] == -32601


async def test_answers_in_reverse_order(peer: PeerFactory, workspace: Workspace) -> None:
    order: list[Any] = []
    async with peer(reorder=3) as client:
        await opened(client, workspace)
        pending = [client.start_request(HOVER, hover_params(client, line)) for line in range(4)]
        for one in pending:
            one.add_done_callback(lambda done: order.append(done.result()["contents"][-3:]))
        await asyncio.gather(*pending[:3])
        assert order == ["two", "one", "ero"]
        assert not pending[3].done(), "held until there are three again"
        await client.shutdown()
        assert (await client.answer(pending[3]))["version"] == 1


@pytest.mark.parametrize("twice", [True, [HOVER], [{"method": HOVER, "nth": 1}]])
async def test_answers_given_twice(peer: PeerFactory, workspace: Workspace, twice: Any) -> None:
    async with peer(answerTwice=twice, strict=False) as client:
        await opened(client, workspace)
        await client.request(HOVER, hover_params(client))
    assert len(client.violations) == 1
    assert client.violations[0].startswith("a second answer")


@pytest.mark.parametrize(
    ("wrong", "unknown", "answered"),
    [("also", "wrong-2", True), ("instead", "wrong-2", False), ("asString", "2", False)],
)
async def test_answers_with_wrong_ids(
    peer: PeerFactory, workspace: Workspace, wrong: str, unknown: str, answered: bool
) -> None:
    async with peer(wrongIds=wrong, strict=False) as client:
        await opened(client, workspace)
        pending = client.start_request(HOVER, hover_params(client))
        await client.request("test/state")
        assert pending.done() == answered
        client.abandon(pending)
    assert len(client.violations) == 1
    assert "an answer to an unknown id" in client.violations[0]
    assert f'"id":"{unknown}"' in client.violations[0]


async def test_errors_on_demand(peer: PeerFactory, workspace: Workspace) -> None:
    error = {"code": -32801, "message": "changed", "data": {"a": 1}, "nth": 2}
    async with peer(errorsOn={HOVER: error}) as client:
        await opened(client, workspace)
        await client.request(HOVER, hover_params(client))
        with pytest.raises(LspError) as problem:
            await client.request(HOVER, hover_params(client))
        assert (problem.value.code, problem.value.message, problem.value.data) == (-32801, "changed", {"a": 1})
        await client.request(HOVER, hover_params(client))


async def test_slow_answers_keep_the_text_of_the_question(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(slow={HOVER: 400}) as client:
        await opened(client, workspace)
        slow = client.start_request(HOVER, hover_params(client))
        client.change("a.x", "new\n")
        await client.request("textDocument/definition", hover_params(client))
        assert not slow.done(), "others are answered in between"
        assert (await slow)["contents"] == "scripted: line 0: zero"
        assert slow.seconds >= 0.39


async def test_a_busy_server_does_nothing_else(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(busy={HOVER: 60}) as client:
        await opened(client, workspace)
        hover = client.start_request(HOVER, hover_params(client))
        await client.request("textDocument/definition", hover_params(client))
        assert hover.done()
        assert hover.seconds >= 0.055


# -- cancelling


async def test_a_hanging_request_is_ended_by_cancelling_it(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(hangOn=[HOVER]) as client:
        await opened(client, workspace)
        pending = client.start_request(HOVER, hover_params(client))
        with pytest.raises(TimeoutError, match="no answer to textDocument/hover"):
            await client.answer(pending, timeout=0.05)
        assert (await client.request("test/state"))["waiting"] == [pending.id]
        client.cancel(pending)
        with pytest.raises(LspError, match="-32800"):
            await client.answer(pending)
        assert (await client.request("test/state"))["cancelled"] == [pending.id]


async def test_only_the_nth_request_hangs(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(hangOn=[{"method": HOVER, "nth": 2}]) as client:
        await opened(client, workspace)
        pending = [client.start_request(HOVER, hover_params(client)) for _ in range(3)]
        await asyncio.gather(pending[0], pending[2])
        assert not pending[1].done()
        client.cancel(pending[1].id)
        with pytest.raises(LspError, match="-32800"):
            await client.answer(pending[1])


@pytest.mark.parametrize("how", [{"hangOn": [HOVER]}, {"slow": {HOVER: 30_000}}])
async def test_a_late_answer_after_cancelling(peer: PeerFactory, workspace: Workspace, how: dict[str, Any]) -> None:
    async with peer(lateAnswerAfterCancel=300, **how) as client:
        await opened(client, workspace)
        pending = client.start_request(HOVER, hover_params(client))
        client.cancel(pending)
        await client.request("test/state")
        assert not pending.done()
        assert (await client.answer(pending))["contents"] == "scripted: line 0: zero"


async def test_a_held_answer_can_be_cancelled(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(reorder=2) as client:
        await opened(client, workspace)
        first = client.start_request(HOVER, hover_params(client))
        client.cancel(first)
        with pytest.raises(LspError, match="-32800"):
            await client.answer(first)
        others = [client.start_request(HOVER, hover_params(client)) for _ in range(2)]
        await asyncio.gather(*others)


async def test_cancelling_may_be_ignored(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(ignoreCancel=True, slow={HOVER: 40}) as client:
        await opened(client, workspace)
        pending = client.start_request(HOVER, hover_params(client))
        client.cancel(pending)
        assert (await client.answer(pending))["version"] == 1


# -- dying


@pytest.mark.parametrize(
    ("crash", "code"),
    [
        ({"method": HOVER}, 1),
        ({"method": HOVER, "exitCode": 3, "stderr": "Segmentation fault of sorts\n"}, 3),
        ({"method": HOVER, "signal": "SIGKILL"}, -9),
        ({"method": HOVER, "signal": "SIGTERM", "when": "midFrame"}, -15),
        ({"method": "textDocument/didOpen", "when": "after", "exitCode": 4}, 4),
    ],
)
async def test_crashes(
    peer: PeerFactory, workspace: Workspace, peer_log: PeerLog, crash: dict[str, Any], code: int
) -> None:
    async with peer(crashOn=crash, log=str(peer_log.path), strict=False) as client:
        await opened(client, workspace)
        with pytest.raises(Disconnected):
            await client.request(HOVER, hover_params(client))
        assert await client.wait_exit() == code
        assert client.stderr == crash.get("stderr", "")
    (entry,) = peer_log.entries("crash")
    assert entry["when"] == crash.get("when", "before")
    torn = any("ended inside a frame" in violation for violation in client.violations)
    assert torn == (crash.get("when") == "midFrame")


async def test_a_crash_after_the_answer_and_on_a_later_request(peer: PeerFactory, workspace: Workspace) -> None:
    crash = [{"method": HOVER, "nth": 2, "when": "after"}]
    async with peer(crashOn=crash, strict=False) as client:
        await opened(client, workspace)
        for _ in range(2):
            assert (await client.request(HOVER, hover_params(client)))["version"] == 1
        assert await client.wait_exit() == 1
    assert client.violations == ["the connection ended before the client said goodbye"], "no answer was owed"


async def test_a_frozen_server_lives_and_reads_nothing(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(freezeOn=[HOVER], strict=False) as client:
        await opened(client, workspace)
        pending = client.start_request(HOVER, hover_params(client))
        client.notify("x/large", {"text": "x" * 2_000_000})
        with pytest.raises(TimeoutError, match="reads on"):
            await client.drain(timeout=0.3)
        assert not pending.done()
        assert client.returncode is None
        client.kill(signal.SIGTERM)
        assert await client.wait_exit() == -signal.SIGTERM


async def test_a_server_that_dies_before_initialize(peer: PeerFactory) -> None:
    async with peer(dieBeforeInitialize={"stderr": "no such component\n", "code": 3}) as client:
        assert await client.wait_exit() == 3
        await wait_until(lambda: not client.connected, what="the end of its output")
        with pytest.raises(Disconnected):
            await client.initialize()
        assert client.stderr == "no such component\n"


async def test_initialize_refused(peer: PeerFactory) -> None:
    async with peer(refuseInitialize="no licence", exitCode=0) as client:
        with pytest.raises(LspError, match="no licence") as problem:
            await client.initialize()
        assert problem.value.data == {"retry": False}


async def test_a_slow_start_and_words_on_stderr(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(startDelayMs=80, stderr="hello\n", stderrFlood=300_000) as client:
        started = time.monotonic()
        await client.initialize(workspace())
        assert time.monotonic() - started >= 0.08
        assert len(client.stderr) == 65_536, "more than a pipe holds has been read, and the last of it kept"
        assert client.stderr.endswith("flood end\n")


# -- not dying


async def test_every_rung_can_be_ignored(peer: PeerFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    script = Script(ignoreShutdown=True, ignoreExit=True, ignoreEof=True, ignoreSigterm=True, log=peer_log)
    async with peer(script, strict=False) as client:
        await opened(client, workspace)
        shutdown = client.start_request("shutdown")
        client.abandon(shutdown)
        client.exit()
        await peer_log.wait_received("exit")
        client.close_input()
        await peer_log.wait(lambda log: log.entries("eof"), what="the end of input")
        client.kill(signal.SIGTERM)
        await peer_log.wait(lambda log: log.entries("signal"), what="SIGTERM")
        assert not shutdown.done()
        assert client.returncode is None
        client.kill(signal.SIGKILL)
        assert await client.wait_exit() == -signal.SIGKILL
    events = [entry["event"] for entry in peer_log.entries() if entry["event"] in ("eof", "signal", "exit", "crash")]
    assert events == ["eof", "signal"]


@pytest.mark.parametrize("rung", ["exit", "eof", "term"])
async def test_each_rung_alone_ends_it(peer: PeerFactory, workspace: Workspace, rung: str) -> None:
    async with peer(exitDelayMs=30, strict=False) as client:
        await opened(client, workspace)
        if rung == "exit":
            client.exit()
        elif rung == "eof":
            client.close_input()
        else:
            client.kill(signal.SIGTERM)
        assert await client.wait_exit() == (-signal.SIGTERM if rung == "term" else 1)


async def test_an_exit_code_of_ones_own(peer: PeerFactory, workspace: Workspace) -> None:
    with pytest.raises(ProtocolViolation, match="exit code 5 after shutdown"):
        async with peer(exitCode=5) as client:
            await opened(client, workspace)


async def test_a_limit_to_any_life(peer: PeerFactory) -> None:
    async with peer(maxLifetimeS=0.2, ignoreEof=True, ignoreSigterm=True, ignoreExit=True) as client:
        client.close_input()
        assert await client.wait_exit() == 99


async def test_grandchildren(peer: PeerFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    children = [{}, {"setsid": True}, {"ignoreSigterm": True, "holdPipes": True}]
    async with peer(spawn=children, log=str(peer_log.path)) as client:
        await opened(client, workspace)
        pids = (await client.request("test/state"))["spawned"]
        assert pids == peer_log.spawned()
        assert {child.pid for child in client.child_processes()} == set(pids)
        groups = [os.getpgid(pid) for pid in pids]
        assert groups == [client.pid, pids[1], client.pid]
        psutil.Process(pids[2]).terminate()
        await client.shutdown()
        client.exit()
        assert await client.wait_exit() == 0
        assert all(psutil.pid_exists(pid) for pid in pids), "they outlive their server, and TERM"
        await wait_until(lambda: not client.connected, what="the connection to be given up though its pipe is held")
        for pid in pids:
            psutil.Process(pid).kill()
    assert client.child_processes() == []


async def test_two_grandchildren_by_default(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(spawn=True) as client:
        await opened(client, workspace)
        one, other = (await client.request("test/state"))["spawned"]
        assert (os.getpgid(one), os.getpgid(other)) == (client.pid, other)
        for pid in (one, other):
            psutil.Process(pid).kill()


async def test_memory_is_really_resident(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(rssMb=64) as client:
        await opened(client, workspace)
        assert psutil.Process(client.pid).memory_info().rss >= 64 * 1024 * 1024


async def test_nobody_reads_its_output_any_more(peer_log: PeerLog) -> None:
    """The reading end of its output is closed while its input goes on."""
    script = Script(log=peer_log)
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(*script.command(), stdin=asyncio.subprocess.PIPE, stdout=writing)
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None
    process.stdin.write(frame({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}))
    assert await asyncio.wait_for(process.wait(), 20) == 0
    assert [entry["event"] for entry in peer_log.entries()][-2:] == ["gone", "exit"]
