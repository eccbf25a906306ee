"""Code actions of several servers: each is told of the problems that it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import entry, serving, well_behaved
from tests.peers.script import PeerLog, Script


async def test_a_server_is_not_asked_about_the_problems_of_another(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    """Some answer a foreign one with an error, others fix it a second time. What nobody has said goes to both."""
    root = workspace({"x.toml": "", "a.x": "ERROR(e1): bad\n"})
    logs = {name: PeerLog(tmp_path / f"{name}.jsonl") for name in ("types", "linter")}
    servers = {name: entry(Script(name, log=log), priority=at) for at, (name, log) in enumerate(logs.items(), 1)}
    method = "textDocument/codeAction"
    async with serving(ombud, root, servers) as client:
        client.open("a.x")
        shown = await client.wait_diagnostics("a.x", lambda found: len(found) == 2)
        assert {one["source"] for one in shown} == set(logs)
        nobodys: dict[str, Any] = {"range": shown[0]["range"], "message": "of the editor's own"}
        moved = [{**one, "range": {"start": {"line": 0, "character": 1}, "end": one["range"]["end"]}} for one in shown]
        document = {"textDocument": {"uri": client.uri("a.x")}, "range": shown[0]["range"]}
        context = {"diagnostics": [*moved, nobodys], "triggerKind": 1}
        assert await client.request(method, {**document, "context": context}) is not None
        for name, log in logs.items():
            (asked,) = log.received(method)
            own = [one for one in moved if one["source"] == name]
            assert asked["params"]["context"] == {"diagnostics": [*own, nobodys], "triggerKind": 1}
    well_behaved(*logs.values())
