"""Declarators of C and C++: which name a declaration declares, and as what."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ombud.graph.extract.extraction import first

if TYPE_CHECKING:
    from tree_sitter import Node

_WRAPPED = frozenset(
    (
        *(
            "pointer_declarator",
            "reference_declarator",
            "parenthesized_declarator",
            "array_declarator",
            "init_declarator",
        ),
        *("function_declarator", "attributed_declarator", "variadic_declarator", "pointer_type_declarator"),
    )
)
_NAMES = frozenset(
    ("identifier", "field_identifier", "type_identifier", "destructor_name", "operator_name", "operator_cast")
)
_MODIFIERS = re.compile(r"\b(?:const|volatile|restrict|struct|class|enum|union|typename|register)\b")
_SPACES = re.compile(r"\s+")


class Declared(NamedTuple):
    """One name of a declaration."""

    name: Node
    scopes: tuple[Node, ...]
    """What stands before the name: of ``A::B::f`` the nodes of A and B."""
    function: Node | None
    """The declarator with its parameters, where it is a function that is declared."""
    indirect: bool
    """Whether it is a pointer, a reference or an array."""
    called: bool = False
    """Whether it is a pointer to a function."""


def declared(node: Node | None) -> Declared | None:
    """What a declarator declares; None for one without a name."""
    function: Node | None = None
    indirect = called = False
    scopes: list[Node] = []
    while node is not None:
        kind = node.type
        if kind == "operator_cast":
            function = node.child_by_field_name("declarator")
        if kind in _NAMES:
            return Declared(node, tuple(scopes), function, indirect, called)
        if kind == "qualified_identifier":
            scope = node.child_by_field_name("scope")
            if scope is not None:
                scopes.append(scope)
            node = node.child_by_field_name("name")
            continue
        if kind in ("template_function", "template_type", "template_method"):
            node = node.child_by_field_name("name")
            continue
        if kind not in _WRAPPED:
            return None
        if kind == "function_declarator":
            function, called = node, False
        elif kind in ("pointer_declarator", "reference_declarator", "array_declarator", "pointer_type_declarator"):
            indirect = True
            called, function = called or function is not None, None
        node = node.child_by_field_name("declarator") or _inside(node)
    return None


def _inside(node: Node) -> Node | None:
    """The declarator within one that has no field for it."""
    for child in node.named_children:
        if child.type in _WRAPPED or child.type in _NAMES or child.type == "qualified_identifier":
            return child
    return None


def parameters(function: Node | None) -> list[Node]:
    """The parameters of a function's declarator, without ``void``."""
    held = function.child_by_field_name("parameters") if function is not None else None
    if held is None:
        return []
    found = [one for one in held.children if one.type.endswith("parameter_declaration") or one.type in _OTHERS]
    if len(found) == 1 and found[0].type == "parameter_declaration" and found[0].named_child_count == 1:
        only = first(found[0])
        if only is not None and only.type == "primitive_type" and only.end_byte - only.start_byte == 4:
            return [] if only.text == b"void" else found
    return found


_OTHERS = ("variadic_parameter", "...", "identifier")


def shape(text: str, name: str) -> str:
    """A parameter's type as text, to be compared with that of another declaration: without its name and default."""
    text = text.partition("=")[0]
    if name:
        text = re.sub(rf"\b{re.escape(name)}\b(?=[^\w]*$)", "", text)
    return _SPACES.sub("", _MODIFIERS.sub("", text))
