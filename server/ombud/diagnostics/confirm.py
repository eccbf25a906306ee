"""Asking a server that says nothing about a clean file whether it is clean, by a request of its own.

typescript-language-server and vtsls push nothing when an error-free file stays so, which no wait can tell from being
late (decision 9). They do pass a request on to tsserver, whose synchronous answers count the diagnostics of exactly
the content it has: then silence is no longer all there is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from msgspec import Raw

from ombud.downstream.server import Server
from ombud.errors import OmbudError
from ombud.guard.uris import uri_to_path
from ombud.wire.values import load_any

Confirm = Callable[[Server, str, bool], Awaitable[int | None]]
"""``(server, uri, ordered)`` → how many diagnostics the content has now; None when the server cannot tell."""

_COMMAND = "typescript.tsserverRequest"
_KINDS = ("syntacticDiagnosticsSync", "semanticDiagnosticsSync", "suggestionDiagnosticsSync")


async def tsserver(server: Server, uri: str, ordered: bool) -> int | None:
    """The count of tsserver's syntactic, semantic and suggestion diagnostics for a file."""
    if _COMMAND not in server.capabilities.commands:
        return None
    count = 0
    for kind in _KINDS:
        params = {"command": _COMMAND, "arguments": [kind, {"file": str(uri_to_path(uri))}]}
        try:
            raw = await server.ask("workspace/executeCommand", params, ordered=ordered)
        except OmbudError:
            return None
        answer: Any = load_any(Raw(bytes(raw)))
        body = answer.get("body") if isinstance(answer, dict) else None
        if not isinstance(body, list):
            return None
        count += len(body)
    return count


STRATEGIES: dict[str, Confirm] = {"tsserver": tsserver}
"""By the word in a catalogue row's ``diagnostics.confirm``."""
