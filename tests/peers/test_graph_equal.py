"""Incremental equals rebuild, always: after random edits the graph that was kept is the one that is built anew.

What goes wrong in others: incremental must equal a rebuild, also after lines shift (ops-codegraph-tool#1752).
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from ombud.graph.pool import Pool, command

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
