"""Ways through the graph: what depends on a symbol or a file, and how one symbol leads to another."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from ombud.graph.facts import CALL_SITE, CONFIRMED, IMPORT_SITE, INHERIT_SITE, REFERENCE_SITE, TEST
from ombud.graph.store.rows import Dependent, Edge, Impact, Links, Reached
from ombud.graph.store.schema import CONSTRUCTS, MASK, SHIFT
from ombud.graph.store.snapshot import Snapshot, batches, marks
from ombud.graph.store.tracing import Pair, constructors, edges_from, edges_in, pairs_to

NODES = 20_000
"""Symbols that a walk goes through at the most."""
FILES = 50_000

_USES = (CALL_SITE, INHERIT_SITE, REFERENCE_SITE)
_WAYS = (CALL_SITE, IMPORT_SITE)


def impact(
    reader: Snapshot, start: Collection[int], depth: int = 5, cap: int = NODES, confidence: int = CONFIRMED
) -> Impact:
    """What may break when the symbols ``start`` change: whatever calls, inherits from or refers to them, and so on.

    Only edges *to* a symbol are followed, never those from it. Imports count when a module is among ``start``: then
    whoever imports it, or something in it that was reached, depends on it. To a constructor lead its class's calls.
    A call of a method is not taken for one of the methods that override it, nor the other way round: that would name
    callers of every class of a family; an override that calls the method above it is reached as any caller is.
    At most ``cap`` symbols are reached, nearest first; each is there once, with one of the edges that led to it.
    """
    seen = set(start)
    found: list[tuple[int, int, Pair]] = []
    truncated = False
    with reader.reading():
        kinds = (*_USES, IMPORT_SITE) if any(not symbol & MASK for symbol in start) else _USES
        hows = [kind << 2 | sure for kind in kinds for sure in range(confidence + 1)]
        frontier: Collection[int] = sorted(seen)
        for level in range(1, depth + 1):
            reached: list[int] = []
            for pair in _edges_to(reader, frontier, hows, confidence):
                if pair[1] in seen:
                    continue
                if len(found) >= cap:
                    truncated = True
                    break
                seen.add(pair[1])
                reached.append(pair[1])
                found.append((pair[1], level, pair))
            frontier = reached
            if truncated or not frontier:
                break
        return Impact(_reached(reader, found), truncated)


def _edges_to(reader: Snapshot, symbols: Collection[int], hows: Sequence[int], confidence: int) -> Iterator[Pair]:
    """Rows of edges to ``symbols``, some at a time; behind them, calls of the classes that they construct."""
    calls = [CALL_SITE << 2 | sure for sure in range(confidence + 1)]
    with reader.reading() as connection:
        for batch in batches(symbols):
            query = f"SELECT dst, src, how FROM edges WHERE dst IN {marks(batch)} AND how IN {marks(hows)}"
            yield from connection.execute(query, (*batch, *hows))
            query = (
                "SELECT dst, src, how FROM edges WHERE dst IN (SELECT id >> 20 << 20 | container FROM symbols "
                f"WHERE id IN {marks(batch)} AND flags & {CONSTRUCTS}) AND how IN {marks(calls)}"
            )
            yield from connection.execute(query, (*batch, *calls))


def _reached(reader: Snapshot, found: Sequence[tuple[int, int, Pair]]) -> list[Reached]:
    """The symbols that are there, with their files."""
    files: dict[int, tuple[str, bool]] = {}
    flags: dict[int, int] = {}
    with reader.reading() as connection:
        for batch in batches({symbol >> SHIFT for symbol, *_ in found}):
            rows = connection.execute(f"SELECT id, path, test FROM files WHERE id IN {marks(batch)}", batch)
            files.update((number, (path, bool(test))) for number, path, test in rows)
        for batch in batches([symbol for symbol, *_ in found]):
            flags.update(connection.execute(f"SELECT id, flags FROM symbols WHERE id IN {marks(batch)}", batch))
    reached = []
    for symbol, depth, (dst, _, how) in found:
        if symbol in flags:
            path, test = files[symbol >> SHIFT]
            reached.append(Reached(symbol, depth, dst, how >> 2, how & 3, path, test or bool(flags[symbol] & TEST)))
    reached.sort(key=lambda one: (one.depth, one.path, one.id))
    return reached


def site(reader: Snapshot, src: int, dst: int, kind: int) -> Edge | None:
    """The first place where ``src`` names ``dst`` in that way."""
    with reader.reading():
        file = reader.file_of(src >> SHIFT)
        if file is None:
            return None
        pairs = {(dst, src, kind << 2 | sure) for sure in range(4)}
        return next(edges_in(reader, src >> SHIFT, file.path, pairs, 1), None)


# -- from one symbol to another ----------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Side:
    """One end of a search from both: what it has reached, each with the edge that led there, and the last step's."""

    came: dict[int, Pair | None]
    frontier: list[int]
    new: list[int] = field(default_factory=list)


