"""Finding the processes that a test left behind.

Every process started during a test inherits ``OMBUD_TEST_MARKER=<run>.<number of the test>`` and keeps it whoever its
parent becomes. Where a process hides its environment, being a new descendant of the test run gives it away as well.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import time
from collections.abc import Iterable, Iterator

import psutil

from tests.client import MARKER

RUN = f"{os.getpid()}-{secrets.token_hex(4)}"
# How long a process may take to go once its test is over: a server that reads the end of its input, a guardian.
GRACE_SECONDS = 8.0

_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "pty.spawn"}


class _Starts:
    """Whether any process was started, so that the many tests that start none are not slowed by looking."""

    def __init__(self) -> None:
        self.seen = True
        self._descendants: set[tuple[int, float]] = set()
        sys.addaudithook(self._hook)

    def begin(self) -> set[tuple[int, float]]:
        """A test begins: the descendants there are, looked up anew only if any can have been added."""
        if self.seen:
            self._descendants = descendants()
        self.seen = False
        return self._descendants

    def adopt(self) -> None:
        """What runs now is shared by several tests: it is looked for at the end of the run, and not of this test."""
        self._descendants |= descendants()

    def _hook(self, event: str, arguments: object) -> None:
        if event in _STARTS:
            self.seen = True


STARTS = _Starts()


def marker_of(number: int) -> str:
    return f"{RUN}.{number}"


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """What is started in here may outlive the test that starts it, though not the run.

    It must have started all that it will, since what it starts later on is another test's.
    """
    mine = os.environ[MARKER]
    os.environ[MARKER] = marker_of(0)
    try:
        yield
    finally:
        os.environ[MARKER] = mine
        STARTS.adopt()


def descendants() -> set[tuple[int, float]]:
    """Pid and creation time of every process under this one."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            found.add((process.pid, process.create_time()))
    return found


def left(marker: str, before: set[tuple[int, float]] | None = None) -> list[psutil.Process]:
    """Living processes whose marker is ``marker`` or begins with it and a dot, and new descendants of this one.

    ``before``: the descendants that were there already; None leaves descent out of it.
    """
    found: dict[int, psutil.Process] = {}
    if before is not None:
        for process in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if (process.pid, process.create_time()) not in before:
                    found[process.pid] = process
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            value = process.environ().get(MARKER, "")
            if value == marker or value.startswith(f"{marker}."):
                found[process.pid] = process
    found.pop(os.getpid(), None)
    return [process for process in found.values() if _lives(process)]


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def left_after_grace(marker: str, before: set[tuple[int, float]] | None = None) -> list[psutil.Process]:
    """``left``, once those that are on their way out had time to go."""
    deadline = time.monotonic() + GRACE_SECONDS
    remaining = left(marker, before)
    while remaining and time.monotonic() < deadline:
        psutil.wait_procs(remaining, timeout=0.1)
        # Looked up anew: one that goes may leave a child that was started meanwhile.
        remaining = left(marker, before)
    return remaining


def describe(processes: Iterable[psutil.Process]) -> str:
    lines = []
    for process in processes:
        try:
            command = " ".join(process.cmdline())[:300]
            lines.append(f"  {process.pid} (parent {process.ppid()}, {process.status()}): {command}")
        except psutil.Error:
            lines.append(f"  {process.pid}: gone meanwhile")
    return "\n".join(lines)


def kill(processes: Iterable[psutil.Process]) -> None:
    """Ends exactly these; psutil makes sure that a number has not gone to somebody else."""
    processes = list(processes)
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(processes, timeout=5)
