"""Client capabilities as three kinds of clients declare them.

``VSCODE``: the workbench with vscode-languageclient 9 or later: nearly everything, registered dynamically.
``NEOVIM``: Neovim 0.11's built-in client: UTF-8 offered first, few dynamic registrations, null settings.
``AGENT``: a script that speaks JSON-RPC and declares nothing at all.

They follow the specification's shapes (LSP 3.17, "initialize") and what these clients are known to send; value sets
are generated, since only their bounds matter here.
"""

from __future__ import annotations

from typing import Any

Capabilities = dict[str, Any]

_SYMBOL_KINDS = list(range(1, 27))
_COMPLETION_KINDS = list(range(1, 26))
_CODE_ACTION_KINDS = [
    "",
    "quickfix",
    "refactor",
    "refactor.extract",
    "refactor.inline",
    "refactor.rewrite",
    "source",
    "source.organizeImports",
]
_TOKEN_TYPES = [
    *("namespace", "type", "class", "enum", "interface", "struct", "typeParameter", "parameter", "variable"),
    *("property", "enumMember", "event", "function", "method", "macro", "keyword", "modifier", "comment"),
    *("string", "number", "regexp", "operator", "decorator"),
]
_TOKEN_MODIFIERS = [
    *("declaration", "definition", "readonly", "static", "deprecated", "abstract", "async", "modification"),
    *("documentation", "defaultLibrary"),
]


def _dynamic(**more: Any) -> dict[str, Any]:
    return {"dynamicRegistration": True, **more}


def _fixed(**more: Any) -> dict[str, Any]:
    return {"dynamicRegistration": False, **more}


AGENT: Capabilities = {}

_VSCODE_WORKSPACE: Capabilities = {
    "applyEdit": True,
    "workspaceEdit": {
        "documentChanges": True,
        "resourceOperations": ["create", "rename", "delete"],
        "failureHandling": "textOnlyTransactional",
        "normalizesLineEndings": True,
        "changeAnnotationSupport": {"groupsOnLabel": True},
    },
    "configuration": True,
    "didChangeWatchedFiles": _dynamic(relativePatternSupport=True),
    "symbol": _dynamic(
        symbolKind={"valueSet": _SYMBOL_KINDS},
        tagSupport={"valueSet": [1]},
        resolveSupport={"properties": ["location.range"]},
    ),
    "codeLens": {"refreshSupport": True},
    "executeCommand": _dynamic(),
    "didChangeConfiguration": _dynamic(),
    "workspaceFolders": True,
    "foldingRange": {"refreshSupport": True},
    "semanticTokens": {"refreshSupport": True},
    "fileOperations": _dynamic(
        didCreate=True, didRename=True, didDelete=True, willCreate=True, willRename=True, willDelete=True
    ),
    "inlineValue": {"refreshSupport": True},
    "inlayHint": {"refreshSupport": True},
    "diagnostics": {"refreshSupport": True},
}

_VSCODE_DOCUMENT: Capabilities = {
    "publishDiagnostics": {
        "relatedInformation": True,
        "versionSupport": False,
        "tagSupport": {"valueSet": [1, 2]},
        "codeDescriptionSupport": True,
        "dataSupport": True,
    },
    "synchronization": _dynamic(willSave=True, willSaveWaitUntil=True, didSave=True),
    "completion": _dynamic(
        contextSupport=True,
        completionItem={
            "snippetSupport": True,
            "commitCharactersSupport": True,
            "documentationFormat": ["markdown", "plaintext"],
            "deprecatedSupport": True,
            "preselectSupport": True,
            "tagSupport": {"valueSet": [1]},
            "insertReplaceSupport": True,
            "resolveSupport": {"properties": ["documentation", "detail", "additionalTextEdits"]},
            "insertTextModeSupport": {"valueSet": [1, 2]},
            "labelDetailsSupport": True,
        },
        insertTextMode=2,
        completionItemKind={"valueSet": _COMPLETION_KINDS},
        completionList={
            "itemDefaults": ["commitCharacters", "editRange", "insertTextFormat", "insertTextMode", "data"]
        },
    ),
    "hover": _dynamic(contentFormat=["markdown", "plaintext"]),
    "signatureHelp": _dynamic(
        signatureInformation={
            "documentationFormat": ["markdown", "plaintext"],
            "parameterInformation": {"labelOffsetSupport": True},
            "activeParameterSupport": True,
        },
        contextSupport=True,
    ),
    "definition": _dynamic(linkSupport=True),
    "references": _dynamic(),
    "documentHighlight": _dynamic(),
    "documentSymbol": _dynamic(
        symbolKind={"valueSet": _SYMBOL_KINDS},
        hierarchicalDocumentSymbolSupport=True,
        tagSupport={"valueSet": [1]},
        labelSupport=True,
    ),
    "codeAction": _dynamic(
        isPreferredSupport=True,
        disabledSupport=True,
        dataSupport=True,
        resolveSupport={"properties": ["edit"]},
        codeActionLiteralSupport={"codeActionKind": {"valueSet": _CODE_ACTION_KINDS}},
        honorsChangeAnnotations=True,
    ),
    "codeLens": _dynamic(),
    "formatting": _dynamic(),
    "rangeFormatting": _dynamic(rangesSupport=True),
    "onTypeFormatting": _dynamic(),
    "rename": _dynamic(prepareSupport=True, prepareSupportDefaultBehavior=1, honorsChangeAnnotations=True),
    "documentLink": _dynamic(tooltipSupport=True),
    "typeDefinition": _dynamic(linkSupport=True),
    "implementation": _dynamic(linkSupport=True),
    "colorProvider": _dynamic(),
    "foldingRange": _dynamic(
        rangeLimit=5000,
        lineFoldingOnly=True,
        foldingRangeKind={"valueSet": ["comment", "imports", "region"]},
        foldingRange={"collapsedText": False},
    ),
    "declaration": _dynamic(linkSupport=True),
    "selectionRange": _dynamic(),
    "callHierarchy": _dynamic(),
    "semanticTokens": _dynamic(
        tokenTypes=_TOKEN_TYPES,
        tokenModifiers=_TOKEN_MODIFIERS,
        formats=["relative"],
        requests={"range": True, "full": {"delta": True}},
        multilineTokenSupport=False,
        overlappingTokenSupport=False,
        serverCancelSupport=True,
        augmentsSyntaxTokens=True,
    ),
    "linkedEditingRange": _dynamic(),
    "typeHierarchy": _dynamic(),
    "inlineValue": _dynamic(),
    "inlayHint": _dynamic(
        resolveSupport={"properties": ["tooltip", "textEdits", "label.tooltip", "label.location", "label.command"]}
    ),
    "diagnostic": _dynamic(relatedDocumentSupport=False),
}

