"""One change of one file, told in the same breath what it broke: baseline, commit, and the difference.

Every server that claims the file gets a gate in its queue: behind the old text, before the new one. While the gate is
closed the server speaks about the old text (the baseline); then the new text goes through and the server speaks about
that. A server that is slow delays neither the commit nor the others: its own part goes on behind the answer, and what
it finds follows as ``ombud/introducedDiagnostics`` with the ``writeId`` (D3, D4, D9).
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from ombud.diagnostics.fresh import Verdict, settle
from ombud.diagnostics.items import Item, decode
from ombud.diagnostics.ledger import Delta, compare
from ombud.downstream.queue import Gate
from ombud.downstream.server import Server
from ombud.errors import OmbudError, Refused
from ombud.guard.fence import FileBytes, Inside
from ombud.operations.shapes import DiagnosticShape, FreshnessShape, Shape, diagnostic, freshness
from ombud.operations.targets import language, pin
from ombud.text.diff import LineMap, line_map, stat
from ombud.text.lines import LineIndex
from ombud.workspace.documents import Document
from ombud.workspace.events import CHANGED, CREATED

if TYPE_CHECKING:
    from ombud.operations.buffers import Target
    from ombud.operations.session import Session

LATE_SECONDS = 120.0
"""How long a server that had no answer in time is still listened to for a write."""
BASELINE_SECONDS = 30.0
"""How long a server may take to speak about the old text before it is shown the new one without a baseline."""
LOOKS_AT_FILES = "It looks at saved files only, and the change is in an open buffer."
_NUMBERS = itertools.count(1)

Buffers = Annotated[
    Literal["refuse", "edit"],
    msgspec.Meta(
        description="refuse: write the file, but not where a client has unsaved changes of it; edit: change the buffer "
        "of the client that has it open, and leave saving it to the user."
    ),
]


class FileShape(Shape, omit_defaults=True):
    path: str
    status: Literal["created", "modified", "deleted", "renamed"]
    added: int
    removed: int


class DiagnosticsShape(Shape):
    introduced: list[DiagnosticShape]
    resolved: list[DiagnosticShape]
    still_present: int
    servers: list[FreshnessShape]
    checked_dependents: list[str]


class WriteResult(Shape, omit_defaults=True):
    """The answer to a write. ``applied`` is the first key, so that a reader who stops early knows (D6)."""

    applied: bool
    message: str
    files: list[FileShape]
    write_id: str
    diagnostics: DiagnosticsShape | None
    note: str | None = None
    """Says so where the change is in a client's buffer and not on the disk."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be written: ``old`` and ``new`` are texts, ``before`` and ``after`` the bytes on disk."""

    inside: Inside
    before: FileBytes | None
    after: bytes
    old: str | None
    new: str
    wait_ms: int
    report: Literal["wait", "none"]
    hints: bool
    buffer: Target | None = None
    """The buffer that is edited in place of the file; ``old`` is its text then."""


@dataclass(slots=True)
class Part:
    """One server's share of a write. Its own task fills it in; `done` when it has nothing more to say."""

    server: Server
    gate: Gate | None = None
    baseline: list[Item] | None = None
    based: asyncio.Event = field(default_factory=asyncio.Event)
    delta: Delta | None = None
    verdict: Verdict | None = None
    started: float = field(default_factory=time.monotonic)

    def failed(self, error: OmbudError) -> None:
        self.verdict = Verdict(self.server.name, "unavailable", self.elapsed, error.message)
        self.based.set()

    @property
    def elapsed(self) -> int:
        return round((time.monotonic() - self.started) * 1000)


async def apply(session: Session, plan: Plan) -> WriteResult:
    """Commit ``plan`` and report. Raises `Refused` where nothing was written (``conflict``, ``file_changed``, …).

    The caller holds ``hub.writing`` of the file since before it read it, so that two writes of one file follow each
    other and the second one is made on what the first one left.
    """
    write_id = f"w{next(_NUMBERS)}"
    if plan.buffer is None:
        _no_unsaved(session, plan)
    counted, mapped = await asyncio.to_thread(_differences, plan)
    claiming = session.servers(plan.inside.path, language(session, plan.inside)) if plan.report == "wait" else []
    servers = [server for server in claiming if server.entry.serves("diagnostics")]
    if not servers:
        await _to_the_end(_write_alone(session, plan))
        return _result(plan, write_id, [], counted, no_server=plan.report == "wait")
    if plan.buffer is not None:
        from ombud.operations.buffers import Typing

        return await Typing(session, plan, servers, write_id, counted, mapped).run()
    return await Course(session, plan, servers, write_id, counted, mapped).run()


