"""What a commit is asked to do, checked against the disk and turned into a plan."""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from msgspec import structs

from ombud.errors import Refused, UserError
from ombud.guard.fence import FileBytes, Inside
from ombud.workspace.folders import Folders, Seen, keeps_owner
from ombud.workspace.journal import Entry, Image, Plan

Kind = Literal["create", "modify", "delete", "rename"]


@dataclass(frozen=True, slots=True)
class Change:
    """One file of a commit.

    ``before`` is the file as it was captured, for all but ``create``; ``after`` the new bytes (for ``rename`` None
    where they stay). ``to`` is the new place of a ``rename``. ``mode`` sets permission bits; None keeps those of the
    file, and gives a new one the usual. Raises `ValueError` for a combination that says nothing.
    """

    kind: Kind
    inside: Inside
    before: FileBytes | None = None
    after: bytes | None = None
    to: Inside | None = None
    mode: int | None = None

    def __post_init__(self) -> None:
        if (self.before is None) != (self.kind == "create"):
            raise ValueError(
                f"A {self.kind} of {self.inside.relative} is compared with a file exactly if there is one."
            )
        if (self.kind in ("create", "modify") and self.after is None) or (
            self.kind == "delete" and self.after is not None
        ):
            raise ValueError(f"A {self.kind} of {self.inside.relative} has new bytes exactly if a file is to remain.")
        if (self.to is None) == (self.kind == "rename"):
            raise ValueError(f"A {self.kind} of {self.inside.relative} has a new place exactly if it is a rename.")

    @property
    def target(self) -> Inside:
        """Where the file is afterwards (or was, for a ``delete``)."""
        return self.inside if self.to is None else self.to


@dataclass(slots=True)
class Draft:
    """A plan and the bytes it refers to: ``blobs`` as the journal writes them, ``store`` all of them by content."""

    entries: list[Entry] = field(default_factory=list)
    blobs: list[bytes] = field(default_factory=list)
    store: dict[bytes, bytes] = field(default_factory=dict)
    folders: list[Path] = field(default_factory=list)
    _written: int = 0

    def image(self, data: bytes, status: os.stat_result | None, mode: int | None, *, kept: bool) -> Image:
        """A file's content; ``kept``: the journal holds the bytes."""
        digest = hashlib.sha256(data).digest()
        self.store[digest] = data
        at = None
        if kept:
            at = self._written
            self._written += len(data)
            self.blobs.append(data)
        if status is None:
            return Image(digest, len(data), mode, at=at)
        return Image(
            digest,
            len(data),
            stat.S_IMODE(status.st_mode) if mode is None else mode,
            status.st_dev,
            status.st_ino,
            status.st_uid,
            status.st_gid,
            status.st_mtime_ns,
            at,
        )

    def plan(self) -> Plan:
        """The plan. A single change that is one step needs none of its bytes in the journal."""
        entries = tuple(self.entries)
        single = len(entries) == 1 and not entries[0].in_place
        if single:
            self.blobs.clear()
            old = entries[0].old
            entries = (structs.replace(entries[0], old=None if old is None else structs.replace(old, at=None)),)
        return Plan(entries, tuple(os.fsencode(folder) for folder in self.folders), single)


def verify(changes: Sequence[Change], folders: Folders) -> list[os.stat_result | None]:
    """Look at every file that is to change, and answer their statuses (None: not there).

    Raises `Refused`: ``file_changed`` with all ``paths`` that are not what was captured, or stand where a new file is
    to be; ``permission_denied`` for a write-protected file; ``conflict`` for several names of one file. Raises
    `UserError` where one path is named twice.
    """
    _apart(changes)
    statuses: list[os.stat_result | None] = []
    changed: list[str] = []
    appeared: list[str] = []
    for change in changes:
        seen = _look(change.inside, folders)
        statuses.append(None if seen is None else seen.status)
        if not _as_captured(change, seen):
            (appeared if change.before is None else changed).append(change.inside.relative)
        elif change.to is not None:
            there = _look(change.to, folders)
            # A disk that ignores case shows the file itself under its new spelling: no other file is in the way.
            if there is not None and (seen is None or there.identity != seen.identity or seen.status.st_nlink > 1):
                appeared.append(change.to.relative)
    if changed or appeared:
        raise file_changed(changed, appeared)
    _check_protection(changes, folders)
    _check_names(changes, statuses)
    return statuses


def file_changed(changed: Sequence[str], appeared: Sequence[str] = ()) -> Refused:
    """The refusal of a commit whose files are not what they were when it was made up (C1, C4).

    ``appeared`` are those that stand where a new file was to be.
    """
    said: list[str] = []
    if changed:
        said.append(f"{_listed(changed)} {'was' if len(changed) == 1 else 'were'} changed or removed since being read")
    if appeared:
        said.append(f"{_listed(appeared)} {'exists' if len(appeared) == 1 else 'exist'} already")
    return Refused(
        f"{' and '.join(said)}, so nothing was written. Read again and make the change on what is there now.",
        kind="file_changed",
        paths=[*changed, *appeared],
    )