VSCODE: Capabilities = {
    "workspace": _VSCODE_WORKSPACE,
    "textDocument": _VSCODE_DOCUMENT,
    "window": {
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "showDocument": {"support": True},
        "workDoneProgress": True,
    },
    "general": {
        "staleRequestSupport": {
            "cancel": True,
            "retryOnContentModified": [
                "textDocument/semanticTokens/full",
                "textDocument/semanticTokens/range",
                "textDocument/semanticTokens/full/delta",
            ],
        },
        "regularExpressions": {"engine": "ECMAScript", "version": "ES2020"},
        "markdown": {"parser": "marked", "version": "1.1.0"},
        "positionEncodings": ["utf-16"],
    },
    "notebookDocument": {"synchronization": _dynamic(executionSummarySupport=True)},
}

NEOVIM: Capabilities = {
    "general": {"positionEncodings": ["utf-8", "utf-16", "utf-32"]},
    "textDocument": {
        "diagnostic": _fixed(tagSupport={"valueSet": [1, 2]}),
        "inlayHint": _dynamic(
            resolveSupport={"properties": ["textEdits", "tooltip", "label.tooltip", "label.location", "label.command"]}
        ),
        "semanticTokens": _fixed(
            tokenTypes=_TOKEN_TYPES,
            tokenModifiers=_TOKEN_MODIFIERS,
            formats=["relative"],
            requests={"range": False, "full": {"delta": True}},
            overlappingTokenSupport=True,
            multilineTokenSupport=True,
            serverCancelSupport=False,
            augmentsSyntaxTokens=True,
        ),
        "synchronization": _fixed(willSave=True, willSaveWaitUntil=True, didSave=True),
        "codeAction": _dynamic(
            codeActionLiteralSupport={"codeActionKind": {"valueSet": _CODE_ACTION_KINDS}},
            isPreferredSupport=True,
            dataSupport=True,
            resolveSupport={"properties": ["edit", "command"]},
        ),
        "codeLens": _fixed(resolveSupport={"properties": ["command"]}),
        "foldingRange": _fixed(
            foldingRangeKind={"valueSet": ["comment", "imports", "region"]},
            foldingRange={"collapsedText": True},
            lineFoldingOnly=True,
        ),
        "formatting": _dynamic(),
        "rangeFormatting": _dynamic(rangesSupport=True),
        "completion": _fixed(
            completionItem={
                "snippetSupport": True,
                "commitCharactersSupport": False,
                "preselectSupport": False,
                "deprecatedSupport": True,
                "documentationFormat": ["markdown", "plaintext"],
                "resolveSupport": {"properties": ["additionalTextEdits", "command"]},
                "tagSupport": {"valueSet": [1]},
            },
            completionItemKind={"valueSet": _COMPLETION_KINDS},
            completionList={"itemDefaults": ["editRange", "insertTextFormat", "insertTextMode", "data"]},
            contextSupport=True,
        ),
        "declaration": {"linkSupport": True},
        "definition": _dynamic(linkSupport=True),
        "implementation": {"linkSupport": True},
        "typeDefinition": {"linkSupport": True},
        "hover": _dynamic(contentFormat=["markdown", "plaintext"]),
        "signatureHelp": _fixed(
            signatureInformation={
                "activeParameterSupport": True,
                "documentationFormat": ["markdown", "plaintext"],
                "parameterInformation": {"labelOffsetSupport": True},
            }
        ),
        "references": _fixed(),
        "documentHighlight": _fixed(),
        "documentSymbol": _fixed(symbolKind={"valueSet": _SYMBOL_KINDS}, hierarchicalDocumentSymbolSupport=True),
        "rename": _dynamic(prepareSupport=True),
        "publishDiagnostics": {
            "relatedInformation": True,
            "tagSupport": {"valueSet": [1, 2]},
            "dataSupport": True,
        },
        "callHierarchy": _fixed(),
        "typeHierarchy": _fixed(),
    },
    "workspace": {
        "symbol": _fixed(symbolKind={"valueSet": _SYMBOL_KINDS}),
        "configuration": True,
        "didChangeConfiguration": _fixed(),
        "workspaceFolders": True,
        "applyEdit": True,
        "workspaceEdit": {"resourceOperations": ["rename", "create", "delete"]},
        "semanticTokens": {"refreshSupport": True},
        "didChangeWatchedFiles": _fixed(relativePatternSupport=True),
        "inlayHint": {"refreshSupport": True},
    },
    "window": {
        "workDoneProgress": True,
        "showMessage": {"messageActionItem": {"additionalPropertiesSupport": True}},
        "showDocument": {"support": True},
    },
}
