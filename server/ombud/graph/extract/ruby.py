"""Facts of Ruby: definitions, what they stand in, and the sites.

Methods of instances are bound in the scope of their class by their name, those of the class itself with a ``.`` before
it, and what writes an attribute with a ``=`` behind it. What is mixed in stands among a class's bases as an ELEM whose
number says how (`MIXINS`).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from ombud.graph.extract import rubymacros, rubyvalues
from ombud.graph.extract.extraction import Nest, first
from ombud.graph.extract.rubynames import BINDINGS, MAIN_OBJECT, TOP, Around, Names
from ombud.graph.extract.rubyvalues import MAIN, OF_CLASS, OF_INSTANCE, tails
from ombud.graph.facts import (
    ATTR,
    BLOCK_SCOPE,
    CALL_SITE,
    CLASS_KIND,
    CLASS_SCOPE,
    CONSTRUCTOR,
    EXPORTED,
    FUNCTION,
    FUNCTION_SCOPE,
    INHERIT_SITE,
    METHOD,
    NAMESPACE,
    REFERENCE_SITE,
    RETURNED,
    STATIC,
    STRUCT,
    TEST,
    TO_SYMBOL,
    VALUE,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_FORMS = {"Class.new": CLASS_KIND, "Module.new": NAMESPACE, "Struct.new": STRUCT, "Data.define": STRUCT}
_DEFINING = rubyvalues.words("define_method define_singleton_method let let! subject subject! class_methods included")
_TAIL_OF_TEST = ("Test", "TestCase", "Spec")
MOST_RETURNS = 8


class Ruby(Names):
    """See the module."""

    QUERY = "ruby"

    def gather(self) -> None:
        nodes = self.nodes
        self.formed: dict[int, tuple[Node, Node]] = {}
        """Block → the call and the name of what it is the body of."""
        self.calls = self.ordered("call")
        self.methods: list[tuple[Node, int, int]] = []
        """(node, symbol, scope) of each."""
        self.supers: list[tuple[int, int, Node]] = []
        self.made: list[tuple[int, int, Node, int]] = []
        self.hooks: set[int] = set()
        """Scopes of ``included do … end``."""
        self.marks: dict[int, list[tuple[int, str]]] = {}
        ends = [(node.start_byte, node.end_byte, node.end_byte) for node in nodes.get("block", ())]
        self.blocks = Nest(ends)
        for node in nodes.get("used", ()):
            self.used.update(one.start_byte for one in node.named_children)
        for node in self.ordered("made"):
            self._made(node)
        for node in self.calls:
            block = node.child_by_field_name("block")
            if block is not None and node.child_by_field_name("receiver") is None:
                method = node.child_by_field_name("method")
                if method is not None and self.text(method) in _DEFINING:
                    self.formed[block.id] = (node, node)
        self._define()
        self._visible()
        for node in self.ordered("binding"):
            BINDINGS[node.type](self, node)
        for node in nodes.get("case", ()):
            self.narrow(node)
        for node in self.calls:
            rubymacros.macro(self, node)
        for node in self.ordered("alias"):
            rubymacros.alias(self, node)
        self._results()
        self._sites()

    # -- definitions ----------------------------------------------------------------------------------------------

    def _made(self, node: Node) -> None:
        """``A = Struct.new(…) do … end`` defines a class."""
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        receiver, method = right.child_by_field_name("receiver"), right.child_by_field_name("method")
        if receiver is None or method is None or receiver.type not in ("constant", "scope_resolution"):
            return
        if f"{self.text(receiver).removeprefix(TOP)}.{self.text(method)}" in _FORMS:
            self.scopes[node.id] = 0
            block = right.child_by_field_name("block")
            self.formed[block.id if block is not None else right.id] = (right, left)

    def _define(self) -> None:
        """Symbols and scopes, outer ones first."""
        regions: list[tuple[int, int, int]] = []
        stack: list[tuple[int, int, int]] = [(1 << 62, 0, 0)]  # (end, scope, symbol)
        lambdas: set[int] = set()
        bare = [call for key, (call, _) in self.formed.items() if key == call.id]
        nodes = sorted([*self.nodes.get("scope", ()), *bare], key=lambda node: (node.start_byte, -node.end_byte))
        for node in nodes:
            start, end, kind = node.start_byte, node.end_byte, node.type
            while stack[-1][0] <= start:
                stack.pop()
            _, scope, symbol = stack[-1]
            if kind == "lambda":
                body = node.child_by_field_name("body")
                if body is not None:
                    lambdas.add(body.id)
            elif node.id in lambdas:
                continue
            first_byte, own, made = self._open(node, kind, scope, symbol)
            if own < 0:
                continue
            self.scopes[node.id] = own
            regions.append((first_byte, end, own))
            stack.append((end, own, made))
        self.inside = Nest(regions)

    def _open(self, node: Node, kind: str, scope: int, symbol: int) -> tuple[int, int, int]:
        """Where the scope of a node begins, its number (-1 for none), and the symbol it belongs to."""
        start, end = node.start_byte, node.end_byte
        around = self.around[scope]
        if kind in ("class", "module"):
            return self._class(node, scope, symbol)
        if kind == "singleton_class":
            own = self.scope(scope, BLOCK_SCOPE, -1, start, end)
            value = node.child_by_field_name("value")
            ours = value is not None and (value.type == "self" or self._is_around(value, around))
            self.around[own] = Around(around.symbol, around.scope, OF_CLASS, True) if ours else Around(0, own, MAIN)
            self.hard.add(own)
            return (value.end_byte if value is not None else start), own, symbol
        if kind in ("method", "singleton_method"):
            return self._method(node, scope, symbol)
        formed = self.formed.get(node.id)
        if formed is not None:
            call, name = formed
            if call.id != name.id:
                return self._form(node, call, name, scope, symbol)
            return self._defined(node, call, scope, symbol)
        own = self.scope(scope, FUNCTION_SCOPE, -1, start, end)
        self.around[own] = around
        return start, own, symbol

    def _is_around(self, node: Node, around: Around) -> bool:
        return bool(around.symbol) and self.text(node) == self.build.symbols[around.symbol].name

    def _class(self, node: Node, scope: int, symbol: int) -> tuple[int, int, int]:
        name = node.child_by_field_name("name")
        if name is None:
            return 0, -1, symbol
        above = node.child_by_field_name("superclass")
        begin = above.end_byte if above is not None else name.end_byte
        kind = CLASS_KIND if node.type == "class" else NAMESPACE
        made, own = self._type(node, name, kind, scope, begin)
        self.build.symbols[made].signature = self.signature(node.start_byte, begin)
        self.build.symbols[made].doc = self.comment_above(node)
        if above is not None:
            self.supers.append((made, own, above))
        return begin, own, made

    def _type(self, node: Node, name: Node, kind: int, scope: int, begin: int) -> tuple[int, int]:
        """The symbol and the scope of a class or a module."""
        build = self.build
        text = self.text(name)
        parent = self.around[scope].symbol
        tail = (name.child_by_field_name("name") or name) if name.type == "scope_resolution" else name
        self.used.add(tail.start_byte)
        made = self.symbol("".join(text.split()).removeprefix(TOP), kind, parent, scope, node, build.span(tail))
        own = self.scope(scope, CLASS_SCOPE, made, begin, node.end_byte)
        symbol = build.symbols[made]
        symbol.own = own
        if tail is not name:
            base = name.child_by_field_name("scope")
            symbol.owner = self._constants(base) if base is not None else build.named(TOP)
        self.around[own] = Around(made, own, OF_CLASS)
        self.hard.add(own)
        return made, own

    def _constants(self, node: Node) -> int:
        """``A::B`` as an expression, read before scopes are known."""
        text = "".join(self.text(node).split())
        return self.build.dotted(TOP + text if text.startswith(TOP) else text, TOP) if text else 0

    def _form(self, node: Node, call: Node, name: Node, scope: int, symbol: int) -> tuple[int, int, int]:
        """The class that ``A = Class.new(B) do … end`` makes."""
        del symbol
        receiver, method = call.child_by_field_name("receiver"), call.child_by_field_name("method")
        kind = _FORMS[f"{self.text(receiver).removeprefix(TOP)}.{self.text(method)}"]
        whole = call.parent or call
        begin = node.start_byte if node.id != call.id else node.end_byte
        made, own = self._type(whole, name, kind, scope, begin)
        that = self.build.symbols[made]
        that.signature = self.signature(whole.start_byte, begin).removesuffix("do").rstrip()
        that.doc = self.comment_above(whole)
        self.made.append((made, own, call, kind))
        return begin, own, made

    def _defined(self, node: Node, call: Node, scope: int, symbol: int) -> tuple[int, int, int]:
        """``define_method(:a) { … }``, ``let(:a) { … }``, ``class_methods do … end``."""
        build = self.build
        around = self.around[scope]
        method = call.child_by_field_name("method")
        word = self.text(method)
        if word == "class_methods" and around.symbol and method is not None:
            return self._class_methods(node, method, scope)
        argument = first(call.child_by_field_name("arguments"))
        text, at = self.word(argument) if argument is not None else ("", (0, 0, 0))
        if not argument and word.startswith("subject") and method is not None:
            text, at = "subject", build.span(method)
        if text and argument is not None:
            self.used.add(argument.start_byte)
        if not text or word == "included" or (word.startswith("define") and not around.symbol):
            own = self.scope(scope, FUNCTION_SCOPE, -1, node.start_byte, node.end_byte)
            self.around[own] = around
            if word == "included":
                self.hooks.add(own)
            return node.start_byte, own, symbol
        made = self.symbol(text, METHOD, symbol if word[0] != "d" else around.symbol, scope, call, at)
        own = self.scope(scope, FUNCTION_SCOPE, made, node.start_byte, node.end_byte)
        self.around[own] = around
        that = build.symbols[made]
        that.own, that.signature, that.doc = own, self.signature(call.start_byte, node.start_byte), ""
        if word.startswith("define"):
            static = word != "define_method" or around.singleton
            that.flags |= STATIC if static else 0
            self.around[own] = Around(around.symbol, around.scope, OF_CLASS if static else OF_INSTANCE)
            build.bind(around.scope, f".{text}" if static else text, TO_SYMBOL, made)
        else:
            self.blocked.setdefault(scope, set()).add(text)
            build.bind(scope, text, TO_SYMBOL, made)
        self.methods.append((node, made, own))
        return node.start_byte, own, made

    def _class_methods(self, node: Node, method: Node, scope: int) -> tuple[int, int, int]:
        """``class_methods do … end``: a module that what includes the module around is extended by."""
        build = self.build
        around = self.around[scope]
        made = self.symbol("ClassMethods", NAMESPACE, around.symbol, scope, node.parent or node, build.span(method))
        own = self.scope(scope, CLASS_SCOPE, made, node.start_byte, node.end_byte)
        build.symbols[made].own, build.symbols[made].signature = own, "class_methods"
        self.around[own] = Around(made, own, OF_CLASS)
        self.hard.add(own)
        held = build.named("ClassMethods")
        build.symbols[around.symbol].bases.append(rubymacros.mixed(self, held, "extended by"))
        return node.start_byte, own, made

    def _method(self, node: Node, scope: int, symbol: int) -> tuple[int, int, int]:
        build = self.build
        name = node.child_by_field_name("name")
        if name is None:
            return 0, -1, symbol
        around = self.around[scope]
        text = self.text(name)
        self.used.add(name.start_byte)
        if name.type == "setter" and (inner := first(name)) is not None:
            self.used.add(inner.start_byte)
        thing = node.child_by_field_name("object") if node.type == "singleton_method" else None
        ours = thing is None or thing.type == "self" or self._is_around(thing, around)
        static = around.singleton or (thing is not None and bool(around.symbol))
        blocked = thing is None and self._in_block(scope, around)
        parent = around.symbol if around.symbol else symbol if blocked else 0
        kind = FUNCTION if not parent else CONSTRUCTOR if text == "initialize" and not static else METHOD
        made = self.symbol(text, kind, parent, scope, node, build.span(name))
        own = self.scope(scope, FUNCTION_SCOPE, made, name.end_byte, node.end_byte)
        that = build.symbols[made]
        parameters = node.child_by_field_name("parameters")
        behind = parameters.end_byte if parameters is not None else name.end_byte
        that.own, that.signature = own, self.signature(node.start_byte, behind)
        that.flags |= STATIC if static else 0
        that.doc = self._doc(node)
        self._arity(made, parameters)
        if text.startswith("test_") and around.symbol:
            that.flags |= TEST
        self.hard.add(own)
        level = MAIN if not around.symbol else OF_CLASS if static else OF_INSTANCE
        self.around[own] = Around(around.symbol, around.scope, level)
        if blocked:
            self.blocked.setdefault(scope, set()).add(text)
            build.bind(scope, text, TO_SYMBOL, made)
        elif ours:
            build.bind(around.scope, f".{text}" if static else text, TO_SYMBOL, made)
        self.methods.append((node, made, own))
        return name.end_byte, own, made

    def _in_block(self, scope: int, around: Around) -> bool:
        """Whether what is defined in a scope is of an object that only the block's caller knows."""
        while scope != around.scope and scope >= 0:
            if self.build.scope_kind(scope) == FUNCTION_SCOPE and self.owners[scope] < 0:
                return not around.symbol
            scope = self.build.parent_scope(scope)
        return False

    def _doc(self, node: Node) -> str:
        """The comment above a method, or above the call that it is an argument of (``private def a``)."""
        found = self.comment_above(node)
        if not found and node.parent is not None and node.parent.type == "argument_list":
            call = node.parent.parent
            found = self.comment_above(call) if call is not None else ""
        return found

    def _arity(self, made: int, parameters: Node | None) -> None:
        least = most = 0
        names = []
        for child in parameters.named_children if parameters is not None else ():
            kind = child.type
            name = child if kind == "identifier" else child.child_by_field_name("name")
            if name is not None:
                names.append(self.text(name))
            if kind in ("identifier", "destructured_parameter"):
                least, most = least + 1, most + 1 if most >= 0 else most
            elif kind == "optional_parameter":
                most = most + 1 if most >= 0 else most
            elif kind in ("splat_parameter", "forward_parameter"):
                most = -1
        symbol = self.build.symbols[made]
        symbol.params, symbol.arity = names, (least, most)

    def _visible(self) -> None:
        """``private`` alone holds for what is defined behind it in the same body."""
        marks = self.marks
        for node in self.ordered("visibility"):
            parent = node.parent
            if parent is not None and parent.type in ("body_statement", "block_body", "program"):
                marks.setdefault(self.inside.at(node.start_byte), []).append((node.start_byte, self.text(node)))
        build = self.build
        for node, made, _ in self.methods:
            symbol = build.symbols[made]
            word = self.visibility(symbol.scope, node.start_byte)
            if word == "module_function" and symbol.parent and not symbol.flags & STATIC:
                build.bind(self.around[symbol.scope].scope, f".{symbol.name}", TO_SYMBOL, made)
            elif word in ("private", "protected") and node.type != "singleton_method":
                symbol.flags &= ~EXPORTED

    def visibility(self, scope: int, offset: int) -> str:
        """The last of ``private`` and its like that stands alone before a place."""
        found = self.marks.get(scope)
        at = bisect_right(found, (offset, "")) - 1 if found else -1
        return found[at][1] if found and at >= 0 else "public"

    # -- results --------------------------------------------------------------------------------------------------

    def _results(self) -> None:
        build = self.build
        for node, made, _ in self.methods:
            body = node.child_by_field_name("body")
            symbol = build.symbols[made]
            found = [self.value(one) for one in tails(body)] if body is not None else []
            symbol.returns = [one for one in dict.fromkeys(found) if one][:MOST_RETURNS]
        for node in self.nodes.get("scope", ()):
            own = self.scopes.get(node.id, -1)
            if own < 0 or self.owners[own] >= 0 or build.scope_kind(own) != FUNCTION_SCOPE:
                continue
            body = node.child_by_field_name("body")
            if body is not None and body.type in ("block", "do_block"):
                body = body.child_by_field_name("body")
            expr = build.union(self.value(one) for one in tails(body)) if body is not None else 0
            if expr:
                build.bind(own, RETURNED, VALUE, expr)
        for capture in ("return", "yield"):
            for node in self.ordered(capture):
                self._given(node, capture)

    def _given(self, node: Node, capture: str) -> None:
        """What ``return`` gives, and what ``yield`` hands to a block: the latter stands among the decorators."""
        build = self.build
        scope = self.inside.at(node.start_byte)
        parent = node.parent
        if parent is not None and parent.type == "next":
            if self.owners[scope] < 0:
                build.bind(scope, RETURNED, VALUE, self.value(first(node)))
            return
        symbol = build.symbols[build.symbol_of(scope)]
        if symbol.own < 0 or symbol.kind in (CLASS_KIND, NAMESPACE, STRUCT) or not symbol.name:
            return
        parts = [self.value(one) for one in node.named_children]
        if capture == "yield":
            expr = build.cons(parts)
            if any(parts) and len(symbol.decorators) < MOST_RETURNS:
                symbol.decorators.append(build.expr(WITHIN, scope, expr))
            return
        expr = parts[0] if len(parts) == 1 else rubyvalues.VALUES["right_assignment_list"](self, node)
        if expr and len(symbol.returns) < MOST_RETURNS:
            symbol.returns.append(build.expr(WITHIN, scope, expr) if scope != symbol.own else expr)

    # -- sites ----------------------------------------------------------------------------------------------------

    def _sites(self) -> None:
        build, used = self.build, self.used
        for made, own, node in self.supers:
            self._inherit(made, own, node)
        for made, own, call, kind in self.made:
            rubymacros.form(self, made, own, call, kind)
        for node in self.nodes.get("quoted", ()):
            rubymacros.quoted(self, node)
        for node in self.calls if len(self.calls) < 1000 else self.inner_first("call"):
            self._call_site(node)
        for node in self.nodes.get("super", ()):
            if node.start_byte not in used:
                used.add(node.start_byte)
                scope = self.inside.at(node.start_byte)
                build.site(CALL_SITE, rubyvalues.super_of(self, scope), scope, node)
        for node in self.inner_first("path"):
            name = node.child_by_field_name("name")
            if name is not None:
                self.site(REFERENCE_SITE, name, self.value(node))
        for capture in ("constant", "variable"):
            for node in self.nodes.get(capture, ()):
                if node.start_byte not in used:
                    self.site(REFERENCE_SITE, node, self.value(node))
        self._bare()

    def _bare(self) -> None:
        """What is no local variable is a method that is called."""
        source, used = self.source, self.used
        for node in self.nodes.get("name", ()):
            start = node.start_byte
            if start in used:
                continue
            text = source[start : node.end_byte].decode("utf-8", "replace")
            scope = self.inside.at(start)
            if not self.is_local(scope, text, start) and text.strip("_0123456789"):
                self.build.site(CALL_SITE, self.bare(scope, text), scope, node)

    def site(self, kind: int, node: Node, expr: int, scope: int = -1) -> None:
        """A site at a name, unless it is one already."""
        start = node.start_byte
        if start in self.used:
            return
        self.used.add(start)
        if expr:
            self.build.site(kind, expr, self.inside.at(start) if scope < 0 else scope, node)

    def _call_site(self, node: Node) -> None:
        method = node.child_by_field_name("method")
        if method is None or method.start_byte in self.used:
            return
        build = self.build
        start = method.start_byte
        self.used.add(start)
        expr = rubyvalues.called(self, node)
        if method.type != "super":
            text = self.text(method)
            if start in self.written:
                base = node.child_by_field_name("receiver")
                text += "="
                expr = build.attr(self.value(base), text)
            expr = expr or build.expr(ATTR, 0, build.name(text))
        build.site(CALL_SITE, expr, self.inside.at(start), method)

    def _inherit(self, made: int, own: int, node: Node) -> None:
        """``class A < B``; ``class A < Struct.new(:b)`` has what that has."""
        base = first(node)
        symbol = self.build.symbols[made]
        if base is None:
            return
        if base.type == "call":
            rubymacros.members(self, made, own, base)
        expr = self.value(base)
        symbol.bases.insert(0, expr or self.build.named(MAIN_OBJECT))
        self.inherits(base, expr, own)
        if self.text(base).endswith(_TAIL_OF_TEST):
            symbol.flags |= TEST

    def inherits(self, base: Node, expr: int, own: int) -> None:
        """The site of a class or module that another has above it; it is the class that inherits."""
        name = base.child_by_field_name("name") if base.type == "scope_resolution" else base
        if name is not None and name.type == "constant":
            self.site(INHERIT_SITE, name, expr, own)


EXTRACTION = Ruby
