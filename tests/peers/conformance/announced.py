"""What the conformance server announces: every capability of LSP 3.17, and which method needs which."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Json = dict[str, Any]

# Standard words in an order of the server's own, so that a token's number alone says nothing.
TOKEN_TYPES = ["function", "variable", "comment", "class"]
TOKEN_MODIFIERS = ["readonly", "static", "deprecated", "async"]
COMMANDS = ("own", "ask", "tell", "release", "state")
"""Words of commands; the server's name stands before them. ``conformance.shared`` is in each server's list."""

_FILES = {"filters": [{"scheme": "file", "pattern": {"glob": "**", "options": {"ignoreCase": True}}}]}


def capabilities(name: str) -> Json:
    commands = [*(f"{name}.{word}" for word in COMMANDS), "conformance.shared"]
    return {
        "positionEncoding": "utf-16",
        "textDocumentSync": {
            "openClose": True,
            "change": 2,
            "willSave": True,
            "willSaveWaitUntil": True,
            "save": {"includeText": True},
        },
        "notebookDocumentSync": {
            "notebookSelector": [{"notebook": {"notebookType": "x-notebook"}, "cells": [{"language": "x"}]}],
            "save": True,
        },
        "completionProvider": {
            "triggerCharacters": ["."],
            "allCommitCharacters": [";"],
            "resolveProvider": True,
            "completionItem": {"labelDetailsSupport": True},
        },
        "hoverProvider": {"workDoneProgress": True},
        "signatureHelpProvider": {"triggerCharacters": ["("], "retriggerCharacters": [","]},
        "declarationProvider": {"documentSelector": None, "id": "declares"},
        "definitionProvider": True,
        "typeDefinitionProvider": True,
        "implementationProvider": True,
        "referencesProvider": {"workDoneProgress": True},
        "documentHighlightProvider": True,
        "documentSymbolProvider": {"label": name},
        "codeActionProvider": {
            "codeActionKinds": ["quickfix", "refactor.extract", "source.organizeImports"],
            "resolveProvider": True,
        },
        "codeLensProvider": {"resolveProvider": True},
        "documentLinkProvider": {"resolveProvider": True},
        "colorProvider": True,
        "documentFormattingProvider": True,
        "documentRangeFormattingProvider": {"rangesSupport": True},
        "documentOnTypeFormattingProvider": {"firstTriggerCharacter": "}", "moreTriggerCharacter": ["\n"]},
        "renameProvider": {"prepareProvider": True},
        "foldingRangeProvider": True,
        "executeCommandProvider": {"commands": commands, "workDoneProgress": True},
        "selectionRangeProvider": True,
        "linkedEditingRangeProvider": True,
        "callHierarchyProvider": True,
        "semanticTokensProvider": {
            "legend": {"tokenTypes": TOKEN_TYPES, "tokenModifiers": TOKEN_MODIFIERS},
            "range": True,
            "full": {"delta": True},
        },
        "monikerProvider": True,
        "typeHierarchyProvider": True,
        "inlineValueProvider": True,
        "inlayHintProvider": {"resolveProvider": True},
        "diagnosticProvider": {"identifier": name, "interFileDependencies": True, "workspaceDiagnostics": True},
        "inlineCompletionProvider": True,
        "workspaceSymbolProvider": {"resolveProvider": True},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {
                f"{when}{what}": _FILES for when in ("did", "will") for what in ("Create", "Rename", "Delete")
            },
        },
        "experimental": {"vendor": {"name": name}},
    }


NEEDS: dict[str, str] = {
    "completionItem/resolve": "completionProvider.resolveProvider",
    "codeAction/resolve": "codeActionProvider.resolveProvider",
    "codeLens/resolve": "codeLensProvider.resolveProvider",
    "documentLink/resolve": "documentLinkProvider.resolveProvider",
    "inlayHint/resolve": "inlayHintProvider.resolveProvider",
    "workspaceSymbol/resolve": "workspaceSymbolProvider.resolveProvider",
    "workspace/symbol": "workspaceSymbolProvider",
    "workspace/executeCommand": "executeCommandProvider",
    "workspace/diagnostic": "diagnosticProvider.workspaceDiagnostics",
    "textDocument/documentColor": "colorProvider",
    "textDocument/colorPresentation": "colorProvider",
    "textDocument/formatting": "documentFormattingProvider",
    "textDocument/rangeFormatting": "documentRangeFormattingProvider",
    "textDocument/rangesFormatting": "documentRangeFormattingProvider.rangesSupport",
    "textDocument/onTypeFormatting": "documentOnTypeFormattingProvider",
    "textDocument/prepareRename": "renameProvider.prepareProvider",
    "textDocument/prepareCallHierarchy": "callHierarchyProvider",
    "callHierarchy/incomingCalls": "callHierarchyProvider",
    "callHierarchy/outgoingCalls": "callHierarchyProvider",
    "textDocument/prepareTypeHierarchy": "typeHierarchyProvider",
    "typeHierarchy/supertypes": "typeHierarchyProvider",
    "typeHierarchy/subtypes": "typeHierarchyProvider",
    "textDocument/semanticTokens/full": "semanticTokensProvider.full",
    "textDocument/semanticTokens/full/delta": "semanticTokensProvider.full.delta",
    "textDocument/semanticTokens/range": "semanticTokensProvider.range",
    "textDocument/willSave": "textDocumentSync.willSave",
    "textDocument/willSaveWaitUntil": "textDocumentSync.willSaveWaitUntil",
    "textDocument/didOpen": "textDocumentSync.openClose",
    "textDocument/didClose": "textDocumentSync.openClose",
    "textDocument/didChange": "textDocumentSync.change",
    "textDocument/didSave": "textDocumentSync.save",
    "notebookDocument/didOpen": "notebookDocumentSync",
    "notebookDocument/didChange": "notebookDocumentSync",
    "notebookDocument/didClose": "notebookDocumentSync",
    "notebookDocument/didSave": "notebookDocumentSync.save",
    "workspace/didChangeWorkspaceFolders": "workspace.workspaceFolders.changeNotifications",
    **{
        f"workspace/{when}{what}Files": f"workspace.fileOperations.{when}{what}"
        for when in ("did", "will")
        for what in ("Create", "Rename", "Delete")
    },
}
"""The dotted path of the capability that a client's message needs, where it is not ``<last word>Provider``."""

FREE = {
    *("initialize", "initialized", "shutdown", "exit", "$/setTrace", "$/cancelRequest", "$/progress"),
    *("window/workDoneProgress/cancel", "workspace/didChangeConfiguration", "workspace/didChangeWatchedFiles"),
}
"""Messages of a client that need no capability of the server."""


def need(method: str) -> str | None:
    """The dotted path of the capability that a standard ``method`` needs; None for those that need none."""
    return None if method in FREE else NEEDS.get(method, f"{method.rpartition('/')[2]}Provider")


def dig(tree: Any, path: str) -> Any:
    """The value at a dotted path, None where there is none."""
    for word in path.split("."):
        tree = tree.get(word) if isinstance(tree, dict) else None
    return tree


def without(tree: Json, path: str) -> None:
    """Take the capability at a dotted path out of ``tree``."""
    head, _, leaf = path.rpartition(".")
    node = dig(tree, head) if head else tree
    del node[leaf]
