"""Values in C and C++: members, calls, constructors, and what templates make of types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    CALL,
    CONS,
    CONSTRUCTOR,
    DECLARED,
    FIELD,
    GIVEN,
    INDEX,
    INSTANCE,
    LAST,
    MACRO,
    NAME,
    RETURNED,
    TO_SYMBOL,
    TYPE,
    TYPE_OF,
    VALUE,
    WITHIN,
)
from ombud.graph.resolve import cpplib
from ombud.graph.resolve.coverloads import parameter_types, pick
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.members import CALLED, CLASSES, WHEREVER
from ombud.graph.resolve.values import BOUND, EXT, LIB, ME, OBJ, PKG, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.facts import Symbol

TYPES = CLASSES | {TYPE}


class CValues(Engine):
    """See the module."""

    if TYPE_CHECKING:

        def look(self, view: View, scope: int, name: str, pos: int, types: bool = False) -> Values: ...
        def in_space(self, view: View, path: str, name: str, types: bool = False) -> Values: ...
        def beyond_space(self, path: str, name: str) -> Values: ...
        def fitting(self, found: Values, types: bool) -> Values: ...
        def defined(self, value: Value) -> Value: ...

    # -- members --------------------------------------------------------------------------------------------------

    def member(self, value: Value, name: str) -> Values:
        """See `Members.member`."""
        what = value[0]
        if what == PKG:
            view = self.view(value[2])
            return self.in_space(view, value[1], name) or self.beyond_space(value[1], name)
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind == TYPE:
                return join(*(self.member(self.type_of(one), name) for one in self.instance(value)))
            if symbol.kind == MACRO:
                return UNKNOWN
        if what == LIB:
            return cpplib.field(value, name) or ((BOUND, value, name),)
        return super().member(value, name)

    def type_of(self, value: Value) -> Value:
        return (SYM, value[1], value[2], value if value[0] == OBJ else None) if value[0] in (OBJ, ME) else value

    def bound_symbols(self, view: View, scope: int, name: str) -> Sequence[int]:
        """All overloads. What stands in a branch that is not likely taken counts where there is nothing else."""
        bound = [(value, end) for what, value, _, end in view.bound(scope, name) if what == TO_SYMBOL]
        if len(bound) > 1:
            bound = [one for one in bound if one[1] == LAST] or bound
            types = [one for one in bound if view.symbols[one[0]].kind in TYPES]
            if len(types) > 1:
                bound = [one for one in bound if one not in types[1:]]
        return [value for value, _ in bound]

    def class_member(self, file: int, symbol: int, name: str, receiver: Value, above: bool = False) -> Values:
        """See `Members.class_member`. A class's own name means the class, not its constructors."""
        for entry in self.line(file, symbol):
            if entry[0] == EXT:
                break
            if self.view(entry[0]).symbols[entry[1]].name == name:
                return ((SYM, entry[0], entry[1], receiver if entry[:2] == (file, symbol) else None),)
            found = self.found_in(entry[0], entry[1], name)
            if found:
                return tuple((SYM, entry[0], at, receiver) for at in found)
        return super().class_member(file, symbol, name, receiver, above)

    def instance(self, value: Value) -> Values:
        """See `Members.instance`. What a member was found on is no instance of it."""
        if value[0] == SYM and value[3] is not None and value[3][1:3] != value[1:3]:
            return super().instance((SYM, value[1], value[2], None))
        return super().instance(value)

    def constructors(self, value: Value) -> Values:
        """The constructors of a class, also those that ``using`` takes over from the class above."""
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        found = self.found_in(value[1], value[2], symbol.name)
        own = tuple((SYM, value[1], at, value) for at in found if view.symbols[at].kind == CONSTRUCTOR)
        self.asked.add(key("unit", view.path))
        for item in view.facts.imports:
            if (
                item.scope == symbol.own
                and symbol.own > 0
                and item.name
                and item.module.rpartition("::")[2] == item.name
            ):
                for base in self.bases(view, value[2]):
                    if base[0] != EXT and self.view(base[0]).symbols[base[1]].name == item.name:
                        own = (*own, *self.constructors((OBJ, base[0], base[1], base[2])))
        return own

    # -- types ----------------------------------------------------------------------------------------------------

    def instances(self, view: View, expr: int, scope: int, generics: Sequence[str] = ()) -> Values:
        """See `Members.instances`. Where a type is meant, what is none is not found."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == NAME:
            text = view.names[a]
            if text in generics or self.is_parameter(view, scope, text):
                return ((VAR, text),)
            return join(*(self.instance(value) for value in self.look(view, scope, text, WHEREVER, types=True)))
        if op == ATTR:
            found = []
            for value in self.scopes_of(view, a, scope):
                member = self.fitting(self.member(value, view.names[b]), True)
                found += [self.instance(one) for one in member]
            return join(*found)
        return super().instances(view, expr, scope, generics)

    def scopes_of(self, view: View, expr: int, scope: int) -> Values:
        """The namespaces and classes that stand before ``::``."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == NAME:
            return self.look(view, scope, view.names[a], WHEREVER, types=True)
        if op == ATTR:
            return join(
                *(self.fitting(self.member(value, view.names[b]), True) for value in self.scopes_of(view, a, scope))
            )
        if op == INDEX:
            return tuple(self.type_of(one) for one in self.instances(view, expr, scope))
        return self.eval(view, expr, scope, WHEREVER)

    def library_type(self, name: str, args: tuple[Values, ...]) -> Values:
        """See `Members.library_type`."""
        return ((LIB, name, args),)

    def alias(self, file: int, symbol: int) -> Values:
        """See `Members.alias`; a macro or a typedef for something unknown is as good as a library's."""
        found = super().alias(file, symbol)
        that = self.view(file).symbols[symbol]
        return found or (((LIB, that.name, ()),) if not that.value else UNKNOWN)

    # -- calls ----------------------------------------------------------------------------------------------------

    def eval(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """See `Engine.eval`. What a call gives depends on which overload is meant."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op in (CALL, GIVEN):
            question = ("call", view.file, expr, scope, pos)
            return self.once(question, self._called, view, expr, scope, pos)
        if op == INDEX and not b:
            return join(*(self.item(value) for value in self.eval(view, a, scope, pos)))
        if op == WITHIN:
            return self.eval(view, b, a, WHEREVER)
        return super().eval(view, expr, scope, pos)

    def _called(self, view: View, expr: int, scope: int, pos: int) -> Values:
        self.moving = True
        callees = self.meant(view, expr, scope, pos)
        given = self.arguments_of(view, expr, scope, pos)
        return join(*(self.gives(value, given) for value in callees))

    def arguments_of(self, view: View, expr: int, scope: int, pos: int) -> list[Values]:
        """The values of a call's arguments, where they were kept."""
        op, _, b = view.exprs[3 * expr : 3 * expr + 3]
        return list(self.items(view, b, scope, pos)) if op == GIVEN else []

    def meant(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """What a call calls."""
        call = expr
        if view.exprs[3 * expr] == GIVEN:
            call = view.exprs[3 * expr + 1]
        callee, count = view.exprs[3 * call + 1 : 3 * call + 3]
        found: dict[Value, None] = {}
        some: dict[Value, None] = {}
        for value in self._callee(view, callee, scope, pos):
            for one in self.called_by(value, view.exprs[3 * callee] == TYPE_OF):
                kind = self.view(one[1]).symbols[one[2]].kind if one[0] == SYM else -1
                (some if kind in CALLED else found)[one] = None
        if len(some) > 1:
            given = self.arguments_of(view, expr, scope, pos)
            some = dict.fromkeys(pick(self, self.without_declarations(list(some)), count, given))
        macros = [value for value in found if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind == MACRO]
        if macros and some:
            # A macro of a function's name: in all likelihood its other spelling for other systems.
            return tuple(some)
        return (*some, *found)

    def without_declarations(self, found: list[Value]) -> list[Value]:
        """Definitions only, where both are seen."""
        seen: dict[tuple[int, int], Value] = {}
        for value in found:
            that = self.defined(value)
            seen.setdefault((that[1], that[2]), value)
        return list(seen.values())

    def _callee(self, view: View, expr: int, scope: int, pos: int) -> Values:
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == INDEX and b:
            args = self._type_arguments(view, b, scope)
            found: list[Value] = []
            for value in self._callee(view, a, scope, pos):
                kind = self.view(value[1]).symbols[value[2]].kind if value[0] == SYM else -1
                if kind in CLASSES:
                    found.append((SYM, value[1], value[2], (OBJ, value[1], value[2], args)))
                elif kind in CALLED and value[3] is None:
                    found.append((SYM, value[1], value[2], (LIB, "", args)))
                elif value[0] == EXT:
                    found.append((LIB, f"{value[1]}()", args))
                else:
                    found.append(value)
            return tuple(found)
        if op == WITHIN:
            return self._callee(view, b, a, WHEREVER)
        if op == TYPE_OF:
            return tuple(self.type_of(value) for value in self.eval(view, a, scope, pos))
        if op == INSTANCE:
            return tuple(self.type_of(value) for value in self.instances(view, a, scope))
        return self.denote(view, expr, scope, pos)

    def _type_arguments(self, view: View, args: int, scope: int) -> tuple[Values, ...]:
        given = []
        while args and view.exprs[3 * args] == CONS:
            _, head, args = view.exprs[3 * args : 3 * args + 3]
            given.append(self.instances(view, head, scope))
        return tuple(given)

    def called_by(self, value: Value, constructs: bool) -> Values:
        """What calling a value calls: of a class its constructors, of an object its ``operator()``."""
        what = value[0]
        if what == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in CLASSES:
                fits = value[3] is not None and value[3][0] in (OBJ, ME) and value[3][1:3] == value[1:3]
                args: Value = value[3] if fits else (OBJ, value[1], value[2], None)
                found = self.constructors(args)
                return found if found or constructs else (value,)
            if symbol.kind == TYPE:
                made = self.instance(value)
                found = join(*(self.called_by(self.type_of(one), constructs) for one in made if one[0] in (OBJ, ME)))
                return found or (value,)
            return (value,)
        if what in (OBJ, ME):
            return self.operator(value, "operator()") or ((EXT, ""),)
        if what == VAR:
            return UNKNOWN
        return (value,)

    def operator(self, value: Value, name: str) -> Values:
        """An operator of a class's instance."""
        if value[0] not in (OBJ, ME):
            return UNKNOWN
        return tuple(one for one in self.member(value, name) if one[0] == SYM)

    def gives(self, value: Value, given: Sequence[Values]) -> Values:
        """What a call gives, with its arguments known."""
        what = value[0]
        if what == SYM:
            view = self.view(value[1])
            symbol = view.symbols[value[2]]
            if symbol.kind == CONSTRUCTOR:
                receiver = value[3]
                return (
                    (receiver,)
                    if receiver is not None and receiver[0] in (OBJ, ME)
                    else ((OBJ, value[1], symbol.parent, None),)
                )
            if symbol.kind in CALLED:
                found = self.result(value, len(given))
                if symbol.generics and any(one[0] == VAR or (one[0] == LIB and one[2]) for one in found):
                    found = self._replaced(found, None, self.deduced(view, symbol, value[3], given))
                return found
            if symbol.kind == MACRO:
                return UNKNOWN
        if what == EXT:
            return given[0] if value[1] in cpplib.PASSED and given and given[0] else self.library_made(value[1])
        if what == LIB and value[1].endswith("()"):
            name = value[1][:-2]
            if name in cpplib.MAKERS:
                return ((LIB, cpplib.MAKERS[name], value[2]),)
            if name in cpplib.PASSED and given and given[0]:
                return given[0]
            return (
                value[2][0]
                if name in ("get", "any_cast", "get_if", "dynamic_pointer_cast") and value[2]
                else ((LIB, name, value[2]),)
            )
        return self.result(value, len(given))

    def deduced(self, view: View, symbol: Symbol, receiver: Value | None, given: Sequence[Values]) -> dict[str, Values]:
        """What a function template's type parameters are: as written, else by the arguments."""
        found: dict[str, Values] = {}
        if receiver is not None and receiver[0] == LIB:
            found.update(zip(symbol.generics, receiver[2], strict=False))
        for wanted, one in zip(parameter_types(self, view, symbol), given, strict=False):
            for value in wanted:
                if value[0] == VAR and value[1] in symbol.generics and one:
                    found.setdefault(value[1], one)
        return found

    def closed(self, file: int, scope: int) -> Values:
        """See `Members.closed`. What is declared counts."""
        view = self.view(file)
        bound = view.bound(scope, RETURNED)
        declared = [row for row in bound if row[0] == DECLARED]
        return join(
            *(self.eval(view, row[1], scope, WHEREVER) for row in declared or bound if row[0] in (DECLARED, VALUE))
        )

    def result(self, value: Value, count: int) -> Values:
        """See `Members.result`."""
        if value[0] == LIB and value[1] == "function":
            return value[2][0] if value[2] else UNKNOWN
        if value[0] in (OBJ, ME):
            return join(*(self.result(one, count) for one in self.operator(value, "operator()")))
        return super().result(value, count)

    # -- what is held ---------------------------------------------------------------------------------------------

    def element(self, value: Value) -> Values:
        """What a range-for goes over."""
        if value[0] in (OBJ, ME):
            first = self.operator(value, "begin")
            if not first:
                return (value,)  # An array.
            return join(*(self.unwrapped(one) for begin in first[:1] for one in self.result(begin, 0)))
        return cpplib.element(value) if value[0] == LIB else ((EXT, ""),)

    def part(self, value: Value, place: int) -> Values:
        """A part of a tuple; of a structure its fields in order."""
        if value[0] in (OBJ, ME):
            view = self.view(value[1])
            fields = [
                (SYM, value[1], number, value)
                for number, symbol in enumerate(view.symbols)
                if symbol.parent == value[2] and symbol.kind == FIELD
            ]
            self.asked.add(key("layout", view.path))
            return self.contents((fields[place - 1],)) if len(fields) >= place else UNKNOWN
        return cpplib.part(value, place) if value[0] == LIB else ((EXT, ""),)

    def item(self, value: Value) -> Values:
        """What a subscript gives: by the operator, else an array's element."""
        if value[0] in (OBJ, ME):
            operators = self.operator(value, "operator[]")
            return join(*(self.result(one, 1) for one in operators)) if operators else (value,)
        if value[0] == LIB:
            return cpplib.item(value)
        return (value,) if value[0] == VAR else ((EXT, ""),)

    def unwrapped(self, value: Value) -> Values:
        """What ``*`` and ``->`` lead to: pointers were stripped, smart ones were not."""
        if value[0] == OBJ:
            for name in ("operator->", "operator*"):
                found = self.operator(value, name)
                if found and name == "operator->":
                    return join(
                        *(
                            self.unwrapped(one) if one != value else (one,)
                            for f in found[:1]
                            for one in self.result(f, 0)
                        )
                    )
                some = [one for one in found if self.view(one[1]).symbols[one[2]].arity[1] == 0]
                if some:
                    return self.result(some[0], 0)
            return (value,)
        return cpplib.unwrapped(value) if value[0] == LIB else (value,)

    def library_call(self, value: Value, name: str) -> Values:
        """See `Members.library_call`."""
        return cpplib.called(value, name)

    def library_made(self, name: str) -> Values:
        """A constructor of a library's type, or a function of it: one of them is as unknown as the other."""
        return ((LIB, name, ()),) if name else ((EXT, ""),)
