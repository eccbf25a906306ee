"""How a demo is told: numbered steps, commands as one would type them, and promises that are checked while it runs."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ombud.faces.cli.context import Context
from ombud.faces.cli.render import plain, rendered
from ombud.faces.cli.terminal import Screen, columns_of, cut
from ombud.operations import registry

if TYPE_CHECKING:
    import psutil

    from ombud.operations.session import Session

WIDTH = 80
INDENT = "  "


class Story:
    """Tells a demo on standard output. `failures` are the promises that were not kept, as sentences."""

    def __init__(self, context: Context) -> None:
        self.context = replace(context, screen=replace(context.screen, width=min(context.screen.width, WIDTH)))
        self.screen = self.context.screen
        self.failures: list[str] = []
        self._step = 0
        self._began = time.monotonic()

    @property
    def narrow(self) -> Screen:
        """The screen for lines that are indented here."""
        return replace(self.screen, width=self.screen.width - len(INDENT))

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def step(self, title: str) -> None:
        self._step += 1
        self.context.say(["", self.screen.paint(f"{self._step}. {title}", "bold")])

    def text(self, *sentences: str) -> None:
        """A paragraph."""
        self.context.say(self.screen.wrap(" ".join(sentences), indent=INDENT))

    def command(self, *words: str) -> None:
        """What one would type after ``ombud`` for what is shown next."""
        typed = _typed(["ombud", *words], self.screen.width)
        self.context.say(["", *(self.screen.paint(part, "cyan") for part in typed)])

    def lines(self, lines: Iterable[str]) -> None:
        self.context.say([INDENT + line if line else "" for line in lines])

    def promise(self, kept: object, sentence: str) -> bool:
        """Note that something was not as this demo says it is; nothing is written for a promise that was kept."""
        if not kept:
            self.failures.append(sentence)
            self.context.say(self.screen.wrap(f"This should not be: {sentence}", indent=INDENT))
        return bool(kept)

    async def call(self, session: Session, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Run an operation, with the progress line while it takes. Raises `OmbudError` as it does."""
        self.context.progress.activity("asking")
        result = await registry.call(session, name, dict(params))
        self.context.progress.activity("")
        return result

    def show(self, name: str, params: Mapping[str, Any], result: Mapping[str, Any], most: int = 0) -> None:
        """A result as the command line prints it, at most ``most`` lines of it (0: all).

        Lines that quote the source are cut where they do not fit, prose is continued.
        """
        quotes = name == "lsp" and params.get("action") != "hover"
        narrow = replace(self.narrow, colour=self.screen.colour and not quotes)
        lines = list(rendered(name, params, result, narrow))
        if most and len(lines) > most:
            lines = [*lines[:most], f"… and {len(lines) - most} more lines"]
        if quotes:
            self.lines(cut(line, narrow.width) for line in lines)
        else:
            self.lines(part for line in lines for part in fold(line, narrow.width))

    def end(self, kept: str) -> int:
        """The last words, and the exit code."""
        if not self.failures:
            self.context.say(["", *self.screen.wrap(f"{kept} ({self.seconds:.0f} s)")])
            return 0
        number = len(self.failures)
        self.context.say(["", f"{number} of its promises {'was' if number == 1 else 'were'} not kept:"])
        self.lines(line for one in self.failures for line in self.screen.wrap(one, hanging=INDENT))
        return 1


_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def fold(line: str, width: int) -> list[str]:
    """A line of output in parts that fit, the further ones indented. Colours take no width and go on over a break."""
    if columns_of(_ESCAPE.sub("", line)) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    out = [indent]
    for word in line.strip().split(" "):
        here = out[-1]
        if here.strip() and columns_of(_ESCAPE.sub("", f"{here} {word}")) > width:
            out.append(f"{indent}    {word}")
        else:
            out[-1] = f"{here} {word}" if here.strip() else here + word
    return out


def _typed(words: Sequence[str], width: int) -> list[str]:
    """A command line, continued between its words as a shell takes it where it is too long."""
    quoted = [shlex.quote(word) for word in words]
    out = [f"{INDENT}$ {quoted[0]}"]
    for word in quoted[1:]:
        if len(out[-1]) + len(word) + 3 > width:
            out[-1] += " \\"
            out.append(f"{INDENT}  {word}")
        else:
            out[-1] += f" {word}"
    return out


class Processes:
    """The processes that this one has started, as the system knows them."""

    def __init__(self) -> None:
        import psutil

        self._me = psutil.Process(os.getpid())
        self._before = set(self._family())
        self.seen: dict[psutil.Process, str] = {}

    def _family(self) -> list[psutil.Process]:
        import psutil

        try:
            return self._me.children(recursive=True)
        except psutil.Error:
            return []

    def now(self) -> list[psutil.Process]:
        """Those that run; each is remembered, so that its end can be looked for later on."""
        import psutil

        found = []
        for process in self._family():
            if process in self._before:
                continue
            try:
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
                self.seen.setdefault(process, process.name())
            except psutil.Error:
                continue
            found.append(process)
        return found

    def left(self) -> list[str]:
        """Those of `seen` that run still, wherever they belong by now, as ``name (pid)``."""
        import psutil

        self.now()
        _, alive = psutil.wait_procs(list(self.seen), timeout=3)
        out = []
        for process in alive:
            try:
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    out.append(f"{plain(self.seen[process])} ({process.pid})")
            except psutil.Error:
                continue
        return out


def megabytes(size: int | None) -> str:
    return "?" if size is None else f"{size / 1048576:.0f} MB"
