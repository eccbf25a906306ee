"""What the session of a debugger looks like on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import UNSET

from ombud.debug.breakpoints import State, Unbound
from ombud.errors import OmbudError
from ombud.guard.redact import clean, redact
from ombud.operations.debugging.shapes import (
    BoundShape,
    BreakpointShape,
    FrameShape,
    MovedShape,
    Result,
    SnapshotFrame,
    UnboundShape,
    VariableShape,
)

if TYPE_CHECKING:
    from ombud.debug.moment import Frame, Variable
    from ombud.debug.session import Session as Debugged
    from ombud.debug.snapshot import Snapshot
    from ombud.operations.session import Session

TOP = 3
"""Frames of an answer that says where the program stopped."""
DEEP = 30
FAILURES = frozenset(("exception", "function breakpoint"))
WORDS = 2000


def shown(session: Session, path: Path | None) -> str | None:
    """A path as it is addressed: relative to the first folder that has it, else absolute."""
    if path is None:
        return None
    for number, folder in enumerate(session.fence.folders):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix() if number == 0 else str(path)
    return str(path)


def words(text: str, most: int = WORDS) -> str:
    """What a debuggee or an adapter says, for a reader."""
    return redact(text)[:most]


async def moved(session: Session, debugged: Debugged, since: int) -> Result:
    """Where the program is now, after it was let go on. ``since`` is the number of the first output that is new."""
    stop = debugged.stop
    state = "running" if debugged.state == "starting" else debugged.state
    result = Result(state=state, output=redact(debugged.output.text(since)))
    result.reason = None
    if state == "exited":
        result.exit_code = debugged.exit_code
        result.reason = words(debugged.why) or None
    if stop is None:
        return result
    result.reason, result.thread_id = stop.reason, stop.thread
    result.description = words(stop.description or stop.text)
    try:
        failed = stop.reason in FAILURES
        stack = await debugged.moment.stack(limit=DEEP if failed else TOP)
        if stop.reason == "breakpoint" and not _is_ours(session, stack.frames):
            # Breakpoints of lines are the project's, so it is one of a function, by the name that lldb has for it.
            failed = True
            stack = await debugged.moment.stack(limit=DEEP)
    except OmbudError:
        # It ended, or ran on, between its stop and our question.
        result.state = debugged.state
        return result
    result.frames = [frame(session, one) for one in stack.frames[:TOP]]
    places = [one for one in stack.frames if one.path is not None]
    # A failure is raised deep in a library or in the runtime, and it is the project's code that one wants to see.
    ours = [one for one in places if failed and one.path is not None and session.fence.contains(one.path)]
    place = next(iter(ours or places), None)
    if place is not None:
        result.path, result.line = shown(session, place.path), place.line
    return result


def _is_ours(session: Session, frames: Sequence[Frame]) -> bool:
    return bool(frames) and frames[0].path is not None and session.fence.contains(frames[0].path)


def frame(session: Session, one: Frame) -> FrameShape:
    return FrameShape(
        id=one.id, name=clean(one.name, 200), path=shown(session, one.path), line=one.line, text=words(one.text, 240)
    )


def variable(one: Variable) -> VariableShape:
    return VariableShape(
        name=clean(one.name, 200), value=redact(one.value), type=one.type, variables_reference=one.variables_reference
    )


def unbound(session: Session, one: Unbound) -> UnboundShape:
    return UnboundShape(
        path=shown(session, one.path) or "", line=one.line, message=words(one.message, 300), nearest_line=one.nearest
    )


def breakpoint_of(state: State) -> BreakpointShape:
    elsewhere = state.line if state.line is not None and state.line != state.wanted.line else None
    return BreakpointShape(
        line=state.wanted.line, verified=state.verified, message=words(state.message, 300), bound_line=elsewhere
    )


async def bound(session: Session, debugged: Debugged) -> BoundShape:
    """How many breakpoints are bound, and which are not."""
    root = debugged.root if debugged.connections else None
    rows = await debugged.breakpoints.unbound(
        root.link if root is not None else None, root.capabilities if root is not None else {}
    )
    moved = [
        MovedShape(path=shown(session, path) or "", line=state.wanted.line, bound_line=state.line)
        for path, states in debugged.breakpoints.states.items()
        for state in states
        if state.verified and state.line is not None and state.line != state.wanted.line
    ]
    return BoundShape(bound=debugged.breakpoints.bound, unbound=[unbound(session, one) for one in rows], moved=moved)


def snapshot(session: Session, debugged: Debugged, one: Snapshot) -> Result:
    frames = [
        SnapshotFrame(
            name=clean(item.frame.name, 200),
            path=shown(session, item.frame.path),
            line=item.frame.line,
            source=redact(item.source),
            arguments=[variable(value) for value in item.arguments],
            locals=[variable(value) for value in item.locals],
            left_out=item.left_out,
        )
        for item in one.frames
    ]
    exception = None
    if one.exception is not None:
        exception = {name: redact(value) for name, value in one.exception.items()}
    stop = debugged.stop
    return Result(
        state=debugged.state,
        reason=one.reason,
        description=words(one.description),
        exception=exception,
        frames=list(frames),
        total=one.total,
        truncated=one.truncated,
        thread_id=stop.thread if stop is not None else UNSET,
        path=frames[0].path if frames else None,
        line=frames[0].line if frames else None,
    )
