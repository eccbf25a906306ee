"""Ruby's modules: their full names, where they are opened, their ancestors; and which files are required."""

from __future__ import annotations

import posixpath
import re
from collections import deque
from typing import TYPE_CHECKING, Any

from ombud.graph.facts import (
    ATTR,
    CLASS_KIND,
    CLASS_SCOPE,
    CONSTANT,
    ELEM,
    NAME,
    NAMESPACE,
    SELF,
    STRUCT,
)
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.rubylib import CORE, STANDARD
from ombud.graph.resolve.values import EXT, SYM, UNKNOWN, Values
from ombud.graph.resolve.view import View, key

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from ombud.graph.facts import Import

MODULES = frozenset((CLASS_KIND, NAMESPACE, STRUCT))
INCLUDE, PREPEND, EXTEND, EXTENDS = 1, 2, 3, 4
"""How a module is mixed in: see `ombud.graph.extract.rubymacros.MIXINS`."""
BEYOND = ""
"""Among ancestors: one that is a library's."""
SOME = 3
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Modules(Engine):
    """See the module."""

    # -- full names -----------------------------------------------------------------------------------------------

    def full(self, file: int, symbol: int) -> Values:
        """``((full name,),)`` of a class or module; nothing where that cannot be told."""
        return self.once(("full", file, symbol), self.found_full, file, symbol)

    def found_full(self, file: int, symbol: int) -> Values:
        view = self.view(file)
        that = view.symbols[symbol]
        self.ask(view, that.name)
        if that.owner:
            above = self.owner_name(view, that.owner, that.scope)
        elif that.parent and view.symbols[that.parent].kind in MODULES:
            found = self.full(file, that.parent)
            if not found:
                return UNKNOWN
            above = found[0][0]
        else:
            above = ""
        return ((f"{above}::{that.name}" if above else that.name,),)

    def owner_name(self, view: View, expr: int, scope: int) -> str:
        """The full name of what stands before the last ``::`` of a definition's name."""
        for value in self.eval(view, expr, scope, -1):
            if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in MODULES:
                found = self.full(value[1], value[2])
                if found:
                    return str(found[0][0])
        words: list[str] = []
        while view.exprs[3 * expr] == ATTR:
            words.append(view.names[view.exprs[3 * expr + 2]])
            expr = view.exprs[3 * expr + 1]
        if view.exprs[3 * expr] == NAME:
            words.append(view.names[view.exprs[3 * expr + 1]])
        return "::".join(word for word in reversed(words) if word != "::")

    def declared(self, full: str) -> tuple[tuple[int, int], ...]:
        """The places at which a module is opened, the one that defines it first: (file, symbol)."""
        return self.once(("declared", full), self.found_declared, full)

    def found_declared(self, full: str) -> tuple[Any, ...]:
        rows = []
        for file, at in self.named(full.rpartition("::")[2]):
            view = self.view(file)
            self.ask(view, view.symbols[at].name)
            if view.symbols[at].kind in MODULES and self.full(file, at) == ((full,),):
                rows.append((self.rank(view, at, full), (file, at)))
        return tuple(one for _, one in sorted(rows))

    def rank(self, view: View, symbol: int, full: str) -> tuple[Any, ...]:
        """Lower is likelier to be the definition: by the file's name, by a class above, by how deep it lies."""
        stem = view.path.removesuffix(".rb")
        words = "/".join(_HUMP.sub("_", part).lower() for part in full.split("::"))
        named = 0 if stem.endswith("/" + words) or stem == words else 1
        named += posixpath.basename(stem).replace("_", "") != full.rpartition("::")[2].lower()
        return named, not view.symbols[symbol].bases, view.path.count("/"), view.path, symbol

    def shown(self, full: str) -> list[tuple[int, int]]:
        """The places that a mention of a module means."""
        places = self.declared(full)
        if len(places) < 2:
            return list(places)
        first = self.rank(self.view(places[0][0]), places[0][1], full)[0]
        same = [one for one in places if self.rank(self.view(one[0]), one[1], full)[0] == first]
        return same if len(same) <= SOME else same[:1]

    # -- constants ------------------------------------------------------------------------------------------------

    def class_around(self, view: View, scope: int) -> int:
        """The symbol of the class around a scope, -1 where there is none."""
        while scope >= 0:
            if view.kind(scope) == CLASS_SCOPE:
                return view.owner(scope)
            scope = view.parent(scope)
        return -1

    def module_scope(self, view: View, scope: int) -> int:
        """The scope of the class around a scope; 0 where there is none."""
        while scope > 0 and view.kind(scope) != CLASS_SCOPE:
            scope = view.parent(scope)
        return max(scope, 0)

    def constant(self, view: View, scope: int, name: str) -> Values:
        """What the name of a constant means in a scope."""
        around: list[Values] = []
        here = scope
        while here >= 0:
            if view.kind(here) == CLASS_SCOPE:
                around.append(self.full(view.file, view.owner(here)))
            here = view.parent(here)
        for full in around:
            found = self.constant_in(full[0][0], name) if full else UNKNOWN
            if found:
                return found
        if around and around[0]:
            for entry in self.ancestors(around[0][0][0]):
                found = self.constant_in(entry, name) if entry != BEYOND else UNKNOWN
                if found:
                    return found
        return self.top(name) or ((EXT, name),)

    def top(self, name: str) -> Values:
        """What a constant at the top is."""
        return self.constant_in("", name) or (((EXT, name),) if name in CORE else UNKNOWN)

    def constant_of(self, full: str, name: str) -> Values:
        """``A::B``."""
        beyond = False
        for entry in self.ancestors(full):
            if entry == BEYOND:
                beyond = True
                continue
            found = self.constant_in(entry, name)
            if found:
                return found
        return ((EXT, name),) if beyond else UNKNOWN

    def constant_in(self, full: str, name: str) -> Values:
        """The constant that a module itself has under a name."""
        return self.once(("in", full, name), self.found_constant, full, name)

    def found_constant(self, full: str, name: str) -> Values:
        wanted = f"{full}::{name}" if full else name
        places = self.declared(wanted)
        if places:
            return ((SYM, *places[0], None),)
        found = []
        for file, at in self.named(name):
            view = self.view(file)
            self.ask(view, name)
            if view.symbols[at].kind == CONSTANT and self.full(file, at) == ((wanted,),):
                found.append((SYM, file, at, None))
        return tuple(found[:SOME])

    # -- ancestors ------------------------------------------------------------------------------------------------

    def ancestors(self, full: str) -> tuple[str, ...]:
        """Full names in the order that methods are looked for, `BEYOND` for what is a library's."""
        return self.once(("ancestors", full), self.found_ancestors, full)  # type: ignore[return-value]

    def found_ancestors(self, full: str) -> tuple[Any, ...]:
        before: list[str] = []
        mixed: list[str] = []
        above: list[str] = []
        for how, base in self.mixins(full):
            if how == PREPEND:
                before = [*self.ancestors_of(base), *before]
            elif how == INCLUDE:
                mixed += self.ancestors_of(base)
            elif not how:
                above += self.ancestors_of(base) if base not in above else ()
        line = [*before, full, *mixed, *above]
        if not above and (full in CORE or not self.declared(full)):
            line.append(BEYOND)
        if full not in ("Object", "Kernel"):
            line += [name for name in ("Object", "Kernel") if self.declared(name)]
        return tuple(dict.fromkeys(line))

    def ancestors_of(self, base: str) -> tuple[str, ...]:
        return (BEYOND,) if base == BEYOND else self.ancestors(base)

    def mixins(self, full: str) -> Iterator[tuple[int, str]]:
        """What is above a module: how (0 for the class above) and its full name. What is named last comes first."""
        for file, at in self.declared(full):
            view = self.view(file)
            that = view.symbols[at]
            self.ask(view, that.name)
            for expr in reversed(that.bases):
                op, inner, how = view.exprs[3 * expr : 3 * expr + 3]
                if op != ELEM:
                    inner, how = expr, 0
                for name in self.module_names(view, inner, that.own if how else that.scope, full):
                    yield how, name

    def module_names(self, view: View, expr: int, scope: int, full: str) -> Iterable[str]:
        """The full names of what a base is."""
        if view.exprs[3 * expr] == SELF:
            return [full]
        names = []
        for value in self.eval(view, expr, scope, -1):
            if value[0] == SYM and self.view(value[1]).symbols[value[2]].kind in MODULES:
                found = self.full(value[1], value[2])
                names += [str(one[0]) for one in found]
        return names or [BEYOND]

    def singleton(self, full: str) -> list[tuple[str, bool]]:
        """Where the methods of a module itself are looked for: full names, and whether it is those of the module."""
        line: list[tuple[str, bool]] = []
        for entry in self.ancestors(full):
            if entry == BEYOND:
                line.append((BEYOND, False))
                continue
            is_own = entry == full or self.is_class(entry)
            if is_own:
                line.append((entry, True))
            for how, base in self.mixins(entry):
                if (how == EXTEND and is_own) or (how == EXTENDS and entry != full):
                    line += [(one, False) for one in self.ancestors_of(base)]
        for name in ("Class", "Module"):
            if self.declared(name):
                line.append((name, False))
        return line

    def is_class(self, full: str) -> bool:
        return any(self.view(file).symbols[at].kind != NAMESPACE for file, at in self.declared(full))

    # -- methods --------------------------------------------------------------------------------------------------

    def bound_in(self, full: str, name: str) -> list[tuple[int, int]]:
        """The symbols that the places of a module bind to a name."""
        found = []
        for file, at in self.declared(full):
            view = self.view(file)
            self.ask(view, name)
            scope = view.symbols[at].own
            found += [(file, one) for one in self.bound_symbols(view, scope, name)]
        return found

    def found_method(self, full: str, name: str, of_class: bool) -> Values:
        return self.search(self.line_of(full, of_class), name)

    def found_above(self, full: str, name: str, of_class: bool) -> Values:
        line = self.line_of(full, of_class)
        at = line.index((full, of_class)) if (full, of_class) in line else 0
        return self.search(line[at + 1 :], name)

    def line_of(self, full: str, of_class: bool) -> list[tuple[str, bool]]:
        return self.singleton(full) if of_class else [(entry, False) for entry in self.ancestors(full)]

    def search(self, line: list[tuple[str, bool]], name: str) -> Values:
        beyond = False
        for entry, own in line:
            if entry == BEYOND:
                beyond = True
                continue
            found = self.bound_in(entry, f".{name}" if own else name)
            if found:
                return tuple((SYM, file, at, None) for file, at in found)
        return ((EXT, name),) if beyond else UNKNOWN

    # -- files ----------------------------------------------------------------------------------------------------

    def required(self, view: View, item: Import) -> int | None:
        """The file that ``require`` brings, None for a library's."""
        folder = posixpath.dirname(view.path)
        if item.level:
            return self.ruby_at(posixpath.normpath(posixpath.join(folder, item.module)))
        if item.module.startswith(("/", "..")):
            return None
        while True:
            for inner in ("lib", "", "test", "spec") if folder == "" else ("lib", "test", "spec"):
                found = self.ruby_at(posixpath.join(folder, inner, item.module))
                if found is not None:
                    return found
            if not folder:
                break
            folder = posixpath.dirname(folder)
        if item.module.partition("/")[0] in STANDARD:
            return None
        self.asked.add(key("ruby", item.module))
        found_at = self.tails().get(item.module, ())
        return found_at[0] if len(found_at) == 1 else None

    def ruby_at(self, path: str) -> int | None:
        return self.file_at(path if path.endswith((".rb", ".rake")) else f"{path}.rb")

    _tails: dict[str, list[int]] | None = None

    def forget(self, files: Iterable[int]) -> None:
        super().forget(files)
        self._tails = None

    def tails(self) -> dict[str, list[int]]:
        """What can be required of the folders ``lib`` of this root → files."""
        if self._tails is None:
            self._tails = {}
            for path, file in self.sources.paths().items():
                tail = _tail(path)
                if tail:
                    self._tails.setdefault(tail, []).append(file)
        return self._tails

    def also_provided(self, view: View) -> dict[int, int]:
        tail = _tail(view.path)
        return {key("ruby", tail): view.file} if tail else {}

    def reached(self, file: int, wanted: Collection[int]) -> Iterator[int]:
        """Those of the wanted files that a file requires, nearest first."""
        seen = {file}
        queue = deque([file])
        while queue:
            for value in self.once(("requires", queue[0]), self.found_required, queue[0]):
                if value[0] not in seen:
                    seen.add(value[0])
                    queue.append(value[0])
                    if value[0] in wanted:
                        yield value[0]
            queue.popleft()

    def found_required(self, file: int) -> tuple[Any, ...]:
        view = self.view(file)
        self.ask(view, "*")
        found = [self.required(view, item) for item in view.facts.imports]
        return tuple((one,) for one in found if one is not None)


def _tail(path: str) -> str:
    _, found, tail = f"/{path}".partition("/lib/")
    return tail.removesuffix(".rb") if found and path.endswith(".rb") else ""
