"""Staged rewrites over LSP: what is shown, what a commit writes, and what refuses it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commits import snapshot
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import failure, hurried, meddled, together
from tests.peers.staging import NEW, OLD, Stager, names, staging

FILES: dict[str, str | bytes] = {
    "a.py": "import x\n\n\ndef f():\n    return old(1), old(2)\n",
    "b.py": b"\xef\xbb\xbfold('\xc3\xa4')\r\nkept = 1\r\n",
    "sub/c.py": "if True:\n\told(old(3))",
    "sub/deep/d.py": "# old(4)\nx = 'old(5)'\nold(6)\n",
    "other.txt": "old(7)\n",
    "apart.py": "young(8)\n",
}
COMMITTED: dict[str, str | bytes] = {
    **FILES,
    "a.py": "import x\n\n\ndef f():\n    return new(1), new(2)\n",
    "b.py": b"\xef\xbb\xbfnew('\xc3\xa4')\r\nkept = 1\r\n",
    "sub/c.py": "if True:\n\tnew(new(3))",
    "sub/deep/d.py": "# old(4)\nx = 'old(5)'\nnew(6)\n",
}
TOUCHED = ["a.py", "b.py", "sub/c.py", "sub/deep/d.py"]


@pytest.fixture
async def stager(ombud: OmbudFactory, workspace: Workspace) -> AsyncIterator[Stager]:
    async with staging(ombud, workspace(FILES)) as made:
        yield made


def holds(root: Path, files: dict[str, str | bytes]) -> None:
    """Every file, byte for byte."""
    wanted = {name: text.encode() if isinstance(text, str) else text for name, text in files.items()}
    found = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    assert found == wanted


# -- staging and committing


async def test_a_rewrite_is_staged_shown_and_then_committed_whole(stager: Stager, tmp_path: Path) -> None:
    (stager.root / "a.py").chmod(0o755)
    made = await stager.stage()
    assert names(made["files"]) == TOUCHED
    assert [one["replacements"] for one in made["files"]] == [2, 1, 2, 1]
    assert (made["replacements"], made["overlapping"], made["truncated"]) == (6, 0, False)
    assert {one["path"] for one in made["matches"]} == set(TOUCHED)
    assert made["matches"][0]["captures"]["X"]["text"] == "1"
    # The diffs are what a commit does: git comes to the same bytes by them.
    copy = Path(shutil.copytree(stager.root, tmp_path / "copy"))
    diff = "".join(one["diff"] for one in made["files"]).encode()
    subprocess.run(["git", "apply", "--unsafe-paths", "-"], cwd=copy, input=diff, check=True, capture_output=True)
    holds(copy, COMMITTED)
    result = await stager.commit(made["editId"])
    holds(stager.root, COMMITTED)
    assert (stager.root / "a.py").stat().st_mode & 0o777 == 0o755
    assert {(one["path"], one["status"]) for one in result["files"]} == {(name, "modified") for name in TOUCHED}
    assert (result["editId"], result["remaining"]) == (made["editId"], [])
    assert await stager.ids() == []
    await stager.ask("rollback", checkpoint=result["checkpoint"], waitMs=0)
    holds(stager.root, FILES)


async def test_C1_a_commit_writes_the_staged_bytes_and_never_runs_the_rewrite_again(stager: Stager) -> None:
    """oh-my-pi#2665: applying re-ran the rewrite; one of three files changed."""
    made = await stager.staged_id()
    # A run of today would find this one as well.
    (stager.root / "late.py").write_text("old(9)\n")
    (stager.root / ".gitignore").write_text("sub/\n")
    await stager.commit(made)
    holds(stager.root, {**COMMITTED, "late.py": "old(9)\n", ".gitignore": "sub/\n"})


