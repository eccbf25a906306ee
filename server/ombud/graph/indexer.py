"""The process that keeps the code graph of a root: ``python -m ombud.graph.indexer``, started by `ombud.graph.client`.

It alone writes the store. It is asked on its standard input and says on its standard output (`ombud.graph.messages`);
the end of its input is its own. While it builds it goes on listening: what has changed meanwhile is taken in
afterwards, and whoever asks what is current is told at once how much is not.
"""

from __future__ import annotations

import gc
import logging
import os
import select
import sys
import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import OmbudError
from ombud.graph.extract import LANGUAGES
from ombud.graph.index import Index, Stopped
from ombud.graph.messages import ANSWER, ASKS, CANCEL, FAILED, INDEX, PROGRESS, READY, SETUPS, Ask, Say, Setup, State
from ombud.process import frames

if TYPE_CHECKING:
    from ombud.graph.index import Resolver
    from ombud.graph.store.writer import Writer
    from ombud.graph.watch import Watch

LOG = logging.getLogger(__name__)
STORES = 4
"""Processes that may keep a graph of the same root, each its own: what a client has in a buffer is true for its own
process alone."""
PROGRESS_SECONDS = 0.1
_READ = 1 << 18
_GC_FROM = 500_000
"""What is built here has no circles: looking for them would be a quarter of a build's time."""

MakeResolver = Callable[["Writer"], "Resolver"]


class Ended(Exception):
    """There is nobody left to work for."""


