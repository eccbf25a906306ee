"""What a watched census notices without looking at every file, and that it never notices less than a sweep does."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ombud.graph import census as censuses
from ombud.graph import watch as watches
from ombud.graph.census import Census, Protected
from ombud.graph.extract import LANGUAGES
from ombud.graph.watch import Watch

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

FILES = ("a.py", "b.py", "pkg/__init__.py", "pkg/c.py", "pkg/deep/d.py", "other/e.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project whose files are old enough to be believed."""
    root = tmp_path.resolve() / "project"
    for name in FILES:
        _write(root / name, f"# {name}\n")
    for path in [*root.rglob("*"), root]:
        os.utime(path, (1_500_000_000, 1_500_000_000))
    return root


@pytest.fixture
def watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Census]:
    """A census that is only told: no sweep comes to its help."""
    monkeypatch.setattr(censuses, "SWEEP_SECONDS", 1e9)
    monkeypatch.setattr(Census, "_stat_files", _never)
    watch = _watch(root)
    census = Census(root, Protected(), LANGUAGES, watch)
    census.walk()
    census.look()
    yield census
    watch.close()


def _never(census: Census) -> None:
    pytest.fail("every file was looked at")


def _watch(root: Path) -> Watch:
    try:
        return Watch(root)
    except OSError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"This machine's temporary folder cannot be watched: {error}")


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _in_place_unseen(root: Path) -> None:
    """Another text of the same size, and the time that the file had."""
    before = (root / "a.py").stat()
    (root / "a.py").write_text("# b.py\n")
    os.utime(root / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))


def _replaced(root: Path) -> None:
    _write(root / "pkg/.c.py.tmp", "new = 1\n")
    (root / "pkg/.c.py.tmp").replace(root / "pkg/c.py")


def _moved_folder(root: Path) -> None:
    (root / "pkg/deep").rename(root / "other/deep")


def _folder_for_file(root: Path) -> None:
    (root / "a.py").unlink()
    _write(root / "a.py/inner.py", "")


def _link_for_file(root: Path) -> None:
    (root / "a.py").unlink()
    (root / "a.py").symlink_to("b.py")


CHANGES: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "nothing": (lambda root: None, set()),
    "written": (lambda root: _write(root / "pkg/c.py", "x = 1\n"), {"pkg/c.py"}),
    "written, with its old time": (_in_place_unseen, {"a.py"}),
    "replaced": (_replaced, {"pkg/c.py"}),
    "new": (lambda root: _write(root / "pkg/deep/new.py", ""), {"pkg/deep/new.py"}),
    "new folders": (lambda root: _write(root / "x/y/z.py", ""), {"x/y/z.py"}),
    "gone": (lambda root: (root / "b.py").unlink(), {"b.py"}),
    "gone folder": (lambda root: shutil.rmtree(root / "pkg"), {"pkg/__init__.py", "pkg/c.py", "pkg/deep/d.py"}),
    "renamed": (lambda root: (root / "a.py").rename(root / "z.py"), {"a.py", "z.py"}),
    "moved folder": (_moved_folder, {"pkg/deep/d.py", "other/deep/d.py"}),
    "moved out": (lambda root: (root / "other").rename(root.parent / "out"), {"other/e.py"}),
    "a folder in place of a file": (_folder_for_file, {"a.py", "a.py/inner.py"}),
    "a link in place of a file": (_link_for_file, {"a.py"}),
    "of no language": (lambda root: _write(root / "notes.txt", "x"), set()),
}


