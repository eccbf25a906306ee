"""The rules of languages without rules of their own: what a file itself defines, and nothing beyond it.

A name that the file defines more than once, as overloads or in branches, leads nowhere: its calls stay loose, and the
query that asks for them is told that there are several candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    CALL_SITE,
    CONSTRUCTOR,
    NAMESPACE,
    PARAMETER,
    TO_SYMBOL,
)
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.types import CLASSES
from ombud.graph.resolve.values import EXT, SYM, UNKNOWN, Value, Values, join

if TYPE_CHECKING:
    from ombud.graph.resolve import Sources
    from ombud.graph.resolve.view import Binding, View

LOCAL: Value = (EXT, "")
"""What a variable or a parameter holds."""
_IMPLICIT = frozenset(("dart", "elixir", "scala", "swift", "zig"))
"""Languages in which a bare name may be a member of what is around it."""

_CONSTRUCTORS = {"dart": "new", "swift": "init"}


class Plain(Engine):
    """See the module."""

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self.CLASS_NAMES = family in _IMPLICIT

    def imported(self, view: View, number: int) -> Values:
        """Imports are not followed."""
        del view, number
        return UNKNOWN

    def export(self, view: View, name: str) -> Values:
        """Nothing is asked of another file."""
        del view, name
        return UNKNOWN

    # -- names ----------------------------------------------------------------------------------------------------

    def of_binding(self, view: View, scope: int, binding: Binding) -> Values:
        return (LOCAL,) if binding[0] == PARAMETER else super().of_binding(view, scope, binding)

    def chosen(self, view: View, scope: int, bindings: list[Binding], pos: int) -> Values | None:
        """The one symbol, or a class with the object beside it (Scala), or nothing."""
        del scope, pos
        some = dict.fromkeys(binding[1] for binding in bindings if binding[0] == TO_SYMBOL)
        kinds = [view.symbols[number].kind for number in some]
        if len(some) == 1 or (len(some) == 2 and NAMESPACE in kinds and any(kind in CLASSES for kind in kinds)):
            return tuple((SYM, view.file, number, None) for number in some)
        return UNKNOWN if some else (LOCAL,)

    def bound_symbols(self, view: View, scope: int, name: str) -> Sequence[int]:
        found = dict.fromkeys(value for what, value, _, _ in view.bound(scope, name) if what == TO_SYMBOL)
        return list(found) if len(found) == 1 else ()

    def denote(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """Members are those of the object, where a class has one beside it."""
        op, base, name = view.exprs[3 * expr : 3 * expr + 3]
        if op != ATTR:
            return super().denote(view, expr, scope, pos)
        values = self.eval(view, base, scope, pos)
        objects = [value for value in values if self._kind(value) == NAMESPACE]
        return join(*(self.member(value, view.names[name]) for value in objects or values))

    def member(self, value: Value, name: str) -> Values:
        return UNKNOWN if value == LOCAL else super().member(value, name)

    def _kind(self, value: Value) -> int:
        return self.view(value[1]).symbols[value[2]].kind if value[0] == SYM else -1

    # -- calls ----------------------------------------------------------------------------------------------------

    def targets(self, kind: int, found: Values) -> list[tuple[int, int]]:
        """A call of a class is one of its constructor, if it has just one; a module cannot be called."""
        targets = super().targets(kind, found)
        if kind != CALL_SITE:
            return targets
        called: list[tuple[int, int]] = []
        applied: list[tuple[int, int]] = []
        for file, number in targets:
            view = self.view(file)
            symbol = view.symbols[number]
            if symbol.kind == NAMESPACE:
                applied += [(file, one) for one in self.bound_symbols(view, symbol.own, "apply")]
            elif symbol.kind in CLASSES:
                name = _CONSTRUCTORS.get(self.family, symbol.name)
                own = self.bound_symbols(view, symbol.own, name) if symbol.own >= 0 else ()
                made = [one for one in own if view.symbols[one].kind == CONSTRUCTOR]
                called.append((file, made[0] if made else number))
            else:
                called.append((file, number))
        return applied if self.family == "scala" and applied else called if len(called) == 1 else []

    def called(self, view: View, expr: int) -> str:
        """The bare name: what a name is looked up by may say more (`ombud.graph.extract.plainrules`)."""
        name = super().called(view, expr)
        if self.family == "elixir":
            return name.partition("/")[0]
        if self.family == "scala":
            return name.removeprefix("new ")
        return name.rpartition(".")[2] if self.family == "lua" else name


ENGINE = Plain
