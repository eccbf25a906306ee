"""Opened folders, and what a commit does to the names in them: by handle, and never through a link (F4, F9).

On a system without folder handles (Windows) the same actions go by path.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

from ombud.guard import handles

OPEN_AT_ONCE = 48
"""How many folders are held open; macOS gives a process 256 descriptors unless told otherwise."""

_NEW_FILE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_REWRITE = os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# False wherever the system lets us say that the name itself is meant, not what a link there leads to.
_LINK_FOLLOWS = os.link not in os.supports_follow_symlinks
_EFFECTIVE = os.access in os.supports_effective_ids
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV})
# What copying an extended attribute may fail with where the system keeps it to itself (labels, capabilities).
_NOT_OURS = frozenset({errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.ENODATA, errno.EINVAL})


class Seen:
    """A file as it is now. ``data`` is None where something else than an ordinary file stands there."""

    __slots__ = ("data", "status")

    def __init__(self, status: os.stat_result, data: bytes | None) -> None:
        self.status = status
        self.data = data

    @property
    def identity(self) -> tuple[int, int]:
        return self.status.st_dev, self.status.st_ino


@dataclass(frozen=True, slots=True)
class Dress:
    """What a new file takes over from another: owner, permissions, and from ``fd`` the extended attributes.

    On Linux these are the access lists too; Python does not reach those of macOS, where they are lost.
    """

    uid: int
    gid: int
    mode: int
    fd: int | None = None


class Folder:
    """One opened folder. Every method takes names in it, raises `OSError`, and leaves syncing it to `sync`."""

    def __init__(self, fd: int | None, path: Path) -> None:
        self._fd = fd
        self.path = path

    def _name(self, name: str) -> str:
        return name if self._fd is not None else str(self.path / name)

    def status(self, name: str) -> os.stat_result | None:
        """``lstat``, None where nothing is there."""
        try:
            return os.stat(self._name(name), dir_fd=self._fd, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def look(self, name: str) -> Seen | None:
        """The file with its bytes, None where nothing is there. Raises `Refused` where it cannot be opened."""
        status = self.status(name)
        if status is None or not stat.S_ISREG(status.st_mode):
            return None if status is None else Seen(status, None)
        fd, status = self.open(name)
        try:
            return Seen(status, handles.read_all(fd, sys.maxsize - 1, name, status.st_size))
        finally:
            os.close(fd)

    def open(self, name: str) -> tuple[int, os.stat_result]:
        """An ordinary file, opened for reading; the caller closes it. Raises `Refused`."""
        return handles.open_file(self._fd, self._name(name), str(self.path / name))

    def writable(self, name: str) -> bool:
        """Whether the system would let us write to the file: a replacement must not get around a write protection."""
        return os.access(self._name(name), os.W_OK, dir_fd=self._fd, effective_ids=_EFFECTIVE)

    def create(self, name: str, data: bytes, mode: int | None, dress: Dress | None = None) -> None:
        """Write and sync a new file, which must not be there.

        ``mode`` goes before the permissions of ``dress``. With neither they are those of any new file: 0666 less
        the umask.
        """
        fd = os.open(self._name(name), _NEW_FILE, 0o666 if dress is None else 0o600, dir_fd=self._fd)
        try:
            _write_all(fd, data, 0)
            if dress is not None:
                _put_on(fd, self.path / name, dress)
            if mode is not None:
                change_mode(fd, self.path / name, mode)
            sync(fd)
        finally:
            os.close(fd)

    def rewrite(self, name: str, data: bytes, *, mode: int, identity: tuple[int, int]) -> None:
        """Write ``data`` over the bytes of an existing file, which stays the same file under all its names (C8).

        What goes beyond the old end is written first, and taken back where the disk is full: the old bytes are
        touched only when nothing needs more space (C2). Raises `FileNotFoundError` where it is another file now.
        """
        fd = os.open(self._name(name), _REWRITE, dir_fd=self._fd)
        try:
            status = os.fstat(fd)
            if (status.st_dev, status.st_ino) != identity or not stat.S_ISREG(status.st_mode):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            try:
                _write_all(fd, data[status.st_size :], status.st_size)
                sync(fd)
            except OSError:
                os.ftruncate(fd, status.st_size)
                raise
            _write_all(fd, data[: status.st_size], 0)
            os.ftruncate(fd, len(data))
            if stat.S_IMODE(os.fstat(fd).st_mode) != stat.S_IMODE(mode):
                # Only the owner may set them, so it is not done where it is not needed.
                change_mode(fd, self.path / name, mode)
            sync(fd)
        finally:
            os.close(fd)

    def change_mode(self, name: str, mode: int) -> None:
        fd, _ = self.open(name)
        try:
            change_mode(fd, self.path / name, mode)
        finally:
            os.close(fd)

    def replace(self, name: str, new_name: str, other: Folder | None = None) -> None:
        """Rename, over what stands at ``new_name``; ``other`` is the folder of ``new_name``, by default this one."""
        other = other or self
        os.replace(self._name(name), other._name(new_name), src_dir_fd=self._fd, dst_dir_fd=other._fd)

    def link(self, name: str, new_name: str, other: Folder | None = None) -> bool:
        """Give the file a second name, which must be free; False where the disk knows no hard links."""
        other = other or self
        try:
            os.link(
                self._name(name),
                other._name(new_name),
                src_dir_fd=self._fd,
                dst_dir_fd=other._fd,
                follow_symlinks=_LINK_FOLLOWS,
            )
        except OSError as error:
            if error.errno in _NO_LINKS:
                return False
            raise
        return True

    def move(self, name: str, new_name: str, other: Folder | None = None) -> None:
        """Rename to a name that must be free (`FileExistsError`), as far as the disk can tell in one step."""
        other = other or self
        if self.link(name, new_name, other):
            self.unlink(name)
            return
        if other.status(new_name) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        self.replace(name, new_name, other)

    def unlink(self, name: str) -> None:
        os.unlink(self._name(name), dir_fd=self._fd)

    def remove(self, name: str) -> None:
        """Remove the file if it is there."""
        with contextlib.suppress(FileNotFoundError):
            self.unlink(name)

    def remove_folder(self, name: str) -> None:
        """Remove a folder if it is there and empty."""
        with contextlib.suppress(OSError):
            os.rmdir(self._name(name), dir_fd=self._fd)

    def sync(self) -> None:
        """Make the names in the folder durable. Windows does so by itself."""
        if self._fd is None:
            return
        try:
            sync(self._fd)
        except OSError as error:
            # Some network and FUSE file systems cannot sync a folder; they answer with one of these.
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
                raise


class Folders:
    """Folders by path, opened once each and closed together; the least recently used ones in between."""

    def __init__(self, reach: Callable[[Path, bool], AbstractContextManager[int | None]]) -> None:
        self._reach = reach
        self._open: OrderedDict[Path, tuple[Folder, ExitStack]] = OrderedDict()

    def at(self, path: Path, *, create: bool = False) -> Folder:
        """The folder at ``path``. Valid until `OPEN_AT_ONCE` others were asked for. Raises what ``reach`` raises."""
        known = self._open.get(path)
        if known is not None:
            self._open.move_to_end(path)
            return known[0]
        while len(self._open) >= OPEN_AT_ONCE:
            _, (_, stack) = self._open.popitem(last=False)
            stack.close()
        stack = ExitStack()
        folder = Folder(stack.enter_context(self._reach(path, create)), path)
        self._open[path] = (folder, stack)
        return folder

    def close(self) -> None:
        while self._open:
            _, (_, stack) = self._open.popitem()
            stack.close()


def sync(fd: int) -> None:
    """Make what was written durable. macOS needs ``F_FULLFSYNC`` for more than the drive's cache."""
    if sys.platform == "darwin":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
            return
    os.fsync(fd)


