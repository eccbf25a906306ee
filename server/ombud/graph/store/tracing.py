"""What leads to a symbol and what leads away from it, edge by edge, and what may do so by its name alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from ombud.graph.facts import AMBIGUOUS, CALL_SITE, CONFIRMED, INFERRED, OVERLOAD
from ombud.graph.store.columns import loose_of
from ombud.graph.store.naming import CALLABLE, family
from ombud.graph.store.rows import Edge, Site, Traced
from ombud.graph.store.schema import CONSTRUCTS, MASK, SHIFT
from ombud.graph.store.snapshot import Snapshot, batches, marks

NODES = 20_000
"""Symbols that one question follows."""
_CANDIDATES = 20
"""Symbols of one name that a call site is listed with."""

Pair = tuple[int, int, int]
"""dst, src and how."""


def callers(
    reader: Snapshot,
    symbols: Collection[int],
    depth: int = 1,
    limit: int = 200,
    kinds: Collection[int] = (CALL_SITE,),
    confidence: int = CONFIRMED,
) -> Traced:
    """The edges of ``kinds`` to ``symbols``, and to what those start from, ``depth`` steps far.

    ``confidence`` is the least sure that is listed. To a constructor lead the calls of its class, too: they have the
    class as their ``dst``; to a class, its own calls only.
    """
    answer = Traced()
    seen, frontier = set(symbols), list(dict.fromkeys(symbols))
    with reader.reading():
        for level in range(1, depth + 1):
            pairs = pairs_to(reader, frontier, kinds)
            there = present(reader, {pair[1] for pair in pairs})
            pairs = [pair for pair in pairs if pair[1] in there]
            sure = [pair for pair in pairs if pair[2] & 3 <= confidence]
            if level == 1:
                answer.inferred = sum(pair[2] & 3 == INFERRED for pair in pairs if pair[2] & 3 > confidence)
                answer.ambiguous = sum(pair[2] & 3 == AMBIGUOUS for pair in pairs if pair[2] & 3 > confidence)
            answer.total += len(sure)
            _take(answer, _edges(reader, sure, level), limit)
            sources = {pair[1] for pair in sure}
            if CALL_SITE in kinds:
                sources |= _guess_callers(reader, answer, frontier, level, limit, confidence)
            frontier = sorted(sources - seen)
            if not frontier or _enough(answer, limit, seen, frontier):
                break
            seen.update(frontier)
    return answer


def _enough(answer: Traced, limit: int, seen: set[int], frontier: Sequence[int]) -> bool:
    """Whether to stop before the next step, which would show nothing more or go too far."""
    if len(answer.edges) >= limit or len(seen) + len(frontier) > NODES:
        answer.truncated = True
    return answer.truncated


def _take(answer: Traced, edges: Iterable[Edge], limit: int) -> None:
    for edge in edges:
        if len(answer.edges) >= limit:
            answer.truncated = True
            return
        answer.edges.append(edge)


def present(reader: Snapshot, symbols: Collection[int]) -> set[int]:
    """Those of ``symbols`` that exist: the end of an edge whose file waits to be resolved again may be gone."""
    found: set[int] = set()
    with reader.reading() as connection:
        for batch in batches(symbols):
            rows = connection.execute(f"SELECT id FROM symbols WHERE id IN {marks(batch)}", batch)
            found.update(symbol for (symbol,) in rows)
    return found


def pairs_to(reader: Snapshot, symbols: Iterable[int], kinds: Collection[int]) -> list[Pair]:
    """The rows of edges of ``kinds`` that lead to ``symbols``; to constructors, calls of their classes as well."""
    wanted = list(symbols)
    hows = [kind << 2 | confidence for kind in kinds for confidence in range(4)]
    classes = constructed(reader, wanted).keys() - set(wanted) if CALL_SITE in kinds else set()
    calls = [CALL_SITE << 2 | confidence for confidence in range(4)]
    found: list[Pair] = []
    with reader.reading() as connection:
        for ids, these in ((wanted, hows), (sorted(classes), calls)):
            for batch in batches(ids):
                query = f"SELECT dst, src, how FROM edges WHERE dst IN {marks(batch)} AND how IN {marks(these)}"
                found += connection.execute(query, (*batch, *these)).fetchall()
    return found


def constructed(reader: Snapshot, symbols: Collection[int]) -> dict[int, int]:
    """The classes of those symbols that are constructors: class → constructor."""
    found = {}
    with reader.reading() as connection:
        for batch in batches(symbols):
            query = f"SELECT id, container FROM symbols WHERE id IN {marks(batch)} AND flags & {CONSTRUCTS}"
            for symbol, container in connection.execute(query, batch):
                found[symbol >> SHIFT << SHIFT | container] = symbol
    return found


def _edges(reader: Snapshot, pairs: Iterable[Pair], depth: int) -> Iterator[Edge]:
    """Every site of the pairs, by path and place."""
    files: dict[int, set[Pair]] = defaultdict(set)
    for pair in pairs:
        files[pair[1] >> SHIFT].add(pair)
    known = ((reader.file_of(number), number) for number in files)
    for path, number in sorted((file.path, number) for file, number in known if file is not None):
        yield from edges_in(reader, number, path, files[number], depth)


def edges_in(reader: Snapshot, number: int, path: str, pairs: Collection[Pair], depth: int) -> Iterator[Edge]:
    """The sites of those pairs that start in one file, by place."""
    base = number << SHIFT
    for line, character, length, src, file, dst, how in reader.places(number):
        if (file << SHIFT | dst, base | src, how) in pairs:
            yield Edge(base | src, file << SHIFT | dst, how >> 2, how & 3, path, line, character, length, depth)


def callees(
    reader: Snapshot,
    symbols: Collection[int],
    depth: int = 1,
    limit: int = 200,
    kinds: Collection[int] = (CALL_SITE,),
    confidence: int = CONFIRMED,
) -> Traced:
    """The edges of ``kinds`` from ``symbols``, and from what they lead to, ``depth`` steps far.

    Behind a call of a class come the edges of its constructors.
    """
    answer = Traced()
    seen, frontier = set(symbols), list(dict.fromkeys(symbols))
    with reader.reading():
        for level in range(1, depth + 1):
            edges = edges_from(reader, frontier, kinds, level)
            there = present(reader, {edge.dst for edge in edges})
            edges = [edge for edge in edges if edge.dst in there]
            sure = [edge for edge in edges if edge.confidence <= confidence]
            if level == 1:
                answer.inferred = sum(edge.confidence == INFERRED for edge in edges if edge.confidence > confidence)
                answer.ambiguous = sum(edge.confidence == AMBIGUOUS for edge in edges if edge.confidence > confidence)
            answer.total += len({(edge.src, edge.dst, edge.kind) for edge in sure})
            _take(answer, sure, limit)
            targets = {edge.dst for edge in sure}
            if CALL_SITE in kinds:
                targets |= _guess_callees(reader, answer, frontier, level, limit, confidence)
                targets |= constructors(reader, {edge.dst for edge in sure if edge.kind == CALL_SITE})
            frontier = sorted(targets - seen)
            if not frontier or _enough(answer, limit, seen, frontier):
                break
            seen.update(frontier)
    return answer


def edges_from(reader: Snapshot, symbols: Iterable[int], kinds: Collection[int], depth: int = 1) -> list[Edge]:
    """Every site of ``kinds`` in ``symbols``, by path and place."""
    files: dict[int, set[int]] = defaultdict(set)
    for symbol in symbols:
        files[symbol >> SHIFT].add(symbol & MASK)
    found = []
    for number, wanted in files.items():
        if (held := reader.file_of(number)) is None:
            continue
        base = number << SHIFT
        for line, character, length, src, file, dst, how in reader.places(number):
            if src in wanted and how >> 2 in kinds:
                place = (held.path, line, character, length)
                found.append(Edge(base | src, file << SHIFT | dst, how >> 2, how & 3, *place, depth))
    return sorted(found, key=lambda edge: (edge.path, edge.line, edge.character, edge.kind, edge.dst))


def constructors(reader: Snapshot, classes: Collection[int]) -> set[int]:
    """The constructors that stand in ``classes``."""
    found: set[int] = set()
    with reader.reading() as connection:
        for symbol in classes:
            span = (symbol >> SHIFT << SHIFT, symbol | MASK, symbol & MASK)
            query = f"SELECT id FROM symbols WHERE id BETWEEN ? AND ? AND container = ? AND flags & {CONSTRUCTS}"
            found.update(row[0] for row in connection.execute(query, span))
    return found


# -- by name alone -----------------------------------------------------------------------------------------------------


def loose(reader: Snapshot, name: str, languages: Collection[str] | None = None) -> Iterator[Site]:
    """The call sites of a name that nothing was found for, by path and place."""
    with reader.reading() as connection:
        query = (
            "SELECT l.file, f.path, f.language FROM loose l JOIN files f ON f.id = l.file WHERE l.name = ? ORDER BY 2"
        )
        rows = connection.execute(query, (name,)).fetchall()
        for file, path, language in rows:
            if languages is not None and language not in languages:
                continue
            row = connection.execute("SELECT loose FROM links WHERE file = ?", (file,)).fetchone()
            for src, other, *place in sorted(loose_of(row[0]) if row else (), key=lambda site: site[2:]):
                if other == name and reader.key(file << SHIFT | src) is not None:
                    yield Site(file << SHIFT | src, name, path, *place)


def candidates(reader: Snapshot, name: str, languages: Collection[str]) -> list[int]:
    """What a call of ``name`` may mean in files of ``languages``, by path and place; overloads are one with what they
    overload."""
    with reader.reading() as connection:
        query = (
            "SELECT s.id FROM names n JOIN symbols s ON s.name = n.id JOIN files f ON f.id = s.id >> 20 WHERE "
            f"n.name = ?1 COLLATE NOCASE AND n.name = ?1 AND s.kind IN {tuple(sorted(CALLABLE))} "
            f"AND NOT s.flags & {OVERLOAD} AND f.language IN ({', '.join('?' * len(languages))}) ORDER BY f.path, s.id"
        )
        return [symbol for (symbol,) in connection.execute(query, (name, *sorted(languages)))]


def guessed(reader: Snapshot, symbol: int) -> tuple[int, int, list[str], frozenset[str]]:
    """What is known of calls of ``symbol`` by name: INFERRED where nothing else can be called so, else AMBIGUOUS; how
    many sites; under which names (a constructor is called by its class's); in which languages."""
    definition = reader.symbol(symbol)
    if definition is None:
        return AMBIGUOUS, 0, [], frozenset()
    languages = family(definition.language)
    names = [definition.name]
    if definition.flags & CONSTRUCTS and definition.container is not None:
        above = reader.symbol(definition.container)
        names = [above.name] if above is not None else []
    elif definition.kind not in CALLABLE:
        return AMBIGUOUS, 0, [], languages
    with reader.reading() as connection:
        query = (
            "SELECT coalesce(sum(l.count), 0) FROM loose l JOIN files f ON f.id = l.file WHERE l.name = ? "
            f"AND f.language IN {marks(languages)}"
        )
        count = sum(connection.execute(query, (name, *sorted(languages))).fetchone()[0] for name in names)
    sole = count and all(len(candidates(reader, name, languages)) == 1 for name in names)
    return INFERRED if sole else AMBIGUOUS, count, names, languages


def _guess_callers(
    reader: Snapshot, answer: Traced, symbols: Iterable[int], depth: int, limit: int, confidence: int
) -> set[int]:
    """Count or list the sites that may call one of ``symbols`` by name; the sources of those listed."""
    sources: set[int] = set()
    if depth > 1 and confidence < INFERRED:
        return sources
    found = []
    for symbol in symbols:
        level, count, names, languages = guessed(reader, symbol)
        if level <= confidence:
            sites = [site for name in names for site in loose(reader, name, languages)]
            answer.total += len({site.src for site in sites})
            found += [_guess(site, symbol, level, depth) for site in sites]
            sources.update(site.src for site in sites)
        elif depth == 1:
            answer.inferred += count if level == INFERRED else 0
            answer.ambiguous += count if level == AMBIGUOUS else 0
    _take(answer, sorted(found, key=lambda edge: (edge.path, edge.line, edge.character, edge.dst)), limit)
    return sources


def _guess_callees(
    reader: Snapshot, answer: Traced, symbols: Iterable[int], depth: int, limit: int, confidence: int
) -> set[int]:
    """Count or list what the loose sites of ``symbols`` may call by name; the targets of those listed."""
    if depth > 1 and confidence < INFERRED:
        return set()
    found = []
    for site, language in _own_loose(reader, symbols):
        targets = candidates(reader, site.name, family(language))
        level = INFERRED if len(targets) == 1 else AMBIGUOUS
        if targets and level <= confidence:
            found += [_guess(site, target, level, depth) for target in targets[:_CANDIDATES]]
        elif targets and depth == 1:
            answer.inferred += level == INFERRED
            answer.ambiguous += level == AMBIGUOUS
    answer.total += len({(edge.src, edge.dst) for edge in found})
    _take(answer, sorted(found, key=lambda edge: (edge.path, edge.line, edge.character, edge.dst)), limit)
    return {edge.dst for edge in found}


def _own_loose(reader: Snapshot, symbols: Iterable[int]) -> Iterator[tuple[Site, str]]:
    files: dict[int, set[int]] = defaultdict(set)
    for symbol in symbols:
        files[symbol >> SHIFT].add(symbol & MASK)
    with reader.reading() as connection:
        for number, wanted in files.items():
            held = reader.file_of(number)
            row = connection.execute("SELECT loose FROM links WHERE file = ?", (number,)).fetchone()
            if held is None or row is None:
                continue
            for src, name, *place in loose_of(row[0]):
                if src in wanted:
                    yield Site(number << SHIFT | src, name, held.path, *place), held.language


def _guess(site: Site, dst: int, confidence: int, depth: int) -> Edge:
    return Edge(site.src, dst, CALL_SITE, confidence, site.path, site.line, site.character, site.length, depth)
