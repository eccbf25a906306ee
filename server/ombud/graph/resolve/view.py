"""One file's facts, laid out for looking things up."""

from __future__ import annotations

import zlib

from ombud.graph.facts import BINDING_WIDTH, OUTER, SCOPE_WIDTH, Facts, each, rows

Binding = tuple[int, int, int, int]
"""What, value, start, end."""


class View:
    """Facts of ``file``. Nothing here changes."""

    __slots__ = (
        "_ids",
        "_seed",
        "exprs",
        "facts",
        "file",
        "keys",
        "language",
        "names",
        "outer",
        "path",
        "scopes",
        "symbols",
        "tables",
    )

    def __init__(self, file: int, path: str, facts: Facts) -> None:
        self.file = file
        self.path = path
        self.language = facts.language
        self.facts = facts
        self.names = facts.names
        self.symbols = facts.symbols
        self.exprs = rows(facts.exprs)
        self.scopes = rows(facts.scopes)
        self.keys: dict[str, int] = {}
        # Numbers of files are close to one another, and checksums of close things are not apart enough.
        self._seed = zlib.crc32(file.to_bytes(8, "little"))
        self._ids: dict[str, int] | None = None
        self.outer = False
        """Whether a scope says that a name is bound further out."""
        tables: dict[int, dict[int, list[Binding]]] = {}
        for where, name, what, value, start, end in each(facts.bindings, BINDING_WIDTH):
            tables.setdefault(where, {}).setdefault(name, []).append((what, value, start, end))
            if what == OUTER:
                self.outer = True
        self.tables = tables
        """Scope → index of a name → its bindings, in the order of the text."""

    def table(self, scope: int) -> dict[int, list[Binding]]:
        """The bindings of a scope by the index of their name, in the order of the text."""
        return self.tables.get(scope, _NONE)

    def bound(self, scope: int, name: str) -> list[Binding]:
        """The bindings of a name in a scope."""
        number = self.id(name)
        return [] if number < 0 else self.table(scope).get(number, [])

    def id(self, name: str) -> int:
        """The index of a name, -1 where the file has none of it."""
        if self._ids is None:
            self._ids = {text: number for number, text in enumerate(self.names)}
        return self._ids.get(name, -1)

    def parent(self, scope: int) -> int:
        return self.scopes[scope * SCOPE_WIDTH]

    def kind(self, scope: int) -> int:
        return self.scopes[scope * SCOPE_WIDTH + 1]

    def owner(self, scope: int) -> int:
        """The symbol that the scope belongs to, -1 for a block or a closure."""
        return self.scopes[scope * SCOPE_WIDTH + 2]

    def symbol_of(self, scope: int) -> int:
        """The symbol of the innermost scope that has one."""
        scopes = self.scopes
        while (found := scopes[scope * SCOPE_WIDTH + 2]) < 0:
            scope = scopes[scope * SCOPE_WIDTH]
        return found

    def key(self, name: str) -> int:
        """The key under which an answer about ``name`` in this file is asked and provided."""
        found = self.keys.get(name)
        if found is None:
            found = self.keys[name] = zlib.crc32(name.encode("utf-8", "replace"), self._seed)
        return found


_NONE: dict[int, list[Binding]] = {}


def key(kind: str, *parts: str) -> int:
    """The key of a question that is not about one file: which file lies there, what a package holds."""
    return zlib.crc32("\0".join((kind, *parts)).encode("utf-8", "replace"))
