"""Where a pattern may match in a file: found by the bytes of its rarest literal, else by the kind of its root."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING

from ombud.structural.pattern import Inner, One, Part, Token
from ombud.structural.view import CHAIN, Group, View

if TYPE_CHECKING:
    from tree_sitter import Node, Query, Tree

    from ombud.structural.view import Seen

_WORD = re.compile(rb"[A-Za-z0-9_]")
_LETTERS = re.compile(rb"[A-Za-z_]{2,}")
DEEP = 10_000
"""Levels of a tree beyond which it is walked: a query's cursor counts them in 16 bits and takes minutes where they
overflow.
"""
_START, _END = attrgetter("start_byte"), attrgetter("end_byte")
TRIED = 4
"""How many of a pattern's literals are counted in a file to find the rarest."""


@dataclass(frozen=True, slots=True)
class Anchor:
    """A literal of the pattern, and how many levels it stands below the root."""

    text: bytes
    depth: int
    pattern: re.Pattern[bytes]


def anchors(root: Part, view: View) -> list[Anchor]:
    """The literals by which a root may be found, those of identifiers first, long ones before short ones."""
    if view.virtual:
        return []
    found: list[tuple[bool, int, Anchor]] = []
    stack: list[tuple[Part, int]] = [(root, 0)]
    while stack:
        part, depth = stack.pop()
        if isinstance(part, Inner):
            if part.kind_id >= 0 and part.kind_id not in view.token_trees:
                stack.extend((child, depth + 1) for child in part.children)
        elif isinstance(part, Token) and _LETTERS.search(part.text) and _literal(part, view):
            found.append((not part.named, -len(part.text), Anchor(part.text, depth, _bounded(part.text))))
    found.sort(key=lambda row: row[:2])
    return [anchor for _, _, anchor in found[:TRIED]]


def _bounded(text: bytes) -> re.Pattern[bytes]:
    literal = re.escape(text)
    # What may not stand before it is asked behind it: a pattern that begins with a literal is found much faster.
    before = rb"(?<![A-Za-z0-9_]" + literal + rb")" if _WORD.match(text[:1]) else b""
    after = rb"(?![A-Za-z0-9_])" if _WORD.match(text[-1:]) else b""
    return re.compile(literal + before + after)


def _literal(part: Token, view: View) -> bool:
    """Whether the token's own bytes must stand in the source: not where a keyword may be written otherwise."""
    if part.kind.startswith("keyword_") or (not part.named and part.kind.encode() != part.text):
        return False
    if view.grammar in ("php", "sql") and not part.named:
        return False
    return not re.search(rb"\s", part.text) or part.named


def literals(roots: Sequence[Part], view: View, *, relaxed: bool) -> tuple[bytes, ...]:
    """What must stand in the bytes of a file that the pattern matches in, the rarest first."""
    words: set[bytes] = set()
    signs: set[bytes] = set()
    stack: list[Part] = list(roots)
    while stack:
        part = stack.pop()
        if isinstance(part, Inner):
            stack.extend(part.children)
        elif isinstance(part, Token) and _literal(part, view):
            if _LETTERS.search(part.text):
                words.add(part.text)
            elif not (relaxed and part.text in (b'"', b"'", b"`")):
                signs.add(part.text)
    if words:  # A bracket stands in nearly every file: only an operator of several signs tells anything then.
        signs = {sign for sign in signs if len(sign) > 1}
    return tuple(sorted(words, key=_rare) + sorted(signs, key=_rare))


def _rare(text: bytes) -> tuple[int, bytes]:
    return (-len(text), text)


