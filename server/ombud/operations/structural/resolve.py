"""Commit or discard a staged rewrite, or some of its files.

A commit writes exactly the bytes that were staged, all files or none, and reports what that introduced, as any write.
It is refused where one of the files is not as it was at staging, on the disk or in an open buffer.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from ombud.errors import OmbudError, Refused, UserError
from ombud.guard.redact import clean
from ombud.operations.shapes import Arguments, Hints, Wait
from ombud.operations.structural.editions import Looked, all_hold, buffers, in_short, look, refusal
from ombud.operations.structural.kept import asked, store, unknown, wanted
from ombud.operations.writing.perform import fresh_id, perform
from ombud.operations.writing.plan import Options, Plan, Preview, Reporting, held, numbered
from ombud.operations.writing.result import WriteResult

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.structural.staging import File, Staged


class Params(Arguments, frozen=True, kw_only=True):
    edit_id: Annotated[str, msgspec.Meta(description="What ast_edit answered with, or one of `staged`.")]
    action: Annotated[
        Literal["commit", "discard"],
        msgspec.Meta(description="commit: write the staged bytes; discard: forget them."),
    ]
    paths: (
        Annotated[
            list[str],
            msgspec.Meta(
                min_length=1,
                description="Only these files of the edit, or those in these folders; the others stay staged.",
            ),
        ]
        | None
    ) = None
    preview: Preview = False
    wait_ms: Wait | None = None
    diagnostics: Reporting = "wait"
    severity: Hints | None = None


class Result(WriteResult, kw_only=True):
    """As a write. ``remaining`` are the files of the edit that are still staged; it is gone with its last one."""

    edit_id: str
    remaining: list[str]
    discarded: list[str] = msgspec.field(default_factory=list)


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for ``paths`` that are not of the edit.

    Raises `Refused`, with nothing written and nothing forgotten: ``unknown_edit`` for an id that is not there (any
    more), ``file_changed`` with ``paths``, and what any commit is refused with.
    """
    staged = await wanted(session, params.edit_id)
    files = chosen(session, staged, params.paths)
    if params.action == "discard":
        return await _discard(session, staged, files, preview=params.preview)
    await session.hub.recovered()
    async with held(session, [file.path for file in files]):
        # It may have been decided on while this waited for the files.
        current = await wanted(session, params.edit_id)
        there = {file.path for file in current.files}
        if any(file.path not in there for file in files):
            if params.paths is None and there:
                files = list(current.files)
            else:
                raise await unknown(session, params.edit_id)
        return await _commit(session, current, files, params)


async def _commit(session: Session, staged: Staged, files: Sequence[File], params: Params) -> Result:
    looked = await asked(session, lambda kept: look(session, kept, staged, files))
    texts = {one.inside.path: one.old for one in looked.editions if one.old is not None}
    looked.unsaved = buffers(session, [(file.path, file.shown) for file in files], texts)
    if looked.paths:
        raise refusal(staged, looked, len(files))
    wait = session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms
    options = Options(wait, params.diagnostics, params.severity == "hint", params.preview)
    plan = Plan(tuple(looked.editions), options, f"{staged.id}: {staged.summary}")
    try:
        result = await perform(session, plan)
    except Refused as error:
        raise _late(staged, error, len(files)) from error
    except BaseException:
        # A commit that has begun is carried to its end also where its caller gives up.
        with suppress(OSError):
            if await asyncio.to_thread(all_hold, session, files):
                await asyncio.to_thread(store(session).settle, staged, files, "was committed")
        raise
    if params.preview:
        return _result(result, staged, [file.shown for file in staged.files])
    became = f"was committed as {result.write_id}" + (f" (checkpoint {result.checkpoint})" if result.checkpoint else "")
    return await _settled(session, result, staged, files, became)


def _late(staged: Staged, error: Refused, total: int) -> Refused:
    """A file that was changed, or a buffer that was typed in, between the look and the commit."""
    if error.kind == "file_changed":
        return refusal(staged, Looked(changed=list(error.data.get("paths", ()))), total)
    if error.kind == "conflict" and "clients" in error.data:
        return refusal(staged, Looked(unsaved={str(error.data["path"]): list(error.data["clients"])}), total)
    return error


