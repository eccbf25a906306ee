"""The files that a write could break: found, opened quietly, and asked about before and after.

Each server looks for its own: by references of what the write changes, by the settings it reads, and by what it says
unasked of files that nobody has open. All of it is bounded, in number and in time, and what was left out is told.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Raw

from ombud.diagnostics.fresh import settle
from ombud.diagnostics.items import decode
from ombud.errors import OmbudError
from ombud.guard.fence import Inside
from ombud.guard.uris import path_to_uri
from ombud.operations.shapes import FILE_LIMIT, Sources
from ombud.operations.targets import pin
from ombud.operations.writing.dependents import Found, Touched, affected, configures, dependents
from ombud.operations.writing.importers import importers
from ombud.operations.writing.leaf import Base, Leaf, Part, Sheet
from ombud.operations.writing.plan import DEPENDENTS_SHARE
from ombud.workspace.files import read

if TYPE_CHECKING:
    from ombud.diagnostics.store import Track
    from ombud.downstream.server import Server
    from ombud.operations.hub import Hub
    from ombud.operations.session import Session
    from ombud.operations.writing.course import Course
    from ombud.operations.writing.plan import Edition
    from ombud.workspace.documents import Document

FIND_SECONDS = 10.0
"""How long looking for what could break, and hearing what is wrong with it already, may hold up a write at most; by
default, with 5 s to wait, it is 2 s (`ombud.operations.writing.plan.DEPENDENTS_SHARE`)."""
FIND_LEAST = 1.0
"""How long it may take at least: whoever cannot wait so long is answered, and told the rest afterwards."""
QUIET_SECONDS = 0.3
"""How long it must say nothing more about settings that it has read."""
RESTLESS_SECONDS = 10.0
"""How long a server that never falls silent is waited for: its queue, or the next write, waits behind."""

UNSEEN = "{server} sees on the disk which files there are, so a preview cannot show {names} to what imports it."


def configured(session: Session, edition: Edition) -> list[Server]:
    """The running servers for which a file holds settings."""
    places = [edition.inside] if edition.to is None else [edition.inside, edition.to]
    return list(dict.fromkeys(server for one in places for server in configures(session, one)))


def pushed(hub: Hub, document: Document) -> bool:
    """Whether a server of the document speaks only when the document changes."""
    return any(
        server.entry.serves("diagnostics") and not server.offers("textDocument/diagnostic")
        for server in hub.servers_of(document.uri)
    )


async def find(course: Course, part: Part) -> None:
    """Find what could break, open it, and take what the server says of it before the write.

    The caller holds the server's queue at ``part.gate``, which is replaced by one behind the opened files.
    """
    limit = course.session.configuration.diagnostics.dependents
    server = part.server
    if not limit or server.entry.diagnostics.shared_debounce:
        return
    until = time.monotonic() + min(FIND_SECONDS, max(FIND_LEAST, course.plan.options.wait_ms / 1000 * DEPENDENTS_SHARE))
    found = await _found(course, part, limit, until - time.monotonic())
    if found is None:
        return
    for path, reason in found.left_out:
        part.leave_out(path, reason)
    part.partial = found.partial
    taken = {path for edition in course.plan.editions for path in edition.paths}
    known = {sheet.leaf.path for sheet in (*part.sheets, *part.dependents)}
    files = [one for one in found.files if one.path not in taken and one.relative not in known]
    await _open(course, part, files)
    if part.dependents:
        await _before(course, part, until - time.monotonic())
    await _beside(course, part, until, {path for path, _ in found.left_out})


async def _beside(course: Course, part: Part, until: float, told: set[str]) -> None:
    """Leave out, by name, what imports a written file in another root, which has a server of its own.

    ``told`` are names that were left out already.
    """
    session, server = course.session, part.server
    written = [sheet.leaf.edition for sheet in part.sheets if sheet.leaf.edition is not None]
    targets = [path for edition in written if edition.old != edition.new for path in edition.paths]
    roots = {one.root for one in session.running() if one is not server and one.entry.name == server.entry.name}
    if not targets or not roots:
        return

    def search() -> list[tuple[Path, Path]]:
        found = []
        for root in sorted(roots):
            users = importers(session.fence, server.entry, root, targets, lambda: time.monotonic() > until).files
            found += [(root, path) for path in users if not path.is_relative_to(server.root)]
        return found

    for root, path in await asyncio.to_thread(search):
        with suppress(OmbudError):
            name = session.fence.resolve(str(path), intent="read").relative
            if name not in told:
                part.leave_out(name, f"It belongs to another root, {root.name}, whose {server.name} was not asked.")


async def _found(course: Course, part: Part, limit: int, seconds: float) -> Found | None:
    session, server = course.session, part.server
    if part.configured:
        return await affected(session, server, limit)
    if not server.offers("textDocument/references"):
        return None
    if course.mapped is not None:
        await asyncio.shield(course.mapped)
    touched, made = [], []
    for sheet in part.sheets:
        leaf, document = sheet.leaf, sheet.leaf.was
        if document is not None and leaf.edition is not None and leaf.old is not None and leaf.old != leaf.new:
            moved = leaf.edition.kind == "rename"
            new = None if moved else leaf.new
            touched.append(Touched(document.uri, leaf.edition.inside, leaf.old, new, leaf.map))
        elif leaf.edition is not None and leaf.edition.kind == "create" and leaf.new is not None:
            # Somebody may have imported it already, in vain.
            target = leaf.edition.target
            made.append(Touched(path_to_uri(target.path), target, "", leaf.new, leaf.map))
    if not made or server.entry.diagnostics.overlays or not course.plan.options.preview:
        return await dependents(session, server, [*touched, *made], limit, max(0.0, seconds))
    return await _in_vain(course, part, touched, made, limit, seconds)


async def _in_vain(
    course: Course, part: Part, touched: list[Touched], made: list[Touched], limit: int, seconds: float
) -> Found:
    """What could break where the server will not be seeing the new files of a preview: not those who import them."""
    until = time.monotonic() + seconds
    unsure = await dependents(course.session, part.server, made, limit, max(0.0, seconds))
    left = max(0.0, until - time.monotonic())
    found = await dependents(course.session, part.server, touched, limit, left)
    names = dict.fromkeys(one.relative for one in unsure.files)
    reason = UNSEEN.format(server=part.server.name, names=", ".join(one.inside.relative for one in made[:3]))
    files = tuple(one for one in found.files if one.relative not in names)
    left_out = (*found.left_out, *unsure.left_out, *((name, reason) for name in names))
    return Found(files, left_out, found.partial or unsure.partial)


async def _open(course: Course, part: Part, files: list[Inside]) -> None:
    texts = await asyncio.to_thread(_texts, course.session, files)
    if course.shown.done():
        for inside in files:
            part.leave_out(inside.relative, "Found too late to know what was wrong with it before.")
        return
    for inside in files:
        text = texts.get(inside.relative)
        if text is None:
            part.leave_out(inside.relative, "It cannot be read as text.")
        else:
            part.dependents.append(Sheet(_leaf(course, part, inside, text)))
    # Behind what was just opened, and in front of the new texts, which may be on their way from now on.
    second = part.server.gate()
    part.release()
    part.gate = second
    await second.reached()


def _leaf(course: Course, part: Part, inside: Inside, text: str) -> Leaf:
    """The file's leaf; two servers share it, since their document has one version."""
    for other in course.parts:
        for sheet in (*other.sheets, *other.dependents):
            if sheet.leaf.path == inside.relative and sheet.leaf.was is not None and sheet.leaf.edition is None:
                course.hub.attach(sheet.leaf.was.uri, [part.server])
                return sheet.leaf
    document = course.keep(pin(course.session, inside, text, [part.server]))
    return Leaf(
        inside.relative,
        document.shown,
        document.shown,
        inside=inside,
        was=document,
        now=document,
        old_version=document.version,
        version=document.version,
    )


