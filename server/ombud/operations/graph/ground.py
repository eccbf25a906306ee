"""The graphs that a question stands on: those of the session's folders, brought up to date, with a reader each.

Each workspace folder has a graph of its own. Paths of files in the first folder are relative to it, all others
absolute; ids follow their path.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ombud.errors import Cancelled, OmbudError, Refused
from ombud.operations.graph.progress import Work

if TYPE_CHECKING:
    from ombud.graph.client import Graph
    from ombud.graph.messages import State
    from ombud.graph.store import Reader
    from ombud.graph.store.rows import Definition
    from ombud.guard.fence import Inside
    from ombud.operations.graph.shapes import Consulting
    from ombud.operations.session import Session

T = TypeVar("T")


class Root:
    """One folder's graph. ``folder`` is real, ``first`` the session's first folder."""

    def __init__(self, folder: Path, first: Path, graph: Graph, reader: Reader) -> None:
        self.folder = folder
        self.graph = graph
        self.reader = reader
        self._prefix = "" if folder == first else f"{folder.as_posix().rstrip('/')}/"
        self._first = f"{first.as_posix().rstrip('/')}/"
        self.state: State = graph.state
        """As it was when the question was asked."""

    async def ask(self, question: Callable[[Reader], T]) -> T:
        """``question`` in a thread, where it may take its time; the writer is never waited for."""
        return await asyncio.to_thread(question, self.reader)

    def shown(self, relative: str) -> str:
        """A path as results name it."""
        return (self._prefix + relative).removeprefix(self._first)

    def shown_key(self, key: str) -> str:
        """An id as results name it."""
        return self.shown(key)

    def key(self, definition: Definition) -> str:
        return self.shown(definition.key)

    def relative(self, path: Path) -> str:
        """A real path from the folder, as the store has it; empty for the folder itself."""
        relative = path.relative_to(self.folder).as_posix()
        return "" if relative == "." else relative


class Ground:
    """See the module. ``notes`` are sentences about what is not as it should be."""

    def __init__(self, roots: Sequence[Root], notes: Sequence[str] = ()) -> None:
        self.roots = list(roots)
        self.notes = list(notes)

    @property
    def complete(self) -> bool:
        return all(root.state.complete for root in self.roots)

    @property
    def pending(self) -> int:
        return sum(root.state.pending for root in self.roots)

    def said(self, unresolved: int = 0) -> dict[str, Any]:
        """The fields of an `Answer`, besides its note."""
        return {"complete": self.complete, "pending": self.pending, "unresolved": unresolved}

    def note(self, *more: str | None) -> str | None:
        """What is to be said, in sentences."""
        parts = list(self.notes)
        if not self.complete:
            parts.append(
                "The code graph is still being built, so this is only what has been read so far; ask again in a while, "
                "or with a longer waitMs."
            )
        parts += [one for one in more if one]
        return " ".join(dict.fromkeys(parts)) or None

    def about(self, *languages: str) -> str | None:
        """What is missing for languages of which only definitions and calls within one file are known."""
        from ombud.graph.extract import PLAIN

        plain = sorted({one for one in languages if one in PLAIN})
        if not plain:
            return None
        return (
            f"Of {', '.join(plain)} the graph knows definitions and the calls within one file, and nothing between "
            "files."
        )

    def place(self, session: Session, path: str) -> tuple[Root, Inside]:
        """The graph that a file or folder belongs to. Raises `Refused`, as the fence does."""
        inside = session.fence.resolve(path, intent="read")
        around = [root for root in self.roots if inside.path.is_relative_to(root.folder)]
        return max(around, key=lambda root: len(root.folder.parts)), inside

    def scoped(self, session: Session, path: str | None) -> list[tuple[Root, str | None]]:
        """The graphs that a filter by path lets in, each with the filter as its store knows it.

        A filter is a file, a folder, or a glob in any of the folders. Raises `Refused`, as the fence does.
        """
        if path is None:
            return [(root, None) for root in self.roots]
        if any(mark in path for mark in "*?["):
            return [(root, path) for root in self.roots]
        root, inside = self.place(session, path)
        return [(root, root.relative(inside.path) or None)]


async def consult(session: Session, params: Consulting) -> Ground:
    """The session's graphs as they are now; one that is built for the first time is waited for, for a while.

    Raises `Refused` as `check` does; PeerError where there is no indexer and nothing was ever stored.
    """
    folders = session.fence.folders
    check(session)
    found = await asyncio.gather(*(_root(session, folder, params.wait_ms / 1000) for folder in folders))
    return Ground([root for root, _ in found], [note for _, note in found if note])


def check(session: Session) -> None:
    """Raises `Refused` where the session has no graph: no folder, switched off, or not trusted by the client's word."""
    if not session.fence.folders:
        raise Refused("No workspace folder is open, so there is no code graph.", kind="not_found")
    if not session.configuration.index.enabled:
        text = "The code graph is switched off (index.enabled is false in the configuration)."
        raise Refused(text, kind="permission_denied")
    if session.said_no:
        # Contract, "Trust": no child process at all, not even one of our own that only reads.
        text = (
            f"The code graph is made by a process of its own, and none is started for {session.fence.folders[0]} while "
            "trusted is false. Trust the workspace in your editor, or leave trusted out of the configuration, and ask "
            "again."
        )
        raise Refused(text, kind="not_trusted")


