"""Whether a server has spoken about exactly this content: waits that end on evidence, never on a guess (D3–D5, D9).

Evidence is, by what the server can do: the answer to a pull that was asked after the content had been sent; a publish
with the content's version; or a publish that came after it, once the server has been quiet for the time that its
catalogue row names (``settle_ms``). Silence is no evidence: then the wait ends as ``timed_out``.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Literal

from ombud.diagnostics.confirm import STRATEGIES
from ombud.diagnostics.pull import pull
from ombud.diagnostics.store import Store, Track
from ombud.downstream.server import Server
from ombud.downstream.states import State
from ombud.errors import OmbudError, PeerError

Freshness = Literal["fresh", "timed_out", "unavailable"]
FIRST_SETTLE_MS = 400
"""A server's first publish for a document is often its syntax pass alone (D5): it must stand this long at least."""


IDLE_SECONDS = 0.1
"""How long a server that says when it is idle must stay so: between two of its steps it is, for a moment."""
QUIET_SECONDS = 0.2
"""How long a server that pushes at once may take to speak again of a file because another one has changed."""
CHECK_MISSED_SECONDS = 2.0
"""A checker that has not begun this long after it should have is asked for, again and again while its server idles."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a wait ended. ``elapsed_ms`` counts from its start; ``reason`` says why it is not fresh."""

    server: str
    freshness: Freshness
    elapsed_ms: int
    reason: str | None = None


class _Superseded(Exception):
    """The text was changed before the server had spoken about the version that was asked for."""


