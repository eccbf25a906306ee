"""Files that were created, renamed or deleted: told to the servers that asked for it (LSP 3.17, "didRenameFiles")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from ombud.downstream import fileops
from ombud.wire.values import dump

if TYPE_CHECKING:
    from ombud.guard.fence import Inside
    from ombud.operations.session import Session
    from ombud.operations.writing.plan import Edition

_FOLDERS: ContextVar[Sequence[tuple[Inside, Inside]]] = ContextVar("folders", default=())

Files = list[dict[str, Any]]


@contextmanager
def folders_moved(moved: Sequence[tuple[Inside, Inside]]) -> Iterator[None]:
    """What is written in this block moves whole folders, old and new: servers hear of these and not of each file."""
    token = _FOLDERS.set(moved)
    try:
        yield
    finally:
        _FOLDERS.reset(token)


def after(session: Session, editions: Sequence[Edition]) -> None:
    """Tell the running servers whose filters match: once the files are as ``editions`` say."""
    created: Files = [{"uri": one.inside.spelled_uri} for one in editions if one.kind == "create"]
    deleted: Files = [{"uri": one.inside.spelled_uri} for one in editions if one.kind == "delete"]
    _tell(session, "workspace/didCreateFiles", created)
    _renamed(session, [one for one in editions if one.kind == "rename"])
    _tell(session, "workspace/didDeleteFiles", deleted)


def _renamed(session: Session, editions: Sequence[Edition]) -> None:
    """A server that wants to hear of a folder hears nothing of what was moved with it, as editors do it."""
    method = "workspace/didRenameFiles"
    folders = _FOLDERS.get()
    whole = [_pair(old, new) for old, new in folders]
    heard = _tell(session, method, whole)
    alone: Files = []
    within: Files = []
    for one in editions:
        assert one.to is not None
        inner = any(one.inside.path.is_relative_to(old.path) for old, _ in folders)
        (within if inner else alone).append(_pair(one.inside, one.to))
    _tell(session, method, alone + within, but=heard)
    if heard:
        _tell(session, method, alone, only=heard)


def _pair(old: Inside, new: Inside) -> dict[str, Any]:
    return {"oldUri": old.spelled_uri, "newUri": new.spelled_uri}


def _tell(
    session: Session, method: str, files: Files, *, but: Sequence[Any] = (), only: Sequence[Any] | None = None
) -> list[Any]:
    """Send the notification to each server that wants some of the files; those servers."""
    if not files:
        return []
    servers = [one for one in session.running() if one not in but and (only is None or one in only)]
    shares = fileops.shares(servers, method, Raw(dump({"files": files})))
    for server, params in shares.items():
        server.notify(method, params)
    return list(shares)
