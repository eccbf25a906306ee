"""Figures of `graph.py` in words: aims, percentiles, a plot of points, and how far they are from a straight line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Aim(NamedTuple):
    """One thing to be shown: ``value`` against ``limit``, which is the most, or with ``least`` the least."""

    what: str
    value: float
    limit: float
    unit: str
    least: bool = False

    @property
    def met(self) -> bool:
        return self.value >= self.limit if self.least else self.value <= self.limit

    def line(self) -> str:
        sign = "≥" if self.least else "≤"
        verdict = "met" if self.met else "MISSED"
        return f"  {verdict:7}{self.what}: {figure(self.value)}{self.unit} (aim {sign} {figure(self.limit)}{self.unit})"

    def data(self) -> dict[str, Any]:
        return {**self._asdict(), "met": self.met}


def figure(value: float) -> str:
    """Three digits that count."""
    if value == 0 or not math.isfinite(value):
        return str(value)
    digits = max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:.{digits}f}"


def percentile(values: Sequence[float], share: float) -> float:
    """The least of ``values`` that at least ``share`` of them do not exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def spread(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds: ``p50``, ``p95`` and ``max``, and how many (``count``)."""
    shares = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    return {"count": len(seconds), **{name: 1000 * percentile(seconds, share) for name, share in shares.items()}}


def spread_line(name: str, seconds: Sequence[float], note: str = "") -> str:
    if not seconds:
        return f"{name:34}{0:6}"
    row = spread(seconds)
    return f"{name:34}{len(seconds):6}{row['p50']:9.2f}{row['p95']:9.2f}{row['max']:9.2f}  {note}".rstrip()


SPREAD_HEAD = f"{'in ms':34}{'times':>6}{'p50':>9}{'p95':>9}{'max':>9}"


class Line(NamedTuple):
    """``cost = base + slope × size``, and the largest distance of a point from it, as a share of the point's cost."""

    base: float
    slope: float
    off: float


def straight(points: Mapping[int, float]) -> Line:
    """The line that is nearest to the points by relative distance: each point weighs the same, whatever its size."""
    weights = {size: 1 / cost**2 for size, cost in points.items()}
    total = sum(weights.values())
    middle = sum(weights[size] * size for size in points) / total
    height = sum(weights[size] * cost for size, cost in points.items()) / total
    square = sum(weights[size] * (size - middle) ** 2 for size in points)
    mixed = sum(weights[size] * (size - middle) * (cost - height) for size, cost in points.items())
    slope = mixed / square if square else 0.0
    base = height - slope * middle
    off = max(abs(base + slope * size - cost) / cost for size, cost in points.items())
    return Line(base, slope, off)


def exponent(points: Mapping[int, float]) -> float:
    """``k`` where cost grows with ``size ** k`` from the second largest to the largest: 1 is a line."""
    small, large = sorted(points)[-2:]
    return math.log(points[large] / points[small]) / math.log(large / small)


def plot(series: Mapping[str, Mapping[int, float]], x: str, y: str, width: int = 66, height: int = 16) -> str:
    """Points of several series as text, both axes from zero. Each series is drawn with the first letter of its name,
    between the points a dotted line from zero to the last point of the first series."""
    right = max(size for points in series.values() for size in points)
    top = max(cost for points in series.values() for cost in points.values())
    grid = [[" "] * (width + 1) for _ in range(height + 1)]
    first = next(iter(series.values()))
    last = max(first)
    for column in range(width + 1):
        size = right * column / width
        if size <= last:
            grid[round(first[last] * size / last / top * height)][column] = "·"
    for name, points in series.items():
        for size, cost in points.items():
            grid[round(cost / top * height)][round(size / right * width)] = name[0].upper()
    rows = []
    for row in range(height, -1, -1):
        label = figure(top * row / height) if row in (0, height // 2, height) else ""
        rows.append(f"{label:>8} │{''.join(grid[row]).rstrip()}")
    rows.append(f"{'':8} └{'─' * (width + 1)}")
    rows.append(f"{y:>8}  0{f'{right:,} {x}':>{width}}")
    return "\n".join(rows)
