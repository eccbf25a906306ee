"""``ombud rewrite PATTERN REWRITE [PATH…]``: the diff first, then the question, then all files or none."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.faces.cli.asking import can_ask, confirmed
from ombud.faces.cli.context import FAILED, Context, Trouble, Usage
from ombud.faces.cli.operation import WRITE_WAIT_MS
from ombud.faces.cli.render import counted, diagnostic_lines, rendered
from ombud.faces.cli.session import open_session, run_async
from ombud.faces.cli.shapes import diff_lines, places, plain, shape_options, shape_params
from ombud.operations import registry

if TYPE_CHECKING:
    from ombud.faces.cli.terminal import Screen
    from ombud.operations.session import Session

Result = Mapping[str, Any]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", metavar="PATTERN", help="code, with $X for anything and $$$X for any number")
    parser.add_argument("rewrite", metavar="REWRITE", help="what is put in its place, with the same $X; '' deletes it")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the folder you are in)")
    shape_options(parser)
    parser.add_argument(
        "--add-import",
        metavar="LINE",
        dest="imports",
        action="append",
        default=[],
        help="an import that changed files need, added where it is missing; may be repeated",
    )
    parser.add_argument("-y", "--yes", action="store_true", help="write it without asking")
    parser.add_argument(
        "--check",
        action="store_true",
        help="also ask the language servers what the change would break, before it is made",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="the staged edit as data; with --yes the result of the commit instead",
    )


def settle(arguments: argparse.Namespace) -> None:
    """Raises `Usage` for a pattern that is none."""
    if not arguments.pattern.strip():
        raise Usage("The pattern is empty; write code in it, with $X for what may be anything.", "rewrite")


def run(context: Context, arguments: argparse.Namespace) -> int:
    return run_async(lambda: _run(context, arguments))


async def _run(context: Context, arguments: argparse.Namespace) -> int:
    """0 where it was written (or, with --json, staged), 1 where it was not. Raises `Trouble`."""
    async with open_session(context.root, context.progress) as (session, _):
        context.progress.activity("searching")
        try:
            staged = await registry.call(session, "ast_edit", params_of(context, session, arguments))
        except OmbudError as error:
            raise Trouble(error) from None
        context.progress.activity("")
        if arguments.json:
            return await _as_data(context, session, staged, yes=arguments.yes)
        context.say(shown(staged, context.screen))
        if not staged.get("editId"):
            return FAILED
        return await _decided(context, session, staged, yes=arguments.yes)


def params_of(context: Context, session: Session, arguments: argparse.Namespace) -> dict[str, Any]:
    """The params of ``ast_edit``. Several paths are said as globs. Raises as the fence does."""
    params = {**shape_params(arguments, "rewrite"), "pattern": arguments.pattern, "rewrite": arguments.rewrite}
    paths = [place for place in places(context, arguments.paths) if place is not None]
    if len(paths) == 1:
        params["path"] = paths[0]
    elif paths:
        params["globs"] = [*(_glob(session, path) for path in paths), *params.get("globs", [])]
    if arguments.imports:
        params["addImports"] = arguments.imports
    if arguments.check:
        params |= {"check": True, "waitMs": WRITE_WAIT_MS}
    return params


def _glob(session: Session, path: str) -> str:
    inside = session.fence.resolve(path, intent="read")
    relative = inside.path.relative_to(inside.folder).as_posix()
    name = "".join(f"[{char}]" if char in "*?[" else char for char in relative)
    whole = "" if name == "." else f"/{name}"
    return f"{whole}/**" if Path(inside.path).is_dir() else whole


async def _as_data(context: Context, session: Session, staged: dict[str, Any], *, yes: bool) -> int:
    if not yes or not staged.get("editId"):
        context.say_json(staged)
        return 0 if staged.get("editId") else FAILED
    context.say_json(await _commit(session, staged))
    return 0


async def _decided(context: Context, session: Session, staged: Result, *, yes: bool) -> int:
    """Write it or not, as the person says."""
    edit = plain(staged["editId"])
    if not yes and not can_ask():
        context.progress.note(
            f"ombud: Nothing was written, since nobody can be asked here. It is staged as {edit}: “ombud resolve "
            f"{edit} --action commit” writes it, and --yes would have."
        )
        return FAILED
    if not yes and not await confirmed(context, f"Write {_counted(staged)}?"):
        await registry.call(session, "resolve", {"editId": staged["editId"], "action": "discard"})
        context.say("Nothing was written.")
        return FAILED
    context.progress.activity("writing")
    result = await _commit(session, staged)
    context.progress.activity("")
    context.say(rendered("write", {}, result, context.screen))
    return 0


async def _commit(session: Session, staged: Result) -> dict[str, Any]:
    params = {"editId": staged["editId"], "action": "commit", "waitMs": WRITE_WAIT_MS}
    return await registry.call(session, "resolve", params)


def _counted(staged: Result) -> str:
    files: Sequence[Result] = staged["files"]
    replacements = sum(file["replacements"] for file in files)
    return f"{counted(replacements, 'replacement')} in {counted(len(files), 'file')}"


def shown(staged: Result, screen: Screen) -> Iterator[str]:
    """The diffs, what was left out and why, and what the servers say of it."""
    for file in staged["files"]:
        yield from diff_lines(file["diff"], screen)
    yield from left_out(staged)
    if staged.get("introduced"):
        yield screen.paint("This would introduce:", "bold")
        for item in staged["introduced"]:
            yield from (f"  {line}" for line in diagnostic_lines(item, screen))
    yield from screen.wrap(plain(staged["message"]).partition("\n\n")[0])


def left_out(staged: Result) -> Iterator[str]:
    """Places and files that the rewriting leaves as they are."""
    for file in staged["refused"]:
        yield f"{plain(file['path'])}: left as it is. {plain(file['reason'])}"
    for one in staged.get("lost") or ():
        yield f"{plain(one['path'])}:{one['line']}: left as it is, for this would be lost: {plain(one['text'])}"
