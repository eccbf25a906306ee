"""Whatever becomes of the hub, nothing is left behind (P1)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.children import FAMILY, MARK, ON_LINUX, end_all, lives
from tests.waiting import wait_until_sync

HUB = Path(__file__).with_name("lone_hub.py")
BOUND = 20.0
"""Seconds. The guardian's rounds last three; the rest is for a machine that is busy with other tests."""


@dataclass
class Lone:
    process: subprocess.Popen[bytes]
    guardian: int
    family: dict[str, int]

    def left(self) -> dict[str, int]:
        """Who of those that must go still lives. macOS hides environments, so there only the group can be found."""
        names = self.family if ON_LINUX else ("leader", "member")
        return {name: self.family[name] for name in names if lives(self.family[name])}

    def all_gone(self) -> None:
        wait_until_sync(lambda: not self.left(), BOUND, f"everybody of {self.family} to be gone")
        wait_until_sync(lambda: not lives(self.guardian), BOUND, "the guardian to be gone as well")


@pytest.fixture
def lone() -> Iterator[Callable[..., Lone]]:
    mark = os.urandom(8).hex()
    also: list[psutil.Process] = []
    hubs: list[subprocess.Popen[bytes]] = []

    def start(how: str, *words: str) -> Lone:
        process = subprocess.Popen(
            [sys.executable, str(HUB), str(FAMILY), how, *words],
            env={**os.environ, MARK: mark},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        hubs.append(process)
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        also.extend(psutil.Process(pid) for pid in (told["guardian"], *told["family"].values()) if lives(pid))
        return Lone(process, told["guardian"], told["family"])

    yield start
    for process in hubs:
        process.kill()
        process.communicate()
    end_all(mark, also)


@pytest.mark.parametrize("words", [(), ("stubborn",)], ids=["obedient", "stubborn"])
@pytest.mark.parametrize("how", ["wait", "busy"])
def test_P1_no_orphans_after_kill_9(lone: Callable[..., Lone], how: str, words: tuple[str, ...]) -> None:
    hub = lone(how, *words)
    stranger = subprocess.Popen(["/bin/sleep", "600"])
    try:
        assert len(hub.left()) == (4 if ON_LINUX else 2)
        hub.process.kill()
        assert hub.process.wait(BOUND) == -signal.SIGKILL
        hub.all_gone()
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_P1_a_signal_to_the_hubs_whole_group_does_not_reach_the_guardian_first(
    lone: Callable[..., Lone], number: signal.Signals
) -> None:
    hub = lone("wait")
    os.killpg(hub.process.pid, number)
    hub.process.wait(BOUND)
    hub.all_gone()


@pytest.mark.parametrize("how", ["return", "exit"])
def test_P1_no_orphans_after_an_exit_that_ended_nobody(lone: Callable[..., Lone], how: str) -> None:
    hub = lone(how, "stubborn")
    assert hub.process.wait(BOUND) == 0
    hub.all_gone()


def test_P6_the_end_of_the_loop_kills_what_is_being_ended(lone: Callable[..., Lone]) -> None:
    hub = lone("ending", "stubborn")
    assert hub.process.stdout is not None
    assert hub.process.stdout.readline() == b"left the loop\n"
    # The hub still runs and so its guardian has done nothing: it was the climb that killed them.
    wait_until_sync(lambda: not hub.left(), BOUND, f"everybody of {hub.family} to be gone")
    assert hub.process.poll() is None
    assert lives(hub.guardian)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_P1_a_guardian_killed_before_its_hub_has_a_successor(lone: Callable[..., Lone]) -> None:
    hub = lone("wait", "stubborn")
    os.kill(hub.guardian, signal.SIGKILL)
    of_hub = psutil.Process(hub.process.pid)
    family = set(hub.family.values())

    def successor() -> list[int]:
        return sorted({child.pid for child in of_hub.children() if _lives(child)} - family - {hub.guardian})

    (second,) = wait_until_sync(successor, BOUND, "a second guardian")
    hub.process.kill()
    hub.process.wait(BOUND)
    hub.all_gone()
    wait_until_sync(lambda: not lives(second), BOUND, "the second guardian to be gone as well")


def test_P1_the_clients_end_of_the_output_is_not_held_open(lone: Callable[..., Lone]) -> None:
    hub = lone("wait", "stubborn")
    hub.process.kill()
    assert hub.process.stdout is not None
    # Whoever reads the hub's output sees its end while the guardian and the children are still busy ending.
    assert hub.process.stdout.read() == b""
    assert lives(hub.guardian)
    hub.all_gone()


def test_P1_one_hubs_death_does_not_end_anothers_children(lone: Callable[..., Lone]) -> None:
    first, second = lone("wait"), lone("wait")
    first.process.kill()
    first.process.wait(BOUND)
    first.all_gone()
    assert second.left() == (second.family if ON_LINUX else {n: second.family[n] for n in ("leader", "member")})
    assert lives(second.guardian)
    second.process.kill()
    second.process.wait(BOUND)
    second.all_gone()
