"""A process that dies in a transaction: the next start takes everything back, but for what somebody else changed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.commits import snapshot
from tests.conftest import OmbudFactory, Workspace
from tests.crash import rounds as crash
from tests.peers.road import serving
from tests.waiting import wait_until


def rounds(folder: Path, work: str, way: str, *more: str) -> dict[str, Any]:
    return crash.rounds("kill_transaction.py", folder, work, way, *more)


def check(result: dict[str, Any]) -> None:
    crash.check_each(result)
    for one in result["rounds"]:
        told = f"killed at call {one['at']}: {one}"
        assert one["whole"], told
        assert set(one["said"]) <= {"restored", "finished"}, told


@pytest.mark.parametrize("way", ["before", "after", "half"])
def test_C1_killed_at_every_step_a_transaction_is_all_or_nothing(tmp_path: Path, way: str) -> None:
    result = rounds(tmp_path, "transaction", way)
    check(result)
    ends = [one["after"] for one in result["rounds"]]
    assert ends == sorted(ends), "once it is committed it stays, and before that none of it does"
    assert {True, False} == set(ends)
    assert "restored" in {state for one in result["rounds"] for state in one["said"]}
    assert {"rename", "replace", "pwrite", "write", "open", "unlink"} <= set(result["calls"])
    # What was taken back after a crash can be had again: that, too, has a checkpoint.
    assert max(len(one["ids"]) for one in result["rounds"]) == 4


@pytest.mark.parametrize("way", ["before", "after", "half"])
def test_C1_killed_at_every_step_a_write_has_its_checkpoint_exactly_if_it_was_made(tmp_path: Path, way: str) -> None:
    result = rounds(tmp_path, "plain", way)
    check(result)
    for one in result["rounds"]:
        assert len(one["ids"]) == (1 if one["after"] else 0), one
    assert {one["after"] for one in result["rounds"]} == {True, False}


def test_C1_killed_again_while_recovering_a_transaction_is_all_or_nothing(tmp_path: Path) -> None:
    result = rounds(tmp_path, "transaction", "half", "again")
    check(result)
    assert sum(one["again"] for one in result["rounds"]) > 50


FILES = {"x.toml": "", "a.x": "first\n", "b.x": "second\n", "gone.x": "third\n"}
PATCH = "--- a/gone.x\n+++ /dev/null\n@@ -1 +0,0 @@\n-third\n"


async def test_the_next_start_takes_back_what_a_killed_ombud_had_begun(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    before = snapshot(root)
    async with serving(ombud, root, {}, strict=False) as client:
        await client.request("ombud/write", {"path": "kept.x", "content": "before the begin\n", "waitMs": 0})
        await client.request("ombud/transaction", {"action": "begin"})
        for name in ("a.x", "b.x", "new/n.x"):
            await client.request("ombud/write", {"path": name, "content": "ours\n", "waitMs": 0})
        lost = await client.request("ombud/applyPatch", {"patch": PATCH, "waitMs": 0})
        client.kill(9)
        await client.wait_exit(25)
    (root / "b.x").write_text("theirs\n")
    assert (root / "a.x").read_text() == "ours\n"
    # Another project's start does it as well; nobody has to write anything there.
    async with serving(ombud, workspace({"x.toml": ""}, name="other"), {}) as client:
        await wait_until(lambda: (root / "gone.x").exists() and not (root / "new").exists(), 30, "the recovery")
        await wait_until(lambda: "b.x had been changed since and was left alone" in client.stderr, 20, "the message")
    after = snapshot(root)
    assert after.pop("kept.x")[0] == b"before the begin\n"
    assert after.pop("b.x")[0] == b"theirs\n"
    assert {name: value[:2] for name, value in after.items()} == {
        name: value[:2] for name, value in before.items() if name != "b.x"
    }
    async with serving(ombud, root, {}) as client:
        kept = (await client.request("ombud/checkpoints", {"all": True}))["checkpoints"]
        # What was taken back can be had again, and the bytes from before the file of the others as well.
        assert [one["files"] for one in kept if one["checkpoint"] == lost["checkpoint"]] == [["gone.x"]]
        assert sorted(kept[0]["files"]) == ["a.x", "gone.x", "new/n.x"]
        (root / "b.x").write_text("ours\n")
        first = next(one["checkpoint"] for one in kept if one["files"] == ["b.x"])
        await client.request("ombud/rollback", {"checkpoint": kept[0]["checkpoint"]})
        await client.request("ombud/rollback", {"checkpoint": first})
        assert (root / "b.x").read_text() == "second\n"
        assert "taken back" not in client.stderr


async def test_a_living_ombuds_transaction_is_left_alone_by_another_start(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}) as client:
        await client.request("ombud/transaction", {"action": "begin"})
        await client.request("ombud/write", {"path": "a.x", "content": "ours\n", "waitMs": 0})
        async with serving(ombud, root, {}) as other:
            await other.request("ombud/write", {"path": "b.x", "content": "of the other\n", "waitMs": 0})
        assert (root / "a.x").read_text() == "ours\n"
        await client.request("ombud/transaction", {"action": "abort"})
        assert ((root / "a.x").read_text(), (root / "b.x").read_text()) == ("first\n", "of the other\n")
