"""Our own watcher on a real disk, and what it does where the system refuses."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ombud.workspace import watcher as module
from ombud.workspace.tree import Event
from ombud.workspace.watcher import Notify, Watcher

from tests.conftest import Workspace
from tests.waiting import wait_until_sync

PATIENCE = 30.0


class Ear:
    """A running watcher and everything that it told."""

    def __init__(self, folders: list[Path], **more: object) -> None:
        self.batches: list[list[Event]] = []
        self.troubles: list[str] = []
        self.watcher = Watcher(folders, self.batches.append, self.troubles.append, **more)  # type: ignore[arg-type]

    def kinds(self, root: Path) -> dict[str, list[int]]:
        """Path → the kinds of its events, in order."""
        found: dict[str, list[int]] = {}
        for event in [event for batch in self.batches for event in batch]:
            found.setdefault(os.path.relpath(event.path, root), []).append(event.kind)
        return found

    def wait(self, root: Path, *expected: tuple[str, int]) -> None:
        wait_until_sync(
            lambda: all(kind in self.kinds(root).get(name, []) for name, kind in expected), PATIENCE, str(expected)
        )


Listen = Callable[..., Ear]


@pytest.fixture
def listen(caplog: pytest.LogCaptureFixture) -> Iterator[Listen]:
    """``listen(root, …)``: an `Ear` that hears already."""
    ears: list[Ear] = []
    caplog.set_level(logging.INFO, "ombud.watch")
    logging.getLogger("ombud").propagate = True

    def make(*folders: Path, **more: object) -> Ear:
        ear = Ear(list(folders), **more)
        ears.append(ear)
        before = len(caplog.records)
        ear.watcher.start()
        wait_until_sync(lambda: any("watching" in one.message for one in caplog.records[before:]), PATIENCE, "watching")
        return ear

    yield make
    for ear in ears:
        ear.watcher.stop()
        assert ear.watcher.join(PATIENCE), "the watcher did not end"


def test_changes_on_disk_are_told(workspace: Workspace, listen: Listen) -> None:
    root = workspace({"a.py": "a", "src/x.py": "x", "src/gone.py": "g"})
    ear = listen(root)
    (root / "a.py").write_text("aa")
    (root / "src/new.py").write_text("n")
    (root / "src/gone.py").unlink()
    ear.wait(root, ("a.py", 2), ("src/new.py", 1), ("src/gone.py", 3))
    assert ear.troubles == []
    assert set(ear.kinds(root)) == {"a.py", "src/new.py", "src/gone.py"}


def test_new_folders_are_watched_to_any_depth(workspace: Workspace, listen: Listen) -> None:
    root = workspace({"a.py": "a"})
    ear = listen(root)
    for name in ("one", "one/two", "one/two/three"):
        (root / name).mkdir()
        (root / name / "m.py").write_text("1")
    ear.wait(root, ("one/m.py", 1), ("one/two/m.py", 1), ("one/two/three/m.py", 1))
    (root / "one/two/three/m.py").write_text("2, changed")
    ear.wait(root, ("one/two/three/m.py", 2))
    (root / "one").rename(root / "uno")
    ear.wait(root, ("one/two/three/m.py", 3), ("uno/two/three/m.py", 1))
    (root / "uno/two/three/m.py").write_text("3, changed again")
    ear.wait(root, ("uno/two/three/m.py", 2))
    shutil.rmtree(root / "uno")
    ear.wait(root, ("uno/m.py", 3), ("uno/two/three/m.py", 3))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems take no names that are not UTF-8")
def test_names_that_are_no_text_end_nothing(
    workspace: Workspace, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.05)
    root = workspace({"a.py": "a"})
    odd = os.fsencode(root) + b"/odd\xff"
    os.mkdir(odd + b" from the start")
    ear = listen(root)
    for name in (b".py", b" folder"):
        (os.mkdir if name == b" folder" else os.mknod)(odd + name)
        (root / "new\nline.py").write_text("1")
        ear.wait(root, (os.fsdecode(b"odd\xff.py"), 1), ("new\nline.py", 1))
    (root / "a.py").write_text("changed")
    ear.wait(root, ("a.py", 2))
    (root / "folder").mkdir()
    (root / "folder/b.py").write_text("1")
    ear.wait(root, ("folder/b.py", 1))
    assert ear.troubles == []


def test_two_folders_are_watched_by_one_watcher(workspace: Workspace, listen: Listen) -> None:
    one, two = workspace({"a.py": ""}, name="one"), workspace({"b.py": ""}, name="two")
    ear = listen(one, two)
    (one / "a.py").write_text("changed")
    (two / "b.py").write_text("changed")
    ear.wait(one, ("a.py", 2), ("../two/b.py", 2))


def _refusing(error: Exception) -> Callable[[list[str], bool], Notify]:
    def opened(_paths: list[str], _whole: bool) -> Notify:
        raise error

    return opened


def test_the_system_overlooks_nothing(workspace: Workspace) -> None:
    """A limit of watches that is reached is reported the same way as a folder that is not there."""
    root = workspace({"a.py": "a"})
    module._system([str(root)], False).close()
    with pytest.raises(FileNotFoundError):
        module._system([str(root), str(root / "gone")], False)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "limit of file watches is reached"),
        (OSError('OS file watch limit reached. about ["/ws"]'), "limit of file watches is reached"),
        (OSError(errno.EMFILE, "Too many open files"), "limit of file watches is reached"),
        (RuntimeError("Error creating recommended watcher: Too many open files (os error 24)"), "limit of file"),
        (OSError(errno.ENOSYS, "Function not implemented"), "does not watch files here"),
        (ImportError("watchfiles"), "watchfiles is not installed"),
        (FileNotFoundError("gone"), "folders come and go too fast"),
    ],
)
def test_where_the_system_refuses_files_are_looked_at(
    workspace: Workspace, listen: Listen, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.05)
    root = workspace({"a.py": "a", "src/x.py": "x"})
    ear = listen(root, opened=_refusing(error))
    (root / "a.py").write_text("changed")
    (root / "new").mkdir()
    (root / "new/n.py").write_text("n")
    (root / "src/x.py").unlink()
    ear.wait(root, ("a.py", 2), ("new/n.py", 1), ("src/x.py", 3))
    (sentence,) = ear.troubles
    assert words in sentence


def test_a_refusal_on_the_way_goes_over_to_looking(
    workspace: Workspace, listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.05)
    count = 0

    def opened(paths: list[str], whole: bool) -> Notify:
        nonlocal count
        count += 1
        if count > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return module._system(paths, whole)

    root = workspace({"a.py": "a"})
    ear = listen(root, opened=opened)
    (root / "new").mkdir()
    (root / "new/n.py").write_text("n")
    ear.wait(root, ("new/n.py", 1))
    (root / "new/n.py").write_text("changed")
    ear.wait(root, ("new/n.py", 2))
    assert len(ear.troubles) == 1


def test_what_nobody_expected_is_told_and_ends_only_the_watcher(workspace: Workspace) -> None:
    root = workspace({"a.py": "a"})
    ear = Ear([root], opened=_refusing(ValueError("a surprise")))
    ear.watcher.start()
    assert ear.watcher.join(PATIENCE)
    (sentence,) = ear.troubles
    assert "no longer watched" in sentence


def test_watchfiles_is_not_imported_before_anything_is_watched() -> None:
    code = (
        "import sys\n"
        "import ombud.operations.hub, ombud.operations.session, ombud.operations.watch, ombud.workspace.watcher\n"
        "sys.exit(any(name.split('.')[0] in ('watchfiles', 'anyio') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
