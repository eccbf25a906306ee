"""The listing of source files: what is told, what is passed over, and that a second look sees every change."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ombud.workspace.listing import (
    IS_MINIFIED,
    IS_SENSITIVE,
    IS_UNTYPICAL,
    IS_VENDORED,
    Entry,
    Listing,
)

LONG_AGO = 1_600_000_000


def language_of(name: str, _parent: str) -> str | None:
    if name.endswith(".py"):
        return "python"
    if name.endswith(".js"):
        return "javascript"
    return None if "." in name else ""


def write(root: Path, path: str, text: str = "x = 1\n") -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def old(root: Path) -> None:
    """Stamps of long ago, as a tree has them that nobody has touched."""
    for folder, names, files in os.walk(root, topdown=False):
        for name in [*names, *files]:
            os.utime(os.path.join(folder, name), (LONG_AGO, LONG_AGO), follow_symlinks=False)
    os.utime(root, (LONG_AGO, LONG_AGO))


def read(listing: Listing, start: str = "", *, look: bool = True) -> list[str]:
    return [entry.path for entry in listing.walk(start, look=look) if not entry.reason]


def told(listing: Listing) -> dict[str, str]:
    return {entry.path: entry.reason for entry in listing.walk() if entry.reason}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "root"


def test_files_come_in_the_order_of_their_names_folders_among_them(root: Path) -> None:
    for path in ("b/z.py", "b/a.py", "a.py", "c.py", "b/inner/m.py", "b.py", "notes.txt", "script"):
        write(root, path)
    listing = Listing(str(root), language_of)
    whole = ["a.py", "b/a.py", "b/inner/m.py", "b/z.py", "b.py", "c.py", "script"]
    assert read(listing) == whole
    assert read(listing) == whole
    assert read(listing, "b") == ["b/a.py", "b/inner/m.py", "b/z.py"]
    assert Entry("script", "", "") in list(listing.walk())


def test_what_is_left_out_has_a_reason_or_is_passed_over(root: Path) -> None:
    paths = ["a.py", "node_modules/p/i.js", "lib.min.js", ".tox/m.py", "marked/m.py", "marked/pyvenv.cfg", "id.key"]
    for path in paths:
        write(root, path)
    write(root, "vendor/v.py")
    write(root, "go/go.mod")
    write(root, "go/vendor/v.py")
    write(root, ".ssh/keys.py")
    (root / "link.py").symlink_to(root / "a.py")
    os.mkfifo(root / "pipe.py")
    listing = Listing(str(root), language_of)
    assert read(listing) == ["a.py", "vendor/v.py"]
    assert told(listing) == {
        "node_modules": IS_VENDORED,
        "go/vendor": IS_VENDORED,
        "lib.min.js": IS_MINIFIED,
        "pipe.py": IS_UNTYPICAL,
        ".ssh/keys.py": IS_SENSITIVE,
    }


def test_the_users_own_patterns_protect_and_allow(root: Path) -> None:
    for path in ("a.py", "private/b.py", "c.py"):
        write(root, path)
    listing = Listing(str(root), language_of, ["private/", "c.py"], ["c.py"])
    assert read(listing) == ["a.py", "c.py"]
    assert told(listing) == {"private/b.py": IS_SENSITIVE}


def test_gitignore_files_count_also_those_above_the_root(root: Path) -> None:
    subprocess.run(["git", "init", "-q", str(root)], check=True, env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"})
    (root / ".git" / "info").mkdir(exist_ok=True)
    write(root, ".git/info/exclude", "excluded.py\n")
    write(root, ".gitignore", "*.gen.py\n/sub/built/\n")
    write(root, "sub/.gitignore", "!keep.gen.py\n")
    for path in ("a.gen.py", "sub/b.gen.py", "sub/keep.gen.py", "sub/built/c.py", "sub/d.py", "sub/excluded.py"):
        write(root, path)
    assert read(Listing(str(root), language_of)) == ["sub/d.py", "sub/keep.gen.py"]
    assert read(Listing(str(root / "sub"), language_of)) == ["d.py", "keep.gen.py"]


def test_a_folder_that_is_left_out_is_walked_when_it_is_asked_for(root: Path) -> None:
    write(root, ".gitignore", "build/\n")
    write(root, "build/a.py")
    write(root, "node_modules/p/i.js")
    write(root, "node_modules/p/node_modules/q/j.js")
    listing = Listing(str(root), language_of)
    assert read(listing) == []
    for _ in range(2):
        assert read(listing, "build") == ["build/a.py"]
        assert read(listing, "node_modules") == ["node_modules/p/i.js"]
        assert read(listing, "node_modules/p") == ["node_modules/p/i.js"]
    assert read(listing) == []


CHANGES: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "a file comes": (lambda root: write(root, "b/new.py"), ["a.py", "b/c.py", "b/new.py", "d/e.py"]),
    "a file goes": (lambda root: (root / "b/c.py").unlink(), ["a.py", "d/e.py"]),
    "a folder comes": (lambda root: write(root, "b/n/m/o.py"), ["a.py", "b/c.py", "b/n/m/o.py", "d/e.py"]),
    "a folder is renamed": (lambda root: (root / "d").rename(root / "c"), ["a.py", "b/c.py", "c/e.py"]),
    "an ignore file comes": (lambda root: write(root, ".gitignore", "d/\n"), ["a.py", "b/c.py"]),
    "an ignore file changes": (lambda root: write(root, "b/.gitignore", "c.py\n"), ["a.py", "d/e.py"]),
    "a mark comes": (lambda root: write(root, "d/CACHEDIR.TAG"), ["a.py", "b/c.py"]),
}


@pytest.mark.parametrize("young", [True, False])
@pytest.mark.parametrize("what", CHANGES)
def test_a_second_walk_sees_it_when(root: Path, what: str, young: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not young:
        monkeypatch.setattr("ombud.workspace.listing.YOUNG_NS", 0)
    for path in ("a.py", "b/c.py", "d/e.py"):
        write(root, path)
    write(root, "b/.gitignore", "# nothing\n")
    old(root)
    listing = Listing(str(root), language_of)
    before = read(listing)
    assert before == ["a.py", "b/c.py", "d/e.py"]
    change, after = CHANGES[what]
    change(root)
    assert read(listing, look=False) == before
    assert read(listing) == after
    assert read(listing) == after


def test_an_old_tree_is_not_listed_again(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "a/b.py")
    old(root)
    # The time that no program can set is now: what is young is looked at again.
    monkeypatch.setattr("ombud.workspace.listing.YOUNG_NS", 0)
    listing = Listing(str(root), language_of)
    assert read(listing) == ["a/b.py"]
    monkeypatch.setattr("os.scandir", lambda _path: pytest.fail("it was listed again"))
    assert read(listing) == ["a/b.py"]


def test_a_walk_that_is_left_in_the_middle_is_begun_anew(root: Path) -> None:
    for path in ("a.py", "b.py", "c/d.py"):
        write(root, path)
    listing = Listing(str(root), language_of)
    assert next(listing.walk()).path == "a.py"
    write(root, "c/e.py")
    assert read(listing) == ["a.py", "b.py", "c/d.py", "c/e.py"]


def test_only_those_that_are_owned_are_told(root: Path) -> None:
    for path in ("a.py", "b.py", "x.min.js"):
        write(root, path)
    listing = Listing(str(root), language_of, owns=lambda path: path == "b.py")
    assert read(listing) == ["b.py"]
    assert told(listing) == {"x.min.js": IS_MINIFIED}
