"""Functions, variables and fields of C and C++, and what is bound within functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ombud.graph.extract import cexprs
from ombud.graph.extract.cclean import Conditions
from ombud.graph.extract.cdeclare import Declared, declared, parameters, shape
from ombud.graph.extract.extraction import Nest, first
from ombud.graph.extract.jvmish import Frame, Opened, Typed
from ombud.graph.facts import (
    ABSTRACT,
    CALL_SITE,
    CLASS_SCOPE,
    CONSTRUCTOR,
    DECLARED,
    EXPORTED,
    FUNCTION,
    FUNCTION_SCOPE,
    INSTANCE,
    METHOD,
    OVERLOAD,
    PARAMETER,
    RETURNED,
    SELF,
    STATIC,
    SYMBOL,
    TEST,
    TO_SYMBOL,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_MACRO = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_TESTS = re.compile(r"(?:TYPED_)?TEST(?:_F|_P|_CASE|_METHOD)?|SCENARIO|BOOST_\w+_TEST_CASE|BENCHMARK(?:_F)?")
WORDS = frozenset(word.decode() for word in cexprs.WORDS)


class Prior(NamedTuple):
    """A function or variable that was declared or defined before in the file."""

    made: int
    shape: tuple[str, ...]
    defined: bool


class Tag(NamedTuple):
    """The name that a ``typedef`` gives a structure without one."""

    name: Node
    around: Node
    text: str


class Functions(Typed):
    """See the module."""

    if TYPE_CHECKING:

        def shown(self, frame: Frame, node: Node) -> int: ...
        def doc(self, node: Node) -> str: ...
        def letters_of(self, node: Node, made: int, own: int) -> None: ...

    def begin(self) -> None:
        """Lay out what the rest needs."""
        self.spaces: dict[tuple[int, str], int] = {}
        self.hidden: set[int] = set()
        """Scopes of namespaces without a name."""
        self.nametag: dict[int, Tag] = {}
        self.tagged: dict[int, int] = {}
        self.access: dict[int, list[tuple[int, bool]]] = {}
        self.classes: dict[tuple[int, str], int] = {}
        self.macros: dict[str, tuple[int, bool]] = {}
        """Name → symbol, and whether it stands in a branch that is not likely taken."""
        self.named_only: list[Node] = []
        self.priors: dict[tuple[int, str], list[Prior]] = {}
        self.prototypes: list[tuple[int, Node, int]] = []
        """Declarations without body: symbol, name, the scope they stand in."""
        self.autos: dict[int, int] = {}
        self.unlikely = Nest((start, end, 1) for start, end in Conditions(self.source).unlikely())
        self.plain = self.language == "c" or not self.nodes.get("modern")

    def declare(
        self,
        node: Node,
        name: Node,
        kind: int,
        frame: Frame,
        start: Node | None = None,
        text: str = "",
        hidden: bool = False,
    ) -> int:
        """See `Typed.declare`."""
        made = super().declare(node, name, kind, frame, start, text, hidden=True)
        if not hidden:
            self.bind_symbol(frame.scope, self.build.symbols[made].name, made, name)
        return made

    def bind_symbol(self, scope: int, name: str, made: int, at: Node) -> None:
        """A name for a symbol; others take precedence where an ``#if`` around it is not likely taken."""
        self.build.bind(scope, name, TO_SYMBOL, made, 0, self.unlikely.at(at.start_byte))

    # -- functions ------------------------------------------------------------------------------------------------

    def function(self, node: Node, frame: Frame) -> Opened:
        """A definition with a body, also ``= default`` and ``= delete``."""
        found = declared(node.child_by_field_name("declarator"))
        if found is None or found.function is None or self.text(found.name) in WORDS:
            return None
        made = self.function_of(node, found, frame, defined=True)
        own = self.build.symbols[made].own
        return node.start_byte, own, made

    def owner_of(self, found: Declared, frame: Frame) -> tuple[int, int]:
        """The class before a name: its symbol, 0 where this file has none of it; and its expression."""
        symbol = frame.symbol
        while found.scopes:
            inner = symbol
            for scope in found.scopes:
                name = cexprs.last_name(scope)
                inner = self.classes.get((inner, self.text(name)), 0) if name is not None else 0
                if not inner:
                    break
            if inner:
                return inner, self.build.expr(SYMBOL, inner)
            if not symbol:
                break
            symbol = self.build.symbols[symbol].parent
        expr = 0
        for number, scope in enumerate(found.scopes):
            name = cexprs.last_name(scope)
            if name is None:
                return 0, 0
            text = self.text(name)
            expr = self.build.attr(expr, text) if number else self.build.named(text)
        return 0, expr

    def function_of(self, node: Node, found: Declared, frame: Frame, defined: bool) -> int:
        """The symbol of a function, the one it was declared as before in this file, with its scope and parameters."""
        build = self.build
        name = self._name_of(found)
        held, owner = self.owner_of(found, frame)
        container = held or frame.symbol
        macro = not found.scopes and _MACRO.fullmatch(name) is not None and node.child_by_field_name("type") is None
        macro = macro and defined and build.symbols[frame.symbol].name != name
        if macro:
            name = self.signature(found.function.start_byte, found.function.end_byte) if found.function else name
        given = self._shape(found.function)
        key = (container if held or not owner else -owner, name)
        prior = self._prior(key, given, defined)
        extent = (node.start_byte, node.end_byte)
        if prior is not None and (prior.defined or not defined):
            made = prior.made if not defined else self._symbol(node, found, frame, name, held)
        elif prior is not None:
            made = prior.made
            self.moved(made, node, found.name)
        else:
            made = self._symbol(node, found, frame, name, held)
        self.used.add(found.name.start_byte)
        self.priors.setdefault(key, []).append(Prior(made, given, defined))
        if not defined:
            self.prototypes.append((made, found.name, frame.scope))
            if prior is not None:
                return made
        symbol = build.symbols[made]
        own = build.scope(frame.scope, FUNCTION_SCOPE, made, *extent)
        symbol.own = own
        symbol.owner = owner or symbol.owner
        self._finish(node, made, own, defined)
        if macro:
            self._made_by_macro(found, made)
        else:
            self.later.append((self._typed, (node, found, made, own)))
        return made

    def _name_of(self, found: Declared) -> str:
        if found.name.type == "operator_cast":
            kind = found.name.child_by_field_name("type")
            return f"operator {self.text(kind)}"
        return cexprs.plain(self.text(found.name))

    def _shape(self, function: Node | None) -> tuple[str, ...]:
        texts = []
        for one in parameters(function):
            inner = declared(one.child_by_field_name("declarator")) if one.type != "identifier" else None
            texts.append(shape(self.text(one), self.text(inner.name) if inner is not None else ""))
        return tuple(texts)

    def _prior(self, key: tuple[int, str], given: tuple[str, ...], defined: bool) -> Prior | None:
        """What was declared before under a name, of the same parameters; or the only one, of as many."""
        priors = self.priors.get(key, ())
        for prior in priors:
            if prior.shape == given:
                return prior
        open_ = [prior for prior in priors if not prior.defined]
        if len(priors) != 1 or (len(open_) != 1 and self.language != "c"):
            return None
        if self.language == "c" or (defined and len(open_[0].shape) == len(given)):
            return priors[0]
        return None

    def _symbol(self, node: Node, found: Declared, frame: Frame, name: str, held: int) -> int:
        build = self.build
        scope, parent = frame.scope, held or frame.symbol
        in_class = held or build.scope_kind(frame.scope) == CLASS_SCOPE
        owner = (
            build.symbols[parent].name
            if in_class
            else self.text(cexprs.last_name(found.scopes[-1]))
            if found.scopes
            else ""
        )
        kind = (CONSTRUCTOR if name == owner else METHOD) if owner or in_class else FUNCTION
        where = (*build.start(node), *build.end(node))
        qualified = name if not found.scopes or held else f"{owner}.{name}"
        made = build.symbol(qualified, kind, parent, scope, where, self._at(found.name))
        build.symbols[made].name = name
        if not found.scopes:
            self.bind_symbol(scope, name, made, found.name)
        elif held:
            own = build.symbols[held].own
            if own >= 0:
                self.bind_symbol(own, name, made, found.name)
        return made

    def _at(self, name: Node) -> tuple[int, int, int]:
        if name.type == "operator_cast":
            kind = name.child_by_field_name("type")
            line, character, _ = self.build.span(name)
            end = kind.end_byte if kind is not None else name.end_byte
            return line, character, end - name.start_byte
        return self.build.span(name)

    def moved(self, made: int, node: Node, name: Node) -> None:
        """A declaration's symbol takes the place of the definition."""
        build = self.build
        symbol = build.symbols[made]
        symbol.range, symbol.at = (*build.start(node), *build.end(node)), self._at(name)
        symbol.flags &= ~OVERLOAD
        symbol.params, symbol.generics = [], []

    def _finish(self, node: Node, made: int, own: int, defined: bool) -> None:
        """Flags, texts, parameters by number."""
        symbol = self.build.symbols[made]
        words = self.words(node)
        if "static" in words:
            symbol.flags |= STATIC if symbol.kind != FUNCTION else 0
        frame = Frame(0, symbol.scope, symbol.parent)
        if "static" not in words or symbol.kind != FUNCTION:
            symbol.flags |= self.shown(frame, node)
        if not defined:
            symbol.flags |= OVERLOAD
        elif symbol.kind == FUNCTION and "static" in words:
            symbol.flags &= ~EXPORTED
        if node.type == "field_declaration" and node.child_by_field_name("default_value") is not None:
            symbol.flags = symbol.flags & ~OVERLOAD | ABSTRACT
        body = node.child_by_field_name("body")
        end = body.start_byte if body is not None else node.end_byte
        for child in node.named_children:
            if child.type == "field_initializer_list":
                end = child.start_byte
        symbol.signature = self.signature(node.start_byte, end).removesuffix(";").rstrip()
        symbol.doc = self.doc(node) or symbol.doc
        self.letters_of(node, made, own)

    def words(self, node: Node) -> set[str]:
        return {
            self.text(one)
            for one in node.children
            if one.type in ("storage_class_specifier", "type_qualifier", "virtual", "virtual_function_specifier")
        }

    def _made_by_macro(self, found: Declared, made: int) -> None:
        """``TEST(Suite, Name) {…}``: a function that a macro makes; the macro is called."""
        build = self.build
        symbol = build.symbols[made]
        word = self.text(found.name)
        given = parameters(found.function)
        if _TESTS.fullmatch(word):
            symbol.flags |= TEST
            for one in given:
                self.used.update(name.start_byte for name in one.named_children)
            if given and given[0].type == "parameter_declaration":
                # The suite is a fixture, where it is a class: what is in the braces is a member of one derived from it.
                symbol.owner = self.kind_of(given[0].child_by_field_name("type"))
                build.bind(symbol.own, "this", PARAMETER, build.expr(INSTANCE, symbol.owner))
        self.used.discard(found.name.start_byte)
        self.later.append((self._macro_call, (found.name, symbol.scope, len(given))))

    def _macro_call(self, name: Node, scope: int, count: int) -> None:
        build = self.build
        self.used.add(name.start_byte)
        build.site(CALL_SITE, build.expr(3, build.named(self.text(name)), count), scope, name)

    def _typed(self, node: Node, found: Declared, made: int, own: int) -> None:
        """Types of a function and its parameters, once all scopes are known."""
        build = self.build
        symbol = build.symbols[made]
        if symbol.kind in (METHOD, CONSTRUCTOR):
            expr = build.expr(INSTANCE, symbol.owner) if symbol.owner else build.expr(SELF)
            build.bind(own, "this", PARAMETER, expr)
        self._parameters(found.function, made, own, (node.start_byte, node.end_byte))
        if symbol.kind == CONSTRUCTOR:
            return
        trailing = (
            next((c for c in found.function.named_children if c.type == "trailing_return_type"), None)
            if found.function
            else None
        )
        if found.name.type == "operator_cast":
            symbol.type = self.kind_of(found.name.child_by_field_name("type"))
        elif trailing is not None:
            symbol.type = self.kind_of(first(trailing))
        elif not found.called:
            kind = self.kind_of(self.type_of(node))
            symbol.type = cexprs.starred(self, kind, node.child_by_field_name("declarator"))
            if node.child_by_field_name("body") is not None and not symbol.type:
                self.autos[own] = made

    def type_of(self, node: Node) -> Node | None:
        """The type of a declaration; where a macro stood in its place, what the grammar could not read behind it."""
        kind = node.child_by_field_name("type")
        if kind is None or kind.type != "type_identifier" or not node.has_error:
            return kind
        after = kind.next_sibling
        if after is not None and after.type == "ERROR" and _MACRO.fullmatch(self.text(kind)):
            inner = first(after)
            return inner if inner is not None and inner.type in ("identifier", "type_identifier") else kind
        return kind

    def _parameters(self, function: Node | None, made: int, own: int, extent: tuple[int, int]) -> None:
        build = self.build
        least = most = 0
        names: list[str] = []
        given = parameters(function)
        for number, one in enumerate(given):
            if one.type in ("...", "variadic_parameter"):
                most = -1
                continue
            if one.type == "identifier":
                names.append(self.text(one))
                self.locals.setdefault(self.source[one.start_byte : one.end_byte], []).append(extent)
                self.used.add(one.start_byte)
                most = most + 1 if most >= 0 else -1
                continue
            inner = declared(one.child_by_field_name("declarator"))
            kind = cexprs.starred(
                self, self.kind_of(one.child_by_field_name("type")), one.child_by_field_name("declarator")
            )
            if inner is not None and (inner.called or inner.function is not None):
                kind = build.named("function")
            expr = build.expr(INSTANCE, kind) if kind else 0
            if inner is None:
                names.append(f"<{number}>")
                build.bind(own, names[-1], PARAMETER, expr)
            else:
                names.append(self.text(inner.name))
                self.local(inner.name, PARAMETER, expr, extent, own)
            several = one.type == "variadic_parameter_declaration"
            least += one.type == "parameter_declaration"
            most = -1 if several or most < 0 else most + 1
        if self.language == "c" and function is not None and not given and "void" not in self.text(function):
            most = -1
        if made >= 0:
            symbol = build.symbols[made]
            symbol.params, symbol.arity = names, (least, most)

    def lambda_(self, node: Node, frame: Frame) -> Opened:
        opened = self.closure(node, frame)
        self.later.append((self._closure, (node, opened[1])))
        return opened

    def _closure(self, node: Node, own: int) -> None:
        declarator = node.child_by_field_name("declarator")
        self._parameters(declarator, -1, own, (node.start_byte, node.end_byte))
        for one in declarator.named_children if declarator is not None else ():
            if one.type == "trailing_return_type" and (kind := self.kind_of(first(one))):
                self.build.bind(own, RETURNED, DECLARED, self.build.expr(INSTANCE, kind))
