"""The code graph from the command line: what a person reads, and exports into files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from bench.accuracy.scip import read_index
from tests.conftest import Workspace

FILES = {
    "shop.py": "class Shop:\n    def total(self):\n        return add()\n\n\ndef add():\n    return 1\n",
    "app.py": "from shop import Shop\n\n\ndef main():\n    return Shop().total()\n",
}
Run = Callable[..., subprocess.CompletedProcess[bytes]]


@pytest.fixture
def run(ombud_command: Callable[..., list[str]], environment: dict[str, str], workspace: Workspace) -> Run:
    """``run("graph-search", "x")`` in a folder with `FILES`."""
    root = workspace(FILES)

    def started(*words: str) -> subprocess.CompletedProcess[bytes]:
        argv = [*ombud_command(*words), "--root", str(root)]
        return subprocess.run(argv, cwd=root, env=environment, capture_output=True, timeout=120, check=False)

    return started


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("graph-index",), "2 files, "),
        (("graph-search", "total"), "shop.py:2: method Shop.total  def total(self)"),
        (("graph-symbol", "Shop.total"), "  id: shop.py#Shop.total"),
        (("graph-callers", "Shop.total"), "app.py:5:19: app.py#main  return Shop().total()"),
        (("graph-callees", "main"), "app.py:5:19: shop.py#Shop.total  return Shop().total()"),
        (("graph-impact", "add"), "  app.py:4: function main  def main() (depth 2)"),
        (("graph-impact", "--path", "shop.py"), "risk: medium ("),
        (("graph-dependencies", "shop.py"), "exports: Shop, add"),
        (("graph-path", "main", "--to", "add"), "  → shop.py:3:16: shop.py#add  return add()"),
        (("graph-path", "add", "--to", "main"), "No path of calls and imports leads from add to main."),
        (("graph-outline", "shop.py"), "     2    method total  def total(self)"),
        (("graph-stats",), "python    2"),
        (("status",), "code graph: none yet; the first graph command makes it"),
        (
            ("lsp", "definition", "--path", "app.py", "--line", "5", "--symbol", "total"),
            "shop.py:2:9: def total(self):",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_person_reads_places_and_names(run: Run, words: tuple[str, ...], shown: str) -> None:
    ended = run(*words)
    assert ended.returncode == 0, ended.stderr
    assert shown in ended.stdout.decode()
    assert ended.stderr == b""


def test_an_ambiguous_name_lists_its_candidates(run: Run, workspace: Workspace) -> None:
    workspace({"other.py": "def add():\n    return 2\n"})
    ended = run("graph-callers", "add")
    assert ended.returncode == 1
    said = ended.stderr.decode().splitlines()
    assert said[0].startswith("invalid_params: 'add' names 2 symbols")
    assert said[1:] == ["  function shop.py#add (shop.py:6)", "  function other.py#add (other.py:1)"]


def test_an_export_goes_to_standard_output_or_into_a_file(run: Run, workspace: Workspace) -> None:
    root = workspace()
    first = run("graph-export")
    lines = [json.loads(line) for line in first.stdout.splitlines()]
    assert {one["type"] for one in lines} == {"symbol", "edge"}
    into = run("graph-export", "--output", "graph.jsonl")
    assert (root / "graph.jsonl").read_bytes() == first.stdout
    assert b"graph.jsonl: " in into.stdout
    answer = run("graph-export", "--json")
    assert json.loads(answer.stdout)["content"].encode() == first.stdout


def test_a_scip_index_is_written_whole_or_not_at_all(run: Run, workspace: Workspace) -> None:
    root: Path = workspace()
    ended = run("graph-export", "--format", "scip", "--output", "index.scip")
    assert ended.returncode == 0, ended.stderr
    assert [one.path for one in read_index(root / "index.scip")] == ["app.py", "shop.py"]
    bad = run("graph-export", "--output", "missing/index.scip")
    assert bad.returncode == 1
    assert bad.stderr.decode().startswith("permission_denied: ")
    assert sorted(path.name for path in root.iterdir()) == ["app.py", "index.scip", "shop.py"]
