"""What is going on while servers start, on standard error and never among the results.

A terminal gets one line that is written over and over and erased in the end. Anything else gets plain lines, and only
when asked for (``--verbose``).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from ombud.faces.cli.terminal import cut, is_terminal, screen

TICK = 0.25
"""Seconds between two looks at the clock while somebody waits."""
QUIET_FOR = 0.4
"""Seconds before the line appears: what is quicker needs no explanation."""
BAR = 20
"""Columns of a bar."""
_ERASE = "\r\x1b[2K"


def bar(percentage: int) -> str:
    """``[######--------------]`` for 30."""
    done = min(100, max(0, percentage)) * BAR // 100
    return f"[{'#' * done}{'-' * (BAR - done)}]"


class Progress:
    """Says which servers start, how long they take, and what else is being done.

    ``quiet`` says nothing at all; ``verbose`` says everything, in lines that stay.
    """

    def __init__(self, stream: TextIO, environment: Mapping[str, str], *, quiet: bool, verbose: bool) -> None:
        self._stream = stream
        self._screen = screen(stream, environment)
        self._quiet = quiet
        self.verbose = verbose and not quiet
        live = is_terminal(stream) and environment.get("TERM", "") != "dumb"
        self._live = live and not quiet and not verbose
        self._servers: dict[tuple[str, str], tuple[str, float, float]] = {}
        """(name, root) → its state, when that began, and when its start began."""
        self._activity = ""
        self._title = ""
        self._shown = False
        self._began = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    # -- what is told ------------------------------------------------------------------------------------------

    def server(self, row: Mapping[str, Any]) -> None:
        """A server's state changed; ``row`` is one of ``ombud/statusChanged``."""
        key = (str(row.get("name")), str(row.get("root")))
        state, now = str(row.get("state")), time.monotonic()
        former = self._servers.get(key)
        started = now if state == "starting" or former is None else former[2]
        self._servers[key] = (state, now, started)
        if self.verbose:
            self._say_plainly(key, state, now - started, str(row.get("reason") or ""))
        self._refresh()

    def activity(self, text: str) -> None:
        """What is being done right now (``checked 3 of 12 files``); the empty text when nothing is."""
        self._activity = text
        self._refresh()

    def work(self, value: Mapping[str, Any]) -> None:
        """A report of Ombud's own work (``$/progress``), as a bar where it says how far it is."""
        if value.get("kind") == "end":
            self.activity("")
            return
        self._title = str(value.get("title") or self._title)
        percentage = value.get("percentage")
        parts = [self._title, bar(percentage) if isinstance(percentage, int) else "", str(value.get("message") or "")]
        self.activity(" ".join(part for part in parts if part))

    def note(self, text: str) -> None:
        """A line that stays, unless ``--quiet``."""
        if self._quiet:
            return
        self.clear()
        with suppress(OSError, ValueError):
            self._stream.write(text + "\n")
            self._stream.flush()

    def clear(self) -> None:
        """Erase the line, so that results can be written to the same terminal."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._shown:
            self._shown = False
            self._write(_ERASE)

    # -- how it is shown ---------------------------------------------------------------------------------------

    def _say_plainly(self, key: tuple[str, str], state: str, seconds: float, reason: str) -> None:
        name, root = key
        if state == "starting":
            self.note(f"starting {name} in {root}")
        elif state == "ready":
            self.note(f"{name} is ready ({seconds:.1f} s)")
        elif state in ("failed", "crashed"):
            self.note(f"{name} {state}: {reason}")
        elif state == "swept":
            self.note(f"{name} was stopped: {reason}")

    def _refresh(self) -> None:
        if not self._live:
            return
        if self._timer is None and (self._activity or self._starting()):
            with suppress(RuntimeError):
                self._timer = asyncio.get_running_loop().call_later(TICK, self._tick)
        if self._shown or time.monotonic() - self._began >= QUIET_FOR:
            self._draw()

    def _tick(self) -> None:
        self._timer = None
        self._refresh()

    def _starting(self) -> bool:
        return any(state == "starting" for state, _, _ in self._servers.values())

    def _draw(self) -> None:
        text = self.line()
        if text:
            self._shown = True
            self._write(_ERASE + cut(text, self._screen.width - 1))
        elif self._shown:
            self.clear()

    def line(self) -> str:
        """The one line: ``starting basedpyright … ready (1.9 s), ruff … 3 s``, and what is being done."""
        parts = []
        for (name, _), (state, at, started) in self._servers.items():
            if state == "starting":
                parts.append(f"{name} … {time.monotonic() - started:.0f} s")
            elif state == "ready" and at > started:
                parts.append(f"{name} … ready ({at - started:.1f} s)")
            elif state in ("failed", "crashed"):
                parts.append(f"{name} … {state}")
        text = "starting " + ", ".join(parts) if parts else ""
        return "  ".join(part for part in (self._activity, text) if part)

    def _write(self, text: str) -> None:
        # The line is a courtesy: a terminal that has gone is noticed by whoever writes results.
        with suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()
