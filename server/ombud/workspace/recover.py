"""After a crash: finish or take back every commit whose process died in the middle of it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ombud.errors import Refused
from ombud.guard import handles
from ombud.workspace.folders import Folders
from ombud.workspace.journal import SUFFIX, Plan, Record, gate, keep, private
from ombud.workspace.landing import Landing
from ombud.workspace.locks import lock
from ombud.workspace.turns import turn

State = Literal["finished", "restored", "changed", "waiting"]


@dataclass(frozen=True, slots=True)
class Recovered:
    """One commit that a crash had cut short, and what became of it.

    ``state``: ``finished``, all of it is on the disk; ``restored``, none of it is; ``changed``, none of it is but for
    ``paths`` that somebody changed since, which were left alone and whose old bytes are in ``kept``; ``waiting``, it
    could not be looked at (a disk that is not there) and the next start tries again. ``message`` says so in words.
    """

    state: State
    paths: tuple[Path, ...]
    message: str
    kept: Path | None = None


def recover(journal_dir: Path) -> list[Recovered]:
    """Recover every dead commit whose journal is in ``journal_dir``; those of living processes are left alone.

    Run at the start, before anything is written. Two processes never recover at once, and no commit begins while one
    does. One that cannot be recovered does not hinder the others. Raises `OSError` where the folder itself cannot be
    used.
    """
    if not journal_dir.is_dir():
        return []
    private(journal_dir)
    done: list[Recovered] = []
    with gate(journal_dir, shared=False):
        for path in sorted(journal_dir.glob(f"*{SUFFIX}")):
            result = _recover_one(path)
            if result is not None:
                done.append(result)
    return done


def _recover_one(path: Path) -> Recovered | None:
    """None where the commit is alive, or never began, or was only to be tidied up."""
    flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Recovered("waiting", (), f"The journal {path} cannot be read ({error.strerror}); look at that file.")
    try:
        if not lock(fd, wait=False):
            return None
        with open(fd, "rb", closefd=False) as file:
            record = Record(file.read())
        if record.plan is None:
            path.unlink(missing_ok=True)
            return None
        return _bring_to_an_end(path, record, record.plan)
    finally:
        os.close(fd)


def _bring_to_an_end(path: Path, record: Record, plan: Plan) -> Recovered | None:
    paths = tuple(entry.path for entry in plan.entries)
    with contextlib.closing(Folders(_Walk(plan))) as folders, contextlib.ExitStack() as turns:
        landing = Landing(plan, folders, record.bytes_of)
        try:
            turns.enter_context(turn(path.parent, plan))
            if record.done or plan.single:
                landing.tidy()
                if not record.done:
                    landing.remove_folders()
                path.unlink(missing_ok=True)
                return None
            if _landed(landing):
                landing.sync()
                landing.tidy()
                path.unlink(missing_ok=True)
                return Recovered(
                    "finished", paths, f"A write of {_files(paths)} that a crash had cut short was finished."
                )
            conflicts, errors = landing.restore()
        except (OSError, Refused) as error:
            conflicts, errors = [], [error]
        if errors:
            message = (
                f"A write of {_files(paths)} was cut short by a crash and cannot be taken back now ({errors[0]}). "
                f"The old bytes are in {path}; the next start tries again."
            )
            return Recovered("waiting", paths, message)
        kept = keep(path, [(entry, landing.old_bytes(entry)) for entry in conflicts])
        path.unlink(missing_ok=True)
    if not conflicts:
        return Recovered("restored", paths, f"A write of {_files(paths)} that a crash had cut short was taken back.")
    left = tuple(entry.path for entry in conflicts)
    message = (
        f"A write of {_files(paths)} that a crash had cut short was taken back, but {_files(left)} "
        f"had been changed since and was left alone; the old bytes are in {kept}."
    )
    return Recovered("changed", left, message, kept)


def _landed(landing: Landing) -> bool:
    """Whether all of it is there. Where a file cannot be looked at that is not known, and what can be is restored."""
    try:
        return landing.landed()
    except (OSError, Refused):
        return False


def _files(paths: tuple[Path, ...]) -> str:
    return str(paths[0]) if len(paths) == 1 else f"{len(paths)} files ({paths[0]}, …)"


class _Walk:
    """Opens a folder of the plan: from its workspace folder on, through no link (F4).

    There is no fence after a crash; the paths were through it when the journal was written, and the journal is the
    user's own.
    """

    def __init__(self, plan: Plan) -> None:
        self._bases = sorted({entry.base for entry in plan.entries}, key=lambda base: -len(base.parts))

    def __call__(self, path: Path, _create: bool) -> AbstractContextManager[int | None]:
        base = next(base for base in self._bases if path.is_relative_to(base))
        return _walked(base, path.relative_to(base).parts)


@contextlib.contextmanager
def _walked(base: Path, steps: tuple[str, ...]) -> Iterator[int | None]:
    if not handles.SUPPORTED:
        yield None
        return
    fd = handles.walk(base, steps)
    try:
        yield fd
    finally:
        os.close(fd)
