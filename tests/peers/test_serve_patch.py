"""``apply_patch`` over LSP: several files in one write, what that introduced, and nothing where one hunk is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.commits import snapshot
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import failure, introduced, peer_texts, serving, well_behaved
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

Json = dict[str, Any]
FILES = {"x.toml": "", "a.x": "one\ntwo\nthree\n", "b.x": "one\ntwo\nthree\n", "c.x": "gone\n", "d.x": "moves\n"}
CHANGE = "@@ -2 +2 @@\n-two\n+two {}\n"
PATCH = (
    "--- a/a.x\n+++ b/a.x\n" + CHANGE.format("ERROR(E1): x") + "--- a/b.x\n+++ b/b.x\n" + CHANGE.format("fine") +
    "--- /dev/null\n+++ b/new/e.x\n@@ -0,0 +1 @@\n+ERROR(E2): x\n"
    "--- a/c.x\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"
    "diff --git a/d.x b/new/d.x\nsimilarity index 50%\nrename from d.x\nrename to new/d.x\n"
    "--- a/d.x\n+++ b/new/d.x\n@@ -1 +1 @@\n-moves\n+moved\n"
)  # fmt: skip


async def patch(client: Client, text: str, **more: Any) -> Json:
    found: Json = await client.request("ombud/applyPatch", {"patch": text, **more})
    return found


async def test_C1_all_files_of_a_patch_in_one_write(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        result = await patch(client, PATCH)
        assert next(iter(result)) == "applied" and result["applied"] is True
        assert result["files"] == [
            {"path": "a.x", "status": "modified", "added": 1, "removed": 1},
            {"path": "b.x", "status": "modified", "added": 1, "removed": 1},
            {"path": "new/e.x", "status": "created", "added": 1, "removed": 0},
            {"path": "c.x", "status": "deleted", "added": 0, "removed": 1},
            {"path": "new/d.x", "status": "renamed", "added": 1, "removed": 1, "from": "d.x"},
        ]
        assert result["checkpoint"] and result["writeId"]
        assert sorted(introduced(result)) == ["E1", "E2"]
        assert {one["path"] for one in result["diagnostics"]["introduced"]} == {"a.x", "new/e.x"}
        assert {one["freshness"] for one in result["diagnostics"]["servers"]} == {"fresh"}
        files = {path: one[0] for path, one in snapshot(root).items() if one[0] != "folder"}
        assert files == {
            "x.toml": b"",
            "a.x": b"one\ntwo ERROR(E1): x\nthree\n",
            "b.x": b"one\ntwo fine\nthree\n",
            "new/e.x": b"ERROR(E2): x\n",
            "new/d.x": b"moved\n",
        }
        # The very same patch again finds nothing of what it wants.
        error = await failure(client.start_request("ombud/applyPatch", {"patch": PATCH}), client)
        assert error.kind == "conflict"
    well_behaved(peer_log)


async def test_a_rollback_undoes_all_files_of_a_patch(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    before = snapshot(root)
    async with serving(ombud, root, {}) as client:
        result = await patch(client, PATCH)
        await client.request("ombud/rollback", {"checkpoint": result["checkpoint"]})
        assert {path: one for path, one in snapshot(root).items() if one[0] != "folder"} == before


async def test_a_preview_of_a_patch_writes_nothing(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    before = snapshot(root)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        shown = PATCH[: PATCH.index("--- a/c.x")]
        result = await patch(client, shown, preview=True)
        assert result["applied"] is False and result["preview"] is True
        assert [one["status"] for one in result["files"]] == ["modified", "modified", "created"]
        assert sorted(introduced(result)) == ["E1", "E2"]
        assert snapshot(root) == before
        # With files that go it says the same of the patch; what servers can know of it is another matter.
        assert [one["status"] for one in (await patch(client, PATCH, preview=True))["files"]][-1] == "renamed"
        assert snapshot(root) == before
        assert sorted(introduced(await patch(client, PATCH))) == ["E1", "E2"]
    well_behaved(peer_log)


GOOD = "--- a/a.x\n+++ b/a.x\n" + CHANGE.format("new")


@pytest.mark.parametrize(
    ("more", "code", "kind", "data"),
    [
        ("--- a/b.x\n+++ b/b.x\n@@ -1,2 +1,2 @@\n one\n-2\n+x\n", -32803, "conflict", {"hunk": 1, "patchLine": 8}),
        ("--- /dev/null\n+++ b/b.x\n@@ -0,0 +1 @@\n+x\n", -32803, "conflict", {"path": "b.x"}),
        ("--- a/k.x\n+++ b/k.x\n@@ -1 +1 @@\n-a\n+b\n", -32803, "not_found", {}),
        ("--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n", -32803, "sensitive_path", {}),
        ("--- /dev/null\n+++ b/../e.x\n@@ -0,0 +1 @@\n+x\n", -32803, "outside_workspace", {}),
        ("diff --git a/b.x b/b.x\nindex 1..2\nGIT binary patch\nliteral 0\n", -32602, "invalid_params", {"line": 8}),
        ("--- a/b.x\n+++ b/b.x\n@@ -1 +1 @@\nno sign\n", -32602, "invalid_params", {"line": 8}),
        ("--- a/b.x\n+++ b/b.x\n@@\n+x\n", -32602, "invalid_params", {"line": 8}),
    ],
    ids=["hunk", "exists", "missing", "sensitive", "outside", "binary", "unreadable", "placeless"],
)  # fmt: skip
async def test_C4_one_wrong_part_refuses_the_whole_patch(
    ombud: OmbudFactory, workspace: Workspace, more: str, code: int, kind: str, data: Json
) -> None:
    root = workspace(FILES)
    before = snapshot(root)
    async with serving(ombud, root, {}) as client:
        error = await failure(client.start_request("ombud/applyPatch", {"patch": GOOD + more}), client)
        assert (error.code, error.kind) == (code, kind)
        assert {key: error.data.get(key) for key in data} == data
        if data.get("hunk"):
            assert error.data["candidates"][0]["line"] == 1
        assert snapshot(root) == before


async def test_a_patch_of_an_open_file_with_unsaved_changes_is_a_conflict(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    before = snapshot(root)
    async with serving(ombud, root, {"one": Script("one")}) as client:
        client.open("b.x")
        client.change("b.x", "typed\n")
        await wait_until_open(client, "b.x", "typed\n")
        error = await failure(client.start_request("ombud/applyPatch", {"patch": PATCH}), client)
        assert (error.kind, error.data["path"]) == ("conflict", "b.x")
        assert snapshot(root) == before


async def wait_until_open(client: Client, path: str, text: str) -> None:
    async def seen() -> bool:
        texts = await peer_texts(client, "one")
        return any(uri.endswith(path) and known == text for uri, known in texts.items())

    await wait_until(seen, 30, "the server has the typed text")


async def test_C5_a_server_sees_a_file_renamed_and_changed_in_one_patch(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    text = "diff --git a/a.x b/m.x\nrename from a.x\nrename to m.x\n--- a/m.x\n+++ b/m.x\n" + CHANGE.format(
        "ERROR(E1): x"
    )
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        result = await patch(client, text)
        assert [(one["path"], one["status"], one["from"]) for one in result["files"]] == [("m.x", "renamed", "a.x")]
        assert introduced(result) == ["E1"]
        assert not (root / "a.x").exists()
        assert (root / "m.x").read_text() == "one\ntwo ERROR(E1): x\nthree\n"
    well_behaved(peer_log)


@pytest.mark.parametrize("data", [b"\xef\xbb\xbfone\r\ntwo\r\n", "\ufeffone\r\ntwo\r\n".encode("utf-16-le")])
async def test_C6_a_file_keeps_its_encoding_its_mark_and_its_line_ends(
    ombud: OmbudFactory, workspace: Workspace, data: bytes
) -> None:
    root = workspace({**FILES, "m.x": data})
    async with serving(ombud, root, {}) as client:
        await patch(client, "--- a/m.x\n+++ b/m.x\n@@ -1,2 +1,3 @@\n one\n-two\n+zwei\n+drei\n")
    encoding = "utf-8-sig" if data.startswith(b"\xef") else "utf-16"
    assert (root / "m.x").read_bytes().decode(encoding) == "one\r\nzwei\r\ndrei\r\n"
    assert (root / "m.x").read_bytes()[:2] == data[:2]


async def test_C8_modes_and_links(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**FILES, "bin.x": b"\0\1"})
    (root / "link.x").symlink_to("b.x")
    mode = "old mode 100644\nnew mode 100755\n"
    text = f"diff --git a/a.x b/a.x\n{mode}diff --git a/bin.x b/bin.x\n{mode}"
    async with serving(ombud, root, {"one": Script("one")}) as client:
        result = await patch(client, text)
        assert [(one["path"], one["status"]) for one in result["files"]] == [("a.x", "modified"), ("bin.x", "modified")]
        await patch(client, "--- a/link.x\n+++ b/link.x\n" + CHANGE.format("new"))
    assert [mode_of(root / name) for name in ("a.x", "bin.x", "b.x")] == [0o755, 0o755, 0o644]
    assert (root / "link.x").is_symlink()
    assert (root / "b.x").read_text() == "one\ntwo new\nthree\n"


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777
