"""Searches over a workspace: asked of the workers, put together, and asked again where a pattern reads several ways.

Of the ways in which a pattern can be read in a language the first one counts. Where nothing in any file matches it, the
next one is tried over all files, and the answer says which it was.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import msgspec

from ombud.errors import OmbudError, PeerError, UserError
from ombud.structural.messages import (
    CANCELLED,
    FULL,
    Answer,
    Bound,
    File,
    Find,
    Found,
    Hit,
    Op,
    Opened,
    Reading,
    Rewrite,
    Rewritten,
    Root,
    in_order,
)

if TYPE_CHECKING:
    from ombud.process.guardian import Guardian
    from ombud.structural.query import Query

LOG = logging.getLogger(__name__)
SECONDS = 60.0
"""How long a search takes at the most."""
COUNT_SECONDS = 60.0
"""How long one goes on counting in the background."""
MOST_TOLD = 200
"""Files that were left out, and files with errors, that one answer names."""


@dataclass(frozen=True, slots=True)
class Options:
    """``memory`` is in bytes, for all workers together."""

    memory: int
    idle_minutes: float


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be searched. ``languages`` are LSP ids with a grammar; none means all that there are.

    ``opened`` are texts of clients, which count in place of the disk's. ``most`` matches are told. ``processes`` is
    false for a client that allows none.
    """

    query: Query
    roots: Sequence[Root]
    languages: Sequence[str] = ()
    globs: Sequence[str] = ()
    opened: Sequence[Opened] = ()
    most: int = 50
    context: int = 0
    seconds: float = SECONDS
    processes: bool = True
    rungs: Mapping[str, int] | None = None
    """The reading that is meant in each language (else the first), in place of the first that finds anything."""


@dataclass(slots=True)
class Outcome:
    """What was found. ``hits`` are in the order of files and places; ``read_as`` has the number of the reading that
    counted, by language. ``stopped`` and ``total`` as in `ombud.structural.messages.Found`."""

    hits: list[Hit] = field(default_factory=list)
    readings: dict[str, Reading] = field(default_factory=dict)
    read_as: dict[str, int] = field(default_factory=dict)
    searched: int = 0
    skipped: list[tuple[int, str, str]] = field(default_factory=list)
    left: int = 0
    flawed: list[tuple[int, str]] = field(default_factory=list)
    stopped: str = ""
    total: int | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def truncated(self) -> bool:
        return bool(self.stopped)

    def language(self) -> str | None:
        """The language of the first match; without one, the first in which the pattern can be read."""
        if self.hits:
            return self.hits[0].language
        return next((language for language, reading in sorted(self.readings.items()) if reading.rungs), None)

    def parsed_as(self, language: str) -> str:
        return self.readings[language].rungs[self.read_as.get(language, 0)]

    def also_parses_as(self, language: str) -> list[str]:
        """The other readings, each name once: two shells of a language may have the same."""
        taken = self.parsed_as(language)
        return [rung for rung in dict.fromkeys(self.readings[language].rungs) if rung != taken]


class _Workers(Protocol):
    count: int

    async def each(
        self, make: Callable[[int, int], Find | Rewrite], told: Callable[[Answer], Bound | None]
    ) -> list[Answer]: ...
    async def close(self) -> None: ...


