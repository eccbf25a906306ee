"""``ombud check`` with scripted language servers: what is printed, who answered, and the exit code."""

from __future__ import annotations

import pytest

from tests.conftest import Workspace
from tests.peers.commands import Command
from tests.peers.script import PeerLog, Script


@pytest.fixture
def ombud_cli(workspace: Workspace, environment: dict[str, str]) -> Command:
    files = {
        "x.toml": "",
        ".gitignore": "made/\n",
        "bad.x": "fine\nx ERROR(e1): very bad\n",
        "warn.x": "WARNING(w1): not nice\n",
        "good/a.x": "fine\n",
        "good/b.x": "fine too\n",
        "made/c.x": "ERROR(e2): nobody wrote this\n",
        "node_modules/d.x": "ERROR(e3): nor this\n",
        "notes.zz": "not a language\n",
    }
    return Command(environment, workspace(files))


async def test_errors_are_printed_as_compilers_do(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    ran = await ombud_cli("check")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "bad.x:2:3: error: very bad [one e1]",
        "warn.x:1:1: warning: not nice [one w1]",
        "1 error and 1 warning in 4 files. one answered for all 4 files.",
        "Not checked: 1 toml file, since no server for them can start. “ombud doctor” says why.",
    ]
    assert ran.err == ""


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["good"], 0),
        (["good/a.x"], 0),
        (["warn.x"], 0),
        (["warn.x", "--severity", "warning"], 1),
        (["warn.x", "--severity", "information"], 1),
        (["good", "bad.x"], 1),
        (["made"], 1),
        (["notes.zz"], 3),
        (["good", "notes.zz"], 3),
        (["missing.x"], 1),
        (["../elsewhere"], 1),
    ],
)
async def test_exit_codes(ombud_cli: Command, argv: list[str], code: int) -> None:
    ombud_cli.configure({"one": Script("one")})
    assert (await ombud_cli("check", *argv)).code == code


async def test_paths_are_seen_from_where_the_user_stands(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    ran = await ombud_cli("check", "../bad.x", ".", cwd=ombud_cli.root / "good")
    assert ran.out.splitlines()[0] == "bad.x:2:3: error: very bad [one e1]"
    assert "1 error in 3 files." in ran.out


async def test_several_servers_and_their_part(ombud_cli: Command) -> None:
    other = Script("two").entry([".y"])
    ombud_cli.configure({"one": Script("one"), "two": other, "all": Script("all").entry([".x", ".y"])})
    (ombud_cli.root / "good/c.y").write_text("fine\n")
    ran = await ombud_cli("check", "good")
    assert ran.code == 0
    assert ran.out == "Nothing found in 3 files. all answered for 3 files, one for 2 files, two for 1 file.\n"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (Script("one", diagnostics="none"), "had not reported within"),
        (Script("one", freezeOn=["textDocument/didOpen"]), "had not reported within"),
        (Script("one", dieBeforeInitialize={"stderr": "no licence today", "code": 3}), "no licence today"),
        (Script("one", refuseInitialize="not on a Monday"), "not on a Monday"),
        (Script("one", crashOn=[{"method": "textDocument/didOpen", "exitCode": 9}]), "one"),
    ],
)
async def test_D4_a_server_that_does_not_answer_is_exit_3(ombud_cli: Command, script: Script, reason: str) -> None:
    ombud_cli.configure({"one": script, "two": Script("two")})
    ran = await ombud_cli("check", "good", "--wait-ms", "1500")
    assert ran.code == 3
    assert "Nothing found in 2 files." not in ran.out
    assert "Not known: one did not answer for 2 files (good/a.x, good/b.x)." in ran.out
    assert reason in " ".join(ran.out.split())
    assert "two answered for all 2 files." in ran.out or "two answered for 2 files." in ran.out


async def test_an_error_that_was_found_counts_before_an_answer_that_is_missing(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one", diagnostics="none"), "two": Script("two")})
    ran = await ombud_cli("check", "bad.x", "--wait-ms", "1000")
    assert ran.code == 1
    assert "Not known: one did not answer for 1 file (bad.x)." in ran.out


async def test_the_same_as_data(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one"), "two": Script("two", diagnostics="none")})
    ran = await ombud_cli("check", "bad.x", "notes.zz", "--json", "--wait-ms", "1000")
    data = ran.json
    assert (ran.code, data["exitCode"], data["files"], data["note"]) == (1, 1, 1, None)
    assert [(item["path"], item["line"], item["code"]) for item in data["diagnostics"]] == [("bad.x", 2, "e1")]
    assert data["servers"] == [{"name": "one", "files": 1}]
    assert [(item["path"], item.get("server")) for item in data["missing"]] == [("bad.x", "two"), ("notes.zz", None)]


async def test_a_project_without_servers_is_not_clean(ombud_cli: Command) -> None:
    ran = await ombud_cli("check", "good")
    assert (ran.code, ran.out) == (3, "Nothing was checked: no language server is for any of these files.\n")


async def test_files_of_a_server_that_is_missing_are_counted(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    (ombud_cli.root / "go.mod").write_text("module x\n")
    (ombud_cli.root / "main.go").write_text("package main\n")
    ran = await ombud_cli("check", "good", "main.go")
    assert ran.code == 3, "a file that was named and not checked is not clean"
    assert "Not checked: main.go. gopls: gopls is not on PATH" in ran.out
    ran = await ombud_cli("check", ".")
    assert ran.code == 1
    assert "1 go file and 1 toml file, since no server for them can start." in ran.out
    ran = await ombud_cli("check", ".", "--json")
    assert any(one["language"] == "go" and "gopls is not on PATH" in one["reason"] for one in ran.json["skipped"])


async def test_a_sensitive_file_is_refused_by_name_and_passed_over_in_a_walk(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one").entry([".x", ".env"])})
    (ombud_cli.root / "good/.env").write_text("ERROR(e5): x\n")
    assert (await ombud_cli("check", "good")).code == 0
    ran = await ombud_cli("check", "good/.env")
    assert (ran.code, ran.err.partition(":")[0]) == (1, "sensitive_path")


async def test_many_files_go_through_one_server(ombud_cli: Command, peer_log: PeerLog) -> None:
    ombud_cli.configure({"one": Script("one", log=peer_log, diagnostics="pull")})
    for number in range(60):
        (ombud_cli.root / f"good/n{number}.x").write_text("WARNING(w): x\n" if number % 2 else "fine\n")
    ran = await ombud_cli("check", "good")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "30 warnings in 62 files. one answered for all 62 files."
    assert len(peer_log.starts()) == 1
    assert peer_log.violations() == []
