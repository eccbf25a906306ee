"""A query compiled for one language: its readings (the rungs of the ladder), each of which searches a file's tree."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from ombud.errors import UserError
from ombud.structural.binding import STEPS, Bound, Check, Exhausted, State
from ombud.structural.candidates import Anchor, anchors, candidates, literals, of_kinds
from ombud.structural.conditions import check, kind_ids, same_place
from ombud.structural.ladder import Reading, Unparseable, captures, readings
from ombud.structural.match import Capture, Match, Span
from ombud.structural.matcher import Compiler, Element, Row, repeats
from ombud.structural.pattern import Many, One
from ombud.structural.query import Query
from ombud.structural.view import Group, View, view
from ombud.syntax.grammars import GRAMMARS

if TYPE_CHECKING:
    from tree_sitter import Tree

    from ombud.structural.view import Seen

__all__ = ["Compiled", "Exhausted", "Rung", "Unparseable", "compile_query"]

SECONDS = 20.0
"""The longest search of one file, beside the bound on steps."""
ALTERNATIVES = 100
"""The most patterns of one query, all kinds together."""


class Hit(msgspec.Struct):
    """A match with its nodes, before conditions on what is around and inside it."""

    start: int
    end: int
    kind: str
    kind_id: int
    bound: dict[str, Bound]
    fixed: tuple[Span, ...]


class Shape:
    """One reading of one pattern: finds its hits in a tree."""

    def __init__(
        self, reading: Reading, view: View, *, relaxed: bool, checks: Mapping[str, Check], alone: bool = True
    ) -> None:
        self._closed = reading.closed
        self.name, self.roots, self._view, self._checks = reading.name, reading.roots, view, checks
        compiler = Compiler(view, relaxed=relaxed, alone=alone and not repeats(reading.roots))
        self.literals = literals(reading.roots, view, relaxed=relaxed)
        self.captures = captures(reading.roots)
        self._element: Element | None = None
        self._row: Row | None = None
        if len(self.roots) == 1:
            self._element = compiler.element(self.roots[0])
            self._lead = 0
        else:
            self._row = compiler.row(self.roots, open_end=True)
            self._lead = self._leading()
        self._anchors: list[Anchor] = anchors(self.roots[self._lead], view)

    def _leading(self) -> int:
        """Which root of a sequence is looked for: the first that a literal tells, else the first that is no
        metavariable.
        """
        fixed = [n for n, root in enumerate(self.roots) if not isinstance(root, Many)]
        told = [n for n in fixed if anchors(self.roots[n], self._view)]
        plain = [n for n in fixed if not isinstance(self.roots[n], One)]
        return (told or plain or fixed)[0]

    def may_match(self, source: bytes) -> bool:
        """Whether every literal of the pattern stands in the bytes."""
        return all(literal in source for literal in self.literals)

    def at(
        self, node: Seen, source: bytes, steps: list[int], accept: Callable[[State], bool] | None = None
    ) -> State | None:
        """What is bound where the pattern, of one root, matches at this very node; None where it does not."""
        state = State(self._view, source, steps, self._checks)
        state.spend()
        if self._element is not None and self._element.run(node, state, lambda: accept is None or accept(state)):
            return state
        return None

    def hits(self, source: bytes, tree: Tree, steps: list[int]) -> Iterator[Hit]:
        """All hits in order of position. Raises Exhausted."""
        lead = self.roots[self._lead]
        end = time.monotonic() + SECONDS
        if self._element is not None:
            view, checks, test, run = self._view, self._checks, self._element.test, self._element.run
            for number, node in enumerate(candidates(lead, self._anchors, view, source, tree)):
                if number % 64 == 63 and time.monotonic() > end:
                    raise Exhausted
                if view.apart(node):
                    continue
                state = State(view, source, steps, checks, {}, [])
                state.spend()
                if test(node, state) if test is not None else run(node, state, _agrees):
                    yield _hit(node.start_byte, node.end_byte, node, state, self._closed)
            return
        found: list[Hit] = []
        for parent in self._parents(candidates(lead, self._anchors, self._view, source, tree)):
            if time.monotonic() > end:
                raise Exhausted
            found += self._sequences(parent, source, steps)
        found.sort(key=lambda hit: (hit.start, -hit.end))
        yield from found

    def _parents(self, nodes: Iterator[Seen]) -> list[Seen]:
        found: dict[int, Seen] = {}
        for node in nodes:
            parent = getattr(node, "parent", None)
            if parent is not None and parent.kind_id in self._view.hosts:
                found.setdefault(parent.id, parent)
        return list(found.values())

    def _sequences(self, parent: Seen, source: bytes, steps: list[int]) -> list[Hit]:
        """The hits among the children of one node, which do not overlap."""
        assert self._row is not None
        kids = self._view.kids(parent)
        head = self._row.elements[0].kinds
        anchored = isinstance(self.roots[0], Many)
        found: list[Hit] = []
        first = 0
        while first < len(kids):
            kid = kids[first]
            if (head is not None and kid.kind_id not in head) or (anchored and not kid.is_named):
                first += 1
                continue
            state = State(self._view, source, steps, self._checks)
            state.spend()
            after = self._try(kids, first, parent, state)
            if after > first:
                found.append(_hit(kid.start_byte, kids[after - 1].end_byte, kid, state, self._closed))
            if anchored:
                break
            first = max(after, first + 1)
        return found

    def _try(self, kids: list[Seen], first: int, parent: Seen, state: State) -> int:
        assert self._row is not None
        if not self._row.choice:
            return self._row.matches(kids, first, parent, state)
        ends: list[int] = []

        def done(index: int) -> bool:
            ends.append(index)
            return True

        return ends[-1] if self._row.chooses(kids, first, parent, state, done) else -1


def _agrees() -> bool:
    return True


def _without_comments(node: Seen, end: int) -> int:
    """Where the code of a node ends: some grammars put the comments behind an import into it."""
    while type(node) is not Group and node.end_byte == end and node.child_count:
        last = node.child(node.child_count - 1)  # type: ignore[union-attr]
        if last is None or not last.is_extra or last.is_error or last.prev_sibling is None:
            break
        node, end = last.prev_sibling, last.prev_sibling.end_byte
    return end


def _hit(start: int, end: int, node: Seen, state: State, closed: bool) -> Hit:
    """A hit from ``start`` to ``end``. A pattern that ends in a semicolon takes the one behind the node along."""
    end = _without_comments(node, end)
    while end > start and state.source[end - 1] in b" \t\r\n":
        end -= 1
    if closed and state.source[end - 1 : end] != b";":
        behind = end
        while state.source[behind : behind + 1] in (b" ", b"\t"):
            behind += 1
        if state.source[behind : behind + 1] == b";":
            state.fixed.append((behind, behind + 1))
            end = behind + 1
    fixed = state.fixed
    if len(fixed) > 1:
        fixed.sort()
    return Hit(start, end, node.type, node.kind_id, state.bound, tuple(fixed))


class Rung:
    """One rung of a query's ladder, over all its alternatives."""

    def __init__(
        self, name: str, shapes: Sequence[Shape], around: Around, view: View, kinds: frozenset[int] | None
    ) -> None:
        self.name, self._shapes, self._around, self._view, self._kinds = name, shapes, around, view, kinds
        self.literals: tuple[bytes, ...] = shapes[0].literals if len(shapes) == 1 else ()
        self.captures: dict[str, bool] = {}
        for shape in shapes:
            self.captures.update(shape.captures)
        self.captures.update(around.captures)

    def may_match(self, source: bytes) -> bool:
        """Whether a file of these bytes may hold a match: cheap, and asked before the file is parsed."""
        if self._shapes and not any(shape.may_match(source) for shape in self._shapes):
            return False
        return self._around.may_match(source)

    def search(self, source: bytes, tree: Tree, most: int | None = None) -> tuple[list[Match], bool]:
        """The matches in order of position, at most ``most``, and whether there are more. Raises Exhausted."""
        steps = [STEPS]
        if len(self._shapes) == 1 and self._kinds is None and not self._around.asks:
            hits = self._shapes[0].hits(source, tree, steps)
            plain = [_match(hit) for hit in (hits if most is None else islice(hits, max(0, most) + 1))]
            return (plain, False) if most is None or len(plain) <= most else (plain[: max(0, most)], True)
        around = self._around.here(source, tree, steps)
        found: list[Hit] = []
        seen: set[tuple[int, int]] = set()
        for hits in self._sources(source, tree, steps):
            count = 0
            for hit in hits:
                if self._kinds is not None and hit.kind_id not in self._kinds:
                    continue
                if (hit.start, hit.end) in seen and len(self._shapes) > 1:
                    continue
                if not around.agrees(hit):
                    continue
                seen.add((hit.start, hit.end))
                found.append(hit)
                count += 1
                if most is not None and count > most:
                    break
        if len(self._shapes) > 1:
            found.sort(key=lambda hit: (hit.start, -hit.end))
        cut = most is not None and len(found) > most
        return [_match(hit) for hit in (found[:most] if cut else found)], cut

    def count(self, source: bytes, tree: Tree) -> int:
        """How many matches there are, without making them. Raises Exhausted."""
        if len(self._shapes) == 1 and self._kinds is None and not self._around.asks:
            return sum(1 for _ in self._shapes[0].hits(source, tree, [STEPS]))
        return len(self.search(source, tree)[0])

    def _sources(self, source: bytes, tree: Tree, steps: list[int]) -> Iterator[Iterator[Hit]]:
        if not self._shapes and self._kinds is not None:
            language = self._view.language
            names = sorted(
                {language.node_kind_for_id(n) or "" for n in self._kinds if language.node_kind_is_visible(n)}
            )
            nodes = of_kinds(self._view, tree, names)
            yield (Hit(n.start_byte, n.end_byte, n.type, n.kind_id, {}, ()) for n in nodes)
        for shape in self._shapes:
            if len(self._shapes) == 1 or shape.may_match(source):
                yield shape.hits(source, tree, steps)


