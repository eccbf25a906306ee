"""Facts while they are gathered: names and expressions once each, positions in UTF-16, unique qualified names."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    CONS,
    LAST,
    MODULE,
    MODULE_SCOPE,
    NAME,
    UNION,
    Export,
    Facts,
    Import,
    Symbol,
    place,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tree_sitter import Node

_LINE = re.compile(rb"\n")
SIGNATURE = 300
"""The most characters of a signature that are kept."""
DOC = 800
"""The most characters of a docstring that are kept."""


class Builder:
    """The columns of one file's `Facts`."""

    def __init__(self, language: str, source: bytes) -> None:
        self.source = source
        self.language = language
        self.package = ""
        self.ascii = source.isascii()
        self.symbols: list[Symbol] = []
        self.imports: list[Import] = []
        self.exports: list[Export] = []
        self.all: list[str] | None = None
        self.errors = 0
        self._names: dict[str, int] = {}
        self._exprs: dict[tuple[int, int, int], int] = {(0, 0, 0): 0}
        self._scopes = array("i")
        self._bindings = array("i")
        self._sites = array("i")
        self._qualified: dict[str, int] = {}
        self._starts: list[int] = []

    # -- names and expressions ------------------------------------------------------------------------------------

    def name(self, text: str) -> int:
        """The index of a name."""
        return self._names.setdefault(text, len(self._names))

    def expr(self, op: int, a: int = 0, b: int = 0) -> int:
        """The index of an expression, the same for equal ones."""
        exprs = self._exprs
        return exprs.setdefault((op, a, b), len(exprs))

    def named(self, text: str) -> int:
        """NAME."""
        return self.expr(NAME, self.name(text))

    def attr(self, base: int, text: str) -> int:
        """ATTR; unknown where ``base`` is."""
        return self.expr(ATTR, base, self.name(text)) if base else 0

    def dotted(self, text: str, separator: str = ".") -> int:
        """NAME and ATTRs for ``a.b.c``."""
        first, *rest = text.split(separator)
        expr = self.named(first)
        for part in rest:
            expr = self.attr(expr, part)
        return expr

    def cons(self, items: Iterable[int]) -> int:
        """A CONS list, 0 for none."""
        expr = 0
        for item in reversed(list(items)):
            expr = self.expr(CONS, item, expr)
        return expr

    def union(self, items: Iterable[int]) -> int:
        """UNIONs of all that are known."""
        expr = 0
        for item in items:
            if item and item != expr:
                expr = self.expr(UNION, expr, item) if expr else item
        return expr

    # -- positions ------------------------------------------------------------------------------------------------

    def text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def start(self, node: Node) -> tuple[int, int]:
        """Line and UTF-16 character of a node's first byte."""
        line, column = node.start_point
        return (line, column) if self.ascii or not column else (line, self._units(node.start_byte, column))

    def end(self, node: Node) -> tuple[int, int]:
        """Line and UTF-16 character behind a node's last byte."""
        line, column = node.end_point
        return (line, column) if self.ascii or not column else (line, self._units(node.end_byte, column))

    def end_at(self, offset: int) -> tuple[int, int]:
        """Line and UTF-16 character of an offset."""
        found = self._place(offset)
        return found >> 12, found & 0xFFF

    def _units(self, offset: int, column: int) -> int:
        before = self.source[offset - column : offset]
        return column if before.isascii() else len(before.decode("utf-8", "replace").encode("utf-16-le")) // 2

    def span(self, node: Node) -> tuple[int, int, int]:
        """Line, character and length of a node that ends on its first line (a longer one is cut there)."""
        line, character = self.start(node)
        if node.end_point[0] != line:
            return line, character, 0
        if self.ascii:
            return line, character, node.end_byte - node.start_byte
        return line, character, len(self.text(node).encode("utf-16-le")) // 2

    # -- rows -----------------------------------------------------------------------------------------------------

    def scope(self, parent: int, kind: int, symbol: int, start: int, end: int) -> int:
        """A new scope. The first is the module's."""
        self._scopes.extend((parent, kind, symbol, start, end))
        return len(self._scopes) // 5 - 1

    def parent_scope(self, scope: int) -> int:
        return self._scopes[scope * 5]

    def scope_kind(self, scope: int) -> int:
        return self._scopes[scope * 5 + 1]

    def symbol_of(self, scope: int) -> int:
        """The symbol of the innermost scope that has one: 0, the module, at the last."""
        while (found := self._scopes[scope * 5 + 2]) < 0:
            scope = self._scopes[scope * 5]
        return found

    def module(self, end: tuple[int, int], doc: str = "") -> None:
        """The module's scope and symbol: to be called first. ``end`` is the text's last position."""
        self.scope(-1, MODULE_SCOPE, 0, 0, len(self.source) + 1)
        self.symbols.append(Symbol("", "", MODULE, 0, 0, 0, (0, 0, *end), (0, 0, 0), flags=1, doc=doc[:DOC]))

    def symbol(
        self, name: str, kind: int, parent: int, scope: int, where: tuple[int, int, int, int], at: tuple[int, int, int]
    ) -> int:
        """A new symbol of ``parent``; the caller fills in the rest. Its qualified name is made unique."""
        above = self.symbols[parent].qualified
        qualified = f"{above}.{name}" if above else name
        count = self._qualified[qualified] = self._qualified.get(qualified, 0) + 1
        if count > 1:
            qualified = f"{qualified}~{count}"
        self.symbols.append(Symbol(name, qualified, kind, parent, scope, -1, where, at))
        return len(self.symbols) - 1

    def bind(self, scope: int, name: str, what: int, value: int, start: int = 0, end: int = 0) -> None:
        """A binding for uses from the offset ``start`` to the offset ``end`` (0 for as far as the scope goes)."""
        first = self._place(start) if start else 0
        self._bindings.extend((scope, self.name(name), what, value, first, self._place(end) if end else LAST))

    def _place(self, offset: int) -> int:
        starts = self._starts
        if not starts:
            starts.append(0)
            starts.extend(found.end() for found in _LINE.finditer(self.source))
        line = bisect_right(starts, offset) - 1
        column = offset - starts[line]
        return place(line, column if self.ascii or not column else self._units(offset, column))

    def site(self, kind: int, expr: int, scope: int, node: Node) -> None:
        """A site at the name ``node``."""
        self._sites.extend((kind, expr, scope, *self.span(node)))

    def site_at(self, kind: int, expr: int, scope: int, at: Sequence[int]) -> None:
        """A site at a place that is known already."""
        self._sites.extend((kind, expr, scope, *at))

    def facts(self) -> Facts:
        exprs = array("i")
        for row in self._exprs:
            exprs.extend(row)
        return Facts(
            self.language,
            self.package,
            list(self._names),
            self._scopes.tobytes(),
            self.symbols,
            exprs.tobytes(),
            self._bindings.tobytes(),
            self.imports,
            self.exports,
            self._sites.tobytes(),
            self.all,
            self.source.count(b"\n") + 1,
            self.errors,
        )
