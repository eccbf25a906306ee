"""A server's ``WorkspaceEdit`` (LSP 3.17) as the editions of one write: all of it, or none.

Its paths pass the fence, its files are held and read, its versions are compared with what servers are shown (C4), and
its operations are carried out in order on a simulated file system (C5).
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.errors import OmbudError, PeerError, Refused
from ombud.guard import handles
from ombud.guard.redact import clean, redact
from ombud.operations.shapes import FILE_LIMIT
from ombud.operations.writing.plan import Edition, held
from ombud.operations.writing.simulated import Original, Simulated
from ombud.text.buffer import decode
from ombud.text.changes import TextEdit
from ombud.text.ranges import Range

if TYPE_CHECKING:
    from ombud.guard.fence import Fence, Inside
    from ombud.operations.session import Session

Asked = Mapping[str, tuple[int, str]]
"""What servers were shown when an edit was asked for: document key → version and text."""

MOST_FILES = 5_000
"""How many files one edit may touch, those in folders that it moves or deletes included."""
MOST_BYTES = 512 * 1024 * 1024


class _Document(msgspec.Struct):
    uri: str
    version: int | None = None


class _Options(msgspec.Struct, rename="camel"):
    overwrite: bool | None = None
    ignore_if_exists: bool | None = None
    recursive: bool | None = None
    ignore_if_not_exists: bool | None = None


class _TextEdit(msgspec.Struct, rename="camel"):
    range: Range
    new_text: str | None = None
    snippet: Any = None
    insert_text_format: int | None = None
    annotation_id: str | None = None


class _DocumentEdit(msgspec.Struct, rename="camel"):
    text_document: _Document
    edits: list[_TextEdit]


class _Resource(msgspec.Struct, rename="camel"):
    """``CreateFile``, ``RenameFile`` or ``DeleteFile``."""

    kind: str
    uri: str = ""
    old_uri: str = ""
    new_uri: str = ""
    options: _Options | None = None
    annotation_id: str | None = None


class _Annotation(msgspec.Struct, rename="camel"):
    label: str = ""
    needs_confirmation: bool | None = None


class _WorkspaceEdit(msgspec.Struct, rename="camel"):
    changes: dict[str, list[_TextEdit]] | None = None
    document_changes: list[dict[str, Any]] | None = None
    change_annotations: dict[str, _Annotation] | None = None


@dataclass(frozen=True, slots=True)
class Texts:
    """Edits of one document; ``version`` is the one that they speak of, None where the disk's text is meant."""

    uri: str
    version: int | None
    edits: tuple[TextEdit, ...]


@dataclass(frozen=True, slots=True)
class Resource:
    """A file or folder that is created, renamed or deleted. ``to`` is the new URI of a rename."""

    kind: str
    uri: str
    to: str = ""
    overwrite: bool = False
    ignore: bool = False
    recursive: bool = False


Operation = Texts | Resource


@dataclass(frozen=True, slots=True)
class Decoded:
    """The operations of an edit in order, and what its server wants to have confirmed by a human."""

    operations: tuple[Operation, ...]
    unconfirmed: tuple[str, ...] = ()


@dataclass(slots=True)
class Worked:
    """An edit worked out. ``edits`` are those of each file, by its relative path afterwards; ``folders`` the folders
    that it leaves without a file, which go once it is written; ``note`` what its reader should know."""

    editions: tuple[Edition, ...]
    edits: dict[str, tuple[TextEdit, ...]]
    folders: tuple[Inside, ...] = ()
    moved: tuple[tuple[Inside, Inside], ...] = ()
    """The folders that it renames, as they are named in it: old and new."""
    note: str | None = None


# -- reading it -----------------------------------------------------------------------------------------------


def decoded(edit: Any, author: str) -> Decoded:
    """The operations of a ``WorkspaceEdit``; ``documentChanges`` where it has them, else ``changes``.

    ``author`` is who made it, for messages. Raises `PeerError` (``server_failed``) for another shape, and for snippets,
    which would put their placeholders into files.
    """
    try:
        whole = msgspec.convert(edit, _WorkspaceEdit)
        annotations = whole.change_annotations or {}
        marked: list[str | None] = []
        if whole.document_changes is not None:
            found = [_operation(one, author, marked) for one in whole.document_changes]
        else:
            changes = whole.changes or {}
            found = [Texts(uri, None, _texts(edits, author, marked)) for uri, edits in changes.items()]
    except msgspec.ValidationError as error:
        text = f"The edit of {author} has another shape than LSP's WorkspaceEdit ({error}), so nothing was written."
        raise PeerError(text, kind="server_failed", server=author) from None
    asks = [annotations[name].label for name in marked if name in annotations and annotations[name].needs_confirmation]
    return Decoded(tuple(found), tuple(dict.fromkeys(clean(redact(one), 100) for one in asks)))


