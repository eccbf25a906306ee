"""Walks of the workspace: what gitignore(5) leaves out, with git itself as the oracle, and where a walk stops."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.workspace.ignores import Ignores, Layers
from ombud.workspace.walk import Walk

from tests.conftest import Workspace

SKIPPED = frozenset({".git", "node_modules"})


def walk(root: Path, start: Path | None = None, **limits: int) -> tuple[list[str], str | None]:
    one = Walk(Fence([root], SensitivePaths()), SKIPPED, **limits)
    found = [path.relative_to(root).as_posix() for path in one.files(start or root)]
    return found, one.note


PATTERNS = [
    "*.log",
    "!keep.log",
    "/top.txt",
    "build/",
    "docs/*.html",
    "**/temp",
    "a/**/z",
    "deep/**",
    "# a comment",
    "\\#hash",
    "\\!bang",
    "trail\\ ",
    "spaces   ",
    "c[ab]t",
    "c[^ab]g",
    "c[!ab]p",
    "q?x",
    "st\\*r",
    "/only/here",
    "mid/dle",
    "",
    "!",
    "/",
    "x/",
    "**",
    "!**/*.md",
]
PATHS = [
    "a.log",
    "keep.log",
    "sub/b.log",
    "top.txt",
    "sub/top.txt",
    "build/out.o",
    "sub/build/out.o",
    "docs/a.html",
    "docs/sub/a.html",
    "temp",
    "sub/temp/x",
    "a/z",
    "a/b/z",
    "a/b/c/z",
    "deep/x",
    "deep/y/x",
    "#hash",
    "!bang",
    "trail ",
    "spaces",
    "cat",
    "cbt",
    "cct",
    "ccg",
    "cag",
    "czp",
    "cap",
    "qax",
    "qx",
    "st*r",
    "star",
    "only/here",
    "sub/only/here",
    "mid/dle",
    "sub/mid/dle",
    "x",
    "sub/x/y",
    "README.md",
    "sub/README.md",
]


def git_keeps(root: Path) -> set[str]:
    """The files that git itself would take, with nothing of the user's own configuration."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", "init", "-q", "."], cwd=root, env=environment, check=True)
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--others", "--exclude-standard"],
        cwd=root,
        env=environment,
        check=True,
        capture_output=True,
    )
    return {os.fsdecode(name) for name in listed.stdout.split(b"\0") if name}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_means_what_git_says(workspace: Workspace, pattern: str) -> None:
    root = workspace({**dict.fromkeys(PATHS, "x"), ".gitignore": pattern + "\n"})
    found, note = walk(root)
    assert note is None
    assert set(found) == git_keeps(root)


def test_layers_of_ignore_files_mean_what_git_says(workspace: Workspace) -> None:
    files = {
        ".gitignore": "*.log\n/sub/gone/\n*.tmp\n",
        "sub/.gitignore": "!b.log\nlocal\n/anchored\n",
        "sub/deeper/.gitignore": "*.log\n!*.tmp\n",
        "sub/gone/.gitignore": "!*\n",
        **dict.fromkeys(
            [
                "a.log",
                "sub/b.log",
                "sub/c.log",
                "sub/local",
                "sub/anchored",
                "sub/x/anchored",
                "sub/deeper/b.log",
                "sub/deeper/t.tmp",
                "sub/gone/kept.py",
                "local",
            ],
            "x",
        ),
    }
    root = workspace(files)
    assert set(walk(root)[0]) == git_keeps(root)


def test_a_folder_below_the_root_has_the_patterns_above_it(workspace: Workspace) -> None:
    root = workspace({".gitignore": "*.log\n", "sub/a.log": "", "sub/a.py": ""})
    assert walk(root, root / "sub")[0] == ["sub/a.py"]


def test_a_folder_that_is_named_is_walked_although_it_is_ignored(workspace: Workspace) -> None:
    root = workspace({".gitignore": "made/\n", "made/a.py": "", "made/deep/b.py": "", "c.py": ""})
    assert walk(root)[0] == [".gitignore", "c.py"]
    assert walk(root, root / "made")[0] == ["made/a.py", "made/deep/b.py"]


def test_what_tools_make_is_not_entered(workspace: Workspace) -> None:
    root = workspace({"node_modules/a.js": "", "env/pyvenv.cfg": "", "env/b.py": "", "c/CACHEDIR.TAG": "", "d.py": ""})
    assert walk(root)[0] == ["d.py"]


def test_F2_a_walk_follows_no_link(workspace: Workspace, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.py").write_text("x")
    root = workspace({"a.py": ""})
    (root / "folder").symlink_to(outside, target_is_directory=True)
    (root / "file.py").symlink_to(outside / "secret.py")
    (root / "loop").symlink_to(root, target_is_directory=True)
    assert walk(root)[0] == ["a.py"]


def test_F2_an_ignore_file_that_leads_outside_is_not_read(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "patterns").write_text("*.py\n")
    root = workspace({"a.py": ""})
    (root / ".gitignore").symlink_to(tmp_path / "patterns")
    assert walk(root)[0] == ["a.py"]


@pytest.mark.parametrize(
    ("limits", "most", "word"),
    [({"files": 3}, 3, "more files"), ({"folders": 2}, 4, "more folders"), ({"depth": 1}, 4, "too deep")],
)
def test_a_walk_that_stops_says_so(workspace: Workspace, limits: dict[str, int], most: int, word: str) -> None:
    root = workspace({f"{'d/' * depth}{name}.py": "" for depth in range(4) for name in "ab"})
    found, note = walk(root, **limits)
    assert len(found) <= most
    assert note is not None
    assert word in note


def test_a_walk_that_just_fits_has_seen_everything(workspace: Workspace) -> None:
    root = workspace({"a.py": "", "b.py": "", "d/c.py": ""})
    assert walk(root, files=3, folders=2, depth=1) == (["a.py", "b.py", "d/c.py"], None)


def test_a_hostile_pattern_takes_no_time() -> None:
    pattern = "*a" * 200 + "b/" + "**/" * 60 + "*a*a*a*b"
    ignores = Ignores(pattern + "\n" + "*a*a*a*a*a*a*a*a*a*a*b\n")
    began = time.process_time()
    assert not ignores.verdict(PurePosixPath("a" * 250), is_folder=False)
    assert not ignores.verdict(PurePosixPath("/".join(["a" * 20] * 50)), is_folder=False)
    assert time.process_time() - began < 2


@given(st.text(max_size=60), st.lists(st.text(alphabet="ab*?[]!/\\ .", min_size=1, max_size=8), max_size=4))
def test_no_ignore_file_raises(text: str, names: list[str]) -> None:
    path = PurePosixPath(*(name.replace("/", "_") for name in names)) if names else PurePosixPath("x")
    assert Layers().below(PurePosixPath("."), text).ignored(path, is_folder=False) in (True, False)
