"""Kotlin: packages, imports, companions, extensions. See the Kotlin language specification, "Scopes" and "Overload
resolution"."""

from __future__ import annotations

from collections.abc import Sequence

from ombud.graph.facts import CLASS_METHOD, ENUM, PARAMETER, PROPERTY, STATIC, TO_IMPORT, TO_SYMBOL
from ombud.graph.resolve.fingerprint import mix
from ombud.graph.resolve.jvcalls import Calls
from ombud.graph.resolve.jvlib import MAPS, WIDER, is_object
from ombud.graph.resolve.jvtypes import BEYOND, TYPES
from ombud.graph.resolve.members import CALLED, CLASSES, HELD
from ombud.graph.resolve.values import BOUND, EXT, FUN, LIB, ME, OBJ, SYM, UNKNOWN, UP, VAR, Value, Values, join
from ombud.graph.resolve.view import View, key

_ITSELF = frozenset(("apply", "also", "takeIf", "takeUnless", "copy", "onEach", "requireNotNull", "checkNotNull"))
_BLOCK = frozenset(("let", "run", "with", "use", "lazy", "synchronized", "withContext", "runBlocking", "runCatching"))
_ANY = frozenset(
    (
        *(
            "toString",
            "hashCode",
            "equals",
            "component1",
            "component2",
            "component3",
            "name",
            "ordinal",
            "to",
            "values",
        ),
        *("valueOf", "javaClass", "entries", "compareTo", "getOrPut", "invoke", "isInitialized"),
    )
)
_LISTS = frozenset(
    (
        "listOf",
        "mutableListOf",
        "arrayListOf",
        "setOf",
        "mutableSetOf",
        "sequenceOf",
        "listOfNotNull",
        "arrayOf",
        "flowOf",
    )
)


