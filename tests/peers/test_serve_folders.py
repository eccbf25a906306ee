"""Workspace folders come and go (``workspace/didChangeWorkspaceFolders``), and their servers with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.disk import CREATED, FILES, hears, watching
from tests.peers.road import Json, connected, edit, hover, listening, serving, status, together, well_behaved
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT
from tests.waiting import wait_until

FOLDERS = "workspace/didChangeWorkspaceFolders"


@pytest.fixture(autouse=True)
def _told_of_watching(environment: dict[str, str]) -> None:
    environment["OMBUD_LOG"] = "INFO"


def folders(root: Path, *, added: list[Path] = [], removed: list[Path] = []) -> Json:  # noqa: B006  # only read
    def named(paths: list[Path]) -> list[Json]:
        return [{"uri": path.as_uri(), "name": path.name} for path in paths]

    return {"event": {"added": named(added), "removed": named(removed)}}


async def test_a_folder_that_is_added_gets_its_servers_and_one_that_leaves_loses_them(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    left = workspace({"x.toml": "", "a.x": "left\n"}, name="left")
    right = workspace({"x.toml": "", "b.x": "ERROR(e1): right\n"}, name="right")
    log = PeerLog(tmp_path / "one.jsonl")
    b = f"{right}/b.x"
    async with serving(ombud, left, {"one": Script("one", log=log)}, capabilities=AGENT) as client:
        client.open("a.x")
        client.open(b)
        assert await hover(client, "a.x") == "one: line 0: left"
        await watching(client)
        assert len(log.starts()) == 1
        client.notify(FOLDERS, folders(left, added=[right]))
        assert await hover(client, b) == "one: line 0: ERROR(e1): right"
        await client.wait_diagnostics(b, lambda found: len(found) == 1)
        first, second = log.starts()
        # The new folder is watched as well.
        await watching(client, "/right")
        (right / "c.x").write_text("c")
        await hears(log, right, ("c.x", CREATED))
        assert {one["params"]["rootUri"] for one in log.received("initialize")} == {left.as_uri(), right.as_uri()}

        client.notify(FOLDERS, folders(left, removed=[right]))
        await log.wait(lambda log: "exit" in log.methods(second), what="the server of the folder is stopped")
        await client.wait_diagnostics(b, lambda found: found == [])
        assert await client.request("textDocument/hover", client.at(b, 0, 0)) is None
        assert len(log.starts()) == 2
        assert await hover(client, "a.x") == "one: line 0: left"
        # Each server has one root, so the coming and going of others is no news to it.
        assert log.received(FOLDERS) == []
        # And back again.
        client.notify(FOLDERS, folders(left, added=[right]))
        assert await hover(client, b) == "one: line 0: ERROR(e1): right"
        assert first in log.starts()
    well_behaved(log)


async def test_a_folder_that_one_client_leaves_stays_for_the_others(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root, other = workspace(FILES), workspace({"x.toml": ""}, name="other")
    servers = {"one": Script("one", log=peer_log)}
    async with together(ombud, root, servers, "left", "right") as (left, right):
        left.open("a.x")
        left.open("b.x")
        right.open("a.x")
        assert await hover(right, "a.x") == await hover(left, "a.x") == "one: line 0: first"
        left.notify(FOLDERS, folders(root, added=[other], removed=[root]))
        # What only the one had open leaves the server; what the other has open stays.
        (closed,) = await peer_log.wait_received("textDocument/didClose")
        assert closed["params"]["textDocument"]["uri"] == left.uri("b.x")
        assert await left.request("textDocument/hover", left.at("b.x", 0, 0)) is None
        right.change("a.x", "changed\n")
        assert await hover(right, "a.x") == "one: line 0: changed"
        assert len(peer_log.starts()) == 1
        assert (await status(right))["one"]["state"] == "ready"
        right.notify(FOLDERS, folders(root, removed=[root]))
        await peer_log.wait(lambda log: "exit" in log.methods())
    well_behaved(peer_log)


async def test_a_server_whose_client_is_gone_ends_with_the_last_client_of_its_folder(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log)}
    async with (
        listening(ombud, root) as (hub, port),
        connected(port, root, servers, name="right") as right,
    ):
        async with connected(port, root, servers, name="left") as left:
            left.open("a.x")
            await hover(left, "a.x")
            await edit(left, "b.x", "other", "kept warm")
        assert (await status(right))["one"]["state"] == "ready"
        right.notify(FOLDERS, folders(root, removed=[root]))
        await peer_log.wait(lambda log: "exit" in log.methods())
        reason = "Its folder is no longer part of any workspace"
        await wait_until(lambda: reason in hub.stderr, 20, "the reason is in the log")
    well_behaved(peer_log)
