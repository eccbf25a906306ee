"""Which folder a command works on, and what a path means that is written in a certain folder."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from ombud.faces.cli.roots import absolute, find_root, shown

from tests.conftest import Workspace


@pytest.fixture(autouse=True)
def _own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))


@pytest.mark.parametrize(
    "marker", [".git/HEAD", ".git", ".ombud.toml", "pyproject.toml", "go.mod", "Cargo.toml", "x.cabal", "tsconfig.json"]
)
def test_the_nearest_mark_above(workspace: Workspace, marker: str) -> None:
    root = workspace({f"project/{marker}": "", "project/a/b/c.py": ""})
    assert find_root(root / "project/a/b") == root / "project"
    assert find_root(root / "project") == root / "project"


def test_P11_the_nearest_package_wins_over_the_repository(workspace: Workspace) -> None:
    root = workspace({".git/HEAD": "", "backend/pyproject.toml": "", "backend/src/a.py": "", "docs/a.md": ""})
    assert find_root(root / "backend/src") == root / "backend"
    assert find_root(root / "docs") == root


def test_a_folder_without_marks_is_its_own_root(workspace: Workspace) -> None:
    root = workspace({"a/notes.txt": ""})
    assert find_root(root / "a") == root / "a"


def test_a_weak_marker_names_no_root(workspace: Workspace) -> None:
    root = workspace({"README.md": "", "a/b.py": ""})
    assert find_root(root / "a") == root / "a"


def test_a_marker_that_is_asked_for_its_content(workspace: Workspace) -> None:
    """``package.json`` marks a project for many servers anyway; ``[tool.x]`` of a file nobody else names decides."""
    root = workspace({"deno.json": "{}", "a/b.ts": ""})
    assert find_root(root / "a") == root


def test_the_home_folder_is_a_root_only_on_purpose(home: Path) -> None:
    (home / "package.json").write_text("{}")
    (home / "notes").mkdir()
    assert find_root(home / "notes") == home / "notes"
    (home / ".git").mkdir()
    assert find_root(home / "notes") == home


def test_the_users_own_servers_mark_roots_too(workspace: Workspace, home: Path) -> None:
    root = workspace({"x.toml": "", "a/b.x": ""})
    assert find_root(root / "a") == root / "a"
    config = home / ".config" / "ombud" / "ombud.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[servers.mine]\ncommand = ["mine"]\nextensions = [".x"]\nrootMarkers = ["x.toml"]\n')
    assert find_root(root / "a") == root


def test_the_disk_is_no_root() -> None:
    assert find_root(Path("/")) == Path("/")


def test_a_link_into_a_project_is_that_project(workspace: Workspace, tmp_path: Path) -> None:
    root = workspace({"pyproject.toml": "", "a/b.py": ""})
    (tmp_path / "short").symlink_to(root / "a", target_is_directory=True)
    assert find_root(tmp_path / "short") == root


@pytest.fixture
def project(workspace: Workspace) -> Path:
    return workspace({"sub/deep/a.py": "", "top.py": ""})


def test_a_path_is_seen_from_where_the_user_stands(project: Path) -> None:
    assert absolute("a.py", project / "sub/deep", project) == str(project / "sub/deep/a.py")
    assert absolute("new.py", project / "sub", project) == str(project / "sub/new.py")
    assert absolute("../top.py", project / "sub", project) == str(project / "top.py")
    assert absolute(".", project / "sub", project) == str(project / "sub")
    assert absolute("..", project / "sub/deep", project) == str(project / "sub")


@pytest.mark.parametrize("path", ["top.py", "sub/deep/a.py", "/srv/x.py", "file:///srv/x.py", "FILE:///srv/x", "*", ""])
def test_what_means_the_same_everywhere_stays_as_it_is(project: Path, path: str) -> None:
    assert absolute(path, project, project) == path


def test_F8_dots_lead_where_the_system_would_go(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "inner").mkdir(parents=True)
    (project / "link").symlink_to(other / "inner", target_is_directory=True)
    assert absolute("link/../x.py", project, project) == str(other / "x.py")
    assert absolute("../../x.py", project, project) == str(project.parent.parent / "x.py")


def test_F5_the_last_name_is_kept_for_the_fence(project: Path) -> None:
    (project / ".env").symlink_to(project / "top.py")
    assert absolute("../.env", project / "sub", project) == str(project / ".env")


def test_a_nul_is_left_for_the_fence(project: Path) -> None:
    assert absolute("a\0b", project / "sub", project) == "a\0b"


def test_paths_for_people(project: Path, home: Path) -> None:
    assert shown(project, project) == "."
    assert shown(project / "sub/deep", project) == "sub/deep"
    assert shown(home / "bin/x", project) == "~/bin/x"
    assert shown(Path("/usr/bin/x"), project) == "/usr/bin/x"


def test_F1_a_neighbour_with_the_same_beginning_is_not_inside(project: Path) -> None:
    neighbour = Path(f"{project}-evil/x")
    assert shown(neighbour, project) in (str(neighbour), f"~/{os.path.relpath(neighbour, Path.home())}")


def test_markers_of_the_catalogue_are_read_once_a_folder(workspace: Workspace) -> None:
    root = workspace({"package.json": json.dumps({"name": "x"}), "a/b/c/d/e.js": ""})
    assert find_root(root / "a/b/c/d") == root
