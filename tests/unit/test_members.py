"""What marker files say, whoever wrote them."""

from __future__ import annotations

import time
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ombud.downstream.members import admits, says


@pytest.mark.parametrize(
    ("name", "data", "word", "expected"),
    [
        ("package.json", b'{"dependencies": {"vue": "3"}}', "vue", True),
        ("package.json", b'{"devDependencies": {"@a/b": "3"}}', "@a/b", True),
        ("package.json", b'{"eslintConfig": {}}', "eslintConfig", True),
        ("package.json", b'{"scripts": {"vue": "x"}}', "vue", False),
        ("package.json", b'["vue"]', "vue", False),
        ("package.json", b'{"dependencies": ["vue"]}', "vue", False),
        ("package.json", b"{", "vue", False),
        ("package.json", b"[" * 100_000, "vue", False),
        ("package.json", b"\xff\xfe", "vue", False),
        ("Cargo.toml", b"[workspace]\n", "workspace", True),
        ("Cargo.toml", b"workspace = {}\n", "workspace", True),
        ("Cargo.toml", b"[a]\nworkspace = 1\n", "workspace", False),
        ("pyproject.toml", b"[tool.ruff]\n", "tool.ruff", True),
        ("pyproject.toml", b"[tool]\nruff = 1\n", "tool.ruff.lint", False),
        ("pyproject.toml", b"[tool", "tool", False),
        ("pyproject.toml", b"a = " + b"[" * 50_000, "a", False),
        ("mix.exs", b"apps_path: x", "apps_path", True),
        ("mix.exs", b"", "apps_path", False),
    ],
)
def test_content_of_a_marker(name: str, data: bytes, word: str, expected: bool) -> None:
    assert says(name, data, word) is expected


@pytest.mark.parametrize(
    ("patterns", "folder", "expected"),
    [
        ('["a"]', "a", True),
        ('["a"]', "ab", False),
        ('["a"]', "b/a", False),
        ('["a/*"]', "a/b", True),
        ('["a/*"]', "a", False),
        ('["a/*"]', "a/b/src/deep", True),
        ('["a/**"]', "a/x/y/z", True),
        ('["**/b"]', "b", True),
        ('["**/b"]', "x/y/b", True),
        ('["**/b"]', "x/y/c", False),
        ('["*", "!a"]', "a", False),
        ('["!a", "*"]', "a", True),
        ('["a-?"]', "a-1", True),
        ('"a"', "a", False),
        ("[1, null]", "a", False),
        ("[]", "a", False),
    ],
)
def test_workspaces_of_npm(patterns: str, folder: str, expected: bool) -> None:
    data = f'{{"workspaces": {patterns}}}'.encode()
    assert admits("package.json", data, PurePosixPath(folder)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("packages:\n  - a/*\n", True),
        ('packages:\n  - "a/*"  # all\n', True),
        ("packages:\n- 'a/*'\n", True),
        ("# packages\npackages: # here\n\n  # - b\n  - a/b\n", True),
        ("packages:\n  - b/*\nother:\n  - a/*\n", False),
        ("packages:\n  - 'a/*'\n  - '!a/b'\n", False),
        ("packages: {}\n", False),
        ("", False),
        ("\x00\xff", False),
    ],
)
def test_packages_of_pnpm(text: str, expected: bool) -> None:
    assert admits("pnpm-workspace.yaml", text.encode("utf-8", "surrogateescape"), PurePosixPath("a/b")) is expected


def test_other_markers_hold_for_all_below() -> None:
    assert admits("go.work", b"", PurePosixPath("a"))


@given(st.sampled_from(["package.json", "Cargo.toml", "pnpm-workspace.yaml", "mix.exs"]), st.binary(max_size=200))
def test_hostile_markers_raise_nothing(name: str, data: bytes) -> None:
    assert says(name, data, "workspaces") in (True, False)
    assert admits(name, data, PurePosixPath("a/b")) in (True, False)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("pnpm-workspace.yaml", b"packages:\n  - a" + b" " * 1_000_000 + b"b\n"),
        ("pnpm-workspace.yaml", b"packages:\n" + b"  - '*a*b*c*'\n" * 70_000),
        ("package.json", b'{"workspaces": [' + b",".join(b'"x%d*/*"' % n for n in range(80_000)) + b"]}"),
        ("package.json", b'{"workspaces": ["' + b"**/" * 300_000 + b'z"]}'),
        ("package.json", b'{"workspaces": ["' + b"*a" * 400 + b'"]}'),
    ],
)
def test_hostile_workspaces_do_not_stop_the_world(name: str, data: bytes) -> None:
    start = time.process_time()
    assert not admits(name, data, PurePosixPath(*["a" * 100] * 20))
    assert time.process_time() - start < 10, "CPU seconds, generous for a loaded machine; quadratic would take minutes"


@given(st.lists(st.sampled_from(["*", "**", "a", "?", "!", "[a-"]), max_size=12), st.integers(1, 30))
def test_patterns_take_no_more_than_their_product_of_steps(parts: list[str], depth: int) -> None:
    data = b'{"workspaces": ["' + "/".join(parts).encode() + b'"]}'
    assert admits("package.json", data, PurePosixPath(*["a"] * depth)) in (True, False)
