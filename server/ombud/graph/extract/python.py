"""Facts of Python. Scopes and bindings follow the language reference, section 4, "Execution model"."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract import pytypes
from ombud.graph.extract.builder import DOC
from ombud.graph.extract.extraction import Extraction, Nest, first
from ombud.graph.facts import (
    ALIAS,
    ASYNC,
    ATTR,
    CALL,
    CALL_SITE,
    CLASS,
    CLASS_KIND,
    CLASS_METHOD,
    CLASS_SCOPE,
    CONSTANT,
    DECLARED,
    ELEM,
    ENUM_MEMBER,
    EXPORTED,
    FIELD,
    FUNCTION,
    FUNCTION_SCOPE,
    GENERATOR,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INSTANCE,
    LITERAL,
    METHOD,
    OUTER,
    OVERLOAD,
    PARAMETER,
    PROPERTY,
    REFERENCE_SITE,
    RETURNED,
    ROOT,
    SELF,
    STATIC,
    TEST,
    TO_IMPORT,
    TO_SYMBOL,
    TYPE,
    VALUE,
    VARIABLE,
    WITHIN,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASS_METHODS = {"__new__", "__init_subclass__", "__class_getitem__"}
_LEAVING = {"return_statement", "raise_statement", "continue_statement", "break_statement"}
_PREFIX = re.compile(r"^[A-Za-z]*(\"\"\"|'''|\"|')")
_PROPERTY = re.compile(r"(?:^|\.|_)(?:property|cached_property|classproperty|hybrid_property|cacheable)$")


class Python(Extraction):
    """See the module. `value` and `kind_of` lower expressions; they live in `pytypes`."""

    QUERY = "python"

    def gather(self) -> None:
        self.known: dict[int, int] = {}
        self.scopes: dict[int, int] = {}
        self.receivers: dict[int, str] = {}
        self.fields: dict[tuple[int, str], int] = {}
        self.overloads: dict[tuple[int, str], int] = {}
        """(scope, name) → the symbol that later definitions of the name belong to."""
        self.bound: set[str] = set()
        """Names that mean something beyond one function: of symbols and of imports."""
        self.starred = False
        nodes = self.nodes
        self.used.update(node.start_byte for node in nodes.get("keyword", ()))
        ends = [(node.start_byte, node.end_byte, node.end_byte) for node in nodes.get("block", ())]
        self.blocks = Nest(ends)
        self.dead = Nest(pytypes.dead(self))
        self._define()
        for node in self.ordered("import"):
            self._import(node)
        for node in self.ordered("binding"):
            _BINDINGS[node.type](self, node)
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
        later = []
        for node in self.ordered("scope"):
            start, end = node.start_byte, node.end_byte
            while around[-1][0] <= start:
                around.pop()
            _, scope, symbol, in_class = around[-1]
            kind = node.type
            if kind == "function_definition" or kind == "class_definition":
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
                    later.append((node, -1, own, False, ()))
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

    def _flags(self, text: str, parent: int, is_class: bool, words: list[str]) -> int:
        above = self.build.symbols[parent]
        public = not text.startswith("_") or (text.startswith("__") and text.endswith("__"))
        flags = EXPORTED if public and (not parent or (above.flags & EXPORTED and above.kind == CLASS_KIND)) else 0
        if text.startswith("test") if not is_class else text.startswith("Test"):
            flags |= TEST
        for word in words:
            tail = word.rpartition(".")[2]
            if tail == "staticmethod":
                flags |= STATIC
            elif tail in ("classmethod", "classproperty"):
                flags |= CLASS_METHOD
            elif tail == "overload":
                flags |= OVERLOAD
        if text in _CLASS_METHODS:
            flags |= CLASS_METHOD
        return flags

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

    # -- what is bound --------------------------------------------------------------------------------------------

    def _import(self, node: Node) -> None:
        scope = self.inside.at(node.start_byte)
        module, level = "", 0
        names = node.named_children
        if node.type == "import_from_statement":
            source = node.child_by_field_name("module_name")
            if source is None:
                return
            module = self.text(source).replace(" ", "")
            level = len(module) - len(module.lstrip("."))
            module = module.lstrip(".")
            self._use(source)
            names = names[1:]
        for child in names:
            self._use(child)
            if child.type == "wildcard_import":
                self.starred = True
                self._imported(node, child, Import(module, "*", "", level, scope))
            elif child.type in ("dotted_name", "aliased_import"):
                name = child.child_by_field_name("name") or child
                alias = child.child_by_field_name("alias")
                written, called = self.text(name).replace(" ", ""), self.text(alias)
                if node.type == "import_from_statement":
                    self._imported(node, name, Import(module, written, called or written, level, scope))
                else:
                    bound = called or written.partition(".")[0]
                    self._imported(node, name, Import(written, "", bound, 0, scope, 0 if called else ROOT))

    def _use(self, node: Node) -> None:
        if node.type == "identifier":
            self.used.add(node.start_byte)
        for child in node.named_children:
            self._use(child)

    def _imported(self, node: Node, name: Node, item: Import) -> None:
        build = self.build
        item.site = build.span(name)
        build.imports.append(item)
        number = len(build.imports) - 1
        if item.alias and not self.dead.at(node.start_byte):
            self.bound.add(item.alias)
            build.bind(item.scope, item.alias, TO_IMPORT, number, node.end_byte, self.blocks.at(node.start_byte))
        build.site_at(IMPORT_SITE, build.expr(IMPORT, number), item.scope, item.site)

    def _assignment(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        hint = node.child_by_field_name("type")
        if left is None:
            return
        expr = self.value(right) if right is not None and right.type != "assignment" else 0
        while right is not None and right.type == "assignment":
            # a = b = value: the inner ones are in the list themselves.
            right = right.child_by_field_name("right")
            expr = self.value(right) if right is not None and right.type != "assignment" else 0
        if (
            left.type == "identifier"
            and right is not None
            and self.source[left.start_byte : left.end_byte] == b"__all__"
        ):
            self._all(right)
        self._bind(left, expr, node, hint)

    def _all(self, right: Node) -> None:
        listed = [self.text(one).strip("\"'") for one in right.named_children if one.type == "string"]
        if right.type in ("list", "tuple"):
            self.build.all = [*(self.build.all or ()), *listed]

    def _augmented(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is not None and right is not None and self.text(left) == "__all__":
            self._all(right)

    def _for(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if left is None or right is None:
            return
        source = self.value(right)
        self._bind(left, self.build.expr(ELEM, source) if source else 0, node)

    def _walrus(self, node: Node) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None and value is not None:
            self._bind(name, self.value(value), node)

    def _as(self, node: Node) -> None:
        target = node.child_by_field_name("alias")
        value = first(node)
        if target is None or value is None:
            return
        parent = node.parent
        build = self.build
        if parent is not None and parent.type == "with_item":
            entered = build.attr(self.value(value), "__enter__")
            expr = build.expr(CALL, entered, 0) if entered else 0
        elif value.type == "case_pattern":
            expr = 0
        else:
            kinds = value.named_children if value.type in ("tuple", "parenthesized_expression") else [value]
            expr = build.union(build.expr(INSTANCE, self.value(one)) for one in kinds if self.value(one))
        for one in target.named_children:
            self._bind(one, expr, value)

    def _type_alias(self, node: Node) -> None:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        name = left
        while name is not None and name.type != "identifier":
            name = first(name)
        if name is None or right is None:
            return
        scope = self.inside.at(node.start_byte)
        made = self._variable(name, node, scope, TYPE)
        symbol = self.build.symbols[made]
        symbol.value, symbol.flags = self.kind_of(right), symbol.flags | ALIAS

    def _bind(self, target: Node, expr: int, node: Node, hint: Node | None = None) -> None:
        """Bind all names of a pattern. ``node`` is the statement: names hold behind it."""
        kind = target.type
        build = self.build
        if kind == "identifier":
            self._bind_name(target, expr, node, hint)
        elif kind == "attribute":
            self._field(target, expr, node, hint)
        elif kind in ("pattern_list", "tuple_pattern", "list_pattern", "tuple", "list", "as_pattern_target"):
            for number, part in enumerate(target.named_children, 1):
                self._bind(part, build.expr(ELEM, expr, number) if expr else 0, node)
        elif kind in ("list_splat_pattern", "parenthesized_expression", "list_splat"):
            for part in target.named_children:
                self._bind(part, 0, node)

    def _bind_name(self, target: Node, expr: int, node: Node, hint: Node | None) -> None:
        build = self.build
        scope = self.inside.at(target.start_byte)
        text = self.text(target)
        block = self.blocks.at(node.start_byte)
        holder = build.scope_kind(scope)
        if holder != FUNCTION_SCOPE and node.type != "for_in_clause":
            made = self._variable(target, node, scope, FIELD if holder == CLASS_SCOPE else VARIABLE)
            symbol = build.symbols[made]
            if hint is not None and not symbol.type:
                symbol.type = self.kind_of(hint)
            if expr and not symbol.value:
                symbol.value = expr
            elif expr:
                build.bind(scope, text, VALUE, expr, node.end_byte, block)
            return
        self.used.add(target.start_byte)
        start = node.end_byte
        if node.type in ("for_statement", "as_pattern", "call"):
            start = target.end_byte
        elif node.type == "for_in_clause":
            start, block = 0, 0
        if hint is not None:
            build.bind(scope, text, DECLARED, self.instance(hint), start)
        if expr or hint is None:
            build.bind(scope, text, VALUE, expr, start, block)

    def _variable(self, target: Node, node: Node, scope: int, kind: int) -> int:
        """The symbol of a name that is bound in a module or a class, made where there is none."""
        build = self.build
        text = self.text(target)
        found = self.overloads.get((scope, text))
        if found is not None:
            # A second binding of the name: a site that writes it.
            return found
        self.used.add(target.start_byte)
        parent = build.symbol_of(scope)
        if kind == VARIABLE and text.isupper():
            kind = CONSTANT
        elif kind == FIELD and any("Enum" in base for base in self._bases.get(parent, ())):
            kind = ENUM_MEMBER
        span = build.span(target)
        made = build.symbol(text, kind, parent, scope, (*build.start(node), *build.end(node)), span)
        symbol = build.symbols[made]
        symbol.flags = self._flags(text, parent, True, []) & EXPORTED
        symbol.signature = self.signature(node.start_byte, node.end_byte)[:120]
        self.overloads[scope, text] = made
        self.bound.add(text)
        if not self.dead.at(node.start_byte):
            build.bind(scope, text, TO_SYMBOL, made, node.end_byte, self.blocks.at(node.start_byte))
        return made

    def _field(self, target: Node, expr: int, node: Node, hint: Node | None) -> None:
        """``self.x = …`` in a method defines a field of the class, once; each assignment says something of its type."""
        base, name = target.child_by_field_name("object"), target.child_by_field_name("attribute")
        if base is None or name is None or base.type != "identifier":
            return
        scope = self.inside.at(target.start_byte)
        own = self._method(scope, self.text(base))
        if own < 0:
            return
        build = self.build
        holder = build.parent_scope(own)
        text = self.text(name)
        within = build.expr(WITHIN, scope, expr) if expr else 0
        found = self.overloads.get((holder, text))
        if found is None:
            self.used.add(name.start_byte)
            parent = build.symbol_of(holder)
            where = (*build.start(node), *build.end(node))
            found = build.symbol(text, FIELD, parent, holder, where, build.span(name))
            self.overloads[holder, text] = found
            symbol = build.symbols[found]
            symbol.flags = self._flags(text, parent, True, []) & EXPORTED
            symbol.signature = self.signature(node.start_byte, node.end_byte)[:120]
            build.bind(holder, text, TO_SYMBOL, found)
        symbol = build.symbols[found]
        if hint is not None and not symbol.type:
            symbol.type = build.expr(WITHIN, scope, self.kind_of(hint))
        if within:
            build.bind(holder, text, VALUE, within, node.start_byte)

    def _method(self, scope: int, receiver: str) -> int:
        """The scope of the method around ``scope`` whose receiver has that name, -1 for none."""
        while scope > 0:
            if scope in self.receivers:
                return scope if self.receivers[scope] == receiver else -1
            scope = self.build.parent_scope(scope)
        return -1

    def _outer(self, node: Node) -> None:
        scope = self.inside.at(node.start_byte)
        for child in node.named_children:
            self.used.add(child.start_byte)
            text = self.text(child)
            outer = 0 if node.type == "global_statement" else max(self.build.parent_scope(scope), 0)
            self.build.bind(scope, text, OUTER, outer)

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
        for node in self.nodes.get("call", ()):
            function = node.child_by_field_name("function")
            if function is not None and function.type == "subscript":
                function = function.child_by_field_name("value")
            if function is not None and function.type in ("identifier", "attribute"):
                self._site(CALL_SITE, function)
        for node in self.nodes.get("attribute", ()):
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

    @property
    def _bases(self) -> dict[int, list[str]]:
        """Texts of the bases of each class symbol."""
        if not hasattr(self, "_base_texts"):
            self._base_texts: dict[int, list[str]] = {}
            for node in self.nodes.get("bases", ()):
                parent = node.parent
                own = self.scopes.get(parent.id, 0) if parent is not None else 0
                holder = self.build.symbol_of(own)
                self._base_texts[holder] = [self.text(one) for one in node.named_children]
        return self._base_texts

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

    # -- expressions ----------------------------------------------------------------------------------------------

    def value(self, node: Node) -> int:
        """The expression of a node, 0 where nothing can be said of it."""
        key = node.id
        found = self.known.get(key)
        if found is None:
            how = pytypes.VALUES.get(node.type)
            found = self.known[key] = how(self, node) if how is not None else 0
        return found

    def kind_of(self, node: Node) -> int:
        """The expression of a type, as an annotation writes it."""
        return pytypes.kind_of(self, node)

    def instance(self, node: Node) -> int:
        """An INSTANCE of the type that an annotation names."""
        kind = self.kind_of(node)
        return self.build.expr(INSTANCE, kind) if kind else 0


_BINDINGS: dict[str, Callable[[Python, Node], None]] = {
    "assignment": Python._assignment,
    "augmented_assignment": Python._augmented,
    "for_statement": Python._for,
    "for_in_clause": Python._for,
    "named_expression": Python._walrus,
    "as_pattern": Python._as,
    "type_alias_statement": Python._type_alias,
}

EXTRACTION = Python
