"""Progress and partial results (LSP 3.17, ``$/progress``): whose token is it, and who sees what is said under it.

Two clients may choose the same token, and a server may choose one that a client has. So a server only ever hears
tokens of ours, and a client only those it chose itself or ours.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
from msgspec import Raw

from ombud.downstream.forward import Lent, Params
from ombud.downstream.server import Server
from ombud.downstream.states import Progress
from ombud.guard.redact import clean
from ombud.wire.values import dump, load, load_any

if TYPE_CHECKING:
    from ombud.operations.session import Session

Token = int | str
NAMES = ("workDoneToken", "partialResultToken")
CARRIED: ContextVar[Token | None] = ContextVar("ombud_token", default=None)
"""The ``workDoneToken`` that came with the request for an operation of ours, while that runs."""
MOST_ENDED = 64
"""Pieces of work of a server that are remembered after their end."""


@dataclass(slots=True, eq=False)
class _Bar:
    """A progress that a server created and one client shows, by the name that we gave its token."""

    name: str
    session: Session
    begun: bool = False


@dataclass(slots=True, eq=False)
class _Loan:
    """A client's token, under a name of ours with the server. ``shape`` is for partial results."""

    session: Session
    token: Token
    shape: Callable[[Raw], Raw] | None
    begun: bool = False
    answered: bool = False


class _Report(msgspec.Struct):
    token: Token
    value: Raw


class _Work(msgspec.Struct):
    kind: str = ""
    title: str = "working"


class Tokens:
    """See the module. One for the hub."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._bars: dict[tuple[Server, Token], _Bar] = {}
        self._loans: dict[tuple[Server, Token], _Loan] = {}
        self._own: dict[tuple[Session, Token], Callable[[], object]] = {}

    # -- work of our own --------------------------------------------------------------------------------------

    def own(self, session: Session, token: Token, stop: Callable[[], object]) -> Callable[[], None]:
        """A client is shown work of ours: ``stop`` is called if it cancels that. What is returned ends it."""
        self._own[(session, token)] = stop

        def over() -> None:
            self._own.pop((session, token), None)

        return over

    def name(self) -> str:
        """A new token of ours."""
        return f"ombud/{next(self._numbers)}"

    # -- tokens that come with a client's request -------------------------------------------------------------

    def lend(self, session: Session, server: Server, params: Params, shape: Callable[[Raw], Raw] | None) -> Lent:
        """``params`` with our names in place of the client's tokens, and what takes these back after the answer."""
        if not isinstance(params, Raw):
            return params, None
        try:
            fields = load(params, dict[str, Raw])
            tokens: dict[str, Token] = {name: load_any(fields[name]) for name in NAMES if name in fields}
        except msgspec.ValidationError:
            # The server will say what it thinks of such a token; nothing can be reported under it.
            return params, None
        if not tokens or not all(isinstance(token, int | str) for token in tokens.values()):
            return params, None
        loans: dict[str, _Loan] = {}
        for field, token in tokens.items():
            name = f"ombud/{next(self._numbers)}"
            fields[field] = Raw(dump(name))
            loans[name] = _Loan(session, token, shape if field == "partialResultToken" else None)
            self._loans[(server, name)] = loans[name]

        def answered() -> None:
            for name, loan in loans.items():
                loan.answered = True
                if not loan.begun:
                    self._loans.pop((server, name), None)

        return Raw(dump(fields)), answered

    # -- tokens that a server creates -------------------------------------------------------------------------

    def show(self, server: Server, token: Token, session: Session) -> str:
        """A client is to show a server's progress: the name by which it will know it."""
        bar = _Bar(f"ombud/{server.tag}/{next(self._numbers)}", session)
        self._bars[(server, token)] = bar
        return bar.name

    def hide(self, name: str) -> None:
        """The client does not show it after all."""
        self._bars = {key: one for key, one in self._bars.items() if one.name != name}

    def cancel(self, session: Session, token: Token) -> None:
        """``window/workDoneProgress/cancel`` of a client, for either kind of token."""
        stop = self._own.get((session, token))
        if stop is not None:
            stop()
        # A process that does not read is ended by what is sent to it, and its tokens go with it.
        for (server, name), bar in list(self._bars.items()):
            if bar.name == token and bar.session is session:
                server.notify("window/workDoneProgress/cancel", {"token": name})
        for (server, name), loan in list(self._loans.items()):
            if loan.token == token and loan.session is session:
                server.notify("window/workDoneProgress/cancel", {"token": name})

    # -- reports ----------------------------------------------------------------------------------------------

    def report(self, server: Server, params: Raw) -> bool:
        """``$/progress`` of a server. Whether a piece of its own work has just ended.

        Raises `msgspec.ValidationError` for another shape.
        """
        report = load(params, _Report)
        loan = self._loans.get((server, report.token))
        if loan is not None:
            self._pass_on(server, report, loan)
            return False
        work = _work(report.value)
        if work.kind == "begin":
            _forget_oldest(server)
            server.progress[report.token] = Progress(clean(work.title, 200), time.monotonic())
        elif work.kind == "end" and report.token in server.progress:
            server.progress[report.token].ended = time.monotonic()
        bar = self._bars.get((server, report.token))
        if bar is not None:
            bar.begun = work.kind != "end"
            bar.session.tell("$/progress", {"token": bar.name, "value": report.value})
            if work.kind == "end":
                del self._bars[(server, report.token)]
        return work.kind == "end"

    def _pass_on(self, server: Server, report: _Report, loan: _Loan) -> None:
        kind = _work(report.value).kind if loan.shape is None else ""
        value = loan.shape(report.value) if loan.shape is not None else report.value
        loan.session.tell("$/progress", {"token": loan.token, "value": value})
        loan.begun = kind in ("begin", "report")
        if loan.answered and not loan.begun:
            self._loans.pop((server, report.token), None)

    # -- ends -------------------------------------------------------------------------------------------------

    def drop(self, session: Session) -> None:
        """A client is gone."""
        self._bars = {key: bar for key, bar in self._bars.items() if bar.session is not session}
        self._loans = {key: loan for key, loan in self._loans.items() if loan.session is not session}
        self._own = {key: stop for key, stop in self._own.items() if key[0] is not session}

    def forget(self, server: Server) -> None:
        """A server's process ended: its progress ends with it, for the client that shows it too."""
        for key, bar in list(self._bars.items()):
            if key[0] is server:
                del self._bars[key]
                if bar.begun:
                    bar.session.tell("$/progress", {"token": bar.name, "value": {"kind": "end"}})
        for key, loan in list(self._loans.items()):
            if key[0] is server:
                del self._loans[key]
                if loan.begun:
                    loan.session.tell("$/progress", {"token": loan.token, "value": {"kind": "end"}})


def _work(value: Raw) -> _Work:
    """A work-done report, or an empty one for anything else."""
    try:
        return load(value, _Work)
    except msgspec.ValidationError:
        return _Work()


def _forget_oldest(server: Server) -> None:
    """Keep the newest of what has ended: servers make a token for each piece of work."""
    ended = [token for token, one in server.progress.items() if one.ended is not None]
    for token in ended[: max(0, len(ended) - MOST_ENDED)]:
        del server.progress[token]
