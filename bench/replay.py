"""A language server that costs nothing: it answers with bytes made beforehand, by blocking reads and writes.

Which of several sizes is meant is told by ``position.line``. Notifications are read and dropped.
"""

from __future__ import annotations

import json
import os
import re

from payloads import KINDS

HEAD = re.compile(rb"Content-Length:[ \t]*(\d+)", re.IGNORECASE)
IDENTITY = re.compile(rb'"id"\s*:\s*(-?\d+|"[^"]*")')
METHOD = re.compile(rb'"method"\s*:\s*"([^"]*)"')
LINE = re.compile(rb'"line"\s*:\s*(\d+)')
TYPES = (
    "namespace type class enum interface struct typeParameter parameter variable property enumMember event function "
    "method macro keyword modifier comment string number regexp operator decorator"
)
MODIFIERS = "declaration definition readonly static deprecated abstract async modification documentation defaultLibrary"
LEGEND = {"tokenTypes": TYPES.split(), "tokenModifiers": MODIFIERS.split()}
"""The standard one, as most servers have it: a proxy that announces the same need not touch the tokens."""
CAPABILITIES = {
    "textDocumentSync": 2,
    "hoverProvider": True,
    "completionProvider": {"triggerCharacters": ["."]},
    "documentSymbolProvider": True,
    "semanticTokensProvider": {"legend": LEGEND, "full": True},
}


def answers() -> dict[tuple[bytes, int], bytes]:
    """Method and line → the JSON of the result."""
    found = {(kind.method.encode(), kind.line): kind.result() for kind in KINDS}
    found[b"initialize", 0] = json.dumps({"capabilities": CAPABILITIES}).encode()
    return found


def write(*parts: bytes) -> None:
    """All of it, in as few calls as the pipe allows."""
    left = [memoryview(part) for part in parts]
    while left:
        done = os.writev(1, left)
        while left and done >= len(left[0]):
            done -= len(left.pop(0))
        if left:
            left[0] = left[0][done:]


def answer(body: bytes, known: dict[tuple[bytes, int], bytes]) -> None:
    """Answer a request; an unknown one with null."""
    identity, method = IDENTITY.search(body), METHOD.search(body)
    if identity is None or method is None:
        return
    line = LINE.search(body)
    key = method[1], int(line[1]) if line is not None and method[1] == b"textDocument/completion" else 0
    head = b'{"jsonrpc":"2.0","id":%b,"result":' % identity[1]
    result = known.get(key, b"null")
    write(b"Content-Length: %d\r\n\r\n" % (len(head) + len(result) + 1), head, result, b"}")


def main() -> None:
    """Serve until standard input ends or ``exit`` comes."""
    known = answers()
    data = b""
    while more := os.read(0, 1 << 20):
        data += more
        while (end := data.find(b"\r\n\r\n")) >= 0:
            length = HEAD.search(data[:end])
            stop = end + 4 + (int(length[1]) if length is not None else 0)
            if len(data) < stop:
                break
            body, data = data[end + 4 : stop], data[stop:]
            if b'"exit"' in body:
                return
            answer(body, known)


if __name__ == "__main__":
    main()
