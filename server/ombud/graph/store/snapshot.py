"""A reader's connection: every answer comes from one committed state of the store, and from memory while that stays."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ombud.graph.facts import TEST
from ombud.graph.packed import Told
from ombud.graph.store.columns import Place, numbers_of, places_of
from ombud.graph.store.failures import Missing, spoken
from ombud.graph.store.rows import Definition, File
from ombud.graph.store.schema import INDEXED, MASK, SHIFT, open_for_reading

_FILES = 4096
_VALUES = 600
"""Files whose texts or edges are remembered; an average file takes a few kilobytes."""
BATCH = 400
"""Values in one statement."""

T = TypeVar("T")

_FILE = (
    "SELECT id, path, language, package, state, reason, notes, test, size, lines, symbols, sites, external, "
    "unresolved, resolved FROM files WHERE "
)
_TEXTS = "SELECT t.data, f.numbers FROM texts t JOIN files f ON f.id = t.file WHERE t.file = ?"
_SYMBOL = (
    "SELECT s.id, n.name, s.kind, s.container, s.flags, s.fan FROM symbols s JOIN names n ON n.id = s.name WHERE s.id"
)


def batches(values: Collection[T], size: int = BATCH) -> Iterator[list[T]]:
    """``values`` in lists of at most ``size``."""
    held: list[T] = []
    for value in values:
        held.append(value)
        if len(held) == size:
            yield held
            held = []
    if held:
        yield held


def is_text(text: str) -> bool:
    """Whether SQLite can look for ``text``: no half of a surrogate pair, no NUL."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in text


def marks(values: Collection[object]) -> str:
    """``(?, ?, ?)`` for so many values."""
    return f"({', '.join('?' * len(values))})"


