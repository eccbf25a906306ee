"""A session ends with an open transaction: it is taken back without its client, and the others are told."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import OmbudError
from ombud.operations.watch import Seen
from ombud.operations.writing.plan import held
from ombud.workspace.abandoned import take_back
from ombud.workspace.events import CHANGED, CREATED, DELETED
from ombud.workspace.state import journal_folder

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.workspace.abandoned import Taken
    from ombud.workspace.change import Change

LOG = logging.getLogger("ombud.transaction")


async def abandon(session: Session) -> None:
    """Take back what the open transaction wrote, but for what somebody else changed since; that is logged.

    Where it cannot be done now, the next start tries again.
    """
    store = session.checkpoints
    try:
        records = await asyncio.to_thread(store.since_begin)
        paths = {step.path for record in records for step in record.steps}
        async with held(session, paths):
            taken = await asyncio.to_thread(take_back, store, records, session.fence, journal_folder())
        await asyncio.to_thread(store.close_transaction)
    except (OSError, OmbudError) as error:
        LOG.warning("a transaction that was left open cannot be taken back now (%s); the next start tries again", error)
        return
    _tell(session, taken)


def _tell(session: Session, taken: Taken) -> None:
    if taken.left:
        LOG.warning(
            "a transaction that was left open was taken back, but for %s, which somebody else changed since",
            ", ".join(taken.left),
        )
    session.hub.watch.tell([seen for change in taken.changes for seen in _seen(change)])


def _seen(change: Change) -> list[Seen]:
    here, uri = change.inside.path, change.inside.spelled_uri
    if change.to is not None:
        return [_one(here, uri, DELETED), _one(change.to.path, change.to.spelled_uri, CREATED)]
    return [_one(here, uri, {"create": CREATED, "delete": DELETED}.get(change.kind, CHANGED))]


def _one(path: Path, uri: str, kind: int) -> Seen:
    return Seen(str(path), kind, (uri,))
