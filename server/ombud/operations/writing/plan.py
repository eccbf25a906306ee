"""What is to be written: one `Edition` for each file, and how the answer is wanted.

Every way of writing makes a `Plan` and hands it to `ombud.operations.writing.perform.perform`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from ombud.guard.fence import FileBytes, Inside
from ombud.operations.shapes import FILE_LIMIT, Arguments, Hints, Wait
from ombud.text.buffer import Buffer
from ombud.workspace.change import Change, Kind
from ombud.workspace.files import Captured, read

if TYPE_CHECKING:
    from ombud.operations.buffers import Target
    from ombud.operations.session import Session

DEPENDENTS_SHARE = 0.4
"""The part of the caller's time for which an answer waits longer than for the written files, for those that could
break, and the part in which these are looked for before."""
Report = Literal["wait", "defer", "none"]

Preview = Annotated[
    bool,
    msgspec.Meta(description="Only tell what the change would introduce: servers see it, the disk does not."),
]
Format = Annotated[
    bool, msgspec.Meta(description="Have the new text formatted by the formatter of its language before it is written.")
]
Reporting = Annotated[
    Report,
    msgspec.Meta(
        description="wait: report what the write introduced; defer: report it with the next write that waits, or with "
        "diagnostics of *; none: only write."
    ),
]


class Writing(Arguments, frozen=True, kw_only=True):
    """The parameters that all ways of writing share."""

    preview: Preview = False
    format: Format = False
    wait_ms: Wait | None = None
    diagnostics: Reporting = "wait"
    severity: Hints | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """`Writing`, with what the configuration says where the caller did not. ``wait_ms`` is in milliseconds."""

    wait_ms: int
    report: Report = "wait"
    hints: bool = False
    preview: bool = False
    format: bool = False

    @classmethod
    def of(cls, session: Session, params: Writing) -> Options:
        wait = session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms
        return cls(wait, params.diagnostics, params.severity == "hint", params.preview, params.format)


@dataclass(frozen=True, slots=True)
class Edition:
    """One file of a plan.

    ``before`` are its bytes as captured, None for a new file; ``after`` the new ones, None where none remain and for a
    rename that keeps them. ``old`` and ``new`` are the same as text: None where there is no file, and for a file that
    is no text, which can only be moved or deleted. ``buffer`` tells how text becomes this file's bytes. ``to`` is the
    new place of a ``rename``; ``mode`` the permission bits to set, None to keep them.
    """

    kind: Kind
    inside: Inside
    before: FileBytes | None
    after: bytes | None
    old: str | None
    new: str | None
    buffer: Buffer
    to: Inside | None = None
    mode: int | None = None

    @property
    def target(self) -> Inside:
        """Where the file is afterwards, or was."""
        return self.inside if self.to is None else self.to

    @property
    def paths(self) -> tuple[Path, ...]:
        """The real paths that the edition touches."""
        return (self.inside.path,) if self.to is None else (self.inside.path, self.to.path)

    @property
    def change(self) -> Change:
        """The edition as the commit takes it."""
        return Change(self.kind, self.inside, self.before, self.after, self.to, self.mode)


@dataclass(frozen=True, slots=True)
class Plan:
    """All editions of one write, no path twice. ``summary`` says in a few words what it is (for `checkpoints`).

    ``target`` is the buffer of a client that is edited in place of the file; ``old`` of the only edition is its text
    then.
    """

    editions: tuple[Edition, ...]
    options: Options
    summary: str
    target: Target | None = None


def modified(captured: Captured, text: str, mode: int | None = None, *, old: str | None = None) -> Edition:
    """A file with a new text, in its own encoding; ``old`` is that of an open buffer where this is what is changed.

    Raises `Refused` (``not_text``) where its encoding cannot hold the text.
    """
    after = captured.buffer.encode(text)
    before = captured.text if old is None else old
    return Edition("modify", captured.inside, captured.stat, after, before, text, captured.buffer, mode=mode)


def created(inside: Inside, text: str, mode: int | None = None) -> Edition:
    """A new file, in UTF-8."""
    buffer = Buffer("", name=inside.relative)
    return Edition("create", inside, None, buffer.encode(text), None, text, buffer, mode=mode)


def deleted(inside: Inside, before: FileBytes, old: str | None) -> Edition:
    """A file that goes; ``old`` is None for one that is no text."""
    return Edition("delete", inside, before, None, old, None, Buffer("", name=inside.relative))


def capture(session: Session, path: str, *, intent: Literal["write", "delete"] = "write") -> Captured:
    """An existing text file that is to be changed. Blocks: run it in a thread.

    Raises `Refused`: the fence's kinds for reading and for ``intent``, ``not_found``, ``not_text``, ``too_large``.
    """
    inside = session.fence.resolve(path, intent="read")
    session.fence.resolve(path, intent=intent)
    return read(session.fence, inside, FILE_LIMIT)


@asynccontextmanager
async def held(session: Session, paths: Iterable[Path]) -> AsyncIterator[None]:
    """Hold the files at these real paths, so that two writes of one file follow each other.

    To be taken before the files are read, and held until `perform` has answered. Always in one order, so that two
    writes of the same files never wait for each other.
    """
    async with AsyncExitStack() as stack:
        for path in sorted(set(paths)):
            await stack.enter_async_context(session.hub.writing(path))
        yield


def numbered(count: int, noun: str) -> str:
    """``1 file``, ``3 files``."""
    return f"1 {noun}" if count == 1 else f"{count} {noun}s"