def candidates(root: Part, known: Sequence[Anchor], view: View, source: bytes, tree: Tree) -> Iterator[Seen]:
    """The nodes at which ``root`` may match, each once, in order of position."""
    if known:
        anchor = min(known, key=lambda one: source.count(one.text)) if len(known) > 1 else known[0]
        return iter(_anchored(root, anchor, view, source, tree))
    if isinstance(root, Inner) and root.kind_id == CHAIN:
        return iter(_chains(view, tree))
    if isinstance(root, One):
        found: list[Seen] = list(
            _walked(tree, view.named) if _deep(tree) else _captured(view.grammar, "(_) @c", tree.root_node)
        )
        return iter(sorted([*found, *_chains(view, tree)], key=_order)) if view.virtual else iter(found)
    named = not isinstance(root, Token) or root.named
    ids = view.alike(root.kind_id) if isinstance(root, Inner | Token) else frozenset()
    kinds = sorted({view.language.node_kind_for_id(n) or "_" for n in ids}) or ["_"]
    return iter(of_kinds(view, tree, kinds, named=named))


def of_kinds(view: View, tree: Tree, kinds: Sequence[str], *, named: bool = True) -> list[Seen]:
    """All nodes of these kinds in order of position."""
    if _deep(tree):
        wanted = {n for n in range(view.language.node_kind_count) if view.language.node_kind_for_id(n) in kinds}
        return list(_walked(tree, frozenset(wanted)))
    shape = " ".join(
        f"({kind})" if named else '"' + kind.replace("\\", "\\\\").replace('"', '\\"') + '"' for kind in kinds
    )
    return list(_captured(view.grammar, f"[{shape}] @c", tree.root_node))


def _order(node: Seen) -> tuple[int, int]:
    return (node.start_byte, -node.end_byte)


def _anchored(root: Part, anchor: Anchor, view: View, source: bytes, tree: Tree) -> list[Seen]:
    top, depth = tree.root_node, anchor.depth
    kinds = view.alike(root.kind_id) if isinstance(root, Inner | Token) else frozenset()
    found: list[Seen] = []
    seen: set[int] = set()
    for hit in anchor.pattern.finditer(source):
        start, end = hit.span()
        node: Node | None = top.descendant_for_byte_range(start, end)
        if node is None or node.start_byte != start or node.end_byte != end:
            continue
        for _ in range(depth):
            node = node.parent
            if node is None:
                break
        if node is None or node.kind_id not in kinds or node.id in seen:
            continue
        seen.add(node.id)
        found.append(node)
    found.sort(key=_order)
    return found


def _chains(view: View, tree: Tree) -> list[Seen]:
    """The virtual nodes of a file: parents of selectors hold them."""
    parents: dict[int, Node] = {}
    if view.virtual:
        for node in _captured(view.grammar, "(selector) @c", tree.root_node):
            if node.parent is not None:
                parents.setdefault(node.parent.id, node.parent)
    found: list[Seen] = []
    for parent in parents.values():
        for kid in view.kids(parent):
            one: Seen = kid
            while type(one) is Group:
                found.append(one)
                one = one.children[0]
    found.sort(key=_order)
    return found


@cache
def _query(grammar: str, text: str) -> Query:
    from tree_sitter import Query

    from ombud.syntax import grammars

    return Query(grammars.grammar(grammar), text)


def _captured(grammar: str, text: str, node: Node) -> list[Node]:
    from tree_sitter import QueryCursor

    found = QueryCursor(_query(grammar, text)).captures(node).get("c", [])
    # By start, and of those with the same start by the end downwards; sorts are stable.
    found.sort(key=_END, reverse=True)
    found.sort(key=_START)
    return found


def _deep(tree: Tree) -> bool:
    """Whether a tree has more than DEEP levels. Only one of many nodes can, so that most trees are not looked at."""
    if tree.root_node.descendant_count < 3 * DEEP:
        return False
    cursor = tree.walk()
    depth = 0
    while True:
        if cursor.goto_first_child():
            depth += 1
            if depth > DEEP:
                return True
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
            depth -= 1


def _walked(tree: Tree, kinds: frozenset[int]) -> Iterator[Node]:
    """All nodes of these kinds in order of position, without a query."""
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node is not None and node.kind_id in kinds:
            yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
