"""Which names of a Ruby text are local variables, what they are bound to, and the variables of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ombud.graph.extract import rubyvalues
from ombud.graph.extract.extraction import Extraction, Nest, first
from ombud.graph.extract.rubyvalues import MAIN, OF_CLASS
from ombud.graph.facts import (
    CLASS,
    CONSTANT,
    ELEM,
    EXPORTED,
    FIELD,
    INSTANCE,
    LITERAL,
    NARROWED,
    PARAMETER,
    SELF,
    STATIC,
    TO_SYMBOL,
    VALUE,
    VARIABLE,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

TOP = "::"
"""The name of what ``::A`` begins with: the place of the constants that stand in no module."""
MAIN_OBJECT = "<main>"
SPLATS = {"splat_parameter": "Array", "hash_splat_parameter": "Hash", "block_parameter": "Proc"}


class Around(NamedTuple):
    """What a scope stands in."""

    symbol: int
    """The class or module, 0 for none."""
    scope: int
    """Its scope."""
    level: int
    """What ``self`` is: the main object, a class or an instance of it."""
    singleton: bool = False
    """Whether definitions are of the class itself (``class << self``)."""


class Names(Extraction):
    """The part of `Ruby` that knows what a bare name is."""

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        self.known: dict[int, int] = {}
        self.scopes: dict[int, int] = {}
        self.around: dict[int, Around] = {0: Around(0, 0, MAIN)}
        """Scope → what it stands in."""
        self.hard: set[int] = {0}
        """Scopes in which the local variables further out are not seen."""
        self.locals: dict[int, dict[str, int]] = {}
        """Scope → local variable → the offset from which on it is one."""
        self.blocked: dict[int, set[str]] = {}
        """Scope of a block → the methods that are defined in it, and that only what stands in it can call."""
        self.fields: dict[tuple[int, str], int] = {}
        """(scope, name) → the symbol of a variable or constant."""
        self.clean: dict[int, str] = {0: ""}
        """Symbol → its qualified name as it would be if it were the only one."""
        self.written: set[int] = set()
        """Offsets of names of calls that are assigned to."""
        self.blocks = Nest(())
        self.owners: dict[int, int] = {0: 0}
        """Scope → its symbol, -1 for none."""

    def scope(self, parent: int, kind: int, symbol: int, start: int, end: int) -> int:
        """A new scope, whose symbol is remembered."""
        made = self.build.scope(parent, kind, symbol, start, end)
        self.owners[made] = symbol
        return made

    # -- symbols --------------------------------------------------------------------------------------------------

    def symbol(self, name: str, kind: int, parent: int, scope: int, node: Node, at: tuple[int, int, int]) -> int:
        """A new symbol. A class that is reopened in the file passes its first name on to what it holds."""
        build = self.build
        above = self.clean[parent]
        shown = name.replace("::", ".")
        qualified = f"{above}.{shown}" if above else shown
        made = build.symbol(qualified, kind, 0, scope, (*build.start(node), *build.end(node)), at)
        symbol = build.symbols[made]
        symbol.name, symbol.parent = name.rpartition("::")[2], parent
        symbol.flags = EXPORTED
        self.clean[made] = qualified
        return made

    def comment_above(self, node: Node) -> str:
        """See `Extraction.comment_above`. The comment above the first thing in a body stands before the body."""
        if node.prev_sibling is None:
            body = node.parent
            if (
                body is not None
                and body.type in ("body_statement", "block_body")
                and body.start_byte == node.start_byte
            ):
                return super().comment_above(body)
        return super().comment_above(node)

    def word(self, node: Node) -> tuple[str, tuple[int, int, int]]:
        """The name that ``:a``, ``"a"`` or ``a`` stands for, and where it is; ``""`` for anything else."""
        kind = node.type
        if kind == "simple_symbol":
            line, character, length = self.build.span(node)
            return self.text(node)[1:], (line, character + 1, max(length - 1, 0))
        if kind in ("string", "delimited_symbol", "bare_symbol", "bare_string"):
            inner = first(node)
            if inner is None or node.named_child_count != 1 or inner.type != "string_content":
                return "", (0, 0, 0)
            return self.text(inner), self.build.span(inner)
        return (self.text(node), self.build.span(node)) if kind in _NAMES else ("", (0, 0, 0))

    # -- what a bare name is --------------------------------------------------------------------------------------

    def self_of(self, scope: int) -> int:
        """The expression of ``self``."""
        level = self.around[scope].level
        if level == MAIN:
            return self.build.named(MAIN_OBJECT)
        return self.build.expr(CLASS if level == OF_CLASS else SELF)

    def is_local(self, scope: int, name: str, offset: int) -> bool:
        """Whether a bare name is a local variable at a place."""
        return self.holder(scope, name, offset) >= 0

    def holder(self, scope: int, name: str, offset: int) -> int:
        """The scope of the local variable that a name is at a place, -1 where it is none."""
        while True:
            found = self.locals.get(scope)
            if found is not None and found.get(name, 1 << 62) <= offset:
                return scope
            if scope in self.hard:
                return -1
            scope = self.build.parent_scope(scope)

    def bare(self, scope: int, name: str) -> int:
        """The expression of a method that is called by its name alone."""
        here, last = scope, self.around[scope].scope
        while self.blocked and here >= 0 and here != last:
            if name in self.blocked.get(here, ()):
                return self.build.named(name)
            here = self.build.parent_scope(here)
        return self.build.attr(self.self_of(scope), name)

    def variable_name(self, scope: int, text: str) -> str:
        """The name that a variable of an object is bound to: that of a class is another than that of an instance."""
        own = not text.startswith("@@") and text.startswith("@") and self.around[scope].level == OF_CLASS
        return f"<{text}>" if own else text

    # -- bindings -------------------------------------------------------------------------------------------------

    def bind(self, target: Node, expr: int, node: Node, maybe: bool = False) -> None:
        """Bind what an assignment has on its left. ``node`` is the statement: names hold behind it."""
        kind = target.type
        build = self.build
        if kind == "identifier":
            self.bind_local(target, expr, node, maybe)
        elif kind in ("instance_variable", "class_variable", "global_variable"):
            self.bind_field(target, expr, node)
        elif kind == "constant":
            self.bind_constant(target, self.text(target), 0, expr, node)
        elif kind == "scope_resolution":
            name, base = target.child_by_field_name("name"), target.child_by_field_name("scope")
            if name is not None and name.type == "constant":
                owner = self.value(base) if base is not None else build.named(TOP)
                self.bind_constant(name, self.text(target).removeprefix("::"), owner, expr, node)
        elif kind == "call":
            name = target.child_by_field_name("method")
            if name is not None:
                self.written.add(name.start_byte)
        elif kind in ("left_assignment_list", "destructured_left_assignment", "destructured_parameter"):
            for number, part in enumerate(target.named_children, 1):
                self.bind(part, build.expr(ELEM, expr, number) if expr else 0, node, maybe)
        elif kind in ("rest_assignment", "splat_parameter"):
            inner = first(target)
            if inner is not None:
                self.bind(inner, build.expr(LITERAL, build.name("Array")), node, maybe)

    def bind_local(self, target: Node, expr: int, node: Node, maybe: bool = False) -> None:
        build = self.build
        start = target.start_byte
        self.used.add(start)
        scope = self.inside.at(start)
        text = self.text(target)
        holder = self.holder(scope, text, start)
        if holder < 0:
            holder = scope
            self.locals.setdefault(scope, {})[text] = start
        if expr and holder != scope:
            expr = build.expr(WITHIN, scope, expr)
        end = node.end_byte
        build.bind(holder, text, VALUE, expr, end, end if maybe else self.blocks.at(node.start_byte))

    def bind_field(self, target: Node, expr: int, node: Node) -> None:
        """``@x = …`` says that the object has ``@x``; each assignment says something of what it is."""
        build = self.build
        scope = self.inside.at(target.start_byte)
        text = self.text(target)
        holder = 0 if text.startswith("$") else self.around[scope].scope
        name = self.variable_name(scope, text)
        found = self.fields.get((holder, name))
        if found is None:
            self.used.add(target.start_byte)
            kind = VARIABLE if text.startswith("$") else FIELD
            found = self.symbol(text, kind, build.symbol_of(holder), holder, node, build.span(target))
            self.fields[holder, name] = found
            symbol = build.symbols[found]
            symbol.signature = self.signature(node.start_byte, node.end_byte)[:120]
            symbol.flags = EXPORTED if text.startswith("$") else 0 if name == text and text[1] != "@" else STATIC
            build.bind(holder, name, TO_SYMBOL, found)
        if expr:
            build.bind(holder, name, VALUE, build.expr(WITHIN, scope, expr), node.start_byte)

    def bind_constant(self, target: Node, text: str, owner: int, expr: int, node: Node) -> None:
        build = self.build
        around = self.around[self.inside.at(target.start_byte)]
        found = self.fields.get((around.scope, text))
        if found is not None:
            if expr:
                build.bind(around.scope, build.symbols[found].name, VALUE, expr, node.end_byte)
            return
        self.used.add(target.start_byte)
        made = self.symbol(text, CONSTANT, around.symbol, around.scope, node, build.span(target))
        self.fields[around.scope, text] = made
        symbol = build.symbols[made]
        symbol.value, symbol.owner = expr, owner
        symbol.signature = self.signature(node.start_byte, node.end_byte)[:120]
        symbol.doc = self.comment_above(node)

    def _assignment(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and node.id not in self.scopes:
            self.bind(left, self.value(right) if right is not None else 0, node)

    def _operator(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None or left.type == "call":
            return  # It is read first.
        gap = self.source[left.end_byte : right.start_byte]
        self.bind(left, self.value(right) if b"||" in gap or b"&&" in gap else 0, node, maybe=True)

    def _for(self, node: Node) -> None:
        pattern, value = node.child_by_field_name("pattern"), node.child_by_field_name("value")
        source = self.value(inner) if (inner := first(value)) is not None else 0
        if pattern is not None and value is not None:
            self.bind(pattern, self.build.expr(ELEM, source) if source else 0, value)

    def _rescued(self, node: Node) -> None:
        target, clause = first(node), node.parent
        kinds = clause.child_by_field_name("exceptions") if clause is not None else None
        build = self.build
        named = [self.value(one) for one in kinds.named_children] if kinds is not None else []
        if target is not None:
            self.bind(target, build.union(build.expr(INSTANCE, one) for one in named if one), node)

    def _pattern(self, node: Node) -> None:
        pattern = node.child_by_field_name("pattern")
        if pattern is None:
            return
        value = node.child_by_field_name("value")
        if node.type == "in_clause":
            value = node.parent.child_by_field_name("value") if node.parent is not None else None
        self.matched(pattern, self.value(value) if value is not None else 0, node, 0)

    def matched(self, pattern: Node, expr: int, node: Node, depth: int) -> None:
        """Bind the names of a pattern that ``expr`` is matched with."""
        kind = pattern.type
        build = self.build
        if kind == "identifier":
            self.bind_local(pattern, expr, pattern)
        elif kind == "as_pattern":
            value, name = pattern.child_by_field_name("value"), pattern.child_by_field_name("name")
            if name is not None:
                known = self.value(value) if value is not None and value.type in _CONSTANTS else 0
                self.bind_local(name, build.expr(INSTANCE, known) if known else expr, pattern)
            if value is not None and depth < 50:
                self.matched(value, expr, node, depth + 1)
        elif kind == "keyword_pattern":
            key, value = pattern.child_by_field_name("key"), pattern.child_by_field_name("value")
            if value is not None and depth < 50:
                self.matched(value, 0, node, depth + 1)
            elif key is not None and value is None:
                self._local_at(self.text(key), key)
        elif kind in ("array_pattern", "find_pattern", "hash_pattern", "parenthesized_pattern", "alternative_pattern"):
            for part in pattern.named_children if depth < 50 else ():
                self.matched(part, 0, node, depth + 1)
        elif kind in ("splat_parameter", "hash_splat_parameter"):
            inner = first(pattern)
            if inner is not None:
                self.bind_local(inner, build.expr(LITERAL, build.name(SPLATS[kind])), pattern)

    def _local_at(self, text: str, node: Node) -> None:
        """A key of a pattern that is the name of the variable as well."""
        scope = self.inside.at(node.start_byte)
        if self.holder(scope, text, node.start_byte) < 0:
            self.locals.setdefault(scope, {})[text] = node.start_byte
        self.build.bind(scope, text, VALUE, 0, node.end_byte, self.blocks.at(node.start_byte))

    def narrow(self, node: Node) -> None:
        """``case x when A``: x is an A there."""
        value = node.child_by_field_name("value")
        if value is None:
            return
        text = self.text(value)
        scope = self.inside.at(value.start_byte)
        holder = self.holder(scope, text, value.start_byte)
        build = self.build
        for clause in node.named_children if holder >= 0 else ():
            body = clause.child_by_field_name("body") if clause.type == "when" else None
            if body is None:
                continue
            kinds = [first(one) for one in clause.children_by_field_name("pattern")]
            if all(one is not None and one.type in _CONSTANTS for one in kinds):
                named = [build.expr(INSTANCE, self.value(one)) for one in kinds if one is not None]
                within = [build.expr(WITHIN, scope, one) for one in named]
                build.bind(holder, text, NARROWED, build.union(within), body.start_byte, body.end_byte)

    # -- parameters -----------------------------------------------------------------------------------------------

    def _parameters(self, node: Node) -> None:
        """Bind what a method, a block or a lambda is given."""
        own = self.inside.at(node.start_byte)
        given = rubyvalues.given(self, node) if node.type == "block_parameters" else None
        number = 0
        for child in node.named_children:
            kind = child.type
            name = child if kind in ("identifier", "destructured_parameter") else child.child_by_field_name("name")
            expr = 0
            if kind in SPLATS:
                expr = self.build.expr(LITERAL, self.build.name(SPLATS[kind]))
            elif kind in ("optional_parameter", "keyword_parameter"):
                value = child.child_by_field_name("value")
                expr = self.value(value) if value is not None else 0
            elif given is not None:
                expr = given(number)
            number += 1
            if name is None:
                continue
            if kind == "destructured_parameter":
                for part in rubyvalues.identifiers(child):
                    self._parameter(part, own, 0)
                for place, part in enumerate(child.named_children, 1):
                    if part.type == "identifier" and expr:
                        self.build.bind(own, self.text(part), PARAMETER, self.build.expr(ELEM, expr, place))
                continue
            self._parameter(name, own, expr)

    def _parameter(self, name: Node, own: int, expr: int) -> None:
        self.used.add(name.start_byte)
        text = self.text(name)
        self.locals.setdefault(own, {})[text] = 0
        self.build.bind(own, text, PARAMETER, expr)

    # -- expressions ----------------------------------------------------------------------------------------------

    def value(self, node: Node | None) -> int:
        """The expression of a node, 0 where nothing can be said of it."""
        if node is None:
            return 0
        key = node.id
        found = self.known.get(key)
        if found is None:
            how = rubyvalues.VALUES.get(node.type)
            try:
                found = how(self, node) if how is not None else 0
            except RecursionError:
                found = 0  # Nobody follows a value through hundreds of brackets.
            self.known[key] = found
        return found


_NAMES = frozenset(("identifier", "constant", "operator", "setter", "instance_variable", "global_variable"))
_CONSTANTS = ("constant", "scope_resolution")
BINDINGS: dict[str, Callable[[Names, Node], None]] = {
    "assignment": Names._assignment,
    "operator_assignment": Names._operator,
    "for": Names._for,
    "exception_variable": Names._rescued,
    "in_clause": Names._pattern,
    "match_pattern": Names._pattern,
    "test_pattern": Names._pattern,
    "method_parameters": Names._parameters,
    "lambda_parameters": Names._parameters,
    "block_parameters": Names._parameters,
}
