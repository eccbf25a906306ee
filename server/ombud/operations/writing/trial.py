"""A preview: servers are shown what would be written and say what it would introduce; then all is as before.

In each server's queue stand, one behind the other: the old texts, a gate, the new texts, a gate, and the old texts
again, all put there in one go. Whatever comes for the server meanwhile waits behind the second gate and so never meets
the new texts; what the server says of them is kept from clients (`ombud.diagnostics.store.Store.veiled`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from functools import cached_property
from typing import TYPE_CHECKING

from ombud.diagnostics.fresh import settle
from ombud.errors import OmbudError
from ombud.operations.targets import pin
from ombud.operations.writing import breakable
from ombud.operations.writing.course import Course
from ombud.operations.writing.disk import no_unsaved
from ombud.operations.writing.importers import imports

if TYPE_CHECKING:
    from ombud.downstream.queue import Gate
    from ombud.operations.session import Session
    from ombud.operations.writing.leaf import Leaf, Part, Sheet
    from ombud.operations.writing.plan import Plan
    from ombud.workspace.documents import Document

LOOKED_THROUGH = 4_000_000
"""Characters that are looked through for imports of new files, for each of these, while everybody waits."""
BACK_SECONDS = 30.0
"""How long a server may take to speak of the old texts again, until clients are shown what it says all the same."""
SAVED_ONLY = "It looks at saved files only, so a preview cannot show it the change."
GONE = "It sees on the disk which files there are, so a preview cannot show it {names} deleted or moved."
MIXED = "It can use {names} only once that is on the disk, so a preview of what uses it cannot be right."
SETTINGS = "It reads its settings from the disk, so a preview cannot show it the change of {names}."


class Trial(Course):
    """See the module. Nothing of it reaches the disk, a client's buffer, or what the session has heard."""

    ordered = False
    share = 1.0
    """Nothing of it follows later, so all of it is waited for while the caller waits."""

    def __init__(self, session: Session, plan: Plan, write_id: str) -> None:
        super().__init__(session, plan, write_id)
        self._veils = ExitStack()
        self._gates: dict[Part, Gate] = {}
        """The second gates, in front of the old texts."""
        self._made: list[Document] = []

    def _divide(self, texts: Mapping[str, str | None]) -> None:
        super()._divide(texts)
        for part in self.parts:
            blind = self._blind(part)
            if blind is not None:
                part.unknown(blind)

    def _blind(self, part: Part) -> str | None:
        """Why the server cannot be shown what the plan does."""
        profile = part.server.entry.diagnostics
        if profile.on_save or profile.check_progress:
            return SAVED_ONLY
        if part.configured:
            return SETTINGS.format(names=", ".join(leaf.path for leaf in self.leaves[:3]))
        gone = [leaf.edition.inside.relative for leaf in self.leaves if leaf.edition is not None and _moved(leaf)]
        if gone and part.server.entry.role == "types":
            return GONE.format(names=", ".join(gone[:3]))
        if not profile.overlays and (names := self._used_new):
            return MIXED.format(names=", ".join(names[:3]))
        return None

    @cached_property
    def _used_new(self) -> list[str]:
        """The new files that others of the plan import; all of them where that would take too long to look at."""
        editions = [(leaf.edition, leaf.new) for leaf in self.leaves if leaf.edition is not None]
        new = [edition for edition, _ in editions if edition.kind == "create"]
        texts = [(edition, text) for edition, text in editions if text is not None and [edition] != new]
        if len(new) * sum(max(len(text), 1000) for _, text in texts) > LOOKED_THROUGH:
            return [edition.target.relative for edition in new]
        found = []
        for edition, text in texts:
            path = edition.target.path
            language = self.session.detector.language(path) or ""
            found += [
                one.target.relative
                for one in new
                if one is not edition and imports(path, text, language, [one.target.path]) is not None
            ]
        return list(dict.fromkeys(found))

    async def _alone(self) -> None:
        """Nothing is written, and there is nobody to show it to."""

    async def _land(self) -> None:
        """Put the new texts and the old ones again into the queues, with a gate between."""
        no_unsaved(self.session, self.plan.editions)
        asked = [part for part in self.parts if part.gate is not None]
        for part in asked:
            self._veils.enter_context(self.hub.store.veiled(part.server))
        changed = [leaf for leaf in self.leaves if leaf.was is not None and leaf.new is not None and not _moved(leaf)]
        try:
            self.show(changed)
            self.speak_anew()
            for leaf in self.leaves:
                if leaf.now is None and leaf.new is not None:
                    self._made.append(self._open(leaf))
            for part in asked:
                with suppress(OmbudError):
                    self._gates[part] = part.server.gate()
        finally:
            for leaf in changed:
                assert leaf.was is not None
                self.hub.documents.replace(leaf.was, leaf.old or "", anew=len(changed) > 1)
            for leaf in self.breakable_leaves(self.parts):
                assert leaf.was is not None
                self.hub.speak_anew(leaf.was)
            for document in self._made:
                self.hub.documents.removed(document)
        self.shown.set_result(None)
        self.saved.set_result(None)

    def _open(self, leaf: Leaf) -> Document:
        """A file that would be new, or have a new name."""
        assert leaf.edition is not None and leaf.new is not None
        servers = [part.server for part in self.parts for sheet in part.sheets if sheet.leaf is leaf]
        leaf.now = self.keep(pin(self.session, leaf.edition.target, leaf.new, servers))
        leaf.version = leaf.now.version
        return leaf.now

    async def reach(self, part: Part) -> None:
        await super().reach(part)
        if part in self._gates:
            await self._gates[part].reached()

    def compare(self, part: Part, sheet: Sheet) -> None:  # noqa: ARG002  (nobody has heard of it)
        sheet.delta = sheet.compared()

    def over(self, part: Part) -> None:
        """The turn goes on until the server speaks of the old texts again: that is where the next write begins."""

    def _reported(self) -> None:
        """A preview ends no series."""

    def give_up(self, tasks: dict[asyncio.Task[None], Part]) -> None:
        """The second gates may stand already, whenever the caller gave up."""
        self.rest(tasks)

    def rest(self, tasks: dict[asyncio.Task[None], Part]) -> None:
        """Whoever has not answered by now is shown the old texts again, as the others are."""
        for task in tasks:
            task.cancel()
        for part in self.parts:
            part.release()
        for gate in self._gates.values():
            gate.release()
        self.hub.spawn(self._back())

    async def _back(self) -> None:
        """Wait until servers have spoken of the old texts again, then let clients hear them."""
        store = self.hub.store
        documents = {leaf.was for leaf in self.leaves if leaf.was is not None and not _moved(leaf)}
        documents |= {leaf.was for leaf in self.breakable_leaves(self.parts) if leaf.was is not None}
        try:
            await asyncio.gather(
                *(
                    settle(store, part.server, document.key, document.uri, document.version, BACK_SECONDS, needed=False)
                    for part in self._gates
                    for document in documents
                    if part.server in self.hub.servers_of(document.uri)
                )
            )
            for part in self._gates:
                # What it said of files that nobody has open would be the baseline of the next write.
                if part.server.entry.diagnostics.project_ms and part.server.accepting:
                    store.stir(part.server)
                    await breakable.quiet(self, part)
        finally:
            for part in self._gates:
                for document in self._made:
                    if self.hub.documents.at(document.key) is None:
                        store.never(part.server, document.key)
            self._veils.close()
            self.release()


def _moved(leaf: Leaf) -> bool:
    return leaf.edition is not None and leaf.edition.kind in ("delete", "rename")
