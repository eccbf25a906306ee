"""What calls give in JavaScript and TypeScript; what values hold that are iterated over or awaited."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    CALL,
    CLASS_KIND,
    CLASS_SCOPE,
    FUNCTION,
    TYPE,
)
from ombud.graph.resolve import ecmalib
from ombud.graph.resolve.ecmainfer import Env, infer, is_open
from ombud.graph.resolve.ecmavalues import Valued
from ombud.graph.resolve.members import HELD
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
    from ombud.graph.resolve.view import View


class Called(Valued):
    """See the module."""

    # -- calls ----------------------------------------------------------------------------------------------------

    def result(self, value: Value, count: int) -> Values:
        """What calling a value gives."""
        what = value[0]
        if what == GEN:
            made = self.instance(value)
            return made or self.put(self.result(value[1], count), dict(value[2]))
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind == FUNCTION and value[3] is not None and value[3][:3] == (SYM, value[1], value[2]):
                return ((OBJ, value[1], value[2], None),)
            if symbol.kind == TYPE:
                return UNKNOWN
        if what == FUN:
            return self._closure_result(value, count)
        if what == BOUND and value[1][0] == LIB:
            return ecmalib.called(self, value[1], value[2], ())  # type: ignore[arg-type]
        if what in (OBJ, ME):
            called = self._signature((OBJ, value[1], value[2], value[3] if what == OBJ else None), "<call>")
            return join(*(self.result(one, count) for one in called))
        if what in (EXT, LIB, BOUND):
            return ((EXT, ""),)
        return super().result(value, count)

    def _closure_result(self, value: Value, count: int) -> Values:
        view = self.view(value[1])
        env = dict(value[3]) if len(value) > 3 else {}
        if view.kind(value[2]) == CLASS_SCOPE:
            return join(*(self.result(one, count) for one in self._object_member(value, "<call>")))
        if len(value) > 4:
            return self.put(join(*(self.of_binding(view, value[2], row) for row in view.bound(value[2], "<new>"))), env)
        return self.put(self.once(("closure", value[1], value[2]), self.closed, value[1], value[2]), env)

    def outcome(self, functions: Values) -> Values:
        """What calling one of several functions gives."""
        return join(*(self.result(one, -1) for one in functions))

    def given(self, view: View, call: int, argument: int, scope: int, pos: int) -> Values:
        """What a call gives with its arguments; what a function expects of an argument behind others."""
        op, callee, count = view.exprs[3 * call : 3 * call + 3]
        arguments: list[Callable[[], Values]] = []
        while argument:
            _, head, argument = view.exprs[3 * argument : 3 * argument + 3]
            arguments.append(lambda head=head: self.eval(view, head, scope, pos) if head else UNKNOWN)  # type: ignore[misc]
        called = self.values_of(self.denote(view, callee if op == CALL else call, scope, pos))
        if op == CALL:
            return join(*(self._applied(one, count, arguments) for one in called))
        return tuple(self._inferred(one, arguments) for one in called)

    def _applied(self, value: Value, count: int, arguments: list[Callable[[], Values]]) -> Values:
        """What calling a value with arguments gives."""
        if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in HELD:
            held = self.values_of(self.contents((value,)))
            return join(*(self._applied(one, count, arguments) for one in held if one != value))
        if value[0] == BOUND and value[1][0] == LIB:
            return ecmalib.called(self, value[1], value[2], arguments)  # type: ignore[arg-type]
        found = self.result(value, count)
        made = value[0] == SYM and self._is(value, (CLASS_KIND,))
        if value[0] in (SYM, FUN) and (made or any(is_open(one) for one in found)):
            inferred = self._inferred(value, arguments)
            if inferred[0] == GEN:
                return self.instance(inferred) if made else self.put(found, dict(inferred[2]))
        return found

    def _inferred(self, value: Value, arguments: list[Callable[[], Values]]) -> Value:
        """A function with what its arguments say of its own type parameters."""
        if value[0] != SYM:
            return value
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        names = set(self.parameters(view, symbol))
        if not names:
            return value
        env: Env = {}
        for place, argument in enumerate(arguments):
            expected = self._parameter(value, place)
            if any(is_open(one) for one in expected):
                infer(self, expected, argument(), env, names, 0)
        return (GEN, value, tuple(sorted(env.items()))) if env else value

    def subscript(self, view: View, base: int, key: int, scope: int, pos: int) -> Values:
        """A function or a class with type arguments: ``f<T>``."""
        given: list[Values] = []
        while key:
            _, head, key = view.exprs[3 * key : 3 * key + 3]
            given.append(self.instances(view, head, scope) if head else UNKNOWN)
        found: list[Value] = []
        for value in self.values_of(self.denote(view, base, scope, pos)):
            if value[0] == SYM:
                other = self.view(value[1])
                env = zip(self.parameters(other, other.symbols[value[2]]), given, strict=False)
                found.append((GEN, value, tuple(env)))
            elif value[0] == BOUND and value[2] == "<new>" and value[1][0] == LIB:
                found.append((LIB, value[1][1].removeprefix("typeof "), tuple(given)))
            else:
                found.append(value)
        return tuple(found)

    # -- what is held ---------------------------------------------------------------------------------------------

    def element(self, value: Value) -> Values:
        """What iterating over a value gives."""
        what = value[0]
        if what == LIB:
            kind, args = value[1], value[2]
            if kind == "tuple":
                return join(*args)
            if kind in ecmalib.MAPS:
                return ((LIB, "tuple", args),) if len(args) > 1 else UNKNOWN
            if kind == "string":
                return ecmalib.STRING
            if kind in ecmalib.LISTS:
                return args[0] if args else UNKNOWN
            return ((EXT, ""),)
        if what in (OBJ, ME):
            found = self.member(value, "[Symbol.iterator]")
            return join(*(self.element(made) for one in found for made in self.result(one, 0) if made != value))
        if what == VAR:
            return join(*(self.element(one) for one in self.bound_of(value)))
        return ((EXT, ""),) if what in (EXT, BOUND) else UNKNOWN

    def part(self, value: Value, place: int) -> Values:
        """The part of a tuple at a place, counted from 1; of anything else, what it holds."""
        if value[0] == LIB and value[1] == "tuple":
            return value[2][place - 1] if place <= len(value[2]) else UNKNOWN
        return self.element(value)

    def item(self, value: Value) -> Values:
        """What ``value[key]`` gives."""
        what = value[0]
        if what == LIB:
            if value[1] == "Record":
                return value[2][1] if len(value[2]) > 1 else UNKNOWN
            return self.element(value)
        if what in (OBJ, ME):
            return self._signature((OBJ, value[1], value[2], value[3] if what == OBJ else None), "<index>")
        if what == FUN:
            view = self.view(value[1])
            rows = view.bound(value[2], "<index>") if view.kind(value[2]) == CLASS_SCOPE else []
            return join(*(self.of_binding(view, value[2], row) for row in rows))
        return ((EXT, ""),) if what in (EXT, BOUND) else UNKNOWN

    def awaited(self, value: Value) -> Values:
        """What ``await`` gives: what a promise holds, anything else itself."""
        if value[0] == LIB and value[1] in ecmalib.PROMISES:
            return join(*(self.awaited(one) for one in value[2][0])) if value[2] else UNKNOWN
        if value[0] == OBJ and value[3] is not None and (EXT,) in self.line(value[1], value[2]):
            return value[3][0] if len(value[3]) == 1 else (value,)
        return (value,)
