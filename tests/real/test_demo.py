"""The demo and the commands a newcomer tries first, with real basedpyright, ruff and others."""

from __future__ import annotations

import asyncio
import shutil
import signal
from pathlib import Path

import pytest

from tests.peers.commands import Command
from tests.toolbox import PROJECT, copy_project, require

pytestmark = pytest.mark.real


@pytest.fixture
def ombud_cli(environment: dict[str, str], tmp_path: Path) -> Command:
    for name in ("basedpyright-langserver", "ruff"):
        require(name)
    folder = tmp_path.resolve() / "work"
    folder.mkdir()
    command = Command(environment, folder)
    command.environment["COLUMNS"] = "80"
    return command


async def test_the_demo_keeps_its_promises(ombud_cli: Command, tmp_path: Path) -> None:
    """The demo checks each step itself; its exit code says whether all of them showed what they promise."""
    ombud_cli.environment["TMPDIR"] = str(tmp_path)
    ran = await ombud_cli("demo")
    assert ran.code == 0, ran.out
    assert ran.err == ""
    told = ran.out
    for step in (
        "1. What is detected, and why",
        "2. Nothing runs before it is needed",
        "Processes so far: 0.",
        "basedpyright",
        "$ ombud lsp hover",
        "$ ombud lsp references",
        "4. What an edit would break, before it is made",
        "Nothing was written",
        "tariff/invoice.py:32:46: error:",
        'Argument missing for parameter "tax"',
        "Introduced 0 diagnostics, resolved 4",
        "basedpyright: swept.",
        "ruff: swept.",
        "Still there: 0.",
    ):
        assert step in told, step
    assert told.count("imported but unused") == 1, "the old warning is shown when asked for, and never as news"
    assert [line for line in told.splitlines() if len(line) > 80] == []
    assert not list(tmp_path.glob("ombud-demo-*")), "the copy is deleted"


async def test_an_interrupted_demo_leaves_nothing(ombud_cli: Command, tmp_path: Path) -> None:
    ombud_cli.environment["TMPDIR"] = str(tmp_path)
    process = await ombud_cli.start("demo")
    assert process.stdout is not None
    async with asyncio.timeout(60):
        while b"ready after" not in await process.stdout.readline():
            pass
    assert list(tmp_path.glob("ombud-demo-*"))
    process.send_signal(signal.SIGINT)
    assert (await ombud_cli.end(process)).code == 130
    assert not list(tmp_path.glob("ombud-demo-*"))


async def test_the_demo_says_what_it_lacks(ombud_cli: Command, tmp_path: Path) -> None:
    ombud_cli.environment["PATH"] = str(tmp_path)
    ran = await ombud_cli("demo")
    assert ran.code == 1
    assert "This should not be: basedpyright would start." in ran.out
    assert "pip install basedpyright ruff" in " ".join(ran.out.split())
    assert "Traceback" not in ran.out + ran.err


@pytest.mark.parametrize("language", ["python", "cpp", "css"])
async def test_a_tour_writes_nothing(ombud_cli: Command, tmp_path: Path, language: str) -> None:
    project = copy_project(language, tmp_path)
    ran = await ombud_cli("demo", str(project))
    assert ran.code == 0, ran.out
    told = " ".join(ran.out.split())
    assert "ready after" in told
    assert "$ ombud lsp symbols --path" in told
    assert "files and folders are as they were" in told
    assert "still there: 0." in told
    assert [line for line in ran.out.splitlines() if len(line) > 80 and " " in line.strip()] == []


async def test_a_tour_of_a_folder_with_nothing(ombud_cli: Command) -> None:
    ran = await ombud_cli("demo", ".")
    assert ran.code == 0, "an empty folder breaks no promise"
    assert "No server would start here" in ran.out


async def test_check_and_doctor_on_the_demos_project(ombud_cli: Command) -> None:
    project = ombud_cli.root / "demo"
    shutil.copytree(PROJECT / "fixtures/demo", project)
    ran = await ombud_cli("check", "tariff", cwd=project)
    assert ran.code == 0, ran
    assert ran.out.splitlines()[0].startswith("tariff/rates.py:5:")
    assert ran.out.splitlines()[-1] == "1 warning in 3 files. basedpyright and ruff answered for all 3 files."
    (project / "tariff/rates.py").write_text("def half(x: int) -> str:\n    return x / 2\n")
    ran = await ombud_cli("check", "tariff/rates.py", cwd=project)
    assert ran.code == 1
    assert "tariff/rates.py:2:12: error:" in ran.out
    ran = await ombud_cli("doctor", "--start", "--json", cwd=project)
    assert ran.code == 0
    started = {one["name"]: one["start"]["ok"] for one in ran.json["servers"] if "start" in one}
    assert started == {"basedpyright": True, "ruff": True}
