"""One child: its bytes, its end, its start failures."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from ombud.errors import PeerError
from ombud.process import child as child_module
from ombud.process.exit import Exit, describe
from ombud.process.ladder import Grace, end

from tests.children import ON_LINUX, Children, Kept, lives, marked, python, shell
from tests.waiting import wait_until

CAT = "/bin/cat"


@pytest.fixture
async def children(tmp_path: Path) -> AsyncIterator[Children]:
    async with Children(tmp_path) as started:
        yield started


async def test_bytes_pass_both_ways_unchanged_and_without_a_task_between(children: Children) -> None:
    kept = await children.start([CAT])
    data = bytes(range(256)) * 8192
    for at in range(0, len(data), 65_537):
        kept.child.write(data[at : at + 65_537])
    kept.child.close_stdin()
    end = await kept.child.wait()
    assert bytes(kept.output) == data
    assert end == Exit(0, None, "exited with code 0")
    assert not any(kept.in_task)


async def test_the_child_leads_a_session_and_a_group_of_its_own(children: Children) -> None:
    kept = await children.start([CAT])
    assert kept.child.pid == kept.child.pgid == os.getpgid(kept.child.pid) == os.getsid(kept.child.pid)
    assert kept.child.pid != os.getpid()
    assert kept.child.returncode is None
    assert 0 <= time.monotonic() - kept.child.started_at < 60


async def test_the_child_carries_the_guardians_mark_and_its_own(children: Children) -> None:
    show = shell('echo "$OMBUD_HUB $OMBUD_CHILD"')
    first, second = await children.start(show), await children.start(show, env={"OMBUD_HUB": "forged"})
    await asyncio.gather(first.child.wait(), second.child.wait())
    hubs, marks = zip(*(bytes(kept.output).decode().split() for kept in (first, second)), strict=True)
    assert set(hubs) == {children.guardian.marker}
    assert len(set(marks)) == 2


@pytest.mark.parametrize("_round", range(5))
async def test_the_end_is_told_once_and_after_all_output(children: Children, _round: int) -> None:
    kept = await children.start(python("import os\nfor _ in range(40): os.write(1, b'x' * 65536)"))
    end = await kept.child.wait()
    await kept.child.gone()
    assert kept.exits == [end]
    assert kept.output_at_exit == 40 * 65536
    assert kept.child.returncode == 0


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("exit 3", Exit(3, None, "exited with code 3")),
        ("kill -KILL $$", Exit(None, "SIGKILL", "was killed by SIGKILL")),
        ("kill -SEGV $$", Exit(None, "SIGSEGV", "was killed by SIGSEGV")),
    ],
)
async def test_an_exit_in_words(children: Children, code: str, expected: Exit) -> None:
    assert await (await children.start(shell(code))).child.wait() == expected


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    nameless = next(n for n in range(1, 128) if n not in set(signal.Signals))
    assert describe(-nameless).words == f"was killed by signal {nameless}"


async def test_a_grandchild_that_holds_the_output_does_not_hold_up_the_end(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "SWEEP_TERM", 60.0)
    kept = await children.start(shell("trap '' TERM; sleep 600 & echo $!; exit 4"))
    end = await asyncio.wait_for(kept.child.wait(), 30)
    grandchild = int(kept.output)
    assert end.code == 4
    assert lives(grandchild)
    psutil.Process(grandchild).kill()
    await asyncio.wait_for(kept.child.gone(), 30)
    assert kept.exits == [end]


async def test_what_was_said_while_the_loop_was_held_up_is_not_lost(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "SWEEP_TERM", 60.0)
    kept = await children.start(shell("trap '' TERM; exec 3<&0; (read go; echo late; exec sleep 600) <&3 & exit 0"))
    await kept.child.died.wait()
    pipe = kept.child._stdin()
    assert pipe is not None
    pipe.write(b"go\n")
    time.sleep(child_module.DRAIN + 0.5)  # The loop does not turn: the bound passes and the word is in the pipe.
    await kept.child.wait()
    assert bytes(kept.output) == b"late\n"
    assert kept.output_at_exit == 5


@pytest.mark.parametrize("words", [("stubborn",), ("stubborn", "clean")])
async def test_what_a_crashed_child_leaves_behind_is_swept_without_being_asked(
    children: Children, words: tuple[str, ...]
) -> None:
    kept, family = await children.family(*words)
    os.kill(family["leader"], signal.SIGKILL)
    assert (await kept.child.wait()).signal == "SIGKILL"
    await asyncio.wait_for(kept.child.gone(), 30)
    assert not lives(family["member"])
    if ON_LINUX and "clean" not in words:
        assert not lives(family["leaver"])
        assert not lives(family["orphan"])
    assert not children.guardian._groups


async def test_who_is_left_behind_is_asked_once_and_then_killed(children: Children, tmp_path: Path) -> None:
    told = tmp_path / "told"
    loop = f"trap 'echo asked >> {told}' TERM; echo up; while :; do sleep 0.02; done"
    kept = await children.start(shell('/bin/sh -c "$LOOP" & echo $!; read line'), env={"LOOP": loop})
    left = int((await kept.says(b"up\n")).split()[0])
    kept.child.close_stdin()
    await asyncio.wait_for(kept.child.gone(), 30)
    assert told.read_text() == "asked\n"
    assert not lives(left)


# Starting.


def _file(folder: Path, content: bytes, mode: int) -> str:
    path = folder / "program"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    ("case", "says"),
    [
        ("absent", "there is no such file"),
        ("not executable", "may not be executed"),
        ("a folder", "may not be executed"),
        ("not a program", "not a program for this system"),
        ("no interpreter", "the interpreter it names does not exist"),
        ("no working folder", "does not exist or is not a folder"),
        ("working folder is a file", "does not exist or is not a folder"),
        ("nul in an argument", "malformed"),
        ("nul in the environment", "malformed"),
        ("equals sign in a name", "malformed"),
        ("too long", os.strerror(errno.E2BIG)),
    ],
)
async def test_a_start_that_fails_says_why_in_a_sentence(
    children: Children, tmp_path: Path, case: str, says: str
) -> None:
    argv: list[str] = [CAT]
    options: dict[str, Any] = {}
    match case:
        case "absent":
            argv = [str(tmp_path / "nowhere")]
        case "not executable":
            argv = [_file(tmp_path, b"#!/bin/sh\n", 0o644)]
        case "a folder":
            argv = [str(tmp_path)]
        case "not a program":
            argv = [_file(tmp_path, b"\x00\x01\x02", 0o755)]
        case "no interpreter":
            argv = [_file(tmp_path, b"#!/nowhere/sh\n", 0o755)]
        case "no working folder":
            options = {"cwd": tmp_path / "gone"}
        case "working folder is a file":
            options = {"cwd": Path(CAT)}
        case "nul in an argument":
            argv = [CAT, "a\0b"]
        case "nul in the environment":
            options = {"env": {"A": "a\0b"}}
        case "equals sign in a name":
            options = {"env": {"A=B": "c"}}
        case "too long":
            argv = [CAT, "x" * 8_000_000]
    with pytest.raises(PeerError) as caught:
        await children.start(argv, **options)
    assert caught.value.kind == "server_failed"
    assert argv[0] in caught.value.message
    assert says in caught.value.message
    assert not children.guardian._groups


@pytest.mark.parametrize("argv", [[], ["cat"], ["./cat"]])
async def test_T8_only_absolute_executables_are_started(children: Children, argv: list[str]) -> None:
    with pytest.raises(ValueError, match="absolute"):
        await children.start(argv)


async def test_a_cancelled_start_leaves_nothing_behind(children: Children) -> None:
    cancelled = 0
    disowned: list[Kept] = []
    for turns in range(8):
        starting = asyncio.create_task(children.start(shell("sleep 600 & exec sleep 600")))
        for _ in range(turns):
            await asyncio.sleep(0)
        starting.cancel()
        try:
            kept = await starting
        except asyncio.CancelledError:
            cancelled += 1
            disowned.append(children.latest)
        else:
            os.killpg(kept.child.pgid, signal.SIGKILL)  # It was started after so many turns of the loop.
    assert cancelled >= 3
    await wait_until(lambda: not marked(children.mark), 20, "the cancelled children to be gone")
    await wait_until(lambda: not children.guardian._groups, 20, "the guardian to be told")
    # Whoever cancelled is not told of the end of something that it never got.
    assert [kept.exits for kept in disowned] == [[]] * cancelled


async def test_a_cancelled_start_that_would_have_failed_is_silent(
    children: Children, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    starting = asyncio.create_task(children.start([str(tmp_path / "nowhere")]))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises((asyncio.CancelledError, PeerError)):
        await starting
    await asyncio.sleep(0)
    assert caplog.records == []


# Broken pipes.


async def test_P7_writing_to_a_dead_child_is_harmless_and_silent(
    children: Children, caplog: pytest.LogCaptureFixture
) -> None:
    kept = await children.start([CAT])
    os.kill(kept.child.pid, signal.SIGKILL)
    # Without a turn of the loop between, so that nobody has been told of the death yet.
    for _ in range(1000):
        kept.child.write(b"x" * 4096)
    end = await kept.child.wait()
    for _ in range(1000):
        kept.child.write(b"x" * 4096)
    kept.child.close_stdin()
    assert kept.child.pending_bytes == 0
    await kept.child.gone()
    assert kept.exits == [end]
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


async def test_P7_a_broken_pipe_does_not_spin(children: Children) -> None:
    kept = await children.start(
        python("import os, time\nos.close(0)\nos.write(1, b'closed')\ntime.sleep(600)"), linger=None
    )
    await kept.says(b"closed")
    kept.child.write(b"x" * 200_000)
    await asyncio.sleep(0.05)
    spent = time.process_time()
    await asyncio.sleep(0.5)
    assert time.process_time() - spent < 0.25
    assert kept.child.pending_bytes == 0
    assert kept.exits == []


@pytest.mark.parametrize(("descriptor", "name"), [(0, "input"), (1, "output")])
async def test_P7_a_child_that_breaks_its_pipe_and_lives_on_is_ended(
    children: Children, descriptor: int, name: str
) -> None:
    code = f"import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nos.close({descriptor})\n"
    kept = await children.start(python(code + "time.sleep(600)"), linger=0.3)
    end = await asyncio.wait_for(kept.child.wait(), 30)
    assert end.signal == "SIGKILL"
    assert end.words == f"closed its standard {name}, lived on and was killed by SIGKILL"
    assert kept.exits == [end]


async def test_a_child_spoken_to_through_a_socket_may_close_its_output(children: Children) -> None:
    code = "import os, sys\nos.close(1)\nsys.stdin.read()\nraise SystemExit(5)"
    kept = await children.start(python(code), linger=None)
    await wait_until(lambda: 1 not in kept.child._open_pipes, 20, "the output to be closed")
    assert lives(kept.child.pid)
    kept.child.close_stdin()
    assert (await kept.child.wait()).words == "exited with code 5"


async def test_a_child_that_closes_its_output_a_moment_before_its_end_is_not_blamed(children: Children) -> None:
    kept = await children.start(python("import os, sys\nos.close(1)\nsys.stdin.read()\nraise SystemExit(6)"), linger=60)
    await wait_until(lambda: 1 not in kept.child._open_pipes, 20, "the output to be closed")
    kept.child.close_stdin()
    assert (await kept.child.wait()).words == "exited with code 6"


async def test_a_child_whose_input_we_closed_may_live_on(children: Children) -> None:
    code = "import sys, time\nsys.stdin.read()\nsys.stdin.close()\ntime.sleep(0.5)\nraise SystemExit(8)"
    kept = await children.start(python(code), linger=0.1)
    kept.child.close_stdin()
    assert (await kept.child.wait()).words == "exited with code 8"


async def test_a_child_that_is_being_ended_may_take_its_time_after_closing_its_output(children: Children) -> None:
    code = "import os, sys, time\nos.close(1)\nsys.stdin.readline()\ntime.sleep(0.5)\nraise SystemExit(7)"
    kept = await children.start(python(code), linger=0.2)
    await wait_until(lambda: 1 not in kept.child._open_pipes, 20, "the output to be closed")
    kept.child.write(b"exit\n")
    ended = await end(kept.child, grace=Grace(goodbye=60))
    assert ended.words == "exited with code 7"


# Floods.


async def test_a_flood_of_50_MB_on_stderr_neither_blocks_nor_grows(children: Children) -> None:
    code = (
        "import os\nfor n in range(800):\n os.write(2, b'noise %d\\n' % n + b'.' * 65536 + b'\\n')\n"
        "os.write(1, b'through')\nos.write(2, b'last words\\n')"
    )
    memory = psutil.Process().memory_info().rss
    kept = await children.start(python(code), stderr_limit=32_768)
    await kept.says(b"through", 60)
    await kept.child.wait()
    assert kept.child.stderr.total > 50_000_000
    assert kept.child.stderr.text().startswith("noise 0\n")
    assert kept.child.stderr_tail(1) == "last words"
    assert len(kept.child.stderr.text()) < 40_000
    assert psutil.Process().memory_info().rss - memory < 20_000_000


async def test_10_MB_for_a_child_that_never_reads_do_not_block_the_loop(children: Children) -> None:
    kept = await children.start(shell("exec sleep 600"))
    before = time.monotonic()
    for _ in range(160):
        kept.child.write(b"x" * 65_536)
    assert time.monotonic() - before < 2
    assert kept.child.pending_bytes > 9_000_000
    assert kept.pauses == [True]
    other = await children.start([CAT])
    other.child.write(b"the loop still turns")
    await other.says(b"turns")
    os.kill(kept.child.pid, signal.SIGKILL)
    end = await asyncio.wait_for(kept.child.wait(), 20)
    assert kept.exits == [end]
    assert kept.child.pending_bytes == 0


async def test_a_slow_reader_gets_everything_and_the_pause_is_lifted(children: Children) -> None:
    code = "import os, sys\nsys.stdin.buffer.read(1)\ndata = sys.stdin.buffer.read()\nos.write(1, b'%d' % len(data))"
    kept = await children.start(python(code))
    kept.child.write(b"x" * 10_000_001)
    assert kept.pauses == [True]
    await kept.until(lambda: kept.pauses == [True, False])
    kept.child.close_stdin()
    await kept.child.wait()
    assert bytes(kept.output) == b"10000000"


# Descriptors.


def _descriptors() -> int:
    return psutil.Process().num_fds()


async def test_no_descriptor_leaks_over_a_hundred_children(children: Children, tmp_path: Path) -> None:
    async def one() -> None:
        kept = await children.start([CAT])
        kept.child.write(b"hello")
        kept.child.close_stdin()
        await kept.child.wait()
        await kept.child.gone()
        with pytest.raises(PeerError):
            await children.start([str(tmp_path / "nowhere")])

    await one()
    before = _descriptors()
    for _ in range(10):
        await asyncio.gather(*(one() for _ in range(10)))
    await wait_until(lambda: _descriptors() <= before, 10, "all descriptors to be closed")
    assert not children.guardian._groups


async def test_an_abandoned_pipe_is_closed_although_a_grandchild_never_reads_it(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_module, "SWEEP_TERM", 60.0)
    kept = await children.start(shell("trap '' TERM; exec 3<&0; sleep 600 <&3 & echo $!; exit 0"))
    assert kept.child._transport is not None
    pipes = [kept.child._transport.get_pipe_transport(fd) for fd in range(3)]
    files = [pipe.get_extra_info("pipe") for pipe in pipes if pipe is not None]
    assert [file.closed for file in files] == [False] * 3
    kept.child.write(b"x" * 1_000_000)
    await asyncio.wait_for(kept.child.wait(), 30)
    assert lives(int(kept.output))
    await wait_until(lambda: all(file.closed for file in files), 10, "the pipes to be closed")


async def test_a_child_inherits_its_three_pipes_and_nothing_else(children: Children) -> None:
    code = """
import os
found = []
for fd in range(256):
    try: os.fstat(fd)
    except OSError: continue
    found.append(fd)
print(found, flush=True)
"""
    await children.start([CAT])
    kept: Kept = await children.start(python(code))
    await kept.child.wait()
    assert kept.output.strip() == b"[0, 1, 2]"


def test_importing_a_child_does_not_import_what_is_heavy() -> None:
    import subprocess

    code = (
        "import sys, ombud.process.ladder, ombud.process.parent, ombud.process.measure\nprint('psutil' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
