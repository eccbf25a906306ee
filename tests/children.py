"""Children for tests of process/: starts them, records what they say, and ends everything, whatever the test did."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

import psutil
from ombud.process.child import Child
from ombud.process.exit import Exit
from ombud.process.guardian import Guardian

MARK = "OMBUD_TEST_CHILDREN"
FAMILY = Path(__file__).with_name("family.py")
ON_LINUX = sys.platform == "linux"


def python(code: str, *arguments: str) -> list[str]:
    """The command that runs ``code`` in a bare interpreter: no site-packages, some 20 ms to start."""
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def shell(code: str) -> list[str]:
    return ["/bin/sh", "-c", code]


def lives(pid: int) -> bool:
    """Whether the process runs; one that is dead and not yet reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class Kept:
    """A child with everything it has said and the ends that were announced."""

    def __init__(self) -> None:
        self.output = bytearray()
        self.exits: list[Exit] = []
        self.output_at_exit = -1
        self.pauses: list[bool] = []
        self.in_task: list[bool] = []
        self._changed = asyncio.Event()
        self.child: Child

    def on_stdout(self, data: bytes) -> None:
        self.in_task.append(asyncio.current_task() is not None)
        self.output += data
        self._changed.set()

    def on_exit(self, end: Exit) -> None:
        self.exits.append(end)
        self.output_at_exit = len(self.output)
        self._changed.set()

    def on_pause(self, paused: bool) -> None:
        self.pauses.append(paused)
        self._changed.set()

    async def until(self, condition: Callable[[], object], timeout: float = 20.0) -> None:
        """Wait for output, an exit or a pause that makes ``condition`` true."""
        async with asyncio.timeout(timeout):
            while not condition():
                self._changed.clear()
                await self._changed.wait()

    async def says(self, text: bytes, timeout: float = 20.0) -> bytes:
        """Wait until the output contains ``text``; returns the whole output."""
        await self.until(lambda: text in self.output, timeout)
        return bytes(self.output)


class Children:
    """``async with Children(tmp_path) as children``: its own guardian, and a mark on all children to end them by."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.guardian = Guardian()
        self.mark = os.urandom(8).hex()
        self.also: list[psutil.Process] = []
        self.made: list[Child] = []
        self._tracked = _tracked(self.made)
        self.latest = Kept()

    async def __aenter__(self) -> Children:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # One that is in the middle of its exec shows no environment yet, and so no mark.
        living = [one._transport for one in self.made if one._transport is not None and not one.died.is_set()]
        for transport in living:
            with contextlib.suppress(ProcessLookupError):
                transport.kill()
        end_all(self.mark, self.also)
        try:
            async with asyncio.timeout(30):
                await asyncio.gather(*map(_over, self.made))
        finally:
            await self.guardian.close()

    async def start(self, argv: list[str], **options: Any) -> Kept:
        kept = self.latest = Kept()
        environment = {**os.environ, MARK: self.mark, **options.pop("env", {})}
        options.setdefault("cwd", self.cwd)
        kept.child = await self._tracked.start(
            argv,
            env=environment,
            on_stdout=kept.on_stdout,
            on_exit=kept.on_exit,
            on_pause=kept.on_pause,
            guardian=self.guardian,
            **options,
        )
        return kept

    async def family(self, *words: str, **options: Any) -> tuple[Kept, dict[str, int]]:
        """Start ``tests/family.py``; returns it with the ids of its members."""
        kept = await self.start([sys.executable, "-I", "-S", str(FAMILY), *words], **options)
        members: dict[str, int] = json.loads(await kept.says(b"}\n"))
        self.also += map(psutil.Process, members.values())
        return kept, members


def _tracked(made: list[Child]) -> type[Child]:
    """Children that are known from their making on, also when their start fails or is cancelled."""

    class Tracked(Child):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)

    return Tracked


async def _over(child: Child) -> None:
    """Wait until nothing of ``child`` is left in the event loop either, lest a later test is blamed for it."""
    if child._starting is not None:
        await asyncio.wait([child._starting])
    if child._group is not None:
        await child.gone()
        await child.wait()
    for _ in range(3):  # The turns in which asyncio tells its pipes and its process that they are closed.
        await asyncio.sleep(0)


def marked(mark: str) -> list[psutil.Process]:
    """Living processes that carry a test's mark."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def end_all(mark: str, also: Iterable[psutil.Process]) -> None:
    """SIGKILL to what a test has left, until nothing is found any more (bounded)."""
    for process in also:
        with contextlib.suppress(psutil.Error, OSError):
            process.kill()
    for _ in range(20):
        left = marked(mark)
        if not left:
            return
        for process in left:
            with contextlib.suppress(psutil.Error, OSError):
                process.kill()
        psutil.wait_procs(left, timeout=0.2)
