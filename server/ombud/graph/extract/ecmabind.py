"""JavaScript's and TypeScript's bindings: variables, patterns, what is assigned, and what tests say of a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract import ecmadefine, ecmafunctions, ecmaimports
from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    DECLARED,
    ELEM,
    FUNCTION,
    GIVEN,
    INDEX,
    INSTANCE,
    METHOD,
    NARROWED,
    VALUE,
    Export,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.ecma import Ecma

_GUARD = re.compile(r"(?:is|has|assert|check|ensure)[A-Z_]\w*$")
PATTERNS = 50
"""How deep patterns are followed."""
CONDITIONS = 20
"""How many conditions around a test are looked at."""
_LEAVING = {"return_statement", "throw_statement", "continue_statement", "break_statement"}


def bind(on: Ecma) -> None:
    """All that is bound; then what is exported."""
    for node in on.ordered("import"):
        ecmaimports.read(on, node)
    for node in on.ordered("alias"):
        ecmaimports.import_alias(on, node)
    _declared(on)
    ecmafunctions.own_fields(on)
    for node in on.ordered("assign"):
        _assign(on, node)
    for node in on.ordered("test"):
        _instance_test(on, node)
    for node in on.ordered("export"):
        ecmaimports.export(on, node)
    for name, given in on.late_exports:
        on.build.exports.append(Export(name, on.value(given)))
        on.exported.update(ecmaimports.listed(on, given))
    if on.assigned:
        # Without a list: only that this is a CommonJS module.
        on.build.all = []
    ecmaimports.mark_exported(on)


def _declared(on: Ecma) -> None:
    """What declarations and object literals bind, in the order that the engine reads it in."""
    build = on.build
    for symbol, value in on.aliases:
        if value.type != "object_type":
            build.symbols[symbol].value = on.kind_of(value)
    for scope, name, kind in on.members:
        if known := on.kind_of(kind):
            build.bind(scope, name, DECLARED, build.expr(INSTANCE, known))
    for symbol, node in on.variables:
        _variable(on, symbol, node)
    for node, scope in on.locals:
        _local(on, node, scope)
    for scope, name, value in on.pairs:
        if known := on.value(value):
            build.bind(scope, name, VALUE, known)
    for node, scope in on.objects:
        _object(on, node, scope)


# -- variables --------------------------------------------------------------------------------------------------------


def _variable(on: Ecma, number: int, node: Node) -> None:
    """Type and value of a variable or a field that is a symbol."""
    build = on.build
    symbol = build.symbols[number]
    hint = first(node.child_by_field_name("type"))
    right = node.child_by_field_name("value") or node.child_by_field_name("right")
    kind = on.kind_of(hint)
    if symbol.kind in (FUNCTION, METHOD):
        if kind:
            symbol.returns.append(build.attr(build.expr(INSTANCE, kind), "<return>"))
        return
    if kind and not symbol.type:
        symbol.type = kind
    elif not kind and not symbol.value:
        symbol.value = on.value(right)
    if hint is not None:
        on.typed.add((symbol.scope, symbol.name))


def _local(on: Ecma, node: Node, scope: int) -> None:
    """A declaration in a function, or one whose names are no symbols; the head of a loop."""
    build = on.build
    if node.type == "for_in_statement":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = node.child_by_field_name("operator")
        if left is not None and right is not None:
            known = on.value(right) if operator is None or operator.type != "in" else 0
            pattern(on, left, build.expr(ELEM, known) if known else 0, scope)
        return
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None:
        return
    inner = ecmadefine.bare(value)
    if inner is not None and on.requires.get(inner.id, -1) >= 0 and ecmadefine.requires(on, inner):
        ecmaimports.require(on, name, on.requires[inner.id], scope)
        return
    hint = first(node.child_by_field_name("type"))
    if hint is not None:
        if name.type == "identifier":
            on.used.add(name.start_byte)
            on.typed.add((scope, on.text(name)))
            build.bind(scope, on.text(name), DECLARED, on.instance(hint))
        else:
            pattern(on, name, on.instance(hint), scope)
        return
    known = on.value(value)
    if scope != on.inside.at(node.start_byte):
        known = on.within(on.inside.at(node.start_byte), known)
    if name.type == "identifier" and not known and value is None:
        # Declared here, given its value later.
        on.used.add(name.start_byte)
        build.bind(scope, on.text(name), VALUE, 0, node.end_byte, node.end_byte)
        return
    pattern(on, name, known, scope)


def pattern(on: Ecma, node: Node, expr: int, scope: int, start: int = 0, end: int = 0) -> None:
    """Bind all names of a pattern, for uses from ``start``; what is nested deeper than a person writes is left out."""
    kind = node.type
    if on.nested > PATTERNS:
        return
    on.nested += 1
    if kind in ("identifier", "shorthand_property_identifier_pattern"):
        _name(on, node, expr, scope, start, end)
    elif kind == "object_pattern":
        for child in node.named_children:
            property_of(on, child, expr, scope, start, end)
    elif kind == "array_pattern":
        _items(on, node, expr, scope, start, end)
    elif kind == "assignment_pattern":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None:
            pattern(on, left, expr or on.value(right), scope, start, end)
    elif kind == "rest_pattern" and (inner := first(node)) is not None:
        pattern(on, inner, expr, scope, start, end)
    on.nested -= 1


def _items(on: Ecma, node: Node, expr: int, scope: int, start: int, end: int) -> None:
    """The parts of an array pattern, which may leave some out."""
    place = 1
    for child in node.children:
        if child.type == ",":
            place += 1
        elif child.is_named:
            whole = child.type == "rest_pattern" or not expr
            pattern(on, child, expr if whole else on.build.expr(ELEM, expr, place), scope, start, end)


def _name(on: Ecma, node: Node, expr: int, scope: int, start: int, end: int) -> None:
    """A name in a pattern: declared there, or assigned to where it has been declared (``start`` is not 0)."""
    text = on.text(node)
    if start:
        where = on.variable(scope, text)
        if where >= 0 and (where, text) not in on.typed:
            on.build.bind(where, text, VALUE, on.within(scope, expr) if where != scope else expr, start, end)
        return
    on.used.add(node.start_byte)
    if (scope, text) in on.symbol_at:
        symbol = on.build.symbols[on.symbol_at[scope, text]]
        symbol.value = symbol.value or expr
        return
    on.declared.setdefault(scope, set()).add(text)
    on.build.bind(scope, text, VALUE, expr, start, end)


def property_of(on: Ecma, node: Node, expr: int, scope: int, start: int, end: int) -> None:
    """One part of an object pattern."""
    build = on.build
    if node.type == "shorthand_property_identifier_pattern":
        pattern(on, node, build.attr(expr, on.text(node)), scope, start, end)
    elif node.type == "pair_pattern":
        key, value = node.child_by_field_name("key"), node.child_by_field_name("value")
        name = ecmadefine.named(on, key)
        if value is not None:
            pattern(on, value, build.attr(expr, name) if name else 0, scope, start, end)
    elif node.type == "object_assignment_pattern":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None:
            pattern(on, left, build.attr(expr, on.text(left)) or on.value(right), scope, start, end)
    elif node.type == "rest_pattern":
        pattern(on, node, expr, scope, start, end)


def _object(on: Ecma, node: Node, scope: int) -> None:
    """What stands in an object literal by its name alone, and what is spread in it."""
    build = on.build
    for child in node.named_children:
        if child.type == "shorthand_property_identifier":
            build.bind(scope, on.text(child), VALUE, on.value(child))
        elif child.type == "spread_element" and (known := on.value(first(child))):
            build.bind(scope, "<...>", VALUE, known)


def _assign(on: Ecma, node: Node) -> None:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or left.type not in ("identifier", "object_pattern", "array_pattern"):
        return
    end = on.branches.at(node.start_byte)
    pattern(on, left, on.value(right), on.inside.at(node.start_byte), node.end_byte, end)


# -- tests ------------------------------------------------------------------------------------------------------------


def _instance_test(on: Ecma, node: Node) -> None:
    if node.type != "binary_expression":
        return
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None or left.type != "identifier":
        return
    known = on.value(right)
    if known:
        narrow(on, node, left, on.build.expr(INSTANCE, known))


def guard(on: Ecma, node: Node, function: Node) -> None:
    """``if (isX(x))``: what the guard's declaration says."""
    name = function.child_by_field_name("property") if function.type == "member_expression" else function
    if name is None or not _GUARD.match(on.text(name)):
        return
    argument = first(node.child_by_field_name("arguments"))
    if argument is None or argument.type != "identifier":
        return
    known = on.build.attr(on.value(function), "<is>")
    if known:
        narrow(on, node, argument, known)


