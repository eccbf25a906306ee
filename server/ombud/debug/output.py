"""What a debuggee and its adapter print: the latest of it, by category, with a number for each piece."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

LIMIT = 256 * 1024
"""Characters that are kept in all."""
PIECE = 16 * 1024
"""Characters of one piece that are kept; of a longer one, its end."""
CATEGORIES = ("stdout", "stderr", "console", "important")
"""`telemetry` is for the adapter's maker and is not kept."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One piece as it came. ``number`` counts from 0."""

    number: int
    category: str
    text: str


class Output:
    """A ring. `since` is asked with the number that the answer before gave as ``next``."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._entries: deque[Entry] = deque()
        self._size = 0
        self.next = 0

    def add(self, category: str, text: str) -> None:
        if not text or category == "telemetry":
            return
        category = category if category in CATEGORIES else "console"
        # A program that its adapter gives a terminal ends its lines as terminals do.
        text = text.replace("\r\n", "\n")
        entry = Entry(self.next, category, text[-PIECE:])
        self.next += 1
        self._entries.append(entry)
        self._size += len(entry.text)
        while self._size > self._limit and len(self._entries) > 1:
            self._size -= len(self._entries.popleft().text)

    def since(self, number: int = 0, category: str | None = None) -> tuple[list[Entry], int]:
        """The pieces from ``number`` on, of one category if one is named, and how many before them are gone."""
        first = self._entries[0].number if self._entries else self.next
        kept = [one for one in self._entries if one.number >= number and category in (None, one.category)]
        return kept, max(0, min(first, self.next) - max(0, number))

    def text(self, number: int = 0, most: int = 4000) -> str:
        """What the program itself printed from ``number`` on; of more than ``most`` characters, the end.

        Lines are kept whole: pieces of the two streams may come in between one another.
        """
        kept, _ = self.since(number)
        open_ = {"stdout": "", "stderr": ""}
        text = ""
        for one in kept:
            if one.category in open_:
                whole, end, rest = (open_[one.category] + one.text).rpartition("\n")
                text += whole + end
                open_[one.category] = rest
        text += "".join(open_.values())
        return text if len(text) <= most else "…" + text[-most:]

    def tail(self, most: int = 800) -> str:
        """The end of everything that was printed, for an error."""
        text = "".join(one.text for one in self._entries)
        return text[-most:].strip()
