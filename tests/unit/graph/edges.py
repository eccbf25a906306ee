"""Projects in memory: files as texts, and the edges that the graph makes of them, one line each.

edges({"a.py": "def f(): pass\\nf()\\n"}) == ["a.py# -> a.py#f call"]
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatch
from pathlib import PurePosixPath

from ombud.graph.extract import extract
from ombud.graph.facts import SITE_KINDS, Facts
from ombud.graph.packed import encode, joined, parts
from ombud.graph.resolve import CONFIGURATIONS, Resolved, Resolver
from ombud.syntax.languages import language_of


class Memory:
    """`ombud.graph.resolve.Sources` over texts. ``edit`` changes some of them (None deletes)."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self._paths: dict[str, int] = {}
        self._facts: dict[int, Facts] = {}
        self._texts: dict[str, str] = {}
        self._next = 1
        self.edit(files)

    def edit(self, files: Mapping[str, str | bytes | None]) -> list[int]:
        """The numbers of the files that changed."""
        changed = []
        for path, text in files.items():
            if text is None:
                file = self._paths.pop(path)
                self._facts.pop(file, None)
                self._texts.pop(path, None)
                changed.append(file)
                continue
            if path not in self._paths:
                self._paths[path] = self._next
                self._next += 1
            data = text.encode() if isinstance(text, str) else text
            if any(fnmatch(PurePosixPath(path).name, pattern) for pattern in CONFIGURATIONS):
                self._texts[path] = data.decode()
            else:
                # As a store gives them, without what is only told.
                packed = encode(extract(self.language_of(path), data))
                self._facts[self._paths[path]] = joined(*parts(packed))
            changed.append(self._paths[path])
        return changed

    @staticmethod
    def language_of(path: str) -> str:
        found = language_of(PurePosixPath(path))
        assert found, path
        return found

    def paths(self) -> Mapping[str, int]:
        return self._paths

    def path(self, file: int) -> str:
        return next(path for path, number in self._paths.items() if number == file)

    def language(self, file: int) -> str:
        return self._facts[file].language if file in self._facts else self.language_of(self.path(file))

    def package(self, file: int) -> str:
        return self._facts[file].package

    def facts(self, file: int) -> Facts:
        return self._facts[file]

    def config(self, path: str) -> str | None:
        return self._texts.get(path)

    def named(self, name: str, languages: Collection[str]) -> list[tuple[int, int]]:
        return [
            (file, number)
            for path, file in sorted(self._paths.items())
            if file in self._facts and self._facts[file].language in languages
            for number, symbol in enumerate(self._facts[file].symbols)
            if symbol.name == name
        ]

    def files(self) -> list[int]:
        return sorted(self._facts)

    def id(self, file: int, symbol: int) -> str:
        return f"{self.path(file)}#{self._facts[file].symbols[symbol].qualified}"

    def told(self, file: int, done: Resolved) -> list[str]:
        """A file's edges, one line each in the order of the text."""
        rows = sorted(done.edges, key=lambda row: (row[4], row[5]))
        return [
            f"{self.id(file, source)} -> {self.id(other, symbol)} {SITE_KINDS[kind]}"
            for source, other, symbol, kind, *_ in rows
        ]


def edges(files: Mapping[str, str | bytes], kinds: Iterable[str] = ("call",)) -> list[str]:
    """All edges of the kinds, file by file in the order of their paths."""
    memory = Memory(files)
    resolver = Resolver(memory)
    found = []
    for path in sorted(files):
        file = memory.paths()[path]
        if file in memory.files():
            found += memory.told(file, resolver.resolve(file))
    return [line for line in found if line.rpartition(" ")[2] in kinds]


def loose(files: Mapping[str, str | bytes]) -> list[str]:
    """Names of the call sites that stay unresolved and may be of a symbol of the project."""
    memory = Memory(files)
    resolver = Resolver(memory)
    return [name for file in memory.files() for _, name, *_ in resolver.resolve(file).loose]
