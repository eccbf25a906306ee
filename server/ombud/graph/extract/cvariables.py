"""Variables and fields of C and C++, at the top of files, in classes and in functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import cexprs
from ombud.graph.extract.cdeclare import Declared, declared, parameters
from ombud.graph.extract.cfunctions import WORDS, Functions, Prior
from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import Frame, Opened, arguments
from ombud.graph.facts import (
    CALL_SITE,
    CLASS_SCOPE,
    CONSTANT,
    DECLARED,
    ELEM,
    FIELD,
    INSTANCE,
    MODULE_SCOPE,
    OVERLOAD,
    REFERENCE_SITE,
    STATIC,
    TYPE_OF,
    VALUE,
    VARIABLE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_GIVEN = ("argument_list", "initializer_list")
_PRIMITIVE = (
    "bool",
    "char",
    "char*",
    "double",
    "float",
    "function",
    "int",
    "size_t",
    "uint8_t",
    "uint32_t",
    "uint64_t",
    "int64_t",
)


_SHOWN = 200
"""Bytes of a variable's declaration that are its signature, for tables have no end."""


def _kind_of(words: set[str], found: Declared, in_class: bool) -> int:
    """A pointer to something constant is none; a field that each instance has is none."""
    if "constexpr" in words or ("const" in words and not found.indirect):
        return CONSTANT if not in_class or "static" in words else FIELD
    return FIELD if in_class else VARIABLE


