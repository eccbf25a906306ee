"""What a search finds: a match and its captures, as places in the source. Plain data, importable without a grammar."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

Span: TypeAlias = tuple[int, int]
"""Start and end, UTF-8 bytes from the beginning of the source; the end is exclusive."""


class Capture(msgspec.Struct, frozen=True):
    """What a metavariable stands for in one match: ``source[start:end]``.

    ``items`` is None for ``$X``. For ``$$$X`` it holds the span of each element, separators apart; an empty ``$$$X``
    has no items and is an empty place (``start == end``) where its elements would stand.
    """

    start: int
    end: int
    items: tuple[Span, ...] | None = None


class Match(msgspec.Struct, frozen=True):
    """One place of the source that a pattern matches.

    ``kind`` is the grammar's name of the matched node (of the first, where the pattern is a sequence). ``fixed`` are
    the spans of the source's leaves that the pattern's own tokens matched, in order: what is inside the match but
    neither here nor in a capture (comments, skipped modifiers) is text that the pattern does not know about.
    """

    start: int
    end: int
    kind: str
    captures: dict[str, Capture]
    fixed: tuple[Span, ...] = ()
