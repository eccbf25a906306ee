"""What the fence gives: places, bytes with their metadata, folder handles, and messages that say what to do."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from ombud.errors import Refused
from ombud.guard import handles
from ombud.guard.fence import Fence, Inside
from ombud.guard.sensitive import SensitivePaths


@pytest.fixture
def base(tmp_path: Path) -> Path:
    real = Path(os.path.realpath(tmp_path))
    (real / "one" / "src").mkdir(parents=True)
    (real / "two").mkdir()
    (real / "one" / "src" / "a.py").write_bytes(b"x = 1\n")
    (real / "two" / "b.py").write_bytes(b"y = 2\n")
    return real


@pytest.fixture
def fence(base: Path) -> Fence:
    return Fence([base / "one", base / "two"], SensitivePaths())


def refused(fence: Fence, inside: Inside, limit: int = 100) -> str:
    with pytest.raises(Refused) as caught:
        fence.read(inside, limit)
    assert inside.relative in caught.value.message
    return caught.value.kind


def test_folders_are_real_and_in_order(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (base / "link").symlink_to("two")
    monkeypatch.chdir(base)
    fence = Fence([Path("link"), base / "one", base / "two", Path("one/src/..")], SensitivePaths())
    assert fence.folders == (base / "two", base / "one")
    assert fence.resolve("b.py", intent="read").path == base / "two" / "b.py"


@pytest.mark.parametrize("name", ["missing", "one/src/a.py", "loop"])
def test_folder_that_is_none(base: Path, name: str) -> None:
    (base / "loop").symlink_to("loop")
    with pytest.raises(Refused) as caught:
        Fence([base / name], SensitivePaths())
    assert caught.value.kind == "not_found"


def test_no_folder_contains_nothing(base: Path) -> None:
    fence = Fence([], SensitivePaths())
    assert fence.folders == ()
    assert not fence.contains(base)
    with pytest.raises(Refused) as caught:
        fence.resolve(str(base / "one" / "src" / "a.py"), intent="read")
    assert caught.value.kind == "outside_workspace"


def test_inside(base: Path, fence: Fence) -> None:
    for spelling in ("src/a.py", str(base / "one" / "src" / "a.py"), (base / "one" / "src" / "a.py").as_uri()):
        inside = fence.resolve(spelling, intent="read")
        assert inside.path == base / "one" / "src" / "a.py"
        assert inside.folder == base / "one"
        assert inside.relative == "src/a.py"
        assert inside.exists
        assert inside.uri == inside.spelled_uri == inside.path.as_uri()
    other = fence.resolve(str(base / "two" / "b.py"), intent="read")
    assert other.folder == base / "two"
    assert other.relative == str(base / "two" / "b.py")


def test_workspace_folder_itself(base: Path, fence: Fence) -> None:
    for spelling in (".", "./", str(base / "one"), (base / "one").as_uri() + "/"):
        inside = fence.resolve(spelling, intent="read")
        assert inside.path == base / "one"
        assert inside.relative == "."
        for intent in ("write", "create", "delete"):
            with pytest.raises(Refused):
                fence.resolve(spelling, intent=intent)
        assert refused(fence, inside) == "not_text"


def test_innermost_folder_is_told(base: Path) -> None:
    fence = Fence([base / "one", base / "one" / "src"], SensitivePaths())
    inside = fence.resolve("src/a.py", intent="read")
    assert inside.folder == base / "one" / "src"
    assert inside.relative == "src/a.py"
    assert fence.read(inside, 100).data == b"x = 1\n"


def test_missing_files(base: Path, fence: Fence) -> None:
    for intent in ("read", "delete"):
        with pytest.raises(Refused) as caught:
            fence.resolve("src/new.py", intent=intent)
        assert caught.value.kind == "not_found"
        assert "src/new.py" in caught.value.message
    for intent in ("write", "create"):
        inside = fence.resolve("deep/er/new.py", intent=intent)
        assert inside.path == base / "one" / "deep" / "er" / "new.py"
        assert not inside.exists
        assert fence.resolve("src/a.py", intent=intent).exists


def test_missing_file_behind_a_link(base: Path, fence: Fence) -> None:
    (base / "one" / "alias").symlink_to("src")
    assert fence.resolve("alias/new/x.py", intent="create").path == base / "one" / "src" / "new" / "x.py"


@pytest.mark.parametrize("intent", ["read", "write", "create", "delete"])
def test_file_is_no_folder(fence: Fence, intent: str) -> None:
    with pytest.raises(Refused) as caught:
        fence.resolve("src/a.py/x", intent=intent)  # type: ignore[arg-type]
    assert caught.value.kind == "not_found"


def test_deleting_through_a_link_is_refused(base: Path, fence: Fence) -> None:
    (base / "one" / "alias.py").symlink_to("src/a.py")
    with pytest.raises(Refused) as caught:
        fence.resolve("alias.py", intent="delete")
    assert caught.value.kind == "conflict"
    assert "src/a.py" in caught.value.message
    (base / "one" / "folder").symlink_to("src")
    assert fence.resolve("folder/a.py", intent="delete").path == base / "one" / "src" / "a.py"


def test_messages_are_clean_and_short(fence: Fence) -> None:
    with pytest.raises(Refused) as caught:
        fence.resolve("x\x1b[31m\n\u202e" + "y" * 5000, intent="read")
    assert not set("\x1b\n\u202e") & set(caught.value.message)
    assert len(caught.value.message) < 1000


# --- reading ----------------------------------------------------------------------------------------------------------


def test_bytes_and_metadata(base: Path, fence: Fence) -> None:
    path = base / "one" / "src" / "a.py"
    path.chmod(0o750)
    os.link(path, base / "one" / "twin.py")
    found = fence.read(fence.resolve("src/a.py", intent="read"), 6)
    status = path.stat()
    assert found.data == b"x = 1\n"
    assert found.size == 6
    assert stat.S_IMODE(found.mode) == 0o750
    assert stat.S_ISREG(found.mode)
    assert found.nlink == 2
    assert (found.ino, found.dev, found.mtime_ns) == (status.st_ino, status.st_dev, status.st_mtime_ns)
    assert (found.uid, found.gid) == (status.st_uid, status.st_gid)


def test_empty_and_large_files(base: Path, fence: Fence) -> None:
    (base / "one" / "empty").write_bytes(b"")
    assert fence.read(fence.resolve("empty", intent="read"), 0).data == b""
    big = os.urandom(3_000_000)
    (base / "one" / "big").write_bytes(big)
    inside = fence.resolve("big", intent="read")
    assert fence.read(inside, len(big)).data == big
    with pytest.raises(Refused) as caught:
        fence.read(inside, len(big) - 1)
    assert caught.value.kind == "too_large"
    assert caught.value.data == {"size": len(big), "limit": len(big) - 1}


def test_file_that_grows_while_it_is_read(base: Path) -> None:
    """Its size was small when it was looked at; what comes is counted as well."""
    (base / "one" / "log").write_bytes(b"x" * 5000)
    fd = os.open(base / "one" / "log", os.O_RDONLY)
    try:
        with pytest.raises(Refused) as caught:
            handles.read_all(fd, 4000, "log", expected=10)
    finally:
        os.close(fd)
    assert caught.value.kind == "too_large"


def test_file_that_is_gone(fence: Fence) -> None:
    inside = fence.resolve("src/a.py", intent="read")
    inside.path.unlink()
    assert refused(fence, inside) == "not_found"
    inside.path.parent.rmdir()
    with pytest.raises(Refused) as caught:
        fence.read(inside, 100)
    assert caught.value.kind == "not_found"


def test_file_became_a_folder_and_a_folder_a_file(fence: Fence) -> None:
    inside = fence.resolve("src/a.py", intent="read")
    inside.path.unlink()
    inside.path.mkdir()
    assert refused(fence, inside) == "not_text"
    inside.path.rmdir()
    inside.path.parent.rmdir()
    inside.path.parent.write_text("file")
    with pytest.raises(Refused) as caught:
        fence.read(inside, 100)
    assert caught.value.kind == "not_found"


def test_place_of_another_fence_is_checked_again(base: Path, fence: Fence) -> None:
    inside = fence.resolve(str(base / "two" / "b.py"), intent="read")
    narrow = Fence([base / "one"], SensitivePaths())
    assert refused(narrow, inside) == "outside_workspace"
    strict = Fence([base / "two"], SensitivePaths(add=["*.py"]))
    assert refused(strict, inside) == "sensitive_path"


# --- folder handles ---------------------------------------------------------------------------------------------------


def open_descriptors() -> int:
    return len(os.listdir("/dev/fd"))


def test_directory(base: Path, fence: Fence) -> None:
    inside = fence.resolve("src/a.py", intent="write")
    with fence.directory(inside) as folder:
        assert os.fstat(folder).st_ino == (base / "one" / "src").stat().st_ino
        os.fsync(folder)
        os.close(os.open("a.py", os.O_RDONLY, dir_fd=folder))
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(folder)
    with fence.directory(fence.resolve("top.txt", intent="create")) as folder:
        assert os.fstat(folder).st_ino == (base / "one").stat().st_ino


def test_directory_creates_missing_folders_and_tells_which(base: Path, fence: Fence) -> None:
    inside = fence.resolve("src/p/q/new.py", intent="create")
    with pytest.raises(Refused) as caught, fence.directory(inside):
        pass
    assert caught.value.kind == "not_found"
    assert not (base / "one" / "src" / "p").exists()
    made: list[Path] = []
    with fence.directory(inside, create=True, made=made) as folder:
        assert os.fstat(folder).st_ino == inside.path.parent.stat().st_ino
    assert made == [base / "one" / "src" / "p", base / "one" / "src" / "p" / "q"]
    again: list[Path] = []
    with fence.directory(inside, create=True, made=again):
        pass
    assert again == []


def test_directory_of_the_workspace_folder_is_outside(fence: Fence) -> None:
    with pytest.raises(Refused), fence.directory(fence.resolve(".", intent="read")):
        pass


def test_no_descriptor_is_left_open(base: Path, fence: Fence) -> None:
    inside = fence.resolve("src/a.py", intent="write")
    missing = fence.resolve("src/no/where/x", intent="create")
    os.mkfifo(base / "one" / "pipe")
    pipe = fence.resolve("pipe", intent="read")
    before = open_descriptors()
    for _ in range(50):
        fence.read(inside, 100)
        fence.chmod(inside, 0o644)
        for bad, limit in ((inside, 1), (pipe, 100), (missing, 100)):
            with pytest.raises(Refused):
                fence.read(bad, limit)
        with fence.directory(inside):
            pass
        with pytest.raises(Refused), fence.directory(missing):
            pass
        with pytest.raises(ZeroDivisionError), fence.directory(inside):
            raise ZeroDivisionError
    assert open_descriptors() == before


def test_without_handles_directory_says_so_and_reading_works(fence: Fence, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handles, "SUPPORTED", False)
    inside = fence.resolve("src/a.py", intent="write")
    assert fence.read(inside, 100).data == b"x = 1\n"
    with pytest.raises(Refused) as caught, fence.directory(inside):
        pass
    assert caught.value.kind == "permission_denied"
    fd = os.open(inside.path, os.O_RDONLY)
    try:
        fence.confirm(fd, inside)
    finally:
        os.close(fd)
