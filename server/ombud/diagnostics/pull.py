"""Pulling diagnostics (``textDocument/diagnostic``, LSP 3.17) and telling a full report from an unchanged one."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Raw

from ombud.diagnostics.report import DOCUMENT, UNCHANGED, Report, read
from ombud.diagnostics.store import Store
from ombud.downstream.server import Server
from ombud.errors import CONTENT_MODIFIED, SERVER_CANCELLED, PeerError
from ombud.guard.uris import same_uri_key
from ombud.wire.values import null

PULL_DELAY = 0.05
"""Seconds without another change before what is open is pulled for its readers."""
RETRIES = 5
RETRY_SECONDS = 0.1


async def pull(store: Store, server: Server, key: str, uri: str, *, ordered: bool = True) -> bool:
    """Ask ``server`` for the document as it was last sent, and store the answer. True when it gave one.

    A server that cancels by itself or sees the content modified is asked again a few times (LSP 3.17,
    ``DiagnosticServerCancellationData``). Raises `PeerError` when the server fails.
    """
    for attempt in range(RETRIES):
        track = store.track(server, key)
        version, refreshes, world = track.sent_version, track.refreshes, store.world(server).count
        params = question(server, uri, track.result_id)
        track.asked_version = version
        try:
            raw = await server.ask(DOCUMENT, params, ordered=ordered)
        except PeerError as error:
            if error.data.get("serverCode") not in (SERVER_CANCELLED, CONTENT_MODIFIED) or attempt == RETRIES - 1:
                raise
            await asyncio.sleep(RETRY_SECONDS * (attempt + 1))
            continue
        finally:
            track.asked_version = 0
        if store.track(server, key) is not track or null(raw):
            return False
        note(store, server, key, version, refreshes, parsed(server, raw), world)
        return True
    return False


async def glance(server: Server, uri: str) -> list[Raw]:
    """What ``server`` says of a file that is not open, which nothing is kept of. Raises `PeerError`."""
    raw = await server.ask(DOCUMENT, question(server, uri, None))
    return [] if null(raw) else list(parsed(server, raw).diagnostics or ())


def question(server: Server, uri: str, previous: str | None) -> dict[str, Any]:
    """The params of a pull, with the provider's identifier, which the specification wants back in each request."""
    params: dict[str, Any] = {"textDocument": {"uri": uri}}
    identifier = identifier_of(server)
    if identifier is not None:
        params["identifier"] = identifier
    if previous is not None:
        params["previousResultId"] = previous
    return params


def parsed(server: Server, raw: Raw) -> Report:
    """A server's report. Raises `PeerError` for anything else."""
    try:
        return read(raw)
    except msgspec.ValidationError as error:
        text = f"{server.name} answered {DOCUMENT} with something else than a report: {error}."
        raise PeerError(text, kind="server_failed", server=server.name) from None


def note(store: Store, server: Server, key: str, version: int, refreshes: int, report: Report, world: int = 0) -> None:
    """Store a report that was asked for at ``version``, after so many refreshes, and what it says of other files.

    ``world`` is what `Store.world` counted when it was asked for; 0 where that was not looked at.
    """
    track = store.track(server, key)
    # A refresh that came between question and answer says that the answer is out of date already.
    idle = server.entry.diagnostics.refreshes_idly and store.world(server).count == world
    evidence = version if track.refreshes == refreshes or idle else 0
    related = tuple(report.relatedDocuments or ())
    store.pull(server, key, evidence, report.diagnostics, report.resultId, related, world)
    for uri, other in (report.relatedDocuments or {}).items():
        if other.kind != UNCHANGED:
            store.related(server, same_uri_key(uri), other.diagnostics or (), other.resultId)


def identifier_of(server: Server) -> str | None:
    """The ``identifier`` of its diagnostic provider, which it wants back in each request; None where it has none."""
    provider = server.capabilities.announced.get("diagnosticProvider")
    for options in [provider, *server.capabilities.registrations(DOCUMENT)]:
        if isinstance(options, dict) and isinstance(options.get("identifier"), str):
            return str(options["identifier"])
    return None
