"""PHP's expressions and types, those in documentation comments as well.

Names of one sort never mean another in PHP, so each carries its sort: ``$x`` is a variable or a property, ``f()`` a
function or a method, ``#X`` a constant, ``C`` a class or a class's constant. Names of classes, functions and constants
are as written, with their ``\\``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import Extraction, first
from ombud.graph.facts import (
    CALL,
    CLASS,
    CLASS_KIND,
    CLOSURE,
    ELEM,
    ENUM,
    GIVEN,
    INDEX,
    INSTANCE,
    INTERFACE,
    LITERAL,
    SELF,
    SYMBOL,
    TUPLE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

DEEPEST = 60
"""Expressions within one another that are read; nothing is said of deeper ones."""
NAMES = frozenset(("name", "qualified_name", "relative_name"))
UNTYPED = frozenset(("mixed", "object", "void", "never", "null", "false", "true", "callable"))
"""Types that say nothing of what members a value has."""
BUILT_IN = frozenset(
    (
        *("int", "integer", "float", "double", "string", "bool", "boolean", "array", "iterable", "list", "resource"),
        *("scalar", "numeric", "class-string", "non-empty-string", "non-empty-array", "non-empty-list", "array-key"),
        *("positive-int", "numeric-string", "literal-string", "callable-string", "number", "mixed[]"),
    )
)
LISTS = frozenset(("array", "iterable", "list", "non-empty-array", "non-empty-list"))
SAME = frozenset(
    (
        *("array_filter", "array_values", "array_merge", "array_reverse", "array_slice", "array_unique"),
        *("iterator_to_array", "array_diff", "array_diff_key", "array_intersect_key", "array_replace", "array_splice"),
    )
)
"""Functions that give an array of what their first argument holds."""
ONE = frozenset(("current", "reset", "end", "next", "prev", "array_pop", "array_shift", "array_find"))
"""Functions that give one of what their first argument holds."""


class Values(Extraction):
    """Lowers expressions. `Sites` binds names and makes the sites."""

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        end = _halted(self) if b"__halt_compiler" in source.lower() else 0
        if end:
            # What follows is data that the program reads itself.
            super().__init__(language, source[:end] + re.sub(rb"[^\n]+", b"", source[end:]))
        self.known: dict[int, int] = {}
        self.scopes: dict[int, int] = {}
        self.parents: dict[int, str] = {}
        """Symbol of a class → the name of the class that it extends, as written."""
        self.depth = 0
        self.lengths: dict[int, int] = {}
        """Expression → members of members in it. A value behind too many is not followed."""

    def member_of(self, base: int, name: str) -> int:
        """A member of a value, 0 where nothing is known of that."""
        length = self.lengths.get(base, 0) + 1
        if not base or length > DEEPEST:
            return 0
        expr = self.build.attr(base, name)
        self.lengths[expr] = length
        return expr

    def value(self, node: Node | None) -> int:
        """The expression of a node, 0 where nothing can be said of it."""
        if node is None:
            return 0
        found = self.known.get(node.id)
        if found is None:
            how = VALUES.get(node.type)
            self.depth += 1
            found = self.known[node.id] = how(self, node) if how is not None and self.depth <= DEEPEST else 0
            self.depth -= 1
        return found

    def literal(self, name: str, *args: int) -> int:
        """An instance of a built-in type; the arguments are of its parameters."""
        return self.build.expr(LITERAL, self.build.name(name), self.build.cons(args) if any(args) else 0)

    def of(self, kind: int) -> int:
        """An INSTANCE of a type expression."""
        return self.build.expr(INSTANCE, kind) if kind else 0

    def word(self, node: Node | None) -> str:
        """A name as written, without spaces."""
        return "".join(self.text(node).split())

    def holder(self, offset: int) -> int:
        """The symbol of the class around a place, 0 for none."""
        build = self.build
        symbol = build.symbol_of(self.inside.at(offset))
        while symbol and build.symbols[symbol].kind not in CLASSES:
            symbol = build.symbols[symbol].parent
        return symbol

    def class_named(self, text: str, offset: int) -> int:
        """The class that a name means; ``self``, ``static`` and ``parent`` are of the class around ``offset``."""
        low = text.lower()
        if low in ("self", "static", "$this"):
            return self.build.expr(CLASS)
        if low == "parent":
            above = self.parents.get(self.holder(offset))
            return self.build.named(above) if above else 0
        return self.build.named(text)

    def type_named(self, text: str, offset: int) -> int:
        """The type that a name means."""
        low = text.lower()
        if low == "self":
            holder = self.holder(offset)
            symbol = self.build.symbols[holder]
            # What a trait calls itself is the class that uses it.
            if holder and symbol.kind in (CLASS_KIND, INTERFACE, ENUM) and symbol.name != ANONYMOUS:
                return self.build.expr(SYMBOL, holder)
        if low in UNTYPED:
            return 0
        if low in BUILT_IN:
            return self.literal("array" if low in LISTS else low)
        return self.class_named(text, offset)

    def class_of(self, node: Node | None) -> int:
        """The class that stands before ``::`` or behind ``new``; that of a value where it is one."""
        if node is None:
            return 0
        if node.type in NAMES or node.type == "relative_scope":
            return self.class_named(self.word(node), node.start_byte)
        return self.value(node)

    def kind_of(self, node: Node | None) -> int:
        """The expression of a declared type, 0 where it says nothing."""
        if node is None:
            return 0
        self.depth += 1
        try:
            if node.type == "primitive_type":
                return self.type_named(self.text(node), node.start_byte)
            if node.type == "named_type":
                return self.type_named(self.word(node), node.start_byte)
            if node.type in _SEVERAL and self.depth <= DEEPEST:
                return self.build.union(self.kind_of(one) for one in node.named_children)
            return 0
        finally:
            self.depth -= 1


def _halted(on: Values) -> int:
    """The offset behind ``__halt_compiler()``, 0 where a text has none."""
    for node in on.ordered("call"):
        if on.text(node.child_by_field_name("function")).lower() == "__halt_compiler":
            return node.end_byte
    return 0


ANONYMOUS = "class@anonymous"
"""What PHP itself calls a class without a name."""
CLASSES = (2, 3, 4, 6)
"""Kinds of symbols that `self` may mean: class, interface, enum, trait."""
_SEVERAL = frozenset(
    ("optional_type", "union_type", "intersection_type", "disjunctive_normal_form_type", "type_list", "type")
)


def tail(node: Node) -> Node:
    """The token of a name that the rest only qualifies."""
    if node.type != "name" and node.named_child_count:
        last = node.named_child(node.named_child_count - 1)
        if last is not None and last.type == "name":
            return last
    return node


def arguments(node: Node) -> list[Node]:
    """The argument nodes of a call."""
    listed = node.child_by_field_name("arguments")
    if listed is None:
        listed = next((one for one in node.named_children if one.type == "arguments"), None)
    return [] if listed is None else [one for one in listed.named_children if one.type != "comment"]


def is_reference(given: list[Node]) -> bool:
    """Whether ``f(...)`` names the function instead of calling it."""
    return len(given) == 1 and given[0].type == "variadic_placeholder"


def given_at(given: list[Node], place: int) -> Node | None:
    """The value of an argument that is given by its place."""
    if place >= len(given) or given[place].child_by_field_name("name") is not None:
        return None
    return first(given[place]) if given[place].type == "argument" else None


# -- values -----------------------------------------------------------------------------------------------------------


def _variable(on: Values, node: Node) -> int:
    text = on.text(node)
    return on.build.expr(SELF) if text == "$this" else on.build.named(text)


def _constant(on: Values, node: Node) -> int:
    return on.build.named("#" + on.word(node))


def member(on: Values, node: Node) -> int:
    """``$a->b``"""
    name = node.child_by_field_name("name")
    if name is None or name.type != "name":
        return 0
    return on.member_of(on.value(node.child_by_field_name("object")), "$" + on.text(name))


def static_member(on: Values, node: Node) -> int:
    """``A::$b``"""
    name = node.child_by_field_name("name")
    if name is None or name.type != "variable_name":
        return 0
    return on.build.attr(on.class_of(node.child_by_field_name("scope")), on.text(name))


def class_constant(on: Values, node: Node) -> int:
    """``A::B`` and ``A::class``"""
    parts = [one for one in node.named_children if one.type != "comment"]
    if len(parts) != 2 or parts[1].type != "name":
        return 0
    text = on.text(parts[1])
    known = on.class_of(parts[0])
    if text.lower() != "class":
        return on.build.attr(known, text)
    named = parts[0].type in NAMES or parts[0].type == "relative_scope"
    return on.literal("class-string", on.of(known) if named else known)


def callee(on: Values, node: Node) -> int:
    """What a call calls."""
    build = on.build
    if node.type == "function_call_expression":
        function = node.child_by_field_name("function")
        if function is None:
            return 0
        return build.named(on.word(function) + "()") if function.type in NAMES else on.value(function)
    name = node.child_by_field_name("name")
    if name is None or name.type != "name":
        return 0
    if node.type == "scoped_call_expression":
        base = on.class_of(node.child_by_field_name("scope"))
    else:
        base = on.value(node.child_by_field_name("object"))
    return on.member_of(base, on.text(name) + "()")


def _call(on: Values, node: Node) -> int:
    build = on.build
    given = arguments(node)
    called = callee(on, node)
    if not called or is_reference(given):
        return called
    head = given_at(given, 0)
    if node.type == "function_call_expression" and head is not None:
        known = _well_known(on, on.text(node.child_by_field_name("function")).lower(), head, given)
        if known is not None:
            return known
    spread = any(one.type != "argument" or _is_spread(one) for one in given)
    expr = build.expr(CALL, called, -1 if spread else len(given))
    on.lengths[expr] = on.lengths.get(called, 0)
    if head is not None and head.type == "class_constant_access_expression":
        kind = on.value(head)
        expr = build.expr(GIVEN, expr, kind) if kind else expr
    return expr


def _is_spread(node: Node) -> bool:
    inside = first(node)
    return inside is not None and inside.type == "variadic_unpacking"


def _well_known(on: Values, name: str, head: Node, given: list[Node]) -> int | None:
    """What a function of the language gives whose result is that of its arguments; None for any other."""
    name = name.removeprefix("\\")
    if name in SAME:
        return on.value(head)
    if name in ONE:
        known = on.value(head)
        return on.build.expr(ELEM, known) if known else 0
    if name == "array_map" and len(given) > 1:
        known = on.value(head)
        return on.literal("array", on.build.expr(CALL, known, 1) if known else 0)
    if name == "get_class":
        return on.literal("class-string", on.value(head))
    return None


def created(node: Node) -> Node | None:
    """What stands behind ``new``."""
    return next((one for one in node.named_children if one.type not in ("comment", "arguments")), None)


def _new(on: Values, node: Node) -> int:
    made = created(node)
    if made is None:
        return 0
    if made.type == "anonymous_class":
        own = on.scopes.get(made.id)
        return on.of(on.build.expr(SYMBOL, on.build.symbol_of(own))) if own is not None else 0
    if made.type in NAMES:
        return on.of(on.class_named(on.word(made), made.start_byte))
    known = on.value(made)
    return on.build.expr(ELEM, known) if known and made.type == "variable_name" else 0


def _subscript(on: Values, node: Node) -> int:
    known = on.value(first(node))
    length = on.lengths.get(known, 0) + 1
    if not known or length > DEEPEST:
        return 0
    expr = on.build.expr(INDEX, known)
    on.lengths[expr] = length
    return expr


def _inner(on: Values, node: Node) -> int:
    return on.value(first(node))


def _right(on: Values, node: Node) -> int:
    return on.value(node.child_by_field_name("right"))


def _either(on: Values, node: Node) -> int:
    body = node.child_by_field_name("body") or node.child_by_field_name("condition")
    return on.build.union((on.value(body), on.value(node.child_by_field_name("alternative"))))


def _binary(on: Values, node: Node) -> int:
    operator = node.child_by_field_name("operator")
    sign = operator.type if operator is not None else ""
    if sign == "??":
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        return on.build.union((on.value(left), on.value(right)))
    if sign == ".":
        return on.literal("string")
    return on.literal("int") if sign in ("-", "*", "/", "%", "**") else 0


def _match(on: Values, node: Node) -> int:
    body = node.child_by_field_name("body")
    arms = [] if body is None else body.named_children
    return on.build.union(on.value(arm.child_by_field_name("return_expression")) for arm in arms[:8])


def _array(on: Values, node: Node) -> int:
    """An array of what its first elements are; each one by itself in a short one without keys."""
    parts: list[int] = []
    every = [one for one in node.named_children if one.type != "comment"]
    if 1 < len(every) < 7 and all(one.named_child_count == 1 for one in every):
        parts = [_inner(on, one) for one in every]
        if any(parts) and all(first(one).type != "variadic_unpacking" for one in every):  # type: ignore[union-attr]
            return on.build.expr(TUPLE, on.build.cons(parts))
        parts = []
    for one in every[:6]:
        last = one.named_child(one.named_child_count - 1) if one.named_child_count else None
        if one.type == "array_element_initializer" and last is not None and last.type != "variadic_unpacking":
            parts.append(on.value(last))
    return on.literal("array", on.build.union(parts))


def _closure(on: Values, node: Node) -> int:
    own = on.scopes.get(node.id)
    return on.build.expr(CLOSURE, own) if own is not None else 0


def _cast(on: Values, node: Node) -> int:
    word = on.text(node.child_by_field_name("type")).strip().lower()
    inner = node.child_by_field_name("value")
    return on.value(inner) if word in ("array", "object") else on.literal(word) if word in BUILT_IN else 0


def _sole(name: str) -> Callable[[Values, Node], int]:
    def made(on: Values, node: Node) -> int:
        del node
        return on.literal(name)

    return made


VALUES: dict[str, Callable[[Values, Node], int]] = {
    "variable_name": _variable,
    "name": _constant,
    "qualified_name": _constant,
    "relative_name": _constant,
    "member_access_expression": member,
    "nullsafe_member_access_expression": member,
    "scoped_property_access_expression": static_member,
    "class_constant_access_expression": class_constant,
    "function_call_expression": _call,
    "member_call_expression": _call,
    "nullsafe_member_call_expression": _call,
    "scoped_call_expression": _call,
    "object_creation_expression": _new,
    "subscript_expression": _subscript,
    "parenthesized_expression": _inner,
    "clone_expression": _inner,
    "error_suppression_expression": _inner,
    "assignment_expression": _right,
    "reference_assignment_expression": _right,
    "augmented_assignment_expression": _right,
    "conditional_expression": _either,
    "binary_expression": _binary,
    "match_expression": _match,
    "array_creation_expression": _array,
    "anonymous_function": _closure,
    "arrow_function": _closure,
    "cast_expression": _cast,
    "string": _sole("string"),
    "encapsed_string": _sole("string"),
    "heredoc": _sole("string"),
    "nowdoc": _sole("string"),
    "integer": _sole("int"),
    "float": _sole("float"),
    "boolean": _sole("bool"),
}
