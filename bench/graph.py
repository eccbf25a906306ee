"""What the code graph of a large project costs, beside ctags and codegraph on the same sources in the same run.

Three parts. ``index``: Django's repository from nothing, with the processor time of all processes, the peak of
each, and the bytes on disk. ``queries``: in a session, how soon the graph shows an edit, and how long impact and
search take. ``scale``: 1,000, 3,000 and 30,000 files, which are Django's over and over under other package names.

ctags knows symbols only; codegraph also has calls, as Ombud has.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import signal
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import graph_session
import graph_source
from graph_source import Missing
from graph_tree import Cost, Failed, measure
from graph_words import SPREAD_HEAD, Aim, exponent, figure, plot, spread, spread_line, straight

PARTS = ("index", "queries", "scale")
SIZES = (1_000, 3_000, 30_000)
STRAIGHT = 0.15
"""How far a point may be from the line, as a share of its cost, to be called on it."""
MB = 1e6


class Side(NamedTuple):
    """One way to an index: its ``name``, how it is run, and where it leaves what it stores. ``{home}`` stands for a
    folder that is emptied before each run, ``{root}`` for the project."""

    name: str
    argv: list[str]
    store: str


class Run(NamedTuple):
    """One index from nothing. ``stored`` in bytes; ``said`` is what Ombud answers."""

    cost: Cost
    stored: int
    said: dict[str, Any]


def sides(ombud: Sequence[str], without: Sequence[str]) -> tuple[list[Side], dict[str, str]]:
    """What is compared, and why the rest is not."""
    found, absent = [Side("ombud", [*ombud, "graph-index", "--json"], "{home}/cache")], {}
    others = {
        "ctags": (graph_source.ctags, ["-R", "-f", "{home}/tags", "."], "{home}/tags"),
        "codegraph": (graph_source.codegraph, ["init", "-y", "."], "{root}/.codegraph"),
    }
    for name, (find, arguments, store) in others.items():
        if name in without:
            continue
        try:
            found.append(Side(name, [*find(), *arguments], store))
        except Missing as error:
            absent[name] = str(error)
    return found, absent


def environment(home: Path) -> dict[str, str]:
    """A home of its own, no language servers on PATH, and codegraph without its telemetry, downloads and daemon."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "OMBUD_", "CODEGRAPH_"))}
    places = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA", "STATE")}
    quiet = {"CODEGRAPH_TELEMETRY": "0", "DO_NOT_TRACK": "1", "CODEGRAPH_NO_DOWNLOAD": "1", "CODEGRAPH_NO_DAEMON": "1"}
    runtime = home / "run"
    runtime.mkdir(mode=0o700, parents=True, exist_ok=True)
    return {**kept, **places, **quiet, "HOME": str(home), "XDG_RUNTIME_DIR": str(runtime), "PATH": "/usr/bin:/bin"}


def run_once(side: Side, root: Path, home: Path) -> Run:
    """Index ``root`` from nothing. Raises Failed."""
    store = Path(side.store.format(home=home, root=root))
    for old in (home, store):
        if old.is_dir():
            shutil.rmtree(old)
    home.mkdir()
    argv = [word.replace("{home}", str(home)).replace("{root}", str(root)) for word in side.argv]
    cost = measure(argv, root, environment(home))
    stored = bytes_of(store)
    said = answer_of(cost.output) if side.name == "ombud" else {}
    if not stored:
        raise Failed(f"{side.name} has stored nothing under {store}")
    return Run(cost, stored, said)


def answer_of(output: str) -> dict[str, Any]:
    """The object that ``ombud graph-index --json`` prints, whatever lines stand before it. Raises Failed."""
    start = output.find("{")
    try:
        value = json.loads(output[start:]) if start >= 0 else None
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise Failed(f"ombud graph-index --json printed no JSON object: {output[-200:]!r}")
    return value


