"""The files that a write could break: who uses what it changes.

The code graph is asked first, where it is ready (`graphed`), since it answers at once: what uses what the change
touches (`symbols`), what is derived from it, who imports the file. Then a server is asked for references of the same,
while it still knows the old text: it knows types, and where there is no graph it has to do. What no reference leads to
is looked for in the text of imports (`importers`), and files of which the server reports something about a name that
the change brings in may be mended by it. All of it is bounded in number and in time; where something may have been
missed, `Found.partial` says why.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.diagnostics.items import decode
from ombud.errors import OmbudError
from ombud.guard.uris import path_to_uri, same_uri_key, uri_to_path
from ombud.operations.shapes import Sources
from ombud.operations.writing.configures import affected, configures
from ombud.operations.writing.found import Found, Ranking
from ombud.operations.writing.graphed import Graphed, folders_of, ready
from ombud.operations.writing.importers import EXACT, FAR, INCLUDING, Importers, bare, importers
from ombud.operations.writing.lexis import IMPORTS, INFERRING, KEYWORDS, Hunk, Page, declared, telling
from ombud.operations.writing.served import Served
from ombud.operations.writing.symbols import METHOD, Reading, Symbol, Wanted, outline
from ombud.syntax.languages import canonical, is_known, language_of
from ombud.text.diff import LineMap
from ombud.text.ranges import Position, Range, index_of_unit, utf16_length

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.guard.fence import Inside
    from ombud.operations.session import Session

__all__ = ["Found", "Touched", "affected", "configures", "dependents"]

ASKED = 40
"""Requests for references about what was touched itself, and as many again about what that leads to."""
NAMES = 24
"""Names on lines of no symbol that are asked about."""
BEGIN_SHARE = 0.7
"""The part of the time after which no further question is begun."""
LOOKED_AT = 400
"""References whose lines are read, to see whether a name is handed on under another one."""
GRAPH_SHARE = 0.25
"""The part of the time that the code graph may take, before the server is asked."""
_ALIAS = re.compile(r"\s+as\s+([^\W\d]\w*)")
_MENDED = -1
"""The tier of files that a new name may mend."""
_IMPORTS = 50
"""The tier of files that are found by the text of their imports."""


@dataclass(frozen=True)
class Touched:
    """A file that is about to be written. ``uri`` is the document as the server knows it, with the text ``old``;
    ``new`` is None where the file goes, and ``old`` empty where it comes. ``lines`` maps the lines of ``old`` to those
    of ``new``."""

    uri: str
    inside: Inside
    old: str
    new: str | None
    lines: LineMap


async def dependents(session: Session, server: Server, touched: Sequence[Touched], limit: int, seconds: float) -> Found:
    """The files of ``server`` that a change of ``touched`` could break, at most ``limit``, found within ``seconds``.

    To be called while the server is ready and knows the old texts, for instance behind a gate: it is asked past its
    queue. Raises nothing for what the server fails of; `Found.partial` tells.
    """
    search = _Search(session, server, _files(session, touched), limit)
    try:
        async with asyncio.timeout(seconds):
            await search.run(seconds)
    except TimeoutError:
        search.late()
    except OmbudError as error:
        search.note(error.message)
    return await asyncio.to_thread(search.ranking.found, limit, search.partial)


@dataclass(eq=False)
class _File:
    """One touched file in the search."""

    touched: Touched
    old: Page
    new: Page
    reading: Reading | None = None
    hunks: list[Hunk] = field(default_factory=list)
    wanted: list[Wanted] = field(default_factory=list)

    def look(self) -> None:
        """Find what of the change counts; all of it where the file goes."""
        if self.touched.new is None:
            self.hunks = [Hunk(0, len(self.old.lines), 0, 0)]
        else:
            self.hunks = telling(self.old, self.new, self.touched.lines)

    def read(self, answer: Any) -> list[Wanted]:
        """What to ask about, by the server's ``documentSymbol`` answer of the old text."""
        self.reading = Reading(self.old, self.new, outline(answer, self.old.lines))
        return self.reading.wanted(self.hunks)


def _files(session: Session, touched: Sequence[Touched]) -> dict[str, _File]:
    found = {}
    for one in touched:
        language = _language(session, one.uri) or session.detector.language(one.inside.path)
        found[same_uri_key(one.uri)] = _File(one, Page(one.old, language), Page(one.new or "", language))
    return found


def _language(session: Session, uri: str) -> str | None:
    """The language that a client gave an open document; None where it is one that nobody else knows."""
    said = canonical(session.language(uri) or "")
    return said if is_known(said) else None


class _Place(msgspec.Struct):
    uri: str
    range: Range


