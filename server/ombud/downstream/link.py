"""The conversation with one running language server: frames, ids, deadlines, and exactly one answer to each request.

A `Link` lives as long as one process. It knows nothing of documents, restarts or who asked; `Server` does.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, UnsetType

from ombud.errors import Cancelled, OmbudError, PeerError
from ombud.wire import envelope
from ombud.wire.envelope import BodyError, Message
from ombud.wire.framing import Framer, FramingError, Junk, frame
from ombud.wire.values import load_any

if TYPE_CHECKING:
    from ombud.process.child import Child

LOG = logging.getLogger("ombud.link")
INPUT_BYTES = 64 * 1024 * 1024
"""How much may wait for a server that does not read, until its process is given up."""
BAD_BODIES = 50
"""How many unreadable messages a server may send before its process is given up."""


@dataclass(frozen=True, slots=True)
class ServerError:
    """An error object as the server sent it, to be forwarded as it is."""

    raw: Raw

    @property
    def message(self) -> str:
        value = load_any(self.raw)
        return str(value.get("message", value)) if isinstance(value, dict) else str(value)

    @property
    def code(self) -> Any:
        value = load_any(self.raw)
        return value.get("code") if isinstance(value, dict) else None


Outcome = Raw | ServerError | OmbudError
"""How a request ended: the server's result bytes, the server's error, or an error of ours."""
Settle = Callable[[Outcome], None]


@dataclass(slots=True)
class _Pending:
    method: str
    settle: Settle | None
    timer: asyncio.TimerHandle | None
    held: bool = False


class Link:
    """Requests out, answers in; notifications and the server's own requests are handed on in the order they came.

    ``on_message(message)`` gets every notification and request of the server; ``on_broken(error)`` is called once
    when the protocol cannot go on (bad framing, a deadline that passed): the process must then be ended. Of requests of
    the methods ``uncancelled`` the server never hears that they were cancelled.
    """

    def __init__(
        self,
        name: str,
        on_message: Callable[[Message], None],
        on_broken: Callable[[OmbudError], None],
        uncancelled: Collection[str] = (),
    ) -> None:
        self.name = name
        self._uncancelled = uncancelled
        self.child: Child | None = None
        self._on_message = on_message
        self._on_broken = on_broken
        self._framer = Framer(junk=Junk.SKIP)
        self._pending: dict[int, _Pending] = {}
        self._next_id = 0
        self._bad_bodies = 0
        self._over: OmbudError | None = None
        self._bound: float = INPUT_BYTES

    @property
    def over(self) -> OmbudError | None:
        """Why nothing can be said or heard any more; None while it can."""
        return self._over

    @property
    def pending(self) -> int:
        """How many requests wait for the server's answer, those whose asker has given up included.

        Those that it may hold for as long as it has nothing to say are not.
        """
        return sum(1 for one in self._pending.values() if not one.held)

    @property
    def banner(self) -> str:
        """What the server printed between its messages (W5), for the status report."""
        return bytes(self._framer.junk).decode("utf-8", "replace")

    def feed(self, data: bytes) -> None:
        """Bytes of the server's standard output."""
        if self._over is not None:
            return
        fault: FramingError | None = None
        try:
            bodies = self._framer.feed(data)
        except FramingError as error:
            bodies, fault = error.bodies, error
        for body in bodies:
            if self._over is None:
                self._take(body)
        if fault is not None:
            self.break_off(
                PeerError(f"{self.name} broke the protocol: {fault.message}", kind="server_failed", server=self.name)
            )

    def _take(self, body: bytes) -> None:
        try:
            # The parser bounds the depth by itself; the exact checks are for clients, whose messages are small.
            message = envelope.decode(body, limits=None, repair=True)
        except BodyError as error:
            self._unreadable(error)
            return
        if not message.is_response:
            try:
                self._on_message(message)
            except Exception:
                # A message's boundary: what stands behind it in the same chunk must still be heard (W9).
                LOG.exception("the message %s of %s could not be handled", message.method, self.name)
        elif isinstance(message.error, Raw):
            self._settle(message.id, ServerError(message.error))
        elif isinstance(message.result, Raw):
            self._settle(message.id, message.result)

    def _unreadable(self, error: BodyError) -> None:
        """A body that is no message. Whoever waits for it, or for an answer to it, need not wait for a deadline."""
        if error.id is not None:
            self.refuse(error.id, {"code": error.code, "message": error.message})
        pending = self._pending.get(error.answers) if isinstance(error.answers, int) else None
        if pending is not None:
            text = f"{self.name} answered {pending.method} with a message that cannot be read: {error.message}"
            reason = PeerError(text, kind="server_failed", server=self.name, method=pending.method)
            self._settle(error.answers, reason)
        self._bad_bodies += 1
        if self._bad_bodies > BAD_BODIES:
            text = f"{self.name} keeps sending unreadable messages: {error}"
            self.break_off(PeerError(text, kind="server_failed", server=self.name))

    def _settle(self, identity: envelope.Id | UnsetType | None, outcome: Outcome) -> None:
        """Give an answer to whoever asked. Unknown, repeated and late ones are dropped (W11)."""
        pending = self._pending.pop(identity, None) if isinstance(identity, int) else None
        if pending is None:
            return
        if pending.timer is not None:
            pending.timer.cancel()
        if pending.settle is not None:
            self._give(pending.settle, outcome)

    def _give(self, settle: Settle, outcome: Outcome) -> None:
        try:
            settle(outcome)
        except Exception:
            # A request's boundary: the others are still to be answered.
            LOG.exception("an answer of %s could not be handled", self.name)

    def call(self, method: str, params: Any, settle: Settle, timeout: float | None) -> int:
        """Send a request; ``settle`` is called exactly once. ``timeout`` is in seconds, None waits for ever.

        Infinity does as well, for what a server may hold open without being busy (``workspace/diagnostic``).

        A deadline that passes answers with kind ``timeout`` and then breaks the link: a server that leaves a request
        unanswered is wedged (P5). That also holds for a request that was cancelled meanwhile, since a healthy server
        answers those too.
        """
        self._next_id += 1
        identity = self._next_id
        if self._over is not None:
            self._give(settle, self._over)
            return identity
        timer = None
        if timeout is not None and timeout != math.inf:
            timer = asyncio.get_running_loop().call_later(timeout, self._late, identity, timeout)
        self._pending[identity] = _Pending(method, settle, timer, held=timeout == math.inf)
        self.send(envelope.request(identity, method, params))
        return identity

    def _late(self, identity: int, timeout: float) -> None:
        pending = self._pending.pop(identity, None)
        if pending is None:
            return
        error = PeerError(
            f"{self.name} did not answer {pending.method} within {timeout:g} s and is being restarted; try again.",
            kind="timeout",
            server=self.name,
            method=pending.method,
        )
        if pending.settle is not None:
            self._give(pending.settle, error)
        self.break_off(
            PeerError(
                f"{self.name} was ended because it did not answer {pending.method} within {timeout:g} s.",
                kind="server_failed",
                server=self.name,
            )
        )

    def cancel(self, identity: int) -> None:
        """Tell the server to stop, and the asker at once that the request is cancelled."""
        pending = self._pending.get(identity)
        if pending is None or pending.settle is None:
            return
        settle, pending.settle = pending.settle, None
        if pending.method not in self._uncancelled:
            self.notify("$/cancelRequest", {"id": identity})
        self._give(settle, Cancelled())

    def notify(self, method: str, params: Any = UNSET) -> None:
        self.send(envelope.notification(method, params))

    def answer(self, identity: envelope.Id, result: Any) -> None:
        """Answer one of the server's own requests."""
        self.send(envelope.response(identity, result))

    def refuse(self, identity: envelope.Id, error: Any) -> None:
        """Answer one of the server's own requests with an error object."""
        self.send(envelope.failure(identity, error))

    def send(self, body: bytes) -> None:
        child = self.child
        if child is None or self._over is not None:
            return
        if child.slow and child.pending_bytes >= self._bound:
            # It is as wedged as one that leaves a request unanswered (P5).
            text = f"{self.name} does not read what it is sent and is being restarted; try again."
            self.break_off(PeerError(text, kind="server_failed", server=self.name))
        else:
            child.write(frame(body))

    @contextmanager
    def unbounded(self) -> Iterator[None]:
        """For what has waited in a queue with a bound of its own: a new process must have the time to read it."""
        self._bound = math.inf
        try:
            yield
        finally:
            self._bound = INPUT_BYTES + (self.child.pending_bytes if self.child is not None else 0)

    def break_off(self, error: OmbudError) -> None:
        """The process is of no use any more: it is ended, and what was asked of it is answered with ``error``."""
        if self._over is None:
            self._over = error
            self._on_broken(error)
            self.close(error)

    def close(self, error: OmbudError) -> None:
        """The process is gone or going: every open request is answered with ``error``, once."""
        self._over = self._over or error
        pending, self._pending = list(self._pending.values()), {}
        for one in pending:
            if one.timer is not None:
                one.timer.cancel()
            if one.settle is not None:
                self._give(one.settle, error)
