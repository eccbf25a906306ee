"""Our exported call edges beside the truth: precision, recall, and a line for every failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from .export import Edge
from .truth import EXTERNAL, INSIDE, UNKNOWN, VALUE, Binding, Definition, Place, Truth


@dataclass(frozen=True)
class Failure:
    """One wrong edge or missed site: where, what the truth says and what we said, grouped by `pattern`."""

    pattern: str
    place: Place
    expected: str
    found: str
    line: str

    def __str__(self) -> str:
        path, line, character = self.place
        return f"{path}:{line + 1}:{character + 1}: {self.expected} <> {self.found} | {self.line}"


@dataclass
class Score:
    """Counts over one package.

    Precision is `right` of `right + wrong` edges, over call sites whose callee the indexer knows; recall is `found` of
    `sites`, the sites bound to a definition of the package. `left_out` counts what takes no part, by reason.
    """

    sites: int = 0
    found: int = 0
    right: int = 0
    wrong: list[Failure] = field(default_factory=list)
    missed: list[Failure] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        edges = self.right + len(self.wrong)
        return self.right / edges if edges else 0.0

    @property
    def recall(self) -> float:
        return self.found / self.sites if self.sites else 0.0


def score(truth: Truth, edges: Iterable[Edge]) -> Score:
    """Compare. Edges in files that the indexer did not read, and those between other languages, take no part."""
    result = Score()
    at: dict[Place, set[Edge]] = {}
    for edge in edges:
        at.setdefault(edge.place, set()).add(edge)
    for place, call, bound in truth.calls():
        here = at.pop(place, set())
        if bound.kind == UNKNOWN:
            result.left_out["sites without a definition in the index"] += 1
            result.left_out["edges there"] += len(here)
            continue
        if bound.kind == VALUE:
            result.left_out["sites that call a variable"] += 1
        hits = _judge(truth, place, call.shape, bound, here, result)
        if bound.kind == INSIDE and call.counted:
            result.sites += 1
            result.found += bool(hits)
            if not hits:
                pattern = f"missed {call.shape}" + (", other edge there" if here else "")
                result.missed.append(_failure(truth, pattern, place, bound, here))
    for place, here in at.items():
        _elsewhere(truth, place, here, result)
    return result


def _judge(truth: Truth, place: Place, shape: str, bound: Binding, here: set[Edge], result: Score) -> int:
    """Count the edges of one site as right or wrong; returns how many are right."""
    hits = 0
    for edge in sorted(here, key=lambda one: (one.path, one.start)):
        if (edge.path, edge.start, edge.name) in bound.made:
            result.left_out["edges to the called variable itself, which earn nothing"] += 1
        elif _agrees(truth, bound, edge):
            hits += 1
            result.right += 1
        elif bound.kind == VALUE and not bound.targets:
            result.left_out["edges from a called variable to what it may hold"] += 1
        else:
            what = "a library's callee" if bound.kind == EXTERNAL else "another definition"
            result.wrong.append(_failure(truth, f"wrong {shape}, {what}", place, bound, {edge}))
    return hits


def _elsewhere(truth: Truth, place: Place, here: set[Edge], result: Score) -> None:
    """An edge whose place is no call's name (a function passed on, a decorator): it can be wrong, but earns nothing."""
    if place[0] not in truth.sources:
        result.left_out["edges in files that the indexer did not read"] += len(here)
        return
    bound = truth.bindings.get(place)
    for edge in here:
        known = bound is not None and bound.kind in {INSIDE, EXTERNAL}
        if bound is not None and known and not _agrees(truth, bound, edge):
            result.wrong.append(_failure(truth, "wrong elsewhere", place, bound, {edge}))
        else:
            result.left_out["edges at no call's name, right or not known"] += 1


def _agrees(truth: Truth, bound: Binding, edge: Edge) -> bool:
    if (edge.path, edge.start, edge.name) in bound.made:
        return True
    held = truth.sources.get(edge.path)
    name = held.starts.get((edge.name, edge.start)) if held is not None else None
    if name is None:
        return False
    accepted: set[Definition] = set()
    for target in bound.targets:
        accepted |= truth.family(target)
    return (edge.path, name) in accepted


def _failure(truth: Truth, pattern: str, place: Place, bound: Binding, here: set[Edge]) -> Failure:
    expected = ", ".join(sorted(f"{path}#{name}" for path, name in bound.targets)) or bound.kind
    found = ", ".join(sorted(f"{edge.path}#{edge.name}:{edge.start + 1}" for edge in here)) or "nothing"
    return Failure(pattern, place, expected, found, truth.line(place))
