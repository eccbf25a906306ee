"""``ombud grep PATTERN [PATH…]``: code of a shape, in the form and with the exit codes of grep."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ombud.errors import OmbudError
from ombud.faces.cli.context import Context, Trouble, Usage
from ombud.faces.cli.session import open_session, run_async
from ombud.faces.cli.shapes import places, plain, shape_options, shape_params
from ombud.faces.cli.terminal import Screen
from ombud.operations import registry

Result = Mapping[str, Any]
MOST = 10_000
"""Matches that are shown unless told; grep shows all, but nobody reads more."""
MOST_CONTEXT = 20
_FILE_LIMIT = 4_000_000


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "pattern", nargs="?", metavar="PATTERN", help="code, with $X for anything and $$$X for any number"
    )
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the folder you are in)")
    parser.add_argument(
        "-e",
        "--pattern",
        metavar="PATTERN",
        dest="patterns",
        action="append",
        default=[],
        help="a pattern given by option, so that there can be several, or one that begins with “-”; then every other "
        "word is a path, as it is with --kind",
    )
    shape_options(parser)
    parser.add_argument(
        "--relaxed",
        action="store_true",
        help="let a pattern without return type, modifiers or type parameters match code that has them",
    )
    _add_output(parser)


def _add_output(parser: argparse.ArgumentParser) -> None:
    """The options that say what is shown of the matches."""
    for flag, name, text in (
        ("-C", "context", "before and after"),
        ("-A", "after-context", "after"),
        ("-B", "before-context", "before"),
    ):
        parser.add_argument(flag, f"--{name}", type=int, metavar="N", help=f"show N lines {text} each match as well")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("-l", "--files-with-matches", action="store_true", help="only the names of files with a match")
    only.add_argument("-c", "--count", action="store_true", help="only how many matches each file has")
    only.add_argument("--json", action="store_true", help="the exact result object; with several paths a list of them")
    parser.add_argument(
        "-m", "--max", type=int, default=MOST, metavar="N", help=f"show at most N matches (default: {MOST})"
    )
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="whether to use colours (default: auto, which means in a terminal and without NO_COLOR)",
    )
    parser.add_argument(
        "--attach", action="store_true", help="let this project's hub do it, with what it knows already"
    )


def settle(arguments: argparse.Namespace) -> None:
    """Where patterns are given by option, the first word is a path like the others. Raises `Usage`."""
    if arguments.patterns or arguments.kind:
        if arguments.pattern is not None:
            arguments.paths = [arguments.pattern, *arguments.paths]
            arguments.pattern = None
    elif arguments.pattern is None:
        raise Usage("What is to be found? Give a pattern such as 'print($X)'.", "grep")
    for name in ("context", "after_context", "before_context"):
        if not 0 <= (getattr(arguments, name) or 0) <= MOST_CONTEXT:
            raise Usage(f"--{name.replace('_', '-')} takes a number from 0 to {MOST_CONTEXT}.", "grep")
    if not 1 <= arguments.max <= MOST:
        raise Usage(f"--max takes a number from 1 to {MOST}.", "grep")


def run(context: Context, arguments: argparse.Namespace) -> int:
    if arguments.color != "auto":
        context = replace(context, screen=replace(context.screen, colour=arguments.color == "always"))
    return run_async(lambda: _run(context, arguments))


async def _run(context: Context, arguments: argparse.Namespace) -> int:
    """The exit code, as `code` has it. Raises `Trouble`."""
    shared = params_of(arguments)
    asked = [{**shared, **({"path": place} if place is not None else {})} for place in places(context, arguments.paths)]
    try:
        results = await _ask(context, asked, attach=arguments.attach)
    except OmbudError as error:
        raise Trouble(error) from None
    context.progress.activity("")
    matches = once(results, arguments.max)
    if arguments.json:
        context.say_json(results[0] if len(results) == 1 else results)
    else:
        lines = list(shown(context, arguments, matches))
        if lines:
            context.say(lines)
        for note in notes(results, matches):
            context.progress.note(f"ombud: {plain(note)}")
    return code(results, matches)


def code(results: Sequence[Result], matches: Sequence[Result]) -> int:
    """0 where something was found, 1 where nothing was, 2 where nothing was but the search of a file failed."""
    from ombud.syntax.source import DEADLY

    if matches:
        return 0
    return 2 if any(one["reason"] == DEADLY for result in results for one in result["filesSkipped"]) else 1


async def _ask(context: Context, asked: Sequence[dict[str, Any]], *, attach: bool) -> list[Result]:
    found = registry.operation("ast_grep")
    for params in asked:
        registry.parse(found, params)
    context.progress.activity("searching")
    if attach:
        from ombud.faces.cli.remote import call

        return [await call(context, found, params) for params in asked]
    async with open_session(context.root, context.progress) as (session, _):
        return [await registry.call(session, "ast_grep", params) for params in asked]


def params_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The params of ``ast_grep``, without the path. Raises `Usage`."""
    params = shape_params(arguments, "grep")
    if len(arguments.patterns) > 1:
        params["any"] = arguments.patterns
    elif arguments.patterns or arguments.pattern is not None:
        params["pattern"] = arguments.patterns[0] if arguments.patterns else arguments.pattern
    if arguments.relaxed:
        params["strictness"] = "relaxed"
    params["maxResults"] = arguments.max
    return params


