"""From what a rewrite makes of the files to an edit that waits: kept, shown, and checked on request."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ombud.errors import OmbudError, UserError
from ombud.guard.redact import clean
from ombud.operations.shapes import FILE_LIMIT
from ombud.operations.structural import ground as grounds
from ombud.operations.structural.diffs import Diffs
from ombud.operations.structural.edit import FileShape, LostShape, Op, Params, RefusedShape, Result
from ombud.operations.structural.editions import buffers, in_short
from ombud.operations.structural.kept import asked, store, told
from ombud.operations.structural.shapes import MOST_RESULTS, Asking
from ombud.operations.writing.plan import Options, numbered
from ombud.operations.writing.report import found_words
from ombud.structural.messages import Op as Wanted
from ombud.structural.staging import TTL_SECONDS, Change, Staged
from ombud.text.buffer import decode

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.operations.structural.ground import Ground
    from ombud.operations.writing.result import DiagnosticsShape
    from ombud.structural.messages import File
    from ombud.structural.search import Outcome

_SUMMARY = 120


@dataclass(slots=True)
class Made:
    """What the rewrite has made: changes to stage, and files that stay as they are."""

    changes: list[Change] = field(default_factory=list)
    lost: list[LostShape] = field(default_factory=list)
    refused: list[RefusedShape] = field(default_factory=list)
    overlapping: int = 0
    notes: list[str] = field(default_factory=list)


async def stage(
    session: Session, params: Params, without: Collection[Path] = (), instead: Staged | None = None
) -> Result:
    """Stage a rewrite; ``without`` are real paths that are left out, ``instead`` an edit whose place it takes.

    Raises as `edit.run`.
    """
    ops = operations(params)
    # What a crash has left half written is no text to start from.
    await session.hub.recovered()
    found = await asyncio.to_thread(grounds.ground, session, params.language, params.path)
    typed, notes = await _typed(found, params, ops)
    files, outcome = await session.hub.searches.searcher.rewrite(found.job(typed[0].query, params), typed)
    made = await asyncio.to_thread(_made, found, files, set(without))
    made.notes += notes
    options = _options(session, params)
    if params.format and made.changes:
        from ombud.operations.structural.previewed import formatted

        made.changes, note = await formatted(session, made.changes, options)
        made.notes += [note] if note else []
        same = [one for one in made.changes if one.before == one.after]
        made.refused += [RefusedShape(path=one.shown, reason="Formatted, it is as it was.") for one in same]
        made.changes = [one for one in made.changes if one not in same]
    shapes = await asyncio.to_thread(_shown, made)
    staged, conflicts = None, list[str]()
    if made.changes:
        staged, conflicts = await _kept(session, params, ops, made, instead)
        _warn(session, made)
    result = _result(found, files, outcome, made, shapes, params)
    if staged is not None:
        result.edit_id, result.expires, result.conflicts_with = staged.id, told(staged.expires), conflicts
    result.message = _message(result, made)
    if params.check and made.changes:
        await _checked(session, made.changes, options, result)
    return result


# -- what is asked --------------------------------------------------------------------------------------------------


def operations(params: Params) -> list[Wanted]:
    """The ops of a call. Raises `UserError` where nothing is said, or two things at once."""
    if params.strictness != "exact":
        raise UserError(
            "A relaxed pattern is for searching only: what it skips would be lost. Write it out for a rewrite."
        )
    if params.ops is None:
        if params.rewrite is None:
            raise UserError("Say what it becomes: rewrite (empty to delete), or ops with a pattern and a rewrite each.")
        return [_wanted(params, params.pattern, params.any, params.rewrite, params.add_imports)]
    if params.pattern is not None or params.any is not None or params.rewrite is not None:
        raise UserError("Pass either pattern and rewrite, or ops with a pattern and a rewrite each; not both.")
    return [
        _wanted(
            _with(params, op), op.pattern, op.any, op.rewrite, [*(params.add_imports or ()), *(op.add_imports or ())]
        )
        for op in params.ops
    ]


def _with(params: Params, op: Op) -> Asking:
    """The conditions of an op; those that it has not are the call's."""
    names = ("where", "inside", "not_inside", "has", "not_has", "kind")
    own = {name: value for name in names if (value := getattr(op, name)) is not None}
    return msgspec.structs.replace(params, **own)


def _wanted(
    asking: Asking, pattern: str | None, several: Sequence[str] | None, rewrite: str, imports: Sequence[str] | None
) -> Wanted:
    return Wanted(grounds.query(asking, pattern, several), rewrite, list(imports or ()))


