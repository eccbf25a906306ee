"""What a language server says of an edge that the graph is not sure of: whether the name there means that symbol."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.operations.lsp import Asking
from ombud.operations.targets import Target, opened

if TYPE_CHECKING:
    from ombud.operations.session import Session

MOST = 50
"""Sites that are asked about in one answer."""
NAMED = 2
"""Files that a note about all of them names."""
SECONDS = 20.0
"""How long that may take in all, starting servers not counted in."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """A site, zero-based, and the lines of the definition that it may mean."""

    path: str
    line: int
    character: int
    target: Path
    first: int
    last: int


class Verdicts:
    """``said[n]``: whether a server agreed to the n-th doubt; None where none has said anything. ``notes`` say why."""

    def __init__(self, count: int) -> None:
        self.said: list[bool | None] = [None] * count
        self.notes: list[str] = []
        self.silent: list[str] = []
        """Paths of files for which no server had an answer."""
        self.failed: dict[str, list[str]] = {}
        """Why nobody could be asked → the paths."""

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)


async def ask(session: Session, doubts: Sequence[Doubt]) -> Verdicts:
    """Ask the servers of each site's file where the definition of the name there is. Servers start as needed.

    Raises nothing of its own: whom nobody answers for stays in doubt, with a note.
    """
    verdicts = Verdicts(len(doubts))
    asked = range(min(len(doubts), MOST))
    if len(doubts) > MOST:
        verdicts.note(
            f"A language server was asked about the first {MOST} of {len(doubts)} sites; narrow the question."
        )
    groups: dict[str, list[int]] = {}
    for number in asked:
        groups.setdefault(doubts[number].path, []).append(number)
    for path, numbers in groups.items():
        try:
            with opened(session, path) as target:
                await _of_file(session, target, doubts, numbers, verdicts)
        except OmbudError as error:
            why = error.message.replace(f" for {path}", "")
            verdicts.failed.setdefault(why, []).append(path)
        except TimeoutError:
            verdicts.note(f"The language server took too long over {path}, so the rest of it is not confirmed.")
    for why, paths in verdicts.failed.items():
        verdicts.note(f"Nobody confirmed what stands in {_some(paths)}: {why}")
    if verdicts.silent:
        verdicts.note(f"No language server could say where the names in {_some(verdicts.silent)} are defined.")
    return verdicts


def _some(paths: Sequence[str]) -> str:
    more = len(paths) - NAMED
    return ", ".join(paths[:NAMED]) + (f" and {more} more files" if more > 0 else "")


async def _of_file(
    session: Session, target: Target, doubts: Sequence[Doubt], numbers: Iterable[int], verdicts: Verdicts
) -> None:
    asking = Asking(session)
    for server in target.servers:
        # Its start has a deadline of its own.
        with suppress(OmbudError):
            server.need()
            await server.turn()
    async with asyncio.timeout(SECONDS):
        for number in numbers:
            doubt = doubts[number]
            at = {"line": doubt.line, "character": doubt.character}
            params = {"textDocument": {"uri": target.document.uri}, "position": at}
            _, answer = await asking.first(target.servers, "textDocument/definition", params)
            if answer:
                # Nothing found is no word on what the name means.
                verdicts.said[number] = _agrees(session, doubt, answer)
    for note in asking.notes:
        verdicts.note(note)
    if not asking.answered:
        verdicts.silent.append(target.inside.relative)


def _agrees(session: Session, doubt: Doubt, answer: Any) -> bool:
    for one in answer if isinstance(answer, list) else [answer]:
        if not isinstance(one, dict):
            continue
        uri = one.get("targetUri") or one.get("uri")
        where = one.get("targetSelectionRange") or one.get("targetRange") or one.get("range")
        line = where.get("start", {}).get("line") if isinstance(where, dict) else None
        if not isinstance(uri, str) or not isinstance(line, int):
            continue
        if session.path_of(uri) == doubt.target and doubt.first <= line <= doubt.last:
            return True
    return False
