"""Facts of Kotlin. Scopes follow the Kotlin language specification, "Scopes and identifiers".

What ``this`` is where it is not the class around (in an extension, in a closure with a receiver) is bound to the name
``this`` in the scope of the function. An object has the flag STATIC, a companion CLASS_METHOD as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import kttypes
from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import Frame, Opened, arguments
from ombud.graph.extract.ktsites import BINDINGS, Sites
from ombud.graph.extract.kttypes import TYPES, child, last
from ombud.graph.facts import (
    ABSTRACT,
    ALIAS,
    CALL_SITE,
    CLASS,
    CLASS_KIND,
    CLASS_METHOD,
    CLASS_SCOPE,
    CONSTANT,
    CONSTRUCTOR,
    ENUM,
    ENUM_MEMBER,
    EXPORTED,
    FUNCTION,
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INSTANCE,
    INTERFACE,
    METHOD,
    PARAMETER,
    PRIVATE,
    PROPERTY,
    STATIC,
    TEST,
    TO_IMPORT,
    TO_SYMBOL,
    TYPE,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_CLASSES = ("class_declaration", "object_declaration", "companion_object")
_HEADS = ("package_header", "import_list", "import_header")


class Kotlin(Sites):
    """See the module. Expressions and types are lowered in `kttypes`."""

    QUERY = "kotlin"
    VALUES = kttypes.VALUES
    TESTS = frozenset(("Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate"))

    def gather(self) -> None:
        self.prepare()
        self.property = -1
        for node in self.nodes.get("package", ()):
            self.head = node.end_byte
            self.build.package = "".join(self.text(first(node)).split())
        for node in self.nodes.get("import", ()):
            self._import(node)
        self.used.update(node.start_byte for node in self.nodes.get("unused", ()))
        self.later.append((self.generics, ()))
        self.define()
        for node in self.nodes.get("binding", ()):
            BINDINGS[node.type](self, node)
        for node in self.nodes.get("test", ()):
            self._narrow(node)
        self._sites()

    def kind_of(self, node: Node | None) -> int:
        return kttypes.kind_of(self, node)

    def comment_above(self, node: Node) -> str:
        """As for others; the grammar takes what stands above the first definition into the node of the imports."""
        above = node.prev_sibling
        while above is not None and above.type in _HEADS and above.children:
            above = above.children[-1]
            if "comment" in above.type and above.end_point[0] >= node.start_point[0] - 1:
                return self.comment(self.text(above))
        return super().comment_above(node)

    def _import(self, node: Node) -> None:
        self.head = max(self.head, node.end_byte)
        name, alias = child(node, "identifier"), child(node, "import_alias")
        if name is None:
            return
        build = self.build
        dotted = "".join(self.text(name).split()).replace("`", "")
        site = build.span(last(name) or name)
        number = len(build.imports)
        if child(node, "wildcard_import") is not None:
            build.imports.append(Import(dotted, "*", "", 0, 0, 0, site))
        else:
            module, _, word = dotted.rpartition(".")
            called = self.text(first(alias)) if alias is not None else word
            build.imports.append(Import(module, word, called, 0, 0, 0, site))
            build.bind(0, called, TO_IMPORT, number)
        build.site_at(IMPORT_SITE, build.expr(IMPORT, number), 0, site)

    # -- definitions ----------------------------------------------------------------------------------------------

    def _modifiers(self, node: Node) -> tuple[set[str], list[str], Node]:
        """Words, simple names of annotations, and where the definition begins behind them."""
        modifiers = child(node, "modifiers")
        if modifiers is None:
            return set(), [], node
        words: set[str] = set()
        marks: list[str] = []
        start: Node | None = None
        for one in modifiers.named_children:
            if one.type == "annotation":
                marks.append(self.text(one).lstrip("@").partition("(")[0].rpartition(".")[2])
            else:
                words.add(self.text(one))
                start = start or one
        return words, marks, start or modifiers.next_sibling or node

    def _named(
        self, node: Node, kind: int, frame: Frame, name: Node, end: int = 0, text: str = "", hidden: bool = False
    ) -> int:
        """A symbol with flags, signature and documentation."""
        words, marks, start = self._modifiers(node)
        build = self.build
        made = self.declare(node, name, kind, frame, start, text or self.text(name).strip("`"), hidden)
        symbol, above = build.symbols[made], build.symbols[frame.symbol]
        if words.isdisjoint(("private", "internal")) and build.scope_kind(frame.scope) != FUNCTION_SCOPE:
            symbol.flags |= EXPORTED if not frame.symbol or above.flags & EXPORTED else 0
        symbol.flags |= (ABSTRACT if "abstract" in words else 0) | (PRIVATE if "private" in words else 0)
        if "const" in words:
            symbol.kind = CONSTANT
        if not self.TESTS.isdisjoint(marks):
            symbol.flags |= TEST
            above.flags |= TEST
        body = child(node, "class_body", "enum_class_body", "function_body", "statements", "getter")
        stop = end or (body.start_byte if body is not None else node.end_byte)
        symbol.signature = self.signature(start.start_byte, stop).removesuffix("{").rstrip()
        symbol.doc = self.comment_above(node)
        return made

    def _type(self, node: Node, frame: Frame) -> Opened:
        name = child(node, "type_identifier", "simple_identifier")
        words = {one.type for one in node.children if not one.is_named}
        kind = INTERFACE if "interface" in words else ENUM if "enum" in words else CLASS_KIND
        if node.type == "companion_object":
            token = name or next((one for one in node.children if one.type == "companion"), node)
            made = self._named(node, kind, frame, token, 0, "" if name is not None else "Companion")
        elif name is not None:
            made = self._named(node, kind, frame, name)
        else:
            return None
        symbol = self.build.symbols[made]
        if node.type != "class_declaration":
            symbol.flags |= STATIC | (CLASS_METHOD if node.type == "companion_object" else 0)
        opened = self.open(node, CLASS_SCOPE, made, frame, name.end_byte if name is not None else node.start_byte)
        self._letters(node, opened[1], made)
        self._primary(node, made, opened[1])
        self.later.append((self._bases, (node, made, opened[1])))
        return opened

    def _letters(self, node: Node, own: int, made: int) -> None:
        bounds: dict[str, list[int]] = {}
        for one in arguments(child(node, "type_constraints")):
            name = child(one, "type_identifier")
            if name is not None:
                bounds.setdefault(self.text(name), []).append(self.kind_of(last(one)))
        for one in arguments(child(node, "type_parameters")):
            name = child(one, "type_identifier")
            if name is not None:
                found = [self.kind_of(child(one, *TYPES)), *bounds.get(self.text(name), ())]
                self.letter(own, made, name, found, (node.start_byte, node.end_byte))

    def _primary(self, node: Node, made: int, own: int) -> None:
        """Parameters behind a class's name: properties where they say ``val`` or ``var``."""
        build = self.build
        symbol = build.symbols[made]
        least = most = 0
        if child(node, "primary_constructor") is None:
            return
        for one in arguments(child(node, "primary_constructor")):
            name = child(one, "simple_identifier") if one.type == "class_parameter" else None
            if name is None:
                continue
            declared = child(one, *TYPES)
            kind = self.kind_of(declared)
            symbol.params.append(self.text(name))
            several = any(self.text(word) == "vararg" for word in arguments(child(one, "modifiers")))
            kind = self.array(kind) if several and kind else kind
            final = last(one)
            least += not several and (final is None or declared is None or final.id == declared.id)
            most = -1 if several or most < 0 else most + 1
            if child(one, "binding_pattern_kind") is not None:
                field = self._named(one, PROPERTY, Frame(node.end_byte, own, made), name)
                build.symbols[field].type = kind
            else:
                extent = (node.start_byte, node.end_byte)
                self.local(name, PARAMETER, build.expr(INSTANCE, kind) if kind else 0, extent, own)
        symbol.arity = (least, most)

    def _bases(self, node: Node, made: int, own: int) -> None:
        build = self.build
        for specifier in node.named_children:
            if specifier.type != "delegation_specifier":
                continue
            one = first(specifier)
            kind = one if one is not None and one.type == "user_type" else child(one, "user_type")
            if kind is None:
                continue
            build.symbols[made].bases.append(self.kind_of(kind))
            expr, name = kttypes.bare(self, kind)
            args = child(one, "value_arguments")
            if args is not None:
                given = [last(part) or part for part in arguments(args)]
                build.site(CALL_SITE, self.call(build.expr(INSTANCE, expr), given), own, args.children[0])
            if name is not None:
                self._inherit(expr, name, own)

    def _inherit(self, expr: int, name: Node, own: int) -> None:
        self.used.add(name.start_byte)
        self.build.site(INHERIT_SITE, self.build.expr(INSTANCE, expr), own, name)

    def _object(self, node: Node, frame: Frame) -> Opened:
        """``object : T() { … }``"""
        body = child(node, "class_body")
        token = node.children[0]
        kind = child(child(node, "delegation_specifier"), "user_type", "constructor_invocation")
        text = self.text(kind).partition("(")[0].partition("<")[0]
        opened = self.nameless(node, CLASS_KIND, f"<{text or 'object'}>", frame, node.start_byte, token)
        made = opened[2]
        stop = body.start_byte if body is not None else node.end_byte
        self.build.symbols[made].signature = self.signature(node.start_byte, stop)
        self.later.append((self._bases, (node, made, opened[1])))
        return opened

    def _entry(self, node: Node, frame: Frame) -> Opened:
        name, body = child(node, "simple_identifier"), child(node, "class_body")
        if name is None:
            return None
        build = self.build
        made = self._named(node, ENUM_MEMBER, frame, name)
        symbol = build.symbols[made]
        symbol.type = build.expr(CLASS)
        symbol.flags |= STATIC
        given = child(node, "value_arguments")
        if given is not None:
            self.later.append((self._made, (name, given, frame.scope)))
        if body is None:
            return None
        symbol.bases.append(build.expr(CLASS))
        return self.open(node, CLASS_SCOPE, made, frame, body.start_byte)

    def _made(self, name: Node, given: Node, scope: int) -> None:
        """An enum's entry with arguments calls the constructor."""
        args = [last(part) or part for part in arguments(given)]
        self.build.site(CALL_SITE, self.call(self.build.expr(CLASS), args), scope, name)

    def _function(self, node: Node, frame: Frame) -> Opened:
        build = self.build
        name = child(node, "simple_identifier")
        if node.type == "secondary_constructor":
            token = next((one for one in node.children if one.type == "constructor"), node)
            text = build.symbols[frame.symbol].name
            made = self._named(node, CONSTRUCTOR, frame, token, 0, text)
        elif name is None:
            return None
        else:
            around = build.scope_kind(frame.scope)
            # A local function is there from its declaration on, in its block.
            local = around == FUNCTION_SCOPE
            made = self._named(node, METHOD if around == CLASS_SCOPE else FUNCTION, frame, name, hidden=local)
            if local:
                place = self.here(node, node.start_byte)
                build.bind(frame.scope, build.symbols[made].name, TO_SYMBOL, made, *place)
        symbol = build.symbols[made]
        opened = self.open(node, FUNCTION_SCOPE, made, frame, node.start_byte)
        own = opened[1]
        self._letters(node, own, made)
        if build.symbols[frame.symbol].kind == INTERFACE and child(node, "function_body") is None:
            symbol.flags |= ABSTRACT
        self._receiver(node, made, own)
        self._parameters(child(node, "function_value_parameters"), made, own, (node.start_byte, node.end_byte))
        symbol.type = self.kind_of(child(node, *TYPES))
        body = child(node, "function_body")
        if not symbol.type and body is not None and child(body, "statements") is None:
            self.later.append((self._given, (made, body)))
        return opened

    def _given(self, made: int, body: Node) -> None:
        """What a function with an expression as its body gives."""
        if (expr := kttypes.closing(self, body)) and body.child(0) is not None and body.child(0).type == "=":
            self.build.symbols[made].returns.append(expr)

    def _receiver(self, node: Node, made: int, own: int) -> None:
        """The receiver of an extension is its ``this``."""
        receiver = node.child_by_field_name("receiver")
        if receiver is not None and (kind := self.kind_of(receiver)):
            self.build.symbols[made].owner = kind
            self.build.bind(own, "this", PARAMETER, self.build.expr(INSTANCE, kind))

    def _property(self, node: Node, frame: Frame) -> Opened:
        if self.build.scope_kind(frame.scope) == FUNCTION_SCOPE:
            self.later.append((self._variable, (node,)))
            return None
        variable = child(node, "variable_declaration")
        name = child(variable, "simple_identifier")
        if variable is None or name is None:
            return None
        made = self._named(node, PROPERTY, frame, name)
        symbol = self.build.symbols[made]
        opened = self.open(node, FUNCTION_SCOPE, made, frame, node.start_byte)
        self._letters(node, opened[1], made)
        self._receiver(node, made, opened[1])
        symbol.type = self.kind_of(child(variable, *TYPES))
        if not symbol.type:
            self.later.append((self._first, (node, variable, made)))
        self.property = made
        return opened

    def _first(self, node: Node, variable: Node, made: int) -> None:
        """What a property without a type is given: a value, by a delegate, or by its getter."""
        self.build.symbols[made].value = self._initial(node, variable)

    def _accessor(self, node: Node, frame: Frame) -> Opened:
        """A getter or setter belongs to the property before it."""
        made = frame.symbol if self.build.symbols[frame.symbol].kind in (PROPERTY, CONSTANT) else self.property
        if made < 0:
            return None
        build = self.build
        symbol = build.symbols[made]
        own = build.scope(frame.scope, FUNCTION_SCOPE, made, node.start_byte, node.end_byte)
        if symbol.owner:
            build.bind(own, "this", PARAMETER, build.expr(INSTANCE, symbol.owner))
        if not symbol.type and not symbol.value and node.type == "getter":
            self.later.append((self._got, (node, made)))
        extent = (node.start_byte, node.end_byte)
        self.locals.setdefault(b"field", []).append(extent)
        parameter = child(node, "parameter_with_optional_type")
        name = child(parameter, "simple_identifier")
        if name is not None:
            self.local(name, PARAMETER, build.expr(INSTANCE, symbol.type) if symbol.type else 0, extent, own)
        return node.start_byte, own, made

    def _got(self, node: Node, made: int) -> None:
        symbol = self.build.symbols[made]
        body = child(node, "function_body")
        if not symbol.value and body is not None and child(body, "statements") is None:
            symbol.value = kttypes.closing(self, body)

    def _initializer(self, node: Node, frame: Frame) -> Opened:
        own = self.build.scope(frame.scope, FUNCTION_SCOPE, frame.symbol, node.start_byte, node.end_byte)
        return node.start_byte, own, frame.symbol

    def _alias(self, node: Node, frame: Frame) -> Opened:
        name = child(node, "type_identifier")
        if name is not None:
            made = self._named(node, TYPE, frame, name)
            symbol = self.build.symbols[made]
            symbol.flags |= ALIAS
            symbol.value = self.kind_of(last(node))
            self._letters(node, frame.scope, made)
        return None

    # -- sites ----------------------------------------------------------------------------------------------------


Kotlin.DEFINITIONS = {
    **dict.fromkeys(_CLASSES, Kotlin._type),
    "object_literal": Kotlin._object,
    "enum_entry": Kotlin._entry,
    "function_declaration": Kotlin._function,
    "secondary_constructor": Kotlin._function,
    "anonymous_initializer": Kotlin._initializer,
    "property_declaration": Kotlin._property,
    "getter": Kotlin._accessor,
    "setter": Kotlin._accessor,
    "type_alias": Kotlin._alias,
    "lambda_literal": Kotlin._lambda,
    "anonymous_function": Kotlin._lambda,
}

EXTRACTION = Kotlin
