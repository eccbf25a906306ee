"""Diffs as an answer can hold them: exact, and cut at a line where they are many or long."""

from __future__ import annotations

from typing import NamedTuple

from ombud.text.buffer import decode
from ombud.text.diff import unified

ONE, ALL = 100_000, 2_000_000
"""Characters of a file's diff that are shown, and of all of them together; what is staged is whole."""


class Diff(NamedTuple):
    """``shown`` is the text and whether it was cut; ``added`` and ``removed`` count the lines of all of it."""

    shown: tuple[str, bool]
    added: int
    removed: int


class Diffs:
    """The diffs of one answer, which share its room."""

    def __init__(self) -> None:
        self._left = ALL

    def of(self, name: str, before: bytes, after: bytes) -> Diff:
        """Of a file as ``git diff`` prints it. Blocks: it compares whole texts. Raises `Refused` (``not_text``)."""
        diff = unified(_text(before, name), _text(after, name), name.lstrip("/"))
        body = diff.split("\n")[2:]
        added, removed = (sum(1 for line in body if line.startswith(sign)) for sign in "+-")
        room = min(ONE, self._left)
        cut = diff if len(diff) <= room else diff[: diff.rfind("\n", 0, room) + 1]
        self._left -= len(cut)
        return Diff((cut, len(cut) < len(diff)), added, removed)


def _text(data: bytes, name: str) -> str:
    """A file's text, with its mark where it is UTF-8: git compares bytes."""
    found = decode(data, name)
    return f"\ufeff{found.text}" if found.bom and found.encoding == "utf-8" else found.text
