"""The end of a server's process: the protocol's goodbye, then the ladder of `ombud.process` (P6)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from msgspec import UNSET

if TYPE_CHECKING:
    from ombud.downstream.link import Link

GOODBYE_SECONDS = 3.0
"""How long a server may take to answer ``shutdown``."""


async def goodbye(link: Link) -> None:
    """``shutdown``, its answer or ``GOODBYE_SECONDS``, ``exit``."""
    if link.child is None or link.child.returncode is not None:
        return
    answered = asyncio.Event()
    link.call("shutdown", UNSET, lambda _: answered.set(), None)
    with suppress(TimeoutError):
        async with asyncio.timeout(GOODBYE_SECONDS):
            await answered.wait()
    link.notify("exit")


async def end(link: Link, *, said_goodbye: bool) -> None:
    """Climb the ladder; returns when nothing of the process is left. Without a goodbye nobody goes by himself."""
    if link.child is not None:
        from ombud.process.ladder import DEFAULT, end

        await end(link.child, grace=DEFAULT if said_goodbye else replace(DEFAULT, goodbye=0.0))


async def over(task: asyncio.Task[None] | None) -> None:
    """Wait until a task of a server's is done, however it ends."""
    if task is not None:
        await asyncio.wait({task})
