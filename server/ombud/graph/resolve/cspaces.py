"""Names of C and C++: namespaces that many files add to, ``using``, and classes that are only declared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    CLASS_SCOPE,
    FUNCTION,
    FUNCTION_SCOPE,
    MACRO,
    MODULE_SCOPE,
    NAMESPACE,
    TO_IMPORT,
    TYPE,
    TYPE_ONLY,
)
from ombud.graph.resolve.cincludes import Includes
from ombud.graph.resolve.cvalues import CValues
from ombud.graph.resolve.members import CALLED, CLASSES, WHEREVER
from ombud.graph.resolve.values import EXT, ME, MOD, OBJ, PKG, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import Binding, View

if TYPE_CHECKING:
    from ombud.graph.resolve import Sources

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")
TYPES = CLASSES | {TYPE}
SPACES = TYPES | {NAMESPACE}
CALLABLE = frozenset((*CALLED, MACRO))


class Spaces(CValues):
    """See the module."""

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self.includes = Includes(self)
        self._spaces: dict[int, dict[str, list[int]]] = {}
        self._brought: dict[
            int, tuple[dict[tuple[str, str], list[tuple[int, int]]], dict[str, list[tuple[int, int]]]]
        ] = {}
        self._units: set[int] = set()

    def forget(self, files: Iterable[int]) -> None:
        """See `World.forget`."""
        changed = list(files)
        super().forget(changed)
        self.includes.forget(changed)
        self._spaces.clear()
        self._brought.clear()

    def seen(self, file: int) -> frozenset[int]:
        """A file and all it includes; a marker of the question is kept instead of its many keys."""
        self.asked.add(-1 - file)
        return self.includes.seen(file)

    def kind_of(self, value: Value) -> int:
        return self.view(value[1]).symbols[value[2]].kind if value[0] == SYM else -1

    # -- names ----------------------------------------------------------------------------------------------------

    def lookup(self, view: View, scope: int, name: int, pos: int) -> Values:
        """See `Engine.lookup`."""
        return self.look(view, scope, view.names[name], pos)

    def look(self, view: View, scope: int, name: str, pos: int, types: bool = False) -> Values:
        """All that a name may mean at a place: several functions are overloads. ``types`` leaves out all but types."""
        number = view.id(name)
        if name.isupper() and (found := self._macros(view, name)):
            return found
        here = scope
        while here >= 0:
            kind, owner = view.kind(here), view.owner(here)
            found = UNKNOWN
            if kind == MODULE_SCOPE:
                found = self.in_space(view, self.path(view, here), name, types)
            elif kind == CLASS_SCOPE:
                found = self._of_class((ME, view.file, owner), name, types) if owner >= 0 else UNKNOWN
            else:
                bindings = view.tables.get(here, {}).get(number)
                if bindings:
                    found = self.local(view, here, bindings, pos)
                if not found and owner >= 0 and view.symbols[owner].owner:
                    found = self._of_owner(view, owner, name, types)
                if not found:
                    found = self._directed(view, view.file, here, name, types)
            found = self.fitting(found, types)
            if found:
                return found
            here = view.parent(here)
        return self.beyond(name)

    def fitting(self, found: Values, types: bool) -> Values:
        """Only types, or what is no structure's tag where something else has its name."""
        if not found:
            return found
        if types:
            return tuple(value for value in found if value[0] != SYM or self.kind_of(value) in SPACES)
        if len(found) > 1:
            some = tuple(value for value in found if value[0] != SYM or self.kind_of(value) not in TYPES)
            return some or found
        return found

    def local(self, view: View, scope: int, bindings: list[Binding], pos: int) -> Values:
        """What a function binds to a name at a place: the innermost one that holds there."""
        if len(bindings) > 1 or bindings[0][2]:
            self.moving = True
        for binding in reversed(bindings):
            what, value, start, end = binding
            if pos == WHEREVER or start <= pos < end:
                if what == TO_IMPORT:
                    return self.once(("import", view.file, value), self.imported, view, value)
                return self.of_binding(view, scope, binding) or ((EXT, ""),)
        return UNKNOWN

    def _of_class(self, receiver: Value, name: str, types: bool) -> Values:
        """A member of a class or of one above it, its type parameters, and the class's own name."""
        view = self.view(receiver[1])
        symbol = view.symbols[receiver[2]]
        if name in symbol.generics:
            return ((VAR, name),)
        found = self.class_member(receiver[1], receiver[2], name, receiver)
        return self.fitting(tuple(value for value in found if value[0] == SYM), types)

    def _of_owner(self, view: View, function: int, name: str, types: bool) -> Values:
        """What a member that is defined outside of its class sees: the class, and what is around it."""
        symbol = view.symbols[function]
        if name in symbol.generics:
            return ((VAR, name),)
        for value in self.owners(view, symbol.owner, symbol.scope):
            if value[0] == PKG:
                return self._around(view, value[1], name, types)
            here: Value = value
            for _ in range(8):
                found = self._of_class((ME, here[1], here[2]), name, types)
                if found:
                    return found
                there = self.view(here[1])
                parent = there.symbols[here[2]].parent
                if there.symbols[parent].kind not in CLASSES:
                    break
                here = (SYM, here[1], parent, None)
            there = self.view(here[1])
            found = self._around(view, self.path(there, there.symbols[here[2]].scope), name, types)
            if found:
                return found
        return UNKNOWN

    def _around(self, view: View, path: str, name: str, types: bool) -> Values:
        """A name of a namespace or of one around it."""
        while path:
            found = self.in_space(view, path, name, types)
            if found:
                return found
            path = path.rpartition("::")[0]
        return UNKNOWN

    def owners(self, view: View, expr: int, scope: int) -> Values:
        """The classes and namespaces that stand before a name that is defined outside of them."""
        return self.once(("owners", view.file, expr, scope), self._owners, view, expr, scope)

    def _owners(self, view: View, expr: int, scope: int) -> Values:
        found: list[Value] = []
        for value in self.scopes_of(view, expr, scope):
            if value[0] == PKG:
                found.append(value)
            else:
                found += [(SYM, one[1], one[2], None) for one in self.instance(value) if one[0] in (OBJ, ME)]
        return tuple(found)

    # -- namespaces and files -------------------------------------------------------------------------------------

    def spaces(self, view: View) -> dict[str, list[int]]:
        """Path of a namespace → its scopes in a file. One without a name, or inline, is part of what is around it."""
        known = self._spaces.get(view.file)
        if known is None:
            known = {"": [0]}
            paths = {0: [""]}
            for scope in range(1, len(view.scopes) // 5):
                above = paths.get(view.parent(scope))
                if view.kind(scope) != MODULE_SCOPE or above is None:
                    continue
                owner = view.owner(scope)
                own = above
                if owner >= 0:
                    symbol = view.symbols[owner]
                    inner = [f"{path}::{symbol.name}" if path else symbol.name for path in above]
                    own = [*inner, *above] if symbol.signature.startswith("inline") else inner
                paths[scope] = own
                for path in own:
                    known.setdefault(path, []).append(scope)
            self._spaces[view.file] = known
        return known

    def path(self, view: View, scope: int) -> str:
        """The namespace around a scope."""
        parts: list[str] = []
        while scope > 0:
            owner = view.owner(scope)
            if view.kind(scope) == MODULE_SCOPE and owner >= 0:
                parts.append(view.symbols[owner].name)
            scope = view.parent(scope)
        return "::".join(reversed(parts))

    def in_space(self, view: View, path: str, name: str, types: bool = False, seen: tuple[str, ...] = ()) -> Values:
        """What a namespace has under a name, as far as a file sees it."""
        found = self.once(("space", view.file, path, name), self._in_space, view, path, name)
        if self.fitting(found, types) or path in seen:
            return found
        more = found
        for target, file, number in self.directives(view, path):
            del file, number
            if target != path:
                more = join(more, self.in_space(view, target, name, types, (*seen, path)))
        return more

    def _in_space(self, view: View, path: str, name: str) -> Values:
        files = self.seen(view.file)
        found: dict[Value, None] = {}
        holders = {file for file, _ in self.named(name) if file in files}
        for file in sorted(holders, key=lambda one: (one != view.file, one)):
            there = self.view(file)
            self.ask(there, name)
            for scope in self.spaces(there).get(path, ()):
                for value in self.bound_symbols(there, scope, name):
                    if path == "" or there.symbols[value].kind != MACRO:
                        found[self._space_or_symbol(there, value, view.file)] = None
        if found:
            return tuple(found)
        for file, number in self.brought(view)[0].get((path, name), ()):
            there = self.view(file)
            if there.facts.imports[number].flags & TYPE_ONLY:
                values = self.once(("forward", file, path, name), self._forward, there, path, name)
            else:
                values = self.once(("import", file, number), self.imported, there, number)
            if values:
                return values
        return UNKNOWN

    def _space_or_symbol(self, view: View, symbol: int, file: int) -> Value:
        """A namespace is known by its path and by the file that looks into it, for it has many symbols."""
        that = view.symbols[symbol]
        if that.kind != NAMESPACE:
            return (SYM, view.file, symbol, None)
        above = self.path(view, that.scope)
        return (PKG, f"{above}::{that.name}" if above else that.name, file)

    def brought(
        self, view: View
    ) -> tuple[dict[tuple[str, str], list[tuple[int, int]]], dict[str, list[tuple[int, int]]]]:
        """What ``using`` and its like bring in all that a file sees: by namespace and name, and whole namespaces."""
        known = self._brought.get(view.file)
        files = self.seen(view.file)
        if known is None:
            names: dict[tuple[str, str], list[tuple[int, int]]] = {}
            spaces: dict[str, list[tuple[int, int]]] = {}
            declared: dict[tuple[str, str], list[tuple[int, int]]] = {}
            for file in sorted(files, key=lambda one: (one != view.file, one)):
                there = self.view(file)
                for number, item in enumerate(there.facts.imports):
                    if there.kind(item.scope) != MODULE_SCOPE:
                        continue
                    path = self.path(there, item.scope)
                    if item.flags & TYPE_ONLY:
                        declared.setdefault((path, item.alias), []).append((file, number))
                    elif item.alias:
                        names.setdefault((path, item.alias), []).append((file, number))
                    elif item.name == "*":
                        spaces.setdefault(path, []).append((file, number))
            for key_, rows in declared.items():
                names.setdefault(key_, []).extend(rows)
            known = self._brought[view.file] = (names, spaces)
        return known

    def directives(self, view: View, path: str) -> list[tuple[str, int, int]]:
        """The namespaces that ``using namespace`` opens in one."""
        found = []
        for file, number in self.brought(view)[1].get(path, ()):
            item = self.view(file).facts.imports[number]
            for value in self.once(("brings", file, number), self.target, self.view(file), item.module, item.scope):
                found += [(value[1], file, number)] if value[0] == PKG else []
        return found

    def _directed(self, view: View, file: int, scope: int, name: str, types: bool) -> Values:
        """A name by a ``using namespace`` within a function."""
        for number, item in enumerate(view.facts.imports):
            if item.name == "*" and item.scope == scope:
                for value in self.once(("brings", file, number), self.target, view, item.module, scope):
                    if value[0] == PKG and (found := self.in_space(view, value[1], name, types)):
                        return found
        return UNKNOWN

    def _macros(self, view: View, name: str) -> Values:
        """A macro that takes arguments, unless there is a function of its name: it is spelled so for other systems."""
        found = self.once(("space", view.file, "", name), self._in_space, view, "", name)
        if any(self.kind_of(value) in CALLED for value in found):
            return UNKNOWN
        return tuple(value for value in found if self.kind_of(value) == MACRO)

    def target(self, view: View, path: str, scope: int) -> Values:
        """What a path such as ``a::b`` names, read in a scope."""
        parts = [part for part in path.split("::") if part]
        if not parts:
            return UNKNOWN
        where = 0 if path.startswith("::") else scope
        found = self.look(view, where, parts[0], WHEREVER)
        for part in parts[1:]:
            found = join(*(self.member_in(view, value, part) for value in found))
        return found

    def imported(self, view: View, number: int) -> Values:
        """A file that is included, a name that ``using`` brings, a class that is declared only."""
        item = view.facts.imports[number]
        if item.flags & TYPE_ONLY:
            path = self.path(view, item.scope)
            return self.once(("forward", view.file, path, item.name), self._forward, view, path, item.name)
        if not item.alias and not item.name:
            self.seen(view.file)
            file = self.includes.direct(view.file)[0][number]
            return ((MOD, file),) if file is not None else ((EXT, item.module),)
        base = self.target(view, item.module, item.scope) if item.module else ((PKG, "", view.file),)
        if not item.name:
            return base
        return join(*(self.member_in(view, value, item.name) for value in base))

    def member_in(self, view: View, value: Value, name: str) -> Values:
        """A member, where that of a namespace is what a file sees of it."""
        if value[0] == PKG:
            return self.in_space(view, value[1], name) or self.beyond_space(value[1], name)
        return self.member(value, name)

    def beyond_space(self, path: str, name: str) -> Values:
        """A member of a namespace that a library may add to."""
        return ((EXT, name),) if path.split("::", maxsplit=1)[0] in ("std", "boost", "absl", "testing") else UNKNOWN

    def beyond(self, name: str) -> Values:
        """What no file that is seen has: of a library, unless the project has something that could be meant."""
        for file, number in self.named(name):
            self.ask(self.view(file), name)
            symbol = self.view(file).symbols[number]
            if symbol.kind in (FUNCTION, MACRO) or symbol.kind in SPACES:
                return UNKNOWN
        return ((EXT, name),)

    def _forward(self, view: View, path: str, name: str) -> Values:
        """The class that a file only declares: the only one of that name in the same namespace."""
        found = []
        for file, number in self.named(name):
            there = self.view(file)
            self.ask(there, name)
            symbol = there.symbols[number]
            if (
                symbol.kind in CLASSES
                and self.path(there, symbol.scope) == path
                and there.kind(symbol.scope) != FUNCTION_SCOPE
            ):
                found.append((file, number))
        if len(found) > 1:
            # What a source file defines is its own affair; else the one whose file includes the declaration is meant.
            shared = [one for one in found if not self.sources.path(one[0]).endswith(SOURCES)]
            found = shared if len(shared) == 1 else found
        if len(found) > 1:
            found = [one for one in found if view.file in self.seen(one[0])]
        if len(found) != 1:
            return UNKNOWN
        return ((SYM, *found[0], None),)
