"""Workers that make facts: as many as there are processors, each with a few files at a time, ended where they hang.

Everything happens in the caller's thread: `Pool.answers` waits for whichever worker answers next. A worker has two
batches, so that it need not wait for the next one. When it dies, what it had not answered is given out again, and the
job that it said it was at by itself: only where that worker dies as well was it the file.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from ombud.graph import sources
from ombud.graph.worker import MARK, SKIPPED, SLOW, Done, Job, answered
from ombud.process import frames
from ombud.process.pipes import SIZE, widen

LOG = logging.getLogger(__name__)
MOST = 4
"""Workers of one pool."""
BATCH_FILES = 32
BATCH_BYTES = 256_000
BATCH_PATHS = 24_000
"""Files, bytes of theirs, and characters of their paths in one batch. A pipe holds 64 KB."""
STILLBORN = 3
WALL_SECONDS = 120.0
"""How long one file may take by the clock, for what waits and uses no time of its own."""
_LOOK_SECONDS = 1.0
_TAIL = 2000


def command(root: Path) -> list[str]:
    """How a worker is started; the descriptor of its marker follows."""
    return [sys.executable, "-P", "-m", "ombud.graph.worker", str(root)]


class _Lost(Exception):
    """The worker has ended."""


class _Worker:
    """One process, and what it has not answered yet."""

    def __init__(self, argv: Sequence[str]) -> None:
        # Files, not pipes: nobody reads them while the worker lives.
        self._marker = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._process = subprocess.Popen(
                [*argv, str(self._marker.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                pass_fds=[self._marker.fileno()],
                cwd="/",
                bufsize=0,
            )
        except BaseException:
            self._marker.close()
            self._said.close()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in: IO[bytes] = self._process.stdin
        self.out: IO[bytes] = self._process.stdout
        widen(self.out.fileno())
        self._frames = frames.Frames()
        self.batches: deque[list[Job]] = deque()
        self._at = -1
        self._since = time.monotonic()

    def give(self, batch: list[Job]) -> None:
        """Raises _Lost."""
        self.batches.append(batch)
        if len(self.batches) == 1:
            self._since = time.monotonic()
        try:
            data = memoryview(frames.pack(batch))
            while data:
                data = data[self._in.write(data) :]
        except OSError as error:
            raise _Lost from error

    def take(self) -> list[Done]:
        """What it has answered. Raises _Lost."""
        try:
            data = os.read(self.out.fileno(), SIZE)
        except OSError as error:
            raise _Lost from error
        if not data:
            raise _Lost
        found: list[Done] = []
        try:
            for message in self._frames.feed(data):
                found += answered(message)
                self.batches.popleft()
                self._since = time.monotonic()
        except (ValueError, IndexError) as error:
            raise _Lost from error
        return found

    def at(self) -> int:
        """The number of the job that it is at, or was at when it died."""
        return int.from_bytes(os.pread(self._marker.fileno(), MARK, 0), "big")

    def is_stuck(self) -> bool:
        """Whether it has been at one job for too long. Asked every second or so."""
        at = self.at()
        if at != self._at or not self.batches:
            self._at, self._since = at, time.monotonic()
        return time.monotonic() - self._since > WALL_SECONDS

    def end(self) -> int:
        """End it, whatever it does; its exit code."""
        for pipe in (self._in, self.out):
            with contextlib.suppress(OSError):
                pipe.close()
        self._process.kill()
        code = self._process.wait()
        self._marker.close()
        self._said.close()
        return code

    def words(self) -> str:
        """The end of what it said on its standard error."""
        size = self._said.seek(0, os.SEEK_END)
        self._said.seek(max(0, size - _TAIL))
        return self._said.read().decode("utf-8", "replace").strip()


class Pool:
    """``argv`` is `command`, or a program that answers as it does. No process is started before the first job."""

    def __init__(self, argv: Sequence[str], most: int | None = None) -> None:
        self.argv = argv
        self.most = most or min(MOST, _processors())
        self.workers: list[_Worker] = []
        self.deaths = 0
        """Workers that died."""
        self._stillborn = 0

    def died(self, at_work: bool, words: str) -> None:
        """Raises OSError where one after the other dies before it has begun: it is not the files then."""
        self.deaths += 1
        self._stillborn = 0 if at_work else self._stillborn + 1
        if self._stillborn >= STILLBORN:
            raise OSError(f"The processes that read source files do not start. {words}")

    def answers(
        self,
        jobs: Iterable[Job],
        sizes: Callable[[Job], int],
        stop: Callable[[], bool],
        meanwhile: Callable[[], None] | None = None,
    ) -> Iterator[Done]:
        """The answer of each job, in any order, none twice.

        Jobs have numbers from 1. ``sizes`` says how many bytes a job's file has, as far as is known. ``stop`` is asked
        between batches: once it is true no more are begun, and the iterator ends when those that were have been
        answered. ``meanwhile`` is called when the first are being done. Raises OSError where no worker can be started.
        """
        run = _Run(self, _batches(iter(jobs), sizes), stop, meanwhile)
        try:
            yield from run.answers()
        except BaseException:
            # Whoever asked does not listen to the end: what workers are still busy with is nobody's.
            self.close()
            raise

    def shrink(self, count: int) -> None:
        """End workers that have nothing to do, down to ``count``."""
        while len(self.workers) > count:
            self.workers.pop().end()

    def close(self) -> None:
        self.shrink(0)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Run:
    """The jobs of one call of `Pool.answers`."""

    def __init__(
        self,
        pool: Pool,
        batches: Iterator[list[Job]],
        stop: Callable[[], bool],
        meanwhile: Callable[[], None] | None = None,
    ) -> None:
        self._pool = pool
        self._batches = batches
        self._again: deque[list[Job]] = deque()
        self._suspects: set[int] = set()
        """Jobs that a worker has died over once, which may have been anybody's doing."""
        self._stop = stop
        self._meanwhile = meanwhile
        self._waiting = selectors.DefaultSelector()

    def answers(self) -> Iterator[Done]:
        with self._waiting:
            for worker in self._pool.workers:
                self._waiting.register(worker.out, selectors.EVENT_READ, worker)
            while True:
                yield from self._feed()
                if not any(worker.batches for worker in self._pool.workers):
                    return
                if self._meanwhile is not None:
                    self._meanwhile()
                    self._meanwhile = None
                ready = self._waiting.select(_LOOK_SECONDS)
                for key, _ in ready:
                    yield from self._hear(key.data)
                if not ready:
                    for worker in [one for one in self._pool.workers if one.is_stuck()]:
                        yield from self._bury(worker, sources.SLOW)

    def _feed(self) -> Iterator[Done]:
        """Give each worker what it can take, and start those that are missing while there is something to do."""
        pool = self._pool
        for worker in [one for one in pool.workers if not one.batches]:
            if batch := self._next():
                yield from self._give(worker, batch)
        while len(pool.workers) < pool.most and (batch := self._next()):
            worker = _Worker(pool.argv)
            pool.workers.append(worker)
            self._waiting.register(worker.out, selectors.EVENT_READ, worker)
            yield from self._give(worker, batch)
        for worker in [one for one in pool.workers if len(one.batches) == 1]:
            if _is_light(worker.batches[0]) and (batch := self._next(light=True)):
                yield from self._give(worker, batch)

    def _give(self, worker: _Worker, batch: list[Job]) -> Iterator[Done]:
        try:
            worker.give(batch)
        except _Lost:
            yield from self._bury(worker)

    def _hear(self, worker: _Worker) -> Iterator[Done]:
        try:
            if worker in self._pool.workers:
                yield from worker.take()
        except _Lost:
            yield from self._bury(worker)

    def _next(self, *, light: bool = False) -> list[Job] | None:
        """The next batch; ``light`` for one that the pipe takes whole while the worker is busy with another."""
        if self._stop():
            return None
        if not self._again and (batch := next(self._batches, None)):
            self._again.append(batch)
        if not self._again or (light and not _is_light(self._again[0])):
            return None
        return self._again.popleft()

    def _bury(self, worker: _Worker, reason: str = "") -> Iterator[Done]:
        """The worker is dead, or as good as: what it was at is tried once more by itself, or answered."""
        pool = self._pool
        at, words = worker.at(), worker.words()
        self._waiting.unregister(worker.out)
        pool.workers.remove(worker)
        code = worker.end()
        left = [job for batch in worker.batches for job in batch]
        if not left:
            return
        suspect = next((job for job in left if job.number == at), None)
        pool.died(suspect is not None, words)
        rest = [job for job in left if job is not suspect]
        if rest:
            self._again.appendleft(rest)
        if suspect is None:
            return
        if not reason and code != -SLOW and at not in self._suspects:
            self._suspects.add(at)
            self._again.appendleft([suspect])
            return
        why = reason or (sources.SLOW if code == -SLOW else sources.FAILED)
        LOG.warning("%s was left out: %s (%d). %s", suspect.path, why, code, words)
        yield Done(at, SKIPPED, suspect.language, reason=why)


def _is_light(batch: Sequence[Job]) -> bool:
    """Whether a batch is of paths alone. Texts might fill the pipe of a worker that waits for its answer to be read."""
    return all(job.text is None for job in batch)


def _batches(jobs: Iterator[Job], sizes: Callable[[Job], int]) -> Iterator[list[Job]]:
    batch: list[Job] = []
    size = paths = 0
    for job in jobs:
        batch.append(job)
        size += sizes(job)
        paths += len(job.path)
        if len(batch) >= BATCH_FILES or size > BATCH_BYTES or paths > BATCH_PATHS:
            yield batch
            batch, size, paths = [], 0, 0
    if batch:
        yield batch


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
