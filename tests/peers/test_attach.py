"""``ombud attach``: a client of the project's own hub, which comes with the first of them and goes after the last."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from ombud import __version__
from ombud.faces.lsp import address
from ombud.faces.lsp.attach import Pump

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.commands import Command
from tests.peers.hub import Attach, attach, hubs, listening_on, run_folder
from tests.peers.road import edit, hover, introduced, options, well_behaved
from tests.peers.script import PeerLog, Script
from tests.profiles import VSCODE
from tests.waiting import wait_until

__all__ = ["attach", "run_folder"]

FILES = {"x.toml": "", "a.x": "on disk\n", "b.x": "other\n", ".git/HEAD": "ref: refs/heads/main\n"}


async def gone(folder: Path) -> None:
    """The hub has ended and taken its socket with it."""
    await wait_until(lambda: not hubs(folder), 20, "the hub ends")
    assert list(folder.glob("ombud/*.sock")) == []


async def test_two_at_once_start_one_hub_and_share_its_servers(
    attach: Attach, workspace: Workspace, run_folder: Path, peer_log: PeerLog
) -> None:
    root = workspace({**FILES, "sub/deep/c.x": ""})
    said = options({"one": Script("one", log=peer_log)})
    # One of them stands in a folder of the project, where no hub of its own belongs.
    async with attach(root=root, name="left") as left, attach(root=root / "sub" / "deep", name="right") as right:
        await asyncio.gather(left.initialize(root, said), right.initialize(root, said))
        (hub,) = hubs(run_folder)
        assert os.getsid(hub.pid) == hub.pid
        assert stat.S_IMODE((run_folder / "ombud").stat().st_mode) == 0o700
        left.open("a.x", "ERROR(e1): typed\n")
        # Each has a way of its own to the hub: only an answer tells that the text has arrived.
        assert await hover(left, "a.x") == await hover(right, "a.x") == "one: line 0: ERROR(e1): typed"
        right.open("a.x", "ERROR(e1): typed\n")
        await right.wait_diagnostics("a.x", lambda found: len(found) == 1)
        assert len(peer_log.starts()) == 1
        assert (left.stderr, right.stderr) == ("", "")
    assert (left.returncode, right.returncode) == (0, 0)
    await gone(run_folder)
    well_behaved(peer_log)


async def test_the_one_that_started_it_may_be_killed_and_the_other_goes_on(
    attach: Attach, workspace: Workspace, run_folder: Path, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    said = options({"one": Script("one", log=peer_log)})
    async with attach(root=root, name="first") as first:
        await first.initialize(root, said)
        first.open("a.x", "unsaved\n")
        assert await hover(first, "a.x") == "one: line 0: unsaved"
        async with attach(root=root, name="second") as second:
            await second.initialize(root, said)
            first.kill()
            await peer_log.wait_received("textDocument/didClose")
            assert await hover(second, "a.x") == "one: line 0: on disk"
            assert (await edit(second, "a.x", "on disk", "written"))["applied"]
    await gone(run_folder)
    assert len(peer_log.starts()) == 1
    well_behaved(peer_log)


def says_goodbye(client: Client) -> None:
    client.start_request("shutdown")
    client.exit()


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (says_goodbye, 0),
        (lambda client: client.exit(), 1),
        (lambda client: client.close_input(), 1),
        (lambda client: client.kill(signal.SIGTERM), 1),
    ],
    ids=["shutdown and exit", "exit alone", "end of input", "a signal"],
)
@pytest.mark.parametrize("command", ["serve", "attach"])
async def test_it_ends_with_the_exit_code_of_serve(
    ombud: OmbudFactory,
    attach: Attach,
    workspace: Workspace,
    run_folder: Path,
    command: str,
    ending: Callable[[Client], None],
    code: int,
) -> None:
    root = workspace(FILES)
    async with attach(root=root) if command == "attach" else ombud(cwd=root) as client:
        await client.initialize(root)
        # In a text it is no goodbye.
        client.open("a.x", '{"method":"exit"} {"method":"shutdown"}')
        await client.request("ombud/status", {})
        ending(client)
        assert await client.wait_exit(20) == code
    await gone(run_folder)


async def test_a_hub_that_crashes_is_told_and_the_next_client_starts_another(
    attach: Attach, workspace: Workspace, run_folder: Path
) -> None:
    root = workspace(FILES)
    async with attach(root=root, strict=False) as client:
        await client.initialize(root)
        (hub,) = hubs(run_folder)
        hub.kill()
        assert await client.wait_exit(20) == 1
        assert re.fullmatch(r"ombud: The hub at unix:\S+ has ended.*\n", client.stderr)
    assert len(list(run_folder.glob("ombud/*.sock"))) == 1
    async with attach(root=root) as client:
        await client.initialize(root)
    await gone(run_folder)


async def test_P8_the_end_of_the_process_that_the_client_names_ends_its_session(
    attach: Attach, workspace: Workspace, run_folder: Path, environment: dict[str, str]
) -> None:
    root = workspace(FILES)
    # It belongs to neither the hub's tree nor attach's.
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment)
    try:
        async with attach(root=root, strict=False) as client:
            await client.initialize(root, process_id=editor.pid)
            await client.request("ombud/status", {})
            editor.kill()
            editor.wait(20)
            assert await client.wait_exit(20) == 1
    finally:
        editor.kill()
        editor.communicate(timeout=20)
    await gone(run_folder)


async def test_a_hub_that_is_just_ending_is_looked_for_once_more(
    attach: Attach, workspace: Workspace, run_folder: Path
) -> None:
    root = workspace(FILES)
    path = run_folder / "hub"
    taken = asyncio.Event()

    async def ends(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path.unlink(missing_ok=True)
        writer.close()
        taken.set()

    async with await asyncio.start_unix_server(ends, path), attach(f"unix:{path}", root=root) as client:
        await taken.wait()
        await client.initialize(root)
        assert client.initialize_result["serverInfo"]["name"] == "ombud"
    await wait_until(lambda: not hubs(run_folder), 20)


async def test_a_hub_of_another_version_is_told_of(attach: Attach, workspace: Workspace, run_folder: Path) -> None:
    root = workspace(FILES)
    folder = run_folder / "ombud"
    folder.mkdir(mode=0o700)
    name = hashlib.sha256(os.fsencode(root)).hexdigest()[:16]
    older = folder / f"{name}-0.0.1.sock"
    greeting = b'{"jsonrpc":"2.0","id":1,"result":{"capabilities":{},"serverInfo":{"name":"ombud","version":"0.0.1"}}}'

    async def greets(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if await reader.read(10):
            writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(greeting), greeting))
            await reader.read()
        writer.close()

    async with await asyncio.start_unix_server(greets, older):
        # The project's own hub is one of this version.
        async with attach(root=root) as client:
            await client.initialize(root)
            assert client.initialize_result["serverInfo"]["version"] == __version__
            assert "Ombud 0.0.1 has a hub for this project too" in client.stderr
        # Whoever names the other one is told, and gets it.
        async with attach(f"unix:{older}", root=root, strict=False) as client:
            await client.initialize(root)
            assert client.initialize_result["serverInfo"]["version"] == "0.0.1"
            await wait_until(lambda: f"The hub is Ombud 0.0.1, and this is {__version__}" in client.stderr, 20)
            client.close_input()
            assert await client.wait_exit(20) == 1
    await wait_until(lambda: not hubs(run_folder), 20)


async def test_without_a_hub_it_says_so_when_it_may_not_start_one(
    attach: Attach, ombud: OmbudFactory, workspace: Workspace, run_folder: Path
) -> None:
    root = workspace(FILES)
    for arguments, words in (
        (["--no-start"], "not_found: Nobody listens at unix:"),
        (["--no-start", f"unix:{run_folder}/hub"], "ombud serve --listen unix:"),
        (["127.0.0.1:9"], "Nobody listens at 127.0.0.1:9"),
        ([f"unix:{run_folder}/{'deep/' * 30}hub"], "choose a shorter one"),
    ):
        async with attach(*arguments, root=root) as client:
            assert await client.wait_exit(20) in (1, 2)
            assert words in client.stderr
            assert "Traceback" not in client.stderr
    path = run_folder / "hub"
    async with listening_on(ombud, path), attach("--no-start", f"unix:{path}", root=root) as client:
        await client.initialize(root)


async def test_a_hub_that_cannot_start_is_told_in_its_own_words(
    attach: Attach, workspace: Workspace, run_folder: Path
) -> None:
    root = workspace(FILES)
    async with attach(f"unix:{run_folder}/nowhere/hub", root=root) as client:
        assert await client.wait_exit(20) == 1
        assert "The hub could not be started:" in client.stderr
        assert "cannot be opened" in client.stderr
    # The folder of the sockets is somebody's file.
    (run_folder / "ombud").rename(run_folder / "former")
    (run_folder / "ombud").write_text("")
    async with attach(root=root) as client:
        assert await client.wait_exit(20) == 1
        assert "cannot be used" in client.stderr
    await wait_until(lambda: not hubs(run_folder), 20)


async def test_large_messages_pass_both_ways(
    attach: Attach, workspace: Workspace, run_folder: Path, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    said = options({"one": Script("one", bigAnswer=3_000_000, log=peer_log)})
    async with attach(root=root) as client:
        await client.initialize(root, said)
        text = "é" * 2_000_000
        client.open("a.x", text)
        answer = await hover(client, "a.x")
        assert answer.startswith("one: line 0: éé")
        assert len(answer) > 3_000_000
    await gone(run_folder)


async def test_a_command_asks_the_hub_whose_servers_are_warm_and_sees_what_the_editor_has_open(
    attach: Attach, workspace: Workspace, run_folder: Path, environment: dict[str, str], peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    cli = Command(environment, root)
    cli.configure({"one": Script("one", log=peer_log)})
    async with attach(root=root, name="editor") as editor:
        await editor.initialize(root, capabilities=VSCODE)
        editor.open("a.x", "typed here\n")
        await hover(editor, "a.x")
        found = await cli("lsp", "hover", "--path", "a.x", "--line", "1", "--symbol", "here", "--attach")
        assert (found.code, found.out, found.err) == (0, "one: line 0: typed here\n", "")
        edits = '[{"oldText": "here", "newText": "ERROR(e1): there"}]'
        refused = await cli("edit", "a.x", "--edits", edits, "--attach")
        assert (refused.code, refused.err.partition(":")[0]) == (1, "conflict")
        done = await cli("edit", "a.x", "--edits", edits, "--attach", "--buffers", "edit", "--json")
        assert introduced(done.json) == ["e1"]
        assert editor.documents[editor.uri("a.x")].text == "typed ERROR(e1): there\n"
        told = await cli("status", "--attach", "--json", cwd=root)
        assert [(one["client"], one["yours"]) for one in told.json["sessions"]] == [
            ("tests/editor", False),
            ("the command line", True),
        ]
        assert told.json["sessions"][0]["folders"] == [str(root)]
        assert len(peer_log.starts()) == 1
        assert (root / "a.x").read_text() == "on disk\n"
    await gone(run_folder)
    well_behaved(peer_log)


def test_the_hub_is_that_of_the_whole_checkout(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    root = workspace({".git/HEAD": "", "package.json": "{}", "packages/one/package.json": "{}", "b/.git": "gitdir: x"})
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(root.parent / "run"))
    assert address.project_of(root / "packages" / "one") == root
    assert address.project_of(root) == root
    assert address.project_of(root / "b") == root / "b"
    (root.parent / "link").symlink_to(root)
    assert address.project_of(root.parent / "link" / "packages") == root
    alone = workspace(name="alone")
    assert address.project_of(alone) == alone
    monkeypatch.setattr("ombud.faces.lsp.unix.LONGEST_PATH", 4096)
    one, other = address.of_project(root), address.of_project(alone)
    assert one != other
    assert one == address.of_project(root)
    assert one.path.name.endswith(f"-{__version__}.sock")
    older = one.path.with_name(one.path.name.replace(__version__, "0.0.1"))
    older.write_text("")
    assert address.siblings(one) == [("0.0.1", older)]
    assert address.siblings(other) == []


def noticed(pieces: Sequence[bytes]) -> tuple[bool, bool]:
    pump = Pump.__new__(Pump)
    pump._tail, pump._said_shutdown, pump._said_exit = b"", False, False
    for piece in pieces:
        pump._notice(piece)
    return pump._said_shutdown, pump._said_exit


def test_a_goodbye_is_noticed_however_it_is_cut() -> None:
    said = b'{"id":2,"method" : "shutdown"}...{"jsonrpc":"2.0","method":"exit"}'
    assert noticed([said]) == (True, True)
    assert noticed([bytes([byte]) for byte in said]) == (True, True)
    assert noticed([said[:30]]) == (True, False)
    assert noticed([rb'{"text":"{\"method\":\"exit\"}"}']) == (False, False)
