"""The environment a child is given: the user's own, less what belongs to Ombud's own start.

The rule is one sentence: what the user's shell has, a server gets; what was put there to start Ombud's own
interpreter, it does not. PATH, HOME, the locale, proxies and everything else pass unchanged. No file is read: a
``.env`` in the workspace moves nothing (row T3).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

HUB = "OMBUD_HUB"
"""The variable whose value marks every process that one Ombud process started."""

CHILD = "OMBUD_CHILD"
"""The variable whose value marks one child and all that it started."""

# PYTHONHOME decides the prefix of every interpreter that reads it, Ombud's included, so it can only name the
# installation that Ombud runs from; __PYVENV_LAUNCHER__ is how macOS' launcher tells one interpreter who it is. The
# marks are this hub's to give: those of an Ombud further out would make its guardian and ours trip over each other.
_ALWAYS_DROPPED = frozenset({"PYTHONHOME", "__PYVENV_LAUNCHER__", HUB, CHILD})


def child_environment(
    base: Mapping[str, str],
    *,
    extra: Mapping[str, str],
    marker: Mapping[str, str],
    workspace: Path | None = None,
) -> dict[str, str]:
    """A new environment for a child.

    ``base`` is Ombud's own (``os.environ``), ``extra`` the user's additions for this server, which win over ``base``,
    and ``marker`` what ``Guardian.environment()`` gives, which wins over both. ``workspace`` is the server's root: an
    environment that holds Ombud itself counts as the user's own when it lies in there, as it does for a project that
    lists Ombud among its development dependencies.
    """
    kept = {name: value for name, value in base.items() if name not in _ALWAYS_DROPPED}
    if _is_own_venv(kept.get("VIRTUAL_ENV"), workspace):
        kept.pop("VIRTUAL_ENV", None)
        kept.pop("VIRTUAL_ENV_PROMPT", None)
    if "PYTHONPATH" in kept:
        entries = kept["PYTHONPATH"].split(os.pathsep)
        wanted = [entry for entry in entries if not _is_own_source(entry, workspace)]
        if any(wanted):
            kept["PYTHONPATH"] = os.pathsep.join(wanted)
        else:
            del kept["PYTHONPATH"]
    return {**kept, **extra, **marker}


def _is_own_venv(value: str | None, workspace: Path | None) -> bool:
    if not value or sys.prefix == sys.base_prefix:
        return False
    return _same(Path(value), Path(sys.prefix)) and not _inside(Path(value), workspace)


def _is_own_source(entry: str, workspace: Path | None) -> bool:
    """Whether a PYTHONPATH entry is the folder that this package was imported from."""
    if not entry:
        return False
    return _same(Path(entry), Path(__file__).parents[2]) and not _inside(Path(entry), workspace)


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _inside(path: Path, folder: Path | None) -> bool:
    # Components are compared, never prefixes of strings (row F1).
    return folder is not None and Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
