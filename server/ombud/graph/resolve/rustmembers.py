"""Members of Rust's types: fields, impl blocks, traits, and what lies behind pointers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    CALL,
    CALL_SITE,
    DECLARED,
    ENUM_MEMBER,
    FIELD,
    FUNCTION,
    MACRO,
    METHOD,
    NAME,
    NAMESPACE,
    PASSED,
    TO_SYMBOL,
    TRAIT,
    TYPE,
)
from ombud.graph.resolve import Resolved, rustlib
from ombud.graph.resolve.members import WHEREVER
from ombud.graph.resolve.values import BOUND, EXT, LIB, ME, MOD, OBJ, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import View

if TYPE_CHECKING:
    pass

from ombud.graph.resolve.rusttypes import Types

MEMBERS = 12
"""Members of a trait that are looked for in impl blocks, to see whether a type implements it."""


class Members(Types):
    """See the module."""

    def crate(self, view: View, name: str) -> Values:
        """The crate of a name."""
        raise NotImplementedError

    def above(self, value: Value) -> Values:
        """The module above a module."""
        raise NotImplementedError

    def within(self, view: View, scope: int, name: str) -> Values:
        """What a module has under a name."""
        raise NotImplementedError

    # -- members --------------------------------------------------------------------------------------------------

    def denote(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """See `Engine.denote`. What a variant holds is asked of the variant itself."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == ATTR and view.exprs[3 * a] in (NAME, ATTR):
            name = view.names[b]
            found: list[Values] = []
            if view.exprs[3 * a] == NAME and view.names[view.exprs[3 * a + 1]] == "::":
                return self.crate(view, name)
            denoted = self.denote(view, a, scope, pos)
            for value in denoted:
                held = self._held_by(value, name) if self.is_a(value, ENUM_MEMBER) else UNKNOWN
                found.append(held or join(*(self.member(one, name) for one in self.contents((value,)))))
            if view.exprs[3 * a] == NAME and any(self._is_called(value) for value in denoted):
                # A function or a macro may have the name of the crate that it comes from.
                file, _ = self.crates.named(view, view.names[view.exprs[3 * a + 1]])
                found.append(self.member((MOD, file), name) if file is not None else UNKNOWN)
            return join(*found)
        return super().denote(view, expr, scope, pos)

    def _is_called(self, value: Value) -> bool:
        """Whether a value is a function or a macro itself."""
        return value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in (MACRO, FUNCTION)

    def _held_by(self, value: Value, name: str) -> Values:
        """A field of a variant or a struct by its name or place."""
        view = self.view(value[1])
        own = view.symbols[value[2]].own
        if own < 0:
            return UNKNOWN
        self.ask(view, view.symbols[value[2]].name)
        for what, expr, _, _ in reversed(view.bound(own, name)):
            if what == TO_SYMBOL:
                return ((SYM, value[1], expr, value[3] if value[0] == SYM else value),)
            if what == DECLARED:
                return self.eval(view, expr, own, WHEREVER)
        return UNKNOWN

    def eval(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """See `Engine.eval`."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == PASSED:
            return self.passed(view, a, b, scope, pos)
        if op == CALL:
            called = self.meant(self.denote(view, a, scope, pos), True)
            return join(*(self.result(value, b) for value in called))
        if op == ATTR:
            return self.contents(self.meant(self.denote(view, expr, scope, pos), False))
        return super().eval(view, expr, scope, pos)

    def meant(self, found: Values, called: bool) -> Values:
        """Of a field and methods of one name: the methods where it is called, else the field."""
        if len(found) < 2:
            return found
        fields = tuple(value for value in found if self.is_a(value, FIELD))
        if not fields or len(fields) == len(found):
            return found
        return tuple(value for value in found if value not in fields) if called else fields

    def land(
        self, view: View, kind: int, expr: int, at: tuple[int, int, int, int], found: Values, done: Resolved
    ) -> None:
        """See `Engine.land`."""
        super().land(view, kind, expr, at, self.meant(found, kind == CALL_SITE), done)

    def member(self, value: Value, name: str) -> Values:
        """See `Members.member`."""
        what = value[0]
        if name in ("super::", "self::"):
            return self.above(value) if name == "super::" else (value,)
        if what == LIB:
            return self._library_member(value, name)
        if what == EXT:
            return ((EXT, f"{value[1]}::{name}"),)
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind == NAMESPACE:
                view = self.view(value[1])
                return self.once(("within", value[1], symbol.own, name), self.within, view, symbol.own, name)
            if symbol.kind == TYPE:
                return join(*(self.member(one, name) for one in self.instance(value)))
        if what == VAR:
            bound = self.bound_of(value)
            return join(*(self.member(one, name) for one in bound)) or ((EXT, name),)
        return super().member(value, name)

    def _library_member(self, value: Value, name: str) -> Values:
        """A member of a library's instance: a part, of what it points to, of a trait of ours, or the library's."""
        kind, args = value[1], value[2]
        if name in ("Some", "Ok") and args:
            found: Values = args[0]
            return found
        if name == "Err":
            return args[1] if len(args) > 1 else ((EXT, ""),)
        if kind == "tuple" and name.isdecimal():
            return args[int(name)] if int(name) < len(args) else UNKNOWN
        ours = self.implemented(("", kind), name)
        if ours:
            return tuple((SYM, *one, value) for one in ours)
        if kind in rustlib.POINTERS and args and name not in ("new", "pin", "from", "into_raw", "from_raw"):
            for inner in args[0]:
                if inner[0] in (OBJ, ME, VAR):
                    under = self.member(inner, name)
                    if any(one[0] == SYM for one in under):
                        return under
                    if name == "clone":
                        return ((BOUND, value, name),)
                elif inner[0] == LIB and name not in ("clone",):
                    return self._library_member(inner, name)
        return ((BOUND, value, name),)

    def class_member(self, file: int, symbol: int, name: str, receiver: Value, above: bool = False) -> Values:
        """A field, variant or method; what a trait gives the type; what the type dereferences to."""
        del above
        return self.once(("member", file, symbol, name, receiver), self._class_member, file, symbol, name, receiver)

    def _class_member(self, file: int, symbol: int, name: str, receiver: Value) -> Values:
        view = self.view(file)
        self.ask(view, name)
        own = view.symbols[symbol].own
        field: Values = UNKNOWN
        for what, expr, _, _ in reversed(view.bound(own, name)) if own >= 0 else ():
            if what == DECLARED:
                return self.substitute(self.eval(view, expr, own, WHEREVER), receiver, file, symbol)
            field = field or ((SYM, file, expr, receiver),)
        if field and not self.is_a(field[0], FIELD):
            return field
        # A field and a method may have one name: which is meant, the use tells.
        ours = tuple((SYM, *one, receiver) for one in self.implemented((file, symbol), name))
        if field or ours:
            return (*field, *ours)
        found = self._inherited(file, symbol, name)
        if found:
            return tuple((SYM, *one, receiver) for one in found[:1])
        target = self.implemented((file, symbol), "Target") if name != "Target" else ()
        for one in target[:1]:
            aimed = self.alias(*one)
            under = join(
                *(
                    self.member(value, name)
                    for value in self._replaced(aimed, receiver, self.told((SYM, *one, receiver)))
                )
            )
            if under:
                return under
        if name in rustlib.STD_METHODS:
            return ((BOUND, receiver if receiver[0] in (OBJ, ME) else (OBJ, file, symbol, None), name),)
        if name in rustlib.STD_ITERATOR and self.implemented((file, symbol), "next"):
            return ((BOUND, (LIB, "Iter", (self.element(receiver),)), name),)
        line = self.line(file, symbol)
        if line and len(line[-1]) == 1:
            return ((EXT, name),)
        return UNKNOWN

    def _inherited(self, file: int, symbol: int, name: str) -> list[tuple[int, int]]:
        """A member that a trait above a type, or above a trait, has under a name."""
        for entry in self.line(file, symbol)[1:]:
            if len(entry) == 1:
                continue
            view = self.view(entry[0])
            self.ask(view, name)
            found = self.bound_symbols(view, view.symbols[entry[1]].own, name)
            if found:
                return [(entry[0], found[0])]
        if self.view(file).symbols[symbol].kind == TRAIT:
            return []
        some = []
        for other, at in self.named(name):
            view = self.view(other)
            that = view.symbols[at]
            required = that.kind == METHOD and not that.owner and view.symbols[that.parent].kind == TRAIT
            if required and self._implements(file, symbol, other, that.parent):
                some.append((other, at))
        return some[:1] if len(some) == 1 else []

    def _implements(self, file: int, symbol: int, trait_file: int, trait: int) -> bool:
        """Whether a type has an impl block with a member of that trait."""
        view = self.view(trait_file)
        self.ask(view, view.symbols[trait].name)
        members = [one.name for one in view.symbols if one.parent == trait and not one.owner]
        for name in members[:MEMBERS]:
            for other, at in self.implemented((file, symbol), name):
                there = self.view(other)
                that = there.symbols[at]
                for expr in that.bases:
                    if any(
                        value[0] == OBJ and value[1:3] == (trait_file, trait)
                        for value in self.instances(there, expr, that.scope, that.generics)
                    ):
                        return True
        return False
