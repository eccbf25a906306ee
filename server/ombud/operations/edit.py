"""Replace exact text in a file and report the diagnostics that this introduced.

Each ``oldText`` must stand in the file exactly once, unless ``replaceAll``; an absent or ambiguous one changes nothing
and is answered with the nearest candidates. ``\\n`` stands for the file's own line end.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.operations.buffers import Buffers, Target, target
from ombud.operations.shapes import Arguments
from ombud.operations.writing.perform import perform
from ombud.operations.writing.plan import Options, Plan, Writing, capture, held, modified
from ombud.operations.writing.result import WriteResult
from ombud.text.replace import Replacement, replace
from ombud.workspace.files import Captured

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Edit(Arguments, frozen=True):
    old_text: Annotated[str, msgspec.Meta(description="Exact text that is in the file now.")]
    new_text: Annotated[str, msgspec.Meta(description="What stands there afterwards.")]
    replace_all: Annotated[bool, msgspec.Meta(description="Replace every occurrence, not exactly one.")] = False


class Params(Writing, frozen=True):
    path: Annotated[str, msgspec.Meta(description="The file.")]
    edits: Annotated[
        list[Edit],
        msgspec.Meta(min_length=1, description="Replacements, each applied to what the one before it left."),
    ]
    buffers: Buffers = "refuse"


Result = WriteResult


async def run(session: Session, params: Params) -> WriteResult:
    """Raises `Refused`: the fence's kinds, ``conflict`` with candidates, ``file_changed``, ``not_text``."""
    async with held(session, [session.fence.resolve(params.path, intent="read").path]):
        # Thousands of edits, or the search for what was meant, can take seconds; others are served meanwhile.
        captured = await asyncio.to_thread(capture, session, params.path)
        open_in = target(session, captured.inside, captured.text) if params.buffers == "edit" else None
        return await perform(session, await asyncio.to_thread(_plan, session, params, captured, open_in))


def _plan(session: Session, params: Params, captured: Captured, open_in: Target | None) -> Plan:
    edits = [Replacement(edit.old_text, edit.new_text, edit.replace_all) for edit in params.edits]
    old = captured.text if open_in is None else open_in.text
    eol = captured.buffer.eol if open_in is None else open_in.eol
    name = captured.inside.relative
    edition = modified(captured, replace(old, eol, edits, name).text, old=old)
    return Plan((edition,), Options.of(session, params), f"edit of {name}", open_in)
