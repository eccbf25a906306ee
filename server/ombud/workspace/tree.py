"""What lies below the watched folders: names and stamps, so that a hint that something moved becomes exact events.

Systems report the creation of a folder and not what was put into it meanwhile, a replaced file as a new one, and
nothing at all where their queue ran over. What was there before decides here.

Left out are version control's own folders, dependencies and caches (`NEVER`, marked folders) and whole folders that
``.gitignore`` names. Single files that it names are kept: generated sources and ``compile_commands.json`` are of use
to servers. ``extra`` folders are looked at although they lie in one that is left out: a server has asked for them by
name (a virtual environment's ``site-packages``). Links to folders are not followed.
"""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ombud.errors import OmbudError
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.workspace.events import CHANGED, CREATED, DELETED
from ombud.workspace.ignores import NAME, Layers

NEVER = frozenset(
    {".git", ".hg", ".jj", ".svn", "node_modules", "bower_components", "__pycache__", ".mypy_cache", ".hypothesis"}
)
"""Names of folders that hold nothing of the project's own and a great many files."""
MOST_FILES = 100_000
MOST_FOLDERS = 20_000
MANY = 4096
"""Hints at once from which on everything is looked at: the system's queue may have run over."""
_MARKS = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
_DEEPEST = 64
_HIGHEST = 2
"""How many folders that are not there yet may lie above a single file: ``~/.config/ombud``, say."""
_IGNORES_LIMIT = 1_048_576
_OURS = ".ombud-"
"""How the names of a commit's temporaries begin (`ombud.workspace.change`)."""

Hint = tuple[int, str]
"""A kind of change and an absolute path, as the system reports them."""


@dataclass(frozen=True, slots=True)
class Event:
    """``path`` is absolute and real but for its last component. ``kind`` is LSP's ``FileChangeType``."""

    path: str
    kind: int


@dataclass(frozen=True, slots=True)
class _Step:
    """A folder to be looked at. ``passing``: it is left out and only leads to one of the ``extra`` folders."""

    path: str
    top: str
    layers: Layers
    depth: int
    passing: bool = False


