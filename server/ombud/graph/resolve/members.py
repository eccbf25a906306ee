"""What the members of a value are, what calling it gives, what it holds: the part of the engine that knows classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import (
    ASYNC,
    CALL,
    GENERATOR,
    RETURNED,
    TO_SYMBOL,
    VALUE,
    Symbol,
)
from ombud.graph.resolve.types import CALLED, CLASSES, HELD, WHEREVER, Types
from ombud.graph.resolve.values import (
    BOUND,
    EXT,
    FUN,
    LIB,
    ME,
    MOD,
    OBJ,
    PKG,
    SYM,
    UNKNOWN,
    UP,
    VAR,
    Value,
    Values,
    join,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from ombud.graph.resolve.view import View


class Members(Types):
    """See the module. Methods that a language changes are `member`, `bases`, `found_in`, `result`, `library_call`."""

    if TYPE_CHECKING:
        once: Callable[..., Values]
        eval: Callable[..., Values]
        denote: Callable[..., Values]
        items: Callable[..., Any]

    # -- members --------------------------------------------------------------------------------------------------

    def member(self, value: Value, name: str) -> Values:
        """What ``value.name`` denotes."""
        what = value[0]
        if what in (OBJ, ME):
            return self.class_member(value[1], value[2], name, value)
        if what == SYM:
            view = self.view(value[1])
            symbol = view.symbols[value[2]]
            if symbol.kind in CLASSES:
                receiver = value[3] if value[3] is not None and value[3][0] == ME else value
                return self.class_member(value[1], value[2], name, receiver)
            return self.symbol_member(view, symbol, value, name)
        if what == UP:
            return self.class_member(value[1], value[2], name, (ME, value[1], value[2]), above=True)
        if what == MOD:
            return self.once(("export", value[1], name), self.export, self.view(value[1]), name)
        if what == PKG:
            return self.package_member(value[1], name)
        if what == LIB:
            return ((BOUND, value, name),)
        if what in (EXT, BOUND):
            return ((EXT, name),)
        if what == VAR:
            return join(*(self.member(bound, name) for bound in self.bound_of(value)))
        return UNKNOWN

    def symbol_member(self, view: View, symbol: Symbol, value: Value, name: str) -> Values:
        """A member of a symbol that is no class: a function, a namespace, a variable's value."""
        if symbol.kind in HELD:
            return join(*(self.member(one, name) for one in self.contents((value,))))
        if symbol.own >= 0 and symbol.kind not in CALLED:
            self.ask(view, name)
            return tuple((SYM, view.file, at, None) for at in self.bound_symbols(view, symbol.own, name))
        return UNKNOWN

    def bound_of(self, value: Value) -> Values:
        """What a type parameter is at least."""
        del value
        return UNKNOWN

    def class_member(self, file: int, symbol: int, name: str, receiver: Value, above: bool = False) -> Values:
        """A member by the order of the classes above; ``above`` leaves out the class itself."""
        found = self.once(("member", file, symbol, name, above), self._found_member, file, symbol, name, above)
        if len(found) == 1 and found[0][0] == SYM:
            return ((SYM, found[0][1], found[0][2], receiver),)
        return tuple((SYM, one[1], one[2], receiver) if one[0] == SYM else one for one in found)

    def _found_member(self, file: int, symbol: int, name: str, above: bool) -> Values:
        line = self.line(file, symbol)
        for entry in line[1:] if above else line:
            if len(entry) == 1:
                return ((EXT, name),)
            found = self.found_in(entry[0], entry[1], name)
            if found:
                return tuple((SYM, entry[0], at, None) for at in found)
        return UNKNOWN

    def found_in(self, file: int, symbol: int, name: str) -> Sequence[int]:
        """The symbols that a class itself has under a name."""
        view = self.view(file)
        self.ask(view, name)
        own = view.symbols[symbol].own
        return self.bound_symbols(view, own, name) if own >= 0 else ()

    def bound_symbols(self, view: View, scope: int, name: str) -> Sequence[int]:
        """Symbols that a scope binds to a name: the last that is certain, or all that may be."""
        found: list[int] = []
        for what, value, _, end in reversed(view.bound(scope, name)):
            if what == TO_SYMBOL:
                found.append(value)
                if view.symbols[value].kind not in CALLED or end >= 2**31 - 1:
                    break
        return found[:1]

    def inherited(self, view: View, scope: int, name: str) -> Values:
        """What a bare name means as a member of the class of ``scope`` (`Engine.CLASS_NAMES`)."""
        owner = view.owner(scope)
        if owner < 0:
            return UNKNOWN
        found = self.class_member(view.file, owner, name, (ME, view.file, owner))
        return tuple(value for value in found if value[0] == SYM)

    # -- classes --------------------------------------------------------------------------------------------------

    def line(self, file: int, symbol: int) -> tuple[Any, ...]:
        """The class and those above it in the order that members are looked for: (file, symbol, args), and (EXT,) at
        the end where a library's class is among them."""
        return self.once(("line", file, symbol), self._line, file, symbol)

    def _line(self, file: int, symbol: int) -> tuple[Any, ...]:
        view = self.view(file)
        self.ask(view, view.symbols[symbol].name)
        own = (file, symbol, None)
        lines: list[list[Any]] = []
        beyond = False
        direct = []
        for base in self.bases(view, symbol):
            if len(base) == 1:
                beyond = True
                continue
            direct.append(base)
            line = list(self.line(base[0], base[1]))
            if line and line[-1] == (EXT,):
                beyond = True
                line.pop()
            lines.append([(one, at, args if (one, at) != (base[0], base[1]) else base[2]) for one, at, args in line])
        merged = _merge([*lines, direct])
        return (own, *merged, (EXT,)) if beyond else (own, *merged)

    def bases(self, view: View, symbol: int) -> list[tuple[Any, ...]]:
        """The classes directly above: (file, symbol, args), or (EXT,) for one of a library."""
        found: list[tuple[Any, ...]] = []
        that = view.symbols[symbol]
        for expr in that.bases:
            for value in self.instances(view, expr, that.scope, that.generics):
                if value[0] == OBJ and (value[1], value[2]) != (view.file, symbol):
                    found.append((value[1], value[2], value[3]))
                    break
                if value[0] in (EXT, LIB, BOUND):
                    found.append((EXT,))
                    break
        return found

    def parameters(self, view: View, symbol: Symbol) -> Sequence[str]:
        """The names of a class's type parameters."""
        del view
        return symbol.generics

    # -- calls ----------------------------------------------------------------------------------------------------

    def result(self, value: Value, count: int) -> Values:
        """What calling a value with so many arguments gives."""
        what = value[0]
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in CLASSES:
                return self.instance(value)
            if symbol.kind in CALLED:
                given = self.once(("returned", value[1], value[2]), self.returned, value[1], value[2])
                return self.substitute(given, value[3], value[1], symbol.parent)
            return join(*(self.result(one, count) for one in self.contents((value,)) if one != value))
        if what == FUN:
            return self.once(("closure", value[1], value[2]), self.closed, value[1], value[2])
        if what in (OBJ, ME):
            called = self.member(value, self.CALL_METHOD) if self.CALL_METHOD else UNKNOWN
            return join(*(self.result(one, count) for one in called if one[0] == SYM))
        if what == BOUND:
            return self.library_call(value[1], value[2])
        if what == EXT:
            return self.library_made(value[1])
        if what == LIB and value[1] == "Callable" and value[2]:
            last: Values = value[2][-1]
            return last
        return UNKNOWN

    CALL_METHOD = ""
    """The method that makes an instance callable."""

    def given(self, view: View, call: int, argument: int, scope: int, pos: int) -> Values:
        """What a call gives whose result may depend on its first argument."""
        found = self.eval(view, call, scope, pos)
        if any(value[0] == VAR for value in found):
            first = self.eval(view, argument, scope, pos)
            return join(*((first if value[0] == VAR else (value,)) for value in found))
        return found

    def returned(self, file: int, symbol: int) -> Values:
        """What a function gives: as declared, else what it returns."""
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        if that.type:
            found = self.instances(view, that.type, that.scope, that.generics)
        else:
            found = join(*(self.eval(view, expr, that.own, WHEREVER) for expr in that.returns))
            if that.flags & GENERATOR:
                return self.finished(view, that, ((LIB, "Generator", (found,)),))
        if that.flags & ASYNC and not that.flags & GENERATOR:
            found = ((LIB, "Coroutine", (found,)),)
        return self.finished(view, that, found)

    def finished(self, view: View, symbol: Symbol, found: Values) -> Values:
        """What decorators make of a function's result."""
        del view, symbol
        return found

    def closed(self, file: int, scope: int) -> Values:
        """What a function without a name gives."""
        view = self.view(file)
        return join(
            *(
                self.eval(view, value, scope, WHEREVER)
                for what, value, _, _ in view.bound(scope, RETURNED)
                if what == VALUE
            )
        )

    # -- what is held ---------------------------------------------------------------------------------------------

    def element(self, value: Value) -> Values:
        """What iterating over a value gives."""
        if value[0] == LIB:
            return value[2][0] if value[2] else ((EXT, ""),)
        return ((EXT, ""),) if value[0] in (EXT, BOUND) else UNKNOWN

    def part(self, value: Value, place: int) -> Values:
        """The part of a tuple at a place, counted from 1."""
        if value[0] == LIB and value[1] == "tuple" and len(value[2]) >= place:
            found: Values = value[2][place - 1]
            return found
        return self.element(value)

    def subscript(self, view: View, base: int, key: int, scope: int, pos: int) -> Values:
        """``base[key]``: an item, or a generic type with arguments."""
        found: list[Values] = []
        for value in self.eval(view, base, scope, pos):
            if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in CLASSES:
                made = self.applied(view, base, key, scope, ())
                found += [((SYM, *value[1:3], one),) if one[0] == OBJ else (one,) for one in made]
            else:
                found.append(self.item(value))
        return join(*found)

    def item(self, value: Value) -> Values:
        """What a subscript of a value gives."""
        if value[0] == LIB:
            return value[2][-1] if value[2] else ((EXT, ""),)
        return ((EXT, ""),) if value[0] in (EXT, BOUND) else UNKNOWN

    def awaited(self, value: Value) -> Values:
        if value[0] == LIB:
            return value[2][-1] if value[2] else ((EXT, ""),)
        return ((EXT, ""),) if value[0] in (EXT, BOUND) else UNKNOWN

    def unwrapped(self, value: Value) -> Values:
        """A value without its optional part."""
        return (value,)

    def library_call(self, value: Value, name: str) -> Values:
        """What calling method ``name`` of a library's instance gives."""
        del value, name
        return ((EXT, ""),)

    def library_made(self, name: str) -> Values:
        """What calling something of a library gives."""
        return ((LIB, name, ()),) if name[:1].isupper() else ((EXT, ""),)

    # -- modules --------------------------------------------------------------------------------------------------

    def export(self, view: View, name: str) -> Values:
        """What a module offers under a name."""
        raise NotImplementedError

    def package_member(self, package: str, name: str) -> Values:
        """What a package that is no file offers under a name."""
        del package, name
        return UNKNOWN


def _merge(lines: list[list[Any]]) -> list[Any]:
    """The C3 merge of lines of classes (Barrett et al. 1996); where they contradict, the first line's order."""
    merged: list[Any] = []
    lines = [line for line in lines if line]
    while lines:
        for line in lines:
            head = line[0][:2]
            if not any(one[:2] == head for other in lines for one in other[1:]):
                break
        else:
            line = lines[0]
            head = line[0][:2]
        merged.append(line[0])
        lines = [rest for other in lines if (rest := [one for one in other if one[:2] != head])]
    return merged


__all__ = ["CALL", "CALLED", "CLASSES", "HELD", "WHEREVER", "Members"]
