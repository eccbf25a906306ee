"""From a client's request to a server's answer: who is asked, in which order, and what if none can.

The verbatim lane: params and result stay the bytes they arrived as. Only the document's URI is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.downstream.link import Outcome, Settle
from ombud.downstream.methods import LISTED_BY, POLICIES, Policy
from ombud.downstream.queue import Ticket
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import METHOD_NOT_FOUND, Cancelled, ContentModified, OmbudError, PeerError, UserError
from ombud.wire.values import dump, load

NULL = Raw(b"null")


class _Uri(msgspec.Struct):
    uri: str | UnsetType = UNSET


class _Targeted(msgspec.Struct):
    textDocument: _Uri | UnsetType = UNSET  # noqa: N815  (the protocol's name)
    item: _Uri | UnsetType = UNSET
    uri: str | UnsetType = UNSET


class _Command(msgspec.Struct):
    command: str = ""


def target(params: Raw | UnsetType) -> str | None:
    """The URI that a request is about: of its document, of its hierarchy item, or its own ``uri``."""
    if isinstance(params, UnsetType):
        return None
    try:
        found = load(params, _Targeted)
    except (msgspec.ValidationError, ValueError):
        return None
    for place in (found.textDocument, found.item):
        if isinstance(place, _Uri) and isinstance(place.uri, str):
            return place.uri
    return found.uri if isinstance(found.uri, str) else None


class _Spelled(msgspec.Struct):
    uri: Raw


class _SpelledTarget(msgspec.Struct):
    textDocument: _Spelled  # noqa: N815


def _respelled(params: Raw, uri: str) -> Raw:
    """``params`` with the document's URI as its servers know it; every other byte stays.

    A hierarchy item's URI is the server's own and stays as well.
    """
    try:
        token = bytes(load(params, _SpelledTarget).textDocument.uri)
    except msgspec.ValidationError:
        return params
    return Raw(bytes(params).replace(token, dump(uri)))


class Forward:
    """One client request under way to one of several servers; answers exactly once. `cancel` works at any time."""

    def __init__(
        self,
        servers: Sequence[Server],
        method: str,
        params: Raw | UnsetType,
        settle: Settle,
        *,
        version: Callable[[], int | None] | None = None,
        chosen: Callable[[Server], None] | None = None,
        able: Callable[[Server], bool] | None = None,
        nobody: Outcome = NULL,
    ) -> None:
        self._servers = list(servers)
        self._method = method
        self._params: Any = params
        self._settle: Settle | None = settle
        self._version = version or _unversioned
        self._asked_at = self._version()
        self._chosen = chosen
        self._able = able or (lambda server: server.offers(method))
        self._nobody = nobody
        self._ticket: Ticket | None = None
        self._error: OmbudError | None = None
        self._step(None)

    def cancel(self) -> None:
        if self._ticket is not None:
            self._ticket.cancel()
        self._finish(Cancelled())

    def _step(self, before: Server | None) -> None:
        """Ask the next server that may be able; one that is still starting is asked when it is known to be."""
        while self._servers:
            server = self._servers.pop(0)
            try:
                server.need()
            except PeerError as error:
                self._error = self._error or error
                continue
            if server.state is State.READY and not self._able(server):
                continue
            ticket = server.request(
                self._method,
                self._params,
                partial(self._answered, server),
                unless=partial(self._instead, server, before is not None),
            )
            if self._settle is not None and not ticket.done:
                self._ticket = ticket
            return
        self._finish(self._error or self._nobody)

    def _instead(self, server: Server, late: bool) -> Outcome | None:
        """At the server's turn: whether it must be passed over, or was reached too late to be asked the same."""
        if not self._able(server):
            return _PASS
        if late and self._version() != self._asked_at:
            return ContentModified(f"The document changed while {server.name} was being chosen; ask again.")
        if self._chosen is not None:
            self._chosen(server)
        return None

    def _answered(self, server: Server, outcome: Outcome) -> None:
        if outcome is _PASS:
            self._step(server)
        elif isinstance(outcome, PeerError) and self._servers and not _was_asked(outcome):
            self._error = self._error or outcome
            self._step(server)
        else:
            self._finish(outcome)

    def _finish(self, outcome: Outcome) -> None:
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(outcome)


def _unversioned() -> int | None:
    return None


_PASS = PeerError("passed over", kind="passed_over")


def _was_asked(error: OmbudError) -> bool:
    """A deadline is the answer of a server that was asked; failing to start is a reason to ask the next one."""
    return error.kind == "timeout"


