"""Calls and definitions in a tree of TypeScript or TSX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .source import CALLABLE, CLASS, TYPE, Reader, word

if TYPE_CHECKING:
    from tree_sitter import Node

DEFINITIONS = {
    "function_declaration": CALLABLE,
    "generator_function_declaration": CALLABLE,
    "function_signature": CALLABLE,
    "function_expression": CALLABLE,
    "method_definition": CALLABLE,
    "method_signature": CALLABLE,
    "abstract_method_signature": CALLABLE,
    "class_declaration": CLASS,
    "abstract_class_declaration": CLASS,
    "class": CLASS,
    "interface_declaration": TYPE,
    "enum_declaration": TYPE,
    "internal_module": TYPE,
    "module": TYPE,
}
FUNCTIONS = {
    "arrow_function": CALLABLE,
    "function_expression": CALLABLE,
    "class": CLASS,
    "generator_function": CALLABLE,
}
HOLDERS = {
    "variable_declarator": ("name", "value"),
    "public_field_definition": ("name", "value"),
    "pair": ("key", "value"),
}
WRAPPERS = {"parenthesized_expression", "non_null_expression", "as_expression", "satisfies_expression"}
NAMES = {"identifier", "property_identifier", "private_property_identifier", "type_identifier", "string"}


def walk(root: Node, reader: Reader) -> None:
    pending: list[tuple[Node, str]] = [(root, "")]
    while pending:
        node, scope = pending.pop()
        if node.type == "call_expression":
            function = node.child_by_field_name("function")
            reader.call(callee(function), shape(function), counted=function is None or function.type != "super")
        elif node.type == "new_expression":
            reader.call(callee(node.child_by_field_name("constructor")), "new name()")
        elif node.type == "decorator":
            reader.call(callee(node.named_child(0)), "decorator", counted=False)
        inner = _defined(node, scope, reader)
        pending.extend((child, inner) for child in node.named_children)


def _defined(node: Node, scope: str, reader: Reader) -> str:
    """The scope of what is inside `node`, which is noted when it defines something."""
    extents = [node]
    around = node.parent
    while around is not None and around.type in {"lexical_declaration", "variable_declaration", "export_statement"}:
        extents.append(around)
        around = around.parent
    if node.type in DEFINITIONS:
        name = node.child_by_field_name("name")
        if name is not None and name.type in NAMES:
            return reader.define(scope, name, DEFINITIONS[node.type], *extents)
    if node.type in HOLDERS:
        left, right = (node.child_by_field_name(field) for field in HOLDERS[node.type])
        value = bare(right)
        if left is not None and left.type in NAMES and value is not None:
            if value.type in FUNCTIONS:
                return reader.define(scope, left, FUNCTIONS[value.type], *extents)
            if (of := callee(value)) is not None:
                reader.source.aliases[reader.spot(left)] = reader.spot(of)
            return f"{scope}.{word(left)}" if scope else word(left)
    return scope


def bare(node: Node | None) -> Node | None:
    while node is not None and node.type in WRAPPERS:
        node = node.named_child(0)
    return node


def callee(node: Node | None) -> Node | None:
    """The name at which a callee stands: of ``a.b?.c`` it is ``c``. None for what has no name."""
    node = bare(node)
    if node is None or node.type in {"identifier", "super"}:
        return node
    if node.type == "member_expression":
        return node.child_by_field_name("property")
    if node.type == "instantiation_expression":
        return callee(node.named_child(0))
    return None


def shape(node: Node | None) -> str:
    node = bare(node)
    if node is None or node.type != "member_expression":
        return "super()" if node is not None and node.type == "super" else "name()"
    receiver = bare(node.child_by_field_name("object"))
    kind = receiver.type if receiver is not None else ""
    if kind in {"this", "super"}:
        return f"{kind}.name()"
    if kind == "identifier":
        return "variable.name()"
    if kind == "call_expression":
        return "call().name()"
    if kind == "member_expression":
        return "this.field.name()" if word(receiver).startswith("this.") else "a.b.name()"
    return f"({kind}).name()"