def once(results: Sequence[Result], most: int) -> list[Result]:
    """The matches of all results, each place once: paths may lie within one another."""
    seen: dict[tuple[Any, ...], Result] = {}
    for result in results:
        for match in result["matches"]:
            start, end = match["range"]["start"], match["range"]["end"]
            key = match["path"], start["line"], start["character"], end["line"], end["character"]
            seen.setdefault(key, match)
    return list(seen.values())[:most]


def notes(results: Sequence[Result], matches: Sequence[Result]) -> Iterator[str]:
    """What a reader should know beside the matches: what was left out, and how the pattern was read."""
    for result in results:
        if result.get("note"):
            yield str(result["note"])
    reasons: dict[str, int] = {}
    for skipped in (one for result in results for one in result["filesSkipped"]):
        reasons[skipped["reason"]] = reasons.get(skipped["reason"], 0) + 1
    from ombud.syntax.source import DEADLY

    if matches:
        # What was left out on purpose is known; where the search failed, the answer is half of one.
        reasons = {reason: number for reason, number in reasons.items() if reason == DEADLY}
    if reasons:
        yield "Not searched: " + ", ".join(f"{number} ({reason})" for reason, number in reasons.items()) + "."
    first = results[0]
    if not matches and first["filesSearched"]:
        others = f", which could also be {' or '.join(first['alsoParsesAs'])}" if first["alsoParsesAs"] else ""
        number = sum(result["filesSearched"] for result in results)
        files = "1 file" if number == 1 else f"{number} files"
        yield f"Nothing found in {files}. The pattern was read as {first['parsedAs']}{others}."
    elif not matches and reasons:
        yield "No file was searched: no other file here is in a language in which the pattern can be read."
    elif not matches:
        yield "No file was searched: there is none here in a language in which the pattern can be read."


def lines(_params: Result, result: Result, screen: Screen) -> Iterator[str]:
    """The rendering of ``ombud ast-grep``: a line for each match."""
    for one in result["matches"]:
        first, *more = plain(one["text"]).splitlines() or [""]
        place = f"{plain(one['path'])}:{one['line']}:{one['range']['start']['character'] + 1}:"
        yield f"{screen.paint(place, 'bold')} {first}{' …' if more else ''}"
    yield from (line for note in notes([result], result["matches"]) for line in screen.wrap(plain(note)))


# -- lines ----------------------------------------------------------------------------------------------------------


