"""Servers that have a language to themselves, and all that they can do beyond the usual: clangd, gopls."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.connection import Json
from tests.real.cases import Spot
from tests.real.desk import Desk, seated, words
from tests.real.editor import PATIENCE
from tests.toolbox import copy_project, require

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cpp(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    require("clangd")
    folder = tmp_path_factory.mktemp("cpp").resolve()
    async with seated(folder, copy_project("cpp", folder), name="clangd") as desk:
        for path in ("berths.cpp", "berths.h", "plan.cpp"):
            desk.client.open(path)
        yield desk


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def go(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    require("gopls")
    folder = tmp_path_factory.mktemp("go").resolve()
    asked = {"hints": {"parameterNames": True}, "codelenses": {"test": True}}
    options = {"servers": {"gopls": {"settings": {"gopls": asked}}}}
    async with seated(folder, copy_project("go", folder), name="gopls", options=options) as desk:
        for path in ("berths.go", "plan.go", "go.mod"):
            desk.client.open(path, language="go.mod" if path == "go.mod" else None)
        assert await desk.clean("plan.go") == []
        yield desk


async def calls(desk: Desk, spot: Spot, direction: str) -> list[str]:
    """The names of the functions that call, or are called by, the one at a place."""
    (item,) = await desk.ask_at("prepareCallHierarchy", spot)
    answer = await desk.client.request(f"callHierarchy/{direction}Calls", {"item": item}, PATIENCE)
    return [one["from" if direction == "incoming" else "to"]["name"] for one in answer]


async def hints(desk: Desk, path: str) -> list[tuple[str, str]]:
    """The inlay hints of a document: the label, and the text behind it."""
    lines = desk.text(path).split("\n")
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": len(lines) - 1, "character": 0}}
    found = await desk.ask_about("inlayHint", path, range=whole)
    return [
        (
            one["label"] if isinstance(one["label"], str) else "".join(part["value"] for part in one["label"]),
            lines[one["position"]["line"]][one["position"]["character"] :],
        )
        for one in found
    ]


# -- clangd


async def test_a_vendors_method_is_carried_by_its_document(cpp: Desk) -> None:
    """``textDocument/switchSourceHeader``: the document is the params themselves."""
    ask = "textDocument/switchSourceHeader"
    assert await cpp.answered(ask, {"uri": cpp.client.uri("berths.cpp")}) == cpp.client.uri("berths.h")
    assert await cpp.answered(ask, {"uri": cpp.client.uri("berths.h")}) == cpp.client.uri("berths.cpp")
    tree = await cpp.ask_about("ast", "plan.cpp", range=cpp.span("plan.cpp", "int best = -1"))
    assert (tree["role"], tree["kind"], tree["detail"]) == ("declaration", "Var", "best")


async def test_semantic_tokens_fit_the_legend_that_the_client_was_told(cpp: Desk) -> None:
    legend = cpp.client.server_capabilities["semanticTokensProvider"]["legend"]
    data = (await cpp.ask_about("semanticTokens/full", "plan.cpp"))["data"]
    lines = cpp.text("plan.cpp").split("\n")
    tokens: dict[str, tuple[str, set[str]]] = {}
    line = character = 0
    for down, along, length, kind, bits in zip(*[iter(data)] * 5, strict=True):
        line, character = line + down, along + (0 if down else character)
        modifiers = {name for bit, name in enumerate(legend["tokenModifiers"]) if bits >> bit & 1}
        tokens.setdefault(lines[line][character : character + length], (legend["tokenTypes"][kind], modifiers))
    assert tokens["berth_for"][0] == "function" and {"declaration", "definition"} <= tokens["berth_for"][1]
    assert tokens["Ship"][0] == "class"
    assert tokens["ship"][0] == "parameter" and "readonly" in tokens["ship"][1]
    assert tokens["best"][0] == "variable"


async def test_calls_are_followed_across_files(cpp: Desk) -> None:
    assert await cpp.clean("plan.cpp") == []
    assert await calls(cpp, Spot("berths.cpp", "bool fi<|>ts("), "incoming") == ["berth_for"]
    assert await calls(cpp, Spot("plan.cpp", "int berth<|>_for("), "outgoing") == ["fits"]


async def test_clangd_hints_parameters(cpp: Desk) -> None:
    found = await hints(cpp, "plan.cpp")
    assert [(label, rest[:8]) for label, rest in found] == [("berth_length:", "lengths[")]


async def test_clangds_fix_is_applied(cpp: Desk) -> None:
    path = "slip.cpp"
    cpp.write(path, "int moor() {\n  return 1\n}\n")
    shown = await cpp.published(path, ("clang", "expected_semi_after_stmt"))
    offered = await cpp.actions(path, "}", shown)
    await cpp.do(offered["insert ';'"])
    assert cpp.text(path) == "int moor() {\n  return 1;\n}\n"
    assert await cpp.clean(path) == []


# -- gopls

CRANE = """package harbour

