"""What Ombud makes of a write, beside what basedpyright itself takes for the same change.

Directly: ``didChange`` and the answer to a pull of the diagnostics. Through Ombud: ``ombud/edit``, which also reads
the file, commits it with a journal and its syncs, and compares the diagnostics before and after. All take turns with
the same texts in one run, on copies of the same project with a server each. ruff is off.

Three parts: the demo, a project of a few files; Django's source, files of four sizes; and there an edit of a signature
that more than twenty files use, with the files that it breaks. Directly that is: open them, pull them all, change,
and pull them all again.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from large import project
from wire import Peer, environment

DEMO = Path(__file__).resolve().parent.parent / "fixtures" / "demo"
PARTS = ("demo", "files", "dependents")
WARM_UP = 4
"""Edits before the clock counts."""
REST = 0.5
"""Seconds after an edit, in which the server does what it does unasked and would be in the next one's way: basedpyright
asks for a refresh a quarter of a second after each change."""
SECONDS = 1800
"""How long a whole part may take at most."""
WAIT_MS = 60000
DEPENDENTS = 20
PLANTED, BREAKS = "reportAssignmentType", "reportCallIssue"
"""What basedpyright calls the planted error, and a call that no longer fits the signature."""


class Place(NamedTuple):
    """Where a line is planted: before the one line of ``path`` that is ``anchor``, in the body of a function."""

    path: str
    anchor: str


SMALL = Place("tariff/invoice.py", "    net = month_cha")
PLACES = (
    Place("django/utils/encoding.py", "    # I know about `os.sep` and `os.altsep` but I want to leave"),
    Place("django/utils/text.py", "    wrapper = textwrap.TextWrapper("),
    Place("django/db/models/query.py", "        query.__class__ = sql.DeleteQuery"),
    Place("django/db/models/fields/__init__.py", '        if self.name.endswith("_"):'),
)
USED = Place("django/utils/module_loading.py", "        module_path, class_name = dotted_path.rsplit(")
WHOLE, BROKEN = "def import_string(dotted_path):", "def import_string(dotted_path, package):"
"""A function of `USED` that more than twenty files call, and what they cannot call."""


class Change(NamedTuple):
    """One edit: ``old`` stands in the file exactly once, ``after`` is the text with ``new`` in its place.
    ``broken``: basedpyright has something to say of it."""

    path: str
    old: str
    new: str
    after: str
    broken: bool


def planted(text: str, place: Place, count: int) -> list[Change]:
    """Edits that follow each other, each second one with an error in a line of its own."""
    if text.count(place.anchor) != 1:
        raise RuntimeError(f"{place.path} has changed: look for another place")
    old, indent = place.anchor, " " * (len(place.anchor) - len(place.anchor.lstrip()))
    changes = []
    for number in range(count):
        broken = number % 2 == 1
        value = f'"{number}"' if broken else str(number)
        new = f"{indent}_bench: int = {value}\n{place.anchor}"
        changes.append(Change(place.path, old, new, text.replace(place.anchor, new), broken))
        old = new
    return changes


def back_and_forth(text: str, count: int) -> list[Change]:
    """The signature changes, and changes back, and so on."""
    broken = text.replace(WHOLE, BROKEN)
    there = Change(USED.path, WHOLE, BROKEN, broken, True)
    back = Change(USED.path, BROKEN, WHOLE, text, False)
    return [(there, back)[number % 2] for number in range(count)]


# -- the ways -------------------------------------------------------------------------------------------------


class Answer(NamedTuple):
    """``seconds`` of the whole, and until the edited file's diagnostics were known; ``found``: the codes and paths of
    those that it brought, or directly of all; ``checked``: the dependents, and some ``left_out`` with the reason."""

    seconds: float
    edited: float
    found: list[tuple[str, str]]
    checked: list[str]
    left_out: Mapping[str, str] = {}


class Way(Protocol):
    def begin(self, path: str) -> None: ...
    def edit(self, change: Change) -> Answer: ...
    def end(self) -> None: ...


class Direct:
    """basedpyright alone. ``others`` are pulled along with each edited file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.peer = Peer(["basedpyright-langserver", "--stdio"], root, environment(), seconds=SECONDS)
        self.peer.initialize(root, {"textDocument": {"diagnostic": {}}})
        self.versions: dict[str, int] = {}
        self.others: list[str] = []

    def begin(self, path: str) -> None:
        self.open([path])
        self.pull([path])

    def open(self, paths: Sequence[str]) -> None:
        for path in paths:
            self.versions[path] = 1
            text = (self.root / path).read_text()
            item = {"uri": (self.root / path).as_uri(), "languageId": "python", "version": 1, "text": text}
            self.peer.notify("textDocument/didOpen", {"textDocument": item})

    def pull(self, paths: Sequence[str]) -> list[list[tuple[str, str]]]:
        """The codes of each file's diagnostics."""
        questions = [{"textDocument": {"uri": (self.root / path).as_uri()}} for path in paths]
        reports = self.peer.requests("textDocument/diagnostic", questions)
        return [
            [(item.get("code", ""), path) for item in report["items"]]
            for path, report in zip(paths, reports, strict=True)
        ]

    def edit(self, change: Change) -> Answer:
        start = time.perf_counter()
        self.versions[change.path] += 1
        document = {"uri": (self.root / change.path).as_uri(), "version": self.versions[change.path]}
        content = [{"text": change.after}]
        self.peer.notify("textDocument/didChange", {"textDocument": document, "contentChanges": content})
        found = self.pull([change.path])
        edited = time.perf_counter() - start
        if self.others:
            found += self.pull(self.others)
        return Answer(time.perf_counter() - start, edited, [code for codes in found for code in codes], self.others)

    def cold(self, change: Change, others: Sequence[str]) -> Answer:
        """The first edit with ``others``: they are opened and pulled before it as well."""
        start = time.perf_counter()
        self.open(others)
        self.pull([change.path, *others])
        before = time.perf_counter() - start
        self.others = list(others)
        answer = self.edit(change)
        return answer._replace(seconds=before + answer.seconds)

    def end(self) -> None:
        self.peer.end()


