"""Facts of C and C++. Scopes and bindings follow the C++ standard, [basic.scope] and [basic.lookup].

What is particular here:

* A declaration whose definition stands in another file is a symbol of its own, marked OVERLOAD, with a reference to its
  definition; in one file both are one symbol.
* A namespace is one symbol a file, and a scope (of the module's kind) each time it is opened. One without a name has a
  scope and no symbol.
* ``#include`` is an import whose module is the path, ``using namespace`` one of ``*``; ``using a::b`` and
  ``namespace a = b`` bind a name to an import; a class that is only declared is a TYPE_ONLY one, without a module.
* The expression of a call site is the CALL itself (see `jvmish`). A variable's constructor is called where its name
  stands, with a CALL of a TYPE_OF: no edge where no constructor is written down.
* A member that is defined outside of its class has the class as its ``owner``; ``this`` is a name that methods bind.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from ombud.graph.extract import cexprs
from ombud.graph.extract.cclean import linked, repaired
from ombud.graph.extract.cdeclare import Declared, declared
from ombud.graph.extract.cfunctions import Tag
from ombud.graph.extract.csites import Sites
from ombud.graph.extract.extraction import first
from ombud.graph.extract.jvmish import Frame, Opened, arguments
from ombud.graph.facts import (
    ALIAS,
    CLASS_KIND,
    CLASS_SCOPE,
    ENUM,
    ENUM_MEMBER,
    EXPORTED,
    IMPORT,
    IMPORT_SITE,
    INHERIT_SITE,
    INSTANCE,
    MACRO,
    MODULE_SCOPE,
    NAMESPACE,
    STRUCT,
    SYSTEM,
    TO_IMPORT,
    TO_SYMBOL,
    TYPE,
    TYPE_ONLY,
    Import,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {"struct_specifier": STRUCT, "union_specifier": STRUCT, "class_specifier": CLASS_KIND, "enum_specifier": ENUM}
_READINGS = 4
"""Times that a text with errors is read again with macros and branches blanked out."""


class CFamily(Sites):
    """See the module. Functions and variables are in `cfunctions`, sites in `csites`."""

    QUERY = "c"
    VALUES = cexprs.VALUES

    def __init__(self, language: str, source: bytes) -> None:
        best = linked(source)
        super().__init__(language, best)
        errors = self._errors()
        for _ in range(_READINGS):
            if not errors:
                break
            text = repaired(best, errors)
            if text == best:
                break
            super().__init__(language, text)
            now = self._errors()
            if _extent(now) >= _extent(errors):
                super().__init__(language, best)
                break
            best, errors = text, now

    def _errors(self) -> list[tuple[int, int]]:
        if not self.root.has_error:
            return []
        return [(node.start_byte, node.end_byte) for node in self.nodes.get("error", ())]

    def gather(self) -> None:
        self.prepare()
        self.begin()
        self.used.update(node.start_byte for node in self.nodes.get("unused", ()))
        for node in self.ordered("include"):
            self._include(node)
        for node in self.ordered("forward"):
            self._forward(node)
        self.define()
        self.declare_forward()
        self.bind_locals()
        self.returned()
        self.sites()

    def kind_of(self, node: Node | None) -> int:
        return cexprs.kind_of(self, node)

    # -- files and namespaces -------------------------------------------------------------------------------------

    def _include(self, node: Node) -> None:
        text = self.text(node)
        if node.type not in ("string_literal", "system_lib_string"):
            return
        build = self.build
        line, character, length = build.span(node)
        number = len(build.imports)
        flags = SYSTEM if node.type == "system_lib_string" else 0
        build.imports.append(Import(text[1:-1], "", "", 0, 0, flags, (line, character + 1, max(0, length - 2))))
        build.site_at(IMPORT_SITE, build.expr(IMPORT, number), 0, build.imports[number].site)

    def _namespace(self, node: Node, frame: Frame) -> Opened:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if body is None:
            return None
        build = self.build
        parts = [] if name is None else arguments(name) if name.type == "nested_namespace_specifier" else [name]
        if not parts:
            own = build.scope(frame.scope, MODULE_SCOPE, -1, body.start_byte, body.end_byte)
            self.hidden.add(own)
            return body.start_byte, own, frame.symbol
        scope, symbol = frame.scope, frame.symbol
        flat = [
            one for part in parts for one in (arguments(part) if part.type == "nested_namespace_specifier" else [part])
        ]
        for part in flat:
            made = self._space(node, part, Frame(frame.end, scope, symbol))
            inner = build.scope(scope, MODULE_SCOPE, made, body.start_byte, body.end_byte)
            if scope in self.hidden:
                self.hidden.add(inner)
            scope, symbol = inner, made
        return body.start_byte, scope, symbol

    def _space(self, node: Node, name: Node, frame: Frame) -> int:
        """The symbol of a namespace, the same one each time it is opened."""
        build = self.build
        key = (frame.symbol, self.text(name))
        self.used.add(name.start_byte)
        made = self.spaces.get(key)
        if made is None:
            made = self.spaces[key] = self.declare(node, name, NAMESPACE, frame)
            symbol = build.symbols[made]
            body = node.child_by_field_name("body")
            symbol.signature = self.signature(node.start_byte, body.start_byte if body is not None else node.end_byte)
            symbol.flags |= EXPORTED
            symbol.doc = self.doc(node)
        elif frame.scope != build.symbols[made].scope:
            build.bind(frame.scope, key[1], TO_SYMBOL, made)
        return made

    def _bring(self, scope: int, item: Import, site: Node | None) -> int:
        build = self.build
        number = len(build.imports)
        item.scope = scope
        if site is not None:
            item.site = build.span(site)
        build.imports.append(item)
        if item.alias:
            build.bind(scope, item.alias, TO_IMPORT, number)
        return number

    def _using(self, node: Node, frame: Frame) -> Opened:
        """``using namespace a::b;`` and ``using a::b;``"""
        target = first(node)
        if target is None:
            return None
        path = self.path_of(target)
        if any(child.type == "namespace" for child in node.children):
            self._bring(frame.scope, Import(path, "*", ""), target)
        else:
            module, _, name = path.rpartition("::")
            self._bring(frame.scope, Import(module, name, name), cexprs.last_name(target))
        return None

    def path_of(self, node: Node) -> str:
        """A scoped name as written, without template arguments."""
        text = "".join(self.text(node).split())
        while "<" in text and ">" in text:
            text = text[: text.index("<")] + text[text.rindex(">") + 1 :]
        return text

    def _space_alias(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        parts = [one for one in arguments(node) if name is None or one.id != name.id]
        if name is not None and parts:
            self.used.add(name.start_byte)
            self._bring(frame.scope, Import(self.path_of(parts[0]), "", self.text(name)), parts[0])
        return None

    # -- classes --------------------------------------------------------------------------------------------------

    def _class(self, node: Node, frame: Frame) -> Opened:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        kind = _KINDS[node.type]
        if body is None:
            return None
        build = self.build
        at = cexprs.last_name(name)
        outer, text, start = node, "", name or node
        if at is None:
            given = self.nametag.get(node.id)
            if given is not None:
                at, outer = given.name, given.around
                text = given.text
            elif kind == ENUM:
                return None
            elif node.parent is not None and node.parent.type == "field_declaration":
                return None  # Its members are members of what is around it.
            else:
                return self.nameless(node, kind, f"<{node.type.partition('_')[0]}>", frame, body.start_byte, body)
        made = self.declare(outer, at, kind, frame, text=text)
        self.tagged[node.id] = made
        symbol = build.symbols[made]
        symbol.flags |= self.shown(frame, node)
        symbol.signature = self.signature(node.start_byte, body.start_byte)
        symbol.doc = self.doc(outer)
        if self.plain and frame.symbol:
            self.bind_outside(frame, symbol.name, made)
        opened = self.open(node, CLASS_SCOPE, made, frame, start.end_byte if name is not None else body.start_byte)
        self._access(made, node, body)
        self.letters_of(node, made, opened[1])
        if kind != ENUM:
            self.classes.setdefault((frame.symbol, symbol.name), made)
            self.later.append((self._bases, (node, made)))
        return opened

    def bind_outside(self, frame: Frame, name: str, made: int) -> None:
        """In C a structure's name and an enum's constants hold for the whole file, wherever they stand."""
        scope = frame.scope
        while scope and self.build.scope_kind(scope) == CLASS_SCOPE:
            scope = self.build.parent_scope(scope)
        if scope != frame.scope:
            self.build.bind(scope, name, TO_SYMBOL, made)

    def _access(self, made: int, node: Node, body: Node) -> None:
        """Where in a class its members are public."""
        marks = [(0, node.type != "class_specifier")]
        if body.type == "field_declaration_list":
            marks += [
                (one.start_byte, self.text(one).startswith("public"))
                for one in body.named_children
                if one.type == "access_specifier"
            ]
        self.access[made] = marks

    def shown(self, frame: Frame, node: Node) -> int:
        """EXPORTED for what others may use."""
        if frame.scope in self.hidden:
            return 0
        marks = self.access.get(frame.symbol)
        if marks is None or self.build.scope_kind(frame.scope) != CLASS_SCOPE:
            return EXPORTED
        public = marks[bisect_right(marks, (node.start_byte, True)) - 1][1]
        return EXPORTED if public and self.build.symbols[frame.symbol].flags & EXPORTED else 0

    def _bases(self, node: Node, made: int) -> None:
        symbol = self.build.symbols[made]
        for clause in node.named_children:
            if clause.type != "base_class_clause":
                continue
            for one in clause.named_children:
                name = cexprs.last_name(one)
                expr = self.kind_of(one)
                if name is None or not expr or one.type == "access_specifier":
                    continue
                symbol.bases.append(expr)
                self.place(INHERIT_SITE, self.build.expr(INSTANCE, expr), name)

    def _enumerator(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        if name is None:
            return None
        build = self.build
        made = self.declare(node, name, ENUM_MEMBER, frame)
        symbol = build.symbols[made]
        symbol.signature = self.signature(node.start_byte, node.end_byte)
        symbol.doc = self.doc(node)
        above = build.symbols[frame.symbol]
        symbol.flags = above.flags & EXPORTED if above.kind == ENUM else self.shown(frame, node)
        if above.kind == ENUM and not above.signature.startswith(("enum class", "enum struct")):
            self.bind_symbol(build.parent_scope(frame.scope), symbol.name, made, name)
            if self.plain:
                self.bind_outside(Frame(0, build.parent_scope(frame.scope), 0), symbol.name, made)
        return None

    def letters_of(self, node: Node, made: int, own: int) -> None:
        """The type parameters of a template."""
        parent = node.parent
        if parent is None or parent.type != "template_declaration":
            return
        for one in arguments(parent.child_by_field_name("parameters")):
            name = next((c for c in reversed(one.named_children) if c.type in ("type_identifier", "identifier")), None)
            name = one.child_by_field_name("name") or name
            if name is not None and name.type in ("type_identifier", "identifier") and "type_parameter" in one.type:
                self.letter(own, made, name, (), (parent.start_byte, parent.end_byte))

    def _forward(self, node: Node) -> None:
        """A class that is named without being defined: it may be defined elsewhere."""
        self.named_only.append(node)

    def declare_forward(self) -> None:
        """Names of classes that nothing here defines."""
        build = self.build
        seen = set()
        for node in self.named_only:
            scope = self.inside.at(node.start_byte)
            while scope and build.scope_kind(scope) != MODULE_SCOPE:
                scope = build.parent_scope(scope)
            text = self.text(node)
            if (scope, text) not in seen and (build.symbol_of(scope), text) not in self.classes:
                seen.add((scope, text))
                self._bring(scope, Import("", text, text, flags=TYPE_ONLY), node)

    # -- other names for types, macros ----------------------------------------------------------------------------

    def _typedef(self, node: Node, frame: Frame) -> Opened:
        kind = node.child_by_field_name("type")
        body = kind.child_by_field_name("body") if kind is not None and kind.type in _KINDS else None
        tag = kind.child_by_field_name("name") if kind is not None and body is not None else None
        for number, one in enumerate(node.children_by_field_name("declarator")):
            found = declared(one)
            if found is None or found.name.start_byte in self.used:
                continue
            text = self.text(found.name)
            plain = number == 0 and not found.indirect and found.function is None
            if plain and body is not None and kind is not None and tag is None:
                self.nametag[kind.id] = Tag(found.name, node, text)
                continue
            if tag is not None and self.text(tag) == text:
                self.used.add(found.name.start_byte)
                continue
            self._alias(node, found, frame, kind)
        return None

    def _alias(self, node: Node, found: Declared, frame: Frame, kind: Node | None) -> None:
        made = self.declare(node, found.name, TYPE, frame)
        symbol = self.build.symbols[made]
        symbol.flags |= ALIAS | self.shown(frame, node)
        symbol.signature = self.signature(node.start_byte, node.end_byte).removesuffix(";").rstrip()
        symbol.doc = self.doc(node)
        self.later.append((self._stands, (made, kind, found)))

    def _stands(self, made: int, kind: Node | None, found: Declared) -> None:
        symbol = self.build.symbols[made]
        if found.called or found.function is not None:
            symbol.value = self.build.named("function")
        else:
            symbol.value = self.kind_of(kind)

    def _alias_declaration(self, node: Node, frame: Frame) -> Opened:
        name, kind = node.child_by_field_name("name"), node.child_by_field_name("type")
        if name is None or name.type != "type_identifier":
            return None
        self._alias(node, Declared(name, (), None, False), frame, kind)
        made = len(self.build.symbols) - 1
        self.letters_of(node, made, frame.scope)
        return None

    def _concept(self, node: Node, frame: Frame) -> Opened:
        name = node.child_by_field_name("name")
        if name is not None:
            made = self.declare(node, name, TYPE, frame)
            self.build.symbols[made].flags |= self.shown(frame, node)
            self.build.symbols[made].signature = self.signature(node.start_byte, node.end_byte)
        return None

    def _macro(self, node: Node, frame: Frame) -> Opened:
        """A macro, of the file whatever it stands in; of several definitions the one that is likely the one."""
        del frame
        name = node.child_by_field_name("name")
        if name is None:
            return None
        text = self.text(name)
        build = self.build
        start = build.start(node)
        where = (*start, start[0], start[1] + len(self.text(node).partition("\n")[0]))
        self.used.add(name.start_byte)
        made, doubtful = self.macros.get(text, (0, False))
        now = bool(self.unlikely.at(name.start_byte))
        if made and (now or not doubtful):
            return None
        if made:
            # The definition before stands in a branch that is not likely taken.
            symbol = build.symbols[made]
            symbol.range, symbol.at, symbol.params = where, build.span(name), []
        else:
            made = build.symbol(text, MACRO, 0, 0, where, build.span(name))
            self.bind_symbol(0, text, made, name)
            symbol = build.symbols[made]
        self.macros[text] = (made, now)
        symbol.flags = EXPORTED
        value = node.child_by_field_name("value")
        symbol.signature = self.signature(node.start_byte, value.start_byte if value is not None else node.end_byte)
        symbol.signature = symbol.signature.rstrip("\\ ")
        symbol.doc = self.doc(node)
        given = node.child_by_field_name("parameters")
        for one in arguments(given):
            self.used.add(one.start_byte)
            symbol.params.append(self.text(one))
        if given is not None:
            count = len(symbol.params)
            symbol.arity = (count, -1) if "..." in self.text(given) else (count, count)
        else:
            symbol.arity = (-1, -1)
        return None

    def doc(self, node: Node) -> str:
        """The comment above a definition, or above the template it is of."""
        parent = node.parent
        if parent is not None and parent.type == "template_declaration":
            node = parent
        found: list[str] = []
        line, before = node.start_point[0], node.prev_sibling
        while before is not None and before.type == "comment" and before.end_point[0] >= line - 1:
            above = before.prev_sibling
            # A directive ends with its line, and so in the next one.
            if above is not None and above.end_point[1] and above.end_point[0] == before.start_point[0]:
                break
            found.append(self.text(before))
            line, before = before.start_point[0], above
        return self.comment("\n".join(reversed(found))) if found else ""


def _extent(spans: list[tuple[int, int]]) -> int:
    return sum(min(end - start, 2000) + 10 for start, end in spans)


CFamily.DEFINITIONS = {
    **dict.fromkeys(_KINDS, CFamily._class),
    "namespace_definition": CFamily._namespace,
    "namespace_alias_definition": CFamily._space_alias,
    "using_declaration": CFamily._using,
    "enumerator": CFamily._enumerator,
    "type_definition": CFamily._typedef,
    "alias_declaration": CFamily._alias_declaration,
    "concept_definition": CFamily._concept,
    "preproc_def": CFamily._macro,
    "preproc_function_def": CFamily._macro,
    "function_definition": CFamily.function,
    "declaration": CFamily.declaration,
    "field_declaration": CFamily.declaration,
    "lambda_expression": CFamily.lambda_,
}
