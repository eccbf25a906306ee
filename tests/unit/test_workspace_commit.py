"""Rows C1, C2, C3, C8 and C9: several files are written all or none, and stay what they were."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ombud.errors import UserError
from ombud.workspace import folders as folders_module
from ombud.workspace.change import Change
from ombud.workspace.commit import commit

from tests.commits import Scene, interposed, left_over, of_every_kind, refused, scene, snapshot


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


# -- what a commit does


def test_a_commit_makes_changes_of_every_kind(made: Scene) -> None:
    changes = of_every_kind(made)
    committed = commit(made.fence, changes, made.journals)
    now = snapshot(made.root)
    assert now.keys() == {
        *("a.py", "tool.sh", "apart.py", "twin.py", "other-twin.py", "home.py", "pack", "pack/renamed.py"),
        *("fresh", "fresh/deep", "fresh/deep/b.py", "fresh/to.py", "fresh/roamed.py"),
    }
    assert now["a.py"][:2] == (b"new a\r\n" * 200, 0o644)
    assert now["tool.sh"][:2] == (b"#!/bin/sh\nnew and longer\n", 0o755)
    assert now["fresh/deep/b.py"][:2] == (b"new file\n", 0o750)
    assert now["fresh/to.py"][:2] == (b"moves on\n", 0o600)
    assert now["pack/renamed.py"][:2] == (b"moved and changed\n", 0o755)
    assert now["twin.py"][2] == now["other-twin.py"][2]
    assert now["other-twin.py"][0] == b"written in place, and longer than before\n" * 60
    assert now["fresh/roamed.py"] == now["home.py"] == (b"moved in place, shorter\n", 0o640, "fresh/roamed.py")
    assert left_over(made) == []
    assert [(file.kind, file.inside.relative) for file in committed.files] == [
        *(("modify", "a.py"), ("modify", "tool.sh"), ("create", "fresh/deep/b.py"), ("delete", "gone.py")),
        *(
            ("rename", "fresh/to.py"),
            ("rename", "pack/renamed.py"),
            ("modify", "twin.py"),
            ("rename", "fresh/roamed.py"),
        ),
    ]
    assert committed.files[4].came_from == changes[4].inside
    assert committed.files[3].status is None
    status = committed.files[0].status
    assert status is not None and os.path.samestat(status, (made.root / "a.py").stat())


def test_a_new_file_has_the_usual_permissions(made: Scene) -> None:
    umask = os.umask(0o027)
    try:
        commit(made.fence, [made.create("a/b.py", b"x")], made.journals)
    finally:
        os.umask(umask)
    assert stat.S_IMODE((made.root / "a/b.py").stat().st_mode) == 0o640
    assert stat.S_IMODE((made.root / "a").stat().st_mode) == 0o750


def test_a_change_of_nothing_writes_nothing(made: Scene) -> None:
    made.file("a.py", b"same\n")
    before = (made.root / "a.py").stat()
    committed = commit(made.fence, [made.modify("a.py", b"same\n")], made.journals)
    assert (made.root / "a.py").stat() == before
    assert committed.files[0].status is not None and committed.files[0].status.st_ino == before.st_ino
    assert not made.journals.exists()


def test_permissions_alone_can_change(made: Scene) -> None:
    made.file("a.sh", b"#!/bin/sh\n")
    made.file("b.sh", b"#!/bin/sh\n")
    os.link(made.root / "b.sh", made.root / "c.sh")
    commit(made.fence, [made.modify(n, b"#!/bin/sh\n", 0o755) for n in ("a.sh", "b.sh")], made.journals)
    assert [stat.S_IMODE((made.root / name).stat().st_mode) for name in ("a.sh", "b.sh", "c.sh")] == [0o755] * 3


def test_an_empty_commit_is_one(made: Scene) -> None:
    assert commit(made.fence, [], made.journals).files == ()


def test_more_folders_than_are_held_open(made: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders_module, "OPEN_AT_ONCE", 3)
    for number in range(12):
        made.file(f"d{number}/a.py", b"old")
    open_before = len(os.listdir("/dev/fd"))
    changes = [made.modify(f"d{number}/a.py", b"new") for number in range(12)]
    changes.append(made.create("x/y/z/a.py", b"new"))
    commit(made.fence, changes, made.journals)
    assert {value[0] for value in snapshot(made.root).values() if value[0] != "folder"} == {b"new"}
    assert len(os.listdir("/dev/fd")) == open_before


# -- what is refused before anything is written


def test_C1_files_that_differ_from_what_was_captured_refuse_all(made: Scene) -> None:
    for name in ("a.py", "b.py", "c.py", "d.py", "e.py"):
        made.file(name, b"old\n")
    changes = [made.modify(name, b"new\n") for name in ("a.py", "b.py", "c.py")]
    changes += [made.delete("d.py"), made.rename("e.py", "f.py"), made.create("g.py", b"new\n")]
    made.file("b.py", b"somebody else\n")
    (made.root / "c.py").unlink()
    made.file("d.py", b"old!\n")
    made.file("f.py", b"in the way\n")
    made.file("g.py", b"here already\n")
    error = refused(made, changes)
    assert error.kind == "file_changed"
    assert error.data["paths"] == ["b.py", "c.py", "d.py", "f.py", "g.py"]
    assert error.message == (
        "b.py, c.py, d.py were changed or removed since being read and f.py, g.py exist already, so nothing was "
        "written. Read again and make the change on what is there now."
    )
    assert not made.journals.exists()


def test_C1_a_file_that_became_a_link_or_a_folder_is_changed(made: Scene) -> None:
    made.file("a.py", b"old\n")
    made.file("b.py", b"old\n")
    made.file("sub/c.py", b"old\n")
    changes = [made.modify("a.py", b"new\n"), made.modify("b.py", b"new\n"), made.modify("sub/c.py", b"new\n")]
    (made.root / "a.py").unlink()
    (made.root / "a.py").symlink_to("b.py")
    (made.root / "b.py").unlink()
    (made.root / "b.py").mkdir()
    (made.root / "sub/c.py").unlink()
    (made.root / "sub").rmdir()
    error = refused(made, changes)
    assert (error.kind, error.data["paths"]) == ("file_changed", ["a.py", "b.py", "sub/c.py"])


def test_F4_a_folder_swapped_for_a_link_leads_nowhere(made: Scene, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.py").write_bytes(b"old\n")
    made.file("sub/a.py", b"old\n")
    changes = [made.modify("sub/a.py", b"new\n")]
    (made.root / "sub").rename(made.root / "was")
    (made.root / "sub").symlink_to(outside)
    assert refused(made, changes).kind == "outside_workspace"
    assert (outside / "a.py").read_bytes() == b"old\n"


def test_a_write_protected_file_is_not_replaced_behind_its_back(made: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made.file("a.py", b"old\n", 0o444)
    asked: list[Any] = []

    def access(name: str, how: int, **named: Any) -> bool:
        asked.append((name, how))
        return False

    monkeypatch.setattr(os, "access", access)  # the superuser, who may run this, may write everything
    error = refused(made, [made.modify("a.py", b"new\n")])
    assert (error.kind, asked) == ("permission_denied", [("a.py", os.W_OK)])
    assert "a.py is write-protected" in error.message


def test_one_path_twice_is_the_callers_mistake(made: Scene) -> None:
    made.file("a.py", b"old\n")
    for changes in (
        [made.modify("a.py", b"1"), made.modify("a.py", b"2")],
        [made.create("b.py", b"1"), made.rename("a.py", "b.py")],
    ):
        with pytest.raises(UserError, match="changed twice"):
            commit(made.fence, changes, made.journals)


def test_two_names_of_one_file_are_not_both_changed(made: Scene) -> None:
    made.file("a.py", b"old\n")
    os.link(made.root / "a.py", made.root / "b.py")
    error = refused(made, [made.modify("a.py", b"1"), made.modify("b.py", b"2")])
    assert error.kind == "conflict"
    assert "a.py and b.py are two names of one file" in error.message
    commit(made.fence, [made.delete("a.py"), made.delete("b.py")], made.journals)
    assert snapshot(made.root) == {}


@pytest.mark.parametrize(
    "make",
    [
        lambda inside, file: Change("create", inside, file, b"x"),
        lambda inside, file: Change("create", inside),
        lambda inside, file: Change("modify", inside, None, b"x"),
        lambda inside, file: Change("modify", inside, file),
        lambda inside, file: Change("delete", inside, file, b"x"),
        lambda inside, file: Change("rename", inside, file),
        lambda inside, file: Change("modify", inside, file, b"x", inside),
    ],
)
def test_a_change_that_says_nothing_cannot_be_made(made: Scene, make: Callable[..., Change]) -> None:
    made.file("a.py", b"old\n")
    inside = made.fence.resolve("a.py", intent="write")
    with pytest.raises(ValueError, match=r"a\.py"):
        make(inside, made.fence.read(inside, 100))


# -- C8: what a file is besides its bytes


def test_C8_a_symlink_stays_and_its_target_is_written(made: Scene) -> None:
    made.file("real/a.py", b"old\n", 0o755)
    (made.root / "a.py").symlink_to("real/a.py")
    commit(made.fence, [made.modify("a.py", b"new\n")], made.journals)
    assert os.readlink(made.root / "a.py") == "real/a.py"
    assert (made.root / "real/a.py").read_bytes() == b"new\n"
    assert stat.S_IMODE((made.root / "real/a.py").stat().st_mode) == 0o755


@pytest.mark.parametrize("mode", [0o644, 0o755, 0o600, 0o444, 0o4755, 0o2711])
def test_C8_permissions_survive(made: Scene, mode: int) -> None:
    made.file("a.sh", b"old\n", mode)
    made.file("b.sh", b"old\n", mode)
    os.link(made.root / "b.sh", made.root / "c.sh")
    access = os.access
    os.access = lambda *args, **named: True
    try:
        if os.geteuid() and not mode & 0o200:
            changes = [made.modify("a.sh", b"new\n")]  # in place it cannot be written without the right to
        else:
            changes = [made.modify("a.sh", b"new\n"), made.modify("b.sh", b"new and longer\n")]
        commit(made.fence, changes, made.journals)
    finally:
        os.access = access
    for change in changes:
        assert stat.S_IMODE(change.inside.path.stat().st_mode) == mode
        assert change.inside.path.read_bytes() == change.after


def test_C8_the_owner_survives(made: Scene) -> None:
    made.file("a.py", b"old\n")
    path = made.root / "a.py"
    owner = (12_345, 12_346) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    os.chown(path, *owner)
    path.chmod(0o4755)
    commit(made.fence, [made.modify("a.py", b"new\n")], made.journals)
    assert (path.stat().st_uid, path.stat().st_gid, stat.S_IMODE(path.stat().st_mode)) == (*owner, 0o4755)
    commit(made.fence, [made.rename("a.py", "b.py", b"newer\n")], made.journals)
    moved = (made.root / "b.py").stat()
    assert (moved.st_uid, moved.st_gid, stat.S_IMODE(moved.st_mode)) == (*owner, 0o4755)


def test_C8_a_file_whose_owner_we_cannot_give_stays_the_same_file(made: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ombud.workspace.change.keeps_owner", lambda _status: False)
    made.file("a.py", b"old\n")
    made.file("b.py", b"old\n")
    before = [(made.root / name).stat().st_ino for name in ("a.py", "b.py")]
    commit(made.fence, [made.modify("a.py", b"new\n"), made.rename("b.py", "c.py", b"new\n")], made.journals)
    assert [(made.root / name).stat().st_ino for name in ("a.py", "c.py")] == before
    assert {value[0] for value in snapshot(made.root).values()} == {b"new\n"}


@pytest.mark.skipif(sys.platform != "linux", reason="Python reaches extended attributes on Linux only")
def test_C8_extended_attributes_survive(made: Scene) -> None:
    made.file("a.py", b"old\n")
    os.setxattr(made.root / "a.py", "user.note", b"kept")
    commit(made.fence, [made.modify("a.py", b"new\n")], made.journals)
    assert os.getxattr(made.root / "a.py", "user.note") == b"kept"
    commit(made.fence, [made.rename("a.py", "b.py", b"newer\n")], made.journals)
    assert os.getxattr(made.root / "b.py", "user.note") == b"kept"


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has no names that are not Unicode")
def test_a_name_that_is_no_text_is_written_and_taken_back(made: Scene) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    made.file(name, b"old\n")
    made.file("b.py", b"old\n")
    commit(made.fence, [made.modify(name, b"new\n"), made.modify("b.py", b"new\n")], made.journals)
    assert (made.root / name).read_bytes() == b"new\n"


# -- C9: nobody else reads the documents


def test_C9_journals_are_the_users_own_and_messages_hold_no_text(made: Scene) -> None:
    made.file("a.py", b"password = 'hunter2'\n")
    made.file("b.py", b"password = 'hunter3'\n")
    changes = [made.modify("a.py", b"password = 'hunter4'\n"), made.modify("b.py", b"password = 'hunter5'\n")]
    modes: list[int] = []

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        if name == "replace":
            modes.extend(stat.S_IMODE(path.stat().st_mode) for path in made.journals.glob("*.journal"))
            modes.append(stat.S_IMODE(made.journals.stat().st_mode))
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*args, **named)

    umask = os.umask(0)
    try:
        with interposed(act):
            error = refused(made, changes)
    finally:
        os.umask(umask)
    assert modes == [0o600, 0o700]
    assert "hunter" not in str(error.payload())


def test_C9_new_bytes_are_never_more_open_than_the_file(made: Scene) -> None:
    made.file("secret.py", b"old\n", 0o600)
    seen: list[int] = []

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        result = real(*args, **named)
        seen.extend(stat.S_IMODE(path.stat().st_mode) for path in made.root.glob(".ombud-*.new"))
        return result

    umask = os.umask(0)
    try:
        with interposed(act):
            commit(made.fence, [made.modify("secret.py", b"new\n")], made.journals)
    finally:
        os.umask(umask)
    assert set(seen) == {0o600}
