"""What ``ombud/introducedDiagnostics`` says after a save or a watched change: the shape of a write's diagnostics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.operations.known import uri_of
from ombud.operations.shapes import DiagnosticShape, FreshnessShape, Shape, Sources, diagnostic, freshness
from ombud.operations.writing.report import MOST_LEFT_OUT
from ombud.operations.writing.report import late as unheard
from ombud.operations.writing.result import LeftOutShape
from ombud.text.lines import LineIndex

if TYPE_CHECKING:
    from ombud.diagnostics.items import Item
    from ombud.downstream.server import Server
    from ombud.operations.hearing import Found
    from ombud.operations.session import Session


class Introduction(Shape, omit_defaults=True):
    """``diagnostics`` are the introduced ones. Clean is only what every server in ``servers`` is ``fresh`` about."""

    cause: str
    files: list[str]
    diagnostics: list[DiagnosticShape]
    resolved: list[DiagnosticShape]
    still_present: int
    servers: list[FreshnessShape]
    checked_dependents: list[str]
    left_out: list[LeftOutShape] = msgspec.field(default_factory=list)
    left_out_count: int = 0


def message(
    session: Session, cause: str, files: list[str], found: Sequence[Found], late: Sequence[Server], waited_ms: int
) -> Any:
    """The params, of plain values. ``late`` servers had said nothing within ``waited_ms``."""
    sources = Sources(session)
    introduced: list[DiagnosticShape] = []
    resolved: list[DiagnosticShape] = []
    still = 0
    for one in found:
        for difference in one.differences:
            sight, delta = difference.sight, difference.delta
            if delta is None or difference.before is None:
                continue
            still += delta.still_present
            introduced += _shapes(sources, sight.key, sight.path, delta.introduced, sight.text)
            resolved += _shapes(sources, sight.key, sight.path, delta.resolved, difference.before.text)
    verdicts = [*(one.verdict for one in found), *(unheard(server, waited_ms) for server in late)]
    priority = {one.server.name: one.server.entry.priority for one in found}
    priority |= {server.name: server.entry.priority for server in late}
    left = {path: reason for one in found for path, reason in one.left_out}
    checked = {path for one in found for path in one.checked} | {
        difference.sight.path for one in found for difference in one.differences if difference.told
    }
    shape = Introduction(
        cause=cause,
        files=files,
        diagnostics=sorted(introduced, key=_place),
        resolved=sorted(resolved, key=_place),
        still_present=still,
        servers=[freshness(verdict) for verdict in sorted(verdicts, key=lambda one: priority[one.server])],
        checked_dependents=sorted(path for path in checked if path not in files and path not in left),
        left_out=[LeftOutShape(path=path, reason=left[path]) for path in sorted(left)[:MOST_LEFT_OUT]],
        left_out_count=len(left),
    )
    return msgspec.to_builtins(shape)


def _shapes(sources: Sources, key: str, path: str, items: Sequence[Item], text: str | None) -> list[DiagnosticShape]:
    if not items:
        return []
    lines = LineIndex(text) if text is not None else sources.lines(uri_of(key)) or LineIndex("")
    return [diagnostic(path, item, lines) for item in items]


def _place(shape: DiagnosticShape) -> tuple[str, int, int, str]:
    return (shape.path, shape.line, shape.range.start.character, shape.source)
