"""What the scripted server knows of the documents, strictly by the notifications it was sent."""

from __future__ import annotations

import os
import re

from tests.positions import Lines, apply_changes, index_in_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

_WORD = re.compile(r"\w+")
_URI_ESCAPE = re.compile(rb"%([0-9A-Fa-f]{2})")


class Document:
    def __init__(self, uri: str, text: str, version: int | None, language: str | None) -> None:
        self.uri = uri
        self.text = text
        self.version = version
        self.language = language
        self._lines: Lines | None = None

    @property
    def lines(self) -> Lines:
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines

    def replace(self, text: str, version: int | None) -> None:
        self.text, self.version, self._lines = text, version, None

    def line(self, number: int) -> str:
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def word(self, position: dict[str, int]) -> tuple[str, int, int] | None:
        """The word that touches a position, with its string indices."""
        line = self.line(position["line"])
        index = index_in_line(line, position["character"])
        start = self.lines.offset({"line": position["line"], "character": 0})
        for match in _WORD.finditer(line):
            if match.start() <= index <= match.end():
                return match.group(), start + match.start(), start + match.end()
        return None

    def occurrences(self, word: str) -> list[dict[str, Any]]:
        """Locations of a word, as a whole word, in text order."""
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        return [
            {"uri": self.uri, "range": self.lines.range(match.start(), match.end())}
            for match in pattern.finditer(self.text)
        ]

    def words(self) -> set[str]:
        return set(_WORD.findall(self.text))


class Documents:
    """The open documents by uri, in the order in which they were opened."""

    def __init__(self, sync: int, violation: Callable[[str], None]) -> None:
        self.open: dict[str, Document] = {}
        self._sync = sync
        self._violation = violation

    def did_open(self, params: dict[str, Any]) -> Document:
        item = params["textDocument"]
        if item["uri"] in self.open:
            self._violation(f"didOpen of {item['uri']}, which is open")
        document = Document(item["uri"], item["text"], item["version"], item["languageId"])
        self.open[item["uri"]] = document
        return document

    def did_change(self, params: dict[str, Any]) -> Document | None:
        item = params["textDocument"]
        document = self.open.get(item["uri"])
        if document is None:
            self._violation(f"didChange of {item['uri']}, which is not open")
            return None
        version = item["version"]
        if document.version is not None and version is not None and version <= document.version:
            self._violation(f"didChange of {item['uri']} to version {version} after version {document.version}")
        if self._sync == 0:
            self._violation(f"didChange of {item['uri']} to a server that announced no change notifications")
        changes = params["contentChanges"]
        if self._sync == 1 and any("range" in change for change in changes):
            self._violation(f"incremental didChange of {item['uri']} to a server that announced full sync")
        document.replace(apply_changes(document.text, changes), version)
        return document

    def did_close(self, params: dict[str, Any]) -> Document | None:
        uri = params["textDocument"]["uri"]
        document = self.open.pop(uri, None)
        if document is None:
            self._violation(f"didClose of {uri}, which is not open")
        return document

    def find(self, uri: str) -> Document | None:
        """The open document, else the file on disk (version None), else nothing."""
        if uri in self.open:
            return self.open[uri]
        path = file_path(uri)
        if path is None:
            return None
        try:
            with open(path, encoding="utf-8", errors="replace", newline="") as file:
                return Document(uri, file.read(), None, None)
        except OSError:
            return None

    def from_here(self, uri: str) -> Iterator[Document]:
        """All open documents, the one asked about first."""
        here = self.find(uri)
        if here is not None:
            yield here
        yield from (document for document in self.open.values() if document.uri != uri)

    def snapshot(self) -> dict[str, dict[str, Any]]:
        return {
            uri: {"text": document.text, "version": document.version, "languageId": document.language}
            for uri, document in self.open.items()
        }


def file_path(uri: str) -> str | None:
    """The path of a ``file:`` URI of this machine (urllib is too slow to import for this)."""
    if not uri.startswith("file:///"):
        return None
    raw = uri[len("file://") :].encode("utf-8", "surrogatepass")
    path = os.fsdecode(_URI_ESCAPE.sub(lambda match: bytes([int(match.group(1), 16)]), raw))
    return path[1:] if os.name == "nt" else path
