"""Real servers behind an editor: what a save, or a shell's edit, introduced in the file and in another open one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import OmbudFactory
from tests.peers.disk import CHANGED, events
from tests.profiles import VSCODE
from tests.real.editor import PATIENCE, Editor
from tests.toolbox import require

pytestmark = pytest.mark.real

TOLD = "ombud/introducedDiagnostics"
Json = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """``library`` and ``used`` are open. Changing ``good`` to ``bad`` in the library breaks ``used`` by ``code``.

    ``here`` are the codes of what the same change breaks in the library itself, by server.
    """

    name: str
    tools: tuple[str, ...]
    servers: tuple[str, ...]
    files: dict[str, str]
    library: str
    used: str
    good: str
    bad: str
    code: str
    here: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    old: int = 0
    """Diagnostics that were there before, in both files, and are nobody's news."""
    rows: dict[str, Json] = field(default_factory=dict)


CASES = [
    Case(
        "python",
        ("basedpyright-langserver", "ruff"),
        ("basedpyright", "ruff"),
        {
            "pyproject.toml": '[project]\nname = "harbour"\nversion = "1"\n',
            "berths.py": "def moor(ship: str) -> int:\n    return len(ship)\n",
            "plan.py": 'import berths\n\nlength: int = berths.moor("Alma")\nwrong: str = 1\n',
        },
        "berths.py",
        "plan.py",
        "-> int:\n    return len(ship)",
        "-> str:\n    import sys\n    return ship",
        "reportAssignmentType",
        here=("F401", "reportUnusedImport"),
        old=1,
    ),
    Case(
        "typescript-language-server",
        ("typescript-language-server",),
        ("typescript-language-server",),
        {
            "package.json": '{"name": "harbour", "version": "1.0.0"}\n',
            "tsconfig.json": '{"compilerOptions": {"strict": true, "module": "es2020"}, "include": ["*.ts"]}\n',
            "berths.ts": "export function moor(ship: string): number {\n  return ship.length;\n}\n",
            "plan.ts": "import { moor } from './berths';\nexport const length: number = moor('Alma');\n"
            "export const wrong: string = 1;\n",
        },
        "berths.ts",
        "plan.ts",
        "(ship: string): number {",
        "(ship: string, where: number): number {",
        "2554",
        off=("tsgo", "vtsls", "biome", "eslint"),
        old=1,
        rows={"typescript-language-server": {"disabled": False}},
    ),
    Case(
        "gopls",
        ("gopls",),
        ("gopls",),
        {
            "go.mod": "module harbour\n\ngo 1.21\n",
            "berths.go": "package harbour\n\nfunc Moor(ship string) int { return len(ship) }\n",
            "plan.go": 'package harbour\n\nvar Length int = Moor("Alma")\nvar Wrong string = 1\n',
        },
        "berths.go",
        "plan.go",
        "func Moor(",
        "func Land(",
        "UndeclaredName",
        old=1,
    ),
]


def identity(one: Json) -> tuple[str, str]:
    return one["path"], str(one.get("code"))


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
async def test_D7_a_save_and_a_shells_edit_tell_what_broke_in_the_file_and_in_another(
    ombud: OmbudFactory, tmp_path: Path, case: Case
) -> None:
    for tool in case.tools:
        require(tool)
    root = tmp_path.resolve() / "harbour"
    root.mkdir()
    for name, text in case.files.items():
        (root / name).write_text(text, encoding="utf-8")
    good = case.files[case.library]
    bad = good.replace(case.good, case.bad)
    assert bad != good
    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        rows = {**{name: {"disabled": True} for name in case.off}, **case.rows}
        await editor.initialize(VSCODE, options={"servers": rows, "diagnostics": {"waitMs": 30_000}})

        async def told(cause: str, *, old: int) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
            """What the next report says, when every server has answered."""
            found = await client.wait_notification(TOLD, timeout=PATIENCE)
            assert (found["cause"], found["files"]) == (cause, [case.library])
            freshness = {one["name"]: one["freshness"] for one in found["servers"]}
            assert freshness == dict.fromkeys(case.servers if cause == "save" else freshness, "fresh"), found
            assert found["stillPresent"] == old
            return tuple({identity(one) for one in found[key]} for key in ("diagnostics", "resolved"))  # type: ignore[return-value]

        for path in (case.library, case.used):
            client.open(path)
        for server in case.servers:
            await editor.state(server, "ready")
        assert sum([len((await editor.diagnostics(path))[0]) for path in (case.library, case.used)]) == case.old

        broken = {(case.used, case.code), *((case.library, code) for code in case.here)}
        client.change(case.library, bad)
        client.save(case.library)
        assert await told("save", old=case.old) == (broken, set())
        client.save(case.library)
        assert await told("save", old=case.old + len(broken)) == (set(), set())
        client.change(case.library, "\n" + good)
        client.save(case.library)
        assert await told("save", old=case.old) == (set(), broken)

        (root / case.library).write_text(bad, encoding="utf-8")
        client.notify("workspace/didChangeWatchedFiles", events(client, (case.library, CHANGED)))
        assert await told("watch", old=case.old) == (broken, set())
