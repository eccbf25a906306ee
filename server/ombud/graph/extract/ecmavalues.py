"""Expressions of JavaScript and TypeScript, lowered."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    AWAIT,
    CALL,
    CLASS,
    CLASS_SCOPE,
    CLOSURE,
    ELEM,
    GIVEN,
    IMPORT,
    INDEX,
    INSTANCE,
    LITERAL,
    NAME,
    SELF,
    SUPER,
    SYMBOL,
    TUPLE,
    TYPE_OF,
    UNWRAP,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma

MOST_ARGUMENTS = 6
"""Arguments that are looked at to find what a call gives."""


def _identifier(on: Ecma, node: Node) -> int:
    text = on.text(node)
    if text == "exports" and on.variable(on.inside.at(node.start_byte), text) < 0:
        return on.own_module()
    return 0 if text == "undefined" else on.build.expr(NAME, on.build.name(text))


def _member(on: Ecma, node: Node) -> int:
    base, name = node.child_by_field_name("object"), node.child_by_field_name("property")
    if base is None or name is None:
        return 0
    text = on.text(name)
    if text == "exports" and base.type == "identifier" and on.text(base) == "module":
        return on.own_module()
    known = on.value(base)
    if text == "constructor" and known:
        return on.build.expr(TYPE_OF, known)
    if text == "prototype" and known:
        return on.build.expr(INSTANCE, known)
    return on.build.attr(known, text)


def _call(on: Ecma, node: Node) -> int:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    build = on.build
    number = on.requires.get(node.id)
    if number is not None:
        brought = build.expr(IMPORT, number)
        if function is not None and function.type == "import":
            return build.expr(LITERAL, build.name("Promise"), build.cons((brought,)))
        return brought
    called = on.value(function)
    if not called:
        return 0
    types = node.child_by_field_name("type_arguments")
    if types is not None:
        kinds = [on.kind_of(one) for one in types.named_children]
        called = build.expr(INDEX, called, build.cons(kinds)) if any(kinds) else called
    return _applied(on, called, arguments)


def _applied(on: Ecma, called: int, arguments: Node | None) -> int:
    """A CALL, with its arguments where they may say what it gives."""
    build = on.build
    given = _arguments(arguments)
    count = -1 if any(one.type == "spread_element" for one in given) else len(given)
    call = build.expr(CALL, called, count)
    if not given or count < 0:
        return call
    values = [on.value(one) for one in given[:MOST_ARGUMENTS]]
    return build.expr(GIVEN, call, build.cons(values)) if any(values) else call


def _arguments(arguments: Node | None) -> list[Node]:
    if arguments is None or arguments.type != "arguments":
        return []
    return [one for one in arguments.named_children if one.type != "comment"]


def _new(on: Ecma, node: Node) -> int:
    named = node.child_by_field_name("constructor")
    build = on.build
    known = on.value(named)
    if not known:
        return 0
    types = node.child_by_field_name("type_arguments")
    if types is not None:
        kinds = [on.kind_of(one) for one in types.named_children]
        if any(kinds):
            return build.expr(INSTANCE, build.expr(INDEX, known, build.cons(kinds)))
    return _applied(on, build.attr(known, "<new>"), node.child_by_field_name("arguments"))


def _subscript(on: Ecma, node: Node) -> int:
    base, key = node.child_by_field_name("object"), node.child_by_field_name("index")
    known = on.value(base)
    if not known or key is None:
        return 0
    if key.type == "string":
        return on.build.attr(known, on.text(key)[1:-1])
    if key.type == "number":
        text = on.text(key)
        return on.build.expr(ELEM, known, int(text) + 1) if text.isdecimal() and len(text) < 4 else 0
    if key.type == "member_expression" and on.text(key).startswith("Symbol."):
        return on.build.attr(known, f"[{on.text(key)}]")
    return on.build.attr(known, f"[{on.text(key)}]" if key.type == "identifier" else "<index>")


def _await(on: Ecma, node: Node) -> int:
    known = on.value(first(node))
    return on.build.expr(AWAIT, known) if known else 0


def _inner(on: Ecma, node: Node) -> int:
    return on.value(first(node))


def _unwrap(on: Ecma, node: Node) -> int:
    known = on.value(first(node))
    return on.build.expr(UNWRAP, known) if known else 0


def _conditional(on: Ecma, node: Node) -> int:
    return on.build.union(on.value(node.child_by_field_name(side)) for side in ("consequence", "alternative"))


def _binary(on: Ecma, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    sign = operator.type if operator is not None else ""
    if sign in ("||", "??"):
        return on.build.union(on.value(node.child_by_field_name(side)) for side in ("left", "right"))
    if sign == "&&":
        return on.value(node.child_by_field_name("right"))
    if sign in ("===", "!==", "==", "!=", "<", ">", "<=", ">=", "instanceof", "in"):
        return on.build.expr(LITERAL, on.build.name("boolean"))
    if sign in ("-", "*", "/", "%", "**", "|", "&", "^", "<<", ">>", ">>>"):
        return on.build.expr(LITERAL, on.build.name("number"))
    return 0


def _assignment(on: Ecma, node: Node) -> int:
    return on.value(node.child_by_field_name("right"))


def _augmented(on: Ecma, node: Node) -> int:
    return on.build.union(on.value(node.child_by_field_name(side)) for side in ("left", "right"))


def _cast(on: Ecma, node: Node) -> int:
    kind = node.named_child(1) if node.named_child_count > 1 else None
    value = first(node)
    if kind is None or node.type == "satisfies_expression":
        return on.value(value)
    return on.instance(kind)


def _assertion(on: Ecma, node: Node) -> int:
    held = first(node)
    kind = first(held)
    return on.instance(kind)


def _literal(name: str) -> Callable[[Ecma, Node], int]:
    def made(on: Ecma, node: Node) -> int:
        del node
        return on.build.expr(LITERAL, on.build.name(name))

    return made


def _array(on: Ecma, node: Node) -> int:
    build = on.build
    parts = [one for one in node.named_children if one.type != "comment"]
    if len(parts) > 12:
        parts = parts[:2]
    parent = node.parent
    if parent is not None and parent.type == "as_expression" and on.text(parent).endswith("const"):
        return build.expr(TUPLE, build.cons(on.value(one) for one in parts))
    known = []
    for one in parts:
        if one.type == "spread_element":
            spread = on.value(first(one))
            known.append(build.expr(ELEM, spread) if spread else 0)
        else:
            known.append(on.value(one))
    if (
        1 < len(known) <= 4
        and len(set(known)) > 1
        and parent is not None
        and parent.type in (*("return_statement", "arrow_function", "array", "arguments"),)
    ):
        return build.expr(TUPLE, build.cons(known))
    element = build.union(known)
    return build.expr(LITERAL, build.name("Array"), build.cons((element,)) if element else 0)


def _object(on: Ecma, node: Node) -> int:
    scope = on.scopes.get(node.id)
    build = on.build
    return build.expr(CLOSURE, scope) if scope is not None else build.expr(LITERAL, build.name("Object"))


def _function(on: Ecma, node: Node) -> int:
    made = on.holder.get(node.id, -1)
    if made >= 0:
        return on.build.expr(SYMBOL, made)
    scope = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, scope) if scope is not None else 0


def _class(on: Ecma, node: Node) -> int:
    scope = on.scopes.get(node.id)
    return on.build.expr(SYMBOL, on.build.symbol_of(scope)) if scope is not None else 0


def _this(on: Ecma, node: Node) -> int:
    return this(on, on.inside.at(node.start_byte))


def this(on: Ecma, scope: int) -> int:
    """The expression of ``this`` in a scope."""
    build = on.build
    here, crossed = scope, False
    while here > 0:
        found = on.receivers.get(here)
        if found is not None:
            if found in (build.expr(SELF), build.expr(CLASS)) and crossed:
                return build.expr(WITHIN, here, found)
            return found
        if build.scope_kind(here) == CLASS_SCOPE:
            owner = on.owner(here)
            if owner >= 0 and build.symbols[owner].own == here and not on.is_object(here):
                return build.expr(WITHIN, here, build.expr(SELF)) if crossed else build.expr(SELF)
            crossed = True
        here = build.parent_scope(here)
    return 0


def _super(on: Ecma, node: Node) -> int:
    scope = on.receiver_scope(on.inside.at(node.start_byte))
    return on.build.expr(WITHIN, scope, on.build.expr(SUPER)) if scope >= 0 else on.build.expr(SUPER)


def _sequence(on: Ecma, node: Node) -> int:
    last = node.named_child(node.named_child_count - 1) if node.named_child_count else None
    return on.value(last)


def _instantiated(on: Ecma, node: Node) -> int:
    return on.value(first(node))


VALUES: dict[str, Callable[[Ecma, Node], int]] = {
    "identifier": _identifier,
    "shorthand_property_identifier": _identifier,
    "member_expression": _member,
    "nested_identifier": _member,
    "call_expression": _call,
    "new_expression": _new,
    "subscript_expression": _subscript,
    "await_expression": _await,
    "parenthesized_expression": _inner,
    "expression_statement": _inner,
    "jsx_expression": _inner,
    "non_null_expression": _unwrap,
    "ternary_expression": _conditional,
    "binary_expression": _binary,
    "assignment_expression": _assignment,
    "augmented_assignment_expression": _augmented,
    "as_expression": _cast,
    "satisfies_expression": _cast,
    "type_assertion": _assertion,
    "instantiation_expression": _instantiated,
    "string": _literal("string"),
    "template_string": _literal("string"),
    "number": _literal("number"),
    "true": _literal("boolean"),
    "false": _literal("boolean"),
    "regex": _literal("RegExp"),
    "array": _array,
    "object": _object,
    "arrow_function": _function,
    "function_expression": _function,
    "generator_function": _function,
    "class": _class,
    "this": _this,
    "super": _super,
    "sequence_expression": _sequence,
}
