"""The source lines that answers show: of open buffers as they are, else of the disk; secrets redacted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ombud.errors import OmbudError
from ombud.operations.shapes import Sources, source_line

if TYPE_CHECKING:
    from ombud.operations.session import Session

FILES = 300
"""Files that are read for the lines of one answer; what stands in others is shown without its line."""


async def first_lines(session: Session, places: Iterable[tuple[str, int]]) -> list[str]:
    """The line at each place: a path as results show it, and a zero-based line; empty where it cannot be shown."""
    sources = Sources(session)
    uris: dict[str, str | None] = {}
    out = []
    for path, line in places:
        if path not in uris:
            uris[path] = _uri(session, path) if len(uris) < FILES else None
            # Each is read from the disk: others get their turn between two.
            await asyncio.sleep(0)
        uri = uris[path]
        lines = sources.lines(uri) if uri is not None else None
        out.append(source_line(lines, line) if lines is not None else "")
    return out


def _uri(session: Session, path: str) -> str | None:
    try:
        return session.fence.resolve(path, intent="read").spelled_uri
    except OmbudError:
        return None