class Tree:
    """See the module. ``tops`` are real folders; ``files`` are single files elsewhere, or in a folder that is left
    out, that are looked at as well, also where the folder that they belong into is not there yet.

    ``folders``: path → name → stamp, of every folder that is looked at. ``note`` says where a limit cut something off.
    """

    def __init__(self, tops: Sequence[Path], *, extra: Iterable[Path] = (), files: Iterable[Path] = ()) -> None:
        self._fence = Fence([top for top in tops if top.is_dir()], SensitivePaths())
        self._tops = [str(top) for top in self._fence.folders]
        self._extra = tuple(sorted({str(one) for one in extra}))
        self._outside = tuple(files)
        self._single: dict[str, set[str]] = {}
        self._steps: dict[str, _Step] = {}
        self.folders: dict[str, dict[str, int]] = {}
        self.note: str | None = None
        self._files = 0

    def look(self) -> list[Event]:
        """Look at everything: what differs from the last look. The first look tells nothing."""
        before, self.folders, self._steps, self.note, self._files = self.folders, {}, {}, None, 0
        self._single = self._singles()
        for folder in self._single:
            self.folders[folder] = self._stamps(folder)
        for top in self._tops:
            self._walk(_Step(top, top, Layers(), 0))
        return list(self._differences(before, self.folders)) if before else []

    def take(self, hints: Iterable[Hint]) -> tuple[list[Event], list[str]]:
        """Exact events from hints, each path once, and the folders that are new."""
        hints = [hint for hint in set(hints) if not os.path.basename(hint[1]).startswith(_OURS)]  # noqa: PTH119
        found: dict[str, int] = {}
        fresh: dict[str, None] = {}
        if len(hints) >= MANY or any(path.endswith("/" + NAME) for _, path in hints):
            before = set(self.folders)
            found = {event.path: event.kind for event in self.look()}
            fresh = dict.fromkeys(path for path in self.folders if path not in before)
        # Folders come before what is below them, which is then known.
        for kind, path in sorted(hints, key=lambda hint: hint[1]):
            self._take(kind, path, found, fresh)
        if self._outside:
            self._move_singles(found, fresh)
        return [Event(path, kind) for path, kind in found.items()], list(fresh)

    def again(self, folders: Iterable[str]) -> list[Event]:
        """Look once more at folders and what is below them: what came while nobody watched them yet."""
        found: dict[str, int] = {}
        for folder in folders:
            if folder in self._single and folder not in self._steps:
                self._look_single(folder, found)
            else:
                self._look_below(folder, found, {})
        return [Event(path, kind) for path, kind in found.items()]

    # -- single files elsewhere -------------------------------------------------------------------------------

    def _singles(self) -> dict[str, set[str]]:
        """Folder → the names that count in it: those of the single files, or of the folder that leads to one and is
        not there yet."""
        found: dict[str, set[str]] = {}
        for file in self._outside:
            for path in (file, *file.parents[:_HIGHEST]):
                if os.path.isdir(path.parent):  # noqa: PTH112  (`Path.is_dir` raises where a folder may not be entered)
                    if os.access(path.parent, os.R_OK):
                        found.setdefault(str(path.parent), set()).add(path.name)
                    break
        return found

    def _move_singles(self, found: dict[str, int], fresh: dict[str, None]) -> None:
        """Look for the single files in the folders that there are now."""
        before, self._single = self._single, self._singles()
        for folder in before.keys() - self._single.keys() - self._steps.keys():
            self.folders.pop(folder, None)
        for folder in self._single.keys() - self.folders.keys():
            fresh[folder] = None
            self._look_single(folder, found)

    def _look_single(self, folder: str, found: dict[str, int]) -> None:
        before = {folder: self.folders.get(folder, {})}
        self.folders[folder] = self._stamps(folder)
        after = {folder: self.folders[folder]}
        found |= {event.path: event.kind for event in self._differences(before, after)}

    def _stamps(self, folder: str) -> dict[str, int]:
        return {name: stamp for name in self._single[folder] if (stamp := _stamp(f"{folder}/{name}"))}

    # -- one hint ---------------------------------------------------------------------------------------------

    def _take(self, kind: int, path: str, found: dict[str, int], fresh: dict[str, None]) -> None:
        folder, name = os.path.split(path)
        known = self.folders.get(folder)
        single = self._single.get(folder)
        if path in fresh or (single is not None and name not in single and folder not in self._steps):
            return
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            self._gone(path, found)
            return
        if stat.S_ISDIR(status.st_mode):
            # Only its coming and going count, also where it came back under the same name in between.
            if (known is not None or path in self._tops) and (kind != CHANGED or path not in self.folders):
                self._look_below(path, found, fresh)
        elif known is not None and path not in found and not self._passes(folder):
            found[path] = CHANGED if name in known else CREATED
            known[name] = _stamp(path) or 1

    def _gone(self, path: str, found: dict[str, int]) -> None:
        folder, name = os.path.split(path)
        if self.folders.get(folder, {}).pop(name, None) is not None:
            found[path] = DELETED
        for below in self._below(path):
            lost = self.folders.pop(below)
            found |= dict.fromkeys((f"{below}/{one}" for one in lost), DELETED)
            self._files -= len(lost)
            self._steps.pop(below, None)

    def _passes(self, folder: str) -> bool:
        step = self._steps.get(folder)
        return step is not None and step.passing

    def _below(self, path: str) -> list[str]:
        """The known folders at ``path`` and below it."""
        return [one for one in self.folders if one == path or one.startswith(path + "/")]

    def _look_below(self, path: str, found: dict[str, int], fresh: dict[str, None]) -> None:
        step = self._steps.get(path) or self._step_at(path)
        if step is None:
            return
        before = {one: self.folders.pop(one) for one in self._below(path)}
        self._files -= sum(map(len, before.values()))
        self._walk(step)
        after = {one: self.folders[one] for one in self._below(path)}
        fresh |= dict.fromkeys(after)
        found |= {event.path: event.kind for event in self._differences(before, after)}

    def _step_at(self, path: str) -> _Step | None:
        """How a folder that is new is to be looked at; None where it is left out."""
        folder, name = os.path.split(path)
        above = self._steps.get(folder)
        return next((step for step in self._steps_below(above, [name])), None) if above is not None else None

    def _differences(self, before: dict[str, dict[str, int]], after: dict[str, dict[str, int]]) -> Iterator[Event]:
        for folder, names in after.items():
            known = before.get(folder, {})
            for name, stamp in names.items():
                if known.get(name) != stamp:
                    yield Event(f"{folder}/{name}", CHANGED if name in known else CREATED)
        for folder, names in before.items():
            left = after.get(folder, {})
            for name in names:
                # What is there and not looked at any more was not deleted: somebody has changed what is left out.
                if name not in left and not os.path.lexists(f"{folder}/{name}"):
                    yield Event(f"{folder}/{name}", DELETED)

    # -- looking ----------------------------------------------------------------------------------------------

    def _walk(self, start: _Step) -> None:
        """Breadth first, so that a limit cuts off the depths and not whole neighbours."""
        queue = deque([start])
        while queue:
            step = queue.popleft()
            if len(self.folders) >= MOST_FOLDERS or self._files >= MOST_FILES:
                self.note = (
                    f"Not every folder is watched: there are more than {MOST_FOLDERS:,} folders or {MOST_FILES:,} "
                    "files. Changes below the others are noticed when a file is opened."
                )
                return
            listed = _listing(step.path)
            if listed is None:
                continue
            files, below = listed
            if step.depth and _MARKS & files.keys() and step.path not in self._extra and not step.passing:
                if not self._leads(step.path):
                    continue
                step = _Step(step.path, step.top, step.layers, step.depth, passing=True)
            layers = step.layers
            if NAME in files and not step.passing:
                relative = PurePosixPath(step.path).relative_to(step.top)
                layers = layers.below(relative, self._ignores(step.path))
                step = _Step(step.path, step.top, layers, step.depth)
            self._steps[step.path] = step
            self.folders[step.path] = {} if step.passing else files
            self._files += 0 if step.passing else len(files)
            if step.depth < _DEEPEST:
                queue.extend(self._steps_below(step, below))

    def _steps_below(self, step: _Step, names: Iterable[str]) -> Iterator[_Step]:
        relative = PurePosixPath(step.path).relative_to(step.top)
        for name in names:
            path = f"{step.path}/{name}" if step.path != "/" else f"/{name}"
            if path in self._extra:
                # It was asked for by name; what ignore files above it say is no longer of interest.
                yield _Step(path, path, Layers(), 0)
            elif step.passing or name in NEVER or step.layers.ignored(relative / name, is_folder=True):
                if self._leads(path):
                    yield _Step(path, step.top, step.layers, step.depth + 1, passing=True)
            else:
                yield _Step(path, step.top, step.layers, step.depth + 1)

    def _leads(self, path: str) -> bool:
        return any(one.startswith(path + "/") for one in self._extra)

    def _ignores(self, folder: str) -> str | None:
        try:
            inside = self._fence.resolve(f"{folder}/{NAME}", intent="read")
            return self._fence.read(inside, _IGNORES_LIMIT).data.decode("utf-8", "replace")
        except OmbudError:
            return None


def _listing(folder: str) -> tuple[dict[str, int], list[str]] | None:
    """Files of a folder with their stamps, links to files included, and folders; None where it cannot be listed."""
    files: dict[str, int] = {}
    folders: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                elif not entry.name.startswith(_OURS) and (stamp := _stamp(entry.path)):
                    files[entry.name] = stamp
    except OSError:
        return None
    return files, sorted(folders)


def _stamp(path: str) -> int:
    """What tells one state of a file from another; 0 where there is none, or something else than a file or a link."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return 0
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
        return 0
    return hash((status.st_mtime_ns, status.st_size, status.st_ino)) or 1
