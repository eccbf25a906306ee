"""Commits of ordinary users, whom permissions and owners bind: what root arranged, and what a user then did.

Run as root by test_commit_disk.py: ``python as_user.py SCENE`` prints one JSON object. The work is done in a child that
has become the user for good; the folder is one that any user can reach.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ombud.errors import Refused
from ombud.workspace.change import Change
from ombud.workspace.commit import commit
from ombud.workspace.recover import recover

from tests import commits
from tests.commits import Scene, portrait
from tests.crash.kill_commit import forked

USER, OTHER, GROUP = 61_001, 61_002, 61_003

Changes = Callable[[Scene], list[Change]]


def owned(made: Scene) -> None:
    """Twenty files of the user's own, in three folders."""
    for number in range(20):
        made.file(f"m{number % 3}/f{number}.py", b"old %d\n" % number * 20, 0o755 if number % 2 else 0o644)
    for path in (made.root, *made.root.rglob("*")):
        os.chown(path, USER, USER)


def all_twenty(made: Scene) -> list[Change]:
    return [made.modify(f"m{number % 3}/f{number}.py", b"new %d\n" % number * 30) for number in range(20)]


def plain(made: Scene) -> Changes:
    """Nothing stands in the way."""
    return all_twenty


def read_only_folder(made: Scene) -> Changes:
    (made.root / "m2").chmod(0o555)
    return all_twenty


def read_only_file(made: Scene) -> Changes:
    (made.root / "m1/f19.py").chmod(0o444)
    return all_twenty


def anothers_file(made: Scene) -> Changes:
    """Another user's file in a folder of ours, which its permissions do not let us write."""
    os.chown(made.root / "m0/f18.py", OTHER, OTHER)
    return all_twenty


def anothers_open_file(made: Scene) -> Changes:
    """Another user's file that anybody may write stays his, and the very same file."""
    for number in (0, 7, 18):
        path = made.root / f"m{number % 3}/f{number}.py"
        os.chown(path, OTHER, GROUP)
        path.chmod(0o666)
    return all_twenty


def sticky_folder(made: Scene) -> Changes:
    """In a folder like ``/tmp`` another user's file can be written, but neither moved nor deleted."""
    path = made.root / "m0/f18.py"
    os.chown(path, OTHER, OTHER)
    path.chmod(0o666)
    os.chown(made.root / "m0", OTHER, OTHER)
    (made.root / "m0").chmod(0o1777)
    return all_twenty


def sticky_delete(made: Scene) -> Changes:
    sticky_folder(made)
    return lambda made: [*all_twenty(made)[:18], made.delete("m0/f18.py")]


def sticky_rename(made: Scene) -> Changes:
    sticky_folder(made)
    return lambda made: [*all_twenty(made)[:18], made.rename("m0/f18.py", "m1/moved.py", b"new\n")]


def group_of_ours(made: Scene) -> Changes:
    """The group of a file, which is not our first one, is kept where we belong to it."""
    for number in (0, 7, 18):
        os.chown(made.root / f"m{number % 3}/f{number}.py", USER, GROUP)
    return all_twenty


def no_place_for_folders(made: Scene) -> Changes:
    (made.root / "m2").chmod(0o555)
    return lambda made: [*all_twenty(made)[:2], made.create("m2/new/a.py", b"new\n")]


def no_journal(made: Scene) -> Changes:
    made.journals.mkdir(mode=0o500)
    return all_twenty


def unreadable_folder(made: Scene) -> Changes:
    """A folder that may be passed and written but not listed; it cannot be synced either."""
    (made.root / "m2").chmod(0o333)
    return all_twenty


SCENES: dict[str, Callable[[Scene], Changes]] = {
    scene.__name__: scene
    for scene in (
        *(plain, read_only_folder, read_only_file, anothers_file, anothers_open_file, sticky_folder, sticky_delete),
        *(sticky_rename, group_of_ours, no_place_for_folders, no_journal, unreadable_folder),
    )
}


def as_user(made: Scene, arranged: Changes, told: Path, killed_at: int = 0) -> bool:
    """Do it in a child; whether it was killed. What it has to say is in ``told``."""

    def work() -> None:
        os.setgroups([GROUP])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        try:
            changes = arranged(made)
            with commits.interposed(commits.Counter(killed_at, commits.kill_half)):
                commit(made.fence, changes, made.journals)
            said = {"kind": "written", "message": ""}
        except Refused as refused:
            said = {"kind": refused.kind, "message": refused.message}
        told.write_text(json.dumps(said))

    return forked(work)


def recovering(made: Scene) -> None:
    def work() -> None:
        os.setgroups([GROUP])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        recover(made.journals)

    forked(work)


def built(folder: Path, name: str) -> tuple[Scene, Changes]:
    made = commits.scene(folder)
    owned(made)
    made.journals.parent.mkdir()
    arranged = SCENES[name](made)
    for path in (folder, made.journals.parent, *made.journals.parent.iterdir()):
        os.chown(path, USER, USER)
    return made, arranged


def identities(made: Scene) -> dict[str, int]:
    return {path.relative_to(made.root).as_posix(): path.stat().st_ino for path in made.root.rglob("*.py")}


def tried(folder: Path, name: str) -> dict[str, Any]:
    made, arranged = built(folder / "whole", name)
    before, same = portrait(made.root), identities(made)
    told = made.journals.parent / "told"
    as_user(made, arranged, told)
    now = portrait(made.root)
    result: dict[str, Any] = json.loads(told.read_text())
    told.unlink()
    result |= {
        "unchanged": now == before,
        "left over": commits.left_over(made),
        "facts": {path: list(facts[:3]) for path, facts in now.items()} | {"": []},
        "facts before": {path: list(facts[:3]) for path, facts in before.items()} | {"": []},
        "new": sum(path.read_bytes().startswith(b"new") for path in made.root.rglob("*.py")),
        "same files": sorted(path for path, inode in identities(made).items() if same.get(path) == inode),
        "mixed": [],
    }
    if result["kind"] == "written":
        result["mixed"] = killed(folder, name, before, now)
    return result


def killed(folder: Path, name: str, before: Any, after: Any) -> list[Any]:
    """The calls at which a kill and a recovery, both of the user, left something that is neither before nor after."""
    mixed = []
    for at in range(1, 1000, 7):
        made, arranged = built(folder / str(at), name)
        told = made.journals.parent / "told"
        died = as_user(made, arranged, told, at)
        recovering(made)
        now = portrait(made.root)
        if now not in (before, after) or commits.left_over(made):
            mixed.append([at, [path for path in now if now[path] not in (before.get(path), after.get(path))]])
        shutil.rmtree(folder / str(at))
        if not died:
            break
    return mixed


def main() -> None:
    os.fsync = lambda _fd: None  # type: ignore[assignment]
    folder = Path(tempfile.mkdtemp(prefix="ombud-user-"))
    try:
        folder.chmod(0o755)
        print(json.dumps(tried(folder, sys.argv[1])))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
