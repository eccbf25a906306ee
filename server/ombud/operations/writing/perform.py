"""Carry out a plan, and tell what it introduced."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from ombud.operations.writing.course import Course
from ombud.operations.writing.disk import no_unsaved
from ombud.operations.writing.formatting import formatted
from ombud.operations.writing.plan import Options, Plan
from ombud.operations.writing.result import DiagnosticsShape, WriteResult
from ombud.operations.writing.trial import Trial

if TYPE_CHECKING:
    from ombud.operations.session import Session

_NUMBERS = itertools.count(1)


def fresh_id() -> str:
    """The next ``writeId``."""
    return f"w{next(_NUMBERS)}"


async def perform(session: Session, plan: Plan) -> WriteResult:
    """Commit ``plan`` (or only show it to servers, for a preview) and report.

    The caller holds the files (`ombud.operations.writing.plan.held`) since before it read them. Raises `Refused` where
    nothing was written: ``conflict`` for unsaved buffers, ``file_changed``, ``permission_denied``, ``write_failed``.
    Raises `PeerError` where the formatter that was asked for fails.
    """
    write_id = fresh_id()
    if plan.options.preview and plan.options.report == "defer":
        # There is no series that it could belong to.
        plan = replace(plan, options=replace(plan.options, report="wait"))
    if plan.target is None:
        no_unsaved(session, plan.editions)
    note = None
    if plan.options.format:
        plan, note = await formatted(session, plan)
    course = _course(session, plan, write_id)
    course.note = note or course.note
    try:
        return await course.run()
    finally:
        for edition in plan.editions:
            session.hub.ahead.used(session, edition.target.path)


async def collected(session: Session, wait_ms: int, *, hints: bool) -> DiagnosticsShape:
    """What the session's series of writes has introduced, which ends it. ``wait_ms`` is in milliseconds."""
    course = Course(session, Plan((), Options(wait_ms, hints=hints), ""), fresh_id())
    answer = await course.run()
    assert answer.diagnostics is not None
    return answer.diagnostics


def _course(session: Session, plan: Plan, write_id: str) -> Course:
    if plan.options.preview:
        return Trial(session, plan, write_id)
    if plan.target is not None:
        from ombud.operations.buffers import Typing

        return Typing(session, plan, write_id)
    return Course(session, plan, write_id)
