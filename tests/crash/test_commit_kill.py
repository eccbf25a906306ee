"""C1, C2: a process that is killed at any moment of a commit leaves all of it or nothing, after the next start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.crash import rounds as crash


def rounds(folder: Path, scene: str, way: str, *more: str) -> dict[str, Any]:
    return crash.rounds("kill_commit.py", folder, scene, way, *more, seconds=300)


def check(result: dict[str, Any]) -> None:
    crash.check_each(result)
    for one in result["rounds"]:
        told = f"killed at call {one['at']}: {one}"
        assert set(one["said"]) <= {"restored" if one["before"] else "finished"}, told


@pytest.mark.parametrize("way", ["before", "after", "half"])
@pytest.mark.parametrize("scene", ["five_files", "of_every_kind"])
def test_C1_killed_at_every_step_it_is_all_or_nothing(tmp_path: Path, scene: str, way: str) -> None:
    result = rounds(tmp_path, scene, way)
    check(result)
    assert {one["before"] for one in result["rounds"]} == {True, False}
    assert {state for one in result["rounds"] for state in one["said"]} == {"restored", "finished"}
    assert {"write", "link", "replace", "unlink", "fsync", "open"} <= set(result["calls"])


@pytest.mark.parametrize("way", ["before", "after", "half"])
@pytest.mark.parametrize("scene", ["one_file", "one_new_file", "one_twin"])
def test_C1_one_file_killed_at_every_step_is_old_or_new_and_leaves_no_litter(
    tmp_path: Path, scene: str, way: str
) -> None:
    result = rounds(tmp_path, scene, way)
    check(result)
    assert {one["before"] for one in result["rounds"]} == {True, False}


def test_C1_killed_again_while_recovering_it_is_all_or_nothing(tmp_path: Path) -> None:
    result = rounds(tmp_path, "of_every_kind", "half", "again")
    check(result)
    assert sum(one["again"] for one in result["rounds"]) > 100
