"""One checkpoint as it is kept: what a write found in each file, and what it left there."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ombud.guard.fence import FileBytes
from ombud.workspace.change import Change

DONE, PENDING, OPEN = ".checkpoint", ".pending", ".open"
"""The endings of a checkpoint, of one whose write is under way, and of an open transaction."""
_MAGIC = b"ombud-checkpoint 1\n"
_NAME = re.compile(rf"c([1-9]\d{{0,17}})(?:{re.escape(DONE)}|{re.escape(PENDING)})")


class State(msgspec.Struct, frozen=True, gc=False):
    """A file's content. ``mode`` are its permission bits, None for a new file that takes the usual ones."""

    sha256: bytes
    size: int
    mode: int | None = None

    def holds(self, file: FileBytes | None) -> bool:
        """Whether this is the content of ``file``."""
        return file is not None and file.size == self.size and hashlib.sha256(file.data).digest() == self.sha256


class Step(msgspec.Struct, frozen=True, gc=False):
    """One path: what was there before (None: nothing) and after.

    ``folder`` is the workspace folder and ``parts`` the way from there; bytes, since a path need not be text.
    ``origin``: for the new place of a rename, the number of the step of its old one.
    """

    folder: bytes
    parts: tuple[bytes, ...]
    before: State | None
    after: State | None
    origin: int | None = None

    @property
    def path(self) -> Path:
        return self.base.joinpath(*map(os.fsdecode, self.parts))

    @property
    def base(self) -> Path:
        return Path(os.fsdecode(self.folder))


class Record(msgspec.Struct, frozen=True, gc=False):
    """See the module. ``time`` is in seconds of the epoch; ``made`` are the folders that were missing before."""

    number: int
    session: str
    time: float
    summary: str
    steps: tuple[Step, ...]
    made: tuple[bytes, ...] = ()

    @property
    def id(self) -> str:
        return f"c{self.number}"


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Record)


def record_of(changes: Sequence[Change], *, number: int, session: str, time: float, summary: str) -> Record:
    """The record of a commit of ``changes``. What changes nothing has no step."""
    steps: list[Step] = []
    made: dict[Path, None] = {}
    for change in changes:
        before = None if change.before is None else state_of(change.before)
        after = _after(change, before)
        if change.kind == "modify" and before == after:
            continue
        if change.kind in ("create", "rename"):
            made |= dict.fromkeys(_missing(change))
        place = change.inside.path.relative_to(change.inside.folder).parts
        origin = len(steps)
        steps.append(_step(change.inside.folder, place, before, None if change.to is not None else after))
        if change.to is not None:
            there = change.to.path.relative_to(change.to.folder).parts
            steps.append(_step(change.to.folder, there, None, after, origin))
    return Record(number, session, time, summary, tuple(steps), tuple(os.fsencode(folder) for folder in made))


def state_of(file: FileBytes) -> State:
    """A file as it was read."""
    return State(hashlib.sha256(file.data).digest(), file.size, stat.S_IMODE(file.mode))


def _after(change: Change, before: State | None) -> State | None:
    if change.kind == "delete":
        return None
    mode = change.mode if change.mode is not None else before.mode if before is not None else None
    if change.after is None:
        assert before is not None, "only a rename keeps its bytes"
        return State(before.sha256, before.size, mode)
    return State(hashlib.sha256(change.after).digest(), len(change.after), mode)


def _step(
    folder: Path, parts: Sequence[str], before: State | None, after: State | None, origin: int | None = None
) -> Step:
    return Step(os.fsencode(folder), tuple(map(os.fsencode, parts)), before, after, origin)


def _missing(change: Change) -> list[Path]:
    """The folders that are made for a new file, outermost first."""
    missing: list[Path] = []
    at = change.target.path.parent
    while at != change.target.folder and not os.path.lexists(at):
        missing.insert(0, at)
        at = at.parent
    return missing


def number_of(name: str) -> int | None:
    """The number in a checkpoint's file name; None for any other name."""
    found = _NAME.fullmatch(name)
    return None if found is None else int(found.group(1))


def pack(record: Record) -> bytes:
    """A record as bytes that tell whether they are whole."""
    body = _ENCODER.encode(record)
    return _MAGIC + hashlib.sha256(body).digest() + body


def unpack(path: Path) -> Record | None:
    """The record in a file; None where it is gone, or not whole. Raises `OSError` where it cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    head, body = data[: len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    if head != _MAGIC + hashlib.sha256(body).digest():
        return None
    try:
        return _DECODER.decode(body)
    except msgspec.MsgspecError:
        return None
