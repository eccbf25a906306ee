"""Edits that arrive over the wire: the content changes of ``didChange`` and the ``TextEdit[]`` of servers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from ombud.errors import PeerError
from ombud.text.lines import LineIndex, locate
from ombud.text.ranges import LINE_END, Range

_FEW = 4
"""Up to so many edits are located one by one; beyond, an index of the whole text is cheaper."""


class ContentChange(msgspec.Struct, frozen=True, gc=False):
    """One ``TextDocumentContentChangeEvent``: a range to replace, or with no range the whole new text."""

    text: str
    range: Range | None = None


class TextEdit(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One ``TextEdit`` (annotated ones too: their further keys are not ours to read)."""

    range: Range
    new_text: str


def apply_changes(text: str, changes: Sequence[ContentChange]) -> str:
    """``text`` after ``changes``, each of which refers to the text that the one before it left.

    Positions are clamped, and a range whose end lies before its start is read the other way round, as the reference
    implementation of text documents does: a client's keystroke is never refused, or its text and ours would part.
    """
    for change in changes:
        if change.range is None:
            text = change.text
            continue
        start, end = _offsets(change.range, partial(locate, text))
        text = f"{text[:start]}{change.text}{text[end:]}"
    return text


def apply_text_edits(text: str, edits: Sequence[TextEdit], *, eol: str | None = None) -> str:
    """``text`` after ``edits``, all of which refer to ``text`` itself, in any order (LSP, "TextEdit[]").

    Insertions at one place keep their order, and stand before a replacement that starts there. With ``eol`` every
    line end in the new texts becomes that one, since servers answer ``\\n`` for files of any kind (C6). Raises
    `PeerError` where two edits overlap: none of them is applied then (C4).
    """
    find = LineIndex(text).offset if len(edits) > _FEW else partial(locate, text)
    spans = [(*_offsets(edit.range, find), edit.new_text) for edit in edits]
    spans.sort(key=lambda span: span[:2])
    pieces: list[str] = []
    done = 0
    for start, end, new_text in spans:
        if start < done:
            line, _ = LineIndex(text).position(start)
            raise PeerError(
                f"Two edits of one answer overlap at line {line + 1}; none of them was applied.",
                kind="server_failed",
                line=line + 1,
            )
        pieces += (text[done:start], new_text if eol is None else LINE_END.sub(lambda _: eol, new_text))
        done = end
    return "".join(pieces) + text[done:]


def _offsets(where: Range, find: Callable[[int, int], int]) -> tuple[int, int]:
    start = find(where.start.line, where.start.character)
    end = start if where.end == where.start else find(where.end.line, where.end.character)
    return (start, end) if start <= end else (end, start)