def change_mode(fd: int, path: Path, mode: int) -> None:
    """Set the permission bits of an opened file (F9: never through a link)."""
    if sys.platform == "win32":
        path.chmod(stat.S_IMODE(mode))
    else:
        os.fchmod(fd, stat.S_IMODE(mode))


def _write_all(fd: int, data: bytes, offset: int) -> None:
    os.lseek(fd, offset, os.SEEK_SET)
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _put_on(fd: int, path: Path, dress: Dress) -> None:
    """The owner first: changing it clears the set-user-ID bits that the permissions may have."""
    if sys.platform != "win32":
        mine = os.fstat(fd)
        if (mine.st_uid, mine.st_gid) != (dress.uid, dress.gid):
            os.fchown(fd, dress.uid, dress.gid)
    change_mode(fd, path, dress.mode)
    if sys.platform == "linux" and dress.fd is not None:
        _copy_attributes(dress.fd, fd)


if sys.platform == "linux":

    def _copy_attributes(model: int, fd: int) -> None:
        try:
            names = os.listxattr(model)
        except OSError as error:
            if error.errno in _NOT_OURS:
                return
            raise
        for name in names:
            try:
                os.setxattr(fd, name, os.getxattr(model, name))
            except OSError as error:
                if error.errno not in _NOT_OURS:
                    raise


def keeps_owner(status: os.stat_result) -> bool:
    """Whether a file that we make can be given the owner and group of this one (POSIX ``chown``)."""
    if sys.platform == "win32" or os.geteuid() == 0:
        return True
    return status.st_uid == os.geteuid() and status.st_gid in {os.getegid(), *os.getgroups()}
