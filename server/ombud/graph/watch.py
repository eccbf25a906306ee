"""What has happened in folders, as Linux tells it (inotify), to be asked for and never waited for.

The system writes an event down before the call that changed something returns. So whoever reads them at a question
learns of all that was done before it, at the price of what has changed and not of what is there. What it does not tell
(a mapped file that is written, another name of the same file, another machine) only a look at every file shows.
"""

from __future__ import annotations

import errno
import os
import re
import struct
import sys
from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 2, 4, 8, 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF, _UNMOUNT, _OVERFLOW, _IGNORED = 0x400, 0x800, 0x2000, 0x4000, 0x8000
_ONLYDIR, _DONT_FOLLOW, _EXCL_UNLINK = 0x1000000, 0x2000000, 0x4000000
_IS_FOLDER = 0x40000000
"""From the system's ``linux/inotify.h``."""
_WANTED = _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
_CONTENT = _MODIFY | _ATTRIB | _CLOSE_WRITE
_NO_FOLDER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)
"""It has gone, is something else now, or cannot be listed either: the folder above tells when that changes."""
_HEAD = struct.Struct("iIII")
_READ = 1 << 16
_SHARE = 4
"""The user's other programs watch folders, too: no more than this part of what he may is taken."""
_LIMIT = Path("/proc/sys/fs/inotify/max_user_watches")
_MOUNTS = Path("/proc/self/mountinfo")
_OWN = frozenset({"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs"})
"""File systems that nobody changes but through this machine's own system."""


class News(NamedTuple):
    """``path``: what it is about. ``inside``: a file of which only the content or the permissions are others; else
    something of that name came, went, or is a folder."""

    path: str
    inside: bool


class Watch:
    """The folders below ``root`` that it was told of, by paths relative to it. Raises OSError where there is no such.

    ``broken`` once something could not be watched: then it says nothing more.
    """

    def __init__(self, root: Path) -> None:
        self._prefix = os.fsencode(root).rstrip(b"/") + b"/"
        self._device = root.stat().st_dev
        if not _is_own(self._prefix):
            raise OSError(errno.ENOTSUP, "Others may change this file system.")
        self._system, self._errno = _system()
        self._most = _most()
        self._fd = int(self._system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        if self._fd < 0:
            raise OSError(errno.EMFILE, "No more can be watched.")
        self._paths: dict[int, str] = {}
        self._numbers: dict[str, int] = {}
        self.broken = False

    def close(self) -> None:
        self.broken = True
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def add(self, folder: str) -> None:
        """Watch a folder. Do so before it is listed."""
        if self.broken:
            return
        whole = self._prefix + os.fsencode(folder)
        number = self._system.inotify_add_watch(self._fd, whole, _WANTED | _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK)
        if number >= 0 and len(self._paths) < self._most and self._is_near(whole):
            self._paths[number] = folder
            self._numbers[folder] = number
        elif number >= 0 or self._errno() not in _NO_FOLDER:
            self.close()

    def _is_near(self, whole: bytes) -> bool:
        """Whether a folder is of the same file system; one that has just gone is, too: the one above tells of it."""
        try:
            return os.lstat(whole).st_dev == self._device
        except OSError:
            return True

    def drop(self, folder: str) -> None:
        """Do not watch a folder any longer. One that was moved is watched under its other path, if that was added."""
        number = self._numbers.pop(folder, None)
        if number is not None and self._paths.get(number) == folder:
            del self._paths[number]
            if self._fd >= 0:
                self._system.inotify_rm_watch(self._fd, number)

    def keep(self, folders: Set[str]) -> None:
        """Drop all other folders."""
        for folder in self._numbers.keys() - folders:
            self.drop(folder)

    def take(self) -> list[News] | None:
        """What has happened since the last call; None where that is not known."""
        if self.broken:
            return None
        found: dict[News, None] = {}
        with suppress(BlockingIOError):
            while True:
                for number, mask, name in _events(os.read(self._fd, _READ)):
                    if mask & (_MOVE_SELF | _DELETE_SELF | _IGNORED) and self._paths.get(number) == "":
                        # What is made in its place, under its path, is none of those that are watched.
                        self.close()
                        return None
                    if mask & (_OVERFLOW | _UNMOUNT):
                        self._rest()
                        return None
                    news = self._news(number, mask, name)
                    if news is not None:
                        found[news] = None
        return list(found)

    def _news(self, number: int, mask: int, name: bytes) -> News | None:
        folder = self._paths.get(number)
        if folder is None:
            return None
        if mask & _IGNORED:
            # The folder is gone, and with it the number.
            del self._paths[number]
            if self._numbers.get(folder) == number:
                del self._numbers[folder]
            return News(folder, inside=False)
        path = os.fsdecode(name) if not folder else f"{folder}/{os.fsdecode(name)}" if name else folder
        return News(path, inside=bool(mask & _CONTENT) and bool(name) and not mask & _IS_FOLDER)

    def _rest(self) -> None:
        """Read what is there; nobody wants to know it."""
        with suppress(BlockingIOError):
            while os.read(self._fd, _READ):
                pass


def _events(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at < len(data):
        number, mask, _, length = _HEAD.unpack_from(data, at)
        at += _HEAD.size
        yield number, mask, data[at : at + length].rstrip(b"\0")
        at += length


def _system() -> tuple[Any, Callable[[], int]]:
    """The system's library, and what says why a call of it failed. Raises OSError where it has no inotify."""
    import ctypes

    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "There is no inotify.")
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "inotify_init1"):
        raise OSError(errno.ENOSYS, "There is no inotify.")
    library.inotify_add_watch.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32)
    return library, ctypes.get_errno


def _most() -> int:
    try:
        return int(_LIMIT.read_text()) // _SHARE
    except (OSError, ValueError):
        return 0


def _is_own(root: bytes) -> bool:
    """Whether the file system that ``root`` lies in is one of `_OWN` (proc(5), ``mountinfo``)."""
    near, kind = b"", b""
    for line in _MOUNTS.read_bytes().splitlines():
        before, _, behind = line.partition(b" - ")
        place = re.sub(rb"\\([0-7]{3})", lambda found: bytes([int(found[1], 8)]), before.split(b" ")[4])
        if len(place) >= len(near) and root.startswith(place.rstrip(b"/") + b"/"):
            near, kind = place, behind.split(b" ")[0]
    return kind.decode() in _OWN
