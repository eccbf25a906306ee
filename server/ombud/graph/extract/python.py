"""Facts of Python. Scopes and bindings follow the language reference, section 4, "Execution model"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract import pytypes
from ombud.graph.extract.builder import DOC
from ombud.graph.extract.extraction import Nest, first
from ombud.graph.extract.pybind import BINDINGS, Bindings
from ombud.graph.facts import (
    ASYNC,
    ATTR,
    CALL_SITE,
    CLASS,
    CLASS_KIND,
    CLASS_METHOD,
    CLASS_SCOPE,
    FUNCTION,
    FUNCTION_SCOPE,
    GENERATOR,
    INHERIT_SITE,
    LITERAL,
    METHOD,
    OVERLOAD,
    PARAMETER,
    PROPERTY,
    REFERENCE_SITE,
    RETURNED,
    SELF,
    STATIC,
    TO_SYMBOL,
    VALUE,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_DEFINITIONS = frozenset(("function_definition", "class_definition"))
_PREFIX = re.compile(r"^[A-Za-z]*(\"\"\"|'''|\"|')")
_PROPERTY = re.compile(r"(?:^|\.|_)(?:property|cached_property|classproperty|hybrid_property|cacheable)$")


class Python(Bindings):
    """See the module."""

    QUERY = "python"

    def gather(self) -> None:
        nodes = self.nodes
        self.used.update(node.start_byte for node in nodes.get("keyword", ()))
        ends = [(node.start_byte, node.end_byte, node.end_byte) for node in nodes.get("block", ())]
        self.blocks = Nest(ends)
        self.dead = Nest(pytypes.dead(self))
        self._define()
        for node in self.ordered("import"):
            self._import(node)
        for node in self.ordered("binding"):
            BINDINGS[node.type](self, node)
        for node in nodes.get("outer", ()):
            self._outer(node)
        for node in self.ordered("test"):
            pytypes.narrow(self, node)
        self._results()
        self._sites()
        self.build.symbols[0].doc = self._doc(self.root)

    # -- definitions ----------------------------------------------------------------------------------------------

    def _define(self) -> None:
        """Symbols and scopes of classes, functions, lambdas and comprehensions; then parameters."""
        regions: list[tuple[int, int, int]] = []
        # (end, scope, symbol, whether it is a class)
        around: list[tuple[int, int, int, bool]] = [(1 << 62, 0, 0, False)]
        later: list[tuple[Node, int, int, bool, list[Node]]] = []
        for node in self.ordered("scope"):
            start, end = node.start_byte, node.end_byte
            while around[-1][0] <= start:
                around.pop()
            _, scope, symbol, in_class = around[-1]
            kind = node.type
            if kind in _DEFINITIONS:
                body = node.child_by_field_name("body")
                name = node.child_by_field_name("name")
                if body is None or name is None:
                    continue
                is_class = kind == "class_definition"
                decorators = self._decorators(node)
                made = self._symbol(node, name, body, scope, symbol, is_class, in_class, decorators)
                if is_class:
                    # The bases and the keywords are read outside.
                    own = self.build.scope(scope, CLASS_SCOPE, made, body.start_byte, end)
                else:
                    own = self.build.scope(scope, FUNCTION_SCOPE, made, name.end_byte, end)
                if self.build.symbols[made].own < 0 or not is_class:
                    self.build.symbols[made].own = own
                regions.append((body.start_byte if is_class else name.end_byte, end, own))
                around.append((end, own, made, is_class))
                if not is_class:
                    later.append((node, made, own, in_class, decorators))
            else:
                own = self.build.scope(scope, FUNCTION_SCOPE, -1, start, end)
                regions.append((start, end, own))
                around.append((end, own, symbol, False))
                if kind == "lambda":
                    later.append((node, -1, own, False, []))
            self.scopes[node.id] = own
        self.inside = Nest(regions)
        for node, made, own, in_class, decorators in later:
            self._function(node, made, own, in_class, decorators)

    def _decorators(self, node: Node) -> list[Node]:
        parent = node.parent
        if parent is None or parent.type != "decorated_definition":
            return []
        return [first(child) or child for child in parent.named_children if child.type == "decorator"]

    def _symbol(
        self,
        node: Node,
        name: Node,
        body: Node,
        scope: int,
        parent: int,
        is_class: bool,
        in_class: bool,
        decorators: list[Node],
    ) -> int:
        build = self.build
        text = self.text(name)
        self.used.add(name.start_byte)
        self.bound.add(text)
        words = [self.text(one) for one in decorators]
        kind = CLASS_KIND if is_class else METHOD if in_class else FUNCTION
        if any(map(_PROPERTY.search, words)):
            kind = PROPERTY
        earlier = self.overloads.get((scope, text))
        if earlier is not None and not is_class:
            was = build.symbols[earlier]
            if was.flags & OVERLOAD or any(word.startswith(f"{text}.") for word in words):
                if not any(word.endswith("overload") for word in words):
                    was.flags &= ~OVERLOAD
                return earlier
        made = build.symbol(text, kind, parent, scope, (*build.start(node), *build.end(node)), build.span(name))
        symbol = build.symbols[made]
        symbol.signature = self.signature(node.start_byte, body.start_byte).rstrip().removesuffix(":")
        symbol.doc = self._doc(body)
        symbol.flags = self._flags(text, parent, is_class, words)
        self.overloads[scope, text] = made
        if not self.dead.at(node.start_byte):
            build.bind(scope, text, TO_SYMBOL, made, node.start_byte, self.blocks.at(node.start_byte))
        return made

    def _doc(self, body: Node) -> str:
        node = first(body)
        while node is not None and node.type == "comment":
            node = node.next_named_sibling
        if node is not None and node.type == "expression_statement":
            node = first(node)
        if node is None or node.type != "string":
            return ""
        text = self.source[node.start_byte : min(node.end_byte, node.start_byte + 4 * DOC)].decode("utf-8", "replace")
        mark = _PREFIX.match(text)
        if mark is None:
            return ""
        text = text[mark.end() :].removesuffix(mark[1])
        return "\n".join(line.strip() for line in text.strip().splitlines())[:DOC]

    def _function(self, node: Node, made: int, own: int, in_class: bool, decorators: list[Node]) -> None:
        """Parameters, the declared result, decorators."""
        build = self.build
        names: list[str] = []
        least = most = 0
        receiver = in_class and not build.symbols[made].flags & STATIC
        parameters = node.child_by_field_name("parameters")
        for number, parameter in enumerate(parameters.named_children if parameters is not None else ()):
            name, expr, optional, spread = self._parameter(parameter)
            if not name:
                continue
            if receiver and not number:
                self.receivers[own] = name
                expr = build.expr(CLASS if build.symbols[made].flags & CLASS_METHOD else SELF)
            else:
                names.append(name)
                least += not optional and not spread
                most = -1 if spread or most < 0 else most + 1
            build.bind(own, name, PARAMETER, expr)
        if made < 0:
            body = node.child_by_field_name("body")
            if body is not None:
                build.bind(own, RETURNED, VALUE, self.value(body))
            return
        symbol = build.symbols[made]
        if node.child(0) is not None and self.source.startswith(b"async", node.start_byte):
            symbol.flags |= ASYNC
        declared = node.child_by_field_name("return_type")
        if declared is not None:
            given = self.kind_of(declared)
            symbol.type = build.union((symbol.type, given)) if symbol.flags & OVERLOAD or symbol.type else given
        if not symbol.params:
            symbol.params, symbol.arity = names, (least, most)
        symbol.decorators = [self.value(one) for one in decorators]
        generic = node.child_by_field_name("type_parameters")
        if generic is not None:
            symbol.generics = [self.text(one) for one in generic.named_children]

    def _parameter(self, node: Node) -> tuple[str, int, bool, bool]:
        """Name, expression, whether it may be left out, whether it takes several."""
        kind = node.type
        if kind == "identifier":
            self.used.add(node.start_byte)
            return self.text(node), 0, False, False
        if kind in ("default_parameter", "typed_default_parameter"):
            name = node.child_by_field_name("name")
            if name is None or name.type != "identifier":
                return "", 0, True, False
            self.used.add(name.start_byte)
            hint, default = node.child_by_field_name("type"), node.child_by_field_name("value")
            if hint is not None:
                return self.text(name), self.instance(hint), True, False
            return self.text(name), self.value(default) if default is not None else 0, True, False
        if kind in ("typed_parameter", "list_splat_pattern", "dictionary_splat_pattern"):
            name = first(node)
            hint = node.child_by_field_name("type")
            expr = self.instance(hint) if hint is not None else 0
            if name is not None and name.type != "identifier":
                kind, name = name.type, first(name)
            if name is None or name.type != "identifier":
                return "", 0, False, False
            self.used.add(name.start_byte)
            if kind in ("typed_parameter", "identifier"):
                return self.text(name), expr, False, False
            builtin = "tuple" if kind == "list_splat_pattern" else "dict"
            return self.text(name), self._collection(builtin, expr), True, True
        return "", 0, False, False

    def _collection(self, builtin: str, element: int) -> int:
        build = self.build
        if not element:
            return build.expr(LITERAL, build.name(builtin))
        args = (element,) if builtin == "tuple" else (build.expr(LITERAL, build.name("str")), element)
        return build.expr(LITERAL, build.name(builtin), build.cons(args))

    # -- results and sites ----------------------------------------------------------------------------------------

    def _results(self) -> None:
        for capture, flag in (("return", 0), ("yield", GENERATOR)):
            for node in self.ordered(capture):
                scope = self.inside.at(node.start_byte)
                holder = self.build.symbol_of(scope)
                symbol = self.build.symbols[holder]
                if not holder or symbol.own < 0:
                    continue
                symbol.flags |= flag
                if symbol.flags & GENERATOR and not flag:
                    continue
                expr = self.value(node)
                if expr and len(symbol.returns) < 8:
                    symbol.returns.append(self.build.expr(WITHIN, scope, expr) if scope != symbol.own else expr)

    def _sites(self) -> None:
        for node in self.nodes.get("bases", ()):
            self._inherit(node)
        for node in self.nodes.get("decorator", ()):
            inner = first(node)
            if inner is not None and inner.type in ("identifier", "attribute"):
                self._site(CALL_SITE, inner)
        for node in self.inner_first("call"):
            function = node.child_by_field_name("function")
            if function is not None and function.type == "subscript":
                function = function.child_by_field_name("value")
            if function is not None and function.type in ("identifier", "attribute"):
                self._site(CALL_SITE, function)
        for node in self.inner_first("attribute"):
            self._site(REFERENCE_SITE, node)
        build, used, bound, source = self.build, self.used, self.bound, self.source
        words = {word.encode() for word in bound}
        for node in self.nodes.get("name", ()):
            start = node.start_byte
            if start in used:
                continue
            word = source[start : node.end_byte]
            if word in words or self.starred:
                text = word.decode("utf-8", "replace")
                build.site(REFERENCE_SITE, build.named(text), self.inside.at(start), node)
        pytypes.quoted(self)

    def _site(self, kind: int, node: Node, scope: int = -1) -> None:
        name = node
        if node.type == "attribute":
            found = node.child_by_field_name("attribute")
            if found is None:
                return
            name = found
        start = name.start_byte
        if start in self.used:
            return
        self.used.add(start)
        if self.source.startswith(b"__class__", start):
            return  # It names no definition, whatever it holds.
        expr = self.value(node)
        if expr or kind == CALL_SITE:
            if not expr and node is not name:
                # What it is called on is not known; its name still is.
                expr = self.build.expr(ATTR, 0, self.build.name(self.text(name)))
            self.build.site(kind, expr, self.inside.at(start) if scope < 0 else scope, name)

    def _inherit(self, node: Node) -> None:
        parent = node.parent
        own = self.scopes.get(parent.id, 0) if parent is not None else 0
        symbol = self.build.symbols[self.build.symbol_of(own)]
        for child in node.named_children:
            if child.type in ("keyword_argument", "comment"):
                continue
            base = child
            if child.type == "subscript":
                base = child.child_by_field_name("value") or child
            symbol.bases.append(self.kind_of(child))
            if base.type in ("identifier", "attribute"):
                # It is the class that inherits, not what it is defined in.
                self._site(INHERIT_SITE, base, own)


EXTRACTION = Python
