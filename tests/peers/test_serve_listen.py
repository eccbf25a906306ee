"""``ombud serve --listen``: several clients of one hub, each with its own texts, and none hurt by another's end."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import psutil
import pytest

from tests.client import Client, Disconnected
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    ask_hover,
    connected,
    edit,
    failure,
    hover,
    listening,
    peer_texts,
    status,
    together,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT
from tests.waiting import wait_until

FILES = {"x.toml": "", "a.x": "on disk\n", "b.x": "other\n"}


async def test_two_clients_share_one_server_and_didOpen_is_counted(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log)}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="left") as left:
        async with connected(port, root, servers, name="right") as right:
            left.open("a.x")
            right.open("a.x")
            assert await hover(left, "a.x") == await hover(right, "a.x") == "one: line 0: on disk"
            assert len(peer_log.starts()) == 1
            assert len(peer_log.received("textDocument/didOpen")) == 1
            left.close("a.x")
            assert await hover(right, "a.x") == "one: line 0: on disk"
            assert peer_log.received("textDocument/didClose") == []
            right.close("a.x")
            await peer_log.wait_received("textDocument/didClose")
            left.open("a.x")
            assert await hover(left, "a.x") == "one: line 0: on disk"
        # One that says goodbye takes the server from nobody.
        assert await hover(left, "a.x") == "one: line 0: on disk"
        assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_each_client_has_its_own_text_and_servers_see_the_newest(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log)}
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, servers, name="left") as left,
        connected(port, root, servers, name="right") as right,
    ):
        left.open("a.x")
        left.change("a.x", "left\n")
        assert await hover(left, "a.x") == "one: line 0: left"
        right.open("a.x")
        place = {"line": 0, "character": 0}
        right.change("a.x", [{"range": {"start": place, "end": place}, "text": "still "}])
        assert await hover(right, "a.x") == "one: line 0: still on disk"
        # An increment of the left one is meant for the left one's text, which is not what the server has.
        end = {"line": 0, "character": 4}
        left.change("a.x", [{"range": {"start": end, "end": end}, "text": " again"}])
        assert await hover(left, "a.x") == "one: line 0: left again"
        # Both are unsaved, and a third one's write is told so.
        async with connected(port, root, servers, name="agent", capabilities=AGENT) as agent:
            params = {"path": "a.x", "content": "mine\n"}
            error = await failure(agent.start_request("ombud/write", params), agent)
            assert (error.kind, error.data["clients"]) == ("conflict", ["tests/left", "tests/right"])
        left.close("a.x")
        assert await hover(right, "a.x") == "one: line 0: still on disk"
    well_behaved(peer_log)


async def test_diagnostics_reach_every_client_with_its_own_version(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one")}
    async with together(ombud, root, servers, "left", "right") as (left, right):
        left.open("a.x", "ERROR(e1): bad", version=10)
        await left.wait_diagnostics("a.x", lambda found: len(found) == 1, version=10)
        right.open("a.x", "ERROR(e1): bad", version=70)
        await right.wait_diagnostics("a.x", lambda found: len(found) == 1)
        right.change("a.x", "ERROR(e1): bad\nERROR(e2): worse")
        await right.wait_diagnostics("a.x", lambda found: len(found) == 2, version=71)
        published = await left.wait_notification(
            "textDocument/publishDiagnostics", lambda one: len(one["diagnostics"]) == 2
        )
        # The left one does not have that text, so there is no number of its own for it.
        assert "version" not in published
        right.close("a.x")
        # Servers see the left one's text again, which has its number; and the right one hears of it all the same.
        await left.wait_diagnostics("a.x", lambda found: len(found) == 1, version=10)
        await right.wait_diagnostics("a.x", lambda found: len(found) == 1)


async def test_diagnostics_go_to_all_also_to_those_who_come_later_and_have_nothing_open(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one")}
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, servers, name="editor") as editor,
        connected(port, root, servers, name="agent") as agent,
    ):
        editor.open("a.x", "ERROR(e1): bad")
        await agent.wait_diagnostics("a.x", lambda found: len(found) == 1)
        async with connected(port, root, servers, name="late") as late:
            await late.wait_diagnostics("a.x", lambda found: len(found) == 1)
            editor.change("a.x", "good")
            for client in (agent, late):
                await client.wait_diagnostics("a.x", lambda found: not found)


@pytest.mark.parametrize("ending", ["reset", "half-closed", "broken frame"])
async def test_one_clients_end_harms_no_other(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, ending: str
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", hangOn=["textDocument/definition"], log=peer_log)}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="left") as left:
        left.open("b.x")
        async with connected(port, root, servers, name="right", strict=False) as right:
            right.open("a.x", "unsaved")
            await hover(right, "a.x")
            hung = right.start_request("textDocument/definition", right.at("a.x", 0, 0))
            params = {"action": "definition", "path": "b.x", "line": 1, "symbol": "other"}
            operation = right.start_request("ombud/lsp", params)
            await peer_log.wait_received("textDocument/definition", 2)
            mine = left.start_request("textDocument/definition", left.at("b.x", 0, 0))
            if ending == "reset":
                right.kill()
            elif ending == "half-closed":
                right.close_input()
            else:
                await right.send_raw(b"nonsense\r\n\r\n")
            await right.wait_exit(10)
            for pending in (hung, operation):
                with pytest.raises(Disconnected):
                    await pending
        # What it asked for is not worked on any more, and what it had open is closed.
        assert len(await peer_log.wait_received("$/cancelRequest", 2)) == 2
        (closed,) = await peer_log.wait_received("textDocument/didClose")
        assert closed["params"]["textDocument"]["uri"] == left.uri("a.x")
        assert await hover(left, "b.x") == "one: line 0: other"
        assert not mine.done()
        left.cancel(mine)
        assert (await failure(mine, left)).code == -32800
        # Its unsaved text is forgotten with it.
        assert (await edit(left, "a.x", "on disk", "written"))["applied"]
        assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_a_client_that_leaves_while_its_server_starts_harms_nobody(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", startDelayMs=500, log=peer_log)}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="left") as left:
        async with connected(port, root, servers, name="right") as right:
            right.open("a.x")
            ask_hover(right, "a.x")
            await peer_log.wait(lambda log: log.starts())
            right.kill()
        left.open("b.x")
        assert await hover(left, "b.x") == "one: line 0: other"
        assert await peer_texts(left, "one") == {"b.x": "other\n"}
        assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_each_client_has_its_own_folders_options_and_tiers(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    mine = workspace({"x.toml": "", "a.x": "mine\n"}, name="mine")
    other = workspace({"x.toml": "", "a.x": "other\n"}, name="other")
    logs = [PeerLog(tmp_path / "left.jsonl"), PeerLog(tmp_path / "right.jsonl")]
    async with (
        listening(ombud, mine) as (_, port),
        connected(port, mine, {"one": Script("one", log=logs[0])}, name="left") as left,
        connected(port, other, {"two": Script("two", log=logs[1])}, name="right", tiers=["read"]) as right,
    ):
        assert await hover(left, "a.x") == "one: line 0: mine"
        assert await hover(right, "a.x") == "two: line 0: other"
        # Also for a file that the other one has open: it is none of this one's folders.
        left.open("a.x")
        foreign = left.at(str(other / "a.x"), 0, 0)
        right.open("a.x")
        await hover(right, "a.x")
        assert await left.request("textDocument/hover", foreign) is None
        assert "two" not in await status(left)
        assert "one" not in await status(right)
        assert (await edit(left, "a.x", "mine", "still mine"))["applied"]
        error = await failure(right.start_request("ombud/write", {"path": "a.x", "content": ""}), right)
        assert error.kind == "permission_denied"
        error = await failure(left.start_request("ombud/write", {"path": str(other / "a.x"), "content": ""}), left)
        assert error.kind == "outside_workspace"
        # What happens to a server is told to those whose folders it works in.
        await wait_state(left, "one", "ready")
        told = {one.params["servers"][0]["name"] for one in right.notifications if one.method == "ombud/statusChanged"}
        assert told == {"two"}
    well_behaved(*logs)


async def test_many_clients_at_once_are_each_answered(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", **{f"f{number}.x": f"text {number}\n" for number in range(12)}})
    servers = {"one": Script("one", log=peer_log)}

    async def one_client(port: int, number: int) -> None:
        async with connected(port, root, servers, name=f"client{number}") as client:
            client.open(f"f{number}.x")
            for turn in range(5):
                client.change(f"f{number}.x", f"text {number} {turn}")
                assert await hover(client, f"f{number}.x") == f"one: line 0: text {number} {turn}"

    async with listening(ombud, root) as (_, port):
        await asyncio.gather(*(one_client(port, number) for number in range(12)))
    assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_P7_a_client_that_never_reads_is_dropped_or_waited_for_but_stops_nobody(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    one = Script("one", bigAnswer=4_000_000)
    async with listening(ombud, root) as (_, port), connected(port, root, {"one": one}, name="left") as left:
        left.open("b.x")
        await hover(left, "b.x")
        with socket.create_connection(("127.0.0.1", port)) as deaf:
            asked = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
            deaf.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(asked), asked))
            for _ in range(3):
                assert (await hover(left, "b.x")).startswith("one: line 0: other")


async def test_a_hub_ends_with_a_signal_and_says_goodbye_to_everybody(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log)}
    async with listening(ombud, root) as (hub, port):
        async with connected(port, root, servers, name="left", strict=False) as left:
            left.open("a.x")
            await hover(left, "a.x")
            hub.kill(15)
            await left.wait_exit(20)
        assert await hub.wait_exit(20) == 0
        assert peer_log.methods()[-2:] == ["shutdown", "exit"]


async def test_an_address_that_is_none_or_taken_is_an_error(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with listening(ombud, root) as (_, port):
        for address, code, words in (
            (f"127.0.0.1:{port}", 1, "cannot listen on"),
            ("127.0.0.1:http", 2, "is no address"),
        ):
            async with ombud("--listen", address) as second:
                assert await second.wait_exit(20) == code
            assert words in second.stderr
            assert "Traceback" not in second.stderr


async def test_B2_it_listens_on_the_loopback_only(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with listening(ombud, root) as (hub, port):
        found = psutil.Process(hub.pid).net_connections("tcp")
        assert [one.laddr for one in found if one.status == psutil.CONN_LISTEN] == [("127.0.0.1", port)]


async def test_a_client_must_introduce_itself_first(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with listening(ombud, root) as (_, port), Client.tcp("127.0.0.1", port) as client:
        error = await failure(client.start_request("ombud/status"), client)
        assert error.code == -32002
        await client.initialize(root)
        assert await wait_until(lambda: client.server_capabilities, 5)
