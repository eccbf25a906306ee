"""What names mean in Rust: modules, ``use`` and macros. What types have as members is in `rustmembers`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ombud.graph.facts import (
    DECLARES,
    ENUM,
    EXPORTED,
    MACRO,
    MODULE_SCOPE,
    NAMESPACE,
    TO_IMPORT,
    TO_SYMBOL,
)
from ombud.graph.resolve import rustlib
from ombud.graph.resolve.rustcrates import Crates
from ombud.graph.resolve.values import EXT, MOD, SYM, UNKNOWN, Value, Values, join
from ombud.graph.resolve.view import Binding, View

if TYPE_CHECKING:
    from ombud.graph.facts import Symbol
    from ombud.graph.resolve import Sources

from ombud.graph.resolve.rustimpls import TYPES
from ombud.graph.resolve.rustmembers import Members

PATHS = TYPES | {NAMESPACE}
"""Kinds of symbols that may stand before ``::``."""


class Rust(Members):
    """See the module."""

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self.crates = Crates(self)

    def forget(self, files: Iterable[int]) -> None:
        """See `World.forget`."""
        super().forget(files)
        self.crates = Crates(self)

    # -- names ----------------------------------------------------------------------------------------------------

    def in_class(self, view: View, scope: int, name: str) -> bool:
        """See `Lexical.in_class`."""
        return name == "Self" or super().in_class(view, scope, name)

    def ends(self, view: View, scope: int) -> bool:
        """A module does not see what is around it."""
        return view.kind(scope) == MODULE_SCOPE

    def chosen(self, view: View, scope: int, bindings: list[Binding], pos: int) -> Values | None:
        """A module's names of several kinds (a module, a function, a type) do not hide one another."""
        if view.kind(scope) != MODULE_SCOPE:
            return super().chosen(view, scope, bindings, pos)
        return join(*(self.of_binding(view, scope, binding) for binding in bindings))

    def ambient(self, view: View, scope: int, name: str) -> Values:
        """Beginnings of paths, glob imports, macros of modules above, other crates, the prelude."""
        if name.endswith("::"):
            return self._begin(view, scope, name)
        found, beyond = self._globbed(view, scope, name)
        if name.endswith("!"):
            return join(found, self._macro(view, scope, name))
        file, known = self.crates.named(view, name)
        if file is not None:
            return join(found, ((MOD, file),))
        return join(found, ((EXT, name),)) if known or beyond or name in rustlib.PRELUDE else found

    def _begin(self, view: View, scope: int, name: str) -> Values:
        if name == "crate::":
            return ((MOD, self.crates.root(view.file)),)
        if name == "::":
            return ((EXT, "::"),)
        file, here = self._module(view, scope)
        if name == "super::":
            return self._up(file, here)
        return self._as_value(file, here)

    def _module(self, view: View, scope: int) -> tuple[int, int]:
        """The module around a scope: (file, scope)."""
        while view.kind(scope) != MODULE_SCOPE:
            scope = view.parent(scope)
        return view.file, scope

    def _as_value(self, file: int, scope: int) -> Values:
        return ((SYM, file, self.view(file).owner(scope), None),) if scope else ((MOD, file),)

    def _up(self, file: int, scope: int) -> Values:
        """The module above a module."""
        view = self.view(file)
        if scope:
            return self._as_value(*self._module(view, view.parent(scope)))
        above = self.crates.above(file)
        if above is None:
            return UNKNOWN
        return self._as_value(*self._module(self.view(above[0]), above[1]))

    def _globbed(self, view: View, scope: int, name: str) -> tuple[Values, bool]:
        """What a glob import around a scope brings under a name, and whether one is of a library."""
        around = set()
        here = scope
        while here >= 0:
            around.add(here)
            if view.kind(here) == MODULE_SCOPE:
                break
            here = view.parent(here)
        found: Values = UNKNOWN
        beyond = False
        for number, item in enumerate(view.facts.imports):
            if item.name != "*" or item.scope not in around:
                continue
            for value in self.once(("import", view.file, number), self.imported, view, number):
                if value[0] == EXT:
                    beyond = True
                else:
                    found = join(found, tuple(one for one in self.offered(value, name) if one[0] != EXT))
        return found, beyond

    def _macro(self, view: View, scope: int, name: str) -> Values:
        """A macro: of this file or one above that declares it, of the crate's root, else the only one of the crate."""
        bare = name[:-1]
        file, here = self._module(view, scope)
        found: Values = ((EXT, bare),)
        for _ in range(50):
            there = self.view(file)
            self.ask(there, name)
            declared = there.bound(here, name)
            if declared:
                return self.of_binding(there, here, declared[-1])
            some = (self.of_binding(there, here, one) for one in there.bound(here, bare))
            found = join(found, tuple(one for one in join(*some) if self.is_a(one, MACRO)))
            if here:
                here = self._module(there, there.parent(here))[1]
                continue
            above = self.crates.above(file)
            if above is None:
                break
            file, here = above[0], self._module(self.view(above[0]), above[1])[1]
        return join(found, self._exported(view, bare) or self._below(view, name))

    def _below(self, view: View, name: str) -> Values:
        """A macro of a module that the root of the crate declares."""
        root = self.view(self.crates.root(view.file))
        for item in root.facts.imports:
            file = self.crates.file(root, item) if item.flags & DECLARES else None
            if file is not None:
                self.ask(self.view(file), name)
                for binding in self.view(file).bound(0, name):
                    return self.of_binding(self.view(file), 0, binding)
        return UNKNOWN

    def _is_exported(self, symbol: Symbol) -> bool:
        return symbol.kind == MACRO and bool(symbol.flags & EXPORTED)

    def _exported(self, view: View, name: str) -> Values:
        """A macro that the root of the crate offers, whichever module declares it."""
        root = self.crates.root(view.file)
        some = [
            (SYM, file, symbol, None)
            for file, symbol in self.named(name)
            if self._is_exported(self.view(file).symbols[symbol]) and self.crates.root(file) == root
        ]
        # Several in one file are alternatives that a ``cfg`` chooses from.
        return (some[0],) if some and all(one[1] == some[0][1] for one in some) else UNKNOWN

    # -- modules and use ------------------------------------------------------------------------------------------

    def imported(self, view: View, number: int) -> Values:
        """What an import brings: a module's file, or the member of what its path leads to."""
        item = view.facts.imports[number]
        if item.flags & DECLARES:
            file = self.crates.file(view, item)
            return ((MOD, file),) if file is not None else ((EXT, item.module),)
        if item.module in ("", "::") and item.name in ("crate", "self", "super"):
            return self._begin(view, item.scope, f"{item.name}::")
        if not item.module:
            return self._first(view, item.name, item.scope, number)
        if item.module == "::":
            return self.crate(view, item.name)
        base = self._path(view, item.module, item.scope, number)
        if item.name == "*":
            return base
        return join(*(self.offered(value, name) for value in base for name in (item.name, f"{item.name}!")))

    def offered(self, value: Value, name: str) -> Values:
        """What a path in a ``use`` finds in a module or an enum.

        Modules may import from one another in circles. So that an answer is the same wherever the circle is entered,
        all that may be meant is joined, and nothing is looked for only because something else was not found.
        """
        if value[0] == MOD:
            return self.once(("export", value[1], name), self.export, self.view(value[1]), name)
        if value[0] == EXT:
            return ((EXT, f"{value[1]}::{name}"),)
        if self.is_a(value, NAMESPACE):
            return self.member(value, name)
        if self.is_a(value, ENUM):
            return tuple((SYM, value[1], at, None) for at in self.found_in(value[1], value[2], name))
        return UNKNOWN

    def crate(self, view: View, name: str) -> Values:
        """The crate of a name; before the edition of 2018 also what the root of this crate has under it."""
        file, known = self.crates.named(view, name)
        if file is not None:
            return ((MOD, file),)
        package = self.crates.around(view)
        if known or package is None or package.edition != "2015":
            return ((EXT, name),)
        return join(((EXT, name),), self.offered((MOD, self.crates.root(view.file)), name))

    def _path(self, view: View, path: str, scope: int, number: int) -> Values:
        """What ``a::b`` in a ``use`` leads to."""
        if path in ("", "::"):
            return UNKNOWN
        first, *rest = path.removeprefix("::").split("::")
        first = first.removeprefix("r#")
        if first in ("crate", "self", "super", "$crate"):
            found = self._begin(view, scope, f"{first.removeprefix('$')}::")
        elif path.startswith("::"):
            found = self.crate(view, first)
        else:
            found = self._first(view, first, scope, number)
        for name in rest:
            if name == "super":
                found = join(*(self.above(value) for value in found))
            elif name != "self":
                found = join(*(self.offered(value, name.removeprefix("r#")) for value in found))
        return found

    def above(self, value: Value) -> Values:
        """See `Members.above`."""
        file, scope = self._of(value)
        return self._up(file, scope) if file >= 0 else UNKNOWN

    def _of(self, value: Value) -> tuple[int, int]:
        """The module that a value is: (file, scope), or (-1, 0)."""
        if value[0] == MOD:
            return value[1], 0
        if self.is_a(value, NAMESPACE):
            return value[1], self.view(value[1]).symbols[value[2]].own
        return -1, 0

    def _first(self, view: View, name: str, scope: int, number: int) -> Values:
        """The first name of a path: of the scopes around, but for the import itself; a crate; of a glob."""
        here = scope
        while here >= 0:
            bindings = [one for one in view.bound(here, name) if one[0] != TO_IMPORT or one[1] != number]
            bindings = [one for one in bindings if one[0] in (TO_SYMBOL, TO_IMPORT)]
            if bindings:
                found = join(*(self.of_binding(view, here, one) for one in bindings))
                # A function or a macro may have the name of the crate that it comes from.
                certain = any(self._is_path(view, one) for one in bindings)
                file, _ = self.crates.named(view, name)
                return found if certain or file is None else join(found, ((MOD, file),))
            if view.kind(here) == MODULE_SCOPE:
                break
            here = view.parent(here)
        return join(self.crate(view, name), self._globbed(view, scope, name)[0])

    def _is_path(self, view: View, binding: Binding) -> bool:
        """Whether a binding is sure to be of something that may stand before ``::``."""
        if binding[0] == TO_SYMBOL:
            return view.symbols[binding[1]].kind in PATHS
        return bool(view.facts.imports[binding[1]].flags & DECLARES)

    def export(self, view: View, name: str) -> Values:
        """See `Members.export`."""
        return self.within(view, 0, name)

    def within(self, view: View, scope: int, name: str) -> Values:
        """What a module has under a name: declared or imported, or else brought by a glob."""
        self.ask(view, name)
        bindings = view.bound(scope, name)
        if bindings:
            return join(*(self.of_binding(view, scope, one) for one in bindings))
        self.ask(view, "*")
        found: Values = UNKNOWN
        for number, item in enumerate(view.facts.imports):
            if item.name == "*" and item.scope == scope:
                for value in self.once(("import", view.file, number), self.imported, view, number):
                    found = join(found, self.offered(value, name))
        if name.endswith("!") and not scope and self.crates.root(view.file) == view.file:
            found = join(found, self._exported(view, name[:-1]))
        return found


ENGINE = Rust