def narrow(on: Ecma, test: Node, name: Node, known: int) -> None:
    """Bind a name where a test holds: in the rest of a condition, in its branch, or behind a branch that leaves."""
    holds = True
    node, parent = test, test.parent
    end = test.end_byte
    for _ in range(CONDITIONS):
        if parent is None:
            return
        if parent.type == "unary_expression" and on.source[parent.start_byte : parent.start_byte + 1] == b"!":
            holds = not holds
        elif parent.type == "binary_expression":
            operator = parent.child_by_field_name("operator")
            if operator is None or operator.type != ("&&" if holds else "||"):
                break
            end = parent.end_byte
        elif parent.type != "parenthesized_expression":
            break
        node, parent = parent, parent.parent
    scope = on.inside.at(test.start_byte)
    text = on.text(name)
    build = on.build
    if parent is None:
        return
    if parent.type == "expression_statement" and test.type == "call_expression" and parent.parent is not None:
        build.bind(scope, text, NARROWED, known, parent.end_byte, parent.parent.end_byte)
        return
    if parent.type in ("if_statement", "ternary_expression", "while_statement"):
        condition = parent.child_by_field_name("condition")
        if condition is not None and condition.id == node.id:
            _branches(on, parent, (scope, text, known), holds)
    if end > test.end_byte:
        build.bind(scope, text, NARROWED, known, test.end_byte, end)


