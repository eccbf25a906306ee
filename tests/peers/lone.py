"""One language server without a hub: a real `Server` over real processes, a listener that takes notes, and a count
of the answers to every request.

    async with Lone(tmp_path) as lone:
        server = lone.server(Script("one", log=log))
        server.need()
        asked = lone.ask(server, "textDocument/hover", hover_params())
        assert result(await asked.outcome()) == …

At the end every process is ended, and every request made through `ask` must have had exactly one answer. Times are
seconds.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec import UNSET, Raw
from ombud.downstream.catalogue import DiagnosticsProfile, ServerEntry
from ombud.downstream.link import Outcome, ServerError
from ombud.downstream.queue import Ticket
from ombud.downstream.server import Server
from ombud.downstream.states import Launch, State
from ombud.errors import OmbudError
from ombud.process.child import Child
from ombud.process.exit import Exit
from ombud.process.guardian import Guardian
from ombud.wire.envelope import Message

from tests.peers.script import Script

URI = "file:///srv/ws/a.x"
PATIENCE = 20.0


class Asked:
    """A request on its way, with every answer that its asker was given."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.outcomes: list[Outcome] = []
        self.ticket: Ticket | None = None
        self._answered = asyncio.Event()

    def settle(self, outcome: Outcome) -> None:
        self.outcomes.append(outcome)
        self._answered.set()

    async def outcome(self, timeout: float = PATIENCE) -> Outcome:
        async with asyncio.timeout(timeout):
            await self._answered.wait()
        return self.outcomes[0]

    def cancel(self) -> None:
        assert self.ticket is not None
        self.ticket.cancel()


class Notes:
    """The listener: what the server said, which states it was in, what it was sent. ``documents`` are opened anew for
    each process, as the hub does it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.states: list[State] = []
        self.reasons: list[str] = []
        self.sent: list[tuple[str, int]] = []
        self.starts = 0
        self.documents: dict[str, tuple[int, str]] = {}
        self.on_message: Callable[[Server, Message], None] = lambda _server, _message: None
        self._changed = asyncio.Event()

    def server_said(self, server: Server, message: Message) -> None:
        self.messages.append(message)
        self._changed.set()
        if message.is_request:
            assert isinstance(message.id, int | str)
            server.answer(message.id, None)
        self.on_message(server, message)

    def server_changed(self, server: Server) -> None:
        self.states.append(server.state)
        self.reasons.append(server.reason)
        self._changed.set()

    def server_starts(self, server: Server) -> None:
        self.starts += 1
        for uri in self.documents:
            self.open(server, uri)

    def server_sent(self, server: Server, uri: str, version: int) -> None:
        self.sent.append((uri, version))
        self._changed.set()

    def open(self, server: Server, uri: str) -> None:
        version, text = self.documents[uri]
        item = {"uri": uri, "languageId": "x", "version": version, "text": text}

        def run() -> None:
            server.documents[uri] = version
            server.notify_now("textDocument/didOpen", {"textDocument": item})
            self.server_sent(server, uri, version)

        server.enqueue(run)

    def methods(self) -> list[str]:
        return [message.method for message in self.messages if isinstance(message.method, str)]

    async def until(self, condition: Callable[[], object], timeout: float = PATIENCE) -> None:
        """Wait until a message, a state or a sent document makes ``condition`` true."""
        try:
            async with asyncio.timeout(timeout):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            raise TimeoutError(f"states {self.states}, reasons {self.reasons}, heard {self.methods()}") from None


class Lone:
    """See the module."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.notes = Notes()
        self.guardian = Guardian()
        self.asked: list[Asked] = []
        self.children: list[Child] = []
        self.before_spawn: Callable[[], None] = lambda: None
        self.spawned: Callable[[Child], Awaitable[object]] | None = None
        """Awaited before the spawn returns its child to the server."""
        self._servers: list[Server] = []

    async def __aenter__(self) -> Lone:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for server in self._servers:
                await server.stop(State.AVAILABLE, "The test is over.")
            if kind is None:
                assert {asked.method: len(asked.outcomes) for asked in self.asked if len(asked.outcomes) != 1} == {}
        finally:
            await self.guardian.close()

    async def spawn(
        self,
        argv: tuple[str, ...],
        cwd: Path,
        environment: Mapping[str, str],
        on_stdout: Callable[[bytes], None],
        on_exit: Callable[[Exit], None],
    ) -> Child:
        self.before_spawn()
        child = await Child.start(
            argv, cwd=cwd, env=environment, on_stdout=on_stdout, on_exit=on_exit, guardian=self.guardian
        )
        self.children.append(child)
        if self.spawned is not None:
            await self.spawned(child)
        return child

    def server(self, script: Script, command: list[str] | None = None, **entry: Any) -> Server:
        """A server that nothing has needed yet; ``entry`` are fields of its catalogue row."""
        argv = tuple(command or script.command())
        row = ServerEntry(
            **{
                "name": script.name,
                "languages": ("x",),
                "role": "types",
                "priority": 1,
                "commands": (argv,),
                "markers": ("x.toml",),
                "weak_markers": (),
                "install": "It is part of the tests.",
                "runs_workspace_code": False,
                "diagnostics": DiagnosticsProfile(),
                "completion_triggers": (),
                **entry,
            }
        )
        launch = Launch(argv, dict(os.environ), {})
        server = Server(row, self.root, self.root.as_uri(), launch, self.notes, self.spawn)
        self._servers.append(server)
        return server

    def ask(self, server: Server, method: str, params: Any = UNSET, **options: Any) -> Asked:
        asked = Asked(method)
        self.asked.append(asked)
        asked.ticket = server.request(method, params, asked.settle, **options)
        return asked

    async def ready(self, server: Server) -> Child:
        """Need the server and wait until it answers; returns its process."""
        server.need()
        await self.notes.until(lambda: server.state is State.READY)
        assert server.child is not None
        return server.child

    async def state(self, server: Server) -> dict[str, Any]:
        """What the scripted server knows, asked past everything else that is under way."""
        answer = self.ask(server, "test/state")
        found = result(await answer.outcome())
        assert isinstance(found, dict)
        return found


def at(line: int = 0, character: int = 0, uri: str = URI) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}


def result(outcome: Outcome) -> Any:
    """The result's value; fails for any other outcome."""
    assert isinstance(outcome, Raw), outcome
    return json.loads(bytes(outcome))


def error(outcome: Outcome) -> OmbudError:
    """The error of ours with which a request ended."""
    assert isinstance(outcome, OmbudError), outcome
    return outcome


def refusal(outcome: Outcome) -> ServerError:
    """The error of the server's own."""
    assert isinstance(outcome, ServerError), outcome
    return outcome
