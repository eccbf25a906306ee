"""Restart running servers, forget their failures, read the configuration again and detect anew."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.errors import PeerError, UserError
from ombud.operations.shapes import Arguments, Shape

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Params(Arguments, frozen=True):
    server: Annotated[str, msgspec.Meta(description="Only the server of this name; all without it.")] | None = None


class Result(Shape):
    restarted: list[str]


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` (``not_found``) for a name that is not in the catalogue."""
    names = {entry.name for entry in session.catalogue}
    if params.server is not None and params.server not in names:
        near = get_close_matches(params.server, sorted(names), 1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UserError(f"There is no server named {params.server!r}.{hint}", kind="not_found")
    restarted = await session.hub.reload(params.server)
    for server in restarted:
        again = session.hub.supervisor.like(server)
        if again is not None:
            with suppress(PeerError):
                again.need()
    return Result(restarted=sorted({server.name for server in restarted}))
