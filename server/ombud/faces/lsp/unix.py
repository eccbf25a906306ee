"""``ombud serve --listen unix:PATH``: several clients of one hub over a Unix socket that only this user can open.

The socket has mode 0600 from its first moment and the peer's user id is asked of the system besides. What a dead hub
left behind is replaced, a living one is never pushed aside, and the file goes when its hub does.
"""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ombud.errors import Refused, UserError

BACKLOG = 128
LONGEST_PATH = 107 if sys.platform == "linux" else 103
"""Bytes of a path that fit into ``sockaddr_un``, without its final zero."""
_DARWIN_PEERCRED = 1
CONNECT_SECONDS = 5.0
"""How long a hub may have no room for one more that waits to be accepted."""
_LOOK_SECONDS = 0.02


def check_length(path: Path) -> None:
    """Raises `UserError` for a path that the system cannot bind."""
    size = len(os.fsencode(path))
    if size > LONGEST_PATH:
        raise UserError(
            f"The socket path {path} has {size} bytes and a Unix socket takes {LONGEST_PATH}; choose a shorter one."
        )


def connect(path: Path) -> socket.socket:
    """A blocking socket to the hub at ``path``.

    Raises `OSError`: nobody is there, it may not be opened, or (`BlockingIOError`) too many wait there already.
    """
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Of itself the system would wait for ever while a hub's backlog is full, which a frozen one's stays.
    found.setblocking(False)
    end = time.monotonic() + CONNECT_SECONDS
    try:
        while True:
            try:
                found.connect(os.fspath(path))
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise
                time.sleep(_LOOK_SECONDS)
        found.setblocking(True)
    except BaseException:
        found.close()
        raise
    return found


class Door:
    """The bound socket of a hub and its file. `close` takes the file away, if it is still the one that was made."""

    def __init__(self, path: Path) -> None:
        """Bind and listen. Raises `UserError` for a path that cannot be one, `Refused` where a hub lives there."""
        check_length(path)
        self.path = path
        with _locked(path.parent):
            _make_room(path)
            self.socket = _bound(path)
            self._identity: tuple[int, int] | None = _identity(path)

    def close(self) -> None:
        """Idempotent: the next hub's file may have the same number on the disk as this one's had."""
        mine, self._identity = self._identity, None
        with suppress(OSError, UserError), _locked(self.path.parent):
            if mine is not None and _identity(self.path) == mine:
                self.path.unlink()


def same_user(accepted: socket.socket) -> bool | None:
    """Whether the process at the other end belongs to this user; None where the system does not tell."""
    if hasattr(socket, "SO_PEERCRED"):
        _, uid, _ = struct.unpack("3i", accepted.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        return bool(uid == os.getuid())
    if sys.platform == "darwin":
        # struct xucred: version, user, …; SOL_LOCAL is 0.
        version, uid = struct.unpack("=II", accepted.getsockopt(0, _DARWIN_PEERCRED, 76)[:8])
        return bool(version == 0 and uid == os.getuid())
    return None


def prepare(transport: asyncio.Transport) -> bool:
    """Whether an accepted connection is known to come from this very user."""
    return bool(same_user(transport.get_extra_info("socket")))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Two hubs that begin or end at one path follow each other. The folder itself is the lock: no file is left of it.

    Raises `UserError` where there is no such folder.
    """
    try:
        held = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise UserError(f"The folder {folder} for the socket cannot be opened: {error.strerror}.") from None
    try:
        with suppress(OSError, ImportError):
            # Some network file systems lock no folders; there the look at the socket has to do.
            import fcntl

            fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        os.close(held)


def _make_room(path: Path) -> None:
    """Take away the socket of a hub that is dead."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"The socket {path} cannot be looked at: {error.strerror}.") from None
    if not stat.S_ISSOCK(mode):
        raise UserError(f"{path} is there already and is no socket; nothing was changed. Choose another path.")
    try:
        connect(path).close()
    except ConnectionRefusedError:
        with suppress(FileNotFoundError):
            path.unlink()
        return
    except BlockingIOError:
        # It lives, and has much to do.
        pass
    except OSError as error:
        raise Refused(
            f"Whether somebody listens on {path} cannot be found out ({error.strerror}); choose another path.",
            kind="permission_denied",
        ) from None
    raise Refused(
        f"A hub listens on {path} already. Join it with “ombud attach unix:{path}”, or choose another path.",
        kind="conflict",
    )


def _bound(path: Path) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(os.fspath(path))
        made.listen(BACKLOG)
    except OSError as error:
        made.close()
        raise UserError(f"Ombud cannot listen on {path}: {error.strerror or error}.") from None
    finally:
        os.umask(before)
    return made


def _identity(path: Path) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_dev, status.st_ino
