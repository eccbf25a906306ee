"""What a patch leaves of the workspace: its files carried out in order, in memory, and joined to one edition a path.

A patch may rename a file and then change it under its new name, create one and change it, delete one and put another
in its place (C5). Each step sees what the steps before it left; nothing is written here. In two things git's patches
know no order, and are read as git reads them: a copy is made of what a file was before the patch, and a place may be
taken before the file that stands there is moved away.
"""

from __future__ import annotations

import codecs
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import OmbudError, Refused, UserError
from ombud.guard.fence import FileBytes, Inside
from ombud.operations.shapes import FILE_LIMIT
from ombud.operations.writing.plan import Edition
from ombud.text.buffer import Buffer, decode
from ombud.text.hunks import apply
from ombud.text.patch import FilePatch, Hunk

if TYPE_CHECKING:
    from ombud.operations.session import Session

_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class _OnDisk:
    """A file as it was read. ``buffer`` is None for one that is no text."""

    inside: Inside
    stat: FileBytes
    buffer: Buffer | None

    @property
    def text(self) -> str | None:
        return None if self.buffer is None else self.buffer.text

    @property
    def mode(self) -> int:
        return stat.S_IMODE(self.stat.mode)


@dataclass(frozen=True, slots=True)
class _Now:
    """A file after some steps. ``origin`` is what it was on the disk, maybe under another name; None for a new one.

    ``text`` is None for one that is no text; ``data`` are its bytes then. ``mode`` is None where nothing set it.
    """

    text: str | None
    buffer: Buffer
    origin: _OnDisk | None = None
    data: bytes = b""
    mode: int | None = None

    @property
    def bytes(self) -> bytes:
        return self.data if self.text is None else self.buffer.encode(self.text)


