"""Ask language servers by line and symbol: definitions, references, hover, symbols, calls, signatures, code actions.

Servers start as needed. ``complete`` is false, with a note, while one of them was still indexing or did not answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Raw

from ombud.downstream.server import Server
from ombud.errors import OmbudError, PeerError, Refused, UserError
from ombud.operations import answers
from ombud.operations.shapes import Shape, Sources
from ombud.operations.targets import Target, opened, place
from ombud.operations.writing.plan import Writing
from ombud.text.ranges import Position
from ombud.wire.values import load_any, null

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.writing.result import WriteResult

Action = Literal[
    "definition",
    "type_definition",
    "implementation",
    "references",
    "hover",
    "symbols",
    "code_actions",
    "incoming_calls",
    "outgoing_calls",
    "signature",
]

METHODS: dict[str, str] = {
    "definition": "textDocument/definition",
    "type_definition": "textDocument/typeDefinition",
    "implementation": "textDocument/implementation",
    "references": "textDocument/references",
    "hover": "textDocument/hover",
    "signature": "textDocument/signatureHelp",
    "incoming_calls": "callHierarchy/incomingCalls",
    "outgoing_calls": "callHierarchy/outgoingCalls",
}
JOINED = {"references", "hover"}
"""What every capable server is asked for; the others are asked of the first that has an answer."""


PROJECT_WIDE = {
    "textDocument/references",
    "textDocument/implementation",
    "callHierarchy/incomingCalls",
    "callHierarchy/outgoingCalls",
    "workspace/symbol",
}
"""What is answered from all files of a project, so that an answer given too early is partial."""
INDEX_SECONDS = 20.0
YOUNG_SECONDS = 15.0
"""For so long after its start a server that is silent about it is taken to be still reading the project."""


class Params(Writing, frozen=True):
    """What goes with `Writing` goes with ``apply``; ``wait_ms`` with all ``code_actions``."""

    action: Annotated[Action, msgspec.Meta(description="What is asked.")]
    path: Annotated[str, msgspec.Meta(description="The file.")] | None = None
    line: Annotated[int, msgspec.Meta(ge=1, description="The line, counted from one; goes with symbol.")] | None = None
    symbol: (
        Annotated[str, msgspec.Meta(description="A name on that line; name#2 is its second occurrence there.")] | None
    ) = None
    position: Annotated[Position, msgspec.Meta(description="An LSP position instead of line and symbol.")] | None = None
    query: Annotated[str, msgspec.Meta(description="Part of a symbol's name, for the action symbols.")] | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000, description="How many items at the most.")] = 200
    apply: (
        Annotated[
            str,
            msgspec.Meta(
                min_length=1,
                description="For code_actions: carry out the action of this title, or the only one whose title "
                "contains it. Needs the tier write.",
            ),
        ]
        | None
    ) = None


class Result(Shape):
    items: list[dict[str, Any]]
    complete: bool
    servers: list[str]
    note: str | None


class Asking:
    """The servers asked in one operation, what they answered, and what was wrong with it."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.answered: list[str] = []
        self.notes: list[str] = []
        self.failure: OmbudError | None = None
        """What the first server that failed failed of."""

    async def ask(self, server: Server, method: str, params: Any) -> Any:
        """One server's decoded answer; None where it has none or cannot be asked."""
        try:
            server.need()
            await server.turn()
            if not server.offers(method):
                return None
            if method in PROJECT_WIDE:
                await self.indexed(server)
            busy = server.working_on
            raw = await server.ask(method, params)
            busy = busy or server.working_on
        except OmbudError as error:
            self.failure = self.failure or error
            self.notes.append(error.message)
            return None
        self.answered.append(server.name)
        if busy:
            self.notes.append(f"{server.name} was still busy ({busy[0]}), so its answer may be partial; ask again.")
        return None if null(raw) else load_any(Raw(bytes(raw)))

    async def indexed(self, server: Server) -> None:
        """Wait until a server that says when it has found the project's files has said so (D10)."""
        child = server.child
        if server.entry.indexes_silently and child is not None and time.monotonic() - child.started_at < YOUNG_SECONDS:
            self.notes.append(
                f"{server.name} was started a moment ago and does not say when it has read the project, so its answer "
                "may be partial; ask again."
            )
        if not server.entry.indexed_log or server.indexed.is_set():
            return
        try:
            with server.waiting():
                async with asyncio.timeout(INDEX_SECONDS):
                    await server.indexed.wait()
        except TimeoutError:
            self.notes.append(
                f"{server.name} was still looking for the project's files, so its answer may be partial; ask again."
            )

    async def first(self, servers: Sequence[Server], method: str, params: Any) -> tuple[Server | None, Any]:
        """The first answer that is not empty, by priority."""
        for server in servers:
            answer = await self.ask(server, method, params)
            if answer:
                return server, answer
        return None, None

    async def all(
        self, servers: Sequence[Server], method: str, params: Callable[[Server], Any]
    ) -> list[tuple[Server, Any]]:
        """Every server's answer that is not empty, by priority; ``params`` are made when a server is asked."""
        found = await asyncio.gather(*(self.ask(server, method, params(server)) for server in servers))
        # By priority, as the items are, and not by who was the fastest this time.
        order = {server.name: number for number, server in enumerate(servers)}
        self.answered.sort(key=lambda name: order.get(name, -1))
        return [(server, answer) for server, answer in zip(servers, found, strict=True) if answer]

    def result(self, items: list[dict[str, Any]], limit: int) -> Result:
        notes = list(dict.fromkeys(self.notes))
        if len(items) > limit:
            notes.append(f"Shown {limit} of {len(items)}; narrow the question or raise limit.")
        names = list(dict.fromkeys(self.answered))
        return Result(items=items[:limit], complete=not self.notes, servers=names, note=" ".join(notes) or None)


