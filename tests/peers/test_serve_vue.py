"""What Vue's language server asks of TypeScript's: carried, brought back, and answered whatever happens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.framing import frame_body
from tests.peers.road import serving, well_behaved
from tests.peers.script import PeerLog, Script

COMMAND = "typescript.tsserverRequest"
FILES = {"package.json": '{"dependencies": {"vue": "3"}}', "a.vue": "first\n"}


def vue(log: PeerLog, asked: Any) -> Script:
    """A server that, when it is asked for a hover, asks ``asked`` of its client instead of answering."""
    body = json.dumps({"jsonrpc": "2.0", "method": "tsserver/request", "params": asked}).encode()
    return Script("vue", rawOn={"textDocument/hover": frame_body(body).decode()}, log=log)


def install(bin_folder: Path) -> None:
    """A package with the name and version of Vue's server on PATH, for TypeScript's is only used beside one."""
    package = bin_folder.parent / "lib" / "node_modules" / "@vue" / "language-server"
    program = package / "bin" / "vue-language-server.js"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    (package / "package.json").write_text('{"name": "@vue/language-server", "version": "3.3.11"}', encoding="utf-8")
    (bin_folder / "vue-language-server").symlink_to(program)


async def response(client: Client, log: PeerLog) -> Any:
    """The params of the answer that the Vue server gets once it has asked."""
    client.open("a.vue", language="vue")
    client.abandon(client.start_request("textDocument/hover", client.at("a.vue", 0, 0)))
    (told,) = await log.wait_received("tsserver/response")
    return told["params"]


@pytest.mark.parametrize("nested", [True, False], ids=["positional params", "plain params"])
async def test_the_question_comes_to_typescripts_server_behind_the_document_it_is_about(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, bin_folder: Path, nested: bool
) -> None:
    root = workspace(FILES)
    install(bin_folder)
    logs = PeerLog(tmp_path / "vue.jsonl"), PeerLog(tmp_path / "typescript.jsonl")
    arguments = {"file": str(root / "a.vue"), "needFileNameList": False}
    question = [7, "_vue:projectInfo", arguments]
    typescript = Script("typescript", features=["executeCommand"], commands=[COMMAND], startDelayMs=300, log=logs[1])
    servers = {
        "vue": {"command": vue(logs[0], [question] if nested else question).command()},
        "vue-typescript": {"command": typescript.command()},
    }
    async with serving(ombud, root, servers) as client:
        # The scripted server's answer has no body, as tsserver's has none where it knows nothing.
        assert await response(client, logs[0]) == [[7, None]]
        commands = logs[1].received("workspace/executeCommand")
        # Whether a silent file is clean is asked of it as well.
        (asked,) = [one for one in commands if one["params"]["arguments"][0] == "_vue:projectInfo"]
        assert asked["params"] == {"command": COMMAND, "arguments": ["_vue:projectInfo", arguments]}
        assert logs[1].methods().index("textDocument/didOpen") < logs[1].methods().index("workspace/executeCommand")
        assert [one for one in client.notifications if one.method == "tsserver/request"] == []
    well_behaved(*logs)


FAILING: dict[str, dict[str, Any]] = {
    "it refuses": {"errorsOn": {"workspace/executeCommand": {"code": -32603, "message": "no project"}}},
    "it crashes": {"crashOn": [{"method": "workspace/executeCommand"}]},
    "it does not start": {"dieBeforeInitialize": {"code": 1, "stderr": "no"}},
}


@pytest.mark.parametrize("keys", FAILING.values(), ids=FAILING)
async def test_the_question_is_answered_where_typescripts_server_cannot(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, bin_folder: Path, keys: dict[str, Any]
) -> None:
    root = workspace(FILES)
    install(bin_folder)
    log = PeerLog(tmp_path / "vue.jsonl")
    typescript = Script("typescript", features=["executeCommand"], commands=[COMMAND], **keys)
    servers = {
        "vue": {"command": vue(log, [["a", "_vue:getElementNames", [str(root / "a.vue")]]]).command()},
        "vue-typescript": {"command": typescript.command()},
    }
    async with serving(ombud, root, servers) as client:
        assert await response(client, log) == [["a", None]]


async def test_the_question_is_answered_where_there_is_no_typescript_server(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    log = PeerLog(tmp_path / "vue.jsonl")
    servers = {"vue": {"command": vue(log, [[1, "_vue:projectInfo", {"file": "a"}]]).command()}}
    async with serving(ombud, root, servers) as client:
        assert await response(client, log) == [[1, None]]


async def test_a_question_of_another_shape_harms_nobody(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    log = PeerLog(tmp_path / "vue.jsonl")
    servers = {"vue": {"command": vue(log, {"id": 1}).command()}}
    async with serving(ombud, root, servers) as client:
        client.open("a.vue", language="vue")
        client.abandon(client.start_request("textDocument/hover", client.at("a.vue", 0, 0)))
        names = await client.request("workspace/executeCommand", {"command": "vue.state"})
        assert [Path(uri).name for uri in names["documents"]] == ["a.vue"]
