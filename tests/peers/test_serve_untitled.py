"""Buffers that were never saved (``untitled:``) have the servers of their language, as in any editor."""

from __future__ import annotations

from typing import Any

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import codes, connected, entry, hover, listening, serving, well_behaved
from tests.peers.script import PeerLog, Script

FILES = {"x.toml": "", "a.x": "first\n"}
BUFFER = "untitled:Untitled-1"


def language(log: PeerLog) -> dict[str, Any]:
    return {"one": entry(Script("one", log=log), languages=["x"])}


async def opened(client: Client, text: str) -> None:
    client.notify(
        "textDocument/didOpen", {"textDocument": {"uri": BUFFER, "languageId": "x", "version": 3, "text": text}}
    )


async def said(client: Client) -> Any:
    params = {"textDocument": {"uri": BUFFER}, "position": {"line": 0, "character": 0}}
    return await client.request("textDocument/hover", params)


async def test_an_unsaved_buffer_starts_the_server_of_its_language(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, language(peer_log)) as client:
        await opened(client, "ERROR(e1): new")
        assert (await said(client))["contents"] == "one: line 0: ERROR(e1): new"
        found = await client.wait_notification(
            "textDocument/publishDiagnostics", lambda found: found["diagnostics"] != []
        )
        assert (found["uri"], found["version"], codes(found["diagnostics"])) == (BUFFER, 3, ["e1"])
        change = {"textDocument": {"uri": BUFFER, "version": 4}, "contentChanges": [{"text": "well"}]}
        client.notify("textDocument/didChange", change)
        assert (await said(client))["contents"] == "one: line 0: well"
        client.notify("textDocument/didClose", {"textDocument": {"uri": BUFFER}})
        assert await said(client) is None
        assert sorted(path.name for path in root.iterdir()) == ["a.x", "x.toml"]
    well_behaved(peer_log)


async def test_unsaved_buffers_of_two_clients_are_two_texts(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = language(peer_log)
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, servers, name="left") as left,
        connected(port, root, servers, name="right") as right,
    ):
        await opened(left, "of the left")
        assert (await said(left))["contents"] == "one: line 0: of the left"
        await opened(right, "of the right")
        assert await said(right) is None
        assert (await said(left))["contents"] == "one: line 0: of the left"
        assert await hover(right, "a.x") == "one: line 0: first"
    well_behaved(peer_log)
