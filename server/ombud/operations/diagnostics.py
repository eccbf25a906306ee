"""The current diagnostics of a file, or of every open file, with each server's freshness.

An empty list from a server that is not ``fresh`` is not clean: it is not known.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.diagnostics.fresh import Verdict, settle
from ombud.diagnostics.items import decode
from ombud.downstream.server import Server
from ombud.errors import OmbudError
from ombud.operations.shapes import (
    Arguments,
    DiagnosticShape,
    FreshnessShape,
    Hints,
    Shape,
    Wait,
    diagnostic,
    freshness,
)
from ombud.operations.targets import language, opened
from ombud.operations.writing.perform import collected
from ombud.operations.writing.result import DiagnosticsShape
from ombud.text.lines import LineIndex
from ombud.workspace.documents import Document

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Params(Arguments, frozen=True):
    path: Annotated[str, msgspec.Meta(description="A file, or * for all that are open.")]
    wait_ms: Wait | None = None
    severity: Hints | None = None


class Result(Shape, omit_defaults=True):
    diagnostics: list[DiagnosticShape]
    servers: list[FreshnessShape]
    files: int
    series: DiagnosticsShape | None = None
    """What the writes with diagnostics of "defer" have introduced; with a path of * only."""


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused` (the fence's kinds, ``no_server``)."""
    wait = (session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms) / 1000
    hints = params.severity == "hint"
    if params.path != "*":
        async with turns(session, params.path):
            with opened(session, params.path) as target:
                verdicts = await settled(session, target.document, target.servers, wait)
                items = _items(session, target.document, target.servers, target.inside.relative, hints)
        return Result(diagnostics=items, servers=[freshness(verdict) for verdict in verdicts], files=1)
    series = await collected(session, round(wait * 1000), hints=hints) if session.series else None
    items = []
    worst: dict[str, Verdict] = {}
    documents = [one for one in session.hub.documents.all() if session.fence.contains(one.path)]
    for document, verdicts in await asyncio.gather(*(_all(session, document, wait) for document in documents)):
        try:
            path = session.fence.resolve(document.uri, intent="write").relative
        except OmbudError:
            # An editor may show a protected file; that is no reason to say nothing of the others.
            continue
        items += _items(session, document, session.hub.servers_of(document.uri), path, hints)
        for verdict in verdicts:
            former = worst.get(verdict.server)
            if former is None or (former.freshness == "fresh" and verdict.freshness != "fresh"):
                worst[verdict.server] = verdict
    rows = [freshness(verdict) for verdict in worst.values()]
    return Result(diagnostics=items, servers=rows, files=len(documents), series=series)


@asynccontextmanager
async def turns(session: Session, path: str) -> AsyncIterator[None]:
    """Hold back the opening of a file until a server that reports on one document at a time is free for it."""
    inside = session.fence.resolve(path, intent="read")
    async with AsyncExitStack() as held:
        for server in session.servers(inside.path, language(session, inside)):
            if server.entry.diagnostics.shared_debounce:
                await held.enter_async_context(session.hub.turn(server))
        yield


async def _all(session: Session, document: Document, wait: float) -> tuple[Document, list[Verdict]]:
    return document, await settled(session, document, session.hub.servers_of(document.uri), wait)


async def settled(session: Session, document: Document, servers: list[Server], wait: float) -> list[Verdict]:
    store, version = session.hub.store, document.version
    return await asyncio.gather(
        *(
            settle(store, server, document.key, document.uri, version, wait, world=store.world(server).count)
            for server in servers
            if server.entry.serves("diagnostics")
        )
    )


def _items(
    session: Session, document: Document, servers: list[Server], path: str, hints: bool
) -> list[DiagnosticShape]:
    lines = LineIndex(document.shown)
    out = []
    for server in servers:
        items = decode(server.name, session.hub.store.track(server, document.key).joined())
        out += [diagnostic(path, item, lines) for item in items if hints or item.severity != "hint"]
    return sorted(out, key=lambda shape: (shape.line, shape.range.start.character, shape.source))
