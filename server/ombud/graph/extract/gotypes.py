"""Go's expressions and types.

A type is written as an INDEX of what no Go name can be: ``[]`` (slices, arrays), ``map``, ``chan``, ``func`` (of its
result); a pointer is as good as what it points to. Receiving from a channel is an AWAIT.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    AWAIT,
    CALL,
    CLASS_SCOPE,
    CLOSURE,
    DECLARED,
    ELEM,
    INDEX,
    INSTANCE,
    LITERAL,
    NAME,
    TUPLE,
    UNION,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.gonames import Names

DEEPEST = 150
"""Expressions within one another that are followed."""
PREDECLARED = frozenset(
    [
        "any",
        "bool",
        "byte",
        "comparable",
        "complex128",
        "complex64",
        "error",
        "float32",
        "float64",
        "int",
        "int16",
        "int32",
        "int64",
        "int8",
        "rune",
        "string",
        "uint",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
        "uintptr",
        "true",
        "false",
        "iota",
        "nil",
        "append",
        "cap",
        "clear",
        "close",
        "complex",
        "copy",
        "delete",
        "imag",
        "len",
        "make",
        "max",
        "min",
        "new",
        "panic",
        "print",
        "println",
        "real",
        "recover",
        "_",
    ]
)
_COMPARING = {"==", "!=", "<", "<=", ">", ">=", "&&", "||"}


# -- values -----------------------------------------------------------------------------------------------------------


def value(on: Names, node: Node) -> int:
    """The expression of a node, 0 where nothing can be said of it."""
    key = node.id
    found = on.known.get(key)
    if found is None:
        how = VALUES.get(node.type)
        if how is None or on.depth > DEEPEST:
            return 0
        on.depth += 1
        found = on.known[key] = how(on, node)
        on.depth -= 1
    return found


def _identifier(on: Names, node: Node) -> int:
    return on.build.expr(NAME, on.build.name(on.text(node)))


def _selector(on: Names, node: Node) -> int:
    base, name = node.child_by_field_name("operand"), node.child_by_field_name("field")
    return on.build.attr(value(on, base), on.text(name)) if base is not None and name is not None else 0


def _call(on: Names, node: Node) -> int:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None:
        return 0
    given = arguments.named_children if arguments is not None else []
    if function.type == "identifier" and given:
        word = on.text(function)
        if word in ("make", "new"):
            return instance(on, given[0])
        if word == "append":
            return value(on, given[0])
        if word in ("min", "max"):
            return value(on, given[-1])
        if word in ("len", "cap", "copy"):
            return on.build.expr(LITERAL, on.build.name("int"))
    called = value(on, function)
    count = -1 if given and given[-1].type == "variadic_argument" else len(given)
    return on.build.expr(CALL, called, count) if called else 0


def _conversion(on: Names, node: Node) -> int:
    """``T(x)`` of a written type; ``f[T](x)`` and ``fs[i](x)`` look the same."""
    target = node.child_by_field_name("type")
    if target is None:
        return 0
    if target.type != "generic_type":
        return instance(on, target)
    called = kind_of(on, target)
    return on.build.expr(CALL, called, 1) if called else 0


def _index(on: Names, node: Node) -> int:
    base, key = node.child_by_field_name("operand"), node.child_by_field_name("index")
    known = value(on, base) if base is not None else 0
    return on.build.expr(INDEX, known, value(on, key) if key is not None else 0) if known else 0


def _operand(on: Names, node: Node) -> int:
    inner = node.child_by_field_name("operand") or first(node)
    return value(on, inner) if inner is not None else 0


def _asserted(on: Names, node: Node) -> int:
    target = node.child_by_field_name("type")
    return instance(on, target) if target is not None else 0


def _composite(on: Names, node: Node) -> int:
    return _asserted(on, node)


def _function(on: Names, node: Node) -> int:
    scope = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, scope) if scope is not None else 0


def _unary(on: Names, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    known = _operand(on, node)
    sign = operator.type if operator is not None else ""
    if sign == "!":
        return on.build.expr(LITERAL, on.build.name("bool"))
    return on.build.expr(AWAIT, known) if sign == "<-" and known else known


def _binary(on: Names, node: Node) -> int:
    """Both sides are of one type, but for what shifts, and a literal takes the other's type."""
    operator, left = node.child_by_field_name("operator"), node.child_by_field_name("left")
    if operator is None or left is None:
        return 0
    if operator.type in _COMPARING:
        return on.build.expr(LITERAL, on.build.name("bool"))
    right = node.child_by_field_name("right")
    return value(on, right if left.type.endswith("_literal") and right is not None else left)


