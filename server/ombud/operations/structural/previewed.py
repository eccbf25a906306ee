"""What servers say of a rewrite before it is written: its formatting, and what it would introduce."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ombud.errors import OmbudError, Refused
from ombud.operations.structural.editions import edition
from ombud.operations.writing.plan import Edition, Options, Plan, held
from ombud.text.blocks import blocks
from ombud.text.diff import line_map
from ombud.text.ranges import LINE_END

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.writing.result import WriteResult
    from ombud.structural.staging import Change


async def checked(session: Session, changes: Sequence[Change], options: Options) -> WriteResult:
    """What the changes would introduce, by a preview. Raises `Refused` and `PeerError` as a write does."""
    from ombud.operations.writing.perform import perform

    async with held(session, [one.path for one in changes]):
        editions = await asyncio.to_thread(_editions, session, changes)
        return await perform(session, Plan(tuple(editions), replace(options, preview=True), "check of a rewrite"))


async def formatted(session: Session, changes: Sequence[Change], options: Options) -> tuple[list[Change], str | None]:
    """The changes with their changed lines as the formatter of each language has them, and what is to be said of it.

    What the rewrite has not touched stays as it is. Where somebody fails nothing is formatted, which the sentence says.
    """
    from ombud.operations.writing.formatting import formatted as whole
    from ombud.operations.writing.intact import intact

    try:
        async with held(session, [one.path for one in changes]):
            editions = await asyncio.to_thread(_editions, session, changes)
            plan, note = await whole(session, Plan(tuple(editions), options, ""))
            made = {one.inside.path: one for one in plan.editions}
            texts = await asyncio.to_thread(_near_all, editions, made)
            anew = [replace(one, new=texts[one.inside.path]) for one in editions]
            more = await intact(session, anew, "the formatter", "Stage it without format.")
            bytes_of = {one.inside.path: one.buffer.encode(one.new or "") for one in anew}
    except OmbudError as error:
        return list(changes), f"Nothing was formatted: {error.message}"
    said = " ".join(filter(None, [note, more])) or None
    return [replace(one, after=bytes_of[one.path]) for one in changes], said


def _editions(session: Session, changes: Sequence[Change]) -> list[Edition]:
    """Raises `Refused` where a file cannot be read any more. Blocks."""
    from ombud.operations.shapes import FILE_LIMIT

    editions = []
    for one in changes:
        inside = session.fence.resolve(str(one.path), intent="write")
        stat = session.fence.read(inside, FILE_LIMIT)
        if not one.opened and stat.data != one.before:
            raise Refused(f"{one.shown} was changed meanwhile; stage it again.", kind="file_changed", paths=[one.shown])
        editions.append(edition(inside, stat, one.before, one.after))
    return editions


def _near_all(editions: Sequence[Edition], made: Mapping[Path, Edition]) -> dict[Path, str]:
    texts = {}
    for one in editions:
        new, wanted = one.new or "", made[one.inside.path].new or ""
        texts[one.inside.path] = near(one.old or "", new, wanted)
    return texts


def near(old: str, new: str, wanted: str) -> str:
    """``new`` with what ``wanted`` makes of those of its lines that ``old`` has not.

    Lines are paired whatever their white space; those that became others go together with their neighbours that did.
    """
    touched = line_map(old, new).touched
    before, after = _lines(new), _lines(wanted)
    paired = blocks(["".join(line.split()) for line in before], ["".join(line.split()) for line in after])
    made: list[str] = []
    i = j = 0
    for a, b, size in [*paired, (len(before), len(after), 0)]:
        made += before[i:a] if touched.isdisjoint(range(i, a)) else after[j:b]
        made += [after[b + at] if a + at in touched else before[a + at] for at in range(size)]
        i, j = a + size, b + size
    return "".join(made)


def _lines(text: str) -> list[str]:
    """The lines with their line ends; the last one may be empty."""
    starts = [0, *(match.end() for match in LINE_END.finditer(text))]
    return [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
