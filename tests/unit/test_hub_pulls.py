"""When the hub pulls by itself, and when it lets a document alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ombud.downstream.states import State
from ombud.guard.uris import same_uri_key
from ombud.operations.hub import Hub


class Pulled:
    """A server, as far as the hub's pulls look at one."""

    state = State.READY

    def offers(self, method: str) -> bool:
        return method == "textDocument/diagnostic"


async def test_a_document_that_a_server_was_never_sent_is_not_waited_for(tmp_path: Path, monkeypatch: Any) -> None:
    """Another document's pull spoke of it (``relatedDocuments``): nothing is under way, and there is nothing to ask."""
    hub = Hub()
    try:
        path = tmp_path / "a.x"
        uri = path.as_uri()
        key = same_uri_key(uri)
        hub.documents.pin(uri, path, "x", "text")
        server: Any = Pulled()
        hub.store.related(server, key, (), None)
        again: list[str] = []
        monkeypatch.setattr(hub, "pull_soon", again.append)
        hub._pull_now(key)
        assert again == [], "or it would be looked at every 50 ms for good"
        track = hub.store.track(server, key)
        track.sent_version = track.asked_version = 1
        hub._pull_now(key)
        assert again == [key], "somebody is asking for just this"
    finally:
        await hub.close()
