"""``ombud doctor`` and ``ombud trust``: what is found, what is run to find out, and what trust changes."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workspace
from tests.peers.commands import Command
from tests.peers.script import PeerLog, Script


@pytest.fixture
def ombud_cli(workspace: Workspace, environment: dict[str, str]) -> Command:
    return Command(environment, workspace({"x.toml": "", "a.x": "fine\n", "pyproject.toml": "", "a.py": "x = 1\n"}))


def program(path: Path, shell: str) -> Path:
    """An executable shell script."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{shell}\n")
    path.chmod(0o755)
    return path


def server(data: Any, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in data["servers"] if one["name"] == name)
    return found


async def test_what_would_start_and_what_would_not(ombud_cli: Command, bin_folder: Path, peer_log: PeerLog) -> None:
    ombud_cli.configure({"one": Script("one", log=peer_log)})
    program(bin_folder / "ruff", 'test "$1" = --version && echo "ruff 9.8.7"')
    ran = await ombud_cli("doctor")
    assert (ran.code, ran.err) == (0, "")
    text = " ".join(ran.out.split())
    assert "ruff would start . pyproject.toml " in text
    found = server((await ombud_cli("doctor", "--json")).json, "ruff")
    assert (found["command"], found["version"]) == ([f"{bin_folder}/ruff", "server"], "9.8.7")
    assert "basedpyright-langserver is not on PATH: pip install basedpyright." in text
    assert "one would start . x.toml" in text
    assert f"Run “ombud trust {ombud_cli.root}” if you know what is in it." in text
    assert max(map(len, ran.out.splitlines())) <= 120
    assert peer_log.starts() == [], "a command of the user's own is not run for its version"


async def test_roots_of_which_the_same_is_to_be_said_share_a_row(
    environment: dict[str, str], workspace: Workspace, bin_folder: Path
) -> None:
    files = {f"{name}/{file}": "" for name in "bcd" for file in ("pyproject.toml", "a.py")}
    cli = Command(environment, workspace({"pyproject.toml": "", "a.py": "", **files}))
    cli.configure({})
    program(bin_folder / "ruff", "echo 'ruff 9.8.7'")
    out = (await cli("doctor")).out
    assert out.count("ruff ") - out.count("/ruff ") == 1
    assert "    the same in b, c, d\n" in out
    assert len([one for one in (await cli("doctor", "--json")).json["servers"] if one["name"] == "ruff"]) == 4


@pytest.mark.parametrize("width", ["40", "60", "80"])
async def test_the_table_fits_and_loses_no_reason(ombud_cli: Command, width: str) -> None:
    ran = await ombud_cli("doctor", "--all", env={"COLUMNS": width})
    lines = ran.out.splitlines()
    assert [line for line in lines if len(line) > int(width) and " " in line.strip()] == []
    data = (await ombud_cli("doctor", "--json")).json
    shown, advice = "".join(ran.out.split()), data["trust"]["explanation"]
    reasons = ["".join(one["reason"].replace(advice, "").split()) for one in data["servers"] if one["reason"]]
    assert [reason for reason in [*reasons, "".join(advice.split())] if reason not in shown] == []


async def test_P10_with_start_a_server_counts_once_it_has_answered(ombud_cli: Command, bin_folder: Path) -> None:
    ombud_cli.configure({"one": Script("one", version="4.2")})
    ran = await ombud_cli("doctor", "--start")
    assert ran.code == 0
    assert "ready in" in ran.out
    assert "it calls itself one 4.2" in ran.out
    program(bin_folder / "ruff", "echo 'not today' >&2; exit 3")
    ran = await ombud_cli("doctor", "--start", "--json")
    assert ran.code == 1
    went = server(ran.json, "ruff")["start"]
    assert (went["ok"], went["serverInfo"]) == (False, None)
    assert "not today" in went["reason"]
    assert server(ran.json, "one")["start"]["serverInfo"] == {"name": "one", "version": "4.2"}


