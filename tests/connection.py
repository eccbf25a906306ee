"""One connection to a server: messages out, messages in, and what the server does against the protocol.

``tests.client`` puts documents and an editor's answers on top. Everything that only sends is a plain call: messages
go out in the order of the calls. Times are seconds.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from tests import answering
from tests.framing import Frames, frame, frame_body
from tests.link import PipeLink, SocketLink
from tests.transcript import Transcript
from tests.waiting import wait_until

if TYPE_CHECKING:
    import psutil

T = TypeVar("T")
Json = dict[str, Any]
Link = PipeLink | SocketLink
Handler = Callable[[Any], Any]

# A handler returns this to leave a request of the server unanswered.
NO_ANSWER = object()


class LspError(Exception):
    """The error that a request was answered with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}" + ("" if data is None else f" {data!r}"))
        self.code = code
        self.message = message
        self.data = data

    @property
    def kind(self) -> str | None:
        """``data.kind`` of the product's contract."""
        return self.data.get("kind") if isinstance(self.data, dict) else None


class Disconnected(ConnectionError):
    """The server is gone, or has closed the connection."""


class ProtocolViolation(AssertionError):
    """The server broke the protocol; the message lists how."""


class Pending(asyncio.Future[Any]):
    """A request on its way: awaits to the result or raises ``LspError`` or ``Disconnected``.

    ``raw`` is the body of the answer as it came; ``seconds`` how long it took.
    """

    def __init__(self, request_id: int | str, method: str) -> None:
        super().__init__(loop=asyncio.get_running_loop())
        self.id = request_id
        self.method = method
        self.raw = b""
        self.seconds = 0.0
        self.started = time.monotonic()
        # A test may give up on a request; that must not end in a warning about an exception nobody fetched.
        self.add_done_callback(lambda future: None if future.cancelled() else future.exception())


@dataclass(frozen=True)
class Notification:
    method: str
    params: Any
    raw: bytes = field(repr=False)


@dataclass
class ServerRequest:
    """A request of the server and what it was answered (``result`` or ``error`` in ``answer``)."""

    id: int | str
    method: str
    params: Any
    answer: Json | None = None


