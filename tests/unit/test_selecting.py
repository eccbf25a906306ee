"""The documents that a server's registrations are for (LSP 3.17, ``DocumentSelector``)."""

from __future__ import annotations

from typing import Any

import pytest
from ombud.downstream.capabilities import Capabilities
from ombud.downstream.selecting import selects

URI = "file:///ws/src/a.x"


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        *((None, True), ("all", True), ([], False), ([7], True), ([{"notebook": "*", "language": "y"}], True)),
        *(([{"language": "x"}], True), ([{"language": "y"}], False), ([{"language": "*"}], True)),
        *(([{"scheme": "file"}], True), ([{"scheme": "untitled"}], False), ([{}], True)),
        *(([{"pattern": "**/*.x"}], True), ([{"pattern": "**/*.{y,x}"}], True), ([{"pattern": "**/*.y"}], False)),
        *(([{"pattern": "*.x"}], True), ([{"pattern": "/ws/**"}], True), ([{"pattern": "/other/**"}], False)),
        *(([{"pattern": {"baseUri": "file:///other", "pattern": "*"}}], True),),
        *(([{"language": "y"}, {"language": "x", "scheme": "file", "pattern": "**/src/*"}], True),),
        *(([{"language": "x", "scheme": "file", "pattern": "**/test/*"}], False),),
    ],
)
def test_a_selector_picks_documents(selector: Any, wanted: bool) -> None:
    server = Capabilities()
    server.register("1", "textDocument/semanticTokens", {"documentSelector": selector, "full": True})
    assert selects(server, "textDocument/semanticTokens/full", URI, "x") is wanted


def test_what_is_for_every_document() -> None:
    server = Capabilities({"hoverProvider": True})
    other = {"documentSelector": [{"language": "y"}]}
    server.register("1", "textDocument/hover", other)
    server.register("2", "textDocument/definition", other)
    assert selects(server, "textDocument/hover", URI, "x"), "it was announced"
    assert not selects(server, "textDocument/definition", URI, "x")
    assert selects(server, "textDocument/definition", URI, None), "the language is not known"
    assert selects(server, "textDocument/rename", URI, "x"), "what it cannot do is not judged here"
    assert selects(server, "vendor/method", URI, "x")
    server.register("3", "textDocument/definition", {})
    assert selects(server, "textDocument/definition", URI, "x")
