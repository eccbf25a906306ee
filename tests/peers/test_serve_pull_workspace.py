"""``workspace/diagnostic``: one server's answers as they come, several joined, and those held open kept open."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.client import Client, LspError, Pending
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import (
    Json,
    codes,
    connected,
    entry,
    failure,
    listening,
    serving,
    states,
    status,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import VSCODE

PULL = "workspace/diagnostic"
FILES = {"x.toml": "", "a.x": "ERROR(a1): bad\n", "b.x": "ERROR(b1): bad\n"}
PULLS: Json = {"diagnostics": "pull", "workspacePull": True}


def ask(client: Client, previous: Json | None = None, **more: Any) -> Pending:
    """A workspace pull on its way; ``previous`` is an answer whose result ids are sent along."""
    ids = [{"uri": one["uri"], "value": one["resultId"]} for one in (previous or {"items": []})["items"]]
    return client.start_request(PULL, {"identifier": "ombud", "previousResultIds": ids, **more})


def by_file(client: Client, answer: Json) -> dict[str, Any]:
    """File name → the codes of a full report, or ``unchanged``."""
    names = {client.uri(name): name for name in FILES}
    assert len({one["uri"] for one in answer["items"]}) == len(answer["items"]), "one report for each file"
    return {names[one["uri"]]: codes(one["items"]) if one["kind"] == "full" else "unchanged" for one in answer["items"]}


async def opened(client: Client, *servers: str, version: int = 1) -> None:
    """Both files are open and the servers have them."""
    for name in ("a.x", "b.x"):
        client.open(name, version=version)
    for server in servers:
        await wait_state(client, server, "ready")


def two(first: PeerLog, **other: Any) -> dict[str, Json]:
    return {
        "one": entry(Script("one", log=first, **PULLS), priority=1),
        "two": entry(Script("two", **{**PULLS, **other}), priority=2),
    }


async def test_nobody_to_ask_is_an_empty_report(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    servers = {"one": Script("one", diagnostics="pull", log=peer_log), "two": Script("two")}
    async with serving(ombud, workspace(FILES), servers) as client:
        assert await client.answer(ask(client)) == {"items": []}
        await opened(client, "one", "two")
        assert await client.answer(ask(client)) == {"items": []}
        assert (await failure(client.start_request(PULL, {"previousResultIds": 5}), client)).code == -32602
    well_behaved(peer_log)


@pytest.mark.parametrize("beside", [True, False])
async def test_one_server_that_can_is_as_if_it_were_asked_directly(
    ombud: OmbudFactory, client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog, beside: bool
) -> None:
    root = workspace(FILES)
    one = Script("one", log=peer_log, **PULLS)
    async with client_factory(one.command(), cwd=root) as direct:
        await direct.initialize(root, capabilities=VSCODE)
        for name in ("a.x", "b.x"):
            direct.open(name)
        expected = await direct.answer(ask(direct))
        again = await direct.answer(ask(direct, expected))
    servers = {"one": entry(one)} | ({"pushes": entry(Script("pushes"))} if beside else {})
    async with serving(ombud, root, servers) as client:
        await opened(client, *servers)
        pending = ask(client, workDoneToken="mine", partialResultToken="parts")
        assert await client.answer(pending) == expected
        assert json.dumps(expected, separators=(",", ":")).encode() in pending.raw
        assert await client.answer(ask(client, expected)) == again
        assert by_file(client, again) == {"a.x": "unchanged", "b.x": "unchanged"}
        client.change("a.x", "ERROR(a2): worse\n")
        assert by_file(client, await client.answer(ask(client, expected))) == {"a.x": ["a2"], "b.x": "unchanged"}
    (asked, *_) = peer_log.received(PULL, peer_log.starts()[-1])
    assert asked["params"]["identifier"] == "one"
    well_behaved(peer_log)


async def test_versions_are_the_clients_own(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with serving(ombud, workspace(FILES), {"one": Script("one", **PULLS)}) as client:
        await opened(client, "one", version=70)
        found = await client.answer(ask(client))
        assert [one["version"] for one in found["items"]] == [70, 70]
        assert by_file(client, found) == {"a.x": ["a1"], "b.x": ["b1"]}


async def test_several_servers_are_joined_file_by_file_and_each_gets_its_own_result_ids_back(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    servers = two(peer_log)
    async with serving(ombud, workspace(FILES), servers) as client:
        await opened(client, *servers)
        found = await client.answer(ask(client))
        assert by_file(client, found) == {"a.x": ["a1", "a1"], "b.x": ["b1", "b1"]}
        assert [one["source"] for one in found["items"][0]["items"]] == ["one", "two"]
        later = await client.answer(ask(client, found))
        assert by_file(client, later) == {"a.x": "unchanged", "b.x": "unchanged"}
        (first, second) = peer_log.received(PULL)
        assert first["params"]["previousResultIds"] == []
        assert [one["value"][:4] for one in second["params"]["previousResultIds"]] == ["one:", "one:"]
        client.change("b.x", "ERROR(b2): worse\n")
        changed = await client.answer(ask(client, later))
        assert by_file(client, changed) == {"a.x": "unchanged", "b.x": ["b2", "b2"]}
        # A client that has lost what it had, and one that makes something up.
        assert by_file(client, await client.answer(ask(client))) == {"a.x": ["a1", "a1"], "b.x": ["b2", "b2"]}
        odd = {"items": [{"uri": client.uri("a.x"), "resultId": "ombud:["}, {"uri": "x:y", "resultId": "one:1"}]}
        assert by_file(client, await client.answer(ask(client, odd))) == {"a.x": ["a1", "a1"], "b.x": ["b2", "b2"]}
    well_behaved(peer_log)


async def test_what_one_server_says_anew_keeps_what_the_other_said_before(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """``two`` holds its second answer open: the client keeps one report a file, so its former part is sent along."""
    servers = two(peer_log, hangOn=[{"method": PULL, "nth": 2}])
    async with serving(ombud, workspace(FILES), servers, diagnostics={"waitMs": 300}) as client:
        await opened(client, *servers)
        found = await client.answer(ask(client))
        client.change("b.x", "ERROR(b2): worse\n")
        changed = await client.answer(ask(client, found))
        assert by_file(client, changed) == {"a.x": "unchanged", "b.x": ["b1", "b2"]}


@pytest.mark.parametrize("fault", [{"errorsOn": {PULL: {"code": -32603, "message": "confused"}}}, {"crashOn": PULL}])
async def test_one_server_that_fails_does_not_spoil_the_other(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, fault: Json
) -> None:
    if fault.get("crashOn"):
        fault = {"crashOn": [{"method": PULL}]}
    servers = two(peer_log, **fault)
    async with serving(ombud, workspace(FILES), servers) as client:
        await opened(client, *servers)
        assert by_file(client, await client.answer(ask(client))) == {"a.x": ["a1"], "b.x": ["b1"]}


async def test_the_error_of_a_lone_server_is_the_clients(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    error = {"code": -32802, "message": "busy", "data": {"retriggerRequest": True}}
    one = Script("one", **PULLS, errorsOn={PULL: error})
    async with serving(ombud, workspace(FILES), {"one": one}) as client:
        await opened(client, "one")
        with pytest.raises(LspError) as caught:
            await client.answer(ask(client))
        assert (caught.value.code, caught.value.data) == (-32802, {"retriggerRequest": True})


async def test_a_request_that_is_held_open_is_kept_for_the_clients_next_one(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    log = PeerLog(peer_log.path.with_name("two.jsonl"))
    servers = two(peer_log, slow={PULL: 2_500}, log=log)
    async with serving(ombud, workspace(FILES), servers, diagnostics={"waitMs": 200}) as client:
        await opened(client, *servers)
        found = await client.answer(ask(client))
        assert by_file(client, found) == {"a.x": ["a1"], "b.x": ["b1"]}
        # Nothing new of the one: the answer waits for the other, which was asked before.
        later = await client.answer(ask(client, found))
        assert by_file(client, later) == {"a.x": ["a1", "a1"], "b.x": ["b1", "b1"]}
        assert len(log.received(PULL)) == 1
        assert len(peer_log.received(PULL)) == 2
    well_behaved(peer_log, log)


async def test_a_held_request_is_no_wedged_server(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    """It is answered long after the deadline of other requests."""
    one = entry(Script("one", log=peer_log, slow={PULL: 2_000}, **PULLS), requestTimeoutMs=500)
    async with serving(ombud, workspace(FILES), {"one": one}) as client:
        await opened(client, "one")
        pending = ask(client)
        await peer_log.wait_received(PULL)
        # Not what somebody waits for, so that a server may be stopped for being idle.
        assert (await status(client))["one"]["pendingRequests"] == 0
        assert by_file(client, await client.answer(pending)) == {"a.x": ["a1"], "b.x": ["b1"]}
        assert len(peer_log.starts()) == 1


@pytest.mark.parametrize("several", [False, True])
async def test_a_held_request_ends_when_the_client_cancels(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, several: bool
) -> None:
    held = {"hangOn": [{"method": PULL, "nth": 1}]}
    servers = {"one": entry(Script("one", log=peer_log, **PULLS, **held), priority=1)}
    if several:
        servers["two"] = entry(Script("two", **PULLS, **held), priority=2)
    async with serving(ombud, workspace(FILES), servers) as client:
        await opened(client, *servers)
        pending = ask(client)
        await peer_log.wait_received(PULL)
        assert not pending.done()
        client.cancel(pending)
        assert (await failure(pending, client, timeout=5)).code == -32800
        (told,) = await peer_log.wait_received("$/cancelRequest")
        assert told["params"]["id"] == peer_log.received(PULL)[0]["id"]
        assert by_file(client, await client.answer(ask(client)))["a.x"] == ["a1"] * len(servers)
    well_behaved(peer_log)


async def test_what_is_kept_open_ends_with_the_client(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    log = PeerLog(peer_log.path.with_name("two.jsonl"))
    servers = two(peer_log, hangOn=[PULL], log=log)
    async with listening(ombud, root) as (_, port):
        async with connected(port, root, servers, name="polls", diagnostics={"waitMs": 100}) as polls:
            await opened(polls, *servers)
            assert by_file(polls, await polls.answer(ask(polls))) == {"a.x": ["a1"], "b.x": ["b1"]}
            assert log.received("$/cancelRequest") == []
        (told,) = await log.wait_received("$/cancelRequest")
        assert told["params"]["id"] == log.received(PULL)[0]["id"]


@pytest.mark.parametrize("held", [True, False])
async def test_P2_polling_keeps_no_idle_server_awake(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, held: bool
) -> None:
    """Neither a request that it holds open, whose client is not told of an error, nor one after the other."""
    one = Script("one", log=peer_log, **PULLS, **({"hangOn": [PULL]} if held else {}))
    async with serving(ombud, workspace(FILES), {"one": one}, idleMinutes=0.02) as client:
        await opened(client, "one")
        while "swept" not in states(client, "one"):
            found = await client.answer(ask(client))
            assert found["items"] == [] or by_file(client, found) == {"a.x": ["a1"], "b.x": ["b1"]}
        assert await client.answer(ask(client)) == {"items": []}
        assert len(peer_log.starts()) == 1
