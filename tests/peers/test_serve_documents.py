"""Open documents: one text in the client, one in every server, and an agent that writes below both.

"Open documents" of the wire contract. Several clients of one hub are in ``test_serve_listen.py``.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    edit,
    entry,
    failure,
    hover,
    introduced,
    peer_state,
    peer_texts,
    serving,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script
from tests.waiting import wait_until


def insert(line: int, character: int, text: str) -> dict[str, object]:
    place = {"line": line, "character": character}
    return {"range": {"start": place, "end": place}, "text": text}


@pytest.fixture
def three(tmp_path: Path) -> tuple[dict[str, dict[str, object]], list[PeerLog]]:
    """Servers of each kind of synchronization and of saving, for the same files."""
    logs = [PeerLog(tmp_path / f"sync{kind}.jsonl") for kind in range(3)]
    saves: list[bool | str] = [False, True, "text"]
    scripts = [Script(f"sync{kind}", sync=kind, save=saves[kind], log=logs[kind]) for kind in range(3)]
    return {script.name: entry(script, priority=number) for number, script in enumerate(scripts)}, logs


# -- one client


async def test_servers_of_every_kind_of_synchronization_have_the_same_text(
    ombud: OmbudFactory, workspace: Workspace, three: tuple[dict[str, dict[str, object]], list[PeerLog]]
) -> None:
    servers, logs = three
    root = workspace({"x.toml": "", "a.x": "one\r\ntwo\n"})
    async with serving(ombud, root, servers) as client:
        client.open("a.x", "one\r\n\U0001f600two\n")
        client.change("a.x", [insert(1, 2, "ü"), insert(0, 3, "!"), insert(9, 0, "end\r")])
        client.change("a.x", [{"range": {**insert(0, 0, "")["range"]}, "text": ""}])  # type: ignore[dict-item]
        client.change("a.x", [{"text": "whole\n\U0001f600"}, insert(1, 2, "tail")])
        client.save("a.x")
        text = client.documents[client.uri("a.x")].text
        assert text == "whole\n\U0001f600tail"
        assert await peer_texts(client, "sync2") == {"a.x": text}
        assert await peer_texts(client, "sync1") == {"a.x": text}
        # Without synchronization nothing is sent but the text at opening.
        assert await peer_texts(client, "sync0") == {"a.x": "one\r\n\U0001f600two\n"}
        changes = [
            [len(log.received(method)) for method in ("textDocument/didChange", "textDocument/didSave")] for log in logs
        ]
        assert changes == [[0, 0], [3, 1], [3, 1]]
        (saved,) = logs[2].received("textDocument/didSave")
        assert saved["params"]["text"] == text
        versions = [one["params"]["textDocument"]["version"] for one in logs[2].received("textDocument/didChange")]
        assert versions == sorted(set(versions))
        client.close("a.x")
        for log in logs:
            await log.wait_received("textDocument/didClose")
    well_behaved(*logs)


async def test_documents_are_opened_again_after_a_restart_as_they_are_now(
    ombud: OmbudFactory, workspace: Workspace, three: tuple[dict[str, dict[str, object]], list[PeerLog]]
) -> None:
    servers, logs = {name: one for name, one in three[0].items() if name != "sync0"}, three[1][1:]
    root = workspace({"x.toml": "", "a.x": "a", "b.x": "b", "c.x": "c"})
    async with serving(ombud, root, servers) as client:
        for name in ("a.x", "b.x", "c.x"):
            client.open(name)
        client.change("a.x", "a, changed")
        for name in servers:
            await peer_texts(client, name)
        for log in logs:
            os.kill(log.starts()[0], signal.SIGKILL)
        for name in servers:
            await wait_state(client, name, "crashed")
        client.change("a.x", "a, changed twice")
        client.close("b.x")
        client.open("b.x", "b, opened again")
        client.close("c.x")
        wanted = {"a.x": "a, changed twice", "b.x": "b, opened again"}
        for name, log in zip(servers, logs, strict=True):
            await log.wait(lambda log: len(log.starts()) == 2)
            await hover(client, "a.x")
            assert await peer_texts(client, name) == wanted
    well_behaved(*logs)


async def test_a_second_didOpen_replaces_the_text(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    root = workspace({"x.toml": "", "a.x": "a"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x", "once")
        client.open("a.x", "twice", version=5)
        assert await hover(client, "a.x") == "one: line 0: twice"
        client.change("a.x", [insert(0, 5, " and more")])
        assert await hover(client, "a.x") == "one: line 0: twice and more"
    well_behaved(peer_log)


async def test_a_change_of_what_is_not_open_is_ignored(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "a", "b.x": "b"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("b.x")
        item = {"uri": client.uri("a.x"), "version": 2}
        client.notify("textDocument/didChange", {"textDocument": item, "contentChanges": [{"text": "x"}]})
        client.notify("textDocument/didSave", {"textDocument": item})
        client.notify("textDocument/didClose", {"textDocument": item})
        assert await peer_texts(client, "one") == {"b.x": "b"}
    well_behaved(peer_log)


async def test_what_a_closed_document_was_reported_for_is_taken_back(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """A server that is pulled never says that a closed file has no diagnostics; its client must still hear of it."""
    root = workspace({"x.toml": "", "a.x": "ERROR(e1): bad"})
    async with serving(ombud, root, {"one": Script("one", diagnostics="pull", log=peer_log)}) as client:
        client.open("a.x")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
        client.close("a.x")
        await client.wait_diagnostics("a.x", lambda found: found == [])
        client.open("a.x")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
    well_behaved(peer_log)


async def test_the_version_of_published_diagnostics_is_the_clients_own(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({"x.toml": "", "a.x": "first\n"})
    async with serving(ombud, root, {"one": Script("one")}) as client:
        client.open("a.x", version=40)
        published = await client.wait_notification("textDocument/publishDiagnostics")
        assert published["version"] == 40
        await edit(client, "a.x", "first", "ERROR(e1): bad")
        # The client has never had this text: no version of its own may stand beside what is said of it.
        published = await client.wait_notification("textDocument/publishDiagnostics", lambda one: one["diagnostics"])
        assert "version" not in published
        assert client.change("a.x", "ERROR(e2): worse\n") == 41
        published = await client.wait_notification("textDocument/publishDiagnostics", lambda one: one.get("version"))
        assert published["version"] == 41
        assert [one["code"] for one in published["diagnostics"]] == ["e2"]


async def test_D7_watched_changes_reach_every_running_server(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace({"x.toml": "", "a.x": "a", "b.y": "b"})
    logs = [PeerLog(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    servers = {
        "one": Script("one", watch=["**/*.x"], log=logs[0]).entry(),
        "two": Script("two", watch=["**/*.y"], log=logs[1]).entry([".y"]),
    }
    async with serving(ombud, root, servers) as client:
        for where in ("a.x", "b.y"):
            client.open(where)
            await hover(client, where)
        events = [{"uri": client.uri("new.x"), "type": 1}, {"uri": client.uri("old.y"), "type": 3}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": events})
        for log, event in zip(logs, events, strict=True):
            (told,) = await log.wait_received("workspace/didChangeWatchedFiles")
            assert told["params"] == {"changes": [event]}
    well_behaved(*logs)


async def test_a_uri_may_be_spelled_in_any_way_that_means_the_same_file(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """Editors encode differently (``(`` or ``%28``), and an agent may have had the file open before one of them."""
    root = workspace({"x.toml": "", "(app)/a+b@c.x": "first\n"})
    base = root.as_uri()
    spellings = [f"{base}/(app)/a+b@c.x", f"{base}/%28app%29/a%2Bb%40c.x", f"{base}/%28app%29/a%2bb%40c%2ex"]
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        await edit(client, "(app)/a+b@c.x", "first", "second")
        for number, uri in enumerate(spellings):
            client.open(uri, f"unsaved {number}\n", version=1)
            assert await hover(client, uri) == f"one: line 0: unsaved {number}"
            client.change(uri, [insert(0, 0, "still ")])
            for asked in spellings:
                assert await hover(client, asked) == f"one: line 0: still unsaved {number}"
            found = await client.request("ombud/lsp", {"action": "symbols", "path": "(app)/a+b@c.x"})
            assert found["servers"] == ["one"]
            client.close(uri)
    well_behaved(peer_log)


async def test_a_librarys_file_is_opened_under_any_word_for_its_language(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root, library = workspace({"x.toml": "", "a.x": "mine"}), workspace({"vector": "theirs"}, name="library")
    servers = {"one": entry(Script("one", log=peer_log), languages=["cpp"])}
    async with serving(ombud, root, servers) as client:
        client.open("a.x", language="cpp")
        assert await hover(client, "a.x") == "one: line 0: mine"
        # As Emacs calls it; the name of the file says nothing.
        client.open(where := (library / "vector").as_uri(), "theirs", language="c++")
        assert await hover(client, where) == "one: line 0: theirs"
    well_behaved(peer_log)


# -- an agent's write below a client


async def test_a_write_to_a_file_with_unsaved_changes_is_a_conflict_that_names_the_client(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "on disk\n"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        client.change("a.x", "unsaved\n")
        for method, params in (
            ("ombud/edit", {"path": "a.x", "edits": [{"oldText": "on disk", "newText": "mine"}]}),
            ("ombud/write", {"path": "a.x", "content": "mine\n"}),
        ):
            error = await failure(client.start_request(method, params), client)
            assert (error.code, error.kind) == (-32803, "conflict")
            assert "a.x has unsaved changes in tests/ombud" in error.message
            assert error.data["clients"] == ["tests/ombud"]
        assert (root / "a.x").read_text() == "on disk\n"
        assert await hover(client, "a.x") == "one: line 0: unsaved"
        client.save("a.x")
        assert (await edit(client, "a.x", "unsaved", "mine"))["applied"]
        assert (root / "a.x").read_text() == "mine\n"
    well_behaved(peer_log)


async def test_a_write_to_a_saved_open_file_is_seen_by_its_servers_at_once(
    ombud: OmbudFactory, workspace: Workspace, three: tuple[dict[str, dict[str, object]], list[PeerLog]]
) -> None:
    servers, logs = three
    root = workspace({"x.toml": "", "a.x": "first\nsecond\n"})
    async with serving(ombud, root, {name: servers[name] for name in ("sync1", "sync2")}) as client:
        client.open("a.x")
        result = await edit(client, "a.x", "second", "ERROR(e1): second")
        assert introduced(result) == ["e1", "e1"]
        assert (root / "a.x").read_text() == "first\nERROR(e1): second\n"
        assert await hover(client, "a.x", 1) == "sync1: line 1: ERROR(e1): second"
        for name in ("sync1", "sync2"):
            assert await peer_texts(client, name) == {"a.x": "first\nERROR(e1): second\n"}
        # The client's own change is meant for the text that the client has, which knows nothing of the write.
        client.change("a.x", [insert(1, 6, " half")])
        assert client.documents[client.uri("a.x")].text == "first\nsecond half\n"
        for name in ("sync1", "sync2"):
            assert await peer_texts(client, name) == {"a.x": "first\nsecond half\n"}
        # From then on it is unsaved there.
        error = await failure(
            client.start_request("ombud/write", {"path": "a.x", "content": "again"}),
            client,
        )
        assert error.kind == "conflict"
        client.change("a.x", [insert(0, 5, "!")])
        assert await hover(client, "a.x") == "sync1: line 0: first!"
    well_behaved(*logs)


async def test_an_editor_that_reads_the_written_file_again_is_in_step(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """What editors do when a clean buffer's file changes on disk: they load it and send the difference."""
    root = workspace({"x.toml": "", "a.x": "first\n"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        await edit(client, "a.x", "first", "second")
        client.change("a.x", "second\n")
        assert await hover(client, "a.x") == "one: line 0: second"
        assert (await edit(client, "a.x", "second", "third"))["applied"]
        assert (await edit(client, "a.x", "third", "fourth"))["applied"]
        assert await hover(client, "a.x") == "one: line 0: fourth"
        client.change("a.x", "fourth\n")
        client.change("a.x", [insert(0, 0, "the ")])
        assert await hover(client, "a.x") == "one: line 0: the fourth"
    well_behaved(peer_log)


async def test_a_write_reaches_servers_that_watch_and_editors_that_have_it_not_open(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first\n"})
    one = Script("one", watch=["**/*.x"], log=peer_log)
    async with serving(ombud, root, {"one": one}) as client:
        await hover(client, "a.x")
        await client.request("ombud/write", {"path": "sub/new.x", "content": "ERROR(e1): new\n"})
        await edit(client, "a.x", "first", "second")
        told = await peer_log.wait_received("workspace/didChangeWatchedFiles", 2)
        changes = [change for one in told for change in one["params"]["changes"]]
        assert changes == [
            {"uri": (root / "sub/new.x").as_uri(), "type": 1},
            {"uri": (root / "a.x").as_uri(), "type": 2},
        ]
        state = await peer_state(client, "one")
        assert {Path(uri).name for uri in state["documents"]} == {"a.x", "new.x"}
    well_behaved(peer_log)


async def test_a_file_that_is_held_open_for_an_agent_is_taken_over_by_an_editor(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "a.x": "first\n"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        await edit(client, "a.x", "first", "second")
        client.open("a.x", "second, unsaved\n")
        assert await hover(client, "a.x") == "one: line 0: second, unsaved"
        client.change("a.x", [insert(0, 0, "the ")])
        assert await hover(client, "a.x") == "one: line 0: the second, unsaved"
        client.close("a.x")
        await wait_until(lambda: peer_log.received("textDocument/didClose"), 10)
        # Closed without saving: the next question is about what stands on disk.
        found = await client.request("ombud/lsp", {"action": "hover", "path": "a.x", "line": 1, "symbol": "second"})
        assert found["items"][0]["text"] == "one: line 0: second"
        assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


async def test_diagnostics_of_a_former_text_go_under_its_number(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"x.toml": "", "a.x": "ERROR(one): x\n"})
    one = Script("one", delayMs=100, stale=True, diagnostics="push", publishOn=["open"])
    async with serving(ombud, root, {"one": entry(one)}) as client:
        client.open("a.x", version=7)
        client.change("a.x", "moved\nERROR(one): x\n")
        published = await client.wait_notification("textDocument/publishDiagnostics", lambda one: one["diagnostics"])
        assert published["version"] == 7
