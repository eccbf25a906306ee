"""Rows C1, C2 and C3: a commit that fails on the way, a full disk, somebody else in between, and what is synced."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ombud.errors import Refused
from ombud.workspace import folders as folders_module
from ombud.workspace.change import Change
from ombud.workspace.commit import commit
from ombud.workspace.recover import recover

from tests.commits import (
    Counter,
    Scene,
    failing,
    five_files,
    interposed,
    left_over,
    of_every_kind,
    refused,
    scene,
    snapshot,
)


@pytest.fixture(autouse=True)
def plain_sync(monkeypatch: pytest.MonkeyPatch) -> None:
    """On macOS the product syncs by ``fcntl``, and by ``fsync`` where that fails: these tests watch the latter."""
    if sys.platform == "darwin":
        import fcntl

        real = fcntl.fcntl

        def without(fd: Any, command: int, *more: Any) -> Any:
            if command == fcntl.F_FULLFSYNC:
                raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
            return real(fd, command, *more)

        monkeypatch.setattr(fcntl, "fcntl", without)


@pytest.fixture
def made(tmp_path: Path) -> Scene:
    return scene(tmp_path)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
@pytest.mark.parametrize("scenery", [five_files, of_every_kind])
def test_C2_a_failure_at_any_step_leaves_everything_as_it_was(
    tmp_path: Path, scenery: Callable[[Scene], list[Change]], number: int
) -> None:
    counter = Counter(0, failing(number))
    whole = scene(tmp_path / "whole")
    changes = scenery(whole)
    with interposed(counter):
        commit(whole.fence, changes, whole.journals)
    after = snapshot(whole.root)
    failed = 0
    for at in range(1, counter.count + 1):
        made = scene(tmp_path / str(at))
        changes = scenery(made)
        before = snapshot(made.root)
        with interposed(Counter(at, failing(number))):
            try:
                commit(made.fence, changes, made.journals)
            except Refused as error:
                failed += 1
                assert error.kind == ("permission_denied" if number == errno.EROFS else "write_failed")
                assert "Nothing was changed" in error.message, error.message
                assert snapshot(made.root) == before, counter.names[at - 1]
                assert left_over(made) == []
            else:
                # What fails when all is done is tidied up by the next start.
                recover(made.journals)
                assert snapshot(made.root) == after, counter.names[at - 1]
                assert left_over(made) == []
    assert failed > counter.count / 2


@pytest.mark.parametrize("scenery", [five_files, of_every_kind])
def test_C2_a_disk_that_stays_full_loses_no_old_bytes(tmp_path: Path, scenery: Callable[[Scene], list[Change]]) -> None:
    """From one write on every write fails, also those of the way back."""

    def full(name: str, real: Any, args: Any, named: Any) -> Any:
        if name == "write":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args, **named)

    counter = Counter(0, full)
    whole = scene(tmp_path / "whole")
    changes = scenery(whole)
    with interposed(counter):
        commit(whole.fence, changes, whole.journals)
    for at in (number for number, name in enumerate(counter.names, 1) if name == "write"):
        made = scene(tmp_path / str(at))
        changes = scenery(made)
        before = snapshot(made.root)
        with interposed(Counter(at, full, onwards=True)):
            try:
                commit(made.fence, changes, made.journals)
            except Refused as error:
                assert error.kind == "write_failed"
                taken_back = "Nothing was changed" in error.message
                assert taken_back or "the old bytes are in" in error.message
                assert taken_back == (snapshot(made.root) == before)
        if snapshot(made.root) != before:
            # A file of two names that was half written cannot be brought back on a full disk: its bytes were kept.
            assert scenery is of_every_kind
            assert [result.state for result in recover(made.journals)] == ["restored"]
        assert snapshot(made.root) == before
        assert left_over(made) == []


def test_C2_a_file_written_in_place_grows_before_its_old_bytes_are_touched(made: Scene) -> None:
    made.file("a.py", b"old bytes\n")
    fd = os.open(made.root, os.O_RDONLY)
    try:
        folder = folders_module.Folder(fd, made.root)
        status = (made.root / "a.py").stat()
        with interposed(Counter(2, failing(errno.ENOSPC))), pytest.raises(OSError, match="No space"):
            # The first write is the part beyond the old end; it is followed by a sync that fails.
            folder.rewrite(
                "a.py", b"new bytes, and more of them\n", mode=0o644, identity=(status.st_dev, status.st_ino)
            )
        assert (made.root / "a.py").read_bytes() == b"old bytes\n"
        with pytest.raises(FileNotFoundError):
            folder.rewrite("a.py", b"new\n", mode=0o644, identity=(status.st_dev, status.st_ino + 1))
        assert (made.root / "a.py").read_bytes() == b"old bytes\n"
    finally:
        os.close(fd)


@pytest.mark.parametrize("kind", ["modify", "delete"])
def test_C2_one_file_that_cannot_be_brought_back_is_kept_elsewhere(made: Scene, kind: str) -> None:
    made.file("a.py", b"old\n")
    changes = [made.modify("a.py", b"new\n") if kind == "modify" else made.delete("a.py")]
    swapped: list[str] = []

    def dying(name: str, real: Any, args: Any, named: Any) -> Any:
        """A disk that fails for good once the change is made."""
        if swapped and name in ("replace", "link", "unlink", "fsync") and "ws" in _folder_of(args, named):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if name == "replace":
            swapped.append(name)
        return real(*args, **named)

    def _folder_of(args: Any, named: Any) -> str:
        fd = named.get("src_dir_fd", named.get("dir_fd", args[0]))
        return "ws" if isinstance(fd, int) and os.path.samestat(os.fstat(fd), made.root.stat()) else ""

    with interposed(dying), pytest.raises(Refused) as caught:
        commit(made.fence, changes, made.journals)
    (kept,) = made.journals.glob("*.kept")
    assert f"Not everything could be brought back ([Errno 5] Input/output error): the old bytes are in {kept}." in (
        caught.value.message
    )
    recover(made.journals)
    assert [path.read_bytes() for path in kept.iterdir()] == [b"old\n"]
    assert [name for name in left_over(made) if name != kept.name] == []


def test_C2_a_full_disk_says_which_file_and_what_to_do(made: Scene) -> None:
    made.file("pack/a.py", b"old\n")
    made.file("b.py", b"old\n")
    changes = [made.modify("b.py", b"new\n"), made.modify("pack/a.py", b"more\n")]

    def full(name: str, real: Any, args: Any, named: Any) -> Any:
        if bytes(args[1]) == b"more\n":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*args, **named)

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        return full(name, real, args, named) if name == "write" else real(*args, **named)

    with interposed(act):
        error = refused(made, changes)
    assert error.message == (
        "pack/a.py could not be written: No space left on device. Nothing was changed. Free some space and try again."
    )
    assert (error.kind, error.data) == ("write_failed", {"paths": ["pack/a.py"]})


def test_a_journal_that_cannot_be_written_stops_everything(made: Scene) -> None:
    made.journals.parent.mkdir()
    made.journals.write_bytes(b"a file where the folder should be")
    made.file("a.py", b"old\n")
    before = snapshot(made.root)
    with pytest.raises(Refused, match="Nothing was changed; make that folder writable") as caught:
        commit(made.fence, [made.modify("a.py", b"new\n")], made.journals)
    assert caught.value.kind == "write_failed"
    assert snapshot(made.root) == before


def meddling(made: Scene, at: str, meddle: Callable[[], object], nth: int = 1) -> Callable[..., Any]:
    """Somebody else does something right before the n-th call of one kind."""
    counts = {"left": nth}

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        if name == at:
            counts["left"] -= 1
            if counts["left"] == 0:
                meddle()
        return real(*args, **named)

    return act


def test_C1_a_file_changed_while_the_commit_is_under_way_refuses_all(made: Scene) -> None:
    changes = five_files(made)
    other = made.root / "m1/f3.py"
    before = snapshot(made.root)

    def meddle() -> None:
        other.write_bytes(b"typed by a person at that moment\n")

    # The journal is two writes (head, and each old text), so this is while the temporaries are written.
    with interposed(meddling(made, "write", meddle, 9)), pytest.raises(Refused) as caught:
        commit(made.fence, changes, made.journals)
    assert (caught.value.kind, caught.value.data["paths"]) == ("file_changed", ["m1/f3.py"])
    now = snapshot(made.root)
    assert now.pop("m1/f3.py")[0] == b"typed by a person at that moment\n"
    before.pop("m1/f3.py")
    assert now == before
    assert left_over(made) == []


def test_C1_a_file_made_in_the_meantime_is_not_overwritten(made: Scene) -> None:
    made.file("a.py", b"old\n")
    changes = [made.modify("a.py", b"new\n"), made.create("b.py", b"ours\n")]
    with (
        interposed(meddling(made, "replace", lambda: (made.root / "b.py").write_bytes(b"ours\n"))),
        pytest.raises(Refused) as caught,
    ):
        commit(made.fence, changes, made.journals)
    assert (caught.value.kind, caught.value.data["paths"]) == ("file_changed", ["b.py"])
    assert "b.py exists already" in caught.value.message
    assert (made.root / "a.py").read_bytes() == b"old\n"
    assert (made.root / "b.py").read_bytes() == b"ours\n"  # somebody else's, though the same bytes
    assert left_over(made) == []


def test_what_somebody_changed_right_after_us_is_left_alone_and_the_old_bytes_are_kept(made: Scene) -> None:
    made.file("a.py", b"old a\n")
    made.file("b.py", b"old b\n")
    changes = [made.modify("a.py", b"new a\n"), made.modify("b.py", b"new b\n")]

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        if name == "replace" and args[1] == "b.py" and args[0].endswith(".new"):
            (made.root / "a.py").write_bytes(b"a person's\n")
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(*args, **named)

    with interposed(act), pytest.raises(Refused) as caught:
        commit(made.fence, changes, made.journals)
    kept = next(made.journals.glob("*.kept"))
    assert caught.value.message == (
        "b.py could not be written: Input/output error. In that moment somebody else changed a.py, which was left "
        f"alone; the bytes from before are in {kept}. Look at the disk."
    )
    assert (made.root / "a.py").read_bytes() == b"a person's\n"
    assert (made.root / "b.py").read_bytes() == b"old b\n"
    assert [path.read_bytes() for path in kept.iterdir()] == [b"old a\n"]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700


def test_an_interrupted_commit_is_taken_back(made: Scene) -> None:
    changes = five_files(made)
    before = snapshot(made.root)

    def interrupt(name: str, real: Any, args: Any, named: Any) -> Any:
        raise KeyboardInterrupt

    with interposed(Counter(40, interrupt)), pytest.raises(KeyboardInterrupt):
        commit(made.fence, changes, made.journals)
    assert snapshot(made.root) == before
    assert left_over(made) == []


# -- C3: in which order things become durable


def test_C3_everything_is_synced_before_it_is_relied_upon(made: Scene) -> None:
    changes = [*five_files(made), made.create("new/deep/x.py", b"new\n")]
    log: list[tuple[str, str]] = []

    def path_of(fd: int) -> str:
        return os.readlink(f"/proc/self/fd/{fd}") if sys.platform == "linux" else _getpath(fd)

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        result = real(*args, **named)
        if name == "fsync":
            log.append(("sync", path_of(args[0])))
        elif name in ("replace", "link"):
            log.append((name, f"{path_of(named['dst_dir_fd'])}/{args[1]}"))
        elif name == "unlink" and named.get("dir_fd") is None:
            log.append(("unlink", str(args[0])))
        return result

    with interposed(act):
        commit(made.fence, changes, made.journals)
    places = [event for event in log if event[0] == "replace" or (event[0] == "link" and event[1].endswith(".py"))]
    first, last = log.index(places[0]), log.index(places[-1])
    early = {path for what, path in log[:first] if what == "sync"}
    late = [path for what, path in log[last:] if what == "sync"]
    real = made.root.resolve()
    assert len([path for path in early if Path(path).name.startswith(".ombud-")]) == len(changes) == len(places)
    assert len([path for path in early if path.endswith(".journal")]) == 1
    assert str(made.journals.resolve()) in early
    assert set(late) >= {str(real / name) for name in ("m0", "m1", "new/deep", "new", "")}
    # The mark of completion comes after the folders, and the journal goes last of all.
    assert late[-1].endswith(".journal")
    assert log[-1][0] == "unlink" and log[-1][1].endswith(".journal")


def _getpath(fd: int) -> str:
    import fcntl

    return os.fsdecode(fcntl.fcntl(fd, 50, bytes(1024)).rstrip(b"\0"))  # F_GETPATH of macOS


def test_C3_one_file_needs_no_synced_journal(made: Scene) -> None:
    made.file("a.py", b"old\n")
    changes = [made.modify("a.py", b"new\n")]
    counter = Counter(0, failing(errno.EIO))
    with interposed(counter):
        commit(made.fence, changes, made.journals)
    assert counter.names.count("fsync") == 2
    assert (made.root / "a.py").read_bytes() == b"new\n"


def test_C3_a_folder_that_cannot_be_synced_is_no_failure(made: Scene) -> None:
    made.file("a.py", b"old\n")
    changes = [made.modify("a.py", b"new\n")]

    def act(name: str, real: Any, args: Any, named: Any) -> Any:
        if name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(*args, **named)

    with interposed(act):
        commit(made.fence, changes, made.journals)
    assert (made.root / "a.py").read_bytes() == b"new\n"


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP])
def test_C8_a_disk_without_hard_links_works_and_takes_back_too(tmp_path: Path, number: int) -> None:
    def no_links(name: str, real: Any, args: Any, named: Any) -> Any:
        if name == "link":
            raise OSError(number, os.strerror(number))
        return real(*args, **named)

    def all_kinds(made: Scene) -> list[Change]:
        # Two names of one file cannot be on such a disk.
        return [change for change in of_every_kind(made) if not change.before or change.before.nlink == 1]

    whole = scene(tmp_path / "whole")
    changes = all_kinds(whole)
    counter = Counter(0, failing(errno.EIO))
    with interposed(lambda *call: counter(call[0], lambda *a, **n: no_links(call[0], call[1], a, n), call[2], call[3])):
        commit(whole.fence, changes, whole.journals)
    after = snapshot(whole.root)
    assert after["a.py"][0] == b"new a\r\n" * 200 and after["fresh/deep/b.py"][0] == b"new file\n"
    for at in range(1, counter.count + 1):
        made = scene(tmp_path / str(at))
        changes = all_kinds(made)
        before = snapshot(made.root)
        broken = Counter(at, failing(errno.EIO))

        def act(name: str, real: Any, args: Any, named: Any, broken: Counter = broken) -> Any:
            return broken(name, lambda *a, **n: no_links(name, real, a, n), args, named)

        with interposed(act):
            try:
                commit(made.fence, changes, made.journals)
            except Refused:
                assert snapshot(made.root) == before, counter.names[at - 1]
            else:
                recover(made.journals)
                assert snapshot(made.root) == after
        assert left_over(made) == []
