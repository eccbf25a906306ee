"""Write several files, all or none (architecture.md, decision 12; C1, C2, C3, C8).

Every file is compared with its captured bytes; the journal is written; new content is written and synced beside the
files; then each change is made in one step and the folders are synced. Whatever fails on the way takes everything
back. After a crash `ombud.workspace.recover.recover` does that, or finds that all of it was done.

The work blocks: run it in a thread. One commit of a process at a time is under way, and one of all of a user's
processes for each file (`ombud.workspace.turns`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path

from ombud.errors import Refused
from ombud.guard import handles
from ombud.guard.fence import Fence, Inside
from ombud.workspace.change import Change, Draft, Kind, draft, file_changed, verify
from ombud.workspace.folders import Folders
from ombud.workspace.journal import Entry, Journal, keep
from ombud.workspace.landing import Changed, Landing
from ombud.workspace.turns import turn

__all__ = ["Change", "Committed", "Landed", "commit"]

_ONE_AT_A_TIME = threading.Lock()
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_DENIED = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


@dataclass(frozen=True, slots=True)
class Landed:
    """One file after the commit. ``inside`` is where it is now, ``came_from`` where a renamed one was.

    ``status`` is ``lstat`` right after, by which a watcher knows the change as its own; None for a deleted file.
    """

    kind: Kind
    inside: Inside
    came_from: Inside | None
    status: os.stat_result | None


@dataclass(frozen=True, slots=True)
class Committed:
    """What was written, in the order of the changes."""

    files: tuple[Landed, ...]


def commit(fence: Fence, changes: Sequence[Change], journal_dir: Path) -> Committed:
    """Make all ``changes``, or none of them. ``journal_dir`` is a folder of the user's, never of the workspace's.

    Raises `Refused`, always with everything as it was before: ``file_changed`` (``paths``) where a file is not what
    was captured, also when it changes while the commit is under way; ``permission_denied`` for read-only files,
    folders and disks; ``write_failed`` where the disk is full or fails; ``conflict`` for two names of one file, and
    where another process has been writing to one of them for too long. Where
    a file cannot be brought back, since somebody else changed it in that moment or the disk fails, the message names
    it and says where its old bytes are. Raises `UserError` where one path is changed twice.
    """
    with _ONE_AT_A_TIME, contextlib.closing(Folders(_Reach(fence, changes))) as folders:
        made = draft(changes, verify(changes, folders))
        if made.entries:
            _land(made, folders, journal_dir, _names(changes))
        return Committed(tuple(_landed(change, folders) for change in changes))


def _land(made: Draft, folders: Folders, journal_dir: Path, names: dict[Path, str]) -> None:
    """Carry a plan out, and take everything back on any error. ``names`` are what messages call the files."""
    try:
        journal = Journal.open(journal_dir)
    except OSError as error:
        raise _journal_failed(journal_dir, error) from error
    with contextlib.ExitStack() as until:
        until.callback(journal.leave)
        plan = made.plan()
        try:
            until.enter_context(turn(journal_dir, plan))
            journal.write(plan, made.blobs)
        except Refused:
            journal.remove()
            raise
        except OSError as error:
            journal.remove()
            raise _journal_failed(journal_dir, error) from error
        landing = Landing(plan, folders, lambda image: made.store.get(image.sha256))
        try:
            _carry_out(landing, journal)
        except BaseException as error:
            lost = _take_back(landing, journal, names)
            if isinstance(error, _Failed):
                raise _refusal(error, names[error.entry.path], lost) from error.error
            raise
        with contextlib.suppress(OSError, Refused):
            # From here on all is done. What cannot be tidied up now is left to the next recovery.
            landing.tidy()
            journal.remove()


class _Failed(Exception):
    """An error with the entry at which it happened."""

    def __init__(self, entry: Entry, error: OSError | Refused | Changed) -> None:
        super().__init__(str(error))
        self.entry = entry
        self.error = error


def _carry_out(landing: Landing, journal: Journal) -> None:
    entries = landing.plan.entries
    entry = entries[0]
    landing.begin()
    try:
        for entry in entries:
            landing.prepare(entry)
        for entry in entries:
            landing.swap(entry)
        landing.sync()
        journal.done()
    except (OSError, Refused, Changed) as error:
        raise _Failed(entry, error) from error


def _take_back(landing: Landing, journal: Journal, names: dict[Path, str]) -> str:
    """Undo everything; a sentence about what could not be undone, empty where all was."""
    conflicts, errors = landing.restore()
    endangered = conflicts
    if errors:
        # The journal stays. That of a single change holds no bytes, so they are put beside it.
        endangered = list(landing.plan.entries) if landing.plan.single else []
    kept: Path | None = None
    try:
        kept = keep(journal.path, [(entry, landing.old_bytes(entry)) for entry in endangered])
    except OSError as error:
        errors.append(error)
    if errors:
        place = journal.path if kept is None else kept
        later = "" if landing.plan.single else ", and the next start tries again"
        return f" Not everything could be brought back ({errors[0]}): the old bytes are in {place}{later}."
    with contextlib.suppress(OSError):
        journal.remove()
    if not conflicts:
        return ""
    files = ", ".join(names[entry.path] for entry in conflicts)
    where = "" if kept is None else f"; the bytes from before are in {kept}"
    return f" In that moment somebody else changed {files}, which was left alone{where}."


def _refusal(failed: _Failed, name: str, lost: str) -> Refused:
    """What the caller is told: which file, why, that nothing was changed (or what was), and what to do."""
    cause = failed.error
    if isinstance(cause, Refused) and isinstance(cause.__cause__, OSError) and cause.kind != "outside_workspace":
        # The handles of guard/ speak of opening and reading; the system's own error tells what became of the write.
        cause = cause.__cause__
    if isinstance(cause, Changed | FileExistsError | FileNotFoundError | IsADirectoryError | NotADirectoryError):
        appeared = isinstance(cause, FileExistsError)
        refused = file_changed([] if appeared else [name], [name] if appeared else [])
        return Refused(refused.message + lost, kind=refused.kind, **refused.data)
    undone = lost or " Nothing was changed."
    if isinstance(cause, Refused):
        return Refused(cause.message + undone, kind=cause.kind, **cause.data)
    words = os.strerror(cause.errno) if cause.errno else str(cause)
    kind, advice = "write_failed", "Look at the disk."
    if cause.errno in _FULL:
        advice = "Free some space and try again."
    elif cause.errno in _DENIED:
        kind, advice = "permission_denied", "Change the permissions and try again."
    return Refused(f"{name} could not be written: {words}.{undone} {advice}", kind=kind, paths=[name])


def _names(changes: Sequence[Change]) -> dict[Path, str]:
    places = [change.inside for change in changes] + [change.to for change in changes if change.to is not None]
    return {inside.path: inside.relative for inside in places}


def _journal_failed(folder: Path, error: OSError) -> Refused:
    words = os.strerror(error.errno) if error.errno else str(error)
    return Refused(
        f"The journal of the write could not be made in {folder}: {words}. Nothing was changed; "
        "make that folder writable or free some space there.",
        kind="permission_denied" if error.errno in _DENIED else "write_failed",
    )


def _landed(change: Change, folders: Folders) -> Landed:
    status = None
    if change.kind != "delete":
        with contextlib.suppress(OSError, Refused):
            status = folders.at(change.target.path.parent).status(change.target.path.name)
    return Landed(change.kind, change.target, change.inside if change.to is not None else None, status)


class _Reach:
    """Opens a folder through the fence: by the very file that is to be changed in it where there is one."""

    def __init__(self, fence: Fence, changes: Sequence[Change]) -> None:
        self._fence = fence
        places = [change.inside for change in changes] + [change.to for change in changes if change.to is not None]
        self._known = {inside.path.parent: inside for inside in places}

    def __call__(self, path: Path, create: bool) -> AbstractContextManager[int | None]:
        inside = self._known.get(path)
        if inside is None:
            near = next(known for folder, known in self._known.items() if folder.is_relative_to(path))
            inside = replace(near, path=path / near.path.relative_to(path).parts[0])
        if not handles.SUPPORTED:
            return _by_path(inside.path.parent, create)
        return self._fence.directory(inside, create=create)


@contextlib.contextmanager
def _by_path(folder: Path, create: bool) -> Iterator[None]:
    """Without folder handles the folder is only made; what is done in it goes by path."""
    try:
        if create:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise handles.refusal(error, str(folder)) from error
    yield None
