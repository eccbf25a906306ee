"""Go back to the state before a write: undo that write and every later one of the same session.

It is one write of its own, all or nothing, with a checkpoint of its own. It is refused where somebody else changed one
of the files since; what is already as it was before is left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.errors import Refused
from ombud.operations.checkpoints import kept
from ombud.operations.shapes import Arguments, Hints, Wait
from ombud.operations.writing.plan import Edition, Options, Plan, Preview, Reporting, held
from ombud.operations.writing.result import WriteResult
from ombud.text.buffer import Buffer, decode
from ombud.workspace.undo import assess, net, remove_folders

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.workspace.change import Change
    from ombud.workspace.record import Record

_LISTED = 10
"""How many of the checkpoints that there are a refusal names."""


class Params(Arguments, frozen=True):
    checkpoint: Annotated[str, msgspec.Meta(description="The id that a write answered with, or one of `checkpoints`.")]
    preview: Preview = False
    wait_ms: Wait | None = None
    diagnostics: Reporting = "wait"
    severity: Hints | None = None


Result = WriteResult


async def run(session: Session, params: Params) -> WriteResult:
    """Raises `Refused`: ``not_found`` for an id that is not kept, ``file_changed`` with ``paths`` where somebody else
    changed, made or deleted a file since, ``conflict`` for an unsaved buffer, and what any commit is refused with.
    """
    wait = session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms
    options = Options(wait, params.diagnostics, params.severity == "hint", params.preview)
    result = await restore(
        session, lambda: _since(session, params.checkpoint), options, f"rollback to before {params.checkpoint}"
    )
    if not result.files:
        result.message = f"Nothing to roll back: every file is already as it was before {params.checkpoint}."
    elif not params.preview:
        result.message = f"Rolled back to before {params.checkpoint}. {result.message}"
    return result


def _since(session: Session, checkpoint: str) -> list[Record]:
    """The checkpoint's record and the later ones of its session. Raises `Refused` (``not_found``)."""
    every = kept(session, every=True)
    chosen = next((record for record in every if record.id == checkpoint), None)
    if chosen is not None:
        return [record for record in every if record.session == chosen.session and record.number >= chosen.number]
    ids = [record.id for record in reversed(every)]
    there = f"There are {', '.join(ids[:_LISTED])}" if ids else "There are none"
    more = f" and {len(ids) - _LISTED} older ones" if len(ids) > _LISTED else ""
    raise Refused(
        f"There is no checkpoint {checkpoint[:40]!r} of this workspace. {there}{more}; the oldest go after a while.",
        kind="not_found",
        checkpoints=ids[:_LISTED],
    )


async def restore(session: Session, wanted: Callable[[], list[Record]], options: Options, summary: str) -> WriteResult:
    """Bring back what was there before the records that ``wanted`` finds (in a thread), through one commit.

    Raises as `run` does.
    """
    await session.hub.recovered()
    holding: set[Path] = set()
    while True:
        async with held(session, holding):
            records = await asyncio.to_thread(wanted)
            undos = net(records)
            needed = {undo.path for undo in undos} | {undo.back for undo in undos if undo.back is not None}
            # Somebody may have written to another file meanwhile; then that one has to be held as well.
            if needed <= holding:
                editions = await asyncio.to_thread(_editions, session, records)
                result = await perform(session, Plan(editions, options, summary))
                if result.applied:
                    await asyncio.to_thread(remove_folders, records, session.fence)
                return result
        holding |= needed


async def perform(session: Session, plan: Plan) -> WriteResult:
    # Servers and their reports are imported with the first write, not with the list of operations.
    from ombud.operations.writing.perform import perform as carry_out

    return await carry_out(session, plan)


def _editions(session: Session, records: Sequence[Record]) -> tuple[Edition, ...]:
    way = assess(net(records), session.fence, session.checkpoints.bytes_of)
    if way.changed:
        names = ", ".join(way.changed[:5]) + (f" and {len(way.changed) - 5} more" if len(way.changed) > 5 else "")
        is_one = len(way.changed) == 1
        raise Refused(
            f"{names} {'is' if is_one else 'are'} not as {'it was' if is_one else 'they were'} left by what is to be "
            f"undone: somebody else changed, made or deleted {'it' if is_one else 'them'} since. Nothing was rolled "
            f"back{_advice(session, records)}.",
            kind="file_changed",
            paths=way.changed,
        )
    if way.lost:
        raise Refused(
            f"What {', '.join(way.lost[:5])} held before is not kept any more or is damaged, so nothing was rolled "
            "back. A later checkpoint may be whole.",
            kind="not_found",
            paths=way.lost,
        )
    return tuple(_edition(change) for change in way.changes)


def _advice(session: Session, records: Sequence[Record]) -> str:
    """What to do instead: the later writes of other sessions to the same files can be rolled back first."""
    paths = {step.path for record in records for step in record.steps}
    later = [
        record.id
        for record in reversed(kept(session, every=True))
        if record.number > records[0].number and record not in records and paths & {step.path for step in record.steps}
    ]
    if not later:
        return "; look at what is there now and mend it by hand"
    more = f" and {len(later) - _LISTED} older ones" if len(later) > _LISTED else ""
    return f". Other sessions wrote to the same files later: roll back {', '.join(later[:_LISTED])}{more} first"


def _edition(change: Change) -> Edition:
    """A change with its texts; those of a file that is none are None."""
    name = change.target.relative
    old = None if change.before is None else _text(change.before.data, name)
    kept_bytes = change.after is None and change.kind == "rename"
    new = old if kept_bytes else None if change.after is None else _text(change.after, name)
    return Edition(
        change.kind,
        change.inside,
        change.before,
        change.after,
        None if old is None else old.text,
        None if new is None else new.text,
        new or Buffer("", name=name),
        change.to,
        change.mode,
    )


def _text(data: bytes, name: str) -> Buffer | None:
    try:
        return decode(data, name)
    except Refused:
        return None
