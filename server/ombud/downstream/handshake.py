"""What Ombud tells a language server of itself in ``initialize`` (LSP 3.17).

The client's own capabilities are passed on, since they say what its user can see (snippets, markdown, tags). On top
come those that Ombud takes care of itself, and underneath a set for the parts that the client never speaks of, so
that an agent without any capabilities is still answered richly.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from msgspec import Raw

from ombud import __version__
from ombud.downstream.link import Link, Outcome, ServerError
from ombud.errors import OmbudError, PeerError
from ombud.guard.redact import clean, redact
from ombud.wire.values import load_any

_MARKUP = ["markdown", "plaintext"]
_KINDS = list(range(1, 27))

UNSAID: dict[str, dict[str, Any]] = {
    "textDocument": {
        "synchronization": {"didSave": True},
        "hover": {"contentFormat": _MARKUP},
        "completion": {
            "contextSupport": True,
            "completionItem": {"documentationFormat": _MARKUP, "deprecatedSupport": True, "labelDetailsSupport": True},
        },
        "signatureHelp": {"signatureInformation": {"documentationFormat": _MARKUP}},
        "declaration": {"linkSupport": True},
        "definition": {"linkSupport": True},
        "typeDefinition": {"linkSupport": True},
        "implementation": {"linkSupport": True},
        "references": {},
        "documentHighlight": {},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True, "symbolKind": {"valueSet": _KINDS}},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source", "source.organizeImports"]}
            },
            "isPreferredSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit", "command"]},
        },
        "formatting": {},
        "rangeFormatting": {},
        "rename": {"prepareSupport": True},
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "foldingRange": {"lineFoldingOnly": True},
        "selectionRange": {},
        "callHierarchy": {},
        "typeHierarchy": {},
    },
    "workspace": {
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "symbol": {"symbolKind": {"valueSet": _KINDS}},
        "executeCommand": {},
        "fileOperations": {"willRename": True, "didRename": True},
    },
    "window": {},
    "general": {},
}
"""Used for each entry that the client does not mention at all."""

OURS: dict[str, dict[str, Any]] = {
    "textDocument": {
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": False},
        "publishDiagnostics": {"versionSupport": True},
    },
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        "diagnostics": {"refreshSupport": True},
    },
    "window": {"workDoneProgress": True},
    "general": {"positionEncodings": ["utf-16"]},
}
"""What Ombud answers or does itself, whatever the client can."""

_DYNAMIC = {
    ("textDocument", "diagnostic"),
    ("workspace", "didChangeConfiguration"),
    ("workspace", "didChangeWatchedFiles"),
}


def capabilities(client: Mapping[str, Any]) -> dict[str, Any]:
    """The ``ClientCapabilities`` for a server, from those of the client whose need started it."""
    out: dict[str, Any] = {}
    for group, unsaid in UNSAID.items():
        said = client.get(group)
        known: dict[str, Any] = deepcopy(dict(said)) if isinstance(said, Mapping) else {}
        for name, value in unsaid.items():
            known.setdefault(name, deepcopy(value))
        for name, value in OURS[group].items():
            have = known.get(name)
            known[name] = {**have, **value} if isinstance(have, dict) and isinstance(value, dict) else value
        for name, value in known.items():
            # A server that registers later what it could announce at once would be routed past until then.
            if isinstance(value, dict) and "dynamicRegistration" in value and (group, name) not in _DYNAMIC:
                value["dynamicRegistration"] = False
        out[group] = known
    for name, value in client.items():
        if name not in out and name != "experimental":
            out[name] = value
    return out


def initialize_params(
    client: Mapping[str, Any], root: Path, root_uri: str, options: Any, trace: str = "off"
) -> dict[str, Any]:
    """``InitializeParams`` for a server rooted at ``root``. Its parent process is Ombud."""
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "ombud", "version": __version__},
        "locale": "en",
        "rootPath": str(root),
        "rootUri": root_uri,
        "capabilities": capabilities(client),
        "initializationOptions": options,
        "trace": trace,
        "workspaceFolders": [{"uri": root_uri, "name": root.name or str(root)}],
    }


def announcement(result: Raw) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The capabilities and the ``serverInfo`` of an ``InitializeResult``. Raises `ValueError` for anything else."""
    value = load_any(result)
    if not isinstance(value, dict):
        raise ValueError("the result is no object")
    announced, info = value.get("capabilities") or {}, value.get("serverInfo")
    if not isinstance(announced, dict):
        raise ValueError("capabilities is no object")
    return announced, info if isinstance(info, Mapping) else {}


async def shake_hands(
    link: Link, params: Mapping[str, Any], seconds: float, words: Callable[[], str]
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Send ``initialize``: the announced capabilities, and ``serverInfo``.

    ``words`` gives the server's own last words. Raises `PeerError`: ``timeout`` after ``seconds``, ``server_failed``
    where it refuses, answers with something else, or is lost before the answer could be used.
    """
    answered: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    def settle(outcome: Outcome) -> None:
        if not answered.done():
            answered.set_result(outcome)

    link.call("initialize", params, settle, None)
    try:
        async with asyncio.timeout(seconds):
            outcome = await answered
    except TimeoutError:
        text = f"{link.name} did not answer initialize within {seconds:g} s of its start.{words()}"
        raise PeerError(text, kind="timeout", server=link.name) from None
    if isinstance(outcome, OmbudError):
        raise outcome
    if link.over is not None:
        # It broke off between its answer and this moment, as servers do that exit after initialize.
        raise link.over
    if isinstance(outcome, ServerError):
        text = f"{link.name} refused to initialize: {clean(redact(outcome.message), 300)}"
        raise PeerError(text, kind="server_failed", server=link.name)
    try:
        return announcement(outcome)
    except ValueError as error:
        text = f"{link.name} answered initialize with something else than capabilities: {error}"
        raise PeerError(text, kind="server_failed", server=link.name) from None


def version_of(info: Mapping[str, Any]) -> str | None:
    """The version in a ``serverInfo``. gopls puts its whole build record there, as JSON."""
    version = info.get("version")
    if not isinstance(version, str) or not version:
        return None
    if version.startswith("{"):
        try:
            record = load_any(version.encode())
            main = record.get("Main") or {}
            version = str(main.get("Version") or record.get("Version") or "")
        except (ValueError, AttributeError):
            return None
    return clean(version, 100) or None
