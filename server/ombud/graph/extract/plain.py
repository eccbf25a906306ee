"""Facts of languages whose imports are not followed: definitions, and calls by the names that the file itself defines.

All that differs between them stands in their queries. A match has either one capture that is a kind of symbol
(``function``, ``class``, …) with a ``name`` and perhaps an ``owner``, or ``called`` with perhaps a ``receiver``, or
``referred``, or ``parameter``. ``extension`` adds to a type instead of defining one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import Extraction, Nest
from ombud.graph.facts import (
    ATTR,
    CALL_SITE,
    CLASS_KIND,
    CLASS_SCOPE,
    EXPORTED,
    FUNCTION,
    FUNCTION_SCOPE,
    KINDS,
    MACRO,
    METHOD,
    NAMESPACE,
    PARAMETER,
    PROPERTY,
    REFERENCE_SITE,
    SELF,
    TEST,
    TO_SYMBOL,
    VARIABLE,
)
from ombud.syntax.grammars import GRAMMARS, query

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.facts import Symbol

EXTENSION = "extension"
_KINDS = {name: number for number, name in enumerate(KINDS)}
_CALLED = frozenset((FUNCTION, METHOD, _KINDS["constructor"], PROPERTY, MACRO))
_HOLDERS = frozenset(_KINDS[name] for name in ("namespace", "class", "interface", "enum", "struct", "trait", "type"))
_SELVES = frozenset(("self", "this"))
_ONE_BODY = frozenset(("elixir", "haskell"))
"""Languages in which one function may be written in several pieces."""


class _Made:
    """A definition that a match found."""

    __slots__ = ("end", "kind", "name", "node", "owner")

    def __init__(self, kind: str, node: Node, name: Node, owner: Node | None) -> None:
        self.kind, self.node, self.name, self.owner = kind, node, name, owner
        self.end = _end(node)


class Plain(Extraction):
    """See the module."""

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        self._made: list[_Made] = []
        self._called: list[tuple[Node, Node | None]] = []
        self._referred: list[Node] = []
        self._parameters: list[Node] = []
        self._named: dict[tuple[int, str], int] = {}

    def _match(self, grammar: str) -> None:
        """Captures belong to one another here, so that the matches are gone through in place of them."""
        from tree_sitter import QueryCursor

        for _, found in QueryCursor(query(self.language, grammar)).matches(self.root):
            kind = next((name for name in found if name in _KINDS or name == EXTENSION), None)
            if kind is not None:
                owner = found.get("owner")
                self._made.append(_Made(kind, found[kind][0], found["name"][0], owner[0] if owner else None))
            elif "called" in found:
                receiver = found.get("receiver")
                self._called.append((found["called"][0], receiver[0] if receiver else None))
            elif "referred" in found:
                self._referred.append(found["referred"][0])
            elif "parameter" in found:
                self._parameters.append(found["parameter"][0])

    def gather(self) -> None:
        self._match(GRAMMARS[self.language])
        self._define()
        for node in self._parameters:
            scope = self.inside.at(node.start_byte)
            if scope and self.build.scope_kind(scope) == FUNCTION_SCOPE:
                self.build.bind(scope, self.text(node), PARAMETER, 0)
        for name, receiver in sorted(self._called, key=lambda pair: pair[0].start_byte):
            self._site(CALL_SITE, name, receiver)
        for name in self._referred:
            self._site(REFERENCE_SITE, name, None)

    # -- definitions ----------------------------------------------------------------------------------------------

    def _define(self) -> None:
        regions: list[tuple[int, int, int]] = []
        around: list[tuple[int, int, int]] = [(1 << 62, 0, 0)]
        for made in sorted(self._made, key=lambda one: (one.node.start_byte, -one.end, one.kind == "variable")):
            start = made.node.start_byte
            while around[-1][0] <= start:
                around.pop()
            _, scope, parent = around[-1]
            if made.name.start_byte in self.used:
                continue
            self.used.add(made.name.start_byte)
            number, own = self._definition(made, scope, parent)
            if own >= 0:
                regions.append((start, made.end, own))
                around.append((made.end, own, number))
        self.inside = Nest(regions)

    def _definition(self, made: _Made, scope: int, parent: int) -> tuple[int, int]:
        """The symbol and the scope that it opens, -1 where it opens none."""
        build, text = self.build, self.text(made.name)
        if made.kind == EXTENSION:
            known = self._named.get((0, text))
            if known is not None:
                return known, self._opened(known)
            kind = CLASS_KIND
        else:
            kind = _KINDS[made.kind]
        if made.owner is not None and (held := self._holder(self.text(made.owner), scope)) is not None:
            parent, scope = held, self._opened(held)
        above = build.symbols[parent]
        if kind == FUNCTION and above.kind in _HOLDERS:
            kind = METHOD if above.kind != NAMESPACE or self.language == "scala" else FUNCTION
        earlier = self._named.get((scope, text))
        if earlier is not None and self.language in _ONE_BODY and build.symbols[earlier].kind == kind:
            symbol = build.symbols[earlier]
            symbol.range = (*symbol.range[:2], *build.end(made.node))
            return earlier, symbol.own
        number = build.symbol(
            text, kind, parent, scope, (*build.start(made.node), *build.end_at(made.end)), build.span(made.name)
        )
        self._named.setdefault((scope, text), number)
        self._describe(build.symbols[number], made, text)
        build.bind(scope, text, TO_SYMBOL, number)
        if kind in _CALLED:
            build.symbols[number].own = build.scope(scope, FUNCTION_SCOPE, number, made.node.start_byte, made.end)
        elif kind in _HOLDERS:
            return number, self._opened(number)
        return number, build.symbols[number].own

    def _describe(self, symbol: Symbol, made: _Made, text: str) -> None:
        stop = self.source.find(b"\n", made.node.start_byte, made.end)
        symbol.signature = self.signature(made.node.start_byte, stop if stop > 0 else made.end).rstrip(" {=").rstrip()
        above = made.node
        if made.node.parent is not None and made.node.parent.start_byte == made.node.start_byte:
            above = made.node.parent
        symbol.doc = self.comment_above(above)
        symbol.flags = EXPORTED if not text.startswith("_") else 0
        if text.startswith("test"):
            symbol.flags |= TEST

    def _opened(self, number: int) -> int:
        """The scope of a symbol that holds others, made where it has none."""
        symbol = self.build.symbols[number]
        if symbol.kind == VARIABLE:
            symbol.kind = NAMESPACE  # A table that functions are put into.
        if symbol.own < 0:
            symbol.own = self.build.scope(symbol.scope, CLASS_SCOPE, number, 0, 0)
        return symbol.own

    def _holder(self, name: str, scope: int) -> int | None:
        """The symbol of a name, seen from a scope."""
        while scope >= 0:
            found = self._named.get((scope, name))
            if found is not None:
                return found
            scope = self.build.parent_scope(scope)
        return None

    # -- sites ----------------------------------------------------------------------------------------------------

    def _site(self, kind: int, name: Node, receiver: Node | None) -> None:
        if name.start_byte in self.used:
            return
        self.used.add(name.start_byte)
        build, text = self.build, self.text(name)
        scope = self.inside.at(name.start_byte)
        if receiver is None:
            expr = build.named(text)
        else:
            words = self.text(receiver)
            base = build.expr(SELF) if words in _SELVES else build.named(words) if len(words) < 200 else 0
            expr = build.expr(ATTR, base, build.name(text))
        build.site(kind, expr, scope, name)


def _end(node: Node) -> int:
    """Where a definition ends: a body may stand behind it, as its sibling (Dart)."""
    if node.type.endswith("_signature"):
        outer = node.parent if node.parent is not None and node.parent.type == "method_signature" else node
        body = outer.next_named_sibling
        if body is not None and body.type == "function_body":
            return body.end_byte
    return node.end_byte


EXTRACTION = Plain
