"""The files of a write as servers see them, and each server's share of the work."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Raw

from ombud.diagnostics.fresh import Verdict
from ombud.diagnostics.items import Item
from ombud.diagnostics.ledger import Delta, compare
from ombud.text.diff import LineMap, line_map

if TYPE_CHECKING:
    from ombud.downstream.queue import Gate
    from ombud.downstream.server import Server
    from ombud.errors import OmbudError
    from ombud.guard.fence import Inside
    from ombud.operations.writing.plan import Edition
    from ombud.workspace.documents import Document


@dataclass(frozen=True, slots=True)
class Base:
    """What a server said of a file before: its ``items``, and the ``text`` and the ``path`` that they are about."""

    items: tuple[Item, ...]
    text: str
    path: str


@dataclass(eq=False)
class Leaf:
    """One file in the course of a write.

    ``path`` is how results name it. ``edition`` is None for a file that is not written: one that could break. ``old``
    and ``new`` are its texts, None where there is none. ``was`` is the document with the old text, ``now`` the one
    with the new text (the same, but for a file that is created or renamed), None where there is none or not yet.
    ``old_version`` and ``version`` are the hub's numbers of the two texts.
    """

    path: str
    old: str | None
    new: str | None
    edition: Edition | None = None
    inside: Inside | None = None
    was: Document | None = None
    now: Document | None = None
    old_version: int = 0
    version: int = 0

    @cached_property
    def map(self) -> LineMap:
        """Where the old lines went; seconds of work for millions of lines, so it is first asked for in a thread."""
        return line_map(self.old or "", self.new or "")


@dataclass(eq=False)
class Sheet:
    """What one server says of one file. ``told``: its delta stands in an answer or a notification already."""

    leaf: Leaf
    base: Base | None = None
    after: list[Item] | None = None
    delta: Delta | None = None
    verdict: Verdict | None = None
    told: bool = False
    key: str = ""
    """The document's key, for a file that nobody has open."""

    def compared(self) -> Delta:
        """The difference between what was said before and after."""
        assert self.base is not None and self.after is not None
        leaf = self.leaf
        mapped = leaf.map if self.base.text == (leaf.old or "") else line_map(self.base.text, leaf.new or "")
        return compare(self.base.items, self.after, mapped.to_new, mapped.touched.__contains__)


@dataclass(eq=False)
class Part:
    """One server's share of a write. Its own task fills it in.

    ``sheets`` are the files that are written, ``dependents`` those that could break. ``based``: what the server said
    before is known, or will not be. ``edited``: so is what it says of the written files now; ``elapsed_ms`` is when.
    """

    server: Server
    sheets: list[Sheet] = field(default_factory=list)
    dependents: list[Sheet] = field(default_factory=list)
    others: dict[str, tuple[int, tuple[Raw, ...]]] = field(default_factory=dict)
    """What the server said, unasked, of files in neither list: document key → version and diagnostics, before."""
    strays: list[Sheet] = field(default_factory=list)
    """Those of them about which it says something else now."""
    left_out: list[tuple[str, str]] = field(default_factory=list)
    left_out_count: int = 0
    partial: str | None = None
    """Why the search for what could break may have missed something."""
    gate: Gate | None = None
    turn: asyncio.Lock | None = None
    """Held while no other write may change what the server sees."""
    verdict: Verdict | None = None
    configured: bool = False
    """Whether a file of the write holds settings of the server."""
    based: asyncio.Event = field(default_factory=asyncio.Event)
    edited: asyncio.Event = field(default_factory=asyncio.Event)
    started: float = field(default_factory=time.monotonic)
    elapsed_ms: int | None = None

    def settled(self, freshness: Verdict) -> None:
        """The written files' verdict, with the time since the write began."""
        self.elapsed_ms = self.elapsed
        self.verdict = Verdict(self.server.name, freshness.freshness, self.elapsed_ms, freshness.reason)
        self.edited.set()

    def failed(self, error: OmbudError) -> None:
        self.unknown(error.message)

    def unknown(self, reason: str) -> None:
        """Nothing can be said of what the write does."""
        self.verdict = Verdict(self.server.name, "unavailable", self.elapsed, reason)
        self.finish()

    def finish(self) -> None:
        """Nobody needs to wait for it, whatever became of it."""
        self.based.set()
        self.edited.set()

    def leave_out(self, path: str, reason: str) -> None:
        self.left_out.append((path, reason))
        self.left_out_count += 1

    def release(self) -> None:
        """Let the server's queue go on."""
        if self.gate is not None:
            self.gate.release()

    def yield_turn(self) -> None:
        """Let the next write at the server."""
        if self.turn is not None:
            turn, self.turn = self.turn, None
            turn.release()

    @property
    def elapsed(self) -> int:
        return round((time.monotonic() - self.started) * 1000)

    @property
    def news(self) -> list[Sheet]:
        """The sheets with something to tell that was not told yet."""
        return [one for one in (*self.sheets, *self.dependents, *self.strays) if one.delta is not None and not one.told]
