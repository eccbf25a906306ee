"""The answer to ``initialize``: announced before any server runs and before anything heavy is imported."""

from __future__ import annotations

from typing import Any

from ombud import __version__
from ombud.operations.table import OPERATIONS, camel

COMPLETION_TRIGGERS = [".", '"', "'", "/", "<", ":", ">", "@", "$", "-", "#"]
SIGNATURE_TRIGGERS = ["(", ",", "<"]


def initialize_result() -> dict[str, Any]:
    """``InitializeResult``: the superset of what the servers of this catalogue can do.

    A method that a file's servers lack is answered with null at once, so announcing it costs the user nothing.
    """
    return {
        "capabilities": {
            "positionEncoding": "utf-16",
            "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
            "hoverProvider": True,
            "declarationProvider": True,
            "definitionProvider": True,
            "typeDefinitionProvider": True,
            "implementationProvider": True,
            "referencesProvider": True,
            "documentHighlightProvider": True,
            "documentSymbolProvider": True,
            "completionProvider": {"triggerCharacters": COMPLETION_TRIGGERS, "resolveProvider": True},
            "signatureHelpProvider": {"triggerCharacters": SIGNATURE_TRIGGERS, "retriggerCharacters": [","]},
            "codeActionProvider": {"resolveProvider": True},
            "codeLensProvider": {"resolveProvider": True},
            "documentLinkProvider": {"resolveProvider": True},
            "documentFormattingProvider": True,
            "documentRangeFormattingProvider": True,
            "renameProvider": {"prepareProvider": True},
            "foldingRangeProvider": True,
            "selectionRangeProvider": True,
            "linkedEditingRangeProvider": True,
            "callHierarchyProvider": True,
            "typeHierarchyProvider": True,
            "inlayHintProvider": {"resolveProvider": True},
            "workspaceSymbolProvider": True,
            "executeCommandProvider": {"commands": [f"ombud.{camel(name)}" for name in OPERATIONS]},
            "workspace": {"workspaceFolders": {"supported": True, "changeNotifications": True}},
            "experimental": {
                "ombud": {
                    "version": __version__,
                    "operations": [{"name": name, "tier": entry.tier} for name, entry in OPERATIONS.items()],
                }
            },
        },
        "serverInfo": {"name": "ombud", "version": __version__},
    }