async def test_C1_five_hundred_files_are_committed_together(ombud: OmbudFactory, workspace: Workspace) -> None:
    files = {f"p{number % 20}/m{number}.py": f"old({number})\nkept\n" for number in range(500)}
    async with staging(ombud, workspace(files)) as stager:
        made = await stager.stage()
        assert (len(made["files"]), made["replacements"], len(made["matches"])) == (500, 500, 50)
        (stager.root / "p3/m3.py").write_text("old(3)\nnot kept\n")
        (stager.root / "p7/m487.py").unlink()
        error = await stager.not_committed(made["editId"])
        assert (error.kind, error.data["paths"]) == ("file_changed", ["p3/m3.py", "p7/m487.py"])
        again = await stager.ask("restage", editId=made["editId"])
        assert (len(again["files"]), await stager.ids()) == (499, [again["editId"]])
        result = await stager.commit(again["editId"])
        assert len(result["files"]) == 499
        texts = {path.relative_to(stager.root).as_posix(): path.read_text() for path in stager.root.rglob("*.py")}
        wanted = {name: text.replace("old", "new") for name, text in files.items() if name != "p7/m487.py"}
        assert texts == {**wanted, "p3/m3.py": "new(3)\nnot kept\n"}


async def test_C8_links_modes_and_second_names_stay(stager: Stager) -> None:
    (stager.root / "link.py").symlink_to("sub/c.py")
    os.link(stager.root / "a.py", stager.root / "twin.txt")
    made = await stager.stage(path="link.py")
    assert names(made["files"]) == ["sub/c.py"]
    await stager.commit(made["editId"])
    await stager.commit((await stager.stage(path="a.py"))["editId"])
    seen = snapshot(stager.root)
    assert seen["link.py"] == ("link", "sub/c.py")
    assert seen["sub/c.py"][0] == b"if True:\n\tnew(new(3))"
    assert seen["twin.txt"][::2] == (seen["a.py"][0], "a.py")
    assert seen["a.py"][0] == b"import x\n\n\ndef f():\n    return new(1), new(2)\n"


async def test_a_rewrite_over_two_folders_is_one_commit(ombud: OmbudFactory, workspace: Workspace) -> None:
    roots = [workspace({"a.py": "old(1)\n"}, name=name) for name in ("one", "two")]
    async with ombud(cwd=roots[0]) as client:
        await client.initialize(roots, {"ombud": {"trusted": True}})
        made = await client.request("ombud/astEdit", {"pattern": OLD, "rewrite": NEW}, 120)
        there = str(roots[1] / "a.py")
        assert names(made["files"]) == ["a.py", there]
        (roots[1] / "a.py").write_text("old(2)\n")
        decide = {"editId": made["editId"], "action": "commit", "waitMs": 0}
        error = await failure(client.start_request("ombud/resolve", decide), client)
        assert (error.data["paths"], (roots[0] / "a.py").read_text()) == ([there], "old(1)\n")
        made = await client.request("ombud/restage", {"editId": made["editId"]}, 120)
        result = await client.request("ombud/resolve", {**decide, "editId": made["editId"]}, 120)
        assert [(root / "a.py").read_text() for root in roots] == ["new(1)\n", "new(2)\n"]
        assert len(result["files"]) == 2


async def test_where_nothing_matches_nothing_is_staged(stager: Stager) -> None:
    made = await stager.stage("absent($X)")
    assert (made["editId"], made["files"], made["expires"]) == (None, [], None)
    assert "nothing matches" in made["message"].lower()
    same = await stager.stage(OLD, OLD)
    assert (same["editId"], len(same["refused"])) == (None, 4)
    assert await stager.ids() == []


async def test_where_nobody_knows_of_what_type_anything_is_nothing_is_staged(stager: Stager) -> None:
    made = await stager.stage(where={"X": {"type": "int"}})
    assert (made["editId"], made["files"]) == (None, [])
    assert "type" in made["note"]


async def test_a_preview_of_a_commit_changes_nothing(stager: Stager) -> None:
    made = await stager.staged_id()
    before = stager.state()
    result = await stager.commit(made, preview=True)
    assert names(result["files"]) == TOUCHED == result["remaining"]
    assert stager.state() == before
    assert await stager.ids() == [made]
    assert (await stager.discard(made, preview=True))["remaining"] == TOUCHED
    assert await stager.ids() == [made]


