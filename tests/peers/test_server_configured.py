"""A server that overlooks documents which are opened before it has read its configuration is not sent them before."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from ombud.downstream import server as module
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.wire.envelope import Message

from tests.peers.lone import URI, Lone, at, result
from tests.peers.script import PeerLog, Script

HOVER = "textDocument/hover"


@pytest.fixture
async def lone(tmp_path: Path) -> AsyncIterator[Lone]:
    async with Lone(tmp_path) as lone:
        lone.notes.documents[URI] = (1, "first")
        yield lone


def asked(lone: Lone) -> bool:
    return "workspace/configuration" in lone.notes.methods()


async def test_documents_and_requests_wait_until_its_question_is_answered(lone: Lone, peer_log: PeerLog) -> None:
    server = lone.server(Script("one", log=peer_log, askConfiguration=["one"]), configured_first=True)
    server.need()
    hover = lone.ask(server, HOVER, at())
    await lone.notes.until(lambda: asked(lone) and server.state is State.READY)
    assert (lone.notes.sent, hover.outcomes, server.busy) == ([], [], True)
    server.configured()
    assert lone.notes.sent == [(URI, 1)]
    result(await hover.outcome())
    assert peer_log.methods() == ["initialize", "initialized", "textDocument/didOpen", HOVER]


async def test_every_process_of_it_is_waited_for_anew(lone: Lone) -> None:
    def answered(server: Server, message: Message) -> None:
        if message.method == "workspace/configuration":
            server.configured()

    server = lone.server(Script("one", askConfiguration=["one"]), configured_first=True)
    lone.notes.on_message = answered
    await lone.ready(server)
    await lone.notes.until(lambda: lone.notes.sent == [(URI, 1)])
    await server.stop(State.SWEPT, "It was idle.")
    lone.notes.on_message = lambda _server, _message: None
    lone.notes.messages.clear()
    server.need()
    await lone.notes.until(lambda: asked(lone) and server.state is State.READY)
    assert lone.notes.sent == [(URI, 1)]
    server.configured()
    assert lone.notes.sent == [(URI, 1), (URI, 1)]


async def test_one_that_never_asks_is_spoken_to_all_the_same(lone: Lone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONFIGURED_SECONDS", 0.05)
    server = lone.server(Script("one"), configured_first=True)
    server.need()
    result(await lone.ask(server, HOVER, at()).outcome())
    assert lone.notes.sent == [(URI, 1)]


async def test_all_others_are_sent_their_documents_at_once(lone: Lone) -> None:
    server = lone.server(Script("one", askConfiguration=["one"]))
    await lone.ready(server)
    assert lone.notes.sent == [(URI, 1)]
