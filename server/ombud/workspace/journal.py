"""The journal of one commit: what was there before, kept until all of it is written (architecture.md, decision 12).

One file a commit, ``<id>.journal``, in the user's state folder: a head, the plan, and the old bytes of every file
(and the new ones of those that are written in place). It is locked as long as the process that writes it lives, so
that another process can tell a live commit from one whose process died. A journal that was cut short is one of a
commit that had not begun to change anything.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from ombud.workspace.folders import Folder, sync
from ombud.workspace.locks import lock

SUFFIX = ".journal"
GATE = ".lock"
"""Locked (shared) while a journal is made, and (alone) while dead ones are recovered."""

_MAGIC = b"ombud-journal 1\n"
_OPEN, _DONE = b"o", b"d"
_HEAD = len(_MAGIC) + 1 + 8 + 32  # magic, state, length of the plan, its SHA-256


class Image(msgspec.Struct, frozen=True, gc=False):
    """A file before or after. For one that is yet to be written the identity, owner and time are 0.

    ``at`` is where its bytes stand behind the plan, None where the journal does not hold them. ``mode`` is None for
    a new file that takes the usual permissions.
    """

    sha256: bytes
    size: int
    mode: int | None = None
    dev: int = 0
    ino: int = 0
    uid: int = 0
    gid: int = 0
    mtime_ns: int = 0
    at: int | None = None

    @property
    def identity(self) -> tuple[int, int]:
        return self.dev, self.ino

    def holds(self, data: bytes | None) -> bool:
        """Whether ``data`` is this content."""
        return data is not None and len(data) == self.size and hashlib.sha256(data).digest() == self.sha256


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One path of the commit: what is there before (``old``) and after (``new``); None: nothing.

    ``folder`` is the workspace folder, ``parts`` the way from it to the file; both are bytes, since a path need not
    be text. ``temporary`` and ``backup`` are names beside the file, for the new and the old one. ``model`` is the
    entry whose owner and permissions a new file takes. ``source`` is the entry whose very file comes to stand here,
    for a file with several names that is renamed (C8). ``in_place``: its bytes are overwritten.
    """

    folder: bytes
    parts: tuple[bytes, ...]
    old: Image | None
    new: Image | None
    temporary: str | None = None
    backup: str | None = None
    model: int | None = None
    source: int | None = None
    in_place: bool = False

    @property
    def base(self) -> Path:
        return Path(os.fsdecode(self.folder))

    @property
    def path(self) -> Path:
        return self.base.joinpath(*map(os.fsdecode, self.parts))

    @property
    def name(self) -> str:
        return os.fsdecode(self.parts[-1])


class Plan(msgspec.Struct, frozen=True, gc=False):
    """All entries, in the order in which they are done, and the folders that are made for them (outermost first).

    ``single``: one change in one step of the file system, which is all or nothing by itself. Its journal only
    names what to tidy up, and is not synced.
    """

    entries: tuple[Entry, ...]
    folders: tuple[bytes, ...] = ()
    single: bool = False

    @property
    def made(self) -> tuple[Path, ...]:
        return tuple(Path(os.fsdecode(folder)) for folder in self.folders)


_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Plan)


class Journal:
    """The journal of a commit that this process makes. It holds its lock until `remove` or `leave`."""

    def __init__(self, fd: int, path: Path) -> None:
        self._fd = fd
        self.path = path
        self._synced = False

    @property
    def id(self) -> str:
        return self.path.name.removesuffix(SUFFIX)

    @classmethod
    def open(cls, folder: Path) -> Journal:
        """A new, empty and locked journal in ``folder``, which is made (0700) where it is missing. Raises `OSError`."""
        private(folder)
        with gate(folder, shared=True):
            path = folder / f"{secrets.token_hex(8)}{SUFFIX}"
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
            fd = os.open(path, flags, 0o600)
            lock(fd)
        return cls(fd, path)

    def write(self, plan: Plan, blobs: list[bytes]) -> None:
        """Write the plan and the bytes that it refers to; durable on return, unless the plan is ``single``."""
        body = _ENCODER.encode(plan)
        head = _MAGIC + _OPEN + len(body).to_bytes(8, "big") + hashlib.sha256(body).digest()
        for data in (head + body, *blobs):
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._fd, rest) :]
        if not plan.single:
            self._synced = True
            sync(self._fd)
            _sync_folder(self.path.parent)

    def done(self) -> None:
        """Mark the commit as complete: from here on it is only tidied up, never taken back."""
        os.lseek(self._fd, len(_MAGIC), os.SEEK_SET)
        os.write(self._fd, _DONE)
        if self._synced:
            sync(self._fd)

    def remove(self) -> None:
        """Delete the journal and unlock. Windows cannot delete an open file, so there it is unlocked first."""
        if os.name != "posix":
            self.leave()
        self.path.unlink(missing_ok=True)
        self.leave()

    def leave(self) -> None:
        """Unlock, and leave what is there to the next recovery."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Record:
    """A journal as it is read back. ``plan`` is None where it was cut short."""

    def __init__(self, data: bytes) -> None:
        self.done = data[len(_MAGIC) : len(_MAGIC) + 1] == _DONE
        self._data = data
        self._blobs = _HEAD
        self.plan = self._read()

    def _read(self) -> Plan | None:
        if not self._data.startswith(_MAGIC) or len(self._data) < _HEAD:
            return None
        size = int.from_bytes(self._data[len(_MAGIC) + 1 : len(_MAGIC) + 9], "big")
        body = self._data[_HEAD : _HEAD + size]
        if hashlib.sha256(body).digest() != self._data[_HEAD - 32 : _HEAD]:
            return None
        self._blobs = _HEAD + size
        try:
            plan = _DECODER.decode(body)
        except msgspec.MsgspecError:
            return None
        return plan if all(self._whole(image) for entry in plan.entries for image in (entry.old, entry.new)) else None

    def _whole(self, image: Image | None) -> bool:
        return image is None or image.at is None or image.holds(self.bytes_of(image))

    def bytes_of(self, image: Image) -> bytes | None:
        """The content of one of the plan's images, None where the journal does not hold it."""
        if image.at is None:
            return None
        start = self._blobs + image.at
        return self._data[start : start + image.size]


def private(folder: Path) -> None:
    """Make the folder, for this user only. Raises `OSError`."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        folder.chmod(0o700)


@contextmanager
def gate(folder: Path, *, shared: bool) -> Iterator[None]:
    """Hold the lock of the journal folder."""
    fd = os.open(folder / GATE, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        lock(fd, shared=shared)
        yield
    finally:
        os.close(fd)


def keep(journal: Path, files: Sequence[tuple[Entry, bytes | None]]) -> Path | None:
    """Put the old bytes of ``files`` into a folder beside the journal, where their owner finds them; that folder.

    None where there are none. Raises `OSError`: the journal must stay then.
    """
    whole = [(entry, data) for entry, data in files if data is not None]
    if not whole:
        return None
    folder = journal.with_suffix(".kept")
    folder.mkdir(mode=0o700, exist_ok=True)
    for number, (entry, data) in enumerate(whole, 1):
        fd = os.open(
            folder / f"{number}-{entry.name}"[:200],
            os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0),
            0o600,
        )
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            sync(file.fileno())
    _sync_folder(folder)
    return folder


def _sync_folder(path: Path) -> None:
    if os.name != "posix":
        return
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        Folder(fd, path).sync()
    finally:
        os.close(fd)
