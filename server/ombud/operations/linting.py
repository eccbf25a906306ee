"""The workspace's rules in the editor: their findings in open files as diagnostics, and their fixes as quick fixes.

A workspace without rules costs a look at whether there are any, and nothing is imported. What a client types is looked
at once it pauses; a file of rules that changes makes all open files be looked at anew.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from ombud.errors import OmbudError
from ombud.guard.uris import same_uri_key
from ombud.wire.values import dump

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.structural.ruling import Finding
    from ombud.structural.rules import Rules
    from ombud.workspace.documents import ClientText, Document

LOG = logging.getLogger("ombud.linting")
FOLDER = Path(".ombud", "rules")
SOURCE = "ombud"
"""The ``source`` of our own diagnostics."""
DELAY = 0.2
"""Seconds without a change before a text is looked at."""
SECONDS = 20.0
RULE_SECONDS = 5.0
"""How long all rules, and one of them, may take with one file."""
MOST = 500
"""Diagnostics of one file."""
_SEVERITY = {"error": 1, "warning": 2, "information": 3, "hint": 4}

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was found in a text of the client's. ``items`` are its diagnostics, in the order of ``findings``."""

    text: str
    stamp: Stamp
    findings: tuple[Finding, ...]
    items: tuple[Raw, ...]


