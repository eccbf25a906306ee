"""The parts of the demo that are no story: what is compared before and after, and how a symbol is found again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from ombud.faces.cli import tour
from ombud.faces.cli.demo import EDIT, FILE, FIX, LINE, OTHER, bundled
from ombud.faces.cli.tour import differences, fingerprint, place_of

from tests.conftest import Workspace


def compared(root: Path, change: Any) -> list[str]:
    before = fingerprint(root)
    change()
    after = fingerprint(root)
    assert before is not None
    assert after is not None
    return differences(before, after)


@pytest.fixture
def root(workspace: Workspace) -> Path:
    return workspace({"a.py": "x", "sub/b.py": "y", "node_modules/c.js": "z"})


def _touch(path: Path) -> None:
    status = path.stat()
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + 1))


def _same_time(path: Path, text: str) -> None:
    status = path.stat()
    path.write_text(text)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda root: None, []),
        (lambda root: (root / "new.py").write_text(""), ["new: new.py"]),
        (lambda root: (root / "sub/b.py").unlink(), ["gone: sub/b.py"]),
        (lambda root: (root / "a.py").write_text("xx"), ["changed: a.py"]),
        (lambda root: _touch(root / "a.py"), ["changed: a.py"]),
        (lambda root: _same_time(root / "a.py", "q"), ["changed: a.py"]),
        (lambda root: (root / "a.py").chmod(0o600), ["changed: a.py"]),
        (lambda root: (root / ".cache").mkdir(), ["new: .cache"]),
        (lambda root: (root / "link").symlink_to("a.py"), ["new: link"]),
    ],
)
def test_whatever_changes_is_seen(root: Path, change: Any, expected: list[str]) -> None:
    assert compared(root, lambda: change(root)) == expected


def test_what_tools_generate_is_named_and_not_entered(root: Path) -> None:
    assert compared(root, lambda: (root / "node_modules/d.js").write_text("")) == []
    found = fingerprint(root)
    assert found is not None
    assert "node_modules" in found


def test_a_huge_tree_is_not_compared(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tour, "MOST_FILES", 3)
    assert fingerprint(root) is None


def symbol(name: str, start: int, end: int) -> dict[str, Any]:
    return {"name": name, "range": {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 0}}}


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (symbol("total", 1, 3), {"line": 3, "symbol": "total"}),
        (symbol("(*Berth).fits", 3, 4), {"line": 4, "symbol": "fits"}),
        (symbol("sum", 0, 4), None),
        (symbol("<>", 0, 4), None),
        (symbol("total", 3, 99), {"line": 5, "symbol": "total"}),
    ],
)
def test_a_symbol_is_found_by_its_name(item: dict[str, Any], expected: dict[str, Any] | None) -> None:
    lines = ["import summary", "@decorated", "def total(x):", "    return fits(x)", "total"]
    assert place_of(item, lines) == expected


def test_the_demo_fits_its_project() -> None:
    text = (bundled() / FILE).read_text("utf-8")
    assert len([line for line in text.splitlines() if line.startswith(LINE)]) == 1
    assert text.count(EDIT[0]) == 1
    broken = text.replace(*EDIT)
    assert broken.count(FIX[0]) == 1
    assert "energy_charge" in (bundled() / OTHER).read_text("utf-8")
