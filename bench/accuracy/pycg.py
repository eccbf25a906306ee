"""PyCG's micro-benchmark: small programs, each with the call graph that it must give, as names.

Its graphs name what calls and what is called, without places: ``main.Class.method``. A program's lambdas have nodes of
their own there; our call sites belong to the innermost *named* definition, so an expected caller ``f.<lambda1>`` is
read as ``f``. Callees outside the program are left out, as calls into libraries are no edges of ours.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from .export import Edge, call_edges, export

PRECISION = 0.97

Named = tuple[str, str]  # caller, callee


@dataclass
class Micro:
    """Counts over all cases; `wrong` and `missed` have a line each, under their category."""

    expected: int = 0
    found: int = 0
    edges: int = 0
    cases: int = 0
    perfect: int = 0
    wrong: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    by_category: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        return self.found / self.edges if self.edges else 0.0

    @property
    def recall(self) -> float:
        return self.found / self.expected if self.expected else 0.0


def measure(snippets: Path) -> Micro:
    """Run every case as a project of its own. Raises ExportFailed."""
    cases = sorted(path.parent for path in snippets.glob("*/*/callgraph.json"))
    with tempfile.TemporaryDirectory(prefix="ombud-pycg-") as scratch, ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda case: _ours(case, Path(scratch) / case.parent.name / case.name), cases))
    result = Micro()
    for case, edges in zip(cases, answers, strict=True):
        name = f"{case.parent.name}/{case.name}"
        expected = wanted(json.loads((case / "callgraph.json").read_text(encoding="utf-8")), modules(case))
        given = {named for edge in edges if (named := spelled(edge, expected)) is not None}
        result.cases += 1
        result.perfect += given == expected
        result.expected += len(expected)
        result.edges += len(given)
        result.found += len(given & expected)
        result.wrong += [f"{name}: {caller} -> {callee}" for caller, callee in sorted(given - expected)]
        result.missed += [f"{name}: {caller} -> {callee}" for caller, callee in sorted(expected - given)]
        result.by_category[case.parent.name] += len(expected - given)
    return result


def _ours(case: Path, copy: Path) -> list[Edge]:
    shutil.copytree(case, copy, ignore=shutil.ignore_patterns("callgraph.json", "README.md"))
    return call_edges(export(copy))


def modules(case: Path) -> set[str]:
    return {module(path.relative_to(case).as_posix()) for path in case.rglob("*.py")}


def module(path: str) -> str:
    """The dotted name of a file: ``a/b.py`` is ``a.b``, ``a/__init__.py`` is ``a``."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def wanted(graph: dict[str, list[str]], known: set[str]) -> set[Named]:
    """The edges of an expected graph that lead inside the program, with lambdas' calls given to who has the lambda."""
    return {
        (caller, callee)
        for key, callees in graph.items()
        for callee in callees
        if _inside(callee, known) and _inside(caller := _without_lambdas(key), known)
    }


def _inside(name: str, known: set[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in known)


def _without_lambdas(name: str) -> str:
    return ".".join(part for part in name.split(".") if not part.startswith("<lambda"))


def spelled(edge: Edge, expected: set[Named]) -> Named | None:
    """An edge of ours in the benchmark's names. To call a class is to call its ``__init__`` there; None without one."""
    caller = _spell(edge.source_path, edge.source, edge.source_kind)
    callee = _spell(edge.path, edge.qualified, edge.kind)
    if edge.kind == "class":
        callee = f"{callee}.__init__"
        return (caller, callee) if (caller, callee) in expected else None
    return caller, callee


def _spell(path: str, qualified: str, kind: str) -> str:
    return module(path) if kind == "module" or not qualified else f"{module(path)}.{qualified}"
