"""D7 with real servers: a checkout of another branch and an edit in a shell are seen, by a client that cannot watch.

A mistake that comes into being in one file this way is reported in the other one, which is open and was not touched.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import OmbudFactory
from tests.profiles import AGENT
from tests.real.editor import PATIENCE, Editor
from tests.toolbox import require
from tests.waiting import wait_until

pytestmark = pytest.mark.real


@dataclass(frozen=True)
class Case:
    """``used`` is open in the client; ``library`` is changed on disk from ``good`` to ``bad``, one word of it."""

    tool: str
    server: str
    files: dict[str, str]
    used: str
    library: str
    good: str
    bad: str
    code: str
    """Of the mistake that is then in ``used``."""


CASES = [
    Case(
        "basedpyright-langserver",
        "basedpyright",
        {
            "pyproject.toml": '[project]\nname = "harbour"\nversion = "1"\n',
            "berths.py": "def moor(ship: str) -> int:\n    return len(ship)\n",
            "plan.py": 'import berths\n\nlength: int = berths.moor("Alma")\n',
        },
        "plan.py",
        "berths.py",
        "-> int",
        "-> str",
        "reportAssignmentType",
    ),
    Case(
        "gopls",
        "gopls",
        {
            "go.mod": "module harbour\n\ngo 1.21\n",
            "berths.go": "package harbour\n\nfunc Moor(ship string) int { return len(ship) + zero() }\n",
            "zero.go": "package harbour\n\nfunc zero() int { return 0 }\n",
            "plan.go": 'package harbour\n\nvar Length int = Moor("Alma")\n',
        },
        "plan.go",
        "berths.go",
        "func Moor(",
        "func Land(",
        "UndeclaredName",
    ),
    Case(
        # It passes over what it is told of files, and looks again at a save. What it knows of a header is by size and
        # second, so a change within the second has to change the size.
        "clangd",
        "clangd",
        {
            "compile_commands.json": "[]",
            "berths.h": "int moor(const char *ship);\n",
            "plan.c": '#include "berths.h"\n\nint length(void) { return moor("Alma"); }\n',
        },
        "plan.c",
        "berths.h",
        "int moor(",
        "int embark(",
        "-Wimplicit-function-declaration",
    ),
    Case(
        # It asks nobody to watch, and its schemas are files of another language.
        "yaml-language-server",
        "yaml-language-server",
        {
            "berths.json": '{"type": "object", "properties": {"length": {"type": "number"}}}\n',
            "plan.yaml": "# yaml-language-server: $schema=./berths.json\nlength: 4\n",
        },
        "plan.yaml",
        "berths.json",
        '"number"',
        '"string"',
        "0",
    ),
]


def git(root: Path, *arguments: str) -> None:
    """git as nobody in particular, without the developer's own configuration."""
    settings = {"user.name": "nobody", "user.email": "nobody@example.com", "init.defaultBranch": "main"}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *options, *arguments], cwd=root, env=environment, check=True, capture_output=True)


def substitute(path: Path, old: str, new: str) -> None:
    subprocess.run(["sed", "-i.bak", f"s/{old}/{new}/", path], check=True)
    path.with_name(f"{path.name}.bak").unlink()


@pytest.mark.parametrize("case", CASES, ids=[case.server for case in CASES])
async def test_D7_a_checkout_and_a_shells_edit_are_seen(
    ombud: OmbudFactory, tmp_path: Path, environment: dict[str, str], case: Case
) -> None:
    require(case.tool)
    environment["OMBUD_LOG"] = "INFO"
    root = tmp_path.resolve() / "harbour"
    root.mkdir()
    for name, text in case.files.items():
        (root / name).write_text(text, encoding="utf-8")
    git(root, "init")
    git(root, "add", ".")
    git(root, "commit", "-m", "good")
    git(root, "checkout", "-b", "bad")
    substitute(root / case.library, case.good, case.bad)
    for number in range(300):
        # A checkout is seldom of one file.
        (root / "notes").mkdir(exist_ok=True)
        (root / f"notes/{number}.txt").write_text(f"{number}\n")
    git(root, "add", ".")
    git(root, "commit", "-m", "bad")
    git(root, "checkout", "main")

    async with ombud(cwd=root) as client:
        editor = Editor(client, root)
        others = {name: {"disabled": True} for name in ("ruff",)}
        await editor.initialize(AGENT, options={"servers": others})

        async def shown(codes: set[str]) -> None:
            await client.wait_diagnostics(
                case.used, lambda found: {str(one.get("code")) for one in found} == codes, timeout=PATIENCE
            )

        client.open(case.used)
        await editor.state(case.server, "ready")
        assert (await editor.diagnostics(case.used))[0] == []
        await wait_until(lambda: "folders of" in client.stderr, 30, "Ombud watches")

        git(root, "checkout", "bad")
        await shown({case.code})
        substitute(root / case.library, case.bad, case.good)
        await shown(set())
        git(root, "checkout", "--force", "bad")
        substitute(root / case.library, case.good, case.bad)
        await shown({case.code})
        git(root, "checkout", "--force", "main")
        await shown(set())
