"""Launch and attach: from what a caller names to a program that stands at its first stop."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.debug import testing
from ombud.debug.adapter import Ready
from ombud.debug.catalogue import Entry
from ombud.debug.environment import allowed
from ombud.debug.finding import find
from ombud.debug.launching import Wish, plan
from ombud.debug.session import Session as Debugged
from ombud.errors import Refused, UserError
from ombud.guard.commands import Resolved, resolve_command
from ombud.operations.debugging import building
from ombud.process.environment import child_environment
from ombud.syntax.languages import language_of

if TYPE_CHECKING:
    from ombud.operations.debugging.desk import Desk
    from ombud.operations.debugging.shapes import Params
    from ombud.operations.session import Session

_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"MZ")
"""How compiled programs begin."""


async def start(session: Session, desk: Desk, params: Params) -> Debugged:
    """Launch or attach as ``params`` say. Raises `UserError`, `Refused`, `PeerError`; then nothing runs."""
    desk.free()
    desk.is_busy = True
    try:
        if desk.current is not None:
            # It has exited, and what is left of it is being cleared away.
            await desk.current.end("")
        entry, wish = await asyncio.to_thread(_wish, session, desk, params)
        if wish.build:
            wish = await building.built(session, wish)
        return await begin(session, desk, entry, wish)
    finally:
        desk.is_busy = False


async def begin(session: Session, desk: Desk, entry: Entry, wish: Wish) -> Debugged:
    """A session for that wish."""
    place = desk.place()
    found = await asyncio.to_thread(find, entry, place)
    connects = wish.port is not None and entry.dialect != "js-debug"
    if found.argv is None and not connects:
        raise Refused(f"{entry.name} cannot be used: {found.reason}", kind="no_server", adapter=entry.name)
    # The adapter hands on to the program whatever it has itself.
    environment = allowed(child_environment(session.environment, extra={}, marker={}, workspace=session.root), {})
    ready = Ready(
        entry.name,
        () if connects else found.argv or (),
        wish.cwd,
        environment,
        entry.transport,
        (wish.host, wish.port) if connects and wish.port is not None else None,
    )
    chosen = plan(entry, wish)
    if wish.test is not None:
        chosen = testing.watched(entry, chosen)
    debugged = Debugged(
        desk.new_id(),
        ready,
        chosen,
        desk.breakpoints,
        session.hub.supervisor.guardian(),
        desk.limits,
        desk.over,
    )
    desk.current, desk.launched = debugged, (entry, wish)
    desk.breakpoints.forget()
    await debugged.begin()
    return debugged


def _wish(session: Session, desk: Desk, params: Params) -> tuple[Entry, Wish]:
    """What is to be debugged, by which adapter. Reads the disk."""
    named = [name for name in ("program", "module", "test", "port", "pid") if getattr(params, name) is not None]
    wanted = ("port", "pid") if params.op == "attach" else ("program", "module", "test")
    if len(named) != 1 or named[0] not in wanted:
        raise UserError(f"“{params.op}” takes one of {', '.join(wanted)}.")
    cwd = _folder(session, params.cwd)
    env = allowed(child_environment(session.environment, extra={}, marker={}, workspace=session.root), params.env or {})
    args = tuple(params.args or ())
    common = Wish(cwd, env, args=args, stop_on_entry=params.stop_on_entry)
    entries = desk.entries()
    if params.adapter is not None and params.adapter not in entries:
        raise UserError(
            f"There is no debug adapter {params.adapter!r}; there are: {', '.join(entries)}.", kind="not_found"
        )
    if params.op == "attach":
        return _attached(entries, params, common)
    if params.test is not None:
        made = testing.resolve(params.test, common, session.fence.folders, interpreter_of(session, cwd), params.adapter)
        if made.adapter == "native":
            return of_language(desk, entries, "rust", made.wish.test or "", params.adapter), made.wish
        return entries[made.adapter], made.wish
    if params.module is not None:
        entry = entries[params.adapter or "debugpy"]
        return entry, _with(common, module=params.module, interpreter=interpreter_of(session, cwd))
    program = _program(session, str(params.program))
    entry = for_program(desk, entries, program, params.adapter)
    interpreter = interpreter_of(session, cwd) if entry.dialect == "debugpy" else None
    return entry, _with(common, program=program, interpreter=interpreter)


def _with(wish: Wish, **changes: object) -> Wish:
    from dataclasses import replace

    return replace(wish, **changes)  # type: ignore[arg-type]


def _attached(entries: dict[str, Entry], params: Params, common: Wish) -> tuple[Entry, Wish]:
    entry = entries[params.adapter or "debugpy"]
    return entry, _with(common, port=params.port, host=params.host, pid=params.pid)


def _folder(session: Session, said: str | None) -> Path:
    if said is None:
        return session.fence.folders[0]
    inside = session.fence.resolve(said, intent="read")
    if not inside.path.is_dir():
        raise UserError(f"{said} is no folder to run in.", kind="not_found")
    return inside.path


def _program(session: Session, said: str) -> Path:
    inside = session.fence.resolve(said, intent="read")
    if not inside.path.exists():
        raise UserError(f"There is no {said} in this workspace; name the program's path.", kind="not_found")
    return inside.path


def for_program(desk: Desk, entries: dict[str, Entry], program: Path, named: str | None) -> Entry:
    """The adapter for a program: as named, else the first for its language that is there."""
    return of_language(desk, entries, "" if named is not None else _language(program), program.name, named)


def of_language(desk: Desk, entries: dict[str, Entry], language: str, name: str, named: str | None) -> Entry:
    """The adapter that is ``named``, else the first of a language that is there; ``name`` is what it is wanted for."""
    if named is not None:
        return entries[named]
    rows = sorted((one for one in entries.values() if language in one.languages), key=lambda one: one.priority)
    if not rows:
        raise UserError(
            f"No debug adapter is known for {name}; name one with “adapter”: {', '.join(entries)}.",
            kind="unknown_language",
        )
    return next((one for one in rows if find(one, desk.place()).available), rows[0])


def _language(program: Path) -> str:
    if program.is_dir():
        return "go" if any(program.glob("*.go")) else ""
    with program.open("rb") as file:
        head = file.read(4)
        if head.startswith(_MAGIC):
            return "native"
        first = head + file.readline(200)
    return language_of(program, first) or ""


def interpreter_of(session: Session, cwd: Path) -> str | None:
    """The project's Python, else the user's; None where there is neither, so that the adapter's own runs it."""
    interpreters = session.detector.values("debugpy", cwd).interpreters
    found = interpreters.find()
    if found is not None:
        return found
    for name in ("python3", "python"):
        resolved = resolve_command(
            [name],
            root=cwd,
            folders=session.fence.folders,
            trust=session.trust,
            path=session.environment.get("PATH", ""),
        )
        if isinstance(resolved, Resolved):
            return str(resolved.executable)
    return None
