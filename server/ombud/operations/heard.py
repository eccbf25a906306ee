"""What a client tells without asking: one table, method → what a session does about it.

A handler gets the session and the params as they came. It raises `msgspec.ValidationError` for another shape, so that
a server which others share never meets it unchecked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from ombud.downstream.fileops import shares
from ombud.downstream.router import target
from ombud.guard.uris import path_or_none, same_uri_key
from ombud.operations.folders import UNSAVED, Folder, paths_of
from ombud.operations.leaving import leave, unused
from ombud.operations.watch import FileEvent
from ombud.text.changes import ContentChange
from ombud.wire.values import load
from ombud.workspace.documents import Opened

if TYPE_CHECKING:
    from ombud.operations.session import Session


class _Opened(msgspec.Struct):
    textDocument: Opened  # noqa: N815  (the protocol's name)


class _Versioned(msgspec.Struct):
    uri: str
    version: int | None = None


class _Changed(msgspec.Struct):
    textDocument: _Versioned  # noqa: N815
    contentChanges: Raw  # noqa: N815


class _Named(msgspec.Struct):
    textDocument: _Versioned  # noqa: N815


class _Watched(msgspec.Struct):
    changes: list[FileEvent]


class _FoldersChange(msgspec.Struct):
    added: list[Folder] = []
    removed: list[Folder] = []


class _Configuration(msgspec.Struct):
    settings: Any = None


class _FoldersEvent(msgspec.Struct):
    event: _FoldersChange


class _Trace(msgspec.Struct):
    value: str = "off"


class _Token(msgspec.Struct):
    token: int | str


def did_open(session: Session, params: Raw) -> None:
    """``textDocument/didOpen``: the servers that claim the file get it opened, whichever client was first."""
    item = load(params, _Opened).textDocument
    path = session.path_of(item.uri) or unsaved_place(session, item.uri)
    if path is not None:
        servers = session.servers(path, item.languageId)
    else:
        path = path_or_none(item.uri)
        if path is None:
            return
        # A library's file that a definition led to: the servers that run for its language may answer for it.
        language = session.detector.language(path, item.languageId)
        servers = [one for one in session.running() if one.entry.claims(language, path.name)]
    session.hub.attach(item.uri, servers)
    session.hub.documents.open(session, item.uri, path, item.languageId, item.version, item.text)
    session.hub.ahead.used(session, path, item.languageId)
    session.introduced.adopt()
    session.linting.heard(item.uri, 0)
    session.showing.changed(same_uri_key(item.uri))
    session.hub.pull_soon(same_uri_key(item.uri))


def unsaved_place(session: Session, uri: str) -> Path | None:
    """Where a buffer that was never saved (``untitled:``) is taken to stand: in the first folder, under no file's name.

    Two clients of a hub that both have an “Untitled-1” mean different texts: the first keeps its servers.
    """
    if session.root is None or not uri.startswith(UNSAVED):
        return None
    known = session.hub.documents.get(uri)
    if known is not None and session not in known.owners:
        return None
    return session.fence.folders[0] / uri.replace("/", "_")


def did_change(session: Session, params: Raw) -> None:
    """``textDocument/didChange``, and whoever waits for this client to type is told."""
    changed = load(params, _Changed)
    changes = load(changed.contentChanges, list[ContentChange])
    uri, version = changed.textDocument.uri, changed.textDocument.version or 0
    session.hub.documents.change(session, uri, version, changes, changed.contentChanges)
    session.linting.heard(uri)
    session.hub.typed.heard(session)


def did_save(session: Session, params: Raw) -> None:
    """``textDocument/didSave``."""
    uri = load(params, _Named).textDocument.uri
    document = session.hub.documents.save(session, uri)
    if document is not None:
        session.hub.document_taken(document, session)
    path = session.path_of(uri)
    if path is not None:
        # A marker or a settings file may be saved while nobody watches.
        session.files_changed([path])


def did_close(session: Session, params: Raw) -> None:
    """``textDocument/didClose``."""
    uri = load(params, _Named).textDocument.uri
    pulled = session.pulled.closed(same_uri_key(uri))
    session.linting.left(uri)
    session.hub.documents.close(session, uri)
    if pulled:
        # What servers push of closed files was kept from a client that pulled the open one.
        session.showing.changed(same_uri_key(uri))


def watched(session: Session, params: Raw) -> None:
    """``workspace/didChangeWatchedFiles`` of the client: every server hears of what it asked for."""
    session.hub.watch.told(load(params, _Watched).changes, params)


def folders_changed(session: Session, params: Raw) -> None:
    """``workspace/didChangeWorkspaceFolders``: what was there for a folder that left ends with it."""
    change = load(params, _FoldersEvent).event
    before, idle = session.real_folders, unused(session.hub)
    gone = set(paths_of(change.removed))
    kept = [folder for folder in session.folders if folder not in gone]
    session.set_folders([*kept, *(path for path in paths_of(change.added) if path not in kept)])
    leave(session.hub, [folder for folder in before if folder not in session.real_folders], idle)
    session.hub.graphs.leave()
    session.hub.searches.leave()
    session.showing.withdraw()
    session.showing.catch_up()
    session.hub.watch.update_soon()


def initialized(session: Session, _params: Raw) -> None:
    """The client may be asked from now on."""
    session.configured.begin()
    session.hub.watch.came(session)
    session.registrations.greeted()
    session.showing.catch_up()
    session.hub.recover()


def configuration_changed(session: Session, params: Raw) -> None:
    """``workspace/didChangeConfiguration``."""
    session.configured.heard(load(params, _Configuration).settings)


def progress_cancelled(session: Session, params: Raw) -> None:
    """``window/workDoneProgress/cancel``, for a token of the client's or of ours."""
    session.hub.asks.tokens.cancel(session, load(params, _Token).token)


