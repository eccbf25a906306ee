"""How soon structural search answers, beside the ast-grep command on the same trees in the same run.

Both look for the same pattern, by turns. ast-grep is a command, and reads and parses everything each time; Ombud stays,
and keeps what it has parsed. ``from nothing`` is measured from the start of its processes; ``cold`` with processes that
run and have seen nothing of the tree, and ``first 100`` likewise, to the end of a page. ``warm`` is another search of
the same shape, so that no answer is remembered, only sources and trees; ``again`` is the very same search. The searcher
is the hub's own; the request's JSON is not counted.

Ratios are of the clock, those in brackets of the processor time of all processes, which a busy machine changes less.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from ombud.process.guardian import Guardian
from ombud.structural.messages import Root
from ombud.structural.query import Query
from ombud.structural.search import Job, Options, Outcome, Searcher
from search_source import trees

ALL = 10_000_000
MB = 1_000_000


@dataclass(frozen=True)
class Case:
    """``$X`` and ``$Y`` are renamed for each search that must not be answered from memory."""

    language: str
    pattern: str
    selective: bool


CASES = (
    Case("python", "isinstance($X, $Y)", True),
    Case("python", "$X = $Y", False),
    Case("python", "$X($$$)", False),
    Case("typescript", "$X.unsubscribe()", True),
    Case("typescript", "$X = $Y", False),
    Case("typescript", "$X($$$)", False),
    Case("javascript", "$X.dispose()", True),
    Case("javascript", "$X = $Y", False),
    Case("javascript", "$X($$$)", False),
)
WAYS = ("from nothing", "cold", "warm", "again", "first 100")
AIMS = {
    "from nothing": (None, None),
    "cold": (0.7, 1.0),
    "warm": (0.03, 0.3),
    "again": (0.03, 0.3),
    "first 100": (None, 0.05),
}
"""What the ratio may be, for a selective pattern and for one that is not."""


@dataclass
class Row:
    """Seconds by the clock and of the processors, a list for each way; ``hits`` as each side counts them; ``memory``
    of the workers in bytes."""

    case: Case
    seconds: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    hits: dict[str, int] = field(default_factory=dict)
    memory: int = 0
    files: int = 0

    def median(self, way: str, which: int = 0) -> float:
        return statistics.median(one[which] for one in self.seconds[way])

    def ratio(self, way: str, which: int = 0) -> float:
        return self.median(way, which) / self.median("ast-grep", which)

    def aim(self, way: str) -> float | None:
        selective, other = AIMS[way]
        return selective if self.case.selective else other


def ast_grep(command: str, case: Case, root: Path) -> tuple[tuple[float, float], int]:
    before, begun = _children(), time.perf_counter()
    argv = [command, "run", "--json=stream", "--pattern", case.pattern, "--lang", case.language, str(root)]
    ran = subprocess.run(argv, stdout=subprocess.PIPE, check=False)
    seconds = time.perf_counter() - begun
    if ran.returncode not in (0, 1):
        sys.exit(f"ast-grep failed with code {ran.returncode}.")
    return (seconds, _children() - before), ran.stdout.count(b"\n")


def _children() -> float:
    """Processor seconds of the processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Ombud:
    """The searcher of a hub, and what a pattern is called so that its answer is not remembered."""

    def __init__(self, memory: int) -> None:
        self._guardian = Guardian()
        self._memory = memory
        self._searcher = self._made()
        self._count = 0

    def _made(self) -> Searcher:
        return Searcher(lambda: self._guardian, lambda: Options(self._memory, 10))

    async def fresh(self, started: Path | None) -> None:
        """Other processes, that have seen nothing: none at all, or such as have searched ``started``."""
        await self._searcher.close()
        self._searcher = self._made()
        if started is not None:
            await self.find(CASES[0], started, 1)

    async def find(self, case: Case, root: Path, most: int, again: bool = False) -> tuple[tuple[float, float], Outcome]:
        self._count += not again
        pattern = case.pattern.replace("$X", f"$X{self._count}").replace("$Y", f"$Y{self._count}")
        job = Job(Query(pattern=pattern), [Root(str(root))], [case.language], most=most, seconds=600)
        before, begun = self._used(), time.perf_counter()
        outcome = await self._searcher.find(job)
        seconds = time.perf_counter() - begun, self._used() - before
        await self._searcher.uncounted()
        return seconds, outcome

    def _used(self) -> float:
        """Processor seconds of this process and the workers."""
        return time.process_time() + sum(sum(one.cpu_times()[:2]) for one in self._workers())

    def _workers(self) -> list[psutil.Process]:
        found = psutil.Process().children(recursive=True)
        return [one for one in found if "ombud.structural.worker" in one.cmdline()]

    def memory(self) -> int:
        """Of the workers, in bytes."""
        return sum(one.memory_info().rss for one in self._workers())

    async def close(self) -> None:
        await self._searcher.close()
        await self._guardian.close()


