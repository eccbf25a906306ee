"""Every tested server through Ombud: lazy start, answers, what a write broke, the sweep, and ``kill -9``.

One row of ``tests/real/cases.py`` a server; each test is one session of ``ombud serve`` on a copy of a sample project.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest

from tests.client import LspError
from tests.conftest import OmbudFactory
from tests.connection import Json
from tests.profiles import AGENT, NEOVIM, VSCODE
from tests.real.cases import CASES, Case
from tests.real.editor import (
    PATIENCE,
    SHIFT,
    WAIT_MS,
    Editor,
    all_fresh,
    check,
    family,
    freeze,
    frozen,
    gone,
    living,
    plant,
    planting,
    project,
    shifted,
    shown,
    wanted,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.real

every_server = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_server
async def test_nothing_runs_before_the_first_need_and_then_it_answers(
    case: Case, ombud: OmbudFactory, tmp_path: Path
) -> None:
    root = project(case, tmp_path)
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(VSCODE, case=case)
        rows = await editor.status()
        assert {name for name, row in rows.items() if row["state"] == "available"} >= set(case.servers)
        assert client.child_processes() == []
        assert await editor.running() == set()

        client.open(case.path)
        for path in sorted({ask.spot.path for ask in case.asks} - {case.path}):
            client.open(path)
        for name in case.servers:
            await editor.state(name, "ready")
        # A server that is still loading answers an editor with null; the diagnostics are its sign that it has loaded.
        found, servers = await editor.diagnostics(case.path)
        assert found == []
        all_fresh(case, servers)
        for ask in case.asks:
            await editor.answers(ask)
        for path in [uri for uri in client.documents if uri != client.uri(case.path)]:
            client.close(path)
        for ask in case.asks:
            if ask.action != "completion":
                await editor.tells(ask)
        assert await editor.running() == set(case.servers) == editor.started()


@every_server
async def test_D1_D2_a_write_tells_exactly_what_it_broke(case: Case, ombud: OmbudFactory, tmp_path: Path) -> None:
    root = project(case, tmp_path)
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(AGENT, case=case)
        base = editor.disk(case.path)
        moved = shifted(base)
        first, lower, both = plant(case, base, 1), plant(case, moved, 1), plant(case, moved, 2, 1)
        count = len(case.findings)

        # The first need of the session is the write itself, so its baseline waits for servers that start.
        made = [planting(case, base, base, 1)]
        report = await writes(editor, case, first.text, edits=made, introduced=first.lines)
        found = await published(editor, case, first.lines)

        # An editor opens the file as it is now; from here on it follows what is written.
        client.open(case.path)
        if case.fix is not None:
            await offers(editor, case, case.fix, report["introduced"][0], found)
        await writes(editor, case, lower.text, still=count)
        await follows(editor, case, lower.lines)
        made = [planting(case, lower.text, moved, 2)]
        await writes(editor, case, both.text, edits=made, introduced=both.lines[:1], still=count)
        await follows(editor, case, both.lines)
        await writes(editor, case, lower.text, resolved=count, still=count)
        await follows(editor, case, lower.lines)
        await writes(editor, case, base, resolved=count)
        await follows(editor, case, ())
        left, servers = await editor.diagnostics(case.path)
        assert left == []
        all_fresh(case, servers)


async def writes(
    editor: Editor,
    case: Case,
    text: str,
    *,
    edits: Sequence[Json] | None = None,
    introduced: Sequence[int] = (),
    resolved: int = 0,
    still: int = 0,
) -> Json:
    """Write ``text``, or make ``edits`` that lead to it; returns what is said of it, which must be exactly this.

    ``introduced`` are the first lines of new mistakes; ``resolved`` and ``still`` count diagnostics.
    """
    method, change = ("ombud/write", {"content": text}) if edits is None else ("ombud/edit", {"edits": edits})
    params = {"path": case.path, "waitMs": WAIT_MS, **change}
    result: Json = await editor.client.request(method, params, PATIENCE)
    assert next(iter(result)) == "applied"
    assert editor.disk(case.path) == text
    report: Json = result["diagnostics"]
    all_fresh(case, report["servers"])
    check(case, text, report["introduced"], introduced)
    assert (len(report["resolved"]), report["stillPresent"]) == (resolved, still)
    return report


async def published(editor: Editor, case: Case, lines: Sequence[int]) -> list[Json]:
    """The client's own diagnostics of the file come to be exactly those of mistakes at ``lines``."""
    expected = sorted(line for line, *_ in wanted(case.findings, lines))
    return await editor.client.wait_diagnostics(
        case.path, lambda found: sorted(one["range"]["start"]["line"] + 1 for one in found) == expected, PATIENCE
    )


async def follows(editor: Editor, case: Case, lines: Sequence[int]) -> None:
    """The client hears of what was written, and takes it over from the disk as editors do."""
    await published(editor, case, lines)
    editor.client.change(case.path, editor.disk(case.path))
    editor.client.save(case.path, write=False)