def _operation(change: dict[str, Any], author: str, marked: list[str | None]) -> Operation:
    if "kind" not in change:
        one = msgspec.convert(change, _DocumentEdit)
        return Texts(one.text_document.uri, one.text_document.version, _texts(one.edits, author, marked))
    resource = msgspec.convert(change, _Resource)
    if resource.kind not in ("create", "rename", "delete"):
        raise msgspec.ValidationError(f"unknown kind of operation {clean(resource.kind, 40)!r}")
    named = [resource.old_uri, resource.new_uri] if resource.kind == "rename" else [resource.uri]
    if not all(named):
        raise msgspec.ValidationError(f"a {resource.kind} without its URI")
    marked.append(resource.annotation_id)
    options = resource.options or _Options()
    ignore = options.ignore_if_not_exists if resource.kind == "delete" else options.ignore_if_exists
    return Resource(resource.kind, named[0], named[-1], bool(options.overwrite), bool(ignore), bool(options.recursive))


def _texts(edits: Iterable[_TextEdit], author: str, marked: list[str | None]) -> tuple[TextEdit, ...]:
    out = []
    for edit in edits:
        if edit.new_text is None or edit.snippet is not None or edit.insert_text_format == 2:
            what = "a text edit without its text" if edit.snippet is None and edit.new_text is None else "a snippet"
            raise PeerError(
                f"The edit of {author} holds {what}, which cannot go into a file as it stands; nothing was written.",
                kind="server_failed",
                server=author,
            )
        marked.append(edit.annotation_id)
        out.append(TextEdit(edit.range, edit.new_text))
    return tuple(out)


# -- its places -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Places:
    """The places that an edit names, behind the fence, and what is in the folders among them."""

    by_uri: dict[str, Inside] = field(default_factory=dict)
    listed: dict[Path, tuple[Path, ...]] = field(default_factory=dict)
    """Folder that is moved or deleted → the files in it and below, on the disk."""
    folders: set[Path] = field(default_factory=set)
    """Every folder among the places, and below those that are moved or deleted."""
    files: dict[Path, Inside] = field(default_factory=dict)
    """Every file that the edit could touch, there or not."""
    moves: dict[str, list[tuple[Inside, Inside]]] = field(default_factory=dict)
    """URI of a folder and its new URI, joined by a blank → the moves of the files in it."""


def _places(fence: Fence, operations: Sequence[Operation]) -> _Places:
    """Blocks. Raises `Refused` as the fence does, naming the first place that is not allowed."""
    out = _Places()
    for operation in operations:
        _place(fence, out, operation.uri, going=isinstance(operation, Resource) and operation.kind != "create")
        if isinstance(operation, Resource) and operation.kind == "rename":
            _place(fence, out, operation.to, going=False)
            old, new = out.by_uri[operation.uri], out.by_uri[operation.to]
            if old.path != new.path and new.path.is_relative_to(old.path):
                raise Refused(
                    f"{old.relative} cannot be moved into itself ({new.relative}).", kind="conflict", path=old.relative
                )
    filled = {folder for path in out.files for folder in path.parents}
    for operation in operations:
        if isinstance(operation, Resource) and operation.kind == "rename":
            _list_moves(fence, out, operation, filled)
    if len(out.files) > MOST_FILES:
        raise Refused(
            f"It touches {len(out.files)} files, and {MOST_FILES} are the most for one write.", kind="too_large"
        )
    return out


def _place(fence: Fence, out: _Places, uri: str, *, going: bool) -> None:
    inside = out.by_uri[uri] = fence.resolve(uri, intent="write")
    if inside.path.is_dir():
        out.folders.add(inside.path)
        if going:
            fence.resolve(uri, intent="delete")
            out.listed[inside.path] = files = _listing(inside, out.folders)
            for path in files:
                out.files[path] = fence.resolve(str(path), intent="delete")
    else:
        if going and inside.exists:
            fence.resolve(uri, intent="delete")
        out.files[inside.path] = inside


