"""A client that costs next to nothing: blocking reads into one buffer, and no JSON where the clock runs.

`wire.Peer` parses every answer, which for 2.8 MB takes longer than what is to be measured.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

PATIENCE = 120.0
"""Seconds after which a peer that does not answer is killed, so that a benchmark ends in any case."""
_LENGTH = re.compile(rb"content-length:[ \t]*(\d+)", re.IGNORECASE)
_GLANCE = 120
"""Bytes of a body's beginning and end among which its id, or its method, is to be found."""


class Lean:
    """A child that speaks LSP on its standard streams, in a session of its own."""

    def __init__(self, argv: Sequence[str], root: Path, env: Mapping[str, str]) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            argv,
            cwd=root,
            env=dict(env),
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        self._buffer = bytearray(8 << 20)
        self._view = memoryview(self._buffer)
        self._filled = 0
        self._last = 0
        self._version = self._first = 0
        self._root = root
        self._watched = psutil.Process(self._process.pid)
        self._watchdog = threading.Timer(PATIENCE, self._process.kill)
        self._watchdog.daemon = True

    # -- measured ---------------------------------------------------------------------------------------------

    def ask(self, method: str, params: bytes) -> tuple[float, bytes]:
        """A request and its answer: seconds between the two, and the answer's body."""
        self._last += 1
        identity = b"%d" % self._last
        body = b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}' % (identity, method.encode(), params)
        frame = b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
        start = time.perf_counter()
        self._write(frame)
        while True:
            at, end = self._whole()
            if self._answers(identity, at, end):
                took = time.perf_counter() - start
                answer = bytes(self._view[at:end])
                self._drop(end)
                return took, answer
            spoken = bytes(self._view[at:end])
            self._drop(end)
            self._reply(spoken)

    def _whole(self) -> tuple[int, int]:
        """Read on until the first frame of the buffer is whole; where its body lies."""
        while (at := self._buffer.find(b"\r\n\r\n", 0, self._filled)) < 0:
            self._read()
        length = _LENGTH.search(self._buffer, 0, at)
        assert length is not None, "a frame without Content-Length"
        end = at + 4 + int(length[1])
        while self._filled < end:
            self._read()
        return at + 4, end

    def _read(self) -> None:
        count = os.readv(self._out, [self._view[self._filled :]])
        if not count:
            raise RuntimeError("the peer closed its output")
        self._filled += count

    def _answers(self, identity: bytes, at: int, end: int) -> bool:
        first, last = self._buffer[at : min(at + _GLANCE, end)], self._buffer[max(at, end - _GLANCE) : end]
        mine = re.compile(rb'"id"\s*:\s*%b\b' % identity)
        return b'"method"' not in first and (mine.search(first) is not None or mine.search(last) is not None)

    def _drop(self, end: int) -> None:
        self._view[: self._filled - end] = self._view[end : self._filled]
        self._filled -= end

    def _write(self, frame: bytes) -> None:
        left = memoryview(frame)
        while left:
            left = left[os.write(self._in, left) :]

    # -- around it --------------------------------------------------------------------------------------------

    def request(self, method: str, params: Any) -> Any:
        """The result, parsed. Raises RuntimeError for an error."""
        answer = json.loads(self.ask(method, json.dumps(params).encode())[1])
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer.get("result")

    def notify(self, method: str, params: Any) -> None:
        self._say({"method": method, "params": params})

    def _say(self, message: Mapping[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _reply(self, body: bytes) -> None:
        """What a client answers to whom it has no settings for; notifications are dropped."""
        message = json.loads(body)
        if "method" not in message or "id" not in message:
            return
        items = message["params"]["items"] if message["method"] == "workspace/configuration" else None
        self._say({"id": message["id"], "result": None if items is None else [{} for _ in items]})

    def initialize(self, capabilities: Mapping[str, Any], options: Any = None) -> None:
        """The handshake. From here on the peer has ``PATIENCE`` seconds between two calls of `alive`."""
        self._watchdog.start()
        uri = self._root.as_uri()
        folder = {"uri": uri, "name": self._root.name}
        params = {
            "processId": os.getpid(),
            "rootUri": uri,
            "workspaceFolders": [folder],
            "capabilities": capabilities,
            "initializationOptions": options,
        }
        self.request("initialize", params)
        self.notify("initialized", {})

    def alive(self) -> None:
        """The peer gets its patience anew."""
        self._watchdog.cancel()
        self._watchdog = threading.Timer(PATIENCE, self._process.kill)
        self._watchdog.daemon = True
        self._watchdog.start()

    def open(self, path: Path, language: str) -> str:
        """``didOpen`` with what is on disk; the URI."""
        text = path.read_text(encoding="utf-8")
        item = {"uri": path.as_uri(), "languageId": language, "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": item})
        self._version, self._first = 1, len(text.partition("\n")[0])
        return path.as_uri()

    def change(self, path: Path, text: str) -> None:
        """``didChange``: another first line for the document that was opened last."""
        self._version += 1
        place = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": self._first}}
        document = {"uri": path.as_uri(), "version": self._version}
        self._first = len(text)
        self.notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": place, "text": text}]}
        )

    def cpu(self) -> float:
        """Seconds of processor time of the process alone, user's and system's."""
        times = self._watched.cpu_times()
        return float(times.user + times.system)

    def rss(self) -> int:
        """Bytes of memory of the process alone."""
        return int(self._watched.memory_info().rss)

    def end(self) -> None:
        """End the process and whatever it started."""
        self._watchdog.cancel()
        family = self._watched.children(recursive=True) if self._process.poll() is None else []
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for child in family:
            try:
                child.kill()
            except psutil.Error:
                continue
        self._process.stdout.close()
