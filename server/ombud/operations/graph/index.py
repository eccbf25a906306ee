"""Build the code graph of the workspace's folders, or bring it up to date; shown as progress, and it can be cancelled.

Every question to the graph does so by itself. ``path`` (a file or folder) and ``pattern`` (a glob, from the workspace
folder) say what is counted in the answer; a folder's graph is always built as a whole, since calls lead everywhere.
``force`` reads everything again. What was read before an interruption is not read again.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Annotated

import msgspec

from ombud.errors import Cancelled
from ombud.operations.graph.ground import Ground, Root, check, opened
from ombud.operations.graph.progress import Work
from ombud.operations.graph.shapes import Answer
from ombud.operations.shapes import Arguments

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ombud.graph.client import Progress
    from ombud.graph.store import Reader
    from ombud.operations.session import Session


class Params(Arguments, frozen=True, kw_only=True):
    path: Annotated[str, msgspec.Meta(description="Only what is in this file or folder is counted.")] | None = None
    pattern: (
        Annotated[str, msgspec.Meta(description="Only files of this glob are counted, such as src/**/*.py.")] | None
    ) = None
    force: Annotated[bool, msgspec.Meta(description="Read all files again, also those that have not changed.")] = False


class Result(Answer, kw_only=True):
    files: int
    symbols: int
    references: int
    """Sites that name something: calls, imports, inheritance, other uses."""
    seconds: float
    skipped: dict[str, int]
    """Files that were left out, by the reason; of the whole folder."""


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused`: the fence's kinds; `PeerError` (``server_failed``) where the indexer fails, with its reason."""
    check(session)
    began = time.monotonic()
    roots = [opened(session, folder) for folder in session.fence.folders]
    scope: Sequence[tuple[Root, str | None]] = Ground(roots).scoped(session, params.path)
    await _built(session, [root for root, _ in scope], force=params.force)
    counted = [await root.ask(lambda reader: _count(reader, path, params.pattern)) for root, path in scope]  # noqa: B023
    skipped: Counter[str] = Counter()
    for root, _ in scope:
        # Those left out by their names, of which the store knows nothing, and those by what is in them.
        skipped.update(root.state.skipped)
        skipped.update((await root.ask(lambda reader: reader.stats())).skipped)
    ground = Ground([root for root, _ in scope], [root.state.note for root, _ in scope if root.state.note])
    return Result(
        files=sum(one["files"] for one in counted),
        symbols=sum(one["symbols"] for one in counted),
        references=sum(one["references"] for one in counted),
        seconds=round(time.monotonic() - began, 3),
        skipped=dict(skipped.most_common()),
        note=ground.note(),
        **ground.said(sum(one["unresolved"] for one in counted)),
    )


async def _built(session: Session, roots: Sequence[Root], *, force: bool) -> None:
    """Raises `Cancelled` where the client stops it by its progress."""
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        building.cancel()

    work = Work(session, "Indexing", stop)
    building = asyncio.ensure_future(_all(roots, force, work.report))
    work.begin()
    try:
        await building
    except asyncio.CancelledError:
        if stopped:
            raise Cancelled("The indexing was cancelled; what was read is kept.") from None
        raise
    finally:
        work.end()


async def _all(roots: Sequence[Root], force: bool, report: Progress) -> None:
    for root in roots:
        root.state = await root.graph.index(force=force, progress=report)


def _count(reader: Reader, path: str | None, pattern: str | None) -> Counter[str]:
    """Sums over the indexed files below ``path`` that fit ``pattern``."""
    from ombud.graph.store.finding import within

    fits = expression(pattern).fullmatch if pattern else None
    found: Counter[str] = Counter()
    for file in reader.files():
        if file.state_name == "indexed" and within(file.path, path or "") and (fits is None or fits(file.path)):
            found.update(files=1, symbols=file.symbols, references=file.sites, unresolved=file.unresolved)
    return found


def expression(glob: str) -> re.Pattern[str]:
    """A glob over paths: ``*`` and ``?`` stay within a folder, ``**`` does not; without ``/`` any folder will do."""
    out = "" if "/" in glob else "(?:.*/)?"
    for part in re.findall(r"\*\*/?|\*|\?|[^*?]+", glob):
        known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
        out += known.get(part) or re.escape(part)
    return re.compile(out, re.DOTALL)
