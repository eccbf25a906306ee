"""What servers ask of their client: answered by Ombud, passed on to the right client, or answered for nobody."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.client import NO_ANSWER, Client, LspError
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.connection import ServerRequest
from tests.peers.road import (
    connected,
    entry,
    hover,
    hurried,
    listening,
    peer_state,
    serving,
    together,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, VSCODE

FILES = {"x.toml": "", "a.x": "first\n", "b.y": "second\n"}


async def answers(client: Client, name: str = "one", where: str = "a.x") -> dict[str, Any]:
    """What a running server has been answered, by the method of its (only) request: its result or its error."""
    await hover(client, where)
    found = (await peer_state(client, name))["answers"]
    return {one["method"]: one.get("result", one.get("error")) for one in found}


def questions(client: Client) -> list[ServerRequest]:
    """What a client was asked, but for what Ombud registers and asks for itself."""
    own = ("client/registerCapability", "client/unregisterCapability", "workspace/configuration")
    return [one for one in client.server_requests if one.method not in own]


async def answered(log: PeerLog, identity: int = 1) -> Any:
    """The answer to a server's own request, as soon as it has arrived."""
    found = await log.wait(
        lambda log: [one for one in log.received() if "method" not in one and one["id"] == identity],
        what=f"an answer to the server's request {identity}",
    )
    assert len(found) == 1
    return found[0]


# -- answered by Ombud


@pytest.mark.parametrize("capabilities", [VSCODE, AGENT], ids=["editor", "agent"])
async def test_configuration_is_answered_for_each_server_by_its_own_settings(
    ombud: OmbudFactory, workspace: Workspace, capabilities: dict[str, Any]
) -> None:
    root = workspace(FILES)
    sections = ["one", "one.deep", "one.deep.leaf", "flat.key", "unknown", "unknown.leaf", "one.none", None]
    ask = {"items": [{"section": section} for section in sections]}
    one = Script("one", requestsOnInitialized=[{"method": "workspace/configuration", "params": ask}])
    settings = {"one": {"deep": {"leaf": 5}}, "flat.key": [True]}
    two = Script("two", askConfiguration=["one"])
    servers = {"one": entry(one, settings=settings), "two": two.entry([".y"], settings={"one": "of two"})}
    async with serving(ombud, root, servers, capabilities=capabilities) as client:
        client.open("a.x")
        client.open("b.y")
        found = (await answers(client))["workspace/configuration"]
        assert found == [settings["one"], {"leaf": 5}, 5, [True], {}, None, None, settings]
        await hover(client, "b.y")
        assert (await peer_state(client, "two"))["configuration"] == [["of two"]]
        assert questions(client) == []