def path(reader: Snapshot, start: int, end: int, cap: int = NODES) -> tuple[list[Edge] | None, bool]:
    """The fewest calls and imports that lead from ``start`` to ``end``, as edges; None where there is no such way.

    The second value says that the search was given up after ``cap`` symbols. Where no edges join end to end, a call of
    a class goes on in its constructors, and an import of something goes on in the module it is taken from.
    """
    with reader.reading():
        for hops in (False, True):
            edges, truncated = _search(reader, start, end, cap, hops)
            if edges is not None or truncated:
                return edges, truncated
    return None, False


def _search(reader: Snapshot, start: int, end: int, cap: int, hops: bool) -> tuple[list[Edge] | None, bool]:
    """From both ends at once, a whole step at a time on the side that has less to look at."""
    ahead, back = _Side({start: None}, [start]), _Side({end: None}, [end])
    if start == end:
        return [], False
    while ahead.frontier and back.frontier:
        if len(ahead.came) + len(back.came) > cap:
            return None, True
        side, other = (ahead, back) if len(ahead.frontier) <= len(back.frontier) else (back, ahead)
        steps = _ahead(reader, side.frontier, hops) if side is ahead else _back(reader, side.frontier, hops)
        side.new = []
        for node, pair in steps:
            if node not in side.came:
                side.came[node] = pair
                side.new.append(node)
        if meeting := sorted(node for node in side.new if node in other.came):
            return _joined(reader, ahead, back, meeting[0], hops), False
        side.frontier = side.new
    return None, False


def _ahead(reader: Snapshot, symbols: Sequence[int], hops: bool) -> Iterator[tuple[int, Pair]]:
    called: dict[int, Pair] = {}
    for edge in edges_from(reader, symbols, _WAYS):
        if edge.confidence > CONFIRMED or reader.key(edge.dst) is None:
            continue
        pair = (edge.dst, edge.src, edge.kind << 2 | edge.confidence)
        yield edge.dst, pair
        if hops and edge.kind == IMPORT_SITE:
            yield edge.dst >> SHIFT << SHIFT, pair
        elif hops:
            called.setdefault(edge.dst, pair)
    for symbol, pair in called.items():
        for constructor in constructors(reader, [symbol]):
            yield constructor, pair


def _back(reader: Snapshot, symbols: Sequence[int], hops: bool) -> Iterator[tuple[int, Pair]]:
    if not hops:
        for pair in _sure(pairs_to(reader, symbols, (IMPORT_SITE,)) + _calls_to(reader, symbols)):
            yield pair[1], pair
        return
    for pair in _sure(pairs_to(reader, symbols, _WAYS)):
        yield pair[1], pair
    for symbol in symbols:
        if not symbol & MASK:
            for pair in _sure(_pairs_into(reader, symbol >> SHIFT, (IMPORT_SITE,))):
                yield pair[1], pair


def _calls_to(reader: Snapshot, symbols: Sequence[int]) -> list[Pair]:
    """Calls of the symbols themselves, not of the classes they construct."""
    wanted = set(symbols)
    return [pair for pair in pairs_to(reader, symbols, (CALL_SITE,)) if pair[0] in wanted]


def _sure(pairs: Iterable[Pair]) -> Iterator[Pair]:
    return (pair for pair in sorted(pairs) if pair[2] & 3 <= CONFIRMED)


def _joined(reader: Snapshot, ahead: _Side, back: _Side, meeting: int, hops: bool) -> list[Edge] | None:
    """The edges over the symbol where both sides met."""
    first: list[Pair] = []
    node = meeting
    while (pair := ahead.came[node]) is not None:
        first.append(pair)
        node = pair[1]
    second: list[Pair] = []
    node = meeting
    while (pair := back.came[node]) is not None:
        second.append(pair)
        node = _after(reader, pair, back, hops)
    edges = [site(reader, src, dst, how >> 2) for dst, src, how in (*reversed(first), *second)]
    return [edge for edge in edges if edge is not None]


