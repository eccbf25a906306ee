"""Which files of a root are indexed, and what has changed since the last look at them.

Left out are what ``.gitignore`` names (that of the repository around the root counts as well), links, folders of tools
and of other people's code, and names that are protected. What is left out for a reason worth telling is counted.

`Census.look` is the look before a query. Where the system tells what has happened (`ombud.graph.watch`) it looks
at that alone. Elsewhere, and every few seconds, it sweeps: it asks for the stamp of each file and folder and nothing
more; a folder that has changed is listed again. A stamp so young that another change could hide behind it is not
believed.
"""

from __future__ import annotations

import os
import stat
import time
from collections import Counter, deque
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ombud.graph import sources
from ombud.graph.glance import (
    CONFIGURATION,
    NONE,
    Stamp,
    first_line,
    is_bare,
    language_at,
    stamp_of,
)
from ombud.guard.sensitive import SensitivePaths
from ombud.syntax.languages import load_languages
from ombud.workspace.ignores import NAME as IGNORES
from ombud.workspace.ignores import Layers
from ombud.workspace.listing import is_utf8, text_of
from ombud.workspace.tree import NEVER

if TYPE_CHECKING:
    from ombud.graph.watch import Watch

MOST_FILES = 300_000
MOST_FOLDERS = 150_000
SWEEP_SECONDS = 5.0
"""How long what a watch tells is believed without a sweep: it does not tell everything."""
_DEEPEST = 64
_COUNTED = 20_000
"""Files of other people's code that are counted, at most, of one folder."""

_VENDORED = frozenset({"node_modules", "bower_components", "site-packages", "dist-packages", "third_party"})
_VENDORED |= {"third-party", ".yarn", ".pnpm-store", "Pods", "Carthage"}
_TOOLS = (NEVER - _VENDORED) | {
    *(".tox", ".nox", ".pytest_cache", ".ruff_cache", ".eggs", ".gradle", ".terraform", ".next", ".nuxt", ".idea"),
    *(".svelte-kit", ".parcel-cache", ".turbo", ".cache", ".bundle", ".ombud"),
}
_MARKS = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
_VENDORING = frozenset({"go.mod", "composer.json", "Gemfile"})
"""Files beside which a folder ``vendor`` holds other people's code."""
_RULES = _MARKS | _VENDORING | {IGNORES}
"""Files that say what is left out: when one comes, goes or changes, everything is looked at again."""


class Protected:
    """The names that nobody reads, with the user's ``add`` and ``allow`` (`SensitivePaths`)."""

    def __init__(self, add: Sequence[str] = (), allow: Sequence[str] = ()) -> None:
        self._paths = SensitivePaths(add, allow)
        # The contract's own names are those of a folder or a file, wherever it is: each is asked about once.
        self._by_name = not add and not allow
        self._names: dict[str, bool] = {}

    def hides(self, root: Path, path: str) -> bool:
        if not self._by_name:
            return self._paths.reason(root / path, root) is not None
        folder, _, name = path.rpartition("/")
        above = any(self._hides_name(f"{one}/x") for one in folder.split("/"))
        return above or self._hides_name(name) or self._hides_name(f"{root}/x")

    def _hides_name(self, name: str) -> bool:
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self._paths.reason(PurePosixPath(name)) is not None
        return found


@dataclass(slots=True)
class _Folder:
    """``path`` is relative to the root, ``""`` for the root itself; ``layers`` are those of the folder above."""

    path: str
    layers: Layers
    depth: int
    inside: Layers = field(default_factory=Layers)
    """``layers``, and what the folder's own file says."""
    stamp: int = 0
    young: bool = False
    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    """Paths of what is looked at in it."""
    rules: frozenset[str] = frozenset()
    skipped: Counter[str] = field(default_factory=Counter)


