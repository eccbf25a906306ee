"""Writing into a buffer that a client has open, in place of the file (``buffers: "edit"``).

The change becomes a versioned ``workspace/applyEdit`` to that client. It is done when the client has said so, and known
to servers when the client's own ``didChange`` has brought the new text; saving it is left to the client's user.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Raw

from ombud.errors import PeerError, Refused
from ombud.guard.fence import Inside
from ombud.guard.redact import clean, redact
from ombud.operations.writing.course import LOOKS_AT_FILES, Course
from ombud.operations.writing.plan import Plan
from ombud.text.buffer import dominant_eol
from ombud.text.minimal import edits_between
from ombud.wire.values import load
from ombud.workspace.documents import ClientText, Document

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.writing.leaf import Part

    Holder = tuple[Session, Document, ClientText]

Buffers = Annotated[
    Literal["refuse", "edit"],
    msgspec.Meta(
        description="refuse: write the file, but not where a client has unsaved changes of it; edit: change the buffer "
        "of the client that has it open, and leave saving it to the user."
    ),
]
ANSWER_SECONDS = 10.0
"""How long a client may take at least to say whether it has made a change: its user may be asked."""


@dataclass(frozen=True, slots=True)
class Target:
    """A client's buffer as it was when the change was planned. ``version`` is the client's own number."""

    session: Session
    document: Document
    text: str
    version: int
    uri: str

    @property
    def name(self) -> str:
        return self.session.client.name

    @property
    def eol(self) -> str:
        return dominant_eol(self.text)

    @property
    def current(self) -> ClientText | None:
        """The buffer as it is now; None where its client has closed it."""
        return self.document.owners.get(self.session)

    def holds(self, text: str) -> bool:
        current = self.current
        return current is not None and current.text == text


class _Applied(msgspec.Struct):
    applied: bool = False
    failureReason: str | None = None  # noqa: N815  (the protocol's name)


def target(session: Session, inside: Inside, disk: str | None) -> Target | None:
    """The buffer that a change of a file has to go to; None where nobody has it open who can edit it.

    ``disk`` is the file's text, None where it is not there. Of several buffers it is the one with unsaved changes,
    else this session's own, else the one that was opened last. Raises `Refused` (``conflict``) where two have unsaved
    changes, or the one that has cannot be edited from here.
    """
    owners: list[Holder] = [
        (owner, document, text)
        for document in session.hub.documents.of_path(inside.path)
        for owner, text in session.hub.owners(document).items()
        if not text.superseded
    ]
    unsaved = [one for one in owners if one[2].text != disk]
    if len(unsaved) > 1:
        raise _conflict(inside, "has unsaved changes in more than one client; save or revert all but one", unsaved)
    able = [one for one in unsaved or owners if _takes_edits(one[0])]
    if unsaved and not able:
        raise _conflict(inside, "has unsaved changes in a client that takes no edits; save or revert it there", unsaved)
    if not able:
        return None
    owner, document, text = next((one for one in able if one[0] is session), able[-1])
    return Target(owner, document, text.text, text.version, text.uri)


def _takes_edits(owner: Session) -> bool:
    """Whether a client makes versioned edits. By LSP 3.17 ("WorkspaceEdit") either of the two says so.

    Neovim announces ``resourceOperations`` alone, and keeps to the versions.
    """
    of_documents = ("workspace.workspaceEdit.documentChanges", "workspace.workspaceEdit.resourceOperations")
    return bool(owner.can("workspace.applyEdit") and any(owner.can(one) for one in of_documents))


def _conflict(inside: Inside, what: str, owners: list[Holder]) -> Refused:
    names = sorted({owner.client.name for owner, _, _ in owners})
    return Refused(
        f"{inside.relative} {what}, then try again ({', '.join(names)}).",
        kind="conflict",
        path=inside.relative,
        clients=names,
    )


async def hand_over(session: Session, plan: Plan, end: float) -> bool:
    """Have the client make the change; whether its ``didChange`` has brought the text until ``end`` (monotonic).

    Raises `Refused` (``conflict``) where the client did not make it: then nothing has changed.
    """
    found, edition = plan.target, plan.editions[0]
    assert found is not None and edition.new is not None
    name, new = edition.inside.relative, edition.new
    # Before the look at the buffer, since it takes seconds for long texts.
    edits = await asyncio.to_thread(edits_between, found.text, new)
    current = found.current
    if current is None or current.version != found.version or current.text != found.text:
        raise Refused(
            f"{name} was changed or closed in {found.name} meanwhile, so nothing was done; try again.",
            kind="conflict",
            path=name,
            clients=[found.name],
        )
    if not edits:
        return True
    arrived = session.hub.typed.until(found.session, lambda: found.holds(new))
    try:
        await _asked(found, name, edits, max(ANSWER_SECONDS, end - time.monotonic()))
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, end - time.monotonic())):
                await asyncio.shield(arrived)
        return arrived.done()
    finally:
        arrived.cancel()


async def _asked(found: Target, name: str, edits: list[Any], seconds: float) -> None:
    """Send the edit and wait until the client has said that it made it. Raises as `hand_over`, and `PeerError`."""
    answer: asyncio.Future[tuple[Raw | None, Raw | None]] = asyncio.get_running_loop().create_future()

    def answered(result: Raw | None, error: Raw | None) -> None:
        if not answer.done():
            kept = [Raw(bytes(one)) if one is not None else None for one in (result, error)]
            answer.set_result((kept[0], kept[1]))

    change = {"textDocument": {"uri": found.uri, "version": found.version}, "edits": edits}
    params = {"label": f"Ombud: {name}", "edit": {"documentChanges": [change]}}
    found.session.ask_client("workspace/applyEdit", params, answered)
    try:
        async with asyncio.timeout(seconds):
            result, error = await answer
    except TimeoutError:
        raise PeerError(
            f"{found.name} has not said within {seconds:.0f} s whether it changed {name}; look at the "
            "file there before you try again.",
            kind="timeout",
            path=name,
        ) from None
    said = _said(result) if error is None else _Applied(failureReason="it answered with an error")
    if not said.applied:
        reason = clean(redact(said.failureReason or "it gave no reason"), 300).rstrip(".")
        raise Refused(
            f"{found.name} did not make the change to {name}: {reason}. Nothing was changed.",
            kind="conflict",
            path=name,
            clients=[found.name],
        )


def _said(result: Raw | None) -> _Applied:
    try:
        return load(result, _Applied) if result is not None else _Applied(failureReason="its connection has ended")
    except (msgspec.ValidationError, ValueError):
        return _Applied(failureReason="its answer cannot be read")


class Typing(Course):
    """A write whose new text comes from the client that made the change."""

    def hold(self, part: Part) -> None:
        """By the text of the buffer, not of the disk: that is what servers look at already."""
        found = self._target
        parts = [one for one in self.parts if any(sheet.leaf.edition is not None for sheet in one.sheets)]
        self.hub.attach(found.document.uri, [one.server for one in parts])
        for sheet in part.sheets:
            if sheet.leaf.was is None and sheet.leaf.edition is not None:
                document = found.document
                pinned = self.hub.documents.pin(document.uri, document.path, document.language, found.text)
                sheet.leaf.was = self.keep(pinned)
                sheet.leaf.old_version = pinned.version
            if part.server.entry.diagnostics.on_save:
                part.unknown(LOOKS_AT_FILES)
        super().hold(part)

    @property
    def _target(self) -> Target:
        assert self.plan.target is not None
        return self.plan.target

    async def _alone(self) -> None:
        await self._hand_over()

    async def _land(self) -> None:
        for part in self.parts:
            # Its client may have to ask its user, and nobody else must wait for that.
            if part.based.is_set():
                part.release()
        if await self._hand_over():
            for leaf in self.leaves:
                leaf.now, leaf.version = leaf.was, self._target.document.version
            self.speak_anew()
            self.shown.set_result(None)
            self.saved.set_result(None)
            return
        reason = f"{self._target.name} has not told of its new text in time."
        for future in (self.shown, self.saved):
            future.set_exception(PeerError(reason, kind="timeout"))
            future.exception()  # Where no server waits for it, nobody else looks.

    async def _hand_over(self) -> bool:
        arrived = await hand_over(self.session, self.plan, self.end)
        target, new = self._target, self.plan.editions[0].new
        self.note = f"The change is in the buffer of {target.name} and not saved; the file on disk is as it was."
        if new is not None and not target.holds(new):
            # Neovim says so, too, where it leaves an edit alone since its user was faster.
            self.note = (
                f"{target.name} says that it made the change, but has not told of exactly this text; look at it there."
            )
        return arrived
