"""``ombud <operation>`` with scripted language servers: results, refusals, and that nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Workspace
from tests.peers.commands import Command
from tests.peers.script import PeerLog, Script

FILES = {"x.toml": "", "a.x": "first\nsecond word\n", "sub/b.x": "ERROR(e1): bad here\nfine\n"}


@pytest.fixture
def ombud_cli(workspace: Workspace, environment: dict[str, str]) -> Command:
    return Command(environment, workspace(FILES))


async def test_hover_by_line_and_symbol(ombud_cli: Command, peer_log: PeerLog) -> None:
    ombud_cli.configure({"one": Script("one", log=peer_log)})
    ran = await ombud_cli("lsp", "hover", "--path", "a.x", "--line", "2", "--symbol", "word")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == "one: line 1: second word\n"
    assert peer_log.methods()[-2:] == ["shutdown", "exit"]


async def test_json_is_the_exact_result_object(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    ran = await ombud_cli("lsp", "hover", "--path", "a.x", "--line", "2", "--symbol", "word", "--json")
    assert ran.code == 0
    result = ran.json
    assert list(result) == ["items", "complete", "servers", "note"]
    assert (result["complete"], result["servers"], result["note"]) == (True, ["one"], None)
    assert result["items"][0]["text"] == "one: line 1: second word"


async def test_a_path_is_seen_from_where_the_user_stands(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    ran = await ombud_cli("diagnostics", "b.x", cwd=ombud_cli.root / "sub")
    assert ran.out.splitlines()[0].startswith("sub/b.x:1:")
    again = await ombud_cli("lsp", "symbols", "--path", "../a.x", "--json", cwd=ombud_cli.root / "sub")
    assert again.code == 0
    other = await ombud_cli("--root", str(ombud_cli.root), "diagnostics", "a.x", cwd=ombud_cli.root.parent)
    assert (other.code, other.out.partition(":")[0]) == (1, ""), "a.x is not in the folder that the user stands in"


async def test_the_root_is_named_on_either_side(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    path = str(ombud_cli.root / "a.x")
    for argv in (["--root", str(ombud_cli.root), "diagnostics", path], ["diagnostics", path, "--root", "ws"]):
        ran = await ombud_cli(*argv, cwd=ombud_cli.root.parent)
        assert (ran.code, ran.out.splitlines()[0]) == (0, "Nothing found in a.x."), ran


@pytest.mark.parametrize(
    ("argv", "kind", "words"),
    [
        (["diagnostics", "missing.x"], "not_found", "missing.x does not exist"),
        (["diagnostics", "sub"], "not_text", "sub is a folder"),
        (["diagnostics", "../../etc/passwd"], "outside_workspace", "outside the workspace"),
        (["diagnostics", "/etc/passwd"], "outside_workspace", "outside the workspace"),
        (["write", ".env", "--content", "x"], "sensitive_path", ".env"),
        (["write", "../out.x", "--content", "x"], "outside_workspace", "outside the workspace"),
        (["diagnostics", "x.toml"], "no_server", "x.toml"),
        (["lsp", "hover", "--path", "a.x", "--line", "9", "--symbol", "x"], "invalid_params", "no line 9"),
        (["lsp", "hover", "--path", "a.x", "--line", "1", "--symbol", "nope"], "invalid_params", "'first'"),
        (["reload", "--server", "onee"], "not_found", "'one'"),
    ],
)
async def test_F8_a_refusal_exits_1_and_says_its_kind(
    ombud_cli: Command, argv: list[str], kind: str, words: str
) -> None:
    ombud_cli.configure({"one": Script("one")})
    ran = await ombud_cli(*argv)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"{kind}: ")
    assert words in ran.err
    assert "Traceback" not in ran.err


async def test_an_edit_says_what_it_introduced_and_its_fix_what_it_resolved(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    edits = json.dumps([{"oldText": "fine", "newText": "ERROR(e2): worse"}])
    ran = await ombud_cli("edit", "b.x", "--edits", edits, cwd=ombud_cli.root / "sub")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0].startswith("Wrote sub/b.x (+1 −1). Introduced 1 diagnostic")
    assert lines[1:3] == ["introduced", "  sub/b.x:2:1: error: worse [one e2]"]
    assert "bad here" not in ran.out, "what was wrong before is only counted"
    assert lines[-2:] == ["one answered for this content.", "“ombud rollback c1” undoes it."]
    back = json.dumps([{"oldText": "ERROR(e2): worse", "newText": "fine"}])
    ran = await ombud_cli("edit", "sub/b.x", "--edits", "-", "--json", stdin=back.encode())
    report = ran.json["diagnostics"]
    assert next(iter(ran.json)) == "applied"
    assert ([one["code"] for one in report["resolved"]], report["introduced"], report["stillPresent"]) == (
        ["e2"],
        [],
        1,
    )


async def test_a_conflict_shows_the_nearest_lines(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    ran = await ombud_cli("edit", "a.x", "--edits", '[{"oldText": "second wrod", "newText": "x"}]')
    assert (ran.code, ran.out) == (1, "")
    head, *rest = ran.err.splitlines()
    assert head.startswith("conflict: ")
    assert "      2  second word" in rest
    assert (ombud_cli.root / "a.x").read_text() == FILES["a.x"]


async def test_C6_a_file_is_written_to_the_byte_from_standard_input(ombud_cli: Command) -> None:
    ran = await ombud_cli("write", "new/deep.txt", "--content", "-", stdin="é\r\nlast".encode())
    assert ran.code == 0
    assert (ombud_cli.root / "new/deep.txt").read_bytes() == "é\r\nlast".encode()
    assert "nothing is known of what it broke" in ran.out


async def test_a_server_that_starts_slowly_is_waited_for(ombud_cli: Command) -> None:
    """The contract's 5 s are for servers that run already; a command's servers are always cold."""
    ombud_cli.configure({"one": Script("one", startDelayMs=6000)})
    ran = await ombud_cli("write", "sub/b.x", "--content", "ERROR(e9): new\n", "--json")
    report = ran.json["diagnostics"]
    assert [one["freshness"] for one in report["servers"]] == ["fresh"]
    assert ([one["code"] for one in report["introduced"]], [one["code"] for one in report["resolved"]]) == (
        ["e9"],
        ["e1"],
    )


async def test_D4_a_wait_that_the_user_set_is_kept(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one", diagnostics="none")})
    ran = await ombud_cli("diagnostics", "a.x", "--wait-ms", "300")
    assert ran.code == 0
    assert "Nothing found" not in ran.out
    assert "one has not answered (timed_out)" in ran.out


async def test_the_whole_workspace_is_asked_although_nothing_runs(ombud_cli: Command, peer_log: PeerLog) -> None:
    ombud_cli.configure({"one": Script("one", log=peer_log)})
    ran = await ombud_cli("lsp", "symbols", "--query", "second")
    assert ran.code == 0, ran
    assert "workspace/symbol" in peer_log.methods()


async def test_P3_more_servers_than_may_run_take_turns(ombud_cli: Command) -> None:
    ombud_cli.configure({name: Script(name) for name in ("one", "two", "three")}, maxServers=1)
    ran = await ombud_cli("diagnostics", "sub/b.x", "--json")
    assert sorted(one["name"] for one in ran.json["servers"] if one["freshness"] == "fresh") == ["one", "three", "two"]


async def test_a_server_that_dies_at_its_start_is_quoted(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one", dieBeforeInitialize={"stderr": "no licence today", "code": 3})})
    ran = await ombud_cli("lsp", "hover", "--path", "a.x", "--line", "1", "--symbol", "first")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("server_failed: ")
    assert "no licence today" in ran.err


async def test_C9_a_secret_in_a_servers_words_is_not_shown(ombud_cli: Command) -> None:
    words = "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789"
    ombud_cli.configure({"one": Script("one", dieBeforeInitialize={"stderr": words, "code": 3})})
    ran = await ombud_cli("-v", "lsp", "hover", "--path", "a.x", "--line", "1", "--symbol", "first")
    assert ran.code == 1
    assert "abcdefghijklmnopqrstuvwxyz0123456789" not in ran.err + ran.out


async def test_status_starts_nothing(ombud_cli: Command, peer_log: PeerLog) -> None:
    ombud_cli.configure({"one": Script("one", log=peer_log)})
    ran = await ombud_cli("status", "--json")
    states: dict[str, Any] = {one["name"]: one["state"] for one in ran.json["servers"]}
    assert states["one"] == "available"
    assert peer_log.starts() == []


@pytest.mark.parametrize(("argv", "seen"), [(["-v"], True), ([], False), (["-q"], False), (["-q", "-v"], False)])
async def test_progress_is_no_part_of_the_result(ombud_cli: Command, argv: list[str], seen: bool) -> None:
    ombud_cli.configure({"one": Script("one")})
    ran = await ombud_cli(*argv, "lsp", "hover", "--path", "a.x", "--line", "1", "--symbol", "first")
    assert ran.out == "one: line 0: first\n"
    assert ("starting one" in ran.err and "one is ready" in ran.err) is seen
    assert seen or ran.err == ""


async def test_a_folder_that_is_gone(ombud_cli: Command, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    process = await ombud_cli.start("status", cwd=gone, preexec_fn=gone.rmdir)
    ran = await ombud_cli.end(process)
    assert (ran.code, ran.out) == (1, "")
    assert "does not exist any more" in ran.err
