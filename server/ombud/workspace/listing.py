"""The source files below a folder, listed again and again at the cost of a look at what has changed.

`Listing.walk` goes through a folder in the order of its names, folders and files alike, so that a part of it is the
same part every time. What ``.gitignore`` names is passed over in silence (that of the repository around the root
counts as well), as are links and folders of tools. Other people's code, squeezed files and protected names are told,
each with its reason. A folder is listed anew when its stamp is another one, or so young that a change could hide in it.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ombud.errors import OmbudError
from ombud.guard.handles import open_file, read_all
from ombud.guard.sensitive import SensitivePaths
from ombud.workspace.ignores import NAME as IGNORES
from ombud.workspace.ignores import Layers
from ombud.workspace.tree import NEVER

MOST_FILES = 300_000
MOST_FOLDERS = 150_000
YOUNG_NS = 2_000_000_000
"""Coarse file systems stamp two seconds alike."""
VENDORED = frozenset({"node_modules", "bower_components", "site-packages", "dist-packages", "third_party"})
VENDORED |= {"third-party", ".yarn", ".pnpm-store", "Pods", "Carthage"}
"""Folders of other people's code."""
TOOLS = (NEVER - VENDORED) | {
    *(".tox", ".nox", ".pytest_cache", ".ruff_cache", ".eggs", ".gradle", ".terraform", ".next", ".nuxt", ".idea"),
    *(".svelte-kit", ".parcel-cache", ".turbo", ".cache", ".bundle", ".ombud"),
}
MARKS = frozenset({"pyvenv.cfg", "CACHEDIR.TAG"})
"""Files that mark a folder as made by a tool: a virtual environment, a cache."""
VENDORING = frozenset({"go.mod", "composer.json", "Gemfile"})
"""Files beside which a folder ``vendor`` holds other people's code."""

IS_VENDORED = "vendored"
IS_MINIFIED = "minified"
IS_SENSITIVE = "sensitive"
IS_UNTYPICAL = "not an ordinary file"
IS_UNNAMEABLE = "its name is not UTF-8"
IS_DEEP = "too deep"

_DEEPEST = 64
_WALKS = 8
_TEXT_LIMIT = 1_048_576

Stamp = tuple[int, int, int, int]
"""Time of the last change in nanoseconds, size, the time that no program can set back, and the file's number."""
NONE: Stamp = (0, -1, 0, 0)
LanguageOf = Callable[[str, str], str | None]
"""The language of a file's name and its folder's name; ``""`` where only its first line can tell, None for none."""


class Entry(NamedTuple):
    """A file, or a folder that is left out. ``reason`` says why it is not to be read, else it is empty."""

    path: str
    language: str
    reason: str


@dataclass(slots=True)
class _Folder:
    """``path`` is relative to the root, ``""`` for the root itself; ``layers`` are those of the folder above."""

    path: str
    layers: Layers
    depth: int
    whole: str
    """Its absolute path."""
    inside: Layers = field(default_factory=Layers)
    """``layers``, and what the folder's own file says."""
    stamp: Stamp = NONE
    ignores: Stamp | None = None
    """Of its ``.gitignore``, if it has one; ``rules`` is what that says."""
    rules: str | None = None
    young: bool = True
    entries: list[_Folder | Entry] = field(default_factory=list)