def _after(reader: Snapshot, pair: Pair, back: _Side, hops: bool) -> int:
    """Where the way goes on behind an edge: at its end, or, over a hop, in a constructor or the module there."""
    dst = pair[0]
    if dst in back.came or not hops:
        return dst
    module = dst >> SHIFT << SHIFT
    if pair[2] >> 2 == IMPORT_SITE and module in back.came:
        return module
    return min(symbol for symbol in constructors(reader, [dst]) if symbol in back.came)


# -- files -------------------------------------------------------------------------------------------------------------


def _pairs_into(reader: Snapshot, file: int, kinds: Collection[int]) -> list[Pair]:
    hows = [kind << 2 | sure for kind in kinds for sure in range(CONFIRMED + 1)]
    query = f"SELECT dst, src, how FROM edges WHERE dst BETWEEN ? AND ? AND how IN {marks(hows)}"
    with reader.reading() as connection:
        return connection.execute(query, (file << SHIFT, file << SHIFT | MASK, *hows)).fetchall()


def edges_into(reader: Snapshot, path: str, kinds: Collection[int]) -> list[Edge]:
    """The sites in other files that lead to a file or to something in it, by path and place."""
    with reader.reading():
        file = reader.file_at(path)
        if file is None:
            return []
        pairs = [pair for pair in _pairs_into(reader, file.id, kinds) if pair[1] >> SHIFT != file.id]
        sources: dict[int, set[Pair]] = {}
        for pair in pairs:
            sources.setdefault(pair[1] >> SHIFT, set()).add(pair)
        paths = {source: held.path for source in sources if (held := reader.file_of(source)) is not None}
        return [
            edge
            for source in sorted(paths, key=paths.__getitem__)
            for edge in edges_in(reader, source, paths[source], sources[source], 1)
            if reader.key(edge.src) is not None
        ]


def dependencies(reader: Snapshot, path: str, cap: int = FILES) -> Links:
    """The files that a file depends on, and those that depend on it, by edges of any kind; none for an unknown one."""
    with reader.reading():
        file = reader.file_at(path)
        if file is None:
            return Links([], [], [], [], [])
        uses: set[int] = set()
        imports: set[int] = set()
        for *_, other, _, how in reader.places(file.id):
            if other != file.id and how & 3 <= CONFIRMED:
                uses.add(other)
                if how >> 2 == IMPORT_SITE:
                    imports.add(other)
        importers = {pair[1] >> SHIFT for pair in _pairs_into(reader, file.id, (IMPORT_SITE,))} - {file.id}
        depths, truncated = _files_to(reader, file.id, cap)
        by_depth: tuple[list[Dependent], list[Dependent]] = ([], [])
        for other, depth in depths.items():
            if (held := reader.file_of(other)) is not None:
                by_depth[depth > 1].append(Dependent(held.path, depth, held.test))
        direct, indirect = (sorted(some, key=lambda one: (one.depth, one.path)) for some in by_depth)
        imported, used, importing = (_paths(reader, some) for some in (imports, uses, importers))
        return Links(imported, used, importing, direct, indirect, truncated)


def _files_to(reader: Snapshot, file: int, cap: int) -> tuple[dict[int, int], bool]:
    """The files that lead to ``file`` → by how many steps."""
    depths: dict[int, int] = {}
    frontier, depth = [file], 0
    hows = [kind << 2 | sure for kind in (*_USES, IMPORT_SITE) for sure in range(CONFIRMED + 1)]
    query = f"SELECT DISTINCT src >> {SHIFT} FROM edges WHERE dst BETWEEN ? AND ? AND how IN {marks(hows)}"
    with reader.reading() as connection:
        while frontier:
            depth += 1
            following = []
            for one in frontier:
                for (other,) in connection.execute(query, (one << SHIFT, one << SHIFT | MASK, *hows)):
                    if other == file or other in depths:
                        continue
                    if len(depths) >= cap:
                        return depths, True
                    depths[other] = depth
                    following.append(other)
            frontier = following
    return depths, False


def _paths(reader: Snapshot, files: Iterable[int]) -> list[str]:
    held = (reader.file_of(file) for file in files)
    return sorted(file.path for file in held if file is not None)
