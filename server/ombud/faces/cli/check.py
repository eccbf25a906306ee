"""``ombud check PATH…``: what the language servers say of files, as compilers print it, and who really answered."""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.faces.cli.context import FAILED, UNANSWERED, Context
from ombud.faces.cli.operation import READ_WAIT_MS
from ombud.faces.cli.render import counted, diagnostic_lines, listed, plain
from ombud.faces.cli.roots import absolute
from ombud.faces.cli.session import open_session, run_async
from ombud.faces.cli.terminal import Screen
from ombud.operations import registry

if TYPE_CHECKING:
    from ombud.downstream.detect import Detected
    from ombud.operations.session import Session

SEVERITIES = ("error", "warning", "information", "hint")
MOST_FILES = 5_000
"""Files of one check. A walk that finds more says so, and the check does not count as clean."""
AT_ONCE = 8
"""Files that servers are asked about at the same time."""
_SHOWN = 5
_TELLING = ("not_trusted", "missing_binary", "missing_marker", "disabled")


@dataclass(slots=True)
class Choice:
    """What is to be checked, and what cannot be. ``skipped``: (language, sentence) → files that it holds for."""

    files: list[str] = field(default_factory=list)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    unclaimed: list[tuple[str, str]] = field(default_factory=list)
    """(path, sentence) of files that were named and that nobody can check."""
    note: str | None = None


@dataclass(slots=True)
class Report:
    """What came back. ``fresh``: server → files it answered for; ``missing``: (server or none, path, sentence)."""

    files: int = 0
    diagnostics: list[Mapping[str, Any]] = field(default_factory=list)
    fresh: Counter[str] = field(default_factory=Counter)
    missing: list[tuple[str, str, str]] = field(default_factory=list)


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files or folders (default: the folder you are in)")
    parser.add_argument(
        "--severity",
        choices=SEVERITIES,
        default="error",
        help="the least severity that makes the exit code 1 (default: error); “hint” also shows hints",
    )
    parser.add_argument(
        "--wait-ms",
        type=int,
        default=READ_WAIT_MS,
        metavar="N",
        help=f"how long to wait for each file's diagnostics, in milliseconds (default: {READ_WAIT_MS})",
    )
    parser.add_argument("--json", action="store_true", help="print the same as data")


def run(context: Context, arguments: argparse.Namespace) -> int:
    return run_async(lambda: _run(context, arguments))


async def _run(context: Context, arguments: argparse.Namespace) -> int:
    async with open_session(context.root, context.progress) as (session, _):
        paths = [absolute(path, context.cwd, context.root) for path in arguments.paths or [str(context.cwd)]]
        choice = await asyncio.to_thread(choose, session, paths)
        report = await ask(context, session, choice.files, arguments)
        report.diagnostics.sort(key=_place)
        code = verdict(choice, report, arguments.severity)
        if arguments.json:
            context.say_json(as_data(choice, report, code))
        else:
            context.say(_lines(context, choice, report))
    return code


def choose(session: Session, paths: Sequence[str]) -> Choice:
    """The files to check. Raises `Refused` for a path outside the workspace, a sensitive one, and one not there."""
    from ombud.downstream.survey import SKIPPED
    from ombud.workspace.walk import Walk

    choice = Choice()
    seen: dict[str, None] = {}
    walk = Walk(session.fence, SKIPPED)
    for path in paths:
        inside = session.fence.resolve(path, intent="read")
        if not inside.path.is_dir():
            found = session.detected(inside.path)
            if any(one.state == "available" for one in found):
                seen[inside.relative] = None
            else:
                choice.unclaimed.append((inside.relative, why_not(found)))
            continue
        for file in walk.files(inside.path):
            if not _take(session, file, seen, choice):
                break
    choice.files = list(seen)
    choice.note = choice.note or walk.note
    return choice


def _take(session: Session, file: Path, seen: dict[str, None], choice: Choice) -> bool:
    """Look at one file of a walk; False when enough have been found."""
    found = session.detected(file)
    if any(one.state == "available" for one in found):
        try:
            inside = session.fence.resolve(str(file), intent="read")
        except OmbudError:
            # A sensitive file, or one that has gone: nobody asked for it by name.
            return True
        if len(seen) >= MOST_FILES:
            choice.note = f"Only the first {MOST_FILES} files were checked; name folders below this one."
            return False
        seen[inside.relative] = None
    elif any(one.state in ("missing_binary", "not_trusted") for one in found):
        choice.skipped[session.detector.language(file) or file.suffix or file.name, why_not(found)] += 1
    return True


def why_not(found: Sequence[Detected]) -> str:
    """Why no server can check a file, as a sentence: the most telling absence of the best candidate."""
    if not found:
        return "No language server in the catalogue is for such files."
    best = min(found, key=lambda one: (_TELLING.index(one.state), one.entry.priority))
    return f"{best.entry.name}: {best.reason}"


async def ask(context: Context, session: Session, files: Sequence[str], arguments: argparse.Namespace) -> Report:
    """Ask about ``files``, several at a time; ``arguments`` has ``wait_ms`` and ``severity``."""
    report = Report()
    gate = asyncio.Semaphore(AT_ONCE)
    done = 0

    async def one(path: str) -> None:
        nonlocal done
        async with gate:
            await _check(session, path, arguments, report)
        done += 1
        context.progress.activity(f"checked {done} of {len(files)}")

    context.progress.activity(f"checked 0 of {len(files)}")
    async with asyncio.TaskGroup() as group:
        for path in files:
            group.create_task(one(path))
    context.progress.activity("")
    return report


