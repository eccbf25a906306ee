"""Debug a program, a module or a test: set breakpoints, launch or attach, step, and look at the stopped moment.

One session a connection. Each op that lets the program run answers with where it stopped next, that it still runs, or
that it has exited with its code; none of them waits longer than ``waitMs``.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ombud.debug.breakpoints import Wanted
from ombud.debug.moment import CHILDREN, FRAMES
from ombud.debug.snapshot import FRAMES as SNAPSHOT_FRAMES
from ombud.debug.snapshot import TOKENS
from ombud.debug.snapshot import snapshot as take
from ombud.errors import OmbudError, Refused, UserError
from ombud.guard.redact import clean, redact
from ombud.operations.debugging import answers
from ombud.operations.debugging.shapes import Params, Result
from ombud.operations.debugging.starting import begin, start

if TYPE_CHECKING:
    from ombud.debug.session import Session as Debugged
    from ombud.debug.session import Stop
    from ombud.operations.debugging.desk import Desk
    from ombud.operations.session import Session

AUDIT = logging.getLogger("ombud.audit")
PAUSE_SECONDS = 2.0
"""After which a pause that nothing came of is asked for again."""
Handler = Callable[["Session", "Desk", Params], Awaitable[Result]]


async def run(session: Session, params: Params) -> Result:
    """Raises `Refused` (``session_active``, ``no_session``, ``conflict``), `UserError` and `PeerError`."""
    return await _OPS[params.op](session, session.debugging, params)


def _given(params: Params, *names: str) -> None:
    """Raises `UserError` where a parameter is missing."""
    for name in names:
        if getattr(params, name) is None:
            wire = name.split("_")[0] + "".join(part.capitalize() for part in name.split("_")[1:])
            raise UserError(f"“{params.op}” needs the parameter {wire!r}.")


# -- before and about --------------------------------------------------------------------------------------------------


async def _status(session: Session, desk: Desk, params: Params) -> Result:
    del session, params
    limits = desk.limits
    known = desk.current
    last = None
    if known is None and desk.last is not None:
        ended = desk.last
        last = {"sessionId": ended.id, "exitCode": ended.exit_code, "reason": answers.words(ended.why) or None}
    return Result(
        state=known.state if known is not None else "none",
        session_id=known.id if known is not None else None,
        adapter=known.ready.name if known is not None else "",
        expires_in_seconds=round(known.expires_in, 1) if known is not None else 0.0,
        limits={"idleSeconds": limits.idle, "ttlSeconds": limits.ttl},
        last=last,
    )


async def _adapters(session: Session, desk: Desk, params: Params) -> Result:
    del params, session
    import asyncio

    rows = await asyncio.to_thread(desk.found)
    return Result(
        adapters=[
            {
                "name": one.entry.name,
                "languages": list(one.entry.languages),
                "available": one.available,
                "reason": one.reason,
                "command": list(one.argv) if one.argv is not None else None,
            }
            for one in rows
        ]
    )


async def _breakpoints(session: Session, desk: Desk, params: Params) -> Result:
    _given(params, "path", "breakpoints")
    inside = session.fence.resolve(str(params.path), intent="read")
    if not inside.exists:
        raise UserError(f"There is no {params.path} in this workspace.", kind="not_found")
    wanted = [Wanted(one.line, one.condition, one.hit_condition, one.log_message) for one in params.breakpoints or ()]
    for one in wanted:
        if one.condition or one.log_message or one.hit_condition:
            _audited(session, "breakpoint", one.condition or one.log_message or one.hit_condition or "")
    desk.breakpoints.stage(inside.path, wanted)
    debugged = desk.current
    if debugged is None:
        rows = [{"line": one.line, "verified": False, "message": "It is set at the launch."} for one in wanted]
        return Result(path=inside.relative, breakpoints=rows, bound=0, unbound=[])
    debugged.touch()
    for connection in list(debugged.connections):
        await desk.breakpoints.send_file(connection.link, connection.capabilities, inside.path)
    states = desk.breakpoints.states.get(inside.path, [])
    found = await answers.bound(session, debugged)
    return Result(
        path=inside.relative,
        breakpoints=[answers.breakpoint_of(one) for one in states],
        bound=sum(one.verified for one in states),
        unbound=[one for one in found.unbound if one.path == inside.relative],
    )


def _audited(session: Session, what: str, text: str) -> None:
    """An expression that the program will run is written down (B6)."""
    AUDIT.info("debug %s by %s: %s", what, clean(session.client.name, 60), clean(redact(text), 300))


async def _function_breakpoints(session: Session, desk: Desk, params: Params) -> Result:
    del session
    _given(params, "names")
    desk.breakpoints.functions = tuple({"name": name} for name in params.names or ())
    debugged = desk.current
    if debugged is None:
        return Result(
            functions=[
                {**one, "verified": False, "message": "It is set at the launch."} for one in desk.breakpoints.functions
            ]
        )
    found: list[dict[str, Any]] = []
    for connection in debugged.connections:
        if not connection.can("supportsFunctionBreakpoints"):
            raise UserError(f"{debugged.ready.name} knows no function breakpoints; set one at a line of it.")
        answer = await connection.link.ask("setFunctionBreakpoints", {"breakpoints": list(desk.breakpoints.functions)})
        found = [
            _row(one, name) for one, name in zip(answer.get("breakpoints") or (), params.names or (), strict=False)
        ]
    return Result(functions=found)


def _row(one: Any, name: str) -> dict[str, Any]:
    row = one if isinstance(one, dict) else {}
    return {
        "name": name,
        "verified": bool(row.get("verified")),
        "message": answers.words(str(row.get("message") or ""), 300),
    }


async def _data_breakpoints(session: Session, desk: Desk, params: Params) -> Result:
    del session
    _given(params, "data")
    debugged = desk.need()
    stop = debugged.need_stop()
    if not stop.connection.can("supportsDataBreakpoints"):
        raise UserError(f"{debugged.ready.name} knows no data breakpoints; a condition at a line may do.")
    wanted: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for one in params.data or ():
        arguments: dict[str, Any] = {"name": one.name}
        if one.variables_reference is not None:
            arguments["variablesReference"] = debugged.moment.reference(one.variables_reference)[1]
        else:
            arguments["frameId"] = (await debugged.moment.frame(params.frame_id))[1]
        info = await stop.connection.link.ask("dataBreakpointInfo", arguments)
        identity = info.get("dataId")
        rows.append(
            {"name": one.name, "verified": False, "message": answers.words(str(info.get("description") or ""), 300)}
        )
        if isinstance(identity, str):
            rows[-1]["at"] = len(wanted)
            wanted.append(
                {
                    "dataId": identity,
                    "accessType": one.access,
                    **({"condition": one.condition} if one.condition else {}),
                }
            )
    answer = await stop.connection.link.ask("setDataBreakpoints", {"breakpoints": wanted})
    states = answer.get("breakpoints") or []
    for row in rows:
        at = row.pop("at", None)
        if at is not None and at < len(states) and isinstance(states[at], dict):
            row["verified"] = bool(states[at].get("verified"))
    return Result(data=rows)


async def _exception_breakpoints(session: Session, desk: Desk, params: Params) -> Result:
    del session
    _given(params, "filters")
    debugged = desk.current
    asked = tuple(params.filters or ())
    if debugged is None:
        desk.breakpoints.exceptions = asked
        return Result(filters=[{"filter": one} for one in asked])
    known = {
        str(one["filter"]): str(one.get("label") or "")
        for connection in debugged.connections
        for one in connection.capabilities.get("exceptionBreakpointFilters") or ()
        if isinstance(one, dict) and "filter" in one
    }
    strange = [one for one in asked if one not in known]
    if strange:
        raise UserError(f"{debugged.ready.name} has no filter {strange[0]!r}; it has: {', '.join(known) or 'none'}.")
    desk.breakpoints.exceptions = asked
    for connection in debugged.connections:
        await desk.breakpoints.send_exceptions(connection.link, connection.capabilities)
    return Result(filters=[{"filter": name, "label": label, "on": name in asked} for name, label in known.items()])


# -- running -----------------------------------------------------------------------------------------------------------


async def _launch(session: Session, desk: Desk, params: Params) -> Result:
    debugged = await start(session, desk, params)
    return await _begun(session, debugged, params)


async def _restart(session: Session, desk: Desk, params: Params) -> Result:
    if desk.launched is None:
        raise Refused("Nothing has been launched yet that could be restarted.", kind="no_session")
    if desk.current is not None:
        await desk.current.end("it is restarted")
    entry, wish = desk.launched
    return await _begun(session, await begin(session, desk, entry, wish), params)


async def _begun(session: Session, debugged: Debugged, params: Params) -> Result:
    await debugged.settled(params.wait_ms / 1000)
    result = await answers.moved(session, debugged, 0)
    result.session_id, result.adapter = debugged.id, debugged.ready.name
    result.breakpoints = await answers.bound(session, debugged)
    return result


async def _go(
    session: Session, debugged: Debugged, stop: Stop, command: str, arguments: dict[str, Any], wait: int
) -> Result:
    """Let a stopped program go on, and say where it got to."""
    since = debugged.output.next
    try:
        await stop.connection.link.ask(command, arguments)
    except OmbudError:
        if debugged.state == "running":
            debugged.stand(stop)
        if debugged.state != "exited":
            raise
    await debugged.settled(wait / 1000)
    return await answers.moved(session, debugged, since)


def _moving(command: str) -> Handler:
    async def handler(session: Session, desk: Desk, params: Params) -> Result:
        debugged = desk.need()
        if command == "continue" and debugged.stop is None and debugged.state == "running":
            # It runs already: what is wanted is where it gets to.
            since = debugged.output.next
            await debugged.settled(params.wait_ms / 1000)
            return await answers.moved(session, debugged, since)
        debugged.need_stop()
        connection, thread = await debugged.moment.thread(params.thread_id)
        stop = debugged.running()
        if stop.connection is not connection:
            stop = type(stop)(connection, thread, stop.reason, stop.description, stop.text)
        return await _go(session, debugged, stop, command, {"threadId": thread}, params.wait_ms)

    return handler


async def _run_to(session: Session, desk: Desk, params: Params) -> Result:
    """A breakpoint for one time, and on."""
    _given(params, "path", "line")
    debugged = desk.need()
    debugged.need_stop()
    inside = session.fence.resolve(str(params.path), intent="read")
    path, line = inside.path, int(params.line or 0)
    before = desk.breakpoints.files.get(path, ())
    extra = Wanted(line)
    desk.breakpoints.stage(path, [*(one for one in before if one.line != line), extra])
    try:
        for connection in list(debugged.connections):
            await desk.breakpoints.send_file(connection.link, connection.capabilities, path)
        state = next((one for one in desk.breakpoints.states.get(path, ()) if one.wanted is extra), None)
        if state is None or not state.verified:
            why = f": {state.message}" if state is not None and state.message else ""
            raise UserError(f"The program cannot stop at {params.path}:{line}{why}. Choose a line with code.")
        stop = debugged.running()
        return await _go(session, debugged, stop, "continue", {"threadId": stop.thread}, params.wait_ms)
    finally:
        desk.breakpoints.stage(path, before)
        for connection in list(debugged.connections):
            if connection.link.over is None:
                await desk.breakpoints.send_file(connection.link, connection.capabilities, path)


async def _pause(session: Session, desk: Desk, params: Params) -> Result:
    debugged = desk.need()
    since = debugged.output.next
    if debugged.stop is None and debugged.state != "exited":
        threads = await debugged.moment.threads()
        if not threads:
            raise Refused("The program has no thread that could be paused yet; try again in a moment.", kind="conflict")
        connection, thread = await debugged.moment.thread(params.thread_id or threads[0][0])
        left = params.wait_ms / 1000
        while debugged.state == "running":
            # One that comes while the program is only just being let go is lost with some.
            await connection.link.ask("pause", {"threadId": thread})
            await debugged.settled(min(left, PAUSE_SECONDS))
            left -= PAUSE_SECONDS
            if left <= 0:
                break
    return await answers.moved(session, debugged, since)


async def _terminate(session: Session, desk: Desk, params: Params) -> Result:
    del params
    debugged = desk.latest()
    since = debugged.output.next
    # Of one that has ended by itself, what is left is awaited.
    await debugged.end("it was terminated")
    return await answers.moved(session, debugged, since)


# -- looking -----------------------------------------------------------------------------------------------------------


async def _threads(session: Session, desk: Desk, params: Params) -> Result:
    del session, params
    rows = await desk.need().moment.threads()
    return Result(threads=[{"id": number, "name": clean(name, 200)} for number, name in rows])


async def _stack(session: Session, desk: Desk, params: Params) -> Result:
    stack = await desk.need().moment.stack(params.thread_id, params.start, params.limit or FRAMES)
    return Result(frames=[answers.frame(session, one) for one in stack.frames], total=stack.total)


async def _scopes(session: Session, desk: Desk, params: Params) -> Result:
    del session
    rows = await desk.need().moment.scopes(params.frame_id)
    return Result(
        scopes=[
            {"name": one.name, "variablesReference": one.variables_reference, "expensive": one.expensive}
            for one in rows
        ]
    )


async def _variables(session: Session, desk: Desk, params: Params) -> Result:
    del session
    _given(params, "variables_reference")
    rows, total = await desk.need().moment.variables(
        params.variables_reference or 0, params.start, params.limit or CHILDREN
    )
    return Result(variables=[answers.variable(one) for one in rows], total=total)


async def _set_variable(session: Session, desk: Desk, params: Params) -> Result:
    _given(params, "variables_reference", "name", "value")
    debugged = desk.need()
    debugged.need_stop()
    _audited(session, "set", f"{params.name} = {params.value}")
    done = await debugged.moment.set_variable(params.variables_reference or 0, params.name or "", params.value or "")
    return Result(
        value=redact(done.value), type=done.type, variables_reference=done.variables_reference, name=done.name
    )


async def _evaluate(session: Session, desk: Desk, params: Params) -> Result:
    _given(params, "expression")
    debugged = desk.need()
    debugged.need_stop()
    _audited(session, "evaluate", params.expression or "")
    done = await debugged.moment.evaluate(params.expression or "", params.frame_id)
    return Result(value=redact(done.value), type=done.type, variables_reference=done.variables_reference)


async def _snapshot(session: Session, desk: Desk, params: Params) -> Result:
    debugged = desk.need()
    taken = await take(debugged, params.frames or SNAPSHOT_FRAMES, params.tokens or TOKENS)
    return answers.snapshot(session, debugged, taken)


async def _output(session: Session, desk: Desk, params: Params) -> Result:
    del session
    debugged = desk.latest()
    debugged.touch()
    entries, dropped = debugged.output.since(params.since, params.category)
    return Result(
        entries=[{"category": one.category, "text": redact(one.text)} for one in entries],
        next=debugged.output.next,
        dropped=dropped,
    )


_OPS: dict[str, Handler] = {
    "status": _status,
    "adapters": _adapters,
    "breakpoints": _breakpoints,
    "function_breakpoints": _function_breakpoints,
    "data_breakpoints": _data_breakpoints,
    "exception_breakpoints": _exception_breakpoints,
    "launch": _launch,
    "attach": _launch,
    "restart": _restart,
    "continue": _moving("continue"),
    "pause": _pause,
    "step_over": _moving("next"),
    "step_in": _moving("stepIn"),
    "step_out": _moving("stepOut"),
    "run_to": _run_to,
    "threads": _threads,
    "stack": _stack,
    "scopes": _scopes,
    "variables": _variables,
    "set_variable": _set_variable,
    "evaluate": _evaluate,
    "snapshot": _snapshot,
    "output": _output,
    "terminate": _terminate,
}
