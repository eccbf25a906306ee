"""A debug adapter for an editor that drives it by itself: how it is started, and a launch configuration for it.

An adapter that speaks on standard streams has ``transport: "stdio"``. With ``transport: "server"`` the editor puts a
free port in the place of ``${port}``, starts ``command``, and connects to ``host`` and that port.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import UNSET, UnsetType

from ombud.debug.environment import allowed
from ombud.debug.finding import find, for_editors
from ombud.debug.launching import Wish, plan
from ombud.errors import Refused, UserError
from ombud.operations.debugging.starting import for_program, interpreter_of
from ombud.operations.shapes import Arguments, Shape
from ombud.process.environment import child_environment
from ombud.syntax.languages import canonical

if TYPE_CHECKING:
    from pathlib import Path

    from ombud.debug.catalogue import Entry
    from ombud.operations.session import Session


class Params(Arguments, frozen=True):
    language: Annotated[str, msgspec.Meta(description="A language id.")] | None = None
    path: Annotated[str, msgspec.Meta(description="A program or a source file of the workspace.")] | None = None
    adapter: Annotated[str, msgspec.Meta(description="An adapter's name, where there is a choice.")] | None = None


class Result(Shape, omit_defaults=True):
    name: str
    command: list[str]
    cwd: str
    env: dict[str, str]
    transport: str
    configuration: dict[str, Any]
    """Ready to be launched; ``program`` is the path that was asked about, else ``${file}``."""
    host: str | UnsetType = UNSET
    port: str | UnsetType = UNSET


async def run(session: Session, params: Params) -> Result:
    """Starts nothing. Raises `UserError` (``unknown_language``), `Refused` (``no_server``) for want of an adapter."""
    return await asyncio.to_thread(_run, session, params)


def _run(session: Session, params: Params) -> Result:
    desk = session.debugging
    entries = desk.entries()
    if (params.path is None) == (params.language is None):
        raise UserError("debugAdapter takes one of language and path.")
    if params.adapter is not None and params.adapter not in entries:
        raise UserError(
            f"There is no debug adapter {params.adapter!r}; there are: {', '.join(entries)}.", kind="not_found"
        )
    program: Path | None = None
    if params.path is not None:
        inside = session.fence.resolve(params.path, intent="read")
        if not inside.exists:
            raise UserError(f"There is no {params.path} in this workspace.", kind="not_found")
        program = inside.path
        entry = for_program(desk, entries, program, params.adapter)
    else:
        entry = _of_language(session, entries, str(params.language), params.adapter)
    found = find(entry, desk.place())
    if found.argv is None:
        raise Refused(f"{entry.name} cannot be used: {found.reason}", kind="no_server", adapter=entry.name)
    return _answer(session, entry, list(for_editors(found)), program)


def _of_language(session: Session, entries: dict[str, Entry], language: str, named: str | None) -> Entry:
    if named is not None:
        return entries[named]
    known = canonical(language)
    rows = sorted((one for one in entries.values() if known in one.languages), key=lambda one: one.priority)
    if not rows:
        raise UserError(f"No debug adapter is known for {language!r}.", kind="unknown_language")
    place = session.debugging.place()
    return next((one for one in rows if find(one, place).available), rows[0])


def _answer(session: Session, entry: Entry, command: list[str], program: Path | None) -> Result:
    folder = session.fence.folders[0]
    base = child_environment(session.environment, extra={}, marker={}, workspace=session.root)
    interpreter = interpreter_of(session, folder) if entry.dialect == "debugpy" else None
    # A path that is none yet is filled in by the editor.
    wish = Wish(folder, {}, program=program or folder / "${file}", interpreter=interpreter)
    configuration = dict(plan(entry, replace(wish, env={})).configuration)
    if program is None:
        configuration["program"] = "${file}"
    configuration = {key: value for key, value in configuration.items() if value not in ({}, [], None)}
    listens = entry.transport != "stdio"
    return Result(
        name=entry.name,
        command=command,
        cwd=str(folder),
        env=allowed(base, {}),
        transport="server" if listens else "stdio",
        configuration=configuration,
        host="127.0.0.1" if listens else UNSET,
        port="${port}" if listens else UNSET,
    )
