"""One client request to one of several servers: who is asked, in which order, and what if none can.

The verbatim lane (architecture.md, decision 1): params and result stay the bytes they arrived as, unless a `Call` says
how they must be worded for a server or shaped for the client.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import Raw, UnsetType

from ombud.downstream.link import Outcome, ServerError, Settle
from ombud.downstream.queue import Ticket
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import (
    CONTENT_MODIFIED,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    SERVER_CANCELLED,
    Cancelled,
    ContentModified,
    OmbudError,
    PeerError,
)
from ombud.wire.values import NULL, null

LOG = logging.getLogger("ombud.forward")
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
        """Null or an empty list, or that the server cannot say: an error, unless it asks to be asked again."""
        if isinstance(outcome, ServerError):
            return outcome.code not in _AGAIN
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
        self._error: Outcome | None = None
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
        try:
            self._take(server, outcome)
        except Exception:
            # A request's boundary: whatever a server has answered, its asker gets an answer.
            LOG.exception("an answer of %s to %s could not be handled", server.name, self._call.method)
            self._finish(unhandled(self._call.method))

    def _take(self, server: Server, outcome: Outcome) -> None:
        failed = isinstance(outcome, OmbudError | ServerError)
        if outcome is PASS:
            self._step(late=True)
        elif isinstance(outcome, PeerError) and self._servers and not _was_asked(outcome):
            self._error = self._error or outcome
            self._step(late=True)
        elif self._servers and self._passes(outcome):
            if failed:
                self._error = self._error or outcome
            else:
                self._before = self._before or outcome
            self._step(late=True)
        elif isinstance(outcome, Raw) and self._call.shape is not None:
            self._finish(self._shaped(self._call.shape, server, outcome))
        elif failed and self._before is not None:
            self._finish(self._before)
        elif failed and self._error is not None and self._passes(outcome):
            self._finish(self._error)
        else:
            self._finish(outcome)

    def _shaped(self, shape: Callable[[Server, Raw], Raw], server: Server, raw: Raw) -> Outcome:
        try:
            return shape(server, raw)
        except MISSHAPEN as error:
            return misshapen(server.name, self._call.method, error)

    def _finish(self, outcome: Outcome) -> None:
        settle, self._settle = self._settle, None
        if settle is not None:
            deliver(settle, outcome, self._call.method)


def deliver(settle: Settle, outcome: Outcome, method: str) -> None:
    """Give an asker its answer. One that cannot be handled on its way becomes an error of ours, so nobody waits on."""
    try:
        settle(outcome)
    except Exception:
        LOG.exception("the answer to %s could not be handled", method)
        settle(unhandled(method))


def unhandled(method: str) -> OmbudError:
    return OmbudError(f"Ombud could not handle the answer to {method}; its log says why.", kind="internal")


MISSHAPEN = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)
"""What reading an answer of another shape than the specification's may raise, nested too deeply included."""


def misshapen(server: str, method: str, error: Exception) -> PeerError:
    text = f"{server} answered {method} with something that LSP does not know: {error}"
    return PeerError(text, kind="server_failed", server=server)


_AGAIN = frozenset({REQUEST_CANCELLED, CONTENT_MODIFIED, SERVER_CANCELLED})
PASS = PeerError("passed over", kind="passed_over")
"""The answer of a server that turned out not to be able. It is never sent to a client."""


def _was_asked(error: OmbudError) -> bool:
    """A deadline is the answer of a server that was asked; failing to start is a reason to ask the next one."""
    return error.kind == "timeout"
