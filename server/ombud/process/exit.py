"""How a process ended, as data and as words."""

from __future__ import annotations

import signal
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a process.

    ``code`` is the exit code (0 to 255), or None when a signal ended it; ``signal`` is that signal's name
    (``"SIGKILL"``), or None. Both are None only for a process that could not be ended at all. ``words`` completes a
    sentence that begins with the process's name: "exited with code 3", "was killed by SIGKILL".
    """

    code: int | None
    signal: str | None
    words: str


def describe(returncode: int) -> Exit:
    """The Exit for a return code as ``subprocess`` gives it: negative means "killed by that signal"."""
    if returncode >= 0:
        return Exit(returncode, None, f"exited with code {returncode}")
    name = _signal_name(-returncode)
    return Exit(None, name, f"was killed by {name}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        # Real-time signals between SIGRTMIN and SIGRTMAX have numbers and no names.
        return f"signal {number}"
