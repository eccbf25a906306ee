"""What a server says by itself: its notifications and its own requests, each answered by the right party.

Configuration, registrations and folders are answered here. Questions for a human go to the session whose need the
server last served, if its client can; without one they get the answer that means "nobody decided".
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw

from ombud.downstream import settings
from ombud.downstream.server import Server
from ombud.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from ombud.guard.redact import clean, redact
from ombud.guard.uris import same_uri_key
from ombud.operations.tokens import Tokens
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
        self.tokens = Tokens()

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
        self.tokens.drop(session)

    def forget(self, server: Server) -> None:
        """Its process ended."""
        self.tokens.forget(server)

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
            if self.tokens.report(server, params):
                self._hub.store.wake_server(server)
        elif method in ("window/logMessage", "window/showMessage"):
            value = load(params, dict[str, Any])
            text = clean(redact(str(value.get("message", ""))), 2000).strip()
            if text.startswith(server.entry.indexed_log or "\0"):
                server.indexed.set()
            if text:
                self._tell(server, method, {**value, "message": f"{server.name}: {text}"})
        elif not method.startswith(("$/", "telemetry/")):
            self._tell(server, method, Raw(bytes(params)))

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
        bar = ""
        if method == "window/workDoneProgress/create":
            token = load(params, _Token).token
            if session is not None:
                bar = self.tokens.show(server, token, session)
                value = {"token": bar}
        if session is None:
            server.answer(identity, NOBODY[method])
            return
        process = server.child

        def answered(result: Raw | None, error: Raw | None) -> None:
            if bar and error is not None:
                # The client shows no more bars; the server's reports are still of use to `server.working_on`.
                self.tokens.hide(bar)
            if server.child is not process:
                # Another process would take it for the answer to a question of its own.
                return
            if error is not None and not bar:
                server.refuse(identity, INTERNAL_ERROR, "The client answered with an error.")
            else:
                server.answer(identity, result if result is not None else NOBODY[method])

        session.ask_client(method, value, answered)
