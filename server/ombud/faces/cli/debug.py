"""``ombud debug``: a program, a module or a test up to its first stop; the whole moment; then a small prompt."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.faces.cli.asking import ask, can_ask
from ombud.faces.cli.context import FAILED, Context, Usage
from ombud.faces.cli.roots import absolute
from ombud.faces.cli.session import open_session, run_async
from ombud.operations import registry

if TYPE_CHECKING:
    from ombud.faces.cli.terminal import Screen
    from ombud.operations.session import Session

WAIT_MS = 30_000
PROMPT = "(ombud) "
_MOVES = {
    "n": "step_over",
    "next": "step_over",
    "s": "step_in",
    "step": "step_in",
    "o": "step_out",
    "out": "step_out",
    "c": "continue",
    "continue": "continue",
}
_HELP = (
    "n step over · s step in · o step out · c continue · u FILE:LINE run to · p EXPR evaluate · w the moment again · "
    "bt stack · l locals · output what was printed · q end"
)


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("program", nargs="?", metavar="PROGRAM", help="the program to debug")
    parser.add_argument("args", nargs="*", metavar="ARGS", help="its arguments, after “--”")
    parser.add_argument(
        "--break",
        dest="breaks",
        action="append",
        default=[],
        metavar="FILE:LINE[:CONDITION]",
        help="stop there (and only where the condition holds); may be given several times",
    )
    parser.add_argument("--test", metavar="ID", help="debug one test, by its runner's own id: tests/test_x.py::test_y")
    parser.add_argument("--module", metavar="NAME", help="debug a module, as python -m NAME")
    parser.add_argument("--adapter", metavar="NAME", help="the debug adapter, where the language leaves a choice")
    parser.add_argument("--stop-on-entry", action="store_true", help="stop before the first line")
    parser.add_argument(
        "--wait-ms",
        type=int,
        default=WAIT_MS,
        metavar="N",
        help=f"how long to wait for a stop, in milliseconds (default: {WAIT_MS})",
    )
    parser.add_argument("--json", action="store_true", help="print the moment as data, and end")


def settle(arguments: argparse.Namespace) -> None:
    """Give each word its meaning. Raises `Usage`."""
    if arguments.test is not None or arguments.module is not None:
        arguments.args = [*([arguments.program] if arguments.program is not None else []), *arguments.args]
        arguments.program = None
    named = [one for one in (arguments.program, arguments.test, arguments.module) if one is not None]
    if len(named) != 1:
        raise Usage("Name one of a PROGRAM, --test ID and --module NAME.", "debug")
    arguments.breaks = [_break(text) for text in arguments.breaks]


def _break(text: str) -> tuple[str, int, str | None]:
    """``file:line[:condition]``. Raises `Usage`."""
    file, _, rest = text.partition(":")
    number, _, condition = rest.partition(":")
    if not file or not number.isdecimal() or int(number) < 1:
        raise Usage(f"--break takes FILE:LINE[:CONDITION], not {text!r}.", "debug")
    return file, int(number), condition or None


def run(context: Context, arguments: argparse.Namespace) -> int:
    return run_async(lambda: _run(context, arguments))


async def _run(context: Context, arguments: argparse.Namespace) -> int:
    async with open_session(context.root, context.progress) as (session, _):
        for path, rows in _by_file(context, arguments).items():
            await _op(session, op="breakpoints", path=path, breakpoints=rows)
        launched = await _op(session, **_launch(context, arguments))
        if launched["state"] != "stopped":
            return _without(context, arguments, launched)
        moment = await _op(session, op="snapshot")
        if arguments.json:
            context.say_json({"launch": launched, "snapshot": moment})
            return 0
        _tell(context, _astray(launched))
        _tell(context, _moment(moment, context.screen))
        if can_ask():
            await _prompt(context, session)
        await _op(session, op="terminate")
    return 0


async def _op(session: Session, **params: Any) -> dict[str, Any]:
    return await registry.call(session, "debug", params)


def _tell(context: Context, lines: Iterator[str]) -> None:
    text = "\n".join(lines)
    if text:
        context.say(text)


def _by_file(context: Context, arguments: argparse.Namespace) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for file, line, condition in arguments.breaks:
        row = {"line": line, **({"condition": condition} if condition else {})}
        found.setdefault(absolute(file, context.cwd, context.root), []).append(row)
    return found


def _launch(context: Context, arguments: argparse.Namespace) -> dict[str, Any]:
    params: dict[str, Any] = {"op": "launch", "args": arguments.args, "waitMs": arguments.wait_ms}
    if arguments.program is not None:
        params["program"] = absolute(arguments.program, context.cwd, context.root)
    for name in ("test", "module", "adapter"):
        if getattr(arguments, name) is not None:
            params[name] = getattr(arguments, name)
    if arguments.stop_on_entry:
        params["stopOnEntry"] = True
    if context.cwd != context.root and context.cwd.is_relative_to(context.root):
        params["cwd"] = str(context.cwd)
    return params


def _without(context: Context, arguments: argparse.Namespace, launched: Mapping[str, Any]) -> int:
    """It did not stop: say what it did."""
    if arguments.json:
        context.say_json({"launch": launched, "snapshot": None})
        return FAILED
    _tell(context, _astray(launched))
    if launched.get("output"):
        context.say(str(launched["output"]).rstrip("\n"))
    _tell(context, _state(launched))
    return FAILED


# -- lines -------------------------------------------------------------------------------------------------------------


def _astray(launched: Mapping[str, Any]) -> Iterator[str]:
    """The breakpoints that are not where they were asked for."""
    for one in launched.get("breakpoints", {}).get("unbound", ()):
        nearest = f" Line {one['nearestLine']} can take one." if "nearestLine" in one else ""
        yield f"The breakpoint at {one['path']}:{one['line']} is not bound: {one['message'].rstrip('.')}.{nearest}"
    for one in launched.get("breakpoints", {}).get("moved", ()):
        yield f"The breakpoint at {one['path']}:{one['line']} stands at line {one['boundLine']}."


def _state(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer["state"] == "exited":
        code = answer.get("exitCode")
        yield "The program has ended" + (f" with exit code {code}." if code is not None else ".")
    elif answer["state"] == "running":
        yield "The program is still running."


def _where(answer: Mapping[str, Any], screen: Screen) -> str:
    place = f"{answer['path']}:{answer['line']}" if answer.get("path") else "code without a file"
    return f"{screen.paint(str(answer.get('reason') or 'stopped'), 'bold')} at {screen.paint(place, 'cyan')}"


def _moment(moment: Mapping[str, Any], screen: Screen) -> Iterator[str]:
    yield _where(moment, screen)
    exception = moment.get("exception")
    if exception:
        kind = f"{exception['type']}: " if exception.get("type") else ""
        yield screen.paint(f"{kind}{exception['message']}", "red")
    for number, frame in enumerate(moment["frames"]):
        place = f"{frame['path']}:{frame['line']}" if frame["path"] else "?"
        yield ""
        yield f"#{number} {screen.paint(frame['name'], 'bold')}  {place}"
        yield from (f"   {line}" for line in frame["source"].splitlines())
        for title in ("arguments", "locals"):
            for value in frame[title]:
                yield f"   {screen.paint(value['name'], 'yellow')} = {value['value']}"
        if frame.get("leftOut"):
            yield f"   … and {frame['leftOut']} more"
    if moment["total"] > len(moment["frames"]):
        yield f"… {moment['total'] - len(moment['frames'])} frames further out"


# -- the prompt --------------------------------------------------------------------------------------------------------


async def _prompt(context: Context, session: Session) -> None:
    """Read words until the person, the input or the program is at an end."""
    context.say(_HELP)
    while True:
        said = await ask(context, PROMPT)
        if not said:
            return
        word, _, rest = said.strip().partition(" ")
        if word in ("q", "quit", "exit"):
            return
        try:
            if not await _said(context, session, word, rest.strip()):
                return
        except OmbudError as error:
            context.say(error.message)


async def _said(context: Context, session: Session, word: str, rest: str) -> bool:
    """Do what one line asks for; False once the program is over."""
    if word in _MOVES or word == "u":
        return await _move(context, session, word, rest)
    if word == "p":
        value = await _op(session, op="evaluate", expression=rest)
        context.say(str(value["value"]))
    elif word == "w":
        _tell(context, _moment(await _op(session, op="snapshot"), context.screen))
    elif word == "bt":
        stack = await _op(session, op="stack")
        context.say("\n".join(f"{one['name']}  {one['path'] or '?'}:{one['line']}" for one in stack["frames"]))
    elif word == "l":
        moment = await _op(session, op="snapshot", frames=1)
        frame = moment["frames"][0]
        context.say("\n".join(f"{one['name']} = {one['value']}" for one in [*frame["arguments"], *frame["locals"]]))
    elif word == "output":
        printed = await _op(session, op="output")
        context.say("".join(one["text"] for one in printed["entries"]).rstrip("\n"))
    elif word:
        context.say(_HELP)
    return True


async def _move(context: Context, session: Session, word: str, rest: str) -> bool:
    if word == "u":
        file, line, _ = _break(rest) if ":" in rest else (rest, 0, None)
        if not line:
            context.say("u takes FILE:LINE.")
            return True
        answer = await _op(session, op="run_to", path=absolute(file, context.cwd, context.root), line=line)
    else:
        answer = await _op(session, op=_MOVES[word])
    if answer.get("output"):
        context.say(str(answer["output"]).rstrip("\n"))
    if answer["state"] == "stopped":
        context.say(_where(answer, context.screen))
        if answer.get("frames"):
            context.say(f"   {answer['frames'][0]['text']}")
        return True
    _tell(context, _state(answer))
    return bool(answer["state"] == "running")
