"""Several servers' ``WorkspaceEdit`` for one event, as one (LSP 3.17).

Two servers that know the same imports answer a rename of a file with the same edits: what an earlier one has is not
repeated, and where two disagree about one place the earlier one is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Edit = dict[str, Any]


def joined_edits(edits: Sequence[Edit]) -> Edit:
    """One edit. It has ``documentChanges`` where any part has, else ``changes``."""
    parts = [edit for edit in edits if edit.get("documentChanges") or edit.get("changes")]
    if len(parts) <= 1:
        return parts[0] if parts else (edits[0] if edits else {})
    if any("documentChanges" in edit for edit in parts):
        return _document_changes(parts)
    changes: dict[str, list[Edit]] = {}
    for edit in parts:
        for uri, more in edit["changes"].items():
            changes.setdefault(uri, []).extend(_new_ones(changes.get(uri, []), more))
    return {"changes": changes}


def _document_changes(parts: Sequence[Edit]) -> Edit:
    out: list[Edit] = []
    annotations: dict[str, Any] = {}
    taken: dict[str, list[Edit]] = {}
    for number, edit in enumerate(parts):
        renamed = _renamed(edit.get("changeAnnotations") or {}, annotations, number)
        mine: dict[str, list[Edit]] = {}
        for change in _as_document_changes(edit):
            if "kind" in change:
                annotated = _annotated(change, renamed)
                if annotated not in out:
                    out.append(annotated)
                continue
            uri = change["textDocument"]["uri"]
            fresh = _new_ones(taken.get(uri, []), change["edits"])
            mine.setdefault(uri, []).extend(fresh)
            if fresh:
                out.append({**change, "edits": [_annotated(one, renamed) for one in fresh]})
        for uri, fresh in mine.items():
            taken.setdefault(uri, []).extend(fresh)
    joined: Edit = {"documentChanges": out}
    if annotations:
        joined["changeAnnotations"] = annotations
    return joined


def _as_document_changes(edit: Edit) -> list[Edit]:
    if edit.get("documentChanges"):
        return list(edit["documentChanges"])
    changes = edit.get("changes") or {}
    return [{"textDocument": {"uri": uri, "version": None}, "edits": more} for uri, more in changes.items()]


def _renamed(own: dict[str, Any], annotations: dict[str, Any], number: int) -> dict[str, str]:
    """Put a part's change annotations among the others; a name that is taken gets another one."""
    names = {}
    for name, annotation in own.items():
        free = name if name not in annotations or annotations[name] == annotation else f"{name}-{number + 1}"
        annotations[free] = annotation
        names[name] = free
    return names


def _annotated(change: Edit, names: dict[str, str]) -> Edit:
    name = change.get("annotationId")
    return {**change, "annotationId": names[name]} if name in names else change


def _new_ones(known: Sequence[Edit], more: Sequence[Edit]) -> list[Edit]:
    """Those of ``more`` that are new and touch nothing which ``known`` edits already."""
    return [edit for edit in more if not any(_same(edit, one) or _overlap(edit, one) for one in known)]


def _same(one: Edit, other: Edit) -> bool:
    return one.get("range") == other.get("range") and one.get("newText") == other.get("newText")


def _overlap(one: Edit, other: Edit) -> bool:
    """Whether two edits touch the same text. Two insertions at one place do not: the later one stands behind."""
    first, second = one.get("range"), other.get("range")
    if not first or not second:
        return False
    (begin, end), (start, stop) = _span(first), _span(second)
    if begin == end and start == stop:
        return False
    return (begin < stop and start < end) or begin == start


def _span(where: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    start, end = where["start"], where["end"]
    return (start["line"], start["character"]), (end["line"], end["character"])
