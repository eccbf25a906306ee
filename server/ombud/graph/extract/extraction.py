"""What the extractions of all languages share: the tree, the query's nodes, and which scope a place lies in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar

from ombud.graph.extract.builder import DOC, SIGNATURE, Builder
from ombud.syntax.grammars import GRAMMARS, parser, query

if TYPE_CHECKING:
    from tree_sitter import Node

    from ombud.graph.facts import Facts


def first(node: Node | None) -> Node | None:
    """The first named child, None where there is none."""
    return node.named_child(0) if node is not None and node.named_child_count else None


_MANY = 1000
"""Nodes that may well be within one another."""
_MARKS = ("/**", "/*!", "/*", "///", "//!", "//", "##", "#", "---", "--", "%%", "*/", "*")
"""How comments and their lines begin; the longer ones first."""


class Nest:
    """Regions that are nested or apart, rows of (start, end, what): which is the innermost one around a place?"""

    def __init__(self, regions: Iterable[tuple[int, int, int]], outside: int = 0) -> None:
        offsets, inside = [0], [outside]
        around: list[tuple[int, int]] = [(1 << 62, outside)]
        for start, end, what in sorted(regions, key=lambda row: (row[0], -row[1])):
            while around[-1][0] <= start:
                offsets.append(around.pop()[0])
                inside.append(around[-1][1])
            offsets.append(start)
            inside.append(what)
            around.append((end, what))
        while len(around) > 1:
            offsets.append(around.pop()[0])
            inside.append(around[-1][1])
        self._offsets, self._inside = offsets, inside

    def at(self, offset: int) -> int:
        return self._inside[bisect_right(self._offsets, offset) - 1]


class Extraction:
    """One text on its way to facts. A language's module has a subclass as ``EXTRACTION`` that fills in `gather`.

    ``nodes`` are the nodes of the query by the name of their capture, in no order that can be relied on (`ordered`). A
    node whose name has become a site or a definition is remembered in ``used`` by its offset: it is no second site.
    """

    QUERY: ClassVar[str] = ""
    """The file under ``syntax/queries``; empty for the name of the language."""

    def __init__(self, language: str, source: bytes) -> None:
        from tree_sitter import QueryCursor

        grammar = GRAMMARS[language]
        self.language = language
        self.source = source
        self.tree = parser(grammar).parse(source)
        self.root = self.tree.root_node
        self.nodes: Mapping[str, list[Node]] = QueryCursor(query(self.QUERY or language, grammar)).captures(self.root)
        self.build = Builder(language, source)
        self.used: set[int] = set()
        self.inside = Nest(())

    def facts(self) -> Facts:
        """Everything. Facts of equal texts are equal."""
        self.build.module(self.build.end(self.root))
        if self.root.has_error:
            self.build.errors = max(1, len(self.nodes.get("error", ())))
        self.gather()
        return self.build.facts()

    def gather(self) -> None:
        """Fill in ``build``."""
        raise NotImplementedError

    def ordered(self, capture: str) -> list[Node]:
        """The nodes of a capture in the order of the text, outer ones before those within."""
        return sorted(self.nodes.get(capture, ()), key=lambda node: (node.start_byte, -node.end_byte))

    def inner_first(self, capture: str) -> Iterable[Node]:
        """The nodes of a capture; where they are many, those within others first, so that what is known of those is
        known already: a chain of thousands of calls is then no deeper than one."""
        nodes = self.nodes.get(capture, ())
        return nodes if len(nodes) < _MANY else sorted(nodes, key=lambda node: node.end_byte)

    def text(self, node: Node | None) -> str:
        return "" if node is None else self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def scope_at(self, offset: int) -> int:
        """The innermost scope around a place. Known once a language has laid ``inside``."""
        return self.inside.at(offset)

    # -- texts of definitions -------------------------------------------------------------------------------------

    def signature(self, start: int, end: int) -> str:
        """The text between two offsets on one line, cut at `SIGNATURE` characters."""
        text = " ".join(self.source[start : min(end, start + 4 * SIGNATURE)].decode("utf-8", "replace").split())
        return text if len(text) <= SIGNATURE else text[: SIGNATURE - 1] + "…"

    def comment(self, text: str) -> str:
        """A comment's words without its marks (``///``, ``/** */``, ``#``, ``--``)."""
        lines = []
        for line in text.strip().splitlines():
            words = line.strip()
            mark = next((mark for mark in _MARKS if words.startswith(mark)), "")
            lines.append(words[len(mark) :].removesuffix("*/").strip())
        return "\n".join(lines).strip()[:DOC]

    def comment_above(self, node: Node) -> str:
        """The comments that stand directly above a node, in the order of the text."""
        found: list[str] = []
        line = node.start_point[0]
        before = node.prev_sibling
        while before is not None and "comment" in before.type and before.end_point[0] >= line - 1:
            if before.prev_sibling is not None and before.prev_sibling.end_point[0] == before.start_point[0]:
                break  # It stands behind something else.
            found.append(self.text(before))
            line = before.start_point[0]
            before = before.prev_sibling
        return self.comment("\n".join(reversed(found))) if found else ""
