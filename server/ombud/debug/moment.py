"""What can be asked while a program stands still: threads, frames, scopes, variables, values.

Numbers of frames and of variables are ours: they lead to the connection that knows them, and to nothing once the
program has run on.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.debug import lines
from ombud.errors import OmbudError, PeerError, Refused, UserError

if TYPE_CHECKING:
    from ombud.debug.connection import Connection
    from ombud.debug.session import Session, Stop

FRAMES = 30
"""Frames of one answer."""
CHILDREN = 50
"""Children of one answer, unless more are asked for."""
VALUE = 400
"""Characters of one value."""
COMMANDED = frozenset(("lldb", "lldb-dap", "gdb", "gdbtarget"))
"""Adapters that take what is typed into their console for a command; what is watched they take for an expression."""
EVALUATE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Frame:
    """``line`` is one-based; ``path`` None for code that has no file here. ``text`` is the source line."""

    id: int
    name: str
    path: Path | None
    line: int
    text: str
    is_subtle: bool = False


@dataclass(frozen=True, slots=True)
class Stack:
    """``total`` is how many there are, as far as the adapter says."""

    frames: tuple[Frame, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Scope:
    """``expensive``: to list its variables takes long. ``hint``: arguments, locals, registers, …, or empty."""

    name: str
    variables_reference: int
    expensive: bool
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """``variables_reference`` is 0 where there is nothing inside. ``cut``: the value is longer."""

    name: str
    value: str
    type: str
    variables_reference: int
    cut: bool = False


@dataclass(slots=True)
class _Known:
    """What numbers mean until the program runs on."""

    frames: dict[int, tuple[Connection, int]] = field(default_factory=dict)
    references: dict[int, tuple[Connection, int]] = field(default_factory=dict)
    numbers: dict[tuple[Connection, str, int], int] = field(default_factory=dict)


class Moment:
    """See the module. One for a session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._known = _Known()
        self._next = itertools.count(1000)
        self._threads: dict[int, tuple[Connection, int]] = {}

    def begin(self) -> None:
        """The program has stopped. Numbers never come back, so that an old one is never taken for a new one."""
        self._known = _Known()

    def over(self) -> None:
        """The program runs on."""
        self._known = _Known()

    def _number(self, connection: Connection, kind: str, theirs: int) -> int:
        key = (connection, kind, theirs)
        found = self._known.numbers.get(key)
        if found is None:
            found = self._known.numbers[key] = next(self._next)
            table = self._known.frames if kind == "frame" else self._known.references
            table[found] = (connection, theirs)
        return found

    def _reference(self, connection: Connection, theirs: Any) -> int:
        return self._number(connection, "variables", theirs) if isinstance(theirs, int) and theirs > 0 else 0

    # -- threads --------------------------------------------------------------------------------------------------

    async def threads(self) -> list[tuple[int, str]]:
        """Number and name of each thread, over all connections."""
        found: list[tuple[int, str]] = []
        taken: dict[int, tuple[Connection, int]] = {}
        for connection in self._session.connections:
            if not connection.is_ready and not connection.has_stopped:
                continue
            try:
                answer = await connection.link.ask("threads")
            except PeerError as error:
                if error.kind == "timeout" and connection is self._session.root:
                    raise
                continue
            for row in answer.get("threads") or ():
                if isinstance(row, dict) and isinstance(row.get("id"), int):
                    number = row["id"]
                    while number in taken:
                        # Two processes may have threads of one number.
                        number += 1_000_000
                    taken[number] = (connection, row["id"])
                    found.append((number, str(row.get("name") or f"thread {row['id']}")))
        self._threads = taken
        return found

    async def thread(self, number: int | None) -> tuple[Connection, int]:
        """A thread by its number; without one the one that stopped. Raises `UserError` for one that is not there."""
        stop = self._session.stop
        if number is None:
            if stop is None:
                stop = self._session.need_stop()
            return stop.connection, stop.thread
        if stop is not None and number == stop.thread:
            return stop.connection, stop.thread
        if number not in self._threads:
            await self.threads()
        if number not in self._threads:
            there = ", ".join(map(str, list(self._threads)[:20])) or "none"
            raise UserError(f"There is no thread {number}; there are: {there}.", kind="not_found")
        return self._threads[number]

    # -- frames ---------------------------------------------------------------------------------------------------

    async def stack(self, thread: int | None = None, start: int = 0, limit: int = FRAMES) -> Stack:
        """Frames from the innermost on. Raises `Refused` while the program runs."""
        self._session.need_stop()
        connection, theirs = await self.thread(thread)
        return await self._frames(connection, theirs, start, limit)

    async def _frames(self, connection: Connection, thread: int, start: int, limit: int) -> Stack:
        arguments = {"threadId": thread, "startFrame": start, "levels": limit}
        answer = await connection.link.ask("stackTrace", arguments)
        rows = [row for row in answer.get("stackFrames") or () if isinstance(row, dict)]
        if start and not connection.can("supportsDelayedStackTraceLoading") and len(rows) > limit:
            rows = rows[start:]  # It gives all of them, whatever is asked for.
        total = answer.get("totalFrames")
        frames = tuple(self._frame(connection, row) for row in rows[:limit])
        least = start + len(rows)
        return Stack(frames, max(total, least) if isinstance(total, int) else least)

    def _frame(self, connection: Connection, row: Mapping[str, Any]) -> Frame:
        source = row.get("source")
        said = source.get("path") if isinstance(source, dict) else None
        path = Path(said) if isinstance(said, str) and said.startswith("/") else None
        line = row.get("line")
        line = line if isinstance(line, int) else 0
        hints = {row.get("presentationHint"), source.get("presentationHint") if isinstance(source, dict) else None}
        theirs = row.get("id")
        return Frame(
            self._number(connection, "frame", theirs if isinstance(theirs, int) else 0),
            str(row.get("name") or "?").removesuffix(" (Current frame)"),
            path,
            line,
            lines.line(path, line) if path is not None else "",
            bool(hints & {"subtle", "label", "deemphasize"}),
        )

    async def frame(self, number: int | None) -> tuple[Connection, int]:
        """A frame by its number; without one the innermost of the thread that stopped. Raises `UserError`."""
        stop = self._session.need_stop()
        if number is None:
            stack = await self._frames(stop.connection, stop.thread, 0, 1)
            if not stack.frames:
                raise Refused("The stopped thread has no frames.", kind="not_found")
            number = stack.frames[0].id
        found = self._known.frames.get(number)
        if found is None:
            raise UserError(
                f"There is no frame {number} at this stop; “stack” lists those there are.", kind="not_found"
            )
        return found

    # -- variables ------------------------------------------------------------------------------------------------

    async def scopes(self, frame: int | None = None) -> list[Scope]:
        connection, theirs = await self.frame(frame)
        answer = await connection.link.ask("scopes", {"frameId": theirs})
        return [
            Scope(
                str(row.get("name") or "?"),
                self._reference(connection, row.get("variablesReference")),
                bool(row.get("expensive")),
                str(row.get("presentationHint") or ""),
            )
            for row in answer.get("scopes") or ()
            if isinstance(row, dict)
        ]

    def reference(self, number: int) -> tuple[Connection, int]:
        """Raises `UserError` for a number that leads nowhere (any more)."""
        self._session.need_stop()
        found = self._known.references.get(number)
        if found is None:
            raise UserError(
                f"There are no variables under {number} at this stop; “scopes” and “variables” give the numbers.",
                kind="not_found",
            )
        return found

    async def variables(
        self, reference: int, start: int = 0, limit: int = CHILDREN, longest: int = VALUE
    ) -> tuple[list[Variable], int]:
        """Children from ``start`` on, and how many there are as far as is known."""
        connection, theirs = self.reference(reference)
        # Adapters that page do it by values of their own ("[0…99]"); ``start`` and ``count`` few of them take.
        answer = await connection.link.ask("variables", {"variablesReference": theirs})
        rows = [row for row in answer.get("variables") or () if isinstance(row, dict)]
        shown = rows[start : start + limit]
        return [self.variable(connection, row, longest) for row in shown], len(rows)

    def variable(self, connection: Connection, row: Mapping[str, Any], longest: int = VALUE) -> Variable:
        value = str(row.get("value", row.get("result", "")))
        cut = len(value) > longest
        return Variable(
            str(row.get("name") or ""),
            value[:longest] + "…" if cut else value,
            str(row.get("type") or ""),
            self._reference(connection, row.get("variablesReference")),
            cut,
        )

    async def set_variable(self, reference: int, name: str, value: str) -> Variable:
        """Raises `PeerError` in the adapter's words where it cannot."""
        connection, theirs = self.reference(reference)
        if not connection.can("supportsSetVariable"):
            raise Refused(
                f"{connection.link.name} cannot set variables; try “evaluate” with an assignment.", kind="conflict"
            )
        arguments = {"variablesReference": theirs, "name": name, "value": value}
        answer = await connection.link.ask("setVariable", arguments)
        return self.variable(connection, {"name": name, **answer})

    async def evaluate(self, expression: str, frame: int | None = None, longest: int = VALUE) -> Variable:
        """The value of an expression in a frame. It is run by the program, with all its effects (B6)."""
        connection, theirs = await self.frame(frame)
        context = "watch" if self._session.plan.type in COMMANDED else "repl"
        arguments = {"expression": expression, "frameId": theirs, "context": context}
        try:
            answer = await connection.link.ask("evaluate", arguments, seconds=EVALUATE_SECONDS)
        except PeerError as error:
            if error.kind == "timeout" or connection.link.over is not None:
                raise
            raise UserError(error.message, kind="invalid_params", expression=expression[:200]) from None
        return self.variable(connection, {"name": "", **answer}, longest)

    # -- exceptions -----------------------------------------------------------------------------------------------

    async def exception(self, stop: Stop) -> dict[str, str] | None:
        """What was raised at this stop: its ``type``, ``message`` and ``details``; None where nothing was."""
        if stop.reason != "exception" and "exception" not in stop.reason:
            return None
        said = stop.text or stop.description
        plain = {"type": stop.text if stop.description else "", "message": stop.description or said, "details": ""}
        if not stop.connection.can("supportsExceptionInfoRequest"):
            return plain
        try:
            answer = await stop.connection.link.ask("exceptionInfo", {"threadId": stop.thread})
        except OmbudError:
            return plain
        said_more = answer.get("details")
        details: dict[str, Any] = said_more if isinstance(said_more, dict) else {}
        return {
            "type": _bare(str(answer.get("exceptionId") or details.get("fullTypeName") or plain["type"])),
            "message": str(details.get("message") or answer.get("description") or plain["message"]),
            "details": str(details.get("stackTrace") or ""),
        }


def _bare(text: str) -> str:
    """A type without what debugpy remarks beside it."""
    return text.partition("(note: ")[0].strip()
