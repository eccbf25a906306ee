"""``textDocument/diagnostic``: a client that pulls sees what one that is pushed to sees, and sees it once."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.framing import frame_body
from tests.peers.road import (
    Json,
    codes,
    connected,
    entry,
    failure,
    hover,
    listening,
    serving,
    together,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, NEOVIM, VSCODE

PULL = "textDocument/diagnostic"
HOVER = "textDocument/hover"
PUBLISH = "textDocument/publishDiagnostics"
REFRESH = "workspace/diagnostic/refresh"
FILES = {"x.toml": "", "a.x": "ERROR(e1): bad\nWARNING(w1): hm\n", "b.x": "ERROR(b1): bad\n"}
RELATED = deepcopy(VSCODE)
RELATED["textDocument"]["diagnostic"]["relatedDocumentSupport"] = True
IDS = range(1, 40)
"""Of which one is that of the question: answers to questions that nobody asked are dropped."""


def answers(result: str) -> str:
    """The answer to whatever was asked, as this very text."""
    return b"".join(
        frame_body(f'{{"jsonrpc":"2.0","id":{number},"result":{result}}}'.encode()) for number in IDS
    ).decode()


def ask(client: Client, where: str, previous: str | None = None) -> Any:
    """A pull on its way."""
    more = {} if previous is None else {"previousResultId": previous}
    params = {"textDocument": {"uri": client.uri(where)}, "identifier": "ombud", **more}
    return client.start_request(PULL, params)


async def pull(client: Client, where: str = "a.x", previous: str | None = None) -> Json:
    found: Json = await client.answer(ask(client, where, previous), 30)
    return found


def published(client: Client, where: str) -> list[list[str]]:
    """The codes of every publish of a document so far."""
    uri = client.uri(where)
    return [
        codes(one.params["diagnostics"])
        for one in client.notifications
        if one.method == PUBLISH and one.params["uri"] == uri
    ]


def refreshes(client: Client) -> int:
    return sum(one.method == REFRESH for one in client.server_requests)


def pair(log: PeerLog, **push: Any) -> dict[str, Json]:
    """A server that is pulled from, and one that pushes."""
    return {
        "pulls": entry(Script("pulls", diagnostics="pull", log=log), priority=1),
        "pushes": entry(Script("pushes", **push), priority=2),
    }


# -- who may, and who is answered what


@pytest.mark.parametrize(("profile", "announced"), [(VSCODE, True), (NEOVIM, False), (AGENT, False)])
async def test_pulling_is_announced_to_clients_that_can_be_told_to_pull_again(
    ombud: OmbudFactory, workspace: Workspace, profile: Json, announced: bool
) -> None:
    async with serving(ombud, workspace(FILES), {}, capabilities=profile) as client:
        provider = {"identifier": "ombud", "interFileDependencies": True, "workspaceDiagnostics": True}
        assert client.server_capabilities.get("diagnosticProvider") == (provider if announced else None)


@pytest.mark.parametrize("ready", [True, False])
async def test_one_server_that_can_be_pulled_from_is_as_if_it_were_asked_directly(
    ombud: OmbudFactory, client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog, ready: bool
) -> None:
    root = workspace(FILES)
    one = Script("one", diagnostics="pull", log=peer_log)
    async with client_factory(one.command(), cwd=root) as direct:
        await direct.initialize(root, capabilities=VSCODE)
        direct.open("a.x")
        expected = await pull(direct)
        again = await pull(direct, previous=expected["resultId"])
    assert again["kind"] == "unchanged"
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        if ready:
            await wait_state(client, "one", "ready")
        pending = ask(client, "a.x")
        assert await client.answer(pending) == expected
        # Byte for byte, as the scripted server writes it.
        assert json.dumps(expected, separators=(",", ":")).encode() in pending.raw
        assert await pull(client, previous=expected["resultId"]) == again
        client.change("a.x", "ERROR(e2): worse\n")
        found = await pull(client, previous=expected["resultId"])
        assert (found["kind"], codes(found["items"])) == ("full", ["e2"])
        assert await pull(client, previous="ombud/1/0") == found
    asked = [one["params"] for one in peer_log.received(PULL, peer_log.starts()[-1])]
    assert {one["identifier"] for one in asked} == {"one"}
    # The client's own pulls were all: nothing is asked twice for a client that pulls. Ids of ours stay here.
    known = expected["resultId"]
    assert [one.get("previousResultId") for one in asked] == [None, known, known, None]
    well_behaved(peer_log)


async def test_several_servers_are_joined_under_a_result_id_of_ours(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    async with serving(ombud, workspace(FILES), pair(peer_log, slow={HOVER: 400})) as client:
        client.open("a.x")
        found = await pull(client)
        assert [(one["source"], one["code"]) for one in found["items"]] == [
            *(("pulls", "e1"), ("pulls", "w1")),
            *(("pushes", "e1"), ("pushes", "w1")),
        ]
        result = found["resultId"]
        assert await pull(client, previous=result) == {"kind": "unchanged", "resultId": result}
        assert (await pull(client, previous="of another life"))["items"] == found["items"]
        client.change("a.x", "ERROR(e2): worse\n")
        changed = await pull(client, previous=result)
        assert (changed["kind"], codes(changed["items"])) == ("full", ["e2", "e2"])
        client.change("a.x", FILES["a.x"])
        assert (await pull(client, previous=changed["resultId"]))["items"] == found["items"]
        # Every answer was whole, so there is no reason to pull again: none comes while a slow answer does.
        await hover(client, "a.x")
        assert refreshes(client) == 0
    well_behaved(peer_log)


PUSHERS: dict[str, Json] = {
    "late": {"delayMs": 400},
    "late, without versions": {"delayMs": 400, "versioned": False},
    "at once": {},
    "two stages": {"publishes": 2, "delayMs": 200, "versioned": False},
}


@pytest.mark.parametrize("kind", list(PUSHERS))
@pytest.mark.parametrize("beside", ["alone", "beside one that is pulled from"])
async def test_a_pull_waits_for_what_is_pushed_of_the_present_text(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, kind: str, beside: str
) -> None:
    servers = pair(peer_log)
    servers["pushes"] = entry(Script("pushes", **PUSHERS[kind]), settle_ms=300, priority=2)
    if beside == "alone":
        del servers["pulls"]
    copies = len(servers)
    async with serving(ombud, workspace(FILES), servers) as client:
        client.open("a.x")
        assert codes((await pull(client))["items"]) == sorted(["e1", "w1"] * copies)
        client.change("a.x", "ERROR(syntax2): worse ERROR(e3): worst\n")
        assert codes((await pull(client))["items"]) == sorted(["e3", "syntax2"] * copies)
        client.change("a.x", "clean\n")
        assert (await pull(client))["items"] == []


@pytest.mark.parametrize("late", ["pulls", "pushes"])
async def test_a_pull_waits_no_longer_than_configured_and_what_is_late_follows(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, late: str
) -> None:
    servers = pair(peer_log, delayMs=2_500 if late == "pushes" else 0)
    if late == "pulls":
        servers["pulls"] = entry(Script("pulls", diagnostics="pull", slow={PULL: 1_500}), priority=1)
    async with serving(ombud, workspace(FILES), servers, diagnostics={"waitMs": 200}) as client:
        client.open("a.x")
        for name in servers:
            await wait_state(client, name, "ready")
        found = await pull(client)
        assert late not in {one["source"] for one in found["items"]}
        while len(found["items"]) < 4:
            await client.wait_request(REFRESH, timeout=20)
            found = await pull(client)
        assert {one["source"] for one in found["items"]} == {"pulls", "pushes"}


async def test_a_file_without_a_server_and_one_that_nobody_has_open(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({**FILES, "notes.nobody": "first\n"})
    async with serving(ombud, root, pair(peer_log)) as client:
        client.open("notes.nobody")
        assert await pull(client, "notes.nobody") == {"kind": "full", "items": []}
        assert await pull(client, "no/such.nobody") == {"kind": "full", "items": []}
        # What is pushed of it is pushed; nobody is made to open it for a glance.
        assert [(one["source"], one["code"]) for one in (await pull(client, "b.x"))["items"]] == [("pulls", "b1")]
        assert peer_log.received("textDocument/didOpen") == []
        error = await failure(client.start_request(PULL, {"textDocument": 5}), client)
        assert (error.code, error.kind) == (-32602, "invalid_params")


# -- one channel only


async def test_what_is_pulled_is_not_pushed_as_well(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with together(ombud, root, pair(peer_log), "pulls", "waits") as (pulls, waits):
        both = ["e1", "e1", "w1", "w1"]
        for client in (pulls, waits):
            client.open("a.x")
            await client.wait_diagnostics("a.x", lambda found: len(found) == 4)
        assert codes((await pull(pulls))["items"]) == both
        # Taken back once. The other one, which can pull and does not, keeps what it has.
        assert await pulls.wait_diagnostics("a.x", timeout=20) == []
        before = len(published(waits, "a.x"))
        pulls.change("a.x", "ERROR(e2): worse\n")
        assert codes((await pull(pulls))["items"]) == ["e2", "e2"]
        await waits.wait_diagnostics("a.x", lambda found: codes(found) == ["e2", "e2"])
        assert [] not in published(waits, "a.x")[before:]
        pulls.change("a.x", "clean\n")
        assert (await pull(pulls))["items"] == []
        await waits.wait_diagnostics("a.x", lambda found: found == [])
        await hover(pulls, "a.x")
        assert published(pulls, "a.x")[-1] == []
        assert published(pulls, "a.x").count([]) == 1
        # Another document, which it has not pulled, is pushed.
        pulls.open("b.x")
        await pulls.wait_diagnostics("b.x", lambda found: len(found) == 2)


async def test_nothing_is_taken_back_where_nothing_was_shown(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    async with serving(ombud, workspace(FILES), pair(peer_log)) as client:
        client.open("a.x")
        await pull(client)
        client.change("a.x", "clean\n")
        await pull(client)
        await hover(client, "a.x")
        assert [one for one in published(client, "a.x") if one] == []
        assert published(client, "a.x") == []


@pytest.mark.parametrize("alone", [False, True])
async def test_a_closed_document_is_pushed_again(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, alone: bool
) -> None:
    """A server that keeps what it said of closed files is heard; opened again, the document is pushed until pulled."""
    servers = pair(peer_log)
    if alone:
        del servers["pulls"]
    copies = len(servers)
    async with serving(ombud, workspace(FILES), servers) as client:
        client.open("a.x")
        assert len((await pull(client))["items"]) == 2 * copies
        client.close("a.x")
        kept = await client.wait_diagnostics("a.x", bool, timeout=20)
        assert {one["source"] for one in kept} == {"pushes"}
        client.open("a.x", "ERROR(e2): worse\n")
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e2"] * copies)
        assert codes((await pull(client))["items"]) == ["e2"] * copies
        assert await client.wait_diagnostics("a.x", timeout=20) == []


@pytest.mark.parametrize("servers", ["one that does both", "two"])
async def test_what_one_server_only_pushes_reaches_a_client_that_pulls(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, servers: str
) -> None:
    """rust-analyzer's cargo errors: a pull of it alone does not bring them, one that is joined does."""
    root = workspace({"x.toml": "", "a.x": "ERROR(pulled): a\nERROR(pushed): b\n"})
    script = Script("one", diagnostics="both", pushCodes=["pushed"], log=peer_log)
    known = {"one": entry(script, diagnostics={"channel": "both"}, priority=1)}
    if servers == "two":
        known["two"] = entry(Script("two", diagnostics="none"), priority=2)
    async with serving(ombud, root, known, diagnostics={"waitMs": 1_000}) as client:
        client.open("a.x")
        await wait_state(client, "one", "ready")
        found = codes((await pull(client))["items"])
        if servers == "two":
            assert found == ["pulled", "pushed"]
        else:
            assert found == ["pulled"]
            await client.wait_diagnostics("a.x", lambda found: codes(found) == ["pushed"])
    well_behaved(peer_log)


