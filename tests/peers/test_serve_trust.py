"""Whose programs run: nothing without trust, a question asked once, and no word of a repository about commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import (
    connected,
    edit,
    failure,
    freshness,
    hover,
    listening,
    serving,
    status,
    user_file,
    wait_state,
)
from tests.peers.script import PeerLog, Script
from tests.profiles import AGENT
from tests.waiting import wait_until

FILES = {"x.toml": "", "a.x": "first\n", "b.x": "second\n", "c.y": "third\n"}
QUESTION = "window/showMessageRequest"


async def nothing(client: Client, where: str = "a.x") -> None:
    """A question about a file is answered with null, at once."""
    assert await client.answer(client.start_request("textDocument/hover", client.at(where, 0, 0)), 10) is None


def stored(home: Path) -> list[Path]:
    return list(home.rglob("trust.json"))


def questions(client: Client) -> list[Any]:
    return [one for one in client.server_requests if one.method == QUESTION]


async def answered(client: Client, count: int = 1) -> None:
    await wait_until(lambda: [one for one in questions(client) if one.answer is not None][count - 1 :], 10)


async def test_T4_no_child_process_at_all_in_an_untrusted_workspace(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, bin_folder: Path
) -> None:
    root = workspace(FILES)
    Script("path", log=peer_log).executable(bin_folder / "path-server")
    servers = {
        "own": Script("own", log=peer_log).entry(),
        "path": {"command": ["path-server"], "extensions": [".y"], "rootMarkers": ["x.toml"]},
    }
    async with serving(ombud, root, servers, trusted=False) as client:
        for where in ("a.x", "c.y"):
            client.open(where)
            await nothing(client, where)
        result = await edit(client, "b.x", "second", "ERROR(e1): bad")
        assert result["applied"] is True
        assert freshness(result) == {}
        error = await failure(client.start_request("ombud/diagnostics", {"path": "a.x"}), client)
        assert error.kind == "no_server"
        assert "not trusted" in error.message
        found = await client.request("ombud/status")
        states = {row["name"]: (row["state"], row["reason"]) for row in found["servers"]}
        for name in servers:
            assert states[name][0] == "not_trusted"
            assert "is not trusted" in states[name][1]
        assert found["trust"] == {"root": str(root), "state": "untrusted"}
        assert client.child_processes() == []
        assert questions(client) == []
    assert peer_log.entries() == []


async def test_unasked_what_the_user_installed_runs_and_what_runs_workspace_code_waits(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    logs = [PeerLog(tmp_path / f"{name}.jsonl") for name in ("one", "two")]
    servers = {
        "one": Script("one", log=logs[0]).entry(),
        "two": Script("two", log=logs[1]).entry([".y"], runsWorkspaceCode=True),
    }
    async with serving(ombud, root, servers, trusted=None) as client:
        client.handlers[QUESTION] = lambda params: None
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        assert questions(client) == []
        client.open("c.y")
        await nothing(client, "c.y")
        row = (await status(client))["two"]
        assert row["state"] == "not_trusted"
        assert "can run code of the workspace" in row["reason"]
        assert "ombud trust" in row["reason"]
        await answered(client)
        client.close("c.y")
        client.open("c.y")
        await nothing(client, "c.y")
        assert len(questions(client)) == 1
        assert logs[1].starts() == []
        assert (await client.request("ombud/status"))["trust"]["state"] == "unasked"


@pytest.mark.parametrize("folder", ["node_modules/.bin", ".venv/bin", "venv/bin"])
async def test_T1_T7_a_repositorys_own_program_does_not_run_unasked(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, folder: str
) -> None:
    root = workspace(FILES)
    Script("local", log=peer_log).executable(root / folder / "local-server")
    servers = {"local": {"command": ["local-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with serving(ombud, root, servers, trusted=None) as client:
        client.handlers[QUESTION] = lambda params: {"title": "Not now"}
        client.open("a.x")
        await nothing(client)
        await answered(client)
        await nothing(client)
        row = (await status(client))["local"]
        assert row["state"] == "not_trusted"
        assert "is not trusted" in row["reason"]
        assert client.child_processes() == []
        assert len(questions(client)) == 1
    assert peer_log.starts() == []


async def test_T1_the_installed_program_is_taken_where_the_repositorys_own_may_not_run(
    ombud: OmbudFactory, workspace: Workspace, bin_folder: Path, tmp_path: Path
) -> None:
    root = workspace(FILES)
    local, installed = PeerLog(tmp_path / "local.jsonl"), PeerLog(tmp_path / "installed.jsonl")
    Script("local", log=local).executable(root / "node_modules/.bin/some-server")
    Script("installed", log=installed).executable(bin_folder / "some-server")
    servers = {"some": {"command": ["some-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with serving(ombud, root, servers, trusted=None) as client:
        assert await hover(client, "a.x") == "installed: line 0: first"
    assert local.starts() == []
    async with serving(ombud, root, servers, trusted=True) as client:
        assert await hover(client, "a.x") == "local: line 0: first"
    assert len(local.starts()) == 1


@pytest.mark.parametrize("local", [True, False])
async def test_a_user_who_trusts_the_folder_gets_its_servers_at_once_and_is_not_asked_again(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, home: Path, local: bool
) -> None:
    """For files that are open already, and in the next session from the trust store."""
    root = workspace(FILES)
    script = Script("one", log=peer_log)
    servers = {"one": script.entry(runsWorkspaceCode=True)}
    if local:
        script.executable(root / "node_modules/.bin/local-server")
        servers = {"one": {"command": ["local-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with serving(ombud, root, servers, trusted=None) as client:
        client.handlers[QUESTION] = lambda params: params["actions"][0]
        client.open("a.x")
        question = await client.wait_request(QUESTION)
        assert [action["title"] for action in question.params["actions"]] == ["Trust this folder", "Not now"]
        assert root.name in question.params["message"]
        await wait_state(client, "one", "ready")
        assert await hover(client, "a.x") == "one: line 0: first"
        assert (await client.request("ombud/status"))["trust"]["state"] == "trusted"
        assert len(questions(client)) == 1
        await wait_until(lambda: stored(home), 10, "trust is stored")
    async with serving(ombud, root, servers, trusted=None) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        assert questions(client) == []
    assert len(peer_log.starts()) == 2


async def test_T5_a_trusted_folders_program_that_has_changed_does_not_run(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog, home: Path
) -> None:
    root = workspace(FILES)
    program = Script("one", log=peer_log).executable(root / "node_modules/.bin/local-server")
    servers = {"one": {"command": ["local-server"], "extensions": [".x"], "rootMarkers": ["x.toml"]}}
    async with serving(ombud, root, servers, trusted=None) as client:
        client.handlers[QUESTION] = lambda params: params["actions"][0]
        client.open("a.x")
        await wait_state(client, "one", "ready")
        await wait_until(lambda: stored(home), 10, "trust is stored")
    program.write_text(program.read_text() + "# something else\n")
    async with serving(ombud, root, servers, trusted=None) as client:
        client.handlers[QUESTION] = lambda params: None
        client.open("a.x")
        await nothing(client)
        row = (await status(client))["one"]
        assert row["state"] == "not_trusted"
        assert "has changed since" in row["reason"]
    assert len(peer_log.starts()) == 1


async def test_an_agent_that_is_nobody_to_ask_gets_the_reason_in_words(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log).entry(runsWorkspaceCode=True)}
    async with serving(ombud, root, servers, trusted=None, capabilities=AGENT) as client:
        client.handlers[QUESTION] = lambda params: None
        params = {"action": "hover", "path": "a.x", "line": 1, "symbol": "first"}
        error = await failure(client.start_request("ombud/lsp", params), client)
        assert error.kind == "no_server"
        assert "one can run code of the workspace" in error.message
        assert f"ombud trust {root}" in error.message
    assert peer_log.starts() == []


async def test_trust_is_each_sessions_own(ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog) -> None:
    """One client's word does not start anything for another that said no."""
    root = workspace(FILES)
    servers = {"one": Script("one", log=peer_log)}
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, servers, name="no", trusted=False) as no,
        connected(port, root, servers, name="yes", trusted=True) as yes,
    ):
        yes.open("a.x")
        assert await hover(yes, "a.x") == "one: line 0: first"
        no.open("a.x")
        for where in ("a.x", "b.x"):
            await nothing(no, where)
        assert await no.request("workspace/symbol", {"query": "first"}) in (None, [])
        error = await failure(no.start_request("workspace/executeCommand", {"command": "one.state"}), no)
        assert error.kind == "not_found"
        error = await failure(no.start_request("ombud/diagnostics", {"path": "a.x"}), no)
        assert error.kind == "no_server"
        assert (await status(yes))["one"]["state"] == "ready"
        yes.change("a.x", "ERROR(e1): bad")
        await yes.wait_diagnostics("a.x", lambda found: len(found) == 1)
        assert (await no.request("ombud/status"))["trust"]["state"] == "untrusted"
        assert [one for one in no.notifications if one.method == "textDocument/publishDiagnostics"] == []


