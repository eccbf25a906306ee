"""The code graph's call edges on real packages, against indexers and language servers. ``make accuracy`` runs all."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.accuracy import oracle, packages, report
from bench.accuracy.measure import measure
from bench.accuracy.score import Score

pytestmark = [pytest.mark.real, pytest.mark.slow]


@pytest.fixture(autouse=True)
def indexers() -> None:
    """A missing indexer fails the test: a skipped one would look passed."""
    for name in ("scip-python", "scip-typescript"):
        if not (oracle.SCIP / name).exists():
            pytest.fail(f"{name} is not among the tools in .tools. Run `make tools`.", pytrace=False)


@pytest.mark.parametrize(("name", "sites"), [("click", 600), ("immer", 300)])
def test_call_edges_keep_the_promise(name: str, sites: int, tmp_path: Path) -> None:
    package = packages.PACKAGES[name]
    score = measure(package)
    listed = report.write_failures(tmp_path, package, score).read_text(encoding="utf-8")
    # Fewer sites would mean that the truth was not read, and nothing could fail.
    assert score.sites >= sites, listed
    assert report.kept(package, score), listed


@pytest.mark.parametrize(("language", "sites"), [("go", 55), ("java", 80), ("rust", 60), ("cpp", 60)])
def test_call_edges_agree_with_the_language_server(language: str, sites: int, tmp_path: Path) -> None:
    package = packages.PACKAGES[language]
    score = measure(package)
    listed = report.write_failures(tmp_path, package, score).read_text(encoding="utf-8")
    assert score.sites >= sites, listed
    # Precision is promised; that of hardly any edges would say nothing.
    assert score.right >= sites // 2, listed
    assert report.kept(package, score), listed


def test_eight_and_four_packages_are_promised() -> None:
    assert sum(package.promised for package in packages.PYTHON) >= 8
    assert sum(package.promised for package in packages.TYPESCRIPT) >= 4
    assert all(package.promised for package in (packages.PACKAGES["click"], packages.PACKAGES["immer"]))


def test_no_edges_at_all_break_a_promise() -> None:
    assert not report.kept(packages.PACKAGES["click"], Score())
