"""What names mean in C and C++ ([basic.lookup] of the C++ standard), in what a file includes and nowhere else.

A call leads to the definition. Where only a declaration is seen, the definition is the one function of that name in the
same namespace or class, not static, in a file that includes the declaration, or the only one of the project; where
there are several, the declaration is meant. A class that is only declared is looked for in the same way.
"""

from __future__ import annotations

from ombud.graph.facts import (
    ABSTRACT,
    ATTR,
    CALL,
    CALL_SITE,
    CONSTRUCTOR,
    EXPORTED,
    GIVEN,
    IMPORT_SITE,
    INDEX,
    INSTANCE,
    LAST,
    METHOD,
    MODULE_SCOPE,
    NAME,
    OVERLOAD,
    REFERENCE_SITE,
    SYMBOL,
    TO_SYMBOL,
    TYPE_OF,
)
from ombud.graph.resolve import Resolved
from ombud.graph.resolve.cincludes import unit
from ombud.graph.resolve.coverloads import shape
from ombud.graph.resolve.cspaces import Spaces
from ombud.graph.resolve.engine import TooDeep
from ombud.graph.resolve.members import HELD
from ombud.graph.resolve.values import MOD, PKG, SYM, UNKNOWN, Value, Values
from ombud.graph.resolve.view import View, key