async def test_a_server_that_is_silent_after_a_null_configuration_speaks(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    one = Script("one", nullConfigurationSilent=True, diagnostics="pull")
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x", "ERROR(e1): bad")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)


async def test_settings_are_sent_to_a_server_that_only_listens(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", log=peer_log), settings={"one": {"deep": 1}})
    async with serving(ombud, root, {"one": one}) as client:
        await hover(client, "a.x")
        (told,) = peer_log.received("workspace/didChangeConfiguration")
        assert told["params"] == {"settings": {"one": {"deep": 1}}}


async def test_registrations_are_taken_and_count_from_then_on(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    hovering = {"id": "h", "method": "textDocument/hover", "registerOptions": {}}
    commanding = {"id": "c", "method": "workspace/executeCommand", "registerOptions": {"commands": ["one.later"]}}
    registering = {"method": "client/registerCapability", "params": {"registrations": [hovering, commanding]}}
    leaving = {"unregisterations": [{"id": "h", "method": "textDocument/hover"}]}
    one = Script(
        "one",
        capabilities={"hoverProvider": None, "executeCommandProvider": None},
        commands=["one.later"],
        requestsOnInitialized=[registering],
        requestsOn={"textDocument/didSave": [{"method": "client/unregisterCapability", "params": leaving}]},
        log=peer_log,
    )
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        await answered(peer_log)
        assert await hover(client, "a.x") == "one: line 0: first"
        assert await client.request("workspace/executeCommand", {"command": "one.later"}) == {
            "by": "one",
            "arguments": [],
        }
        client.save("a.x")
        await answered(peer_log, 2)
        assert await client.request("textDocument/hover", client.at("a.x", 0, 0)) is None
        # Ombud registers for itself; what the server registered for itself is gone.
        assert [one for one in client.registrations.values() if one["method"] == "textDocument/hover"] == []
    well_behaved(peer_log)


async def test_a_registration_for_other_documents_does_not_count_where_another_server_can(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    hovering = {"id": "h", "method": "textDocument/hover", "registerOptions": {"documentSelector": [{"language": "q"}]}}
    registering = {"method": "client/registerCapability", "params": {"registrations": [hovering]}}
    servers = {
        "one": entry(
            Script("one", capabilities={"hoverProvider": None}, requestsOnInitialized=[registering], log=peer_log),
            priority=1,
        ),
        "two": entry(Script("two"), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        await answered(peer_log)
        assert await hover(client, "a.x") == "two: line 0: first"
        assert peer_log.received("textDocument/hover") == []


async def test_pulling_begins_when_a_server_registers_it_late(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", diagnostics="pullDynamic", busy={"initialized": 300}, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x", "ERROR(e1): bad")
        found = await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
        assert found[0]["code"] == "e1"
    well_behaved(peer_log)


async def test_workspace_folders_are_the_servers_own_root(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"sub/x.toml": "", "sub/a.x": "first\n"})
    one = Script("one", requestsOnInitialized=["workspace/workspaceFolders"])
    async with serving(ombud, root, {"one": one}) as client:
        found = await answers(client, where="sub/a.x")
        assert found == {"workspace/workspaceFolders": [{"uri": (root / "sub").as_uri(), "name": "sub"}]}


async def test_what_only_the_client_may_know_is_passed_on_and_its_refusal_passed_back(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", unknownMethods=True, log=peer_log)}) as client:
        client.open("a.x")
        refused = (await answered(peer_log))["error"]
        assert refused["code"] == -32601
        assert "one/unknownRequest" in refused["message"]
        assert await client.wait_notification("one/unknownNotification") == {"by": "one"}
        assert await hover(client, "a.x") == "one: line 0: first"
        (asked,) = questions(client)
        assert asked.method == "one/unknownRequest"


async def test_requests_of_a_server_with_malformed_params_are_refused(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    wrong = [
        {"method": "client/registerCapability", "params": {"registrations": [{"id": 1}]}},
        {"method": "client/unregisterCapability", "params": {"unregisterations": "all"}},
        {"method": "window/workDoneProgress/create", "params": {"token": [1]}},
    ]
    async with serving(ombud, root, {"one": Script("one", requestsOnInitialized=wrong)}) as client:
        found = await answers(client)
        assert {method: error["code"] for method, error in found.items()} == {one["method"]: -32602 for one in wrong}


# -- passed on to the client


async def test_questions_are_passed_on_and_the_answers_passed_back(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    asked = ["window/showMessageRequest", "window/showDocument", "workspace/codeLens/refresh"]
    async with serving(ombud, root, {"one": Script("one", requestsOnInitialized=asked)}) as client:
        client.handlers["window/showMessageRequest"] = lambda params: params["actions"][1]
        client.open("a.x")
        found = await answers(client)
        assert found == {asked[0]: {"title": "No"}, asked[1]: {"success": True}, asked[2]: None}
        question = await client.wait_request(asked[0])
        assert question.params["message"] == "one asks"
        assert (await client.wait_request(asked[1])).params == {"uri": root.as_uri()}
        assert [one.method for one in questions(client)] == asked


async def test_an_edit_of_a_server_is_applied_by_the_client(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        start = {"line": 0, "character": 0}
        change = {"changes": {client.uri("a.x"): [{"range": {"start": start, "end": start}, "newText": "the "}]}}
        applied = await client.request("workspace/executeCommand", {"command": "one.applyEdit", "arguments": [change]})
        assert applied == {"answer": {"result": {"applied": True}}}
        assert client.documents[client.uri("a.x")].text == "the first\n"
        assert await hover(client, "a.x") == "one: line 0: the first"
        broken = {"changes": {client.uri("gone.x"): change["changes"][client.uri("a.x")]}}
        refused = await client.request("workspace/executeCommand", {"command": "one.applyEdit", "arguments": [broken]})
        assert refused["answer"]["result"]["applied"] is False
    well_behaved(peer_log)


async def test_an_error_of_the_client_is_an_error_to_the_server(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    one = Script("one", requestsOnInitialized=["workspace/applyEdit"])

    def refuse(params: Any) -> Any:
        raise LspError(-32603, "not today")

    async with serving(ombud, root, {"one": one}) as client:
        client.handlers["workspace/applyEdit"] = refuse
        client.open("a.x")
        found = await answers(client)
        assert found["workspace/applyEdit"]["code"] == -32603


async def test_a_client_that_can_nothing_is_asked_nothing_and_servers_hear_the_right_default(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    asked = [
        "window/showDocument",
        "workspace/applyEdit",
        "window/workDoneProgress/create",
        "workspace/codeLens/refresh",
        "workspace/semanticTokens/refresh",
        "workspace/inlayHint/refresh",
        "workspace/diagnostic/refresh",
    ]
    servers = {"one": Script("one", requestsOnInitialized=asked)}
    # With the tier write the edit would be made here.
    async with serving(ombud, root, servers, capabilities=AGENT, tiers=["read"]) as client:
        client.open("a.x")
        found = await answers(client)
        assert found.pop("window/showDocument") == {"success": False}
        refused = found.pop("workspace/applyEdit")
        assert refused["applied"] is False
        assert refused["failureReason"]
        assert found == dict.fromkeys(asked[2:])
        assert questions(client) == []
        assert [one for one in client.notifications if one.method == "$/progress"] == []


async def test_nobody_is_asked_before_anybody_is_served_and_the_one_served_last_is(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", requestsOn={"textDocument/hover": ["window/showMessageRequest"]}, log=peer_log)}
    async with together(ombud, root, servers, "left", "right") as (left, right):
        for client in (left, right, left):
            await hover(client, "a.x")
            await client.wait_request("window/showMessageRequest")
        assert (len(questions(left)), len(questions(right))) == (2, 1)


async def test_a_client_that_leaves_a_question_open_and_dies_has_answered_nobody(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    asked = ["window/showMessageRequest", "workspace/applyEdit", "window/workDoneProgress/create"]
    servers = {"one": Script("one", requestsOnInitialized=asked, log=peer_log)}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="left") as left:
        async with connected(port, root, servers, name="right") as right:
            for method in asked:
                right.handlers[method] = lambda params: NO_ANSWER
            right.open("a.x")
            for method in asked:
                await right.wait_request(method)
            right.kill()
        assert (await answered(peer_log, 1))["result"] is None
        assert (await answered(peer_log, 2))["result"]["applied"] is False
        assert "error" in await answered(peer_log, 3) or (await answered(peer_log, 3))["result"] is None
        assert await hover(left, "a.x") == "one: line 0: first"
    well_behaved(peer_log)


async def test_an_answer_that_comes_after_its_server_has_died_is_for_nobody(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """The next process asks under the same ids, and the former one's answer is not the one it waits for."""
    root = workspace(FILES)
    one = Script("one", requestsOnInitialized=["window/showMessageRequest"], log=peer_log)
    one = one.but(perStart=[{"crashOn": [{"method": "textDocument/definition"}]}, {}])
    gates = [asyncio.Event(), asyncio.Event()]
    questions = iter(gates)

    async def answer_later(params: Any) -> Any:
        gate = next(questions)
        await gate.wait()
        return params["actions"][gates.index(gate)]

    async with serving(ombud, root, {"one": one}) as client:
        client.handlers["window/showMessageRequest"] = answer_later
        client.open("a.x")
        await client.wait_request("window/showMessageRequest")
        with pytest.raises(LspError):
            await client.request("textDocument/definition", client.at("a.x", 0, 0))
        await client.wait_request("window/showMessageRequest")
        gates[0].set()
        await hover(client, "a.x")
        assert (await peer_state(client, "one"))["answers"] == []
        gates[1].set()
        assert (await answered(peer_log))["result"] == {"title": "No"}
    well_behaved(peer_log)


# -- progress

PROGRESS = ["window/workDoneProgress/create"]


async def kinds(client: Client, count: int) -> list[tuple[Any, str]]:
    """The next reports of progress: token and kind."""
    found = []
    for _ in range(count):
        params = await client.wait_notification("$/progress")
        found.append((params["token"], params["value"]["kind"]))
    return found


async def test_progress_of_two_servers_with_the_same_token_is_told_apart(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    logs = [PeerLog(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    servers = {
        "one": Script("one", requestsOnInitialized=PROGRESS, progressMs=300, log=logs[0]).entry(),
        "two": Script("two", requestsOnInitialized=PROGRESS, progressMs=300, log=logs[1]).entry([".y"]),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        client.open("b.y")
        reports = await kinds(client, 6)
        tokens = {token for token, _ in reports}
        assert len(tokens) == 2
        assert all(isinstance(token, str) and token.startswith("ombud/") for token in tokens)
        for token in tokens:
            assert [kind for one, kind in reports if one == token] == ["begin", "report", "end"]
        assert {one.params["token"] for one in questions(client)} == tokens
    well_behaved(*logs)


async def test_progress_of_one_server_in_several_roots_is_told_apart(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """Also when one of them dies in between and begins again, always with its own token 1."""
    root = workspace({f"{name}/{file}": "" for name in "pq" for file in ("x.toml", "a.x")})
    one = Script("one", requestsOnInitialized=PROGRESS, progressMs=60_000, log=peer_log)
    one = one.but(crashOn=[{"method": "textDocument/definition"}])
    async with serving(ombud, root, {"one": one}) as client:
        for name in "pq":
            client.open(f"{name}/a.x")
            await hover(client, f"{name}/a.x")
        begun = await kinds(client, 4)
        first, second = dict.fromkeys(token for token, _ in begun)
        with pytest.raises(LspError):
            await client.request("textDocument/definition", client.at("p/a.x", 0, 0))
        # What the dead one worked on has ended, for whoever shows it.
        assert await kinds(client, 1) == [(first, "end")]
        third = (await kinds(client, 2))[0][0]
        assert third not in (first, second)


async def test_progress_is_told_to_the_client_that_was_asked_and_to_no_other(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", requestsOn={"textDocument/hover": PROGRESS}, log=peer_log)}
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, servers, name="agent", capabilities=AGENT) as agent,
        connected(port, root, servers, name="editor") as editor,
    ):
        # The agent, which cannot show progress, was served last: the editor is the one who can.
        editor.open("a.x")
        agent.open("a.x")
        await hover(agent, "a.x")
        assert [kind for _, kind in await kinds(editor, 3)] == ["begin", "report", "end"]
        await hover(agent, "a.x")
        assert [kind for _, kind in await kinds(editor, 3)] == ["begin", "report", "end"]
        assert [one.method for one in agent.notifications if one.method == "$/progress"] == []
        assert questions(agent) == []
    well_behaved(peer_log)


async def test_progress_that_the_client_refuses_is_not_told(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)

    def refuse(params: Any) -> Any:
        raise LspError(-32603, "no more bars")

    async with serving(ombud, root, {"one": Script("one", requestsOnInitialized=PROGRESS, log=peer_log)}) as client:
        client.handlers[PROGRESS[0]] = refuse
        client.open("a.x")
        await answered(peer_log)
        await hover(client, "a.x")
        assert [one for one in client.notifications if one.method == "$/progress"] == []


async def test_a_server_does_not_wait_long_for_a_client_that_does_not_say_whether_it_shows_progress(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    ombud = hurried(client_factory, operations__asks__SILENT_SECONDS=0.2)
    async with serving(ombud, root, {"one": Script("one", requestsOnInitialized=PROGRESS, log=peer_log)}) as client:
        client.handlers[PROGRESS[0]] = lambda params: NO_ANSWER
        client.open("a.x")
        assert (await answered(peer_log))["result"] is None
        await hover(client, "a.x")
        assert [one for one in client.notifications if one.method == "$/progress"] == []
    well_behaved(peer_log)


async def test_a_client_cancels_the_progress_of_a_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", requestsOnInitialized=PROGRESS, progressMs=60_000, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        ((token, kind), _) = await kinds(client, 2)
        assert kind == "begin"
        client.notify("window/workDoneProgress/cancel", {"token": token})
        (told,) = await peer_log.wait_received("window/workDoneProgress/cancel")
        assert told["params"] == {"token": 1}


async def test_reports_under_the_clients_own_token_go_to_the_client_that_gave_it(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)

    def report(kind: str) -> dict[str, Any]:
        value = {"kind": kind, "title": "looking"}
        return {"method": "$/progress", "params": {"token": "workDoneToken", "value": value}}

    flood = [
        {"method": "textDocument/definition", "nth": 1, "count": 1, "notification": report("begin")},
        {"method": "textDocument/definition", "nth": 2, "count": 1, "notification": report("end")},
    ]
    servers = {"one": Script("one", floodOn=flood, log=peer_log)}
    async with together(ombud, root, servers, "left", "right") as (left, right):
        right.open("a.x")
        await hover(right, "a.x")
        params = {**left.at("a.x", 0, 0), "workDoneToken": "t1"}
        assert await left.request("textDocument/definition", params)
        assert await left.request("textDocument/definition", params)
        assert await kinds(left, 2) == [("t1", "begin"), ("t1", "end")]
        assert [one for one in right.notifications if one.method == "$/progress"] == []
        # A token that can be none is the server's to judge, and no reason to leave the request open.
        odd = {"jsonrpc": "2.0", "id": 900, "method": "textDocument/hover"}
        pending = left.expect(900)
        params = {**left.at("a.x", 0, 0), "workDoneToken": [1]}
        await left.send_body(json.dumps({**odd, "params": params}).encode())
        assert (await left.answer(pending))["contents"] == "one: line 0: first"


async def test_servers_hear_the_clients_language_and_its_wish_for_traces(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    """Those that start later hear what it has wished for since."""
    root = workspace(FILES)
    logs = {name: PeerLog(tmp_path / f"{name}.jsonl") for name in ("one", "two")}
    servers = {"one": entry(Script("one", log=logs["one"])), "two": Script("two", log=logs["two"]).entry([".y"])}
    async with ombud(cwd=root) as client:
        options = {"ombud": {"servers": servers, "trusted": True}}
        await client.initialize(root, options, VSCODE, locale="de", trace="messages")
        await hover(client, "a.x")
        client.notify("$/setTrace", {"value": "verbose"})
        await hover(client, "b.y")
        said = {name: log.received("initialize")[0]["params"] for name, log in logs.items()}
    assert [(one["locale"], one["trace"]) for one in said.values()] == [("de", "messages"), ("de", "verbose")]
    assert [one["params"] for one in logs["one"].received("$/setTrace")] == [{"value": "verbose"}]
