"""The crash matrix: a commit over twenty files, killed at every call in turn; what is there before and after recovery.

Run by test_commit_matrix.py: ``python kill_twenty.py FOLDER WAY`` prints one JSON object. ``WAY`` is one of `WAYS`
(calls of Python's ``os``, killed before, after, or half way of a write), ``kernel`` (system calls, by ``ptrace``) or
``recovery`` (the recovery is killed as well). It is a program of its own since it forks.
"""

from __future__ import annotations

import gc
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ombud.workspace.change import Change
from ombud.workspace.commit import commit
from ombud.workspace.journal import Record
from ombud.workspace.recover import recover

from tests import commits
from tests.commits import Portrait, Scene, portrait
from tests.crash.kill_commit import WAYS, forked
from tests.crash.ptrace import traced

Killer = Callable[[Callable[[], object]], bool]


def interposing(way: str, at: int) -> Killer:
    """Do some work in a child and kill it at its call number ``at``; whether it came to that."""

    def kill(work: Callable[[], object]) -> bool:
        def run() -> None:
            with commits.interposed(commits.Counter(at, WAYS[way])):
                work()

        return forked(run)

    return kill


class Matrix:
    """Rounds in one workspace, which is made anew after each that went through."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        whole, changes = self._scene("whole")
        counter = commits.Counter(0, commits.kill_before)
        with commits.interposed(counter):
            commit(whole.fence, changes, whole.journals)
        self.calls = counter.names
        self.after = portrait(whole.root)
        self.rounds: list[dict[str, Any]] = []
        self._fresh()

    def _scene(self, name: str) -> tuple[Scene, list[Change]]:
        made = commits.scene(self._folder / name)
        return made, commits.twenty_files(made)

    def _fresh(self) -> None:
        shutil.rmtree(self._folder / "round", ignore_errors=True)
        self.made, self.changes = self._scene("round")
        self.before = portrait(self.made.root)
        self._old = {change.inside.relative: change.before.data for change in self.changes if change.before}

    def commit(self) -> None:
        commit(self.made.fence, self.changes, self.made.journals)

    def recover(self) -> None:
        recover(self.made.journals)

    def round(self, at: int, kill: Killer, again: list[Killer] = []) -> None:  # noqa: B006 - it is only read
        """Kill a commit, then each of some recoveries, then recover; note down what was there."""
        assert kill(self.commit), f"the commit ended before call {at}"
        lost = self._lost()
        died = 0
        for kill_again in again:
            died += kill_again(self.recover)
            lost += self._lost()
        said = [result.state for result in recover(self.made.journals)]
        now = portrait(self.made.root)
        self.rounds.append(
            {
                "at": at,
                "died again": died,
                "is": "before" if now == self.before else "after" if now == self.after else "mixed",
                "differs": [] if now in (self.before, self.after) else sorted(self._differing(now)),
                "lost": lost,
                "said": said,
                "left over": commits.left_over(self.made),
                "silent": recover(self.made.journals) == [],
            }
        )
        if now != self.before:
            self._fresh()

    def _differing(self, now: Portrait) -> Iterator[str]:
        for name in self.before.keys() | now.keys():
            if now.get(name) != self.before.get(name):
                yield ascii(name)

    def _lost(self) -> list[str]:
        """The files whose bytes from before are nowhere: under no name in the workspace, and in no whole journal."""
        held = {path.read_bytes() for path in self.made.root.rglob("*") if path.is_file() and not path.is_symlink()}
        for path in self.made.journals.glob("*.journal") if self.made.journals.is_dir() else ():
            record = Record(path.read_bytes())
            entries = () if record.plan is None else record.plan.entries
            held |= {record.bytes_of(entry.old) or b"" for entry in entries if entry.old is not None}
        return [ascii(name) for name, data in self._old.items() if data not in held]


def by_python(matrix: Matrix, way: str) -> None:
    for at in range(1, len(matrix.calls) + 1):
        matrix.round(at, interposing(way, at))


def by_the_kernel(matrix: Matrix) -> list[int]:
    """Each system call that can change something: killed before it and right after it, in turn."""

    def killing(at: int, *, after: bool) -> Killer:
        return lambda work: traced(work, at, after=after)[0]

    killed, calls = traced(matrix.commit, 0, after=False)
    assert not killed
    matrix._fresh()
    for at in range(1, len(calls)):
        # After one call is before the next; the last, by which the process ends, has no after.
        matrix.round(at, killing(at, after=True))
    matrix.round(1, killing(1, after=False))
    return calls


def while_recovering(matrix: Matrix) -> None:
    """Some of the commit's calls, each with recoveries that are killed at calls spread over all they make."""
    ways = list(WAYS)
    for number, at in enumerate(range(1, len(matrix.calls) + 1, 9)):
        for first in range(1 + number % 8, 200, 8):
            way = ways[(number + first) % len(ways)]
            # The second recovery dies as well, a little later than the first.
            matrix.round(at, interposing(way, at), [interposing(way, first), interposing(way, first + 3)])
            if not matrix.rounds[-1]["died again"]:
                break


def main() -> None:
    # What a process wrote is there after its death, synced or not: thousands of rounds need not wait for the disk.
    folder, way = Path(sys.argv[1]), sys.argv[2]
    if way != "kernel":
        os.fsync = lambda _fd: None  # type: ignore[assignment]
    gc.freeze()
    matrix = Matrix(folder)
    system: list[int] = []
    if way == "kernel":
        system = by_the_kernel(matrix)
    elif way == "recovery":
        while_recovering(matrix)
    else:
        by_python(matrix, way)
    told = {"calls": matrix.calls, "system": len(system), "kinds": len(Counter(system)), "rounds": matrix.rounds}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
