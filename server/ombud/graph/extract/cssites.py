"""C#'s closures and local variables, and the sites of a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract import cstypes
from ombud.graph.extract.cstypes import child
from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import Frame, Opened, Typed, arguments
from ombud.graph.facts import (
    CALL_SITE,
    CLASS,
    DECLARED,
    ELEM,
    INSTANCE,
    PARAMETER,
    REFERENCE_SITE,
    RETURNED,
    SUPER,
    TYPE_OF,
    VALUE,
)

if TYPE_CHECKING:
    from tree_sitter import Node


class Sites(Typed):
    """See the module."""

    def _unused(self, node: Node | None) -> None:
        """No name within a node is a site."""
        rest = [node] if node is not None else []
        while rest:
            one = rest.pop()
            self.used.add(one.start_byte)
            rest.extend(one.named_children)

    def _lambda(self, node: Node, frame: Frame) -> Opened:
        opened = self.closure(node, frame)
        self.later.append((self._closure, (node, opened[1])))
        return opened

    def _closure(self, node: Node, own: int) -> None:
        """Parameters of a lambda, and what it returns."""
        build = self.build
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        extent = (node.start_byte, node.end_byte)
        if parameters is not None:
            every = [parameters] if parameters.type == "implicit_parameter" else arguments(parameters)
            call, argument = self._target(node)
            for number, one in enumerate(every):
                name = one.child_by_field_name("name") or one
                expr = self.instance(one.child_by_field_name("type")) or self.passed(call, argument, number)
                self.local(name, PARAMETER, expr, extent, own)
        if body is not None and body.type != "block":
            build.bind(own, RETURNED, VALUE, self.value(body))

    def _target(self, node: Node) -> tuple[int, int]:
        """What takes a lambda: a call and the argument's place, or an INSTANCE of the type it is to have."""
        parent = node.parent
        if parent is None or parent.type != "argument":
            return cstypes.target(self, node), 0
        listed = parent.parent
        call = listed.parent if listed is not None else None
        place = next((n for n, one in enumerate(arguments(listed)) if one.id == parent.id), 0)
        if call is None:
            return 0, 0
        if call.type == "object_creation_expression":
            return cstypes.creation(self, call), place
        return (self.value(call) if call.type == "invocation_expression" else 0), place

    def _variables(self, node: Node) -> None:
        kind = self.instance(node.child_by_field_name("type"))
        for one in node.named_children:
            if one.type != "variable_declarator":
                continue
            name = one.child_by_field_name("name") or first(one)
            value = one.named_child(one.named_child_count - 1) if one.named_child_count > 1 else None
            if name is None or name.start_byte in self.used:
                continue
            if name.type == "tuple_pattern":
                self._tuple(name, self.value(value), self.here(node, name.end_byte))
            elif kind:
                self.local(name, DECLARED, kind, self.here(node, name.end_byte))
            else:
                self.local(name, VALUE, self.value(value), self.here(node, name.end_byte))

    def _tuple(self, pattern: Node, expr: int, extent: tuple[int, int]) -> None:
        for number, name in enumerate(pattern.children_by_field_name("name"), 1):
            if name.type == "identifier":
                self.local(name, VALUE, self.build.expr(ELEM, expr, number) if expr else 0, extent)

    def _each(self, node: Node) -> None:
        name, body = node.child_by_field_name("left"), node.child_by_field_name("body")
        known = self.value(node.child_by_field_name("right"))
        element = self.build.expr(ELEM, known) if known else 0
        extent = (body.start_byte if body is not None else node.end_byte, node.end_byte)
        if name is not None and name.type == "tuple_pattern":
            self._tuple(name, element, extent)
        elif name is not None and name.type == "identifier":
            self.local(name, DECLARED, self.instance(node.child_by_field_name("type")) or element, extent)

    def _declared(self, node: Node) -> None:
        """A pattern, ``out T x``, a catch clause."""
        name = node.child_by_field_name("name")
        if name is not None and name.type == "identifier":
            expr = self.instance(node.child_by_field_name("type"))
            self.local(name, DECLARED, expr, self.here(node, name.start_byte))

    def _clause(self, node: Node) -> None:
        """A variable of a query expression."""
        parts = arguments(node)
        name = node.child_by_field_name("name") or (parts[0] if parts else None)
        if name is None or name.type != "identifier":
            return
        source = parts[1] if len(parts) > 1 else None
        expr = self.instance(node.child_by_field_name("type"))
        known = self.value(source)
        if not expr and known:
            expr = known if node.type == "let_clause" else self.build.expr(ELEM, known)
        self.local(name, VALUE, expr, self.here(node, name.start_byte))

    def _sites(self) -> None:
        nodes, build = self.nodes, self.build
        for node in nodes.get("new", ()):
            kind = node.child_by_field_name("type")
            if kind is not None:
                self.call_site(cstypes.creation(self, node), cstypes.name_of(kind))
        for capture, how in (("plain", self._plain), ("call", self._call), ("delegation", self._delegation)):
            for node in nodes.get(capture, ()):
                how(node)
        for node in nodes.get("path", ()):
            self._unused(node)
        for capture in ("bound", "member"):
            for node in nodes.get(capture, ()):
                self._member(node)
        for node in nodes.get("attribute", ()):
            self.place(REFERENCE_SITE, build.expr(INSTANCE, self.kind_of(node)), cstypes.name_of(node))
        for capture in ("scoped", "applied"):
            for node in nodes.get(capture, ()):
                if expr := self.kind_of(node):
                    self.place(REFERENCE_SITE, build.expr(INSTANCE, expr), cstypes.name_of(node))
        self._initialized()
        self.types(ignored=frozenset((b"var", b"dynamic", b"nint", b"nuint")))
        self.names()

    def _plain(self, node: Node) -> None:
        """``new(…)``"""
        if made := cstypes.target(self, node):
            given = cstypes.given(child(node, "argument_list"))
            self.place(CALL_SITE, self.call(made, given), node.children[0])

    def _delegation(self, node: Node) -> None:
        """``: this(…)`` and ``: base(…)``"""
        build = self.build
        token = next((one for one in node.children if one.type in ("this", "base")), None)
        if token is not None:
            own = build.expr(CLASS) if token.type == "this" else build.expr(TYPE_OF, build.expr(SUPER))
            self.place(CALL_SITE, self.call(own, cstypes.given(child(node, "argument_list"))), token)

    def _call(self, node: Node) -> None:
        function = node.child_by_field_name("function")
        if function is None:
            return
        name: Node | None = function
        if function.type == "conditional_access_expression":
            name = arguments(function)[-1].child_by_field_name("name")
        elif function.type == "member_access_expression":
            name = function.child_by_field_name("name")
        elif function.type not in ("identifier", "generic_name"):
            return
        if name is None:
            return
        name = cstypes.name_of(name)
        if self.source[name.start_byte : name.end_byte] == b"nameof" and function.type == "identifier":
            self.used.add(name.start_byte)
            return
        if function.type == "identifier" and self.is_local(
            self.source[name.start_byte : name.end_byte], name.start_byte
        ):
            # A delegate in a variable: what is called has no name of its own.
            self.used.add(name.start_byte)
            return
        self.call_site(self.value(node), name)

    def _member(self, node: Node) -> None:
        if node.type == "conditional_access_expression":
            name = arguments(node)[-1].child_by_field_name("name")
        else:
            name = node.child_by_field_name("name")
        if name is not None and (expr := self.value(node)):
            self.place(REFERENCE_SITE, expr, cstypes.name_of(name))

    def _initialized(self) -> None:
        """``new T { P = 1 }``, ``x with { P = 1 }`` and ``x is T { P: 1 }`` name members of T or of x."""
        build = self.build
        for capture in ("init", "with", "sub"):
            for node in self.nodes.get(capture, ()):
                holder: Node | None = node.parent
                for _ in range(4):
                    if holder is None or holder.type in _HOLDERS:
                        break
                    holder = holder.parent
                if holder is None or holder.type not in _HOLDERS:
                    continue
                if capture == "sub" and not self.source[node.end_byte : node.end_byte + 8].lstrip().startswith(b":"):
                    continue
                base = self.instance(holder.child_by_field_name("type")) or self.value(holder)
                expr = build.attr(base, self.text(node)) or build.attr(build.expr(SUPER), self.text(node))
                if base:
                    self.place(REFERENCE_SITE, expr, node)
                else:
                    self.used.add(node.start_byte)


_HOLDERS = (
    "object_creation_expression",
    "implicit_object_creation_expression",
    "with_expression",
    "recursive_pattern",
)


BINDINGS: dict[str, Callable[[Sites, Node], None]] = {
    "variable_declaration": Sites._variables,
    "foreach_statement": Sites._each,
    "catch_declaration": Sites._declared,
    "declaration_pattern": Sites._declared,
    "declaration_expression": Sites._declared,
    "recursive_pattern": Sites._declared,
    "var_pattern": Sites._declared,
    "from_clause": Sites._clause,
    "join_clause": Sites._clause,
    "join_into_clause": Sites._clause,
    "let_clause": Sites._clause,
}
