"""End a child, gently first: the rungs after the protocol's own goodbye (row P6).

jdtls, tsgo, bash-language-server and others hang after ``exit``; so whoever said ``shutdown`` and ``exit`` to a server
goes on here: wait, close its input, SIGTERM to its group, SIGKILL to its group. Each rung waits for the process's end,
not for a clock, and has its own time. What the child leaves behind is ended with it.
"""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass

from ombud.process.child import Child
from ombud.process.exit import Exit


@dataclass(frozen=True, slots=True)
class Grace:
    """Seconds that each rung waits for the end before the next is climbed; 0 climbs on at once."""

    goodbye: float = 2.0
    """After the protocol's own goodbye, which the caller has said."""
    stdin: float = 1.0
    """After its standard input was closed."""
    term: float = 2.0
    """After SIGTERM to the group."""
    kill: float = 5.0
    """After SIGKILL to the group: only a process stuck in the kernel needs more than an instant."""


DEFAULT = Grace()


async def end(child: Child, *, grace: Grace = DEFAULT) -> Exit:
    """End ``child`` and all it started; returns when nothing of it is left, or it cannot be ended at all.

    May be called at any time and as often as one likes: also for a child that has died by itself, whose leavings it
    then waits for. Calls with the same ``grace`` climb together, a less patient one overtakes. A cancelled caller does
    not stop the climb; when the climb itself is cancelled, by the end of the event loop, the child is killed at once.
    An ``Exit`` with neither code nor signal means that the process outlived SIGKILL.
    """
    climb = child.climbs.get(grace)
    if climb is None:
        climb = asyncio.get_running_loop().create_task(_climb(child, grace))
        child.climbs[grace] = climb
        climb.add_done_callback(lambda _: child.climbs.pop(grace, None))
    return await asyncio.shield(climb)


async def _climb(child: Child, grace: Grace) -> Exit:
    try:
        if not await _reached(child, grace):
            return Exit(None, None, "did not end, not even by SIGKILL")
        await child.gone()
        return await child.wait()
    except BaseException:
        # The loop is ending, or the climb itself has failed: either way nobody else is going to do it.
        child.group.kill()
        raise


async def _reached(child: Child, grace: Grace) -> bool:
    """Climb until the process has died. Its family is looked up before each signal, while descent still tells it."""
    if child.died.is_set():
        return True
    await child.group.survey()
    if await _died(child, grace.goodbye):
        return True
    child.close_stdin()
    if await _died(child, grace.stdin):
        return True
    for number, seconds in ((signal.SIGTERM, grace.term), (signal.SIGKILL, grace.kill)):
        await child.group.survey()
        child.group.signal(number)
        if await _died(child, seconds):
            return True
    return False


async def _died(child: Child, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await child.died.wait()
    except TimeoutError:
        pass
    return child.died.is_set()
