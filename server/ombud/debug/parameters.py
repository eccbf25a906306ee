"""The names of the parameters of the function around a line, by its grammar: not all adapters tell them from locals."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.syntax.languages import language_of

if TYPE_CHECKING:
    from tree_sitter import Node

LARGEST = 1_000_000
"""Bytes of a file that is parsed for that."""
MOST = 60


async def parameters(path: Path, line: int) -> list[str]:
    """In their order; none where it is not known. ``line`` is one-based."""
    try:
        return await asyncio.to_thread(_parameters, path, line)
    except (OSError, ValueError, LookupError):
        return []


def _parameters(path: Path, line: int) -> list[str]:
    from ombud.syntax.grammars import GRAMMARS, grammar

    language = language_of(path)
    if language is None or language not in GRAMMARS or path.stat().st_size > LARGEST:
        return []
    # A parser of its own: the shared one is not to be used by two threads.
    from tree_sitter import Parser

    source = path.read_bytes()
    tree = Parser(grammar(GRAMMARS[language])).parse(source)
    rows = source.split(b"\n")
    text = rows[line - 1] if 0 < line <= len(rows) else b""
    column = len(text) - len(text.lstrip())
    node: Node | None = tree.root_node.descendant_for_point_range((line - 1, column), (line - 1, column + 1))
    while node is not None:
        declarator = node.child_by_field_name("declarator")
        listed = node.child_by_field_name("parameters") or (
            declarator.child_by_field_name("parameters") if declarator is not None else None
        )
        if listed is not None and node.start_point.row <= line - 1 <= node.end_point.row:
            return _names(listed)
        node = node.parent
    return []


def _names(listed: Node) -> list[str]:
    """The name that each parameter binds: the first identifier in it, or in its field for that."""
    names: list[str] = []
    for one in listed.named_children[:MOST]:
        node: Node | None = one
        for _ in range(6):
            if node is None or not node.named_child_count:
                break
            inner = node.child_by_field_name("name") or node.child_by_field_name("pattern")
            node = inner or node.child_by_field_name("declarator") or node.named_children[0]
        if node is not None and node.text:
            names.append(node.text.decode("utf-8", "replace"))
    return names