async def test_several_ops_are_one_edit(stager: Stager) -> None:
    ops = [{"pattern": "old(1)", "rewrite": "first()"}, {"pattern": "old(2)", "rewrite": "first()"}]
    made = await stager.ask("astEdit", ops=ops, path="a.py")
    await stager.commit(made["editId"])
    assert stager.text("a.py").endswith("return first(), first()\n")


# -- what refuses a commit


def removed(root: Path) -> None:
    (root / "b.py").unlink()


def rewritten(root: Path) -> None:
    (root / "b.py").write_bytes(b"old(1)\n")


def one_byte(root: Path) -> None:
    (root / "b.py").write_bytes((root / "b.py").read_bytes().replace(b"\xef\xbb\xbf", b""))


def a_folder(root: Path) -> None:
    removed(root)
    (root / "b.py").mkdir()


def a_link_to_the_same_text(root: Path) -> None:
    shutil.copy(root / "b.py", root / "same.txt")
    removed(root)
    (root / "b.py").symlink_to("same.txt")


def a_pipe(root: Path) -> None:
    removed(root)
    os.mkfifo(root / "b.py")


def no_text(root: Path) -> None:
    (root / "b.py").write_bytes(b"\0\xff" * 10)


@pytest.mark.parametrize("meddle", [removed, rewritten, one_byte, a_folder, a_link_to_the_same_text, a_pipe, no_text])
async def test_C1_one_file_that_is_not_as_it_was_refuses_all(stager: Stager, meddle: Callable[[Path], None]) -> None:
    made = await stager.staged_id()
    meddle(stager.root)
    before = {name: (stager.root / name).read_bytes() for name in TOUCHED if name != "b.py"}
    error = await _refused_with_pipes(stager, made)
    assert (error.code, error.kind, error.data["paths"]) == (-32803, "file_changed", ["b.py"])
    assert error.data["editId"] == made
    assert "b.py" in error.message and "restage" in error.message
    assert {name: (stager.root / name).read_bytes() for name in before} == before
    # The others can still be had.
    result = await stager.commit(made, paths=["a.py", "sub"])
    assert result["remaining"] == ["b.py"]
    assert stager.text("sub/c.py") == COMMITTED["sub/c.py"]


async def _refused_with_pipes(stager: Stager, made: str) -> Any:
    """As `Stager.not_committed`, where what is there may be no file that can be read."""
    params = {"editId": made, "action": "commit"}
    error = await failure(stager.client.start_request("ombud/resolve", params), stager.client)
    assert await stager.ids() == [made]
    return error


