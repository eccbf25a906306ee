"""What is said of a server: its states, what starts it, and who hears of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ombud.wire.envelope import Message

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.process.child import Child
    from ombud.process.exit import Exit


class State(StrEnum):
    """The states of a server that was detected as startable (protocol.md, ``status``)."""

    AVAILABLE = "available"
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"
    SWEPT = "swept"
    CRASHED = "crashed"
    FAILED = "failed"


class Launch(NamedTuple):
    """How to start the process: an absolute executable first, and whose need it is."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    client_capabilities: Mapping[str, Any]
    locale: str = "en"
    trace: str = "off"


class Spawn(Protocol):
    """Starts a child process; given by the supervisor, which owns the guardian."""

    async def __call__(
        self,
        argv: tuple[str, ...],
        cwd: Path,
        environment: Mapping[str, str],
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[Exit], None],
    ) -> Child: ...


class Listener(Protocol):
    """What the hub hears of a server. All calls are made on the event loop, in the order of the server's bytes."""

    def server_said(self, server: Server, message: Message) -> None:
        """A notification, or a request that must be answered with ``server.answer`` or ``server.refuse``."""

    def server_changed(self, server: Server) -> None:
        """Its `State` changed."""

    def server_starts(self, server: Server) -> None:
        """A new process will come: the listener enqueues the documents that are open for it."""

    def server_sent(self, server: Server, uri: str, version: int) -> None:
        """A document's text with the hub's ``version`` was just written to the server."""


@dataclass(slots=True)
class Progress:
    """A piece of work that the server reports on (``$/progress``). Times are monotonic seconds."""

    title: str
    began: float
    ended: float | None = None
