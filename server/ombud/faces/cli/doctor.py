"""``ombud doctor``: which servers this project gets, which it does not get and why, and what to do about it."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from ombud.downstream.handshake import version_of
from ombud.errors import OmbudError
from ombud.faces.cli.context import FAILED, Context
from ombud.faces.cli.graph import index_line
from ombud.faces.cli.render import counted, plain
from ombud.faces.cli.roots import shown
from ombud.faces.cli.session import open_session, run_async
from ombud.faces.cli.terminal import Row, table
from ombud.faces.cli.versions import told, versions_of
from ombud.operations.status import index_of
from ombud.operations.writing.report import in_a_row

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected
    from ombud.downstream.survey import Survey
    from ombud.operations.session import Session

STARTS_AT_ONCE = 3
LONGEST_VERSION = 40
START_MARGIN = 10.0
"""Seconds beyond a server's own ``readyTimeoutMs`` after which a start counts as failed whatever the server does."""
ANY = "any file"
_STATES = {
    "available": "would start",
    "not_trusted": "needs trust",
    "missing_binary": "not found",
    "missing_marker": "no marker",
    "disabled": "off",
}
_STYLES = {"would start": "green", "started": "green", "needs trust": "yellow", "failed": "red"}
_RANK = ("available", "not_trusted", "missing_binary", "missing_marker", "disabled")


@dataclass(frozen=True, slots=True)
class Start:
    """How a real start ended. ``seconds`` from the need to the answer to ``initialize``, or to the failure."""

    ok: bool
    seconds: float
    name: str | None = None
    version: str | None = None
    reason: str | None = None

    @property
    def calls_itself(self) -> str:
        """Name and version for a person. Some put all they know into the version: then only its number is shown."""
        version = self.version or ""
        if len(version) > LONGEST_VERSION:
            version = told(version, "") or ""
        return " ".join(part for part in (self.name, version) if part)


@dataclass(slots=True)
class Finding:
    """One server in one root. ``languages`` are those of this project that it is for, the commonest first."""

    detected: Detected
    languages: list[str]
    version: str | None = None
    start: Start | None = None

    @property
    def state(self) -> str:
        if self.start is not None:
            return "started" if self.start.ok else "failed"
        return _STATES[self.detected.state]


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--start", action="store_true", help="really start each server that would, and end it again")
    parser.add_argument("--all", action="store_true", help="a row also for every alternative that is not used")
    parser.add_argument("--json", action="store_true", help="print the same as data")


def run(context: Context, arguments: argparse.Namespace) -> int:
    return run_async(lambda: _run(context, arguments))


async def _run(context: Context, arguments: argparse.Namespace) -> int:
    async with open_session(context.root, context.progress) as (session, _):
        survey, findings = await examine(context, session)
        if arguments.start:
            await start_all(context, session, findings)
        index = msgspec.to_builtins(await index_of(session))
        if arguments.json:
            context.say_json({**as_data(session, survey, findings), "index": index})
        else:
            context.say(report(context, session, survey, findings, everything=arguments.all, index=index))
    return FAILED if any(one.start is not None and not one.start.ok for one in findings) else 0


async def examine(context: Context, session: Session) -> tuple[Survey, list[Finding]]:
    """What there is, with the versions of what would start. Nothing else is run."""
    context.progress.activity("looking at the project")
    survey = await asyncio.to_thread(session.detector.survey)
    findings = [Finding(one, _languages(one, survey)) for one in survey.detected]
    findings.sort(key=lambda one: (_order(one, survey), _RANK.index(one.detected.state), one.detected.entry.priority))
    context.progress.activity("asking servers for their versions")
    versions = await versions_of([one.detected for one in findings], session.environment)
    for finding, version in zip(findings, versions, strict=True):
        finding.version = version
    context.progress.activity("")
    return survey, findings


def _languages(detected: Detected, survey: Survey) -> list[str]:
    """The languages of this project that a server is for."""
    if "*" in detected.entry.languages:
        return [ANY]
    return [language for language in survey.languages if language in detected.entry.languages] or [ANY]


