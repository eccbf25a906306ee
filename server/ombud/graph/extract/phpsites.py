"""The sites of a PHP text: calls, members, classes, constants, files that are included."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.phpbind import Bindings
from ombud.graph.extract.phptypes import (
    NAMES,
    arguments,
    callee,
    class_constant,
    created,
    is_reference,
    member,
    static_member,
    tail,
)
from ombud.graph.facts import ATTR, CALL_SITE, IMPORT, IMPORT_SITE, REFERENCE_SITE, Import

if TYPE_CHECKING:
    from tree_sitter import Node

_WHOLLY = frozenset(
    (
        *("argument", "binary_expression", "unary_op_expression", "parenthesized_expression", "subscript_expression"),
        *("sequence_expression", "array_element_initializer", "return_statement", "echo_statement"),
        *("conditional_expression", "match_condition_list", "expression_statement", "print_intrinsic"),
        *("error_suppression_expression", "variadic_unpacking", "exit_statement"),
    )
)
"""Nodes of which every child is a value."""
_BEFORE_VALUES = frozenset(
    ("=", "=>", "?", ":", ".=", "+=", "|=", "&=", "??=", "-=", "*=", "^=", "cast_type", ")", "case")
)
"""What stands before the value in the other nodes that hold one."""
_HOLD_VALUES = _WHOLLY | frozenset(
    (
        *(
            "assignment_expression",
            "augmented_assignment_expression",
            "cast_expression",
            "match_conditional_expression",
        ),
        *("match_default_expression", "case_statement", "arrow_function", "const_element", "property_element"),
        *("simple_parameter", "property_promotion_parameter", "static_variable_declaration", "enum_case"),
    )
)
_CONSTRUCTS = frozenset(("isset", "empty", "define", "array", "list", "unset", "exit", "die", "compact", "eval"))
"""Words of the language that look like functions."""


class Sites(Bindings):
    """The part of `Php` that makes the sites, once everything is bound."""

    def sites(self) -> None:
        nodes, used = self.nodes, self.used
        used.update(node.start_byte for node in nodes.get("unused", ()))
        for node in nodes.get("include", ()):
            self._include(node)
        for node in self.inner_first("call"):
            self._call(node)
        for node in nodes.get("new", ()):
            made = created(node)
            if made is not None and made.type in NAMES:
                name = tail(made)
                self.place(CALL_SITE, self.class_named(self.word(made), made.start_byte), name)
        for node in self.inner_first("member"):
            self._member(node)
        for node in nodes.get("class", ()):
            self._class_site(node)
        for node in nodes.get("instanceof", ()):
            self._class_site(node.next_named_sibling)
        self._constant_sites()

    def _class_site(self, node: Node | None) -> None:
        """A class's name that stands for the class."""
        if node is not None and node.type in NAMES:
            low = self.source[node.start_byte : node.end_byte].lower()
            if low not in (b"self", b"static", b"parent"):
                self.place(REFERENCE_SITE, self.build.named(self.word(node)), tail(node))

    def _constant_sites(self) -> None:
        """The names that are left where a value stands."""
        source, used = self.source, self.used
        for node in self.nodes.get("name", ()):
            start = node.start_byte
            if start in used or source[start - 1 : start] == b"$" or source.startswith(b"__", start):
                continue
            named, above = node, node.parent
            if above is not None and above.type in ("qualified_name", "relative_name"):
                named, above = above, above.parent
            if above is None or above.type not in _HOLD_VALUES:
                continue
            before = named.prev_sibling
            if above.type not in _WHOLLY and (before is None or before.type not in _BEFORE_VALUES):
                continue
            following = named.next_sibling
            if above.type == "argument" and following is not None and following.type == ":":
                continue
            self.place(REFERENCE_SITE, self.build.named("#" + self.word(named)), node)

    def place(self, kind: int, expr: int, name: Node, scope: int = -1) -> None:
        """A site at ``name``, unless it is one already."""
        start = name.start_byte
        if start not in self.used and name.end_byte > start:
            self.used.add(start)
            if expr or kind == CALL_SITE:
                self.build.site(kind, expr, self.inside.at(start) if scope < 0 else scope, name)

    def _call(self, node: Node) -> None:
        function = node.child_by_field_name("function")
        name = function if function is not None else node.child_by_field_name("name")
        if name is None:
            return
        kind = REFERENCE_SITE if is_reference(arguments(node)) else CALL_SITE
        if function is not None:
            if function.type in NAMES:
                if self.text(function).lower() not in _CONSTRUCTS:
                    self.place(kind, callee(self, node), tail(function))
            elif function.type == "variable_name" and kind == CALL_SITE:
                self.place(kind, callee(self, node), function)
            return
        if node.type == "scoped_call_expression":
            self._class_site(node.child_by_field_name("scope"))
        if name.type == "name":
            expr = callee(self, node) or self.build.expr(ATTR, 0, self.build.name(self.text(name) + "()"))
            self.place(kind, expr, name)

    def _member(self, node: Node) -> None:
        if node.type == "class_constant_access_expression":
            self._class_site(first(node))
            name = node.named_children[-1] if node.named_child_count else None
            if name is None or self.source[name.start_byte : name.end_byte].lower() == b"class":
                return
            expr = class_constant(self, node)
        else:
            self._class_site(node.child_by_field_name("scope"))
            name = node.child_by_field_name("name")
            how = static_member if node.type == "scoped_property_access_expression" else member
            expr = how(self, node)
        if name is not None:
            self.place(REFERENCE_SITE, expr, name)

    def _include(self, node: Node) -> None:
        path, at = self.path(first(node))
        if path and at is not None:
            build, scope = self.build, self.inside.at(node.start_byte)
            build.imports.append(Import(path, "", "", 0, scope, 0, build.span(at)))
            build.site_at(IMPORT_SITE, build.expr(IMPORT, len(build.imports) - 1), scope, build.span(at))

    def path(self, node: Node | None) -> tuple[str, Node | None]:
        """A literal path, ``./`` before one that starts at the file's own folder, and the text that it stands in."""
        while node is not None and node.type == "parenthesized_expression":
            node = first(node)
        if node is None:
            return "", None
        if node.type in ("string", "encapsed_string"):
            inner = node.named_children
            return (self.text(inner[0]), node) if len(inner) == 1 and inner[0].type == "string_content" else ("", None)
        if node.type == "binary_expression":
            folder = self._folder(node.child_by_field_name("left"))
            rest, at = self.path(node.child_by_field_name("right"))
            if folder and rest.startswith("/"):
                return "./" + posixpath.normpath(folder + rest), at
        return "", None

    def _folder(self, node: Node | None, depth: int = 0) -> str:
        """The folder that ``__DIR__`` and ``dirname(…)`` of it or of ``__FILE__`` are, from the file's own."""
        if node is None or depth > 8:
            return ""
        if node.type == "name":
            return {"__DIR__": ".", "__FILE__": "./file"}.get(self.text(node), "")
        if node.type == "function_call_expression" and self.text(node.child_by_field_name("function")) == "dirname":
            given = arguments(node)
            inner = self._folder(first(given[0]), depth + 1) if given else ""
            levels = self.text(given[1]) if len(given) > 1 else "1"
            if not inner or not levels.isdigit():
                return ""
            for _ in range(min(int(levels), 20)):
                inner = "." if inner == "./file" else posixpath.normpath(inner + "/..")
            return inner
        return ""
