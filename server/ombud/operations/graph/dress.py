"""From what the store answers to what a caller reads: paths and ids as this session names them, one-based lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from ombud.guard.redact import clean, redact
from ombud.operations.graph.shapes import Confidence, EdgeKind, EdgeShape, SymbolShape
from ombud.text.ranges import Position, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ombud.graph.store.rows import Definition, Edge
    from ombud.operations.graph.ground import Root

SIGNATURE_LIMIT = 400
DOC_LIMIT = 4000
_AGAIN = re.compile(r"~\d+$")


def whole(definition: Definition) -> Range:
    line, character, end_line, end_character = definition.range
    return Range(Position(line, character), Position(end_line, end_character))


def name_of(definition: Definition) -> Range:
    """The range of its name."""
    return site(*definition.at)


def site(line: int, character: int, length: int) -> Range:
    return Range(Position(line, character), Position(line, character + length))


def name(definition: Definition) -> str:
    """A module is called by its file."""
    return definition.name or definition.path.rpartition("/")[2]


def container(definition: Definition) -> str | None:
    """The qualified name of what it is defined in; None at the top of its file."""
    qualified = _AGAIN.sub("", definition.qualified)
    if not qualified.endswith(f".{definition.name}"):
        return qualified.rpartition(".")[0] or None
    return qualified[: -len(definition.name) - 1] or None


def symbol(root: Root, definition: Definition) -> SymbolShape:
    return SymbolShape(**fields(root, definition))


def fields(root: Root, definition: Definition) -> dict[str, Any]:
    """The fields of a `SymbolShape`, for shapes that have more."""
    return {
        "id": root.key(definition),
        "kind": definition.kind_name,
        "name": name(definition),
        "qualified_name": definition.qualified,
        "path": root.shown(definition.path),
        "line": definition.range[0] + 1,
        "end_line": definition.range[2] + 1,
        "range": whole(definition),
        "signature": clean(redact(definition.signature), SIGNATURE_LIMIT),
        "exported": definition.exported,
        "container": container(definition),
    }


def edge(root: Root, one: Edge, keys: Mapping[int, str], text: str = "") -> EdgeShape:
    """``keys``: the ids of both ends as they are shown."""
    where = site(one.line, one.character, one.length)
    return EdgeShape(
        src=keys[one.src],
        dst=keys[one.dst],
        kind=cast("EdgeKind", one.kind_name),
        path=root.shown(one.path),
        line=one.line + 1,
        end_line=one.line + 1,
        range=where,
        confidence=cast("Confidence", one.confidence_name),
        depth=one.depth,
        text=text,
    )
