"""``ombud debug`` and “debug-adapter” with debugpy: pipes, a terminal, data, exit codes and refusals."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import Workspace
from tests.debugging import line_of
from tests.peers.commands import Command
from tests.peers.test_cli_shapes import INTERRUPT, Terminal

APP = """\
import sys


def area(width, height):
    result = width * height
    return result  # area


for side in (1, 2, 3):
    print("side", side, area(side, side + 1))  # loop
sys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)
"""
TEST = "def test_good():\n    assert True\n\n\ndef test_bad():\n    total = 41\n    assert total == 42\n"
FILES = {
    "pyproject.toml": "",
    "app.py": APP,
    "tests/test_cart.py": TEST,
    "notes.txt": "text\n",
    "pkg/tool.py": "value = 7\nprint(value)\n",
}
AREA, LOOP = line_of(APP, "# area"), line_of(APP, "# loop")
STOP = f"app.py:{AREA}"


@pytest.fixture
async def ombud_cli(workspace: Workspace, environment: dict[str, str]) -> Command:
    command = Command(environment, workspace(FILES))
    command.configure({})
    # The project's interpreter: one that has pytest.
    command.environment["VIRTUAL_ENV"] = sys.prefix
    assert (await command("trust", ".")).code == 0
    return command


def debuggees(root: Path) -> list[psutil.Process]:
    lines = [(one, " ".join(one.info["cmdline"] or ())) for one in psutil.process_iter(["cmdline"])]
    return [one for one, line in lines if "debugpy" in line and str(root) in line]


async def test_in_a_pipe_the_moment_is_printed_and_the_program_is_ended(ombud_cli: Command) -> None:
    ran = await ombud_cli("debug", "--break", f"{STOP}:width == 2", "app.py")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == f"breakpoint at {STOP}"
    assert f"#0 area  {STOP}" in lines
    said = lines.index("   width = 2")
    assert lines[said : said + 3] == ["   width = 2", "   height = 3", "   result = 6"]
    assert any("→" in one and "return result" in one for one in lines)
    assert f"#1 <module>  app.py:{LOOP}" in lines
    assert not debuggees(ombud_cli.root)


async def test_as_data(ombud_cli: Command) -> None:
    ran = await ombud_cli("debug", "--json", "--break", STOP, "app.py")
    assert (ran.code, ran.err) == (0, "")
    assert list(ran.json) == ["launch", "snapshot"]
    assert (ran.json["launch"]["state"], ran.json["launch"]["line"]) == ("stopped", AREA)
    assert [one["name"] for one in ran.json["snapshot"]["frames"][0]["arguments"]] == ["width", "height"]
    assert not debuggees(ombud_cli.root)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["app.py", "--", "3"], "The program has ended with exit code 3."),
        (["--test", "tests/test_cart.py::test_good"], "The program has ended with exit code 0."),
        (["--module", "pkg.tool"], "The program has ended with exit code 0."),
    ],
)
async def test_what_never_stops_exits_1(ombud_cli: Command, argv: list[str], words: str) -> None:
    ran = await ombud_cli("debug", *argv)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.splitlines()[-1] == words
    data = await ombud_cli("debug", "--json", *argv)
    assert (data.code, data.json["snapshot"], data.json["launch"]["state"]) == (1, None, "exited")


async def test_a_failing_test_stops_where_it_fails(ombud_cli: Command) -> None:
    ran = await ombud_cli("debug", "--test", "test_cart.py::test_bad", cwd=ombud_cli.root / "tests")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "exception at tests/test_cart.py:7"
    assert lines[1].startswith("AssertionError: ")
    assert "   total = 41" in lines


async def test_a_breakpoint_that_stands_elsewhere_is_said(ombud_cli: Command) -> None:
    ran = await ombud_cli("debug", "--break", "app.py:900", "app.py")
    assert ran.code == 0
    last = len(APP.splitlines())
    assert ran.out.startswith(f"The breakpoint at app.py:900 stands at line {last}.\nbreakpoint at app.py:{last}\n")


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        ([], 2, "Name one of a PROGRAM, --test ID and --module NAME."),
        (["app.py", "--module", "x", "--test", "y"], 2, "Name one of"),
        (["--break", "app.py", "app.py"], 2, "--break takes FILE:LINE[:CONDITION], not 'app.py'."),
        (["--break", "app.py:0", "app.py"], 2, "--break takes"),
        (["--break", "app.py:x", "app.py"], 2, "--break takes"),
        (["--wait-ms", "soon", "app.py"], 2, "--wait-ms"),
        (["--wait-ms", "-5", "app.py"], 1, "invalid_params: "),
        (["missing.py"], 1, "not_found: missing.py does not exist"),
        (["--break", "missing.py:1", "app.py"], 1, "not_found: missing.py does not exist"),
        (["notes.txt"], 1, "unknown_language: No debug adapter is known for notes.txt"),
        (["/etc/passwd"], 1, "outside_workspace: "),
        (["--adapter", "nope", "app.py"], 1, "not_found: There is no debug adapter 'nope'"),
        (["--test", "nothing"], 1, "not_found: No test runner is known for 'nothing'"),
    ],
)
async def test_refusals(ombud_cli: Command, argv: list[str], code: int, words: str) -> None:
    ran = await ombud_cli("debug", *argv)
    assert (ran.code, ran.out) == (code, "")
    assert words in ran.err
    assert "Traceback" not in ran.err
    assert not debuggees(ombud_cli.root)


async def test_T1_nothing_runs_without_trust(ombud_cli: Command) -> None:
    assert (await ombud_cli("trust", "--revoke", ".")).code == 0
    ran = await ombud_cli("debug", "app.py")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("not_trusted: ")
    asked = await ombud_cli("debug-adapter", "--language", "python")
    assert (asked.code, asked.out) == (1, "")


SAID = f"p width * 100\nw\nbt\nl\np nope\nzzz\nu nonsense\no\ns\nu app.py:{LOOP + 1}\noutput\nc\n"


async def test_a_terminal_has_a_prompt(ombud_cli: Command) -> None:
    terminal = Terminal(ombud_cli)
    code = await terminal.run("debug", "--break", f"{STOP}:width == 1", "app.py", answers={"(ombud) ": SAID})
    seen = terminal.seen.replace("\r\n", "\n")
    assert code == 0, seen
    for words in (
        "n step over",
        "\n100\n(ombud) ",
        f"area  app.py:{AREA}\n<module>  app.py:{LOOP}\n",
        "width = 1\nheight = 2\nresult = 2\n",
        "NameError",
        "u takes FILE:LINE.",
        "   sys.exit(int(sys.argv[1]) if sys.argv[1:] else 0)",
        "side 3 12",
        "The program has ended with exit code 0.",
    ):
        assert words in seen, (words, seen)
    assert "Traceback" not in seen
    assert not debuggees(ombud_cli.root)


@pytest.mark.parametrize(("answer", "code"), [("q\n", 0), ("\x04", 0), (INTERRUPT, 130)], ids=["q", "end", "Ctrl-C"])
async def test_P1_the_prompt_leaves_nothing_behind(ombud_cli: Command, answer: str, code: int) -> None:
    terminal = Terminal(ombud_cli)
    assert await terminal.run("debug", "--break", STOP, "app.py", answers={"(ombud) ": answer}) == code, terminal.seen
    assert "Traceback" not in terminal.seen
    assert not debuggees(ombud_cli.root)


async def test_the_adapter_for_an_editor(ombud_cli: Command) -> None:
    by_path = (await ombud_cli("debug-adapter", "--path", "app.py", "--json")).json
    by_language = (await ombud_cli("debug-adapter", "--language", "py", "--json")).json
    assert (by_path["name"], by_path["transport"], by_path["cwd"]) == ("debugpy", "stdio", str(ombud_cli.root))
    assert by_path["command"] == by_language["command"]
    assert by_path["configuration"]["program"] == str(ombud_cli.root / "app.py")
    assert by_language["configuration"]["program"] == "${file}"
    assert shutil.which(by_path["command"][0]) is not None
    assert set(by_path["env"]) >= {"PATH", "HOME"}
    for argv, kind in (
        ([], "invalid_params"),
        (["--language", "python", "--path", "app.py"], "invalid_params"),
        (["--language", "klingon"], "unknown_language"),
        (["--path", "notes.txt"], "unknown_language"),
        (["--path", "missing.py"], "not_found"),
        (["--path", "/etc/passwd"], "outside_workspace"),
        (["--language", "python", "--adapter", "nope"], "not_found"),
    ):
        ran = await ombud_cli("debug-adapter", *argv)
        assert (ran.code, ran.out) == (1, ""), argv
        assert ran.err.startswith(f"{kind}: "), ran.err
