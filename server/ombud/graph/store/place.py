"""Where a root's store is, and its lock."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from ombud.graph.store.failures import DAMAGED, Busy, Unwritable
from ombud.workspace.locks import lock

FILE = "graph.db"
LOCK = "graph.lock"
_BESIDE = ("", "-wal", "-shm", "-journal")


def place(root: Path, store: str | None = None) -> Path:
    """The folder of ``root``'s store: below ``store`` (from ``index.store``; relative to the root), else in the cache.

    The root counts by its real path, so that two ways to one folder share a store.
    """
    real = os.path.realpath(root)
    name = hashlib.sha256(os.fsencode(real)).hexdigest()[:24]
    if store is not None:
        return Path(real) / Path(store).expanduser() / name
    import platformdirs

    folder = Path(platformdirs.user_cache_dir("ombud", appauthor=False))
    return (folder if folder.is_absolute() else Path.home() / ".cache" / "ombud") / "graph" / name


def seize(folder: Path) -> int:
    """Make the folder, for this user only, and lock it for one writer: the descriptor that holds the lock.

    Raises `Busy` where another process has it, `Unwritable` where the folder cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.name == "posix" and folder.stat().st_mode & 0o077:
            folder.chmod(0o700)
        held = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    except OSError as error:
        raise Unwritable(
            f"The code graph cannot be kept in {folder}: {error.strerror or error}. Make the folder writable, or name "
            "another place in index.store."
        ) from error
    if not lock(held, wait=False):
        os.close(held)
        raise Busy(f"Another Ombud process keeps the code graph in {folder} up to date.")
    return held


def discard(folder: Path) -> None:
    """Delete the store, the database first: a reader that opens meanwhile finds none, never one without its log."""
    try:
        for suffix in _BESIDE:
            (folder / f"{FILE}{suffix}").unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            (folder / DAMAGED).unlink()
    except OSError as error:
        raise Unwritable(
            f"The code graph's old store in {folder} cannot be removed: {error.strerror or error}. Remove it by hand."
        ) from error


def create(folder: Path) -> Path:
    """An empty database file that only this user can read; SQLite gives its log the same mode."""
    file = folder / FILE
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        if os.name == "posix" and file.stat().st_mode & 0o077:
            file.chmod(0o600)
    except OSError as error:
        raise Unwritable(f"The code graph's store {file} cannot be made: {error.strerror or error}.") from error
    return file