class Connection:
    """A link and what is said over it; lived in as an async context."""

    def __init__(self, link: Link, name: str, strict: bool) -> None:
        self.link = link
        self.name = name
        self.strict = strict
        self.transcript = Transcript(name)
        self.violations: list[str] = []
        self.notifications: list[Notification] = []
        self.server_requests: list[ServerRequest] = []
        self.anonymous_errors: list[Json] = []
        self.capabilities: Json = {}
        self.handlers: dict[str, Handler] = {}
        self.connected = False
        self._frames = Frames()
        self._requests: dict[int | str, Pending] = {}
        self._answered: set[int | str] = set()
        self._abandoned: set[int | str] = set()
        self._last_id = 0
        self._cursors: dict[str, int] = {}
        self._bodies: deque[bytes] = deque(maxlen=1024)
        self._wakers: list[asyncio.Future[None]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._progress = answering.Progress()
        self._met = False
        self._owes_goodbye = False
        self._asked_shutdown = False
        self._said_exit = False
        self._sent_raw = False
        self._ended_by_us = False

    async def __aenter__(self) -> Self:
        self.transcript.note(f"opening {self.link}")
        self.connected = True
        try:
            await self.link.open(self._on_data, self._on_end)
        except OSError:
            self.connected = False
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Says goodbye, sees to it that the server is gone, and raises what it did wrong if nothing else failed."""
        try:
            await self._goodbye(patience=20.0 if kind is None else 5.0)
        finally:
            for task in self._tasks:
                task.cancel()
            await self.link.close()
            self._book_ending()
        if kind is None and self.strict and self.violations:
            raise ProtocolViolation(f"{self.name}: " + "; ".join(self.violations))

    # -- the process

    @property
    def pid(self) -> int:
        return self.link.pid

    @property
    def returncode(self) -> int | None:
        return self.link.returncode

    @property
    def stderr(self) -> str:
        """The last 64 KiB of it."""
        return self.link.stderr.decode("utf-8", "backslashreplace")

    def child_processes(self) -> list[psutil.Process]:
        """The server's living descendants, without the server itself."""
        import psutil

        try:
            found = psutil.Process(self.pid).children(recursive=True)
            return [child for child in found if child.status() != psutil.STATUS_ZOMBIE]
        except psutil.NoSuchProcess:
            return []

    def kill(self, number: int = 9) -> None:
        """Signals the server's group; what it owes is forgiven from here on."""
        self._ended_by_us = True
        self.link.kill(number)

    def close_input(self) -> None:
        """The server reads the end of its input; for a client that vanished."""
        self._ended_by_us = True
        self.link.close_input()

    async def wait_exit(self, timeout: float = 30.0) -> int | None:
        """The exit code (negative for a signal, None for a socket). Raises ``TimeoutError``."""
        if not await self.link.exited(timeout):
            raise TimeoutError(f"{self.name}: the server has not exited within {timeout:g} s")
        return self.returncode

    async def shutdown(self, timeout: float = 30.0) -> None:
        await self.request("shutdown", timeout=timeout)

    def exit(self) -> None:
        """``exit``; after a ``shutdown`` the server must end with code 0, which leaving the client looks at."""
        self._ended_by_us = True
        self._said_exit = True
        self.notify("exit")

    # -- sending

    def notify(self, method: str, params: Any = None) -> None:
        self._send({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})

    def start_request(self, method: str, params: Any = None) -> Pending:
        """Sends a request and returns at once; await the result, or not."""
        self._last_id += 1
        pending = self.expect(self._last_id, method)
        self._asked_shutdown = self._asked_shutdown or method == "shutdown"
        self._progress.offered(params)
        message = {"jsonrpc": "2.0", "id": pending.id, "method": method}
        self._send(message if params is None else {**message, "params": params})
        return pending

    async def request(self, method: str, params: Any = None, timeout: float = 60.0) -> Any:
        """The result. Raises ``LspError``, ``Disconnected``, or ``TimeoutError`` (the request stays open then)."""
        pending = self.start_request(method, params)
        return await self.answer(pending, timeout)

    async def answer(self, pending: Pending, timeout: float = 60.0) -> Any:
        """``await pending`` with a limit; several may be awaited in any order."""
        await asyncio.wait({pending}, timeout=timeout)
        if not pending.done():
            raise TimeoutError(f"{self.name}: no answer to {pending.method} ({pending.id}) within {timeout:g} s")
        return pending.result()

    def cancel(self, request: Pending | int | str) -> None:
        """``$/cancelRequest``. The request must still be answered: wait for it."""
        self.notify("$/cancelRequest", {"id": request.id if isinstance(request, Pending) else request})

    def abandon(self, request: Pending | int | str) -> None:
        """This request may stay unanswered: the test knows that its server does not answer it."""
        self._abandoned.add(request.id if isinstance(request, Pending) else request)

    def expect(self, request_id: int | str, method: str = "raw") -> Pending:
        """The answer to a request that is sent by hand with ``send_raw``."""
        pending = Pending(request_id, method)
        self._answered.discard(request_id)
        if self.connected:
            self._requests[request_id] = pending
        else:
            pending.set_exception(Disconnected(f"{self.name}: not connected"))
        return pending

    async def send_raw(self, data: bytes, timeout: float = 30.0) -> None:
        """Bytes as they are, then waits until they have been taken or the server is gone."""
        self._sent_raw = True
        self.transcript.sent(data)
        self.link.write(data)
        await self.drain(timeout)

    async def send_body(self, body: bytes, timeout: float = 30.0) -> None:
        """A frame around any bytes."""
        await self.send_raw(frame_body(body), timeout)

    async def drain(self, timeout: float = 30.0) -> None:
        await wait_until(lambda: not self.connected or not self.link.pending_bytes(), timeout, "the server reads on")

    async def read_raw(self, timeout: float = 30.0) -> bytes:
        """The next body that has not been read this way, also one from before the call; ``b""`` at the end."""
        deadline = time.monotonic() + timeout
        while not self._bodies:
            if not self.connected:
                return b""
            await self._arrival(deadline, "another message")
        return self._bodies.popleft()

    # -- waiting

    async def wait_notification(
        self, method: str, predicate: Callable[[Any], bool] | None = None, timeout: float = 30.0
    ) -> Any:
        """The params of the next notification of ``method`` that satisfies ``predicate``.

        Those that came before the call are looked at first, from behind the last one this returned for the method:
        nothing is missed between two waits, and none is returned twice.
        """
        found = await self._next(
            self.notifications,
            method,
            timeout,
            lambda one: one.method == method and (predicate is None or predicate(one.params)),
        )
        return found.params

    async def wait_request(
        self, method: str, predicate: Callable[[Any], bool] | None = None, timeout: float = 30.0
    ) -> ServerRequest:
        """The next request of the server, as ``wait_notification`` finds notifications."""
        return await self._next(
            self.server_requests,
            f"request {method}",
            timeout,
            lambda one: one.method == method and (predicate is None or predicate(one.params)),
        )

    async def _next(self, arrived: list[T], cursor: str, timeout: float, matches: Callable[[T], bool]) -> T:
        deadline = time.monotonic() + timeout
        index = self._cursors.get(cursor, 0)
        while True:
            while index < len(arrived):
                one = arrived[index]
                index += 1
                if matches(one):
                    self._cursors[cursor] = index
                    return one
            if not self.connected:
                raise Disconnected(f"{self.name}: the connection ended while waiting for {cursor}")
            await self._arrival(deadline, cursor)

    async def _arrival(self, deadline: float, what: str) -> None:
        waker: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wakers.append(waker)
        await asyncio.wait({waker}, timeout=max(0.0, deadline - time.monotonic()))
        if not waker.done():
            self._wakers.remove(waker)
            raise TimeoutError(f"{self.name}: {what} did not come in time")

    def _wake(self) -> None:
        wakers, self._wakers = self._wakers, []
        for waker in wakers:
            if not waker.done():
                waker.set_result(None)

    # -- receiving

    def _violation(self, what: str) -> None:
        self.violations.append(what)
        self.transcript.note(f"violation: {what}")

    def _on_data(self, data: bytes) -> None:
        for body in self._frames.feed(data):
            self._book_faults()
            self.transcript.received(body)
            self._bodies.append(body)
            try:
                self._on_body(body)
            except Exception as problem:  # noqa: BLE001  # the server's message or the test's handler: never our end
                self._violation(f"a message that cannot be digested ({problem!r}): {body[:200]!r}")
        self._book_faults()
        self._wake()

    def _book_faults(self) -> None:
        for fault in self._frames.faults:
            self._violation(fault)
        self._frames.faults.clear()

    def _on_end(self) -> None:
        self._frames.end()
        self._book_faults()
        self.connected = False
        self.transcript.note("the connection ended")
        if self._owes_goodbye and not self._ended_by_us:
            self._violation("the connection ended before the client said goodbye")
        for pending in self._requests.values():
            if not pending.done():
                pending.set_exception(Disconnected(f"{self.name}: the connection ended before the answer"))
            if not self._ended_by_us and pending.id not in self._abandoned:
                self._violation(f"{pending.method} ({pending.id}) was not answered before the connection ended")
        self._requests.clear()
        self._wake()

    def _on_body(self, body: bytes) -> None:
        try:
            message = json.loads(body)
        except ValueError as problem:
            self._violation(f"a body that is not JSON ({problem}): {body[:120]!r}")
            return
        if not isinstance(message, dict):
            self._violation(f"a message that is not an object: {body[:120]!r}")
        elif "method" not in message:
            self._on_response(message, body)
        else:
            self._on_call(message, body)

    def _on_response(self, message: Json, body: bytes) -> None:
        fault = answering.response_fault(message)
        if fault is not None:
            self._violation(f"{fault}: {body[:200]!r}")
        request_id = message.get("id")
        if request_id is None:
            self.anonymous_errors.append(message.get("error", {}))
            if not self._sent_raw:
                self._violation(f"a response without an id: {body[:200]!r}")
            return
        pending = self._requests.pop(request_id, None)
        if pending is None:
            again = "a second answer" if request_id in self._answered else "an answer to an unknown id"
            self._violation(f"{again}: {body[:200]!r}")
            return
        self._answered.add(request_id)
        pending.raw = body
        pending.seconds = time.monotonic() - pending.started
        if pending.method == "initialize":
            self._met = True
            self._owes_goodbye = "result" in message
        error = message.get("error")
        if pending.done():
            return
        if isinstance(error, dict):
            pending.set_exception(LspError(error.get("code", 0), error.get("message", ""), error.get("data")))
        else:
            pending.set_result(message.get("result"))

    def _on_call(self, message: Json, body: bytes) -> None:
        method, params = message["method"], message.get("params")
        early = not self._met and not self._sent_raw
        if early and method not in answering.EARLY and method != "$/progress":
            self._violation(f"{method} before initialize was answered")
        if "id" not in message:
            self.notifications.append(Notification(method, params, body))
            fault = self._progress.used(params or {}) if method == "$/progress" else None
            if fault is not None:
                self._violation(fault)
            return
        fault = answering.undeclared(self.capabilities, method, params)
        if fault is not None:
            self._violation(fault)
        request = ServerRequest(message["id"], method, params)
        if any(one.id == request.id and one.answer is None for one in self.server_requests[-64:]):
            self._violation(f"two open requests of the server have the id {request.id!r}")
        self.server_requests.append(request)
        self._handle(request)

    # -- answering

    def _handle(self, request: ServerRequest) -> None:
        """Plain handlers answer in this very call, so that answers keep the order of the questions."""
        handler = self.handlers.get(request.method)
        if handler is None and request.method.endswith("/refresh"):
            handler = _nothing
        if handler is None:
            self._reply(request, {"error": {"code": -32601, "message": f"no handler for {request.method}"}})
            return
        try:
            result = handler(request.params)
        except LspError as problem:
            self._reply(request, {"error": {"code": problem.code, "message": problem.message}})
            return
        if inspect.isawaitable(result):
            task = asyncio.ensure_future(self._handle_later(request, result))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif result is not NO_ANSWER:
            self._reply(request, {"result": result})

    async def _handle_later(self, request: ServerRequest, result: Awaitable[Any]) -> None:
        try:
            answer = {"result": await result}
        except LspError as problem:
            answer = {"error": {"code": problem.code, "message": problem.message}}
        except Exception as problem:  # noqa: BLE001  # a task's boundary: a handler of the test went wrong
            self._violation(f"the test's handler of {request.method} failed: {problem!r}")
            answer = {"error": {"code": -32603, "message": repr(problem)}}
        if answer.get("result") is not NO_ANSWER:
            self._reply(request, answer)

    def _reply(self, request: ServerRequest, answer: Json) -> None:
        request.answer = answer
        self._send({"jsonrpc": "2.0", "id": request.id, **answer})

    def _send(self, message: Json) -> None:
        data = frame(message)
        self.transcript.sent(data.partition(b"\r\n\r\n")[2])
        self.link.write(data)

    # -- the end

    async def _goodbye(self, patience: float) -> None:
        if self._owes_goodbye and self.connected and not self._ended_by_us:
            if not self._asked_shutdown:
                await asyncio.wait({self.start_request("shutdown")}, timeout=patience)
            for pending in self._requests.values():
                if pending.id not in self._abandoned:
                    self._violation(f"{pending.method} ({pending.id}) was never answered")
            self.exit()
        elif not self._said_exit:
            self._ended_by_us = True
            self.link.close_input()
        if not await self.link.exited(patience):
            self._violation(f"the server was still there {patience:g} s after it was told to go")
        elif self._said_exit and self._asked_shutdown and self.returncode not in (0, None):
            self._violation(f"exit code {self.returncode} after shutdown and exit")

    def _book_ending(self) -> None:
        if self.pid:
            self.transcript.ending(f"exit code: {self.returncode}")
        if self.link.stderr:
            self.transcript.ending(f"stderr:\n{self.stderr}")
        if self.violations:
            self.transcript.ending("violations:\n  " + "\n  ".join(self.violations))


def _nothing(params: Any) -> None:
    return None
