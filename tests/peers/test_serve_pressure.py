"""Back-pressure: who does not read, client or server, is waited for within bounds and never holds up another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from tests.client import Client, Disconnected, Pending
from tests.conftest import ClientFactory, Workspace
from tests.link import PipeLink, SocketLink
from tests.peers.hub import listening_on, run_folder, unix_client
from tests.peers.road import (
    ask_hover,
    entry,
    failure,
    freshness,
    hover,
    hurried,
    options,
    serving,
    status,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until

__all__ = ["run_folder"]

FILES = {"x.toml": "", "a.x": "on disk\n", "b.x": "other\n", "y.toml": "", "a.y": "of two\n"}
LOW = {"faces__lsp__outbox__HIGH_WATER": 300_000, "faces__lsp__outbox__LOW_WATER": 100_000}


def reading(client: Client, reads: bool) -> None:
    """Whether the client takes what it is sent."""
    if isinstance(client.link, SocketLink):
        transport: Any = client.link._transport
    else:
        transport = cast("PipeLink", client.link)._transport
        transport = cast("asyncio.SubprocessTransport", transport).get_pipe_transport(1)
    (transport.resume_reading if reads else transport.pause_reading)()


async def test_P7_a_client_that_never_reads_is_ended_and_the_others_go_on(
    client_factory: ClientFactory, workspace: Workspace, run_folder: Path, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    said = options({"one": Script("one", bigAnswer={"textDocument/hover": 100_000}, log=peer_log)})
    ombud = hurried(client_factory, **LOW, faces__lsp__outbox__MOST_BYTES=2_000_000)
    path = run_folder / "hub"
    async with listening_on(ombud, path) as hub, unix_client(path, name="left") as left:
        await left.initialize(root, said)
        async with unix_client(path, name="deaf", strict=False) as deaf:
            await deaf.initialize(root, said)
            deaf.open("b.x")
            await hover(deaf, "b.x")
            reading(deaf, False)
            asked = [ask_hover(deaf, "b.x") for _ in range(60)]
            assert (await hover(left, "a.x")).startswith("one: line 0: on disk")
            await wait_until(lambda: "tests/deaf does not read what it is sent" in hub.stderr, 20)
            # What it had open is closed, and whoever asks for it now has the disk's.
            await peer_log.wait_received("textDocument/didClose")
            assert (await hover(left, "b.x")).startswith("one: line 0: other")
            reading(deaf, True)
            for pending in asked:
                try:
                    await deaf.answer(pending, 20)
                except Disconnected:
                    break
            else:
                raise AssertionError("it was sent everything")
        assert hub.stderr.count("does not read") == 1
        assert (await hover(left, "a.x")).startswith("one: line 0: on disk")
    assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_a_slow_client_is_not_read_from_and_catches_up_with_the_newest(
    client_factory: ClientFactory, workspace: Workspace, run_folder: Path, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    logs = {"method": "window/logMessage", "params": {"type": 3, "message": "noise"}}
    one = Script(
        "one",
        bigAnswer={"textDocument/hover": 100_000},
        floodOn=[{"method": "textDocument/definition", "count": 40, "notification": logs}],
        log=peer_log,
    )
    ombud = hurried(client_factory, **LOW)
    path = run_folder / "hub"
    async with (
        listening_on(ombud, path),
        unix_client(path, name="left") as left,
        unix_client(path, name="slow") as slow,
    ):
        for client in (left, slow):
            await client.initialize(root, options({"one": one}))
            client.open("a.x")
            await hover(client, "a.x")
        reading(slow, False)
        asked = [ask_hover(slow, "a.x") for _ in range(12)]
        await peer_log.wait_received("textDocument/hover", 14)
        # The server answers in order: when this one has come, the slow one's have been written.
        await hover(left, "a.x")
        before = len(peer_log.received("textDocument/hover"))
        late = ask_hover(slow, "b.x")
        for count in range(1, 31):
            left.change("a.x", "".join(f"ERROR(e{number}): bad\n" for number in range(count)))
            await left.wait_diagnostics("a.x", lambda found, count=count: len(found) == count)
        await left.request("textDocument/definition", left.at("a.x", 0, 0))
        assert len(peer_log.received("textDocument/hover")) == before
        published = len(_of(slow, "textDocument/publishDiagnostics"))
        reading(slow, True)
        for pending in asked:
            assert len((await slow.answer(pending))["contents"]) > 100_000
        assert (await slow.answer(late))["contents"].startswith("one: line 0: other")
        await slow.wait_diagnostics("a.x", lambda found: len(found) == 30)
        assert len(_of(slow, "textDocument/publishDiagnostics")) - published < 5
        assert len(_of(left, "window/logMessage")) == 40
        assert _of(slow, "window/logMessage") == []
        # From here on it misses nothing.
        await left.request("textDocument/definition", left.at("a.x", 0, 0))
        await wait_until(lambda: len(_of(slow, "window/logMessage")) == 40, 20)
    well_behaved(peer_log)


def _of(client: Client, method: str) -> list[Any]:
    return [one for one in client.notifications if one.method == method]


async def test_the_same_holds_on_standard_output(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", bigAnswer={"textDocument/hover": 100_000}, log=peer_log)
    async with serving(hurried(client_factory, **LOW), root, {"one": one}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        reading(client, False)
        asked = [ask_hover(client, "a.x") for _ in range(12)]
        await peer_log.wait_received("textDocument/hover", 13)
        asked += [ask_hover(client, "b.x") for _ in range(12)]
        reading(client, True)
        for pending in asked:
            assert len((await client.answer(pending))["contents"]) > 100_000
    ombud = hurried(client_factory, **LOW, faces__lsp__outbox__MOST_BYTES=2_000_000)
    async with serving(ombud, root, {"one": one}, strict=False) as client:
        client.open("a.x")
        await hover(client, "a.x")
        reading(client, False)
        for _ in range(60):
            ask_hover(client, "a.x")
        assert await client.wait_exit(20) == 1
        assert "does not read what it is sent" in client.stderr


async def test_P5_a_server_that_does_not_read_is_restarted_and_the_others_go_on(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    frozen = Script("one", perStart=[{"freezeOn": ["textDocument/definition"]}, {"freezeOn": []}], log=peer_log)
    servers = {"one": frozen, "two": entry(Script("two"), extensions=[".y"], markers=["y.toml"])}
    ombud = hurried(client_factory, downstream__link__INPUT_BYTES=500_000, downstream__server__BACKOFF=[0.05])
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        client.open("a.y")
        await hover(client, "a.x")
        await hover(client, "a.y")
        asked = [client.start_request("textDocument/definition", client.at("a.x", 0, 0)), ask_hover(client, "a.x")]
        await peer_log.wait_received("textDocument/definition")
        for number in range(5):
            client.change("a.x", f"newest {number}\n{'x' * 300_000}")
        for pending in asked:
            error = await failure(pending, client)
            assert (error.kind, "one does not read what it is sent" in str(error)) == ("server_failed", True)
        assert await hover(client, "a.y") == "two: line 0: of two"
        assert await hover(client, "a.x") == "one: line 0: newest 4"
        assert len(peer_log.starts()) == 2
        rows = await status(client)
        assert (rows["one"]["state"], rows["one"]["restarts"]) == ("ready", 1)
        assert rows["two"]["restarts"] == 0
    well_behaved(peer_log)


async def test_what_waits_for_a_server_that_starts_is_bounded(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = Script("one", startDelayMs=1000, log=peer_log)
    ombud = hurried(client_factory, downstream__queue__QUEUE_BYTES=500_000)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        client.open("b.x")
        early = ask_hover(client, "a.x")
        for number in range(9):
            client.change("a.x", f"newest {number}\n{'x' * 100_000}")
        error = await failure(early, client)
        assert (error.kind, "one is not ready yet" in str(error)) == ("server_failed", True)
        # Nothing is lost of the documents: it hears of each as it is now.
        assert await hover(client, "a.x") == "one: line 0: newest 8"
        assert await hover(client, "b.x") == "one: line 0: other"
        opened = [one["params"]["textDocument"]["text"][:8] for one in peer_log.received("textDocument/didOpen")]
        assert len(opened) == 2
        assert "on disk\n" not in opened
    assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_what_waits_behind_a_write_is_bounded_too(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    # The first process takes its time to speak about a text; until then a write holds everything back from it.
    one = Script("one", perStart=[{"delayMs": 20_000}, {"delayMs": 0}], log=peer_log)
    clocks = {"downstream__queue__QUEUE_BYTES": 500_000, "downstream__server__BACKOFF": [0.05]}
    async with serving(hurried(client_factory, **clocks), root, {"one": one}) as client:
        client.open("b.x")
        await hover(client, "b.x")
        edits = [{"oldText": "on disk", "newText": "written"}]
        writing = client.start_request("ombud/edit", {"path": "a.x", "edits": edits, "waitMs": 60_000})
        await peer_log.wait_received("textDocument/didOpen", 2)
        behind = ask_hover(client, "b.x")
        for number in range(9):
            client.change("b.x", f"newest {number}\n{'x' * 100_000}")
        error = await failure(behind, client)
        assert (error.kind, "one is not ready yet" in str(error)) == ("server_failed", True)
        assert await hover(client, "b.x") == "one: line 0: newest 8"
        result = await client.answer(writing, 60)
        # The next process was shown the old text and then the new one.
        assert (result["applied"], freshness(result)) == (True, {"one": "fresh"})
        assert (root / "a.x").read_text() == "written\n"
        assert len(peer_log.starts()) == 2
    well_behaved(peer_log)


@asynccontextmanager
async def hanging(factory: ClientFactory, root: Path, log: PeerLog, **clocks: Any) -> AsyncIterator[Client]:
    """A client with ``a.x`` open in a server that answers everything but definitions."""
    one = Script("one", hangOn=["textDocument/definition"], log=log)
    async with serving(hurried(factory, **clocks), root, {"one": one}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        yield client
    well_behaved(log)


async def given_up(client: Client, asked: list[Pending]) -> None:
    """Each request is cancelled, and answered so."""
    for pending in asked:
        client.cancel(pending)
        assert (await failure(pending, client)).code == -32800


async def test_so_many_bytes_of_requests_may_be_open_and_no_more(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with hanging(client_factory, root, peer_log, faces__lsp__heavy__MOST_BYTES=150_000) as client:
        large = {**client.at("a.x", 0, 0), "padding": "x" * 100_000}
        asked = [client.start_request("textDocument/definition", large) for _ in range(2)]
        error = await failure(client.start_request("textDocument/hover", large), client)
        assert (error.code, error.kind) == (-32803, "overloaded")
        # Small ones are none of it.
        assert await hover(client, "a.x") == "one: line 0: on disk"
        await given_up(client, asked)
        params = {"path": "b.x", "content": "y" * 100_000, "diagnostics": "none"}
        for _ in range(4):
            await client.request("ombud/write", params)
            assert (await client.request("textDocument/hover", large))["contents"] == "one: line 0: on disk"


async def test_a_client_may_have_so_many_requests_open_and_no_more(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with hanging(client_factory, root, peer_log, faces__lsp__connection__MOST_OPEN=3) as client:
        asked = [client.start_request("textDocument/definition", client.at("a.x", 0, 0)) for _ in range(3)]
        error = await failure(ask_hover(client, "a.x"), client)
        assert (error.code, error.kind, "(3)" in str(error)) == (-32803, "overloaded", True)
        await given_up(client, asked)
        assert await hover(client, "a.x") == "one: line 0: on disk"
