"""Incremental equals rebuild, always: after random edits the graph that was kept is the one that is built anew.

What goes wrong in others: incremental must equal a rebuild, also after lines shift (ops-codegraph-tool#1752).
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from ombud.graph.pool import Pool, command
from ombud.graph.resolve import Resolver

from tests.peers.graph_edits import EDGE, KINDS, Kept, Kind, Project

EDITS = 200
BETWEEN = 5
"""Edits between two looks at the whole."""


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_incremental_equals_rebuild(tmp_path: Path, kind: Kind, seed: int) -> None:
    root = tmp_path / "project"
    project = Project(root, kind, Random(seed))
    with Pool(command(root.resolve()), 1) as pool:
        kept = Kept(root, tmp_path / "kept", pool)
        try:
            done: list[str] = []
            edges = 0
            for number in range(EDITS):
                done.append(project.edit())
                kept.update()
                if number % BETWEEN == BETWEEN - 1:
                    edges += _compare(kept, Kept(root, tmp_path / f"built-{number}", pool), done)
                    done.clear()
            assert edges > EDITS, "the edits lead to hardly any edges"
        finally:
            kept.close()


def _compare(kept: Kept, built: Kept, done: list[str]) -> int:
    """The number of edges."""
    built.close()
    ours, anew = kept.rows(), built.rows()
    lost, stale = [row for row in anew if row not in ours], [row for row in ours if row not in anew]
    assert ours == anew, "\n".join(("after", *done, "missing", *map(repr, lost), "stale", *map(repr, stale)))
    return sum(len(row) == EDGE for row in anew)


class _Failing(Resolver):
    """Does not get to know what one file offers, as where a mistake of ours is met by it."""

    def provided(self, file: int) -> dict[int, int]:
        if self._sources.path(file) == "a.py":
            raise RecursionError
        return super().provided(file)


def test_what_a_file_offers_is_not_known(tmp_path: Path) -> None:
    """Then nobody's answer may be left as it was."""
    root = tmp_path / "project"
    root.mkdir()
    root.joinpath("a.py").write_text("from c import f\n")
    root.joinpath("b.py").write_text("from a import f\n\nf()\n")
    root.joinpath("c.py").write_text("def f(): pass\n\n\ndef g(): pass\n")
    with Pool(command(root.resolve()), 1) as pool:
        kept = Kept(root, tmp_path / "kept", pool, _Failing)
        try:
            root.joinpath("a.py").write_text("from c import g as f\n")
            kept.update()
            assert _compare(kept, Kept(root, tmp_path / "built", pool), ["a.py"]) > 1
        finally:
            kept.close()
