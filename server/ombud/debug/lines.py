"""Lines of source files as a debugger shows them: around a place, and where a breakpoint may stand."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

LARGEST = 8_000_000
"""Bytes of a file that is read for that."""
WIDEST = 240
_COMMENTS = ("#", "//", "/*", "*", "--", ";", "'''", '"""')
_LONELY = frozenset(("}", ")", "]", "{", "};", "});", "end", "else:", "else", "} else {"))


def text_of(path: Path) -> list[str]:
    """The lines of a file as it is now; none where it cannot be read."""
    try:
        stat = path.stat()
        return list(_lines(path, stat.st_mtime_ns, stat.st_size))
    except (OSError, ValueError):
        return []


@lru_cache(maxsize=16)
def _lines(path: Path, mtime_ns: int, size: int) -> tuple[str, ...]:
    del mtime_ns
    if size > LARGEST:
        return ()
    return tuple(path.read_bytes().decode("utf-8", "replace").splitlines())


def line(path: Path, number: int) -> str:
    """One line, one-based, without its indentation; empty where there is none."""
    found = text_of(path)
    return found[number - 1].strip()[:WIDEST] if 0 < number <= len(found) else ""


def around(path: Path, number: int, reach: int = 3) -> str:
    """Lines around a place with their numbers, the place itself marked."""
    found = text_of(path)
    if not 0 < number <= len(found):
        return ""
    first, last = max(1, number - reach), min(len(found), number + reach)
    width = len(str(last))
    rows = [f"{'→' if at == number else ' '} {at:>{width}}  {found[at - 1][:WIDEST]}" for at in range(first, last + 1)]
    return "\n".join(rows)


def nearest(path: Path, number: int) -> int | None:
    """The line next to one that looks as if code stood there, not that line itself; None where there is none."""
    found = text_of(path)
    if not found:
        return None
    number = min(max(1, number), len(found) + 1)
    for distance in range(1, len(found) + 1):
        for at in (number + distance, number - distance):
            if 0 < at <= len(found) and _is_code(found[at - 1]):
                return at
    return None


def _is_code(text: str) -> bool:
    text = text.strip()
    return bool(text) and not text.startswith(_COMMENTS) and text not in _LONELY
