"""Files that are settings of a server: for which servers a file is one, and what such a change may bring about."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.downstream.survey import SKIPPED
from ombud.downstream.watched import Watcher, expanded, expression, marker_names, watchers
from ombud.errors import OmbudError
from ombud.operations.watching import METHOD
from ombud.operations.writing.found import Found
from ombud.syntax.languages import language_of
from ombud.workspace.walk import Walk

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.guard.fence import Inside
    from ombud.operations.session import Session

LOOKED_AT = 5_000
"""How many files of its languages are looked for after a change of a server's settings."""
_TELLING = re.compile(r"\w[\w-]")


def configures(session: Session, inside: Inside) -> list[Server]:
    """The running servers for which a file (written, new or deleted) holds settings, by priority.

    It does where its name is among what marks a server's root. It also does where the row says that the server reads
    such files, or the server itself has asked to hear of them, if they are not the sources that it reports on.
    """
    return [server for server in session.running() if _configures(session, server, inside)]


def _configures(session: Session, server: Server, inside: Inside) -> bool:
    entry, path = server.entry, inside.path
    if not (path.is_relative_to(server.root) or server.root.is_relative_to(path.parent)):
        return False
    names, globs = marker_names(entry)
    if path.name in names or any(fnmatchcase(path.name, glob) for glob in globs):
        return True
    if entry.claims(session.detector.language(path), path.name):
        return False
    if any(fnmatchcase(path.name, glob) for glob in entry.watched):
        return True
    return any(_asks_for(one, path) for one in watchers(server.capabilities.registrations(METHOD), server.root))


def _asks_for(watcher: Watcher, path: Path) -> bool:
    """Whether a watcher means this kind of file. One that means all files says nothing about any of them."""
    if not path.is_relative_to(watcher.base):
        return False
    relative = path.relative_to(watcher.base).as_posix() + "/"
    return any(
        _TELLING.search(pattern.rpartition("/")[2]) and re.fullmatch(expression(pattern), relative)
        for pattern in expanded(watcher.pattern) or ()
    )


async def affected(session: Session, server: Server, limit: int) -> Found:
    """What to look at after a change of a server's settings: what is open in it first, then files of its languages.

    Of the open documents those come first that somebody has open, then those that are kept warm. The others are taken
    from the top of the server's root downwards. Of those that are left out only the number is told. Raises nothing.
    """
    hub = session.hub
    documents = [one for one in hub.documents.all() if server in hub.servers_of(one.uri)]
    documents.sort(key=lambda one: not one.owners)
    first = _resolved(session, [one.uri for one in documents], len(documents))
    known = {one.path for one in first}
    others, complete = await asyncio.to_thread(_others, session, server, known)
    files = [*first[: max(limit, 0)]]
    files += _resolved(session, map(str, others), max(0, limit - len(first)))
    left = len(first) + len(others) - len(files)
    if left <= 0:
        return Found(tuple(files))
    number = f"{left} more" if complete else f"at least {left} more"
    reason = f"{number} files of {server.name} were not looked at: over the limit of {limit} (diagnostics.dependents)."
    return Found(tuple(files), ((_shown(session, server), reason),))


def _shown(session: Session, server: Server) -> str:
    try:
        return session.fence.resolve(str(server.root), intent="read").relative
    except OmbudError:
        return server.root.name


def _resolved(session: Session, names: Iterable[str], limit: int) -> list[Inside]:
    """At most ``limit`` of them that may be read and are ordinary files."""
    found: dict[Path, Inside] = {}
    for name in names:
        if len(found) >= limit:
            break
        try:
            inside = session.fence.resolve(name, intent="read")
        except OmbudError:
            continue
        if inside.path.is_file():
            found.setdefault(inside.path, inside)
    return list(found.values())


def _others(session: Session, server: Server, known: set[Path]) -> tuple[list[Path], bool]:
    """Files of the server's languages that are not open, and whether these are all. Reads the disk."""
    walk = Walk(session.fence, SKIPPED)
    found: list[Path] = []
    for path in walk.files(server.root):
        if path not in known and server.entry.claims(language_of(path), path.name):
            if len(found) == LOOKED_AT:
                return found, False
            found.append(path)
    return found, walk.note is None
