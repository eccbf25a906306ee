"""The one writer of a store. The indexer puts facts in, resolves from them, and puts what a resolver says in.

Between `begin` and `commit` nothing is seen by readers, and `rollback` undoes all of it. What can be written more
cheaply at once is gathered until `commit`: names for searching, texts of docstrings, and edges in the order of their
table.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import zlib
from array import array
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ombud.graph.facts import EXPORTED
from ombud.graph.packed import Told, parts
from ombud.graph.store import schema
from ombud.graph.store.asked import Asked, keys_of, pack_keys, shortened
from ombud.graph.store.columns import (
    Loose,
    Place,
    loose_of,
    pack_loose,
    pack_numbers,
    pack_places,
    places_of,
)
from ombud.graph.store.failures import DAMAGED, UNPACKING, Damaged, Unwritable
from ombud.graph.store.held import FACTS_BYTES, Held, counting, speaks
from ombud.graph.store.names import Names
from ombud.graph.store.naming import constructs, is_test
from ombud.graph.store.place import FILE, seize
from ombud.graph.store.schema import CONFIGURATION, CONSTRUCTS, INDEXED, MASK, SHIFT, SKIPPED

LOG = logging.getLogger(__name__)
DOC = 800
"""Characters of a docstring that are searched."""
_GATHERED = 100_000
"""Edges that are gathered before they are written."""

Stat = tuple[int, int]
"""mtime in nanoseconds and size in bytes."""
Pair = tuple[int, int, int]
"""A row of ``edges``."""


class Resolved(Protocol):
    """What a resolver says of one file (`ombud.graph.resolve.Resolved`); symbols are indexes into facts."""

    edges: list[tuple[int, int, int, int, int, int, int, int]]
    """Symbol, file and symbol of the target, kind, line, character, length, confidence."""
    loose: list[Loose]
    external: int
    unresolved: int
    asked: set[int]


class Known(NamedTuple):
    """What is known of a file without looking at it."""

    id: int
    mtime_ns: int
    size: int
    hash: bytes
    state: int


def open_writer(folder: Path, root: Path, *, anew: str = "", facts_bytes: int = FACTS_BYTES) -> Writer:
    """The writer of the store in ``folder``, made if need be; `Writer.said` is a sentence if it had to be made anew.

    ``anew`` is a reason to do so (the end of a sentence: "it was asked for"). Raises `Busy` while another process
    has it, `Unwritable` where nothing can be written.
    """
    held = seize(folder)
    try:
        connection, said = schema.open_file(folder, os.path.realpath(root), anew)
        return Writer(connection, folder / FILE, held, said, facts_bytes)
    except BaseException:
        os.close(held)
        raise


class Writer(Held):
    """See the module. Not for use by two threads at a time."""

    def __init__(
        self, connection: sqlite3.Connection, file: Path, held: int, said: str = "", facts_bytes: int = FACTS_BYTES
    ) -> None:
        self.said = said
        self._lock = held
        self._asked: Asked | None = None
        super().__init__(connection, file, facts_bytes)
        self._forget()

    def _forget(self) -> None:
        """What was gathered and remembered goes."""
        self._pairs: set[Pair] = set()
        self._fans: Counter[int] = Counter()
        self._old_docs: list[tuple[int, str]] = []
        self._new_docs: list[tuple[int, str]] = []
        self._put: set[int] = set()
        self._names = Names(self._connection, self._make_indexes)

    # -- transactions ---------------------------------------------------------------------------------------------

    @speaks
    def begin(self) -> None:
        """Raises `Damaged` where a reader has found the store broken: it has to be opened anew."""
        if self.file.with_name(DAMAGED).exists():
            raise Damaged(f"The code graph's store {self.file} is damaged; it is built anew.")
        self._connection.execute("BEGIN IMMEDIATE")

    @speaks
    def commit(self) -> None:
        self._flush()
        self._connection.execute("COMMIT")
        self._put.clear()

    def rollback(self) -> None:
        """Everything is as it was at `begin`."""
        self._forget()
        self._asked = None
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self.reload()
        except sqlite3.Error as error:
            raise Unwritable(f"The code graph's store {self.file} cannot be used ({error}).") from error

    @speaks
    def settle(self) -> None:
        """After much was written, outside of a transaction: merge the search tables, close the gaps in the file that
        writing in any order leaves, and empty the log."""
        self._make_indexes()
        for table in ("trigrams", "humps", "docs"):
            self._connection.execute(f"INSERT INTO {table}({table}) VALUES ('optimize')")
        try:
            # Whole stores are larger than the memory that a build may take.
            self._connection.execute("PRAGMA temp_store=FILE")
            self._connection.execute("VACUUM")
        except sqlite3.OperationalError as error:
            # It is as good with the gaps: a reader is at work, or there is no room for two.
            LOG.info("%s was not made smaller: %s", self.file, error)
        finally:
            self._connection.execute("PRAGMA temp_store=MEMORY")
        self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._connection.execute(f"PRAGMA wal_autocheckpoint={schema.LOG_PAGES}")

    def close(self) -> None:
        """Undo what was not committed, and let the lock go. May be called twice."""
        if self._lock < 0:
            return
        try:
            self._connection.close()
        finally:
            os.close(self._lock)
            self._lock = -1

    # -- files ----------------------------------------------------------------------------------------------------

    @speaks
    def known(self) -> dict[str, Known]:
        """Every file that was looked at, skipped ones too."""
        query = "SELECT path, id, mtime_ns, size, hash, state FROM files"
        return {path: Known(*rest) for path, *rest in self._connection.execute(query)}

    @speaks
    def waiting(self) -> list[int]:
        """Files whose facts are there and whose edges are not worked out."""
        query = "SELECT id FROM files WHERE state = ? AND NOT resolved ORDER BY path"
        return [file for (file,) in self._connection.execute(query, (INDEXED,))]

    @speaks
    def doubt(self, files: Collection[int] | None = None) -> None:
        """The edges of ``files`` (of all, where none are named) have to be worked out again, also after a restart."""
        if files is None:
            self._connection.execute("UPDATE files SET resolved = 0")
        else:
            self._connection.executemany("UPDATE files SET resolved = 0 WHERE id = ?", ((file,) for file in files))

    @speaks
    def is_complete(self) -> bool:
        """What was last said by `complete`."""
        return bool(self._connection.execute("SELECT 1 FROM meta WHERE key = 'complete' AND value = '1'").fetchone())

    @speaks
    def complete(self, whole: bool) -> None:
        """Say whether every file of the root is in the store; readers see it with what is committed."""
        self._connection.execute("UPDATE meta SET value = ? WHERE key = 'complete'", (str(int(whole)),))

    @speaks
    def touch(self, path: str, stat: Stat) -> None:
        """The file has the content it had."""
        self._connection.execute("UPDATE files SET mtime_ns = ?, size = ? WHERE path = ?", (*stat, path))

    @speaks
    def put(
        self,
        path: str,
        stat: Stat,
        digest: bytes,
        language: str,
        blob: bytes,
        notes: Sequence[str] = (),
    ) -> int:
        """The facts of a new or changed file (``blob`` is ``encode(facts)``); its id. Its edges wait to be resolved.

        Symbols keep their ids as long as they keep their qualified names; edges to those that are gone go.
        Raises ValueError for what is no such blob.
        """
        texts, core = parts(blob)
        try:
            told = Told(texts)
        except UNPACKING as error:
            raise ValueError(f"These are no facts: {error}") from None
        count = len(told)
        if count > MASK:
            raise ValueError(f"{path} has more symbols than the graph can number.")
        row = self._connection.execute("SELECT id, state, next FROM files WHERE path = ?", (path,)).fetchone()
        if row is not None and row[1] != INDEXED:
            self.remove(path)
            row = None
        values = (language, told.package, INDEXED, "", "\n".join(notes), is_test(path), stat[1], stat[0], digest)
        exports = sum(bool(flags & EXPORTED) for flags in told.columns[2])
        counts = (told.lines, count, told.sites, told.imports, exports)
        if row is None:
            numbers: Sequence[int] = range(count)
            file = self._insert(path, (*values, *counts, count, None))
        else:
            file = row[0]
            numbers, following = self._renumber(file, told, row[2])
            kept = None if counting(numbers) else pack_numbers(numbers)
            self._update(file, (*values, *counts, following, kept))
        self._numbers[file] = None if counting(numbers) else array("I", numbers)
        self._write(file, told, numbers)
        self._connection.execute("REPLACE INTO texts VALUES (?, ?)", (file, texts))
        self._connection.execute("REPLACE INTO facts VALUES (?, ?)", (file, core))
        self._enter(file, path, language, told.package)
        self._drop(file)
        self._put.add(file)
        return file

    def _insert(self, path: str, values: tuple[object, ...]) -> int:
        statement = (
            "INSERT INTO files (path, language, package, state, reason, notes, test, size, mtime_ns, hash, lines, "
            "symbols, sites, imports, exports, next, numbers, resolved, edges, external, unresolved) "
            f"VALUES ({', '.join('?' * 17)}, 0, 0, 0, 0)"
        )
        file = self._connection.execute(statement, (path, *values)).lastrowid
        assert file is not None
        return file

    def _update(self, file: int, values: tuple[object, ...]) -> None:
        statement = (
            "UPDATE files SET language = ?, package = ?, state = ?, reason = ?, notes = ?, test = ?, size = ?, "
            "mtime_ns = ?, hash = ?, lines = ?, symbols = ?, sites = ?, imports = ?, exports = ?, next = ?, "
            "numbers = ?, resolved = 0 WHERE id = ?"
        )
        self._connection.execute(statement, (*values, file))

    def _renumber(self, file: int, told: Told, following: int) -> tuple[list[int], int]:
        """The numbers for new facts of a file, and the first that was never given; symbols that are gone go."""
        if file in self._put:
            self._flush()
        before = self._told(file)
        old = dict(zip(before.qualified, before.all_numbers(), strict=True))
        self._forget_docs(file, before)
        taken = set(old.values())
        numbers = []
        for qualified in told.qualified:
            n = old.pop(qualified, None)
            if n is None:
                # A million definitions have come and gone: what nothing has now is as good as new.
                n = following if following <= MASK else next(n for n in range(MASK + 1) if n not in taken)
                taken.add(n)
                following = max(following, n + 1)
            numbers.append(n)
        self._bury(file, set(old.values()))
        return numbers, following

    def _told(self, file: int) -> Told:
        (data,) = self._connection.execute("SELECT data FROM texts WHERE file = ?", (file,)).fetchone()
        return Told(data, self.numbers(file))

    def _forget_docs(self, file: int, told: Told) -> None:
        docs = zip(told.all_numbers(), told.docs, strict=True)
        self._old_docs += ((file << SHIFT | n, doc[:DOC]) for n, doc in docs if doc)

    def _bury(self, file: int, gone: set[int]) -> None:
        """Remove symbols of a file, and the edges to and from them."""
        if not gone:
            return
        ids = [(file << SHIFT | n,) for n in gone]
        self._cut(pair for pair in self._own_pairs(file) if pair[1] & MASK in gone)
        if self._pairs:
            buried = {symbol for (symbol,) in ids}
            self._pairs = {pair for pair in self._pairs if pair[0] not in buried}
        self._connection.executemany("DELETE FROM edges WHERE dst = ?", ids)
        self._connection.executemany("DELETE FROM symbols WHERE id = ?", ids)

    def _write(self, file: int, told: Told, numbers: Sequence[int]) -> None:
        base = file << SHIFT
        if self._names.first:
            self._connection.execute(f"PRAGMA wal_autocheckpoint={schema.BUILD_LOG_PAGES}")
        names = self._names.ids(set(told.names))
        parents, kinds, flags = told.columns[:3]
        rows: list[tuple[int, int, int, int, int]] = []
        for n, name, parent, kind, some in zip(numbers, told.names, parents, kinds, flags, strict=True):
            runs = bool(rows) and constructs(name, kind, kinds[parent])
            container = numbers[parent] if rows else -1
            rows.append((base | n, names[name], kind, container, some | CONSTRUCTS if runs else some))
        self._connection.executemany(_SYMBOL, rows)
        self._new_docs += ((base | n, doc[:DOC]) for n, doc in zip(numbers, told.docs, strict=True) if doc)

    @speaks
    def skip(self, path: str, stat: Stat, reason: str) -> None:
        """The file is not indexed; ``reason`` is what answers say."""
        self._replace(path, stat, b"", SKIPPED, reason)

    @speaks
    def configure(self, path: str, stat: Stat, digest: bytes, text: str) -> int:
        """A configuration file; its id, the same as long as it is one."""
        file = self._replace(path, stat, digest, CONFIGURATION, "")
        self._connection.execute("REPLACE INTO facts VALUES (?, ?)", (file, zlib.compress(text.encode(), 1)))
        self._texts.pop(path, None)
        self._enter(file, path, "", "")
        return file

    def _replace(self, path: str, stat: Stat, digest: bytes, state: int, reason: str) -> int:
        values = ("", "", state, reason, "", is_test(path), stat[1], stat[0], digest, 0, 0, 0, 0, 0, 0, None)
        row = self._connection.execute("SELECT id, state FROM files WHERE path = ?", (path,)).fetchone()
        if row is not None and row[1] == state:
            self._update(row[0], values)
            return int(row[0])
        if row is not None:
            self.remove(path)
        return self._insert(path, values)

    @speaks
    def remove(self, path: str) -> None:
        """The file is gone, with all that was known of it and all edges to it."""
        row = self._connection.execute("SELECT id, state FROM files WHERE path = ?", (path,)).fetchone()
        if row is None:
            return
        file, state = row
        if state == INDEXED:
            if file in self._put:
                self._flush()
            self._forget_docs(file, self._told(file))
            self._unlink(file)
            span = (file << SHIFT, file << SHIFT | MASK)
            self._pairs = {pair for pair in self._pairs if pair[0] >> SHIFT != file}
            self._connection.execute("DELETE FROM edges WHERE dst BETWEEN ? AND ?", span)
            self._connection.execute("DELETE FROM symbols WHERE id BETWEEN ? AND ?", span)
            self._connection.execute("DELETE FROM texts WHERE file = ?", (file,))
        self._connection.execute("DELETE FROM facts WHERE file = ?", (file,))
        self._connection.execute("DELETE FROM files WHERE id = ?", (file,))
        self._leave(file, path)

    def _unlink(self, file: int) -> None:
        self._cut(self._own_pairs(file))
        row = self._connection.execute("SELECT loose FROM links WHERE file = ?", (file,)).fetchone()
        names = {site[1] for site in loose_of(row[0])} if row else set()
        self._connection.executemany("DELETE FROM loose WHERE name = ? AND file = ?", ((name, file) for name in names))
        self._connection.execute("DELETE FROM links WHERE file = ?", (file,))
        if self._asked is not None:
            self._asked.change(file, ())

    # -- edges ----------------------------------------------------------------------------------------------------

    @speaks
    def resolved(self, file: int, answer: Resolved) -> None:
        """What a resolver says of a file now, in place of what it said before."""
        self._make_indexes()
        base = file << SHIFT
        own = self.numbers(file)
        places: list[Place] = []
        for src, other, dst, kind, line, character, length, confidence in answer.edges:
            start = src if own is None else own[src]
            theirs = self.numbers(other)
            end = dst if theirs is None else theirs[dst]
            places.append((line, character, length, start, other, end, kind << 2 | confidence))
        places = sorted(set(places))
        loose = answer.loose
        if own is not None:
            loose = [(own[src], name, *(line, column, length)) for src, name, line, column, length in loose]
        asked = shortened(answer.asked)
        row = self._connection.execute("SELECT edges, loose FROM links WHERE file = ?", (file,)).fetchone()
        edges, others = row or (b"", b"")
        self._link(_pairs(base, places_of(edges)), _pairs(base, places))
        self._loosen(file, loose_of(others), loose)
        self._connection.execute(
            "REPLACE INTO links VALUES (?, ?, ?, ?)",
            (file, pack_places(places), pack_loose(loose), pack_keys(asked)),
        )
        if self._asked is not None:
            self._asked.change(file, asked)
        self._connection.execute(
            "UPDATE files SET resolved = 1, edges = ?, external = ?, unresolved = ? WHERE id = ?",
            (len(places), answer.external, answer.unresolved, file),
        )
        if len(self._pairs) > _GATHERED:
            self._flush()

    def _link(self, old: set[Pair], new: set[Pair]) -> None:
        """Make the rows of a file's edges those of ``new``: most of them are, as a rule."""
        self._cut(old - new)
        added = new - old
        self._pairs |= added
        self._fans.update([pair[0] for pair in added])

    def _own_pairs(self, file: int) -> set[Pair]:
        row = self._connection.execute("SELECT edges FROM links WHERE file = ?", (file,)).fetchone()
        return _pairs(file << SHIFT, places_of(row[0]) if row else ())

    def _cut(self, pairs: Iterable[Pair]) -> None:
        for pair in pairs:
            if pair in self._pairs:
                self._pairs.remove(pair)
            elif not self._connection.execute(_CUT, pair).rowcount:
                continue
            self._fans[pair[0]] -= 1

    def _loosen(self, file: int, old: Collection[Loose], new: Collection[Loose]) -> None:
        before, now = Counter(site[1] for site in old), Counter(site[1] for site in new)
        gone = [(name, file) for name in before if name not in now]
        self._connection.executemany("DELETE FROM loose WHERE name = ? AND file = ?", gone)
        rows = [(name, file, count) for name, count in now.items() if before.get(name) != count]
        self._connection.executemany("REPLACE INTO loose VALUES (?, ?, ?)", rows)

    @speaks
    def asking(self, keys: Collection[int]) -> set[int]:
        """The files whose answers depend on one of ``keys``. The first call after a start reads all dependencies."""
        if not keys:
            return set()
        if self._asked is None or len(self._asked.changed) > 1000:
            rows = self._connection.execute("SELECT file, asked FROM links WHERE asked != x''")
            self._asked = Asked((file, keys_of(data)) for file, data in rows)
        return self._asked.by(shortened(keys))

    # -- what was gathered ----------------------------------------------------------------------------------------

    def _flush(self) -> None:
        execute = self._connection.executemany
        if self._pairs:
            execute("INSERT OR IGNORE INTO edges VALUES (?, ?, ?)", sorted(self._pairs))
            self._pairs = set()
        if self._fans:
            fans = ((count, symbol) for symbol, count in sorted(self._fans.items()) if count)
            execute("UPDATE symbols SET fan = fan + ? WHERE id = ?", fans)
            self._fans = Counter()
        self._names.flush()
        if self._old_docs or self._new_docs:
            old, new = dict(self._old_docs), dict(self._new_docs)
            gone = [(symbol, doc) for symbol, doc in sorted(old.items()) if new.get(symbol) != doc]
            execute("INSERT INTO docs(docs, rowid, doc) VALUES ('delete', ?, ?)", gone)
            fresh = [(symbol, doc) for symbol, doc in sorted(new.items()) if old.get(symbol) != doc]
            execute("INSERT INTO docs(rowid, doc) VALUES (?, ?)", fresh)
            self._old_docs, self._new_docs = [], []


_CUT = "DELETE FROM edges WHERE dst = ? AND src = ? AND how = ?"
_SYMBOL = (
    "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, 0) ON CONFLICT (id) DO UPDATE SET "
    "name = excluded.name, kind = excluded.kind, container = excluded.container, flags = excluded.flags"
)


def _pairs(base: int, places: Iterable[Place]) -> set[Pair]:
    return {(other << SHIFT | dst, base | src, how) for *_, src, other, dst, how in places}
