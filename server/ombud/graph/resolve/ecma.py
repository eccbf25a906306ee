"""What names mean in JavaScript and TypeScript: modules, exports, what is ambient. Values are in `ecmavalues`,
calls in `ecmacalls`, types in `ecmatypes`.

A module's whole value, where it is not its namespace (``module.exports = …``, ``export = …``), is its export ``=``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ombud.graph.extract.ecma import OWN
from ombud.graph.facts import (
    ATTR,
    CALL_SITE,
    CLASS_SCOPE,
    CONSTANT,
    DECLARED,
    FIELD,
    FUNCTION_SCOPE,
    INHERIT_SITE,
    INTERFACE,
    LAST,
    NAME,
    NAMESPACE,
    NARROWED,
    SCOPE_WIDTH,
    SYMBOL,
    TO_SYMBOL,
    TYPE,
    VARIABLE,
)
from ombud.graph.resolve.ecmacalls import Called
from ombud.graph.resolve.ecmalib import CONSTRUCTORS, GLOBALS, PRIMITIVES
from ombud.graph.resolve.ecmamodules import Modules, relative
from ombud.graph.resolve.members import WHEREVER
from ombud.graph.resolve.values import EXT, LIB, MOD, SYM, UNKNOWN, Value, Values, join
from ombud.graph.resolve.view import key

if TYPE_CHECKING:
    from ombud.graph.resolve import Resolved, Sources
    from ombud.graph.resolve.view import Binding, View

_TYPES = (INTERFACE, TYPE)
_HOLDING = (VARIABLE, CONSTANT, FIELD)


class Ecma(Called):
    """See the module."""

    def __init__(self, sources: Sources, family: str) -> None:
        super().__init__(sources, family)
        self.modules = Modules(self)

    def forget(self, files: Iterable[int]) -> None:
        """See `World.forget`."""
        super().forget(files)
        self.modules = Modules(self)
        self.extras.clear()

    # -- sites ----------------------------------------------------------------------------------------------------

    def land(
        self, view: View, kind: int, expr: int, at: tuple[int, int, int, int], found: Values, done: Resolved
    ) -> None:
        """A call is one of a value and a base is a type, where both have the same name. See `Engine.land`."""
        if len(found) > 1 and kind == CALL_SITE:
            found = self.values_of(found)
        elif len(found) > 1 and kind == INHERIT_SITE:
            found = tuple(value for value in found if not self._is(value, _HOLDING)) or found
        super().land(view, kind, expr, at, found, done)

    # -- names ----------------------------------------------------------------------------------------------------

    def lookup(self, view: View, scope: int, name: int, pos: int) -> Values:
        """What a bare name denotes: members of classes and objects are no bare names."""
        here, scopes, tables = scope, view.scopes, view.tables
        while here >= 0:
            row = here * SCOPE_WIDTH
            kind = scopes[row + 1]
            if kind != CLASS_SCOPE:
                table = tables.get(here)
                bindings = table.get(name) if table is not None else None
                if bindings:
                    if not here:
                        self.ask(view, view.names[name])
                    found = self.chosen(view, here, bindings, pos)
                    if found is not None:
                        return found
                if kind == FUNCTION_SCOPE and scopes[row + 2] >= 0:
                    # Another function's names are seen wherever they are declared.
                    pos = WHEREVER
            here = scopes[row]
        text = view.names[name]
        self.ask(view, text)
        return self.once(("ambient", view.file, text), self.ambient, view, scope, text)

    def chosen(self, view: View, scope: int, bindings: list[Binding], pos: int) -> Values | None:
        """What the bindings of a name say at a place: a symbol, what was declared, or what was assigned last."""
        if len(bindings) == 1 and bindings[0][0] != NARROWED:
            return self.of_binding(view, scope, bindings[0])
        if pos != WHEREVER:
            self.moving = True
        found: Values = UNKNOWN
        seen = False
        symbols = any(binding[0] == TO_SYMBOL for binding in bindings)
        for binding in reversed(bindings):
            what, _, start, end = binding
            if what == NARROWED:
                if start <= pos < end and (known := self.of_binding(view, scope, binding)):
                    return known
                continue
            if symbols:
                if what == TO_SYMBOL:
                    found, seen = join(found, self.of_binding(view, scope, binding)), True
                continue
            if pos != WHEREVER and start > pos:
                continue
            seen = True
            values = self.of_binding(view, scope, binding)
            if what == DECLARED:
                return values
            found = join(found, values)
            if pos != WHEREVER and (end == LAST or pos < end):
                break
        if not seen and pos != WHEREVER and any(binding[0] != NARROWED for binding in bindings):
            return self.chosen(view, scope, bindings, WHEREVER)
        return tuple(reversed(found)) if symbols else found if seen else None

    def ambient(self, view: View, scope: int, name: str) -> Values:
        """A name of the language, or one that a script of this root declares for all."""
        del scope
        if name == OWN:
            return self.whole(((MOD, view.file),))
        if name in PRIMITIVES:
            return ((LIB, name, ()),)
        if name in CONSTRUCTORS or name in GLOBALS:
            return self._global(view, name) or (
                ((LIB, f"typeof {name}", ()),) if name in CONSTRUCTORS else ((EXT, name),)
            )
        return self._global(view, name)

    def _global(self, view: View, name: str) -> Values:
        """What scripts and declarations without imports and exports say of a name, where it is one thing only."""
        found: list[tuple[int, int]] = []
        for file, number in self.named(name):
            other = self.view(file)
            symbol = other.symbols[number]
            if symbol.scope or symbol.parent or not number or symbol.owner:
                continue
            self.asked.update((key("script", other.path), key("script", view.path)))
            if not _is_module(other) and (other.path.endswith(".d.ts") or not _is_module(view)):
                found.append((file, number))
        if len(found) > 1:
            folder = view.path.rpartition("/")[0]
            found = [one for one in found if self.view(one[0]).path.rpartition("/")[0] == folder]
        if len(found) != 1:
            return UNKNOWN
        self.ask(self.view(found[0][0]), name)
        return ((SYM, *found[0], None),)

    # -- modules --------------------------------------------------------------------------------------------------

    def imported(self, view: View, number: int) -> Values:
        """What an import brings: a module, or something it exports."""
        item = view.facts.imports[number]
        base = self.once(("module", view.file, item.module), self.module, view, item.module)
        if item.name == "*":
            return base
        if not item.name:
            return self.whole(base)
        if item.name == "default" and any(value[0] == MOD for value in base):
            return join(*(self._default(value[1]) for value in base if value[0] == MOD))
        return join(*(self.member(value, item.name) for value in base))

    def module(self, view: View, specifier: str) -> Values:
        """The file that a specifier means; a library for one of none; nothing for one that is missing."""
        found = self.modules.find(view.path, specifier)
        if found is not None:
            return ((MOD, found),)
        if relative(specifier):
            suffix = specifier.rpartition("/")[2].rpartition(".")[2]
            return (
                ((EXT, specifier),)
                if suffix in ("json", "css", "scss", "less", "svg", "png", "vue", "svelte", "wasm", "node")
                else UNKNOWN
            )
        for file, number in self.named(specifier):
            other = self.view(file)
            if other.symbols[number].kind == NAMESPACE and not other.symbols[number].parent:
                self.ask(other, specifier)
                return ((SYM, file, number, None),)
        return ((EXT, specifier),)

    def whole(self, base: Values) -> Values:
        """Modules as values: what ``module.exports`` is set to, else the namespace."""
        found: list[Values] = []
        for value in base:
            given = (
                self.once(("export", value[1], "="), self.export, self.view(value[1]), "=")
                if value[0] == MOD
                else UNKNOWN
            )
            found.append(given or (value,))
        return join(*found)

    def _default(self, file: int) -> Values:
        """``import x from``: the default export; of a CommonJS module all it exports."""
        found = self.member((MOD, file), "default")
        if found:
            return found
        view = self.view(file)
        self.ask(view, "*")
        return self.whole(((MOD, file),)) if view.facts.all is not None else UNKNOWN

    def export(self, view: View, name: str) -> Values:
        """What a module exports under a name: by a statement for it, as a part of the whole, or passed on by ``*``."""
        self.ask(view, name)
        named = [item for item in view.facts.exports if item.name == name and (name != "*" or item.local)]
        if named:
            known = join(*(self._exported(view, item.local, item.module, item.source) for item in named))
            return known if len(known) < 2 else tuple(sorted(known, key=self._order))
        if name == "=":
            return UNKNOWN
        whole = self.once(("export", view.file, "="), self.export, view, "=")
        if whole:
            return join(*(self.member(value, name) for value in self.contents(whole)))
        self.ask(view, "*")
        return self._starred(view, name) if name != "default" else UNKNOWN

    def _order(self, value: Value) -> tuple[object, ...]:
        """A place among several exports of one name that does not depend on how the text orders them."""
        name = self.view(value[1]).symbols[value[2]].qualified if value[0] == SYM else ""
        return (value[0], *(value[1:2] if isinstance(value[1], int) else (0,)), name)

    def _exported(self, view: View, local: int, module: str, source: str) -> Values:
        if not module:
            return self.denote(view, local, 0, WHEREVER)
        base = self.once(("module", view.file, module), self.module, view, module)
        if not source:
            return self.whole(base)
        if source == "default":
            known = [self._default(value[1]) if value[0] == MOD else self.member(value, source) for value in base]
            return join(*known)
        return join(*(self.member(value, source) for value in base))

    def _starred(self, view: View, name: str) -> Values:
        """What ``export * from`` passes on under a name: nothing where two modules mean different things by it.

        ECMA-262, section 16.2.1.7.2.2, "ResolveExport": such a name is ambiguous and no export.
        """
        beyond: Values = UNKNOWN
        passed: set[Values] = set()
        for item in view.facts.exports:
            if item.name != "*" or not item.module:
                continue
            for value in self.once(("module", view.file, item.module), self.module, view, item.module):
                found = self.member(value, name)
                if found and found[0][0] != EXT:
                    passed.add(found)
                beyond = beyond or found
        return passed.pop() if len(passed) == 1 else UNKNOWN if passed else beyond

    def denote(self, view: View, expr: int, scope: int, pos: int) -> Values:
        """See `Engine.denote`. SYMBOL is the symbol itself."""
        op, first, second = view.exprs[3 * expr : 3 * expr + 3]
        if op == SYMBOL:
            return ((SYM, view.file, first, None),)
        if op == NAME:
            return self.lookup(view, scope, first, pos)
        if op == ATTR:
            base = self.values_of(self.eval(view, first, scope, pos))
            if not base:
                return UNKNOWN
            name = view.names[second]
            return self.member(base[0], name) if len(base) == 1 else join(*(self.member(value, name) for value in base))
        return self.eval(view, expr, scope, pos)

    def may_be_ours(self, view: View, expr: int, name: str) -> bool:
        """Whether a call that was not found may be of a symbol of this root: not of a name that nothing binds."""
        op = view.exprs[3 * expr]
        return op != NAME or name not in GLOBALS

    def also_provided(self, view: View) -> dict[int, int]:
        """Whether the file is a module decides whether others see its names without an import."""
        return {key("script", view.path): int(_is_module(view))}


def _is_module(view: View) -> bool:
    """Whether a file has imports or exports; one without is a script, whose names are everybody's."""
    return bool(view.facts.exports) or any(not item.scope for item in view.facts.imports)


ENGINE = Ecma
