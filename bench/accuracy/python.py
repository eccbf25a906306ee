"""Calls and definitions in a tree of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .source import CALLABLE, CLASS, Reader, word

if TYPE_CHECKING:
    from tree_sitter import Node

DEFINITIONS = {"function_definition": CALLABLE, "class_definition": CLASS}


def walk(root: Node, reader: Reader) -> None:
    pending: list[tuple[Node, str]] = [(root, "")]
    while pending:
        node, scope = pending.pop()
        if node.type == "call":
            function = node.child_by_field_name("function")
            reader.call(callee(function), shape(function))
        elif node.type == "decorator":
            reader.call(callee(node.named_child(0)), "decorator", counted=False)
        elif node.type == "assignment":
            _alias(node, reader)
        inner = scope
        if node.type in DEFINITIONS and (name := node.child_by_field_name("name")) is not None:
            extents = [node, node.parent] if node.parent and node.parent.type == "decorated_definition" else [node]
            inner = reader.define(scope, name, DEFINITIONS[node.type], *extents)
        body = node.child_by_field_name("body") if inner != scope else None
        # Parameters, bases and decorators are read in the scope around; only names matter, so the difference is none.
        pending.extend((child, inner if child == body else scope) for child in node.named_children)


def callee(node: Node | None) -> Node | None:
    """The name at which a callee stands: of ``a.b.c`` it is ``c``. None for what has no name, as ``f()()``."""
    if node is None or node.type == "identifier":
        return node
    if node.type == "attribute":
        return node.child_by_field_name("attribute")
    if node.type == "parenthesized_expression":
        return callee(node.named_child(0))
    return None


def shape(node: Node | None) -> str:
    if node is None or node.type != "attribute":
        return "name()"
    receiver = node.child_by_field_name("object")
    kind = receiver.type if receiver is not None else ""
    text = word(receiver)
    if kind == "identifier":
        return f"{text}.name()" if text in {"self", "cls"} else "variable.name()"
    if kind == "call":
        return "super().name()" if text.startswith("super(") else "call().name()"
    if kind == "attribute":
        return "self.attribute.name()" if text.startswith("self.") else "a.b.name()"
    return f"({kind}).name()"


def _alias(node: Node, reader: Reader) -> None:
    left = node.child_by_field_name("left")
    right = node.child_by_field_name("right")
    if left is None or right is None or left.type not in {"identifier", "attribute"}:
        return
    to, of = callee(left), callee(right)
    if to is not None and of is not None:
        reader.source.aliases[reader.spot(to)] = reader.spot(of)
