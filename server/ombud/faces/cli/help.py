"""The texts of ``--help``: the list of commands, and the parser of each."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NoReturn

from ombud.faces.cli.context import Usage
from ombud.faces.cli.options import Option, add_options, kebab
from ombud.faces.cli.terminal import Screen
from ombud.faces.cli.words import CHANGE, COMMANDS, GROUPS, LOOK, Words, option_words
from ombud.operations.table import OPERATIONS

LEAD = (
    "Ombud is a language server that speaks for other language servers: it starts the ones that a project's files "
    "need, answers for all of them, and after every change says what that change broke."
)
EXAMPLES = (
    ("ombud doctor", "which language servers this project gets, and why not the others"),
    ("ombud check src", "what they say about the files in src"),
    ("ombud lsp hover --path app.py --line 12 --symbol total", "what “total” on line 12 is"),
)
EXPORT = "graph-export"
"""The command whose result is a file of its own."""
COMMON = (
    ("--root DIR", "the project's folder (default: the nearest one above you that looks like a project)"),
    ("-q, --quiet", "nothing but results and errors"),
    ("-v, --verbose", "say what servers do, line by line"),
    ("--version", "print the version"),
    ("-h, --help", "this text, or a command's own (ombud COMMAND --help)"),
)


class Parser(argparse.ArgumentParser):
    """argparse that raises `Usage`, where it would write and leave."""

    command: str | None = None

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message[:1].upper()}{message[1:]}.".replace("..", "."), self.command)


def operations() -> dict[str, str]:
    """The commands that are operations: their kebab-case name → the registry's."""
    return {kebab(name): name for name in OPERATIONS}


def words_of(command: str) -> Words:
    """What the help says of a command; for an operation without words here, what the registry says of it."""
    known = COMMANDS.get(command)
    if known is not None:
        return known
    from ombud.operations.registry import operation

    name = operations()[command]
    text = operation(name).description
    group = LOOK if OPERATIONS[name].tier == "read" else CHANGE
    return Words(
        group, text.partition(".")[0][:1].lower() + text.partition(".")[0][1:], text, (f"ombud {command} --help",)
    )


def commands() -> list[str]:
    """Every command, in the order of the help."""
    return list(dict.fromkeys([*COMMANDS, *operations()]))


def overview(screen: Screen) -> str:
    """The text of ``ombud --help``."""
    listed = {command: words_of(command) for command in commands()}
    width = max(map(len, listed)) + 4
    lines = ["usage: ombud COMMAND …", "", *screen.wrap(LEAD), ""]
    for group in GROUPS:
        lines.append(screen.paint(group, "bold"))
        for command, words in listed.items():
            if words.group == group:
                lines += _entry(screen, command, words.line, width)
        lines.append("")
    lines.append(screen.paint("Options, with every command", "bold"))
    for flag, text in COMMON:
        lines += _entry(screen, flag, text, 17)
    lines += ["", screen.paint("Examples", "bold")]
    for example, text in EXAMPLES:
        lines.append(f"  {example}")
        lines += screen.wrap(text, indent="      ")
    return "\n".join(lines)


def _entry(screen: Screen, name: str, text: str, width: int) -> list[str]:
    lines = screen.wrap(text, indent=" " * width)
    lines[0] = f"  {name}".ljust(width) + lines[0][width:]
    return lines


def parser_of(command: str, screen: Screen) -> Parser:
    """An empty parser with the help's frame and the options that every command takes."""
    words = words_of(command)
    examples = "\n".join(f"  {example}" for example in words.examples)
    parser = Parser(
        prog=f"ombud {command}",
        description="\n".join(screen.wrap(words.text)),
        epilog=f"examples:\n{examples}",
        formatter_class=_formatter(screen),
        allow_abbrev=False,
    )
    parser.command = command
    common(parser, top=False)
    return parser


def common(parser: argparse.ArgumentParser, *, top: bool) -> None:
    """``--root``, ``--quiet`` and ``--verbose``, which may stand before and after the command."""
    # Behind the command they only count where they are given: a default would undo what stood before it.
    unsaid: dict[str, Any] = {} if top else {"default": argparse.SUPPRESS}
    parser.add_argument("--root", metavar="DIR", help="the project's folder", **unsaid)
    parser.add_argument("-q", "--quiet", action="store_true", help="nothing but results and errors", **unsaid)
    parser.add_argument("-v", "--verbose", action="store_true", help="say what servers do", **unsaid)


def operation_parser(command: str, options: list[Option], screen: Screen) -> Parser:
    """The parser of an operation's command, generated from its schema."""
    parser = parser_of(command, screen)
    add_options(parser, options, option_words(operations()[command]))
    parser.add_argument("--json", action="store_true", help="print the exact result object")
    if command == EXPORT:
        parser.add_argument("--output", metavar="FILE", help="write to this file instead of standard output")
    parser.add_argument(
        "--attach",
        action="store_true",
        help="let this project's hub do it, with warm servers; started if there is none",
    )
    return parser


def _formatter(screen: Screen) -> type[argparse.RawDescriptionHelpFormatter]:
    class Formatter(argparse.RawDescriptionHelpFormatter):
        def __init__(self, prog: str) -> None:
            super().__init__(prog, max_help_position=26, width=screen.width)

    return Formatter


def nearest(word: str, known: Mapping[str, object] | list[str]) -> str | None:
    """The command that was probably meant."""
    from difflib import get_close_matches

    found = get_close_matches(word.lower().replace("_", "-"), list(known), 1, cutoff=0.5)
    return found[0] if found else None
