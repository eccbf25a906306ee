"""Real servers' diagnostics through both channels: a client that pulls sees what one that is pushed to sees."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path

import pytest

from tests.client import Client, LspError
from tests.conftest import OmbudFactory
from tests.connection import Json
from tests.peers.road import connected, listening
from tests.profiles import VSCODE
from tests.real.cases import CASES, Case
from tests.real.editor import PATIENCE, plant, project, shifted, wanted
from tests.waiting import wait_until

pytestmark = pytest.mark.real

CHOSEN = ("basedpyright+ruff", "basedpyright", "ruff", "eslint", "typescript-language-server", "clangd", "gopls")
PULL = "textDocument/diagnostic"
REFRESH = "workspace/diagnostic/refresh"
RETRIES = 50
RETRY = (-32801, -32802)
"""A server that has changed its mind asks to be asked again."""

PUSHED = deepcopy(VSCODE)
del PUSHED["textDocument"]["diagnostic"]


def shown(client: Client, path: str) -> list[Json]:
    """What was last published of a file."""
    uri, method = client.uri(path), "textDocument/publishDiagnostics"
    found = [one.params for one in client.notifications if one.method == method and one.params["uri"] == uri]
    return found[-1]["diagnostics"] if found else []


async def same(pulls: Client, pushed: Client, path: str) -> None:
    """The one pulls, again whenever it is told to, until it has what the other one was pushed."""
    previous: str | None = None
    found: list[Json] = []

    def heard() -> int:
        return len(pushed.notifications) + sum(one.method == REFRESH for one in pulls.server_requests)

    for _ in range(RETRIES):
        before = heard()
        more = {} if previous is None else {"previousResultId": previous}
        params = {"textDocument": {"uri": pulls.uri(path)}, "identifier": "ombud", **more}
        try:
            report = await pulls.request(PULL, params, PATIENCE)
        except LspError as error:
            assert error.code in RETRY
            continue
        found = report.get("items", found)
        previous = report.get("resultId")
        if in_order(found) == in_order(shown(pushed, path)):
            return
        await wait_until(lambda before=before: heard() > before, PATIENCE, "there is a reason to pull again")
    raise AssertionError(f"pulled {found}, pushed {shown(pushed, path)}")


def in_order(items: list[Json]) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in items)


@pytest.mark.parametrize("case", [case for case in CASES if case.name in CHOSEN], ids=lambda case: case.name)
async def test_pulls_bring_what_pushes_bring(case: Case, ombud: OmbudFactory, tmp_path: Path) -> None:
    """Two clients of one hub, so that it is about one and the same answer of the servers; after each change, too."""
    root = project(case, tmp_path)
    off = {name: {"disabled": True} for name in case.off}
    async with (
        listening(ombud, root) as (_, port),
        connected(port, root, off, name="pushed", capabilities=PUSHED) as pushed,
        connected(port, root, off, name="pulls") as pulls,
    ):
        base = (root / case.path).read_text(encoding="utf-8")
        texts = [plant(case, base, 1), plant(case, shifted(base), 2, 1), plant(case, base)]
        for number, text in enumerate(texts):
            lines = sorted(line for line, *_ in wanted(case.findings, text.lines))

            def whole(found: list[Json], lines: list[int] = lines) -> bool:
                return sorted(one["range"]["start"]["line"] + 1 for one in found if one["severity"] < 3) == lines

            for client in (pushed, pulls):
                if number == 0:
                    client.open(case.path, text.text)
                else:
                    client.change(case.path, text.text)
            await pushed.wait_diagnostics(case.path, whole, PATIENCE)
            await same(pulls, pushed, case.path)
            # What was pushed before the first pull is taken back behind its answer.
            await wait_until(lambda: not shown(pulls, case.path), PATIENCE, "nothing is shown twice")