async def _typed(found: Ground, params: Params, ops: Sequence[Wanted]) -> tuple[list[Wanted], list[str]]:
    """The ops without conditions on types, with the matches that language servers say are of them; and sentences.

    Raises `UserError` as `ground.without_types`.
    """
    typed, notes = [], list[str]()
    for op in ops:
        query, types = grounds.without_types(op.query)
        only: dict[str, list[tuple[int, int]]] | None = None
        if types:
            from ombud.operations.structural.oftype import search

            asking = msgspec.structs.replace(params, max_results=MOST_RESULTS)
            outcome, said = await search(found, query, asking, types, 0)
            notes += [one for one in said if one not in notes]
            only = {}
            for hit in outcome.hits:
                only.setdefault(f"{found.roots[hit.root].path}/{hit.path}", []).append((hit.start, hit.end))
        typed.append(msgspec.structs.replace(op, query=query, only=only))
    return typed, notes


def _options(session: Session, params: Params) -> Options:
    wait = session.configuration.diagnostics.wait_ms if params.wait_ms is None else params.wait_ms
    return Options(wait, "wait", params.severity == "hint")


# -- what became of the files ---------------------------------------------------------------------------------------


def _made(found: Ground, files: Sequence[File], without: Collection[Path]) -> Made:
    """Blocks: it reads the files that are open."""
    made = Made()
    for file in files:
        folder = Path(found.roots[file.root].path)
        path = folder / file.path
        if path in without:
            continue
        made.overlapping += file.overlapping
        shown = found.shown(file.root, file.path)
        lost = [LostShape(path=shown, line=line, text=clean(text, 400)) for line, text in file.lost]
        made.lost += lost
        try:
            inside = found.session.fence.resolve(str(path), intent="write")
            change = Change(inside.folder, inside.path, shown, file.before, file.after, file.replacements)
            if file.opened:
                change = _of_buffer(found.session, change)
            reason = file.refused
        except OmbudError as error:
            reason = error.message
        if not reason and file.before == file.after:
            reason = _same(lost)
        if reason:
            made.refused.append(RefusedShape(path=shown, reason=clean(reason, 600)))
        else:
            made.changes.append(change)
    return made


def _of_buffer(session: Session, change: Change) -> Change:
    """A client's unsaved text, in the encoding of the file that it will be saved to: only then can it be committed.

    Raises `Refused` where it is not there yet, or cannot hold the text.
    """
    inside = session.fence.resolve(str(change.path), intent="read")
    buffer = decode(session.fence.read(inside, FILE_LIMIT).data, change.shown)
    before, after = (buffer.encode(data.decode()) for data in (change.before, change.after))
    return replace(change, before=before, after=after, opened=True)


def _same(lost: Sequence[LostShape]) -> str:
    if lost:
        return (
            "Every match there holds text that the pattern does not name, such as a comment, and that would be lost. "
            "Capture it, or change these places by hand."
        )
    return "The rewrite leaves it as it is."


def _shown(made: Made) -> list[FileShape]:
    """The changes as diffs, which are counted on the way. Blocks: it compares whole texts."""
    shapes, diffs = [], Diffs()
    for number, change in enumerate(made.changes):
        diff = diffs.of(change.shown, change.before, change.after)
        added, removed = diff.added, diff.removed
        made.changes[number] = replace(change, added=added, removed=removed)
        shapes.append(
            FileShape(
                path=change.shown,
                replacements=change.replacements,
                added=added,
                removed=removed,
                diff=diff.shown[0],
                truncated=diff.shown[1],
            )
        )
    return shapes


# -- keeping --------------------------------------------------------------------------------------------------------


async def _kept(
    session: Session, params: Params, ops: Sequence[Wanted], made: Made, instead: Staged | None
) -> tuple[Staged, list[str]]:
    def keep() -> tuple[Staged, list[str]]:
        kept = store(session)
        staged, gone = kept.add(
            made.changes,
            session=session.checkpoints.session,
            client=clean(session.client.name, 100),
            summary=summary(ops),
            request=msgspec.json.encode(params),
        )
        if gone:
            rows = ", ".join(f"e{one.number} {one.why}" for one in gone[:5])
            made.notes.append(f"No longer staged: {rows}{' and more' if len(gone) > 5 else ''}.")
        if instead is not None:
            kept.drop(instead.number, f"was staged anew as {staged.id}")
        return staged, kept.conflicts(staged)

    return await asked(session, lambda _: keep())