def _literal(name: str) -> Callable[[Names, Node], int]:
    def made(on: Names, node: Node) -> int:
        del node
        return on.build.expr(LITERAL, on.build.name(name))

    return made


VALUES: dict[str, Callable[[Names, Node], int]] = {
    "identifier": _identifier,
    "selector_expression": _selector,
    "call_expression": _call,
    "type_conversion_expression": _conversion,
    "index_expression": _index,
    "slice_expression": _operand,
    "parenthesized_expression": _operand,
    "variadic_argument": _operand,
    "type_assertion_expression": _asserted,
    "composite_literal": _composite,
    "func_literal": _function,
    "unary_expression": _unary,
    "binary_expression": _binary,
    "interpreted_string_literal": _literal("string"),
    "raw_string_literal": _literal("string"),
    "int_literal": _literal("int"),
    "float_literal": _literal("float64"),
    "rune_literal": _literal("rune"),
    "true": _literal("bool"),
    "false": _literal("bool"),
}


# -- types ------------------------------------------------------------------------------------------------------------


def instance(on: Names, node: Node) -> int:
    """An INSTANCE of the type that is written there."""
    kind = kind_of(on, node)
    return on.build.expr(INSTANCE, kind) if kind else 0


def kind_of(on: Names, node: Node) -> int:
    """The expression of a written type."""
    how = KINDS.get(node.type)
    if how is None or on.depth > DEEPEST:
        return 0
    on.depth += 1
    found = how(on, node)
    on.depth -= 1
    return found


def generic(on: Names, name: str, args: list[int]) -> int:
    """A built-in type of several others."""
    build = on.build
    return build.expr(INDEX, build.named(name), build.cons(args))


def _qualified(on: Names, node: Node) -> int:
    package, name = node.child_by_field_name("package"), node.child_by_field_name("name")
    if package is None or name is None:
        return 0
    return on.build.attr(on.build.named(on.text(package)), on.text(name))


def _pointer(on: Names, node: Node) -> int:
    inner = first(node)
    return kind_of(on, inner) if inner is not None else 0


def _generic(on: Names, node: Node) -> int:
    base, args = node.child_by_field_name("type"), node.child_by_field_name("type_arguments")
    known = kind_of(on, base) if base is not None else 0
    if not known or args is None:
        return known
    return on.build.expr(INDEX, known, on.build.cons(kind_of(on, one) for one in args.named_children))


def _of(name: str, *fields: str) -> Callable[[Names, Node], int]:
    def made(on: Names, node: Node) -> int:
        parts = [node.child_by_field_name(one) for one in fields]
        return generic(on, name, [kind_of(on, part) if part is not None else 0 for part in parts])

    return made


def _callable(on: Names, node: Node) -> int:
    return generic(on, "func", [result(on, node)])


def _struct(on: Names, node: Node) -> int:
    """A struct without a name: a scope that holds its fields."""
    scope = on.structs.get(node.id)
    if scope is None:
        build = on.build
        outer = on.inside.at(node.start_byte)
        scope = on.structs[node.id] = build.scope(outer, CLASS_SCOPE, -1, node.start_byte, node.end_byte)
        for names, kind, _ in fields(on, node):
            for name in names:
                build.bind(scope, on.text(name), DECLARED, build.expr(INSTANCE, kind) if kind else 0)
    return on.build.expr(CLOSURE, scope)


def _union(on: Names, node: Node) -> int:
    found = 0
    for one in node.named_children:
        kind = kind_of(on, one)
        if kind and kind != found:
            found = on.build.expr(UNION, found, kind) if found else kind
    return found


