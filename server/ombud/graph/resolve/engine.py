"""Looking names up and following values: what all languages share. A language's module has a subclass as ``ENGINE``.

An answer must not depend on what was asked before it, or an index kept up to date would differ from a new one. So
whatever is remembered is remembered whole: a result that a circle cut short is not, beyond the circle's own head. And
each answer carries the keys of all it looked at in other files (`Engine.ask`), also of what was not there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import (
    ATTR,
    CALL,
    CALL_SITE,
    CLASS_SCOPE,
    CONSTANT,
    DECLARED,
    EXACT,
    FIELD,
    FUNCTION_SCOPE,
    INHERIT_SITE,
    LAST,
    NAME,
    NARROWED,
    OUTER,
    REFERENCE_SITE,
    SITE_WIDTH,
    TO_IMPORT,
    TO_SYMBOL,
    VALUE,
    VARIABLE,
    each,
    place,
)
from ombud.graph.facts import (
    UNKNOWN as NOTHING,
)
from ombud.graph.resolve import Resolved
from ombud.graph.resolve.members import Members
from ombud.graph.resolve.values import BOUND, EXT, LIB, ME, MOD, OBJ, SYM, UNKNOWN, Value, Values, join
from ombud.graph.resolve.view import Binding, View

if TYPE_CHECKING:
    pass

DEEPEST = 60
"""Remembered questions within one another; a site that needs more is unresolved."""
MANY_SITES = 500
"""From so many sites in a file on, those that end a long chain of calls are told apart."""
LONGEST_CHAIN = 100
"""Links of a chain of members and calls that is followed: each link's site follows all before it once more."""
ALWAYS = 1 << 60
WHEREVER = -1
"""The place of a use whose place is not known: all bindings of the scope are seen."""


VARIABLES = (VARIABLE, CONSTANT, FIELD)


def _in_order(view: View, here: int, scope: int) -> bool:
    """Whether a use in ``scope`` runs in the order of the text with what ``here`` binds: not from another function."""
    while scope != here:
        kind = view.kind(scope)
        if kind == CLASS_SCOPE or (kind == FUNCTION_SCOPE and view.owner(scope) >= 0):
            return False
        scope = view.parent(scope)
    return True


def _is_empty(view: View, symbol: int) -> bool:
    """Whether a symbol is a variable of which nothing is known."""
    that = view.symbols[symbol]
    return that.kind in VARIABLES and not (that.value or that.type)


def _is_long(view: View, expr: int) -> bool:
    """Whether an expression ends a chain of more links than are followed."""
    exprs = view.exprs
    for _ in range(LONGEST_CHAIN):
        if exprs[3 * expr] not in (ATTR, CALL):
            return False
        expr = exprs[3 * expr + 1]
    return True


class TooDeep(Exception):
    """A site would take too long to follow."""


