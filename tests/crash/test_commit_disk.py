"""C1, C2, C8 on real disks: one that is full, folders and files that a user may not write, and files of others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ombud.errors import Refused
from ombud.workspace.commit import commit

from tests.commits import left_over, portrait, scene, twenty_files

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0

# A small disk of its own in a mount namespace of its own: it is gone when the process ends, however it ends.
SMALL_DISK = 'mount -t tmpfs -o size=12m tmpfs "$1" && shift && exec "$@"'


def run(*argv: Any) -> Any:
    done = subprocess.run(
        list(map(str, argv)),
        capture_output=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return json.loads(done.stdout)


def can_mount(folder: Path) -> bool:
    if not AS_ROOT or shutil.which("unshare") is None:
        return False
    probe: list[str | Path] = ["unshare", "-m", "sh", "-c", SMALL_DISK, "sh", folder, "true"]
    return subprocess.run(probe, capture_output=True, check=False, timeout=60).returncode == 0


@pytest.mark.parametrize("what", ["workspace", "journals", "both"])
def test_C2_a_disk_that_is_really_full_leaves_all_or_nothing(tmp_path: Path, what: str) -> None:
    disk, elsewhere = tmp_path / "disk", tmp_path / "elsewhere"
    disk.mkdir()
    elsewhere.mkdir()
    if not can_mount(disk):
        pytest.skip("a disk can be mounted by root alone; RLIMIT_FSIZE is tried below")
    # In coarse steps until all of it fits, and in fine ones while next to nothing does.
    told = []
    for step, largest in ((4096, 100_000), (262_144, 6_000_000)):
        driver = [sys.executable, HERE / "full_disk.py", disk, elsewhere, what, step, largest]
        told += run("unshare", "-m", "sh", "-c", SMALL_DISK, "sh", disk, *driver)
    written = [one for one in told if one["kind"] == "written"]
    refused = [one for one in told if one["kind"] != "written"]
    assert len(written) > 3 and len(refused) > 20
    assert {one["kind"] for one in refused} == {"write_failed"}
    for one in refused:
        assert one["unchanged at once"] and one["unchanged"], one
        assert (one["said"], one["left over"]) == ([], []), one
        assert "No space left on device. Nothing was changed" in one["message"]
    assert all(one["whole"].keys() == written[0]["whole"].keys() and one["left over"] == [] for one in written)


def sized(limit: int) -> Iterator[int]:
    """Powers of two up to ``limit``."""
    size = 1
    while size < limit:
        yield size
        size *= 2


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit(2) is Linux's")
def test_C2_no_file_may_grow_beyond_a_limit_and_nothing_is_changed(tmp_path: Path) -> None:
    """As a full disk, but for any user: no file may become larger than so many bytes (``EFBIG``)."""
    import resource

    kinds = set()
    for size in sized(1 << 23):
        made = scene(tmp_path / str(size))
        changes = twenty_files(made)
        before = portrait(made.root)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            commit(made.fence, changes, made.journals)
            kinds.add("written")
        except Refused as refused:
            kinds.add(refused.kind)
            assert "File too large. Nothing was changed" in refused.message
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            assert portrait(made.root) == before
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert left_over(made) == []
    assert kinds == {"written", "write_failed"}


WRITTEN: dict[str, list[str]] = {
    "plain": [],
    "group_of_ours": [],
    "anothers_open_file": ["m0/f0.py", "m0/f18.py", "m1/f7.py"],
    "sticky_folder": ["m0/f18.py"],
}
REFUSED = {
    "read_only_folder": "m2/f2.py could not be written: Permission denied. Nothing was changed.",
    "read_only_file": "m1/f19.py is write-protected, so nothing was written.",
    "anothers_file": "m0/f18.py is write-protected, so nothing was written.",
    "sticky_delete": "m0/f18.py could not be written: Operation not permitted. Nothing was changed.",
    "sticky_rename": "m0/f18.py could not be written: Operation not permitted. Nothing was changed.",
    "no_place_for_folders": "m2/new/a.py could not be written: Permission denied. Nothing was changed.",
    "no_journal": "The journal of the write could not be made",
    "unreadable_folder": "m2 cannot be opened: Permission denied.",
}
as_users = pytest.mark.skipif(not AS_ROOT, reason="only root can become other users")


@as_users
@pytest.mark.parametrize("name", REFUSED)
def test_C1_what_a_user_may_not_write_refuses_all_twenty(name: str) -> None:
    told = run(sys.executable, HERE / "as_user.py", name)
    assert told["kind"] == "permission_denied"
    assert REFUSED[name] in told["message"]
    assert told["unchanged"] and told["left over"] == [] and told["new"] == 0


@as_users
@pytest.mark.parametrize("name", WRITTEN)
def test_C8_owners_groups_and_modes_are_kept_for_an_ordinary_user(name: str) -> None:
    told = run(sys.executable, HERE / "as_user.py", name)
    assert (told["kind"], told["new"], told["left over"]) == ("written", 20, [])
    assert told["facts"] == told["facts before"], "owner, group and mode of every file and folder"
    # Files whose owner we cannot give to a new one are the same files as before; all others were replaced.
    assert told["same files"] == WRITTEN[name]
    assert told["mixed"] == [], "killed at each seventh call and recovered as that user"