KINDS: dict[str, Callable[[Names, Node], int]] = {
    "identifier": _identifier,
    "type_identifier": _identifier,
    "qualified_type": _qualified,
    "selector_expression": _selector,
    "pointer_type": _pointer,
    "parenthesized_type": _pointer,
    "parenthesized_expression": _pointer,
    "unary_expression": _pointer,
    "generic_type": _generic,
    "type_instantiation_expression": _generic,
    "slice_type": _of("[]", "element"),
    "array_type": _of("[]", "element"),
    "implicit_length_array_type": _of("[]", "element"),
    "map_type": _of("map", "key", "value"),
    "channel_type": _of("chan", "value"),
    "function_type": _callable,
    "struct_type": _struct,
    "type_elem": _union,
    "type_constraint": _union,
}


VALUES["type_instantiation_expression"] = _generic


# -- parts of declarations --------------------------------------------------------------------------------------------


def parameters(on: Names, node: Node | None) -> Iterator[tuple[list[Node], int, bool]]:
    """Names, type and whether it takes several, of each group of parameters (or results)."""
    for one in node.named_children if node is not None else ():
        kind = one.type
        if kind not in ("parameter_declaration", "variadic_parameter_declaration"):
            continue
        hint = one.child_by_field_name("type")
        several = kind != "parameter_declaration"
        known = kind_of(on, hint) if hint is not None else 0
        yield one.children_by_field_name("name"), generic(on, "[]", [known]) if several else known, several


def result(on: Names, node: Node) -> int:
    """The type of what a function gives: a TUPLE for several."""
    given = node.child_by_field_name("result")
    if given is None:
        return 0
    if given.type != "parameter_list":
        return kind_of(on, given)
    kinds = [kind for names, kind, _ in parameters(on, given) for _ in range(max(1, len(names)))]
    if len(kinds) == 1:
        return kinds[0]
    return on.build.expr(TUPLE, on.build.cons(kinds)) if any(kinds) else 0


def fields(on: Names, node: Node) -> Iterator[tuple[list[Node], int, Node]]:
    """Names, type and declaration of the fields of a struct; an embedded one has no names."""
    body = first(node)
    for one in body.named_children if body is not None else ():
        if one.type != "field_declaration":
            continue
        hint = one.child_by_field_name("type")
        yield one.children_by_field_name("name"), kind_of(on, hint) if hint is not None else 0, one


def embedded(node: Node) -> Node | None:
    """The name of the type that is embedded: the last one of ``*pkg.T[int]``."""
    found: Node | None = node
    while found is not None and found.type not in ("type_identifier", "identifier"):
        found = found.child_by_field_name("name") or found.child_by_field_name("type") or first(found)
    return found


def literal(on: Names, body: Node, kind: Node | None, given: int, depth: int = 0) -> None:
    """The keys of a composite literal that name fields. ``kind`` is the type as written, ``given`` a value of it."""
    build = on.build
    while kind is not None and kind.type in ("pointer_type", "parenthesized_type"):
        kind = first(kind)
    inner, inside = None, 0
    plain = kind is not None and kind.type in ("slice_type", "array_type", "implicit_length_array_type", "map_type")
    if kind is not None and plain:
        inner = kind.child_by_field_name("value" if kind.type == "map_type" else "element")
        inside = instance(on, inner) if inner is not None else 0
    elif given:
        inside = build.expr(INDEX, given, 0)
    for one in body.named_children:
        element = one
        if one.type == "keyed_element":
            key, element = one.child_by_field_name("key"), one.child_by_field_name("value") or one
            name = first(key)
            if not plain and name is not None and name.type == "identifier" and given:
                on.member(name, given)
        held = first(element) if element.type == "literal_element" else None
        if held is not None and held.type == "literal_value" and depth < DEEPEST:
            literal(on, held, inner, inside, depth + 1)


def ranged(on: Names, source: Node) -> int:
    """A tuple of what ``range`` gives: ELEM 1 and 2 of it."""
    known = value(on, source)
    return on.build.expr(ELEM, known) if known else 0
