"""The hub's side of an indexer (`ombud.graph.indexer`): started when it is needed, ended when it is not.

What changes is only noted here, at the cost of a set. The indexer is told with the next question, or a moment after the
last change, whichever comes first.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import Cancelled, PeerError
from ombud.graph.messages import ANSWER, CANCEL, CURRENT, FAILED, INDEX, PROGRESS, READY, SAYS, Ask, Say, Setup, State
from ombud.guard.redact import clean, redact
from ombud.process import frames

if TYPE_CHECKING:
    from ombud.process.child import Child
    from ombud.process.exit import Exit
    from ombud.process.guardian import Guardian

LOG = logging.getLogger(__name__)
START_SECONDS = 120.0
"""Until it knows which files there are."""
SOON = 1.0
"""Seconds after the last change in which nobody has asked, until it is told all the same."""
DEATHS = 5
DEATHS_WITHIN = 180.0
NICE = 10
"""Of an indexer that is started ahead of any question."""
PAUSE = 0.5
"""Seconds before the second start; twice as long before each further one."""

Progress = Callable[[int, int, str], None]
"""Told how many files of how many are done, and what is done to them ("reading", "resolving")."""
Text = Callable[[str], str | None]
"""What clients have open of a file (its path relative to the root); None where nobody has it open."""


@dataclass(frozen=True, slots=True)
class Options:
    """What an indexer is started with. ``store`` is the folder that is wanted; see `Graph.folder`."""

    store: Path
    sensitive_add: tuple[str, ...] = ()
    sensitive_allow: tuple[str, ...] = ()
    idle_minutes: float = 10.0
    argv: tuple[str, ...] = (sys.executable, "-P", "-m", "ombud.graph.indexer")


class Graph:
    """The graph of ``root``, which is real. Everything belongs to the event loop's thread.

    ``options`` is asked at each start. ``heard`` is called when the state has changed.
    """

    def __init__(
        self, root: Path, guardian: Guardian, options: Callable[[], Options], text: Text, heard: Callable[[], None]
    ) -> None:
        self.root = root
        self.problem = ""
        """Why there is no indexer, a sentence; empty while there is or may be one."""
        self.folder: Path | None = None
        """Where the store is, as soon as it is known: not where it was wanted, if another process has that."""
        self._guardian = guardian
        self._options = options
        self._text = text
        self._heard = heard
        self._state = State()
        self._prefix = str(root).rstrip("/") + "/"
        self._told: set[str] = set()
        self._opened: set[str] = set()
        """Files that clients have open, or had when the indexer was last told."""
        self._dirty: set[str] = set()
        self._child: Child | None = None
        self._starting: asyncio.Task[Child] | None = None
        self._ready: asyncio.Future[None] | None = None
        self._nice = 0
        self._frames = frames.Frames()
        self._number = 0
        self._asked: dict[int, asyncio.Future[Say]] = {}
        self._watching: list[Progress] = []
        self._deaths: deque[float] = deque(maxlen=DEATHS)
        self._soon: asyncio.TimerHandle | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._closed = False

    # -- what has changed -----------------------------------------------------------------------------------------

    def relative(self, path: str) -> str | None:
        """``path`` (absolute, real) from the root, None of one that lies elsewhere."""
        if path == str(self.root):
            return ""
        return path[len(self._prefix) :] if path.startswith(self._prefix) else None

    def told(self, paths: Iterable[str]) -> None:
        """Files or folders (absolute, real) that may have changed on the disk."""
        if self._child is not None:
            # One that starts looks at all of them anyway.
            self._told.update(one for path in paths if (one := self.relative(path)) is not None)
            self._tell_soon()

    def typed(self, path: str) -> None:
        """What clients have open of a file has changed: another text, or opened, or closed."""
        relative = self.relative(path)
        if relative is not None:
            self._opened.add(relative)
            self._dirty.add(relative)
            self._tell_soon()

    def _tell_soon(self) -> None:
        if self._soon is not None:
            self._soon.cancel()
            self._soon = None
        if self._child is not None and not self._closed:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._tell)

    def _tell(self) -> None:
        self._soon = None
        if self._child is not None and self._ready is not None and self._ready.done():
            self._child.write(frames.pack(self._question(0, CURRENT, sweep=False)))

    def _question(self, number: int, what: str, *, sweep: bool = True, force: bool = False) -> Ask:
        """A question, with all that has changed since the last one."""
        told, self._told = self._told, set()
        dirty, self._dirty = self._dirty, set()
        texts = {path: self._text(path) for path in sorted(dirty)}
        self._opened -= {path for path, text in texts.items() if text is None}
        buffers = {path: None if text is None else text.encode("utf-8", "replace") for path, text in texts.items()}
        return Ask(number, what, force, sorted(filter(_is_utf8, told)), buffers, sweep)

    # -- questions ------------------------------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """As it was last heard of."""
        return self._state

    @property
    def running(self) -> bool:
        return self._child is not None

    async def current(self) -> State:
        """Have everything taken in that has changed. Where that is much it goes on behind the answer, which says so.

        Raises PeerError (``server_failed``) where there is no indexer, with its reason.
        """
        return (await self._ask(CURRENT)).state

    async def index(self, *, force: bool = False, progress: Progress | None = None) -> State:
        """Have everything indexed, with ``force`` also what has not changed. Cancelled, it stops, and goes on with
        where it was the next time. Raises as `current` does."""
        if progress is not None:
            self._watching.append(progress)
        try:
            return (await self._ask(INDEX, force=force)).state
        finally:
            if progress is not None:
                self._watching.remove(progress)

    async def build(self) -> State:
        """As `index`, ahead of any question: where there is no indexer yet, it is started at a low priority, which it
        keeps. Raises as `current` does."""
        if self._child is None and self._starting is None and hasattr(os, "nice"):
            self._nice = NICE
        return await self.index()

    async def _ask(self, what: str, *, force: bool = False) -> Say:
        child = await self.need()
        self._number += 1
        number = self._number
        answer: asyncio.Future[Say] = asyncio.get_running_loop().create_future()
        self._asked[number] = answer
        child.write(frames.pack(self._question(number, what, force=force)))
        try:
            return await answer
        except asyncio.CancelledError:
            if what == INDEX:
                child.write(frames.pack(Ask(number, CANCEL)))
            raise
        finally:
            del self._asked[number]
            self._rest()

    # -- the process ----------------------------------------------------------------------------------------------

    async def need(self) -> Child:
        """The indexer, started if need be. Raises PeerError."""
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None
        if self._closed:
            raise PeerError("Ombud is shutting down; the code graph is no longer asked.", kind="server_failed")
        if self._child is not None and self._starting is None:
            return self._child
        if self._starting is None:
            self._starting = asyncio.get_running_loop().create_task(self._start())
            self._starting.add_done_callback(self._started)
        return await asyncio.shield(self._starting)

    def _started(self, starting: asyncio.Task[Child]) -> None:
        self._starting = None
        if not starting.cancelled():
            starting.exception()  # Whoever needed it has it, too; nobody may be left.

    async def _start(self) -> Child:
        from ombud.process.child import Child

        await self._pause()
        options = self._options()
        nice, self._nice = self._nice, 0
        self._frames = frames.Frames()
        self._ready = asyncio.get_running_loop().create_future()
        self._told.clear()
        self._dirty |= self._opened
        try:
            # Nothing of it is the workspace's: neither the folder nor what is imported.
            child = self._child = await Child.start(
                options.argv,
                cwd=Path("/"),
                env=_environment(),
                on_stdout=self._hear,
                on_exit=self._ended,
                guardian=self._guardian,
                stderr_limit=8192,
            )
            setup = Setup(
                str(self.root), str(options.store), list(options.sensitive_add), list(options.sensitive_allow), nice
            )
            child.write(frames.pack(setup))
            async with asyncio.timeout(START_SECONDS):
                await self._ready
        except TimeoutError:
            await self._end()
            raise PeerError("The code graph's indexer does not start.", kind="server_failed") from None
        except asyncio.CancelledError:
            await self._end()
            raise
        return child

    async def _pause(self) -> None:
        """Before another start of one that died. Raises PeerError where it died too often."""
        now = time.monotonic()
        recent = [death for death in self._deaths if now - death < DEATHS_WITHIN]
        if len(recent) >= DEATHS:
            raise PeerError(
                f"{self.problem or 'The code graph’s indexer fails.'} It is tried again in a few minutes.",
                kind="server_failed",
            )
        if recent:
            await asyncio.sleep(max(0.0, recent[-1] + PAUSE * 2 ** (len(recent) - 1) - now))

    def _hear(self, data: bytes) -> None:
        try:
            for message in self._frames.feed(data):
                self._take(SAYS.decode(message))
        except ValueError:
            LOG.exception("the indexer of %s is not understood", self.root)
            if self._child is not None:
                self._child.group.kill()

    def _take(self, say: Say) -> None:
        before, self._state = self._state, say.state
        if say.what == READY:
            self.folder = Path(say.folder)
            self.problem = ""
            if self._ready is not None and not self._ready.done():
                self._ready.set_result(None)
        elif say.what == PROGRESS:
            for progress in list(self._watching):
                progress(say.done, say.total, say.phase)
        elif say.what == FAILED and not say.number and say.kind != "cancelled":
            self.problem = clean(redact(say.problem), 400)
        elif say.what in (ANSWER, FAILED) and (answer := self._asked.get(say.number)) and not answer.done():
            if say.what == ANSWER:
                answer.set_result(say)
            else:
                failure = Cancelled() if say.kind == "cancelled" else PeerError(say.problem, kind="server_failed")
                answer.set_exception(failure)
        if before != say.state:
            self._heard()

    def _ended(self, end: Exit) -> None:
        child, self._child = self._child, None
        self._state = State(False, self._state.files, self._state.pending)
        if self._closed or (child is None and not self._asked):
            return
        if not self.problem or end.signal is not None:
            words = clean(redact(child.stderr_tail(3)), 300) if child is not None else ""
            self.problem = f"The code graph's indexer {end.words}. {words}".strip()
        self._deaths.append(time.monotonic())
        LOG.warning("%s: %s", self.root, self.problem)
        failure = PeerError(self.problem, kind="server_failed")
        for waiting in [*self._asked.values(), self._ready]:
            if waiting is not None and not waiting.done():
                waiting.set_exception(failure)
        self._heard()

    def _rest(self) -> None:
        """Nobody waits for it now; after some time without a question it is ended."""
        if self._asked or self._child is None or self._closed:
            return
        if self._idle is not None:
            self._idle.cancel()
        seconds = self._options().idle_minutes * 60
        self._idle = asyncio.get_running_loop().call_later(seconds, self._doze)

    def _doze(self) -> None:
        self._idle = None
        if not self._asked and self._child is not None:
            child, self._child = self._child, None
            # It has committed all that is worth keeping.
            child.close_stdin()

    async def _end(self) -> None:
        from ombud.process.ladder import Grace, end

        child, self._child = self._child, None
        if child is not None:
            child.close_stdin()
            await end(child, grace=Grace(goodbye=0, stdin=1, term=1, kill=5))

    async def close(self) -> None:
        """End it; nothing is left of it."""
        self._closed = True
        for handle in (self._soon, self._idle):
            if handle is not None:
                handle.cancel()
        if self._starting is not None:
            self._starting.cancel()
            with suppress(BaseException):
                await self._starting
        for waiting in self._asked.values():
            waiting.cancel()
        await self._end()


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _environment() -> dict[str, str]:
    """Ombud's own: it is Ombud's own program."""
    from ombud.process.environment import CHILD, HUB

    return {name: value for name, value in os.environ.items() if name not in (HUB, CHILD)}
