"""What a child costs: memory and processor time, its descendants included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


@dataclass(frozen=True, slots=True)
class Usage:
    """The cost of a process and all its living descendants.

    ``rss_bytes`` adds resident sizes, so pages that the processes share are counted once for each of them.
    ``cpu_seconds`` is user plus system time; where the system says so (Linux) it includes descendants that have ended.
    ``processes`` counts the process itself and its living descendants.
    """

    rss_bytes: int
    cpu_seconds: float
    processes: int


def usage(pid: int) -> Usage | None:
    """Measure ``pid`` and its descendants (tsserver alone is four processes), or None when ``pid`` is not running.

    Never raises on processes that vanish in between; one that may not be looked at is left out. Reads a few files per
    process of the machine, that is some milliseconds: a caller that measures many does it in a thread.
    """
    import psutil

    try:
        leader = psutil.Process(pid)
        family = [leader, *leader.children(recursive=True)]
        if leader.status() == psutil.STATUS_ZOMBIE:
            return None
    except (psutil.Error, OSError, ValueError, OverflowError):
        return None
    costs = [cost for cost in map(_cost, family) if cost is not None]
    if not costs:
        return None
    return Usage(sum(rss for rss, _ in costs), sum(cpu for _, cpu in costs), len(costs))


def _cost(process: psutil.Process) -> tuple[int, float] | None:
    import psutil

    try:
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            times = process.cpu_times()
            # A parent's "children" times hold only those it has waited for, so nothing is counted twice.
            spent = times.user + times.system + times.children_user + times.children_system
            return process.memory_info().rss, spent
    except (psutil.Error, OSError):
        return None
