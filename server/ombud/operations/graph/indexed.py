"""A folder's graph as a SCIP index, piece by piece: every symbol with its definition, every edge as an occurrence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from ombud import __version__
from ombud.graph.facts import IMPORT_SITE, INHERIT_SITE
from ombud.guard.redact import clean, redact
from ombud.guard.uris import path_to_uri
from ombud.operations.graph import dress, scip

if TYPE_CHECKING:
    from ombud.graph.store.rows import Definition, Edge
    from ombud.operations.graph.ground import Root

T = TypeVar("T")
Row = tuple["Edge", str, str]
"""An edge, and the keys of its ends."""
_AGAIN = re.compile(r"~\d+$")


@dataclass(slots=True)
class Counts:
    """What an export holds."""

    symbols: int = 0
    edges: int = 0


def index(root: Root, folder: str, counts: Counts) -> Iterator[bytes]:
    """The bytes of the index of the files below ``folder``. The metadata come first, as the format wants it."""
    yield scip.metadata(path_to_uri(root.folder), "ombud", __version__)
    names: dict[str, str] = {}
    # An edge may lead out of the folder that is exported, so all symbols have to have their names first.
    for path, symbols in _by_path(root.reader.all_symbols(), lambda one: one.path):
        names.update(named(path, symbols))
    edges = _by_path(root.reader.all_edges(folder), lambda row: row[0].path)
    at, rows = next(edges, ("", []))
    for path, symbols in _by_path(root.reader.all_symbols(folder), lambda one: one.path):
        while at and at < path:
            at, rows = next(edges, ("", []))
        mine = rows if at == path else []
        counts.symbols += len(symbols)
        counts.edges += len(mine)
        yield _document(path, symbols, mine, names)


def _by_path(rows: Iterable[T], path: Callable[[T], str]) -> Iterator[tuple[str, list[T]]]:
    return ((key, list(group)) for key, group in groupby(rows, path))


def named(path: str, symbols: Sequence[Definition]) -> dict[str, str]:
    """The SCIP symbol of each symbol of a file, by its key: a descriptor for each definition around it, and its own."""
    by_id = {one.id: one for one in symbols}
    known: dict[int, str] = {}

    def name(one: Definition) -> str:
        if one.id not in known:
            above = by_id.get(one.container) if one.container is not None else None
            around = name(above) if above is not None else scip.head(path)
            again = _AGAIN.search(one.qualified)
            own = scip.descriptor(one.name + (again[0] if again else ""), one.kind_name)
            known[one.id] = around if one.container is None else around + own
        return known[one.id]

    return {one.key: name(one) for one in symbols}


def _document(path: str, symbols: Sequence[Definition], rows: Sequence[Row], names: dict[str, str]) -> bytes:
    occurrences = [
        scip.occurrence(_place(*one.at), names[one.key], scip.DEFINITION | scip.TEST * one.test, one.range)
        for one in symbols
    ]
    above: dict[str, list[str]] = {}
    seen: set[tuple[int, int, str]] = set()
    for edge, src, dst in rows:
        target = names.get(dst)
        if target is None:
            continue
        if edge.kind == INHERIT_SITE:
            above.setdefault(src, []).append(target)
        place = (edge.line, edge.character, target)
        if place not in seen:
            seen.add(place)
            role = scip.IMPORT if edge.kind == IMPORT_SITE else scip.READ
            occurrences.append(scip.occurrence(_place(edge.line, edge.character, edge.length), target, role))
    language = symbols[0].language
    information = [
        scip.information(
            names[one.key],
            dress.name(one),
            one.kind_name,
            clean(redact(one.signature), dress.SIGNATURE_LIMIT),
            language,
            above.get(one.key, ()),
        )
        for one in symbols
    ]
    return scip.document(path, language, occurrences, information)


def _place(line: int, character: int, length: int) -> tuple[int, int, int, int]:
    return line, character, line, character + length
