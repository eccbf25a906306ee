"""A child with a family, for tests of process/: it starts helpers in every way that leaves orphans elsewhere.

Run as ``python -I -S family.py [stubborn] [clean]``. It starts a helper in its own group, one that leads a session of
its own, and one that has also lost its parent; prints one JSON line with their ids; then waits for the end of its
input. ``stubborn``: everybody ignores SIGTERM and the end of input. ``clean``: the helpers drop their environment.
"""

import json
import os
import signal
import sys
import time

WAIT = "import signal, sys, time\nif 'stubborn' in sys.argv: signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
WAIT += "print('up', flush=True)\ntime.sleep(600)\n"


def helper(words: list[str], *, session: bool = False, orphan: bool = False) -> int:
    """Start one and return its id once it says that it is up (so that its signal handlers are in place)."""
    report, told = os.pipe()
    first = os.fork()
    if first == 0:
        if session:
            os.setsid()
        if orphan and os.fork():
            os._exit(0)
        os.write(told, b"%d\n" % os.getpid())
        os.dup2(told, 1)
        environment = {} if "clean" in words else dict(os.environ)
        os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", WAIT, *words], environment)
    os.close(told)
    if orphan:
        os.waitpid(first, 0)
    with os.fdopen(report) as lines:
        pid = int(lines.readline())
        lines.readline()
    return pid


def main() -> None:
    words = sys.argv[1:]
    if "stubborn" in words:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    family = {
        "leader": os.getpid(),
        "member": helper(words),
        "leaver": helper(words, session=True),
        "orphan": helper(words, session=True, orphan=True),
    }
    print(json.dumps(family), flush=True)
    sys.stdin.read()
    while "stubborn" in words:
        time.sleep(600)


if __name__ == "__main__":
    main()
