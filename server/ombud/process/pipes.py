"""Pipes, and the memory to read them into, for messages that may be large: fewer pieces, fewer turns of the loop."""

from __future__ import annotations

from contextlib import suppress

try:
    import fcntl
except ImportError:  # pragma: no cover  (not a POSIX system)
    fcntl = None  # type: ignore[assignment]

SIZE = 256 * 1024
"""Bytes of a pipe: what asyncio reads at once. Linux lets a user have 64 MB in all, so that more would be greedy."""
LEARNT = 8 * 1024 * 1024
"""Bytes of the largest block that is worth keeping: a few copies of a large message."""


def widen(descriptor: int) -> None:
    """Let a pipe hold `SIZE` bytes at least, where the system can (Linux gives it 64 KB); else nothing is done."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):
            if fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < SIZE:
                fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, SIZE)


def _keep_memory() -> None:
    """Make the C library keep the memory of blocks up to `LEARNT` bytes instead of asking the kernel for each anew.

    asyncio reads into a new block of 256 KB each time, and glibc maps every block of that size from the kernel and
    gives it back, which costs a small message more than all the rest. How large such blocks are it learns from the
    largest one it was given back. It then keeps at most twice that. Elsewhere this does nothing.
    """
    bytes(LEARNT)


_keep_memory()
