"""One debug session: a program, its adapter and the connections to it, from the launch to the last process's end.

It is fenced in: an idle limit, a time to live, and an end that leaves nothing behind (B1, B3, B5). What is asked of a
stopped program stands in `ombud.debug.moment`.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.debug.adapter import Adapter, Hearing, Ready
from ombud.debug.breakpoints import Breakpoints
from ombud.debug.connection import Connection, Plan, bring_up
from ombud.debug.moment import Moment
from ombud.debug.output import Output
from ombud.debug.reverse import Reverse
from ombud.errors import OmbudError, PeerError, Refused

if TYPE_CHECKING:
    from ombud.debug.link import Link
    from ombud.process.guardian import Guardian
    from ombud.wire.dap import Message

LOG = logging.getLogger("ombud.debug")
GOODBYE_SECONDS = 2.0
"""How long an adapter may take to end its program by itself."""
_LEAVING = ("exception", "SystemExit")
"""How debugpy stops at ``sys.exit(1)``, which nobody catches."""
_PAUSED = ("signal SIGSTOP",)
"""What lldb makes of a pause, and calls an exception."""
EXIT_SECONDS = 1.0
"""How long after ``terminated`` the exit code is waited for: some send it last, some never."""
LEAVING_SECONDS = 5.0
"""The same where we have started the program ourselves, and so will know."""


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds."""

    idle: float
    ttl: float


@dataclass(frozen=True, slots=True)
class Stop:
    """Why and where a program stands still. ``thread`` is the adapter's number of the thread."""

    connection: Connection
    thread: int
    reason: str
    description: str
    text: str
    hit: tuple[int, ...] = ()


