"""What a project brings is found as its users expect: its Python interpreter, and the database of its compiler."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.connection import Json
from tests.profiles import AGENT, NEOVIM
from tests.real.editor import PATIENCE
from tests.toolbox import require
from tests.waiting import wait_until

pytestmark = pytest.mark.real

ONLY_TYPES = {name: {"disabled": True} for name in ("ruff", "ty", "pyrefly", "zuban")}
MODULE = "def moor(ship: str) -> int: ...\n"
CODE = "from harbourkit import moor\n\nberth: int = moor('Albatross')\n"


def environment_at(folder: Path) -> Path:
    """A virtual environment with one package that is nowhere else; its interpreter."""
    require("basedpyright-langserver")
    subprocess.run([require("python3"), "-m", "venv", "--without-pip", folder], check=True, timeout=60)
    (site,) = folder.glob("lib/python*/site-packages")
    package = site / "harbourkit"
    package.mkdir()
    (package / "py.typed").touch()
    (package / "__init__.py").write_text(MODULE)
    return folder / "bin" / "python"


def codes(found: list[Json]) -> list[str]:
    return [str(one["code"]) for one in found]


async def opened(client: Client, root: Path, capabilities: Json, *, trusted: bool | None = True) -> None:
    options: Json = {"servers": ONLY_TYPES} if trusted is None else {"servers": ONLY_TYPES, "trusted": trusted}
    await client.initialize(root, {"ombud": options}, capabilities)
    client.open("plan.py")


async def test_a_package_of_the_projects_own_environment_is_known(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"pyproject.toml": "", "plan.py": CODE})
    environment_at(root / "venv")
    async with ombud(cwd=root) as client:
        await opened(client, root, AGENT)
        assert await client.wait_diagnostics("plan.py", timeout=PATIENCE) == []
        hover = await client.request("textDocument/hover", client.at("plan.py", 0, 24), PATIENCE)
        assert "moor(ship: str) -> int" in json.dumps(hover)


@pytest.mark.parametrize("ignored", ["", ".venv\n"], ids=["plain", "ignored"])
async def test_an_environment_that_is_made_later_is_noticed(
    ombud: OmbudFactory, workspace: Workspace, environment: dict[str, str], ignored: str
) -> None:
    environment["OMBUD_LOG"] = "INFO"
    root = workspace({"pyproject.toml": "", "plan.py": CODE, ".gitignore": ignored})
    async with ombud(cwd=root) as client:
        await opened(client, root, AGENT)
        await client.wait_diagnostics("plan.py", lambda found: "reportMissingImports" in codes(found), timeout=PATIENCE)
        await wait_until(lambda: "folders of" in client.stderr, 30, "Ombud watches")
        environment_at(root / ".venv")
        await client.wait_diagnostics("plan.py", lambda found: not found, timeout=PATIENCE)


async def test_T1_without_trust_its_interpreter_is_not_run(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({"pyproject.toml": "", "plan.py": CODE})
    python = environment_at(root / ".venv")
    ran = root.parent / "ran"
    python.unlink()
    python.write_text(f"#!/bin/sh\necho ran >> {ran}\nexit 1\n")
    python.chmod(0o755)
    async with ombud(cwd=root) as client:
        await opened(client, root, AGENT, trusted=None)
        assert "reportMissingImports" in codes(await client.wait_diagnostics("plan.py", timeout=PATIENCE))
        for settings in ({"python": {"pythonPath": str(python)}}, {"python": {"pythonPath": ".venv/bin/python"}}):
            client.notify("workspace/didChangeConfiguration", {"settings": settings})
        client.change("plan.py", CODE + "\n")
        assert "reportMissingImports" in codes(await client.wait_diagnostics("plan.py", timeout=PATIENCE, version=2))
    assert not ran.exists()


async def test_an_active_environment_is_used_where_the_project_has_none(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace({"pyproject.toml": "", "plan.py": CODE})
    environment_at(tmp_path / "active")
    async with ombud(cwd=root, env={"VIRTUAL_ENV": str(tmp_path / "active")}) as client:
        await opened(client, root, AGENT, trusted=None)
        assert await client.wait_diagnostics("plan.py", timeout=PATIENCE) == []


@pytest.mark.parametrize("way", ["told", "asked"])
async def test_an_interpreter_that_the_client_names_later_counts_without_a_restart(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path, way: str
) -> None:
    root = workspace({"pyproject.toml": "", "plan.py": CODE})
    python = environment_at(tmp_path / "elsewhere")
    async with ombud(cwd=root) as client:
        await opened(client, root, NEOVIM if way == "asked" else AGENT)
        assert "reportMissingImports" in codes(await client.wait_diagnostics("plan.py", timeout=PATIENCE))
        pid = await pid_of(client)
        settings = {"python": {"pythonPath": str(python)}}
        if way == "asked":
            client.settings = settings
        client.notify("workspace/didChangeConfiguration", {"settings": None if way == "asked" else settings})
        await client.wait_diagnostics("plan.py", lambda found: found == [], timeout=PATIENCE)
        assert await pid_of(client) == pid


async def pid_of(client: Client) -> int:
    rows = (await client.request("ombud/status", {}, PATIENCE))["servers"]
    found: int = next(row["pid"] for row in rows if row["name"] == "basedpyright")
    return found


async def test_a_compilation_database_is_found_where_clangd_does_not_look(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    require("clangd")
    source = '#include "berth.h"\n\nint moor() { return BERTHS + first(); }\n'
    root = workspace(
        {"CMakeLists.txt": "", "src/plan.c": source, "include/berth.h": "static int first() { return 1; }\n"}
    )
    flags = f"-I{root}/include -DBERTHS=3"
    command = {"directory": str(root), "file": "src/plan.c", "command": f"cc {flags} -c src/plan.c"}
    async with ombud(cwd=root) as client:
        await client.initialize(root, {"ombud": {"trusted": True}}, AGENT)
        client.open("src/plan.c")
        found = await client.wait_diagnostics("src/plan.c", timeout=PATIENCE)
        assert "pp_file_not_found" in codes(found)
        # It is built: the same server is started anew with what has come.
        workspace({"cmake-build-debug/compile_commands.json": json.dumps([command])})
        event = {"uri": (root / "cmake-build-debug/compile_commands.json").as_uri(), "type": 1}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [event]})
        assert await client.wait_diagnostics("src/plan.c", lambda found: found == [], timeout=PATIENCE) == []
        hover = await client.request("textDocument/hover", client.at("src/plan.c", 2, 30), PATIENCE)
        assert "first" in json.dumps(hover)
