"""Which capability of a client says that a method may be registered at it later (LSP 3.17, ``dynamicRegistration``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ombud.downstream.capabilities import dig

_PLACES: Mapping[str, str] = {
    "textDocument/didOpen": "textDocument.synchronization",
    "textDocument/didChange": "textDocument.synchronization",
    "textDocument/didClose": "textDocument.synchronization",
    "textDocument/didSave": "textDocument.synchronization",
    "textDocument/willSave": "textDocument.synchronization",
    "textDocument/willSaveWaitUntil": "textDocument.synchronization",
    "textDocument/documentColor": "textDocument.colorProvider",
    "textDocument/prepareCallHierarchy": "textDocument.callHierarchy",
    "textDocument/prepareTypeHierarchy": "textDocument.typeHierarchy",
    "notebookDocument/sync": "notebookDocument.synchronization",
    "workspace/didCreateFiles": "workspace.fileOperations",
    "workspace/didRenameFiles": "workspace.fileOperations",
    "workspace/didDeleteFiles": "workspace.fileOperations",
    "workspace/willCreateFiles": "workspace.fileOperations",
    "workspace/willRenameFiles": "workspace.fileOperations",
    "workspace/willDeleteFiles": "workspace.fileOperations",
}
"""Methods whose capability goes by another name than ``group.name``."""


def can_register(client: Mapping[str, Any], method: str) -> bool:
    """Whether a client with these capabilities takes a registration of ``method``, a vendor's included."""
    place = _PLACES.get(method, method.replace("/", ".", 1))
    return dig(client, f"{place}.dynamicRegistration") is True
