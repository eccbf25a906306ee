"""The own lane: requests for Ombud's operations, run by one pygls protocol for each connection.

pygls is imported when the first of them arrives, in a thread, so that neither ``initialize`` nor a hover waits for it
(architecture.md, decisions 2 and 3). It gets structured messages and a writer from us; it never reads or writes the
connection by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw, UnsetType

from ombud.errors import INTERNAL_ERROR, Cancelled, OmbudError, UserError
from ombud.operations.tokens import NAMES, Token
from ombud.wire import envelope
from ombud.wire.envelope import Id
from ombud.wire.values import load_any

if TYPE_CHECKING:
    from ombud.faces.lsp.protocol import OwnServer
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.lsp")


class OwnLane:
    """See the module. ``answer(id, body)`` sends a response body; it is called once for each request."""

    def __init__(self, session: Session, answer: Callable[[Id, bytes], None]) -> None:
        self._session = session
        self._answer = answer
        self._server: OwnServer | None = None
        self._loading: asyncio.Task[None] | None = None
        self._waiting: dict[Id, tuple[str, dict[str, Any] | None, Token | None]] = {}

    def request(self, identity: Id, method: str, params: Raw | UnsetType) -> None:
        """Run an ``ombud/…`` request, or ``workspace/executeCommand`` with one of our commands."""
        try:
            arguments = _arguments(method, params)
        except OmbudError as error:
            self._answer(identity, envelope.failure(identity, error.payload()))
            return
        if self._server is not None:
            self._server.submit(identity, *arguments)
            return
        self._waiting[identity] = arguments
        if self._loading is None:
            self._loading = asyncio.create_task(self._load(), name="load pygls")

    async def _load(self) -> None:
        """Import pygls beside the event loop, then run what has come meanwhile, in order."""
        try:
            module = await asyncio.to_thread(_import_protocol)
            self._server = module.OwnServer(self._session, self._answer)
            waiting, self._waiting = self._waiting, {}
            for identity, arguments in waiting.items():
                self._server.submit(identity, *arguments)
        except Exception:
            LOG.exception("the own lane could not be loaded")
            for identity in list(self._waiting):
                text = "Ombud's own operations could not be loaded; its log says why."
                body = {"code": INTERNAL_ERROR, "message": text, "data": {"kind": "internal"}}
                self._answer(identity, envelope.failure(identity, body))
            self._waiting.clear()
            self._loading = None

    def cancel(self, identity: Id) -> None:
        """``$/cancelRequest``: answered at once; the handler's task is cancelled."""
        if self._waiting.pop(identity, None) is None and self._server is not None:
            self._server.cancel(identity)
        self._answer(identity, envelope.failure(identity, Cancelled().payload()))

    def close(self) -> None:
        if self._loading is not None:
            self._loading.cancel()
        if self._server is not None:
            self._server.close()


def _import_protocol() -> Any:
    from ombud.faces.lsp import protocol

    return protocol


def _arguments(method: str, raw: Raw | UnsetType) -> tuple[str, dict[str, Any] | None, Token | None]:
    """The method under ``ombud/``, its params, and the token under which the client shows what it does.

    Raises `UserError` for params that are no object.
    """
    token: Token | None = None
    try:
        params = load_any(raw) if isinstance(raw, Raw) else None
    except (msgspec.ValidationError, ValueError) as error:
        raise UserError(f"The params of {method} cannot be read: {error}.") from None
    if isinstance(params, dict):
        # LSP's own additions to the params of any request (3.17, "Work Done Progress").
        tokens = [params.pop(name, None) for name in NAMES]
        token = tokens[0] if isinstance(tokens[0], int | str) else None
    if method == "workspace/executeCommand" and isinstance(params, dict):
        given: Any = params.get("arguments") or []
        if not isinstance(given, list) or len(given) > 1:
            raise UserError(f"{params['command']} takes one argument: its params object.")
        method = "ombud/" + str(params["command"]).removeprefix("ombud.")
        params = given[0] if given else None
    if params == []:
        # Lua has one empty table for both: Neovim sends an empty object as an empty array.
        params = None
    if params is not None and not isinstance(params, dict):
        raise UserError(f"The params of {method} must be an object.")
    return method, params, token
