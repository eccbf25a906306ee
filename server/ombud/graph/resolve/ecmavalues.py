"""JavaScript's and TypeScript's values: members of classes, objects and functions, what calls give, type arguments.

Beyond what `values` lists, a function without a name has what its type parameters are: ``(FUN, file, scope, env)``, and
a function or a class with given type arguments is ``(GEN, value, env)``. An ``env`` is a tuple of (type parameter,
values). An object literal is a FUN of its scope.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import (
    CLASS_KIND,
    CLASS_SCOPE,
    FUNCTION,
    NAMESPACE,
    PARAMETER,
    STATIC,
    SYMBOL,
    TO_IMPORT,
    TO_SYMBOL,
    VALUE,
)
from ombud.graph.resolve import ecmalib
from ombud.graph.resolve.ecmatypes import Typed
from ombud.graph.resolve.members import CALLED, CLASSES, HELD
from ombud.graph.resolve.values import (
    BOUND,
    EXT,
    FUN,
    GEN,
    LIB,
    ME,
    MOD,
    OBJ,
    SYM,
    UNKNOWN,
    UP,
    VAR,
    Value,
    Values,
    join,
)

if TYPE_CHECKING:
    from ombud.graph.facts import Symbol
    from ombud.graph.resolve.view import View


class Valued(Typed):
    """See the module."""

    # -- members --------------------------------------------------------------------------------------------------

    def member(self, value: Value, name: str) -> Values:
        """What ``value.name`` denotes. Names in angle brackets are those of `ombud.graph.extract.ecma`."""
        if name[:1] == "<" and name != "<...>":
            return self._asked(value, name)
        if name[:1] == "[" and name[:8] != "[Symbol.":
            return self._computed(value, name)
        return self._named(value, name)

    def _computed(self, value: Value, name: str) -> Values:
        """``value[name]``: a member that is declared under that constant, else any item."""
        found = self._named(value, name) if value[0] in (SYM, OBJ, ME, FUN) else UNKNOWN
        return found if any(one[0] != EXT for one in found) else self.item(value)

    def _named(self, value: Value, name: str) -> Values:
        """A member that the program names."""
        what = value[0]
        if what == SYM:
            return self._symbol_member(value, name)
        if what in (OBJ, ME):
            found = self.class_member(value[1], value[2], name, value)
            return found or (((EXT, name),) if name in ecmalib.OBJECT else UNKNOWN)
        if what == UP:
            return self._super_member(value, name)
        if what == FUN:
            return self._object_member(value, name)
        if what == GEN:
            return self.put(self.member(value[1], name), dict(value[2]))
        if what == LIB and value[1] == "Record" and len(value[2]) > 1:
            held: Values = value[2][1]
            return held
        if what == MOD and name == "default":
            return self.once(("export", value[1], name), self.export, self.view(value[1]), name)
        return super().member(value, name)

    def _symbol_member(self, value: Value, name: str) -> Values:
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        if symbol.kind in HELD:
            return join(*(self.member(one, name) for one in self.values_of(self.contents((value,)))))
        found = self.extra(view, value[2], name, static=True)
        if found:
            return tuple((SYM, value[1], at, value) for at in found)
        if symbol.kind in CLASSES:
            known = super().member(value, name)
            return known or (((EXT, name),) if name in ecmalib.FUNCTION or name in ecmalib.OBJECT else UNKNOWN)
        if symbol.kind in CALLED:
            return ((BOUND, (LIB, "Function", ((value,),)), name),) if name in ecmalib.FUNCTION else UNKNOWN
        if symbol.kind == NAMESPACE and symbol.own >= 0:
            return self.namespace_member(view, symbol, name)
        return UNKNOWN

    def namespace_member(self, view: View, symbol: Symbol, name: str) -> Values:
        """What a namespace binds. A library's module that is only added to may have more."""
        self.ask(view, name)
        found = [
            self.of_binding(view, symbol.own, binding)
            for binding in view.bound(symbol.own, name)
            if binding[0] in (TO_SYMBOL, TO_IMPORT, VALUE)
        ]
        quoted = symbol.signature.partition("module")[2].strip()[:1] in ("'", '"')
        return join(*found) or (((EXT, name),) if quoted else UNKNOWN)

    def extra(self, view: View, symbol: int, name: str, static: bool) -> list[int]:
        """Members given to a function or a class by an assignment or a namespace of its name."""
        self.ask(view, name)
        table = self.extras.get(view.file)
        if table is None:
            table = self.extras[view.file] = {}
            for number, one in enumerate(view.symbols):
                if one.owner and view.exprs[3 * one.owner] == SYMBOL:
                    members = table.setdefault(view.exprs[3 * one.owner + 1], {})
                    if one.kind != NAMESPACE:
                        members.setdefault(one.name, []).append(number)
                        continue
                    for word, bindings in view.table(one.own).items():
                        inner = [row[1] for row in bindings if row[0] == TO_SYMBOL]
                        members.setdefault(view.names[word], []).extend(inner)
        found = table.get(symbol, {}).get(name, ())
        return [at for at in found if bool(view.symbols[at].flags & STATIC or not view.symbols[at].owner) == static]

    def found_in(self, file: int, symbol: int, name: str) -> Sequence[int]:
        """The symbols that a class itself has under a name, static ones and others."""
        view = self.view(file)
        self.ask(view, name)
        own = view.symbols[symbol].own
        if own < 0 or view.symbols[symbol].kind in CALLED:
            return self.extra(view, symbol, name, static=False)
        found = [value for what, value, _, _ in view.bound(own, name) if what == TO_SYMBOL]
        return [*found, *self.extra(view, symbol, name, static=False)]

    def class_member(self, file: int, symbol: int, name: str, receiver: Value, above: bool = False) -> Values:
        """A member by the order of the classes above, static where it is asked of the class itself."""
        static = receiver[0] == SYM
        line = self.line(file, symbol)
        for entry in line[1:] if above else line:
            if entry == (EXT,):
                return ((EXT, name),)
            view = self.view(entry[0])
            found = [
                at for at in self.found_in(entry[0], entry[1], name) if bool(view.symbols[at].flags & STATIC) == static
            ]
            if found:
                return tuple((SYM, entry[0], at, receiver) for at in found)
        return UNKNOWN

    def _super_member(self, value: Value, name: str) -> Values:
        found = self.class_member(value[1], value[2], name, (ME, value[1], value[2]), above=True)
        if found or name != "constructor":
            return found
        for entry in self.line(value[1], value[2])[1:]:
            return ((EXT, name),) if entry == (EXT,) else ((SYM, entry[0], entry[1], None),)
        return UNKNOWN

    def _object_member(self, value: Value, name: str) -> Values:
        """A member of an object literal or of an object's type; a function has those of all functions."""
        view = self.view(value[1])
        if view.kind(value[2]) != CLASS_SCOPE:
            return ((BOUND, (LIB, "Function", ((value,),)), name),) if name in ecmalib.FUNCTION else UNKNOWN
        self.ask(view, name)
        found: list[Values] = []
        for binding in view.bound(value[2], name):
            if binding[0] == TO_SYMBOL:
                found.append(((SYM, view.file, binding[1], value),))
            else:
                found.append(
                    self.put(self.of_binding(view, value[2], binding), dict(value[3]) if len(value) > 3 else {})
                )
        if found:
            return join(*found)
        for binding in view.bound(value[2], "<...>"):
            self.ask(view, "<...>")
            known = join(*(self.member(one, name) for one in self.of_binding(view, value[2], binding)))
            if known:
                return known
        return ((EXT, name),) if name in ecmalib.OBJECT else UNKNOWN

    # -- names of our own -----------------------------------------------------------------------------------------

    def _asked(self, value: Value, name: str) -> Values:
        """``<0>``, ``<return>``, ``<new>``, ``<is>``, ``<index>`` of a value."""
        if name == "<return>":
            return self.result(value, -1)
        if name == "<index>":
            return self.item(value)
        if name == "<new>":
            return self._constructor(value)
        if name == "<is>":
            return self._guarded(value)
        if name == "<this>":
            return self._named_in(value, name) if value[0] == FUN else UNKNOWN
        return (
            self.put_in(value, lambda inner: self._parameter(inner, int(name[1:-1])))
            if name[1:-1].isdigit()
            else UNKNOWN
        )

    def put_in(self, value: Value, ask: Callable[[Value], Values]) -> Values:
        """An answer about the function in a GEN, with its type arguments."""
        return self.put(ask(value[1]), dict(value[2])) if value[0] == GEN else ask(value)

    def _constructor(self, value: Value) -> Values:
        """What ``new`` calls."""
        what = value[0]
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in HELD:
                return join(*(self._constructor(one) for one in self.values_of(self.contents((value,)))))
            return (
                ((SYM, value[1], value[2], (SYM, value[1], value[2], None)),) if symbol.kind == FUNCTION else (value,)
            )
        if what == LIB:
            return ((BOUND, value, "<new>"),)
        if what in (EXT, BOUND):
            return ((EXT, ""),)
        if what == GEN:
            return tuple((GEN, one, value[2]) for one in self._constructor(value[1]))
        if what in (OBJ, FUN):
            return self._signature(value, "<new>")
        return UNKNOWN

    def _signature(self, value: Value, name: str) -> Values:
        """The signature by which an instance is called or made."""
        view = self.view(value[1])
        if value[0] == FUN:
            rows = view.bound(value[2], name)
            return ((FUN, *value[1:3], dict_env(value), "new"),) if rows else UNKNOWN
        for entry in self.line(value[1], value[2]):
            if entry == (EXT,):
                return UNKNOWN
            other = self.view(entry[0])
            own = other.symbols[entry[1]].own
            self.ask(other, name)
            found = [self.of_binding(other, own, row) for row in other.bound(own, name)] if own >= 0 else []
            if found:
                return self.substitute(join(*found), value, entry[0], entry[1])
        return UNKNOWN

    def _guarded(self, value: Value) -> Values:
        if value[0] == SYM:
            view = self.view(value[1])
            symbol = view.symbols[value[2]]
            own = symbol.own
            self.ask(view, symbol.name)
            rows = view.bound(own, "<is>") if own >= 0 else []
            found = join(*(self.of_binding(view, own, row) for row in rows))
            if symbol.kind in HELD:
                return join(*(self._guarded(one) for one in self.contents((value,)) if one != value))
            return tuple(one for one in found if one[0] != VAR)
        if value[0] == FUN:
            return self._named_in(value, "<is>")
        return UNKNOWN

    def _named_in(self, value: Value, name: str) -> Values:
        """What a function's own scope says under one of our names."""
        view = self.view(value[1])
        found = join(*(self.of_binding(view, value[2], row) for row in view.bound(value[2], name)))
        return self.put(found, dict(value[3]) if len(value) > 3 else {})

    def _parameter(self, value: Value, place: int) -> Values:
        """What a function takes at a place."""
        what = value[0]
        if what == SYM:
            view = self.view(value[1])
            symbol = view.symbols[value[2]]
            if symbol.kind in HELD:
                return join(*(self._parameter(one, place) for one in self.contents((value,))))
            if symbol.kind == CLASS_KIND:
                made = self.class_member(value[1], value[2], "constructor", (ME, value[1], value[2]))
                return join(
                    *(
                        self.substitute(self._parameter(one, place), value, one[1], value[2])
                        for one in made
                        if one[0] == SYM
                    )
                )
            if symbol.kind not in CALLED or symbol.own < 0:
                return UNKNOWN
            self.ask(view, symbol.name)
            given = self.once(("parameter", view.file, symbol.own, place), self._at, view, symbol.own, place)
            return self.substitute(given, value[3], view.file, symbol.parent)
        if what == FUN:
            view = self.view(value[1])
            if view.kind(value[2]) == CLASS_SCOPE:
                return join(*(self._parameter(one, place) for one in self._object_member(value, "<call>")))
            given = self.once(("parameter", view.file, value[2], place), self._at, view, value[2], place)
            return self.put(given, dict(value[3]) if len(value) > 3 else {})
        if what == OBJ:
            return join(*(self._parameter(one, place) for one in self._signature(value, "<call>")))
        if what == BOUND and value[1][0] == LIB:
            return ecmalib.expected(self, value[1], value[2], place)  # type: ignore[arg-type]
        if what == LIB and value[1] == "<callback>" and place < len(value[2]):
            held: Values = value[2][place]
            return held
        return UNKNOWN

    def _at(self, view: View, scope: int, place: int) -> Values:
        """The parameter at a place of a function's scope; the last one may take the rest."""
        rows = [row for bindings in view.table(scope).values() for row in bindings if row[0] == PARAMETER]
        rest = bool(view.bound(scope, "<rest>"))
        if rest and rows and place >= len(rows) - 1:
            return join(*(self.element(one) for one in self.of_binding(view, scope, rows[-1])))
        return self.of_binding(view, scope, rows[place]) if place < len(rows) else UNKNOWN


def dict_env(value: Value) -> tuple[Any, ...]:
    return value[3] if len(value) > 3 else ()
