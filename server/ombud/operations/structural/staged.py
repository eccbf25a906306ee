"""List the rewrites that are staged in this workspace, the newest first: by whom, how old, which files, what conflicts.

They outlive the session and the process that staged them, for a day; resolve commits or discards one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.operations.shapes import Arguments, Shape
from ombud.operations.structural.diffs import Diffs
from ombud.operations.structural.editions import look
from ombud.operations.structural.kept import asked, told, wanted

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.structural.staging import File, Staged, Staging

LISTED = 200
"""Files of one edit that a list of several names."""
TOLD = 20
"""Edits that are gone and still told of."""


class Params(Arguments, frozen=True, kw_only=True):
    edit_id: Annotated[
        str | None,
        msgspec.Meta(description="Only this one, with its diffs and the files that were changed since."),
    ] = None


class FileShape(Shape, omit_defaults=True):
    """``diff`` and ``changed`` (it is not as it was at staging) are told of a single edit only."""

    path: str
    replacements: int
    added: int
    removed: int
    diff: str | None = None
    truncated: bool = False
    changed: bool = False


class StagedShape(Shape):
    edit_id: str
    summary: str
    client: str
    """Who staged it, as that client names itself."""
    yours: bool
    """Whether it was this session."""
    time: str
    """ISO 8601, UTC; as ``expires``."""
    age_seconds: int
    expires: str
    expires_in_seconds: int
    files: list[FileShape]
    """The files that wait for a decision, of many the first."""
    file_count: int
    conflicts_with: list[str]
    """Other edits that wait with one of the files."""


class GoneShape(Shape):
    edit_id: str
    time: str
    reason: str


class Result(Shape):
    staged: list[StagedShape]
    gone: list[GoneShape]
    """The last ones that were committed, discarded, or have expired."""


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused`: ``unknown_edit``, and ``permission_denied`` where the state folder cannot be read."""
    chosen = None if params.edit_id is None else await wanted(session, params.edit_id)

    def work(kept: Staging) -> Result:
        every = kept.all()
        edits = every[::-1] if chosen is None else [chosen]
        shapes = [_shape(session, one, every, _files(session, kept, one, whole=chosen is not None)) for one in edits]
        gone = [
            GoneShape(edit_id=f"e{one.number}", time=told(one.time), reason=one.why)
            for one in reversed(kept.gone()[-TOLD:])
        ]
        return Result(staged=shapes, gone=gone)

    return await asked(session, work)


def _shape(session: Session, staged: Staged, every: Sequence[Staged], files: list[FileShape]) -> StagedShape:
    now, mine = time.time(), set(staged.paths)
    return StagedShape(
        edit_id=staged.id,
        summary=staged.summary,
        client=staged.client,
        yours=staged.session == session.checkpoints.session,
        time=told(staged.time),
        age_seconds=max(0, int(now - staged.time)),
        expires=told(staged.expires),
        expires_in_seconds=max(0, int(staged.expires - now)),
        files=files,
        file_count=len(staged.files),
        conflicts_with=[one.id for one in every if one.number != staged.number and not mine.isdisjoint(one.paths)],
    )


def _files(session: Session, kept: Staging, staged: Staged, *, whole: bool) -> list[FileShape]:
    if not whole:
        return [_file(one) for one in staged.files[:LISTED]]
    shapes, diffs = [], Diffs()
    changed = set(look(session, kept, staged, staged.files).changed)
    for file, before, after in kept.texts(staged, staged.files):
        shape = _file(file)
        shape.diff, shape.truncated = diffs.of(file.shown, before, after).shown
        shape.changed = file.shown in changed
        shapes.append(shape)
    return shapes


def _file(file: File) -> FileShape:
    return FileShape(path=file.shown, replacements=file.replacements, added=file.added, removed=file.removed)
