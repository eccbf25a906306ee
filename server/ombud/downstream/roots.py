"""Where a server's root is for a file: the nearest marker above it, never above its workspace folder (P11).

A folder is listed once and all markers of all servers are looked for in that listing; what is asked of a marker's
content is read once, through the fence. Everything is remembered until `Roots.clear` (P9).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ombud.downstream import members
from ombud.downstream.catalogue import Climb, ServerEntry
from ombud.errors import OmbudError
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths

VERSION_CONTROL = frozenset({".git", ".hg", ".jj", ".svn"})
"""These say where a checkout begins and nothing about its languages: they never start a server that wants a marker."""
NO_MARKER = "There is no"
"""How every `Lost` for want of a marker begins."""
_MOST_NAMES = 100_000
"""Names of one folder that are looked at."""
_READ_LIMIT = 1_048_576
"""Bytes of a marker that is asked for its content."""


class Found(NamedTuple):
    """``marker`` is the name that was found in ``root``; None when the workspace folder itself is the root."""

    root: Path
    marker: str | None


class Lost(NamedTuple):
    """Why there is no root, as a sentence."""

    reason: str


class Roots:
    """Looks for roots in these real workspace folders."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self.folders = tuple(folders)
        self._names: dict[Path, frozenset[str]] = {}
        self._contents: dict[Path, bytes | None] = {}
        self._found: dict[tuple[str, Path], Found | Lost] = {}
        self._fence: Fence | None = None

    def clear(self) -> None:
        """Forget what was seen: files have come or gone."""
        self._names.clear()
        self._contents.clear()
        self._found.clear()

    def folder_of(self, path: Path) -> Path | None:
        """The innermost workspace folder that a real path lies in (by components, F1)."""
        around = [folder for folder in self.folders if path.is_relative_to(folder)]
        return max(around, key=lambda folder: len(folder.parts), default=None)

    def find(self, entry: ServerEntry, directory: Path, folder: Path) -> Found | Lost:
        """The root of ``entry`` for a file in ``directory``, which lies in ``folder`` (both real)."""
        key = (entry.name, directory)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(entry, directory, folder)
        return found

    def _find(self, entry: ServerEntry, directory: Path, folder: Path) -> Found | Lost:
        upward = tuple(ancestors(directory, folder))
        found = self._first(upward, entry.markers)
        if found is None:
            weak = entry.weak_markers
            if entry.markers:
                weak = tuple(marker for marker in weak if marker not in VERSION_CONTROL)
            found = self._first(upward, weak)
        if found is None and entry.markers:
            return Lost(f"{NO_MARKER} {listed(entry.markers)} in {shown(directory, folder)} or above it.")
        if found is None:
            found = Found(folder, None)
        between = [step for step in upward if step != found.root and step.is_relative_to(found.root)]
        other = self._first((*between, found.root), entry.exclude_markers) or self._first(between, entry.exclude_nearer)
        if other is not None:
            where = shown(other.root, folder)
            return Lost(f"{other.marker} in {where} marks another kind of project, which {entry.name} leaves alone.")
        for climb in entry.root_climbs:
            found = self._climb(climb, found, folder)
        return found

    def _first(self, steps: Iterable[Path], markers: Sequence[str]) -> Found | None:
        for step in steps:
            marker = self.match(step, markers)
            if marker is not None:
                return Found(step, marker)
        return None

    def _climb(self, climb: Climb, found: Found, folder: Path) -> Found:
        """The workspace that encloses ``found``, if it says that it does."""
        best = found
        for step in ancestors(found.root, folder):
            marker = self.match(step, climb.to)
            if marker is None or not self._admits(step, marker, found.root):
                continue
            best = Found(step, marker)
            if not climb.farthest:
                break
        return best

    def _admits(self, workspace: Path, marker: str, package: Path) -> bool:
        if workspace == package:
            return True
        data = self.content(workspace / marker)
        return data is not None and members.admits(marker, data, package.relative_to(workspace))

    def match(self, directory: Path, markers: Sequence[str]) -> str | None:
        """The first of ``markers`` that ``directory`` has: its name as found there."""
        for marker in markers:
            name, _, word = marker.partition("#")
            for candidate in self._candidates(directory, name):
                if not word or self._says(directory / candidate, word):
                    return candidate
        return None

    def _candidates(self, directory: Path, name: str) -> Iterator[str]:
        head, slash, tail = name.rpartition("/")
        if slash:
            if head.partition("/")[0] not in self.names(directory):
                return
            directory = directory / head
        names = self.names(directory)
        if any(char in tail for char in "*?["):
            for found in sorted(names):
                if fnmatchcase(found, tail):
                    yield f"{head}{slash}{found}"
        elif tail in names:
            yield name

    def names(self, directory: Path) -> frozenset[str]:
        """What lies in a folder; empty when it cannot be listed."""
        names = self._names.get(directory)
        if names is None:
            try:
                with os.scandir(directory) as entries:
                    names = frozenset(entry.name for entry in islice(entries, _MOST_NAMES))
            except OSError:
                names = frozenset()
            self._names[directory] = names
        return names

    def _says(self, path: Path, word: str) -> bool:
        data = self.content(path)
        return data is not None and members.says(path.name, data, word)

    def content(self, path: Path) -> bytes | None:
        """A file of the workspace, at most 1 MiB; None for anything that the fence does not let in."""
        if path not in self._contents:
            try:
                if self._fence is None:
                    self._fence = Fence(self.folders, SensitivePaths())
                data = self._fence.read(self._fence.resolve(str(path), intent="read"), _READ_LIMIT).data
            except OmbudError:
                self._contents[path] = None
            else:
                self._contents[path] = data
        return self._contents[path]

    def above(self, directory: Path, folder: Path, names: Sequence[str]) -> Path | None:
        """The nearest of ``names`` in ``directory`` or above it, as a path."""
        for step in ancestors(directory, folder):
            marker = self.match(step, names)
            if marker is not None:
                return step / marker
        return None


def ancestors(directory: Path, folder: Path) -> Iterator[Path]:
    """``directory`` and its parents up to ``folder``, which it must lie in."""
    yield directory
    if directory != folder:
        for parent in directory.parents:
            yield parent
            if parent == folder:
                return


def shown(directory: Path, folder: Path) -> str:
    """A folder of the workspace in a sentence."""
    relative = directory.relative_to(folder).as_posix()
    return "the workspace folder" if relative == "." else relative


def listed(markers: Sequence[str], most: int = 3) -> str:
    """Markers in a sentence: the first few of them."""
    names = [f"{name} with {word}" if word else name for name, _, word in (m.partition("#") for m in markers[:most])]
    if len(markers) > most:
        names.append("the like")
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
