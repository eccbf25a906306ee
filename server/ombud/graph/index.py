"""The index of one root: which files have changed, their facts, and the edges that this can change.

A store that is not complete, or of which a great part has changed, is built: facts are put in as they come, then all
files are resolved, with a commit every few hundred, so that a restart goes on where it was. Anything less is one
transaction: the changed files, and exactly those that asked for something that is not what it was.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ombud.errors import OmbudError
from ombud.graph import sources, worker
from ombud.graph.glance import CONFIGURATION
from ombud.graph.store.schema import CONFIGURATION as KEPT
from ombud.graph.store.schema import INDEXED, SKIPPED
from ombud.graph.store.writer import Known
from ombud.graph.worker import Done, Job

if TYPE_CHECKING:
    from ombud.graph.census import Census
    from ombud.graph.pool import Pool
    from ombud.graph.store.writer import Resolved, Writer

LOG = logging.getLogger(__name__)
EVERY = 300
"""Files between two commits of a build."""
MANY = 1000
"""Changed files from which on everything is resolved again."""
FEW = 8
"""Changed files of which it is worked out what they provide while others read them again."""

Progress = Callable[[int, int, str], None]
"""Told how many files of how many are done, and what is done to them."""
READING, RESOLVING = "reading", "resolving"
_Offered = Mapping[int, Mapping[int, int] | None]
"""File → what it offers to others, None where that is not known."""


class Stopped(Exception):
    """Somebody wants no more of it. What was committed stays."""


class Resolver(Protocol):
    """`ombud.graph.resolve.Resolver`."""

    def resolve(self, file: int) -> Resolved: ...
    def provided(self, file: int) -> Mapping[int, int]: ...
    def forget(self, files: Collection[int]) -> None: ...


@dataclass(slots=True)
class _Change:
    """What became of a file. ``done`` is None for one that is gone; ``text`` is a configuration file's."""

    path: str
    done: Done | None
    text: str | None = None