def shown(context: Context, arguments: argparse.Namespace, matches: Sequence[Result]) -> Iterator[str]:
    """What is written of the matches, in the form that was asked for."""
    screen = context.screen
    by_file: dict[str, list[Result]] = {}
    for match in matches:
        by_file.setdefault(match["path"], []).append(match)
    if arguments.files_with_matches:
        yield from (screen.paint(plain(path), "blue") for path in by_file)
    elif arguments.count:
        yield from (f"{screen.paint(plain(path), 'blue')}:{len(found)}" for path, found in by_file.items())
    else:
        around = arguments.context or 0
        before = around if arguments.before_context is None else arguments.before_context
        after = around if arguments.after_context is None else arguments.after_context
        first = True
        for path, found in by_file.items():
            page = Page(path, _lines_of(context.root / path), found)
            for group in page.groups(before, after):
                if not first and (before or after):
                    yield screen.paint("--", "dim")
                first = False
                yield from page.rows(group, screen)


def _lines_of(path: Path) -> list[str]:
    from ombud.errors import Refused
    from ombud.text.buffer import decode
    from ombud.text.ranges import LINE_END

    try:
        with path.open("rb") as file:
            data = file.read(_FILE_LIMIT)
        if len(data) == _FILE_LIMIT:  # A character cut in two would make Latin-1 of all the file.
            data = data[: data.rfind(b"\n") + 1] or data
        return LINE_END.split(decode(data).text)
    except Refused:
        return LINE_END.split(data.decode("utf-8-sig", "replace"))
    except OSError:
        return []


@dataclass(slots=True)
class Page:
    """One file's matches as lines. ``lines`` are those on the disk; a match that is not there is shown by itself."""

    path: str
    lines: list[str]
    matches: list[Result]
    marks: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    """By line: from which UTF-16 column to which a match stands on it."""
    texts: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for match in self.matches:
            start, end = match["range"]["start"], match["range"]["end"]
            own = match["text"].splitlines() or [""]
            for line in range(start["line"], end["line"] + 1):
                text = self.lines[line] if line < len(self.lines) else own[min(line - start["line"], len(own) - 1)]
                left = start["character"] if line == start["line"] else len(text) - len(text.lstrip())
                right = end["character"] if line == end["line"] else 1 << 30
                self.texts[line] = text
                self.marks.setdefault(line, []).append((left, right))

    def groups(self, before: int, after: int) -> Iterator[list[int]]:
        """Numbers of lines that stand together."""
        wanted = set(self.marks)
        for line in self.marks:
            wanted.update(range(max(0, line - before), line))
            wanted.update(range(line + 1, min(line + after, self._last) + 1))
        group: list[int] = []
        for line in sorted(wanted):
            if group and line != group[-1] + 1 and (before or after):
                yield group
                group = []
            group.append(line)
        if group:
            yield group

    @property
    def _last(self) -> int:
        """The last line that anybody sees: what a text ends with is none."""
        return len(self.lines) - 1 - (len(self.lines) > 1 and not self.lines[-1])

    def rows(self, group: Sequence[int], screen: Screen) -> Iterator[str]:
        path = screen.paint(plain(self.path), "blue")
        for line in group:
            sign = ":" if line in self.marks else "-"
            number = screen.paint(str(line + 1), "green")
            text = self.texts[line] if line in self.texts else self.lines[line]
            yield f"{path}{sign}{number}{sign}{_marked(text, self.marks.get(line, ()), screen.paint)}"


def _marked(text: str, marks: Sequence[tuple[int, int]], paint: Callable[..., str]) -> str:
    """The line with its matches in red; places that overlap are one."""
    from ombud.text.ranges import index_of_unit

    out, at = "", 0
    for left, right in sorted(marks):
        start, end = max(at, index_of_unit(text, left)), index_of_unit(text, right)
        if end > start:
            out += plain(text[at:start]) + paint(plain(text[start:end]), "red", "bold")
            at = end
    return out + plain(text[at:])
