"""Servers that speak late, twice or not at all: their first answer through Ombud is whole, or says that it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import OmbudFactory
from tests.connection import Json
from tests.profiles import AGENT, VSCODE
from tests.real.editor import PATIENCE, WAIT_MS, Editor
from tests.toolbox import copy_project, require

pytestmark = pytest.mark.real


def seen(diagnostics: list[Json]) -> list[tuple[int, str, str]]:
    return [(one["line"], one["source"], one["severity"]) for one in diagnostics]


def freshness(servers: list[Json]) -> dict[str, str]:
    return {one["name"]: one["freshness"] for one in servers}


async def test_gopls_has_the_findings_of_go_vet_in_its_first_answer(ombud: OmbudFactory, tmp_path: Path) -> None:
    """By default it publishes without them at once, and with them a second later: old ones would seem mended."""
    require("gopls")
    root = copy_project("go", tmp_path.resolve())
    plan = root / "plan.go"
    clean = plan.read_text(encoding="utf-8")
    call = '\n// Say it.\nfunc Say() { fmt.Printf("%d", "x") }\n'
    wrong = clean.replace("package harbour\n", 'package harbour\n\nimport "fmt"\n') + call
    moved = wrong.replace("package harbour\n", "package harbour\n\n\n\n\n")
    line = wrong.split("\n").index('func Say() { fmt.Printf("%d", "x") }') + 1
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(AGENT)
        steps: list[tuple[str, list[tuple[int, str, str]], int, int]] = [
            (wrong, [(line, "printf", "warning")], 0, 0),
            (moved, [], 0, 1),
            (moved + "\n// Nothing.\n", [], 0, 1),
            (clean, [], 1, 0),
        ]
        for text, introduced, resolved, still in steps:
            params = {"path": "plan.go", "content": text, "waitMs": WAIT_MS}
            report = (await client.request("ombud/write", params, PATIENCE))["diagnostics"]
            assert freshness(report["servers"]) == {"gopls": "fresh"}
            assert seen(report["introduced"]) == introduced
            assert (len(report["resolved"]), report["stillPresent"]) == (resolved, still)
        plan.write_text(wrong, encoding="utf-8")
        await client.request("ombud/reload", {}, PATIENCE)
        found, servers = await editor.diagnostics("plan.go")
        assert freshness(servers) == {"gopls": "fresh"}
        assert seen(found) == [(line, "printf", "warning")]


async def test_D5_the_first_publish_of_typescript_is_not_taken_for_the_whole(
    ombud: OmbudFactory, tmp_path: Path
) -> None:
    """It publishes the findings of its syntax pass first, which are none here."""
    require("typescript-language-server")
    root = copy_project("typescript", tmp_path.resolve())
    plan = root / "src" / "plan.ts"
    text = plan.read_text(encoding="utf-8") + '\nexport const mooring: number = "x";\n'
    plan.write_text(text, encoding="utf-8")
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(VSCODE, options={"servers": {"tsgo": {"disabled": True}}})
        found, servers = await editor.diagnostics("src/plan.ts")
        assert freshness(servers) == {"typescript-language-server": "fresh"}
        assert seen(found) == [(text.count("\n"), "typescript", "error")]


async def test_D9_what_cargo_finds_follows_an_answer_that_could_not_wait(ombud: OmbudFactory, tmp_path: Path) -> None:
    """A use after a move is the compiler's own finding, seconds after the answer of a caller in a hurry."""
    require("rust-analyzer")
    root = copy_project("rust", tmp_path.resolve())
    lib = (root / "src" / "lib.rs").read_text(encoding="utf-8")
    wrong = lib + "\npub fn twice(ship: Ship) -> (Ship, Ship) {\n    (ship, ship)\n}\n"
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(AGENT)
        found, servers = await editor.diagnostics("src/lib.rs")
        assert (found, freshness(servers)) == ([], {"rust-analyzer": "fresh"})
        params = {"path": "src/lib.rs", "content": wrong, "waitMs": 100}
        result = await client.request("ombud/write", params, PATIENCE)
        assert freshness(result["diagnostics"]["servers"]) == {"rust-analyzer": "timed_out"}
        assert result["diagnostics"]["introduced"] == []
        assert "Not known yet: rust-analyzer" in result["message"]
        late = await client.wait_notification("ombud/introducedDiagnostics", timeout=PATIENCE)
        assert (late["cause"], late["writeId"]) == ("write", result["writeId"])
        assert freshness(late["servers"]) == {"rust-analyzer": "fresh"}
        errors = [one for one in late["diagnostics"] if one["severity"] == "error"]
        assert {(one["source"], one["code"]) for one in errors} >= {("rustc", "E0382")}
        assert {one["line"] for one in errors} == {wrong.count("\n") - 1}


async def test_every_document_opened_while_bash_starts_is_looked_at(ombud: OmbudFactory, tmp_path: Path) -> None:
    """Of those that are open before it has read its configuration, it looks only at the last."""
    require("bash-language-server")
    require("shellcheck")
    root = copy_project("shell", tmp_path.resolve())
    names = ["berths.sh", "mole.sh", "pier.sh"]
    for name in names[1:]:
        (root / name).write_text("#!/usr/bin/env bash\ncd /berths\n", encoding="utf-8")
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(VSCODE)
        for name in names:
            client.open(name)
        for name in names:
            found, servers = await editor.diagnostics(name)
            assert freshness(servers) == {"bash-language-server": "fresh"}
            assert seen(found) == ([] if name == "berths.sh" else [(2, "shellcheck", "warning")])