class Gather:
    """One request to several servers at once, their lists joined in order of priority; answers exactly once."""

    def __init__(self, servers: Sequence[Server], method: str, params: Raw | UnsetType, settle: Settle) -> None:
        self._settle: Settle | None = settle
        self._servers = list(servers)
        self._method = method
        self._parts: list[Outcome | None] = [None] * len(servers)
        self._left = len(servers)
        self._tickets: list[Ticket] = []
        if not servers:
            self._finish(NULL)
        for index, server in enumerate(servers):
            self._tickets.append(server.request(method, params, partial(self._answered, index)))

    def cancel(self) -> None:
        for ticket in self._tickets:
            ticket.cancel()
        self._finish(Cancelled())

    def _answered(self, index: int, outcome: Outcome) -> None:
        self._parts[index] = outcome
        self._left -= 1
        if self._left == 0:
            self._finish(self._join())

    def _join(self) -> Outcome:
        items: list[Raw] = []
        errors: list[Outcome] = []
        for server, part in zip(self._servers, self._parts, strict=True):
            if isinstance(part, Raw):
                try:
                    items += load(part, list[Raw] | None) or []  # type: ignore[arg-type]
                except msgspec.ValidationError:
                    text = f"{server.name} answered {self._method} with something else than a list."
                    errors.append(PeerError(text, kind="server_failed", server=server.name))
            elif part is not None:
                errors.append(part)
        if errors and not items and len(errors) == len(self._parts):
            return errors[0]
        return Raw(msgspec.json.encode(items))

    def _finish(self, outcome: Outcome) -> None:
        settle, self._settle = self._settle, None
        if settle is not None:
            settle(outcome)


Running = Forward | Gather


class Router:
    """Routing for one client. ``claimed(uri)`` are the servers of a document, ``running()`` those that run at all."""

    def __init__(
        self,
        claimed: Callable[[str], Sequence[Server]],
        running: Callable[[], Sequence[Server]],
        version: Callable[[str], int | None],
        chosen: Callable[[Server, Raw | UnsetType], None],
        spelling: Callable[[str], str],
    ) -> None:
        self._claimed = claimed
        self._running = running
        self._version = version
        self._tell_chosen = chosen
        self._spelling = spelling
        self._last: dict[str, Server] = {}

    def request(self, method: str, params: Raw | UnsetType, settle: Settle) -> Running:
        """Send a client's request on its way. ``settle`` is called exactly once, possibly before this returns."""
        policy = POLICIES.get(method, Policy.FIRST)
        if policy is Policy.COMMAND:
            return self._command(params, settle, method)
        if policy is Policy.EVERY:
            able = [server for server in self._running() if server.offers(method)]
            if able:
                self._last[method] = able[0]
            return Gather(able, method, params, settle)
        if policy is Policy.OWNER:
            owner = self._last.get(LISTED_BY[method])
            return Forward([owner] if owner is not None else [], method, params, settle)
        uri = target(params)
        if uri is None:
            return self._without_document(method, params, settle)
        if isinstance(params, Raw) and (known := self._spelling(uri)) != uri:
            params = _respelled(params, known)

        def chosen(server: Server) -> None:
            self._last[method] = server
            self._tell_chosen(server, params)

        return Forward(self._claimed(uri), method, params, settle, version=lambda: self._version(uri), chosen=chosen)

    def _command(self, params: Raw | UnsetType, settle: Settle, method: str) -> Forward:
        try:
            name = load(params, _Command).command if not isinstance(params, UnsetType) else ""
        except (msgspec.ValidationError, ValueError):
            name = ""

        def offers(server: Server) -> bool:
            return server.offers(method) and name in server.capabilities.commands

        running = list(self._running())
        owners = [server for server in running if offers(server)][:1]
        # What a server that is still starting offers is known when its turn has come.
        owners = owners or [server for server in running if server.state is State.STARTING]
        nobody = UserError(f"No running server offers the command {name!r}.", kind="not_found")
        return Forward(owners, method, params, settle, able=offers, nobody=nobody)

    def _without_document(self, method: str, params: Raw | UnsetType, settle: Settle) -> Forward:
        """A vendor's request that names no document: the one running server takes it, else nobody can tell whose."""
        running = list(self._running())
        if len(running) == 1:
            return Forward(running, method, params, settle)
        forward = Forward([], method, params, lambda _: None)
        settle(_Unknown(f"Ombud does not know the method {method!r}, and it names no document to route it by."))
        return forward


class _Unknown(OmbudError):
    code = METHOD_NOT_FOUND

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="unknown_method")
