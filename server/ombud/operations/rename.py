"""Rename a symbol wherever it is used, or a file or folder with its imports, and report what that introduced.

A symbol is renamed by the language server that renames for its file. A file is moved together with the edits that
servers make for it. All of it is written, or none.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Raw

from ombud.downstream import fileops
from ombud.downstream.edits import joined_edits
from ombud.downstream.server import Server
from ombud.errors import OmbudError, PeerError, Refused, UserError
from ombud.guard.fence import Inside
from ombud.operations.lsp import Asking
from ombud.operations.shapes import Shape, source_line
from ombud.operations.targets import Target, opened, place
from ombud.operations.writing.applying import Applied, carry_out
from ombud.operations.writing.edits import Asked, Worked, shown, worked_out
from ombud.operations.writing.perform import fresh_id
from ombud.operations.writing.plan import Options, Writing, numbered
from ombud.operations.writing.report import file_shape
from ombud.operations.writing.result import FileShape, WriteResult
from ombud.text.changes import TextEdit
from ombud.text.lines import LineIndex
from ombud.text.ranges import Position, Range
from ombud.wire.values import dump, load_any, null

if TYPE_CHECKING:
    from ombud.operations.session import Session

PREPARE = "textDocument/prepareRename"
RENAME = "textDocument/rename"
WILL_RENAME = "workspace/willRenameFiles"
KINDS_OPENED = 8
"""Of a folder that is renamed one file of each kind is opened, of so many kinds: so its servers know the project."""


REST_SECONDS = 20.0
"""How long a rename waits for servers that say that they are busy, as with reading the project."""
LOOK_SECONDS = 0.5
FOLDERS_SEEN = 1_000


class Params(Writing, frozen=True):
    path: Annotated[str, msgspec.Meta(description="The file with the symbol, or what newPath renames.")]
    line: Annotated[int, msgspec.Meta(ge=1, description="The line, counted from one; goes with symbol.")] | None = None
    symbol: (
        Annotated[str, msgspec.Meta(description="A name on that line; name#2 is its second occurrence there.")] | None
    ) = None
    position: Annotated[Position, msgspec.Meta(description="An LSP position instead of line and symbol.")] | None = None
    new_name: Annotated[str, msgspec.Meta(min_length=1, description="The symbol's new name.")] | None = None
    new_path: Annotated[str, msgspec.Meta(min_length=1, description="The new place of the file or folder.")] | None = (
        None
    )
    apply: Annotated[bool, msgspec.Meta(description="Write it; false: only tell the edits.")] = True


class EditShape(Shape):
    """One edit of a file: ``line`` is one-based, ``text`` its source line as it is now, ``range`` as LSP has it."""

    line: int
    range: Range
    new_text: str
    text: str


class RenamedFile(FileShape, kw_only=True):
    """A file of a rename. ``edits`` is how many were made, or for ``apply: false`` the edits themselves."""

    edits: int | list[EditShape]


class Result(WriteResult, kw_only=True):
    """As a write; ``complete`` is false, with a ``note``, where the rename may have missed something."""

    files: list[RenamedFile]  # type: ignore[assignment]  # A narrower list; it is only read.
    complete: bool
    servers: list[str]


@dataclass(frozen=True, slots=True)
class _Wish:
    """The edit that servers want for a rename, and what they were shown when they were asked."""

    edit: Any
    asked: Asked
    author: str
    summary: str
    servers: list[str]
    notes: list[str]


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for a place that is not there; `Refused`: the fence's kinds, ``no_server``, ``not_found``
    where nothing can be renamed, ``conflict``, ``file_changed``; `PeerError` with a server's own words.
    """
    if (params.new_name is None) == (params.new_path is None):
        raise UserError("Pass either newName, for the symbol at a place in path, or newPath, for path itself.")
    options = Options.of(session, params)
    async with AsyncExitStack() as stack:
        if params.new_path is not None:
            wish = await _file_wish(session, params.path, params.new_path, stack)
        else:
            wish = await _symbol_wish(session, params, stack)
        if not params.apply:
            return await _told(session, wish)
        applied = await carry_out(session, wish.edit, options, wish.summary, author=wish.author, asked=wish.asked)
    if applied is None:
        raise Refused(f"There is nothing to rename there: {wish.author} has no edits for it.", kind="not_found")
    return _result(wish, applied)


# -- symbols --------------------------------------------------------------------------------------------------


