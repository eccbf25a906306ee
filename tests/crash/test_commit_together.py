"""C1, C4: commits of several processes to the same files follow each other; what is written is one of them, wholly."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from ombud.errors import Refused
from ombud.workspace import locks, turns
from ombud.workspace.commit import commit
from ombud.workspace.recover import recover

from tests.commits import Scene, left_over, of_every_kind, scene, snapshot
from tests.crash.test_commit_recover import stopped

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("processes", "rounds"), [(2, 60), (4, 20)])
def test_C1_processes_that_write_the_same_files_at_once_never_mix(tmp_path: Path, processes: int, rounds: int) -> None:
    driver = Path(__file__).with_name("commit_together.py")
    done = subprocess.run(
        [sys.executable, driver, tmp_path, str(processes), str(rounds)],
        capture_output=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert len(told) == rounds
    for one in told:
        # All had seen the old files, so exactly one could write; the others were told that the files changed.
        assert sorted(one["codes"]) == [0] + [7] * (processes - 1), one
        assert one["wholly"] == [one["codes"].index(0)], one
        assert (one["left over"], one["recovered"]) == ([], [])


@pytest.mark.parametrize("nth", [1, 4])
def test_C1_a_commit_waits_for_that_of_another_process_and_is_refused_for_what_that_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    """The other has made its last check of a file, and is about to replace it: the moment at which two could mix."""
    made = scene(tmp_path)
    told: list[Refused] = []
    waits = threading.Event()

    def lock_byte(fd: int, at: int) -> bool:
        mine = locks.lock_byte(fd, at)
        if not mine:
            waits.set()
        return mine

    monkeypatch.setattr(turns, "lock_byte", lock_byte)
    with stopped(tmp_path, nth) as child:
        # The other has not come to the second yet, so for now it is as we read it.
        changes = [made.modify(name, b"ours\n") for name in ("apart.py", "twin.py", "a.py", "tool.sh")]

        def ours() -> None:
            with pytest.raises(Refused) as caught:
                commit(made.fence, changes, made.journals)
            told.append(caught.value)

        thread = threading.Thread(target=ours)
        thread.start()
        assert waits.wait(30)
        assert child.stdin is not None and child.stdout is not None
        child.stdin.write(b"go on\n")
        child.stdin.flush()
        assert child.stdout.readline() == b"done\n"
        thread.join(30)
    assert [(one.kind, one.data["paths"]) for one in told] == [("file_changed", ["twin.py"])]
    model = scene(tmp_path / "model")
    commit(model.fence, of_every_kind(model), model.journals)
    assert snapshot(made.root) == snapshot(model.root)
    assert left_over(made) == []


def test_a_commit_that_hangs_in_another_process_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "SECONDS", 0.2)
    made = scene(tmp_path)
    with stopped(tmp_path, 4):
        middle = snapshot(made.root)
        with pytest.raises(Refused, match="Another Ombud has been writing") as caught:
            commit(made.fence, [made.modify("twin.py", b"ours\n"), made.modify("apart.py", b"ours\n")], made.journals)
        assert caught.value.kind == "conflict"
        assert snapshot(made.root) == middle
        assert len(list(made.journals.glob("*.journal"))) == 1, "ours is gone, the other's is there"
        # Files that have nothing to do with it are free, but for one that happens to share a slot with one of its.
        free = [name for name in ("1.py", "2.py", "3.py", "4.py", "5.py") if _written(made, name)]
        assert free


def _written(made: Scene, name: str) -> bool:
    try:
        commit(made.fence, [made.create(name, b"ours\n")], made.journals)
    except Refused:
        return False
    return True


def test_a_process_that_died_in_its_commit_holds_nobody_up(tmp_path: Path) -> None:
    made = scene(tmp_path)
    of_every_kind(scene(tmp_path / "model"))
    before = snapshot(tmp_path / "model" / "ws")
    shutil.rmtree(tmp_path / "model")
    with stopped(tmp_path, 4) as child:
        child.send_signal(signal.SIGKILL)
        child.wait(timeout=30)
        commit(made.fence, [made.modify("apart.py", b"ours\n")], made.journals)
        assert [one.state for one in recover(made.journals)] == ["restored"]
    now = snapshot(made.root)
    assert now.pop("apart.py")[0] == b"ours\n"
    before.pop("apart.py")
    assert now == before


def test_recovery_waits_for_a_live_commit_of_the_same_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SECONDS", 0.2)
    made = scene(tmp_path)
    with stopped(tmp_path, 2) as dead:
        dead.send_signal(signal.SIGKILL)
        dead.wait(timeout=30)
    # Somebody makes those files anew before anybody has recovered, and is in the middle of a commit of his own.
    shutil.rmtree(made.root)
    made.root.mkdir()
    with stopped(tmp_path, 3):
        (result,) = recover(made.journals)
        assert result.state == "waiting"
        assert "Another Ombud has been writing" in result.message
    assert {one.state for one in recover(made.journals)} <= {"restored", "changed"}
    assert recover(made.journals) == []
