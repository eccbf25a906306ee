"""Apply a patch over several files, all of it or nothing, and report the diagnostics that this introduced.

A unified diff, plain or with git's headers, that changes, creates, deletes, renames and copies files and sets their
modes. A hunk may stand elsewhere than its header says, but every unchanged and removed line of it must be in the file
exactly; ``\\n`` stands for the file's own line end.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.errors import OmbudError
from ombud.operations.writing.patched import Patched
from ombud.operations.writing.perform import perform
from ombud.operations.writing.plan import Options, Plan, Writing, held, numbered
from ombud.operations.writing.result import WriteResult
from ombud.text.patch import FilePatch, parse

if TYPE_CHECKING:
    from ombud.operations.session import Session


class Params(Writing, frozen=True):
    patch: Annotated[
        str,
        msgspec.Meta(
            description="A unified diff of one or more files: --- and +++ lines with paths below the workspace root "
            "(/dev/null for none), and hunks with a header @@ -line,count +line,count @@."
        ),
    ]


Result = WriteResult


async def run(session: Session, params: Params) -> WriteResult:
    """Raises `UserError` (with ``line`` of the patch) for a patch that cannot be read.

    Raises `Refused`: the fence's kinds, ``conflict`` with ``path``, ``hunk``, ``patchLine`` and ``candidates``,
    ``not_found``, ``not_text``, ``file_changed``. Nothing is written then, of no file.
    """
    # Reading a patch of many megabytes takes seconds; others are served meanwhile.
    files, paths = await asyncio.to_thread(_read, session, params.patch)
    async with held(session, paths):
        editions = await asyncio.to_thread(Patched(session).carry_out, files)
        summary = f"patch of {numbered(len(editions), 'file')}"
        return await perform(session, Plan(editions, Options.of(session, params), summary))


def _read(session: Session, patch: str) -> tuple[list[FilePatch], set[Path]]:
    """The patch, and the real paths of all files that it may mean."""
    files = parse(patch)
    paths: set[Path] = set()
    for file in files:
        paths.update(session.fence.resolve(path, intent="write").path for path in (file.old, file.new) if path)
        paths.update(_others(session, file))
    return files, paths


def _others(session: Session, file: FilePatch) -> Sequence[Path]:
    found: list[Path] = []
    for path in {path for reading in file.others for path in reading if path}:
        try:
            found.append(session.fence.resolve(path, intent="write").path)
        except OmbudError:
            # Only one reading of a path need be right.
            continue
    return found
