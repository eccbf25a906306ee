"""Java's expressions and types. See the Java Language Specification, chapters 4 and 15."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import DEEPEST, Typed, arguments, inner, sole
from ombud.graph.facts import CALL, CLASS, CLOSURE, ELEM, INSTANCE, SELF, SUPER, SYMBOL, TYPE_OF

if TYPE_CHECKING:
    from tree_sitter import Node

_SPINE = 60
"""Operands of a long sum that are looked at."""
_BOOLEAN = {"&&", "||", "==", "!=", "<", ">", "<=", ">=", "instanceof"}
_BOXED = {"String": "String"}


def _identifier(on: Typed, node: Node) -> int:
    return on.build.named(on.text(node))


def _field(on: Typed, node: Node) -> int:
    base, name = node.child_by_field_name("object"), node.child_by_field_name("field")
    if base is None or name is None:
        return 0
    if name.type == "this":
        return on.build.expr(INSTANCE, as_type(on, base))
    return on.build.attr(on.value(base), on.text(name))


def _class(on: Typed, node: Node) -> int:
    kind = kind_of(on, first(node))
    return on.literal("Class", on.build.cons((kind,)) if kind else 0)


def invocation(on: Typed, node: Node) -> int:
    """The call of a method."""
    base, name = node.child_by_field_name("object"), node.child_by_field_name("name")
    if name is None:
        return 0
    text = on.text(name)
    callee = on.build.named(text) if base is None else on.build.attr(on.value(base), text)
    return on.call(callee, arguments(node.child_by_field_name("arguments")))


def creation(on: Typed, node: Node) -> int:
    """The call of a constructor by ``new``."""
    return on.call(_created(on, node), arguments(node.child_by_field_name("arguments")))


def _created(on: Typed, node: Node) -> int:
    """An INSTANCE of what is made; ``outer.new Inner()`` makes a member of ``outer``'s class."""
    kind = node.child_by_field_name("type")
    outer = first(node)
    if outer is not None and kind is not None and outer.id != kind.id and outer.end_byte < kind.start_byte:
        known = on.value(outer)
        if known and kind.type == "type_identifier":
            build = on.build
            return build.expr(INSTANCE, build.attr(build.expr(TYPE_OF, known), on.text(kind)))
    return on.instance(kind)


def _new(on: Typed, node: Node) -> int:
    own = on.scopes.get(node.id)
    if own is not None:
        build = on.build
        return build.expr(INSTANCE, build.expr(SYMBOL, build.symbol_of(own)))
    return _created(on, node)


def _new_array(on: Typed, node: Node) -> int:
    expr = kind_of(on, node.child_by_field_name("type"))
    for dimensions in node.children_by_field_name("dimensions"):
        for _ in range(on.text(dimensions).count("[")):
            expr = on.array(expr) if expr else 0
    return on.build.expr(INSTANCE, expr) if expr else 0


def reference(on: Typed, node: Node) -> int:
    """What ``A::b`` names: a CALL of any number of arguments."""
    build = on.build
    parts = arguments(node)
    if not parts or not node.child_count:
        return 0
    name = node.children[-1]
    if name.type == "new":
        kind = as_type(on, parts[0])
        return build.expr(CALL, build.expr(INSTANCE, kind), -1) if kind else 0
    base = on.value(parts[0]) if parts[0].type in VALUES else kind_of(on, parts[0])
    callee = build.attr(base, on.text(name))
    return build.expr(CALL, callee, -1) if callee else 0


def _element(on: Typed, node: Node) -> int:
    known = on.value(node.child_by_field_name("array"))
    return on.build.expr(ELEM, known) if known else 0


def _cast(on: Typed, node: Node) -> int:
    return on.instance(node.child_by_field_name("type"))


def _either(on: Typed, node: Node) -> int:
    sides = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
    return on.build.union(on.value(one) for one in sides)


def _assigned(on: Typed, node: Node) -> int:
    return on.value(node.child_by_field_name("right"))


def _binary(on: Typed, node: Node) -> int:
    """Whether the result is a boolean or a string; numbers are left alone."""
    operator = node.child_by_field_name("operator")
    if operator is None:
        return 0
    if operator.type in _BOOLEAN:
        return on.literal("boolean")
    if operator.type != "+":
        return 0
    here: Node | None = node
    for _ in range(_SPINE):
        if here is None or here.type != "binary_expression":
            break
        right = here.child_by_field_name("right")
        if right is not None and right.type == "string_literal":
            return on.literal("String")
        here = here.child_by_field_name("left")
    return on.literal("String") if here is not None and here.type == "string_literal" else 0


