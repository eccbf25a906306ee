"""What an adapter asks of its client: to run the program in a terminal, and to debug a child of it."""

from __future__ import annotations

import codecs
import itertools
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.debug.connection import Connection, Plan
from ombud.errors import OmbudError
from ombud.process.child import Child
from ombud.process.ladder import Grace
from ombud.process.ladder import end as end_child

if TYPE_CHECKING:
    from ombud.debug.session import Session
    from ombud.process.exit import Exit
    from ombud.process.guardian import Guardian
    from ombud.wire.dap import Message

_REMARKS = ("Debugger attached.", "Debugger listening on ws", "Waiting for the debugger to disconnect...")
MOST_CHILDREN = 32
"""Child sessions at one time, and programs that were started for an adapter."""


class Reverse:
    """Reverse requests of one session. Each is answered; those that nobody here knows are refused."""

    def __init__(self, session: Session, guardian: Guardian) -> None:
        self._session = session
        self._guardian = guardian
        self._programs: list[Child] = []

    def asked(self, connection: Connection, message: Message) -> None:
        if message.command == "runInTerminal":
            self._session.spawn(self._run(connection, message))
        elif message.command == "startDebugging":
            self._session.spawn(self._debug(connection, message))
        else:
            connection.link.refuse(message, f"Ombud does not know the request {message.command[:80]!r}.")

    async def _run(self, connection: Connection, message: Message) -> None:
        """Without a terminal: its output goes where all output goes."""
        asked = message.content
        argv = [str(one) for one in asked.get("args") or ()]
        if len(self._programs) >= MOST_CHILDREN or not argv:
            connection.link.refuse(
                message, "There is nothing to run." if not argv else "Too many programs run already."
            )
            return
        environment = _changed(self._session.ready.env, asked.get("env"))
        executable = _executable(argv[0], environment.get("PATH", ""))
        if executable is None:
            connection.link.refuse(message, f"{argv[0]} is no program on PATH.")
            return
        try:
            child = await Child.start(
                [executable, *argv[1:]],
                cwd=_folder(asked.get("cwd"), self._session.ready.cwd),
                env=environment,
                on_stdout=self._printer("stdout"),
                on_stderr=self._printer("stderr"),
                on_exit=self._over,
                guardian=self._guardian,
                linger=None,
            )
        except OmbudError as error:
            connection.link.refuse(message, error.message)
            return
        self._programs.append(child)
        connection.link.answer(message, {"processId": child.pid})

    def _printer(self, category: str) -> Callable[[bytes], None]:
        """Bytes to text, of which a character may come in two pieces."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")

        def heard(data: bytes) -> None:
            for remark, lines in itertools.groupby(decoder.decode(data).splitlines(keepends=True), _is_remark):
                self._session.output.add("console" if remark else category, "".join(lines))

        return heard

    def _over(self, end: Exit) -> None:
        self._session.left(end.code)

    @property
    def lives(self) -> bool:
        """Whether a program that was started here runs."""
        return any(not one.died.is_set() for one in self._programs)

    async def _debug(self, connection: Connection, message: Message) -> None:
        """A child session: a further connection, to the same adapter or to where its configuration says."""
        session = self._session
        asked = message.content
        configuration = asked.get("configuration")
        if not isinstance(configuration, dict) or len(session.connections) > MOST_CHILDREN:
            connection.link.refuse(message, "This child session cannot be started.")
            return
        connection.link.answer(message, {})
        request = "attach" if asked.get("request") == "attach" else "launch"
        plan = Plan(request, str(configuration.get("type") or session.plan.type), configuration, session.plan.watch)
        try:
            await session.connect(plan, connection, _address(configuration.get("connect")))
        except OmbudError as error:
            if session.state != "exited":
                session.output.add("important", f"A child process is not debugged: {error.message}\n")

    async def end(self) -> None:
        for child in self._programs:
            await end_child(child, grace=Grace(goodbye=0, stdin=0, term=1.0, kill=5.0))


def _is_remark(line: str) -> bool:
    """Whether Node speaks of its debugger, and not the program."""
    return line.startswith(_REMARKS)


def _address(said: Any) -> tuple[str, int] | None:
    """Where a child waits for us: only ever on this machine."""
    if not isinstance(said, dict) or not isinstance(said.get("port"), int):
        return None
    host = str(said.get("host") or "127.0.0.1")
    return (host, said["port"]) if host in ("127.0.0.1", "localhost", "::1") else None


def _changed(env: Mapping[str, str], changes: Any) -> dict[str, str]:
    found = dict(env)
    for name, value in changes.items() if isinstance(changes, dict) else ():
        if value is None:
            found.pop(name, None)
        else:
            found[str(name)] = str(value)
    return found


def _executable(word: str, path: str) -> str | None:
    if Path(word).is_absolute():
        return word
    for folder in path.split(os.pathsep):
        if folder and Path(folder).is_absolute() and os.access(Path(folder, word), os.X_OK):
            return str(Path(folder, word))
    return None


def _folder(said: Any, otherwise: Path) -> Path:
    return Path(said) if isinstance(said, str) and Path(said).is_absolute() else otherwise
