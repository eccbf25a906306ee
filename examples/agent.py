"""An agent's first edit through Ombud, with nothing but the standard library.

    python examples/agent.py PROJECT FILE OLD NEW

It starts `ombud serve` in PROJECT, replaces the text OLD by NEW in FILE, and prints what that broke.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO, Any


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    """One message: a header that says how long the body is, and the body."""
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """The next message."""
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    if not length:
        raise SystemExit("ombud ended the connection")
    message: dict[str, Any] = json.loads(stream.read(length))
    return message


def ask(server: subprocess.Popen[bytes], identity: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A request and its answer. What else comes meanwhile is for clients with more interest: progress, questions."""
    assert server.stdin is not None and server.stdout is not None
    send(server.stdin, {"id": identity, "method": method, "params": params})
    while True:
        message = receive(server.stdout)
        if message.get("id") == identity and "method" not in message:
            return message
        if "method" in message and "id" in message:
            send(server.stdin, {"id": message["id"], "result": None})


def main() -> int:
    """Edit once."""
    if len(sys.argv) != 5:
        print(__doc__)
        return 2
    root = Path(sys.argv[1]).resolve()
    if not root.is_dir() or shutil.which("ombud") is None:
        print(f"{root} must be a folder, and ombud must be on your PATH.")
        return 2
    file, old, new = sys.argv[2:]
    with subprocess.Popen(["ombud", "serve"], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        ask(server, 1, "initialize", {"processId": None, "rootUri": root.as_uri(), "capabilities": {}})
        send(server.stdin, {"method": "initialized", "params": {}})
        edits = [{"oldText": old, "newText": new}]
        answer = ask(server, 2, "ombud/edit", {"path": file, "edits": edits, "waitMs": 60000})
        ask(server, 3, "shutdown", {})
        send(server.stdin, {"method": "exit"})
    if "error" in answer:
        print(answer["error"]["data"]["kind"] + ": " + answer["error"]["message"])
        return 1
    print(answer["result"]["message"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
