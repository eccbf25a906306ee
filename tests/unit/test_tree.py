"""What is looked at below the watched folders, and which events hints of the system become."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from ombud.workspace import tree
from ombud.workspace.tree import CHANGED, CREATED, DELETED, Event, Tree

from tests.conftest import Workspace

Act = Callable[[Path], None]


def events(found: list[Event], root: Path) -> dict[str, int]:
    names = [one.path for one in found]
    assert len(set(names)) == len(names), "a path was told twice"
    return {os.path.relpath(one.path, root): one.kind for one in found}


def seen(found: Tree, root: Path) -> set[str]:
    return {
        os.path.relpath(os.path.join(folder, name), root) for folder, names in found.folders.items() for name in names
    }


def _moved(source: str, target: str) -> Act:
    return lambda root: (root / source).rename(root / target) and None


def _write(name: str, text: str = "new") -> Act:
    def act(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)

    return act


def _replace(root: Path) -> None:
    """As ``sed -i`` does."""
    (root / "sedX").write_text("b")
    (root / "sedX").rename(root / "a.py")


def _recreate(root: Path) -> None:
    shutil.rmtree(root / "src")
    _write("src/x.py")(root)
    _write("src/new.py")(root)


FILES = {"a.py": "a", "src/x.py": "x", "src/deep/y.py": "y", ".gitignore": "/out/\n*.log\n", "out/o.py": "o"}

CASES: list[tuple[str, Act, list[tuple[int, str]], dict[str, int]]] = [
    ("changed", _write("a.py"), [(2, "a.py")], {"a.py": CHANGED}),
    ("changed, told thrice", _write("a.py"), [(2, "a.py"), (1, "a.py"), (3, "a.py")], {"a.py": CHANGED}),
    ("created", _write("b.py"), [(1, "b.py"), (2, "b.py")], {"b.py": CREATED}),
    ("replaced", _replace, [(1, "sedX"), (3, "sedX"), (1, "a.py")], {"a.py": CHANGED}),
    ("deleted", lambda root: (root / "a.py").unlink(), [(3, "a.py")], {"a.py": DELETED}),
    ("never was", lambda root: None, [(1, "t.py"), (3, "t.py")], {}),
    ("renamed", _moved("a.py", "b.py"), [(3, "a.py"), (1, "b.py")], {"a.py": DELETED, "b.py": CREATED}),
    (
        "a folder is told and not what is in it",
        _write("new/deep/n.py"),
        [(1, "new")],
        {"new/deep/n.py": CREATED},
    ),
    (
        "a folder is moved",
        _moved("src", "lib"),
        [(3, "src"), (1, "lib")],
        {"src/x.py": DELETED, "src/deep/y.py": DELETED, "lib/x.py": CREATED, "lib/deep/y.py": CREATED},
    ),
    (
        "a folder goes",
        lambda root: shutil.rmtree(root / "src"),
        [(3, "src"), (3, "src/x.py")],
        {"src/x.py": DELETED, "src/deep/y.py": DELETED},
    ),
    (
        "a folder comes back under its name",
        _recreate,
        [(3, "src"), (1, "src")],
        {"src/x.py": CHANGED, "src/deep/y.py": DELETED, "src/new.py": CREATED},
    ),
    ("a folder's own metadata", lambda root: None, [(2, "src")], {}),
    ("an ignored folder", _write("out/new.py"), [(1, "out/new.py"), (2, "out")], {}),
    ("an ignored file is still a file", _write("x.log"), [(1, "x.log")], {"x.log": CREATED}),
    ("dependencies", _write("src/node_modules/p/i.js"), [(1, "src/node_modules")], {}),
    ("version control", _write(".git/HEAD"), [(1, ".git"), (1, ".git/HEAD")], {}),
    ("a cache", _write("src/.c/CACHEDIR.TAG"), [(1, "src/.c")], {}),
    ("our own temporary", _write(".ombud-0123456789abcdef.new"), [(1, ".ombud-0123456789abcdef.new")], {}),
    ("elsewhere", lambda root: None, [(1, "../other/a.py"), (3, "../a.py")], {}),
    (
        "what is ignored changes: nothing was deleted",
        _write(".gitignore", "/src/\n"),
        [(2, ".gitignore")],
        {".gitignore": CHANGED, "out/o.py": CREATED},
    ),
]


@pytest.mark.parametrize(("act", "hints", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_hints_become_exact_events(
    workspace: Workspace, act: Act, hints: list[tuple[int, str]], expected: dict[str, int]
) -> None:
    root = workspace(FILES)
    found = Tree([root])
    assert found.look() == []
    act(root)
    told, _ = found.take({(kind, f"{root}/{name}") for kind, name in hints})
    assert events(told, root) == expected
    # What was told is known: a look at everything finds nothing more.
    assert found.look() == []


@pytest.mark.parametrize(("act", "expected"), [(case[1], case[3]) for case in CASES], ids=[case[0] for case in CASES])
def test_a_look_finds_the_same_without_hints(workspace: Workspace, act: Act, expected: dict[str, int]) -> None:
    root = workspace(FILES)
    found = Tree([root])
    found.look()
    act(root)
    assert events(found.look(), root) == expected


def test_where_the_queue_ran_over_everything_is_looked_at(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "MANY", 2)
    root = workspace(FILES)
    found = Tree([root])
    found.look()
    for name in ("b.py", "c.py", "new/d.py", "new/sub/e.py"):
        _write(name)(root)
    (root / "src/x.py").unlink()
    told, fresh = found.take({(1, f"{root}/b.py"), (1, f"{root}/new")})
    wanted = dict.fromkeys(("b.py", "c.py", "new/d.py", "new/sub/e.py"), CREATED) | {"src/x.py": DELETED}
    assert events(told, root) == wanted
    assert {os.path.relpath(one, root) for one in fresh} == {"new", "new/sub"}


def test_new_folders_are_named_so_that_they_can_be_watched_and_looked_at_again(workspace: Workspace) -> None:
    root = workspace(FILES)
    found = Tree([root])
    found.look()
    _write("new/a.py")(root)
    _, fresh = found.take({(1, f"{root}/new")})
    assert fresh == [f"{root}/new"]
    # Written before anybody watched the folder.
    _write("new/b.py")(root)
    _write("new/sub/c.py")(root)
    assert events(found.again(fresh), root) == {"new/b.py": CREATED, "new/sub/c.py": CREATED}


def test_a_folder_that_was_asked_for_by_name_is_looked_at_in_an_ignored_one(workspace: Workspace) -> None:
    site = ".venv/lib/python/site-packages"
    root = workspace(
        {"a.py": "", ".venv/pyvenv.cfg": "", ".venv/bin/x": "", f"{site}/p/__init__.py": "", "node_modules/q/i.js": ""}
    )
    assert seen_after_look(Tree([root]), root) == {"a.py"}
    found = Tree([root], extra=[root / site, root / "node_modules/q", root / "node_modules/gone"])
    assert seen_after_look(found, root) == {"a.py", f"{site}/p/__init__.py", "node_modules/q/i.js"}
    _write(f"{site}/new/m.py")(root)
    _write(".venv/bin/y")(root)
    _write("node_modules/gone/g.js")(root)
    hints = {(1, f"{root}/{name}") for name in (f"{site}/new", ".venv/bin/y", ".venv/bin", "node_modules/gone")}
    told, _ = found.take(hints)
    assert events(told, root) == {f"{site}/new/m.py": CREATED, "node_modules/gone/g.js": CREATED}


def seen_after_look(found: Tree, root: Path) -> set[str]:
    found.look()
    return seen(found, root)


def test_a_single_file_outside(workspace: Workspace) -> None:
    root, home = workspace(FILES), workspace({"other": "x"}, name="home")
    found = Tree([root], files=[home / "ombud.toml"])
    found.look()
    _write("ombud.toml")(home)
    _write("other")(home)
    told, _ = found.take({(1, f"{home}/ombud.toml"), (2, f"{home}/other")})
    assert events(told, home) == {"ombud.toml": CREATED}


def test_a_single_file_whose_folder_comes_later_and_goes(workspace: Workspace) -> None:
    root, home = workspace(FILES), workspace({"other": "x"}, name="home")
    found = Tree([root], files=[home / ".config" / "ombud" / "ombud.toml"])
    found.look()
    assert str(home) in found.folders
    assert found.take({(2, f"{home}/other")}) == ([], [])
    (home / ".config").mkdir()
    assert found.take({(1, f"{home}/.config")}) == ([], [f"{home}/.config"])
    _write(".config/ombud/ombud.toml")(home)
    told, fresh = found.take({(1, f"{home}/.config/ombud")})
    assert (events(told, home), fresh) == ({".config/ombud/ombud.toml": CREATED}, [f"{home}/.config/ombud"])
    # What comes before the new folder is really watched.
    _write(".config/ombud/ombud.toml", "longer than that")(home)
    assert events(found.again(fresh), home) == {".config/ombud/ombud.toml": CHANGED}
    shutil.rmtree(home / ".config")
    told, fresh = found.take({(3, f"{home}/.config/ombud")})
    assert (events(told, home), fresh) == ({".config/ombud/ombud.toml": DELETED}, [str(home)])


def test_a_single_file_in_a_watched_folder_hides_no_other(workspace: Workspace) -> None:
    root = workspace({"a.py": ""})
    found = Tree([root], files=[root / ".config" / "ombud" / "ombud.toml", root / "ombud.toml"])
    found.look()
    _write("a.py")(root)
    _write(".config/ombud/ombud.toml")(root)
    told, _ = found.take({(2, f"{root}/a.py"), (1, f"{root}/.config")})
    assert events(told, root) == {"a.py": CHANGED, ".config/ombud/ombud.toml": CREATED}


@pytest.mark.parametrize(("name", "most"), [("MOST_FOLDERS", 2), ("MOST_FILES", 2)])
def test_limits_are_told(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, name: str, most: int) -> None:
    monkeypatch.setattr(tree, name, most)
    root = workspace(FILES)
    found = Tree([root])
    found.look()
    assert found.note is not None
    assert "src/deep/y.py" not in seen(found, root)
    # Events of what is looked at still come, however often.
    for text in ("b", "bb", "bbb"):
        _write("a.py", text)(root)
        assert events(found.take({(2, f"{root}/a.py")})[0], root) == {"a.py": CHANGED}


def test_looking_again_and_again_uses_up_no_limit(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tree, "MOST_FILES", 20)
    root = workspace(FILES)
    found = Tree([root])
    found.look()
    for number in range(30):
        _write(f"n{number}/a.py")(root)
        assert found.take({(1, f"{root}/n{number}")})[0]
        shutil.rmtree(root / f"n{number}")
        assert found.take({(3, f"{root}/n{number}")})[0]
    assert found.note is None
