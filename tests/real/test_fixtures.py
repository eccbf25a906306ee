"""The sample projects are what they say they are, by the pinned tools' own command lines."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.toolbox import GROUPS, PROJECT, PROJECTS, TOOLS, copy_project, require, tool_path

pytestmark = pytest.mark.real

DEMO = PROJECT / "fixtures" / "demo"


def run(folder: Path, name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a pinned tool in a folder; HOME is the folder's parent, so that no setting of the user's has a say."""
    env = {"PATH": tool_path(), "HOME": str(folder.parent), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [require(name), *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False
    )


def passes(folder: Path, name: str, *arguments: str) -> str:
    done = run(folder, name, *arguments)
    assert done.returncode == 0, f"{name} {' '.join(arguments)}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DEMO, tmp_path / "demo"))


def test_the_demo_passes_its_own_test(demo: Path) -> None:
    assert "5 passed" in passes(demo, "python", "-m", "pytest", "-q", "-p", "no:cacheprovider")


def test_the_demo_has_one_old_warning_and_no_error(demo: Path) -> None:
    warnings = json.loads(run(demo, "ruff", "check", "--no-cache", "--output-format", "json").stdout)
    assert [(Path(one["filename"]).name, one["code"]) for one in warnings] == [("rates.py", "F401")]
    report = json.loads(passes(demo, "basedpyright", "--outputjson"))
    assert report["generalDiagnostics"] == []
    assert report["summary"]["filesAnalyzed"] == 4


def test_a_new_parameter_in_the_demo_breaks_callers_in_the_same_file_and_in_another(demo: Path) -> None:
    rates = demo / "tariff" / "rates.py"
    before = "def energy_charge(kwh: Decimal, price: Decimal)"
    text = rates.read_text(encoding="utf-8")
    assert text.count(before) == 1
    rates.write_text(text.replace(before, before[:-1] + ", levy: Decimal)"), encoding="utf-8")
    report = json.loads(run(demo, "basedpyright", "--outputjson").stdout)
    broken = [(Path(one["file"]).name, one["rule"]) for one in report["generalDiagnostics"]]
    assert broken.count(("rates.py", "reportCallIssue")) == 2
    assert broken.count(("invoice.py", "reportCallIssue")) == 2
    assert len(broken) == 4


CHECKS: dict[str, list[tuple[str, ...]]] = {
    "python": [
        ("ruff", "check", "--no-cache"),
        ("basedpyright",),
        ("ty", "check"),
        ("pyrefly", "check"),
        ("zuban", "check"),
    ],
    "typescript": [("tsc", "-p", "."), ("tsgo", "-p", ".")],
    "go": [("gopls", "check", "berths.go", "plan.go")],
    "cpp": [("clangd", "--check=plan.cpp"), ("clangd", "--check=berths.cpp")],
    "shell": [("shellcheck", "berths.sh", "plan.sh")],
    "eslint": [("eslint", "--max-warnings", "0", ".")],
    "web": [("tsc", "-p", "."), ("eslint", "--max-warnings", "0", "."), ("biome", "check")],
    "vue": [("tsc", "-p", ".")],
    "rust": [("cargo", "check", "--offline", "--locked")],
    "css": [],
    "json": [],
    "yaml": [],
}


def test_every_sample_project_has_its_check() -> None:
    assert {entry.name for entry in PROJECTS.iterdir() if entry.is_dir()} == set(CHECKS)


@pytest.mark.parametrize(
    ("language", "command"), [(language, command) for language, commands in CHECKS.items() for command in commands]
)
def test_a_sample_project_is_clean(language: str, command: tuple[str, ...], tmp_path: Path) -> None:
    passes(copy_project(language, tmp_path), *command)


def test_the_data_files_of_the_sample_projects_are_sound(tmp_path: Path) -> None:
    for path in (PROJECTS / "json").glob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    berths = json.loads((PROJECTS / "json" / "berths.json").read_text(encoding="utf-8"))
    assert (PROJECTS / "json" / berths["$schema"]).is_file()
    assert (PROJECTS / "yaml" / "berths.schema.json").read_bytes() == (
        PROJECTS / "json" / "berths.schema.json"
    ).read_bytes()


def test_the_projects_own_shell_scripts_are_sound() -> None:
    scripts = [str(path) for folder in ("scripts", "server") for path in (PROJECT / folder).rglob("*.sh")]
    assert str(PROJECT / "scripts" / "python.sh") in scripts
    passes(PROJECT, "shellcheck", "--shell", "sh", *scripts)
    passes(PROJECT, "shellcheck", ".ci/run")


def test_every_pinned_tool_is_there_and_comes_first() -> None:
    for group in GROUPS:
        marker = TOOLS / group / "complete.json"
        if not marker.exists():
            pytest.fail(f"the {group} group is not installed. Run `make tools`.")
        for name in json.loads(marker.read_text(encoding="utf-8")):
            assert shutil.which(name, path=tool_path()) == str(require(name))


def test_a_missing_tool_fails_a_test() -> None:
    with pytest.raises(pytest.fail.Exception, match="cobol-server is not among the tools"):
        require("cobol-server")
    with pytest.raises(pytest.fail.Exception, match="no fixtures/servers/cobol; there are: cpp, css"):
        copy_project("cobol", Path("unused"))


def test_the_callers_own_path_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert str(tmp_path) not in tool_path().split(os.pathsep)
