"""What names mean in Go: packages by folder and package clause, modules by ``go.mod``, ``replace`` and ``go.work``.

Of several definitions of a name for several systems, one in a file of the same constraints is meant, else one that is
built on linux/amd64, one without constraints first.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ombud.graph.extract.gotypes import PREDECLARED
from ombud.graph.facts import (
    ALIAS,
    CALL_SITE,
    CLASS_SCOPE,
    CLOSURE,
    DECLARED,
    FIELD,
    IMPORT_SITE,
    INTERFACE,
    METHOD,
    REFERENCE_SITE,
    RETURNED,
    TYPE,
)
from ombud.graph.resolve import Resolved
from ombud.graph.resolve.gomodules import Modules, built, constraint
from ombud.graph.resolve.lexical import Lexical
from ombud.graph.resolve.members import CALLED, CLASSES, WHEREVER
from ombud.graph.resolve.values import EXT, FUN, LIB, OBJ, PKG, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from ombud.graph.resolve import Sources

TYPES = CLASSES | {TYPE}
INT: Values = ((LIB, "int", ()),)


class Go(Lexical):
    """See the module."""

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self.modules = Modules(self)
        self._named: dict[str, dict[str, list[tuple[int, int]]]] = {}

    def forget(self, files: Iterable[int]) -> None:
        """See `World.forget`."""
        super().forget(files)
        self.modules = Modules(self)
        self._named.clear()

    def land(
        self, view: View, kind: int, expr: int, at: tuple[int, int, int, int], found: Values, done: Resolved
    ) -> None:
        """A conversion looks like a call and is a reference to the type."""
        if kind == CALL_SITE and found and all(self._is_type(value) for value in found):
            kind = REFERENCE_SITE
        super().land(view, kind, expr, at, found, done)

    def _is_type(self, value: Value) -> bool:
        return value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in TYPES

    def targets(self, kind: int, found: Values) -> list[tuple[int, int]]:
        """An import of a package is one of all its files."""
        if kind == IMPORT_SITE:
            folders = [value[1] for value in found if value[0] == PKG]
            return [(file, 0) for folder in folders for file in self.modules.members(folder)]
        return super().targets(kind, found)

    # -- names ----------------------------------------------------------------------------------------------------

    def ambient(self, view: View, scope: int, name: str) -> Values:
        """A name of the package's other files, of a dot import, of a package that is not called like its path."""
        del scope
        if name in PREDECLARED or name in ("[]", "map", "chan", "func"):
            return ((EXT, name),)
        folder = posixpath.dirname(view.path)
        found = self._pick(view, self._own(view, folder, name))
        if found:
            return found
        beyond = False
        for number, item in enumerate(view.facts.imports):
            target = self.once(("import", view.file, number), self.imported, view, number)
            if target and target[0][0] == EXT:
                beyond = True
            elif target and item.name == "*":
                found = self.package_member(target[0][1], name)
                if found and found[0][0] == SYM:
                    return found
            elif target and self.modules.clause(target[0][1]) == name and not self._aliased(view, number):
                return target
        return ((EXT, name),) if beyond else UNKNOWN

    def _aliased(self, view: View, number: int) -> bool:
        from ombud.graph.extract.go import package_name

        item = view.facts.imports[number]
        return item.alias != package_name(item.module)

    def _own(self, view: View, folder: str, name: str) -> list[tuple[int, int]]:
        """Definitions of a name in the other files of a file's package."""
        package = view.facts.package
        tests = view.path.endswith("_test.go")
        return [
            (file, symbol)
            for file, symbol in self.in_folder(folder, name)
            if self.sources.package(file) == package
            and (tests or not self.sources.path(file).endswith("_test.go"))
            and not self.view(file).symbols[symbol].owner
        ]

    def in_folder(self, folder: str, name: str) -> Sequence[tuple[int, int]]:
        """Everything at the top of the files of a folder that has a name, methods as well: (file, symbol)."""
        self.asked.add(key("go", folder, name))
        folders = self._named.get(name)
        if folders is None:
            folders = self._named[name] = {}
            for file, symbol in self.sources.named(name, self.languages):
                folders.setdefault(posixpath.dirname(self.sources.path(file)), []).append((file, symbol))
        found = folders.get(folder, ())
        return [(file, symbol) for file, symbol in found if symbol and not self.view(file).symbols[symbol].scope]

    def _pick(self, view: View | None, found: Sequence[tuple[int, int]]) -> Values:
        """The one of several definitions that is meant. See the module."""
        if len(found) > 1:
            own = constraint(view) if view is not None else ("", "")

            def rank(one: tuple[int, int]) -> tuple[bool, ...]:
                that = constraint(self.view(one[0]))
                return (view is None or one[0] != view.file, that != own, not built(that), that != ("", ""))

            found = sorted(found, key=rank)
        for file, symbol in found[:1]:
            self.ask(self.view(file), self.view(file).symbols[symbol].name)
            return ((SYM, file, symbol, None),)
        return UNKNOWN

    def imported(self, view: View, number: int) -> Values:
        """A package: its folder, where it is one of this root."""
        module = view.facts.imports[number].module
        folder = self.modules.folder(posixpath.dirname(view.path), module)
        return ((EXT, module.rpartition("/")[2]),) if folder is None else ((PKG, folder),)

    def package_member(self, package: str, name: str) -> Values:
        """See `Members.package_member`."""
        clause = self.modules.clause(package)
        found = [
            (file, symbol)
            for file, symbol in self.in_folder(package, name)
            if self.sources.package(file) == clause
            and not self.sources.path(file).endswith("_test.go")
            and not self.view(file).symbols[symbol].owner
        ]
        return self._pick(None, found)

    def also_provided(self, view: View) -> dict[int, int]:
        """Names by folder, and that the folder has a package."""
        folder = posixpath.dirname(view.path)
        about = key("about", view.facts.package, *constraint(view), str(view.path.endswith("_test.go")))
        found: dict[int, int] = {}
        for symbol in view.symbols[1:]:
            if not symbol.scope:
                asked = key("go", folder, symbol.name)
                more = (str(found.get(asked, about)), str(symbol.kind), symbol.qualified)
                found[asked] = key("found", *more)
        found[key("go folder", folder)] = about
        return found

    # -- types ----------------------------------------------------------------------------------------------------

    def instances(self, view: View, expr: int, scope: int, generics: Sequence[str] = ()) -> Values:
        """See `Lexical.instances`. A struct without a name is its scope."""
        op, a = view.exprs[3 * expr : 3 * expr + 2]
        if op == CLOSURE and view.kind(a) == CLASS_SCOPE:
            return ((FUN, view.file, a),)
        return super().instances(view, expr, scope, generics)

    def instance(self, value: Value) -> Values:
        """A defined type is one of its own, whatever lies under it."""
        if value[0] == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind == TYPE and not symbol.flags & ALIAS:
                return (value[3],) if value[3] is not None else ((OBJ, value[1], value[2], None),)
        return super().instance(value)

    def under(self, value: Value) -> Values:
        """What lies under an instance of a defined type; any other value itself."""
        if value[0] == OBJ and self.view(value[1]).symbols[value[2]].kind == TYPE:
            found = self.once(("alias", value[1], value[2]), self.alias, value[1], value[2])
            return self.substitute(found, value, value[1], value[2])
        if value[0] == VAR:
            return self.bound_of(value)
        return (value,)

    def member(self, value: Value, name: str) -> Values:
        """See `Members.member`; of a struct without a name, too."""
        if value[0] == FUN:
            view = self.view(value[1])
            if view.kind(value[2]) != CLASS_SCOPE:
                return UNKNOWN
            found = [self.eval(view, one[1], value[2], WHEREVER) for one in view.bound(value[2], name)]
            return join(*found) or ((EXT, name),)
        if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind == TYPE:
            return join(*(self.member(one, name) for one in self.instance(value)))
        return super().member(value, name)

    def class_member(self, file: int, symbol: int, name: str, receiver: Value, above: bool = False) -> Values:
        """See `Members.class_member`. A defined type also has the fields of what lies under it, and its methods where
        that is an interface."""
        line = self.line(file, symbol)
        for entry in line[1:] if above else line:
            if len(entry) == 1:
                return ((EXT, name),)
            found = self.found(entry[0], entry[1], name)
            if found is not None:
                return ((SYM, *found, receiver),)
            if self.view(entry[0]).symbols[entry[1]].kind == TYPE:
                under = self._under(entry[0], entry[1], name)
                if under:
                    return under
        return UNKNOWN

    def _under(self, file: int, symbol: int, name: str) -> Values:
        for value in self.under((OBJ, file, symbol, None)):
            if value[0] in (LIB, EXT):
                return ((EXT, name),)
            for one in self.member(value, name):
                if one[0] != SYM or self._kept(value, one):
                    return (one,)
        return UNKNOWN

    def _kept(self, value: Value, found: Value) -> bool:
        kind = self.view(found[1]).symbols[found[2]].kind
        return kind == FIELD or (value[0] == OBJ and self.view(value[1]).symbols[value[2]].kind == INTERFACE)

    def found(self, file: int, symbol: int, name: str) -> tuple[int, int] | None:
        """Fields, an interface's methods, and the methods in all files of the type's package."""
        view = self.view(file)
        self.ask(view, name)
        that = view.symbols[symbol]
        if that.own >= 0 and view.kind(that.own) == CLASS_SCOPE:
            found = self.bound_symbols(view, that.own, name)
            if found:
                return file, found[0]
        if that.scope:
            return None
        package = view.facts.package
        methods = []
        for other, at in self.in_folder(posixpath.dirname(view.path), name):
            method = self.view(other).symbols[at]
            if method.kind == METHOD and method.owner and self.sources.package(other) == package:
                there = self.view(other)
                if there.names[there.exprs[3 * method.owner + 1]] == that.name:
                    methods.append((other, at))
        for value in self._pick(view, methods):
            return value[1], value[2]
        return None

    def _line(self, file: int, symbol: int) -> tuple[Any, ...]:
        """A type and those it embeds, the shallowest first."""
        found: dict[tuple[int, int], Any] = {}
        beyond = False
        level: list[tuple[Any, ...]] = [(file, symbol, None)]
        while level and len(found) < 200:
            deeper = []
            for entry in level:
                if entry[:2] in found:
                    continue
                found[entry[:2]] = entry
                view = self.view(entry[0])
                self.ask(view, view.symbols[entry[1]].name)
                for base in self.bases(view, entry[1]):
                    if len(base) == 1:
                        beyond = True
                    else:
                        deeper.append(base)
            level = deeper
        return (*found.values(), (EXT,)) if beyond else tuple(found.values())

    # -- calls and elements ---------------------------------------------------------------------------------------

    def result(self, value: Value, count: int) -> Values:
        """See `Members.result`. A conversion gives an instance; a method's type parameters are its receiver's."""
        if value[0] == SYM:
            symbol = self.view(value[1]).symbols[value[2]]
            if symbol.kind in TYPES:
                return self.instance(value)
            if symbol.kind in CALLED:
                given = self.once(("returned", value[1], value[2]), self.returned, value[1], value[2])
                return self._replaced(given, None, self._given(value))
        if value[0] == LIB and value[1] == "func":
            return value[2][0] if value[2] else UNKNOWN
        if value[0] == OBJ:
            return join(*(self.result(one, count) for one in self.under(value) if one != value))
        return super().result(value, count)

    def _given(self, value: Value) -> dict[str, Values]:
        """What the type parameters of a function or method are."""
        view, receiver = self.view(value[1]), value[3]
        symbol = view.symbols[value[2]]
        if receiver is None or not (symbol.generics or symbol.parent):
            return {}
        if receiver[0] == LIB:
            return dict(zip(symbol.generics, receiver[2], strict=False))
        if receiver[0] != OBJ:
            return {}
        holder = self._holder(view, value[2])
        if holder is None:
            return {}
        args = self.arguments(receiver, *holder)
        if not symbol.owner:
            return args
        names = self.view(holder[0]).symbols[holder[1]].generics
        return {ours: args[name] for ours, name in zip(symbol.generics, names, strict=False) if name in args}

    def _holder(self, view: View, at: int) -> tuple[int, int] | None:
        """The type of a method."""
        symbol = view.symbols[at]
        if symbol.parent:
            return view.file, symbol.parent
        for value in self.denote(view, symbol.owner, 0, WHEREVER) if symbol.owner else ():
            if value[0] == SYM:
                return value[1], value[2]
        return None

    def closed(self, file: int, scope: int) -> Values:
        """See `Members.closed`: here a result is always declared."""
        view = self.view(file)
        return join(
            *(
                self.eval(view, value, scope, WHEREVER)
                for what, value, _, _ in view.bound(scope, RETURNED)
                if what == DECLARED
            )
        )

    def element(self, value: Value) -> Values:
        """What ``range`` gives: a tuple of one or two."""
        if value[0] in (OBJ, VAR):
            return join(*(self.element(one) for one in self.under(value) if one != value))
        if value[0] == LIB:
            name, args = value[1], value[2]
            if name == "[]" and args:
                return ((LIB, "tuple", (INT, args[0])),)
            if name in ("map", "chan"):
                return ((LIB, "tuple", args),)
            if name in ("string", "int"):
                return ((LIB, "tuple", (INT, INT)),)
        return ((EXT, ""),) if value[0] not in (SYM, FUN) else UNKNOWN

    def part(self, value: Value, place: int) -> Values:
        """See `Members.part`."""
        if value[0] == LIB and value[1] == "tuple":
            return value[2][place - 1] if len(value[2]) >= place else UNKNOWN
        return ((EXT, ""),) if value[0] == EXT else UNKNOWN

    def item(self, value: Value) -> Values:
        """See `Members.item`."""
        if value[0] in (OBJ, VAR):
            return join(*(self.item(one) for one in self.under(value) if one != value))
        return super().item(value)

    def awaited(self, value: Value) -> Values:
        """What is received from a channel."""
        if value[0] in (OBJ, VAR):
            return join(*(self.awaited(one) for one in self.under(value) if one != value))
        return super().awaited(value)

    def subscript(self, view: View, base: int, key: int, scope: int, pos: int) -> Values:
        """``f[T]`` of a generic function as well."""
        found: list[Values] = []
        for value in self.eval(view, base, scope, pos):
            kind = self.view(value[1]).symbols[value[2]].kind if value[0] == SYM else -1
            if kind in CALLED:
                args = self._arguments(view, key, scope)
                found.append(((SYM, value[1], value[2], (LIB, "", args)),))
            elif kind in TYPES:
                args = self._arguments(view, key, scope)
                found.append(((SYM, value[1], value[2], (OBJ, value[1], value[2], args)),))
            else:
                found.append(self.item(value))
        return join(*found)

    def _arguments(self, view: View, args: int, scope: int) -> tuple[Values, ...]:
        given = []
        op = view.exprs[3 * args]
        if op != 7:
            return (self.instances(view, args, scope),)
        while args:
            _, head, args = view.exprs[3 * args : 3 * args + 3]
            given.append(self.instances(view, head, scope))
        return tuple(given)

    def library_made(self, name: str) -> Values:
        """Nothing is known of what a library's function gives."""
        del name
        return ((EXT, ""),)


ENGINE = Go