class Ear:
    """Standard input, read as it comes, also in the middle of something else."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._frames = frames.Frames()
        self._waiting: deque[bytes] = deque()

    def next(self) -> bytes:
        """The next message. Raises Ended."""
        while not self._waiting:
            self._read()
        return self._waiting.popleft()

    def poll(self) -> list[bytes]:
        """The messages that are there. Raises Ended."""
        while select.select([self._source], [], [], 0)[0]:
            self._read()
        found = list(self._waiting)
        self._waiting.clear()
        return found

    def _read(self) -> None:
        data = os.read(self._source, _READ)
        if not data:
            raise Ended
        self._waiting.extend(self._frames.feed(data))


class Indexer:
    """Answers questions about ``index`` one after the other; see the module."""

    def __init__(self, index: Index, ear: Ear, say: Callable[[Say], None], note: str = "") -> None:
        self._index = index
        self._ear = ear
        self._say = say
        self._note = note
        self._asks: deque[Ask] = deque()
        self._later: list[Ask] = []
        """What was said during a build about what has changed."""
        self._building = False
        self._cancelled = False
        self._active = 0
        self._said = 0.0

    def state(self) -> State:
        index = self._index
        pending = index.pending + sum(len(ask.told) + len(ask.buffers) for ask in self._later)
        complete = index.complete and not self._building
        return State(complete, index.files, pending, dict(index.left_out()), self._note)

    def run(self) -> None:
        """Until Ended."""
        while True:
            ask = self._asks.popleft() if self._asks else ASKS.decode(self._ear.next())
            self._active, self._cancelled = ask.number, False
            try:
                changed = self._do(ask)
            except Stopped:
                self._was_cancelled(ask.number)
            else:
                self._say(Say(ANSWER, self.state(), ask.number, changed))

    def _was_cancelled(self, number: int) -> None:
        self._say(Say(FAILED, self.state(), number, problem="Indexing was cancelled.", kind="cancelled"))

    def _do(self, ask: Ask) -> int:
        index = self._index
        if ask.what == CANCEL:
            return 0
        index.look(ask.told, ask.buffers, sweep=ask.sweep and ask.what != INDEX)
        if ask.what == INDEX:
            index.look_at_all(force=ask.force)
        self._building = index.is_much
        if self._building and ask.what != INDEX:
            # Whoever asks what is current does not wait for a build.
            self._say(Say(ANSWER, self.state(), ask.number))
            ask.number = 0
        try:
            changed = index.update(self._progress, self._stop)
        finally:
            self._building = False
            later, self._later = self._later, []
            for one in later:
                index.look(one.told, one.buffers, sweep=False)
        if later and index.pending:
            changed += index.update(self._progress, self._stop)
        return changed

    def _stop(self) -> bool:
        """Asked between files: hear what came, and whether to go on."""
        for message in self._ear.poll():
            ask = ASKS.decode(message)
            if ask.what == CANCEL:
                self._cancel(ask.number)
            elif ask.what != INDEX and self._building:
                self._later.append(ask)
                self._say(Say(ANSWER, self.state(), ask.number))
            else:
                self._asks.append(ask)
        return self._cancelled

    def _cancel(self, number: int) -> None:
        if number == self._active:
            self._cancelled = True
            return
        for ask in [one for one in self._asks if one.number == number]:
            self._asks.remove(ask)
            self._was_cancelled(number)

    def _progress(self, done: int, total: int, phase: str) -> None:
        now = time.monotonic()
        if now - self._said > PROGRESS_SECONDS or not done:
            self._said = now
            self._say(Say(PROGRESS, self.state(), done=done, total=total, phase=phase))


def serve(worker: Sequence[str] | None = None, resolver: MakeResolver | None = None) -> None:
    """Answer until the input ends. ``worker`` and ``resolver`` stand for those of the package."""
    gc.set_threshold(_GC_FROM, 50, 100)
    ear = Ear(sys.stdin.fileno())
    out = sys.stdout.buffer

    def say(message: Say) -> None:
        try:
            out.write(frames.pack(message))
            out.flush()
        except OSError:
            raise Ended from None

    try:
        _serve(ear, say, worker, resolver or _resolver)
    except Ended:
        return
    except OmbudError as error:
        say(Say(FAILED, State(note=error.message), problem=error.message, kind=error.kind))
    except OSError as error:
        say(
            Say(
                FAILED, State(note=str(error)), problem=f"The code graph cannot be built: {error}", kind="server_failed"
            )
        )


def _serve(ear: Ear, say: Callable[[Say], None], worker: Sequence[str] | None, resolver: MakeResolver) -> None:
    from ombud.graph.census import Census, Protected
    from ombud.graph.pool import Pool, command

    setup = SETUPS.decode(ear.next())
    root = Path(setup.root)
    if setup.nice:
        # The workers are its children, and have it from here.
        os.nice(setup.nice)
    writer = _open(setup)
    watch = _watch(root)
    try:
        census = Census(root, Protected(setup.add, setup.allow), LANGUAGES, watch)
        with Pool(worker or command(root)) as pool:
            index = Index(root, census, writer, pool, resolver)
            index.look_at_all()
            indexer = Indexer(index, ear, say, writer.said or census.note)
            say(Say(READY, indexer.state(), folder=str(writer.file.parent)))
            indexer.run()
    finally:
        if watch is not None:
            watch.close()
        writer.close()


def _watch(root: Path) -> Watch | None:
    """None where the system tells nothing of what changes below ``root``: then all files are looked at each time."""
    from ombud.graph.watch import Watch

    try:
        return Watch(root)
    except OSError as error:
        LOG.info("%s is not watched: %s", root, error)
        return None


def _open(setup: Setup) -> Writer:
    """The first store that no other process has. Raises `StoreError`."""
    from ombud.graph.store import Busy, open_writer

    wanted = Path(setup.store)
    for number in range(1, STORES):
        folder = wanted if number == 1 else wanted.with_name(f"{wanted.name}-{number}")
        try:
            return open_writer(folder, Path(setup.root))
        except Busy:
            continue
    return open_writer(wanted.with_name(f"{wanted.name}-{STORES}"), Path(setup.root))


def _resolver(writer: Writer) -> Resolver:
    from ombud.graph.resolve import Resolver

    return Resolver(writer)


if __name__ == "__main__":
    serve()
