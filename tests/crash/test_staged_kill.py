"""C1: a staged rewrite whose commit is killed at every step is all or nothing, and is never lost nor written twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.client import Disconnected
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.crash.rounds import rounds
from tests.peers.road import meddled
from tests.peers.staging import staging

OLD = {f"m{number % 3}/f{number}.py": f"old({number})\nkept\n" for number in range(20)}
NEW = {name: text.replace("old", "new") for name, text in OLD.items()}


@pytest.mark.parametrize("way", ["before", "after", "half"])
def test_C1_killed_at_every_step_the_commit_of_a_staged_rewrite_is_all_or_nothing(tmp_path: Path, way: str) -> None:
    result = rounds("kill_staged.py", tmp_path, way)
    for one in result["rounds"]:
        told = f"killed at call {one['at']} ({result['calls'][one['at'] - 1]}): {one}"
        assert one["before"] != one["after"], told
        assert (one["left over"], one["silent"]) == ([], True), told
        assert set(one["said"]) <= {"restored" if one["before"] else "finished"}, told
        # What was not written is staged as before, and can be committed; what was written is never written again.
        if one["before"]:
            assert (one["staged"], one["again"]) == (["e1"], "applied"), told
        else:
            assert one["again"] == ("file_changed" if one["staged"] else "unknown_edit"), told
        assert one["then"], told
    assert {one["before"] for one in result["rounds"]} == {True, False}
    assert {tuple(one["staged"]) for one in result["rounds"] if one["after"]} >= {("e1",)}
    assert len(result["rounds"]) == len(result["calls"]) > 60
    assert {"rename", "replace", "write", "unlink", "ftruncate"} <= set(result["calls"])
    assert result["gone"].startswith("was committed as w1 (checkpoint c1)")


@pytest.mark.parametrize(
    ("at", "nth", "becomes"),
    [
        ("workspace.landing.Landing.prepare", 12, "taken back"),
        ("workspace.landing.Landing.swap", 11, "taken back"),
        ("workspace.landing.Landing.swap", 20, "taken back"),
        ("workspace.journal.Journal.done", 1, "finished"),
        ("structural.staging.Staging.settle", 1, "written"),
    ],
)
async def test_C1_an_ombud_that_is_killed_while_it_commits_leaves_all_or_nothing_to_the_next(
    ombud: OmbudFactory, client_factory: ClientFactory, workspace: Workspace, at: str, nth: int, becomes: str
) -> None:
    root = workspace(OLD)
    async with staging(meddled(client_factory, at=at, nth=nth, do=[["kill"]]), root, strict=False) as stager:
        made = await stager.staged_id()
        with pytest.raises(Disconnected):
            await stager.commit(made)
        await stager.client.wait_exit(30)
    async with staging(ombud, root) as stager:
        if becomes == "taken back":
            await stager.commit(made)
        else:
            # It was written before: that is said, and nothing is written a second time.
            await stager.ask("checkpoints")
            error = await stager.not_committed(made)
            assert (error.kind, sorted(error.data["paths"])) == ("file_changed", sorted(OLD))
            assert "holds the staged text already" in error.message
            await stager.discard(made)
        assert {name: (root / name).read_text() for name in OLD} == NEW
        assert await stager.ids() == []
    assert not list(root.rglob(".ombud-*"))
