"""Matches whose metavariables are of a certain type, as their language servers say: asked last, of a bounded number."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.operations import answers
from ombud.operations.lsp import Asking as Servers
from ombud.operations.shapes import Sources
from ombud.operations.targets import Target, opened
from ombud.structural.messages import FULL

if TYPE_CHECKING:
    from ombud.operations.structural.ground import Ground
    from ombud.operations.structural.shapes import Asking
    from ombud.structural.messages import Hit, Place
    from ombud.structural.query import Query
    from ombud.structural.search import Outcome

MOST = 200
"""Matches that are asked about in one answer."""
SECONDS = 30.0
"""How long that may take in all, starting servers not counted in."""
_NAME = re.compile(r"[^\W\d]\w*")
_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)


async def search(
    found: Ground, wanted: Query, params: Asking, types: Mapping[str, str], context: int
) -> tuple[Outcome, list[str]]:
    """As `Searcher.find`, with only those hits left whose captures are of the types; and sentences about the rest.

    Raises as that does. Whom nobody answers for is left out, and said to be.
    """
    outcome = await found.session.hub.searches.searcher.find(found.job(wanted, params, context, most=MOST))
    asked = Types(found, types)
    kept: list[Hit] = []
    files: dict[tuple[int, str], list[Hit]] = {}
    for hit in outcome.hits:
        files.setdefault((hit.root, hit.path), []).append(hit)
    more = False
    for (root, path), hits in files.items():
        if len(kept) > params.max_results:
            more = True
            break
        kept += await asked.of_file(found.shown(root, path), hits)
    notes = asked.notes
    if outcome.stopped == FULL:
        notes.append(f"Only the first {MOST} matches without regard to types were asked about; narrow the search.")
    elif more or len(kept) > params.max_results:
        outcome.stopped = FULL
    outcome.hits = kept[: params.max_results]
    outcome.total = None if outcome.stopped else len(kept)
    return outcome, notes


class Types:
    """Asks servers of what type captures are. ``notes`` say what is not known."""

    def __init__(self, found: Ground, types: Mapping[str, str]) -> None:
        self._session = found.session
        self._types = {name: re.compile(rf"(?<!\w){re.escape(one)}(?!\w)") for name, one in types.items()}
        self._sources = Sources(found.session)
        self._left = SECONDS
        self.notes: list[str] = []

    async def of_file(self, path: str, hits: list[Hit]) -> list[Hit]:
        """Those of one file's hits whose captures are of the types."""
        kept: list[Hit] = []
        clock = asyncio.get_running_loop().time
        try:
            with opened(self._session, path) as target:
                asking = Servers(self._session)
                for server in target.servers:
                    # Its start has a deadline of its own.
                    with suppress(OmbudError):
                        server.need()
                        await server.turn()
                begun = clock()
                try:
                    async with asyncio.timeout(max(0.0, self._left)):
                        for hit in hits:
                            kept += [hit] if await self._fits(asking, target, hit) else []
                finally:
                    self._left -= clock() - begun
                self._note_all(asking.notes)
                if not asking.answered:
                    self._note(
                        f"No language server could say of what type anything in {path} is, so nothing of it is told."
                    )
        except OmbudError as error:
            self._note(f"The types in {path} are not known, so nothing of it is told: {error.message}")
        except TimeoutError:
            self._note(f"There was no time left to ask about all of {path} and what follows; narrow the search.")
        return kept

    async def _fits(self, asking: Servers, target: Target, hit: Hit) -> bool:
        for name, wanted in self._types.items():
            capture = hit.places.get(name)
            if capture is None or not await self._is(asking, target, capture, wanted):
                return False
        return True

    async def _is(self, asking: Servers, target: Target, place: Place, wanted: re.Pattern[str]) -> bool:
        at = {"textDocument": {"uri": target.document.uri}, "position": _telling(place)}
        _, answer = await asking.first(target.servers, "textDocument/typeDefinition", at)
        for one in answers.locations([answer], self._sources):
            if wanted.search(str(one["text"])):
                return True
        for server, answer in await asking.all(target.servers, "textDocument/hover", lambda _: at):
            text = str(answers.hover(server.name, answer)["text"])
            if wanted.search("\n".join(_FENCED.findall(text)) or text):
                return True
        return False

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _note_all(self, texts: list[str]) -> None:
        for text in texts:
            self._note(text)


def _telling(place: Place) -> dict[str, Any]:
    """The position of a capture's last name: ``c`` of ``a.b.c`` has the type of the whole."""
    names = list(_NAME.finditer(place.text))
    if not names or "\n" in place.text:
        return {"line": place.line, "character": place.column}
    from ombud.text.ranges import utf16_length

    return {"line": place.line, "character": place.column + utf16_length(place.text[: names[-1].start()])}
