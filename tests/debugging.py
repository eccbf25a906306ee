"""Driving the operation `debug` in the test's own process, and programs to be debugged."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from ombud.errors import OmbudError
from ombud.operations import registry
from ombud.operations.hub import Hub
from ombud.operations.session import Client, Session

from tests.hosted import Front

WAIT_MS = 60_000


class Debugger:
    """One connection. Each op is a method call by its name: ``await on("launch", program="app.py")``."""

    def __init__(self, session: Session) -> None:
        self.session = session

    async def __call__(self, op: str, **params: Any) -> dict[str, Any]:
        said = {"waitMs": WAIT_MS, **params} if op in RESUMING else params
        return await registry.call(self.session, "debug", {"op": op, **said})

    async def refused(self, op: str, **params: Any) -> OmbudError:
        """The error that the op ends with."""
        try:
            answer = await self(op, **params)
        except OmbudError as error:
            assert "Traceback" not in error.message
            assert error.message.endswith((".", "?", "…", ")", "”")) or error.kind == "invalid_params", error.message
            return error
        raise AssertionError(f"{op} was not refused but answered {answer}")

    async def values(self, frame: int | None = None) -> dict[str, str]:
        """The variables of a frame that are cheap to list: name → value."""
        said = {} if frame is None else {"frameId": frame}
        found: dict[str, str] = {}
        for scope in (await self("scopes", **said))["scopes"]:
            if not scope["expensive"] and scope["name"] not in ("Globals", "Registers"):
                rows = await self("variables", variablesReference=scope["variablesReference"], limit=500)
                found |= {one["name"]: one["value"] for one in rows["variables"]}
        return found


RESUMING = frozenset(("launch", "attach", "restart", "continue", "pause", "step_over", "step_in", "step_out", "run_to"))


@asynccontextmanager
async def debugger(
    root: Path, environment: Mapping[str, str], options: Mapping[str, Any] | None = None
) -> AsyncIterator[Debugger]:
    """A trusted session on ``root``; everything has ended when the block has. ``options`` are Ombud's own."""
    hub = Hub()
    client = Client(folders=(root,), options={"trusted": True, **(options or {})})
    made = Session(hub, client, Front(), environment=environment)
    try:
        yield Debugger(made)
    finally:
        made.close()
        await hub.close()


def line_of(text: str, marker: str) -> int:
    """The one-based line that holds ``marker``."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if marker in line)