class ThroughOmbud:
    """The same change by ``ombud/edit``, with so many dependents at most."""

    def __init__(self, root: Path, dependents: int, command: Sequence[str]) -> None:
        self.peer = Peer(command, root, environment(), seconds=SECONDS)
        options = {"servers": {"ruff": {"disabled": True}}, "diagnostics": {"dependents": dependents}}
        self.peer.initialize(root, options={"ombud": options})

    def begin(self, path: str) -> None:
        self.peer.request("ombud/diagnostics", {"path": path, "waitMs": WAIT_MS})

    def edit(self, change: Change) -> Answer:
        start = time.perf_counter()
        edits = [{"oldText": change.old, "newText": change.new}]
        answer = self.peer.request("ombud/edit", {"path": change.path, "edits": edits, "waitMs": WAIT_MS})
        seconds = time.perf_counter() - start
        report = answer["diagnostics"]
        for server in report["servers"]:
            if server["freshness"] != "fresh":
                raise RuntimeError(f"an answer was not fresh: {server}")
        found = [(one["code"], one["path"]) for one in report["introduced"]]
        edited = max(server["elapsedMs"] for server in report["servers"]) / 1000
        left_out = {one["path"]: one["reason"] for one in report.get("leftOut", ())}
        return Answer(seconds, edited, found, report["checkedDependents"], left_out)

    def end(self) -> None:
        self.peer.end()


