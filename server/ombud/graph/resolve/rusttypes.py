"""Types of Rust: aliases, type parameters, what calls give, what closures are given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ALIAS,
    ATTR,
    CALL,
    CONS,
    ENUM_MEMBER,
    GIVEN,
    INDEX,
    NAME,
    PARAMETER,
    TYPE,
)
from ombud.graph.resolve import rustlib
from ombud.graph.resolve.members import CALLED, WHEREVER
from ombud.graph.resolve.values import BOUND, EXT, LIB, ME, OBJ, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import View

if TYPE_CHECKING:
    from ombud.graph.facts import Symbol

from ombud.graph.resolve.rustimpls import TYPES, Impls

_TURBOFISH = ("collect", "into", "parse", "sum", "try_into")


class Types(Impls):
    """See the module."""

    # -- types ----------------------------------------------------------------------------------------------------

    def instance(self, value: Value) -> Values:
        """See `Members.instance`. An instance of a variant is one of its enum."""
        if self.is_a(value, ENUM_MEMBER):
            return ((OBJ, value[1], self.view(value[1]).symbols[value[2]].parent, None),)
        if value[0] == EXT:
            return ((LIB, value[1].rpartition("::")[2], ()),)
        if self.is_a(value, TYPE) and self.view(value[1]).symbols[value[2]].owner and value[3] is not None:
            found = self.once(("alias", value[1], value[2]), self.alias, value[1], value[2])
            return self._replaced(found, value[3], self.told(value))
        return super().instance(value)

    def applied(self, view: View, base: int, args: int, scope: int, generics: Sequence[str]) -> Values:
        """See `Members.applied`. An alias with parameters is what it stands for, with these."""
        if view.exprs[3 * base] in (NAME, ATTR):
            for value in self.denote(view, base, scope, WHEREVER):
                if self.is_a(value, TYPE):
                    symbol = self.view(value[1]).symbols[value[2]]
                    if symbol.flags & ALIAS and symbol.generics:
                        given = self._arguments(view, args, scope, generics)
                        return self._replaced(
                            self.instance(value), None, dict(zip(symbol.generics, given, strict=False))
                        )
        return super().applied(view, base, args, scope, generics)

    def _arguments(self, view: View, args: int, scope: int, generics: Sequence[str] = ()) -> tuple[Values, ...]:
        if view.exprs[3 * args] != CONS:
            return (self.instances(view, args, scope, generics),)
        given = []
        while args:
            _, head, args = view.exprs[3 * args : 3 * args + 3]
            given.append(self.instances(view, head, scope, generics))
        return tuple(given)

    # -- calls ----------------------------------------------------------------------------------------------------

    def result(self, value: Value, count: int) -> Values:
        """See `Members.result`."""
        if value[0] == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in CALLED:
                given = self.once(("returned", value[1], value[2]), self.returned, value[1], value[2])
                receiver = value[3] if value[3] is None or value[3][0] != SYM else (OBJ, value[3][1], value[3][2], None)
                return self._replaced(given, receiver, self.told(value))
            if symbol.kind in (ENUM_MEMBER, TYPE):
                return self.instance(value)
        if value[0] == LIB and value[1] in ("fn", "Fn", "FnMut", "FnOnce"):
            return value[2][0] if value[2] else UNKNOWN
        if value[0] == LIB and value[1] in rustlib.POINTERS and value[2]:
            return join(*(self.result(one, count) for one in value[2][0]))
        if value[0] == VAR:
            return join(*(self.result(one, count) for one in self.bound_of(value)))
        return super().result(value, count)

    def told(self, value: Value) -> dict[str, Values]:
        """What the type parameters of a function are, as far as its receiver tells."""
        view, receiver = self.view(value[1]), value[3]
        symbol = view.symbols[value[2]]
        if receiver is None:
            return {}
        if receiver[0] == LIB and not symbol.owner:
            return dict(zip(symbol.generics, receiver[2], strict=False))
        args = receiver[2] if receiver[0] == LIB else receiver[3] if receiver[0] == OBJ else None
        if not args:
            return {}
        if not symbol.owner:
            return {}
        return dict(self._matched(view, symbol, args))

    def _matched(self, view: View, symbol: Symbol, args: Sequence[Values]) -> Iterable[tuple[str, Values]]:
        """The type parameters of an impl block beside the type arguments that they stand for."""
        expr = symbol.owner
        op, _, listed = view.exprs[3 * expr : 3 * expr + 3]
        if op != INDEX:
            return
        for given in args:
            if not listed or view.exprs[3 * listed] != CONS:
                return
            _, head, listed = view.exprs[3 * listed : 3 * listed + 3]
            if view.exprs[3 * head] == NAME and view.names[view.exprs[3 * head + 1]] in symbol.generics:
                yield view.names[view.exprs[3 * head + 1]], given

    def given(self, view: View, call: int, argument: int, scope: int, pos: int) -> Values:
        """See `Members.given`: also what the standard library makes of an argument."""
        op, callee, _ = view.exprs[3 * call : 3 * call + 3]
        if op == CALL:
            found = [
                self._made(value, self.eval(view, argument, scope, pos))
                for value in self.denote(view, callee, scope, pos)
            ]
            known = [one for one in found if one]
            if known:
                return join(*known)
        return super().given(view, call, argument, scope, pos)

    def _made(self, called: Value, argument: Values) -> Values | None:
        if called[0] == BOUND and called[1][0] == LIB:
            return rustlib.given(called[1], called[2], argument, lambda one: self.result(one, -1))
        if called[0] != EXT:
            return None
        *above, name = called[1].split("::")
        if name == "Some":
            return ((LIB, "Option", (argument,)),)
        if name == "Ok":
            return ((LIB, "Result", (argument,)),)
        if name == "Err":
            return ((LIB, "Result", (UNKNOWN, argument)),)
        if above and name == "clone":
            return argument
        if above and name in rustlib.MADE and (above[-1] in rustlib.POINTERS or above[-1] in rustlib.CELLS):
            return ((LIB, above[-1], (argument,)),)
        return None

    def passed(self, view: View, call: int, place: int, scope: int, pos: int) -> Values:
        """What a closure is given as a parameter."""
        op, a, _ = view.exprs[3 * call : 3 * call + 3]
        if op == GIVEN:
            op, a, _ = view.exprs[3 * a : 3 * a + 3]
        if op != CALL:
            return UNKNOWN
        found: list[Values] = []
        for value in self.denote(view, a, scope, pos):
            if value[0] == BOUND and value[1][0] == LIB:
                found.append(rustlib.passed(value[1], value[2], place & 15))
            elif value[0] == SYM:
                found.append(self._parameter(value, place >> 4, place & 15))
        return join(*found)

    def _parameter(self, value: Value, place: int, number: int) -> Values:
        """Parameter ``number`` of the function that parameter ``place`` of a function is."""
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        if symbol.kind not in CALLED or place >= len(symbol.params) or symbol.own < 0:
            return UNKNOWN
        self.ask(view, symbol.name)
        for what, expr, _, _ in view.bound(symbol.own, symbol.params[place]):
            if what != PARAMETER or not expr:
                continue
            held = self.eval(view, expr, symbol.own, WHEREVER)
            held = join(*(self.bound_of(one) if one[0] == VAR else (one,) for one in held))
            pointed = [one[2][0] for one in held if one[0] == LIB and one[1] in rustlib.POINTERS and one[2]]
            for one in join(held, *pointed):
                if one[0] == LIB and one[1] == "fn" and len(one[2]) > number + 1:
                    return self._replaced(one[2][number + 1], value[3], self.told(value))
        return UNKNOWN

    def subscript(self, view: View, base: int, key: int, scope: int, pos: int) -> Values:
        """``f::<T>`` of a generic function as well."""
        found: list[Values] = []
        for value in self.eval(view, base, scope, pos):
            kind = self.view(value[1]).symbols[value[2]].kind if value[0] == SYM else -1
            if kind in CALLED:
                args = self._arguments(view, key, scope) if key else ()
                own = self.view(value[1]).symbols[value[2]]
                found.append(((SYM, value[1], value[2], value[3] if own.owner or not args else (LIB, "", args)),))
            elif kind in TYPES and key:
                args = self._arguments(view, key, scope)
                found.append(tuple((SYM, value[1], value[2], (OBJ, value[1], value[2], args)) for _ in (0,)))
            elif value[0] == EXT or (value[0] == BOUND and key and value[2] in _TURBOFISH):
                found.append((value,))
            else:
                found.append(self.item(value))
        return join(*found)

    def item(self, value: Value) -> Values:
        """See `Members.item`."""
        if value[0] == LIB and value[1] in rustlib.POINTERS and value[2]:
            return join(*(self.item(one) for one in value[2][0]))
        if value[0] in (OBJ, ME):
            for one in self.implemented((value[1], value[2]), "Output")[:1]:
                return self._replaced(self.alias(*one), value, self.told((SYM, *one, value)))
            target = self.implemented((value[1], value[2]), "Target")[:1]
            return join(*(self.item(one) for at in target for one in self.alias(*at))) or ((EXT, ""),)
        return super().item(value)

    def element(self, value: Value) -> Values:
        """See `Members.element`: of an iterator of ours its ``Item``."""
        if value[0] == LIB:
            if value[1] in rustlib.POINTERS and value[2]:
                return join(*(self.element(one) for one in value[2][0]))
            return rustlib.element(value)
        if value[0] in (OBJ, ME):
            for one in self.implemented((value[1], value[2]), "Item")[:1]:
                return self._replaced(self.alias(*one), value, self.told((SYM, *one, value)))
            return ((EXT, ""),)
        if value[0] == VAR:
            return join(*(self.element(one) for one in self.bound_of(value)))
        return super().element(value)

    def unwrapped(self, value: Value) -> Values:
        """``?``: what an Option or a Result holds."""
        if value[0] == LIB:
            return value[2][0] if value[2] else ((EXT, ""),)
        return ((EXT, ""),)

    def library_call(self, value: Value, name: str) -> Values:
        """See `Members.library_call`."""
        if value[0] != LIB:
            return (value,) if name in rustlib.LIKE_ITSELF else ((EXT, ""),)
        return rustlib.library_call(value, name)

    def library_made(self, name: str) -> Values:
        """What a path into a library gives when it is called."""
        *above, last = name.split("::")
        if above and last in ("new", "default", "from", "with_capacity", "from_iter") and above[-1][:1].isupper():
            return ((LIB, above[-1], ()),)
        return ((LIB, last, ()),) if last[:1].isupper() else ((EXT, ""),)
