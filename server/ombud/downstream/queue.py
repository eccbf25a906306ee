"""What stands in a server's queue: things to do in order, requests on their way, and closed points."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from ombud.downstream.link import Link, Outcome, Settle
from ombud.errors import Cancelled, OmbudError


@dataclass(slots=True)
class Item:
    run: Callable[[], None]
    fail: Callable[[OmbudError], None] | None


class Ticket:
    """A request on its way: queued, sent or answered. `cancel` works in each of these states."""

    __slots__ = ("_link", "_settle", "identity")

    def __init__(self, settle: Settle) -> None:
        self.identity: int | None = None
        self._link: Link | None = None
        self._settle: Settle | None = settle

    @property
    def done(self) -> bool:
        return self._settle is None

    def sent(self, link: Link, identity: int) -> None:
        self._link, self.identity = link, identity

    def settle(self, outcome: Outcome) -> None:
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(outcome)

    def cancel(self) -> None:
        if self._link is not None and self.identity is not None:
            self._link.cancel(self.identity)
        self.settle(Cancelled())


class Gate:
    """A closed point in a server's queue. It is reached once everything before it has been sent."""

    def __init__(self, released: Callable[[Gate], None]) -> None:
        self.open = False
        self._released = released
        self._reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def reach(self, error: OmbudError | None) -> None:
        """Called by the queue: its turn has come, or the server is lost."""
        if self._reached.done():
            return
        if error is None:
            self._reached.set_result(None)
        else:
            self.open = True
            self._reached.set_exception(error)
            self._reached.exception()  # Nobody may be waiting any more, which is no fault to log.

    async def reached(self) -> None:
        """Wait for the turn. Raises the `OmbudError` with which the server was lost."""
        await asyncio.shield(self._reached)

    def release(self) -> None:
        """Let pass what waits behind it. Idempotent."""
        if self.open:
            return
        self.open = True
        if self._reached.done():
            self._released(self)
