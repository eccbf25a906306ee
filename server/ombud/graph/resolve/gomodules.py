"""Which folder an import path of Go means, which files make up its package, and for which systems a file is built."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.resolve.world import World

_SYSTEMS = frozenset(
    [
        "aix",
        "android",
        "darwin",
        "dragonfly",
        "freebsd",
        "hurd",
        "illumos",
        "ios",
        "js",
        "linux",
        "nacl",
        "netbsd",
        "openbsd",
        "plan9",
        "solaris",
        "wasip1",
        "windows",
        "zos",
    ]
)
_MACHINES = frozenset(
    [
        "386",
        "amd64",
        "arm",
        "arm64",
        "loong64",
        "mips",
        "mips64",
        "mips64le",
        "mipsle",
        "ppc64",
        "ppc64le",
        "riscv64",
        "s390x",
        "wasm",
        "sparc64",
    ]
)
_TRUE = frozenset(("linux", "amd64", "unix", "cgo", "gc"))
_COMMENT = re.compile(r"//[^\n]*")
_WORD = re.compile(r"[\w.]+|&&|\|\||[!()]")


def constraint(view: View) -> tuple[str, str]:
    """What a file's name and its ``//go:build`` line say of where it is built; empty texts for everywhere."""
    stem = posixpath.basename(view.path).removesuffix(".go").removesuffix("_test")
    parts = stem.split("_")[1:]
    words = []
    if parts and parts[-1] in _MACHINES:
        words.append(parts.pop())
    if parts and parts[-1] in _SYSTEMS:
        words.append(parts.pop())
    return "_".join(reversed(words)), view.symbols[0].signature.partition("//go:build ")[2]


def built(constraints: tuple[str, str]) -> bool:
    """Whether that is built on linux/amd64, without tags."""
    return all(_holds(word) for word in constraints[0].split("_") if word) and _true(constraints[1])


def _holds(word: str) -> bool:
    return word in _TRUE or re.fullmatch(r"go1(\.\d+)?", word) is not None


@lru_cache(512)
def _true(text: str) -> bool:
    """The value of a build constraint; true where it cannot be read."""
    words = _WORD.findall(text)
    if not words or len(words) > 200:
        return True
    try:
        return _either(words)
    except IndexError:
        return True


def _either(words: list[str]) -> bool:
    found = _both(words)
    while words and words[0] == "||":
        words.pop(0)
        found = _both(words) or found
    return found


def _both(words: list[str]) -> bool:
    found = _one(words)
    while words and words[0] == "&&":
        words.pop(0)
        found = _one(words) and found
    return found


def _one(words: list[str]) -> bool:
    word = words.pop(0)
    if word == "!":
        return not _one(words)
    if word == "(":
        found = _either(words)
        words.pop(0)
        return found
    return _holds(word)


class Module:
    """What one ``go.mod`` says."""

    def __init__(self, folder: str, text: str) -> None:
        self.folder = folder
        text = _COMMENT.sub("", text)
        found = re.search(r"^\s*module\s+(\S+)", text, re.M)
        self.name = found[1].strip('"`') if found else ""
        self.replaced: dict[str, str] = {}
        """Module → the folder that stands for it, below the root."""
        for old, new in re.findall(
            r"(?:^\s*replace\s+|^\s+)(\S+)(?:\s+v\S+)?\s*=>\s*(\.{1,2}(?:/\S*)?)\s*$", text, re.M
        ):
            self.replaced[old.strip('"`')] = _joined(folder, new)


def _joined(folder: str, path: str) -> str:
    found = posixpath.normpath(posixpath.join(folder, path))
    return "" if found == "." else found


class Modules:
    """The modules and packages of a root."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._modules: dict[str, Module | None] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        self._folders: dict[str, list[int]] | None = None
        self._clauses: dict[str, str] = {}

    def folder(self, asking: str, path: str) -> str | None:
        """The folder of an import path for the files of a folder, None for a library's."""
        own = self.around(asking)
        if own is None:
            return None
        for module, folder in self._known(own):
            if path != module and not path.startswith(f"{module}/"):
                continue
            inner = posixpath.join(folder, path[len(module) + 1 :]) if path != module else folder
            if self._has(inner) and self._belongs(inner, folder):
                return inner
        vendored = posixpath.join(own.folder, "vendor", path)
        return vendored if self._has(vendored) else None

    def _belongs(self, inner: str, folder: str) -> bool:
        """Whether no other module lies between a module's folder and one below it."""
        found = self.around(inner)
        return found is not None and found.folder == folder

    def _known(self, own: Module) -> list[tuple[str, str]]:
        """Modules that a module's imports can mean: (name, folder), the longest name first."""
        found = {own.name: own.folder} if own.name else {}
        found.update(own.replaced)
        for folder in self._workspace(own.folder):
            module = self.at(folder)
            if module is not None and module.name:
                found.setdefault(module.name, folder)
        return sorted(found.items(), key=lambda item: -len(item[0]))

    def _workspace(self, folder: str) -> Sequence[str]:
        """The folders that the ``go.work`` above a folder uses, if that folder is one of them."""
        here = folder
        while True:
            text = self._world.config(posixpath.join(here, "go.work"))
            if text is not None:
                text = _COMMENT.sub("", text)
                blocks = re.findall(r"^\s*use\s*\(([^)]*)\)", text, re.M)
                words = [word for block in blocks for word in block.split()] + re.findall(
                    r"^\s*use\s+([^\s(]+)", text, re.M
                )
                used = [_joined(here, word.strip('"`')) for word in words]
                return used if folder in used else ()
            if not here:
                return ()
            here = posixpath.dirname(here)

    def around(self, folder: str) -> Module | None:
        """The module that a folder belongs to."""
        while True:
            found = self.at(folder)
            if found is not None or not folder:
                return found
            folder = posixpath.dirname(folder)

    def at(self, folder: str) -> Module | None:
        """The module whose ``go.mod`` lies in a folder."""
        text = self._world.config(posixpath.join(folder, "go.mod"))
        if folder not in self._modules:
            self._modules[folder] = Module(folder, text) if text is not None else None
        return self._modules[folder]

    def _has(self, folder: str) -> bool:
        self._world.asked.add(key("go folder", folder))
        return folder in self._files()

    def _files(self) -> dict[str, list[int]]:
        if self._folders is None:
            self._folders = {}
            for path, file in self._world.sources.paths().items():
                if path.endswith(".go"):
                    self._folders.setdefault(posixpath.dirname(path), []).append(file)
        return self._folders

    def members(self, folder: str) -> list[int]:
        """The files of a folder's package, without its tests."""
        self._world.asked.add(key("go folder", folder))
        sources = self._world.sources
        clause = self.clause(folder)
        return [
            file
            for file in self._files().get(folder, ())
            if not sources.path(file).endswith("_test.go") and sources.package(file) == clause
        ]

    def clause(self, folder: str) -> str:
        """What the package of a folder calls itself: programs and tests beside it are not meant."""
        self._world.asked.add(key("go folder", folder))
        found = self._clauses.get(folder)
        if found is None:
            sources = self._world.sources
            names: dict[str, int] = {}
            for file in self._files().get(folder, ()):
                if not sources.path(file).endswith("_test.go"):
                    name = sources.package(file)
                    names[name] = names.get(name, 0) + 1
            last = posixpath.basename(folder)
            ranked = sorted(names, key=lambda name: (name == "main", name != last, -names[name], name))
            found = self._clauses[folder] = ranked[0] if ranked else ""
        return found
