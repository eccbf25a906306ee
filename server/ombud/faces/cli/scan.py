"""``ombud scan [PATH…]``: what the project's rules find, as compilers print it; with ``--fix`` it is mended."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ombud.errors import UserError
from ombud.faces.cli.asking import can_ask, confirmed
from ombud.faces.cli.check import SEVERITIES
from ombud.faces.cli.context import FAILED, Context, Usage
from ombud.faces.cli.operation import WRITE_WAIT_MS
from ombud.faces.cli.render import SEVERITY_STYLES, counted, listed, rendered
from ombud.faces.cli.roots import absolute
from ombud.faces.cli.session import open_session, run_async
from ombud.faces.cli.shapes import diff_lines, places, plain
from ombud.operations import registry

if TYPE_CHECKING:
    from ombud.operations.session import Session

Result = Mapping[str, Any]
MOST = 10_000


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the folder you are in)")
    parser.add_argument("--path", dest="more", action="append", default=[], metavar="PATH", help=argparse.SUPPRESS)
    parser.add_argument(
        "--rules",
        action="append",
        default=[],
        metavar="RULES",
        help="a file or folder of rules, or the id of one of the project's, in place of all of these; may be repeated",
    )
    parser.add_argument(
        "--severity",
        choices=SEVERITIES,
        default="error",
        help="the least severity that makes the exit code 1 (default: error)",
    )
    parser.add_argument("--fix", action="store_true", help="show the diff of all fixes, ask, and write them")
    parser.add_argument("-y", "--yes", action="store_true", help="with --fix: write without asking")
    parser.add_argument(
        "--max-results", type=int, default=MOST, metavar="N", help=f"show at most N findings (default: {MOST})"
    )
    parser.add_argument("--json", action="store_true", help="print the exact result object")
    parser.add_argument(
        "--attach", action="store_true", help="let this project's hub do it, with what it knows already"
    )


def settle(arguments: argparse.Namespace) -> None:
    """Raises `Usage` for options that do not go together."""
    arguments.paths = [*arguments.paths, *arguments.more]
    if not 1 <= arguments.max_results <= MOST:
        raise Usage(f"--max-results takes a number from 1 to {MOST}.", "scan")
    if arguments.fix and (arguments.json or arguments.attach):
        raise Usage("--fix goes with neither --json nor --attach.", "scan")
    if arguments.yes and not arguments.fix:
        raise Usage("--yes is for --fix.", "scan")


def run(context: Context, arguments: argparse.Namespace) -> int:
    return run_async(lambda: _run(context, arguments))


async def _run(context: Context, arguments: argparse.Namespace) -> int:
    """1 where something of the severity was found. Raises `OmbudError` as the operation does."""
    params = params_of(context, arguments)
    found = registry.operation("scan")
    try:
        registry.parse(found, params)
    except UserError as error:
        raise Usage(error.message, "scan") from None
    context.progress.activity("looking")
    if arguments.attach:
        from ombud.faces.cli.remote import call

        return _say(context, arguments, await call(context, found, params))
    async with open_session(context.root, context.progress) as (session, _):
        result = await registry.call(session, "scan", params)
        if arguments.fix:
            return await _fixed(context, session, arguments, params, result)
        return _say(context, arguments, result)


def params_of(context: Context, arguments: argparse.Namespace) -> dict[str, Any]:
    """The params of ``scan``."""
    paths = [place for place in places(context, arguments.paths) if place is not None]
    params: dict[str, Any] = {"maxResults": arguments.max_results}
    if paths:
        params["path"] = paths[0] if len(paths) == 1 else paths
    rules: list[Any] = []
    for word in arguments.rules:
        rules += _rules(context, word)
    if rules:
        params["rules"] = rules
    return params


def _rules(context: Context, word: str) -> list[Any]:
    """What ``--rules`` says: a file or folder as seen from here, an id, or JSON as for any other list."""
    if word.lstrip().startswith(("[", "{")):
        try:
            value = json.loads(word)
        except ValueError as error:
            raise Usage(f"--rules: this is not valid JSON: {error}.", "scan") from None
        return value if isinstance(value, list) else [value]
    here = absolute(word, context.cwd, context.root)
    return [here if "\0" not in word and (context.cwd / word).exists() else word]


def exit_code(findings: Sequence[Result], severity: str) -> int:
    """1 where one of the findings is as bad as ``severity`` or worse."""
    counting = SEVERITIES[: SEVERITIES.index(severity) + 1]
    return FAILED if any(one["severity"] in counting for one in findings) else 0


def _say(context: Context, arguments: argparse.Namespace, result: Result) -> int:
    context.progress.activity("")
    if arguments.json:
        context.say_json(result)
    else:
        context.say(rendered("scan", {}, result, context.screen))
    return exit_code(result["findings"], arguments.severity)


async def _fixed(
    context: Context, session: Session, arguments: argparse.Namespace, params: Mapping[str, Any], result: Result
) -> int:
    """Show what the fixes change, ask, write, and look again. Raises `OmbudError` as a write does."""
    from ombud.operations.structural.fixing import mended, write

    plan = await mended(session, result["findings"])
    context.progress.activity("")
    if not plan.files:
        return _say(context, arguments, result)
    for file in plan.files:
        context.say(diff_lines(file.diff, context.screen))
    number = "1 fix" if plan.fixes == 1 else f"{plan.fixes} fixes"
    words = f"{number} in {counted(len(plan.files), 'file')}"
    if not arguments.yes and not can_ask():
        context.progress.note(f"ombud: {words} not written, since nobody can be asked here; --yes writes them.")
        return FAILED
    if not arguments.yes and not await confirmed(context, f"Write {words}?"):
        context.say("Nothing was written.")
        return FAILED
    context.progress.activity("writing")
    written = await write(session, plan, WRITE_WAIT_MS)
    context.progress.activity("")
    context.say(rendered("write", {}, written, context.screen))
    return _say(context, arguments, await registry.call(session, "scan", dict(params)))


def lines(_params: Result, result: Result, screen: Any) -> Iterator[str]:
    """The rendering of a scan: a line for each finding, and what is to be known of the rules."""
    for one in result["findings"]:
        yield from _finding(one, screen)
    for problem in result["problems"]:
        rule = f" (rule {plain(problem['rule'])})" if problem.get("rule") else ""
        yield from screen.wrap(f"{plain(problem['path'])}{rule}: {plain(problem['message'])}")
    yield from screen.wrap(_total(result))
    if result.get("note"):
        yield from screen.wrap(plain(result["note"]))


def _finding(one: Result, screen: Any) -> Iterator[str]:
    start = one["range"]["start"]
    head, *rest = plain(one["message"]).splitlines() or [""]
    place = screen.paint(f"{plain(one['path'])}:{one['line']}:{start['character'] + 1}:", "bold")
    kind = screen.paint(f"{one['severity']}:", SEVERITY_STYLES.get(one["severity"], "dim"))
    fixable = ", can be fixed" if one.get("fix") else ""
    rule = screen.paint(f"[{plain(one['ruleId'])}{fixable}]", "dim")
    yield f"{place} {kind} {head} {rule}"
    yield from (f"    {line}" for line in rest if line.strip())
    first, *more = plain(one["text"]).splitlines() or [""]
    yield screen.paint(f"    {first}{' …' if more else ''}", "dim")
    if one.get("note"):
        yield from screen.wrap(plain(one["note"]).strip(), "    ")


def _total(result: Result) -> str:
    numbers = Counter(one["severity"] for one in result["findings"])
    nouns = {"error": "error", "warning": "warning", "information": "remark", "hint": "hint"}
    parts = [counted(numbers[severity], nouns[severity]) for severity in SEVERITIES if numbers[severity]]
    silent = f" {counted(result['suppressed'], 'finding')} silenced by comments." if result["suppressed"] else ""
    where = f"{counted(result['filesSearched'], 'file')} with {counted(result['rules'], 'rule')}"
    return f"{listed(parts) or 'Nothing found'} in {where}.{silent}"
