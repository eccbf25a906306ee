"""Facts of PHP. Names are resolved as the PHP manual says under "Using namespaces"; see `phptypes` on their spelling.

The one namespace of a file is its package. Where there are several, each is a symbol with a scope of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import Nest, first
from ombud.graph.extract.phpbind import BINDINGS, Sites
from ombud.graph.extract.phptypes import (
    ANONYMOUS,
    NAMES,
    Doc,
    arguments,
    declared,
    given_at,
    more_exact,
    tags,
    tail,
)
from ombud.graph.facts import (
    ABSTRACT,
    CLASS,
    CLASS_KIND,
    CLASS_SCOPE,
    CLOSURE,
    CONSTANT,
    CONSTANT_IMPORT,
    CONSTRUCTOR,
    DECLARED,
    ELEM,
    ENUM,
    ENUM_MEMBER,
    EXPORTED,
    FUNCTION,
    FUNCTION_IMPORT,
    FUNCTION_SCOPE,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INTERFACE,
    METHOD,
    MODULE_SCOPE,
    NAMESPACE,
    PARAMETER,
    PRIVATE,
    PROPERTY,
    REFERENCE_SITE,
    RETURNED,
    STATIC,
    TEST,
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
ARROW = "<arrow>"
"""Bound in the scope of a function that sees the variables around it."""
_WORDS = {"static_modifier": STATIC, "abstract_modifier": ABSTRACT}
_PASSES = {
    **dict.fromkeys(("array_map",), (1, 0, 0)),
    **dict.fromkeys(("array_filter", "array_walk", "array_find", "array_any", "array_all"), (0, 1, 0)),
    **dict.fromkeys(("usort", "uasort"), (0, 1, 2)),
    "array_reduce": (0, 1, 1),
}
"""Functions of the language that call a closure → the place of the array, of the closure, and which of its parameters
is an element (2 for the first two)."""

Frame = tuple[int, int, int]
"""End, scope and symbol of what is around."""


class Php(Sites):
    """See the module."""

    QUERY = "php"

    def gather(self) -> None:
        # In no order, names and expressions would be counted differently in equal texts.
        nodes = self.nodes = {capture: self.ordered(capture) for capture in self.nodes}
        self.spaces: dict[int, str] = {0: ""}
        """Scope of a namespace → its name, where that is not the file's package."""
        self.later: list[tuple[Callable[..., None], tuple[object, ...]]] = []
        self.blocks = Nest((node.start_byte, node.end_byte, node.end_byte) for node in nodes.get("block", ()))
        self._define()
        for node in nodes.get("use", ()):
            self._use(node)
        self.commented()
        for run, given in self.later:
            run(*given)
        for node in reversed(nodes.get("traits", ())):
            self._traits(node)
        for node in nodes.get("binding", ()):
            BINDINGS[node.type](self, node)
        for node in nodes.get("narrow", ()):
            self.narrow(node)
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

    def _symbol(self, node: Node, name: Node, kind: int, frame: Frame, end: int, text: str = "") -> int:
        """A symbol with flags, signature and documentation. ``end`` is where its signature ends."""
        build = self.build
        start = next((one for one in node.children if one.type not in ("attribute_list", "comment")), node)
        where = (*build.start(start), *build.end(node))
        text = text or self.text(name)
        made = build.symbol(text, kind, frame[2], frame[1], where, build.span(name))
        symbol = build.symbols[made]
        self.used.add(name.start_byte)
        words = {self.text(one).lower() for one in node.children if one.type.endswith("_modifier")}
        private = bool(words & {"private"})
        symbol.flags = 0 if private else EXPORTED
        if private and build.symbols[frame[2]].kind != TRAIT:
            symbol.flags = PRIVATE
        for one in node.children:
            symbol.flags |= _WORDS.get(one.type, 0)
        symbol.signature = self.signature(start.start_byte, end).rstrip(" {;")
        above = build.symbols[frame[2]]
        if above.kind in (CLASS_KIND, INTERFACE, TRAIT, ENUM) and not above.flags & EXPORTED:
            symbol.flags &= ~EXPORTED
        return made

    def _comment(self, node: Node, made: int) -> str:
        """The documentation comment above a definition; what it says is the symbol's."""
        before = node.prev_named_sibling
        symbol = self.build.symbols[made]
        if before is None or before.type != "comment":
            return ""
        symbol.doc = self.comment_above(node)
        text = self.text(before)
        return text if text.startswith("/**") else ""

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

    def _function(self, node: Node, frame: Frame) -> tuple[int, int] | None:
        build = self.build
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None:
            return None
        text = self.text(name)
        kind = FUNCTION
        if node.type == "method_declaration":
            kind = CONSTRUCTOR if text.lower() == "__construct" else METHOD
        made = self._symbol(node, name, kind, frame, body.start_byte if body is not None else node.end_byte)
        symbol = build.symbols[made]
        if kind != FUNCTION:
            build.bind(frame[1], text.lower() + "()", TO_SYMBOL, made)
            if build.symbols[frame[2]].kind == INTERFACE:
                symbol.flags |= ABSTRACT
        own = symbol.own = build.scope(frame[1], FUNCTION_SCOPE, made, node.start_byte, node.end_byte)
        comment = self._comment(node, made)
        if kind == METHOD:
            self._test(node, made, frame[2], comment)
        said = tags(comment)
        symbol.generics = [rest.split()[0] for tag, rest in said if tag.startswith("template") and rest.split()]
        self._promote(node, frame, own)
        self.later.append((self._signature, (node, made, own, said)))
        return own, made

    def _test(self, node: Node, made: int, holder: int, comment: str) -> None:
        """Whether PHPUnit runs a method."""
        symbol, above = self.build.symbols[made], self.build.symbols[holder]
        base = self.parents.get(holder, "")
        if not (base.endswith("TestCase") or above.name.endswith("Test")):
            return
        above.flags |= TEST
        marks = [self.text(one) for one in node.children if one.type == "attribute_list"]
        named = any(mark.strip("#[] ").rpartition("\\")[2].partition("(")[0] == "Test" for mark in marks)
        if symbol.name.lower().startswith("test") or named or "@test\n" in comment.replace("\r", "").replace(" ", ""):
            symbol.flags |= TEST

    def _promote(self, node: Node, frame: Frame, own: int) -> None:
        """Parameters of a constructor that are properties as well."""
        build = self.build
        parameters = node.child_by_field_name("parameters")
        for one in parameters.named_children if parameters is not None else ():
            name = one.child_by_field_name("name")
            if one.type != "property_promotion_parameter" or name is None:
                continue
            made = self._symbol(one, name, PROPERTY, frame, one.end_byte)
            self._comment(one, made)
            self.properties[frame[1], self.text(name)] = made
            build.bind(frame[1], self.text(name), TO_SYMBOL, made)
            self.later.append((self._promoted, (one, made, own)))

    def _promoted(self, node: Node, made: int, own: int) -> None:
        hint = node.child_by_field_name("type")
        symbol = self.build.symbols[made]
        kind = self._documented(hint, self.inside_docs.get((own, symbol.name), ""), node.start_byte)
        symbol.type = self.build.expr(WITHIN, own, kind) if kind else 0

    def _documented(self, hint: Node | None, text: str, offset: int) -> int:
        """The type of a declaration, from its hint and from what a tag says."""
        native = self.kind_of(hint)
        documented = Doc(self, text, offset).read() if text else 0
        return more_exact(self, hint, native, documented, text)

    # -- functions ------------------------------------------------------------------------------------------------

    @property
    def inside_docs(self) -> dict[tuple[int, str], str]:
        """(scope of a function, parameter) → what the function's comment says of its type."""
        if not hasattr(self, "_inside_docs"):
            self._inside_docs: dict[tuple[int, str], str] = {}
        return self._inside_docs

    def _signature(self, node: Node, made: int, own: int, said: list[tuple[str, str]]) -> None:
        """Parameters and result of a function."""
        build = self.build
        symbol = build.symbols[made]
        result = ""
        for tag, rest in said:
            if tag == "return" and not result:
                result = rest
            elif tag == "param":
                found = rest.partition("$")
                word = "".join(ch for ch in found[2].split(" ")[0] if ch.isalnum() or ch == "_")
                self.inside_docs[own, "$" + word] = found[0].replace("...", "").rstrip(" &")
        hint = node.child_by_field_name("return_type")
        kind = self._documented(hint, result, node.start_byte)
        symbol.type = build.expr(WITHIN, own, kind) if kind else 0
        symbol.params, symbol.arity = self._parameters(node, own)

    def _parameters(self, node: Node, own: int) -> tuple[list[str], tuple[int, int]]:
        build = self.build
        names: list[str] = []
        least = most = 0
        parameters = node.child_by_field_name("parameters")
        for one in parameters.named_children if parameters is not None else ():
            name = one.child_by_field_name("name")
            if name is None or name.type != "variable_name":
                continue
            text = self.text(name)
            names.append(text)
            hint, default = one.child_by_field_name("type"), one.child_by_field_name("default_value")
            expr = self.of(self._documented(hint, self.inside_docs.get((own, text), ""), node.start_byte))
            several = one.type == "variadic_parameter"
            least += default is None and not several
            most = -1 if several or most < 0 else most + 1
            if several:
                expr = self.literal("array", expr)
            elif not expr and default is not None:
                expr = self.value(default) if default.type != "null" else 0
            build.bind(own, text, PARAMETER, expr)
        return names, (least, most)

    def _closure(self, node: Node, frame: Frame) -> tuple[int, int]:
        own = self.build.scope(frame[1], FUNCTION_SCOPE, -1, node.start_byte, node.end_byte)
        self.closures.add(own)
        self.later.append((self._closed, (node, own, frame[1])))
        return own, frame[2]

    def _closed(self, node: Node, own: int, around: int) -> None:
        """Parameters, result and what a closure takes from around it."""
        build = self.build
        self._parameters(node, own)
        passed = self._passed(node)
        parameters = node.child_by_field_name("parameters")
        for number, one in enumerate(parameters.named_children if parameters is not None else ()):
            name = one.child_by_field_name("name")
            if number in passed and name is not None and one.child_by_field_name("type") is None:
                build.bind(own, self.text(name), VALUE, passed[number])
        kind = self.kind_of(node.child_by_field_name("return_type"))
        if kind:
            build.bind(own, RETURNED, VALUE, self.of(kind))
            self.closures.discard(own)
        if node.type == "arrow_function":
            build.bind(own, ARROW, VALUE, 0)
            if not kind:
                build.bind(own, RETURNED, VALUE, self.value(node.child_by_field_name("body")))
            return
        uses = next((one for one in node.named_children if one.type == "anonymous_function_use_clause"), None)
        for one in uses.named_children if uses is not None else ():
            name = first(one) if one.type == "by_ref" else one
            if name is not None and name.type == "variable_name":
                text = self.text(name)
                build.bind(own, text, VALUE, build.expr(WITHIN, around, build.named(text)), node.start_byte)

    def _passed(self, node: Node) -> dict[int, int]:
        """What a function of the language gives a closure: number of the parameter → expression."""
        argument = node.parent
        listed = argument.parent if argument is not None and argument.type == "argument" else None
        call = listed.parent if listed is not None else None
        if argument is None or call is None or call.type != "function_call_expression":
            return {}
        found = _PASSES.get(self.text(call.child_by_field_name("function")).lower().lstrip("\\"))
        given = arguments(call)
        if found is None or found[1] >= len(given) or given[found[1]].id != argument.id:
            return {}
        known = self.value(given_at(given, found[0]))
        element = self.build.expr(ELEM, known) if known else 0
        return dict.fromkeys((0, 1) if found[2] > 1 else (found[2],), element)

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
