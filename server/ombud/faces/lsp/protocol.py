"""The pygls half of the own lane. Importing this module costs what lsprotocol costs; only `own` does it."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Mapping
from typing import Any

from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.json_rpc import JsonRPCRequestMessage

from ombud import __version__
from ombud.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, OmbudError
from ombud.operations import registry
from ombud.operations.session import Session
from ombud.operations.table import OPERATIONS, camel
from ombud.operations.tokens import CARRIED, Token
from ombud.wire import envelope
from ombud.wire.envelope import Id
from ombud.wire.values import dump

LOG = logging.getLogger("ombud.lsp")
# pygls logs every refused request with a traceback and every message with its body; ours is the log that is redacted.
logging.getLogger("pygls").setLevel(logging.CRITICAL + 1)


class OmbudProtocol(LanguageServerProtocol):
    """pygls' dispatch and cancellation over messages that our front has read, with answers that it writes.

    pygls would structure the params of a custom method into anonymous objects; the registry checks them against the
    operation's own type, so they stay plain JSON values here. Answers are encoded by msgspec for the same reason.
    """

    answer: Callable[[Id, bytes], None]
    client_id: Callable[[int], Id | None]
    """The client's id for one of ours; None when nobody waits for that answer any more."""

    def structure_message(self, data: dict[str, Any]) -> Any:
        """A request of ours as pygls' generic request; anything else as pygls structures it."""
        if str(data.get("method", "")).startswith("ombud/"):
            return JsonRPCRequestMessage(id=data["id"], jsonrpc="2.0", method=data["method"], params=data.get("params"))
        return super().structure_message(data)

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        identity = self.client_id(msg_id)
        if identity is None:
            return
        if error is not None:
            body = {"code": error.code, "message": error.message}
            if error.data is not None:
                body["data"] = error.data
            self.answer(identity, envelope.failure(identity, body))
        else:
            self.answer(identity, envelope.response(identity, _Raw(dump(result))))


def _Raw(data: bytes) -> Any:  # noqa: N802  (a constructor's stand-in)
    from msgspec import Raw

    return Raw(data)


class OwnServer:
    """One connection's pygls server, with every operation of the table as a feature."""

    def __init__(self, session: Session, answer: Callable[[Id, bytes], None]) -> None:
        self._server = LanguageServer("ombud", __version__, protocol_cls=OmbudProtocol)
        # A failed request is answered to its caller; pygls would show the user a pop-up besides.
        self._server._report_server_error = lambda *_: None  # type: ignore[method-assign]
        self._protocol = self._server.protocol
        assert isinstance(self._protocol, OmbudProtocol)
        self._protocol.answer = answer
        self._protocol.client_id = self._client_id
        # pygls gets numbers of ours: a client may use an id again once it was answered, and what a cancelled handler
        # says late must not be the answer to the next request of that id (W11).
        self._numbers = itertools.count(1)
        self._open: dict[int, Id] = {}
        self._answer = answer
        for name in OPERATIONS:
            self._server.feature(f"ombud/{camel(name)}")(_feature(session, name))

    def submit(self, identity: Id, method: str, params: Mapping[str, Any] | None, token: Token | None = None) -> None:
        """Run one request; its answer goes through ``answer``. ``token``: where the client is shown what it does."""
        if method not in self._protocol.fm.features:
            text = f"There is no method {method!r}. Ombud has {', '.join(sorted(self._protocol.fm.features))}."
            body = {"code": METHOD_NOT_FOUND, "message": text, "data": {"kind": "unknown_method"}}
            self._answer(identity, envelope.failure(identity, body))
            return
        number = next(self._numbers)
        self._open[number] = identity
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        # The handler's task is made at once, with the context as it is now.
        before = CARRIED.set(token)
        try:
            self._protocol.handle_message(self._protocol.structure_message(message))
        finally:
            CARRIED.reset(before)

    def cancel(self, identity: Id) -> None:
        for number in [number for number, open_ in self._open.items() if open_ == identity]:
            del self._open[number]
            future = self._protocol._request_futures.pop(number, None)
            if future is not None:
                future.cancel()

    def _client_id(self, number: int) -> Id | None:
        return self._open.pop(number, None)

    def close(self) -> None:
        for future in list(self._protocol._request_futures.values()):
            future.cancel()


def _feature(session: Session, name: str) -> Any:
    async def run(params: Any) -> Any:
        try:
            return await registry.call(session, name, params)
        except OmbudError as error:
            raise _as_json_rpc(error) from None
        except Exception:
            LOG.exception("the operation %s failed", name)
            text = f"Ombud could not finish {camel(name)}; its log says why."
            raise JsonRpcException(text, INTERNAL_ERROR, {"kind": "internal"}) from None

    return run


def _as_json_rpc(error: OmbudError) -> JsonRpcException:
    payload = error.payload()
    return JsonRpcException(payload["message"], payload["code"], payload["data"])
