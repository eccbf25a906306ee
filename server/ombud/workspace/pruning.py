"""Keep the checkpoints of a workspace within their limits: the oldest go."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ombud.workspace.record import DONE, OPEN, Record, number_of, unpack

_SLACK = 0.9
"""Once something must go, so much of each limit is kept: else the next write would have to look again."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many checkpoints are kept, how many bytes of what was before, and for how long (seconds)."""

    number: int
    bytes: int
    seconds: float


def prune(folder: Path, limits: Limits, *, newest: int = 0) -> None:
    """Remove what is beyond ``limits``. The caller holds the folder's gate. Raises `OSError`.

    Checkpoints of open transactions, of writes under way and number ``newest`` are kept whatever they need: each may
    still be the only way back.
    """
    paths = {number: path for path in folder.iterdir() if (number := number_of(path.name)) is not None}
    blobs = {entry.name: entry.stat().st_size for entry in os.scandir(folder / "blobs")}
    oldest = min(paths, default=0)
    aged = bool(paths) and _too_old(paths[oldest], limits)
    if len(paths) <= limits.number and sum(blobs.values()) <= limits.bytes and not aged:
        return
    marks = _open_transactions(folder)
    # Those that are no whole record are kept out of the books: a power cut has torn them.
    records = {number: unpack(path) for number, path in sorted(paths.items())}
    kept = {number: record for number, record in records.items() if record is not None}
    users = Counter(blob for record in kept.values() for blob in _blobs(record))
    total = sum(size for name, size in blobs.items() if name in users)
    most, room = int(limits.number * _SLACK), int(limits.bytes * _SLACK)
    left = len(kept)
    for number, found in records.items():
        path = paths[number]
        if found is not None and _is_needed(found, path, marks, newest):
            continue
        if found is None:
            _remove(path)
            continue
        if left <= most and total <= room and not _too_old(path, limits):
            continue
        _remove(path)
        left -= 1
        for blob in _blobs(found):
            users[blob] -= 1
            if not users[blob]:
                total -= blobs.get(blob, 0)
    # The records first: a checkpoint whose bytes are gone is worse than bytes that nobody needs.
    for name in blobs:
        if not users[name]:
            _remove(folder / "blobs" / name)


def _is_needed(record: Record, path: Path, marks: dict[str, int], newest: int) -> bool:
    mark = marks.get(record.session)
    return path.suffix != DONE or record.number == newest or (mark is not None and record.number > mark)


def _blobs(record: Record) -> set[str]:
    return {step.before.sha256.hex() for step in record.steps if step.before is not None}


def _too_old(path: Path, limits: Limits) -> bool:
    try:
        return path.stat().st_mtime < time.time() - limits.seconds
    except FileNotFoundError:
        return False


def _open_transactions(folder: Path) -> dict[str, int]:
    """Session → the number after which its open transaction begins."""
    marks: dict[str, int] = {}
    for path in (folder / "sessions").glob(f"*{OPEN}"):
        with contextlib.suppress(FileNotFoundError, ValueError):
            marks[path.stem] = int(path.read_bytes())
    return marks


def _remove(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
