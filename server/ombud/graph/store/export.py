"""The whole graph in one order: the same content gives the same rows, whatever its history."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from ombud.graph.store.finding import within
from ombud.graph.store.rows import Definition, Edge
from ombud.graph.store.schema import INDEXED, SHIFT
from ombud.graph.store.snapshot import Snapshot


def symbols_of(file: Path, folder: str = "") -> Iterator[Definition]:
    """Every symbol below ``folder``, by path and place."""
    with closing(Snapshot(file)) as own, own.reading():
        for number, _ in _files(own, folder):
            yield from own.symbols_in(number)


def edges_of(file: Path, folder: str = "") -> Iterator[tuple[Edge, str, str]]:
    """Every edge from a file below ``folder``, by path and place, with the keys of both its ends."""
    with closing(Snapshot(file)) as own, own.reading():
        for number, path in _files(own, folder):
            found = []
            for line, character, length, src, other, dst, how in own.places(number):
                place = (path, line, character, length)
                edge = Edge(number << SHIFT | src, other << SHIFT | dst, how >> 2, how & 3, *place)
                start, end = own.key(edge.src), own.key(edge.dst)
                if start is not None and end is not None:
                    found.append((edge, start, end))
            yield from sorted(found, key=_in_order)


def _in_order(row: tuple[Edge, str, str]) -> tuple[object, ...]:
    edge, start, end = row
    return (edge.line, edge.character, edge.length, edge.kind, end, start, edge.confidence)


def _files(own: Snapshot, folder: str) -> list[tuple[int, str]]:
    with own.reading() as connection:
        rows = connection.execute("SELECT id, path FROM files WHERE state = ? ORDER BY path", (INDEXED,)).fetchall()
    return [(number, path) for number, path in rows if within(path, folder)]
