"""What it costs to be spoken for: the same requests directly, through Ombud, and through rassumfrassum.

First over a server that answers with bytes made beforehand (``replay.py``), in the sizes of real answers; then over
basedpyright on a real file. The three take turns, a few requests each, in one run, after a warm-up. Processor time and
memory are those of the proxy's process alone. Ombud's answers are compared with what the server sent, byte by byte.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lean import Lean
from payloads import KINDS, Kind
from wire import environment

HERE = Path(__file__).resolve().parent
_PROGRAM = f"import sys; sys.path.insert(0, {str(HERE)!r}); import replay; replay.main()"
REPLAY = [sys.executable, "-I", "-S", "-c", _PROGRAM]
ROUTES = ("direct", "ombud", "rassumfrassum")
TURN = 4
"""How many requests a route has before the next one's turn."""
REST = 0.25
"""Seconds after a turn with changes, in which basedpyright looks at the last one and would be in the next one's way."""
SOURCE = HERE.parent / "fixtures" / "demo"
FILE = "tariff/invoice.py"


class Real(NamedTuple):
    """What is asked of basedpyright: behind which text of `FILE`, how often in a round, and whether after a change."""

    name: str
    method: str
    behind: str
    count: int
    typing: bool


REAL = (
    Real("hover, nothing changed", "textDocument/hover", "net = month_cha", 20, False),
    Real("hover after a change", "textDocument/hover", "net = month_cha", 12, True),
    Real("completion of members", "textDocument/completion", "(tariff, reading.", 12, True),
    Real("completion of names", "textDocument/completion", "    net", 12, True),
)
CLIENT = {"textDocument": {"synchronization": {}, "hover": {"contentFormat": ["markdown"]}, "completion": {}}}

Times = dict[tuple[str, str], list[float]]
"""Kind and route → seconds of each answer."""


def commands(server: Sequence[str]) -> dict[str, list[str]]:
    """The three ways to a server."""
    rass = Path(sys.executable).with_name("rass")
    if not rass.exists():
        sys.exit("rassumfrassum is not installed: run `make bench`, or pip install -e '.[bench]'.")
    ombud = str(Path(sys.executable).with_name("ombud"))
    return {"direct": list(server), "ombud": [ombud, "serve"], "rassumfrassum": [str(rass), "--", *server]}


def begin(server: Sequence[str], root: Path, options: Mapping[str, Any]) -> dict[str, Lean]:
    """A client on each route, introduced."""
    peers = {route: Lean(argv, root, environment()) for route, argv in commands(server).items()}
    try:
        for route, peer in peers.items():
            peer.initialize(CLIENT, {"ombud": options} if route == "ombud" else None)
    except BaseException:
        finish(peers)
        raise
    return peers


def finish(peers: Mapping[str, Lean]) -> None:
    for peer in peers.values():
        peer.end()


def turns(
    peers: Mapping[str, Lean], count: int, number: int, ask: Callable[[str, Lean], None], rest: float = 0.0
) -> None:
    """``count`` requests for each route, by turns; who begins changes with ``number``, the round's."""
    order = [*ROUTES[number % len(ROUTES) :], *ROUTES[: number % len(ROUTES)]]
    for start in range(0, count, TURN):
        for route in order:
            for _ in range(min(TURN, count - start)):
                ask(route, peers[route])
            time.sleep(rest)


# -- over the replay server -----------------------------------------------------------------------------------


def play(peers: Mapping[str, Lean], uri: str, number: int, times: Times) -> None:
    """One round of the whole workload."""
    for kind in KINDS:
        params = _params(uri, kind.line, 0)
        whole = kind.result()

        def ask(route: str, peer: Lean, kind: Kind = kind, params: bytes = params, whole: bytes = whole) -> None:
            took, answer = peer.ask(kind.method, params)
            # rassumfrassum takes every answer apart and puts data of its own into it; its length must do.
            if whole not in answer and (route != "rassumfrassum" or len(answer) < len(whole) / 2):
                raise RuntimeError(f"{route} changed the answer to {kind.name}: {answer[:200]!r}")
            times.setdefault((kind.name, route), []).append(took)

        turns(peers, kind.count, number, ask)
    for peer in peers.values():
        peer.alive()


