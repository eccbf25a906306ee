"""The files below a folder that are the project's own: bounded, without links and what ``.gitignore`` leaves out."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Set
from pathlib import Path, PurePosixPath

from ombud.errors import OmbudError
from ombud.guard.fence import Fence
from ombud.workspace.ignores import NAME, Layers

_IGNORES_LIMIT = 1_048_576
_MARKS_OF_SKIPPED = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""Files that mark a folder as made by a tool: a virtual environment, a cache."""


class Walk:
    """Breadth first, so that a limit cuts off the depths and not whole neighbours.

    ``skipped`` are names of folders that are never entered. ``note`` is None for a walk that saw everything, else the
    sentence that says where it stopped.
    """

    def __init__(
        self, fence: Fence, skipped: Set[str], *, files: int = 100_000, folders: int = 20_000, depth: int = 64
    ) -> None:
        self._fence = fence
        self._skipped = skipped
        self._files_left = files
        self._folders_left = folders
        self._depth = depth
        self.note: str | None = None

    def files(self, start: Path) -> Iterator[Path]:
        """Ordinary files below ``start`` (real, inside the fence), folder by folder, in the order of their names.

        ``start`` itself is walked whatever its name: somebody has asked for it.
        """
        top = self._top(start)
        queue = deque([(start, self._above(start, top), 0)])
        while queue and self.note is None:
            folder, layers, depth = queue.popleft()
            if self._too_many_folders():
                return
            relative = PurePosixPath(folder.relative_to(top).as_posix())
            names, below = _listing(folder)
            if depth and _MARKS_OF_SKIPPED & set(names):
                continue
            if NAME in names:
                layers = layers.below(relative, self._ignores(folder))
            for name in names:
                if not layers.ignored(relative / name, is_folder=False):
                    if self._full():
                        return
                    yield folder / name
            wanted = [
                name
                for name in below
                if name not in self._skipped and not layers.ignored(relative / name, is_folder=True)
            ]
            if wanted and depth >= self._depth:
                self.note = f"What lies below {relative} was not looked at: it is too deep. Name that folder."
                return
            queue.extend((folder / name, layers, depth + 1) for name in wanted)

    def _full(self) -> bool:
        self._files_left -= 1
        if self._files_left < 0:
            self.note = "There are more files than are looked at in one go; name folders below this one."
        return self.note is not None

    def _too_many_folders(self) -> bool:
        self._folders_left -= 1
        if self._folders_left < 0:
            self.note = "There are more folders than are looked at in one go; name folders below this one."
        return self.note is not None

    def _top(self, start: Path) -> Path:
        around = [folder for folder in self._fence.folders if start.is_relative_to(folder)]
        return max(around, key=lambda folder: len(folder.parts), default=start)

    def _above(self, start: Path, top: Path) -> Layers:
        """What the ``.gitignore`` files above ``start`` say."""
        layers = Layers()
        for folder in reversed([parent for parent in start.parents if parent.is_relative_to(top)]):
            if (folder / NAME).is_file():
                layers = layers.below(PurePosixPath(folder.relative_to(top).as_posix()), self._ignores(folder))
        return layers

    def _ignores(self, folder: Path) -> str | None:
        try:
            inside = self._fence.resolve(str(folder / NAME), intent="read")
            return self._fence.read(inside, _IGNORES_LIMIT).data.decode("utf-8", "replace")
        except OmbudError:
            return None


def _listing(folder: Path) -> tuple[list[str], list[str]]:
    """Names of ordinary files and of folders; links are left out, what cannot be listed is empty."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
    except OSError:
        return [], []
    return sorted(files), sorted(folders)
