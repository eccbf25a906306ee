"""One client's connection: bytes in, the handshake, and each message to its lane.

This front answers ``initialize`` by itself, forwards what belongs to servers as bytes (the verbatim lane), keeps the
open documents, and hands our own methods to the own lane, where pygls runs them. Each request gets exactly one
answer, whatever happens to servers, handlers or the connection (architecture.md, decision 7).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    REQUEST_FAILED,
    SERVER_NOT_INITIALIZED,
    OmbudError,
    UserError,
)
from ombud.faces.lsp.heavy import LIGHT, Heavy
from ombud.faces.lsp.outbox import Outbox, Transport
from ombud.faces.lsp.welcome import initialize_result
from ombud.operations.folders import Folder, paths_of
from ombud.wire import envelope
from ombud.wire.envelope import BodyError, Id, Message
from ombud.wire.framing import Framer, FramingError, frame
from ombud.wire.values import load

if TYPE_CHECKING:
    from ombud.downstream.link import Outcome
    from ombud.downstream.router import Running
    from ombud.faces.lsp.own import OwnLane
    from ombud.operations.session import Answered, Session

LOG = logging.getLogger("ombud.lsp")
EARLY_BYTES = 1 << 20
"""How much a client that has yet to be admitted may send: it may be another user's."""
MOST_OPEN = 10_000
"""How many requests of one client may be open at once."""


class _Cancel(msgspec.Struct):
    id: int | str


class _ClientInfo(msgspec.Struct):
    name: str = "a client"
    version: str | None = None


class Initialize(msgspec.Struct):
    """The parts of ``InitializeParams`` that are read; a client that sends null for one is not wrong."""

    processId: int | None = None  # noqa: N815  (the protocol's name)
    clientInfo: _ClientInfo | None = None  # noqa: N815
    rootPath: str | None = None  # noqa: N815
    rootUri: str | None = None  # noqa: N815
    workspaceFolders: list[Folder] | None = None  # noqa: N815
    capabilities: dict[str, Any] | None = None
    initializationOptions: Any = None  # noqa: N815
    locale: str | None = None
    trace: str | None = None


