"""Facts of C#. Scopes and bindings follow the C# language specification, section 7.7, "Scopes".

The one namespace of a file is its package. Where there are several, or others within it, each of those is a symbol.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract import cstypes
from ombud.graph.extract.cssites import BINDINGS, Sites
from ombud.graph.extract.cstypes import child
from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import Frame, Opened, arguments
from ombud.graph.facts import (
    ABSTRACT,
    ASYNC,
    CALL_SITE,
    CLASS,
    CLASS_KIND,
    CLASS_SCOPE,
    CONSTANT,
    CONSTRUCTOR,
    ENUM,
    ENUM_MEMBER,
    EXPORTED,
    FIELD,
    FUNCTION,
    FUNCTION_SCOPE,
    GLOBAL_IMPORT,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INSTANCE,
    INTERFACE,
    METHOD,
    MODULE,
    NAMESPACE,
    PARAMETER,
    PRIVATE,
    PROPERTY,
    STATIC,
    STATIC_IMPORT,
    STRUCT,
    TEST,
    TO_IMPORT,
    TYPE,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {
    "class_declaration": CLASS_KIND,
    "struct_declaration": STRUCT,
    "interface_declaration": INTERFACE,
    "record_declaration": CLASS_KIND,
    "enum_declaration": ENUM,
}
_FUNCTIONS = {
    "method_declaration": METHOD,
    "constructor_declaration": CONSTRUCTOR,
    "destructor_declaration": METHOD,
    "operator_declaration": METHOD,
    "conversion_operator_declaration": METHOD,
    "local_function_statement": FUNCTION,
}
_NAMED = re.compile(r"<(?:see|seealso|paramref|typeparamref)\s+\w+=\"([^\"]*)\"\s*/>")
_TAG = re.compile(r"</?\w[^<>]*>")


class CSharp(Sites):
    """See the module. Expressions and types are lowered in `cstypes`."""

    QUERY = "csharp"
    VALUES = cstypes.VALUES
    TESTS = frozenset(
        ("Fact", "Theory", "Test", "TestCase", "TestCaseSource", "TestMethod", "DataTestMethod", "SkippableFact")
    )

    def gather(self) -> None:
        self.prepare()
        self.used.update(node.start_byte for node in self.nodes.get("unused", ()))
        self.single = self._package()
        self.define()
        for node in self.nodes.get("using", ()):
            self._using(node)
        for node in self.nodes.get("binding", ()):
            BINDINGS[node.type](self, node)
        self.returned()
        self._sites()

    def kind_of(self, node: Node | None) -> int:
        return cstypes.kind_of(self, node)

    def comment(self, text: str) -> str:
        return " ".join(_TAG.sub("", _NAMED.sub(r"\1", super().comment(text))).split())

    # -- namespaces and usings ------------------------------------------------------------------------------------

    def _package(self) -> int:
        """The file's only namespace becomes its package: the id of the node, 0 where it is none with a body."""
        for node in self.nodes.get("namespace", ()):
            name = node.child_by_field_name("name")
            self.build.package = "".join(self.text(name).split())
            self._unused(name)
            return 0
        top = [node for node in self.root.named_children if node.type in _KINDS or node.type == "namespace_declaration"]
        if len(top) == 1 and top[0].type == "namespace_declaration":
            name = top[0].child_by_field_name("name")
            self.build.package = "".join(self.text(name).split())
            self._unused(name)
            return top[0].id
        return 0

    def _namespace(self, node: Node, frame: Frame) -> Opened:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None or node.id == self.single:
            return None
        self._unused(name)
        made = self.declare(node, name, NAMESPACE, frame, text="".join(self.text(name).split()))
        symbol = self.build.symbols[made]
        symbol.flags = EXPORTED
        symbol.signature = self.signature(node.start_byte, body.start_byte)
        return self.open(node, CLASS_SCOPE, made, frame, name.end_byte)

    def _using(self, node: Node) -> None:
        words = {child.type for child in node.children if not child.is_named}
        parts = arguments(node)
        alias = node.child_by_field_name("name")
        if not parts:
            return
        flags = (GLOBAL_IMPORT if "global" in words else 0) | (STATIC_IMPORT if "static" in words else 0)
        scope, kind = self.inside.at(node.start_byte), parts[-1]
        build = self.build
        plain = first(kind) if kind.type == "generic_name" else kind
        dotted = re.sub(r"\s+|<.*>|global::", "", self.text(plain))
        site = build.span(cstypes.name_of(kind))
        number = len(build.imports)
        if alias is not None:
            self.used.add(alias.start_byte)
            word = self.text(alias)
            build.imports.append(Import(dotted, "", word, 0, scope, flags, site))
            build.bind(scope, word, TO_IMPORT, number)
        else:
            build.imports.append(Import(dotted, "*", "", 0, scope, flags, site))
        self._unused(plain)
        build.site_at(IMPORT_SITE, build.expr(IMPORT, number), scope, site)

    # -- definitions ----------------------------------------------------------------------------------------------

    def _modifiers(self, node: Node) -> tuple[set[str], list[str], Node]:
        """Words, simple names of attributes, and where the definition begins behind them."""
        words: set[str] = set()
        marks: list[str] = []
        for part in node.children:
            if part.type == "attribute_list":
                marks.extend(
                    self.text(one.child_by_field_name("name")).rpartition(".")[2].removesuffix("Attribute")
                    for one in part.named_children
                    if one.type == "attribute"
                )
            elif part.type == "modifier":
                words.add(self.text(part))
            elif not part.type.endswith("comment"):
                break
        start = next((one for one in node.children if one.type not in ("attribute_list", "comment")), node)
        return words, marks, start

    def _named(
        self, node: Node, kind: int, frame: Frame, name: Node, end: int = 0, text: str = ""
    ) -> tuple[int, set[str]]:
        """A symbol with flags, signature and documentation."""
        words, marks, start = self._modifiers(node)
        build = self.build
        hidden = child(node, "explicit_interface_specifier") is not None
        made = self.declare(node, name, kind, frame, start, text, hidden)
        symbol, above = build.symbols[made], build.symbols[frame.symbol]
        inside = above.kind in (INTERFACE, ENUM) and "private" not in words
        if not words.isdisjoint(("public", "protected")) or inside:
            symbol.flags |= EXPORTED if not frame.symbol or above.flags & EXPORTED else 0
        if not words.isdisjoint(("static", "const")) or kind == ENUM_MEMBER:
            symbol.flags |= STATIC
        symbol.flags |= (ABSTRACT if "abstract" in words else 0) | (ASYNC if "async" in words else 0)
        closed = words.isdisjoint(("public", "protected", "internal", "partial")) and not inside
        symbol.flags |= PRIVATE if closed and above.kind not in (MODULE, NAMESPACE) else 0
        if not self.TESTS.isdisjoint(marks):
            symbol.flags |= TEST
            above.flags |= TEST
        body = node.child_by_field_name("body") or node.child_by_field_name("accessors")
        stop = end or (body.start_byte if body is not None else node.end_byte)
        symbol.signature = self.signature(start.start_byte, stop).removesuffix(";").rstrip()
        symbol.doc = self.comment_above(node)
        return made, words

    def _type(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        if name is None:
            return None
        made, _ = self._named(node, _KINDS[node.type], frame, name)
        opened = self.open(node, CLASS_SCOPE, made, frame, name.end_byte)
        self._letters(node, opened[1], made)
        self._primary(node, made, opened[1])
        self.later.append((self._bases, (node, made)))
        return opened

    def _letters(self, node: Node, own: int, made: int) -> None:
        letters = node.child_by_field_name("type_parameters") or child(node, "type_parameter_list")
        bounds: dict[str, list[int]] = {}
        for clause in node.named_children if letters is not None else ():
            if clause.type == "type_parameter_constraints_clause":
                kinds = [self.kind_of(one.child_by_field_name("type")) for one in arguments(clause)[1:]]
                bounds[self.text(first(clause))] = kinds
        for one in arguments(letters):
            name = one.child_by_field_name("name")
            if name is not None:
                self.letter(own, made, name, bounds.get(self.text(name), ()), (node.start_byte, node.end_byte))

    def _primary(self, node: Node, made: int, own: int) -> None:
        """Parameters behind a type's name: properties of a record, seen in the whole of any other type."""
        parameters = child(node, "parameter_list")
        if parameters is None:
            return
        build = self.build
        symbol = build.symbols[made]
        if node.type != "record_declaration":
            self._parameters(parameters, made, own, (node.start_byte, node.end_byte))
            return
        for one in arguments(parameters):
            name, kind = one.child_by_field_name("name"), self.kind_of(one.child_by_field_name("type"))
            if name is not None:
                field = self.declare(one, name, PROPERTY, Frame(node.end_byte, own, made))
                build.symbols[field].type = kind
                build.symbols[field].flags = symbol.flags & EXPORTED
                build.symbols[field].signature = self.signature(one.start_byte, one.end_byte)
                symbol.params.append(self.text(name))
        symbol.arity = (len(symbol.params), len(symbol.params))

    def _bases(self, node: Node, made: int) -> None:
        build = self.build
        bases = child(node, "base_list")
        kinds = arguments(bases)
        for number, kind in enumerate(kinds):
            if kind.type == "argument_list":
                continue
            base = kind.child_by_field_name("type") or kind if kind.type == "primary_constructor_base_type" else kind
            expr = self.kind_of(base)
            if not expr:
                continue
            if node.type == "enum_declaration":
                self._unused(base)
                continue
            build.symbols[made].bases.append(expr)
            name = cstypes.name_of(base)
            args = kinds[number + 1] if number + 1 < len(kinds) else None
            bare = self.kind_of(base if base.type != "generic_name" else name)
            if args is not None and args.type == "argument_list":
                expr = cstypes.constructed(self, bare, cstypes.given(args))
                build.site(CALL_SITE, expr, build.symbols[made].own, args.children[0])
            self.place(INHERIT_SITE, build.expr(INSTANCE, bare), name)

    def _enum_member(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        if name is not None:
            made, _ = self._named(node, ENUM_MEMBER, frame, name)
            self.build.symbols[made].type = self.build.expr(CLASS)
        return None

    def _delegate(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        if name is None:
            return None
        made, _ = self._named(node, TYPE, frame, name)
        return self._callable(node, made, frame)

    def _method(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name") or node.child_by_field_name("operator")
        if name is None:
            name = node.child_by_field_name("type")
        if name is None:
            return None
        kind = _FUNCTIONS[node.type]
        text = ""
        if node.type in ("operator_declaration", "conversion_operator_declaration"):
            text = f"operator {self.text(name)}"
        elif node.type == "destructor_declaration":
            text = f"~{self.text(name)}"
        made, _ = self._named(node, kind, frame, name, 0, text)
        build = self.build
        symbol = build.symbols[made]
        if build.symbols[frame.symbol].kind == INTERFACE and node.child_by_field_name("body") is None:
            symbol.flags |= ABSTRACT
        return self._callable(node, made, frame)

    def _callable(self, node: Node, made: int, frame: Frame) -> Opened:
        """Scope, type parameters, parameters and result."""
        opened = self.open(node, FUNCTION_SCOPE, made, frame, node.start_byte)
        symbol = self.build.symbols[made]
        self._letters(node, opened[1], made)
        if symbol.kind != CONSTRUCTOR:
            declared = node.child_by_field_name("returns") or node.child_by_field_name("type")
            symbol.type = self.kind_of(declared)
        parameters = node.child_by_field_name("parameters")
        if parameters is not None:
            self._parameters(parameters, made, opened[1], (node.start_byte, node.end_byte))
        return opened

    def _parameters(self, parameters: Node, made: int, own: int, extent: tuple[int, int]) -> None:
        build = self.build
        symbol = build.symbols[made]
        least = 0
        for one in arguments(parameters):
            if one.type != "parameter":
                continue
            name, declared = one.child_by_field_name("name"), one.child_by_field_name("type")
            if name is None:
                continue
            kind = self.kind_of(declared)
            symbol.params.append(self.text(name))
            last = one.named_child(one.named_child_count - 1)
            least += last is not None and last.id == name.id
            if not symbol.owner and one.child(0) is not None and self.source.startswith(b"this ", one.start_byte):
                symbol.owner = kind
            self.local(name, PARAMETER, build.expr(INSTANCE, kind) if kind else 0, extent, own)
        most = len(symbol.params)
        rest = parameters.child_by_field_name("name")
        if rest is not None:
            kind = self.kind_of(parameters.child_by_field_name("type"))
            symbol.params.append(self.text(rest))
            self.local(rest, PARAMETER, build.expr(INSTANCE, kind) if kind else 0, extent, own)
            most = -1
        symbol.arity = (least, most)

    def _property(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        if node.type == "indexer_declaration":
            name = next((one for one in node.children if one.type == "this"), None)
        if name is None:
            return None
        value = node.child_by_field_name("value")
        arrow = value.start_byte if value is not None and value.type == "arrow_expression_clause" else 0
        indexer = "this[]" if node.type == "indexer_declaration" else ""
        kind = FIELD if node.type == "event_declaration" else PROPERTY
        made, _ = self._named(node, kind, frame, name, arrow, indexer)
        opened = self.open(node, FUNCTION_SCOPE, made, frame, node.start_byte)
        symbol = self.build.symbols[made]
        symbol.type = self.kind_of(node.child_by_field_name("type"))
        if indexer:
            parameters = node.child_by_field_name("parameters")
            if parameters is not None:
                self._parameters(parameters, made, opened[1], (node.start_byte, node.end_byte))
        accessors = node.child_by_field_name("accessors")
        if accessors is not None:
            self.locals.setdefault(b"value", []).append((accessors.start_byte, accessors.end_byte))
            expr = self.build.expr(INSTANCE, symbol.type) if symbol.type else 0
            self.build.bind(opened[1], "value", PARAMETER, expr)
        return opened

    def _fields(self, node: Node, frame: Frame) -> Opened:
        declaration = child(node, "variable_declaration")
        if declaration is None:
            return None
        kind = self.kind_of(declaration.child_by_field_name("type"))
        for one in declaration.named_children:
            name = one.child_by_field_name("name") if one.type == "variable_declarator" else None
            if name is not None:
                made, words = self._named(node, FIELD, frame, name)
                symbol = self.build.symbols[made]
                symbol.type = kind
                if "const" in words or {"static", "readonly"} <= words:
                    symbol.kind = CONSTANT
        return None

    # -- sites ----------------------------------------------------------------------------------------------------


CSharp.DEFINITIONS = {
    **dict.fromkeys(_KINDS, CSharp._type),
    **dict.fromkeys(_FUNCTIONS, CSharp._method),
    "namespace_declaration": CSharp._namespace,
    "enum_member_declaration": CSharp._enum_member,
    "delegate_declaration": CSharp._delegate,
    "property_declaration": CSharp._property,
    "indexer_declaration": CSharp._property,
    "event_declaration": CSharp._property,
    "event_field_declaration": CSharp._fields,
    "field_declaration": CSharp._fields,
    "lambda_expression": CSharp._lambda,
    "anonymous_method_expression": CSharp._lambda,
}

EXTRACTION = CSharp