def _branches(on: Ecma, node: Node, what: tuple[int, str, int], holds: bool) -> None:
    build = on.build
    scope, text, known = what
    consequence = node.child_by_field_name("consequence") or node.child_by_field_name("body")
    alternative = node.child_by_field_name("alternative")
    branch = consequence if holds else alternative
    if branch is not None:
        build.bind(scope, text, NARROWED, known, branch.start_byte, branch.end_byte)
    if holds or node.type != "if_statement" or consequence is None or node.parent is None:
        return
    last = consequence
    if consequence.type == "statement_block" and consequence.named_child_count:
        last = consequence.named_children[-1]
    if last.type in _LEAVING:
        build.bind(scope, text, NARROWED, known, node.end_byte, node.parent.end_byte)


# -- what is expected -------------------------------------------------------------------------------------------------


def context(on: Ecma, node: Node, depth: int = 0) -> int:
    """What the place where a function or an object stands expects there, 0 where nothing is known of it."""
    parent = node.parent
    build = on.build
    if parent is None or depth > 8:
        return 0
    kind = parent.type
    if kind in ("variable_declarator", "public_field_definition"):
        return on.instance(first(parent.child_by_field_name("type")))
    if kind == "arguments":
        return _argument(on, node, parent)
    if kind == "pair":
        name, holder = ecmadefine.named(on, parent.child_by_field_name("key")), parent.parent
        return build.attr(context(on, holder, depth + 1), name) if holder is not None and name else 0
    if kind == "object" and node.type == "method_definition":
        name = ecmadefine.named(on, node.child_by_field_name("name"))
        return build.attr(context(on, parent, depth + 1), name) if name else 0
    if kind in ("parenthesized_expression", "ternary_expression", "binary_expression", "spread_element"):
        return context(on, parent, depth + 1)
    if kind in ("as_expression", "satisfies_expression"):
        return on.instance(parent.named_child(1) if parent.named_child_count > 1 else None)
    if kind == "assignment_expression":
        left = parent.child_by_field_name("left")
        return on.value(left) if left is not None and left.id != node.id else 0
    if kind in ("return_statement", "arrow_function"):
        return _given_back(on, parent, depth)
    if kind == "array":
        known = context(on, parent, depth + 1)
        return build.expr(ELEM, known) if known else 0
    if kind in ("required_parameter", "optional_parameter"):
        return on.instance(first(parent.child_by_field_name("type")))
    return 0


def _argument(on: Ecma, node: Node, arguments: Node) -> int:
    call = arguments.parent
    if call is None:
        return 0
    function = call.child_by_field_name("function") or call.child_by_field_name("constructor")
    given = [one for one in arguments.named_children if one.type != "comment"]
    place = next((number for number, one in enumerate(given) if one.id == node.id), -1)
    known = on.value(function)
    if not known or place < 0:
        return 0
    build = on.build
    types = call.child_by_field_name("type_arguments")
    if types is not None:
        kinds = [on.kind_of(one) for one in types.named_children]
        known = build.expr(INDEX, known, build.cons(kinds)) if any(kinds) else known
    elif place and any(values := [on.value(one) for one in given[:place] if one.type != "spread_element"]):
        known = build.expr(GIVEN, known, build.cons(values))
    if call.type == "new_expression":
        known = build.attr(known, "<new>")
    return build.attr(known, f"<{place}>")


def _given_back(on: Ecma, parent: Node, depth: int) -> int:
    """What the function around a ``return`` is said to give."""
    build = on.build
    holder: Node | None = parent
    if parent.type == "return_statement":
        scope = on.function_of(on.inside.at(parent.start_byte))
        holder = on.openers.get(scope)
    if holder is None:
        return 0
    result = holder.child_by_field_name("return_type")
    if result is not None:
        return on.instance(first(result)) if result.type == "type_annotation" else 0
    return build.attr(context(on, holder, depth + 1), "<return>")
