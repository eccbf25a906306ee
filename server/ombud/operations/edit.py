"""Replace exact text in a file and report the diagnostics that this introduced.

Each ``oldText`` must stand in the file exactly once, unless ``replaceAll``; an absent or ambiguous one changes nothing
and is answered with the nearest candidates. ``\\n`` stands for the file's own line end.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.guard.fence import Inside
from ombud.operations.buffers import Target, target
from ombud.operations.change import Buffers, Plan, WriteResult, apply
from ombud.operations.shapes import FILE_LIMIT, Arguments, Hints, Report, Wait
from ombud.text.replace import Replacement, replace
from ombud.workspace.files import Captured, read

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Edit(Arguments, frozen=True):
    old_text: Annotated[str, msgspec.Meta(description="Exact text that is in the file now.")]
    new_text: Annotated[str, msgspec.Meta(description="What stands there afterwards.")]
    replace_all: Annotated[bool, msgspec.Meta(description="Replace every occurrence, not exactly one.")] = False


class Params(Arguments, frozen=True):
    path: Annotated[str, msgspec.Meta(description="The file.")]
    edits: Annotated[
        list[Edit],
        msgspec.Meta(min_length=1, description="Replacements, each applied to what the one before it left."),
    ]
    wait_ms: Wait | None = None
    diagnostics: Report = "wait"
    severity: Hints | None = None
    buffers: Buffers = "refuse"


Result = WriteResult


async def run(session: Session, params: Params) -> WriteResult:
    """Raises `Refused`: the fence's kinds, ``conflict`` with candidates, ``file_changed``, ``not_text``."""
    path = session.fence.resolve(params.path, intent="read").path
    async with session.hub.writing(path):
        # Thousands of edits, or the search for what was meant, can take seconds; others are served meanwhile.
        inside, captured = await asyncio.to_thread(_captured, session, params)
        open_in = target(session, inside, captured.text) if params.buffers == "edit" else None
        return await apply(session, await asyncio.to_thread(_plan, session, params, inside, captured, open_in))


def _captured(session: Session, params: Params) -> tuple[Inside, Captured]:
    inside = session.fence.resolve(params.path, intent="read")
    session.fence.resolve(params.path, intent="write")
    return inside, read(session.fence, inside, FILE_LIMIT)


def _plan(session: Session, params: Params, inside: Inside, captured: Captured, open_in: Target | None) -> Plan:
    edits = [Replacement(edit.old_text, edit.new_text, edit.replace_all) for edit in params.edits]
    old = captured.text if open_in is None else open_in.text
    eol = captured.buffer.eol if open_in is None else open_in.eol
    replaced = replace(old, eol, edits, inside.relative)
    return Plan(
        inside=inside,
        before=captured.stat,
        after=captured.buffer.encode(replaced.text),
        old=old,
        new=replaced.text,
        wait_ms=session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms,
        report=params.diagnostics,
        hints=params.severity == "hint",
        buffer=open_in,
    )
