"""Applying a ``WorkspaceEdit`` as an editor does: in order, to open documents and to files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.positions import apply_edits


class NotApplicable(Exception):
    """The edit does not fit what the editor has; the message is its ``failureReason``."""


def uri_to_path(uri: str) -> Path:
    """The path of a ``file:`` URI. Raises ``ValueError`` for any other scheme."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        raise ValueError(f"not a file URI: {uri}")
    return Path(unquote(parts.path))


def same_uri(uri: str) -> str:
    """A key that is equal for two spellings of one URI (``%3A`` and ``:``)."""
    return unquote(uri)


def operations(edit: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The edit as a list of ``TextDocumentEdit`` and resource operations, whichever form it has."""
    if "documentChanges" in edit:
        yield from edit["documentChanges"]
        return
    for uri, edits in edit.get("changes", {}).items():
        yield {"textDocument": {"uri": uri, "version": None}, "edits": edits}


def apply_operation(
    operation: dict[str, Any],
    open_text: Callable[[str], tuple[str, int] | None],
    change: Callable[[str, str], None],
) -> str:
    """Applies one operation and returns the URI it touched.

    ``open_text(uri)`` gives text and version of an open document; ``change(uri, text)`` replaces its text. All others
    are read and written on disk, byte for byte outside the edits. Raises ``NotApplicable``.
    """
    kind = operation.get("kind")
    if kind is not None:
        return _resource(kind, operation)
    item = operation["textDocument"]
    uri: str = item["uri"]
    known = open_text(uri)
    if known is not None:
        text, version = known
        if item.get("version") not in (None, version):
            raise NotApplicable(f"{uri} is at version {version}, the edit is for {item['version']}")
        change(uri, apply_edits(text, operation["edits"]))
        return uri
    path = uri_to_path(uri)
    if not path.is_file():
        raise NotApplicable(f"{uri} does not exist")
    path.write_bytes(apply_edits(path.read_bytes().decode(), operation["edits"]).encode())
    return uri


def _resource(kind: str, operation: dict[str, Any]) -> str:
    options = operation.get("options") or {}
    target = operation["newUri"] if kind == "rename" else operation["uri"]
    path = uri_to_path(target)
    if kind == "delete":
        if not path.exists() and not options.get("ignoreIfNotExists"):
            raise NotApplicable(f"{target} does not exist")
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        return str(target)
    if path.exists() and not options.get("overwrite"):
        if options.get("ignoreIfExists"):
            return str(target)
        raise NotApplicable(f"{target} exists")
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "create":
        path.write_bytes(b"")
    else:
        uri_to_path(operation["oldUri"]).replace(path)
    return str(target)
