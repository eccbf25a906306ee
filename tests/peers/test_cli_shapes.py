"""``ombud grep``, ``rewrite`` and ``scan``: what is printed, the exit codes, a terminal and a closed pipe."""

from __future__ import annotations

import asyncio
import os
import pty
import signal
from pathlib import Path

import pytest

from tests.conftest import Workspace
from tests.peers.commands import LIMIT, Command

FILES = {
    "x.toml": "",
    "app.py": "import os\n\n\ndef f(x):\n    print('é', x)\n    return g(\n        x,\n        1,\n    )\n",
    "lib/b.py": "print(2)\n# print(3)\n",
    "web/a.ts": "print(4);\nconst s = 'print(5)';\n",
    ".ombud/rules/a.yml": "id: no-print\nlanguage: python\npattern: print($$$A)\nseverity: error\n"
    "message: No print of $$$A.\nfix: log($$$A)\n",
    ".ombud/rules/b.yml": "id: two\nlanguage: python\npattern: g($$$)\n",
}


@pytest.fixture
def ombud_cli(workspace: Workspace, environment: dict[str, str]) -> Command:
    command = Command(environment, workspace(FILES))
    command.configure({})
    return command


@pytest.mark.parametrize(
    ("argv", "out"),
    [
        (["print($$$A)"], ["app.py:5:    print('é', x)", "lib/b.py:1:print(2)", "web/a.ts:1:print(4);"]),
        (["print($$$A)", "lib", "web/a.ts"], ["lib/b.py:1:print(2)", "web/a.ts:1:print(4);"]),
        (["print($$$A)", "lib", "--lang", "py", "."], ["lib/b.py:1:print(2)", "app.py:5:    print('é', x)"]),
        (["print($X)", "--where", "X.regex=^2"], ["lib/b.py:1:print(2)"]),
        (["print($X)", "--where", "X=4"], ["web/a.ts:1:print(4);"]),
        (["print($$$)", "--inside", "def f($$$): $$$", "--lang", "python"], ["app.py:5:    print('é', x)"]),
        (["print($$$)", "-l"], ["app.py", "lib/b.py", "web/a.ts"]),
        (["print($$$)", "-c", "-g", "*.py"], ["app.py:1", "lib/b.py:1"]),
        (["-e", "print(2)", "-e", "g($$$)"], ["app.py:6:    return g(", *(f"app.py:{n}:{t}" for n, t in
            ((7, "        x,"), (8, "        1,"), (9, "    )"))), "lib/b.py:1:print(2)"]),
        (["print($$$)", "-m", "1", "-q"], ["app.py:5:    print('é', x)"]),
        (["print($X)", "-A1", "lib"], ["lib/b.py:1:print(2)", "lib/b.py-2-# print(3)"]),
        (["print($$$)", "-B", "1", "app.py"], ["app.py-4-def f(x):", "app.py:5:    print('é', x)"]),
    ],
)  # fmt: skip
async def test_grep_prints_what_it_finds(ombud_cli: Command, argv: list[str], out: list[str]) -> None:
    ran = await ombud_cli("grep", *argv)
    assert (ran.out.splitlines(), ran.code) == (out, 0), ran.err


async def test_grep_from_a_folder_within(ombud_cli: Command) -> None:
    ran = await ombud_cli("grep", "print($$$)", cwd=ombud_cli.root / "lib")
    assert (ran.out, ran.code) == ("lib/b.py:1:print(2)\n", 0)
    ran = await ombud_cli("grep", "print($$$)", "../web", cwd=ombud_cli.root / "lib")
    assert (ran.out, ran.code) == ("web/a.ts:1:print(4);\n", 0)