async def run(session: Session, params: Params) -> Result | WriteResult:
    """Raises `UserError` for a place that is not there, `Refused` (``no_server``, the fence's kinds).

    Where no server can answer, the code graph does for definition, references, symbols and calls, and the note says so.
    """
    try:
        return await _asked(session, params)
    except Refused as error:
        if error.kind != "no_server" or params.apply is not None:
            raise
        from ombud.operations.graph.instead import answer

        found = await answer(session, params)
        if found is None:
            raise
        return found


async def _asked(session: Session, params: Params) -> Result | WriteResult:
    if params.apply is None and (params.preview or params.format or params.diagnostics != "wait" or params.severity):
        raise UserError("preview, format, diagnostics and severity go with apply, the title of a code action.")
    if params.action == "code_actions":
        from ombud.operations.actions import run as code_actions

        return await code_actions(session, params)
    if params.apply is not None:
        raise UserError("apply goes with the action code_actions.")
    if params.action == "symbols" and params.path is None:
        return await _workspace_symbols(session, params)
    if params.path is None:
        raise UserError(f"{params.action} needs a path.")
    with opened(session, params.path) as target:
        asking = Asking(session)
        sources = Sources(session)
        document = {"uri": target.document.uri}
        if params.action == "symbols":
            _, answer = await asking.first(target.servers, "textDocument/documentSymbol", {"textDocument": document})
            items = answers.symbols(answer, target.document.uri, sources)
            if params.query:
                items = [item for item in items if params.query.lower() in item["name"].lower()]
            return checked(asking, target, asking.result(items, params.limit), "textDocument/documentSymbol")
        position = place(target.document, target.inside.relative, params.line, params.symbol, params.position)
        at = {"textDocument": document, "position": position}
        items = await _items(asking, target, params.action, at, sources)
        return checked(asking, target, asking.result(items, params.limit), METHODS[params.action])


async def _items(
    asking: Asking, target: Target, action: str, at: dict[str, Any], sources: Sources
) -> list[dict[str, Any]]:
    method = METHODS[action]
    if action in ("incoming_calls", "outgoing_calls"):
        return await _calls(asking, target, action, at, sources)
    if action == "references":
        at = {**at, "context": {"includeDeclaration": True}}
    if action in JOINED:
        found = await asking.all(target.servers, method, lambda _: at)
        if action == "hover":
            return [answers.hover(server.name, answer) for server, answer in found]
        return answers.locations([answer for _, answer in found], sources)
    _, answer = await asking.first(target.servers, method, at)
    if action == "signature":
        return answers.signatures(answer)
    return answers.locations([answer], sources)


async def _calls(
    asking: Asking, target: Target, action: str, at: dict[str, Any], sources: Sources
) -> list[dict[str, Any]]:
    server, prepared = await asking.first(target.servers, "textDocument/prepareCallHierarchy", at)
    if server is None:
        return []
    items = []
    for item in prepared if isinstance(prepared, list) else []:
        calls = await asking.ask(server, METHODS[action], {"item": item})
        items += answers.calls(calls, "from" if action == "incoming_calls" else "to", sources)
    return items


async def _workspace_symbols(session: Session, params: Params) -> Result:
    """Symbols of the workspace by name, from the servers that run; none is started for a guess at a language."""
    if not params.query:
        raise UserError("symbols needs a path (the file's symbols) or a query (the workspace's).")
    servers = session.running()
    if not servers:
        raise Refused(
            "No language server is running yet, so there is nobody to ask; open or name a file of the language first.",
            kind="no_server",
        )
    asking = Asking(session)
    found = await asking.all(servers, "workspace/symbol", lambda _: {"query": params.query})
    sources = Sources(session)
    items = [item for _, answer in found for item in answers.symbols(answer, "", sources)]
    return asking.result(items, params.limit)


def checked(asking: Asking, target: Target, result: Result, method: str) -> Result:
    """An empty answer of nobody is an error, not an empty list: silence is never called clean."""
    if not result.servers:
        names = ", ".join(server.name for server in target.servers)
        reason = " ".join(dict.fromkeys(asking.notes)) or f"{names} cannot answer {method}."
        text = f"Nobody could answer for {target.inside.relative}: {reason}"
        if asking.failure is not None:
            # A deadline or a crash is what it is here too (protocol.md, "Starting and failing").
            raise PeerError(text, kind=asking.failure.kind, **asking.failure.data)
        raise Refused(text, kind="no_server", servers=names)
    return result
