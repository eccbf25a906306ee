"""``workspace/applyEdit`` of servers that is answered here, and not by a client.

That is every edit of a command which one of our own operations has given, and an edit for a session whose client makes
none, such as an agent's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from msgspec import Raw

from ombud.wire.values import load_any

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session
    from ombud.operations.writing.applying import Commanded
    from ombud.wire.envelope import Id

MOST_WAITING = 50
"""How many edits of one server may be under way; more are refused."""


class Editing:
    """See the module. One for the hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._commanded: WeakKeyDictionary[Server, list[Commanded]] = WeakKeyDictionary()
        self._waiting: WeakKeyDictionary[Server, int] = WeakKeyDictionary()

    @contextmanager
    def of_command(self, server: Server, commanded: Commanded) -> Iterator[None]:
        """The edits that ``server`` sends during the block are made by an operation of ours."""
        own = self._commanded.setdefault(server, [])
        own.append(commanded)
        try:
            yield
        finally:
            own.remove(commanded)

    def take(self, server: Server, identity: Id, params: Raw, served: Session | None, *, able: bool) -> bool:
        """Whether the edit is made here. ``served`` is the session that the server works for, ``able`` whether a
        client can make the edit. Raises `msgspec.ValidationError` for params that are no JSON."""
        own = self._commanded.get(server)
        if not own and (able or served is None or "write" not in served.tiers):
            return False
        from ombud.operations.writing.applying import edit_of, unasked

        edit = edit_of(load_any(Raw(bytes(params))))
        if own:
            work = own[-1].take(edit)
        elif self._waiting.get(server, 0) >= MOST_WAITING:
            return False
        else:
            assert served is not None
            work = self._hub.spawn(unasked(served, server, edit))
        self._hub.spawn(self._answer(server, identity, work))
        return True

    async def _answer(self, server: Server, identity: Id, work: asyncio.Task[Any]) -> None:
        process = server.child
        self._waiting[server] = self._waiting.get(server, 0) + 1
        answer: Any = {"applied": False, "failureReason": "Ombud could not make the edit; its log says why."}
        try:
            # What has begun is carried to its end, also when the hub gives up on the answer.
            answer = await asyncio.shield(work)
        finally:
            self._waiting[server] -= 1
            # Another process would take it for the answer to a question of its own.
            if server.child is process and isinstance(identity, int | str):
                server.answer(identity, answer)
