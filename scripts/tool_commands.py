"""Running the commands that install tools: a failing one ends as a sentence. The standard library only."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ATTEMPTS = 3


class ToolError(Exception):
    """A group could not be installed; the text is a sentence for the person who asked."""


def run(
    command: Sequence[str | Path],
    *,
    what: str,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    attempts: int = 1,
    timeout: float = 900,
) -> str:
    """Runs a command and returns its standard output; the last words of a failing one are in the ToolError.

    Registries fail for moments at a time, so commands that download are given several `attempts`.
    """
    words = [str(word) for word in command]
    failure = ""
    for attempt in range(attempts):
        if attempt:
            time.sleep(2.0 * 3 ** (attempt - 1))
        try:
            done = subprocess.run(
                words,
                cwd=cwd,
                env=dict(env) if env is not None else None,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            failure = f"no end after {timeout:.0f} seconds"
            continue
        except OSError as error:
            failure = str(error)
            break
        if done.returncode == 0:
            return done.stdout
        words_said = [line for line in (done.stdout + "\n" + done.stderr).splitlines() if line.strip()]
        failure = "\n    ".join(words_said[-8:]) or f"exit code {done.returncode}"
    raise ToolError(f"{what} failed: {failure}")


def clean_environment(**extra: str) -> dict[str, str]:
    """The caller's environment without what would lead a tool into the virtual environment this script runs in."""
    kept = {k: v for k, v in os.environ.items() if k not in {"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"}}
    return kept | extra


def version_of(tool: Path, arguments: Sequence[str], env: Mapping[str, str]) -> str:
    """The first word with a digit and a dot in it that a tool says of itself; raises ToolError if it does not run."""
    said = run([tool, *arguments], what=f"asking {tool.name} for its version", env=env, timeout=120)
    for word in said.replace(",", " ").split():
        if "." in word and any(character.isdigit() for character in word):
            return word.strip("()").removeprefix("go").removeprefix("v")
    return said.strip().splitlines()[0] if said.strip() else "unknown"
