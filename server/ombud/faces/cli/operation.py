"""``ombud <operation>``: one operation of the registry, run in a session of its own."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.faces.cli.context import Context
from ombud.faces.cli.options import Option, params_of
from ombud.faces.cli.render import rendered
from ombud.faces.cli.roots import absolute, shown
from ombud.faces.cli.session import WORK, open_session
from ombud.operations import registry
from ombud.operations.tokens import CARRIED

if TYPE_CHECKING:
    from ombud.operations.session import Session

WARM_FILES, WARM_KINDS = 5_000, 8
"""Files that are looked at for a question to the whole workspace, and the kinds of files whose servers are started."""
WAIT_KEY = "waitMs"
READ_WAIT_MS = 60_000
"""How long diagnostics are waited for unless told: a command's servers start cold."""
INDEX_WAIT_MS = 3_600_000
"""The same for the code graph: the index that a command waits for ends with the command."""
GRAPH = "graph_"
EXPORT = "graph_export"
WRITE_WAIT_MS = 210_000
"""The same for a write: the 60 s that a server may take to be ready, the 30 s for what it says of the old text, and the
120 s that `ombud.operations.change` listens to late ones. Whoever has answered or failed is not waited for."""


def arguments(
    found: registry.Operation, options: Sequence[Option], namespace: argparse.Namespace, context: Context
) -> dict[str, Any]:
    """The params of a call, checked. Raises `UserError`: bad usage, before anything is started."""
    params = params_of(namespace, options)
    for key in ("path", "newPath"):
        if isinstance(params.get(key), str):
            params[key] = absolute(params[key], context.cwd, context.root)
    if any(option.key == WAIT_KEY for option in options):
        wait = WRITE_WAIT_MS if found.tier == "write" else READ_WAIT_MS
        params.setdefault(WAIT_KEY, INDEX_WAIT_MS if found.name.startswith(GRAPH) else wait)
    registry.parse(found, params)
    return params


def _shown(context: Context, params: Mapping[str, Any]) -> dict[str, Any]:
    """The params as a person knows them: a path that was made absolute is shown as results show it."""
    path = params.get("path")
    if not isinstance(path, str) or not Path(path).is_absolute():
        return dict(params)
    return {**params, "path": shown(Path(path), context.root)}


async def warm(session: Session) -> None:
    """Start the servers of this project's languages, since a question to the whole workspace goes to those that run.

    One file of each language is asked about: some servers know of a project only when they have a file of it.
    """
    from ombud.downstream.survey import SKIPPED
    from ombud.workspace.walk import Walk

    files: dict[str, str] = {}
    for path in Walk(session.fence, SKIPPED, files=WARM_FILES).files(session.fence.folders[0]):
        names = sorted(one.entry.name for one in session.detected(path) if one.state == "available")
        if names and len(files) < WARM_KINDS:
            files.setdefault(" ".join(names), str(path))
    for file in files.values():
        with suppress(OmbudError):
            await registry.call(session, "lsp", {"action": "symbols", "path": file})


async def run(
    context: Context,
    found: registry.Operation,
    params: Mapping[str, Any],
    *,
    as_json: bool,
    attach: bool = False,
    output: str | None = None,
) -> int:
    """Call the operation and print its result. Raises `OmbudError` as the operation does.

    ``attach``: the project's hub runs it, in place of this process. ``output``: the file that an export goes to.
    """
    if found.name == EXPORT and not as_json and not attach:
        from ombud.faces.cli.exported import run as export

        return await export(context, params, output)
    if attach:
        from ombud.faces.cli.remote import call

        context.progress.activity("asking")
        _say(context, found, params, await call(context, found, params), as_json=as_json)
        return 0
    async with open_session(context.root, context.progress) as (session, _):
        context.progress.activity("asking")
        CARRIED.set(WORK)
        if found.name == "lsp" and params.get("action") == "symbols" and not params.get("path"):
            await warm(session)
        _say(context, found, params, await registry.call(session, found.name, dict(params)), as_json=as_json)
    return 0


def _say(
    context: Context, found: registry.Operation, params: Mapping[str, Any], result: dict[str, Any], *, as_json: bool
) -> None:
    context.progress.activity("")
    if as_json:
        context.say_json(result)
    else:
        context.say(rendered(found.name, _shown(context, params), result, context.screen))
