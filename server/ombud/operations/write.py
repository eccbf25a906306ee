"""Write a whole file, creating it and its folders where needed, and report the diagnostics that this introduced.

An existing file keeps its encoding, byte-order mark and mode; line ends are written as given.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.guard.fence import Inside
from ombud.operations.buffers import target
from ombud.operations.change import Buffers, Plan, WriteResult, apply
from ombud.operations.shapes import FILE_LIMIT, Arguments, Hints, Report, Wait
from ombud.text.buffer import Buffer
from ombud.workspace.files import Captured, read

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Params(Arguments, frozen=True):
    path: Annotated[str, msgspec.Meta(description="The file; its folders are made where needed.")]
    content: Annotated[str, msgspec.Meta(description="The whole new content, line ends as given.")]
    wait_ms: Wait | None = None
    diagnostics: Report = "wait"
    severity: Hints | None = None
    buffers: Buffers = "refuse"


Result = WriteResult


async def run(session: Session, params: Params) -> WriteResult:
    """Raises `Refused`: the fence's kinds, ``conflict`` for an unsaved buffer, ``file_changed``, ``not_text``."""
    path = session.fence.resolve(params.path, intent="write").path
    async with session.hub.writing(path):
        inside, captured = await asyncio.to_thread(_captured, session, params)
        return await apply(session, _plan(session, params, inside, captured))


def _captured(session: Session, params: Params) -> tuple[Inside, Captured | None]:
    inside = session.fence.resolve(params.path, intent="write")
    return inside, read(session.fence, inside, FILE_LIMIT) if inside.exists else None


def _plan(session: Session, params: Params, inside: Inside, captured: Captured | None) -> Plan:
    on_disk = captured.text if captured is not None else None
    open_in = target(session, inside, on_disk) if params.buffers == "edit" else None
    buffer = captured.buffer if captured is not None else Buffer("")
    # The file's byte-order mark is kept; one that came with the content must not become a second.
    content = params.content.removeprefix("\ufeff") if buffer.bom else params.content
    return Plan(
        inside=inside,
        before=captured.stat if captured is not None else None,
        after=buffer.encode(content),
        old=on_disk if open_in is None else open_in.text,
        new=content,
        buffer=open_in,
        wait_ms=session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms,
        report=params.diagnostics,
        hints=params.severity == "hint",
    )