@pytest.mark.parametrize(
    ("argv", "code", "words"),
    [
        (["grep", "nothing($X)"], 1, "Nothing found in 3 files"),
        (["grep", "def ("], 2, "unparseable_pattern: "),
        (["grep", "f($X)", "--lang", "klingon"], 2, "unknown_language: "),
        (["grep", "f($X)", "lib", "/etc"], 2, "outside_workspace: "),
        (["grep", "f($X)", "missing"], 2, "not_found: "),
        (["grep", "f($X)", "--where", "Y.regex=a"], 2, "invalid_params: "),
        (["grep", "f($X)", "--where", "X.regex=("], 2, "invalid_params: "),
        (["grep"], 2, "What is to be found?"),
        (["grep", "f($X)", "--colour"], 2, "Unrecognized arguments"),
        (["rewrite", "f($X)"], 2, "required"),
        (["rewrite", "nothing($X)", "a"], 1, ""),
        (["rewrite", "print($X)", "log($Y)"], 2, "invalid_params: "),
        (["rewrite", "print($X)", "log($X)", "lib", "../.."], 2, "outside_workspace: "),
        (["scan", "lib", "../.."], 1, "outside_workspace: "),
        (["scan", "--rules", "tow"], 1, "Did you mean the rule two?"),
        (["scan", "--yes"], 2, "--yes is for --fix"),
        (["scan", "--fix", "--json"], 2, "--fix goes with neither"),
    ],
)
async def test_what_cannot_be_done_says_so(ombud_cli: Command, argv: list[str], code: int, words: str) -> None:
    ran = await ombud_cli(*argv)
    assert ran.code == code, ran
    assert words in ran.err
    assert "Traceback" not in ran.err


async def test_json_is_the_exact_result_object(ombud_cli: Command) -> None:
    ran = await ombud_cli("grep", "print($X)", "lib", "--json")
    assert ran.code == 0
    assert ran.json["matches"][0]["captures"]["X"]["text"] == "2"
    several = await ombud_cli("grep", "print($X)", "lib", "web", "--json")
    assert [len(one["matches"]) for one in several.json] == [1, 1]
    scanned = await ombud_cli("scan", "--path", "lib", "--json")
    assert scanned.code == 1
    assert [one["ruleId"] for one in scanned.json["findings"]] == ["no-print"]


async def test_scan_prints_findings_and_what_they_come_to(ombud_cli: Command) -> None:
    ran = await ombud_cli("scan")
    assert ran.code == 1
    assert ran.out.splitlines() == [
        "app.py:5:5: error: No print of 'é', x. [no-print, can be fixed]",
        "    print('é', x)",
        "app.py:6:12: warning: two [two]",
        "    g( …",
        "lib/b.py:1:1: error: No print of 2. [no-print, can be fixed]",
        "    print(2)",
        "2 errors and 1 warning in 2 files with 2 rules.",
    ]
    assert (await ombud_cli("scan", "--rules", "two")).code == 0
    within = await ombud_cli("scan", "../..", "--rules", "a.yml", cwd=ombud_cli.root / ".ombud/rules")
    assert [line for line in within.out.splitlines() if "[" in line] == [
        ran.out.splitlines()[0],
        ran.out.splitlines()[4],
    ]
    assert (await ombud_cli("scan", "--rules", "two", "--severity", "warning")).code == 1


async def test_scan_fixes_what_it_shows(ombud_cli: Command) -> None:
    refused = await ombud_cli("scan", "--fix")
    assert refused.code == 1
    assert "-print(2)\n+log(2)\n" in refused.out
    assert "2 fixes in 2 files not written" in refused.err
    assert (ombud_cli.root / "lib/b.py").read_text() == FILES["lib/b.py"]
    ran = await ombud_cli("scan", "--fix", "--yes")
    assert ran.code == 0, ran
    assert (ombud_cli.root / "lib/b.py").read_text() == "log(2)\n# print(3)\n"
    assert (ombud_cli.root / "app.py").read_text() == FILES["app.py"].replace("print", "log")
    assert "1 warning in 2 files with 2 rules." in ran.out
    assert "undoes it" in ran.out


async def test_a_rewrite_is_staged_where_nobody_can_be_asked(ombud_cli: Command) -> None:
    ran = await ombud_cli("rewrite", "print($$$A)", "log($$$A)", "--lang", "python")
    assert ran.code == 1
    assert "-print(2)\n+log(2)\n" in ran.out
    assert "2 replacements in 2 files." in ran.out
    assert "It is staged as e1" in ran.err
    assert (ombud_cli.root / "lib/b.py").read_text() == FILES["lib/b.py"]
    written = await ombud_cli("resolve", "e1", "--action", "commit")
    assert written.code == 0, written
    assert (ombud_cli.root / "lib/b.py").read_text() == "log(2)\n# print(3)\n"