async def _check(session: Session, path: str, arguments: argparse.Namespace, report: Report) -> None:
    params: dict[str, Any] = {"path": path, "waitMs": arguments.wait_ms}
    if arguments.severity == "hint":
        params["severity"] = "hint"
    try:
        result = await registry.call(session, "diagnostics", params)
    except OmbudError as error:
        report.missing.append(("", path, error.message))
        return
    report.files += 1
    report.diagnostics += result["diagnostics"]
    for server in result["servers"]:
        if server["freshness"] == "fresh":
            report.fresh[server["name"]] += 1
        else:
            reason = server.get("reason") or "It gave no reason."
            report.missing.append((server["name"], path, reason))


def verdict(choice: Choice, report: Report, severity: str) -> int:
    """The exit code. An error that was found counts before an answer that is missing; no answer is never clean."""
    counting = SEVERITIES[: SEVERITIES.index(severity) + 1]
    if any(item["severity"] in counting for item in report.diagnostics):
        return FAILED
    if report.missing or choice.unclaimed or choice.note or not choice.files:
        return UNANSWERED
    return 0


def as_data(choice: Choice, report: Report, code: int) -> dict[str, Any]:
    """The same for programs. ``servers``: how many files each answered for; ``missing``: what nobody answered for."""
    return {
        "files": report.files,
        "diagnostics": report.diagnostics,
        "servers": [{"name": name, "files": number} for name, number in sorted(report.fresh.items())],
        "missing": [
            {"path": path, **({"server": server} if server else {}), "reason": reason}
            for server, path, reason in (*report.missing, *(("", path, reason) for path, reason in choice.unclaimed))
        ],
        "skipped": [
            {"language": language, "files": number, "reason": reason}
            for (language, reason), number in choice.skipped.items()
        ],
        "note": choice.note,
        "exitCode": code,
    }


def _place(item: Mapping[str, Any]) -> tuple[Any, ...]:
    start = item["range"]["start"]
    return item["path"], start["line"], start["character"], item["source"], item["message"]


def _lines(context: Context, choice: Choice, report: Report) -> Iterator[str]:
    screen = context.screen
    for item in report.diagnostics:
        yield from diagnostic_lines(item, screen)
    yield from summary(screen, choice, report)


def summary(screen: Screen, choice: Choice, report: Report) -> Iterator[str]:
    """How much was found, who answered for which files, and what is not known."""
    if report.files:
        yield from screen.wrap(f"{_totals(report)} {_answered(report)}")
    yield from (line for sentence in _absences(choice, report) for line in screen.wrap(plain(sentence)))
    if choice.note:
        yield from screen.wrap(choice.note)


def _totals(report: Report) -> str:
    numbers = Counter(item["severity"] for item in report.diagnostics)
    nouns = {"error": "error", "warning": "warning", "information": "remark", "hint": "hint"}
    parts = [counted(numbers[severity], nouns[severity]) for severity in SEVERITIES if numbers[severity]]
    if not parts and report.missing:
        # Silence is never called clean (D4): what was found is only a part of what there may be.
        return f"Nothing found so far in {counted(report.files, 'file')}, and not everybody has answered."
    return f"{listed(parts) or 'Nothing found'} in {counted(report.files, 'file')}."


def _answered(report: Report) -> str:
    """``basedpyright and ruff answered for all 3 files.``"""
    if not report.fresh:
        return ""
    by_number: dict[int, list[str]] = {}
    for name, number in sorted(report.fresh.items()):
        by_number.setdefault(number, []).append(plain(name))
    if len(by_number) == 1 and report.files in by_number:
        whole = "the file" if report.files == 1 else f"all {report.files} files"
        return f"{listed(by_number[report.files])} answered for {whole}."
    parts: list[str] = []
    for number, names in sorted(by_number.items(), reverse=True):
        verb = "" if parts else " answered"
        each = " each" if len(names) > 1 else ""
        parts.append(f"{listed(names)}{verb} for {counted(number, 'file')}{each}")
    return f"{', '.join(parts)}."


def _absences(choice: Choice, report: Report) -> Iterator[str]:
    """What is not known, and why: by server and reason, with the first few files."""
    groups: dict[tuple[str, str], list[str]] = {}
    for server, path, reason in report.missing:
        groups.setdefault((server, reason), []).append(path)
    for (server, reason), paths in groups.items():
        shown = ", ".join(paths[:_SHOWN]) + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")
        who = f"{server} did not answer for" if server else "Nobody answered for"
        yield f"Not known: {who} {counted(len(paths), 'file')} ({shown}). {reason}"
    for path, reason in choice.unclaimed:
        yield f"Not checked: {path}. {reason}"
    if choice.skipped and choice.files:
        totals: Counter[str] = Counter()
        for (language, _), number in choice.skipped.items():
            totals[language] += number
        parts = [counted(number, f"{language} file") for language, number in totals.items()]
        yield f"Not checked: {listed(parts)}, since no server for them can start. “ombud doctor” says why."
    elif choice.skipped:
        for (language, reason), number in choice.skipped.items():
            yield f"Not checked: {counted(number, f'{language} file')}. {reason}"
    if not choice.files and not choice.unclaimed and not choice.skipped:
        yield "Nothing was checked: no language server is for any of these files."
