"""Which file events a server hears: glob patterns of registrations, and the catalogue's claims where there are none."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from ombud.downstream.catalogue import load_catalogue
from ombud.downstream.watched import CHANGED, CREATED, DELETED, Interest, expanded, expression, patterns_of
from ombud.syntax.languages import language_of

ENTRY = load_catalogue().entries["basedpyright"]


def interest(root: Path, *patterns: Any, kind: int | None = None) -> Interest:
    kinds = {} if kind is None else {"kind": kind}
    return Interest(ENTRY, root, [{"watchers": [{"globPattern": one, **kinds} for one in patterns]}])


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("**/*.py", ["a.py", "x/a.py", "x/y/.a.py", "x/.py"], ["a.pyi", "a.py/b", "py"]),
        ("*.py", ["a.py", ".py"], ["x/a.py"]),
        ("src/*.py", ["src/a.py"], ["a.py", "src/x/a.py", "x/src/a.py"]),
        ("**", ["a", "x/y/z"], []),
        ("**/*", ["a", "x/y/z"], []),
        ("src/**", ["src", "src/a", "src/x/y"], ["srcs/a", "x/src/a"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py", "x/src/a.py"]),
        ("**/node_modules/**", ["node_modules", "a/node_modules/b/c"], ["a/node_modulesx/b"]),
        ("**/a/**/b/**/c", ["a/b/c", "x/a/y/b/b/z/c", "a/a/b/c"], ["a/c", "b/a/c", "a/b"]),
        ("**/**/x", ["x", "a/b/x"], ["a/b"]),
        ("?.py", ["a.py", "ü.py"], ["ab.py", ".py", "x/a.py"]),
        ("a?b", ["axb"], ["a/b", "ab"]),
        ("{a,b}.py", ["a.py", "b.py"], ["c.py", "ab.py"]),
        ("**/{a,b{1,2}}.{py,pyi}", ["a.py", "x/b1.pyi", "b2.py"], ["b.py", "b3.py"]),
        ("{**/*.go,go.mod}", ["x/a.go", "go.mod"], ["x/go.mod"]),
        ("{src/{x,y},test}/**/*.ts", ["src/x/a.ts", "test/q/a.ts"], ["src/a.ts", "src/z/a.ts"]),
        ("a{,b}", ["a", "ab"], ["b"]),
        ("{a}", ["a"], ["{a}"]),
        ("{a", ["{a"], ["a"]),
        ("a}", ["a}"], ["a"]),
        ("[a-c].py", ["a.py", "b.py"], ["d.py", "-.py"]),
        ("[!a-c].py", ["d.py"], ["a.py"]),
        ("[^a-c].py", ["d.py"], ["a.py"]),
        ("a[!x]b", ["ayb"], ["a/b", "axb"]),
        ("[z-a]", [], ["z", "a", "m"]),
        ("[]", ["[]"], []),
        ("a*b*c", ["abc", "aXbYc", "abbcc", "abcbc"], ["ab", "acb", "a/b/c"]),
        ("*a*a*b", ["aab", "xaxaxb"], ["ab", "aa"]),
        ("**.py", ["a.py"], ["x/a.py"]),
        ("./a.py", ["a.py"], []),
        ("a.py", ["a.py"], ["aXpy", "a.pyx"]),
        ("a+(b).py", ["a+(b).py"], ["aa.py"]),
        ("", [], ["a"]),
    ],
)
def test_patterns(pattern: str, matching: list[str], others: list[str]) -> None:
    found = interest(Path("/ws"), pattern)
    for name in (*matching, *others):
        assert found.wants(f"/ws/{name}", CHANGED, None) == (name in matching), name


def test_relative_patterns_are_relative_to_the_servers_root(tmp_path: Path) -> None:
    found = interest(tmp_path / "ws", "**/*.py")
    assert found.wants(str(tmp_path / "ws/x/a.py"), CHANGED, None)
    assert not found.wants(str(tmp_path / "wsx/a.py"), CHANGED, None)
    assert not found.wants(str(tmp_path / "a.py"), CHANGED, None)


def test_a_base_of_its_own_reaches_outside_the_root(tmp_path: Path) -> None:
    """As an absolute pattern, or a ``RelativePattern`` with a URI or a folder; links in it are resolved."""
    real, root = tmp_path.resolve() / "lib", tmp_path.resolve() / "ws"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    uri = (tmp_path / "link").as_uri()
    for pattern in (
        f"{real}/**/*.py",
        f"{tmp_path}/link/**/*.py",
        {"baseUri": uri, "pattern": "**/*.py"},
        {"baseUri": {"uri": uri, "name": "lib"}, "pattern": "**/*.py"},
    ):
        found = interest(root, pattern)
        assert found.wants(f"{real}/x/a.py", CHANGED, None), pattern
        assert not found.wants(f"{real}/x/a.txt", CHANGED, None), pattern
        assert not found.wants(f"{root}/a.py", CHANGED, None), pattern


@pytest.mark.parametrize(
    ("kind", "heard"),
    [
        (None, [CREATED, CHANGED, DELETED]),
        (7, [CREATED, CHANGED, DELETED]),
        (1, [CREATED]),
        (2, [CHANGED]),
        (4, [DELETED]),
        (5, [CREATED, DELETED]),
        (0, []),
    ],
)
def test_kinds(kind: int | None, heard: list[int]) -> None:
    found = interest(Path("/ws"), "**", kind=kind)
    assert [one for one in (CREATED, CHANGED, DELETED) if found.wants("/ws/a", one, None)] == heard


@pytest.mark.parametrize(
    "options",
    [
        [{}],
        [{"watchers": None}],
        [{"watchers": [None, 3, {}, {"globPattern": 3}, {"globPattern": {"pattern": 3}}]}],
        [{"watchers": [{"globPattern": {"baseUri": "https://x.example/", "pattern": "**"}}]}],
        [],
    ],
)
def test_what_cannot_be_understood_asks_for_nothing(options: list[dict[str, Any]]) -> None:
    assert not Interest(ENTRY, Path("/ws"), options).wants("/ws/a.py", CHANGED, "python")


def test_too_many_alternatives_are_everything_below_the_base() -> None:
    pattern = "x" + "{a,b,c,d,e,f,g,h}" * 12
    assert expanded(pattern) is None
    found = interest(Path("/ws"), pattern)
    assert found.wants("/ws/q/r", CHANGED, None)
    assert not found.wants("/w/q", CHANGED, None)


@pytest.mark.parametrize("pattern", ["**/a/" * 30 + "b", "*a" * 40 + "b", "**/" * 50 + "*a*" * 20 + "b"])
def test_matching_takes_linear_time(pattern: str) -> None:
    """A pattern that would be tried in more ways than there is time for, on a path that nearly matches."""
    compiled = re.compile(expression(pattern))
    assert compiled.fullmatch("a/" * 200) is None
    assert compiled.fullmatch("a" * 200 + "/") is None


@pytest.mark.parametrize(
    ("name", "heard"),
    [("a.py", True), ("x/a.pyi", True), ("pyproject.toml", True), ("x/setup.py", True), ("a.ts", False), ("x", False)],
)
def test_without_a_registration_a_server_hears_of_its_own_files_and_markers(name: str, heard: bool) -> None:
    found = Interest(ENTRY, Path("/ws"), None)
    assert found.wants(f"/ws/{name}", CHANGED, language_of(Path(name))) == heard
    assert not found.wants(f"/wsx/{name}", CHANGED, language_of(Path(name)))


def test_a_row_names_further_files_that_its_server_reads() -> None:
    reads = ENTRY.changed(watched=("*.json",))
    assert Interest(reads, Path("/ws"), None).wants("/ws/x/a.json", CHANGED, "json")
    assert not Interest(ENTRY, Path("/ws"), None).wants("/ws/x/a.json", CHANGED, "json")
    assert "**/*.json" in patterns_of(reads)
    assert "**/*.json" not in patterns_of(ENTRY)


@pytest.mark.skipif(
    sys.platform in ("darwin", "win32"), reason="names differ by case on POSIX systems other than macOS"
)
def test_case_counts() -> None:
    assert not interest(Path("/ws"), "**/*.PY").wants("/ws/a.py", CHANGED, None)
