"""Who answers which method: the one table, method → policy. What is not in it is a vendor's (see `Policy.VENDOR`).

Servers are ordered by priority; ``onlyFeatures`` and ``exceptFeatures`` take a server out of a method (`features`).
"""

from __future__ import annotations

from enum import Enum


class Policy(Enum):
    """How the servers of a document share a method."""

    ALL = "all"
    """Every server that can; their answers are joined (`joins`)."""
    FOUND = "found"
    """The first that can *and* finds something: null or an empty list asks the next."""
    FIRST = "first"
    """The first that can. Its answer stands, whatever it is."""
    FORMATTER = "formatter"
    """As FIRST, but a formatter comes before a linter, and both before a type checker."""
    TOKENS = "tokens"
    """One owner a document for all kinds of semantic tokens, since a delta is one against its own answer."""
    RENAMER = "renamer"
    """The server that renames also says what can be renamed."""
    OWNER = "owner"
    """The server that made the item which the request is about."""
    FILES = "files"
    """Each running server whose file-operation filters match, with the files that match."""
    RUNNING = "running"
    """Every running server of the workspace that can; their lists are joined."""
    COMMAND = "command"
    """The server that announced the command."""
    VENDOR = "vendor"
    """Nobody's by the specification: the document's servers, or the one whose name the method begins with, or all that
    run, in order, until one does not answer "method not found"."""


POLICIES: dict[str, Policy] = {
    "textDocument/hover": Policy.ALL,
    "textDocument/completion": Policy.ALL,
    "textDocument/codeAction": Policy.ALL,
    "textDocument/references": Policy.ALL,
    "textDocument/documentLink": Policy.ALL,
    "textDocument/codeLens": Policy.ALL,
    "textDocument/inlayHint": Policy.ALL,
    "textDocument/inlineValue": Policy.ALL,
    "textDocument/documentColor": Policy.ALL,
    "textDocument/definition": Policy.FOUND,
    "textDocument/declaration": Policy.FOUND,
    "textDocument/typeDefinition": Policy.FOUND,
    "textDocument/implementation": Policy.FOUND,
    "textDocument/documentHighlight": Policy.FOUND,
    "textDocument/signatureHelp": Policy.FOUND,
    "textDocument/linkedEditingRange": Policy.FOUND,
    "textDocument/inlineCompletion": Policy.FOUND,
    "textDocument/moniker": Policy.FOUND,
    "textDocument/prepareCallHierarchy": Policy.FOUND,
    "textDocument/prepareTypeHierarchy": Policy.FOUND,
    "textDocument/documentSymbol": Policy.FOUND,
    "textDocument/foldingRange": Policy.FOUND,
    "textDocument/selectionRange": Policy.FOUND,
    "textDocument/colorPresentation": Policy.FOUND,
    "textDocument/formatting": Policy.FORMATTER,
    "textDocument/rangeFormatting": Policy.FORMATTER,
    "textDocument/rangesFormatting": Policy.FORMATTER,
    "textDocument/onTypeFormatting": Policy.FORMATTER,
    "textDocument/willSaveWaitUntil": Policy.FORMATTER,
    "textDocument/rename": Policy.RENAMER,
    "textDocument/prepareRename": Policy.RENAMER,
    "textDocument/semanticTokens/full": Policy.TOKENS,
    "textDocument/semanticTokens/full/delta": Policy.TOKENS,
    "textDocument/semanticTokens/range": Policy.TOKENS,
    "completionItem/resolve": Policy.OWNER,
    "codeAction/resolve": Policy.OWNER,
    "codeLens/resolve": Policy.OWNER,
    "documentLink/resolve": Policy.OWNER,
    "inlayHint/resolve": Policy.OWNER,
    "workspaceSymbol/resolve": Policy.OWNER,
    "callHierarchy/incomingCalls": Policy.OWNER,
    "callHierarchy/outgoingCalls": Policy.OWNER,
    "typeHierarchy/supertypes": Policy.OWNER,
    "typeHierarchy/subtypes": Policy.OWNER,
    "workspace/symbol": Policy.RUNNING,
    "workspace/willCreateFiles": Policy.FILES,
    "workspace/willRenameFiles": Policy.FILES,
    "workspace/willDeleteFiles": Policy.FILES,
    "workspace/executeCommand": Policy.COMMAND,
}

LISTED_BY: dict[str, str] = {
    "completionItem/resolve": "textDocument/completion",
    "codeAction/resolve": "textDocument/codeAction",
    "codeLens/resolve": "textDocument/codeLens",
    "documentLink/resolve": "textDocument/documentLink",
    "inlayHint/resolve": "textDocument/inlayHint",
    "workspaceSymbol/resolve": "workspace/symbol",
    "callHierarchy/incomingCalls": "textDocument/prepareCallHierarchy",
    "callHierarchy/outgoingCalls": "textDocument/prepareCallHierarchy",
    "typeHierarchy/supertypes": "textDocument/prepareTypeHierarchy",
    "typeHierarchy/subtypes": "textDocument/prepareTypeHierarchy",
}
"""The request whose answer held the item that a follow-up asks about."""

PATIENT = frozenset({"textDocument/references", *(name for name, way in POLICIES.items() if way is Policy.FILES)})
"""Joined methods whose answer is wrong when one server's part is missing: they wait for each server's own deadline.

The others go without a server that is `gather.PATIENCE` seconds slower than the first to answer.
"""