async def test_T2_a_command_in_the_workspaces_configuration_is_ignored_and_listed(
    ombud: OmbudFactory, workspace: Workspace, peer_log: PeerLog
) -> None:
    root = workspace(FILES)
    evil = Script("evil", log=peer_log).executable(root / "evil-server")
    command = json.dumps([str(evil)])
    workspace(
        {
            ".ombud.toml": f"""
trusted = true
tiers = ["read", "write", "exec"]
maxServers = 500
idleMinutes = 1

[servers.evil]
command = {command}
extensions = [".x"]
rootMarkers = ["x.toml"]

[servers.one]
command = {command}
env = {{ LD_PRELOAD = "/evil.so" }}
requestTimeoutMs = 1500
"""
        }
    )
    one = Script("one", hangOn=["textDocument/definition"]).entry()
    async with serving(ombud, root, {"one": one}, trusted=None) as client:
        client.open("a.x")
        assert await hover(client, "a.x") == "one: line 0: first"
        # What it may say counts.
        error = await failure(client.start_request("textDocument/definition", client.at("a.x", 0, 0)), client, 10)
        assert "within 1.5 s" in error.message
        found = await client.request("ombud/status")
        assert found["trust"]["state"] == "unasked"
        assert "evil" not in {row["name"] for row in found["servers"]}
        problems = "\n".join(found["problems"])
        for word in ("servers.one.command", "servers.evil.command", "servers.one.env", "trusted", "maxServers"):
            assert word in problems, word
        assert all(problem.startswith(".ombud.toml: ") or "servers.evil" in problem for problem in found["problems"])
    assert peer_log.starts() == []


async def test_T2_the_users_own_configuration_names_commands(
    ombud: OmbudFactory, workspace: Workspace, home: Path
) -> None:
    root = workspace(FILES)
    command = json.dumps(Script("mine").command())
    configuration = user_file(home)
    configuration.write_text(f'[servers.mine]\ncommand = {command}\nextensions = [".x"]\nrootMarkers = ["x.toml"]\n')
    async with serving(ombud, root, {}, trusted=None) as client:
        assert await hover(client, "a.x") == "mine: line 0: first"


async def test_T3_settings_of_a_workspace_count_only_when_it_is_trusted(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace({**FILES, ".ombud.toml": '[servers.one.settings]\none = "from the workspace"\n'})
    servers = {"one": Script("one", askConfiguration=["one"]).entry()}
    for trusted, said in ((None, {}), (True, "from the workspace")):
        async with serving(ombud, root, servers, trusted=trusted) as client:
            client.handlers[QUESTION] = lambda params: None
            await hover(client, "a.x")
            state = await client.request("workspace/executeCommand", {"command": "one.state"})
            assert state["configuration"] == [[said]]
