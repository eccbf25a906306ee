"""Keeping each server's copy of the open documents (LSP 3.17, "Text Document Synchronization").

What is sent depends on the server's announced kind of synchronization, which is known only when its turn in the queue
has come: a change is therefore queued with the client's own edits *and* the whole text, and one of them is sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from ombud.downstream.capabilities import SYNC_INCREMENTAL, SYNC_NONE
from ombud.wire.values import dump

if TYPE_CHECKING:
    from collections.abc import Callable

    from ombud.downstream.server import Server
    from ombud.workspace.documents import Document

    Sent = Callable[[Server, str, int], None]


class _Versioned(msgspec.Struct):
    uri: str
    version: int


class _Changes(msgspec.Struct):
    textDocument: _Versioned  # noqa: N815  (the protocol's name)
    contentChanges: Raw  # noqa: N815


def open_document(server: Server, document: Document, sent: Sent) -> None:
    """``didOpen`` with the text of this moment. ``sent(server, uri, version)`` is called when it has left."""
    uri, version, text, language = document.uri, document.version, document.shown, document.language

    def run() -> None:
        server.documents[uri] = version
        if server.capabilities.wants_open:
            item = {"uri": uri, "languageId": language, "version": version, "text": text}
            server.notify_now("textDocument/didOpen", Raw(dump({"textDocument": item})))
        sent(server, uri, version)

    server.enqueue(run)


def change_document(server: Server, document: Document, changes: Raw | None, sent: Sent, *, anew: bool = False) -> None:
    """``didChange``: the client's own ``changes`` where the server takes increments, else the whole text.

    ``anew``: what it is made of may have changed as well, which some servers have to be told.
    """
    uri, version, text = document.uri, document.version, document.shown
    kept = Raw(bytes(changes)) if changes is not None else None

    def run() -> None:
        if uri not in server.documents:
            return
        server.documents[uri] = version
        kind = server.capabilities.sync_kind
        if kind != SYNC_NONE:
            edits = kept if kept is not None and kind == SYNC_INCREMENTAL else Raw(dump([{"text": text}]))
            params: Any = _Changes(_Versioned(uri, version), edits)
            if anew and server.entry.diagnostics.rebuild:
                params = {**msgspec.structs.asdict(params), server.entry.diagnostics.rebuild: True}
            server.notify_now("textDocument/didChange", params)
        sent(server, uri, version)

    # While it waits, the former texts are kept by nobody else.
    server.enqueue(run, size=len(text) + (memoryview(kept).nbytes if kept is not None else 0))


def save_document(server: Server, document: Document, saved: Callable[[Server, str], None]) -> None:
    """``didSave``, with the text where the server asked for it. ``saved(server, uri)`` is called before it leaves."""
    uri, text = document.uri, document.shown

    def run() -> None:
        wanted = server.capabilities.save_text
        if uri not in server.documents:
            return
        saved(server, uri)
        if wanted is not None:
            params: dict[str, Any] = {"textDocument": {"uri": uri}}
            if wanted:
                params["text"] = text
            server.notify_now("textDocument/didSave", Raw(dump(params)))

    server.enqueue(run)


def close_document(server: Server, document: Document) -> None:
    """``didClose``, where the running process was told of the document at all."""
    uri = document.uri

    def run() -> None:
        if server.documents.pop(uri, None) is not None and server.capabilities.wants_open:
            server.notify_now("textDocument/didClose", {"textDocument": {"uri": uri}})

    server.enqueue(run)
