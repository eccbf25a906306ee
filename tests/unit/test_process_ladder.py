"""Ending a child: the rungs, in order, and everybody it has started."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from ombud.process import child as child_module
from ombud.process import group as group_module
from ombud.process.exit import Exit
from ombud.process.group import Group
from ombud.process.ladder import DEFAULT, Grace, end

from tests.children import ON_LINUX, Children, lives, python, shell

# Tells every sign it gets, in order, and obeys only the one it is asked to.
TELLER = """
import os, signal, sys
obeys = sys.argv[1]
def told(name):
    os.write(1, name.encode() + b' ')
    if obeys == name:
        os._exit(7)
signal.signal(signal.SIGTERM, lambda *_: told('TERM'))
os.write(1, b'up ')
for line in sys.stdin:
    told(line.strip())
told('EOF')
while True:
    signal.pause()
"""
PATIENT = Grace(goodbye=60, stdin=60, term=60, kill=60)
BRISK = Grace(goodbye=0, stdin=1.0, term=1.0, kill=20)


@pytest.fixture
async def children(tmp_path: Path) -> AsyncIterator[Children]:
    async with Children(tmp_path) as started:
        yield started


@pytest.mark.parametrize(
    ("obeys", "grace", "signs", "expected"),
    [
        ("exit", PATIENT, b"up exit ", Exit(7, None, "exited with code 7")),
        ("EOF", Grace(goodbye=0, stdin=60), b"up exit EOF ", Exit(7, None, "exited with code 7")),
        ("TERM", Grace(goodbye=0, stdin=1.0, term=60), b"up exit EOF TERM ", Exit(7, None, "exited with code 7")),
        ("nothing", BRISK, b"up exit EOF TERM ", Exit(None, "SIGKILL", "was killed by SIGKILL")),
    ],
)
async def test_P6_each_rung_is_climbed_in_order_and_only_as_far_as_needed(
    children: Children, obeys: str, grace: Grace, signs: bytes, expected: Exit
) -> None:
    kept = await children.start(python(TELLER, obeys))
    await kept.says(b"up ")
    kept.child.write(b"exit\n")
    await kept.says(b"exit ")
    assert await asyncio.wait_for(end(kept.child, grace=grace), 40) == expected
    assert bytes(kept.output) == signs
    assert kept.exits == [expected]
    assert not lives(kept.child.pid)


async def test_P6_a_child_that_does_not_even_read_is_ended(children: Children) -> None:
    kept = await children.start(python("import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.pause()"))
    kept.child.write(b"x" * 1_000_000)
    expected = await asyncio.wait_for(end(kept.child, grace=Grace(goodbye=0, stdin=0.1, term=0.1)), 40)
    assert kept.exits == [expected]
    assert expected.words.startswith("was killed by SIG")


async def test_P6_a_stopped_child_is_ended(children: Children) -> None:
    kept = await children.start(shell("echo up; exec sleep 600"))
    await kept.says(b"up")
    os.kill(kept.child.pid, signal.SIGSTOP)
    expected = await asyncio.wait_for(end(kept.child, grace=Grace(goodbye=0, stdin=0.1, term=0.1)), 40)
    assert expected.signal == "SIGKILL"


@pytest.mark.parametrize("words", [(), ("stubborn",), ("clean",), ("stubborn", "clean")])
async def test_P1_the_whole_family_goes(children: Children, words: tuple[str, ...]) -> None:
    kept, family = await children.family(*words)
    await asyncio.wait_for(end(kept.child, grace=Grace(goodbye=0, stdin=0.3, term=0.3)), 40)
    expected = {"leader", "member", "leaver"}
    if ON_LINUX and "clean" not in words:
        # An orphan has no descent; without its environment nothing is left to know it by.
        expected.add("orphan")
    assert {name for name in expected if lives(family[name])} == set()
    assert not children.guardian._groups


async def test_P1_what_a_dead_child_has_left_is_waited_for(children: Children) -> None:
    kept, family = await children.family("stubborn")
    os.kill(family["leader"], signal.SIGKILL)
    await kept.child.wait()
    assert (await asyncio.wait_for(end(kept.child, grace=PATIENT), 30)).signal == "SIGKILL"
    assert not lives(family["member"])


async def test_strangers_in_sight_are_left_alone(children: Children) -> None:
    other, _ = await children.family()
    kept, _ = await children.family()
    await asyncio.wait_for(end(kept.child, grace=BRISK), 30)
    assert lives(other.child.pid)
    assert other.exits == []


# Once, often, at the same time, cancelled.


async def test_ending_is_idempotent(children: Children) -> None:
    kept = await children.start(["/bin/cat"])
    ends = await asyncio.gather(*(end(kept.child, grace=BRISK) for _ in range(3)))
    again = await end(kept.child, grace=PATIENT)
    assert {*ends, again} == {Exit(0, None, "exited with code 0")}
    assert len(kept.exits) == 1
    await asyncio.sleep(0)
    assert kept.child.climbs == {}


async def test_a_less_patient_caller_overtakes(children: Children) -> None:
    kept = await children.start(python(TELLER, "TERM"))
    await kept.says(b"up ")
    patient = asyncio.create_task(end(kept.child, grace=PATIENT))
    await asyncio.sleep(0)
    hasty = await asyncio.wait_for(end(kept.child, grace=Grace(goodbye=0, stdin=0, term=30)), 40)
    assert await asyncio.wait_for(patient, 10) == hasty == Exit(7, None, "exited with code 7")


async def test_a_cancelled_caller_does_not_hurry_the_others(children: Children) -> None:
    kept = await children.start(python(TELLER, "TERM"))
    await kept.says(b"up ")
    grace = Grace(goodbye=0, stdin=0.5, term=60)
    waiting = [asyncio.create_task(end(kept.child, grace=grace)) for _ in range(2)]
    await kept.says(b"EOF ")
    waiting[0].cancel()
    assert await asyncio.wait_for(waiting[1], 30) == Exit(7, None, "exited with code 7")
    assert waiting[0].cancelled()


async def test_a_cancelled_caller_does_not_leave_the_child_behind(children: Children) -> None:
    kept = await children.start(python(TELLER, "nothing"))
    await kept.says(b"up ")
    waiting = asyncio.create_task(end(kept.child, grace=Grace(goodbye=0, stdin=0.2, term=0.2)))
    await kept.says(b"EOF ")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await asyncio.wait_for(kept.child.wait(), 30)).signal == "SIGKILL"


async def test_a_process_that_outlives_everything_is_said_to(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = await children.start(["/bin/sleep", "600"])
    # As for a process stuck in the kernel: signals are accepted and nothing comes of them.
    monkeypatch.setattr(os, "killpg", lambda *_: None)
    ended = await end(kept.child, grace=Grace(goodbye=0, stdin=0, term=0, kill=0.1))
    assert ended == Exit(None, None, "did not end, not even by SIGKILL")
    assert kept.exits == []
    assert children.guardian._groups == {kept.child.pgid}


async def test_leavings_that_cannot_be_ended_stay_on_the_guardians_list(
    children: Children, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(child_module, "SWEEP_TERM", 0.1)
    monkeypatch.setattr(child_module, "SWEEP_KILL", 0.1)
    kept, family = await children.family()
    monkeypatch.setattr(psutil.Process, "send_signal", lambda *_: None)
    await asyncio.wait_for(end(kept.child, grace=BRISK), 30)
    assert children.guardian._groups == {kept.child.pgid}
    assert str(family["member"]) in caplog.text


# Numbers that have changed hands.


@pytest.mark.parametrize("platform", ["linux", "darwin"])
async def test_a_dead_leaders_number_is_never_signalled(
    children: Children, monkeypatch: pytest.MonkeyPatch, platform: str
) -> None:
    kept = await children.start(["/bin/echo"])
    await kept.child.gone()
    monkeypatch.setattr(group_module, "sys", SimpleNamespace(platform=platform))
    sent: list[object] = []
    monkeypatch.setattr(os, "killpg", lambda *signal_: sent.append(signal_))
    monkeypatch.setattr(os, "kill", lambda *signal_: sent.append(signal_))
    assert not kept.child.group.signal(signal.SIGTERM)
    kept.child.group.kill()
    await end(kept.child, grace=DEFAULT)
    assert sent == []


@pytest.mark.skipif(not ON_LINUX, reason="only Linux tells who has been reaped before the event loop knows")
def test_a_leader_that_was_reaped_unnoticed_is_not_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    process = subprocess.Popen(["/bin/sleep", "0"], start_new_session=True)
    group = Group(process.pid, "mark")
    process.wait()
    sent: list[object] = []
    monkeypatch.setattr(os, "killpg", lambda *signal_: sent.append(signal_))
    assert not group.signal(signal.SIGKILL)
    assert sent == []


async def test_a_number_that_was_given_to_a_stranger_is_not_signalled(
    children: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = await children.start(["/bin/sleep", "600"])
    kept = await children.start(["/bin/echo"])
    await kept.child.gone()
    former = psutil.Process(stranger.child.pid)
    monkeypatch.setattr(former, "_ident", (former.pid, 1.0))  # As if remembered from an earlier owner of this number.
    kept.child.group._known[former.pid] = former
    kept.child.group.kill()
    assert await kept.child.group.sweep(term=0.2, kill=0.2) == []
    assert lives(stranger.child.pid)
    assert stranger.exits == []


async def test_a_group_number_found_empty_is_not_trusted_again(children: Children) -> None:
    """The group of a dead leader is empty; then its number comes round again as another session's group."""
    kept = await children.start(["/bin/echo"])
    await kept.child.gone()
    stranger = await children.start(["/bin/sleep", "600"])
    kept.child.group.leader = stranger.child.pgid
    assert await kept.child.group.sweep(term=0.1, kill=0.1) == []
    assert lives(stranger.child.pid)