def bytes_of(path: Path) -> int:
    """Of a file, or of all files below a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()] if path.is_dir() else []
    return sum(file.stat().st_size for file in files)


@contextmanager
def copy_of(source: Path) -> Iterator[tuple[Path, Path]]:
    """A copy of ``source``, and beside it the place of a home, in a folder that goes away."""
    with tempfile.TemporaryDirectory(prefix="ombud-") as folder:
        root = Path(folder, "project")
        shutil.copytree(source, root)
        yield root, Path(folder, "home")


# -- index ------------------------------------------------------------------------------------------------------------


def index(sources: Path, compared: Sequence[Side], rounds: int, say: Say) -> dict[str, Any]:
    """Every side indexes a copy of its own, by turns."""
    files = graph_source.python_files(sources)
    lines = sum((sources / path).read_bytes().count(b"\n") for path in files)
    runs: dict[str, list[Run]] = {side.name: [] for side in compared}
    for side in compared:
        with copy_of(sources / "django" / "utils") as (root, home):
            run_once(side, root, home)  # programs and their libraries come from the disk the first time
    with tempfile.TemporaryDirectory(prefix="ombud-") as folder:
        for side in compared:
            shutil.copytree(sources, Path(folder, side.name, "project"))
        for turn in range(rounds):
            first = turn % len(compared)
            for side in (*compared[first:], *compared[:first]):
                place = Path(folder, side.name)
                runs[side.name].append(run_once(side, place / "project", place / "home"))
    say(f"{sources_name(sources)}: {len(files):,} Python files, {lines:,} lines; {rounds} rounds by turns, medians\n")
    middle = {name: medians(ours) for name, ours in runs.items()}
    index_table(runs, middle, say)
    said = runs["ombud"][-1].said
    aims = index_aims(middle, said.get("files", 0), len(files))
    return {"files": len(files), "lines": lines, "rounds": rounds, "medians": middle, "ombud": said, "aims": aims}


def index_table(runs: Mapping[str, list[Run]], middle: Mapping[str, Mapping[str, float]], say: Say) -> None:
    """A row for each side, what Ombud says of its index, its largest processes, and who did not end when he should."""
    say(f"{'':10}{'CPU s':>8}{'wall s':>8}{'CPU/wall':>9}{'peak MB':>9}{'processes':>10}{'store MB':>10}")
    for name, row in middle.items():
        say(
            f"{name:10}{row['cpu']:8.2f}{row['wall']:8.2f}{row['cores']:9.2f}"
            f"{row['rss'] / MB:9.1f}{row['processes']:10.0f}{row['store'] / MB:10.1f}"
        )
    last = runs["ombud"][-1]
    say(f"\nombud: {', '.join(f'{key} {value}' for key, value in last.said.items() if isinstance(value, int | float))}")
    for process in last.cost.processes[:6]:
        say(f"  {process.rss / MB:7.1f} MB {process.cpu:7.2f} s  {process.command}")
    late = {name: max(run.cost.whole - run.cost.wall for run in ours) for name, ours in runs.items()}
    for name in (name for name, seconds in late.items() if seconds > 0.5):
        say(f"{name} went on for {late[name]:.1f} s after its command had ended")
    left = {name: max(run.cost.left for run in ours) for name, ours in runs.items()}
    for name in (name for name, number in left.items() if number):
        say(f"{name} left {left[name]} processes behind, which were ended")


def medians(runs: Sequence[Run]) -> dict[str, float]:
    """Of each figure by itself; the peak is the largest."""
    return {
        "cpu": statistics.median(run.cost.cpu for run in runs),
        "wall": statistics.median(run.cost.wall for run in runs),
        "cores": statistics.median(run.cost.cpu / run.cost.whole for run in runs),
        "rss": max(run.cost.rss for run in runs),
        "processes": max(len(run.cost.processes) for run in runs),
        "store": statistics.median(run.stored for run in runs),
    }


def index_aims(middle: Mapping[str, Mapping[str, float]], indexed: int, files: int) -> list[Aim]:
    ours = middle["ombud"]
    aims = []
    for name, limit in (("ctags", 12.0), ("codegraph", 0.2)):
        if name in middle:
            aims.append(Aim(f"CPU beside {name}", ours["cpu"] / middle[name]["cpu"], limit, "×"))
    cores = min(2, os.cpu_count() or 1)
    # Who is quick because he leaves files out is not quick.
    return [
        *aims,
        Aim("cores in use (CPU ÷ wall)", ours["cores"], 0.75 * cores, "", least=True),
        Aim("peak of a process", ours["rss"] / MB, 150, " MB"),
        Aim("store", ours["store"] / MB, 20, " MB"),
        Aim("files indexed ÷ Python files there", indexed / files, 0.99, "", least=True),
    ]


def sources_name(sources: Path) -> str:
    """Name and version, as the archive says them."""
    text = (sources / "PKG-INFO").read_text(errors="replace")
    said = dict(line.split(": ", 1) for line in text.splitlines() if line.startswith(("Name: ", "Version: ")))
    return f"{said['Name']} {said['Version']}"


# -- queries ----------------------------------------------------------------------------------------------------------


def queries(sources: Path, ombud: Sequence[str], times: int, seed: int, say: Say) -> dict[str, Any]:
    """One session over a copy: searches, impacts, and then edits."""
    chance = random.Random(seed)
    with copy_of(sources) as (root, home):
        known = graph_session.Sources(root)
        home.mkdir()
        session = graph_session.Session(ombud, root, environment(home))
        try:
            asked = graph_session.searches(session, known, times, chance)
            asked += graph_session.impacts(session, known, times, chance)
            asked.append(graph_session.symbols(session, known, times, chance))
            edited = list(graph_session.edits(session, known, times, chance))
            peak = max((process.rss for process in session.processes()), default=0)
        finally:
            session.end()
    say(f"{sources_name(sources)} in a session, the index built; seed {seed}\n\n{SPREAD_HEAD}")
    for one in asked:
        say(spread_line(one.name, one.seconds, f"{one.answered} with an answer"))
    groups = edit_groups(edited)
    for name, seconds in groups.items():
        say(spread_line(name, seconds))
    again = sum(edit.questions > 1 for edit in edited)
    say(f"\n{again} of {len(edited)} edits were not in the first answer; largest process {peak / MB:.1f} MB")
    rows = {one.name: {**spread(one.seconds), "answered": one.answered} for one in asked}
    rows |= {name: spread(seconds) for name, seconds in groups.items()}
    return {"seed": seed, "rows": rows, "late": again, "rss": peak, "aims": query_aims(asked, groups)}


def edit_groups(edited: Sequence[graph_session.Edit]) -> dict[str, list[float]]:
    """Seconds by the way of telling, and by way and kind."""
    groups: dict[str, list[float]] = {}
    for told in graph_session.WAYS:
        ours = [edit for edit in edited if edit.told == told]
        groups[f"edit, {told}"] = [edit.seconds for edit in ours]
        for kind in graph_session.KINDS:
            groups[f"  {kind}, {told}"] = [edit.seconds for edit in ours if edit.kind == kind]
    return {name: seconds for name, seconds in groups.items() if seconds}


def query_aims(asked: Sequence[graph_session.Asked], groups: Mapping[str, list[float]]) -> list[Aim]:
    aims = [Aim(f"{name}: median", spread(s)["p50"], 10, " ms") for name, s in groups.items() if name[0] != " "]
    searched = [seconds for one in asked if one.name.startswith("search") for seconds in one.seconds]
    aims.append(Aim("search: p95 of all", spread(searched)["p95"], 5, " ms"))
    for one in asked:
        if one.name.startswith("impact"):
            aims.append(Aim(f"{one.name}: p95", spread(one.seconds)["p95"], 5, " ms"))
        if one.name == "search: a name":
            aims.append(Aim("names found by search", one.answered / len(one.seconds), 1, "", least=True))
    return aims


# -- scale ------------------------------------------------------------------------------------------------------------


def scale(sources: Path, compared: Sequence[Side], sizes: Sequence[int], rounds: int, say: Say) -> dict[str, Any]:
    """Ombud, and ctags as the measure of what the files themselves are worth, on projects of each size."""
    chosen = [side for side in compared if side.name in ("ombud", "ctags")]
    rows: list[dict[str, Any]] = []
    say(f"{'files':>7}{'MB':>7}" + "".join(f"{side.name + ' CPU s':>16}{'wall s':>8}{'peak MB':>9}" for side in chosen))
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="ombud-") as folder:
            root = Path(folder, "project")
            written = graph_source.repeated(root, sources, size)
            row: dict[str, Any] = {"files": size, "bytes": written}
            for side in chosen:
                runs = [run_once(side, root, Path(folder, "home")) for _ in range(rounds)]
                row[side.name] = medians(runs)
                if side.name == "ombud" and runs[-1].said["files"] < 0.99 * size:
                    raise Failed(f"of {size} files ombud indexed {runs[-1].said['files']}")
            rows.append(row)
        say(
            f"{size:7,}{written / MB:7.1f}"
            + "".join(
                f"{row[side.name]['cpu']:16.2f}{row[side.name]['wall']:8.2f}{row[side.name]['rss'] / MB:9.1f}"
                for side in chosen
            )
        )
    return {"rows": rows, **lines_of(rows, say)}


def lines_of(rows: Sequence[Mapping[str, Any]], say: Say) -> dict[str, Any]:
    """The plot, and how straight it is."""
    if len(rows) < 2:
        return {"aims": []}
    points = {row["files"]: row["ombud"]["cpu"] for row in rows}
    walls = {row["files"]: row["ombud"]["wall"] for row in rows}
    line, bent = straight(points), exponent(points)
    say("\n" + plot({"CPU seconds": points, "wall seconds": walls}, "files", "seconds"))
    say("\nC: CPU, W: wall, dots: from zero to the last C")
    for size, cost in points.items():
        say(f"  {size:7,} files: {1000 * cost / size:.2f} ms of CPU a file, {1000 * walls[size] / size:.2f} ms of wall")
    say(f"  nearest line: {figure(line.base)} s + {figure(1000 * line.slope)} ms a file, at most {line.off:.0%} off")
    say(f"  from the second to the last size it grows with the number of files to the power of {bent:.2f}")
    aims = [
        Aim("CPU off the straight line", 100 * line.off, 100 * STRAIGHT, " %"),
        Aim("power with which CPU grows", bent, 1.1, ""),
        Aim("peak of a process, all sizes", max(row["ombud"]["rss"] for row in rows) / MB, 150, " MB"),
    ]
    return {"line": line._asdict(), "exponent": bent, "aims": aims}


# -- the whole --------------------------------------------------------------------------------------------------------


class Say:
    """Prints the tables, unless only JSON is wanted."""

    def __init__(self, silent: bool) -> None:
        self.silent = silent

    def __call__(self, text: str = "") -> None:
        if not self.silent:
            print(text, flush=True)


def main() -> None:
    """Measure and print. Whatever was started ends with this program, also when it is interrupted."""
    given = arguments()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    ombud = shlex.split(given.ombud) or [str(Path(sys.executable).with_name("ombud"))]
    say = Say(given.json)
    sources = graph_source.django()
    compared, absent = sides(ombud, given.without)
    for name, reason in absent.items():
        print(f"{name} is not measured: {reason}", file=sys.stderr)
    work = {
        "index": lambda: index(sources, compared, given.rounds, say),
        "queries": lambda: queries(sources, ombud, given.times, given.seed, say),
        "scale": lambda: scale(sources, compared, given.sizes, given.scale_rounds, say),
    }
    results: dict[str, Any] = {"absent": absent}
    for part in PARTS if given.only is None else [given.only]:
        try:
            result = work[part]()
        except Failed as error:
            sys.exit(f"{part}: {error}")
        except KeyboardInterrupt:
            sys.exit(128 + signal.SIGINT)
        say("\n" + "\n".join(aim.line() for aim in result["aims"]) + "\n")
        results[part] = {**result, "aims": [aim.data() for aim in result["aims"]]}
    if given.json:
        print(json.dumps(results, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--rounds", type=int, default=3, help="of the index of Django")
    parser.add_argument("--scale-rounds", type=int, default=1, help="at each size")
    parser.add_argument("--times", type=int, default=200, help="questions of each kind, and edits")
    parser.add_argument("--sizes", type=_sizes, default=SIZES, help="numbers of files, with commas between")
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--without", action="append", default=[], choices=("ctags", "codegraph"))
    parser.add_argument("--ombud", default="", help="the command of another Ombud to measure")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the tables")
    return parser.parse_args()


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted(int(word.replace("_", "")) for word in text.split(",")))


if __name__ == "__main__":
    main()
