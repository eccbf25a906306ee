"""What stands in a server's queue: things to do in order, requests on their way, and closed points."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Raw

from ombud.downstream.link import Link, Outcome, Settle
from ombud.errors import Cancelled, OmbudError, PeerError

QUEUE_BYTES = 64 * 1024 * 1024
"""How much may wait for a server that is starting, or is held at a gate."""


@dataclass(slots=True)
class Item:
    """One thing to do; ``fail`` is called in its place where its turn never comes."""

    run: Callable[[], None]
    fail: Callable[[OmbudError], None] | None
    size: int = 0
    """Bytes that it keeps for itself."""


class Queue:
    """Items in order, and how many bytes they keep."""

    def __init__(self) -> None:
        self.size = 0
        self._items: deque[Item] = deque()

    def __len__(self) -> int:
        return len(self._items)

    @property
    def full(self) -> bool:
        return self.size > QUEUE_BYTES

    def append(self, item: Item) -> None:
        self._items.append(item)
        self.size += item.size

    def popleft(self) -> Item:
        item = self._items.popleft()
        self.size -= item.size
        return item

    def fail(self, error: OmbudError) -> None:
        """Take out what is in it now: its turn never comes."""
        items, self._items, self.size = self._items, deque(), 0
        for item in items:
            if item.fail is not None:
                item.fail(error)


def kept_by(params: object) -> int:
    """The bytes of params that are forwarded as they came."""
    return memoryview(params).nbytes if isinstance(params, Raw) else 0


def overflow(server: str) -> PeerError:
    """What those are told who wait behind too much."""
    text = f"{server} is not ready yet and too much waits for it already; try again when it is."
    return PeerError(text, kind="server_failed", server=server)


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
