"""What a server says by itself: its notifications and its own requests, each answered by the right party.

Configuration, registrations and folders are answered here. Questions for a human go to the session whose need the
server last served, if its client can; without one they get the answer that means "nobody decided".
"""

from __future__ import annotations

import itertools
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from ombud.downstream import settings
from ombud.downstream.server import Server
from ombud.downstream.states import Progress
from ombud.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from ombud.guard.redact import clean, redact
from ombud.guard.uris import same_uri_key
from ombud.wire.envelope import Id, Message
from ombud.wire.values import load, load_any

if TYPE_CHECKING:
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.asks")

NOBODY: dict[str, Any] = {
    "window/showMessageRequest": None,
    "window/showDocument": {"success": False},
    "window/workDoneProgress/create": None,
    "workspace/applyEdit": {"applied": False, "failureReason": "No client that can apply edits is connected."},
    "workspace/codeLens/refresh": None,
    "workspace/semanticTokens/refresh": None,
    "workspace/inlayHint/refresh": None,
    "workspace/inlineValue/refresh": None,
    "workspace/foldingRange/refresh": None,
}
"""The requests that a client answers, and what a server hears when none can."""

NEEDS: dict[str, str] = {
    "window/showDocument": "window.showDocument.support",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "workspace/applyEdit": "workspace.applyEdit",
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/semanticTokens/refresh": "workspace.semanticTokens.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/inlineValue/refresh": "workspace.inlineValue.refreshSupport",
    "workspace/foldingRange/refresh": "workspace.foldingRange.refreshSupport",
}
"""The client capability without which a request is not passed on."""


MOST_ENDED = 64
"""Pieces of work of a server that are remembered after their end."""
MOST_LENT = 512
"""Progress tokens of clients' requests that are kept, the newest ones."""


@dataclass(slots=True, eq=False)
class _Bar:
    """A progress that a server created and one client shows, by the name that we gave its token."""

    name: str
    session: Session
    begun: bool = False


def _forget_oldest(server: Server) -> None:
    """Keep the newest of what has ended: servers make a token for each piece of work."""
    ended = [token for token, one in server.progress.items() if one.ended is not None]
    for token in ended[: max(0, len(ended) - MOST_ENDED)]:
        del server.progress[token]


class _Token(msgspec.Struct):
    token: int | str


class _Published(msgspec.Struct):
    uri: str
    diagnostics: list[Raw] = []
    version: int | None = None


class _Registration(msgspec.Struct):
    id: str
    method: str
    registerOptions: dict[str, Any] | None = None  # noqa: N815  (the protocol's name)


class _Registrations(msgspec.Struct):
    registrations: list[_Registration] = []


class _Unregistrations(msgspec.Struct):
    # The specification's own spelling, mistake included.
    unregisterations: list[_Registration] = []