def _differences(plan: Plan) -> tuple[tuple[int, int], LineMap]:
    """Lines added and removed, and where each went; seconds of work for millions of lines."""
    return stat(plan.old or "", plan.new), line_map(plan.old or "", plan.new)


def _no_unsaved(session: Session, plan: Plan) -> None:
    """A file with an open buffer that differs from the disk is not written under its editor's hands."""
    documents = session.hub.documents.of_path(plan.inside.path)
    unsaved = [
        owner
        for document in documents
        for owner, text in session.hub.owners(document).items()
        if text.unsaved(plan.old)
    ]
    if unsaved:
        names = sorted({owner.client.name for owner in unsaved})
        raise Refused(
            f"{plan.inside.relative} has unsaved changes in {', '.join(names)}; save or revert it there, then try "
            "again.",
            kind="conflict",
            path=plan.inside.relative,
            clients=names,
        )


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await ``work`` to its end, also when the caller is cancelled meanwhile.

    A commit that has begun cannot be called back, so what it wrote must be shown to the servers as well. Raises what
    ``work`` raised, else the cancellation once it is over.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled


async def _write_alone(session: Session, plan: Plan) -> None:
    """Commit without asking anybody what it breaks; servers that have the file open see the new text all the same."""
    if plan.buffer is not None:
        from ombud.operations.buffers import hand_over

        await hand_over(session, plan, time.monotonic() + plan.wait_ms / 1000)
        return
    await _commit(session, plan)
    _written(session, plan)


async def _commit(session: Session, plan: Plan) -> None:
    from ombud.workspace.commit import Change, commit
    from ombud.workspace.state import journal_folder

    kind: Literal["modify", "create"] = "create" if plan.before is None else "modify"
    await session.hub.recovered()
    change = Change(kind, plan.inside, before=plan.before, after=plan.after)
    await asyncio.to_thread(commit, session.fence, [change], journal_folder())


def _written(session: Session, plan: Plan, shown: Document | None = None) -> None:
    """Tell servers that the file was written: those that have it open, under any name, and those that watch the disk.

    ``shown`` is the document that was shown the new text before.
    """
    for document in session.hub.documents.of_path(plan.inside.path):
        if document is not shown:
            session.hub.documents.replace(document, plan.new)
        session.hub.documents.written(document)
    kind = CREATED if plan.before is None else CHANGED
    session.hub.watch.wrote(plan.inside.path, plan.inside.spelled_uri, kind)


