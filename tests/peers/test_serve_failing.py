"""Servers that crash, hang or go on and on: what their clients hear, and that they come back as they were."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    ask_hover,
    entry,
    failure,
    hover,
    peer_texts,
    serving,
    states,
    status,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script

FILES = {"x.toml": "", "a.x": "first", "b.x": "second"}


@pytest.mark.parametrize(
    "crash",
    [
        {"when": "before", "exitCode": 3, "stderr": "out of luck\n"},
        {"when": "midFrame", "exitCode": 3, "stderr": "out of luck\n"},
        {"when": "before", "signal": "SIGKILL", "stderr": "out of luck\n"},
        {"when": "before", "exitCode": 0, "stderr": "out of luck\n"},
    ],
    ids=["exits", "in the middle of a frame", "is killed", "exits as if all were well"],
)
async def test_P4_a_crash_answers_what_was_open_and_the_server_comes_back_with_its_documents(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, crash: dict[str, Any]
) -> None:
    root = workspace(FILES)
    one = Script("one", slow={"textDocument/definition": 60_000}, log=peer_log)
    one = one.but(perStart=[{"crashOn": [{"method": "textDocument/hover", **crash}]}, {}])
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        client.open("b.x")
        client.change("b.x", "second, changed")
        slow = client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        fatal = ask_hover(client, "a.x")
        for pending in (slow, fatal):
            error = await failure(pending, client)
            assert (error.code, error.kind, error.data["server"]) == (-32803, "server_failed", "one")
            assert "It said: out of luck" in error.message
        # What is asked while it is away waits for it, and knows what has changed meanwhile.
        client.change("a.x", "first, changed")
        assert await hover(client, "a.x") == "one: line 0: first, changed"
        assert await peer_texts(client, "one") == {"a.x": "first, changed", "b.x": "second, changed"}
        assert states(client, "one") == ["starting", "ready", "crashed", "starting", "ready"]
        row = (await status(client))["one"]
        assert row["restarts"] == 1
        assert len(peer_log.starts()) == 2
    well_behaved(peer_log)


async def test_P4_a_server_that_is_killed_while_nothing_is_open_comes_back_by_itself(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        client.change("a.x", "changed")
        await hover(client, "a.x")
        await wait_state(client, "one", "ready")
        os.kill(peer_log.starts()[0], signal.SIGKILL)
        crashed = await wait_state(client, "one", "crashed")
        assert "killed by SIGKILL" in crashed["reason"]
        assert "restarted after 2 s" in crashed["reason"]
        await wait_state(client, "one", "ready")
        (opened,) = await peer_log.wait(
            lambda log: log.received("textDocument/didOpen", log.starts()[-1]), what="it is opened again"
        )
        item = opened["params"]["textDocument"]
        assert (item["text"], item["version"], item["languageId"]) == ("changed", 2, "x")
    well_behaved(peer_log)


@pytest.mark.parametrize("keys", [{"hangOn": ["textDocument/hover"]}, {"freezeOn": ["textDocument/hover"]}])
async def test_P5_a_server_that_hangs_is_named_ended_and_started_again(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, keys: dict[str, Any]
) -> None:
    root = workspace(FILES)
    one = Script("one", log=peer_log, perStart=[keys, {}])
    async with serving(ombud, root, {"one": entry(one, requestTimeoutMs=1_000)}) as client:
        client.open("a.x")
        hung = ask_hover(client, "a.x")
        other = client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        error = await failure(hung, client, 10)
        assert (error.code, error.kind) == (-32803, "timeout")
        assert error.data["server"] == "one"
        assert error.message.startswith("one did not answer textDocument/hover within 1 s")
        if "freezeOn" in keys:
            assert (await failure(other, client, 10)).kind in ("timeout", "server_failed")
        else:
            assert await client.answer(other)
        assert "did not answer textDocument/hover" in (await wait_state(client, "one", "crashed"))["reason"]
        client.change("a.x", "changed")
        assert await hover(client, "a.x") == "one: line 0: changed"
        (first, second) = peer_log.starts()
        assert first != second
    well_behaved(peer_log)


async def test_P5_a_hang_in_an_operation_is_an_error_that_names_the_server(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", hangOn=["textDocument/definition"]), requestTimeoutMs=300)
    async with serving(ombud, root, {"one": one}) as client:
        params = {"action": "definition", "path": "a.x", "line": 1, "symbol": "first"}
        error = await failure(client.start_request("ombud/lsp", params), client, 10)
        assert (error.kind, error.data["server"]) == ("timeout", "one")
        assert "one did not answer textDocument/definition within 0.3 s" in error.message


async def test_P5_one_that_never_answers_a_cancelled_request_is_found_out(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """A client that cancels at every keystroke must not hide a wedged server for ever."""
    root = workspace(FILES)
    one = Script("one", hangOn=["textDocument/hover"], ignoreCancel=True, log=peer_log)
    async with serving(ombud, root, {"one": entry(one, requestTimeoutMs=400)}) as client:
        client.open("a.x")
        pending = ask_hover(client, "a.x")
        await peer_log.wait_received("textDocument/hover")
        client.cancel(pending)
        assert (await failure(pending, client)).code == -32800
        row = await wait_state(client, "one", "crashed", 10)
        assert "did not answer textDocument/hover" in row["reason"]


async def test_a_slow_answer_within_the_deadline_holds_no_other_back(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    one = Script("one", slow={"textDocument/definition": 600})
    async with serving(ombud, root, {"one": entry(one, requestTimeoutMs=5_000)}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        slow = client.start_request("textDocument/definition", client.at("a.x", 0, 0))
        assert await hover(client, "a.x") == "one: line 0: first"
        assert not slow.done()
        assert await client.answer(slow)
        assert states(client, "one") == ["starting", "ready"]


async def test_a_server_that_writes_no_frames_any_more_is_ended(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    one = Script("one", rawOn={"textDocument/hover": "Content-Length: 99999999999\r\n\r\n{}"})
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        error = await failure(ask_hover(client, "a.x"), client, 10)
        assert error.kind == "server_failed"
        assert "one broke the protocol" in error.message
        assert "broke the protocol" in (await wait_state(client, "one", "crashed"))["reason"]


async def test_a_malformed_body_of_a_server_costs_that_answer_only(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    body = "{not json}"
    one = Script("one", rawOn={"textDocument/hover": f"Content-Length: {len(body)}\r\n\r\n{body}"})
    async with serving(ombud, root, {"one": entry(one, requestTimeoutMs=1_500)}) as client:
        client.open("a.x")
        lost = ask_hover(client, "a.x")
        assert await client.request("textDocument/definition", client.at("a.x", 0, 0))
        assert (await failure(lost, client, 10)).kind == "timeout"


async def test_an_error_of_the_server_comes_back_as_it_is(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    given = {"code": -32001, "message": "my own words", "data": {"any": ["thing"]}}
    async with serving(ombud, root, {"one": Script("one", errorsOn={"textDocument/hover": given})}) as client:
        client.open("a.x")
        error = await failure(ask_hover(client, "a.x"), client)
        assert {"code": error.code, "message": error.message, "data": error.data} == given


async def test_C9_secrets_in_a_servers_last_words_are_redacted(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    secret = "ghp_" + "a1B2c3D4e5" * 4
    one = Script("one", dieBeforeInitialize={"stderr": f"\x1b[31mtoken {secret} refused\x1b[0m\n", "code": 1})
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        error = await failure(ask_hover(client, "a.x"), client)
        row = await wait_state(client, "one", "failed")
        for text in (error.message, row["reason"], str(await status(client)), client.stderr):
            assert secret not in text
            assert "\x1b" not in text
        assert "refused" in error.message