class Patched:
    """The files of a workspace under a patch. Everything here may block on the disk: use it in a thread."""

    def __init__(self, session: Session) -> None:
        self._fence = session.fence
        self._disk: dict[Path, _OnDisk | None] = {}
        self._now: dict[Path, _Now | None] = {}
        self._inside: dict[Path, Inside] = {}
        self._leaving: Counter[Path] = Counter()
        """Files that later parts of the patch, in git's format, delete or move away."""
        self._aside: dict[Path, _Now] = {}
        """Those of them whose places are taken already."""

    def carry_out(self, files: Sequence[FilePatch]) -> tuple[Edition, ...]:
        """All of the patch, or nothing of it.

        Raises `Refused`: the fence's kinds, ``not_found``, ``conflict`` for a hunk that does not fit, for a new file
        where one stands and for a deleted one with another content, ``not_text``. Raises `UserError` for a patch that
        changes nothing in the end.
        """
        leaving = {id(file): self._leaves(file) for file in files}
        self._leaving.update(path for path in leaving.values() if path is not None)
        for file in files:
            if (path := leaving[id(file)]) is not None:
                self._leaving[path] -= 1
            self._carry_out(self._meant(file))
        self._check_folders()
        editions = self._editions()
        if not editions:
            raise UserError("The patch takes back what it does, so there is nothing to write.")
        return editions

    def _leaves(self, file: FilePatch) -> Path | None:
        """The file that a part in git's format takes from its place."""
        if not file.git or file.kind not in ("delete", "rename"):
            return None
        return self._fence.resolve(file.old, intent="write").path

    def _meant(self, file: FilePatch) -> FilePatch:
        """The reading of the file's paths that names a file which is there."""
        if file.kind == "create" or not file.old or not file.others or self._is_there(file.old):
            return file
        for old, new in file.others:
            if self._is_there(old):
                kind = "modify" if old == new and file.kind == "rename" else file.kind
                return replace(file, kind=kind, old=old, new=new)
        return file

    def _is_there(self, path: str) -> bool:
        try:
            return self._at(path, read=False) is not None
        except OmbudError:
            return False

    def _carry_out(self, file: FilePatch) -> None:
        match file.kind:
            case "create":
                self._create(file)
            case "modify":
                self._modify(file)
            case "delete":
                self._delete(file)
            case _:
                self._move(file)

    # -- steps

    def _create(self, file: FilePatch) -> None:
        inside = self._free(file.new, file)
        text = "".join(line.text + line.end for hunk in file.hunks for line in hunk.lines)
        # A new file that is not to be executed gets the mode that files have here.
        mode = file.mode if file.mode == 0o755 or self._disk[inside.path] is not None else None
        self._now[inside.path] = _normal(_Now(text, Buffer("", name=inside.relative), mode=mode))

    def _modify(self, file: FilePatch) -> None:
        found = self._at(file.old)
        if found is None:
            if _says_new(file):
                self._create(replace(file, kind="create"))
                return
            raise self._missing(file.old)
        inside, now = found
        self._now[inside.path] = _changed(now, file, inside)

    def _delete(self, file: FilePatch) -> None:
        inside, now = self._taken(file)
        if _changed(now, file, inside).text != "":
            # Of what is no text no patch can give the content; this says so.
            decode(now.bytes, inside.relative)
            raise Refused(
                f"{inside.relative} holds more than the patch deletes, so nothing was changed. "
                "Give its whole content as removed lines.",
                kind="conflict",
                path=inside.relative,
                patchLine=file.at,
            )
        self._leave(inside)

    def _move(self, file: FilePatch) -> None:
        inside, now = self._taken(file)
        target = self._free(file.new, file)
        changed = _changed(now, file, inside)
        if file.kind == "rename":
            self._leave(inside)
        else:
            mode = changed.mode if now.origin is None or changed.mode is not None else now.origin.mode
            changed = replace(changed, origin=None, mode=mode)
        self._now[target.path] = replace(changed, buffer=replace(changed.buffer, name=target.relative))

    def _taken(self, file: FilePatch) -> tuple[Inside, _Now]:
        """The file that is to be deleted, moved or copied. Raises `Refused`: ``not_found``, ``conflict`` for a link."""
        found = self._at(file.old)
        place = self._fence.resolve(file.old, intent="write").path
        before, aside = self._disk[place], self._aside.get(place)
        if file.kind == "copy" and file.git and before is not None:
            return before.inside, _read(before)
        if file.kind != "copy" and aside is not None:
            found = self._inside[place], aside
        if found is None:
            raise self._missing(file.old)
        if file.kind != "copy" and found[0].exists:
            self._fence.resolve(file.old, intent="delete")
        return found

    def _leave(self, inside: Inside) -> None:
        if self._aside.pop(inside.path, None) is None:
            self._now[inside.path] = None

    # -- what is there

    def _at(self, path: str, *, read: bool = True) -> tuple[Inside, _Now] | None:
        """The file at a path after the steps so far; None where there is none."""
        inside = self._fence.resolve(path, intent="write")
        if inside.path not in self._now:
            if not read:
                return (inside, _Now("", Buffer(""))) if inside.exists else None
            self._load(inside)
        now = self._now[inside.path]
        return None if now is None else (self._inside[inside.path], now)

    def _load(self, inside: Inside) -> None:
        self._inside[inside.path] = inside
        self._disk[inside.path] = self._now[inside.path] = None
        if not inside.exists:
            return
        held = self._fence.read(inside, FILE_LIMIT)
        try:
            buffer: Buffer | None = decode(held.data, inside.relative)
        except Refused:
            buffer = None
        disk = _OnDisk(inside, held, buffer)
        self._disk[inside.path] = disk
        self._now[inside.path] = _read(disk)

    def _free(self, path: str, file: FilePatch) -> Inside:
        """The place for a new file. Raises `Refused` (``conflict``) where something stands already."""
        inside = self._fence.resolve(path, intent="create")
        known = inside.path in self._now
        if file.git and self._leaving[inside.path] > 0 and inside.path not in self._aside:
            found = self._at(path)
            if found is not None:
                self._aside[inside.path] = found[1]
                self._now[inside.path] = None
            known = True
        if self._now[inside.path] is not None if known else inside.exists:
            what = {"create": "create", "rename": "rename a file to", "copy": "copy a file to"}.get(file.kind, "create")
            raise Refused(
                f"{inside.relative} exists already, and the patch is to {what} it, so nothing was changed. "
                "Change what is there, or choose another name.",
                kind="conflict",
                path=inside.relative,
                patchLine=file.at,
            )
        if not known:
            self._load(inside)
        return self._inside[inside.path]

    def _missing(self, path: str) -> Refused:
        inside = self._fence.resolve(path, intent="write")
        gone = inside.path in self._disk and self._disk[inside.path] is not None
        why = "is not there any more after the patch's earlier parts" if gone else "does not exist"
        return Refused(
            f"{inside.relative} {why}, so nothing was changed. Check the patch's path.",
            kind="not_found",
            path=inside.relative,
        )

    # -- what is left

    def _check_folders(self) -> None:
        """No file can lie in another one."""
        files = {path for path, now in self._now.items() if now is not None}
        for path in files:
            above = next((folder for folder in path.parents if folder in files), None)
            if above is not None:
                raise Refused(
                    f"{self._inside[above].relative} and {self._inside[path].relative} cannot both be files: "
                    "nothing was changed.",
                    kind="conflict",
                    path=self._inside[path].relative,
                )

    def _editions(self) -> tuple[Edition, ...]:
        moved = {
            now.origin.inside.path
            for path, now in self._now.items()
            if now is not None and now.origin is not None and self._is_move(path, now.origin)
        }
        made = [self._edition(path, now) for path, now in self._now.items() if path not in moved]
        return tuple(edition for edition in made if edition is not None)

    def _is_move(self, path: Path, origin: _OnDisk) -> bool:
        """Whether a file that came from elsewhere can be told as a rename: its old place is empty, the new one was."""
        return self._disk[path] is None and self._now[origin.inside.path] is None

    def _edition(self, path: Path, now: _Now | None) -> Edition | None:
        inside, disk = self._inside[path], self._disk[path]
        if now is None:
            if disk is None:
                return None
            buffer = Buffer("", name=inside.relative) if disk.buffer is None else disk.buffer
            return Edition("delete", inside, disk.stat, None, disk.text, None, buffer)
        origin = now.origin
        if origin is not None and disk is None and self._is_move(path, origin):
            after = None if now.bytes == origin.stat.data else now.bytes
            return Edition(
                "rename", origin.inside, origin.stat, after, origin.text, now.text, now.buffer, inside, now.mode
            )
        mode = now.mode
        if origin is not None and origin is not disk and mode is None:
            # Another file takes this place: it keeps the mode that it had at its own.
            mode = origin.mode
        if disk is None:
            return Edition("create", inside, None, now.bytes, None, now.text, now.buffer, mode=mode)
        if mode is None and now.bytes == disk.stat.data:
            # Only looked at, or brought back by a later part.
            return None
        return Edition("modify", inside, disk.stat, now.bytes, disk.text, now.text, now.buffer, mode=mode)


