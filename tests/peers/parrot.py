"""A language server that announces everything and answers what the question says: ``parrot.py NAME``.

``params["answer"]`` (of a hierarchy's item: ``params["item"]["answer"]``) is the result's JSON text as it stands on
the wire, or an object with one such text for each name.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# The interpreter may have been started with -I, which leaves the script's own folder out of the path.
sys.path.append(str(Path(__file__).resolve().parent.parent.parent))

from tests.peers.conformance.announced import capabilities
from tests.peers.scripted.wire import Gone, Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMAT = {"headerFormat": "Content-Length: {length}\r\n\r\n", "junkBetween": None, "banner": None, "chunk": None}


def serve(name: str) -> int:
    """Until ``exit`` or the end of the input; the exit code."""
    wire = Wire(FORMAT)
    while data := os.read(0, 1 << 16):
        for message in wire.feed(data):
            if message.get("method") == "exit":
                return 0
            if "id" not in message or "method" not in message:
                continue
            if message["method"] == "initialize":
                wire.send({"jsonrpc": "2.0", "id": message["id"], "result": {"capabilities": capabilities(name)}})
                continue
            body = f'{{"jsonrpc":"2.0","id":{message["id"]},"result":{said(message.get("params"), name)}}}'.encode()
            wire.write_raw(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    return 1


def said(params: Any, name: str) -> str:
    inner = params.get("item", params) if isinstance(params, dict) else None
    answer = inner.get("answer", "null") if isinstance(inner, dict) else "null"
    return str(answer.get(name, "null") if isinstance(answer, dict) else answer)


if __name__ == "__main__":
    try:
        sys.exit(serve(sys.argv[1]))
    except Gone:
        sys.exit(1)