async def settle(
    store: Store,
    server: Server,
    key: str,
    uri: str,
    version: int,
    seconds: float,
    *,
    ordered: bool = True,
    exact: bool = False,
    world: int = 0,
    needed: bool = True,
) -> Verdict:
    """Wait until ``server`` has spoken about ``version`` of the document, at most ``seconds``.

    ``ordered=False`` lets the pull pass the server's queue, for the caller who holds it. ``exact``: what it says of a
    later version is no answer (D3); without it that is as good, since it is about the text as it is now. ``world``:
    what it says must be of a time when `Store.world` had counted so far, since other files speak into it. A server
    that pushes has had its time to speak again once it was quiet for a while after that. ``needed=False``: one that is
    not running is not started for this; then it is ``unavailable``.
    """
    start = time.monotonic()
    with server.waiting(), store.watch(key) as event:
        store.track(server, key)
        freshness: Freshness = "timed_out"
        reason: str | None = f"{server.name} had not reported within {seconds:g} s."
        try:
            async with asyncio.timeout(seconds):
                await _evidence(store, server, key, uri, _Wanted(version, ordered, exact, world, needed), event)
                freshness, reason = "fresh", None
        except _Superseded:
            reason = f"The text was changed again before {server.name} had reported on it."
        except TimeoutError:
            if server.state is State.STARTING:
                reason = f"{server.name} was still starting after {seconds:g} s."
        except OmbudError as error:
            freshness, reason = "unavailable", error.message
    return Verdict(server.name, freshness, round((time.monotonic() - start) * 1000), reason)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is to be spoken about, and how the server may be asked; see `settle`."""

    version: int
    ordered: bool
    exact: bool
    world: int
    needed: bool


async def _evidence(store: Store, server: Server, key: str, uri: str, wanted: _Wanted, event: asyncio.Event) -> None:
    """Return once there is evidence. What the server can do is looked at anew each time: it may register it late."""
    version, ordered = wanted.version, wanted.ordered
    while server.documents.get(uri, 0) < version:
        await _revived(server, event, needed=wanted.needed)
    confirm = STRATEGIES.get(server.entry.diagnostics.confirm)
    while True:
        track = store.track(server, key)
        pulls = server.offers("textDocument/diagnostic")
        if wanted.exact and _is_past(track, version, pulls):
            raise _Superseded
        pushes = not pulls or server.entry.diagnostics.channel == "both"
        wait = _push_wait(track, server, version) if pushes else 0.0
        if wait is not None and pushes and wanted.world:
            wait = max(wait, _restless(store, server))
        if wait is None and confirm is not None and not track.pushed:
            # The server itself says that exactly this content is clean, and nothing else is on record.
            if await confirm(server, uri, ordered) == 0 and not store.track(server, key).pushed:
                return
            confirm = None
            continue
        if wait == 0.0:
            if not pulls or (_pulled(track, server, wanted) >= version and track.pull_world >= wanted.world):
                return
            if await pull(store, server, key, uri, ordered=ordered):
                continue
            wait = None
        if wait is None and _check_missed(track, server):
            notify = server.notify if ordered else server.notify_now
            notify(server.entry.diagnostics.check_request, {"textDocument": {"uri": uri}})
            track.check_asked_time = time.monotonic()
        wait = CHECK_MISSED_SECONDS if wait is None and _checks(server) else wait
        await _revived(server, event, wait, needed=wanted.needed)


def _pulled(track: Track, server: Server, wanted: _Wanted) -> int:
    """The version that a pull has answered for. An idle refresh takes nothing from what is of the present world."""
    idle = wanted.world and server.entry.diagnostics.refreshes_idly
    return track.told_version if idle else track.pull_version or 0


def _restless(store: Store, server: Server) -> float:
    """Seconds until a server that pushes has had its time to speak again of what another file has changed."""
    quiet = max(server.entry.diagnostics.settle_ms / 1000, QUIET_SECONDS)
    return max(0.0, store.world(server).time + quiet - time.monotonic())


def _is_past(track: Track, version: int, pulls: bool) -> bool:
    """Whether what the server says from now on is about a later text than ``version``."""
    if track.sent_version <= version:
        return False
    return (track.pull_version if pulls else track.push_version) != version


def _checks(server: Server) -> bool:
    return bool(server.entry.diagnostics.check_request)


def _check_missed(track: Track, server: Server) -> bool:
    """Whether a save has started no checker though the server is idle, as happens while it loads its workspace."""
    since = max(track.sent_time, track.saved_time, track.check_asked_time)
    return _checks(server) and time.monotonic() - since >= CHECK_MISSED_SECONDS and not server.working_on


async def _revived(server: Server, event: asyncio.Event, wait: float | None = None, *, needed: bool) -> None:
    """Wait for the next change; a server that is not even coming is needed first. Raises why it cannot."""
    if not server.accepting:
        if not needed:
            raise PeerError(f"{server.name} is not running.", kind="server_failed", server=server.name)
        server.need()
    await _next(event, wait)


def _push_wait(track: Track, server: Server, version: int) -> float | None:
    """0 when the publishes say enough; else how long they must stay quiet; None when one has yet to come."""
    profile = server.entry.diagnostics
    if track.sent_version < version:
        return None
    if profile.check_progress:
        return _check_wait(track, server)
    if profile.file_status:
        return _status_wait(track, version)
    if track.versioned:
        if track.push_version is None or track.push_version < version:
            return None
    elif track.push_count <= track.pushes_before_sent:
        return None
    quiet = profile.settle_ms / 1000
    if profile.settle_ms and track.push_count == 1:
        quiet = max(quiet, FIRST_SETTLE_MS / 1000)
    return max(0.0, track.push_time + quiet - time.monotonic())


def _status_wait(track: Track, version: int) -> float | None:
    """As `_push_wait` for a server that says what it does with a file: it spoke of the text and has done with it.

    clangd publishes a version twice where a header has changed as well, the first time by what the header said before,
    and is idle for a moment between its steps.
    """
    if track.push_version is None or track.push_version < version:
        return None
    if track.idle_time < max(track.busy_time, track.push_time):
        return None
    return max(0.0, track.idle_time + IDLE_SECONDS - time.monotonic())


def _check_wait(track: Track, server: Server) -> float | None:
    """As `_push_wait` for a server that runs a checker after each save and reports its progress (D9).

    The checker's end is the evidence, also when it published nothing. It reads the disk, so what counts is a run since
    the file was last saved: any run of this process for a document that was opened or changed and never saved.
    """
    profile = server.entry.diagnostics
    runs = [run for token, run in server.progress.items() if str(token).startswith(profile.check_progress)]
    ends = [run.ended for run in runs if run.ended is not None and run.began >= track.saved_time]
    if not ends or any(run.ended is None for run in runs):
        return None
    return max(0.0, max(ends) + profile.settle_ms / 1000 - time.monotonic())


async def _next(event: asyncio.Event, seconds: float | None = None) -> None:
    """Until something changes, or ``seconds`` have passed."""
    event.clear()
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        if seconds is None:
            raise
