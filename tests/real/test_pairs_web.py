"""typescript-language-server, ESLint and biome behind one Ombud, as somebody sees them who works on a web project."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.real.cases import Spot
from tests.real.desk import Desk, seated, words
from tests.real.editor import PATIENCE
from tests.toolbox import copy_project, require

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    for tool in ("typescript-language-server", "vscode-eslint-language-server", "biome"):
        require(tool)
    folder = tmp_path_factory.mktemp("web").resolve()
    async with seated(folder, copy_project("web", folder), name="web") as desk:
        yield desk


WRONG = """import { fits } from "./berths.js";

/** @param {import("./berths.js").Ship} ship */
export function moor(ship) {
  let berth = "40";
  debugger;
  return fits(ship, berth);
}
"""
RIGHT = WRONG.replace('let berth = "40"', "const berth = 40").replace("  debugger;\n", "")


TYPES, CONST, DEBUGGER = ("typescript", "2345"), ("eslint", "prefer-const"), ("biome", "lint/suspicious/noDebugger")


async def test_the_problems_of_all_three_are_shown_together_and_go_away_together(desk: Desk) -> None:
    path = "src/shown.js"
    desk.write(path, WRONG)
    await desk.published(path, TYPES, CONST, DEBUGGER)
    desk.client.change(path, RIGHT)
    assert await desk.clean(path) == []


async def test_hover_and_definition_are_typescripts(desk: Desk) -> None:
    path = "src/hover.js"
    desk.write(path, WRONG)
    await desk.published(path, TYPES)
    spot = Spot(path, "return fi<|>ts(")
    assert "Whether a ship fits a berth" in words(await desk.ask_at("hover", spot))
    found = desk.lines(await desk.ask_at("definition", spot))
    assert found == ["src/berths.js: export function fits(ship, berthLength) {"]


async def test_eslints_fix_is_a_command_and_comes_back_as_an_edit(desk: Desk) -> None:
    path = "src/eslint.js"
    desk.write(path, WRONG)
    shown = await desk.published(path, CONST)
    offered = await desk.actions(path, "berth = ", shown)
    assert "edit" not in offered["Fix this prefer-const problem"]
    await desk.do(offered["Fix this prefer-const problem"])
    await desk.becomes(path, lambda text: text == WRONG.replace("let berth", "const berth"))


async def test_biomes_fix_is_resolved_by_biome(desk: Desk) -> None:
    path = "src/biome.js"
    desk.write(path, WRONG)
    shown = await desk.published(path, DEBUGGER)
    offered = await desk.actions(path, "debugger", shown)
    assert "edit" not in offered["Apply unsafe fix for noDebugger"]
    assert await desk.do(offered["Apply unsafe fix for noDebugger"]) == [desk.client.uri(path)]
    assert desk.text(path) == WRONG.replace("  debugger;\n", "")


async def test_typescripts_refactoring_is_a_command_and_comes_back_as_an_edit(desk: Desk) -> None:
    path = "src/extract.js"
    desk.write(path, WRONG)
    shown = await desk.published(path, TYPES)
    offered = await desk.actions(path, "fits(ship, berth)", shown)
    await desk.do(offered["Ignore this error message"])
    await desk.becomes(path, lambda text: "// @ts-ignore\n" in text)
    offered = await desk.actions(path, "fits(ship, berth)")
    # Afterwards it asks the editor to rename what it has made, by a request of its own.
    desk.client.handlers["_typescript.rename"] = lambda params: None
    await desk.do(offered["Extract to constant in enclosing scope"])
    await desk.becomes(path, lambda text: "const newLocal = fits(ship, berth);" in text)
    asked = await desk.client.wait_request("_typescript.rename", timeout=PATIENCE)
    assert asked.params["textDocument"] == {"uri": desk.client.uri(path)}


async def test_imports_are_organized_by_those_that_offer_it(desk: Desk) -> None:
    path = "src/organize.js"
    desk.write(path, WRONG.replace("import { fits }", "import { longest, fits }"))
    await desk.published(path, TYPES)
    offered = await desk.actions(path, "import { longest, fits }", only=["source.organizeImports"])
    kinds = {one["kind"]: title for title, one in offered.items()}
    assert set(kinds) == {"source.organizeImports.ts", "source.organizeImports.biome"}
    await desk.do(offered[kinds["source.organizeImports.ts"]])
    assert desk.text(path) == WRONG.replace("{ fits }", "{ fits, longest }")


async def test_biome_formats_since_it_is_there_for_that(desk: Desk) -> None:
    path = "src/format.js"
    desk.write(path, RIGHT.replace("(ship)", "( ship )").replace("const berth = 40;", "const berth=40"))
    assert await desk.formatted(path) == RIGHT


async def test_completion_is_resolved_by_typescript(desk: Desk) -> None:
    path = "src/complete.js"
    desk.write(path, RIGHT.replace("return fits(ship, berth)", "return ship.len"))
    item = await desk.completed(Spot(path, "return ship.len<|>"), "length")
    assert "(property) length: number" in str(item)


async def test_a_renamed_file_takes_its_imports_along(desk: Desk) -> None:
    """``workspace/willRenameFiles``: the client asks before it renames."""
    desk.write("src/quay.js", "export const quay = 1;\n")
    desk.write("src/port.js", 'import { quay } from "./quay.js";\n\nexport const port = quay;\n')
    await desk.clean("src/port.js")
    files = [{"oldUri": desk.client.uri("src/quay.js"), "newUri": desk.client.uri("src/pier.js")}]
    edit = await desk.client.request("workspace/willRenameFiles", {"files": files}, PATIENCE)
    assert desk.client.apply_workspace_edit(edit) == [desk.client.uri("src/port.js")]
    assert 'from "./pier.js"' in desk.text("src/port.js")
