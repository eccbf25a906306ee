"""What must hold for every file that is committed: no foreign addresses, no machine's paths, no endless files."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
SKIPPED_FOLDERS = {
    *(".git", ".venv", ".tools", ".hypothesis", ".mypy_cache", ".pytest_cache", ".ruff_cache"),
    *("__pycache__", "build", "dist", "node_modules", "target"),
}

FILE_LINES = 500
FUNCTION_LINES = 40
# A file that is longer says so and why in its first line, a function in the first line of its docstring.
REASON = re.compile(r"more than \d+ lines: \S")

# The host of a package registry, with or without a scheme. Names are spelt in parts: this file is read as well.
REGISTRY = re.compile(
    r"\b(?:" + "|".join(["registry", "proxy", "sum", "pypi", "crates", "static", "repo1?", "deb", "files"]) + r")"
    r"\.(?:[a-z0-9-]+\.)*(?:org|com|io|dev|net)\b",
    re.IGNORECASE,
)
# A folder of one person's or one machine's: samples in tests and texts use /srv or /opt instead.
MACHINE = re.compile(r"(?<![\w.~])/(?:" + "|".join(["home", "root", "work", "Users"]) + r")/")


@cache
def committed() -> tuple[Path, ...]:
    """The files git has or would take (everything not ignored); without git, all but the folders nobody commits."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode == 0:
        paths = [PROJECT / name for name in listed.stdout.split("\0") if name]
    else:
        paths = [path for path in PROJECT.rglob("*") if not SKIPPED_FOLDERS & set(path.relative_to(PROJECT).parts)]
    return tuple(sorted(path for path in paths if path.is_file() and not path.is_symlink()))


def text_of(path: Path) -> str | None:
    """The file's text, or None for a file that is not text."""
    data = path.read_bytes()
    return None if b"\0" in data else data.decode("utf-8", "replace")


def hits(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if found := pattern.search(line):
            yield f"{number}: {found.group()}"


def offenders(pattern: re.Pattern[str]) -> list[str]:
    return [f"{path.relative_to(PROJECT)}:{hit}" for path in committed() for hit in hits(pattern, text_of(path) or "")]


def long_functions(source: str) -> list[str]:
    """Functions of more than FUNCTION_LINES lines (docstring not counted) that give no reason."""
    lines = source.splitlines()
    if lines and REASON.search(lines[0]):
        return []
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        first = node.body[0]
        documented = ast.get_docstring(node) is not None
        prose = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
        length = (node.end_lineno or 0) - node.lineno + 1 - prose
        if length > FUNCTION_LINES and not any(REASON.search(line) for line in lines[node.lineno : first.lineno]):
            found.append(f"{node.lineno}: {node.name} has {length} lines")
    return found


def code() -> list[Path]:
    return [path for path in committed() if path.relative_to(PROJECT).parts[0] in {"server", "scripts"}]


def test_files_are_found() -> None:
    names = {path.relative_to(PROJECT).as_posix() for path in committed()}
    assert {"pyproject.toml", "Makefile", "server/ombud/errors.py", ".ci/run"} <= names
    assert not any(SKIPPED_FOLDERS & set(name.split("/")) for name in names)


def test_no_file_names_a_registry() -> None:
    assert offenders(REGISTRY) == []


def test_no_file_holds_a_path_of_somebodys_machine() -> None:
    assert offenders(MACHINE) == []


def test_lock_files_leave_the_address_to_the_client() -> None:
    locks = [path for path in committed() if path.name in {"package-lock.json", "npm-shrinkwrap.json"}]
    assert locks
    for path in locks:
        assert '"resolved"' not in (text_of(path) or ""), f"{path}: run npm with omit-lockfile-registry-resolved=true"


def test_every_tool_has_one_exact_version() -> None:
    for name in ("tools/python/requirements.txt", "tools/go/toolchain.txt", "constraints.txt"):
        lines = [line for line in (PROJECT / name).read_text().splitlines() if line and not line.startswith("#")]
        assert lines
        assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.-]+==[0-9][A-Za-z0-9.]*", line)] == []
    manifest = json.loads((PROJECT / "tools/npm/package.json").read_text())["dependencies"]
    assert [name for name, version in manifest.items() if not re.fullmatch(r"\d+\.\d+\.\d+\S*", version)] == []
    locked = json.loads((PROJECT / "tools/npm/package-lock.json").read_text())["packages"]
    assert locked[""]["dependencies"] == manifest


def test_npm_packages_are_locked_by_content() -> None:
    packages = json.loads((PROJECT / "tools/npm/package-lock.json").read_text())["packages"]
    assert [name for name, entry in packages.items() if name and "integrity" not in entry] == []


def test_make_lists_every_command() -> None:
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split()) - {"FORCE"}
    assert {"install", "demo", "test", "check"} <= targets
    shown = subprocess.run(["make"], cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make (\S+)  +\S", shown, re.MULTILINE)) == targets


def test_files_end_before_they_tire_the_reader() -> None:
    found = []
    for path in code():
        lines = (text_of(path) or "").splitlines()
        if len(lines) > FILE_LINES and not REASON.search(lines[0]):
            found.append(f"{path.relative_to(PROJECT)} has {len(lines)} lines")
    assert not found, "split them, or say `more than 500 lines: <why>` in the first line:\n" + "\n".join(found)


def test_functions_fit_on_a_screen() -> None:
    found = []
    for path in code():
        if path.suffix == ".py":
            found += [f"{path.relative_to(PROJECT)}:{item}" for item in long_functions(path.read_text("utf-8"))]
    assert not found, "split them, or say `more than 40 lines: <why>` in the docstring's first line:\n" + "\n".join(
        found
    )


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("https://" + "registry." + "example.org/x", True),
        ("see py" + "pi.org", True),
        ("GOPROXY=https://pro" + "xy.somewhere.dev", True),
        ("golang.org/x/tools v0.1.0", False),
        ("the registry of operations", False),
        ("self.registry.iterate()", False),
        ("import files", False),
    ],
)
def test_the_reader_knows_a_registry(text: str, bad: bool) -> None:
    assert bool(list(hits(REGISTRY, text))) is bad


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("/ho" + "me/me/x", True),
        ("file:///ro" + "ot/x", True),
        ('"/wo' + 'rk/x"', True),
        ("$HOME/.cache", False),
        ("~/work/x", False),
        ("a/home/b", False),
        ("/srv/home/x", False),
        ("docs/work/", False),
    ],
)
def test_the_reader_knows_a_machine(text: str, bad: bool) -> None:
    assert bool(list(hits(MACHINE, text))) is bad


def test_the_reader_counts_lines_of_code() -> None:
    body = "    x = 1\n" * FUNCTION_LINES
    assert long_functions("def f():\n" + body) == [f"1: f has {FUNCTION_LINES + 1} lines"]
    assert long_functions('def f():\n    """One.\n\n    Two.\n    """\n' + body[: -len("    x = 1\n")]) == []
    assert long_functions("# One table, more than 40 lines: it reads better whole.\ndef f():\n" + body) == []
    assert long_functions('def f():\n    """One table, more than 40 lines: it is read whole."""\n' + body) == []
    assert long_functions("class A:\n    async def f(self):\n" + "        x = 1\n" * 50) != []
