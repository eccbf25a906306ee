"""What others can learn from a file by asking for a name in it, as one number a name.

Equal numbers, equal answers: where an edit leaves a name's number alone, files that asked for it need not be resolved
again. Places are left out, so that lines can move; the order of bindings is not.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    CLASS_SCOPE,
    CLOSURE,
    FUNCTION_SCOPE,
    IMPORT,
    LITERAL,
    NAME,
    OUTER,
    PARAMETER,
    RETURNED,
    SYMBOL,
    TO_IMPORT,
    TO_SYMBOL,
    WITHIN,
)

if TYPE_CHECKING:
    from ombud.graph.facts import Symbol
    from ombud.graph.resolve.view import View

MASK = 0xFFFFFFFF
DEEPEST = 40
"""Expressions within one another that are told apart. What lies deeper counts as all of the file."""
ALL = "*"
"""The name whose number changes when any name comes or goes that a module binds."""


def mix(*parts: object) -> int:
    """A number for a row of numbers and texts."""
    return zlib.crc32("\0".join(map(str, parts)).encode("utf-8", "replace"))


def fingerprints(view: View) -> dict[str, int]:
    """Name → number, for all names that a scope of the file's module or of its classes binds."""
    return _Prints(view).all()


class _Prints:
    def __init__(self, view: View) -> None:
        self.view = view
        self._known: dict[tuple[int, int], int] = {}
        self._busy: set[tuple[int, int]] = set()
        self._all = -1

    def all(self) -> dict[str, int]:
        view = self.view
        found: dict[str, int] = {}

        def add(name: str, *parts: object) -> None:
            found[name] = (found.get(name, 0) + mix(*parts)) & MASK

        for number, symbol in enumerate(view.symbols):
            add(symbol.name, "symbol", *self.symbol(symbol, number))
        for scope in range(len(view.scopes) // 5):
            if scope and view.kind(scope) == FUNCTION_SCOPE:
                continue
            for name, bindings in view.table(scope).items():
                for order, (what, value, _, end) in enumerate(bindings):
                    add(
                        view.names[name],
                        "bound",
                        self.place(scope),
                        order,
                        what,
                        self.bound(what, value, scope),
                        end > 1 << 30,
                    )
        for item in view.facts.imports:
            if item.alias:
                add(item.alias, "import", *self.imported(item))
            else:
                add(ALL, "import", *self.imported(item))
        for one in view.facts.exports:
            add(one.name, "export", self.expr(one.local, 0), one.module, one.source)
        for name in view.table(0):
            add(ALL, view.names[name])
        add(ALL, view.facts.all, view.facts.package)
        return found

    def place(self, scope: int) -> str:
        """A scope by the name of what it belongs to."""
        owner = self.view.owner(scope)
        return self.view.symbols[owner].qualified if owner >= 0 else "?"

    def symbol(self, symbol: Symbol, number: int) -> tuple[object, ...]:
        scope, own = symbol.scope, symbol.own
        returns = () if symbol.type else [self.expr(one, own if own >= 0 else scope) for one in symbol.returns]
        return (
            *(symbol.qualified, symbol.kind, symbol.flags, symbol.arity, symbol.params, symbol.generics),
            *(self.expr(symbol.type, scope), self.expr(symbol.value, scope), self.expr(symbol.owner, scope)),
            *([self.expr(one, scope) for one in symbol.bases], [self.expr(one, scope) for one in symbol.decorators]),
            *(returns, self.parameters(own) if own >= 0 and number and self.view.kind(own) == FUNCTION_SCOPE else 0),
        )

    def parameters(self, scope: int) -> int:
        """What a function's parameters are declared to be."""
        view = self.view
        rows = [
            (view.names[name], what, self.expr(value, scope))
            for name, bindings in view.table(scope).items()
            for what, value, _, _ in bindings
            if what == PARAMETER or view.names[name].startswith("<")
        ]
        return mix(*rows)

    def imported(self, item: object) -> tuple[object, ...]:
        return tuple(getattr(item, name) for name in ("module", "name", "alias", "level", "flags"))

    def bound(self, what: int, value: int, scope: int) -> int:
        view = self.view
        if what == TO_SYMBOL:
            return mix(view.symbols[value].qualified)
        if what == TO_IMPORT:
            return mix(*self.imported(view.facts.imports[value]))
        return value if what == OUTER else self.expr(value, scope)

    def expr(self, expr: int, scope: int) -> int:
        """A number for an expression with all that its names are within the functions around it."""
        if not expr:
            return 0
        key = (expr, scope)
        found = self._known.get(key)
        if found is not None:
            return found
        if key in self._busy:
            return 1
        if len(self._busy) > DEEPEST:
            return self._whole()
        self._busy.add(key)
        op, a, b = self.view.exprs[3 * expr : 3 * expr + 3]
        found = self._known[key] = self._expr(op, a, b, scope)
        self._busy.discard(key)
        return found

    def _whole(self) -> int:
        """A number for everything that the file says."""
        if self._all < 0:
            view = self.view
            facts = view.facts
            self._all = mix(view.names, view.exprs, view.scopes, facts.bindings, facts.imports, facts.symbols)
        return self._all

    def _expr(self, op: int, a: int, b: int, scope: int) -> int:
        view = self.view
        if op == NAME:
            return mix(op, view.names[a], self._local(a, scope))
        if op == ATTR:
            return mix(op, self.expr(a, scope), view.names[b])
        if op == LITERAL:
            return mix(op, view.names[a], self.expr(b, scope))
        if op == SYMBOL:
            return mix(op, view.symbols[a].qualified)
        if op == IMPORT:
            return mix(op, *self.imported(view.facts.imports[a]))
        if op == CLOSURE:
            return mix(op, *(self.expr(value, a) for _, value, _, _ in view.bound(a, RETURNED)), self.parameters(a))
        if op == WITHIN:
            return mix(op, self.expr(b, a))
        if op in _COUNTED:
            return mix(op, self.expr(a, scope), b)
        return mix(op, self.expr(a, scope), self.expr(b, scope))

    def _local(self, name: int, scope: int) -> int:
        """What the functions around a scope bind a name to; 0 where none does."""
        view = self.view
        while scope > 0 and view.kind(scope) != CLASS_SCOPE:
            bindings = view.table(scope).get(name)
            if bindings:
                rows = [(what, self.bound(what, value, scope), end > 1 << 30) for what, value, _, end in bindings]
                return mix(scope and 1, *rows)
            scope = view.parent(scope)
        return 0


_COUNTED = (3, 5, 22)
"""CALL, ELEM and PASSED, whose second part is a number."""
