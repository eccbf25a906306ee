"""A commit over twenty files on a disk that is really full, with every amount of space left, and what it leaves.

Run by test_commit_disk.py: ``python full_disk.py DISK ELSEWHERE WHAT STEP LARGEST``; ``WHAT`` is on the small disk:
``workspace``, ``journals`` or ``both``. Prints one JSON list.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from ombud.errors import Refused
from ombud.workspace.commit import commit
from ombud.workspace.recover import recover

from tests import commits
from tests.commits import Scene, portrait


def fill(ballast: Path, left: int) -> None:
    """Write until only so many bytes are free."""
    usage = os.statvfs(ballast.parent)
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, usage.f_bavail * usage.f_frsize - left))


def tried(disk: Path, elsewhere: Path, what: str, left: int) -> dict[str, Any]:
    root = (elsewhere if what == "journals" else disk) / "ws"
    journals = (elsewhere if what == "workspace" else disk) / "state" / "journals"
    root.mkdir()
    made = Scene(root, journals, commits.fence_of(root))
    changes = commits.twenty_files(made)
    journals.mkdir(parents=True)
    before = portrait(root)
    ballast = disk / "ballast"
    fill(ballast, left)
    message, kind = "", "written"
    try:
        commit(made.fence, changes, journals)
    except Refused as refused:
        message, kind = refused.message, refused.kind
    at_once = portrait(root)
    ballast.unlink()
    said = [one.state for one in recover(journals)]
    now = portrait(root)
    told = {
        "left": left,
        "kind": kind,
        "message": message,
        "unchanged at once": at_once == before,
        "unchanged": now == before,
        "said": said,
        "left over": commits.left_over(made),
        "whole": {name: list(facts) for name, facts in now.items()} if kind == "written" else None,
    }
    shutil.rmtree(root)
    shutil.rmtree(journals.parent)
    return told


def main() -> None:
    disk, elsewhere, what = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    step, largest = int(sys.argv[4]), int(sys.argv[5])
    told = [tried(disk, elsewhere, what, left) for left in range(0, largest, step)]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