async def _settled(session: Session, result: WriteResult, staged: Staged, files: Sequence[File], became: str) -> Result:
    """The answer, once it is noted that these files are decided on."""
    why = f"was decided on file by file; the rest of it {became}" if staged.settled else became
    try:
        rest = await asyncio.to_thread(store(session).settle, staged, files, why)
    except OSError as error:
        # What was written is written; a second commit will find the files changed.
        note = f"{staged.id} is still listed, for that could not be noted: {error.strerror}."
        result.note = " ".join(filter(None, [result.note, note]))
        result.message = f"{result.message} {note}"
        return _result(result, staged, [file.shown for file in staged.files])
    remaining = [] if rest is None else [file.shown for file in rest.files]
    if remaining:
        verb = "is" if len(remaining) == 1 else "are"
        head, mark, lists = result.message.partition("\n\n")
        result.message = f"{head} Of {staged.id} {numbered(len(remaining), 'file')} {verb} still staged.{mark}{lists}"
    return _result(result, staged, remaining)


def _result(result: WriteResult, staged: Staged, remaining: list[str], discarded: Sequence[str] = ()) -> Result:
    said = {name: getattr(result, name) for name in result.__struct_fields__}
    return Result(**said, edit_id=staged.id, remaining=remaining, discarded=list(discarded))


async def _discard(session: Session, staged: Staged, files: Sequence[File], *, preview: bool) -> Result:
    names = [file.shown for file in files]
    result = WriteResult(
        applied=False,
        message=f"Nothing was written: {_what(staged, names)} {'would be' if preview else 'was'} discarded.",
        files=[],
        write_id=fresh_id(),
        diagnostics=None,
        preview=preview,
    )
    if preview:
        return _result(result, staged, [file.shown for file in staged.files], names)
    why = "was decided on file by file; the rest of it was discarded" if staged.settled else "was discarded"
    try:
        rest = await asyncio.to_thread(store(session).settle, staged, files, why)
    except OSError as error:
        raise Refused(
            f"{staged.id} could not be discarded: {error.strerror}. Make the state folder writable; nothing of it is "
            "written meanwhile.",
            kind="write_failed",
        ) from error
    return _result(result, staged, [] if rest is None else [file.shown for file in rest.files], names)


def _what(staged: Staged, names: Sequence[str]) -> str:
    if len(names) == len(staged.files):
        return staged.id
    return f"{in_short(names)} of {staged.id}"


def chosen(session: Session, staged: Staged, paths: Sequence[str] | None) -> list[File]:
    """The files of the edit that ``paths`` name: each a file of it, or a folder with some. None: all of them.

    Raises `UserError` for a path with no file of the edit, and as the fence does.
    """
    if paths is None:
        return list(staged.files)
    real = [(path, _place(session, path)) for path in paths]
    for path, place in real:
        if not any(file.path.is_relative_to(place) for file in staged.files):
            raise _none_of(staged, path, place)
    return [file for file in staged.files if any(file.path.is_relative_to(place) for _, place in real)]


def _place(session: Session, path: str) -> Path:
    """A file that is gone can still be named; the workspace folder itself as well. Raises as the fence does."""
    try:
        return session.fence.resolve(path, intent="read").path
    except Refused as refused:
        if refused.kind != "not_found":
            raise
        return session.fence.resolve(path, intent="write").path


def _none_of(staged: Staged, path: str, place: Path) -> OmbudError:
    named, names = clean(path, 200), [file.shown for file in staged.files]
    if any(Path(os.fsdecode(one)).is_relative_to(place) for one in staged.settled):
        said = f"{named} was committed or discarded before; it is not among the files of {staged.id} any more."
    else:
        near = get_close_matches(path, names, 3)
        hint = f"; did you mean {' or '.join(near)}?" if near else f", which has {in_short(names)}."
        said = f"{named} is no file of {staged.id}{hint}"
    return UserError(said, paths=names[:50])
