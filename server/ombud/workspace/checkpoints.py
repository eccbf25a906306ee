"""What was there before each write, kept for ``rollback``: the checkpoints of one workspace, on disk.

One folder a workspace, in the user's state folder, and for all processes that work on it: ``c12.checkpoint`` says
what a write found in each file and what it left there, ``blobs/`` has the bytes that were found, by content, so that
the same text is kept once. A write makes its checkpoint before it changes anything (``c12.pending``) and gives it its
name when it is done, so that a process that dies in between loses nothing. ``sessions/`` has a file for each session
that is alive, locked by its process, and one for each open transaction.

Nothing is synced here: a checkpoint outlives the process, and the journal is what outlives a power cut. What a power
cut leaves half written is known by its hash, and counts as not kept. The work blocks: run it in a thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import Refused
from ombud.workspace.change import Change
from ombud.workspace.journal import gate, private
from ombud.workspace.locks import lock
from ombud.workspace.pruning import Limits, prune
from ombud.workspace.record import DONE, OPEN, PENDING, Record, number_of, pack, record_of, unpack

if TYPE_CHECKING:
    from ombud.workspace.commit import Committed

LIMITS = Limits(number=500, bytes=256 * 1024 * 1024, seconds=14 * 24 * 3600.0)
"""What a workspace keeps. 500 writes are some days of an agent's work, and listing them takes some milliseconds; 256 MB
hold 500 sources of half a megabyte each; after two weeks git knows more than we do."""
LOOK_EVERY = 25
"""After how many writes of a session the limits are looked at: that costs a listing of two folders."""
_SUMMARY = 200
"""Characters of a summary that are kept: it is a line in a list."""

_NEW = os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LOCKED = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)


class Pending:
    """A checkpoint whose write is under way. ``problem`` says, as a sentence, why none can be kept; else None."""

    def __init__(self, folder: Path, number: int | None, problem: str | None = None) -> None:
        self._folder = folder
        self._number = number
        self.problem = problem

    def done(self, _committed: Committed | None = None) -> tuple[str | None, str | None]:
        """The write is made as it was announced to `Checkpoints.begin`: the checkpoint's id, or None and why."""
        if self._number is None:
            return None, self.problem
        try:
            (self._folder / f"c{self._number}{PENDING}").rename(self._folder / f"c{self._number}{DONE}")
        except OSError as error:
            self.problem = _cannot(self._folder, error)
            return None, self.problem
        return f"c{self._number}", None

    def drop(self) -> None:
        """The write was not made, and everything is as it was: there is nothing to go back from."""
        if self._number is not None:
            with contextlib.suppress(OSError):
                (self._folder / f"c{self._number}{PENDING}").unlink()


