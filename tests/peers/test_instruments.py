"""The scripted server behaving well, as the client sees it directly: documents, answers, diagnostics, its log."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client import LspError
from tests.conftest import Workspace
from tests.peers.conftest import PeerFactory
from tests.peers.script import PeerLog, Script, ombud_options
from tests.peers.scripted.features import FEATURES
from tests.peers.scripted.keys import DEFAULTS
from tests.profiles import NEOVIM, VSCODE

PAIR = "def first():\n    return 1\n\nclass Second:\n    value = first()\n"


def span(start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    return {
        "start": {"line": start[0], "character": start[1]},
        "end": {"line": end[0], "character": end[1]},
    }


def test_every_key_of_a_script_is_tried_by_these_tests() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_instruments*.py"))
    assert [key for key in DEFAULTS if key != "name" and not re.search(rf"\b{key}\b\"?[=:]", sources)] == []


# -- documents


async def test_hover_tells_which_version_of_the_document_the_server_has(
    peer: PeerFactory, workspace: Workspace
) -> None:
    root = workspace({"a.x": "on disk\n"})
    async with peer(Script("echo")) as client:
        await client.initialize(root)
        assert (await client.request("textDocument/hover", client.at("a.x", 0, 0)))["contents"] == (
            "echo: line 0: on disk"
        )
        client.open("a.x", "zero\none\n")
        client.change("a.x", "zero\nuno\n")
        hover = await client.request("textDocument/hover", client.at("a.x", 1, 0))
        assert (hover["contents"], hover["version"]) == ("echo: line 1: uno", 2)
        assert await client.request("textDocument/hover", client.at("absent.x", 0, 0)) is None


async def test_incremental_changes_count_utf16_units(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer() as client:
        await client.initialize(workspace())
        uri = client.open("a.x", "😀 one\r\ntwo\rthree\n")
        client.change(
            "a.x",
            [
                {"range": span((0, 2), (0, 3)), "text": "–"},
                {"range": span((1, 3), (2, 0)), "text": " and "},
                {"range": span((1, 99), (1, 99)), "text": "\ud83d"},
            ],
        )
        state = await client.request("test/state")
        assert state["documents"][uri] == {"text": "😀–one\r\ntwo and three\ud83d\n", "version": 2, "languageId": "x"}
        assert state["documents"][uri]["text"] == client.documents[uri].text
        assert state["violations"] == []


@pytest.mark.parametrize(("sync", "wrong"), [(0, "no change notifications"), (1, "incremental didChange")])
async def test_a_client_that_ignores_the_sync_kind_is_noted(
    peer: PeerFactory, workspace: Workspace, sync: int, wrong: str
) -> None:
    async with peer(sync=sync) as client:
        await client.initialize(workspace())
        assert client.server_capabilities["textDocumentSync"]["change"] == sync
        client.open("a.x", "text")
        client.change("a.x", [{"range": span((0, 0), (0, 1)), "text": "T"}])
        (violation,) = (await client.request("test/state"))["violations"]
        assert wrong in violation


async def test_a_client_out_of_step_is_noted(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(strict=False) as client:
        with pytest.raises(LspError, match="-32002"):
            await client.request("textDocument/hover", client.at("/a.x", 0, 0))
        await client.initialize(workspace(), initialized=False)
        client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///a.x"}})
        client.notify("initialized", {})
        client.open("b.x", "")
        client.open("b.x", "")
        client.notify(
            "textDocument/didChange", {"textDocument": {"uri": client.uri("b.x"), "version": 1}, "contentChanges": []}
        )
        client.notify("initialized", {})
        with pytest.raises(LspError, match="-32602"):
            await client.request("textDocument/hover", {})
        with pytest.raises(LspError, match="-32600"):
            await client.request("initialize", {"capabilities": {}})
        await client.send_body(b'{"jsonrpc":"2.0","id":"ours","result":1}')
        await client.shutdown()
        client.notify("textDocument/didSave", {"textDocument": {"uri": client.uri("b.x")}})
        violations = "\n".join((await client.request("test/state"))["violations"])
    for expected in (
        "textDocument/hover before initialize",
        "textDocument/didClose before initialized",
        "didClose of file:///a.x, which is not open",
        "which is open",
        "to version 1 after version 1",
        "a second initialized",
        "malformed params",
        "a second initialize",
        "an answer to id 'ours'",
        "textDocument/didSave after shutdown",
    ):
        assert expected in violations


@pytest.mark.parametrize("save", [True, "text"])
async def test_saving_follows_what_was_announced(peer: PeerFactory, workspace: Workspace, save: bool | str) -> None:
    root = workspace({"a.x": "old"})
    async with peer(save=save) as client:
        await client.initialize(root)
        client.open("a.x")
        client.change("a.x", "new")
        client.save("a.x")
        state = await client.request("test/state")
        assert state["violations"] == []
        assert (root / "a.x").read_text() == "new"
        log = await client.request("test/log")
        (saved,) = [one["message"] for one in log["messages"] if one["message"].get("method") == "textDocument/didSave"]
        assert saved["params"].get("text") == ("new" if save == "text" else None)
        wrong = {"textDocument": {"uri": client.uri("a.x")}, **({} if save == "text" else {"text": "new"})}
        client.notify("textDocument/didSave", wrong)
        assert len((await client.request("test/state"))["violations"]) == 1


async def test_a_save_that_was_never_announced_is_noted(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(save=False) as client:
        await client.initialize(workspace())
        client.open("a.x", "text")
        client.save("a.x")
        assert "announced none" in (await client.request("test/state"))["violations"][0]


# -- answers


async def test_navigation_by_words_over_the_open_documents(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer() as client:
        await client.initialize(workspace())
        client.open("a.x", "x first\n")
        client.open("b.x", "firstly first\n")
        at = client.at("b.x", 0, 9)
        (definition,) = await client.request("textDocument/definition", at)
        assert definition == {"uri": client.uri("b.x"), "range": span((0, 8), (0, 13))}
        references = await client.request("textDocument/references", {**at, "context": {"includeDeclaration": True}})
        assert [one["uri"] for one in references] == [client.uri("b.x"), client.uri("a.x")]
        others = await client.request("textDocument/references", {**at, "context": {"includeDeclaration": False}})
        assert others == references[1:]
        prepared = await client.request("textDocument/prepareRename", at)
        assert prepared == {"range": span((0, 8), (0, 13)), "placeholder": "first"}
        edit = await client.request("textDocument/rename", {**at, "newName": "last"})
        client.apply_workspace_edit(edit)
        documents = (await client.request("test/state"))["documents"]
        assert [one["text"] for one in documents.values()] == ["x last\n", "firstly last\n"]


async def test_completion_and_actions_resolve_only_what_is_their_own(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(Script("mine", completions=["fig", "apple"])) as client:
        await client.initialize(workspace())
        client.open("a.x", "fi first ERROR(e1): boom\n")
        found = await client.request("textDocument/completion", client.at("a.x", 0, 2))
        assert [item["label"] for item in found["items"]] == ["fi", "fig", "first"]
        resolved = await client.request("completionItem/resolve", found["items"][1])
        assert (resolved["detail"], resolved["documentation"]) == ("resolved by mine", "fig")
        with pytest.raises(LspError, match="did not make this item"):
            await client.request("completionItem/resolve", {"label": "x", "data": {"server": "other"}})
        diagnostics = await client.wait_diagnostics("a.x")
        params = {
            "textDocument": {"uri": client.uri("a.x")},
            "range": span((0, 0), (0, 0)),
            "context": {"diagnostics": diagnostics},
        }
        (action,) = await client.request("textDocument/codeAction", params)
        assert "edit" not in action
        resolved = await client.request("codeAction/resolve", action)
        client.apply_workspace_edit(resolved["edit"])
        assert client.documents[client.uri("a.x")].text == "fi first \n"
        assert await client.wait_diagnostics("a.x", version=2) == []


async def test_symbols_formatting_and_signatures(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer() as client:
        await client.initialize(workspace())
        uri = client.open("a.x", PAIR + "first(1, ")
        document = {"textDocument": {"uri": uri}}
        symbols = await client.request("textDocument/documentSymbol", document)
        assert [(one["name"], one["kind"]) for one in symbols] == [("first", 12), ("Second", 5)]
        assert symbols[1]["selectionRange"] == span((3, 6), (3, 12))
        (found,) = await client.request("workspace/symbol", {"query": "Sec"})
        assert found["location"]["uri"] == uri
        edits = await client.request("textDocument/formatting", {**document, "options": {}})
        signature = await client.request("textDocument/signatureHelp", client.at("a.x", 5, 9))
        assert (signature["activeParameter"], signature["signatures"][0]["label"]) == (1, "first(…) by scripted")
        client.apply_workspace_edit({"changes": {uri: edits}})
        assert client.documents[uri].text == PAIR + "first(1,\n"


async def test_commands_are_announced_under_the_servers_name(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(Script("mine")) as client:
        await client.initialize(workspace(), capabilities=VSCODE)
        announced = client.server_capabilities["executeCommandProvider"]["commands"]
        assert announced == ["mine.state", "mine.echo", "mine.applyEdit"]
        echoed = await client.request("workspace/executeCommand", {"command": "mine.echo", "arguments": [1]})
        assert echoed == {"by": "mine", "arguments": [1]}
        state = await client.request("workspace/executeCommand", {"command": "mine.state"})
        assert state["counts"]["workspace/executeCommand"] == 2
        uri = client.open("a.x", "old")
        edit = {"changes": {uri: [{"range": span((0, 0), (0, 3)), "newText": "new"}]}}
        done = await client.request("workspace/executeCommand", {"command": "mine.applyEdit", "arguments": [edit]})
        assert done == {"answer": {"result": {"applied": True}}}
        assert client.documents[uri].text == "new"
        with pytest.raises(LspError, match="has no command"):
            await client.request("workspace/executeCommand", {"command": "other.echo"})


async def test_the_features_that_are_asked_for_by_name(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(
        features="all", commands=["run"], version="2.5", capabilities={"hoverProvider": None, "extra": 1}
    ) as client:
        result = await client.initialize(workspace())
        assert result["serverInfo"] == {"name": "scripted", "version": "2.5"}
        expected = {capability for capability, _, _ in FEATURES.values()} - {"hoverProvider"}
        assert set(client.server_capabilities) == expected | {"textDocumentSync", "extra"}
        assert client.server_capabilities["executeCommandProvider"] == {"commands": ["run"]}
        document = {"textDocument": {"uri": client.open("a.x", PAIR)}}
        at = client.at("a.x", 0, 5)
        for method in ("declaration", "typeDefinition", "implementation"):
            assert len(await client.request(f"textDocument/{method}", at)) == 1
        assert len(await client.request("textDocument/documentHighlight", at)) == 2
        folds = await client.request("textDocument/foldingRange", document)
        assert folds == [{"startLine": 0, "endLine": 3}, {"startLine": 3, "endLine": 5}]
        hints = await client.request("textDocument/inlayHint", {**document, "range": span((0, 0), (9, 0))})
        assert [hint["position"] for hint in hints] == [{"line": 0, "character": 9}, {"line": 3, "character": 12}]
        lenses = await client.request("textDocument/codeLens", document)
        assert (await client.request("codeLens/resolve", lenses[0]))["command"]["command"] == "scripted.echo"
        tokens = (await client.request("textDocument/semanticTokens/full", document))["data"]
        assert tokens[:10] == [0, 0, 3, 0, 0, 0, 4, 5, 0, 0]
        (item,) = await client.request("textDocument/prepareCallHierarchy", at)
        (incoming,) = await client.request("callHierarchy/incomingCalls", {"item": item})
        assert (incoming["from"]["name"], incoming["fromRanges"]) == ("Second", [span((4, 12), (4, 17))])
        (outgoing,) = await client.request("callHierarchy/outgoingCalls", {"item": incoming["from"]})
        assert outgoing["to"]["name"] == "first"


async def test_a_feature_that_was_not_announced_is_refused_and_noted(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(features=["hover"], positionEncoding="utf-16") as client:
        await client.initialize(workspace())
        assert set(client.server_capabilities) == {"hoverProvider", "textDocumentSync", "positionEncoding"}
        for method in ("textDocument/definition", "textDocument/diagnostic", "x/unknown"):
            with pytest.raises(LspError, match="-32601"):
                await client.request(method, client.at("a.x", 0, 0))
        violations = (await client.request("test/state"))["violations"]
        assert violations == [
            "asked for textDocument/definition, which was never announced",
            "asked for textDocument/diagnostic, which was never announced",
        ]


# -- what it asks


async def test_requests_after_initialized_are_answered_and_kept(peer: PeerFactory, workspace: Workspace) -> None:
    asked: list[Any] = [
        "workspace/configuration",
        "client/registerCapability",
        "window/workDoneProgress/create",
        "window/showMessageRequest",
        "workspace/applyEdit",
        "workspace/workspaceFolders",
        "window/showDocument",
        {"method": "workspace/diagnostic/refresh", "params": None},
    ]
    root = workspace()
    async with peer(requestsOnInitialized=asked, progressMs=1, askConfiguration=["a.b", "c"]) as client:
        client.settings = {"a": {"b": 5}}
        await client.initialize(root, capabilities=VSCODE)
        await client.wait_notification("$/progress", lambda params: params["value"]["kind"] == "end")
        kinds = [one.params["value"]["kind"] for one in client.notifications if one.method == "$/progress"]
        assert kinds == ["begin", "report", "end"]
        state = await client.request("test/state")
        methods = [one if isinstance(one, str) else one["method"] for one in asked]
        assert [one["method"] for one in state["answers"]] == ["workspace/configuration", *methods]
        assert state["configuration"] == [[5, None]]
        folders = next(one["result"] for one in state["answers"] if one["method"] == "workspace/workspaceFolders")
        assert folders == [{"uri": root.as_uri(), "name": "ws"}]
        assert client.registrations["1"]["method"] == "workspace/didChangeConfiguration"
        assert [request.id for request in client.server_requests] == list(range(1, 10))


async def test_requests_on_arrival_come_before_the_answer(peer: PeerFactory, workspace: Workspace) -> None:
    async with peer(requestsOn={"textDocument/hover": ["window/showMessageRequest"]}) as client:
        client.handlers["window/showMessageRequest"] = lambda params: params["actions"][0]
        await client.initialize(workspace())
        pending = client.start_request("textDocument/hover", client.at("a.x", 0, 0))
        asked = await client.wait_request("window/showMessageRequest")
        assert asked.params["message"] == "scripted asks"
        assert await pending is None
        (answer,) = (await client.request("test/state"))["answers"]
        assert answer["result"] == {"title": "Yes"}


@pytest.mark.parametrize(("capabilities", "registered"), [(VSCODE, True), (NEOVIM, False)])
async def test_watchers_are_registered_with_clients_that_can(
    peer: PeerFactory, workspace: Workspace, capabilities: dict[str, Any], registered: bool
) -> None:
    async with peer(watch=["**/*.x"]) as client:
        await client.initialize(workspace(), capabilities=capabilities)
        await client.request("test/state")
        assert ("scripted-watch" in client.registrations) == registered


# -- its log, and starting it in other ways


async def test_the_log_outlives_the_server_and_counts_its_starts(
    peer: PeerFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    crash = [{"method": "textDocument/hover", "exitCode": 7}]
    script = Script("mine", log=peer_log, perStart=[{"crashOn": crash}, {"name": "second"}, {"name": "later"}])
    async with peer(script, strict=False) as client:
        await client.initialize(workspace())
        client.open("a.x", "one")
        with pytest.raises(ConnectionError):
            await client.request("textDocument/hover", client.at("a.x", 0, 0))
        assert await client.wait_exit() == 7
    for name in ("second", "later", "later"):
        async with peer(script) as client:
            assert (await client.initialize(workspace()))["serverInfo"]["name"] == name
    assert len(set(peer_log.starts())) == len(peer_log.starts()) == 4
    first = peer_log.starts()[0]
    assert peer_log.methods(first) == ["initialize", "initialized", "textDocument/didOpen", "textDocument/hover"]
    (opened,) = await peer_log.wait_received("textDocument/didOpen")
    assert opened["params"]["textDocument"]["text"] == "one"
    assert [entry["code"] for entry in peer_log.entries("exit")] == [7, 0, 0, 0]
    assert peer_log.violations() == []


async def test_waiting_on_a_log_says_what_did_happen(tmp_path: Path) -> None:
    log = PeerLog(tmp_path / "log")
    assert log.entries() == []
    log.path.write_text('{"event": "start", "pid": 1}\n{"event": "received", "pid": 1, "mess')
    assert log.starts() == [1]
    with pytest.raises(TimeoutError, match=r"1 × exit.*\['start'\]"):
        await log.wait_received("exit", timeout=0.05)


async def test_messages_and_environment_can_be_asked_for(peer: PeerFactory, workspace: Workspace, home: Path) -> None:
    async with peer() as client:
        await client.initialize(workspace(), options={"a": 1}, process_id=None)
        client.notify("test/log", {"note": "here"})
        log = await client.request("test/log")
        assert {"direction": "test", "message": {"note": "here"}} in log["messages"]
        assert log["messages"][0]["message"]["params"]["initializationOptions"] == {"a": 1}
        assert log["messages"][0]["message"]["params"]["processId"] is None
        found = await client.request("test/environment", {"names": ["HOME", "VIRTUAL_ENV"]})
        assert found["values"] == {"HOME": str(home), "VIRTUAL_ENV": None}


async def test_it_starts_from_a_file_and_as_a_program(
    client_factory: Any, workspace: Workspace, tmp_path: Path, bin_folder: Path
) -> None:
    script = Script("odd 'name' $HOME")
    for argv in (script.command_with(tmp_path / "s.json"), [str(script.executable(bin_folder / "xls")), "--stdio"]):
        async with client_factory(argv) as client:
            assert (await client.initialize(workspace()))["serverInfo"]["name"] == "odd 'name' $HOME"
    version = subprocess.run([bin_folder / "xls", "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert version.stdout == "odd 'name' $HOME 1.0\n"


def test_it_starts_fast_for_it_imports_next_to_nothing() -> None:
    code = "import sys; sys.path.append(sys.argv[1]); import tests.peers.scripted.session; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", code, str(Path(__file__).parents[2])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    heavy = {"typing", "dataclasses", "inspect", "asyncio", "subprocess", "pathlib", "urllib.parse", "ombud"}
    assert not heavy & set(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (['{"hoverr": 1}'], "unknown keys ['hoverr']"),
        (['{"perStart": [{"slowly": {}}], "log": "x"}'], "unknown keys ['slowly']"),
        (['{"perStart": [{}]}'], "needs one"),
        (["[]"], "JSON object"),
        (["{"], "Expecting"),
        (["--script", "/nonexistent/script"], "No such file"),
        (["--script"], "No such file"),
    ],
)
def test_a_bad_script_is_refused_loudly(arguments: list[str], message: str) -> None:
    command = [*Script().command()[:-1], *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 64
    assert message in done.stderr
    assert done.stdout == ""


def test_a_misspelt_key_is_an_error_where_the_script_is_written() -> None:
    with pytest.raises(Exception, match=r"unknown keys \['hangon'\]"):
        Script("mine", hangon=[])


def test_scripts_become_entries_of_the_options() -> None:
    mine, other = Script("mine"), Script("other")
    options = ombud_options({"mine": mine, "other": other.entry([".y"], ["y"], priority=3)}, trusted=True)
    assert options["ombud"]["trusted"] is True
    entry = options["ombud"]["servers"]["mine"]
    assert json.loads(entry["command"][-1]) == {"name": "mine"}
    assert (entry["extensions"], entry["rootMarkers"]) == ([".x"], ["x.toml"])
    assert options["ombud"]["servers"]["other"] | {"command": None} == {
        "command": None,
        "extensions": [".y"],
        "languages": ["y"],
        "rootMarkers": ["x.toml"],
        "priority": 3,
    }


async def test_two_peers_at_once_do_not_mix(peer: PeerFactory, workspace: Workspace) -> None:
    root = workspace()
    async with peer(Script("one")) as one, peer(Script("two")) as two:
        await asyncio.gather(one.initialize(root), two.initialize(root))
        for client in (one, two):
            client.open("a.x", f"of {client.name}")
        hovers = await asyncio.gather(
            *(client.request("textDocument/hover", client.at("a.x", 0, 0)) for client in (one, two))
        )
        assert [hover["contents"] for hover in hovers] == ["one: line 0: of one", "two: line 0: of two"]
