"""Names of files as file systems read them: what one disk holds apart, another takes for the same.

Used to compare names against protected ones, so every fold errs on the side of "the same".
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePath

_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)
_WINDOWS_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f]')


@lru_cache(maxsize=8192)
def folded(name: str) -> str:
    """One path component, folded so that every spelling that some disk takes for the same name is equal.

    Case (F7), Unicode compatibility forms and the invisible characters that HFS+ skips (git's own list is a part of
    category Cf), the trailing dots and spaces and the ``:stream`` suffix that Windows drops. ``""`` for ``.`` and
    ``..``.
    """
    if name.isascii():
        plain = name.lower()
    else:
        shown = unicodedata.normalize("NFKC", name)
        seen = "".join(char for char in shown if unicodedata.category(char) != "Cf")
        plain = unicodedata.normalize("NFKC", seen.casefold())
    return plain.partition(":")[0].rstrip(" .")


def components(path: PurePath) -> tuple[str, ...]:
    """The folded components of a path without its drive or root; a backslash separates too, as it does elsewhere."""
    return tuple(_components(path))


def _components(path: PurePath) -> Iterator[str]:
    parts = path.parts[1:] if path.anchor else path.parts
    for part in parts:
        for piece in part.split("\\"):
            if name := folded(piece):
                yield name


def windows_trouble(name: str) -> str | None:
    """Why one path component is not a plain file name on Windows, as a clause, or None.

    Devices keep their meaning with any extension (``NUL.txt``), a colon opens an alternate stream, and trailing dots
    and spaces vanish, so that the checked name and the opened one would differ (F8).
    """
    stem = name.partition(".")[0].rstrip(" ")
    if _DEVICE.fullmatch(stem):
        return f"{stem} is a device"
    if _WINDOWS_FORBIDDEN.search(name):
        return "it holds a character that Windows gives another meaning"
    if name not in (".", "..") and name != name.rstrip(" ."):
        return "Windows drops a dot or space at the end of a name"
    return None