class Asks:
    """See the module. One for the hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.users: dict[Server, list[Session]] = {}
        """Server → the sessions it works for, the one served last at the end."""
        self._numbers = itertools.count(1)
        self._bars: dict[tuple[Server, int | str], _Bar] = {}
        self._given: dict[tuple[Server, int | str], Session] = {}

    def used_by(self, server: Server, session: Session) -> None:
        users = self.users.setdefault(server, [])
        if not users or users[-1] is not session:
            if session in users:
                users.remove(session)
            users.append(session)

    def drop(self, session: Session) -> None:
        for users in self.users.values():
            if session in users:
                users.remove(session)
        self._bars = {key: bar for key, bar in self._bars.items() if bar.session is not session}
        self._given = {key: who for key, who in self._given.items() if who is not session}

    def forget(self, server: Server) -> None:
        """Its process ended: its progress ends with it, for the client that shows it too."""
        for key, bar in list(self._bars.items()):
            if key[0] is server:
                del self._bars[key]
                if bar.begun:
                    bar.session.tell("$/progress", {"token": bar.name, "value": {"kind": "end"}})
        self._given = {key: who for key, who in self._given.items() if key[0] is not server}

    def lend_token(self, server: Server, token: int | str, session: Session) -> None:
        """A client gave this progress token with a request: reports of it go back to that client."""
        self._given.pop((server, token), None)
        self._given[(server, token)] = session
        if len(self._given) > MOST_LENT:
            # Most are never reported on, and nothing says when a request's token has done its service.
            del self._given[next(iter(self._given))]

    def cancel_progress(self, name: int | str) -> None:
        """``window/workDoneProgress/cancel`` of a client, for a progress that a server had created."""
        for (server, token), bar in self._bars.items():
            if bar.name == name:
                server.notify("window/workDoneProgress/cancel", {"token": token})

    def take(self, server: Server, message: Message) -> None:
        assert isinstance(message.method, str)
        params = message.params if isinstance(message.params, Raw) else Raw(b"null")
        try:
            if message.id is UNSET:
                self._heard(server, message.method, params)
            elif isinstance(message.id, int | str):
                self._asked(server, message.id, message.method, params)
        except (msgspec.ValidationError, ValueError) as error:
            if isinstance(message.id, int | str):
                server.refuse(message.id, INVALID_PARAMS, f"The params of {message.method} have another shape: {error}")
        except Exception:
            # A message's boundary: a server that waits for an answer gets one, whatever it has asked.
            LOG.exception("the message %s of %s could not be handled", message.method, server.name)
            if isinstance(message.id, int | str):
                server.refuse(message.id, INTERNAL_ERROR, f"Ombud could not handle {message.method}; its log says why.")

    # -- notifications ----------------------------------------------------------------------------------------

    def _heard(self, server: Server, method: str, params: Raw) -> None:
        if method == "textDocument/publishDiagnostics":
            published = load(params, _Published)
            items = tuple(Raw(bytes(item)) for item in published.diagnostics)
            self._hub.store.push(server, same_uri_key(published.uri), published.version, items)
        elif method == "$/progress":
            self._progress(server, params)
        elif method in ("window/logMessage", "window/showMessage"):
            value = load(params, dict[str, Any])
            text = clean(redact(str(value.get("message", ""))), 2000).strip()
            if text.startswith(server.entry.indexed_log or "\0"):
                server.indexed.set()
            if text:
                self._tell(server, method, {**value, "message": f"{server.name}: {text}"})
        elif not method.startswith(("$/", "telemetry/")):
            self._tell(server, method, Raw(bytes(params)))

    def _progress(self, server: Server, params: Raw) -> None:
        value = load(params, dict[str, Any])
        token, report = value.get("token"), value.get("value")
        if not isinstance(token, int | str):
            return
        kind = report.get("kind") if isinstance(report, dict) else None
        if (server, token) in self._given:
            session = self._given[(server, token)]
            session.tell("$/progress", Raw(bytes(params)))
            if kind == "end":
                del self._given[(server, token)]
            return
        if kind == "begin":
            assert isinstance(report, dict)
            _forget_oldest(server)
            server.progress[token] = Progress(clean(str(report.get("title", "working")), 200), time.monotonic())
        elif kind == "end":
            if token in server.progress:
                server.progress[token].ended = time.monotonic()
            self._hub.store.wake_server(server)
        bar = self._bars.get((server, token))
        if bar is not None:
            bar.begun = kind != "end"
            bar.session.tell("$/progress", {"token": bar.name, "value": report})
            if kind == "end":
                del self._bars[(server, token)]

    def _tell(self, server: Server, method: str, params: Any) -> None:
        for session in self.users.get(server, []):
            session.tell(method, params)

    # -- requests ---------------------------------------------------------------------------------------------

    def _asked(self, server: Server, identity: Id, method: str, params: Raw) -> None:
        if method == "workspace/configuration":
            server.answer(identity, settings.answer(server.settings, load_any(params)))
            server.configured()
        elif method == "client/registerCapability":
            for one in load(params, _Registrations).registrations:
                server.capabilities.register(one.id, one.method, one.registerOptions)
            server.answer(identity, None)
            self._hub.store.wake_server(server)
            for document in self._hub.documents.all():
                if server in self._hub.servers_of(document.uri):
                    self._hub.pull_soon(document.key)
        elif method == "client/unregisterCapability":
            for gone in load(params, _Unregistrations).unregisterations:
                server.capabilities.unregister(gone.id)
            server.answer(identity, None)
        elif method == "workspace/workspaceFolders":
            server.answer(identity, [{"uri": server.root_uri, "name": server.root.name or str(server.root)}])
        elif method == "workspace/diagnostic/refresh":
            server.answer(identity, None)
            self._hub.repull(server)
        elif method in NOBODY:
            self._pass_on(server, identity, method, params)
        else:
            server.refuse(identity, METHOD_NOT_FOUND, f"Ombud does not know the method {method!r}.")

    def _pass_on(self, server: Server, identity: Id, method: str, params: Raw) -> None:
        session = next(
            (one for one in reversed(self.users.get(server, [])) if method not in NEEDS or one.can(NEEDS[method])), None
        )
        value: Any = Raw(bytes(params))
        bar: _Bar | None = None
        if method == "window/workDoneProgress/create":
            token = load(params, _Token).token
            if session is not None:
                bar = _Bar(f"ombud/{server.name}/{next(self._numbers)}", session)
                self._bars[(server, token)] = bar
                value = {"token": bar.name}
        if session is None:
            server.answer(identity, NOBODY[method])
            return
        process = server.child

        def answered(result: Raw | None, error: Raw | None) -> None:
            if bar is not None and error is not None:
                # The client shows no more bars; the server's reports are still of use to `server.working_on`.
                self._bars = {key: one for key, one in self._bars.items() if one is not bar}
            if server.child is not process:
                # Another process would take it for the answer to a question of its own.
                return
            if error is not None and bar is None:
                server.refuse(identity, INTERNAL_ERROR, "The client answered with an error.")
            else:
                server.answer(identity, result if result is not None else NOBODY[method])

        session.ask_client(method, value, answered)
