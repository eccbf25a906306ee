"""Whose configuration a shared server has, and the answers to what it asks about it.

A server that several sessions need works with the configuration of the one that needed it first, until that one
leaves: two clients would else take turns in changing it. Then it is the configuration of the next one.

What a server asks for with ``workspace/configuration`` is passed on to that session's client, where it can answer, and
joined with what is known here (see `ombud.downstream.settings`). A client that stays silent holds no server up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from msgspec import Raw

from ombud.downstream import settings
from ombud.operations.configured import ASK, CHANGED, spoken
from ombud.wire.values import load_any

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected
    from ombud.downstream.server import Server
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session
    from ombud.wire.envelope import Id

CLIENT_SECONDS = 1.5
"""How long a client may take to answer before a server is answered without it; less than servers are held back for."""


class Settling:
    """See the module. One for the hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._owners: WeakKeyDictionary[Server, Session] = WeakKeyDictionary()
        self._asked: WeakKeyDictionary[Server, set[str]] = WeakKeyDictionary()
        self._passed: WeakSet[Server] = WeakSet()
        """The servers whose questions have gone to a client."""

    # -- whose it is ------------------------------------------------------------------------------------------

    def owner(self, server: Server) -> Session | None:
        """The session whose configuration the server has."""
        return self._owners.get(server)

    def met(self, server: Server, session: Session, found: Detected) -> None:
        """A session needs the server; the first one makes its configuration."""
        if server not in self._owners:
            self._owners[server] = session
            session.configured.update(server, found)

    def leave(self, server: Server, session: Session) -> None:
        """A session works with the server no more: the next one's configuration counts."""
        users = self._hub.asks.users.get(server, [])
        if session in users:
            users.remove(session)
        if self._owners.get(server) is not session:
            return
        del self._owners[server]
        if users:
            heir = self._owners[server] = users[0]
            found = heir.detector.again(server.name, server.root)
            if found is not None:
                heir.configured.update(server, found)

    def drop(self, session: Session) -> None:
        """A session is gone."""
        for server in [server for server, owner in self._owners.items() if owner is session]:
            self.leave(server, session)

    # -- what it asks -----------------------------------------------------------------------------------------

    def asked_by(self, server: Server) -> frozenset[str]:
        """The sections that the server has asked for so far."""
        return frozenset(self._asked.get(server, ()))

    def changed(self, session: Session) -> None:
        """A client's settings have changed and it wants to be asked: so do the servers that asked it before."""
        for server in list(self._passed):
            if self._owners.get(server) is session:
                server.notify(CHANGED, {"settings": server.settings})

    def answer(self, server: Server, identity: Id, params: Any) -> None:
        """``workspace/configuration``: answered at once, or when the client has answered."""
        names = settings.names(params)
        known = self._asked.setdefault(server, set())
        new = {name for name in names if name} - known
        known |= new
        owner = self._owners.get(server)
        if owner is not None and new:
            server.settings = owner.configured.settings_for(server)
        items = [(index, item) for index, item in enumerate(_items(params)) if names[index]]
        if owner is None or not items or not owner.can("workspace.configuration"):
            self._give(server, identity, settings.answer(server.settings, params))
            return
        self._passed.add(server)
        owner.configured.follow()
        self._pass_on(server, identity, owner, names, items)

    def _pass_on(
        self, server: Server, identity: Id, owner: Session, names: list[str | None], items: list[tuple[int, Any]]
    ) -> None:
        process = server.child
        open_ = True

        def finish(values: Any) -> None:
            nonlocal open_
            if not open_:
                return
            open_ = False
            timer.cancel()
            # Another process would take it for the answer to a question of its own.
            if server.child is process:
                theirs = _placed(values, [index for index, _ in items], names)
                kept = owner.configured.explicit(server)
                values = settings.answered(server.settings, kept, names, theirs)
                safe = [owner.configured.guarded_as(server, *pair) for pair in zip(names, values, strict=True)]
                self._give(server, identity, safe)

        def answered(result: Raw | None, _error: Raw | None) -> None:
            finish(load_any(result) if result is not None else None)

        timer = asyncio.get_running_loop().call_later(CLIENT_SECONDS, finish, None)
        owner.ask_client(ASK, {"items": [item for _, item in items]}, answered)

    def _give(self, server: Server, identity: Id, values: list[Any]) -> None:
        assert isinstance(identity, int | str)
        server.answer(identity, values)
        server.configured()


def _items(params: Any) -> list[Any]:
    items = params.get("items") if isinstance(params, Mapping) else None
    return items if isinstance(items, list) else []


def _placed(values: Any, places: list[int], names: list[str | None]) -> list[Any]:
    """A client's answers at the places of the server's items; null where the client was not asked."""
    out: list[Any] = [None] * len(names)
    for place, value in zip(places, values if isinstance(values, list) else [], strict=False):
        name = names[place]
        out[place] = spoken({"python": value})["python"] if name == "python" else value
    return out
