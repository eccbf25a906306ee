"""Pulling diagnostics (``textDocument/diagnostic``, LSP 3.17) and telling a full report from an unchanged one."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
from msgspec import Raw

from ombud.diagnostics.store import Store
from ombud.downstream.server import Server
from ombud.errors import CONTENT_MODIFIED, SERVER_CANCELLED, PeerError
from ombud.wire.values import load, null

RETRIES = 5
RETRY_SECONDS = 0.1


class _Report(msgspec.Struct):
    kind: str = "full"
    items: list[Raw] | None = None
    resultId: str | None = None  # noqa: N815  (the protocol's name)


async def pull(store: Store, server: Server, key: str, uri: str, *, ordered: bool = True) -> bool:
    """Ask ``server`` for the document as it was last sent, and store the answer. True when it gave one.

    A server that cancels by itself or sees the content modified is asked again a few times (LSP 3.17,
    ``DiagnosticServerCancellationData``). Raises `PeerError` when the server fails.
    """
    for attempt in range(RETRIES):
        track = store.track(server, key)
        version = track.sent_version
        params: dict[str, Any] = {"textDocument": {"uri": uri}}
        if track.result_id is not None:
            params["previousResultId"] = track.result_id
        identifier = _identifier(server)
        if identifier is not None:
            params["identifier"] = identifier
        try:
            raw = await server.ask("textDocument/diagnostic", params, ordered=ordered)
        except PeerError as error:
            if error.data.get("serverCode") not in (SERVER_CANCELLED, CONTENT_MODIFIED) or attempt == RETRIES - 1:
                raise
            await asyncio.sleep(RETRY_SECONDS * (attempt + 1))
            continue
        if store.track(server, key) is not track or null(raw):
            return False
        try:
            report = load(Raw(bytes(raw)), _Report)
        except msgspec.ValidationError as error:
            text = f"{server.name} answered textDocument/diagnostic with something else than a report: {error}."
            raise PeerError(text, kind="server_failed", server=server.name) from None
        items = None if report.kind == "unchanged" else tuple(Raw(bytes(item)) for item in report.items or [])
        store.pull(server, key, version, items, report.resultId)
        return True
    return False


def _identifier(server: Server) -> str | None:
    """The provider's identifier, which the specification wants back in each request."""
    provider = server.capabilities.announced.get("diagnosticProvider")
    for options in [provider, *server.capabilities.registrations("textDocument/diagnostic")]:
        if isinstance(options, dict) and isinstance(options.get("identifier"), str):
            return str(options["identifier"])
    return None