def opened(session: Session, folder: Path) -> Root:
    """The graph of one of the session's folders, as it is."""
    graph, reader = session.hub.graphs.of(session, folder)
    return Root(folder, session.fence.folders[0], graph, reader)


async def _root(session: Session, folder: Path, seconds: float) -> tuple[Root, str]:
    root = opened(session, folder)
    note = await _brought(session, root, seconds)
    root.state = root.graph.state
    return root, note


async def _brought(session: Session, root: Root, seconds: float) -> str:
    """Up to date; a sentence about what is not as it should be."""
    graph = root.graph
    try:
        state = await graph.current()
        if not state.complete and seconds:
            await _built(session, graph, seconds)
    except Cancelled:
        # Somebody has stopped the indexing; what there is can be asked.
        return ""
    except OmbudError as error:
        if not await _is_stored(root):
            raise
        return f"{error.message} The answer is that of the last index."
    return graph.state.note


async def _built(session: Session, graph: Graph, seconds: float) -> None:
    """Wait for the first index, shown to the client. It goes on when nobody waits any longer."""
    work = Work(session, f"Indexing {graph.root.name}", lambda: None)
    building = session.hub.spawn(graph.index(progress=work.report))
    try:
        async with asyncio.timeout(seconds):
            await asyncio.shield(building)
    except TimeoutError:
        # Whoever starts to wait for it later has a task of its own.
        building.add_done_callback(_heard)
    except asyncio.CancelledError:
        building.add_done_callback(_heard)
        raise
    finally:
        work.end()


def _heard(building: asyncio.Task[Any]) -> None:
    """Nobody waits for how it ends."""
    if not building.cancelled():
        building.exception()


async def _is_stored(root: Root) -> bool:
    """Whether there is anything to answer from."""
    try:
        await root.ask(lambda reader: reader.complete)
    except OmbudError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Stored:
    """What is known of a folder's graph without starting anything. ``bytes`` are those of the store."""

    files: int
    symbols: int
    bytes: int
    pending: int
    complete: bool
    problem: str


async def stored(session: Session, folder: Path) -> Stored | None:
    """The graph of a folder as it was last stored; None where there is none yet."""
    root = opened(session, folder)
    pending, problem = root.state.pending, root.graph.problem
    try:
        found = await root.ask(lambda reader: reader.stats())
    except OmbudError:
        return Stored(0, 0, 0, pending, False, problem) if problem else None
    return Stored(found.files, found.symbols, found.store_bytes, pending, found.complete, problem)
