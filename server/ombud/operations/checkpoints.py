"""List what can be rolled back: the checkpoints of this session, the newest first.

Every write makes one; its id names the state before that write, and ``rollback`` goes back there.
"""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.errors import Refused
from ombud.operations.shapes import Arguments, Shape

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.workspace.record import Record


class Params(Arguments, frozen=True):
    all: Annotated[
        bool, msgspec.Meta(description="Those of every session of this workspace, also of earlier runs, not only mine.")
    ] = False


class CheckpointShape(Shape):
    checkpoint: str
    """What ``rollback`` takes."""
    time: str
    """When the write was made, ISO 8601, UTC."""
    summary: str
    files: list[str]
    """The files that the write touched; of a rename both names."""


class Result(Shape):
    checkpoints: list[CheckpointShape]


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused` (``permission_denied``) where the state folder cannot be read."""
    await session.hub.recovered()
    found = await asyncio.to_thread(kept, session, every=params.all)
    return Result(checkpoints=[_shape(session, record) for record in reversed(found)])


def kept(session: Session, *, every: bool) -> list[Record]:
    """The checkpoints of the session or of its whole workspace, the oldest first. Raises `Refused`. Blocks."""
    store = session.checkpoints
    try:
        return store.records((lambda _record: True) if every else None)
    except OSError as error:
        raise Refused(
            f"The checkpoints in {store.folder} cannot be read: {error.strerror}. Make that folder readable.",
            kind="permission_denied",
        ) from error


def _shape(session: Session, record: Record) -> CheckpointShape:
    return CheckpointShape(
        checkpoint=record.id,
        time=datetime.fromtimestamp(record.time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        summary=record.summary,
        files=list(dict.fromkeys(_shown(session, step.path) for step in record.steps)),
    )


def _shown(session: Session, path: Path) -> str:
    """As results name files: relative to the first folder, absolute outside of it."""
    first = session.real_folders[:1]
    relative = next((path.relative_to(one) for one in first if path.is_relative_to(one)), path)
    # A name that is no text is shown with the usual mark for what cannot be.
    return os.fsencode(relative.as_posix()).decode("utf-8", "replace")
