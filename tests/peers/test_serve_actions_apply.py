"""Code actions carried out by title, and the edits that servers make by themselves, with scripted servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    connected,
    edit,
    entry,
    failure,
    freshness,
    hover,
    introduced,
    listening,
    peer_texts,
    serving,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, VSCODE

Json = dict[str, Any]

FILES = {"x.toml": "", "a.x": "first ERROR(e1): bad\r\nsecond\r\n", "b.x": "other\n"}
ACTION = "textDocument/codeAction"
APPLY = "workspace/applyEdit"
EXECUTE = "workspace/executeCommand"


async def ask(client: Client, **params: Any) -> Json:
    found: Json = await client.request(
        "ombud/lsp", {"action": "code_actions", "path": "a.x", "line": 1, "symbol": "first", **params}
    )
    return found


async def refused(client: Client, **params: Any) -> Any:
    asked = {"action": "code_actions", "path": "a.x", "line": 1, "symbol": "first", **params}
    error = await failure(client.start_request("ombud/lsp", asked), client)
    assert error.message.endswith((".", "?")), error.message
    return error


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def at_start(root: Path, text: str, name: str = "a.x") -> Json:
    """A WorkspaceEdit that inserts ``text`` at the start of a file."""
    here = {"line": 0, "character": 0}
    return {"changes": {(root / name).as_uri(): [{"range": {"start": here, "end": here}, "newText": text}]}}


def command(name: str, *arguments: Any) -> Json:
    return {"title": "run", "command": name, "arguments": list(arguments)}


def offering(*actions: Json, **keys: Any) -> Script:
    """A server that offers these actions wherever it is asked, and does not resolve them."""
    capabilities = {"codeActionProvider": True, **keys.pop("capabilities", {})}
    answers = {ACTION: list(actions), **keys.pop("answers", {})}
    return Script("one", capabilities=capabilities, answers=answers, **keys)


# -- edits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("diagnostics", ["push", "pull"])
async def test_a_quick_fix_is_there_on_the_first_call_and_done_by_its_title(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, diagnostics: str
) -> None:
    root = workspace(FILES)
    script = Script("one", diagnostics=diagnostics, delayMs=300, log=peer_log)
    async with serving(ombud, root, {"one": script}, capabilities=AGENT) as client:
        listed = await ask(client)
        assert [one["title"] for one in listed["items"]] == ["one: remove e1"]
        assert contents(root)["a.x"] == FILES["a.x"].encode()
        result = await ask(client, apply="one: remove e1")
        assert next(iter(result)) == "applied"
        assert result["applied"] is True
        assert [(one["path"], one["status"]) for one in result["files"]] == [("a.x", "modified")]
        assert [one["code"] for one in result["diagnostics"]["resolved"]] == ["e1"]
        assert (introduced(result), freshness(result)) == ([], {"one": "fresh"})
        assert result["items"] == listed["items"]
        assert (result["complete"], result["servers"]) == (True, ["one"])
        assert result["checkpoint"] and result["writeId"]
        assert (root / "a.x").read_bytes() == b"first \r\nsecond\r\n"
        assert (await peer_texts(client, "one"))["a.x"] == "first \r\nsecond\r\n"
    well_behaved(peer_log)


async def test_actions_of_a_file_that_was_not_checked_in_time_are_called_incomplete(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", delayMs=60_000)}, capabilities=AGENT) as client:
        listed = await ask(client, waitMs=100)
        assert (listed["items"], listed["complete"]) == ([], False)
        assert "quick fixes" in listed["note"]


TITLES = ["Organize imports", "Add import of a", "Add import of b", "add IMPORT of c", "Remove all"]


@pytest.mark.parametrize(
    ("wanted", "done"),
    [
        ("Organize imports", "Organize imports"),
        ("organize IMPORTS", "Organize imports"),
        ("one: Remove all", "Remove all"),
        ("org", "Organize imports"),
        ("of b", "Add import of b"),
        ("Add import", None),
        ("import", None),
        ("Sort", None),
    ],
)
async def test_an_action_is_found_by_its_title_or_the_titles_are_told(
    ombud: OmbudFactory, workspace: Workspace, wanted: str, done: str | None
) -> None:
    root = workspace(FILES)
    actions = [{"title": title, "kind": "x", "edit": at_start(root, f"{title}\n")} for title in TITLES]
    async with serving(ombud, root, {"one": offering(*actions)}, capabilities=AGENT) as client:
        if done is not None:
            assert (await ask(client, apply=wanted))["items"][0]["title"] == done
            assert (root / "a.x").read_bytes().startswith(f"{done}\r\n".encode())
            return
        error = await refused(client, apply=wanted)
        expected = TITLES if wanted == "Sort" else [one for one in TITLES if wanted.lower() in one.lower()]
        assert all(title in error.message for title in expected), error.message
        assert error.kind == ("not_found" if wanted == "Sort" else "invalid_params")
        assert contents(root)["a.x"] == FILES["a.x"].encode()


async def test_two_servers_with_one_title_are_told_apart_by_their_names(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {
        name: entry(offering({"title": "Sort", "edit": at_start(root, name)}).but(name=name), priority=number)
        for number, name in enumerate(("one", "two"), 1)
    }
    async with serving(ombud, root, servers, capabilities=AGENT) as client:
        error = await refused(client, apply="Sort")
        assert "one: Sort" in error.message and "two: Sort" in error.message
        await ask(client, apply="two: sort")
        assert (root / "a.x").read_bytes().startswith(b"twofirst")


async def test_an_edit_can_be_tried_and_formatted(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    action = {"title": "Break", "edit": at_start(root, "ERROR(e2): worse   \n")}
    async with serving(ombud, root, {"one": offering(action)}, capabilities=AGENT) as client:
        tried = await ask(client, apply="Break", preview=True)
        assert (tried["applied"], introduced(tried)) == (False, ["e2"])
        assert contents(root)["a.x"] == FILES["a.x"].encode()
        assert (await ask(client, apply="Break", diagnostics="none", format=True))["diagnostics"] is None
        assert (root / "a.x").read_bytes().startswith(b"ERROR(e2): worse\r\nfirst")


# -- commands ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bare", [True, False], ids=["a bare command", "an action"])
async def test_the_edits_of_a_command_are_made_here_and_reported(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, bare: bool
) -> None:
    """Also for an editor, which could make them: it asked for the whole."""
    root = workspace(FILES)
    run = command("one.applyEdit", at_start(root, "ERROR(e2): worse\n"))
    script = offering({**run, "title": "Fix"} if bare else {"title": "Fix", "command": run}, log=peer_log)
    async with serving(ombud, root, {"one": script}, capabilities=VSCODE) as client:
        client.open("a.x")
        result = await ask(client, apply="Fix")
        assert (result["applied"], introduced(result), freshness(result)) == (True, ["e2"], {"one": "fresh"})
        assert [(one["path"], one["added"]) for one in result["files"]] == [("a.x", 1)]
        assert result["checkpoint"]
        assert (root / "a.x").read_bytes().startswith(b"ERROR(e2): worse\r\nfirst")
        assert [one for one in client.server_requests if one.method == APPLY] == []
        (said,) = [one for one in peer_log.received() if "method" not in one and "applied" in str(one.get("result"))]
        assert said["result"] == {"applied": True}
    well_behaved(peer_log)


async def test_an_edit_and_the_edits_of_its_command_are_one_answer(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """What the edit breaks and the command mends is nothing new; its edits are for the text that the edit has left."""
    root = workspace(FILES)
    here = {"line": 0, "character": 0}
    mend = {"range": {"start": here, "end": {"line": 1, "character": 0}}, "newText": "ERROR(e3): third\n"}
    second = {"changes": {(root / "a.x").as_uri(): [mend], **at_start(root, "new ", "b.x")["changes"]}}
    action = {
        "title": "Both",
        "edit": at_start(root, "ERROR(e2): worse\n"),
        "command": command("one.applyEdit", second),
    }
    async with serving(ombud, root, {"one": offering(action, log=peer_log)}, capabilities=AGENT) as client:
        result = await ask(client, apply="Both")
        assert introduced(result) == ["e3"]
        assert sorted(one["path"] for one in result["files"]) == ["a.x", "b.x"]
        assert (root / "a.x").read_bytes().startswith(b"ERROR(e3): third\r\nfirst")
        assert (root / "b.x").read_bytes() == b"new other\n"
        await client.request("ombud/rollback", {"checkpoint": result["checkpoint"]})
        assert contents(root)["a.x"] == FILES["a.x"].encode()
    well_behaved(peer_log)


def answers(log: PeerLog) -> list[bool]:
    """What the server has heard of its edits."""
    return [one["result"]["applied"] for one in log.received() if "applied" in str(one.get("result"))]


async def test_a_command_may_send_many_edits_and_not_without_end(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    sent = [{"method": APPLY, "params": {"edit": at_start(root, "+", "b.x")}}] * 60
    action = {"title": "Go on", "command": command("one.echo")}
    script = offering(action, requestsOn={EXECUTE: sent}, log=peer_log)
    async with serving(ombud, root, {"one": script}, capabilities=AGENT) as client:
        result = await ask(client, apply="Go on", diagnostics="none")
        assert (root / "b.x").read_text() == "+" * 50 + "other\n"
        assert "more than 50 edits" in result["note"]
        said = await peer_log.wait(lambda log: len(found := answers(log)) == 60 and found)
        assert (said.count(True), said.count(False)) == (50, 10)


async def test_a_command_that_sends_no_edits_is_not_said_to_have_written(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    before = contents(root)
    async with serving(
        ombud, root, {"one": offering({"title": "Look", "command": command("one.echo")})}, capabilities=AGENT
    ) as client:
        result = await ask(client, apply="Look")
        assert (result["applied"], result["files"], result["diagnostics"]) == (True, [], None)
        assert "no file was written" in result["message"]
        assert contents(root) == before


def refusals(root: Path) -> dict[str, tuple[Json, Json, Json, str, str]]:
    """name → action, keys of the script, params, kind of the refusal, words in it."""
    fine = at_start(root, "x")
    outside = at_start(root, "x", "../out.x")
    return {
        "a command of editors": (
            {"title": "Do", "edit": fine, "command": command("editor.action.rename")},
            {},
            {},
            "conflict",
            "editor.action.rename",
        ),
        "a command tried": (
            {"title": "Do", "edit": fine, "command": command("one.applyEdit", fine)},
            {},
            {"preview": True},
            "conflict",
            "cannot be previewed",
        ),
        "one that is disabled": (
            {"title": "Do", "edit": fine, "disabled": {"reason": "no selection"}},
            {},
            {},
            "conflict",
            "no selection",
        ),
        "one with nothing in it": ({"title": "Do"}, {}, {}, "not_found", "neither"),
        "one that changes nothing": ({"title": "Do", "edit": {"changes": {}}}, {}, {}, "not_found", "changes nothing"),
        "an edit that goes out": ({"title": "Do", "edit": outside}, {}, {}, "outside_workspace", "out.x"),
        "a command that goes out": (
            {"title": "Do", "command": command("one.applyEdit", outside)},
            {},
            {},
            "outside_workspace",
            "out.x",
        ),
        "a command that fails": (
            {"title": "Do", "command": command("one.echo")},
            {"errorsOn": {EXECUTE: {"code": -32603, "message": "no disk."}}},
            {},
            "server_failed",
            "no disk",
        ),
    }


@pytest.mark.parametrize("name", refusals(Path("/")))
async def test_what_cannot_be_carried_out_writes_nothing(ombud: OmbudFactory, workspace: Workspace, name: str) -> None:
    root = workspace(FILES)
    action, keys, params, kind, words = refusals(root)[name]
    before = contents(root)
    async with serving(ombud, root, {"one": offering(action, **keys)}, capabilities=AGENT) as client:
        error = await refused(client, apply="Do", **params)
        assert (error.kind, words in error.message) == (kind, True), error.message
        assert contents(root) == before
        assert not (root.parent / "out.x").exists()


async def test_what_a_command_has_written_before_it_failed_is_told(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    sent = [{"method": APPLY, "params": {"edit": at_start(root, "+", "b.x")}}]
    errors = {EXECUTE: {"code": -32603, "message": "no disk"}}
    script = offering({"title": "Do", "command": command("one.echo")}, requestsOn={EXECUTE: sent}, errorsOn=errors)
    async with serving(ombud, root, {"one": script}, capabilities=AGENT) as client:
        result = await ask(client, apply="Do")
        assert (result["applied"], [one["path"] for one in result["files"]]) == (True, ["b.x"])
        assert "no disk" in result["note"] and "no disk" in result["message"]


async def test_carrying_out_needs_the_tier_write_and_listing_does_not(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    script = offering({"title": "Do", "edit": at_start(root, "x")})
    async with serving(ombud, root, {"one": script}, tiers=["read"]) as client:
        assert [one["title"] for one in (await ask(client))["items"]] == ["Do"]
        assert (await refused(client, apply="Do")).kind == "permission_denied"
        assert (await refused(client, preview=True)).kind == "invalid_params"
        for params in ({"apply": "Do"}, {"preview": True}, {"diagnostics": "none"}):
            assert (await refused(client, action="hover", **params)).kind == "invalid_params"


# -- edits that nobody asked for --------------------------------------------------------------------------------------


async def test_an_edit_of_a_servers_own_is_made_where_the_client_makes_none(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    sent = {"method": APPLY, "params": {"edit": at_start(root, "ERROR(e4): own\n", "b.x")}}
    script = Script("one", requestsOn={"textDocument/hover": [sent]}, log=peer_log)
    async with serving(ombud, root, {"one": script}, capabilities=AGENT) as client:
        client.open("b.x")
        await hover(client, "b.x")
        await peer_log.wait(lambda log: [one for one in log.received() if one.get("result") == {"applied": True}])
        assert (root / "b.x").read_bytes() == b"ERROR(e4): own\nother\n"
        # It is reported with the next write that waits.
        assert "e4" in introduced(await edit(client, "a.x", "second", "third"))
    well_behaved(peer_log)


@pytest.mark.parametrize("who", ["an editor", "a reader"])
async def test_an_edit_of_a_servers_own_is_an_editors_to_make_and_a_readers_not_at_all(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, who: str
) -> None:
    root = workspace(FILES)
    sent = {"method": APPLY, "params": {"edit": at_start(root, "own ", "b.x")}}
    script = Script("one", requestsOn={"textDocument/hover": [sent]}, log=peer_log)
    editor = who == "an editor"
    more: Json = {} if editor else {"tiers": ["read"]}
    async with serving(ombud, root, {"one": script}, capabilities=VSCODE if editor else AGENT, **more) as client:
        client.open("b.x")
        await hover(client, "b.x")
        (said,) = await peer_log.wait(
            lambda log: [one for one in log.received() if "applied" in str(one.get("result"))]
        )
        assert said["result"]["applied"] is editor
        assert (root / "b.x").read_text() == "other\n"
        assert client.documents[client.uri("b.x")].text == ("own other\n" if editor else "other\n")


async def test_a_command_of_an_agent_is_answered_with_its_edits_on_the_disk(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    """Not through an operation: the agent sends the command itself, and hears what the server says."""
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}, capabilities=AGENT) as client:
        client.open("a.x")
        params = {"command": "one.applyEdit", "arguments": [at_start(root, "own ", "b.x")]}
        assert await client.request(EXECUTE, params) == {"answer": {"result": {"applied": True}}}
        assert (root / "b.x").read_text() == "own other\n"
        params = {"command": "one.applyEdit", "arguments": [at_start(root, "own ", "../b.x")]}
        said = (await client.request(EXECUTE, params))["answer"]["result"]
        assert said["applied"] is False
        assert "outside" in said["failureReason"]


async def test_the_edits_of_an_agents_command_are_not_made_by_the_editor_beside_it(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root, servers = workspace(FILES), {"one": Script("one")}
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, servers, name="editor", capabilities=VSCODE) as editor,
        connected(port, root, servers, name="agent", capabilities=AGENT) as agent,
    ):
        editor.open("b.x")
        await hover(editor, "b.x")
        params = {"command": "one.applyEdit", "arguments": [at_start(root, "own ", "b.x")]}
        assert await agent.request(EXECUTE, params) == {"answer": {"result": {"applied": True}}}
        assert (root / "b.x").read_text() == "own other\n"
        editor.change("b.x", "typed\n")
        await hover(editor, "b.x")
        said = (await agent.request(EXECUTE, params))["answer"]["result"]
        assert said["applied"] is False
        assert "tests/editor" in said["failureReason"]
        assert [one for one in editor.server_requests if one.method == APPLY] == []
