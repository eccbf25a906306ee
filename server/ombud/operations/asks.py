"""What a server says by itself: its notifications and its own requests, each answered by the right party.

Configuration, registrations and folders are answered here. Questions for a human go to the session whose need the
server last served, if its client can; without one they get the answer that means "nobody decided".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.downstream.server import Server
from ombud.errors import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND
from ombud.guard.redact import clean, redact
from ombud.guard.uris import same_uri_key
from ombud.operations import tsserver
from ombud.operations.editing import Editing
from ombud.operations.tokens import Tokens
from ombud.operations.versions import EDITING, of_client
from ombud.wire.envelope import Id, Message
from ombud.wire.values import NULL, load, load_any

if TYPE_CHECKING:
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.asks")

NOBODY: dict[str, Any] = {
    "window/showMessageRequest": None,
    "window/showDocument": {"success": False},
    "workspace/applyEdit": {"applied": False, "failureReason": "No client that can apply edits is connected."},
}
"""The questions of LSP 3.17 that a client answers, and what a server hears when none can."""

REFRESHES: dict[str, str] = {
    "workspace/codeLens/refresh": "workspace.codeLens.refreshSupport",
    "workspace/semanticTokens/refresh": "workspace.semanticTokens.refreshSupport",
    "workspace/inlayHint/refresh": "workspace.inlayHint.refreshSupport",
    "workspace/inlineValue/refresh": "workspace.inlineValue.refreshSupport",
    "workspace/foldingRange/refresh": "workspace.foldingRange.refreshSupport",
    "workspace/diagnostic/refresh": "workspace.diagnostics.refreshSupport",
}
"""The refreshes, and the client capability that each needs."""

NEEDS: dict[str, str] = {
    "window/showDocument": "window.showDocument.support",
    "window/workDoneProgress/create": "window.workDoneProgress",
    "workspace/applyEdit": "workspace.applyEdit",
    **REFRESHES,
}
"""The client capability without which a request is not passed on."""


SILENT_SECONDS = 5.0
"""How long a client may take to say that it shows progress, before the server goes on and nobody is shown any."""
VENDOR_SECONDS = 10.0
"""How long a client may take to answer a question that the specification does not know."""


@dataclass(slots=True, eq=False)
class _Question:
    """A server's question that a client has yet to answer, and the id under which it was asked."""

    session: Session
    asked: str = ""
    late: asyncio.TimerHandle | None = None


class _Cancelled(msgspec.Struct):
    id: int | str


class _Token(msgspec.Struct):
    token: int | str


class _Published(msgspec.Struct):
    uri: str
    diagnostics: list[Raw] = []
    version: int | None = None


