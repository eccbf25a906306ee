"""Nothing is left behind, also not after ``kill -9`` of Ombud (row P1).

A process that is killed cannot clean up, so a second one does it: a small fixed shell script (``guardian.sh``, no
Python, about a megabyte), in a session of its own, which waits for the end of a connection that only Ombud holds. Then
it ends the groups it was told of and, on Linux, every process that carries the hub's mark in its environment.

Limits: on macOS only groups are ended, because another process's environment cannot be read there; on Linux a process
that has left its group *and* dropped its environment is not found. On Windows the same promise is kept by a job object
with "kill on close", which would be created here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import subprocess
from collections import deque
from contextlib import suppress
from pathlib import Path

from ombud.errors import PeerError
from ombud.process.environment import HUB

_log = logging.getLogger(__name__)

SHELL = "/bin/sh"
HIGHEST_GROUP = 9_999_999
"""The script takes seven digits; Linux counts to 4,194,304 and macOS to 99,999."""
DEATHS = 5
DEATHS_WITHIN = 60.0
"""After so many deaths in so many seconds a guardian is not replaced at once any more, but when it is needed next."""
FAREWELL = 8.0
"""Seconds the guardian may take to end what is left: its own rounds of SIGTERM and SIGKILL last three at most."""


class Guardian:
    """One for each hub. Nothing runs before the first ``ensure``; all methods belong to the event loop's thread."""

    def __init__(self) -> None:
        self.marker = os.urandom(16).hex()
        self.restarts = 0
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._deaths: deque[float] = deque(maxlen=DEATHS)
        self._unreaped: list[subprocess.Popen[bytes]] = []
        self._gone = asyncio.Event()
        self._closed = False
        self._children = 0

    @property
    def pid(self) -> int | None:
        """The guardian's process id while it is known to run."""
        return self._process.pid if self._process is not None and self._line is not None else None

    def environment(self) -> dict[str, str]:
        """What every child carries in its environment so that it can be found again."""
        return {HUB: self.marker}

    def new_mark(self) -> str:
        """A mark for one child, unique within this hub and, by the hub's own, within the machine."""
        self._children += 1
        return f"{self.marker}.{self._children}"

    def ensure(self) -> None:
        """Have a guardian running, with the full list. Needs a running event loop.

        Raises PeerError (``server_failed``) when it cannot be started, and after ``close``: a child that nobody would
        end is not started.
        """
        if self._closed:
            raise PeerError("Ombud is shutting down; no server is started any more.", kind="server_failed")
        if self._line is not None:
            return
        self._loop = asyncio.get_running_loop()
        try:
            self._start(self._loop)
        except OSError as error:
            raise PeerError(
                f"The guardian process ({SHELL}) could not be started: {error.strerror or error}. "
                "Without it a server could outlive Ombud, so none is started; free some processes and try again.",
                kind="server_failed",
            ) from error

    def add(self, group: int) -> None:
        """Enter a process group. A guardian that has died is replaced first.

        ValueError for a number that cannot be a child's group: to the system, 1 and below mean many processes.
        """
        if not 1 < group <= HIGHEST_GROUP:
            raise ValueError(f"{group} is not a process group of a child")
        self._groups.add(group)
        if self._line is None and not self._closed:
            self._replace()
        else:
            self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Strike out a group of which nobody is left, so that a later owner of its number is safe."""
        self._groups.discard(group)
        self._tell(f"-{group}\n")

    async def close(self) -> None:
        """Let the guardian end what is still listed or marked, then itself; at once when nothing is left."""
        self._closed = True
        if self._line is not None and self._process is not None:
            with suppress(OSError):
                self._line.shutdown(socket.SHUT_WR)
            try:
                async with asyncio.timeout(FAREWELL):
                    await self._gone.wait()
            except TimeoutError:
                _log.warning("The guardian process %d did not end within %g s.", self._process.pid, FAREWELL)
                self._process.kill()
                self._hang_up()
            self._unreaped.append(self._process)
        for _ in range(200):
            # They are dead or as good as dead; no event tells when a process that is not asyncio's can be reaped.
            self._unreaped = [process for process in self._unreaped if process.poll() is None]
            if not self._unreaped:
                return
            await asyncio.sleep(0.01)

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        ours, theirs = socket.socketpair()
        try:
            ours.setblocking(False)
            # Only this process may hold ``ours``: Python makes both ends close-on-exec, and ``theirs`` becomes the
            # guardian's standard input. Its other streams lead nowhere, so that it never keeps a client waiting for
            # the end of Ombud's output.
            self._process = subprocess.Popen(
                [SHELL, "-c", _script(), "ombud-guardian", self.marker],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_guardian_environment(),
                start_new_session=True,
            )
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self._line = ours
        self._gone.clear()
        loop.add_reader(ours.fileno(), self._noticed)
        for group in sorted(self._groups):
            self._tell(f"+{group}\n")

    def _tell(self, line: str) -> None:
        if self._line is None:
            return
        data = line.encode("ascii")
        try:
            stuck = self._line.send(data) < len(data)
        except (BlockingIOError, InterruptedError):
            stuck = True
        except OSError:
            self._lost()
            return
        if stuck and self._process is not None:
            # It has not read for thousands of lines: it is stopped, and as good as dead.
            self._process.kill()
            self._lost()

    def _noticed(self) -> None:
        """The connection is readable. The guardian never writes, so this is its end."""
        if self._line is None:
            return
        try:
            if self._line.recv(64):
                return
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            pass
        self._lost()

    def _lost(self) -> None:
        self._hang_up()
        self._gone.set()
        if self._closed:
            return
        process, loop = self._process, self._loop
        if process is None or loop is None:
            return
        _log.warning("The guardian process %d has died.", process.pid)
        self._unreaped.append(process)
        self._reap()
        self._deaths.append(loop.time())
        # Without this bound a guardian that cannot live, for want of memory or of a sound shell, would spin for ever.
        if len(self._deaths) < DEATHS or self._deaths[-1] - self._deaths[0] > DEATHS_WITHIN:
            self._replace()

    def _replace(self) -> None:
        self.restarts += 1
        try:
            self.ensure()
        except PeerError as error:
            # The children run on; the next ``ensure``, before the next child, says it to the caller.
            _log.error("%s", error.message)

    def _reap(self) -> None:
        """Take the status of the dead, so that none stays a zombie; their connection breaks just before."""
        self._unreaped = [process for process in self._unreaped if process.poll() is None]
        if self._unreaped and self._loop is not None:
            self._loop.call_later(0.05, self._reap)

    def _hang_up(self) -> None:
        if self._line is not None:
            if self._loop is not None and not self._loop.is_closed():
                self._loop.remove_reader(self._line.fileno())
            self._line.close()
            self._line = None


def _script() -> str:
    return Path(__file__).with_name("guardian.sh").read_text(encoding="ascii")


def _guardian_environment() -> dict[str, str]:
    """The system's own folders first: nothing a workspace puts on PATH (row T7) is to be run by the guardian.

    It carries no mark, neither ours nor that of an Ombud further out whose guardian would end it too early.
    """
    user = [entry for entry in os.environ.get("PATH", "").split(os.pathsep) if Path(entry).is_absolute()]
    return {"PATH": os.pathsep.join(["/usr/bin", "/bin", *user]), "LC_ALL": "C"}