class Variables(Functions):
    """See the module."""

    def declaration(self, node: Node, frame: Frame) -> Opened:
        """Any declaration: of functions, variables, fields, locals."""
        kind = self.build.scope_kind(frame.scope)
        opened: Opened = None
        for one in node.children_by_field_name("declarator"):
            found = declared(one)
            if found is None:
                self.later.append((self._unpacked, (one, node)))
                continue
            if self.text(found.name) in WORDS:
                continue
            if kind not in (CLASS_SCOPE, MODULE_SCOPE):
                self.later.append((self._local, (node, one, found)))
            elif found.function is not None:
                if not self._is_friend(node):
                    made = self.function_of(node, found, frame, defined=False)
                    own = self.build.symbols[made].own
                    opened = (
                        (found.function.start_byte, own, made) if self.build.symbols[made].flags & OVERLOAD else None
                    )
            else:
                self._variable(node, one, found, frame)
        return opened

    def _is_friend(self, node: Node) -> bool:
        return node.parent is not None and node.parent.type == "friend_declaration"

    def _variable(self, node: Node, one: Node, found: Declared, frame: Frame) -> None:
        build = self.build
        words = self.words(node)
        in_class = build.scope_kind(frame.scope) == CLASS_SCOPE
        if found.scopes:
            _, owner = self.owner_of(found, frame)
            if owner:
                self.later.append((self._outside, (found.name, owner)))
            return
        name = self.text(found.name)
        declares = "extern" in words and one.type != "init_declarator"
        key = (frame.symbol if frame.scope else 0, f"{name}=")
        prior = next(iter(self.priors.get(key, ())), None) if not in_class else None
        if prior is not None:
            self.used.add(found.name.start_byte)
            if declares or prior.defined:
                self.prototypes.append((prior.made, found.name, frame.scope))
                return
            made = prior.made
            self.prototypes.append((made, found.name, frame.scope))
            self.moved(made, node, found.name)
        else:
            made = self.declare(node, found.name, _kind_of(words, found, in_class), frame)
        symbol = build.symbols[made]
        if not in_class:
            self.priors[key] = [Prior(made, (), not declares)]
        if declares:
            symbol.flags |= OVERLOAD
            self.prototypes.append((made, found.name, frame.scope))
        if "static" not in words or in_class:
            symbol.flags |= self.shown(frame, node)
        if in_class and "static" in words:
            symbol.flags |= STATIC
        end = min(node.end_byte, node.start_byte + _SHOWN)
        symbol.signature = self.signature(node.start_byte, end).removesuffix(";").rstrip()
        symbol.doc = self.doc(node)
        self.later.append((self._holds, (node, one, found, made)))

    def _outside(self, name: Node, owner: int) -> None:
        """``int A::count = 0;`` is a reference to the member."""
        self.place(REFERENCE_SITE, self.build.attr(owner, self.text(name)), name)

    def _holds(self, node: Node, one: Node, found: Declared, made: int) -> None:
        symbol = self.build.symbols[made]
        symbol.type = self._kind(node, one, found)
        value = one.child_by_field_name("value") or node.child_by_field_name("default_value")
        if not symbol.type:
            symbol.value = self.value(value)
        self.initial(value, symbol.type)
        if symbol.kind in (VARIABLE, CONSTANT):
            self._constructed(found, symbol.type, value, made)

    def _kind(self, node: Node, one: Node, found: Declared) -> int:
        if found.called or found.function is not None:
            return self.build.named("function")
        inner = one.child_by_field_name("declarator") if one.type == "init_declarator" else one
        return cexprs.starred(self, self.kind_of(self.type_of(node)), inner)

    def _constructed(self, found: Declared, kind: int, value: Node | None, made: int = -1) -> None:
        """A constructor is called where a variable of a class is declared."""
        if self.language == "c" or not kind or found.indirect or (value is not None and value.type not in _GIVEN):
            return
        build = self.build
        if build.expr(1, build.name("int")) == kind or self._is_plain(kind):
            return
        expr = self.call(build.expr(TYPE_OF, build.expr(INSTANCE, kind)), arguments(value))
        scope = build.symbols[made].scope if made >= 0 else self.inside.at(found.name.start_byte)
        build.site(CALL_SITE, expr, scope, found.name)

    def _is_plain(self, kind: int) -> bool:
        return kind in {self.build.named(word) for word in _PRIMITIVE}

    def _local(self, node: Node, one: Node, found: Declared) -> None:
        """A variable of a function; ``T x(a);`` reads like a function's declaration."""
        build = self.build
        if found.scopes or found.name.type not in ("identifier", "type_identifier"):
            return
        value = one.child_by_field_name("value") or node.child_by_field_name("value")
        if found.function is not None:
            if not self._vexing(found):
                self.used.add(found.name.start_byte)
                return
            value = None
        kind = self.kind_of(self.type_of(node)) if found.function is not None else self._kind(node, one, found)
        extent = self.here(node, found.name.end_byte)
        if kind:
            self.local(found.name, DECLARED, build.expr(INSTANCE, kind), extent)
        else:
            known = self.value(value if value is None or value.type not in _GIVEN else first(value))
            extent = self.here(node, one.end_byte) if value is not None else extent
            self.local(found.name, VALUE, known, extent)
        self.initial(value, kind)
        if found.function is None:
            self._constructed(found, kind, value)
        elif kind:
            given = [build.named(self.text(first(param))) for param in parameters(found.function)]
            expr = build.expr(3, build.expr(TYPE_OF, build.expr(INSTANCE, kind)), len(given))
            build.site(CALL_SITE, expr, self.inside.at(found.name.start_byte), found.name)

    def _vexing(self, found: Declared) -> bool:
        """Whether what reads like parameters are arguments: bare names; in C, of which one is a local variable."""
        given = parameters(found.function)
        if not given:
            return False
        for one in given:
            name = first(one)
            if one.type != "parameter_declaration" or one.named_child_count != 1 or name is None:
                return False
            if name.type != "type_identifier":
                return False
        if self.language != "c":
            return True
        names = [first(one) for one in given]
        return any(
            name is not None and self.is_local(self.source[name.start_byte : name.end_byte], name.start_byte)
            for name in names
        )

    def _unpacked(self, one: Node, node: Node) -> None:
        """``auto [a, b] = …;``"""
        inner = structured(one)
        if inner is None:
            return
        known = self.value(one.child_by_field_name("value"))
        self.unpack(inner, known, self.here(node))

    def unpack(self, names: Node, known: int, extent: tuple[int, int]) -> None:
        for number, name in enumerate(arguments(names), 1):
            self.local(name, VALUE, self.build.expr(ELEM, known, number) if known else 0, extent)

    def initial(self, value: Node | None, kind: int) -> None:
        """The names of fields in ``{.a = 1}``."""
        if value is None or not kind or value.type != "initializer_list":
            return
        build = self.build
        for pair in value.named_children:
            if pair.type != "initializer_pair":
                if pair.type == "initializer_list":
                    self.initial(pair, kind)
                continue
            designator = next((c for c in pair.named_children if c.type == "field_designator"), None)
            name = first(designator)
            if name is not None:
                self.place(REFERENCE_SITE, build.attr(build.expr(INSTANCE, kind), self.text(name)), name)
            else:
                self.initial(pair.child_by_field_name("value"), kind)


def structured(node: Node | None) -> Node | None:
    """The names of a structured binding."""
    for _ in range(4):
        if node is None or node.type == "structured_binding_declarator":
            return node
        node = node.child_by_field_name("declarator") or first(node)
    return None
