"""Languages in which a name holds from behind its declaration to the end of its block, and hides outer ones."""

from __future__ import annotations

from collections.abc import Sequence

from ombud.graph.facts import BLOCK_SCOPE, CLASS_SCOPE, FUNCTION_SCOPE, NAME, NARROWED, SCOPE_WIDTH, TUPLE, VALUE
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.members import WHEREVER
from ombud.graph.resolve.values import LIB, UNKNOWN, VAR, Value, Values
from ombud.graph.resolve.view import Binding, View


class Lexical(Engine):
    """Block scopes. Members of a class are no bare names in what stands within it.

    A name that is looked up is asked of its file, whichever file that is: what it is bound to there may change while
    everything that uses it stays as it is.
    """

    here = -1
    """The file that is being resolved."""

    def begin(self, view: View) -> None:
        """See `Engine.begin`."""
        super().begin(view)
        self.here = view.file

    def ask(self, view: View, name: str) -> None:
        """See `World.ask`. The file itself need not be asked, but where the answer is kept for others."""
        if self.running or view.file != self.here:
            super().ask(view, name)

    def lookup(self, view: View, scope: int, name: int, pos: int) -> Values:
        """See `Engine.lookup`."""
        here, scopes, tables = scope, view.scopes, view.tables
        while here >= 0:
            kind = scopes[here * SCOPE_WIDTH + 1]
            table = tables.get(here)
            bindings = table.get(name) if table is not None else None
            if bindings and (kind != CLASS_SCOPE or self.in_class(view, here, view.names[name])):
                found = self.chosen(view, here, bindings, pos)
                if found is not None:
                    if kind != FUNCTION_SCOPE and (kind != BLOCK_SCOPE or self._outside(view, here)):
                        self.ask(view, view.names[name])
                    return found
            if self.ends(view, here):
                break
            if kind == FUNCTION_SCOPE and scopes[here * SCOPE_WIDTH + 2] >= 0:
                # Another function's names are seen wherever they are declared.
                pos = WHEREVER
            here = scopes[here * SCOPE_WIDTH]
        self.ask(view, view.names[name])
        return self.ambient(view, scope, view.names[name])

    def _outside(self, view: View, scope: int) -> bool:
        """Whether a block stands outside of functions."""
        while scope >= 0:
            if view.kind(scope) == FUNCTION_SCOPE:
                return False
            scope = view.parent(scope)
        return True

    def in_class(self, view: View, scope: int, name: str) -> bool:
        """Whether a class's scope binds a name for what stands within it: its type parameters."""
        owner = view.owner(scope)
        return owner >= 0 and name in view.symbols[owner].generics

    def ends(self, view: View, scope: int) -> bool:
        """Whether names further out are not seen in a scope."""
        del view, scope
        return False

    def chosen(self, view: View, scope: int, bindings: list[Binding], pos: int) -> Values | None:
        """The last binding that holds at a place."""
        if len(bindings) > 1 or bindings[0][2]:
            self.moving = True
        for binding in reversed(bindings):
            what, _, start, end = binding
            if what == NARROWED if pos == WHEREVER else not start <= pos < end:
                continue
            return self.of_binding(view, scope, binding)
        return None

    # -- types ----------------------------------------------------------------------------------------------------

    def instances(self, view: View, expr: int, scope: int, generics: Sequence[str] = ()) -> Values:
        """See `Members.instances`. A type parameter knows where it is bound, for its bounds stand there."""
        op, a = view.exprs[3 * expr : 3 * expr + 2]
        if op == NAME:
            text = view.names[a]
            if text in generics or self.is_parameter(view, scope, text):
                return ((VAR, text, view.file, scope),)
        elif op == TUPLE:
            parts = []
            while a:
                _, head, a = view.exprs[3 * a : 3 * a + 3]
                parts.append(self.instances(view, head, scope, generics))
            return ((LIB, "tuple", tuple(parts)),)
        return super().instances(view, expr, scope, generics)

    def bound_of(self, value: Value) -> Values:
        """An instance of what bounds a type parameter."""
        if len(value) < 4:
            return UNKNOWN
        view, scope = self.view(value[2]), value[3]
        number = view.id(value[1])
        while scope >= 0 and number >= 0:
            for what, expr, _, _ in view.table(scope).get(number, ()):
                if what == VALUE and expr:
                    return tuple(one for one in self.instances(view, expr, scope) if one[0] != VAR)
            scope = view.parent(scope)
        return UNKNOWN