def _texts(session: Session, files: list[Inside]) -> dict[str, str]:
    texts = {}
    for inside in files:
        with suppress(OmbudError):
            texts[inside.relative] = read(session.fence, inside, FILE_LIMIT).text
    return texts


async def _before(course: Course, part: Part, seconds: float) -> None:
    """What is wrong with them already. Of what is not known in time nothing is told."""
    asked = [sheet for sheet in part.dependents if sheet.base is None]
    versions = [(sheet, sheet.leaf.was, sheet.leaf.old_version) for sheet in asked]
    await course.settled(part, versions, max(0.1, seconds))
    if asked and part.server.entry.diagnostics.project_ms:
        await quiet(course, part)
    for sheet in asked:
        assert sheet.leaf.was is not None and sheet.verdict is not None
        if sheet.verdict.freshness == "fresh":
            items = course.items(part, sheet.leaf.was)
            sheet.base = Base(tuple(items), sheet.leaf.old or "", sheet.leaf.path)
        else:
            part.leave_out(sheet.leaf.path, f"{part.server.name} had not reported on it in time before the write.")
    part.dependents = [sheet for sheet in part.dependents if sheet.base is not None]


async def check(course: Course, part: Part, seconds: float) -> None:
    """What the server says of them now, each as soon as it is known; then of files that nobody has asked about."""
    store, server = course.hub.store, part.server
    world = store.world(server).count

    async def one(sheet: Sheet) -> None:
        document = sheet.leaf.now
        if document is not None:
            asked = 0 if pushed(course.hub, document) else world
            sheet.verdict = await settle(
                store,
                server,
                document.key,
                document.uri,
                sheet.leaf.version,
                seconds,
                ordered=course.ordered,
                exact=True,
                world=asked,
            )
            if sheet.verdict.freshness != "fresh":
                part.leave_out(sheet.leaf.path, sheet.verdict.reason or f"{server.name} has not reported on it.")
                return
        sheet.after = course.items(part, document) if document is not None else []
        course.compare(part, sheet)

    await asyncio.gather(*(one(sheet) for sheet in part.dependents))
    if server.entry.diagnostics.project_ms:
        # It also speaks of a version before it has looked at all that the version is made of.
        await quiet(course, part)
        for sheet in part.dependents:
            if sheet.delta is not None and sheet.leaf.now is not None:
                sheet.after = course.items(part, sheet.leaf.now)
                course.compare(part, sheet)
    _take_strays(course, part)


