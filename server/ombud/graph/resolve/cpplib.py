"""What the members of the standard library's types give, as far as values are followed through them."""

from __future__ import annotations

from ombud.graph.resolve.values import EXT, LIB, UNKNOWN, Value, Values

POINTERS = frozenset(
    ("unique_ptr", "shared_ptr", "weak_ptr", "optional", "reference_wrapper", "iterator", "scoped_ptr", "intrusive_ptr")
)
MAPS = frozenset(("map", "unordered_map", "multimap", "unordered_multimap", "flat_hash_map", "btree_map"))
MAKERS = {"make_unique": "unique_ptr", "make_shared": "shared_ptr", "make_optional": "optional"}
PASSED = frozenset(
    (
        "move",
        "forward",
        "ref",
        "cref",
        "as_const",
        "static_pointer_cast",
        "dynamic_pointer_cast",
        "exchange",
        "addressof",
    )
)
"""Functions that give their first argument."""
_FIRST = frozenset(
    (
        "front",
        "back",
        "at",
        "top",
        "get",
        "value",
        "value_or",
        "data",
        "emplace_back",
        "emplace_front",
        "extract",
        "release",
    )
)
_ITERATORS = frozenset(
    (
        "begin",
        "end",
        "cbegin",
        "cend",
        "rbegin",
        "rend",
        "crbegin",
        "crend",
        "find",
        "lower_bound",
        "upper_bound",
        "erase",
        "emplace",
    )
)


def element(value: Value) -> Values:
    """What iterating over a container gives; of a map a pair."""
    name, args = value[1], value[2]
    if name in MAPS and len(args) > 1:
        return ((LIB, "pair", tuple(args[:2])),)
    return args[0] if args else ((EXT, ""),)


def item(value: Value) -> Values:
    """What a subscript gives."""
    name, args = value[1], value[2]
    if name in MAPS:
        return args[1] if len(args) > 1 else ((EXT, ""),)
    return args[0] if args else ((EXT, ""),)


def unwrapped(value: Value) -> Values:
    """What ``*`` and ``->`` lead to."""
    args = value[2]
    if value[1] in POINTERS:
        found: Values = args[0] if args else ((EXT, ""),)
        return found
    return (value,)


def part(value: Value, place: int) -> Values:
    """The part of a pair or a tuple, counted from 1."""
    if value[1] in ("pair", "tuple"):
        args = value[2]
        return args[place - 1] if len(args) >= place else UNKNOWN
    return ((EXT, ""),)


def field(value: Value, name: str) -> Values:
    """A field of a pair."""
    if value[1] == "pair" and name in ("first", "second") and len(value[2]) == 2:
        found: Values = value[2][name == "second"]
        return found
    return UNKNOWN


def called(value: Value, name: str) -> Values:
    """What calling a method gives."""
    kind, args = value[1], value[2]
    if kind == "weak_ptr" and name == "lock":
        return ((LIB, "shared_ptr", args),)
    if not args:
        return ((EXT, ""),)
    if name in _ITERATORS:
        return ((LIB, "iterator", (element(value),)),)
    if name in _FIRST:
        return item(value) if kind in MAPS else element(value)
    return ((EXT, ""),)