class Kotlin(Calls):
    """See the module."""

    # -- this -----------------------------------------------------------------------------------------------------

    def this(self, view: View, scope: int, pos: int, above: bool) -> Values:
        here = scope
        while here > 0 and not above:
            if self._receiving(view, here):
                found = self.receiver(view, here, pos)
                if found:
                    return found
            owner = view.owner(here)
            if owner >= 0 and view.kind(here) == 1:
                break
            here = view.parent(here)
        return super().this(view, scope, pos, above)

    def _receiving(self, view: View, scope: int) -> list[tuple[int, int, int, int]]:
        return [row for row in view.bound(scope, "this") if row[0] == PARAMETER]

    def receiver(self, view: View, scope: int, pos: int) -> Values:
        for row in self._receiving(view, scope):
            return self.of_local(view, scope, row, pos)
        return UNKNOWN

    # -- imports --------------------------------------------------------------------------------------------------

    def imported(self, view: View, number: int) -> Values:
        item = view.facts.imports[number]
        dotted = item.module if item.name == "*" else f"{item.module}.{item.name}"
        return self.nearest(view, self.qualified(dotted)) or ((EXT, item.name),)

    def seen(self, view: View, text: str) -> list[Values]:
        """What a file sees under a name beyond its scopes: by import, of its package, by imports of all."""
        found: list[Values] = []
        rows = [row for row in view.bound(0, text) if row[0] == TO_IMPORT]
        if rows:
            found.append(
                tuple(
                    one for row in rows for one in self.once(("import", view.file, row[1]), self.imported, view, row[1])
                )
            )
        own = tuple((SYM, view.file, row[1], None) for row in view.bound(0, text) if row[0] == TO_SYMBOL)
        found.append(tuple(dict.fromkeys((*own, *self.tops(view.facts.package, text)))))
        starred: list[Value] = []
        for item in view.facts.imports:
            if item.name == "*":
                some = self.tops(item.module, text)
                for holder in () if some else self.qualified(item.module):
                    some = self.inside(holder, text)
                starred.extend(some)
        found.append(tuple(dict.fromkeys(starred)))
        return found

    def top_type(self, view: View, scope: int, text: str, count: int) -> Values:
        del scope, count
        for found in self.seen(view, text):
            types = tuple(one for one in found if one[0] == EXT or self.kind_of(one) in TYPES)
            if types:
                return self.nearest(view, types)
        return UNKNOWN

    def top_variable(self, view: View, scope: int, text: str) -> Values | None:
        del scope
        for found in self.seen(view, text):
            some = tuple(one for one in found if one[0] == SYM and self.kind_of(one) in HELD and not self.owned(one))
            if some:
                return self.nearest(view, some[:1])
        return None

    def top_function(self, view: View, scope: int, text: str) -> Values:
        del scope
        for found in self.seen(view, text):
            some = tuple(
                one for one in found if one[0] == EXT or (self.kind_of(one) in CALLED | TYPES and not self.owned(one))
            )
            if some:
                return some
        return ((EXT, text),) if text in _LISTS | _BLOCK | _ITSELF else self._held(view, text)

    def _held(self, view: View, text: str) -> Values:
        """A function in a property has no name of its own."""
        for found in self.seen(view, text):
            if any(one[0] == SYM and self.kind_of(one) in HELD for one in found):
                return ((EXT, text),)
        return UNKNOWN

    def owned(self, value: Value) -> bool:
        """Whether something is an extension."""
        return bool(self.view(value[1]).symbols[value[2]].owner)

    # -- members --------------------------------------------------------------------------------------------------

    def companions(self, file: int, symbol: int) -> list[tuple[int, int]]:
        """The companions of a class and of those above."""
        found: list[tuple[int, int]] = []
        for entry in self.line(file, symbol):
            if entry == BEYOND:
                continue
            view = self.view(entry[0])
            self.asked.add(self.inside_key(view, entry[1]))
            found.extend(
                (entry[0], at)
                for at, one in enumerate(view.symbols)
                if one.parent == entry[1] and one.flags & CLASS_METHOD and one.flags & STATIC and one.kind in CLASSES
            )
        return found

    def members(self, value: Value, name: str) -> Values:
        found = super().members(value, name)
        if value[0] in (OBJ, ME, UP) and not any(one[0] == SYM for one in found):
            return self._in_companion(value, name) or found
        return found

    def static_members(self, value: Value, name: str) -> Values:
        if self.kind_of(value) in CLASSES:
            found = self._in_companion(value, name)
            if found:
                return found
            inner = self.nested(value[1], value[2], name)
            if inner:
                return self.made(inner)
        return super().static_members(value, name)

    def _in_companion(self, value: Value, name: str) -> Values:
        for file, at in self.companions(value[1], value[2]):
            found = self.methods(self.line(file, at), name, (ME, file, at))
            if found:
                return found
        return UNKNOWN

    def attribute(self, value: Value, name: str) -> Values:
        found = super().attribute(value, name)
        known = any(one[0] == SYM for one in found)
        if known or value[0] not in (OBJ, ME, SYM, LIB, VAR):
            return found
        if value[0] in (OBJ, ME) or (value[0] == SYM and self.kind_of(value) in CLASSES):
            for file, at in self.companions(value[1], value[2]):
                some = self.fields(file, at, name, (ME, file, at)) or self.nested(file, at, name)
                if some:
                    return some
        return found

    def fields(self, file: int, symbol: int, text: str, receiver: Value | None) -> Values:
        found = super().fields(file, symbol, text, receiver)
        if found or self.view(file).symbols[symbol].flags & CLASS_METHOD:
            return found
        for other, at in self.companions(file, symbol):
            some = super().fields(other, at, text, (ME, other, at))
            if some:
                return some
        return UNKNOWN

    def implied(self, value: Value, name: str) -> Values:
        if name in _ITSELF or name in _BLOCK:
            return ((BOUND, value, name),)
        if name in _ANY or (value[0] in (OBJ, SYM) and self.kind_of(value) == ENUM and name in ("values", "valueOf")):
            return ((EXT, name),)
        return UNKNOWN

    # -- extensions -----------------------------------------------------------------------------------------------

    def members_of(self, view: View, value: Value, name: str, scope: int) -> Values:
        found = self.members(value, name)
        if any(one[0] == SYM for one in found):
            return found
        return self.extensions(view, value, name, scope, CALLED) or found

    def denote(self, view: View, expr: int, scope: int, pos: int) -> Values:
        found = super().denote(view, expr, scope, pos)
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == 2 and a and not any(one[0] == SYM for one in found):
            for value in self.eval(view, a, scope, pos):
                some = self.extensions(view, value, view.names[b], scope, frozenset((PROPERTY,)))
                if some:
                    return some
        return found

    def extensions(self, view: View, value: Value, name: str, scope: int, kinds: frozenset[int]) -> Values:
        """Extensions that are in scope for a value."""
        if value[0] not in (OBJ, ME, LIB, VAR, SYM):
            return UNKNOWN
        every = self.once(("extensions", name), self._extensions, name)
        if not every:
            return UNKNOWN
        return tuple(
            (SYM, one[1], one[2], value)
            for one in every
            if self.kind_of(one) in kinds and self.in_sight(view, one, name, scope) and self.extends(one, value)
        )

    def _extensions(self, name: str) -> Values:
        self.asked.add(key("extension", self.family, name))
        every = self.sources.named(name, self.languages)
        found = tuple((SYM, file, at, None) for file, at in every if self.view(file).symbols[at].owner)
        for value in found:
            self.ask(self.view(value[1]), name)
        return found

    def also_provided(self, view: View) -> dict[int, int]:
        found = super().also_provided(view)
        for symbol in view.symbols:
            if symbol.owner:
                at = key("extension", self.family, symbol.name)
                found[at] = mix(found.get(at, 0), view.file, view.facts.package, view.symbols[symbol.parent].qualified)
        return found

    def in_sight(self, view: View, one: Value, name: str, scope: int) -> bool:
        """Whether an extension can be called in a scope: of the package, imported, or a member of a class around."""
        other = self.view(one[1])
        parent = other.symbols[one[2]].parent
        if not parent:
            package = other.facts.package
            if package == view.facts.package:
                return True
            return any((item.module == package and item.name in (name, "*")) for item in view.facts.imports)
        if any(item.name == name and item.module.endswith(other.symbols[parent].name) for item in view.facts.imports):
            return True
        here = scope
        while here >= 0:
            owner = view.owner(here)
            if owner > 0 and view.kind(here) == 1:
                if any(entry[:2] == (one[1], parent) for entry in self.line(view.file, owner)):
                    return True
                if (one[1], parent) in self.companions(view.file, owner):
                    return True
            here = view.parent(here)
        return False

    def extends(self, method: Value, value: Value) -> bool:
        """Whether a value is what an extension is for."""
        view = self.view(method[1])
        symbol = view.symbols[method[2]]
        inside = symbol.own if symbol.own >= 0 else symbol.scope
        given = (ME, value[1], value[2]) if value[0] == SYM else value
        for wanted in self.instances(view, symbol.owner, inside):
            if wanted[0] == VAR:
                bounds = [one for one in self.bound_of(wanted) if one[0] != VAR]
                if not bounds or any(self.fits(given, one) for one in bounds):
                    return True
            elif given[0] == LIB and wanted[0] == LIB:
                if given[1] == wanted[1] or wanted[1] in WIDER.get(given[1], ()) or is_object(wanted[1]):
                    return True
            elif wanted[0] in (OBJ, LIB) and (self.fits(given, wanted) or 0) > 0.05:
                return True
        return False

    # -- what calls give ------------------------------------------------------------------------------------------

    def inferred(
        self, value: Value, names: Sequence[str], count: int, args: Sequence[Values], explicit: tuple[Values, ...]
    ) -> dict[str, Values]:
        known = super().inferred(value, names, count, args, explicit)
        symbol = self.view(value[1]).symbols[value[2]]
        if symbol.owner and not explicit and value[3] is not None:
            for want in self.instances(self.view(value[1]), symbol.owner, symbol.own):
                more: dict[str, Values] = {}
                self.unify(want, (value[3],), set(names), more)
                known = {**known, **more}
        return known

    def misfit(self, view: View, target: int, found: Values) -> Values:
        name = self.called(view, target)
        receiver = found[0][3]
        if name in _ITSELF | _BLOCK and receiver is not None:
            return ((BOUND, receiver, name),)
        return found

    def gives(self, value: Value, count: int, args: Sequence[Values], explicit: tuple[Values, ...]) -> Values:
        if value[0] == BOUND and value[2] in _ITSELF:
            return (value[1],)
        if value[0] == EXT or (value[0] == BOUND and value[2] in _BLOCK):
            name = value[-1]
            if name in _BLOCK:
                closures = [one for some in args for one in some if one[0] == FUN]
                found = join(*(self.once(("closure", one[1], one[2]), self.closed, one[1], one[2]) for one in closures))
                return found or super().gives(value, count, args, explicit)
            if name in _LISTS:
                return ((LIB, "List", (explicit[0] if explicit else join(*args),)),)
            if name in _ITSELF and args:
                return args[0]
        return super().gives(value, count, args, explicit)

    # -- what is held ---------------------------------------------------------------------------------------------

    def part(self, value: Value, place: int) -> Values:
        if value[0] in (OBJ, ME):
            params = self.view(value[1]).symbols[value[2]].params
            if place <= len(params):
                return self.contents(self.fields(value[1], value[2], params[place - 1], value))
            return UNKNOWN
        return super().part(value, place)

    def library_passes(self, value: Value, name: str, argument: int, number: int) -> Values:
        if number == 15:
            return UNKNOWN
        if value[0] == LIB and value[1] in MAPS and len(value[2]) == 2 and not number and name != "computeIfAbsent":
            return ((LIB, "Entry", value[2]),)
        if name.endswith("Indexed") and value[0] == LIB and value[2]:
            return value[2][0] if number == 1 else ((LIB, "Int", ()),)
        if value[0] in (OBJ, ME, SYM):
            return (value,) if not number else UNKNOWN
        return super().library_passes(value, name, argument, number)


ENGINE = Kotlin
