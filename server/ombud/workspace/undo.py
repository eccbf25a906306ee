"""The way back over several writes: what each file is to be again, and whether it is still as they left it.

`net` reads the records alone; `assess` looks at the disk and makes the changes of one commit.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ombud.errors import Refused
from ombud.guard import handles
from ombud.guard.fence import Fence, FileBytes, Inside
from ombud.workspace.change import Change
from ombud.workspace.record import Record, State

LIMIT = 64 * 1024 * 1024
"""Bytes of the largest file that operations write; one that is larger is not as any of them left it."""


@dataclass(frozen=True, slots=True)
class Undo:
    """One file: at ``path`` the last write left ``after``, and ``before`` is to be there again (None: nothing).

    ``back``: the file was moved to ``path`` from there and goes back; ``before`` is what it was there. ``moded``: the
    writes changed its permissions, which are restored with it. ``broken``: somebody else changed it between two of the
    writes, so that going back over both would lose that.
    """

    path: Path
    before: State | None
    after: State | None
    back: Path | None = None
    moded: bool = False
    broken: bool = False


@dataclass(slots=True)
class _Trace:
    """What became of one path over the writes."""

    first: State | None
    last: State | None
    moded: bool = False
    broken: bool = False


def net(records: Iterable[Record]) -> list[Undo]:
    """What going back over ``records`` (oldest first, of one session) means for each path."""
    traces: dict[Path, _Trace] = {}
    came_from: dict[Path, Path] = {}
    for record in records:
        moved_away: dict[Path, Path] = {}
        paths = [step.path for step in record.steps]
        sources = {step.origin for step in record.steps}
        for number, (step, path) in enumerate(zip(record.steps, paths, strict=True)):
            _trace(traces, path, step.before, step.after)
            if step.after is None:
                origin = came_from.pop(path, path)
                if number in sources:
                    moved_away[path] = origin
            if step.origin is not None:
                came_from[path] = moved_away.pop(paths[step.origin], paths[step.origin])
            elif step.before is None:
                came_from.pop(path, None)
    moves = {path: origin for path, origin in came_from.items() if _goes_back(traces, path, origin)}
    done = set(moves.values())
    undos = []
    for path, trace in traces.items():
        if path in moves:
            undos.append(_move(path, moves[path], trace, traces[moves[path]]))
        elif path not in done:
            undos.append(Undo(path, trace.first, trace.last, moded=trace.moded, broken=trace.broken))
    return undos


def _trace(traces: dict[Path, _Trace], path: Path, before: State | None, after: State | None) -> None:
    trace = traces.setdefault(path, _Trace(before, before))
    moded = before is not None and after is not None and before.mode != after.mode
    trace.broken |= not _same(trace.last, before) or (moded and _remoded(trace.last, before))
    trace.moded |= moded
    trace.last = after


def _same(one: State | None, other: State | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.sha256 == other.sha256


def _remoded(one: State | None, other: State | None) -> bool:
    return one is not None and other is not None and None not in (one.mode, other.mode) and one.mode != other.mode


def _goes_back(traces: dict[Path, _Trace], path: Path, origin: Path) -> bool:
    """Whether a file that was moved can be moved back: its old place was its own, and its new one was free."""
    here, there = traces[path], traces[origin]
    return path != origin and None is here.first is there.last and None not in (here.last, there.first)


def _move(path: Path, origin: Path, here: _Trace, there: _Trace) -> Undo:
    assert there.first is not None and here.last is not None
    moded = here.moded or there.moded or _remoded(there.first, here.last)
    return Undo(path, there.first, here.last, origin, moded, here.broken or there.broken)


@dataclass(slots=True)
class Way:
    """What there is to do: the changes of one commit, and the paths (as results name them) where it cannot be done.

    ``changed`` were changed, made or deleted by somebody else; of ``lost`` the bytes are not kept any more.
    """

    changes: list[Change] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)


def assess(undos: Sequence[Undo], fence: Fence, bytes_of: Callable[[bytes], bytes | None]) -> Way:
    """Look at every file. One that is already as it was before is left out. Blocks.

    ``bytes_of`` gives what was kept by its SHA-256. Raises `Refused` where the fence lets a file in no more
    (``outside_workspace``, ``sensitive_path``) or it cannot be opened (``permission_denied``).
    """
    way = Way()
    for undo in undos:
        here = _look(fence, undo.path)
        there = None if undo.back is None else _look(fence, undo.back)
        if _is_back(undo, here, there):
            continue
        strange = [
            seen.shown
            for seen, wanted in ((here, undo.after), (there, None))
            if seen is not None and (undo.broken or not _is_state(seen, wanted, moded=undo.moded))
        ]
        if strange:
            way.changed += strange[:1] if undo.broken else strange
            continue
        data = b"" if undo.before is None or _keeps_bytes(undo) else bytes_of(undo.before.sha256)
        if data is None:
            way.lost.append(here.shown)
            continue
        way.changes.append(_change(undo, here, there, data))
    return way


@dataclass(frozen=True, slots=True)
class _Seen:
    """A path as it is now. ``strange``: no ordinary file is there, or a link leads somewhere else."""

    inside: Inside | None
    file: FileBytes | None
    shown: str
    strange: bool = False


def _look(fence: Fence, path: Path) -> _Seen:
    shown = next((path.relative_to(one).as_posix() for one in fence.folders[:1] if path.is_relative_to(one)), None)
    shown = path.as_posix() if shown is None else shown
    try:
        inside = fence.resolve(str(path), intent="write")
        if inside.path != path:
            return _Seen(None, None, shown, strange=True)
        return _Seen(inside, fence.read(inside, LIMIT) if inside.exists else None, shown)
    except Refused as refused:
        gone = refused.kind in ("not_found", "not_text", "too_large")
        # A link that leads out stands where one of our files was: somebody put it there.
        if gone or (refused.kind == "outside_workspace" and fence.contains(path)):
            return _Seen(None, None, shown, strange=True)
        raise


def _is_back(undo: Undo, here: _Seen, there: _Seen | None) -> bool:
    """Whether there is nothing to do."""
    if there is not None:
        gone = not here.strange and here.file is None
        return gone and _is_state(there, undo.before, moded=undo.moded)
    return _is_state(here, undo.before, moded=undo.moded)


def _is_state(seen: _Seen, wanted: State | None, *, moded: bool) -> bool:
    """Whether a path is so. Permissions count where the writes changed them; others' stay as they are."""
    if seen.strange or wanted is None or seen.file is None:
        return not seen.strange and wanted is None and seen.file is None
    if not wanted.holds(seen.file):
        return False
    return not moded or wanted.mode is None or stat.S_IMODE(seen.file.mode) == wanted.mode


