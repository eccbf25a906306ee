"""Vue's language server and the TypeScript server that it needs beside it, as somebody sees them who works with Vue.

From version 3 on the one asks its client to carry questions to the other and to bring the answers; Ombud does.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import psutil
import pytest
import pytest_asyncio

from tests.real.cases import Spot
from tests.real.desk import Desk, kinds, seated, words
from tests.toolbox import copy_project, require

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module")]

PLAN, CARD = "src/Plan.vue", "src/ShipCard.vue"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def desk(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Desk]:
    for tool in ("vue-language-server", "typescript-language-server"):
        require(tool)
    folder = tmp_path_factory.mktemp("vue").resolve()
    async with seated(folder, copy_project("vue", folder), name="vue") as desk:
        desk.client.open(PLAN, language="vue")
        # Until the project is loaded the TypeScript server knows each file by itself alone.
        assert await desk.clean(PLAN) == []
        yield desk


async def test_one_typescript_server_with_vues_plugin_works_for_both_languages(desk: Desk) -> None:
    desk.client.open("src/berths.ts")
    assert await desk.clean("src/berths.ts") == []
    assert await desk.running() == {"vue", "vue-typescript"}


async def test_hover_in_the_script_and_in_the_template_shows_types(desk: Desk) -> None:
    script = words(await desk.ask_at("hover", Spot(PLAN, "=> fi<|>ts(ship, berthLength)")))
    assert "Whether a ship fits a berth" in script
    template = words(await desk.ask_at("hover", Spot(PLAN, "{{ pla<|>ced.length }}")))
    assert "placed: {" in template and "length: number;" in template


@pytest.mark.parametrize(
    ("spot", "found"),
    [
        (
            Spot(PLAN, "=> fi<|>ts(ship"),
            "src/berths.ts: export function fits(ship: Ship, berthLength: number): boolean {",
        ),
        (Spot(PLAN, "{{ pla<|>ced.length"), f"{PLAN}: const placed = computed("),
        (Spot(PLAN, "  <Ship<|>Card"), f'{CARD}: <script setup lang="ts">'),
    ],
    ids=["a function", "a variable of the script", "a component"],
)
async def test_definitions_lead_across_languages(desk: Desk, spot: Spot, found: str) -> None:
    assert [line[: len(found)] for line in desk.lines(await desk.ask_at("definition", spot))] == [found]


async def test_the_template_completes_members_components_and_props(desk: Desk) -> None:
    item = await desk.completed(Spot(PLAN, "{{ placed.<|>length"), "filter")
    assert "filter" in str(item.get("detail"))
    # Which components there are, and which props they have, Vue's server asks of TypeScript's.
    labels = await labels_at(desk, Spot(PLAN, "  <Ship<|>Card"))
    assert {"ShipCard", "Transition", "article"} <= labels
    labels = await labels_at(desk, Spot(PLAN, ':ship="ship" <|>berth-name'))
    assert ":berth-name" in labels


async def labels_at(desk: Desk, spot: Spot) -> set[str]:
    answer = await desk.ask_at("completion", spot)
    return {one["label"] for one in (answer["items"] if isinstance(answer, dict) else answer)}


async def test_the_outline_has_the_parts_of_the_file(desk: Desk) -> None:
    names = [one["name"] for one in await desk.ask_about("documentSymbol", PLAN)]
    assert set(names) == {"script setup", "template"}


async def test_a_wrong_prop_is_an_error_in_the_template(desk: Desk) -> None:
    path = "src/Wrong.vue"
    desk.write(path, desk.disk(PLAN).replace(':ship="ship"', ':ship="ship.name"'), "vue")
    shown = await desk.published(path, ("typescript", "2322"))
    assert ("typescript", "2322") in kinds(shown)
    desk.client.change(path, desk.disk(PLAN))
    assert await desk.clean(path) == []


async def test_a_name_is_renamed_in_script_and_template(desk: Desk) -> None:
    path = "src/Rename.vue"
    desk.write(path, desk.disk(PLAN), "vue")
    assert await desk.clean(path) == []
    edit = await desk.ask_at("rename", Spot(path, "const pla<|>ced"), newName="moored")
    assert desk.client.apply_workspace_edit(edit) == [desk.client.uri(path)]
    assert desk.text(path) == desk.disk(PLAN).replace("placed", "moored")


async def test_a_typescript_file_knows_the_components(desk: Desk) -> None:
    path = "src/main.ts"
    desk.write(
        path, 'import { createApp } from "vue";\nimport Plan from "./Plan.vue";\n\ncreateApp(Plan).mount("#app");\n'
    )
    assert await desk.clean(path) == []
    found = desk.lines(await desk.ask_at("definition", Spot(path, "createApp(Pl<|>an)")))
    assert found == [f'{PLAN}: <script setup lang="ts">']


async def test_what_the_vue_server_waits_for_is_answered_after_typescripts_crash(desk: Desk) -> None:
    row = (await desk.status())["vue-typescript"]
    desk.mark()
    psutil.Process(row["pid"]).kill()
    await desk.state("vue-typescript", "crashed")
    # Whatever it can say without TypeScript's, it does not wait for ever for what it has asked it.
    await labels_at(desk, Spot(PLAN, "  <Ship<|>Card"))
    await desk.state("vue-typescript", "ready")
    assert await desk.clean(PLAN) == []
    assert "ShipCard" in await labels_at(desk, Spot(PLAN, "  <Ship<|>Card"))
