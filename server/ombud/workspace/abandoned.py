"""What a session leaves behind: its open transaction is taken back, at its end or, after a crash, at the next start."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ombud.errors import OmbudError, Refused
from ombud.guard.fence import Fence
from ombud.guard.sensitive import SensitivePaths
from ombud.workspace.change import Change
from ombud.workspace.checkpoints import LIMITS, Checkpoints
from ombud.workspace.commit import commit
from ombud.workspace.journal import gate
from ombud.workspace.locks import lock
from ombud.workspace.pruning import prune
from ombud.workspace.record import DONE, OPEN, PENDING, Record, number_of, unpack
from ombud.workspace.recover import Recovered
from ombud.workspace.recover import recover as recover_commits
from ombud.workspace.undo import Way, assess, net, remove_folders

_TRIES = 3
"""How often the files are looked at anew, where somebody changes one between the look and the commit."""


@dataclass(frozen=True, slots=True)
class Taken:
    """What was taken back, and the files (as results name them) that were left alone: they are not as we left them."""

    changes: tuple[Change, ...]
    left: tuple[str, ...]


def take_back(store: Checkpoints, records: Sequence[Record], fence: Fence, journals: Path) -> Taken:
    """Bring back what was there before ``records``, but for files that somebody else changed since. Blocks.

    The files that were left alone keep their checkpoints. Raises `Refused` as `ombud.workspace.commit.commit` does,
    and `OSError`: nothing was changed then.
    """
    undos = net(records)
    for tried in range(_TRIES):
        way = assess(undos, fence, store.bytes_of)
        if not way.changes:
            break
        # What is taken back is of nobody's session, and can be had again.
        own = Checkpoints(store.folder)
        pending = own.begin(way.changes, "take back a transaction that was left open")
        try:
            commit(fence, way.changes, journals)
        except Refused as refused:
            pending.drop()
            if refused.kind != "file_changed" or tried == _TRIES - 1:
                raise
        except BaseException:
            pending.drop()
            raise
        else:
            pending.done()
            break
        finally:
            own.close()
    remove_folders(records, fence)
    return _taken(way)


def _taken(way: Way) -> Taken:
    return Taken(tuple(way.changes), (*way.changed, *way.lost))


def recover_all(checkpoints: Path, journals: Path) -> list[Recovered]:
    """Finish or take back what a crash cut short: single commits first, then transactions. Raises `OSError`."""
    return [*recover_commits(journals), *recover(checkpoints, journals)]


def recover(checkpoints: Path, journals: Path) -> list[Recovered]:
    """Take back every transaction whose process died, and tidy up, in all workspaces' checkpoints.

    After the journals were recovered and before anything is written. What belongs to living processes is left alone.
    """
    done: list[Recovered] = []
    try:
        folders = sorted(path for path in checkpoints.iterdir() if (path / "sessions").is_dir())
    except FileNotFoundError:
        return []
    except OSError as error:
        # Nothing can be kept there either: each write says so, and goes on.
        message = (
            f"The checkpoints in {checkpoints} cannot be looked at ({error.strerror}); the next start tries again."
        )
        return [Recovered("waiting", (), message)]
    for folder in folders:
        try:
            done += _recover_one(folder, journals)
        except OSError as error:
            message = f"The checkpoints in {folder} cannot be looked at ({error.strerror}); the next start tries again."
            done.append(Recovered("waiting", (), message))
    return done


def _recover_one(folder: Path, journals: Path) -> Iterator[Recovered]:
    with gate(folder, shared=False):
        _settle(folder)
        prune(folder, LIMITS)
    for path in sorted((folder / "sessions").glob(f"*{OPEN}")):
        store = Checkpoints(folder, path.stem)
        if not store.claim():
            continue
        try:
            result = _end(store, journals)
            if result is not None:
                yield result
        finally:
            store.close()


def _settle(folder: Path) -> None:
    """Decide about the writes that dead processes were making, and remove what else they left. In the gate."""
    for path in list(folder.iterdir()):
        if number_of(path.name) is None or path.suffix != PENDING:
            continue
        record = unpack(path)
        if record is None:
            path.unlink()
        elif not _lives(folder, record.session):
            # The journal has finished the write or taken it back; one that never was needs no checkpoint.
            if _never_was(record):
                path.unlink()
            else:
                path.rename(path.with_suffix(DONE))
    for path in [*(folder / "blobs").glob("*.new"), *(folder / "sessions").glob("*.new")]:
        path.unlink()
    for path in (folder / "sessions").glob("*.alive"):
        if not path.with_suffix(OPEN).exists() and not _lives(folder, path.stem):
            path.unlink(missing_ok=True)


def _lives(folder: Path, session: str) -> bool:
    try:
        fd = os.open(folder / "sessions" / f"{session}.alive", os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except FileNotFoundError:
        return False
    try:
        return not lock(fd, wait=False)
    finally:
        os.close(fd)


def _never_was(record: Record) -> bool:
    try:
        way = assess(net([record]), _fence([record]), lambda _sha256: b"")
    except OmbudError:
        return False
    return not (way.changes or way.changed)


def _end(store: Checkpoints, journals: Path) -> Recovered | None:
    """Take back one dead session's transaction; None where it had written nothing that is still there."""
    records = store.since_begin()
    paths = tuple(dict.fromkeys(step.path for record in records for step in record.steps))
    try:
        taken = take_back(store, records, _fence(records), journals)
    except (OSError, OmbudError) as error:
        message = (
            f"A transaction over {_files(paths)} that a crash had cut short cannot be taken back now ({error}). "
            "The next start tries again."
        )
        return Recovered("waiting", paths, message)
    store.close_transaction()
    if taken.left:
        message = (
            f"A transaction over {_files(paths)} that a crash had cut short was taken back, but {', '.join(taken.left)}"
            f" had been changed since and was left alone; what was there before is in checkpoint {records[0].id} and "
            "those after it."
        )
        return Recovered("changed", tuple(map(Path, taken.left)), message)
    if not taken.changes:
        return None
    return Recovered(
        "restored", paths, f"A transaction over {_files(paths)} that a crash had cut short was taken back."
    )


def _fence(records: Sequence[Record]) -> Fence:
    """A fence around the folders of the records. They were through their session's when they were written, and the
    records are the user's own. Raises `Refused` (``not_found``) where a folder is not there."""
    folders = dict.fromkeys(step.base for record in records for step in record.steps)
    return Fence(sorted(folders), SensitivePaths(allow=["**"]))


def _files(paths: Sequence[Path]) -> str:
    if not paths:
        return "no file"
    return str(paths[0]) if len(paths) == 1 else f"{len(paths)} files ({paths[0]}, …)"
