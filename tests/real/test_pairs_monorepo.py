"""A Python backend, a TypeScript frontend and two Go modules in one session, as somebody sees them who works on all."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.real.cases import Spot
from tests.real.desk import Desk, seated
from tests.real.editor import PATIENCE
from tests.toolbox import copy_project, require
from tests.waiting import wait_until

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

PYTHON, TYPESCRIPT = "backend/python/harbour/plan.py", "frontend/typescript/src/plan.ts"
NORTH, SOUTH = "north/go/plan.go", "south/go/plan.go"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    for tool in ("basedpyright-langserver", "ruff", "typescript-language-server", "gopls"):
        require(tool)
    folder = tmp_path_factory.mktemp("monorepo").resolve()
    root = folder / "ports"
    for place, language in (("backend", "python"), ("frontend", "typescript"), ("north", "go"), ("south", "go")):
        copy_project(language, root / place)
    south = root / "south" / "go" / "berths.go"
    south.write_text(south.read_text(encoding="utf-8").replace("Ship", "Vessel").replace("a ship", "a vessel"))
    plan = root / "south" / "go" / "plan.go"
    plan.write_text(plan.read_text(encoding="utf-8").replace("ship Ship", "ship Vessel"))
    async with seated(folder, root, name="monorepo") as desk:
        for path in (PYTHON, TYPESCRIPT, NORTH, SOUTH):
            desk.client.open(path)
        assert await desk.clean("*") == []
        yield desk


async def test_each_part_has_its_servers_and_each_module_its_own_gopls(desk: Desk) -> None:
    running = [(row["name"], row["root"]) for row in await desk.rows() if row["state"] == "ready"]
    assert sorted(running) == [
        ("basedpyright", str(desk.root / "backend" / "python")),
        ("gopls", str(desk.root / "north" / "go")),
        ("gopls", str(desk.root / "south" / "go")),
        ("ruff", str(desk.root / "backend" / "python")),
        ("typescript-language-server", str(desk.root / "frontend" / "typescript")),
    ]


async def test_the_search_for_a_symbol_finds_it_in_every_language(desk: Desk) -> None:
    found = await desk.client.request("workspace/symbol", {"query": "fits"}, PATIENCE)
    places = {
        line.partition(":")[0]
        for line in desk.lines(
            [one["location"] for one in found if one["name"].lower().startswith("fits") or one["name"].endswith("Fits")]
        )
    }
    assert places == {
        "backend/python/harbour/berths.py",
        "frontend/typescript/src/berths.ts",
        "north/go/berths.go",
        "south/go/berths.go",
    }


@pytest.mark.parametrize(
    ("spot", "found"),
    [
        (
            Spot(PYTHON, "if fi<|>ts("),
            "backend/python/harbour/berths.py: def fits(ship: Ship, berth_length: int) -> bool:",
        ),
        (
            Spot(TYPESCRIPT, "=> fi<|>ts("),
            "frontend/typescript/src/berths.ts: export function fits(ship: Ship, berthLength: number): boolean {",
        ),
        (Spot(NORTH, "if Fi<|>ts("), "north/go/berths.go: func Fits(ship Ship, berthLength int) bool {"),
        (Spot(SOUTH, "if Fi<|>ts("), "south/go/berths.go: func Fits(ship Vessel, berthLength int) bool {"),
    ],
    ids=["python", "typescript", "the one module", "the other module"],
)
async def test_a_definition_is_found_in_its_own_part(desk: Desk, spot: Spot, found: str) -> None:
    assert desk.lines(await desk.ask_at("definition", spot)) == [found]


async def test_problems_of_every_part_are_shown_at_once(desk: Desk) -> None:
    wrong = {
        "backend/python/harbour/slip.py": ("len(5)\n", {("basedpyright", "reportArgumentType")}),
        "frontend/typescript/src/slip.ts": ('export const slip: number = "no";\n', {("typescript", "2322")}),
        "north/go/slip.go": ("package harbour\n\nvar slip int = Ship{}\n", {("compiler", "IncompatibleAssign")}),
        "south/go/slip.go": ("package harbour\n\nvar slip = Ship{}\n", {("compiler", "UndeclaredName")}),
    }
    for path, (text, _) in wrong.items():
        desk.write(path, text)
    for path, (_, found) in wrong.items():
        await desk.published(path, *found)


async def test_a_command_that_two_servers_have_goes_to_the_one_whose_lens_it_was(desk: Desk) -> None:
    """Both modules have a gopls, and each announces ``gopls.generate``, which runs in the folder it is given."""
    commands = {}
    for module in ("north", "south"):
        path = f"{module}/go/generate.go"
        desk.write(path, f"package harbour\n\n//go:generate touch {module}.txt\n")
        lenses = {one["command"]["title"]: one["command"] for one in await desk.ask_about("codeLens", path)}
        commands[module] = lenses["run go generate"]
    assert commands["north"]["command"] != commands["south"]["command"]
    for module, command in commands.items():
        await desk.run(command["command"], command["arguments"])
        made = desk.root / module / "go" / f"{module}.txt"
        await wait_until(made.exists, PATIENCE, f"{module}'s gopls has run go generate")
