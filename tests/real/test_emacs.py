"""Emacs with eglot and the configuration of the README, against Ombud with basedpyright and ruff.

Emacs runs once, without anybody (eglot.el says what it does); the tests look at what was seen at each step.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.isolation import isolated
from tests.real.conftest import OFFLINE
from tests.toolbox import PROJECT, copy_project, require, tool_path

pytestmark = pytest.mark.real

SCRIPT = Path(__file__).with_name("eglot.el")
MOOR = '''"""How a ship is made fast."""

import os

from harbour.berths import Ship, fits


def moor(ship: Ship) -> str:
    return "yes" if fits(ship, "40") else "no"


def length(ship: Ship) -> int:
    return ship.len
'''
EVERY_STEP_SECONDS = 600
"""More than all steps may take together, each of which gives up by itself."""


def snippet() -> str:
    """The configuration for Emacs that the README shows."""
    found = re.findall(r"```elisp\n(.*?)```", (PROJECT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(found) == 1, "the README shows one configuration for Emacs"
    return str(found[0])


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What was seen, by step."""
    for tool in ("basedpyright-langserver", "ruff", "emacs"):
        require(tool)
    folder = tmp_path_factory.mktemp("emacs").resolve()
    root = copy_project("python", folder)
    (root / "harbour" / "moor.py").write_text(MOOR, encoding="utf-8")
    (root / "moor.sh").write_text("#!/bin/sh\necho moored\n", encoding="utf-8")
    (folder / "init.el").write_text(snippet(), encoding="utf-8")
    ombud = folder / "bin" / "ombud"
    ombud.parent.mkdir()
    ombud.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m ombud "$@"\n', encoding="utf-8")
    ombud.chmod(0o755)
    path = [ombud.parent, *tool_path().split(os.pathsep)]
    marks = {name: value for name, value in os.environ.items() if name.startswith("OMBUD_TEST")}
    environment = {**isolated(folder / "home", path), **OFFLINE, **marks}
    # Eglot asks a version-control system where the project is.
    subprocess.run(["git", "init", "--quiet"], cwd=root, env=environment, check=True)
    output = folder / "seen.json"
    files = (folder / "init.el", root / "harbour" / "moor.py", output)
    done = subprocess.run(
        [require("emacs"), "--batch", "-q", "-l", SCRIPT, *files],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        timeout=EVERY_STEP_SECONDS,
        check=False,
    )
    assert output.exists(), f"Emacs ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    steps: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return steps


def test_it_connects_with_the_configuration_of_the_readme(seen: dict[str, Any]) -> None:
    assert seen["connect"] == "ombud"


def test_flymake_shows_the_problems_of_both_servers(seen: dict[str, Any]) -> None:
    shown = [(line, text.partition(":")[0]) for line, text in seen["diagnostics"]]
    assert {
        (3, "Ruff [F401]"),
        (9, "basedpyright [reportArgumentType]"),
        (13, "basedpyright [reportAttributeAccessIssue]"),
    } <= set(shown)


def test_eldoc_shows_the_hover(seen: dict[str, Any]) -> None:
    assert "def fits(" in seen["hover"] and "Whether a ship fits a berth" in seen["hover"]


def test_xref_leads_to_the_definition(seen: dict[str, Any]) -> None:
    assert seen["definition"] == [["berths.py", 14]]


def test_completion_at_point_completes(seen: dict[str, Any]) -> None:
    assert seen["completion"] == "    return ship.length"


def test_rename_renames(seen: dict[str, Any]) -> None:
    assert seen["rename"] == "def berth(ship: Ship) -> str:"


def test_a_code_action_of_the_second_server_is_chosen_and_applied(seen: dict[str, Any]) -> None:
    assert seen["code action"] == "applied"


def test_formatting_is_ruffs(seen: dict[str, Any]) -> None:
    assert seen["format"] == "def berth(ship: Ship) -> str:"


def test_the_buffer_is_what_all_of_it_makes(seen: dict[str, Any]) -> None:
    text = MOOR.replace("import os\n\n", "").replace("def moor(", "def berth(").replace("ship.len\n", "ship.length\n")
    assert seen["text"] == text


def test_a_file_of_another_language_is_the_same_ombuds(seen: dict[str, Any]) -> None:
    assert seen["another language"] == "the same Ombud"


def test_it_ends_when_it_is_told_to(seen: dict[str, Any]) -> None:
    assert seen["shutdown"] == "ended"
