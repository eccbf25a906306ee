"""``ombud demo PROJECT``: what Ombud makes of a project of yours, read-only, and the proof that nothing was written."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import OmbudError
from ombud.faces.cli import check, doctor
from ombud.faces.cli.context import Context, Usage
from ombud.faces.cli.operation import READ_WAIT_MS
from ombud.faces.cli.render import listed, plain
from ombud.faces.cli.roots import shown
from ombud.faces.cli.session import open_session, run_async
from ombud.faces.cli.story import Processes, Story

if TYPE_CHECKING:
    from ombud.operations.session import Session

MOST_FILES = 20_000
MOST_BYTES = 64 * 1024 * 1024
"""A tree with more is compared by names, sizes and times alone, respectively not at all."""
LARGEST_FILE = 200_000
CANDIDATES = 5
"""Files whose symbols are asked for to find the most interesting one."""
ASKED_SYMBOLS = 8
CHECKED_FILES = 12
SHOWN_LINES = 14
_TELLING_KINDS = ("class", "function", "method", "interface", "struct", "enum", "constructor", "constant", "variable")


def tour(context: Context, project: str) -> int:
    """Look at the folder ``project``. Raises `Usage` when it is none."""
    root = Path(os.path.realpath(context.cwd / project))
    if not root.is_dir():
        raise Usage(f"{project} is not a folder. Name the folder of a project.", "demo")
    return run_async(lambda: _tour(Story(replace(context, root=root)), root))


async def _tour(story: Story, root: Path) -> int:
    before = await asyncio.to_thread(fingerprint, root)
    processes = Processes()
    async with open_session(root, story.context.progress) as (session, _):
        findings = await _servers(story, session)
        ready = {one.detected.entry.name for one in findings if one.start is not None and one.start.ok}
        processes.now()
        if ready:
            files = await asyncio.to_thread(_files, session, ready)
            await _interesting(story, session, files)
            await _diagnostics(story, session, files)
        processes.now()
    _proof(story, root, before, await asyncio.to_thread(fingerprint, root))
    left = processes.left()
    story.text(f"Processes that ran meanwhile: {len(processes.seen)}; still there: {len(left)}.")
    story.promise(not left, f"no process is left; there is {listed(left)}")
    return story.end("That is what Ombud makes of this project.")


async def _servers(story: Story, session: Session) -> list[doctor.Finding]:
    """Detection, then the start of everything that would start."""
    story.step("What is detected, and why")
    survey, findings = await doctor.examine(story.context, session)
    story.context.say(doctor.report(story.context, session, survey, findings, everything=False))
    story.step("What would start, does it?")
    would = [one for one in findings if one.detected.state == "available"]
    if not would:
        story.text("No server would start here, so there is nobody to ask. The table says what to install.")
        return findings
    await doctor.start_all(story.context, session, findings)
    names = Counter(one.detected.entry.name for one in would)
    for one in would:
        went, name = one.start, one.detected.entry.name
        if names[name] > 1:
            name += f" in {plain(shown(one.detected.root, story.context.root))}"
        if went is not None and went.ok:
            told = went.calls_itself
            story.text(f"{name}: ready after {went.seconds:.1f} s{f' ({told})' if told else ''}.")
        elif went is not None:
            story.text(f"{name}: not ready. {plain(went.reason)}")
            story.promise(False, f"{name} would start")
    return findings


@dataclass(frozen=True, slots=True)
class File:
    """A file that a ready server claims. ``typed``: one of them knows types, not only style or syntax."""

    path: Path
    size: int
    typed: bool


def _files(session: Session, ready: set[str]) -> list[File]:
    """The files that ready servers claim, those with type servers first, then the largest; bounded."""
    from ombud.downstream.survey import SKIPPED
    from ombud.workspace.walk import Walk

    found: list[File] = []
    for path in Walk(session.fence, SKIPPED, files=MOST_FILES).files(session.fence.folders[0]):
        claiming = [one for one in session.detected(path) if one.state == "available" and one.entry.name in ready]
        try:
            size = path.stat().st_size
            session.fence.resolve(str(path), intent="read")
        except (OSError, OmbudError):
            continue
        if claiming and size <= LARGEST_FILE:
            found.append(File(path, size, any(one.entry.role == "types" for one in claiming)))
    return sorted(found, key=lambda one: (not one.typed, -one.size, one.path))


async def _interesting(story: Story, session: Session, files: Sequence[File]) -> None:
    """Symbols, hover and references in the file with the most symbols."""
    story.step("What it knows")
    best: tuple[int, str, dict[str, Any]] | None = None
    asked = [file for file in files if file.typed == files[0].typed][:CANDIDATES]
    for file in asked:
        relative = _relative(session, file.path)
        try:
            result = await story.call(session, "lsp", {"action": "symbols", "path": relative})
        except OmbudError:
            continue
        if best is None or len(result["items"]) > best[0]:
            best = len(result["items"]), relative, result
    if best is None or not best[0]:
        story.text("None of the running servers lists the symbols of a file here.")
        return
    number, relative, result = best
    story.text(f"The file with the most to tell, of {len(asked)} that were asked: {relative}.")
    params = {"action": "symbols", "path": relative}
    story.command("lsp", "symbols", "--path", relative)
    story.show("lsp", params, result, SHOWN_LINES)
    story.promise(number, f"{relative} has symbols")
    await _symbol(story, session, relative, result["items"])


async def _symbol(story: Story, session: Session, path: str, items: Sequence[dict[str, Any]]) -> None:
    """Hover and references of the symbol that is used most, of the first few that can be found in the text."""
    lines = (session.fence.folders[0] / path).read_text("utf-8", "replace").splitlines()
    ranked = sorted(
        (item for item in items if item.get("kind") in _TELLING_KINDS and "range" in item),
        key=lambda item: _TELLING_KINDS.index(item["kind"]),
    )
    best: tuple[int, dict[str, Any], dict[str, Any]] | None = None
    for item in ranked[:ASKED_SYMBOLS]:
        place = place_of(item, lines)
        if place is None:
            continue
        params = {"action": "references", "path": path, **place}
        try:
            result = await story.call(session, "lsp", params)
        except OmbudError:
            continue
        if best is None or len(result["items"]) > best[0]:
            best = len(result["items"]), params, result
    if best is None:
        story.text("None of its symbols can be asked about by name.")
        return
    _, params, result = best
    where = ("--path", path, "--line", str(params["line"]), "--symbol", params["symbol"])
    hover = {**params, "action": "hover"}
    story.command("lsp", "hover", *where)
    try:
        story.show("lsp", hover, await story.call(session, "lsp", hover), SHOWN_LINES)
    except OmbudError as error:
        story.text(plain(error.message))
    story.command("lsp", "references", *where)
    story.show("lsp", params, result, SHOWN_LINES)


def place_of(item: dict[str, Any], lines: Sequence[str]) -> dict[str, Any] | None:
    """``{line, symbol}`` of a symbol: the first line of its range that has its name.

    Of a name such as ``(*T).Run`` the last word counts.
    """
    words = re.findall(r"\w+", str(item["name"]))
    if not words:
        return None
    start, end = item["range"]["start"]["line"], item["range"]["end"]["line"]
    for number in range(start, min(end + 1, len(lines))):
        if re.search(rf"\b{re.escape(words[-1])}\b", lines[number]):
            return {"line": number + 1, "symbol": words[-1]}
    return None


async def _diagnostics(story: Story, session: Session, files: Sequence[File]) -> None:
    """What is wrong, as numbers: the project's findings are its own business."""
    import argparse

    story.step("What is wrong, in numbers")
    chosen = [_relative(session, file.path) for file in files[:CHECKED_FILES]]
    arguments = argparse.Namespace(wait_ms=READ_WAIT_MS, severity="error")
    story.command("check", *chosen)
    report = await check.ask(story.context, session, chosen, arguments)
    numbers: Counter[str] = Counter(f"{item['source']}: {item['severity']}" for item in report.diagnostics)
    for name, number in sorted(numbers.items()):
        story.text(f"{plain(name)} × {number}")
    story.lines(check.summary(story.narrow, check.Choice(files=chosen), report))
    story.promise(report.fresh, "at least one server answers for a file")


