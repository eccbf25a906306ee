"""The diagnostics that one client sees: those of all servers of a document, joined, with the client's own version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Showing:
    """Publishes to one session's client. What was shown once is taken back when it is no longer true."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: dict[str, str] = {}
        """Document key → the URI under which its diagnostics were last published to this client."""

    def changed(self, key: str) -> None:
        """Publish what all servers say of a document, joined, with the client's own version of it."""
        session, hub = self._session, self._session.hub
        document = hub.documents.at(key)
        uri = document.uri if document is not None else self._shown.get(key, key)
        path = session.path_of(uri)
        if path is None or (document is not None and document.owners and session not in document.owners):
            return
        items = hub.store.joined(key)
        mine = document.owners.get(session) if document is not None else None
        if not items and key not in self._shown and not (mine and hub.store.tracks(key)):
            return
        uri = mine.uri if mine is not None else uri
        params: dict[str, Any] = {"uri": uri, "diagnostics": items}
        if document is not None and mine is not None:
            versions = {track.pull_version or track.push_version for track in hub.store.tracks(key).values()}
            version = document.version_of(session, document.version)
            if version is not None and versions <= {document.version}:
                params["version"] = version
        self._shown[key] = uri
        if not items and document is None:
            del self._shown[key]
        session.tell("textDocument/publishDiagnostics", params)
