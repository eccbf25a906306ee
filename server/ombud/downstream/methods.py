"""Who answers which method: the one table, method → policy. What is not in it goes to the document's first server.

FIRST   the first server by priority that can; asked in order until one is able.
OWNER   the server that made the item which is being resolved.
EVERY   each running server that can; their lists are joined.
COMMAND the server that announced the command.
"""

from __future__ import annotations

from enum import Enum


class Policy(Enum):
    FIRST = "first"
    OWNER = "owner"
    EVERY = "every"
    COMMAND = "command"


POLICIES: dict[str, Policy] = {
    "textDocument/hover": Policy.FIRST,
    "textDocument/definition": Policy.FIRST,
    "textDocument/declaration": Policy.FIRST,
    "textDocument/typeDefinition": Policy.FIRST,
    "textDocument/implementation": Policy.FIRST,
    "textDocument/references": Policy.FIRST,
    "textDocument/documentHighlight": Policy.FIRST,
    "textDocument/documentSymbol": Policy.FIRST,
    "textDocument/completion": Policy.FIRST,
    "textDocument/signatureHelp": Policy.FIRST,
    "textDocument/codeAction": Policy.FIRST,
    "textDocument/codeLens": Policy.FIRST,
    "textDocument/documentLink": Policy.FIRST,
    "textDocument/documentColor": Policy.FIRST,
    "textDocument/colorPresentation": Policy.FIRST,
    "textDocument/formatting": Policy.FIRST,
    "textDocument/rangeFormatting": Policy.FIRST,
    "textDocument/onTypeFormatting": Policy.FIRST,
    "textDocument/rename": Policy.FIRST,
    "textDocument/prepareRename": Policy.FIRST,
    "textDocument/foldingRange": Policy.FIRST,
    "textDocument/selectionRange": Policy.FIRST,
    "textDocument/linkedEditingRange": Policy.FIRST,
    "textDocument/inlayHint": Policy.FIRST,
    "textDocument/inlineValue": Policy.FIRST,
    "textDocument/moniker": Policy.FIRST,
    "textDocument/prepareCallHierarchy": Policy.FIRST,
    "textDocument/prepareTypeHierarchy": Policy.FIRST,
    "callHierarchy/incomingCalls": Policy.FIRST,
    "callHierarchy/outgoingCalls": Policy.FIRST,
    "typeHierarchy/supertypes": Policy.FIRST,
    "typeHierarchy/subtypes": Policy.FIRST,
    "completionItem/resolve": Policy.OWNER,
    "codeAction/resolve": Policy.OWNER,
    "codeLens/resolve": Policy.OWNER,
    "documentLink/resolve": Policy.OWNER,
    "inlayHint/resolve": Policy.OWNER,
    "workspaceSymbol/resolve": Policy.OWNER,
    "workspace/symbol": Policy.EVERY,
    "workspace/executeCommand": Policy.COMMAND,
}

LISTED_BY: dict[str, str] = {
    "completionItem/resolve": "textDocument/completion",
    "codeAction/resolve": "textDocument/codeAction",
    "codeLens/resolve": "textDocument/codeLens",
    "documentLink/resolve": "textDocument/documentLink",
    "inlayHint/resolve": "textDocument/inlayHint",
    "workspaceSymbol/resolve": "workspace/symbol",
}
"""The request whose answer held the item that a resolve asks about."""
