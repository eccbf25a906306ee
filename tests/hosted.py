"""A hub and a session in the test's own process, for what no operation shows by itself: what a write would look at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ombud.diagnostics.fresh import settle
from ombud.downstream.server import Server
from ombud.graph.client import Graph
from ombud.operations.hub import Hub
from ombud.operations.session import Answered, Client, Session
from ombud.operations.targets import pin
from ombud.operations.writing.dependents import Found, Touched, dependents
from ombud.text.diff import line_map

PATIENCE = 60.0


class Front:
    """A client that hears everything and answers nothing."""

    def notify(self, method: str, params: Any) -> None:
        pass

    def ask(self, method: str, params: Any, answered: Answered) -> str:
        answered(None, None)
        return ""


@asynccontextmanager
async def session(
    root: Path, environment: Mapping[str, str], servers: Mapping[str, Any] | None = None
) -> AsyncIterator[Session]:
    """A session in this process; everything has ended when the block has. ``servers`` are rows as a client gives them.

    Commands are looked up in the process's own PATH, which the caller has set.
    """
    options = {"trusted": True, "servers": dict(servers or {})}
    hub = Hub()
    made = Session(hub, Client(folders=(root,), options=options), Front(), environment=environment)
    try:
        yield made
    finally:
        made.close()
        await hub.close()


def alone(name: str) -> dict[str, Any]:
    """Rows by which ``name`` is the only server of types."""
    from ombud.downstream.catalogue import load_catalogue

    return {one.name: {"disabled": True} for one in load_catalogue() if one.role == "types" and one.name != name}


async def indexed(made: Session, root: Path) -> Graph:
    """The code graph of a workspace folder, built. Its store is in the process's own cache folder."""
    from ombud.operations.graph.ground import opened

    graph = opened(made, root.resolve()).graph
    async with asyncio.timeout(PATIENCE):
        await graph.index()
    return graph


@dataclass(frozen=True)
class Change:
    """A file's change: each pair is an old text and what stands in its place; ``gone``: the file is deleted."""

    path: str
    pairs: Sequence[tuple[str, str]] = ()
    gone: bool = False

    def new(self, old: str) -> str | None:
        if self.gone:
            return None
        for before, after in self.pairs:
            assert old.count(before) == 1, f"{before!r} must stand once in {self.path}"
            old = old.replace(before, after)
        return old


async def searched(
    made: Session, name: str, changes: Sequence[Change], limit: int = 20, seconds: float = 30.0
) -> Found:
    """What `dependents` finds, asked as a write asks it: behind a gate, once the server has spoken of the old text."""
    held = []
    server: Server | None = None
    for change in changes:
        inside = made.fence.resolve(change.path, intent="read")
        old = inside.path.read_text(encoding="utf-8")
        server = next(one for one in made.servers(inside.path) if one.name == name)
        document = pin(made, inside, old, [server])
        new = change.new(old)
        held.append((document, Touched(document.uri, inside, old, new, line_map(old, new or ""))))
    assert server is not None
    server.need()
    gate = server.gate()
    try:
        async with asyncio.timeout(PATIENCE):
            await gate.reached()
            for document, _ in held:
                key, uri, version = document.key, document.uri, document.version
                await settle(made.hub.store, server, key, uri, version, PATIENCE, ordered=False, exact=True)
            while True:
                found = await dependents(made, server, [touched for _, touched in held], limit, seconds)
                if "busy" not in (found.partial or ""):
                    return found
    finally:
        gate.release()
        for document, _ in held:
            made.hub.documents.unpin(document)
