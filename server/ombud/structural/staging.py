"""Staged rewrites of one workspace, on disk: exactly the bytes that will be written, until somebody decides (C1).

One folder a workspace, in the user's state folder, for all processes that work on it. ``e3.staged`` is the head of an
edit: what was asked, by whom, and of each file what was there and what will be. ``e3.bytes`` has the texts themselves,
one behind the other. The bytes come first and the head last, and go the other way round, so that a head always has its
bytes. ``gone`` remembers for a while what became of edits that are no longer there, and the last number that was given.

Nothing is synced, as with checkpoints: what a power cut leaves half written is known by its hash. The work blocks: run
it in a thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from ombud.errors import Refused
from ombud.workspace.journal import gate, private

TTL_SECONDS = 24 * 3600.0
"""How long an edit waits for a decision. After a day the files have moved on, and `restage` would be needed anyway."""
MOST_EDITS = 50
MOST_BYTES = 256 * 1024 * 1024
"""What a workspace keeps of texts, old and new together; the oldest edits go first."""
REMEMBERED = 200
"""How many edits that are gone are remembered, to say what became of one."""

_HEAD, _BYTES, _GONE = ".staged", ".bytes", "gone"
_MAGIC = b"ombud-staged 1\n"
T = TypeVar("T")
_ID = re.compile(r"e([1-9]\d{0,17})")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Text(msgspec.Struct, frozen=True, gc=False):
    """A file's bytes: their hash, how many, and where they stand among the edit's bytes."""

    sha256: bytes
    size: int
    at: int


class File(msgspec.Struct, frozen=True):
    """One file of an edit. ``folder`` is the workspace folder and ``parts`` the way from there, bytes since a path need
    not be text. ``before`` is what the rewrite was made from, ``after`` what it made.

    ``shown`` is what results call it. ``opened``: ``before`` was a client's unsaved text.
    """

    folder: bytes
    parts: tuple[bytes, ...]
    shown: str
    before: Text
    after: Text
    replacements: int = 0
    added: int = 0
    removed: int = 0
    opened: bool = False

    @property
    def path(self) -> Path:
        """The real path."""
        return Path(os.fsdecode(self.folder)).joinpath(*map(os.fsdecode, self.parts))


class Staged(msgspec.Struct, frozen=True):
    """The head of an edit. ``time`` is in seconds of the epoch.

    ``request`` are the params that it was staged with, as JSON, for `restage`. ``settled`` are real paths of files that
    were committed or discarded apart from the others, as bytes: they are not among ``files`` any more.
    """

    number: int
    session: str
    client: str
    time: float
    summary: str
    request: bytes
    files: tuple[File, ...]
    settled: tuple[bytes, ...] = ()

    @property
    def id(self) -> str:
        return f"e{self.number}"

    @property
    def paths(self) -> list[Path]:
        """The real paths of the files that wait."""
        return [file.path for file in self.files]

    @property
    def expires(self) -> float:
        """Seconds of the epoch."""
        return self.time + TTL_SECONDS


class Gone(msgspec.Struct, frozen=True):
    """What became of an edit: ``why`` is the rest of a sentence that begins with its id (“was committed as …”)."""

    number: int
    time: float
    why: str


class _Ledger(msgspec.Struct):
    last: int = 0
    gone: list[Gone] = []


@dataclass(frozen=True, slots=True)
class Change:
    """A file that is to be staged: ``before`` and ``after`` are its whole bytes."""

    folder: Path
    path: Path
    shown: str
    before: bytes
    after: bytes
    replacements: int = 0
    added: int = 0
    removed: int = 0
    opened: bool = False


class Staging:
    """See the module. ``folder`` is the workspace's own; it is made with the first edit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # -- keeping ------------------------------------------------------------------------------------------------

    def add(
        self, changes: Sequence[Change], *, session: str, client: str, summary: str, request: bytes
    ) -> tuple[Staged, list[Gone]]:
        """Keep an edit. Answers its head, and what had to go for it.

        Raises `Refused`: ``too_large`` where the texts are more than a workspace keeps, ``write_failed`` where the
        state folder cannot be written. Nothing is kept then.
        """
        size = sum(len(one.before) + len(one.after) for one in changes)
        if size > MOST_BYTES:
            raise Refused(
                f"The rewrite of {len(changes)} files takes {size >> 20} MB to stage, and {MOST_BYTES >> 20} MB is the "
                "most. Narrow it down with path or globs.",
                kind="too_large",
            )
        try:
            with self._entered():
                ledger = self._ledger()
                number = max(ledger.last, *(number for number, _ in self._listed()), 0) + 1
                head = Staged(number, session, client, time.time(), summary, request, tuple(_files(changes)))
                _write(self._bytes(number), (part for one in changes for part in (one.before, one.after)))
                self._put(head)
                ledger.last = number
                gone = self._tidy(newest=number)
                self._remember(ledger, gone)
        except OSError as error:
            raise self._cannot(error, "staged") from error
        return head, gone

    def settle(self, staged: Staged, files: Iterable[File], why: str) -> Staged | None:
        """Take files out of an edit that was read before: they are committed or discarded.

        ``why`` is what is said of the edit once none is left; then it is gone, and the answer is None. An edit that has
        gone meanwhile stays gone. Raises `OSError`.
        """
        done = {file.path for file in files}
        with self._entered():
            current = self._read(staged.number)
            if current is None:
                return None
            left = tuple(file for file in current.files if file.path not in done)
            if not left:
                ledger = self._ledger()
                self._remember(ledger, [self._remove(staged.number, why)])
                return None
            settled = dict.fromkeys([*current.settled, *(os.fsencode(path) for path in sorted(done))])
            rest = msgspec.structs.replace(current, files=left, settled=tuple(settled))
            self._put(rest)
            return rest

    def drop(self, number: int, why: str) -> None:
        """An edit goes as a whole. Raises `OSError`."""
        with self._entered():
            if self._head(number).exists():
                self._remember(self._ledger(), [self._remove(number, why)])

    # -- reading ------------------------------------------------------------------------------------------------

    def get(self, edit: str) -> Staged | None:
        """The edit of that id; None where there is none, or none any more. Raises `OSError`."""
        found = _ID.fullmatch(edit)
        if found is None:
            return None
        staged = self._read(int(found.group(1)))
        return None if staged is None or staged.expires <= time.time() else staged

    def what_became(self, edit: str) -> str | None:
        """The rest of a sentence on an edit that is not there any more; None for one that nobody remembers."""
        found = _ID.fullmatch(edit)
        if found is None:
            return None
        number = int(found.group(1))
        for one in reversed(self._ledger().gone):
            if one.number == number:
                return one.why
        staged = self._read(number)
        if staged is not None:
            return _expired()
        # A head that is there and cannot be read was torn by a power cut.
        return "is damaged, as by a power cut" if self._head(number).exists() else None

    def all(self) -> list[Staged]:
        """The edits that wait, oldest first. Raises `OSError`."""
        now = time.time()
        heads = (self._read(number) for number, _ in sorted(self._listed()))
        return [head for head in heads if head is not None and head.expires > now]

    def gone(self) -> list[Gone]:
        """What became of the last ones that are gone, oldest first; also of those whose time is over right now."""
        ledger = self._ledger()
        known = {one.number for one in ledger.gone}
        heads = (self._read(number) for number, _ in sorted(self._listed()))
        now = time.time()
        late = [
            Gone(head.number, head.expires, _expired())
            for head in heads
            if head is not None and head.expires <= now and head.number not in known
        ]
        return [*ledger.gone, *late]

    def texts(self, staged: Staged, files: Sequence[File]) -> Iterator[tuple[File, bytes, bytes]]:
        """Each file with its bytes before and after.

        Raises `Refused` (``unknown_edit``) where they are not what was staged: torn, or taken away; and `OSError`.
        """
        try:
            stream = self._bytes(staged.number).open("rb")
        except FileNotFoundError as error:
            raise _damaged(staged) from error
        with stream:
            for file in files:
                both = []
                for text in (file.before, file.after):
                    stream.seek(text.at)
                    data = stream.read(text.size)
                    if hashlib.sha256(data).digest() != text.sha256:
                        raise _damaged(staged)
                    both.append(data)
                yield file, both[0], both[1]

    def conflicts(self, staged: Staged, others: Iterable[Staged] | None = None) -> list[str]:
        """The ids of other edits that wait with a file of this one. Raises `OSError`."""
        mine = set(staged.paths)
        around = self.all() if others is None else others
        return [one.id for one in around if one.number != staged.number and not mine.isdisjoint(one.paths)]

    # -- the folder ---------------------------------------------------------------------------------------------

    def _listed(self) -> Iterator[tuple[int, Path]]:
        try:
            paths = list(self.folder.iterdir())
        except FileNotFoundError:
            return
        for path in paths:
            found = _ID.fullmatch(path.stem)
            if found is not None and path.suffix == _HEAD:
                yield int(found.group(1)), path

    def _head(self, number: int) -> Path:
        return self.folder / f"e{number}{_HEAD}"

    def _bytes(self, number: int) -> Path:
        return self.folder / f"e{number}{_BYTES}"

    def _read(self, number: int) -> Staged | None:
        return _unpack(self._head(number), Staged)

    def _put(self, head: Staged) -> None:
        path = self._head(head.number)
        _replace(path, _pack(head))

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        """Alone with the folder, which is made where it is missing. Raises `OSError`."""
        private(self.folder)
        with gate(self.folder, shared=False):
            yield

    def _ledger(self) -> _Ledger:
        return _unpack(self.folder / _GONE, _Ledger) or _Ledger()

    def _remember(self, ledger: _Ledger, gone: Sequence[Gone]) -> None:
        ledger.gone = [*ledger.gone, *gone][-REMEMBERED:]
        ledger.last = max([ledger.last, *(one.number for one in gone)])
        _replace(self.folder / _GONE, _pack(ledger))

    def _remove(self, number: int, why: str) -> Gone:
        for path in (self._head(number), self._bytes(number)):
            path.unlink(missing_ok=True)
        return Gone(number, time.time(), why)

    def _tidy(self, *, newest: int) -> list[Gone]:
        """Remove what is beyond the limits, all but the newest, and what a process that died has left."""
        gone = []
        heads = dict(sorted(self._listed()))
        sizes = {int(match.group(1)): path.stat().st_size for path, match in self._of_bytes()}
        for path in (*(self._bytes(one) for one in sizes if one not in heads), *self.folder.glob("*.new")):
            path.unlink(missing_ok=True)
        read = {number: self._read(number) for number in heads}
        now, left, size = time.time(), len(heads), sum(sizes.get(number, 0) for number in heads)
        for number, head in read.items():
            if number == newest:
                continue
            if head is None:
                why = "is damaged, as by a power cut"
            elif head.expires <= now:
                why = _expired()
            elif left > MOST_EDITS or size > MOST_BYTES:
                why = f"made room for newer ones: {MOST_EDITS} edits and {MOST_BYTES >> 20} MB are kept"
            else:
                continue
            left, size = left - 1, size - sizes.get(number, 0)
            gone.append(self._remove(number, why))
        return gone

    def _of_bytes(self) -> Iterator[tuple[Path, re.Match[str]]]:
        for path in self.folder.iterdir():
            found = _ID.fullmatch(path.stem)
            if found is not None and path.suffix == _BYTES:
                yield path, found

    def _cannot(self, error: OSError, what: str) -> Refused:
        words = os.strerror(error.errno) if error.errno else str(error)
        return Refused(
            f"Nothing could be {what} in {self.folder}: {words}. Free some space there or make it writable.",
            kind="write_failed",
        )


