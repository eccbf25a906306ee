"""Java: packages, imports, and what every class has. See the Java Language Specification, chapters 6 to 8."""

from __future__ import annotations

from collections.abc import Sequence

from ombud.graph.facts import ENUM, STATIC_IMPORT, TO_IMPORT, TO_SYMBOL
from ombud.graph.resolve.jvcalls import Calls
from ombud.graph.resolve.jvtypes import TYPES
from ombud.graph.resolve.members import CALLED, HELD
from ombud.graph.resolve.values import BOUND, EXT, LIB, OBJ, SYM, UNKNOWN, Value, Values
from ombud.graph.resolve.view import View

_OBJECT = frozenset(
    (
        *("getClass", "hashCode", "equals", "clone", "toString", "notify", "notifyAll", "wait", "finalize"),
        *("name", "ordinal", "compareTo", "getDeclaringClass", "describeConstable", "values", "valueOf"),
    )
)
"""Methods that a class has without writing them: those of Object, and those of enums."""


class Java(Calls):
    """See the module."""

    HOLDS_FUNCTIONS = False

    def imported(self, view: View, number: int) -> Values:
        item = view.facts.imports[number]
        dotted = item.module if item.name == "*" else f"{item.module}.{item.name}"
        found = self.nearest(view, self.qualified(dotted))
        return found or ((EXT, item.name),)

    def _imports(self, view: View, text: str) -> Values | None:
        """What single imports of a name bring, None where there is none."""
        rows = [row for row in view.bound(0, text) if row[0] == TO_IMPORT]
        if not rows:
            return None
        found: list[Value] = []
        for row in rows:
            found.extend(self.once(("import", view.file, row[1]), self.imported, view, row[1]))
        return tuple(found)

    def top_type(self, view: View, scope: int, text: str, count: int) -> Values:
        del scope, count
        own = tuple(
            (SYM, view.file, row[1], None)
            for row in view.bound(0, text)
            if row[0] == TO_SYMBOL and view.symbols[row[1]].kind in TYPES
        )
        if own:
            return own
        found = self._imports(view, text)
        if found is not None:
            types = tuple(value for value in found if value[0] == EXT or self.kind_of(value) in TYPES)
            if types:
                return types
        found = self.nearest(view, self.tops(view.facts.package, text, TYPES))
        return found or self._starred(view, text)

    def _starred(self, view: View, text: str) -> Values:
        for item in view.facts.imports:
            if item.name != "*":
                continue
            found = self.tops(item.module, text, TYPES) if not item.flags & STATIC_IMPORT else UNKNOWN
            for value in () if found else self.qualified(item.module):
                found = self.nested(value[1], value[2], text) if value[0] == SYM else UNKNOWN
            if found:
                return self.nearest(view, found)
        return UNKNOWN

    def _static(self, view: View, text: str, kinds: frozenset[int]) -> Values:
        """Members that static imports bring under a name; (EXT, name) where a library may have it."""
        found = tuple(
            value for value in self._imports(view, text) or () if value[0] == EXT or self.kind_of(value) in kinds
        )
        if found:
            return found
        beyond = False
        for item in view.facts.imports:
            if item.name != "*" or not item.flags & STATIC_IMPORT:
                continue
            holders = self.nearest(view, self.qualified(item.module))
            beyond = beyond or not holders
            for value in holders:
                some = self.fields(value[1], value[2], text, None) if kinds is HELD else self.members(value, text)
                if any(one[0] == SYM for one in some):
                    return some
        return ((EXT, text),) if beyond else UNKNOWN

    def top_variable(self, view: View, scope: int, text: str) -> Values | None:
        del scope
        found = self._static(view, text, HELD)
        return tuple(value for value in found if value[0] == SYM) or None

    def top_function(self, view: View, scope: int, text: str) -> Values:
        found = self._static(view, text, CALLED)
        if not found and text in _OBJECT and self.class_around(view, scope) >= 0:
            return ((EXT, text),)
        return found

    def implied(self, value: Value, name: str) -> Values:
        if value[0] in (OBJ, SYM) and self.kind_of(value) == ENUM and name in ("values", "valueOf"):
            return ((BOUND, value, name),)
        if name in _OBJECT:
            return ((EXT, name),)
        return self._component(value, name)

    def _component(self, value: Value, name: str) -> Values:
        """A record's component is its own accessor."""
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        if name in symbol.params and symbol.kind in TYPES:
            for at in self.bound_members(value[1], value[2], name):
                if view.symbols[at].kind in HELD:
                    return ((SYM, value[1], at, value),)
        return UNKNOWN

    def library_gives(self, value: Value, name: str, args: Sequence[Values], explicit: tuple[Values, ...]) -> Values:
        if value[0] in (OBJ, SYM):
            one: Values = ((OBJ, value[1], value[2], None),)
            return ((LIB, "[]", (one,)),) if name == "values" else one
        return super().library_gives(value, name, args, explicit)


ENGINE = Java
