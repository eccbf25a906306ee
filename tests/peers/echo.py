"""A language server that answers each request with what it was asked, for a soak: ``echo.py NAME NUMBER``.

Every answer holds marks of the form ``NAME|METHOD|LINE|CHARACTER|SEEN``: the position is the asker's own number for the
request, SEEN the number in the first line of the document as this server knows it. The position also says how to
answer: completions of ``SIZES[LINE % len(SIZES)]`` items; every ``HELD``-th answer is held back until others have been
given, and refused when it is cancelled meanwhile; character ``CRASH`` with NUMBER as the line ends the process at once.
"""

from __future__ import annotations

import os
import select
import sys
from collections import deque
from pathlib import Path

# The interpreter may have been started with -I, which leaves the script's own folder out of the path.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from tests.peers.scripted.wire import Gone, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SIZES = (3, 3, 3, 3, 3, 3, 3, 200, 3, 3, 3, 3, 3, 3, 3, 3, 200, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 4000)
"""Items of a completion: some 400 bytes, 30 KB and 600 KB."""
HELD = 5
CRASH = 999_999
MOST_HELD = 4
"""Answers that are held back at the same time; one more lets the oldest go."""
PATIENCE = 0.01
"""Seconds of silence after which everything is let go."""
FORMAT = {"headerFormat": "Content-Length: {length}\r\n\r\n", "junkBetween": None, "banner": None, "chunk": None}
CAPABILITIES = {
    "textDocumentSync": {"openClose": True, "change": 1},
    "hoverProvider": True,
    "referencesProvider": True,
    "completionProvider": {"resolveProvider": True},
}


class Echo:
    """The server: its documents, and the answers it holds back."""

    def __init__(self, name: str, number: int) -> None:
        self._name = name
        self._number = number
        self._wire = Wire(FORMAT)
        self._texts: dict[str, str] = {}
        self._held: deque[dict[str, Any]] = deque()
        self._over = False

    def serve(self) -> int:
        """Until ``exit`` or the end of the input; the exit code."""
        while not self._over:
            ready, _, _ = select.select([0], [], [], PATIENCE if self._held else None)
            data = os.read(0, 1 << 16) if ready else b""
            if ready and not data:
                return 1
            for message in self._wire.feed(data):
                self._take(message)
            while self._held and (not ready or len(self._held) > MOST_HELD):
                self._wire.send(self._held.popleft())
        return 0

    def _take(self, message: dict[str, Any]) -> None:
        method, params = message.get("method", ""), message.get("params") or {}
        if "id" not in message:
            self._told(method, params)
        elif method == "initialize":
            self._wire.send({"id": message["id"], "result": {"capabilities": CAPABILITIES}})
        elif method == "shutdown":
            self._wire.send({"id": message["id"], "result": None})
        elif method:
            self._answer({"jsonrpc": "2.0", "id": message["id"]}, method, params)

    def _told(self, method: str, params: dict[str, Any]) -> None:
        document = params.get("textDocument", {})
        if method == "textDocument/didOpen":
            self._texts[document["uri"]] = document["text"]
        elif method == "textDocument/didChange":
            self._texts[document["uri"]] = params["contentChanges"][-1]["text"]
        elif method == "textDocument/didClose":
            self._texts.pop(document["uri"], None)
        elif method == "$/cancelRequest":
            for answer in self._held:
                if answer["id"] == params["id"]:
                    answer.pop("result", None)
                    answer["error"] = {"code": -32800, "message": "cancelled"}
        elif method == "exit":
            self._over = True

    def _answer(self, answer: dict[str, Any], method: str, params: dict[str, Any]) -> None:
        if method == "completionItem/resolve":
            # The item as it was given out: its data must have come back as it was.
            self._wire.send({**answer, "result": {**params, "detail": f"{self._name}|resolved|{params.get('data')}"}})
            return
        place, uri = params["position"], params["textDocument"]["uri"]
        if place == {"line": self._number, "character": CRASH}:
            os._exit(3)
        seen = self._texts.get(uri, "-").partition("\n")[0]
        mark = f"{self._name}|{method}|{place['line']}|{place['character']}|{seen}"
        answer["result"] = self._result(method, mark, place, uri)
        if place["line"] % HELD == 0:
            self._held.append(answer)
        else:
            self._wire.send(answer)

    def _result(self, method: str, mark: str, place: dict[str, int], uri: str) -> Any:
        if method == "textDocument/hover":
            return {"contents": {"kind": "plaintext", "value": mark}}
        if method == "textDocument/references":
            spot = {"start": place, "end": place}
            return [{"uri": f"{uri}#{mark}|{number}", "range": spot} for number in range(3)]
        count = SIZES[place["line"] % len(SIZES)]
        items = [{"label": f"{mark}|{number}", "kind": 5, "data": f"{mark}|{number}"} for number in range(count)]
        return {"isIncomplete": False, "items": items}


if __name__ == "__main__":
    try:
        sys.exit(Echo(sys.argv[1], int(sys.argv[2])).serve())
    except Gone:
        sys.exit(1)
