"""One client request to several servers at once, their answers joined (the merge lane; architecture.md, decision 1)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Raw

from ombud.downstream.forward import MISSHAPEN, PASS, Call, deliver, misshapen
from ombud.downstream.items import Mark
from ombud.downstream.joins import Part, join
from ombud.downstream.link import Outcome, Settle
from ombud.downstream.methods import PATIENT
from ombud.downstream.queue import Ticket
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import Cancelled, PeerError
from ombud.wire.values import NULL, null

PATIENCE = 4.0
"""Seconds that the slower servers have once one has found something, where an answer without them is of use.

Nothing found starts no clock: a linter has nothing to say on most names, long before a type checker is awake.
"""
_EMPTY_LIST = re.compile(rb'\[\s*\]|\{(?:[^\[{]*,)?\s*"items"\s*:\s*\[\s*\]')


def _says_something(outcome: Outcome) -> bool:
    return (
        isinstance(outcome, Raw) and not null(outcome) and _EMPTY_LIST.match(bytes(memoryview(outcome)[:200])) is None
    )


class Gather:
    """Asks every server that can; answers exactly once. `cancel` works at any time.

    A server that fails does not spoil the answers of the others; only where all fail is the first error the answer.
    ``mark(server)`` is asked in order of priority, for the servers that found something.
    """

    def __init__(self, servers: Sequence[Server], call: Call, settle: Settle, mark: Callable[[Server], Mark]) -> None:
        self._servers = list(servers)
        self._call = call
        self._settle: Settle | None = settle
        self._mark = mark
        self._parts: list[Outcome | None] = [None] * len(servers)
        self._tickets: list[Ticket | None] = [None] * len(servers)
        self._left = len(servers)
        self._timer: asyncio.TimerHandle | None = None
        if not servers:
            self._finish(NULL)
        for index, server in enumerate(self._servers):
            self._ask(index, server)

    def cancel(self) -> None:
        # The asker is answered first: a cancelled ticket counts as an answer, and the last one would join the others.
        self._finish(Cancelled())
        for ticket in self._tickets:
            if ticket is not None:
                ticket.cancel()

    def _ask(self, index: int, server: Server) -> None:
        call = self._call
        try:
            server.need()
        except PeerError as error:
            self._answered(index, None, error)
            return
        if server.state is State.READY and not call.able(server):
            self._answered(index, None, PASS)
            return
        params, lent = call.params_for(server)
        self._tickets[index] = server.request(
            call.method, params, partial(self._answered, index, lent), unless=partial(self._unless, server)
        )

    def _unless(self, server: Server) -> Outcome | None:
        """At the server's turn, which is in order with the document's changes: whether it can after all."""
        call = self._call
        if not call.able(server):
            return PASS
        if call.chosen is not None:
            call.chosen(server)
        return None

    def _answered(self, index: int, lent: Callable[[], None] | None, outcome: Outcome) -> None:
        if lent is not None:
            lent()
        if self._settle is None:
            return
        self._parts[index] = outcome
        self._left -= 1
        if self._left == 0:
            self._finish(self._joined(missing=False))
        elif self._timer is None and self._call.method not in PATIENT and _says_something(outcome):
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._enough)

    def _enough(self) -> None:
        """The patience is over: the answer goes out without the parts that have not come."""
        if self._settle is None:
            return
        # The askers are gone first, so that the cancelled ones do not count as answers.
        settle, self._settle = self._settle, None
        outcome = self._joined(missing=True)
        for ticket in self._tickets:
            if ticket is not None and not ticket.done:
                ticket.cancel()
        deliver(settle, outcome, self._call.method)

    def _joined(self, *, missing: bool) -> Outcome:
        parts: list[Part] = []
        errors: list[Outcome] = []
        for server, outcome in zip(self._servers, self._parts, strict=True):
            if isinstance(outcome, Raw):
                parts.append(Part(outcome, Mark() if null(outcome) else self._mark(server)))
            elif outcome is not None and outcome is not PASS:
                errors.append(outcome)
        if not parts:
            return errors[0] if errors else NULL
        try:
            return join(self._call.method, parts, missing=missing)
        except MISSHAPEN as error:
            return self._misshapen(error)

    def _misshapen(self, error: Exception) -> Outcome:
        """One of the answers has no shape of the specification: that of the others is not lost for it."""
        good: list[Part] = []
        named = ""
        for server, outcome in zip(self._servers, self._parts, strict=True):
            if not isinstance(outcome, Raw):
                continue
            part = Part(outcome, Mark() if null(outcome) else self._mark(server))
            try:
                join(self._call.method, [part, part])
            except MISSHAPEN:
                named = named or server.name
            else:
                good.append(part)
        if good and named:
            try:
                return join(self._call.method, good)
            except MISSHAPEN as another:
                error = another
        return misshapen(named or "a server", self._call.method, error)

    def _finish(self, outcome: Outcome) -> None:
        if self._timer is not None:
            self._timer.cancel()
        settle, self._settle = self._settle, None
        if settle is not None:
            deliver(settle, outcome, self._call.method)