class Checkpoints:
    """One session's way to the checkpoints of its workspace. ``folder`` is the workspace's own in the state folder.

    ``session`` is a name that no other session has, of any process.
    """

    def __init__(self, folder: Path, session: str | None = None) -> None:
        self.folder = folder
        self.session = secrets.token_hex(8) if session is None else session
        self._alive: int | None = None
        self._mark: int | None = None
        self._until_look = 0

    # -- keeping ------------------------------------------------------------------------------------------------

    def begin(self, changes: Sequence[Change], summary: str) -> Pending:
        """Keep what is there before ``changes`` are made. Before the commit, with what was captured for it.

        Where it cannot be kept (the state folder is full or read-only) the answer has a `Pending.problem` and the
        write may go on without. Raises `Refused` (``write_failed``) for that in a transaction, which could not be
        taken back then.
        """
        try:
            return Pending(self.folder, self._begin(changes, summary))
        except OSError as error:
            if self._mark is not None:
                raise Refused(
                    f"{_cannot(self.folder, error)} Without it the transaction could not be taken back, so nothing was "
                    "written.",
                    kind="write_failed",
                ) from error
            return Pending(self.folder, None, _cannot(self.folder, error))

    def _begin(self, changes: Sequence[Change], summary: str) -> int:
        with self._entered():
            self._live()
            for change in changes:
                if change.before is not None:
                    self._keep(change.before.data)
            number = self._next()
            said = summary.encode("utf-8", "replace").decode()[:_SUMMARY]
            record = record_of(changes, number=number, session=self.session, time=time.time(), summary=said)
            _write(self.folder / f"c{number}{PENDING}", pack(record), os.O_EXCL)
            self._until_look -= 1
            if self._until_look <= 0:
                self._until_look = LOOK_EVERY
                prune(self.folder, LIMITS, newest=number)
        return number

    def _keep(self, data: bytes) -> None:
        """Put bytes among the blobs, unless they are there."""
        path = self._blob(hashlib.sha256(data).digest())
        try:
            if path.stat().st_size == len(data):
                return
        except FileNotFoundError:
            pass
        made = path.with_name(f"{path.name}.new")
        # What lies there under this name is of a process that died: whoever holds the gate is alone.
        _write(made, data, os.O_TRUNC)
        made.replace(path)

    def _next(self) -> int:
        """A number that was never given before, in this workspace."""
        fd = os.open(self.folder / "counter", _LOCKED, 0o600)
        try:
            said = os.read(fd, 32)
            last = int(said) if said.strip().isdigit() else -1
            if last < 0 or any((self.folder / f"c{last + 1}{end}").exists() for end in (DONE, PENDING)):
                # A power cut may have taken the newest of the counter, and not of the folder.
                last = max([0, last, *(number for number, _ in self._listed())])
            os.pwrite(fd, b"%019d\n" % (last + 1), 0)
        finally:
            os.close(fd)
        return last + 1

    @contextlib.contextmanager
    def _entered(self) -> Iterator[None]:
        """Alone with the folder, which is made where it is missing. Raises `OSError`."""
        if not (self.folder / "sessions").is_dir():
            private(self.folder)
            for name in ("blobs", "sessions"):
                (self.folder / name).mkdir(mode=0o700, exist_ok=True)
        with gate(self.folder, shared=False):
            yield

    # -- reading ------------------------------------------------------------------------------------------------

    def records(self, wanted: Callable[[Record], bool] | None = None) -> list[Record]:
        """The checkpoints that are kept, oldest first; of this session, or all that are ``wanted``.

        Those of writes under way are not among them. Raises `OSError` where the folder cannot be read.
        """
        found: list[Record] = []
        for _, path in sorted(self._listed()):
            record = unpack(path) if path.suffix == DONE else None
            if record is not None and (record.session == self.session if wanted is None else wanted(record)):
                found.append(record)
        return found

    def bytes_of(self, sha256: bytes) -> bytes | None:
        """Bytes that were kept; None where they are not there, or not whole."""
        try:
            data = self._blob(sha256).read_bytes()
        except FileNotFoundError:
            return None
        return data if hashlib.sha256(data).digest() == sha256 else None

    def _listed(self) -> Iterator[tuple[int, Path]]:
        try:
            paths = list(self.folder.iterdir())
        except FileNotFoundError:
            return
        for path in paths:
            number = number_of(path.name)
            if number is not None:
                yield number, path

    def _blob(self, sha256: bytes) -> Path:
        return self.folder / "blobs" / sha256.hex()

    # -- sessions and transactions --------------------------------------------------------------------------------

    def _live(self) -> None:
        """Show others that the session lives, once. Only in the gate: nobody looks between making and locking."""
        if self._alive is None:
            self._alive = os.open(self._session_file(".alive"), _LOCKED, 0o600)
            lock(self._alive)

    def claim(self) -> bool:
        """Take a dead session's place, for the recovery; False where its process lives. Raises `OSError`."""
        with self._entered():
            fd = os.open(self._session_file(".alive"), _LOCKED, 0o600)
            if not lock(fd, wait=False):
                os.close(fd)
                return False
            self._alive = fd
            return True

    def _session_file(self, end: str) -> Path:
        return self.folder / "sessions" / f"{self.session}{end}"

    def open_transaction(self) -> None:
        """From here on everything belongs together, also for who finds it after this process has died.

        Raises `OSError`.
        """
        with self._entered():
            self._live()
            mark = self._next()
            made = self._session_file(".new")
            _write(made, b"%d\n" % mark, os.O_TRUNC)
            made.replace(self._session_file(OPEN))
            self._mark = mark

    def since_begin(self) -> list[Record]:
        """The checkpoints of the open transaction, oldest first; after `claim` also of a dead one. Raises `OSError`."""
        mark = self._mark
        if mark is None:
            try:
                mark = int(self._session_file(OPEN).read_bytes())
            except (FileNotFoundError, ValueError):
                return []
        return self.records(lambda record: record.session == self.session and record.number > mark)

    def close_transaction(self) -> None:
        """What was written stays, or has been taken back. Raises `OSError`: the transaction is open then."""
        self._session_file(OPEN).unlink(missing_ok=True)
        self._mark = None

    def close(self) -> None:
        """The session is over. An open transaction is left to the next recovery."""
        if self._alive is None:
            return
        alive, self._alive = self._alive, None
        with contextlib.suppress(OSError):
            if not self._session_file(OPEN).exists():
                self._session_file(".alive").unlink(missing_ok=True)
        os.close(alive)


def _write(path: Path, data: bytes, how: int) -> None:
    """Write a file, ``how`` an existing one is taken (`os.O_EXCL`: not at all); none of it is left where that fails.

    Raises `OSError`.
    """
    fd = os.open(path, _NEW | how, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(fd, rest) :]
    except OSError:
        # On a full disk the half of it would take the room from others.
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(fd)


def _cannot(folder: Path, error: OSError) -> str:
    words = os.strerror(error.errno) if error.errno else str(error)
    return f"No checkpoint of this write could be kept in {folder}: {words}."