def _list_moves(fence: Fence, out: _Places, operation: Resource, filled: set[Path]) -> None:
    """The moves of the files in a renamed folder, those included that the edit itself puts there before.

    ``filled`` are the folders in which there may be any; a thousand renames of single files look at no list of files.
    """
    old, new = out.by_uri[operation.uri], out.by_uri[operation.to]
    moves = out.moves[f"{operation.uri} {operation.to}"] = []
    if old.path not in filled:
        return
    for path in [path for path in out.files if path != old.path and path.is_relative_to(old.path)]:
        target = new.path / path.relative_to(old.path)
        moved = fence.resolve(str(target), intent="create")
        out.files.setdefault(moved.path, moved)
        filled.update(moved.path.parents)
        moves.append((out.files[path], moved))


def _listing(folder: Inside, folders: set[Path]) -> tuple[Path, ...]:
    """The files in a folder and below. Raises `Refused` for links and devices: they are not ours to move."""
    found: list[Path] = []
    todo = [folder.path]
    while todo:
        at = todo.pop()
        folders.add(at)
        with os.scandir(at) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    todo.append(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    found.append(Path(entry.path))
                else:
                    raise Refused(
                        f"{folder.relative} holds {entry.name}, which is a link or no ordinary file; move it by hand.",
                        kind="conflict",
                        path=folder.relative,
                    )
                if len(found) > MOST_FILES:
                    raise Refused(
                        f"{folder.relative} holds more than {MOST_FILES} files, too many for one write.",
                        kind="too_large",
                        path=folder.relative,
                    )
    return tuple(sorted(found))


# -- working it out -------------------------------------------------------------------------------------------


def shown(session: Session) -> Asked:
    """What servers are shown now, to be taken before one of them is asked for an edit."""
    return {one.key: (one.version, one.shown) for one in session.hub.documents.all()}


@asynccontextmanager
async def worked_out(session: Session, edit: Any, author: str, asked: Asked | None = None) -> AsyncIterator[Worked]:
    """The editions of a ``WorkspaceEdit``, with their files held until the end of the block.

    ``asked`` is what servers were shown when they were asked for it, None where it came unasked. Raises `PeerError`
    for an edit that is none, and `Refused` with a reason for the whole: the fence's kinds; ``conflict`` for another
    version, an unsaved buffer or a file in the way; ``file_changed``; ``not_found``; ``not_text``; ``too_large``.
    """
    with _whole(author):
        said = decoded(edit, author)
        places = await asyncio.to_thread(_places, session.fence, said.operations)
    async with held(session, places.files):
        with _whole(author):
            originals = await asyncio.to_thread(_originals, session.fence, places, said.operations)
            _check_documents(session, said.operations, places, originals, asked)
            worked = await asyncio.to_thread(_simulate, said, places, originals)
        yield worked


@contextlib.contextmanager
def _whole(author: str) -> Any:
    """Say of every refusal that it is one of the whole edit."""
    try:
        yield
    except PeerError as error:
        error.data.setdefault("server", author)
        raise
    except OmbudError as error:
        kind = error.kind if isinstance(error, Refused) else "outside_workspace"
        text = f"Nothing of the edit of {author} was written: {error.message}"
        raise Refused(text, kind=kind, **error.data) from error
    except OSError as error:
        words = error.strerror or str(error)
        text = f"Nothing of the edit of {author} was written: {words} ({error.filename})."
        raise Refused(text, kind="permission_denied") from error


def _originals(fence: Fence, places: _Places, operations: Sequence[Operation]) -> list[Original]:
    """Read every file that is there. Blocks; the files are held."""
    if _places(fence, operations).listed != places.listed:
        raise Refused("A folder that it moves or deletes has changed meanwhile; try again.", kind="file_changed")
    out: list[Original] = []
    size = 0
    for path, inside in places.files.items():
        if not os.path.lexists(path):
            continue
        stat = fence.read(inside, FILE_LIMIT)
        size += stat.size
        if size > MOST_BYTES:
            raise Refused(f"Its files hold more than {MOST_BYTES} bytes together.", kind="too_large")
        try:
            out.append(Original(inside, stat, decode(stat.data, inside.relative)))
        except Refused:
            out.append(Original(inside, stat, None))
    return out


def _check_documents(
    session: Session,
    operations: Sequence[Operation],
    places: _Places,
    originals: Sequence[Original],
    asked: Asked | None,
) -> None:
    """Every edit must be one of the text that is on the disk now, and that servers are shown (C4)."""
    disk = {one.inside.path: one for one in originals}
    came_from: dict[Path, Path] = {}
    for operation in operations:
        if isinstance(operation, Texts):
            path = places.by_uri[operation.uri].path
            _check_document(session, places.by_uri[operation.uri], came_from.get(path, path), operation, disk, asked)
        elif operation.kind == "rename":
            old, new = places.by_uri[operation.uri], places.by_uri[operation.to]
            pairs = places.moves.get(f"{operation.uri} {operation.to}") or [(old, new)]
            came_from |= {after.path: came_from.get(before.path, before.path) for before, after in pairs}


def _check_document(
    session: Session, inside: Inside, path: Path, edit: Texts, disk: Mapping[Path, Original], asked: Asked | None
) -> None:
    documents = session.hub.documents.of_path(path)
    if not documents and edit.version:
        # Null and zero are servers' words for a file that nobody has open.
        raise _stale(inside, edit.version, None)
    for document in documents:
        known = (asked or {}).get(document.key)
        same = known is not None and known[1] == document.shown
        version = document.version if known is None or not same else known[0]
        if edit.version is not None and edit.version not in (document.version, version):
            raise _stale(inside, edit.version, document.version)
        if known is not None and not same:
            raise _stale(inside, known[0], document.version)
        original = disk.get(path)
        if original is None or original.text == document.shown:
            continue
        owners = session.hub.owners(document)
        names = sorted({one.client.name for one, text in owners.items() if text.unsaved(original.text)})
        if names:
            raise Refused(
                f"{inside.relative} has unsaved changes in {', '.join(names)}; save or revert it there first.",
                kind="conflict",
                path=inside.relative,
                clients=names,
            )
        raise Refused(
            f"{inside.relative} was changed on the disk, and its servers have not seen that yet; try again.",
            kind="file_changed",
            paths=[inside.relative],
        )


def _stale(inside: Inside, theirs: int, ours: int | None) -> Refused:
    now = "nobody has it open now" if ours is None else f"it is at version {ours} now"
    return Refused(
        f"{inside.relative} was changed since: the edit is for version {theirs}, and {now}. Ask again.",
        kind="conflict",
        path=inside.relative,
        version=theirs,
    )


def _simulate(said: Decoded, places: _Places, originals: Sequence[Original]) -> Worked:
    """Blocks: thousands of edits can take seconds."""
    world = Simulated(originals, places.folders)
    moved: list[tuple[Inside, Inside]] = []
    for operation in said.operations:
        inside = places.by_uri[operation.uri]
        if isinstance(operation, Texts):
            world.edit(inside, operation.edits)
        elif operation.kind == "create":
            world.create(inside, overwrite=operation.overwrite, ignore=operation.ignore)
        elif operation.kind == "delete":
            world.delete(inside, recursive=operation.recursive, ignore=operation.ignore)
        else:
            _rename(world, places, operation, moved)
    editions = world.editions()
    labels = ", ".join(said.unconfirmed)
    note = f"Its server wanted to have this confirmed first: {labels}." if labels else None
    return Worked(editions, world.edits(), _emptied(places, said.operations), tuple(moved), note)


def _rename(world: Simulated, places: _Places, operation: Resource, moved: list[tuple[Inside, Inside]]) -> None:
    old, new = places.by_uri[operation.uri], places.by_uri[operation.to]
    if not world.is_folder(old.path):
        world.rename(old, [(old, new)], overwrite=operation.overwrite, ignore=operation.ignore)
        return
    if old.path != new.path and (world.is_folder(new.path) or world.node(new.path) is not None):
        # Two folders are not put into one: which of two files of one name was meant nobody could tell.
        if operation.ignore and not operation.overwrite:
            return
        raise Refused(f"{new.relative} exists already.", kind="conflict", path=new.relative)
    there = {node.inside.path for node in world.within(old.path)}
    moves = [pair for pair in places.moves[f"{operation.uri} {operation.to}"] if pair[0].path in there]
    world.rename(old, moves, overwrite=False, ignore=False)
    moved.append((old, new))


def _emptied(places: _Places, operations: Sequence[Operation]) -> tuple[Inside, ...]:
    going = [one.uri for one in operations if isinstance(one, Resource) and one.kind in ("rename", "delete")]
    return tuple(places.by_uri[uri] for uri in going if places.by_uri[uri].path in places.listed)


def tidy(fence: Fence, folders: Sequence[Inside]) -> None:
    """Remove folders that have been moved away or deleted, as far as nothing is left in them. Blocks, never raises."""
    for folder in folders:
        below = [Path(at) for at, _, _ in os.walk(folder.path)]
        for path in sorted(below, key=lambda one: len(one.parts), reverse=True):
            with contextlib.suppress(OSError, OmbudError):
                inside = fence.resolve(str(path), intent="delete")
                if not handles.SUPPORTED:
                    inside.path.rmdir()
                    continue
                with fence.directory(inside) as fd:
                    os.rmdir(inside.path.name, dir_fd=fd)
