"""Servers that keep the framing but not the protocol: answers and notifications of every wrong shape."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.framing import frame_body
from tests.peers.road import ask_hover, edit, entry, failure, freshness, hover, introduced, serving, status, wait_state
from tests.peers.script import PeerLog, Script

FILES = {"x.toml": "", "a.x": "first\n"}
IDS = range(1, 40)
"""Of which one is that of the question: answers to questions that nobody asked are dropped."""


def frames(*messages: Any) -> str:
    return b"".join(frame_body(json.dumps(one).encode()) for one in messages).decode()


def answers(result: Any) -> str:
    """The answer to whatever was asked."""
    return frames(*({"jsonrpc": "2.0", "id": number, "result": result} for number in IDS))


@pytest.mark.parametrize("result", [{"items": []}, 5, "text", True, [1, None, {"name": 5}]])
async def test_a_workspace_symbol_answer_of_another_shape_spoils_no_others(
    ombud: OmbudFactory, workspace: Workspace, result: Any
) -> None:
    root = workspace({"x.toml": "", "a.x": "def alpha():\n"})
    servers = {
        "bad": entry(Script("bad", rawOn={"workspace/symbol": answers(result)}, diagnostics="none"), priority=1),
        "good": entry(Script("good"), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        for name in servers:
            await wait_state(client, name, "ready")
        found = await client.request("workspace/symbol", {"query": "alp"}, timeout=10)
        assert [one["name"] for one in found if isinstance(one, dict) and one["name"] == "alpha"] == ["alpha"]
        listed = await client.request("ombud/lsp", {"action": "symbols", "query": "alp"}, timeout=10)
        assert "alpha" in [one["name"] for one in listed["items"]]


@pytest.mark.parametrize(
    "report", [5, [], {"kind": "full", "items": 7}, {"kind": "full", "items": [7, {"range": 1}]}, {"kind": []}, "full"]
)
async def test_a_pull_answer_of_another_shape_is_no_word_on_the_content(
    ombud: OmbudFactory, workspace: Workspace, report: Any
) -> None:
    root = workspace(FILES)
    servers = {
        "bad": entry(Script("bad", diagnostics="pull", rawOn={"textDocument/diagnostic": answers(report)}), priority=1),
        "good": entry(Script("good"), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        result = await edit(client, "a.x", "first", "ERROR(e1): bad")
        assert introduced(result) == ["e1"]
        readable = isinstance(report, dict) and isinstance(report.get("items"), list)
        assert freshness(result) == {"bad": "fresh" if readable else "unavailable", "good": "fresh"}
        found = await client.request("ombud/diagnostics", {"path": "a.x"})
        assert [one["code"] for one in found["diagnostics"]] == ["e1"]


@pytest.mark.parametrize("result", [5, [], "text", {"contents": 5}, {"contents": [None, 5]}, {"range": []}, False])
async def test_answers_of_another_shape_are_forwarded_and_read_with_care(
    ombud: OmbudFactory, workspace: Workspace, result: Any
) -> None:
    root = workspace(FILES)
    one = Script("one", rawOn={"textDocument/hover": answers(result)}, diagnostics="none")
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        assert await client.answer(ask_hover(client, "a.x"), 10) == result
        params = {"action": "hover", "path": "a.x", "line": 1, "symbol": "first"}
        found = await client.request("ombud/lsp", params, timeout=10)
        assert found["servers"] == ["one"]
        assert all(isinstance(one["text"], str) for one in found["items"])


@pytest.mark.parametrize("capabilities", [5, [], "all", None])
async def test_an_initialize_answer_without_capabilities_is_a_failure_or_none_at_all(
    ombud: OmbudFactory, workspace: Workspace, capabilities: Any
) -> None:
    root = workspace(FILES)
    one = Script("one", rawOn={"initialize": answers({"capabilities": capabilities, "serverInfo": 7})})
    async with serving(ombud, root, {"one": one}) as client:
        pending = ask_hover(client, "a.x")
        if not capabilities and not isinstance(capabilities, int):
            assert await client.answer(pending, 10) is None
            assert (await status(client))["one"]["state"] == "ready"
            return
        error = await failure(pending, client, 10)
        assert error.kind == "server_failed"
        assert "capabilities" in error.message


async def test_capabilities_of_another_shape_are_none(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    odd = {
        "textDocumentSync": "incremental",
        "hoverProvider": {"any": "thing"},
        "definitionProvider": [],
        "completionProvider": 7,
        "executeCommandProvider": {"commands": 5},
        "diagnosticProvider": "yes",
    }
    async with serving(ombud, root, {"one": Script("one", capabilities=odd, diagnostics="none")}) as client:
        client.open("a.x")
        client.change("a.x", "changed\n")
        assert (await client.answer(ask_hover(client, "a.x"), 10))["contents"]
        answer = await client.request("workspace/executeCommand", {"command": "one.echo"})
        assert answer["by"] == "one", "who else could be meant, whatever it has listed"
        assert (await status(client))["one"]["state"] == "ready"


NOISE: list[Any] = [
    {"method": "textDocument/publishDiagnostics", "params": {"uri": 5, "diagnostics": []}},
    {"method": "textDocument/publishDiagnostics", "params": {"uri": "file:///%", "diagnostics": None}},
    {"method": "textDocument/publishDiagnostics", "params": {"uri": "nonsense", "diagnostics": [1, {"range": 5}]}},
    {"method": "textDocument/publishDiagnostics", "params": {"uri": "file:///x", "diagnostics": [], "version": "1"}},
    {"method": "textDocument/publishDiagnostics"},
    {"method": "window/logMessage", "params": None},
    {"method": "window/logMessage", "params": [1]},
    {"method": "window/showMessage", "params": {"message": {"not": "text"}}},
    {"method": "$/progress", "params": {"token": [1], "value": {"kind": "begin"}}},
    {"method": "$/progress", "params": {"token": 1, "value": "begin"}},
    {"method": "$/progress", "params": {"token": 2, "value": {"kind": "begin", "title": 7}}},
    {"method": "$/progress", "params": None},
    {"method": "telemetry/event", "params": {"a": 1}},
    {"id": 901, "method": "client/registerCapability", "params": {"registrations": [{"id": "r", "method": "x"}]}},
    {"id": 902, "method": "client/registerCapability", "params": None},
    {"id": 903, "method": "workspace/configuration", "params": {"items": 5}},
    {"id": 904, "method": "workspace/configuration", "params": {"items": [5, {"section": 5}]}},
    {"id": 905, "method": "workspace/workspaceFolders", "params": {"any": 1}},
    {"id": "text", "method": "workspace/diagnostic/refresh"},
    {"id": 906, "method": "client/unregisterCapability", "params": {"unregisterations": [{"id": "r", "method": "x"}]}},
    {"id": 907, "method": "", "params": {}},
    {"id": 908, "error": {"code": 5}},
    {"id": "908", "result": {}},
    {"id": None, "result": {}},
    {"method": 5},
    [],
    7,
]


async def test_W9_noise_of_every_shape_costs_nobody_anything(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    said = frames(*({"jsonrpc": "2.0", **one} if isinstance(one, dict) else one for one in NOISE))
    one = Script("one", rawOn={"textDocument/hover": said + answers({"contents": "well"})}, log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x", "ERROR(e1): bad\n")
        assert (await client.answer(ask_hover(client, "a.x"), 10)) == {"contents": "well"}
        # Each request of the server was answered under its id, well or not.
        asked = {one["id"] for one in NOISE if isinstance(one, dict) and "id" in one and "method" in one}
        await peer_log.wait(lambda log: asked <= {one["id"] for one in log.received() if "method" not in one})
        assert await client.request("textDocument/definition", client.at("a.x", 0, 0))
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
        assert (await status(client))["one"]["state"] == "ready"
        assert client.stderr.count("Traceback") == 0


async def test_an_edit_of_a_server_for_a_file_elsewhere_is_the_clients_to_refuse(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    start = {"line": 0, "character": 0}
    change = {"changes": {"file:///etc/never-there/x": [{"range": {"start": start, "end": start}, "newText": "x"}]}}
    async with serving(ombud, root, {"one": Script("one")}) as client:
        await hover(client, "a.x")
        command = {"command": "one.applyEdit", "arguments": [change]}
        answer = (await client.request("workspace/executeCommand", command))["answer"]
        assert answer["result"]["applied"] is False
