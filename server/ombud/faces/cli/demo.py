"""``ombud demo``: the product at work on the small project that comes with it, told so that one can follow."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ombud.errors import UserError
from ombud.faces.cli.context import FAILED, Context
from ombud.faces.cli.operation import READ_WAIT_MS, WRITE_WAIT_MS
from ombud.faces.cli.render import listed, plain
from ombud.faces.cli.roots import shown
from ombud.faces.cli.session import TerminalFront, open_session, run_async
from ombud.faces.cli.story import WIDTH, Processes, Story, megabytes
from ombud.faces.cli.terminal import cut

if TYPE_CHECKING:
    from ombud.operations.session import Session

WANTED = ("basedpyright", "ruff")
FILE = "tariff/rates.py"
OTHER = "tariff/invoice.py"
SYMBOL = "energy_charge"
LINE = "def energy_charge("
EDIT = ("price: Decimal)", "price: Decimal, tax: Decimal)")
FIX = ("tax: Decimal)", "tax: Decimal = Decimal(0))")
IDLE_SECONDS = 3.0
SWEEP_LIMIT = 60.0
"""Seconds within which idle servers must be gone: the idle time, a look at them every 5 s, and their own end."""


def fill(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("project", nargs="?", metavar="PROJECT", help="look at this folder, and write nothing in it")


def run(context: Context, arguments: argparse.Namespace) -> int:
    if arguments.project:
        from ombud.faces.cli.tour import tour

        return tour(context, arguments.project)
    source = bundled()
    folder = Path(tempfile.mkdtemp(prefix="ombud-demo-")).resolve()
    try:
        project = folder / "tariff"
        shutil.copytree(source, project, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
        return run_async(lambda: _demo(Story(context), project))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def bundled() -> Path:
    """The demo's project: in the package where it was installed from a wheel, else in the source checkout."""
    package = Path(__file__).resolve().parents[2]
    for candidate in (package / "bundled" / "demo", package.parents[1] / "fixtures" / "demo"):
        if (candidate / FILE).is_file():
            return candidate
    raise UserError(
        "The demo's own project is not among the installed files. Name a project of yours instead: ombud demo PROJECT."
    )


async def _demo(story: Story, project: Path) -> int:
    story.context.say(
        story.screen.wrap(
            "A small project, what a household pays for electricity, with an import that nothing uses any more. This "
            "works on a copy of it, and the copy is deleted in the end."
        )
    )
    processes = Processes()
    async with open_session(project, story.context.progress) as (session, front):
        if not await _detection(story, session):
            return FAILED
        await _lazy_start(story, session, front, processes)
        await _references(story, session)
        await _breaking(story, session)
        await _fix(story, session)
        await _sweep(story, session, front, processes)
    _nothing_left(story, processes)
    return story.end("That was all of it. “ombud demo PROJECT” looks at a project of yours.")


async def _detection(story: Story, session: Session) -> bool:
    """What is detected and why; False when the servers that this demo is about cannot be found."""
    story.step("What is detected, and why")
    survey = await asyncio.to_thread(session.detector.survey)
    would = {one.entry.name: one for one in survey.detected if one.state == "available"}
    for one in would.values():
        story.text(f"{one.entry.name} is for {listed(list(one.entry.languages))}, and {one.marker} marks its root.")
        if one.resolved is not None:
            story.lines([f"  {plain(shown(one.resolved.executable, session.fence.folders[0]))}"])
    others = [one.entry.name for one in survey.detected if one.state != "available"]
    story.text(f"{len(others)} more could be for files like these; “ombud doctor” says why they are not used.")
    missing = [name for name in WANTED if name not in would]
    for name in missing:
        reason = next((one.reason for one in survey.detected if one.entry.name == name), "It is not in the catalogue.")
        story.promise(False, f"{name} would start. {reason}")
    if missing:
        story.text(f"This demo needs {listed(list(WANTED))}: pip install {' '.join(missing)}, then try again.")
    return not missing


class Moments:
    """When servers began to start and were ready, in seconds since the question that needed them."""

    def __init__(self, front: TerminalFront) -> None:
        self._asked = time.monotonic()
        self.of: dict[str, dict[str, float]] = {}
        front.listeners.append(self._changed)

    def _changed(self, row: Mapping[str, Any]) -> None:
        self.of.setdefault(row["name"], {}).setdefault(row["state"], time.monotonic() - self._asked)


async def _lazy_start(story: Story, session: Session, front: TerminalFront, processes: Processes) -> None:
    story.step("Nothing runs before it is needed")
    before = processes.now()
    story.text(f"Processes so far: {len(before)}. The first question about a Python file starts its servers.")
    story.promise(not before, "no process runs before the first question")
    moments = Moments(front)
    line = _line_of(session)
    params = {"action": "hover", "path": FILE, "line": line, "symbol": SYMBOL}
    story.command("lsp", "hover", "--path", FILE, "--line", str(line), "--symbol", SYMBOL)
    result = await story.call(session, "lsp", params)
    story.show("lsp", params, result)
    story.promise(
        any("Decimal" in str(item.get("text")) for item in result["items"]), "hover shows the function's signature"
    )
    status = await story.call(session, "status", {})
    running = [one for one in status["servers"] if one["pid"] is not None]
    processes.now()
    story.context.say()
    for one in running:
        at = moments.of.get(one["name"], {})
        story.text(
            f"{one['name']} {one['version'] or ''}: started {at.get('starting', 0):.1f} s after the question, "
            f"ready after {at.get('ready', 0):.1f} s; {megabytes(one['rssBytes'])}."
        )
    names = {one["name"] for one in running}
    story.promise(names == set(WANTED), f"{listed(list(WANTED))} run now, and nothing else; running: {sorted(names)}")


