"""The smallest useful pygls server, to be compared with: what a hand-written server costs before it does anything."""

from __future__ import annotations

from lsprotocol import types
from pygls.lsp.server import LanguageServer

server = LanguageServer("plain", "1")


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(_params: types.HoverParams) -> types.Hover | None:
    """Nothing to say."""
    return None


if __name__ == "__main__":
    server.start_io()