class Linting:
    """See the module. One for each session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._looks: dict[str, asyncio.Task[None]] = {}
        self._kept: dict[str, Kept] = {}
        self._book: Rules | None = None
        self._stamp: Stamp = ()
        self._slow: set[str] = set()
        """Rules that took too long once, and are left out until a file of rules changes."""
        self._reading = asyncio.Lock()
        self._closed = False

    # -- what the client does -----------------------------------------------------------------------------------

    def heard(self, uri: str, delay: float = DELAY) -> None:
        """A document was opened or changed by the client."""
        key = same_uri_key(uri)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        if not self._closed:
            self._timers[key] = asyncio.get_running_loop().call_later(delay, self._due, key)

    def left(self, uri: str) -> None:
        """The client closed a document."""
        key = same_uri_key(uri)
        timer = self._timers.pop(key, None)
        if timer is not None:
            timer.cancel()
        self._drop(key)

    def files_changed(self, paths: Sequence[Path]) -> None:
        """Files changed on disk or were saved; if they are rules, all that is open is looked at anew."""
        if any(self._is_rule(path) for path in paths):
            self.again()

    def again(self) -> None:
        """Look at every open document once more: there are other rules, or other folders."""
        for document in self._session.hub.documents.all():
            if self._session in document.owners:
                self.heard(document.uri)

    def close(self) -> None:
        self._closed = True
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for task in self._looks.values():
            task.cancel()

    # -- what is known ------------------------------------------------------------------------------------------

    def items(self, key: str) -> tuple[Raw, ...]:
        """The diagnostics of a document that the client has open."""
        kept = self._kept.get(key)
        return () if kept is None else kept.items

    @property
    def speaks(self) -> bool:
        """Whether anything was found in any open document."""
        return any(one.items for one in self._kept.values())

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong with the rules, as far as they were read."""
        if self._book is None:
            return ()
        rules = ((f" (rule {one.rule})" if one.rule else "", one) for one in self._book.problems)
        return tuple(f"{one.path}{rule}: {one.message}" for rule, one in rules)

    async def present(self, uri: str) -> Kept | None:
        """What is found in the client's text as it is now. Raises nothing for what cannot be looked at."""
        key = same_uri_key(uri)
        found = self._open(key)
        kept = self._kept.get(key)
        if found is not None and kept is not None and kept.text == found[1].text:
            return kept
        await self._look(key)
        return self._kept.get(key)

    # -- looking ------------------------------------------------------------------------------------------------

    def _due(self, key: str) -> None:
        self._timers.pop(key, None)
        former = self._looks.get(key)
        if former is not None and not former.done():
            former.cancel()
        if self._exist():
            task = self._looks[key] = self._session.hub.spawn(self._look(key))
            task.add_done_callback(lambda done: self._looks.pop(key, None) if self._looks.get(key) is done else None)
        else:
            self._book, self._stamp = None, ()
            self._drop(key)

    def _exist(self) -> bool:
        """Whether there may be rules at all."""
        folders = self._session.fence.folders
        return bool(self._session.configuration.rules) or any((folder / FOLDER).is_dir() for folder in folders)

    def _is_rule(self, path: Path) -> bool:
        if any(path.is_relative_to(folder / FOLDER) for folder in self._session.real_folders):
            return True
        known = self._session.known_configuration
        roots = self._session.real_folders[:1]
        return known is not None and any(path.is_relative_to(root / one) for root in roots for one in known.rules)

    def _open(self, key: str) -> tuple[Document, ClientText] | None:
        document = self._session.hub.documents.at(key)
        if document is None or self._session not in document.owners:
            return None
        return document, self._session.hub.owners(document)[self._session]

    async def _look(self, key: str) -> None:
        found = self._open(key)
        if found is None or not found[0].uri.startswith("file:"):
            return
        document, own = found
        text = own.text
        try:
            book, stamp = await self._rules()
            former = self._kept.get(key)
            if former is not None and former.text == text and former.stamp == stamp:
                return
            findings = await self._run(document, text, book) if book.rules else []
        except OmbudError as error:
            LOG.info("%s was not looked at: %s", document.path.name, error.message)
            return
        now = self._open(key)
        if self._closed or now is None or now[1].text != text:
            # Another look is on its way.
            return
        self._keep(key, Kept(text, stamp, tuple(findings), tuple(_diagnostic(one) for one in findings)))

    async def _rules(self) -> tuple[Rules, Stamp]:
        """The rules as they are on disk now; read again only where one of their files is another."""
        from ombud.operations.structural.rulebook import rulebook

        async with self._reading:
            stamp = await asyncio.to_thread(_stamp, self._session)
            if self._book is None or stamp != self._stamp:
                self._book, self._stamp = await rulebook(self._session), stamp
                self._slow.clear()
            return self._book, self._stamp

    async def _run(self, document: Document, text: str, book: Rules) -> list[Finding]:
        from ombud.operations.structural.rulebook import only
        from ombud.operations.structural.ruling import Files, Ruling
        from ombud.structural.messages import Opened, Root
        from ombud.syntax.grammars import GRAMMARS
        from ombud.syntax.languages import canonical

        session, language = self._session, canonical(document.language)
        mine = only(book, language)
        folder = next((one for one in session.fence.folders if document.path.is_relative_to(one)), None)
        if language not in GRAMMARS or not mine.rules or folder is None:
            return []
        path = session.fence.resolve(str(document.path), intent="write").path.relative_to(folder).as_posix()
        configuration = session.configuration
        root = Root(
            str(folder), path, True, language, list(configuration.sensitive_add), list(configuration.sensitive_allow)
        )
        source = text.removeprefix("\ufeff").encode("utf-8", "replace")

        async def same(_number: int, _path: str) -> bytes:
            return source

        opened = [Opened(0, path, language, source)]
        files = Files([root], opened, same, configuration.trusted is not False, (language,))
        while True:
            for name in self._slow:
                mine.rules.pop(name, None)
            ran = await Ruling(session.hub.searches.searcher, files, SECONDS, RULE_SECONDS).run(mine)
            slow = ran.slow - self._slow
            if not slow:
                return ran.findings[:MOST]
            # The others may not have had their time.
            for name in slow:
                book.problem(book.rules[name].path, "It took too long and is left out while files are edited.", name)
            self._slow |= slow

    # -- telling ------------------------------------------------------------------------------------------------

    def _keep(self, key: str, kept: Kept) -> None:
        former = self.items(key)
        self._kept[key] = kept
        if [bytes(one) for one in former] != [bytes(one) for one in kept.items]:
            self._session.showing.changed(key)

    def _drop(self, key: str) -> None:
        former = self._kept.pop(key, None)
        if former is not None and former.items:
            self._session.showing.changed(key)


def _stamp(session: Session) -> Stamp:
    """What tells one state of the files of rules from another."""
    from ombud.operations.structural.rulebook import files, places

    out = []
    for inside in places(session):
        for path in files(session, inside):
            try:
                status = os.stat(path)  # noqa: PTH116 - one call, and no link is followed out: the fence reads it
            except OSError:
                continue
            out.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(out)


def _diagnostic(finding: Finding) -> Raw:
    from ombud.operations.structural.ground import range_of

    rule = finding.rule
    text = finding.message + (f"\n{rule.note.strip()}" if rule.note else "")
    item: dict[str, Any] = {
        "range": range_of(finding.hit.place),
        "severity": _SEVERITY[rule.severity],
        "code": rule.id,
        "source": SOURCE,
        "message": text,
    }
    if rule.url:
        item["codeDescription"] = {"href": rule.url}
    return Raw(dump(item))
