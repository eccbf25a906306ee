"""The course of one write: what servers said before, the commit, and the difference.

Every server that claims one of the files gets a gate in its queue: behind the old texts, before the new ones. While the
gate is closed the server speaks about the old texts (the baseline), also of the files that could break; then the new
texts go through and the server speaks about those. A server that is slow delays neither the commit nor the others: its
own part goes on behind the answer, and what it finds follows as ``ombud/introducedDiagnostics`` with the ``writeId``
(D3, D4, D9).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ombud.diagnostics.fresh import Verdict, settle
from ombud.diagnostics.items import Item, decode
from ombud.errors import OmbudError
from ombud.operations.shapes import FILE_LIMIT
from ombud.operations.targets import language, pin
from ombud.operations.writing import breakable
from ombud.operations.writing.disk import Disk, no_unsaved, to_the_end
from ombud.operations.writing.leaf import Base, Leaf, Part, Sheet
from ombud.operations.writing.plan import DEPENDENTS_SHARE
from ombud.operations.writing.report import file_shapes, result, tell
from ombud.operations.writing.result import WriteResult
from ombud.workspace.files import read

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.guard.fence import Inside
    from ombud.operations.session import Session
    from ombud.operations.writing.plan import Edition, Plan
    from ombud.workspace.documents import Document

LATE_SECONDS = 120.0
"""How long a server that had no answer in time is still listened to for a write."""
BASELINE_SECONDS = 30.0
"""How long a server may take to speak about the old text before it is shown the new one without a baseline."""
COMMIT_SECONDS = 0.5
"""How long a commit of several files may keep everybody else from the servers; thousands of files take a minute."""
LOOKS_AT_FILES = "It looks at saved files only, and the change is in an open buffer."


class Course:
    """See the module. The commit happens once; each server's part is a task of its own."""

    share = DEPENDENTS_SHARE
    ordered = True
    """Whether servers are asked about the new texts in their queue, or past it since that is held."""

    def __init__(self, session: Session, plan: Plan, write_id: str) -> None:
        self.session = session
        self.plan = plan
        self.write_id = write_id
        self.hub = session.hub
        self.disk = Disk(session, plan)
        self.leaves = [self._leaf(edition) for edition in plan.editions]
        self.parts: list[Part] = []
        self.end = 0.0
        """When the caller wants to be answered, in monotonic seconds."""
        self.shown: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once servers are shown the new texts of the files that were there before."""
        self.saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the files are written and servers are told so."""
        self.mapped: asyncio.Task[None] | None = None
        """Done once it is known where the lines of the old texts went."""
        self.note: str | None = None
        """What the answer has to say besides."""
        self._pinned: list[Document] = []

    @staticmethod
    def _leaf(edition: Edition) -> Leaf:
        return Leaf(edition.target.relative, edition.old, edition.new, edition)

    def _map(self) -> None:
        for leaf in self.leaves:
            _ = leaf.map

    async def run(self) -> WriteResult:
        """Carry it out. Raises what the commit raises: then servers see the old texts, as before."""
        self.end = time.monotonic() + self.plan.options.wait_ms / 1000
        # Both compare whole texts, which takes seconds where they are long.
        counted = self.hub.spawn(asyncio.to_thread(file_shapes, self.plan.editions))
        self.mapped = self.hub.spawn(asyncio.to_thread(self._map))
        await self.session.series.ready(self.end - time.monotonic())
        files = self.session.series.files(self)
        texts = await asyncio.to_thread(self._texts, files) if files else {}
        self._divide(texts)
        if not self.parts:
            await to_the_end(self._alone())
            return result(self, await asyncio.shield(counted), no_server=True)
        await self._take_turns()
        tasks: dict[asyncio.Task[None], Part] = {}
        try:
            for part in self.parts:
                self._begin(part)
            tasks = {self.hub.spawn(self._part(part)): part for part in self.parts}
            self.session.series.follow(self, tasks)
            await self._baselines()
            await to_the_end(self._land())
        except BaseException:
            self.give_up(tasks)
            raise
        try:
            await self._answered(tasks)
        except BaseException:
            self.give_up(tasks)
            raise
        self.rest(tasks)
        lines = await asyncio.shield(counted)
        self._reported()
        return result(self, lines)

    def _reported(self) -> None:
        """The series, if there was one, ends with an answer that waits."""
        if self.plan.options.report == "wait":
            self.session.series.clear()

    # -- who has a part in it -----------------------------------------------------------------------------------

    def _divide(self, texts: Mapping[str, str | None]) -> None:
        """A part for each server that reports on one of the files, or for which one of them holds settings.

        ``texts`` are those of the series that this write ends, by document key.
        """
        if self.plan.options.report == "none":
            return
        parts: dict[Server, Part] = {}
        for leaf in self.leaves:
            assert leaf.edition is not None
            for server in self._claiming(leaf.edition):
                parts.setdefault(server, Part(server)).sheets.append(Sheet(leaf))
            for server in breakable.configured(self.session, leaf.edition):
                parts.setdefault(server, Part(server)).configured = True
        self.parts = list(parts.values())
        self.session.series.joins(self, texts)
        self.parts.sort(key=lambda part: part.server.entry.priority)

    def _claiming(self, edition: Edition) -> list[Server]:
        if edition.old is None and edition.new is None:
            return []  # No text: it is only moved or deleted.
        places = [edition.inside] if edition.to is None else [edition.inside, edition.to]
        found = [server for one in places for server in self.session.servers(one.path, language(self.session, one))]
        return [server for server in dict.fromkeys(found) if server.entry.serves("diagnostics")]

    async def _take_turns(self) -> None:
        """Wait until earlier writes have done with the servers, for half of the time at most.

        Always in one order, so that two writes never wait for each other. One that is late must not stop the others.
        """
        half = (self.end - time.monotonic()) / 2
        try:
            async with asyncio.timeout(max(0.0, half)):
                for part in sorted(self.parts, key=lambda part: part.server.tag):
                    turn = self.hub.course(part.server)
                    await turn.acquire()
                    part.turn = turn
        except TimeoutError:
            return
        except BaseException:
            self.release()
            raise

    def _begin(self, part: Part) -> None:
        """Start the server where needed, and put its gate behind the old texts."""
        if part.verdict is not None:
            return
        try:
            part.server.need()
            self.hold(part)
            part.gate = part.server.gate()
        except OmbudError as error:
            part.failed(error)

    def hold(self, part: Part) -> None:
        """Hold the documents open in the server as they are before the write."""
        for sheet in part.sheets:
            leaf = sheet.leaf
            inside = leaf.inside if leaf.edition is None else leaf.edition.inside
            if leaf.old is None or inside is None:
                continue
            servers = self.session.servers(inside.path, language(self.session, inside))
            if leaf.was is None and servers:
                leaf.was = self.keep(pin(self.session, inside, leaf.old, servers))
                leaf.old_version = leaf.was.version

    def _texts(self, files: Mapping[str, Inside]) -> dict[str, str | None]:
        """The files' texts as they are on the disk; None where there is none to be had."""
        texts: dict[str, str | None] = {}
        for key, inside in files.items():
            texts[key] = None
            with suppress(OmbudError):
                texts[key] = read(self.session.fence, inside, FILE_LIMIT).text
        return texts

    def keep(self, document: Document) -> Document:
        """Note that a document was pinned, so that `release` lets go of it."""
        self._pinned.append(document)
        return document

    def release(self) -> None:
        """Let go of queues and documents."""
        for part in self.parts:
            part.release()
            part.yield_turn()
        while self._pinned:
            self.hub.documents.unpin(self._pinned.pop())

    # -- the write ----------------------------------------------------------------------------------------------

    async def _baselines(self) -> None:
        """Wait for what servers say of the old texts, for half of the time at most: some of them read the disk."""
        half = (self.end - time.monotonic()) / 2
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, half)):
                for part in self.parts:
                    await part.based.wait()

    async def _alone(self) -> None:
        """Commit where no server is asked what it breaks; those that have a file open see its new text all the same."""
        await self.disk.commit()
        self.disk.tell()

    async def _land(self) -> None:
        """Commit. One file is looked at by servers meanwhile; it waits at the gates that are still closed.

        Where the commit fails they are shown the old text again: nothing that was not written is left with them.
        Several are shown once they are all there, since servers look on the disk for what is not open in them.
        """
        # The client may have typed while the baselines were waited for.
        no_unsaved(self.session, self.plan.editions)
        changed = [leaf for leaf in self.leaves if leaf.was is not None and leaf.edition and leaf.edition.to is None]
        changed = [leaf for leaf in changed if leaf.new is not None]
        early = len(self.leaves) == len(changed) == 1
        if early:
            self.show(changed)
            self.shown.set_result(None)
        long = asyncio.get_running_loop().call_later(COMMIT_SECONDS, self._let_others)
        try:
            await self.disk.commit()
        except BaseException:
            for leaf in changed if early else ():
                assert leaf.was is not None
                self.hub.documents.replace(leaf.was, leaf.old or "")
            raise
        finally:
            long.cancel()
        if not early:
            self.show(changed)
        self.disk.tell([leaf.was for leaf in changed if leaf.was is not None])
        self._open_new()
        # Only now: some servers read what a file is made of from the disk, whatever they are shown.
        self._built_anew(changed)
        self.speak_anew()
        if not early:
            self.shown.set_result(None)
        self.saved.set_result(None)

    def _let_others(self) -> None:
        """Let pass what waits for servers that have spoken of the old texts, without waiting for the new ones."""

        async def let(part: Part) -> None:
            await part.based.wait()
            part.release()

        for part in self.parts:
            self.hub.spawn(let(part))

    def show(self, changed: Sequence[Leaf]) -> None:
        """Show the new texts of files that are there."""
        for leaf in changed:
            assert leaf.was is not None
            self.hub.documents.replace(leaf.was, leaf.new or "", anew=len(changed) > 1)
            leaf.now, leaf.version = leaf.was, leaf.was.version

    def _built_anew(self, changed: Sequence[Leaf]) -> None:
        """Have files that are written together built anew, since one may be made of another.

        A save makes clangd look at all of them again, and forget that it was to read the headers anew.
        """
        for leaf in changed if len(changed) > 1 else ():
            assert leaf.was is not None
            if any(server.entry.diagnostics.reopened for server in self.hub.servers_of(leaf.was.uri)):
                self.hub.speak_anew(leaf.was)
                leaf.version = leaf.was.version

    def speak_anew(self, parts: Sequence[Part] | None = None) -> None:
        """Have the files that could break spoken of anew: servers that push do so for a new version only.

        ``parts``: only those that these look at; None for all.
        """
        for leaf in self.breakable_leaves(self.parts if parts is None else parts):
            assert leaf.was is not None
            if breakable.pushed(self.hub, leaf.was):
                self.hub.speak_anew(leaf.was)
            leaf.now, leaf.version = leaf.was, leaf.was.version

    def breakable_leaves(self, parts: Sequence[Part]) -> Iterable[Leaf]:
        """The files that are looked at and not written, each once."""
        sheets = (sheet for part in parts for sheet in (*part.sheets, *part.dependents))
        return dict.fromkeys(sheet.leaf for sheet in sheets if sheet.leaf.edition is None and sheet.leaf.was)

    def _open_new(self) -> None:
        """Open the files that are new, or have a new name."""
        for leaf in self.leaves:
            edition = leaf.edition
            if leaf.now is None and edition is not None and edition.new is not None:
                servers = [part.server for part in self.parts for sheet in part.sheets if sheet.leaf is leaf]
                leaf.now = self.keep(pin(self.session, edition.target, edition.new, servers))
                leaf.version = leaf.now.version

    # -- one server ---------------------------------------------------------------------------------------------

    async def _part(self, part: Part) -> None:
        try:
            if part.verdict is None and await self._before(part) and self.plan.options.report == "wait":
                await self._after(part)
        except OmbudError as error:
            part.failed(error)
        finally:
            self.session.series.lost(self, part)
            part.finish()
            part.release()
            self.over(part)

    def over(self, part: Part) -> None:
        """The server has said all that it was asked for: the next write may begin there."""
        part.yield_turn()

    async def _before(self, part: Part) -> bool:
        """What the server says of the old texts; False where that is not to be had."""
        assert part.gate is not None
        await part.gate.reached()
        known = [sheet for sheet in part.sheets if sheet.base is None and sheet.leaf.was is not None]
        verdict = await self.settled(
            part, [(sheet, sheet.leaf.was, sheet.leaf.old_version) for sheet in known], BASELINE_SECONDS
        )
        if verdict.freshness != "fresh":
            part.settled(verdict)
            return False
        for sheet in part.sheets:
            if sheet.base is None:
                items = self.items(part, sheet.leaf.was) if sheet.leaf.was is not None else []
                edition = sheet.leaf.edition
                path = edition.inside.relative if edition is not None else sheet.leaf.path
                sheet.base = Base(tuple(items), sheet.leaf.old or "", path)
        await breakable.find(self, part)
        part.others = breakable.others(self, part)
        self.session.series.based(self, part)
        part.based.set()
        return True

    async def _after(self, part: Part) -> None:
        """What the server says of the new texts, and of the files that could break."""
        await self.reach(part)
        unwritten = any(sheet.leaf.now is None or sheet.leaf.edition is None for sheet in part.sheets)
        if part.server.entry.diagnostics.on_save or unwritten:
            # What it said between the sight of the new text and the save was said of the old file.
            await asyncio.shield(self.saved)
        if part.configured:
            await asyncio.shield(self.saved)
            await breakable.reloaded(self, part)
        there = [sheet for sheet in part.sheets if sheet.leaf.now is not None]
        verdict = await self.settled(
            part,
            [(sheet, sheet.leaf.now, sheet.leaf.version) for sheet in there],
            LATE_SECONDS,
            after=True,
            ordered=self.ordered,
        )
        if verdict.freshness == "fresh":
            for sheet in part.sheets:
                sheet.after = self.items(part, sheet.leaf.now) if sheet.leaf.now is not None else []
            # The commit may yet fail, and then nobody must have heard of it. Besides, some servers read from the disk
            # what others are made of.
            await asyncio.shield(self.saved)
            if self.mapped is not None:
                await asyncio.shield(self.mapped)
            for sheet in part.sheets:
                self.compare(part, sheet)
        if not part.configured:
            part.settled(verdict)
        if verdict.freshness == "fresh":
            await breakable.check(self, part, LATE_SECONDS)
        if part.configured:
            # What its settings do to other files is all that is asked for.
            part.settled(verdict)

    async def reach(self, part: Part) -> None:
        """Until the server has been sent the new texts."""
        await asyncio.shield(self.shown)
        part.release()

    async def settled(
        self,
        part: Part,
        asked: Sequence[tuple[Sheet, Document | None, int]],
        seconds: float,
        *,
        after: bool = False,
        ordered: bool = False,
    ) -> Verdict:
        """Wait until the server has spoken of each document in that version; the worst of the verdicts.

        ``after``: of the new texts. ``ordered``: in the server's queue, and not past it.
        """
        count = self.hub.store.world(part.server).count

        async def one(sheet: Sheet, document: Document | None, version: int) -> Verdict:
            assert document is not None
            # A text that was just sent under a new version is evidence enough of the present world.
            new = after and (sheet.leaf.edition is not None or breakable.pushed(self.hub, document))
            sheet.verdict = await settle(
                self.hub.store,
                part.server,
                document.key,
                document.uri,
                version,
                seconds,
                ordered=ordered,
                exact=True,
                world=0 if new else count,
            )
            return sheet.verdict

        verdicts = await asyncio.gather(*(one(*each) for each in asked))
        fresh = Verdict(part.server.name, "fresh", 0)
        return next((verdict for verdict in verdicts if verdict.freshness != "fresh"), fresh)

    def items(self, part: Part, document: Document) -> list[Item]:
        """What the server says of a document now."""
        return self.wanted(decode(part.server.name, self.hub.store.track(part.server, document.key).joined()))

    def wanted(self, items: Iterable[Item]) -> list[Item]:
        """Hints count only where they were asked for."""
        return [item for item in items if self.plan.options.hints or item.severity != "hint"]

    def compare(self, part: Part, sheet: Sheet) -> None:
        """Take the difference, and note that the session is about to hear of it."""
        sheet.delta = sheet.compared()
        document = sheet.leaf.now or sheet.leaf.was
        key = document.key if document is not None else sheet.key
        self.session.introduced.wrote(key, part.server, sheet.after or (), sheet.leaf.new)

    # -- the answer ---------------------------------------------------------------------------------------------

    async def _answered(self, tasks: dict[asyncio.Task[None], Part]) -> None:
        """Wait until all is said, or the caller's time is over; the files that could break get a share of it only."""
        if self.plan.options.report != "wait":
            return
        edited = [asyncio.ensure_future(part.edited.wait()) for part in tasks.values()]
        try:
            await asyncio.wait(edited, timeout=max(0.0, self.end - time.monotonic()))
            left = min(self.end - time.monotonic(), self.plan.options.wait_ms / 1000 * self.share)
            await asyncio.wait(tasks, timeout=max(0.0, left))
        finally:
            for one in edited:
                one.cancel()

    def give_up(self, tasks: dict[asyncio.Task[None], Part]) -> None:
        """It was not made; or it was, and the caller has gone meanwhile: what it did is followed all the same."""
        if self.saved.done():
            self.hub.spawn(self._follow(tasks))
            return
        for task in tasks:
            task.cancel()
        self.release()

    def rest(self, tasks: dict[asyncio.Task[None], Part]) -> None:
        self.hub.spawn(self._follow({task: part for task, part in tasks.items() if not task.done()}))

    async def _follow(self, late: dict[asyncio.Task[None], Part]) -> None:
        """Hear the late servers out, and send on what each one found; the documents stay open until then."""
        waiting = set(late)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                found = [part for task, part in late.items() if task in done and part.news]
                if found and self.session.configuration.diagnostics.notify and self.plan.options.report == "wait":
                    tell(self, found)
        finally:
            self.release()