def _files(changes: Sequence[Change]) -> Iterator[File]:
    at = 0
    for one in changes:
        texts = []
        for data in (one.before, one.after):
            texts.append(Text(hashlib.sha256(data).digest(), len(data), at))
            at += len(data)
        parts = tuple(map(os.fsencode, one.path.relative_to(one.folder).parts))
        yield File(
            os.fsencode(one.folder),
            parts,
            one.shown,
            texts[0],
            texts[1],
            one.replacements,
            one.added,
            one.removed,
            one.opened,
        )


def _expired() -> str:
    return f"has expired: what is staged is kept for {TTL_SECONDS / 3600:.0f} hours"


def _damaged(staged: Staged) -> Refused:
    return Refused(
        f"What {staged.id} was to write is damaged, so nothing was written. Stage it again with restage.",
        kind="unknown_edit",
        editId=staged.id,
    )


def _pack(value: object) -> bytes:
    """A value as bytes that tell whether they are whole."""
    body = msgspec.msgpack.encode(value)
    return _MAGIC + hashlib.sha256(body).digest() + body


def _unpack(path: Path, kind: type[T]) -> T | None:
    """The value in a file; None where it is gone, or not whole. Raises `OSError` where it cannot be read."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    head, body = data[: len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    if head != _MAGIC + hashlib.sha256(body).digest():
        return None
    try:
        return msgspec.msgpack.decode(body, type=kind)
    except msgspec.MsgspecError:
        return None


def _replace(path: Path, data: bytes) -> None:
    """Put a whole file in the place of another. Raises `OSError`."""
    made = path.with_name(f"{path.name}.new")
    _write(made, (data,))
    made.replace(path)


def _write(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file; none of it is left where that fails. Raises `OSError`."""
    fd = os.open(path, _NEW, 0o600)
    try:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(fd, rest) :]
    except OSError:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(fd)
