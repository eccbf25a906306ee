"""Rules of Ruby: constants by the modules around them, methods by the order of ancestors, over all files of a root.

A class or module is known by its full name (``A::B``): it may be opened in several files, and all that those say of it
counts. A constant is looked up as the language does it: in the modules around the place, innermost first, then in the
ancestors of the innermost one, then at the top. The value of a class names one of its places (`Modules.declared`, the
first); `self` is told by the place that it stands in.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    CALL_SITE,
    CLASS_SCOPE,
    CONSTRUCTOR,
    FIELD,
    FUNCTION,
    IMPORT_SITE,
    PASSED,
    TO_SYMBOL,
    VALUE,
    VARIABLE,
    WITHIN,
)
from ombud.graph.resolve.rubylib import CORE, ITERATES, MAKERS, OBJECT, library_call
from ombud.graph.resolve.rubymodules import MODULES, Modules
from ombud.graph.resolve.types import CALLED
from ombud.graph.resolve.values import BOUND, EXT, FUN, LIB, ME, MOD, OBJ, PKG, SYM, UNKNOWN, UP, Value, Values, join

if TYPE_CHECKING:
    from ombud.graph.resolve.view import View

MAIN_OBJECT = "<main>"
SUPER_OF_CLASS = "<super>"
SHOWN = 3
"""Places of one class or method that a site is said to mean; of more only the nearest one is."""


class Ruby(Modules):
    """See the module."""

    CALL_METHOD = "call"

    # -- names ----------------------------------------------------------------------------------------------------

    def lookup(self, view: View, scope: int, name: int, pos: int) -> Values:
        """What a name of an expression means; the extraction has told local variables from calls."""
        text = view.names[name]
        head = text[:1]
        if head in ("@", "$") or text.startswith("<@"):
            return self.variable(view, scope, text)
        if text == MAIN_OBJECT:
            return ((MOD, view.file),)
        if text == SUPER_OF_CLASS:
            found = self.class_around(view, scope)
            return ((UP, view.file, found, True),) if found >= 0 else UNKNOWN
        if text == "::":
            return ((PKG, ""),)
        if head.isupper():
            return self.once(
                ("constant", view.file, self.module_scope(view, scope), text), self.constant, view, scope, text
            )
        return self.local(view, scope, name, pos)

    def local(self, view: View, scope: int, name: int, pos: int) -> Values:
        """A local variable, or a method that is defined in a block."""
        here = scope
        while here >= 0:
            kind = view.kind(here)
            bindings = [
                one for one in view.table(here).get(name, ()) if one[0] != TO_SYMBOL or (kind != CLASS_SCOPE and here)
            ]
            if bindings:
                found = self.chosen(view, here, bindings, pos)
                return found if found is not None else UNKNOWN
            here = view.parent(here)
        return UNKNOWN

    def variable(self, view: View, scope: int, text: str) -> Values:
        """A variable of an object or a class, or a global one."""
        if text.startswith("$"):
            return tuple((SYM, file, at, None) for file, at in self.named(text)[:SHOWN])
        around = self.class_around(view, scope)
        if around < 0:
            return tuple((SYM, view.file, at, None) for at in self.bound_symbols(view, 0, text))
        own = tuple((SYM, view.file, at, None) for at in self.bound_symbols(view, view.symbols[around].own, text))
        if own:
            return own
        return self.once(("variable", view.file, around, text), self.inherited_variable, view, around, text)

    def inherited_variable(self, view: View, around: int, text: str) -> Values:
        full = self.full(view.file, around)
        for entry in self.ancestors(full[0][0]) if full else ():
            found = [(SYM, one, at, None) for one, at in self.bound_in(entry, text)]
            if found:
                return tuple(found[:SHOWN])
        return UNKNOWN

    def held(self, file: int, symbol: int) -> Values:
        """See `Types.held`. A variable of a class is bound to another name than one of an instance."""
        view = self.view(file)
        that = view.symbols[symbol]
        if that.kind not in (FIELD, VARIABLE):
            return super().held(file, symbol)
        given: list[Values] = []
        for name in (that.name, f"<{that.name}>"):
            bindings = view.bound(that.scope, name)
            if not any(what == TO_SYMBOL and value == symbol for what, value, _, _ in bindings):
                continue
            self.ask(view, name)
            given += [self.eval(view, value, that.scope, start) for what, value, start, _ in bindings if what == VALUE]
        return join(*given)

    # -- members --------------------------------------------------------------------------------------------------

    def member(self, value: Value, name: str) -> Values:
        """See `Members.member`: a method, or a constant of a module."""
        what = value[0]
        if what == MOD:
            return self.of_main(value[1], name)
        if what == PKG:
            return self.top(name)
        if what in (OBJ, ME):
            full = self.full(value[1], value[2])
            found = self.method(full, name, False, value)
            return found if what == OBJ else self.or_main(value, name, found)
        if what == UP:
            return self.above(value, name)
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in MODULES:
                return self.of_module(value, name)
            return self.symbol_member(self.view(value[1]), symbol, value, name)
        if what == LIB:
            return self.of_core(value, name)
        if what == FUN:
            return (value,) if name in ("call", "yield") else ((EXT, name),)
        return ((EXT, name),)

    def method(self, full: Values, name: str, of_class: bool, receiver: Value | None) -> Values:
        """A method of the module of that full name, or of its ancestors."""
        if not full:
            return UNKNOWN
        found = self.once(("method", *full[0], name, of_class), self.found_method, full[0][0], name, of_class)
        return tuple((*one[:3], receiver) if one[0] == SYM else one for one in found)

    def or_main(self, value: Value, name: str, found: Values) -> Values:
        """What ``self`` lacks, a method defined at the top may be: every object has those."""
        if any(one[0] == SYM for one in found):
            return found
        return self.of_main(value[1], name, found)

    def of_main(self, file: int, name: str, beyond: Values = UNKNOWN) -> Values:
        """A method that is defined at the top, in the file itself or in one that it requires."""
        found = self.once(("main", file, name), self.main_method, file, name)
        if found:
            return found
        if beyond:
            return beyond
        return ((EXT, name),) if name in OBJECT else UNKNOWN

    def main_method(self, file: int, name: str) -> Values:
        view = self.view(file)
        self.ask(view, name)
        own = [at for at in self.bound_symbols(view, 0, name) if view.symbols[at].kind == FUNCTION]
        if own:
            return tuple((SYM, file, at, None) for at in own)
        some: dict[int, list[int]] = {}
        for other, at in self.named(name):
            there = self.view(other)
            self.ask(there, name)
            if there.symbols[at].kind == FUNCTION and at in self.bound_symbols(there, 0, name):
                some.setdefault(other, []).append(at)
        if some:
            for other in self.reached(file, some):
                return tuple((SYM, other, at, None) for at in some[other])
        return UNKNOWN

    def above(self, value: Value, name: str) -> Values:
        """``super``."""
        full = self.full(value[1], value[2])
        of_class = len(value) > 3
        if not full:
            return UNKNOWN
        own = (ME, value[1], value[2])
        receiver = (SYM, value[1], value[2], own) if of_class else own
        found = self.once(("above", *full[0], name, of_class), self.found_above, full[0][0], name, of_class)
        return tuple((*one[:3], receiver) if one[0] == SYM else one for one in found) or ((EXT, name),)

    def of_module(self, value: Value, name: str) -> Values:
        """A constant of a module, or a method of the module itself; ``new`` is what makes an instance."""
        full = self.full(value[1], value[2])
        if not full:
            return UNKNOWN
        if name[:1].isupper():
            found = self.once(("within", *full[0], name), self.constant_of, full[0][0], name)
            if found:
                return found
        found = self.method(full, name, True, value)
        if any(one[0] == SYM for one in found):
            return found
        if name == "new":
            return self.maker(value, full)
        if found and found[0][0] == EXT and name in MAKERS:
            return ((BOUND, value, name),)
        if value[3] is not None and value[3][0] == ME:
            return self.or_main(value, name, found)
        return found or (((EXT, name),) if name in OBJECT else UNKNOWN)

    def maker(self, value: Value, full: Values) -> Values:
        """What ``new`` runs: ``initialize`` where there is one; else it stands for the class itself."""
        found = self.method(full, "initialize", False, value)
        ours = tuple(one for one in found if one[0] == SYM)
        if ours:
            return ours
        return tuple((SYM, *one, value[3]) for one in self.declared(full[0][0])[:1]) or ((EXT, "new"),)

    def of_core(self, value: Value, name: str) -> Values:
        """A method of an instance of a core class, which the project may have reopened."""
        if value[1] in CORE:
            found = self.method(((value[1],),), name, False, value)
            if any(one[0] == SYM for one in found):
                return found
        return ((BOUND, value, name),)

    # -- calls ----------------------------------------------------------------------------------------------------

    def result(self, value: Value, count: int) -> Values:
        """See `Members.result`."""
        what = value[0]
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in MODULES:
                return self.instance_of(value)
            if symbol.kind == CONSTRUCTOR and value[3] is not None and value[3][0] == SYM:
                return self.instance_of(value[3])
            if symbol.kind in CALLED:
                given = self.once(("returned", value[1], value[2]), self.returned, value[1], value[2])
                return self.substitute(given, value[3], value[1], symbol.parent)
        if what == EXT:
            return ((EXT, ""),)
        return super().result(value, count)

    def instance_of(self, value: Value) -> Values:
        if value[3] is not None and value[3][0] == ME:
            return (value[3],)
        return ((OBJ, value[1], value[2], None),)

    def instance(self, value: Value) -> Values:
        """See `Types.instance`."""
        if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in MODULES:
            return self.instance_of(value)
        if value[0] == SYM:
            held = self.contents((value,))
            return join(*(self.instance(one) for one in held if one != value))
        return super().instance(value)

    def returned(self, file: int, symbol: int) -> Values:
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        scope = that.own if that.own >= 0 else that.scope
        return join(*(self.eval(view, expr, scope, -1) for expr in that.returns))

    def substitute(self, values: Values, receiver: Value | None, file: int, holder: int) -> Values:
        """``self`` in what a method gives is what it was called on."""
        del file, holder
        if receiver is None or not any(_of_self(value) for value in values):
            return values
        return join(*(self.replaced(value, receiver) for value in values))

    def replaced(self, value: Value, receiver: Value) -> Values:
        what = value[0]
        if what == ME:
            if receiver[0] == SYM:
                return self.instance_of(receiver)
            return (receiver,) if receiver[0] in (OBJ, ME) else (value,)
        if what == SYM and value[3] is not None and value[3][0] == ME:
            return ((*receiver[:3], receiver[3]),) if receiver[0] == SYM else (value,)
        if what == LIB and value[2]:
            return ((LIB, value[1], tuple(join(*(self.replaced(one, receiver) for one in part)) for part in value[2])),)
        return (value,)

    def library_call(self, value: Value, name: str) -> Values:
        if value[0] == SYM:
            return self.instance_of(value)
        return library_call(value, name)

    def library_made(self, name: str) -> Values:
        """What a library gives is not known."""
        del name
        return ((EXT, ""),)

    def given(self, view: View, call: int, argument: int, scope: int, pos: int) -> Values:
        """What ``map`` gives: an Array of what its block does."""
        exprs = view.exprs
        called = self.denote(view, exprs[3 * call + 1], scope, pos)
        if called and all(one[0] in (BOUND, EXT) for one in called):
            made = join(*(self.result(one, 1) for one in self.eval(view, argument, scope, pos)))
            name = self.called(view, exprs[3 * call + 1])
            return made if name in ("then", "yield_self") else ((LIB, "Array", (made,)),)
        return join(*(self.result(one, 1) for one in called))

    def eval(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """See `Engine.eval`. What a block is given is what the method yields that it is passed to."""
        exprs = view.exprs
        if exprs[3 * expr] == PASSED:
            called = self.denote(view, exprs[3 * expr + 1], scope, pos)
            return join(*(self.yielded(one, exprs[3 * expr + 2]) for one in called if one[0] == SYM))
        return super().eval(view, expr, scope, pos)

    def yielded(self, value: Value, place: int) -> Values:
        """What a method hands to its block."""
        symbol = self.view(value[1]).symbols[value[2]]
        if symbol.kind not in CALLED:
            return UNKNOWN
        found = self.once(("yielded", value[1], value[2], place), self.found_yielded, value[1], value[2], place)
        return self.substitute(found, value[3], value[1], symbol.parent)

    def found_yielded(self, file: int, symbol: int, place: int) -> Values:
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        found: list[Values] = []
        for expr in that.decorators:
            op, scope, parts = view.exprs[3 * expr : 3 * expr + 3]
            if op == WITHIN:
                given = list(self.items(view, parts, scope, -1))
                found.append(given[place] if place < len(given) else UNKNOWN)
        return join(*found)

    def element(self, value: Value) -> Values:
        if value[0] == LIB and value[1] == "Hash":
            return ((LIB, "tuple", value[2]),) if len(value[2]) == 2 else UNKNOWN
        if value[0] in (OBJ, ME):
            return join(*(self.yielded(one, 0) for one in self.member(value, "each") if one[0] == SYM))
        if value[0] == LIB and value[1] not in ITERATES:
            return UNKNOWN
        return value[2][0] if value[0] == LIB and value[2] else UNKNOWN

    def part(self, value: Value, place: int) -> Values:
        if value[0] == LIB and value[1] == "tuple":
            return value[2][place - 1] if place <= len(value[2]) else UNKNOWN
        return self.element(value) if value[0] == LIB else UNKNOWN

    def item(self, value: Value) -> Values:
        if value[0] in (OBJ, ME, SYM):
            return join(*(self.result(one, 1) for one in self.member(value, "[]") if one[0] == SYM))
        return super().item(value)

    # -- edges ----------------------------------------------------------------------------------------------------

    def imported(self, view: View, number: int) -> Values:
        item = view.facts.imports[number]
        found = self.required(view, item)
        return ((MOD, found),) if found is not None else UNKNOWN

    def targets(self, kind: int, found: Values) -> list[tuple[int, int]]:
        """Of a class that is opened in several places, those that define it; of equal names the nearest ones."""
        some = super().targets(kind, found)
        if kind == IMPORT_SITE:
            return some
        some = list(dict.fromkeys(place for one in some for place in self.places(*one)))
        if len(some) < 2:
            return some
        near = self.nearest(some)
        return near[:1] if kind == CALL_SITE and all(self.is_module(one) for one in near) else near

    def is_module(self, one: tuple[int, int]) -> bool:
        return self.view(one[0]).symbols[one[1]].kind in MODULES

    def places(self, file: int, symbol: int) -> list[tuple[int, int]]:
        if not self.is_module((file, symbol)):
            return [(file, symbol)]
        full = self.full(file, symbol)
        return self.shown(full[0][0]) if full else [(file, symbol)]

    def nearest(self, some: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Of several symbols of one name, those that lie nearest to the file that is being resolved."""
        names: dict[str, list[tuple[int, int]]] = {}
        for one in some:
            names.setdefault(self.view(one[0]).symbols[one[1]].qualified.partition("~")[0], []).append(one)
        kept: list[tuple[int, int]] = []
        here = self.sources.path(self.current)
        for same in names.values():
            shared = {one: _shared(here, self.sources.path(one[0])) for one in same}
            best = max(shared.values())
            near = [one for one in same if shared[one] == best]
            kept += near if len(near) <= SHOWN else []
        return kept

    def may_be_ours(self, view: View, expr: int, name: str) -> bool:
        """Whether a call that was not found may be of a symbol of this root."""
        del view, expr
        return name not in OBJECT


def _shared(here: str, there: str) -> int:
    """How near two files are: the folders they share, the same file being the nearest."""
    if here == there:
        return 1 << 20
    one, other = posixpath.dirname(here).split("/"), posixpath.dirname(there).split("/")
    count = 0
    for mine, its in zip(one, other, strict=False):
        if mine != its:
            break
        count += bool(mine)
    return count


def _of_self(value: Value) -> bool:
    what = value[0]
    if what == LIB:
        return any(_of_self(one) for part in value[2] for one in part)
    return what == ME or (what == SYM and value[3] is not None and value[3][0] == ME)


ENGINE = Ruby
