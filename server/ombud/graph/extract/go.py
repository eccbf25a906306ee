"""Facts of Go. Scopes follow the language's specification, "Declarations and scope".

The name of an import without an alias is the package's own, which only its files tell: here it is taken for the last
part of its path without a version. What a build constraint says stands in the signature of the module.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract import gotypes
from ombud.graph.extract.extraction import Nest, first
from ombud.graph.extract.gonames import BINDINGS, Names
from ombud.graph.extract.gotypes import PREDECLARED, fields, kind_of, parameters, result
from ombud.graph.facts import (
    ABSTRACT,
    ALIAS,
    BLOCK_SCOPE,
    CLASS_SCOPE,
    DECLARED,
    FIELD,
    FUNCTION,
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INSTANCE,
    INTERFACE,
    METHOD,
    PARAMETER,
    RETURNED,
    STRUCT,
    TEST,
    TO_IMPORT,
    TO_SYMBOL,
    TYPE,
    VALUE,
    WITHIN,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_TEST = re.compile(r"(?:Test|Benchmark|Fuzz|Example)(?![a-z])")
_CONSTRAINT = re.compile(rb"^//go:build +(\S.*?)\s*$", re.M)
_VERSION = re.compile(r"v[0-9]+")
_FUNCTIONS = ("function_declaration", "method_declaration", "func_literal")


def package_name(path: str) -> str:
    """What a package at that path is called in all likelihood."""
    parts = path.split("/")
    last = parts.pop()
    if _VERSION.fullmatch(last) and parts:
        last = parts.pop()
    last = re.sub(r"\.v[0-9]+$", "", last)
    return last.removeprefix("go-").removesuffix("-go").replace("-", "_")


class Go(Names):
    """See the module. Expressions and types are lowered in `gotypes`."""

    QUERY = "go"

    def gather(self) -> None:
        self.depth = 0
        self.known: dict[int, int] = {}
        self.scopes: dict[int, int] = {}
        self.structs: dict[int, int] = {}
        self.local: dict[bytes, set[int]] = {}
        """Names bound within functions and types → the scopes that bind them."""
        self.owners: dict[str, int] = {}
        """Types of the file → their symbols."""
        self.packages: set[bytes] = set()
        self.used.update(node.start_byte for node in self.nodes.get("parameter", ()))
        self._package()
        for node in self.ordered("import"):
            self._import(node)
        self._define()
        self.constants()
        for node in self.ordered("binding"):
            BINDINGS[node.type](self, node)
        for node in self.nodes.get("switch", ()):
            self.switch(node)
        self.sites()

    def _package(self) -> None:
        module = self.build.symbols[0]
        for node in self.nodes.get("package", ())[:1]:
            self.build.package = self.text(node)
            clause = node.parent or node
            module.doc = self.comment_above(clause)
            module.signature = f"package {self.build.package}"
            found = _CONSTRAINT.search(self.source, 0, clause.start_byte)
            if found is not None:
                module.signature += f" //go:build {found[1].decode('utf-8', 'replace')}"

    def _import(self, node: Node) -> None:
        path, alias = node.child_by_field_name("path"), node.child_by_field_name("name")
        if path is None:
            return
        build = self.build
        module = self.text(path).strip('"`')
        item = Import(module, "", package_name(module), site=build.span(first(path) or path))
        if alias is not None:
            self.used.add(alias.start_byte)
            written = self.text(alias)
            item.name, item.alias = ("*", "") if written == "." else ("", "" if written == "_" else written)
        build.imports.append(item)
        number = len(build.imports) - 1
        if item.alias:
            build.bind(0, item.alias, TO_IMPORT, number)
            self.packages.add(item.alias.encode())
        build.site_at(IMPORT_SITE, build.expr(IMPORT, number), 0, item.site)

    # -- definitions ----------------------------------------------------------------------------------------------

    def _define(self) -> None:
        """Symbols and scopes; then what is within types and functions."""
        regions: list[tuple[int, int, int]] = []
        around: list[tuple[int, int, int]] = [(1 << 62, 0, 0)]
        later: list[tuple[Node, int, int]] = []
        for node in self._openers():
            start, end, kind = node.start_byte, node.end_byte, node.type
            while around[-1][0] <= start:
                around.pop()
            _, scope, symbol = around[-1]
            made = -1
            if kind in ("type_spec", "type_alias"):
                made, own = self._type(node, scope, symbol)
                later.append((node, made, own))
            elif kind == "func_literal":
                own = self.build.scope(scope, FUNCTION_SCOPE, -1, start, end)
                later.append((node, -1, own))
            elif kind in _FUNCTIONS:
                made = len(self.build.symbols)
                own = self.build.scope(scope, FUNCTION_SCOPE, made, start, end)
                self._function(node, made, own)
                later.append((node, made, own))
            else:
                own = self.build.scope(scope, BLOCK_SCOPE, -1, start, end)
            if own >= 0:
                self.scopes[node.id] = own
                regions.append((start, end, own))
                around.append((end, own, symbol if made < 0 else made))
        self.inside = Nest(regions)
        for member in self.build.symbols:
            if member.owner and not member.parent:
                member.parent = self.owners.get(member.qualified.partition(".")[0], 0)
        for node, made, own in later:
            if node.type in _FUNCTIONS:
                self._parameters(node, made, own)
            else:
                self._body(node, made, own)

    def _openers(self) -> list[Node]:
        """Definitions and the blocks that bind something, in the order of the text."""
        functions = self.nodes.get("scope", ())
        blocks = self.nodes.get("block", ())
        nest = Nest([(node.start_byte, node.end_byte, number) for number, node in enumerate(blocks)], -1)
        binding = [nest.at(node.start_byte) for node in self.nodes.get("binding", ())]
        # A type switch binds its alias in itself, and the type is declared within the block.
        binding += [nest.at(node.start_byte) for node in self.nodes.get("switch", ())]
        binding += [nest.at(node.start_byte) for node in functions if node.type in ("type_spec", "type_alias")]
        used = [blocks[number] for number in set(binding) if number >= 0]
        used = [node for node in used if node.parent is not None and node.parent.type not in _FUNCTIONS]
        return sorted([*functions, *used], key=lambda node: (node.start_byte, -node.end_byte))

    def _type(self, node: Node, scope: int, parent: int) -> tuple[int, int]:
        name, target = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is None or target is None:
            return 0, -1
        build = self.build
        alias = node.type == "type_alias"
        written = "" if alias else target.type
        kind = STRUCT if written == "struct_type" else INTERFACE if written == "interface_type" else TYPE
        made = self.symbol(name, node, kind, parent, scope)
        symbol = build.symbols[made]
        symbol.flags |= ALIAS if alias else 0
        body = first(target) if kind == STRUCT else None
        symbol.signature = "type " + self.signature(
            node.start_byte, body.start_byte if body is not None else node.end_byte
        )
        if kind == INTERFACE:
            symbol.signature = symbol.signature.partition("{")[0].rstrip()
        symbol.doc = self.doc(node)
        if not scope:
            self.owners.setdefault(symbol.name, made)
        self.bind(scope, name, TO_SYMBOL, made)
        generics = node.child_by_field_name("type_parameters")
        own = build.scope(scope, CLASS_SCOPE, made, node.start_byte, node.end_byte)
        symbol.own = own
        self._generics(generics, made, own)
        return made, own

    def _generics(self, generics: Node | None, made: int, own: int) -> None:
        """A type parameter is taken for what it is constrained by."""
        if generics is None:
            return
        names = []
        for one in generics.named_children:
            bound = one.child_by_field_name("type")
            kind = kind_of(self, bound) if bound is not None else 0
            for name in one.children_by_field_name("name"):
                names.append(self.text(name))
                self.bind(own, name, VALUE, kind)
        self.build.symbols[made].generics = names

    def _body(self, node: Node, made: int, own: int) -> None:
        """Fields and methods of a type."""
        target = node.child_by_field_name("type")
        if target is None or not made:
            return
        symbol = self.build.symbols[made]
        if symbol.kind == STRUCT:
            for names, kind, one in fields(self, target):
                self._field(names, kind, one, made, own)
        elif symbol.kind == INTERFACE:
            for one in target.named_children:
                if one.type == "method_elem":
                    self._required(one, made, own)
                elif one.type == "type_elem" and one.named_child_count == 1:
                    self._embed(one, made, own, kind_of(self, one))
        else:
            kind = kind_of(self, target)
            symbol.value = self.build.expr(WITHIN, own, kind) if own >= 0 and kind else kind

    def _field(self, names: list[Node], kind: int, node: Node, made: int, own: int) -> None:
        build = self.build
        if not names:
            self._embed(node, made, own, kind)
        for name in names:
            if self.text(name) == "_":
                continue
            found = self.symbol(name, node, FIELD, made, own)
            symbol = build.symbols[found]
            symbol.type, symbol.signature = kind, self.signature(node.start_byte, node.end_byte)
            symbol.doc = self.comment_above(node)
            build.bind(own, symbol.name, TO_SYMBOL, found)

    def _embed(self, node: Node, made: int, own: int, kind: int) -> None:
        """An embedded type gives its members; in a struct it is a field as well."""
        name = gotypes.embedded(node.child_by_field_name("type") or node)
        if name is None or not kind:
            return
        build = self.build
        symbol = build.symbols[made]
        start = name.start_byte
        if self.text(name) in PREDECLARED:
            return
        symbol.bases.append(build.expr(WITHIN, own, kind) if symbol.generics else kind)
        build.site(INHERIT_SITE, kind if kind else build.named(self.text(name)), own, name)
        if symbol.kind == STRUCT:
            found = self.symbol(name, node, FIELD, made, own)
            build.symbols[found].type = kind
            build.symbols[found].signature = self.signature(node.start_byte, node.end_byte)
            build.bind(own, build.symbols[found].name, TO_SYMBOL, found)
        self.used.add(start)

    def _required(self, node: Node, made: int, own: int) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        found = self.symbol(name, node, METHOD, made, own)
        symbol = self.build.symbols[found]
        symbol.flags |= ABSTRACT
        symbol.type = result(self, node)
        symbol.signature = self.signature(node.start_byte, node.end_byte)
        symbol.doc = self.comment_above(node)
        self._arity(node, found)
        self.build.bind(own, symbol.name, TO_SYMBOL, found)

    def _arity(self, node: Node, made: int) -> None:
        names: list[str] = []
        least = most = 0
        for group, _, several in parameters(self, node.child_by_field_name("parameters")):
            count = max(1, len(group))
            names.extend(self.text(one) for one in group)
            least += 0 if several else count
            most = -1 if several else most + count
        symbol = self.build.symbols[made]
        symbol.params, symbol.arity = names, (least, most)

    def _function(self, node: Node, made: int, own: int) -> None:
        """The symbol of a function or a method."""
        build = self.build
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        receiver = self._receiver(node)
        text = self.text(name) if name is not None else ""
        parent = self.owners.get(receiver, 0)
        called = f"{receiver}.{text}" if receiver and not parent else ""
        kind = METHOD if receiver else FUNCTION
        self.symbol(name or node, node, kind, parent, 0, called)
        symbol = build.symbols[made]
        symbol.own = own
        symbol.signature = self.signature(node.start_byte, body.start_byte if body is not None else node.end_byte)
        symbol.doc = self.comment_above(node)
        if receiver:
            symbol.owner = build.named(receiver)
        elif text not in ("init", "_"):
            build.bind(0, text, TO_SYMBOL, made)
        if not receiver and _TEST.match(text):
            symbol.flags |= TEST

    def _receiver(self, node: Node) -> str:
        """The name of the type that a method belongs to."""
        receiver = first(node.child_by_field_name("receiver"))
        hint = receiver.child_by_field_name("type") if receiver is not None else None
        while hint is not None and hint.type in ("pointer_type", "parenthesized_type", "generic_type"):
            hint = first(hint)
        return self.text(hint) if hint is not None and hint.type == "type_identifier" else ""

    def _parameters(self, node: Node, made: int, own: int) -> None:
        """Receiver, type parameters, parameters, results."""
        build = self.build
        for group in ("receiver", "parameters", "result"):
            found = node.child_by_field_name(group)
            if group == "receiver" and found is not None:
                self._receiver_generics(found, made, own)
            elif group == "parameters" and made >= 0:
                self._generics(node.child_by_field_name("type_parameters"), made, own)
            if found is None or found.type != "parameter_list":
                continue
            for names, kind, _ in parameters(self, found):
                for name in names:
                    self.bind(own, name, PARAMETER, build.expr(INSTANCE, kind) if kind else 0)
        given = result(self, node)
        if made < 0:
            if given:
                build.bind(own, RETURNED, DECLARED, build.expr(INSTANCE, given))
            return
        symbol = build.symbols[made]
        symbol.type = build.expr(WITHIN, own, given) if given and symbol.generics else given
        self._arity(node, made)

    def _receiver_generics(self, receiver: Node, made: int, own: int) -> None:
        """``func (s *Stack[T])`` names the type parameters of its type anew."""
        hint = first(receiver)
        hint = hint.child_by_field_name("type") if hint is not None else None
        while hint is not None and hint.type in ("pointer_type", "parenthesized_type"):
            hint = first(hint)
        args = hint.child_by_field_name("type_arguments") if hint is not None else None
        names = []
        for one in args.named_children if args is not None else ():
            name = first(one)
            if name is not None and name.type == "type_identifier":
                names.append(self.text(name))
                self.bind(own, name, VALUE, 0)
        if names:
            self.build.symbols[made].generics = names


EXTRACTION = Go
