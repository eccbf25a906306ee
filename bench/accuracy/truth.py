"""What an indexer says about a package, joined with our own reading of its sources.

A call's name stands at a place; the index has an occurrence there; its symbol is defined at another place; our reading
says which definition has its name there. Nothing of the measured graph takes part.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from . import source
from .scip import Document
from .source import CALLABLE, CLASS, Source

INSIDE, VALUE, EXTERNAL, UNKNOWN = "inside", "value", "external", "unknown"
ALIAS_HOPS = 4
BUILTINS = frozenset(dir(builtins))

Place = tuple[str, int, int]  # path, line, character
Definition = tuple[str, str]  # path, lexical path of names
Made = tuple[str, int, str]  # path, line, name


@dataclass(frozen=True)
class Binding:
    """What a name is bound to.

    ``inside``: a function, method or class of the package, in `targets`. ``value``: a variable, parameter or field,
    whose content the indexer does not follow; `targets` then has what our reading can say, which may be nothing, and
    `made` where and under what name the value is made. ``external``: something of a library. ``unknown``: the indexer
    names no definition.
    """

    kind: str
    targets: frozenset[Definition] = frozenset()
    made: frozenset[Made] = frozenset()


@dataclass
class Truth:
    """The bindings of every name of a package that the indexer knows, and the call sites among them."""

    sources: dict[str, Source]
    bindings: dict[Place, Binding] = field(default_factory=dict)

    def calls(self) -> Iterable[tuple[Place, source.Call, Binding]]:
        for path, held in self.sources.items():
            for (line, character), call in held.calls.items():
                place = (path, line, character)
                yield place, call, self.bindings.get(place, Binding(UNKNOWN))

    def family(self, target: Definition) -> set[Definition]:
        path, name = target
        return {(path, other) for other in self.sources[path].family(name)}

    def line(self, place: Place) -> str:
        lines = self.sources[place[0]].lines
        return lines[place[1]].strip() if place[1] < len(lines) else ""


def join(root: Path, documents: Iterable[Document], package: str) -> Truth:
    """The truth about the package in `root`. `package` is how its own symbols begin (scheme, manager and name)."""
    kept = [document for document in documents if source.supported(document.path)]
    sources = {document.path: source.read(document.path, (root / document.path).read_bytes()) for document in kept}
    truth = Truth(sources)
    symbols, defined = _collected(kept)
    for (path, line, character), names in symbols.items():
        truth.bindings[path, line, character] = _binding(truth, names, defined, package)
    _mark_builtins(truth)
    _follow_aliases(truth)
    return truth


def _collected(documents: Iterable[Document]) -> tuple[dict[Place, set[str]], dict[str, set[Place]]]:
    """Symbols by place and defining places by symbol; a ``local N`` is the document's own."""
    symbols: dict[Place, set[str]] = {}
    defined: dict[str, set[Place]] = {}
    for document in documents:
        for one in document.occurrences:
            place = (document.path, one.line, one.character)
            symbol = f"{document.path} {one.symbol}" if one.symbol.startswith("local ") else one.symbol
            symbols.setdefault(place, set()).add(symbol)
            if one.defines:
                defined.setdefault(symbol, set()).add(place)
    return symbols, defined


def _binding(truth: Truth, symbols: set[str], defined: dict[str, set[Place]], package: str) -> Binding:
    places = {place for symbol in symbols for place in defined.get(symbol, ())}
    targets = set()
    for path, line, character in places:
        held = truth.sources[path]
        name = held.names.get((line, character))
        # An interface of the same name as a variable is no callee: the two are merged only in the reader's mind.
        if name is not None and held.kinds[name] in {CALLABLE, CLASS}:
            targets.add((path, name))
    if targets:
        return Binding(INSIDE, frozenset(targets))
    if places:
        return Binding(VALUE, made=frozenset(_made(truth, place) for place in places))
    own = any(symbol.startswith(package) or " local " in symbol for symbol in symbols)
    return Binding(UNKNOWN if own else EXTERNAL)


def _made(truth: Truth, place: Place) -> Made:
    path, line, character = place
    return path, line, truth.sources[path].word((line, character))


def _mark_builtins(truth: Truth) -> None:
    """scip-python gives some built-in functions (``len``) a local symbol without a definition: they are a library's."""
    for (path, line, character), bound in truth.bindings.items():
        if bound.kind == UNKNOWN and path.endswith(".py"):
            held = truth.sources[path]
            call = held.calls.get((line, character))
            if call is not None and call.shape == "name()" and held.word((line, character)) in BUILTINS:
                truth.bindings[path, line, character] = Binding(EXTERNAL)


def _follow_aliases(truth: Truth) -> None:
    """`a = b` says what a value is when b is a definition: then the value's targets are b's."""
    content: dict[Made, set[Definition]] = {}
    for _ in range(ALIAS_HOPS):
        for path, held in truth.sources.items():
            for to, of in held.aliases.items():
                bound = truth.bindings.get((path, *of))
                if bound is not None and bound.targets:
                    content.setdefault(_made(truth, (path, *to)), set()).update(bound.targets)
        for place, bound in truth.bindings.items():
            if bound.kind == VALUE:
                targets = frozenset().union(*(content.get(made, ()) for made in bound.made))
                truth.bindings[place] = Binding(VALUE, targets, bound.made)