# -- what changes later


async def test_a_client_that_can_is_told_to_pull_again_and_once(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """Another client's edit of the same file, seen by a server that pushes: one request, however many publishes."""
    root = workspace(FILES)
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, pair(peer_log), name="pulls") as pulls,
        connected(port, root, pair(peer_log), name="types", capabilities=AGENT) as types,
    ):
        pulls.open("a.x")
        types.open("a.x")
        found = await pull(pulls)
        assert refreshes(pulls) == 0
        asked: list[Any] = []
        pulls.handlers[REFRESH] = asked.append
        types.change("a.x", "ERROR(e2): worse\n")
        await types.wait_diagnostics("a.x", lambda found: codes(found) == ["e2", "e2"])
        await pulls.wait_request(REFRESH)
        later = await pull(pulls, previous=found["resultId"])
        while codes(later["items"]) != ["e2", "e2"]:
            await pulls.wait_request(REFRESH)
            later = await pull(pulls, previous=later["resultId"])
        await hover(pulls, "a.x")
        assert asked
        assert set(map(str, asked)) == {"None"}
        assert published(types, "a.x")[-1] == ["e2", "e2"]
        assert [one for one in published(pulls, "a.x") if "e2" in one] == []


async def test_a_client_that_cannot_be_told_gets_what_its_answer_lacked_as_a_push(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    servers = pair(peer_log, delayMs=1_200)
    async with serving(ombud, workspace(FILES), servers, capabilities=NEOVIM, diagnostics={"waitMs": 150}) as client:
        client.open("a.x")
        for name in servers:
            await wait_state(client, name, "ready")
        found = await pull(client)
        while not found["items"]:
            found = await pull(client)
        assert {one["source"] for one in found["items"]} == {"pulls"}
        late = await client.wait_diagnostics("a.x", bool)
        assert [one["source"] for one in late] == ["pushes", "pushes"]
        assert len((await pull(client))["items"]) == 4
        assert await client.wait_diagnostics("a.x") == []
        assert refreshes(client) == 0


@pytest.mark.parametrize("several", [False, True])
async def test_a_servers_refresh_reaches_the_clients_that_pull(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, several: bool
) -> None:
    script = Script("pulls", diagnostics="pull", requestsOn={"textDocument/didSave": [REFRESH]}, log=peer_log)
    servers = {**pair(peer_log), "pulls": entry(script, priority=1)}
    if not several:
        del servers["pushes"]
    async with serving(ombud, workspace(FILES), servers) as client:
        client.open("a.x")
        await pull(client)
        count = len(peer_log.received(PULL))
        client.save("a.x")
        await client.wait_request(REFRESH)
        await pull(client)
        assert len(peer_log.received(PULL)) > count
    well_behaved(peer_log)


async def test_a_servers_refresh_makes_it_asked_again_for_clients_that_are_pushed_to(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    slow = {"slow": {PULL: 500}, "requestsOn": {"workspace/executeCommand": [REFRESH]}}
    one = Script("one", diagnostics="pull", log=peer_log, **slow)
    async with serving(ombud, workspace(FILES), {"one": one}, capabilities=AGENT) as client:
        client.open("a.x")
        await peer_log.wait_received(PULL)
        await client.request("workspace/executeCommand", {"command": "one.echo"})
        await peer_log.wait_received(PULL, 2)
        await client.wait_diagnostics("a.x", lambda found: codes(found) == ["e1", "w1"])


@pytest.mark.parametrize("several", [False, True])
async def test_nothing_is_asked_twice_for_a_client_that_pulls(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, several: bool
) -> None:
    """What is pulled for readers who are pushed to leaves a document alone while its client pulls it."""
    servers = pair(peer_log)
    servers["pulls"] = entry(Script("pulls", diagnostics="pull", slow={PULL: 600}, log=peer_log), priority=1)
    if not several:
        del servers["pushes"]
    async with serving(ombud, workspace(FILES), servers) as client:
        client.open("b.x")
        for name in servers:
            await wait_state(client, name, "ready")
        client.open("a.x")
        assert len((await pull(client))["items"]) == (4 if several else 2)
        asked = [one["params"]["textDocument"]["uri"] for one in peer_log.received(PULL)]
        assert asked.count(client.uri("a.x")) == 1


# -- errors and endings


CANCELLED = {"code": -32802, "message": "busy", "data": {"retriggerRequest": True}, "times": 100}


@pytest.mark.parametrize("several", [False, True])
async def test_a_server_that_cancels_is_heard_when_it_is_alone_and_else_passed_over(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, several: bool
) -> None:
    servers = pair(peer_log)
    servers["pulls"] = entry(Script("pulls", diagnostics="pull", pullError=CANCELLED), priority=1)
    if not several:
        del servers["pushes"]
    async with serving(ombud, workspace(FILES), servers, diagnostics={"waitMs": 500}) as client:
        client.open("a.x")
        await wait_state(client, "pulls", "ready")
        if several:
            assert {one["source"] for one in (await pull(client))["items"]} == {"pushes"}
        else:
            error = await failure(ask(client, "a.x"), client)
            assert (error.code, error.message, error.data) == (-32802, "busy", {"retriggerRequest": True})


@pytest.mark.parametrize("several", [False, True])
async def test_a_cancelled_pull_is_answered_at_once_and_the_next_one_is_whole(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, several: bool
) -> None:
    script = Script("pulls", diagnostics="pull", hangOn=[{"method": PULL, "nth": 1}], log=peer_log)
    servers = {**pair(peer_log), "pulls": entry(script, priority=1)}
    if not several:
        del servers["pushes"]
    async with serving(ombud, workspace(FILES), servers, diagnostics={"waitMs": 60_000}) as client:
        client.open("a.x")
        pending = ask(client, "a.x")
        await peer_log.wait_received(PULL)
        client.cancel(pending)
        assert (await failure(pending, client, timeout=5)).code == -32800
        (told,) = await peer_log.wait_received("$/cancelRequest")
        assert told["params"]["id"] == peer_log.received(PULL)[0]["id"]
        assert len((await pull(client))["items"]) == (4 if several else 2)
    well_behaved(peer_log)


async def test_a_pull_under_way_ends_with_its_client(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    script = Script("pulls", diagnostics="pull", hangOn=[{"method": PULL, "nth": 1}], log=peer_log)
    servers = {**pair(peer_log), "pulls": entry(script, priority=1)}
    root = workspace(FILES)
    async with listening(ombud, root) as (_, port):
        wait = {"diagnostics": {"waitMs": 60_000}}
        async with connected(port, root, servers, name="leaves", strict=False, **wait) as leaves:
            leaves.open("a.x")
            pending = ask(leaves, "a.x")
            await peer_log.wait_received(PULL)
            leaves.abandon(pending)
        await peer_log.wait_received("$/cancelRequest")
        async with connected(port, root, servers, name="comes", **wait) as comes:
            comes.open("a.x")
            assert len((await pull(comes))["items"]) == 4


async def test_a_server_that_dies_over_a_pull_is_asked_again_when_it_is_back(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    once = [{"crashOn": [{"method": PULL}]}, {}]
    one = Script("one", diagnostics="pull", log=peer_log, perStart=once)
    async with serving(ombud, workspace(FILES), {"one": one}, diagnostics={"waitMs": 30_000}) as client:
        client.open("a.x")
        assert codes((await pull(client))["items"]) == ["e1", "w1"]
        assert len(peer_log.starts()) == 2


# -- bytes


ODD = (
    '{ "range":{"start":{"line":0,"character":0},"end":{"line":0,"character":5}},"severity" : 1,"code":1e0,'
    '"codeDescription":{"href":"https://example.org/\\u0041"},"source":"odd","message":"\\ud83d caf\\u00e9",'
    '"tags":[ 1 ],"relatedInformation":[],"data":{"z":1,"a":[1.50,null],"z2":"\\/"} }'
)


@pytest.mark.parametrize("road", ["pull of one", "pull of two", "push"])
async def test_diagnostics_keep_every_byte(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, road: str
) -> None:
    """Code actions send ``data`` back to the server that made it."""
    report = f'{{"kind":"full","items":[{ODD}]}}'
    servers = {"odd": entry(Script("odd", diagnostics="pull", rawOn={PULL: answers(report)}), priority=1)}
    if road == "pull of two":
        servers["two"] = entry(Script("two"), priority=2)
    async with serving(ombud, workspace(FILES), servers) as client:
        client.open("a.x")
        if road == "push":
            found = await client.wait_diagnostics("a.x", bool)
            assert len(found) == 1
            assert any(ODD.encode() in one.raw for one in client.notifications)
            return
        await wait_state(client, "odd", "ready")
        pending = ask(client, "a.x")
        await client.answer(pending)
        assert ODD.encode() in pending.raw


RELATION = '{"kind":"full","items":[],"resultId":"7","relatedDocuments":{"%s":{"kind":"full","items":[%s]}}}'


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("profile", [RELATED, VSCODE])
async def test_what_a_pull_says_of_other_files_reaches_the_client(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, several: bool, profile: Json
) -> None:
    """In the answer where the client takes it there, else as a push."""
    root = workspace(FILES)
    uri = (root / "b.x").as_uri()
    script = Script("pulls", diagnostics="pull", rawOn={PULL: answers(RELATION % (uri, ODD))})
    servers = {**pair(peer_log), "pulls": entry(script, priority=1)}
    if not several:
        del servers["pushes"]
    async with serving(ombud, root, servers, capabilities=profile) as client:
        client.open("a.x")
        await wait_state(client, "pulls", "ready")
        found = await pull(client)
        if profile is RELATED:
            assert [one["source"] for one in found["relatedDocuments"][uri]["items"]] == ["odd"]
            await hover(client, "a.x")
            assert [one for one in published(client, "b.x")[-1:] if one] == []
        else:
            assert "relatedDocuments" not in found
            await client.wait_diagnostics("b.x", lambda found: [one["source"] for one in found] == ["odd"])


async def test_a_reload_leaves_nothing_of_the_former_servers_behind(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    async with serving(ombud, workspace(FILES), pair(peer_log)) as client:
        client.open("a.x")
        assert len((await pull(client))["items"]) == 4
        await client.request("ombud/reload", {})
        assert len((await pull(client))["items"]) == 4