class Snapshot:
    """Rows, texts and edges of the file ``store``. Any thread may use it, one at a time: the others wait."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self._lock = threading.RLock()
        self._depth = 0
        self._connection: sqlite3.Connection | None = None
        self._inode = (0, 0)
        self._version = -1
        self._forget()

    def _forget(self) -> None:
        self._files: dict[int, File | None] = {}
        self._texts: dict[int, Told | None] = {}
        self._places: dict[int, list[Place]] = {}
        self._whole: bool | None = None

    def close(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def interrupt(self) -> None:
        """End the query that another thread waits for: there it raises `Cancelled`."""
        connection = self._connection
        if connection is not None:
            connection.interrupt()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """What is asked within sees one state of the store. Raises `Missing`, `Damaged` and `Unwritable`."""
        with self._lock:
            if self._depth:
                assert self._connection is not None
                yield self._connection
                return
            with spoken(self.store):
                connection = self._open()
                connection.execute("BEGIN")
                self._depth = 1
                try:
                    self._look(connection)
                    yield connection
                finally:
                    self._depth = 0
                    if connection.in_transaction:
                        connection.execute("COMMIT")

    def _open(self) -> sqlite3.Connection:
        """The connection, opened again where the writer has put another file in the place of the old one."""
        try:
            status = self.store.stat()
        except OSError as error:
            self.close()
            raise Missing(f"There is no code graph at {self.store} yet. Run graph_index.") from error
        inode = (status.st_dev, status.st_ino)
        if self._connection is not None and inode != self._inode:
            self.close()
        if self._connection is None:
            self._connection = open_for_reading(self.store)
            self._inode, self._version = inode, -1
        return self._connection

    def _look(self, connection: sqlite3.Connection) -> None:
        connection.execute("SELECT value FROM meta WHERE key = 'root'").fetchone()
        (version,) = connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._forget()
            self._version = version

    # -- the state of the index -----------------------------------------------------------------------------------

    @property
    def complete(self) -> bool:
        """Whether every file of the root is in the store."""
        with self.reading() as connection:
            if self._whole is None:
                row = connection.execute("SELECT value FROM meta WHERE key = 'complete'").fetchone()
                self._whole = row is not None and row[0] == "1"
            return self._whole

    def pending(self) -> int:
        """Files whose edges are not worked out yet."""
        with self.reading() as connection:
            query = "SELECT count(*) FROM files WHERE NOT resolved AND state = ?"
            return int(connection.execute(query, (INDEXED,)).fetchone()[0])

    # -- files ----------------------------------------------------------------------------------------------------

    def file_of(self, file: int) -> File | None:
        """The file of an id."""
        with self.reading() as connection:
            if file not in self._files:
                if len(self._files) >= _FILES:
                    self._files.clear()
                self._files[file] = _file(connection.execute(f"{_FILE} id = ?", (file,)).fetchone())
            return self._files[file]

    def file_at(self, path: str) -> File | None:
        """The file at a path, relative to the root, with ``/``."""
        if not is_text(path):
            return None
        with self.reading() as connection:
            return _file(connection.execute(f"{_FILE} path = ?", (path,)).fetchone())

    def places(self, file: int) -> list[Place]:
        """The edges from a file, in the order of their places. Some may lead to symbols that are gone."""
        with self.reading() as connection:
            if file not in self._places:
                if len(self._places) >= _VALUES:
                    self._places.clear()
                row = connection.execute("SELECT edges FROM links WHERE file = ?", (file,)).fetchone()
                self._places[file] = places_of(row[0]) if row else []
            return self._places[file]

    def texts(self, file: int) -> Told | None:
        """What is told of the symbols of a file."""
        with self.reading() as connection:
            if file not in self._texts:
                if len(self._texts) >= _VALUES:
                    self._texts.clear()
                row = connection.execute(_TEXTS, (file,)).fetchone()
                self._texts[file] = Told(row[0], None if row[1] is None else numbers_of(row[1])) if row else None
            return self._texts[file]

    def told(self, symbol: int) -> tuple[Told, int] | None:
        """What is told of a symbol: the texts of its file, and which of them are its own. None for one that is gone."""
        texts = self.texts(symbol >> SHIFT)
        at = None if texts is None else texts.index(symbol & MASK)
        return None if texts is None or at is None else (texts, at)

    # -- symbols --------------------------------------------------------------------------------------------------

    def symbols(self, ids: Iterable[int]) -> dict[int, Definition]:
        """The symbols of those ids that are there, in the order of ``ids``."""
        wanted = list(dict.fromkeys(ids))
        found: dict[int, Definition] = {}
        with self.reading() as connection:
            for batch in batches(wanted):
                for row in connection.execute(f"{_SYMBOL} IN {marks(batch)}", batch):
                    definition = self._definition(row)
                    if definition is not None:
                        found[definition.id] = definition
        return {symbol: found[symbol] for symbol in wanted if symbol in found}

    def symbol(self, symbol: int) -> Definition | None:
        return self.symbols([symbol]).get(symbol)

    def symbols_in(self, file: int) -> list[Definition]:
        """All symbols of a file, the module first, then by place."""
        with self.reading() as connection:
            span = (file << SHIFT, file << SHIFT | MASK)
            rows = connection.execute(f"{_SYMBOL} BETWEEN ? AND ?", span).fetchall()
            found = [definition for row in rows if (definition := self._definition(row)) is not None]
        return sorted(found, key=_by_place)

    def key(self, symbol: int) -> str | None:
        """``path#Qualified.name`` of an id."""
        with self.reading():
            file, told = self.file_of(symbol >> SHIFT), self.told(symbol)
        if file is None or told is None:
            return None
        texts, at = told
        return f"{file.path}#{texts.qualified[at]}"

    def _definition(self, row: tuple[int, ...]) -> Definition | None:
        symbol, name, kind, container, flags, fan = row
        number = symbol >> SHIFT
        file, told = self.file_of(number), self.told(symbol)
        if file is None or told is None:
            return None
        texts, at = told
        line, character, end_line, end_character, *where = texts.span(at)
        return Definition(
            symbol,
            number,
            file.path,
            file.language,
            file.test or bool(flags & TEST),
            str(name),
            texts.qualified[at],
            kind,
            None if container < 0 else number << SHIFT | container,
            flags,
            fan,
            (line, character, end_line, end_character),
            (where[0], where[1], where[2]),
            texts.signatures[at],
        )


def _file(row: tuple[Any, ...] | None) -> File | None:
    if row is None:
        return None
    number, path, language, package, state, reason, notes, test, size, lines, symbols, sites, *rest = row
    external, unresolved, resolved = rest
    notes = tuple(notes.split("\n")) if notes else ()
    counts = (size, lines, symbols, sites, external, unresolved)
    return File(number, path, language, package, state, reason, notes, bool(test), *counts, bool(resolved))


def _by_place(definition: Definition) -> tuple[object, ...]:
    line, character, end_line, end_character = definition.range
    return (definition.container is not None, line, character, -end_line, -end_character, definition.qualified)
