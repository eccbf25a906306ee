"""The conversation with one adapter: frames, numbers, deadlines, and exactly one answer to each request.

A `Link` lives as long as one connection. What a session is, which connection it speaks through and which of several is
the one that stopped, others know.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from ombud.errors import OmbudError, PeerError
from ombud.guard.redact import clean, redact
from ombud.wire import dap
from ombud.wire.dap import Message
from ombud.wire.framing import Framer, FramingError, Junk, frame

LOG = logging.getLogger("ombud.debug")
ANSWER_SECONDS = 30.0
BAD_BODIES = 50
"""Unreadable messages after which an adapter is given up."""
WORDS = 600
"""Characters of an adapter's own words in an error."""


class Link:
    """Requests out, answers in. ``write`` takes framed bytes.

    ``on_event(name, body)`` gets each event; ``on_request(message)`` each reverse request, to be answered by `answer`
    or `refuse`; ``on_over(error)`` is called once, when nothing can be said or heard any more.
    """

    def __init__(
        self,
        name: str,
        write: Callable[[bytes], None],
        on_event: Callable[[str, dict[str, Any]], None],
        on_request: Callable[[Message], None],
        on_over: Callable[[OmbudError], None],
    ) -> None:
        self.name = name
        self._write = write
        self._on_event = on_event
        self._on_request = on_request
        self._on_over = on_over
        self._framer = Framer(junk=Junk.SKIP)
        self._seq = 0
        self._pending: dict[int, tuple[str, asyncio.Future[dict[str, Any]]]] = {}
        self._bad = 0
        self.over: OmbudError | None = None

    @property
    def banner(self) -> str:
        """What the adapter printed between its messages."""
        return self._framer.junk.decode("utf-8", "replace")

    # -- in -------------------------------------------------------------------------------------------------------

    def feed(self, data: bytes) -> None:
        """Bytes of the adapter."""
        if self.over is not None:
            return
        fault: FramingError | None = None
        try:
            bodies = self._framer.feed(data)
        except FramingError as error:
            bodies, fault = error.bodies, error
        for body in bodies:
            if self.over is None:
                self._take(body)
        if fault is not None:
            self.end(self._failure(f"broke the protocol: {fault.message}"))

    def _take(self, body: bytes) -> None:
        try:
            message = dap.decode(body)
        except dap.DapError as error:
            self._bad += 1
            LOG.warning("%s sent a message that cannot be read: %s", self.name, clean(redact(str(error)), 200))
            if self._bad > BAD_BODIES:
                self.end(self._failure("keeps sending messages that cannot be read"))
            return
        try:
            if message.type == "event":
                self._on_event(message.event, message.content)
            elif message.type == "request":
                self._on_request(message)
            else:
                self._settle(message)
        except Exception:
            # A message's boundary: what stands behind it must still be heard.
            LOG.exception("the message %s of %s could not be handled", message.command or message.event, self.name)

    def _settle(self, message: Message) -> None:
        command, waiting = self._pending.pop(message.request_seq, ("", None))
        if waiting is None or waiting.done():
            return
        if message.success:
            waiting.set_result(message.content)
        else:
            waiting.set_exception(self._refusal(command, message))

    def _refusal(self, command: str, message: Message) -> PeerError:
        """An adapter's refusal in its own words (B4)."""
        error = message.content.get("error")
        words = ""
        if isinstance(error, dict):
            variables = error.get("variables")
            words = str(error.get("format") or "")
            for name, value in variables.items() if isinstance(variables, dict) else ():
                words = words.replace("{" + str(name) + "}", str(value))
        words = words or str(message.message or "no reason was given")
        said = clean(redact(_last(words)), WORDS).strip()
        return PeerError(f"{self.name} refused {command}: {said}", kind="server_failed", adapter=self.name)

    def _failure(self, words: str) -> PeerError:
        return PeerError(f"{self.name} {words}.", kind="server_failed", adapter=self.name)

    # -- out ------------------------------------------------------------------------------------------------------

    def send(self, command: str, arguments: Any = None) -> asyncio.Future[dict[str, Any]]:
        """Send a request; the body of its answer, to be awaited with a deadline of one's own."""
        waiting: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        # Whoever gave up on it has been told why; nobody need fetch what it comes to.
        waiting.add_done_callback(_seen)
        if self.over is not None:
            waiting.set_exception(self.over)
            return waiting
        self._seq += 1
        self._pending[self._seq] = (command, waiting)
        self._say(dap.request(self._seq, command, arguments))
        return waiting

    async def ask(self, command: str, arguments: Any = None, *, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """The body of the answer. Raises `PeerError`: ``server_failed`` for a refusal or an end, ``timeout``."""
        waiting = self.send(command, arguments)
        try:
            async with asyncio.timeout(seconds):
                return await waiting
        except TimeoutError:
            raise PeerError(
                f"{self.name} has not answered {command} within {seconds:g} seconds. “terminate” ends it.",
                kind="timeout",
                adapter=self.name,
            ) from None

    def answer(self, request: Message, body: Any = None) -> None:
        """Answer a reverse request."""
        self._seq += 1
        self._say(dap.response(self._seq, request, body))

    def refuse(self, request: Message, why: str) -> None:
        """Refuse a reverse request."""
        self._seq += 1
        self._say(dap.response(self._seq, request, error=why))

    def _say(self, body: bytes) -> None:
        if self.over is None:
            self._write(frame(body))

    def end(self, error: OmbudError) -> None:
        """Nothing more is said or heard; whoever waits is told why."""
        if self.over is not None:
            return
        self.over = error
        pending, self._pending = self._pending, {}
        for _, waiting in pending.values():
            if not waiting.done():
                waiting.set_exception(error)
        self._on_over(error)


def _last(words: str) -> str:
    """What a traceback says in the end: nobody who steers a program from outside reads the frames of its debugger."""
    rows = words.strip().splitlines()
    return rows[-1] if rows and rows[0].startswith("Traceback ") else words


def _seen(done: asyncio.Future[dict[str, Any]]) -> None:
    if not done.cancelled():
        done.exception()
