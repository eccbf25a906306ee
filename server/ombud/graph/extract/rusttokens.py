"""What the tokens within a macro's brackets name: calls, paths and members are read as if they were expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ombud.graph.facts import (
    ATTR,
    AWAIT,
    BLOCK_SCOPE,
    CALL,
    CALL_SITE,
    DECLARED,
    INDEX,
    INSTANCE,
    PARAMETER,
    REFERENCE_SITE,
    UNWRAP,
    VALUE,
)

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.extract.rustnames import Names

DEEPEST = 60
"""Brackets within one another that are read."""
_STARTS = {"self": "self", "super": "super::", "crate": "crate::"}
_WORDS = frozenset(["in", "as", "dyn", "move", "ref", "union", "default", "auto"])


def read(on: Names, tree: Node, scope: int, depth: int = 0) -> int:
    """Sites of a token tree; the expression of the first thing in it."""
    return _Reader(on, tree, scope, depth).all()


class _Reader:
    def __init__(self, on: Names, tree: Node, scope: int, depth: int) -> None:
        self.on = on
        self.tree = tree
        self.tokens = tree.children
        self.opened = False
        self.scope = scope
        self.depth = depth
        self.at = 0

    def all(self) -> int:
        found = -1
        tokens = self.tokens
        self.at = 1
        while self.at < len(tokens) - 1:
            token = tokens[self.at]
            kind = token.type
            expr = 0
            if kind == "identifier" or kind in _STARTS:
                expr = self.chain(token)
            elif kind == "token_tree":
                self.nested(token)
                self.at += 1
            elif kind == "let":
                self.let()
            elif kind == "|":
                self.parameters()
            else:
                self.at += 1
                if kind in ("&", "*", "mutable_specifier"):
                    continue
            if found < 0:
                found = expr
        return max(found, 0)

    def nested(self, tree: Node) -> None:
        if self.depth < DEEPEST:
            read(self.on, tree, self.scope, self.depth + 1)

    # -- what is bound --------------------------------------------------------------------------------------------

    def bind(self, name: Node, expr: int, what: int, start: int) -> None:
        """A name for what follows in the bracket, in a scope of its own."""
        on = self.on
        if not self.opened:
            self.opened = True
            tree = self.tree
            self.scope = on.build.scope(self.scope, BLOCK_SCOPE, -1, tree.start_byte, tree.end_byte)
        on.bind(self.scope, name, what, expr, start)

    def let(self) -> None:
        """``let name: Type = value``."""
        self.at += 1
        name, kind = self.typed()
        if name is None:
            return
        expr = 0
        if self.kind() == "=" and (self.kind(1) == "identifier" or self.kind(1) in _STARTS):
            self.at += 1
            expr = self.chain(self.tokens[self.at])
            expr = expr if self.kind() in (";", "else") else 0
        what = DECLARED if kind else VALUE
        self.bind(name, kind or expr, what, self.tokens[self.at - 1].end_byte)

    def parameters(self) -> None:
        """``|name: Type, …|``, if that is what the sign begins."""
        start = self.at
        self.at += 1
        found: list[tuple[Node, int]] = []
        while self.at < len(self.tokens) - 1:
            name, kind = self.typed()
            if name is None or self.kind() not in (",", "|"):
                break
            found.append((name, kind))
            self.at += 1
            if self.tokens[self.at - 1].type == "|":
                for one, given in found:
                    self.bind(one, given, PARAMETER, self.tokens[self.at - 1].end_byte)
                return
        self.at = start + 1

    def typed(self) -> tuple[Node | None, int]:
        """A name and the instance of its type, where one is written: a path, perhaps of a reference."""
        while self.kind() in ("&", "mutable_specifier"):
            self.at += 1
        if self.kind() != "identifier":
            return None, 0
        name = self.tokens[self.at]
        self.at += 1
        if self.kind() != ":":
            return name, 0
        self.at += 1
        while self.kind() in ("&", "mutable_specifier", "lifetime"):
            self.at += 1
        if self.kind() != "identifier":
            return name, 0
        token = self.tokens[self.at]
        self.at += 1
        kind = self.on.build.named(self.on.word(token))
        while self.kind() == "::" and self.kind(1) == "identifier":
            token = self.tokens[self.at + 1]
            self.at += 2
            kind = self.on.build.attr(kind, self.on.word(token))
        self.refer(token, kind)
        return name, self.on.build.expr(INSTANCE, kind)

    # -- expressions ----------------------------------------------------------------------------------------------

    def kind(self, ahead: int = 0) -> str:
        at = self.at + ahead
        return self.tokens[at].type if at < len(self.tokens) else ""

    def chain(self, token: Node) -> int:
        """A path or a member expression from its first name on."""
        on = self.on
        word = on.word(token)
        self.at += 1
        if word in _WORDS and token.type == "identifier":
            return 0
        name: Node | None = token if token.type == "identifier" else None
        expr = on.build.named(word)
        if token.type != "identifier":
            expr = on.build.named("self::" if token.type == "self" and self.kind() == "::" else _STARTS[token.type])
        steps = 0
        while steps < 200:
            steps += 1
            kind = self.kind()
            if kind in ("::", "."):
                name, expr, more = self.step(kind, name, expr)
                if not more:
                    break
            elif kind == "?":
                self.refer(name, expr)
                name, expr = None, on.build.expr(UNWRAP, expr) if expr else 0
                self.at += 1
            elif kind == "!" and name is not None and self.kind(1) == "token_tree":
                self.macro(name, expr)
                name, expr = None, 0
            elif kind == "token_tree":
                name, expr, more = self.group(name, expr)
                if not more:
                    break
            else:
                break
        self.refer(name, expr)
        return expr

    def step(self, sign: str, name: Node | None, expr: int) -> tuple[Node | None, int, bool]:
        """Past ``::`` or ``.``: the new last name, the expression, and whether there may be more."""
        on = self.on
        after = self.kind(1)
        if sign == "::" and after == "<":
            self.generics()
            return name, expr, True
        if after == "identifier" or (sign == "::" and after in ("super", "self")):
            self.refer(name, expr, sign == "::")
            token = self.tokens[self.at + 1]
            self.at += 2
            if after != "identifier":
                return None, on.build.attr(expr, f"{after}::"), True
            base = expr
            expr = (
                on.build.attr(base, on.word(token)) if base else on.build.expr(ATTR, 0, on.build.name(on.word(token)))
            )
            return token, expr, True
        if sign == "." and after in ("integer_literal", "float_literal", "await"):
            self.refer(name, expr)
            token = self.tokens[self.at + 1]
            self.at += 2
            if after == "await":
                return None, on.build.expr(AWAIT, expr) if expr else 0, True
            for part in on.text(token).split("."):
                expr = on.build.attr(expr, part)
            return None, expr, True
        self.at += 1
        return name, expr, False

    def generics(self) -> None:
        """Past ``::<…>``; types within it are referred to."""
        self.at += 1
        depth = 0
        while self.at < len(self.tokens):
            kind = self.kind()
            depth += {"<": 1, "<<": 2, ">": -1, ">>": -2}.get(kind, 0)
            if kind == "identifier":
                token = self.tokens[self.at]
                self.refer(token, self.on.build.named(self.on.word(token)))
            self.at += 1
            if depth <= 0 or kind in (";", "{"):
                break

    def group(self, name: Node | None, expr: int) -> tuple[Node | None, int, bool]:
        """A bracket behind an expression: a call, a subscript, the fields of a struct, or none of its business."""
        on = self.on
        tree = self.tokens[self.at]
        opening = on.source[tree.start_byte : tree.start_byte + 1]
        if opening == b"(":
            if name is not None:
                self.site(CALL_SITE, name, expr)
            self.nested(tree)
            self.at += 1
            return None, on.build.expr(CALL, expr, _count(tree)) if expr else 0, True
        if opening == b"[":
            self.refer(name, expr)
            self.nested(tree)
            self.at += 1
            return None, on.build.expr(INDEX, expr, 0) if expr else 0, True
        if name is not None and on.text(name)[:1].isupper():
            self.refer(name, expr)
            self.nested(tree)
            self.at += 1
            return None, on.build.expr(INSTANCE, expr) if expr else 0, False
        return name, expr, False

    def macro(self, name: Node, expr: int) -> None:
        on = self.on
        self.site(CALL_SITE, name, on.macro_name(expr, on.word(name)))
        self.at += 1
        self.nested(self.tokens[self.at])
        self.at += 1

    def refer(self, name: Node | None, expr: int, path: bool = False) -> None:
        """A reference to the last name, if it may be one of a symbol."""
        if name is None:
            return
        word = self.on.word(name)
        member = name.prev_sibling is not None and name.prev_sibling.type in (".", "::")
        if member or (word[:1].isupper() and not path) or (path and word[:1].isupper()):
            self.site(REFERENCE_SITE, name, expr)

    def site(self, kind: int, name: Node, expr: int) -> None:
        on = self.on
        if name.start_byte in on.used or on.word(name) in ("Self", "_"):
            return
        on.used.add(name.start_byte)
        on.build.site(kind, expr, self.scope, name)


def _count(tree: Node) -> int:
    tokens = tree.children[1:-1]
    return 0 if not tokens else sum(token.type == "," for token in tokens) + (tokens[-1].type != ",")