async def measured(case: Case, root: Path, command: str, ombud: Ombud, rounds: int, empty: Path) -> Row:
    row = Row(case)
    ways: dict[str, list[tuple[float, float]]] = {way: [] for way in ("ast-grep", *WAYS)}
    for _ in range(rounds):
        seconds, row.hits["ast-grep"] = ast_grep(command, case, root)
        ways["ast-grep"].append(seconds)
        await ombud.fresh(None)
        seconds, outcome = await ombud.find(case, root, ALL)
        ways["from nothing"].append(seconds)
        await ombud.fresh(empty)
        seconds, outcome = await ombud.find(case, root, ALL)
        ways["cold"].append(seconds)
        row.hits["ombud"], row.files = len(outcome.hits), outcome.searched
        if outcome.stopped:
            sys.exit(f"Ombud did not come to the end of {case.pattern} ({outcome.stopped}).")
        for _ in range(2):
            seconds, outcome = await ombud.find(case, root, ALL)
        ways["warm"].append(seconds)
        seconds, outcome = await ombud.find(case, root, ALL, again=True)
        ways["again"].append(seconds)
        row.memory = max(row.memory, ombud.memory())
        await ombud.fresh(empty)
        seconds, outcome = await ombud.find(case, root, 100)
        ways["first 100"].append(seconds)
    row.seconds = ways
    return row


def table(rows: Sequence[Row]) -> str:
    lines = [
        "| tree | pattern | files | hits (ast-grep) | ast-grep | " + " | ".join(WAYS) + " | workers |",
        "|" + "---|" * (6 + len(WAYS)),
    ]
    for row in rows:
        cells = [row.case.language, f"`{row.case.pattern}`", f"{row.files:,}"]
        cells += [
            f"{row.hits['ombud']:,} ({row.hits['ast-grep']:,})",
            f"{row.median('ast-grep'):.2f} s",
        ]
        for way in WAYS:
            aim = row.aim(way)
            met = "" if aim is None else (", met" if row.ratio(way) <= aim else f", aim {aim} MISSED")
            cells.append(f"{row.ratio(way):.3f} ({row.ratio(way, 1):.2f}){met}")
        cells.append(f"{row.memory / MB:.0f} MB")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


async def main_of(arguments: argparse.Namespace) -> list[Row]:
    command = shutil.which("ast-grep", path=str(Path(sys.executable).parent)) or shutil.which("ast-grep")
    if command is None:
        sys.exit("ast-grep is not there; install the extra: pip install -e '.[bench]'.")
    found, rows = trees(), []
    ombud = Ombud(arguments.cache * MB)
    try:
        with tempfile.TemporaryDirectory() as empty:
            Path(empty, "one.py").write_text("isinstance(1, int)\n")
            for case in CASES:
                if arguments.only in (None, case.language):
                    rows.append(
                        await measured(case, found[case.language], command, ombud, arguments.rounds, Path(empty))
                    )
                    print(table(rows[-1:]).splitlines()[-1], file=sys.stderr)
    finally:
        await ombud.close()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["python", "typescript", "javascript"])
    parser.add_argument("--cache", type=int, default=256, help="what search.cacheMb is")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows = asyncio.run(main_of(arguments))
    if arguments.json:
        print(json.dumps([{**asdict(row), "ratios": {way: row.ratio(way) for way in AIMS}} for row in rows]))
    else:
        print(table(rows))


if __name__ == "__main__":
    main()
