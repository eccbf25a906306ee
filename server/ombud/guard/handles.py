"""Folders and files reached by handle, component by component, never through a link (F4).

A path that was checked can be another file by the time it is used: somebody swaps a folder for a link in between. A
handle cannot be swapped. So the fence walks from the workspace folder with ``openat`` and ``O_NOFOLLOW`` and acts
on what it holds. Systems without ``openat`` (Windows) have no such walk; there the opened file is compared
afterwards.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ombud.errors import Refused

SUPPORTED = hasattr(os, "O_NOFOLLOW") and {os.open, os.mkdir, os.stat} <= os.supports_dir_fd

_CLOEXEC = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOINHERIT", 0)
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | _NOFOLLOW | _CLOEXEC
# A path handle needs no read permission on the folders in between, only on the last, which a caller may want to sync.
_PASSAGE = _DIRECTORY | getattr(os, "O_PATH", 0)
# O_NONBLOCK: opening a pipe must not wait for its other end. O_NOCTTY: a terminal must not become ours.
_FILE = (
    os.O_RDONLY
    | _NOFOLLOW
    | _CLOEXEC
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)
_CHUNK = 1 << 20


def refusal(error: OSError, shown: str) -> Refused:
    """The refusal that stands for an error of the operating system; any error denies (F3)."""
    words = os.strerror(error.errno) if error.errno else type(error).__name__
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Refused(
            f"{shown} cannot be opened: {words}. Change its permissions and try again.", kind="permission_denied"
        )
    if error.errno == errno.ELOOP:
        return replaced(shown)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return Refused(f"{shown} is not there any more: {words}.", kind="not_found")
    return Refused(f"{shown} cannot be opened: {words}.", kind="not_found")


def replaced(shown: str) -> Refused:
    """A link stands where a checked folder or file was."""
    return Refused(
        f"{shown} was replaced by a link while it was being opened. Nothing was done; look at it and try again.",
        kind="outside_workspace",
    )


def walk(
    base: Path, steps: Sequence[str], *, create: bool = False, on_create: Callable[[Path], None] | None = None
) -> int:
    """A descriptor of the folder ``base/steps…``, reached without following a link from ``base`` on.

    The caller closes it. With ``create`` missing folders are made (mode 0777 less the umask) and each is told to
    ``on_create``. Raises ``Refused``: ``outside_workspace`` for a link on the way, ``not_found`` for a missing
    folder.
    """
    at = base
    try:
        here = os.open(base, _PASSAGE if steps else _DIRECTORY)
    except OSError as error:
        raise refusal(error, str(base)) from error
    try:
        for index, name in enumerate(steps):
            at = at / name
            last = index == len(steps) - 1
            below = _step(here, name, at, _DIRECTORY if last else _PASSAGE, create, on_create)
            os.close(here)
            here = below
    except BaseException:
        os.close(here)
        raise
    return here


def _step(here: int, name: str, at: Path, flags: int, create: bool, on_create: Callable[[Path], None] | None) -> int:
    try:
        try:
            return os.open(name, flags, dir_fd=here)
        except FileNotFoundError:
            if not create:
                raise
        try:
            os.mkdir(name, dir_fd=here)
        except FileExistsError:
            # Somebody else was quicker; what they made is opened as strictly as our own.
            pass
        else:
            if on_create is not None:
                on_create(at)
        return os.open(name, flags, dir_fd=here)
    except OSError as error:
        # Linux answers ENOTDIR, not ELOOP, for a link that is opened as a folder without following it.
        if error.errno in (errno.ENOTDIR, errno.ELOOP, errno.EMLINK) and is_link(here, name):
            raise replaced(str(at)) from error
        raise refusal(error, str(at)) from error


def is_link(folder: int, name: str) -> bool:
    """Whether the name in the opened folder is a symbolic link right now; false when it is not there."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


def open_file(folder: int | None, name: str, shown: str) -> tuple[int, os.stat_result]:
    """Open an ordinary file in an opened folder (or by path, when ``folder`` is None) for reading.

    Raises ``Refused``: ``outside_workspace`` for a link, ``not_text`` for a folder, pipe, socket or device, which
    is looked at before it is opened since opening a device can already do something, and again afterwards.
    """
    try:
        _ordinary(os.stat(name, dir_fd=folder, follow_symlinks=False), shown)
        fd = os.open(name, _FILE, dir_fd=folder)
    except OSError as error:
        raise refusal(error, shown) from error
    try:
        status = os.fstat(fd)
        _ordinary(status, shown)
    except BaseException:
        os.close(fd)
        raise
    return fd, status


def _ordinary(status: os.stat_result, shown: str) -> None:
    mode = status.st_mode
    if stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):
        raise replaced(shown)
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    what = next((word for test, word in kinds if test(mode)), "no ordinary file")
    raise Refused(f"{shown} is {what}, not a text file. Name a file.", kind="not_text")


def read_all(fd: int, limit: int, shown: str, expected: int) -> bytes:
    """All bytes of an opened file, or ``Refused(kind="too_large")`` when there are more than ``limit``.

    ``expected`` is the size that the file had; it may have grown since, so what is read is counted as well.
    """
    if expected > limit:
        raise _too_large(shown, expected, limit)
    chunks: list[bytes] = []
    total = 0
    try:
        while chunk := os.read(fd, min(_CHUNK, limit + 1 - total)):
            chunks.append(chunk)
            total += len(chunk)
            if total > limit:
                raise _too_large(shown, total, limit)
    except OSError as error:
        raise refusal(error, shown) from error
    return b"".join(chunks)


def _too_large(shown: str, size: int, limit: int) -> Refused:
    return Refused(
        f"{shown} has {size:,} bytes or more, and at most {limit:,} are read here. Work on a smaller file.",
        kind="too_large",
        size=size,
        limit=limit,
    )


def opened_path(fd: int) -> Path | None:
    """The path that the system knows an opened file by, or None where it does not tell.

    Linux tells by ``/proc/self/fd`` (with " (deleted)" behind the name of a file that is gone), macOS by
    ``F_GETPATH``.
    """
    try:
        if sys.platform == "darwin":
            import fcntl

            told = os.fsdecode(fcntl.fcntl(fd, fcntl.F_GETPATH, bytes(1024)).rstrip(b"\0"))
        else:
            told = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - one string of the kernel's, not a file to walk
    except OSError:
        return None
    path = Path(told)
    return path if path.is_absolute() else None
