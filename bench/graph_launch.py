"""Runs one command and says what its whole family of processes cost; ``graph_tree.py`` starts it.

    python -I -S graph_launch.py STDOUT STDERR SECONDS COMMAND [ARGUMENT ...]

The answer is one JSON object on standard output: ``{"code", "wall", "whole", "cpu", "rss", "left"}``: exit code of the
command, its seconds, the seconds until also the last of its descendants had ended, the processor seconds of them all,
the bytes of the largest, and how many outlived the command and had to be ended. Orphans come home to this process
(Linux), so that also their time is counted.
The standard input is the string to the caller: when it is cut, everything started here is ended.
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time

GRACE = 20.0
"""Seconds that a descendant has to end by itself once the command has ended."""
SUBREAPER = 36
"""``PR_SET_CHILD_SUBREAPER`` of Linux's ``prctl``."""


def adopt() -> None:
    """Be the parent of all orphans among the descendants, where the system can do that."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None, use_errno=True).prctl(SUBREAPER, 1, 0, 0, 0)


def descendants() -> list[int]:
    """The processes below this one, read from ``/proc``; empty where there is none."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc") if os.path.isdir("/proc") else ():
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except OSError:
                continue
    found = {os.getpid()}
    more = True
    while more:
        fresh = {child for child, parent in parents.items() if parent in found} - found
        found |= fresh
        more = bool(fresh)
    return sorted(found - {os.getpid()})


def end_all(child: int) -> None:
    """End everything below, or where the system does not tell what that is, the command's group."""
    if not os.path.isdir("/proc"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    # Who is killed may have left a child behind that was not in the list.
    while family := descendants():
        for one in family:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        time.sleep(0.02)


def start(out: str, err: str, command: list[str]) -> int:
    """The id of the command's process, in a group of its own, its output in two files."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, out, flags, 0o600),
        (os.POSIX_SPAWN_OPEN, 2, err, flags, 0o600),
    ]
    return os.posix_spawnp(command[0], command, os.environ, file_actions=actions, setpgroup=0)


class Family:
    """The command's process and all below it; ``left``: how many had to be ended."""

    def __init__(self, child: int) -> None:
        self.child = child
        self.left = 0

    def end(self) -> None:
        self.left = max(1, len(descendants()))
        end_all(self.child)

    def end_with_caller(self) -> None:
        # Not by ``sys.stdin``: its lock would still be held by this thread when the program ends.
        while os.read(0, 1024):
            pass
        self.end()

    def end_in(self, seconds: float) -> threading.Timer:
        limit = threading.Timer(seconds, self.end)
        limit.daemon = True
        limit.start()
        return limit

    def wait(self, seconds: float) -> tuple[int | None, float]:
        """Until nobody is left, at most ``seconds`` and `GRACE`: the command's exit code, and the clock at its end."""
        limit = self.end_in(seconds)
        code, ended = None, time.perf_counter()
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status = os.wait()
                if pid == self.child:
                    code, ended = os.waitstatus_to_exitcode(status), time.perf_counter()
                    limit.cancel()
                    limit = self.end_in(GRACE)
        limit.cancel()
        return code, ended


def main() -> None:
    """Run, wait for all, answer."""
    out, err, seconds, *command = sys.argv[1:]
    adopt()
    begun = time.perf_counter()
    try:
        family = Family(start(out, err, command))
    except OSError as error:
        sys.exit(f"{command[0]} could not be started: {error.strerror}")
    threading.Thread(target=family.end_with_caller, daemon=True).start()
    code, ended = family.wait(float(seconds))
    whole = time.perf_counter() - begun
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    answer = {
        "code": code,
        "wall": ended - begun,
        "whole": whole,
        "cpu": used.ru_utime + used.ru_stime,
        "rss": used.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        "left": family.left,
    }
    # Nobody reads it where the caller is gone.
    with contextlib.suppress(BrokenPipeError):
        os.write(1, json.dumps(answer).encode())


if __name__ == "__main__":
    main()
