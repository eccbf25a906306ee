"""The command line: ``ombud COMMAND …``, from words to an exit code.

Exit codes: 0; 1 for a refusal (``kind: message`` on standard error) or for what a command is there to find; 2 for bad
usage; 3 when a server that should have answered did not; 128 plus the number of the signal that ended it.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ombud.errors import OmbudError, UserError
from ombud.faces.cli.context import FAILED, MISUSED, Context, Trouble, Unwritable, Usage, write
from ombud.faces.cli.help import (
    Parser,
    commands,
    common,
    nearest,
    operation_parser,
    operations,
    overview,
    parser_of,
)
from ombud.faces.cli.terminal import Screen, prepare_streams, screen

Serve = Callable[[str | None, float | None], int]
"""Serves on standard input and output, or on an address until it was left alone for so many seconds; given by the
composition root."""

OWN_FACE = frozenset({"debug", "scan"})
"""Operations whose command takes more than their params."""
CLOSED_PIPE = 141
"""128 plus SIGPIPE: the reader has gone (``ombud doctor | head``), which is no fault of anybody's."""


def run(argv: Sequence[str], serve: Serve) -> int:
    """Run one command line and return its exit code. Raises nothing."""
    prepare_streams()
    # Until a command has decided what to do with the log, nothing of it is shown.
    logging.getLogger("ombud").addHandler(logging.NullHandler())
    try:
        return _run_and_flush(list(argv), serve)
    except BrokenPipeError:
        _forget_stdout()
        return CLOSED_PIPE
    except Unwritable as problem:
        _forget_stdout()
        _complain(f"ombud: {problem}")
    except Usage as usage:
        more = f"ombud {usage.command} --help" if usage.command else "ombud --help"
        _complain(f"ombud: {usage.message} See “{more}”.")
        return MISUSED
    except OmbudError as error:
        _complain(f"{error.kind}: {error.message}", error)
    except Trouble as trouble:
        _complain(f"{trouble.error.kind}: {trouble.error.message}", trouble.error)
        return MISUSED
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # The last line of defence: a fault of ours ends in a sentence. `--verbose` shows where it happened.
        logging.getLogger("ombud.cli").warning("the command failed", exc_info=error)
        _complain(f"internal: Ombud itself failed: {type(error).__name__}: {error}. Please report it, with --verbose.")
    return FAILED


def _run_and_flush(argv: list[str], serve: Serve) -> int:
    """argparse leaves by itself after ``--help``; what it wrote may still have to reach the reader."""
    try:
        code = _run(argv, serve)
    except SystemExit as leave:
        code = leave.code if isinstance(leave.code, int) else 0
    write("", end="")
    return code


def _run(argv: list[str], serve: Serve) -> int:
    shown = screen(sys.stdout)
    top, command, rest = _split(argv)
    if top.version:
        from ombud import __version__

        write(f"ombud {__version__}")
        return 0
    if top.help:
        write(overview(shown))
        return 0
    if command is None:
        _complain(overview(screen(sys.stderr)))
        return MISUSED
    if command == "help":
        return _run([*rest[:1], "--help"], serve)
    if command not in commands():
        near = nearest(command, commands())
        hint = f" Did you mean “{near}”?" if near else ""
        raise Usage(f"There is no command {command!r}.{hint}")
    if command == "serve":
        return _serve(rest, shown, serve)
    if command == "attach":
        from ombud.faces.cli.attach import run as attach

        return attach(top, rest, shown)
    return _command(command, top, rest, shown)


def _split(argv: list[str]) -> tuple[argparse.Namespace, str | None, list[str]]:
    """What stands before the command, the command, and what stands behind it."""
    parser = Parser(prog="ombud", add_help=False, allow_abbrev=False)
    common(parser, top=True)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("command", nargs="?")
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    top = parser.parse_args(argv)
    return top, top.command, top.rest


