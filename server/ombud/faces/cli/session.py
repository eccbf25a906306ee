"""A session within the command's own process: a hub and a client that is the terminal. Nothing outlives it."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.faces.cli.progress import Progress

if TYPE_CHECKING:
    from ombud.operations.hub import Hub
    from ombud.operations.session import Answered, Session

FAREWELL_SECONDS = 20.0
"""How long the servers may take to end before the command leaves anyway; the guardian ends what is left."""
WORK = "ombud/command"
"""The token under which a command is told of Ombud's own work."""
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class TerminalFront:
    """The session's way to its client. It decides nothing in a person's place: what servers ask gets no answer."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._asked_trust = False
        self.listeners: list[Callable[[Mapping[str, Any]], None]] = []
        """Called with each row of ``ombud/statusChanged``."""

    def notify(self, method: str, params: Any) -> None:
        if method == "ombud/statusChanged":
            for row in params["servers"]:
                self._progress.server(row)
                for listener in self.listeners:
                    listener(row)
        elif method == "$/progress" and params.get("token") == WORK:
            self._progress.work(params["value"])
        elif method in ("window/showMessage", "window/logMessage") and self._progress.verbose:
            self._progress.note(str(params.get("message", "")))

    def ask(self, method: str, params: Any, answered: Answered) -> str:
        """A command cannot answer for its user in the middle of its work, so it says how to decide and goes on."""
        if method == "window/showMessageRequest" and not self._asked_trust:
            self._asked_trust = True
            self._progress.note(f"{str(params.get('message', '')).partition(' Do you')[0]} See “ombud trust --help”.")
        answered(None, None)
        return ""


@asynccontextmanager
async def open_session(
    root: Path,
    progress: Progress,
    options: Mapping[str, Any] | None = None,
) -> AsyncIterator[tuple[Session, TerminalFront]]:
    """A session on ``root``, and its front. Every server that it started has ended when the block has.

    ``options`` are those of ``initializationOptions.ombud``: the word of the user, for this command.
    """
    from ombud.operations.hub import Hub
    from ombud.operations.session import Client, Session

    front = TerminalFront(progress)
    hub = Hub()
    said = {"statusNotifications": True, **(options or {})}
    client = Client(folders=(root,), options=said, name="the command line", stays=False)
    session = Session(hub, client, front)
    try:
        yield session, front
    finally:
        await _close(hub, session, progress)


async def _close(hub: Hub, session: Session, progress: Progress) -> None:
    """End everything, also when the command is cancelled once more while that goes on."""
    progress.clear()
    session.close()
    closing = asyncio.ensure_future(asyncio.wait_for(hub.close(), FAREWELL_SECONDS))
    while not closing.done():
        with suppress(asyncio.CancelledError, TimeoutError):
            await asyncio.shield(closing)
    if not closing.cancelled() and closing.exception() is not None:
        logging.getLogger("ombud.cli").warning("ending the servers took too long; the guardian ends what is left")


def run_async(main: Callable[[], Awaitable[int]]) -> int:
    """Run ``main`` in an event loop and return its exit code.

    The first SIGINT, SIGTERM or SIGHUP cancels it, which ends everything it started, and the code is 128 plus the
    signal's number (130 for Ctrl-C). A second one leaves at once; then the guardian ends what is left.
    """
    try:
        return asyncio.run(_interruptible(main))
    except KeyboardInterrupt:
        # Where the loop takes no signal handlers (Windows), asyncio turns Ctrl-C into this.
        return 128 + signal.SIGINT


async def _interruptible(main: Callable[[], Awaitable[int]]) -> int:
    caught: list[int] = []
    task = asyncio.ensure_future(main())

    def on_signal(number: int) -> None:
        if caught:
            os._exit(128 + number)
        caught.append(number)
        task.cancel()

    loop = asyncio.get_running_loop()
    for name in _SIGNALS:
        with suppress(AttributeError, NotImplementedError):
            number = getattr(signal, name)
            # Whoever started us may have said that a signal is not for us (`nohup`, a job in the background).
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, on_signal, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not caught:
            raise
        return 128 + caught[0]


def log_to(progress: Progress, environment: Mapping[str, str]) -> None:
    """Send the product's own log through ``progress``, secrets redacted (C9).

    Warnings and worse with ``--verbose``, what ``OMBUD_LOG`` names where it is set, else nothing.
    """
    from ombud.guard.redact import RedactingFilter

    level = environment.get("OMBUD_LOG", "").upper() or ("WARNING" if progress.verbose else "")
    logger = logging.getLogger("ombud")
    logger.propagate = False
    for former in logger.handlers[:]:
        logger.removeHandler(former)
    handler: logging.Handler = _Lines(progress) if level else logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    handler.addFilter(RedactingFilter())
    logger.addHandler(handler)
    logger.setLevel(level if level in logging.getLevelNamesMapping() else "WARNING")


class _Lines(logging.Handler):
    """Log records as lines that do not run into the progress line."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress

    def emit(self, record: logging.LogRecord) -> None:
        self._progress.note(self.format(record))
