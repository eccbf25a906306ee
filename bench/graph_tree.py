"""What a command costs with everything that it starts: processor time, wall time, and the memory of each process.

`graph_launch.py` counts the processor time, also of children's children and of those whose parent has ended. The memory
is Linux's own high-water mark of each process, read while it lives, and the largest that the system tells at the end.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psutil

LAUNCHER = Path(__file__).resolve().with_name("graph_launch.py")
EVERY = 0.1
"""Seconds between two looks at the processes. A look at some hundred processes takes a few milliseconds of one core."""
TICK = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A command did not do what was to be measured; the text is a sentence."""


class Process(NamedTuple):
    """One process that was seen: its ``command`` in short, its largest resident size in bytes, and processor seconds
    until it was seen last."""

    command: str
    rss: int
    cpu: float


class Cost(NamedTuple):
    """``cpu`` and ``wall`` in seconds, ``whole`` until the last descendant had ended; ``rss`` in bytes of the largest
    process; what was printed; ``left``: how many processes outlived the command by far and were ended."""

    cpu: float
    wall: float
    whole: float
    rss: int
    processes: list[Process]
    output: str
    left: int


def measure(argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, seconds: float = 1800) -> Cost:
    """Run ``argv`` to its end in a fresh family of processes. Raises Failed where it fails or takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        launcher = subprocess.Popen(
            [sys.executable, "-I", "-S", str(LAUNCHER), str(out), str(err), str(seconds), *argv],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        assert launcher.stdin is not None and launcher.stdout is not None
        seen: dict[tuple[int, float], Process] = {}
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(launcher.pid, seen, ended), daemon=True)
        watcher.start()
        try:
            said = launcher.stdout.read()
        finally:
            # The launcher ends what it started as soon as its standard input is closed.
            launcher.stdin.close()
            launcher.wait()
            launcher.stdout.close()
            ended.set()
            watcher.join()
        printed, complaint = _text(out), _text(err)
        if not said:
            raise Failed(f"{_short(argv)} could not be started in {cwd}")
        answer = json.loads(said)
        if answer["code"] != 0:
            last = [line for line in (printed + "\n" + complaint).splitlines() if line.strip()][-4:]
            words = " / ".join(last) or "it said nothing"
            raise Failed(f"{_short(argv)} ended with {answer['code']} after {answer['wall']:.0f} s: {words}")
    processes = sorted(seen.values(), key=lambda one: -one.rss)
    # A parent that ignores its children's ends never adds up their time; what was seen of them is counted then.
    cpu = max(answer["cpu"], sum(one.cpu for one in processes))
    rss = max([answer["rss"], *(one.rss for one in processes)])
    return Cost(cpu, answer["wall"], answer["whole"], rss, processes, printed, answer["left"])


def family(root: int) -> list[Process]:
    """The processes ``root`` and below, as they are now (Linux)."""
    seen: dict[tuple[int, float], Process] = {}
    _look(root, seen)
    return sorted(seen.values(), key=lambda one: -one.rss)


def _watch(launcher: int, seen: dict[tuple[int, float], Process], ended: threading.Event) -> None:
    while not ended.wait(EVERY):
        _look(launcher, seen)
    for key in [key for key in seen if key[0] == launcher]:
        del seen[key]


def _look(root: int, seen: dict[tuple[int, float], Process]) -> None:
    """Write down the processes ``root`` and below, each under its id and its start."""
    children: dict[int, list[int]] = {}
    stats: dict[int, list[bytes]] = {}
    for pid in psutil.pids():
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        stats[pid] = fields
        children.setdefault(int(fields[1]), []).append(pid)
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        fields = stats.get(pid, [])
        if not fields or fields[0] == b"Z":
            continue
        key = (pid, float(fields[19]))
        rss = _high_water(pid)
        before = seen.get(key)
        # A process is named by what it is now: between fork and exec it is still called as its parent.
        command = _command(pid) or (before.command if before else "?")
        cpu = (int(fields[11]) + int(fields[12])) / TICK
        seen[key] = Process(command, max(rss, before.rss if before else 0), cpu)


def _high_water(pid: int) -> int:
    """Bytes; 0 where the process has just ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_bytes().splitlines():
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _command(pid: int) -> str:
    try:
        return _short(Path(f"/proc/{pid}/cmdline").read_text(errors="replace").rstrip("\0").split("\0"))
    except OSError:
        return ""


def _short(argv: Sequence[str]) -> str:
    """The program's name and its first two words, without the folders."""
    words = [Path(word).name for word in argv[:4] if not word.startswith("--")]
    return " ".join(" ".join(words).split())[:60]


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
