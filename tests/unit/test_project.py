"""What a project brings: which Python interpreter its servers are named, and where its compilation database is."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from ombud.downstream.project import Interpreters, compile_commands
from ombud.downstream.roots import Roots
from ombud.guard.trust import Trust

pytestmark = pytest.mark.skipif(os.name == "nt", reason="environments are laid out in another way there")


class Place:
    """A workspace folder ``ws`` with a root ``ws/app``, and ``elsewhere`` beside it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.folder = base / "ws"
        self.root = self.folder / "app"
        self.root.mkdir(parents=True)

    def program(self, relative: str) -> Path:
        path = self.base / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    def file(self, relative: str, text: str = "[]", *, age: int = 0) -> Path:
        path = self.base / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
        return path

    def interpreters(self, trusted: bool | None = True, said: str | None = None, **environment: str) -> Interpreters:
        trust = Trust.decide(self.folder, trusted, None)
        return Interpreters(self.root, self.folder, Roots([self.folder]), trust, environment, said)

    def database(self) -> str | None:
        found = compile_commands(self.root, self.folder, Roots([self.folder]))
        return None if found is None else Path(found).relative_to(self.base).as_posix()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path.resolve())


@pytest.mark.parametrize("name", [".venv", "venv", "env", ".conda", ".pixi/envs/default"])
@pytest.mark.parametrize("where", ["ws/app", "ws"])
def test_the_projects_environment_is_found_in_its_root_and_above(place: Place, name: str, where: str) -> None:
    python = place.program(f"{where}/{name}/bin/python")
    assert place.interpreters().find() == str(python)


def test_what_is_nearer_and_more_deliberate_comes_first(place: Place) -> None:
    conda = place.program("elsewhere/conda/bin/python")
    active = place.program("elsewhere/active/bin/python")
    environment = {"CONDA_PREFIX": str(conda.parents[1]), "VIRTUAL_ENV": str(active.parents[1])}
    assert place.interpreters(CONDA_PREFIX=environment["CONDA_PREFIX"]).find() == str(conda)
    assert place.interpreters(**environment).find() == str(active)
    place.file("ws/app/.pdm-python", f"{place.program('elsewhere/pdm/bin/python')}\n")
    assert place.interpreters(**environment).find() == str(place.base / "elsewhere/pdm/bin/python")
    above = place.program("ws/.venv/bin/python")
    assert place.interpreters(**environment).find() == str(above)
    near = place.program("ws/app/venv/bin/python")
    assert place.interpreters(**environment).find() == str(near)
    said = place.program("elsewhere/said/bin/python")
    assert place.interpreters(said=str(said), **environment).find() == str(said)
    assert place.interpreters(said=str(said.parents[1]), **environment).find() == str(said)
    assert place.interpreters(said="/no/such/python", **environment).find() == str(near)
    assert place.interpreters(said="python3", **environment).find() == str(near)
    assert place.interpreters(said="${workspaceFolder}/.venv/bin/python").find() == str(above)
    assert place.interpreters(said=".venv/bin/python").find() == str(above)


def test_nothing_is_named_where_a_server_finds_the_same_by_itself(place: Place) -> None:
    assert place.interpreters().find() is None
    assert place.interpreters(VIRTUAL_ENV="", CONDA_PREFIX="relative/one").find() is None
    assert place.interpreters(VIRTUAL_ENV=str(place.base / "gone")).find() is None


@pytest.mark.parametrize("trusted", [None, False])
def test_T1_an_interpreter_of_an_untrusted_workspace_is_never_named(place: Place, trusted: bool | None) -> None:
    python = place.program("ws/app/.venv/bin/python")
    place.file("ws/app/.pdm-python", str(place.program("elsewhere/pdm/bin/python")))
    link = place.base / "elsewhere" / "link"
    link.symlink_to(place.root / ".venv")
    for said in (str(python), str(link / "bin/python"), "app/.venv/bin/python", "${workspaceFolder}/app/.venv"):
        found = place.interpreters(trusted, said, VIRTUAL_ENV=str(link)).find()
        # One is named all the same, or the server would look for a .venv by itself.
        assert found is not None and not Path(os.path.realpath(found)).is_relative_to(place.folder)
        assert place.interpreters(trusted).checked(said) is None
    outside = place.program("elsewhere/active/bin/python")
    assert place.interpreters(trusted, VIRTUAL_ENV=str(outside.parents[1])).find() == str(outside)


def test_what_settings_name_is_checked_and_made_absolute(place: Place) -> None:
    python = place.program("ws/.venv/bin/python")
    interpreters = place.interpreters()
    assert interpreters.checked("python3") == "python3"
    assert interpreters.checked(str(python)) == interpreters.checked(".venv/bin/python") == str(python)
    assert interpreters.checked(sys.executable) == sys.executable
    # That there is nothing is for the server to say, unless it could come to be there.
    assert interpreters.checked("/no/such/python") == "/no/such/python"
    assert interpreters.checked("gone/python") is None


DATABASE = "compile_commands.json"


@pytest.mark.parametrize(
    "folder",
    [
        *("out", "cmake-build-debug", "build-release", "builddir", "_build", "bin"),
        *("build/linux", "out/Debug", "build/x64-Release"),
    ],
)
@pytest.mark.parametrize("where", ["ws/app", "ws"])
def test_a_database_in_a_build_folder_is_found(place: Place, folder: str, where: str) -> None:
    place.file(f"{where}/{folder}/{DATABASE}")
    assert place.database() == f"{where}/{folder}"


@pytest.mark.parametrize(
    "found_by_clangd",
    [
        f"ws/{DATABASE}",
        f"ws/app/{DATABASE}",
        f"ws/build/{DATABASE}",
        f"ws/app/build/{DATABASE}",
        "ws/compile_flags.txt",
    ],
)
def test_what_clangd_finds_by_itself_is_left_to_it(place: Place, found_by_clangd: str) -> None:
    place.file(f"ws/app/out/{DATABASE}")
    assert place.database() == "ws/app/out"
    place.file(found_by_clangd)
    assert place.database() is None


def test_the_users_own_word_on_the_database_stands(place: Place) -> None:
    place.file(f"ws/out/{DATABASE}")
    place.file("ws/.clangd", "CompileFlags:\n  Add: [-Wall]\n")
    assert place.database() == "ws/out"
    place.file("ws/.clangd", "CompileFlags:\n  CompilationDatabase: elsewhere\n")
    assert place.database() is None


def test_of_several_databases_the_newest_counts_and_the_nearest_folder_comes_first(place: Place) -> None:
    place.file(f"ws/app/cmake-build-debug/{DATABASE}", age=10)
    place.file(f"ws/app/cmake-build-release/{DATABASE}", age=5)
    place.file(f"ws/out/{DATABASE}")
    assert place.database() == "ws/app/cmake-build-release"


def test_no_link_leads_a_server_out_of_the_workspace(place: Place) -> None:
    place.file(f"elsewhere/{DATABASE}")
    (place.root / "out").symlink_to(place.base / "elsewhere")
    (place.root / "builddir").mkdir()
    (place.root / "builddir" / DATABASE).symlink_to(place.base / "elsewhere" / DATABASE)
    assert place.database() is None
