"""The processes one child stands for: its process group, and those that have left the group.

A language server is rarely one process. Most helpers stay in the group; some start a session of their own (row P1:
eleven orphaned rust-analyzers). They are found three ways: by the group's number, by descent from a process already
known, and, on Linux, by the mark in their environment, which also finds what was orphaned before anybody looked.

A number is never signalled on trust. The leader's is certain until it is reaped; a group's number cannot be given out
again while one member lives; everybody else is a ``psutil.Process``, which compares creation times before it signals.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.process.environment import CHILD

if TYPE_CHECKING:
    import psutil

PAUSE = 0.05
"""Seconds between two looks at processes that are not our own children: the system tells us nothing about those."""


class Group:
    """All processes of one child.

    ``leader`` is the child's process id, which is its group's number too; ``mark`` is the child's environment mark.
    """

    def __init__(self, leader: int, mark: str) -> None:
        self.leader = leader
        self._mark = mark
        self._leader_lives = True
        # Whether the group's number is certainly ours: true until a search after the leader's death finds it empty.
        self._number_is_ours = True
        self._known: dict[int, psutil.Process] = {}

    def leader_ended(self) -> None:
        """Told by the child when its process has been reaped: from now on the leader's number may be a stranger's."""
        self._leader_lives = False

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to the whole group while its leader's number is its own; False when it was not sent.

        After the leader's death ``sweep`` is what ends the rest.
        """
        if not self._leader_lives or not _unreaped(self.leader):
            return False
        try:
            os.killpg(self.leader, number)
        except (ProcessLookupError, PermissionError):
            # macOS answers "not permitted" for a group of which only zombies are left.
            return False
        return True

    def kill(self) -> None:
        """End everything known at once, without waiting: for the moments when waiting is not possible."""
        self.signal(signal.SIGKILL)
        _send(self._known.values(), signal.SIGKILL)

    async def survey(self) -> None:
        """Find and remember the group's processes, in a thread: some milliseconds for a few hundred processes.

        The thread is this room's own, so that ending never waits behind somebody's slow disk.

        To be called while the leader lives: once it is gone, its descendants can no longer be told by descent.
        """
        leader = self.leader if self._leader_lives else None
        number = self.leader if self._number_is_ours else None
        known = list(self._known.values())
        loop = asyncio.get_running_loop()
        found, number_in_use = await loop.run_in_executor(_looker(), _search, leader, number, self._mark, known)
        # Another survey may have run meanwhile, so what it added stays; what this one saw dead goes.
        for process in known:
            self._known.pop(process.pid, None)
        self._known.update((process.pid, process) for process in found)
        if not self._leader_lives:
            self._number_is_ours = self._number_is_ours and number_in_use

    async def sweep(self, *, term: float, kill: float) -> list[int]:
        """End what the dead leader left behind: SIGTERM, after ``term`` seconds SIGKILL, for ``kill`` seconds more.

        Returns the ids that outlived even that, which only a process stuck in the kernel or another user's can.
        """
        clock = asyncio.get_running_loop().time
        started = clock()
        asked: set[int] = set()
        while True:
            await self.survey()
            if not self._known:
                return []
            spent = clock() - started
            if spent >= term + kill:
                return sorted(self._known)
            if spent >= term:
                _send(self._known.values(), signal.SIGKILL)
            else:
                _send((p for pid, p in self._known.items() if pid not in asked), signal.SIGTERM)
                asked.update(self._known)
            await asyncio.sleep(PAUSE)


@cache
def _looker() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix="ombud-processes")


def _unreaped(pid: int) -> bool:
    """Whether our own child ``pid`` still holds its number, dead or alive.

    A thread of asyncio's may have reaped it a moment before the loop is told. macOS lacks ``waitid`` up to Python
    3.12; there that moment, far too short for a number to come round again, is accepted.
    """
    if sys.platform != "linux":
        return True
    try:
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def _send(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    import psutil

    for process in processes:
        # Gone, reused or another user's: the next look tells which of them matter.
        with suppress(psutil.Error, OSError):
            process.send_signal(number)


def _search(
    leader: int | None, number: int | None, mark: str, known: Sequence[psutil.Process]
) -> tuple[list[psutil.Process], bool]:
    """The living processes of a group without its leader, and whether one of them is in the group ``number``."""
    import psutil

    found = {process.pid: process for process in known if _lives(process)}
    number_in_use = False
    for pid in psutil.pids():
        grouped = number is not None and _group_of(pid) == number
        if pid in found:
            number_in_use |= grouped
        elif pid not in (leader, os.getpid()) and (grouped or _is_marked(pid, mark)):
            with suppress(psutil.Error, OSError):
                process = psutil.Process(pid)
                if _lives(process):
                    found[pid] = process
                    number_in_use |= grouped
    for process in _descendants(leader, list(found.values())):
        if _lives(process):
            found.setdefault(process.pid, process)
    return list(found.values()), number_in_use


def _descendants(leader: int | None, members: Sequence[psutil.Process]) -> Iterable[psutil.Process]:
    import psutil

    roots = list(members)
    with suppress(psutil.Error, OSError):
        if leader is not None:
            roots.insert(0, psutil.Process(leader))
    for root in roots:
        with suppress(psutil.Error, OSError):
            yield from root.children(recursive=True)


def _lives(process: psutil.Process) -> bool:
    """Whether it is running; a zombie, which only waits for its parent to notice, is not."""
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except (psutil.Error, OSError):
        return False


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except OSError:
        return None


def _is_marked(pid: int, mark: str) -> bool:
    """Whether ``pid`` was started with our mark in its environment. Linux only: macOS hides it from unsigned code."""
    if sys.platform != "linux":
        return False
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{CHILD}={mark}".encode() in environment.split(b"\0")
