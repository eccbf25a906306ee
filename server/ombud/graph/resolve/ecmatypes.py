"""JavaScript's and TypeScript's types: their instances, what variables hold, what functions give, type arguments.

A type parameter is named ``<file>:<its definition>:<its name>``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import (
    ALIAS,
    ASYNC,
    ATTR,
    CLASS,
    CONS,
    ENUM_MEMBER,
    FUNCTION,
    GENERATOR,
    INDEX,
    INSTANCE,
    INTERFACE,
    NAME,
    PROPERTY,
    RETURNED,
    SELF,
    TUPLE,
    TYPE,
    TYPE_OF,
    UNION,
    VALUE,
    WITHIN,
)
from ombud.graph.resolve.ecmainfer import Env, is_open, replaced
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.members import CLASSES, HELD, WHEREVER
from ombud.graph.resolve.values import (
    BOUND,
    EXT,
    FUN,
    GEN,
    LIB,
    ME,
    OBJ,
    SYM,
    UNKNOWN,
    VAR,
    Value,
    Values,
    join,
)

if TYPE_CHECKING:
    from ombud.graph.facts import Symbol
    from ombud.graph.resolve import Sources
    from ombud.graph.resolve.view import View

_TYPES = (INTERFACE, TYPE)


class Typed(Engine):
    """See the module."""

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self.extras: dict[int, dict[int, dict[str, list[int]]]] = {}
        """File → symbol → members that are given to it behind its definition."""

    def _is(self, value: Value, kinds: Sequence[int]) -> bool:
        return value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in kinds

    def values_of(self, found: Values) -> Values:
        """Without the types, where a name is both a type and a value."""
        if len(found) < 2:
            return found
        return tuple(value for value in found if not self._is(value, _TYPES)) or found

    # -- types ----------------------------------------------------------------------------------------------------

    def parameter_of(self, view: View, scope: int, name: str) -> Values:
        """The type parameter that a name is in a scope; nothing where it is none."""
        while scope >= 0:
            owner = view.owner(scope)
            if owner > 0 and name in view.symbols[owner].generics:
                return (
                    (
                        VAR,
                        f"{view.file}:{view.symbols[owner].qualified}:{name}",
                        view.file,
                        view.symbols[owner].own,
                        name,
                    ),
                )
            scope = view.parent(scope)
        return UNKNOWN

    def parameters(self, view: View, symbol: Symbol) -> Sequence[str]:
        """The names of a definition's type parameters, as `parameter_of` makes them."""
        return [f"{view.file}:{symbol.qualified}:{name}" for name in symbol.generics]

    def bound_of(self, value: Value) -> Values:
        """What ``extends`` says of a type parameter."""
        view = self.view(value[2])
        rows = view.bound(value[3], f"<{value[4]}>")
        self.ask(view, f"<{value[4]}>")
        return join(*(self.of_binding(view, value[3], row) for row in rows))

    def instances(self, view: View, expr: int, scope: int, generics: Sequence[str] = ()) -> Values:
        """Instances of the type that an expression names."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == NAME:
            known = self.parameter_of(view, scope, view.names[a])
            return known or self._made(self.lookup(view, scope, a, WHEREVER))
        if op == ATTR:
            return self._made(self.denote(view, expr, scope, WHEREVER))
        if op == INDEX:
            return self.applied(view, a, b, scope, generics)
        if op == UNION:
            return join(self.instances(view, a, scope), self.instances(view, b, scope))
        if op == TUPLE:
            parts = []
            while a:
                _, head, a = view.exprs[3 * a : 3 * a + 3]
                parts.append(self.instances(view, head, scope) if head else UNKNOWN)
            return ((LIB, "tuple", tuple(parts)),)
        if op == TYPE_OF:
            return self.eval(view, a, scope, WHEREVER)
        if op in (CLASS, SELF):
            return tuple(
                (ME, value[1], value[2]) for value in self.eval(view, expr, scope, WHEREVER) if value[0] in (SYM, ME)
            )
        if op == WITHIN:
            return self.instances(view, b, a)
        if op == INSTANCE:
            return self.instances(view, a, scope)
        if op in (CONS, 0):
            return UNKNOWN
        return self._made(self.eval(view, expr, scope, WHEREVER))

    def _made(self, found: Values) -> Values:
        if len(found) > 1:
            found = tuple(one for one in found if self._is(one, (*_TYPES, *CLASSES)) or one[0] != SYM) or found
        return self.instance(found[0]) if len(found) == 1 else join(*(self.instance(one) for one in found))

    def instance(self, value: Value) -> Values:
        """Instances of a type that a value is."""
        what = value[0]
        if what == FUN:
            return (value,)
        if what == LIB:
            return ((LIB, value[1].removeprefix("typeof "), value[2]),)
        if what == GEN:
            names = self.view(value[1][1]).symbols[value[1][2]] if value[1][0] == SYM else None
            if names is not None and names.kind in CLASSES:
                args = dict(value[2])
                given = tuple(args.get(one, UNKNOWN) for one in self.parameters(self.view(value[1][1]), names))
                return ((OBJ, value[1][1], value[1][2], given),)
            return UNKNOWN
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind == TYPE and not symbol.flags & ALIAS:
                return ((OBJ, value[1], value[2], None),)
            if symbol.kind == FUNCTION:
                return ((OBJ, value[1], value[2], None),)
            if symbol.kind == ENUM_MEMBER:
                return ((OBJ, value[1], symbol.parent, None),)
            if symbol.kind in HELD:
                return join(*(self.instance(one) for one in self.contents((value,)) if one[0] != OBJ or one == value))
        return super().instance(value)

    def alias(self, file: int, symbol: int) -> Values:
        """Instances of what a name for a type stands for."""
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        return self.instances(view, that.value, that.own if that.own >= 0 else that.scope) if that.value else UNKNOWN

    def applied(self, view: View, base: int, args: int, scope: int, generics: Sequence[str]) -> Values:
        """Instances of a generic type with arguments."""
        del generics
        given: list[Values] = []
        while args:
            _, head, args = view.exprs[3 * args : 3 * args + 3]
            given.append(self.instances(view, head, scope) if head else UNKNOWN)
        named = self.denote(view, base, scope, WHEREVER)
        named = tuple(one for one in named if self._is(one, (*_TYPES, *CLASSES)) or one[0] != SYM) or named
        found: list[Values] = []
        for value in named:
            if value[0] == SYM:
                other = self.view(value[1])
                symbol = other.symbols[value[2]]
                if symbol.kind == TYPE and symbol.flags & ALIAS:
                    env = dict(zip(self.parameters(other, symbol), given, strict=False))
                    found.append(self.put(self.instance(value), env))
                    continue
            for one in self.instance(value):
                if one[0] == OBJ:
                    found.append(((OBJ, one[1], one[2], tuple(given)),))
                elif one[0] == LIB:
                    found.append(((LIB, one[1], tuple(given)),))
                else:
                    found.append((one,))
        return join(*found)

    def bases(self, view: View, symbol: int) -> list[tuple[Any, ...]]:
        """The classes directly above: (file, symbol, args), or (EXT,) for one of a library."""
        found: list[tuple[Any, ...]] = []
        that = view.symbols[symbol]
        for expr in that.bases:
            for value in self.instances(view, expr, that.own if that.own >= 0 else that.scope):
                if value[0] == OBJ and (value[1], value[2]) != (view.file, symbol):
                    found.append((value[1], value[2], value[3]))
                elif value[0] in (EXT, LIB, BOUND):
                    found.append((EXT,))
        return found

    def line(self, file: int, symbol: int) -> tuple[Any, ...]:
        """See `Members.line`. A function that is used as a constructor stands alone."""
        if self.view(file).symbols[symbol].kind == FUNCTION:
            return ((file, symbol, None),)
        return super().line(file, symbol)

    # -- what symbols hold ----------------------------------------------------------------------------------------

    def held(self, file: int, symbol: int) -> Values:
        """What a variable, a field or an accessor holds."""
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        if that.kind == PROPERTY and that.own >= 0:
            return self.returned(file, symbol)
        if that.kind == ENUM_MEMBER:
            return ((OBJ, file, that.parent, None),)
        if that.type:
            return self.instances(view, that.type, that.scope)
        given = [self.eval(view, that.value, that.scope, WHEREVER)] if that.value else []
        for what, value, start, _ in view.bound(that.scope, that.name):
            if what == VALUE and value:
                given.append(self.eval(view, value, that.scope, start))
        return join(*given)

    def returned(self, file: int, symbol: int) -> Values:
        """What a function gives: as declared, else what it returns."""
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        scope = that.own if that.own >= 0 else that.scope
        if that.type:
            return self.instances(view, that.type, scope)
        found = join(*(self.eval(view, expr, scope, WHEREVER) for expr in that.returns))
        if that.flags & GENERATOR:
            return ((LIB, "Generator", (found,)),)
        if that.flags & ASYNC:
            return ((LIB, "Promise", (join(*(self.awaited(one) for one in found)),)),)
        return found

    def closed(self, file: int, scope: int) -> Values:
        """What a function without a name gives."""
        view = self.view(file)
        return join(*(self.of_binding(view, scope, row) for row in view.bound(scope, RETURNED)))

    # -- type arguments -------------------------------------------------------------------------------------------

    def put(self, values: Values, env: Env) -> Values:
        """Values with type parameters replaced."""
        return replaced(values, None, env) if env and any(is_open(value) for value in values) else values

    def substitute(self, values: Values, receiver: Value | None, file: int, holder: int) -> Values:
        """See `Members.substitute`."""
        if receiver is None or not any(is_open(value) for value in values):
            return values
        env: Env = {}
        if receiver[0] == FUN:
            return self.put(values, dict(receiver[3]) if len(receiver) > 3 else {})
        if receiver[0] == SYM:
            given = receiver[3]
            receiver = given if given is not None and given[0] in (OBJ, ME) else (OBJ, receiver[1], receiver[2], None)
        if receiver[0] == OBJ:
            env = self.arguments(receiver, file, holder)
        elif receiver[0] == ME:
            env = self.arguments((OBJ, receiver[1], receiver[2], None), file, holder)
        return replaced(values, receiver, env)

    def arguments(self, receiver: Value, file: int, holder: int) -> Env:
        """What the type parameters of class ``holder`` are for an instance of it or of a class below it."""
        own = self.view(receiver[1])
        mine: Env = {}
        if receiver[3]:
            mine = dict(zip(self.parameters(own, own.symbols[receiver[2]]), receiver[3], strict=False))
        if (receiver[1], receiver[2]) == (file, holder):
            return mine
        for entry in self.line(receiver[1], receiver[2]):
            if entry[:2] == (file, holder) and entry[2]:
                view = self.view(file)
                given = [self.put(one, mine) for one in entry[2]]
                return mine | dict(zip(self.parameters(view, view.symbols[holder]), given, strict=False))
        return mine
