"""Python's expressions and annotations, and what tests say of a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.facts import (
    AWAIT,
    CALL,
    CLASS,
    CLOSURE,
    INDEX,
    INSTANCE,
    LITERAL,
    NAME,
    NARROWED,
    REFERENCE_SITE,
    SUPER,
    TUPLE,
    TYPE_OF,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.pybind import Bindings

_LEAVING = {"return_statement", "raise_statement", "continue_statement", "break_statement"}
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


# -- values -----------------------------------------------------------------------------------------------------------


def _identifier(on: Bindings, node: Node) -> int:
    build = on.build
    return build.expr(NAME, build.name(on.text(node)))


def _attribute(on: Bindings, node: Node) -> int:
    base, name = node.child_by_field_name("object"), node.child_by_field_name("attribute")
    if base is None or name is None:
        return 0
    text = on.text(name)
    known = on.value(base)
    if text == "__class__" and known:
        return on.build.expr(TYPE_OF, known)
    return on.build.attr(known, text)


_LONGEST = len("typing.cast")


def _call(on: Bindings, node: Node) -> int:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None:
        return 0
    build = on.build
    given = arguments.named_children if arguments is not None and arguments.type == "argument_list" else []
    if function.end_byte - function.start_byte <= _LONGEST and function.type in ("identifier", "attribute"):
        word = on.text(function)
        if word == "super":
            return build.expr(SUPER)
        if word in ("cast", "typing.cast", "t.cast") and len(given) == 2:
            return on.instance(given[0])
        if word == "type" and len(given) == 1:
            known = on.value(given[0])
            return build.expr(TYPE_OF, known) if known else 0
    called = on.value(function)
    return build.expr(CALL, called, _count(given)) if called else 0


def _count(given: list[Node]) -> int:
    if any(one.type in ("list_splat", "dictionary_splat") for one in given):
        return -1
    return sum(one.type != "comment" for one in given)


def _subscript(on: Bindings, node: Node) -> int:
    base, key = node.child_by_field_name("value"), node.child_by_field_name("subscript")
    known = on.value(base) if base is not None else 0
    if not known or key is None:
        return 0
    keys = [on.value(one) for one in node.children_by_field_name("subscript")]
    return on.build.expr(INDEX, known, on.build.cons(keys) if len(keys) > 1 else keys[0])


def _await(on: Bindings, node: Node) -> int:
    inner = first(node)
    known = on.value(inner) if inner is not None else 0
    return on.build.expr(AWAIT, known) if known else 0


def _inner(on: Bindings, node: Node) -> int:
    inner = first(node)
    return on.value(inner) if inner is not None else 0


def _conditional(on: Bindings, node: Node) -> int:
    parts = [one for one in node.named_children if one.type != "comment"]
    return on.build.union(on.value(one) for one in (parts[0], parts[-1])) if len(parts) > 2 else 0


def _boolean(on: Bindings, node: Node) -> int:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return 0
    known = on.value(right)
    if on.source[left.end_byte : right.start_byte].strip() == b"or":
        return on.build.union((on.value(left), known))
    return known


def _binary(on: Bindings, node: Node) -> int:
    """What an operator of a class of ours gives; ``|`` between types as well."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return 0
    known = on.value(left)
    sign = operator.type
    if sign == "|":
        return on.build.union((known, on.value(right)))
    method = _OPERATORS.get(sign)
    if not known or method is None:
        return 0
    return on.build.expr(CALL, on.build.attr(known, method), 1)


_OPERATORS = {"/": "__truediv__", "+": "__add__", "-": "__sub__", "*": "__mul__", "%": "__mod__", "@": "__matmul__"}


def _literal(name: str) -> Callable[[Bindings, Node], int]:
    def made(on: Bindings, node: Node) -> int:
        del node
        return on.build.expr(LITERAL, on.build.name(name))

    return made


def _list(name: str) -> Callable[[Bindings, Node], int]:
    def made(on: Bindings, node: Node) -> int:
        head = first(node)
        known = on.value(head) if head is not None else 0
        return on.build.expr(LITERAL, on.build.name(name), on.build.cons((known,)) if known else 0)

    return made


def _tuple(on: Bindings, node: Node) -> int:
    parts = [on.value(one) for one in node.named_children if one.type != "comment"]
    return on.build.expr(TUPLE, on.build.cons(parts)) if any(parts) else on.build.expr(LITERAL, on.build.name("tuple"))


