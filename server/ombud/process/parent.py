"""Watch the client that started us, and say when it is gone.

The end of standard input is the primary sign that a client has left; its process id is the second one (LSP,
``InitializeParams.processId``). In a container the id often belongs to another namespace (row P8), so it counts only
if it is visible and alive at the first look.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

INTERVAL = 3.0
"""Seconds between two looks where the system cannot tell us of a death."""


class ParentWatch:
    """Calls ``on_death`` once, in the event loop, when the process ``pid`` has ended.

    Ids that name nobody in particular are ignored: None, zero and negatives (they mean groups to the system), our own
    id, and 1, whose end is the end of every process that could be told about it.
    """

    def __init__(self, pid: int | None, on_death: Callable[[], None], *, interval: float = INTERVAL) -> None:
        self._pid = pid if pid is not None and pid > 1 and pid != os.getpid() else None
        self._on_death: Callable[[], None] | None = on_death
        self._interval = interval
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pidfd: int | None = None
        self._process: psutil.Process | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def watching(self) -> bool:
        """Whether a death would be noticed."""
        return self._pidfd is not None or self._timer is not None

    def start(self) -> bool:
        """Probe once and begin to watch; False when there is nothing to watch. Needs a running event loop."""
        if self.watching or self._on_death is None or self._pid is None or not _visible(self._pid):
            return self.watching
        self._loop = asyncio.get_running_loop()
        return self._start_pidfd(self._pid) or self._start_polling(self._pid)

    def close(self) -> None:
        """Stop watching; ``on_death`` is not called any more. May be called at any time, also twice."""
        if self._pidfd is not None and self._loop is not None:
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._process = None
        self._on_death = None

    def _start_pidfd(self, pid: int) -> bool:
        """An event instead of polling. The handle stays with the process, whoever gets its number afterwards."""
        if sys.platform != "linux" or self._loop is None:
            return False
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            # Kernels before 5.3 and some sandboxes do not have it; polling does the same, later.
            return False
        if _readable(pidfd):
            # Dead and merely not yet reaped: it was not alive at the first look, and polling will find the same.
            os.close(pidfd)
            return False
        try:
            self._loop.add_reader(pidfd, self._died)
        except NotImplementedError:
            os.close(pidfd)
            return False
        self._pidfd = pidfd
        return True

    def _start_polling(self, pid: int) -> bool:
        import psutil

        try:
            process = psutil.Process(pid)
        except psutil.Error:
            return False
        if not _lives(process):
            return False
        self._process = process
        self._look_again()
        return True

    def _look_again(self) -> None:
        if self._loop is not None:
            self._timer = self._loop.call_later(self._interval, self._look)

    def _look(self) -> None:
        if self._process is not None and _lives(self._process):
            self._look_again()
        else:
            self._died()

    def _died(self) -> None:
        on_death = self._on_death
        self.close()
        if on_death is not None:
            on_death()


def _visible(pid: int) -> bool:
    if sys.platform == "win32":
        # There, os.kill with signal 0 is a Ctrl-C and not a question.
        import psutil

        return psutil.pid_exists(pid)
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (ProcessLookupError, OverflowError):
        return False
    return True


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _lives(process: psutil.Process) -> bool:
    """Whether this very process, not a later one with its number, is running."""
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.AccessDenied:
        return True
    except psutil.Error:
        return False
