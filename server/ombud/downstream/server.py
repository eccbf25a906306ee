"""One language server for one root, over all the processes it lives through: start, queue, crash, restart, stop.

Everything that is meant for the server passes one queue in the order it was read (architecture.md, decision 4). While
the server is ready the queue is empty and a message is written in the same call; while it starts, restarts after a
crash, or is held, messages wait in the queue and leave in the same order.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw

from ombud.downstream.capabilities import Capabilities
from ombud.downstream.ending import end, goodbye, over
from ombud.downstream.failures import FAILURES_ALLOWED, Failures
from ombud.downstream.features import feature_of
from ombud.downstream.handshake import initialize_params, shake_hands
from ombud.downstream.link import Link, Outcome, ServerError, Settle
from ombud.downstream.queue import Gate, Item, Queue, Ticket, kept_by, overflow
from ombud.downstream.states import Launch, Listener, Progress, Spawn, State
from ombud.errors import OmbudError, PeerError
from ombud.guard.redact import clean, redact
from ombud.wire.envelope import Message

if TYPE_CHECKING:
    from ombud.downstream.catalogue import ServerEntry
    from ombud.process.child import Child
    from ombud.process.exit import Exit

LOG = logging.getLogger("ombud.server")
BACKOFF = (2.0, 4.0, 8.0, 16.0, 30.0)
"""Seconds before restart number n (P4)."""
CONFIGURED_SECONDS = 2.0
"""How long a server that is ``configured_first`` may take to ask before it is spoken to all the same."""


class Server:
    """See the module. ``name`` is the catalogue's; ``tag`` tells two roots of one name apart within the hub."""

    def __init__(self, entry: ServerEntry, root: Path, root_uri: str, launch: Launch, listener: Listener, spawn: Spawn):
        self.entry = entry
        self.name = self.tag = entry.name
        self.root = root
        self.root_uri = root_uri
        self.launch = launch
        self.state = State.AVAILABLE
        self.reason = "It starts when a file needs it."
        self.capabilities = Capabilities()
        self.settings: Mapping[str, Any] = entry.settings
        self.documents: dict[str, int] = {}
        """URI → the hub's version that the running process has been sent."""
        self.restarts = 0
        self.last_used = time.monotonic()
        self.open_waits = 0
        self.progress: dict[int | str, Progress] = {}
        """The work-done progress of this process, the ended ones included: token → progress."""
        self.indexed = asyncio.Event()
        self.server_info: Mapping[str, Any] = {}
        self._listener = listener
        self._spawn = spawn
        self._link: Link | None = None
        self._queue = Queue()
        self._holds: set[Gate] = set()
        """The gates that this process has reached and that are still closed."""
        self._configuring: Gate | None = None
        self._failures = Failures()
        self._task: asyncio.Task[None] | None = None
        self._stops = asyncio.Lock()
        self._retry: asyncio.TimerHandle | None = None
        self._again = False
        self._starts = 0
        self._was_ready = False

    # -- what others may look at ------------------------------------------------------------------------------

    @property
    def child(self) -> Child | None:
        return self._link.child if self._link is not None else None

    @property
    def banner(self) -> str:
        """What it printed between its messages (W5)."""
        return self._link.banner if self._link is not None else ""

    @property
    def pending(self) -> int:
        return (self._link.pending if self._link is not None else 0) + len(self._queue)

    @property
    def idle_seconds(self) -> float:
        return time.monotonic() - self.last_used

    @property
    def busy(self) -> bool:
        """Whether it must not be swept: a request, a wait or a start is open (P2)."""
        return bool(self.pending or self.open_waits or self._holds) or self.state in (State.STARTING, State.STOPPING)

    @property
    def running(self) -> bool:
        return self.state in (State.STARTING, State.READY, State.STOPPING)

    @property
    def accepting(self) -> bool:
        """Whether messages are taken: written at once, or queued for a process that is coming."""
        return self.state in (State.STARTING, State.READY) or self._retry is not None or self._again

    def offers(self, method: str) -> bool:
        """Whether it can be asked ``method``, by its capabilities and by the configured features."""
        return self.entry.serves(feature_of(method)) and self.capabilities.supports(method)

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Somebody waits for something of this server that is no request, such as its diagnostics (P2)."""
        self.open_waits += 1
        try:
            yield
        finally:
            self.open_waits -= 1
            self.touch()

    @property
    def working_on(self) -> list[str]:
        """The titles of what it is working on, by its own reports (D10)."""
        return [one.title for one in self.progress.values() if one.ended is None]

    def touch(self, deadline: float = 0.0) -> None:
        if deadline != float("inf"):  # What has none is a client's poll and nobody's need (P2).
            self.last_used = time.monotonic()

    # -- needing it -------------------------------------------------------------------------------------------

    def need(self) -> None:
        """Make sure that a process is there or coming. Returns at once.

        Raises `PeerError` (``server_failed``) while the last failures forbid another try, with the server's own words.
        """
        self.touch()
        if self.accepting:
            return
        if self.state is State.STOPPING:
            self._again = True
            self._listener.server_starts(self)
            return
        if (wait := self._failures.wait) > 0:
            text = f"{self.name} is not running: {self.reason} It is tried again in {wait:.0f} s, or at once by reload."
            raise PeerError(text, kind="server_failed", server=self.name)
        self._begin()

    def _begin(self) -> None:
        """Start the process. The open documents go first into its queue, unless a crash has queued them before."""
        queued = self._retry is not None
        if self._retry is not None:
            self._retry.cancel()
            self._retry = None
        self._set(State.STARTING, "It is starting.")
        if not queued:
            self._listener.server_starts(self)
        self._task = asyncio.create_task(self._start(self._task), name=f"start {self.name}")

    async def _start(self, before: asyncio.Task[None] | None) -> None:
        """``before`` is the end of the last process: two of one server would fight over its caches (P3)."""
        link = Link(self.name, self._said, self._broken, self.entry.uncancelled)
        self._link = link
        try:
            await over(before)
            await self._run(link)
            # The time runs from the spawn (protocol.md), not from when it had to wait for room.
            await self._greet(link)
        except OmbudError as error:
            self._lost(link, error)
            await end(link, said_goodbye=False)
        except asyncio.CancelledError:
            await over(before)
            await end(link, said_goodbye=False)
            raise

    async def _run(self, link: Link) -> None:
        early: list[Exit] = []

        def ended(exit_: Exit) -> None:
            if link.child is None:
                early.append(exit_)
            else:
                self._exited(link, exit_)

        self._starts += 1
        self.restarts = max(0, self._starts - 1)
        link.child = await self._spawn(self.launch.argv, self.root, self.launch.environment, link.feed, ended)
        if early:
            # It died before the start had returned: only now can its last words be read.
            self._exited(link, early[0])

    async def _greet(self, link: Link) -> None:
        options = dict(self.entry.initialization_options) or None
        params = initialize_params(self.launch, self.root, self.root_uri, options)
        seconds = self.entry.ready_timeout_ms / 1000
        announced, self.server_info = await shake_hands(link, params, seconds, lambda: self._words(link))
        self.capabilities = Capabilities(announced)
        link.notify("initialized", {})
        if self.settings:
            link.notify("workspace/didChangeConfiguration", {"settings": self.settings})
        self._was_ready = True
        if self.entry.configured_first:
            self._hold_until_configured()
        self._set(State.READY, "It answers.")
        self.touch()
        self._flush()

    def _hold_until_configured(self) -> None:
        """Keep everything back until the server has asked for its configuration: it overlooks what comes earlier."""
        self._configuring = gate = Gate(self._released)
        self._holds.add(gate)
        gate.reach(None)
        asyncio.get_running_loop().call_later(CONFIGURED_SECONDS, gate.release)

    def configured(self) -> None:
        """Its question for its configuration has been answered."""
        if self._configuring is not None:
            self._configuring.release()

    # -- sending ----------------------------------------------------------------------------------------------

    def enqueue(self, run: Callable[[], None], fail: Callable[[OmbudError], None] | None = None, size: int = 0) -> None:
        """Do ``run`` in order: now, or when its turn comes; ``fail`` if it never does. ``run`` keeps ``size`` bytes."""
        item = Item(run, fail, size)
        if self.state is State.READY and not self._queue and not self._holds:
            self._do(item)
        elif self.accepting:
            self._queue.append(item)
            if self._queue.full:
                self._overflow()
        elif fail is not None:
            fail(self._gone())

    def _overflow(self) -> None:
        """Too much waits. What no process has heard of yet is replaced by the documents as they are now."""
        if self.state is State.READY and self._link is not None:
            self._link.break_off(overflow(self.name))
        else:
            waiting, self._queue = self._queue, Queue()
            self._listener.server_starts(self)
            waiting.fail(overflow(self.name))

    def _flush(self) -> None:
        if self._link is not None and self._queue:
            with self._link.unbounded():
                while self._queue and self.state is State.READY and not self._holds:
                    self._do(self._queue.popleft())

    def _do(self, item: Item) -> None:
        try:
            item.run()
        except Exception:
            # A message's boundary: those behind it have askers of their own.
            LOG.exception("a message for %s could not be sent", self.name)
            if item.fail is not None:
                text = f"Ombud could not send this to {self.name}; its log says why."
                item.fail(OmbudError(text, kind="internal", server=self.name))

    def gate(self) -> Gate:
        """Close the queue at this point: what comes later waits behind it. Only `ask` with ``ordered=False`` passes."""
        gate = Gate(self._released)

        def run() -> None:
            if not gate.open:
                self._holds.add(gate)
            gate.reach(None)

        self.enqueue(run, gate.reach)
        return gate

    def _released(self, gate: Gate) -> None:
        self._holds.discard(gate)
        self._flush()

    def notify(self, method: str, params: Any = UNSET) -> None:
        """A notification, in order. Dropped where no process is there or coming."""
        self.enqueue(lambda: self.notify_now(method, params), size=kept_by(params))

    def notify_now(self, method: str, params: Any = UNSET) -> None:
        """A notification past the queue, for what runs from the queue itself."""
        if self._link is not None:
            self._link.notify(method, params)

    def request(
        self,
        method: str,
        params: Any,
        settle: Settle,
        *,
        timeout: float | None = None,
        unless: Callable[[], Outcome | None] | None = None,
    ) -> Ticket:
        """A request, in order. ``settle`` is called exactly once, whatever happens to the server.

        ``unless`` is asked when the turn has come: what it returns is the answer and nothing is sent.
        """
        ticket = Ticket(settle)

        def run() -> None:
            if ticket.done:
                return
            instead = unless() if unless is not None else None
            if instead is not None:
                ticket.settle(instead)
            else:
                self._call(ticket, method, params, timeout)

        self.enqueue(run, ticket.settle, kept_by(params))
        return ticket

    async def turn(self) -> None:
        """Wait until everything that was queued before has been sent, so that the server is ready to be asked.

        Raises the `OmbudError` with which the server was lost.
        """
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.enqueue(
            lambda: None if reached.done() else reached.set_result(None),
            lambda error: None if reached.done() else reached.set_exception(error),
        )
        await reached

    async def ask(
        self,
        method: str,
        params: Any,
        *,
        timeout: float | None = None,  # noqa: ASYNC109  (the deadline belongs to the link: it outlives the asker)
        ordered: bool = True,
    ) -> Raw:
        """A request of ours, awaited: the result's bytes.

        Raises the `OmbudError` that ended it; a server's own error becomes a `PeerError` whose ``data`` has its
        ``serverCode``. ``ordered=False`` goes past the queue, for the one who holds it.
        """
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def settle(outcome: Outcome) -> None:
            if not future.done():
                future.set_result(outcome)

        if ordered:
            ticket = self.request(method, params, settle, timeout=timeout)
        else:
            ticket = Ticket(settle)
            self._call(ticket, method, params, timeout)
        try:
            outcome = await future
        except asyncio.CancelledError:
            ticket.cancel()
            raise
        if isinstance(outcome, OmbudError):
            raise outcome
        if isinstance(outcome, ServerError):
            raise PeerError(
                f"{self.name} answered {method} with an error: {clean(redact(outcome.message), 300)}",
                kind="server_failed",
                server=self.name,
                serverCode=outcome.code,
            )
        return outcome

    def _call(self, ticket: Ticket, method: str, params: Any, timeout: float | None) -> None:
        if self._link is None or self.state is not State.READY:
            ticket.settle(self._gone())
            return
        seconds = self.entry.request_timeout_ms / 1000 if timeout is None else timeout
        self.touch(seconds)

        def settle(outcome: Outcome) -> None:
            self.touch(seconds)
            ticket.settle(outcome)

        ticket.sent(self._link, self._link.call(method, params, settle, seconds))

    def answer(self, identity: int | str, result: Any) -> None:
        if self._link is not None:
            self._link.answer(identity, result)

    def refuse(self, identity: int | str, error: Any) -> None:
        if self._link is not None:
            self._link.refuse(identity, error)

    def _gone(self) -> PeerError:
        return PeerError(f"{self.name} is not running: {self.reason}", kind="server_failed", server=self.name)

    # -- hearing ----------------------------------------------------------------------------------------------

    def _said(self, message: Message) -> None:
        self._listener.server_said(self, message)

    def _broken(self, error: OmbudError) -> None:
        """The protocol cannot go on: end the process and treat it as a crash."""
        if self._link is not None and self.state is State.READY:
            self._crashed(self._link, error)

    def _exited(self, link: Link, exit_: Exit) -> None:
        if link is not self._link:
            return
        error = PeerError(f"{self.name} {exit_.words}.{self._words(link)}", kind="server_failed", server=self.name)
        if self.state is State.READY:
            self._crashed(link, error)
        else:
            # The start waits for an answer, or the stop does: this is it.
            link.close(error)

    def _crashed(self, link: Link, error: OmbudError) -> None:
        self._lost(link, error)
        self._task = asyncio.create_task(end(link, said_goodbye=False), name=f"end {self.name}")

    def _words(self, link: Link) -> str:
        """The server's own last words, for the reader of a failure."""
        tail = link.child.stderr_tail(6) if link.child is not None else ""
        text = clean(redact(tail.strip() or link.banner.strip()), 600)
        return f" It said: {text}" if text else ""

    def _lost(self, link: Link, error: OmbudError) -> None:
        """The process is lost: remember why, come back after the backoff (P4), and answer what was open.

        The answers come last: who asks again when he hears of it stands behind the documents of the next process.
        """
        delay = self._failures.note(BACKOFF)
        waiting, self._queue = self._queue, Queue()
        self._forget_process()
        if self._failures.too_many:
            why = f"It failed {FAILURES_ALLOWED} times within three minutes, so it is not restarted by itself."
            self._set(State.FAILED, f"{error.message} {why}")
        elif self._was_ready:
            self._retry = asyncio.get_running_loop().call_later(delay, self._begin)
            self._set(State.CRASHED, f"{error.message} It is restarted after {delay:g} s.")
            self._listener.server_starts(self)
        else:
            self._set(State.FAILED, error.message)
        link.close(error)
        waiting.fail(error)

    def _forget_process(self) -> None:
        self._link = None
        self._holds.clear()
        self.documents.clear()
        self.progress.clear()
        self.indexed.clear()
        self.capabilities = Capabilities()

    # -- ending -----------------------------------------------------------------------------------------------

    async def stop(self, state: State, reason: str) -> None:
        """End the process politely: ``shutdown``, ``exit``, then the ladder of `ombud.process`. Idempotent.

        Returns when the process is gone, one that is ending already included. A second call meanwhile has its turn
        after the first, and so ends the process that a need has asked for in between.
        """
        async with self._stops:
            if self._retry is not None:
                self._retry.cancel()
                self._retry = None
            if self.state is State.STARTING and self._task is not None:
                self._task.cancel()
            await over(self._task)
            error = PeerError(f"{self.name} was stopped: {reason}", kind="server_failed", server=self.name)
            if self._link is not None:
                await self._dismiss(self._link, error)
            else:
                self._queue.fail(error)
            if self.state is not State.FAILED or state is State.AVAILABLE:
                self._set(state, reason)
            if self._again:
                self._again = False
                self._restart_after_stop()

    async def _dismiss(self, link: Link, error: PeerError) -> None:
        self._set(State.STOPPING, "It is being stopped.")
        # What waits was meant for this process. What comes from now on is for the next, if anybody needs one.
        self._queue.fail(error)
        await goodbye(link)
        link.close(error)
        self._forget_process()
        await end(link, said_goodbye=True)

    def _restart_after_stop(self) -> None:
        """Somebody needed it while it was stopping; its documents stand in the queue already."""
        self._set(State.STARTING, "It is starting again.")
        self._task = asyncio.create_task(self._start(None), name=f"start {self.name}")

    def forgive(self) -> None:
        """Forget the failures, so that the next need tries again at once (``reload``)."""
        self._failures.forgive()

    def _set(self, state: State, reason: str) -> None:
        self.state, self.reason = state, reason
        self._listener.server_changed(self)
