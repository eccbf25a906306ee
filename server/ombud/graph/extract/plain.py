"""Facts of languages whose imports are not followed: definitions, and calls by the names that the file itself defines.

What a language looks like stands in its query, how it binds names in `ombud.graph.extract.plainrules`. A match has

* one capture that is a kind of symbol (``function``, ``class``, …) with a ``name`` and perhaps an ``owner``, the table
  or module it is put into; ``extension`` adds to a type; with ``unbound`` its name alone does not lead to it;
* or ``called`` or ``referred``, with perhaps a ``receiver`` and the ``call``; or a call that is ``piped`` (Elixir);
* or ``local`` names of variables and parameters, or a ``pattern`` that binds all variables in it, which hold in the
  innermost ``block`` or definition around them;
* or a ``base`` of the class that is called ``heir``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract.extraction import Extraction, Nest
from ombud.graph.extract.plainrules import RULES, beginning, elixir_key, end_of, is_local, outermost, variables
from ombud.graph.facts import (
    ATTR,
    BLOCK_SCOPE,
    CALL_SITE,
    CLASS,
    CLASS_SCOPE,
    EXPORTED,
    FUNCTION,
    FUNCTION_SCOPE,
    INHERIT_SITE,
    INTERFACE,
    KINDS,
    MACRO,
    METHOD,
    MODULE,
    NAMESPACE,
    PARAMETER,
    PROPERTY,
    REFERENCE_SITE,
    SELF,
    SUPER,
    TEST,
    TO_SYMBOL,
    VARIABLE,
)
from ombud.syntax.grammars import GRAMMARS, query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from ombud.graph.facts import Symbol

EXTENSION = "extension"
_KINDS = {name: number for number, name in enumerate(KINDS)}
_CALLED = frozenset((FUNCTION, METHOD, _KINDS["constructor"], PROPERTY, MACRO))
_HOLDERS = frozenset(_KINDS[name] for name in ("namespace", "class", "interface", "enum", "struct", "trait", "type"))
_LAST = ("variable", "constant", "field")
"""Kinds that something else may be seen to be."""
_PLACED = frozenset(("lua", "elixir"))
"""Languages whose modules hold functions, not methods."""
_PATH = re.compile(r"\w+(?:\.\w+)*", re.ASCII)
_LONGEST = 200
"""Characters of a receiver that is looked at."""


class _Made:
    """A definition that a match found."""

    __slots__ = ("bound", "end", "kind", "name", "node", "owner")

    def __init__(self, kind: str, found: dict[str, list[Node]]) -> None:
        owner = found.get("owner")
        self.kind, self.node, self.name = kind, found[kind][0], found["name"][0]
        self.owner = owner[0] if owner else None
        self.bound = "unbound" not in found
        self.end = end_of(self.node)

    def opens(self) -> bool:
        """Whether it has a scope of its own."""
        number = _KINDS.get(self.kind, NAMESPACE)
        return number in _CALLED or number in _HOLDERS


class Plain(Extraction):
    """See the module."""

    QUERY = "plain"

    def __init__(self, language: str, source: bytes) -> None:
        super().__init__(language, source)
        self.rules = RULES[language]
        self._made: list[_Made] = []
        self._sites: list[tuple[int, bool, Node, Node | None]] = []
        """Kind, whether the receiver is none that can be looked up, name, receiver."""
        self._locals: list[Node] = []
        self._blocks: list[Node] = []
        self._calls: dict[int, Node] = {}
        self._piped: set[int] = set()
        self._bases: dict[int, list[Node]] = {}
        self._named: dict[tuple[int, str], int] = {}
        self._hidden: dict[int, list[str]] = {}
        self._containers: set[int] = set()

    def _match(self, grammar: str) -> None:
        """Captures belong to one another here, so that the matches are gone through in place of them."""
        from tree_sitter import QueryCursor

        for _, found in QueryCursor(query(self.language, grammar)).matches(self.root):
            if "called" in found or "referred" in found:
                site, what = (CALL_SITE, "called") if "called" in found else (REFERENCE_SITE, "referred")
                receiver = next((found[word][0] for word in ("receiver", "unknown") if word in found), None)
                if "call" in found:
                    self._calls[found[what][0].start_byte] = found["call"][0]
                self._sites.append((site, "unknown" in found, found[what][0], receiver))
            elif "piped" in found:
                self._piped.add(found["piped"][0].id)
            elif "block" in found:
                self._blocks += found["block"]
            elif "local" in found:
                self._locals += found["local"]
            elif "pattern" in found:
                for node in found["pattern"]:
                    self._locals += variables(node)
            elif "base" in found:
                self._bases.setdefault(found["heir"][0].start_byte, []).append(found["base"][0])
            else:
                kind = next((name for name in found if name in _KINDS or name == EXTENSION), None)
                if kind is not None:
                    self._made.append(_Made(kind, found))

    def gather(self) -> None:
        self._match(GRAMMARS[self.language])
        self._made.sort(key=lambda one: (one.node.start_byte, -one.end, one.kind in _LAST))
        self._sweep()
        for scope, names in self._hidden.items():
            for name in dict.fromkeys(names):
                if (scope, name) not in self._named:
                    self.build.bind(scope, name, PARAMETER, 0)
        self._inherit()
        for kind, unknown, node, receiver in sorted(self._sites, key=lambda row: (row[2].start_byte, *row[:2])):
            self._site(kind, node, receiver, unknown)

    # -- scopes ---------------------------------------------------------------------------------------------------

    def _declared(self) -> tuple[dict[int, Node], dict[int, list[str]]]:
        """Blocks that declare something, and the names that a node, a block or a definition, declares."""
        openers = {made.node.id: (made.node.start_byte, made.end) for made in self._made if made.opens()}
        names = {made.name.start_byte for made in self._made}
        blocks = {node.id: node for node in self._blocks if node.id not in openers}
        places = [*openers.values(), *((node.start_byte, node.end_byte) for node in blocks.values())]
        ids = [*openers, *blocks]
        nest = Nest(((start, end, number) for number, (start, end) in enumerate(places)), -1)
        declared: dict[int, list[str]] = {}
        for name in self._locals:
            if name.start_byte in names:
                continue
            self.used.add(name.start_byte)
            number = nest.at(name.start_byte)
            around = ids[number] if number >= 0 else self.root.id
            declared.setdefault(around, []).extend(self.rules.used(name, self.text(name)))
        kept = {number: node for number, node in blocks.items() if number in declared}
        if self.language == "zig":
            kept.update({node.id: node for node in self._anonymous()})
        return kept, declared

    def _anonymous(self) -> list[Node]:
        """Containers without a name, which the definitions in them say (Zig)."""
        found = []
        for made in self._made:
            above = made.node.parent
            if above is not None and above.type == "ContainerDecl" and made.kind == "function":
                holder = above.parent.parent.parent if above.parent and above.parent.parent else None
                if holder is None or holder.type != "VarDecl":
                    found.append(above)
        return found

    def _sweep(self) -> None:
        """All scopes and symbols, in the order of the text."""
        blocks, declared = self._declared()
        self._hidden[0] = declared.get(self.root.id, [])
        rows: list[tuple[int, int, bool, _Made | Node]] = [
            (made.node.start_byte, -made.end, made.kind in _LAST, made) for made in self._made
        ]
        rows += [(node.start_byte, -node.end_byte, False, node) for node in blocks.values()]
        rows.sort(key=lambda row: row[:3])
        regions: list[tuple[int, int, int]] = []
        around: list[tuple[int, int, int]] = [(1 << 62, 0, 0)]
        for start, end, _, what in rows:
            while around[-1][0] <= start:
                around.pop()
            _, scope, parent = around[-1]
            if isinstance(what, _Made):
                if what.name.start_byte in self.used:
                    continue
                self.used.add(what.name.start_byte)
                number, own = self._definition(what, scope, parent)
                names = declared.get(what.node.id, ())
            else:
                number, own = parent, self.build.scope(scope, BLOCK_SCOPE, -1, start, -end)
                names = declared.get(what.id, ())
                if what.type == "ContainerDecl":
                    self._containers.add(own)
            if own >= 0:
                self._hidden.setdefault(own, []).extend(names)
                regions.append((start, -end, own))
                around.append((-end, own, number))
        self.inside = Nest(regions)

    def _opened(self, number: int) -> int:
        """The scope of a symbol that holds others, made where it has none."""
        symbol = self.build.symbols[number]
        if symbol.kind == VARIABLE:
            symbol.kind = NAMESPACE  # A table that functions are put into.
        if symbol.own < 0:
            outer = 0 if self.rules.apart else symbol.scope
            symbol.own = self.build.scope(outer, CLASS_SCOPE, number, 0, 0)
        return symbol.own

    # -- definitions ----------------------------------------------------------------------------------------------

    def _definition(self, made: _Made, scope: int, parent: int) -> tuple[int, int]:
        """The symbol and the scope that it opens, -1 where it opens none."""
        symbols, text = self.build.symbols, self.text(made.name)
        kind = _KINDS.get(made.kind, NAMESPACE)
        keys: Sequence[str] = self.rules.defined(made.name, text) if made.bound else ()
        if made.kind == EXTENSION and (known := self._held(text, scope)) is not None:
            return known, self._opened(known)
        full = text.strip('"`[]') if self.language == "sql" else text
        if made.owner is not None:
            held = self._held(self.text(made.owner), scope)
            if held is not None:
                parent, scope = held, self._opened(held)
            else:
                full = f"{self.text(made.owner)[:_LONGEST]}.{text}"
                keys = [full]
        holds = symbols[parent].kind in _HOLDERS and self.language not in _PLACED
        if kind == FUNCTION and holds and made.owner is None:
            kind = METHOD
        where = self._home(made, scope)
        known = self._named.get((where, keys[-1])) if keys else None
        if known is not None and self._again(symbols[known], kind, made):
            return known, symbols[known].own
        if known is not None and kind == FUNCTION and symbols[known].kind == VARIABLE:
            return known, self._given(known, made)
        if known is not None and kind in (VARIABLE, _KINDS["field"], _KINDS["constant"]):
            return known, -1
        return self._new(made, full, kind, (parent, scope, where), keys)

    def _new(self, made: _Made, full: str, kind: int, at: tuple[int, int, int], keys: Sequence[str]) -> tuple[int, int]:
        """A symbol that was not there. ``at`` is its container, the scope around it and that in which it is bound."""
        build = self.build
        parent, scope, where = at
        extent = (*build.start(beginning(made.node)), *build.end_at(made.end))
        number = build.symbol(full, kind, parent, scope, extent, build.span(made.name))
        symbol = build.symbols[number]
        if made.owner is not None:
            symbol.name = self.text(made.name)
        self._describe(symbol, made, symbol.name)
        for key in keys:
            self._named.setdefault((where, key), number)
            build.bind(where, key, TO_SYMBOL, number)
        self._beyond(number)
        if kind in _CALLED:
            symbol.own = build.scope(scope, FUNCTION_SCOPE, number, made.node.start_byte, made.end)
        elif kind in _HOLDERS:
            self._opened(number)
        return number, symbol.own

    def _again(self, symbol: Symbol, kind: int, made: _Made) -> bool:
        """Whether a definition is one more piece of a symbol: a clause of a function, the setter beside a getter."""
        if symbol.kind == PROPERTY == kind:
            return True
        if not self.rules.pieces or symbol.kind != kind or kind not in (FUNCTION, METHOD, MACRO):
            return False
        symbol.range = (*symbol.range[:2], *self.build.end_at(made.end))
        return True

    def _given(self, number: int, made: _Made) -> int:
        """A variable that was declared without a value is given a function (Lua's ``local f``)."""
        build, symbol = self.build, self.build.symbols[number]
        symbol.kind = FUNCTION
        symbol.range = (*build.start(made.node), *build.end_at(made.end))
        symbol.at = build.span(made.name)
        symbol.signature = self._signature(made)
        symbol.doc = self.comment_above(outermost(made.node)) or symbol.doc
        symbol.own = build.scope(symbol.scope, FUNCTION_SCOPE, number, made.node.start_byte, made.end)
        return symbol.own

    def _home(self, made: _Made, scope: int) -> int:
        """The scope that a definition's name is bound in."""
        if self.rules.hoisted:
            return 0 if _KINDS.get(made.kind) != _KINDS["field"] else scope
        if not self.rules.assigned or made.owner is not None or is_local(made.node):
            return scope
        text = self.text(made.name)
        while scope > 0 and text not in self._hidden.get(scope, ()) and (scope, text) not in self._named:
            scope = self.build.parent_scope(scope)
        return scope

    def _beyond(self, number: int) -> None:
        """Bind what holds in the whole file although it stands within something (Haskell)."""
        symbol = self.build.symbols[number]
        if not self.rules.prefix or symbol.parent == 0:
            return
        above = self.build.symbols[symbol.parent]
        if symbol.kind in _CALLED and above.kind != INTERFACE and symbol.kind != _KINDS["constructor"]:
            return
        self._named.setdefault((0, symbol.name), number)
        self.build.bind(0, symbol.name, TO_SYMBOL, number)

    def _holder(self, name: str, scope: int) -> int | None:
        """The symbol of a name, seen from a scope."""
        while scope >= 0:
            found = self._named.get((scope, name))
            if found is not None:
                return found
            if name in self._hidden.get(scope, ()):
                return None
            scope = self.build.parent_scope(scope)
        return None

    def _held(self, path: str, scope: int) -> int | None:
        """The symbol of a dotted path, seen from a scope, if it can hold something."""
        first, *rest = path.split(".")[:20]
        found = self._holder(first, scope)
        for name in rest:
            if found is None or self.build.symbols[found].own < 0:
                return None
            found = self._named.get((self.build.symbols[found].own, name))
        if found is None:
            return None
        kind = self.build.symbols[found].kind
        return found if kind == VARIABLE or kind in _HOLDERS else None

    # -- texts ----------------------------------------------------------------------------------------------------

    def _describe(self, symbol: Symbol, made: _Made, text: str) -> None:
        node = made.node
        symbol.signature = self._signature(made)
        symbol.doc = self.comment_above(outermost(node))
        if self.language == "elixir":
            symbol.doc = self._attribute(node)
        elif self.language == "haskell":
            self._above(symbol, node, text)
        symbol.flags = EXPORTED if self.rules.exported(node, made.name, text) else 0
        if self.language == "swift" and symbol.kind == METHOD:
            first = self.source[node.start_byte : made.name.start_byte]
            above = self.build.symbols[symbol.parent]
            if b"@Test" in first or (text.startswith("test") and "XCTestCase" in above.signature):
                symbol.flags |= TEST

    def _signature(self, made: _Made) -> str:
        node = made.node
        body = node.child_by_field_name("body")
        if body is None:
            body = next((child for child in node.children if child.type in self.rules.bodies), None)
        start = beginning(node).start_byte
        stop = body.start_byte if body is not None and body.start_byte > made.name.end_byte else node.end_byte
        if body is None and made.kind not in ("function", "method"):
            line = self.source.find(b"\n", made.name.end_byte, stop)
            stop = line if line > 0 else stop
        if "ContainerDecl" in self.rules.bodies and made.kind in ("struct", "enum"):
            stop = self.source.find(b"{", start, stop)
        text = self.signature(start, stop if stop > start else node.end_byte)
        return text.rstrip(" {=:,").removesuffix(" do").removesuffix(" end").rstrip()

    def _attribute(self, node: Node) -> str:
        """Elixir: the text of the ``@doc`` before a definition, of the ``@moduledoc`` in a module."""
        word = node.child_by_field_name("target")
        if word is not None and word.text in (b"defmodule", b"defprotocol"):
            block = next((child for child in node.named_children if child.type == "do_block"), None)
            some = block.named_children[:10] if block is not None else []
            return next((doc for one in some if (doc := self._documented(one, b"moduledoc"))), "")
        before = node.prev_named_sibling
        for _ in range(10):
            if before is None or before.type not in ("unary_operator", "comment"):
                break
            if doc := self._documented(before, b"doc"):
                return doc
            before = before.prev_named_sibling
        return ""

    def _documented(self, node: Node, word: bytes) -> str:
        call = node.child_by_field_name("operand") if node.type == "unary_operator" else None
        if call is None or call.type != "call" or call.named_child_count < 2 or call.named_children[0].text != word:
            return ""
        text = call.named_children[1].named_children[0] if call.named_children[1].named_child_count else None
        if text is None or text.type not in ("string", "sigil"):
            return ""
        content = next((one for one in text.named_children if one.type == "quoted_content"), None)
        return self.comment(self.text(content))

    def _above(self, symbol: Symbol, node: Node, text: str) -> None:
        """Haskell: the signature above a function, and the comment above that."""
        before = node.prev_named_sibling
        if before is None or before.type != "signature" or text not in self.text(before).partition("::")[0]:
            before = node
        else:
            symbol.signature = self.signature(before.start_byte, before.end_byte)
        symbol.doc = self.comment_above(before)
        above = before.parent
        if (
            not symbol.doc
            and above is not None
            and above.type == "declarations"
            and above.start_byte == before.start_byte
        ):
            symbol.doc = self._haddock(above)

    def _haddock(self, node: Node) -> str:
        before = node.prev_named_sibling
        return self.comment(self.text(before)).lstrip("|^ ") if before is not None and before.type == "haddock" else ""

    # -- sites ----------------------------------------------------------------------------------------------------

    def _inherit(self) -> None:
        """The classes that a class is derived from, by name."""
        for made in self._made:
            for base in self._bases.get(made.name.start_byte, ()):
                scope = self.inside.at(made.node.start_byte)
                if scope and self.build.symbol_of(scope) != MODULE:
                    symbol = self.build.symbols[self.build.symbol_of(scope)]
                    expr = self.build.named(self.text(base))
                    symbol.bases = [*symbol.bases, expr]
                    self.used.add(base.start_byte)
                    self.build.site(INHERIT_SITE, expr, scope, base)

    def _site(self, kind: int, name: Node, receiver: Node | None, unknown: bool) -> None:
        if name.start_byte in self.used:
            return
        self.used.add(name.start_byte)
        build = self.build
        scope = self.inside.at(name.start_byte)
        text = self._key(name)
        if receiver is None:
            expr = build.named(text)
        else:
            known = not unknown and receiver.end_byte - receiver.start_byte < _LONGEST
            words = self.text(receiver) if known else ""
            expr = self._member(words.rstrip("?!"), text, scope)
        build.site(kind, expr, scope, name)

    def _key(self, name: Node) -> str:
        """What a use of a name is looked up by."""
        text = self.text(name)
        if self.language != "elixir":
            return self.rules.used(name, text)[0]
        call = self._calls.get(name.start_byte)
        return elixir_key(text, call, call is not None and call.id in self._piped)

    def _member(self, words: str, text: str, scope: int) -> int:
        """The expression for ``words.text``."""
        build = self.build
        if self._holder(f"{words}.{text}", scope) is not None:
            return build.named(f"{words}.{text}")
        if words in self.rules.selves:
            if self._bare(scope):
                return build.named(text)
            base = build.expr(SELF)
        elif words in self.rules.classes:
            base = build.expr(CLASS)
        elif words == "super":
            base = build.expr(SUPER)
        elif self.language == "elixir" and self._holder(words, 0) is not None:
            base = build.named(words)
        else:
            base = build.dotted(words) if _PATH.fullmatch(words) else 0
        return build.expr(ATTR, base, build.name(text))

    def _bare(self, scope: int) -> bool:
        """Whether ``self`` is of a container without a name or of the file: what it has is seen by name (Zig)."""
        if self.language != "zig":
            return False
        while scope >= 0:
            if scope in self._containers:
                return True
            if self.build.scope_kind(scope) == CLASS_SCOPE:
                return False
            scope = self.build.parent_scope(scope)
        return True


EXTRACTION = Plain
