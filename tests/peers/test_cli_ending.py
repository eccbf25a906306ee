"""How a command ends: by a signal, by a reader that leaves, by a full disk; each time with nothing left behind."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import signal
from pathlib import Path

import pytest

from tests.conftest import Workspace
from tests.peers.commands import Command
from tests.peers.script import PeerLog, Script


@pytest.fixture
def ombud_cli(workspace: Workspace, environment: dict[str, str]) -> Command:
    return Command(environment, workspace({"x.toml": "", "a.x": "first\n", "b.x": "ERROR(e): bad\n"}))


HOVER = ("lsp", "hover", "--path", "a.x", "--line", "1", "--symbol", "first")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize("where", ["initialize", "textDocument/hover"])
async def test_P1_a_signal_ends_the_servers_too(
    ombud_cli: Command, peer_log: PeerLog, number: signal.Signals, code: int, where: str
) -> None:
    ombud_cli.configure({"one": Script("one", log=peer_log, hangOn=[where], spawn=True)})
    process = await ombud_cli.start(*HOVER)
    await peer_log.wait_received(where)
    process.send_signal(number)
    ran = await ombud_cli.end(process)
    assert (ran.code, ran.out) == (code, "")
    assert "Traceback" not in ran.err
    # The fixture that looks for processes left behind is the rest of this test.


async def test_a_signal_that_is_ignored_stays_so(ombud_cli: Command, peer_log: PeerLog) -> None:
    """``nohup ombud check`` goes on when its terminal is closed."""
    ombud_cli.configure({"one": Script("one", log=peer_log, slow={"textDocument/hover": 1000})})
    process = await ombud_cli.start(*HOVER, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    await peer_log.wait_received("textDocument/hover")
    process.send_signal(signal.SIGHUP)
    ran = await ombud_cli.end(process)
    assert (ran.code, ran.out) == (0, "one: line 0: first\n")


async def test_a_second_signal_does_not_wait(ombud_cli: Command, peer_log: PeerLog) -> None:
    stubborn = Script(
        "one",
        log=peer_log,
        hangOn=["textDocument/hover"],
        ignoreShutdown=True,
        ignoreExit=True,
        ignoreEof=True,
        ignoreSigterm=True,
    )
    ombud_cli.configure({"one": stubborn})
    process = await ombud_cli.start(*HOVER)
    await peer_log.wait_received("textDocument/hover")
    process.send_signal(signal.SIGINT)
    await peer_log.wait_received("shutdown")
    process.send_signal(signal.SIGINT)
    ran = await ombud_cli.end(process)
    assert ran.code == 130
    assert "Traceback" not in ran.err


async def test_P1_after_kill_9_nothing_is_left(ombud_cli: Command, peer_log: PeerLog) -> None:
    ombud_cli.configure({"one": Script("one", log=peer_log, hangOn=["textDocument/hover"], ignoreEof=True)})
    process = await ombud_cli.start(*HOVER)
    await peer_log.wait_received("textDocument/hover")
    process.kill()
    assert (await ombud_cli.end(process)).code == -signal.SIGKILL


@pytest.mark.parametrize(
    "argv", [HOVER, ("check",), ("status",), ("doctor",), ("--help",), ("lsp", "--help"), ("--version",)]
)
async def test_P7_a_reader_that_leaves_is_no_fault(ombud_cli: Command, argv: tuple[str, ...]) -> None:
    ombud_cli.configure({"one": Script("one")})
    reader, writer = os.pipe()
    os.close(reader)
    try:
        process = await ombud_cli.start(*argv, stdout=writer)
    finally:
        os.close(writer)
    ran = await ombud_cli.end(process)
    assert (ran.code, ran.err) in ((141, ""), (0, ""))
    # argparse swallows what it cannot write; whatever we write ourselves is noticed.
    assert ran.code == 141 or "--help" in argv


async def test_a_reader_that_leaves_in_the_middle(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})
    # More than the pipe and asyncio's own buffers hold together.
    (ombud_cli.root / "long.x").write_text(("ERROR(e): " + "y" * 400 + "\n") * 3000)
    process = await ombud_cli.start("diagnostics", "long.x")
    assert process.stdout is not None
    assert await process.stdout.read(10)
    process.stdout._transport.close()  # type: ignore[attr-defined]  # the only way to stop reading a pipe of asyncio's
    assert await asyncio.wait_for(process.wait(), 60) == 141
    assert process.stderr is not None
    assert await process.stderr.read() == b""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("argv", [HOVER, ("status",), ("--help",)])
async def test_C2_a_result_that_cannot_be_written_is_not_a_success(ombud_cli: Command, argv: tuple[str, ...]) -> None:
    ombud_cli.configure({"one": Script("one")})
    full = os.open("/dev/full", os.O_WRONLY)
    try:
        process = await ombud_cli.start(*argv, stdout=full)
    finally:
        os.close(full)
    ran = await ombud_cli.end(process)
    assert ran.code == 1
    assert "The result could not be written: No space left on device." in ran.err
    assert "Traceback" not in ran.err
    assert "Exception" not in ran.err


async def test_closed_streams(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one")})

    def close_both() -> None:
        os.close(1)
        os.close(2)

    process = await ombud_cli.start("status", stdout=None, stderr=None, preexec_fn=close_both)
    assert (await ombud_cli.end(process)).code == 0


async def test_a_terminal_sees_progress_and_colours_and_none_of_it_stays(ombud_cli: Command) -> None:
    ombud_cli.configure({"one": Script("one", startDelayMs=1500)})
    master, slave = pty.openpty()
    shown = bytearray()
    loop = asyncio.get_running_loop()
    done = asyncio.Event()

    def read() -> None:
        try:
            data = os.read(master, 65536)
        except OSError:
            data = b""
        shown.extend(data)
        if not data:
            loop.remove_reader(master)
            done.set()

    loop.add_reader(master, read)
    try:
        process = await ombud_cli.start(
            "check", "b.x", stdout=slave, stderr=slave, env={"TERM": "xterm", "NO_COLOR": ""}
        )
        os.close(slave)
        ran = await ombud_cli.end(process)
        await asyncio.wait_for(done.wait(), 20)
    finally:
        loop.remove_reader(master)
        os.close(master)
    text = shown.decode().replace("\r\n", "\n")
    assert ran.code == 1
    assert "starting one … " in text
    assert "checked 0 of 1" in text
    assert "\x1b[31merror:\x1b[0m" in text
    # What a person is left with: every erased line taken away.
    left = re.sub(r"\x1b\[[0-9;]*m", "", re.sub(r"[^\n]*\r\x1b\[2K", "", text))
    assert left == "b.x:1:1: error: bad [one e]\n1 error in 1 file. one answered for the file.\n"


async def test_the_question_of_trust_is_told_and_not_asked(ombud_cli: Command) -> None:
    code = {**Script("code").entry(), "runsWorkspaceCode": True}
    ombud_cli.configure({"one": Script("one"), "code": code})
    ran = await ombud_cli("diagnostics", "a.x")
    assert ran.code == 0
    assert "See “ombud trust --help”." in ran.err
    assert ran.err.count("\n") == 1
    assert (await ombud_cli("-q", "diagnostics", "a.x")).err == ""