class Course:
    """The course of one write with servers. The commit happens once; each server's part is a task of its own."""

    def __init__(
        self,
        session: Session,
        plan: Plan,
        servers: Sequence[Server],
        write_id: str,
        counted: tuple[int, int],
        mapped: LineMap,
    ) -> None:
        self._session = session
        self._plan = plan
        self._hub = session.hub
        self._write_id = write_id
        self._parts = [Part(server) for server in servers]
        self._document: Document | None = None
        self._end = 0.0
        """When the caller wants to be answered, in monotonic seconds."""
        self._old_version = 0
        self._shown: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """The document's version with the new text, once servers are shown it."""
        self._saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once the file is written and servers are told so."""
        self._counted = counted
        self._map = mapped

    async def run(self) -> WriteResult:
        self._end = end = time.monotonic() + self._plan.wait_ms / 1000
        servers = [part.server for part in self._parts]
        self._document = self._held(servers)
        if self._document is not None:
            self._old_version = self._document.version
        for part in self._parts:
            self._begin(part)
        tasks = {self._hub.spawn(self._course(part)): part for part in self._parts}
        try:
            await self._baselines(end)
            await _to_the_end(self._write(servers))
        except BaseException:
            for task in tasks:
                task.cancel()
            self._release()
            raise
        try:
            await asyncio.wait(tasks, timeout=max(0.0, end - time.monotonic()))
        finally:
            # Also for a caller that has given up: the file is written, and the servers must be let go of.
            self._hub.spawn(self._follow({task: part for task, part in tasks.items() if not task.done()}))
        return _result(self._plan, self._write_id, self._parts, self._counted)

    def _held(self, servers: list[Server]) -> Document | None:
        """The document as it was, held open in its servers; None where there was none."""
        return None if self._plan.old is None else pin(self._session, self._plan.inside, self._plan.old, servers)

    def _begin(self, part: Part) -> None:
        """Start the server where needed, and put its gate behind the old text."""
        try:
            part.server.need()
            if self._document is not None:
                part.gate = part.server.gate()
        except OmbudError as error:
            part.failed(error)

    async def _baselines(self, end: float) -> None:
        """Wait for what servers say of the old text, for half of the time at most: some of them read the disk."""
        half = (end - time.monotonic()) / 2
        with suppress(TimeoutError):
            async with asyncio.timeout(max(0.0, half)):
                for part in self._parts:
                    await part.based.wait()

    async def _write(self, servers: list[Server]) -> None:
        """Commit, while the servers already look at the new text; it waits at the gates that are still closed.

        Where the commit fails they are shown the old text again: nothing that was not written is left with them.
        """
        # The client may have typed while the baselines were waited for.
        _no_unsaved(self._session, self._plan)
        document = self._document
        if document is None:
            await _commit(self._session, self._plan)
            document = self._document = pin(self._session, self._plan.inside, self._plan.new, servers)
            self._shown.set_result(document.version)
        else:
            self._hub.documents.replace(document, self._plan.new)
            self._shown.set_result(document.version)
            try:
                await _commit(self._session, self._plan)
            except BaseException:
                self._hub.documents.replace(document, self._plan.old or "")
                raise
        _written(self._session, self._plan, document)
        self._saved.set_result(None)

    async def _course(self, part: Part) -> None:
        """One server: baseline, gate open, and the difference."""
        if part.verdict is not None:
            return
        try:
            if part.gate is not None and self._document is not None:
                await part.gate.reached()
                verdict = await self._settle(part, self._old_version, BASELINE_SECONDS, ordered=False)
                if verdict.freshness != "fresh":
                    part.verdict = verdict
                    return
                part.baseline = self._items(part)
            else:
                part.baseline = []
            part.based.set()
            if part.gate is not None and self._plan.buffer is not None:
                # Its client may have to ask its user, and nobody else must wait for that.
                part.gate.release()
            version = await asyncio.shield(self._shown)
            if part.gate is not None:
                part.gate.release()
            if part.server.entry.diagnostics.on_save:
                if self._plan.buffer is not None:
                    part.verdict = Verdict(part.server.name, "unavailable", part.elapsed, LOOKS_AT_FILES)
                    return
                # What it said between the sight of the new text and the save was said of the old file.
                await asyncio.shield(self._saved)
            verdict = await self._settle(part, version, LATE_SECONDS, ordered=True)
            if verdict.freshness == "fresh":
                part.delta = self._compare(part)
            part.verdict = Verdict(part.server.name, verdict.freshness, part.elapsed, verdict.reason)
        except OmbudError as error:
            part.failed(error)
        finally:
            part.based.set()
            if part.gate is not None:
                part.gate.release()

    async def _settle(self, part: Part, version: int, seconds: float, *, ordered: bool) -> Verdict:
        document = self._document
        assert document is not None
        return await settle(
            self._hub.store, part.server, document.key, document.uri, version, seconds, ordered=ordered, exact=True
        )

    def _items(self, part: Part) -> list[Item]:
        assert self._document is not None
        items = decode(part.server.name, self._hub.store.track(part.server, self._document.key).joined())
        return [item for item in items if self._plan.hints or item.severity != "hint"]

    def _compare(self, part: Part) -> Delta:
        return compare(part.baseline or [], self._items(part), self._map.to_new, self._map.touched.__contains__)

    def _release(self) -> None:
        for part in self._parts:
            if part.gate is not None:
                part.gate.release()
        if self._document is not None:
            self._hub.documents.unpin(self._document)

    async def _follow(self, late: dict[asyncio.Task[None], Part]) -> None:
        """Hear the late servers out, and send on what each one found; the document stays open until then."""
        waiting = set(late)
        try:
            while waiting:
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                found = [part for task, part in late.items() if task in done and part.delta is not None]
                if found and self._session.configuration.diagnostics.notify:
                    self._tell(found)
        finally:
            self._release()

    def _tell(self, parts: list[Part]) -> None:
        shapes = _report(self._plan, parts)
        self._session.tell(
            "ombud/introducedDiagnostics",
            {
                "cause": "write",
                "writeId": self._write_id,
                "diagnostics": msgspec.to_builtins(shapes.introduced),
                "resolved": msgspec.to_builtins(shapes.resolved),
                "servers": msgspec.to_builtins(shapes.servers),
            },
        )


def _report(plan: Plan, parts: Sequence[Part]) -> DiagnosticsShape:
    old, new = LineIndex(plan.old or ""), LineIndex(plan.new)
    path = plan.inside.relative
    introduced: list[DiagnosticShape] = []
    resolved: list[DiagnosticShape] = []
    still = 0
    servers = []
    for part in parts:
        verdict = part.verdict
        if verdict is None:
            reason = f"{part.server.name} had not reported in time; what it finds follows by notification."
            verdict = Verdict(part.server.name, "timed_out", part.elapsed, reason)
        servers.append(freshness(verdict))
        if part.delta is not None:
            introduced += [diagnostic(path, item, new) for item in part.delta.introduced]
            resolved += [diagnostic(path, item, old) for item in part.delta.resolved]
            still += part.delta.still_present
    return DiagnosticsShape(
        introduced=introduced, resolved=resolved, still_present=still, servers=servers, checked_dependents=[]
    )


def _result(
    plan: Plan, write_id: str, parts: Sequence[Part], counted: tuple[int, int], *, no_server: bool = False
) -> WriteResult:
    added, removed = counted
    created = plan.before is None
    shape = FileShape(
        path=plan.inside.relative, status="created" if created else "modified", added=added, removed=removed
    )
    report = _report(plan, parts) if plan.report == "wait" else None
    note = None
    if plan.buffer is not None:
        shape.status = "modified"
        name = plan.buffer.name
        note = f"The change is in the buffer of {name} and not saved; the file on disk is as it was."
        if not plan.buffer.holds(plan.new):
            # Neovim says so, too, where it leaves an edit alone since its user was faster.
            note = f"{name} says that it made the change, but has not told of exactly this text; look at it there."
    return WriteResult(
        applied=True,
        message=_words(shape, report, no_server=no_server, in_buffer=note is not None) + (f" {note}" if note else ""),
        note=note,
        files=[shape],
        write_id=write_id,
        diagnostics=report,
    )


def _words(file: FileShape, report: DiagnosticsShape | None, *, no_server: bool, in_buffer: bool) -> str:
    """What a reader takes away: what was written first, then what it broke, then what is not known (D4, D6)."""
    verb = "Created" if file.status == "created" else "Changed" if in_buffer else "Wrote"
    out = f"{verb} {file.path} (+{file.added} −{file.removed})."
    if report is None:
        return out + " Diagnostics were not asked for."
    if no_server:
        return out + " No language server watches this file, so nothing is known of what it broke."
    introduced, resolved = len(report.introduced), len(report.resolved)
    unsure = [server.name for server in report.servers if server.freshness != "fresh"]
    have = "has" if len(unsure) == 1 else "have"
    unknown = f" Not known yet: {', '.join(unsure)} {have} not answered for this content."
    if len(unsure) == len(report.servers):
        return out + unknown
    out += f" In this file: introduced {_count(introduced)}, resolved {resolved}, {report.still_present} still there."
    return out + (unknown if unsure else "")


def _count(number: int) -> str:
    return "1 diagnostic" if number == 1 else f"{number} diagnostics"
