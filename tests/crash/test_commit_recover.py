"""What the next start makes of commits whose process died: row C1, and who may recover what."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ombud.workspace.commit import commit
from ombud.workspace.journal import GATE, Journal, gate
from ombud.workspace.landing import Landing
from ombud.workspace.locks import lock
from ombud.workspace.recover import recover

from tests.commits import LOCKS, Scene, of_every_kind, scene, snapshot

ROOT = Path(__file__).parents[2]

# Commits a change of every kind and stops for ever before the n-th replacement, saying so.
STOPPING = """
import os, sys, time
from pathlib import Path
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.workspace.commit import commit
from tests import commits

folder, nth, make = Path(sys.argv[1]), int(sys.argv[2]), getattr(commits, sys.argv[3])
made = commits.Scene(folder / "ws", folder / "state" / "journals", Fence([folder / "ws"], SensitivePaths()))
changes = make(made)
seen = []

def act(name, real, args, named):
    if name == "replace":
        seen.append(args)
        if len(seen) == nth:
            print("here", flush=True)
            sys.stdin.readline()
    return real(*args, **named)

with commits.interposed(act):
    commit(made.fence, changes, made.journals)
print("done", flush=True)
"""


@contextmanager
def stopped(folder: Path, nth: int, make: str = "of_every_kind") -> Iterator[subprocess.Popen[bytes]]:
    """A process in the middle of a commit in ``folder``; it goes on when a line is written to it."""
    child = subprocess.Popen(
        [sys.executable, "-c", STOPPING, folder, str(nth), make],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        assert child.stdout is not None and child.stdout.readline() == b"here\n"
        yield child
    finally:
        child.kill()
        child.wait(timeout=30)
        for pipe in (child.stdin, child.stdout):
            assert pipe is not None
            pipe.close()


def dead(tmp_path: Path, nth: int, make: str = "of_every_kind") -> tuple[Scene, dict[str, Any]]:
    """A workspace in which a commit was killed before its n-th replacement, and how it was before."""
    made = scene(tmp_path)
    of_every_kind(scene(tmp_path / "model"))
    before = snapshot(tmp_path / "model" / "ws")
    shutil.rmtree(tmp_path / "model")
    with stopped(tmp_path, nth, make) as child:
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=30)
    assert len(list(made.journals.glob("*.journal"))) == 1
    return made, before


def test_C1_a_killed_commit_is_taken_back_once(tmp_path: Path) -> None:
    made, before = dead(tmp_path, 3)
    assert snapshot(made.root) != before
    (result,) = recover(made.journals)
    assert (result.state, result.kept) == ("restored", None)
    assert result.message == (
        f"A write of {len(result.paths)} files ({made.root}/a.py, …) that a crash had cut short was taken back."
    )
    assert snapshot(made.root) == before
    assert recover(made.journals) == []
    assert {path.name for path in made.journals.iterdir()} == LOCKS


def test_a_live_commit_of_another_process_is_left_alone(tmp_path: Path) -> None:
    made = scene(tmp_path)
    with stopped(tmp_path, 3) as child:
        middle = snapshot(made.root)
        assert recover(made.journals) == []
        assert snapshot(made.root) == middle
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b"go on\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"done\n"
        assert child.wait(timeout=30) == 0
    assert (made.root / "pack/renamed.py").read_bytes() == b"moved and changed\n"
    assert recover(made.journals) == []


def test_a_live_commit_stands_beside_a_dead_one(tmp_path: Path) -> None:
    made, before = dead(tmp_path / "one", 4)
    other = scene(tmp_path / "two")
    other.journals.parent.mkdir()
    other.journals.symlink_to(made.journals)
    with stopped(tmp_path / "two", 4):
        middle = snapshot(other.root)
        assert [result.state for result in recover(made.journals)] == ["restored"]
        assert snapshot(other.root) == middle
    assert snapshot(made.root) == before
    assert [result.state for result in recover(made.journals)] == ["restored"]


def test_two_processes_do_not_recover_one_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, before = dead(tmp_path, 3)
    (journal,) = made.journals.glob("*.journal")
    locked: list[bool] = []
    restore = Landing.restore

    def restoring(self: Landing) -> Any:
        # What another process would find while this one recovers.
        for path in (journal, made.journals / GATE):
            fd = os.open(path, os.O_RDWR)
            try:
                locked.append(lock(fd, wait=False))
            finally:
                os.close(fd)
        return restore(self)

    monkeypatch.setattr(Landing, "restore", restoring)
    assert [result.state for result in recover(made.journals)] == ["restored"]
    assert locked == [False, False]
    assert snapshot(made.root) == before


def test_a_journal_that_another_recovers_is_skipped(tmp_path: Path) -> None:
    made, _ = dead(tmp_path, 3)
    (journal,) = made.journals.glob("*.journal")
    middle = snapshot(made.root)
    fd = os.open(journal, os.O_RDWR)
    try:
        assert lock(fd)
        assert recover(made.journals) == []
    finally:
        os.close(fd)
    assert snapshot(made.root) == middle


def test_no_commit_begins_while_another_recovers(tmp_path: Path) -> None:
    made = scene(tmp_path)
    Journal.open(made.journals).remove()
    with gate(made.journals, shared=False):
        fd = os.open(made.journals / GATE, os.O_RDWR)
        try:
            assert not lock(fd, shared=True, wait=False)
        finally:
            os.close(fd)
    with gate(made.journals, shared=True):
        Journal.open(made.journals).remove()  # commits do not keep one another out


def test_a_file_that_somebody_changed_since_is_left_alone_and_its_old_bytes_are_kept(tmp_path: Path) -> None:
    made, before = dead(tmp_path, 4)
    assert (made.root / "a.py").read_bytes() == b"new a\r\n" * 200
    made.file("a.py", b"a person's\n")
    made.file("apart.py", b"a person's too\n")
    (result,) = recover(made.journals)
    assert (result.state, result.paths) == ("changed", (made.root / "a.py",))
    assert result.kept is not None
    assert [path.read_bytes() for path in result.kept.iterdir()] == [b"old a\r\n" * 300]
    assert stat.S_IMODE(result.kept.stat().st_mode) == 0o700
    assert str(made.root / "a.py") in result.message and str(result.kept) in result.message
    now = snapshot(made.root)
    assert (now.pop("a.py")[0], now.pop("apart.py")[0]) == (b"a person's\n", b"a person's too\n")
    assert now == {name: value for name, value in before.items() if name not in ("a.py", "apart.py")}
    assert recover(made.journals) == []
    assert result.kept.is_dir()


def test_a_file_that_somebody_restored_by_hand_is_as_good(tmp_path: Path) -> None:
    made, before = dead(tmp_path, 4)
    (made.root / "a.py").unlink()
    made.file("a.py", b"old a\r\n" * 300)
    assert [result.state for result in recover(made.journals)] == ["restored"]
    assert snapshot(made.root) == before


def test_old_files_come_back_from_the_journal_where_the_backups_are_gone(tmp_path: Path) -> None:
    made, before = dead(tmp_path, 6)
    backups = list(made.root.rglob(".ombud-*"))
    assert backups
    for path in backups:
        path.unlink()
    assert [result.state for result in recover(made.journals)] == ["restored"]
    now = snapshot(made.root)
    assert {name: value[:2] for name, value in now.items()} == {name: value[:2] for name, value in before.items()}


def test_a_workspace_that_is_not_there_waits_for_its_return(tmp_path: Path) -> None:
    made, before = dead(tmp_path, 3)
    made.root.rename(tmp_path / "elsewhere")
    (result,) = recover(made.journals)
    assert result.state == "waiting"
    assert "the next start tries again" in result.message
    assert list(made.journals.glob("*.journal"))
    (tmp_path / "elsewhere").rename(made.root)
    assert [result.state for result in recover(made.journals)] == ["restored"]
    assert snapshot(made.root) == before


def test_F4_recovery_follows_no_link_that_was_put_in_the_way(tmp_path: Path) -> None:
    made, _ = dead(tmp_path, 6)
    outside = tmp_path / "outside"
    shutil.copytree(made.root / "pack", outside)
    there = snapshot(outside)
    (made.root / "pack").rename(made.root / "was-pack")
    (made.root / "pack").symlink_to(outside)
    (result,) = recover(made.journals)
    assert result.state == "changed"
    assert {path.name for path in result.paths} == {"from.py", "edited.py"}
    assert snapshot(outside) == there
    assert (made.root / "a.py").read_bytes() == b"old a\r\n" * 300


def test_a_folder_that_somebody_removed_is_not_made_again(tmp_path: Path) -> None:
    made, before = dead(tmp_path, 6)
    shutil.rmtree(made.root / "pack")
    (result,) = recover(made.journals)
    assert result.state == "changed"
    assert {path.name for path in result.paths} == {"from.py", "edited.py"}
    assert result.kept is not None
    assert {path.read_bytes() for path in result.kept.iterdir()} == {b"moves on\n", b"moves and changes\n"}
    assert snapshot(made.root) == {name: value for name, value in before.items() if not name.startswith("pack")}


@pytest.mark.parametrize("size", [0, 10, 40, 200, -1])
def test_a_journal_that_was_cut_short_had_changed_nothing(tmp_path: Path, size: int) -> None:
    made, _ = dead(tmp_path, 1)
    (journal,) = made.journals.glob("*.journal")
    whole = journal.read_bytes()
    journal.write_bytes(whole[:size])
    middle = snapshot(made.root)
    assert recover(made.journals) == []
    assert snapshot(made.root) == middle
    assert not list(made.journals.glob("*.journal"))


def test_strangers_in_the_journal_folder_are_not_touched(tmp_path: Path) -> None:
    made, _ = dead(tmp_path, 1)
    outside = tmp_path / "precious"
    outside.write_bytes(b"precious")
    (made.journals / "x.journal").symlink_to(outside)
    (made.journals / "notes.txt").write_bytes(b"mine")
    restored, stranger = recover(made.journals)
    assert (restored.state, stranger.state) == ("restored", "waiting")
    assert "x.journal" in stranger.message
    assert outside.read_bytes() == b"precious"
    assert (made.journals / "notes.txt").read_bytes() == b"mine"


def test_one_file_killed_midway_leaves_no_litter(tmp_path: Path) -> None:
    made = scene(tmp_path)
    made.file("kept.py", b"kept\n")
    with stopped(tmp_path, 1, "one_file"):
        assert list(made.root.rglob(".ombud-*"))
    assert recover(made.journals) == []
    assert snapshot(made.root).keys() == {"kept.py", "a.py"}
    assert (made.root / "a.py").read_bytes() == b"old\n"


def test_recovery_where_nothing_ever_was_written(tmp_path: Path) -> None:
    assert recover(tmp_path / "never" / "made") == []
    assert not (tmp_path / "never").exists()


def test_after_recovery_the_workspace_takes_commits_again(tmp_path: Path) -> None:
    made, before = dead(tmp_path, 5)
    recover(made.journals)
    assert snapshot(made.root) == before
    commit(made.fence, [made.modify("a.py", b"again\n"), made.delete("gone.py")], made.journals)
    assert (made.root / "a.py").read_bytes() == b"again\n"
    assert recover(made.journals) == []
