"""Calls of Java, C# and Kotlin: what is called, what it gives, what it gives to closures."""

from __future__ import annotations

from collections.abc import Sequence

from ombud.graph.facts import (
    ATTR,
    CALL,
    CLASS,
    CLASS_SCOPE,
    CONS,
    CONSTRUCTOR,
    GIVEN,
    INDEX,
    INSTANCE,
    NAME,
    NAMESPACE,
    TO_SYMBOL,
    TYPE,
    TYPE_OF,
)
from ombud.graph.resolve.fingerprint import ALL
from ombud.graph.resolve.jvlib import functional, gives, made
from ombud.graph.resolve.jvoverloads import Overloads
from ombud.graph.resolve.jvtypes import SOMETHING, TYPES
from ombud.graph.resolve.members import CALLED, CLASSES, HELD
from ombud.graph.resolve.types import WHEREVER
from ombud.graph.resolve.values import BOUND, EXT, FUN, LIB, ME, OBJ, PKG, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import View

Known = dict[str, Values]
"""What type parameters are, by their names."""


class Calls(Overloads):
    """See the module."""

    HOLDS_FUNCTIONS = True
    """Whether what a variable holds can be called by the variable's name."""

    # -- the callee -----------------------------------------------------------------------------------------------

    def call_parts(self, view: View, expr: int) -> tuple[int, int, int]:
        """What a call calls, the number of its arguments, and the list of their values (0 where nothing is known)."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        given = 0
        if op == GIVEN:
            given = b
            _, a, b = view.exprs[3 * a : 3 * a + 3]
        return a, b, given

    def callee(self, view: View, expr: int, scope: int, pos: int) -> Values:
        target, count, given = self.call_parts(view, expr)
        found = self.candidates(view, target, scope, pos)
        if not found:
            name = self.called(view, target)
            return ((EXT, name),) if name and not self.named(name) else UNKNOWN
        if sum(value[0] == SYM for value in found) < 2:
            return found if count < 0 or self.takes(found[0], count) else self.misfit(view, target, found)
        args = self.arguments_of(view, given, scope, pos) if given else ()
        return self.overload(found, count, args)

    def misfit(self, view: View, target: int, found: Values) -> Values:
        """What is meant where the only candidate does not take so many arguments."""
        del view, target
        return found

    def arguments_of(self, view: View, given: int, scope: int, pos: int) -> tuple[Values, ...]:
        return tuple(self.items(view, given, scope, pos))

    def candidates(self, view: View, target: int, scope: int, pos: int) -> Values:
        """All that a callee's name may mean, the nearest first."""
        op, a, b = view.exprs[3 * target : 3 * target + 3]
        if op == NAME:
            return self.function(view, scope, view.names[a], pos)
        if op == ATTR:
            base = self.eval(view, a, scope, pos) if a else UNKNOWN
            return tuple(
                dict.fromkeys(one for value in base for one in self.members_of(view, value, view.names[b], scope))
            )
        if op == INDEX:
            return self.candidates(view, a, scope, pos)
        if op == INSTANCE:
            return tuple(one for value in self.type_at(view, a, scope) for one in self.makers(value))
        if op == CLASS:
            owner = self.class_around(view, scope)
            return self.makers((SYM, view.file, owner, None)) if owner >= 0 else UNKNOWN
        if op == TYPE_OF:
            return tuple(one for value in self.eval(view, target, scope, pos) for one in self.makers(value))
        return tuple(value for value in self.eval(view, target, scope, pos) if value[0] != SYM)

    def members_of(self, view: View, value: Value, name: str, scope: int) -> Values:
        """Methods that a value has for the code in a scope: its own, and those that are given to it from outside."""
        del view, scope
        return self.members(value, name)

    def makers(self, value: Value) -> Values:
        """The constructors of a class; the class itself, where it has none of its own or one in its head."""
        if value[0] != SYM:
            return ((EXT, value[1]),) if value[0] in (EXT, LIB) else UNKNOWN
        view = self.view(value[1])
        found: list[Value] = []
        for file, at in self.parts(view, value[2]):
            symbol = self.view(file).symbols[at]
            if symbol.kind == TYPE:
                return self.aliased(file, at)
            own = self.bound_members(file, at, symbol.name)
            found.extend((SYM, file, one, None) for one in own if self.kind_at(file, one) == CONSTRUCTOR)
            if symbol.arity != (0, -1) and self.primary(self.view(file), at):
                found.append((SYM, file, at, None))
        return tuple(found) or (value,)

    def primary(self, view: View, symbol: int) -> bool:
        """Whether a class has a constructor in its head; not where the same one is written in the body as well."""
        that = view.symbols[symbol]
        return not any(
            self.kind_at(view.file, one) == CONSTRUCTOR and view.symbols[one].params == that.params
            for one in self.bound_members(view.file, symbol, that.name)
        )

    def aliased(self, file: int, symbol: int) -> Values:
        """The constructors of what a name for a type stands for."""
        found = self.once(("alias", file, symbol), self.alias, file, symbol)
        return tuple(one for value in found if value[0] == OBJ for one in self.makers((SYM, value[1], value[2], None)))

    def function(self, view: View, scope: int, text: str, pos: int) -> Values:
        """What a bare name means where it is called: of the innermost function or class that has a function of it."""
        self.ask(view, text)
        number = view.id(text)
        here = scope
        beyond: Values = UNKNOWN
        while here >= 0:
            if view.kind(here) == CLASS_SCOPE:
                owner = view.owner(here)
                if view.symbols[owner].kind != NAMESPACE:
                    found = self.implicit(view, (ME, view.file, owner), text, here)
                    if any(one[0] == SYM for one in found):
                        return found
                    if self.HOLDS_FUNCTIONS and self.fields(view.file, owner, text, None):
                        return ((EXT, text),)
                    beyond = beyond or found
            elif here:
                bindings = view.table(here).get(number, ()) if number >= 0 else ()
                local = [
                    value
                    for what, value, start, end in bindings
                    if what == TO_SYMBOL and (pos == WHEREVER or start <= pos < end)
                ]
                found = tuple((SYM, view.file, at, None) for at in local if view.symbols[at].kind in CALLED | CLASSES)
                if found:
                    return self.made(found)
                for value in self.receiver(view, here, pos):
                    found = self.implicit(view, value, text, here)
                    if any(one[0] == SYM for one in found):
                        return found
                    beyond = beyond or found
            here = view.parent(here)
        self.ask(view, ALL)
        found = self.top_function(view, scope, text)
        if any(one[0] == SYM for one in found):
            return self.made(found)
        return beyond or found

    def implicit(self, view: View, value: Value, text: str, scope: int) -> Values:
        """Methods of an instance that is not written."""
        return self.members_of(view, value, text, scope)

    def made(self, found: Values) -> Values:
        """Functions, and the constructors of classes among them (Kotlin)."""
        some: list[Value] = []
        for value in found:
            some.extend(self.makers(value) if value[0] == SYM and self.kind_of(value) in TYPES else (value,))
        return tuple(some)

    def top_function(self, view: View, scope: int, text: str) -> Values:
        """What a name means where it is called that no function or class of the file has."""
        raise NotImplementedError

    # -- what calls give ------------------------------------------------------------------------------------------

    def called_value(self, view: View, expr: int, scope: int, pos: int) -> Values:
        target, count, given = self.call_parts(view, expr)
        found = self.callee(view, expr, scope, pos)
        if not found:
            return UNKNOWN
        args = self.arguments_of(view, given, scope, pos) if given else ()
        explicit = self.explicit(view, target, scope)
        return join(*(self.gives(value, count, args, explicit) for value in found))

    def explicit(self, view: View, target: int, scope: int) -> tuple[Values, ...]:
        """Type arguments that a call writes."""
        op, _, b = view.exprs[3 * target : 3 * target + 3]
        return tuple(self.type_items(view, b, scope, ())) if op == INDEX and view.exprs[3 * b] == CONS else ()

    def gives(self, value: Value, count: int, args: Sequence[Values], explicit: tuple[Values, ...]) -> Values:
        """What calling one thing gives."""
        what = value[0]
        if what == SYM:
            view = self.view(value[1])
            symbol = view.symbols[value[2]]
            if symbol.kind in CLASSES:
                return self.made_of(value[1], value[2], value, count, args, explicit)
            if symbol.kind == CONSTRUCTOR:
                return self.made_of(value[1], symbol.parent, value, count, args, explicit)
            if symbol.kind in HELD:
                return self.contents((value,))
            found = self.once(("returned", value[1], value[2]), self.returned, value[1], value[2])
            found = self.substitute(found, value[3], value[1], symbol.parent)
            if symbol.generics and found:
                known = self.inferred(value, symbol.generics, count, args, explicit)
                found = self._replaced(found, None, known)
            return found
        if what == FUN:
            return self.once(("closure", value[1], value[2]), self.closed, value[1], value[2])
        if what == BOUND:
            return self.library_gives(value[1], value[2], args, explicit)
        if what == EXT:
            return explicit[0] if len(explicit) == 1 and explicit[0] else SOMETHING
        return UNKNOWN

    def made_of(
        self, file: int, symbol: int, maker: Value, count: int, args: Sequence[Values], explicit: tuple[Values, ...]
    ) -> Values:
        """An instance that a constructor makes."""
        names = self.view(file).symbols[symbol].generics
        if explicit or not names:
            return ((OBJ, file, symbol, explicit or None),)
        known = self.inferred(maker, names, count, args, ())
        return ((OBJ, file, symbol, tuple(known.get(name, UNKNOWN) for name in names) if known else None),)

    def inferred(
        self, value: Value, names: Sequence[str], count: int, args: Sequence[Values], explicit: tuple[Values, ...]
    ) -> Known:
        """What a function's type parameters are in a call."""
        if explicit:
            return dict(zip(names, explicit, strict=False))
        known: Known = {}
        if args:
            for wanted, given in zip(self.parameters_for(value, max(count, len(args))), args, strict=False):
                for want in wanted:
                    self.unify(want, given, set(names), known)
        return known

    def unify(self, want: Value, given: Values, names: set[str], known: Known) -> None:
        """Learn type parameters from an argument."""
        if not given:
            return
        if want[0] == VAR:
            if want[1] in names:
                some = tuple(one for one in given if one[0] != FUN and one != (LIB, "null", ()))
                if some and want[1] not in known:
                    known[want[1]] = some
            return
        for one in given:
            if one[0] == FUN:
                self.unify_closure(want, one, names, known)
            elif want[0] in (LIB, OBJ) and (wants := want[2] if want[0] == LIB else want[3]):
                for inside, has in zip(wants, self.given_args(want, one), strict=False):
                    for each in inside:
                        self.unify(each, has, names, known)

    def unify_closure(self, want: Value, closure: Value, names: set[str], known: Known) -> None:
        result: Values = UNKNOWN
        if want[0] == LIB:
            shape = functional(want)
            result = shape[1] if shape is not None else UNKNOWN
        elif want[0] == OBJ and (single := self.single(want)) is not None:
            result = self.returned(single[1], single[2])
            result = self.substitute(result, want, single[1], self.view(single[1]).symbols[single[2]].parent)
        if any(one[0] == VAR and one[1] in names for one in result):
            gives = self.once(("closure", closure[1], closure[2]), self.closed, closure[1], closure[2])
            for one in result:
                self.unify(one, gives, names, known)

    def given_args(self, want: Value, one: Value) -> Sequence[Values]:
        """The type arguments that a value has as an instance of the wanted type."""
        if want[0] == LIB:
            if one[0] == LIB:
                return one[2] if len(one[2]) == len(want[2]) else ()
            if one[0] in (OBJ, ME):
                some = [base[2] for base in self.library_bases(one) if base[0] == LIB and len(base[2]) == len(want[2])]
                return some[0] if some else ()
            return ()
        if one[0] in (OBJ, ME):
            found = self.arguments(one if one[0] == OBJ else (OBJ, one[1], one[2], None), want[1], want[2])
            return [found.get(name, UNKNOWN) for name in self.view(want[1]).symbols[want[2]].generics]
        return ()

    def library_gives(self, value: Value, name: str, args: Sequence[Values], explicit: tuple[Values, ...]) -> Values:
        """What a method of a library's instance gives."""
        if len(explicit) == 1 and explicit[0]:
            return explicit[0]
        if value[0] == PKG:
            return made(value[1], name, tuple(args)) or SOMETHING
        if value[0] != LIB:
            return SOMETHING
        results = tuple(
            one
            for some in args
            for closure in some
            if closure[0] == FUN
            for one in self.once(("closure", closure[1], closure[2]), self.closed, closure[1], closure[2])
        )
        return gives(value, name, results) or SOMETHING

    def result(self, value: Value, count: int) -> Values:
        return self.gives(value, count, (), ())

    # -- what closures are given ----------------------------------------------------------------------------------

    def passed(self, view: View, target: int, place: int, scope: int, pos: int) -> Values:
        argument, number = place >> 4, place & 15
        if view.exprs[3 * target] not in (CALL, GIVEN):
            return self.handed(self.eval(view, target, scope, pos), number)
        called, count, given = self.call_parts(view, target)
        outer = view.parent(scope) if view.owner(scope) < 0 else scope
        args = self.arguments_of(view, given, outer, pos) if given else ()
        found = self.overload_for(view, called, count, args, outer, pos)
        explicit = self.explicit(view, called, outer)
        return join(*(self.given_to(value, argument, number, count, args, explicit) for value in found))

    def overload_for(self, view: View, called: int, count: int, args: Sequence[Values], scope: int, pos: int) -> Values:
        found = self.candidates(view, called, scope, pos)
        return self.overload(found, count, args) if sum(value[0] == SYM for value in found) > 1 else found

    def given_to(
        self, value: Value, argument: int, number: int, count: int, args: Sequence[Values], explicit: tuple[Values, ...]
    ) -> Values:
        """What one callee gives a closure."""
        if value[0] == BOUND:
            return self.library_passes(value[1], value[2], argument, number)
        if value[0] != SYM:
            return SOMETHING if value[0] == EXT else UNKNOWN
        symbol = self.view(value[1]).symbols[value[2]]
        wanted = self.parameters_for(value, count)
        if argument >= len(wanted):
            return UNKNOWN
        found = self.handed(wanted[argument], number)
        names = symbol.generics or (
            self.view(value[1]).symbols[symbol.parent].generics if symbol.kind == CONSTRUCTOR else []
        )
        if names and found:
            plain = [tuple(one for one in some if one[0] != FUN) for some in args]
            found = self._replaced(found, None, self.inferred(value, names, count, plain, explicit))
        return found

    def handed(self, values: Values, number: int) -> Values:
        """What a closure that is an instance of a functional type is given as a parameter."""
        found: list[Values] = []
        for value in values:
            if value[0] == LIB:
                shape = functional(value)
                if shape is None:
                    found.append(SOMETHING if number != 15 else UNKNOWN)
                elif number == 15:
                    found.append(shape[2])
                elif number < len(shape[0]):
                    found.append(shape[0][number])
            elif value[0] == OBJ and (single := self.single(value)) is not None:
                some = self.declared(single[1], single[2])
                if number < len(some):
                    parent = self.view(single[1]).symbols[single[2]].parent
                    if self.kind_at(single[1], single[2]) == TYPE:
                        names = self.view(single[1]).symbols[single[2]].generics
                        found.append(self._replaced(some[number], None, dict(zip(names, value[3] or (), strict=False))))
                    else:
                        found.append(self.substitute(some[number], value, single[1], parent))
        return join(*found)

    def library_passes(self, value: Value, name: str, argument: int, number: int) -> Values:
        """What a method of a library's instance gives a closure."""
        del argument
        if number == 15:
            return UNKNOWN
        if value[0] != LIB or not value[2]:
            return SOMETHING
        if len(value[2]) > 1:
            return value[2][number] if number < len(value[2]) else SOMETHING
        both = number < 2 and name in ("sort", "sorted", "reduce", "max", "min", "Aggregate", "Sort")
        return value[2][0] if not number or both else SOMETHING