class Census:
    """``languages`` are those that are indexed. Paths are relative to ``root``, which is real, ``/`` between names.

    ``languages_of`` has a row for each file that is indexed; `CONFIGURATION` for one that is kept as text.
    ``note`` is a sentence where a limit cut something off, else empty. ``watch`` is that of ``root``, if there is one.
    """

    def __init__(
        self, root: Path, protected: Protected, languages: Collection[str], watch: Watch | None = None
    ) -> None:
        self._root = root
        self._prefix = str(root).rstrip("/") + "/"
        self._protected = protected
        self._languages = frozenset(languages)
        self._folders: dict[str, _Folder] = {}
        self._stamps: dict[str, Stamp] = {}
        self._young: set[str] = set()
        self._changed: set[str] = set()
        self._linked: set[str] = set()
        """Files with several names: a watch does not tell what is done under another one."""
        self._watch = watch
        self._swept = 0.0
        self.languages_of: dict[str, str] = {}
        self.note = ""
        self._inner = PurePosixPath()
        """Where the root lies in the repository whose ``.gitignore`` files count."""

    def stamp(self, path: str) -> Stamp:
        """What was last seen of a file; zeros of one that was not."""
        return self._stamps.get(path, NONE)

    def settle(self, path: str, size: int, mtime_ns: int) -> None:
        """The file was read so long after it had this stamp that a change would show."""
        if self.stamp(path)[:2] == (mtime_ns, size):
            self._young.discard(path)

    def is_young(self, path: str) -> bool:
        """Whether a file may have changed again and still have the stamp that was seen."""
        return path in self._young

    def language(self, path: str) -> str | None:
        """The language of a file that is indexed, or would be if it were there; None of one that is left out."""
        found = self.languages_of.get(path)
        folder, _, name = path.rpartition("/")
        if found is not None or path in self._stamps or folder not in self._folders:
            return found
        found = language_at(path, name)
        if found not in self._languages or sources.is_minified(name) or self._protected.hides(self._root, path):
            return None
        return None if self._is_ignored(self._folders[folder].inside, path, is_folder=False) else found

    def skipped(self) -> Counter[str]:
        """Files that were left out by their names: reason → how many."""
        return sum((folder.skipped for folder in self._folders.values()), Counter())

    # -- looking ----------------------------------------------------------------------------------------------

    def walk(self) -> set[str]:
        """Look at everything. Returns the files that came, went or changed, or may have done so unseen."""
        self._doubt_young()
        self._swept = time.monotonic()
        former = set(self._stamps)
        self._folders, self.note = {}, ""
        self._enter(_Folder("", self._around(), 0))
        for path in former.difference(*(folder.files for folder in self._folders.values())):
            self._forget(path)
        if self._watch is not None:
            self._watch.keep(self._folders.keys())
        return self._news()

    def look(self) -> set[str]:
        """As `walk`, but only of what a watch tells of, or else by stamps: only changed folders are listed again."""
        if "" not in self._folders:
            return self.walk()
        stale = self._heard()
        if stale is None or time.monotonic() - self._swept > SWEEP_SECONDS:
            stale = [*(stale or ()), *self._sweep()]
        return self._with(stale)

    def _heard(self) -> list[_Folder] | None:
        """Take note of what the watch tells of files; the folders to list again. None where it cannot tell all."""
        news = self._watch.take() if self._watch is not None else None
        if news is None:
            return None
        stale: dict[str, _Folder] = {}
        for path, inside in news:
            above = path.rpartition("/")[0]
            folder = self._folders.get(above)
            if path in self._folders:
                stale[path] = self._folders[path]
            elif path in self._stamps and self._is_file(path):
                self._set(path, self._stamp_now(path), sure=False)
                continue
            elif inside and path not in self._stamps:
                continue
            if folder is not None and (path in self._stamps or folder.skipped or self._is_of_note(path)):
                stale[above] = folder
        for path in list(self._linked):
            self._set(path, self._stamp_now(path))
        return list(stale.values())

    def _is_file(self, path: str) -> bool:
        try:
            return stat.S_ISREG(os.lstat(self._prefix + path).st_mode)
        except OSError:
            return False

    def _is_of_note(self, path: str) -> bool:
        """Whether a name that came or went asks for a look at its folder: not one that has come and gone meanwhile."""
        return path in self._folders or path.rpartition("/")[2] in _RULES or os.path.lexists(self._prefix + path)

    def _sweep(self) -> list[_Folder]:
        """Take note of the files that have another stamp; the folders that have."""
        self._doubt_young()
        self._swept = time.monotonic()
        self._stat_files()
        prefix, lstat = self._prefix, os.lstat
        stale = []
        for path, folder in self._folders.items():
            try:
                if folder.young or lstat(prefix + path).st_mtime_ns != folder.stamp:
                    stale.append(folder)
            except OSError:
                stale.append(folder)
        return stale

    def told(self, paths: Iterable[str]) -> set[str]:
        """As `look`, of single files or folders that somebody says have changed."""
        if "" not in self._folders:
            return self.walk()
        stale: dict[str, _Folder] = {}
        for path in paths:
            if path in self._stamps:
                self._set(path, self._stamp_now(path), sure=False)
                if self._is_file(path):
                    continue
            near = path
            while near and near not in self._folders:
                near = near.rpartition("/")[0]
            stale[near] = self._folders[near]
        return self._with(stale.values())

    def _doubt_young(self) -> None:
        self._changed |= self._young
        self._young = set()

    def _news(self) -> set[str]:
        changed, self._changed = self._changed, set()
        return changed

    def _with(self, stale: Iterable[_Folder]) -> set[str]:
        """What has changed, once these folders are listed again. All are where one says what is left out."""
        if any(path.rpartition("/")[2] == IGNORES for path in self._changed):
            return self.walk()
        for folder in stale:
            if self._folders.get(folder.path) is folder and not self._list_again(folder):
                return self.walk()
        return self._news()

    def _list_again(self, former: _Folder) -> bool:
        """Whether what the folder says of others is as before."""
        folder = _Folder(former.path, former.layers, former.depth)
        below = self._list(folder)
        if folder.rules != former.rules:
            return False
        self._folders[folder.path] = folder
        for gone in former.files - folder.files:
            self._forget(gone)
        for gone in former.folders - folder.folders:
            self._drop(gone)
        for one in below:
            if one.path not in self._folders:
                self._enter(one)
        return True

    def _drop(self, path: str) -> None:
        folder = self._folders.pop(path, None)
        if self._watch is not None:
            self._watch.drop(path)
        if folder is not None:
            for file in folder.files:
                self._forget(file)
            for below in folder.folders:
                self._drop(below)

    # -- stamps -----------------------------------------------------------------------------------------------

    def _stat_files(self) -> None:
        """The loop that a sweep's cost is made of."""
        prefix, lstat = self._prefix, os.lstat
        found = []
        for path, (mtime, size, ctime) in self._stamps.items():
            try:
                now = lstat(prefix + path)
            except OSError:
                found.append(path)
            else:
                if now.st_mtime_ns != mtime or now.st_ctime_ns != ctime or now.st_size != size:
                    found.append(path)
        for path in found:
            self._set(path, self._stamp_now(path))

    def _stamp_now(self, path: str) -> Stamp:
        try:
            now = os.lstat(self._prefix + path)
        except (OSError, ValueError):
            return NONE
        if now.st_nlink > 1:
            self._linked.add(path)
        else:
            self._linked.discard(path)
        return now.st_mtime_ns, now.st_size, now.st_ctime_ns

    def _set(self, path: str, stamp: Stamp, *, sure: bool = True) -> None:
        """``sure`` is false for a file of which somebody says that it has changed."""
        if stamp == NONE:
            self._forget(path)
            return
        if self._stamps.get(path) != stamp or not sure:
            self._changed.add(path)
            self._stamps[path] = stamp
            self._tell_language(path)
        if time.time_ns() - max(stamp[0], stamp[2]) < sources.YOUNG_NS:
            self._young.add(path)

    def _forget(self, path: str) -> None:
        if self._stamps.pop(path, None) is not None:
            self._changed.add(path)
        self.languages_of.pop(path, None)
        self._young.discard(path)
        self._linked.discard(path)

    def _tell_language(self, path: str) -> None:
        name = path.rpartition("/")[2]
        found = language_at(path, name)
        if found is None and is_bare(name):
            # Only its first line can tell.
            found = load_languages().of_first_line(first_line(self._prefix + path))
        if found in self._languages or found == CONFIGURATION:
            self.languages_of[path] = found
        else:
            self.languages_of.pop(path, None)

    # -- folders ----------------------------------------------------------------------------------------------

    def _enter(self, top: _Folder) -> None:
        """List a folder and all below it, breadth first, so that a limit cuts off depths and not neighbours."""
        queue = deque([top])
        while queue:
            if len(self._folders) >= MOST_FOLDERS or len(self._stamps) >= MOST_FILES:
                self.note = "There are more files than are indexed; open folders below this one."
                return
            folder = queue.popleft()
            self._folders[folder.path] = folder
            queue.extend(self._list(folder))

    def _list(self, folder: _Folder) -> list[_Folder]:
        """Fill in what is in a folder, and set the stamps of its files. Returns the folders in it."""
        whole = self._prefix + folder.path
        if self._watch is not None:
            self._watch.add(folder.path)
        folder.stamp = stamp_of(whole)[0]
        folder.young = time.time_ns() - folder.stamp < sources.YOUNG_NS
        try:
            with os.scandir(whole) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            return []
        names = {entry.name for entry in entries}
        folder.rules = frozenset(names & _RULES)
        if folder.path and names & _MARKS:
            return []
        layers = folder.layers
        if IGNORES in names:
            layers = layers.below(self._inner / folder.path, text_of(whole + "/" + IGNORES))
        folder.inside = layers
        step = f"{folder.path}/" if folder.path else ""
        files, below = set(), []
        for entry in entries:
            path = step + entry.name
            if entry.is_dir(follow_symlinks=False):
                if self._is_entered(entry, path, names, layers, folder):
                    below.append(_Folder(path, layers, folder.depth + 1))
            elif self._is_taken(entry, path, layers, folder):
                files.add(path)
                self._set(path, self._stamp_now(path))
        folder.files, folder.folders = frozenset(files), frozenset(one.path for one in below)
        return below

    def _is_taken(self, entry: os.DirEntry[str], path: str, layers: Layers, folder: _Folder) -> bool:
        """Whether a file is looked at. One of our languages that is not has its reason counted."""
        name = entry.name
        if name == IGNORES:
            return entry.is_file(follow_symlinks=False)
        language = language_at(path, name)
        bare = language is None and is_bare(name)
        if language not in self._languages and language != CONFIGURATION and not bare:
            return False
        if entry.is_symlink() or self._is_ignored(layers, path, is_folder=False):
            return False
        if not entry.is_file(follow_symlinks=False):
            reason = sources.UNTYPICAL
        elif not is_utf8(path):
            reason = sources.UNNAMEABLE
        elif sources.is_minified(name):
            reason = sources.MINIFIED
        elif self._protected.hides(self._root, path):
            reason = sources.SENSITIVE
        else:
            return True
        if not bare:
            folder.skipped[reason] += 1
        return False

    def _is_entered(
        self, entry: os.DirEntry[str], path: str, beside: Set[str], layers: Layers, folder: _Folder
    ) -> bool:
        name = entry.name
        if name in _TOOLS or folder.depth >= _DEEPEST or self._is_ignored(layers, path, is_folder=True):
            return False
        if name in _VENDORED or (name == "vendor" and beside & _VENDORING):
            folder.skipped[sources.VENDORED] += self._count(entry.path)
            return False
        return True

    def _count(self, top: str) -> int:
        """Files of our languages below a folder, up to a limit."""
        found = looked = 0
        for _, folders, names in os.walk(top):
            folders[:] = [name for name in folders if name not in _TOOLS]
            found += sum(language_at(name, name) in self._languages for name in names)
            looked += len(names)
            if looked > _COUNTED:
                break
        return found

    # -- what .gitignore says -----------------------------------------------------------------------------------

    def _around(self) -> Layers:
        """What the repository around the root leaves out of it, where the root is not its top."""
        top = next((one for one in (self._root, *self._root.parents) if os.path.lexists(one / ".git")), self._root)
        inner = PurePosixPath(self._root.relative_to(top).as_posix())
        layers = Layers().below(PurePosixPath(), text_of(f"{top}/.git/info/exclude"))
        ignored = False
        for parent in reversed(inner.parents):
            layers = layers.below(parent, text_of(f"{top}/{parent}/{IGNORES}"))
            step = inner.parts[len(parent.parts)]
            ignored = ignored or layers.ignored(parent / step, is_folder=True)
        # A root that lies in what is left out was asked for all the same.
        self._inner = PurePosixPath() if ignored else inner
        return Layers() if ignored else layers

    def _is_ignored(self, layers: Layers, path: str, *, is_folder: bool) -> bool:
        return bool(layers) and layers.ignored(self._inner / path, is_folder)
