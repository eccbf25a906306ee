"""The table of all packages, and the files that list their failures."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from .packages import Package
from .pycg import PRECISION, Micro
from .score import Failure, Score

HEAD = f"{'package':24} {'sites':>6} {'edges':>6} {'P':>6} {'R':>6}  {'promised':13}"


def row(package: Package, score: Score) -> str:
    """One line: sites bound inside the package, our edges at known sites, precision, recall, and the promise."""
    promise = f"{package.precision:.2f} / {package.recall:.2f}" if package.promised else "-"
    promise = promise.replace("/ 0.00", "/ -")
    mark = "" if not package.promised else "  kept" if kept(package, score) else "  BROKEN"
    edges = score.right + len(score.wrong)
    return f"{package.name:24} {score.sites:6} {edges:6} {score.precision:6.3f} {score.recall:6.3f}  {promise:13}{mark}"


def kept(package: Package, score: Score) -> bool:
    return score.precision >= package.precision and score.recall >= package.recall


def micro_row(micro: Micro) -> str:
    mark = "kept" if micro.precision >= PRECISION else "BROKEN"
    return (
        f"{'PyCG micro-benchmark':24} {micro.expected:6} {micro.edges:6} {micro.precision:6.3f} {micro.recall:6.3f}  "
        f"{PRECISION:.2f} / -       {mark}   ({micro.perfect} of {micro.cases} programs whole)"
    )


def write_failures(folder: Path, package: Package, score: Score) -> Path:
    """One file a package: what was left out, with counts, then wrong edges and missed sites by pattern."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = [row(package, score), "", *(f"left out: {count} {what}" for what, count in sorted(score.left_out.items()))]
    for failures in (score.wrong, score.missed):
        lines += _grouped(failures)
    return _write(folder / f"{package.name.replace('@', '').replace('/', '-')}.txt", lines)


def write_micro(folder: Path, micro: Micro) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [micro_row(micro), ""]
    lines += [f"missed in {category}: {count}" for category, count in sorted(micro.by_category.items()) if count]
    lines += ["", f"wrong: {len(micro.wrong)}", *micro.wrong, "", f"missed: {len(micro.missed)}", *micro.missed]
    return _write(folder / "pycg.txt", lines)


def _grouped(failures: Sequence[Failure]) -> list[str]:
    groups: defaultdict[str, list[Failure]] = defaultdict(list)
    for failure in failures:
        groups[failure.pattern].append(failure)
    lines = []
    for pattern, members in sorted(groups.items(), key=lambda item: (-len(item[1]), item[0])):
        lines += ["", f"{pattern}: {len(members)}", *map(str, sorted(members, key=lambda one: one.place))]
    return lines


def _write(path: Path, lines: Sequence[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