class Listing:
    """``root`` is real. ``add`` and ``allow`` are the user's own patterns of protected names (`SensitivePaths`).
    ``owns`` says of a file that is to be read whether it is one of those that are told.

    ``note`` is a sentence where a limit cut something off in the last walk, else empty.
    """

    def __init__(
        self,
        root: str,
        language_of: LanguageOf,
        add: Sequence[str] = (),
        allow: Sequence[str] = (),
        owns: Callable[[str], bool] = lambda _path: True,
    ) -> None:
        self.root = root
        self.prefix = root.rstrip("/") + "/"
        self._language_of = language_of
        self._owns = owns
        self._protected = _Protected(root, add, allow)
        self._above: tuple[str | None, ...] = ()
        self._inner = PurePosixPath()
        """Where the root lies in the repository whose ``.gitignore`` files count."""
        self._top = _Folder("", Layers(), 0, root)
        self._others: dict[str, _Folder] = {}
        """Folders that are left out and were asked for by name."""
        self._whole: OrderedDict[str, tuple[list[_Folder], list[Entry]]] = OrderedDict()
        """By start: the folders and the entries of a walk that came to its end."""
        self.note = ""

    def walk(self, start: str = "", *, look: bool = True) -> Iterator[Entry]:
        """What lies below ``start``, a folder relative to the root, whatever its name. Looks as it goes.

        Without ``look`` what was seen by the last walk is believed.
        """
        self.note = ""
        if look:
            self._look_above()
        known = self._whole.pop(start, None)
        if known is not None and (not look or self._is_current(known[0])):
            self._whole[start] = known
            yield from known[1]
            return
        top = self._find(start)
        files: list[Entry] = []
        folders = [top]
        stack = [iter(self._entries(top))]
        while stack:
            entry = next(stack[-1], None)
            if entry is None:
                stack.pop()
            elif isinstance(entry, _Folder):
                folders.append(entry)
                stack.append(iter(self._entries(entry)))
            else:
                files.append(entry)
                yield entry
            if len(files) > MOST_FILES or len(folders) > MOST_FOLDERS:
                self.note = "There are more files than are looked at in one go; name a folder below this one."
                return
        self._whole[start] = folders, files
        if len(self._whole) > _WALKS:
            self._whole.popitem(last=False)

    def _is_current(self, folders: Sequence[_Folder]) -> bool:
        """Whether nothing has come to these folders, or gone from them. The loop that most of a look's cost is."""
        lstat = os.lstat
        try:
            for folder in folders:
                now = lstat(folder.whole)
                mtime, _, ctime, number = folder.stamp
                if folder.young or now.st_mtime_ns != mtime or now.st_ctime_ns != ctime or now.st_ino != number:
                    return False
                if folder.ignores is not None and stamp_of(f"{folder.whole}/{IGNORES}") != folder.ignores:
                    return False
        except OSError:
            return False
        return True

    # -- folders ------------------------------------------------------------------------------------------------

    def _find(self, start: str) -> _Folder:
        at = self._top
        path = ""
        for name in PurePosixPath(start).parts:
            path = f"{path}/{name}" if path else name
            below = next((one for one in self._entries(at) if isinstance(one, _Folder) and one.path == path), None)
            if below is None:
                below = self._others.get(path)
                if below is None or below.layers is not at.inside:
                    below = self._others[path] = _Folder(path, at.inside, at.depth + 1, self.prefix + path)
            at = below
        return at

    def _entries(self, folder: _Folder) -> list[_Folder | Entry]:
        """What is in a folder now."""
        whole = folder.whole
        stamp = stamp_of(whole)
        ignores = stamp_of(f"{whole}/{IGNORES}") if folder.ignores is not None else None
        if folder.young or stamp != folder.stamp or ignores != folder.ignores:
            folder.stamp = stamp
            folder.young = is_young(stamp)
            folder.entries = self._listed(folder, whole)
        return folder.entries

    def _listed(self, folder: _Folder, whole: str) -> list[_Folder | Entry]:
        try:
            with os.scandir(whole) as listing:
                found = sorted(listing, key=lambda entry: entry.name)
        except OSError:
            return []
        names = {entry.name for entry in found}
        if folder.path and names & MARKS and folder.path not in self._others:
            return []
        self._take_ignores(folder, whole, IGNORES in names)
        former = {one.path: one for one in folder.entries if isinstance(one, _Folder)}
        step = f"{folder.path}/" if folder.path else ""
        parent = folder.path.rpartition("/")[2]
        entries: list[_Folder | Entry] = []
        for entry in found:
            path = step + entry.name
            if entry.is_dir(follow_symlinks=False):
                below = self._below(entry.name, path, names, folder, former.get(path))
            else:
                below = self._file(entry, path, parent, folder)
            if below is not None:
                entries.append(below)
        return entries

    def _take_ignores(self, folder: _Folder, whole: str, has: bool) -> None:
        """Fill in what is left out in the folder. The same rules stay the same object: what is below is not listed
        again then."""
        if not has and folder.rules is None:
            folder.inside, folder.ignores = folder.layers, None
            return
        folder.ignores = stamp_of(f"{whole}/{IGNORES}") if has else None
        folder.young = folder.young or (has and is_young(stamp_of(f"{whole}/{IGNORES}")))
        rules = text_of(f"{whole}/{IGNORES}") if has else None
        if rules != folder.rules or rules is None:
            folder.rules = rules
            folder.inside = folder.layers.below(self._inner / folder.path, rules)

    def _below(
        self, name: str, path: str, beside: Set[str], folder: _Folder, former: _Folder | None
    ) -> _Folder | Entry | None:
        """A folder in a folder: None where it is passed over, an entry where that is told."""
        if name in TOOLS or self._is_ignored(folder.inside, path, is_folder=True):
            return None
        if name in VENDORED or (name == "vendor" and beside & VENDORING):
            return Entry(path, "", IS_VENDORED)
        if folder.depth >= _DEEPEST:
            return Entry(path, "", IS_DEEP)
        if former is not None and former.layers is folder.inside:
            return former
        return _Folder(path, folder.inside, folder.depth + 1, self.prefix + path)

    def _file(self, entry: os.DirEntry[str], path: str, parent: str, folder: _Folder) -> Entry | None:
        language = self._language_of(entry.name, parent)
        if language is None or entry.is_symlink() or self._is_ignored(folder.inside, path, is_folder=False):
            return None
        if not entry.is_file(follow_symlinks=False):
            return Entry(path, language, IS_UNTYPICAL)
        if not is_utf8(path):
            return Entry(path.encode("utf-8", "replace").decode(), language, IS_UNNAMEABLE)
        if is_minified(entry.name):
            return Entry(path, language, IS_MINIFIED)
        if self._protected.hides(path):
            return Entry(path, language, IS_SENSITIVE) if language else None
        return Entry(path, language, "") if self._owns(path) else None

    # -- what .gitignore says ------------------------------------------------------------------------------------

    def _look_above(self) -> None:
        """What the repository around the root leaves out of it, where the root is not its top."""
        root = Path(self.root)
        top = next((one for one in (root, *root.parents) if os.path.lexists(one / ".git")), root)
        inner = PurePosixPath(root.relative_to(top).as_posix())
        parents = list(reversed(inner.parents))
        texts = (
            str(top),
            text_of(f"{top}/.git/info/exclude"),
            *(text_of(f"{top}/{parent}/{IGNORES}") for parent in parents),
        )
        if texts == self._above:
            return
        self._above = texts
        layers = Layers().below(PurePosixPath(), texts[1])
        ignored = False
        for parent, text in zip(parents, texts[2:], strict=True):
            layers = layers.below(parent, text)
            step = inner.parts[len(parent.parts)]
            ignored = ignored or layers.ignored(parent / step, is_folder=True)
        # A root that lies in what is left out was asked for all the same.
        self._inner = PurePosixPath() if ignored else inner
        self._top = _Folder("", Layers() if ignored else layers, 0, self.root)
        self._others = {}
        self._whole.clear()

    def _is_ignored(self, layers: Layers, path: str, *, is_folder: bool) -> bool:
        return bool(layers) and layers.ignored(self._inner / path, is_folder)


