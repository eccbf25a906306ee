"""What may break when a symbol or a file changes: direct and indirect dependents, tests that reach it, and the risk.

Only edges that lead *to* it are followed: calls, inheritance, references, and for a file its imports. Tests stand in
``tests`` only. A call of a method is not taken for one of the methods that override it. The risk is a score out of
named factors: callers, exported, files, packages, depth and tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from ombud.graph.facts import CALL_SITE, CONFIDENCES, CONFIRMED, IMPORT_SITE, INHERIT_SITE, REFERENCE_SITE
from ombud.operations.graph import dress
from ombud.operations.graph.budget import Budget
from ombud.operations.graph.ground import Root, consult
from ombud.operations.graph.named import Meant, meant
from ombud.operations.graph.risk import assess
from ombud.operations.graph.shapes import DEPTH_LIMIT, EdgeShape, Listed, Others, Risk, SymbolShape, Tracing
from ombud.operations.graph.traced import Trace, Way, traced

if TYPE_CHECKING:
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Edge
    from ombud.operations.session import Session

CAP = 20_000
"""Symbols that are reached at the most."""
USES = (CALL_SITE, INHERIT_SITE, REFERENCE_SITE)
Depth = Annotated[int, msgspec.Meta(ge=1, le=DEPTH_LIMIT, description="How many steps far; 1 is direct only.")]


class Params(Tracing, frozen=True, kw_only=True):
    depth: Depth = 3


class Dependent(SymbolShape, kw_only=True):
    depth: int
    via: EdgeShape | None
    """One of the sites by which it depends on what is one step nearer."""


class Result(Listed, kw_only=True):
    direct: list[Dependent]
    indirect: list[Dependent]
    tests: list[Dependent]
    files: int
    """How many files have a dependent, tests included; those with a symbol that was asked about are not counted."""
    risk: Risk
    others: Others
    refuted: int = 0
    """Sites that a language server said mean something else."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A symbol that was reached: by an edge of ``kind`` to ``to``, which is one step nearer."""

    id: int
    depth: int
    to: int
    kind: int
    confidence: int
    path: str
    test: bool
    site: Edge | None = None
    """Where, if that is not stored: a guess by name."""


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for a name that several symbols have, with ``candidates``, and for a place that is not there;
    `Refused` (``not_found``, with the nearest names; the fence's kinds)."""
    ground = await consult(session, params)
    found = await meant(session, ground, params)
    start = await found.root.ask(lambda reader: _start(reader, found))
    trace, reached, cut = await _reached(session, found, start, params)
    groups: dict[str, list[Reach]] = {"direct": [], "indirect": [], "tests": []}
    for one in reached:
        groups["tests" if one.test else "direct" if one.depth == 1 else "indirect"].append(one)
    budget = Budget(params.tokens, used=900)
    lists: dict[str, list[Dependent]] = {}
    for name in ("direct", "tests", "indirect"):
        some = groups[name][: params.limit]
        shapes = await found.root.ask(lambda reader: _dressed(found.root, reader, some))  # noqa: B023
        lists[name] = budget.fit(shapes, params.limit, name=name, total=len(groups[name]))
    plain = [*groups["direct"], *groups["indirect"]]
    more = f"The search ended at {len(reached):,} symbols; what is farther is not known." if cut else None
    return Result(
        direct=lists["direct"],
        indirect=lists["indirect"],
        tests=lists["tests"],
        files=len({one.path for one in reached}),
        risk=assess(
            callers=len(groups["direct"]),
            exported=any(one.exported for one in found.definitions if one.container is not None) or _is_file(found),
            files={one.path for one in plain},
            depth=max((one.depth for one in plain), default=0),
            tests=len(groups["tests"]),
        ),
        others=Others(inferred=trace.inferred, ambiguous=trace.ambiguous),
        refuted=trace.refuted,
        truncated=cut or bool(budget.cut),
        note=ground.note(
            budget.sentence("raise limit or tokens, or lower depth"),
            more,
            ground.about(found.main.language),
            *trace.notes,
        ),
        **ground.said(trace.inferred + trace.ambiguous),
    )


def _is_file(found: Meant) -> bool:
    return found.main.container is None


def _start(reader: Reader, found: Meant) -> list[int]:
    """The symbols that change: for a file all that are in it."""
    if not _is_file(found):
        return found.ids
    return [one.id for one in reader.symbols_in(found.main.file)]


async def _reached(
    session: Session, found: Meant, start: Sequence[int], params: Params
) -> tuple[Trace, list[Reach], bool]:
    """What was found, nearest first, and whether there is more."""
    least, depth = CONFIDENCES.index(params.confidence), params.depth
    kinds = (*USES, IMPORT_SITE) if _is_file(found) else USES
    if params.confirm or least > CONFIRMED:
        trace = await traced(session, found, params, Way(start, kinds, depth, CAP, "src"))
        files = await found.root.ask(lambda reader: _files(reader, trace.edges))
        reached = _of_edges(trace.edges, files, set(start))
        return trace, reached, trace.truncated

    def ask(reader: Reader) -> tuple[Trace, list[Reach], bool]:
        from ombud.graph.store import walks

        with reader.reading():
            whole = walks.impact(reader, start, depth, CAP, least)
            # What may be meant by name alone is only counted, for what was asked about itself.
            by_name = reader.callers(found.ids, 1, 1, kinds=(CALL_SITE,), confidence=least)
            trace = Trace(inferred=by_name.inferred, ambiguous=by_name.ambiguous)
            reached = [
                Reach(one.id, one.depth, one.to, one.kind, one.confidence, one.path, one.test) for one in whole.reached
            ]
            return trace, reached, whole.truncated

    return await found.root.ask(ask)


def _files(reader: Reader, edges: Iterable[Edge]) -> dict[int, bool]:
    """Symbol → whether it is a test, for the sources of edges."""
    return {number: one.test for number, one in reader.symbols({edge.src for edge in edges}).items()}


def _of_edges(edges: Iterable[Edge], tests: dict[int, bool], start: set[int]) -> list[Reach]:
    """Each symbol once, by the first of its edges."""
    reached: dict[int, Reach] = {}
    for edge in edges:
        if edge.src in tests and edge.src not in start:
            one = Reach(edge.src, edge.depth, edge.dst, edge.kind, edge.confidence, edge.path, tests[edge.src], edge)
            reached.setdefault(edge.src, one)
    return sorted(reached.values(), key=lambda one: (one.depth, one.path, one.id))


def _dressed(root: Root, reader: Reader, some: Sequence[Reach]) -> list[Dependent]:
    from ombud.graph.store import walks

    with reader.reading():
        definitions = reader.symbols(one.id for one in some)
        keys = {number: root.shown_key(reader.key(number) or "") for one in some for number in (one.id, one.to)}
        out = []
        for one in some:
            if (definition := definitions.get(one.id)) is None:
                continue
            site = one.site or walks.site(reader, one.id, one.to, one.kind)
            via = dress.edge(root, site, keys) if site is not None else None
            values: dict[str, Any] = dress.fields(root, definition)
            out.append(Dependent(**values, depth=one.depth, via=via))
        return out