def _listed(paths: Sequence[str]) -> str:
    return ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")


def draft(changes: Sequence[Change], statuses: Sequence[os.stat_result | None]) -> Draft:
    """The plan for verified changes. What changes nothing has no entry."""
    made = Draft()
    missing: set[Path] = set()
    for change, status in zip(changes, statuses, strict=True):
        if change.kind in ("create", "rename"):
            missing |= _missing_folders(change.target)
        if change.kind == "create":
            new = made.image(change.after or b"", None, change.mode, kept=False)
            made.entries.append(_entry(change.inside, None, new, temporary=_name("new")))
        elif status is not None and change.before is not None:
            _draft_existing(made, change, change.before.data, status)
    made.folders = sorted(missing, key=lambda folder: len(folder.parts))
    return made


def _draft_existing(made: Draft, change: Change, data: bytes, status: os.stat_result) -> None:
    """The entries for a file that is there: one, or for a rename two, the old name first.

    A file with several names, or with an owner whom we cannot give a new file, stays the same file: it is written in
    place and moved (C8). Any other is replaced by a new file.
    """
    after = data if change.after is None else change.after
    same = after == data and change.mode in (None, stat.S_IMODE(status.st_mode))
    stays = status.st_nlink > 1 or not keeps_owner(status)
    if change.kind == "modify" and same:
        return
    in_place = stays and not same and change.kind != "delete"
    old = made.image(data, status, None, kept=True)
    if change.kind == "modify":
        new = made.image(after, status, change.mode, kept=in_place)
        temporary = None if in_place else _name("new")
        made.entries.append(
            _entry(change.inside, old, new, temporary=temporary, backup=_name("old"), in_place=in_place)
        )
        return
    number = len(made.entries)
    made.entries.append(_entry(change.inside, old, None, backup=_name("old"), in_place=in_place))
    if change.to is None:
        return
    new = made.image(after, status, change.mode, kept=in_place)
    if stays:
        made.entries.append(_entry(change.to, None, new, source=number, in_place=in_place))
    else:
        made.entries.append(_entry(change.to, None, new, model=number, temporary=_name("new")))


def _entry(
    inside: Inside,
    old: Image | None,
    new: Image | None,
    *,
    temporary: str | None = None,
    backup: str | None = None,
    model: int | None = None,
    source: int | None = None,
    in_place: bool = False,
) -> Entry:
    parts = tuple(os.fsencode(part) for part in inside.path.relative_to(inside.folder).parts)
    return Entry(os.fsencode(inside.folder), parts, old, new, temporary, backup, model, source, in_place)


def _name(what: str) -> str:
    """A name that nobody else gives a file. No language claims its ending, so no tool reads it in passing."""
    return f".ombud-{secrets.token_hex(8)}.{what}"


def _look(inside: Inside, folders: Folders) -> Seen | None:
    try:
        return folders.at(inside.path.parent).look(inside.path.name)
    except Refused as refused:
        if refused.kind == "not_found":
            return None
        raise


def _as_captured(change: Change, seen: Seen | None) -> bool:
    if change.before is None or seen is None:
        return change.before is None and seen is None
    return seen.data == change.before.data


def _apart(changes: Sequence[Change]) -> None:
    places = [change.inside.path for change in changes]
    places += [change.to.path for change in changes if change.to is not None]
    twice = [path for path, times in Counter(places).items() if times > 1]
    if twice:
        raise UserError(f"{twice[0].name} is changed twice in one commit. Join the two changes into one.")


def _check_protection(changes: Sequence[Change], folders: Folders) -> None:
    for change in changes:
        rewritten = change.kind == "modify" or (change.kind == "rename" and change.after is not None)
        if rewritten and not folders.at(change.inside.path.parent).writable(change.inside.path.name):
            raise Refused(
                f"{change.inside.relative} is write-protected, so nothing was written. "
                "Change its permissions first if it is meant to be edited.",
                kind="permission_denied",
            )


def _check_names(changes: Sequence[Change], statuses: Sequence[os.stat_result | None]) -> None:
    """Two changes of one file under two names would each undo the other; only deleting both makes sense."""
    known: dict[tuple[int, int], Change] = {}
    for change, status in zip(changes, statuses, strict=True):
        if status is None:
            continue
        other = known.setdefault((status.st_dev, status.st_ino), change)
        if other is not change and not (other.kind == change.kind == "delete"):
            raise Refused(
                f"{other.inside.relative} and {change.inside.relative} are two names of one file (a hard link), so "
                "nothing was written. Change it under one of them.",
                kind="conflict",
            )


def _missing_folders(inside: Inside) -> set[Path]:
    missing: set[Path] = set()
    at = inside.path.parent
    while at != inside.folder and not os.path.lexists(at):
        missing.add(at)
        at = at.parent
    return missing
