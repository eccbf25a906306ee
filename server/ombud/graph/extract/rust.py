"""Facts of Rust. Scopes follow the Rust reference, "Names, scopes, paths"; expressions are lowered in `rusttypes`.

``self`` and ``Self`` are names that methods, impl blocks and traits bind. Members of an impl block have the type as
their ``owner`` and, where it is one of a trait, the trait as their only base. A type parameter is bound to its bounds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract import rustbind
from ombud.graph.extract.extraction import Nest
from ombud.graph.extract.rustnames import Names
from ombud.graph.extract.rusttypes import bounds, comments, instance, kind_of, value
from ombud.graph.facts import (
    ABSTRACT,
    ALIAS,
    ASYNC,
    BLOCK_SCOPE,
    CLASS,
    CLASS_SCOPE,
    CONSTANT,
    DECLARED,
    DECLARES,
    ENUM,
    ENUM_MEMBER,
    EXPORTED,
    FIELD,
    FUNCTION,
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INSTANCE,
    MACRO,
    METHOD,
    MODULE_SCOPE,
    NAMESPACE,
    PARAMETER,
    STATIC,
    STRUCT,
    TEST,
    TO_IMPORT,
    TO_SYMBOL,
    TRAIT,
    TYPE,
    VALUE,
    VARIABLE,
    WITHIN,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {
    "mod_item": NAMESPACE,
    "function_item": FUNCTION,
    "function_signature_item": FUNCTION,
    "struct_item": STRUCT,
    "union_item": STRUCT,
    "enum_item": ENUM,
    "trait_item": TRAIT,
    "type_item": TYPE,
    "associated_type": TYPE,
    "const_item": CONSTANT,
    "static_item": VARIABLE,
    "macro_definition": MACRO,
}
_FUNCTIONS = ("function_item", "function_signature_item")
_TYPES = ("struct_item", "union_item", "enum_item", "trait_item")
_TEST = re.compile(r"#\[\s*(?:\w+\s*::\s*)*(?:test|bench|rstest|test_case|proptest|quickcheck)\b")
_CFG_TEST = re.compile(r"#\[\s*cfg\s*\(.*\btest\b")
_PATH = re.compile(r"#\[\s*path\s*=\s*\"([^\"]+)\"")


class Around:
    """What stands around an item: the scope its name is bound in, its parent, and what it is a member of."""

    __slots__ = ("end", "generics", "impl", "owner", "parent", "scope", "test", "trait")

    def __init__(self, end: int, scope: int, parent: int, test: bool = False) -> None:
        self.end = end
        self.scope = scope
        self.parent = parent
        self.test = test
        self.impl: Node | None = None
        self.owner = self.trait = 0
        self.generics: list[str] = []


class Rust(Names):
    """See the module."""

    QUERY = "rust"

    def gather(self) -> None:
        self.depth = 0
        self.known: dict[int, int] = {}
        self.scopes: dict[int, int] = {}
        self.tokens: dict[int, int] = {}
        self.local: dict[bytes, set[int]] = {}
        """Names bound within functions, types and impl blocks → the scopes that bind them."""
        self.owners: dict[tuple[int, str], int] = {}
        """(scope, name) of types → their symbols."""
        self.impls: list[tuple[Node, int, int]] = []
        nodes = self.nodes
        self.used.update(node.start_byte for node in nodes.get("bound", ()))
        self._define()
        for node in self.ordered("use"):
            rustbind.use(self, node)
        for node in nodes.get("crate", ()):
            rustbind.crate(self, node)
        self.macros()
        for capture, how in _BINDINGS.items():
            for node in self.ordered(capture):
                how(self, node)
        for node, own in self.closures:
            rustbind.closure(self, node, own)
        self._implemented()
        self.sites()
        self.build.symbols[0].doc = self.inner_doc(self.root)

    # -- definitions ----------------------------------------------------------------------------------------------

    def _define(self) -> None:
        """Symbols and scopes; then what is within types, impl blocks and functions."""
        regions: list[tuple[int, int, int]] = []
        stack = [Around(1 << 62, 0, 0)]
        self.later: list[tuple[Node, int, int, Around]] = []
        self.closures: list[tuple[Node, int]] = []
        for node in self._openers():
            start, end, kind = node.start_byte, node.end_byte, node.type
            while stack[-1].end <= start:
                stack.pop()
            around = stack[-1]
            inner = Around(end, around.scope, around.parent, around.test)
            if kind == "impl_item":
                self._impl(node, around, inner)
            elif kind == "closure_expression":
                inner.scope = self.build.scope(around.scope, FUNCTION_SCOPE, -1, start, end)
                self.closures.append((node, inner.scope))
            elif kind in _KINDS:
                if not self._item(node, around, inner):
                    continue
            else:
                if kind == "if_expression":
                    then = node.child_by_field_name("consequence")
                    end = inner.end = then.end_byte if then is not None else end
                inner.scope = self.build.scope(around.scope, BLOCK_SCOPE, -1, start, end)
            self.scopes[node.id] = inner.scope
            if inner.scope != around.scope:
                regions.append((start, end, inner.scope))
                stack.append(inner)
        dead = [(node.start_byte, node.end_byte, -1) for node in self.nodes.get("dead", ())]
        self.holders = Nest(regions)
        self.inside = Nest([*regions, *dead]) if dead else self.holders
        for node, made, own, around in self.later:
            self._within(node, made, own, around)

    def _openers(self) -> list[Node]:
        """Items, closures, and the blocks that bind something, in the order of the text."""
        nodes = self.nodes
        blocks = nodes.get("block", ())
        nest = Nest([(node.start_byte, node.end_byte, number) for number, node in enumerate(blocks)], -1)
        items = nodes.get("scope", ())
        binding = [*nodes.get("let", ()), *nodes.get("use", ()), *items]
        used = {nest.at(node.start_byte) for node in binding if node.type != "closure_expression"}
        found = [blocks[number] for number in used if number >= 0]
        found = [node for node in found if node.parent is not None and node.parent.type != "function_item"]
        conditions = {}
        for node in nodes.get("condition", ()):
            parent = node.parent
            while parent is not None and parent.type not in ("if_expression", "while_expression", "match_arm", "block"):
                parent = parent.parent
            if parent is not None and parent.type in ("if_expression", "while_expression"):
                conditions[parent.id] = parent
        found += [*conditions.values(), *nodes.get("for", ()), *nodes.get("arm", ()), *items]
        return sorted(found, key=lambda node: (node.start_byte, -node.end_byte))

    def _impl(self, node: Node, around: Around, inner: Around) -> None:
        """An impl block: a scope that knows the type's parameters and ``Self``."""
        kind, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
        body = node.child_by_field_name("body")
        build = self.build
        inner.scope = build.scope(around.scope, BLOCK_SCOPE, -1, node.start_byte, node.end_byte)
        inner.generics = self._generics(node, inner.scope)
        inner.impl = node
        inner.owner = kind_of(self, kind)
        inner.trait = kind_of(self, trait)
        build.bind(inner.scope, "Self", VALUE, inner.owner)
        if kind is not None and trait is not None and body is not None:
            self.impls.append((node, inner.scope, around.scope))

    def _generics(self, node: Node, scope: int) -> list[str]:
        """Bind type parameters to their bounds; also those that only a ``where`` tells."""
        names: list[str] = []
        given: dict[str, list[Node | None]] = {}
        nodes: dict[str, Node] = {}
        found = node.child_by_field_name("type_parameters")
        for one in found.named_children if found is not None else ():
            name = one.child_by_field_name("name")
            if name is None or one.type not in ("type_parameter", "const_parameter"):
                continue
            self.used.add(name.start_byte)
            if one.type == "type_parameter":
                names.append(self.word(name))
                nodes[names[-1]] = name
                given[names[-1]] = [one.child_by_field_name("bounds")]
            else:
                self.bind(scope, name, VALUE, 0)
        for one in node.named_children if names else ():
            if one.type == "where_clause":
                for predicate in one.named_children:
                    left = predicate.child_by_field_name("left")
                    if left is not None and self.word(left) in given:
                        given[self.word(left)].append(predicate.child_by_field_name("bounds"))
        for text, name in nodes.items():
            bound = bounds(self, given[text])
            if not bound and node.type == "type_item" and name.parent is not None:
                bound = kind_of(self, name.parent.child_by_field_name("default_type"))
            self.bind(scope, name, VALUE, bound)
        return names

    def _item(self, node: Node, around: Around, inner: Around) -> bool:
        """The symbol and the scope of an item; whether it has a body to look into."""
        name = node.child_by_field_name("name")
        if name is None:
            return False
        kind = node.type
        attributes = self.attributes(node)
        if kind == "mod_item" and node.child_by_field_name("body") is None:
            self._declared(node, name, around, attributes)
            return False
        if kind == "const_item" and self.text(name) == "_":
            return False
        made = self._symbol(node, name, around, attributes)
        build = self.build
        symbol = build.symbols[made]
        own = -1
        inner.test = around.test or (kind == "mod_item" and _CFG_TEST.search(attributes) is not None)
        if inner.test:
            symbol.flags |= TEST
        start, end = node.start_byte, node.end_byte
        if kind == "mod_item":
            own = build.scope(around.scope, MODULE_SCOPE, made, start, end)
        elif kind in _FUNCTIONS:
            own = build.scope(around.scope, FUNCTION_SCOPE, made, start, end)
        elif kind in _TYPES or node.child_by_field_name("type_parameters") is not None:
            own = build.scope(around.scope, CLASS_SCOPE, made, start, end)
        if own >= 0:
            symbol.own = inner.scope = own
            symbol.generics = [*around.generics, *self._generics(node, own)] if kind != "mod_item" else []
            inner.parent = made
        if kind == "trait_item":
            inner.owner = -1
            build.bind(own, "Self", VALUE, build.expr(CLASS))
        self.later.append((node, made, own, around))
        return own >= 0

    def _symbol(self, node: Node, name: Node, around: Around, attributes: str) -> int:
        build = self.build
        text = self.word(name)
        kind = _KINDS[node.type]
        member = around.impl is not None or around.owner < 0
        if kind == FUNCTION and member:
            kind = METHOD
        parent, called = around.parent, text
        if around.impl is not None:
            parent, called = self._place(around, text)
        where = (*build.start(node), *build.end(node))
        made = build.symbol(called, kind, parent, around.scope, where, build.span(name))
        symbol = build.symbols[made]
        symbol.name = text
        self.used.add(name.start_byte)
        body = node.child_by_field_name("body")
        symbol.signature = self.signature(node.start_byte, body.start_byte if body is not None else node.end_byte)
        symbol.doc = self.doc(node)
        first_child = node.child(0)
        if (
            (first_child is not None and first_child.type == "visibility_modifier")
            or around.owner < 0
            or around.trait
            or (kind == MACRO and "macro_export" in attributes)
        ):
            symbol.flags |= EXPORTED
        if kind in (FUNCTION, METHOD) and _TEST.search(attributes):
            symbol.flags |= TEST
        if around.impl is not None:
            symbol.owner = around.owner
            symbol.bases = [around.trait] if around.trait else []
            symbol.generics = list(around.generics)
        else:
            build.bind(around.scope, f"{text}!" if kind == MACRO else text, TO_SYMBOL, made)
            if kind in (STRUCT, ENUM, TRAIT, TYPE):
                self.owners.setdefault((around.scope, text), made)
        return made

    def _place(self, around: Around, text: str) -> tuple[int, str]:
        """The symbol that a member of an impl block lies in, and what it is called there."""
        kind = around.impl.child_by_field_name("type") if around.impl is not None else None
        while kind is not None and kind.type in ("generic_type", "reference_type", "pointer_type"):
            kind = kind.child_by_field_name("type")
        if kind is not None and kind.type == "scoped_type_identifier":
            kind = kind.child_by_field_name("name")
        word = self.word(kind) if kind is not None and kind.type.endswith(("identifier", "primitive_type")) else ""
        outer = self.build.parent_scope(around.scope)
        found = self.owners.get((outer, word), -1)
        if found >= 0:
            return found, text
        return around.parent, f"{word}.{text}" if word else text

    def _declared(self, node: Node, name: Node, around: Around, attributes: str) -> None:
        """``mod name;`` is a file of its own."""
        build = self.build
        self.used.add(name.start_byte)
        text = self.word(name)
        path = _PATH.search(attributes)
        head = node.child(0)
        flags = DECLARES | (1 if head is not None and head.type == "visibility_modifier" else 0)
        item = Import(text, path[1] if path else "", text, 0, around.scope, flags, build.span(name))
        build.imports.append(item)
        number = len(build.imports) - 1
        build.bind(around.scope, text, TO_IMPORT, number)
        build.site_at(IMPORT_SITE, build.expr(IMPORT, number), around.scope, item.site)

    # -- within definitions ---------------------------------------------------------------------------------------

    def _within(self, node: Node, made: int, own: int, around: Around) -> None:
        kind = node.type
        symbol = self.build.symbols[made]
        if symbol.owner and not self._has_type(symbol.parent):
            symbol.parent = self._place(around, "")[0]
        if kind in _FUNCTIONS:
            self._function(node, made, own, around)
        elif kind in ("struct_item", "union_item"):
            self._fields(node.child_by_field_name("body"), made, own)
        elif kind == "enum_item":
            self._variants(node.child_by_field_name("body"), made, own)
        elif kind == "trait_item":
            self._inherits(node.child_by_field_name("bounds"), made, own)
        elif kind == "mod_item":
            body = node.child_by_field_name("body")
            symbol.doc = symbol.doc or (self.inner_doc(body) if body is not None else "")
        elif kind == "type_item":
            found = kind_of(self, node.child_by_field_name("type"))
            symbol.flags |= ALIAS
            symbol.value = self.build.expr(WITHIN, own, found) if found and own >= 0 else found
        elif kind == "associated_type":
            symbol.flags |= ALIAS | ABSTRACT
            symbol.value = bounds(self, [node.child_by_field_name("bounds")])
        elif kind in ("const_item", "static_item"):
            symbol.type = kind_of(self, node.child_by_field_name("type"))
            symbol.value = value(self, node.child_by_field_name("value"))

    def _has_type(self, symbol: int) -> bool:
        return self.build.symbols[symbol].kind in (STRUCT, ENUM, TRAIT, TYPE)

    def _function(self, node: Node, made: int, own: int, around: Around) -> None:
        """Parameters and the declared result."""
        build = self.build
        symbol = build.symbols[made]
        names: list[str] = []
        receiver = False
        parameters = node.child_by_field_name("parameters")
        for one in comments(parameters) if parameters is not None else ():
            taken = one.child_by_field_name("pattern")
            if one.type == "self_parameter" or (taken is not None and taken.type == "self"):
                receiver = True
                kind = around.owner if around.owner > 0 else build.named("Self")
                build.bind(own, "self", PARAMETER, build.expr(INSTANCE, kind) if kind else 0)
            elif one.type == "parameter" and taken is not None:
                rustbind.pattern(self, taken, instance(self, one.child_by_field_name("type")), own, 0, PARAMETER)
                names.append(self.word(taken) if taken.type == "identifier" else "_")
        symbol.params, symbol.arity = names, (len(names), len(names))
        if symbol.kind == METHOD and not receiver:
            symbol.flags |= STATIC
        body = node.child_by_field_name("body")
        if around.owner < 0 and body is None:
            symbol.flags |= ABSTRACT
        for one in node.named_children:
            if one.type == "function_modifiers" and "async" in self.text(one):
                symbol.flags |= ASYNC
        given = kind_of(self, node.child_by_field_name("return_type"))
        symbol.type = build.expr(WITHIN, own, given) if given else 0

    def _fields(self, body: Node | None, made: int, own: int) -> None:
        """Fields with names are symbols; those of a tuple are only bound to their places."""
        build = self.build
        place = 0
        for one in body.named_children if body is not None else ():
            if one.type == "field_declaration":
                name = one.child_by_field_name("name")
                if name is None:
                    continue
                where = (*build.start(one), *build.end(one))
                found = build.symbol(self.word(name), FIELD, made, own, where, build.span(name))
                symbol = build.symbols[found]
                self.used.add(name.start_byte)
                symbol.type = kind_of(self, one.child_by_field_name("type"))
                symbol.signature, symbol.doc = self.signature(one.start_byte, one.end_byte), self.doc(one)
                head = one.child(0)
                public = build.symbols[made].kind == ENUM_MEMBER
                public = public or (head is not None and head.type == "visibility_modifier")
                symbol.flags = EXPORTED if public and build.symbols[made].flags & EXPORTED else 0
                build.bind(own, symbol.name, TO_SYMBOL, found)
        if body is not None and body.type == "ordered_field_declaration_list":
            for one in body.children_by_field_name("type"):
                build.bind(own, str(place), DECLARED, instance(self, one))
                place += 1

    def _variants(self, body: Node | None, made: int, own: int) -> None:
        build = self.build
        for one in body.named_children if body is not None else ():
            name = one.child_by_field_name("name")
            if one.type != "enum_variant" or name is None:
                continue
            where = (*build.start(one), *build.end(one))
            found = build.symbol(self.word(name), ENUM_MEMBER, made, own, where, build.span(name))
            symbol = build.symbols[found]
            self.used.add(name.start_byte)
            symbol.signature, symbol.doc = self.signature(one.start_byte, one.end_byte), self.doc(one)
            symbol.flags = build.symbols[made].flags & EXPORTED
            build.bind(own, symbol.name, TO_SYMBOL, found)
            inner = one.child_by_field_name("body")
            if inner is not None:
                symbol.own = build.scope(own, CLASS_SCOPE, found, one.start_byte, one.end_byte)
                self._fields(inner, found, symbol.own)

    def _inherits(self, node: Node | None, made: int, own: int) -> None:
        """The traits that a trait asks for."""
        for one in node.named_children if node is not None else ():
            kind = kind_of(self, one) if one.type != "lifetime" else 0
            if kind:
                self.build.symbols[made].bases.append(self.build.expr(WITHIN, own, kind))
                self._inherit(one, kind, own)

    def _inherit(self, node: Node, kind: int, scope: int) -> None:
        name: Node | None = node
        while name is not None and name.type not in ("type_identifier", "identifier"):
            name = (
                name.child_by_field_name("name")
                or name.child_by_field_name("type")
                or name.child_by_field_name("trait")
            )
        if name is not None and name.start_byte not in self.used:
            self.used.add(name.start_byte)
            self.build.site(INHERIT_SITE, kind, scope, name)

    def _implemented(self) -> None:
        """``impl Trait for T``: the trait is above T, as far as T is defined in this file."""
        build = self.build
        for node, scope, outer in self.impls:
            trait, kind = node.child_by_field_name("trait"), node.child_by_field_name("type")
            around = Around(0, scope, 0)
            around.impl = node
            found = self._place(around, "")[0]
            expr = kind_of(self, trait)
            if trait is None or kind is None or not expr:
                continue
            within = build.expr(WITHIN, scope, expr)
            own = build.symbols[found].own
            if found and kind.type != "reference_type":
                build.symbols[found].bases.append(within)
            self._inherit(trait, within, own if found and own >= 0 else outer)


_BINDINGS = {
    "let": rustbind.let,
    "condition": rustbind.condition,
    "for": rustbind.loop,
    "arm": rustbind.arm,
}
EXTRACTION = Rust
