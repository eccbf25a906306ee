"""What clients are asked to watch: one registration for each client that can, kept in step with the servers.

It holds the globs of the servers below the client's folders and what Ombud itself has to know: the files that those
servers claim (it holds some of them open), the markers of roots and its own settings. ``**/*`` would be simpler, and
every build would then send its thousands of outputs over the wire. It is one registration, not one for each glob,
since some clients start a recursive watch of the folder for each.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from ombud.downstream.watched import EVERY_KIND, Interest, Watcher, client_glob, patterns_of

if TYPE_CHECKING:
    from ombud.operations.session import Session

LOG = logging.getLogger("ombud.watch")
METHOD = "workspace/didChangeWatchedFiles"
DYNAMIC = "workspace.didChangeWatchedFiles.dynamicRegistration"
RELATIVE = "workspace.didChangeWatchedFiles.relativePatternSupport"
_NUMBERS = itertools.count(1)


@dataclass(slots=True)
class Asked:
    """What one client was asked to watch. ``refused``: it answered with an error, so it is not asked again."""

    identity: str | None = None
    watchers: bytes = b""
    refused: bool = False


def can(session: Session) -> bool:
    """Whether the client can be asked to watch."""
    return session.can(DYNAMIC)


def _spelled(path: Path, spellings: Sequence[tuple[Path, Path]]) -> Path:
    """A real path as the client spells the folder that it lies in. ``spellings``: real folder, and the client's."""
    for real, folder in spellings:
        if path.is_relative_to(real):
            return folder / path.relative_to(real)
    return path


def wanted(session: Session, interests: list[Interest], files: list[Path]) -> list[dict[str, Any]]:
    """The ``FileSystemWatcher``s for a client. ``files`` are single files of Ombud's own."""
    relative = session.can(RELATIVE)
    spellings = list(zip(session.real_folders, session.folders, strict=True))
    only = spellings[0][0] if len(spellings) == 1 else None
    found: dict[bytes, dict[str, Any]] = {}

    def add(glob: Any, kinds: int) -> None:
        watcher = {"globPattern": glob, **({} if kinds == EVERY_KIND else {"kind": kinds})}
        found.setdefault(msgspec.json.encode(watcher), watcher)

    for interest in interests:
        for one in interest.watchers or ():
            if one.kinds:
                glob = client_glob(one, _spelled(one.base, spellings), plain=one.base == only, relative=relative)
                add(glob, one.kinds)
        for pattern in patterns_of(interest.entry):
            add(pattern, EVERY_KIND)
    if found:
        for file in files:
            here = Watcher(file.parent, file.name, EVERY_KIND, False, None)
            add(client_glob(here, _spelled(file.parent, spellings), plain=False, relative=relative), EVERY_KIND)
    return list(found.values())


def ask(session: Session, asked: Asked, watchers: list[dict[str, Any]], refused: Callable[[], None]) -> None:
    """Bring a client's registration in step; the new one comes before the old one goes, so that nothing is missed.

    ``refused()`` is called where the client answers with an error.
    """
    encoded = msgspec.json.encode(watchers) if watchers else b""
    if encoded == asked.watchers or asked.refused:
        return
    former, asked.identity, asked.watchers = asked.identity, None, encoded
    if watchers:
        asked.identity = f"ombud/watch/{next(_NUMBERS)}"

        def answered(_result: Raw | None, error: Raw | None) -> None:
            if error is not None:
                LOG.warning("%s does not watch files, so Ombud does.", session.client.name)
                asked.refused, asked.identity = True, None
                refused()

        registration = {"id": asked.identity, "method": METHOD, "registerOptions": {"watchers": watchers}}
        session.register([registration], answered)
    if former is not None:
        session.unregister([{"id": former, "method": METHOD}])
