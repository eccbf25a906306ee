"""The glob patterns of LSP 3.17 (``Pattern``), compiled: watched files, file operations, document filters.

``*`` matches within one path segment, ``?`` one character of it, ``**`` any number of segments, none included;
``{a,b}`` is either, ``[a-z]`` a character of a range and ``[!a-z]`` one outside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

LONGEST = 4096
"""A pattern of more characters matches nothing."""
DEEPEST = 8
"""How deep braces may stand in one another; deeper ones are taken as characters."""

Matcher = Callable[[str], bool]


@lru_cache(maxsize=1024)
def compile_glob(pattern: str, *, ignore_case: bool = False) -> Matcher:
    """Whether a whole path, with ``/`` between its segments, matches. A pattern that cannot be read matches nothing."""
    if len(pattern) > LONGEST:
        return _never
    try:
        compiled = re.compile(_Translation(pattern).expression(), re.IGNORECASE if ignore_case else 0)
    except re.error:
        return _never
    return lambda path: compiled.fullmatch(path) is not None


def _never(_path: str) -> bool:
    return False


class _Translation:
    """One pattern as a regular expression. Every piece is bounded by a segment, so matching cannot run wild."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._depth = 0

    def expression(self) -> str:
        out = []
        while self._at < len(self._pattern):
            out.append(self._piece())
        return "".join(out) + (")" * self._depth)

    def _piece(self) -> str:
        char = self._pattern[self._at]
        if char == "*":
            return self._stars()
        self._at += 1
        if char == "?":
            return "[^/]"
        if char == "[":
            return self._class()
        if char == "{" and self._depth < DEEPEST and self._closes():
            self._depth += 1
            return "(?:"
        if char == "," and self._depth:
            return "|"
        if char == "}" and self._depth:
            self._depth -= 1
            return ")"
        return re.escape(char)

    def _stars(self) -> str:
        """``**`` with the slashes around it, which stand for no segment as well; any other run of stars is one."""
        start = self._at
        while self._at < len(self._pattern) and self._pattern[self._at] == "*":
            self._at += 1
        if self._at - start != 2:
            return "[^/]*"
        opened = start == 0 or self._pattern[start - 1] in "/{,"
        if opened and self._pattern[self._at : self._at + 1] == "/":
            self._at += 1
            return "(?:[^/]+/)*" if start and self._pattern[start - 1] == "/" else "/?(?:[^/]+/)*"
        return ".*"

    def _class(self) -> str:
        end = self._pattern.find("]", self._at + 1)
        if end < 0:
            return re.escape("[")
        body = self._pattern[self._at : end]
        self._at = end + 1
        negated = body[:1] in ("!", "^")
        inner = (body[1:] if negated else body).replace("\\", "\\\\").replace("[", "\\[").replace("^", "\\^")
        return f"(?![/])[{'^' if negated else ''}{inner}]"

    def _closes(self) -> bool:
        return "}" in self._pattern[self._at :]