def _order(finding: Finding, survey: Survey) -> int:
    languages = list(survey.languages)
    first = finding.languages[0]
    return languages.index(first) if first in languages else len(languages)


async def start_all(context: Context, session: Session, findings: Sequence[Finding]) -> None:
    """Start what would start, a few at a time, and note how it went."""
    gate = asyncio.Semaphore(max(1, min(STARTS_AT_ONCE, session.configuration.max_servers)))

    async def one(finding: Finding) -> None:
        async with gate:
            finding.start = await start(session, finding.detected)

    context.progress.activity("starting what would start")
    async with asyncio.TaskGroup() as group:
        for finding in findings:
            if finding.detected.state == "available":
                group.create_task(one(finding))
    context.progress.activity("")


async def start(session: Session, detected: Detected) -> Start:
    """Start one server, until it has answered ``initialize`` (P10)."""
    server = session.hub.supervisor.server(detected, session.client.capabilities, lambda: session.environment)
    began = time.monotonic()
    try:
        server.need()
        async with asyncio.timeout(server.entry.ready_timeout_ms / 1000 + START_MARGIN):
            await server.turn()
    except OmbudError as error:
        return Start(False, time.monotonic() - began, reason=error.message)
    except TimeoutError:
        return Start(False, time.monotonic() - began, reason=f"{server.name} was not ready in time.")
    told = server.server_info
    name, version = told.get("name"), version_of(told)
    return Start(
        True,
        time.monotonic() - began,
        None if name is None else plain(name, 80),
        None if version is None else plain(version, 2000),
    )


def as_data(session: Session, survey: Survey, findings: Sequence[Finding]) -> dict[str, Any]:
    """The same for programs; ``state`` is the contract's word, ``start`` is there after ``--start`` only."""
    return {
        "root": str(session.root),
        "languages": [{"name": name, "files": number} for name, number in survey.languages.items()],
        "servers": [_as_data(one) for one in findings],
        "trust": {"root": str(session.root), "state": session.trust.state, "explanation": session.trust.explanation},
        "problems": [*session.problems, *_store_problems()],
        "note": survey.note,
    }


def _as_data(finding: Finding) -> dict[str, Any]:
    detected = finding.detected
    data: dict[str, Any] = {
        "name": detected.entry.name,
        "role": detected.entry.role,
        "languages": finding.languages,
        "root": str(detected.root),
        "marker": detected.marker,
        "command": list(detected.resolved.argv) if detected.resolved is not None else None,
        "version": finding.version,
        "state": detected.state,
        "reason": detected.reason,
        "install": detected.entry.install,
    }
    if finding.start is not None:
        went = finding.start
        info = {"name": went.name, "version": went.version} if went.ok else None
        data["start"] = {"ok": went.ok, "seconds": round(went.seconds, 3), "serverInfo": info, "reason": went.reason}
    return data


def report(
    context: Context,
    session: Session,
    survey: Survey,
    findings: Sequence[Finding],
    *,
    everything: bool,
    index: Mapping[str, Any] | None = None,
) -> Iterator[str]:
    """The lines of the report. ``index`` is the part of a status on the code graph."""
    screen = context.screen
    yield screen.paint(str(context.root), "bold")
    yield from screen.wrap(_content(survey))
    if survey.note:
        yield from screen.wrap(survey.note)
    yield ""
    listed = [one for one in findings if everything or worth_a_row(one, findings)]
    folded = [one for one in findings if one not in listed]
    if listed:
        rows = list(_rows(context, listed, session.trust.explanation))
        yield from table(screen, ["LANGUAGE", "SERVER", "STATE", "ROOT", "MARKER", "COMMAND"], rows)
    else:
        yield from screen.wrap("No language server in the catalogue is for the files of this project.")
    yield from (line for sentence in _folded(folded) for line in screen.wrap(sentence))
    yield ""
    for problem in (*session.problems, *_store_problems()):
        yield from screen.wrap(f"Configuration: {plain(problem)}")
    if index is not None:
        yield from screen.wrap(f"{index_line(index)[:1].upper()}{index_line(index)[1:]}.")
    yield from screen.wrap(f"Trust: {plain(_trust(session))}")


