"""Watching the client that started us (P8)."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator

import psutil
import pytest
from ombud.process.parent import INTERVAL, ParentWatch

from tests.children import ON_LINUX
from tests.waiting import wait_until_sync

WAYS = ["pidfd", "polling"] if ON_LINUX else ["polling"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The kernel's own event, and what is done where there is none."""
    if request.param == "polling" and ON_LINUX:

        def refuse(*_: object) -> int:
            raise OSError("not in this sandbox")

        monkeypatch.setattr(os, "pidfd_open", refuse)
    return str(request.param)


@pytest.fixture
def client() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(["/bin/sleep", "600"])
    yield process
    process.kill()
    process.wait()


def _watch(pid: int | None, on_death: Callable[[], None]) -> ParentWatch:
    return ParentWatch(pid, on_death, interval=0.02)


async def test_P8_a_visible_clients_death_is_told_once(way: str, client: subprocess.Popen[bytes]) -> None:
    deaths: list[int] = []
    told = asyncio.Event()

    def on_death() -> None:
        deaths.append(1)
        told.set()

    watch = _watch(client.pid, on_death)
    assert watch.start()
    assert watch.start()
    assert watch.watching
    # Killed and not reaped: to the world it is a zombie, to us it is dead.
    client.kill()
    await asyncio.wait_for(told.wait(), 20)
    for _ in range(5):
        await asyncio.sleep(0.02)
    assert deaths == [1]
    assert (watch.watching, watch.start()) == (False, False)


async def test_P8_an_invisible_client_is_ignored(way: str) -> None:
    gone = subprocess.Popen(["/bin/sleep", "0"])
    gone.wait()
    watch = _watch(gone.pid, _never)
    assert not watch.start()
    assert not watch.watching


async def test_P8_a_client_that_was_dead_at_the_first_look_is_ignored(
    way: str, client: subprocess.Popen[bytes]
) -> None:
    client.kill()
    wait_until_sync(lambda: psutil.Process(client.pid).status() == psutil.STATUS_ZOMBIE, 20, "the client to end")
    assert not _watch(client.pid, _never).start()


@pytest.mark.parametrize("pid", [None, 0, -1, -5, 1, 2**31, 2**80])
async def test_P8_ids_that_name_nobody_in_particular_are_ignored(way: str, pid: int | None) -> None:
    assert not _watch(pid, _never).start()


async def test_P8_our_own_id_is_ignored(way: str) -> None:
    assert not _watch(os.getpid(), _never).start()


async def test_nothing_is_told_after_close(way: str, client: subprocess.Popen[bytes]) -> None:
    watch = _watch(client.pid, _never)
    watch.close()
    assert not watch.start()
    watch = _watch(client.pid, _never)
    assert watch.start()
    watch.close()
    watch.close()
    client.kill()
    client.wait()
    for _ in range(5):
        await asyncio.sleep(0.02)


async def test_a_watch_costs_at_most_one_descriptor_and_gives_it_back(
    way: str, client: subprocess.Popen[bytes]
) -> None:
    _watch(client.pid, _never).start()
    before = psutil.Process().num_fds()
    for _ in range(10):
        watch = _watch(client.pid, _never)
        watch.start()
        assert psutil.Process().num_fds() <= before + 1
        watch.close()
    assert psutil.Process().num_fds() == before


async def test_a_number_that_was_given_to_another_process_counts_as_a_death(
    monkeypatch: pytest.MonkeyPatch, client: subprocess.Popen[bytes]
) -> None:
    if ON_LINUX:
        monkeypatch.delattr(os, "pidfd_open")
        monkeypatch.setattr(sys, "platform", "linux-without")
    told = asyncio.Event()
    watch = _watch(client.pid, told.set)
    assert watch.start()
    assert watch._process is not None
    monkeypatch.setattr(watch._process, "_ident", (client.pid, 1.0))
    await asyncio.wait_for(told.wait(), 20)


async def test_someone_elses_process_can_be_watched(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """A client that runs as another user may not be signalled, but is visible."""

    def forbid(*_: object) -> None:
        raise PermissionError

    process = subprocess.Popen(["/bin/sleep", "600"])
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, "kill", forbid)
            watch = _watch(process.pid, _never)
            assert watch.start()
        watch.close()
    finally:
        process.kill()
        process.wait()


def test_polling_is_as_rare_as_the_contract_of_the_room_says() -> None:
    assert INTERVAL == 3.0


def _never() -> None:
    raise AssertionError("a death was told that nobody asked for or that did not happen")
