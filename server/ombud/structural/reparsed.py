"""Is a rewritten text still right? Asked of the grammar that reads the language, of the text before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ombud.syntax.grammars import GRAMMARS, parser
from ombud.syntax.parse import fault

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

MOST_ERRORS = 10_000
LARGE = 2_000_000
"""Bytes of a text; Python's own parser is not asked about a longer one."""


def broken(
    language: str, old: tuple[bytes, Tree], new: tuple[bytes, Tree], edits: Sequence[tuple[int, int, bytes]]
) -> tuple[int, str] | None:
    """The first syntax error of the new text that the old one has not: its one-based line, and what it is.

    None where there is none. ``edits`` lead from the old text to the new one. What was an error before may stay one.
    """
    (before, was), (after, now) = old, new
    if not now.root_node.has_error and (language != "python" or len(after) > LARGE):
        return None
    if not was.root_node.has_error:
        found = fault(language, before.decode("utf-8", "replace"), language, after.decode("utf-8", "replace"))
        if found is not None:
            return found.line, found.what
        if not now.root_node.has_error or _known(language, after):
            return None
    known = [(node.start_byte, node.end_byte) for node in _errors(was.root_node)]
    for node in _errors(now.root_node):
        start, end = _before(node.start_byte, edits, False), _before(node.end_byte, edits, True)
        if not any(a <= end + 1 and start <= b + 1 for a, b in known):
            return node.start_point.row + 1, f"{node.type} is missing" if node.is_missing else ""
    return None


def _known(language: str, text: bytes) -> bool:
    """Whether the text is right in words that the grammar does not know, see `ombud.syntax.parse.soften`."""
    from ombud.syntax.parse import GRAMMARS as CHECKED
    from ombud.syntax.parse import soften

    if language not in CHECKED:
        return False
    softened = soften(language, text.decode("utf-8", "replace")).encode()
    names = {GRAMMARS.get(language, language), *CHECKED[language]}
    return any(not parser(name).parse(softened).root_node.has_error for name in names)


def _errors(root: Node) -> list[Node]:
    """The outermost nodes that are errors, or missing. A loop: texts nest deeper than Python calls."""
    found: list[Node] = []
    rest = [root]
    while rest and len(found) < MOST_ERRORS:
        node = rest.pop()
        if node.is_error or node.is_missing:
            found.append(node)
        elif node.has_error:
            rest += reversed(node.children)
    return found


def _before(offset: int, edits: Sequence[tuple[int, int, bytes]], is_end: bool) -> int:
    """Where an offset of the new text is in the old one; an offset in new text is at an end of what was there."""
    shift = 0
    for start, end, text in edits:
        at = start + shift
        if offset < at:
            break
        if offset <= at + len(text):
            return end if is_end else start
        shift += len(text) - (end - start)
    return offset - shift
