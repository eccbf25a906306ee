"""One client request to one of several servers: who is asked, in which order, and what if none can.

The verbatim lane (architecture.md, decision 1): params and result stay the bytes they arrived as, unless a `Call` says
how they must be worded for a server or shaped for the client.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import Raw, UnsetType

from ombud.downstream.link import Outcome, ServerError, Settle
from ombud.downstream.queue import Ticket
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import METHOD_NOT_FOUND, Cancelled, ContentModified, OmbudError, PeerError
from ombud.wire.values import null

NULL = Raw(b"null")

Params = Raw | UnsetType
Lent = tuple[Params, Callable[[], None] | None]
"""Params with progress tokens of ours, and what gives those back."""


@dataclass(slots=True)
class Call:
    """A client's request on its way. Only what differs from the plain case is set.

    ``able``: whether a server can be asked. ``version``: the document's version, so that a server which is reached late
    is not asked about another text. ``chosen``: told when a server's turn has come. ``lend``: gives a server's params
    other progress tokens, and its partial results the shape of whole ones. ``worded``: the params for one server.
    ``instead``: an answer that needs no asking. ``shape``: a server's result as the client is to see it.
    ``timeout``: seconds, where a server's own deadline is not the right one.
    """

    method: str
    params: Params
    able: Callable[[Server], bool]
    version: Callable[[], int | None] | None = None
    chosen: Callable[[Server], None] | None = None
    lend: Callable[[Server, Params, Callable[[Raw], Raw] | None], Lent] | None = None
    worded: Callable[[Server], Params] | None = None
    instead: Callable[[Server], Outcome | None] | None = None
    shape: Callable[[Server, Raw], Raw] | None = None
    timeout: float | None = None

    def params_for(self, server: Server) -> Lent:
        params = self.params if self.worded is None else self.worded(server)
        if self.lend is None:
            return params, None
        return self.lend(server, params, partial(self.shape, server) if self.shape is not None else None)


class Passing:
    """Which answers ask the next server, as long as there is one."""

    @staticmethod
    def never(_outcome: Outcome) -> bool:
        return False

    @staticmethod
    def nothing_found(outcome: Outcome) -> bool:
        """Null or an empty list."""
        return isinstance(outcome, Raw) and (null(outcome) or bytes(memoryview(outcome)[:2]) == b"[]")

    @staticmethod
    def unknown_method(outcome: Outcome) -> bool:
        return isinstance(outcome, ServerError) and outcome.code == METHOD_NOT_FOUND


class Forward:
    """Asks one server after the other until one answers for good; answers exactly once. `cancel` works at any time."""

    __slots__ = ("_asked_at", "_before", "_call", "_error", "_nobody", "_passes", "_servers", "_settle", "_ticket")

    def __init__(
        self,
        servers: Sequence[Server],
        call: Call,
        settle: Settle,
        *,
        nobody: Outcome = NULL,
        passes: Callable[[Outcome], bool] = Passing.never,
    ) -> None:
        self._servers = list(servers)
        self._call = call
        self._settle: Settle | None = settle
        self._nobody = nobody
        self._passes = passes
        self._asked_at = call.version() if call.version is not None else None
        self._ticket: Ticket | None = None
        self._error: OmbudError | None = None
        self._before: Outcome | None = None
        """What a server answered that was passed over; it stands if nobody has more to say."""
        self._step(late=False)

    def cancel(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
        self._finish(Cancelled())

    def _step(self, *, late: bool) -> None:
        """Ask the next server that may be able; one that is still starting is asked when it is known to be."""
        call = self._call
        while self._servers:
            server = self._servers.pop(0)
            try:
                server.need()
            except PeerError as error:
                self._error = self._error or error
                continue
            if server.state is State.READY and not call.able(server):
                continue
            params, lent = call.params_for(server)
            ticket = server.request(
                call.method,
                params,
                partial(self._answered, server, lent),
                unless=partial(self._unless, server, late),
                timeout=call.timeout,
            )
            if self._settle is not None and not ticket.done:
                self._ticket = ticket
            return
        self._finish(self._before or self._error or self._nobody)

    def _unless(self, server: Server, late: bool) -> Outcome | None:
        """At the server's turn: whether it must be passed over, or was reached too late to be asked the same."""
        call = self._call
        if not call.able(server):
            return PASS
        if late and call.version is not None and call.version() != self._asked_at:
            text = f"The document changed while {server.name} was being chosen; ask again."
            return self._before or ContentModified(text)
        if call.chosen is not None:
            call.chosen(server)
        return call.instead(server) if call.instead is not None else None

    def _answered(self, server: Server, lent: Callable[[], None] | None, outcome: Outcome) -> None:
        if lent is not None:
            lent()
        if self._settle is None:
            return
        if outcome is PASS:
            self._step(late=True)
        elif isinstance(outcome, PeerError) and self._servers and not _was_asked(outcome):
            self._error = self._error or outcome
            self._step(late=True)
        elif self._servers and self._passes(outcome):
            self._before = self._before or outcome
            self._step(late=True)
        elif isinstance(outcome, Raw) and self._call.shape is not None:
            self._finish(self._call.shape(server, outcome))
        elif isinstance(outcome, OmbudError) and self._before is not None:
            self._finish(self._before)
        else:
            self._finish(outcome)

    def _finish(self, outcome: Outcome) -> None:
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(outcome)


PASS = PeerError("passed over", kind="passed_over")
"""The answer of a server that turned out not to be able. It is never sent to a client."""


def _was_asked(error: OmbudError) -> bool:
    """A deadline is the answer of a server that was asked; failing to start is a reason to ask the next one."""
    return error.kind == "timeout"
