"""C1, C2, C8: the crash matrix. A commit over twenty files of every sort, killed at every call that it makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.crash import ptrace

ROOT = Path(__file__).parents[2]
DRIVER = Path(__file__).with_name("kill_twenty.py")


def run(folder: Path, way: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, DRIVER, folder, way],
        capture_output=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def all_or_nothing(result: dict[str, Any]) -> None:
    """After every kill: nothing is lost on the disk, and the next start leaves all or nothing, and no litter."""
    for one in result["rounds"]:
        told = f"killed at call {one['at']} of {len(result['calls']) or result['system']}: {one}"
        assert one["is"] in ("before", "after"), told
        assert one["lost"] == [] or one["is"] == "after", told
        assert one["left over"] == [], told
        assert one["silent"], told
        assert set(one["said"]) <= {"restored" if one["is"] == "before" else "finished"}, told
    assert {one["is"] for one in result["rounds"]} == {"before", "after"}
    assert {state for one in result["rounds"] for state in one["said"]} >= {"restored"}


@pytest.mark.parametrize("way", ["before", "after", "half"])
def test_C1_twenty_files_killed_at_every_call_are_all_or_nothing(tmp_path: Path, way: str) -> None:
    result = run(tmp_path, way)
    all_or_nothing(result)
    assert len(result["rounds"]) == len(result["calls"]) > 150
    assert {state for one in result["rounds"] for state in one["said"]} == {"restored", "finished"}


@pytest.mark.skipif(not ptrace.SUPPORTED, reason="needs ptrace(2) of Linux on x86-64 or ARM64")
def test_C1_twenty_files_killed_by_the_kernel_at_every_system_call_are_all_or_nothing(tmp_path: Path) -> None:
    result = run(tmp_path, "kernel")
    all_or_nothing(result)
    # The syncs are real here, and no call of the interpreter's own is left out.
    assert len(result["rounds"]) == result["system"] > len(result["calls"])


def test_C1_twenty_files_killed_again_while_recovering_are_all_or_nothing(tmp_path: Path) -> None:
    result = run(tmp_path, "recovery")
    all_or_nothing(result)
    assert sum(one["died again"] for one in result["rounds"]) > 100
