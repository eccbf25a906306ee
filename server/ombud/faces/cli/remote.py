"""``--attach``: an operation run by the project's hub, whose servers are warm and which knows the editors' buffers."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec import UNSET, Raw

from ombud import __version__
from ombud.errors import METHOD_NOT_FOUND, OmbudError, PeerError
from ombud.faces.cli.context import Context
from ombud.faces.cli.session import WORK, TerminalFront
from ombud.faces.lsp.address import of_project, project_of
from ombud.faces.lsp.attach import LINGER_SECONDS, reach
from ombud.operations.registry import Operation
from ombud.operations.table import camel
from ombud.wire import envelope
from ombud.wire.framing import Framer, frame
from ombud.wire.values import load_any

FAREWELL_SECONDS = 5.0


async def call(context: Context, found: Operation, params: Mapping[str, Any]) -> dict[str, Any]:
    """The operation's result, as `registry.call` gives it. Raises `OmbudError` as the operation does in the hub.

    The hub is started if there is none, and then stays for a while.
    """
    try:
        return await _called(context, found, params)
    except _EndedEarly:
        # It was ending by itself in the moment in which it was reached, and has done nothing yet.
        return await _called(context, found, params)


async def _called(context: Context, found: Operation, params: Mapping[str, Any]) -> dict[str, Any]:
    place = of_project(project_of(context.root))
    reached = await asyncio.to_thread(reach, place, start=True, linger=LINGER_SECONDS)
    async with _speaking(reached, TerminalFront(context.progress)) as talk:
        await talk.greet(context)
        token = {"workDoneToken": WORK} if found.name.startswith("graph_") else {}
        result = await talk.request(f"ombud/{camel(found.name)}", {**params, **token})
    assert isinstance(result, dict)
    return result


@asynccontextmanager
async def _speaking(reached: socket.socket, front: TerminalFront) -> AsyncIterator[_Talk]:
    reader, writer = await asyncio.open_connection(sock=reached)
    talk = _Talk(writer, front)
    listening = asyncio.create_task(talk.listen(reader))
    try:
        yield talk
        with suppress(OmbudError, TimeoutError):
            async with asyncio.timeout(FAREWELL_SECONDS):
                await talk.request("shutdown", UNSET)
                talk.notify("exit", UNSET)
    finally:
        # Also for a command that was interrupted: the end of the connection is the end of its session.
        listening.cancel()
        writer.close()
        with suppress(asyncio.CancelledError, OSError):
            await listening


class _EndedEarly(PeerError):
    """The hub ended before anything was asked of it."""


class _Talk:
    """Requests to the hub, one answer each; what the hub says by itself goes to ``front``."""

    def __init__(self, writer: asyncio.StreamWriter, front: TerminalFront) -> None:
        self._writer = writer
        self._front = front
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._next = 0

    async def greet(self, context: Context) -> None:
        """Raises `_EndedEarly` where the hub is gone before it has greeted back."""
        folder = {"uri": context.root.as_uri(), "name": context.root.name}
        said = {
            "processId": os.getpid(),
            "clientInfo": {"name": "the command line", "version": __version__},
            "rootUri": folder["uri"],
            "workspaceFolders": [folder],
            "capabilities": {},
            "initializationOptions": {"ombud": {"statusNotifications": True}},
        }
        try:
            await self.request("initialize", said)
        except PeerError as error:
            raise _EndedEarly(error.message, kind=error.kind) from None
        self.notify("initialized", {})

    async def request(self, method: str, params: Any) -> Any:
        """Raises the `OmbudError` that the answer carries, `PeerError` where the hub ends before it."""
        self._next += 1
        self._waiting[self._next] = answer = asyncio.get_running_loop().create_future()
        self._writer.write(frame(envelope.request(self._next, method, params)))
        return await answer

    def notify(self, method: str, params: Any) -> None:
        self._writer.write(frame(envelope.notification(method, params)))

    async def listen(self, reader: asyncio.StreamReader) -> None:
        framer = Framer()
        try:
            while data := await reader.read(65536):
                for body in framer.feed(data):
                    self._take(envelope.decode(body, limits=None))
        finally:
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(PeerError("The hub ended before it had answered.", kind="server_failed"))
                    answer.exception()  # A command that was interrupted asks for none of them.

    def _take(self, message: envelope.Message) -> None:
        params = load_any(message.params) if isinstance(message.params, Raw) else None
        if message.is_notification:
            self._front.notify(str(message.method), params)
        elif message.is_request and isinstance(message.id, int | str):
            self._asked(message.id, str(message.method), params)
        elif isinstance(message.id, int) and (answer := self._waiting.pop(message.id, None)) is not None:
            if isinstance(message.error, Raw):
                answer.set_exception(_error(load_any(message.error)))
            else:
                answer.set_result(load_any(message.result) if isinstance(message.result, Raw) else None)

    def _asked(self, identity: int | str, method: str, params: Any) -> None:
        if method != "window/showMessageRequest":
            error = {"code": METHOD_NOT_FOUND, "message": "A command line answers nothing."}
            self._writer.write(frame(envelope.failure(identity, error)))
            return
        answer = frame(envelope.response(identity, None))
        self._front.ask(method, params, lambda _result, _error: self._writer.write(answer))


def _error(said: Any) -> OmbudError:
    """The error as the hub raised it."""
    data = dict(said.get("data") or {}) if isinstance(said, dict) else {}
    error = OmbudError(str(said.get("message", said)), kind=str(data.pop("kind", "internal")))
    error.data = data
    return error