def replayed(rounds: int) -> None:
    """The workload over the replay server, and the report."""
    times: Times = {}
    memory: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve()
        (root / "x.toml").touch()
        (root / "a.x").write_text("first\nsecond\nthird\n")
        row = {"command": REPLAY, "extensions": [".x"], "rootMarkers": ["x.toml"]}
        peers = begin(REPLAY, root, {"trusted": True, "servers": {"replay": row}})
        try:
            for peer in peers.values():
                peer.open(root / "a.x", "x")
            uri = (root / "a.x").as_uri()
            play(peers, uri, 0, {})
            before = {route: peer.cpu() for route, peer in peers.items()}
            for number in range(1, rounds + 1):
                play(peers, uri, number, times)
                memory.append(peers["ombud"].rss())
            spent = {route: peer.cpu() - before[route] for route, peer in peers.items()}
            theirs = peers["rassumfrassum"].rss()
        finally:
            finish(peers)
    _tell_times(times, [kind.name for kind in KINDS])
    aims = {"hover": "≤ 0.2 ms", "completion 2.8 MB": "≤ 15 ms"}
    print()
    for name, aim in aims.items():
        print(f"added to {name:20} {_added(times, name) * 1000:8.2f} ms   (aim: {aim})")
    ratio = spent["ombud"] / spent["rassumfrassum"]
    print(f"processor time, ombud         {spent['ombud']:8.2f} s")
    print(f"processor time, rassumfrassum {spent['rassumfrassum']:8.2f} s    {ratio:.3f}×   (aim: ≤ 0.05×)")
    print(f"memory after the workload, ombud         {memory[-1] / 1e6:6.1f} MB   (aim: ≤ 60 MB)")
    print(f"memory after the workload, rassumfrassum {theirs / 1e6:6.1f} MB")
    print(f"memory after each round, ombud           {' '.join(f'{one / 1e6:.1f}' for one in memory)}   (aim: flat)")


# -- over basedpyright ----------------------------------------------------------------------------------------


def real(rounds: int) -> None:
    """Hover and completion over basedpyright, and the report."""
    server = ["basedpyright-langserver", "--stdio"]
    times: Times = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder).resolve() / "demo"
        shutil.copytree(SOURCE, root)
        path = root / FILE
        peers = begin(server, root, {"servers": {"ruff": {"disabled": True}}})
        try:
            for peer in peers.values():
                peer.open(path, "python")
            for number in range(rounds + 1):
                ask_real(peers, path, number, times if number else {})
        finally:
            finish(peers)
    print()
    _tell_times(times, [one.name for one in REAL])
    print()
    for name in (one.name for one in REAL):
        ratio = statistics.median(times[name, "ombud"]) / statistics.median(times[name, "direct"])
        added = _added(times, name) * 1000
        print(f"{name:24} on basedpyright: {ratio:6.3f}× direct, {added:+.2f} ms   (aim: ≤ 1.05×)")


def ask_real(peers: Mapping[str, Lean], path: Path, number: int, times: Times) -> None:
    """One round over basedpyright."""
    for one in REAL:
        params = _params(path.as_uri(), *_place(path, one.behind))

        def ask(route: str, peer: Lean, one: Real = one, params: bytes = params) -> None:
            if one.typing:
                # What the server has in store of the file is of no use any more, as behind every key of a typist.
                peer.change(path, f"# {time.monotonic_ns()}")
            took, answer = peer.ask(one.method, params)
            if b'"error":' in answer[:80] or b'"result":null' in answer.replace(b" ", b"")[:80]:
                raise RuntimeError(f"{route} has no answer to {one.name}: {answer[:200]!r}")
            times.setdefault((one.name, route), []).append(took)

        turns(peers, one.count, number, ask, REST if one.typing else 0.0)
    for peer in peers.values():
        peer.alive()


def _place(path: Path, behind: str) -> tuple[int, int]:
    """The line and the character behind the first occurrence of a text."""
    text = path.read_text(encoding="utf-8")
    before = text[: text.index(behind) + len(behind)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


# -- common ---------------------------------------------------------------------------------------------------


def _params(uri: str, line: int, character: int) -> bytes:
    place = {"line": line, "character": character}
    return json.dumps({"textDocument": {"uri": uri}, "position": place}, separators=(",", ":")).encode()


def _added(times: Times, name: str) -> float:
    return statistics.median(times[name, "ombud"]) - statistics.median(times[name, "direct"])


def _tell_times(times: Times, names: Sequence[str]) -> None:
    print(f"{'medians':24}" + "".join(f"{route:>16}" for route in ROUTES))
    for name in names:
        print(f"{name:24}" + "".join(f"{statistics.median(times[name, route]) * 1000:13.2f} ms" for route in ROUTES))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--only", choices=["replay", "basedpyright"])
    arguments = parser.parse_args()
    print(f"{arguments.rounds} rounds, by turns\n")
    if arguments.only != "basedpyright":
        replayed(arguments.rounds)
    if arguments.only != "replay":
        real(arguments.rounds)


if __name__ == "__main__":
    main()
