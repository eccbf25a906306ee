"""The shapes that several operations answer with (protocol.md, "Addressing" and "Writing"), and how they are made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from ombud.diagnostics.fresh import Verdict
from ombud.diagnostics.items import Item
from ombud.errors import OmbudError
from ombud.guard.redact import clean, redact
from ombud.text.lines import LineIndex
from ombud.text.ranges import Range

if TYPE_CHECKING:
    from ombud.operations.session import Session

TEXT_LIMIT = 200
FILE_LIMIT = 64 * 1024 * 1024


class Shape(msgspec.Struct, rename="camel", kw_only=True):
    """What an operation answers: camelCase on the wire."""


Wait = Annotated[
    int, msgspec.Meta(ge=0, le=600_000, description="How long to wait for language servers, in milliseconds.")
]
Hints = Annotated[Literal["hint"], msgspec.Meta(description="Count hints as well; they are left out without it.")]


class Arguments(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What an operation takes: camelCase on the wire, unknown keys refused."""


class DiagnosticShape(Shape, omit_defaults=True):
    path: str
    line: int
    end_line: int
    range: Range
    severity: str
    source: str
    message: str
    text: str
    code: str | None = None


class FreshnessShape(Shape, omit_defaults=True):
    name: str
    freshness: str
    """``fresh``: it has answered for exactly this content; ``timed_out``: not yet; ``unavailable``: it will not."""
    elapsed_ms: int
    reason: str | None = None


def freshness(verdict: Verdict) -> FreshnessShape:
    return FreshnessShape(
        name=verdict.server, freshness=verdict.freshness, elapsed_ms=verdict.elapsed_ms, reason=verdict.reason
    )


def diagnostic(path: str, item: Item, lines: LineIndex) -> DiagnosticShape:
    """An item as it is shown: ``line``/``endLine`` one-based, ``text`` the first source line."""
    return DiagnosticShape(
        path=path,
        line=item.range.start.line + 1,
        end_line=item.range.end.line + 1,
        range=item.range,
        severity=item.severity,
        code=item.code,
        source=item.source or item.server,
        message=item.message,
        text=source_line(lines, item.range.start.line),
    )


def source_line(lines: LineIndex, index: int) -> str:
    """A source line for the reader: no control characters, no secrets, at most `TEXT_LIMIT` characters."""
    if not 0 <= index < lines.count:
        return ""
    return clean(redact(lines.line(index).strip()), TEXT_LIMIT)


class Sources:
    """Line texts of the files that one answer names, each read once: the shown text where open, else the disk's."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lines: dict[str, LineIndex | None] = {}

    def lines(self, uri: str) -> LineIndex | None:
        """None for what lies outside the workspace, is sensitive, or is no text."""
        if uri not in self._lines:
            self._lines[uri] = self._read(uri)
        return self._lines[uri]

    def _read(self, uri: str) -> LineIndex | None:
        from ombud.workspace.files import read

        try:
            # An editor, or another client of this hub, may have open what this one may not see.
            self._session.fence.resolve(uri, intent="write")
            document = self._session.hub.documents.get(uri)
            if document is not None:
                return LineIndex(document.shown)
            inside = self._session.fence.resolve(uri, intent="read")
            return LineIndex(read(self._session.fence, inside, FILE_LIMIT).text)
        except OmbudError:
            return None

    def path(self, uri: str) -> str:
        """As results name files: relative to the first folder, absolute outside of it, the URI for no file."""
        try:
            return self._session.fence.resolve(uri, intent="write").relative
        except OmbudError:
            from ombud.guard.uris import uri_to_path

            try:
                return uri_to_path(uri).as_posix()
            except OmbudError:
                return uri

    def location(self, uri: str, where: Range) -> dict[str, Any]:
        """``{path, line, endLine, range, text}``."""
        lines = self.lines(uri)
        return {
            "path": self.path(uri),
            "line": where.start.line + 1,
            "endLine": where.end.line + 1,
            "range": where,
            "text": source_line(lines, where.start.line) if lines is not None else "",
        }
