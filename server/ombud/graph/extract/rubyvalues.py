"""Ruby's expressions: what each kind of node gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    CALL,
    CLOSURE,
    CONSTRUCTOR,
    ELEM,
    GIVEN,
    INDEX,
    LITERAL,
    METHOD,
    PASSED,
    SUPER,
    TUPLE,
    TYPE_OF,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.rubynames import Names

MAIN, OF_CLASS, OF_INSTANCE = range(3)
"""What ``self`` is: the main object, a class or module, or an instance of it."""
SUPER_OF_CLASS = "<super>"
"""The name of ``super`` in a method of the class itself."""
SAME = frozenset(("freeze", "dup", "clone", "itself", "tap", "presence"))
"""Methods that give what they are called on, or a copy of it."""


def words(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


EACH = words(
    """
    all? any? collect collect_concat count cycle delete_if detect drop_while each each_entry each_pair
    each_with_index each_with_object filter filter_map find find_all find_each find_index flat_map
    group_by index_by index_with keep_if map map! map_with_index max_by min_by minmax_by none? one?
    partition reject reject! reverse_each select select! sort_by sort_by! sum take_while to_set uniq zip
    """
)
"""Methods that give each element of what they are called on to their block."""
PAIRED = frozenset(("each_with_index", "each_with_object", "map_with_index"))
"""Those whose block takes something else beside the element."""
HANDED = frozenset(("tap", "then", "yield_self"))
"""Methods that give their block what they are called on."""
MAPS = frozenset(("map", "collect", "flat_map", "filter_map", "map!"))
FEW = 8
"""Elements of a literal that are looked at."""
DEEP = 40


def identifiers(node: Node, depth: int = 0) -> Iterator[Node]:
    """The names in a destructuring parameter."""
    for child in node.named_children:
        if child.type == "identifier":
            yield child
        elif depth < DEEP:
            yield from identifiers(child, depth + 1)


def tails(node: Node, depth: int = 0) -> list[Node]:
    """The expressions that a body may end in, which are what it gives."""
    kind = node.type
    if depth > DEEP:
        return []
    if kind in _BODIES:
        children = [one for one in node.named_children if one.type not in _BESIDE]
        found = tails(children[-1], depth + 1) if children else []
        for one in node.named_children:
            if one.type in ("rescue", "else"):
                found += tails(one, depth + 1)
        return found
    if kind in _BRANCHES:
        parts = [node.child_by_field_name(name) for name in ("consequence", "alternative", "body")]
        return [tail for part in parts if part is not None for tail in tails(part, depth + 1)]
    if kind in ("case", "case_match"):
        return [
            tail
            for part in node.named_children
            if part.type in ("when", "in_clause", "else")
            for tail in tails(part, depth + 1)
        ]
    return [node]


_BODIES = frozenset(("body_statement", "block_body", "then", "else", "begin", "parenthesized_statements", "do"))
_BESIDE = frozenset(("rescue", "ensure", "else", "comment", "heredoc_body", "empty_statement"))
_BRANCHES = frozenset(("if", "unless", "elsif", "when", "in_clause", "rescue", "if_modifier", "unless_modifier"))


def _tails(on: Names, node: Node) -> int:
    return on.build.union(on.value(one) for one in tails(node) if one.id != node.id)


def _identifier(on: Names, node: Node) -> int:
    build = on.build
    text = on.text(node)
    start = node.start_byte
    scope = on.inside.at(start)
    if on.is_local(scope, text, start):
        return build.named(text)
    called = on.bare(scope, text)
    return build.expr(CALL, called, 0) if called else 0


def _constant(on: Names, node: Node) -> int:
    return on.build.named(on.text(node))


def _path(on: Names, node: Node) -> int:
    base, name = node.child_by_field_name("scope"), node.child_by_field_name("name")
    if name is None:
        return 0
    return on.build.attr(on.value(base) if base is not None else on.build.named("::"), on.text(name))


def _self(on: Names, node: Node) -> int:
    return on.self_of(on.inside.at(node.start_byte))


def _variable(on: Names, node: Node) -> int:
    return on.build.named(on.variable_name(on.inside.at(node.start_byte), on.text(node)))


def super_of(on: Names, scope: int) -> int:
    """The expression of the method above the one around a scope; 0 outside of methods of classes."""
    around = on.around[scope]
    if not around.symbol:
        return 0
    symbol = on.build.symbols[on.build.symbol_of(scope)]
    if symbol.parent != around.symbol or symbol.kind not in (METHOD, CONSTRUCTOR):
        return 0
    above = on.build.expr(SUPER) if around.level == OF_INSTANCE else on.build.named(SUPER_OF_CLASS)
    return on.build.attr(above, symbol.name)


def _super(on: Names, node: Node) -> int:
    found = super_of(on, on.inside.at(node.start_byte))
    return on.build.expr(CALL, found, -1) if found else 0


def called(on: Names, node: Node) -> int:
    """What a call calls; 0 where nothing is known of it."""
    method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
    if method is None:
        return on.build.attr(on.value(receiver), "call") if receiver is not None else 0
    if method.type == "super":
        return super_of(on, on.inside.at(method.start_byte))
    text = on.text(method)
    if receiver is None:
        return on.bare(on.inside.at(method.start_byte), text)
    return on.build.attr(on.value(receiver), text)


def _call(on: Names, node: Node) -> int:
    build = on.build
    method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
    block = node.child_by_field_name("block")
    text = on.text(method) if method is not None else ""
    if receiver is not None:
        if text in SAME:
            return on.value(receiver)
        if text == "class":
            known = on.value(receiver)
            return build.expr(TYPE_OF, known) if known else 0
    elif text in ("lambda", "proc") and block is not None:
        return on.value(block)
    elif text == "raise":
        return 0
    found = called(on, node)
    if not found:
        return 0
    arguments = node.child_by_field_name("arguments")
    found = build.expr(CALL, found, arguments.named_child_count if arguments is not None else 0)
    if block is not None and block.id in on.scopes and (text in MAPS or text in ("then", "yield_self")):
        return build.expr(GIVEN, found, build.expr(CLOSURE, on.scopes[block.id]))
    return found


def _block(on: Names, node: Node) -> int:
    scope = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, scope) if scope is not None else 0


def _item(on: Names, node: Node) -> int:
    known = on.value(node.child_by_field_name("object"))
    return on.build.expr(INDEX, known, 0) if known else 0


def _literal(name: str) -> Callable[[Names, Node], int]:
    def made(on: Names, node: Node) -> int:
        del node
        return on.build.expr(LITERAL, on.build.name(name))

    return made


def _array(on: Names, node: Node) -> int:
    build = on.build
    known = build.union(on.value(one) for one in node.named_children[:FEW])
    return build.expr(LITERAL, build.name("Array"), build.cons((known,)) if known else 0)


def _values(on: Names, node: Node) -> int:
    build = on.build
    return build.expr(TUPLE, build.cons(on.value(one) for one in node.named_children))


def _hash(on: Names, node: Node) -> int:
    build = on.build
    pairs = [one for one in node.named_children[:FEW] if one.type == "pair"]
    parts = [build.union(on.value(one.child_by_field_name(name)) for one in pairs) for name in ("key", "value")]
    return build.expr(LITERAL, build.name("Hash"), build.cons(parts) if any(parts) else 0)


def _inner(on: Names, node: Node) -> int:
    return on.value(first(node))


def _assigned(on: Names, node: Node) -> int:
    return on.value(node.child_by_field_name("right"))


def _either(on: Names, node: Node) -> int:
    build = on.build
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    return build.union((on.value(left), on.value(right)))


def _conditional(on: Names, node: Node) -> int:
    parts = [node.child_by_field_name(name) for name in ("consequence", "alternative")]
    return on.build.union(on.value(one) for one in parts)


def _binary(on: Names, node: Node) -> int:
    """``a || b``; what an operator of a class of ours gives."""
    left, right, operator = (node.child_by_field_name(name) for name in ("left", "right", "operator"))
    if left is None or right is None or operator is None:
        return 0
    sign = operator.type
    if sign in ("||", "or"):
        return on.build.union((on.value(left), on.value(right)))
    if sign in ("&&", "and"):
        return on.value(right)
    if sign in ("==", "!=", "<", ">", "<=", ">=", "=~", "!~", "==="):
        return 0
    known = on.value(left)
    return on.build.expr(CALL, on.build.attr(known, sign), 1) if known else 0


def _rescued(on: Names, node: Node) -> int:
    return on.build.union(on.value(node.child_by_field_name(name)) for name in ("body", "handler"))


VALUES: dict[str, Callable[[Names, Node], int]] = {
    "identifier": _identifier,
    "constant": _constant,
    "scope_resolution": _path,
    "self": _self,
    "instance_variable": _variable,
    "class_variable": _variable,
    "global_variable": _variable,
    "super": _super,
    "call": _call,
    "lambda": _block,
    "block": _block,
    "do_block": _block,
    "element_reference": _item,
    "array": _array,
    "right_assignment_list": _values,
    "hash": _hash,
    "assignment": _assigned,
    "operator_assignment": _either,
    "conditional": _conditional,
    "binary": _binary,
    "rescue_modifier": _rescued,
    "block_argument": _inner,
    **dict.fromkeys(("string", "heredoc_beginning", "chained_string", "subshell", "character"), _literal("String")),
    **dict.fromkeys(("simple_symbol", "delimited_symbol", "hash_key_symbol"), _literal("Symbol")),
    "string_array": _literal("Array"),
    "symbol_array": _literal("Array"),
    "integer": _literal("Integer"),
    "float": _literal("Float"),
    "regex": _literal("Regexp"),
    "range": _literal("Range"),
    "true": _literal("TrueClass"),
    "false": _literal("FalseClass"),
    **dict.fromkeys(
        ("if", "unless", "if_modifier", "unless_modifier", "case", "case_match", "begin", "parenthesized_statements"),
        _tails,
    ),
    **dict.fromkeys(("then", "else", "body_statement", "block_body"), _tails),
}


def given(on: Names, parameters: Node) -> Callable[[int], int] | None:
    """What the parameters of a block are, by their place; None where nothing is known of the call it is passed to."""
    block = parameters.parent
    call = block.parent if block is not None else None
    if call is None or call.type != "call":
        return None
    build = on.build
    method = call.child_by_field_name("method")
    text = on.text(method) if method is not None else ""
    receiver = call.child_by_field_name("receiver")
    several = parameters.named_child_count > 1
    if text in HANDED and receiver is not None:
        known = on.value(receiver)
        return lambda place: known if not place else 0
    if text in EACH and receiver is not None:
        known = on.value(receiver)
        if not known:
            return None
        element = build.expr(ELEM, known)
        if text in PAIRED:
            return lambda place: element if not place else 0
        handed = called(on, call)

        def part(place: int) -> int:
            return build.union((build.expr(ELEM, element, place + 1), build.expr(PASSED, handed, min(place, 14))))

        return part if several else lambda place: element if not place else 0
    found = called(on, call)
    return (lambda place: build.expr(PASSED, found, min(place, 14))) if found else None