def _relative(session: Session, path: Path) -> str:
    return path.relative_to(session.fence.folders[0]).as_posix()


Fingerprint = dict[str, str]


def fingerprint(root: Path) -> Fingerprint | None:
    """Path → what is there: kind, mode, size, time of change, and content while there is little. None for a huge tree.

    Folders that tools generate (``node_modules``, ``.git``, …) are in it by their names, and not entered.
    """
    from ombud.downstream.survey import SKIPPED

    found: Fingerprint = {}
    queue = [root]
    budget = MOST_BYTES
    for folder in queue:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            path = Path(entry.path)
            status = path.lstat()
            what = f"{stat.filemode(status.st_mode)}"
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED:
                    queue.append(path)
            else:
                budget -= status.st_size
                content = _digest(path) if stat.S_ISREG(status.st_mode) and budget > 0 else ""
                what += f" {status.st_size} {status.st_mtime_ns} {content}"
            found[path.relative_to(root).as_posix()] = what
            if len(found) > MOST_FILES:
                return None
    return found


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def differences(before: Fingerprint, after: Fingerprint) -> list[str]:
    """What differs, as ``new: path``, ``gone: path``, ``changed: path``."""
    out = [f"new: {path}" for path in after if path not in before]
    out += [f"gone: {path}" for path in before if path not in after]
    return sorted(out + [f"changed: {path}" for path in before if path in after and before[path] != after[path]])


def _proof(story: Story, root: Path, before: Fingerprint | None, after: Fingerprint | None) -> None:
    story.step("Nothing was written")
    if before is None or after is None:
        story.text(f"There are more than {MOST_FILES} files below {plain(root)}, too many to compare here.")
        return
    found = differences(before, after)
    if not found:
        story.text(f"All {len(before)} files and folders are as they were: names, modes, sizes, times, content.")
        return
    for one in found[:20]:
        story.text(plain(one))
    story.promise(False, "nothing in the project changes; Ombud wrote nothing itself, a server or somebody else did")
