"""Calls and definitions in trees of Go, Java, Rust and C++, as far as the check against language servers needs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .source import CALLABLE, CLASS, TYPE, Reader, word

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True)
class Grammar:
    """Node types of one language. `definitions` have a field `name`; `calls` say which field holds the callee.

    `parts` lead from a callee to the name at which it stands: ``a.b`` has it in a field of its own.
    """

    definitions: dict[str, str]
    calls: dict[str, str]
    parts: dict[str, str]
    names: frozenset[str]


GO = Grammar(
    definitions={
        **dict.fromkeys(("function_declaration", "method_declaration", "method_elem"), CALLABLE),
        **dict.fromkeys(("type_spec", "type_alias"), TYPE),
    },
    calls={"call_expression": "function"},
    parts={"selector_expression": "field", "type_instantiation_expression": "type", "index_expression": "operand"},
    names=frozenset({"identifier", "field_identifier", "type_identifier"}),
)
JAVA = Grammar(
    definitions={
        **dict.fromkeys(("method_declaration", "constructor_declaration"), CALLABLE),
        **dict.fromkeys(("class_declaration", "enum_declaration", "record_declaration"), CLASS),
        **dict.fromkeys(("interface_declaration", "annotation_type_declaration", "formal_parameter"), TYPE),
    },
    calls={"method_invocation": "name", "object_creation_expression": "type"},
    parts={},
    names=frozenset({"identifier", "type_identifier"}),
)
RUST = Grammar(
    definitions={
        **dict.fromkeys(("function_item", "function_signature_item"), CALLABLE),
        **dict.fromkeys(("struct_item", "enum_variant"), CLASS),
        **dict.fromkeys(("trait_item", "enum_item", "mod_item", "type_item"), TYPE),
    },
    calls={"call_expression": "function"},
    parts={"field_expression": "field", "scoped_identifier": "name", "generic_function": "function"},
    names=frozenset({"identifier", "field_identifier", "type_identifier"}),
)
CPP = Grammar(
    definitions={
        **dict.fromkeys(("class_specifier", "struct_specifier"), CLASS),
        **dict.fromkeys(("enum_specifier", "namespace_definition"), TYPE),
    },
    calls={"call_expression": "function", "new_expression": "type"},
    parts={
        **{"field_expression": "field", "qualified_identifier": "name", "template_function": "name"},
        **{"template_method": "name", "template_type": "name", "dependent_name": ""},
    },
    names=frozenset({"identifier", "field_identifier", "type_identifier"}),
)
QUALIFIED = Grammar({}, {}, {"template_type": "name"}, frozenset({"namespace_identifier", "type_identifier"}))
GRAMMARS = {".go": GO, ".java": JAVA, ".rs": RUST, ".cpp": CPP, ".cc": CPP, ".h": CPP, ".hpp": CPP}

# What stands between a C++ function's declarator and its name.
DECLARATORS = {"function_declarator", "pointer_declarator", "reference_declarator", "qualified_identifier"}


def walk(root: Node, reader: Reader, grammar: Grammar) -> None:
    pending: list[tuple[Node, str]] = [(root, "")]
    while pending:
        node, scope = pending.pop()
        if node.type in grammar.calls:
            callee = _name(node.child_by_field_name(grammar.calls[node.type]), grammar)
            reader.call(callee, f"{node.type} at a {callee.type}" if callee is not None else "")
        inner = scope
        if node.type in grammar.definitions and (name := node.child_by_field_name("name")) is not None:
            if name.type in grammar.names | {"namespace_identifier"} and _is_definition(node):
                kind = grammar.definitions[node.type]
                owner = _name(_receiver(node), grammar)
                around = _within(scope, owner)
                inner = reader.define(around, name, kind, *_extents(node), apart=kind == CALLABLE)
        elif node.type == "impl_item":
            owner = _name(node.child_by_field_name("type"), grammar) or node.child_by_field_name("type")
            inner = _within(scope, owner)
        elif grammar is CPP and node.type == "function_declarator" and (name := _declared(node)) is not None:
            around = ".".join([*([scope] if scope else []), *_qualifiers(node)])
            inner = reader.define(around, name, CALLABLE, *_extents(node), apart=True)
        pending.extend((child, inner) for child in node.named_children)


def _name(node: Node | None, grammar: Grammar) -> Node | None:
    while node is not None and node.type not in grammar.names:
        if node.type not in grammar.parts:
            # ``new Box<>(…)`` and ``new a.Box(…)`` of Java: the type's own name.
            kinds = {"generic_type": 0, "scoped_type_identifier": -1}
            if node.type not in kinds or not node.named_children:
                return None
            node = node.named_children[kinds[node.type]]
            continue
        node = node.child_by_field_name(grammar.parts[node.type]) if grammar.parts[node.type] else node.named_child(0)
    return node


def _within(scope: str, owner: Node | None) -> str:
    return ".".join(part for part in (scope, word(owner)) if part)


def _receiver(node: Node) -> Node | None:
    """The type of a Go method's receiver: of ``func (q *Queue[T]) Pop()`` it is ``Queue``."""
    if node.type != "method_declaration" or (receiver := node.child_by_field_name("receiver")) is None:
        return None
    pending = [receiver]
    while pending:
        one = pending.pop()
        if one.type == "type_identifier":
            return one
        pending.extend(reversed(one.named_children))
    return None


def _is_definition(node: Node) -> bool:
    """``struct Point p;`` of C++ defines nothing; a component of a Java record defines an accessor, a value."""
    if node.type == "formal_parameter":
        around = node.parent.parent if node.parent is not None else None
        return around is not None and around.type == "record_declaration"
    return not node.type.endswith("_specifier") or node.child_by_field_name("body") is not None


def _declared(node: Node) -> Node | None:
    """The name that a function's declarator declares; of ``Hull::length`` it is ``length``."""
    at = node.child_by_field_name("declarator")
    while at is not None and at.type in DECLARATORS:
        at = at.child_by_field_name("name") or at.child_by_field_name("declarator")
    return at if at is not None and at.type in CPP.names else None


def _qualifiers(node: Node) -> list[str]:
    """The scopes that a function's declarator names itself: of ``Hull::length`` it is ``Hull``."""
    found = []
    at = node.child_by_field_name("declarator")
    while at is not None and at.type == "qualified_identifier":
        if (owner := _name(at.child_by_field_name("scope"), QUALIFIED)) is not None:
            found.append(word(owner))
        at = at.child_by_field_name("name")
    return found


def _extents(node: Node) -> list[Node]:
    """The nodes a definition may be said to begin with: itself, and the declaration or template around it."""
    around = {"type_declaration", "field_declaration", "declaration", "function_definition", "template_declaration"}
    around |= {"pointer_declarator", "reference_declarator"}
    extents = [node]
    while (up := extents[-1].parent) is not None and up.type in around:
        extents.append(up)
    return extents
