"""Names of Java, C# and Kotlin: variables, types and methods are three kinds of names, each looked up for itself.

How the expressions of their sites are made is told in `ombud.graph.extract.jvmish`. What calls mean is in `jvcalls`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from ombud.graph.facts import (
    ALIAS,
    ATTR,
    CALL,
    CLASS,
    CLASS_SCOPE,
    CONSTRUCTOR,
    ENUM_MEMBER,
    GIVEN,
    IMPORT,
    INDEX,
    INSTANCE,
    LAST,
    NAME,
    NAMESPACE,
    NARROWED,
    PARAMETER,
    PASSED,
    PROPERTY,
    SELF,
    SUPER,
    TO_IMPORT,
    TO_SYMBOL,
    TUPLE,
    TYPE,
    TYPE_OF,
    UNION,
    VALUE,
    WITHIN,
)
from ombud.graph.resolve.engine import WHEREVER, TooDeep
from ombud.graph.resolve.jvlib import MAPS, PRIMITIVES, gives
from ombud.graph.resolve.jvtypes import BEYOND, SOMETHING, TYPES, Types
from ombud.graph.resolve.members import CALLED, CLASSES, HELD
from ombud.graph.resolve.values import BOUND, EXT, LIB, ME, OBJ, PKG, SYM, UNKNOWN, UP, VAR, Value, Values, join
from ombud.graph.resolve.view import Binding, View

_METHODS = CALLED - {CONSTRUCTOR}


class Names(Types):
    """See the module. A language says what a file sees beyond itself: `top_type`, `top_variable`, `top_function`."""

    CLASS_NAMES = True

    # -- sites ----------------------------------------------------------------------------------------------------

    def site(self, view: View, expr: int, scope: int, pos: int) -> Values:
        try:
            return self.denote(view, expr, scope, self.stretch(view, pos))
        except (TooDeep, RecursionError):
            self.running.clear()
            return UNKNOWN
        finally:
            self.moving = True

    def stretch(self, view: View, pos: int) -> int:
        """The first place from which on every name of the file means what it means at ``pos``."""
        edges = self.edges.get(view.file)
        if edges is None:
            some = {0}
            for table in view.tables.values():
                for bindings in table.values():
                    for _, _, start, end in bindings:
                        some.update((start, end))
            edges = self.edges[view.file] = sorted(some)
        return edges[bisect_right(edges, pos) - 1]

    def __init__(self, sources: Any, family: str) -> None:
        super().__init__(sources, family)
        self.edges: dict[int, list[int]] = {}

    def forget(self, files: Iterable[int]) -> None:
        super().forget(files)
        self.edges.clear()

    def called(self, view: View, expr: int) -> str:
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        while op in (CALL, GIVEN, INDEX, INSTANCE):
            op, a, b = view.exprs[3 * a : 3 * a + 3]
        return view.names[a] if op == NAME else view.names[b] if op == ATTR else ""

    def targets(self, kind: int, found: Values) -> list[tuple[int, int]]:
        del kind
        return list(dict.fromkeys((value[1], value[2]) for value in found if value[0] == SYM))

    def is_held(self, value: Value) -> bool:
        """A callee is looked for among methods; the one that is a field is a record's component, its own accessor."""
        del value
        return False

    def denote(self, view: View, expr: int, scope: int, pos: int) -> Values:
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op in (CALL, GIVEN):
            return self.callee(view, expr, scope, pos)
        if op == INSTANCE:
            return tuple(value for value in self.type_at(view, a, scope) if value[0] != VAR)
        if op == NAME:
            return self.simple(view, scope, view.names[a], pos)
        if op == ATTR:
            base = self.eval(view, a, scope, pos) if a else UNKNOWN
            return join(*(self.attribute(value, view.names[b]) for value in base))
        if op == UNION:
            found = self.denote(view, a, scope, pos)
            return found or self.denote(view, b, scope, pos)
        if op == IMPORT:
            return self.once(("import", view.file, a), self.imported, view, a)
        return UNKNOWN

    def callee(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """What a call calls."""
        raise NotImplementedError

    # -- values ---------------------------------------------------------------------------------------------------

    def eval(self, view: View, expr: int, scope: int, pos: int) -> Values:
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op in (NAME, ATTR):
            found = self.once(("value", view.file, expr, scope, pos), self.denote, view, expr, scope, pos)
            return self.contents(found)
        if op in (CALL, GIVEN):
            return self.once(("call", view.file, expr, scope, pos), self.called_value, view, expr, scope, pos)
        if op == PASSED:
            return self.once(("passed", view.file, expr, scope, pos), self.passed, view, a, b, scope, pos)
        if op == INDEX:
            return self.indexed(view, a, scope, pos)
        if op in (SELF, SUPER):
            return self.this(view, scope, pos, op == SUPER)
        if op == CLASS:
            owner = self.class_around(view, scope)
            return ((SYM, view.file, owner, None),) if owner >= 0 else UNKNOWN
        if op == TYPE_OF:
            return join(*(self.class_of(value) for value in self.eval(view, a, scope, pos)))
        if op == WITHIN:
            return self.eval(view, b, a, WHEREVER)
        if op == TUPLE:
            return ((LIB, "tuple", tuple(self.items(view, a, scope, pos))),)
        return super().eval(view, expr, scope, pos)

    def called_value(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """What a call gives."""
        raise NotImplementedError

    def passed(self, view: View, target: int, place: int, scope: int, pos: int) -> Values:
        """What a closure is given."""
        raise NotImplementedError

    def indexed(self, view: View, base: int, scope: int, pos: int) -> Values:
        """An item; or a generic type, or a method, with its arguments."""
        values = self.eval(view, base, scope, pos)
        return join(*((value,) if value[0] == SYM else self.item(value) for value in values))

    def item(self, value: Value) -> Values:
        if value[0] in (OBJ, ME):
            return self.taken(value, ("this[]", "get"))
        return super().item(value)

    def element(self, value: Value) -> Values:
        if value[0] in (OBJ, ME):
            return join(*(self.element(one) for one in self.library_bases(value))) or self.iterated(value)
        if value[0] == LIB and value[1] in MAPS and len(value[2]) == 2:
            return ((LIB, "Entry", value[2]),)
        return super().element(value)

    def part(self, value: Value, place: int) -> Values:
        if value[0] == LIB and value[1] in ("Entry", "Pair", "Triple", "KeyValuePair") and place <= len(value[2]):
            found: Values = value[2][place - 1]
            return found
        return super().part(value, place)

    def iterated(self, value: Value) -> Values:
        """What iterating over an instance of a class of ours gives, by its own method."""
        return join(*(self.element(one) for one in self.taken(value, ("iterator", "GetEnumerator"))))

    def taken(self, value: Value, names: Sequence[str]) -> Values:
        """What the first of these members gives."""
        for name in names:
            found = [one for one in self.members(value, name) if one[0] == SYM]
            if found:
                return join(*(self.result(one, -1) for one in found[:1]))
        return UNKNOWN

    def library_bases(self, value: Value) -> Values:
        """What an instance of a class of ours is as an instance of a library's types."""
        return self.once(("beyond", *value), self._library_bases, value)

    def _library_bases(self, value: Value) -> Values:
        found: list[Values] = []
        for entry in self.line(value[1], value[2]):
            if entry == BEYOND:
                continue
            view = self.view(entry[0])
            symbol = view.symbols[entry[1]]
            for expr in symbol.bases:
                some = self.instances(view, expr, symbol.scope, symbol.generics)
                known = tuple(one for one in some if one[0] == LIB)
                found.append(self.substitute(known, value, entry[0], entry[1]))
        return join(*found)

    def this(self, view: View, scope: int, pos: int, above: bool) -> Values:
        """``this``, or ``super``."""
        del pos
        owner = self.class_around(view, scope)
        if owner < 0:
            return UNKNOWN
        return ((UP if above else ME, view.file, owner),)

    def class_of(self, value: Value) -> Values:
        """The class of a value."""
        if value[0] in (OBJ, ME):
            return ((SYM, value[1], value[2], None),)
        if value[0] == UP:
            for entry in self.above(value):
                return ((EXT, ""),) if entry == BEYOND else ((SYM, entry[0], entry[1], None),)
            return SOMETHING
        if value[0] == LIB and (value[1] in PRIMITIVES or value[1] in ("String", "string")):
            return UNKNOWN
        return SOMETHING if value[0] in (LIB, EXT, BOUND) else UNKNOWN

    def _contents(self, value: Value) -> Values:
        if value[0] == BOUND and value[1][0] == LIB:
            return gives(value[1], value[2], UNKNOWN) or (value,)
        return super()._contents(value)

    def substitute(self, values: Values, receiver: Value | None, file: int, holder: int) -> Values:
        if receiver is not None and receiver[0] == ME and (receiver[1], receiver[2]) != (file, holder):
            # What is above an instance of a class has its type arguments from the class itself.
            above = self.arguments((OBJ, receiver[1], receiver[2], None), file, holder)
            return self._replaced(values, receiver, above)
        return super().substitute(values, receiver, file, holder)

    def held(self, file: int, symbol: int) -> Values:
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        if that.kind == ENUM_MEMBER:
            return ((OBJ, file, that.parent, None),)
        inside = that.own if that.kind == PROPERTY and that.own >= 0 else that.scope
        if that.type:
            return self.instances(view, that.type, inside)
        return self.eval(view, that.value, inside, WHEREVER) if that.value else UNKNOWN

    def returned(self, file: int, symbol: int) -> Values:
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        inside = that.own if that.own >= 0 else that.scope
        if that.type:
            return self.instances(view, that.type, inside)
        return join(*(self.eval(view, expr, inside, WHEREVER) for expr in that.returns))

    # -- variables ------------------------------------------------------------------------------------------------

    def simple(self, view: View, scope: int, text: str, pos: int) -> Values:
        """A bare name where an expression may stand: a variable, else a type, else a package."""
        found = self.variable(view, scope, text, pos)
        if found is not None:
            return found
        found = tuple(value for value in self.type_named(view, scope, text) if value[0] != EXT)
        if found:
            return found
        if self.inherits_library(view, scope) and text[:1].islower():
            return ((EXT, text),)
        return ((PKG, text),)

    def variable(self, view: View, scope: int, text: str, pos: int) -> Values | None:
        """What a name means as a variable; None where it is none. Of a local one, what it holds."""
        self.ask(view, text)
        number = view.id(text)
        here = scope
        while here >= 0:
            bindings = view.table(here).get(number) if number >= 0 else None
            if view.kind(here) == CLASS_SCOPE:
                owner = view.owner(here)
                if view.symbols[owner].kind != NAMESPACE:
                    found = self.fields(view.file, owner, text, (ME, view.file, owner))
                    if found:
                        return found
            elif here and (receiver := self.receiver(view, here, pos)):
                found = join(*(self.field_of(value, text) for value in receiver))
                if found:
                    return found
            if bindings and here:
                local = self.local(view, here, bindings, pos)
                if local is not None:
                    return local
            here = view.parent(here)
        return self.top_variable(view, scope, text)

    def receiver(self, view: View, scope: int, pos: int) -> Values:
        """What ``this`` is in the scope of a function that has one of its own (Kotlin)."""
        del view, scope, pos
        return UNKNOWN

    def field_of(self, value: Value, text: str) -> Values:
        """A variable among the members of a value."""
        found = self.attribute(value, text)
        return tuple(one for one in found if one[0] == SYM and self.kind_of(one) in HELD)

    def local(self, view: View, scope: int, bindings: list[Binding], pos: int) -> Values | None:
        """What the bindings of a function's variable say at a place; None where none of them holds there."""
        best: Binding | None = None
        several = False
        for binding in bindings:
            what, value, start, end = binding
            if what not in (VALUE, PARAMETER, NARROWED) and what in (TO_SYMBOL, TO_IMPORT):
                continue
            if start or end != LAST:
                if pos == WHEREVER:
                    if what == NARROWED:
                        continue
                    several = several or (best is not None and best[1] != value)
                elif not start <= pos < end:
                    continue
            if best is None or start >= best[2]:
                best = binding
        if best is None:
            return None
        if several:
            return UNKNOWN
        return self.of_local(view, scope, best, pos)

    def of_local(self, view: View, scope: int, binding: Binding, pos: int) -> Values:
        """What one binding says."""
        what, value, start, _ = binding
        if not value:
            return UNKNOWN
        at = pos if what == PARAMETER and view.owner(scope) < 0 else start - 1 if start else WHEREVER
        if at != WHEREVER:
            at = self.stretch(view, max(at, 0))
        return self.once(("local", view.file, scope, value, at), self.eval, view, value, scope, at)

    def fields(self, file: int, symbol: int, text: str, receiver: Value | None) -> Values:
        """Variables among the members of a class, the nearest."""
        line = self.line(file, symbol)
        for entry in line:
            if entry == BEYOND:
                continue
            found = [at for at in self.seen_members(line, entry, text) if self.kind_at(entry[0], at) in HELD]
            if found:
                return ((SYM, entry[0], found[0], receiver),)
        return UNKNOWN

    def top_variable(self, view: View, scope: int, text: str) -> Values | None:
        """A variable that no scope of the file has: imported."""
        del view, scope, text
        return None

    # -- members --------------------------------------------------------------------------------------------------

    def attribute(self, value: Value, name: str) -> Values:
        """What ``value.name`` is where it is not called: a field, a class within, something of a package."""
        what = value[0]
        if what == UP:
            for entry in self.above(value):
                if entry != BEYOND:
                    return self.attribute((OBJ, entry[0], entry[1], entry[2]), name)
            return ((EXT, name),)
        if what in (OBJ, ME):
            return self.fields(value[1], value[2], name, value) or self.beyond(value, name)
        if what == SYM:
            return self.static_attribute(value, name)
        if what == PKG:
            found = self.tops(value[1], name)
            return found or ((PKG, f"{value[1]}.{name}"),)
        if what == LIB:
            return ((BOUND, value, name),)
        if what == VAR:
            return join(*(self.attribute(bound, name) for bound in self.bound_of(value)))
        return ((EXT, name),) if what in (EXT, BOUND) else UNKNOWN

    def static_attribute(self, value: Value, name: str) -> Values:
        """A member of a class itself, or of what a symbol holds."""
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        if symbol.kind in HELD:
            return join(*(self.attribute(one, name) for one in self.contents((value,)) if one != value))
        if symbol.kind == NAMESPACE:
            return self.attribute((PKG, self.full_name(view, value[2])), name)
        if symbol.kind == TYPE and symbol.flags & ALIAS:
            values = self.once(("alias", value[1], value[2]), self.alias, value[1], value[2])
            return join(*(self.attribute(one, name) for one in values))
        if symbol.kind not in CLASSES:
            return UNKNOWN
        found = self.fields(value[1], value[2], name, value) or self.nested(value[1], value[2], name)
        return found or self.beyond(value, name)

    def members(self, value: Value, name: str) -> Values:
        """All methods of a name that a value has, the nearest first; a record's component where there is none."""
        what = value[0]
        if what in (OBJ, ME, UP):
            line = self.above(value) if what == UP else self.line(value[1], value[2])
            receiver = (ME, *value[1:3]) if what == UP else value
            found = self.methods(line, name, receiver)
            return found or self.implied(value, name) or (((EXT, name),) if line and line[-1] == BEYOND else UNKNOWN)
        if what == SYM:
            return self.static_members(value, name)
        if what == LIB:
            return ((BOUND, value, name),)
        if what == VAR:
            bounds = self.bound_of(value)
            return join(*(self.members(bound, name) for bound in bounds)) if bounds else ((EXT, name),)
        if what == PKG:
            found = tuple(one for one in self.tops(value[1], name) if self.kind_of(one) in CALLED | CLASSES)
            return found or ((BOUND, (PKG, value[1].rpartition(".")[2]), name),)
        return ((EXT, name),) if what in (EXT, BOUND) else UNKNOWN

    def static_members(self, value: Value, name: str) -> Values:
        symbol = self.view(value[1]).symbols[value[2]]
        if symbol.kind in HELD:
            return join(*(self.members(one, name) for one in self.contents((value,)) if one != value))
        if symbol.kind == NAMESPACE:
            return self.members((PKG, self.full_name(self.view(value[1]), value[2])), name)
        if symbol.kind == TYPE and symbol.flags & ALIAS:
            values = self.once(("alias", value[1], value[2]), self.alias, value[1], value[2])
            return join(*(self.members(one, name) for one in values))
        if symbol.kind not in TYPES:
            return UNKNOWN
        line = self.line(value[1], value[2])
        found = self.methods(line, name, value)
        return found or self.implied(value, name) or (((EXT, name),) if line and line[-1] == BEYOND else UNKNOWN)

    def methods(self, line: Sequence[Any], name: str, receiver: Value | None) -> Values:
        """Methods of a name along a line of classes."""
        found: list[Value] = []
        for entry in line:
            if entry == BEYOND:
                continue
            some = self.seen_members(line, entry, name)
            found.extend((SYM, entry[0], at, receiver) for at in some if self.kind_at(entry[0], at) in _METHODS)
        return tuple(found)

    def implied(self, value: Value, name: str) -> Values:
        """A method that every instance of such a class has without its being written."""
        del value, name
        return UNKNOWN
