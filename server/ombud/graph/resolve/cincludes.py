"""Which file an ``#include`` means, and what a file sees through its includes.

The file's own folder, the folders of ``compile_commands.json`` or ``compile_flags.txt``, the root, ``include``,
``src``; else the file whose path ends in what is included, where it is the only one or the only nearest one.
``<string.h>`` is never a file of the project that only happens to be called so.
"""

from __future__ import annotations

import json
import posixpath
import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import SYSTEM, TYPE_ONLY, Import
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.resolve.cspaces import Spaces

USUAL = ("", "include", "src", "inc", "lib")
CONFIGURATION = ("compile_commands.json", "compile_flags.txt")
DATABASES = tuple(
    posixpath.join(folder, CONFIGURATION[0]) for folder in ("", "build", "out", "cmake-build-debug", ".vscode")
)
MOST = 4000
"""Files that are followed from one; none has so many."""
STANDARD = re.compile(
    r"(?:assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdalign|stdarg|stdatomic|stdbool|stddef|"
    r"stdint|stdio|stdlib|stdnoreturn|string|strings|tgmath|threads|time|uchar|wchar|wctype|unistd|fcntl|pthread|semaphore|dirent|dlfcn|"
    r"poll|sched|termios|syslog|malloc|memory|alloca|endian|byteswap|windows|io|process|direct|winsock2|getopt|pwd|grp|netdb|glob|"
    r"fnmatch|regex|search|spawn|wordexp|utime|values|error|err|features|elf|link|ucontext|execinfo)\.h"
    r"|(?:sys|arpa|netinet|net|linux|asm|mach|bits|machine)/.*"
)


def is_include(item: Import) -> bool:
    """Whether an import is an ``#include``."""
    return not item.alias and item.name != "*" and not item.flags & TYPE_ONLY and not item.name


class Includes:
    """The includes of a root's files, as they are now."""

    def __init__(self, on: Spaces) -> None:
        self._on = on
        self._tails: dict[str, list[str]] | None = None
        self._seen: dict[int, tuple[frozenset[int], frozenset[int]]] = {}
        self._direct: dict[int, tuple[list[int | None], frozenset[int]]] = {}
        self._folders: dict[str, list[str]] = {}
        self._commands: tuple[dict[str, list[str]], list[str]] | None = None

    def forget(self, files: Iterable[int]) -> None:
        """These files came, changed or went."""
        del files
        self._tails = None
        self._direct.clear()
        self._seen.clear()
        self._folders.clear()
        self._commands = None

    # -- one include ----------------------------------------------------------------------------------------------

    def tails(self) -> dict[str, list[str]]:
        """Name of a file → all paths that end in it."""
        if self._tails is None:
            found: dict[str, list[str]] = {}
            sources = self._on.sources
            for path, file in sources.paths().items():
                name = posixpath.basename(path)
                if name not in CONFIGURATION and sources.language(file) in self._on.languages:
                    found.setdefault(name, []).append(path)
            self._tails = {name: sorted(paths) for name, paths in found.items()}
        return self._tails

    def found(self, path: str, item: Import) -> str | None:
        """The path of the file that is included; None for a library's."""
        written = posixpath.normpath(item.module)
        known = self.tails().get(posixpath.basename(written), ())
        if not known:
            return None
        folder = posixpath.dirname(path)
        system = bool(item.flags & SYSTEM)
        folders = [*([] if system else [folder]), *self.folders(path)]
        for base in dict.fromkeys(folders):
            candidate = posixpath.normpath(posixpath.join(base, item.module))
            if candidate in known:
                return candidate
        if STANDARD.fullmatch(written):
            return None
        for base in USUAL if not system or not STANDARD.fullmatch(written) else ():
            candidate = posixpath.normpath(posixpath.join(base, item.module))
            if candidate in known:
                return candidate
        return self._nearest(folder, written, known)

    def _nearest(self, folder: str, written: str, known: Iterable[str]) -> str | None:
        tail = "/" + re.sub(r"^(?:\.\./)+", "", written)
        ending = [one for one in known if ("/" + one).endswith(tail)]
        if len(ending) <= 1:
            return ending[0] if ending else None
        ranked = sorted(ending, key=lambda one: -_common(folder, one))
        return ranked[0] if _common(folder, ranked[0]) > _common(folder, ranked[1]) else None

    # -- where includes are looked for ----------------------------------------------------------------------------

    def folders(self, path: str) -> list[str]:
        """The folders that the project's own configuration names for a file."""
        folder = posixpath.dirname(path)
        flags = self._folders.get(folder)
        if flags is None:
            flags = self._folders[folder] = self._flags(folder)
        if self._commands is None:
            self._commands = self._database()
        own, every = self._commands
        return [*own.get(path, every), *flags]

    def _flags(self, folder: str) -> list[str]:
        """``compile_flags.txt`` of the nearest folder that has one."""
        while True:
            text = self._on.sources.config(posixpath.join(folder, "compile_flags.txt"))
            if text is not None:
                return included([line.strip() for line in text.splitlines()], folder)
            if not folder:
                return []
            folder = posixpath.dirname(folder)

    def _database(self) -> tuple[dict[str, list[str]], list[str]]:
        """``compile_commands.json``: file → folders, and all folders."""
        own: dict[str, list[str]] = {}
        every: dict[str, None] = {}
        paths = self._on.sources.paths()
        for path in DATABASES:
            for entry in _entries(self._on.sources.config(path) or ""):
                directory, file = str(entry.get("directory", "")), str(entry.get("file", ""))
                whole = posixpath.normpath(posixpath.join(directory, file))
                relative = _relative(whole, paths)
                if relative is None:
                    continue
                root = whole[: len(whole) - len(relative)]
                found = []
                for one in included(_arguments(entry), directory):
                    inside = posixpath.normpath(one)
                    if (inside + "/").startswith(root):
                        found.append(inside[len(root) :].strip("/"))
                own[relative] = found
                every.update(dict.fromkeys(found))
        return own, list(every)

    # -- what a file sees -----------------------------------------------------------------------------------------

    def direct(self, file: int) -> tuple[list[int | None], frozenset[int]]:
        """The files of a file's imports, None for a library's; and the keys of what that depends on."""
        known = self._direct.get(file)
        if known is None:
            view = self._on.view(file)
            paths = self._on.sources.paths()
            found: list[int | None] = []
            keys = {key("unit", view.path), *(key("config", path) for path in DATABASES)}
            folder = view.path
            while folder:
                folder = posixpath.dirname(folder)
                keys.add(key("config", posixpath.join(folder, CONFIGURATION[1])))
            for item in view.facts.imports:
                target = self.found(view.path, item) if is_include(item) else None
                found.append(paths[target] if target is not None else None)
                if is_include(item):
                    keys.add(key("tail", posixpath.basename(posixpath.normpath(item.module))))
            known = self._direct[file] = (found, frozenset(keys))
        return known

    def seen(self, file: int) -> frozenset[int]:
        """A file and all that it includes, however deep."""
        return self._closure(file)[0]

    def keys(self, file: int) -> frozenset[int]:
        """The keys of what `seen` depends on."""
        return self._closure(file)[1]

    def _closure(self, file: int) -> tuple[frozenset[int], frozenset[int]]:
        known = self._seen.get(file)
        if known is None:
            files, keys = {file}, set[int]()
            pending = [file]
            while pending and len(files) < MOST:
                direct, asked = self.direct(pending.pop())
                keys |= asked
                for one in direct:
                    if one is not None and one not in files:
                        files.add(one)
                        pending.append(one)
            known = self._seen[file] = (frozenset(files), frozenset(keys))
        return known


