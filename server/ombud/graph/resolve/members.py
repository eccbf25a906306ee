"""What the members of a value are, what calling it gives, what it holds: the part of the engine that knows classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import (
    ASYNC,
    ATTR,
    CALL,
    CLASS,
    CLASS_KIND,
    CONS,
    CONSTANT,
    CONSTRUCTOR,
    ENUM,
    ENUM_MEMBER,
    FIELD,
    FUNCTION,
    GENERATOR,
    INDEX,
    INSTANCE,
    INTERFACE,
    METHOD,
    NAME,
    PROPERTY,
    RETURNED,
    SELF,
    STRUCT,
    TO_SYMBOL,
    TRAIT,
    TYPE,
    UNION,
    VALUE,
    VARIABLE,
    WITHIN,
    Symbol,
)
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
from ombud.graph.resolve.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from ombud.graph.resolve.view import View

CLASSES = frozenset((CLASS_KIND, INTERFACE, ENUM, STRUCT, TRAIT))
CALLED = frozenset((FUNCTION, METHOD, CONSTRUCTOR))
HELD = frozenset((VARIABLE, CONSTANT, FIELD, ENUM_MEMBER, PROPERTY))
"""Kinds whose symbols stand for a value of some type."""
WHEREVER = -1


class Members(World):
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
        found = self.once(("member", file, symbol, name, above), self._class_member, file, symbol, name, above)
        if len(found) == 1 and found[0][0] == SYM:
            return ((SYM, found[0][1], found[0][2], receiver),)
        return tuple((SYM, one[1], one[2], receiver) if one[0] == SYM else one for one in found)

    def _class_member(self, file: int, symbol: int, name: str, above: bool) -> Values:
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

    # -- types ----------------------------------------------------------------------------------------------------

    def instances(self, view: View, expr: int, scope: int, generics: Sequence[str] = ()) -> Values:
        """Instances of the type that an expression names."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == NAME:
            text = view.names[a]
            if text in generics or self.is_parameter(view, scope, text):
                return ((VAR, text),)
            return join(*(self.instance(value) for value in self.denote(view, expr, scope, WHEREVER)))
        if op == ATTR:
            return join(*(self.instance(value) for value in self.denote(view, expr, scope, WHEREVER)))
        if op == INDEX:
            return self.applied(view, a, b, scope, generics)
        if op == UNION:
            return join(self.instances(view, a, scope, generics), self.instances(view, b, scope, generics))
        if op in (CLASS, SELF):
            return tuple((ME, value[1], value[2]) for value in self.eval(view, expr, scope, WHEREVER))
        if op == WITHIN:
            return self.instances(view, b, a, generics)
        if op == INSTANCE:
            return self.instances(view, a, scope, generics)
        if op == CONS:
            return UNKNOWN
        return join(*(self.instance(value) for value in self.eval(view, expr, scope, WHEREVER)))

    def is_parameter(self, view: View, scope: int, name: str) -> bool:
        """Whether a name is a type parameter of a definition around a scope."""
        while scope >= 0:
            owner = view.owner(scope)
            if owner >= 0 and name in view.symbols[owner].generics:
                return True
            scope = view.parent(scope)
        return False

    def applied(self, view: View, base: int, args: int, scope: int, generics: Sequence[str]) -> Values:
        """Instances of a generic type with arguments."""
        given: list[Values] = []
        if view.exprs[3 * args] == CONS:
            while args:
                _, head, args = view.exprs[3 * args : 3 * args + 3]
                given.append(self.instances(view, head, scope, generics))
        else:
            given.append(self.instances(view, args, scope, generics))
        found: list[Value] = []
        for value in self.instances(view, base, scope, generics):
            if value[0] == OBJ:
                found.append((OBJ, value[1], value[2], tuple(given)))
            elif value[0] == LIB:
                found.extend(self.library_type(value[1], tuple(given)))
            else:
                found.append(value)
        return tuple(dict.fromkeys(found))

    def library_type(self, name: str, args: tuple[Values, ...]) -> Values:
        """An instance of a library's generic type."""
        return ((LIB, name, args),)

    def instance(self, value: Value) -> Values:
        """Instances of a type that a value is."""
        what = value[0]
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in CLASSES:
                receiver = value[3]
                if receiver is not None and (receiver[0] == ME or receiver[:3] == (OBJ, value[1], value[2])):
                    return (receiver,)
                return ((OBJ, value[1], value[2], None),)
            if symbol.kind in HELD or symbol.kind == TYPE:
                return self.once(("alias", value[1], value[2]), self.alias, value[1], value[2])
            return UNKNOWN
        if what == EXT:
            return ((LIB, value[1], ()),)
        if what in (VAR, LIB, OBJ, ME):
            return (value,)
        return UNKNOWN

    def alias(self, file: int, symbol: int) -> Values:
        """Instances of what a name for a type stands for."""
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        return self.instances(view, that.value, that.scope, that.generics) if that.value else UNKNOWN

    def contents(self, found: Values) -> Values:
        """The values of what was found: of a variable what it holds; a class or a function stands for itself."""
        if len(found) == 1:
            return self._contents(found[0])
        return join(*(self._contents(value) for value in found))

    def _contents(self, value: Value) -> Values:
        if value[0] != SYM:
            return (value,)
        symbol = self.view(value[1]).symbols[value[2]]
        if symbol.kind not in HELD:
            return (value,)
        held = self.once(("held", value[1], value[2]), self.held, value[1], value[2])
        return self.substitute(held, value[3], value[1], symbol.parent)

    def held(self, file: int, symbol: int) -> Values:
        """What a variable, a field or a property holds: as declared, else all that it is given."""
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        if that.kind == PROPERTY and that.own >= 0:
            return self.returned(file, symbol)
        if that.type:
            return self.instances(view, that.type, that.scope, that.generics)
        if that.kind == ENUM_MEMBER:
            return ((OBJ, file, that.parent, None),)
        given = [self.eval(view, that.value, that.scope, WHEREVER)] if that.value else []
        for what, value, start, _ in view.bound(that.scope, that.name):
            if what == VALUE:
                given.append(self.eval(view, value, that.scope, start))
        return join(*given)

    # -- generics -------------------------------------------------------------------------------------------------

    def substitute(self, values: Values, receiver: Value | None, file: int, holder: int) -> Values:
        """``values`` as they are for a receiver: ``self`` becomes it, type parameters its arguments."""
        if not any(_open(value) for value in values):
            return values
        args: dict[str, Values] = {}
        if receiver is not None and receiver[0] == SYM:
            receiver = (OBJ, receiver[1], receiver[2], None)
        if receiver is not None and receiver[0] == OBJ:
            args = self.arguments(receiver, file, holder)
        return self._replaced(values, receiver, args)

    def arguments(self, receiver: Value, file: int, holder: int) -> dict[str, Values]:
        """What the type parameters of class ``holder`` are for an instance of it or of a class below it."""
        for entry in self.line(receiver[1], receiver[2]):
            if entry[:2] != (file, holder):
                continue
            given = receiver[3] if (receiver[1], receiver[2]) == (file, holder) else entry[2]
            if not given:
                return {}
            if (receiver[1], receiver[2]) != (file, holder) and receiver[3]:
                view = self.view(receiver[1])
                own = dict(zip(self.parameters(view, view.symbols[receiver[2]]), receiver[3], strict=False))
                given = [self._replaced(one, receiver, own) for one in given]
            view = self.view(file)
            return dict(zip(self.parameters(view, view.symbols[holder]), given, strict=False))
        return {}

    def _replaced(self, values: Values, receiver: Value | None, args: dict[str, Values]) -> Values:
        found: list[Value] = []
        for value in values:
            what = value[0]
            if what == ME:
                found.append(receiver if receiver is not None and receiver[0] in (OBJ, ME) else value)
            elif what == VAR:
                found.extend(args.get(value[1], (value,)))
            elif what == LIB and value[2]:
                found.append((LIB, value[1], tuple(self._replaced(one, receiver, args) for one in value[2])))
            elif what == OBJ and value[3]:
                found.append((*value[:3], tuple(self._replaced(one, receiver, args) for one in value[3])))
            else:
                found.append(value)
        return tuple(dict.fromkeys(found))

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
                for one in self.applied(view, base, key, scope, ()):
                    found.append(((SYM, value[1], value[2], one),) if one[0] == OBJ else (one,))
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


def _open(value: Value) -> bool:
    """Whether a receiver can change a value."""
    what = value[0]
    if what in (ME, VAR):
        return True
    if what == LIB:
        return any(_open(one) for args in value[2] for one in args)
    return what == OBJ and bool(value[3]) and any(_open(one) for args in value[3] for one in args)


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
