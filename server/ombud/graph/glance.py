"""What the name of a file tells of it, and a glance at it."""

from __future__ import annotations

import os
from functools import lru_cache

from ombud.errors import OmbudError
from ombud.graph import sources
from ombud.guard.handles import open_file
from ombud.syntax.languages import load_languages

CONFIGURATION = "configuration"
"""Stands for a language where a file is kept as text for the resolvers."""

Stamp = tuple[int, int, int]
"""Time of the last change in nanoseconds, size, and the time that no program can set back."""
NONE: Stamp = (0, -1, 0)


def language_at(path: str, name: str) -> str | None:
    folder = path[: -len(name) - 1]
    return _of_name(name, folder[folder.rfind("/") + 1 :])


@lru_cache(maxsize=8192)
def _of_name(name: str, parent: str) -> str | None:
    return CONFIGURATION if sources.is_configuration(name) else load_languages().of_name(name, parent)


def stamp_of(path: str) -> Stamp:
    try:
        now = os.lstat(path)
    except (OSError, ValueError):
        return NONE
    return now.st_mtime_ns, now.st_size, now.st_ctime_ns


def is_bare(name: str) -> bool:
    """Whether a name has no extension."""
    return "." not in name


def first_line(path: str) -> bytes:
    try:
        fd, _ = open_file(None, path, path)
    except (OSError, OmbudError):
        return b""
    try:
        return os.read(fd, 512)
    except OSError:
        return b""
    finally:
        os.close(fd)
