"""Facts of files, made in a process that may crash or never come to an end (`ombud.graph.pool` starts and ends it).

Grammars are C code that reads whatever somebody wrote. ``python -m ombud.graph.worker ROOT MARKER`` answers batches
from its standard input: a list of `Job`, answered by a list of `Done`, a frame each (`ombud.process.frames`).
``MARKER`` is the descriptor of a file in which it says which job it is at, so that the guilty one is known if it dies.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ombud.graph import sources
from ombud.graph.extract import LANGUAGES, Unsupported
from ombud.process import frames

if TYPE_CHECKING:
    from ombud.graph.facts import Facts

LOG = logging.getLogger(__name__)
CPU_SECONDS = 5.0
"""How long one file may take; then the system ends the process."""
MEMORY = 2 << 30
SLOW = signal.SIGPROF
"""What ends a process whose file takes too long."""
_GC_FROM = 50_000
MARK = 8
"""Bytes of the number of a job."""

Extract = Callable[[str, bytes], "Facts"]


class Job(msgspec.Struct, array_like=True, gc=False):
    """A file to be read: where it is, and what is known of it."""

    number: int
    path: str
    language: str
    """``""`` where its first line has to tell."""
    hash: bytes = b""
    """Of the content that is known already."""
    text: bytes | None = None
    """What a client has in its buffer, in place of what is on the disk."""


class Done(msgspec.Struct, array_like=True, gc=False):
    """What came of a job. ``facts`` is encoded; empty where the content is the known one or ``reason`` says why not."""

    number: int
    kind: int
    language: str = ""
    size: int = 0
    mtime_ns: int = 0
    hash: bytes = b""
    facts: bytes = b""
    reason: str = ""
    notes: tuple[str, ...] = ()


NEW, SAME, SKIPPED, GONE, FOREIGN = range(5)
"""Kinds of `Done`: facts; the known content; left out for a reason; not there; in none of our languages."""

_JOBS = msgspec.msgpack.Decoder(list[Job])
_DONE = msgspec.msgpack.Decoder(list[Done])


def answered(message: bytes) -> list[Done]:
    """What a worker says of a batch. Raises ValueError for what is no answer."""
    try:
        return _DONE.decode(message)
    except msgspec.MsgspecError as error:
        raise ValueError(f"This is no answer of a worker: {error}") from None


class Worker:
    """``extract`` makes facts of a language and a text."""

    def __init__(self, root: Path, marker: int, extract: Extract) -> None:
        self._root = root
        self._marker = marker
        self._extract = extract

    def batch(self, jobs: Sequence[Job]) -> list[Done]:
        return [self._one(job) for job in jobs]

    def _one(self, job: Job) -> Done:
        os.pwrite(self._marker, job.number.to_bytes(MARK, "big"), 0)
        _allow(CPU_SECONDS)
        try:
            return self._made(job)
        except Exception:
            # A file that our own reading of it fails on is one file lost, not all of them.
            LOG.exception("%s was left out", job.path)
            return Done(job.number, SKIPPED, job.language, reason=sources.FAILED)

    def _made(self, job: Job) -> Done:
        try:
            found = self._read(job)
        except FileNotFoundError:
            return Done(job.number, GONE)
        answer = Done(job.number, SKIPPED, job.language, found.size, found.mtime_ns, reason=found.reason)
        if found.reason:
            return answer
        answer.hash = sources.content_hash(found.data)
        if answer.hash == job.hash:
            answer.kind = SAME
            return answer
        source = sources.source(job.path, job.language, found.data, LANGUAGES)
        if source is None:
            answer.kind = FOREIGN
            return answer
        answer.language, answer.reason, answer.notes = source.language, source.reason, source.notes
        if not source.reason:
            self._facts(source, answer)
        return answer

    def _read(self, job: Job) -> sources.Read:
        if job.text is None:
            return sources.read(self._root, job.path)
        if len(job.text) > sources.LARGEST:
            return sources.Read(b"", len(job.text), 0, sources.HUGE)
        return sources.Read(job.text, len(job.text), 0)

    def _facts(self, source: sources.Source, answer: Done) -> None:
        """Fill in ``answer``."""
        from ombud.graph.packed import encode

        try:
            answer.facts = encode(self._extract(source.language, source.text))
        except Unsupported:
            # Its parser did not fail: nobody here reads that language.
            answer.reason = f"the graph does not read {source.language}"
        else:
            answer.kind = NEW


def _allow(seconds: float) -> None:
    """Seconds of this process' own time from now on: a busy machine makes no file guilty."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def main(argv: Sequence[str], extract: Extract | None = None) -> None:
    """Answer batches until there are no more. See the module."""
    import gc

    _limit()
    worker = Worker(Path(argv[0]), int(argv[1]), extract or _extract())
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    gc.freeze()
    gc.set_threshold(_GC_FROM, 20, 100)
    for message in frames.messages(questions):
        answer = frames.pack(worker.batch(_JOBS.decode(message)))
        _allow(0)
        answers.write(answer)
        answers.flush()


def _extract() -> Extract:
    from ombud.graph.extract import extract

    return extract


def _limit() -> None:
    """A text that is made to use up the machine ends this process and nothing else."""
    import resource

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for what, most in ((resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        limit = most if hard == resource.RLIM_INFINITY else min(most, hard)
        with suppress(ValueError, OSError):  # Not every system knows each of them.
            resource.setrlimit(what, (limit, limit))


if __name__ == "__main__":
    main(sys.argv[1:])
