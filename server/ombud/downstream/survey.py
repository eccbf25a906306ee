"""What is in a checkout: its languages by a bounded walk, and every server that claims one of them (status, doctor).

The walk goes breadth first, so that a limit cuts off the depths and not whole neighbours, and leaves out what tools
generate. It reads names, and the first line of few files whose name says nothing.
"""

from __future__ import annotations

import os
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.downstream.roots import NO_MARKER, listed
from ombud.syntax.languages import language_of

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected, Detector

SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".jj",
        ".svn",
        "node_modules",
        "bower_components",
        ".venv",
        "venv",
        "site-packages",
        "__pycache__",
        ".tox",
        ".nox",
        ".eggs",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        "target",
        "dist",
        "build",
        "out",
        "vendor",
        "_build",
        ".gradle",
        ".idea",
        ".terraform",
        ".next",
        ".nuxt",
        ".svelte-kit",
        ".output",
        ".turbo",
        ".yarn",
        ".cache",
        ".direnv",
        ".dart_tool",
        ".stack-work",
        "dist-newstyle",
        "elm-stuff",
        "Pods",
        "DerivedData",
        "zig-cache",
        ".zig-cache",
        "zig-out",
        "coverage",
    }
)
"""Folders that hold no sources of the project's own."""
_MOST_NAMES = 100_000
"""Names of one folder that are looked at."""
_MARKS_OF_SKIPPED = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
_RANK = {"available": 0, "not_trusted": 1, "disabled": 2, "missing_binary": 3, "missing_marker": 4}


@dataclass(frozen=True, slots=True)
class SurveyLimits:
    """Where a survey stops: numbers of files, folders and first lines read, levels of folders, and seconds."""

    files: int = 20_000
    folders: int = 5_000
    depth: int = 24
    peeks: int = 200
    seconds: float = 3.0


@dataclass(frozen=True, slots=True)
class Survey:
    """``detected``: by priority, then root; a server once for each root it is available in, else once.

    ``languages``: language id → number of files seen, most first. ``files``: how many files were looked at.
    ``note`` is None for a complete survey, else the sentence that says where it stopped.
    """

    detected: tuple[Detected, ...]
    languages: Mapping[str, int]
    files: int
    note: str | None

    @property
    def complete(self) -> bool:
        return self.note is None


def survey(detector: Detector, limits: SurveyLimits | None = None) -> Survey:
    """Walk the workspace folders of ``detector`` and detect for every kind of file found in every folder."""
    walk = _Walk(detector, limits or SurveyLimits())
    counts: Counter[str] = Counter()
    seen: set[tuple[Path, str | None, str]] = set()
    best: dict[str, list[Detected]] = {}
    languages: dict[str, set[str]] = {}
    for directory, folder, name, language in walk.files():
        if language is not None:
            counts[language] += 1
        kind = (directory, language, Path(name).suffix)
        if kind in seen:
            continue
        seen.add(kind)
        for one in detector.in_folder(directory, folder, name, language):
            languages.setdefault(one.entry.name, set()).add(language or name)
            _keep(best.setdefault(one.entry.name, []), one)
    found = [_of_survey(one, languages[name]) for name, ones in best.items() for one in ones]
    found.sort(key=lambda one: (one.entry.priority, one.entry.name, one.root))
    return Survey(tuple(found), dict(counts.most_common()), walk.seen, walk.note)


def _keep(ones: list[Detected], one: Detected) -> None:
    """Keep the best state of a server: every root where it is available, else one witness of the best absence."""
    rank = _RANK[one.state]
    held = _RANK[ones[0].state] if ones else len(_RANK)
    if rank < held:
        ones[:] = [one]
    elif rank == held == 0 and all(other.root != one.root for other in ones):
        ones.append(one)


def _of_survey(one: Detected, languages: set[str]) -> Detected:
    """The absence of a marker, said of the whole checkout: it was looked for above every file."""
    if one.state != "missing_marker" or not one.reason.startswith(NO_MARKER):
        return one
    files = ", ".join(sorted(languages)[:3])
    return replace(one, reason=f"{NO_MARKER} {listed(one.entry.markers)} above any {files} file.")


class _Walk:
    """The files of the workspace folders, each once, until a limit is reached."""

    def __init__(self, detector: Detector, limits: SurveyLimits) -> None:
        self._detector = detector
        self._limits = limits
        self._peeks = limits.peeks
        self._folders_seen = 0
        self._until = time.monotonic() + limits.seconds
        self.seen = 0
        self.note: str | None = None

    def files(self) -> Iterator[tuple[Path, Path, str, str | None]]:
        """(directory, workspace folder, name, language or None)."""
        queue = deque((folder, folder, 0) for folder in self._detector.folders)
        visited: set[Path] = set()
        while queue and self.note is None:
            directory, folder, depth = queue.popleft()
            if directory in visited:
                continue
            visited.add(directory)
            # A workspace folder inside another one is walked as its own.
            folder = self._detector.roots.folder_of(directory) or folder
            self._folders_seen += 1
            names, below = _listing(directory)
            if depth and _MARKS_OF_SKIPPED & set(names):
                continue
            if depth < self._limits.depth:
                queue.extend((directory / name, folder, depth + 1) for name in below if name not in SKIPPED)
            for name in names:
                if self._stopped():
                    break
                self.seen += 1
                yield directory, folder, name, self._language(directory, name)

    def _stopped(self) -> bool:
        limits = self._limits
        if self.seen >= limits.files:
            self.note = f"The survey stopped after {self.seen} files; what lies deeper was not looked at."
        elif self._folders_seen > limits.folders:
            self.note = f"The survey stopped after {limits.folders} folders; what lies deeper was not looked at."
        elif time.monotonic() > self._until:
            self.note = (
                f"The survey stopped after {limits.seconds:g} s and {self.seen} files; the rest was not looked at."
            )
        return self.note is not None

    def _language(self, directory: Path, name: str) -> str | None:
        path = directory / name
        language = language_of(path)
        if language is None and "." not in name and self._peeks > 0:
            from ombud.downstream.detect import first_line

            self._peeks -= 1
            line = first_line(path)
            language = language_of(path, line) if line else None
        return language


def _listing(directory: Path) -> tuple[list[str], list[str]]:
    """Names of ordinary files and of folders, sorted; links are not followed, what cannot be listed is empty."""
    files: list[str] = []
    folders: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for entry in islice(entries, _MOST_NAMES):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif entry.is_file():
                    files.append(entry.name)
    except OSError:
        pass
    return sorted(files), sorted(folders)