def _read(disk: _OnDisk) -> _Now:
    """A file before anything happened to it."""
    buffer = Buffer("", name=disk.inside.relative) if disk.buffer is None else disk.buffer
    return _Now(disk.text, buffer, disk, disk.stat.data)


def _says_new(file: FilePatch) -> bool:
    """A patch of a file that is not there: ``@@ -0,0`` says that there is none, whatever its ``---`` line says."""
    return len(file.hunks) == 1 and file.hunks[0].start == 0 and all(line.sign == "+" for line in file.hunks[0].lines)


def _changed(now: _Now, file: FilePatch, inside: Inside) -> _Now:
    """A file after one part of the patch: its hunks and its mode."""
    mode = now.mode if file.mode is None else file.mode
    if not file.hunks:
        return replace(now, mode=mode)
    if now.text is None:
        decode(now.data, inside.relative)
        raise Refused(f"{inside.relative} is not a text file, so no hunk fits it.", kind="not_text")
    marked = bool(now.buffer.bom) and _speaks_of_mark(file.hunks)
    text = apply(_MARK + now.text if marked else now.text, file.hunks, inside.relative)
    if marked and text.startswith(_MARK):
        return replace(now, text=text[1:], mode=mode)
    if marked and now.buffer.encoding == "utf-8":
        # The patch takes the mark away. In UTF-16 it is what tells the encoding, so it stays there.
        return replace(now, text=text, buffer=replace(now.buffer, bom=b""), mode=mode)
    return _normal(replace(now, text=text, mode=mode))


def _speaks_of_mark(hunks: Sequence[Hunk]) -> bool:
    """Whether the patch has the byte order mark in its text, as diffs of files in UTF-8 do."""
    return any(line.text.startswith(_MARK) for line in hunks[0].old[:1])


def _normal(now: _Now) -> _Now:
    """A byte order mark that a patch puts before a text is the file's, not the text's."""
    if now.text is None or not now.text.startswith(_MARK) or now.buffer.bom or now.buffer.encoding != "utf-8":
        return now
    return replace(now, text=now.text[1:], buffer=replace(now.buffer, bom=codecs.BOM_UTF8))
