"""The code graph over LSP: each operation's answer on a small project, addressing, budgets, errors and progress."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bench.accuracy.scip import read_index
from tests.client import Client
from tests.conftest import OmbudFactory, Workspace
from tests.peers.road import Json, failure, serving
from tests.profiles import AGENT, VSCODE

FILES = {
    "pkg/__init__.py": "",
    "pkg/shop.py": '''class Shop:
    """Sells things."""

    def __init__(self, name: str) -> None:
        self.name = name

    def total(self, items: list[int]) -> int:
        """The sum of all."""
        return add(items)


def add(items):
    return sum(items)


class Market(Shop):
    pass
''',
    "app.py": """from pkg.shop import Shop
import os


def main():
    shop = Shop("x")
    return shop.total([1])


def outer():
    return main()


def guess(x):
    return x.total([2])
""",
    "tests/test_shop.py": """from pkg.shop import Shop


def test_total():
    assert Shop("a").total([1]) == 1
""",
    "twice_a.py": "def twice():\n    return 1\n",
    "twice_b.py": "def twice():\n    return 2\n",
    "notes.lua": "function helper()\nend\nfunction user()\n  helper()\nend\n",
    "node_modules/x/index.js": "function hidden() {}\n",
}


@asynccontextmanager
async def asking(ombud: OmbudFactory, root: Path, **more: Any) -> AsyncIterator[Client]:
    async with serving(ombud, root, {}, capabilities=AGENT, **more) as client:
        yield client


async def ask(client: Client, name: str, **params: Any) -> Json:
    found: Json = await client.request(f"ombud/{name}", params)
    return found


async def refused(client: Client, name: str, **params: Any) -> Any:
    return await failure(client.start_request(f"ombud/{name}", params), client)


def ids(symbols: list[Json]) -> list[str]:
    return [one["id"] for one in symbols]


def sites(edges: list[Json], end: str = "src") -> list[tuple[str, int]]:
    return [(one[end], one["line"]) for one in edges]


# -- each operation


async def test_index_counts_what_it_reads(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        whole = await ask(client, "graphIndex")
        assert whole["files"] == 7
        assert whole["complete"]
        assert {type(whole[name]) for name in ("symbols", "references")} == {int}
        assert whole["symbols"] > 10 < whole["references"]
        part = await ask(client, "graphIndex", path="pkg")
        assert part["files"] == 2
        assert (await ask(client, "graphIndex", pattern="**/test_*.py"))["files"] == 1
        assert (await ask(client, "graphIndex", path="pkg", pattern="*.lua"))["files"] == 0
        forced = await ask(client, "graphIndex", force=True)
        assert {name: forced[name] for name in ("files", "symbols", "references")} == {
            name: whole[name] for name in ("files", "symbols", "references")
        }


async def test_a_symbol_is_found_by_its_name_and_the_best_comes_first(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphSearch", query="total")
        assert ids(found["symbols"])[0] == "pkg/shop.py#Shop.total"
        assert found["symbols"][0] == {
            "id": "pkg/shop.py#Shop.total",
            "kind": "method",
            "name": "total",
            "qualifiedName": "Shop.total",
            "path": "pkg/shop.py",
            "line": 7,
            "endLine": 9,
            "range": {"start": {"line": 6, "character": 4}, "end": {"line": 8, "character": 25}},
            "signature": "def total(self, items: list[int]) -> int",
            "exported": True,
            "container": "Shop",
        }
        assert ids((await ask(client, "graphSearch", query="total", path="tests"))["symbols"]) == [
            "tests/test_shop.py#test_total"
        ]
        assert ids((await ask(client, "graphSearch", query="total", kind="function"))["symbols"]) == [
            "tests/test_shop.py#test_total"
        ]
        assert ids((await ask(client, "graphSearch", query="helper", language="lua"))["symbols"]) == [
            "notes.lua#helper"
        ]
        assert (await ask(client, "graphSearch", query="hidden"))["symbols"] == []


async def test_one_symbol_with_its_docstring_and_counts(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphSymbol", symbol="Shop.total")
        assert found["kind"] == "method"
        assert found["docstring"] == "The sum of all."
        assert found["container"] == "Shop"
        assert (found["counts"]["callers"], found["counts"]["callees"]) == (2, 1)
        assert found["unresolved"] == 1
        shop = await ask(client, "graphSymbol", symbol="pkg/shop.py#Shop")
        assert shop["counts"]["inheritors"] == 1
        assert shop["counts"]["members"] >= 2


async def test_callers_are_named_functions_not_modules(ombud: OmbudFactory, workspace: Workspace) -> None:
    """Row of "what goes wrong in others": callers are named functions."""
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphCallers", symbol="Shop.total")
        assert sites(found["edges"]) == [("app.py#main", 7), ("tests/test_shop.py#test_total", 5)]
        edge = found["edges"][0]
        assert edge["dst"] == "pkg/shop.py#Shop.total"
        assert edge["path"] == "app.py"
        assert edge["range"] == {"start": {"line": 6, "character": 16}, "end": {"line": 6, "character": 21}}
        assert (edge["confidence"], edge["text"]) == ("exact", "return shop.total([1])")
        assert not found["truncated"]


async def test_guesses_are_labelled_and_never_mixed_into_exact_answers(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    """Row of "what goes wrong in others": guesses unlabelled."""
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphCallers", symbol="Shop.total")
        assert found["others"] == {"inferred": 1, "ambiguous": 0}
        assert found["unresolved"] == 1
        with_guesses = await ask(client, "graphCallers", symbol="Shop.total", confidence="inferred")
        assert with_guesses["others"] == {"inferred": 0, "ambiguous": 0}
        assert [(one["src"], one["confidence"]) for one in with_guesses["edges"]] == [
            ("app.py#main", "exact"),
            ("tests/test_shop.py#test_total", "exact"),
            ("app.py#guess", "inferred"),
        ]
        assert (await ask(client, "graphCallers", symbol="Shop.total", confidence="exact"))["others"]["inferred"] == 1
        impact = await ask(client, "graphImpact", symbol="Shop.total", confidence="inferred")
        assert "app.py#guess" in ids(impact["direct"])
        assert "app.py#guess" not in ids((await ask(client, "graphImpact", symbol="Shop.total"))["direct"])


async def test_callers_and_callees_go_as_deep_as_asked(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        up = await ask(client, "graphCallers", symbol="add", depth=3)
        assert [(one["src"], one["depth"]) for one in up["edges"]] == [
            ("pkg/shop.py#Shop.total", 1),
            ("app.py#main", 2),
            ("tests/test_shop.py#test_total", 2),
            ("app.py#outer", 3),
        ]
        down = await ask(client, "graphCallees", symbol="outer", depth=2)
        assert [(one["dst"], one["depth"]) for one in down["edges"]] == [
            ("app.py#main", 1),
            ("pkg/shop.py#Shop", 2),
            ("pkg/shop.py#Shop.total", 2),
        ]


async def test_impact_follows_reverse_edges_only(ombud: OmbudFactory, workspace: Workspace) -> None:
    """Row of "what goes wrong in others": impact must follow reverse edges only."""
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphImpact", symbol="main")
        assert ids(found["direct"]) == ["app.py#outer"]
        assert (found["indirect"], found["tests"]) == ([], [])
        deep = await ask(client, "graphImpact", symbol="add")
        assert ids(deep["direct"]) == ["pkg/shop.py#Shop.total"]
        assert [(one["id"], one["depth"]) for one in deep["indirect"]] == [("app.py#main", 2), ("app.py#outer", 3)]
        assert ids(deep["tests"]) == ["tests/test_shop.py#test_total"]
        assert deep["files"] == 3
        assert deep["direct"][0]["via"]["dst"] == "pkg/shop.py#add"
        assert deep["direct"][0]["via"]["line"] == 9
        assert ids((await ask(client, "graphImpact", symbol="add", depth=1))["indirect"]) == []
        factors = {one["name"]: one["value"] for one in deep["risk"]["factors"]}
        assert factors == {"callers": 1, "exported": 1, "files": 2, "packages": 2, "depth": 3, "tests": 1}
        assert deep["risk"]["level"] in ("low", "medium", "high", "critical")


async def test_impact_of_a_file_is_that_of_all_in_it(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphImpact", path="pkg/shop.py")
        assert {"app.py#", "app.py#main"} <= set(ids(found["direct"]))
        assert "app.py#outer" in ids(found["indirect"])
        every = [*found["direct"], *found["indirect"], *found["tests"]]
        assert not [one for one in every if one["path"] == "pkg/shop.py"]
        assert found == await ask(client, "graphImpact", symbol="pkg/shop.py#")


async def test_dependencies_of_a_file(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        app = await ask(client, "graphDependencies", path="app.py")
        assert [(one["module"], one["name"], one["path"]) for one in app["imports"]] == [
            ("pkg.shop", "Shop", "pkg/shop.py"),
            ("os", "", None),
        ]
        assert app["imports"][0]["symbol"] == "pkg/shop.py#Shop"
        shop = await ask(client, "graphDependencies", path="pkg/shop.py")
        assert [one["path"] for one in shop["importedBy"]] == ["app.py", "tests/test_shop.py"]
        assert [one["path"] for one in shop["direct"]] == ["app.py", "tests/test_shop.py"]
        assert [one["name"] for one in shop["exports"]] == ["Shop", "add", "Market"]
        assert shop["risk"]["factors"]


async def test_the_path_from_one_symbol_to_another(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphPath", **{"from": "outer", "to": "add"})
        assert [(one["src"], one["dst"]) for one in found["path"]] == [
            ("app.py#outer", "app.py#main"),
            ("app.py#main", "pkg/shop.py#Shop.total"),
            ("pkg/shop.py#Shop.total", "pkg/shop.py#add"),
        ]
        back = await ask(client, "graphPath", **{"from": "add", "to": "outer"})
        assert (back["path"], back["found"]) == (None, False)


async def test_the_outline_is_nested_as_the_text_is(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphOutline", path="pkg/shop.py")
        assert [one["name"] for one in found["symbols"]] == ["Shop", "add", "Market"]
        inner = [one["name"] for one in found["symbols"][0]["children"]]
        assert inner == ["__init__", "name", "total"]
        cut = await ask(client, "graphOutline", path="pkg/shop.py", limit=2)
        assert [one["name"] for one in cut["symbols"][0]["children"]] == ["__init__"]
        assert cut["truncated"]
        assert "Shown 2 of 6 symbols" in cut["note"]


async def test_stats_count_the_whole(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphStats")
        assert found["languages"] == {"python": 6, "lua": 1}
        assert (found["files"], found["staleFiles"]) == (7, 0)
        assert found["imports"] >= 3
        assert all(found[name] > 0 for name in ("symbols", "references", "exports", "edges", "bytes"))
        assert (await client.request("ombud/status", {}))["index"] == {
            "state": "ready",
            "files": 7,
            "symbols": found["symbols"],
            "pending": 0,
        }


# -- export


async def test_an_export_is_one_object_a_line(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphExport", format="json")
        lines = [json.loads(line) for line in found["content"].splitlines()]
        symbols = [one for one in lines if one["type"] == "symbol"]
        edges = [one for one in lines if one["type"] == "edge"]
        assert (len(symbols), len(edges)) == (found["symbols"], found["edges"])
        assert {tuple(one) for one in symbols} == {("type", "id", "kind", "name", "qualifiedName", "path", "range")}
        assert {tuple(one) for one in edges} == {("type", "kind", "src", "dst", "path", "range", "confidence")}
        known = set(ids(symbols))
        assert all(one["src"] in known and one["dst"] in known for one in edges)
        calls = {(one["src"], one["dst"]) for one in edges if one["kind"] == "call"}
        assert ("app.py#main", "pkg/shop.py#Shop.total") in calls
        assert {one["kind"] for one in edges} >= {"call", "import", "inherit"}
        part = await ask(client, "graphExport", path="pkg")
        assert {json.loads(line)["path"] for line in part["content"].splitlines()} == {
            "pkg/__init__.py",
            "pkg/shop.py",
        }


async def test_a_scip_export_joins_uses_to_definitions(
    ombud: OmbudFactory, workspace: Workspace, tmp_path: Path
) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphExport", format="scip")
        (tmp_path / "index.scip").write_bytes(base64.b64decode(found["content"]))
        documents = {one.path: one for one in read_index(tmp_path / "index.scip")}
        assert set(documents) == {name for name in FILES if not name.startswith("node_modules")}
        defined = {(one.line, one.character): one.symbol for one in documents["pkg/shop.py"].occurrences if one.defines}
        assert defined[(6, 8)] == "ombud . . . `pkg/shop.py`/Shop#total()."
        used = {one.symbol for one in documents["app.py"].occurrences if not one.defines and one.line == 6}
        assert used == {defined[(6, 8)]}


# -- addressing


@pytest.mark.parametrize(
    "params",
    [
        {"symbol": "pkg/shop.py#Shop.total"},
        {"symbol": "Shop.total"},
        {"symbol": "total"},
        {"symbol": "total", "path": "pkg/shop.py"},
        {"path": "app.py", "line": 7, "symbol": "total"},
        {"path": "pkg/shop.py", "line": 7, "symbol": "total"},
        {"path": "pkg/shop.py", "position": {"line": 6, "character": 10}},
    ],
)
async def test_a_symbol_has_many_names(ombud: OmbudFactory, workspace: Workspace, params: Json) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        assert (await ask(client, "graphSymbol", **params))["id"] == "pkg/shop.py#Shop.total"


async def test_an_ambiguous_name_answers_with_its_candidates(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        error = await refused(client, "graphCallers", symbol="twice")
        assert (error.code, error.kind) == (-32602, "invalid_params")
        assert ids(error.data["candidates"]) == ["twice_a.py#twice", "twice_b.py#twice"]
        assert (await ask(client, "graphCallers", symbol="twice", path="twice_b.py"))["symbol"] == "twice_b.py#twice"


@pytest.mark.parametrize(
    ("name", "params", "kind", "words"),
    [
        ("graphSymbol", {"symbol": "totl"}, "not_found", "pkg/shop.py#Shop.total"),
        ("graphSymbol", {"symbol": "pkg/shop.py#Shop.nothing"}, "not_found", "Shop.nothing"),
        ("graphSymbol", {}, "invalid_params", "Say which symbol"),
        ("graphSymbol", {"line": 3}, "invalid_params", "path"),
        ("graphSymbol", {"path": "app.py", "line": 7}, "invalid_params", "Pass symbol"),
        ("graphSymbol", {"path": "app.py", "line": 7, "symbol": "zzz"}, "invalid_params", "return shop.total"),
        ("graphSymbol", {"path": "app.py", "line": 700, "symbol": "zzz"}, "invalid_params", "no line 700"),
        ("graphSymbol", {"path": "app.py", "line": 2, "symbol": "os"}, "not_found", "os"),
        ("graphOutline", {"path": "none.py"}, "not_found", "none.py"),
        ("graphOutline", {"path": "../other.py"}, "outside_workspace", "outside"),
        ("graphOutline", {"path": "node_modules/x/index.js"}, "not_found", "not in the code graph"),
        ("graphImpact", {"symbol": "../x.py#f"}, "outside_workspace", "outside"),
        ("graphSearch", {"query": " "}, "invalid_params", "empty"),
        ("graphSearch", {"query": "x", "kind": "thing"}, "invalid_params", "kind"),
        ("graphSearch", {"query": "x", "limit": 0}, "invalid_params", "limit"),
        ("graphSearch", {"query": "x", "limit": "\ud800"}, "invalid_params", "surrogate"),
        ("graphSearch", {"query": "x", "kind": "y" * 100_000}, "invalid_params", "kind"),
        ("graphSymbol", {"path": "app.py", "line": 7, "symbol": "total#²"}, "invalid_params", "not on line 7"),
        ("graphSymbol", {"path": "app.py", "line": 7, "symbol": "total#" + "9" * 5000}, "invalid_params", "line 7"),
        ("graphCallers", {"symbol": "main", "depth": 0}, "invalid_params", "depth"),
        ("graphCallers", {"symbol": "main", "confidence": "sure"}, "invalid_params", "confidence"),
        ("graphPath", {"from": "main"}, "invalid_params", "to"),
        ("graphExport", {"format": "xml"}, "invalid_params", "format"),
        ("graphStats", {"path": "x"}, "invalid_params", "path"),
    ],
)
async def test_what_is_wrong_is_said(
    ombud: OmbudFactory, workspace: Workspace, name: str, params: Json, kind: str, words: str
) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        error = await refused(client, name, **params)
        assert error.kind == kind
        assert words in error.message
        assert error.code == (-32602 if kind == "invalid_params" else -32803)


async def test_several_folders_are_asked_together(ombud: OmbudFactory, workspace: Workspace) -> None:
    first = workspace(FILES)
    second = workspace({"lib.py": "def sell():\n    return price()\ndef price():\n    return 1\n"}, name="second")
    async with ombud(cwd=first) as client:
        await client.initialize([first, second], {"ombud": {"trusted": True}}, AGENT)
        found = await ask(client, "graphSearch", query="price")
        assert ids(found["symbols"]) == [f"{second.as_posix()}/lib.py#price"]
        edges = (await ask(client, "graphCallers", symbol=ids(found["symbols"])[0]))["edges"]
        assert sites(edges) == [(f"{second.as_posix()}/lib.py#sell", 2)]
        assert (await ask(client, "graphSymbol", symbol="Shop.total"))["path"] == "pkg/shop.py"
        apart = await ask(client, "graphPath", **{"from": "main", "to": "price"})
        assert apart["path"] is None
        assert "different workspace folders" in apart["note"]


# -- budgets and honesty


async def test_lists_keep_to_limit_and_tokens_and_say_so(ombud: OmbudFactory, workspace: Workspace) -> None:
    callers = "".join(f"def caller_{number}():\n    target()\n\n" for number in range(60))
    root = workspace({"many.py": f"def target():\n    pass\n\n{callers}"})
    async with asking(ombud, root) as client:
        whole = await ask(client, "graphCallers", symbol="target")
        assert (len(whole["edges"]), whole["truncated"]) == (60, False)
        few = await ask(client, "graphCallers", symbol="target", limit=5)
        assert (len(few["edges"]), few["truncated"]) == (5, True)
        for name, key in (("graphCallers", "edges"), ("graphImpact", "direct")):
            for tokens in (300, 1000, 3000):
                cut = await ask(client, name, symbol="target", tokens=tokens)
                assert len(json.dumps(cut, separators=(",", ":"))) <= tokens * 4, (name, tokens)
                assert (0 if tokens == 300 else 1) <= len(cut[key]) < 60
                assert cut["truncated"]
                assert f"Shown {len(cut[key])} of 60" in cut["note"]
        impact = await ask(client, "graphImpact", symbol="target", limit=7)
        assert (len(impact["direct"]), impact["truncated"]) == (7, True)
        factors = {one["name"]: one["value"] for one in impact["risk"]["factors"]}
        assert factors["callers"] == 60, "what is not shown counts all the same"


async def test_a_language_without_a_resolver_says_so(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        found = await ask(client, "graphCallers", symbol="helper")
        assert sites(found["edges"]) == [("notes.lua#user", 4)]
        assert "Of lua the graph knows definitions and the calls within one file" in found["note"]
        assert (await ask(client, "graphCallers", symbol="Shop.total"))["note"] is None


async def test_an_answer_sees_buffers_and_what_changed_on_the_disk(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        assert sites((await ask(client, "graphCallers", symbol="outer"))["edges"]) == []
        client.open("twice_a.py")
        client.change("twice_a.py", "from app import outer\n\n\ndef fresh():\n    outer()\n")
        assert sites((await ask(client, "graphCallers", symbol="outer"))["edges"]) == [("twice_a.py#fresh", 5)]
        assert (await ask(client, "graphSymbol", path="twice_a.py", line=5, symbol="outer"))["id"] == "app.py#outer"
        client.close("twice_a.py")
        assert sites((await ask(client, "graphCallers", symbol="outer"))["edges"]) == []
        (root / "twice_b.py").write_text("from app import outer\nouter()\n")
        assert sites((await ask(client, "graphCallers", symbol="outer"))["edges"]) == [("twice_b.py#", 2)]


async def test_switched_off_is_said(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root, index={"enabled": False}) as client:
        error = await refused(client, "graphStats")
        assert "index.enabled" in error.message
        assert (await client.request("ombud/status", {}))["index"]["state"] == "disabled"


# -- progress


async def test_indexing_is_shown_under_the_clients_token(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with asking(ombud, root) as client:
        await client.request("ombud/graphIndex", {"workDoneToken": "mine", "force": True})
        await client.wait_notification("$/progress", lambda one: one["value"]["kind"] == "end")
        said = [one.params for one in client.notifications if one.method == "$/progress"]
        assert {one["token"] for one in said} == {"mine"}
        assert [one["value"]["kind"] for one in (said[0], said[-1])] == ["begin", "end"]
        command = {"command": "ombud.graphIndex", "arguments": [{}], "workDoneToken": 7}
        assert (await client.request("workspace/executeCommand", command))["files"] == 7
        await client.wait_notification("$/progress", lambda one: one["token"] == 7 and one["value"]["kind"] == "end")


async def test_a_client_that_can_is_asked_for_a_place_to_show_it(ombud: OmbudFactory, workspace: Workspace) -> None:
    root = workspace(FILES)
    async with serving(ombud, root, {}, capabilities=VSCODE) as client:
        await client.request("ombud/graphIndex", {})
        created = [one for one in client.server_requests if one.method == "window/workDoneProgress/create"]
        assert len(created) == 1


@pytest.mark.parametrize("by", ["request", "progress"])
async def test_indexing_can_be_cancelled_and_goes_on_the_next_time(
    ombud: OmbudFactory, workspace: Workspace, by: str
) -> None:
    body = "".join(f"def f{number}(x):\n    return g{number}(x)\n" for number in range(200))
    root = workspace({f"m{number}.py": body for number in range(400)})
    async with asking(ombud, root) as client:
        pending = client.start_request("ombud/graphIndex", {"workDoneToken": "mine"})
        await client.wait_notification("$/progress", lambda one: one["value"]["kind"] == "begin")
        if by == "request":
            client.cancel(pending)
        else:
            client.notify("window/workDoneProgress/cancel", {"token": "mine"})
        error = await failure(pending, client)
        assert (error.code, error.kind) == (-32800, "cancelled")
        await client.wait_notification("$/progress", lambda one: one["value"]["kind"] == "end")
        whole = await ask(client, "graphIndex")
        assert (whole["files"], whole["complete"]) == (400, True)


async def test_a_question_that_does_not_wait_says_that_it_is_not_complete(
    ombud: OmbudFactory, workspace: Workspace
) -> None:
    body = "".join(f"def f{number}(x):\n    return g{number}(x)\n" for number in range(200))
    root = workspace({f"m{number}.py": body for number in range(400)})
    async with asking(ombud, root) as client:
        early = await ask(client, "graphStats", waitMs=0)
        assert (early["complete"], "still being built" in early["note"]) == (False, True)
        assert early["pending"] > 0
        whole = await ask(client, "graphStats")
        assert (whole["files"], whole["complete"], whole["pending"]) == (400, True, 0)
