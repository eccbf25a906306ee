"""Types of TypeScript, lowered. A type is the expression of what INSTANCE is then made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.facts import CALL, CLASS, CLOSURE, ELEM, IMPORT, INDEX, INSTANCE, NAME, TUPLE, TYPE_OF

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma

_SAME = {"Partial", "Required", "Readonly", "NonNullable", "Pick", "Omit", "Extract", "Exclude", "NoInfer"}
"""Types of the library whose members are those of their first argument."""
_NOTHING = {"any", "unknown", "void", "never", "undefined", "null", "object", "symbol", "unique symbol"}


def _name(on: Ecma, node: Node) -> int:
    return on.build.expr(NAME, on.build.name(on.text(node)))


def _nested(on: Ecma, node: Node) -> int:
    left, name = node.child_by_field_name("module"), node.child_by_field_name("name")
    if left is None or name is None:
        return 0
    return on.build.attr(_dotted(on, left), on.text(name))


def _dotted(on: Ecma, node: Node) -> int:
    if node.type == "nested_identifier":
        left, name = node.child_by_field_name("object"), node.child_by_field_name("property")
        return on.build.attr(_dotted(on, left), on.text(name)) if left is not None and name is not None else 0
    return on.build.named(on.text(node)) if node.type == "identifier" else 0


def _generic(on: Ecma, node: Node) -> int:
    base, given = node.child_by_field_name("name"), node.child_by_field_name("type_arguments")
    if base is None:
        return 0
    args = given.named_children if given is not None else []
    text = on.text(base)
    if text in _SAME and args:
        return on.kind_of(args[0])
    build = on.build
    if text == "ReturnType" and args:
        called = on.kind_of(args[0])
        return build.expr(TYPE_OF, build.expr(CALL, build.expr(INSTANCE, called), -1)) if called else 0
    if text == "InstanceType" and args:
        inner = args[0]
        if inner.type == "type_query":
            return on.value(first(inner))
        return 0
    known = on.kind_of(base)
    kinds = [on.kind_of(one) for one in args]
    return build.expr(INDEX, known, build.cons(kinds)) if known and any(kinds) else known


def _predefined(on: Ecma, node: Node) -> int:
    text = on.text(node)
    return 0 if text in _NOTHING else on.build.named(text)


def _array(on: Ecma, node: Node) -> int:
    element = on.kind_of(first(node))
    build = on.build
    return build.expr(INDEX, build.named("Array"), build.cons((element,))) if element else build.named("Array")


def _tuple(on: Ecma, node: Node) -> int:
    kinds = []
    for child in node.named_children:
        inner: Node | None = child
        if child.type in ("required_parameter", "optional_parameter"):
            inner = first(child.child_by_field_name("type"))
        elif child.type in ("optional_type", "rest_type"):
            inner = first(child)
        kinds.append(on.kind_of(inner))
    return on.build.expr(TUPLE, on.build.cons(kinds)) if any(kinds) else on.build.named("Array")


def _union(on: Ecma, node: Node) -> int:
    parts: list[Node] = []
    pending = [node]
    while pending:
        one = pending.pop()
        if one.type == node.type:
            pending.extend(reversed(one.named_children))
        else:
            parts.append(one)
    return on.build.union(on.kind_of(one) for one in parts[:24] if one.type != "literal_type")


def _conditional(on: Ecma, node: Node) -> int:
    """Either of its branches: which one it is takes a type checker."""
    return on.build.union(on.kind_of(node.child_by_field_name(side)) for side in ("consequence", "alternative"))


def _inner(on: Ecma, node: Node) -> int:
    return on.kind_of(first(node))


def _literal(on: Ecma, node: Node) -> int:
    inner = first(node)
    kind = inner.type if inner is not None else ""
    if kind == "string":
        return on.build.named("string")
    if kind in ("number", "unary_expression"):
        return on.build.named("number")
    return on.build.named("boolean") if kind in ("true", "false") else 0


def _template(on: Ecma, node: Node) -> int:
    del node
    return on.build.named("string")


def _scoped(on: Ecma, node: Node) -> int:
    """A function's or an object's type: its scope."""
    scope = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, scope) if scope is not None else 0


def _query(on: Ecma, node: Node) -> int:
    known = on.value(first(node))
    return on.build.expr(TYPE_OF, known) if known else 0


def _this(on: Ecma, node: Node) -> int:
    del node
    return on.build.expr(CLASS)


def _lookup(on: Ecma, node: Node) -> int:
    """``T["x"]``: the type of a member; ``T[number]``: of an element."""
    base = on.kind_of(first(node))
    key = node.named_child(1) if node.named_child_count > 1 else None
    inner = first(key) if key is not None and key.type == "literal_type" else None
    if not base or key is None:
        return 0
    build = on.build
    if inner is not None and inner.type == "string":
        return build.expr(TYPE_OF, build.attr(build.expr(INSTANCE, base), on.text(inner)[1:-1]))
    if inner is not None and inner.type == "number":
        return build.expr(TYPE_OF, build.expr(ELEM, build.expr(INSTANCE, base), int(on.text(inner)) + 1))
    return build.expr(TYPE_OF, build.attr(build.expr(INSTANCE, base), "<index>"))


def _imported(on: Ecma, node: Node) -> int:
    """``import("x").Y``."""
    if node.type == "member_expression":
        name = node.child_by_field_name("property")
        return on.build.attr(on.kind_of(node.child_by_field_name("object")), on.text(name))
    number = on.requires.get(node.id, -1)
    return on.build.expr(IMPORT, number) if number >= 0 else 0


KINDS: dict[str, Callable[[Ecma, Node], int]] = {
    "type_identifier": _name,
    "identifier": _name,
    "nested_type_identifier": _nested,
    "nested_identifier": _dotted,
    "generic_type": _generic,
    "predefined_type": _predefined,
    "array_type": _array,
    "tuple_type": _tuple,
    "union_type": _union,
    "intersection_type": _union,
    "conditional_type": _conditional,
    "readonly_type": _inner,
    "parenthesized_type": _inner,
    "optional_type": _inner,
    "rest_type": _inner,
    "literal_type": _literal,
    "template_literal_type": _template,
    "function_type": _scoped,
    "constructor_type": _scoped,
    "object_type": _scoped,
    "type_query": _query,
    "this_type": _this,
    "lookup_type": _lookup,
    "member_expression": _imported,
    "call_expression": _imported,
}
