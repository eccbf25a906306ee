"""What Python's statements bind: imports, assignments, loops, ``with`` and ``except``, fields of ``self``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ombud.graph.extract import pytypes
from ombud.graph.extract.extraction import Extraction, Nest, first
from ombud.graph.facts import (
    ALIAS,
    CALL,
    CLASS_KIND,
    CLASS_METHOD,
    CLASS_SCOPE,
    CONSTANT,
    DECLARED,
    ELEM,
    ENUM_MEMBER,
    EXPORTED,
    FIELD,
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_SITE,
    INSTANCE,
    OUTER,
    OVERLOAD,
    ROOT,
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


class Bindings(Extraction):
    """The part of `Python` that binds names. `value` and `kind_of` lower expressions; they live in `pytypes`."""

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        self.known: dict[int, int] = {}
        self.scopes: dict[int, int] = {}
        self.receivers: dict[int, str] = {}
        self.overloads: dict[tuple[int, str], int] = {}
        """(scope, name) → the symbol that later definitions of the name belong to."""
        self.bound: set[str] = set()
        """Names that mean something beyond one function: of symbols and of imports."""
        self.starred = False
        self.blocks = Nest(())
        self.dead = Nest(())

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

    # -- statements -----------------------------------------------------------------------------------------------

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

    # -- expressions ----------------------------------------------------------------------------------------------

    def value(self, node: Node) -> int:
        """The expression of a node, 0 where nothing can be said of it."""
        key = node.id
        found = self.known.get(key)
        if found is None:
            how = pytypes.VALUES.get(node.type)
            try:
                found = how(self, node) if how is not None else 0
            except RecursionError:
                found = 0  # Nobody follows a value through hundreds of brackets.
            self.known[key] = found
        return found

    def kind_of(self, node: Node) -> int:
        """The expression of a type, as an annotation writes it."""
        try:
            return pytypes.kind_of(self, node)
        except RecursionError:
            return 0

    def instance(self, node: Node) -> int:
        """An INSTANCE of the type that an annotation names."""
        kind = self.kind_of(node)
        return self.build.expr(INSTANCE, kind) if kind else 0


BINDINGS: dict[str, Callable[[Bindings, Node], None]] = {
    "assignment": Bindings._assignment,
    "augmented_assignment": Bindings._augmented,
    "for_statement": Bindings._for,
    "for_in_clause": Bindings._for,
    "named_expression": Bindings._walrus,
    "as_pattern": Bindings._as,
    "type_alias_statement": Bindings._type_alias,
}
