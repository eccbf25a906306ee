"""What PHP's documentation comments say of types: ``@var``, ``@param``, ``@return`` and their like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ombud.graph.extract.phptypes import LISTS, UNTYPED, Values
from ombud.graph.facts import INDEX

if TYPE_CHECKING:
    from tree_sitter import Node

_TAG = re.compile(r"@(?:phpstan-|psalm-)?(\w[\w-]*)[ \t]+([^\r\n]*)")
_TOKEN = re.compile(r"\s*(\$this|\\?[A-Za-z_\x80-\uffff][\w\x80-\uffff\\-]*|\[\]|[<>,|&?(){}:]|\S)")
_VARIABLE = re.compile(r"\s*(?:&|\.\.\.)*(\$\w+)")


def tags(comment: str) -> list[tuple[str, str]]:
    """The tags of a documentation comment with the rest of their lines."""
    if "@" not in comment:
        return []
    return [(found[1], found[2].removesuffix("*/").rstrip()) for found in _TAG.finditer(comment)]


class Doc:
    """Reads one type at the start of a text: ``A|null``, ``A[]``, ``array<int, A>``, ``Collection<A>``, ``?A``."""

    def __init__(self, on: Values, text: str, offset: int) -> None:
        self._on, self._offset = on, offset
        self._text = text[:400]
        self._at = 0
        self.depth = 0

    def _peek(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        return found[1] if found is not None else ""

    def _next(self) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[1]

    def rest(self) -> str:
        """What stands behind the type."""
        return self._text[self._at :]

    def read(self) -> int:
        """The type's expression, 0 where it says nothing or cannot be read."""
        if self.depth > 8:
            self._at = len(self._text)
            return 0
        self.depth += 1
        parts = [self._one()]
        while self._peek() in ("|", "&"):
            self._next()
            parts.append(self._one())
        self.depth -= 1
        return self._on.build.union(parts)

    def _one(self) -> int:
        word = self._next()
        if word == "?":
            word = self._next()
        if word == "(":
            known = self.read()
            self._next()
        elif word == "$this" or word[:1].isalpha() or word[:1] in "\\_":
            known = self._named(word)
        else:
            return 0
        while self._text.startswith("[]", self._at):
            self._at += 2
            known = self._on.literal("array", self._on.of(known))
        return known

    def _named(self, word: str) -> int:
        on, build = self._on, self._on.build
        args: list[int] = []
        opener = self._text[self._at : self._at + 1]
        if opener == "<":
            self._next()
            args.append(self.read())
            while self._peek() == ",":
                self._next()
                args.append(self.read())
            if self._next() != ">":
                self._at = len(self._text)
        elif opener in ("{", "("):
            self._skip()
        low = word.lower()
        if low in LISTS:
            return on.literal("array", on.of(args[-1]) if args else 0)
        if low == "class-string":
            return on.literal(low, on.of(args[0]) if args else 0)
        known = on.type_named(word, self._offset)
        return build.expr(INDEX, known, build.cons(args)) if args and known else known

    def _skip(self) -> None:
        """Past a shape or the signature of a callable."""
        depth = 0
        for number, sign in enumerate(self._text[self._at :]):
            depth += (sign in "{(<[") - (sign in "})>]")
            if not depth:
                self._at += number + 1
                return
        self._at = len(self._text)


def declared(on: Values, text: str, offset: int) -> tuple[int, str]:
    """The type at the start of a tag's text, and the variable behind it (``""`` for none)."""
    named = _VARIABLE.match(text)
    if named is not None and named[1] != "$this":
        # ``@var $x T``, the wrong way round, is common.
        doc = Doc(on, text[named.end() :], offset)
        return doc.read(), named[1]
    doc = Doc(on, text, offset)
    kind = doc.read()
    found = _VARIABLE.match(doc.rest())
    return kind, found[1] if found is not None else ""


def is_vague(on: Values, node: Node | None) -> bool:
    """Whether a declared type leaves to a comment what it holds."""
    if node is None:
        return True
    words = set(re.split(r"[|&?\s()]+", on.text(node).lower())) - {"", "null"}
    return not words - UNTYPED - LISTS - {"self", "static", "traversable", "\\traversable", "iterator", "\\iterator"}


def more_exact(on: Values, node: Node | None, native: int, documented: int, text: str) -> int:
    """The type of the declaration or that of its comment, whichever says more."""
    if not documented:
        return native
    return documented if is_vague(on, node) or "<" in text.partition(" ")[0] or not native else native
