"""What Rust's expressions, patterns and macros name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract import rusttokens
from ombud.graph.extract.extraction import Extraction, Nest, first
from ombud.graph.extract.rusttypes import PRIMITIVE, kind_of, path, value
from ombud.graph.facts import ATTR, CALL_SITE, REFERENCE_SITE

if TYPE_CHECKING:
    from tree_sitter import Node


class Names(Extraction):
    """The part of `ombud.graph.extract.rust` that follows the definitions."""

    depth: int
    known: dict[int, int]
    scopes: dict[int, int]
    tokens: dict[int, int]
    """Token trees → the expression of the first thing in them."""
    local: dict[bytes, set[int]]
    """Names bound within functions, types and impl blocks → the scopes that bind them."""
    holders: Nest
    """Scopes as they lie around items: `inside` has holes where names are none."""

    def word(self, node: Node) -> str:
        return self.text(node).removeprefix("r#")

    def hole(self, node: Node) -> bytes:
        """The text of a type, to see whether it has a hole, ``_``, in it."""
        return b"_" if re.search(rb"\b_\b", self.source[node.start_byte : node.end_byte]) else b""

    def macro_name(self, expr: int, word: str) -> int:
        """The expression of ``name!``: of the path that ends in the name."""
        del expr
        return self.build.named(f"{word}!")

    def holder(self, node: Node) -> int:
        """The scope that an item is declared in."""
        return self.holders.at(node.start_byte)

    def bind(self, scope: int, name: Node, what: int, expr: int, start: int = 0) -> None:
        """Bind a name that is local."""
        word = self.source[name.start_byte : name.end_byte].removeprefix(b"r#")
        self.used.add(name.start_byte)
        self.local.setdefault(word, set()).add(scope)
        self.build.bind(scope, word.decode("utf-8", "replace"), what, expr, start)

    def attributes(self, node: Node) -> str:
        """The text of the attributes above an item."""
        found = []
        before = node.prev_sibling
        while before is not None and (before.type == "attribute_item" or "comment" in before.type):
            if before.type == "attribute_item":
                found.append(self.text(before))
            before = before.prev_sibling
        return "\n".join(found)

    def doc(self, node: Node) -> str:
        """The doc comments above an item and its attributes."""
        before: Node | None = node
        while before is not None and before.prev_sibling is not None and before.prev_sibling.type == "attribute_item":
            before = before.prev_sibling
        lines = []
        above = before.prev_sibling if before is not None else None
        while above is not None and "comment" in above.type:
            text = self.text(above)
            if text.startswith(("///", "/**")):
                lines.append(text.rstrip("\n"))
            above = above.prev_sibling
        return self.comment("\n".join(reversed(lines))) if lines else ""

    def inner_doc(self, node: Node) -> str:
        """The comments that speak of what they stand in."""
        lines = []
        for one in node.named_children:
            text = self.text(one) if "comment" in one.type else ""
            if text.startswith(("//!", "/*!")):
                lines.append(text.rstrip("\n"))
            elif not text:
                break
        return self.comment("\n".join(lines)) if lines else ""

    def macros(self) -> None:
        """Macros and what their brackets hold, the outer ones first: those within are tokens."""
        end = 0
        regions: list[tuple[int, int, int]] = []
        for node in self.ordered("macro"):
            scope = self.inside.at(node.start_byte)
            if scope < 0 or node.start_byte < end:
                continue
            end = node.end_byte
            name = node.child_by_field_name("macro")
            if name is not None:
                last = name.child_by_field_name("name") if name.type == "scoped_identifier" else name
                if last is not None and last.start_byte not in self.used:
                    self.used.add(last.start_byte)
                    self.build.site(CALL_SITE, self._macro(name, last), scope, last)
            for one in node.named_children:
                if one.type == "token_tree":
                    self.tokens[one.id] = rusttokens.read(self, one, scope)
                    regions.append((one.start_byte, one.end_byte, -1))
        self.dead = Nest(regions) if regions else None

    def _macro(self, name: Node, last: Node) -> int:
        if name.type != "scoped_identifier":
            return self.build.named(f"{self.word(last)}!")
        base = path(self, name.child_by_field_name("path"))
        return self.build.expr(ATTR, base, self.build.name(f"{self.word(last)}!"))

    def sites(self) -> None:
        """Sites of fields, calls, members and paths; then of all names that are none of these and not local."""
        nodes = self.nodes
        for node in nodes.get("struct", ()):
            self._initialised(node)
        for node in nodes.get("pattern", ()):
            self._taken(node)
        for node in nodes.get("call", ()):
            function = node.child_by_field_name("function")
            while function is not None and function.type in ("generic_function", "parenthesized_expression"):
                function = function.child_by_field_name("function") or first(function)
            if function is not None and function.type in ("identifier", "scoped_identifier", "field_expression"):
                self._site(CALL_SITE, function)
        for capture in ("field", "scoped"):
            for node in nodes.get(capture, ()):
                self._site(REFERENCE_SITE, node)
        self._names()

    def _taken(self, node: Node) -> None:
        """The fields that a pattern takes are sites already, where the pattern is one that binds."""
        for one in node.named_children:
            name = one.child_by_field_name("name") if one.type == "field_pattern" else None
            if name is not None:
                self.used.add(name.start_byte)

    def _names(self) -> None:
        nodes = self.nodes
        build, used, source, local = self.build, self.used, self.source, self.local
        for node in (*nodes.get("name", ()), *nodes.get("type", ())):
            start = node.start_byte
            if start in used:
                continue
            word = source[start : node.end_byte]
            if word in _WORDS or (word in local and self._is_local(word, start)):
                continue
            scope = self.inside.at(start)
            if scope < 0 or (self.dead is not None and self.dead.at(start) < 0):
                continue
            build.site(REFERENCE_SITE, build.named(word.decode("utf-8", "replace").removeprefix("r#")), scope, node)

    def _is_local(self, word: bytes, start: int) -> bool:
        scopes = self.local[word]
        scope = self.inside.at(start)
        while scope > 0:
            if scope in scopes:
                return True
            scope = self.build.parent_scope(scope)
        return False

    def _initialised(self, node: Node) -> None:
        """The fields that a struct expression gives."""
        kind, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        held = kind_of(self, kind)
        for one in body.named_children if body is not None and held else ():
            name = one.child_by_field_name("field") if one.type == "field_initializer" else None
            if one.type == "shorthand_field_initializer":
                name = first(one)
            if name is not None and name.type != "integer_literal" and name.start_byte not in self.used:
                self.used.add(name.start_byte)
                expr = self.build.attr(held, self.word(name))
                self.build.site(REFERENCE_SITE, expr, self.inside.at(name.start_byte), name)

    def _site(self, kind: int, node: Node) -> None:
        """A site at the last name of a path or a member expression."""
        name: Node | None = node
        if node.type != "identifier":
            name = node.child_by_field_name("field" if node.type == "field_expression" else "name")
        if name is None or name.start_byte in self.used or name.type == "integer_literal":
            return
        scope = self.inside.at(name.start_byte)
        if scope < 0:
            return
        self.used.add(name.start_byte)
        if name.type in ("self", "super"):
            return
        expr = value(self, node) if node.type != "scoped_type_identifier" else kind_of(self, node)
        if not expr and kind == CALL_SITE:
            expr = self.build.expr(ATTR, 0, self.build.name(self.word(name)))
        if expr:
            self.build.site(kind, expr, scope, name)


_WORDS = frozenset(word.encode() for word in (*PRIMITIVE, "Some", "None", "Ok", "Err"))
