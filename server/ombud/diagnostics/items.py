"""One diagnostic as Ombud compares and shows it, decoded from what a server sent (LSP 3.17, "Diagnostic")."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import Raw

from ombud.guard.redact import clean, redact
from ombud.text.ranges import Range
from ombud.wire.values import load

Severity = Literal["error", "warning", "information", "hint"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")
MESSAGE_LIMIT = 2000


class _Markup(msgspec.Struct):
    value: str


class _Wire(msgspec.Struct):
    range: Range
    message: str | _Markup
    severity: int | None = None
    code: int | str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """A diagnostic of ``server``. A missing severity counts as an error, as most clients show it."""

    server: str
    range: Range
    severity: Severity
    code: str | None
    source: str | None
    message: str

    @property
    def key(self) -> tuple[str, Severity, str | None, str]:
        """What makes two diagnostics the same one. The position is not part of it (architecture.md, decision 10)."""
        return (self.server, self.severity, self.code, self.message)


class _Ranged(msgspec.Struct):
    range: Range


def range_of(raw: Raw) -> Range | None:
    """Where a diagnostic stands; None for one that breaks the specification's shape."""
    try:
        return load(raw, _Ranged).range
    except msgspec.ValidationError:
        return None


def decode(server: str, raws: Iterable[Raw]) -> list[Item]:
    """The readable ones of a server's diagnostics; one that breaks the specification's shape is left out.

    Messages quote the file, so control characters are stripped, secrets redacted and the length capped.
    """
    out = []
    for raw in raws:
        try:
            wire = load(raw, _Wire)
        except (msgspec.ValidationError, ValueError):
            continue
        severity = SEVERITIES[min(max(wire.severity or 1, 1), 4) - 1]
        message = wire.message if isinstance(wire.message, str) else wire.message.value
        out.append(
            Item(
                server,
                wire.range,
                severity,
                None if wire.code is None else str(wire.code),
                wire.source,
                clean(redact(message), MESSAGE_LIMIT),
            )
        )
    return out
