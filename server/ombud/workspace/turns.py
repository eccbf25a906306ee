"""Turns between processes: commits that touch one path follow each other, whoever makes them.

A commit looks at its files and then replaces them. Two that do so at once can both find a file as it was, and the one
that gives up would then bring old bytes back over what the other has written. So a path is held from the last look
until all of it is done or taken back. Only Ombuds of one user keep these turns; other programs are noticed by what
they changed.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ombud.errors import Refused
from ombud.workspace.journal import Plan
from ombud.workspace.locks import lock_byte

NAME = ".turns"
"""The file in the journal folder whose bytes are locked. It stays empty."""
SECONDS = 30.0
"""How long a path is waited for. A commit takes milliseconds; one that hangs must not take all others with it."""

_SLOTS = 1 << 40
"""So many that two files never share one by chance: a commit that hangs would hold up a stranger's."""
# The system's locks belong to the process and end when it closes the file anywhere: one thread at a time has it open.
_OURS = threading.Lock()


@contextmanager
def turn(folder: Path, plan: Plan) -> Iterator[None]:
    """Hold the files of a plan against commits of other processes; ``folder`` is that of the journals.

    A file is held by its path and, for its other names, by its identity. Raises `Refused`
    (``conflict``) where another process has held one for `SECONDS`, and `OSError`. A process that dies lets go.
    To be taken after the journal's gate, never before it.
    """
    end = time.monotonic() + SECONDS
    # All go upwards, so nobody waits in a circle.
    slots = sorted({_slot(name) for name in _names(plan)})
    with _OURS:
        fd = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            for slot in slots:
                _wait(fd, slot, end)
            yield
        finally:
            os.close(fd)


def _names(plan: Plan) -> Iterator[bytes]:
    for entry in plan.entries:
        yield os.fsencode(entry.path)
        if entry.old is not None:
            yield b"%d:%d" % entry.old.identity


def _slot(name: bytes) -> int:
    return int.from_bytes(hashlib.sha256(name).digest()[:8], "big") % _SLOTS


def _wait(fd: int, slot: int, end: float) -> None:
    pause = 0.001
    while not lock_byte(fd, slot):
        if time.monotonic() >= end:
            raise Refused(
                f"Another Ombud has been writing to the same files for {SECONDS:.0f} seconds, so nothing was changed. "
                "Try again, or end that process if it hangs.",
                kind="conflict",
            )
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
