"""``ombud trust``: let a project's own programs run, see what is trusted, take it back."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import UserError
from ombud.faces.cli.context import FAILED, Context, Usage
from ombud.faces.cli.render import counted, plain
from ombud.faces.cli.roots import shown
from ombud.faces.cli.session import open_session, run_async

if TYPE_CHECKING:
    from ombud.downstream.executables import Local
    from ombud.guard.trust import TrustStore
    from ombud.operations.session import Session

MEANING = (
    "Trusting a folder lets language servers run programs that lie in it (node_modules/.bin, .venv/bin, vendor/bin) "
    "and code that they load from it: build scripts, plugins, configuration files that are programs. All of that runs "
    "with your rights. Trust a folder when you know where its content comes from."
)
KEPT = (
    "Trust is kept in your own state folder, never in the project. A program in the folder that changes afterwards, or "
    "comes new, waits until you trust the folder again."
)


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", metavar="PATH", help="the folder (default: the project that you are in)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--revoke", action="store_true", help="take trust back")
    what.add_argument("--list", action="store_true", help="list every folder that you trust")


def run(context: Context, arguments: argparse.Namespace) -> int:
    from ombud.guard.trust import TrustStore

    store = TrustStore()
    for problem in store.problems:
        context.progress.note(plain(problem))
    if arguments.list:
        if arguments.path:
            raise Usage("--list takes no PATH: it lists every folder that you trust.", "trust")
        context.say(_list(context, store))
        return 0
    root = Path(os.path.abspath(context.cwd / arguments.path)) if arguments.path else context.root  # noqa: PTH100 - the store resolves links
    if arguments.revoke:
        return _revoke(context, store, root)
    if not root.is_dir():
        raise Usage(f"{root} is not a folder. Name the folder of a project.", "trust")
    return run_async(lambda: _grant(context, store, root))


def _list(context: Context, store: TrustStore) -> Iterator[str]:
    entries = store.entries()
    for entry in entries:
        since = time.strftime("%Y-%m-%d", time.localtime(entry.granted))
        state = (
            "" if store.state(Path(entry.path)) == "trusted" else ": it is another folder now, so this counts no more"
        )
        yield f"{plain(entry.path)} ({counted(len(entry.executables), 'program')}, since {since}){state}"
    if not entries:
        yield from context.screen.wrap("You trust no folder. “ombud trust --help” says what that would mean.")


def _revoke(context: Context, store: TrustStore, root: Path) -> int:
    if store.revoke(root):
        context.say(
            context.screen.wrap(f"{plain(root)} is not trusted any more. What runs already is not ended by this.")
        )
        return 0
    context.say(context.screen.wrap(f"{plain(root)} was not trusted, so there is nothing to take back."))
    return FAILED


async def _grant(context: Context, store: TrustStore, root: Path) -> int:
    from ombud.downstream.executables import local_executables

    screen = context.screen
    # The meaning stands there before anything is done: Ctrl-C while the folder is looked at changes nothing.
    context.say([*screen.wrap(MEANING), ""])
    async with open_session(root, context.progress) as (session, _):
        if session.configuration.trusted is False:
            raise UserError(
                "Your ombud.toml says “trusted = false”, which wins over the trust store. Take it out there first."
            )
        context.progress.activity("looking for programs in the folder")
        real = session.fence.folders[0]
        locals_ = await asyncio.to_thread(local_executables, session.catalogue, session.fence.folders)
        context.progress.activity("")
        entry = await asyncio.to_thread(store.grant, real, [one.path for one in locals_])
        session.redetect()
        context.say(
            [
                *screen.wrap(f"{plain(entry.path)} is trusted from now on, with {_programs(locals_)}."),
                *_may_run(context, session, locals_),
                "",
                *screen.wrap(f"{KEPT} “ombud trust --revoke {plain(real)}” takes it back."),
            ]
        )
    return 0


def _programs(found: list[Local]) -> str:
    return f"{counted(len(found), 'program')} in it" if found else "no program of a server in it"


def _may_run(context: Context, session: Session, found: list[Local]) -> Iterator[str]:
    """What trust has changed: programs of the project, and servers that run its code."""
    for one in found:
        yield f"  {plain(shown(one.path, session.fence.folders[0]))}  ({', '.join(one.names)})"
    survey = session.detector.survey()
    code = sorted(
        {one.entry.name for one in survey.detected if one.state == "available" and one.entry.runs_workspace_code}
    )
    if code:
        yield from context.screen.wrap(f"These servers may run the project's code: {', '.join(code)}.")
