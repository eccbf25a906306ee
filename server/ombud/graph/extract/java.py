"""Facts of Java. Scopes and bindings follow the Java Language Specification, chapter 6, "Names"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ombud.graph.extract import javatypes
from ombud.graph.extract.extraction import first
from ombud.graph.extract.javasites import BINDINGS, Sites
from ombud.graph.extract.jvmish import Frame, Opened, arguments
from ombud.graph.facts import (
    ABSTRACT,
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
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INSTANCE,
    INTERFACE,
    METHOD,
    PARAMETER,
    PRIVATE,
    RETURNED,
    STATIC,
    STATIC_IMPORT,
    TEST,
    TO_IMPORT,
    VALUE,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {
    "class_declaration": CLASS_KIND,
    "interface_declaration": INTERFACE,
    "enum_declaration": ENUM,
    "record_declaration": CLASS_KIND,
    "annotation_type_declaration": INTERFACE,
}
_OPEN = (INTERFACE,)


class Java(Sites):
    """See the module. Expressions and types are lowered in `javatypes`."""

    QUERY = "java"
    VALUES = javatypes.VALUES
    TESTS = frozenset(
        ("Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Property", "Fuzz", "Theory")
    )

    def gather(self) -> None:
        self.prepare()
        for node in self.nodes.get("head", ()):
            self._head(node)
        self.used.update(node.start_byte for node in self.nodes.get("unused", ()))
        self.define()
        for node in self.nodes.get("binding", ()):
            BINDINGS[node.type](self, node)
        self.returned()
        self._sites()

    def kind_of(self, node: Node | None) -> int:
        return javatypes.kind_of(self, node)

    # -- package and imports --------------------------------------------------------------------------------------

    def _head(self, node: Node) -> None:
        self.head = max(self.head, node.end_byte)
        parts = [one for one in arguments(node) if one.type in ("identifier", "scoped_identifier")]
        if not parts or node.type == "module_declaration":
            return
        name = parts[0]
        dotted = "".join(self.text(name).split())
        if node.type == "package_declaration":
            self.build.package = dotted
            return
        every = any(child.type == "asterisk" for child in node.named_children)
        flags = STATIC_IMPORT if any(child.type == "static" for child in node.children) else 0
        last = name.child_by_field_name("name") or name
        module, _, word = dotted.rpartition(".")
        build = self.build
        site = build.span(last)
        number = len(build.imports)
        if every:
            build.imports.append(Import(dotted, "*", "", 0, 0, flags, site))
        else:
            build.imports.append(Import(module, word, word, 0, 0, flags, site))
            build.bind(0, word, TO_IMPORT, number)
        build.site_at(IMPORT_SITE, build.expr(IMPORT, number), 0, site)

    # -- definitions ----------------------------------------------------------------------------------------------

    def _modifiers(self, node: Node) -> tuple[set[str], list[str], Node]:
        """Words, simple names of annotations, and where the definition begins behind them."""
        child = node.child(0)
        if child is None or child.type != "modifiers":
            return set(), [], node
        words: set[str] = set()
        marks: list[str] = []
        start: Node | None = None
        for one in child.children:
            if one.type.endswith("annotation"):
                marks.append(self.text(one.child_by_field_name("name")).rpartition(".")[2])
            elif not one.type.endswith("comment"):
                words.add(one.type)
                start = start or one
        return words, marks, start or child.next_sibling or node

    def _named(self, node: Node, kind: int, frame: Frame, name: Node) -> tuple[int, set[str], Node]:
        """A symbol with flags, signature and documentation."""
        words, marks, start = self._modifiers(node)
        build = self.build
        made = self.declare(node, name, kind, frame, start)
        symbol, above = build.symbols[made], build.symbols[frame.symbol]
        inside = above.kind == INTERFACE and kind != CONSTRUCTOR
        if "public" in words or "protected" in words or (inside and "private" not in words) or kind == ENUM_MEMBER:
            symbol.flags |= EXPORTED if not frame.symbol or above.flags & EXPORTED else 0
        if "static" in words or kind == ENUM_MEMBER or (inside and kind in (FIELD, CONSTANT)):
            symbol.flags |= STATIC
        symbol.flags |= (ABSTRACT if "abstract" in words else 0) | (PRIVATE if "private" in words else 0)
        if not self.TESTS.isdisjoint(marks):
            symbol.flags |= TEST
            above.flags |= TEST
        body = node.child_by_field_name("body")
        symbol.signature = self.signature(start.start_byte, body.start_byte if body is not None else node.end_byte)
        symbol.signature = symbol.signature.removesuffix(";").rstrip()
        symbol.doc = self.comment_above(node)
        return made, words, start

    def _type(self, node: Node, frame: Frame) -> Opened:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return None
        made, _, _ = self._named(node, _KINDS[node.type], frame, name)
        opened = self.open(node, CLASS_SCOPE, made, frame, name.end_byte)
        self._letters(node, opened[1], made)
        if node.type == "record_declaration":
            self._components(node, made, opened[1], body)
        self.later.append((self._bases, (node, made)))
        return opened

    def _letters(self, node: Node, own: int, made: int) -> None:
        letters = node.child_by_field_name("type_parameters")
        for one in arguments(letters):
            name = next((child for child in one.named_children if child.type == "type_identifier"), None)
            bounds = [child for child in one.named_children if child.type == "type_bound"]
            if name is not None:
                kinds = [self.kind_of(kind) for bound in bounds for kind in arguments(bound)]
                self.letter(own, made, name, kinds, (node.start_byte, node.end_byte))

    def _components(self, node: Node, made: int, own: int, body: Node) -> None:
        """A record's components are its fields, and the parameters of its constructor."""
        build = self.build
        symbol = build.symbols[made]
        parameters = node.child_by_field_name("parameters")
        frame = Frame(body.end_byte, own, made)
        for one in arguments(parameters):
            name, kind, _ = self._parameter(one)
            if name is None:
                continue
            field = self.declare(one, name, FIELD, frame)
            build.symbols[field].type = kind
            build.symbols[field].flags = symbol.flags & EXPORTED
            build.symbols[field].signature = self.signature(one.start_byte, one.end_byte)
            symbol.params.append(self.text(name))
        symbol.arity = (len(symbol.params), len(symbol.params))

    def _bases(self, node: Node, made: int) -> None:
        symbol = self.build.symbols[made]
        for child in node.named_children:
            if child.type == "superclass":
                self._inherit(symbol.bases, arguments(child))
            elif child.type in ("super_interfaces", "extends_interfaces"):
                self._inherit(symbol.bases, arguments(first(child)))
        if any(self.text(one).endswith("TestCase") for one in arguments(node.child_by_field_name("superclass"))):
            symbol.flags |= TEST
            for member in self.build.symbols[made + 1 :]:
                if member.parent == made and member.kind == METHOD and member.name.startswith("test"):
                    member.flags |= TEST

    def _inherit(self, bases: list[int], kinds: Iterable[Node]) -> None:
        for kind in kinds:
            expr = self.kind_of(kind)
            if not expr:
                continue
            bases.append(expr)
            name = self._last(kind)
            self.place(INHERIT_SITE, self.build.expr(INSTANCE, self._bare(kind)), name)

    def _anonymous(self, node: Node, frame: Frame) -> Opened:
        kind = node.child_by_field_name("type")
        body = next((one for one in node.named_children if one.type == "class_body"), None)
        if kind is None or body is None:
            return None
        at = self._last(kind)
        opened = self.nameless(node, CLASS_KIND, f"<{self.text(at)}>", frame, body.start_byte, at)
        self.later.append((self._based, (opened[2], kind)))
        return opened

    def _based(self, made: int, kind: Node) -> None:
        symbol = self.build.symbols[made]
        symbol.signature = f"new {self.signature(kind.start_byte, kind.end_byte)}"
        symbol.bases.append(self.kind_of(kind))

    def _constant(self, node: Node, frame: Frame) -> Opened:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return None
        made, _, _ = self._named(node, ENUM_MEMBER, frame, name)
        build = self.build
        symbol = build.symbols[made]
        symbol.type = build.expr(CLASS)
        self.later.append((self._made, (node, frame.scope)))
        if body is None:
            return None
        symbol.bases.append(build.expr(CLASS))
        return self.open(node, CLASS_SCOPE, made, frame, body.start_byte)

    def _made(self, node: Node, scope: int) -> None:
        """An enum's constant with arguments calls the constructor."""
        name, given = node.child_by_field_name("name"), node.child_by_field_name("arguments")
        if name is not None and given is not None:
            build = self.build
            build.site(CALL_SITE, self.call(build.expr(CLASS), arguments(given)), scope, name)

    def _method(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        if name is None:
            return None
        is_method = node.type in ("method_declaration", "annotation_type_element_declaration")
        made, _, _ = self._named(node, METHOD if is_method else CONSTRUCTOR, frame, name)
        build = self.build
        symbol = build.symbols[made]
        if is_method and build.symbols[frame.symbol].kind == INTERFACE and node.child_by_field_name("body") is None:
            symbol.flags |= ABSTRACT
        opened = self.open(node, FUNCTION_SCOPE, made, frame, node.start_byte)
        self._letters(node, opened[1], made)
        symbol.type = self.kind_of(node.child_by_field_name("type")) if is_method else 0
        if node.type == "compact_constructor_declaration":
            self._compact(frame, made, opened[1], (node.start_byte, node.end_byte))
        else:
            self._parameters(node, made, opened[1])
        return opened

    def _compact(self, frame: Frame, made: int, own: int, extent: tuple[int, int]) -> None:
        """The parameters of a record's short constructor are its components."""
        build = self.build
        record, symbol = build.symbols[frame.symbol], build.symbols[made]
        symbol.params, symbol.arity = list(record.params), record.arity
        for one in build.symbols[frame.symbol + 1 : made]:
            if one.parent == frame.symbol and one.name in record.params and one.type:
                build.bind(own, one.name, PARAMETER, build.expr(INSTANCE, one.type))
                self.locals.setdefault(one.name.encode(), []).append(extent)

    def _parameter(self, node: Node) -> tuple[Node | None, int, bool]:
        """Name, type, whether it takes several."""
        if node.type == "formal_parameter":
            kind = self.kind_of(node.child_by_field_name("type"))
            if kind and node.child_by_field_name("dimensions") is not None:
                kind = self.array(kind)
            return node.child_by_field_name("name"), kind, False
        if node.type == "spread_parameter":
            declarator = next((one for one in node.named_children if one.type == "variable_declarator"), None)
            before = [one for one in arguments(node) if one.type not in ("modifiers", "variable_declarator")]
            kind = self.kind_of(before[0]) if before else 0
            name = declarator.child_by_field_name("name") if declarator is not None else None
            return name, self.array(kind) if kind else 0, True
        return None, 0, False

    def _parameters(self, node: Node, made: int, own: int) -> None:
        build = self.build
        symbol = build.symbols[made]
        several = False
        extent = (node.start_byte, node.end_byte)
        for one in arguments(node.child_by_field_name("parameters")):
            name, kind, spread = self._parameter(one)
            if name is None:
                continue
            several |= spread
            symbol.params.append(self.text(name))
            self.local(name, PARAMETER, build.expr(INSTANCE, kind) if kind else 0, extent, own)
        count = len(symbol.params)
        symbol.arity = (count - 1, -1) if several else (count, count)

    def _fields(self, node: Node, frame: Frame) -> Opened:
        kind = self.kind_of(node.child_by_field_name("type"))
        is_constant = node.type == "constant_declaration"
        for one in node.children_by_field_name("declarator"):
            name = one.child_by_field_name("name")
            if name is None:
                continue
            made, words, _ = self._named(node, FIELD, frame, name)
            symbol = self.build.symbols[made]
            if is_constant or ("static" in words and "final" in words):
                symbol.kind = CONSTANT
            symbol.type = self.array(kind) if kind and one.child_by_field_name("dimensions") is not None else kind
        return None

    def _lambda(self, node: Node, frame: Frame) -> Opened:
        opened = self.closure(node, frame)
        self.later.append((self._closure, (node, opened[1])))
        return opened

    def _closure(self, node: Node, own: int) -> None:
        """Parameters of a lambda, and what it returns."""
        build = self.build
        parameters, body = node.child_by_field_name("parameters"), node.child_by_field_name("body")
        extent = (node.start_byte, node.end_byte)
        if parameters is not None:
            every = [parameters] if parameters.type == "identifier" else arguments(parameters)
            target, argument = self._target(node)
            for number, one in enumerate(every):
                name, kind, _ = (one, 0, False) if one.type == "identifier" else self._parameter(one)
                if name is not None:
                    expr = build.expr(INSTANCE, kind) if kind else self.passed(target, argument, number)
                    self.local(name, PARAMETER, expr, extent, own)
        if body is not None and body.type != "block":
            build.bind(own, RETURNED, VALUE, self.value(body))

    # -- sites ----------------------------------------------------------------------------------------------------


Java.DEFINITIONS = {
    **dict.fromkeys(_KINDS, Java._type),
    "method_declaration": Java._method,
    "constructor_declaration": Java._method,
    "compact_constructor_declaration": Java._method,
    "annotation_type_element_declaration": Java._method,
    "field_declaration": Java._fields,
    "constant_declaration": Java._fields,
    "enum_constant": Java._constant,
    "lambda_expression": Java._lambda,
    "object_creation_expression": Java._anonymous,
}

EXTRACTION = Java
