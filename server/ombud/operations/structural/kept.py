"""The staged rewrites of a session's workspace: the one that is meant, and what is said where it is not there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeVar

from ombud.errors import Refused
from ombud.guard.redact import clean
from ombud.structural.staging import Staged, Staging
from ombud.workspace.state import staging_folder

if TYPE_CHECKING:
    from ombud.operations.session import Session

T = TypeVar("T")
LISTED = 10
"""How many of the edits that there are a refusal names."""


def store(session: Session) -> Staging:
    """Where the session's workspace, which is named by its first folder, keeps what is staged."""
    return Staging(staging_folder() / session.checkpoints.folder.name)


async def asked(session: Session, work: Callable[[Staging], T]) -> T:
    """What ``work`` finds in the store, in a thread.

    Raises `Refused`: what ``work`` raises, and ``permission_denied`` where the state folder cannot be read.
    """
    found = store(session)
    try:
        return await asyncio.to_thread(work, found)
    except OSError as error:
        raise Refused(
            f"What is staged in {found.folder} cannot be read: {error.strerror}. Make that folder readable.",
            kind="permission_denied",
        ) from error


async def wanted(session: Session, edit: str) -> Staged:
    """The edit of that id. Raises `Refused` (``unknown_edit``, with ``staged``) that says what became of it."""
    found = await asked(session, lambda kept: kept.get(edit))
    if found is not None:
        return found
    raise await unknown(session, edit)


async def unknown(session: Session, edit: str) -> Refused:
    """The refusal of an id that is not there."""
    became, ids = await asked(session, lambda kept: (kept.what_became(edit), [one.id for one in kept.all()]))
    named = clean(edit, 40)
    first = f"{named} {became}" if became is not None else f"There is no staged edit “{named}” of this workspace"
    newest = ids[::-1]
    there = f"Staged are {', '.join(newest[:LISTED])}" if ids else "Nothing is staged now"
    more = f" and {len(ids) - LISTED} older ones" if len(ids) > LISTED else ""
    data = {"became": became} if became is not None else {}
    return Refused(
        f"{first}. {there}{more}; ast_edit stages one.", kind="unknown_edit", editId=named, staged=newest[:50], **data
    )


def told(seconds: float) -> str:
    """A moment, in seconds of the epoch, as ISO 8601 in UTC."""
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
