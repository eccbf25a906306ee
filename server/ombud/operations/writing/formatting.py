"""Formatting before the commit (``format: true``): the owner's edits of the new text, so that what is written is final.

The formatter is shown the new text behind a gate and the old one again in front of a second, as for a preview.
"""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.diagnostics.fresh import settle
from ombud.downstream.router import formatting_rank
from ombud.errors import OmbudError, PeerError
from ombud.operations.targets import language, pin
from ombud.operations.writing.disk import no_unsaved
from ombud.operations.writing.intact import intact
from ombud.text.changes import TextEdit, apply_text_edits
from ombud.text.lines import LineIndex
from ombud.wire.values import load, null

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.session import Session
    from ombud.operations.writing.plan import Edition, Plan
    from ombud.workspace.documents import Document

METHOD = "textDocument/formatting"
INSTEAD = "Write it without format."
BACK_SECONDS = 30.0
"""How long the formatter may take to speak of the old text again, until clients are shown what it says all the same."""
FORMAT_SECONDS = 30.0
"""How long the formatter may take to start and to answer, for each file."""


async def formatted(session: Session, plan: Plan) -> tuple[Plan, str | None]:
    """The plan with its new texts formatted, and a sentence on the files that nobody can format.

    Raises `Refused` (``conflict``, as the write would, and as `intact` for what a formatter has broken) and `PeerError`
    where the formatter fails: nothing is written then.
    """
    no_unsaved(session, plan.editions)
    editions = []
    without = []
    by_formatter: dict[str, list[Edition]] = {}
    for edition in plan.editions:
        if edition.new is None or (edition.new == edition.old and (edition.to is not None or edition.mode is not None)):
            editions.append(edition)
            continue
        found = await _formatted(session, edition)
        if found is None:
            without.append(edition.target.relative)
            editions.append(edition)
            continue
        name, text = found
        editions.append(_with(edition, text))
        by_formatter.setdefault(name, []).append(replace(editions[-1], old=edition.new))
    notes = [f"No formatter was found for {', '.join(without[:5])}."] if without else []
    for name, changed in by_formatter.items():
        notes += filter(None, [await intact(session, changed, name, INSTEAD)])
    return replace(plan, editions=tuple(editions)), " ".join(notes) or None


def _with(edition: Edition, text: str) -> Edition:
    after = edition.buffer.encode(text)
    return replace(edition, new=text, after=after)


async def _formatted(session: Session, edition: Edition) -> tuple[str, str] | None:
    """The formatter's name and the new text as it wants it; None where there is no formatter."""
    assert edition.new is not None
    inside = edition.target
    servers = sorted(session.servers(inside.path, language(session, inside)), key=formatting_rank)
    for server in servers:
        try:
            server.need()
            await server.turn()
        except OmbudError:
            continue
        if server.offers(METHOD):
            edits = await _edits(session, edition, server)
            eol = edition.buffer.eol
            return server.name, apply_text_edits(edition.new, edits, eol=eol) if edits else edition.new
    return None


async def _edits(session: Session, edition: Edition, server: Server) -> list[TextEdit]:
    hub, inside, new = session.hub, edition.target, edition.new or ""
    there = edition.to is None and edition.old is not None
    document = pin(session, inside, edition.old or "", [server]) if there else None
    before, behind = server.gate(), None
    # Clients see nothing of it until the server speaks of the old text again.
    after = ExitStack()
    after.enter_context(hub.store.veiled(server))
    try:
        if document is not None:
            hub.documents.replace(document, new)
        else:
            document = pin(session, inside, new, [server])
        after.callback(hub.documents.unpin, document)
        behind = server.gate()
        if there:
            hub.documents.replace(document, edition.old or "")
        else:
            hub.documents.removed(document)
        await before.reached()
        before.release()
        await behind.reached()
        return await _asked(server, document.uri, new, inside.relative)
    finally:
        before.release()
        if behind is not None:
            behind.release()
        hub.spawn(_back(session, server, document, after))


async def _back(session: Session, server: Server, document: Document | None, after: ExitStack) -> None:
    """Let clients hear the server again once it has spoken of the old text, or after `BACK_SECONDS`."""
    hub = session.hub
    try:
        if document is not None and hub.documents.at(document.key) is document:
            version = document.version
            await settle(hub.store, server, document.key, document.uri, version, BACK_SECONDS, needed=False)
    finally:
        if document is not None and hub.documents.at(document.key) is None:
            hub.store.never(server, document.key)
        after.close()


async def _asked(server: Server, uri: str, text: str, name: str) -> list[TextEdit]:
    params = {"textDocument": {"uri": uri}, "options": options(text)}
    try:
        async with asyncio.timeout(FORMAT_SECONDS):
            raw = await server.ask(METHOD, params, ordered=False)
    except TimeoutError:
        raise PeerError(
            f"{server.name} has not formatted {name} within {FORMAT_SECONDS:.0f} s, so nothing was written; try again "
            "without format.",
            kind="timeout",
            server=server.name,
        ) from None
    except OmbudError as error:
        raise PeerError(
            f"{server.name} could not format {name}, so nothing was written: {error.message}",
            kind=error.kind,
            server=server.name,
        ) from error
    try:
        return [] if null(raw) else load(raw, list[TextEdit])
    except msgspec.ValidationError as error:
        text = f"{server.name} answered {METHOD} for {name} with something else than edits, so nothing was written."
        raise PeerError(text, kind="server_failed", server=server.name) from error


def options(text: str) -> dict[str, Any]:
    """``FormattingOptions`` as the text itself has them; servers with settings of their own go by those."""
    lines = LineIndex(text)
    widths = []
    for number in range(min(lines.count, 2000)):
        line = lines.line(number)
        if line.startswith("\t"):
            return {"tabSize": 4, "insertSpaces": False}
        width = len(line) - len(line.lstrip(" "))
        if width and line.strip():
            widths.append(width)
    return {"tabSize": 2 if widths and min(widths) == 2 else 4, "insertSpaces": True}