async def _references(story: Story, session: Session) -> None:
    story.step("Places are named by line and word")
    line = _line_of(session)
    params = {"action": "references", "path": FILE, "line": line, "symbol": SYMBOL}
    story.command("lsp", "references", "--path", FILE, "--line", str(line), "--symbol", SYMBOL)
    result = await story.call(session, "lsp", params)
    story.show("lsp", params, result)
    files = {item["path"] for item in result["items"]}
    story.promise({FILE, OTHER} <= files, f"references are found in {FILE} and {OTHER}; found in {sorted(files)}")


async def _breaking(story: Story, session: Session) -> None:
    story.step("What an edit would break, before it is made")
    before = await _ask(story, session, FILE)
    story.promise(len(before) == 1, "the untouched file has one old warning")
    preview = await _edit(story, session, *EDIT, preview=True)
    story.promise(
        {one["path"] for one in preview["introduced"]} == {FILE, OTHER}
        and all(one["severity"] == "error" and one["code"] == "reportCallIssue" for one in preview["introduced"]),
        f"the edit would introduce errors in its callers in {FILE} and {OTHER}, and nothing else",
    )
    story.context.say()
    story.text(f"Nobody has {OTHER} open. It was found by what the edit changes, and looked at.")
    story.step("The edit, and what it broke")
    report = await _edit(story, session, *EDIT)
    story.promise(report["introduced"] == preview["introduced"], "the edit breaks what its preview said")
    story.promise(report["stillPresent"] == 1, "the old warning is counted as still present")
    story.context.say()
    story.text("Only what this edit introduced is told. The old warning is no news, so it is counted and not shown.")


async def _ask(story: Story, session: Session, path: str) -> list[dict[str, Any]]:
    params = {"path": path}
    story.command("diagnostics", path)
    result = await story.call(session, "diagnostics", {**params, "waitMs": READ_WAIT_MS})
    story.show("diagnostics", params, result)
    _fresh(story, result)
    found: list[dict[str, Any]] = result["diagnostics"]
    return found


async def _fix(story: Story, session: Session) -> None:
    story.step("The fix, and what it resolved")
    report = await _edit(story, session, *FIX)
    story.promise(report["resolved"], "the fix resolves the errors")
    story.promise(not report["introduced"], "the fix introduces nothing")
    story.promise(report["stillPresent"] == 1, "the old warning is still counted")


async def _edit(story: Story, session: Session, old: str, new: str, *, preview: bool = False) -> dict[str, Any]:
    """Replace ``old`` by ``new``, show the line before and after, and what the answer says; its ``diagnostics``."""
    edits = [{"oldText": old, "newText": new}]
    more = ["--preview"] if preview else []
    story.command("edit", FILE, *more, "--edits", json.dumps(edits, separators=(",", ":")))
    number, former = _line_of(session), _lines(session)
    params = {"path": FILE, "edits": edits, "waitMs": WRITE_WAIT_MS, "preview": preview}
    result = await story.call(session, "edit", params)
    if preview:
        story.promise(_lines(session) == former, "a preview writes nothing")
    else:
        story.lines(
            [
                story.screen.paint(cut(f"- {former[number - 1]}", WIDTH - 2), "red"),
                story.screen.paint(cut(f"+ {_lines(session)[number - 1]}", WIDTH - 2), "green"),
                "",
            ]
        )
    story.show("edit", {}, result)
    story.promise(result["applied"] is not preview, "the edit is applied, its preview is not")
    report: dict[str, Any] = result["diagnostics"]
    _fresh(story, report)
    return report


def _fresh(story: Story, report: Mapping[str, Any]) -> None:
    stale = [one["name"] for one in report["servers"] if one["freshness"] != "fresh"]
    story.promise(not stale and report["servers"], f"every server answered for exactly this content; not so: {stale}")


async def _sweep(story: Story, session: Session, front: TerminalFront, processes: Processes) -> None:
    story.step("Left alone, servers go")
    story.text(f"After 10 minutes, unless you say otherwise; here after {IDLE_SECONDS:g} seconds.")
    processes.now()
    supervisor = session.hub.supervisor
    changed = asyncio.Event()
    front.listeners.append(lambda _: changed.set())
    supervisor.idle_minutes = IDLE_SECONDS / 60
    story.context.progress.activity("waiting for the idle limit")
    try:
        async with asyncio.timeout(SWEEP_LIMIT):
            while any(server.running for server in supervisor.all()):
                changed.clear()
                await changed.wait()
    except TimeoutError:
        story.promise(False, f"idle servers are gone within {SWEEP_LIMIT:g} s")
    story.context.progress.activity("")
    for server in supervisor.all():
        story.text(f"{server.name}: {server.state}. {plain(server.reason)}")
        story.promise(server.state == "swept", f"{server.name} is swept; it is {server.state}")


def _nothing_left(story: Story, processes: Processes) -> None:
    story.step("Nothing is left behind")
    left = processes.left()
    story.text(f"Processes that were started on the way: {len(processes.seen)}. Still there: {len(left)}.")
    story.promise(not left, f"no process is left; there is {listed(left)}")


def _lines(session: Session) -> list[str]:
    return (session.fence.folders[0] / FILE).read_text("utf-8").splitlines()


def _line_of(session: Session) -> int:
    """The one-based line that defines the function."""
    found = [number for number, line in enumerate(_lines(session), 1) if line.startswith(LINE)]
    if not found:
        raise UserError(f"{FILE} of the demo's project has no line that begins with {LINE!r}; it was changed.")
    return found[0]
