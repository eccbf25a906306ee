"""Facts of PHP. Names are resolved as the PHP manual says under "Using namespaces"; see `phptypes` on their spelling.

The one namespace of a file is its package. Where there are several, each is a symbol with a scope of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import Nest, first
from ombud.graph.extract.phpbind import BINDINGS
from ombud.graph.extract.phpdocs import Doc, declared, tags
from ombud.graph.extract.phpfunctions import Frame, Functions
from ombud.graph.extract.phptypes import ANONYMOUS, NAMES, arguments, given_at, tail
from ombud.graph.facts import (
    CLASS,
    CLASS_KIND,
    CLASS_SCOPE,
    CLOSURE,
    CONSTANT,
    CONSTANT_IMPORT,
    DECLARED,
    ENUM,
    ENUM_MEMBER,
    EXPORTED,
    FUNCTION_IMPORT,
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INTERFACE,
    MODULE_SCOPE,
    NAMESPACE,
    PARAMETER,
    PROPERTY,
    REFERENCE_SITE,
    RETURNED,
    STATIC,
    TO_SYMBOL,
    TRAIT,
    VALUE,
    WITHIN,
    Import,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tree_sitter import Node

_KINDS = {
    "class_declaration": CLASS_KIND,
    "anonymous_class": CLASS_KIND,
    "interface_declaration": INTERFACE,
    "trait_declaration": TRAIT,
    "enum_declaration": ENUM,
}


class Php(Functions):
    """See the module."""

    QUERY = "php"

    def gather(self) -> None:
        # In no order, names and expressions would be counted differently in equal texts.
        nodes = self.nodes = {capture: self.ordered(capture) for capture in self.nodes}
        self.blocks = Nest((node.start_byte, node.end_byte, node.end_byte) for node in nodes.get("block", ()))
        self._define()
        for node in nodes.get("use", ()):
            self._use(node)
        for run, given in self.later:
            run(*given)
        for node in reversed(nodes.get("traits", ())):
            self._traits(node)
        # In the order of the text, for what is bound last holds; a comment stands before what it speaks of.
        for node in sorted((*nodes.get("comment", ()), *nodes.get("binding", ())), key=lambda node: node.start_byte):
            BINDINGS[node.type](self, node)
        for node in nodes.get("instanceof", ()):
            if node.parent is not None:
                self.narrow(node.parent)
        self._constants()
        self.results()
        self.sites()

    # -- namespaces and imports -----------------------------------------------------------------------------------

    def _namespaces(self) -> list[tuple[int, int, int]]:
        """The scopes of namespaces where there are several: (start, end, scope)."""
        every = self.nodes.get("namespace", [])
        if len(every) == 1:
            self.build.package = self.word(every[0].child_by_field_name("name"))
            return []
        build, regions = self.build, []
        for number, node in enumerate(every):
            name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
            if name is None:
                continue  # The global namespace again.
            end = node.end_byte
            if body is None:
                end = every[number + 1].start_byte if number + 1 < len(every) else len(self.source) + 1
            text = self.word(name)
            where = (*build.start(node), *(build.end(node) if body is not None else build.end_at(end)))
            made = build.symbol(text, NAMESPACE, 0, 0, where, build.span(name))
            own = build.scope(0, MODULE_SCOPE, made, node.start_byte, end)
            build.symbols[made].own, build.symbols[made].flags = own, EXPORTED
            build.symbols[made].signature = f"namespace {text}"
            self.spaces[own] = text
            regions.append((node.start_byte, end, own))
        return regions

    def _use(self, node: Node) -> None:
        group = node.child_by_field_name("body")
        sort = self._sort(node)
        prefix = ""
        clauses = node.named_children
        if group is not None:
            head = first(node)
            prefix = self.word(head).strip("\\") + "\\" if head is not None and head.id != group.id else ""
            clauses = group.named_children
        for clause in clauses:
            name = first(clause)
            if clause.type != "namespace_use_clause" or name is None:
                continue
            if name.type not in NAMES and clause.named_child_count > 1:
                name = clause.named_children[1]
            module, _, word = (prefix + self.word(name).strip("\\")).rpartition("\\")
            alias = self.text(clause.child_by_field_name("alias")) or word
            build, scope = self.build, self.inside.at(node.start_byte)
            number = len(build.imports)
            site = build.span(tail(name))
            build.imports.append(Import(module, word, alias, 0, scope, sort or self._sort(clause), site))
            build.site_at(IMPORT_SITE, build.expr(IMPORT, number), scope, site)

    @staticmethod
    def _sort(node: Node) -> int:
        words = {one.type for one in node.children[:3]}
        return FUNCTION_IMPORT if "function" in words else CONSTANT_IMPORT if "const" in words else 0

    # -- definitions ----------------------------------------------------------------------------------------------

    def _define(self) -> None:
        regions = self._namespaces()
        spaces = Nest(regions)
        around: list[Frame] = [(1 << 62, 0, 0)]
        for node in self.nodes.get("scope", ()):
            start, end = node.start_byte, node.end_byte
            while around[-1][0] <= start:
                around.pop()
            frame = around[-1]
            if not frame[1] and (space := spaces.at(start)):
                frame = (frame[0], space, self.build.symbol_of(space))
            opened = _DEFINITIONS[node.type](self, node, frame)
            if opened is not None:
                own, symbol = opened
                self.scopes[node.id] = own
                regions.append((start, end, own))
                around.append((end, own, symbol))
        self.inside = Nest(regions)

    def _class(self, node: Node, frame: Frame) -> tuple[int, int] | None:
        build = self.build
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if node.type == "anonymous_class":
            name = next((one for one in node.children if one.type == "class"), None) or node.parent
        if name is None or body is None:
            return None
        anonymous = ANONYMOUS if node.type == "anonymous_class" else ""
        made = self._symbol(node, name, _KINDS[node.type], frame, body.start_byte, anonymous)
        symbol = build.symbols[made]
        own = symbol.own = build.scope(frame[1], CLASS_SCOPE, made, node.start_byte, node.end_byte)
        if anonymous:
            symbol.flags &= ~EXPORTED
        said = tags(self._comment(node, made))
        symbol.generics = [rest.split()[0] for tag, rest in said if tag.startswith("template") and rest.split()]
        for clause in node.named_children:
            if clause.type == "base_clause" and symbol.kind != INTERFACE and first(clause) is not None:
                self.parents[made] = self.word(first(clause))
                self.open_classes.add(made)
        self.later.append((self._heads, (node, made, own, said)))
        return own, made

    def _heads(self, node: Node, made: int, own: int, said: list[tuple[str, str]]) -> None:
        """What a class extends and implements, and what its comment says that it has."""
        build = self.build
        symbol = build.symbols[made]
        exact: dict[str, int] = {}
        mixed: list[int] = []
        for tag, rest in said:
            if tag in ("extends", "implements", "template-extends", "template-implements", "use"):
                kind = Doc(self, rest, node.start_byte).read()
                exact[rest.partition("<")[0].rpartition("\\")[2].strip()] = build.expr(WITHIN, own, kind)
            elif tag == "mixin":
                mixed.append(Doc(self, rest, node.start_byte).read())
            elif tag in ("property", "property-read", "property-write"):
                kind, name = declared(self, rest, node.start_byte)
                if kind and name:
                    build.bind(own, name, DECLARED, build.expr(WITHIN, own, self.of(kind)))
            elif tag == "method":
                self._method_tag(rest, own, node.start_byte)
        self.exact = exact
        for clause in node.named_children:
            if clause.type in ("base_clause", "class_interface_clause"):
                for one in clause.named_children:
                    if one.type in NAMES:
                        symbol.bases.append(self._base(one, own, exact))
        symbol.bases += [kind for kind in mixed if kind]

    def _base(self, name: Node, own: int, exact: dict[str, int]) -> int:
        word = self.word(name)
        expr = self.build.named(word)
        self.place(INHERIT_SITE, expr, tail(name), own)
        return exact.get(word.rpartition("\\")[2], expr)

    def _method_tag(self, text: str, own: int, offset: int) -> None:
        """``@method T name(…)``: a member that is no symbol, for none is written."""
        build = self.build
        words = text.removeprefix("static ").strip()
        doc = Doc(self, words, offset)
        kind = doc.read()
        name = doc.rest().strip().partition("(")[0].strip()
        if not name.isidentifier():
            return
        scope = build.scope(own, FUNCTION_SCOPE, -1, 0, 0)
        build.bind(scope, RETURNED, VALUE, build.expr(WITHIN, own, self.of(kind)) if kind else 0)
        build.bind(own, name.lower() + "()", DECLARED, build.expr(CLOSURE, scope))

    # -- members --------------------------------------------------------------------------------------------------

    def _hook(self, node: Node, frame: Frame) -> tuple[int, int] | None:
        symbols = self.build.symbols
        made = len(symbols) - 1
        if symbols[made].kind != PROPERTY or symbols[made].parent != frame[2]:
            return None
        own = self.build.scope(frame[1], FUNCTION_SCOPE, made, node.start_byte, node.end_byte)
        self.later.append((self._hooked, (node, made, own)))
        return own, made

    def _hooked(self, node: Node, made: int, own: int) -> None:
        kind = self.build.symbols[made].type
        self.build.bind(own, "$value", PARAMETER, self.of(kind))
        self._parameters(node, own)

    def _fields(self, node: Node, frame: Frame) -> None:
        for one in node.named_children:
            name = one.child_by_field_name("name") if one.type == "property_element" else None
            if name is None:
                continue
            made = self._symbol(node, name, PROPERTY, frame, node.end_byte)
            comment = self._comment(node, made)
            self.properties[frame[1], self.text(name)] = made
            self.build.bind(frame[1], self.text(name), TO_SYMBOL, made)
            self.later.append((self._held, (node, one, made, comment)))

    def _held(self, node: Node, element: Node, made: int, comment: str) -> None:
        symbol = self.build.symbols[made]
        said = [rest for tag, rest in tags(comment) if tag == "var"]
        hint, default = node.child_by_field_name("type"), element.child_by_field_name("default_value")
        symbol.type = self._documented(hint, said[0] if said else "", node.start_byte)
        if symbol.type == self.literal("array"):
            symbol.type = 0  # What is put into it says more.
        if default is not None:
            symbol.value = self.value(default)

    def _const(self, node: Node, frame: Frame) -> None:
        for one in node.named_children:
            name = first(one) if one.type == "const_element" else None
            if name is None:
                continue
            made = self._symbol(node, name, CONSTANT, frame, node.end_byte)
            self._comment(node, made)
            symbol = self.build.symbols[made]
            if self.build.symbols[frame[2]].kind in _KINDS.values():
                symbol.flags |= STATIC
                self.build.bind(frame[1], symbol.name, TO_SYMBOL, made)
            if one.named_child_count > 1:
                self.later.append((self._valued, (made, one.named_children[-1])))

    def _valued(self, made: int, node: Node) -> None:
        self.build.symbols[made].value = self.value(node)

    def _case(self, node: Node, frame: Frame) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            made = self._symbol(node, name, ENUM_MEMBER, frame, node.end_byte)
            self._comment(node, made)
            self.build.symbols[made].flags |= STATIC
            self.build.symbols[made].type = self.build.expr(CLASS)
            self.build.bind(frame[1], self.build.symbols[made].name, TO_SYMBOL, made)

    def _constants(self) -> None:
        """``define("X", …)``, a constant of the global namespace."""
        build = self.build
        for node in self.nodes.get("call", ()):
            function = node.child_by_field_name("function")
            if function is None or self.source[function.start_byte : function.end_byte].lower() != b"define":
                continue
            given = arguments(node)
            head = given_at(given, 0)
            content = first(head) if head is not None and head.type in ("string", "encapsed_string") else None
            if content is None or not self.text(content).isidentifier():
                continue
            where = (*build.start(node), *build.end(node))
            made = build.symbol(self.text(content), CONSTANT, 0, 0, where, build.span(content))
            symbol = build.symbols[made]
            symbol.flags = EXPORTED
            symbol.signature = self.signature(node.start_byte, node.end_byte)
            symbol.value = self.value(given_at(given, 1))

    def _traits(self, node: Node) -> None:
        """``use A, B { … }`` in a class: traits come before what the class extends."""
        build = self.build
        holder = self.holder(node.start_byte)
        symbol = build.symbols[holder]
        own = symbol.own
        if not holder:
            return
        self.open_classes.add(holder)
        exact: dict[str, int] = {}
        before = node.prev_named_sibling
        if before is not None and before.type == "comment":
            for tag, rest in tags(self.text(before)):
                if tag in ("use", "template-use"):
                    kind = Doc(self, rest, node.start_byte).read()
                    exact[rest.partition("<")[0].rpartition("\\")[2].strip()] = build.expr(WITHIN, own, kind)
        bases = [self._base(one, own, exact) for one in node.named_children if one.type in NAMES]
        symbol.bases = [*bases, *symbol.bases]
        rules = next((one for one in node.named_children if one.type == "use_list"), None)
        for clause in rules.named_children if rules is not None else ():
            self._rule(clause, own, build.union(bases))

    def _rule(self, clause: Node, own: int, traits: int) -> None:
        """``A::b insteadof C`` and ``b as c``."""
        build = self.build
        head = first(clause)
        if head is None:
            return
        name = head
        base = traits
        if head.type == "class_constant_access_expression":
            name = head.named_children[-1]
            base = build.named(self.word(head.named_children[0]))
        expr = build.attr(base, self.text(name) + "()")
        self.place(REFERENCE_SITE, expr, name, own)
        if clause.type == "use_instead_of_clause":
            build.bind(own, self.text(name).lower() + "()", DECLARED, expr)
            for one in clause.named_children[1:]:
                if one.type in NAMES:
                    self.place(REFERENCE_SITE, build.named(self.word(one)), tail(one), own)
            return
        last = clause.named_children[-1]
        if last.type == "name" and last.id != head.id:
            self.used.add(last.start_byte)
            build.bind(own, self.text(last).lower() + "()", DECLARED, expr)


_DEFINITIONS: dict[str, Callable[[Php, Node, Frame], tuple[int, int] | None]] = {
    **dict.fromkeys(_KINDS, Php._class),
    "function_definition": Php._function,
    "method_declaration": Php._function,
    "anonymous_function": Php._closure,
    "arrow_function": Php._closure,
    "property_hook": Php._hook,
    "property_declaration": Php._fields,
    "const_declaration": Php._const,
    "enum_case": Php._case,
}

EXTRACTION = Php
