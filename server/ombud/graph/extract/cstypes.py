"""C#'s expressions and types. See the C# language specification, chapters 8 and 12."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import DEEPEST, Typed, arguments, inner, sole
from ombud.graph.facts import AWAIT, CLOSURE, INDEX, INSTANCE, SELF, SUPER, TUPLE

if TYPE_CHECKING:
    from tree_sitter import Node

_SPINE = 60
"""Operands of a long sum that are looked at."""
_BOOLEAN = {"&&", "||", "==", "!=", "<", ">", "<=", ">="}
_ARMS = 6


def child(node: Node, kind: str) -> Node | None:
    """The first child of that type."""
    for one in node.named_children:
        if one.type == kind:
            return one
    return None


def _identifier(on: Typed, node: Node) -> int:
    return on.build.named(on.text(node))


def _generic_value(on: Typed, node: Node) -> int:
    """``F<T>`` where a value may stand: a class, or a method with its type arguments."""
    return kind_of(on, node)


def name_of(node: Node) -> Node:
    """The token that names: of ``F<T>``, of ``a.b.C``, of ``a::b``."""
    while node.type in ("generic_name", "qualified_name", "alias_qualified_name", "nullable_type", "array_type"):
        inside = node.child_by_field_name("name") or node.child_by_field_name("type") or first(node)
        if inside is None:
            return node
        node = inside
    return node


def _with_args(on: Typed, base: int, name: Node) -> int:
    """A member of ``base``, with type arguments where they are written."""
    if name.type != "generic_name":
        return on.build.attr(base, on.text(name))
    found = on.build.attr(base, on.text(first(name)))
    return on.generic(found, _args(on, name))


def _args(on: Typed, name: Node) -> list[int]:
    return [kind_of(on, one) for one in arguments(name.named_child(1))] if name.named_child_count > 1 else []


def member(on: Typed, node: Node) -> int:
    """``a.b``."""
    base, name = node.child_by_field_name("expression"), node.child_by_field_name("name")
    return _with_args(on, on.value(base), name) if base is not None and name is not None else 0


def _conditional(on: Typed, node: Node) -> int:
    """``a?.b`` and ``a?[b]``."""
    parts = arguments(node)
    known = on.value(node.child_by_field_name("condition"))
    if not known or not parts:
        return 0
    last = parts[-1]
    if last.type == "element_binding_expression":
        return on.build.expr(INDEX, known)
    name = last.child_by_field_name("name") if last.type == "member_binding_expression" else None
    return _with_args(on, known, name) if name is not None else 0


def given(node: Node | None) -> list[Node]:
    """The values of an argument list: of ``x: 1`` and ``out var y`` the last part."""
    found = []
    for one in arguments(node):
        last = one.named_child(one.named_child_count - 1) if one.named_child_count else None
        found.append(last or one)
    return found


def _invocation(on: Typed, node: Node) -> int:
    function, args = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or function.type not in _CALLED:
        return 0
    return on.call(on.value(function), given(args))


_CALLED = {"identifier", "generic_name", "member_access_expression", "conditional_access_expression"}


def creation(on: Typed, node: Node) -> int:
    """The call of a constructor by ``new T(…)``."""
    return on.call(on.instance(node.child_by_field_name("type")), given(node.child_by_field_name("arguments")))


def _new(on: Typed, node: Node) -> int:
    return on.instance(node.child_by_field_name("type"))


def target(on: Typed, node: Node) -> int:
    """An INSTANCE of the type of what ``new(…)`` or a lambda is given to; 0 where that is not declared near by."""
    parent = node.parent
    if parent is None:
        return 0
    if parent.type == "variable_declarator":
        declaration = parent.parent
        return on.instance(declaration.child_by_field_name("type")) if declaration is not None else 0
    if parent.type == "property_declaration":
        return on.instance(parent.child_by_field_name("type"))
    if parent.type in ("cast_expression", "array_creation_expression"):
        return on.instance(parent.child_by_field_name("type"))
    if parent.type == "assignment_expression":
        return on.value(parent.child_by_field_name("left"))
    if parent.type in ("return_statement", "arrow_expression_clause"):
        symbol = on.build.symbols[on.build.symbol_of(on.inside.at(parent.start_byte))]
        return on.build.expr(INSTANCE, symbol.type) if symbol.type else 0
    if parent.type in ("conditional_expression", "parenthesized_expression"):
        return target(on, parent)
    return 0


def _element(on: Typed, node: Node) -> int:
    known = on.value(node.child_by_field_name("expression"))
    return on.build.expr(INDEX, known) if known else 0


def _typed(on: Typed, node: Node) -> int:
    return on.instance(node.child_by_field_name("type") or node.child_by_field_name("right"))


def _either(on: Typed, node: Node) -> int:
    sides = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
    return on.build.union(on.value(one) for one in sides)


def _assigned(on: Typed, node: Node) -> int:
    return on.value(node.child_by_field_name("right"))


def _binary(on: Typed, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    if operator is None:
        return 0
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if operator.type == "??":
        return on.build.union((on.value(left), on.value(right)))
    if operator.type in _BOOLEAN:
        return on.literal("bool")
    if operator.type != "+":
        return 0
    here: Node | None = node
    for _ in range(_SPINE):
        if here is None or here.type != "binary_expression":
            break
        right = here.child_by_field_name("right")
        if right is not None and "string" in right.type:
            return on.literal("string")
        here = here.child_by_field_name("left")
    return on.literal("string") if here is not None and "string" in here.type else 0


def _arms(on: Typed, node: Node) -> int:
    """What the arms of a switch expression give."""
    arms = [one for one in node.named_children if one.type == "switch_expression_arm"]
    parts = (arm.named_child(arm.named_child_count - 1) for arm in arms[:_ARMS])
    return on.build.union(on.value(part) for part in parts)


def _await(on: Typed, node: Node) -> int:
    known = on.value(first(node))
    return on.build.expr(AWAIT, known) if known else 0


def _tuple(on: Typed, node: Node) -> int:
    parts = [on.value(one) for one in given(node)]
    return on.build.expr(TUPLE, on.build.cons(parts)) if any(parts) else 0


def _lambda(on: Typed, node: Node) -> int:
    own = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, own) if own is not None else 0


def _array(on: Typed, node: Node) -> int:
    body = next((one for one in node.named_children if one.type == "initializer_expression"), None)
    head = first(body)
    kind = kind_of(on, head.child_by_field_name("type")) if head is not None else 0
    return on.build.expr(INSTANCE, on.array(kind)) if kind else 0


def _unary(on: Typed, node: Node) -> int:
    head = node.child(0)
    return on.literal("bool") if head is not None and head.type == "!" else on.value(first(node))


def _integer(on: Typed, node: Node) -> int:
    return on.literal("long" if on.source[node.end_byte - 1 : node.end_byte] in b"lL" else "int")


def _this(on: Typed, node: Node) -> int:
    del node
    return on.build.expr(SELF)


def _base(on: Typed, node: Node) -> int:
    del node
    return on.build.expr(SUPER)


def _type_object(on: Typed, node: Node) -> int:
    kind = kind_of(on, node.child_by_field_name("type"))
    return on.literal("Type", on.build.cons((kind,)) if kind else 0)


def _alias_value(on: Typed, node: Node) -> int:
    return on.value(node.child_by_field_name("name"))


VALUES: dict[str, Callable[[Typed, Node], int]] = {
    "identifier": _identifier,
    "generic_name": _generic_value,
    "alias_qualified_name": _alias_value,
    "member_access_expression": member,
    "conditional_access_expression": _conditional,
    "invocation_expression": _invocation,
    "object_creation_expression": _new,
    "implicit_object_creation_expression": target,
    "element_access_expression": _element,
    "parenthesized_expression": inner,
    "postfix_unary_expression": inner,
    "prefix_unary_expression": _unary,
    "checked_expression": inner,
    "cast_expression": _typed,
    "as_expression": _typed,
    "default_expression": _typed,
    "array_creation_expression": _typed,
    "declaration_expression": _typed,
    "implicit_array_creation_expression": _array,
    "conditional_expression": _either,
    "assignment_expression": _assigned,
    "binary_expression": _binary,
    "switch_expression": _arms,
    "with_expression": inner,
    "await_expression": _await,
    "tuple_expression": _tuple,
    "lambda_expression": _lambda,
    "anonymous_method_expression": _lambda,
    "this": _this,
    "base": _base,
    "typeof_expression": _type_object,
    "is_expression": sole("bool"),
    "is_pattern_expression": sole("bool"),
    "boolean_literal": sole("bool"),
    "string_literal": sole("string"),
    "verbatim_string_literal": sole("string"),
    "raw_string_literal": sole("string"),
    "interpolated_string_expression": sole("string"),
    "character_literal": sole("char"),
    "null_literal": sole("null"),
    "integer_literal": _integer,
    "real_literal": sole("double"),
}


# -- types ------------------------------------------------------------------------------------------------------------


def kind_of(on: Typed, node: Node | None) -> int:
    """The expression of a type; 0 for ``var`` and ``void``."""
    if node is None:
        return 0
    found = on.kinds.get(node.id)
    if found is None:
        how = _KINDS.get(node.type)
        on.depth += 1
        found = on.kinds[node.id] = how(on, node) if how is not None and on.depth <= DEEPEST else 0
        on.depth -= 1
    return found


def _name(on: Typed, node: Node) -> int:
    text = on.text(node)
    return 0 if text in ("void", "dynamic") else on.build.named(text)


def _qualified(on: Typed, node: Node) -> int:
    """``a.b.C<T>``: the arguments of what is outside are dropped."""
    base, name = node.child_by_field_name("qualifier"), node.child_by_field_name("name")
    if base is None or name is None:
        return 0
    if base.type == "generic_name":
        base = first(base) or base
    return _with_args(on, kind_of(on, base), name)


def _generic(on: Typed, node: Node) -> int:
    name = first(node)
    return on.generic(kind_of(on, name), _args(on, node)) if name is not None else 0


def _member_type(on: Typed, node: Node) -> int:
    return kind_of(on, node.child_by_field_name("type") or first(node))


def _array_type(on: Typed, node: Node) -> int:
    kind = kind_of(on, node.child_by_field_name("type"))
    return on.array(kind) if kind else 0


def _tuple_type(on: Typed, node: Node) -> int:
    parts = [kind_of(on, one.child_by_field_name("type")) for one in node.named_children if one.type == "tuple_element"]
    return on.build.expr(TUPLE, on.build.cons(parts)) if any(parts) else 0


def _alias(on: Typed, node: Node) -> int:
    return kind_of(on, node.child_by_field_name("name"))


_KINDS: dict[str, Callable[[Typed, Node], int]] = {
    "identifier": _name,
    "predefined_type": _name,
    "generic_name": _generic,
    "qualified_name": _qualified,
    "alias_qualified_name": _alias,
    "nullable_type": _member_type,
    "pointer_type": _member_type,
    "ref_type": _member_type,
    "scoped_type": _member_type,
    "array_type": _array_type,
    "tuple_type": _tuple_type,
    "primary_constructor_base_type": _member_type,
}


def constructed(on: Typed, kind: int, args: list[Node]) -> int:
    """A CALL of the constructor of a type expression."""
    return on.call(on.build.expr(INSTANCE, kind), args) if kind else 0
