"""Time from the start of the process to the answer of ``initialize``, and the memory of the idle process.

Ombud, rassumfrassum over basedpyright and ruff, and a plain pygls server take turns in one run. The memory is that of
the process itself a second after the answer; the servers that rassumfrassum has already started are not counted.
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

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent / "fixtures" / "demo"


def commands() -> dict[str, list[str]]:
    """What is compared; Ombud first."""
    rass = Path(sys.executable).with_name("rass")
    if not rass.exists():
        sys.exit("rassumfrassum is not installed: run `make bench`, or pip install -e '.[bench]'.")
    servers = ["--", "basedpyright-langserver", "--stdio", "--", "ruff", "server"]
    return {
        "ombud": [str(Path(sys.executable).with_name("ombud")), "serve"],
        "rassumfrassum": [str(rass), *servers],
        "plain pygls": [sys.executable, str(HERE / "plain_pygls.py")],
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    seconds: dict[str, list[float]] = {name: [] for name in commands()}
    memory: dict[str, list[int]] = {name: [] for name in commands()}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "demo"
        shutil.copytree(DEMO, root)
        for turn in range(rounds + 1):
            for name, argv in commands().items():
                peer = Peer(argv, root, environment())
                try:
                    took = peer.initialize(root)
                    time.sleep(1.0)  # the memory of an idle process, after what it does behind its answer
                    if turn:  # the first turn warms the disk cache
                        seconds[name].append(took)
                        memory[name].append(peer.rss())
                finally:
                    peer.end()
    print(f"{rounds} rounds, medians\n")
    print(f"{'':16} {'initialize':>12} {'ombud ÷':>9} {'idle RSS':>10} {'ombud ÷':>9}")
    ours, ours_rss = statistics.median(seconds["ombud"]), statistics.median(memory["ombud"])
    for name, times in seconds.items():
        took, rss = statistics.median(times), statistics.median(memory[name])
        print(f"{name:16} {took * 1000:9.0f} ms {ours / took:8.2f}× {rss / 1e6:7.1f} MB {ours_rss / rss:8.2f}×")
    print("\naim: ≤ 0.60× of rassumfrassum, ≤ 60 MB")


if __name__ == "__main__":
    main()
