"""``ombud/rename`` with scripted servers: symbols, files and folders; what is written, refused and reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import edit, failure, freshness, hurried, introduced, peer_texts, serving, well_behaved
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT, VSCODE

Json = dict[str, Any]

FILES = {"x.toml": "", "a.x": "def alpha():\n    pass\n", "b.x": "alpha()\r\nalpha()\r\n"}
MOVES = {
    "workspace": {
        "fileOperations": {
            name: {"filters": [{"pattern": {"glob": "**/*.x"}}]} for name in ("willRename", "didRename", "didCreate")
        }
    }
}


async def rename(client: Client, path: str = "a.x", **params: Any) -> Json:
    where = {} if "newPath" in params or "position" in params else {"line": 1, "symbol": "alpha"}
    found: Json = await client.request("ombud/rename", {"path": path, **where, **params})
    return found


async def refused(client: Client, path: str = "a.x", **params: Any) -> Any:
    where = {} if "newPath" in params else {"line": 1, "symbol": "alpha"}
    error = await failure(client.start_request("ombud/rename", {"path": path, **where, **params}), client)
    assert error.message.endswith((".", "?")), error.message
    return error


def contents(root: Path) -> dict[str, bytes]:
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def put(text: str, line: int, start: int, end: int) -> Json:
    return {
        "range": {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}},
        "newText": text,
    }


# -- symbols ----------------------------------------------------------------------------------------------------------


async def test_a_symbol_is_renamed_in_all_files_and_the_result_is_reported(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, capabilities=AGENT) as client:
        client.open("a.x")
        client.open("b.x")
        result = await rename(client, newName="ERROR(e1): beta")
        assert next(iter(result)) == "applied"
        assert result["applied"] is True
        assert [
            (one["path"], one["status"], one["added"], one["removed"], one["edits"]) for one in result["files"]
        ] == [
            ("a.x", "modified", 1, 1, 1),
            ("b.x", "modified", 2, 2, 2),
        ]
        assert result["checkpoint"] and result["writeId"]
        assert (result["complete"], result["servers"]) == (True, ["one"])
        assert set(introduced(result)) == {"e1"}
        assert freshness(result) == {"one": "fresh"}
        assert (root / "b.x").read_bytes() == b"ERROR(e1): beta()\r\nERROR(e1): beta()\r\n"
        assert (await peer_texts(client, "one"))["b.x"] == (root / "b.x").read_bytes().decode()
    well_behaved(peer_log)


async def test_a_rename_that_is_only_told_or_tried_writes_nothing(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    before = contents(root)
    async with serving(ombud, root, {"one": Script("one")}, capabilities=AGENT) as client:
        client.open("b.x")
        told = await rename(client, newName="beta", apply=False)
        assert (told["applied"], told["diagnostics"]) == (False, None)
        assert "checkpoint" not in told
        files = {one["path"]: one for one in told["files"]}
        assert [one["line"] for one in files["b.x"]["edits"]] == [1, 2]
        assert files["a.x"]["edits"] == [{**put("beta", 0, 4, 9), "line": 1, "text": "def alpha():"}]
        assert (files["a.x"]["added"], files["a.x"]["removed"]) == (1, 1)
        tried = await rename(client, newName="ERROR(e1): beta", preview=True)
        assert (tried["applied"], tried["preview"]) == (False, True)
        assert "e1" in introduced(tried)
        assert contents(root) == before
        # Nothing of either is left with the server.
        assert (await peer_texts(client, "one"))["b.x"] == "alpha()\r\nalpha()\r\n"


@pytest.mark.parametrize("ends", [True, False])
async def test_D10_a_busy_server_is_waited_for_and_else_the_rename_is_called_partial(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog, ends: bool
) -> None:
    root = workspace(FILES)
    asked = ["window/workDoneProgress/create"]
    busy = Script("one", requestsOnInitialized=asked, progressMs=1500 if ends else 60_000, log=peer_log)
    patient = hurried(client_factory, operations__rename__REST_SECONDS=20 if ends else 0.2)
    async with serving(patient, root, {"one": busy}, capabilities=VSCODE) as client:
        client.open("b.x")
        await client.wait_notification("$/progress")
        result = await rename(client, newName="beta")
        assert (result["applied"], result["complete"]) == (True, ends)
        assert ("still busy" in result.get("note", "")) is not ends


NOWHERE = {"textDocument/prepareRename": None}
REFUSALS: dict[str, tuple[Json, Json, str, str]] = {
    "nothing to prepare": ({"answers": NOWHERE}, {}, "not_found", "nothing to rename there"),
    "nothing to rename": ({"answers": {"textDocument/rename": None}}, {}, "not_found", "nothing to rename there"),
    "an edit of nothing": (
        {"answers": {"textDocument/rename": {"changes": {}}}},
        {},
        "not_found",
        "nothing to rename there",
    ),
    "no such name": (
        {"errorsOn": {"textDocument/rename": {"code": -32602, "message": "beta ist vergeben"}}},
        {},
        "server_failed",
        "beta ist vergeben",
    ),
    "not to be renamed": (
        {"errorsOn": {"textDocument/prepareRename": {"code": -32603, "message": "that is a keyword"}}},
        {},
        "server_failed",
        "that is a keyword",
    ),
    "nobody renames": ({"features": ["hover"]}, {}, "no_server", "cannot rename"),
    "a shape of its own": (
        {"answers": {"textDocument/rename": {"documentChanges": [{"edits": []}]}}},
        {},
        "server_failed",
        "another shape",
    ),
    "an empty name": ({}, {"newName": ""}, "invalid_params", "newName"),
    "two new names": ({}, {"newPath": "c.x"}, "invalid_params", "either newName"),
    "not there": ({}, {"symbol": "gamma"}, "invalid_params", "gamma"),
}


@pytest.mark.parametrize("name", REFUSALS)
async def test_what_cannot_be_renamed_changes_nothing(ombud: OmbudFactory, workspace: Workspace, name: str) -> None:
    keys, params, kind, words = REFUSALS[name]
    root = workspace(FILES)
    before = contents(root)
    async with serving(ombud, root, {"one": Script("one", **keys)}, capabilities=AGENT) as client:
        client.open("b.x")
        # What names no new path names the symbol as well.
        asked = {"path": "a.x", "line": 1, "symbol": "alpha", "newName": "beta", **params}
        error = await failure(client.start_request("ombud/rename", asked), client)
        assert (error.kind, words in error.message) == (kind, True), error.message
        assert contents(root) == before


@pytest.mark.parametrize("what", ["another version", "outside", "a secret"])
async def test_C4_an_edit_with_one_bad_file_is_refused_whole(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, what: str
) -> None:
    root = workspace(FILES)
    (root / ".env").write_text("alpha=1\n")
    (tmp_path / "library.x").write_text("alpha\n")
    before = contents(root)
    bad = {"another version": root / "b.x", "outside": tmp_path / "library.x", "a secret": root / ".env"}[what]
    document = {"uri": bad.as_uri(), "version": 4711 if what == "another version" else None}
    answer = {
        "documentChanges": [
            {"textDocument": {"uri": (root / "a.x").as_uri(), "version": None}, "edits": [put("beta", 0, 4, 9)]},
            {"textDocument": document, "edits": [put("beta", 0, 0, 5)]},
        ]
    }
    script = Script("one", answers={"textDocument/rename": answer})
    async with serving(ombud, root, {"one": script}, capabilities=AGENT) as client:
        client.open("b.x")
        error = await refused(client, newName="beta")
        kinds = {"another version": "conflict", "outside": "outside_workspace", "a secret": "sensitive_path"}
        assert error.kind == kinds[what]
        assert bad.name in error.message
        assert contents(root) == before
        assert (tmp_path / "library.x").read_text() == "alpha\n"


async def test_C4_a_text_that_changes_while_the_server_thinks_is_not_renamed(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    script = Script("one", slow={"textDocument/rename": 2000}, log=peer_log)
    async with serving(ombud, root, {"one": script}, capabilities=AGENT) as client:
        client.open("b.x")
        asked = {"path": "a.x", "line": 1, "symbol": "alpha", "newName": "beta"}
        pending = client.start_request("ombud/rename", asked)
        await peer_log.wait_received("textDocument/rename")
        await edit(client, "a.x", "def alpha", "x = 1\ndef alpha", diagnostics="none")
        error = await failure(pending, client)
        assert (error.kind, "a.x" in error.message) == ("conflict", True)
        assert (root / "a.x").read_text() == "x = 1\ndef alpha():\n    pass\n"
        assert (root / "b.x").read_bytes() == FILES["b.x"].encode()


async def test_an_unsaved_buffer_is_not_written_under_its_editor(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    before = contents(root)
    async with serving(ombud, root, {"one": Script("one")}) as client:
        client.open("b.x")
        client.change("b.x", "alpha() # more\r\n")
        error = await refused(client, newName="beta")
        assert error.kind == "conflict"
        assert "unsaved changes" in error.message
        assert contents(root) == before


async def test_renaming_needs_the_tier_write(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one")}, tiers=["read"]) as client:
        for params in ({"newName": "beta"}, {"newName": "beta", "apply": False}, {"newPath": "c.x"}):
            assert (await refused(client, **params)).kind == "permission_denied"


# -- files and folders ------------------------------------------------------------------------------------------------


async def test_a_file_is_moved_with_the_imports_of_it(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({**FILES, "b.x": "use a\r\n"})
    b_x = (root / "b.x").as_uri()
    answer = {"documentChanges": [{"textDocument": {"uri": b_x, "version": None}, "edits": [put("c", 0, 4, 5)]}]}
    script = Script("one", capabilities=MOVES, answers={"workspace/willRenameFiles": answer}, log=peer_log)
    async with serving(ombud, root, {"one": script}, capabilities=AGENT) as client:
        result = await rename(client, newPath="lib/c.x")
        assert [(one["path"], one["status"], one.get("from"), one["edits"]) for one in result["files"]] == [
            ("b.x", "modified", None, 1),
            ("lib/c.x", "renamed", "a.x", 0),
        ]
        assert result["servers"] == ["one"]
        moved = contents(root)
        assert moved["b.x"] == b"use c\r\n"
        assert moved["lib/c.x"] == FILES["a.x"].encode()
        assert "a.x" not in moved
        pair = {"oldUri": (root / "a.x").as_uri(), "newUri": (root / "lib/c.x").as_uri()}
        (asked,) = peer_log.received("workspace/willRenameFiles")
        (told,) = await peer_log.wait_received("workspace/didRenameFiles")
        assert asked["params"]["files"] == told["params"]["files"] == [pair]
        await client.request("ombud/write", {"path": "new.x", "content": "new\n"})
        (told,) = await peer_log.wait_received("workspace/didCreateFiles")
        assert told["params"]["files"] == [{"uri": (root / "new.x").as_uri()}]
    well_behaved(peer_log)


async def test_a_folder_is_moved_whole(ombud: OmbudFactory, workspace: Workspace, tmp_path: Path) -> None:
    """A server that asked for folders hears of the folder, one that asked for files of each file."""
    root = workspace({"x.toml": "", "lib/a.x": "one\n", "lib/deep/b.x": "two\n", "lib/pic.bin": "\0\1", "c.x": ""})
    logs = {name: PeerLog(tmp_path / f"{name}.jsonl") for name in ("folders", "files")}

    def moves(kind: str, glob: str) -> Json:
        filters = [{"pattern": {"glob": glob, "matches": kind}}]
        return {
            "workspace": {"fileOperations": {"willRename": {"filters": filters}, "didRename": {"filters": filters}}}
        }

    scripts = {
        "folders": Script("folders", capabilities=moves("folder", "**"), log=logs["folders"]),
        "files": Script("files", capabilities=moves("file", "**/*.x"), log=logs["files"]),
    }
    scripts = {name: one.but(answers={"workspace/willRenameFiles": None}) for name, one in scripts.items()}
    async with serving(ombud, root, scripts, capabilities=AGENT) as client:
        result = await rename(client, "lib", newPath="src/lib")
        assert {one["path"]: one["from"] for one in result["files"]} == {
            f"src/lib/{name}": f"lib/{name}" for name in ("a.x", "deep/b.x", "pic.bin")
        }
        assert not (root / "lib").exists()
        assert (root / "src/lib/pic.bin").read_bytes() == b"\0\1"
        (told,) = await logs["folders"].wait_received("workspace/didRenameFiles")
        pair = {"oldUri": (root / "lib").as_uri(), "newUri": (root / "src/lib").as_uri()}
        assert told["params"]["files"] == [pair]
        (told,) = await logs["files"].wait_received("workspace/didRenameFiles")
        assert [Path(one["newUri"]).name for one in told["params"]["files"]] == ["a.x", "b.x"]
    well_behaved(*logs.values())


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("a.x", "b.x", "conflict"),
        ("a.x", "../c.x", "outside_workspace"),
        ("a.x", ".env", "sensitive_path"),
        ("no.x", "c.x", "not_found"),
        ("lib", "lib/in/it", "conflict"),
        ("a.x", "a.x", "invalid_params"),
    ],
)
async def test_a_file_that_cannot_be_moved_stays(
    ombud: OmbudFactory, workspace: Workspace, old: str, new: str, kind: str
) -> None:
    root = workspace({**FILES, "lib/d.x": ""})
    before = contents(root)
    async with serving(ombud, root, {"one": Script("one", capabilities=MOVES)}, capabilities=AGENT) as client:
        assert (await refused(client, old, newPath=new)).kind == kind
        assert contents(root) == before


async def test_a_server_that_fails_leaves_the_move_incomplete_and_says_so(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    errors = {"workspace/willRenameFiles": {"code": -32603, "message": "no idea"}}
    async with serving(
        ombud, root, {"one": Script("one", capabilities=MOVES, errorsOn=errors)}, capabilities=AGENT
    ) as client:
        result = await rename(client, newPath="c.x")
        assert (result["applied"], result["complete"]) == (True, False)
        assert "no idea" in result["note"]
        assert "c.x" in contents(root)