class Engine(Members):
    """Rules of a family of languages. Subclasses say how a module is found, and what a bare name may mean."""

    CLASS_NAMES = False
    """Whether a bare name may mean a member of the class around it (Java's implicit ``this``)."""

    def resolve(self, file: int) -> Resolved:
        """See `ombud.graph.resolve.Resolver.resolve`."""
        view = self.view(file)
        done = Resolved()
        self.begin(view)
        # What an expression means is the same all over a scope, but for names that are bound more than once in it.
        steady: dict[tuple[int, int], Values] = {}
        sources: dict[int, int] = {}
        is_large = len(view.facts.sites) > MANY_SITES * SITE_WIDTH
        for kind, expr, scope, line, character, length in each(view.facts.sites, SITE_WIDTH):
            source = sources.get(scope)
            if source is None:
                source = sources[scope] = view.symbol_of(scope)
            if is_large and _is_long(view, expr):
                self.land(view, kind, expr, (source, line, character, length), UNKNOWN, done)
                continue
            question = (expr, self.home(view, expr, scope))
            found = steady.get(question)
            if found is None:
                self.moving = False
                found = self.site(view, expr, scope, place(line, character))
                if not self.moving:
                    steady[question] = found
            self.land(view, kind, expr, (source, line, character, length), found, done)
        done.asked = self.asked
        return done

    def home(self, view: View, expr: int, scope: int) -> int:
        """A scope whose uses of an expression mean the same as that in ``scope``.

        It is ``scope`` itself or, where a language's rules can tell, one further out.
        """
        del view, expr
        return scope

    def site(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """What the expression of a site denotes; nothing where that would take too long to find."""
        try:
            return self.denote(view, expr, scope, pos)
        except (TooDeep, RecursionError):
            self.running.clear()
            self.moving = True
            return UNKNOWN

    def land(
        self, view: View, kind: int, expr: int, at: tuple[int, int, int, int], found: Values, done: Resolved
    ) -> None:
        """Make edges of what a site was found to mean, or count it as what it is."""
        source, line, character, length = at
        targets = self.targets(kind, found)
        if kind == CALL_SITE:
            targets, found = self.callees(targets, found, at, done)
        for file, symbol in targets:
            done.edges.append((source, file, symbol, kind, line, character, length, EXACT))
        if targets or kind != CALL_SITE:
            return
        if found:
            # Of a library, or a closure or a parameter: it has no symbol here.
            done.external += 1
        else:
            done.unresolved += 1
            name = self.called(view, expr)
            if name and self.may_be_ours(view, expr, name):
                done.loose.append((source, name, line, character, length))

    def callees(
        self, targets: list[tuple[int, int]], found: Values, at: tuple[int, int, int, int], done: Resolved
    ) -> tuple[list[tuple[int, int]], Values]:
        """What a call really calls: not a variable but what it holds, not an instance but its method for that.

        The variable itself is referred to.
        """
        if not any(value[0] in (OBJ, ME) or self.is_held(value) for value in found):
            return targets, found
        source, line, character, length = at
        called: list[tuple[int, int]] = []
        beyond: Values = UNKNOWN
        for value in found:
            if value[0] == SYM and not self.is_held(value):
                called.append((value[1], value[2]))
                continue
            if value[0] == SYM:
                done.edges.append((source, value[1], value[2], REFERENCE_SITE, line, character, length, EXACT))
            for held in self.within_reach(value):
                if held[0] in (OBJ, ME):
                    methods = self.member(held, self.CALL_METHOD) if self.CALL_METHOD else UNKNOWN
                    called += [(one[1], one[2]) for one in methods if one[0] == SYM]
                elif held[0] == SYM and not self.is_held(held):
                    called.append((held[1], held[2]))
            beyond = beyond or ((EXT, ""),)
        return list(dict.fromkeys(called)), beyond or found

    def is_held(self, value: Value) -> bool:
        """Whether a value is a variable or a field, which holds what is called."""
        return value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in VARIABLES

    def within_reach(self, value: Value) -> Values:
        """What a variable holds; nothing where that takes too long to find."""
        try:
            return self.contents((value,))
        except (TooDeep, RecursionError):
            self.running.clear()
            return UNKNOWN

    def targets(self, kind: int, found: Values) -> list[tuple[int, int]]:
        """The symbols among what a site means: (file, symbol), each once."""
        if len(found) == 1 and found[0][0] == SYM:
            return [found[0][1:3]]
        some = dict.fromkeys((value[1], value[2]) for value in found if value[0] == SYM)
        if kind not in (CALL_SITE, INHERIT_SITE):
            some.update(dict.fromkeys((value[1], 0) for value in found if value[0] == MOD and kind != 1))
        return list(some)

    def called(self, view: View, expr: int) -> str:
        """The name that a call site's expression ends in."""
        op, first, second = view.exprs[3 * expr : 3 * expr + 3]
        return view.names[first] if op == NAME else view.names[second] if op == ATTR else ""

    def may_be_ours(self, view: View, expr: int, name: str) -> bool:
        """Whether a call that was not found may be of a symbol of this root."""
        del view, expr, name
        return True

    # -- names ----------------------------------------------------------------------------------------------------

    def lookup(self, view: View, scope: int, name: int, pos: int) -> Values:
        """What a bare name denotes at a place."""
        here, scopes, tables = scope, view.scopes, view.tables
        while here >= 0:
            kind = scopes[here * 5 + 1]
            if kind != CLASS_SCOPE or here == scope or self.CLASS_NAMES:
                table = tables.get(here)
                bindings = table.get(name) if table is not None else None
                if bindings:
                    if view.outer and (out := [binding[1] for binding in bindings if binding[0] == OUTER]):
                        here = out[0]
                        continue
                    if kind != FUNCTION_SCOPE and (self.running or view.file != self.current):
                        # What a name of a module or a class is may be asked for by files beyond this one.
                        self.ask(view, view.names[name])
                    if len(bindings) == 1 and bindings[0][0] != NARROWED:
                        return self.of_binding(view, here, bindings[0])
                    found = self.chosen(view, here, bindings, pos if _in_order(view, here, scope) else WHEREVER)
                    if found is not None:
                        return found
                if kind == CLASS_SCOPE and self.CLASS_NAMES:
                    inherited = self.inherited(view, here, view.names[name])
                    if inherited:
                        return inherited
            here = scopes[here * 5]
        if self.running or view.file != self.current:
            self.ask(view, view.names[name])
        return self.ambient(view, scope, view.names[name])

    def chosen(self, view: View, scope: int, bindings: list[Binding], pos: int) -> Values | None:
        """What the bindings of a name in a scope say at a place; None where none of them holds.

        The last one before the place counts, and those before it as long as none is certain to have run.
        """
        if len(bindings) == 1 and bindings[0][0] != NARROWED:
            return self.of_binding(view, scope, bindings[0])
        if pos != WHEREVER:
            self.moving = True
        symbols = any(binding[0] == TO_SYMBOL for binding in bindings)
        found: Values = UNKNOWN
        declared: Values = UNKNOWN
        seen = False
        for binding in reversed(bindings):
            what, value, start, end = binding
            if what == NARROWED:
                if start <= pos < end:
                    return self.of_binding(view, scope, binding)
                continue
            if (pos != WHEREVER and start > pos) or (symbols and what == VALUE):
                # What is assigned to a module's variable later is part of what the variable is.
                continue
            seen = True
            if what == TO_SYMBOL and found and _is_empty(view, value):
                continue  # x = None, where an import of x has failed.
            values = self.of_binding(view, scope, binding)
            if what == DECLARED:
                declared = join(declared, values)
                continue
            found = join(found, values)
            if (end == LAST or pos < end) if pos != WHEREVER else end == LAST and what != VALUE:
                break
        if declared:
            return self.narrowed(declared, found)
        if not seen and pos != WHEREVER:
            return self.chosen(view, scope, bindings, WHEREVER)
        return found if seen else None

    def narrowed(self, declared: Values, found: Values) -> Values:
        """What a variable is that was declared as one thing and given another: the latter where it is known."""
        known = [value for value in found if value[0] not in (EXT, LIB, BOUND)]
        return tuple(known) if known and len(known) == len(found) else declared

    def of_binding(self, view: View, scope: int, binding: Binding) -> Values:
        """What one binding denotes."""
        what, value, start, _ = binding
        if what == TO_SYMBOL:
            return ((SYM, view.file, value, None),)
        if what == TO_IMPORT:
            return self.once(("import", view.file, value), self.imported, view, value)
        if not value:
            return UNKNOWN
        # A value is read where it is given, just before the binding holds.
        pos = start - 1 if what == VALUE and start else WHEREVER
        return self.once(("bound", view.file, scope, value, pos), self.eval, view, value, scope, pos)

    def ambient(self, view: View, scope: int, name: str) -> Values:
        """What a name means that no scope of the file binds: of the same package, or built in."""
        del view, scope, name
        return UNKNOWN

    def imported(self, view: View, number: int) -> Values:
        """What an import of the file brings."""
        raise NotImplementedError

    # -- expressions ----------------------------------------------------------------------------------------------

    def denote(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """What an expression names: the definitions themselves, where it ends in a name."""
        at = 3 * expr
        op = view.exprs[at]
        if op == NAME:
            return self.lookup(view, scope, view.exprs[at + 1], pos)
        if op == ATTR:
            base = self.eval(view, view.exprs[at + 1], scope, pos)
            if not base:
                return UNKNOWN
            name = view.names[view.exprs[at + 2]]
            if len(base) == 1:
                return self.member(base[0], name)
            return join(*(self.member(value, name) for value in base))
        return self.eval(view, expr, scope, pos)

    def eval(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """What the value of an expression may be."""
        op = view.exprs[3 * expr]
        if op == NOTHING:
            return UNKNOWN
        if op in (NAME, ATTR):
            found = self.denote(view, expr, scope, pos)
            return self.contents(found) if found else found
        first, second = view.exprs[3 * expr + 1 : 3 * expr + 3]
        how = _OPS.get(op)
        return how(self, view, first, second, scope, pos) if how is not None else UNKNOWN

    def items(self, view: View, expr: int, scope: int, pos: int) -> Iterable[Values]:
        """The values of a CONS list."""
        while expr:
            _, head, tail = view.exprs[3 * expr : 3 * expr + 3]
            yield self.eval(view, head, scope, pos)
            expr = tail

    # -- what is remembered ---------------------------------------------------------------------------------------

    def begin(self, view: View) -> None:
        """A file's sites are about to be resolved."""
        self.current = view.file
        self.asked = set()
        self.cut = ALWAYS
        self.moving = False
        self.running.clear()
        self.provisional.clear()

    def once(self, question: tuple[Any, ...], answer: Callable[..., Values], *given: Any) -> Values:
        """The answer to a question, worked out once. See the module on circles."""
        known = self.memo.get(question)
        if known is not None:
            self.asked |= known[1]
            return known[0]
        held = self.provisional.get(question)
        if held is not None:
            self.asked |= held[1]
            self.cut = min(self.cut, held[2])
            return held[0]
        running = self.running
        depth = running.get(question)
        if depth is not None:
            self.cut = min(self.cut, depth)
            return UNKNOWN
        depth = len(running)
        if depth > DEEPEST:
            raise TooDeep
        asked, cut, moving = self.asked, self.cut, self.moving
        self.asked, self.cut = set(), ALWAYS
        running[question] = depth
        try:
            found = answer(*given)
        finally:
            running.pop(question, None)
            own, ended = self.asked, self.cut
            asked |= own
            self.moving = moving
            self.asked, self.cut = asked, min(cut, ended) if ended < depth else cut
        if ended >= depth:
            self.memo[question] = (found, frozenset(own))
            if ended == depth:
                self.provisional = {asking: held for asking, held in self.provisional.items() if held[2] < depth}
        else:
            self.provisional[question] = (found, frozenset(own), ended)
        return found


from ombud.graph.resolve.operators import OPERATORS as _OPS  # noqa: E402
