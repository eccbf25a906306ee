"""What a server can do: methods against the capabilities it announced or registered later (LSP 3.17)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

PROVIDERS: dict[str, str] = {
    "textDocument/hover": "hoverProvider",
    "textDocument/definition": "definitionProvider",
    "textDocument/declaration": "declarationProvider",
    "textDocument/typeDefinition": "typeDefinitionProvider",
    "textDocument/implementation": "implementationProvider",
    "textDocument/references": "referencesProvider",
    "textDocument/completion": "completionProvider",
    "completionItem/resolve": "completionProvider.resolveProvider",
    "textDocument/signatureHelp": "signatureHelpProvider",
    "textDocument/documentHighlight": "documentHighlightProvider",
    "textDocument/documentSymbol": "documentSymbolProvider",
    "textDocument/codeAction": "codeActionProvider",
    "codeAction/resolve": "codeActionProvider.resolveProvider",
    "textDocument/codeLens": "codeLensProvider",
    "codeLens/resolve": "codeLensProvider.resolveProvider",
    "textDocument/documentLink": "documentLinkProvider",
    "documentLink/resolve": "documentLinkProvider.resolveProvider",
    "textDocument/documentColor": "colorProvider",
    "textDocument/colorPresentation": "colorProvider",
    "textDocument/formatting": "documentFormattingProvider",
    "textDocument/rangeFormatting": "documentRangeFormattingProvider",
    "textDocument/onTypeFormatting": "documentOnTypeFormattingProvider",
    "textDocument/rename": "renameProvider",
    "textDocument/prepareRename": "renameProvider.prepareProvider",
    "textDocument/foldingRange": "foldingRangeProvider",
    "textDocument/selectionRange": "selectionRangeProvider",
    "textDocument/linkedEditingRange": "linkedEditingRangeProvider",
    "textDocument/prepareCallHierarchy": "callHierarchyProvider",
    "callHierarchy/incomingCalls": "callHierarchyProvider",
    "callHierarchy/outgoingCalls": "callHierarchyProvider",
    "textDocument/prepareTypeHierarchy": "typeHierarchyProvider",
    "typeHierarchy/supertypes": "typeHierarchyProvider",
    "typeHierarchy/subtypes": "typeHierarchyProvider",
    "textDocument/semanticTokens/full": "semanticTokensProvider.full",
    "textDocument/semanticTokens/full/delta": "semanticTokensProvider.full.delta",
    "textDocument/semanticTokens/range": "semanticTokensProvider.range",
    "textDocument/moniker": "monikerProvider",
    "textDocument/inlineValue": "inlineValueProvider",
    "textDocument/inlineCompletion": "inlineCompletionProvider",
    "textDocument/inlayHint": "inlayHintProvider",
    "inlayHint/resolve": "inlayHintProvider.resolveProvider",
    "textDocument/diagnostic": "diagnosticProvider",
    "workspace/diagnostic": "diagnosticProvider.workspaceDiagnostics",
    "workspace/symbol": "workspaceSymbolProvider",
    "workspaceSymbol/resolve": "workspaceSymbolProvider.resolveProvider",
    "workspace/executeCommand": "executeCommandProvider",
    "textDocument/willSave": "textDocumentSync.willSave",
    "textDocument/willSaveWaitUntil": "textDocumentSync.willSaveWaitUntil",
    "textDocument/rangesFormatting": "documentRangeFormattingProvider.rangesSupport",
    "workspace/didCreateFiles": "workspace.fileOperations.didCreate",
    "workspace/didRenameFiles": "workspace.fileOperations.didRename",
    "workspace/didDeleteFiles": "workspace.fileOperations.didDelete",
    "workspace/willCreateFiles": "workspace.fileOperations.willCreate",
    "workspace/willRenameFiles": "workspace.fileOperations.willRename",
    "workspace/willDeleteFiles": "workspace.fileOperations.willDelete",
}
"""Each message of LSP 3.17 that needs a capability, and the dotted path of that capability."""

REGISTERED_AS: dict[str, str] = {
    "textDocument/semanticTokens/full": "textDocument/semanticTokens",
    "textDocument/semanticTokens/full/delta": "textDocument/semanticTokens",
    "textDocument/semanticTokens/range": "textDocument/semanticTokens",
    "completionItem/resolve": "textDocument/completion",
    "codeAction/resolve": "textDocument/codeAction",
    "codeLens/resolve": "textDocument/codeLens",
    "documentLink/resolve": "textDocument/documentLink",
    "inlayHint/resolve": "textDocument/inlayHint",
    "workspaceSymbol/resolve": "workspace/symbol",
    "textDocument/prepareRename": "textDocument/rename",
    "callHierarchy/incomingCalls": "textDocument/prepareCallHierarchy",
    "callHierarchy/outgoingCalls": "textDocument/prepareCallHierarchy",
    "typeHierarchy/supertypes": "textDocument/prepareTypeHierarchy",
    "typeHierarchy/subtypes": "textDocument/prepareTypeHierarchy",
    "workspace/diagnostic": "textDocument/diagnostic",
    "textDocument/rangesFormatting": "textDocument/rangeFormatting",
}
"""Requests whose dynamic registration goes by another method's name."""

