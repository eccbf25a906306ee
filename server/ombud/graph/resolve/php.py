"""PHP: names by namespace and ``use``, traits, members of their sorts. See the manual, "Name resolution rules".

What a name means depends on no file but those that declare it: classes, functions and constants are found by their
full names, wherever they are. Where several files declare the same, the asking file's own counts, then the one where
``composer.json`` says that the class lies, then one that the asking file includes; else none.
"""

from __future__ import annotations

import json
import posixpath
from typing import Any

from ombud.graph.extract.phpfunctions import ARROW
from ombud.graph.facts import (
    CLASS_SCOPE,
    CONSTANT,
    CONSTANT_IMPORT,
    DECLARED,
    ENUM,
    FUNCTION,
    FUNCTION_IMPORT,
    FUNCTION_SCOPE,
    MODULE_SCOPE,
    NAME,
    NAMESPACE,
    OUTER,
    SCOPE_WIDTH,
    STATIC,
    TO_SYMBOL,
    Symbol,
)
from ombud.graph.resolve.engine import Engine
from ombud.graph.resolve.fingerprint import mix
from ombud.graph.resolve.members import CLASSES, WHEREVER
from ombud.graph.resolve.values import EXT, LIB, ME, MOD, OBJ, SYM, UNKNOWN, Value, Values, join
from ombud.graph.resolve.view import View, key

_BOTTOMLESS = frozenset(("array", "iterable"))
"""Types of the language whose elements are not known unless it is said what they are."""
_ITERATED = ("current()", "getIterator()")
_ALIKE = 8
"""Declarations of one name in one file, one for each of several conditions, that a use may mean. Of more nothing is
said: a text of thousands would have an edge from each use to each of them."""
_COMPOSER = "composer.json"


def _sort(text: str) -> str:
    return "function" if text.endswith("()") else "constant" if text.startswith("#") else "class"


