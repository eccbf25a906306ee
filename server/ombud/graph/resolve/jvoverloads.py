"""Which overload a call means in Java, C# and Kotlin.

It is chosen as the languages do, by number and types of the arguments, as far as these are known. What is not known
excludes nothing; where several are left that differ, none is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ombud.graph.facts import (
    ABSTRACT,
    METHOD,
    PARAMETER,
    TYPE,
)
from ombud.graph.resolve.engine import WHEREVER
from ombud.graph.resolve.jvlib import PRIMITIVES, THROWN, WIDER, functional, is_object, narrower
from ombud.graph.resolve.jvmish import Names
from ombud.graph.resolve.jvtypes import BEYOND
from ombud.graph.resolve.members import CLASSES, HELD
from ombud.graph.resolve.values import BOUND, EXT, FUN, LIB, ME, OBJ, SYM, UNKNOWN, VAR, Value, Values, join


class Overloads(Names):
    """See the module."""

    def overload(self, found: Values, count: int, args: Sequence[Values]) -> Values:
        """Those of several candidates that a call means."""
        ours = [value for value in found if value[0] == SYM]
        if count < 0:
            return self.referred(ours)
        fit = [value for value in ours if self.takes(value, count)]
        if len(fit) < 2:
            return tuple(fit or ours[:1] if len(ours) == 1 else fit) or self.unfit(found)
        scores = [(self.score(value, args, count), value) for value in fit]
        able = [(score, value) for score, value in scores if score is not None]
        if not able:
            return self.distinct(fit)
        best = max(score for score, _ in able)
        first = [value for score, value in able if score == best]
        if len(able) > 1 and self.open_between(first[0], [value for _, value in able], args, count):
            return UNKNOWN
        return self.distinct(first)

    def open_between(self, first: Value, able: list[Value], args: Sequence[Values], count: int) -> bool:
        """Whether what is not known of the arguments may decide between candidates."""
        blank = [place for place in range(count) if place >= len(args) or not self.is_known(args[place])]
        if not blank:
            return False
        mine = self.parameters_for(first, count)
        for other in able:
            theirs = self.parameters_for(other, count)
            if any(mine[place : place + 1] != theirs[place : place + 1] for place in blank):
                return True
        return False

    def is_known(self, some: Values) -> bool:
        """Whether the type of a value is known."""
        return bool(some) and all(one[0] in (OBJ, ME, FUN, VAR) or (one[0] == LIB and one[1]) for one in some)

    def unfit(self, found: Values) -> Values:
        """None of the candidates takes so many arguments: one of a class above in a library may."""
        return tuple(value for value in found if value[0] != SYM) or UNKNOWN

    def referred(self, ours: list[Value]) -> Values:
        """What a reference to a method by name means: the only one of its class."""
        return self.distinct(ours)

    def distinct(self, some: list[Value]) -> Values:
        """One that the others are overridden by; nothing where they are different methods of one class."""
        first = some[0]
        same = [value for value in some if value[1] == first[1] and self.parent_of(value) == self.parent_of(first)]
        if len(same) == 1:
            return (first,)
        arity = {self.arity_of(value) for value in same}
        return (first,) if len(arity) > 1 and len(same) == 2 and not first else UNKNOWN

    def parent_of(self, value: Value) -> int:
        return self.view(value[1]).symbols[value[2]].parent

    def arity_of(self, value: Value) -> tuple[int, int]:
        return self.view(value[1]).symbols[value[2]].arity

    def takes(self, value: Value, count: int) -> bool:
        if value[0] != SYM:
            return True
        least, most = self.arity_of(value)
        symbol = self.view(value[1]).symbols[value[2]]
        if symbol.kind in HELD:
            return True
        return least <= count and (most < 0 or count <= most)

    def parameters_for(self, value: Value, count: int) -> list[Values]:
        """What a function's parameters are declared to be, as many as there are arguments."""
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        found = list(self.declared(value[1], value[2]))
        if symbol.arity[1] < 0 and found and count >= len(found):
            spread = found[-1]
            inner = join(*(one[2][0] if one[0] == LIB and one[2] else () for one in spread))
            found[-1:] = [inner] * (count - len(found) + 1)
        return [self.substitute(one, value[3], value[1], symbol.parent) for one in found[:count]]

    def declared(self, file: int, symbol: int) -> tuple[Values, ...]:
        """What a function's parameters are declared to be."""
        return self.once(("parameters", file, symbol), self._declared, file, symbol)

    def _declared(self, file: int, symbol: int) -> tuple[Values, ...]:
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        found: list[Values] = []
        for name in that.params:
            rows = [row for row in view.bound(that.own, name) if row[0] == PARAMETER] if that.own >= 0 else []
            if rows and rows[0][1]:
                found.append(self.eval(view, rows[0][1], that.own, WHEREVER))
            elif that.kind in CLASSES:
                fields = [at for at in self.bound_members(file, symbol, name) if view.symbols[at].kind in HELD]
                found.append(self.held(file, fields[0]) if fields else UNKNOWN)
            else:
                found.append(UNKNOWN)
        return tuple(found)

    def score(self, value: Value, args: Sequence[Values], count: int) -> float | None:
        """How well a candidate takes these arguments, None where it cannot."""
        total = 0.0
        symbol = self.view(value[1]).symbols[value[2]]
        if symbol.arity[1] < 0:
            total -= 0.5
        elif symbol.arity[0] != count:
            total -= 0.25  # A default would have to be filled in.
        for wanted, given in zip(self.parameters_for(value, count), args, strict=False):
            some = [self.fits(one, want) for one in given for want in wanted]
            known = [one for one in some if one is not None]
            if some and not known:
                return None
            total += max(known, default=0.0)
        return total

    def fits(self, given: Value, wanted: Value) -> float | None:
        """How well a value fits a parameter: None for not at all, 0 where nothing is known."""
        if wanted[0] == VAR:
            if given[:2] == wanted[:2]:
                return 2.0
            bounds = self.bound_of(wanted)
            some = [self.fits(given, bound) for bound in bounds if bound[0] != VAR]
            return None if some and all(one is None for one in some) else 0.2
        if given[0] in (EXT, BOUND, VAR) or (given[0] == LIB and not given[1]):
            return self.fits_unknown(given, wanted)
        if given[0] == FUN:
            return self.fits_closure(given, wanted)
        if given[0] in (OBJ, ME):
            return self.fits_instance(given, wanted)
        if given[0] == LIB:
            return self.fits_library(given, wanted)
        return 0.0

    def fits_unknown(self, given: Value, wanted: Value) -> float | None:
        if given[0] == VAR:
            some = [self.fits(bound, wanted) for bound in self.bound_of(given) if bound[0] != VAR]
            if some:
                return max((one for one in some if one is not None), default=None)
            return 0.1 if wanted[0] == LIB and is_object(wanted[1]) else 0.0
        return 0.0

    def fits_instance(self, given: Value, wanted: Value) -> float | None:
        if wanted[0] in (OBJ, ME):
            for depth, entry in enumerate(self.line(given[1], given[2])):
                if entry != BEYOND and self.same_class(entry, wanted):
                    return 3.0 - min(depth, 20) / 20
            return None
        if wanted[0] == LIB:
            if is_object(wanted[1]):
                return 0.1
            names = [one[1] for one in self.library_bases(given) if one[0] == LIB]
            if wanted[1] in names:
                return 2.0
            line = self.line(given[1], given[2])
            if wanted[1].endswith(THROWN) and not any(name.endswith(THROWN) for name in names):
                return None
            return 0.3 if line and line[-1] == BEYOND and wanted[1] not in PRIMITIVES else None
        return 0.0

    def same_class(self, entry: Sequence[Any], wanted: Value) -> bool:
        return (entry[0], entry[1]) == (wanted[1], wanted[2])

    def fits_library(self, given: Value, wanted: Value) -> float | None:
        name = given[1]
        if name == "null":
            return None if wanted[0] == LIB and wanted[1] in PRIMITIVES else 0.2 if wanted[0] == LIB else 0.3
        if wanted[0] in (OBJ, ME):
            return None
        if wanted[0] != LIB:
            return 0.0
        other = wanted[1]
        if name == other:
            if name == "[]" and given[2] and wanted[2]:
                some = [self.fits(one, want) for one in given[2][0] for want in wanted[2][0]]
                return max((one for one in some if one is not None), default=None) if some else 1.0
            return 3.0
        if is_object(other):
            return 0.1
        return narrower(name, other)

    def fits_closure(self, given: Value, wanted: Value) -> float | None:
        """A closure fits a functional type with as many parameters."""
        view = self.view(given[1])
        rows = [name for name, some in view.table(given[2]).items() for row in some if row[0] == PARAMETER]
        own = sum(view.names[name] not in ("it", "this") for name in rows)
        if wanted[0] == LIB:
            if wanted[1] in PRIMITIVES or wanted[1] in WIDER:
                return None
            shape = functional(wanted)
            if shape is None:
                return 0.0
            free = any(view.names[name] == "it" for name in rows) and not own
            return 1.0 if len(shape[0]) == own or (free and len(shape[0]) < 2) else None
        if wanted[0] == OBJ:
            symbol = self.single(wanted)
            if symbol is None:
                return None
            return 1.0 if len(self.view(symbol[1]).symbols[symbol[2]].params) == own else None
        return 0.0

    def single(self, value: Value) -> Value | None:
        """The only method that a class leaves open: what a closure in its place is."""
        view = self.view(value[1])
        if view.symbols[value[2]].kind == TYPE:
            return (SYM, value[1], value[2], value)
        found: list[Value] = []
        for entry in self.line(value[1], value[2]):
            if entry == BEYOND:
                continue
            other = self.view(entry[0])
            self.asked.add(self.inside_key(other, entry[1]))
            for at, symbol in enumerate(other.symbols):
                if symbol.parent == entry[1] and symbol.kind == METHOD and symbol.flags & ABSTRACT:
                    found.append((SYM, entry[0], at, value))
        return found[0] if len({self.view(one[1]).symbols[one[2]].name for one in found}) == 1 else None