class Index:
    """``writer`` is open; ``resolver`` makes one over it."""

    def __init__(
        self, root: Path, census: Census, writer: Writer, pool: Pool, resolver: Callable[[Writer], Resolver]
    ) -> None:
        self._root = root
        self._census = census
        self._writer = writer
        self._pool = pool
        self._make_resolver = resolver
        self._resolver: Resolver | None = None
        self._known: dict[str, Known] = writer.known()
        self._buffers: dict[str, bytes] = {}
        self._changed: set[str] = set()
        """Files to look at when there is time: they have changed, or were being changed when they were read."""
        self._anew = False
        self.complete = writer.is_complete()

    # -- what has changed -----------------------------------------------------------------------------------------

    def look(self, told: Collection[str], buffers: Mapping[str, bytes | None], *, sweep: bool) -> None:
        """Take note of what is said to have changed, and with ``sweep`` of what the disk says has."""
        for path, text in buffers.items():
            if text is not None:
                self._buffers[path] = text
            else:
                self._buffers.pop(path, None)
            self._changed.add(path)
        if told:
            self._changed |= self._census.told(told)
        if sweep:
            self._changed |= self._census.look()

    def look_at_all(self, *, force: bool = False) -> None:
        """Everything that differs from what is stored; with ``force`` everything is looked at again."""
        self._census.walk()
        if force:
            self._anew = True
            self._known = {path: one._replace(hash=b"", mtime_ns=-1) for path, one in self._known.items()}
        here = self._census.languages_of
        gone = self._known.keys() - here.keys()
        stale = {path for path in here if not self._is_as_known(path)}
        self._changed |= gone | stale | self._buffers.keys()

    def _is_as_known(self, path: str) -> bool:
        known = self._known.get(path)
        return known is not None and self._census.stamp(path)[:2] == (known.mtime_ns, known.size)

    @property
    def pending(self) -> int:
        return len(self._changed)

    @property
    def is_much(self) -> bool:
        """Whether there is so much to do that it is a build."""
        return self._anew or not self.complete or len(self._changed) > MANY

    @property
    def files(self) -> int:
        return sum(one.state == INDEXED for one in self._known.values())

    def left_out(self) -> Counter[str]:
        """Files that were left out by their names, of which the store knows nothing: reason → how many."""
        return self._census.skipped()

    # -- taking it in ---------------------------------------------------------------------------------------------

    def update(self, progress: Progress, stop: Callable[[], bool]) -> int:
        """Take in what has changed; the number of files whose facts are others now.

        Raises `Stopped`, `StoreError`, and OSError where no worker can be started.
        """
        if self.is_much:
            return self._build(progress, stop)
        if not self._changed:
            return 0
        progress(0, len(self._changed), READING)
        changes = list(self._changes(stop))
        if stop():
            raise Stopped
        return self._take(changes) if changes else 0

    def _changes(self, stop: Callable[[], bool]) -> Iterator[_Change]:
        """What became of each changed file. Those that are as they were are only touched."""
        jobs: dict[int, Job] = {}
        for path in sorted(self._changed):
            language = self._census.language(path)
            if language is None or (path not in self._census.languages_of and path not in self._buffers):
                yield from self._gone(path)
            elif language == CONFIGURATION:
                yield from self._configuration(path)
            else:
                jobs[len(jobs) + 1] = self._job(len(jobs) + 1, path, language)
        for done in self._pool.answers(jobs.values(), self._size, stop, self._meanwhile(jobs)):
            yield from self._judged(jobs[done.number].path, done)

    def _meanwhile(self, jobs: Mapping[int, Job]) -> Callable[[], None] | None:
        """Something to do while the workers do ``jobs``: what will be asked of the resolver before it forgets."""
        resolver = self._resolver
        if resolver is None or self.is_much or len(jobs) > FEW:
            return None
        known = [one.id for job in jobs.values() if (one := self._known.get(job.path)) and one.state == INDEXED]

        def ask() -> None:
            for file in known:
                _provided(resolver, file)

        return ask

    def _size(self, job: Job) -> int:
        return len(job.text) if job.text is not None else self._census.stamp(job.path)[1]

    def _job(self, number: int, path: str, language: str) -> Job:
        known = self._known.get(path)
        digest = known.hash if known is not None and known.state == INDEXED else b""
        return Job(number, path, language, digest, self._buffers.get(path))

    def _gone(self, path: str) -> Iterator[_Change]:
        if path in self._known:
            yield _Change(path, None)
        else:
            self._changed.discard(path)

    def _configuration(self, path: str) -> Iterator[_Change]:
        text = self._buffers.get(path)
        try:
            found = sources.read(self._root, path, sources.CONFIG_LARGEST)
        except FileNotFoundError:
            found = sources.Read(b"", 0, 0, sources.UNREADABLE)
        if text is not None:
            found = sources.Read(text, len(text), 0)
        digest = sources.content_hash(found.data)
        kind = worker.SKIPPED if found.reason else worker.NEW
        known = self._known.get(path)
        if known is not None and known.state == KEPT and known.hash == digest:
            kind = worker.SAME
        done = Done(0, kind, "", found.size, found.mtime_ns, digest, reason=found.reason)
        for change in self._judged(path, done):
            change.text = found.data.decode("utf-8", "replace")
            yield change

    def _judged(self, path: str, done: Done) -> Iterator[_Change]:
        """The change, if it is one."""
        if done.kind in (worker.GONE, worker.FOREIGN):
            yield from self._gone(path)
        elif done.reason == sources.UNSTEADY:
            # It stays among the changed files, and what was known of it stays till then.
            LOG.info("%s changed while it was read", path)
        elif self._is_new(path, done):
            yield _Change(path, done)
        else:
            self._changed.discard(path)
            self._census.settle(path, done.size, done.mtime_ns)

    def _is_new(self, path: str, done: Done) -> bool:
        """Whether the store has to know."""
        known = self._known.get(path)
        if known is None or done.kind == worker.NEW:
            return True
        stat = (known.mtime_ns, known.size)
        if done.kind == worker.SAME:
            return done.mtime_ns != 0 and stat != (done.mtime_ns, done.size)
        return known.state != SKIPPED or stat != self._stat(path, done)

    def _stat(self, path: str, done: Done) -> tuple[int, int]:
        """What the store keeps: a file that could not be read is looked at again when it has another stamp."""
        if done.size or done.mtime_ns or path in self._buffers:
            return done.mtime_ns, done.size
        mtime_ns, size, _ = self._census.stamp(path)
        return mtime_ns, size

    def _put(self, change: _Change) -> Known | None:
        """Write one change; what is known of the file then, None where it is gone."""
        writer, path, done = self._writer, change.path, change.done
        if done is None:
            writer.remove(path)
            return None
        stat = self._stat(path, done)
        if done.kind == worker.SAME:
            writer.touch(path, stat)
            return self._known[path]._replace(mtime_ns=stat[0], size=stat[1])
        if done.kind == worker.SKIPPED:
            writer.skip(path, stat, done.reason)
            return Known(0, *stat, b"", SKIPPED)
        if change.text is not None:
            return Known(writer.configure(path, stat, done.hash, change.text), *stat, done.hash, KEPT)
        try:
            file = writer.put(path, stat, done.hash, done.language, done.facts, notes=done.notes)
        except ValueError as error:
            LOG.warning("%s was left out: %s", path, error)
            writer.skip(path, stat, sources.FAILED)
            return Known(0, *stat, b"", SKIPPED)
        return Known(file, *stat, done.hash, INDEXED)

    def _put_all(self, changes: Sequence[_Change]) -> dict[str, Known | None]:
        return {change.path: self._put(change) for change in changes}

    def _taken(self, changes: Sequence[_Change], rows: Mapping[str, Known | None]) -> int:
        """After the commit: what is known now. The number of files of which more than the stamp is new."""
        for change in changes:
            self._changed.discard(change.path)
            known = rows[change.path]
            if known is None:
                self._known.pop(change.path, None)
            else:
                self._known[change.path] = known
            if change.done is not None:
                self._census.settle(change.path, change.done.size, change.done.mtime_ns)
        return sum(map(_is_other, changes))

    # -- one transaction ------------------------------------------------------------------------------------------

    def _take(self, changes: Sequence[_Change]) -> int:
        """Changes of a complete store. All of it, or nothing."""
        writer = self._writer
        resolver = self._resolver = self._resolver or self._make_resolver(writer)
        others = [change for change in changes if _is_other(change)]
        with self._transaction():
            former = {one.id for change in others if (one := self._known.get(change.path)) and one.state != SKIPPED}
            before = {file: _provided(resolver, file) for file in former}
            rows = self._put_all(changes)
            mine = {one.id for change in others if (one := rows[change.path]) and one.state != SKIPPED}
            resolver.forget(former | mine)
            after = {file: _provided(resolver, file) for file in mine}
            for file in sorted(self._concerned(before, after) | mine):
                if writer.language(file):
                    writer.resolved(file, _resolved(resolver, file))
        return self._taken(changes, rows)

    def _concerned(self, before: _Offered, after: _Offered) -> set[int]:
        """The files whose answers may be others: all of them where what one offers is not known."""
        if None in before.values() or None in after.values():
            return {one.id for one in self._known.values() if one.state == INDEXED}
        nothing: Mapping[int, int] = {}
        return self._writer.asking(
            set().union(
                *(_other_keys(before.get(one) or nothing, after.get(one) or nothing) for one in {*before, *after})
            )
        )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            self._writer.begin()
            yield
            self._writer.commit()
        except BaseException:
            # What the resolver has seen is not so.
            self._resolver = None
            self._writer.rollback()
            raise

    # -- a build --------------------------------------------------------------------------------------------------

    def _build(self, progress: Progress, stop: Callable[[], bool]) -> int:
        """Take in everything, a part at a time; what was committed need not be done again."""
        writer = self._writer
        self._resolver = None
        fresh = not any(one.state == INDEXED for one in self._known.values())
        with self._transaction():
            writer.complete(False)
            if not fresh and self._changed:
                writer.doubt()
        self.complete = False
        changed = self._read_all(progress, stop)
        self._resolve_all(progress, stop)
        with self._transaction():
            writer.complete(True)
        self.complete, self._anew = True, False
        writer.settle()
        self._pool.shrink(1)
        return changed

    def _read_all(self, progress: Progress, stop: Callable[[], bool]) -> int:
        total, changed = len(self._changed), 0
        progress(0, total, READING)
        for part in _parts(self._changes(stop)):
            with self._transaction():
                rows = self._put_all(part)
            changed += self._taken(part, rows)
            progress(total - len(self._changed), total, READING)
        if stop():
            raise Stopped
        return changed

    def _resolve_all(self, progress: Progress, stop: Callable[[], bool]) -> None:
        writer = self._writer
        waiting = writer.waiting()
        resolver = self._resolver = self._make_resolver(writer)
        for at in range(0, len(waiting), EVERY):
            progress(at, len(waiting), RESOLVING)
            with self._transaction():
                for file in waiting[at : at + EVERY]:
                    if stop():
                        # The part that is done is worth keeping.
                        break
                    writer.resolved(file, _resolved(resolver, file))
            if stop():
                raise Stopped


def _resolved(resolver: Resolver, file: int) -> Resolved:
    """What a resolver says of a file. A mistake of ours in one file costs the edges of that file, not of all."""
    from ombud.graph.resolve import Resolved as Answer

    try:
        return resolver.resolve(file)
    except OmbudError:
        raise
    except Exception:
        LOG.exception("the edges of file %d were left out", file)
        return Answer()


def _provided(resolver: Resolver, file: int) -> dict[int, int] | None:
    """What a file offers to others; None where a mistake of ours keeps that unknown."""
    try:
        return dict(resolver.provided(file))
    except OmbudError:
        raise
    except Exception:
        LOG.exception("what file %d offers to others is not known", file)
        return None


def _is_other(change: _Change) -> bool:
    """Whether more than its stamp is new."""
    return change.done is None or change.done.kind != worker.SAME


def _other_keys(before: Mapping[int, int], after: Mapping[int, int]) -> set[int]:
    """The keys under which there is something else now."""
    return {key for key, _ in before.items() ^ after.items()}


def _parts(changes: Iterator[_Change]) -> Iterator[list[_Change]]:
    part: list[_Change] = []
    for change in changes:
        part.append(change)
        if len(part) >= EVERY:
            yield part
            part = []
    if part:
        yield part
