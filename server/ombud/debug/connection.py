"""One connection to an adapter, brought from ``initialize`` to ``configurationDone``, whatever the adapter's order.

The order that all of them take: ``initialize``, its answer, ``launch`` without waiting for its answer, then whichever
comes first of ``initialized`` and the launch's failure; breakpoints; ``configurationDone``; the launch's answer
(architecture.md, decision 15).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ombud.debug.breakpoints import Watch
from ombud.errors import OmbudError, PeerError

if TYPE_CHECKING:
    from ombud.debug.breakpoints import Breakpoints
    from ombud.debug.link import Link

START_SECONDS = 90.0
"""From the launch to ``initialized``, and from there to the launch's answer: some adapters build the program first."""
INITIALIZE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Plan:
    """What is asked of an adapter. ``request`` is launch or attach; ``type`` its name for itself."""

    request: str
    type: str
    configuration: Mapping[str, Any]
    watch: Watch = field(default_factory=Watch)


@dataclass(slots=True, eq=False)
class Connection:
    """``over`` is set once nothing more comes of it."""

    link: Link
    parent: Connection | None = None
    capabilities: dict[str, Any] = field(default_factory=dict)
    initialized: asyncio.Event = field(default_factory=asyncio.Event)
    is_ready: bool = False
    has_stopped: bool = False
    terminated: bool = False

    def can(self, capability: str) -> bool:
        return bool(self.capabilities.get(capability))


async def bring_up(connection: Connection, plan: Plan, breakpoints: Breakpoints) -> None:
    """Raises `PeerError`: ``server_failed`` with the adapter's words, or ``timeout``."""
    link = connection.link
    answer = await link.ask("initialize", _client(plan.type), seconds=INITIALIZE_SECONDS)
    connection.capabilities.update(answer)
    started = link.send(plan.request, dict(plan.configuration))
    await _initialized(connection, started, plan)
    await breakpoints.send_all(link, connection.capabilities, plan.watch)
    waiting = [started]
    if connection.can("supportsConfigurationDoneRequest"):
        waiting.append(link.send("configurationDone"))
    try:
        async with asyncio.timeout(START_SECONDS):
            await asyncio.gather(*waiting)
    except TimeoutError:
        raise _late(link.name, plan) from None
    connection.is_ready = True


async def _initialized(connection: Connection, started: asyncio.Future[dict[str, Any]], plan: Plan) -> None:
    """Wait for ``initialized``, which may come before or after the launch's answer; a failed launch ends the wait."""
    told = asyncio.ensure_future(connection.initialized.wait())
    waiting: set[asyncio.Future[Any]] = {told, started}
    deadline = asyncio.get_running_loop().time() + START_SECONDS
    try:
        while not told.done():
            left = deadline - asyncio.get_running_loop().time()
            done, waiting = await asyncio.wait(waiting, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
            if not done:
                raise _late(connection.link.name, plan)
            if started in done:
                started.result()
            if connection.link.over is not None:
                raise connection.link.over
    finally:
        told.cancel()


def _late(name: str, plan: Plan) -> OmbudError:
    return PeerError(
        f"{name} has not started the program within {START_SECONDS:g} seconds. It was ended.",
        kind="timeout",
        adapter=name,
        request=plan.request,
    )


def _client(adapter: str) -> dict[str, Any]:
    """The arguments of ``initialize``."""
    return {
        "clientID": "ombud",
        "clientName": "Ombud",
        "adapterID": adapter,
        "locale": "en",
        "linesStartAt1": True,
        "columnsStartAt1": True,
        "pathFormat": "path",
        "supportsVariableType": True,
        "supportsVariablePaging": True,
        "supportsRunInTerminalRequest": True,
        "supportsArgsCanBeInterpretedByShell": False,
        "supportsStartDebuggingRequest": True,
        "supportsInvalidatedEvent": True,
    }
