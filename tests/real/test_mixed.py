"""Many servers in one session: who starts when, who answers what, whose diagnostics go where, and how it all ends."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.client import Client
from tests.conftest import OmbudFactory
from tests.connection import Json
from tests.positions import apply_changes
from tests.profiles import NEOVIM, VSCODE
from tests.real.cases import Ask, Spot
from tests.real.editor import PATIENCE, Editor, gone, living
from tests.toolbox import copy_project, require
from tests.waiting import wait_until

pytestmark = pytest.mark.real

TOOLS = (
    *("basedpyright-langserver", "ruff", "typescript-language-server", "gopls", "clangd", "bash-language-server"),
    *("vscode-css-language-server", "vscode-json-language-server"),
)
PYTHON = "python/harbour/plan.py"


@pytest.fixture
def monorepo(tmp_path: Path) -> Path:
    """Python, TypeScript, C++, shell, CSS and JSON side by side, and two Go modules."""
    for tool in TOOLS:
        require(tool)
    root = tmp_path.resolve() / "harbour"
    root.mkdir()
    for language in ("python", "typescript", "cpp", "shell", "css", "json"):
        copy_project(language, root)
    for module in ("north", "south"):
        copy_project("go", root / module)
    return root


_FITS = ("Whether a ship fits",)
STEPS = (
    ({"basedpyright", "ruff"}, Ask("hover", Spot(PYTHON, "if fi<|>ts(ship, berths[name])"), _FITS)),
    ({"typescript-language-server"}, Ask("hover", Spot("typescript/src/plan.ts", "=> fi<|>ts(ship, length)"), _FITS)),
    ({"gopls"}, Ask("hover", Spot("north/go/plan.go", "if Fi<|>ts(ship, berth.Length)"), ("Fits reports whether",))),
    ({"clangd"}, Ask("hover", Spot("cpp/plan.cpp", "if (fi<|>ts(ship, lengths[index])"), ("function `fits`",))),
    ({"bash-language-server"}, Ask("symbols", Spot("shell/berths.sh", "fi<|>ts() {"), ("fits",))),
)


async def test_each_language_starts_its_own_servers_at_its_first_file_and_not_before(
    ombud: OmbudFactory, monorepo: Path
) -> None:
    async with ombud(cwd=monorepo) as client:
        editor = Editor(client, monorepo)
        await editor.initialize(VSCODE)
        await editor.status()
        assert client.child_processes() == []
        expected: set[str] = set()
        for names, ask in STEPS:
            assert editor.started() == expected
            assert await editor.running() == expected
            client.open(ask.spot.path)
            expected |= names
            for name in names:
                await editor.state(name, "ready")
            # The diagnostics are the sign that a server has loaded; until then some answer a hover with null.
            found, servers = await editor.diagnostics(ask.spot.path)
            assert found == []
            assert {one["name"]: one["freshness"] for one in servers} == dict.fromkeys(names, "fresh")
            await editor.answers(ask)
        assert editor.started() == expected

        await second_module(editor)


async def second_module(editor: Editor) -> None:
    """Another module of a language that runs already gets a process of its own; the first stays as it is."""
    before = await of("gopls", editor)
    editor.client.open("south/go/plan.go")
    await editor.answers(Ask("symbols", Spot("south/go/plan.go", "func Berth<|>For"), ("BerthFor",)))
    after = await of("gopls", editor)
    roots = {str(editor.root / module / "go") for module in ("north", "south")}
    assert {row["root"] for row in after if row["state"] == "ready"} == roots
    assert len({row["pid"] for row in after}) == 2
    assert {row["pid"] for row in before if row["pid"] is not None} < {row["pid"] for row in after}


async def of(name: str, editor: Editor) -> list[Json]:
    return [row for row in await editor.rows() if row["name"] == name]


async def test_a_workspace_without_a_go_file_never_starts_gopls(ombud: OmbudFactory, monorepo: Path) -> None:
    """Not even beside a ``go.mod``: a marker alone is no need."""
    for module in ("north", "south"):
        for source in (monorepo / module / "go").glob("*.go"):
            source.unlink()
    shutil.copy(monorepo / "north" / "go" / "go.mod", monorepo / "go.mod")
    async with ombud(cwd=monorepo) as client:
        editor = Editor(client, monorepo)
        await editor.initialize(VSCODE)
        client.open(PYTHON)
        client.open("typescript/src/plan.ts")
        await editor.diagnostics("*")
        await client.request("workspace/symbol", {"query": "fits"}, PATIENCE)
        await client.request("ombud/lsp", {"action": "symbols", "query": "fits"}, PATIENCE)
        await editor.status()
        assert editor.started() == {"basedpyright", "ruff", "typescript-language-server"}
        assert all(row["state"] != "ready" for row in await of("gopls", editor))


async def test_what_the_first_server_cannot_do_goes_to_the_next_that_can(ombud: OmbudFactory, monorepo: Path) -> None:
    """basedpyright comes first for Python and does not format; ruff does, and has no definitions."""
    async with ombud(cwd=monorepo) as client:
        editor = Editor(client, monorepo)
        await editor.initialize(NEOVIM)
        text = editor.disk(PYTHON)
        client.open(PYTHON, text=text.replace("sorted(berths, key=", "sorted( berths,key = "))
        options = {"tabSize": 4, "insertSpaces": True}
        params = {"textDocument": {"uri": client.uri(PYTHON)}, "options": options}
        edits = await client.request("textDocument/formatting", params, PATIENCE)
        ordered = sorted(edits, key=lambda edit: (edit["range"]["start"]["line"], edit["range"]["start"]["character"]))
        changes = [{"range": edit["range"], "text": edit["newText"]} for edit in reversed(ordered)]
        assert apply_changes(client.documents[client.uri(PYTHON)].text, changes) == text
        fits = Spot(PYTHON, "if fi<|>ts(ship, berths[name])")
        await editor.answers(Ask("hover", fits, ("Whether a ship fits",)))
        place = "python/harbour/berths.py: def fits(ship: Ship, berth_length: int) -> bool:"
        await editor.answers(Ask("definition", fits, (place,)))


async def test_what_two_servers_find_comes_in_one_publish_with_the_clients_own_version(
    ombud: OmbudFactory, monorepo: Path
) -> None:
    async with ombud(cwd=monorepo) as client:
        editor = Editor(client, monorepo)
        await editor.initialize(VSCODE)
        text = editor.disk(PYTHON)

        def both(found: list[Json]) -> bool:
            return {one["source"] for one in found} == {"basedpyright", "Ruff"}

        client.open(PYTHON, text=text + "\nprint(moor)\n", version=7)
        found = await client.wait_diagnostics(PYTHON, both, PATIENCE, version=7)
        line = text.count("\n") + 1
        assert [(one["source"], one["range"]["start"]["line"]) for one in found] == [
            ("basedpyright", line),
            ("Ruff", line),
        ]
        assert client.change(PYTHON, "\n" + text + "\nprint(moor)\n") == 8
        found = await client.wait_diagnostics(
            PYTHON, lambda one: both(one) and one[0]["range"]["start"]["line"] == line + 1, PATIENCE, version=8
        )
        assert [one["range"]["start"]["line"] for one in found] == [line + 1, line + 1]
        assert client.change(PYTHON, text) == 9
        await client.wait_diagnostics(PYTHON, lambda one: one == [], PATIENCE, version=9)


async def test_each_server_is_told_its_own_configuration(ombud: OmbudFactory, monorepo: Path) -> None:
    """Their questions reach the client too, whose nulls say nothing. vscode-css would be silent for ever after one."""
    (monorepo / "css" / "slip.css").write_text(".slip {\n}\n.mole { color: }\n", encoding="utf-8")
    (monorepo / "json" / "slip.json").write_text('{"slip": }\n', encoding="utf-8")
    servers = {
        "vscode-css": {"settings": {"css": {"lint": {"emptyRules": "error"}}}},
        "vscode-json": {"settings": {"json": {"validate": {"enable": False}}}},
    }
    async with ombud(cwd=monorepo) as client:
        editor = Editor(client, monorepo)
        await editor.initialize(VSCODE, options={"servers": servers})
        css, answered = await editor.diagnostics("css/slip.css")
        assert [(one["name"], one["freshness"]) for one in answered] == [("vscode-css", "fresh")]
        assert [(one["line"], one["code"], one["severity"]) for one in css] == [
            (1, "emptyRules", "error"),
            (3, "css-propertyvalueexpected", "error"),
        ]
        json, answered = await editor.diagnostics("json/slip.json")
        assert [(one["name"], one["freshness"]) for one in answered] == [("vscode-json", "fresh")]
        assert json == []
        asked = [one for one in client.server_requests if one.method == "workspace/configuration"]
        assert {item["section"] for one in asked for item in one.params["items"]} >= {"ombud", "css"}
        assert all(value is None for one in asked for value in (one.answer or {})["result"])


FEW = (PYTHON, "typescript/src/plan.ts", "north/go/plan.go", "cpp/plan.cpp")
SERVERS = {"basedpyright", "ruff", "typescript-language-server", "gopls", "clangd"}


async def busy(editor: Editor) -> None:
    """Start the servers of four languages and see them answer."""
    for path in FEW:
        editor.client.open(path)
    found, servers = await editor.diagnostics("*")
    assert found == []
    assert {one["name"]: one["freshness"] for one in servers} == dict.fromkeys(SERVERS, "fresh")


async def test_P1_nothing_is_left_when_ombud_is_killed(ombud: OmbudFactory, monorepo: Path) -> None:
    async with ombud(cwd=monorepo) as client:
        editor = Editor(client, monorepo)
        await editor.initialize(VSCODE)
        await busy(editor)
        processes = client.child_processes()
        # Five servers, those that they started in turn, and the guardian.
        assert len(processes) > len(SERVERS) + 1
        client.kill(9)
        assert await client.wait_exit() == -9
        await gone(processes)


async def test_P8_everything_ends_when_the_client_closes_its_side(ombud: OmbudFactory, monorepo: Path) -> None:
    async with ombud(cwd=monorepo) as client:
        editor = Editor(client, monorepo)
        await editor.initialize(VSCODE)
        await busy(editor)
        processes = client.child_processes()
        assert len(processes) > len(SERVERS) + 1
        client.close_input()
        assert await client.wait_exit() == 1
        assert living(processes) == []


async def test_two_clients_of_one_hub_share_a_server_and_one_may_leave(ombud: OmbudFactory, monorepo: Path) -> None:
    async with ombud("--listen", "127.0.0.1:0", cwd=monorepo, name="hub") as hub:
        listens = re.compile(r"listens on 127\.0\.0\.1:(\d+)")
        port = int(await wait_until(lambda: "".join(listens.findall(hub.stderr)), 30, "it says where it listens"))
        async with Client.tcp("127.0.0.1", port, name="stays") as stays:
            staying = Editor(stays, monorepo)
            await staying.initialize(NEOVIM)
            text = staying.disk(PYTHON)
            async with Client.tcp("127.0.0.1", port, name="leaves") as leaves:
                leaving = Editor(leaves, monorepo)
                await leaving.initialize(VSCODE)
                leaves.open(PYTHON, version=3)
                await leaves.wait_diagnostics(PYTHON, lambda found: found == [], PATIENCE, version=3)
                stays.open(PYTHON, version=11)
                await stays.wait_diagnostics(PYTHON, lambda found: found == [], PATIENCE, version=11)
                row = (await leaving.status())["basedpyright"]
                assert row["state"] == "ready"
                assert (await staying.status())["basedpyright"]["pid"] == row["pid"]
                fits = Ask("hover", Spot(PYTHON, "if fi<|>ts(ship, berths[name])"), ("Whether a ship fits",))
                await leaving.answers(fits)
                await staying.answers(fits)
            await staying.answers(fits)
            stays.change(PYTHON, text + "\nprint(moor)\n")
            await stays.wait_diagnostics(PYTHON, lambda found: len(found) == 2, PATIENCE, version=12)
            after = (await staying.status())["basedpyright"]
            assert (after["pid"], after["restarts"]) == (row["pid"], 0)
        processes = hub.child_processes()
        assert row["pid"] in {one.pid for one in processes}
        hub.kill(15)
        assert await hub.wait_exit() == 0
        assert living(processes) == []
