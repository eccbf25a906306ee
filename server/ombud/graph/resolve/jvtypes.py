"""Types and packages of Java, C# and Kotlin: what a name means where a type stands, and what a class has from above."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ombud.graph.facts import (
    ALIAS,
    ATTR,
    CLASS,
    CLASS_SCOPE,
    CONS,
    INDEX,
    INSTANCE,
    NAME,
    NAMESPACE,
    PRIVATE,
    SYMBOL,
    TO_SYMBOL,
    TUPLE,
    TYPE,
    TYPE_OF,
    UNION,
    WITHIN,
)
from ombud.graph.resolve.engine import WHEREVER, Engine
from ombud.graph.resolve.fingerprint import ALL, mix
from ombud.graph.resolve.members import CLASSES
from ombud.graph.resolve.values import EXT, LIB, OBJ, PKG, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import View, key

TYPES = CLASSES | {TYPE}
BEYOND = (EXT,)
"""What stands for a library's class in a line of classes."""
SOMETHING: Values = ((EXT, ""),)
"""Something of a library of which nothing is known."""


class Types(Engine):
    """See the module."""

    def class_around(self, view: View, scope: int) -> int:
        """The symbol of the class around a scope, -1 for none."""
        while scope >= 0:
            if view.kind(scope) == CLASS_SCOPE:
                owner = view.owner(scope)
                return -1 if view.symbols[owner].kind == NAMESPACE else owner
            scope = view.parent(scope)
        return -1

    def kind_of(self, value: Value) -> int:
        return self.view(value[1]).symbols[value[2]].kind

    def kind_at(self, file: int, symbol: int) -> int:
        return self.view(file).symbols[symbol].kind

    def bound_members(self, file: int, symbol: int, text: str) -> list[int]:
        """The symbols that a class itself has under a name, in the order of the text."""
        view = self.view(file)
        self.ask(view, text)
        own = view.symbols[symbol].own
        if own < 0:
            return []
        return [value for what, value, _, _ in view.bound(own, text) if what == TO_SYMBOL]

    def seen_members(self, line: Sequence[Any], entry: Sequence[Any], text: str) -> list[int]:
        """The symbols under a name that a class has from one of its line: not what is private in those above."""
        found = self.bound_members(entry[0], entry[1], text)
        if not found or entry is line[0]:
            return found
        symbols = self.view(entry[0]).symbols
        parts = self.parts(self.view(line[0][0]), line[0][1])
        return [at for at in found if not symbols[at].flags & PRIVATE or (entry[0], entry[1]) in parts]

    def nested(self, file: int, symbol: int, name: str) -> Values:
        """A type among the members of a class."""
        for entry in self.line(file, symbol):
            if entry == BEYOND:
                continue
            found = [at for at in self.bound_members(entry[0], entry[1], name) if self.kind_at(entry[0], at) in TYPES]
            if found:
                return tuple((SYM, entry[0], at, None) for at in found)
        return UNKNOWN

    def beyond(self, value: Value, name: str) -> Values:
        """A member that no class of ours has: of a library's class above, or of none."""
        line = self.line(value[1], value[2])
        return ((EXT, name),) if line and line[-1] == BEYOND else UNKNOWN

    def bound_of(self, value: Value) -> Values:
        """What a type parameter is at least."""
        if len(value) < 4:
            return UNKNOWN
        return self.once(("least", *value), self._bound_of, value)

    def _bound_of(self, value: Value) -> Values:
        view = self.view(value[2])
        symbol = view.symbols[value[3]]
        self.ask(view, symbol.name)
        if symbol.own < 0:
            return UNKNOWN
        some = [self.instances(view, expr, symbol.own) for _, expr, _, _ in view.bound(symbol.own, f"<{value[1]}>")]
        return tuple(one for one in join(*some) if one != value)

    def type_named(self, view: View, scope: int, text: str, count: int = 0, generics: Sequence[str] = ()) -> Values:
        """What a bare name means as a type with ``count`` arguments; (EXT, name) where it is none of ours."""
        if text in generics:
            return ((VAR, text),)
        self.ask(view, text)
        number = view.id(text)
        here = scope
        while here >= 0:
            owner = view.owner(here)
            if owner > 0 and text in view.symbols[owner].generics:
                return ((VAR, text, view.file, owner),)
            if view.kind(here) == CLASS_SCOPE and view.symbols[owner].kind != NAMESPACE:
                found = self.nested(view.file, owner, text)
                if not found and view.symbols[owner].name == text and view.symbols[owner].kind in TYPES:
                    found = ((SYM, view.file, owner, None),)
            elif here:
                bindings = view.table(here).get(number, ()) if number >= 0 else ()
                found = tuple(
                    (SYM, view.file, value, None)
                    for what, value, _, _ in bindings
                    if what == TO_SYMBOL and view.symbols[value].kind in TYPES
                )
            else:
                found = UNKNOWN
            if found:
                return self.fitting(found, count)
            here = view.parent(here)
        self.ask(view, ALL)
        return self.fitting(self.top_type(view, scope, text, count), count) or ((EXT, text),)

    def fitting(self, found: Values, count: int) -> Values:
        """Of types with one name those with so many parameters, where there is one (C#)."""
        if len(found) < 2:
            return found
        same = tuple(value for value in found if self.parameters_of(value) == count)
        return same or found

    def parameters_of(self, value: Value) -> int:
        return len(self.view(value[1]).symbols[value[2]].generics) if value[0] == SYM else 0

    def top_type(self, view: View, scope: int, text: str, count: int) -> Values:
        """A type that no class of the file has: of the file, imported, of the package."""
        raise NotImplementedError

    def type_at(self, view: View, expr: int, scope: int, generics: Sequence[str] = (), count: int = 0) -> Values:
        """The type that an expression names: (SYM …), (VAR …), (PKG …), or (EXT …) for one of a library."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == NAME:
            return self.type_named(view, scope, view.names[a], count, generics)
        if op == ATTR:
            base = self.outer_type(view, a, scope)
            return self.fitting(join(*(self.inner_type(value, view.names[b]) for value in base)), count)
        if op == INDEX:
            return self.type_at(view, a, scope, generics, self.length(view, b))
        if op == CLASS:
            return self.eval(view, expr, scope, WHEREVER)
        if op == SYMBOL:
            return ((SYM, view.file, a, None),)
        if op == TYPE_OF:
            return self.eval(view, expr, scope, WHEREVER)
        if op == UNION:
            return join(self.type_at(view, a, scope, generics), self.type_at(view, b, scope, generics))
        if op == INSTANCE:
            return self.type_at(view, a, scope, generics)
        return UNKNOWN

    def length(self, view: View, listed: int) -> int:
        """The length of a CONS list."""
        count = 0
        while listed and view.exprs[3 * listed] == CONS:
            count, listed = count + 1, view.exprs[3 * listed + 2]
        return count

    def outer_type(self, view: View, expr: int, scope: int) -> Values:
        """What stands before the last point of a type's name: a type or a package."""
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == NAME:
            found = self.type_named(view, scope, view.names[a])
            return self.packages(view, scope, view.names[a]) if found and found[0][0] == EXT else found
        if op == ATTR:
            return join(*(self.inner_type(value, view.names[b]) for value in self.outer_type(view, a, scope)))
        return self.type_at(view, expr, scope)

    def packages(self, view: View, scope: int, text: str) -> Values:
        """What a name means as the first part of a package's."""
        del view, scope
        return ((PKG, text),)

    def inner_type(self, value: Value, name: str) -> Values:
        """A type within another, or within a package."""
        if value[0] == PKG:
            return self.tops(value[1], name, TYPES) or ((PKG, f"{value[1]}.{name}"),)
        if value[0] == SYM:
            return self.nested(value[1], value[2], name) or self.beyond(value, name)
        return ((EXT, name),) if value[0] in (EXT, LIB) else UNKNOWN

    def instances(self, view: View, expr: int, scope: int, generics: Sequence[str] = ()) -> Values:
        op, a, b = view.exprs[3 * expr : 3 * expr + 3]
        if op == INDEX:
            return self.applied(view, a, b, scope, generics)
        if op == TUPLE:
            return ((LIB, "tuple", tuple(self.type_items(view, a, scope, generics))),)
        if op == UNION:
            return join(self.instances(view, a, scope, generics), self.instances(view, b, scope, generics))
        if op == WITHIN:
            return self.instances(view, b, a, generics)
        return join(*(self.of_type(value, None) for value in self.type_at(view, expr, scope, generics)))

    def type_items(self, view: View, listed: int, scope: int, generics: Sequence[str]) -> Iterable[Values]:
        while listed:
            _, head, listed = view.exprs[3 * listed : 3 * listed + 3]
            yield self.instances(view, head, scope, generics) if head else UNKNOWN

    def applied(self, view: View, base: int, args: int, scope: int, generics: Sequence[str]) -> Values:
        given = tuple(self.type_items(view, args, scope, generics))
        if view.exprs[3 * base] == NAME and not view.names[view.exprs[3 * base + 1]][:1].isidentifier():
            return ((LIB, view.names[view.exprs[3 * base + 1]], given),)
        types = self.type_at(view, base, scope, generics, len(given))
        return join(*(self.of_type(value, given) for value in types))

    def of_type(self, value: Value, args: tuple[Values, ...] | None) -> Values:
        """Instances of a type with arguments."""
        if value[0] == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind == TYPE and symbol.flags & ALIAS:
                found = self.once(("alias", value[1], value[2]), self.alias, value[1], value[2])
                return self._replaced(found, None, dict(zip(symbol.generics, args or (), strict=False)))
            return ((OBJ, value[1], value[2], args),)
        if value[0] in (EXT, PKG):
            return ((LIB, value[1].rpartition(".")[2], args or ()),)
        return (value,)

    def instance(self, value: Value) -> Values:
        return self.of_type(value, None) if value[0] in (SYM, EXT) else (value,)

    def bases(self, view: View, symbol: int) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = []
        for file, at in self.parts(view, symbol):
            part = self.view(file)
            that = part.symbols[at]
            self.ask(part, that.name)
            for expr in that.bases:
                for value in self.instances(part, expr, that.scope, that.generics):
                    if value[0] == OBJ and (value[1], value[2]) != (file, at):
                        found.append((value[1], value[2], value[3]))
                    elif value[0] != OBJ:
                        found.append((EXT,))
        return found

    def parts(self, view: View, symbol: int) -> list[tuple[int, int]]:
        """The class and its other parts (C#)."""
        return [(view.file, symbol)]

    def above(self, value: Value) -> Sequence[Any]:
        """The line of classes above that of a value."""
        own = self.parts(self.view(value[1]), value[2])
        return [entry for entry in self.line(value[1], value[2]) if entry[:2] not in own]

    def inherits_library(self, view: View, scope: int) -> bool:
        """Whether a class around a scope has one of a library above it."""
        while scope >= 0:
            owner = view.owner(scope)
            if view.kind(scope) == CLASS_SCOPE and view.symbols[owner].kind != NAMESPACE:
                line = self.line(view.file, owner)
                if line and line[-1] == BEYOND:
                    return True
            scope = view.parent(scope)
        return False

    def full_name(self, view: View, symbol: int) -> str:
        """A namespace's name with those around it."""
        names = []
        while symbol:
            names.append(view.symbols[symbol].name)
            symbol = view.symbols[symbol].parent
        return ".".join(filter(None, (view.facts.package, *reversed(names))))

    def tops(self, package: str, name: str, kinds: frozenset[int] = frozenset()) -> Values:
        """What a package has under a name at its top, in all its files."""
        found = self.once(("top", package, name), self._tops, package, name)
        return tuple(value for value in found if self.kind_of(value) in kinds) if kinds else found

    def _tops(self, package: str, name: str) -> Values:
        self.asked.add(key("top", self.family, package, name))
        found: list[Value] = []
        for file, at in self.sources.named(name, self.languages):
            if not package.startswith(self.sources.package(file)):
                continue
            view = self.view(file)
            symbol = view.symbols[at]
            parent = symbol.parent
            if parent and view.symbols[parent].kind != NAMESPACE:
                continue
            if self.full_name(view, parent) == package and not symbol.name.startswith("<"):
                self.ask(view, name)
                found.append((SYM, file, at, None))
        return tuple(found)

    def qualified(self, dotted: str) -> Values:
        """What a full name means: a type or what else stands at a package's top, or in a type."""
        return self.once(("full", dotted), self._qualified, dotted)

    def _qualified(self, dotted: str) -> Values:
        parts = dotted.split(".")
        for count in range(len(parts) - 1, -1, -1):
            found = self.tops(".".join(parts[:count]), parts[count])
            for name in parts[count + 1 :]:
                found = join(*(self.inside(value, name) for value in found))
            if found:
                return found
        return UNKNOWN

    def inside(self, value: Value, name: str) -> Values:
        """All members of a class under a name."""
        if value[0] != SYM or self.kind_of(value) not in CLASSES:
            return UNKNOWN
        for entry in self.line(value[1], value[2]):
            if entry != BEYOND and (found := self.bound_members(entry[0], entry[1], name)):
                return tuple((SYM, entry[0], at, None) for at in found)
        return UNKNOWN

    def nearest(self, view: View, found: Values) -> Values:
        """Of types with one full name that of the file nearest by (several modules in one root)."""
        if len(found) < 2 or any(value[0] != SYM for value in found):
            return found
        if len({value[1] for value in found}) == 1:
            return found

        def shared(value: Value) -> int:
            pairs = zip(view.path.split("/"), self.view(value[1]).path.split("/"), strict=False)
            return next((n for n, (one, other) in enumerate(pairs) if one != other), 99)

        best = max(map(shared, found))
        near = tuple(value for value in found if shared(value) == best)
        return near if len({value[1] for value in near}) == 1 else found

    def also_provided(self, view: View) -> dict[int, int]:
        found: dict[int, int] = {}
        for number, symbol in enumerate(view.symbols):
            if number and (not symbol.parent or view.symbols[symbol.parent].kind == NAMESPACE):
                at = key("top", self.family, self.full_name(view, symbol.parent), symbol.name)
                found[at] = mix(view.file, symbol.kind)
            if number and symbol.kind in CLASSES:
                found[self.inside_key(view, number)] = 0
        for symbol in view.symbols:
            if view.symbols[symbol.parent].kind in CLASSES:
                at = self.inside_key(view, symbol.parent)
                found[at] = mix(found[at], symbol.name, symbol.kind, symbol.flags)
        return found

    def inside_key(self, view: View, symbol: int) -> int:
        """The key of the question which members a class has at all."""
        return key("inside", str(view.file), view.symbols[symbol].qualified)