def summary(ops: Sequence[Wanted]) -> str:
    """An edit in a line."""
    query = ops[0].query
    what = query.pattern or " | ".join(query.any) or query.kind or ""
    first = f"{' '.join(what.split())} → {' '.join(ops[0].rewrite.split()) or 'nothing'}"
    more = f" and {len(ops) - 1} more" if len(ops) > 1 else ""
    return clean(first, _SUMMARY) + more


def _warn(session: Session, made: Made) -> None:
    """Say which files could not be committed as they are, since a client has not saved them."""
    texts = {one.path: decode(one.before, one.shown).text for one in made.changes}
    names = {*buffers(session, [(one.path, one.shown) for one in made.changes], texts)}
    names |= {one.shown for one in made.changes if one.opened}
    if names:
        made.notes.append(f"Before a commit save {in_short(sorted(names))}: there are unsaved changes in an editor.")


# -- the answer -----------------------------------------------------------------------------------------------------


def _result(
    found: Ground, files: Sequence[File], outcome: Outcome, made: Made, shapes: list[FileShape], params: Params
) -> Result:
    kept = {one.shown for one in made.changes} | {one.path for one in made.refused}
    mine = [file for file in files if found.shown(file.root, file.path) in kept]
    hits = [hit for file in mine for hit in file.hits][: params.max_results]
    total = sum(file.replacements for file in mine if not file.refused)
    if total > len(hits):
        made.notes.append(f"Shown are the first {len(hits):,} matches; the diffs go on.")
    if cut := sum(one.truncated for one in shapes):
        made.notes.append(f"{numbered(cut, 'diff')} cut or left out; what is staged is whole.")
    said = grounds.said(found, outcome, *made.notes)
    if files and outcome.readings.get(files[0].language) is not None:
        language = files[0].language
        said["parsed_as"], said["also_parses_as"] = outcome.parsed_as(language), outcome.also_parses_as(language)
    return Result(
        **said,
        edit_id=None,
        message="",
        files=shapes,
        matches=[grounds.match(found, hit) for hit in hits],
        replacements=sum(one.replacements for one in made.changes),
        overlapping=made.overlapping,
        refused=made.refused,
        lost=made.lost,
        conflicts_with=[],
        expires=None,
    )


def _message(result: Result, made: Made) -> str:
    if result.edit_id is None:
        if made.refused:
            first = made.refused[0]
            more = f" (and {len(made.refused) - 1} more)" if len(made.refused) > 1 else ""
            return f"Nothing was staged: {first.path}: {first.reason.rstrip('.')}{more}."
        return f"Nothing was staged: nothing matches in {numbered(result.files_searched, 'file')}."
    said = [
        f"Staged {result.edit_id}: {numbered(result.replacements, 'replacement')} in "
        f"{numbered(len(result.files), 'file')}. Nothing is written yet; “resolve” commits or discards it within "
        f"{TTL_SECONDS / 3600:.0f} hours."
    ]
    if result.truncated:
        said.append("Not everything was looked at, so there may be more places.")
    if made.refused:
        names = in_short([one.path for one in made.refused])
        said.append(f"Left as {'it is' if len(made.refused) == 1 else 'they are'}: {names}; “refused” says why.")
    if made.lost:
        said.append(
            f"Left alone: {numbered(len(made.lost), 'place')} where text would have been lost; “lost” shows them."
        )
    if result.overlapping:
        was = "match was" if result.overlapping == 1 else "matches were"
        said.append(f"{result.overlapping} {was} left out, for overlapping another.")
    if result.conflicts_with:
        said.append(f"{in_short(result.conflicts_with)} would change some of the same files.")
    return " ".join(said)


async def _checked(session: Session, changes: Sequence[Change], options: Options, result: Result) -> None:
    """Ask what it would introduce, and say so; that nobody could tell is no reason not to have staged it."""
    from ombud.operations.structural.previewed import checked

    result.introduced = result.diagnostics = None
    try:
        found = await checked(session, changes, options)
    except OmbudError as error:
        result.message += f" It could not be checked: {error.message}"
        return
    report: DiagnosticsShape | None = found.diagnostics
    result.diagnostics = report
    nobody = report is None or not report.servers
    result.introduced = None if report is None else report.introduced
    result.message += f" {found_words(report, 'wait', no_server=nobody, preview=True)}"
