"""The answer to every way of writing (protocol.md, "Writing"), and its words."""

from __future__ import annotations

from typing import Literal

import msgspec

from ombud.operations.shapes import DiagnosticShape, FreshnessShape, Shape


class FileShape(Shape, omit_defaults=True):
    """One file: ``renamed`` stands under the new path, with ``from`` the old one."""

    path: str
    status: Literal["created", "modified", "deleted", "renamed"]
    added: int
    removed: int
    from_: str | None = msgspec.field(default=None, name="from")


class LeftOutShape(Shape):
    """A file that may have been broken and was not checked, and why."""

    path: str
    reason: str


class DiagnosticsShape(Shape, omit_defaults=True):
    """What a write introduced and resolved, over all files that were checked, and who has answered for it."""

    introduced: list[DiagnosticShape]
    """With their places in the new text."""
    resolved: list[DiagnosticShape]
    """With their places in the old text."""
    still_present: int
    """How many were there before and still are."""
    servers: list[FreshnessShape]
    """Who was asked, and whether it has answered for what was written. Files in ``leftOut`` were not checked at all."""
    checked_dependents: list[str]
    """Files that were not written and use what was; what it broke there is among the introduced."""
    left_out: list[LeftOutShape] = msgspec.field(default_factory=list)
    """Dependents that were found and not checked, at most 50 of them."""
    left_out_count: int = 0
    note: str | None = None
    """Why the search for dependents may have missed some."""


class WriteResult(Shape, omit_defaults=True):
    """The answer to a write. ``applied`` is the first key, so that a reader who stops early knows (D6)."""

    applied: bool
    message: str
    files: list[FileShape]
    write_id: str
    diagnostics: DiagnosticsShape | None
    checkpoint: str | None = None
    """What `rollback` takes to undo this write and those after it; None for a preview and for a change in a buffer."""
    preview: bool = False
    note: str | None = None
    """Says so where the change is in a client's buffer and not on the disk, and what could not be done."""