async def test_P5_a_start_that_hangs_is_bounded(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": {**Script("one", hangOn=["initialize"]).entry(), "readyTimeoutMs": 1000}})
    ran = await ombud_cli("doctor", "--start")
    assert ran.code == 1
    assert "one did not answer initialize within 1 s of its start" in " ".join(ran.out.split())


async def test_a_version_that_hangs_is_bounded(ombud_cli: Command, bin_folder: Path) -> None:
    program(bin_folder / "ruff", "trap '' TERM; echo 1.2.3; while :; do sleep 1; done")
    ran = await ombud_cli("doctor", "--json")
    assert (server(ran.json, "ruff")["state"], server(ran.json, "ruff")["version"]) == ("available", None)


async def test_T1_nothing_of_the_repository_is_run_before_it_is_trusted(ombud_cli: Command, tmp_path: Path) -> None:
    proof = tmp_path / "it ran"
    local = program(ombud_cli.root / ".venv/bin/ruff", f"touch {shlex.quote(str(proof))}; echo ruff 1.2.3")
    ran = await ombud_cli("doctor", "--start", "--json")
    assert server(ran.json, "ruff")["state"] == "not_trusted"
    assert not proof.exists()
    assert (await ombud_cli("trust")).code == 0
    ran = await ombud_cli("doctor", "--json")
    assert (server(ran.json, "ruff")["state"], server(ran.json, "ruff")["version"]) == ("available", "1.2.3")
    assert proof.exists()
    assert server(ran.json, "ruff")["command"][0] == str(local)


async def test_trust_is_said_before_it_is_given_and_taken_back(ombud_cli: Command) -> None:
    program(ombud_cli.root / ".venv/bin/ruff", "exit 0")
    program(ombud_cli.root / "pkg/node_modules/.bin/biome", "exit 0")
    (ombud_cli.root / "pkg/package.json").write_text("{}")
    (ombud_cli.root / "pkg/a.js").write_text("")
    assert "You trust no folder." in (await ombud_cli("trust", "--list")).out
    ran = await ombud_cli("trust")
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert text.index("Trust a folder when you know") < text.index(f"{ombud_cli.root} is trusted from now on")
    assert ".venv/bin/ruff (ruff)" in text
    assert "pkg/node_modules/.bin/biome (biome)" in text
    assert f"{ombud_cli.root} (2 programs, since " in (await ombud_cli("trust", "--list")).out
    status = (await ombud_cli("status", "--json", cwd=ombud_cli.root / "pkg", env={})).json
    assert status["trust"]["state"] == "trusted", "a folder in a trusted one is trusted"
    assert (await ombud_cli("trust", "--revoke")).code == 0
    assert (await ombud_cli("trust", "--revoke")).code == 1
    assert "You trust no folder." in (await ombud_cli("trust", "--list")).out
    assert "Nobody has trusted" in (await ombud_cli("doctor")).out


async def test_T5_a_program_that_changed_waits_for_new_trust(ombud_cli: Command) -> None:
    local = program(ombud_cli.root / ".venv/bin/ruff", "echo 1.0.0")
    await ombud_cli("trust")
    program(local, "echo 2.0.0")
    ran = await ombud_cli("doctor", "--json")
    found = server(ran.json, "ruff")
    assert (found["state"], found["version"]) == ("not_trusted", None)
    assert "has changed since" in found["reason"]
    await ombud_cli("trust")
    assert server((await ombud_cli("doctor", "--json")).json, "ruff")["version"] == "2.0.0"


async def test_trust_of_another_folder_by_path(ombud_cli: Command, workspace: Workspace) -> None:
    other = workspace({"pyproject.toml": ""}, name="other")
    ran = await ombud_cli("trust", "../other")
    assert f"{other} is trusted from now on, with no program of a server in it." in " ".join(ran.out.split())
    assert "Nobody has trusted" in (await ombud_cli("doctor")).out


async def test_T3_the_folder_that_holds_the_store_cannot_be_trusted(ombud_cli: Command, home: Path) -> None:
    ran = await ombud_cli("trust", str(home))
    assert ran.code == 1
    assert "the trust store lies in it" in ran.err


async def test_a_users_no_wins_over_the_store(ombud_cli: Command) -> None:
    ombud_cli.configure({}, trusted=False)
    ran = await ombud_cli("trust")
    assert ran.code == 1
    assert "trusted = false" in ran.err
    assert "no server is started at all" in " ".join((await ombud_cli("doctor")).out.split())


async def test_T2_what_a_workspace_may_not_say_is_told(ombud_cli: Command) -> None:
    (ombud_cli.root / ".ombud.toml").write_text('trusted = true\n[servers.ruff]\ncommand = ["./evil"]\n')
    ran = await ombud_cli("doctor", "--json")
    assert ran.json["trust"]["state"] == "unasked"
    assert any("trusted" in problem for problem in ran.json["problems"])
    assert any("servers.ruff.command" in problem for problem in ran.json["problems"])
    assert "Configuration: .ombud.toml: " in (await ombud_cli("doctor")).out


async def test_a_damaged_trust_store_is_told(ombud_cli: Command) -> None:
    store = Path(ombud_cli.environment["XDG_STATE_HOME"]) / "ombud" / "trust.json"
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text("{")
    store.chmod(0o600)
    assert "is damaged" in " ".join((await ombud_cli("doctor")).out.split())
    ran = await ombud_cli("trust", "--list")
    assert "is damaged" in " ".join(ran.err.split())


async def test_a_folder_with_nothing_in_it(ombud_cli: Command, workspace: Workspace) -> None:
    empty = workspace({}, name="empty")
    ran = await ombud_cli("doctor", "--start", cwd=empty)
    assert ran.code == 0
    assert "There are no files here in a language that Ombud knows." in ran.out


async def test_the_interpreter_of_the_project_is_trusted_with_it(ombud_cli: Command) -> None:
    interpreter = ombud_cli.root / ".venv/bin/python"
    interpreter.parent.mkdir(parents=True)
    os.symlink(sys.executable, interpreter)
    assert ".venv/bin/python (the project's interpreter)" in " ".join((await ombud_cli("trust")).out.split())
