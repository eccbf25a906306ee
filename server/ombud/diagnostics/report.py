"""The reports of LSP 3.17's pull diagnostics: read, compared, and written for a client of ours.

Diagnostics stay the bytes that their server wrote, ``data`` included: code actions send them back to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import UNSET, Raw, UnsetType

from ombud.wire.values import dump, load

DOCUMENT, WORKSPACE = "textDocument/diagnostic", "workspace/diagnostic"
UNCHANGED = "unchanged"
NOTHING = Raw(b'{"kind":"full","items":[]}')
"""The answer to a pull of a document of which nothing is known."""


class Report(msgspec.Struct, omit_defaults=True):
    """A ``DocumentDiagnosticReport``. ``items`` are there for kind ``full``, other files by URI."""

    kind: str = "full"
    resultId: str | None = None  # noqa: N815  (the protocol's name)
    items: list[Raw] | None = None
    relatedDocuments: dict[str, Report] | None = None  # noqa: N815

    @property
    def diagnostics(self) -> tuple[Raw, ...] | None:
        """The items, each with bytes of its own; None for an unchanged report."""
        return _items(self.kind, self.items)


class Entry(msgspec.Struct):
    """One document of a ``WorkspaceDiagnosticReport``."""

    uri: str
    kind: str = "full"
    version: int | None = None
    resultId: str | None = None  # noqa: N815
    items: list[Raw] | None = None

    @property
    def diagnostics(self) -> tuple[Raw, ...] | None:
        """As `Report.diagnostics`."""
        return _items(self.kind, self.items)


def _items(kind: str, items: list[Raw] | None) -> tuple[Raw, ...] | None:
    return None if kind == UNCHANGED else tuple(Raw(bytes(item)) for item in items or ())


class Previous(msgspec.Struct):
    """One of a workspace pull's ``previousResultIds``."""

    uri: str
    value: str


def read(raw: Raw) -> Report:
    """A server's answer. Raises `msgspec.ValidationError` for anything else than a report."""
    return load(Raw(bytes(raw)), Report)


def digest(items: Iterable[Raw]) -> int:
    """A number that is the same for the same diagnostics in the same order, and within this process only."""
    return hash(tuple(bytes(item) for item in items)) & 0xFFFFFFFFFFFFFFFF


def full(result: str, items: Sequence[Raw], related: Mapping[str, Sequence[Raw]]) -> Raw:
    """A full report, with what is known of ``related`` documents."""
    report: dict[str, object] = {"kind": "full", "resultId": result, "items": items}
    if related:
        report["relatedDocuments"] = {uri: {"kind": "full", "items": list(more)} for uri, more in related.items()}
    return Raw(dump(report))


def unchanged(result: str) -> Raw:
    """An unchanged report: what went out under the id ``result`` still holds."""
    return Raw(dump({"kind": UNCHANGED, "resultId": result}))


def entry(uri: str, version: int | None, result: str | None, items: Sequence[Raw] | None) -> dict[str, object]:
    """One document of a workspace report; ``items=None`` for one that is unchanged, which needs a ``result`` id."""
    said: dict[str, object] = {"uri": uri, "version": version, "kind": UNCHANGED if items is None else "full"}
    if result is not None:
        said["resultId"] = result
    if items is not None:
        said["items"] = items
    return said


class _Sheet(msgspec.Struct):
    items: list[Entry] | UnsetType = UNSET


def read_workspace(raw: Raw) -> list[Entry]:
    """A server's answer to a workspace pull. Raises `msgspec.ValidationError` for anything else."""
    items = load(Raw(bytes(raw)), _Sheet).items
    return [] if isinstance(items, UnsetType) else items


_MARK = "ombud:"
_PAIRS = list[tuple[str, str]]


def bundle(ids: Sequence[tuple[str, str]]) -> str | None:
    """One result id for a document's ids of several servers, as ``(tag, id)``; None where no server gave one."""
    return _MARK + dump(list(ids)).decode() if ids else None


def unbundle(value: str) -> dict[str, str] | None:
    """The servers' ids in a result id of `bundle`, by tag; None for one that is a server's own."""
    if not value.startswith(_MARK):
        return None
    try:
        return dict(load(value.removeprefix(_MARK).encode("utf-8", "surrogatepass"), _PAIRS))
    except msgspec.ValidationError:
        return {}
