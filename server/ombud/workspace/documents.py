"""Open documents: what each client has in its buffer, and the one text that servers are shown.

Each owner (a connection) has a text of its own for every document it opened. Servers are shown the newest of those
texts and the disk (protocol.md, "Open documents"). The hub may hold a document open as well, quietly, so that an
operation on a file that no editor has open is answered by warm servers.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec
from msgspec import Raw

from ombud.text.changes import ContentChange, apply_changes

QUIET_DOCUMENTS = 32
"""How many documents without an owner stay open in their servers, least recently used first to go."""


class Opened(msgspec.Struct):
    """A ``TextDocumentItem``: a document, or a notebook's cell, as a client opens it."""

    uri: str
    languageId: str = "plaintext"  # noqa: N815  (the protocol's name)
    version: int = 0
    text: str = ""


@dataclass(slots=True)
class ClientText:
    """One owner's buffer: its text, the owner's own version number and its own spelling of the URI.

    ``superseded``: it was saved when the hub wrote the file, and has not been touched since. It differs from the disk,
    but nothing of its owner's would be lost by another write. ``saved``: it was the disk's text when that was
    last known, and has not been changed by its owner since.
    """

    text: str
    version: int
    uri: str
    superseded: bool = False
    saved: bool = False

    def unsaved(self, disk: str | None) -> bool:
        """Whether it differs from the text on ``disk`` by changes of its owner's own."""
        return self.text != disk and not self.superseded


@dataclass(slots=True, eq=False)
class Document:
    """One open document as servers know it. ``version`` is the hub's own count and only ever grows,
    also over closing and opening again."""

    key: str
    uri: str
    path: Path
    language: str
    shown: str
    version: int = 1
    owners: dict[Hashable, ClientText] = field(default_factory=dict)
    pins: int = 0
    _seen: deque[tuple[int, Hashable, int]] = field(default_factory=lambda: deque(maxlen=64))

    def remember(self, owner: Hashable, version: int) -> None:
        """Note that the owner's ``version`` is what servers know as the current one."""
        if self.version_of(owner, self.version) != version:
            self._seen.append((self.version, owner, version))

    def version_of(self, owner: Hashable, version: int | None) -> int | None:
        """The owner's own number for the hub's ``version``; None where the owner never had that text."""
        for ours, who, theirs in reversed(self._seen):
            if ours == version and who == owner:
                return theirs
        return None


class Listener(Protocol):
    """Who carries the changes on to the servers."""

    def document_opened(self, document: Document) -> None: ...
    def document_changed(self, document: Document, changes: Raw | None, *, anew: bool = False) -> None:
        """The shown text is a new one. ``changes`` are LSP content changes against the former, None: send it whole.

        ``anew``: what the document is made of, such as its headers, may have changed with it.
        """

    def document_saved(self, document: Document) -> None: ...
    def document_closed(self, document: Document) -> None: ...


