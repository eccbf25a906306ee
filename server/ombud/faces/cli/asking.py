"""A question to whoever sits at the terminal, and what a command does where nobody does."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress

from ombud.faces.cli.context import Context
from ombud.faces.cli.terminal import is_terminal

_YES = frozenset({"y", "yes"})


def can_ask() -> bool:
    """Whether somebody can read a question and answer it."""
    try:
        return is_terminal(sys.stdin) and is_terminal(sys.stderr)
    except AttributeError:
        # Standard input was closed by the caller.
        return False


async def confirmed(context: Context, question: str) -> bool:
    """Whether the person says yes; everything else, the end of the input too, is a no."""
    return (await ask(context, f"{question} [y/N] ")).strip().lower() in _YES


async def ask(context: Context, prompt: str) -> str:
    """One line of the person's, with its end; empty at the end of the input.

    The event loop goes on meanwhile, so that Ctrl-C ends the command as at any other time.
    """
    context.progress.clear()
    sys.stderr.write(prompt)
    sys.stderr.flush()
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not answered.done():
            answered.set_result(sys.stdin.readline())

    try:
        loop.add_reader(sys.stdin.fileno(), read)
    except (NotImplementedError, OSError, ValueError):
        # A loop that watches no files (Windows), or an input that cannot be watched.
        return await asyncio.to_thread(sys.stdin.readline)
    try:
        return await answered
    finally:
        with suppress(OSError, ValueError):
            loop.remove_reader(sys.stdin.fileno())
