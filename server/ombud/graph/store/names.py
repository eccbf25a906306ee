"""The ids of names, for the writer: remembered as far as that costs little, and looked up beyond."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Mapping

from ombud.graph.store.naming import humps, initials

REMEMBERED = 150_000
"""Names that are remembered with their ids."""

_ID = "SELECT id FROM names WHERE name = ?1 COLLATE NOCASE AND name = ?1"


class Names:
    """``index`` makes the index of names, which is needed as soon as not all of them are remembered."""

    def __init__(self, connection: sqlite3.Connection, index: Callable[[], None]) -> None:
        self._connection = connection
        self._index = index
        self._ids: dict[str, int] = {}
        self._new: list[tuple[int, str]] = []
        self._next = 0
        self._all = False

    @property
    def first(self) -> bool:
        """Whether the store has no name yet, and nothing was asked here."""
        if not self._next:
            (last,) = self._connection.execute("SELECT max(id) FROM names").fetchone()
            self._next = (last or 0) + 1
            self._all = not last
            return self._all
        return False

    def ids(self, wanted: Collection[str]) -> Mapping[str, int]:
        """The ids of ``wanted``, new ones where there are none, maybe among others."""
        if not self._all or len(self._ids) > REMEMBERED:
            self._all = False
            self._index()
        if len(self._ids) > REMEMBERED:
            self._ids.clear()
        new = []
        for name in wanted:
            if name in self._ids:
                continue
            row = None if self._all else self._connection.execute(_ID, (name,)).fetchone()
            if row is None:
                row = (self._next,)
                self._next += 1
                new.append((row[0], name))
            self._ids[name] = row[0]
        if new:
            self._connection.executemany("INSERT INTO names VALUES (?, ?)", new)
            self._new += new
        return self._ids

    def flush(self) -> None:
        """Write the new names where they are searched."""
        if not self._new:
            return
        self._connection.executemany("INSERT INTO trigrams(rowid, name) VALUES (?, ?)", self._new)
        parts = ((at, humps(name)) for at, name in self._new)
        rows = ((at, initials(some)) for at, some in parts if some)
        self._connection.executemany("INSERT INTO humps(rowid, initials) VALUES (?, ?)", rows)
        self._new = []
