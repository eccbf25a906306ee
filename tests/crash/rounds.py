"""Driving a process that is killed at one call after another, and what must be true of every round."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def rounds(driver: str, folder: Path, *words: str, seconds: float = 550) -> dict[str, Any]:
    """What ``driver``, a script of this folder, tells of its rounds: ``{calls, rounds}``."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name(driver), folder, *words],
        capture_output=True,
        check=False,
        timeout=seconds,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr.decode()
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def check_each(result: dict[str, Any]) -> None:
    """All or nothing, nothing left over, and a second recovery has nothing to say."""
    for one in result["rounds"]:
        told = f"killed at call {one['at']} ({result['calls'][one['at'] - 1]}): {one}"
        assert one["before"] or one["after"], told
        assert one["rest"] == [], told
        assert one["silent"], told
