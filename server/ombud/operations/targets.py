"""From a caller's words to a file and a place in it (protocol.md, "Addressing")."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ombud.downstream.server import Server
from ombud.errors import Refused, UserError
from ombud.guard.fence import Inside
from ombud.guard.redact import clean, redact
from ombud.operations.shapes import FILE_LIMIT
from ombud.text.lines import LineIndex
from ombud.text.ranges import Position
from ombud.workspace.documents import Document
from ombud.workspace.files import read

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected
    from ombud.operations.session import Session


@dataclass(frozen=True, slots=True)
class Target:
    """A file held open for an operation, and the servers that claim it."""

    inside: Inside
    document: Document
    servers: list[Server]


@contextmanager
def opened(session: Session, path: str) -> Iterator[Target]:
    """Hold ``path`` open in its servers while an operation works with it.

    Raises `Refused` (``not_found``, ``outside_workspace``, ``sensitive_path``, ``not_text``, ``no_server`` with the
    reason of each absence).
    """
    inside = session.fence.resolve(path, intent="read")
    captured = read(session.fence, inside, FILE_LIMIT)
    servers = servers_for(session, inside)
    document = pin(session, inside, captured.text, servers)
    try:
        yield Target(inside, document, servers)
    finally:
        session.hub.documents.unpin(document)


def pin(session: Session, inside: Inside, text: str, servers: list[Server]) -> Document:
    """Open the file quietly in ``servers``, or hold the document that is open already."""
    uri = inside.spelled_uri
    session.hub.attach(uri, servers)
    return session.hub.documents.pin(uri, inside.path, language(session, inside), text)


def language(session: Session, inside: Inside) -> str:
    document = session.hub.documents.get(inside.spelled_uri)
    return document.language if document is not None else session.detector.language(inside.path) or "plaintext"


def servers_for(session: Session, inside: Inside) -> list[Server]:
    """The servers that claim a file. Raises `Refused` (``no_server``) that says why none does."""
    servers = session.servers(inside.path, language(session, inside))
    if not servers:
        found = session.detected(inside.path, language(session, inside))
        raise Refused(no_server(inside.relative, found), kind="no_server", path=inside.relative)
    return servers


def no_server(path: str, found: tuple[Detected, ...]) -> str:
    """Why nothing can answer for a file, in at most two sentences."""
    if not found:
        return f"No language server in the catalogue is for files such as {path}; add one under servers in ombud.toml."
    first = next((one for one in found if one.state in ("not_trusted", "missing_binary")), found[0])
    return f"No language server can answer for {path}: {first.entry.name}: {first.reason}"


def place(document: Document, name: str, line: int | None, symbol: str | None, position: Position | None) -> Position:
    """The place that the caller means: an LSP position as it is, or a one-based line with a symbol on it.

    Raises `UserError` for a line without a symbol (never a first-column guess), for a symbol that is not on the line
    (the line is shown) and for a line behind the end of the file.
    """
    return position if position is not None else spot(document.shown, name, line, symbol)


def spot(whole: str, name: str, line: int | None, symbol: str | None) -> Position:
    """A one-based line of the text ``whole`` with a symbol on it. Raises as `place` does."""
    if line is None:
        raise UserError("Say where: pass position, or line (one-based) together with symbol.")
    lines = LineIndex(whole)
    if not 1 <= line <= lines.count:
        raise UserError(f"{name} has {lines.count} lines; there is no line {line}.")
    text = lines.line(line - 1)
    shown = clean(redact(text.strip()), 200)
    if not symbol:
        raise UserError(f"Pass symbol as well: a name on line {line} of {name}, which reads {shown!r}.")
    wanted, nth = _occurrence(symbol)
    at = -1
    for _ in range(nth):
        at = text.find(wanted, at + 1)
        if at < 0:
            raise UserError(
                f"{symbol!r} is not on line {line} of {name}, which reads {shown!r}.", line=line, text=shown
            )
    start, _ = lines.span(line - 1)
    row, character = lines.position(start + at)
    return Position(row, character)


def _occurrence(symbol: str) -> tuple[str, int]:
    """``name#2`` is the second occurrence of ``name``."""
    wanted, mark, number = symbol.rpartition("#")
    if mark and wanted and re.fullmatch("0*[1-9][0-9]{0,5}", number):
        return wanted, int(number)
    return symbol, 1
