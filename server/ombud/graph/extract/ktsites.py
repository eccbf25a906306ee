"""Kotlin's closures and local variables, and the sites of a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract import kttypes
from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import Frame, Opened, Typed, arguments
from ombud.graph.extract.kttypes import RECEIVER, TYPES, child, last
from ombud.graph.facts import (
    ATTR,
    CALL,
    CALL_SITE,
    CLASS,
    CLOSURE,
    DECLARED,
    ELEM,
    INSTANCE,
    NARROWED,
    PARAMETER,
    REFERENCE_SITE,
    RETURNED,
    SUPER,
    TYPE_OF,
    VALUE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_RECEIVING = {"apply", "run"}
"""Functions of the standard library whose closure has what they are called on as its ``this``."""
_PASSING = {"let", "also", "takeIf", "takeUnless"}
"""Those whose closure is given it."""
_LEAVING = {"jump_expression"}


class Sites(Typed):
    """See the module."""

    def _parameters(self, parameters: Node | None, made: int, own: int, extent: tuple[int, int]) -> None:
        build = self.build
        names: list[str] = []
        least = most = 0
        several = False
        for one in arguments(parameters):
            if one.type == "parameter_modifiers":
                several = "vararg" in self.text(one)
                continue
            if one.type not in ("parameter", "parameter_with_optional_type"):
                least -= 1  # What stands between parameters is the default of the one before.
                continue
            name = child(one, "simple_identifier")
            if name is None:
                continue
            kind = self.kind_of(child(one, *TYPES))
            kind = self.array(kind) if several and kind else kind
            names.append(self.text(name))
            least += not several
            most = -1 if several or most < 0 else most + 1
            several = False
            self.local(name, PARAMETER, build.expr(INSTANCE, kind) if kind else 0, extent, own)
        if made >= 0:
            build.symbols[made].params = names
            build.symbols[made].arity = (max(least, 0), most)

    def _lambda(self, node: Node, frame: Frame) -> Opened:
        opened = self.closure(node, frame)
        self.later.append((self._closure if node.type == "lambda_literal" else self._plain, (node, opened[1])))
        return opened

    def _plain(self, node: Node, own: int) -> None:
        """``fun(x: T) = …``"""
        self._parameters(child(node, "function_value_parameters"), -1, own, (node.start_byte, node.end_byte))
        body = child(node, "function_body")
        declared = self.instance(child(node, *TYPES))
        if declared or (body is not None and child(body, "statements") is None):
            self.build.bind(own, RETURNED, VALUE, declared or kttypes.closing(self, body or node))

    def _closure(self, node: Node, own: int) -> None:
        """Parameters of a lambda, its receiver, and what it returns."""
        build = self.build
        extent = (node.start_byte, node.end_byte)
        target, argument, receiver, only = self._target(node)
        if receiver or (target and not only):
            build.bind(own, "this", PARAMETER, receiver or self.passed(target, argument, RECEIVER))
        parameters = child(node, "lambda_parameters")
        if parameters is None:
            self.locals.setdefault(b"it", []).append(extent)
            build.bind(own, "it", PARAMETER, only or self.passed(target, argument, 0))
        for number, one in enumerate(arguments(parameters)):
            expr = only or self.passed(target, argument, number)
            if one.type == "multi_variable_declaration":
                self._several(one, expr, VALUE, extent, own)
                continue
            name = child(one, "simple_identifier")
            if name is not None:
                self.local(name, PARAMETER, self.instance(child(one, *TYPES)) or expr, extent, own)
        body = child(node, "statements")
        if body is not None:
            build.bind(own, RETURNED, VALUE, self.value(body))

    def _target(self, node: Node) -> tuple[int, int, int, int]:
        """What takes a lambda: a call (or an INSTANCE of the type it is to have), the argument's place, the receiver
        and the only parameter, where the call is one of the scope functions of the library."""
        parent = node.parent
        if parent is not None and parent.type == "annotated_lambda":
            node, parent = parent, parent.parent
        if parent is None:
            return 0, 0, 0, 0
        if parent.type in ("property_declaration", "variable_declaration"):
            return self.instance(child(child(parent, "variable_declaration"), *TYPES)), 0, 0, 0
        suffix = parent if parent.type == "call_suffix" else None
        if parent.type == "value_argument" and parent.parent is not None:
            suffix = parent.parent.parent
        called = suffix.parent if suffix is not None else None
        if suffix is None or called is None or called.type != "call_expression":
            return 0, 0, 0, 0
        args = kttypes.given(suffix)
        place = next((n for n, one in enumerate(args) if one.start_byte >= node.start_byte), 0)
        callee = first(called)
        if callee is not None and callee.type == "navigation_expression":
            word, base = self.text(kttypes.suffix_name(callee)), self.value(first(callee))
            if word in _RECEIVING and len(args) == 1:
                return 0, 0, base, 0
            if word in _PASSING and len(args) == 1:
                return self.value(called), place, 0, base
        elif callee is not None and self.text(callee) == "with" and len(args) == 2:
            return 0, 0, self.value(args[0]), 0
        return self.value(called), place, 0, 0

    def _variable(self, node: Node) -> None:
        variable, several = child(node, "variable_declaration"), child(node, "multi_variable_declaration")
        if several is not None:
            self._several(several, self._initial(node, several), VALUE, self.here(node))
            return
        name = child(variable, "simple_identifier")
        if variable is None or name is None:
            return
        declared = self.instance(child(variable, *TYPES))
        if declared:
            self.local(name, DECLARED, declared, self.here(node, name.end_byte))
        else:
            self.local(name, VALUE, self._initial(node, variable), self.here(node, name.end_byte))

    def _several(self, node: Node, expr: int, what: int, extent: tuple[int, int], scope: int = -1) -> None:
        for number, one in enumerate(arguments(node), 1):
            name = child(one, "simple_identifier")
            if name is not None:
                part = self.build.expr(ELEM, expr, number) if expr else 0
                self.local(name, what, self.instance(child(one, *TYPES)) or part, extent, scope)

    def _each(self, node: Node) -> None:
        parts = arguments(node)
        if len(parts) < 2:
            return
        known = self.value(parts[1])
        expr = self.build.expr(ELEM, known) if known else 0
        extent = (parts[1].end_byte, node.end_byte)
        if parts[0].type == "multi_variable_declaration":
            self._several(parts[0], expr, VALUE, extent)
        elif (name := child(parts[0], "simple_identifier")) is not None:
            self.local(name, DECLARED, self.instance(child(parts[0], *TYPES)) or expr, extent)

    def _caught(self, node: Node) -> None:
        name = child(node, "simple_identifier")
        if name is not None:
            self.local(name, DECLARED, self.instance(child(node, *TYPES)), (name.end_byte, node.end_byte))

    def _subject(self, node: Node) -> None:
        name = child(child(node, "variable_declaration"), "simple_identifier")
        if name is not None:
            self.local(name, VALUE, self.value(last(node)), self.here(node, name.end_byte))

    def _narrow(self, node: Node) -> None:
        """``is`` and ``as`` say what a name is from there on."""
        if node.type == "as_expression":
            question = any(one.type == "as?" for one in node.children)
            if not question:
                self._hold(first(node), last(node), node.end_byte, self.blocks.at(node.start_byte))
            return
        if node.type == "when_entry":
            self._entry_test(node)
            return
        condition, body = node.child_by_field_name("condition"), node.child_by_field_name("consequence")
        if condition is None or body is None:
            return
        for check in self._checks(condition):
            words = {one.type for one in check.children if not one.is_named}
            if "is" in words:
                self._hold(first(check), last(check), check.end_byte, body.end_byte)
            elif "!is" in words and check.id == condition.id:
                inside = last(body)
                inside = last(inside) if inside is not None and inside.type == "statements" else inside
                if inside is not None and inside.type in _LEAVING:
                    self._hold(first(check), last(check), node.end_byte, self.blocks.at(node.start_byte))

    def _checks(self, condition: Node) -> list[Node]:
        """The type tests that all hold where the condition does."""
        found, rest = [], [condition]
        while rest:
            one = rest.pop()
            if one.type == "check_expression":
                found.append(one)
            elif one.type in ("conjunction_expression", "parenthesized_expression"):
                rest.extend(one.named_children)
        return found

    def _entry_test(self, node: Node) -> None:
        conditions = [one for one in node.named_children if one.type == "when_condition"]
        tests = [child(one, "type_test") for one in conditions]
        body, parent = last(node), node.parent
        if len(tests) != 1 or body is None or parent is None:
            return
        if tests[0] is not None:
            subject = child(parent, "when_subject")
            name = child(child(subject, "variable_declaration"), "simple_identifier") or first(subject)
            if not any(one.type == "!is" for one in tests[0].children):
                self._hold(name, last(tests[0]), tests[0].end_byte, body.end_byte)
            return
        for check in self._checks(first(conditions[0]) or conditions[0]):
            if any(one.type == "is" for one in check.children):
                self._hold(first(check), last(check), check.end_byte, body.end_byte)

    def _hold(self, name: Node | None, kind: Node | None, start: int, end: int) -> None:
        if name is None or name.type != "simple_identifier" or not (expr := self.instance(kind)):
            return
        self.build.bind(self.inside.at(name.start_byte), self.text(name), NARROWED, expr, start, end)

    def generics(self) -> None:
        """To be done before any value is read."""
        for node in self.nodes.get("generic", ()):
            self._generic(node)

    def _generic(self, node: Node) -> None:
        """``f<T>(x).g()``, which the grammar reads as two comparisons: what no Kotlin program could mean."""
        inside, right = first(node), last(node)
        if inside is None or right is None:
            return
        callee, kind = first(inside), last(inside)
        while right is not None and right.type in ("call_expression", "navigation_expression", "postfix_expression"):
            right = first(right)
        signs = [one.type for part in (inside, node) for one in part.children if not one.is_named]
        if (
            callee is None
            or kind is None
            or right is None
            or signs != ["<", ">"]
            or right.type != "parenthesized_expression"
        ):
            return
        name = callee if callee.type == "simple_identifier" else kttypes.suffix_name(callee)
        if name is None or kind.type != "simple_identifier":
            return
        build = self.build
        kind_expr = build.named(self.text(kind))
        self.known[right.id] = self.call(self.generic(self.value(callee), (kind_expr,)), arguments(right))
        self.call_site(self.known[right.id], name)
        self.known[node.id] = self.value(last(node))
        self.place(REFERENCE_SITE, build.expr(INSTANCE, kind_expr), kind)

    def _sites(self) -> None:
        nodes, build = self.nodes, self.build
        for node in nodes.get("call", ()):
            self._call(node)
        for node in nodes.get("infix", ()):
            parts = arguments(node)
            if len(parts) == 3 and parts[1].type == "simple_identifier":
                self.call_site(self.value(node), parts[1])
        for node in nodes.get("delegation", ()):
            token = node.child(0)
            if token is not None and token.type in ("this", "super"):
                own = build.expr(CLASS) if token.type == "this" else build.expr(TYPE_OF, build.expr(SUPER))
                args = [last(part) or part for part in arguments(child(node, "value_arguments"))]
                self.place(CALL_SITE, self.call(own, args), token)
        for node in nodes.get("reference", ()):
            self._callable(node)
        for node in nodes.get("member", ()):
            name = kttypes.suffix_name(node)
            if name is not None and (expr := self.value(node)):
                self.place(REFERENCE_SITE, expr, name)
        for capture in ("annotation", "scoped"):
            for node in nodes.get(capture, ()):
                expr, name = kttypes.bare(self, node)
                if name is not None:
                    self.place(REFERENCE_SITE, build.expr(INSTANCE, expr), name)
        self.types()
        self.names()

    def _call(self, node: Node) -> None:
        callee = first(node)
        if callee is None or callee.type not in ("simple_identifier", "navigation_expression"):
            return
        name = callee if callee.type == "simple_identifier" else kttypes.suffix_name(callee)
        if name is None:
            return
        word = self.source[name.start_byte : name.end_byte]
        if word == b"init" and name is callee:
            self.used.add(name.start_byte)  # An initializer that the grammar reads as a call.
            return
        if name is callee and word in self.locals and self.is_local(word, name.start_byte):
            # A function in a variable: what is called has no name of its own, unless its type has an ``invoke``.
            build = self.build
            expr = build.expr(ATTR, build.named(self.text(name)), build.name("invoke"))
            self.place(CALL_SITE, build.expr(CALL, expr, len(kttypes.given(last(node)))), name)
            return
        self.call_site(self.value(node), name)

    def _callable(self, node: Node) -> None:
        parts = arguments(node)
        if not parts:
            return
        head = parts[0]
        if parts[-1].type == "simple_identifier":
            self.place(REFERENCE_SITE, kttypes.reference(self, node), parts[-1])
        if head.type == "type_identifier" and not self.is_local(
            self.source[head.start_byte : head.end_byte], head.start_byte
        ):
            self.place(REFERENCE_SITE, self.build.named(self.text(head)), head)

    def _initial(self, node: Node, variable: Node) -> int:
        getter, delegate = child(node, "getter"), child(node, "property_delegate")
        if delegate is not None:
            return self._delegated(delegate)
        final = last(node)
        if getter is not None and (final is None or final.id == getter.id):
            body = child(getter, "function_body")
            return kttypes.closing(self, body) if body is not None else 0
        skipped = ("modifiers", "binding_pattern_kind", "type_constraints", "setter", "getter", "receiver_type")
        parts = [one for one in arguments(node) if one.type not in skipped and one.start_byte >= variable.end_byte]
        return self.value(parts[0]) if parts else 0

    def _delegated(self, delegate: Node) -> int:
        """``by lazy { … }`` gives what the closure does."""
        made = first(delegate)
        parts = arguments(made)
        if made is None or made.type != "call_expression" or self.text(parts[0]) != "lazy":
            return 0
        body = kttypes.given(parts[1])
        own = self.scopes.get(body[-1].id) if body else None
        return self.build.expr(CALL, self.build.expr(CLOSURE, own), 0) if own is not None else 0


BINDINGS: dict[str, Callable[[Sites, Node], None]] = {
    "for_statement": Sites._each,
    "catch_block": Sites._caught,
    "when_subject": Sites._subject,
}
