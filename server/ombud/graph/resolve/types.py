"""Types: instances of what an annotation names, what a variable holds, and what type parameters stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import (
    ATTR,
    CLASS,
    CLASS_KIND,
    CONS,
    CONSTANT,
    CONSTRUCTOR,
    ENUM,
    ENUM_MEMBER,
    FIELD,
    FUNCTION,
    INDEX,
    INSTANCE,
    INTERFACE,
    METHOD,
    NAME,
    PROPERTY,
    SELF,
    STRUCT,
    TRAIT,
    TYPE,
    UNION,
    VALUE,
    VARIABLE,
    WITHIN,
    Symbol,
)
from ombud.graph.resolve.values import (
    EXT,
    LIB,
    ME,
    OBJ,
    SYM,
    UNKNOWN,
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


class Types(World):
    """The part of the engine that knows types. `Members` adds classes and calls."""

    if TYPE_CHECKING:
        once: Callable[..., Values]
        eval: Callable[..., Values]
        denote: Callable[..., Values]
        line: Callable[[int, int], tuple[Any, ...]]
        returned: Callable[[int, int], Values]
        parameters: Callable[[View, Symbol], Sequence[str]]

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


def _open(value: Value) -> bool:
    """Whether a receiver can change a value."""
    what = value[0]
    if what in (ME, VAR):
        return True
    if what == LIB:
        return any(_open(one) for args in value[2] for one in args)
    return what == OBJ and bool(value[3]) and any(_open(one) for args in value[3] for one in args)