class _Search:
    """One search; what it has found by then stands when it is cut off."""

    def __init__(
        self, session: Session, server: Server, files: dict[str, _File], limit: int, graph: Graphed | None = None
    ) -> None:
        self._session = session
        self._server = server
        self._limit = limit
        self._files = files
        self._sources = Sources(session)
        self._served = Served(session, server, self.note, self.late)
        self._source: Served | Graphed = graph or self._served
        self._asked: set[tuple[str, Position]] = set()
        self._users: dict[str, list[tuple[_Place, Wanted]]] = {}
        """Uses in other files, by URI, of which it was not looked at yet what they change there."""
        self._readings: dict[str, Reading | None] = {}
        self._untold: set[Path] = set()
        """Files that declare something of which the server, which does not have them open, tells nothing."""
        self._looked_at = 0
        self._importing: asyncio.Future[Importers] | None = None
        self._stopped = False
        self.ranking = Ranking(session, server, [one.touched.inside for one in files.values()])
        self.deadline = float("inf")
        self.partial: str | None = None
        self._seconds = 0.0

    def note(self, reason: str) -> None:
        """Why something may have been missed; the first reason is told."""
        self.partial = self.partial or reason

    def late(self) -> None:
        """Note that the time was not enough."""
        self.note(f"Looking for what uses the change was ended after {self._seconds:.2g} s.")

    async def run(self, seconds: float) -> None:
        """Search for at most ``seconds``; towards their end no further question is asked."""
        self._seconds = seconds
        begin = time.monotonic()
        self.deadline, self._served.last_start = begin + seconds, begin + seconds * BEGIN_SHARE
        await asyncio.to_thread(self._look)
        files = [one for one in self._files.values() if one.hunks]
        if not files:
            return
        self._said(files)
        await self._by_graph(files, seconds * GRAPH_SHARE)
        await self._served.ready(next(iter(self._files)), self.deadline - time.monotonic())
        try:
            await asyncio.gather(*(self._read(one) for one in files))
            if any(self._needs_importers(one) for one in files):
                self._importing = asyncio.ensure_future(asyncio.to_thread(self._import, files))
            await self._references(files)
            await self._imported(files)
            await self._guessed()
        finally:
            self._stopped = True
        if self._served.busy():
            self._served.note_busy()

    def _look(self) -> None:
        for file in self._files.values():
            file.look()

    # -- the code graph

    async def _by_graph(self, files: Sequence[_File], seconds: float) -> None:
        """What the code graph knows, where it is ready; what it has found stands, also when its time is over."""
        with suppress(TimeoutError, OmbudError):
            async with asyncio.timeout(seconds):
                used = [one for one in files if one.touched.old]
                roots = await ready(self._session, folders_of(one.touched.inside for one in used), seconds)
                if not roots:
                    return
                uris = {one.touched.inside.path: one.touched.uri for one in files}
                graph = Graphed(self._session, self._server, roots, uris, self.ranking.leave_out)
                known = [one for one in used if await graph.knows(one.touched.inside.path, one.old.lines)]
                mine = {key: replace(one, reading=None, wanted=[]) for key, one in self._files.items() if one in known}
                other = _Search(self._session, self._server, mine, self._limit, graph)
                self.ranking.join(other.ranking)
                await other.trace(graph)

    async def trace(self, graph: Graphed) -> None:
        """Search in the graph alone: what uses what was touched, what follows from it, and who imports the files."""
        files = [one for one in self._files.values() if one.hunks]
        await asyncio.gather(*(self._read(one) for one in files))
        for file in files:
            if reach := self._reach(file):
                for uri, distance in (await graph.importers(file.touched.inside.path, reach)).items():
                    self.ranking.said(uri, _IMPORTS + distance)
        await self._references(files)

    # -- what was touched

    async def _read(self, file: _File) -> None:
        """The symbols of one file as it was, and which of them the change touches."""
        if not file.touched.old:
            return  # Nothing of it was used yet. Who imports it in vain is found by the text.
        answer = await self._source.ask("textDocument/documentSymbol", {"textDocument": {"uri": file.touched.uri}})
        if answer is None and not self._source.offers("textDocument/documentSymbol"):
            self.note(f"{self._server.name} does not tell the symbols of a file, so only names are looked for.")
        # A second for some thousand changed lines.
        wanted = await asyncio.to_thread(file.read, answer)
        if file.touched.new is None and file.old.language in EXACT:
            # Who has it from this file imports it.
            wanted = [one for one in wanted if not one.imported]
        names = [one for one in wanted if one.symbol is None][:NAMES]
        file.wanted = [one for one in wanted if one.symbol is not None or one in names]

    async def _references(self, files: Sequence[_File]) -> None:
        if not self._source.offers("textDocument/references"):
            self.note(f"{self._server.name} cannot be asked for references.")
            return
        asked = sorted(((one, file) for file in files for one in file.wanted), key=lambda pair: pair[0].rank)
        if len(asked) > ASKED:
            self.note(f"So much was changed that only the uses of {ASKED} of {len(asked)} symbols were looked for.")
        first = [(file.touched.uri, one) for one, file in asked[:ASKED]]
        follow = await self._round(first)
        follow += await self._derivations(first)
        left = ASKED
        while follow and left > 0 and len(self.ranking) < max(self._limit, 1):
            follow, left = await self._round(follow[:left]), left - len(follow)
        if follow:
            self.note("So much uses the change that what uses that in turn was not looked for.")

    async def _round(self, asked: Sequence[tuple[str, Wanted]]) -> list[tuple[str, Wanted]]:
        """Ask for the references of each, and note their files; where to ask on."""
        fresh = []
        for uri, one in asked:
            key = same_uri_key(uri), one.at
            if key not in self._asked:
                self._asked.add(key)
                fresh.append((uri, one))
        found = await asyncio.gather(*(self._uses(uri, one) for uri, one in fresh))
        follow = [pair for pairs in found for pair in pairs]
        follow += await self._in_turn()
        return sorted(follow, key=lambda pair: pair[1].rank)

    async def _in_turn(self) -> list[tuple[str, Wanted]]:
        """What changes in other files by what they use: types follow from one another over any number of files."""
        users, self._users = self._users, {}
        if len(self.ranking) >= max(self._limit, 1):
            return []
        await asyncio.gather(*(self._outline(uri) for uri in users if uri not in self._readings))
        found = []
        for uri, uses in users.items():
            reading = self._readings[uri]
            if reading is None:
                continue
            for place, one in uses:
                if not reading.symbols and reading.declares(place.range.start.line):
                    self._untold.add(uri_to_path(uri))
                found += [(uri, self._next(symbol, one)) for symbol in reading.spreads(place.range, one)]
        return found

    async def _outline(self, uri: str) -> None:
        """Read another file's symbols."""
        lines = self._sources.lines(uri)
        language = _language(self._session, uri) or language_of(uri_to_path(uri))
        self._readings[uri] = None
        if lines is not None and language in INFERRING:
            answer = await self._source.ask("textDocument/documentSymbol", {"textDocument": {"uri": uri}}, sure=True)
            page = Page(lines.text, language)
            self._readings[uri] = Reading(page, page, outline(answer, page.lines))

    @staticmethod
    def _next(symbol: Symbol, one: Wanted) -> Wanted:
        return Wanted(symbol.at, one.tier + 3, symbol.name, symbol)

    async def _uses(self, uri: str, one: Wanted) -> list[tuple[str, Wanted]]:
        at = {"textDocument": {"uri": uri}, "position": {"line": one.at.line, "character": one.at.character}}
        # Servers count an export of the name among its declarations, and that breaks as well.
        params = {**at, "context": {"includeDeclaration": True}}
        answer = await self._source.ask("textDocument/references", params, sure=one.symbol is not None)
        return self._take(self._places(answer), one, derived=False)

    async def _derivations(self, asked: Sequence[tuple[str, Wanted]]) -> list[tuple[str, Wanted]]:
        """What overrides the methods and is derived from the classes whose shape was changed: not every server counts
        that among the references. It can take long where no file has been looked at yet, so it comes last."""
        on: list[tuple[str, Wanted]] = []
        for uri, one in asked:
            if one.shape and one.symbol is not None and (one.symbol.classlike or one.symbol.kind == METHOD):
                at = {"textDocument": {"uri": uri}, "position": {"line": one.at.line, "character": one.at.character}}
                answer = await self._source.ask("textDocument/implementation", at)
                on += self._take(self._places(answer), one, derived=True)
        return on

    def _places(self, answer: Any) -> list[_Place]:
        found = []
        for one in answer if isinstance(answer, list) else [answer]:
            if isinstance(one, dict):
                where = one.get("targetSelectionRange") or one.get("range")
                try:
                    found.append(
                        msgspec.convert({"uri": one.get("targetUri") or one.get("uri"), "range": where}, _Place)
                    )
                except msgspec.ValidationError:
                    continue
        return found

    def _take(self, places: Iterable[_Place], one: Wanted, *, derived: bool) -> list[tuple[str, Wanted]]:
        on: list[tuple[str, Wanted]] = []
        for place in places:
            file = self._files.get(same_uri_key(place.uri))
            if file is not None:
                on += self._follow(file, place, one)
                continue
            self.ranking.add(place.uri, one)
            if derived and one.tier == 0 and one.symbol is not None and one.symbol.classlike:
                on += self._derived(place, one)
            elif not derived:
                on += self._handed_on(place, one)
                if not one.imported:
                    self._users.setdefault(place.uri, []).append((place, one))
        return on

    def _follow(self, file: _File, place: _Place, one: Wanted) -> list[tuple[str, Wanted]]:
        """A use in a touched file: what it stands in may have changed by it."""
        line, reading = place.range.start.line, file.reading
        if reading is None or line >= len(file.old.lines):
            return []
        if reading.imported(line):
            return self._handed_on(place, one)
        changed = reading.spreads(place.range, one)
        return [(file.touched.uri, self._next(symbol, one)) for symbol in changed if not self._is_around(symbol, one)]

    def _is_around(self, symbol: Symbol, one: Wanted) -> bool:
        """Whether a symbol holds what was asked about; that it holds it is no use of it."""
        inner = one.symbol
        while inner is not None and inner is not symbol:
            inner = inner.parent
        return inner is symbol

    def _derived(self, place: _Place, one: Wanted) -> list[tuple[str, Wanted]]:
        """A class that is derived from a changed one: whoever makes or uses that is of interest, too."""
        lines = self._sources.lines(place.uri)
        line = place.range.start.line
        if lines is None or line >= lines.count or IMPORTS.search(lines.line(line)):
            return []
        return [(place.uri, Wanted(place.range.start, one.tier + 3, one.name))]

    def _handed_on(self, place: _Place, one: Wanted) -> list[tuple[str, Wanted]]:
        """``import a as b``: the uses of ``b`` are uses of ``a``, and not every server says so."""
        self._looked_at += 1
        lines = self._sources.lines(place.uri) if self._looked_at <= LOOKED_AT else None
        end = place.range.end
        if lines is None or end.line >= lines.count:
            return []
        text = lines.line(end.line)
        match = _ALIAS.match(text, index_of_unit(text, end.character))
        if match is None:
            return []
        at = Position(end.line, utf16_length(text[: match.start(1)]))
        return [(place.uri, Wanted(at, one.tier, match.group(1), imported=one.imported))]

    # -- what no reference leads to

    def _needs_importers(self, file: _File) -> bool:
        return self._reach(file) > 0 or file.reading is None or file.reading.passed_on

    def _reach(self, file: _File) -> int:
        """How far those who import a file may be from it to be among the found, whatever they take from it."""
        if file.reading is None or file.reading.nameless or file.old.language in INCLUDING:
            return FAR
        return 1 if file.touched.new is None else 0

    async def _guessed(self) -> None:
        """Who imports the files of which nothing is told, and who imports those: some of them could break in turn."""
        seen, targets = set(self._untold), set(self._untold)
        while targets and len(self.ranking) < max(self._limit, 1):
            found = await asyncio.to_thread(self._importers, list(targets))
            targets = found.files.keys() - seen
            seen |= targets
            for path in targets:
                self.ranking.said(path_to_uri(path), _IMPORTS)
        if targets:
            self.note("So much uses the change that what uses that in turn was not looked for.")

    def _import(self, files: Sequence[_File]) -> Importers:
        return self._importers([one.touched.inside.path for one in files if self._needs_importers(one)])

    def _importers(self, targets: Sequence[Path]) -> Importers:
        return importers(
            self._session.fence,
            self._server.entry,
            self._server.root,
            targets,
            lambda: self._stopped or time.monotonic() > self.deadline,
        )

    async def _imported(self, files: Sequence[_File]) -> None:
        if self._importing is not None:
            found = await self._importing
            uris = await asyncio.to_thread(self.ranking.uris_of, found)
            self.ranking.imported(found, uris, _IMPORTS, max(map(self._reach, files)))

    def _said(self, files: Sequence[_File]) -> None:
        """Open files of which the server has something to say that names what is new."""
        words = set()
        for file in files:
            fresh = declared(file.new, range(len(file.new.lines))) - declared(file.old, range(len(file.old.lines)))
            words |= {*fresh, bare(file.touched.inside.path).name} - KEYWORDS - {"__init__", "index"}
        mentions = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(words))) or '(?!)'})(?!\w)")
        for key, track in self._session.hub.store.tracks_of(self._server).items():
            document = self._session.hub.documents.at(key)
            raws = track.joined()
            if document is None or not raws or key in self._files:
                continue
            named = any(mentions.search(item.message) for item in decode(self._server.name, raws))
            if named:
                self.ranking.said(document.uri, _MENDED)
