"""One server over all its processes: start, queue, crash, restart, stop; and each request answered exactly once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from ombud.downstream import ending
from ombud.downstream import server as module
from ombud.downstream.failures import FAILURES_ALLOWED
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import Cancelled, OmbudError, PeerError
from ombud.process.child import Child

from tests.children import lives
from tests.peers.lone import URI, Lone, at, error, refusal, result
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

HOVER = "textDocument/hover"
DEFINITION = "textDocument/definition"
SOON = 0.02


@pytest.fixture
async def lone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Lone]:
    monkeypatch.setattr(module, "BACKOFF", (SOON,))
    async with Lone(tmp_path) as lone:
        yield lone


def open_document(lone: Lone, server: Server, text: str = "first", version: int = 1) -> None:
    lone.notes.documents[URI] = (version, text)
    if server.running:
        lone.notes.open(server, URI)


def change(lone: Lone, server: Server, text: str, version: int) -> None:
    """As the hub does it: the newest text is known for a next process, and this one is told in order."""
    lone.notes.documents[URI] = (version, text)
    params = {"textDocument": {"uri": URI, "version": version}, "contentChanges": [{"text": text}]}
    server.notify("textDocument/didChange", params)


def contents(outcome: Any) -> str:
    found = result(outcome)
    assert isinstance(found, dict)
    return str(found["contents"])


async def idle(lone: Lone, server: Server) -> None:
    """Wait until nothing is open any more, by asking the server again and again."""
    async with asyncio.timeout(20):
        while server.pending:
            await lone.state(server)


# -- an ordinary life


async def test_nothing_runs_before_it_is_needed(lone: Lone) -> None:
    server = lone.server(Script())
    assert (server.state, server.child, server.running, server.accepting) == (State.AVAILABLE, None, False, False)
    refused = error(await lone.ask(server, HOVER, at()).outcome())
    assert (refused.kind, refused.data) == ("server_failed", {"server": "scripted"})
    assert lone.children == []


async def test_a_need_starts_it_once_and_what_was_asked_meanwhile_is_answered_in_order(
    lone: Lone, peer_log: PeerLog
) -> None:
    server = lone.server(Script("one", log=peer_log, startDelayMs=50))
    lone.notes.documents[URI] = (1, "first")
    server.need()
    server.need()
    assert (server.state, server.accepting) == (State.STARTING, True)
    hover = lone.ask(server, HOVER, at())
    change(lone, server, "second", 2)
    later = lone.ask(server, HOVER, at())
    assert hover.outcomes == []
    assert contents(await hover.outcome()) == "one: line 0: first"
    assert contents(await later.outcome()) == "one: line 0: second"
    assert lone.notes.states == [State.STARTING, State.READY]
    assert (lone.notes.starts, len(lone.children), server.restarts) == (1, 1, 0)
    expected = ["initialize", "initialized", "textDocument/didOpen", HOVER, "textDocument/didChange", HOVER]
    assert peer_log.methods() == expected
    assert peer_log.violations() == []
    assert server.server_info == {"name": "one", "version": "1.0"}


async def test_a_ready_server_is_written_to_in_the_very_call(lone: Lone) -> None:
    server = lone.server(Script())
    await lone.ready(server)
    before = server.pending
    asked = lone.ask(server, HOVER, at())
    assert asked.ticket is not None
    assert asked.ticket.identity is not None
    assert server.pending == before + 1
    await asked.outcome()
    assert server.pending == 0


async def test_settings_follow_initialized(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script(log=peer_log), settings={"a": {"b": 1}})
    await lone.ready(server)
    await lone.state(server)
    assert peer_log.methods()[:3] == ["initialize", "initialized", "workspace/didChangeConfiguration"]


async def test_an_error_answer_is_the_servers_own(lone: Lone) -> None:
    server = lone.server(Script(errorsOn={HOVER: {"code": -32801, "message": "moved on", "data": [1]}}))
    await lone.ready(server)
    refused = refusal(await lone.ask(server, HOVER, at()).outcome())
    assert bytes(refused.raw) == b'{"code":-32801,"message":"moved on","data":[1]}'
    with pytest.raises(PeerError, match="answered textDocument/hover with an error: moved on") as caught:
        await server.ask(HOVER, at())
    assert (caught.value.kind, caught.value.data["serverCode"]) == ("server_failed", -32801)
    assert server.state is State.READY


async def test_an_answer_instead_of_asking_is_decided_when_the_turn_has_come(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script(log=peer_log, features=["definition"]))
    server.need()
    unable = PeerError("It cannot.", kind="server_failed")
    hover = lone.ask(server, HOVER, at(), unless=lambda: None if server.offers(HOVER) else unable)
    definition = lone.ask(server, DEFINITION, at(), unless=lambda: None if server.offers(DEFINITION) else unable)
    assert await hover.outcome() is unable
    result(await definition.outcome())
    assert HOVER not in peer_log.methods()


# -- cancelling


async def test_W10_a_request_cancelled_while_it_waits_for_the_start_is_never_sent(
    lone: Lone, peer_log: PeerLog
) -> None:
    server = lone.server(Script(log=peer_log))
    server.need()
    asked = lone.ask(server, HOVER, at())
    asked.cancel()
    assert isinstance(asked.outcomes[0], Cancelled)
    await lone.ready(server)
    await lone.state(server)
    assert HOVER not in peer_log.methods()
    assert "$/cancelRequest" not in peer_log.methods()


@pytest.mark.parametrize("late", [None, 30], ids=["at once", "late, with a result"])
async def test_W10_W11_a_request_cancelled_while_it_runs_is_answered_at_once_and_once(
    lone: Lone, late: int | None
) -> None:
    server = lone.server(Script(hangOn=[HOVER], lateAnswerAfterCancel=late))
    await lone.ready(server)
    asked = lone.ask(server, HOVER, at())
    asked.cancel()
    assert isinstance(asked.outcomes[0], Cancelled)
    assert server.busy
    await idle(lone, server)
    asked.cancel()
    assert len(asked.outcomes) == 1


async def test_a_request_cancelled_after_its_answer_stays_answered(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script(log=peer_log))
    await lone.ready(server)
    asked = lone.ask(server, DEFINITION, at())
    await asked.outcome()
    asked.cancel()
    await lone.state(server)
    result(asked.outcomes[0])
    assert "$/cancelRequest" not in peer_log.methods()


async def test_an_asker_that_goes_away_cancels_its_request(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script(log=peer_log, hangOn=[HOVER]))
    await lone.ready(server)
    task = asyncio.create_task(server.ask(HOVER, at()))
    await peer_log.wait_received(HOVER)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await peer_log.wait_received("$/cancelRequest")


# -- misbehaviour that costs nothing


@pytest.mark.parametrize(
    "keys",
    [
        {"answerTwice": True},
        {"wrongIds": "also"},
        {"reorder": 3},
        {"banner": "Welcome: to the server\nno line end "},
        {"junkBetween": "INFO: Content: nothing\n"},
        {"junkBetween": "no line end"},
        {"headerFormat": "content-length:{length}\n\n"},
        {"headerFormat": "Content-Type: x; charset=utf-8\r\nContent-Length: {length}\r\n\r\n"},
        {"chunk": 1},
        {"surrogates": True},
        {"unknownMethods": True},
        {"bigAnswer": 5_000_000},
        {"floodOn": [{"method": DEFINITION, "count": 10_000}]},
    ],
    ids=str,
)
async def test_W5_W7_W11_odd_servers_answer_each_request_once(lone: Lone, keys: dict[str, Any]) -> None:
    server = lone.server(Script("one", **keys))
    await lone.ready(server)
    lone.notes.documents[URI] = (1, "first")
    lone.notes.open(server, URI)
    asked = [lone.ask(server, method, at()) for method in (HOVER, DEFINITION, HOVER)]
    for one in asked:
        result(await one.outcome())
    assert contents(asked[0].outcomes[0]).startswith("one: line 0: first")
    await lone.state(server)
    assert (server.state, lone.notes.states) == (State.READY, [State.STARTING, State.READY])


async def test_a_flood_is_heard_whole_and_in_order_before_the_answer(lone: Lone) -> None:
    server = lone.server(Script(floodOn=[{"method": HOVER, "count": 10_000, "notification": "x/n"}]))
    await lone.ready(server)
    heard: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    server.request(HOVER, at(), lambda _: heard.set_result(len(lone.notes.messages)))
    async with asyncio.timeout(20):
        before_the_answer = await heard
    params = [message.params for message in lone.notes.messages if message.method == "x/n"]
    numbers = [json.loads(bytes(one))["message"] for one in params if isinstance(one, Raw)]
    assert numbers == [str(number) for number in range(10_000)]
    assert before_the_answer >= 10_000


async def test_answers_that_go_to_nobody_end_in_a_time_out_that_names_the_server(lone: Lone) -> None:
    server = lone.server(Script("one", wrongIds="instead"), request_timeout_ms=100)
    await lone.ready(server)
    late = error(await lone.ask(server, HOVER, at()).outcome())
    assert (late.kind, late.data["server"]) == ("timeout", "one")


# -- crashes


@pytest.mark.parametrize(
    ("crash", "words"),
    [
        ({"when": "before", "exitCode": 3}, "exited with code 3"),
        ({"when": "midFrame", "exitCode": 3}, "exited with code 3"),
        ({"when": "before", "signal": "SIGKILL"}, "was killed by SIGKILL"),
        ({"when": "before", "exitCode": 0}, "exited with code 0"),
    ],
    ids=["exits", "mid frame", "killed", "exits well"],
)
async def test_P4_a_crash_answers_what_was_open_and_the_next_process_gets_the_documents(
    lone: Lone, peer_log: PeerLog, crash: dict[str, Any], words: str
) -> None:
    crashing = {"method": HOVER, "stderr": "out of luck\n", **crash}
    script = Script("one", log=peer_log, hangOn=[DEFINITION], perStart=[{"crashOn": [crashing]}, {"hangOn": []}])
    server = lone.server(script)
    await lone.ready(server)
    open_document(lone, server)
    slow = lone.ask(server, DEFINITION, at())
    fatal = lone.ask(server, HOVER, at())
    for asked in (slow, fatal):
        lost = error(await asked.outcome())
        assert (lost.kind, lost.data["server"]) == ("server_failed", "one")
        assert words in lost.message
        assert "It said: out of luck" in lost.message
    # Asked while it is away: it waits, behind the documents and their changes, and is answered.
    await lone.notes.until(lambda: server.state is State.CRASHED)
    assert server.accepting
    assert words in server.reason
    change(lone, server, "second", 2)
    hover = lone.ask(server, HOVER, at())
    assert contents(await hover.outcome()) == "one: line 0: second"
    assert lone.notes.states == [State.STARTING, State.READY, State.CRASHED, State.STARTING, State.READY]
    assert (server.restarts, lone.notes.starts, len(lone.children)) == (1, 2, 2)
    assert (await lone.state(server))["documents"][URI]["text"] == "second"
    assert peer_log.violations() == []


async def test_P4_a_request_made_in_the_moment_of_a_crash_is_answered(lone: Lone) -> None:
    """Between the death, its being noticed and the restart there is no moment in which a request is lost."""
    server = lone.server(Script("one"))
    child = await lone.ready(server)
    os.kill(child.pid, signal.SIGKILL)
    asked = []
    async with asyncio.timeout(20):
        while server.restarts == 0 or server.state is not State.READY:
            asked.append(lone.ask(server, HOVER, at()))
            await asyncio.sleep(0.002)
    for one in asked:
        await one.outcome()
    assert len(asked) > 3
    result(await lone.ask(server, HOVER, at()).outcome())


async def test_P4_a_server_that_answers_initialize_and_exits_is_not_ready_for_ever(
    lone: Lone, peer_log: PeerLog
) -> None:
    script = Script("one", log=peer_log, perStart=[{"crashOn": [{"method": "initialize", "when": "after"}]}, {}])
    server = lone.server(script)
    server.need()
    hover = lone.ask(server, HOVER, at())
    lost = error(await hover.outcome())
    assert (lost.kind, "exited with code 1" in lost.message) == ("server_failed", True)
    await lone.notes.until(lambda: server.state in (State.CRASHED, State.FAILED))
    server.forgive()
    server.need()
    result(await lone.ask(server, HOVER, at()).outcome())


async def test_P4_a_broken_protocol_in_the_chunk_of_the_initialize_answer_is_seen(lone: Lone) -> None:
    """The answer and the fault arrive together: the start must not go on with a link that is over."""
    code = (
        'import sys,time; b=b\'{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}\';'
        "sys.stdin.buffer.read(1);"
        "sys.stdout.buffer.write(b'Content-Length: %d\\r\\n\\r\\n' % len(b) + b + b'Content-Length: x\\r\\n\\r\\n');"
        "sys.stdout.buffer.flush(); time.sleep(60)"
    )
    server = lone.server(Script("one"), command=[sys.executable, "-I", "-S", "-c", code])
    server.need()
    await lone.notes.until(lambda: server.state is State.FAILED)
    assert "one broke the protocol" in server.reason
    assert State.READY not in lone.notes.states


async def test_P5_a_hanging_request_ends_in_a_time_out_and_the_server_is_restarted(
    lone: Lone, peer_log: PeerLog
) -> None:
    script = Script("one", log=peer_log, perStart=[{"freezeOn": [HOVER]}, {}])
    server = lone.server(script, request_timeout_ms=200)
    child = await lone.ready(server)
    open_document(lone, server)
    frozen, behind = lone.ask(server, HOVER, at()), lone.ask(server, DEFINITION, at(), timeout=60)
    late = error(await frozen.outcome())
    assert (late.kind, late.data) == ("timeout", {"server": "one", "method": HOVER})
    assert "one did not answer textDocument/hover within 0.2 s" in late.message
    lost = error(await behind.outcome())
    assert (lost.kind, lost.data["server"]) == ("server_failed", "one")
    assert contents(await lone.ask(server, HOVER, at(), timeout=20).outcome()) == "one: line 0: first"
    # Two processes of one server would fight over its caches: the old one is gone before the new one begins (P3).
    assert not lives(child.pid)
    assert child.returncode is not None


async def test_P3_the_next_process_begins_when_the_last_one_is_gone(lone: Lone, peer_log: PeerLog) -> None:
    script = Script("one", log=peer_log, hangOn=[HOVER], ignoreEof=True, ignoreSigterm=True)
    server = lone.server(script, request_timeout_ms=50)
    first = await lone.ready(server)
    assert error(await lone.ask(server, HOVER, at()).outcome()).kind == "timeout"
    alive_at_spawn: list[bool] = []
    lone.before_spawn = lambda: alive_at_spawn.append(lives(first.pid))
    await lone.notes.until(lambda: server.restarts == 1 and server.state is State.READY, timeout=40)
    assert alive_at_spawn == [False]


@pytest.mark.parametrize("ready_first", [True, False])
async def test_P4_five_failures_in_three_minutes_stop_it_and_a_reload_forgives(
    lone: Lone, peer_log: PeerLog, ready_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACKOFF", (0.0,))
    dying = {"dieBeforeInitialize": {"stderr": "no licence\n", "code": 7}}
    script = Script("one", log=peer_log, perStart=[{"crashOn": [HOVER]}, dying] if ready_first else [dying])
    server = lone.server(script)
    if ready_first:
        await lone.ready(server)
        error(await lone.ask(server, HOVER, at()).outcome())
        # Once it had answered it comes back by itself, until it has failed too often.
        await lone.notes.until(lambda: server.state is State.FAILED)
    else:
        for _ in range(FAILURES_ALLOWED):
            server.need()
            await lone.notes.until(lambda: server.state is State.FAILED)
    assert len(peer_log.starts()) == FAILURES_ALLOWED
    assert "It failed 5 times within three minutes, so it is not restarted by itself." in server.reason
    assert "exited with code 7" in server.reason
    assert "It said: no licence" in server.reason
    assert not server.accepting
    with pytest.raises(PeerError, match=r"It is tried again in \d+ s, or at once by reload") as caught:
        server.need()
    assert (caught.value.kind, caught.value.data["server"]) == ("server_failed", "one")
    server.forgive()
    server.need()
    assert server.state is State.STARTING


async def test_P4_the_backoff_grows(lone: Lone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BACKOFF", (0.01, 0.03, 60.0))
    server = lone.server(Script("one", crashOn=[HOVER]))
    for seconds in ("0.01", "0.03", "60"):
        await lone.ready(server)
        lost = error(await lone.ask(server, HOVER, at()).outcome())
        assert server.reason == f"{lost.message} It is restarted after {seconds} s."
    assert server.state is State.CRASHED


async def test_P10_a_server_that_never_answered_is_tried_again_at_a_need_and_not_before(
    lone: Lone, peer_log: PeerLog
) -> None:
    dying = {"dieBeforeInitialize": {"stderr": "component 'one' is missing\n", "code": 1}}
    server = lone.server(Script("one", log=peer_log, perStart=[dying, {}]))
    server.need()
    asked = lone.ask(server, HOVER, at())
    lost = error(await asked.outcome())
    assert "exited with code 1" in lost.message
    assert "It said: component 'one' is missing" in lost.message
    await lone.notes.until(lambda: server.state is State.FAILED)
    assert not server.accepting
    await asyncio.sleep(SOON * 3)
    assert len(peer_log.starts()) == 1
    result(await _asked_by_need(lone, server))
    assert len(peer_log.starts()) == 2


async def _asked_by_need(lone: Lone, server: Server) -> Any:
    server.need()
    return await lone.ask(server, HOVER, at()).outcome()


# -- starts that fail


async def test_P10_a_refused_initialize_is_a_failure_in_the_servers_words(lone: Lone) -> None:
    server = lone.server(Script("one", refuseInitialize="no project here, token=hunter2secret"))
    server.need()
    lost = error(await lone.ask(server, HOVER, at()).outcome())
    assert "one refused to initialize: no project here" in lost.message
    assert "hunter2secret" not in lost.message
    await lone.notes.until(lambda: server.state is State.FAILED)
    assert "hunter2secret" not in server.reason
    assert not lives(lone.children[0].pid) or await _ended(lone.children[0])


async def _ended(child: Child) -> bool:
    async with asyncio.timeout(20):
        await child.gone()
    return True


async def test_P10_the_reason_of_a_process_that_dies_in_its_first_moment_has_its_words(lone: Lone) -> None:
    """The end may be told before the call that starts the process has returned."""
    server = lone.server(Script("one", dieBeforeInitialize={"stderr": "no such component\n", "code": 1}))
    lone.spawned = Child.wait
    server.need()
    lost = error(await lone.ask(server, HOVER, at()).outcome())
    assert "exited with code 1" in lost.message
    assert "It said: no such component" in lost.message


async def test_P10_what_was_printed_instead_of_messages_is_the_reason(lone: Lone) -> None:
    code = "import sys; sys.stdout.write('usage: one [--stdio]'); sys.stdout.flush(); sys.exit(2)"
    server = lone.server(Script("one"), command=[sys.executable, "-I", "-S", "-c", code])
    server.need()
    lost = error(await lone.ask(server, HOVER, at()).outcome())
    assert "exited with code 2. It said: usage: one [--stdio]" in lost.message


async def test_P10_a_program_that_cannot_be_started_is_a_failure(lone: Lone) -> None:
    server = lone.server(Script("one"), command=[str(lone.root / "nothing-here")])
    server.need()
    lost = error(await lone.ask(server, HOVER, at()).outcome())
    assert "could not be started: there is no such file" in lost.message
    await lone.notes.until(lambda: server.state is State.FAILED)


async def test_the_ready_deadline_ends_a_server_that_never_answers_initialize(lone: Lone) -> None:
    server = lone.server(Script("one", hangOn=["initialize"], stderr="still thinking\n"), ready_timeout_ms=150)
    server.need()
    lost = error(await lone.ask(server, HOVER, at()).outcome())
    assert (lost.kind, lost.data["server"]) == ("timeout", "one")
    assert "one did not answer initialize within 0.15 s of its start. It said: still thinking" in lost.message
    await lone.notes.until(lambda: server.state is State.FAILED)
    assert await _ended(lone.children[0])


@pytest.mark.parametrize("answer", ["[1]", '"x"', "null", '{"capabilities": 5}', '{"capabilities": [1]}'])
async def test_P10_an_initialize_answer_of_another_shape_is_a_failure(lone: Lone, answer: str) -> None:
    body = f'{{"jsonrpc":"2.0","id":1,"result":{answer}}}'
    server = lone.server(Script("one", rawOn={"initialize": f"Content-Length: {len(body)}\r\n\r\n{body}"}))
    server.need()
    lost = error(await lone.ask(server, HOVER, at()).outcome())
    assert "answered initialize with something else than capabilities" in lost.message
    await lone.notes.until(lambda: server.state is State.FAILED)


# -- the queue


async def test_a_closed_gate_holds_what_comes_behind_it_in_order(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log))
    await lone.ready(server)
    open_document(lone, server)
    gate = server.gate()
    await gate.reached()
    change(lone, server, "held", 2)
    hover = lone.ask(server, HOVER, at())
    past = await server.ask(DEFINITION, at(), ordered=False)
    assert bytes(past).startswith((b"[", b"null"))
    assert (hover.outcomes, server.busy) == ([], True)
    gate.release()
    gate.release()
    assert contents(await hover.outcome()) == "one: line 0: held"
    methods = [method for method in peer_log.methods() if method.startswith("textDocument/")]
    assert methods == ["textDocument/didOpen", DEFINITION, "textDocument/didChange", HOVER]


async def test_gates_are_reached_one_after_the_other_also_while_it_starts(lone: Lone) -> None:
    server = lone.server(Script("one", startDelayMs=50))
    server.need()
    first, second = server.gate(), server.gate()
    hover = lone.ask(server, HOVER, at())
    await first.reached()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(SOON):
            await second.reached()
    first.release()
    await second.reached()
    assert hover.outcomes == []
    second.release()
    result(await hover.outcome())


async def test_a_gate_released_before_its_turn_holds_nothing(lone: Lone) -> None:
    server = lone.server(Script("one"))
    server.need()
    gate = server.gate()
    gate.release()
    result(await lone.ask(server, HOVER, at()).outcome())
    await gate.reached()
    assert not server.busy


async def test_P4_a_crash_while_a_gate_is_closed_fails_who_waits_and_opens_it(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log))
    child = await lone.ready(server)
    held = server.gate()
    await held.reached()
    waiting = server.gate()
    asked = lone.ask(server, HOVER, at())
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(PeerError, match="was killed by SIGKILL"):
        async with asyncio.timeout(20):
            await waiting.reached()
    assert "was killed by SIGKILL" in error(await asked.outcome()).message
    result(await lone.ask(server, HOVER, at()).outcome())
    waiting.release()
    held.release()
    assert not server.busy


async def test_P4_a_gate_of_a_lost_process_does_not_open_one_of_the_next(lone: Lone) -> None:
    server = lone.server(Script("one"))
    child = await lone.ready(server)
    old = server.gate()
    await old.reached()
    os.kill(child.pid, signal.SIGKILL)
    await lone.notes.until(lambda: server.restarts == 1 and server.state is State.READY)
    new = server.gate()
    await new.reached()
    hover = lone.ask(server, HOVER, at())
    old.release()
    await server.ask(DEFINITION, at(), ordered=False)
    assert hover.outcomes == []
    new.release()
    result(await hover.outcome())


async def test_a_thing_in_the_queue_that_stumbles_does_not_cost_what_is_behind_it(
    lone: Lone, caplog: pytest.LogCaptureFixture
) -> None:
    def stumble() -> None:
        raise RuntimeError("a bug")

    failed: list[OmbudError] = []
    server = lone.server(Script("one"))
    server.need()
    server.enqueue(stumble, failed.append)
    hover = lone.ask(server, HOVER, at())
    result(await hover.outcome())
    assert [one.kind for one in failed] == ["internal"]
    assert any("a bug" in str(record.exc_info) for record in caplog.records)


async def test_turn_comes_when_everything_before_it_has_been_sent(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log, startDelayMs=30))
    server.need()
    asked = lone.ask(server, HOVER, at())
    await server.turn()
    assert server.state is State.READY
    assert asked.ticket is not None
    assert asked.ticket.identity is not None
    await server.stop(State.SWEPT, "It was idle.")
    with pytest.raises(PeerError, match="is not running: It was idle"):
        await server.turn()
    await asked.outcome()


# -- stopping


async def test_P6_stopping_says_goodbye_and_leaves_nothing(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log))
    child = await lone.ready(server)
    open_document(lone, server)
    await server.stop(State.SWEPT, "It was idle.")
    assert (server.state, server.reason, server.child) == (State.SWEPT, "It was idle.", None)
    assert (server.documents, server.running, child.returncode) == ({}, False, 0)
    assert peer_log.methods()[-2:] == ["shutdown", "exit"]
    assert lone.notes.states[-2:] == [State.STOPPING, State.SWEPT]
    assert peer_log.violations() == []
    await server.stop(State.SWEPT, "It was idle.")
    assert peer_log.methods()[-2:] == ["shutdown", "exit"]


@pytest.mark.parametrize(
    "keys",
    [
        {"ignoreExit": True},
        {"ignoreExit": True, "ignoreEof": True},
        {"ignoreShutdown": True},
        {"exitCode": 3},
        {"freezeOn": ["shutdown"]},
        {"crashOn": ["shutdown"]},
        {"crashOn": [{"method": "shutdown", "when": "midFrame"}]},
    ],
    ids=str,
)
async def test_P6_a_server_that_does_not_go_is_ended(
    lone: Lone, keys: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "GOODBYE_SECONDS", 0.3)
    server = lone.server(Script("one", **keys))
    child = await lone.ready(server)
    asked = lone.ask(server, HOVER, at())
    await asked.outcome()
    await server.stop(State.SWEPT, "It was idle.")
    assert (server.state, child.returncode is not None, lives(child.pid)) == (State.SWEPT, True, False)


@pytest.mark.parametrize("when", ["before", "midFrame", "after"])
async def test_P6_a_server_that_exits_instead_of_answering_shutdown_is_not_waited_for(lone: Lone, when: str) -> None:
    server = lone.server(Script("one", crashOn=[{"method": "shutdown", "when": when}]))
    await lone.ready(server)
    # Longer than a process needs to die, shorter than the goodbye (3 s) and the ladder that would follow it.
    async with asyncio.timeout(ending.GOODBYE_SECONDS - 0.5):
        await server.stop(State.SWEPT, "It was idle.")
    assert server.state is State.SWEPT


async def test_stopping_answers_what_is_open_and_what_comes_after(lone: Lone) -> None:
    server = lone.server(Script("one", hangOn=[HOVER]))
    await lone.ready(server)
    before = lone.ask(server, HOVER, at())
    stop = asyncio.create_task(server.stop(State.SWEPT, "It was idle."))
    await lone.notes.until(lambda: server.state is State.STOPPING)
    during = lone.ask(server, DEFINITION, at())
    assert "is being stopped" in error(during.outcomes[0]).message
    await stop
    assert "one was stopped: It was idle." in error(await before.outcome()).message
    after = lone.ask(server, HOVER, at())
    assert "one is not running: It was idle." in error(after.outcomes[0]).message


@pytest.mark.parametrize("moment", ["at once", "spawned", "asked"])
async def test_stopping_during_the_start_ends_it_and_answers_the_queue(
    lone: Lone, peer_log: PeerLog, moment: str
) -> None:
    server = lone.server(Script("one", log=peer_log, hangOn=["initialize"]))
    server.need()
    asked = lone.ask(server, HOVER, at())
    gate = server.gate()
    if moment == "spawned":
        await wait_until(lambda: lone.children)
    elif moment == "asked":
        await peer_log.wait_received("initialize")
    await server.stop(State.SWEPT, "It was idle.")
    assert server.state is State.SWEPT
    assert "one was stopped: It was idle." in error(await asked.outcome()).message
    with pytest.raises(PeerError):
        await gate.reached()
    assert not any(lives(child.pid) for child in lone.children)
    assert not server.busy


async def test_stopping_while_it_waits_to_come_back_cancels_the_restart(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log, crashOn=[HOVER]))
    await lone.ready(server)
    error(await lone.ask(server, HOVER, at()).outcome())
    await lone.notes.until(lambda: server.state is State.CRASHED)
    queued = lone.ask(server, DEFINITION, at())
    await server.stop(State.SWEPT, "It was idle.")
    assert "was stopped" in error(await queued.outcome()).message
    await asyncio.sleep(SOON * 5)
    assert (server.state, len(peer_log.starts())) == (State.SWEPT, 1)
    assert not lives(lone.children[0].pid)


async def test_stopping_returns_when_a_process_that_was_ending_already_is_gone(
    lone: Lone, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BACKOFF", (60.0,))
    server = lone.server(Script("one", hangOn=[HOVER], ignoreEof=True, ignoreSigterm=True), request_timeout_ms=20)
    child = await lone.ready(server)
    assert error(await lone.ask(server, HOVER, at()).outcome()).kind == "timeout"
    assert (server.state, lives(child.pid)) == (State.CRASHED, True)
    await server.stop(State.AVAILABLE, "It was reloaded.")
    assert (server.state, lives(child.pid)) == (State.AVAILABLE, False)


async def test_a_need_during_the_stop_is_met_by_a_new_process(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log, exitDelayMs=50))
    await lone.ready(server)
    open_document(lone, server)
    stop = asyncio.create_task(server.stop(State.SWEPT, "It was idle."))
    await lone.notes.until(lambda: server.state is State.STOPPING)
    server.need()
    server.need()
    hover = lone.ask(server, HOVER, at())
    change(lone, server, "second", 2)
    later = lone.ask(server, HOVER, at())
    await stop
    assert contents(await hover.outcome()) == "one: line 0: first"
    assert contents(await later.outcome()) == "one: line 0: second"
    assert (len(peer_log.starts()), lone.notes.starts, server.restarts) == (2, 2, 1)
    assert peer_log.violations() == []


async def test_a_need_during_the_stop_does_not_revive_what_was_meant_for_the_old_process(
    lone: Lone, peer_log: PeerLog
) -> None:
    server = lone.server(Script("one", log=peer_log))
    await lone.ready(server)
    gate = server.gate()
    await gate.reached()
    held = lone.ask(server, HOVER, at())
    stop = asyncio.create_task(server.stop(State.SWEPT, "It was idle."))
    await lone.notes.until(lambda: server.state is State.STOPPING)
    server.need()
    fresh = lone.ask(server, DEFINITION, at())
    await stop
    assert "was stopped" in error(await held.outcome()).message
    result(await fresh.outcome())
    gate.release()
    assert HOVER not in peer_log.methods()


async def test_two_stops_at_a_time_say_goodbye_once(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log, exitDelayMs=30))
    await lone.ready(server)
    first, second = server.stop(State.SWEPT, "It was idle."), server.stop(State.AVAILABLE, "It was reloaded.")
    await asyncio.gather(first, second)
    assert (server.state, server.reason) == (State.AVAILABLE, "It was reloaded.")
    assert peer_log.methods().count("shutdown") == 1
    assert peer_log.violations() == []
    result(await _asked_by_need(lone, server))


async def test_a_stop_that_overlaps_a_restart_leaves_no_process_behind(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log, exitDelayMs=30))
    await lone.ready(server)
    first = asyncio.create_task(server.stop(State.SWEPT, "It was idle."))
    await lone.notes.until(lambda: server.state is State.STOPPING)
    second = asyncio.create_task(server.stop(State.AVAILABLE, "It was reloaded."))
    server.need()
    asked = lone.ask(server, HOVER, at())
    await asyncio.gather(first, second)
    await asked.outcome()
    assert server.state is State.AVAILABLE
    assert not any(lives(child.pid) for child in lone.children)
    result(await _asked_by_need(lone, server))


async def test_P2_busy_is_who_must_not_be_swept(lone: Lone) -> None:
    server = lone.server(Script("one", hangOn=[HOVER]))
    seen = [server.busy]
    server.need()
    seen.append(server.busy)
    await lone.ready(server)
    seen.append(server.busy)
    with server.waiting():
        seen.append(server.busy)
    gate = server.gate()
    seen.append(server.busy)
    gate.release()
    asked = lone.ask(server, HOVER, at())
    seen.append(server.busy)
    asked.cancel()
    await idle(lone, server)
    seen.append(server.busy)
    assert seen == [False, True, False, True, True, True, False]
    assert server.idle_seconds < 20