import "fmt"

//go:generate echo moored

// A Lifter lifts.
type Lifter interface{ Lift(tons int) error }

// A Crane lifts.
type Crane struct{}

// Lift lifts.
func (Crane) Lift(tons int) error { return fmt.Errorf("%d", tons) }
"""


async def test_what_implements_an_interface_is_found_both_ways(go: Desk) -> None:
    path = "crane.go"
    go.write(path, CRANE)
    assert await go.clean(path) == []
    found = await go.ask_at("implementation", Spot(path, "type Lif<|>ter"))
    assert go.lines(found) == [f"{path}: type Crane struct{{}}"]
    (item,) = await go.ask_at("prepareTypeHierarchy", Spot(path, "type Cra<|>ne struct"))
    above = await go.client.request("typeHierarchy/supertypes", {"item": item}, PATIENCE)
    assert [one["name"] for one in above] == ["Lifter"]


async def test_code_lenses_stand_over_tests_generators_and_the_module(go: Desk) -> None:
    go.write(
        "crane_test.go",
        'package harbour\n\nimport "testing"\n\nfunc TestFits(t *testing.T) { t.Log(Fits(Ship{}, 1)) }\n',
    )
    go.write("lens.go", CRANE.replace("Crane", "Winch").replace("Lifter", "Hoister"))
    lenses = {}
    for path in ("crane_test.go", "lens.go", "go.mod"):
        lenses[path] = [one["command"]["title"] for one in await go.ask_about("codeLens", path)]
    assert lenses["crane_test.go"] == ["run test", "Debug test"]
    assert lenses["lens.go"] == ["run go generate ./...", "run go generate"]
    assert "Run go mod tidy" in lenses["go.mod"]


async def test_a_lens_runs_its_command_and_shows_that_it_works(go: Desk) -> None:
    path = "generate.go"
    go.write(path, "package harbour\n\n//go:generate touch moored.txt\n")
    lenses = {one["command"]["title"]: one["command"] for one in await go.ask_about("codeLens", path)}
    await go.run(lenses["run go generate"]["command"], lenses["run go generate"]["arguments"])

    def begins(one: Json) -> bool:
        return bool(one["value"].get("title") == "Running go generate .")

    token = (await go.client.wait_notification("$/progress", begins, PATIENCE))["token"]
    await go.client.wait_notification(
        "$/progress", lambda one: one["token"] == token and one["value"]["kind"] == "end", PATIENCE
    )
    assert (go.root / "moored.txt").exists()


async def test_a_name_is_renamed_in_every_file_of_the_package(go: Desk) -> None:
    here, there = "quay.go", "quays.go"
    go.write(here, "package harbour\n\n// Quay is a quay.\nconst Quay = 1\n")
    go.write(there, "package harbour\n\nvar quays = []int{Quay}\n")
    assert await go.clean(there) == []
    edit = await go.ask_at("rename", Spot(there, "{Qu<|>ay}"), newName="Pier")
    assert sorted(go.client.apply_workspace_edit(edit)) == [go.client.uri(here), go.client.uri(there)]
    assert go.text(here) == "package harbour\n\n// Pier is a quay.\nconst Pier = 1\n"
    assert go.text(there) == "package harbour\n\nvar quays = []int{Pier}\n"


async def test_gopls_organizes_imports_and_formats(go: Desk) -> None:
    path = "imports.go"
    go.write(
        path, 'package harbour\n\nimport "os"\n\nfunc shout(text string)  string { return strings.ToUpper(text) }\n'
    )
    offered = await go.actions(path, 'import "os"', only=["source.organizeImports"])
    await go.do(offered["Organize Imports"])
    assert 'import "strings"\n' in go.text(path) and '"os"' not in go.text(path)
    assert "func shout(text string) string {" in await go.formatted(path)


async def test_gopls_hints_parameters_once_it_was_asked_to(go: Desk) -> None:
    found = await hints(go, "plan.go")
    assert ("berthLength:", "berth.Length") in [(label, rest[:12]) for label, rest in found]


async def test_hover_of_a_module_file(go: Desk) -> None:
    assert "Fits reports whether" in words(await go.ask_at("hover", Spot("plan.go", "if Fi<|>ts(")))
    assert await go.running() == {"gopls"}
