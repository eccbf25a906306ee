"""Edits of servers carried out: one that was asked for, those of a command, and those that come unasked.

A server that sends ``workspace/applyEdit`` is answered as soon as its edit is on the disk or refused; it may be waiting
for that before it does anything else. What the edits of one command introduce is reported once it has answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError, Refused
from ombud.guard.redact import clean, redact
from ombud.operations.writing import perform, report
from ombud.operations.writing.edits import Asked, Worked, tidy, worked_out
from ombud.operations.writing.fileops import folders_moved
from ombud.operations.writing.intact import intact
from ombud.operations.writing.plan import Options, Plan
from ombud.operations.writing.result import FileShape, WriteResult

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.session import Session

MOST_EDITS = 50
"""How many edits a server may send for one command."""

Answer = dict[str, Any]
"""An ``ApplyWorkspaceEditResult``."""


@dataclass(frozen=True, slots=True)
class Applied:
    """One edit that was carried out (or tried, for a preview)."""

    result: WriteResult
    worked: Worked


async def carry_out(
    session: Session, edit: Any, options: Options, summary: str, *, author: str, asked: Asked | None = None
) -> Applied | None:
    """Work an edit out and write it; None where it changes nothing. Raises as `worked_out`, `intact`, `perform`."""
    async with worked_out(session, edit, author, asked) as worked:
        if not worked.editions:
            return None
        unchecked = await intact(session, worked.editions, author)
        with folders_moved(worked.moved):
            result = await perform.perform(session, Plan(worked.editions, options, summary))
        if worked.folders and not options.preview:
            await asyncio.to_thread(tidy, session.fence, worked.folders)
    result.note = " ".join(filter(None, (result.note, worked.note, unchecked))) or None
    return Applied(result, worked)


class Commanded:
    """What a server does to files while it carries out a command for one of our operations."""

    def __init__(self, session: Session, server: Server, options: Options, summary: str) -> None:
        self.session = session
        self.server = server
        self.applied: list[Applied] = []
        self.refused: list[str] = []
        """Why some of its edits were not made."""
        self.kind = "conflict"
        """The kind of the first of these."""
        self._options = replace(options, report="none" if options.report == "none" else "defer")
        self._summary = summary
        self._count = 0
        self._order = asyncio.Lock()
        self._open: set[asyncio.Task[Answer]] = set()

    def take(self, edit: Any) -> asyncio.Task[Answer]:
        """Make one edit, after those before it. The task is the server's answer and raises no `OmbudError`."""
        self._count += 1
        task = asyncio.ensure_future(self._take(edit, self._count))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        return task

    async def _take(self, edit: Any, number: int) -> Answer:
        if number > MOST_EDITS:
            return self._no(f"{self.server.name} has sent more than {MOST_EDITS} edits for one command.")
        async with self._order:
            try:
                applied = await carry_out(self.session, edit, self._options, self._summary, author=self.server.name)
            except OmbudError as error:
                if not self.refused:
                    self.kind = error.kind
                return self._no(error.message)
        if applied is not None:
            self.applied.append(applied)
        return {"applied": True}

    def _no(self, reason: str) -> Answer:
        self.refused.append(reason)
        return {"applied": False, "failureReason": reason}

    async def over(self) -> None:
        """Wait for the edits that were sent before the command was answered."""
        while self._open:
            await asyncio.wait(self._open)


async def unasked(session: Session, server: Server, edit: Any) -> Answer:
    """An edit that a server makes without an operation of ours, for a session whose client cannot make it.

    What it introduces is reported with the session's next write that waits.
    """
    options = Options(session.configuration.diagnostics.wait_ms, report="defer")
    try:
        session.tiers.require("write", session.trust, "workspace/applyEdit")
        await carry_out(session, edit, options, f"An edit of {server.name}", author=server.name)
    except OmbudError as error:
        return {"applied": False, "failureReason": error.message}
    return {"applied": True}


def edit_of(params: Any) -> Any:
    """The edit in the params of ``workspace/applyEdit``."""
    return params.get("edit") if isinstance(params, dict) else None


# -- several as one -------------------------------------------------------------------------------------------


async def reported(session: Session, steps: Sequence[Applied], options: Options, summary: str) -> WriteResult:
    """One answer for all ``steps``, which were deferred: what they introduced together, if ``options`` want that.

    Raises `Refused` where there are no steps.
    """
    if not steps:
        raise Refused("There was nothing to write.", kind="not_found")
    files = joined_files([step.result for step in steps])
    first = steps[0].result
    notes = list(dict.fromkeys(step.result.note for step in steps if step.result.note))
    diagnostics = None
    if options.report == "wait":
        whole = await perform.perform(session, Plan((), options, summary))
        diagnostics = whole.diagnostics
        first.write_id = whole.write_id
    first.files = files
    first.diagnostics = diagnostics
    first.note = " ".join(notes) or None
    words = [report.applied_words(files, preview=False, in_buffer=False), *notes]
    nobody = diagnostics is not None and not diagnostics.servers
    words.append(report.found_words(diagnostics, options.report, no_server=nobody))
    first.message = " ".join(words) + (report.lists(diagnostics) if diagnostics is not None else "")
    return first


def joined_files(results: Sequence[WriteResult]) -> list[FileShape]:
    """Each file once, with all its lines; one that a later step moved or removed again under what became of it."""
    out: dict[str, FileShape] = {}
    for result in results:
        for file in result.files:
            former = out.pop(file.from_ or file.path, None)
            if former is None:
                out[file.path] = file
                continue
            if former.status == "created" and file.status == "deleted":
                continue
            status = former.status if file.status == "modified" else file.status
            if former.status == "created":
                status = "created"
            if former.status == "deleted":
                status = "modified"
            joined = FileShape(
                path=file.path, status=status, added=former.added + file.added, removed=former.removed + file.removed
            )
            if status == "renamed":
                joined.from_ = former.from_ or file.from_
            out[file.path] = joined
    return list(out.values())


def words_of(reasons: Sequence[str]) -> str:
    """What could not be done, for a reader."""
    return " ".join(clean(redact(one), 400) for one in dict.fromkeys(reasons))
