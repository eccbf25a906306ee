"""The diagnostics that are pushed to one client: those of all servers of a document, with the client's own version.

What the client pulls by itself is not pushed to it as well: editors keep both and would show everything twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ombud.operations.folders import UNSAVED

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.workspace.documents import Document


@dataclass(frozen=True, slots=True)
class _Shown:
    """The last publish of a document: the URI it went under, and whether there was anything in it."""

    uri: str
    filled: bool


class Showing:
    """Publishes to one session's client. What was shown once is taken back when it is no longer true."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._shown: dict[str, _Shown] = {}

    def changed(self, key: str) -> None:
        """What is known of a document has changed: publish it, or see to it that the client pulls it."""
        session, hub = self._session, self._session.hub
        if hub.notebooks.show(session, key):
            return
        session.pulled.changed(key)
        document = hub.documents.at(key)
        shown = self._shown.get(key)
        uri = document.uri if document is not None else shown.uri if shown is not None else key
        mine = document.owners.get(session) if document is not None else None
        if session.path_of(uri) is None and not ((mine or shown) and uri.startswith(UNSAVED)):
            return
        own = session.linting.items(key)
        if session.said_no and shown is None and not own:
            # No server works for it, nor do those of others: an empty list would call the file clean.
            return
        items = session.pulled.rest(key, () if session.said_no else hub.store.joined(key))
        if items is None:
            return
        # What the rules found is pushed also to a client that pulls: no answer to a pull brings it.
        items = [*items, *own] if own else items
        if not items and session.pulled.pulls(key):
            if shown is None or not shown.filled:
                self._shown.pop(key, None)
                return
        elif not items and shown is None and not (mine and hub.store.tracks(key)):
            return
        uri = mine.uri if mine is not None else uri
        params: dict[str, Any] = {"uri": uri, "diagnostics": items}
        version = self._version(document, key)
        if version is not None:
            params["version"] = version
        self._shown[key] = _Shown(uri, bool(items))
        if not items and (document is None or session.pulled.pulls(key)):
            del self._shown[key]
        session.tell("textDocument/publishDiagnostics", params)

    def catch_up(self) -> None:
        """The client is new, or has new folders: it is shown what is known already."""
        for key in self._session.hub.store.known():
            if key not in self._shown:
                self.changed(key)

    def withdraw(self) -> None:
        """Folders have left the workspace: what is shown of files that were in them is taken back."""
        for key, shown in list(self._shown.items()):
            if self._session.path_of(shown.uri) is None:
                del self._shown[key]
                if shown.filled:
                    self._session.tell("textDocument/publishDiagnostics", {"uri": shown.uri, "diagnostics": []})

    def _version(self, document: Document | None, key: str) -> int | None:
        """The client's own number for the text that all servers speak of; None where there is no such text."""
        if document is None or self._session not in document.owners:
            return None
        tracks = self._session.hub.store.tracks(key).values()
        versions = {track.pull_version or track.push_version for track in tracks} or {document.version}
        # A server that lags speaks of a former text, and says so to the client too.
        return document.version_of(self._session, versions.pop()) if len(versions) == 1 else None
