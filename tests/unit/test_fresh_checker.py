"""Freshness of a server that runs a checker over saved files and reports its progress, as rust-analyzer does (D9)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from ombud.diagnostics import fresh
from ombud.diagnostics.fresh import settle
from ombud.diagnostics.store import Store
from ombud.downstream.catalogue import DiagnosticsProfile
from ombud.downstream.server import Server
from ombud.downstream.states import Progress, State

from tests.waiting import wait_until

URI = KEY = "file:///srv/ws/a.rs"
CHECK = "check/now"


class Checker:
    """A server as far as a wait looks at it: what it has been sent, and which checks have run."""

    def __init__(self) -> None:
        profile = DiagnosticsProfile(settle_ms=0, check_progress="check/", check_request=CHECK, on_save=True)
        self.name = "checker"
        self.entry = SimpleNamespace(diagnostics=profile)
        self.state = State.READY
        self.accepting = True
        self.documents = {URI: 1}
        self.progress: dict[int | str, Progress] = {}
        self.asked: list[str] = []
        self.asked_past_the_queue: list[str] = []

    @property
    def working_on(self) -> list[str]:
        return [one.title for one in self.progress.values() if one.ended is None]

    @contextmanager
    def waiting(self) -> Iterator[None]:
        yield

    def offers(self, _method: str) -> bool:
        return False

    def notify(self, method: str, _params: Any) -> None:
        self.asked.append(method)

    def notify_now(self, method: str, _params: Any) -> None:
        self.asked_past_the_queue.append(method)

    def begin(self) -> None:
        self.progress["check/0"] = Progress("cargo check", time.monotonic())

    def end(self) -> None:
        self.progress["check/0"].ended = time.monotonic()


class Scene:
    def __init__(self) -> None:
        self.checker = Checker()
        self.server = cast("Server", self.checker)
        self.store = Store(lambda _key: None)
        self.store.sent(self.server, KEY, 1)

    def change(self, version: int) -> None:
        self.checker.documents[URI] = version
        self.store.sent(self.server, KEY, version)

    def run(self) -> None:
        self.checker.begin()
        self.checker.end()
        self.store.wake_server(self.server)

    def settle(self, version: int, *, ordered: bool = True) -> asyncio.Task[fresh.Verdict]:
        return asyncio.ensure_future(settle(self.store, self.server, KEY, URI, version, 20, ordered=ordered))


async def test_any_run_of_the_process_speaks_for_a_file_that_was_never_saved() -> None:
    scene = Scene()
    scene.run()
    scene.change(2)
    verdict = await scene.settle(2)
    assert (verdict.freshness, scene.checker.asked) == ("fresh", [])


async def test_after_a_save_only_a_run_that_began_since_speaks() -> None:
    scene = Scene()
    scene.run()
    scene.change(2)
    scene.store.saved(scene.server, KEY)
    waiting = scene.settle(2)
    scene.checker.begin()
    scene.store.wake_server(scene.server)
    await asyncio.sleep(0)
    assert not waiting.done()
    scene.checker.end()
    scene.store.wake_server(scene.server)
    assert (await waiting).freshness == "fresh"


async def test_a_new_process_has_seen_no_save() -> None:
    scene = Scene()
    scene.store.saved(scene.server, KEY)
    scene.store.forget_process(scene.server)
    scene.change(1)
    scene.checker.progress["check/0"] = Progress("cargo check", 0.0, 0.0)
    assert (await scene.settle(1)).freshness == "fresh"


@pytest.mark.parametrize("ordered", [True, False])
async def test_a_check_that_an_idle_server_missed_is_asked_for_until_it_runs(
    ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who holds the server's queue asks past it: behind its own gate the request would wait for ever."""
    monkeypatch.setattr(fresh, "CHECK_MISSED_SECONDS", 0.02)
    scene = Scene()
    scene.store.saved(scene.server, KEY)
    waiting = scene.settle(1, ordered=ordered)
    asked = scene.checker.asked if ordered else scene.checker.asked_past_the_queue
    await wait_until(lambda: len(asked) >= 3, 20, "it is asked three times")
    scene.run()
    assert (await waiting).freshness == "fresh"
    assert set(asked) == {CHECK}
    assert (scene.checker.asked == []) is not ordered


def test_a_server_at_work_is_not_asked() -> None:
    scene = Scene()
    track = scene.store.track(scene.server, KEY)
    track.sent_time = time.monotonic() - 2 * fresh.CHECK_MISSED_SECONDS
    assert fresh._check_missed(track, scene.server)
    scene.checker.progress["loading"] = Progress("Indexing", time.monotonic())
    assert not fresh._check_missed(track, scene.server)
    scene.checker.progress["loading"].ended = time.monotonic()
    assert fresh._check_missed(track, scene.server)
    scene.store.saved(scene.server, KEY)
    assert not fresh._check_missed(track, scene.server)
