"""What a client declared, and whether a server keeps to it (LSP 3.17, "initialize" and "client/registerCapability")."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

# Allowed before initialize is answered, besides progress on the token that initialize itself carried.
EARLY = {"window/showMessage", "window/logMessage", "telemetry/event", "window/showMessageRequest"}

# Requests of a server, and the capability that permits them.
_PERMITS: dict[str, tuple[str, ...]] = {
    "workspace/configuration": ("workspace", "configuration"),
    "workspace/workspaceFolders": ("workspace", "workspaceFolders"),
    "workspace/applyEdit": ("workspace", "applyEdit"),
    "window/workDoneProgress/create": ("window", "workDoneProgress"),
    "window/showDocument": ("window", "showDocument", "support"),
    "workspace/codeLens/refresh": ("workspace", "codeLens", "refreshSupport"),
    "workspace/semanticTokens/refresh": ("workspace", "semanticTokens", "refreshSupport"),
    "workspace/inlayHint/refresh": ("workspace", "inlayHint", "refreshSupport"),
    "workspace/inlineValue/refresh": ("workspace", "inlineValue", "refreshSupport"),
    "workspace/diagnostic/refresh": ("workspace", "diagnostics", "refreshSupport"),
    "workspace/foldingRange/refresh": ("workspace", "foldingRange", "refreshSupport"),
}

# Registered methods whose capability is not simply named like them.
_REGISTERS: dict[str, tuple[str, ...]] = {
    "textDocument/didOpen": ("textDocument", "synchronization"),
    "textDocument/didChange": ("textDocument", "synchronization"),
    "textDocument/didClose": ("textDocument", "synchronization"),
    "textDocument/didSave": ("textDocument", "synchronization"),
    "textDocument/willSave": ("textDocument", "synchronization"),
    "textDocument/willSaveWaitUntil": ("textDocument", "synchronization"),
    "textDocument/prepareCallHierarchy": ("textDocument", "callHierarchy"),
    "textDocument/prepareTypeHierarchy": ("textDocument", "typeHierarchy"),
    "textDocument/documentColor": ("textDocument", "colorProvider"),
    "workspace/didCreateFiles": ("workspace", "fileOperations"),
    "workspace/didRenameFiles": ("workspace", "fileOperations"),
    "workspace/didDeleteFiles": ("workspace", "fileOperations"),
    "workspace/willCreateFiles": ("workspace", "fileOperations"),
    "workspace/willRenameFiles": ("workspace", "fileOperations"),
    "workspace/willDeleteFiles": ("workspace", "fileOperations"),
    "notebookDocument/sync": ("notebookDocument", "synchronization"),
}


def undeclared(capabilities: Json, method: str, params: Any) -> str | None:
    """Why a server may not send this request to a client with these capabilities; None when it may."""
    if method in _PERMITS and not _look_up(capabilities, _PERMITS[method]):
        return f"{method}, which this client did not declare"
    if method != "client/registerCapability":
        return None
    for registration in params["registrations"]:
        registered: str = registration["method"]
        if registered == "workspace/didChangeWorkspaceFolders":
            path: tuple[str, ...] = ("workspace", "workspaceFolders")
        else:
            path = (*_REGISTERS.get(registered, tuple(registered.split("/")[:2])), "dynamicRegistration")
        if not _look_up(capabilities, path):
            return f"a registration of {registered}, which this client cannot register dynamically"
    return None


def _look_up(capabilities: Json, path: tuple[str, ...]) -> bool:
    value: Any = capabilities
    for word in path:
        value = value.get(word) if isinstance(value, dict) else None
    return bool(value)


def settings_of(settings: Json, section: str | None) -> Any:
    """A ``workspace/configuration`` item: the value at a dotted section, null when there is none."""
    value: Any = settings
    for word in (section or "").split("."):
        if not word:
            continue
        if not isinstance(value, dict) or word not in value:
            return None
        value = value[word]
    return value


def response_fault(message: Json) -> str | None:
    """What is wrong with the shape of a response (JSON-RPC 2.0, "Response object")."""
    if message.get("jsonrpc") != "2.0":
        return "a message without jsonrpc 2.0"
    if ("result" in message) == ("error" in message):
        return "a response must have either a result or an error"
    error = message.get("error")
    if "error" in message and not (
        isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    ):
        return f"an error without code and message: {error!r}"
    return None


class Progress:
    """Which progress tokens may be used (LSP 3.17, "Progress Support")."""

    def __init__(self) -> None:
        self._open: dict[str | int, str] = {}

    def offered(self, params: Any) -> None:
        """The client put tokens into a request."""
        if isinstance(params, dict):
            for key in ("workDoneToken", "partialResultToken"):
                if params.get(key) is not None:
                    self._open[params[key]] = key

    def created(self, token: str | int) -> str | None:
        if token in self._open:
            return f"progress token {token!r} was created while it is in use"
        self._open[token] = "created"
        return None

    def used(self, params: Json) -> str | None:
        token, value = params["token"], params["value"]
        if token not in self._open:
            return f"progress on token {token!r}, which nobody created"
        if isinstance(value, dict) and value.get("kind") == "end":
            del self._open[token]
        return None
