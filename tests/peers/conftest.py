"""The scripted server as a client meets it directly, without Ombud between them."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from tests.client import Client
from tests.conftest import ClientFactory
from tests.peers.script import PeerLog, Script


class PeerFactory(Protocol):
    def __call__(self, script: Script = ..., *, strict: bool = ..., **keys: Any) -> Client: ...


@pytest.fixture
def peer(client_factory: ClientFactory) -> PeerFactory:
    """``async with peer(hangOn=["textDocument/hover"]) as client``: keys of a script, or a whole one."""

    def start(script: Script = Script(), *, strict: bool = True, **keys: Any) -> Client:  # noqa: B008  # immutable
        made = script.but(**keys) if keys else script
        return client_factory(made.command(), name=made.name, strict=strict)

    return start


@pytest.fixture
def peer_log(tmp_path_factory: pytest.TempPathFactory) -> PeerLog:
    """A log for a script, outside the workspace."""
    return PeerLog(tmp_path_factory.mktemp("log") / "peer.jsonl")
