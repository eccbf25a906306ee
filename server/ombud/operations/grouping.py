"""Who may write when, in one session, and the transaction that groups several writes: all of them, or none.

Writes go beside each other; within a transaction they go one after the other, so that there is no doubt which of them
belong to it.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Literal

from ombud.errors import INTERNAL_ERROR, Cancelled, OmbudError, Refused

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.writing.plan import Options
    from ombud.operations.writing.result import WriteResult
    from ombud.workspace.checkpoints import Checkpoints
    from ombud.workspace.record import Record

LOG = logging.getLogger("ombud.transaction")

Call = Literal["none", "look", "write", "alone"]


def kind_of(name: str, tier: str, params: Any) -> Call:
    """What a call of an operation is to the session's turns, from its params as they came.

    ``none``: it writes nothing. ``look``: it only shows what a write would do. ``alone``: it goes by the session's
    order of writes, so those before it must have ended.
    """
    said: Mapping[str, Any] = params if isinstance(params, dict) else {}
    if name == "transaction" or (name == "resolve" and said.get("action") == "discard"):
        return "none"
    # An operation that reads may offer to apply what it found.
    if tier != "write" and not said.get("apply"):
        return "none"
    if said.get("preview") is True or said.get("apply") is False:
        return "look"
    return "alone" if name == "rollback" else "write"


class Grouping:
    """See the module. ``opened``: a transaction is open."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._door = asyncio.Lock()
        self._writing = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._checkpoints: Checkpoints | None = None
        self.opened = False

    @property
    def checkpoints(self) -> Checkpoints:
        """Those of the session's workspace, which is named by its first folder at the first need."""
        if self._checkpoints is None:
            from ombud.workspace.checkpoints import Checkpoints
            from ombud.workspace.state import checkpoint_folder

            # Without a folder nothing is ever written, and there is nothing to list.
            name = b"".join(os.fsencode(folder) for folder in self._session.real_folders[:1])
            self._checkpoints = Checkpoints(checkpoint_folder() / hashlib.sha256(name).hexdigest()[:32])
        return self._checkpoints

    @asynccontextmanager
    async def turn(self, call: Call) -> AsyncIterator[None]:
        """A call's turn. A write that fails in a transaction takes back everything since its begin, and says so."""
        if call == "none":
            yield
            return
        async with self._door:
            if self.opened or call == "alone":
                await self._idle.wait()
                try:
                    yield
                except Exception as error:
                    if not self.opened or call == "look" or isinstance(error, Cancelled):
                        raise
                    raise await self._undone(error) from error
                return
            self._writing += 1
            self._idle.clear()
        try:
            yield
        finally:
            self._writing -= 1
            if not self._writing:
                self._idle.set()

    async def begin(self) -> None:
        """Open a transaction. Raises `Refused`: ``conflict`` in an open one, ``write_failed`` for the state folder."""
        async with self._door:
            await self._idle.wait()
            if self.opened:
                raise Refused(
                    "A transaction is open already. End it with “commit” or “abort” before the next begins.",
                    kind="conflict",
                )
            await self._session.hub.recovered()
            store = self._session.checkpoints
            try:
                await asyncio.to_thread(store.open_transaction)
            except OSError as error:
                raise Refused(
                    f"No transaction could be begun, for nothing can be kept in {store.folder}: {error.strerror}. "
                    "Free some space there or make it writable.",
                    kind="write_failed",
                ) from error
            self.opened = True

    async def commit(self) -> list[Record]:
        """End the transaction and keep what it wrote: its checkpoints. Raises `Refused` (``conflict``)."""
        async with self._door:
            self._must_be_open("commit")
            records = await asyncio.to_thread(self._since_begin)
            await self._end()
            return records

    async def abort(self, options: Options) -> WriteResult:
        """Take back everything since the begin, and end the transaction.

        Raises `Refused`: ``conflict`` where none is open; ``file_changed`` with ``paths`` and what else keeps a
        rollback from being made, and the transaction stays open.
        """
        async with self._door:
            self._must_be_open("abort")
            try:
                result = await self._restore(options)
            except OmbudError as error:
                raise _with(error, "The transaction is still open: mend that and abort again, or commit.") from error
            return result

    def _must_be_open(self, action: str) -> None:
        if not self.opened:
            raise Refused(
                f"There is no open transaction to {action}: none was begun, or it has ended, as after a write that "
                "failed. Begin one first.",
                kind="conflict",
            )

    async def _restore(self, options: Options) -> WriteResult:
        from ombud.operations.rollback import restore

        result = await restore(self._session, self._since_begin, options, "take back a transaction")
        await self._end()
        return result

    def _since_begin(self) -> list[Record]:
        """What the open transaction wrote. Raises `Refused` where the state folder cannot be read. Blocks."""
        store = self._session.checkpoints
        try:
            return store.since_begin()
        except OSError as error:
            raise Refused(
                f"The checkpoints in {store.folder} cannot be read: {error.strerror}. Make that folder readable.",
                kind="permission_denied",
            ) from error

    async def _end(self) -> None:
        store = self._session.checkpoints
        try:
            await asyncio.to_thread(store.close_transaction)
        except OSError as error:
            raise Refused(
                f"The transaction could not be ended in {store.folder}: {error.strerror}. Make that folder writable "
                "and try again.",
                kind="write_failed",
            ) from error
        self.opened = False

    async def _undone(self, error: Exception) -> OmbudError:
        """The error that a failed write is answered with, after everything since the begin was taken back."""
        from ombud.operations.writing.plan import Options

        if not isinstance(error, OmbudError):
            LOG.error("a write in a transaction failed", exc_info=error)
            error = OmbudError("Ombud could not finish the write; its log says why.", kind="internal")
            error.code = INTERNAL_ERROR
        try:
            result = await self._restore(Options(wait_ms=0, report="none"))
        except OmbudError as refusal:
            paths = refusal.data.get("paths", [])
            sentence = (
                f"What the transaction wrote before could not be taken back ({refusal.message.rstrip('.')}); it is "
                "still open: mend that and abort, or commit."
            )
            return _with(error, sentence, notRolledBack=paths)
        paths = [path for file in result.files for path in (file.path, file.from_) if path is not None]
        told = f" ({', '.join(paths[:5])}{' and more' if len(paths) > 5 else ''})" if paths else ""
        return _with(error, f"Everything since the begin of the transaction was restored{told}.", rolledBack=paths)

    def close(self) -> None:
        """The session is over: an open transaction is taken back, as far as that can be."""
        if self._checkpoints is not None:
            self._session.hub.leave(self._leave(self._checkpoints))

    async def _leave(self, store: Checkpoints) -> None:
        from ombud.operations.abandoning import abandon

        # Writes that were cancelled with the connection may still have to end.
        async with self._door:
            await self._idle.wait()
            try:
                if self.opened:
                    await abandon(self._session)
            finally:
                store.close()


def _with(error: OmbudError, sentence: str, **data: Any) -> OmbudError:
    """The error with a further sentence; code and kind stay."""
    error.message = f"{error.message} {sentence}"
    error.args = (error.message,)
    error.data.update(data)
    return error
