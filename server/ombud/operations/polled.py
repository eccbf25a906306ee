"""Pulls of a whole workspace (``workspace/diagnostic``, LSP 3.17) for one client.

A server may hold such a request open until it has something to say, and clients ask again after each answer. So a
request that one server has answered does not wait for another that holds its own: that one stays open, and is part of
the client's next request. With one server its answers go back as they came.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, UnsetType

from ombud.diagnostics.pull import identifier_of
from ombud.diagnostics.report import WORKSPACE, Entry, Previous, bundle, entry, read_workspace, unbundle
from ombud.downstream.forward import PASS
from ombud.downstream.link import Outcome, ServerError, Settle
from ombud.downstream.queue import Ticket
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import UserError
from ombud.guard.uris import same_uri_key
from ombud.operations.asking import Asking
from ombud.operations.tokens import NAMES
from ombud.wire.values import dump, load

if TYPE_CHECKING:
    from ombud.operations.session import Session

_NOTHING = Raw(b'{"items":[]}')


class _Asked(msgspec.Struct):
    previousResultIds: list[Previous] = []  # noqa: N815  (the protocol's name)


@dataclass(slots=True, eq=False)
class _Poll:
    """One server's open or answered request. ``sweep`` is the client's request that it belongs to at present."""

    server: Server
    ticket: Ticket | None = None
    outcome: Outcome | None = None
    sweep: _Sweep | None = None


@dataclass(slots=True)
class _Said:
    """What a server last said of a document: kept where several are joined, since a client keeps one report a file."""

    result: str | None
    items: tuple[Raw, ...]


@dataclass(slots=True, eq=False)
class _Sweep:
    """One request of the client."""

    asking: Asking
    polls: list[_Poll]
    timer: asyncio.TimerHandle | None = None


class Polled:
    """See the module. One for each session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kept: dict[Server, _Poll] = {}
        self._said: dict[Server, dict[str, _Said]] = {}
        self._asked: set[Server] = set()

    def asks(self, server: Server) -> bool:
        """Whether the client pulls workspace reports of this server."""
        return server in self._asked

    def close(self) -> None:
        kept, self._kept = self._kept, {}
        for poll in kept.values():
            _end(poll)

    # -- asking -----------------------------------------------------------------------------------------------

    def request(self, params: Raw | UnsetType, settle: Settle) -> Asking:
        """A client's request; ``settle`` is called exactly once, possibly before this returns."""
        sweep = _Sweep(Asking(settle, lambda _: self._over(sweep)), [])
        try:
            previous = load(params if isinstance(params, Raw) else b"{}", _Asked).previousResultIds
        except (msgspec.ValidationError, ValueError) as error:
            sweep.asking.finish(UserError(f"The params of {WORKSPACE} have another shape: {error}."))
            return sweep.asking
        servers = self._servers()
        self._drop_others(servers)
        sweep.asking.until(partial(self._stop, sweep))
        sweep.polls = [self._kept.pop(server) if server in self._kept else _Poll(server) for server in servers]
        for poll in sweep.polls:
            poll.sweep = sweep
        for poll in sweep.polls:
            if poll.ticket is None and not sweep.asking.done:
                self._ask(poll, params, previous, alone=len(servers) == 1)
        self._look(sweep)
        return sweep.asking

    def _servers(self) -> list[Server]:
        """Those that can be asked; failing any, those that may turn out to be."""
        running = [one for one in self._session.running() if one.entry.serves("diagnostics")]
        able = [one for one in running if one.state is State.READY and one.offers(WORKSPACE)]
        return able or [one for one in running if one.state is State.STARTING]

    def _ask(self, poll: _Poll, params: Raw | UnsetType, previous: Iterable[Previous], *, alone: bool) -> None:
        server = poll.server
        self._asked.add(server)
        fields: dict[str, Any] = dict(load(params, dict[str, Raw])) if isinstance(params, Raw) else {}
        # The client's identifier is ours; what else it says, and the specification does not know, is the servers'.
        fields.pop("identifier", None)
        if not alone:
            for token in NAMES:
                fields.pop(token, None)
        fields["previousResultIds"] = self._ids_for(server, previous, alone=alone)
        identifier = identifier_of(server)
        if identifier is not None:
            fields["identifier"] = identifier
        question, give_back = self._session.lend(server, Raw(dump(fields)), None)
        poll.ticket = server.request(
            WORKSPACE,
            question,
            partial(self._heard, poll, give_back),
            timeout=math.inf,
            unless=partial(self._unless, server),
        )

    def _unless(self, server: Server) -> Outcome | None:
        if not server.offers(WORKSPACE):
            return PASS
        self._session.chosen(server)
        return None

    def _ids_for(self, server: Server, previous: Iterable[Previous], *, alone: bool) -> list[dict[str, str]]:
        """The server's own result ids among those that the client has, for documents that it still knows of."""
        known = self._said.get(server, {})
        ids = []
        for one in previous:
            parts = unbundle(one.value)
            own = (one.value if alone else None) if parts is None else parts.get(server.tag)
            if own is not None and (parts is None or alone or same_uri_key(one.uri) in known):
                ids.append({"uri": self._session.spelling(one.uri), "value": own})
        return ids

    # -- hearing ----------------------------------------------------------------------------------------------

    def _heard(self, poll: _Poll, give_back: Callable[[], None] | None, outcome: Outcome) -> None:
        if give_back is not None:
            give_back()
        poll.outcome = outcome
        if poll.sweep is not None:
            self._look(poll.sweep)
        elif self._kept.get(poll.server) is poll and not isinstance(outcome, Raw):
            # Its process has gone; the next request asks the next one.
            del self._kept[poll.server]

    def _look(self, sweep: _Sweep) -> None:
        """Answer when all have; or some time after one had something to say, without those that hold theirs open."""
        if sweep.asking.done:
            return
        if all(poll.outcome is not None for poll in sweep.polls):
            self._answer(sweep)
        elif sweep.timer is None and any(_says_something(poll) for poll in sweep.polls):
            seconds = self._session.configuration.diagnostics.wait_ms / 1000
            sweep.timer = asyncio.get_running_loop().call_later(seconds, self._answer, sweep)

    def _answer(self, sweep: _Sweep) -> None:
        done = [poll for poll in sweep.polls if poll.outcome is not None]
        reports = [poll for poll in done if isinstance(poll.outcome, Raw)]
        if len(sweep.polls) == 1 and reports:
            self._said.pop(reports[0].server, None)
            sweep.asking.finish(self._numbered(reports[0]))
            return
        # A server that was stopped or has crashed has nothing to say; an error would make editors stop asking for good.
        errors = [poll.outcome for poll in done if isinstance(poll.outcome, ServerError)]
        if errors and not reports:
            sweep.asking.finish(errors[0])
        else:
            sweep.asking.finish(self._joined(reports) if reports else _NOTHING)

    def _over(self, sweep: _Sweep) -> None:
        """The client has its answer; what is still open is kept for its next request."""
        if sweep.timer is not None:
            sweep.timer.cancel()
        for poll in sweep.polls:
            poll.sweep = None
            if poll.outcome is None and poll.server not in self._kept:
                self._kept[poll.server] = poll

    def _stop(self, sweep: _Sweep) -> None:
        """The client has cancelled: nothing is kept."""
        for poll in sweep.polls:
            if self._kept.get(poll.server) is poll:
                del self._kept[poll.server]
            _end(poll)

    def _drop_others(self, servers: Sequence[Server]) -> None:
        for server in [one for one in self._kept if one not in servers]:
            _end(self._kept.pop(server))
        alive = self._session.hub.supervisor.all()
        self._asked.intersection_update(alive)
        self._said = {server: said for server, said in self._said.items() if server in alive}

    # -- joining ----------------------------------------------------------------------------------------------

    def _numbered(self, poll: _Poll) -> Raw:
        """A lone server's report, with the client's own version numbers where they differ from the hub's."""
        raw = poll.outcome
        assert isinstance(raw, Raw)
        try:
            entries = read_workspace(raw)
        except (msgspec.ValidationError, ValueError):
            return raw
        versions = [self._version(one) for one in entries]
        if versions == [one.version for one in entries]:
            return raw
        numbered = [
            entry(one.uri, version, one.resultId, one.diagnostics)
            for one, version in zip(entries, versions, strict=True)
        ]
        return Raw(dump({"items": numbered}))

    def _version(self, one: Entry) -> int | None:
        document = self._session.hub.documents.get(one.uri)
        if one.version is None or document is None:
            return one.version
        return document.version_of(self._session, one.version)

    def _joined(self, polls: Sequence[_Poll]) -> Raw:
        """One entry for each document that a server has said something new of, with what the others said last."""
        touched: dict[str, tuple[str, int | None, bool]] = {}
        for poll in polls:
            assert isinstance(poll.outcome, Raw)
            try:
                entries = read_workspace(poll.outcome)
            except (msgspec.ValidationError, ValueError):
                # One server's nonsense spoils nothing of the others'.
                continue
            said = self._said.setdefault(poll.server, {})
            for one in entries:
                key, items = same_uri_key(one.uri), one.diagnostics
                if items is None and key not in said:
                    continue
                former = touched.get(key)
                new = items is not None or (former is not None and former[2])
                touched[key] = (one.uri, self._version(one), new)
                said[key] = _Said(one.resultId, said[key].items if items is None else items)
        return Raw(dump({"items": [self._entry(key, *about) for key, about in touched.items()]}))

    def _entry(self, key: str, uri: str, version: int | None, new: bool) -> dict[str, object]:
        order = sorted(self._said, key=lambda server: server.entry.priority)
        parts = [(server.tag, self._said[server][key]) for server in order if key in self._said[server]]
        result = bundle([(tag, said.result) for tag, said in parts if said.result is not None])
        items = [raw for _, said in parts for raw in said.items]
        return entry(uri, version, result, items if new or result is None else None)


def _says_something(poll: _Poll) -> bool:
    """Whether a server's report changes anything for the client."""
    if not isinstance(poll.outcome, Raw):
        return False
    try:
        return any(one.diagnostics is not None for one in read_workspace(poll.outcome))
    except (msgspec.ValidationError, ValueError):
        return False


def _end(poll: _Poll) -> None:
    poll.sweep = None
    if poll.ticket is not None:
        poll.ticket.cancel()
