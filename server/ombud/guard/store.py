"""The trust store's file: one small JSON document, written whole or not at all, never half believed."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from ombud.errors import Refused

# Stands for the content of an executable outside the root, to which a link in the root leads.
OUTSIDE = "outside"

_LARGEST = 16 << 20
_VERSION = 1
_digests: dict[tuple[str, int, int, int, int, int], str] = {}


class Entry(msgspec.Struct, frozen=True):
    """One granted root: its real path, the folder's device and inode, and the content of executables in it.

    ``executables`` maps real paths to ``sha256`` in hexadecimal, or to ``OUTSIDE`` for what a link leads out to.
    ``granted`` is the time in seconds since the epoch.
    """

    path: str
    dev: int
    ino: int
    executables: dict[str, str] = {}
    granted: float = msgspec.field(default_factory=time.time)


class _File(msgspec.Struct):
    version: int
    roots: list[Entry]


class StoreFile:
    """Reads, caches and changes the file. ``problems`` belongs to the last reading."""

    def __init__(self, path: Path) -> None:
        # Through the real path: a store that is a link (dotfiles kept elsewhere) stays one when it is replaced.
        self.path = Path(os.path.realpath(path))
        self.problems: tuple[str, ...] = ()
        self._seen: tuple[int, int, int, int] | None = None
        self._entries: tuple[Entry, ...] = ()

    def entries(self) -> tuple[Entry, ...]:
        """The entries of the file as it is now; none when it is missing, damaged or open to others."""
        try:
            status = self.path.stat()
        except OSError as error:
            self._seen, self._entries = None, ()
            missing = isinstance(error, FileNotFoundError)
            self.problems = () if missing else (f"The trust store {self.path} cannot be read: {error.strerror}.",)
            return ()
        seen = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if seen != self._seen:
            self._entries, self.problems = self._load(status)
            self._seen = seen
        return self._entries

    def _load(self, status: os.stat_result) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
        mine = not hasattr(os, "getuid") or status.st_uid in (0, os.getuid())
        if not mine or (os.name == "posix" and status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
            return (), (
                f"The trust store {self.path} can be written by others, so nothing in it counts. "
                "Make it yours alone (chmod 600) after looking at it.",
            )
        try:
            if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
                raise ValueError("not an ordinary small file")
            file = msgspec.json.decode(self.path.read_bytes(), type=_File)
            if file.version != _VERSION:
                raise ValueError(f"version {file.version} is not known")
        except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
            return (), (
                f"The trust store {self.path} is damaged ({error}), so it counts as empty. Trust your projects again.",
            )
        return tuple(file.roots), ()

    def change(self, make: Callable[[tuple[Entry, ...]], list[Entry]]) -> None:
        """Replace the entries by what ``make`` says, whole or not at all, one process at a time.

        Raises ``Refused(kind="permission_denied")`` when the folder or the file cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.path.parent.chmod(0o700)
            with _lock(self.path.with_name(self.path.name + ".lock")):
                self._seen = None
                entries = self.entries()
                if self.problems:
                    self._set_aside()
                self._write(msgspec.json.format(msgspec.json.encode(_File(_VERSION, make(entries)))))
        except OSError as error:
            raise Refused(
                f"The trust store {self.path} cannot be written: {error.strerror or error}.", kind="permission_denied"
            ) from error
        self._seen = None

    def _set_aside(self) -> None:
        with suppress(FileNotFoundError):
            self.path.replace(self.path.with_name(self.path.name + ".damaged"))

    def _write(self, data: bytes) -> None:
        import tempfile

        # mkstemp makes the file with mode 0600 and a name that nobody can have prepared.
        fd, name = tempfile.mkstemp(prefix=".trust-", dir=self.path.parent)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(self.path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        if os.name == "posix":
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Hold an advisory lock while the file is read and replaced; it ends with its holder, however that ends."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(fd, msvcrt.LK_LOCK, 1)
        else:
            import fcntl

            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def digest(path: Path) -> str:
    """The SHA-256 of an ordinary file, in hexadecimal; raises OSError.

    Remembered while inode, size, mtime and ctime stay the same; ctime because no program can set it back.
    """
    import hashlib

    fd = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    )
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not an ordinary file")
        key = (str(path), status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = _digests.get(key)
        if known is None:
            known = hashlib.file_digest(file, "sha256").hexdigest()
            if len(_digests) >= 1024:
                _digests.clear()
            _digests[key] = known
    return known
