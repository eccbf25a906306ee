"""Comments that silence rules: ``ombud-ignore`` for all of them, ``ombud-ignore: some-rule, another`` for these.

Such a comment counts for the line that it stands on; one that has a line to itself counts for the next line that has
anything else on it. In the first line of a file that has a line to itself and an empty one behind it, it counts for the
whole file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ombud.text.ranges import LINE_END

_SIGNS = ("#", "//", "/*", "*", "--", ";", "%", "(*", "{-", "///", "//!")
"""What a comment begins with, or a further line of one."""
_OF_SIGNS = "#/*;%-!<({ \t"
_WORD = r"[^\s,;:*]+"


class Silence:
    """What the comments of one text silence. ``marks`` are the words that such a comment begins with."""

    def __init__(self, text: str, marks: Iterable[str]) -> None:
        marks = tuple(marks)
        self._lines: dict[int, set[str] | None] = {}
        self._everywhere: set[str] | None = set()
        if not any(mark in text for mark in marks):
            return
        words = "|".join(re.escape(mark) for mark in marks)
        found = re.compile(rf"(?:{words})(?![\w-])(?P<ids>\s*:\s*{_WORD}(?:\s*,\s*{_WORD})*)?")
        lines = LINE_END.split(text)
        below = len(lines)
        # From the end, since such a comment is for the next line that is none and not empty.
        for number in range(len(lines) - 1, -1, -1):
            below = self._line(lines, number, below, found)

    def _line(self, lines: Sequence[str], number: int, below: int, found: re.Pattern[str]) -> int:
        """Take a line in; answers which one is the next with something else on it, as seen from above."""
        line = lines[number]
        for match in found.finditer(line):
            before = line[: match.start()].rstrip()
            if not before.endswith(_SIGNS):
                continue
            said = match.group("ids")
            ids = None if said is None else {one.strip() for one in said.partition(":")[2].split(",")}
            if before.strip(_OF_SIGNS):
                self._silence(number, ids)
                return number
            if not number and len(lines) > 1 and not lines[1].strip():
                self._everywhere = ids
            else:
                self._silence(below, ids)
            return below
        return number if line.strip() else below

    def _silence(self, number: int, ids: set[str] | None) -> None:
        known = self._lines.get(number, set())
        self._lines[number] = None if ids is None or known is None else known | ids

    def holds(self, line: int, rule: str) -> bool:
        """Whether the rule is silenced for what begins on ``line`` (zero-based)."""
        return _has(self._everywhere, rule) or _has(self._lines.get(line, set()), rule)


def _has(ids: set[str] | None, rule: str) -> bool:
    return ids is None or rule in ids