class _FileStatus(msgspec.Struct):
    uri: str
    state: str = ""


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
        self.users: WeakKeyDictionary[Server, list[Session]] = WeakKeyDictionary()
        """Server → the sessions it works for, the one served last at the end. A reload makes new servers."""
        self.tokens = Tokens()
        self.editing = Editing(hub)
        self._commanding: WeakKeyDictionary[Server, list[Session]] = WeakKeyDictionary()
        """Server → the sessions whose commands it is carrying out, the newest at the end."""
        self._answers: dict[str, Callable[[Server, Id, Raw], None]] = {
            "workspace/configuration": self._configuration,
            "client/registerCapability": self._register,
            "client/unregisterCapability": self._unregister,
            "workspace/workspaceFolders": self._folders,
            "window/workDoneProgress/create": self._progress,
        }
        """The questions that are answered here."""
        self._open: dict[tuple[Server, Id], _Question] = {}
        """The questions of servers that a client has yet to answer."""

    def used_by(self, server: Server, session: Session) -> None:
        """``server`` works for ``session``, which is the one that it serves last."""
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
        """Its process ended: what a client answers to its questions from now on is for nobody."""
        for key in [key for key in self._open if key[0] is server]:
            question = self._open.pop(key)
            if question.late is not None:
                question.late.cancel()
        self.tokens.forget(server)

    def commanded(self, server: Server, session: Session) -> Callable[[], None]:
        """``server`` carries out a command for ``session``; what is returned says that it has answered."""
        carried = self._commanding.setdefault(server, [])
        carried.append(session)

        def done() -> None:
            carried.remove(session)

        return done

    def _party(self, server: Server, method: str) -> Session | None:
        """Who is asked: whoever gave the command that is being carried out, else the one served last; if it can."""
        needed = NEEDS.get(method)
        return next((one for one in self._candidates(server) if needed is None or one.can(needed)), None)

    def _served(self, server: Server) -> Session | None:
        """Who gave the command that is being carried out, else the one served last, whatever its client can."""
        return next(iter(self._candidates(server)), None)

    def _candidates(self, server: Server) -> list[Session]:
        return [*self.users.get(server, []), *self._commanding.get(server, [])][::-1]

    def take(self, server: Server, message: Message) -> None:
        """A notification or a request of ``server``; each request is answered, whatever is wrong with it."""
        assert isinstance(message.method, str)
        params = message.params if isinstance(message.params, Raw) else NULL
        try:
            if message.id is UNSET:
                self._heard(server, message.method, params)
            elif isinstance(message.id, int | str):
                self._asked(server, message.id, message.method, message.params, params)
        except (msgspec.ValidationError, ValueError) as error:
            if isinstance(message.id, int | str):
                text = f"The params of {message.method} have another shape: {error}"
                server.refuse(message.id, _error(INVALID_PARAMS, text))
        except Exception:
            # A message's boundary: a server that waits for an answer gets one, whatever it has asked.
            LOG.exception("the message %s of %s could not be handled", message.method, server.name)
            if isinstance(message.id, int | str):
                text = f"Ombud could not handle {message.method}; its log says why."
                server.refuse(message.id, _error(INTERNAL_ERROR, text))

    # -- notifications ----------------------------------------------------------------------------------------

    def _heard(self, server: Server, method: str, params: Raw) -> None:
        if method == "textDocument/publishDiagnostics":
            if not server.entry.serves("diagnostics"):
                return
            published = load(params, _Published)
            items = tuple(Raw(bytes(item)) for item in published.diagnostics)
            self._hub.store.push(server, same_uri_key(published.uri), published.version, items)
        elif method == server.entry.diagnostics.file_status:
            # Asked for by us, and no business of clients that did not.
            status = load(params, _FileStatus)
            self._hub.store.status(server, same_uri_key(status.uri), idle=status.state == "idle")
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
        elif method == tsserver.REQUEST:
            tsserver.carry(self._hub, server, params)
        elif method == "$/cancelRequest":
            self._cancelled(server, load(params, _Cancelled).id)
        else:
            self._tell(server, method, Raw(bytes(params)))

    def _tell(self, server: Server, method: str, params: Any) -> None:
        for session in self.users.get(server, []):
            session.tell(method, params)

    # -- requests ---------------------------------------------------------------------------------------------

    def _asked(self, server: Server, identity: Id, method: str, whole: Raw | UnsetType, params: Raw) -> None:
        own = self._answers.get(method)
        if own is not None:
            own(server, identity, params)
        elif method in REFRESHES:
            # Every client that sees something of this server asks again.
            server.answer(identity, None)
            if method == "workspace/diagnostic/refresh":
                self._hub.repull(server)
            else:
                for session in self.users.get(server, []):
                    session.refresh(method)
        else:
            self._pass_on(server, identity, method, whole)

    def _configuration(self, server: Server, identity: Id, params: Raw) -> None:
        self._hub.settling.answer(server, identity, load_any(params))

    def _register(self, server: Server, identity: Id, params: Raw) -> None:
        for one in load(params, _Registrations).registrations:
            server.capabilities.register(one.id, one.method, one.registerOptions)
        server.answer(identity, None)
        self._hub.watch.server_changed(server)
        self._hub.server_registered(server)
        self._hub.store.wake_server(server)
        for document in self._hub.documents.all():
            if server in self._hub.servers_of(document.uri):
                self._hub.pull_soon(document.key)

    def _unregister(self, server: Server, identity: Id, params: Raw) -> None:
        for gone in load(params, _Unregistrations).unregisterations:
            server.capabilities.unregister(gone.id)
        server.answer(identity, None)
        self._hub.watch.server_changed(server)
        self._hub.server_registered(server)

    def _folders(self, server: Server, identity: Id, _params: Raw) -> None:
        server.answer(identity, [{"uri": server.root_uri, "name": server.root.name or str(server.root)}])

    def _progress(self, server: Server, identity: Id, params: Raw) -> None:
        """A server reports on its own work: one client shows it. What is said is of use to `Server.working_on` too."""
        token = load(params, _Token).token
        session = self._party(server, "window/workDoneProgress/create")
        if session is None:
            server.answer(identity, None)
            return
        bar, process = self.tokens.show(server, token, session), server.child
        waits = True

        def answer(*, shown: bool) -> None:
            nonlocal waits
            if not waits:
                return
            waits = False
            if not shown:
                self.tokens.hide(bar)
            if server.child is process:
                server.answer(identity, None)

        def answered(_result: Raw | None, error: Raw | None) -> None:
            late.cancel()
            answer(shown=error is None)

        # The server's other clients do not wait for one that stays silent.
        late = asyncio.get_running_loop().call_later(SILENT_SECONDS, partial(answer, shown=False))
        session.ask_client("window/workDoneProgress/create", {"token": bar}, answered)

    def _pass_on(self, server: Server, identity: Id, method: str, params: Raw | UnsetType) -> None:
        """A question that is a client's to answer. A vendor's that no client can answer is a method unknown."""
        session = self._party(server, method)
        if method == "workspace/applyEdit":
            if (carried := self._commanding.get(server)) and session is not carried[-1]:
                # What one client has asked for is not another's to write into its buffers.
                session = None
            served = self._served(server)
            whole = params if isinstance(params, Raw) else NULL
            if self.editing.take(server, identity, whole, served, able=session is not None):
                return
        if session is None:
            self._nobody(server, identity, method)
            return
        key, question = (server, identity), _Question(session)

        def answered(result: Raw | None, error: Raw | None) -> None:
            if question.late is not None:
                question.late.cancel()
            if self._open.get(key) is not question:
                # Another process would take it for the answer to a question of its own.
                return
            del self._open[key]
            if error is not None:
                server.refuse(identity, error)
            elif result is None:
                self._nobody(server, identity, method)
            else:
                server.answer(identity, result)

        if method not in NOBODY:
            # A client that does not know a vendor's method may leave it unanswered.
            loop = asyncio.get_running_loop()
            question.late = loop.call_later(VENDOR_SECONDS, answered, None, None)
        told: Any = params
        if isinstance(params, Raw):
            told = of_client(session, params) if method in EDITING else Raw(bytes(params))
        # Noted before it is asked: a client that is just leaving answers at once.
        self._open[key] = question
        question.asked = session.ask_client(method, told, answered)

    def _nobody(self, server: Server, identity: Id, method: str) -> None:
        if method in NOBODY:
            server.answer(identity, NOBODY[method])
        else:
            text = f"Ombud does not know the method {method!r}, and no client is there to ask."
            server.refuse(identity, _error(METHOD_NOT_FOUND, text))

    def _cancelled(self, server: Server, identity: Id) -> None:
        """A server does not want the answer to its question any more; the client's answer still ends it."""
        question = self._open.get((server, identity))
        if question is not None:
            question.session.tell("$/cancelRequest", {"id": question.asked})


def _error(code: int, message: str) -> dict[str, Any]:
    return {"code": code, "message": message}
