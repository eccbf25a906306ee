"""The impl blocks of all files: which members they give a type."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    DECLARES,
    INDEX,
    NAME,
    TYPE,
    WITHIN,
)
from ombud.graph.resolve.lexical import Lexical
from ombud.graph.resolve.members import CLASSES
from ombud.graph.resolve.rustcrates import Crates
from ombud.graph.resolve.values import LIB, ME, OBJ, SYM, Value
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.resolve import Sources


TYPES = CLASSES | {TYPE}
"""Kinds of symbols that are types."""


def written(view: View, expr: int) -> str:
    """The last name of a type as it is written."""
    for _ in range(50):
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == NAME:
            return view.names[a]
        if op == ATTR:
            return view.names[b]
        if op == INDEX:
            expr = a
        elif op == WITHIN:
            expr = b
        else:
            break
    return ""


class Impls(Lexical):
    """See the module."""

    crates: Crates

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self._members: dict[str, dict[str, list[tuple[int, int]]]] = {}
        """Name → type as written → members of that name in impl blocks of that type."""
        self._stale: set[int] = set()
        self._aliases: dict[str, bool] = {}

    def forget(self, files: Iterable[int]) -> None:
        """See `World.forget`. The members of impl blocks are kept, and looked through anew for these files only."""
        changed = set(files)
        super().forget(changed)
        self._stale |= changed
        self._aliases.clear()

    def also_provided(self, view: View) -> dict[int, int]:
        """Members of impl blocks by type and name, and that there are modules with a path of their own."""
        found: dict[int, int] = {}
        types = {symbol.name for symbol in view.symbols if symbol.kind in CLASSES}
        for symbol in view.symbols:
            if symbol.owner:
                asked = key("impl", written(view, symbol.owner), symbol.name)
                found[asked] = key("found", str(found.get(asked, 0)), view.path, symbol.qualified)
                if written(view, symbol.owner) not in types:
                    found[key("impl alias", symbol.name)] = key("found", view.path, symbol.qualified)
        aliases = [symbol.name for symbol in view.symbols if symbol.kind == TYPE and not symbol.owner]
        if aliases:
            found[key("aliases")] = key("found", view.path, *sorted(aliases))
        paths = [(item.module, item.name) for item in view.facts.imports if item.flags & DECLARES and item.name]
        if paths:
            found[key("rust paths")] = key("found", view.path, *map(str, paths))
        found[key("rust folder", posixpath.dirname(view.path))] = key("found", view.path)
        return found

    def is_a(self, value: Value, kind: int) -> bool:
        """Whether a value is a symbol of that kind."""
        return value[0] == SYM and self.view(value[1]).symbols[value[2]].kind == kind

    def implemented(self, holder: tuple[object, object], name: str) -> list[tuple[int, int]]:
        """Members of a name in the impl blocks of a type: those of its own before those of traits."""
        file, at = holder
        called = self.view(file).symbols[at].name if isinstance(file, int) and isinstance(at, int) else str(at)
        self.asked.update((key("impl", called, name), key("impl alias", name), key("aliases")))
        found = []
        candidates = self._candidates(name)
        some = list(candidates.get(called, ()))
        for other, rows in candidates.items():
            if other != called and self._is_alias(other):
                some += rows
        for other_file, symbol in some:
            that = self.view(other_file).symbols[symbol]
            for value in self.once(("owner", other_file, symbol), self._owner, other_file, symbol):
                if value[:2] == holder if value[0] == "" else value[1:3] == holder:
                    found.append((bool(that.bases), other_file, symbol))
                    break
        own = [one[1:] for one in found if not one[0]]
        return own[:1] or [one[1:] for one in found]

    def _is_alias(self, name: str) -> bool:
        """Whether a name is one of another type's names."""
        found = self._aliases.get(name)
        if found is None:
            found = self._aliases[name] = any(
                self.view(file).symbols[symbol].kind == TYPE and not self.view(file).symbols[symbol].owner
                for file, symbol in self.sources.named(name, self.languages)
            )
        return found

    def _owner(self, file: int, symbol: int) -> tuple[tuple[object, ...], ...]:
        """The types that a member's impl block is of."""
        view = self.view(file)
        that = view.symbols[symbol]
        found: list[tuple[object, ...]] = []
        for value in self.instances(view, that.owner, that.scope, that.generics):
            if value[0] in (OBJ, ME):
                found.append((OBJ, value[1], value[2]))
            elif value[0] == LIB:
                found.append(("", value[1]))
        return tuple(found)

    def _candidates(self, name: str) -> dict[str, list[tuple[int, int]]]:
        """Members of impl blocks with a name, by the type as it is written."""
        if self._stale:
            self._refresh()
        found = self._members.get(name)
        if found is None:
            found = self._members[name] = {}
            for file, symbol in self.sources.named(name, self.languages):
                view = self.view(file)
                that = view.symbols[symbol]
                if that.owner:
                    found.setdefault(written(view, that.owner), []).append((file, symbol))
        return found

    def _refresh(self) -> None:
        stale, self._stale = self._stale, set()
        for types in self._members.values():
            for rows in types.values():
                rows[:] = [row for row in rows if row[0] not in stale]
        present = set(self.sources.paths().values())
        for file in sorted(stale & present):
            if self.sources.language(file) not in self.languages:
                continue
            view = self.view(file)
            for number, symbol in enumerate(view.symbols):
                if symbol.owner and symbol.name in self._members:
                    rows = self._members[symbol.name].setdefault(written(view, symbol.owner), [])
                    rows.append((file, number))
                    rows.sort(key=lambda row: (self.sources.path(row[0]), row[1]))
