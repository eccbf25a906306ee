"""What an attacker tried."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client import LspError
from tests.conftest import ClientFactory, OmbudFactory, Workspace
from tests.peers.road import (
    connected,
    edit,
    entry,
    failure,
    freshness,
    hover,
    introduced,
    listening,
    meddled,
    options,
    peer_texts,
    serving,
    status,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import VSCODE
from tests.waiting import wait_until

FILES = {"x.toml": "", "a.x": "first\n", "b.x": "second\n"}
MANY = {"a.x": "first", "b.x": "second"}
QUESTION = "window/showMessageRequest"


async def test_T4_stored_trust_of_the_first_folder_says_nothing_of_the_second(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, environment: dict[str, str]
) -> None:
    good = workspace(FILES, name="good")
    evil = workspace(FILES, name="evil")
    import subprocess
    import sys

    subprocess.run(
        [sys.executable, "-P", "-m", "ombud", "trust", str(good)],
        env=environment,
        check=True,
        capture_output=True,
        cwd=good,
    )
    servers = {"two": Script("two", log=peer_log).entry(runsWorkspaceCode=True)}
    async with ombud(cwd=good) as client:
        client.handlers[QUESTION] = lambda params: None
        await client.initialize([good, evil], options(servers, trusted=None), VSCODE)
        client.open(evil / "a.x")
        assert (
            await client.answer(client.start_request("textDocument/hover", client.at(evil / "a.x", 0, 0)), 10) is None
        )
    assert peer_log.starts() == []


async def test_T5_trust_given_to_one_folder_does_not_move_to_another(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    good = workspace(FILES, name="good")
    evil = workspace(FILES, name="evil")
    Script("local", log=peer_log).executable(evil / "node_modules/.bin/local-server")
    servers = {
        "two": Script("two", log=peer_log).entry(runsWorkspaceCode=True),
        "local": {"command": ["local-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]},
    }
    async with ombud(cwd=good) as client:
        client.handlers[QUESTION] = lambda params: {"title": "Trust this folder"}
        await client.initialize([good], options(servers, trusted=None), VSCODE)
        client.open("a.x")
        await peer_log.wait(lambda log: log.starts(), 10)
        client.handlers[QUESTION] = lambda params: None
        before = len(peer_log.starts())
        client.notify(
            "workspace/didChangeWorkspaceFolders",
            {
                "event": {
                    "added": [{"uri": evil.as_uri(), "name": "evil"}],
                    "removed": [{"uri": good.as_uri(), "name": "good"}],
                }
            },
        )
        client.open(evil / "a.x")
        client.start_request("textDocument/hover", client.at(evil / "a.x", 0, 0))
        await asyncio.sleep(1.5)
        assert len(peer_log.starts()) == before


async def test_W9_a_session_that_cannot_be_made_answers_initialize_once(ombud: OmbudFactory) -> None:
    async with ombud() as client:
        with contextlib.suppress(LspError):
            await client.initialize(None, {}, rootUri="file:///" + "a" * 5000)
        await asyncio.sleep(0.3)


async def test_W10_a_cancelled_write_is_not_half_shown(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    """The client cancels while the commit is under way."""
    root = workspace(FILES)
    bad = []
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}, strict=False) as client:
        client.open("b.x")
        await hover(client, "b.x")
        text = "first"
        for n in range(40):
            new = f"text{n}"
            pending = client.start_request("ombud/edit", {"path": "a.x", "edits": [{"oldText": text, "newText": new}]})
            await asyncio.sleep(0.001 * n)
            client.notify("$/cancelRequest", {"id": pending.id})
            try:
                await client.answer(pending, 10)
                said = "applied"
            except LspError as error:
                said = str(error.code)
            await asyncio.sleep(0.25)
            disk = (root / "a.x").read_text().strip()
            shown = (await peer_texts(client, "one")).get("a.x", disk).strip()
            if disk != shown:
                bad.append((n, said, disk, shown))
            text = disk
    assert bad == []


async def test_D3_what_the_user_types_after_a_write_is_not_what_the_write_introduced(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log, delayMs=600)}) as client:
        client.open("a.x")
        await client.wait_diagnostics("a.x")
        pending = client.start_request(
            "ombud/edit", {"path": "a.x", "edits": [{"oldText": "first", "newText": "clean"}], "waitMs": 8000}
        )
        await wait_until(lambda: (root / "a.x").read_text() == "clean\n", 10)
        client.change("a.x", "clean\nERROR(typed): by the user\n")
        result = await client.answer(pending, 20)
        assert introduced(result) == [], result


async def test_a_buffer_that_changes_while_a_write_waits_for_its_baseline_is_a_conflict(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(
        ombud, root, {"one": Script("one", log=peer_log, diagnostics="pull", slow={"textDocument/diagnostic": 1500})}
    ) as client:
        client.open("a.x")
        await hover(client, "a.x")
        pending = client.start_request(
            "ombud/edit", {"path": "a.x", "edits": [{"oldText": "first", "newText": "agent"}], "waitMs": 8000}
        )
        await asyncio.sleep(1.0)
        assert (root / "a.x").read_text() == "first\n"
        client.change("a.x", "first\nthe user's unsaved work\n")
        try:
            result = await client.answer(pending, 20)
        except LspError as error:
            assert error.kind == "conflict"
            return
        texts = await peer_texts(client, "one")
        raise AssertionError((result["applied"], (root / "a.x").read_text(), texts))


async def test_unsaved_changes_under_another_name_of_the_file_are_a_conflict(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    (root / "link.x").symlink_to("a.x")
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("link.x")
        await hover(client, "link.x")
        client.change("link.x", "unsaved\n")
        error = await failure(
            client.start_request("ombud/edit", {"path": "a.x", "edits": [{"oldText": "first", "newText": "agent"}]}),
            client,
        )
        assert error.kind == "conflict"


async def test_unsaved_changes_of_a_client_with_another_spelling_of_the_root(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, tmp_path: Path
) -> None:
    root = workspace(FILES)
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    servers = {"one": Script("one", log=peer_log)}
    async with (
        listening(ombud, root) as (_, port),
        connected(port, alias, servers, name="left") as left,
        connected(port, root, servers, name="right") as right,
    ):
        left.open("a.x")
        await hover(left, "a.x")
        left.change("a.x", "unsaved\n")
        await hover(left, "a.x")
        edits = [{"oldText": "first", "newText": "agent"}]
        error = await failure(right.start_request("ombud/edit", {"path": "a.x", "edits": edits}), right)
        assert error.kind == "conflict"


async def test_one_clients_deleted_folder_keeps_no_diagnostics_from_another(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    gone = workspace({}, name="gone")
    servers = {"one": Script("one", log=peer_log)}
    async with listening(ombud, root) as (_, port), connected(port, gone, {}, name="left"):
        await asyncio.sleep(0.2)
        gone.rmdir()
        async with connected(port, root, servers, name="right") as right:
            right.open("a.x", "ERROR(e1): bad\n")
            assert await hover(right, "a.x")
            assert len(await right.wait_diagnostics("a.x", bool, timeout=8)) == 1


async def test_P1_one_client_cannot_lower_the_limits_of_another(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    other = workspace({".ombud.toml": "idleMinutes = 0.001\nmaxServers = 1\n", "a.x": ""}, name="hostile")
    servers = {"one": Script("one", log=peer_log)}
    async with listening(ombud, root) as (_, port), connected(port, root, servers, name="left", idleMinutes=10) as left:
        left.open("a.x")
        await hover(left, "a.x")
        async with connected(port, other, {}, name="right", trusted=None) as right:
            await right.request("ombud/status")
            await asyncio.sleep(7)
            assert (await status(left))["one"]["state"] == "ready"


async def test_P1_a_watch_ends_with_its_connection(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with listening(ombud, root) as (hub, port):
        import psutil

        process = psutil.Process(hub.link.pid if hasattr(hub.link, "pid") else hub.link._process.pid)
        for _ in range(2):
            async with connected(port, root, {}, name="x"):
                pass
        await asyncio.sleep(0.3)
        before = process.num_fds()
        for n in range(20):
            async with connected(port, root, {}, name="x") as c:
                await c.request("ombud/status") if n % 5 == 0 else None
        await asyncio.sleep(0.5)
        assert process.num_fds() <= before + 3


async def test_P5_a_pipe_in_a_files_place_hangs_nothing(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(
        ombud, root, {"one": Script("one", log=peer_log, diagnostics="push", silentWhenClean=True)}
    ) as client:
        client.open("a.x")
        await hover(client, "a.x")
        await edit(client, "a.x", "first", "again", waitMs=300)
        (root / "a.x").unlink()
        os.mkfifo(root / "a.x")
        client.close("a.x")
        try:
            await client.request("ombud/status", {}, 5)
        finally:
            # let it go
            fd = os.open(root / "a.x", os.O_RDWR | os.O_NONBLOCK)
            await asyncio.sleep(0.3)
            os.close(fd)


async def test_F4_a_link_in_a_files_place_is_shown_to_no_server(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, tmp_path: Path
) -> None:
    root = workspace({**FILES, ".env": "SECRET=inside\n"})
    (tmp_path / "secret").write_text("outside secret\n")
    async with serving(
        ombud, root, {"one": Script("one", log=peer_log, diagnostics="push", silentWhenClean=True)}
    ) as client:
        client.open("a.x")
        client.open("b.x")
        await hover(client, "a.x")
        await edit(client, "a.x", "first", "again", waitMs=300)
        (root / "a.x").unlink()
        (root / "a.x").symlink_to(tmp_path / "secret")
        client.close("a.x")
        texts = await peer_texts(client, "one")
        assert "secret" not in texts.get("a.x", "")


async def test_D4_an_open_secret_does_not_hide_the_diagnostics_of_all_others(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({**FILES, ".env": "SECRET=1\n"})
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x", "ERROR(e): bad\n")
        client.open(".env", language="dotenv")
        found = await client.request("ombud/diagnostics", {"path": "*"})
        assert len(found["diagnostics"]) == 1


async def test_T8_a_relative_entry_of_PATH_reaches_no_server(
    ombud: OmbudFactory,
    workspace: Workspace,
    peer_log: PeerLog,
    environment: dict[str, str],
    bin_folder: Path,
    tmp_path: Path,
) -> None:
    root = workspace(FILES)
    marker = tmp_path / "ran"
    tool = root / "node_modules/.bin/runtime-x"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\ntouch {marker}\n")
    tool.chmod(0o755)
    mine = bin_folder / "my-server"
    mine.write_text("#!/usr/bin/env runtime-x\n")
    mine.chmod(0o755)
    for path in ("node_modules/.bin:" + environment["PATH"], str(tool.parent) + ":" + environment["PATH"]):
        servers = {"mine": {"command": ["my-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
        async with ombud(cwd=root, env={"PATH": path}) as client:
            client.handlers[QUESTION] = lambda params: None
            await client.initialize([root], options(servers, trusted=None), VSCODE)
            client.open("a.x")
            await asyncio.sleep(1.5)
        assert not marker.exists(), path


async def test_T8_an_empty_entry_of_PYTHONPATH_reaches_no_server(
    ombud: OmbudFactory, workspace: Workspace, bin_folder: Path, tmp_path: Path
) -> None:
    import sys

    marker = tmp_path / "ran"
    root = workspace({**FILES, "json.py": f"open({str(marker)!r}, 'w')\n"})
    mine = bin_folder / "my-server"
    mine.write_text(f"#!{sys.executable}\nimport json\n")
    mine.chmod(0o755)
    servers = {"mine": {"command": ["my-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with ombud(cwd=tmp_path, env={"PYTHONPATH": os.environ.get("PYTHONPATH", "") + ":/nonexistent"}) as client:
        client.handlers[QUESTION] = lambda params: None
        await client.initialize([root], options(servers, trusted=None), VSCODE)
        client.open("a.x")
        await asyncio.sleep(1.5)
    assert not marker.exists()


@pytest.mark.parametrize("diagnostics", ["pull", "push"])
async def test_D3_a_server_that_crashes_within_the_baseline_never_makes_a_write_clean(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, diagnostics: str
) -> None:
    root = workspace(FILES)
    crash = {"method": "textDocument/diagnostic" if diagnostics == "pull" else "textDocument/didOpen", "nth": 1}
    script = Script("one", log=peer_log, diagnostics=diagnostics, perStart=[{"crashOn": [crash]}, {}])
    async with serving(ombud, root, {"one": script}) as client:
        for path, more in (("a.x", {"waitMs": 3600}),):
            result = await edit(client, path, "first", "ERROR(e): bad", **more)
            assert introduced(result) == ["e"] or freshness(result) != {"one": "fresh"}, result


async def test_W11_a_late_word_on_a_cancelled_request_answers_no_other(
    workspace: Workspace, environment: dict[str, str]
) -> None:
    import json
    import subprocess
    import sys

    root = workspace(FILES)

    def frame(**message: Any) -> bytes:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return b"Content-Length: %d\r\n\r\n" % len(body) + body

    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "ombud", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdin is not None and process.stdout is not None

    def answer() -> Any:
        length = int(process.stdout.readline().split(b":")[1])
        process.stdout.readline()
        return json.loads(process.stdout.read(length))

    def say(*frames: bytes) -> None:
        process.stdin.write(b"".join(frames))
        process.stdin.flush()

    say(
        frame(id=1, method="initialize", params={"rootUri": root.as_uri(), "capabilities": {}}),
        frame(id=2, method="ombud/status"),
    )
    answer(), answer()
    write = frame(id=6, method="ombud/write", params={"path": "z.txt", "content": "1", "waitMs": 0})
    say(write, frame(method="$/cancelRequest", params={"id": 6}), frame(id=6, method="ombud/status"))
    assert answer()["error"]["code"] == -32800
    assert "result" in answer()
    say(frame(id=9, method="shutdown"), frame(method="exit"))
    process.communicate(timeout=20)


async def test_a_search_for_what_was_meant_keeps_nobody_waiting(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"a.txt": "a ;" * 200 + "\n"} | {"b.txt": ("a ;" * 200 + "\n") * 8000})
    async with serving(ombud, root, {}) as client:
        await client.request("ombud/status")
        slow = client.start_request(
            "ombud/edit", {"path": "b.txt", "edits": [{"oldText": "a " * 399 + "b", "newText": "x"}]}
        )
        await client.request("ombud/status", {}, 2)
        assert (await failure(slow, client, 8)).kind == "conflict"


async def test_a_long_list_of_edits_keeps_nobody_waiting(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"m.txt": "".join(f"line {i:06d} {'x' * 40}\n" for i in range(20000))})
    async with serving(ombud, root, {}) as client:
        await client.request("ombud/status")
        edits = [{"oldText": f"line {i:06d} ", "newText": f"LINE {i:06d} "} for i in range(1500)]
        slow = client.start_request("ombud/edit", {"path": "m.txt", "edits": edits})
        await client.request("ombud/status", {}, 2)
        assert (await client.answer(slow, 60))["applied"] is True


async def test_a_long_comparison_keeps_nobody_waiting(ombud: OmbudFactory, workspace: Workspace) -> None:
    """Counting the lines that were added and removed takes seconds here."""
    root = workspace({"m.txt": "".join(f"line {number}\n" for number in range(160_000))})
    async with serving(ombud, root, {}) as client:
        await client.request("ombud/status")
        content = "".join(f"{'LINE' if number % 2 else 'line'} {number}\n" for number in range(160_000))
        slow = client.start_request("ombud/write", {"path": "m.txt", "content": content})
        while not slow.done():
            await client.request("ombud/status", {}, 2)
        (file,) = slow.result()["files"]
        assert (file["added"], file["removed"]) == (80_000, 80_000)


@pytest.mark.skipif(sys.platform == "win32", reason="fcntl")
async def test_a_long_commit_keeps_nobody_from_the_servers(
    ombud: OmbudFactory, workspace: Workspace, environment: dict[str, str]
) -> None:
    """Here it waits for another Ombud that writes; thousands of files take as long."""
    import fcntl

    root = workspace({**FILES, "c.x": "third\n"})
    patch = "".join(f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-{old}\n+new\n" for name, old in MANY.items())
    async with serving(ombud, root, {"one": Script("one", diagnostics="pull")}) as client:
        client.open("c.x")
        await client.request("ombud/write", {"path": "d.x", "content": "makes the folders\n"})
        (turns,) = Path(environment["HOME"]).rglob("journals/.turns")
        with turns.open("r+b") as others:
            fcntl.lockf(others, fcntl.LOCK_EX)
            writing = client.start_request("ombud/applyPatch", {"patch": patch})
            await wait_until(lambda: (root / "a.x").read_text() == "first\n", 20, "nothing is written yet")
            for _ in range(3):
                assert await hover(client, "c.x", timeout=20) == "one: line 0: third"
                await client.request("ombud/diagnostics", {"path": "c.x"})
            assert not writing.done()
        assert (await client.answer(writing))["applied"] is True


async def test_D3_what_somebody_else_wrote_under_a_buffer_not_reloaded_is_not_introduced(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {"one": Script("one", log=peer_log)}) as client:
        client.open("a.x")
        await hover(client, "a.x")
        await edit(client, "a.x", "first", "second")
        (root / "a.x").write_text("ERROR(old): was there\nthird\n")
        assert introduced(await edit(client, "a.x", "third", "fourth")) == []


async def test_B2_who_is_not_admitted_yet_fills_no_memory(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with listening(ombud, root) as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"Content-Length: 60000000\r\n\r\n")
        said = b""
        try:
            async with asyncio.timeout(5):
                for _ in range(59):
                    writer.write(b"x" * 1_000_000)
                    await writer.drain()
                said = await reader.read()
        except ConnectionError:
            said = b"reset"
        assert said
        writer.close()


async def test_F5_the_text_of_an_open_secret_stands_in_no_answer(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace({**FILES, ".env": "def hunter2 = 1\n"})
    servers = {"one": {**entry(Script("one", log=peer_log, features="all")), "filenames": [".env"]}}
    async with serving(ombud, root, servers) as client:
        client.open(".env", language="dotenv")
        client.open("a.x")
        await hover(client, "a.x")
        found = await client.request("ombud/lsp", {"action": "symbols", "query": "h"})
        print(found)
        assert [one["text"] for one in found["items"] if ".env" in one["path"] and one.get("text")] == [], found


@pytest.mark.parametrize("at", ["trial.Trial._land", "course.to_the_end", "trial.Trial._answered"])
async def test_a_preview_that_is_cancelled_at_any_moment_leaves_no_gate_closed(
    client_factory: ClientFactory, workspace: Workspace, peer_log: PeerLog, at: str
) -> None:
    """The new texts and the gate behind them may stand in the queue already; whatever comes then must get past it."""
    root = workspace(FILES)
    made = meddled(client_factory, at=f"operations.writing.{at}", do=[["cancel"]])
    async with serving(made, root, {"one": Script("one", diagnostics="pull", log=peer_log)}) as client:
        client.open("b.x")
        preview = {"path": "a.x", "edits": [{"oldText": "first", "newText": "ERROR(never): there"}], "preview": True}
        assert (await failure(client.start_request("ombud/edit", preview), client)).code == -32800
        assert await hover(client, "b.x") == "one: line 0: second"
        # Nor is anything kept from clients from now on.
        assert introduced(await edit(client, "a.x", "first", "ERROR(now): there")) == ["now"]
        client.change("b.x", "ERROR(typed): too\n")
        uri = client.uri("b.x")
        await client.wait_notification(
            "textDocument/publishDiagnostics", lambda said: said["uri"] == uri and said["diagnostics"] != []
        )
