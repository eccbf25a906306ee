"""What Ombud tells a language server of itself in ``initialize`` (LSP 3.17).

What the client says of itself is passed on, since it is what its user can see (snippets, markdown, tags), and what it
leaves out of a part that it does speak of it cannot do. On top comes what Ombud takes care of itself. A client that
does not speak of a part at all, as an agent does, is answered richly: it reads what it understands.

A server is told this once, when it starts, and serves every client of its root from then on. So it is the first client
that counts. One that comes later and can do more is served as plainly as the first. One that can do less may be sent
what it did not ask for: markdown, snippets, location links. Only `SHAPED` is kept from servers altogether, since it
would put wrong text into files.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Raw

from ombud import __version__
from ombud.downstream.link import Link, Outcome, ServerError
from ombud.downstream.semantic import MODIFIERS, TYPES
from ombud.downstream.states import Launch
from ombud.errors import OmbudError, PeerError
from ombud.guard.redact import clean, redact
from ombud.wire.values import load_any

_MARKUP = ["markdown", "plaintext"]
_KINDS = list(range(1, 27))
_REFRESHED = {"refreshSupport": True}

UNSAID: dict[str, dict[str, Any]] = {
    "textDocument": {
        "hover": {"contentFormat": _MARKUP},
        "completion": {
            "contextSupport": True,
            "completionItem": {
                "documentationFormat": _MARKUP,
                "deprecatedSupport": True,
                "tagSupport": {"valueSet": [1]},
                "labelDetailsSupport": True,
                "resolveSupport": {"properties": ["documentation", "detail", "additionalTextEdits"]},
            },
        },
        "signatureHelp": {
            "signatureInformation": {
                "documentationFormat": _MARKUP,
                "parameterInformation": {"labelOffsetSupport": True},
                "activeParameterSupport": True,
            },
        },
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
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit", "command"]},
        },
        "codeLens": {},
        "documentLink": {"tooltipSupport": True},
        "colorProvider": {},
        "formatting": {},
        "rangeFormatting": {},
        "onTypeFormatting": {},
        "rename": {"prepareSupport": True},
        "publishDiagnostics": {
            "relatedInformation": True,
            "codeDescriptionSupport": True,
            "dataSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "foldingRange": {"lineFoldingOnly": True},
        "selectionRange": {},
        "linkedEditingRange": {},
        "callHierarchy": {},
        "typeHierarchy": {},
        "semanticTokens": {
            "requests": {"range": True, "full": {"delta": True}},
            "tokenTypes": list(TYPES),
            "tokenModifiers": list(MODIFIERS),
            "formats": ["relative"],
        },
        "moniker": {},
        "inlineValue": {},
        "inlayHint": {"resolveSupport": {"properties": ["tooltip", "textEdits", "label.tooltip", "label.location"]}},
    },
    "workspace": {
        # Somebody who can may come later; until then the server is told that its edit was not applied.
        "applyEdit": True,
        "workspaceEdit": {"documentChanges": True, "resourceOperations": ["create", "rename", "delete"]},
        "symbol": {"symbolKind": {"valueSet": _KINDS}, "resolveSupport": {"properties": ["location.range"]}},
        "executeCommand": {},
        "fileOperations": {"willRename": True, "didRename": True},
    },
    "window": {},
    "general": {},
}
"""Used for each group that the client does not mention at all."""

OURS: dict[str, dict[str, Any]] = {
    "textDocument": {
        # Ombud saves by itself (`write`), and tells the version it has when it hears of diagnostics.
        "synchronization": {"didSave": True},
        "diagnostic": {"dynamicRegistration": True, "relatedDocumentSupport": True},
        "publishDiagnostics": {"versionSupport": True},
    },
    "workspace": {
        "configuration": True,
        "workspaceFolders": True,
        "didChangeConfiguration": {"dynamicRegistration": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True, "relativePatternSupport": True},
        # Passed on to every client that can. To the others it is no harm, and one that can may come later.
        "diagnostics": _REFRESHED,
        "codeLens": _REFRESHED,
        "semanticTokens": _REFRESHED,
        "inlayHint": _REFRESHED,
        "inlineValue": _REFRESHED,
        "foldingRange": _REFRESHED,
    },
    "window": {"workDoneProgress": True},
    "general": {"positionEncodings": ["utf-16"]},
}
"""What Ombud answers or does itself, whatever the client can."""

SHAPED = frozenset({"snippetTextEdit", "ombud"})
"""Entries of ``experimental`` that are no server's business: ours, and rust-analyzer's snippets in plain text edits,
which Ombud and the server's other clients would write into files as they stand."""


_UNREGISTERED = frozenset({"publishDiagnostics"})
"""Features of documents that no server can register."""


def capabilities(client: Mapping[str, Any]) -> dict[str, Any]:
    """The ``ClientCapabilities`` for a server, from those of the client whose need started it."""
    out: dict[str, Any] = {group: _group(group, client.get(group)) for group in UNSAID}
    for name, value in client.items():
        if name not in out:
            out[name] = _static(deepcopy(value)) if name == "notebookDocument" else deepcopy(value)
    if "offsetEncoding" in out:
        # clangd's own word for the encoding of positions: only one may be spoken here (architecture.md, decision 5).
        out["offsetEncoding"] = ["utf-16"]
    experimental = out.get("experimental")
    if isinstance(experimental, dict):
        out["experimental"] = {name: value for name, value in experimental.items() if name not in SHAPED}
    return out


def _group(group: str, said: Any) -> dict[str, Any]:
    """One group of capabilities. ``dynamicRegistration`` is Ombud's own word: it is who answers a registration."""
    known: dict[str, Any] = deepcopy(dict(said)) if isinstance(said, Mapping) else deepcopy(UNSAID[group])
    for name, value in OURS[group].items():
        have = known.get(name)
        known[name] = {**have, **value} if isinstance(have, dict) and isinstance(value, dict) else deepcopy(value)
    if group == "textDocument":
        for name, value in known.items():
            # Said in so many words: of a client that does not say it biome hears neither, and offers no formatting.
            if isinstance(value, dict) and name not in _UNREGISTERED:
                value.setdefault("dynamicRegistration", False)
    _static(known, OURS[group])
    return known


def _static(known: Any, ours: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """``known`` without registrations, except for what Ombud takes them for.

    A server that registers later what it could announce at once would be routed past until then.
    """
    for name, value in known.items() if isinstance(known, dict) else ():
        if isinstance(value, dict) and "dynamicRegistration" in value:
            mine = ours.get(name)
            value["dynamicRegistration"] = isinstance(mine, Mapping) and mine.get("dynamicRegistration", False)
    return known


def initialize_params(launch: Launch, root: Path, root_uri: str, options: Any) -> dict[str, Any]:
    """``InitializeParams`` for a server rooted at ``root``. Its parent process is Ombud."""
    return {
        "processId": os.getpid(),
        "clientInfo": {"name": "ombud", "version": __version__},
        "locale": launch.locale,
        "rootPath": str(root),
        "rootUri": root_uri,
        "capabilities": capabilities(launch.client_capabilities),
        "initializationOptions": options,
        "trace": launch.trace,
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
