"""C#: namespaces, usings, partial types, extension methods. See the C# language specification, 7.8, 12.8 and 14."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ombud.graph.facts import (
    ENUM,
    GLOBAL_IMPORT,
    METHOD,
    NAMESPACE,
    STATIC_IMPORT,
    TO_IMPORT,
    TO_SYMBOL,
    Import,
)
from ombud.graph.resolve.fingerprint import mix
from ombud.graph.resolve.jvcalls import Calls
from ombud.graph.resolve.jvlib import WIDER, is_object
from ombud.graph.resolve.jvtypes import TYPES
from ombud.graph.resolve.members import CALLED, CLASSES, HELD
from ombud.graph.resolve.values import EXT, LIB, ME, OBJ, PKG, SYM, UNKNOWN, VAR, Value, Values
from ombud.graph.resolve.view import View, key

_OBJECT = frozenset(
    (
        *("ToString", "Equals", "GetHashCode", "GetType", "MemberwiseClone", "ReferenceEquals", "Finalize"),
        *("HasFlag", "CompareTo", "Deconstruct", "PrintMembers", "Invoke", "BeginInvoke", "EndInvoke", "nameof"),
    )
)
"""Methods that a type has without writing them."""
_GLOBALS = re.compile(r"(?i)(using|global|import|program|startup|assemblyinfo)[^/]*\.cs$")
"""Names of the files whose ``global using`` are heeded: to look into all of them would take reading all facts."""


class CSharp(Calls):
    """See the module."""

    def __init__(self, sources: Any, family: str) -> None:
        super().__init__(sources, family)
        self._shared: list[Import] | None = None

    # -- namespaces -----------------------------------------------------------------------------------------------

    def spaces(self, view: View, scope: int) -> list[str]:
        """The namespaces around a scope, from the inside out; the last is the global one."""
        found = [""]
        package = view.facts.package
        names = package.split(".") if package else []
        inside: list[str] = []
        while scope > 0:
            owner = view.owner(scope)
            if owner >= 0 and view.symbols[owner].kind == NAMESPACE:
                inside = [*view.symbols[owner].name.split("."), *inside]
            scope = view.parent(scope)
        parts = [*names, *inside]
        found.extend(".".join(parts[:count]) for count in range(1, len(parts) + 1))
        return found[::-1]

    def usings(self, view: View) -> list[Import]:
        """What a file's usings say, and those that others say for it."""
        return [*view.facts.imports, *self.shared()]

    def shared(self) -> list[Import]:
        """All ``global using``."""
        self.asked.add(key("globals", self.family))
        if self._shared is None:
            found: list[Import] = []
            for path, file in self.sources.paths().items():
                if _GLOBALS.search(path) and self.sources.language(file) in self.languages:
                    found += [item for item in self.view(file).facts.imports if item.flags & GLOBAL_IMPORT]
            self._shared = found
        return self._shared

    def forget(self, files: Any) -> None:
        super().forget(files)
        self._shared = None

    def also_provided(self, view: View) -> dict[int, int]:
        found = super().also_provided(view)
        rows = [item for item in view.facts.imports if item.flags & GLOBAL_IMPORT]
        if rows and _GLOBALS.search(view.path):
            found[key("globals", self.family)] = mix(
                *((item.module, item.name, item.alias, item.flags) for item in rows)
            )
        for symbol in view.symbols:
            if symbol.owner and symbol.kind == METHOD:
                at = key("extension", self.family, symbol.name)
                holder = view.symbols[symbol.parent].parent
                found[at] = mix(found.get(at, 0), view.file, self.full_name(view, holder))
        return found

    def imported(self, view: View, number: int) -> Values:
        item = view.facts.imports[number]
        if item.name == "*" and not item.flags & STATIC_IMPORT:
            return ((PKG, item.module),)
        return self.nearest(view, self.relative(view, item.module, item.scope)) or (
            (EXT, item.module.rpartition(".")[2]),
        )

    def relative(self, view: View, dotted: str, scope: int) -> Values:
        """What a name means in a using: from the namespaces around it."""
        for space in self.spaces(view, scope):
            found = self.qualified(f"{space}.{dotted}" if space else dotted)
            if found:
                return found
        return UNKNOWN

    def _aliased(self, view: View, text: str) -> Values:
        """What a using alias means."""
        for scope, table in view.tables.items():
            for row in table.get(view.id(text), ()):
                if row[0] == TO_IMPORT:
                    found = self.once(("import", view.file, row[1]), self.imported, view, row[1])
                    item = view.facts.imports[row[1]]
                    return ((PKG, item.module),) if found and found[0][0] == EXT and scope >= 0 else found
        for item in self.shared():
            if item.alias == text:
                return self.qualified(item.module) or ((PKG, item.module),)
        return UNKNOWN

    def top_type(self, view: View, scope: int, text: str, count: int) -> Values:
        for space in self.spaces(view, scope):
            found = self.fitting(self.nearest(view, self.tops(space, text, TYPES)), count)
            if found:
                return found
        found = self._aliased(view, text)
        if found:
            return found
        some: dict[Value, None] = {}
        for item in self.usings(view):
            if item.name != "*":
                continue
            if item.flags & STATIC_IMPORT:
                for value in self.relative(view, item.module, 0):
                    if value[0] == SYM and self.kind_of(value) in CLASSES:
                        some.update(dict.fromkeys(self.nested(value[1], value[2], text)))
                continue
            some.update(dict.fromkeys(self.tops(item.module, text, TYPES)))
        return self.nearest(view, tuple(some))

    def packages(self, view: View, scope: int, text: str) -> Values:
        """A namespace's name may leave out what is around."""
        return tuple((PKG, f"{space}.{text}" if space else text) for space in self.spaces(view, scope))

    def simple(self, view: View, scope: int, text: str, pos: int) -> Values:
        found = super().simple(view, scope, text, pos)
        if found and found[0][0] == PKG:
            return self.group(self.function(view, scope, text, pos)) or self.packages(view, scope, text)
        return found

    def group(self, found: Values) -> Values:
        """A method that is named without being called."""
        ours = [value for value in found if value[0] == SYM and self.kind_of(value) in CALLED]
        return self.referred(ours) if ours else UNKNOWN

    def attribute(self, value: Value, name: str) -> Values:
        """A member; where a property has the name of its type, one of that type itself as well (12.8.7.2)."""
        found = super().attribute(value, name)
        if value[0] in (OBJ, ME):
            return found or self.nested(value[1], value[2], name) or self.group(self.members(value, name))
        if value[0] == SYM and not found and self.kind_of(value) in CLASSES:
            return self.group(self.members(value, name))
        return found

    def inside(self, value: Value, name: str) -> Values:
        if value[0] == SYM and self.kind_of(value) == NAMESPACE:
            return self.tops(self.full_name(self.view(value[1]), value[2]), name)
        return super().inside(value, name)

    # -- members --------------------------------------------------------------------------------------------------

    def parts(self, view: View, symbol: int) -> list[tuple[int, int]]:
        that = view.symbols[symbol]
        own = (view.file, symbol)
        if "partial" not in that.signature.split("(")[0].split():
            return [own]
        parent = view.symbols[that.parent]
        if that.parent and parent.kind != NAMESPACE:
            found: list[tuple[int, int]] = []
            for file, at in self.parts(view, that.parent):
                found += [
                    (file, one)
                    for one in self.bound_members(file, at, that.name)
                    if self.kind_at(file, one) == that.kind
                ]
        else:
            some = self.tops(self.full_name(view, that.parent), that.name, CLASSES)
            found = [(value[1], value[2]) for value in some]
        same = [one for one in found if len(self.view(one[0]).symbols[one[1]].generics) == len(that.generics)]
        return [own, *(one for one in same if one != own)]

    def instances(self, view: View, expr: int, scope: int, generics: Sequence[str] = ()) -> Values:
        """Parts of one type are one type, whichever of them its members are looked up from."""
        found = super().instances(view, expr, scope, generics)
        if len(found) < 2:
            return found
        kept: list[Value] = []
        known: set[tuple[int, int]] = set()
        for value in found:
            if value[0] == OBJ:
                if (value[1], value[2]) in known:
                    continue
                known.update(self.parts(self.view(value[1]), value[2]))
            kept.append(value)
        return tuple(kept)

    def _line(self, file: int, symbol: int) -> tuple[Any, ...]:
        line = super()._line(file, symbol)
        parts = self.parts(self.view(file), symbol)
        known = {entry[:2] for entry in line}
        more = tuple((*part, None) for part in parts[1:] if part not in known)
        return (line[0], *more, *line[1:])

    def same_class(self, entry: Any, wanted: Value) -> bool:
        if (entry[0], entry[1]) == (wanted[1], wanted[2]):
            return True
        name = self.view(entry[0]).symbols[entry[1]].name
        if name != self.view(wanted[1]).symbols[wanted[2]].name:
            return False
        return (entry[0], entry[1]) in self.parts(self.view(wanted[1]), wanted[2])

    def implied(self, value: Value, name: str) -> Values:
        if name in _OBJECT or self.kind_of(value) == ENUM:
            return ((EXT, name),)
        return UNKNOWN

    def members_of(self, view: View, value: Value, name: str, scope: int) -> Values:
        found = self.members(value, name)
        if any(one[0] == SYM for one in found) or value[0] in (SYM, PKG):
            return found
        return self.extensions(view, value, name, scope) or found

    def extensions(self, view: View, value: Value, name: str, scope: int) -> Values:
        """Extension methods that are in scope for a value."""
        if value[0] not in (OBJ, ME, LIB, VAR):
            return UNKNOWN
        every = self.once(("extensions", name), self._extensions, name)
        if not every:
            return UNKNOWN
        open_spaces = {*self.spaces(view, scope), *(item.module for item in self.usings(view) if item.name == "*")}
        found = []
        for one in every:
            other = self.view(one[1])
            holder = other.symbols[one[2]].parent
            space = self.full_name(other, other.symbols[holder].parent)
            if space in open_spaces and self.extends(one, value):
                found.append((SYM, one[1], one[2], value))
        return tuple(found)

    def _extensions(self, name: str) -> Values:
        self.asked.add(key("extension", self.family, name))
        found = []
        for file, at in self.sources.named(name, self.languages):
            view = self.view(file)
            symbol = view.symbols[at]
            if symbol.owner and symbol.kind == METHOD:
                self.ask(view, name)
                found.append((SYM, file, at, None))
        return tuple(found)

    def extends(self, method: Value, value: Value) -> bool:
        """Whether a value is what an extension method is for."""
        declared = self.declared(method[1], method[2])
        for wanted in declared[0] if declared else ():
            if wanted[0] == VAR:
                bounds = [one for one in self.bound_of(wanted) if one[0] != VAR]
                if not bounds or any(self.fits(value, one) for one in bounds):
                    return True
            elif value[0] == LIB and wanted[0] == LIB:
                if value[1] == wanted[1] or wanted[1] in WIDER.get(value[1], ()) or is_object(wanted[1]):
                    return True
            elif wanted[0] in (OBJ, LIB) and (self.fits(value, wanted) or 0) > 0.3:
                return True
        return False

    def takes(self, value: Value, count: int) -> bool:
        if value[0] == SYM and self.is_extended(value):
            count += 1
        return super().takes(value, count)

    def is_extended(self, value: Value) -> bool:
        """Whether a method was found as an extension: its receiver is its first argument."""
        symbol = self.view(value[1]).symbols[value[2]]
        return bool(symbol.owner) and value[3] is not None and value[3][0] != SYM and symbol.kind == METHOD

    def parameters_for(self, value: Value, count: int) -> list[Values]:
        if self.is_extended(value):
            return super().parameters_for((*value[:3], None), count + 1)[1:]
        return super().parameters_for(value, count)

    def inferred(self, value: Value, names: Any, count: int, args: Any, explicit: Any) -> Any:
        if self.is_extended(value) and not explicit:
            known: dict[str, Values] = {}
            declared = self.declared(value[1], value[2])
            for want in declared[0] if declared else ():
                self.unify(want, (value[3],), set(names), known)
            for name, some in super().inferred(value, names, count, args, ()).items():
                known.setdefault(name, some)
            return known
        return super().inferred(value, names, count, args, explicit)

    # -- usings of members ------------------------------------------------------------------------------------------

    def _static(self, view: View, text: str, kinds: frozenset[int]) -> Values:
        beyond = False
        for item in self.usings(view):
            if item.name != "*" or not item.flags & STATIC_IMPORT:
                continue
            holders = self.relative(view, item.module, 0)
            beyond = beyond or not holders
            for value in holders:
                some = self.fields(value[1], value[2], text, None) if kinds is HELD else self.members(value, text)
                if any(one[0] == SYM for one in some):
                    return some
        return ((EXT, text),) if beyond else UNKNOWN

    def top_variable(self, view: View, scope: int, text: str) -> Values | None:
        del scope
        return tuple(value for value in self._static(view, text, HELD) if value[0] == SYM) or None

    def top_function(self, view: View, scope: int, text: str) -> Values:
        del scope
        # Functions of a program's top-level statements are bound in the module itself.
        own = tuple(
            (SYM, view.file, row[1], None)
            for row in view.bound(0, text)
            if row[0] == TO_SYMBOL and view.symbols[row[1]].kind in CALLED
        )
        if own:
            return own
        found = self._static(view, text, CALLED)
        if not found and text in _OBJECT:
            return ((EXT, text),)
        return found


ENGINE = CSharp