class _Protected:
    """The names that nobody reads."""

    def __init__(self, root: str, add: Sequence[str], allow: Sequence[str]) -> None:
        self._root = Path(root)
        self._paths = SensitivePaths(add, allow)
        # The contract's own names are those of a folder or a file, wherever it is: each is asked about once.
        self._by_name = not add and not allow
        self._names: dict[str, bool] = {}
        self._folders: dict[str, bool] = {}

    def hides(self, path: str) -> bool:
        if not self._by_name:
            return self._paths.reason(self._root / path, self._root) is not None
        folder, _, name = path.rpartition("/")
        above = self._folders.get(folder)
        if above is None:
            above = any(self._hides_name(f"{one}/x") for one in (*folder.split("/"), str(self._root)))
            self._folders[folder] = above
        return above or self._hides_name(name)

    def _hides_name(self, name: str) -> bool:
        found = self._names.get(name)
        if found is None:
            found = self._names[name] = self._paths.reason(PurePosixPath(name)) is not None
        return found


# -- single files ------------------------------------------------------------------------------------------------


def is_minified(name: str) -> bool:
    """Whether a name says that a tool has squeezed the file (``jquery.min.js``)."""
    stem, _, extension = name.lower().rpartition(".")
    return extension in ("js", "mjs", "cjs", "css", "ts") and (stem.endswith((".min", "-min")) or ".min." in stem)


def is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_young(stamp: Stamp) -> bool:
    """Whether another change could have the same stamp."""
    return time.time_ns() - max(stamp[0], stamp[2]) < YOUNG_NS


def stamp_of(path: str) -> Stamp:
    """`NONE` where there is nothing."""
    try:
        now = os.lstat(path)
    except (OSError, ValueError):
        return NONE
    return now.st_mtime_ns, now.st_size, now.st_ctime_ns, now.st_ino


def text_of(path: str) -> str | None:
    """A small file's text; None where there is none."""
    try:
        fd, status = open_file(None, path, path)
    except (OSError, OmbudError):
        return None
    try:
        return read_all(fd, _TEXT_LIMIT, path, status.st_size).decode("utf-8", "replace")
    except OmbudError:
        return None
    finally:
        os.close(fd)
