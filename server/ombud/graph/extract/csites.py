"""The sites of C and C++, and the local variables that are no declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import cexprs
from ombud.graph.extract.cdeclare import declared
from ombud.graph.extract.cvariables import Variables, structured
from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import arguments
from ombud.graph.facts import (
    CALL_SITE,
    DECLARED,
    ELEM,
    INSTANCE,
    OVERLOAD,
    REFERENCE_SITE,
    SYMBOL,
    VALUE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_IGNORED = frozenset((b"auto",))


class Sites(Variables):
    """See the module."""

    # -- locals ---------------------------------------------------------------------------------------------------

    def bind_locals(self) -> None:
        for node in self.ordered("each"):
            self._each(node)
        for node in self.ordered("catch"):
            self._caught(node)
        for node in self.ordered("capture"):
            name = node.child_by_field_name("left")
            if name is not None and name.type == "identifier":
                self.local(name, VALUE, self.value(node.child_by_field_name("right")), self.here(node))
        build = self.build
        for node in self.nodes.get("return", ()):
            made = self.autos.get(self.inside.at(node.start_byte))
            if made is not None and (known := self.value(node)):
                build.symbols[made].returns.append(known)

    def _each(self, node: Node) -> None:
        declarator, body = node.child_by_field_name("declarator"), node.child_by_field_name("body")
        known = self.value(node.child_by_field_name("right"))
        given = self.build.expr(ELEM, known) if known else 0
        extent = (body.start_byte if body is not None else node.end_byte, node.end_byte)
        names = structured(declarator)
        if names is not None:
            self.unpack(names, given, extent)
            return
        found = declared(declarator)
        if found is not None:
            kind = self.kind_of(node.child_by_field_name("type"))
            if kind:
                self.local(found.name, DECLARED, self.build.expr(INSTANCE, kind), extent)
            else:
                self.local(found.name, VALUE, given, extent)

    def _caught(self, node: Node) -> None:
        for one in arguments(node.child_by_field_name("parameters")):
            found = declared(one.child_by_field_name("declarator"))
            if found is not None:
                kind = self.instance(one.child_by_field_name("type"))
                self.local(found.name, DECLARED, kind, (node.start_byte, node.end_byte))

    # -- sites ----------------------------------------------------------------------------------------------------

    def sites(self) -> None:
        nodes = self.nodes
        self._declared()
        for node in nodes.get("call", ()):
            self._call(node)
        for node in nodes.get("new", ()):
            kind = node.child_by_field_name("type")
            self._make(kind, arguments(node.child_by_field_name("arguments")))
        for node in nodes.get("literal", ()):
            kind, given = node.child_by_field_name("type"), node.child_by_field_name("value")
            self.initial(given, self.kind_of(kind))
            if self.language != "c":
                self._make(kind, arguments(given))
        for node in nodes.get("initializer", ()):
            self._initializer(node)
        for node in nodes.get("member", ()):
            name = cexprs.last_name(node.child_by_field_name("field"))
            if name is not None and (expr := self.value(node)):
                self.place(REFERENCE_SITE, expr, name)
        end = -1
        for node in self.ordered("qualified"):
            # One within another ends where that does.
            if node.end_byte != end:
                end = node.end_byte
                self._qualified(node)
        self.types(ignored=_IGNORED)
        for node in nodes.get("name", ()):
            if self.source[node.start_byte : node.end_byte] in cexprs.WORDS:
                self.used.add(node.start_byte)
        self.names()

    def _declared(self) -> None:
        """Declarations refer to their definitions."""
        build = self.build
        for made, name, scope in self.prototypes:
            symbol = build.symbols[made]
            if symbol.flags & OVERLOAD:
                # Its definition stands elsewhere, or nowhere.
                build.site_at(REFERENCE_SITE, build.expr(SYMBOL, made), max(symbol.own, scope), symbol.at)
            elif (found := build.span(name)) != symbol.at:
                build.site_at(REFERENCE_SITE, build.expr(SYMBOL, made), scope, found)

    def _call(self, node: Node) -> None:
        function = node.child_by_field_name("function")
        while function is not None and function.type in ("parenthesized_expression", "pointer_expression"):
            function = function.child_by_field_name("argument") or first(function)
        if function is None:
            return
        if function.type == "subscript_expression":
            function = function.child_by_field_name("argument")
        target = (
            function.child_by_field_name("field")
            if function is not None and function.type == "field_expression"
            else function
        )
        name = cexprs.last_name(target)
        if name is None:
            return
        word = self.source[name.start_byte : name.end_byte]
        if word in cexprs.WORDS or word.endswith(b"_cast"):
            self.used.add(name.start_byte)
            return
        self.call_site(self.value(node), name)

    def _make(self, kind: Node | None, given: list[Node]) -> None:
        """``new T(…)`` and ``T{…}``: the constructor is called where the type's name stands."""
        if kind is not None and kind.type == "type_descriptor":
            kind = kind.child_by_field_name("type")
        name = cexprs.last_name(kind)
        expr = self.kind_of(kind)
        if name is not None and expr:
            self.place(CALL_SITE, self.call(self.build.expr(INSTANCE, expr), given), name)

    def _initializer(self, node: Node) -> None:
        """``: base(…), field(…)`` of a constructor."""
        name = first(node)
        at = cexprs.last_name(name)
        if name is None or at is None or name.type == "argument_list":
            return
        given = arguments(node.named_child(node.named_child_count - 1))
        self.place(
            CALL_SITE,
            self.call(self.value(name) or cexprs.named(self, name) or self.build.named(self.text(at)), given),
            at,
        )

    def _qualified(self, node: Node) -> None:
        """The names of ``a::b::c``."""
        build = self.build
        expr, number = 0, 0
        here: Node | None = node
        while here is not None and here.type == "qualified_identifier" and number < 20:
            scope = here.child_by_field_name("scope")
            if scope is not None:
                at = cexprs.last_name(scope)
                if at is None:
                    return
                text = self.text(at)
                expr = build.attr(expr, text) if number else build.named(text)
                if at.start_byte not in self.used and expr:
                    self.place(REFERENCE_SITE, expr, at)
                number += 1
            here = here.child_by_field_name("name")
        at = cexprs.last_name(here)
        if at is None or at.start_byte in self.used:
            return
        whole = cexprs.named(self, node)
        if at.type == "type_identifier":
            whole = build.expr(INSTANCE, whole) if whole else 0
        if whole:
            self.place(REFERENCE_SITE, whole, at)
