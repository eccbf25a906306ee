"""How risky a change is: a score from 0 to 100 out of named factors.

| factor | value | points |
|---|---|---|
| ``callers`` | direct dependents | 7 · log2(1 + value), at most 35 |
| ``exported`` | 1 where other files may use it | 10 |
| ``files`` | files with a dependent | 4 · log2(1 + value), at most 20 |
| ``packages`` | folders with a dependent | 5 · (value - 1), at most 10 |
| ``depth`` | the farthest level that was reached | 5 · (value - 1), at most 10 |
| ``tests`` | tests that reach it | 3 · callers, at most 15, divided by (1 + value) |

Below 25 the level is ``low``, below 50 ``medium``, below 75 ``high``, else ``critical``. More dependents never lower
the score, more tests never raise it. Where a search was cut, the values are the least that is known.
"""

from __future__ import annotations

from collections.abc import Collection
from math import log2
from typing import Literal

from ombud.operations.graph.shapes import Factor, Risk

Level = Literal["low", "medium", "high", "critical"]
LEVELS: tuple[tuple[float, Level], ...] = ((25, "low"), (50, "medium"), (75, "high"))


def assess(*, callers: int, exported: bool, files: Collection[str], depth: int, tests: int) -> Risk:
    """``callers``: direct dependents that are no tests; ``files``: the paths of all dependents that are none."""
    packages = len({path.rpartition("/")[0] for path in files})
    factors = [
        Factor(name="callers", value=callers, points=min(35, 7 * log2(1 + callers))),
        Factor(name="exported", value=int(exported), points=10 * exported),
        Factor(name="files", value=len(files), points=min(20, 4 * log2(1 + len(files)))),
        Factor(name="packages", value=packages, points=min(10, 5 * max(0, packages - 1))),
        Factor(name="depth", value=depth, points=min(10, 5 * max(0, depth - 1))),
        Factor(name="tests", value=tests, points=min(15, 3 * callers) / (1 + tests)),
    ]
    total = sum(one.points for one in factors)
    for one in factors:
        one.points = round(one.points, 1)
    return Risk(level=level(total), score=min(100, round(total)), factors=factors)


def level(score: float) -> Level:
    return next((name for bound, name in LEVELS if score < bound), "critical")