def will_save(session: Session, params: Raw) -> None:
    """``textDocument/willSave``: the document's servers that asked for it."""
    _to_document(session, "textDocument/willSave", params)


def files_done(method: str) -> Callable[[Session, Raw], None]:
    """``workspace/did{Create,Rename,Delete}Files``: each running server whose filters match gets its files."""

    def handler(session: Session, params: Raw) -> None:
        for server, mine in shares(session.running(), method, params).items():
            server.notify(method, mine)

    return handler


def notebook_opened(session: Session, params: Raw) -> None:
    """``notebookDocument/didOpen``."""
    session.hub.notebooks.opened(session, params)


def notebook_changed(session: Session, params: Raw) -> None:
    """``notebookDocument/didChange``."""
    session.hub.notebooks.changed(session, params)


def notebook_saved(session: Session, params: Raw) -> None:
    """``notebookDocument/didSave``."""
    session.hub.notebooks.saved(session, params)


def notebook_closed(session: Session, params: Raw) -> None:
    """``notebookDocument/didClose``."""
    session.hub.notebooks.closed(session, params)


def traced(session: Session, params: Raw) -> None:
    """``$/setTrace``: for the servers that run, and for those that start later."""
    session.trace = load(params, _Trace).value
    for server in session.running():
        server.notify("$/setTrace", Raw(bytes(params)))


def vendors(session: Session, method: str, params: Raw) -> None:
    """A notification that LSP does not know: to its document's servers, its namesake, or all that run."""
    if target(params) is not None:
        _to_document(session, method, params)
        return
    for server in session.router.namesakes(method) or session.running():
        server.notify(method, Raw(bytes(params)))


def _to_document(session: Session, method: str, params: Raw) -> None:
    for server, worded in session.router.listeners(method, params):
        server.notify(method, worded)


HEARD: Mapping[str, Callable[[Session, Raw], None]] = {
    "textDocument/didOpen": did_open,
    "textDocument/didChange": did_change,
    "textDocument/didSave": did_save,
    "textDocument/didClose": did_close,
    "initialized": initialized,
    "workspace/didChangeConfiguration": configuration_changed,
    "workspace/didChangeWatchedFiles": watched,
    "workspace/didChangeWorkspaceFolders": folders_changed,
    "window/workDoneProgress/cancel": progress_cancelled,
    "textDocument/willSave": will_save,
    "workspace/didCreateFiles": files_done("workspace/didCreateFiles"),
    "workspace/didRenameFiles": files_done("workspace/didRenameFiles"),
    "workspace/didDeleteFiles": files_done("workspace/didDeleteFiles"),
    "$/setTrace": traced,
    "notebookDocument/didOpen": notebook_opened,
    "notebookDocument/didChange": notebook_changed,
    "notebookDocument/didSave": notebook_saved,
    "notebookDocument/didClose": notebook_closed,
}
