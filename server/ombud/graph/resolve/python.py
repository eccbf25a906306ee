"""Python's rules: packages and modules (reference, section 5), builtins, and what the usual containers hold."""

from __future__ import annotations

import posixpath
import sys
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    CALL,
    CLASS_SCOPE,
    CONS,
    ENUM,
    IMPORT,
    INDEX,
    NAME,
    NARROWED,
    OUTER,
    PARAMETER,
    ROOT,
    SCOPE_WIDTH,
    SELF,
    Symbol,
)
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.members import CLASSES, WHEREVER
from ombud.graph.resolve.pylib import BUILTINS, CONTEXTS, MAPPINGS, PASSED, library_call
from ombud.graph.resolve.values import EXT, LIB, ME, MOD, OBJ, PKG, SYM, UNKNOWN, VAR, Value, Values, join
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ombud.graph.facts import Import
    from ombud.graph.resolve import Sources

SUFFIXES = (".py", ".pyi")
SOURCES = ("", "src", "lib", "python")
"""Folders of a root that modules are looked for in, whoever asks."""
INIT = ("__init__.py", "__init__.pyi")


class Python(Engine):
    """See the module."""

    CALL_METHOD = "__call__"

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self._tops: dict[str, set[str]] | None = None
        self._folders: set[str] | None = None

    def forget(self, files: Iterable[int]) -> None:
        named = set(files)
        # Where no file comes or goes, the folders stay what they are.
        if not all(file in self._offered and self._is_there(file) for file in named):
            self._tops = self._folders = None
        super().forget(named)

    def home(self, view: View, expr: int, scope: int) -> int:
        """Where the first name of ``a.b.c`` is bound, if it is so once; for ``self`` the class around."""
        exprs = view.exprs
        while (op := exprs[3 * expr]) == ATTR or op == CALL:
            expr = exprs[3 * expr + 1]
        if op != NAME:
            return scope
        name, scopes, tables = exprs[3 * expr + 1], view.scopes, view.tables
        here = scope
        while here >= 0:
            if scopes[here * SCOPE_WIDTH + 1] != CLASS_SCOPE or here == scope:
                table = tables.get(here)
                bindings = table.get(name) if table is not None else None
                if bindings:
                    what, value, _, _ = bindings[0]
                    if len(bindings) > 1 or what in (NARROWED, OUTER):
                        return scope
                    if what == PARAMETER and exprs[3 * value] == SELF:
                        # Minus one apart: in the class's own body the name is another.
                        return -2 - scopes[here * SCOPE_WIDTH]
                    return here
            here = scopes[here * SCOPE_WIDTH]
        return 0

    def site(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """``import a.b`` binds ``a``, but it is ``a.b`` that the statement is about."""
        if view.exprs[3 * expr] == IMPORT:
            item = view.facts.imports[view.exprs[3 * expr + 1]]
            if item.flags & ROOT:
                return self.absolute(view, item.module.split("."))
        return super().site(view, expr, scope, pos)

    # -- modules --------------------------------------------------------------------------------------------------

    def imported(self, view: View, number: int) -> Values:
        item = view.facts.imports[number]
        base = self.base(view, item)
        if not item.name or item.name == "*":
            return base
        return join(*(self.member(value, item.name) for value in base))

    def base(self, view: View, item: Import) -> Values:
        """The module that an import names, or its first part where that is what is bound."""
        if item.level:
            folder = posixpath.dirname(view.path)
            for _ in range(item.level - 1):
                if not folder:
                    return UNKNOWN
                folder = posixpath.dirname(folder)
            return self.within(folder, item.module.split(".") if item.module else [])
        parts = item.module.split(".")
        return self.absolute(view, parts[:1] if item.flags & ROOT else parts)

    def absolute(self, view: View, parts: list[str]) -> Values:
        """The module ``a.b.c`` as a file imports it. A name that no folder of this root has is a library's."""
        folder = posixpath.dirname(view.path)
        packaged = False
        while folder and self.init(folder) is not None:
            folder, packaged = posixpath.dirname(folder), True
        dotted = ".".join(parts)
        return self.once(("module", folder, packaged, dotted), self._absolute, folder, packaged, parts)

    def _absolute(self, folder: str, packaged: bool, parts: list[str]) -> Values:
        for root in self.roots(folder, packaged, parts[0]):
            if self.within(root, parts[:1]):
                found = self.within(root, parts)
                if found:
                    return found
        return ((EXT, parts[-1]),)

    def roots(self, folder: str, packaged: bool, top: str) -> list[str]:
        """The folders in which a top-level name is looked for, in order.

        ``folder`` is the one that the importing file's outermost package lies in, or that of the file itself where that
        is in none (``packaged``).
        """
        if top in sys.stdlib_module_names:
            # A module that lies beside a script by chance is not what others mean by the standard library's name.
            return list(dict.fromkeys([*([folder] if packaged else []), *SOURCES]))
        self.asked.add(key("top", top))
        near = [one for one in self.tops().get(top, ()) if not one or self.init(one) is None]
        near.sort(key=lambda one: (-len(posixpath.commonpath(("/" + one, "/" + folder))), one))
        return list(dict.fromkeys([folder, *SOURCES, *near]))

    def tops(self) -> dict[str, set[str]]:
        """Name of a package → the folders that hold one."""
        if self._tops is None:
            tops: dict[str, set[str]] = {}
            for path in self.sources.paths():
                if path.endswith(INIT):
                    above, _, name = posixpath.dirname(path).rpartition("/")
                    tops.setdefault(name, set()).add(above)
            self._tops = tops
        return self._tops

    def init(self, folder: str) -> int | None:
        """The ``__init__`` of a folder."""
        for name in INIT:
            found = self.file_at(posixpath.join(folder, name))
            if found is not None:
                return found
        return None

    def within(self, folder: str, parts: list[str]) -> Values:
        """The module at a dotted name below a folder; the folder's own package for no parts."""
        path = posixpath.join(folder, *parts)
        if parts or folder:
            found = self.init(path)
            if found is not None:
                return ((MOD, found),)
        if parts:
            for suffix in SUFFIXES:
                found = self.file_at(path + suffix)
                if found is not None:
                    return ((MOD, found),)
        return ((PKG, path),) if self.is_folder(path) else UNKNOWN

    def is_folder(self, path: str) -> bool:
        """Whether a folder has Python in it, however deep: a namespace package."""
        self.asked.add(key("folder", path))
        return path in self.folders()

    def folders(self) -> set[str]:
        if self._folders is None:
            found: set[str] = set()
            for path in self.sources.paths():
                if path.endswith(SUFFIXES):
                    folder = posixpath.dirname(path)
                    while folder and folder not in found:
                        found.add(folder)
                        folder = posixpath.dirname(folder)
            self._folders = found
        return self._folders

    def also_provided(self, view: View) -> dict[int, int]:
        found = {}
        folder = posixpath.dirname(view.path)
        if view.path.endswith(INIT):
            found[key("top", posixpath.basename(folder))] = view.file
        while folder:
            # One file the more or the less matters only where it is the first or the last.
            found[key("folder", folder)] = 1
            folder = posixpath.dirname(folder)
        return found

    def export(self, view: View, name: str) -> Values:
        self.ask(view, name)
        bindings = view.bound(0, name)
        if bindings:
            found = self.chosen(view, 0, bindings, WHEREVER)
            if found:
                return found
        starred = self.starred(view, name)
        if starred:
            return starred
        if view.path.endswith(INIT):
            inner = self.within(posixpath.dirname(view.path), [name])
            if inner:
                return inner
        if view.bound(0, "__getattr__"):
            return ((EXT, name),)
        return UNKNOWN

    def starred(self, view: View, name: str) -> Values:
        """What ``from … import *`` brings under a name, the last one first."""
        self.ask(view, "*")
        beyond: Values = UNKNOWN
        for item in reversed(view.facts.imports):
            if item.name != "*" or item.scope:
                continue
            for value in self.base(view, item):
                if value[0] == EXT:
                    beyond = ((EXT, name),)
                elif value[0] == MOD:
                    other = self.view(value[1])
                    self.ask(other, "*")
                    listed = other.facts.all
                    if name.startswith("_") if listed is None else name not in listed:
                        continue
                    found = self.member(value, name)
                    if found:
                        return found
        return beyond

    def package_member(self, package: str, name: str) -> Values:
        return self.within(package, [name])

    def ambient(self, view: View, scope: int, name: str) -> Values:
        del scope
        if any(item.name == "*" for item in view.facts.imports):
            found = self.starred(view, name)
            if found:
                return found
        return ((EXT, name),) if name in BUILTINS else UNKNOWN

    # -- values ---------------------------------------------------------------------------------------------------

    def parameters(self, view: View, symbol: Symbol) -> list[str]:
        if symbol.generics:
            return symbol.generics
        names: list[str] = []
        for expr in symbol.bases:
            for name in self.named_parameters(view, expr):
                if name not in names:
                    names.append(name)
        return names

    def named_parameters(self, view: View, expr: int) -> list[str]:
        """The type variables among the arguments of a base: ``Generic[T, U]``."""
        op, _, args = view.exprs[3 * expr : 3 * expr + 3]
        found = []
        if op == INDEX:
            while args and view.exprs[3 * args] == CONS:
                _, head, args = view.exprs[3 * args : 3 * args + 3]
                found += [value[1] for value in self.instances(view, head, 0) if value[0] == VAR]
        return found

    def alias(self, file: int, symbol: int) -> Values:
        view = self.view(file)
        that = view.symbols[symbol]
        if that.value and view.exprs[3 * that.value] == CALL:
            name = self.called(view, view.exprs[3 * that.value + 1])
            if name in ("TypeVar", "ParamSpec", "TypeVarTuple"):
                self.ask(view, that.name)
                return ((VAR, that.name),)
            if name == "NewType":
                return ((EXT, that.name),)
        return super().alias(file, symbol)

    def library_type(self, name: str, args: tuple[Values, ...]) -> Values:
        if name in ("type", "Type") and args:
            return tuple((SYM, value[1], value[2], None) for value in args[0] if value[0] in (OBJ, ME))
        return ((LIB, name, args),)

    def library_call(self, value: Value, name: str) -> Values:
        return library_call(value, name)

    def library_made(self, name: str) -> Values:
        return ((LIB, name, ()),)

    def element(self, value: Value) -> Values:
        if value[0] in (OBJ, ME):
            return self.iterated(value)
        if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in CLASSES:
            return ((OBJ, value[1], value[2], None),) if self.is_enum(value) else UNKNOWN
        if value[0] == LIB and value[1] == "tuple" and value[2]:
            return join(*value[2])
        return super().element(value)

    def is_enum(self, value: Value) -> bool:
        view = self.view(value[1])
        symbol = view.symbols[value[2]]
        return symbol.kind == ENUM or (EXT,) in self.line(value[1], value[2])

    def iterated(self, value: Value) -> Values:
        found: list[Values] = []
        for one in self.member(value, "__iter__"):
            for iterator in self.result(one, 0):
                if iterator[0] in (OBJ, ME):
                    found += [self.result(step, 0) for step in self.member(iterator, "__next__")]
                else:
                    found.append(super().element(iterator))
        if not found:
            found = [self.result(one, 1) for one in self.member(value, "__getitem__")]
        return join(*found)

    def part(self, value: Value, place: int) -> Values:
        if value[0] == LIB and value[1] in ("tuple", "Tuple") and value[2]:
            parts = value[2]
            if len(parts) == 2 and not parts[1] and place > 1:
                return parts[0]  # type: ignore[no-any-return]
            return parts[place - 1] if place <= len(parts) else UNKNOWN
        return super().part(value, place)

    def item(self, value: Value) -> Values:
        if value[0] in (OBJ, ME):
            return join(*(self.result(one, 1) for one in self.member(value, "__getitem__")))
        if value[0] == SYM:
            return self.element(value)
        if value[0] == LIB and value[2]:
            if value[1] in MAPPINGS:
                return value[2][1] if len(value[2]) > 1 else UNKNOWN
            return join(*value[2]) if value[1] in ("tuple", "Tuple") else value[2][0]
        return super().item(value)

    def awaited(self, value: Value) -> Values:
        if value[0] in (OBJ, ME):
            found = [self.result(one, 0) for one in self.member(value, "__await__")]
            return join(*found)
        return super().awaited(value)

    def finished(self, view: View, symbol: Symbol, found: Values) -> Values:
        for expr in symbol.decorators:
            op = view.exprs[3 * expr]
            name = self.called(view, expr if op != CALL else view.exprs[3 * expr + 1])
            if name in CONTEXTS:
                return ((LIB, "contextmanager", (join(*(self.element(value) for value in found)),)),)
            if name in PASSED or not expr:
                continue
            denoted = self.denote(view, expr, symbol.scope, WHEREVER)
            if any(value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in CLASSES for value in denoted):
                # A class as decorator: what is called is an instance of it.
                return UNKNOWN
        return found


ENGINE = Python
