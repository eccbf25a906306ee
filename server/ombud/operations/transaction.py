"""Group the writes that follow: begin, then commit to keep them, or abort to have everything as it was at the begin.

Within a transaction a write that fails restores everything since the begin and ends it; so does the end of the
connection. Writes of one transaction go one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ombud.operations.shapes import Arguments, Hints, Shape, Wait
from ombud.operations.writing.plan import Options, Reporting, numbered
from ombud.operations.writing.result import DiagnosticsShape, FileShape

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.writing.result import WriteResult


class Params(Arguments, frozen=True):
    action: Annotated[
        Literal["begin", "commit", "abort"],
        msgspec.Meta(description="begin; commit: keep what was written; abort: restore everything since the begin."),
    ]
    wait_ms: Wait | None = None
    diagnostics: Reporting = "wait"
    severity: Hints | None = None


class Result(Shape, kw_only=True):
    """``abort`` answers as a write does; ``begin`` and ``commit`` write nothing and have no more than ``message``,
    ``state`` and, after ``commit``, ``checkpoint``."""

    applied: bool | UnsetType = UNSET
    """After ``abort``, as the fields below; ``begin`` and ``commit`` write nothing."""
    message: str
    state: Literal["begun", "committed", "aborted"]
    files: list[FileShape] | UnsetType = UNSET
    write_id: str | UnsetType = UNSET
    diagnostics: DiagnosticsShape | UnsetType | None = UNSET
    checkpoint: str | UnsetType | None = UNSET
    """After ``commit`` the one that undoes the whole transaction, after ``abort`` the one that undoes the abort."""
    note: str | UnsetType | None = UNSET


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused`: ``conflict`` for a begin in an open transaction and for an end of none; ``file_changed`` with
    ``paths`` where somebody else changed a file since, which leaves the transaction open.
    """
    if params.action == "begin":
        await session.transaction.begin()
        return Result(
            message="A transaction has begun: what is written from here on is kept together by “commit”, and taken "
            "back by “abort”, or when one of the writes fails.",
            state="begun",
        )
    if params.action == "commit":
        records = await session.transaction.commit()
        written = numbered(len(records), "write")
        is_one = len(records) == 1
        said = f"The transaction is over; {written} {'is' if is_one else 'are'} kept."
        if records:
            said += f" “rollback” with {records[0].id} undoes {'it' if is_one else 'them'}."
        if session.series:
            said += " What is wrong since is not told yet: it is with the next write that waits, or diagnostics of “*”."
        return Result(
            message=said,
            state="committed",
            checkpoint=records[0].id if records else UNSET,
        )
    wait = session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms
    options = Options(wait, params.diagnostics, params.severity == "hint")
    return _aborted(await session.transaction.abort(options))


def _aborted(result: WriteResult) -> Result:
    message = f"Everything since the begin of the transaction was restored. {result.message}"
    if not result.files:
        message = "The transaction is over; there was nothing to restore."
    return Result(
        applied=result.applied,
        message=message,
        state="aborted",
        files=result.files,
        write_id=result.write_id,
        diagnostics=result.diagnostics,
        checkpoint=UNSET if result.checkpoint is None else result.checkpoint,
        note=UNSET if result.note is None else result.note,
    )
