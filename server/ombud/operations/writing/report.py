"""What a course has found, as the answer to a write and as a notification, and in words (D4, D6)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from ombud.diagnostics.fresh import Verdict
from ombud.operations.shapes import DiagnosticShape, diagnostic, freshness
from ombud.operations.writing.plan import Edition, numbered
from ombud.operations.writing.result import DiagnosticsShape, FileShape, LeftOutShape, WriteResult
from ombud.text.diff import stat
from ombud.text.lines import LineIndex

if TYPE_CHECKING:
    from ombud.downstream.server import Server
    from ombud.operations.writing.course import Course
    from ombud.operations.writing.leaf import Part, Sheet

MOST_LEFT_OUT = 50
MOST_TOLD = 20
"""Diagnostics of either kind that the words of an answer name; its lists hold all."""
MOST_FILES = 8
"""Files that the words of an answer name in a row."""
_STATUS = {"create": "created", "modify": "modified", "delete": "deleted", "rename": "renamed"}
_VERBS = {"created": "Created", "modified": "Wrote", "deleted": "Deleted", "renamed": "Renamed"}


def result(course: Course, files: list[FileShape], *, no_server: bool = False) -> WriteResult:
    """The answer: what was written first, then what it broke, then what is not known.

    ``files`` are the `file_shapes` of the plan.
    """
    plan = course.plan
    if plan.target is not None:
        files[0].status = "modified"  # The buffer, whether the file is there or not.
    shape = report(course.parts) if plan.options.report == "wait" else None
    applied = not plan.options.preview
    notes = [note for note in (course.note, course.disk.note) if note]
    words = [applied_words(files, preview=not applied, in_buffer=plan.target is not None)]
    words.append(found_words(shape, plan.options.report, no_server=no_server, preview=not applied))
    return WriteResult(
        applied=applied,
        message=" ".join([*words[:1], *notes, *words[1:]]) + (lists(shape) if shape is not None else ""),
        note=" ".join(notes) or None,
        files=files,
        write_id=course.write_id,
        diagnostics=shape,
        checkpoint=course.disk.checkpoint,
        preview=plan.options.preview,
    )


def report(parts: Sequence[Part]) -> DiagnosticsShape:
    """All that is known so far. What it holds is noted as told."""
    shape = DiagnosticsShape(introduced=[], resolved=[], still_present=0, servers=[], checked_dependents=[])
    unchecked: dict[str, str] = {}
    checked: dict[str, bool] = {}
    for part in parts:
        shape.servers.append(freshness(part.verdict or late(part.server, part.elapsed)))
        for sheet in part.news:
            _add(shape, sheet)
        for sheet in (*part.dependents, *(one for one in part.sheets if one.leaf.edition is None)):
            if sheet.delta is not None:
                checked.setdefault(sheet.leaf.path, True)
            elif sheet.verdict is None or sheet.verdict.freshness == "fresh":
                unchecked.setdefault(sheet.leaf.path, f"{part.server.name} had not reported on it in time.")
        for path, reason in part.left_out:
            unchecked.setdefault(path, reason)
        shape.left_out_count += max(0, part.left_out_count - len(part.left_out))
    shape.checked_dependents = sorted(path for path in checked if path not in unchecked)
    left = [LeftOutShape(path=path, reason=reason) for path, reason in unchecked.items()]
    shape.left_out_count += len(left)
    shape.left_out = left[:MOST_LEFT_OUT]
    for shapes in (shape.introduced, shape.resolved):
        shapes.sort(key=lambda one: (one.path, one.line, one.range.start.character))
    partial = [part.partial for part in parts if part.partial]
    shape.note = " ".join(dict.fromkeys(partial)) or None
    return shape


def late(server: Server, elapsed_ms: int) -> Verdict:
    """What is said of a server that has said nothing yet."""
    reason = f"{server.name} had not reported in time; what it finds follows by notification."
    return Verdict(server.name, "timed_out", elapsed_ms, reason)


def _add(shape: DiagnosticsShape, sheet: Sheet) -> None:
    assert sheet.delta is not None and sheet.base is not None
    sheet.told = True
    shape.still_present += sheet.delta.still_present
    if sheet.delta.introduced:
        new = LineIndex(sheet.leaf.new or "")
        shape.introduced += [diagnostic(sheet.leaf.path, item, new) for item in sheet.delta.introduced]
    if sheet.delta.resolved:
        old = LineIndex(sheet.base.text)
        shape.resolved += [diagnostic(sheet.base.path, item, old) for item in sheet.delta.resolved]


def tell(course: Course, parts: Sequence[Part]) -> None:
    """Send on what servers have found late."""
    shape = report(parts)
    course.session.tell(
        "ombud/introducedDiagnostics",
        {
            "cause": "write",
            "writeId": course.write_id,
            "diagnostics": msgspec.to_builtins(shape.introduced),
            "resolved": msgspec.to_builtins(shape.resolved),
            "stillPresent": shape.still_present,
            "servers": msgspec.to_builtins(shape.servers),
            "checkedDependents": shape.checked_dependents,
            "leftOut": msgspec.to_builtins(shape.left_out),
            "leftOutCount": shape.left_out_count,
            "note": shape.note,
        },
    )


def file_shapes(editions: Iterable[Edition]) -> list[FileShape]:
    """What becomes of each file. Blocks: it compares their texts."""
    return [file_shape(edition) for edition in editions]


def file_shape(edition: Edition) -> FileShape:
    """What becomes of a file. Blocks, as `file_shapes` does."""
    added, removed = stat(edition.old or "", edition.new or "") if edition.old != edition.new else (0, 0)
    shape = FileShape(
        path=edition.target.relative,
        status=_STATUS[edition.kind],  # type: ignore[arg-type]
        added=added,
        removed=removed,
    )
    if edition.to is not None:
        shape.from_ = edition.inside.relative
    return shape


# -- words --------------------------------------------------------------------------------------------------------


def applied_words(files: Sequence[FileShape], *, preview: bool, in_buffer: bool) -> str:
    """What was done, before anything else (D6)."""
    if preview:
        return f"Nothing was written: this is a preview of a change to {_names(files)}."
    if not files:
        return "There was nothing to write: everything is as it is to be already."
    if in_buffer:
        return f"Changed {_names(files)}."
    if len(files) == 1:
        return f"{_VERBS[files[0].status]} {_names(files)}."
    counts = {status: sum(1 for file in files if file.status == status) for status in _VERBS}
    kinds = [f"{count} {status}" for status, count in counts.items() if count]
    if len(kinds) == 1:
        return f"{_VERBS[files[0].status]} {numbered(len(files), 'file')}: {_names(files)}."
    return f"Wrote {numbered(len(files), 'file')} ({', '.join(kinds)}): {_names(files)}."


def _names(files: Sequence[FileShape]) -> str:
    # What was made, moved or deleted is not to be lost among many that were only changed.
    return in_a_row([_name(file) for file in sorted(files, key=lambda file: file.status == "modified")])


def in_a_row(names: Sequence[str]) -> str:
    more = len(names) - MOST_FILES
    return ", ".join(names[:MOST_FILES]) + (f" and {more} more" if more > 0 else "")


def _name(file: FileShape) -> str:
    moved = f"{file.from_} → {file.path}" if file.from_ is not None else file.path
    return f"{moved} (+{file.added} −{file.removed})" if file.added or file.removed else moved


def found_words(shape: DiagnosticsShape | None, wanted: str, *, no_server: bool, preview: bool = False) -> str:
    """What is known of it, and what is not (D4)."""
    if wanted == "defer":
        return "What it introduced is reported with the next write that waits, or with diagnostics of “*”."
    if shape is None:
        return "Diagnostics were not asked for."
    if no_server:
        return "No language server watches this, so nothing is known of what it broke."
    unsure = [server.name for server in shape.servers if server.freshness != "fresh"]
    have = "has" if len(unsure) == 1 else "have"
    unknown = f"Not known yet: {', '.join(unsure)} {have} not answered for this content."
    if len(unsure) == len(shape.servers) and not (shape.introduced or shape.resolved):
        return unknown
    introduced, resolved = len(shape.introduced), len(shape.resolved)
    verbs = ("It would introduce", "resolve") if preview else ("Introduced", "resolved")
    counts = f"{numbered(introduced, 'diagnostic')}, {verbs[1]} {resolved}, {shape.still_present} still there."
    said = f"{verbs[0]} {counts}"
    if shape.checked_dependents:
        said += f" Checked {numbered(len(shape.checked_dependents), 'file')} that could break with it."
    if shape.left_out_count:
        said += f" {numbered(shape.left_out_count, 'file')} that could break {_was(shape.left_out_count)} not checked."
    if shape.note:
        said += f" {shape.note}"
    return said + (f" {unknown}" if unsure else "")


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def lists(shape: DiagnosticsShape) -> str:
    """What is new, by file, what is resolved, at most `MOST_TOLD` of each, and what was not checked, by reason."""
    said = [
        f"{head}\n{_by_file(items)}"
        for head, items in (("New:", shape.introduced), ("Resolved:", shape.resolved))
        if items
    ]
    unchecked = unchecked_lines([(one.path, one.reason) for one in shape.left_out], shape.left_out_count)
    return "".join(f"\n\n{one}" for one in (*said, "\n".join(unchecked)) if one)


def unchecked_lines(left: Sequence[tuple[str, str]], count: int) -> Iterable[str]:
    """What was not checked, of ``count`` files: a line for each reason, and below it the first that it is for."""
    reasons: dict[str, list[str]] = {}
    for path, reason in left:
        reasons.setdefault(reason, []).append(path)
    for reason, paths in reasons.items():
        if len(paths) == 1:
            yield f"Not checked: {paths[0]}. {reason}"
        else:
            yield f"Not checked: {numbered(len(paths), 'file')}. {reason}"
            yield f"  {in_a_row(paths)}"
    if count > len(left):
        yield f"Not checked: {numbered(count - len(left), 'more file')}."


def _by_file(items: Sequence[DiagnosticShape]) -> str:
    lines = []
    for path, mine in _grouped(items[:MOST_TOLD]):
        lines.append(path)
        lines += [f"  {one.line}: {one.severity}: {_first_line(one.message)} [{_origin(one)}]" for one in mine]
    more = len(items) - MOST_TOLD
    if more > 0:
        lines.append(f"and {more} more")
    return "\n".join(lines)


def _grouped(items: Iterable[DiagnosticShape]) -> Iterable[tuple[str, list[DiagnosticShape]]]:
    groups: dict[str, list[DiagnosticShape]] = {}
    for item in items:
        groups.setdefault(item.path, []).append(item)
    return groups.items()


def _first_line(message: str) -> str:
    return message.strip().split("\n")[0]


def _origin(item: DiagnosticShape) -> str:
    return f"{item.source} {item.code}" if item.code else item.source
