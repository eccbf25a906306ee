"""Kill a process at every system call of a transaction, or of a plain write with its checkpoint; recover, and report.

Run by test_transaction_kill.py: ``python kill_transaction.py FOLDER WORK WAY [again]`` prints one JSON object. It is a
program of its own since it forks, which a test run with threads must not do.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ombud.workspace.abandoned import recover_all
from ombud.workspace.change import Change
from ombud.workspace.checkpoints import Checkpoints
from ombud.workspace.commit import commit

from tests import commits
from tests.crash.kill_commit import WAYS, forked

SESSION = "feed"


class Bench:
    """A workspace with files of every kind, and its checkpoints."""

    def __init__(self, folder: Path) -> None:
        self.scene = commits.scene(folder)
        self.changes = commits.of_every_kind(self.scene)
        self.before = commits.snapshot(self.scene.root)
        self.folder = folder / "state" / "checkpoints" / "ws"

    def write(self, store: Checkpoints, *changes: Change) -> None:
        pending = store.begin(changes, "a write")
        commit(self.scene.fence, changes, self.scene.journals)
        pending.done()

    def recover(self) -> list[str]:
        return [one.state for one in recover_all(self.folder.parent, self.scene.journals)]


def transaction(bench: Bench) -> None:
    """Three writes that belong together."""
    store, made = Checkpoints(bench.folder, SESSION), bench.scene
    store.open_transaction()
    bench.write(store, *bench.changes)
    bench.write(store, made.modify("a.py", b"newer\n"), made.delete("fresh/to.py"))
    bench.write(store, made.rename("pack/renamed.py", "more/again.py", b"and on\n"))
    store.close_transaction()
    store.close()


def plain(bench: Bench) -> None:
    """One write that belongs to none."""
    store = Checkpoints(bench.folder, SESSION)
    bench.write(store, *bench.changes)
    store.close()


def tried(folder: Path, work: Callable[[Bench], None], way: Any, at: int, recovery_at: int) -> dict[str, Any] | None:
    """One round; None where the work was over before call ``at``."""
    bench = Bench(folder)

    def dying(what: Callable[[], Any], number: int) -> bool:
        def run() -> None:
            with commits.interposed(commits.Counter(number, way)):
                what()

        return forked(run)

    if not dying(lambda: work(bench), at):
        return None
    again = bool(recovery_at) and dying(bench.recover, recovery_at)
    said = bench.recover()
    now = commits.snapshot(bench.scene.root)
    sessions = bench.folder / "sessions"
    rest = [path.name for path in bench.folder.rglob("*") if path.suffix in (".pending", ".new")]
    rest += [path.name for path in sessions.iterdir()] if sessions.is_dir() else []
    records = Checkpoints(bench.folder).records(lambda _record: True)
    kept = {step.before.sha256 for one in records for step in one.steps if step.before is not None}
    return {
        "at": at,
        "again": again,
        "said": said,
        "before": now == bench.before,
        "now": {name: repr(value) for name, value in now.items()},
        "rest": rest + commits.left_over(bench.scene),
        "silent": bench.recover() == [],
        "ids": [one.number for one in records],
        "whole": all(Checkpoints(bench.folder).bytes_of(sha256) is not None for sha256 in kept),
    }


def main() -> None:
    # What a process wrote is there after its death, synced or not: thousands of rounds need not wait for the disk.
    os.fsync = lambda _fd: None  # type: ignore[assignment]
    commits.CALLS = (*commits.CALLS, "rename", "pwrite")  # type: ignore[assignment]
    folder, work, way = Path(sys.argv[1]), globals()[sys.argv[2]], WAYS[sys.argv[3]]
    deep = len(sys.argv) > 4
    whole = Bench(folder / "whole")
    counter = commits.Counter(0, commits.kill_before)
    with commits.interposed(counter):
        work(whole)
    after = {name: repr(value) for name, value in commits.snapshot(whole.scene.root).items()}
    rounds: list[dict[str, Any]] = []
    for at in range(1, counter.count + 1, 19 if deep else 1):
        recovery_at = 1
        while True:
            result = tried(folder / "round", work, way, at, recovery_at if deep else 0)
            shutil.rmtree(folder / "round")
            assert result is not None, f"the work ended before call {at}"
            result["after"] = result.pop("now") == after
            rounds.append(result)
            if not result["again"]:
                break
            recovery_at += 3
    print(json.dumps({"calls": counter.names, "rounds": rounds}))


if __name__ == "__main__":
    main()