@pytest.mark.parametrize(("change", "expected"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_told(change: Callable[[Path], object], expected: set[str], root: Path, watched: Census) -> None:
    change(root)
    assert watched.look() == expected
    assert watched.look() == set()


def test_what_is_done_in_a_folder_that_was_moved_is_told(root: Path, watched: Census) -> None:
    _moved_folder(root)
    watched.look()
    _write(root / "other/deep/d.py", "x = 2\n")
    assert watched.look() == {"other/deep/d.py"}


@pytest.mark.parametrize("moved", [False, True], ids=["deleted", "moved away"])
@pytest.mark.parametrize("asked", [False, True], ids=["at once", "asked between"])
def test_a_root_that_is_made_again_is_looked_at(root: Path, moved: bool, asked: bool) -> None:
    """A watch is of the folder that was there, not of its path."""
    watch = _watch(root)
    census = Census(root, Protected(), LANGUAGES, watch)
    census.walk()
    census.look()
    root.rename(root.parent / "away") if moved else shutil.rmtree(root)
    if asked:
        census.look()
    _write(root / "new.py", "x = 1\n")
    census.look()
    assert set(census.languages_of) == {"new.py"}
    _write(root / "newer.py", "x = 1\n")
    census.look()
    assert set(census.languages_of) == {"new.py", "newer.py"}


def test_what_is_done_in_a_new_folder_is_told(root: Path, watched: Census) -> None:
    _write(root / "x/y/z.py", "")
    watched.look()
    _write(root / "x/y/z.py", "x = 2\n")
    _write(root / "x/y/more.py", "")
    assert watched.look() == {"x/y/z.py", "x/y/more.py"}


def test_a_file_that_is_written_under_another_name_is_looked_at(root: Path) -> None:
    """A watch tells of the name that was used only."""
    outside = root.parent / "outside.py"
    os.link(root / "a.py", outside)
    watch = _watch(root)
    census = Census(root, Protected(), LANGUAGES, watch)
    census.walk()
    outside.write_text("longer = 'than before'\n")
    assert "a.py" in census.look()
    watch.close()


def test_more_than_the_system_remembers_is_swept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = _watch(root)
    census = Census(root, Protected(), LANGUAGES, watch)
    census.walk()
    census.look()
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip("the system remembers too much to fill its memory in a test")
    for _ in range(most // 2 + 1):
        # Each asks for another event than the one before, or the system would make one of them.
        os.utime(root / "a.py")
        os.utime(root / "b.py")
    _write(root / "pkg/c.py", "x = 3\n")
    assert "pkg/c.py" in census.look()
    _write(root / "pkg/c.py", "x = 33\n")
    assert "pkg/c.py" in census.look()
    watch.close()


@pytest.mark.parametrize("most", [0, 2])
def test_where_not_all_can_be_watched_it_is_swept(most: int, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "_most", lambda: most)
    watch = _watch(root)
    census = Census(root, Protected(), LANGUAGES, watch)
    census.walk()
    assert watch.broken
    _write(root / "pkg/deep/d.py", "x = 4\n")
    assert "pkg/deep/d.py" in census.look()


def test_what_a_new_ignore_file_leaves_out_goes(root: Path, watched: Census) -> None:
    _write(root / ".gitignore", "other/\n")
    assert "other/e.py" in watched.look()
    assert "other/e.py" not in watched.languages_of
    _write(root / "other/e.py", "x = 5\n")
    assert "other/e.py" not in watched.look()


def test_a_file_system_that_others_may_change_is_not_watched(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "_OWN", frozenset())
    with pytest.raises(OSError, match="Others may change"):
        Watch(root)


@pytest.mark.parametrize("seed", range(5))
def test_random_changes_leave_what_a_walk_finds(seed: int, root: Path, watched: Census) -> None:
    chance = random.Random(seed)
    for number in range(60):
        for _ in range(chance.randint(1, 4)):
            _at_random(root, chance, number)
        watched.look()
        fresh = Census(root, Protected(), LANGUAGES)
        fresh.walk()
        assert watched.languages_of == fresh.languages_of, number
        assert {path: watched.stamp(path) for path in fresh.languages_of} == {
            path: fresh.stamp(path) for path in fresh.languages_of
        }, number


def _at_random(root: Path, chance: random.Random, number: int) -> None:
    """One change of files or folders below ``root``; some are not possible, and then nothing happens."""
    folders = [root, *(path for path in sorted(root.rglob("*")) if path.is_dir())]
    everything = sorted(root.rglob("*")) or [root]
    place = chance.choice(folders)
    what = chance.randrange(6)
    try:
        if what == 0:
            _write(place / f"n{chance.randrange(4)}.py", f"x = {number}\n")
        elif what == 1:
            _write(place / f"f{chance.randrange(3)}" / "m.py", f"y = {number}\n")
        elif what == 2:
            chance.choice(everything).rename(place / f"r{chance.randrange(3)}.py")
        elif what == 3:
            chance.choice(everything).rename(place / f"f{chance.randrange(3)}")
        elif what == 4 and chance.random() < 0.5:
            gone = chance.choice(everything)
            shutil.rmtree(gone) if gone.is_dir() else gone.unlink()
        else:
            _write(chance.choice(everything), f"z = {number}\n")
    except OSError:
        return