def _dictionary(on: Bindings, node: Node) -> int:
    head = first(node)
    value = head.child_by_field_name("value") if head is not None and head.type == "pair" else None
    known = on.value(value) if value is not None else 0
    build = on.build
    return build.expr(LITERAL, build.name("dict"), build.cons((0, known)) if known else 0)


def _comprehension(name: str) -> Callable[[Bindings, Node], int]:
    def made(on: Bindings, node: Node) -> int:
        build = on.build
        body = node.child_by_field_name("body")
        scope = on.scopes.get(node.id)
        if body is None or scope is None:
            return build.expr(LITERAL, build.name(name))
        if body.type == "pair":
            body = body.child_by_field_name("value") or body
        known = on.value(body)
        within = build.expr(WITHIN, scope, known) if known else 0
        args = (0, within) if name == "dict" else (within,)
        return build.expr(LITERAL, build.name(name), build.cons(args) if within else 0)

    return made


def _lambda(on: Bindings, node: Node) -> int:
    scope = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, scope) if scope is not None else 0


def _named(on: Bindings, node: Node) -> int:
    value = node.child_by_field_name("value")
    return on.value(value) if value is not None else 0


VALUES: dict[str, Callable[[Bindings, Node], int]] = {
    "identifier": _identifier,
    "attribute": _attribute,
    "call": _call,
    "subscript": _subscript,
    "await": _await,
    "parenthesized_expression": _inner,
    "conditional_expression": _conditional,
    "boolean_operator": _boolean,
    "binary_operator": _binary,
    "string": _literal("str"),
    "concatenated_string": _literal("str"),
    "integer": _literal("int"),
    "float": _literal("float"),
    "true": _literal("bool"),
    "false": _literal("bool"),
    "comparison_operator": _literal("bool"),
    "not_operator": _literal("bool"),
    "list": _list("list"),
    "set": _list("set"),
    "tuple": _tuple,
    "expression_list": _tuple,
    "dictionary": _dictionary,
    "list_comprehension": _comprehension("list"),
    "set_comprehension": _comprehension("set"),
    "generator_expression": _comprehension("generator"),
    "dictionary_comprehension": _comprehension("dict"),
    "lambda": _lambda,
    "named_expression": _named,
}


# -- types ------------------------------------------------------------------------------------------------------------


def kind_of(on: Bindings, node: Node) -> int:
    """The expression of an annotation."""
    build = on.build
    kind = node.type
    if kind in ("type", "constrained_type", "parenthesized_expression"):
        inner = first(node)
        return kind_of(on, inner) if inner is not None else 0
    if kind == "identifier":
        text = on.text(node)
        return build.expr(CLASS) if text == "Self" else build.named(text)
    if kind in ("attribute", "member_type"):
        return build.dotted("".join(on.text(node).split())) if _DOTTED.fullmatch(on.text(node)) else 0
    if kind == "string":
        return _parsed(on, on.text(node))
    if kind in ("binary_operator", "union_type"):
        return build.union(kind_of(on, one) for one in node.named_children)
    if kind == "subscript":
        base, args = node.child_by_field_name("value"), node.children_by_field_name("subscript")
        return _generic(on, base, args)
    if kind == "generic_type":
        base = first(node)
        last = node.named_child(1) if node.named_child_count > 1 else None
        return _generic(on, base, last.named_children if last is not None else [])
    if kind == "list":
        return 0
    return 0


def _generic(on: Bindings, base: Node | None, args: list[Node]) -> int:
    if base is None:
        return 0
    name = on.text(base).rpartition(".")[2]
    if name in ("Literal", "Callable") or not args:
        if name == "Callable" and len(args) > 1:
            given = kind_of(on, args[-1])
            return on.build.expr(INDEX, on.build.named("Callable"), on.build.cons((given,)))
        return kind_of(on, base)
    kinds = [kind_of(on, one) for one in (args[:1] if name == "Annotated" else args)]
    if name in ("Optional", "Union", "Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"):
        return on.build.union(kinds)
    known = kind_of(on, base)
    return on.build.expr(INDEX, known, on.build.cons(kinds)) if known else 0


