"""Real servers led astray: by programs of an untrusted project, by a cold start, by several files at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.toolbox import require

pytestmark = pytest.mark.real


async def test_T7_an_untrusted_projects_interpreter_is_not_run(ombud, workspace) -> None:
    require("basedpyright-langserver")
    root = workspace({"pyproject.toml": "[project]\nname = 'x'\n", "a.py": "import os\n\nx: int = os.sep\n"})
    trap = Path(root) / ".venv" / "bin" / "python"
    trap.parent.mkdir(parents=True)
    ran = Path(root) / "ran"
    trap.write_text(f"#!/bin/sh\necho ran >> '{ran}'\nexit 1\n")
    trap.chmod(0o755)
    (Path(root) / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    async with ombud(cwd=root) as client:
        await client.initialize(root=root)
        found = await client.request("ombud/diagnostics", {"path": "a.py", "waitMs": 60000})
    assert {one["freshness"] for one in found["servers"]} == {"fresh"}
    assert [one["code"] for one in found["diagnostics"] if one["severity"] == "error"] == ["reportAssignmentType"]
    assert not ran.exists(), os.fsdecode(ran.read_bytes())


async def test_a_package_in_src_is_found_by_its_tests(ombud, workspace) -> None:
    require("basedpyright-langserver")
    root = workspace(
        {
            "pyproject.toml": "[project]\nname = 'foolib'\n",
            "src/foolib/__init__.py": "def f() -> int:\n    return 1\n",
            "tests/test_a.py": "from foolib import f\n\nx: str = f()\n",
        }
    )
    async with ombud(cwd=root) as client:
        await client.initialize(root=root)
        found = await client.request("ombud/diagnostics", {"path": "tests/test_a.py", "waitMs": 60000})
    assert [one["code"] for one in found["diagnostics"] if one["severity"] == "error"] == ["reportAssignmentType"]


async def test_several_scripts_asked_about_at_once_are_all_answered(ombud, workspace) -> None:
    require("bash-language-server")
    names = [f"s{number}.sh" for number in range(4)]
    root = workspace(dict.fromkeys(names, "#!/bin/bash\nif then\n"))
    async with ombud(cwd=root) as client:
        await client.initialize(root=root)
        asked = [client.start_request("ombud/diagnostics", {"path": name, "waitMs": 60000}) for name in names]
        for pending in asked:
            found = await client.answer(pending, 120)
            assert [one["freshness"] for one in found["servers"]] == ["fresh"]
            assert {one["source"] for one in found["diagnostics"]} == {"shellcheck"}


async def test_D10_references_asked_of_a_cold_server_are_whole(ombud, workspace) -> None:
    require("basedpyright-langserver")
    users = {f"user{number}.py": "from lib import tariff\n\nprint(tariff())\n" for number in range(20)}
    root = workspace(
        {"pyproject.toml": "[project]\nname = 'x'\n", "lib.py": "def tariff() -> int:\n    return 1\n", **users}
    )
    async with ombud(cwd=root) as client:
        await client.initialize(root=root)
        asked = {"action": "references", "path": "lib.py", "line": 1, "symbol": "tariff"}
        first = await client.request("ombud/lsp", asked)
        again = await client.request("ombud/lsp", asked)
    assert first["complete"]
    assert {one["path"] for one in first["items"]} == {"lib.py", *users}
    assert len(first["items"]) == len(again["items"])


async def test_D10_a_cold_server_that_is_silent_about_its_reading_is_not_called_complete(ombud, workspace) -> None:
    require("pyrefly")
    root = workspace({"pyproject.toml": "[project]\nname = 'x'\n", "lib.py": "def tariff() -> int:\n    return 1\n"})
    others = {name: {"disabled": True} for name in ("basedpyright", "ty", "ruff")}
    async with ombud(cwd=root) as client:
        await client.initialize(root=root, options={"ombud": {"trusted": True, "servers": others}})
        asked = {"action": "references", "path": "lib.py", "line": 1, "symbol": "tariff"}
        found = await client.request("ombud/lsp", asked)
    assert found["servers"] == ["pyrefly"]
    assert not found["complete"]
    assert "may be partial" in found["note"]
