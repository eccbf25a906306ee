"""Searches in a process that may crash or never come to an end (`ombud.structural.pool` starts and ends it).

Grammars are C code that reads whatever somebody wrote, and patterns are anybody's as well. ``python -m
ombud.structural.worker`` is asked on its standard input and says on its standard output (`ombud.structural.messages`).
It listens while it works: what comes meanwhile takes turns with what is being done, and is told when to stop.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

from ombud.errors import UserError
from ombud.process import frames
from ombud.structural.finding import Search
from ombud.structural.messages import (
    CANCELLED,
    IDLE,
    PARSING,
    SAID,
    Bound,
    Failed,
    Find,
    Found,
    Rewrite,
    Rewritten,
    Said,
    Setup,
    Stop,
    marked,
)
from ombud.structural.renewing import Renewal
from ombud.structural.shard import Key, Shard, key_of

PARSE_SECONDS = 5.0
MATCH_SECONDS = 20.0
"""How much of this process' own time one file may take; then the system ends the process."""
MEMORY = 2 << 30
"""Bytes that it may have besides what it keeps."""
SLOW = signal.SIGPROF
"""What ends a process whose file takes too long."""
SLICE_SECONDS = 0.02
"""How long one question is worked on before the next has its turn."""
_READ = 1 << 18
_POLL_SECONDS = 0.002

Work = Generator[None, Key | None, Found | Rewritten]


class Ended(Exception):
    """There is nobody left to work for."""


class Task:
    """A question that is being worked on."""

    def __init__(self, number: int, kind: type[Find] | type[Rewrite], work: Work) -> None:
        self.number = number
        self.work = work
        self.stop = False
        self._kind = kind
        self._bound: Key | None = None
        self._begun = False

    def bound(self, key: Key) -> None:
        self._bound = key

    def run(self, until: float) -> Found | Rewritten | None:
        """Go on until that time; the answer once there is one. Raises UserError."""
        try:
            while True:
                bound, self._bound = self._bound, None
                self.work.send(bound if self._begun else None)
                if not self._begun:
                    self._begun, self._bound = True, bound
                if time.monotonic() > until:
                    return None
        except StopIteration as stop:
            answer: Found | Rewritten = stop.value
            return answer

    def cancelled(self) -> Found | Rewritten:
        self.work.close()
        return (Found if self._kind is Find else Rewritten)(self.number, stopped=CANCELLED)


class Worker:
    """Reads questions from ``source``, a descriptor, and writes answers to ``out``."""

    def __init__(self, source: int, out: int) -> None:
        self._source = source
        self._out = out
        self._frames = frames.Frames()
        self._tasks: deque[Task] = deque()
        self._later: deque[Task] = deque()
        self._marker = -1
        self._number = 0
        self._shard: Shard | None = None

    def run(self) -> None:
        """Until Ended."""
        while True:
            self._listen(wait=not self._tasks and not self._later)
            queue = self._tasks or self._later
            if queue:
                self._go_on(queue)

    def _go_on(self, queue: deque[Task]) -> None:
        task = queue[0]
        self._number = task.number
        until = time.monotonic() + SLICE_SECONDS
        try:
            answer = task.cancelled() if task.stop else None
            while answer is None and not task.stop and time.monotonic() < until:
                answer = task.run(time.monotonic() + _POLL_SECONDS)
                if answer is None and select.select([self._source], [], [], 0)[0]:
                    break
        except UserError as error:
            queue.popleft()
            self._say(Failed(task.number, error.message, error.kind, dict(error.data)))
            return
        if answer is not None:
            queue.popleft()
            self._say(answer)
        else:
            queue.rotate(-1)

    def _listen(self, *, wait: bool) -> None:
        """Take in what has come. Raises Ended."""
        while wait or select.select([self._source], [], [], 0)[0]:
            data = os.read(self._source, _READ)
            if not data:
                raise Ended
            for message in self._frames.feed(data):
                self._take(SAID.decode(message))
                wait = False

    def _take(self, said: Said) -> None:
        if isinstance(said, Setup):
            self._marker = os.open(said.marker, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0))
            with suppress(OSError):
                Path(said.marker).unlink()
            _limit(said.memory)
            self._shard = Shard(said.number, said.count, said.memory, at=self._at)
            return
        assert self._shard is not None
        if isinstance(said, Find):
            task = Task(said.number, Find, Search(self._shard, said).run())
            (self._later if said.later else self._tasks).append(task)
        elif isinstance(said, Rewrite):
            self._tasks.append(Task(said.number, Rewrite, Renewal(self._shard, said).run()))
        else:
            self._tell(said)

    def _tell(self, said: Stop | Bound) -> None:
        for task in [*self._tasks, *self._later]:
            if task.number == said.number:
                if isinstance(said, Stop):
                    task.stop = True
                else:
                    task.bound(key_of(said.root, said.path))

    def _at(self, what: bytes, path: str) -> None:
        """Say what is being done, so that the guilty file is known if this process dies of it."""
        os.pwrite(self._marker, marked(self._number, what, path), 0)
        _allow(PARSE_SECONDS if what == PARSING else MATCH_SECONDS)

    def _say(self, message: Found | Rewritten | Failed) -> None:
        os.pwrite(self._marker, marked(message.number, IDLE, ""), 0)
        _allow(0)
        data = memoryview(frames.pack(message))
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError:
            raise Ended from None


def _allow(seconds: float) -> None:
    """Seconds of this process' own time from now on: a busy machine makes no file guilty."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def _limit(memory: int) -> None:
    """A text that is made to use up the machine ends this process and nothing else."""
    import resource

    for what, most in ((resource.RLIMIT_AS, MEMORY + 2 * memory), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # Not every system knows each of them.
            resource.setrlimit(what, (limit, limit))


def main() -> None:
    """Answer questions until there are no more. See the module."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    # What is made here has no circles worth looking for while a search runs.
    gc.set_threshold(100_000, 50, 100)
    with suppress(Ended):
        Worker(sys.stdin.fileno(), sys.stdout.fileno()).run()


if __name__ == "__main__":
    main()
