"""Kotlin's expressions and types. See the Kotlin language specification, "Expressions" and "Type system"."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import DEEPEST, Typed, arguments, inner, sole
from ombud.graph.facts import CALL, CLOSURE, INDEX, INSTANCE, SELF, SUPER, SYMBOL

if TYPE_CHECKING:
    from tree_sitter import Node

ARROW = "->"
"""The name of a function's type: its arguments are the receiver (or 0), the result, and the parameters."""
RECEIVER = 15
"""The number of the parameter that a closure's receiver counts as."""
_SPINE = 60
_ENTRIES = 6


def child(node: Node | None, *kinds: str) -> Node | None:
    """The first named child of one of these types."""
    if node is not None:
        for one in node.named_children:
            if one.type in kinds:
                return one
    return None


def last(node: Node | None) -> Node | None:
    """The last named child that is no comment."""
    parts = arguments(node)
    return parts[-1] if parts else None


TYPES = (
    *("user_type", "nullable_type", "function_type", "not_nullable_type", "parenthesized_type"),
    "parenthesized_user_type",
)


def _identifier(on: Typed, node: Node) -> int:
    return on.build.named(on.text(node))


def suffix_name(node: Node | None) -> Node | None:
    """The name in the last suffix of ``a.b``."""
    return child(last(node), "simple_identifier") if node is not None else None


def navigation(on: Typed, node: Node) -> int:
    """``a.b``, ``a?.b``, and ``a::b``, which is a call of any number of arguments."""
    build = on.build
    parts = arguments(node)
    if len(parts) < 2:
        return 0
    expr = on.value(parts[0])
    for part in parts[1:]:
        if part.type == "indexing_suffix":
            expr = build.expr(INDEX, expr) if expr else 0
            continue
        name = child(part, "simple_identifier")
        if name is None or not expr:
            return 0
        expr = build.attr(expr, on.text(name))
    head = parts[-1].child(0)
    if head is not None and head.type == "::" and expr:
        return build.expr(CALL, expr, -1)
    return expr


def given(node: Node | None) -> list[Node]:
    """The values that a call passes, the lambda behind it as the last."""
    found: list[Node] = []
    for part in arguments(node):
        if part.type == "value_arguments":
            found.extend(last(one) or one for one in arguments(part))
        elif part.type == "annotated_lambda":
            found.append(last(part) or part)
    return found


def call(on: Typed, node: Node) -> int:
    """``f(…)``, ``a.f<T>(…) { … }``."""
    parts = arguments(node)
    if len(parts) < 2 or parts[0].type not in ("simple_identifier", "navigation_expression"):
        return _invoked(on, parts)
    callee = on.value(parts[0])
    types = child(parts[1], "type_arguments")
    if callee and types is not None:
        callee = on.generic(callee, (kind_of(on, one) for one in arguments(types)))
    return on.call(callee, given(parts[1]))


def _invoked(on: Typed, parts: list[Node]) -> int:
    """A call of what another expression gives: ``f(1)(2)``."""
    if len(parts) < 2:
        return 0
    callee = on.value(parts[0])
    return on.build.expr(CALL, on.build.attr(callee, "invoke"), len(given(parts[1]))) if callee else 0


def infix(on: Typed, node: Node) -> int:
    """``a f b``."""
    parts = arguments(node)
    if len(parts) != 3:
        return 0
    return on.call(on.build.attr(on.value(parts[0]), on.text(parts[1])), [parts[2]])


def reference(on: Typed, node: Node) -> int:
    """What ``::f`` and ``A::f`` name: a call of any number of arguments; ``A::class`` is 0."""
    parts = arguments(node)
    build = on.build
    if not parts or parts[-1].type != "simple_identifier":
        kind = build.named(on.text(parts[0])) if parts else 0
        return on.literal("KClass", build.cons((kind,)) if kind else 0)
    callee = build.named(on.text(parts[-1]))
    if len(parts) > 1:
        callee = build.attr(build.dotted("".join(on.text(parts[0]).rstrip("?").split())), on.text(parts[-1]))
    return build.expr(CALL, callee, -1)


def _element(on: Typed, node: Node) -> int:
    known = on.value(first(node))
    return on.build.expr(INDEX, known) if known else 0


def _cast(on: Typed, node: Node) -> int:
    return on.instance(last(node))


def _elvis(on: Typed, node: Node) -> int:
    parts = arguments(node)
    return on.build.union(on.value(one) for one in (parts[0], parts[-1])) if len(parts) == 2 else 0


def _if(on: Typed, node: Node) -> int:
    sides = (node.child_by_field_name("consequence"), node.child_by_field_name("alternative"))
    return on.build.union(on.value(one) for one in sides)


def _when(on: Typed, node: Node) -> int:
    entries = [one for one in node.named_children if one.type == "when_entry"]
    return on.build.union(on.value(last(one)) for one in entries[:_ENTRIES])


def closing(on: Typed, node: Node) -> int:
    """What the last statement of a body gives."""
    body = last(node)
    return on.value(body) if body is not None else 0