def _serve(rest: list[str], shown: Screen, serve: Serve) -> int:
    parser = parser_of("serve", shown)
    parser.add_argument(
        "--listen",
        metavar="ADDRESS",
        help="listen on HOST:PORT or unix:PATH instead of using standard input and output; any number of clients may "
        "connect",
    )
    parser.add_argument(
        "--linger",
        metavar="SECONDS",
        type=float,
        help="with --listen: end after so long without a client (default: never)",
    )
    arguments = parser.parse_args(rest)
    address, linger = arguments.listen, arguments.linger
    if linger is not None and (address is None or not 0 <= linger < float("inf")):
        raise Usage("--linger takes seconds, from 0 on, and goes with --listen.", "serve")
    if address is not None:
        from ombud.faces.lsp.address import parse

        try:
            parse(address)
        except UserError as error:
            raise Usage(error.message, "serve") from None
    return serve(address, linger)


def _command(command: str, top: argparse.Namespace, rest: list[str], shown: Screen) -> int:
    """Every command that works on a project."""
    if command in operations() and (command not in OWN_FACE or "--op" in rest):
        return _operation(command, top, rest, shown)
    from importlib import import_module

    # Each of these modules has `fill(parser)` and `run(context, arguments) -> int`; some `settle(arguments)`.
    module = import_module(f"ombud.faces.cli.{command}")
    parser = parser_of(command, shown)
    module.fill(parser)
    if hasattr(module, "settle"):
        from ombud.faces.cli.options import intermixed

        arguments = intermixed(parser, rest)
        module.settle(arguments)
    else:
        arguments = parser.parse_args(rest)
    return int(module.run(_context(top, arguments, shown), arguments))


def _operation(command: str, top: argparse.Namespace, rest: list[str], shown: Screen) -> int:
    from ombud.faces.cli import operation
    from ombud.faces.cli.options import joined, options_of
    from ombud.faces.cli.session import run_async
    from ombud.operations import registry

    found = registry.operation(operations()[command])
    options = options_of(found.schema)
    parser = operation_parser(command, options, shown)
    arguments = parser.parse_args(joined(rest, parser))
    context = _context(top, arguments, shown)
    try:
        params = operation.arguments(found, options, arguments, context)
    except UserError as error:
        raise Usage(error.message, command) from None
    output = getattr(arguments, "output", None)
    if output is not None and (arguments.json or arguments.attach):
        raise Usage("--output takes the export itself; it goes with neither --json nor --attach.", command)
    return run_async(
        lambda: operation.run(context, found, params, as_json=arguments.json, attach=arguments.attach, output=output)
    )


def _context(top: argparse.Namespace, arguments: Any, shown: Screen) -> Context:
    from ombud.faces.cli.progress import Progress
    from ombud.faces.cli.roots import root_for
    from ombud.faces.cli.session import log_to

    said = getattr(arguments, "root", None) or top.root
    quiet = top.quiet or getattr(arguments, "quiet", False)
    verbose = top.verbose or getattr(arguments, "verbose", False)
    try:
        cwd = Path.cwd()
    except OSError:
        raise UserError("The folder you are in does not exist any more; go to another one.") from None
    if said and not Path(said).is_dir():
        raise Usage(f"--root {said}: there is no such folder.")
    progress = Progress(sys.stderr, os.environ, quiet=quiet, verbose=verbose)
    log_to(progress, os.environ)
    root = Path(os.path.abspath(said)) if said else root_for(cwd, _named(cwd, arguments))  # noqa: PTH100 - links are the fence's business
    return Context(cwd=cwd, root=root, screen=shown, progress=progress, environment=os.environ)


def _named(cwd: Path, arguments: Any) -> Path | None:
    """The first file or folder that the command names, where it names one as a path."""
    paths = getattr(arguments, "paths", None) or [getattr(arguments, "path", None)]
    first = paths[0]
    if not isinstance(first, str) or first in ("", "*") or ":" in first:
        return None
    return cwd / first


def _complain(text: str, error: OmbudError | None = None) -> None:
    """A refusal on standard error, with the candidates that it carries."""
    from ombud.faces.cli.render import candidates, plain

    lines = [plain(text), *(candidates(error.data) if error is not None else ())]
    try:
        print("\n".join(lines), file=sys.stderr, flush=True)
    except OSError:
        # Nobody listens; the exit code still tells.
        return


def _forget_stdout() -> None:
    """Nothing can be written any more: what is in the buffer must not fail once more when the interpreter ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        return