async def offers(editor: Editor, case: Case, fix: str, finding: Json, found: list[Json]) -> None:
    """What a linter answers beside diagnostics: a code action for one, on the editor's road and the agent's."""
    client = editor.client
    context = {"diagnostics": found}
    params = {"textDocument": {"uri": client.uri(case.path)}, "range": finding["range"], "context": context}
    actions = await client.request("textDocument/codeAction", params, PATIENCE)
    assert any(fix in one["title"] for one in actions), actions
    asked = {"action": "code_actions", "path": case.path, "position": finding["range"]["start"]}
    answer = await client.request("ombud/lsp", asked, PATIENCE)
    assert answer["servers"] == list(case.servers)
    assert any(fix in one["title"] for one in answer["items"]), answer


@every_server
async def test_P2_an_idle_server_is_swept_and_comes_back_with_the_current_text(
    case: Case, ombud: OmbudFactory, tmp_path: Path
) -> None:
    root = project(case, tmp_path)
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(NEOVIM, options={"idleMinutes": 0.05}, case=case)
        planted = plant(case, shifted(editor.disk(case.path)), 1)
        await opened(editor, case, planted.text)
        await knows(editor, case, planted.lines)
        processes = client.child_processes()

        for name in case.servers:
            row = await editor.at_rest(name, "swept")
            assert "idle for 0.05 minutes" in row["reason"]
            assert row["pid"] is None
        guardian = await wait_until(lambda: _alone(client.child_processes()), 30, "nothing but the guardian is left")
        await gone(one for one in processes if one != guardian)
        assert await editor.running() == set()

        editor.mark()
        await knows(editor, case, planted.lines)
        for name in case.servers:
            row = await editor.state(name, "ready")
            assert row["restarts"] >= 1


def _alone(processes: list[psutil.Process]) -> psutil.Process | None:
    return processes[0] if len(processes) == 1 else None


async def opened(editor: Editor, case: Case, text: str) -> None:
    """The client opens the file and changes it to ``text``, which it does not save."""
    editor.client.open(case.path)
    if case.concurrent:
        await editor.client.wait_diagnostics(case.path, timeout=PATIENCE)
    editor.client.change(case.path, text)


async def knows(editor: Editor, case: Case, lines: tuple[int, ...]) -> None:
    """The servers answer for the client's unsaved text: a hover in its new place, and the mistake only it has."""
    if case.hover is not None and not case.loads:
        assert editor.find(case.hover.spot)[0] > SHIFT
        await editor.answers(case.hover)
    found, servers = await editor.diagnostics(case.path)
    all_fresh(case, servers)
    expected = wanted(case.findings, lines, saved=False)
    assert shown(found) == expected
    if case.hover is not None:
        await editor.answers(case.hover)


@every_server
async def test_P4_a_killed_server_comes_back_by_itself_with_its_documents(
    case: Case, ombud: OmbudFactory, tmp_path: Path
) -> None:
    root = project(case, tmp_path)
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(VSCODE, case=case)
        base = editor.disk(case.path)
        planted = plant(case, shifted(base), 1)
        await opened(editor, case, planted.text)
        await knows(editor, case, planted.lines)

        rows = await editor.status()
        killed, *spared = case.servers
        processes = family(rows[killed]["pid"])
        editor.mark()
        await kill_while_asked(editor, case, processes)
        await knows(editor, case, planted.lines)
        row = await editor.state(killed, "crashed")
        assert "restarted after 2 s" in row["reason"]
        row = await editor.state(killed, "ready")
        assert row["restarts"] == 1
        assert row["pid"] not in (None, rows[killed]["pid"])
        await gone(processes)
        after = await editor.status()
        assert [after[name]["pid"] for name in spared] == [rows[name]["pid"] for name in spared]

        client.change(case.path, base)
        first = plant(case, base, 1)
        await writes(editor, case, first.text, edits=[planting(case, base, base, 1)], introduced=first.lines)
        assert editor.started() == {killed}
        assert living(processes) == []


async def kill_while_asked(editor: Editor, case: Case, processes: Sequence[psutil.Process]) -> None:
    """``kill -9`` of a server's process while it surely owes an answer: it is stopped before it is asked.

    Only the process that Ombud started is killed. What it has started itself lives on, stopped, until Ombud ends it.
    """
    client = editor.client
    freeze(processes)
    await frozen(processes)
    method = "textDocument/hover" if case.hover is not None else "textDocument/codeAction"
    params = client.at(case.path, SHIFT + 2, 0)
    span = {"start": params["position"], "end": params["position"]}
    pending = client.start_request(method, {**params, "range": span, "context": {"diagnostics": []}})
    await editor.rows()
    assert not pending.done()
    processes[0].kill()
    if len(case.servers) > 1:
        # The next server by priority takes the question over, and has nothing to say.
        assert await client.answer(pending, PATIENCE) is None
        return
    with pytest.raises(LspError) as answered:
        await client.answer(pending, PATIENCE)
    assert (answered.value.code, answered.value.kind) == (-32803, "server_failed")
    assert case.name in answered.value.message
