"""Document versions in a server's edits, as the client that gets them counts (LSP 3.17, ``TextDocumentEdit``).

Servers are told versions of the hub's, since several clients may have a document open. An edit for a client names the
client's own number of the same text; null where the client never had that text. Where the numbers agree, and that is
the usual case, not a byte is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from ombud.downstream.link import Outcome, Settle
from ombud.wire.values import dump, load_any

if TYPE_CHECKING:
    from ombud.operations.session import Session

EDITING = frozenset(
    {
        "textDocument/rename",
        "textDocument/codeAction",
        "codeAction/resolve",
        "workspace/willCreateFiles",
        "workspace/willRenameFiles",
        "workspace/willDeleteFiles",
        "workspace/executeCommand",
        "workspace/applyEdit",
    }
)
"""The methods whose answers or params may hold a ``WorkspaceEdit``."""


def settling(session: Session, settle: Settle) -> Settle:
    """``settle``, with the versions in the answer made the client's own."""

    def translated(outcome: Outcome) -> None:
        settle(of_client(session, outcome) if isinstance(outcome, Raw) else outcome)

    return translated


def of_client(session: Session, raw: Raw) -> Raw:
    """``raw`` with the client's own versions; the same bytes where nothing differs."""
    if b'"documentChanges"' not in bytes(raw):
        return raw
    try:
        value = load_any(raw)
    except msgspec.ValidationError:
        return raw
    differs = False
    for named in _versioned(value):
        version = _of_client(session, named)
        if version != named["version"]:
            named["version"] = version
            differs = True
    return Raw(dump(value)) if differs else raw


def _of_client(session: Session, named: dict[str, Any]) -> int | None:
    document = session.hub.documents.get(named["uri"])
    if document is None or session not in document.owners:
        return None
    return document.version_of(session, named["version"])


def _versioned(node: Any) -> Iterator[dict[str, Any]]:
    """Every document with a number for its version in the ``documentChanges`` anywhere in a value."""
    if isinstance(node, list):
        for one in node:
            yield from _versioned(one)
    elif isinstance(node, dict):
        changes = node.get("documentChanges")
        for change in changes if isinstance(changes, list) else ():
            named = change.get("textDocument") if isinstance(change, dict) else None
            if isinstance(named, dict) and isinstance(named.get("uri"), str) and isinstance(named.get("version"), int):
                yield named
        for name in ("edit", "command", "arguments"):
            yield from _versioned(node.get(name))
