"""One package from its pins to its score."""

from __future__ import annotations

import tempfile
from pathlib import Path

from . import oracle, packages, servers
from .export import call_edges, export
from .packages import Package
from .score import Score, score
from .truth import Truth


def measure(package: Package) -> Score:
    """Index a copy of the package, export another, compare. Raises ToolError and ExportFailed."""
    with tempfile.TemporaryDirectory(prefix="ombud-accuracy-") as scratch:
        folder = Path(scratch) / "project"
        truth = _truth(package, Path(scratch).resolve())
        # A copy of its own: ours must not see the indexer's settings, and the indexer must not see ours.
        packages.copy(package, folder)
        return score(truth, call_edges(export(folder)))


def _truth(package: Package, scratch: Path) -> Truth:
    if package not in packages.FIXTURES:
        return oracle.ask(package, scratch / "oracle")
    packages.copy(package, scratch / "oracle")
    data = scratch / "server"
    data.mkdir()
    return servers.ask(servers.known(package.language, data), scratch / "oracle")
