"""What goes along with text that is deleted: a statement's line, an element's comma, the blanks between.

Everything is in UTF-8 bytes of the source as it was. All deletions of a file are looked at together: two neighbours of
one list share a comma.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

Edit: TypeAlias = tuple[int, int, bytes]
"""Start and end in the source, and what comes there."""

_BLANKS = re.compile(rb"[ \t]*")
_BLANKS_BEFORE = re.compile(rb"[ \t]*\Z")
_REST = re.compile(rb"[ \t]*(\r?\n|\Z)")
_CLOSING = frozenset((")", "]", "}", ">", "|", "/>", ";", "=>"))
_TUPLES = frozenset(("tuple", "expression_list", "tuple_pattern", "pattern_list", "tuple_expression", "tuple_type"))
"""Lists that are something else when one element is left without a comma."""
_TUPLE_LANGUAGES = frozenset(("python", "rust"))
_CONTROLS = re.compile(
    r"^(if|while|for|do|foreach|for_in|for_range|enhanced_for|with|fixed|lock|using|labeled)_"
    r"(statement|expression|loop)$|^for_range_loop$|^else_clause$|^else$"
)
BRACED = frozenset(
    (
        *("c", "cpp", "csharp", "dart", "java", "javascript", "javascriptreact", "kotlin", "php", "scala"),
        *("typescript", "typescriptreact"),
    )
)
"""Languages in which a branch may be a statement without braces."""
_CLOSERS = (b")", b"]", b"}", b">", b"/", b";", b",")
_MARGIN = 200
"""Bytes before a place that are looked at for blanks."""


@dataclass(slots=True)
class _Target:
    """Something to be deleted: neighbours ``first`` to ``last`` among the children of ``parent``."""

    number: int
    start: int
    end: int
    parent: Node
    first: int
    last: int


@dataclass(slots=True)
class _Run:
    """Deleted elements of one list that follow one another."""

    first: int
    last: int
    numbers: list[int] = field(default_factory=list)


class Removal:
    """The deletions of one file."""

    def __init__(self, source: bytes, tree: Tree, language: str) -> None:
        self._source = source
        self._root = tree.root_node
        self._language = language
        self._children: dict[int, list[Node]] = {}
        self._places: dict[int, dict[int, int]] = {}

    def edits(self, spans: Iterable[tuple[int, int]]) -> list[list[Edit]]:
        """For each span the edits that delete it. None overlap; a shared comma is in one of them."""
        spans = list(spans)
        found: list[list[Edit]] = [[] for _ in spans]
        lists: dict[int, list[_Target]] = {}
        for number, (start, end) in enumerate(spans):
            target = self._target(number, start, end)
            if target is None:
                found[number] = [self._inline(start, end)]
            elif self._is_element(target):
                lists.setdefault(target.parent.id, []).append(target)
            elif self.is_bare(target.parent, target.first, target.last):
                found[number] = [(target.start, target.end, b"{}")]
            else:
                found[number] = self._statement(target)
        for targets in lists.values():
            self._elements(targets, found)
        return found

    def is_bare(self, parent: Node, first: int, last: int) -> bool:
        """Whether this child is a branch without braces: were it gone, the next statement would take its place."""
        if self._language not in BRACED or first != last or not _CONTROLS.search(parent.type):
            return False
        children = self._of(parent)
        if self._source[children[first].start_byte : children[first].start_byte + 1] == b"{" or not first:
            return False
        before = children[self._solid(children, first, -1)]
        return before.type in (")", "else", "do", ":") or "parenthesized" in before.type or "condition" in before.type

    def place(self, start: int, end: int) -> tuple[Node, int, int, int] | None:
        """Where a span stands: its parent, its first and last child in it, and its end with a semicolon of its own."""
        target = self._target(0, start, end)
        return None if target is None else (target.parent, target.first, target.last, target.end)

    # -- where it stands ------------------------------------------------------------------------------------------

    def _target(self, number: int, start: int, end: int) -> _Target | None:
        node = self._root.descendant_for_byte_range(start, end)
        if node is None:
            return None
        while (node.start_byte, node.end_byte) == (start, end):
            parent = node.parent
            if parent is None:
                return None
            if (parent.start_byte, parent.end_byte) != (start, end):
                longer = self._with_end(parent, node)
                if longer is None:
                    at = self._place(parent, node)
                    return _Target(number, start, end, parent, at, at)
                end = longer
            node = parent
        within = [i for i, child in enumerate(self._of(node)) if start <= child.start_byte and child.end_byte <= end]
        return _Target(number, start, end, node, within[0], within[-1]) if within else None

    def _with_end(self, parent: Node, node: Node) -> int | None:
        """The end of ``parent``, where it is ``node`` and the semicolon behind it."""
        children = self._of(parent)
        if len(children) == 2 and children[0].id == node.id and children[1].type == ";":
            return parent.end_byte
        return None

    def _of(self, parent: Node) -> list[Node]:
        found = self._children.get(parent.id)
        if found is None:
            found = self._children[parent.id] = parent.children
        return found

    def _place(self, parent: Node, node: Node) -> int:
        places = self._places.get(parent.id)
        if places is None:
            places = self._places[parent.id] = {child.id: i for i, child in enumerate(self._of(parent))}
        return places[node.id]

    @staticmethod
    def _solid(children: list[Node], at: int, step: int) -> int:
        """The next child in a direction that is no comment; -1 or the number of children where there is none."""
        at += step
        while 0 <= at < len(children) and children[at].is_extra:
            at += step
        return at

    def _type(self, children: list[Node], at: int) -> str:
        return children[at].type if 0 <= at < len(children) else ""

    def _is_element(self, target: _Target) -> bool:
        children = self._of(target.parent)
        beside = (self._solid(children, target.first, -1), self._solid(children, target.last, 1))
        return any(self._type(children, at) == "," for at in beside)

    # -- elements of lists ----------------------------------------------------------------------------------------

    def _elements(self, targets: list[_Target], found: list[list[Edit]]) -> None:
        parent = targets[0].parent
        children = self._of(parent)
        runs: list[_Run] = []
        for target in sorted(targets, key=lambda one: one.first):
            if runs:
                comma = self._solid(children, runs[-1].last, 1)
                if self._type(children, comma) == "," and self._solid(children, comma, 1) == target.first:
                    runs[-1].last = target.last
                    runs[-1].numbers.append(target.number)
                    continue
            runs.append(_Run(target.first, target.last, [target.number]))
        for run in runs:
            found[run.numbers[0]] = self._run(children, run)
        if parent.type in _TUPLES and self._language in _TUPLE_LANGUAGES:
            self._one_left(children, runs, found)

    def _run(self, children: list[Node], run: _Run) -> list[Edit]:
        before, after = self._solid(children, run.first, -1), self._solid(children, run.last, 1)
        follows = self._type(children, after) == ","
        follower = self._solid(children, after, 1) if follows else after
        more = follows and follower < len(children) and self._type(children, follower) not in _CLOSING
        start, end = children[run.first].start_byte, children[after if follows else run.last].end_byte
        if more and self._type(children, before) != "," and not self._whole(start, end):
            if not self._between(after, follower):
                return [(start, children[follower].start_byte, b"")]
            return [self._inline(start, end)]
        if more or follows or self._type(children, before) != ",":
            return [self._whole(start, end) or self._inline(start, end)]
        comma = children[before]
        if whole := self._whole(start, end):
            return [(comma.start_byte, comma.end_byte, b""), whole]
        if not self._between(before, run.first):
            return [(comma.start_byte, end, b"")]
        lead = self._blanks_before(start)
        return [(comma.start_byte, comma.end_byte, b""), (lead, end, b"")]

    @staticmethod
    def _between(first: int, last: int) -> bool:
        """Whether a comment stands between two children."""
        return last - first > 1

    def _one_left(self, children: list[Node], runs: list[_Run], found: list[list[Edit]]) -> None:
        """``(a, b)`` without ``b`` is ``(a,)``."""
        gone = {at for run in runs for at in range(run.first, run.last + 1)}
        brackets = ("(", ")", "[", "]", ",")
        kept = [at for at, child in enumerate(children) if at not in gone and not child.is_extra]
        elements = [at for at in kept if children[at].type not in brackets]
        commas = [at for at in kept if children[at].type == ","]
        if len(elements) != 1 or not commas:
            return
        edits = [edit for run in runs for edit in found[run.numbers[0]]]
        one = children[elements[0]]
        survives = any(
            not any(start <= children[at].start_byte < end for start, end, _ in edits)
            for at in commas
            if at > elements[0]
        )
        if survives:
            return
        number = runs[-1].numbers[0]
        behind = [edit for edit in found[number] if edit[0] == one.end_byte]
        if behind:
            found[number].remove(behind[0])
            found[number].append((one.end_byte, behind[0][1], b","))
        else:
            found[number].append((one.end_byte, one.end_byte, b","))

    # -- statements and everything else -----------------------------------------------------------------------------

    def _statement(self, target: _Target) -> list[Edit]:
        children, source = self._of(target.parent), self._source
        start, end = target.start, target.end
        head = target.parent.type.startswith("for")
        after = self._solid(children, target.last, 1)
        if not head and self._type(children, after) == ";" and not self._between(target.last, after):
            end = children[after].end_byte
        if whole := self._whole(start, end):
            return [whole]
        before = self._solid(children, target.first, -1)
        if not head and _REST.match(source, end) and self._type(children, before) == ";":
            # What separated it from its neighbour has nothing to separate now.
            semicolon = children[before]
            if not source[semicolon.end_byte : start].strip() and b"\n" not in source[semicolon.end_byte : start]:
                return [(semicolon.start_byte, end, b"")]
        return [self._inline(start, end)]

    def _blanks_before(self, offset: int) -> int:
        floor = max(0, offset - _MARGIN)
        found = _BLANKS_BEFORE.search(self._source[floor:offset])
        return floor + found.start() if found else offset

    def _whole(self, start: int, end: int) -> Edit | None:
        """The deletion of whole lines, where nothing else is on them."""
        source = self._source
        line = source.rfind(b"\n", 0, start) + 1
        if line == 0 and source.startswith(b"\xef\xbb\xbf"):
            line = 3
        rest = _REST.match(source, end)
        if rest is None or source[line:start].strip(b" \t"):
            return None
        if not rest[1] and source[line - 1 : line] == b"\n":
            # The file does not end with a line end, and still does not.
            line -= 2 if source[line - 2 : line] == b"\r\n" else 1
        return line, rest.end(), b""

    def _inline(self, start: int, end: int) -> Edit:
        """The deletion of a part of a line, with the blanks that are too many."""
        source = self._source
        behind = _BLANKS.match(source, end)
        far = behind.end() if behind else end
        near = self._blanks_before(start)
        if far > end and not _REST.match(source, end):
            return start, far, b""
        margin = near == 0 or source[near - 1 : near] == b"\n"
        closes = _REST.match(source, end) or source[end : end + 1] in _CLOSERS
        return (near if closes and not margin else start), end, b""
