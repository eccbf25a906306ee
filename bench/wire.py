"""A minimal blocking LSP peer for benchmarks: no event loop whose own cost would be measured along."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TOOLS = Path(__file__).resolve().parent.parent / ".tools"


def environment() -> dict[str, str]:
    """The environment with the pinned tools first on PATH."""
    groups = [str(TOOLS / group / "bin") for group in ("python", "npm", "go", "rust")]
    return {**os.environ, "PATH": os.pathsep.join([*groups, os.environ["PATH"]])}


class Peer:
    """A child that speaks LSP on its standard streams. Requests block until they are answered."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str] | None = None, *, seconds: float = 120
    ) -> None:
        """``seconds`` are how long it may live at most."""
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=dict(env or environment()),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._last = 0
        self._settings: dict[str, Any] = {}
        watchdog = threading.Timer(seconds, self.process.kill)
        watchdog.daemon = True
        watchdog.start()
        self._watchdog = watchdog

    def send(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def request(self, method: str, params: Any) -> Any:
        """The result; notifications on the way are dropped, the server's own requests are answered with defaults."""
        return self.requests(method, [params])[0]

    def requests(self, method: str, many: Sequence[Any]) -> list[Any]:
        """The results of several requests that are sent at once, in their order."""
        first = self._last + 1
        self._last += len(many)
        for number, params in enumerate(many, first):
            self.send({"id": number, "method": method, "params": params})
        answers: dict[int, Any] = {}
        while len(answers) < len(many):
            message = self._read()
            if "method" in message and "id" in message:
                self.send({"id": message["id"], "result": self._default(message)})
            elif "method" not in message and first <= message.get("id", 0) <= self._last:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                answers[message["id"]] = message.get("result")
        return [answers[number] for number in range(first, self._last + 1)]

    @staticmethod
    def _default(message: Mapping[str, Any]) -> Any:
        if message["method"] == "workspace/configuration":
            return [{} for _ in message["params"]["items"]]
        return None

    def _read(self) -> dict[str, Any]:
        out = self.process.stdout
        assert out is not None
        length = 0
        while line := out.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise RuntimeError("the peer closed its output")
        value = json.loads(out.read(length))
        assert isinstance(value, dict)
        return value

    def initialize(self, root: Path, capabilities: Mapping[str, Any] | None = None, options: Any = None) -> float:
        """Seconds from the start of the process to the answer."""
        params = {
            "processId": os.getpid(),
            "rootUri": root.as_uri(),
            "workspaceFolders": [{"uri": root.as_uri(), "name": root.name}],
            # rassumfrassum cannot do without a textDocument group.
            "capabilities": capabilities or {"textDocument": {}},
            "initializationOptions": options,
        }
        self.request("initialize", params)
        seconds = time.perf_counter() - self.started
        self.notify("initialized", {})
        return seconds

    def rss(self) -> int:
        """Bytes of the process alone, without its children."""
        import psutil

        return int(psutil.Process(self.process.pid).memory_info().rss)

    def end(self) -> None:
        """End the process and whatever it started."""
        import psutil

        self._watchdog.cancel()
        family = psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for child in family:
            try:
                child.kill()
            except psutil.Error:
                continue
        self.process.stdout.close()
