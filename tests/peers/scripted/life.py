"""The scripted server as a process: how it starts, reads, ignores signs of the end, and ends."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from tests.peers.scripted.recorder import Recorder

_READ_BYTES = 65536
_GRANDCHILD = """
import os, signal, sys, time
if "ignoreSigterm" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.close(int(sys.argv[2]))
time.sleep(float(sys.argv[1]))
"""


class Life:
    def __init__(self, script: dict[str, Any], recorder: Recorder) -> None:
        self._script = script
        self._recorder = recorder
        self._reading = threading.Event()
        self._ballast = b""
        self.inbox: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def begin(self) -> None:
        """Everything of the script that happens before the first byte is read."""
        script, recorder = self._script, self._recorder
        limit = threading.Timer(script["maxLifetimeS"], os._exit, (99,))
        limit.daemon = True
        limit.start()
        signal.signal(signal.SIGTERM, self._terminated)
        recorder.event("start", argv=sys.argv, cwd=os.getcwd(), ppid=os.getppid())
        if script["stderr"]:
            os.write(2, str(script["stderr"]).encode())
        for _ in range(0, script["stderrFlood"], 4096):
            os.write(2, b"flood " * 682 + b"end\n")
        died = script["dieBeforeInitialize"]
        if died:
            os.write(2, str(died.get("stderr", "")).encode())
            self.leave(died.get("code", 1))
        self._spawn()
        # Written page by page, since untouched zero pages would not count as resident.
        self._ballast = b"\x01" * (script["rssMb"] * 1024 * 1024)
        time.sleep(script["startDelayMs"] / 1000)
        self._reading.set()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            self._reading.wait()
            data = os.read(0, _READ_BYTES)
            self.inbox.put(data)
            if not data:
                return

    def _terminated(self, number: int, frame: object) -> None:
        """Logs the signal; then either goes on or dies of it, so that the exit status tells of it."""
        self._recorder.event("signal", name=signal.Signals(number).name)
        if not self._script["ignoreSigterm"]:
            self.kill(number)

    def kill(self, number: int) -> NoReturn:
        """Dies of a signal."""
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        # The signal may be delivered to another thread a moment later; nothing must run in between.
        while True:
            time.sleep(1)

    def leave(self, code: int) -> NoReturn:
        """Exits at once, whatever the reading thread is doing."""
        time.sleep(self._script["exitDelayMs"] / 1000)
        self._recorder.event("exit", code=code)
        os._exit(code)

    def freeze(self) -> NoReturn:
        """Lives on, and does nothing any more: pipes fill up, requests wait."""
        self._recorder.event("frozen")
        self._reading.clear()
        while True:
            time.sleep(1)

    def _spawn(self) -> None:
        wanted = self._script["spawn"]
        if not wanted:
            return
        import subprocess

        children = [{}, {"setsid": True}] if wanted is True else wanted
        for child in children:
            # The child closes this pipe when its handlers stand: only then may a test hear of its pid.
            ready, signal_ready = os.pipe()
            arguments = [str(self._script["maxLifetimeS"]), str(signal_ready)]
            arguments += ["ignoreSigterm"] if child.get("ignoreSigterm") else []
            held = None if child.get("holdPipes") else subprocess.DEVNULL
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _GRANDCHILD, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=held,
                stderr=held,
                pass_fds=(signal_ready,),
                start_new_session=bool(child.get("setsid")),
            )
            os.close(signal_ready)
            os.read(ready, 1)
            os.close(ready)
            self._recorder.spawned.append(process.pid)
            self._recorder.event("spawned", child=process.pid, setsid=bool(child.get("setsid")))