def _keeps_bytes(undo: Undo) -> bool:
    return undo.back is not None and _same(undo.before, undo.after)


def _change(undo: Undo, here: _Seen, there: _Seen | None, data: bytes) -> Change:
    assert here.inside is not None
    before = undo.before
    mode = before.mode if before is not None and undo.moded else None
    if there is not None:
        assert there.inside is not None
        after = None if _keeps_bytes(undo) else data
        return Change("rename", here.inside, here.file, after, there.inside, mode)
    if before is None:
        return Change("delete", here.inside, here.file)
    if here.file is None:
        return Change("create", here.inside, after=data, mode=before.mode)
    return Change("modify", here.inside, here.file, data, mode=mode)


def remove_folders(records: Iterable[Record], fence: Fence) -> None:
    """Remove the folders that the writes made, where they are empty now, innermost first."""
    made = {Path(os.fsdecode(folder)) for record in records for folder in record.made}
    for path in sorted(made, key=lambda path: -len(path.parts)):
        with contextlib.suppress(OSError, Refused):
            inside = fence.resolve(str(path), intent="delete")
            if inside.path != path:
                continue
            if not handles.SUPPORTED:
                path.rmdir()
                continue
            with fence.directory(inside) as fd:
                os.rmdir(path.name, dir_fd=fd)
