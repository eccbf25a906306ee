"""An environment in which nothing of the developer's own reaches a test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

# What a POSIX script may take for granted, and no language server among it.
_BASICS = (
    *("sh", "bash", "env", "cat", "cp", "cut", "date", "dirname", "echo", "expr", "false", "grep", "head", "id"),
    *("kill", "ln", "ls", "mkdir", "mv", "ps", "pwd", "readlink", "realpath", "rm", "sed", "sleep", "sort", "tail"),
    *("test", "touch", "tr", "true", "uname", "wc", "which", "xargs"),
)
_KEPT = ("LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TZ", "SYSTEMROOT", "COVERAGE_PROCESS_START")


def isolated(home: Path, path: Sequence[Path | str]) -> dict[str, str]:
    """A whole environment: user folders below ``home``, ``path`` for PATH, a UTF-8 locale if there was none."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment.setdefault("LANG", "C.UTF-8")
    folders = {
        "HOME": home,
        "XDG_CONFIG_HOME": home / ".config",
        "XDG_STATE_HOME": home / ".local" / "state",
        "XDG_DATA_HOME": home / ".local" / "share",
        "XDG_CACHE_HOME": home / ".cache",
        "XDG_RUNTIME_DIR": home / ".run",
    }
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    environment |= {name: str(folder) for name, folder in folders.items()}
    environment["PATH"] = os.pathsep.join(str(folder) for folder in path)
    return environment


def basics(folder: Path) -> Path:
    """Makes ``folder`` a PATH of its own: links to the system's basic programs, and no language server."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in _BASICS:
        found = shutil.which(name, path=os.defpath)
        if found is not None and not (folder / name).exists():
            (folder / name).symlink_to(found)
    return folder