class Connection:
    """See the module. ``welcome`` makes the session; ``on_end(code)`` is called once, when the connection is over.

    ``admit`` may refuse a client with an error, before it has a session.
    """

    def __init__(
        self,
        transport: Transport,
        welcome: Callable[[Connection, Initialize], Session],
        on_end: Callable[[int], None],
        admit: Callable[[Initialize], OmbudError | None] | None = None,
    ) -> None:
        self._transport = transport
        self._outbox = Outbox(transport)
        self._admit = admit
        self._welcome = welcome
        self._on_end = on_end
        self._framer = Framer()
        self._session: Session | None = None
        self._own: OwnLane | None = None
        self._running: dict[Id, Running | None] = {}
        self._heavy = Heavy()
        self._asked: dict[str, Answered] = {}
        self._next_ask = 0
        self._shutdown = False
        self._over = False
        self._early = 0

    # -- bytes ------------------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Bytes from the client. Every whole message is dealt with before this returns, so order is kept (W10)."""
        if self._over:
            return
        if self._admit is not None and self._session is None:
            self._early += len(data)
            if self._early > EARLY_BYTES:
                self._fail(None, INVALID_REQUEST, "Send initialize first; the connection is closed.", "not_initialized")
                self.end(1)
                return
        try:
            bodies = self._framer.feed(data)
        except FramingError as error:
            for body in error.bodies:
                self._take(body)
            self._fail(None, INVALID_REQUEST, error.message, "malformed_header")
            self.end(1)
            return
        for body in bodies:
            if not self._over:
                self._take(body)

    def expire(self) -> None:
        """The time to introduce oneself is over."""
        if self._session is None:
            self.end(1)

    def eof(self) -> None:
        """The client closed its side: the first sign that it is gone (P8)."""
        self.end(0 if self._shutdown else 1)

    def end(self, code: int) -> None:
        """Close the connection. Idempotent."""
        if self._over:
            return
        self._over = True
        if self._session is not None:
            self._session.close()
        asked, self._asked = self._asked, {}
        for answered in asked.values():
            # Whoever waits for this client, a server's edit for one, must not wait for ever.
            answered(None, None)
        for running in list(self._running.values()):
            if running is not None:
                running.cancel()
        if self._own is not None:
            self._own.close()
        self._transport.close()
        self._on_end(code)

    def send(self, body: bytes) -> None:
        self._write(frame(body))

    def _write(self, framed: bytes) -> None:
        if not self._over:
            self._transport.write(framed)
            if self._outbox.slow and self._outbox.full:
                self._give_up()

    def pressed(self, slow: bool) -> None:
        """The transport's buffer has grown too large (True) or is small again (False)."""
        if not self._over:
            self._outbox.pressed(slow)

    def _give_up(self) -> None:
        """The client has not read for so long that keeping its answers would harm the others."""
        name = self._session.client.name if self._session is not None else "A client"
        LOG.warning(
            "%s does not read what it is sent: %d MB wait, so its connection is ended.",
            name,
            self._outbox.waiting >> 20,
        )
        # The transport tells of its end in a call of its own: whoever is sending to several clients is not disturbed.
        self._outbox.give_up()

    # -- messages ---------------------------------------------------------------------------------------------

    def _take(self, body: bytes) -> None:
        try:
            message = envelope.decode(body)
        except BodyError as error:
            self._fail(error.id, error.code, error.message, "malformed_message")
            return
        heavy = len(body) > LIGHT and message.is_request
        if heavy and self._heavy.full and isinstance(message.id, int | str):
            self._refuse_more(message.id)
            return
        try:
            self._dispatch(message)
            if heavy and isinstance(message.id, int | str) and message.id in self._running:
                self._heavy.add(message.id, len(body))
        except Exception:
            # The last line of defence of a connection that others share: one message must not end it (W9).
            LOG.exception("a message of the client could not be handled")
            if message.is_request and isinstance(message.id, int | str) and self._running.get(message.id) is None:
                self._running.pop(message.id, None)
                self._fail(
                    message.id, INTERNAL_ERROR, "Ombud could not handle this request; its log says why.", "internal"
                )

    def _dispatch(self, message: Message) -> None:
        if message.is_response:
            self._answered(message)
            return
        method = message.method
        assert isinstance(method, str)
        if message.is_notification:
            self._notified(method, message.params)
            return
        identity = message.id
        assert isinstance(identity, int | str)
        if method == "initialize":
            self._initialize(identity, message.params)
        elif self._session is None:
            self._fail(identity, SERVER_NOT_INITIALIZED, "Send initialize first.", "not_initialized")
        elif self._shutdown:
            self._fail(identity, INVALID_REQUEST, "Ombud has been shut down; only exit may follow.", "shut_down")
        elif identity in self._running:
            self._fail(identity, INVALID_REQUEST, f"A request with the id {identity!r} is still open.", "duplicate_id")
        elif method == "shutdown":
            self._shutdown = True
            self.send(envelope.response(identity, None))
        elif len(self._running) >= MOST_OPEN:
            self._refuse_more(identity)
        elif method.startswith("ombud/") or _is_own_command(method, message.params):
            self._running[identity] = None
            self._own_lane().request(identity, method, message.params)
        elif method.startswith("$/"):
            self._fail(identity, METHOD_NOT_FOUND, f"Ombud does not know the method {method!r}.", "unknown_method")
        else:
            self._forward(identity, method, message.params)

    def _initialize(self, identity: Id, raw: Raw | UnsetType) -> None:
        if self._session is not None:
            self._fail(identity, INVALID_REQUEST, "initialize was already answered on this connection.", "initialized")
            return
        try:
            params = load(raw, Initialize) if isinstance(raw, Raw) else Initialize()
        except (msgspec.ValidationError, ValueError) as error:
            self._fail(
                identity, INVALID_PARAMS, f"The params of initialize have another shape: {error}.", "invalid_params"
            )
            return
        refused = self._admit(params) if self._admit is not None else None
        if refused is not None:
            self.send(envelope.failure(identity, refused.payload()))
            self.end(1)
            return
        result = initialize_result(params.capabilities or {}, folders_of(params))
        self.send(envelope.response(identity, result))
        try:
            self._session = self._welcome(self, params)
            self._session.registrations.announced(result["capabilities"])
        except Exception:
            # It has had its answer; a second one would be for no request of its own (W10).
            LOG.exception("no session could be made for the client")
            self.end(1)

    def _forward(self, identity: Id, method: str, params: Raw | UnsetType) -> None:
        """The verbatim lane: the server's answer goes back under the client's id, as the bytes it came in."""
        assert self._session is not None
        self._running[identity] = None
        try:
            running = self._session.request(method, params, lambda outcome: self._settle(identity, outcome))
        except OmbudError as error:
            self._settle(identity, error)
            return
        except msgspec.ValidationError as error:
            text = f"The params of {method} have another shape: {error}."
            self._settle(identity, UserError(text))
            return
        except Exception:
            self._running.pop(identity, None)
            raise
        if identity in self._running:
            self._running[identity] = running

    def _settle(self, identity: Id, outcome: Outcome) -> None:
        if self._running.pop(identity, self) is self:
            return
        if self._heavy:
            self._heavy.drop(identity)
        if isinstance(outcome, Raw):
            self._write(envelope.forwarded(identity, outcome))
            return
        from ombud.downstream.link import ServerError

        if isinstance(outcome, ServerError):
            self.send(envelope.failure(identity, outcome.raw))
        else:
            self.send(envelope.failure(identity, outcome.payload()))

    def _refuse_more(self, identity: Id) -> None:
        text = f"Too many requests are open on this connection ({len(self._running)}); wait for answers or cancel some."
        self._fail(identity, REQUEST_FAILED, text, "overloaded")

    def _fail(self, identity: Id | None, code: int, text: str, kind: str) -> None:
        self.send(envelope.failure(identity, {"code": code, "message": text, "data": {"kind": kind}}))

    def _notified(self, method: str, params: Raw | UnsetType) -> None:
        if method == "exit":
            self.end(0 if self._shutdown else 1)
            return
        session = self._session
        if session is None or self._shutdown:
            return
        body = params if isinstance(params, Raw) else Raw(b"{}")
        try:
            if method == "$/cancelRequest":
                self._cancel(load(body, _Cancel).id)
            else:
                session.heard(method, body)
        except (msgspec.ValidationError, ValueError) as error:
            LOG.warning("the client's %s was ignored: its params have another shape: %s", method, error)
        except OmbudError as error:
            LOG.warning("the client's %s was ignored: %s", method, error)

    def _cancel(self, identity: Id) -> None:
        """``$/cancelRequest``: the request is answered at once with -32800; what comes later is dropped (W11)."""
        if identity not in self._running:
            return
        running = self._running[identity]
        if running is not None:
            running.cancel()
        elif self._own is not None:
            self._own.cancel(identity)

    # -- our own lane -----------------------------------------------------------------------------------------

    def _own_lane(self) -> OwnLane:
        if self._own is None:
            from ombud.faces.lsp.own import OwnLane

            assert self._session is not None
            self._own = OwnLane(self._session, self._own_answer)
        return self._own

    def _own_answer(self, identity: Id, body: bytes) -> None:
        """The own lane's answer to a request; a second one for the same id is dropped."""
        if self._running.pop(identity, self) is not self:
            self._heavy.drop(identity)
            self.send(body)

    # -- asking the client (the session's front) --------------------------------------------------------------

    def notify(self, method: str, params: Any) -> None:
        if self._outbox.slow and self._outbox.keeps(method, params):
            if self._outbox.full:
                self._give_up()
            return
        self.send(envelope.notification(method, params))

    def ask(self, method: str, params: Any, answered: Answered) -> str:
        """A request to the client. Its id is a string of ours, so it never meets one of the client's."""
        self._next_ask += 1
        identity = f"ombud-{self._next_ask}"
        if self._over:
            answered(None, None)
            return identity
        self._asked[identity] = answered
        self.send(envelope.request(identity, method, params))
        return identity

    def _answered(self, message: Message) -> None:
        answered = self._asked.pop(message.id, None) if isinstance(message.id, str) else None
        if answered is None:
            return
        if message.error is not UNSET:
            answered(None, message.error)
        else:
            answered(message.result if isinstance(message.result, Raw) else None, None)


def _is_own_command(method: str, params: Raw | UnsetType) -> bool:
    if method != "workspace/executeCommand" or not isinstance(params, Raw) or b"ombud." not in bytes(params):
        return False
    try:
        command = load(params, dict[str, Any]).get("command")
    except (msgspec.ValidationError, ValueError):
        return False
    return isinstance(command, str) and command.startswith("ombud.")


def folders_of(params: Initialize) -> tuple[Path, ...]:
    """The workspace folders of ``initialize``: ``workspaceFolders``, else ``rootUri``, else ``rootPath``."""
    if params.workspaceFolders:
        return tuple(paths_of(params.workspaceFolders))
    if params.rootUri:
        return tuple(paths_of([Folder(params.rootUri)]))
    return (Path(params.rootPath),) if params.rootPath else ()


def options_of(params: Initialize) -> Any:
    """``initializationOptions.ombud``."""
    options = params.initializationOptions
    return options.get("ombud") if isinstance(options, Mapping) else None
