"""Standard requests that the graph answers where no server can, and edges that a server confirms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import Json, serving
from tests.peers.script import Script
from tests.profiles import AGENT, VSCODE

FILES = {
    "x.toml": "",
    "shop.py": """class Shop:
    def total(self):
        return add()


def add():
    return 1
""",
    "app.py": """from shop import Shop


def main():
    return Shop().total()


def guess(x):
    return x.total()
""",
}


def document(client: Client, path: str, **more: Any) -> Json:
    return {"textDocument": {"uri": client.uri(path)}, **more}


def at(client: Client, path: str, line: int, character: int, **more: Any) -> Json:
    return document(client, path, position={"line": line, "character": character}, **more)


def place(client: Client, path: str, line: int, start: int, end: int) -> Json:
    span = {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}
    return {"uri": client.uri(path), "range": span}


def typing_server(name: str = "typer", **keys: Any) -> Json:
    """A scripted server for Python."""
    return Script(name, **keys).entry([".py"], ["python"])


async def test_an_editor_navigates_without_any_server(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=VSCODE) as client:
        client.open("app.py")
        definition = await client.request("textDocument/definition", at(client, "app.py", 4, 19))
        assert definition == [place(client, "shop.py", 1, 8, 13)]
        uses = await client.request(
            "textDocument/references", at(client, "shop.py", 1, 9, context={"includeDeclaration": True})
        )
        assert uses == [place(client, "shop.py", 1, 8, 13), place(client, "app.py", 4, 18, 23)]
        only = at(client, "shop.py", 1, 9, context={"includeDeclaration": False})
        assert await client.request("textDocument/references", only) == uses[1:]
        tree = await client.request("textDocument/documentSymbol", document(client, "shop.py"))
        assert [(one["name"], [inner["name"] for inner in one["children"]]) for one in tree] == [
            ("Shop", ["total"]),
            ("add", []),
        ]
        assert all("Ombud's graph" in one["detail"] for one in tree)
        folds = await client.request("textDocument/foldingRange", document(client, "shop.py"))
        assert [(one["startLine"], one["endLine"]) for one in folds] == [(0, 2), (1, 2), (5, 6)]
        found = await client.request("workspace/symbol", {"query": "total"})
        assert [(one["name"], one["location"]) for one in found] == [("total", place(client, "shop.py", 1, 8, 13))]
        assert found[0]["data"] == {"ombud": "graph"}
        assert await client.request("workspaceSymbol/resolve", found[0]) == found[0]


async def test_calls_are_followed_without_any_server(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=VSCODE) as client:
        (item,) = await client.request("textDocument/prepareCallHierarchy", at(client, "shop.py", 1, 9))
        assert item["name"] == "total"
        assert "Ombud's graph" in item["detail"]
        (caller,) = await client.request("callHierarchy/incomingCalls", {"item": item})
        assert caller["from"]["name"] == "main"
        assert caller["fromRanges"] == [place(client, "app.py", 4, 18, 23)["range"]]
        called = await client.request("callHierarchy/outgoingCalls", {"item": caller["from"]})
        assert [one["to"]["name"] for one in called] == ["Shop", "total"]
        assert await client.request("callHierarchy/incomingCalls", {"item": called[0]["to"]}) != []


async def test_what_the_graph_does_not_know_is_answered_as_before(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace({**FILES, "a.x": "first\n"})
    async with serving(ombud, root, {}, capabilities=VSCODE) as client:
        assert await client.request("textDocument/definition", at(client, "a.x", 0, 0)) is None
        assert await client.request("textDocument/definition", at(client, "app.py", 2, 0)) is None
        assert await client.request("textDocument/hover", at(client, "app.py", 4, 19)) is None


async def test_the_flat_form_is_for_clients_that_know_no_other(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        found = await client.request("textDocument/documentSymbol", document(client, "shop.py"))
        assert [(one["name"], one["containerName"]) for one in found] == [
            ("Shop", "Ombud's graph"),
            ("total", "Shop (Ombud's graph)"),
            ("add", "Ombud's graph"),
        ]


async def test_a_servers_answer_stands_alone(ombud: OmbudFactory, workspace: Workspace) -> None:
    """Also where it is empty: two answers to one question would be one too many."""
    root = workspace(FILES)
    async with serving(ombud, root, {"typer": typing_server()}, capabilities=VSCODE) as client:
        client.open("app.py")
        found = await client.request("textDocument/documentSymbol", document(client, "app.py"))
        assert not [one for one in found or [] if "graph" in str(one.get("detail"))]
        symbols = await client.request("workspace/symbol", {"query": "total"})
        assert not [one for one in symbols or [] if one.get("data")]


async def test_a_server_that_cannot_leaves_it_to_the_graph(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    servers = {"linter": typing_server("linter", features=["hover"])}
    async with serving(ombud, root, servers, capabilities=VSCODE) as client:
        client.open("app.py")
        definition = await client.request("textDocument/definition", at(client, "app.py", 4, 19))
        assert definition == [place(client, "shop.py", 1, 8, 13)]


async def test_who_trusts_nothing_gets_no_process_for_an_editors_question(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=VSCODE, trusted=False) as client:
        assert await client.request("textDocument/definition", at(client, "app.py", 4, 19)) is None
        assert client.child_processes() == []


@pytest.fixture
def questions() -> Iterator[list[tuple[Json, list[tuple[str, int]]]]]:
    """Params of `lsp` and the places that the graph has for them."""
    yield [
        ({"action": "definition", "path": "app.py", "line": 5, "symbol": "total"}, [("shop.py", 2)]),
        (
            {"action": "references", "path": "shop.py", "line": 2, "symbol": "total"},
            [("shop.py", 2), ("app.py", 5)],
        ),
        ({"action": "incoming_calls", "path": "shop.py", "line": 2, "symbol": "total"}, [("app.py", 4)]),
        ({"action": "outgoing_calls", "path": "shop.py", "line": 2, "symbol": "total"}, [("shop.py", 6)]),
        ({"action": "symbols", "path": "shop.py", "query": "add"}, [("shop.py", 6)]),
        ({"action": "symbols", "query": "total"}, [("shop.py", 2)]),
    ]


async def test_the_operation_lsp_says_that_it_is_the_graph(
    ombud: OmbudFactory, workspace: Workspace, questions: list[tuple[Json, list[tuple[str, int]]]]
) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        for params, places in questions:
            found = await client.request("ombud/lsp", params)
            assert [(one["path"], one["line"]) for one in found["items"]] == places, params
            assert found["servers"] == ["ombud graph"]
            assert "code graph" in found["note"]


# -- confirmed by a server


async def test_a_server_confirms_what_the_graph_only_guesses(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    """The scripted server takes a word's first occurrence, in the open files, for its definition."""
    files = {
        "x.toml": "",
        # What is guessed is in the file of the definition, so that the server, which looks there first, agrees.
        "shop.py": "class Shop:\n    def total(self):\n        return 1\n\n\ndef near(x):\n    return x.total()\n",
        "app.py": "def far(total, x):\n    return x.total()\n",
    }
    root = workspace(files)
    async with serving(ombud, root, {"typer": typing_server()}, capabilities=AGENT) as client:
        plain = await client.request("ombud/graphCallers", {"symbol": "Shop.total"})
        assert (plain["edges"], plain["others"]) == ([], {"inferred": 2, "ambiguous": 0})
        found = await client.request("ombud/graphCallers", {"symbol": "Shop.total", "confirm": True})
        assert [(one["src"], one["confidence"]) for one in found["edges"]] == [("shop.py#near", "confirmed")]
        # The other one has been said to mean something else: it is neither listed nor counted as a guess.
        assert (found["refuted"], found["others"]) == (1, {"inferred": 0, "ambiguous": 0})
        impact = await client.request("ombud/graphImpact", {"symbol": "Shop.total", "confirm": True})
        assert [one["id"] for one in impact["direct"]] == ["shop.py#near"]
        assert impact["direct"][0]["via"]["confidence"] == "confirmed"


async def test_confirming_without_a_server_is_said(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=AGENT) as client:
        found = await client.request("ombud/graphCallers", {"symbol": "Shop.total", "confirm": True})
        assert [one["src"] for one in found["edges"]] == ["app.py#main"]
        assert found["others"] == {"inferred": 1, "ambiguous": 0}
        assert "Nobody confirmed what stands in app.py" in found["note"]
