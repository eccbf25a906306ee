"""Answers that fit: lists cut to a number of entries, and to a number of tokens of the whole answer's JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

T = TypeVar("T")
TOKEN = 4
"""About so many characters of JSON are a token."""
FRAME = 400
"""Characters that an answer has besides its lists: names of its keys, its note."""


class Budget:
    """What is left of ``tokens`` while the lists of one answer are cut, one after the other; None is without end."""

    def __init__(self, tokens: int | None, used: int = FRAME) -> None:
        self._left = None if tokens is None else tokens * TOKEN - used
        self.cut: list[str] = []
        """What was left out, a sentence a list."""

    def fit(self, items: Sequence[T], limit: int, *, name: str, total: int | None = None) -> list[T]:
        """The first of ``items`` that fit. ``total``: how many there are in all, where that are more."""
        kept = list(items[:limit])
        if self._left is not None:
            for number, item in enumerate(kept):
                self._left -= len(msgspec.json.encode(item).decode()) + 1
                if self._left < 0:
                    del kept[number:]
                    # What comes behind would only seem to be all there is.
                    self._left = 0
                    break
        of = len(items) if total is None else total
        if len(kept) < of:
            self.cut.append(f"Shown {len(kept)} of {of} {name}")
        return kept

    def sentence(self, advice: str) -> str | None:
        """What was left out of all lists, with what to do about it; None where nothing was."""
        return f"{', '.join(self.cut)}; {advice}." if self.cut else None
