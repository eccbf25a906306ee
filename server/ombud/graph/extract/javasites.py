"""Java's local variables, and the sites of a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract import javatypes
from ombud.graph.extract.jvmish import Typed, arguments
from ombud.graph.facts import (
    CALL_SITE,
    CLASS,
    DECLARED,
    ELEM,
    INSTANCE,
    REFERENCE_SITE,
    SUPER,
    TYPE_OF,
    VALUE,
)

if TYPE_CHECKING:
    from tree_sitter import Node


class Sites(Typed):
    """See the module."""

    def _plain(self, kind: Node) -> Node:
        while kind.type in ("generic_type", "annotated_type", "array_type"):
            parts = [one for one in arguments(kind) if not one.type.endswith("annotation")]
            if not parts:
                break
            kind = parts[0]
        return kind

    def _last(self, kind: Node) -> Node:
        """The token that names a type: the last one of ``a.b.C<T>``."""
        kind = self._plain(kind)
        if kind.type == "scoped_type_identifier":
            return kind.named_children[-1]
        return kind

    def _bare(self, kind: Node) -> int:
        """A type without its arguments and annotations."""
        return self.kind_of(self._plain(kind))

    def _target(self, node: Node) -> tuple[int, int]:
        """What takes a lambda: a call and the argument's place, or an INSTANCE of the type it is to have."""
        parent = node.parent
        while parent is not None and parent.type in ("parenthesized_expression", "ternary_expression"):
            node, parent = parent, parent.parent
        if parent is None:
            return 0, 0
        if parent.type == "argument_list":
            call = parent.parent
            place = next((n for n, one in enumerate(arguments(parent)) if one.id == node.id), 0)
            if call is None:
                return 0, 0
            how = _TARGETS.get(call.type)
            return (how(self, call) if how is not None else 0), place
        if parent.type == "variable_declarator":
            declaration = parent.parent
            return self.instance(declaration.child_by_field_name("type")) if declaration is not None else 0, 0
        if parent.type == "cast_expression":
            return self.instance(parent.child_by_field_name("type")), 0
        if parent.type == "assignment_expression":
            return self.value(parent.child_by_field_name("left")), 0
        if parent.type == "return_statement":
            symbol = self.build.symbols[self.build.symbol_of(self.inside.at(parent.start_byte))]
            return self.build.expr(INSTANCE, symbol.type) if symbol.type else 0, 0
        return 0, 0

    def _variables(self, node: Node) -> None:
        declared = node.child_by_field_name("type")
        kind = self.kind_of(declared)
        build = self.build
        for one in node.children_by_field_name("declarator"):
            name = one.child_by_field_name("name")
            if name is None:
                continue
            given = self.array(kind) if kind and one.child_by_field_name("dimensions") is not None else kind
            start = name.end_byte
            if given:
                self.local(name, DECLARED, build.expr(INSTANCE, given), self.here(node, start))
            else:
                self.local(name, VALUE, self.value(one.child_by_field_name("value")), self.here(node, start))

    def _each(self, node: Node) -> None:
        name, source = node.child_by_field_name("name"), node.child_by_field_name("value")
        expr = self.instance(node.child_by_field_name("type"))
        if name is None:
            return
        if not expr and (known := self.value(source)):
            expr = self.build.expr(ELEM, known)
        body = node.child_by_field_name("body")
        self.local(name, DECLARED, expr, (body.start_byte if body is not None else node.end_byte, node.end_byte))

    def _caught(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        kind = next((one for one in node.named_children if one.type == "catch_type"), None)
        if name is not None:
            self.local(name, DECLARED, self.instance(kind), self.here(node))

    def _resource(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            expr = self.instance(node.child_by_field_name("type")) or self.value(node.child_by_field_name("value"))
            self.local(name, DECLARED, expr, self.here(node, name.end_byte))

    def _tested(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self.local(
                name, DECLARED, self.instance(node.child_by_field_name("right")), self.here(node, name.start_byte)
            )

    def _pattern(self, node: Node) -> None:
        parts = [one for one in arguments(node) if one.type != "modifiers"]
        if len(parts) == 2 and parts[1].type == "identifier":
            self.local(parts[1], DECLARED, self.instance(parts[0]), self.here(node, parts[1].start_byte))

    def _sites(self) -> None:
        nodes, build = self.nodes, self.build
        for node in nodes.get("new", ()):
            kind = node.child_by_field_name("type")
            if kind is not None:
                self.call_site(javatypes.creation(self, node), self._last(kind))
        for node in nodes.get("call", ()):
            name = node.child_by_field_name("name")
            if name is not None:
                self.call_site(self.value(node), name)
        for node in nodes.get("delegation", ()):
            token = node.child_by_field_name("constructor")
            if token is not None:
                own = build.expr(CLASS) if token.type == "this" else build.expr(TYPE_OF, build.expr(SUPER))
                self.place(CALL_SITE, self.call(own, arguments(node.child_by_field_name("arguments"))), token)
        for node in nodes.get("method", ()):
            if expr := self.value(node):
                self.place(REFERENCE_SITE, expr, node.children[-1])
        self._references()
        for node in nodes.get("case", ()):
            self._case(node)
        self.types(ignored=frozenset((b"var",)))
        self.names()

    def _references(self) -> None:
        nodes, build = self.nodes, self.build
        for node in nodes.get("member", ()):
            name = node.child_by_field_name("field")
            if name is not None and (expr := self.value(node)):
                self.place(REFERENCE_SITE, expr, name)
        for node in nodes.get("annotation", ()):
            name = node.child_by_field_name("name")
            if name is not None:
                last = name.child_by_field_name("name") or name
                self.place(REFERENCE_SITE, build.expr(INSTANCE, javatypes.as_type(self, name)), last)
        for node in nodes.get("scoped", ()):
            if expr := self.kind_of(node):
                self.place(REFERENCE_SITE, build.expr(INSTANCE, expr), self._last(node))

    def _case(self, node: Node) -> None:
        """``case RED`` means a constant of the enum that is switched on, or a constant in scope."""
        switch: Node | None = node.parent
        while switch is not None and switch.type != "switch_expression":
            switch = switch.parent
        build = self.build
        known = self.value(switch.child_by_field_name("condition")) if switch is not None else 0
        constant = build.attr(build.expr(TYPE_OF, known), self.text(node)) if known else 0
        self.place(REFERENCE_SITE, build.union((constant, build.named(self.text(node)))), node)


_TARGETS: dict[str, Callable[[Sites, Node], int]] = {
    "method_invocation": javatypes.invocation,
    "object_creation_expression": javatypes.creation,
}

BINDINGS: dict[str, Callable[[Sites, Node], None]] = {
    "local_variable_declaration": Sites._variables,
    "enhanced_for_statement": Sites._each,
    "catch_formal_parameter": Sites._caught,
    "resource": Sites._resource,
    "instanceof_expression": Sites._tested,
    "type_pattern": Sites._pattern,
    "record_pattern_component": Sites._pattern,
}
