"""Writes that are reported together (``diagnostics: "defer"``, D8): what was said before the first of them.

A write that waits takes the series over: what it reports is the difference to the time before the series.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ombud.guard.uris import same_uri_key
from ombud.operations.writing.leaf import Base, Leaf, Part, Sheet

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.guard.fence import Inside
    from ombud.operations.writing.course import Course


@dataclass(frozen=True, slots=True)
class _Kept:
    base: Base
    inside: Inside
    """Where the file is now."""


class Series:
    """The files of a session's series, by server and document key. One for a session; empty between series."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Server, str], _Kept] = {}
        self._unknown: dict[Server, str] = {}
        self._taken: tuple[dict[tuple[Server, str], _Kept], dict[Server, str]] = ({}, {})
        self._pending: dict[asyncio.Task[None], Server] = {}

    def __bool__(self) -> bool:
        return bool(self._kept or self._unknown)

    def based(self, course: Course, part: Part) -> None:
        """A write of the series begins: keep what the server said before, unless an earlier one has."""
        if course.plan.options.report != "defer":
            return
        for sheet in (*part.sheets, *part.dependents):
            leaf, edition = sheet.leaf, sheet.leaf.edition
            inside = edition.target if edition is not None else leaf.inside
            if inside is None or sheet.base is None:
                continue
            before = edition.inside if edition is not None else inside
            kept = self._kept.pop((part.server, same_uri_key(before.spelled_uri)), None)
            base = sheet.base if kept is None else kept.base
            self._kept[part.server, same_uri_key(inside.spelled_uri)] = _Kept(base, inside)

    def lost(self, course: Course, part: Part) -> None:
        """A server had not spoken before a write of the series: what that introduced cannot be told."""
        if course.plan.options.report == "defer" and part.verdict is not None:
            self._unknown.setdefault(part.server, part.verdict.reason or "It had not reported before.")

    def follow(self, course: Course, tasks: Mapping[asyncio.Task[None], Part]) -> None:
        """The servers of a write of the series that have yet to say how it was before."""
        if course.plan.options.report == "defer":
            for task, part in tasks.items():
                self._pending[task] = part.server
                task.add_done_callback(lambda done: self._pending.pop(done, None))

    async def ready(self, seconds: float) -> None:
        """Wait until all of the series is known, or will not be."""
        if self._pending:
            await asyncio.wait(self._pending, timeout=max(0.0, seconds))
        for server in self._pending.values():
            self._unknown.setdefault(server, "It has yet to say how it was before the series.")

    def files(self, course: Course) -> dict[str, Inside]:
        """The files of the series, by document key, where the course ends it: `joins` takes their texts."""
        return {key: kept.inside for (_, key), kept in self._kept.items()} if self._ends_with(course) else {}

    def joins(self, course: Course, texts: Mapping[str, str | None]) -> None:
        """Hand the series to a course that reports: its files get the former base, the others come on top.

        ``texts`` are those of its `files` now.
        """
        if not self._ends_with(course):
            return
        parts = {part.server: part for part in course.parts}
        # Of one document two servers must have one leaf: it is given a new version for both of them, or for none.
        leaves: dict[str, Leaf] = {}
        for (server, key), kept in self._kept.items():
            part = parts.setdefault(server, Part(server))
            mine = next((sheet for sheet in part.sheets if _is_at(sheet.leaf, key)), None)
            if mine is not None:
                mine.base = kept.base
            elif key in texts:
                text = texts[key]
                leaf = leaves.setdefault(key, Leaf(kept.inside.relative, text, text, inside=kept.inside))
                part.sheets.append(Sheet(leaf, kept.base))
        for server, reason in self._unknown.items():
            part = parts.setdefault(server, Part(server))
            part.unknown(f"What the series of writes introduced cannot be told: {reason}")
        course.parts = list(parts.values())
        self._taken = dict(self._kept), dict(self._unknown)

    def _ends_with(self, course: Course) -> bool:
        return course.plan.options.report == "wait" and not course.plan.options.preview and bool(self)

    def clear(self) -> None:
        """What `joins` has handed over was reported; a write of the next series may have begun meanwhile."""
        kept, unknown = self._taken
        self._kept = {key: one for key, one in self._kept.items() if kept.get(key) is not one}
        self._unknown = {server: why for server, why in self._unknown.items() if server not in unknown}
        self._taken = {}, {}


def _is_at(leaf: Leaf, key: str) -> bool:
    return leaf.edition is not None and same_uri_key(leaf.edition.inside.spelled_uri) == key
