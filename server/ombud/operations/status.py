"""What is there and how it is: servers by name and root with their states and reasons, trust, and what is staged.

A server that could start and has not is ``available``; each absence has its reason.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, UnsetType

from ombud.downstream.handshake import version_of
from ombud.downstream.server import Server
from ombud.errors import Refused
from ombud.guard.redact import clean, redact, redact_value
from ombud.operations.shapes import Arguments, Shape

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected
    from ombud.operations.session import Session


class Params(Arguments, frozen=True):
    """None."""


class ServerShape(Shape):
    name: str
    languages: list[str]
    root: str
    state: str
    reason: str
    command: list[str] | None = None
    pid: int | None = None
    rss_bytes: int | None = None
    """Of the process and all that it started."""
    cpu_seconds: float | None = None
    uptime_seconds: float | None = None
    idle_seconds: float | None = None
    restarts: int = 0
    pending_requests: int = 0
    version: str | None = None
    banner: str | None = None


class IndexShape(Shape):
    state: str = "absent"
    """``absent``: nobody has asked for it yet; ``disabled``, ``building``, ``ready``, or ``failed`` with its reason."""
    files: int = 0
    symbols: int = 0
    pending: int = 0
    reason: str | UnsetType = UNSET
    """Why it failed; not there otherwise."""


class TrustShape(Shape):
    root: str | None
    state: str


class SessionShape(Shape):
    client: str
    """As it names itself."""
    folders: list[str]
    yours: bool
    """Whether it is the session that asks."""


class Result(Shape):
    servers: list[ServerShape]
    adapters: list[dict[str, Any]]
    index: IndexShape
    staged: list[str]
    debug: dict[str, Any] | None
    trust: TrustShape
    sessions: list[SessionShape]
    """The clients of this hub."""
    problems: list[str]
    """What is wrong with the configuration, a sentence each."""
    survey: str | None = None
    """Says so where the checkout was too large to be looked at whole."""


def row(server: Server) -> dict[str, Any]:
    """One server for ``ombud/statusChanged``."""
    import msgspec

    shape = _running(server)
    built = msgspec.to_builtins(shape)
    assert isinstance(built, dict)
    return built


def _running(server: Server) -> ServerShape:
    child = server.child
    return ServerShape(
        name=server.name,
        languages=list(server.entry.languages),
        root=str(server.root),
        state=server.state.value,
        reason=clean(redact(server.reason), 1000),
        command=[redact(word) for word in server.launch.argv],
        pid=child.pid if child is not None else None,
        uptime_seconds=round(time.monotonic() - child.started_at, 1) if child is not None else None,
        idle_seconds=round(server.idle_seconds, 1) if server.running else None,
        restarts=server.restarts,
        pending_requests=server.pending,
        version=version_of(server.server_info),
        banner=clean(redact(server.banner), 300) or None,
    )


def _absent(detected: Detected) -> ServerShape:
    return ServerShape(
        name=detected.entry.name,
        languages=list(detected.entry.languages),
        root=str(detected.root),
        state=detected.state,
        reason=detected.reason,
        command=list(detected.resolved.argv) if detected.resolved is not None else None,
    )


async def _adapters(session: Session) -> list[dict[str, Any]]:
    """The debug adapters that this workspace has a use for. They are looked for, not tried."""
    import asyncio

    rows = await asyncio.to_thread(session.debugging.found)
    return [
        {
            "name": one.entry.name,
            "languages": list(one.entry.languages),
            "available": one.available,
            "reason": clean(redact(one.reason), 400),
        }
        for one in rows
    ]


async def _staged(session: Session) -> list[str]:
    """The ids of the rewrites that wait for a decision; a state folder that cannot be read is `staged`'s to tell."""
    from ombud.operations.structural.kept import asked

    try:
        return await asked(session, lambda kept: [one.id for one in kept.all()])
    except Refused:
        return []


async def run(session: Session, _params: Params) -> Result:
    """The answer is complete at once: measuring reads ``/proc``, nothing is started."""
    import asyncio

    survey = await asyncio.to_thread(session.detector.survey)
    shapes: list[ServerShape] = []
    seen: set[Server] = set()
    for detected in survey.detected:
        server = session.hub.supervisor.find(detected)
        if server is None:
            shapes.append(_absent(detected))
        elif server not in seen:
            seen.add(server)
            shapes.append(_running(server))
    # A running server whose last file is gone, or that another session needed, is still there.
    shapes += [_running(server) for server in session.running() if server not in seen]
    await _measure(shapes)
    return Result(
        servers=shapes,
        adapters=await _adapters(session),
        index=await index_of(session),
        staged=await _staged(session),
        debug=session.known_debugging.status() if session.known_debugging is not None else None,
        trust=TrustShape(root=str(session.root) if session.root else None, state=session.trust.state),
        sessions=[
            SessionShape(
                client=clean(redact(one.client.name), 100),
                folders=[str(folder) for folder in one.folders],
                yours=one is session,
            )
            for one in session.hub.sessions
        ],
        problems=[str(redact_value(problem)) for problem in session.problems],
        survey=survey.note,
    )


async def index_of(session: Session) -> IndexShape:
    """Of all folders together, as far as they are known; nothing is started for it."""
    if not session.configuration.index.enabled:
        return IndexShape(state="disabled")
    from ombud.operations.graph.ground import stored

    roots = [await stored(session, folder) for folder in session.fence.folders]
    known = [one for one in roots if one is not None]
    if not known:
        return IndexShape()
    problem = next((one.problem for one in known if one.problem), "")
    ready = len(known) == len(roots) and all(one.complete for one in known)
    return IndexShape(
        state="failed" if problem else "ready" if ready else "building",
        files=sum(one.files for one in known),
        symbols=sum(one.symbols for one in known),
        pending=sum(one.pending for one in known),
        reason=clean(redact(problem), 1000) or UNSET,
    )


async def _measure(shapes: list[ServerShape]) -> None:
    import asyncio

    from ombud.process.measure import usage

    for shape in shapes:
        if shape.pid is not None:
            used = await asyncio.to_thread(usage, shape.pid)
            if used is not None:
                shape.rss_bytes, shape.cpu_seconds = used.rss_bytes, round(used.cpu_seconds, 2)
