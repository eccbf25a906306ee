"""What callers and callees have in common: edges from step to step, with those that a language server agreed to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from ombud.graph.facts import AMBIGUOUS, CALL_SITE, CONFIDENCES, CONFIRMED, EXACT, INFERRED
from ombud.operations.graph import dress
from ombud.operations.graph.budget import Budget
from ombud.operations.graph.confirm import Doubt, ask
from ombud.operations.graph.ground import consult
from ombud.operations.graph.named import Meant, meant
from ombud.operations.graph.shapes import DEPTH_LIMIT, EdgeShape, Listed, Others, Tracing
from ombud.operations.graph.texts import first_lines

if TYPE_CHECKING:
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Edge, Traced
    from ombud.operations.session import Session

End = Literal["src", "dst"]
CONFIRM_LIMIT = 2000
"""Edges of one step that are looked at for what a language server is asked about."""
Depth = Annotated[
    int, msgspec.Meta(ge=1, le=DEPTH_LIMIT, description="How many steps far; 1 is what is directly connected.")
]


class Params(Tracing, frozen=True, kw_only=True):
    depth: Depth = 1


class Result(Listed, kw_only=True):
    symbol: str
    """The id of what was asked about."""
    edges: list[EdgeShape]
    """By depth, then by place."""
    others: Others
    refuted: int = 0
    """Sites that a language server said mean something else."""


@dataclass(slots=True)
class Trace:
    """What was found. ``inferred`` and ``ambiguous`` count what is not among ``edges``."""

    edges: list[Edge] = field(default_factory=list)
    truncated: bool = False
    inferred: int = 0
    ambiguous: int = 0
    refuted: int = 0
    notes: list[str] = field(default_factory=list)


async def run(session: Session, params: Params, far: End) -> Result:
    """``far``: the end of the edges that is looked for."""
    ground = await consult(session, params)
    found = await meant(session, ground, params)
    trace = await traced(session, found, params, Way(found.ids, (CALL_SITE,), params.depth, params.limit, far))
    edges = trace.edges[: params.limit]
    keys = await found.root.ask(lambda reader: keyed(found, reader, edges))
    texts = await first_lines(session, [(found.root.shown(one.path), one.line) for one in edges])
    shapes = [dress.edge(found.root, one, keys, text) for one, text in zip(edges, texts, strict=True)]
    budget = Budget(params.tokens)
    kept = budget.fit(shapes, params.limit, name="call sites", total=len(trace.edges))
    more = "There are more call sites; raise limit or narrow the question." if trace.truncated else None
    return Result(
        symbol=found.root.key(found.main),
        edges=kept,
        others=Others(inferred=trace.inferred, ambiguous=trace.ambiguous),
        refuted=trace.refuted,
        truncated=trace.truncated or bool(budget.cut),
        note=ground.note(
            budget.sentence("raise limit or tokens, or lower depth") or more,
            ground.about(found.main.language),
            *trace.notes,
        ),
        **ground.said(trace.inferred + trace.ambiguous),
    )


def keyed(found: Meant, reader: Reader, edges: Sequence[Edge]) -> dict[int, str]:
    """The ids of the ends of edges, as they are shown."""
    ends = {end for edge in edges for end in (edge.src, edge.dst)}
    return {number: found.root.shown_key(reader.key(number) or "") for number in ends}


@dataclass(frozen=True, slots=True)
class Way:
    """Where a trace begins, which edges it takes, and how many of them, at the most."""

    start: Sequence[int]
    kinds: Sequence[int]
    depth: int
    limit: int
    far: End

    def ask(self, reader: Reader, start: Sequence[int], depth: int, limit: int, confidence: int) -> Traced:
        step = reader.callers if self.far == "src" else reader.callees
        return step(start, depth, limit, self.kinds, confidence)


async def traced(session: Session, found: Meant, params: Tracing, way: Way) -> Trace:
    """The edges of a way, by depth, then by place; with ``confirm`` those that a language server agreed to as well."""
    least = CONFIDENCES.index(params.confidence)
    if params.confirm:
        return await _confirmed(session, found, least, way)
    one = await found.root.ask(lambda reader: way.ask(reader, way.start, way.depth, way.limit, least))
    return Trace(one.edges, one.truncated, one.inferred, one.ambiguous)


async def _confirmed(session: Session, found: Meant, least: int, way: Way) -> Trace:
    """One step after the other, each judged before the next begins."""
    trace = Trace()
    seen, frontier = set(way.start), list(way.start)
    for level in range(1, way.depth + 1):
        step = list(frontier)
        one = await found.root.ask(lambda reader: way.ask(reader, step, 1, CONFIRM_LIMIT, AMBIGUOUS))  # noqa: B023
        trace.truncated |= one.truncated
        edges = await judged(session, found, one.edges, trace, least, count=level == 1)
        trace.edges += [replace(edge, depth=level) for edge in edges]
        frontier = sorted({getattr(edge, way.far) for edge in edges} - seen)
        seen.update(frontier)
        if not frontier or len(trace.edges) >= way.limit:
            trace.truncated |= bool(frontier) and level < way.depth
            break
    return trace


async def judged(
    session: Session, found: Meant, edges: Sequence[Edge], trace: Trace, least: int, *, count: bool
) -> list[Edge]:
    """The edges that stay: sure ones, those that a server agreed to, and unsure ones that nobody denied, if wanted."""
    unsure = [edge for edge in edges if edge.confidence not in (EXACT, CONFIRMED)]
    definitions = await found.root.ask(lambda reader: reader.symbols(edge.dst for edge in unsure))
    doubts = []
    for edge in unsure:
        target = definitions[edge.dst]
        where = found.root.folder / target.path
        first, last = target.range[0], target.range[2]
        doubts.append(Doubt(found.root.shown(edge.path), edge.line, edge.character, where, first, last))
    verdicts = await ask(session, doubts)
    said = dict(zip(map(id, unsure), verdicts.said, strict=True))
    trace.notes += [note for note in verdicts.notes if note not in trace.notes]
    kept = []
    for edge in edges:
        verdict = said.get(id(edge))
        if verdict is True:
            edge = replace(edge, confidence=CONFIRMED)  # noqa: PLW2901  (the same edge, as it is known now)
        if verdict is False:
            trace.refuted += 1
        elif edge.confidence <= least:
            kept.append(edge)
        elif count:
            trace.inferred += edge.confidence == INFERRED
            trace.ambiguous += edge.confidence == AMBIGUOUS
    return kept
