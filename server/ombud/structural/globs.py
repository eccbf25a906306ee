"""Which files a caller's globs let in: as ripgrep's ``--glob``, with the words of a gitignore file turned round."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from ombud.workspace.ignores import Ignores

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
MOST_BRACED = 500
"""Globs that one with braces may stand for."""


class Globs:
    """``src/**/*.ts`` lets in, ``!*.test.ts`` leaves out; the last one that matches a file, or a folder around it,
    decides. Without a match a file is let in where no glob lets in anything."""

    def __init__(self, globs: Sequence[str]) -> None:
        plain = [one for glob in globs if glob.strip("!") for one in _braced(_plain(glob))]
        self._globs = [_Glob(one) for one in reversed(plain)]
        self._otherwise = not any(not glob.startswith("!") for glob in plain)

    def __bool__(self) -> bool:
        return bool(self._globs)

    def let_in(self, path: str) -> bool:
        """Whether a file, relative to its root, is let in."""
        verdicts = (glob.verdict(path) for glob in self._globs)
        return next((one for one in verdicts if one is not None), self._otherwise)


class _Glob:
    """One glob: True where it lets in, False where it leaves out, None where it does not match."""

    def __init__(self, glob: str) -> None:
        self._rule = Ignores(glob)
        self._of_folder = lru_cache(maxsize=4096)(self._above)

    def verdict(self, path: str) -> bool | None:
        found = self._rule.verdict(PurePosixPath(path), is_folder=False)
        return self._of_folder(path.rpartition("/")[0]) if found is None else found

    def _above(self, folder: str) -> bool | None:
        """What it says of a folder or one around it."""
        if not folder:
            return None
        found = self._rule.verdict(PurePosixPath(folder), is_folder=True)
        return self._of_folder(folder.rpartition("/")[0]) if found is None else found


def _plain(glob: str) -> str:
    """A line of a gitignore file cannot hold a line end, and what begins with ``#`` there is a comment."""
    line = glob.replace("\n", "?").replace("\r", "?").removeprefix("./")
    return "\\" + line if line.startswith("#") else line


def _braced(glob: str) -> list[str]:
    """``*.{py,ts}`` as the globs that it stands for, which a gitignore file would have on lines of their own."""
    found = _BRACES.search(glob)
    if found is None:
        return [glob]
    before, after = glob[: found.start()], glob[found.end() :]
    several = [f"{before}{one}{after}" for one in found[1].split(",")]
    return [one for each in several for one in _braced(each)][:MOST_BRACED]