class Php(Engine):
    """See the module."""

    CALL_METHOD = "__invoke()"

    def __init__(self, sources: Any, family: str) -> None:
        super().__init__(sources, family)
        self._uses: dict[int, dict[tuple[int, str, str], tuple[str, str]]] = {}
        self._autoload: dict[str, list[tuple[str, str]]] = {}

    def forget(self, files: Any) -> None:
        """See `World.forget`."""
        super().forget(files)
        for file in files:
            self._uses.pop(file, None)
        self._autoload.clear()

    # -- where a site's answer holds --------------------------------------------------------------------------------

    def home(self, view: View, expr: int, scope: int) -> int:
        """A class, a function or a constant means the same all over its namespace."""
        op, name = view.exprs[3 * expr : 3 * expr + 2]
        return self.space(view, scope) if op == NAME and view.names[name][:1] != "$" else scope

    def space(self, view: View, scope: int) -> int:
        """The scope of the namespace around a scope."""
        while scope > 0 and view.kind(scope) != MODULE_SCOPE:
            scope = view.parent(scope)
        return scope

    def namespace(self, view: View, space: int) -> str:
        owner = view.owner(space) if space else -1
        if owner > 0 and view.symbols[owner].kind == NAMESPACE:
            return view.symbols[owner].name
        return view.facts.package

    # -- names ----------------------------------------------------------------------------------------------------

    def lookup(self, view: View, scope: int, name: int, pos: int) -> Values:
        """See `Engine.lookup`."""
        text = view.names[name]
        if text[:1] == "$":
            return self.variable(view, scope, name, pos)
        if text[:1] == "<":
            self.ask(view, text)
            return tuple((SYM, view.file, row[1], None) for row in view.bound(0, text) if row[0] == TO_SYMBOL)
        space = self.space(view, scope)
        return self.once(("php", view.file, space, text), self._named, view, space, text)

    def variable(self, view: View, scope: int, name: int, pos: int) -> Values:
        """What a variable holds. A function sees none of those around it, unless it is an arrow function."""
        here = scope
        while here >= 0:
            kind = view.scopes[here * SCOPE_WIDTH + 1]
            bindings = view.table(here).get(name)
            if bindings:
                if any(row[0] == OUTER for row in bindings) and here:
                    here, pos = 0, WHEREVER
                    continue
                if kind == MODULE_SCOPE and (self.running or view.file != self.current):
                    self.ask(view, view.names[name])
                return self.chosen(view, here, bindings, pos) or UNKNOWN
            if kind == CLASS_SCOPE or (kind == FUNCTION_SCOPE and not view.bound(here, ARROW)):
                break
            here = view.parent(here)
        self.ask(view, view.names[name])
        return UNKNOWN

    def _named(self, view: View, space: int, text: str) -> Values:
        """What a class's, a function's or a constant's name means in a namespace of a file."""
        sort = _sort(text)
        word = text.removesuffix("()").removeprefix("#")
        for full in self.full_names(view, space, word, sort):
            found = self.picked(view, sort, full)
            if found is not None:
                return found
        return ((EXT, word.rpartition("\\")[2]),)

    def full_names(self, view: View, space: int, word: str, sort: str) -> list[str]:
        """The full names that a name may stand for, the first one that is declared first."""
        if word.startswith("\\"):
            return [word[1:]]
        self.asked.add(view.key("namespace;"))
        around = self.namespace(view, space)
        inner = f"{around}\\{word}" if around else word
        head, _, rest = word.partition("\\")
        if rest:
            if head.lower() == "namespace":
                return [f"{around}\\{rest}" if around else rest]
            found = self.used(view, space, "class", head)
            return [f"{found}\\{rest}" if found else inner]
        found = self.used(view, space, sort, word)
        if found:
            return [found]
        return [inner] if sort == "class" or not around else [inner, word]

    def used(self, view: View, space: int, sort: str, alias: str) -> str:
        """The full name that ``use`` gives an alias, ``""`` for none."""
        low = alias if sort == "constant" else alias.lower()
        self.asked.add(view.key(f"use {alias.lower()}"))
        known = self._uses.get(view.file)
        if known is None:
            known = {}
            for item in view.facts.imports:
                if item.name:
                    kind = _import_sort(item.flags)
                    word = item.alias if kind == "constant" else item.alias.lower()
                    full = f"{item.module}\\{item.name}" if item.module else item.name
                    known.setdefault((item.scope, kind, word), (full, item.alias))
            self._uses[view.file] = known
        return known.get((space, sort, low), ("", ""))[0]

    def picked(self, view: View, sort: str, full: str) -> Values | None:
        """The declaration of a full name that a file means, None where there is none."""
        every = self.once(("declared", sort, full), self._declared, sort, full)
        if not every:
            return None
        files = {value[1] for value in every}
        if view.file in files:
            files = {view.file}
        elif len(files) > 1:
            files = self._likely(view, full, sorted(files)) or set()
        found = tuple(value for value in every if value[1] in files)
        return found if len(found) <= _ALIKE else UNKNOWN

    def _likely(self, view: View, full: str, files: list[int]) -> set[int] | None:
        """The one of several files that is meant."""
        loaded = [file for file in files if self.loads(full, self.sources.path(file))]
        if len(loaded) == 1:
            return set(loaded)
        self.asked.add(view.key("include;"))
        included = {
            value[1]
            for number, item in enumerate(view.facts.imports)
            if not item.name
            for value in self.once(("import", view.file, number), self.imported, view, number)
            if value[0] == MOD
        }
        some = included & set(files)
        return some if len(some) == 1 else None

    def _declared(self, sort: str, full: str) -> Values:
        """All declarations of a full name."""
        self.asked.add(_declared_key(sort, full))
        space, _, word = full.rpartition("\\")
        found = []
        for file, at in self.sources.named(word, self.languages):
            package = self.sources.package(file).lower()
            # What ``define`` makes is in no namespace, whichever its file is in.
            if package and package != space.lower() and (space or sort != "constant"):
                continue
            view = self.view(file)
            if self.sort_of(view, at) == sort and self.full_name(view, at).lower() == full.lower():
                found.append((SYM, file, at, None))
        return tuple(found)

    def sort_of(self, view: View, symbol: int) -> str:
        """Whether a symbol is a class, a function or a constant with a full name; ``""`` for members."""
        that = view.symbols[symbol]
        if that.kind in CLASSES:
            return "class" if "@" not in that.name else ""
        if that.kind == FUNCTION:
            return "function"
        return "constant" if that.kind == CONSTANT and not that.flags & STATIC else ""

    def full_name(self, view: View, symbol: int) -> str:
        """The full name of a class, a function or a constant. ``define`` ignores the namespace around it."""
        that = view.symbols[symbol]
        if that.kind == CONSTANT and that.signature[:6].lower() == "define":
            return that.name
        holder = that.parent
        while holder and view.symbols[holder].kind != NAMESPACE:
            holder = view.symbols[holder].parent
        above = view.symbols[holder].name if holder else view.facts.package
        return f"{above}\\{that.name}" if above else that.name

    def also_provided(self, view: View) -> dict[int, int]:
        """See `World.also_provided`: declarations by full name, and what names in the file are read by."""
        found: dict[int, int] = {}

        def add(at: int, *parts: object) -> None:
            found[at] = mix(found.get(at, 0), *parts)

        for number, symbol in enumerate(view.symbols):
            sort = self.sort_of(view, number)
            if sort:
                add(_declared_key(sort, self.full_name(view, number)), view.path, symbol.qualified)
        spaces = [symbol.name for symbol in view.symbols if symbol.kind == NAMESPACE]
        add(view.key("namespace;"), view.facts.package, *spaces)
        for item in view.facts.imports:
            parts = (item.module, item.name, item.alias, item.flags, self.namespace(view, item.scope))
            add(view.key(f"use {item.alias.lower()}") if item.name else view.key("include;"), *parts)
        return found

    # -- files ----------------------------------------------------------------------------------------------------

    def imported(self, view: View, number: int) -> Values:
        """What ``use`` names, or the file that is included."""
        item = view.facts.imports[number]
        if not item.name:
            return self._included(view, item.module)
        full = f"{item.module}\\{item.name}" if item.module else item.name
        found = self.picked(view, _import_sort(item.flags), full)
        return ((EXT, item.name),) if found is None else found

    def _included(self, view: View, path: str) -> Values:
        folder = posixpath.dirname(view.path)
        here = posixpath.normpath(posixpath.join(folder, path))
        places = [here] if path.startswith(".") else [here, posixpath.normpath(path)]
        for place in places:
            found = None if place.startswith(("..", "/")) else self.file_at(place)
            if found is not None:
                return ((MOD, found),)
        return ((EXT, path),)

    def loads(self, full: str, path: str) -> bool:
        """Whether a ``composer.json`` says that a class lies at a path (PSR-4)."""
        folder = posixpath.dirname(path)
        while True:
            config = posixpath.join(folder, _COMPOSER)
            for prefix, place in self.autoload(config):
                if full.startswith(prefix):
                    rest = full[len(prefix) :].replace("\\", "/") + ".php"
                    if posixpath.normpath(posixpath.join(folder, place, rest)) == path:
                        return True
            if not folder:
                return False
            folder = posixpath.dirname(folder)

    def autoload(self, config: str) -> list[tuple[str, str]]:
        """Prefixes of namespaces and their folders; a file that cannot be read says nothing."""
        text = self.config(config)
        if text is None:
            return []
        known = self._autoload.get(config)
        if known is None:
            known = self._autoload[config] = _autoload(text)
        return known

    # -- members --------------------------------------------------------------------------------------------------

    def member(self, value: Value, name: str) -> Values:
        """See `Members.member`. A class's name in a string stands for the class."""
        if value[0] == LIB and value[1] == "class-string" and value[2]:
            return join(*(self.class_member(one[1], one[2], name, one) for one in value[2][0] if one[0] in (OBJ, ME)))
        return super().member(value, name)

    def class_member(self, file: int, symbol: int, name: str, receiver: Value, above: bool = False) -> Values:
        """See `Members.class_member`. Methods have no case."""
        name = name.lower() if name.endswith("()") else name
        found = super().class_member(file, symbol, name, receiver, above)
        return found or self._implied(file, symbol, name)

    def _implied(self, file: int, symbol: int, name: str) -> Values:
        """Members that a class has without writing them."""
        if self.view(file).symbols[symbol].kind == ENUM and name in _OF_ENUMS:
            self.ask(self.view(file), self.view(file).symbols[symbol].name)
            one = ((OBJ, file, symbol, None),)
            return ((EXT, name),) if name[0] == "$" else (("enum", name == "cases()", one),)
        for magic in ("__call()", "__callstatic()") if name.endswith("()") else ():
            if super().class_member(file, symbol, magic, (ME, file, symbol)):
                return ((EXT, name),)
        return UNKNOWN

    def _found_member(self, file: int, symbol: int, name: str, above: bool) -> Values:
        line = self.line(file, symbol)
        for entry in line[1:] if above else line:
            if len(entry) == 1:
                return ((EXT, name),)
            found = self.found_in(entry[0], entry[1], name)
            if found:
                return tuple((SYM, entry[0], at, None) for at in found)
            said = self._said(entry[0], entry[1], name)
            if said:
                return said
        return UNKNOWN

    def _said(self, file: int, symbol: int, name: str) -> Values:
        """A member by a rule for traits, or by the comment of its class."""
        view = self.view(file)
        own = view.symbols[symbol].own
        rows = view.bound(own, name) if own >= 0 else ()
        return join(*(self.denote(view, row[1], own, WHEREVER) for row in rows if row[0] == DECLARED))

    def result(self, value: Value, count: int) -> Values:
        """See `Members.result`."""
        if value[0] == "enum":
            one: Values = value[2]
            return ((LIB, "array", (one,)),) if value[1] else one
        return super().result(value, count)

    def finished(self, view: View, symbol: Symbol, found: Values) -> Values:
        """See `Members.finished`. PHP has no decorators."""
        del view, symbol
        return found

    def given(self, view: View, call: int, argument: int, scope: int, pos: int) -> Values:
        """What a call gives that is told the class it is to give."""
        found = super().given(view, call, argument, scope, pos)
        return join(*((one[2][0] if one[:2] == (LIB, "class-string") and one[2] else (one,)) for one in found))

    # -- arrays ---------------------------------------------------------------------------------------------------

    def element(self, value: Value) -> Values:
        """What iterating over a value gives: an array's elements, or what an iterator's methods do."""
        if value[0] == LIB and value[1] == "tuple":
            return join(*value[2])
        if value[0] == LIB and value[1] in _BOTTOMLESS and not value[2]:
            return UNKNOWN
        if value[0] == LIB and len(value[2]) > 1:
            last: Values = value[2][-1]
            return last
        if value[0] == OBJ and value[3]:
            args: Values = value[3][-1]
            return args
        if value[0] in (OBJ, ME):
            for name, deeper in zip(_ITERATED, (False, True), strict=True):
                found = join(*(self.result(one, 0) for one in self.member(value, name) if one[0] == SYM))
                if found:
                    return join(*(self.element(one) for one in found)) if deeper else found
            return UNKNOWN
        return super().element(value)

    def item(self, value: Value) -> Values:
        """See `Members.item`. An object's item is what its ``offsetGet`` gives."""
        if value[0] in (OBJ, ME):
            found = join(*(self.result(one, 1) for one in self.member(value, "offsetGet()") if one[0] == SYM))
            return found or self.element(value)
        return self.element(value)

    # -- sites ----------------------------------------------------------------------------------------------------

    def called(self, view: View, expr: int) -> str:
        return super().called(view, expr).removesuffix("()")

    def may_be_ours(self, view: View, expr: int, name: str) -> bool:
        """A function in a variable has no name that others could have."""
        del view, expr
        return not name.startswith("$")

    def targets(self, kind: int, found: Values) -> list[tuple[int, int]]:
        return super().targets(kind, tuple(value for value in found if value[0] != "enum"))


_OF_ENUMS = frozenset(("cases()", "from()", "tryfrom()", "$name", "$value"))


def _import_sort(flags: int) -> str:
    return "function" if flags & FUNCTION_IMPORT else "constant" if flags & CONSTANT_IMPORT else "class"


def _declared_key(sort: str, full: str) -> int:
    return key("php", sort, full.lower())


def _autoload(text: str) -> list[tuple[str, str]]:
    try:
        told = json.loads(text)
    except ValueError:
        return []
    found = []
    for part in ("autoload", "autoload-dev"):
        listed = told.get(part, {}) if isinstance(told, dict) else {}
        prefixes = listed.get("psr-4", {}) if isinstance(listed, dict) else {}
        for prefix, places in prefixes.items() if isinstance(prefixes, dict) else ():
            listed = places if isinstance(places, list) else [places]
            found += [(prefix, place) for place in listed if isinstance(place, str)]
    return found


ENGINE = Php
