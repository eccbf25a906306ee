"""Kill a child at a chosen system call by the kernel's own means: ``ptrace(2)``, spoken through ctypes.

For Linux alone, and for a single-threaded caller. Nothing of the child's Python is touched: it is stopped before and
after every call that it makes, whoever makes it.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_TRACEME, _SYSCALL, _SETOPTIONS, _INFO = 0, 24, 0x4200, 0x420E
_SYSGOOD, _EXITKILL = 0x1, 0x100000
_STOP = signal.SIGTRAP | 0x80
_ENTRY, _EXIT = 1, 2
# Calls that only look, or that only concern the process itself: being killed at one is being killed at its neighbour.
_LOOKS = {
    "x86_64": {0, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 17, 21, 28, 39, 72, 89, 102, 104, 107, 108, 115, 194, 196, 202}
    | {217, 228, 262, 267, 269, 318, 332, 334, 439},
    "aarch64": {17, 25, 48, 57, 61, 62, 63, 67, 78, 79, 80, 98, 113, 134, 135, 158, 172, 174, 175, 176, 177, 214, 215}
    | {222, 226, 233, 278, 291, 293, 439, 13, 12},
}
MACHINE = os.uname().machine if hasattr(os, "uname") else ""
SUPPORTED = sys.platform == "linux" and MACHINE in _LOOKS


class _Info(ctypes.Structure):
    """``struct ptrace_syscall_info``: the number of the call stands first in its union."""

    _fields_ = [
        ("op", ctypes.c_uint8),
        ("_pad", ctypes.c_uint8 * 3),
        ("arch", ctypes.c_uint32),
        ("instruction_pointer", ctypes.c_uint64),
        ("stack_pointer", ctypes.c_uint64),
        ("number", ctypes.c_uint64),
        ("more", ctypes.c_uint64 * 12),
    ]


def _ptrace(request: int, pid: int, address: int = 0, data: object = 0) -> None:
    libc = _libc()
    if libc.ptrace(request, pid, ctypes.c_void_p(address), data) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace {request}: {os.strerror(number)}")


_LIBC: list[ctypes.CDLL] = []


def _libc() -> ctypes.CDLL:
    if not _LIBC:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]
        libc.ptrace.restype = ctypes.c_long
        _LIBC.append(libc)
    return _LIBC[0]


def traced(work: Callable[[], object], at: int, *, after: bool) -> tuple[bool, list[int]]:
    """Do ``work`` in a child that is killed before (or ``after``) its call number ``at``, from 1; 0: not at all.

    Counted are calls that can change something. Returns whether the child was killed, and the numbers of the calls
    that it came to. Raises `OSError` where the system allows no tracing.
    """
    _libc()
    child = os.fork()
    if child == 0:
        try:
            _ptrace(_TRACEME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
        except BaseException as error:  # noqa: BLE001 - the boundary of a process
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
            os._exit(3)
        os._exit(0)
    try:
        return _followed(child, at, after=after)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise


def _followed(child: int, at: int, *, after: bool) -> tuple[bool, list[int]]:
    calls: list[int] = []
    info = _Info()
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise OSError("the child could not be traced")
    _ptrace(_SETOPTIONS, child, 0, _SYSGOOD | _EXITKILL)
    counted = False
    while True:
        _ptrace(_SYSCALL, child)
        _, status = os.waitpid(child, 0)
        if not os.WIFSTOPPED(status):
            break
        if os.WSTOPSIG(status) != _STOP:
            continue
        _ptrace(_INFO, child, ctypes.sizeof(info), ctypes.addressof(info))
        if info.op == _ENTRY:
            counted = info.number not in _LOOKS[MACHINE]
            if counted:
                calls.append(info.number)
        if counted and len(calls) == at and info.op == (_EXIT if after else _ENTRY):
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
            break
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("the child failed otherwise than by being killed")
    return os.WIFSIGNALED(status), calls
