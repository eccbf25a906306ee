"""Facts of JavaScript and TypeScript: which definitions and scopes a text has.

Scopes follow ECMA-262, section 8, "Scope Analysis": `let`, `const` and classes are bound in their block, `var` and
functions in their function. A closure without a name is no symbol: what it calls is called by the definition around
it, so the body of ``test("…", () => …)`` belongs to the module. An object literal is a scope whose bindings are its
members; CLOSURE of such a scope is the object. Names in angle brackets are ours: ``<0>`` of a function is what its
first parameter takes, ``<return>`` what it gives, ``<is>`` what a type guard says of its argument, ``<this>`` what
``this`` is, ``<call>`` and ``<new>`` how an instance is called and made, ``<index>`` what a subscript gives, ``<T>``
the bound of a type parameter, ``<...>`` what an object spreads, ``<rest>`` that the last parameter takes several.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract import ecmabind, ecmadefine, ecmafunctions, ecmaimports, ecmasites, ecmatypes, ecmavalues
from ombud.graph.extract.builder import DOC
from ombud.graph.extract.extraction import Extraction, Nest
from ombud.graph.facts import (
    BLOCK_SCOPE,
    CLASS,
    CLASS_SCOPE,
    FUNCTION_SCOPE,
    INSTANCE,
    SELF,
    WITHIN,
)

if TYPE_CHECKING:
    from tree_sitter import Node

OWN = "<self>"
"""The name of what a file exports as a whole (``module.exports``), within the file."""
DEPTH = 120
"""How deep expressions and types are followed; what is nested deeper is unknown."""


class Ecma(Extraction):
    """See the module. Definitions are made in `ecmadefine`, bindings in `ecmabind`, expressions in `ecmavalues`."""

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        self.known: dict[int, int] = {}
        self.types: dict[int, int] = {}
        self.depth = 0
        self.nested = 0
        """How deep in a pattern names are being bound."""
        self.scopes: dict[int, int] = {}
        """Node that opens a scope → the scope."""
        self.holder: dict[int, int] = {}
        """Function, class or object literal → the symbol that it is the value of."""
        self.symbol_at: dict[tuple[int, str], int] = {}
        """(scope, name) → the symbol bound there, which later declarations of the name belong to."""
        self.parents: dict[int, int] = {}
        """Object literal's or object type's scope → the node."""
        self.receivers: dict[int, int] = {}
        """Scope of a function that has a ``this`` of its own → the expression of it, 0 for an unknown one."""
        self.declared: dict[int, set[str]] = {}
        """Scope → the names of local variables in it."""
        self.typed: set[tuple[int, str]] = set()
        """Variables whose declaration says a type: assignments add nothing."""
        self.bound: set[str] = set()
        """Names that mean something beyond one function: of symbols and of imports."""
        self.anonymous: dict[int, list[int]] = {}
        """Scope of a closure → what it gives."""
        self.requires: dict[int, int] = {}
        """Call of ``require`` or ``import`` → its import."""
        self.aliases: list[tuple[int, Node]] = []
        """Type aliases and what they stand for."""
        self.variables: list[tuple[int, Node]] = []
        """Symbols of variables and fields, and the node that declares each."""
        self.members: list[tuple[int, str, Node]] = []
        """(scope, name, type): members of types without a name, bounds of type parameters."""
        self.objects: list[tuple[Node, int]] = []
        self.pairs: list[tuple[int, str, Node]] = []
        """(scope, name, value): members of object literals that are no functions."""
        self.later: list[tuple[Node, int, int]] = []
        """Functions, their symbols and scopes: their parameters are read when all scopes are known."""
        self._later()

    def _later(self) -> None:
        """What is found first and read when all scopes are known."""
        self.locals: list[tuple[Node, int]] = []
        """Declarations whose names are no symbols, and the scope that they bind in."""
        self.fields: list[tuple[Node, int, int]] = []
        """Assignments to ``this.x``, the class's scope and the function's."""
        self.late_exports: list[tuple[str, Node]] = []
        self.required: list[tuple[Node, Node, str]] = []
        self.openers: dict[int, Node] = {}
        """Scope of a function → its node."""
        self.hidden: set[int] = set()
        """Members that are private."""
        self.overloaded: set[int] = set()
        self.owners: dict[int, int] = {0: 0}
        """Scope → the symbol it belongs to."""
        self.literals: set[int] = set()
        """Scopes of object literals."""
        self.own_receivers = {self.build.expr(SELF), self.build.expr(CLASS)}
        self.assigned = False
        """Whether something is exported by assignment."""
        self.exported: set[str] = set()
        """Names of this module that a statement of its own exports."""
        self.bodiless: set[int] = set()
        """Functions of which only signatures have been seen."""

    declares_fields = False
    """Whether a class has no fields but those that it declares."""

    def gather(self) -> None:
        """See `Extraction.gather`."""
        nodes = self.nodes
        self._comments()
        self.branches = Nest((node.start_byte, node.end_byte, node.end_byte) for node in nodes.get("branch", ()))
        for node in nodes.get("parameter", ()):
            self.used.add(node.start_byte)
        ecmadefine.define(self)
        ecmaimports.required(self)
        for node, symbol, scope in self.later:
            ecmafunctions.function(self, node, symbol, scope)
        ecmabind.bind(self)
        ecmasites.results(self)
        ecmasites.sites(self)
        if self._docs:
            self.build.symbols[0].doc = self._heading()

    # -- comments -------------------------------------------------------------------------------------------------

    def _comments(self) -> None:
        """Comments that stand on lines of their own, by the line they end on."""
        self._docs: dict[int, Node] = {}
        source = self.source
        for node in self.ordered("comment"):
            start = node.start_byte
            column = node.start_point[1]
            if not column or source[start - column : start].isspace():
                self._docs[node.end_point[0]] = node

    def doc(self, row: int) -> str:
        """The comment that ends on the line above ``row``."""
        node = self._docs.get(row - 1)
        if node is None:
            return ""
        text = self.source[node.start_byte : min(node.end_byte, node.start_byte + 4 * DOC)].decode("utf-8", "replace")
        if text.startswith("/*"):
            return self.comment(text)
        found = [text]
        above = row - 2
        while len(found) < 40 and (node := self._docs.get(above)) is not None and self.text(node).startswith("//"):
            found.append(self.text(node))
            above -= 1
        return self.comment("\n".join(reversed(found)))

    def _heading(self) -> str:
        """The block comment that the file begins with, where it is about the file: nothing follows on the next line."""
        for row, node in sorted(self._docs.items()):
            text = self.text(node)
            if node.start_point[0] <= 1 and text.startswith("/**"):
                following = self.source[node.end_byte : node.end_byte + 2]
                return self.comment(text) if "@file" in text or "@module" in text or following == b"\n\n" else ""
            if row > 1:
                break
        return ""

    # -- scopes ---------------------------------------------------------------------------------------------------

    def function_of(self, scope: int) -> int:
        """The innermost scope that is a function's or the module's."""
        build = self.build
        while scope > 0 and build.scope_kind(scope) != FUNCTION_SCOPE:
            scope = build.parent_scope(scope)
        return scope

    def hoisted(self, scope: int) -> int:
        """Where ``var`` binds a name."""
        build = self.build
        while build.scope_kind(scope) == BLOCK_SCOPE or (build.scope_kind(scope) == CLASS_SCOPE and scope > 0):
            scope = build.parent_scope(scope)
        return scope

    def found(self, scope: int, name: str) -> int:
        """The symbol that a bare name means in a scope, -1 where it means none that is known already."""
        build = self.build
        while scope >= 0:
            if build.scope_kind(scope) != CLASS_SCOPE:
                found = self.symbol_at.get((scope, name))
                if found is not None:
                    return found
                if name in self.declared.get(scope, ()):
                    return -1
            scope = build.parent_scope(scope)
        return -1

    def variable(self, scope: int, name: str) -> int:
        """The scope in which a variable of that name is declared, -1 for none."""
        build = self.build
        while scope >= 0:
            if build.scope_kind(scope) != CLASS_SCOPE and (
                name in self.declared.get(scope, ()) or (scope, name) in self.symbol_at
            ):
                return scope
            scope = build.parent_scope(scope)
        return -1

    def open(self, parent: int, kind: int, symbol: int, start: int, end: int) -> int:
        """A new scope."""
        scope = self.build.scope(parent, kind, symbol, start, end)
        self.owners[scope] = symbol
        return scope

    def owner(self, scope: int) -> int:
        """The symbol a scope belongs to, -1 for a block or a closure."""
        return self.owners[scope]

    def is_object(self, scope: int) -> bool:
        """Whether a scope is an object literal's."""
        return scope in self.literals

    def receiver_scope(self, scope: int) -> int:
        """The scope of the method or the class whose ``this`` a scope sees, -1 for none."""
        build = self.build
        while scope > 0:
            if self.receivers.get(scope) in self.own_receivers:
                return scope
            if scope in self.receivers:
                return -1
            if build.scope_kind(scope) == CLASS_SCOPE and not self.is_object(scope):
                return scope
            scope = build.parent_scope(scope)
        return -1

    def within(self, scope: int, expr: int) -> int:
        """An expression, to be read in another scope."""
        return self.build.expr(WITHIN, scope, expr) if expr else 0

    def own_module(self) -> int:
        """What this file exports, as CommonJS sees it within the file."""
        return self.build.named(OWN)

    def member_of(self, node: Node) -> int:
        """The expression of ``a.b``, as it is written."""
        name = node.child_by_field_name("property")
        return self.build.attr(self.value(node.child_by_field_name("object")), self.text(name))

    # -- expressions ----------------------------------------------------------------------------------------------

    def value(self, node: Node | None) -> int:
        """The expression of a node, 0 where nothing can be said of it."""
        if node is None:
            return 0
        key = node.id
        found = self.known.get(key)
        if found is None:
            how = ecmavalues.VALUES.get(node.type)
            if how is None or self.depth > DEPTH:
                found = 0
            else:
                self.depth += 1
                found = how(self, node)
                self.depth -= 1
            self.known[key] = found
        return found

    def kind_of(self, node: Node | None) -> int:
        """The expression of a type, as an annotation writes it."""
        if node is None:
            return 0
        key = node.id
        found = self.types.get(key)
        if found is None:
            how = ecmatypes.KINDS.get(node.type)
            if how is None or self.depth > DEPTH:
                found = 0
            else:
                self.depth += 1
                found = how(self, node)
                self.depth -= 1
            self.types[key] = found
        return found

    def instance(self, node: Node | None) -> int:
        """An INSTANCE of the type that an annotation names."""
        kind = self.kind_of(node)
        return self.build.expr(INSTANCE, kind) if kind else 0


class Script(Ecma):
    """JavaScript, with JSX."""

    QUERY = "ecma+javascript+jsx"


class Typed(Ecma):
    """TypeScript."""

    QUERY = "ecma+typescript"
    declares_fields = True


class Elements(Ecma):
    """TypeScript with JSX."""

    QUERY = "ecma+typescript+jsx"
    declares_fields = True


_BY_LANGUAGE = {"typescript": Typed, "typescriptreact": Elements}


def _extraction(language: str, source: bytes) -> Ecma:
    return _BY_LANGUAGE.get(language, Script)(language, source)


EXTRACTION = _extraction
"""The extraction of a text in one of the four languages."""