def _match(hit: Hit) -> Match:
    captured = {name: Capture(bound.start, bound.end, bound.items) for name, bound in hit.bound.items()}
    return Match(hit.start, hit.end, hit.kind, captured, hit.fixed)


class Around:
    """The patterns that must, or must not, match around or inside of a hit."""

    def __init__(self, inside: Patterns, outside: Patterns, has: Patterns, lacks: Patterns) -> None:
        self._rows = ((inside, True, True), (outside, True, False), (has, False, True), (lacks, False, False))
        self.captures: dict[str, bool] = {}
        for shapes in (*inside, *has):
            self.captures.update(shapes[0].captures)

    @property
    def asks(self) -> bool:
        """Whether there is any such pattern."""
        return any(patterns for patterns, _, _ in self._rows)

    def may_match(self, source: bytes) -> bool:
        """Whether the literals of what must be there stand in the bytes."""
        return all(
            any(shape.may_match(source) for shape in shapes)
            for patterns, _, wanted in self._rows
            if wanted
            for shapes in patterns
        )

    def here(self, source: bytes, tree: Tree, steps: list[int]) -> Surroundings:
        """The hits of all these patterns in one file."""
        rows = [
            (_first(shapes, source, tree, steps), outer, wanted)
            for patterns, outer, wanted in self._rows
            for shapes in patterns
        ]
        state = State(_any_view(self._rows), source, steps) if rows else None
        return Surroundings(rows, state)