def _unary(on: Typed, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    if operator is not None and operator.type == "!":
        return on.literal("boolean")
    return on.value(node.child_by_field_name("operand"))


def _lambda(on: Typed, node: Node) -> int:
    own = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, own) if own is not None else 0


def _integer(on: Typed, node: Node) -> int:
    return on.literal("long" if on.source[node.end_byte - 1 : node.end_byte] in b"lL" else "int")


def _float(on: Typed, node: Node) -> int:
    return on.literal("float" if on.source[node.end_byte - 1 : node.end_byte] in b"fF" else "double")


def _this(on: Typed, node: Node) -> int:
    del node
    return on.build.expr(SELF)


def _super(on: Typed, node: Node) -> int:
    del node
    return on.build.expr(SUPER)


VALUES: dict[str, Callable[[Typed, Node], int]] = {
    "identifier": _identifier,
    "field_access": _field,
    "class_literal": _class,
    "method_invocation": invocation,
    "object_creation_expression": _new,
    "array_creation_expression": _new_array,
    "array_access": _element,
    "method_reference": reference,
    "parenthesized_expression": inner,
    "cast_expression": _cast,
    "ternary_expression": _either,
    "assignment_expression": _assigned,
    "binary_expression": _binary,
    "instanceof_expression": sole("boolean"),
    "unary_expression": _unary,
    "lambda_expression": _lambda,
    "this": _this,
    "super": _super,
    "string_literal": sole("String"),
    "character_literal": sole("char"),
    "true": sole("boolean"),
    "false": sole("boolean"),
    "null_literal": sole("null"),
    "decimal_integer_literal": _integer,
    "hex_integer_literal": _integer,
    "octal_integer_literal": _integer,
    "binary_integer_literal": _integer,
    "decimal_floating_point_literal": _float,
}


# -- types ------------------------------------------------------------------------------------------------------------


def as_type(on: Typed, node: Node) -> int:
    """A type that the grammar may have read as an expression: ``a.b.C``."""
    if node.type == "identifier":
        return on.build.named(on.text(node))
    if node.type in ("field_access", "scoped_identifier"):
        return on.build.dotted("".join(on.text(node).split()))
    return kind_of(on, node)


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
    return 0 if text == "var" else on.build.named(text)


def _primitive(on: Typed, node: Node) -> int:
    return on.build.named(on.text(node))


def _scoped(on: Typed, node: Node) -> int:
    """``a.b.C`` and ``A<T>.B``: the arguments of what is outside are dropped, and annotations."""
    parts = [one for one in node.named_children if not one.type.endswith("annotation")]
    if len(parts) != 2:
        return 0
    base = parts[0]
    if base.type == "generic_type":
        base = first(base) or base
    return on.build.attr(kind_of(on, base), on.text(parts[1]))


def _generic(on: Typed, node: Node) -> int:
    parts = arguments(node)
    if not parts:
        return 0
    args = [kind_of(on, one) for one in arguments(parts[-1])] if len(parts) > 1 else []
    return on.generic(kind_of(on, parts[0]), args)


def _array(on: Typed, node: Node) -> int:
    expr = kind_of(on, node.child_by_field_name("element"))
    dimensions = node.child_by_field_name("dimensions")
    for _ in range(min(on.text(dimensions).count("["), 8)):
        expr = on.array(expr) if expr else 0
    return expr


def _last(on: Typed, node: Node) -> int:
    parts = [one for one in arguments(node) if not one.type.endswith("annotation")]
    return kind_of(on, parts[-1]) if parts else 0


def _any(on: Typed, node: Node) -> int:
    return on.build.union(kind_of(on, one) for one in arguments(node))


_KINDS: dict[str, Callable[[Typed, Node], int]] = {
    "type_identifier": _name,
    "scoped_type_identifier": _scoped,
    "generic_type": _generic,
    "array_type": _array,
    "annotated_type": _last,
    "wildcard": _last,
    "catch_type": _any,
    "integral_type": _primitive,
    "floating_point_type": _primitive,
    "boolean_type": _primitive,
    "identifier": _name,
}


def lone(on: Typed) -> int:
    """The class around the scope, as a type."""
    return on.build.expr(CLASS)
