"""The whole graph for other programs: one JSON object a line, or a SCIP index.

A line is ``{"type": "symbol", "id", "kind", "name", "qualifiedName", "path", "range"}`` or ``{"type": "edge", "kind",
"src", "dst", "path", "range", "confidence"}``, whose ``src`` and ``dst`` are ids and whose ``path`` and ``range`` are
the site. Symbols come first, then edges, each by path and place: equal files have equal exports. ``content`` holds the
lines, or the index in base64. The command line writes either to standard output, or to the file of ``--output``.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from ombud.errors import Refused
from ombud.operations.graph import dress
from ombud.operations.graph.ground import Ground, Root, consult
from ombud.operations.graph.indexed import Counts, index
from ombud.operations.graph.shapes import Answer, Consulting

if TYPE_CHECKING:
    from ombud.graph.store.rows import Definition, Edge
    from ombud.operations.session import Session

Format = Literal["json", "scip"]
LARGEST = 40 * 1024 * 1024
"""Bytes of ``content``: what fits into one message of the wire, quoted."""
CHUNK = 1 << 16
Sink = Callable[[bytes], None]


class Params(Consulting, frozen=True, kw_only=True):
    format: Annotated[Format, msgspec.Meta(description="json: an object a line; scip: a SCIP index (protobuf).")] = (
        "json"
    )
    path: (
        Annotated[str, msgspec.Meta(description="Only this file, or the files in this folder, and edges from them.")]
        | None
    ) = None


class Result(Answer, kw_only=True):
    format: Format
    content: str
    encoding: Literal["utf-8", "base64"]
    symbols: int
    edges: int


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused`: ``too_large`` for more than a message can hold; the fence's kinds."""
    parts: list[bytes] = []
    size = 0

    def sink(data: bytes) -> None:
        nonlocal size
        size += len(data)
        if size > LARGEST:
            text = (
                f"The export is larger than {LARGEST >> 20} MB, more than one answer can hold. Pass a path, or use "
                "“ombud graph-export” on the command line."
            )
            raise Refused(text, kind="too_large")
        parts.append(data)

    ground, counts = await write(session, params, sink)
    whole = b"".join(parts)
    scip = params.format == "scip"
    return Result(
        format=params.format,
        content=base64.b64encode(whole).decode() if scip else whole.decode(),
        encoding="base64" if scip else "utf-8",
        symbols=counts.symbols,
        edges=counts.edges,
        note=ground.note(_left_out(ground) if scip and params.path is None else None),
        **ground.said(),
    )


def _left_out(ground: Ground) -> str | None:
    if len(ground.roots) < 2:
        return None
    return f"A SCIP index is of one folder: {ground.roots[0].folder}. Pass another one as path."


async def write(session: Session, params: Params, sink: Sink) -> tuple[Ground, Counts]:
    """Give the export to ``sink``, piece by piece, in another thread; what that raises ends it. Raises as `run`."""
    ground = await consult(session, params)
    if params.path is not None:
        root, inside = ground.place(session, params.path)
        chosen = [(root, root.relative(inside.path))]
    else:
        chosen = [(root, "") for root in ground.roots]
    counts = Counts()
    pieces = index(*chosen[0], counts) if params.format == "scip" else _lines(chosen, counts)
    await asyncio.to_thread(_pour, pieces, sink)
    return ground, counts


def _pour(pieces: Iterator[bytes], sink: Sink) -> None:
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= CHUNK:
            sink(bytes(held))
            held.clear()
    if held:
        sink(bytes(held))


# -- JSON lines -------------------------------------------------------------------------------------------------------


def _lines(chosen: list[tuple[Root, str]], counts: Counts) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    owner: dict[str, int] = {}
    for number, (root, folder) in enumerate(chosen):
        for one in root.reader.all_symbols(folder):
            path = root.shown(one.path)
            # Where one workspace folder lies in another, both have its files.
            if owner.setdefault(path, number) == number:
                counts.symbols += 1
                yield encode(_symbol(root, one, path)) + b"\n"
    for number, (root, folder) in enumerate(chosen):
        for edge, src, dst in root.reader.all_edges(folder):
            path = root.shown(edge.path)
            if owner.setdefault(path, number) == number:
                counts.edges += 1
                yield encode(_edge(root, edge, src, dst, path)) + b"\n"


def _symbol(root: Root, one: Definition, path: str) -> dict[str, object]:
    return {
        "type": "symbol",
        "id": root.key(one),
        "kind": one.kind_name,
        "name": dress.name(one),
        "qualifiedName": one.qualified,
        "path": path,
        "range": dress.whole(one),
    }


def _edge(root: Root, edge: Edge, src: str, dst: str, path: str) -> dict[str, object]:
    return {
        "type": "edge",
        "kind": edge.kind_name,
        "src": root.shown_key(src),
        "dst": root.shown_key(dst),
        "path": path,
        "range": dress.site(edge.line, edge.character, edge.length),
        "confidence": edge.confidence_name,
    }
