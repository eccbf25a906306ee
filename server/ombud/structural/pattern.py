"""A pattern as the matcher wants it: what must stand where, made from the tree of a fragment in a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from ombud.structural.variables import Substituted, Variable
from ombud.structural.view import View

if TYPE_CHECKING:
    from tree_sitter import Tree

    from ombud.structural.view import Seen

DEPTH = 120
NODES = 4_000
"""The most levels and nodes of a pattern."""

RESERVED = frozenset(
    {b"break", b"return", b"case", b"if", b"else", b"for", b"while", b"switch", b"class", b"struct", b"do"}
)
_NAMES = frozenset({"identifier", "simple_identifier", "type_identifier"})
_STRING = re.compile(r"string|char|template|quoted|literal")
_QUOTES = re.compile(rb"[^A-Za-z0-9_]*[A-Za-z]{0,3}[\"'`<]+|[\"'`<]+")


@dataclass(frozen=True, slots=True)
class Token:
    """A leaf that must stand in the source as written; a bare one (a keyword, a bracket) is known by its kind alone."""

    kind: str
    kind_id: int
    text: bytes
    named: bool
    whole: bool = False
    """Whether nodes inside of it do not tell all its text, as with a string whose content has no node."""


@dataclass(frozen=True, slots=True)
class One:
    """``$X``: any one node. ``ended`` where the pattern wrote ``$X;``: a statement that ends in one.

    ``slot`` in the head of a loop, where a declaration has the semicolon inside; ``only`` where nothing but that kind
    will do.
    """

    name: str | None
    ended: bool = False
    slot: bool = False
    only: int | None = None


@dataclass(frozen=True, slots=True)
class Many:
    """``$$$X``: any number of siblings with their separators. ``whole`` for ``"$X"``: the content of a string, as
    one.
    """

    name: str | None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Quoted:
    """``"$X"`` where the grammar makes one leaf of a string: its text between ``before`` and ``after``."""

    name: str | None
    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Inner:
    """A node of that kind with these children."""

    kind: str
    kind_id: int
    children: tuple[Part, ...]
    fields: frozenset[str] = frozenset()

    @property
    def absent(self) -> bool:
        """Whether the node may be missing: it holds only ``$$$``, and grammars give no node to an empty list."""
        return all(isinstance(child, Many) for child in self.children)


Part: TypeAlias = Token | One | Many | Quoted | Inner


class Rejected(Exception):
    """The fragment is no pattern in this shell; the message says why, as part of a sentence."""


def parts(
    view: View, tree: Tree, fragment: tuple[int, int], text: Substituted, found: Sequence[Variable]
) -> tuple[Part, ...]:
    """The pattern's roots: one, or several for a sequence.

    ``fragment`` is the place of the fragment in the tree's text, in which the spans of ``text`` are already moved to
    theirs. Raises Rejected.
    """
    reader = _Reader(view, text, found, fragment)
    roots = reader.roots(tree.root_node)
    converted = _separated(view, [reader.part(root, 0) for root in roots])
    if reader.lost:
        raise Rejected("a metavariable stands inside of a longer word or literal")
    return tuple(converted)


class _Reader:
    def __init__(self, view: View, text: Substituted, found: Sequence[Variable], fragment: tuple[int, int]) -> None:
        self._view, self._source, self._fragment = view, text.text, fragment
        self._places: dict[int, tuple[Variable, int, int]] = {}
        for (start, end), variable in zip(text.spans, found, strict=True):
            spelled = text.text[start:end].rstrip()
            self._places[start] = (variable, start + len(spelled.rstrip(b" ;,")), start + len(spelled))
        self._left = set(self._places)
        self._nodes = 0

    @property
    def lost(self) -> bool:
        return bool(self._left)

    def roots(self, node: Seen) -> list[Seen]:
        """The highest nodes that are the fragment and nothing else, then down as long as a node is all there is."""
        start, end = self._fragment
        while not self._within(node):
            kids = self._view.kids(node)
            over = [k for k in kids if k.start_byte < end and k.end_byte > start]
            if len(over) == 1 and not (len(kids) == 1 and self._within(over[0]) and self._only_closed(node)):
                node = over[0]
                continue
            if not over or not all(self._within(k) for k in over):
                raise Rejected("it is not whole there")
            if len(over) == len(kids) and node.kind_id not in self._view.containers:
                return [node]
            if len(over) > 1 and node.kind_id not in self._view.hosts:
                raise Rejected("it is not whole there")
            return over
        while True:
            kids = self._view.kids(node)
            if node.kind_id in self._view.containers and len(kids) > 1 and kids[0].is_named:
                return kids
            told = self._variable(node) is not None and node.kind_id not in self._view.containers
            if len(kids) != 1 or told:
                return [node]
            same = (kids[0].start_byte, kids[0].end_byte) == (node.start_byte, node.end_byte)
            if not same and node.kind_id not in self._view.containers:
                return [node]
            node = kids[0]

    def _within(self, node: Seen) -> bool:
        start, end = self._fragment
        return node.start_byte >= start and (node.end_byte <= end or not self._source[end : node.end_byte].strip())

    def _only_closed(self, node: Seen) -> bool:
        """Whether a node is larger than the fragment by no more than the shell's semicolon, and is no bare
        expression.
        """
        kind = getattr(node, "type", "")
        return node.kind_id not in self._view.containers and kind != "expression_statement" and not self._wraps(kind)

    @staticmethod
    def _wraps(kind: str) -> bool:
        return kind.endswith(("argument", "parenthesized_expression"))

    def _variable(self, node: Seen) -> Variable | None:
        found = self._places.get(node.start_byte)
        if found is None or node.end_byte < found[1]:
            return None
        return found[0] if not self._source[found[2] : node.end_byte].strip() else None

    def part(self, node: Seen, depth: int, parent: Seen | None = None) -> Part:
        self._nodes += 1
        if depth > DEPTH or self._nodes > NODES:
            raise Rejected("it is too large or too deeply nested for a pattern")
        variable = self._variable(node)
        if variable is not None and node.kind_id not in self._view.containers:
            self._left.discard(node.start_byte)
            listed = parent is not None and (
                parent.kind_id in self._view.containers or parent.kind_id in self._view.hosts
            )
            if node.end_byte < self._places[node.start_byte][2] and not listed:
                raise Rejected("a metavariable does not fit there")
            if variable.many:
                return Many(variable.name)
            slot = parent is not None and parent.kind_id in self._view.fors
            single = parent is not None and parent.type == "import_clause"
            return One(variable.name, slot=slot, only=node.kind_id if single else None)
        kids = self._view.kids(node)
        if not kids or self._gaps(node, kids):
            return self._leaf(node)
        return self._inner(node, [self.part(kid, depth + 1, node) for kid in kids])

    def _gaps(self, node: Seen, kids: list[Seen]) -> bool:
        """Whether text of a string stands between its nodes, and no node of code is among them."""
        if node.kind_id < 0 or not _STRING.search(node.type) or any(kid.is_named for kid in kids):
            return False
        ends = [node.start_byte, *(kid.end_byte for kid in kids)]
        starts = [*(kid.start_byte for kid in kids), node.end_byte]
        return any(self._source[a:b] for a, b in zip(ends, starts, strict=True))

    def _inner(self, node: Seen, children: list[Part]) -> Part:
        if len(children) == 1 and "statement" in node.type and self._ends(node):
            only = children[0]
            if isinstance(only, One):
                return One(only.name, ended=True)
            if isinstance(only, Many):
                return only
        if (
            len(children) == 3
            and isinstance(middle := children[1], One)
            and _STRING.search(node.type)
            and all(isinstance(c, Token) and not c.text.strip(b"\"'`rbfuRBFUL@$#") for c in (children[0], children[2]))
        ):
            children[1] = Many(middle.name, whole=True)
        return Inner(node.type, node.kind_id, tuple(_separated(self._view, children)), fields_of(node))

    def _ends(self, node: Seen) -> bool:
        last = node.children[-1] if node.children else None
        return last is not None and last.kind_id in self._view.semicolons

    def _leaf(self, node: Seen) -> Part:
        start, end = node.start_byte, node.end_byte
        inside = [place for place in self._places if start <= place < end]
        text = self._source[start:end]
        if not inside:
            if node.type in _NAMES and text in RESERVED and text.decode() in self._view.bare:
                raise Rejected(f"{text.decode()!r} is no name")
            return Token(node.type, node.kind_id, text, node.is_named, bool(node.child_count))
        if len(inside) == 1:
            variable, short, _ = self._places[inside[0]]
            if short > end:
                raise Rejected("a metavariable does not fit there")
            before, after = self._source[start : inside[0]], self._source[short:end]
            if not before.strip() and not after.strip():
                self._left.discard(inside[0])
                return Many(variable.name) if variable.many else One(variable.name)
            if node.type == "word" and (before or after):
                self._left.discard(inside[0])
                return Quoted(variable.name, before, after)
            if _QUOTES.fullmatch(before) and after.strip(b"\"'`#>") == b"":
                self._left.discard(inside[0])
                return Quoted(variable.name, before, after)
        if not re.search("string|text|content|fragment|char|regex|pattern|heredoc|literal|comment", node.type):
            return Token(node.type, node.kind_id, text, node.is_named)
        out, last = b"", start
        for place in sorted(inside):
            variable, short, _ = self._places[place]
            out += self._source[last:place] + variable.written.encode()
            last = short
            self._left.discard(place)
        return Token(node.type, node.kind_id, out + self._source[last:end], node.is_named, bool(node.child_count))


def fields_of(node: Seen) -> frozenset[str]:
    """The fields of a node that hold something."""
    if node.kind_id < 0:
        return frozenset()
    names = (node.field_name_for_child(n) for n in range(node.child_count))  # type: ignore[union-attr]
    return frozenset(name for name in names if name)


def _separated(view: View, children: list[Part]) -> list[Part]:
    """The children without the commas beside a ``$$$``, which owns its separators."""
    out: list[Part] = []
    for index, child in enumerate(children):
        if isinstance(child, Token) and child.kind_id in view.commas:
            beside = children[index - 1] if index else None
            after = children[index + 1] if index + 1 < len(children) else None
            if _is_list(beside) or _is_list(after):
                continue
        out.append(child)
    return out


def _is_list(part: Part | None) -> bool:
    return isinstance(part, Many) and not part.whole


def walk(roots: Sequence[Part]) -> Iterator[tuple[Part, int]]:
    """Every part and its depth below the roots."""
    stack = [(root, 0) for root in reversed(roots)]
    while stack:
        part, depth = stack.pop()
        yield part, depth
        if isinstance(part, Inner):
            stack.extend((child, depth + 1) for child in reversed(part.children))