def _common(folder: str, path: str) -> int:
    """How many folders two paths share from the root on."""
    count = 0
    for one, other in zip(folder.split("/"), posixpath.dirname(path).split("/"), strict=False):
        if one != other:
            break
        count += 1
    return count


def included(flags: list[str], folder: str) -> list[str]:
    """The folders of ``-I`` and its like."""
    found = []
    take = False
    for flag in flags:
        if take:
            found.append(flag)
            take = False
        elif flag in ("-I", "-isystem", "-iquote", "-idirafter", "/I"):
            take = True
        else:
            for mark in ("-isystem", "-iquote", "-idirafter", "-I", "/I"):
                if flag.startswith(mark):
                    found.append(flag[len(mark) :])
                    break
    return [posixpath.normpath(posixpath.join(folder, one)) for one in found if one]


def _entries(text: str) -> list[dict[str, Any]]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [one for one in read if isinstance(one, dict)] if isinstance(read, list) else []


def _arguments(entry: dict[str, Any]) -> list[str]:
    given = entry.get("arguments")
    if isinstance(given, list):
        return [str(one) for one in given]
    try:
        return shlex.split(str(entry.get("command", "")))
    except ValueError:
        return []


def _relative(whole: str, paths: Any) -> str | None:
    """The path within the root that an absolute one ends in: the longest."""
    parts = whole.strip("/").split("/")
    for start in range(len(parts)):
        path = "/".join(parts[start:])
        if path in paths:
            return path
    return None


def owner_of(view: View, scope: int) -> str:
    """What a scope belongs to."""
    return view.symbols[view.symbol_of(scope)].qualified


def unit(view: View) -> int:
    """A number for all that includers of a file see of its imports."""
    rows = [
        (item.module, item.name, item.alias, item.flags, view.kind(item.scope), owner_of(view, item.scope))
        for item in view.facts.imports
    ]
    return key("rows", repr(rows))