class Searcher:
    """One for the hub. No process is started before the first search that may have one; they end when idle."""

    def __init__(self, guardian: Callable[[], Guardian], options: Callable[[], Options]) -> None:
        self._guardian = guardian
        self._options = options
        self._pool: _Workers | None = None
        self._memory = 0
        self._inline: _Workers | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._counting: asyncio.Task[None] | None = None
        self._counted: bytes = b""
        self._ending: set[asyncio.Task[None]] = set()
        self._asked = 0
        self._closed = False

    # -- questions ----------------------------------------------------------------------------------------------

    async def find(self, job: Job) -> Outcome:
        """Search. Raises UserError (``unparseable_pattern`` where no language can read the pattern, a wrong query),
        PeerError where workers fail."""
        with _Use(self):
            until = time.monotonic() + job.seconds
            outcome = await self._round(job, dict(job.rungs or {}), fresh=True)
            outcome.read_as |= job.rungs or {}
            _check(outcome)
            if job.rungs is None:
                await self._further(job, outcome, until)
        if outcome.stopped == FULL and outcome.total is None and job.processes:
            self._count(job, dict(outcome.read_as))
        elif not outcome.stopped:
            outcome.total = sum(reading.matches for reading in outcome.readings.values())
        return outcome

    async def _further(self, job: Job, outcome: Outcome, until: float) -> None:
        """Read the pattern in other ways where the way before has found nothing."""
        while not outcome.stopped:
            dry = {
                language: outcome.read_as.get(language, 0) + 1
                for language, reading in outcome.readings.items()
                if reading.files and not reading.matches
            }
            rungs = {language: at for language, at in dry.items() if at < len(outcome.readings[language].rungs)}
            for language in dry.keys() - rungs.keys():
                # None of them has found anything: the first is what it is read as.
                outcome.read_as.pop(language, None)
            seconds = until - time.monotonic()
            if not rungs or seconds <= 0:
                return
            most = job.most if job.most < 0 else max(0, job.most - len(outcome.hits))
            more = replace(job, languages=sorted(rungs), most=most, seconds=seconds)
            found = await self._round(more, rungs, fresh=False)
            outcome.read_as |= rungs
            for language in rungs:
                reading = found.readings.get(language)
                outcome.readings[language].matches = reading.matches if reading is not None else 0
            known = {hit.language for hit in outcome.hits}
            outcome.hits += [hit for hit in found.hits if hit.language not in known]
            outcome.hits.sort(key=Hit.order)
            outcome.flawed += [one for one in found.flawed if one not in outcome.flawed]
            outcome.stopped, outcome.total = found.stopped, found.total

    async def rewrite(self, job: Job, ops: Sequence[Op]) -> tuple[list[File], Outcome]:
        """Rewrite what the ops match, in memory: files with a match, in order, and how the search went.

        Each op is read in a language as the search for it alone would be. Raises as `find` does.
        """
        with _Use(self):
            until = time.monotonic() + job.seconds
            chosen: dict[str, list[int | None]] = {}
            outcome = Outcome()
            for number, op in enumerate(ops):
                one = replace(job, query=op.query, most=-1, seconds=max(1.0, until - time.monotonic()))
                outcome = await self._round(one, dict(job.rungs or {}), fresh=not number)
                outcome.read_as |= job.rungs or {}
                _check(outcome)
                if job.rungs is None:
                    await self._further(one, outcome, until)
                for language, reading in outcome.readings.items():
                    rungs = chosen.setdefault(language, [None] * len(ops))
                    rungs[number] = outcome.read_as.get(language, 0) if reading.rungs else None
            return await self._rewritten(job, ops, chosen, outcome, until)

    async def _rewritten(
        self, job: Job, ops: Sequence[Op], rungs: dict[str, list[int | None]], outcome: Outcome, until: float
    ) -> tuple[list[File], Outcome]:
        def make(number: int, index: int) -> Rewrite:
            return Rewrite(
                number,
                list(ops),
                list(job.roots),
                rungs,
                list(job.globs),
                self._shared(job, index),
                max(1.0, until - time.monotonic()),
                job.most,
            )

        files: list[File] = []
        if rungs:
            for answer in await self._workers(job).each(make, lambda _: None):
                assert isinstance(answer, Rewritten)
                files += answer.files
                outcome.stopped = outcome.stopped or answer.stopped
                outcome.flawed += [one for one in answer.flawed if one not in outcome.flawed]
        files.sort(key=lambda file: (file.root, file.path.split("/")))
        return files, outcome

    # -- one round ----------------------------------------------------------------------------------------------

    async def _round(self, job: Job, rungs: dict[str, int], *, fresh: bool, later: bool = False) -> Outcome:
        def make(number: int, index: int) -> Find:
            return Find(
                number,
                job.query,
                list(job.roots),
                list(job.languages),
                rungs,
                list(job.globs),
                self._shared(job, index),
                job.most,
                job.context,
                job.seconds,
                later,
                fresh,
            )

        def told(answer: Answer) -> Bound | None:
            if not isinstance(answer, Found) or answer.stopped != FULL or job.most <= 0:
                return None
            page = in_order(answer.pages)[: job.most]
            return Bound(answer.number, page[-1].root, page[-1].path) if len(page) == job.most else None

        outcome = Outcome()
        totals: list[int | None] = []
        pages: list[list[Hit]] = []
        for answer in await self._workers(job).each(make, told):
            assert isinstance(answer, Found)
            _add(outcome, answer)
            totals.append(answer.total)
            pages += answer.pages
        outcome.hits = in_order(pages)
        if job.most >= 0 and len(outcome.hits) > job.most:
            outcome.stopped = outcome.stopped or FULL
            del outcome.hits[job.most :]
        outcome.total = None if None in totals else sum(filter(None, totals))
        return outcome

    def _shared(self, job: Job, index: int) -> list[Opened]:
        """What clients have open is sent to the worker whose file it is."""
        from zlib import crc32

        count = self._workers(job).count
        return [one for one in job.opened if crc32(one.path.encode("utf-8", "replace")) % count == index]

    # -- counting in the background -------------------------------------------------------------------------------

    def _count(self, job: Job, read_as: dict[str, int]) -> None:
        """Count on where nobody waits for it, so that the next one who asks the same is told."""
        key = msgspec.msgpack.encode(job.query) + repr((job.roots, job.languages, job.globs)).encode()
        if self._counting is not None and not self._counting.done():
            if key == self._counted:
                return
            self._counting.cancel()
        self._counted = key
        counted = replace(job, most=-1, context=0, seconds=COUNT_SECONDS)
        self._counting = asyncio.get_running_loop().create_task(self._go_on_counting(counted, read_as))

    async def _go_on_counting(self, job: Job, read_as: dict[str, int]) -> None:
        with _Use(self):
            try:
                await self._round(job, read_as, fresh=False, later=True)
            except OmbudError as error:
                LOG.info("counting was given up: %s", error.message)

    async def counted(self) -> None:
        """Wait for what is counted in the background."""
        if self._counting is not None:
            await asyncio.wait([self._counting])

    async def uncounted(self) -> None:
        """Give up what is counted in the background."""
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.wait([self._counting])

    # -- workers --------------------------------------------------------------------------------------------------

    def _workers(self, job: Job) -> _Workers:
        """Raises PeerError."""
        if self._closed:
            raise PeerError("Ombud is shutting down; nothing is searched any more.", kind="server_failed")
        if not job.processes:
            if self._inline is None:
                from ombud.structural.inline import Inline

                self._inline = Inline()
            return self._inline
        if self._pool is None:
            from ombud.structural.pool import Pool

            self._memory = self._options().memory
            self._pool = Pool(self._guardian(), self._memory)
        return self._pool

    def use(self, workers: _Workers, memory: int) -> None:
        """Workers that somebody else has made, for as many bytes of memory."""
        self._pool, self._memory = workers, memory

    def begin(self) -> None:
        """A question begins; until its `end` the workers are needed."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if not self._asked and self._pool is not None and self._memory != self._options().memory:
            # The memory of a worker is what it was started with.
            self.leave()
        self._asked += 1

    def end(self) -> None:
        """A question has its answer."""
        self._asked -= 1
        if not self._asked and not self._closed and (self._pool is not None or self._inline is not None):
            seconds = self._options().idle_minutes * 60
            self._idle = asyncio.get_running_loop().call_later(seconds, self.leave)

    def leave(self) -> None:
        """End the workers; the next search starts others. Whoever waits for them is told."""
        self._idle = None
        for workers in (self._pool, self._inline):
            if workers is not None:
                ending = asyncio.get_running_loop().create_task(workers.close())
                self._ending.add(ending)
                ending.add_done_callback(self._ending.discard)
        self._pool = self._inline = None

    async def close(self) -> None:
        """End all of it."""
        self._closed = True
        if self._idle is not None:
            self._idle.cancel()
        if self._counting is not None:
            self._counting.cancel()
            await asyncio.wait([self._counting])
        self.leave()
        await asyncio.gather(*self._ending, return_exceptions=True)


class _Use:
    """While it lasts, the workers are needed."""

    def __init__(self, searcher: Searcher) -> None:
        self._searcher = searcher

    def __enter__(self) -> None:
        self._searcher.begin()

    def __exit__(self, *_: object) -> None:
        self._searcher.end()


def _add(outcome: Outcome, found: Found) -> None:
    for language, reading in found.readings.items():
        known = outcome.readings.get(language)
        if known is None:
            outcome.readings[language] = reading
        else:
            known.files += reading.files
            known.matches += reading.matches
    outcome.searched += found.searched
    room = MOST_TOLD - len(outcome.skipped)
    outcome.skipped += found.skipped[:room]
    outcome.left += found.left + max(0, len(found.skipped) - room)
    outcome.skipped.sort(key=lambda one: (one[0], one[1].split("/")))
    outcome.flawed = sorted([*outcome.flawed, *found.flawed])[:MOST_TOLD]
    if found.stopped and (not outcome.stopped or outcome.stopped == FULL):
        outcome.stopped = found.stopped
    if found.note and found.note not in outcome.notes:
        outcome.notes.append(found.note)


def _check(outcome: Outcome) -> None:
    """Raises UserError where no language can read the query."""
    if not outcome.readings or any(reading.rungs for reading in outcome.readings.values()):
        return
    wrong = [reading for reading in outcome.readings.values() if reading.trouble]
    other = next((reading for reading in wrong if reading.trouble[0] != "unparseable_pattern"), None)
    if other is not None and all(reading.trouble == other.trouble for reading in wrong):
        raise UserError(other.trouble[1], kind=other.trouble[0])
    languages = sorted(outcome.readings)
    rungs = [
        {"language": language, "as": rung, "complaint": complaint}
        for language in languages
        for rung, complaint in outcome.readings[language].tried
    ]
    message = outcome.readings[languages[0]].trouble[1]
    if len(languages) > 1:
        message = (
            f"None of the languages of these files ({', '.join(languages)}) can read the pattern. Name the language, "
            f"or mend it: {message}"
        )
    raise UserError(message, kind="unparseable_pattern", languages=languages, rungs=rungs)


__all__ = ["CANCELLED", "Job", "Op", "Options", "Outcome", "Searcher"]