class Documents:
    """Every document that is open for anybody. Keys are made by ``key`` so that two spellings of a URI are one."""

    def __init__(self, listener: Listener, key: Callable[[str], str], disk: Callable[[Path], str | None]) -> None:
        self._listener = listener
        self._key = key
        self._disk = disk
        self._open: dict[str, Document] = {}
        self._of_path: dict[Path, list[Document]] = {}
        self._ended_at = 0
        """The highest version of any document that was closed: a document that is opened again goes on from there, so
        that what a server says late of the former one is never taken for a word on the new one (D3)."""
        self._quiet: OrderedDict[str, None] = OrderedDict()

    def get(self, uri: str) -> Document | None:
        return self._open.get(self._key(uri))

    def at(self, key: str) -> Document | None:
        """The document with that key."""
        return self._open.get(key)

    def of_path(self, path: Path) -> list[Document]:
        """Every document of one real file: under a link or another spelling of its folder it is one of its own."""
        return list(self._of_path.get(path, ()))

    def all(self) -> list[Document]:
        return list(self._open.values())

    def open(self, owner: Hashable, uri: str, path: Path, language: str, version: int, text: str) -> Document:
        """An owner opened ``uri`` (``textDocument/didOpen``). A second open of the same one replaces its text."""
        key = self._key(uri)
        document = self._open.get(key)
        if document is None:
            document = Document(key, uri, path, language, text, self._ended_at + 1)
            document.owners[owner] = ClientText(text, version, uri)
            self._begin(document)
        else:
            self._quiet.pop(key, None)
            document.owners[owner] = ClientText(text, version, uri)
            self._show(document, text, None)
        document.remember(owner, version)
        document.owners[owner].saved = self._disk(path) == text
        return document

    def change(
        self, owner: Hashable, uri: str, version: int, changes: list[ContentChange], raw: Raw
    ) -> Document | None:
        """An owner's ``textDocument/didChange``, applied to the owner's text. None where it has not opened it.

        While the owner's text is what servers were shown, its ``raw`` changes go on as they are; otherwise servers
        get the whole text, since the changes are relative to one that they never saw.
        """
        document = self._open.get(self._key(uri))
        if document is None or owner not in document.owners:
            return None
        client = document.owners[owner]
        in_step = client.text == document.shown
        client.text, client.version = apply_changes(client.text, changes), version
        # An editor that reloads the file tells so by a change to what servers were shown already.
        client.saved = client.superseded and client.text == document.shown
        client.superseded = False
        self._show(document, client.text, raw if in_step else None, force=in_step)
        document.remember(owner, version)
        return document

    def save(self, owner: Hashable, uri: str) -> Document | None:
        document = self._open.get(self._key(uri))
        if document is None or owner not in document.owners:
            return None
        client = document.owners[owner]
        # Where the editor writes another encoding than is read here, the buffer stays its own.
        client.saved, client.superseded = self._disk(document.path) == client.text, False
        self._show(document, client.text, None)
        self._listener.document_saved(document)
        return document

    def close(self, owner: Hashable, uri: str) -> Document | None:
        """An owner closed ``uri``. Its unsaved text is forgotten: servers then see another owner's, or the disk's."""
        document = self._open.get(self._key(uri))
        if document is None or document.owners.pop(owner, None) is None:
            return None
        if document.owners:
            self._show(document, next(reversed(document.owners.values())).text, None)
        elif document.pins:
            self._show_disk(document)
        else:
            self._end(document)
        return document

    def drop(self, owner: Hashable) -> None:
        """The owner is gone: everything it had open is closed."""
        for document in self.all():
            self.close(owner, document.uri)

    def pin(self, uri: str, path: Path, language: str, text: str) -> Document:
        """Hold ``uri`` open for an operation, with ``text`` as its disk content where no owner has it open."""
        key = self._key(uri)
        document = self._open.get(key)
        if document is None:
            document = Document(key, uri, path, language, text, self._ended_at + 1)
            document.pins += 1
            self._begin(document)
            return document
        document.pins += 1
        self._quiet.pop(key, None)
        if not any(client.unsaved(text) for client in document.owners.values()):
            # Also under an editor that has not reloaded yet: nothing of its own is newer than the disk.
            self._show(document, text, None)
        return document

    def unpin(self, document: Document) -> None:
        """Let go of a pin. Without an owner the document stays open quietly for a while, the oldest is closed."""
        document.pins -= 1
        if document.pins or document.owners or document.key not in self._open:
            return
        self._quiet[document.key] = None
        self._quiet.move_to_end(document.key)
        while len(self._quiet) > QUIET_DOCUMENTS:
            oldest, _ = self._quiet.popitem(last=False)
            self._end(self._open[oldest])

    def replace(self, document: Document, text: str, *, anew: bool = False) -> None:
        """The file on disk is being written by us: servers see ``text`` at once, owners keep their own (protocol.md).

        ``anew``: others are written with it.

        The caller has made sure that no owner had unsaved changes; `written` follows when the bytes are on the disk.
        """
        for client in document.owners.values():
            client.superseded = client.text != text
        self._show(document, text, None, anew=anew)

    def renumber(self, document: Document) -> None:
        """Give the same text a new version; whoever carries texts to the servers says how they hear of it."""
        document.version += 1
        for owner, client in document.owners.items():
            if client.text == document.shown:
                document.remember(owner, client.version)

    def agrees(self, document: Document) -> bool:
        """Whether servers are shown what is on the disk."""
        return self._disk(document.path) == document.shown

    def written(self, document: Document) -> None:
        """What is shown is on the disk now; servers that check saved files may look."""
        self._listener.document_saved(document)

    def follow_disk(self, document: Document) -> None:
        """The file was changed by somebody else: servers see what it holds now (D7).

        An owner's unsaved buffer stays what they see. One that was saved gives way; its owner will reload it.
        """
        if not all(client.saved or client.superseded for client in document.owners.values()):
            return
        text = self._disk(document.path)
        if text is not None and text != document.shown:
            self.replace(document, text)
            self.written(document)

    def removed(self, document: Document) -> None:
        """The file is gone from the disk: close it, unless an owner still has it open."""
        if not document.owners:
            self._quiet.pop(document.key, None)
            self._end(document)

    def _show_disk(self, document: Document) -> None:
        text = self._disk(document.path)
        if text is not None:
            self._show(document, text, None)

    def _show(
        self, document: Document, text: str, changes: Raw | None, *, force: bool = False, anew: bool = False
    ) -> None:
        """Make ``text`` the shown one. Servers hear of it only where it differs, or where a client counted on it."""
        if text == document.shown and not force:
            return
        document.shown = text
        document.version += 1
        for owner, client in document.owners.items():
            if client.text == text:
                document.remember(owner, client.version)
        self._listener.document_changed(document, changes, anew=anew)

    def _begin(self, document: Document) -> None:
        self._open[document.key] = document
        self._of_path.setdefault(document.path, []).append(document)
        self._listener.document_opened(document)

    def _end(self, document: Document) -> None:
        self._open.pop(document.key, None)
        left = [one for one in self._of_path.pop(document.path, ()) if one is not document]
        if left:
            self._of_path[document.path] = left
        self._ended_at = max(self._ended_at, document.version)
        self._listener.document_closed(document)
