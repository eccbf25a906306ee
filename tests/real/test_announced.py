"""What is announced before servers run, against the real ones: recorded profiles, and the legend of tokens."""

from __future__ import annotations

import asyncio
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.client import Client
from tests.conftest import ClientFactory, OmbudFactory
from tests.connection import Json
from tests.profiles import NEOVIM, VSCODE
from tests.real.editor import PATIENCE, RETRIES
from tests.toolbox import PROJECT, copy_project, require, tool_path

pytestmark = pytest.mark.real

MEASURED = {
    "ruff": "ruff",
    "clangd": "clangd",
    "gopls": "gopls",
    "basedpyright": "basedpyright-langserver",
    "biome": "biome",
    "vscode-css": "vscode-css-language-server",
    "typescript-language-server": "typescript-language-server",
}


async def test_the_recorded_profiles_are_those_of_the_pinned_servers(environment: dict[str, str]) -> None:
    for tool in MEASURED.values():
        require(tool)
    argv = ["scripts/profiles.py", "--measure", "--check", "--only", ",".join(MEASURED)]
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *argv,
        cwd=PROJECT,
        env={**environment, "PATH": tool_path()},
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await asyncio.wait_for(child.communicate(), PATIENCE * 2)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    text = said.decode()
    assert "stays" not in text, f"a server did not answer:\n{text}"
    assert child.returncode == 0, f"measure again: python scripts/profiles.py --measure\n{text}"


@dataclass(frozen=True)
class Owner:
    """A server that colours: its command, a sample project, and a file there."""

    name: str
    command: tuple[str, ...]
    project: str
    path: str


OWNERS = (
    Owner("clangd", ("clangd",), "cpp", "plan.cpp"),
    Owner("basedpyright", ("basedpyright-langserver", "--stdio"), "python", "harbour/plan.py"),
)
EACH = pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.name)
Token = tuple[int, int, int, str, frozenset[str]]


def legend(client: Client) -> Json:
    """The legend that the client reads by now: the one registered last, else the announced one."""
    options: Json = client.server_capabilities["semanticTokensProvider"]
    for one in client.registrations.values():
        if one["method"] == "textDocument/semanticTokens":
            options = one["registerOptions"]
    found: Json = options["legend"]
    return found


def read(client: Client, data: list[int]) -> list[Token]:
    """Tokens as a client reads them (LSP 3.17, "Integer Encoding for Tokens")."""
    words = legend(client)
    out: list[Token] = []
    line = column = 0
    for place in range(0, len(data), 5):
        down, right, length, kind, bits = data[place : place + 5]
        line, column = line + down, right if down else column + right
        names = (name for bit, name in enumerate(words["tokenModifiers"]) if bits >> bit & 1)
        out.append((line, column, length, words["tokenTypes"][kind], frozenset(names)))
    return out


async def tokens(client: Client, path: str, kind: str = "full", **more: object) -> Json:
    """The answer once there is one: a server that is still reading the project has none yet."""
    params = {"textDocument": {"uri": client.uri(path)}, **more}
    for _ in range(RETRIES):
        found: Json | None = await client.request(f"textDocument/semanticTokens/{kind}", params, PATIENCE)
        if found is not None and (found.get("data") or found.get("edits") is not None):
            return found
        # Another question that is answered when it has done more of its work.
        await client.request("textDocument/documentSymbol", {"textDocument": params["textDocument"]}, PATIENCE)
    raise AssertionError(f"no tokens of {path}")


@EACH
@pytest.mark.parametrize("capabilities", [VSCODE, NEOVIM], ids=["vscode", "neovim"])
async def test_a_client_reads_through_ombud_what_it_reads_directly(
    ombud: OmbudFactory, client_factory: ClientFactory, tmp_path: Path, owner: Owner, capabilities: Json
) -> None:
    root = copy_project(owner.project, tmp_path.resolve())
    argv: list[str | os.PathLike[str]] = [require(owner.command[0]), *owner.command[1:]]
    async with client_factory(argv, cwd=root, name=owner.name) as direct:
        await direct.initialize(root, None, capabilities)
        direct.open(owner.path)
        expected = read(direct, (await tokens(direct, owner.path))["data"])
    async with ombud(cwd=root) as client:
        await client.initialize(root, {"ombud": {"trusted": True}}, capabilities)
        client.open(owner.path)
        assert read(client, (await tokens(client, owner.path))["data"]) == expected
    assert len(expected) > 20
    assert len({kind for _, _, _, kind, _ in expected}) > 3


async def test_a_delta_is_one_of_what_the_client_has(ombud: OmbudFactory, tmp_path: Path) -> None:
    require("clangd")
    root = copy_project("cpp", tmp_path.resolve())
    path = "plan.cpp"
    async with ombud(cwd=root) as client:
        await client.initialize(root, {"ombud": {"trusted": True}}, VSCODE)
        client.open(path)
        first = await tokens(client, path)
        client.change(path, "static const int added = 1;\n" + client.documents[client.uri(path)].text)
        answer = await tokens(client, path, "full/delta", previousResultId=first["resultId"])
        array = list(first["data"])
        assert answer["edits"], "a whole answer would prove nothing"
        for edit in sorted(answer["edits"], key=lambda one: one["start"], reverse=True):
            array[edit["start"] : edit["start"] + edit["deleteCount"]] = edit.get("data", [])
        assert array == (await tokens(client, path))["data"] != first["data"]
