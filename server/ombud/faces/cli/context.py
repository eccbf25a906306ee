"""What every command is given: where it works, and where its words go."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ombud.errors import OmbudError
from ombud.faces.cli.progress import Progress
from ombud.faces.cli.terminal import Screen

FAILED, MISUSED, UNANSWERED = 1, 2, 3
"""Exit codes besides 0: a refusal or an error found, bad usage, and a server that should have answered and did not."""


class Usage(Exception):
    """The command line cannot be understood. ``command`` is the one whose help would tell more, or None."""

    def __init__(self, message: str, command: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.command = command


class Trouble(Exception):
    """An `OmbudError` in a command whose exit code 1 is an answer of its own, as it is grep's: this one ends with 2."""

    def __init__(self, error: OmbudError) -> None:
        super().__init__(error.message)
        self.error = error


class Unwritable(Exception):
    """A result could not be written, and that is not because its reader has left."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"The result could not be written: {error.strerror or error}.")


def write(text: str, end: str = "\n") -> None:
    """Write to standard output, and on to the reader at once.

    Raises ``BrokenPipeError`` when the reader has left, `Unwritable` when it fails for another reason.
    """
    try:
        sys.stdout.write(text + end)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritable(error) from None


@dataclass(frozen=True, slots=True)
class Context:
    """``cwd``: the folder the user stands in. ``root``: the project. Both are absolute."""

    cwd: Path
    root: Path
    screen: Screen
    progress: Progress
    environment: Mapping[str, str]

    def say(self, lines: str | Iterable[str] = "") -> None:
        """Write results to standard output, at once: what follows may take a while. Raises as `write` does."""
        text = lines if isinstance(lines, str) else "\n".join(lines)
        self.progress.clear()
        write(text)

    def say_json(self, value: Any) -> None:
        """Write a value as JSON, indented, as UTF-8 where the stream can."""
        encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "")
        self.say(json.dumps(value, indent=2, ensure_ascii=encoding != "utf8"))
