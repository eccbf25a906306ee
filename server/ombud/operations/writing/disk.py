"""The write itself: one journalled commit for all files of a plan, and who is told of it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from ombud.errors import Refused
from ombud.guard.fence import Inside
from ombud.operations.writing.plan import Edition, Plan
from ombud.workspace.events import CHANGED, CREATED, DELETED

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.workspace.documents import Document


def no_unsaved(session: Session, editions: Sequence[Edition]) -> None:
    """A file with an open buffer that differs from the disk is not written under its editor's hands.

    Raises `Refused` (``conflict``) that names the clients.
    """
    for edition in editions:
        texts = (
            (owner, text)
            for path in edition.paths
            for document in session.hub.documents.of_path(path)
            for owner, text in session.hub.owners(document).items()
        )
        names = sorted({owner.client.name for owner, text in texts if text.unsaved(edition.old)})
        if names:
            raise Refused(
                f"{edition.inside.relative} has unsaved changes in {', '.join(names)}; save or revert it there, then "
                "try again.",
                kind="conflict",
                path=edition.inside.relative,
                clients=names,
            )


async def to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await ``work`` to its end, also when the caller is cancelled meanwhile.

    A commit that has begun cannot be called back, so what it wrote must be shown to the servers as well. Raises what
    ``work`` raised, else the cancellation once it is over.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


class Disk:
    """One plan's way to the disk. ``checkpoint`` is known once `commit` is through; ``note`` says why there is none."""

    def __init__(self, session: Session, plan: Plan) -> None:
        self._session = session
        self._plan = plan
        self.checkpoint: str | None = None
        self.note: str | None = None

    async def commit(self) -> None:
        """Write all files or none. Raises as `ombud.workspace.commit.commit` does."""
        if not self._plan.editions:
            return
        await self._session.hub.recovered()
        await asyncio.to_thread(self._commit)

    def _commit(self) -> None:
        from ombud.workspace.commit import commit
        from ombud.workspace.state import journal_folder

        changes = [edition.change for edition in self._plan.editions]
        pending = self._session.checkpoints.begin(changes, self._plan.summary)
        try:
            committed = commit(self._session.fence, changes, journal_folder())
        except BaseException:
            pending.drop()
            raise
        self.checkpoint, self.note = pending.done(committed)

    def tell(self, shown: Sequence[Document] = ()) -> None:
        """Tell servers what was written: those that have it open, under any name, and those that watch the disk.

        ``shown`` are the documents that were shown their new text before.
        """
        for edition in self._plan.editions:
            if edition.kind in ("delete", "rename"):
                self._gone(edition.inside)
            if edition.kind != "delete":
                self._there(edition, shown)
        self._files_done()

    def _gone(self, inside: Inside) -> None:
        for document in self._session.hub.documents.of_path(inside.path):
            self._session.hub.documents.removed(document)
        self._session.hub.watch.wrote(inside.path, inside.spelled_uri, DELETED, self._session)

    def _there(self, edition: Edition, shown: Sequence[Document]) -> None:
        documents, target = self._session.hub.documents, edition.target
        for document in documents.of_path(target.path):
            if edition.new is not None:
                if document not in shown:
                    documents.replace(document, edition.new)
                documents.written(document)
        kind = CHANGED if edition.kind == "modify" else CREATED
        self._session.hub.watch.wrote(target.path, target.spelled_uri, kind, self._session)

    def _files_done(self) -> None:
        """``workspace/did{Create,Rename,Delete}Files``, for the servers that asked for these."""
        moved = [edition for edition in self._plan.editions if edition.kind != "modify"]
        if moved:
            from ombud.operations.writing.fileops import after

            after(self._session, moved)