class Session:
    """``ended`` is called once, when the session is over and nothing is left of it."""

    def __init__(
        self,
        identity: str,
        ready: Ready,
        plan: Plan,
        breakpoints: Breakpoints,
        guardian: Guardian,
        limits: Limits,
        ended: Callable[[Session], None] = lambda _: None,
    ) -> None:
        self.id = identity
        self.ready = ready
        self.plan = plan
        self.breakpoints = breakpoints
        self.limits = limits
        self.output = Output()
        self.state = "starting"
        self.why = ""
        """Why it ended, where it was not by itself."""
        self.stop: Stop | None = None
        self.exit_code: int | None = None
        self.connections: list[Connection] = []
        self.moment = Moment(self)
        self.debuggees: list[int] = []
        self._ended = ended
        self._coded = asyncio.Event()
        """Whether the exit code is known, or will not be."""
        self._adapter = Adapter(ready, guardian, lambda text: self.output.add("console", text))
        self._reverse = Reverse(self, guardian)
        self._waiting: set[asyncio.Future[None]] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ending: asyncio.Task[None] | None = None
        self._born = self._used = time.monotonic()
        self._busy = 0
        self._timer: asyncio.TimerHandle | None = None
        self._hearing = Hearing(self._on_event, self._on_request, self._on_over)
        self._before: dict[Link, list[tuple[str, dict[str, Any]]]] = {}

    # -- begin ----------------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Start the adapter and the program. Raises `PeerError`; then nothing is left of either (B4)."""
        self._look()
        try:
            await self._adapter.start()
            await self.connect(self.plan)
        except BaseException as error:
            await self.end("it could not be started")
            if isinstance(error, PeerError):
                raise self._explained(error) from None
            raise
        if self.state == "starting":
            self._now("running")

    async def connect(
        self, plan: Plan, parent: Connection | None = None, address: tuple[str, int] | None = None
    ) -> Connection:
        """A connection that is ready: the first one, or that of a child session."""
        link = await self._adapter.link(self._hearing, address)
        connection = Connection(link, parent)
        self.connections.append(connection)
        for name, body in self._before.pop(link, ()):
            self._on_event(link, name, body)
        if link.over is not None:
            raise link.over
        await bring_up(connection, plan, self.breakpoints)
        return connection

    def _explained(self, error: PeerError) -> PeerError:
        """A failed launch with all that was said about it."""
        said = self.output.tail()
        known = self._adapter.failure(error.message).message if error.kind != "timeout" else error.message
        text = f"{known} It printed: {said.rstrip('.')}." if said and said not in known else known
        return PeerError(text[:2000], kind=error.kind, **{**error.data, "output": said})

    @property
    def root(self) -> Connection:
        return self.connections[0]

    @property
    def pid(self) -> int | None:
        return self._adapter.child.pid if self._adapter.child is not None else None

    # -- what comes -----------------------------------------------------------------------------------------------

    def _of(self, link: Link) -> Connection | None:
        return next((one for one in self.connections if one.link is link), None)

    def _on_event(self, link: Link, name: str, body: dict[str, Any]) -> None:
        connection = self._of(link)
        if connection is None:
            # It came with the connection itself.
            self._before.setdefault(link, []).append((name, body))
            return
        handler = _EVENTS.get(name)
        if handler is not None:
            handler(self, connection, body)

    def _on_request(self, link: Link, message: Message) -> None:
        connection = self._of(link)
        if connection is None:
            link.refuse(message, "not before the connection is there")
        else:
            self._reverse.asked(connection, message)

    def _on_over(self, link: Link, error: OmbudError) -> None:
        connection = self._of(link)
        if connection is None or self.state == "exited":
            return
        if connection.parent is None:
            self._coded.set()
        if connection.parent is None:
            # Also an end without a word is one (B5).
            if not connection.terminated:
                self.why = self.why or error.message
            self._finish()
        else:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        """A child session is over; the program may go on."""
        if connection in self.connections:
            self.connections.remove(connection)
        if self.stop is not None and self.stop.connection is connection:
            self._run()

    def _initialized(self, connection: Connection, body: dict[str, Any]) -> None:
        del body
        connection.initialized.set()

    def _capable(self, connection: Connection, body: dict[str, Any]) -> None:
        more = body.get("capabilities")
        if isinstance(more, dict):
            connection.capabilities.update(more)

    def _stopped(self, connection: Connection, body: dict[str, Any]) -> None:
        connection.has_stopped = True
        thread = body.get("threadId")
        if self.breakpoints.exceptions is None and (body.get("reason"), body.get("text")) == _LEAVING:
            # It ends as it was written to, which is its exit code's to tell and nobody's failure.
            self.spawn(self._on(connection, thread))
            return
        hit = body.get("hitBreakpointIds")
        self.stop = Stop(
            connection,
            thread if isinstance(thread, int) else 0,
            "pause" if body.get("description") in _PAUSED else str(body.get("reason") or "stopped"),
            str(body.get("description") or ""),
            str(body.get("text") or ""),
            tuple(one for one in hit if isinstance(one, int)) if isinstance(hit, list) else (),
        )
        self.moment.begin()
        self._now("stopped")

    async def _on(self, connection: Connection, thread: Any) -> None:
        with suppress(OmbudError):
            await connection.link.ask("continue", {"threadId": thread})

    def _continued(self, connection: Connection, body: dict[str, Any]) -> None:
        stop = self.stop
        if stop is None or stop.connection is not connection:
            return
        if body.get("allThreadsContinued", True) or body.get("threadId") == stop.thread:
            self._run()

    def _printed(self, connection: Connection, body: dict[str, Any]) -> None:
        del connection
        self.output.add(str(body.get("category") or "console"), str(body.get("output") or ""))

    def _bound(self, connection: Connection, body: dict[str, Any]) -> None:
        del connection
        row = body.get("breakpoint")
        if isinstance(row, dict) and body.get("reason") != "removed":
            self.breakpoints.changed(row)

    def _process(self, connection: Connection, body: dict[str, Any]) -> None:
        del connection
        number = body.get("systemProcessId")
        if isinstance(number, int):
            self.debuggees.append(number)

    def _exited(self, connection: Connection, body: dict[str, Any]) -> None:
        code = body.get("exitCode")
        if isinstance(code, int) and (self.exit_code is None or connection.parent is None):
            self.exit_code = code
            self._coded.set()

    def left(self, code: int | None) -> None:
        """A program that was started here for the adapter has ended; what the adapter says of it counts more."""
        if self.exit_code is None:
            self.exit_code = code
        self._coded.set()

    def _terminated(self, connection: Connection, body: dict[str, Any]) -> None:
        del body
        connection.terminated = True
        if connection.parent is None:
            self.spawn(self._last_words())
        else:
            self._drop(connection)

    async def _last_words(self) -> None:
        """``exited`` may come after ``terminated``."""
        await self._code()
        self._finish()

    async def _code(self) -> None:
        """Wait a moment for the exit code, or the end of the connection."""
        with suppress(TimeoutError):
            # A program of our own is on its way out, and its last output with it.
            async with asyncio.timeout(LEAVING_SECONDS if self._reverse.lives else EXIT_SECONDS):
                await self._coded.wait()

    # -- state ----------------------------------------------------------------------------------------------------

    def _now(self, state: str) -> None:
        self.state = state
        if state != "running":
            for waiting in list(self._waiting):
                if not waiting.done():
                    waiting.set_result(None)

    def _run(self) -> None:
        """The program runs on: what was known of the stop holds no longer."""
        self.stop = None
        self.moment.over()
        if self.state != "exited":
            self._now("running")

    def running(self) -> Stop:
        """Let go of the stop, before the adapter is told to go on: the next stop may come before its answer."""
        stop = self.need_stop()
        self._run()
        return stop

    def stand(self, stop: Stop) -> None:
        """The adapter would not go on: it stands where it stood."""
        if self.state == "running" and self.stop is None:
            self.stop = stop
            self.moment.begin()
            self._now("stopped")

    async def settled(self, seconds: float) -> None:
        """Wait until it has stopped or is over, for at most that long."""
        if self.state in ("stopped", "exited"):
            return
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        self._busy += 1
        try:
            async with asyncio.timeout(seconds):
                await waiting
        except TimeoutError:
            pass
        finally:
            self._busy -= 1
            self._waiting.discard(waiting)
            self.touch()

    def need_stop(self) -> Stop:
        """The stop. Raises `Refused` (``conflict``, ``no_session``) while the program runs, or is over."""
        if self.stop is not None:
            return self.stop
        if self.state == "exited":
            raise Refused(f"The debug session is over{self.epitaph()}. Launch the program again.", kind="no_session")
        raise Refused(
            "The program is running. “pause” stops it, or wait for a breakpoint with “continue”.", kind="conflict"
        )

    def epitaph(self) -> str:
        code = "" if self.exit_code is None else f" with exit code {self.exit_code}"
        return f"{code}{': ' + self.why.rstrip('.') if self.why else ''}"

    # -- limits ---------------------------------------------------------------------------------------------------

    def touch(self) -> None:
        """Somebody steers it."""
        self._used = time.monotonic()

    @property
    def expires_in(self) -> float:
        """Seconds until it is ended if nobody steers it."""
        now = time.monotonic()
        idle = self.limits.idle - (0 if self._busy else now - self._used)
        return max(0.0, min(idle, self.limits.ttl - (now - self._born)))

    def _look(self) -> None:
        """Whether its time has come; asked again when it may have."""
        if self.state == "exited":
            return
        left = self.expires_in
        if left > 0:
            self._timer = asyncio.get_running_loop().call_later(max(left, 0.01), self._look)
            return
        is_old = time.monotonic() - self._born >= self.limits.ttl
        what = ("time to live", self.limits.ttl) if is_old else ("idle limit", self.limits.idle)
        self.spawn(self.end(f"its {what[0]} of {what[1] / 60:g} minutes was over"))

    # -- end ------------------------------------------------------------------------------------------------------

    def spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            LOG.error("a task of the debug session failed", exc_info=error)

    def _finish(self) -> None:
        """It is over by itself."""
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end(None))

    async def end(self, why: str) -> None:
        """End program and adapter; a program that was attached to is left alone. Returns when nothing is left."""
        if self._ending is None:
            self.why = self.why or why
            self._ending = asyncio.get_running_loop().create_task(self._end(why))
        await asyncio.shield(self._ending)

    async def _end(self, why: str | None) -> None:
        if why is not None:
            await self._goodbye()
        self.stop = None
        self._now("exited")
        if self._timer is not None:
            self._timer.cancel()
        await self._adapter.end()
        await self._reverse.end()
        self.moment.over()
        for task in list(self._tasks):
            if task is not asyncio.current_task():
                task.cancel()
        self._ended(self)

    async def _goodbye(self) -> None:
        """``disconnect``, by which the program ends without running on (B3); an adapter that ignores it is killed."""
        if not self.connections or self.root.link.over is not None:
            return
        kills = self.plan.request == "launch"
        try:
            await self.root.link.ask(
                "disconnect", {"restart": False, "terminateDebuggee": kills}, seconds=GOODBYE_SECONDS
            )
        except OmbudError as error:
            LOG.info("the adapter did not say goodbye: %s", error.message)
        if kills:
            await self._code()


_EVENTS: Mapping[str, Callable[[Session, Connection, dict[str, Any]], None]] = {
    "initialized": Session._initialized,
    "capabilities": Session._capable,
    "stopped": Session._stopped,
    "continued": Session._continued,
    "output": Session._printed,
    "breakpoint": Session._bound,
    "process": Session._process,
    "exited": Session._exited,
    "terminated": Session._terminated,
}


def place_of(frame: Mapping[str, Any]) -> tuple[Path | None, int]:
    """The file and the one-based line of a stack frame; no file for code that has none."""
    source = frame.get("source")
    path = source.get("path") if isinstance(source, dict) else None
    line = frame.get("line")
    return (Path(path) if isinstance(path, str) and path else None), line if isinstance(line, int) else 0
