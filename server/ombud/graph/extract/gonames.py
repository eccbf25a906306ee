"""What Go's statements bind, and what its expressions name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import gotypes
from ombud.graph.extract.extraction import Extraction, first
from ombud.graph.extract.gotypes import PREDECLARED, instance, kind_of, value
from ombud.graph.facts import (
    ATTR,
    CALL_SITE,
    CONSTANT,
    DECLARED,
    ELEM,
    EXPORTED,
    INSTANCE,
    NARROWED,
    REFERENCE_SITE,
    TO_SYMBOL,
    VALUE,
    VARIABLE,
)

if TYPE_CHECKING:
    from tree_sitter import Node


class Names(Extraction):
    """The part of `ombud.graph.extract.go` that follows the definitions."""

    depth: int
    known: dict[int, int]
    scopes: dict[int, int]
    structs: dict[int, int]
    local: dict[bytes, set[int]]
    """Names bound within functions and types → the scopes that bind them."""
    packages: set[bytes]
    """Names of imported packages."""

    def symbol(self, name: Node, node: Node, kind: int, parent: int, scope: int, called: str = "") -> int:
        """A new symbol. ``called`` is its name with its type's, where that has no symbol here."""
        build = self.build
        text = self.text(name)
        self.used.add(name.start_byte)
        where = (*build.start(node), *build.end(node))
        made = build.symbol(called or text, kind, parent, scope, where, build.span(name))
        symbol = build.symbols[made]
        symbol.name = text
        symbol.flags = EXPORTED if text[:1].isupper() else 0
        return made

    def doc(self, node: Node) -> str:
        """The comment above, also above the keyword of a declaration that holds one thing only."""
        found = self.comment_above(node)
        parent = node.parent
        if not found and parent is not None and parent.named_child_count == 1 and parent.type.endswith("declaration"):
            return self.comment_above(parent)
        return found

    def bind(self, scope: int, name: Node, what: int, expr: int, start: int = 0) -> None:
        """Bind a name, which is local unless the scope is the file's."""
        word = self.source[name.start_byte : name.end_byte]
        self.used.add(name.start_byte)
        if word == b"_":
            return
        if scope:
            self.local.setdefault(word, set()).add(scope)
        self.build.bind(scope, word.decode("utf-8", "replace"), what, expr, start)

    def constants(self) -> None:
        """``const ( A T = iota; B )``: B has the type and the value of A."""
        self.repeated: dict[int, tuple[Node | None, Node | None]] = {}
        kind = given = group = None
        for node in self.ordered("binding"):
            if node.type != "const_spec":
                continue
            parent = node.parent
            above = parent.id if parent is not None else None
            hint, values = node.child_by_field_name("type"), node.child_by_field_name("value")
            if values is not None or above != group:
                kind, given, group = hint, values, above
            self.repeated[node.id] = (kind, given)

    def _spec(self, node: Node) -> None:
        """``var`` and ``const``: symbols of the file, or names within a function."""
        hint, values = node.child_by_field_name("type"), node.child_by_field_name("value")
        if node.type == "const_spec":
            hint, values = self.repeated.get(node.id, (hint, values))
        kind = kind_of(self, hint) if hint is not None else 0
        names = node.children_by_field_name("name")
        exprs = self._values(values, len(names))
        scope = self.inside.at(node.start_byte)
        for name, expr in zip(names, exprs, strict=True):
            if scope:
                known = self.build.expr(INSTANCE, kind) if kind else expr
                self.bind(scope, name, DECLARED if kind else VALUE, known, node.end_byte)
                continue
            self.used.add(name.start_byte)
            if self.text(name) == "_":
                continue
            made = self.symbol(name, node, CONSTANT if node.type == "const_spec" else VARIABLE, 0, 0)
            symbol = self.build.symbols[made]
            word = node.type.partition("_")[0]
            symbol.signature = f"{word} " + self.signature(node.start_byte, node.end_byte)[:120]
            symbol.doc = self.doc(node)
            symbol.type, symbol.value = kind, expr
            self.build.bind(0, symbol.name, TO_SYMBOL, made)

    def _values(self, right: Node | None, count: int) -> list[int]:
        """What each of ``count`` names on the left is given."""
        given = [one for one in right.named_children if one.type != "comment"] if right is not None else []
        if right is not None and right.type != "expression_list":
            given = [right]
        if len(given) == count:
            return [value(self, one) for one in given]
        if len(given) != 1:
            return [0] * count
        expr = value(self, given[0])
        if given[0].type in ("type_assertion_expression", "index_expression", "unary_expression"):
            # ``v, ok := …``
            return [expr, *[0] * (count - 1)]
        return [self.build.expr(ELEM, expr, number) if expr else 0 for number in range(1, count + 1)]

    def _short(self, node: Node) -> None:
        left = node.child_by_field_name("left")
        names = left.named_children if left is not None else []
        exprs = self._values(node.child_by_field_name("right"), len(names))
        scope = self.inside.at(node.start_byte)
        for name, expr in zip(names, exprs, strict=True):
            if name.type == "identifier" and not self._again(scope, name, len(names)):
                self.bind(scope, name, VALUE, expr, node.end_byte)

    def _again(self, scope: int, name: Node, count: int) -> bool:
        """Whether ``a, b := …`` only assigns to this one, for its scope has it already."""
        return count > 1 and scope in self.local.get(self.source[name.start_byte : name.end_byte], ())

    def _range(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or b":=" not in self.source[left.end_byte : right.start_byte]:
            return
        given = gotypes.ranged(self, right)
        scope = self.inside.at(node.start_byte)
        for number, name in enumerate(left.named_children, 1):
            if name.type == "identifier":
                expr = self.build.expr(ELEM, given, number) if given else 0
                self.bind(scope, name, VALUE, expr, node.end_byte)

    def _receive(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or b":=" not in self.source[left.end_byte : right.start_byte]:
            return
        scope = self.inside.at(node.start_byte)
        for number, name in enumerate(left.named_children):
            if name.type == "identifier":
                self.bind(scope, name, VALUE, 0 if number else value(self, right), node.end_byte)

    def switch(self, node: Node) -> None:
        """``switch x := y.(type)``: in a case of one type, x is of it."""
        alias, given = node.child_by_field_name("alias"), node.child_by_field_name("value")
        name = first(alias)
        if name is None or given is None:
            return
        scope = self.inside.at(node.start_byte)
        self.bind(scope, name, VALUE, value(self, given), name.end_byte)
        for case in node.named_children:
            if case.type != "type_case":
                continue
            kinds = [one for one in case.children_by_field_name("type") if one.is_named]
            known = instance(self, kinds[0]) if len(kinds) == 1 else 0
            if known:
                start, end = kinds[0].end_byte, case.end_byte
                self.build.bind(scope, self.text(name), NARROWED, known, start, end)

    # -- sites ----------------------------------------------------------------------------------------------------

    def sites(self) -> None:
        for node in self.nodes.get("composite", ()):
            body, kind = node.child_by_field_name("body"), node.child_by_field_name("type")
            if body is not None and kind is not None:
                gotypes.literal(self, body, kind, value(self, node))
        for node in self.nodes.get("call", ()):
            self._callee(node.child_by_field_name("function"))
        for node in self.nodes.get("generic", ()):
            kind = node.child_by_field_name("type")
            self._callee(kind.child_by_field_name("type") if kind is not None else None)
        for node in self.nodes.get("selector", ()):
            self._site(REFERENCE_SITE, node, "field")
        for node in self.nodes.get("qualified", ()):
            self._site(REFERENCE_SITE, node, "name")
        names = [*self.nodes.get("name", ()), *self.nodes.get("type", ())]
        build, used, source, local = self.build, self.used, self.source, self.local
        packages = self.packages
        for node in names:
            start = node.start_byte
            if start in used:
                continue
            word = source[start : node.end_byte]
            if word in _WORDS or word in packages or (word in local and self._is_local(word, start)):
                continue
            build.site(REFERENCE_SITE, build.named(word.decode("utf-8", "replace")), self.inside.at(start), node)

    def _is_local(self, word: bytes, start: int) -> bool:
        scopes = self.local[word]
        scope = self.inside.at(start)
        while scope > 0:
            if scope in scopes:
                return True
            scope = self.build.parent_scope(scope)
        return False

    def _callee(self, node: Node | None) -> None:
        while node is not None and node.type in ("parenthesized_expression", "index_expression", "unary_expression"):
            if node.type == "index_expression" and not self._instantiates(node):
                return
            node = node.child_by_field_name("operand") or first(node)
        if node is None:
            return
        if node.type == "selector_expression":
            self._site(CALL_SITE, node, "field")
        elif node.type == "qualified_type":
            self._site(CALL_SITE, node, "name")
        elif node.type in ("identifier", "type_identifier"):
            word = self.source[node.start_byte : node.end_byte]
            if node.start_byte not in self.used and word not in _WORDS:
                self.used.add(node.start_byte)
                expr = self.build.named(word.decode("utf-8", "replace"))
                self.build.site(CALL_SITE, expr, self.inside.at(node.start_byte), node)

    def _instantiates(self, node: Node) -> bool:
        """Whether ``a[b]`` may be a generic function with its type, not an element of something local."""
        base, key = node.child_by_field_name("operand"), node.child_by_field_name("index")
        if base is None or base.type not in ("identifier", "selector_expression"):
            return False
        if key is None or key.type.endswith(("_literal", "call_expression", "binary_expression")):
            return False
        word = self.source[base.start_byte : base.end_byte]
        return word not in self.local or not self._is_local(word, base.start_byte)

    def _site(self, kind: int, node: Node, field: str) -> None:
        """A site at the last name of ``a.b``."""
        name = node.child_by_field_name(field)
        if name is None or name.start_byte in self.used:
            return
        self.used.add(name.start_byte)
        expr = kind_of(self, node) if field == "name" else value(self, node)
        if not expr and kind == CALL_SITE:
            expr = self.build.expr(ATTR, 0, self.build.name(self.text(name)))
        if expr:
            self.build.site(kind, expr, self.inside.at(node.start_byte), name)

    def member(self, name: Node, given: int) -> None:
        """A reference to a member of the value ``given``."""
        if name.start_byte not in self.used:
            self.used.add(name.start_byte)
            expr = self.build.attr(given, self.text(name))
            self.build.site(REFERENCE_SITE, expr, self.inside.at(name.start_byte), name)


_WORDS = frozenset(word.encode() for word in PREDECLARED)
BINDINGS = {
    "short_var_declaration": Names._short,
    "var_spec": Names._spec,
    "const_spec": Names._spec,
    "range_clause": Names._range,
    "receive_statement": Names._receive,
}