async def _symbol_wish(session: Session, params: Params, stack: AsyncExitStack) -> _Wish:
    target = stack.enter_context(opened(session, params.path))
    where = place(target.document, target.inside.relative, params.line, params.symbol, params.position)
    at = {"textDocument": {"uri": target.document.uri}, "position": where}
    asking = Asking(session)
    server = await _renamer(asking, target)
    await asking.indexed(server)
    name = f"{target.inside.relative}:{where.line + 1}"
    nothing = Refused(f"There is nothing to rename there: {server.name} knows no name at {name}.", kind="not_found")
    session.chosen(server)
    if server.offers(PREPARE) and null(await server.ask(PREPARE, at)):
        raise nothing

    async def once() -> Any:
        raw = await server.ask(RENAME, {**at, "newName": params.new_name})
        return None if null(raw) else load_any(Raw(bytes(raw)))

    asked, edit = await _at_rest(asking, target.document.key, [server], once)
    if not edit:
        raise nothing
    what = params.symbol or name
    return _Wish(edit, asked, server.name, f"Rename {what} to {params.new_name}", [server.name], asking.notes)


async def _at_rest(
    asking: Asking, key: str, servers: Sequence[Server], once: Callable[[], Awaitable[Any]]
) -> tuple[Asked, Any]:
    """Ask when the servers have done what they are busy with, and again where they turn out to have been (D10).

    A rename that misses files breaks them. Some say what they are at only once they are asked. Answers what servers
    were shown at the last time, and the answer; a note says so where they are never at rest.
    """
    session = asking.session
    end = time.monotonic() + REST_SECONDS
    while True:
        with session.hub.store.watch(key) as event:
            while _busy(servers) and (left := end - time.monotonic()) > 0:
                event.clear()
                # Servers that do not know the document wake nobody.
                with suppress(TimeoutError):
                    async with asyncio.timeout(min(left, LOOK_SECONDS)):
                        await event.wait()
        asked, begun = shown(session), _busy(servers)
        notes = len(asking.notes)
        answer = await once()
        busy = begun | _busy(servers)
        if not busy:
            return asked, answer
        if time.monotonic() >= end:
            what = ", ".join(f"{name} was still busy ({title})" for name, title in sorted(busy))
            asking.notes.append(f"{what}, so the rename may have missed some places.")
            return asked, answer
        del asking.notes[notes:]


def _busy(servers: Sequence[Server]) -> set[tuple[str, str]]:
    return {(server.name, server.working_on[0]) for server in servers if server.working_on}


async def _renamer(asking: Asking, target: Target) -> Server:
    """The first server of the file that renames, by priority. Raises as `Server.need` where all have failed."""
    failure: OmbudError | None = None
    for server in target.servers:
        try:
            server.need()
            await server.turn()
        except OmbudError as error:
            failure = failure or error
            asking.notes.append(error.message)
            continue
        if server.offers(RENAME):
            return server
    if failure is not None:
        raise PeerError(
            f"Nobody could rename in {target.inside.relative}: {failure.message}", kind=failure.kind, **failure.data
        )
    names = ", ".join(server.name for server in target.servers)
    raise Refused(f"{names} cannot rename symbols in {target.inside.relative}.", kind="no_server", servers=names)


# -- files ----------------------------------------------------------------------------------------------------


async def _file_wish(session: Session, old: str, new: str, stack: AsyncExitStack) -> _Wish:
    before = session.fence.resolve(old, intent="delete")
    after = session.fence.resolve(new, intent="create")
    if before.path == after.path:
        raise UserError(f"{before.relative} has that name already.")
    if after.exists:
        raise Refused(f"{after.relative} exists already; nothing was renamed.", kind="conflict", path=after.relative)
    asking = Asking(session)
    key = await _woken(session, before, asking, stack)
    files = [{"oldUri": before.spelled_uri, "newUri": after.spelled_uri}]
    shares = fileops.shares(session.running(), WILL_RENAME, Raw(dump({"files": files})))
    for server in shares:
        await asking.indexed(server)

    async def once() -> list[Any]:
        return await asyncio.gather(*(asking.ask(server, WILL_RENAME, params) for server, params in shares.items()))

    asked, answers = await _at_rest(asking, key, list(shares), once)
    edit = _with_move([one for one in answers if isinstance(one, dict)], before, after)
    names = list(dict.fromkeys(asking.answered))
    summary = f"Rename {before.relative} to {after.relative}"
    return _Wish(edit, asked, ", ".join(names) or "the rename", summary, names, asking.notes)


