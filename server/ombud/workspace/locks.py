"""Locks on open files between processes: they end with the process, however it ends."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt

    # Windows locks a byte range and forbids others to read it: one byte far beyond any content stands for the file.
    _BYTE = 1 << 40

    def lock(fd: int, *, shared: bool = False, wait: bool = True) -> bool:  # noqa: ARG001 - the same call everywhere
        """Lock the open file (Windows knows no shared lock: it is exclusive); False where another holds it."""
        here = os.lseek(fd, 0, os.SEEK_CUR)
        os.lseek(fd, _BYTE, os.SEEK_SET)
        try:
            while True:
                try:
                    msvcrt.locking(fd, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
                except OSError:
                    # LK_LOCK gives up after ten tries, a second apart; whoever waits goes on waiting.
                    if not wait:
                        return False
                else:
                    return True
        finally:
            os.lseek(fd, here, os.SEEK_SET)

    def lock_byte(fd: int, at: int) -> bool:
        """Lock one byte of the open file against other processes, without waiting; False where another holds it."""
        os.lseek(fd, at, os.SEEK_SET)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def lock(fd: int, *, shared: bool = False, wait: bool = True) -> bool:
        """Lock the open file (``flock``, released when ``fd`` closes); False where another holds it."""
        how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(fd, how if wait else how | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def lock_byte(fd: int, at: int) -> bool:
        """Lock one byte of the open file against other processes, without waiting; False where another holds it.

        The byte need not be there. The lock ends when the process closes the file, under whichever descriptor.
        """
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, at)
        except (BlockingIOError, PermissionError):
            return False
        return True
