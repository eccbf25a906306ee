"""Folders leave a workspace (``workspace/didChangeWorkspaceFolders``): what was only there for them ends at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.downstream.states import State

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.hub import Hub
    from ombud.workspace.documents import Document

REASON = "Its folder is no longer part of any workspace."


def unused(hub: Hub) -> list[Server]:
    """The servers whose sessions have all gone; those that a session uses follow its configuration."""
    return [server for server in hub.supervisor.all() if not hub.asks.users.get(server)]


def leave(hub: Hub, left: Collection[Path], unused: Collection[Server]) -> None:
    """After ``left`` (real) are no longer folders of a session: its documents there leave their servers, and servers
    whose root lies in no session's folder end, those that were ``unused`` before as well. Another session's documents
    and servers stay as they are."""
    kept = [folder for session in hub.sessions for folder in session.real_folders]
    ended = [one for one in unused if below(one.root, left) and not below(one.root, kept)]
    for document in hub.documents.all():
        if below(document.path, left):
            _detach(hub, document, ended, kept)
    for server in ended:
        if server.accepting or server.running:
            hub.spawn(server.stop(State.SWEPT, REASON))


def _detach(hub: Hub, document: Document, ended: list[Server], kept: list[Path]) -> None:
    if not document.owners:
        if not document.pins and not below(document.path, kept):
            hub.documents.removed(document)
        return
    own = [folder for one in hub.sessions if one in document.owners for folder in one.real_folders]
    at_home = below(document.path, own)
    for server in hub.servers_of(document.uri).copy():
        if server in ended or not at_home:
            hub.detach(document, server)


def below(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a real path is one of the folders or lies in one (by components, F1)."""
    return any(path.is_relative_to(folder) for folder in folders)