async def test_C1_a_file_that_changes_while_the_commit_is_under_way_refuses_all(
    client_factory: ClientFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    orders = root.parent / "orders"
    made = meddled(client_factory, at="workspace.commit.commit", orders=str(orders))
    async with staging(made, root) as stager:
        edit = await stager.staged_id()
        orders.write_text(f'[["write", "{root}/a.py", "theirs\\n"]]')
        params = {"editId": edit, "action": "commit"}
        error = await failure(stager.client.start_request("ombud/resolve", params), stager.client)
        assert (error.kind, error.data["paths"], error.data["editId"]) == ("file_changed", ["a.py"], edit)
        assert "restage" in error.message
        holds(root, {**FILES, "a.py": "theirs\n"})
        assert await stager.ids() == [edit]


# -- open buffers


async def test_C1_a_buffer_that_was_typed_in_since_refuses_all(stager: Stager) -> None:
    client = stager.client
    client.open("a.py")
    made = await stager.staged_id()
    client.change("a.py", "old(1)\n# typed\n")
    error = await stager.not_committed(made)
    assert (error.kind, error.data["paths"]) == ("file_changed", ["a.py"])
    assert list(error.data["unsaved"]) == ["a.py"]
    assert "tests/ombud" in error.message
    client.change("a.py", str(FILES["a.py"]))
    await stager.commit(made)
    holds(stager.root, COMMITTED)


async def test_C1_all_that_is_not_as_it_was_is_told_at_once(stager: Stager) -> None:
    client = stager.client
    client.open("a.py"), client.open("sub/c.py")
    made = await stager.staged_id()
    client.change("a.py", "old(1)\n# typed\n"), client.change("sub/c.py", "")
    (stager.root / "b.py").unlink()
    error = await stager.not_committed(made)
    assert (error.kind, error.data["paths"]) == ("file_changed", ["a.py", "b.py", "sub/c.py"])
    assert sorted(error.data["unsaved"]) == ["a.py", "sub/c.py"]
    # What is not asked for is in nobody's way.
    assert (await stager.commit(made, paths=["sub/deep"]))["remaining"] == ["a.py", "b.py", "sub/c.py"]


async def test_C1_another_clients_buffer_refuses_all_as_well(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with together(ombud, root, {}, "editor", "agent") as (editor, agent):
        stager = Stager(agent, root)
        made = await stager.staged_id()
        editor.open("sub/c.py", "old(33)\n")
        await editor.request("ombud/status", {})
        error = await stager.not_committed(made)
        assert (error.kind, error.data["unsaved"]) == ("file_changed", {"sub/c.py": ["tests/editor"]})
        # What it would be refused for is told beforehand.
        again = await stager.ask("restage", editId=made)
        assert "sub/c.py" in again["note"] and "unsaved" in again["note"]
        error = await stager.not_committed(again["editId"])
        assert error.data["paths"] == ["sub/c.py"]
        editor.save("sub/c.py")
        await editor.request("ombud/status", {})
        await stager.commit(again["editId"])
        holds(root, {**COMMITTED, "sub/c.py": "new(33)\n"})


async def test_an_unsaved_buffer_is_rewritten_as_it_is_and_committed_once_it_is_saved(stager: Stager) -> None:
    client = stager.client
    client.open("b.py", "old(1)\r\nold(2)\r\n")
    made = await stager.stage(path="b.py")
    assert made["replacements"] == 2
    assert "b.py" in made["note"] and "unsaved" in made["note"]
    error = await stager.not_committed(made["editId"])
    assert (error.kind, error.data["paths"]) == ("file_changed", ["b.py"])
    # An editor keeps the file's mark when it saves.
    (stager.root / "b.py").write_bytes(b"\xef\xbb\xbfold(1)\r\nold(2)\r\n")
    client.save("b.py", write=False)
    await stager.commit(made["editId"])
    assert (stager.root / "b.py").read_bytes() == b"\xef\xbb\xbfnew(1)\r\nnew(2)\r\n"


# -- parts of an edit


@pytest.mark.parametrize("way", ["relative", "absolute", "uri", "folder"])
async def test_some_files_are_committed_and_the_rest_stays_staged(stager: Stager, way: str) -> None:
    made = await stager.staged_id()
    path = stager.root / "sub/deep/d.py"
    named = {"relative": "sub/deep/d.py", "absolute": str(path), "uri": path.as_uri(), "folder": "sub/deep"}[way]
    result = await stager.commit(made, paths=[named])
    assert names(result["files"]) == ["sub/deep/d.py"]
    assert result["remaining"] == ["a.py", "b.py", "sub/c.py"]
    holds(stager.root, {**FILES, "sub/deep/d.py": COMMITTED["sub/deep/d.py"]})
    error = await stager.not_committed(made, paths=[named])
    assert error.code == -32602
    assert (await stager.discard(made, paths=["sub/c.py"]))["remaining"] == ["a.py", "b.py"]
    assert names((await stager.listed())[0]["files"]) == ["a.py", "b.py"]
    await stager.commit(made)
    holds(stager.root, {**COMMITTED, "sub/c.py": FILES["sub/c.py"]})
    assert await stager.ids() == []


async def test_what_was_decided_on_stays_as_it_is_when_the_rest_is_staged_anew(stager: Stager) -> None:
    # The new text matches again, and must not be rewritten a second time.
    made = await stager.staged_id(pattern="old($X)", rewrite="old($X, 0)", globs=["*.py", "!sub/**"])
    with_more = await stager.staged_id(pattern="old($$$X)", rewrite="old($$$X, 0)")
    await stager.commit(with_more, paths=["a.py"])
    await stager.discard(with_more, paths=["b.py"])
    again = await stager.ask("restage", editId=with_more)
    assert names(again["files"]) == ["sub/c.py", "sub/deep/d.py"]
    assert set(await stager.ids()) == {made, again["editId"]}


@pytest.mark.parametrize("paths", [["apart.py"], ["a.py", "other.txt"], ["nowhere.py"], ["a.pyx"]])
async def test_a_path_that_is_not_of_the_edit_is_an_error(stager: Stager, paths: list[str]) -> None:
    made = await stager.staged_id()
    for action in ("commit", "discard"):
        error = await stager.refused("resolve", editId=made, action=action, paths=paths)
        assert (error.code, error.kind) == (-32602, "invalid_params")
        assert paths[-1] in error.message


# -- several edits


async def test_edits_with_a_file_in_common_name_each_other_and_the_second_is_staged_anew(stager: Stager) -> None:
    first = await stager.stage(path="a.py")
    second = await stager.stage(OLD, "newer($X)")
    apart = await stager.stage("young($X)", "younger($X)")
    assert [one["conflictsWith"] for one in (first, second, apart)] == [[], [first["editId"]], []]
    assert first["editId"] in second["message"]
    listed = {one["editId"]: one["conflictsWith"] for one in await stager.listed()}
    assert listed == {
        first["editId"]: [second["editId"]],
        second["editId"]: [first["editId"]],
        apart["editId"]: [],
    }
    await stager.commit(first["editId"])
    error = await stager.not_committed(second["editId"])
    assert (error.kind, error.data["paths"]) == ("file_changed", ["a.py"])
    assert "restage" in error.message
    again = await stager.ask("restage", editId=second["editId"])
    assert names(again["files"]) == ["b.py", "sub/c.py", "sub/deep/d.py"]
    await stager.commit(again["editId"])
    await stager.commit(apart["editId"])
    assert (stager.text("apart.py"), await stager.ids()) == ("younger(8)\n", [])


async def test_a_restage_that_finds_nothing_leaves_the_edit_staged(stager: Stager) -> None:
    made = await stager.staged_id(path="a.py")
    (stager.root / "a.py").write_text("young(1)\n")
    again = await stager.ask("restage", editId=made)
    assert again["editId"] is None
    assert made in again["message"]
    assert await stager.ids() == [made]


# -- ids, restarts, ends


async def test_an_id_that_is_gone_says_what_became_of_it(stager: Stager) -> None:
    first, second, third = [await stager.staged_id(path=name) for name in ("a.py", "b.py", "sub")]
    done = await stager.commit(first)
    await stager.discard(second)
    for edit, said in ((first, f"was committed as {done['writeId']}"), (second, "was discarded"), ("e99", "no staged")):
        for name, more in (("resolve", {"action": "commit"}), ("restage", {}), ("resolve", {"action": "discard"})):
            error = await stager.refused(name, editId=edit, **more)
            assert (error.code, error.kind) == (-32803, "unknown_edit")
            assert edit in error.message and said in error.message
            assert error.data["staged"] == [third]
    gone = (await stager.ask("staged"))["gone"]
    assert {one["editId"]: one["reason"].split(" as ")[0] for one in gone} == {
        first: "was committed",
        second: "was discarded",
    }


async def test_a_staged_edit_outlives_its_session_and_its_ombud(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with staging(ombud, root) as stager:
        made = await stager.stage()
        (mine,) = await stager.listed()
        assert (mine["yours"], mine["client"], mine["fileCount"]) == (True, "tests/ombud", 4)
        assert 0 <= mine["ageSeconds"] <= 600 < mine["expiresInSeconds"] <= 24 * 3600
    async with staging(ombud, workspace({"a.py": "old(1)\n"}, name="elsewhere")) as other:
        assert await other.ids() == []
        error = await other.not_committed(made["editId"])
        assert error.kind == "unknown_edit"
    async with staging(ombud, root, strict=False) as stager:
        assert await stager.ids() == [made["editId"]]
        stager.client.kill(9)
        await stager.client.wait_exit(25)
    async with staging(ombud, root) as stager:
        (found,) = await stager.listed()
        assert (found["editId"], found["yours"], names(found["files"])) == (made["editId"], False, TOUCHED)
        (whole,) = await stager.listed(editId=made["editId"])
        assert [one["diff"] for one in whole["files"]] == [one["diff"] for one in made["files"]]
        await stager.commit(made["editId"])
        holds(root, COMMITTED)
        # Ids are not given twice.
        assert await stager.staged_id(pattern="young($X)", rewrite="x($X)") != made["editId"]


async def test_nothing_of_it_is_in_the_workspace(stager: Stager, home: Path) -> None:
    await stager.staged_id()
    holds(stager.root, FILES)
    (store,) = (home / ".local" / "state" / "ombud" / "staged").iterdir()
    assert store.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in store.rglob("*")} == {0}


async def test_an_expired_edit_is_unknown_and_said_to_have_expired(
    client_factory: ClientFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    async with staging(hurried(client_factory, structural__staging__TTL_SECONDS=0.0), root) as stager:
        made = await stager.stage()
        assert await stager.ids() == []
        error = await stager.not_committed(made["editId"])
        assert error.kind == "unknown_edit"
        assert "expired" in error.message
        (gone,) = (await stager.ask("staged"))["gone"]
        assert (gone["editId"], gone["reason"].startswith("has expired")) == (made["editId"], True)


async def test_the_oldest_make_room_and_that_is_told(client_factory: ClientFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with staging(hurried(client_factory, structural__staging__MOST_EDITS=2), root) as stager:
        first, second = await stager.staged_id(), await stager.staged_id()
        third = await stager.stage()
        assert await stager.ids() == [third["editId"], second]
        assert first in third["note"]
        error = await stager.not_committed(first)
        assert "made room" in error.message


# -- who may, and in which order


async def test_staging_needs_no_right_to_write_and_a_decision_does(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with staging(ombud, workspace(FILES), tiers=["read"]) as stager:
        made = await stager.staged_id()
        assert (await stager.not_committed(made)).kind == "permission_denied"


async def test_an_untrusted_workspace_stages_and_commits(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with staging(ombud, workspace(FILES), trusted=False) as stager:
        await stager.commit(await stager.staged_id())
        holds(stager.root, COMMITTED)


async def test_a_commit_belongs_to_the_transaction_that_is_open(stager: Stager) -> None:
    await stager.ask("transaction", action="begin")
    await stager.ask("write", path="n.py", content="n\n", waitMs=0)
    await stager.commit(await stager.staged_id())
    # Forgetting what was staged is no write, so that it fails takes nothing back.
    await stager.refused("resolve", editId="e99", action="discard")
    holds(stager.root, {**COMMITTED, "n.py": "n\n"})
    await stager.ask("transaction", action="abort", waitMs=0)
    holds(stager.root, FILES)


async def test_two_commits_of_one_edit_write_it_once(stager: Stager) -> None:
    made = await stager.staged_id()
    params = {"editId": made, "action": "commit", "waitMs": 0}
    asked = [stager.client.start_request("ombud/resolve", params) for _ in range(4)]
    kinds = []
    for one in asked:
        try:
            assert (await stager.client.answer(one))["applied"]
            kinds.append("applied")
        except Exception as error:  # noqa: BLE001 - whatever it is, it is compared below
            kinds.append(getattr(error, "kind", repr(error)))
    assert sorted(kinds) == ["applied", *["unknown_edit"] * 3]
    holds(stager.root, COMMITTED)


# -- bad params


BAD: list[tuple[str, dict[str, Any]]] = [
    ("astEdit", {}),
    ("astEdit", {"pattern": OLD}),
    ("astEdit", {"rewrite": NEW}),
    ("astEdit", {"pattern": OLD, "rewrite": None}),
    ("astEdit", {"pattern": OLD, "rewrite": 1}),
    ("astEdit", {"pattern": "", "rewrite": NEW}),
    ("astEdit", {"ops": []}),
    ("astEdit", {"ops": [{"pattern": OLD}]}),
    ("astEdit", {"ops": [{"pattern": OLD, "rewrite": NEW, "nonsense": 1}]}),
    ("astEdit", {"ops": [{"pattern": OLD, "rewrite": NEW}], "pattern": OLD, "rewrite": NEW}),
    ("astEdit", {"ops": [{"pattern": OLD, "rewrite": NEW}] * 101}),
    ("astEdit", {"pattern": OLD, "rewrite": "new($Y)"}),
    ("astEdit", {"ops": [{"pattern": OLD, "rewrite": NEW}, {"pattern": "young($Z)", "rewrite": "x($X)"}]}),
    ("astEdit", {"pattern": OLD, "rewrite": NEW, "strictness": "relaxed"}),
    ("astEdit", {"pattern": OLD, "rewrite": NEW, "where": {"X": {"not": {"type": "int"}}}}),
    ("astEdit", {"pattern": OLD, "rewrite": NEW, "where": {"Y": {"regex": "a"}}}),
    ("astEdit", {"pattern": OLD, "rewrite": NEW, "apply": True}),
    ("staged", {"editId": 1}),
    ("staged", {"what": 1}),
    ("restage", {}),
    ("restage", {"editId": None}),
    ("resolve", {"editId": "e1"}),
    ("resolve", {"action": "commit"}),
    ("resolve", {"editId": "e1", "action": "apply"}),
    ("resolve", {"editId": ["e1"], "action": "commit"}),
    ("resolve", {"editId": "e1", "action": "commit", "paths": []}),
    ("resolve", {"editId": "e1", "action": "commit", "paths": "a.py"}),
    ("resolve", {"editId": "e1", "action": "commit", "paths": [""]}),
    ("resolve", {"editId": "e1", "action": "commit", "paths": ["a\0.py"]}),
    ("resolve", {"editId": "e1", "action": "commit", "format": True}),
]


async def test_bad_params_are_errors_that_change_nothing(stager: Stager) -> None:
    assert await stager.staged_id() == "e1"
    for name, params in BAD:
        error = await stager.refused(name, **params)
        assert error.code == -32602, (name, params, error.message)
    for path in ("../a.py", "/etc/passwd", "sub/../../a.py"):
        error = await stager.refused("resolve", editId="e1", action="commit", paths=[path])
        assert error.kind == "outside_workspace", path
    for edit in ("", "e0", "e01", "E1", "../e1", "e1\0", "e" * 100_000, "e" + "9" * 50, "é", "e1 "):
        error = await stager.refused("resolve", editId=edit, action="commit")
        assert error.kind == "unknown_edit", edit
        assert len(error.message) < 400
    error = await stager.refused("astEdit", pattern="old(((", rewrite="", language="python")
    assert error.kind == "unparseable_pattern"
    error = await stager.refused("astEdit", pattern=OLD, rewrite=NEW, language="pyton")
    assert error.kind == "unknown_language"
    error = await stager.refused("astEdit", pattern=OLD, rewrite=NEW, path="../elsewhere")
    assert error.kind == "outside_workspace"


async def test_C7_a_rewrite_that_breaks_a_file_is_refused_for_it(stager: Stager) -> None:
    """serena#1029: a symbol edit corrupted nested TSX."""
    (stager.root / "e.py").write_text("x = [y for y in z if old(y)]\n")
    made = await stager.stage(OLD, "(yield from = $X", globs=["e.py", "apart.py"])
    assert (made["editId"], names(made["refused"])) == (None, ["e.py"])
    assert "parse" in made["refused"][0]["reason"] and "line 1" in made["refused"][0]["reason"]
    assert "e.py" in made["message"]
