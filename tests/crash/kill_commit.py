"""Kill a process in the middle of a commit, at every system call in turn, recover, and report what is there.

Run by test_commit_kill.py: ``python kill_commit.py FOLDER SCENE WAY [again]`` prints one JSON object. It is a program
of its own since it forks, which a test run with threads must not do.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from ombud.workspace.commit import commit
from ombud.workspace.recover import recover

from tests import commits

WAYS = {"before": commits.kill_before, "after": commits.kill_after, "half": commits.kill_half}


def forked(work: Any) -> bool:
    """Whether the work, done in a child, was killed."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the boundary of a process
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(3)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("the child failed otherwise than by being killed")
    return os.WIFSIGNALED(status)


def tried(folder: Path, make: Any, way: Any, at: int, recovery_at: int) -> dict[str, Any] | None:
    """One round; None where the commit was over before call ``at``."""
    made = commits.scene(folder)
    changes = make(made)
    before = commits.snapshot(made.root)

    def dying(work: Any, number: int) -> bool:
        def run() -> None:
            with commits.interposed(commits.Counter(number, way)):
                work()

        return forked(run)

    if not dying(lambda: commit(made.fence, changes, made.journals), at):
        return None
    again = recovery_at and dying(lambda: recover(made.journals), recovery_at)
    said = [result.state for result in recover(made.journals)]
    now = commits.snapshot(made.root)
    rest = (
        sorted(path.name for path in made.journals.iterdir() if path.name not in commits.LOCKS)
        if made.journals.is_dir()
        else []
    )
    silent = recover(made.journals) == []
    if now == before:
        # The very same changes must still fit, or the old state was not brought back whole.
        commit(made.fence, changes, made.journals)
    return {
        "at": at,
        "again": bool(again),
        "said": said,
        "before": now == before,
        "now": {name: repr(value) for name, value in now.items()},
        "rest": rest,
        "silent": silent,
    }


def main() -> None:
    # What a process wrote is there after its death, synced or not: thousands of rounds need not wait for the disk.
    os.fsync = lambda _fd: None  # type: ignore[assignment]
    folder, make, way = Path(sys.argv[1]), getattr(commits, sys.argv[2]), WAYS[sys.argv[3]]
    deep = len(sys.argv) > 4
    whole = commits.scene(folder / "whole")
    changes = make(whole)
    counter = commits.Counter(0, commits.kill_before)
    with commits.interposed(counter):
        commit(whole.fence, changes, whole.journals)
    after = {name: repr(value) for name, value in commits.snapshot(whole.root).items()}
    rounds: list[dict[str, Any]] = []
    for at in range(1, counter.count + 1, 5 if deep else 1):
        recovery_at = 1
        while True:
            result = tried(folder / "round", make, way, at, recovery_at if deep else 0)
            shutil.rmtree(folder / "round")
            assert result is not None, f"the commit ended before call {at}"
            result["after"] = result.pop("now") == after
            rounds.append(result)
            if not result["again"]:
                break
            recovery_at += 1
    print(json.dumps({"calls": counter.names, "rounds": rounds}))


if __name__ == "__main__":
    main()
