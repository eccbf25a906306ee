"""Checkpoints, rollback and transactions over LSP and on the command line: what is restored, and what is refused."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.commands import Command
from tests.peers.road import (
    edit,
    introduced,
    peer_texts,
    together,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.peers.writer import FILES, MOVES, TEXTS, Writer, writing


@pytest.fixture
async def writer(ombud: OmbudFactory, workspace: Workspace) -> AsyncIterator[Writer]:
    """A session without language servers."""
    async with writing(ombud, workspace(FILES)) as made:
        yield made


# -- checkpoints


async def test_each_write_has_a_checkpoint_and_they_are_listed_newest_first(writer: Writer) -> None:
    first = await writer.save("a.x", "1\n")
    second = (await edit(writer.client, "a.x", "1", "2"))["checkpoint"]
    third = (await writer.ask("applyPatch", patch=MOVES.replace("first", "2"), waitMs=0))["checkpoint"]
    fourth = (await writer.back(third))["checkpoint"]
    found = await writer.listed()
    assert [one["checkpoint"] for one in found] == [fourth, third, second, first]
    assert len({first, second, third, fourth}) == 4
    assert [list(one) for one in found] == [["checkpoint", "time", "summary", "files"]] * 4
    assert [sorted(one["files"]) for one in found[1:]] == [
        ["a.x", "b.x", "new/d.x", "sub/c.x", "sub/moved.x"],
        ["a.x"],
        ["a.x"],
    ]
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", one["time"]) for one in found)
    assert [one["time"] for one in found] == sorted((one["time"] for one in found), reverse=True)
    assert all(one["summary"] for one in found)


async def test_a_preview_and_a_refusal_have_none(writer: Writer) -> None:
    preview = await writer.ask("write", path="a.x", content="x", preview=True, waitMs=0)
    assert preview.get("checkpoint") is None
    await writer.refused("edit", path="a.x", edits=[{"oldText": "absent", "newText": ""}])
    assert await writer.ids(all=True) == []


async def test_nothing_of_them_is_in_the_workspace(writer: Writer, home: Path) -> None:
    made = await writer.save("a.x", "secret of mine\n")
    await writer.back(made)
    assert set(writer.state()) == set(FILES)
    (store,) = (home / ".local" / "state" / "ombud" / "checkpoints").iterdir()
    assert store.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in store.rglob("*")} == {0}


# -- rollback


async def test_a_rollback_undoes_the_write_and_every_later_one(writer: Writer) -> None:
    states = [writer.state()]
    made = [await writer.save("a.x", "1\n")]
    states.append(writer.state())
    made.append(await writer.save("b.x", "2\n"))
    states.append(writer.state())
    made.append((await edit(writer.client, "a.x", "1", "3"))["checkpoint"])
    states.append(writer.state())
    made.append(await writer.save("n/e/w.x", "4\n"))
    for number in reversed(range(len(made))):
        result = await writer.back(made[number])
        assert writer.state() == states[number]
        assert result["message"].startswith(f"Rolled back to before {made[number]}. ")
    assert not (writer.root / "n").exists()


async def test_created_deleted_renamed_and_changed_files_all_come_back(writer: Writer) -> None:
    before = writer.state()
    made = (await writer.ask("applyPatch", patch=MOVES, waitMs=0))["checkpoint"]
    after = writer.state()
    assert before != after
    result = await writer.back(made)
    assert writer.state() == before
    assert not (writer.root / "new").exists()
    assert {(one["path"], one["status"], one.get("from")) for one in result["files"]} == {
        ("a.x", "renamed", "sub/moved.x"),
        ("b.x", "created", None),
        ("new/d.x", "deleted", None),
        ("sub/c.x", "modified", None),
    }
    again = await writer.back(result["checkpoint"])
    assert writer.state() == after
    assert (await writer.back(again["checkpoint"]))["applied"]
    assert writer.state() == before


async def test_a_rollback_takes_a_preview(writer: Writer) -> None:
    made = await writer.save("a.x", "1\n")
    before = writer.state()
    result = await writer.back(made, preview=True)
    assert (result["applied"], result["preview"]) == (False, True)
    assert [(one["path"], one["status"]) for one in result["files"]] == [("a.x", "modified")]
    assert writer.state() == before
    assert await writer.ids() == [made]


async def test_what_is_already_as_it_was_is_left_out(writer: Writer) -> None:
    made = await writer.save("a.x", "1\n")
    await writer.save("b.x", "1\n")
    (writer.root / "a.x").write_text("first\n")
    result = await writer.back(made)
    assert [one["path"] for one in result["files"]] == ["b.x"]
    assert writer.texts() == TEXTS
    result = await writer.back(made)
    assert (result["applied"], result["files"]) == (True, [])
    assert result["message"] == f"Nothing to roll back: every file is already as it was before {made}."


@pytest.mark.parametrize("what", ["changed", "deleted", "between", "made"])
async def test_a_rollback_is_refused_where_somebody_else_changed_a_file(writer: Writer, what: str) -> None:
    made = await writer.save("b.x", "1\n")
    await writer.save("n.x", "new\n")
    await writer.ask("applyPatch", patch="--- a/a.x\n+++ /dev/null\n@@ -1 +0,0 @@\n-first\n", waitMs=0)
    if what in ("changed", "between"):
        (writer.root / "b.x").write_text("theirs\n")
    if what == "between":
        await writer.save("b.x", "ours again\n")
    if what == "deleted":
        (writer.root / "n.x").unlink()
        (writer.root / "b.x").unlink()
    if what == "made":
        (writer.root / "a.x").write_text("theirs\n")
    before = writer.state()
    error = await writer.refused("rollback", checkpoint=made)
    assert (error.code, error.kind) == (-32803, "file_changed")
    # A new file that somebody deleted is as it was before.
    assert error.data["paths"] == [{"made": "a.x"}.get(what, "b.x")]
    assert error.data["paths"][0] in error.message
    assert writer.state() == before
    assert error.message.endswith(".")


@pytest.mark.parametrize(
    "checkpoint", ["c99", "c0", "", "w1", "1", "../../x", "c1\n", "C1", "x" * 10_000, "c" + "9" * 99]
)
async def test_an_unknown_id_is_told_what_there_is(writer: Writer, checkpoint: str) -> None:
    made = await writer.save("a.x", "1\n")
    error = await writer.refused("rollback", checkpoint=checkpoint)
    assert (error.code, error.kind) == (-32803, "not_found")
    assert made in error.message
    assert len(error.message) < 400
    assert error.data["checkpoints"] == [made]
    assert writer.texts()["a.x"] == "1\n"


async def test_an_unsaved_buffer_is_not_rolled_back_under_its_editors_hands(writer: Writer) -> None:
    made = await writer.save("a.x", "1\n")
    writer.client.open("a.x")
    writer.client.change("a.x", "typed\n")
    error = await writer.refused("rollback", checkpoint=made)
    assert error.kind == "conflict"
    assert writer.texts()["a.x"] == "1\n"


async def test_a_rollback_reports_what_it_introduced_and_resolved(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({**FILES, "a.x": "ERROR(e1): old\n"})
    async with writing(ombud, root, one=Script("one", log=peer_log)) as writer:
        writer.client.open("a.x")
        made = (await writer.ask("write", path="a.x", content="ERROR(e2): new\n"))["checkpoint"]
        preview = await writer.back(made, preview=True)
        result = await writer.back(made)
        for one in (preview, result):
            assert introduced(one) == ["e1"]
            assert [found["code"] for found in one["diagnostics"]["resolved"]] == ["e2"]
        assert (await peer_texts(writer.client, "one"))["a.x"] == "ERROR(e1): old\n"
        again = await writer.back(result["checkpoint"], diagnostics="none")
        assert again["diagnostics"] is None
        assert (await peer_texts(writer.client, "one"))["a.x"] == "ERROR(e2): new\n"
    well_behaved(peer_log)


async def test_a_write_that_is_under_way_is_undone_too(writer: Writer) -> None:
    """In the order in which they were asked for, without waiting for the answers."""
    made = await writer.save("a.x", "1\n")
    pending = [
        writer.client.start_request("ombud/write", {"path": "b.x", "content": "2\n", "waitMs": 0}),
        writer.client.start_request("ombud/write", {"path": "new.x", "content": "3\n", "waitMs": 0}),
        writer.client.start_request("ombud/rollback", {"checkpoint": made}),
        writer.client.start_request("ombud/write", {"path": "sub/c.x", "content": "4\n", "waitMs": 0}),
    ]
    for one in pending:
        await writer.client.answer(one)
    assert writer.texts() == {**TEXTS, "sub/c.x": "4\n"}


async def test_sessions_undo_their_own_writes(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with together(ombud, root, {}, "mine", "yours") as (one, other):
        mine, yours = Writer(one, root), Writer(other, root)
        first = await mine.save("a.x", "mine\n")
        second = await yours.save("b.x", "yours\n")
        third = await mine.save("sub/c.x", "mine\n")
        assert (await mine.ids(), await yours.ids()) == ([third, first], [second])
        assert await yours.ids(all=True) == [third, second, first]
        await mine.back(first)
        assert mine.texts() == {**TEXTS, "b.x": "yours\n"}
        fourth = await mine.save("b.x", "mine now\n")
        error = await yours.refused("rollback", checkpoint=second)
        assert (error.kind, error.data["paths"]) == ("file_changed", ["b.x"])
        # Whose it is does not matter, as long as the file is as that session left it.
        await yours.back(fourth)
        assert mine.texts()["b.x"] == "yours\n"


async def test_a_later_run_rolls_back_what_an_earlier_one_wrote(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with writing(ombud, root) as writer:
        made = await writer.save("a.x", "1\n")
        await writer.save("b.x", "2\n")
    async with writing(ombud, root) as writer:
        assert await writer.ids() == []
        assert len(await writer.ids(all=True)) == 2
        await writer.back(made)
        assert writer.texts() == TEXTS
        assert await writer.save("a.x", "3\n") not in ("c1", "c2", "c3")


async def test_another_workspace_has_its_own(ombud: OmbudFactory, workspace: Workspace) -> None:
    async with writing(ombud, workspace(FILES)) as writer:
        made = await writer.save("a.x", "1\n")
    async with writing(ombud, workspace(FILES, name="other")) as writer:
        assert await writer.ids(all=True) == []
        assert (await writer.refused("rollback", checkpoint=made)).kind == "not_found"


async def test_where_nothing_can_be_kept_the_write_goes_on_and_says_so(
    ombud: OmbudFactory, workspace: Workspace, home: Path
) -> None:
    state = home / ".local" / "state" / "ombud"
    state.mkdir(parents=True)
    (state / "checkpoints").write_text("no folder")
    async with writing(ombud, workspace(FILES)) as writer:
        result = await writer.client.request("ombud/write", {"path": "a.x", "content": "1\n", "waitMs": 0})
        assert (result["applied"], result.get("checkpoint")) == (True, None)
        assert "checkpoint" in result["note"]
        assert result["note"] in result["message"]
        assert writer.texts()["a.x"] == "1\n"
        error = await writer.refused("transaction", action="begin")
        assert error.kind == "write_failed"


# -- the command line


async def test_the_command_line_lists_and_rolls_back_what_other_commands_wrote(
    workspace: Workspace, environment: dict[str, str]
) -> None:
    cli = Command(environment, workspace(FILES))
    cli.configure({})
    assert (await cli("write", "a.x", "--content", "1\n")).code == 0
    written = (await cli("write", "b.x", "--content", "2\n", "--json")).json
    ran = await cli("checkpoints")
    assert (ran.code, "--all" in ran.out) == (0, True)
    ran = await cli("checkpoints", "--all")
    lines = ran.out.splitlines()
    assert lines[0].split() == ["CHECKPOINT", "TIME", "(UTC)", "BEFORE"]
    assert [line.split()[0] for line in lines if re.match(r"c\d", line)] == ["c2", "c1"]
    assert "a.x" in ran.out
    ran = await cli("rollback", written["checkpoint"])
    assert ran.code == 0
    assert ran.out.startswith("Rolled back to before c2.")
    assert (cli.root / "b.x").read_bytes() == b"second\r\n"
    assert (cli.root / "a.x").read_bytes() == b"1\n", "each command is a session of its own"
    assert (await cli("write", "a.x", "--content", "3\n")).code == 0
    ran = await cli("rollback", "c1")
    assert ran.code == 1
    assert "roll back c4 first" in ran.err, "it is no other's change that must be mended by hand"
    ran = await cli("rollback", "c77")
    assert (ran.code, ran.err.partition(":")[0]) == (1, "not_found")
