"""``trusted: false`` means no child process at all, so there is no code graph either (contract, "Trust"; T1)."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import psutil
import pytest
from ombud.operations.table import OPERATIONS, camel

from tests.client import Client, LspError
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import Json, serving
from tests.profiles import AGENT, VSCODE
from tests.waiting import wait_until

FILES = {"shop.py": "def add():\n    return 1\n", "app.py": "from shop import add\n\nadd()\n"}
NEEDED: dict[str, Json] = {
    "graph_search": {"query": "add"},
    "graph_path": {"from": "add", "to": "add"},
    "graph_dependencies": {"path": "app.py"},
    "graph_outline": {"path": "app.py"},
    **{name: {"symbol": "add"} for name in ("graph_symbol", "graph_callers", "graph_callees", "graph_impact")},
}
"""Params without which an operation does not look at trust."""


async def asked(client: Client, name: str) -> Any:
    return await client.request(f"ombud/{camel(name)}", NEEDED.get(name, {}))


@pytest.mark.parametrize("name", [one for one in OPERATIONS if one.startswith("graph_")])
async def test_who_trusts_nothing_is_told_what_to_do(ombud: OmbudFactory, workspace: Workspace, name: str) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT, trusted=False) as client:
        with pytest.raises(LspError) as refused:
            await asked(client, name)
        assert refused.value.data == {"kind": "not_trusted"}
        assert "Trust the workspace" in refused.value.message
        assert client.child_processes() == []


async def test_no_follow_up_starts_a_process(ombud: OmbudFactory, workspace: Workspace) -> None:
    """What a follow-up is about is the client's word: an item of the graph's may be of an earlier session."""
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=VSCODE, trusted=False) as client:
        span = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 3}}
        item = {"name": "add", "kind": 12, "uri": client.uri("shop.py"), "range": span, "selectionRange": span}
        mine = {**item, "data": {"ombud": "graph", "id": 1 << 20, "folder": str(root.resolve())}}
        for method in ("callHierarchy/incomingCalls", "callHierarchy/outgoingCalls"):
            assert await client.request(method, {"item": mine}) is None
        assert await client.request("workspace/symbol", {"query": "add"}) in (None, [])
        assert client.child_processes() == []


async def test_who_said_nothing_has_the_graph(ombud: OmbudFactory, workspace: Workspace) -> None:
    """It is Ombud's own program, which reads and runs nothing of the workspace."""
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT, trusted=None) as client:
        assert [one["src"] for one in (await asked(client, "graph_callers"))["edges"]] == ["app.py#"]


async def test_trust_that_is_taken_back_ends_the_indexer(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        await asked(client, "graph_stats")
        assert _indexers(client)
        client.notify("workspace/didChangeConfiguration", {"settings": {"ombud": {"trusted": False}}})
        await wait_until(lambda: not _indexers(client), 30, "the indexer ends")
        with pytest.raises(LspError) as refused:
            await asked(client, "graph_stats")
        assert refused.value.data["kind"] == "not_trusted"
        assert not _indexers(client)


def _indexers(client: Client) -> list[int]:
    found = []
    for one in client.child_processes():
        with suppress(psutil.NoSuchProcess):
            if "ombud.graph.indexer" in one.cmdline():
                found.append(one.pid)
    return found
