"""From a row of the catalogue to a program on this machine, or to the sentence that says why there is none.

Looked for in the project (trusted only), on PATH, and where VS Code and Mason install what they are given.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ombud.debug.catalogue import Entry
from ombud.guard.commands import Resolved, resolve_command
from ombud.guard.trust import Trust

_EDITORS = (
    "~/.vscode/extensions",
    "~/.vscode-server/extensions",
    "~/.vscode-insiders/extensions",
    "~/.vscode-oss/extensions",
    "~/.cursor/extensions",
    "~/.local/share/code-server/extensions",
    "~/.local/share/nvim/mason/packages",
)


@dataclass(frozen=True, slots=True)
class Found:
    """``argv`` is what starts it, with placeholders for addresses; None where ``reason`` says why not."""

    entry: Entry
    argv: tuple[str, ...] | None
    reason: str = ""

    @property
    def available(self) -> bool:
        return self.argv is not None


@dataclass(frozen=True, slots=True)
class Place:
    """Where is looked: the workspace folders (real), what trust they have, and the user's environment."""

    folders: tuple[Path, ...]
    trust: Trust
    environment: Mapping[str, str]


def find(entry: Entry, place: Place) -> Found:
    """The first command of a row that is there. Reads the disk; starts nothing."""
    reasons: list[str] = []
    for command in entry.commands:
        for argv in _spellings(command, place):
            resolved = _resolved(argv, place)
            if isinstance(resolved, Resolved):
                found = _run_by(entry, resolved, place)
                if isinstance(found, tuple):
                    return Found(entry, found)
                reasons.append(found)
            else:
                reasons.append(resolved)
    if not entry.commands:
        return Found(entry, None, f"{entry.name} is not started by a command of its own: {entry.install}.")
    first = next((one for one in reasons if one), f"{entry.name} was not found.")
    install = f" Install it: {entry.install}." if entry.install else ""
    return Found(entry, None, f"{first.rstrip('.')}.{install}")


def _spellings(command: Sequence[str], place: Place) -> Iterator[tuple[str, ...]]:
    """A command with its places filled in; one for each that is there."""
    head, rest = command[0], tuple(command[1:])
    if head == "${ombud}":
        yield (sys.executable, *rest)
    elif head.startswith("${beside:"):
        name, _, rest_of_path = head.removeprefix("${beside:").partition("}/")
        there = _resolved([name], place)
        if isinstance(there, Resolved):
            yield from ((str(path), *rest) for path in sorted(there.real.parent.glob(rest_of_path)))
    elif head.startswith("${extensions}"):
        for folder in _EDITORS:
            pattern = head.replace("${extensions}", str(Path(folder).expanduser()))
            found = glob.glob(pattern)  # noqa: PTH207  (The pattern is a whole path.)
            yield from ((path, *rest) for path in sorted(found, key=_version, reverse=True))
    else:
        yield tuple(command)


def _version(path: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", path)]


def _resolved(argv: Sequence[str], place: Place) -> Resolved | str:
    """The command as it can be started, or why it cannot."""
    root = place.folders[0] if place.folders else Path("/")
    script = Path(argv[0])
    if script.is_absolute() and script.suffix in (".js", ".cjs", ".mjs"):
        return Resolved(tuple(argv), script, script, False) if script.is_file() else f"{script} is not there"
    path = place.environment.get("PATH", "")
    found = resolve_command(argv, root=root, folders=place.folders, trust=place.trust, path=path)
    return found if isinstance(found, Resolved) else found.reason


def _run_by(entry: Entry, resolved: Resolved, place: Place) -> tuple[str, ...] | str:
    """The command with the interpreter in front that a script needs."""
    script = resolved.real
    if not entry.node or (script.suffix not in (".js", ".cjs", ".mjs")):
        return resolved.argv
    path = place.environment.get("PATH", "")
    root = place.folders[0] if place.folders else Path("/")
    node = resolve_command(["node"], root=root, folders=place.folders, trust=place.trust, path=path)
    if not isinstance(node, Resolved):
        return f"{entry.name} needs node: {node.reason}"
    return (*node.argv, str(script), *resolved.argv[1:])


def for_editors(found: Found) -> tuple[str, ...]:
    """The command by which an editor starts the adapter: it speaks on standard streams, or listens on ``${port}``."""
    assert found.argv is not None
    entry = found.entry
    if entry.transport == "stdio" or not entry.listens:
        return found.argv
    own = max(len(command) for command in entry.commands) - 1
    return (*found.argv[: len(found.argv) - own], *entry.listens)


def markers(entry: Entry, folders: Sequence[Path]) -> bool:
    """Whether a folder of the workspace, or one just below it, has a file that an adapter is for."""
    if not entry.markers:
        return True
    for folder in folders:
        names = _names(folder)
        for marker in entry.markers:
            pattern = re.compile(glob.translate(marker) if hasattr(glob, "translate") else _translated(marker))
            if any(pattern.match(name) for name in names):
                return True
    return False


def _translated(marker: str) -> str:
    return re.escape(marker).replace(r"\*", "[^/]*") + r"\Z"


def _names(folder: Path) -> list[str]:
    """Names of files in a folder and in those right below it."""
    found: list[str] = []
    try:
        with os.scandir(folder) as rows:
            for row in rows:
                if row.is_file():
                    found.append(row.name)
                elif row.is_dir(follow_symlinks=False) and not row.name.startswith((".", "node_modules")):
                    with os.scandir(row) as inner:
                        found += [one.name for one in inner if one.is_file()]
    except OSError:
        pass
    return found