class Ways:
    """The direct way to a project, and Ombud's with so many ``dependents`` under each name; each has its own copy."""

    def __init__(
        self, folder: Path, make: Callable[[Path], object], dependents: Mapping[str, int], command: Sequence[str]
    ) -> None:
        self.all: dict[str, Way] = {}
        try:
            for name in ("directly", *dependents):
                root = folder / name.replace(" ", "-") / "project"
                make(root)
                self.all[name] = Direct(root) if name == "directly" else ThroughOmbud(root, dependents[name], command)
        except BaseException:
            self.end()
            raise

    @property
    def direct(self) -> Direct:
        way = self.all["directly"]
        assert isinstance(way, Direct)
        return way

    def end(self) -> None:
        for way in self.all.values():
            way.end()


# -- the parts ------------------------------------------------------------------------------------------------


def take_turns(ways: Ways, changes: Sequence[Change], rest: float) -> dict[str, list[Answer]]:
    """The answers to each edit on each way; who begins changes with every edit."""
    names = list(ways.all)
    answers: dict[str, list[Answer]] = {name: [] for name in names}
    for number, change in enumerate(changes):
        first = number % len(names)
        for name in (*names[first:], *names[:first]):
            answers[name].append(ways.all[name].edit(change))
            time.sleep(rest)
    return answers


def measure_bodies(ways: Ways, place: Place, text: str, edits: int, rest: float) -> dict[str, list[float]]:
    """Seconds of edits that change no declaration, on each way, after the warm-up."""
    for way in ways.all.values():
        way.begin(place.path)
    changes = planted(text, place, edits + WARM_UP)
    answers = take_turns(ways, changes, rest)
    for name, ours in answers.items():
        for change, answer in zip(changes, ours, strict=True):
            # Who is quick because he says nothing is not quick.
            told = [path for code, path in answer.found if code == PLANTED and path == change.path]
            if len(told) < change.broken or (name != "directly" and len(told) > change.broken):
                raise RuntimeError(f"{name}, {change.new.strip()!r}: {len(told)} times told")
    return {name: [answer.seconds for answer in ours[WARM_UP:]] for name, ours in answers.items()}


def demo(edits: int, command: Sequence[str]) -> None:
    """What is added to a write in a small project: an absolute figure, since the server takes a few milliseconds."""
    with tempfile.TemporaryDirectory() as folder:
        ways = Ways(Path(folder), lambda root: shutil.copytree(DEMO, root), {"ombud": 0}, command)
        try:
            times = measure_bodies(ways, SMALL, (DEMO / SMALL.path).read_text(), edits, 0)
        finally:
            ways.end()
    alone, ours = times["directly"], times["ombud"]
    added = [one - other for one, other in zip(ours, alone, strict=True)]
    print(f"{edits} edits of the demo's {SMALL.path}, in ms: median (quartiles)\n")
    print(f"basedpyright directly  {spread(alone):>27}")
    print(f"through ombud          {spread(ours):>27}  {ratio(ours, alone)}")
    print(f"added                  {spread(added):>27}  aim: ≤ 10\n", flush=True)


def files(edits: int, checking: str | None, command: Sequence[str]) -> None:
    """Edits in the body of a function, in files of several sizes, with and without a search for dependents."""
    with tempfile.TemporaryDirectory() as folder:
        asked = {"dependents 0": 0, f"dependents {DEPENDENTS}": DEPENDENTS}
        ways = Ways(Path(folder), lambda root: project(root, checking), asked, command)
        try:
            print(f"{edits} edits in the body of a function of Django, {_mode(checking)}, in ms: median (quartiles)\n")
            print(f"{'file':36}{'KB':>4}" + "".join(f"{name:>27}{'':7}" for name in ways.all))
            for place in PLACES:
                text = (ways.direct.root / place.path).read_text()
                times = measure_bodies(ways, place, text, edits, REST)
                row = f"{place.path:36}{len(text) / 1024:4.0f}"
                for name, seconds in times.items():
                    row += f"{spread(seconds):>27}"
                    row += " " * 7 if name == "directly" else f"{ratio(seconds, times['directly']):>7}"
                print(row, flush=True)
        finally:
            ways.end()
    print("aim: ≤ 1.05×\n")


