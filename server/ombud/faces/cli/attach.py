"""``ombud attach``: be a client of the project's hub, on standard input and output."""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from ombud.errors import UserError
from ombud.faces.cli.context import Usage
from ombud.faces.cli.help import Parser, parser_of
from ombud.faces.cli.terminal import Screen
from ombud.faces.lsp.address import Address, of_project, parse, project_of
from ombud.faces.lsp.attach import LINGER_SECONDS, attach


def fill(parser: Parser) -> None:
    parser.add_argument(
        "address",
        nargs="?",
        metavar="ADDRESS",
        help="unix:PATH or HOST:PORT of a hub (default: this project's own, which all its clients share)",
    )
    parser.add_argument("--no-start", action="store_true", help="do not start a hub where there is none")
    parser.add_argument(
        "--linger",
        metavar="SECONDS",
        type=float,
        default=LINGER_SECONDS,
        help="how long a hub that is started stays after its last client has left (default: %(default)g)",
    )


def run(top: argparse.Namespace, rest: list[str], shown: Screen) -> int:
    """Raises `Usage`, and what `attach` raises."""
    parser = parser_of("attach", shown)
    fill(parser)
    arguments = parser.parse_args(rest)
    root = getattr(arguments, "root", None) or top.root
    if not (math.isfinite(arguments.linger) and arguments.linger >= 0):
        raise Usage("--linger takes seconds, from 0 on.", "attach")
    if arguments.address is not None and root is not None:
        raise Usage("--root chooses the hub of a project, and so does ADDRESS; give one of them.", "attach")
    return attach(place_of(arguments.address, root), start=not arguments.no_start, linger=arguments.linger)


def place_of(address: str | None, root: str | None) -> Address:
    """Where the hub is: at ``address``, else the place of the project around ``root`` or the current folder."""
    if address is not None:
        try:
            return parse(address)
        except UserError as error:
            raise Usage(error.message, "attach") from None
    if root is not None and not Path(root).is_dir():
        raise Usage(f"--root {root}: there is no such folder.", "attach")
    try:
        start = Path(root) if root is not None else Path.cwd()
    except OSError:
        raise UserError("The folder you are in does not exist any more; go to another one.") from None
    return of_project(project_of(start))
