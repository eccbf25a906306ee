"""Which symbol each site means, worked out from the facts of all files. One module a family of languages.

`Resolver` is the way in. It never parses and never writes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ombud.graph.facts import Facts
    from ombud.graph.resolve.engine import Engine

FAMILIES = {
    "c": "c",
    "cpp": "c",
    "csharp": "csharp",
    "go": "go",
    "java": "java",
    "javascript": "ecma",
    "javascriptreact": "ecma",
    "kotlin": "kotlin",
    "php": "php",
    "python": "python",
    "ruby": "ruby",
    "rust": "rust",
    "typescript": "ecma",
    "typescriptreact": "ecma",
}
"""Language id → the module here with its rules, which is also the name of its family: no edge leads out of one.
Any other language is its own family, with the rules of ``plain``: one file at a time."""

CONFIGURATIONS = (
    *("package.json", "tsconfig*.json", "jsconfig*.json", "pnpm-workspace.yaml", "go.mod", "go.work", "Cargo.toml"),
    *("composer.json", "pyproject.toml", "setup.cfg", "compile_commands.json", "compile_flags.txt"),
)
"""Names of the files, as shell patterns, that say how imports are to be read."""


def family(language: str) -> str:
    return FAMILIES.get(language, language)


class Sources(Protocol):
    """All files of a root, as they are now. Paths are relative to the root, with ``/``."""

    def paths(self) -> Mapping[str, int]:
        """Every file that has facts or is a configuration file → its number."""

    def path(self, file: int) -> str: ...

    def language(self, file: int) -> str: ...

    def package(self, file: int) -> str: ...

    def facts(self, file: int) -> Facts:
        """Raises KeyError for a file without."""

    def config(self, path: str) -> str | None:
        """The text of a configuration file, None where there is none."""

    def named(self, name: str, languages: Collection[str]) -> Sequence[tuple[int, int]]:
        """(file, symbol) of all symbols with that bare name, in the order of their paths and places."""


@dataclass(slots=True)
class Resolved:
    """What one file's sites mean."""

    edges: list[tuple[int, int, int, int, int, int, int, int]] = field(default_factory=list)
    """(symbol it is in, file, symbol that is meant, kind, line, character, length, confidence)."""
    loose: list[tuple[int, str, int, int, int]] = field(default_factory=list)
    """Calls of something of this root that could not be found: (symbol it is in, name, line, character, length)."""
    external: int = 0
    """Call sites that lead into a library or the language itself."""
    unresolved: int = 0
    """Call sites of which nothing is known: those in ``loose``, and those that have no name."""
    asked: set[int] = field(default_factory=set)
    """Keys of all that the answer depends on beyond the file itself."""


@cache
def _rules(name: str) -> type[Engine]:
    found: type[Engine] = import_module(f"ombud.graph.resolve.{name}").ENGINE
    return found


class Resolver:
    """Edges from facts. One for each set of sources; not to be shared between threads."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._engines: dict[str, Engine] = {}

    def _engine(self, file: int) -> Engine:
        name = family(self._sources.language(file))
        found = self._engines.get(name)
        if found is None:
            rules = _rules(name if name in FAMILIES.values() else "plain")
            found = self._engines[name] = rules(self._sources, name)
        return found

    def resolve(self, file: int) -> Resolved:
        """Raises KeyError for a file without facts."""
        return self._engine(file).resolve(file)

    def provided(self, file: int) -> dict[int, int]:
        """What other files can ask of this one: key → a number that differs where the answer does."""
        path = self._sources.path(file)
        text = self._sources.config(path)
        if text is not None:
            from ombud.graph.resolve.view import key

            found = {key("config", path): hash_of(text)}
            if path.rpartition("/")[2] == "package.json":
                from ombud.graph.resolve.ecmamodules import package_key, package_name

                found[package_key(package_name(text))] = hash_of(path)
            return found
        return self._engine(file).provided(file)

    def forget(self, files: Iterable[int]) -> None:
        """These files came, changed or went."""
        changed = set(files)
        for engine in self._engines.values():
            engine.forget(changed)


def hash_of(text: str) -> int:
    """A number for a text, the same in every process."""
    import zlib

    return zlib.crc32(text.encode("utf-8", "replace"))