def _parsed(on: Bindings, text: str) -> int:
    """The annotation in a string: dotted names, and what can be read with few means beyond them."""
    word = text.strip("rRuUbBfF").strip("\"'").strip()
    if _DOTTED.fullmatch(word):
        return on.build.expr(CLASS) if word == "Self" else on.build.dotted(word)
    parts = [part.strip() for part in re.split(r"\|", word)] if "[" not in word else []
    if len(parts) > 1 and all(_DOTTED.fullmatch(part) for part in parts):
        return on.build.union(on.build.dotted(part) for part in parts if part != "None")
    found = re.fullmatch(r"(?:\w+\.)?(Optional|Union)\[(.*)\]", word)
    if found is not None:
        return on.build.union(on.build.dotted(part) for part in _DOTTED.findall(found[2]) if part != "None")
    found = re.fullmatch(r"([\w.]+)\[([\w., ]+)\]", word)
    if found is not None and _DOTTED.fullmatch(found[1]):
        kinds = [on.build.dotted(part) for part in _DOTTED.findall(found[2])]
        return on.build.expr(INDEX, on.build.dotted(found[1]), on.build.cons(kinds))
    return 0


def quoted(on: Bindings) -> None:
    """References of the names in quoted annotations, where they stand."""
    build = on.build
    for node in on.nodes.get("quoted", ()):
        line, character, length = build.span(node)
        text = on.text(node)
        if not length or not text.isascii() or "\\" in text:
            continue
        for found in _DOTTED.finditer(text, 1):
            word = found[0].rpartition(".")[2]
            if found[0].partition(".")[0] in on.bound:
                at = (line, character + found.end() - len(word), len(word))
                build.site_at(REFERENCE_SITE, build.dotted(found[0]), on.inside.at(node.start_byte), at)


def dead(on: Bindings) -> list[tuple[int, int, int]]:
    """Blocks that a type checker for today's Python leaves out, rows of (start, end, 1): behind ``TYPE_CHECKING``, and
    the older side of a comparison with ``sys.version_info``."""
    if b"version_info" not in on.source and b"TYPE_CHECKING" not in on.source:
        return []
    found = []
    for node in on.nodes.get("test", ()):
        if node.type != "if_statement":
            continue
        taken = False
        for clause in (node, *node.children_by_field_name("alternative")):
            condition = clause.child_by_field_name("condition")
            block = clause.child_by_field_name("consequence") or clause
            words = on.text(condition)
            of_version = words.startswith("sys.version_info")
            if taken or (of_version and "<" in words):
                found.append((block.start_byte, block.end_byte, 1))
            taken = taken or words.rpartition(".")[2] == "TYPE_CHECKING" or (of_version and ">" in words)
    return found


# -- tests ------------------------------------------------------------------------------------------------------------


def narrow(on: Bindings, node: Node) -> None:
    """``isinstance`` in a test says what a name is where the test holds, and behind an ``if not`` that leaves."""
    condition = node.child_by_field_name("condition")
    if node.type == "conditional_expression":
        parts = [one for one in node.named_children if one.type != "comment"]
        if len(parts) == 3:
            _hold(on, parts[1], parts[0].start_byte, parts[0].end_byte)
        return
    if node.type == "assert_statement":
        condition = first(node)
        parent = node.parent
        if condition is not None and parent is not None:
            _hold(on, condition, node.end_byte, parent.end_byte)
        return
    body = node.child_by_field_name("consequence")
    if condition is None or body is None:
        return
    if condition.type == "not_operator":
        last = body.named_child(body.named_child_count - 1) if body.named_child_count else None
        parent, inner = node.parent, first(condition)
        if last is not None and last.type in _LEAVING and parent is not None and inner is not None:
            _hold(on, inner, node.end_byte, parent.end_byte)
        return
    _hold(on, condition, condition.start_byte, body.end_byte)


def _hold(on: Bindings, condition: Node, start: int, end: int) -> None:
    if b"isinstance" not in on.source[condition.start_byte : condition.end_byte]:
        return
    build = on.build
    for call in _conjuncts(condition):
        function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
        if function is None or arguments is None or on.text(function) != "isinstance":
            continue
        given = arguments.named_children
        if len(given) != 2 or given[0].type != "identifier":
            continue
        kinds = given[1].named_children if given[1].type == "tuple" else [given[1]]
        known = build.union(build.expr(INSTANCE, on.value(one)) for one in kinds if on.value(one))
        if known:
            scope = on.inside.at(condition.start_byte)
            build.bind(
                scope,
                on.text(given[0]),
                NARROWED,
                known,
                max(start, call.end_byte) if start < call.end_byte else start,
                end,
            )


def _conjuncts(node: Node) -> Iterator[Node]:
    """The calls that all hold where ``node`` holds."""
    if node.type == "call":
        yield node
    elif node.type == "parenthesized_expression" or (
        node.type == "boolean_operator" and any(child.type == "and" for child in node.children)
    ):
        for child in node.named_children:
            yield from _conjuncts(child)
