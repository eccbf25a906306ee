"""basedpyright and ruff behind one Ombud, as somebody sees them who works on a Python project."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.real.cases import Spot
from tests.real.desk import Desk, seated, words
from tests.toolbox import copy_project, require

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    for tool in ("basedpyright-langserver", "ruff"):
        require(tool)
    folder = tmp_path_factory.mktemp("python").resolve()
    async with seated(folder, copy_project("python", folder), name="python") as desk:
        yield desk


WRONG = '''"""How a ship is made fast."""

import os

from harbour.berths import Ship, fits


def moor(ship: Ship) -> str:
    return "yes" if fits(ship, "40") else "no"
'''
UNUSED = ("Ruff", "F401")
ARGUMENT = ("basedpyright", "reportArgumentType")


async def test_the_problems_of_both_are_shown_together_and_go_away_together(desk: Desk) -> None:
    path = "harbour/shown.py"
    desk.write(path, WRONG)
    shown = await desk.published(path, UNUSED, ARGUMENT)
    assert all(one["range"]["start"]["line"] in (2, 8) for one in shown)
    desk.client.change(path, WRONG.replace("import os\n\n", "").replace('"40"', "40"))
    assert await desk.clean(path) == []


async def test_hover_is_basedpyrights_on_names_and_ruffs_on_its_own_codes(desk: Desk) -> None:
    path = "harbour/hover.py"
    desk.write(path, WRONG.replace("import os\n", "import os  # noqa: F401\n"))
    hover = words(await desk.ask_at("hover", Spot(path, "if fi<|>ts(")))
    assert "(function) def fits(" in hover and "Whether a ship fits a berth" in hover
    assert "unused-import (F401)" in words(await desk.ask_at("hover", Spot(path, "noqa: F4<|>01")))


async def test_the_light_bulb_offers_the_fixes_of_both_and_each_works(desk: Desk) -> None:
    path = "harbour/bulb.py"
    desk.write(path, WRONG)
    shown = await desk.published(path, UNUSED, ARGUMENT)

    offered = await desk.actions(path, "import os", shown)
    assert await desk.do(offered["Ruff (F401): Remove unused import: `os`"]) == [desk.client.uri(path)]
    assert "import os" not in desk.text(path)

    offered = await desk.actions(path, '"40"', shown=await desk.published(path, ARGUMENT))
    ignore = "# pyright: ignore[reportArgumentType]"
    assert await desk.do(offered[f"Add `{ignore}`"]) == [desk.client.uri(path)]
    assert f'"40") else "no"  {ignore}\n' in desk.text(path)
    assert await desk.clean(path) == []


async def test_a_fix_that_has_to_be_resolved_goes_back_to_the_server_that_offered_it(desk: Desk) -> None:
    path = "harbour/fixall.py"
    desk.write(path, WRONG)
    shown = await desk.published(path, UNUSED)
    offered = await desk.actions(path, "import os", shown, only=["source.fixAll"])
    assert list(offered) == ["Ruff: Fix all auto-fixable problems"]
    assert "edit" not in offered["Ruff: Fix all auto-fixable problems"]
    await desk.do(offered["Ruff: Fix all auto-fixable problems"])
    assert desk.text(path) == WRONG.replace("import os\n", "")


async def test_imports_are_sorted_by_ruffs_command(desk: Desk) -> None:
    path = "harbour/imports.py"
    sorted_imports = "import os\nimport sys\n\nprint(os, sys)\n"
    uri = desk.write(path, sorted_imports.replace("import os\nimport sys", "import sys\nimport os"))
    await desk.run("ruff.applyOrganizeImports", [{"uri": uri, "version": 1}])
    await desk.becomes(path, lambda text: text == sorted_imports)


async def test_basedpyrights_command_writes_its_baseline(desk: Desk) -> None:
    path = "harbour/baseline.py"
    desk.write(path, WRONG)
    await desk.published(path, ARGUMENT)
    await desk.run("basedpyright.writeBaseline")
    assert "harbour/baseline.py" in desk.disk(".basedpyright/baseline.json")
    (desk.root / ".basedpyright/baseline.json").unlink()


async def test_the_linter_formats_what_the_type_checker_cannot(desk: Desk) -> None:
    path = "harbour/format.py"
    desk.write(path, WRONG.replace("(ship: Ship)", "( ship:Ship )").replace('"no"', "'no'"))
    assert await desk.formatted(path) == WRONG


async def test_completion_knows_members_and_brings_the_import_along(desk: Desk) -> None:
    path = "harbour/complete.py"
    text = WRONG.replace("import os\n\n", "") + "\n\ndef name(ship: Ship) -> int:\n    return ship.len\n\n\nlonges\n"
    desk.write(path, text)
    item = await desk.completed(Spot(path, "return ship.len<|>"), "length")
    assert "length: int" in item["documentation"]["value"]
    item = await desk.completed(Spot(path, "\nlonges<|>\n"), "longest")
    assert [edit["newText"] for edit in item["additionalTextEdits"]] == [", longest"]


async def test_names_are_followed_and_renamed_in_every_file(desk: Desk) -> None:
    here, there = "harbour/crane.py", "harbour/cargo.py"
    desk.write(here, '"""Cranes."""\n\n\ndef lift(tons: int) -> int:\n    return tons\n')
    desk.write(there, "from harbour.crane import lift\n\nprint(lift(3))\n")
    assert await desk.clean(there) == []
    spot = Spot(there, "print(li<|>ft(3))")
    assert desk.lines(await desk.ask_at("definition", spot)) == [f"{here}: def lift(tons: int) -> int:"]
    await desk.ask_at("prepareRename", spot)
    edit = await desk.ask_at("rename", spot, newName="hoist")
    assert sorted(desk.client.apply_workspace_edit(edit)) == [desk.client.uri(there), desk.client.uri(here)]
    assert desk.text(there) == "from harbour.crane import hoist\n\nprint(hoist(3))\n"
    assert "def hoist(tons: int)" in desk.text(here)
