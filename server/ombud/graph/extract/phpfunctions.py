"""PHP's functions, methods and closures: symbols, parameters, results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import first
from ombud.graph.extract.phpdocs import Doc, more_exact, tags
from ombud.graph.extract.phpsites import Sites
from ombud.graph.extract.phptypes import arguments, given_at
from ombud.graph.facts import (
    ABSTRACT,
    CLASS_KIND,
    CONSTRUCTOR,
    ELEM,
    ENUM,
    EXPORTED,
    FUNCTION,
    FUNCTION_SCOPE,
    INTERFACE,
    METHOD,
    PARAMETER,
    PRIVATE,
    PROPERTY,
    RETURNED,
    STATIC,
    TEST,
    TO_SYMBOL,
    TRAIT,
    VALUE,
    WITHIN,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

ARROW = "<arrow>"
"""Bound in the scope of a function that sees the variables around it."""
_WORDS = {"static_modifier": STATIC, "abstract_modifier": ABSTRACT}
_PASSES = {
    **dict.fromkeys(("array_map",), (1, 0, 0)),
    **dict.fromkeys(("array_filter", "array_walk", "array_find", "array_any", "array_all"), (0, 1, 0)),
    **dict.fromkeys(("usort", "uasort"), (0, 1, 2)),
    "array_reduce": (0, 1, 1),
}
"""Functions of the language that call a closure → the place of the array, of the closure, and which of its parameters
is an element (2 for the first two)."""

Frame = tuple[int, int, int]
"""End, scope and symbol of what is around."""


class Functions(Sites):
    """The part of `Php` that defines what can be called."""

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        self.later: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        """What is put off until every scope is known."""
        self.told: dict[tuple[int, str], str] = {}
        """(scope of a function, parameter) → what the function's comment says of its type."""

    def _symbol(self, node: Node, name: Node, kind: int, frame: Frame, end: int, text: str = "") -> int:
        """A symbol with flags, signature and documentation. ``end`` is where its signature ends."""
        build = self.build
        start = next((one for one in node.children if one.type not in ("attribute_list", "comment")), node)
        where = (*build.start(start), *build.end(node))
        text = text or self.text(name)
        made = build.symbol(text, kind, frame[2], frame[1], where, build.span(name))
        symbol = build.symbols[made]
        self.used.add(name.start_byte)
        words = {self.text(one).lower() for one in node.children if one.type.endswith("_modifier")}
        private = bool(words & {"private"})
        symbol.flags = 0 if private else EXPORTED
        if private and build.symbols[frame[2]].kind != TRAIT:
            symbol.flags = PRIVATE
        for one in node.children:
            symbol.flags |= _WORDS.get(one.type, 0)
        symbol.signature = self.signature(start.start_byte, end).rstrip(" {;")
        above = build.symbols[frame[2]]
        if above.kind in (CLASS_KIND, INTERFACE, TRAIT, ENUM) and not above.flags & EXPORTED:
            symbol.flags &= ~EXPORTED
        return made

    def _comment(self, node: Node, made: int) -> str:
        """The documentation comment above a definition; what it says is the symbol's."""
        before = node.prev_named_sibling
        symbol = self.build.symbols[made]
        if before is None or before.type != "comment":
            return ""
        symbol.doc = self.comment_above(node)
        text = self.text(before)
        return text if text.startswith("/**") else ""

    def _function(self, node: Node, frame: Frame) -> tuple[int, int] | None:
        build = self.build
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return None
        text = self.text(name)
        kind = FUNCTION
        if node.type == "method_declaration":
            kind = CONSTRUCTOR if text.lower() == "__construct" else METHOD
        made = self._symbol(node, name, kind, frame, body.start_byte if body is not None else node.end_byte)
        symbol = build.symbols[made]
        if kind != FUNCTION:
            build.bind(frame[1], text.lower() + "()", TO_SYMBOL, made)
            if build.symbols[frame[2]].kind == INTERFACE:
                symbol.flags |= ABSTRACT
        own = symbol.own = build.scope(frame[1], FUNCTION_SCOPE, made, node.start_byte, node.end_byte)
        comment = self._comment(node, made)
        if kind == METHOD:
            self._test(node, made, frame[2], comment)
        said = tags(comment)
        symbol.generics = [rest.split()[0] for tag, rest in said if tag.startswith("template") and rest.split()]
        self._promote(node, frame, own)
        self.later.append((self._signature, (node, made, own, said)))
        return own, made

    def _test(self, node: Node, made: int, holder: int, comment: str) -> None:
        """Whether PHPUnit runs a method."""
        symbol, above = self.build.symbols[made], self.build.symbols[holder]
        base = self.parents.get(holder, "")
        if not (base.endswith("TestCase") or above.name.endswith("Test")):
            return
        above.flags |= TEST
        marks = [self.text(one) for one in node.children if one.type == "attribute_list"]
        named = any(mark.strip("#[] ").rpartition("\\")[2].partition("(")[0] == "Test" for mark in marks)
        if symbol.name.lower().startswith("test") or named or "@test\n" in comment.replace("\r", "").replace(" ", ""):
            symbol.flags |= TEST

    def _promote(self, node: Node, frame: Frame, own: int) -> None:
        """Parameters of a constructor that are properties as well."""
        build = self.build
        parameters = node.child_by_field_name("parameters")
        for one in parameters.named_children if parameters is not None else ():
            name = one.child_by_field_name("name")
            if one.type != "property_promotion_parameter" or name is None:
                continue
            made = self._symbol(one, name, PROPERTY, frame, one.end_byte)
            self._comment(one, made)
            self.properties[frame[1], self.text(name)] = made
            build.bind(frame[1], self.text(name), TO_SYMBOL, made)
            self.later.append((self._promoted, (one, made, own)))

    def _promoted(self, node: Node, made: int, own: int) -> None:
        hint = node.child_by_field_name("type")
        symbol = self.build.symbols[made]
        kind = self._documented(hint, self.told.get((own, symbol.name), ""), node.start_byte)
        symbol.type = self.build.expr(WITHIN, own, kind) if kind else 0

    def _documented(self, hint: Node | None, text: str, offset: int) -> int:
        """The type of a declaration, from its hint and from what a tag says."""
        native = self.kind_of(hint)
        documented = Doc(self, text, offset).read() if text else 0
        return more_exact(self, hint, native, documented, text)

    def _signature(self, node: Node, made: int, own: int, said: list[tuple[str, str]]) -> None:
        """Parameters and result of a function."""
        build = self.build
        symbol = build.symbols[made]
        result = ""
        for tag, rest in said:
            if tag == "return" and not result:
                result = rest
            elif tag == "param":
                found = rest.partition("$")
                word = "".join(ch for ch in found[2].split(" ")[0] if ch.isalnum() or ch == "_")
                self.told[own, "$" + word] = found[0].replace("...", "").rstrip(" &")
        hint = node.child_by_field_name("return_type")
        kind = self._documented(hint, result, node.start_byte)
        symbol.type = build.expr(WITHIN, own, kind) if kind else 0
        symbol.params, symbol.arity = self._parameters(node, own)

    def _parameters(self, node: Node, own: int) -> tuple[list[str], tuple[int, int]]:
        build = self.build
        names: list[str] = []
        least = most = 0
        parameters = node.child_by_field_name("parameters")
        for one in parameters.named_children if parameters is not None else ():
            name = one.child_by_field_name("name")
            if name is None or name.type != "variable_name":
                continue
            text = self.text(name)
            names.append(text)
            hint, default = one.child_by_field_name("type"), one.child_by_field_name("default_value")
            expr = self.of(self._documented(hint, self.told.get((own, text), ""), node.start_byte))
            several = one.type == "variadic_parameter"
            least += default is None and not several
            most = -1 if several or most < 0 else most + 1
            if several:
                expr = self.literal("array", expr)
            elif not expr and default is not None:
                expr = self.value(default) if default.type != "null" else 0
            build.bind(own, text, PARAMETER, expr)
        return names, (least, most)

    def _closure(self, node: Node, frame: Frame) -> tuple[int, int]:
        own = self.build.scope(frame[1], FUNCTION_SCOPE, -1, node.start_byte, node.end_byte)
        self.closures.add(own)
        self.later.append((self._closed, (node, own, frame[1])))
        return own, frame[2]

    def _closed(self, node: Node, own: int, around: int) -> None:
        """Parameters, result and what a closure takes from around it."""
        build = self.build
        self._parameters(node, own)
        passed = self._passed(node)
        parameters = node.child_by_field_name("parameters")
        for number, one in enumerate(parameters.named_children if parameters is not None else ()):
            name = one.child_by_field_name("name")
            if number in passed and name is not None and one.child_by_field_name("type") is None:
                build.bind(own, self.text(name), VALUE, passed[number])
        kind = self.kind_of(node.child_by_field_name("return_type"))
        if kind:
            build.bind(own, RETURNED, VALUE, self.of(kind))
            self.closures.discard(own)
        if node.type == "arrow_function":
            build.bind(own, ARROW, VALUE, 0)
            if not kind:
                build.bind(own, RETURNED, VALUE, self.value(node.child_by_field_name("body")))
            return
        uses = next((one for one in node.named_children if one.type == "anonymous_function_use_clause"), None)
        for one in uses.named_children if uses is not None else ():
            name = first(one) if one.type == "by_ref" else one
            if name is not None and name.type == "variable_name":
                text = self.text(name)
                build.bind(own, text, VALUE, build.expr(WITHIN, around, build.named(text)), node.start_byte)

    def _passed(self, node: Node) -> dict[int, int]:
        """What a function of the language gives a closure: number of the parameter → expression."""
        argument = node.parent
        listed = argument.parent if argument is not None and argument.type == "argument" else None
        call = listed.parent if listed is not None else None
        if argument is None or call is None or call.type != "function_call_expression":
            return {}
        found = _PASSES.get(self.text(call.child_by_field_name("function")).lower().lstrip("\\"))
        given = arguments(call)
        if found is None or found[1] >= len(given) or given[found[1]].id != argument.id:
            return {}
        known = self.value(given_at(given, found[0]))
        element = self.build.expr(ELEM, known) if known else 0
        return dict.fromkeys((0, 1) if found[2] > 1 else (found[2],), element)