def _content(survey: Survey) -> str:
    parts = [f"{name} ({counted(number, 'file')})" for name, number in survey.languages.items()]
    return f"Languages: {', '.join(parts)}." if parts else "There are no files here in a language that Ombud knows."


def worth_a_row(finding: Finding, findings: Sequence[Finding]) -> bool:
    """Whether a reader wants to see a server that does not start. An alternative to one that does is no news.

    Neither is a server without its marker (a linter's configuration, a framework), unless there is nothing else.
    """
    state = finding.detected.state
    entry = finding.detected.entry
    if state == "available" or entry.from_user or entry.disabled is not None:
        return True
    if state == "disabled":
        return False
    others = any(
        one.detected.state not in ("missing_marker", "disabled") and set(one.languages) & set(finding.languages)
        for one in findings
    )
    return state != "missing_marker" or (not others and entry.role == "types")


def _rows(context: Context, findings: Sequence[Finding], advice: str) -> Iterator[Row]:
    """``advice`` on trust stands under the table, once for all. Roots of which the same is to be said share a row."""
    rows: dict[tuple[str, ...], tuple[list[str], list[str]]] = {}
    roots: dict[tuple[str, ...], list[str]] = {}
    for finding in findings:
        detected = finding.detected
        found = detected.marker is not None or detected.state == "available"
        command = shown(detected.resolved.executable, context.root) if detected.resolved is not None else "–"
        cells = [
            plain(finding.languages[0]),
            plain(detected.entry.name),
            finding.state,
            plain(shown(detected.root, context.root)) if found else "–",
            plain(detected.marker or ("none needed" if found else "–")),
            plain(f"{command} {finding.version or ''}").strip(),
        ]
        below = [sentence.replace(plain(advice), "").strip() for sentence in _below(finding)]
        same = (*cells[:3], *cells[4:], *below)
        rows.setdefault(same, (cells, below))
        roots.setdefault(same, []).append(cells[3])
    former = ""
    for same, (cells, below) in rows.items():
        first, _, state, *_ = cells
        if len(roots[same]) > 1:
            below.insert(0, f"the same in {in_a_row(roots[same][1:])}")
        yield Row(["" if first == former else first, *cells[1:]], ["", "bold", _STYLES.get(state, "dim")], below)
        former = first


def _below(finding: Finding) -> Iterator[str]:
    """The sentences under a row: what else it is for, how its start went, why it would not start."""
    if len(finding.languages) > 1:
        yield f"also for {', '.join(map(plain, finding.languages[1:]))}"
    went, resolved = finding.start, finding.detected.resolved
    if went is not None and went.ok:
        name = went.calls_itself
        yield f"ready in {went.seconds:.1f} s{f', it calls itself {name}' if name else ''}"
    elif went is not None:
        yield f"after {went.seconds:.1f} s: {plain(went.reason)}"
    elif finding.detected.state != "available":
        yield plain(finding.detected.reason)
    if resolved is not None and resolved.note:
        yield plain(resolved.note)


def _folded(findings: Sequence[Finding]) -> Iterator[str]:
    """Who got no row, by name."""
    groups: dict[str, list[str]] = {}
    for finding in findings:
        why = "not used, since another one is" if finding.detected.state == "disabled" else "no configuration of theirs"
        groups.setdefault(why, []).append(plain(finding.detected.entry.name))
    if groups:
        parts = [f"{', '.join(dict.fromkeys(names))} ({why})" for why, names in groups.items()]
        yield f"Not shown: {'; '.join(parts)}. “ombud doctor --all” has the reasons."


def _trust(session: Session) -> str:
    said = session.trust.explanation
    if session.trust.state == "trusted" and session.trust.source == "store":
        return f"{said} Take it back with “ombud trust --revoke”."
    if session.trust.state == "trusted":
        return f"{said} That is “trusted” in your ombud.toml."
    if session.trust.state == "untrusted":
        return (
            f"{session.root} is not trusted: your ombud.toml says “trusted = false”, so no server is started at all. "
            "Change it there."
        )
    return said


def _store_problems() -> tuple[str, ...]:
    from ombud.guard.trust import TrustStore

    return TrustStore().problems
