"""Run the workspace's rules: patterns with a message, a severity and perhaps a fix, kept as YAML or TOML files.

Rules are read from ``.ombud/rules`` in each workspace folder and from the ``rules`` of the configuration; ast-grep's
rule files are read as far as they can be said in our terms. Nothing is written: a finding's fix is a list of edits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from ombud.errors import UserError
from ombud.operations.shapes import Arguments, Shape
from ombud.operations.structural import ground as grounds
from ombud.operations.structural.rulebook import rulebook
from ombud.operations.structural.ruling import Files, Finding, Ran, Ruling
from ombud.operations.structural.shapes import MOST_RESULTS, SkippedShape
from ombud.structural.rules import Problem, Severity
from ombud.text.ranges import Range

if TYPE_CHECKING:
    from ombud.operations.session import Session
    from ombud.structural.messages import Opened, Root

MOST_TOLD = 200


class Params(Arguments, frozen=True, kw_only=True):
    path: Annotated[
        str | list[str] | None,
        msgspec.Meta(description="A file or folder, or a list of them; everything by default."),
    ] = None
    rules: Annotated[
        str | list[str | dict[str, Any]] | None,
        msgspec.Meta(
            description="In place of the workspace's own rules: a file or folder of rules, the id of one of them, a "
            "rule itself as an object, or a list of these."
        ),
    ] = None
    max_results: Annotated[
        int, msgspec.Meta(ge=1, le=MOST_RESULTS, description="How many findings are told at the most.")
    ] = 500


class EditShape(Shape):
    range: Range
    new_text: str


class FixShape(Shape):
    """All edits of it belong together; their ranges are of the file as it was searched."""

    edits: list[EditShape]


class FindingShape(Shape, kw_only=True, omit_defaults=True):
    """``line`` and ``end_line`` are one-based; ``text`` is the matched code, cut at 2,000 characters."""

    rule_id: str
    path: str
    line: int
    end_line: int
    range: Range
    severity: Severity
    message: str
    text: str
    note: str | None = None
    url: str | None = None
    fix: FixShape | None = None


class Result(Shape, kw_only=True):
    findings: list[FindingShape]
    rules: int
    """How many rules were run."""
    problems: list[Problem]
    """What is wrong with files of rules, a sentence each; a rule that cannot be used is left out."""
    files_searched: int
    files_skipped: list[SkippedShape]
    parse_errors: list[str]
    suppressed: int
    """Findings that a comment silences (``ombud-ignore: rule-id``)."""
    truncated: bool
    total: int
    """How many findings there are, those that are not told included."""
    note: str | None = None


async def run(session: Session, params: Params) -> Result:
    """Raises `UserError` for rules that are named and not there, `Refused` as the fence does."""
    named = [params.rules] if isinstance(params.rules, str) else params.rules
    book = await rulebook(session, named)
    place, files = searched(session, [params.path] if isinstance(params.path, str) else params.path)
    ran = await Ruling(session.hub.searches.searcher, files).run(book)
    if not book.rules and not book.problems:
        ran.notes.append("There are no rules: put YAML or TOML files into .ombud/rules, or name some.")
    return _result(place, ran, len(book.rules), params.max_results)


def searched(session: Session, paths: Sequence[str] | None) -> tuple[grounds.Ground, Files]:
    """The files that rules look at. Raises `Refused` as the fence does."""
    if paths is not None and not paths:
        raise UserError("The list of paths is empty; leave it out for everything.")
    parts = [grounds.ground(session, None, path) for path in (dict.fromkeys(paths) if paths else [None])]
    roots: list[Root] = []
    opened: list[Opened] = []
    for part in parts:
        for number, root in enumerate(part.roots):
            if root not in roots:
                opened += [msgspec.structs.replace(one, root=len(roots)) for one in part.opened if one.root == number]
                roots.append(root)
    place = replace(parts[0], roots=roots, opened=opened)
    buffers = {(one.root, one.path): one.text for one in opened}

    async def source(number: int, path: str) -> bytes | None:
        found = buffers.get((number, path))
        return found if found is not None else await asyncio.to_thread(_on_disk, roots[number].path, path)

    return place, Files(roots, opened, source, session.configuration.trusted is not False)


def _on_disk(root: str, path: str) -> bytes | None:
    from ombud.syntax import source

    read = source.read(root, path)
    return None if read.reason else source.source(read.data)


def _result(place: grounds.Ground, ran: Ran, rules: int, most: int) -> Result:
    seen: dict[tuple[str, str, int, int], FindingShape] = {}
    for one in ran.findings:
        shaped = shape(place, one)
        # Two of the paths may hold the same file.
        seen.setdefault((shaped.path, shaped.rule_id, one.hit.start, one.hit.end), shaped)
    found = sorted(seen.values(), key=lambda one: one.path.split("/"))
    if len(found) > most:
        ran.notes.append(
            f"Shown the first {most:,} of {len(found):,} findings; name a path or rules, or raise maxResults."
        )
    skipped = [SkippedShape(path=place.shown(*where), reason=why) for where, why in sorted(ran.skipped.items())]
    return Result(
        findings=found[:most],
        rules=rules,
        problems=ran.problems,
        files_searched=sum(ran.files.values()),
        files_skipped=skipped[:MOST_TOLD],
        parse_errors=[place.shown(*where) for where in sorted(ran.flawed)][:MOST_TOLD],
        suppressed=ran.suppressed,
        truncated=ran.truncated or len(found) > most,
        total=len(found),
        note=" ".join(dict.fromkeys(ran.notes)) or None,
    )


def shape(place: grounds.Ground, finding: Finding) -> FindingShape:
    """A finding as answers show it."""
    rule, hit = finding.rule, finding.hit
    return FindingShape(
        rule_id=rule.id,
        path=place.shown(hit.root, hit.path),
        line=hit.place.line + 1,
        end_line=hit.place.end_line + 1,
        range=grounds.range_of(hit.place),
        severity=rule.severity,
        message=finding.message,
        text=hit.place.text,
        note=rule.note,
        url=rule.url,
        fix=fix(finding),
    )


def fix(finding: Finding) -> FixShape | None:
    """The edits that mend a finding, where there are any."""
    if finding.edits is None:
        return None
    return FixShape(edits=[EditShape(range=grounds.range_of(place), new_text=new) for place, new in finding.edits])