async def reloaded(course: Course, part: Part) -> None:
    """Until the server has taken in its settings: it says that what was pulled counts no more, or pushes anew.

    One that says nothing is taken to have read them once its time is over: by then it answers pulls by them.
    """
    words, profile = course.hub.store.words(part.server), part.server.entry.diagnostics
    seconds, heard = profile.settings_ms / 1000, words.count
    until = time.monotonic() + seconds + RESTLESS_SECONDS
    if not profile.settings_told:
        await asyncio.sleep(seconds)
        course.speak_anew([part])
        return
    while seconds and time.monotonic() < until:
        words.event.clear()
        try:
            async with asyncio.timeout(seconds):
                while words.count == heard:
                    await words.event.wait()
                    words.event.clear()
        except TimeoutError:
            break
        seconds, heard = QUIET_SECONDS, words.count
    course.hub.store.stir(part.server)


async def quiet(course: Course, part: Part) -> None:
    """Until a server that reports on whole projects has had its time to say more."""
    store, server = course.hub.store, part.server
    words, quiet = store.words(server), server.entry.diagnostics.project_ms / 1000
    end = time.monotonic() + RESTLESS_SECONDS
    while (left := min(end, max(store.world(server).time, words.time) + quiet) - time.monotonic()) > 0:
        words.event.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(left):
                await words.event.wait()


def others(course: Course, part: Part) -> dict[str, tuple[int, tuple[Raw, ...]]]:
    """What the server says, unasked, of files that are not looked at, and of which version of theirs."""
    asked = {leaf.was.key for leaf in course.leaves if leaf.was is not None}
    asked |= {leaf.now.key for leaf in course.leaves if leaf.now is not None}
    asked |= {sheet.leaf.was.key for sheet in (*part.sheets, *part.dependents) if sheet.leaf.was is not None}
    found = {}
    for key, track in course.hub.store.tracks_of(part.server).items():
        if key not in asked and _spoken(part.server, track):
            found[key] = track.sent_version, track.pushed
    return found


def _spoken(server: Server, track: Track) -> bool:
    """Whether what the server pushed is of the text that it was sent last.

    What it says of a text that somebody else has just written would pass for this write's doing, and so would an answer
    to somebody else's pull. One that does not report on whole projects may be late with any document that it has open.
    """
    if not track.sent_version:
        return True
    spoken = track.push_version is None or track.push_version >= track.sent_version
    return bool(server.entry.diagnostics.project_ms) and spoken and track.push_count > track.pushes_before_sent


def _take_strays(course: Course, part: Part) -> None:
    now = others(course, part)
    sources = Sources(course.session)
    for key in part.others.keys() | now.keys():
        (version, was), (later, is_now) = part.others.get(key, (0, ())), now.get(key, (0, ()))
        if was == is_now or version != later:
            # In the second case somebody has opened, changed or closed it meanwhile, and that may be why.
            continue
        before, after = (tuple(course.wanted(decode(part.server.name, raws))) for raws in (was, is_now))
        lines = sources.lines(key) if before != after else None
        if lines is None:
            continue
        path = sources.path(key)
        sheet = Sheet(Leaf(path, lines.text, lines.text), Base(before, lines.text, path), list(after), key=key)
        course.compare(part, sheet)
        part.strays.append(sheet)