Patterns = Sequence[Sequence[Shape]]


def _any_view(rows: Sequence[tuple[Patterns, bool, bool]]) -> View:
    return next(shapes[0]._view for patterns, _, _ in rows for shapes in patterns)


def _first(shapes: Sequence[Shape], source: bytes, tree: Tree, steps: list[int]) -> list[Hit]:
    """The hits of the first reading that has any."""
    for shape in shapes:
        if shape.may_match(source) and (found := list(shape.hits(source, tree, steps))):
            return found
    return []


@dataclass(slots=True)
class Surroundings:
    """What the patterns of ``inside`` and ``has`` match in one file."""

    rows: list[tuple[list[Hit], bool, bool]]
    state: State | None

    def agrees(self, hit: Hit) -> bool:
        """Whether a hit has all that must be around and inside of it. Binds the metavariables of those patterns too."""
        for hits, outer, wanted in self.rows:
            found = self._fitting(hits, hit, outer)
            if wanted != (found is not None):
                return False
            if found is not None:
                for name, bound in found.bound.items():
                    hit.bound.setdefault(name, bound)
        return True

    def _fitting(self, hits: list[Hit], hit: Hit, outer: bool) -> Hit | None:
        """The smallest around, or the first inside."""
        assert self.state is not None
        best: Hit | None = None
        self.state.spend(1 + len(hits) // 16)
        for other in hits:
            around, within = (other, hit) if outer else (hit, other)
            if other.start > hit.end:
                break
            if within.start < around.start or within.end > around.end:
                continue
            same = (around.start, around.end) == (within.start, within.end)
            if (same and around.kind_id == within.kind_id) or not self._equal(other, hit):
                continue
            if not outer:
                return other
            if best is None or other.end - other.start <= best.end - best.start:
                best = other
        return best

    def _equal(self, one: Hit, other: Hit) -> bool:
        assert self.state is not None
        return all(
            self.state.same(bound, other.bound[name]) for name, bound in one.bound.items() if name in other.bound
        )


class Compiled:
    """A query for one language. ``rungs`` are in the order of the ladder: a later one counts only where the first
    finds nothing.
    """

    def __init__(self, language: str, rungs: tuple[Rung, ...]) -> None:
        self.language, self.rungs = language, rungs


def compile_query(query: Query, language: str) -> Compiled:
    """The query for a language (an id of LSP that has a grammar).

    Raises Unparseable for a pattern that no context of the language takes, UserError (``unknown_language``,
    ``invalid_params``) for a language without a grammar, and for a condition that cannot be asked.
    """
    try:
        encoded = msgspec.json.encode(query)
    except UnicodeEncodeError:
        raise UserError("The query holds half of a surrogate pair, which is no text. Send it as UTF-8.") from None
    return _compiled(encoded, language)


@lru_cache(maxsize=256)
def _compiled(encoded: bytes, language: str) -> Compiled:
    query = msgspec.json.decode(encoded, type=Query)
    if language not in GRAMMARS:
        raise UserError(
            f"There is no grammar for {language!r}. Known are: {', '.join(sorted(GRAMMARS))}.", kind="unknown_language"
        )
    return _Query(query, language).compiled()


class _Query:
    def __init__(self, query: Query, language: str) -> None:
        self._query, self._language = query, language
        self._view = view(GRAMMARS[language])
        self._relaxed = query.strictness == "relaxed"
        self._checks: dict[str, Check] = {}

    def compiled(self) -> Compiled:
        query = self._query
        patterns = [*([query.pattern] if query.pattern is not None else []), *query.any]
        if query.pattern is not None and query.any:
            raise UserError("Give either pattern or any, not both.")
        if not patterns and query.kind is None:
            raise UserError("There is nothing to search for. Give a pattern, several as any, or a node kind.")
        around = [_listed(p) for p in (query.inside, query.not_inside, query.has, query.not_has)]
        if len(patterns) + sum(map(len, around)) > ALTERNATIVES:
            raise UserError(f"The query has more than {ALTERNATIVES} patterns. Search for some of them at a time.")
        kinds = kind_ids([query.kind], self._view) if query.kind is not None else None
        read = [readings(pattern, self._language, self._view) for pattern in patterns]
        beside = [[readings(pattern, self._language, self._view) for pattern in row] for row in around]
        bound = {name for many in (*read, *beside[0], *beside[2]) for one in many for name in captures(one.roots)}
        for name, condition in query.where.items():
            self._checks[_known(name, bound)] = check(condition, name.lstrip("$"), self._view, self._nested)
        sides = [[[self._shape(reading) for reading in many] for many in row] for row in beside]
        surroundings = Around(sides[0], sides[1], sides[2], sides[3])
        shapes = [[self._shape(reading) for reading in many] for many in read]
        return Compiled(self._language, tuple(self._rungs(shapes, surroundings, kinds)))

    def _rungs(self, shapes: list[list[Shape]], around: Around, kinds: frozenset[int] | None) -> Iterator[Rung]:
        if not shapes:
            yield Rung("kind", (), around, self._view, kinds)
            return
        for number in range(max(map(len, shapes))):
            row = [many[min(number, len(many) - 1)] for many in shapes]
            name = next((many[number].name for many in shapes if number < len(many)), row[0].name)
            yield Rung(name, row, around, self._view, kinds)

    def _shape(self, reading: Reading) -> Shape:
        return Shape(reading, self._view, relaxed=self._relaxed, checks=self._checks)

    def _nested(self, pattern: str) -> Callable[[Seen, State], bool]:
        """A pattern of a condition: it must match the whole of a captured node. Its own metavariables are its own."""
        shapes = [
            Shape(reading, self._view, relaxed=self._relaxed, checks={})
            for reading in readings(pattern, self._language, self._view)
            if len(reading.roots) == 1
        ]
        if not shapes:
            raise UserError(f"The pattern {pattern!r} of a condition is a sequence. Give one expression or statement.")

        def fits(node: Seen, state: State) -> bool:
            places = same_place(node, state.view)
            return any(shape.at(place, state.source, state.steps) is not None for shape in shapes for place in places)

        return fits


def _listed(patterns: str | list[str] | None) -> list[str]:
    return [] if patterns is None else [patterns] if isinstance(patterns, str) else patterns


def _known(name: str, bound: set[str]) -> str:
    plain = name.lstrip("$")
    if plain not in bound:
        names = ", ".join(f"${one}" for one in sorted(bound)) or "none"
        raise UserError(f"The condition on ${plain} has nothing to ask about: the pattern binds {names}.")
    return plain