async def test_a_rewrite_is_written_at_once_with_yes(ombud_cli: Command) -> None:
    ran = await ombud_cli("rewrite", "print($$$A)", "log($$$A)", "lib", "web", "--yes")
    assert ran.code == 0, ran
    assert (ombud_cli.root / "lib/b.py").read_text() == "log(2)\n# print(3)\n"
    assert (ombud_cli.root / "web/a.ts").read_text() == FILES["web/a.ts"].replace("print(4)", "log(4)")
    assert (ombud_cli.root / "app.py").read_text() == FILES["app.py"], "only what was named"
    as_data = await ombud_cli("rewrite", "g($$$A)", "h($$$A)", "--json")
    assert as_data.code == 0
    assert as_data.json["files"][0]["replacements"] == 1
    assert (ombud_cli.root / "app.py").read_text() == FILES["app.py"]


INTERRUPT = "Ctrl-C"


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self.ours, self._theirs = pty.openpty()
        self.seen = ""

    async def run(self, *argv: str, answers: dict[str, str], env: dict[str, str] | None = None) -> int | None:
        """Run to the end, answering where a question ends in one of the keys; what was shown is in ``seen``."""
        theirs = self._theirs
        process = await self._command.start(
            *argv, stdin=theirs, stdout=theirs, stderr=theirs, env={"TERM": "xterm", **(env or {})}
        )
        os.close(theirs)
        arrived = asyncio.Event()
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                data = os.read(self.ours, 65536)
            except OSError:
                data = b""
            if not data:
                loop.remove_reader(self.ours)
            self.seen += data.decode("utf-8", "replace")
            arrived.set()

        loop.add_reader(self.ours, read)
        try:
            async with asyncio.timeout(LIMIT):
                for question, answer in answers.items():
                    while question not in self.seen:
                        arrived.clear()
                        await arrived.wait()
                    if answer == INTERRUPT:
                        process.send_signal(signal.SIGINT)
                    else:
                        os.write(self.ours, answer.encode())
                return await process.wait()
        finally:
            loop.remove_reader(self.ours)
            if process.returncode is None:
                process.kill()
                await process.wait()
            # What was written before the end may not have been read yet.
            os.set_blocking(self.ours, False)
            while True:
                try:
                    data = os.read(self.ours, 65536)
                except OSError:
                    break
                if not data:
                    break
                self.seen += data.decode("utf-8", "replace")
            os.close(self.ours)


@pytest.mark.parametrize(
    ("answer", "code", "text"),
    [("y\n", 0, "log(2)\n# print(3)\n"), ("\n", 1, FILES["lib/b.py"]), ("\x04", 1, FILES["lib/b.py"])],
)
async def test_a_terminal_is_asked(ombud_cli: Command, answer: str, code: int, text: str) -> None:
    terminal = Terminal(ombud_cli)
    question = "Write 1 replacement in 1 file? [y/N] "
    ended = await terminal.run("rewrite", "print($X)", "log($X)", "lib", answers={question: answer})
    assert ended == code, terminal.seen
    assert "\x1b[31m-print(2)\x1b[0m" in terminal.seen
    assert (ombud_cli.root / "lib/b.py").read_text() == text
    if code:
        assert "Nothing was written." in terminal.seen


async def test_ctrl_c_at_the_question_writes_nothing(ombud_cli: Command) -> None:
    terminal = Terminal(ombud_cli)
    ended = await terminal.run("rewrite", "print($X)", "log($X)", "lib", answers={"[y/N] ": INTERRUPT})
    assert ended == 130, terminal.seen
    assert (ombud_cli.root / "lib/b.py").read_text() == FILES["lib/b.py"]


async def test_colours_are_for_terminals(ombud_cli: Command) -> None:
    terminal = Terminal(ombud_cli)
    assert await terminal.run("grep", "print($X)", "lib", answers={}) == 0
    assert "\x1b[31;1mprint(2)\x1b[0m" in terminal.seen
    plain = Terminal(ombud_cli)
    assert await plain.run("grep", "print($X)", "lib", answers={}, env={"NO_COLOR": "1"}) == 0
    assert "\x1b[31;1m" not in plain.seen
    ran = await ombud_cli("grep", "print($X)", "lib", "--color", "always")
    assert "\x1b[31;1mprint(2)\x1b[0m" in ran.out


async def test_a_reader_that_leaves_ends_it_quietly(ombud_cli: Command, tmp_path: Path) -> None:
    (ombud_cli.root / "many.py").write_text("print(0)\n" * 5_000)
    process = await ombud_cli.start("grep", "print($X)")
    assert process.stdout is not None
    process.stdout._transport.close()  # type: ignore[attr-defined]
    ran = await ombud_cli.end(process)
    assert (ran.code, ran.err) == (141, "")
