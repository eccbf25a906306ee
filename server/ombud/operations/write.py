"""Write a whole file, creating it and its folders where needed, and report the diagnostics that this introduced.

An existing file keeps its encoding, byte-order mark and mode; line ends are written as given.
"""

from __future__ import annotations

import asyncio
import dataclasses
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.guard.fence import Inside
from ombud.operations.buffers import Buffers, target
from ombud.operations.shapes import FILE_LIMIT
from ombud.operations.writing.perform import perform
from ombud.operations.writing.plan import Options, Plan, Writing, created, held, modified
from ombud.operations.writing.result import WriteResult
from ombud.workspace.files import Captured, read

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Params(Writing, frozen=True):
    path: Annotated[str, msgspec.Meta(description="The file; its folders are made where needed.")]
    content: Annotated[str, msgspec.Meta(description="The whole new content, line ends as given.")]
    buffers: Buffers = "refuse"


Result = WriteResult


async def run(session: Session, params: Params) -> WriteResult:
    """Raises `Refused`: the fence's kinds, ``conflict`` for an unsaved buffer, ``file_changed``, ``not_text``."""
    async with held(session, [session.fence.resolve(params.path, intent="write").path]):
        inside, captured = await asyncio.to_thread(_captured, session, params)
        return await perform(session, _plan(session, params, inside, captured))


def _captured(session: Session, params: Params) -> tuple[Inside, Captured | None]:
    inside = session.fence.resolve(params.path, intent="write")
    return inside, read(session.fence, inside, FILE_LIMIT) if inside.exists else None


def _plan(session: Session, params: Params, inside: Inside, captured: Captured | None) -> Plan:
    options, summary = Options.of(session, params), f"write of {inside.relative}"
    if captured is None:
        open_in = target(session, inside, None) if params.buffers == "edit" else None
        edition = created(inside, params.content)
        if open_in is not None:
            # A buffer that was never saved.
            edition = dataclasses.replace(edition, old=open_in.text)
        return Plan((edition,), options, summary, open_in)
    open_in = target(session, inside, captured.text) if params.buffers == "edit" else None
    # The file's byte-order mark is kept; one that came with the content must not become a second.
    content = params.content.removeprefix("\ufeff") if captured.buffer.bom else params.content
    edition = modified(captured, content, old=captured.text if open_in is None else open_in.text)
    return Plan((edition,), options, summary, open_in)