def dependents(edits: int, checking: str | None, command: Sequence[str]) -> None:
    """A signature that changes and changes back, with the files that use it: the first time, and then warm."""
    with tempfile.TemporaryDirectory() as folder:
        ways = Ways(Path(folder), lambda root: project(root, checking), {"ombud": DEPENDENTS}, command)
        try:
            direct, through = ways.direct, ways.all["ombud"]
            text = (direct.root / USED.path).read_text()
            measure_bodies(ways, USED, text, 0, REST)
            text = planted(text, USED, WARM_UP)[-1].after
            first, *later = back_and_forth(text, edits + 1)
            cold = through.edit(first)
            time.sleep(REST)
            # The server is asked about the same files directly.
            alone = direct.cold(first, [*cold.checked, *cold.left_out][:DEPENDENTS])
            time.sleep(REST)
            warm = take_turns(ways, later, REST)
        finally:
            ways.end()
    print(f"{1 + edits} changes of a signature in {USED.path}, {_mode(checking)}, in ms: median (quartiles)\n")
    for name, one, many in (("basedpyright directly", alone, warm["directly"]), ("through ombud", cold, warm["ombud"])):
        seconds, edited = [answer.seconds for answer in many], [answer.edited for answer in many]
        checked = f"{len(one.checked)} and {_between([len(answer.checked) for answer in many])} checked"
        print(f"{name:22} cold {1000 * one.seconds:6.0f}   warm {spread(seconds):27}   {checked}")
        print(f"{'':22} of the edited file {spread(edited):>30}", flush=True)
    print("aim: warm ≤ 2000, and the edited file as soon as directly")
    _check_dependents([cold, *warm["ombud"]], [first, *later])


def _check_dependents(answers: Sequence[Answer], changes: Sequence[Change]) -> None:
    """What was checked and is broken must be told, and what was not checked is said to be left out."""
    for answer, change in zip(answers, changes, strict=True):
        # A wrong call hides what else is wrong with it, so other codes may come back when it is mended.
        elsewhere = {path for code, path in answer.found if code == BREAKS}
        if elsewhere and not change.broken:
            raise RuntimeError(f"introduced by mending: {answer.found}")
        if change.broken and bool(elsewhere) != bool(answer.checked):
            raise RuntimeError(f"{len(answer.checked)} files were checked, and {sorted(elsewhere)} were told of")
        if len(answer.checked) < DEPENDENTS:
            reasons = sorted(set(answer.left_out.values()))
            print(f"only {len(answer.checked)} files were checked for {change.new!r}: {'; '.join(reasons[:3])}")


# -- words ----------------------------------------------------------------------------------------------------


def spread(seconds: Sequence[float]) -> str:
    """Median and quartiles in milliseconds."""
    low, middle, high = (1000 * value for value in statistics.quantiles(seconds, n=4, method="inclusive"))
    return f"{middle:.1f} ({low:.1f} – {high:.1f})"


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """Of the medians."""
    return f"{statistics.median(ours) / statistics.median(theirs):.2f}×"


def _mode(checking: str | None) -> str:
    return f"checked as {checking}" if checking else "checked as basedpyright does by itself"


def _between(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=40, help="of the demo; of each file of Django half as many")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument(
        "--checking", help="basedpyright's typeCheckingMode for Django; its own default is the strictest"
    )
    parser.add_argument("--ombud", default="", help="the command of another Ombud to measure")
    given = parser.parse_args()
    command = shlex.split(given.ombud) or [str(Path(sys.executable).with_name("ombud")), "serve"]
    half = max(2, given.edits // 2)
    if given.only in (None, "demo"):
        demo(given.edits, command)
    if given.only in (None, "files"):
        files(half, given.checking, command)
    if given.only in (None, "dependents"):
        dependents(half, given.checking, command)


if __name__ == "__main__":
    main()
