"""How long a launch takes to its first stop, and a step to the next one: Ombud beside debugpy driven directly.

Directly is the least that a client must do: the adapter on standard streams, ``initialize``, ``launch``, breakpoint,
``configurationDone``; then, at each stop, the frames. Through Ombud it is one request, whose answer has the frames as
well. Both take turns with the same program, adapter and interpreter; each run is a session from nothing.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from wire import Peer, environment

PROGRAM = "total = 0\nfor number in range(100_000):\n    total += number\n    total %= 977\nprint(total)\n"
LINE = 3
STEPS = 40
SECONDS = 120


class Adapter:
    """debugpy's adapter, spoken to directly: blocking, one request at a time."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._last = 0
        self._heard: list[dict[str, Any]] = []
        self._watchdog = threading.Timer(SECONDS, self.process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def send(self, command: str, arguments: dict[str, Any]) -> int:
        self._last += 1
        body = json.dumps({"seq": self._last, "type": "request", "command": command, "arguments": arguments}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()
        return self._last

    def ask(self, command: str, arguments: dict[str, Any]) -> dict[str, Any]:
        number = self.send(command, arguments)
        return self._until(lambda one: one.get("request_seq") == number)

    def event(self, name: str) -> dict[str, Any]:
        return self._until(lambda one: one.get("event") == name)

    def _until(self, fits: Any) -> dict[str, Any]:
        for one in self._heard:
            if fits(one):
                self._heard.remove(one)
                return one
        while True:
            message = self._read()
            if fits(message):
                if message.get("success") is False:
                    raise RuntimeError(f"{message['command']}: {message.get('message')}")
                return message
            self._heard.append(message)

    def _read(self) -> dict[str, Any]:
        stream = self.process.stdout
        assert stream is not None
        length = 0
        while (line := stream.readline().strip()) or not length:
            if not line and self.process.poll() is not None:
                raise RuntimeError("debugpy has ended.")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        message: dict[str, Any] = json.loads(stream.read(length))
        return message

    def close(self) -> None:
        self.ask("disconnect", {"terminateDebuggee": True})
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._watchdog.cancel()


def directly(how: dict[str, Any], folder: Path) -> tuple[float, list[float]]:
    """Milliseconds to the first stop, and of each step."""
    began = time.perf_counter()
    adapter = Adapter(how["command"], folder)
    adapter.ask("initialize", {"adapterID": "debugpy", "pathFormat": "path", "linesStartAt1": True})
    adapter.send("launch", how["configuration"])
    adapter.event("initialized")
    source = {"path": str(folder / "app.py")}
    adapter.ask("setBreakpoints", {"source": source, "breakpoints": [{"line": LINE}]})
    adapter.ask("configurationDone", {})
    thread = adapter.event("stopped")["body"]["threadId"]
    frames = adapter.ask("stackTrace", {"threadId": thread, "startFrame": 0, "levels": 3})["body"]["stackFrames"]
    first = _since(began)
    assert frames[0]["line"] == LINE
    adapter.ask("setBreakpoints", {"source": source, "breakpoints": []})
    steps = []
    for _ in range(STEPS):
        began = time.perf_counter()
        adapter.ask("next", {"threadId": thread})
        adapter.event("stopped")
        adapter.ask("stackTrace", {"threadId": thread, "startFrame": 0, "levels": 3})
        steps.append(_since(began))
    adapter.close()
    return first, steps


def through(peer: Peer) -> tuple[float, list[float]]:
    """The same by the operation `debug`."""
    _debug(peer, op="breakpoints", path="app.py", breakpoints=[{"line": LINE}])
    began = time.perf_counter()
    stop = _debug(peer, op="launch", program="app.py")
    first = _since(began)
    assert (stop["state"], stop["line"], len(stop["frames"])) == ("stopped", LINE, 1), stop
    _debug(peer, op="breakpoints", path="app.py", breakpoints=[])
    steps = []
    for _ in range(STEPS):
        began = time.perf_counter()
        stop = _debug(peer, op="step_over")
        steps.append(_since(began))
        assert stop["state"] == "stopped", stop
    _debug(peer, op="terminate")
    return first, steps


def _debug(peer: Peer, **params: Any) -> Any:
    return peer.request("ombud/debug", params)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000


def measure(ombud: list[str], folder: Path, rounds: int) -> dict[str, tuple[list[float], list[float]]]:
    (folder / "app.py").write_text(PROGRAM, encoding="utf-8")
    peer = Peer(ombud, folder, seconds=SECONDS * rounds)
    options = {"ombud": {"trusted": True}}
    peer.request(
        "initialize",
        {
            "processId": None,
            "rootUri": folder.as_uri(),
            "workspaceFolders": [{"uri": folder.as_uri(), "name": "bench"}],
            "capabilities": {},
            "initializationOptions": options,
        },
    )
    peer.notify("initialized", {})
    # Ombud's own launch configuration, so that both ask debugpy for the same.
    how = peer.request("ombud/debugAdapter", {"path": "app.py"})
    found: dict[str, tuple[list[float], list[float]]] = {"directly": ([], []), "Ombud": ([], [])}
    for number in range(rounds + 1):
        for name, run in (("directly", lambda: directly(how, folder)), ("Ombud", lambda: through(peer))):
            first, steps = run()
            # The first round has everything read from the disk for both.
            if number:
                found[name][0].append(first)
                found[name][1].extend(steps)
    peer.request("shutdown", None)
    peer.notify("exit", None)
    peer.process.wait(30)
    return found


def report(found: dict[str, tuple[list[float], list[float]]]) -> list[str]:
    rows = ["| | directly | Ombud | |", "|---|---|---|---|"]
    (first, step), (our_first, our_step) = found["directly"], found["Ombud"]
    one, two = statistics.median(first), statistics.median(our_first)
    rows.append(f"| launch to the first stop, ms | {one:.0f} | {two:.0f} | ×{two / one:.2f} |")
    one, two = statistics.median(step), statistics.median(our_step)
    rows.append(f"| a step, with its frames, ms | {one:.2f} | {two:.2f} | {two - one:+.2f} ms |")
    one, two = (statistics.quantiles(some, n=20)[-1] for some in (step, our_step))
    rows.append(f"| the slowest step of twenty, ms | {one:.2f} | {two:.2f} | {two - one:+.2f} ms |")
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="launches of each side")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ombud-bench-")).resolve()
    try:
        found = measure([sys.executable, "-m", "ombud", "serve"], folder, arguments.rounds)
    finally:
        shutil.rmtree(folder)
    print("\n".join(report(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
