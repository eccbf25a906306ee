"""What can go wrong with a store, and the sentence for it."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ombud.errors import Cancelled, Refused


class StoreError(Refused):
    """The store cannot do what was asked; ``message`` says why and what to do."""

    def __init__(self, message: str, *, kind: str = "server_failed") -> None:
        super().__init__(message, kind=kind)


class Busy(StoreError):
    """Another process writes this store."""


class Missing(StoreError):
    """There is no store yet: nothing has been indexed."""


class Damaged(StoreError):
    """The file is no store, or a broken one. It is built anew when it is next opened for writing."""


class Unwritable(StoreError):
    """The disk is full, or the folder or the file cannot be written."""

    def __init__(self, message: str) -> None:
        super().__init__(message, kind="permission_denied")


DAMAGED = "graph.damaged"
"""A file of this name beside the store says that a reader found it broken: whoever writes it builds it anew."""

UNPACKING = (zlib.error, msgspec.MsgspecError)
"""What reading a packed value raises that nobody has packed."""
_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_NO_ROOM = {sqlite3.SQLITE_FULL: "the disk is full", sqlite3.SQLITE_READONLY: "it is read-only"}
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


@contextmanager
def spoken(file: Path) -> Iterator[None]:
    """Turns what SQLite raises over the store ``file`` into the errors above, and an interrupt into `Cancelled`."""
    try:
        yield
    except (sqlite3.Error, *UNPACKING) as error:
        raise translated(error, file) from error


def translated(error: Exception, file: Path) -> Exception:
    """The error to raise for one of SQLite's. A mistake of ours (a statement that cannot be run) stays what it is."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _BROKEN or isinstance(error, UNPACKING):
        mark(file)
        return Damaged(f"The code graph's store {file} is damaged ({error}); it is built anew with the next index.")
    if code in _NO_ROOM:
        return Unwritable(
            f"The code graph's store {file} cannot be written: {_NO_ROOM[code]}. Make room, or name another place in "
            "index.store; answers come from what was stored before."
        )
    if code in {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return Unwritable(f"The code graph's store {file} cannot be used ({error}). Look at the folder and its disk.")
    if code in _BUSY:
        return Busy(f"The code graph's store {file} is in use by another process ({error}). Try again.")
    if code == sqlite3.SQLITE_INTERRUPT:
        return Cancelled()
    return error


def mark(file: Path) -> None:
    """Leave word for the writer that the store is broken, if the folder can be written."""
    try:
        file.with_name(DAMAGED).touch(mode=0o600)
    except OSError:
        return