SYNC_NONE, SYNC_FULL, SYNC_INCREMENTAL = 0, 1, 2


class Capabilities:
    """One running server's abilities: the static ones of ``initialize`` and the registered ones on top."""

    def __init__(self, announced: Mapping[str, Any] | None = None) -> None:
        self.announced: Mapping[str, Any] = announced or {}
        self._registered: dict[str, tuple[str, Mapping[str, Any]]] = {}
        self._supported: dict[str, bool] = {}
        """Answers of `supports` until a registration comes or goes: each request asks several times."""

    def register(self, identity: str, method: str, options: Mapping[str, Any] | None) -> None:
        """``client/registerCapability``."""
        self._registered[identity] = (method, options or {})
        self._supported.clear()

    def unregister(self, identity: str) -> None:
        """``client/unregisterCapability``; an unknown identity is overlooked."""
        self._registered.pop(identity, None)
        self._supported.clear()

    def registrations(self, method: str) -> list[Mapping[str, Any]]:
        """The options of every live registration of ``method``."""
        return [options for name, options in self._registered.values() if name == method]

    def registered(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        """Every live registration: the server's own id, the method and the options."""
        return [(identity, method, options) for identity, (method, options) in self._registered.items()]

    def supports(self, method: str) -> bool:
        """Whether ``method`` may be asked. Methods that the specification gives no capability (vendor ones) may."""
        path = PROVIDERS.get(method)
        if path is None:
            return True
        known = self._supported.get(method)
        if known is None:
            known = self._supported[method] = self._has(method, path)
        return known

    def _has(self, method: str, path: str) -> bool:
        if dig(self.announced, path) not in (None, False):
            return True
        registered = self.registrations(REGISTERED_AS.get(method, method))
        # What is registered by its own name needs no further word in the options.
        leaf = path.partition(".")[2] if method in REGISTERED_AS else ""
        return any(not leaf or dig(options, leaf) not in (None, False) for options in registered)

    @property
    def sync_kind(self) -> int:
        """0 no content, 1 whole texts, 2 incremental (``TextDocumentSyncKind``)."""
        sync = self.announced.get("textDocumentSync")
        if isinstance(sync, int) and not isinstance(sync, bool):
            return sync
        if isinstance(sync, Mapping):
            kind = sync.get("change", SYNC_NONE)
            return kind if isinstance(kind, int) else SYNC_NONE
        return SYNC_FULL if self.registrations("textDocument/didChange") else SYNC_NONE

    @property
    def wants_open(self) -> bool:
        """Whether it is told of documents that open and close."""
        sync = self.announced.get("textDocumentSync")
        if isinstance(sync, Mapping):
            return bool(sync.get("openClose", False)) or bool(self.registrations("textDocument/didOpen"))
        return sync is not None or bool(self.registrations("textDocument/didOpen"))

    @property
    def save_text(self) -> bool | None:
        """None: the server wants no ``didSave``; else whether it wants the text with it."""
        sync = self.announced.get("textDocumentSync")
        save = sync.get("save") if isinstance(sync, Mapping) else sync
        for options in self.registrations("textDocument/didSave"):
            save = options or True
        if save is None or save is False or save == SYNC_NONE:
            return None
        return bool(save.get("includeText")) if isinstance(save, Mapping) else False

    @property
    def commands(self) -> list[str]:
        """The names of its commands, the registered ones behind the announced ones."""
        provider = self.announced.get("executeCommandProvider")
        names: list[str] = []
        for options in [provider, *self.registrations("workspace/executeCommand")]:
            listed = options.get("commands") if isinstance(options, Mapping) else None
            names += [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        return names


def dig(tree: Any, path: str) -> Any:
    """The value at a dotted path of capabilities, a client's or a server's; None where there is none.

    A bare ``true`` on the way stands for "without further options", and so has nothing below it.
    """
    for name in path.split("."):
        tree = tree.get(name) if isinstance(tree, Mapping) else None
    return tree