async def _woken(session: Session, inside: Inside, asking: Asking, stack: AsyncExitStack) -> str:
    """Start the servers of what is renamed, and have one file of each kind open: some know a project by that only.

    Answers the key of one of these documents, by which it is heard what their servers do.
    """
    key = ""
    for path in await asyncio.to_thread(_samples, inside.path):
        try:
            target = stack.enter_context(opened(session, str(path)))
        except OmbudError:
            # No text, or nobody's: then there is nobody who knows imports of it.
            continue
        key = target.document.key
        for server in target.servers:
            try:
                server.need()
                await server.turn()
            except OmbudError as error:
                asking.notes.append(error.message)
    return key


def _samples(path: Path) -> list[Path]:
    """The file itself, or of a folder one file of each kind."""
    if not path.is_dir():
        return [path]
    kinds: dict[str, Path] = {}
    for number, (at, folders, names) in enumerate(os.walk(path)):
        folders.sort()
        for name in sorted(names):
            if Path(name).suffix:
                kinds.setdefault(Path(name).suffix, Path(at) / name)
        if len(kinds) >= KINDS_OPENED or number >= FOLDERS_SEEN:
            break
    return list(kinds.values())[:KINDS_OPENED]


def _with_move(edits: Sequence[dict[str, Any]], before: Inside, after: Inside) -> dict[str, Any]:
    """The servers' edits and then the move. Edits that speak of the new place already come behind it."""
    whole = joined_edits(edits) if edits else {}
    changes = list(whole.get("documentChanges") or ())
    if not changes:
        found = whole.get("changes") or {}
        changes = [{"textDocument": {"uri": uri, "version": None}, "edits": more} for uri, more in found.items()]
    move = {"kind": "rename", "oldUri": before.spelled_uri, "newUri": after.spelled_uri}
    changes = [one for one in changes if not _is(one, move)]
    later = [one for one in changes if _speaks_of(one, after.spelled_uri)]
    changes = [one for one in changes if one not in later]
    return {**whole, "documentChanges": [*changes, move, *later]}


def _is(change: Any, move: dict[str, Any]) -> bool:
    """Whether a server moves the file by itself as well."""
    return isinstance(change, dict) and all(change.get(name) == value for name, value in move.items())


def _speaks_of(change: Any, uri: str) -> bool:
    document = change.get("textDocument") if isinstance(change, dict) else None
    named = document.get("uri") if isinstance(document, dict) else None
    return isinstance(named, str) and (named == uri or named.startswith(f"{uri}/"))


# -- the answer -----------------------------------------------------------------------------------------------


def _result(wish: _Wish, applied: Applied) -> Result:
    result, edits = applied.result, applied.worked.edits
    files = [_renamed(file, len(edits.get(file.path, ()))) for file in result.files]
    said = {name: getattr(result, name) for name in result.__struct_fields__}
    note = " ".join(dict.fromkeys([*filter(None, [result.note]), *wish.notes])) or None
    return Result(**{**said, "files": files, "note": note}, complete=not wish.notes, servers=wish.servers)


async def _told(session: Session, wish: _Wish) -> Result:
    """What would be written, and nothing is."""
    async with worked_out(session, wish.edit, wish.author, wish.asked) as worked:
        files = await asyncio.to_thread(_edited, worked)
    if not files:
        raise Refused(f"There is nothing to rename there: {wish.author} has no edits for it.", kind="not_found")
    edits = sum(len(file.edits) for file in files if isinstance(file.edits, list))
    return Result(
        applied=False,
        message=f"Nothing was written: {wish.summary} takes {numbered(edits, 'edit')} in "
        f"{numbered(len(files), 'file')}.",
        files=files,
        write_id=fresh_id(),
        diagnostics=None,
        note=" ".join(dict.fromkeys([*filter(None, [worked.note]), *wish.notes])) or None,
        complete=not wish.notes,
        servers=wish.servers,
    )


def _edited(worked: Worked) -> list[RenamedFile]:
    """Blocks: it compares texts."""
    out = []
    for edition in worked.editions:
        lines = LineIndex(edition.old or "")
        edits = [_edit(edit, lines) for edit in worked.edits.get(edition.target.relative, ())]
        out.append(_renamed(file_shape(edition), edits))
    return out


def _edit(edit: TextEdit, lines: LineIndex) -> EditShape:
    line = edit.range.start.line
    return EditShape(line=line + 1, range=edit.range, new_text=edit.new_text, text=source_line(lines, line))


def _renamed(file: FileShape, edits: int | list[EditShape]) -> RenamedFile:
    return RenamedFile(
        path=file.path, status=file.status, added=file.added, removed=file.removed, from_=file.from_, edits=edits
    )
