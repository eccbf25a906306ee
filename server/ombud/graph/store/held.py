"""What the writer knows of all files: what a resolver asks (its ``Sources``), from the store and a bounded memory."""

from __future__ import annotations

import sqlite3
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from ombud.graph.facts import Facts
from ombud.graph.packed import joined
from ombud.graph.store.columns import numbers_of
from ombud.graph.store.failures import UNPACKING, Damaged, mark, translated
from ombud.graph.store.schema import CONFIGURATION, INDEXED, INDEXES, MASK, PARTS, SHIFT

FACTS_BYTES = 12 << 20
"""Of facts that are kept decoded, by estimate."""
_SYMBOL_BYTES, _NAME_BYTES, _IMPORT_BYTES = 550, 70, 300

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="Held")


def speaks(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """SQLite's errors leave a method as those of `ombud.graph.store.failures`."""

    @wraps(method)
    def speaking(self: S, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return method(self, *args, **kwargs)
        except (sqlite3.Error, *UNPACKING) as error:
            raise translated(error, self.file) from error

    return speaking  # type: ignore[return-value]


def weight(facts: Facts) -> int:
    """About how many bytes of memory decoded facts take."""
    columns = len(facts.scopes) + len(facts.exprs) + len(facts.bindings) + len(facts.sites)
    imports = len(facts.imports) + len(facts.exports)
    return columns + _SYMBOL_BYTES * len(facts.symbols) + _NAME_BYTES * len(facts.names) + _IMPORT_BYTES * imports


class Held:
    """Files by path and by id, facts, configuration, names. ``limit`` bounds the decoded facts, in bytes."""

    def __init__(self, connection: sqlite3.Connection, file: Path, limit: int = FACTS_BYTES) -> None:
        self.file = file
        self._connection = connection
        self._limit = limit
        self.reload()

    def reload(self) -> None:
        """Forget what is in memory, and read the files' rows: at the start, and when a transaction was undone."""
        self._paths: dict[str, int] = {}
        self._languages: dict[int, str] = {}
        self._packages: dict[int, str] = {}
        self._names_of: dict[int, str] = {}
        self._sorted = False
        self._indexed = False
        self._facts: OrderedDict[int, tuple[Facts, int]] = OrderedDict()
        self._weight = 0
        self._texts: dict[str, str | None] = {}
        self._numbers: dict[int, Sequence[int] | None] = {}
        query = "SELECT id, path, language, package, state FROM files WHERE state IN (?, ?)"
        for file, path, language, package, state in self._connection.execute(query, (INDEXED, CONFIGURATION)):
            self._enter(file, path, language if state == INDEXED else "", package)

    def _enter(self, file: int, path: str, language: str, package: str) -> None:
        if self._paths.get(path) != file:
            self._sorted = False
        self._paths[path] = file
        self._names_of[file] = path
        self._languages[file], self._packages[file] = language, package

    def _leave(self, file: int, path: str) -> None:
        if self._paths.get(path) == file:
            del self._paths[path]
        for table in (self._languages, self._packages, self._names_of):
            table.pop(file, None)
        self._texts.pop(path, None)
        self._numbers.pop(file, None)
        self._drop(file)

    # -- what a resolver asks -------------------------------------------------------------------------------------

    def paths(self) -> Mapping[str, int]:
        """Every file that is indexed or a configuration, by its path (relative, with ``/``), in the order of paths.

        The order is the same for the same files, whatever came first: a resolver that goes through it stays equal to
        one over a store built anew.
        """
        if not self._sorted:
            self._paths = dict(sorted(self._paths.items()))
            self._sorted = True
        return self._paths

    def path(self, file: int) -> str:
        """Raises KeyError for a file that is not there."""
        return self._names_of[file]

    def language(self, file: int) -> str:
        """``""`` for a configuration file. Raises KeyError for a file that is not there."""
        return self._languages[file]

    def package(self, file: int) -> str:
        return self._packages[file]

    @speaks
    def facts(self, file: int) -> Facts:
        """Without ranges, signatures and docstrings. Raises KeyError for a file that has none."""
        held = self._facts.get(file)
        if held is not None:
            self._facts.move_to_end(file)
            return held[0]
        row = self._connection.execute(PARTS, (file,)).fetchone()
        if row is None or not self._languages.get(file):
            raise KeyError(file)
        try:
            facts = joined(*row)
        except ValueError as error:
            mark(self.file)
            raise Damaged(f"The code graph's store {self.file} is damaged ({error}); it is built anew.") from error
        self._keep(file, facts)
        return facts

    def _keep(self, file: int, facts: Facts) -> None:
        self._drop(file)
        cost = weight(facts)
        self._facts[file] = facts, cost
        self._weight += cost
        while self._weight > self._limit and len(self._facts) > 1:
            _, (_, freed) = self._facts.popitem(last=False)
            self._weight -= freed

    def _drop(self, file: int) -> None:
        _, freed = self._facts.pop(file, (None, 0))
        self._weight -= freed

    @speaks
    def config(self, path: str) -> str | None:
        """The text of a configuration file, None where there is none."""
        if path not in self._texts:
            file = self._paths.get(path)
            row = None
            if file is not None and not self._languages[file]:
                row = self._connection.execute("SELECT data FROM facts WHERE file = ?", (file,)).fetchone()
            self._texts[path] = zlib.decompress(row[0]).decode() if row else None
        return self._texts[path]

    @speaks
    def named(self, name: str, languages: Collection[str]) -> Sequence[tuple[int, int]]:
        """The symbols of that bare name in files of ``languages``: file and index in its facts, by path."""
        self._make_indexes()
        query = (
            "SELECT s.id FROM names n JOIN symbols s ON s.name = n.id WHERE n.name = ?1 COLLATE NOCASE AND n.name = ?1"
        )
        found = []
        for (symbol,) in self._connection.execute(query, (name,)):
            file = symbol >> SHIFT
            if self._languages.get(file) in languages:
                found.append((file, self._index(file, symbol & MASK)))
        return sorted(found, key=lambda pair: (self._names_of[pair[0]], pair[1]))

    def _make_indexes(self) -> None:
        """Make the indexes of names, if they are not there yet (see `INDEXES`)."""
        if not self._indexed:
            for statement in INDEXES.strip().split(";"):
                self._connection.execute(statement)
            self._indexed = True

    # -- numbers of symbols ---------------------------------------------------------------------------------------

    def numbers(self, file: int) -> Sequence[int] | None:
        """The n of each symbol of a file, in the order of its facts; None where they count up from 0."""
        if file not in self._numbers:
            row = self._connection.execute("SELECT numbers FROM files WHERE id = ?", (file,)).fetchone()
            self._numbers[file] = numbers_of(row[0]) if row and row[0] is not None else None
        return self._numbers[file]

    def _index(self, file: int, n: int) -> int:
        numbers = self.numbers(file)
        return n if numbers is None else numbers.index(n)


def counting(numbers: Iterable[int]) -> bool:
    """Whether numbers are 0, 1, 2 …, which need not be kept."""
    return all(at == n for at, n in enumerate(numbers))
