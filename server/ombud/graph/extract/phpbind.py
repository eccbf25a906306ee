"""What PHP's statements bind: variables of functions, fields of ``$this``; and what tests say of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import Nest, first
from ombud.graph.extract.phpdocs import declared, tags
from ombud.graph.extract.phptypes import DEEPEST, NAMES, Values
from ombud.graph.facts import (
    ELEM,
    EXPORTED,
    GENERATOR,
    INDEX,
    LAST,
    NARROWED,
    OUTER,
    PROPERTY,
    REFERENCE_SITE,
    RETURNED,
    TO_SYMBOL,
    VALUE,
    VARIABLE,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

MOST = 200
"""Values, and as many tests, of one variable in one function that are told apart. A text with more is made by a
program: each of them is compared with all others, so from there on nothing is said of the variable."""
_CLIMB = 12
"""Operators around a test that are heeded."""
_LEAVING = frozenset(("return_statement", "continue_statement", "break_statement", "exit_statement"))
_PAIR = frozenset(("pair", "array_element_initializer"))


class Bindings(Values):
    """The part of `Php` that binds names, once all scopes are known."""

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        self.properties: dict[tuple[int, str], int] = {}
        """(scope of a class, name) → the symbol of the property."""
        self.open_classes: set[int] = set()
        """Symbols of the classes whose properties may stand in another."""
        self.closures: set[int] = set()
        self.assigned: dict[tuple[int, str], list[int]] = {}
        """(scope, variable) → the offsets from which on it holds something new."""
        self.tests: dict[tuple[int, str], int] = {}
        self.globals: dict[str, int] = {}
        self.blocks = Nest(())
        self.spaces: dict[int, str] = {0: ""}
        """Scope of a namespace → its name, where that is not the file's package."""
        self.typed: dict[int, int] = {}
        """Offset of a statement → an INSTANCE of what a comment says that it assigns."""

    # -- variables ------------------------------------------------------------------------------------------------

    def variable(self, target: Node, expr: int, start: int, end: int = 0) -> None:
        """A variable is given a value, for the uses from ``start`` on."""
        text = self.text(target)
        if text == "$this":
            return
        scope = self.inside.at(target.start_byte)
        self.given(scope, text, expr, start, end or self.blocks.at(target.start_byte))

    def given(self, scope: int, text: str, expr: int, start: int, end: int = 0) -> None:
        """A variable of a scope holds a value between two offsets."""
        every = self.assigned.setdefault((scope, text), [])
        every.append(start)
        if len(every) < MOST:
            self.build.bind(scope, text, VALUE, expr, start, end)
        elif len(every) == MOST:
            self.build.bind(scope, text, VALUE, 0, start)

    def assign(self, target: Node, expr: int, node: Node, start: int = 0, depth: int = 0) -> None:
        """Everything that a pattern names is given a part of a value. ``node`` is the statement."""
        build, kind = self.build, target.type
        if depth > DEEPEST:
            return
        start = start or node.end_byte
        if kind == "variable_name":
            self.variable(target, expr, start)
            if node.type == "assignment_expression" and build.scope_kind(self.inside.at(node.start_byte)) == 0:
                self._global(target, node)
        elif kind in ("member_access_expression", "scoped_property_access_expression"):
            self._property(target, expr, node)
        elif kind == "subscript_expression":
            self._item(target, expr, node, start)
        elif kind in ("list_literal", "array_creation_expression"):
            self._parts(target, expr, node, start, depth)
        elif kind == "by_ref" and first(target) is not None:
            self.assign(target.named_children[0], expr, node, start, depth + 1)

    def _parts(self, target: Node, expr: int, node: Node, start: int, depth: int) -> None:
        build = self.build
        place, keyed = 1, False
        for part in target.children:
            if part.type == ",":
                place, keyed = place + 1, False
            elif part.type == "=>":
                keyed = True
            elif part.is_named and part.type != "comment" and not self._is_key(part):
                inner = part.named_children[-1] if part.type in _PAIR and part.named_child_count else part
                known = 0
                if expr:
                    known = build.expr(INDEX, expr) if keyed or inner is not part else build.expr(ELEM, expr, place)
                self.assign(inner, known, node, start, depth + 1)

    @staticmethod
    def _is_key(part: Node) -> bool:
        following = part.next_sibling
        return following is not None and following.type == "=>"

    def _item(self, target: Node, expr: int, node: Node, start: int) -> None:
        """``$a[] = v``: what the array holds may be that, too."""
        base = first(target)
        if base is None or not expr:
            return
        if base.type == "variable_name":
            self.variable(base, self.literal("array", expr), start, start + 1)
        elif base.type in ("member_access_expression", "scoped_property_access_expression"):
            scope = self.inside.at(node.start_byte)
            self._property(base, self.literal("array", self.build.expr(WITHIN, scope, expr)), node, False)

    def _global(self, target: Node, node: Node) -> None:
        """The symbol of a variable that no function is around."""
        build, text = self.build, self.text(target)
        if text in self.globals or self.inside.at(node.start_byte) not in self.spaces:
            return
        scope = self.inside.at(node.start_byte)
        where = (*build.start(node), *build.end(node))
        made = build.symbol(text, VARIABLE, build.symbol_of(scope), scope, where, build.span(target))
        build.symbols[made].flags = EXPORTED
        build.symbols[made].signature = self.signature(node.start_byte, node.end_byte)[:120]
        self.globals[text] = made
        build.bind(0, f"<{text}>", TO_SYMBOL, made)

    def _property(self, target: Node, expr: int, node: Node, within: bool = True) -> None:
        """``$this->x = …`` and ``self::$x = …``: what the property holds; the first one of a name may define it."""
        base = target.child_by_field_name("object") or target.child_by_field_name("scope")
        name = target.child_by_field_name("name")
        if base is None or name is None or self.word(base).lower() not in ("$this", "self", "static"):
            return
        static = target.type == "scoped_property_access_expression"
        if name.type != ("variable_name" if static else "name"):
            return
        build, scope = self.build, self.inside.at(target.start_byte)
        holder = self.holder(target.start_byte)
        own = build.symbols[holder].own if holder else -1
        text = self.text(name) if static else "$" + self.text(name)
        if own < 0:
            return
        found = self.properties.get((own, text))
        if found is None:
            if holder in self.open_classes or static:
                return
            found = self._defined(name, text, node, holder)
        if expr:
            build.bind(own, text, VALUE, build.expr(WITHIN, scope, expr) if within else expr, node.start_byte)

    def _defined(self, name: Node, text: str, node: Node, holder: int) -> int:
        build = self.build
        own = build.symbols[holder].own
        self.used.add(name.start_byte)
        found = build.symbol(text, PROPERTY, holder, own, (*build.start(node), *build.end(node)), build.span(name))
        symbol = build.symbols[found]
        symbol.flags = build.symbols[holder].flags & EXPORTED
        symbol.signature = self.signature(node.start_byte, node.end_byte)[:120]
        self.properties[own, text] = found
        build.bind(own, text, TO_SYMBOL, found)
        return found

    # -- statements -----------------------------------------------------------------------------------------------

    def _assignment(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None:
            return
        expr = self.typed.get(node.start_byte, 0) or self.value(right)
        if node.type == "augmented_assignment_expression":
            operator = node.child_by_field_name("operator")
            if operator is None or operator.type != "??=":
                return
            if left.type == "variable_name":
                self.variable(left, expr, node.end_byte, node.end_byte + 1)
                return
        self.assign(left, expr, node)

    def _foreach(self, node: Node) -> None:
        parts = [one for one in node.named_children if one.type != "comment"]
        body = node.child_by_field_name("body")
        if len(parts) < 2:
            return
        known = self.value(parts[0])
        element = self.build.expr(ELEM, known) if known else 0
        target = parts[1]
        if target.type == "pair" and target.named_child_count > 1:
            key = target.named_children[0]
            if key.type == "variable_name":
                self.variable(key, 0, key.end_byte)
            target = target.named_children[-1]
        start = body.start_byte if body is not None else target.end_byte
        self.assign(target, self.typed.get(node.start_byte, 0) or element, node, start)

    def _catch(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and name.type == "variable_name":
            self.variable(name, self.of(self.kind_of(node.child_by_field_name("type"))), name.start_byte)

    def _static(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and name.type == "variable_name":
            self.variable(name, self.value(node.child_by_field_name("value")), name.start_byte, name.start_byte + 1)

    def _global_statement(self, node: Node) -> None:
        scope = self.inside.at(node.start_byte)
        for one in node.named_children:
            if one.type != "variable_name" or scope in self.spaces:
                continue
            text = self.text(one)
            self.build.bind(scope, text, OUTER, 0)
            self.build.site(REFERENCE_SITE, self.build.named(f"<{text}>"), scope, one)

    def _commented(self, node: Node) -> None:
        """``/** @var T $x */``: where it stands over an assignment it says what is assigned."""
        if not self.source.startswith(b"/**", node.start_byte):
            return
        for tag, rest in tags(self.text(node)):
            following = node.next_named_sibling
            if tag != "var" or following is None or following.type in _DEFINED:
                continue
            kind, name = declared(self, rest, node.start_byte)
            if kind:
                self._said(node, following, name, self.of(kind))

    def _said(self, node: Node, following: Node, name: str, expr: int) -> None:
        inner = first(following) if following.type == "expression_statement" else following
        target = inner.child_by_field_name("left") if inner is not None else None
        if inner is not None and inner.type == "foreach_statement":
            last = [one for one in inner.named_children if one.type in ("pair", "variable_name", "by_ref")][-1:]
            target = last[0] if last else None
            while target is not None and target.type != "variable_name" and target.named_child_count:
                target = target.named_children[-1]
        if inner is not None and target is not None and name in ("", self.text(target)):
            self.typed[inner.start_byte] = expr
        elif name and name != "$this":
            scope = self.inside.at(node.start_byte)
            self.given(scope, name, expr, node.end_byte)

    # -- tests ----------------------------------------------------------------------------------------------------

    def narrow(self, node: Node) -> None:
        """``$x instanceof T`` says what ``$x`` is where the test holds, and behind an ``if`` that leaves otherwise."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or left.type != "variable_name" or right.type not in NAMES:
            return
        if self.tests.get((self.inside.at(left.start_byte), self.text(left)), 0) >= MOST:
            return
        expr = self.of(self.class_named(self.word(right), right.start_byte))
        here, positive = node, True
        above = here.parent
        for _ in range(_CLIMB):
            if above is None:
                return
            if above.type == "unary_op_expression" and self.source[above.start_byte : above.start_byte + 1] == b"!":
                positive = not positive
            elif above.type == "binary_expression":
                operator = above.child_by_field_name("operator")
                sign = operator.type.lower() if operator is not None else ""
                if sign not in (("&&", "and") if positive else ("||", "or")):
                    return
                self._holds(left, expr, node.end_byte, above.end_byte)
            elif above.type not in ("parenthesized_expression", "match_condition_list"):
                break
            here, above = above, above.parent
        if above is not None:
            self._tested(left, expr, here, above, positive)

    def _tested(self, name: Node, expr: int, test: Node, around: Node, positive: bool) -> None:
        kind = around.type
        body = around.child_by_field_name("body")
        if kind in ("if_statement", "else_if_clause", "while_statement"):
            if positive and body is not None:
                self._holds(name, expr, body.start_byte, body.end_byte)
            elif body is not None and kind == "if_statement":
                for other in around.children_by_field_name("alternative"):
                    self._holds(name, expr, other.start_byte, other.end_byte)
                if self._leaves(body) and around.parent is not None:
                    self._holds(name, expr, around.end_byte, around.parent.end_byte)
        elif kind == "conditional_expression":
            side = body if positive else around.child_by_field_name("alternative")
            if side is not None and side.id != test.id:
                self._holds(name, expr, side.start_byte, side.end_byte)
        elif kind == "match_conditional_expression" and positive:
            self._holds(name, expr, test.end_byte, around.end_byte)
        elif kind == "argument" and positive:
            call = around.parent.parent if around.parent is not None else None
            statement = call.parent if call is not None else None
            if (
                call is not None
                and statement is not None
                and statement.parent is not None
                and self.text(call.child_by_field_name("function")).lower() in ("assert", "\\assert")
            ):
                self._holds(name, expr, statement.end_byte, statement.parent.end_byte)

    @staticmethod
    def _leaves(body: Node) -> bool:
        last = body
        if body.type in ("compound_statement", "colon_block"):
            if not body.named_child_count:
                return False
            last = body.named_children[-1]
        inner = first(last) if last.type == "expression_statement" else None
        return last.type in _LEAVING or (inner is not None and inner.type == "throw_expression")

    def _holds(self, name: Node, expr: int, start: int, end: int) -> None:
        """A variable is known to be something in an extent, as long as it is given nothing else there."""
        text, scope = self.text(name), self.inside.at(name.start_byte)
        if not expr or text == "$this":
            return
        end = min([end, *(one for one in self.assigned.get((scope, text), ()) if start < one < end)])
        if start < end:
            self.tests[scope, text] = self.tests.get((scope, text), 0) + 1
            self.build.bind(scope, text, NARROWED, expr, start, end)

    # -- results --------------------------------------------------------------------------------------------------

    def results(self) -> None:
        """What functions and closures return."""
        build = self.build
        for node in self.nodes.get("yield", ()):
            scope = self.inside.at(node.start_byte)
            symbol = build.symbols[build.symbol_of(scope)]
            if symbol.own == scope and scope:
                symbol.flags |= GENERATOR
                if not symbol.type and len(symbol.returns) < 8:
                    last = node.named_children[-1] if node.named_child_count else None
                    expr = self.value(last.named_children[-1]) if last is not None and last.named_child_count else 0
                    symbol.returns += [expr] if expr else []
        for node in self.nodes.get("return", ()):
            scope = self.inside.at(node.start_byte)
            if node.type == "comment":
                continue
            if scope in self.closures:
                build.bind(scope, RETURNED, VALUE, self.value(node), 0, LAST)
                continue
            symbol = build.symbols[build.symbol_of(scope)]
            if scope and symbol.own == scope and not symbol.flags & GENERATOR and len(symbol.returns) < 8:
                expr = self.value(node)
                symbol.returns += [expr] if expr else []


_DEFINED = frozenset(("property_declaration", "const_declaration", "method_declaration"))


BINDINGS: dict[str, Callable[[Bindings, Node], None]] = {
    "assignment_expression": Bindings._assignment,
    "reference_assignment_expression": Bindings._assignment,
    "augmented_assignment_expression": Bindings._assignment,
    "foreach_statement": Bindings._foreach,
    "catch_clause": Bindings._catch,
    "static_variable_declaration": Bindings._static,
    "global_declaration": Bindings._global_statement,
    "comment": Bindings._commented,
}
