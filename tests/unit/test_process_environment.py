"""What a child's environment keeps, loses and gains."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import ombud
import pytest
from ombud.process import environment
from ombud.process.environment import child_environment

MARKER = {"OMBUD_HUB": "abc"}
SOURCE = str(Path(ombud.__file__).parents[1])


@pytest.fixture
def own_venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Ombud runs from a virtual environment in ``tmp_path/tool``."""
    venv = tmp_path / "tool"
    venv.mkdir()
    monkeypatch.setattr(sys, "prefix", str(venv))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    return venv


def test_the_users_own_variables_pass_and_extra_and_marker_win_in_turn() -> None:
    base = {"PATH": "/a:/b", "HOME": "/h", "LC_ALL": "C.UTF-8", "HTTPS_PROXY": "http://p", "A": "1", "B": "1", "C": "1"}
    given = child_environment(base, extra={"A": "2", "B": "2"}, marker={"B": "3", **MARKER})
    assert given == {**base, "A": "2", "B": "3", **MARKER}
    assert base["A"] == "1"


@pytest.mark.parametrize("name", ["PYTHONHOME", "__PYVENV_LAUNCHER__", "OMBUD_CHILD"])
def test_what_started_our_interpreter_is_dropped_unless_the_user_asks_for_it(name: str) -> None:
    assert name not in child_environment({name: "x"}, extra={}, marker=MARKER)
    assert child_environment({name: "x"}, extra={name: "y"}, marker=MARKER)[name] == "y"


def test_the_mark_of_an_ombud_further_out_is_replaced() -> None:
    assert child_environment({"OMBUD_HUB": "outer"}, extra={}, marker=MARKER) == MARKER


def test_our_own_virtual_environment_is_not_the_servers(own_venv: Path) -> None:
    base = {"VIRTUAL_ENV": str(own_venv), "VIRTUAL_ENV_PROMPT": "tool", "PATH": f"{own_venv}/bin:/bin"}
    assert child_environment(base, extra={}, marker={}) == {"PATH": f"{own_venv}/bin:/bin"}


def test_our_own_virtual_environment_is_recognised_through_a_link(own_venv: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(own_venv)
    assert child_environment({"VIRTUAL_ENV": str(link)}, extra={}, marker={}) == {}


def test_a_users_virtual_environment_stays(own_venv: Path, tmp_path: Path) -> None:
    base = {"VIRTUAL_ENV": str(tmp_path / "project"), "VIRTUAL_ENV_PROMPT": "project"}
    assert child_environment(base, extra={}, marker={}) == base


def test_a_projects_environment_stays_also_when_ombud_lives_in_it(own_venv: Path, tmp_path: Path) -> None:
    base = {"VIRTUAL_ENV": str(own_venv)}
    assert child_environment(base, extra={}, marker={}, workspace=tmp_path) == base
    # F1's kind: a folder whose name merely begins with the workspace's is not inside it.
    assert child_environment(base, extra={}, marker={}, workspace=tmp_path / "too") == {}


def test_without_a_virtual_environment_of_our_own_every_one_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "prefix", "/usr")
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    assert child_environment({"VIRTUAL_ENV": "/usr"}, extra={}, marker={}) == {"VIRTUAL_ENV": "/usr"}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"/mine{os.pathsep}{SOURCE}", "/mine"),
        (f"{SOURCE}{os.pathsep}{SOURCE}/", None),
        (f"{os.pathsep}/mine", f"{os.pathsep}/mine"),
        ("/mine", "/mine"),
    ],
)
def test_our_own_source_folder_leaves_pythonpath_and_the_rest_stays(value: str, expected: str | None) -> None:
    assert child_environment({"PYTHONPATH": value}, extra={}, marker={}).get("PYTHONPATH") == expected


def test_T3_nothing_is_read_from_the_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("HOME=/evil\nPATH=/evil\nOMBUD_HUB=evil\n")
    (tmp_path / ".ombud.toml").write_text("[env]\nHOME = '/evil'\n")
    monkeypatch.chdir(tmp_path)
    opened: list[object] = []
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open":
            opened.append(arguments[0])

    sys.addaudithook(hook)
    base = {"HOME": "/h", "PATH": "/p", "VIRTUAL_ENV": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    given = child_environment(base, extra={}, marker=MARKER, workspace=tmp_path)
    watching = False
    assert given == {**base, **MARKER}
    assert opened == []


def test_the_names_of_the_marks_are_those_the_guardians_script_looks_for() -> None:
    script = Path(environment.__file__).with_name("guardian.sh").read_text()
    assert f'"{environment.HUB}=$mark"' in script
