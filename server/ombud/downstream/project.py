"""What a project brings for its servers: its Python interpreter, and the folder of its compilation database.

Both are looked for where their users expect them, from a root upwards to the workspace folder and never above it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from ombud.downstream.roots import Roots, ancestors
from ombud.guard.commands import Resolved, resolve_command
from ombud.guard.trust import Trust

_BIN = "Scripts/python.exe" if os.name == "nt" else "bin/python"
_ENVIRONMENTS = (".venv", "venv", "env", ".conda", ".pixi/envs/default")
"""Folders in which uv, Poetry, PDM and Hatch (``.venv``), people and conda keep the environment of one project."""
_INTERPRETERS = tuple(f"{name}/{_BIN}" for name in _ENVIRONMENTS)
_ACTIVATED = ("VIRTUAL_ENV", "CONDA_PREFIX")
"""The variables by which virtualenv and conda say which environment is active."""
_PDM = ".pdm-python"
"""PDM's file with the path of the interpreter that it uses for the project, and nothing else."""

DATABASE = "compile_commands.json"
APPEARING = frozenset({"pyvenv.cfg", Path(_BIN).name, _PDM, DATABASE})
"""Files by whose coming a project's environment or database may be another one."""
_BUILDS = ("build*", "cmake-build-*", "out", "out*", "builddir", "_build", ".build", "bin", "Debug", "Release", "debug")
"""Folders in which CMake, CLion, Visual Studio, Meson and people put what they build."""
_MOST_BUILDS = 200


def interpreters(root: Path) -> list[Path]:
    """Where the interpreter of an environment in ``root`` is, or will be once somebody makes one."""
    return [root / name for name in _INTERPRETERS]


class Interpreters:
    """The Python interpreter for one root.

    What the client named comes first; then the nearest environment in the project, the one that PDM chose, and the one
    that was active when the client was started. A server would run what it is given, so an interpreter that belongs to
    the workspace counts only where it may run (T1).
    """

    def __init__(
        self, root: Path, folder: Path, roots: Roots, trust: Trust, environment: Mapping[str, str], said: str | None
    ) -> None:
        self._root = root
        self._folder = folder
        self._roots = roots
        self._trust = trust
        self._environment = environment
        self._said = said

    def find(self) -> str | None:
        """The interpreter's path; None where a server finds the same by itself.

        Where the project has one that may not run, the user's own is named all the same: some servers look for a
        ``.venv`` by themselves and run what they find there when nobody names any.
        """
        if self._said is not None and (named := self.allowed(self._said)) is not None:
            return named
        local = self._roots.above(self._root, self._folder, _INTERPRETERS)
        if local is not None and self._trust.allows_local(local):
            return str(local)
        return self._of_pdm() or self._activated() or (self._own() if local is not None else None)

    def allowed(self, path: str) -> str | None:
        """An interpreter that somebody has written down, as an absolute path; None for one that may not or cannot run.

        ``${workspaceFolder}`` and relative paths are meant from the workspace folder, as in editors. A bare word such
        as ``python`` is left to the server, which looks it up on PATH.
        """
        text = path.replace("${workspaceFolder}", str(self._folder))
        if "\0" in text or bare(text):
            return None
        try:
            found = Path(os.path.normpath(self._folder / Path(text).expanduser()))
            found = found / _BIN if found.is_dir() else found
        except (OSError, RuntimeError):
            return None
        return str(found) if self._may_run(found) else None

    def checked(self, path: str) -> str | None:
        """An interpreter as settings name it, made absolute where it can run. None where it must not run."""
        allowed = self.allowed(path)
        if allowed is not None or bare(path):
            return allowed or path
        text = path.replace("${workspaceFolder}", str(self._folder))
        return None if "\0" in text or self._is_local(Path(os.path.normpath(self._folder / text))) else path

    def _may_run(self, path: Path) -> bool:
        """Whether a program can be started, by its place and by its mode."""
        try:
            if self._is_local(path) and not self._trust.allows_local(path):
                return False
            return path.is_file() and os.access(path, os.X_OK)
        except (OSError, ValueError):
            return False

    def _is_local(self, path: Path) -> bool:
        """Whether it belongs to the workspace: by its name, by the folder it is in, or by where it leads."""
        places = (path, Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(path)))
        return any(self._roots.folder_of(place) is not None for place in places)

    def _of_pdm(self) -> str | None:
        """PDM's choice. The file can lead anywhere and may have come with the repository."""
        if not self._trust.allows_workspace_code:
            return None
        note = self._roots.above(self._root, self._folder, (_PDM,))
        data = self._roots.content(note) if note is not None else None
        if data is None:
            return None
        path = Path(data.decode("utf-8", "replace").strip())
        return str(path) if path.is_absolute() and self._may_run(path) else None

    def _activated(self) -> str | None:
        for name in _ACTIVATED:
            folder = self._environment.get(name, "")
            for program in (_BIN, "python.exe") if os.name == "nt" else (_BIN,):
                path = Path(folder) / program
                if folder and path.is_absolute() and self._may_run(path):
                    return str(path)
        return None

    def _own(self) -> str:
        """An interpreter that does not come from the workspace: the one on PATH, else Ombud's."""
        answer = resolve_command(("python3",), root=self._root, folders=(self._folder,), trust=self._trust)
        return str(answer.executable) if isinstance(answer, Resolved) and not answer.local else sys.executable


def bare(path: str) -> bool:
    """Whether a program is named by a word only, which is looked up on PATH."""
    return not path or Path(path).name == path


def compile_commands(root: Path, folder: Path, roots: Roots) -> str | None:
    """The folder of ``compile_commands.json`` for a root where clangd would not find it by itself; else None.

    clangd looks beside each source, above it, and in a ``build`` folder at each of these steps (its manual,
    "Compilation databases"). What a ``.clangd`` says of the matter is the user's own decision. Of several databases
    the newest counts: it is of the configuration that was built last.
    """
    for step in ancestors(root, folder):
        names = roots.names(step)
        if DATABASE in names or "compile_flags.txt" in names or DATABASE in roots.names(step / "build"):
            return None
        if ".clangd" in names and b"CompilationDatabase" in (roots.content(step / ".clangd") or b""):
            return None
    for step in ancestors(root, folder):
        found = [(stamp, place) for place in _builds(step, roots) if (stamp := _stamp(place / DATABASE)) is not None]
        if found:
            return str(max(found)[1])
    return None


def _builds(step: Path, roots: Roots) -> list[Path]:
    """The folders for what is built in ``step``, and those one level below them (``out/Debug``, ``build/linux``)."""
    tops = [step / name for name in sorted(roots.names(step)) if any(fnmatchcase(name, glob) for glob in _BUILDS)]
    tops = [place for place in tops[:_MOST_BUILDS] if place.is_dir() and not place.is_symlink()]
    below = [
        top / name
        for top in tops
        if DATABASE not in roots.names(top)
        for name in sorted(roots.names(top))[:_MOST_BUILDS]
        if "." not in name
    ]
    return [*tops, *below]


def _stamp(path: Path) -> int | None:
    """When a database was written; None where there is none. A link may lead out of the workspace and is none."""
    try:
        return path.lstat().st_mtime_ns if path.is_file() and not path.is_symlink() else None
    except OSError:
        return None
