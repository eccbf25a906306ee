"""Detection: where the roots of a file's servers are, and which of several servers are for it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.places import MONOREPO, SERVERS, Place, named, where


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path.resolve())
    made.install(*SERVERS)
    return made


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("backend/app/main.py", {"basedpyright": "backend", "ruff": "backend"}),
        # ruff knows no setup.py: each server goes by its own markers.
        ("backend/libs/core/core/x.py", {"basedpyright": "backend/libs/core", "ruff": "backend"}),
        ("web/src/deep/a.ts", {"typescript-language-server": "web", "eslint": "web"}),
        ("services/api/main.go", {"gopls": "services/api"}),
        ("services/jobs/cmd/run.go", {"gopls": "services/jobs"}),
        ("services/api/go.mod", {"gopls": "services/api"}),
        ("services/stray.go", {}),
        ("top.py", {}),
        ("scripts/run.sh", {"bash-language-server": "."}),
        ("scripts/deploy", {"bash-language-server": "."}),
        ("web/tsconfig.json", {"vscode-json": "."}),
        ("not/there/yet/new.py", {}),
        ("backend/not/there/yet/new.py", {"basedpyright": "backend", "ruff": "backend"}),
        ("unknown.zzz", {}),
    ],
)
def test_P11_nearest_marker_above_each_file(place: Place, path: str, expected: dict[str, str]) -> None:
    place.write(MONOREPO)
    assert where(place.detector(), place, path) == expected


def test_P11_markers_above_the_workspace_folder_do_not_count(place: Place) -> None:
    place.write({"pyproject.toml": "", "sub/a.py": ""})
    inner = place.detector(folders=("sub",))
    found = named(inner.for_path(place.root / "sub/a.py"))
    assert found["basedpyright"].state == "missing_marker"
    assert found["basedpyright"].root == place.root / "sub"
    assert "or above it" in found["basedpyright"].reason
    assert where(place.detector(), place, "sub/a.py")["basedpyright"] == "."


def test_innermost_of_nested_workspace_folders_bounds_the_search(place: Place) -> None:
    place.write({"pyproject.toml": "", "sub/a.py": "", "b.py": ""})
    both = place.detector(folders=("", "sub"))
    assert where(both, place, "b.py")["basedpyright"] == "."
    assert "basedpyright" not in where(both, place, "sub/a.py")


def test_files_outside_of_the_workspace_have_no_server(place: Place, tmp_path: Path) -> None:
    place.write({"pyproject.toml": ""})
    evil = tmp_path / "ws-evil"
    evil.mkdir()
    (evil / "pyproject.toml").touch()
    (place.root / "link").symlink_to(evil)
    detector = place.detector()
    for path in (evil / "a.py", place.root / ".." / "ws-evil" / "a.py", place.root / "link" / "a.py"):
        assert detector.for_path(path) == ()


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        # One cargo workspace is one server, as cargo counts it: excluded packages and other workspaces are their own.
        ({"Cargo.toml": "[workspace]\n", "a/Cargo.toml": "[package]\n"}, "a/src/x.rs", "."),
        ({"Cargo.toml": "[package]\n", "a/Cargo.toml": "[package]\n"}, "a/src/x.rs", "a"),
        ({"Cargo.toml": "[workspace]\nexclude=['a']\n", "a/Cargo.toml": ""}, "a/x.rs", "a"),
        ({"Cargo.toml": "[workspace]\nexclude=['a']\nmembers=['a/b']", "a/b/Cargo.toml": ""}, "a/b/x.rs", "."),
        ({"Cargo.toml": "[workspace]\n", "a/Cargo.toml": "[workspace]\n", "a/b/Cargo.toml": ""}, "a/b/x.rs", "a"),
        ({"Cargo.toml": "[workspace\n", "a/Cargo.toml": ""}, "a/x.rs", "a"),
        ({"Cargo.toml": '# [workspace]\ntext = "[workspace]"', "a/Cargo.toml": ""}, "a/x.rs", "a"),
        # go.work above go.mod.
        ({"go.work": "", "a/go.mod": "", "b/go.mod": ""}, "a/x.go", "."),
        ({"x/go.work": "", "x/a/go.mod": "", "b/go.mod": ""}, "b/x.go", "b"),
        # Workspaces of npm and its kin, when they count the package.
        ({"package.json": '{"workspaces":["pkgs/*"]}', "pkgs/a/package.json": "{}"}, "pkgs/a/src/x.ts", "."),
        (
            {"package.json": '{"workspaces":{"packages":["pkgs/**"]}}', "pkgs/x/a/package.json": "{}"},
            "pkgs/x/a/x.ts",
            ".",
        ),
        ({"package.json": '{"workspaces":["./pkgs/a/"]}', "pkgs/a/tsconfig.json": "{}"}, "pkgs/a/x.ts", "."),
        ({"package.json": '{"workspaces":["pkgs/*"]}', "other/package.json": "{}"}, "other/x.ts", "other"),
        ({"package.json": '{"workspaces":["pkgs/*","!pkgs/a"]}', "pkgs/a/package.json": ""}, "pkgs/a/x.ts", "pkgs/a"),
        ({"package.json": "{}", "pkgs/a/package.json": "{}"}, "pkgs/a/x.ts", "pkgs/a"),
        ({"package.json": "{", "pkgs/a/package.json": "{}"}, "pkgs/a/x.ts", "pkgs/a"),
        ({"package.json": '{"workspaces":["pkgs/*"]}', "pkgs/a/e2e/tsconfig.json": "{}"}, "pkgs/a/e2e/x.ts", "."),
        ({"pnpm-workspace.yaml": "packages:\n  - 'pkgs/*'\n", "pkgs/a/package.json": "{}"}, "pkgs/a/x.ts", "."),
        (
            {"pnpm-workspace.yaml": "catalog:\n  x: 1\npackages:\n- pkgs/* # all\n", "pkgs/a/package.json": ""},
            "pkgs/a/x.ts",
            ".",
        ),
        ({"pnpm-workspace.yaml": "catalog:\n  - pkgs/*\n", "pkgs/a/package.json": "{}"}, "pkgs/a/x.ts", "pkgs/a"),
        # The JVM: one build, one server.
        ({"settings.gradle": "", "app/build.gradle": ""}, "app/src/X.java", "."),
        ({"pom.xml": "<modules>", "a/pom.xml": "<modules>", "a/b/pom.xml": ""}, "a/b/X.java", "."),
        ({"pom.xml": "<project>", "a/pom.xml": ""}, "a/X.java", "a"),
        ({"pubspec.yaml": "workspace:\n  - a\n", "a/pubspec.yaml": "resolution: workspace\n"}, "a/x.dart", "."),
        ({"main.tf": "", "modules/net/main.tf": ""}, "modules/net/x.tf", "."),
        # A database of compile commands in the build folder, before a weak marker that is nearer.
        ({"build/compile_commands.json": "", "src/CMakeLists.txt": ""}, "src/x.c", "."),
        ({"CMakeLists.txt": ""}, "src/x.c", "."),
        ({"proj/.clangd": "", ".git/HEAD": ""}, "proj/x.c", "proj"),
    ],
)
def test_workspaces_make_one_root_of_many_packages(
    place: Place, files: dict[str, str], path: str, expected: str
) -> None:
    place.write(files)
    assert set(where(place.detector(), place, path).values()) == {expected}


@pytest.mark.parametrize(
    ("files", "path", "expected"),
    [
        ({"deno.json": "{}"}, "a.ts", "deno"),
        ({"package.json": "{}"}, "a.ts", "typescript-language-server"),
        # Side by side deno.json wins: a Deno project may well have a package.json.
        ({"deno.json": "{}", "package.json": "{}"}, "src/a.ts", "deno"),
        ({"deno.json": "{}", "web/package.json": "{}"}, "web/src/a.ts", "typescript-language-server"),
        ({"package.json": "{}", "edge/deno.jsonc": "{}"}, "edge/f/a.ts", "deno"),
        ({"package.json": "{}", "edge/deno.jsonc": "{}"}, "src/a.ts", "typescript-language-server"),
    ],
)
def test_deno_or_node_and_never_both(place: Place, files: dict[str, str], path: str, expected: str) -> None:
    place.write(files)
    found = named(place.detector().for_path(place.root / path))
    names = {"deno", "typescript-language-server", "tsgo", "vtsls"}
    assert [name for name in found if name in names and found[name].state == "available"] == [expected]


def test_exclusion_says_what_it_saw(place: Place) -> None:
    place.write({"edge/deno.json": "{}", "package.json": "{}"})
    found = named(place.detector().for_path(place.root / "edge/a.ts"))
    assert found["tsgo"].state == "missing_marker"
    assert found["tsgo"].reason == "deno.json in edge marks another kind of project, which tsgo leaves alone."


@pytest.mark.parametrize("marker", [".git", ".hg", ".svn", ".jj"])
def test_version_control_alone_never_starts_a_server(place: Place, marker: str) -> None:
    (place.root / marker).mkdir()
    user = {"ruff": {"rootMarkers": ["pyproject.toml"]}, "basedpyright": {}}
    found = named(place.detector(user=user).for_path(place.root / "a.py"))
    assert {found["basedpyright"].state, found["ruff"].state} == {"missing_marker"}
    assert found["ruff"].reason == "There is no pyproject.toml in the workspace folder or above it."


def test_version_control_marks_the_root_of_servers_that_need_no_marker(place: Place) -> None:
    place.write({"sub/.git/HEAD": "", "sub/deep/a.yaml": "", "b.yaml": ""})
    found = named(place.detector().for_path(place.root / "sub/deep/a.yaml"))["yaml-language-server"]
    assert (found.state, found.root, found.marker) == ("available", place.root / "sub", ".git")
    found = named(place.detector().for_path(place.root / "b.yaml"))["yaml-language-server"]
    assert (found.state, found.root, found.marker) == ("available", place.root, None)


def test_marker_by_content(place: Place) -> None:
    place.write({"a/package.json": '{"dependencies":{"@angular/core":"1"}}', "b/package.json": '{"x":"@angular/core"}'})
    place.write({"a/node_modules/@angular/core/x": "", "b/node_modules/@angular/core/x": ""})
    detector = place.detector()
    assert named(detector.for_path(place.root / "a/x.ts"))["angular-language-server"].state == "available"
    found = named(detector.for_path(place.root / "b/x.ts"))["angular-language-server"]
    assert found.state == "missing_marker" and "package.json with @angular/core" in found.reason


def test_library_that_a_server_drives_is_required(place: Place) -> None:
    place.write({"eslint.config.js": "", "a.js": ""})
    found = named(place.detector().for_path(place.root / "a.js"))["eslint"]
    assert found.state == "missing_binary" and "node_modules/eslint" in found.reason
    place.write({"node_modules/eslint/package.json": "{}"})
    assert named(place.detector().for_path(place.root / "a.js"))["eslint"].state == "available"


def test_client_may_name_the_language(place: Place) -> None:
    place.write({"pyproject.toml": "", ".git/HEAD": ""})
    detector = place.detector()
    path = place.root / "tool.unheard-of"
    assert detector.for_path(path) == ()
    assert where(detector, place, "tool.unheard-of") == {}
    assert named(detector.for_path(path, "python"))["basedpyright"].state == "available"
    assert named(detector.for_path(path, "sh"))["bash-language-server"].state == "available"
    # Emacs sends the names of its own modes, which say less than the file's.
    for name, said, server in (("a.py", "my-python", "basedpyright"), ("a.sh", "bash-ts", "bash-language-server")):
        assert named(detector.for_path(place.root / name, said))[server].state == "available"
    # A user who turned a file into plain text wants no server for it.
    assert not {"basedpyright", "ruff"} & set(named(detector.for_path(place.root / "a.py", "plaintext")))


def test_a_language_of_the_users_own_server_is_known(place: Place) -> None:
    place.write({"pyproject.toml": "", ".git/HEAD": ""})
    own = {"mine": {"command": ["gopls"], "languages": ["my-python"], "rootMarkers": []}}
    found = place.detector(user=own).for_path(place.root / "a.py", "my-python")
    assert named(found)["mine"].state == "available"
    assert place.detector(user=own).language(place.root / "a.py", "my-python") == "my-python"


def test_first_line_is_looked_at_where_the_name_says_nothing(place: Place) -> None:
    place.write({".git/HEAD": "", "tool": "#!/bin/sh\n"})
    (place.root / "outside").symlink_to("/bin/sh")
    os.mkfifo(place.root / "pipe")
    detector = place.detector()
    assert where(detector, place, "tool") == {"bash-language-server": "."}
    assert where(detector, place, "pipe") == where(detector, place, "outside") == where(detector, place, "gone") == {}
    assert named(detector.for_path(place.root / "tool", "plaintext"))["bash-language-server"].state == "available"


# ---- alternatives -------------------------------------------------------------------------------------------------


def test_one_of_several_type_servers_is_the_default(place: Place) -> None:
    place.write({"pyproject.toml": ""})
    found = named(place.detector().for_path(place.root / "a.py"))
    assert found["basedpyright"].state == found["ruff"].state == "available"
    assert found["ty"].state == "disabled"
    assert found["ty"].reason == "basedpyright is used for python; enable with servers.ty.disabled = false."
    assert [name for name in found if found[name].state == "available"] == ["basedpyright", "ruff"]


def test_next_alternative_that_resolves_is_used_and_the_missing_one_keeps_its_reason(place: Place) -> None:
    place.write({"pyproject.toml": ""})
    (place.bin / "basedpyright-langserver").unlink()
    found = named(place.detector().for_path(place.root / "a.py"))
    assert found["basedpyright"].state == found["pyright"].state == "missing_binary"
    assert found["basedpyright"].reason == "basedpyright-langserver is not on PATH: pip install basedpyright."
    assert found["ty"].state == "available"
    assert found["pylsp"].reason.startswith("ty is used for python")


@pytest.mark.parametrize(
    ("user", "expected"),
    [
        ({}, ["basedpyright"]),
        ({"ty": {"disabled": False}}, ["basedpyright", "ty"]),
        ({"basedpyright": {"disabled": False}}, ["basedpyright"]),
        ({"basedpyright": {"disabled": True}}, ["ty"]),
        ({"basedpyright": {"disabled": True}, "ty": {"disabled": True}}, []),
        ({"ty": {"priority": 1}}, ["ty"]),
        ({"ty": {"settings": {"ty": {}}}}, ["basedpyright"]),
        (
            {"mine": {"command": ["gopls"], "languages": ["python"], "rootMarkers": []}},
            ["basedpyright", "mine"],
        ),
        (
            {
                "mine": {"command": ["gopls"], "languages": ["python"], "rootMarkers": []},
                "basedpyright": {"disabled": True},
            },
            ["ty", "mine"],
        ),
    ],
)
def test_user_decides_about_alternatives(place: Place, user: dict[str, Any], expected: list[str]) -> None:
    place.write({"pyproject.toml": ""})
    found = place.detector(user={**user, "ruff": {"disabled": True}}).for_path(place.root / "a.py")
    assert [one.entry.name for one in found if one.state == "available"] == expected
    assert named(found)["ruff"].state == "disabled" and "servers.ruff.disabled" in named(found)["ruff"].reason


def test_alternatives_are_chosen_for_each_file_by_itself(place: Place) -> None:
    place.write({"a/ty.toml": "", "b/pyproject.toml": ""})
    detector = place.detector()
    assert "ty" in where(detector, place, "a/x.py") and "basedpyright" in where(detector, place, "b/x.py")


def test_order_is_that_of_priority(place: Place) -> None:
    place.write({"pyproject.toml": ""})
    found = place.detector(user={"ruff": {"priority": 1}}).for_path(place.root / "a.py")
    assert found[0].entry.name == "ruff"
    assert [one.entry.priority for one in found] == sorted(one.entry.priority for one in found)
