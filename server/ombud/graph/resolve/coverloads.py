"""Which of several functions of a name a call means: by the number of arguments, then by what is known of types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ombud.graph.facts import ENUM, PARAMETER, Symbol
from ombud.graph.resolve.members import CLASSES, WHEREVER
from ombud.graph.resolve.values import EXT, LIB, ME, OBJ, SYM, VAR, Value, Values
from ombud.graph.resolve.view import key

if TYPE_CHECKING:
    from ombud.graph.resolve.cvalues import CValues as C
    from ombud.graph.resolve.view import View

NUMBERS = frozenset(
    [
        "int",
        "double",
        "float",
        "bool",
        "char",
        "size_t",
        "ssize_t",
        "ptrdiff_t",
        "int8_t",
        "int16_t",
        "int32_t",
        "int64_t",
        "uint8_t",
        "uint16_t",
        "uint32_t",
        "uint64_t",
        "uintptr_t",
        "wchar_t",
        "char8_t",
        "char16_t",
        "char32_t",
        "short",
        "long",
        "unsigned",
    ]
)
_TEXTS = frozenset(("string", "string_view", "basic_string", "char*", "path", "Slice", "StringPiece", "QString"))
SAME, DERIVED, FITS, UNSURE, NEVER = 4, 3, 2, 1, 0


def fits(symbol: Symbol, count: int) -> bool:
    """Whether a function can be called with so many arguments."""
    least, most = symbol.arity
    return count < 0 or (count >= least and (most < 0 or count <= most))


def parameter_types(on: C, view: View, symbol: Symbol) -> list[Values]:
    """What each parameter of a function may be."""
    found = []
    for name in symbol.params:
        values: Values = ()
        for what, expr, _, _ in view.bound(symbol.own, name) if symbol.own >= 0 else ():
            if what == PARAMETER:
                values = on.once(
                    ("bound", view.file, symbol.own, expr, WHEREVER), on.eval, view, expr, symbol.own, WHEREVER
                )
                break
        found.append(values)
    return found


def score(on: C, wanted: Values, given: Values) -> int:
    """How well an argument fits a parameter."""
    if not wanted or not given:
        return UNSURE
    return max(_score(on, one, other) for one in wanted for other in given)


def _score(on: C, wanted: Value, given: Value) -> int:
    if wanted[0] == VAR:
        return UNSURE
    if given[0] == SYM:
        symbol = on.view(given[1]).symbols[given[2]]
        if symbol.kind in CLASSES:
            return UNSURE
        return FITS if wanted[0] == LIB and wanted[1] == "function" else UNSURE
    if wanted[0] in (OBJ, ME):
        if given[0] in (OBJ, ME):
            return _classes(on, wanted, given)
        if given[0] == LIB:
            plain = given[1] in NUMBERS or given[1] == "char*"
            return _converts(on, wanted, given) if plain else UNSURE
        return UNSURE
    if wanted[0] == LIB:
        if given[0] == LIB:
            return _library(wanted[1], given[1])
        if given[0] in (OBJ, ME):
            kind = on.view(given[1]).symbols[given[2]].kind
            return (
                FITS
                if kind == ENUM and wanted[1] in NUMBERS
                else UNSURE
                if wanted[1] == "function"
                else _leaves(on, given)
            )
    return UNSURE


def _leaves(on: C, given: Value) -> int:
    """Whether an instance of a class of the project may become one of a library's type."""
    on.asked.add(key("layout", on.view(given[1]).path))
    converts = any(
        symbol.name.startswith("operator ") and symbol.parent == given[2] for symbol in on.view(given[1]).symbols
    )
    beyond = (EXT,) in on.line(given[1], given[2])
    return UNSURE if converts or beyond else NEVER


def _classes(on: C, wanted: Value, given: Value) -> int:
    if wanted[1:3] == given[1:3]:
        return SAME
    line = on.line(given[1], given[2])
    if any(entry[:2] == wanted[1:3] for entry in line):
        return DERIVED
    if (EXT,) in line:
        return UNSURE
    return _converts(on, wanted, given)


def _converts(on: C, wanted: Value, given: Value) -> int:
    """Whether a class has a constructor of one argument that takes what is given."""
    for value in on.constructors(wanted):
        symbol = on.view(value[1]).symbols[value[2]]
        if fits(symbol, 1) and not symbol.signature.startswith("explicit"):
            types = parameter_types(on, on.view(value[1]), symbol)
            if types and types[0] and not any(one[0] in (OBJ, ME) for one in types[0]):
                if any(one[0] == LIB and given[0] == LIB and _library(one[1], given[1]) for one in types[0]):
                    return UNSURE
            elif not types or not types[0]:
                return UNSURE
    return NEVER


def _library(wanted: str, given: str) -> int:
    if wanted == given:
        return SAME
    if wanted in NUMBERS and given in NUMBERS:
        return FITS
    if given == "nullptr":
        return UNSURE if wanted not in NUMBERS else NEVER
    if wanted in _TEXTS and given in _TEXTS:
        return FITS
    if (wanted in NUMBERS) != (given in NUMBERS) and (wanted in _TEXTS or given in _TEXTS):
        return NEVER
    return UNSURE


def pick(on: C, found: Sequence[Value], count: int, given: Sequence[Values]) -> list[Value]:
    """The functions that are meant: the one that fits best, several where that cannot be told."""
    if len(found) == 1:
        return list(found)
    symbols = [(value, on.view(value[1]), on.view(value[1]).symbols[value[2]]) for value in found]
    able = [one for one in symbols if fits(one[2], count)] or symbols
    if len(able) > 1:
        ranked = []
        for value, view, symbol in able:
            types = parameter_types(on, view, symbol)
            points = [score(on, types[n] if n < len(types) else (), one) for n, one in enumerate(given)]
            if NEVER not in points:
                ranked.append((sum(points), not symbol.generics, symbol.arity[1] >= 0, value))
        if ranked:
            best = max(row[:3] for row in ranked)
            return [row[3] for row in ranked if row[:3] == best]
    return [one[0] for one in able]


def shape(view: View, symbol: Symbol) -> tuple[str, ...]:
    """A function's parameters by the last name of their types, the same for a declaration and its definition."""
    found = []
    for name in symbol.params:
        text = ""
        for what, expr, _, _ in view.bound(symbol.own, name) if symbol.own >= 0 else ():
            if what == PARAMETER:
                text = _told(view, expr, 0)
                break
        found.append(text)
    return tuple(found)


def _told(view: View, expr: int, depth: int) -> str:
    if not expr or depth > 12:
        return ""
    op, a, b = view.exprs[3 * expr : 3 * expr + 3]
    if op == 1:
        return view.names[a]
    if op == 2:
        return view.names[b]
    if op in (11, 21):
        return _told(view, a if op == 11 else b, depth + 1)
    if op == 16:
        return view.symbols[a].name
    if op in (4, 7):
        return f"{_told(view, a, depth + 1)}<{_told(view, b, depth + 1)}>"
    return f"?{op}"
