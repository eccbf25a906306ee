"""The hub's side of the search workers: as many as there are processors, started when needed, ended when not.

A worker that dies says in its marker which file it was at. It is replaced, and asked the same again without that file.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ombud.errors import OmbudError, PeerError, UserError
from ombud.guard.redact import clean, redact
from ombud.process import frames
from ombud.structural.messages import (
    ANSWERS,
    IDLE,
    LONGEST,
    MATCHING,
    PARSING,
    READING,
    Answer,
    Bound,
    Failed,
    Find,
    Rewrite,
    Setup,
    Stop,
    read_marker,
)
from ombud.workspace.listing import Stamp, stamp_of

if TYPE_CHECKING:
    from ombud.process.child import Child
    from ombud.process.exit import Exit
    from ombud.process.guardian import Guardian

LOG = logging.getLogger(__name__)
MOST = 4
"""Workers of one pool."""
DEATHS = 8
"""How many workers one question may cost."""
GRACE_SECONDS = 10.0
"""How long after the end of its time a worker may still be silent."""
COMMAND = (sys.executable, "-P", "-m", "ombud.structural.worker")


class Lost(Exception):
    """The worker has ended. ``number`` is the question it was at, ``what`` it did, with ``path``; empty if unknown."""

    def __init__(self, number: int, what: bytes, path: str, words: str) -> None:
        super().__init__(words)
        self.number = number
        self.what = what
        self.path = path


class _Worker:
    """One process, started by `start`, and the questions it has not answered yet."""

    def __init__(self) -> None:
        self._frames = frames.Frames()
        self._asked: dict[int, asyncio.Future[Answer]] = {}
        self._child: Child | None = None
        self._marker: int = -1
        self._place = ""
        self.ended = False
        self.answered = False

    async def start(self, guardian: Guardian, setup: Setup, command: Sequence[str]) -> None:
        """Raises PeerError."""
        from ombud.process.child import Child

        self._marker, self._place = tempfile.mkstemp(prefix="ombud-search-")
        setup.marker = self._place
        try:
            # Nothing of it is the workspace's: neither the folder nor what is imported.
            self._child = await Child.start(
                command,
                cwd=Path("/"),
                env=_environment(),
                on_stdout=self._hear,
                on_exit=self._exit,
                guardian=guardian,
                stderr_limit=8192,
            )
        except BaseException:
            self._close_marker()
            raise
        if self.ended:
            return
        self._child.write(frames.pack(setup))

    async def ask(self, question: Find | Rewrite) -> Answer:
        """Raises Lost. What was cancelled is not worked on any more."""
        if self.ended or self._child is None:
            raise Lost(0, b"", "", "it had ended")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._asked[question.number] = answer
        self._child.write(frames.pack(question))
        try:
            async with asyncio.timeout(None if question_waits(question) else question.seconds + GRACE_SECONDS):
                return await answer
        except TimeoutError:
            self.kill()
            raise Lost(*self._read_marker(), "it did not answer") from None
        except asyncio.CancelledError:
            self.tell(Stop(question.number))
            raise
        finally:
            self._asked.pop(question.number, None)

    def tell(self, message: Stop | Bound) -> None:
        if self._child is not None and not self.ended:
            self._child.write(frames.pack(message))

    def is_asked(self, number: int) -> bool:
        return number in self._asked

    @property
    def pid(self) -> int:
        return self._child.pid if self._child is not None else 0

    def kill(self) -> None:
        if self._child is not None and not self.ended:
            self._child.group.kill()

    def _hear(self, data: bytes) -> None:
        try:
            for message in self._frames.feed(data):
                answer = ANSWERS.decode(message)
                self.answered = True
                waiting = self._asked.get(answer.number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(answer)
        except (ValueError, msgspec.MsgspecError):
            LOG.exception("a search worker is not understood")
            self.kill()

    def _exit(self, end: Exit) -> None:
        wanted, self.ended = self.ended, True
        words = clean(redact(self._child.stderr_tail(3)), 300) if self._child is not None else ""
        lost = Lost(*self._read_marker(), f"it {end.words}. {words}".strip())
        self._close_marker()
        for waiting in list(self._asked.values()):
            if not waiting.done():
                waiting.set_exception(lost)
                # Whoever asked may have left meanwhile.
                waiting.exception()
        if self._asked and not wanted:
            LOG.warning("A search worker %s at %s %s", lost, lost.what.decode(), clean(lost.path, 200))

    def _read_marker(self) -> tuple[int, bytes, str]:
        if self._marker < 0:
            return 0, b"", ""
        return read_marker(os.pread(self._marker, LONGEST, 0))

    def _close_marker(self) -> None:
        if self._marker >= 0:
            os.close(self._marker)
            self._marker = -1
            # It is the worker's to do, once it has opened it; not all of them come to that.
            with suppress(OSError):
                os.unlink(self._place)  # noqa: PTH108

    async def end(self) -> None:
        from ombud.process.ladder import Grace, end

        child, self._child = self._child, None
        self.ended = True
        if child is not None:
            # It has nothing to save.
            child.close_stdin()
            await end(child, grace=Grace(goodbye=0, stdin=0, term=0, kill=5))
        self._close_marker()


def question_waits(question: Find | Rewrite) -> bool:
    """Whether a question may wait for others as long as it takes."""
    return isinstance(question, Find) and question.later


class Pool:
    """``memory`` is in bytes and for all workers together. ``guardian`` ends them should Ombud be killed."""

    def __init__(self, guardian: Guardian, memory: int, count: int | None = None) -> None:
        self._guardian = guardian
        self.memory = memory
        self.count = count or min(MOST, processors())
        self.command: Sequence[str] = COMMAND
        self._workers: list[_Worker | None] = [None] * self.count
        self._starting = [asyncio.Lock() for _ in range(self.count)]
        self._number = 0
        self._stillborn = 0
        self._closed = False
        self._guilty: dict[str, Stamp] = {}
        """Files that a parser could not live with, as they were then."""

    @property
    def pids(self) -> list[int]:
        """The processes that run."""
        return [worker.pid for worker in self._workers if worker is not None and not worker.ended]

    async def each(
        self, make: Callable[[int, int], Find | Rewrite], told: Callable[[Answer], Bound | None]
    ) -> list[Answer]:
        """Ask every worker. ``make`` is given the number of the question and that of the worker; ``told`` sees each
        answer as it comes, and may say what the others need not look at any more.

        Raises UserError where the question is wrong, PeerError where workers cannot be had or die of it.
        """
        self._number += 1
        number = self._number
        asking = [asyncio.ensure_future(self._one(make, number, index)) for index in range(self.count)]
        try:
            for done in asyncio.as_completed(asking):
                answer = await done
                if (bound := told(answer)) is not None:
                    bound.number = number
                    for worker in self._workers:
                        if worker is not None and worker.is_asked(number):
                            worker.tell(bound)
            return [one.result() for one in asking]
        finally:
            for one in asking:
                one.cancel()
            # Each has to be told to stop before anybody asks the next thing.
            await asyncio.gather(*asking, return_exceptions=True)

    async def _one(self, make: Callable[[int, int], Find | Rewrite], number: int, index: int) -> Answer:
        avoid: list[str] = []
        for _ in range(DEATHS):
            worker = await self._worker(index)
            question = make(number, index)
            question.avoid = [*avoid, *self._known_guilty()]
            try:
                answer = await worker.ask(question)
            except Lost as lost:
                self._mourn(worker, index, lost, number, avoid)
                continue
            self._stillborn = 0
            if isinstance(answer, Failed):
                raise _error(answer)
            return answer
        raise PeerError(
            "The search ended too many of its own processes; narrow it by path, language or pattern.",
            kind="server_failed",
        )

    def _mourn(self, worker: _Worker, index: int, lost: Lost, number: int, avoid: list[str]) -> None:
        """A worker died at a question. Raises UserError where the pattern was it, PeerError where none can live."""
        if self._workers[index] is worker:
            self._workers[index] = None
        self._stillborn = self._stillborn + 1 if not worker.answered and lost.what in (b"", IDLE) else 0
        if self._stillborn >= 2 * DEATHS:
            raise PeerError(f"The processes that search do not start: {lost}", kind="server_failed")
        if lost.what == READING and lost.number == number:
            raise UserError(
                f"The parser of {lost.path} cannot live with this pattern; write it differently.",
                kind="unparseable_pattern",
                language=lost.path,
                rungs=[],
            )
        if lost.what in (PARSING, MATCHING) and lost.number == number:
            avoid.append(lost.path)
        if lost.what == PARSING:
            self._guilty[lost.path] = stamp_of(lost.path)

    def _known_guilty(self) -> list[str]:
        for path, stamp in list(self._guilty.items()):
            if stamp_of(path) != stamp:
                del self._guilty[path]
        return list(self._guilty)

    async def _worker(self, index: int) -> _Worker:
        async with self._starting[index]:
            if self._closed:
                raise PeerError("The search was ended; nothing is searched without leave.", kind="server_failed")
            worker = self._workers[index]
            if worker is None or worker.ended:
                worker = _Worker()
                await worker.start(
                    self._guardian, Setup(index, self.count, self.memory // self.count, ""), self.command
                )
                self._workers[index] = worker
            return worker

    async def close(self) -> None:
        self._closed = True
        workers, self._workers = self._workers, [None] * self.count
        await asyncio.gather(*(worker.end() for worker in workers if worker is not None))


def _error(failed: Failed) -> OmbudError:
    return UserError(failed.message, kind=failed.kind, **failed.data)


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _environment() -> dict[str, str]:
    """Ombud's own: it is Ombud's own program."""
    from ombud.process.environment import CHILD, HUB

    return {name: value for name, value in os.environ.items() if name not in (HUB, CHILD)}
