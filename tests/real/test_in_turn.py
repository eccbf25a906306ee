"""What a write breaks further away than its own users, and what it leaves for the next one to hear, on real servers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import OmbudFactory, Workspace
from tests.connection import Json
from tests.profiles import AGENT
from tests.real.editor import PATIENCE, WAIT_MS, Editor
from tests.toolbox import require

pytestmark = pytest.mark.real

PYTHON = {
    "pyproject.toml": '[project]\nname = "tide"\nversion = "1"\n\n[tool.basedpyright]\ntypeCheckingMode = "standard"\n',
    "high.py": "def high():\n    return 1\n",
    "low.py": "from high import high\n\n\ndef low():\n    return high()\n",
    "use.py": "from low import low\n\nDEPTH = low().bit_length()\n",
}
TYPESCRIPT = {
    "package.json": '{"name": "tide"}',
    "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "es2022", "moduleResolution": "bundler", '
    '"target": "es2022", "types": [], "noEmit": true}}',
    "high.ts": "export const high = () => 1;\n",
    "low.ts": 'import { high } from "./high";\nexport const low = () => high();\n',
    "use.ts": 'import { low } from "./low";\nexport const depth: number = low();\n',
}
CASES = {
    "basedpyright": ("basedpyright-langserver", PYTHON, "high.py", "return 1", 'return "x"', "use.py"),
    "tsgo": ("tsgo", TYPESCRIPT, "high.ts", "=> 1", '=> "x"', "use.ts"),
    "typescript-language-server": ("tsserver", TYPESCRIPT, "high.ts", "=> 1", '=> "x"', "use.ts"),
}


def alone(name: str) -> Json:
    family = ("basedpyright", "pyright", "ruff", "ty", "pyrefly", "zuban", "pylsp", "jedi-language-server")
    web = ("tsgo", "typescript-language-server", "vtsls", "eslint", "biome")
    return {"servers": {one: {"disabled": True} for one in (*family, *web) if one != name}}


def places(report: Json) -> list[tuple[str, int]]:
    return [(one["path"], one["line"]) for one in report["introduced"]]


@pytest.mark.parametrize("server", CASES)
async def test_a_type_that_follows_over_two_files_is_heard_of(
    server: str, ombud: OmbudFactory, workspace: Workspace
) -> None:
    tool, files, path, old, new, broken = CASES[server]
    require(tool)
    root = workspace(files)
    line = 3 if broken.endswith(".py") else 2
    async with ombud(cwd=root) as client:
        await Editor(client, root).initialize(AGENT, options=alone(server))
        params = {"path": path, "edits": [{"oldText": old, "newText": new}], "waitMs": WAIT_MS}
        for preview in (True, False):
            answer = await client.request("ombud/edit", {**params, "preview": preview}, PATIENCE)
            report = answer["diagnostics"]
            assert [one["freshness"] for one in report["servers"]] == ["fresh"], report
            assert places(report) == [(broken, line)], report
            assert broken in report["checkedDependents"]


async def test_a_preview_leaves_nothing_for_the_next_one(ombud: OmbudFactory, tmp_path: Path) -> None:
    """gopls takes back what it said of closed files a moment after it was shown the old texts again."""
    require("gopls")
    root = tmp_path.resolve() / "p"
    (root / "tide").mkdir(parents=True)
    (root / "go.mod").write_text("module harbour\n\ngo 1.21\n")
    (root / "tide" / "high.go").write_text("package tide\n\nfunc High() int { return 1 }\n")
    async with ombud(cwd=root) as client:
        await Editor(client, root).initialize(AGENT)
        again = {"path": "tide/low.go", "content": "package tide\n\nfunc High() int { return 2 }\n", "waitMs": WAIT_MS}
        for preview in (True, True, True, False):
            answer = await client.request("ombud/write", {**again, "preview": preview}, PATIENCE)
            assert places(answer["diagnostics"]) == [("tide/high.go", 3), ("tide/low.go", 3)]


async def test_D4_what_was_not_looked_at_for_a_late_write_is_named(ombud: OmbudFactory, workspace: Workspace) -> None:
    require("basedpyright-langserver")
    root = workspace({**PYTHON, "use.py": "from high import high\n\nDEPTH = high().bit_length()\n"})
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        await editor.initialize(AGENT, options=alone("basedpyright"))
        await editor.diagnostics("use.py")
        edits = [{"oldText": "return 1", "newText": 'return "x"'}]
        answer = await client.request("ombud/edit", {"path": "high.py", "edits": edits, "waitMs": 0}, PATIENCE)
        assert [one["freshness"] for one in answer["diagnostics"]["servers"]] == ["timed_out"]
        told = await client.wait_notification("ombud/introducedDiagnostics", timeout=PATIENCE)
        assert told["writeId"] == answer["writeId"]
        spoken = {one["path"] for one in (*told["diagnostics"], *told["leftOut"])}
        assert "use.py" in spoken or told["note"], told
