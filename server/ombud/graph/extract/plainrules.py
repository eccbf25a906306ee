"""In what the languages of `ombud.graph.extract.plain` differ beyond their queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Keys = Callable[["Node", str], Sequence[str]]
"""A name where it is written, and its text → what it is looked up by."""
_HEADERS = frozenset(("modifiers", "annotation", "attribute", "annotations"))
"""What stands before a declaration and is no part of its first line."""
_WIDEST = 2000
"""Nodes of one pattern that are looked at."""


def _as_written(node: Node, text: str) -> Sequence[str]:
    del node
    return (text,)


def _folded(node: Node, text: str) -> Sequence[str]:
    """SQL: a name is the same in capitals, but for one in quotation marks."""
    del node
    return (text[1:-1],) if text[:1] in '"`[' else (text.lower(),)


# -- Elixir: a function is its name and the number of its parameters ---------------------------------------------------


def _arguments(call: Node | None) -> list[Node]:
    if call is None or call.type != "call":
        return []
    found = next((child for child in call.named_children if child.type == "arguments"), None)
    return [] if found is None else [child for child in found.named_children if child.type != "comment"]


def _elixir_defined(node: Node, text: str) -> Sequence[str]:
    if node.type == "alias":
        return (text,)
    given = _arguments(node.parent) if node.parent is not None and node.parent.type == "call" else []
    optional = sum(
        one.type == "binary_operator" and any(child.type == "\\\\" for child in one.children) for one in given
    )
    return [f"{text}/{count}" for count in range(len(given) - optional, len(given) + 1)]


def elixir_key(text: str, call: Node | None, piped: bool) -> str:
    """What a use is looked up by. ``call`` is the call, or the number in ``&text/2``, or None behind ``|>``."""
    if call is None:
        return f"{text}/1"
    if call.type == "integer":
        return f"{text}/{(call.text or b'').decode()}"
    block = any(child.type == "do_block" for child in call.named_children)
    return f"{text}/{len(_arguments(call)) + block + piped}"


# -- Dart: a constructor without a name of its own is ``new`` ----------------------------------------------------------


def _dart_defined(node: Node, text: str) -> Sequence[str]:
    above, before = node.parent, node.prev_named_sibling
    if above is None or not above.type.endswith("constructor_signature"):
        return (text,)
    return (text,) if before is not None and before.type == "identifier" else ("new",)


# -- Scala: a class and an object may share a name --------------------------------------------------------------------


def _scala_defined(node: Node, text: str) -> Sequence[str]:
    above = node.parent.type if node.parent is not None else ""
    return (f"new {text}", text) if above in ("class_definition", "trait_definition") else (text,)


def _scala_used(node: Node, text: str) -> Sequence[str]:
    return (f"new {text}",) if node.parent is not None and node.parent.type == "instance_expression" else (text,)


# -- what others may use ----------------------------------------------------------------------------------------------


def _all(node: Node, name: Node, text: str) -> bool:
    del node, name, text
    return True


def _underscored(node: Node, name: Node, text: str) -> bool:
    del node, name
    return not text.startswith("_")


def _modified(node: Node, name: Node, text: str) -> bool:
    """Swift, Scala: not marked ``private``."""
    del name, text
    words = next((child.text or b"" for child in node.children if child.type == "modifiers"), b"")
    return b"private" not in words and b"protected" not in words


def _public(node: Node, name: Node, text: str) -> bool:
    """Zig: ``pub`` or ``export``. A field is as public as its container."""
    del name, text
    before = node.prev_sibling
    if node.type == "Decl":
        first = node.children[0].type if node.child_count else ""
        return first == "export" or (before is not None and before.type in ("pub", "export"))
    return node.type == "ContainerField"


def _keyword(node: Node, name: Node, text: str) -> bool:
    """Elixir: not by ``defp`` and its like."""
    del name, text
    word = node.child_by_field_name("target")
    return word is None or word.text not in (b"defp", b"defmacrop", b"defguardp")


def _not_local(node: Node, name: Node, text: str) -> bool:
    del name, text
    return not is_local(node)


def is_local(node: Node) -> bool:
    """Lua: whether a function or variable is declared with ``local``."""
    if node.child_count and node.children[0].type == "local":
        return True
    return node.parent is not None and node.parent.type == "variable_declaration"


@dataclass(frozen=True, slots=True)
class Rules:
    """One language."""

    bodies: frozenset[str] = frozenset()
    """Nodes at which a signature ends, beyond a field ``body``."""
    defined: Keys = _as_written
    used: Keys = _as_written
    exported: Callable[[Node, Node, str], bool] = _underscored
    pieces: bool = False
    """A function may be written in several pieces, one behind the other."""
    hoisted: bool = False
    """Whatever is defined, wherever it is, holds in the whole file."""
    apart: bool = False
    """What is defined within a module is not seen in a module within that one."""
    assigned: bool = False
    """A definition without ``local`` is one of the file, where no block around it has declared its name."""
    prefix: bool = False
    """Members of a class hold in the whole file, too (Haskell's methods, constructors and fields)."""
    selves: frozenset[str] = field(default=frozenset(("self", "this")))
    classes: frozenset[str] = frozenset()
    """Words for the class around a place."""


RULES = {
    "dart": Rules(frozenset(("class_body", "extension_body", "enum_body")), defined=_dart_defined),
    "elixir": Rules(
        bodies=frozenset(("do_block",)),
        defined=_elixir_defined,
        exported=_keyword,
        pieces=True,
        apart=True,
        selves=frozenset(("__MODULE__",)),
    ),
    "haskell": Rules(frozenset(("match", "local_binds")), exported=_all, pieces=True, prefix=True),
    "lua": Rules(frozenset(("block",)), exported=_not_local, assigned=True),
    "scala": Rules(defined=_scala_defined, used=_scala_used, exported=_modified),
    "shellscript": Rules(exported=_all, hoisted=True, selves=frozenset()),
    "sql": Rules(
        frozenset(("function_body", "column_definitions")),
        defined=_folded,
        used=_folded,
        exported=_all,
        hoisted=True,
        selves=frozenset(),
    ),
    "swift": Rules(exported=_modified, classes=frozenset(("Self",))),
    "zig": Rules(frozenset(("Block", "ContainerDecl")), exported=_public),
}


# -- texts of definitions ---------------------------------------------------------------------------------------------


def beginning(node: Node) -> Node:
    """The first node of a declaration that stands behind its annotations."""
    for child in node.children:
        if child.type == "modifiers":
            for one in child.children:
                if one.type not in _HEADERS:
                    return one
        elif child.type not in _HEADERS and "comment" not in child.type:
            return child
    return node


def outermost(node: Node) -> Node:
    """The node that has a declaration's comment before it: annotations and modifiers stand between the two."""
    above = node.parent
    while above is not None and above.parent is not None and above.start_byte == node.start_byte:
        node, above = above, above.parent
    before = node.prev_sibling
    while before is not None and (
        before.type in _HEADERS
        or before.type in ("pub", "export", "inline", "extern", "static", "final", "const", "external")
        or before.type.endswith("_builtin")
    ):
        node, before = before, before.prev_sibling
    return node


def variables(pattern: Node) -> list[Node]:
    """The variables that a pattern binds."""
    found, rest = [], [pattern]
    for _ in range(_WIDEST):
        if not rest:
            break
        node = rest.pop()
        if node.type == "variable":
            found.append(node)
        else:
            rest.extend(node.named_children)
    return found


def end_of(node: Node) -> int:
    """Where a definition ends: a body may stand behind it, as its sibling (Dart, Zig)."""
    if node.type.endswith("_signature"):
        outer = node.parent if node.parent is not None and node.parent.type == "method_signature" else node
        body = outer.next_named_sibling
        if body is not None and body.type == "function_body":
            return body.end_byte
    return node.end_byte
