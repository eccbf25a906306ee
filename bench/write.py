"""What Ombud adds to a write: edit → answer, minus the time basedpyright itself takes for the same change.

Directly: ``didChange`` and the answer to a pull of the diagnostics. Through Ombud: ``ombud/edit``, which also reads
the file, commits it with a journal and two syncs, and compares the diagnostics before and after. Both take turns with
the same texts in one run, on two copies of the same project with a server each. ruff is off on both sides.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from wire import Peer, environment

DEMO = Path(__file__).resolve().parent.parent / "fixtures" / "demo"
FILE = "tariff/invoice.py"


class Direct:
    """basedpyright alone."""

    def __init__(self, root: Path) -> None:
        self.peer = Peer(["basedpyright-langserver", "--stdio"], root, environment())
        self.peer.initialize(root, {"textDocument": {"diagnostic": {}}})
        self.uri = (root / FILE).as_uri()
        self.text = (root / FILE).read_text()
        self.version = 1
        item = {"uri": self.uri, "languageId": "python", "version": 1, "text": self.text}
        self.peer.notify("textDocument/didOpen", {"textDocument": item})
        self.pull()

    def pull(self) -> int:
        report = self.peer.request("textDocument/diagnostic", {"textDocument": {"uri": self.uri}})
        return len(report["items"])

    def edit(self, text: str) -> tuple[float, int]:
        start = time.perf_counter()
        self.version += 1
        document = {"uri": self.uri, "version": self.version}
        self.peer.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        count = self.pull()
        return time.perf_counter() - start, count


class ThroughOmbud:
    """The same change by ``ombud/write``."""

    def __init__(self, root: Path) -> None:
        ombud = str(Path(sys.executable).with_name("ombud"))
        self.peer = Peer([ombud, "serve"], root, environment())
        self.peer.initialize(root, options={"ombud": {"servers": {"ruff": {"disabled": True}}}})
        self.text = (root / FILE).read_text()
        self.peer.request("ombud/diagnostics", {"path": FILE, "waitMs": 60000})

    def edit(self, text: str) -> tuple[float, int]:
        start = time.perf_counter()
        answer = self.peer.request("ombud/write", {"path": FILE, "content": text, "waitMs": 60000})
        took = time.perf_counter() - start
        freshness = {server["freshness"] for server in answer["diagnostics"]["servers"]}
        if freshness != {"fresh"}:
            raise RuntimeError(f"an answer was not fresh: {answer['diagnostics']['servers']}")
        return took, len(answer["diagnostics"]["introduced"])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=40)
    edits = parser.parse_args().edits
    with tempfile.TemporaryDirectory() as folder:
        roots = [Path(folder) / name / "demo" for name in ("direct", "ombud")]
        for root in roots:
            shutil.copytree(DEMO, root)
        direct, through = Direct(roots[0]), ThroughOmbud(roots[1])
        alone: list[float] = []
        with_us: list[float] = []
        try:
            for number in range(edits + 4):
                broken = number % 2 == 0
                text = direct.text + f"\n\nADDED_{number}: int = {'str()' if broken else number}\n"
                first, second = (direct, through) if number % 4 < 2 else (through, direct)
                measured = {id(side): side.edit(text) for side in (first, second)}
                if broken and not measured[id(through)][1]:
                    raise RuntimeError("the planted error was not among the introduced ones")
                if number >= 4:  # the first ones warm both servers
                    alone.append(measured[id(direct)][0])
                    with_us.append(measured[id(through)][0])
        finally:
            direct.peer.end()
            through.peer.end()
    added = [ours - theirs for ours, theirs in zip(with_us, alone, strict=True)]
    a, b, c = (statistics.median(values) * 1000 for values in (alone, with_us, added))
    print(f"{edits} edits of {FILE}, medians\n")
    print(f"basedpyright directly   {a:7.1f} ms")
    print(f"through ombud           {b:7.1f} ms   {b / a:.2f}×")
    print(f"added                   {c:7.1f} ms   (aim: ≤ 10 ms)")


if __name__ == "__main__":
    main()
