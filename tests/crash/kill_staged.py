"""Kill a process at every call of the commit of a staged rewrite, recover as the next start does, and report.

Run by test_staged_kill.py: ``python kill_staged.py FOLDER WAY`` prints one JSON object. What dies is the operation
``resolve`` in a session of its own. It is a program of its own since it forks, which a test run with threads must not.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from ombud.errors import OmbudError
from ombud.operations import registry
from ombud.structural.staging import Change, Staging
from ombud.workspace.abandoned import recover_all
from ombud.workspace.state import checkpoint_folder, journal_folder, staging_folder

from tests import commits
from tests.crash.kill_commit import WAYS, forked
from tests.hosted import session

FILES: dict[str, tuple[bytes, bytes, int]] = {
    "crlf.py": (b"old()\r\n" * 300, b"new()\r\n" * 300, 0o644),
    "bom.py": (b"\xef\xbb\xbfold()\r\n", b"\xef\xbb\xbfnew()\r\n", 0o600),
    "tool.sh": (b"#!/bin/sh\nold\n", b"#!/bin/sh\nnew and longer\n", 0o755),
    "sub/emptied.py": (b"old()\n", b"", 0o644),
    "sub/twin.py": (b"old, under two names\n" * 50, b"new\n" * 80, 0o640),
    "sub/wide.py": ("größe = old\n".encode() * 40, "größe = new\n".encode() * 40, 0o664),
}


class Bench:
    """A workspace with a staged rewrite of six files, in a state folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.root = (folder / "ws").resolve()
        os.environ["XDG_STATE_HOME"] = str(folder / "state")
        for name, (data, _, mode) in {**FILES, "apart.py": (b"old()\n", b"", 0o644)}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
            path.chmod(mode)
        os.link(self.root / "sub/twin.py", self.root / "other-twin.py")
        self.before = commits.portrait(self.root)
        self.store: Staging
        asyncio.run(self._stage())

    async def _stage(self) -> None:
        from ombud.operations.structural.kept import store

        changes = [Change(self.root, self.root / name, name, *pair[:2], 1, 1, 1) for name, pair in FILES.items()]
        async with session(self.root, os.environ) as made:
            self.store = store(made)
            self.store.add(changes, session="s", client="c", summary="old → new", request=b"{}")

    def resolve(self, told: Path | None = None) -> None:
        """Commit it, in this process. ``told`` is where the outcome is written: ``applied``, or an error's kind."""

        async def run() -> str:
            async with session(self.root, os.environ) as made:
                params = {"editId": "e1", "action": "commit", "diagnostics": "none"}
                try:
                    return "applied" if (await registry.call(made, "resolve", params))["applied"] else "not applied"
                except OmbudError as error:
                    return error.kind

        outcome = asyncio.run(run())
        if told is not None:
            told.write_text(outcome)

    def again(self, told: Path) -> str:
        assert not forked(lambda: self.resolve(told))
        return told.read_text()


def tried(folder: Path, way: Any, at: int) -> dict[str, Any]:
    """One round. Raises ``AssertionError`` where the commit was over before call ``at``."""
    bench = Bench(folder)

    def run() -> None:
        with commits.interposed(commits.Counter(at, way)):
            bench.resolve()

    assert forked(run), f"the commit ended before call {at}"
    said = [one.state for one in recover_all(checkpoint_folder(), journal_folder())]
    now = commits.portrait(bench.root)
    staged = [one.id for one in bench.store.all()]
    left = [path.name for path in bench.root.rglob(".ombud-*")]
    left += [path.name for path in journal_folder().glob("*") if path.name not in commits.LOCKS]
    return {
        "at": at,
        "said": said,
        "before": now == bench.before,
        "now": now,
        "staged": staged,
        "left over": left,
        "silent": recover_all(checkpoint_folder(), journal_folder()) == [],
        "again": bench.again(folder / "told"),
        "then": commits.portrait(bench.root),
    }


def main() -> None:
    # What a process wrote is there after its death, synced or not: hundreds of rounds need not wait for the disk.
    os.fsync = lambda _fd: None  # type: ignore[assignment]
    commits.CALLS = (*commits.CALLS, "rename", "pwrite")  # type: ignore[assignment]
    folder, way = Path(sys.argv[1]), WAYS[sys.argv[2]]
    whole = Bench(folder / "whole")
    counter = commits.Counter(0, commits.kill_before)
    with commits.interposed(counter):
        whole.resolve()
    after = commits.portrait(whole.root)
    rounds: list[dict[str, Any]] = []
    for at in range(1, counter.count + 1):
        one = tried(folder / "round", way, at)
        shutil.rmtree(folder / "round")
        one["after"], one["then"] = one.pop("now") == after, one["then"] == after
        rounds.append(one)
    assert staging_folder().is_relative_to(folder)
    print(json.dumps({"calls": counter.names, "gone": whole.store.what_became("e1"), "rounds": rounds}))


if __name__ == "__main__":
    main()
