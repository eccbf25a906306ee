"""YAML and JSON with schemas: named by the file itself, or by the user's settings. Nothing is fetched."""

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
    for tool in ("yaml-language-server", "vscode-json-language-server"):
        require(tool)
    folder = tmp_path_factory.mktemp("data").resolve()
    for language in ("yaml", "json"):
        copy_project(language, folder / "ports")
    root = folder / "ports"
    schema = (root / "json" / "berths.schema.json").as_uri()
    servers = {
        "yaml-language-server": {
            "settings": {"yaml": {"schemaStore": {"enable": False}, "schemas": {schema: "*.port.yaml"}}}
        },
        "vscode-json": {"settings": {"json": {"schemas": [{"fileMatch": ["*.port.json"], "url": schema}]}}},
    }
    async with seated(folder, root, name="data", options={"servers": servers}) as desk:
        yield desk


YAML = "harbour: North\nberths:\n  - name: quay\n    length: long\n"
JSON = '{\n  "harbour": "North",\n  "berths": [{ "name": "quay", "length": "long" }]\n}\n'
NAMED = {
    "yaml": "# yaml-language-server: $schema=./berths.schema.json\n" + YAML,
    "json": JSON.replace("{", '{\n  "$schema": "./berths.schema.json",', 1),
}
SET = {"yaml": YAML, "json": JSON}
WRONG = 'Incorrect type. Expected "integer"'


@pytest.mark.parametrize("language", ["yaml", "json"])
@pytest.mark.parametrize(("texts", "name"), [(NAMED, "slip"), (SET, "slip.port")], ids=["by the file", "by settings"])
async def test_a_schema_is_known(desk: Desk, language: str, texts: dict[str, str], name: str) -> None:
    path = f"{language}/{name}.{language}"
    desk.write(path, texts[language])
    shown = await desk.client.wait_diagnostics(path, lambda found: any(WRONG in one["message"] for one in found), 90)
    (wrong,) = [one for one in shown if WRONG in one["message"]]
    lines = texts[language].split("\n")
    assert "long" in lines[wrong["range"]["start"]["line"]]
    key = "harb<|>our: North" if language == "yaml" else '"harb<|>our"'
    assert "The name of the harbour" in words(await desk.ask_at("hover", Spot(path, key)))


async def test_completion_offers_the_keys_that_are_missing(desk: Desk) -> None:
    desk.write("yaml/keys.port.yaml", YAML.replace("    length: long\n", "    \n"))
    item = await desk.completed(Spot("yaml/keys.port.yaml", "name: quay\n    <|>"), "length")
    assert "The length of the berth in metres." in str(item)
    desk.write("json/keys.port.json", JSON.replace('"name": "quay", "length": "long"', '"name": "quay", ""'))
    item = await desk.completed(Spot("json/keys.port.json", '"name": "quay", "<|>"'), "length")
    assert "The length of the berth in metres." in str(item)


async def test_formatting_is_each_servers_own(desk: Desk) -> None:
    desk.write("yaml/format.yaml", "berths:   [ 1,2 ]\n")
    assert await desk.formatted("yaml/format.yaml") == "berths: [1, 2]\n"
    desk.write("json/format.json", '{"harbour":"North"}\n')
    assert await desk.formatted("json/format.json") == '{\n    "harbour": "North"\n}'
