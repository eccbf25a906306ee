"""The fixes of findings made: in memory first, so that they can be shown, then all of them as one write."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.errors import Refused
from ombud.operations.structural.editions import in_short
from ombud.operations.writing.perform import perform
from ombud.operations.writing.plan import Edition, Options, Plan, capture, held, modified
from ombud.text.diff import unified
from ombud.text.lines import LineIndex

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.workspace.files import Captured

Span = tuple[int, int, str]
"""Start and end in the text, and what comes in place of it."""


@dataclass(frozen=True, slots=True)
class Mended:
    """One file with its fixes: the bytes that they were made from, the new text, and the difference."""

    path: str
    before: bytes
    text: str
    diff: str


@dataclass(slots=True)
class Fixes:
    """``overlapping`` fixes touch what another one changes, and are left for the next time."""

    files: list[Mended] = field(default_factory=list)
    fixes: int = 0
    overlapping: int = 0


async def mended(session: Session, findings: Iterable[Mapping[str, Any]]) -> Fixes:
    """The files of findings (as `scan` answers them) with their fixes. Raises `Refused` as a write does."""
    by_file: dict[str, list[Mapping[str, Any]]] = {}
    for one in findings:
        if one.get("fix"):
            by_file.setdefault(one["path"], []).append(one)
    fixes = Fixes()
    for path, found in by_file.items():
        captured = await asyncio.to_thread(capture, session, path)
        fixes_of = await asyncio.to_thread(_mend, captured, found)
        if fixes_of is not None:
            text, number, left = fixes_of
            diff = unified(captured.text, text, captured.inside.relative)
            fixes.files.append(Mended(path, captured.bytes, text, diff))
            fixes.fixes += number
            fixes.overlapping += left
    return fixes


def _mend(captured: Captured, findings: Sequence[Mapping[str, Any]]) -> tuple[str, int, int] | None:
    """The new text, how many fixes are in it, and how many were left; None where there is none."""
    lines = LineIndex(captured.text)
    chosen: list[Span] = []
    end = number = left = 0
    for spans in sorted(_spans(lines, one) for one in findings):
        if not spans or spans[0][0] < end or (chosen and spans[0][:2] == chosen[-1][:2]):
            left += 1
            continue
        chosen += spans
        end = max(span[1] for span in spans)
        number += 1
    if not number:
        return None
    out, at = [], 0
    for start, stop, new in chosen:
        out += [captured.text[at:start], new]
        at = stop
    return "".join([*out, captured.text[at:]]), number, left


def _spans(lines: LineIndex, finding: Mapping[str, Any]) -> list[Span]:
    """The edits of a finding; none where its file is not the one any more in which it was found."""

    def offset(place: Mapping[str, int]) -> int:
        return lines.offset(place["line"], place["character"])

    where = finding["range"]
    if not lines.text[offset(where["start"]) : offset(where["end"])].startswith(finding["text"]):
        return []
    edits = (
        (offset(one["range"]["start"]), offset(one["range"]["end"]), one["newText"]) for one in finding["fix"]["edits"]
    )
    return sorted(edits)


async def write(session: Session, fixes: Fixes, wait_ms: int) -> dict[str, Any]:
    """Write them, all files or none, and answer as a write does.

    Raises `Refused`: ``file_changed`` where a file is not what its fixes were made from, and as any write.
    """
    session.tiers.require("write", session.trust, "scan with fixes")
    await session.hub.recovered()
    places = [session.fence.resolve(one.path, intent="write") for one in fixes.files]
    async with held(session, [place.path for place in places]):
        editions = await asyncio.to_thread(_editions, session, fixes)
        summary = f"fixes of rules in {in_short([place.relative for place in places])}"
        result = await perform(session, Plan(tuple(editions), Options(wait_ms), summary))
    built = msgspec.to_builtins(result)
    assert isinstance(built, dict)
    return built


def _editions(session: Session, fixes: Fixes) -> list[Edition]:
    out, changed = [], []
    for one in fixes.files:
        captured = capture(session, one.path)
        if captured.bytes != one.before:
            changed.append(one.path)
        out.append(modified(captured, one.text))
    if changed:
        raise Refused(
            f"{in_short(changed)} changed since the fixes were worked out; nothing was written. Run the scan again.",
            kind="file_changed",
            paths=changed,
        )
    return out
