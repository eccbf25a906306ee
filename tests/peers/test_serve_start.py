"""When servers start, who is asked, and what a client hears of one that cannot: lazy start, priority, failures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    ask_hover,
    edit,
    entry,
    failure,
    freshness,
    hover,
    hovers,
    peer_texts,
    serving,
    states,
    status,
    wait_state,
    well_behaved,
)
from tests.peers.script import PeerLog, Script

FILES = {"x.toml": "", "a.x": "first", "b.y": "second"}


def logs(folder: Path, *names: str) -> list[PeerLog]:
    return [PeerLog(folder / f"{name}.jsonl") for name in names]


# -- nothing runs before it is needed


async def test_nothing_runs_after_initialize_and_a_server_starts_at_its_own_need(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    first, second = logs(tmp_path, "first", "second")
    servers = {"one": Script("one", log=first).entry(), "two": Script("two", log=second).entry([".y"])}
    async with serving(ombud, root, servers) as client:
        found = await status(client)
        assert {name: found[name]["state"] for name in servers} == {"one": "available", "two": "available"}
        client.notify("workspace/didChangeConfiguration", {"settings": {}})
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": client.uri("a.x"), "type": 2}]})
        assert await client.request("workspace/symbol", {"query": "f"}) in (None, [])
        assert client.child_processes() == []
        client.open("b.y")
        await wait_state(client, "two", "ready")
        assert first.starts() == []
        assert len(second.starts()) == 1
        assert states(client, "one") == []


async def test_a_request_for_a_file_that_nobody_opened_starts_its_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        assert await hover(client, "a.x") == "one: line 0: first"
    well_behaved(peer_log)


@pytest.mark.parametrize("need", ["lsp", "diagnostics", "write", "edit"])
async def test_each_operation_on_a_file_starts_its_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, need: str
) -> None:
    root = workspace({**FILES, "a.x": "ERROR(e1): bad\n"})
    params = {
        "lsp": {"action": "hover", "path": "a.x", "line": 1, "symbol": "bad"},
        "diagnostics": {"path": "a.x"},
        "write": {"path": "a.x", "content": "ERROR(e2): bad\n"},
        "edit": {"path": "a.x", "edits": [{"oldText": "e1", "newText": "e2"}]},
    }
    async with serving(ombud, root, {"one": Script("one", startDelayMs=200, log=peer_log)}) as client:
        result = await client.request(f"ombud/{need}", params[need])
        if need == "lsp":
            assert result["items"][0]["text"] == "one: line 0: ERROR(e1): bad"
        else:
            assert freshness(result) == {"one": "fresh"}
        assert len(peer_log.starts()) == 1
        # The file stays open quietly, so that the next question is answered by a warm server.
        assert list(await peer_texts(client, "one")) == ["a.x"]
    well_behaved(peer_log)


async def test_a_server_starts_in_its_root_and_is_told_of_it(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"x.toml": "", "sub/x.toml": "", "sub/deep/c.x": "third"})
    one = Script("one", log=peer_log).entry(initializationOptions={"here": "${root}", "n": 1})
    async with serving(ombud, root, {"one": one}) as client:
        client.open("sub/deep/c.x")
        await hover(client, "sub/deep/c.x")
        (initialize,) = peer_log.received("initialize")
        params = initialize["params"]
        assert params["rootUri"] == (root / "sub").as_uri()
        assert [folder["uri"] for folder in params["workspaceFolders"]] == [(root / "sub").as_uri()]
        assert params["processId"] == client.pid
        assert params["initializationOptions"] == {"here": str(root / "sub"), "n": 1}
        assert params["capabilities"]["general"]["positionEncodings"] == ["utf-16"]
        assert peer_log.entries("start")[0]["cwd"] == str(root / "sub")


async def test_P3_one_process_for_each_root_of_a_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({"p/x.toml": "", "p/a.x": "in p", "q/x.toml": "", "q/b.x": "in q", "q/c.x": "also in q"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        for where, text in (("p/a.x", "in p"), ("q/b.x", "in q"), ("q/c.x", "also in q")):
            client.open(where)
            assert await hover(client, where) == f"one: line 0: {text}"
        assert len(peer_log.starts()) == 2
        assert {start["cwd"] for start in peer_log.entries("start")} == {str(root / "p"), str(root / "q")}
    well_behaved(peer_log)


async def test_workspace_folders_come_and_go(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    root = workspace(FILES)
    other = workspace({"x.toml": "", "o.x": "other\n"}, name="other")
    folder = {"uri": other.as_uri(), "name": "other"}
    change = "workspace/didChangeWorkspaceFolders"
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        where = str(other / "o.x")
        assert await client.request("textDocument/hover", client.at(where, 0, 0)) is None
        client.notify(change, {"event": {"added": [folder], "removed": []}})
        assert await hover(client, where) == "one: line 0: other"
        assert (await edit(client, where, "other", "written"))["applied"]
        client.notify(change, {"event": {"added": [], "removed": [folder]}})
        params = {"path": where, "content": ""}
        assert (await failure(client.start_request("ombud/write", params), client)).kind == "outside_workspace"
        assert await hover(client, "a.x") == "one: line 0: first"
    well_behaved(peer_log)


# -- who is asked


async def test_of_two_servers_the_first_that_can_is_asked(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    servers = {
        "linter": entry(Script("linter", features=["hover", "formatting", "documentSymbol"]), priority=20),
        "types": entry(Script("types", features=["hover", "references"]), priority=10),
        "late": entry(Script("late", features=["definition"], startDelayMs=300), priority=30),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x", "first  ")
        assert await hovers(client, "a.x") == ["types: line 0: first  ", "linter: line 0: first  "]
        references = {**client.at("a.x", 0, 0), "context": {"includeDeclaration": True}}
        assert len(await client.request("textDocument/references", references)) == 1
        document = {"textDocument": {"uri": client.uri("a.x")}}
        edits = await client.request("textDocument/formatting", {**document, "options": {}})
        assert edits[0]["range"]["start"]["character"] == 5
        assert await client.request("textDocument/documentSymbol", document) == []
        assert len(await client.request("textDocument/definition", client.at("a.x", 0, 0))) == 1
        assert await client.request("textDocument/signatureHelp", client.at("a.x", 0, 0)) is None


async def test_features_that_the_user_took_away_are_asked_of_the_next(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    first, second = logs(tmp_path, "first", "second")
    servers = {
        "one": entry(Script("one", log=first), priority=1, exceptFeatures=["hover"]),
        "two": entry(Script("two", log=second), priority=2, onlyFeatures=["hover"]),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "two: line 0: first"
        assert await client.request("textDocument/completion", client.at("a.x", 0, 5))
        assert first.received("textDocument/hover") == []
        assert second.received("textDocument/completion") == []


async def test_a_resolve_goes_to_the_server_that_made_the_item(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    servers = {
        "one": entry(Script("one", features=["hover"]), priority=1),
        "two": entry(Script("two", features=["completion"]), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        found = await client.request("textDocument/completion", client.at("a.x", 0, 5))
        resolved = await client.request("completionItem/resolve", found["items"][0])
        assert resolved["detail"] == "resolved by two"


async def test_ContentModified_when_the_document_moved_before_the_second_server_was_reached(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    """The first one turns out to lack the method only when it has started; the question was about an older text."""
    root = workspace(FILES)
    first, second = logs(tmp_path, "first", "second")
    servers = {
        "one": entry(Script("one", features=["hover"], startDelayMs=500, log=first), priority=1),
        "two": entry(Script("two", log=second), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        definition = "textDocument/definition"
        moved = client.start_request(definition, client.at("a.x", 0, 0))
        client.change("a.x", "changed")
        still = client.start_request(definition, client.at("a.x", 0, 0))
        error = await failure(moved, client)
        assert (error.code, error.kind) == (-32801, "content_modified")
        assert len(await client.answer(still)) == 1
        assert len(second.received(definition)) == 1
    well_behaved(first, second)


async def test_no_server_is_null_at_once(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    root = workspace({"x.toml": "", "a.x": "first", "readme.nobody": "", "sub/s.unmarked": ""})
    outside = workspace({"x.toml": "", "o.x": "outside"}, name="other")
    servers = {
        "one": Script("one", log=peer_log).entry([".x"]),
        "gone": {"command": ["no-such-program-at-all"], "extensions": [".gone"], "rootMarkers": []},
        "marked": Script("marked").entry([".unmarked"], markers=["never.there"]),
        "off": Script("off").entry([".off"], disabled=True),
    }
    async with serving(ombud, root, servers) as client:
        for where in (
            "readme.nobody",
            "not/there.gone",
            "sub/s.unmarked",
            "a.off",
            outside / "o.x",
            "untitled:Untitled-1",
            "git:/a.x?HEAD",
            "file:///%",
        ):
            for method in ("textDocument/hover", "textDocument/completion", "textDocument/documentSymbol"):
                pending = client.start_request(method, client.at(where, 0, 0))
                assert await client.answer(pending, 10) is None, where
        found = await status(client)
        assert found["marked"]["state"] == "missing_marker"
        assert client.child_processes() == []
        assert peer_log.starts() == []


# -- failing to start


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"dieBeforeInitialize": {"stderr": "no licence found\n", "code": 7}},
            "one exited with code 7. It said: no licence found",
        ),
        ({"refuseInitialize": "no licence found"}, "one refused to initialize: no licence found"),
        (
            {"banner": {"text": "no licence found\n", "repeat": 8000}},
            "one broke the protocol: More than 65536 bytes on standard output are no language-server messages.",
        ),
        (
            {"crashOn": [{"method": "initialize", "stderr": "no licence found\n", "signal": "SIGKILL"}]},
            "one was killed by SIGKILL. It said: no licence found",
        ),
    ],
    ids=["exits", "refuses", "prints", "is killed"],
)
async def test_a_server_that_cannot_start_is_an_error_in_its_own_words(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, keys: dict[str, object], words: str
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log, **keys)}) as client:
        client.open("a.x")
        first = await failure(ask_hover(client, "a.x"), client)
        assert words in first.message
        row = await wait_state(client, "one", "failed")
        assert words in row["reason"]
        # Nobody starts it again for the next one: that is told of the failure and when there will be another try.
        second = await failure(ask_hover(client, "a.x"), client)
        assert second.message.startswith(f"one is not running: {words}")
        assert "reload" in second.message
        for error in (first, second):
            assert (error.code, error.kind, error.data["server"]) == (-32803, "server_failed", "one")
        assert (await status(client))["one"]["state"] == "failed"
        assert len(peer_log.starts()) == 1


async def test_what_a_program_prints_instead_of_frames_is_its_last_word(
    ombud: OmbudFactory, workspace: Workspace, bin_folder: Path
) -> None:
    root = workspace(FILES)
    program = bin_folder / "no-server"
    program.write_text("#!/bin/sh\necho 'usage: no-server [--lsp]'\nexit 2\n")
    program.chmod(0o755)
    servers = {"one": {"command": ["no-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with serving(ombud, root, servers) as client:
        error = await failure(ask_hover(client, "a.x"), client)
        assert error.message == "one exited with code 2. It said: usage: no-server [--lsp]"


async def test_a_program_that_is_no_program_is_an_error_that_says_so(
    ombud: OmbudFactory, workspace: Workspace, bin_folder: Path
) -> None:
    root = workspace(FILES)
    broken = bin_folder / "broken-server"
    broken.write_text("#!/no/such/interpreter\n")
    broken.chmod(0o755)
    servers = {"one": {"command": ["broken-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        error = await failure(ask_hover(client, "a.x"), client)
        assert error.kind == "server_failed"
        assert "interpreter" in error.message


async def test_the_second_server_answers_for_a_first_that_cannot_start(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {
        "one": entry(Script("one", dieBeforeInitialize={"stderr": "no", "code": 1}), priority=1),
        "two": entry(Script("two", features=["hover"]), priority=2),
    }
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        for _ in range(2):
            assert await hover(client, "a.x") == "two: line 0: first"
        # Where nobody else can, the failure is the answer and not an empty one.
        error = await failure(client.start_request("textDocument/definition", client.at("a.x", 0, 0)), client)
        assert error.kind == "server_failed"
        result = await edit(client, "a.x", "first", "ERROR(e1): bad", waitMs=3000)
        assert freshness(result) == {"one": "unavailable", "two": "fresh"}


async def test_a_server_that_does_not_answer_initialize_in_time_is_ended_and_named(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    one = entry(Script("one", startDelayMs=60_000, stderr="still thinking\n", log=peer_log), readyTimeoutMs=500)
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        error = await failure(ask_hover(client, "a.x"), client)
        assert error.kind in ("timeout", "server_failed")
        assert "one did not answer initialize within 0.5 s" in error.message
        assert "still thinking" in error.message
        assert error.data["server"] == "one"
        await wait_state(client, "one", "failed")
        await peer_log.wait(lambda log: [one["name"] for one in log.entries("signal")] == ["SIGTERM"])
    assert len(peer_log.starts()) == 1


# -- what servers print


async def test_W5_a_banner_is_skipped_and_kept_for_status(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    one = Script("one", banner="Welcome to one!\nContent: all of it\n", junkBetween="a line of chatter\n")
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        banner = (await status(client))["one"]["banner"]
        assert banner.startswith("Welcome to one!\n")
        assert "chatter" in banner


async def test_odd_headers_and_single_bytes_of_a_server_are_understood(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    servers = {
        "one": Script("one", headerFormat="content-length:{length}\r\n\r\n", chunk=1).entry(),
        "two": Script("two", headerFormat="Content-Type: x/y\nContent-Length: {length}\n\n").entry([".y"]),
    }
    async with serving(ombud, root, servers) as client:
        for where, said in (("a.x", "one: line 0: first"), ("b.y", "two: line 0: second")):
            client.open(where)
            assert await hover(client, where) == said


async def test_a_flood_of_notifications_holds_nothing_up(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    one = Script("one", floodOn=[{"method": "textDocument/hover", "count": 10_000}])
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        told = [one.params["message"] for one in client.notifications if one.method == "window/logMessage"]
        assert told == [f"one: {number}" for number in range(10_000)]


async def test_floods_of_diagnostics_end_with_the_last_word(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    uri = (root / "a.x").as_uri()
    nothing = {"method": "textDocument/publishDiagnostics", "params": {"uri": uri, "diagnostics": []}}
    one = Script("one", floodOn=[{"method": "textDocument/didSave", "count": 2_000, "notification": nothing}])
    async with serving(ombud, root, {"one": one}) as client:
        client.open("a.x", "ERROR(e1): bad")
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
        client.save("a.x", write=False)
        # The flood empties them once; then the server's own publish for the save brings the error back.
        await client.wait_diagnostics("a.x", lambda found: found == [])
        await client.wait_diagnostics("a.x", lambda found: len(found) == 1)
        published = [one for one in client.notifications if one.method == "textDocument/publishDiagnostics"]
        assert len(published) <= 4
