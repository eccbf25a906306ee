"""The configuration files: where they are, whose word they are, and their trees.

A file that cannot be read as TOML says what it said before, where that is known: an editor that saves half a line must
not stop servers. Nothing raises: what is wrong becomes a sentence.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ombud.errors import OmbudError
from ombud.guard.redact import clean
from ombud.workspace.keys import USER, WORKSPACE

WORKSPACE_FILE = ".ombud.toml"
USER_FILE = "ombud.toml"
FILE_LIMIT = 262_144
"""Bytes of a configuration file; larger ones are refused."""
_TOO_LARGE = f"It is larger than {FILE_LIMIT:,} bytes and was ignored."
DEEPEST = 64
"""Levels of tables and lists in a file; dotted keys of TOML could nest them by the thousand."""
MOST_PROBLEMS = 50
"""Sentences that are kept; a hostile file could cause any number of them."""

Memory = dict[Path, Mapping[str, Any]]
"""The last good tree of each file, kept by whoever reads them again and again."""


class Problems:
    """Sentences, each once, at most `MOST_PROBLEMS` of them."""

    def __init__(self) -> None:
        self._said: dict[str, None] = {}

    def add(self, source: str, sentence: str) -> None:
        if len(self._said) < MOST_PROBLEMS:
            self._said[f"{source}: {sentence}"] = None
        else:
            self._said["There are more problems in the configuration; mend these first."] = None

    def __iter__(self) -> Iterator[str]:
        return iter(self._said)


class Files:
    """Reads the files; ``memory`` has their last good trees and is kept up to date."""

    def __init__(self, problems: Problems, memory: Memory | None = None) -> None:
        self._problems = problems
        self._memory: Memory = {} if memory is None else memory

    def workspace(self, root: Path, name: str) -> Mapping[str, Any]:
        """``.ombud.toml``, read through the fence: a link out of the workspace, a pipe or a huge file is none.

        ``name`` is what sentences call it.
        """
        from ombud.guard.fence import Fence
        from ombud.guard.sensitive import SensitivePaths

        path = root / WORKSPACE_FILE
        try:
            fence = Fence([root], SensitivePaths())
            data = fence.read(fence.resolve(WORKSPACE_FILE, intent="read"), FILE_LIMIT).data
        except OmbudError as error:
            self._memory.pop(path, None)
            if error.kind != "not_found":
                sentence = _TOO_LARGE if error.kind == "too_large" else f"It was ignored. {error.message}"
                self._problems.add(name, sentence)
            return {}
        return self._parse(path, name, data)

    def user(self, path: Path) -> Mapping[str, Any]:
        """The user's file; a link is the user's own business, anything but an ordinary file of bounded size is not."""
        data = self._user_bytes(path)
        if data is None:
            self._memory.pop(path, None)
            return {}
        if len(data) > FILE_LIMIT:
            self._problems.add(str(path), _TOO_LARGE)
            return {}
        return self._parse(path, str(path), data)

    def _user_bytes(self, path: Path) -> bytes | None:
        try:
            handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            self._problems.add(str(path), f"It cannot be opened: {error.strerror}.")
            return None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                self._problems.add(str(path), "It is not an ordinary file and was ignored.")
                return None
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(FILE_LIMIT + 1)
        finally:
            os.close(handle)

    def _parse(self, path: Path, name: str, data: bytes) -> Mapping[str, Any]:
        import tomllib

        try:
            tree = tomllib.loads(data.decode("utf-8-sig"))
            if _deeper(tree, DEEPEST):
                raise RecursionError
        except UnicodeDecodeError:
            sentence = "It is not UTF-8 text"
        except RecursionError:
            sentence = "It is nested too deeply"
        except tomllib.TOMLDecodeError as error:
            sentence = f"It is not valid TOML ({clean(str(error), 120)})"
        else:
            self._memory[path] = tree
            return tree
        former = self._memory.get(path)
        kept = " and was ignored." if former is None else "; what it said before still counts."
        self._problems.add(name, sentence + kept)
        return former or {}


def _deeper(tree: Any, most: int) -> bool:
    """Whether objects and lists nest deeper than ``most`` levels."""
    level = [tree]
    for _ in range(most):
        level = [
            inner
            for node in level
            for inner in (node.values() if isinstance(node, Mapping) else node)
            if isinstance(inner, Mapping | list)
        ]
        if not level:
            return False
    return True


def user_file(roots: tuple[Path, ...], folder: Path | None = None) -> tuple[Path, str]:
    """Where the user's file is, and whose word it is: `USER` or `WORKSPACE`.

    Inside a workspace folder it can be written by whoever writes there, so it counts as the workspace's (T2, T3). A
    relative folder from the environment would be looked up in whatever folder the process stands in; the XDG rules
    say to ignore it, and so does T3.
    """
    if folder is None:
        import platformdirs

        folder = Path(platformdirs.user_config_dir("ombud", appauthor=False))
        if not folder.is_absolute():
            folder = Path.home() / ".config" / "ombud"
    path = folder / USER_FILE
    real = Path(os.path.realpath(path))
    if path.exists() and any(real.is_relative_to(os.path.realpath(root)) for root in roots):
        return path, WORKSPACE
    return path, USER
