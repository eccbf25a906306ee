"""One open notebook (LSP 3.17, "Notebook Document Synchronization"): its cells in order and their texts, as values.

A state never changes; `changed` makes the next one, and `difference` says how one that a server knows becomes another.
What clients put beside the known keys (metadata, execution summaries) is kept as it came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from ombud.text.changes import ContentChange, apply_changes
from ombud.wire.values import load
from ombud.workspace.documents import Opened

Json = dict[str, Any]


class Cell(msgspec.Struct, frozen=True):
    """``entry`` is the ``NotebookCell`` as the client gave it; the rest is of its text document."""

    entry: Json
    uri: str
    language: str = "plaintext"
    version: int = 0
    text: str = ""

    @property
    def identity(self) -> tuple[str, str]:
        """A cell whose language changes is a new document under the same URI."""
        return self.uri, self.language

    @property
    def item(self) -> Json:
        """The ``TextDocumentItem``."""
        return {"uri": self.uri, "languageId": self.language, "version": self.version, "text": self.text}


class Notebook(msgspec.Struct, frozen=True):
    """``rest`` are the keys of the ``NotebookDocument`` without its cells."""

    uri: str
    kind: str
    version: int
    rest: Json
    cells: tuple[Cell, ...]

    def opening(self) -> Json:
        """The params of ``notebookDocument/didOpen``."""
        document = {**self.rest, "cells": [cell.entry for cell in self.cells]}
        return {"notebookDocument": document, "cellTextDocuments": [cell.item for cell in self.cells]}

    def closing(self) -> Json:
        """The params of ``notebookDocument/didClose``."""
        return {"notebookDocument": {"uri": self.uri}, "cellTextDocuments": [{"uri": cell.uri} for cell in self.cells]}


class _NotebookOpened(msgspec.Struct):
    notebookDocument: Json  # noqa: N815  (the protocol's name)
    cellTextDocuments: list[Opened] = []  # noqa: N815


class _Array(msgspec.Struct):
    start: int
    deleteCount: int  # noqa: N815
    cells: list[Json] | None = None


class _Structure(msgspec.Struct):
    array: _Array
    didOpen: list[Opened] | None = None  # noqa: N815


class _Versioned(msgspec.Struct):
    uri: str
    version: int | None = None


class _Text(msgspec.Struct):
    document: _Versioned
    changes: Raw


class _Cells(msgspec.Struct):
    structure: _Structure | None = None
    data: list[Json] | None = None
    textContent: list[_Text] | None = None  # noqa: N815


class _Change(msgspec.Struct):
    metadata: Any = msgspec.UNSET
    cells: _Cells | None = None


class _Changed(msgspec.Struct):
    notebookDocument: _Versioned  # noqa: N815
    change: _Change


def opened(params: Raw) -> Notebook:
    """The state after ``notebookDocument/didOpen``. Raises `msgspec.ValidationError` for another shape."""
    found = load(params, _NotebookOpened)
    document = found.notebookDocument
    uri, kind, version = (document.get(name) for name in ("uri", "notebookType", "version"))
    entries = document.get("cells")
    if not isinstance(uri, str) or not isinstance(entries, list):
        raise msgspec.ValidationError("Expected a notebookDocument with a uri and cells")
    rest = {key: value for key, value in document.items() if key != "cells"}
    texts = {item.uri: _cell({}, item) for item in found.cellTextDocuments}
    cells = tuple(_placed(entry, texts) for entry in entries)
    return Notebook(uri, kind if isinstance(kind, str) else "", version if isinstance(version, int) else 0, rest, cells)


def changed(notebook: Notebook, params: Raw) -> tuple[Notebook, dict[str, Raw]]:
    """The state after ``notebookDocument/didChange``, and the content changes of each cell's text as they came.

    Raises `msgspec.ValidationError` for another shape; ``notebook`` is what it was.
    """
    found = load(params, _Changed)
    cells, edits = list(notebook.cells), {}
    rest = dict(notebook.rest)
    part = found.change.cells
    if found.change.metadata is not msgspec.UNSET:
        rest["metadata"] = found.change.metadata
    if part is not None and part.structure is not None:
        cells = _restructured(cells, part.structure)
    for entry in (part.data if part is not None else None) or []:
        cells = [_with_entry(cell, entry) if cell.uri == entry.get("document") else cell for cell in cells]
    for text in (part.textContent if part is not None else None) or []:
        uri, raw = text.document.uri, Raw(bytes(text.changes))
        changes = load(raw, list[ContentChange])
        cells = [_edited(cell, changes, text.document.version) if cell.uri == uri else cell for cell in cells]
        edits[uri] = raw
    version = found.notebookDocument.version
    if version is not None:
        rest["version"] = version
    new = Notebook(notebook.uri, notebook.kind, notebook.version if version is None else version, rest, tuple(cells))
    return new, edits


def _restructured(cells: list[Cell], structure: _Structure) -> list[Cell]:
    """A cell that is moved is taken out and put in without being closed and opened: its text stays known."""
    texts = {cell.uri: cell for cell in cells}
    texts |= {item.uri: _cell({}, item) for item in structure.didOpen or []}
    array = structure.array
    start = min(max(array.start, 0), len(cells))
    new = [_placed(entry, texts) for entry in array.cells or []]
    return [*cells[:start], *new, *cells[start + max(array.deleteCount, 0) :]]


def _placed(entry: Any, texts: Mapping[str, Cell]) -> Cell:
    uri = entry.get("document") if isinstance(entry, dict) else None
    if not isinstance(uri, str):
        raise msgspec.ValidationError("Expected a cell with the URI of its document")
    return _with_entry(texts.get(uri) or Cell(entry, uri), entry)


def _cell(entry: Json, item: Opened) -> Cell:
    return Cell(entry, item.uri, item.languageId, item.version, item.text)


def _with_entry(cell: Cell, entry: Json) -> Cell:
    return msgspec.structs.replace(cell, entry=entry)


def _edited(cell: Cell, changes: list[ContentChange], version: int | None) -> Cell:
    text = apply_changes(cell.text, changes)
    return msgspec.structs.replace(cell, text=text, version=cell.version if version is None else version)


def difference(before: Notebook, after: Notebook, base: Notebook | None, edits: Mapping[str, Raw]) -> Json:
    """The ``change`` of ``notebookDocument/didChange`` that makes ``after`` of what a server knows as ``before``.

    ``edits`` are content changes against the texts of ``base``; a cell that the server knows with another text gets its
    whole new text.
    """
    change: Json = {}
    cells: Json = {}
    if before.rest.get("metadata") != after.rest.get("metadata"):
        change["metadata"] = after.rest.get("metadata")
    known = {cell.identity: cell for cell in before.cells}
    structure, placed = _structure(before.cells, after.cells)
    if structure:
        cells["structure"] = structure
    kept = [(known[cell.identity], cell) for cell in after.cells if cell.identity in known]
    data = [new.entry for old, new in kept if old.entry != new.entry and new.identity not in placed]
    texts = {cell.identity: cell.text for cell in (base.cells if base is not None else ())}
    contents = []
    for old, new in kept:
        if (old.text, old.version) == (new.text, new.version):
            continue
        raw = edits.get(new.uri) if texts.get(old.identity) == old.text else None
        changes: Any = [{"text": new.text}] if raw is None else raw
        contents.append({"document": {"uri": new.uri, "version": new.version}, "changes": changes})
    cells |= {name: value for name, value in (("data", data), ("textContent", contents)) if value}
    return change | ({"cells": cells} if cells else {})


def _structure(before: Sequence[Cell], after: Sequence[Cell]) -> tuple[Json, set[tuple[str, str]]]:
    """The one splice that makes the new order of the old one, empty where it is the same; and the cells it puts in."""
    old, new = [cell.identity for cell in before], [cell.identity for cell in after]
    if old == new:
        return {}, set()
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    put = after[head : len(after) - tail]
    array: Json = {"start": head, "deleteCount": len(old) - head - tail, "cells": [cell.entry for cell in put]}
    structure: Json = {"array": array}
    opening = [cell.item for cell in put if cell.identity not in set(old)]
    closing = [{"uri": cell.uri} for cell in before if cell.identity not in set(new)]
    structure |= {name: value for name, value in (("didOpen", opening), ("didClose", closing)) if value}
    return structure, {cell.identity for cell in put}