def _object(on: Typed, node: Node) -> int:
    own = on.scopes.get(node.id)
    build = on.build
    return build.expr(INSTANCE, build.expr(SYMBOL, build.symbol_of(own))) if own is not None else 0


def _lambda(on: Typed, node: Node) -> int:
    own = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, own) if own is not None else 0


def _this(on: Typed, node: Node) -> int:
    label = child(node, "type_identifier", "simple_identifier")
    if label is None:
        return on.build.expr(SELF)
    return on.build.expr(INSTANCE, on.build.named(on.text(label)))


def _super(on: Typed, node: Node) -> int:
    kind = child(node, "user_type")
    if kind is not None:
        return on.instance(kind)
    return on.build.expr(SUPER) if not node.named_child_count else 0


def _integer(on: Typed, node: Node) -> int:
    return on.literal("Long" if on.source[node.end_byte - 1 : node.end_byte] == b"L" else "Int")


def _unary(on: Typed, node: Node) -> int:
    head = node.child(0)
    return on.literal("Boolean") if head is not None and head.type == "!" else on.value(last(node))


def _sum(on: Typed, node: Node) -> int:
    """A string where a sum begins with one."""
    here: Node | None = node
    for _ in range(_SPINE):
        if here is None or here.type != "additive_expression":
            break
        here = first(here)
    return on.literal("String") if here is not None and here.type == "string_literal" else 0


VALUES: dict[str, Callable[[Typed, Node], int]] = {
    "simple_identifier": _identifier,
    "navigation_expression": navigation,
    "directly_assignable_expression": navigation,
    "call_expression": call,
    "infix_expression": infix,
    "callable_reference": reference,
    "indexing_expression": _element,
    "parenthesized_expression": inner,
    "postfix_expression": inner,
    "spread_expression": inner,
    "prefix_expression": _unary,
    "as_expression": _cast,
    "elvis_expression": _elvis,
    "if_expression": _if,
    "when_expression": _when,
    "control_structure_body": closing,
    "statements": closing,
    "try_expression": inner,
    "object_literal": _object,
    "lambda_literal": _lambda,
    "anonymous_function": _lambda,
    "annotated_lambda": closing,
    "this_expression": _this,
    "super_expression": _super,
    "additive_expression": _sum,
    "check_expression": sole("Boolean"),
    "conjunction_expression": sole("Boolean"),
    "disjunction_expression": sole("Boolean"),
    "equality_expression": sole("Boolean"),
    "comparison_expression": sole("Boolean"),
    "boolean_literal": sole("Boolean"),
    "string_literal": sole("String"),
    "character_literal": sole("Char"),
    "null_literal": sole("null"),
    "integer_literal": _integer,
    "hex_literal": _integer,
    "bin_literal": _integer,
    "long_literal": sole("Long"),
    "real_literal": sole("Double"),
}


# -- types ------------------------------------------------------------------------------------------------------------


def kind_of(on: Typed, node: Node | None) -> int:
    """The expression of a type; 0 for none."""
    if node is None:
        return 0
    found = on.kinds.get(node.id)
    if found is None:
        how = _KINDS.get(node.type)
        on.depth += 1
        found = on.kinds[node.id] = how(on, node) if how is not None and on.depth <= DEEPEST else 0
        on.depth -= 1
    return found


def _user(on: Typed, node: Node) -> int:
    """``a.b.C<T>``: only the last arguments are kept."""
    expr = 0
    args: list[int] = []
    for part in node.named_children:
        if part.type == "type_identifier":
            text = on.text(part)
            expr = on.build.attr(expr, text) if expr else on.build.named(text)
            args = []
        elif part.type == "type_arguments":
            args = [kind_of(on, one) for one in arguments(part)]
    return on.generic(expr, args)


def bare(on: Typed, node: Node) -> tuple[int, Node | None]:
    """A user type without arguments, and the token that names it."""
    names = [one for one in node.named_children if one.type == "type_identifier"]
    if not names:
        return 0, None
    expr = on.build.named(on.text(names[0]))
    for one in names[1:]:
        expr = on.build.attr(expr, on.text(one))
    return expr, names[-1]


def _inner_type(on: Typed, node: Node) -> int:
    return kind_of(on, child(node, *TYPES))


def _function(on: Typed, node: Node) -> int:
    receiver = node.child_by_field_name("receiver")
    parameters = child(node, "function_type_parameters")
    kinds = [kind_of(on, one) for one in arguments(parameters)]
    return on.generic(on.build.named(ARROW), [kind_of(on, receiver), kind_of(on, last(node)), *kinds])


def _parameter(on: Typed, node: Node) -> int:
    return kind_of(on, last(node))


_KINDS: dict[str, Callable[[Typed, Node], int]] = {
    "user_type": _user,
    "nullable_type": _inner_type,
    "not_nullable_type": _inner_type,
    "parenthesized_type": _inner_type,
    "parenthesized_user_type": _inner_type,
    "receiver_type": _inner_type,
    "type_projection": _inner_type,
    "function_type": _function,
    "parameter": _parameter,
}
