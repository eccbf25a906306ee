"""``buffers: "edit"``: a write into the buffer of the client that has the file open, in place of the file."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.client import NO_ANSWER, Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import connected, edit, failure, freshness, hover, introduced, listening, peer_texts, well_behaved
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, VSCODE

FILES = {"x.toml": "", "a.x": "on disk\nlast\n"}
Table = Callable[..., AbstractAsyncContextManager[tuple[Client, Client]]]
Json = dict[str, Any]


def without(capabilities: Json, *path: str) -> Json:
    """The same client without one capability."""
    made = copy.deepcopy(capabilities)
    node = made
    for name in path[:-1]:
        node = node[name]
    del node[path[-1]]
    return made


@pytest.fixture
def root(workspace: Workspace) -> Path:
    return workspace(FILES)


@pytest.fixture
def table(ombud: OmbudFactory, root: Path, peer_log: PeerLog) -> Table:
    """``async with table() as (editor, agent)``: both at one hub with one scripted server, a.x open in the editor."""

    @asynccontextmanager
    async def laid(capabilities: Json = VSCODE) -> AsyncIterator[tuple[Client, Client]]:
        servers = {"one": Script("one", log=peer_log)}
        async with (
            listening(ombud, root) as (_, port),
            connected(port, root, servers, name="editor", capabilities=capabilities) as editor,
            connected(port, root, servers, name="agent", capabilities=AGENT) as agent,
        ):
            editor.open("a.x", version=7)
            await hover(editor, "a.x")
            yield editor, agent
        well_behaved(peer_log)

    return laid


def text_of(client: Client, where: str = "a.x") -> str:
    return client.documents[client.uri(where)].text


async def test_an_unsaved_buffer_is_edited_in_its_editor_and_the_diagnostics_are_told(
    table: Table, root: Path, peer_log: PeerLog
) -> None:
    async with table() as (editor, agent):
        editor.change("a.x", "typed 😀 here\nERROR(e1): old\nlast\n")
        await hover(editor, "a.x")
        result = await edit(agent, "a.x", "here", "ERROR(e2): new", buffers="edit")
        assert next(iter(result)) == "applied"
        assert result["applied"] is True
        assert result["files"] == [{"path": "a.x", "status": "modified", "added": 1, "removed": 1}]
        assert "tests/editor" in result["note"]
        assert "not saved" in result["message"]
        assert introduced(result) == ["e2"]
        assert result["diagnostics"]["stillPresent"] == 1
        assert freshness(result) == {"one": "fresh"}
        (asked,) = [one for one in editor.server_requests if one.method == "workspace/applyEdit"]
        (change,) = asked.params["edit"]["documentChanges"]
        assert change["textDocument"] == {"uri": editor.uri("a.x"), "version": 8}
        # Only what differs, and its columns count a surrogate pair as two.
        (one,) = change["edits"]
        assert one["range"] == {"start": {"line": 0, "character": 9}, "end": {"line": 0, "character": 13}}
        assert text_of(editor) == "typed 😀 ERROR(e2): new\nERROR(e1): old\nlast\n"
        assert (root / "a.x").read_text() == FILES["a.x"]
        assert await peer_texts(agent, "one") == {"a.x": text_of(editor)}
        assert peer_log.received("textDocument/didSave") == []


async def test_D8_a_series_that_ends_in_a_buffer_is_told_with_it(table: Table, root: Path) -> None:
    (root / "b.x").write_text("other\n")
    async with table() as (editor, agent):
        editor.change("a.x", "typed\nlast\n")
        await hover(editor, "a.x")
        await edit(agent, "b.x", "other", "ERROR(first): b", diagnostics="defer")
        result = await edit(agent, "a.x", "typed", "ERROR(second): a", buffers="edit")
        found = result["diagnostics"]["introduced"]
        assert [(one["path"], one["code"]) for one in found] == [("a.x", "second"), ("b.x", "first")]


async def test_a_buffer_like_the_disk_is_edited_too_and_the_whole_text_may_be_given(table: Table, root: Path) -> None:
    async with table() as (editor, agent):
        params = {"path": "a.x", "content": "other\nlast\n", "buffers": "edit"}
        result = await agent.request("ombud/write", params)
        assert (result["applied"], freshness(result)) == (True, {"one": "fresh"})
        assert text_of(editor) == "other\nlast\n"
        assert (root / "a.x").read_text() == FILES["a.x"]
        # Once more: nothing differs, so nobody is asked.
        again = await agent.request("ombud/write", params)
        assert (again["applied"], again["files"][0]["added"]) == (True, 0)
        assert len([one for one in editor.server_requests if one.method == "workspace/applyEdit"]) == 1
        # What nobody has open is written to the disk, as without the option.
        created = await agent.request("ombud/write", {**params, "path": "b.x"})
        assert (root / "b.x").read_text() == "other\nlast\n"
        assert (created["files"][0]["status"], created.get("note")) == ("created", None)


async def test_the_session_that_asks_may_be_the_one_that_has_it_open(table: Table) -> None:
    async with table() as (editor, _):
        editor.change("a.x", "typed\n")
        result = await edit(editor, "a.x", "typed", "ERROR(e1): typed", buffers="edit")
        assert introduced(result) == ["e1"]
        assert text_of(editor) == "ERROR(e1): typed\n"


@pytest.mark.parametrize("missing", ["documentChanges", "resourceOperations"])
async def test_either_capability_of_versioned_edits_is_enough(table: Table, root: Path, missing: str) -> None:
    # Neovim has no documentChanges, and Emacs no resourceOperations.
    async with table(without(VSCODE, "workspace", "workspaceEdit", missing)) as (editor, agent):
        editor.change("a.x", "typed\n")
        await hover(editor, "a.x")
        result = await edit(agent, "a.x", "typed", "ERROR(e1): typed", buffers="edit")
        assert introduced(result) == ["e1"]
        assert text_of(editor) == "ERROR(e1): typed\n"
        assert (root / "a.x").read_text() == FILES["a.x"]


async def test_a_client_that_says_no_changes_nothing(table: Table) -> None:
    async with table() as (editor, agent):
        editor.change("a.x", "typed\n")
        await hover(editor, "a.x")
        params = {"path": "a.x", "edits": [{"oldText": "typed", "newText": "mine"}], "buffers": "edit"}

        async def refused() -> str:
            error = await failure(agent.start_request("ombud/edit", params), agent)
            assert (error.kind, error.data["path"]) == ("conflict", "a.x")
            assert error.data["clients"] == ["tests/editor"]
            assert "Nothing was changed" in str(error) or "nothing was done" in str(error)
            assert text_of(editor).startswith("typed")
            assert await peer_texts(agent, "one") == {"a.x": text_of(editor)}
            return str(error)

        usual = editor.handlers["workspace/applyEdit"]
        editor.handlers["workspace/applyEdit"] = lambda _: {"applied": False, "failureReason": "it is read-only"}
        assert "it is read-only" in await refused()

        def types_first(params: Json) -> Any:
            # The user was faster: the edit's version is not the buffer's any more (C4).
            editor.change("a.x", text_of(editor) + "more\n")
            return usual(params)

        editor.handlers["workspace/applyEdit"] = types_first
        await refused()
        editor.handlers["workspace/applyEdit"] = lambda _: ["nonsense"]
        await refused()
        editor.handlers["workspace/applyEdit"] = usual
        assert (await edit(agent, "a.x", "typed", "mine", buffers="edit"))["applied"]
        assert text_of(editor) == "mine\nmore\n"


async def test_a_client_that_is_gone_or_silent_while_it_is_asked_holds_nobody_up(table: Table) -> None:
    async with table() as (editor, agent):
        editor.change("a.x", "typed\n")
        await hover(editor, "a.x")
        # It says that it did, and never tells of a new text: the write is done, and of servers nothing is known.
        editor.handlers["workspace/applyEdit"] = lambda _: {"applied": True}
        silent = await edit(agent, "a.x", "typed", "mine", buffers="edit", waitMs=200)
        assert (silent["applied"], freshness(silent)) == (True, {"one": "unavailable"})
        assert "look at it there" in silent["note"] and "The change is in the buffer" not in silent["message"]
        assert "has not told of its new text" in silent["diagnostics"]["servers"][0]["reason"]
        editor.handlers["workspace/applyEdit"] = lambda _: NO_ANSWER
        asked = agent.start_request(
            "ombud/edit", {"path": "a.x", "edits": [{"oldText": "typed", "newText": "mine"}], "buffers": "edit"}
        )
        await editor.wait_request("workspace/applyEdit", lambda params: params["label"] == "Ombud: a.x")
        await editor.wait_request("workspace/applyEdit")
        # Nobody else waits for its user to decide.
        assert await hover(agent, "a.x") == "one: line 0: typed"
        assert not asked.done()
        editor.kill()
        error = await failure(asked, agent)
        assert (error.kind, "its connection has ended" in str(error)) == ("conflict", True)
        assert (await edit(agent, "a.x", "on disk", "written"))["applied"]


@pytest.mark.parametrize("missing", [("workspace", "applyEdit"), ("workspace", "workspaceEdit")])
async def test_a_client_that_takes_no_edits_is_never_asked(table: Table, root: Path, missing: tuple[str, ...]) -> None:
    async with table(without(VSCODE, *missing)) as (editor, agent):
        # Its buffer is like the disk: the file is written, as without the option.
        result = await edit(agent, "a.x", "on disk", "written", buffers="edit")
        assert result.get("note") is None
        assert (root / "a.x").read_text() == "written\nlast\n"
        editor.change("a.x", "typed\n")
        await hover(editor, "a.x")
        params = {"path": "a.x", "content": "mine\n", "buffers": "edit"}
        error = await failure(agent.start_request("ombud/write", params), agent)
        assert (error.kind, "takes no edits" in str(error)) == ("conflict", True)
        assert [one for one in editor.server_requests if one.method == "workspace/applyEdit"] == []


async def test_two_unsaved_buffers_are_a_conflict_and_so_is_one_without_the_option(table: Table, root: Path) -> None:
    async with table() as (editor, agent):
        editor.change("a.x", "typed\n")
        await hover(editor, "a.x")
        for buffers in ({}, {"buffers": "refuse"}):
            params = {"path": "a.x", "content": "mine\n", **buffers}
            error = await failure(agent.start_request("ombud/write", params), agent)
            assert (error.kind, error.data["clients"]) == ("conflict", ["tests/editor"])
        agent.open("a.x", "the agent's own\n")
        await hover(agent, "a.x")
        params = {"path": "a.x", "content": "mine\n", "buffers": "edit"}
        error = await failure(agent.start_request("ombud/write", params), agent)
        assert (error.kind, error.data["clients"]) == ("conflict", ["tests/agent", "tests/editor"])
        assert (root / "a.x").read_text() == FILES["a.x"]