class C(Spaces):
    """See the module."""

    CALL_METHOD = "operator()"

    def resolve(self, file: int) -> Resolved:
        """See `Engine.resolve`. What is seen by the includes of other files that were looked at counts, too."""
        done = super().resolve(file)
        for marker in [asked for asked in done.asked if asked < 0]:
            done.asked.discard(marker)
            done.asked |= self.includes.keys(-1 - marker)
        done.asked |= self.includes.keys(file)
        return done

    def also_provided(self, view: View) -> dict[int, int]:
        """The name of the file, and what it includes and brings in."""
        return {
            key("tail", view.path.rpartition("/")[2]): view.file,
            key("unit", view.path): unit(view),
            key("layout", view.path): key("layout", *(symbol.qualified for symbol in view.symbols)),
        }

    # -- sites ----------------------------------------------------------------------------------------------------

    def site(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """See `Engine.site`. The expression of a call site is the call itself."""
        op, a, _ = view.exprs[3 * expr : 3 * expr + 3]
        if op == SYMBOL:
            return ((SYM, view.file, a, None),)
        try:
            if op in (CALL, GIVEN):
                return self.meant(view, expr, scope, pos)
            if op == INSTANCE:
                return self.named_type(view, a, scope)
        except (TooDeep, RecursionError):
            self.running.clear()
            self.moving = True
            return UNKNOWN
        return super().site(view, expr, scope, pos)

    def named_type(self, view: View, expr: int, scope: int) -> Values:
        """The type that an expression names, not what it is another name for."""
        while view.exprs[3 * expr] == INDEX:
            expr = view.exprs[3 * expr + 1]
        found = self.scopes_of(view, expr, scope)
        return tuple((*value[:3], None) if value[0] == SYM else value for value in found)

    def called(self, view: View, expr: int) -> str:
        """See `Engine.called`."""
        for _ in range(4):
            op, a, _ = view.exprs[3 * expr : 3 * expr + 3]
            if op not in (CALL, GIVEN, INDEX, INSTANCE):
                break
            expr = a
        return super().called(view, expr)

    def land(
        self, view: View, kind: int, expr: int, at: tuple[int, int, int, int], found: Values, done: Resolved
    ) -> None:
        """Edges lead to definitions. A variable without a constructor that is written down calls nothing."""
        if kind == CALL_SITE and self._constructs(view, expr) and not any(value[0] == SYM for value in found):
            return
        some = tuple(dict.fromkeys(self.defined(value) for value in found))
        if kind == CALL_SITE and len([value for value in some if value[0] == SYM]) > 1:
            some = UNKNOWN  # Which of several overloads is meant cannot be told.
        elif kind == REFERENCE_SITE and len(some) > 1:
            # A variable that is declared in several places is one; of several functions none is certain.
            alike = {self.kind_of(value) for value in some} <= HELD
            some = some[:1] if alike and len({self.kind_of(value) for value in some}) == 1 else UNKNOWN
        own = [value for value in some if value[0] == SYM and value[1] == view.file and value[2] == at[0]]
        if own and kind == REFERENCE_SITE and view.symbols[at[0]].at == at[1:]:
            return
        super().land(view, kind, expr, at, some, done)

    def targets(self, kind: int, found: Values) -> list[tuple[int, int]]:
        """See `Engine.targets`. An include is one of a file."""
        if kind == IMPORT_SITE:
            return [(value[1], 0) for value in found if value[0] == MOD]
        return super().targets(kind, found)

    def _constructs(self, view: View, expr: int) -> bool:
        """Whether a site is that of a variable whose constructor is called."""
        op, a, _ = view.exprs[3 * expr : 3 * expr + 3]
        if op == GIVEN:
            op, a, _ = view.exprs[3 * a : 3 * a + 3]
        return op == CALL and view.exprs[3 * a] == TYPE_OF

    def may_be_ours(self, view: View, expr: int, name: str) -> bool:
        """See `Engine.may_be_ours`."""
        del view, expr
        return bool(self.named(name))

    # -- definitions ----------------------------------------------------------------------------------------------

    def defined(self, value: Value) -> Value:
        """The definition of what was found to be declared."""
        if value[0] != SYM:
            return value
        symbol = self.view(value[1]).symbols[value[2]]
        if not symbol.flags & (OVERLOAD | ABSTRACT):
            return (SYM, value[1], value[2], None)
        found = self.once(("defined", value[1], value[2]), self._defined, value[1], value[2])
        return found[0] if found else (SYM, value[1], value[2], None)

    def _defined(self, file: int, number: int) -> Values:
        view = self.view(file)
        symbol = view.symbols[number]
        self.ask(view, symbol.name)
        member = symbol.kind in (METHOD, CONSTRUCTOR)
        path = self.path(view, symbol.scope)
        some: list[tuple[int, int]] = []
        for other, at in self.named(symbol.name):
            there = self.view(other)
            self.ask(there, symbol.name)
            that = there.symbols[at]
            if that.flags & OVERLOAD or (other, at) == (file, number):
                continue
            if that.owner:
                own: tuple[int, int] | str = (file, symbol.parent) if member else path
                fits = self._belongs(there, that.owner, that.scope, own, view.symbols[symbol.parent].name)
            elif member or that.kind != symbol.kind:
                continue
            else:
                fits = bool(that.flags & EXPORTED) or file == other
                fits = fits and there.kind(that.scope) == MODULE_SCOPE and self.path(there, that.scope) == path
            if fits:
                some.append((other, at))
        likely = [one for one in some if self._likely(*one)]
        some = likely or some
        if len(some) > 1:
            taken = shape(view, symbol)
            alike = [one for one in some if shape(self.view(one[0]), self.view(one[0]).symbols[one[1]]) == taken]
            some = alike or some
        if len(some) > 1:
            some = [one for one in some if file in self.seen(one[0])]
        elif (
            some
            and symbol.arity != self.view(some[0][0]).symbols[some[0][1]].arity
            and self._has_siblings(view, number)
        ):
            some = []
        return ((SYM, *some[0], None),) if len(some) == 1 else UNKNOWN

    def _likely(self, file: int, number: int) -> bool:
        """Whether a definition stands where it counts, and not in a branch that is not likely taken."""
        view = self.view(file)
        symbol = view.symbols[number]
        return all(
            end == LAST
            for what, at, _, end in view.bound(symbol.scope, symbol.name)
            if what == TO_SYMBOL and at == number
        )

    def _has_siblings(self, view: View, number: int) -> bool:
        """Whether a declaration is one of several overloads."""
        symbol = view.symbols[number]
        bound = [value for what, value, _, _ in view.bound(symbol.scope, symbol.name) if what == TO_SYMBOL]
        return len(bound) > 1

    def _belongs(self, view: View, owner: int, scope: int, wanted: tuple[int, int] | str, name: str) -> bool:
        """Whether what stands before a name is that class, or the namespace of that path."""
        op, a, b = view.exprs[3 * owner : 3 * owner + 3]
        last = view.names[a] if op == NAME else view.names[b] if op == ATTR else ""
        if last and last != name:
            return False
        return any(
            value[1] == wanted if value[0] == PKG else value[1:3] == wanted for value in self.owners(view, owner, scope)
        )


ENGINE = C
